"""Sources: where bytes come from, whatever they are packed in.

A source is a file, standard input (``-``), or an object that pyarrow opens (``s3://``, ``gs://``, ...). gzip and zstd
are recognised by their first bytes, not by their name. Text is UTF-8, with or without a byte order mark, LF or CRLF.
The bytes that are read are counted for progress: one count for all sources of a corpus, whatever reads them.
"""

from __future__ import annotations

import glob
import io
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any, cast

from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.progress import Advance, is_shown, progress
from spoofspan.formats import arrow as pa

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
HEAD_BYTES = 1 << 16


@dataclass(frozen=True)
class Source:
    """Bytes with a name for messages."""

    name: str
    opener: Callable[[], IO[bytes]]
    path: Path | None = None  # of a plain file

    def open(self) -> IO[bytes]:
        """Open for reading, unpacked."""
        with ExitStack() as opened:
            try:
                raw = opened.enter_context(self.opener())
                buffered = io.BufferedReader(cast(io.RawIOBase, raw)) if not hasattr(raw, "peek") else raw
                start = cast(io.BufferedReader, buffered).peek(4)[:4]
            except OSError as error:
                raise unreadable(self.name, error) from None
            opened.pop_all()  # it stays open
        if start.startswith(GZIP):
            import gzip

            unpacked = gzip.GzipFile(fileobj=buffered, mode="rb")
            unpacked.myfileobj = cast(io.FileIO, buffered)  # or else closing would leave the file open
            return cast(IO[bytes], unpacked)
        if start.startswith(ZSTD):
            return cast(IO[bytes], io.BufferedReader(pa.CompressedInputStream(buffered, "zstd")))
        return buffered

    @property
    def is_packed(self) -> bool:
        """Whether a byte of it may stand for several of its text."""
        try:
            with self.opener() as raw:
                start = raw.read(4)
        except OSError as error:
            raise self.broken(error) from None
        return start.startswith((GZIP, ZSTD, b"PAR1", b"ARRO"))

    def read(self, size: int = -1) -> bytes:
        """Read all bytes, unpacked, or the first ones."""
        try:
            with self.open() as stream:
                return stream.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise self.broken(error) from None

    @cached_property
    def head(self) -> bytes:
        """The first bytes, unpacked, for recognising the format."""
        return self.read(HEAD_BYTES)

    def broken(self, error: Exception) -> DataError:
        """The error for bytes that the system does not give, that end too early, or that cannot be unpacked."""
        if isinstance(error, OSError) and error.errno is not None:
            return unreadable(self.name, error)
        return DataError(f"{self.name}: the file is truncated or damaged ({error}); get it again")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield (line number, line without its end) of a text file; blank lines are skipped."""
        number = 0
        try:
            with self.open() as stream:
                for number, raw in enumerate(stream, 1):
                    bare = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
                    line = bare.decode("utf-8").rstrip("\r\n")
                    if "\0" in line:
                        raise DataError(
                            f"{self.name}:{number}: not a text file (it has a NUL byte); give a text file, or convert "
                            "it if it is UTF-16 (for example: iconv -f utf-16 -t utf-8)"
                        )
                    if line.strip():
                        yield number, line
        except UnicodeDecodeError:
            raise not_utf8(self.name, number) from None
        except (OSError, EOFError, zlib.error) as error:
            raise self.broken(error) from None


def unreadable(name: str, error: OSError) -> DataError:
    """The error for a path that the system does not let us read."""
    return DataError(f"{name}: cannot be read ({error.strerror or error}); check the path and its rights")


@contextmanager
def naming(files: Sequence[str]) -> Iterator[None]:
    """See that a refusal of what is read here names a file: the first, where the reader itself named none."""
    try:
        yield
    except (DataError, UsageError) as error:
        text = str(error)
        if not files or any(name in text for name in files):
            raise
        others = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
        raise type(error)(f"{files[0]}{others}: {text}") from None


def not_utf8(name: str, line: int) -> DataError:
    """The error for text in another encoding."""
    return DataError(f"{name}:{line}: not UTF-8 text; convert it (for example: iconv -f latin1 -t utf-8)")


Where = str | Path | IO[bytes] | Source


def sources(where: Where | Sequence[Where], suffixes: Sequence[str] = ()) -> list[Source]:
    """Find sources: a path, ``-`` for standard input, a glob, a folder (its files), an address, or several of these.

    In a folder, files with one of the ``suffixes`` (and .gz or .zst after it) are taken; without suffixes, all.
    """
    if isinstance(where, (list, tuple)):
        return [found for one in where for found in sources(one, suffixes)]
    if isinstance(where, Source):  # found before: standard input can be read only once
        return [where]
    if not isinstance(where, (str, Path)):
        data = cast(IO[bytes], where).read()
        name = getattr(where, "name", None)  # a number for a file opened by its descriptor
        return [Source(str(name) if isinstance(name, (str, Path)) else "<stream>", lambda: io.BytesIO(data))]
    text = str(where)
    if text == "-":
        piped = sys.stdin.buffer.read()
        return [Source("<stdin>", lambda: io.BytesIO(piped))]
    if "://" in text:
        return [Source(text, lambda: _open_address(text))]
    try:
        return _found(text, suffixes)
    except OSError as error:  # a folder on the way that must not be entered, a name too long
        raise unreadable(text, error) from None


def _found(text: str, suffixes: Sequence[str]) -> list[Source]:
    """The files of a path, a glob or a folder."""
    path = Path(text).expanduser()
    if path.is_dir():
        return _in_folder(path, suffixes)
    if path.exists():
        return [_file(path)]
    if glob.has_magic(text):
        if found := sorted(filter(Path.is_file, map(Path, glob.glob(str(path))))):  # noqa: PTH207
            return [_file(one) for one in found]
        raise UsageError(f"no file matches {text!r}")
    raise UsageError(f"there is no file or folder {text!r}")


def _file(path: Path) -> Source:
    return Source(str(path), lambda: path.open("rb"), path)


def _in_folder(folder: Path, suffixes: Sequence[str]) -> list[Source]:
    endings = tuple(suffix + packed for suffix in suffixes for packed in ("", ".gz", ".zst"))
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    chosen = [path for path in files if not endings or path.name.endswith(endings)]
    if not chosen:
        wanted = f" that ends in {', '.join(suffixes)}" if suffixes else ""
        raise UsageError(f"the folder {str(folder)!r} has no file{wanted}")
    return [_file(path) for path in chosen]


def _open_address(address: str) -> IO[bytes]:
    try:
        filesystem, path = pa.fs.FileSystem.from_uri(address)
    except (ValueError, OSError) as error:
        raise UsageError(f"{address}: cannot be opened ({error})") from None
    return cast(IO[bytes], io.BufferedReader(filesystem.open_input_stream(path)))


# ---------------------------------------------------------------- progress


@contextmanager
def counted(found: Sequence[Source]) -> Iterator[Sequence[Source]]:
    """The same sources; while they are read, progress shows how far that is."""
    if not is_shown():
        yield found
        return
    sizes = [_size(source) for source in found]
    what = Path(found[0].name).name if len(found) == 1 else f"{len(found):,} files"
    with progress(f"reading {what}", total=sum(sizes), unit="B") as advance:
        yield [_counted(source, advance) if size else source for source, size in zip(found, sizes, strict=True)]


def _size(source: Source) -> int:
    """How many bytes a file has; 0 for what is no plain file."""
    try:
        return source.path.stat().st_size if source.path is not None and source.path.is_file() else 0
    except OSError:  # opening it will say why
        return 0


def _counted(source: Source, advance: Advance) -> Source:
    read = 0

    def note(amount: int) -> None:
        nonlocal read
        read += amount
        advance(amount)

    def opener() -> IO[bytes]:
        note(-read)  # some readers look twice
        return cast(IO[bytes], io.BufferedReader(_CountedFile(str(source.path), note)))

    return replace(source, opener=opener)


class _CountedFile(io.FileIO):
    """A file that says how much of it was read. It stays a FileIO, so that readers may still map it into memory."""

    def __init__(self, name: str, note: Advance) -> None:
        super().__init__(name, "rb")
        self._note = note

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer)
        self._note(count)
        return count

    def readall(self) -> bytes:
        data = super().readall()
        self._note(len(data))
        return data
