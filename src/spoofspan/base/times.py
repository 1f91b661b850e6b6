"""Time is int64 nanoseconds: converted once on entry, exact from there on.

Floats are seconds and become ``rint(seconds * 1e9)``; int64 arrays are nanoseconds already.
The k-th edge of a grid with spacing h (frames of a hop, points of a resolution) is ``rint(k * h * 1e9)`` in double
precision, whether or not h is a whole number of nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import SpoofspanWarning, UsageError, refuse, warn_user
from spoofspan.base.seconds import LONGEST, SECOND, duration_ns, milliseconds, rounded_text, seconds_text

__all__ = ["LONGEST", "SECOND", "duration_ns", "milliseconds", "rounded_text", "seconds_text"]

# From here on, a hop or a resolution that no utterance lasts for was meant in milliseconds.
LONG_NS = 2_000_000_000
# No hop or resolution has as many milliseconds as this has seconds (an hour): what is longer means whole utterances.
TOO_LONG_NS = 3_600_000_000_000

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
TimeUnit = Literal["s", "ns"]


def times_ns(times: Any, name: str, place: Callable[[int], str] = "row {}".format) -> Int64:
    """Convert an array of times: integers are nanoseconds (int64 is not copied), floats are seconds.

    ``place`` says where row i of the array belongs, for the error message.
    """
    array = np.asarray(times)
    if array.dtype == np.int64:
        result: Int64 = array
    elif array.dtype.kind in "iu":
        result = array.astype(np.int64)
    elif array.dtype.kind == "f":
        seconds = array.astype(np.float64, copy=False)
        bad = np.flatnonzero(~(np.abs(seconds) * 1e9 <= LONGEST))
        remedy = "times as floats must be seconds, finite and below 36 years"
        refuse(bad, lambda row: f"{name}, {place(int(row))}: {seconds.flat[row]} s", remedy)
        if is_rounded(array):
            warn_of_rounded_times(array.dtype)
        result = np.rint(seconds * 1e9).astype(np.int64)
    elif array.size == 0:
        result = np.zeros(0, np.int64)
    else:
        raise UsageError(f"{name} must be int64 (nanoseconds) or float (seconds), not {array.dtype}")
    if result.ndim != 1:
        raise UsageError(f"{name} must be one-dimensional")
    if isinstance(times, list | tuple) and array.dtype.kind in "iu" and name != "start":
        longest = int(result.max(initial=0))
        if 0 < longest < SECOND // 1000:
            raise UsageError(
                f"{name}: integers are nanoseconds, and the longest of these is {longest} ns; if they are seconds, "
                "make them floats"
            )
    return result


def is_rounded(seconds: npt.NDArray[Any]) -> bool:
    """Tell whether seconds were rounded to a type that has too few digits for nanoseconds.

    >>> is_rounded(np.float32([0.02])), is_rounded(np.float32([0.25])), is_rounded(np.array([0.02]))
    (True, False, False)
    """
    return bool(seconds.dtype.kind == "f" and seconds.itemsize < 8 and (seconds.astype(np.float64) * 1e9 % 1).any())


def refuse_rounded(seconds: npt.NDArray[Any], name: str) -> None:
    """Refuse a hop, or one for each utterance, that was rounded."""
    if is_rounded(seconds):
        raise UsageError(rounded_text(name, float(seconds.flat[0])))


def warn_of_rounded_times(kind: Any) -> None:
    """Warn that edges lie a little beside where they were meant: a point they touch then counts for the other class."""
    warn_user(
        f"times in seconds are {kind}, which has too few digits: edges miss the grid of a resolution, and point-based "
        "measures count some points for the wrong class; give float64 seconds, or int64 nanoseconds",
        SpoofspanWarning,
    )


def grid_edges(k: Int64, spacing: float | Float64) -> Int64:
    """Return the k-th edges of a grid, ``rint(k * spacing * 1e9)``.

    >>> grid_edges(np.arange(4), 0.02).tolist()
    [0, 20000000, 40000000, 60000000]
    >>> grid_edges(np.arange(4), 1 / 30).tolist()
    [0, 33333333, 66666667, 100000000]
    """
    edges: Int64 = np.rint(k * spacing * 1e9).astype(np.int64)
    return edges


def edges_before(times: Int64, spacing: float | Float64) -> Int64:
    """Count the grid edges ``rint(k * spacing * 1e9)``, k = 0, 1, ..., that lie before each time.

    >>> edges_before(np.array([0, 1, 20_000_000, 20_000_001]), 0.02).tolist()
    [0, 1, 1, 2]
    """
    # The quotient is off by one at most; two exact comparisons with the edges themselves settle it.
    count = np.maximum(np.ceil(times / (spacing * 1e9)).astype(np.int64), 0)
    count -= (count > 0) & (grid_edges(np.maximum(count - 1, 0), spacing) >= times)
    count += grid_edges(count, spacing) < times
    return count


def whole_ns(spacing: Float64, longest: int) -> bool:
    """Tell whether every edge of these grids up to ``longest`` is exactly k times a whole number of ns.

    Double rounding of ``k * spacing * 1e9`` stays below half a nanosecond up to about 17 days.
    """
    ns = np.rint(spacing * 1e9)
    return bool(longest < 10**15 and (np.abs(spacing * 1e9 - ns) <= ns * 2.0**-51).all())


def exact_sum(values: Int64) -> int:
    """Sum int64 values of any total: the halves are summed apart, so nothing overflows below 2**31 values.

    >>> exact_sum(np.full(32, 2**60))  == 2**65
    True
    """
    high, low = values >> 32, values & 0xFFFFFFFF
    return (int(high.sum()) << 32) + int(low.sum())


def refuse_milliseconds(ns: float, extents: Int64, name: str) -> None:
    """Refuse a hop, a resolution, a collar or a slack of 2 s or more that is longer than every utterance.

    >>> refuse_milliseconds(20e9, np.array([2_000_000_000]), "resolution")
    Traceback (most recent call last):
    spoofspan.base.errors.UsageError: a resolution of 20 s is longer than every utterance (the longest has 2.000 s); \
it is given in seconds, and 20 ms is 0.02
    """
    longest = int(extents.max(initial=0))
    if LONG_NS <= ns < TOO_LONG_NS and 0 < longest < ns:
        seconds = ns / 1e9
        raise UsageError(
            f"a {name} of {seconds:g} s is longer than every utterance (the longest has {seconds_text(longest)}); "
            f"it is given in seconds, and {seconds:g} ms is {seconds / 1000:g}"
        )


def warn_of_milliseconds(seconds: float | None, name: str) -> None:
    """Warn of a hop of 2 s or more, where no utterance shows that milliseconds were meant."""
    if seconds is not None and seconds * SECOND >= LONG_NS:
        warn_user(f"{name}={seconds:g} is in seconds; {seconds:g} ms is {seconds / 1000:g}", SpoofspanWarning)
