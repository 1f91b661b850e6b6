"""The machine that reads pickles, in a process of its own. Standard library only; :mod:`.pickles` starts it.

A pickle is a program for a stack machine, and the machine of Python calls and imports whatever the program says. This
one calls nothing, imports nothing and sets no attribute: values are plain data, and the few names that numpy arrays
need are symbols whose meaning is written out below ("reduce", "build")::

    numpy.core.multiarray._reconstruct   an array to be filled, only of class numpy.ndarray, shape (0,) or (), type b"b"
    numpy.core.multiarray.scalar         one number or string
    numpy.core.numeric._frombuffer       an array in protocol 5
    numpy.ndarray, numpy.dtype           bool, int, uint, float, bytes, text and object types only, no fields
    _codecs.encode                       bytes in protocols 0 to 2, latin1 only

(also under ``numpy._core``). Every other name and every other opcode ends the reading with its name.

Input: the pickle on standard input. Output, on standard output: one line of JSON per value, followed by the raw bytes
of arrays and long strings. If a list is expected, its items are written as soon as they are complete, and their bytes
let go, so that it may be larger than memory::

    {"is": "list"}
    {"is": "array", "dtype": "<U32", "shape": [2, 4], "fortran": false, "bytes": 1024}
    ... 1024 bytes ...
    {"is": "end"}
    {"is": "done"}

The last line is ``done``, or ``refused`` or ``broken`` with the reason in ``why``.
"""

from __future__ import annotations

import codecs
import json
import re
import struct
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any, NoReturn

MOST_STEPS = 30_000_000  # opcodes; an array takes about 55
MOST_ITEM = 1 << 30  # bytes of one string
MOST_LINE = 1 << 26  # bytes of one line of protocol 0
MOST_NESTED = 32
MOST_DIMENSIONS = 8
MOST_MARKS = 1000
SMALL = 4096  # longer strings can be let go
CHUNK = 1 << 20


class RefusedError(Exception):
    """The pickle asks for something that is no numpy array."""


class BrokenError(Exception):
    """The bytes are no whole pickle."""


class Symbol:
    """A name that a pickle may mention; it can be reduced, and nothing else."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


RECONSTRUCT, SCALAR, FROMBUFFER = Symbol("_reconstruct"), Symbol("scalar"), Symbol("_frombuffer")
NDARRAY, DTYPE, ENCODE = Symbol("numpy.ndarray"), Symbol("numpy.dtype"), Symbol("_codecs.encode")
SYMBOLS = {
    ("numpy.core.multiarray", "_reconstruct"): RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): RECONSTRUCT,
    ("numpy.core.multiarray", "scalar"): SCALAR,
    ("numpy._core.multiarray", "scalar"): SCALAR,
    ("numpy.core.numeric", "_frombuffer"): FROMBUFFER,
    ("numpy._core.numeric", "_frombuffer"): FROMBUFFER,
    ("numpy", "ndarray"): NDARRAY,
    ("numpy", "dtype"): DTYPE,
    ("_codecs", "encode"): ENCODE,
}


NOTHING = object()


class Long:
    """A long string; ``data`` is None once it was handed on. ``held`` is how many bytes of the file it stands for."""

    __slots__ = ("data", "held")

    def __init__(self, data: str | bytes, held: int) -> None:
        self.data: str | bytes | None = data
        self.held = held


class Pairs:
    """A dict, without hashing: keys and values in turn."""

    __slots__ = ("flat",)

    def __init__(self) -> None:
        self.flat: list[Any] = []


class Dtype:
    """A numpy dtype without fields: kind, bytes per item, and byte order (None until built)."""

    __slots__ = ("kind", "order", "size")

    def __init__(self, kind: str, size: int) -> None:
        self.kind, self.size = kind, size
        self.order: str | None = None

    @property
    def text(self) -> str:
        """The dtype as numpy spells it."""
        order = "|" if self.kind in "bSO" or self.size == 1 else self.order
        return f"{order}{self.kind}{self.size // 4 if self.kind == 'U' else self.size}"


class Array:
    """A numpy array; without ``dtype`` it is still to be filled."""

    __slots__ = ("data", "dtype", "fortran", "scalar", "shape")

    def __init__(self) -> None:
        self.dtype: Dtype | None = None
        self.shape: tuple[int, ...] = ()
        self.fortran = False
        self.scalar = False
        self.data: Any = None  # bytes or Long; a list of values for objects

    def fill(self, dtype: Any, shape: Any, fortran: bool, data: Any) -> None:
        """Take the content; its size must be what dtype and shape say."""
        if type(dtype) is not Dtype or dtype.order is None:
            raise RefusedError("it fills a numpy array without a dtype")
        if type(shape) is not tuple or len(shape) > MOST_DIMENSIONS:
            raise RefusedError("it fills a numpy array with something that is no shape")
        count = 1
        for length in shape:
            if type(length) is not int or not 0 <= length < 1 << 48:
                raise RefusedError("it fills a numpy array with something that is no shape")
            count *= length
        if dtype.kind == "O":
            if type(data) is not list:
                raise RefusedError("it fills a numpy array of objects with something that is no list")
            data = list(data)  # the pickle could append to its own
            size, expected = len(data), count
        else:
            size, expected = len(bytes_of(data, "the content of a numpy array")), count * dtype.size
        if size != expected:
            raise RefusedError(
                f"an array of shape {shape} ({dtype.text}) has {size:,} bytes or items, not {expected:,}"
            )
        self.dtype, self.shape, self.fortran, self.data = dtype, shape, fortran, data


def bytes_of(value: Any, what: str) -> bytes:
    """The bytes of a value, or a refusal."""
    data = value.data if type(value) is Long else value
    if type(value) is Long and data is None:
        raise RefusedError("it uses one long string twice, as numpy never does")
    if type(data) is not bytes:
        raise RefusedError(f"{what} is not bytes but {kind_of(value)}")
    return data


def text_of(value: Any, what: str) -> str:
    """The text of a value, or a refusal."""
    data = value.data if type(value) is Long else value
    if type(value) is Long and data is None:
        raise RefusedError("it uses one long string twice, as numpy never does")
    if type(data) is not str:
        raise RefusedError(f"{what} is not text but {kind_of(value)}")
    return data


def kind_of(value: Any) -> str:
    """What a value is, for a message."""
    if type(value) is Symbol:
        return value.name
    names = {Pairs: "a dict", Array: "a numpy array", Dtype: "a numpy dtype", Long: "a long string", type(None): "None"}
    return names.get(type(value)) or type(value).__name__


def short(value: str) -> str:
    """A name as the file has it, safe to print."""
    shown = ascii(value)[1:-1]
    return shown if len(shown) <= 100 else shown[:100] + "..."


def reduce_dtype(arguments: Sequence[Any]) -> Dtype:
    """``numpy.dtype('U32', False, True)``."""
    if not (len(arguments) == 3 and all(type(flag) in (bool, int) for flag in arguments[1:])):
        raise RefusedError("it calls numpy.dtype in a way that numpy does not")
    name = text_of(arguments[0], "the name of a dtype")
    match = re.fullmatch(r"([biufSUO])([0-9]{0,7})", name)
    if match is not None:
        kind, size = match[1], int(match[2] or 0)
        if kind == "O" and size in (0, 4, 8):
            return Dtype("O", 0)
        if (kind in "SU" and size) or name in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"):
            return Dtype(kind, size * 4 if kind == "U" else size)
    raise RefusedError(f"it has the dtype {short(name)}, not numbers, text or objects")


def build_dtype(dtype: Dtype, state: Any) -> None:
    """``(3, '<', None, None, None, 128, 4, 8)``: version, order, no subarray, names, fields; size, alignment, flags."""
    if dtype.order is not None:
        raise RefusedError("it changes a numpy dtype")
    if not (type(state) is tuple and len(state) == 8 and type(state[0]) is int and state[0] == 3):
        raise RefusedError("it gives a numpy dtype a state that numpy does not (metadata, or another version)")
    if not all(part is None for part in state[2:5]):
        raise RefusedError("it has a dtype with fields or subarrays")
    if not all(type(part) is int for part in state[5:]):
        raise RefusedError("it gives a numpy dtype a state that numpy does not")
    if state[5] not in (-1, dtype.size):
        raise RefusedError(f"it has a dtype of {state[5]:,} bytes where its name says {dtype.size:,}")
    order = text_of(state[1], "the byte order of a dtype")
    if order not in ("<", ">", "|") or (order == "|" and dtype.kind not in "bSO" and dtype.size != 1):
        raise RefusedError("it has a dtype without a byte order")
    dtype.order = order


def reduce_reconstruct(arguments: Sequence[Any]) -> Array:
    """``_reconstruct(numpy.ndarray, (0,), b'b')``: nothing is allocated before the content is there."""
    if len(arguments) != 3 or arguments[0] is not NDARRAY:
        what = kind_of(arguments[0]) if arguments else "nothing"
        raise RefusedError(f"it calls numpy's _reconstruct on {what}, not on numpy.ndarray")
    shape, code = arguments[1], arguments[2]
    if type(shape) is not tuple or len(shape) > 1 or not all(type(n) is int and n == 0 for n in shape):
        raise RefusedError("it calls numpy's _reconstruct with a shape that is not empty")
    if not ((type(code) is bytes and code == b"b") or (type(code) is str and code == "b")):
        raise RefusedError("it calls numpy's _reconstruct with a type other than b'b'")
    return Array()


def reduce_scalar(arguments: Sequence[Any]) -> Array:
    """``scalar(dtype, bytes)``."""
    if len(arguments) != 2 or type(arguments[0]) is not Dtype:
        raise RefusedError("it calls numpy's scalar in a way that numpy does not")
    if arguments[0].kind == "O":
        raise RefusedError("it calls numpy's scalar with an object dtype")
    array = Array()
    array.fill(arguments[0], (), False, arguments[1])
    array.scalar = True
    return array


def reduce_frombuffer(arguments: Sequence[Any]) -> Array:
    """``_frombuffer(buffer, dtype, shape, 'C' or 'F')``."""
    if not (len(arguments) == 4 or (len(arguments) == 5 and arguments[4] is None)):
        raise RefusedError("it calls numpy's _frombuffer in a way that numpy does not")
    if type(arguments[1]) is Dtype and arguments[1].kind == "O":
        raise RefusedError("it calls numpy's _frombuffer with an object dtype")
    order = text_of(arguments[3], "the order of an array")
    if order not in ("C", "F"):
        raise RefusedError("it has an array whose order is neither C nor F")
    array = Array()
    array.fill(arguments[1], arguments[2], order == "F", arguments[0])
    return array


def reduce_encode(arguments: Sequence[Any]) -> Any:
    """``_codecs.encode(text, 'latin1')``."""
    if len(arguments) != 2:
        raise RefusedError("it calls _codecs.encode without a codec")
    codec = text_of(arguments[1], "a codec")
    if codec != "latin1":
        raise RefusedError(f"it calls _codecs.encode with the codec {short(codec)}; only latin1 is admitted")
    text = text_of(arguments[0], "what _codecs.encode encodes")
    try:
        data = text.encode("latin-1")
    except UnicodeEncodeError:
        raise RefusedError("it has bytes that are not latin1") from None
    if type(arguments[0]) is not Long:
        return data
    arguments[0].data = None
    return Long(data, arguments[0].held)


REDUCE: dict[Symbol, Callable[[Sequence[Any]], Any]] = {
    RECONSTRUCT: reduce_reconstruct,
    SCALAR: reduce_scalar,
    FROMBUFFER: reduce_frombuffer,
    DTYPE: reduce_dtype,
    ENCODE: reduce_encode,
}


class Writer:
    """Writes values as lines of JSON and raw bytes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.values = 0
        self.bytes = 0

    def record(self, **record: Any) -> None:
        """Write one line."""
        self._stream.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")

    def raw(self, data: bytes, **record: Any) -> None:
        """Write one line and the bytes it announces."""
        self.record(**record, bytes=len(data))
        self._stream.write(data)
        self.bytes += len(data)

    def close(self) -> None:
        """Write out what is buffered."""
        self._stream.flush()


class Machine:
    """Runs one pickle. Numbers in the comments of the opcodes are protocols."""

    def __init__(self, stream: IO[bytes], writer: Writer, most_held: int, streams: bool = False) -> None:
        self._stream = stream
        self._writer = writer
        self._most_held = most_held
        self._held = 0  # bytes of strings that were not let go yet
        self._read = 0  # bytes of strings ever
        self._steps = 0
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        self._streams = streams
        self._root: object = NOTHING  # the list at the top, once its items are being written
        self._done = False
        self._opcodes = self._table()

    def run(self) -> None:
        """Read to the end of the pickle, which must be the end of the file."""
        read, opcodes = self._stream.read, self._opcodes
        while not self._done:
            code = read(1)
            self._steps += 1
            if self._steps > MOST_STEPS:
                raise RefusedError(f"it has more than {MOST_STEPS:,} steps")
            operation = opcodes.get(code)
            if operation is None:
                self._unknown(code)
            operation()
        if self._marks or len(self._stack) != 1:
            raise BrokenError("it does not end with one value")
        if read(1):
            raise BrokenError("there are bytes after its end")
        if self._stack[0] is self._root:
            self._writer.record(**{"is": "end"})
        else:
            self._write(self._stack[0], 0)
        self._writer.record(**{"is": "done"})

    def forget(self) -> None:
        """Give the memory back, so that there is some for a last word."""
        self._stack.clear()
        self._marks.clear()
        self._memo.clear()

    def _unknown(self, code: bytes) -> NoReturn:
        if not code:
            raise BrokenError("it ends too early" if self._steps > 1 else "it is empty")
        if code in REFUSED_OPCODES:
            raise RefusedError(f"it has the opcode {REFUSED_OPCODES[code]}")
        raise BrokenError(f"byte {code[0]:#04x} is no opcode" if self._steps > 1 else "it does not begin like one")

    # --- bytes

    def _bytes(self, count: int) -> bytes:
        if count <= CHUNK:
            data = self._stream.read(count)
        else:
            pieces, left = [], count
            while left:
                piece = self._stream.read(min(left, CHUNK))
                if not piece:
                    break
                pieces.append(piece)
                left -= len(piece)
            data = b"".join(pieces)
        if len(data) != count:
            raise BrokenError("it ends too early")
        return data

    def _line(self, most: int = 300) -> bytes:
        line = self._stream.readline(most)
        if not line.endswith(b"\n"):
            if len(line) == most:
                raise RefusedError(f"it has a line of more than {most:,} bytes")
            raise BrokenError("it ends too early")
        return line[:-1]

    def _number(self, layout: str) -> Any:
        return struct.unpack(layout, self._bytes(struct.calcsize(layout)))[0]

    def _byte(self) -> int:
        data = self._stream.read(1)
        if not data:
            raise BrokenError("it ends too early")
        return data[0]

    def _string(self, layout: str, text: bool) -> None:
        count = self._number(layout)
        if not 0 <= count <= MOST_ITEM:
            raise RefusedError(f"it has a string of {count:,} bytes, more than {MOST_ITEM:,}")
        self._hold(count)
        data = self._bytes(count)
        self._push_string(decoded(data, "utf-8") if text else data, count)

    def _hold(self, count: int) -> None:
        self._held += count
        self._read += count
        if self._held > self._most_held:
            raise MemoryError

    def _push_string(self, data: str | bytes, held: int) -> None:
        self._stack.append(data if len(data) <= SMALL else Long(data, held))

    # --- stack

    def _pop(self) -> Any:
        if not self._stack:
            raise BrokenError("it takes a value that is not there")
        return self._stack.pop()

    def _top(self) -> Any:
        if not self._stack:
            raise BrokenError("it takes a value that is not there")
        return self._stack[-1]

    def _mark(self) -> None:
        if len(self._marks) >= MOST_MARKS:
            raise RefusedError(f"it is nested more than {MOST_MARKS:,} deep")
        self._marks.append(self._stack)
        self._stack = []

    def _since_mark(self) -> list[Any]:
        if not self._marks:
            raise BrokenError("it takes values that are not there")
        items, self._stack = self._stack, self._marks.pop()
        return items

    def _put(self, index: int) -> None:
        self._memo[index] = self._top()

    def _get(self, index: int) -> None:
        if index not in self._memo:
            raise BrokenError("it recalls a value that is not there")
        value = self._memo[index]
        if value is self._root:
            raise RefusedError("the list at its top is in itself")
        self._stack.append(value)

    def _tuple(self, count: int) -> None:
        if len(self._stack) < count:
            raise BrokenError("it takes values that are not there")
        self._stack[-count:] = [tuple(self._stack[-count:])]

    # --- containers

    def _append(self, items: list[Any]) -> None:
        target = self._top()
        if type(target) is not list:
            raise RefusedError(f"it appends to {kind_of(target)}")
        if self._streams and self._root is NOTHING and len(self._stack) == 1 and not self._marks:
            self._root = target
            self._writer.record(**{"is": "list"})
            items = target + items
        if target is not self._root:
            target.extend(items)
            return
        for item in items:
            self._write(item, 1)

    def _collect(self, container: Callable[[list[Any]], Any]) -> None:
        items = self._since_mark()
        self._stack.append(container(items))

    def _set_items(self, items: list[Any]) -> None:
        target = self._top()
        if type(target) is not Pairs:
            raise RefusedError(f"it sets items of {kind_of(target)}")
        if len(items) % 2:
            raise BrokenError("a dict has a key without a value")
        target.flat.extend(items)

    def _dict(self) -> None:
        items = self._since_mark()
        self._stack.append(Pairs())
        self._set_items(items)

    # --- the only two opcodes that give values a meaning

    def _global(self, module: str, name: str) -> None:
        symbol = SYMBOLS.get((module, name))
        if symbol is None:
            raise RefusedError(f"it names {short(module)}.{short(name)}, which is not needed for numpy arrays")
        self._stack.append(symbol)

    def _stack_global(self) -> None:
        name, module = self._pop(), self._pop()
        self._global(text_of(module, "the module of a name"), text_of(name, "a name"))

    def _reduce(self) -> None:
        arguments, function = self._pop(), self._pop()
        meaning = REDUCE.get(function) if type(function) is Symbol else None
        if meaning is None:
            raise RefusedError(f"it calls {kind_of(function)}")
        if type(arguments) is not tuple:
            raise RefusedError(f"it calls {kind_of(function)} with {kind_of(arguments)} for arguments")
        self._stack.append(meaning(arguments))

    def _build(self) -> None:
        state, target = self._pop(), self._top()
        if type(target) is Dtype:
            build_dtype(target, state)
        elif type(target) is Array:
            if target.dtype is not None:
                raise RefusedError("it changes a numpy array")
            if not (type(state) is tuple and len(state) == 5 and type(state[0]) is int and state[0] == 1):
                raise RefusedError("it gives a numpy array a state that numpy does not")
            if type(state[3]) not in (bool, int):
                raise RefusedError("it gives a numpy array a state that numpy does not")
            target.fill(state[2], state[1], bool(state[3]), state[4])
        else:
            raise RefusedError(f"it sets attributes of {kind_of(target)}")

    # --- numbers

    def _int_line(self) -> None:  # 0: also True and False
        line = self._line()
        self._stack.append({b"00": False, b"01": True}[line] if line in (b"00", b"01") else whole(line))

    def _long(self, layout: str) -> None:
        count = self._number(layout)
        if not 0 <= count <= 9:
            raise RefusedError(f"it has a whole number of {count:,} bytes")
        self._stack.append(int.from_bytes(self._bytes(count), "little", signed=True))

    def _float_line(self) -> None:
        line = self._line()
        try:
            self._stack.append(float(line))
        except ValueError:
            raise BrokenError("a number cannot be read") from None

    def _unicode_line(self) -> None:
        line = self._line(MOST_LINE)
        self._hold(len(line))
        self._push_string(decoded(line, "raw-unicode-escape"), len(line))

    def _proto(self) -> None:
        version = self._number("<B")
        if self._steps > 1 or not 2 <= version <= 5:
            raise BrokenError(f"protocol {version} is unknown" if self._steps == 1 else "it begins twice")

    def _stop(self) -> None:
        self._done = True

    def _table(self) -> dict[bytes, Callable[[], None]]:
        def push(value: Callable[[], Any]) -> Callable[[], None]:
            return lambda: self._stack.append(value())

        number = self._number
        return {
            b"\x80": self._proto,
            b"\x95": lambda: number("<Q"),  # FRAME, 4: only says how far to read ahead
            b".": self._stop,
            b"(": self._mark,
            b"N": lambda: self._stack.append(None),
            b"\x88": lambda: self._stack.append(True),
            b"\x89": lambda: self._stack.append(False),
            b"I": self._int_line,
            b"L": push(lambda: whole(self._line().removesuffix(b"L"))),
            b"K": push(self._byte),
            b"M": push(lambda: number("<H")),
            b"J": push(lambda: number("<i")),
            b"\x8a": lambda: self._long("<B"),
            b"\x8b": lambda: self._long("<i"),
            b"F": self._float_line,
            b"G": push(lambda: number(">d")),
            b"V": self._unicode_line,
            b"\x8c": lambda: self._string("<B", True),
            b"X": lambda: self._string("<I", True),
            b"\x8d": lambda: self._string("<Q", True),
            b"C": lambda: self._string("<B", False),
            b"B": lambda: self._string("<I", False),
            b"\x8e": lambda: self._string("<Q", False),
            b"\x96": lambda: self._string("<Q", False),  # BYTEARRAY8, 5
            b")": lambda: self._stack.append(()),
            b"\x85": lambda: self._tuple(1),
            b"\x86": lambda: self._tuple(2),
            b"\x87": lambda: self._tuple(3),
            b"t": lambda: self._collect(tuple),
            b"]": lambda: self._stack.append([]),
            b"l": lambda: self._collect(list),
            b"a": lambda: self._append([self._pop()]),
            b"e": lambda: self._append(self._since_mark()),
            b"}": lambda: self._stack.append(Pairs()),
            b"d": self._dict,
            b"s": lambda: self._set_items([self._pop(), self._pop()][::-1]),
            b"u": lambda: self._set_items(self._since_mark()),
            b"p": lambda: self._put(whole(self._line())),
            b"q": lambda: self._put(self._byte()),
            b"r": lambda: self._put(number("<I")),
            b"\x94": lambda: self._put(len(self._memo)),
            b"g": lambda: self._get(whole(self._line())),
            b"h": lambda: self._get(self._byte()),
            b"j": lambda: self._get(number("<I")),
            b"c": lambda: self._global(decoded(self._line(), "utf-8"), decoded(self._line(), "utf-8")),
            b"\x93": self._stack_global,
            b"R": self._reduce,
            b"b": self._build,
        }

    # --- results

    def _write(self, value: Any, depth: int) -> None:
        if depth > MOST_NESTED:
            raise RefusedError(f"its values are nested more than {MOST_NESTED} deep")
        if value is self._root:
            raise RefusedError("the list at its top is in itself")
        writer = self._writer
        writer.values += 1
        # A value costs at least one opcode, unless it is written again and again.
        if writer.values > 4 * self._steps + 1000 or writer.bytes > 4 * self._read + CHUNK:
            raise RefusedError("it says the same over and over")
        kind = type(value)
        if kind is Array:
            self._write_array(value, depth)
        elif kind is Long:
            data = value.data
            if data is None:
                raise RefusedError("it uses one long string twice, as numpy never does")
            if type(data) is str:
                writer.raw(data.encode(), **{"is": "text"})
            else:
                writer.raw(data, **{"is": "bytes"})
        elif kind is bytes:
            writer.raw(value, **{"is": "bytes"})
        elif kind in (list, tuple, Pairs):
            writer.record(**{"is": {list: "list", tuple: "tuple", Pairs: "dict"}[kind]})
            for item in value.flat if kind is Pairs else value:
                self._write(item, depth + 1)
            writer.record(**{"is": "end"})
        elif value is None or kind in (bool, int, float, str):
            writer.record(**{"is": "value"}, value=value)
        else:
            raise RefusedError(f"it has {kind_of(value)} for a value")

    def _write_array(self, array: Array, depth: int) -> None:
        if array.dtype is None:
            raise RefusedError("it has a numpy array without content")
        if array.dtype.kind == "O":
            self._writer.record(**{"is": "objects"}, shape=array.shape, fortran=array.fortran)
            for item in array.data:
                self._write(item, depth + 1)
            self._writer.record(**{"is": "end"})
            return
        data = bytes_of(array.data, "the content of a numpy array")
        self._writer.raw(
            data,
            **{"is": "scalar" if array.scalar else "array"},
            dtype=array.dtype.text,
            shape=array.shape,
            fortran=array.fortran,
        )
        if type(array.data) is Long:
            array.data.data = None
            self._held -= array.data.held


def whole(line: bytes) -> int:
    """A whole number in text."""
    if not re.fullmatch(rb"-?[0-9]{1,20}", line):
        raise BrokenError("a whole number cannot be read")
    return int(line)


def decoded(data: bytes, codec: str) -> str:
    """Text in that codec."""
    try:
        text = data.decode(codec)
        if codec != "utf-8":
            text.encode()  # fails for halves of characters, which could not be written on
        return text
    except UnicodeError:
        raise BrokenError("it has text that cannot be read") from None


REFUSED_OPCODES = {
    b"P": "PERSID (a persistent id)",
    b"Q": "BINPERSID (a persistent id)",
    b"\x82": "EXT1 (an extension code)",
    b"\x83": "EXT2 (an extension code)",
    b"\x84": "EXT4 (an extension code)",
    b"i": "INST (an object of any class)",
    b"o": "OBJ (an object of any class)",
    b"\x81": "NEWOBJ (an object of any class)",
    b"\x92": "NEWOBJ_EX (an object of any class)",
    b"S": "STRING (a string of Python 2)",
    b"T": "BINSTRING (a string of Python 2)",
    b"U": "SHORT_BINSTRING (a string of Python 2)",
    b"\x8f": "EMPTY_SET (a set)",
    b"\x90": "ADDITEMS (a set)",
    b"\x91": "FROZENSET (a set)",
    b"\x97": "NEXT_BUFFER (a buffer outside the file)",
    b"\x98": "READONLY_BUFFER (a buffer outside the file)",
    b"0": "POP",
    b"1": "POP_MARK",
    b"2": "DUP",
}


def limit_process(memory: int, seconds: int) -> None:
    """Where the system can: no more memory, time, files or processes than needed."""
    codecs.lookup("raw-unicode-escape")  # loads the codec, before files are out of reach
    try:
        import resource
    except ImportError:  # Windows: only the limits of the machine itself, and the time limit of the parent
        return
    limits = {"AS": memory, "CPU": seconds, "CORE": 0, "FSIZE": 0, "NOFILE": 3, "NPROC": 0}
    for name, most in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        # time: a second more before the kill, so that the signal says what it was
        last = most + 1 if name == "CPU" else most
        if hard != resource.RLIM_INFINITY:
            most, last = min(most, hard), min(last, hard)
        try:
            resource.setrlimit(kind, (most, last))
        except (ValueError, OSError):  # macOS refuses some
            continue


def main(memory: int, seconds: int, streams: bool) -> None:
    """Read standard input, write standard output."""
    limit_process(memory, seconds)
    writer = Writer(sys.stdout.buffer)
    try:
        end = outcome(writer, memory, streams)
    except BrokenPipeError:  # the parent has seen enough
        return
    if end is not None:
        writer.record(**end)
    writer.close()


def outcome(writer: Writer, memory: int, streams: bool) -> dict[str, str] | None:
    """Run the machine; None if all went well, else the last record."""
    machine = Machine(sys.stdin.buffer, writer, memory // 2, streams)
    try:
        machine.run()
    except RefusedError as error:
        return {"is": "refused", "why": str(error)}
    except BrokenError as error:
        return {"is": "broken", "why": str(error)}
    except MemoryError:
        machine.forget()
    else:
        return None
    return {"is": "refused", "why": f"it needs more than {memory >> 20:,} MiB of memory"}


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "list")
