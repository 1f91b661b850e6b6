"""Pickles, read without running them.

A pickle can run any code, so none is ever given to :mod:`pickle` or to ``numpy.load(allow_pickle=True)``. A child
process reads it with a machine that knows numpy arrays, lists, tuples, dicts, text and numbers, and nothing else
(:mod:`spoofspan.formats.pickle_machine`), and hands the values back as JSON and raw bytes::

    file -> unpacked here -> child: standard library only, no site packages, its own limits -> JSON, bytes -> arrays

The child may use ``MEMORY`` bytes, open no file and start no process (POSIX: resource limits; on systems without them,
such as Windows, only the limits that the machine keeps by itself: steps, nesting, bytes held), and has ``SECONDS`` of
time, not counting the wait for the file.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from spoofspan.base.errors import DataError, SpoofspanError
from spoofspan.formats.pickle_machine import MOST_DIMENSIONS, MOST_NESTED
from spoofspan.formats.sources import Source

MEMORY = 2 << 30  # bytes
SECONDS = 600
MOST_LINE = 1 << 20
CHUNK = 1 << 20
NPY = b"\x93NUMPY"
# What the child inherits: only what a Python needs to start.
ENVIRONMENT = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
REMEDY = "only numbers, text, lists, dicts and numpy arrays of these are read; do not open it with other tools either"

Array = npt.NDArray[Any]


def read_list(source: Source, *, memory: int = MEMORY, seconds: float = SECONDS) -> Iterator[Any]:
    """Yield the items of a pickled list one by one; what came is not to be trusted before the last one came."""
    with _stream(source) as stream, _Child(source, stream, memory, seconds, "list") as child:
        opening = child.record()
        if opening["is"] not in ("list", "tuple"):
            raise DataError(f"{source.name}: the pickle holds {_noun(opening)}, not a list")
        yield from child.items(0)
        child.finish()


def read_value(source: Source, *, memory: int = MEMORY, seconds: float = SECONDS) -> Any:
    """Read a pickled value: None, bool, int, float, str, bytes, list, tuple, dict (keys are str) or numpy array."""
    with _stream(source) as stream:
        return _value_of(source, stream, memory, seconds)


def read_dict(source: Source, *, memory: int = MEMORY, seconds: float = SECONDS) -> dict[str, Any]:
    """Read a dict with text for keys, pickled as it is or in the 0-dimensional object array of a ``.npy`` file."""
    with _stream(source) as stream:
        if source.head.startswith(NPY):
            value = _npy_objects(source, stream, memory, seconds)
            value = value.item() if value.ndim == 0 else value
        else:
            value = _value_of(source, stream, memory, seconds)
    if not isinstance(value, dict):
        raise DataError(f"{source.name}: the file holds {_noun(value)}, not a dict")
    return value


def _value_of(source: Source, stream: IO[bytes], memory: int, seconds: float) -> Any:
    with _Child(source, stream, memory, seconds) as child:
        value = child.value(child.record(), 0)
        child.finish()
    return value


def _npy_objects(source: Source, stream: IO[bytes], memory: int, seconds: float) -> Array:
    shape, dtype = npy_header(source.name, stream)
    if dtype.kind != "O":
        raise DataError(f"{source.name}: the file holds an array of {dtype}, not a dict")
    value = _value_of(source, stream, memory, seconds)
    if not (isinstance(value, np.ndarray) and value.dtype.kind == "O" and value.shape == shape):
        raise DataError(f"{source.name}: the file is damaged: its header does not fit its content; get it again")
    return value


def npy_header(name: str, stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read the header of a ``.npy`` file: shape and dtype (of C order, or with one dimension at most)."""
    try:
        version = npy.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version} of the npy format")
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(stream)
    except Exception as error:  # a header is a Python literal: what a parser makes of a hostile one takes many forms
        raise DataError(f"{name}: the file is truncated or damaged ({_brief(error)}); get it again") from None
    if fortran and len(shape) > 1:
        raise DataError(f"{name}: the array is in Fortran order; write it in C order")
    return shape, dtype


def first_opcode(head: bytes) -> bytes:
    """The first opcode of a pickle of protocols 2 to 5 after its preamble; empty if it is none.

    >>> import pickle
    >>> first_opcode(pickle.dumps([1], 2)), first_opcode(pickle.dumps({}, 4)), first_opcode(b"text")
    (b']', b'}', b'')
    """
    if head[:1] != b"\x80" or not 2 <= int.from_bytes(head[1:2], "big") <= 5:
        return b""
    return head[11:12] if head[2:3] == b"\x95" else head[2:3]


def portable(pickled: bytes) -> bytes:
    """A pickle of numpy arrays (protocol 2 or 3, written here) under the names that numpy 1 knows too.

    The array is the first thing in it, so the first name is the one to change; its fellows refer to it.
    """
    return pickled.replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n", 1)


class _Child:
    """The reading process and its stream of records."""

    def __init__(self, source: Source, stream: IO[bytes], memory: int, seconds: float, expected: str = "value") -> None:
        self._source, self._stream = source, stream
        self._memory, self._seconds, self._expected = memory, seconds, expected
        self._feed_error: Exception | None = None
        self._waited = 0.0  # seconds spent on the file itself
        self._late = False
        self._over = threading.Event()

    def __enter__(self) -> _Child:
        import subprocess  # only here: it is slow to load

        machine = Path(__file__).with_name("pickle_machine.py")
        cpu = math.ceil(self._seconds)
        self._process = subprocess.Popen(  # noqa: S603 - fixed arguments, no shell
            [sys.executable, "-I", "-S", "-B", str(machine), str(self._memory), str(cpu), self._expected],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
        )
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._feed, self._watch)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._process.kill()
        for thread in self._threads:
            thread.join()
        self._out.close()
        self._process.wait()

    @property
    def _out(self) -> IO[bytes]:
        assert self._process.stdout is not None  # noqa: S101 - it was opened as a pipe
        return self._process.stdout

    def _feed(self) -> None:
        """Give the child the file."""
        pipe = self._process.stdin
        assert pipe is not None  # noqa: S101 - it was opened as a pipe
        while True:
            began = time.monotonic()
            try:
                chunk = self._stream.read(CHUNK)
            except Exception as error:  # told in the main thread, by record()
                self._feed_error = error
                break
            self._waited += time.monotonic() - began
            if not chunk:
                break
            try:
                pipe.write(chunk)
                pipe.flush()
            except OSError:  # the child ended, and says why
                break
        with suppress(OSError):
            pipe.close()

    def _watch(self) -> None:
        """End a child that takes too long."""
        began = time.monotonic()
        while not self._over.wait(min(1.0, self._seconds)):
            if time.monotonic() - began - self._waited > self._seconds:
                self._late = True
                self._process.kill()
                return

    def record(self) -> dict[str, Any]:
        """The next record; the child's last words become an error."""
        line = self._out.readline(MOST_LINE)
        try:
            record = json.loads(line)
            what = record["is"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._silence() from None
        if what in ("refused", "broken") and self._feed_error is not None:
            raise self._silence()
        why = record.get("why")
        if what == "refused":
            raise DataError(f"{self._source.name}: this pickle is refused: {why}; {REMEDY}")
        if what == "broken":
            raise DataError(f"{self._source.name}: the pickle is truncated or damaged: {why}; get it again")
        return dict(record)

    def finish(self) -> None:
        """Check that the child came to the end."""
        if self.record()["is"] != "done" or self._feed_error is not None:
            raise self._silence()

    def _silence(self) -> Exception:
        """Why there is no (whole) record."""
        name, error = self._source.name, self._feed_error
        if error is not None:
            return error if isinstance(error, SpoofspanError) else self._source.broken(error)
        if not self._out.read(1):  # at its end
            self._process.wait()
        if self._late or self._process.returncode == -getattr(signal, "SIGXCPU", 24):
            return DataError(f"{name}: this pickle is refused: reading takes more than {self._seconds:g} s; {REMEDY}")
        return DataError(
            f"{name}: this pickle is refused: the process that reads it ended with code {self._process.returncode} "
            f"(memory: {self._memory >> 20:,} MiB); {REMEDY}"
        )

    def items(self, depth: int) -> Iterator[Any]:
        """The values up to the end of a container."""
        while (record := self.record())["is"] != "end":
            yield self.value(record, depth + 1)

    def value(self, record: dict[str, Any], depth: int) -> Any:
        """The value that begins with this record; records that make no sense are refused like any other pickle."""
        try:
            return self._value(record, depth)
        except DataError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            raise self._silence() from None

    def _value(self, record: dict[str, Any], depth: int) -> Any:
        if depth > MOST_NESTED + 1:
            raise self._silence()
        what = record["is"]
        if what == "value":
            return record["value"]
        if what == "list":
            return list(self.items(depth))
        if what == "tuple":
            return tuple(self.items(depth))
        if what == "dict":
            return self._dict(list(self.items(depth)))
        if what == "bytes":
            return bytes(self._raw(record["bytes"]))
        if what == "text":
            return self._raw(record["bytes"]).decode()
        if what == "objects":
            return self._objects(record, list(self.items(depth)))
        if what in ("array", "scalar"):
            array = self._array(record)
            return array.item() if what == "scalar" else array
        raise self._silence()

    def _raw(self, count: int) -> bytearray:
        """So many bytes; no more memory is taken than bytes came."""
        data = bytearray()
        while len(data) < count:
            piece = self._out.read(min(count - len(data), 16 * CHUNK))
            if not piece:
                raise self._silence()
            data += piece
        return data

    def _dict(self, flat: list[Any]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in zip(flat[::2], flat[1::2], strict=True):
            if not isinstance(key, str):
                raise DataError(f"{self._source.name}: a dict has {_noun(key)} for a key; keys must be text")
            if key in result:
                raise DataError(f"{self._source.name}: {key!r} occurs more than once; give each utterance one id")
            result[key] = value
        return result

    def _objects(self, record: dict[str, Any], items: list[Any]) -> Array:
        array = np.empty(len(items), object)
        for i, item in enumerate(items):
            array[i] = item
        return array.reshape(_shape(record), order="F" if record["fortran"] else "C")

    def _array(self, record: dict[str, Any]) -> Array:
        if not re.fullmatch(r"[<>|](b1|[iu][1248]|f[248]|[SU][1-9][0-9]{0,6})", record["dtype"]):
            raise self._silence()
        dtype = np.dtype(record["dtype"])
        flat: Array = np.frombuffer(self._raw(record["bytes"]), dtype)
        if dtype.kind == "U":
            check_text(self._source.name, flat)
        native = flat.astype(dtype.newbyteorder("="), copy=False)
        return native.reshape(_shape(record), order="F" if record["fortran"] else "C")


def _shape(record: dict[str, Any]) -> tuple[int, ...]:
    return tuple(int(length) for length in record["shape"][:MOST_DIMENSIONS])


def check_text(name: str, flat: Array) -> None:
    """Refuse text that is no Unicode: it could not even be printed."""
    codes = flat.view(flat.dtype.byteorder.replace("=", "") + "u4")
    if codes.size and codes.max() >= 0xD800 and ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any():
        raise DataError(f"{name}: the file is damaged: an array has text that is not Unicode; get it again")


@contextmanager
def _stream(source: Source) -> Iterator[IO[bytes]]:
    try:
        stream = source.open()
    except (OSError, EOFError, zlib.error) as error:
        raise source.broken(error) from None
    with stream:
        yield stream


def _noun(value: Any) -> str:
    """What a value or a record is, in words."""
    if isinstance(value, dict) and "is" in value:
        what = value["is"]
        if what == "objects":
            return "an array of objects"
        return _noun(value["value"]) if what == "value" else f"{'an' if what == 'array' else 'a'} {what}"
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with {value.ndim} dimensions"
    return "nothing" if value is None else f"a value of type {type(value).__name__}"


def _brief(error: Exception) -> str:
    text = " ".join(str(error).split())
    return (text if len(text) <= 200 else text[:200] + "...") or type(error).__name__
