"""Overlay of a labelling and score runs: the time of each class under each score.

For any number of utterances at once: *every score run first belongs, whole, to the label under its first instant; then
each edge of the reference inside a run hands the rest of that run from the label before the edge to the label after
it.* ::

    reference     |    bona fide   |     spoof     |
    score runs    |   a   |   b   |   c   |   d   |
    first         | bona fide: a b | spoof: c d    |
    the edge      b: its rest goes from bona fide to spoof

Only edges cost anything; there are 30 times fewer of them than frames. Which utterances are measured (rules 14 and 15
of ``docs/rules.md``) is decided here too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from spoofspan.base.columns import (
    Flags,
    blocks,
    has_rows,
    positions,
    sum_by_utterance,
    utterance_of_every,
)
from spoofspan.base.errors import NothingToMeasureError, Problems, refuse
from spoofspan.base.other_ids import id_remedy
from spoofspan.base.times import Int64, seconds_text
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.data.rules import Rules, Touched
from spoofspan.data.scores import Scores
from spoofspan.mass.diagnosis import empty_remedy, hop_remedy, pairing_remedy, score_unit_remedy
from spoofspan.mass.labelling import IGNORED, Labelling, label_references, note_touched
from spoofspan.mass.score_mass import (
    NS_PER_BLOCK,
    Columns,
    MassBlock,
    ScoreMass,
    UtteranceBlock,
    combine_weights,
)
from spoofspan.mass.score_runs import FRAMES_PER_BLOCK, ROWS_PER_BLOCK, FrameRuns, ScoreRuns, mirrored, prepare_scores

if TYPE_CHECKING:
    from spoofspan.data.utterance_scores import UtteranceScores

Side = TypeVar("Side", ScoreRuns, "UtteranceScores")
Either = TypeVar("Either", Scores, "UtteranceScores")
Part = TypeVar("Part", bound="TimedPart")


def label_utterances(
    references: References, scores: Either, rules: Rules, touched: list[Touched]
) -> tuple[Labelling, Either]:
    """Label the utterances that count (rules 1 to 7, 14 and 15); both sides come out in the order of the scores."""
    references, scores = pair(references, scores, rules, touched)
    labelling, label_touched = label_references(references, rules)
    touched += label_touched
    if rules.utterances == "drop-bonafide-CON":
        named = np.fromiter((utt.startswith("CON") for utt in labelling.utterances), bool, len(labelling.utterances))
        dropped = named & (labelling.time_of(SPOOF) == 0)
        note_touched(touched, "utterances", rules.utterances, np.where(dropped, labelling.extents, 0))
        if dropped.all():
            raise NothingToMeasureError("utterances='drop-bonafide-CON' leaves no utterance to measure", touched)
        labelling, scores = labelling.take(np.flatnonzero(~dropped)), scores.take(np.flatnonzero(~dropped))
    return labelling, scores


def drop_empty(labelling: Labelling, side: Side, touched: list[Touched]) -> tuple[Labelling, Side]:
    """Leave out utterances without any time."""
    if labelling.extents.all():
        return labelling, side
    some = np.flatnonzero(labelling.extents)
    if not some.size:
        raise NothingToMeasureError("no utterance has any time to measure; check references and durations", touched)
    return labelling.take(some), side.take(some)


def pair(references: References, scores: Either, rules: Rules, touched: list[Touched]) -> tuple[References, Either]:
    """Rule 14: bring both sides to the order of the scores, with the utterances that both have."""
    where = positions(scores.utterances, references.utterances)
    both = np.flatnonzero(where >= 0)
    if both.size == where.size == len(references):
        same = (where == np.arange(where.size)).all()
        return references if same else references.take_as(where, scores.utterances), scores
    known = {references.utterances[i] for i in where[both]}
    no_scores = [utt for utt in references.utterances if utt not in known]
    no_reference = [scores.utterances[i] for i in np.flatnonzero(where < 0)]
    if not rules.partial:
        problems = Problems()
        problems.extend((f"utterance {utt!r} has references but no scores" for utt in no_scores), len(no_scores))
        problems.extend((f"utterance {utt!r} has scores but no references" for utt in no_reference), len(no_reference))
        problems.raise_if_any(pairing_remedy(no_scores, no_reference, both.size))
    touched.append(Touched("partial", "True", 0, len(no_scores) + len(no_reference)))
    if not both.size:
        why = id_remedy(no_scores, no_reference) or "check the ids"
        raise NothingToMeasureError(f"references and scores have no utterance in common; {why}", touched)
    return references.take(where[both]), scores.take(both)


@dataclass(frozen=True, eq=False)
class TimedPart(ABC):
    """A part of a mass that is made of a labelling and score runs of the same utterances in the same order."""

    labelling: Labelling
    runs: ScoreRuns
    weights: Int64 | None = field(default=None, kw_only=True)  # how often each utterance counts; None: once

    @property
    def utterances(self) -> tuple[str, ...]:
        """Its utterances."""
        return self.labelling.utterances

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its scores."""
        return self.runs.values.dtype

    @property
    def largest(self) -> int:
        """The most that one utterance counts, unweighted."""
        return int(self.labelling.extents.max())

    def take(self: Part, chosen: Int64) -> Part:
        """Keep chosen utterances."""
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, labelling=self.labelling.take(chosen), runs=self.runs.take(chosen), weights=weights)

    def weigh(self: Part, weights: Int64) -> Part:
        """Count each utterance ``weights`` times."""
        return replace(self, weights=combine_weights(self.weights, weights, self.largest))

    @abstractmethod
    def spans(self) -> Iterator[tuple[int, int]]:
        """The first and the last + 1 of the utterances of each block."""

    @abstractmethod
    def utterance_block(self, first: int, last: int) -> UtteranceBlock:
        """Compute one block; each row is known to belong to an utterance."""

    def utterance_blocks(self) -> Iterator[UtteranceBlock]:
        """Compute it block by block; each row is known to belong to an utterance."""
        return starmap(self.utterance_block, self.spans())

    def block(self, first: int, last: int) -> MassBlock:
        """Compute one block."""
        block = self.utterance_block(first, last)
        undecided = int(block.undecided_bona_fide.sum()), int(block.undecided_spoof.sum())
        return replace(block.mass, undecided_bona_fide=undecided[0], undecided_spoof=undecided[1])

    def blocks(self) -> Iterator[MassBlock]:
        """Compute it block by block."""
        return starmap(self.block, self.spans())


@dataclass(frozen=True, eq=False)
class RangePart(TimedPart):
    """The range-based part of a mass, in ns."""

    undecided_bona_fide: Int64  # of each utterance: time under no score
    undecided_spoof: Int64

    def take(self, chosen: Int64) -> RangePart:
        """Keep chosen utterances."""
        undecided = self.undecided_bona_fide[chosen], self.undecided_spoof[chosen]
        return replace(super().take(chosen), undecided_bona_fide=undecided[0], undecided_spoof=undecided[1])

    def spans(self) -> Iterator[tuple[int, int]]:
        """The first and the last + 1 of the utterances of each block."""
        time = self.labelling.extents if self.weights is None else self.labelling.extents * self.weights
        counts = np.diff(self.runs.offsets)
        light = isinstance(self.runs, FrameRuns) and self.weights is None
        return blocks(counts, time, FRAMES_PER_BLOCK if light else ROWS_PER_BLOCK, NS_PER_BLOCK)

    def utterance_block(self, first: int, last: int) -> UtteranceBlock:
        """Lay labels and scores of some utterances over each other; each row is known to belong to one of them."""
        here = slice(first, last)
        runs = self.runs.block(first, last)
        block = overlay_block(self.labelling.block(first, last), runs)
        undecided = self.undecided_bona_fide[here], self.undecided_spoof[here]
        if self.weights is not None:
            weights = self.weights[here]
            block = block.weigh(np.repeat(weights, np.diff(runs.offsets)))
            undecided = undecided[0] * weights, undecided[1] * weights
        return UtteranceBlock(first, last, runs.offsets, block, *undecided)

    def sample(self, size: int) -> Columns:
        """About ``size`` rows; each counts whole for the label under its middle."""
        if not self.runs.values.size:
            return self.runs.values, np.zeros(0, np.int64), np.zeros(0, np.int64)
        # large corpora get larger samples: what a bracket holds must not outgrow the rest of the work
        count = self.runs.values.size
        step = max(count // max(size, count >> 9), 1)
        rows, utterance = np.arange(0, count, step), utterance_of_every(step, self.runs.offsets)
        starts, ends = self.runs.spans(utterance, rows)
        middle = np.minimum((starts + ends) // 2, self.labelling.extents[utterance] - 1)
        label = self.labelling.labels[self.labelling.runs_at(utterance, middle)]
        weight = ends - starts if self.weights is None else (ends - starts) * self.weights[utterance]
        scores = mirrored(self.runs.values[rows], self.runs.higher)
        return scores, (label == BONA_FIDE) * weight, (label == SPOOF) * weight


def rows_under(block: ScoreRuns, utterance: Int64, starts: Int64, ends: Int64) -> tuple[Int64, Int64, Flags]:
    """First and last row of the runs that each range of time overlaps, and whether there are any."""
    first = np.maximum(block.rows_before(utterance, starts + 1) - 1, 0)
    last = block.rows_before(utterance, ends) - 1
    some = has_rows(block.offsets)[utterance]
    # the run that starts at or before the range may have ended before it
    over = np.zeros(utterance.size, bool)
    over[some] = block.run_ends(utterance[some], first[some]) <= starts[some]
    first = first + over
    scored = first <= last
    base = block.offsets[utterance]
    return np.where(scored, base + first, 0), np.where(scored, base + last, 0), scored


def overlay_block(labelling: Labelling, runs: ScoreRuns) -> MassBlock:
    """Return the time of both classes under each score run; both sides are of the same utterances."""
    offsets, edges, labels = labelling.offsets, labelling.ends, labelling.labels
    # Whole runs: as many as start inside each stretch of one label. Rows without time go to the last stretch.
    next_row, rest = runs.cut_at(offsets, edges)  # the first row of the stretch after an edge
    next_row[offsets[1:] - 1] = runs.offsets[1:]
    classes = np.repeat(labels, np.diff(next_row, prepend=0))
    durations, odd, odd_by = runs.durations()
    # Parts of runs: each edge hands the rest of the run it lies in from the label before to the label after. Behind the
    # last edge of an utterance nothing is left.
    cut, giver, taker = next_row - 1, labels, np.append(labels[1:], labels[-1:])
    if not runs.values.size:
        cut, rest, giver, taker = cut[:0], rest[:0], giver[:0], taker[:0]

    def exceptions(label: int) -> Int64:
        """Time of a label in odd runs, then in runs cut by an edge, relative to the common amount."""
        gain = (taker == label).view(np.int8) - (giver == label).view(np.int8)
        return np.concatenate((odd_by * (classes[odd] == label), rest * gain))

    more_bona_fide, more_spoof = exceptions(BONA_FIDE), exceptions(SPOOF)
    classes[runs.rows_without_time()] = IGNORED
    return MassBlock(runs.values, classes, durations, np.concatenate((odd, cut)), more_bona_fide, more_spoof)


def time_by_stretch(labelling: Labelling, runs: ScoreRuns, chosen: Flags) -> Int64:
    """Time of chosen score runs in each stretch of a labelling; both sides are of the same utterances."""
    durations, odd, odd_by = runs.durations()
    lasting = np.multiply(chosen, durations, dtype=np.int64)
    lasting[odd] += odd_by * chosen[odd]
    lasting[runs.rows_without_time()] = 0
    next_row, rest = runs.cut_at(labelling.offsets, labelling.ends)
    next_row[labelling.offsets[1:] - 1] = runs.offsets[1:]
    found: Int64 = np.diff(np.concatenate(([0], np.cumsum(lasting)))[next_row], prepend=0)
    # each edge hands the rest of the run it lies in to the stretch behind it
    cut = np.flatnonzero(rest)
    cut = cut[chosen[next_row[cut] - 1]]
    found[cut] -= rest[cut]
    found[cut + 1] += rest[cut]
    return found


@dataclass(frozen=True, eq=False)
class Overlay:
    """References and scores under rules that have all been applied, in the order of the scores."""

    labelling: Labelling
    runs: ScoreRuns
    rules: Rules
    touched: tuple[Touched, ...]  # by the rules of the references and the scores

    @classmethod
    def of(cls, references: References, scores: Scores, rules: Rules) -> Overlay:
        """Pair the utterances and apply every rule to both sides."""
        touched: list[Touched] = []
        labelling, scores = label_utterances(references, scores, rules, touched)
        runs, score_touched = prepare_scores(scores, labelling.extents, rules)
        touched += score_touched
        labelling, runs = drop_empty(labelling, runs, touched)
        return cls(labelling, runs, rules, tuple(touched))

    def take(self, chosen: Int64) -> Overlay:
        """Keep chosen utterances, in that order."""
        return Overlay(self.labelling.take(chosen), self.runs.take(chosen), self.rules, ())

    @property
    def hop_remedy(self) -> str | None:
        """The hop, or unit, that would leave no time without a score, if lengths of scores and durations tell."""
        if not isinstance(self.runs, FrameRuns):
            return empty_remedy(np.diff(self.runs.offsets)) or score_unit_remedy(
                self.runs.last_ends(), self.labelling.extents
            )
        frames, runs = np.diff(self.runs.offsets), self.runs
        return hop_remedy(frames, self.labelling.extents - runs.origins, runs.hops.astype(np.float64))

    def undecided(self) -> tuple[tuple[Int64, Int64], tuple[Touched, ...]]:
        """Rule 13: bona fide and spoofed time of each utterance without a score, and the time that rules decided."""
        labelling = self.labelling
        bona_fide, spoof = np.zeros((2, labelling.extents.size), np.int64)
        missing = np.flatnonzero(self.runs.covered() < labelling.extents)
        if not missing.size:
            return (bona_fide, spoof), self.touched
        few = self.take(missing)
        for first, last in blocks(np.diff(few.runs.offsets), few.labelling.extents, ROWS_PER_BLOCK, NS_PER_BLOCK):
            runs = few.runs.block(first, last)
            block = overlay_block(few.labelling.block(first, last), runs)
            for column, label, scored in ((bona_fide, BONA_FIDE, block.bona_fide), (spoof, SPOOF, block.spoof)):
                whole = few.labelling.time_of(label)[first:last]
                column[missing[first:last]] = whole - sum_by_utterance(scored, runs.offsets)
        undecided = bona_fide + spoof
        empty = np.diff(self.runs.offsets) == 0
        if self.rules.uncovered == "error" and (undecided > 0).any() and empty[undecided > 0].all():
            refuse(
                np.flatnonzero(undecided),
                lambda i: f"utterance {labelling.utterances[i]!r} has no scores at all (an empty array)",
                self.hop_remedy or "write its scores, or remove its entry and measure the others with partial=True",
            )
        if self.rules.uncovered in ("error", "hold"):  # after holding, only utterances without any score are left
            refuse(
                np.flatnonzero(undecided),
                lambda i: (
                    f"utterance {labelling.utterances[i]!r}: {seconds_text(undecided[i])} of "
                    f"{seconds_text(labelling.extents[i])} have no score"
                ),
                "uncovered='hold' needs at least one score in each utterance; complete the scores, or state what that "
                "time counts as with uncovered='bonafide', 'spoof', 'ignore' or 'unanswered'"
                if self.rules.uncovered == "hold"
                else self.hop_remedy
                or "check hop and durations, or state what that time counts as with uncovered='hold' (needs at least "
                "one score), 'bonafide', 'spoof', 'ignore' or 'unanswered'",
            )
        touched = list(self.touched)
        note_touched(touched, "uncovered", self.rules.uncovered, undecided)
        return (bona_fide, spoof), tuple(touched)

    def part(self) -> tuple[RangePart, tuple[Touched, ...]]:
        """The only part of its mass, and the time that the rules decided."""
        undecided, touched = self.undecided()
        ignored = self.rules.uncovered == "ignore"
        counted = [np.zeros_like(column) if ignored else column for column in undecided]
        return RangePart(self.labelling, self.runs, *counted), touched

    def mass(self) -> tuple[ScoreMass, tuple[Touched, ...]]:
        """Time of each class under each score, and the time that the rules decided."""
        part, touched = self.part()
        return ScoreMass((part,), self.runs.higher, "ns", self.rules.uncovered, range_basis(self.rules)), touched


Lay = Callable[[References, Scores, Rules], Overlay]


class LatestOverlay:
    """Makes overlays as :meth:`Overlay.of` does; one that is asked for again, right after, is not made again."""

    def __init__(self) -> None:
        self._sides: tuple[References, Scores] | None = None
        self._laid: Overlay | None = None

    def of(self, references: References, scores: Scores, rules: Rules) -> Overlay:
        """The overlay of these, under these rules."""
        same = self._sides is not None and self._sides[0] is references and self._sides[1] is scores
        if self._laid is None or not same or self._laid.rules != rules:
            self._laid = None  # or else two would be in memory at once
            self._laid, self._sides = Overlay.of(references, scores, rules), (references, scores)
        return self._laid


def range_basis(rules: Rules) -> str:
    """Settings that range-based masses share to be added."""
    return f"ranges, {rules.spelled('range')}"
