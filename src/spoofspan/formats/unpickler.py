"""Python's own unpickler, restricted to numpy arrays and plain values, in a process of its own.

:mod:`.pickles` runs this file as a program; it imports the standard library only. A pickle is a program for a stack
machine. Here ``pickle._Unpickler``, the one that is written in Python, runs it, with three changes:

- Opcodes that make objects, and all but ``ADMITTED``, are refused.
- The names that numpy arrays need stand for functions below; every other name is refused::

    numpy.core.multiarray._reconstruct   an array to be filled, only of class numpy.ndarray, shape (0,) or (), type b"b"
    numpy.core.multiarray.scalar         one number or string
    numpy.core.numeric._frombuffer       an array in protocol 5
    numpy.ndarray, numpy.dtype           bool, int, uint, float, bytes, text and object types only, no fields
    _codecs.encode                       bytes in protocols 0 to 2, latin1 only

  (also under ``numpy._core``). Nothing of numpy is called: an array is a dtype, a shape and bytes of the right length.
- Where a list is expected, its items are written as soon as they are complete and then forgotten, so that it may be
  larger than memory.

Input: the pickle on standard input. Output: lines of JSON, each followed by the bytes of the arrays in it::

    ["item", {"array": ["<U32", [2, 4], false, 1024]}]
    ... 1024 bytes ...
    ["end", null]

The last line is ``end``, or ``refused``, ``broken`` or ``unfit`` with the reason.

Two bounds hold on every system, also where it cannot limit the memory of a process: what is held at once (the bytes
read, and ``STEP`` bytes for each opcode and each entry of the memo) may not exceed the memory limit; what is written
may not exceed ``FACTOR`` times the bytes of the file by more than ``ALLOWANCE``.

``pickle.Unpickler``, the documented one in C, has ``find_class`` alone to override: it would neither count opcodes, nor
notice a key that occurs twice, nor write a list that is larger than memory.
"""

from __future__ import annotations

import codecs
import json
import math
import pickle
import re
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import IO, Any

MOST_NESTED, MOST_DIMENSIONS = 32, 8
STEP = 64
FACTOR, ALLOWANCE = 16, 16 << 20
VALUE, ARRAY = 64, 512  # bytes of a value and of an array for the one who reads them, besides their content:
CONTENT: dict[type, Callable[[Any], int]] = {int: int.bit_length, str: lambda text: 8 * len(text), bytes: len}
LONG = 256  # characters of a string that is not kept for later items of a list

PythonUnpickler: Any = pickle._Unpickler  # with attributes that are not documented
PYTHON = {code: load.__name__.removeprefix("load_") for code, load in PythonUnpickler.dispatch.items()}
# Opcodes, by the names of the methods above.
ADMITTED = (
    "proto frame stop mark none true false int long binint binint1 binint2 long1 long4 float binfloat unicode "
    "short_binunicode binunicode binunicode8 short_binbytes binbytes binbytes8 bytearray8 empty_tuple tuple1 tuple2 "
    "tuple3 tuple empty_list list append appends empty_dictionary dict setitem setitems put binput long_binput memoize "
    "get binget long_binget global stack_global reduce build"
)
FORGOTTEN = object()


class RefusedError(Exception):
    """The pickle asks for something that is no numpy array."""

    word = "refused"


class UnfitError(Exception):
    """The pickle may be honest, but does not hold what is expected."""

    word = "unfit"


class Dtype:
    """A numpy dtype without fields, such as ``U32``; its byte order is empty until it is built."""

    def __init__(self, name: str) -> None:
        self.name, self.kind, self.order = name, name[0], ""
        self.size = 1 if self.kind == "O" else int(name[1:]) * (4 if self.kind == "U" else 1)


class Array:
    """A numpy array; without a dtype it is still to be filled."""

    __slots__ = ("data", "dtype", "fortran", "shape")

    def __init__(self) -> None:
        self.dtype: Dtype | None = None

    def fill(self, dtype: Any, shape: Any, fortran: bool, data: Any) -> Array:
        """Take the content; its size must be what dtype and shape say."""
        if type(dtype) is not Dtype or not dtype.order:
            raise RefusedError("it fills a numpy array without a dtype")
        is_shape = type(shape) is tuple and len(shape) <= MOST_DIMENSIONS
        if not is_shape or not all(type(length) is int and 0 <= length < 1 << 48 for length in shape):
            raise RefusedError("it fills a numpy array with something that is no shape")
        kind = list if dtype.kind == "O" else bytes
        if type(data) is not kind:
            raise RefusedError(f"it fills a numpy array of {dtype.name} with {kind_of(data)}, not {kind.__name__}")
        expected = math.prod(shape) * dtype.size
        if len(data) != expected:
            raise RefusedError(f"an array of shape {shape} has {len(data):,} bytes or items, not {expected:,}")
        self.dtype, self.shape, self.fortran, self.data = dtype, shape, fortran, data
        return self


def kind_of(value: Any) -> str:
    """Description of a value, for a message."""
    names = {Array: "a numpy array", Dtype: "a numpy dtype", object: "a part of an item before", type(None): "None"}
    return names.get(type(value)) or str(getattr(value, "__name__", type(value).__name__))


def short(value: str) -> str:
    """A text as the file has it, safe to print."""
    shown = ascii(value)[1:-1]
    return shown if len(shown) <= 200 else shown[:200] + "..."


# --- what the names stand for; a TypeError or a ValueError means a call that numpy does not make


def ndarray() -> None:
    """``numpy.ndarray``, which is mentioned and never called."""
    raise ValueError


def dtype(name: Any, align: Any, copy: Any) -> Dtype:
    """``numpy.dtype('U32', False, True)``."""
    if not re.fullmatch(r"b1|[iu][1248]|f[248]|[SU][1-9][0-9]{0,6}|O[48]?", name):
        raise RefusedError(f"it has the dtype {name}, not numbers, text or objects")
    return Dtype(name)


def build_dtype(dtype: Dtype, state: Any) -> None:
    """``(3, '<', None, None, None, 128, 4, 8)``: version, order, no subarray, names, fields; size, alignment, flags."""
    version, order, subarray, names, fields, size, alignment, flags = state
    usual = {"O": (63,), "U": (0, 8)}.get(dtype.kind, (0,))
    if dtype.order or version != 3 or type(size) is not int or type(alignment) is not int or flags not in usual:
        raise ValueError
    if subarray is not None or names is not None or fields is not None:
        raise RefusedError("it has a dtype with fields or subarrays")
    if size not in (-1, dtype.size):
        raise RefusedError(f"it has a dtype of {size:,} bytes where its name says {dtype.size:,}")
    orderless = dtype.kind in "bSO" or dtype.size == 1
    if order not in (("<", ">", "|") if orderless else ("<", ">")):
        raise RefusedError("it has a dtype without a byte order")
    dtype.order = "|" if orderless else order


def _reconstruct(kind: Any, shape: Any, code: Any) -> Array:
    """``_reconstruct(numpy.ndarray, (0,), b'b')``: nothing is allocated before the content is there."""
    if kind is not ndarray or shape not in ((), (0,)) or code not in (b"b", "b"):
        raise ValueError
    return Array()


def build_array(array: Array, state: Any) -> None:
    """``(1, shape, dtype, is Fortran, content)``."""
    version, shape, dtype, fortran, data = state
    if array.dtype is not None or version != 1 or type(fortran) not in (bool, int):
        raise ValueError
    array.fill(dtype, shape, bool(fortran), data)


def scalar(dtype: Any, data: Any) -> Any:
    """``scalar(dtype, bytes)``."""
    if type(data) is not bytes:
        raise ValueError
    Array().fill(dtype, (), False, data)
    if dtype.kind == "U":
        return data.decode("utf-32-be" if dtype.order == ">" else "utf-32-le").rstrip("\0")
    if dtype.kind == "S":
        return data.rstrip(b"\0")
    if dtype.kind in "iu":
        return int.from_bytes(data, "big" if dtype.order == ">" else "little", signed=dtype.kind == "i")
    return struct.unpack(dtype.order.replace("|", "<") + "?efd"[dtype.size.bit_length() - 1], data)[0]  # 1 to 8 bytes


def _frombuffer(data: Any, dtype: Any, shape: Any, order: Any, axes: None = None) -> Array:
    """``_frombuffer(buffer, dtype, shape, 'C' or 'F')``."""
    if type(data) is not bytes or order not in ("C", "F") or axes is not None:
        raise ValueError
    return Array().fill(dtype, shape, order == "F", data)


def encode(text: Any, codec: Any) -> bytes:
    """``_codecs.encode(text, 'latin1')``."""
    if type(text) is not str or codec != "latin1":
        raise ValueError
    return text.encode("latin-1")


ARRAYS = {_reconstruct: "multiarray", scalar: "multiarray", _frombuffer: "numeric"}
NAMES = {(f"numpy.{core}.{module}", f.__name__): f for core in ("core", "_core") for f, module in ARRAYS.items()}
NAMES |= {("numpy", "ndarray"): ndarray, ("numpy", "dtype"): dtype, ("_codecs", "encode"): encode}


# --- reading


class Stream:
    """The file: counts what is read, and reads as much as is asked for or raises."""

    def __init__(self, file: IO[bytes], memory: int) -> None:
        self._file, self._memory = file, memory
        self.count = 0
        self.held = 0  # what can still be in memory

    def read(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        if count > self._memory // 2:
            raise RefusedError(f"it has a string of {count:,} bytes, more than {self._memory // 2:,}")
        return self._counted(self._file.read(count), count)

    def readline(self) -> bytes:
        """A line with its end."""
        line = self._file.readline(self._memory // 2)
        return self._counted(line, len(line) if line.endswith(b"\n") else -1)

    def _counted(self, data: bytes, count: int) -> bytes:
        if len(data) != count:
            raise EOFError
        self.count += count
        self.hold(count)
        return data

    def hold(self, count: int) -> None:
        """Count bytes that stay in memory."""
        self.held += count
        if self.held > self._memory:
            raise MemoryError


class Opcodes(dict[int, Callable[[Any], None]]):
    """Implementation of the opcodes; counts steps, and refuses opcodes that are not admitted by name."""

    def __init__(self, check: Callable[[], None]) -> None:
        admitted = {code: name for code, name in PYTHON.items() if name in ADMITTED.split()}
        super().__init__((code, getattr(Unpickler, f"load_{name}")) for code, name in admitted.items())
        self._check, self.steps = check, 0

    def __getitem__(self, code: int) -> Callable[[Any], None]:
        self.steps += 1
        if not self.steps & 0xFFF:
            self._check()
        load = self.get(code)
        if load is None and code in PYTHON:
            raise RefusedError(f"it has the opcode {PYTHON[code].upper()}, which numpy arrays do without")
        if load is None:
            raise pickle.UnpicklingError(f"byte {code:#04x} is no opcode")
        return load


class Unpickler(PythonUnpickler):  # type: ignore[misc]
    """Reads one pickle and writes its values; ``streams`` if a list is expected."""

    def __init__(self, file: IO[bytes], out: IO[bytes], memory: int, streams: bool = False) -> None:
        self._stream = Stream(file, memory)
        super().__init__(self._stream)
        self._out, self._memory, self._streams = out, memory, streams
        self._opcodes = self.dispatch = Opcodes(self._check_held)
        self._raw: list[bytes] = []  # to be written after the line
        self._spent = 0  # bytes of values written
        self._root: object = FORGOTTEN  # the list at the top, once its items are being written
        self._forgotten = 0  # entries of the memo that were looked through

    def run(self) -> None:
        """Read to the end of the pickle, which must be the end of the file."""
        value = self.load()
        with suppress(EOFError):
            if self.stack or self.metastack or self.read(1):
                raise pickle.UnpicklingError("it does not end with one value, or there are bytes after its end")
        if self._streams and type(value) not in (list, tuple):
            raise UnfitError(f"the pickle holds {kind_of(value)}, not a list")
        for item in value if self._streams else [value]:
            self._write_item(item)
        self._write_line("end", None)

    def report(self, error: Exception) -> None:
        """Say why there is no value; what is held is given back first, so that there is memory for the words."""
        for held in (self.stack, self.metastack, self.memo, self._raw):
            held.clear()
        if isinstance(error, MemoryError):
            error = RefusedError(f"it needs more than {self._memory >> 20:,} MiB of memory")
        elif isinstance(error, (EOFError, IndexError)):
            error = EOFError("it ends too early, or takes a value that is not there")
        self._write_line(getattr(error, "word", "broken"), short(str(error)))

    # --- opcodes that differ from Python's

    load_bytearray8 = PythonUnpickler.load_binbytes8

    def find_class(self, module: str, name: str) -> Any:
        """Object that a name stands for."""
        if (module, name) not in NAMES:
            raise RefusedError(f"it names {module}.{name}, which is not needed for numpy arrays")
        return NAMES[module, name]

    def load_float(self) -> None:
        """A number in text, without the spaces and underscores that only this unpickler of Python admits."""
        line = self.readline()[:-1]
        if not re.fullmatch(rb"[-+.0-9A-Za-z]+", line):
            raise ValueError(f"could not convert to a number: {line!r}")
        self.append(float(line))

    def load_reduce(self) -> None:
        """Call what a name stands for."""
        arguments, function = self.stack.pop(), self.stack.pop()
        if type(function) is not type(encode) or type(arguments) is not tuple:
            raise RefusedError(f"it calls {kind_of(function)} with {kind_of(arguments)} for arguments")
        try:
            result = function(*arguments)
        except (TypeError, ValueError):
            raise RefusedError(f"it calls {kind_of(function)} in a way that numpy does not") from None
        self.append(result)
        if type(result) in (bytes, str):  # a copy
            self._stream.hold(len(result))

    def load_build(self) -> None:
        """Complete an array or a dtype."""
        state, target = self.stack.pop(), self.stack[-1]
        if type(target) not in (Array, Dtype):
            raise RefusedError(f"it sets attributes of {kind_of(target)}")
        try:
            (build_array if type(target) is Array else build_dtype)(target, state)
        except (TypeError, ValueError):
            raise RefusedError(f"it gives {kind_of(target)} a state that numpy does not") from None

    def load_dict(self) -> None:
        """A dict from keys and values in turn."""
        items = self.pop_mark()
        self.append({})
        self._set_items(items)

    def load_setitem(self) -> None:
        """Add one item to a dict."""
        self._set_items([self.stack.pop(-2), self.stack.pop()])

    def load_setitems(self) -> None:
        """Add items to a dict."""
        self._set_items(self.pop_mark())

    def _set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict:
            raise RefusedError(f"it sets items of {kind_of(target)}")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) is not str:  # others are not even hashed
                raise UnfitError(f"a dict has {kind_of(key)} for a key; keys must be text")
            if key in target:
                raise UnfitError(f"{key!r} occurs more than once; give each utterance one id")
            target[key] = value

    def load_append(self) -> None:
        """Add one item to a list."""
        self._append([self.stack.pop()])

    def load_appends(self) -> None:
        """Add items to a list."""
        self._append(self.pop_mark())

    def _append(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not list:
            raise RefusedError(f"it appends to {kind_of(target)}")
        if not self._streams or len(self.stack) > 1 or self.metastack:
            target += items
            return
        items[:0] = target
        target.clear()
        self._root = target
        for item in items:
            self._write_item(item)
        self._forget()

    def _forget(self) -> None:
        """Let go what was written; later items of the list may still recall names, dtypes and short strings."""
        for key in list(islice(reversed(self.memo), len(self.memo) - self._forgotten)):
            value = self.memo[key]
            if type(value) in (list, tuple, dict, Array) or (type(value) in (str, bytes) and len(value) > LONG):
                self.memo[key] = FORGOTTEN
        self._forgotten = len(self.memo)
        self._stream.held = self._opcodes.steps = 0

    def _check_held(self) -> None:
        if self._stream.held + STEP * (self._opcodes.steps + len(self.memo)) > self._memory:
            raise MemoryError

    # --- results

    def _write_line(self, *parts: Any) -> None:
        self._out.write(json.dumps(parts, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")

    def _write_item(self, value: Any) -> None:
        self._write_line("item", self._node(value, 0))
        self._out.writelines(self._raw)
        self._raw.clear()

    def _node(self, value: Any, depth: int) -> Any:
        """A value for JSON; the bytes that follow the line are kept aside."""
        if depth > MOST_NESTED or value is self._root:
            raise RefusedError(f"its values are nested more than {MOST_NESTED} deep")
        kind = type(value)
        content = CONTENT[kind](value) if kind in CONTENT else 0
        self._spent += content + (ARRAY if kind is Array else VALUE)
        if self._spent > FACTOR * self._stream.count + ALLOWANCE:
            raise RefusedError(f"it says the same over and over, in more than {FACTOR} times the bytes of the file")
        if value is None or kind in (bool, int, float, str):
            return value
        if kind is bytes:
            self._raw.append(value)
            return {"bytes": len(value)}
        if kind in (list, tuple, dict):
            items = [self._node(item, depth + 1) for item in value]
            if kind is dict:
                items = [items, [self._node(item, depth + 1) for item in value.values()]]
            return items if kind is list else {kind.__name__: items}
        if kind is not Array or value.dtype is None:
            raise RefusedError(f"it has {kind_of(value)} {'without content' if kind is Array else 'for a value'}")
        if value.dtype.kind == "O":
            items = self._node(value.data[: math.prod(value.shape)], depth)  # the list may have grown since
            return {"objects": [value.shape, value.fortran, items]}
        count = self._node(value.data, depth)["bytes"]
        return {"array": [value.dtype.order + value.dtype.name, value.shape, value.fortran, count]}


# --- the process


def limit_process(memory: int, seconds: int) -> None:
    """Limit memory, time, files and processes, where the system can."""
    for codec in ("raw-unicode-escape", "utf-32-le", "utf-32-be"):  # loaded before files are out of reach
        codecs.lookup(codec)
    try:
        import resource
    except ImportError:  # Windows: only the bounds above, and the time limit of the parent
        return
    limits = {"AS": memory, "CPU": seconds, "CORE": 0, "FSIZE": 0, "NOFILE": 3, "NPROC": 0}
    for name, most in limits.items():
        with suppress(AttributeError, ValueError, OSError):  # not every system has all; macOS refuses some
            kind = getattr(resource, f"RLIMIT_{name}")
            # time: a second more before the kill, so that the signal says what it was
            resource.setrlimit(kind, (most, most + (name == "CPU")))


def main(memory: int, seconds: int, streams: bool) -> None:
    """Read standard input, write standard output."""
    limit_process(memory, seconds)
    unpickler = Unpickler(sys.stdin.buffer, sys.stdout.buffer, memory, streams)
    try:
        unpickler.run()
    except Exception as error:  # Python's unpickler has many words for what is no pickle
        unpickler.report(error)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "list")
