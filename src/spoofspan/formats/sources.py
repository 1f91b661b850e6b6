"""Sources: where bytes come from, whatever they are packed in.

A source is a file, a pipe, standard input (``-``), or an object that pyarrow opens (``s3://``, ...). gzip and zstd are
recognised by their first bytes, not by their name. Text is UTF-8, with or without a byte order mark, LF or CRLF. A few
bytes can stand for gigabytes, so what is read at once is bounded: a line, what one byte unpacks to, a file held whole.
The bytes that are read are counted for progress: one count for all sources of a corpus, whatever reads them.
"""

from __future__ import annotations

import errno
import glob
import io
import mmap
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.progress import Advance, is_shown, progress
from spoofspan.formats import arrow as pa
from spoofspan.formats.pipes import pipe_of

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
HEAD_BYTES = 1 << 16
PIECE_BYTES = 1 << 22
MOST_BYTES_PER_LINE = 1 << 26
MOST_BYTES_HELD = 1 << 26
MOST_BYTES_WHOLE = 1 << 30  # of a file that means nothing in parts
# of one packed byte, beyond an allowance: text of scores has 3 to 20; deflate can reach 1,032, zstd more
MOST_UNPACKED, UNPACKED_ALLOWANCE = 200, 1 << 26


@dataclass
class SourceLook:
    """First bytes of a source, and the formats that they fit; every copy of the source shares it."""

    stored: bytes | None = None  # the first four, packed or not
    head: bytes | None = None  # the first 64 KiB, unpacked
    fits: dict[object, list[Any]] = field(default_factory=dict)  # by registry
    whole: bytes | None = None  # if it is held


@dataclass(frozen=True)
class Source:
    """Bytes with a name for messages."""

    name: str
    opener: Callable[[], IO[bytes]]
    path: Path | None = None  # of a plain file
    look: SourceLook = field(default_factory=SourceLook, repr=False, compare=False)

    def open(self) -> IO[bytes]:
        """Open for reading, unpacked."""
        if self.look.whole is not None:
            return io.BytesIO(self.look.whole)
        with ExitStack() as opened:
            try:
                raw = opened.enter_context(self.opener())
                buffered = io.BufferedReader(cast(io.RawIOBase, raw)) if not hasattr(raw, "peek") else raw
                start = cast(io.BufferedReader, buffered).peek(4)[:4]
            except OSError as error:
                raise unreadable(self.name, error) from None
            opened.pop_all()  # it stays open
        self.look.stored = start
        if start.startswith(GZIP):
            import gzip

            unpacked: Any = gzip.GzipFile(fileobj=buffered, mode="rb")
        elif start.startswith(ZSTD):
            unpacked = pa.CompressedInputStream(buffered, "zstd")
        else:
            return buffered
        return cast(IO[bytes], io.BufferedReader(_Unpacked(self.name, unpacked, buffered), HEAD_BYTES))

    def hold(self) -> None:
        """Keep a plain file that is not large in memory, for a reader that takes one column at a time."""
        if self.look.whole is None and 0 < self.size <= MOST_BYTES_HELD and not self.is_compressed:
            self.look.whole = self.read()

    @property
    def stored(self) -> bytes:
        """The first four bytes as they are stored."""
        if self.look.stored is None:
            with self.read_errors(), self.opener() as raw:
                self.look.stored = raw.read(4)
        return self.look.stored

    @property
    def is_compressed(self) -> bool:
        """True if it is unpacked when it is opened."""
        return self.stored.startswith((GZIP, ZSTD))

    @property
    def is_packed(self) -> bool:
        """True if a byte of it may stand for several of its text."""
        return self.is_compressed or self.stored.startswith((b"PAR1", b"ARRO"))

    @property
    def size(self) -> int:
        """Size of a file in bytes; 0 for what is no plain file."""
        try:
            return self.path.stat().st_size if self.path is not None and self.path.is_file() else 0
        except OSError:  # opening it will say why
            return 0

    def read(self, size: int = -1) -> bytes:
        """Read all bytes, unpacked, or the first ones."""
        with self.read_errors(), self.open() as stream:
            return stream.read(size)

    def document(self) -> bytes:
        """Read all bytes of a file that means nothing in parts, as JSON does: not more than can be held."""
        large = self.size > MOST_BYTES_WHOLE
        pieces: list[bytes] = []
        with self.read_errors(), self.open() as stream:
            while not large and (piece := stream.read(PIECE_BYTES)):  # to read(n), Python gives n bytes at once
                pieces.append(piece)
                large = sum(map(len, pieces)) > MOST_BYTES_WHOLE
        if large:
            raise DataError(
                f"{self.name}: the file has more than {MOST_BYTES_WHOLE >> 20:,} MiB, and can only be read as a whole; "
                "cut it into several"
            )
        return b"".join(pieces)

    def text(self) -> bytes:
        """Read all bytes of a text file, unpacked; no line may be longer than lines are anywhere."""
        pieces: list[bytes] = []
        line, length = 1, 0
        with self.read_errors(), self.open() as stream:
            while piece := stream.read(PIECE_BYTES):
                end = piece.rfind(b"\n") + 1
                if length + (piece.find(b"\n") if end else len(piece)) > MOST_BYTES_PER_LINE:
                    raise self.line_too_long(line)
                line, length = line + piece.count(b"\n"), len(piece) - end + (0 if end else length)
                pieces.append(piece)
        return b"".join(pieces)

    def whole(self) -> bytes | mmap.mmap:
        """All bytes, unpacked: those of a plain file are mapped into memory, and read where they are looked at."""
        if self.path is None or self.is_packed or not self.size:
            return self.read()
        with self.read_errors(), self.path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def line_too_long(self, number: int, most: int = MOST_BYTES_PER_LINE) -> DataError:
        """The error for a line without bound."""
        return DataError(
            f"{self.name}:{number}: the line is longer than {most >> 20} MiB; is this a text file? "
            "Give each row a line of its own"
        )

    @contextmanager
    def read_errors(self) -> Iterator[None]:
        """Turn errors of the system and of unpacking into one that names the file."""
        try:
            yield
        except (OSError, EOFError, zlib.error) as error:
            raise self.broken(error) from None

    @property
    def head(self) -> bytes:
        """The first bytes, unpacked, for recognising the format; they are read once."""
        if self.look.head is None:
            self.look.head = self.read(HEAD_BYTES)
        return self.look.head

    def broken(self, error: Exception) -> DataError:
        """The error for bytes that the system does not give, that end too early, or that cannot be unpacked."""
        if getattr(error, "errno", None) == errno.ENOMEM:
            return DataError(f"{self.name}: the file does not fit into memory; is it what it should be?")
        if isinstance(error, OSError) and error.errno is not None:
            return unreadable(self.name, error)
        return DataError(f"{self.name}: the file is truncated or damaged ({error}); get it again")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield (line number, line without its end) of a text file; blank lines are skipped."""
        number = 0
        try:
            with self.read_errors(), self.open() as stream:
                for number, raw in enumerate(iter(partial(stream.readline, MOST_BYTES_PER_LINE + 1), b""), 1):
                    if len(raw) > MOST_BYTES_PER_LINE:
                        raise self.line_too_long(number)
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                    if "\0" in line:
                        raise DataError(
                            f"{self.name}:{number}: not a text file (it has a NUL byte); give a text file, or convert "
                            "it if it is UTF-16 (for example: iconv -f utf-16 -t utf-8)"
                        )
                    if line.strip():
                        yield number, line
        except UnicodeDecodeError:
            raise not_utf8(self.name, number) from None


class _Unpacked(io.RawIOBase):
    """Content of a packed file; one that unpacks to far more than files do is refused on the way."""

    def __init__(self, name: str, stream: Any, packed: IO[bytes]) -> None:
        self._name, self._stream, self._packed = name, stream, packed
        self._done = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        self._done += len(data)
        if self._done > UNPACKED_ALLOWANCE and self._done > UNPACKED_ALLOWANCE + MOST_UNPACKED * self._packed.tell():
            raise DataError(
                f"{self._name}: the packed file unpacks to more than {MOST_UNPACKED} times its size; if that is right, "
                "unpack it first"
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            self._packed.close()
        super().close()


def unreadable(name: str, error: OSError) -> DataError:
    """The error for a path that the system does not let us read."""
    return DataError(f"{name}: cannot be read ({error.strerror or error}); check the path and its rights")


@contextmanager
def naming(files: Sequence[str]) -> Iterator[None]:
    """Put the name of the first file before a refusal of what is read here, unless that names one of the files."""
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


HF_STATE = "state.json"  # of a Hugging Face Dataset that was saved to disk
Where = str | Path | IO[bytes] | Source


def typed_name(source: Source) -> str:
    """The name of a file as it is typed."""
    if source.name == "<stdin>":
        return "-"
    return source.name if re.fullmatch(r"[\w./@%+=:,~-]+", source.name) else f"'{source.name}'"


def sources(where: Where | Sequence[Where], suffixes: Sequence[str] = ()) -> list[Source]:
    """Find sources: a path, ``-`` for standard input, a glob, a folder (its files), an address, or several of these.

    In a folder, files with one of the ``suffixes`` (and .gz or .zst after it) are taken; without suffixes, all.
    """
    if isinstance(where, (list, tuple)):
        return [found for one in where for found in sources(one, suffixes)]
    if isinstance(where, Source):  # found before: standard input can be read only once
        return [where]
    if not isinstance(where, (str, Path)):
        if not hasattr(where, "read"):
            raise UsageError(
                f"give a path or an open file, not a {type(where).__name__}; References.from_table and "
                "Scores.from_table take data frames, and so does range_eer itself"
            )
        data = cast(IO[bytes], where).read()
        name = getattr(where, "name", None)  # a number for a file opened by its descriptor
        return [Source(str(name) if isinstance(name, (str, Path)) else "<stream>", lambda: io.BytesIO(data))]
    text = str(where)
    if text == "-":
        return [Source("<stdin>", pipe_of(sys.stdin.buffer, "<stdin>").open)]
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
    raise UsageError(f"there is no file or folder {text!r}{_near_file(path)}")


def _near_file(path: Path) -> str:
    """The file of the same folder that was probably meant; nothing if none is near."""
    try:
        names = [one.name for one in path.parent.iterdir()]
    except OSError:
        return f": there is no folder {str(path.parent)!r} either"
    close = get_close_matches(path.name, names, n=1, cutoff=0.7)
    return f"; did you mean {str(path.with_name(close[0]))!r}?" if close else ""


def _file(path: Path) -> Source:
    if not path.is_file():
        return Source(str(path), pipe_of(path, str(path)).open)
    return Source(str(path), lambda: path.open("rb"), path)


def _in_folder(folder: Path, suffixes: Sequence[str]) -> list[Source]:
    endings = tuple(suffix + packed for suffix in suffixes for packed in ("", ".gz", ".zst"))
    if (folder / "dataset_dict.json").is_file():
        splits = ", ".join(str(one) for one in sorted(folder.iterdir()) if (one / HF_STATE).is_file())
        raise UsageError(f"the folder {str(folder)!r} is a Hugging Face DatasetDict; give one of its splits: {splits}")
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if (folder / HF_STATE).is_file():  # what Dataset.save_to_disk wrote: tables, and JSON about them
        files = [path for path in files if path.suffix == ".arrow"]
    chosen = [path for path in files if not endings or path.name.endswith(endings)]
    if not chosen:
        wanted = f" that ends in {', '.join(suffixes)}" if suffixes else ""
        raise UsageError(f"the folder {str(folder)!r} has no file{wanted}")
    return [_file(path) for path in chosen]


def _open_address(address: str) -> IO[bytes]:
    if address.startswith(("http://", "https://")):
        raise UsageError(f"{address}: files on the web are not read; download it, and give the path of the file")
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
    sizes = [source.size for source in found]
    what = Path(found[0].name).name if len(found) == 1 else f"{len(found):,} files"
    with progress(f"reading {what}", total=sum(sizes), unit="B") as advance:
        yield [_counted(source, advance) if size else source for source, size in zip(found, sizes, strict=True)]


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
