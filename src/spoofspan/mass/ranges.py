"""Overlay: lay a labelling and score runs over each other.

For any number of utterances at once: *every score run first belongs, whole, to the label under its first instant; then
each edge of the reference inside a run hands the rest of that run from the label before the edge to the label after
it.* ::

    reference     |    bona fide   |     spoof     |
    score runs    |   a   |   b   |   c   |   d   |
    first         | bona fide: a b | spoof: c d    |
    the edge      b: its rest goes from bona fide to spoof

Only edges cost anything; there are 30 times fewer of them than frames.

Which utterances are measured (rules 14 and 15 of ``docs/rules.md``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from spoofspan.base.columns import blocks, first_rows, positions, sum_by_utterance, utterance_of_rows, within_utterances
from spoofspan.base.errors import NothingToMeasureError, Problems
from spoofspan.base.times import Int64, seconds_text
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.data.rules import Rules, Touched, note_touched
from spoofspan.data.scores import Scores
from spoofspan.mass.labelling import IGNORED, Labelling, label_references, overwrite
from spoofspan.mass.score_coverage import prepare_scores
from spoofspan.mass.score_mass import NS_PER_BLOCK, ROWS_PER_BLOCK, Columns, MassBlock, ScoreMass, combine_weights
from spoofspan.mass.score_runs import RunBlock, RunBlocks, ScoreRuns, bona_fide_polarity


class OfUtterances(Protocol):
    """What belongs to utterances: scores in time, or of whole utterances."""

    @property
    def utterances(self) -> tuple[str, ...]:
        """Its utterances."""
        ...

    def __len__(self) -> int: ...

    def take(self: Side, chosen: Int64) -> Side:
        """Keep chosen utterances, in that order."""
        ...


Side = TypeVar("Side", bound=OfUtterances)


def pair(references: References, scores: Side, rules: Rules, touched: list[Touched]) -> tuple[References, Side]:
    """Rule 14: bring both sides to the order of the scores, with the utterances that both have."""
    where = positions(scores.utterances, references.utterances)
    both = np.flatnonzero(where >= 0)
    if both.size == len(scores) == len(references):
        order = where if (where != np.arange(where.size)).any() else None
        return references if order is None else references.take(order), scores
    known = {references.utterances[i] for i in where[both]}
    no_scores = [utt for utt in references.utterances if utt not in known]
    no_reference = [scores.utterances[i] for i in np.flatnonzero(where < 0)]
    if not rules.partial:
        problems = Problems()
        problems.extend((f"utterance {utt!r} has references but no scores" for utt in no_scores), len(no_scores))
        problems.extend((f"utterance {utt!r} has scores but no references" for utt in no_reference), len(no_reference))
        problems.raise_if_any("complete the files, or measure the common utterances with partial=True")
    touched.append(Touched("partial", "True", 0, len(no_scores) + len(no_reference)))
    if not both.size:
        raise NothingToMeasureError("references and scores have no utterance in common; check the ids", touched)
    return references.take(where[both]), scores.take(both)


def drop_bona_fide_con(labelling: Labelling, rules: Rules, touched: list[Touched]) -> Int64 | None:
    """Rule 15: the utterances that count; None if all do."""
    if rules.utterances == "all":
        return None
    named = np.fromiter((utt.startswith("CON") for utt in labelling.utterances), bool, len(labelling.utterances))
    dropped = named & (labelling.time_of(SPOOF) == 0)
    note_touched(touched, "utterances", rules.utterances, np.where(dropped, labelling.extents, 0))
    if dropped.all():
        raise NothingToMeasureError("utterances='drop-bonafide-CON' leaves no utterance to measure", touched)
    return np.flatnonzero(~dropped)


@dataclass(frozen=True, eq=False)
class Overlay:
    """The range-based part of a mass: a labelling and score runs of the same utterances in the same order."""

    labelling: Labelling
    runs: ScoreRuns
    undecided_bona_fide: Int64
    undecided_spoof: Int64
    weights: Int64 | None = None

    @property
    def utterances(self) -> tuple[str, ...]:
        """Its utterances."""
        return self.labelling.utterances

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its scores."""
        return self.runs.values.dtype

    def take(self, chosen: Int64) -> Overlay:
        """Keep chosen utterances."""
        return Overlay(
            self.labelling.take(chosen),
            self.runs.take(chosen),
            self.undecided_bona_fide[chosen],
            self.undecided_spoof[chosen],
            None if self.weights is None else self.weights[chosen],
        )

    def weigh(self, weights: Int64) -> Overlay:
        """Count each utterance so many times."""
        longest = int(self.labelling.extents.max())
        return replace(self, weights=combine_weights(self.weights, weights, longest))

    def blocks(self) -> Iterator[MassBlock]:
        """Lay over block by block."""
        weights = self.weights
        rows = np.diff(self.runs.offsets)
        time = self.labelling.extents if weights is None else self.labelling.extents * weights
        for first, last in blocks(rows, time, ROWS_PER_BLOCK, NS_PER_BLOCK):
            here = slice(first, last)
            _, block = lay_over(self.labelling, self.runs, first, last)
            undecided = self.undecided_bona_fide[here], self.undecided_spoof[here]
            if weights is not None:
                by_row = np.repeat(weights[here], rows[here])
                block = replace(
                    block,
                    amounts=block.amounts * by_row,
                    more_bona_fide=block.more_bona_fide * by_row[block.rows],
                    more_spoof=block.more_spoof * by_row[block.rows],
                )
                undecided = undecided[0] * weights[here], undecided[1] * weights[here]
            yield replace(block, undecided_bona_fide=int(undecided[0].sum()), undecided_spoof=int(undecided[1].sum()))

    def sample(self, size: int) -> Columns:
        """About ``size`` rows; each counts whole for the label under its middle."""
        if not self.runs.values.size:
            return self.runs.values, np.zeros(0, np.int64), np.zeros(0, np.int64)
        # large corpora get larger samples: what a bracket holds must not outgrow the rest of the work
        count = self.runs.values.size
        rows = np.arange(0, count, max(count // max(size, count >> 9), 1))
        utterance = np.searchsorted(self.runs.offsets, rows, side="right") - 1
        starts, ends = self.runs.spans(utterance, rows)
        # floats are near enough for a place on one axis of all utterances
        axis_start = np.concatenate(([0.0], np.cumsum(self.labelling.extents.astype(np.float64))))
        run_ends = axis_start[utterance_of_rows(self.labelling.offsets)] + self.labelling.ends
        middle = axis_start[utterance] + np.minimum((starts + ends) / 2, self.labelling.extents[utterance])
        run = np.minimum(np.searchsorted(run_ends, middle, side="right"), run_ends.size - 1)
        label = self.labelling.labels[run]
        weight = ends - starts if self.weights is None else (ends - starts) * self.weights[utterance]
        scores = self.runs.values[rows]
        return bona_fide_polarity(scores, self.runs.higher), (label == BONA_FIDE) * weight, (label == SPOOF) * weight


def lay_over(labelling: Labelling, runs: RunBlocks, first: int, last: int) -> tuple[RunBlock, MassBlock]:
    """Return the score runs of utterances first to last - 1, and the time of both classes under each."""
    block = runs.block(first, last)
    here = slice(int(labelling.offsets[first]), int(labelling.offsets[last]))
    offsets = labelling.offsets[first : last + 1] - labelling.offsets[first]
    edges, labels = labelling.ends[here], labelling.labels[here]
    utterance = utterance_of_rows(offsets)

    # Whole runs: as many as start inside each stretch of one label. Rows without time go to the last stretch.
    before = block.rows_before(utterance, edges)
    counts = np.diff(before, prepend=0)
    begins = first_rows(offsets)
    counts[begins] = before[begins]
    final = offsets[1:] - 1
    counts[final] += block.offsets[1:] - block.offsets[:-1] - before[final]
    classes = np.repeat(labels, counts)
    without_time = block.rows_without_time()
    if without_time.size:
        classes[without_time] = IGNORED
    durations, odd, odd_by = block.durations()

    # Parts of runs: each edge hands the rest of the run it lies in from the label before to the label after.
    edge = np.flatnonzero(within_utterances(offsets, (labels[1:] != labels[:-1]) & (before[:-1] > 0)))
    position = before[edge] - 1
    rest = block.ends(utterance[edge], position) - edges[edge]
    cuts = rest > 0
    edge, rest = edge[cuts], rest[cuts]
    row = block.offsets[utterance[edge]] + position[cuts]
    more = []
    for label in (BONA_FIDE, SPOOF):
        gain = (labels[edge + 1] == label).astype(np.int64) - (labels[edge] == label)
        more.append(np.concatenate((odd_by * (classes[odd] == label), rest * gain)))
    return block, MassBlock(block.values, classes, durations, np.concatenate((odd, row)), more[0], more[1])


def overlay_part(references: References, scores: Scores, rules: Rules) -> tuple[Labelling, ScoreRuns, list[Touched]]:
    """Pair the utterances and apply every rule to both sides."""
    touched: list[Touched] = []
    references, scores = pair(references, scores, rules, touched)
    labelling, label_touched = label_references(references, rules)
    touched += label_touched
    chosen = drop_bona_fide_con(labelling, rules, touched)
    if chosen is not None:
        labelling, scores = labelling.take(chosen), scores.take(chosen)
    runs, score_touched = prepare_scores(scores, labelling, rules)
    touched += score_touched
    if not labelling.extents.all():
        some = np.flatnonzero(labelling.extents)
        if not some.size:
            raise NothingToMeasureError("no utterance has any time to measure; check references and durations", touched)
        labelling, runs = labelling.take(some), runs.take(some)
    return labelling, runs, touched


@dataclass(frozen=True, eq=False)
class LaidOver:
    """References and scores under rules that have all been applied."""

    labelling: Labelling
    runs: ScoreRuns
    rules: Rules
    touched: tuple[Touched, ...]  # by the rules of the references and the scores

    @classmethod
    def of(cls, references: References, scores: Scores, rules: Rules) -> LaidOver:
        """Apply every rule."""
        labelling, runs, touched = overlay_part(references, scores, rules)
        return cls(labelling, runs, rules, tuple(touched))

    def without(self, utterance: Int64, starts: Int64, ends: Int64) -> LaidOver:
        """Leave some ranges out of account (their utterances counted as in the labelling)."""
        return replace(self, labelling=overwrite(self.labelling, utterance, starts, ends, IGNORED))

    def take(self, chosen: Int64) -> LaidOver:
        """Keep chosen utterances, in that order."""
        return replace(self, labelling=self.labelling.take(chosen), runs=self.runs.take(chosen), touched=())

    def undecided(self) -> tuple[tuple[Int64, Int64], tuple[Touched, ...]]:
        """The bona fide and the spoofed time under no score, and what all rules touched."""
        touched = list(self.touched)
        return undecided_time(self.labelling, self.runs, self.rules, touched), tuple(touched)

    def mass(self) -> tuple[ScoreMass, tuple[Touched, ...]]:
        """How long each class lasted under each score, and what the rules touched."""
        undecided, touched = self.undecided()
        ignored = self.rules.uncovered == "ignore"
        counted = [np.zeros_like(column) if ignored else column for column in undecided]
        part = Overlay(self.labelling, self.runs, *counted)
        basis = f"ranges, {self.rules.spelled('range')}"
        return ScoreMass((part,), self.runs.higher, "ns", self.rules.uncovered, basis), touched


def overlay_with(references: References, scores: Scores, rules: Rules) -> tuple[ScoreMass, tuple[Touched, ...]]:
    """Lay references and scores over each other under the given rules."""
    return LaidOver.of(references, scores, rules).mass()


def undecided_time(labelling: Labelling, runs: ScoreRuns, rules: Rules, touched: list[Touched]) -> tuple[Int64, Int64]:
    """Rule 13: the bona fide and the spoofed time of each utterance that lies under no score."""
    bona_fide, spoof = np.zeros((2, labelling.extents.size), np.int64)
    missing = np.flatnonzero(runs.covered() < labelling.extents)
    if not missing.size:
        return bona_fide, spoof
    nothing = np.zeros(missing.size, np.int64)
    few = Overlay(labelling.take(missing), runs.take(missing), nothing, nothing)
    rows = np.diff(few.runs.offsets)
    for first, last in blocks(rows, few.labelling.extents, ROWS_PER_BLOCK, NS_PER_BLOCK):
        block, laid = lay_over(few.labelling, few.runs, first, last)
        under_scores = laid.bona_fide, laid.spoof
        for column, label, decided in zip((bona_fide, spoof), (BONA_FIDE, SPOOF), under_scores, strict=True):
            whole = few.labelling.time_of(label)[first:last]
            column[missing[first:last]] = whole - sum_by_utterance(decided, block.offsets)
    undecided = bona_fide + spoof
    if rules.uncovered in ("error", "hold"):  # after holding, only utterances without any score are left
        bad = np.flatnonzero(undecided)
        problems = Problems()
        problems.extend(
            (
                f"utterance {labelling.utterances[i]!r}: {seconds_text(int(undecided[i]))} of "
                f"{seconds_text(int(labelling.extents[i]))} have no score"
                for i in bad
            ),
            bad.size,
        )
        problems.raise_if_any(
            "check hop and durations, or state what that time counts as with uncovered='hold' (needs at least one "
            "score), 'bonafide', 'spoof', 'ignore' or 'unanswered'"
        )
    note_touched(touched, "uncovered", rules.uncovered, undecided)
    return bona_fide, spoof
