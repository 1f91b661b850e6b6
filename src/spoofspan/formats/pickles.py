"""Pickles, read without running them.

A pickle can run any code, so none is given to the module pickle as it is, nor to ``numpy.load(allow_pickle=True)``. A
child process reads it with Python's own unpickler, restricted to numpy arrays, lists, tuples, dicts, text and numbers
(:mod:`spoofspan.formats.unpickler`), and hands the values back as JSON and raw bytes::

    file -> unpacked here -> child: standard library only, no site packages, its own limits -> JSON, bytes -> arrays

The child may use ``MEMORY`` bytes, open no file and start no process, and has ``SECONDS`` of time, not counting the
wait for the file. Where the system has no such limits (Windows), the time limit remains, and the bounds that the
unpickler keeps by itself on the bytes it holds. What it answers is bounded by the size of the file. It ends with this
process, as its input does.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from spoofspan.base.errors import DataError, SpoofspanError
from spoofspan.formats.sources import Source

MEMORY = 2 << 30  # bytes
SECONDS = 600
CHUNK = 1 << 20
NPY, PICKLE = b"\x93NUMPY", b"\x80"
# how a pickle of protocol 2 to 5 begins, up to its first opcode but one: a frame may come before it
PREAMBLE = rb"(?s)\x80[\x02-\x05](?:\x95.{8})?"
# What the child inherits: only what a Python needs to start.
ENVIRONMENT = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
REMEDY = "only numbers, text, lists, dicts and numpy arrays of these are read; do not open it with other tools either"

Array = npt.NDArray[Any]


def read_list(source: Source, *, memory: int = MEMORY, seconds: float = SECONDS) -> Iterator[Any]:
    """Yield the items of a pickled list one by one; what came is not to be trusted before the last one came."""
    with _stream(source) as stream, _Child(source, stream, memory, seconds, "list") as child:
        yield from child.items()


def read_dict(source: Source) -> dict[str, Any]:
    """Read a dict with text for keys, pickled as it is or in the 0-dimensional object array of a ``.npy`` file."""
    with _stream(source) as stream:
        if source.head.startswith(NPY):
            shape, dtype = npy_header(source.name, stream)
            if dtype.kind != "O":
                raise DataError(f"{source.name}: the file holds an array of {dtype}, not a dict")
            value = _value(source, stream)
            if not (isinstance(value, np.ndarray) and value.dtype.kind == "O" and value.shape == shape):
                raise DataError(
                    f"{source.name}: the file is damaged: its header does not fit its content; get it again"
                )
            value = value.item() if value.ndim == 0 else value
        else:
            value = _value(source, stream)
    if not isinstance(value, dict):
        raise DataError(f"{source.name}: the file holds {_noun(value)}, not a dict")
    return value


def _value(source: Source, stream: IO[bytes], memory: int = MEMORY, seconds: float = SECONDS) -> Any:
    """The pickled value: None, bool, int, float, str, bytes, list, tuple, dict with text for keys, or numpy array."""
    with _Child(source, stream, memory, seconds, "value") as child:
        values = list(child.items())
        if len(values) != 1:
            raise child.silence()
    return values[0]


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


def portable(pickled: bytes) -> bytes:
    """A pickle of numpy arrays (protocol 2 or 3, written here) under the names that numpy 1 knows too.

    The array is the first thing in it, so the first name is the one to change; its fellows refer to it.
    """
    return pickled.replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n", 1)


class _Child:
    """The process that reads, and what it answers."""

    def __init__(self, source: Source, stream: IO[bytes], memory: int, seconds: float, expected: str) -> None:
        self._source, self._stream = source, stream
        self._memory, self._seconds, self._expected = memory, seconds, expected
        self._feed_error: Exception | None = None
        self._waited = 0.0  # seconds spent on the file itself
        self._fed = self._taken = 0  # bytes
        self._late, self._over = False, threading.Event()

    def __enter__(self) -> _Child:
        import subprocess  # only here: it is slow to load

        program = Path(__file__).with_name("unpickler.py")
        cpu = math.ceil(self._seconds)
        self._process = subprocess.Popen(  # noqa: S603 - fixed arguments, no shell
            [sys.executable, "-I", "-S", "-B", str(program), str(self._memory), str(cpu), self._expected],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
        )
        self._in, self._out = cast(IO[bytes], self._process.stdin), cast(io.BufferedReader, self._process.stdout)
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

    def _feed(self) -> None:
        """Give the child the file."""
        with suppress(OSError), self._in as pipe:  # the child ended, and says why
            while True:
                began = time.monotonic()
                try:
                    chunk = self._stream.read(CHUNK)
                except Exception as error:  # told in the main thread, by items()
                    self._feed_error = error
                    return
                self._waited += time.monotonic() - began
                if not chunk:
                    return
                self._fed += len(chunk)
                pipe.write(chunk)
                pipe.flush()

    def _watch(self) -> None:
        """End a child that takes too long."""
        began = time.monotonic()
        while not self._over.wait(min(1.0, self._seconds)):
            if time.monotonic() - began - self._waited > self._seconds:
                self._late = True
                self._process.kill()
                return

    def items(self) -> Iterator[Any]:
        """The values that come; the child's last words become an error."""
        name = self._source.name
        while True:
            try:
                what, content = json.loads(self._out.readline(self._room()), object_hook=self._object)
            except DataError:
                raise
            except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
                raise self.silence() from None
            if self._feed_error is not None:
                raise self.silence()
            if what == "item":
                yield content
            elif what == "end":
                return
            elif what == "unfit":
                raise DataError(f"{name}: {content}")
            elif what == "broken":
                raise DataError(f"{name}: the pickle is truncated or damaged: {content}; get it again")
            elif "torch" in str(content):
                file = Path(name).name
                raise DataError(
                    f"{name}: this pickle is refused: {content}; it holds torch tensors: if you made it, write it with "
                    'torch.save: python -c "from pickle import load; import torch; '
                    f"torch.save(load(open({file!r}, 'rb')), 'scores.pt')\""
                )
            else:
                raise DataError(f"{name}: this pickle is refused: {content}; {REMEDY}")

    def _room(self) -> int:
        """Limit of the bytes to come: not many times the size of the file."""
        from spoofspan.formats.unpickler import ALLOWANCE, FACTOR

        return max(FACTOR * self._fed + ALLOWANCE - self._taken, 0)

    def _raw(self, count: int) -> bytearray:
        """The bytes that follow a line."""
        if not 0 <= count <= self._room():
            raise ValueError
        data = bytearray(count)
        if self._out.readinto(data) != count:
            raise ValueError
        self._taken += count
        return data

    def _object(self, node: dict[str, Any]) -> Any:
        """An object that JSON lacks, from its node."""
        ((kind, content),) = node.items()
        if kind == "tuple":
            return tuple(content)
        if kind == "dict":
            return dict(zip(*content, strict=True))
        if kind == "bytes":
            return bytes(self._raw(content))
        *dtype_and_shape, fortran, rest = content
        if kind == "objects":
            flat: Array = np.fromiter(rest, object, len(rest))
        elif re.fullmatch(r"[<>|](b1|[iu][1248]|f[248]|[SU][1-9][0-9]{0,6})", dtype_and_shape[0]):
            dtype = np.dtype(dtype_and_shape[0])
            flat = np.frombuffer(self._raw(rest), dtype)
            if dtype.kind == "U":
                check_text(self._source.name, flat)
            flat = flat.astype(dtype.newbyteorder("="), copy=False)
        else:
            raise ValueError
        return flat.reshape(dtype_and_shape[-1], order="F" if fortran else "C")

    def silence(self) -> Exception:
        """Reason why there is no (whole) answer."""
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


def check_text(name: str, flat: Array) -> None:
    """Refuse text that is no Unicode: it could not even be printed."""
    codes = flat.view(flat.dtype.byteorder.replace("=", "") + "u4")
    if codes.size and codes.max() >= 0xD800 and ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any():
        raise DataError(f"{name}: the file is damaged: an array has text that is not Unicode; get it again")


@contextmanager
def _stream(source: Source) -> Iterator[IO[bytes]]:
    with source.read_errors():
        stream = source.open()
    with stream:
        yield stream


def _noun(value: Any) -> str:
    """Description of a value, in words."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with {value.ndim} dimensions"
    return "nothing" if value is None else f"a value of type {type(value).__name__}"


def _brief(error: Exception) -> str:
    text = " ".join(str(error).split())
    return (text if len(text) <= 200 else text[:200] + "...") or type(error).__name__
