"""The size of memory, and a check if files fit into it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from spoofspan.formats.sources import Source

# Measured with ten million frames: `eval` needs about 0.8 bytes at peak per byte of text, and 8 per byte of Parquet.
PER_TEXT_BYTE, PER_PACKED_BYTE = 1, 10
LEFT_FOR_OTHERS = 2  # use half of the memory at most
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def fits_into_memory(sources: Sequence[Source]) -> bool:
    """True if reading these files whole would leave half of the memory free, or if that is unknown."""
    available = memory_bytes()
    sizes = [(source, size) for source in sources if (size := source.size)]
    # only files that would not fit if all were packed are worth a look
    if available is None or sum(size for _, size in sizes) * PER_PACKED_BYTE * LEFT_FOR_OTHERS <= available:
        return True
    needed = sum(size * (PER_PACKED_BYTE if source.is_packed else PER_TEXT_BYTE) for source, size in sizes)
    return needed * LEFT_FOR_OTHERS <= available


def memory_bytes() -> int | None:
    """The memory of this machine, or the limit of a batch system; None if unknown."""
    return min(_limits(), default=None)


def _limits() -> Iterator[int]:
    with suppress(ValueError, OSError, AttributeError):
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # "max" is no limit
            yield int(Path(path).read_text())
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            yield soft
