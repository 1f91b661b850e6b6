"""Zip and tar archives that strangers made, opened within bounds.

A kilobyte can claim to be gigabytes in many ways: members packed by bzip2 or LZMA, which Python unpacks without a
bound; members that share the same bytes; millions of names; headers of a tar that state any length. So whoever reads
an archive reads it here. Members are stored or deflated, do not overlap, and are bounded in number; nothing reads more
than a bounded number of bytes at once; any fault is a ``DataError`` that names the file.
"""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from spoofspan.base.errors import DataError, SpoofspanError

PIECE = 1 << 20  # bytes of a zip that are read at once
TAR_PIECE = 1 << 15  # and of a tar: also the longest of its headers
BYTES_PER_NAME = 128  # of a zip's directory: 46 and the name
MOST_MEMBERS = 1_000_000
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
OTHER_METHODS = {zipfile.ZIP_BZIP2: "bzip2", zipfile.ZIP_LZMA: "LZMA", 93: "Zstandard"}
GZIP, OTHER_PACKINGS = b"\x1f\x8b", (b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"\x5d\x00\x00")
# what the standard library raises for damaged archives
DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error, EOFError, OSError),
    *(RuntimeError, NotImplementedError, ValueError, LookupError, OverflowError),
)


class NoArchiveError(DataError):
    """A file that is no tar at all."""


class _Bounded(io.RawIOBase):
    """A stream of which at most ``most`` bytes are read at once, and none beyond ``end``."""

    def __init__(self, stream: IO[bytes], most: int, end: int) -> None:
        self._stream, self._most, self._end = stream, most, end

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._stream.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_SET and not 0 <= offset <= self._end:
            raise ValueError(f"it states a position of {offset:,} bytes, and may have {self._end:,}")
        return self._stream.seek(offset, whence)

    def read(self, size: int | None = -1) -> bytes:
        wanted = max(self._end - self.tell(), 0) if size is None or size < 0 else size
        if wanted > self._most:
            raise ValueError(f"it states a part of {wanted:,} bytes where {self._most:,} are the most")
        return self._stream.read(wanted)


@contextmanager
def reading_archive(name: str) -> Iterator[None]:
    """Turn what a damaged archive raises into an error that names it."""
    try:
        yield
    except SpoofspanError:
        raise
    except DAMAGED as error:
        why = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise DataError(f"{name}: the archive is damaged or locked ({why}); get it again, or pack it again") from None


# ---------------------------------------------------------------- zip


def is_zip(stream: IO[bytes]) -> bool:
    """True if a stream ends as zip archives do; what looks like a damaged one does too."""
    try:
        return zipfile.is_zipfile(stream)
    except zipfile.BadZipFile:
        return True


@contextmanager
def opened_zip(stream: IO[bytes], name: str, most_members: int = MOST_MEMBERS) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive whose members may all be read by :func:`pieces`; ``stream`` must be able to seek."""
    with reading_archive(name):
        size = stream.seek(0, io.SEEK_END)
        bounded = _Bounded(stream, max(PIECE, BYTES_PER_NAME * most_members), size)
        try:
            archive = zipfile.ZipFile(cast(Any, bounded))
        except zipfile.BadZipFile as error:
            raise DataError(f"{name}: no zip archive, or truncated or damaged ({error}); get it again") from None
        with archive:
            _check_members(archive, name, size, most_members)
            yield archive


def _check_members(archive: zipfile.ZipFile, name: str, size: int, most_members: int) -> None:
    members = archive.infolist()
    if len(members) > most_members:
        raise DataError(f"{name}: {len(members):,} files in the archive, and {most_members:,} are the most; pack fewer")
    if sum(one.compress_size for one in members) > size:
        raise DataError(f"{name}: the members of the archive overlap; pack it again")
    for one in members:
        place = f"{name}: {one.filename[:80]!a}"
        if one.flag_bits & 1:
            raise DataError(f"{place} is encrypted; pack it without a password")
        if one.compress_type not in METHODS:
            method = OTHER_METHODS.get(one.compress_type, f"method {one.compress_type}")
            raise DataError(
                f"{place} is packed by {method}, which cannot be unpacked within bounds; pack it by deflate, as zip "
                "programs do unless told otherwise, or without compression"
            )


def pieces(stream: IO[bytes], size: int = PIECE) -> Iterator[bytes]:
    """All bytes of a member, some at a time."""
    while piece := stream.read(size):
        yield piece


# ---------------------------------------------------------------- tar


def tar_members(stream: IO[bytes], name: str, *, most_members: int, most_bytes: int) -> Iterator[tuple[str, IO[bytes]]]:
    """The plain files of a tar, packed by gzip or not: names, and streams to be read by ``TAR_PIECE`` bytes.

    ``most_bytes`` bounds the whole archive, unpacked.
    """
    head = stream.read(6)
    stream.seek(0)
    if head.startswith(OTHER_PACKINGS):
        raise DataError(f"{name}: a tar is taken plain or packed by gzip; pack it again as .tar.gz, or as .zip")
    unpacked = cast(IO[bytes], gzip.GzipFile(fileobj=stream)) if head.startswith(GZIP) else stream
    with reading_archive(name):
        try:
            tar = tarfile.open(fileobj=cast(Any, _Bounded(unpacked, TAR_PIECE, most_bytes)), mode="r:")  # noqa: SIM115
        except tarfile.ReadError as error:
            raise NoArchiveError(f"{name}: neither a zip nor a tar ({error})") from None
        with tar:
            for count, member in enumerate(tar, 1):
                if count > most_members:
                    raise DataError(f"{name}: more than {most_members:,} files in the archive; pack fewer")
                if member.isreg() and not member.issparse():
                    content = tar.extractfile(member)
                    if content is not None:
                        yield member.name, content
