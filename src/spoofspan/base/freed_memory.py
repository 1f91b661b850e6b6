"""Memory that was freed is given back to the system, or used again by any thread."""

from __future__ import annotations

import ctypes
from contextlib import suppress

# Of glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
LARGE = 5 << 19  # above the 2 MB of an array of a block: mapping these anew each time takes a tenth of an eval
KEPT = 8 << 20


def keep_little_memory() -> None:
    """Let the C library keep little of what is freed, in the whole process; only glibc keeps much.

    It raises its bounds with each large array that is freed, and each thread has memory of its own: an eval of 430 MB
    of text would need 270 MB instead of 250.
    """
    with suppress(AttributeError, OSError, TypeError):  # no glibc
        set_option = ctypes.CDLL(None).mallopt
        for option, value in ((M_MMAP_THRESHOLD, LARGE), (M_TRIM_THRESHOLD, KEPT), (M_ARENA_MAX, 1)):
            set_option(option, value)


def give_back_memory() -> None:
    """Give the system what was freed and kept since, also in between what is in use."""
    with suppress(AttributeError, OSError, TypeError):  # no glibc
        ctypes.CDLL(None).malloc_trim(0)
