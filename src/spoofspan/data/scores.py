"""Scores of a system: a piecewise-constant function of time per utterance.

Two layouts: uniform **frames** (a hop, an optional start, an optional window longer than the hop)::

    u1  |0.9|0.8|0.7|-0.2|-0.4|      frame k is [start + rint(k * hop * 1e9), start + rint((k + 1) * hop * 1e9))

or **ranges** of any length::

    u1  [0.00  0.9  0.70)[0.70       -0.4       2.00)

Scores are compared as given (float16, float32, float64; integers become float64) and never rescaled. Which end of the
scale means bona fide is never guessed: ``higher="bonafide"`` or ``higher="spoof"``.

Hard **decisions** are ranges with the scores 0 (spoof) and 1 (bona fide), declared as decisions: they have error rates
at the threshold 0.5, but no EER (:mod:`spoofspan.data.distinct_values`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import (
    ByUtterance,
    block_rows,
    check_dict,
    check_offsets,
    check_ranges,
    chosen_ids,
    flat_rows,
    host_array,
    neighbours,
    offsets_of,
    place_of,
    rows_of,
    seconds_column,
    tidy_rows,
    utterance_ids,
)
from spoofspan.base.errors import DataError, UsageError, nearest_name, refuse
from spoofspan.base.times import (
    LONGEST,
    SECOND,
    Float64,
    Int64,
    TimeUnit,
    duration_ns,
    grid_edges,
    refuse_rounded,
    seconds_text,
    times_ns,
    whole_ns,
)
from spoofspan.data.contradictions import Contradiction, contradictions
from spoofspan.data.distinct_values import DECISIONS, DistinctValues

if TYPE_CHECKING:
    from spoofspan.data.references import References

Higher = Literal["bonafide", "spoof"]
SAME_CLASS: Mapping[Higher, tuple[str, ...]] = {  # what other people call the classes
    "bonafide": ("bonafide", "bona", "real", "genuine", "human", "natural", "true"),
    "spoof": ("spoof", "spoofed", "fake", "deepfake", "synthetic", "spf", "false"),
}


def check_higher(higher: Any) -> Higher:
    """Check the class that high scores mean.

    >>> check_higher("Fake")
    Traceback (most recent call last):
    spoofspan.base.errors.UsageError: higher='Fake': must be 'bonafide' or 'spoof' (what high scores mean); \
did you mean 'spoof'?
    """
    if higher in ("bonafide", "spoof"):
        return cast("Higher", higher)
    word = re.sub(r"[^a-z]", "", str(higher).lower())
    meant = next((name for name, words in SAME_CLASS.items() if word in words), "")
    advice = f"; did you mean {meant!r}?" if meant else ""
    raise UsageError(f"higher={higher!r}: must be 'bonafide' or 'spoof' (what high scores mean){advice}")


Values = npt.NDArray[np.floating[Any]]
COPIES_LOOK, COPIES_CHANGES = 64, 20  # utterances looked at together, and changes of the score that are enough


@dataclass(frozen=True)
class Copies:
    """Frames that repeat a score: the largest block within which none changes (0 if none does), and the changes."""

    block: int = 0
    changes: int = 0

    def __add__(self, other: Copies) -> Copies:
        return Copies(gcd(self.block, other.block), self.changes + other.changes)

    def resolution(self, hop: float | None) -> float | None:
        """Resolution (seconds) of the distinct frames; None if scores are no copies, or too few to tell."""
        return round(self.block * hop, 9) if hop and self.block > 1 and self.changes >= COPIES_CHANGES else None


@dataclass(frozen=True, eq=False)
class Scores(ByUtterance):
    """Scores of a corpus, as columns.

    Build with :meth:`from_frames`, :meth:`from_ranges`, :meth:`from_columns` or :meth:`from_decisions`.

    Parameters
    ----------
    utterances, offsets, values
        The ids, and the scores as given: ``values[offsets[i]:offsets[i + 1]]`` are those of ``utterances[i]``.
    higher
        Meaning of high scores, ``"bonafide"`` or ``"spoof"``.
    hops, origins
        Of frames: the spacing (seconds) and the first start (ns) in each utterance.
    window
        Of frames: the length of each in seconds; None if it is the hop.
    starts, ends
        Of ranges: one each per value, in ns.
    dropped_empty
        Number of empty ranges that were dropped.
    decisions
        True if the values are hard decisions, see :meth:`from_decisions`.
    training_resolution
        Resolution (seconds) that the system was trained at, if known. Points are compared with it, not with the hop.

    Examples
    --------
    >>> Scores.from_frames({"u1": np.float32([0.9, 0.8, -0.4])}, hop=0.02, higher="bonafide")
    Scores(1 utterance, 3 frames of 20 ms, float32, higher = bonafide)

    """

    utterances: tuple[str, ...]
    offsets: Int64
    values: Values
    higher: Higher
    # frames: one hop (seconds) and one origin (ns) per utterance
    hops: Float64 | None = None
    origins: Int64 | None = None
    window: float | None = None  # seconds; None where it is the hop in every utterance
    # ranges: one start and one end (ns) per value
    starts: Int64 | None = None
    ends: Int64 | None = None
    dropped_empty: int = 0
    decisions: bool = False  # the values are hard decisions, see from_decisions
    training_resolution: float | None = None  # seconds

    @classmethod
    def from_frames(
        cls,
        frames: Mapping[str, npt.ArrayLike],
        hop: float | Mapping[str, float],
        *,
        higher: Higher,
        start: float | Mapping[str, float] = 0.0,
        window: float | None = None,
    ) -> Scores:
        """Build scores from a dict of frames, times in seconds.

        Parameters
        ----------
        frames
            Utterance -> one score per frame.
        hop
            The spacing of the frames: one, or one by utterance.
        higher
            Meaning of high scores, ``"bonafide"`` or ``"spoof"``; it is never guessed.
        start
            Start of the first frame: one, or one by utterance.
        window
            Length of a frame, if it is not the hop.

        Returns
        -------
        Scores

        Examples
        --------
        >>> Scores.from_frames({"u1": [0.9, -0.4], "u2": [0.1]}, hop={"u1": 0.02, "u2": 0.04}, higher="spoof")
        Scores(2 utterances, 3 frames of 20 to 40 ms, float64, higher = spoof)

        """
        # each array is checked before they are joined: joined, integers and decisions would turn into floats
        check_dict(frames, "frames", "its scores")
        arrays = {utt: _numbers(values, f"utterance {utt!r}: ") for utt, values in frames.items()}
        return cls.from_columns(
            list(arrays),
            offsets_of([array.size for array in arrays.values()]),
            _concatenate(list(arrays.values())),
            hop=[_of(hop, utt, "hop") for utt in arrays],
            start=[_of(start, utt, "start") for utt in arrays],
            window=window,
            higher=higher,
        )

    @classmethod
    def from_ranges(cls, ranges: Mapping[str, Iterable[tuple[float, float, float]]], *, higher: Higher) -> Scores:
        """Build scores from a dict of ranges: utterance -> ``(start, end, score)``, times in seconds.

        Examples
        --------
        >>> Scores.from_ranges({"u1": [(0.0, 0.7, 0.9), (0.7, 2.0, -0.4)]}, higher="bonafide")
        Scores(1 utterance, 2 ranges, float64, higher = bonafide)

        """
        utterances, offsets, rows = flat_rows(ranges, "(start, end, score)")
        values = [_numbers([row[2]], f"utterance {utt!r}: ") for utt, row in rows]
        return cls.from_columns(
            utterances,
            offsets,
            _concatenate(values),
            starts=seconds_column(rows, 0, "start"),
            ends=seconds_column(rows, 1, "end"),
            higher=higher,
        )

    @classmethod
    def from_decisions(cls, decisions: Mapping[str, Iterable[tuple[float, float, str]]]) -> Scores:
        """Build from hard decisions: utterance -> ``(start, end, "spoof" or "bonafide")``, times in seconds.

        They have no EER, since there is no threshold to move. ``error_curve(references, decisions).at(0.5)`` has the
        errors and rates of the decisions as they are.

        >>> Scores.from_decisions({"u1": [(0.0, 0.7, "bonafide"), (0.7, 2.0, "spoof")]})
        Scores(1 utterance, 2 ranges, hard decisions)
        """
        utterances, _, rows = flat_rows(decisions, '(start, end, "spoof" or "bonafide")')
        scored: dict[str, list[tuple[float, float, float]]] = {utt: [] for utt in utterances}
        for utt, row in rows:
            scored[utt].append((row[0], row[1], _decision(row[2], utt)))
        decided = replace(cls.from_ranges(scored, higher="bonafide"), decisions=True)
        starts, ends = cast(Int64, decided.starts), cast(Int64, decided.ends)

        def describe(found: tuple[int, Contradiction]) -> str:
            since = seconds_text(found[1].other.start)
            return f"utterance {decided.utterances[found[0]]!r}: two decisions on the time from {since}"

        clashing = contradictions(decided.offsets, starts, ends, decided.values.astype(np.int8), snap=0)
        refuse(clashing, describe, "decide every instant once")
        return decided

    @classmethod
    def from_columns(
        cls,
        utterances: Sequence[str] | npt.NDArray[Any],
        offsets: npt.ArrayLike,
        values: npt.ArrayLike,
        *,
        higher: Higher,
        hop: float | npt.ArrayLike | None = None,
        start: float | npt.ArrayLike = 0.0,
        window: float | None = None,
        starts: npt.ArrayLike | None = None,
        ends: npt.ArrayLike | None = None,
    ) -> Scores:
        """Build scores from flat arrays, without a copy.

        Give ``hop`` for frames, or ``starts`` and ``ends`` for ranges. Leave the arrays as they are afterwards, since
        signatures are made when they are asked for.

        Parameters
        ----------
        utterances
            The ids, unique.
        offsets
            Rows ``offsets[i]:offsets[i + 1]`` belong to utterance ``i``.
        values
            The scores: float16, float32, float64, or integers.
        higher
            Meaning of high scores, ``"bonafide"`` or ``"spoof"``.
        hop, start, window
            Of frames, in seconds: spacing and first start (one, or one per utterance), and length.
        starts, ends
            Of ranges, one per row: int64 nanoseconds, or floats in seconds.

        Returns
        -------
        Scores

        Examples
        --------
        >>> Scores.from_columns(["u1", "u2"], [0, 2, 3], np.float32([0.9, -0.4, 0.1]), hop=0.02, higher="bonafide")
        Scores(2 utterances, 3 frames of 20 ms, float32, higher = bonafide)

        """
        check_higher(higher)
        ids = utterance_ids(utterances)
        numbers = _numbers(values)
        offset = check_offsets(offsets, len(ids), numbers.size)

        def place(row: int) -> str:
            return place_of(ids, offset, row, "score")

        # min() is NaN where any value is, and far cheaper than looking at each
        if numbers.size and np.isnan(numbers.min()):
            bad = np.flatnonzero(np.isnan(numbers))
            refuse(bad, lambda row: f"{place(int(row))} is NaN", "find out why the system gave no number there")
        if hop is not None:
            if starts is not None or ends is not None:
                raise UsageError("give hop (frames) or starts and ends (ranges), not both")
            hops = _per_utterance(hop, ids, "hop")
            if not ((hops >= 1e-9) & (hops <= LONGEST / 1e9)).all():
                raise UsageError("hop must be positive and below 36 years: the spacing of the scores in seconds")
            seconds = _per_utterance(start, ids, "start")
            if not (np.abs(seconds) <= LONGEST / 1e9).all():
                raise UsageError("start must be finite and below 36 years: where the first frame begins, in seconds")
            origins = np.rint(seconds * 1e9).astype(np.int64)
            return cls(ids, offset, numbers, higher, hops, origins, _window(window, hops))
        if starts is None or ends is None:
            raise UsageError("scores need a time: give hop= (frames) or starts= and ends= (ranges)")
        if window is not None or not (np.isscalar(start) and not start):
            raise UsageError("start= and window= belong to frames; ranges have their own starts and ends")
        first, last = times_ns(starts, "start", place), times_ns(ends, "end", place)
        if not first.size == last.size == numbers.size:
            raise UsageError(f"{first.size} starts and {last.size} ends for {numbers.size} scores; give one each")
        check_ranges(first, last, lambda row: place_of(ids, offset, row, "range"))
        raw = cls(ids, offset, numbers, higher, starts=first, ends=last)
        rows, new_offsets, dropped = tidy_rows(offset, first, last, numbers)
        return raw if rows is None else replace(raw.with_rows(rows, new_offsets), dropped_empty=dropped)

    def _said_of(self, i: int) -> Values | list[tuple[float, float, float]]:
        """The frames of an utterance, or its ranges as :meth:`from_ranges` takes them."""
        rows = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
        if self.starts is None or self.ends is None:
            return self.values[rows]
        starts, ends = self.starts[rows] / SECOND, self.ends[rows] / SECOND
        return list(zip(starts.tolist(), ends.tolist(), self.values[rows].tolist(), strict=True))

    @classmethod
    def from_table(
        cls, table: Any, *, hop: float | None = None, higher: Higher | None = None, column: str | None = None
    ) -> Scores:
        """Build scores from a data frame (pandas, polars, ...) or an Arrow table.

        Parameters
        ----------
        table
            A column ``utterance`` with ``start``, ``end``, ``score``, or with ``frame``, ``score``, or with a list,
            ``scores``.
        hop, higher
            The spacing of frames in seconds, and the meaning of high scores, unless the table states them.
        column
            The name of the column of scores, if it is another one.

        Returns
        -------
        Scores

        Examples
        --------
        >>> import pyarrow as pa
        >>> Scores.from_table(pa.table({"utterance": ["u1"], "scores": [[0.9, -0.4]]}), hop=0.02, higher="bonafide")
        Scores(1 utterance, 2 frames of 20 ms, float64, higher = bonafide)

        """
        from spoofspan.formats.tables.dataframes import scores_from

        return scores_from(table, hop=hop, higher=higher, column=column)

    def to_arrow(self, *, long: bool = True, unit: TimeUnit = "ns") -> Any:
        """Make a pyarrow table, a row per score or (``long=False``) per utterance; :meth:`from_table` reads it back."""
        from spoofspan.formats.tables.dataframes import to_arrow

        return to_arrow(self, long=long, unit=unit)

    def to_pandas(self, *, long: bool = True, unit: TimeUnit = "s") -> Any:
        """Make a pandas data frame, times in seconds; it has neither polarity nor hop, so note both."""
        from spoofspan.formats.tables.dataframes import to_pandas

        return to_pandas(self, long=long, unit=unit)

    def to_polars(self, *, long: bool = True, unit: TimeUnit = "s") -> Any:
        """Make a polars data frame, times in seconds; it has neither polarity nor hop, so note both."""
        from spoofspan.formats.tables.dataframes import to_polars

        return to_polars(self, long=long, unit=unit)

    def __repr__(self) -> str:
        if self.hops is None:
            rows = f"{self.values.size:,} ranges"
        else:
            spread = np.unique(self.hops)
            rows = f"{self.values.size:,} frames of " + (
                f"{spread[0] * 1000:g} ms" if spread.size == 1 else f"{spread[0] * 1000:g} to {spread[-1] * 1000:g} ms"
            )
        utterances = f"{len(self):,} utterance{'s' * (len(self) != 1)}"
        if self.decisions:
            return f"Scores({utterances}, {rows}, hard decisions)"
        return f"Scores({utterances}, {rows}, {self.values.dtype}, higher = {self.higher})"

    @property
    def hop(self) -> float | None:
        """The coarsest hop in seconds (None for ranges)."""
        return None if self.hops is None else float(self.hops.max())

    def resample(self, resolution: float, durations: Mapping[str, float] | References | None = None) -> Scores:
        """Re-sample to uniform frames of another resolution, as in the paper.

        A frame's score is the lowest (in bona fide polarity) of the ranges it overlaps: duplication where the
        resolution is finer, minimum where it is coarser. With ``durations``, scores past the end of an utterance do
        not count; a tail without scores remains so.

        >>> scores = Scores.from_frames({"u1": [0.9, 0.2, 0.4]}, hop=0.02, higher="bonafide")
        >>> scores.resample(0.04).values.tolist(), scores.resample(0.01).values.tolist()
        ([0.2, 0.4], [0.9, 0.9, 0.2, 0.2, 0.4, 0.4])
        """
        from spoofspan.mass.points import resample

        # the lowest of 0 and 1 is a decision again
        return replace(resample(self, resolution, durations), decisions=self.decisions)

    @cached_property
    def copies(self) -> Copies | None:
        """Repetition of scores by frames; None of ranges and of hard decisions."""
        if self.hop is None or self.decisions:
            return None
        block, changes = 0, 0
        for first in range(0, len(self), COPIES_LOOK):  # usually ends after the first utterances
            last = min(first + COPIES_LOOK, len(self))
            values = self.values[self.offsets[first] : self.offsets[last]]
            offsets = self.offsets[first : last + 1] - self.offsets[first]
            edges = np.flatnonzero(values[1:] != values[:-1]) + 1
            inside = edges - offsets[np.searchsorted(offsets, edges, side="right") - 1]
            changes += int(np.count_nonzero(inside))
            block = int(np.gcd.reduce(inside, initial=block))
            if block == 1:
                break
        return Copies(block, changes)

    @property
    def copied_resolution(self) -> float | None:
        """Resolution (seconds) of the distinct frames, if each score is repeated in blocks of frames; else None.

        >>> values = np.repeat(np.arange(30.0), 16)
        >>> Scores.from_frames({"u1": values}, hop=0.01, higher="bonafide").copied_resolution
        0.16
        """
        return None if self.copies is None else self.copies.resolution(self.hop)

    @cached_property
    def distinct(self) -> DistinctValues:
        """The distinct values, which tell scores from hard decisions."""
        return DistinctValues.of(self.values, decisions=self.decisions)

    def refuse_decisions(self, what: str) -> None:
        """Refuse declared decisions, also of a part of a corpus; ``distinct.refuse`` judges all scores of a system."""
        if self.decisions:
            self.distinct.refuse(what)

    def take(self, chosen: Any) -> Scores:
        """Keep chosen utterances, in that order: ids, indices, one flag for each utterance, or a slice."""
        chosen = self._indices(chosen)
        run = neighbours(chosen)  # which need no copy
        rows = rows_of(self.offsets, chosen) if run is None else block_rows(self.offsets, run.start, run.stop)
        kept = self.with_rows(*rows)
        return replace(
            kept,
            utterances=chosen_ids(self.utterances, chosen),
            hops=None if self.hops is None else self.hops[chosen],
            origins=None if self.origins is None else self.origins[chosen],
        )

    def with_rows(self, rows: Int64 | slice, offsets: Int64) -> Scores:
        """Keep chosen rows, in that order, with the offsets they have then."""
        return replace(
            self,
            offsets=offsets,
            values=self.values[rows],
            starts=None if self.starts is None else self.starts[rows],
            ends=None if self.ends is None else self.ends[rows],
        )


def score_times(scores: Scores) -> tuple[Int64, Int64]:
    """Rule 8: the start and the end of every score, in ns."""
    if scores.starts is not None and scores.ends is not None:
        return scores.starts, scores.ends
    if scores.hops is None or scores.origins is None:
        raise TypeError("scores have neither frames nor ranges")
    frames = np.diff(scores.offsets)
    k = np.arange(scores.values.size) - np.repeat(scores.offsets[:-1], frames)
    if (ns := whole_hop(scores)) is not None:
        k *= ns
        starts = k + np.repeat(scores.origins, frames) if scores.origins.any() else k
        return starts, starts + ns
    hops, origins = np.repeat(scores.hops, frames), np.repeat(scores.origins, frames)
    starts = origins + grid_edges(k, hops)
    ends = origins + grid_edges(k + 1, hops)
    if scores.window is not None:
        ends = np.where(hops == scores.window, ends, starts + duration_ns(scores.window, "window"))
    return starts, ends


def whole_hop(scores: Scores) -> int | None:
    """The hop in ns if frames touch, all have the same hop, and frame k starts k hops after the first; else None."""
    if scores.hops is None or scores.window is not None or not scores.hops.size:
        return None
    ns = duration_ns(float(scores.hops[0]), "hop")
    longest = (int(np.diff(scores.offsets).max()) + 1) * ns
    return ns if (scores.hops == scores.hops[0]).all() and whole_ns(scores.hops[:1], longest) else None


def _decision(label: str, utterance: str) -> float:
    if label not in tuple(DECISIONS):
        raise UsageError(f"utterance {utterance!r}: no decision {label!r}: {nearest_name(label, DECISIONS)}")
    return DECISIONS[label]


def _concatenate(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    filled = [array for array in arrays if array.size]
    return np.concatenate(filled) if filled else np.zeros(0)


def _numbers(values: npt.ArrayLike, place: str = "") -> Values:
    """Take scores as they are; integers become float64 if that loses nothing."""
    # plain arrays are told first: numpy.ma takes as long to import as a tenth of NumPy
    if type(values) is not np.ndarray and isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise UsageError(
            f"{place}some scores are masked; leave their time out, or give numbers there: values.filled(...)"
        )
    try:
        array = np.asarray(host_array(values))
    except (TypeError, ValueError) as error:  # lists of lists
        raise UsageError(f"{place}these scores are no array ({error}); give one list of numbers") from None
    if array.ndim != 1:
        what = f"an array of {array.shape}" if array.ndim else f"a {type(values).__name__}"
        raise UsageError(f"{place}scores must be one-dimensional, one number for each frame, not {what}")
    if not array.size and array.dtype.kind not in "fiu":
        return np.zeros(0)
    native = array.dtype.newbyteorder("=")
    if native in (np.float16, np.float32, np.float64):
        return array.astype(native, copy=False)
    if array.dtype == bool:
        raise UsageError(
            f"{place}these scores are hard decisions (bool); an EER needs scores that say how likely a spoof is "
            "(errors of decisions: Scores.from_decisions)"
        )
    if array.dtype.kind in "iu":
        if array.size and (int(array.max()) > 2**53 or int(array.min()) < -(2**53)):
            row = int(np.flatnonzero((array > 2**53) | (array < -(2**53)))[0])
            where = f"{place.removesuffix(': ')}, score {row}" if place else f"score {row}"
            raise DataError(f"{where}: integers beyond 2**53 do not fit into float64; rescale them")
        return array.astype(np.float64)
    raise UsageError(f"{place}scores must be float16, float32, float64 or integers, not {array.dtype}")


def _of(value: float | Mapping[str, float], utterance: str, name: str) -> float:
    if not isinstance(value, Mapping):
        return value
    if utterance not in value:
        raise DataError(f"utterance {utterance!r} has no {name}; give one for every utterance, or one for all")
    return value[utterance]


def _per_utterance(value: float | npt.ArrayLike, ids: Sequence[str], name: str) -> Float64:
    try:
        given = np.asarray(value)
        array = given.astype(np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be a number of seconds, not {value!r}") from None
    if array.ndim > 1 or (array.ndim == 1 and array.size != len(ids)):
        raise UsageError(f"{name} must be one number, or one per utterance")
    refuse_rounded(given, name)
    return np.broadcast_to(array, len(ids))


def _window(window: float | None, hops: Float64) -> float | None:
    """Check a window; it is None where it is nothing but the hop."""
    if window is None:
        return None
    if duration_ns(window, "window") <= 0:
        raise UsageError("window must be positive: the length of time under each score in seconds")
    return None if bool((hops == window).all()) else float(window)
