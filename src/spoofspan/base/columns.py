"""A corpus as columns: utterance ids, flat arrays of rows, and offsets that cut the rows into utterances.

::

    utterances  u1          u2    u3
    offsets     0           3     4        6
    rows        r0  r1  r2  r3    r4  r5

Rows ``offsets[i]:offsets[i + 1]`` belong to utterance ``i``. There is never a Python object per row.
:class:`ByUtterance` makes a mapping of such a corpus: ``corpus["u1"]``, ``"u1" in corpus``, ``dict(corpus)``.
Several utterances at once give a corpus again: ``corpus[["u1", "u2"]]``, ``corpus[:10]``, ``corpus[flags]``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from difflib import get_close_matches
from functools import cached_property
from itertools import islice, repeat
from operator import lt
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import DataError, UsageError, refuse
from spoofspan.base.plain_results import NearAttributes
from spoofspan.base.tabular import SHOWN, html_table
from spoofspan.base.times import LONGEST, Float64, Int64, is_rounded, seconds_text, warn_of_rounded_times

if TYPE_CHECKING:
    from typing_extensions import Self

Flags = npt.NDArray[np.bool_]
Row = TypeVar("Row")


def utterance_ids(utterances: Any) -> tuple[str, ...]:
    """Check ids: strings, unique, not empty, at least one."""
    array = isinstance(utterances, np.ndarray)
    ids = tuple(utterances.tolist() if array else utterances)
    if not ids:
        raise DataError("the corpus is empty; give at least one utterance")
    if not _rising(ids) and len(set(ids)) != len(ids):
        seen: set[str] = set()
        repeated = [utt for utt in ids if utt in seen or seen.add(utt)]  # type: ignore[func-returns-value]
        refuse(repeated, lambda utt: f"utterance {utt!r} occurs more than once", "give each utterance one id")
    if not all(ids) or not ((array and utterances.dtype.kind == "U") or list(map(type, ids)).count(str) == len(ids)):
        bad = [utt for utt in ids if not isinstance(utt, str) or utt == ""]
        if bad:
            raise DataError(f"{bad[0]!r} is no utterance id; ids are non-empty strings")
        ids = tuple(map(str, ids))
    return ids


def _rising(ids: Sequence[Any]) -> bool:
    """True if each id is greater than the one before, so that none occurs twice.

    Most corpora are sorted, and neighbours are read one after the other; a set reads all over the memory, which takes
    seven times as long with 700,000 ids.
    """
    try:
        return all(map(lt, ids, islice(ids, 1, None)))
    except TypeError:  # ids that are no text are refused later
        return False


def check_offsets(offsets: Any, utterances: int, rows: int) -> Int64:
    """Check that offsets start at 0, never fall, and end at the number of rows."""
    array = np.asarray(offsets)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise UsageError("offsets must be a one-dimensional array of integers")
    array = array.astype(np.int64, copy=False)
    if array.size != utterances + 1:
        raise UsageError(f"{utterances} utterances need {utterances + 1} offsets, not {array.size}")
    if array[0] != 0 or array[-1] != rows or (np.diff(array) < 0).any():
        raise UsageError(f"offsets must start at 0, never fall, and end at the number of rows, {rows}")
    return array


def offsets_of(counts: Sequence[int] | Int64) -> Int64:
    """Turn row counts per utterance into offsets.

    >>> offsets_of([3, 0, 2]).tolist()
    [0, 3, 3, 5]
    """
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def check_dict(given: Any, what: str, of_each: str) -> None:
    """Refuse anything but a dict by utterance, such as a list, an array or a data frame.

    >>> check_dict([0.1, 0.2], "frames", "its scores")
    Traceback (most recent call last):
    spoofspan.base.errors.UsageError: frames must be a dict, utterance -> its scores, not a list
    """
    frame = hasattr(given, "columns")
    if frame or not hasattr(given, "items"):
        remedy = "; from_table takes a data frame" if frame else ""
        raise UsageError(f"{what} must be a dict, utterance -> {of_each}, not a {type(given).__name__}{remedy}")


def flat_rows(
    rows: Mapping[str, Iterable[Row]], form: str, sizes: Sequence[int] = (3,)
) -> tuple[list[str], Int64, list[tuple[str, Row]]]:
    """Turn a dict of rows by utterance into ids, offsets, and (utterance, row) pairs; a row has one of the sizes.

    >>> flat_rows({"u1": [(0.0, 1.0, 0.5)], "u2": []}, "(start, end, score)")
    (['u1', 'u2'], array([0, 1, 1]), [('u1', (0.0, 1.0, 0.5))])
    """
    check_dict(rows, "ranges", f"[{form}, ...]")
    pairs: list[tuple[str, Row]] = []
    counts = []
    for utt, own in rows.items():
        listed = list(own) if isinstance(own, Iterable) else [own]
        for row in listed:
            is_row = getattr(row, "ndim", 1) == 1 and not isinstance(row, str | Mapping)
            if not (is_row and isinstance(row, Sized) and len(row) in sizes):
                raise UsageError(f"utterance {utt!r}: its ranges must be a list of {form}, and one is {row!r}")
            pairs.append((utt, row))
        counts.append(len(listed))
    return list(rows.keys()), offsets_of(counts), pairs


def utterance_indices(chosen: Any, count: int) -> Int64:
    """Check the indices of chosen utterances, of which there are ``count``.

    >>> utterance_indices([2, 0], 3).tolist()
    [2, 0]
    """
    indices = np.asarray(chosen)
    if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
        raise UsageError(
            "choose utterances by a list of ids, of indices (whole numbers from 0 on), or of one flag for each"
        )
    if indices.size and not 0 <= indices.min() <= indices.max() < count:
        raise UsageError(
            f"indices of {count:,} utterances go from 0 to {count - 1:,}, not {indices.min()} to {indices.max()}"
        )
    return indices.astype(np.int64, copy=False)


def host_array(values: Any) -> Any:
    """Convert a tensor (on any device, with a gradient, in bfloat16) to an array; anything else is returned as it is.

    The conversion is exact: types that NumPy lacks become float32, which holds them.
    """
    if not hasattr(values, "detach"):
        return values
    tensor = values.detach().cpu()
    return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()


def no_rows() -> Int64:
    """An empty column: no rows, or no amounts."""
    return np.zeros(0, np.int64)


def utterance_of_rows(offsets: Int64) -> Int64:
    """Return the utterance of every row."""
    return np.repeat(np.arange(offsets.size - 1), np.diff(offsets))


def utterance_of_every(step: int, offsets: Int64) -> Int64:
    """Return the utterances of the rows 0, step, 2 * step and so on.

    >>> utterance_of_every(2, np.array([0, 3, 3, 5])).tolist()
    [0, 0, 2]
    """
    return utterance_of_rows(-(-offsets // step))


def rows_of(offsets: Int64, chosen: Int64) -> tuple[Int64, Int64]:
    """Return the rows of chosen utterances, in that order, and their new offsets.

    >>> rows, offsets = rows_of(np.array([0, 3, 3, 5]), np.array([2, 0]))
    >>> rows.tolist(), offsets.tolist()
    ([3, 4, 0, 1, 2], [0, 2, 5])
    """
    counts = (offsets[1:] - offsets[:-1])[chosen]
    return rows_from(offsets[:-1][chosen], counts), offsets_of(counts)


def rows_from(first: Int64, counts: Int64) -> Int64:
    """Return ``counts[i]`` rows from ``first[i]`` on, for every i.

    >>> rows_from(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    offsets = offsets_of(counts)
    return np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], counts)


def rows_that_end_after(times: Int64, ends: Int64, offsets: Int64, utterance: Int64) -> Int64:
    """Return the first row of an utterance that ends after a time; ends rise, and the last one is after the time.

    Bisects in all these utterances at once. Nothing is made for the other ones, of which there may be millions.

    >>> rows_that_end_after(np.array([3, 7]), np.array([2, 4, 5, 8]), np.array([0, 2, 4]), np.array([0, 1])).tolist()
    [1, 3]
    """
    rows, last = offsets[utterance], offsets[utterance + 1] - 1
    most = int((last - rows).max(initial=0)) + 1
    for step in (1 << bit for bit in reversed(range(most.bit_length()))):
        # the last row ends after all times, so it may stand for what lies behind it
        rows += step * (ends[np.minimum(rows + (step - 1), last)] <= times)
    return rows


def rows_after(limits: Int64, ends: Int64, offsets: Int64) -> tuple[Int64, Int64]:
    """Return the rows that end after the limit of their utterance, and their utterances; ends rise in each.

    >>> rows, utterance = rows_after(np.array([4, 4, 4]), np.array([2, 5, 6, 3, 8]), np.array([0, 3, 4, 5]))
    >>> rows.tolist(), utterance.tolist()
    ([1, 2, 4], [0, 0, 2])
    """
    utterance = np.flatnonzero(has_rows(offsets))
    utterance = utterance[ends[last_rows(offsets)] > limits[utterance]]
    first = rows_that_end_after(limits[utterance], ends, offsets, utterance)
    counts = offsets[utterance + 1] - first
    return rows_from(first, counts), np.repeat(utterance, counts)


def block_rows(offsets: Int64, first: int, last: int) -> tuple[slice, Int64]:
    """Return the rows of utterances first to last - 1, and their offsets counted from the first of them.

    >>> rows, offsets = block_rows(np.array([0, 3, 3, 5]), 1, 3)
    >>> rows, offsets.tolist()
    (slice(3, 5, None), [0, 0, 2])
    """
    return slice(int(offsets[first]), int(offsets[last])), offsets[first : last + 1] - offsets[first]


def kept_offsets(offsets: Int64, keep: Flags) -> Int64:
    """Return the offsets of the rows that are kept.

    >>> kept_offsets(np.array([0, 3, 3, 5]), np.array([True, False, True, True, False])).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate(([0], np.cumsum(keep)))[offsets]


def has_rows(offsets: Int64) -> Flags:
    """Tell which utterances have rows."""
    return np.greater(offsets[1:], offsets[:-1])


def first_rows(offsets: Int64) -> Int64:
    """Return the first row of every utterance that has rows."""
    return offsets[:-1][has_rows(offsets)]


def last_rows(offsets: Int64) -> Int64:
    """Return the last row of every utterance that has rows."""
    return offsets[1:][has_rows(offsets)] - 1


def ends_before(ends: Int64, offsets: Int64) -> Int64:
    """Return where the row before each row ends; 0 for the first of an utterance.

    >>> ends_before(np.array([2, 5, 3]), np.array([0, 2, 3])).tolist()
    [0, 2, 0]
    """
    before = np.zeros_like(ends)
    before[1:] = ends[:-1]
    before[first_rows(offsets)] = 0
    return before


def sum_by_utterance(values: Int64, offsets: Int64) -> Int64:
    """Sum the rows of each utterance (0 where there are none)."""
    sums = np.zeros(offsets.size - 1, np.int64)
    if values.size:
        sums[has_rows(offsets)] = np.add.reduceat(values, first_rows(offsets))
    return sums


def positions(wanted: Sequence[str], utterances: Sequence[str]) -> Int64:
    """Return where each wanted id stands among the utterances; -1 for those that are missing."""
    if wanted == utterances:
        return np.arange(len(utterances))
    where = dict(zip(utterances, range(len(utterances)), strict=True))
    return np.fromiter(map(where.get, wanted, repeat(-1)), np.int64, len(wanted))


def order_by_id(utterances: Sequence[str]) -> Int64:
    """Return the indices of utterances in the order of their ids.

    >>> order_by_id(["b", "a", "c"]).tolist()
    [1, 0, 2]
    """
    count = len(utterances)
    if _rising(utterances):  # told in a quarter of the time that sorting takes
        return np.arange(count)
    return np.array(sorted(range(count), key=utterances.__getitem__), np.int64)


def chosen_ids(utterances: tuple[str, ...], chosen: npt.NDArray[np.integer[Any]]) -> tuple[str, ...]:
    """Keep the ids of chosen utterances, in that order.

    >>> chosen_ids(("u1", "u2", "u3"), np.array([2, 0]))
    ('u3', 'u1')
    """
    run = neighbours(chosen)
    return tuple(map(utterances.__getitem__, chosen.tolist())) if run is None else utterances[run]


def neighbours(chosen: npt.NDArray[np.integer[Any]]) -> slice | None:
    """Chosen utterances as a slice, if they follow each other; else None.

    >>> neighbours(np.array([2, 3, 4])), neighbours(np.array([2, 4]))
    (slice(2, 5, None), None)
    """
    if chosen.size and (chosen[1:] - chosen[:-1] == 1).all():
        return slice(int(chosen[0]), int(chosen[-1]) + 1)
    return None


def blocks(rows: Int64, weight: Int64, most_rows: int, most_weight: int) -> Iterator[tuple[int, int]]:
    """Cut utterances into consecutive blocks of about ``most_rows`` rows and at most ``most_weight`` in weight.

    >>> list(blocks(np.array([4, 4, 9, 1]), np.array([1, 1, 1, 1]), most_rows=8, most_weight=100))
    [(0, 2), (2, 3), (3, 4)]
    """
    end_row = np.cumsum(rows)
    # Beyond 2**53 a double is too coarse for equality, not for a bound with room to spare.
    end_weight = np.cumsum(weight.astype(np.float64))
    first, count = 0, rows.size
    while first < count:
        row, done = (int(end_row[first - 1]), float(end_weight[first - 1])) if first else (0, 0.0)
        last = min(
            int(np.searchsorted(end_row, row + most_rows, side="right")),
            int(np.searchsorted(end_weight, done + most_weight, side="right")),
        )
        last = max(last, first + 1)
        yield first, last
        first = last


def place_of(utterances: Sequence[str], offsets: Int64, row: int, item: str) -> str:
    """Describe the place of a row, for messages.

    >>> place_of(["u1", "u2"], np.array([0, 3, 5]), 4, "range")
    "utterance 'u2', range 1"
    """
    i = int(np.searchsorted(offsets, row, side="right")) - 1
    return f"utterance {utterances[i]!r}, {item} {row - int(offsets[i])}"


def check_ranges(starts: Int64, ends: Int64, place: Callable[[int], str]) -> None:
    """Refuse ranges that are wrong under every rule."""
    if not starts.size or (starts.min() >= 0 and ends.max() <= LONGEST and not (ends < starts).any()):
        return  # finding out which are bad takes longer than that none is
    bad = np.flatnonzero((ends < starts) | (starts < 0) | (ends > LONGEST))

    def describe(row: int) -> str:
        why = "starts before 0" if starts[row] < 0 else "ends after 36 years"
        if ends[row] < starts[row]:
            why = "ends before it starts"
        return f"{place(int(row))}: {why} ({seconds_text(starts[row])} to {seconds_text(ends[row])})"

    refuse(bad, describe, "correct or drop it (float times are seconds, int64 times are nanoseconds)")


def first_of_equals(*columns: npt.NDArray[Any]) -> Flags:
    """Flag the rows that differ from the row before in some column, and the first row.

    >>> first_of_equals(np.array([1, 1, 2, 2]), np.array([5, 5, 5, 6])).tolist()
    [True, False, True, True]
    """
    first = np.ones(columns[0].size, bool)
    for number, column in enumerate(columns):
        changes = column[1:] != column[:-1]
        first[1:] = first[1:] | changes if number else changes
    return first


def last_of_equals(*columns: npt.NDArray[Any]) -> Flags:
    """Flag the rows that differ from the next row in some column, and the last row."""
    return first_of_equals(*(column[::-1] for column in columns))[::-1]


def within_utterances(offsets: Int64, comparisons: Flags) -> Flags:
    """Clear those comparisons of neighbouring rows (i with i + 1) that compare two utterances."""
    joins = offsets[1:-1] - 1
    comparisons[joins[(joins >= 0) & (joins < comparisons.size)]] = False
    return comparisons


def tidy_rows(
    offsets: Int64, starts: Int64, ends: Int64, *content: npt.NDArray[Any]
) -> tuple[Int64 | None, Int64, int]:
    """Sort the ranges of each utterance by start, then end, then their other columns, and drop empty ones.

    Returns the rows in their new order (None: all is well already), their offsets, and how many were dropped.
    """
    fall = starts[1:] < starts[:-1]
    together = starts[1:] == starts[:-1]
    if together.any():  # the order of lines decides nothing
        fall |= together & (ends[1:] < ends[:-1])
        for column in content:
            fall |= together & (ends[1:] == ends[:-1]) & (column[1:] != column[:-1])
    falls = within_utterances(offsets, fall)
    empty = ends == starts
    if not falls.any() and not empty.any():
        return None, offsets, 0
    order = np.lexsort((*content[::-1], ends, starts, utterance_of_rows(offsets)))
    keep = ~empty[order]
    return order[keep], kept_offsets(offsets, keep), int(np.count_nonzero(empty))


def seconds_column(rows: Sequence[tuple[str, Sequence[Any]]], place: int, name: str) -> Float64:
    """Take one time of every (utterance, row) pair, in seconds (or a confidence)."""
    values = [row[place] for _, row in rows]
    try:
        short = np.array([value for value in values if getattr(value, "itemsize", 8) < 8])
        if name != "confidence" and is_rounded(short):
            warn_of_rounded_times(short.dtype)
        return np.array(values, np.float64)
    except (TypeError, ValueError):
        for utterance, row in rows:
            try:
                float(row[place])
            except (TypeError, ValueError):
                unit = "" if name == "confidence" else " of seconds"
                raise DataError(f"utterance {utterance!r}: {name} {row[place]!r} is no number{unit}") from None
        raise


class ByUtterance(NearAttributes):
    """A mapping from utterances to their content."""

    utterances: tuple[str, ...]

    @abstractmethod
    def _said_of(self, i: int) -> Any:
        """Content of the utterance at this place."""

    @abstractmethod
    def take(self, chosen: Any) -> Self:
        """Keep chosen utterances, in that order."""

    @cached_property
    def _places(self) -> dict[str, int]:
        return {utterance: i for i, utterance in enumerate(self.utterances)}

    def __len__(self) -> int:
        return len(self.utterances)

    def __iter__(self) -> Iterator[str]:
        return iter(self.utterances)

    def __contains__(self, utterance: object) -> bool:
        return utterance in self._places

    def __getitem__(self, chosen: Any) -> Any:
        """Content of one utterance; or the corpus of several, by a list of ids, flags, indices or a slice."""
        if not isinstance(chosen, str) and (isinstance(chosen, slice) or hasattr(chosen, "__len__")):
            return self.take(chosen)
        return self._said_of(self._place(chosen))

    def _place(self, utterance: Any) -> int:
        if utterance not in self._places:
            near = get_close_matches(str(utterance), self.utterances, n=1, cutoff=0.5)
            meant = f"; did you mean {near[0]!r}?" if near else f" among these {len(self):,}; list(...) has their ids"
            raise UsageError(f"no utterance is called {utterance!r}{meant}")
        return self._places[utterance]

    def _indices(self, chosen: Any) -> Int64:
        """The places of chosen utterances: a list of ids or of indices, one flag for each utterance, or a slice."""
        if isinstance(chosen, slice):
            return np.arange(len(self))[chosen]
        array = np.asarray(list(chosen) if isinstance(chosen, set | frozenset | dict) else chosen)
        if array.ndim == 1 and array.dtype.kind in "UO":
            return np.array([self._place(one) for one in array.tolist()], np.int64)
        if array.ndim == 1 and array.dtype == bool:
            if array.size != len(self):
                raise UsageError(f"{array.size} flags for {len(self)} utterances; give one for each")
            return np.flatnonzero(array)
        return utterance_indices(chosen, len(self))

    def keys(self) -> tuple[str, ...]:
        """The ids, as of a dict."""
        return self.utterances

    def items(self) -> Iterator[tuple[str, Any]]:
        """Each id with its content, as of a dict."""
        return ((utterance, self._said_of(i)) for i, utterance in enumerate(self.utterances))

    def _repr_html_(self) -> str:
        """Summary, and the first utterances, for notebooks."""
        said = [(utterance, str(self._said_of(i))) for i, utterance in enumerate(self.utterances[:SHOWN])]
        rows = [(utterance, text if len(text) < 80 else f"{text[:80]} ...") for utterance, text in said]
        more = f"<div>and {len(self) - SHOWN:,} more</div>" if len(self) > SHOWN else ""
        return html_table(repr(self), rows, more=more)
