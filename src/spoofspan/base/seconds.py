"""One time, typed or printed: it takes no NumPy, which `spoofspan explain` need not load. Arrays: `base/times.py`."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import SupportsInt

from spoofspan.base.errors import UsageError

SECOND = 1_000_000_000
# Longer times are a mistake in the data, and the bound keeps every intermediate sum of a chunk below 2**63.
LONGEST = 2**60


def duration_ns(seconds: float, name: str) -> int:
    """Convert one argument given in seconds (a rule, a hop), naming it in the error.

    >>> duration_ns(0.02, "hop")
    20000000
    """
    try:
        value = float(seconds)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{name} must be a number of seconds, not {seconds!r}") from None
    if not math.isfinite(value) or abs(value) * 1e9 > LONGEST:
        raise UsageError(f"{name} must be a finite number of seconds, not {seconds!r}")
    if getattr(seconds, "itemsize", 8) < 8 and value * 1e9 % 1:
        raise UsageError(rounded_text(name, value))
    return round(value * 1e9)


def rounded_text(name: str, value: float) -> str:
    """Say that one time was rounded: 0.02 as float32 puts edges of a grid before those of the real one.

    >>> rounded_text("hop", 0.019999999552965164)
    'hop=0.019999999552965164 was rounded to float32 or float16, and its edges miss those of 0.02; give a Python float'
    """
    missed = f"its edges miss those of {value:.3g}; give a Python float"
    return f"{name}={value!r} was rounded to float32 or float16, and {missed}"


def seconds_text(ns: SupportsInt) -> str:
    """Write a time for a person.

    >>> seconds_text(1_234_000_000), seconds_text(1)
    ('1.234 s', '0.000000001 s')
    """
    sign = "-" if int(ns) < 0 else ""
    whole, rest = divmod(abs(int(ns)), SECOND)
    fraction = f"{rest:09d}".rstrip("0").ljust(3, "0")
    return f"{sign}{whole}.{fraction} s"


def milliseconds(seconds: float) -> str:
    """Write a short time.

    >>> milliseconds(0.02), milliseconds(0.0125)
    ('20ms', '12.5ms')
    """
    # from the shortest decimal, so that two resolutions never share a spelling
    return f"{Decimal(repr(float(seconds))).scaleb(3).normalize():f}ms"
