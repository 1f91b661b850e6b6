"""Sound that the header of a file states, and that is there; libraries that read sound count what is there.

WAV, RF64, AIFF, AU, W64, CAF and SPHERE files state the bytes of their samples. Ogg states no length, but marks its
last page.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import BinaryIO

UNKNOWN = 0xFFFFFFFF  # as a number of bytes: not known when the header was written, or in another place
W64_DATA = b"data\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a"
OGG_HEAD, OGG_LONGEST, OGG_LAST = 27, 65_307, 4  # bytes of a page without its table; of a whole page; flag of the last


@dataclass(frozen=True)
class DataBytes:
    """Bytes of samples that a header states, and those that are there."""

    stated: int
    found: int

    @classmethod
    def of(cls, stated: int, size: int, start: int) -> DataBytes:
        """Of a file of ``size`` bytes whose samples begin at ``start``."""
        return cls(stated, max(min(size - start, stated), 0))


def stated_bytes(stream: BinaryIO) -> DataBytes | None:
    """Bytes of samples that the header states; None if it states none, as in a stream."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    head = stream.read(12)
    found: DataBytes | None = None
    if head[:4] == b".snd":
        offset, length = struct.unpack(">II", head[4:].ljust(8, b"\0"))
        found = None if length == UNKNOWN else DataBytes.of(length, size, offset)
    elif head[:4] in (b"RIFF", b"RF64", b"FORM"):
        found = _of_riff(stream, size, head[:4] == b"FORM")
    elif head[:4] == b"riff":
        found = _of_chunks(stream, size, 40, "<16sQ", W64_DATA, counts_itself=True)
    elif head[:4] == b"caff":
        found = _of_chunks(stream, size, 8, ">4sq", b"data", counts_itself=False)
    elif head[:7] == b"NIST_1A":
        found = _of_sphere(stream, size)
    stream.seek(0)
    return found


def ends_early(stream: BinaryIO) -> bool:
    """True if an Ogg file ends within a page, or without the mark of the last one."""
    stream.seek(0)
    if stream.read(4) != b"OggS":
        stream.seek(0)
        return False
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(size - OGG_LONGEST, 0))
    tail = stream.read()
    stream.seek(0)
    page = tail[tail.rfind(b"OggS") :]
    segments = page[OGG_HEAD - 1] if len(page) >= OGG_HEAD else 0
    table = page[OGG_HEAD : OGG_HEAD + segments]
    return len(table) < max(segments, 1) or len(page) < OGG_HEAD + segments + sum(table) or not page[5] & OGG_LAST


def _of_riff(stream: BinaryIO, size: int, aiff: bool) -> DataBytes | None:
    order, wanted, large = (">", b"SSND", None) if aiff else ("<", b"data", None)
    position = 12
    while position + 8 <= size:
        stream.seek(position)
        name, length = struct.unpack(order + "4sI", stream.read(8))
        if name == b"ds64":
            large = struct.unpack("<QQ", stream.read(16).ljust(16, b"\0"))[1]
        if name == wanted:
            if length == UNKNOWN and large is None and isinstance(stream, io.BytesIO):
                return None  # who writes into a pipe cannot know
            length = large if large is not None and length == UNKNOWN else length
            before = 16 if name == b"SSND" else 8  # bytes of its own head
            return DataBytes.of(length + 8 - before, size, position + before)
        position += 8 + length + length % 2
    return None


def _of_chunks(
    stream: BinaryIO, size: int, position: int, head: str, wanted: bytes, *, counts_itself: bool
) -> DataBytes | None:
    """Of W64, whose chunks count their head and are filled up to 8 bytes, and CAF, whose samples follow a number."""
    before = struct.calcsize(head)
    while position + before <= size:
        stream.seek(position)
        name, length = struct.unpack(head, stream.read(before))
        length -= before if counts_itself else 0
        if length < 0:  # of CAF: not known when it was written
            return None
        if name == wanted:
            skipped = 0 if counts_itself else 4
            return DataBytes.of(length - skipped, size, position + before + skipped)
        position += before + length + (-length % 8 if counts_itself else 0)
    return None


def _of_sphere(stream: BinaryIO, size: int) -> DataBytes | None:
    stream.seek(8)
    try:
        length = int(stream.readline(16))
        stream.seek(0)
        lines = (line.split(None, 2) for line in stream.read(min(length, 1 << 16)).decode("latin-1").splitlines())
        said = {line[0]: line[2] for line in lines if len(line) == 3}
        stated = int(said["sample_count"]) * int(said["channel_count"]) * int(said["sample_n_bytes"])
    except (KeyError, ValueError):
        return None
    return DataBytes.of(stated, size, length)
