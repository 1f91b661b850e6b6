"""A labelling: one label for every instant of an utterance.

References are labels as annotated; a :class:`Labelling` has the labels that count::

    references     [ bona fide )  [ spoof )[nonspeech)[ bona fide )
    labelling     |. bona fide .|.|. spoof .|. ignored .|. bona fide .|      gaps=bonafide, nonspeech=ignore
    ends                        e0 e1       e2          e3            e4 = extent

Its runs of one label touch each other and fill [0, extent). Operations: :func:`overwrite` some time, :func:`cut_at` the
edges of ranges, :func:`cut_at_both`. :func:`label_references` makes it from references, by rules 1 to 7 of
``docs/rules.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import (
    Flags,
    block_rows,
    chosen_ids,
    ends_before,
    first_of_equals,
    first_rows,
    has_rows,
    kept_offsets,
    last_rows,
    no_rows,
    offsets_of,
    rows_from,
    rows_of,
    rows_that_end_after,
    sum_by_utterance,
    utterance_of_rows,
    within_utterances,
)
from spoofspan.base.errors import DataError, UsageError, refuse
from spoofspan.base.times import Int64, duration_ns, exact_sum, refuse_milliseconds, seconds_text
from spoofspan.data.references import BONA_FIDE, LABELS, NONSPEECH, SPOOF, Labels, References
from spoofspan.data.rules import CollarEdges, Regions, Rules, Touched
from spoofspan.mass.diagnosis import unit_remedy

# The label of time that counts on neither side; the others are those of references.
IGNORED = 3


@dataclass(frozen=True, eq=False)
class Labelling:
    """Runs of one label that fill [0, extent) of each utterance: run i ends at ``ends[i]``, where run i + 1 starts."""

    utterances: tuple[str, ...]
    extents: Int64
    offsets: Int64
    ends: Int64
    labels: Labels

    @property
    def starts(self) -> Int64:
        """Start of each run."""
        return ends_before(self.ends, self.offsets)

    def take(self, chosen: Int64) -> Labelling:
        """Keep chosen utterances, in that order."""
        rows, offsets = rows_of(self.offsets, chosen)
        names = chosen_ids(self.utterances, chosen)
        return Labelling(names, self.extents[chosen], offsets, self.ends[rows], self.labels[rows])

    def block(self, first: int, last: int) -> Labelling:
        """The runs of utterances first to last - 1."""
        rows, offsets = block_rows(self.offsets, first, last)
        here = slice(first, last)
        return Labelling(self.utterances[here], self.extents[here], offsets, self.ends[rows], self.labels[rows])

    def without(self, ignored: Flags) -> Labelling:
        """The same labels, but for runs that are ignored."""
        return replace(self, labels=np.where(ignored, np.int8(IGNORED), self.labels))

    def runs_at(self, utterance: Int64, times: Int64) -> Int64:
        """The run in which each time lies; all are before the extent of their utterance."""
        return rows_that_end_after(times, self.ends, self.offsets, utterance)

    def times_of(self, labels: Sequence[int], utterance: Int64, starts: Int64, ends: Int64) -> list[Int64]:
        """The time of some labels in ranges that start before the extent: a column for each label."""
        first = self.runs_at(utterance, starts)
        last = first.copy()
        longer = np.flatnonzero(ends > self.ends[first])  # few of short ranges
        last[longer] = self.runs_at(utterance[longer], ends[longer] - 1)
        offsets = offsets_of(last + 1 - first)
        begins, runs = offsets[:-1], rows_from(first, last + 1 - first)
        run_starts, run_ends = self.ends[runs - 1], self.ends[runs]
        run_starts[begins], run_ends[offsets[1:] - 1] = starts, ends
        return [np.add.reduceat((run_ends - run_starts) * (self.labels[runs] == label), begins) for label in labels]

    def time_of(self, label: int) -> Int64:
        """Sum the time of one label in each utterance."""
        return sum_by_utterance((self.ends - self.starts) * (self.labels == label), self.offsets)


def overwrite(labelling: Labelling, utterance: Int64, starts: Int64, ends: Int64, label: int) -> Labelling:
    """Give the time in these ranges (any order, they may overlap) a label of its own.

    ::

        runs        |     a     |    b    |
        ranges          [ x x x x )
        result      | a |   x    |  b     |
    """
    keep = ends > starts
    cut = cut_at(labelling, utterance[keep], starts[keep], ends[keep])
    return replace(cut.cells, labels=np.where(cut.covered(), np.int8(label), cut.cells.labels))


@dataclass(frozen=True, eq=False)
class CutLabelling:
    """A labelling that is cut at the edges of ranges: range i is made of the cells ``first[i]`` to ``last[i]``."""

    cells: Labelling
    first: Int64
    last: Int64

    def covered(self, ranges: Flags | slice = slice(None)) -> Flags:
        """The cells under any of the chosen ranges: more of these have started than ended."""
        count = self.cells.ends.size + 1
        begun, over = (np.bincount(at[ranges], minlength=count) for at in (self.first, self.last + 1))
        flags: Flags = np.cumsum(begun - over)[:-1] > 0
        return flags


def cut_at(labelling: Labelling, utterance: Int64, starts: Int64, ends: Int64) -> CutLabelling:
    """Cut the runs of a labelling at the edges of ranges (any order, they may overlap), none of which is empty."""
    runs = labelling.ends.size
    edge_utterance = np.concatenate((utterance_of_rows(labelling.offsets), utterance, utterance))
    edge = np.concatenate((labelling.ends, starts, ends))
    # on one time line, where each utterance begins after the end of the one before; sorted parts are merged
    begins = offsets_of(labelling.extents + 1)[:-1]
    order = np.argsort(begins[edge_utterance] + edge, kind="stable")
    in_order_utterance, in_order = edge_utterance[order], edge[order]
    ends_cell = first_of_equals(in_order_utterance, in_order)
    ends_cell &= (in_order > 0) | (labelling.extents == 0)[in_order_utterance]  # an empty utterance keeps one
    # the cell that each edge ends; an edge at 0 ends none, and counts as the end of the utterance before
    cell = np.empty(edge.size, np.int64)
    cell[order] = np.cumsum(ends_cell) - 1
    offsets = offsets_of(np.bincount(in_order_utterance[ends_cell], minlength=labelling.extents.size))
    labels = np.repeat(labelling.labels, np.diff(cell[:runs], prepend=-1))
    cells = Labelling(labelling.utterances, labelling.extents, offsets, in_order[ends_cell], labels)
    return CutLabelling(cells, cell[runs : runs + starts.size] + 1, cell[runs + starts.size :])


def cut_at_both(a: Labelling, b: Labelling) -> tuple[Labelling, Labels]:
    """Cut two labellings of the same utterances and extents at the edges of both; returns a's runs and b's labels."""
    cut = cut_at(a, utterance_of_rows(b.offsets), b.starts, b.ends)
    return cut.cells, np.repeat(b.labels, cut.last + 1 - cut.first)


_CODE = {"bonafide": BONA_FIDE, "spoof": SPOOF, "ignore": IGNORED}


# ---------------------------------------------------------------- rules 1 to 7


def label_references(references: References, rules: Rules) -> tuple[Labelling, list[Touched]]:
    """Apply rules 1 to 7; also returns how much time each of them decided."""
    rules.check_modality(references.modality)
    touched: list[Touched] = []
    snap = references.snap if rules.snap is None else duration_ns(rules.snap, "snap")
    ranges = _Ranges(references, snap)
    extents = _extents(references, rules, ranges, touched)
    if rules.extent != "cut-at-duration":
        ranges.refuse_past(extents)
    else:
        ranges.cut(extents, touched)
    if snap:
        ranges.join(extents, touched)
        ranges.cut(extents, [])
    ranges.refuse_overlaps()
    labelling = ranges.fill(extents, rules, touched)
    labelling = _decide_nonspeech(labelling, rules, touched)
    if rules.collar:
        refuse_milliseconds(rules.collar * 1e9, labelling.extents, "collar")
        labelling = _ignore_collars(labelling, duration_ns(rules.collar, "collar"), rules.collar_edges, touched)
    if rules.regions is not None:
        labelling = _ignore_outside_regions(labelling, rules.regions, touched)
    return labelling, touched


class _Ranges:
    """The ranges of the references while rules 1 to 4 change them."""

    def __init__(self, references: References, snap: int) -> None:
        self.utterances = references.utterances
        self.offsets, self.starts, self.ends = references.offsets, references.starts, references.ends
        self.labels = references.labels
        self.snap = snap
        merged = merge_rows(self.offsets, self.starts, self.ends, self.labels) if self.overlaps.size else None
        if merged is not None:
            self.ends = merged[1]
            self._keep(merged[0])

    def _keep(self, keep: Flags) -> None:
        if keep.all():
            return
        self.offsets = kept_offsets(self.offsets, keep)
        self.starts, self.ends, self.labels = self.starts[keep], self.ends[keep], self.labels[keep]

    @property
    def joined(self) -> bool:
        """True if each range starts where the one before it ends, and the first of an utterance at 0."""
        apart = self.starts[1:] != self.ends[:-1]
        inside = np.count_nonzero(apart) - np.count_nonzero(apart[self.last[:-1]])
        return inside == 0 and not self.starts[first_rows(self.offsets)].any()

    @property
    def overlaps(self) -> Int64:
        """The ranges that end after the next one of their utterance starts."""
        if self.joined:
            return no_rows()
        return np.flatnonzero(within_utterances(self.offsets, self.starts[1:] < self.ends[:-1]))

    @property
    def last(self) -> Int64:
        """The last range of each utterance that has any."""
        return last_rows(self.offsets)

    @property
    def last_ends(self) -> Int64:
        """The last end of each utterance; 0 without ranges."""
        late = np.maximum.reduceat(self.ends, first_rows(self.offsets)) if self.overlaps.size else self.ends[self.last]
        if late.size == self.offsets.size - 1:
            return late
        found = np.zeros(self.offsets.size - 1, np.int64)
        found[has_rows(self.offsets)] = late
        return found

    def join(self, extents: Int64, touched: list[Touched]) -> None:
        """Rule 3: join edges that miss each other, 0 or the extent by at most ``snap``."""
        starts, ends = self.starts.copy(), self.ends.copy()
        miss = np.abs(starts[1:] - ends[:-1])
        near = np.flatnonzero(within_utterances(self.offsets, (miss > 0) & (miss <= self.snap)))
        ends[near] = starts[near + 1]
        first = first_rows(self.offsets)
        starts[first[starts[first] <= self.snap]] = 0
        last, extent = self.last, extents[has_rows(self.offsets)]
        reaches = np.abs(extent - ends[last]) <= self.snap
        ends[last[reaches]] = extent[reaches]
        moved = np.abs(starts - self.starts) + np.abs(ends - self.ends)
        note_touched(touched, "snap", f"{self.snap}ns", sum_by_utterance(moved, self.offsets))
        self.starts, self.ends = starts, ends
        self._keep(ends > starts)

    def refuse_overlaps(self) -> None:
        """Rule 3: different labels at one time are an error under every rule."""
        overlaps = self.overlaps
        utterance = utterance_of_rows(self.offsets) if overlaps.size else no_rows()
        refuse(
            overlaps,
            lambda row: (
                f"utterance {self.utterances[utterance[row]]!r}: {LABELS[self.labels[row]]} until "
                f"{seconds_text(self.ends[row])}, but {LABELS[self.labels[row + 1]]} from "
                f"{seconds_text(self.starts[row + 1])}"
            ),
            "correct the references, or join edges that were rounded with snap=",
        )

    def cut(self, extents: Int64, touched: list[Touched]) -> None:
        """Rule 2: cut ranges at the extent."""
        limit = extents[utterance_of_rows(self.offsets)]
        past = np.maximum(self.ends - np.maximum(limit, self.starts), 0)
        note_touched(touched, "extent", "cut-at-duration", sum_by_utterance(past, self.offsets))
        self.starts, self.ends = np.minimum(self.starts, limit), np.minimum(self.ends, limit)
        self._keep(self.ends > self.starts)

    def refuse_past(self, extents: Int64) -> None:
        """Rule 2: ranges that end more than ``snap`` past the extent are an error, and those that lie there whole."""
        last_ends = self.last_ends
        past = last_ends - extents > self.snap
        listed = has_rows(self.offsets)
        past[listed] |= self.starts[self.last] >= extents[listed]
        if not past.any():
            return
        refuse(
            np.flatnonzero(past),
            lambda i: (
                f"utterance {self.utterances[i]!r}: a range ends at {seconds_text(last_ends[i])}, "
                f"past the duration of {seconds_text(extents[i])}"
            ),
            unit_remedy(last_ends, extents)
            or "correct the durations, or measure with extent='cut-at-duration' or extent='last-range-end'",
        )

    def fill(self, extents: Int64, rules: Rules, touched: list[Touched]) -> Labelling:
        """Rule 4: label the gaps; the runs of the result fill [0, extent)."""
        after = extents - self.last_ends
        if self.joined and not after.any():
            return Labelling(self.utterances, extents, self.offsets, self.ends, self.labels)
        before = self.starts - ends_before(self.ends, self.offsets)
        gaps = sum_by_utterance(before, self.offsets) + after
        if rules.gaps == "error":
            told = unit_remedy(self.last_ends, extents) if gaps.any() else None
            stated = "state what they are with gaps='bonafide', 'spoof', 'ignore' or 'following'"
            self._refuse_gaps(gaps, told or stated)
        if rules.gaps == "following":
            self._refuse_gaps(after, "no range follows there; use extent='last-range-end' or another rule for gaps")
        note_touched(touched, "gaps", rules.gaps, gaps)
        # each range becomes (gap before it, range), each utterance ends with one more gap; empty ones go
        rows, utterances = self.starts.size, extents.size
        utterance = utterance_of_rows(self.offsets)
        ends = np.empty(2 * rows + utterances, np.int64)
        labels = np.empty(ends.size, np.int8)
        gap_at = 2 * np.arange(rows) + utterance
        last_at = 2 * self.offsets[1:] + np.arange(utterances)
        ends[gap_at], ends[gap_at + 1], ends[last_at] = self.starts, self.ends, extents
        labels[gap_at + 1] = self.labels
        labels[gap_at] = self.labels if rules.gaps == "following" else _CODE[rules.gaps]
        labels[last_at] = IGNORED if rules.gaps == "following" else _CODE[rules.gaps]
        filled = np.empty(ends.size, bool)
        filled[gap_at], filled[gap_at + 1], filled[last_at] = before > 0, True, after > 0
        offsets = kept_offsets(np.concatenate(([0], last_at + 1)), filled)
        return Labelling(self.utterances, extents, offsets, ends[filled], labels[filled])

    def _refuse_gaps(self, gaps: Int64, remedy: str) -> None:
        ids = self.utterances
        refuse(np.flatnonzero(gaps), lambda i: f"utterance {ids[i]!r}: {seconds_text(gaps[i])} without a label", remedy)


def _extents(references: References, rules: Rules, ranges: _Ranges, touched: list[Touched]) -> Int64:
    """Rule 2: the time that exists."""
    last_ends = ranges.last_ends
    durations = references.durations
    if rules.extent == "last-range-end":
        if durations is not None:
            note_touched(touched, "extent", rules.extent, np.abs(durations - last_ends))
        return last_ends
    if durations is not None:
        return durations
    if not references.names_both_classes:
        raise DataError(
            "the references list one class only and no durations, so the rest of each utterance is unknown; "
            "give durations"
        )
    return last_ends


def _decide_nonspeech(labelling: Labelling, rules: Rules, touched: list[Touched]) -> Labelling:
    """Rule 5."""
    if not (labelling.labels == NONSPEECH).any():
        return labelling
    seconds = labelling.time_of(NONSPEECH)
    if rules.nonspeech == "error":
        refuse(
            np.flatnonzero(seconds),
            lambda i: f"utterance {labelling.utterances[i]!r}: {seconds_text(seconds[i])} of non-speech",
            "state what it counts as with nonspeech='ignore', 'bonafide' or 'spoof'",
        )
    note_touched(touched, "nonspeech", rules.nonspeech, seconds)
    table = np.array([BONA_FIDE, SPOOF, _CODE.get(rules.nonspeech, IGNORED), IGNORED], np.int8)
    return replace(labelling, labels=table[labelling.labels])


def _ignore_collars(labelling: Labelling, collar: int, which: CollarEdges, touched: list[Touched]) -> Labelling:
    """Rule 6: ignore the time around every change of label, and where spoof begins or ends an utterance if told so."""
    utterance, edges = _edges_with_collar(labelling, which)
    starts, ends = np.maximum(edges - collar, 0), np.minimum(edges + collar, labelling.extents[utterance])
    return _ignored(labelling, utterance, starts, ends, touched, "collar", f"{collar}ns")


def _edges_with_collar(labelling: Labelling, which: CollarEdges) -> tuple[Int64, Int64]:
    """The utterance and the time of every change of label; of ``all`` edges, also where spoof begins or ends it."""
    rows = np.flatnonzero(within_utterances(labelling.offsets, labelling.labels[1:] != labelling.labels[:-1]))
    utterance, edges = utterance_of_rows(labelling.offsets)[rows], labelling.ends[rows]
    if which == "inside":
        return utterance, edges
    some = np.flatnonzero(np.diff(labelling.offsets))
    first = some[labelling.labels[labelling.offsets[some]] == SPOOF]
    last = some[labelling.labels[labelling.offsets[some + 1] - 1] == SPOOF]
    ends = np.concatenate((edges, np.zeros(first.size, np.int64), labelling.extents[last]))
    return np.concatenate((utterance, first, last)), ends


def _ignore_outside_regions(labelling: Labelling, regions: Regions, touched: list[Touched]) -> Labelling:
    """Rule 7: ignore time outside the regions."""
    outside: list[tuple[int, int, int]] = []
    for i, (utt, extent) in enumerate(zip(labelling.utterances, labelling.extents.tolist(), strict=True)):
        position = 0
        try:
            in_order = sorted(regions.get(utt, ()))
        except TypeError:
            raise UsageError(f"regions: utterance {utt!r}: not a list of (start, end): {regions[utt]!r}") from None
        for region in in_order:
            if not isinstance(region, Sequence) or len(region) != 2:
                raise UsageError(f"regions: utterance {utt!r}: a region is (start, end), not {region!r}")
            start, end = (duration_ns(t, f"region of {utt!r}") for t in region)
            if end < start or start < 0:
                raise UsageError(f"regions: utterance {utt!r}: no range of time: {region!r}")
            outside.append((i, position, min(start, extent)))
            position = max(position, end)
        outside.append((i, position, extent))
    utterance, starts, ends = np.array(outside, np.int64).T
    return _ignored(labelling, utterance, starts, ends, touched, "regions", "given")


def _ignored(
    labelling: Labelling, utterance: Int64, starts: Int64, ends: Int64, touched: list[Touched], rule: str, value: str
) -> Labelling:
    result = overwrite(labelling, utterance, starts, ends, IGNORED)
    note_touched(touched, rule, value, result.time_of(IGNORED) - labelling.time_of(IGNORED))
    return result


def merge_rows(offsets: Int64, starts: Int64, ends: Int64, content: npt.NDArray[Any]) -> tuple[Flags, Int64] | None:
    """Rule 1: make one of ranges of equal content that overlap, and of neighbours that touch.

    Returns the rows to keep and the ends of all.

    None if there is nothing to do. Rare, so a plain loop over the utterances that have any.
    """
    overlapping = within_utterances(offsets, (starts[1:] < ends[:-1]) & (content[1:] == content[:-1]))
    if not overlapping.any():
        return None
    ends, keep = ends.copy(), np.ones(ends.size, bool)
    for i in np.unique(utterance_of_rows(offsets)[1:][overlapping]):
        open_row: dict[int, int] = {}
        before = -1
        for row in range(int(offsets[i]), int(offsets[i + 1])):
            holder = open_row.get(int(content[row]), -1)
            if holder >= 0 and (starts[row] < ends[holder] or (starts[row] == ends[holder] and holder == before)):
                ends[holder] = max(ends[holder], ends[row])
                keep[row] = False
            else:
                before = open_row[int(content[row])] = row
    return keep, ends


def merge_overlaps(references: References) -> References:
    """Rule 1 on references themselves; ranges of different attacks stay apart."""
    attacks = 0 if references.attacks is None else references.attacks.astype(np.int64) + 1
    content = references.labels.astype(np.int64) * 2**32 + attacks
    merged = merge_rows(references.offsets, references.starts, references.ends, content)
    if merged is None:
        return references
    keep, ends = merged
    return replace(references, ends=ends).with_rows(keep, kept_offsets(references.offsets, keep))


def fill_as_written(references: References, extents: Int64) -> Labelling:
    """One label for every instant as the references say it: non-speech stays, and time without a label is IGNORED."""
    ranges = _Ranges(references, references.snap)
    if references.snap:
        ranges.join(extents, [])
    ranges.refuse_overlaps()
    return ranges.fill(extents, Rules(gaps="ignore"), [])


def note_touched(touched: list[Touched], rule: str, value: str, by_utterance: Int64) -> None:
    """Note the time that a rule decided, in ns per utterance, if there is any."""
    count = int((by_utterance != 0).sum())
    if count:
        touched.append(Touched(rule, value, exact_sum(by_utterance), count))
