"""ScoreMass: references and scores laid over each other. Read this module first.

For each score: how long bona fide speech, and how long spoofed speech, lasted under it. Everything that needs no
threshold (Eqs. 3 to 7 of the paper: the EER, the whole curve) is a function of these two columns::

    reference   |      bona fide      |   spoof   |  bona fide |
    scores      |  0.9  |  0.8  |  0.3  | -0.2  |  0.1  |  0.7 |

    score       0.9  0.8  0.3 -0.2  0.1  0.7
    bona fide    20   20    5    0   12   20
    spoof         0    0   15   20    8    0

How it is done, for any number of utterances at once: *every score run first belongs, whole, to the label under its
first instant; then each edge of the reference inside a run hands the rest of that run from the label before the edge to
the label after it.* Only edges cost anything; there are 30 times fewer of them than frames. All sums are integers of
nanoseconds, so the result has the same bits whatever the order, the blocks or the number of shards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from spoofspan.columns import (
    blocks,
    first_rows,
    positions,
    sum_by_utterance,
    utterance_of_rows,
    within_utterances,
)
from spoofspan.errors import Problems, UndefinedMeasureError, UsageError
from spoofspan.labelling import Labelling, label_references
from spoofspan.nanoseconds import Int64, seconds_text
from spoofspan.references import BONA_FIDE, SPOOF, References
from spoofspan.rules import Rules, Touched, note_touched
from spoofspan.score_runs import RunBlock, ScoreRuns, prepare_scores
from spoofspan.scores import Higher, Scores, Values

# Measured: blocks that stay in the second-level cache; four times as many or as few rows cost a tenth more.
ROWS_PER_BLOCK = 1 << 17
# A block's sums must fit into int64.
NS_PER_BLOCK = 2**62


@dataclass(frozen=True, eq=False)
class MassBlock:
    """A piece of a ScoreMass: scores in bona fide polarity, the two columns, and what no score decides."""

    scores: Values
    bona_fide: Int64
    spoof: Int64
    undecided_bona_fide: int = 0
    undecided_spoof: int = 0


class MassPart(Protocol):
    """One corpus inside a ScoreMass."""

    @property
    def utterances(self) -> tuple[str, ...]:
        """Its utterances."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its scores."""
        ...

    def blocks(self) -> Iterator[MassBlock]:
        """Compute it piece by piece."""
        ...

    def sample(self, size: int) -> MassBlock:
        """About ``size`` of its rows, spread over the corpus; the two columns may be approximate."""
        ...

    def take(self, chosen: Int64) -> MassPart:
        """Keep chosen utterances."""
        ...

    def weigh(self, weights: Int64) -> MassPart:
        """Count each utterance so many times."""
        ...


@dataclass(frozen=True, eq=False)
class ScoreMass:
    """For each score, how much bona fide and how much spoof (ns or points) it lies under. Made by :func:`overlay`.

    Masses add, which is all that shards and workers need; utterances can be selected or re-weighted without laying
    anything over again.
    """

    parts: tuple[MassPart, ...]
    higher: Higher
    unit: str = "ns"
    uncovered: str = "error"

    def __add__(self, other: ScoreMass) -> ScoreMass:
        mine, theirs = (self.higher, self.unit, self.uncovered), (other.higher, other.unit, other.uncovered)
        if mine != theirs:
            raise UsageError(f"masses with (higher, unit, uncovered) = {mine} and {theirs} do not add")
        return replace(self, parts=self.parts + other.parts)

    @property
    def utterances(self) -> tuple[str, ...]:
        """All utterances, in order."""
        return self.parts[0].utterances if len(self.parts) == 1 else sum((part.utterances for part in self.parts), ())

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type in which all scores of the parts can be compared."""
        return np.result_type(*(part.dtype for part in self.parts))

    def blocks(self) -> Iterator[MassBlock]:
        """Iterate piece by piece; nothing larger than a piece is held."""
        dtype = self.dtype
        for part in self.parts:
            for block in part.blocks():
                yield replace(block, scores=block.scores.astype(dtype, copy=False))

    def sample(self, size: int) -> MassBlock:
        """About ``size`` rows, spread over all utterances, for a guess at where the curve lies."""
        pieces = [part.sample(max(size // len(self.parts), 64)) for part in self.parts]
        return MassBlock(
            np.concatenate([piece.scores for piece in pieces]).astype(self.dtype, copy=False),
            np.concatenate([piece.bona_fide for piece in pieces]),
            np.concatenate([piece.spoof for piece in pieces]),
        )

    def _column(self, name: str) -> Any:
        columns = []
        for block in self.blocks():
            counted = (block.bona_fide > 0) | (block.spoof > 0)
            columns.append(getattr(block, name)[counted])
        return np.concatenate(columns)

    @property
    def scores(self) -> Values:
        """The scores with counted time, in corpus order and as given (held whole; :meth:`blocks` is not)."""
        scores: Values = self._column("scores")
        return scores if self.higher == "bonafide" else -scores

    @property
    def bona_fide(self) -> Int64:
        """The bona fide time under each of :attr:`scores`."""
        column: Int64 = self._column("bona_fide")
        return column

    @property
    def spoof(self) -> Int64:
        """The spoofed time under each of :attr:`scores`."""
        column: Int64 = self._column("spoof")
        return column

    def select(self, utterances: Sequence[str]) -> ScoreMass:
        """Keep only these utterances."""
        wanted = set(utterances)
        unknown = wanted - set(self.utterances)
        if unknown:
            raise UsageError(f"no such utterance: {', '.join(map(repr, sorted(unknown)[:20]))}")
        parts = []
        for part in self.parts:
            chosen = np.array([i for i, utt in enumerate(part.utterances) if utt in wanted], np.int64)
            if chosen.size:
                parts.append(part.take(chosen))
        if not parts:
            raise UsageError("select at least one utterance")
        return replace(self, parts=tuple(parts))

    def reweight(self, weights: Mapping[str, int] | npt.ArrayLike) -> ScoreMass:
        """Count each utterance ``weights`` times (whole numbers; 0 leaves it out), as a bootstrap does.

        Weights are an array in the order of :attr:`utterances`, or a dict that lists every utterance.
        """
        utterances = self.utterances
        if isinstance(weights, Mapping):
            missing = [utt for utt in utterances if utt not in weights]
            if missing:
                raise UsageError(f"no weight for {', '.join(map(repr, missing[:20]))}; give one for every utterance")
            weights = np.array([weights[utt] for utt in utterances])
        array = np.asarray(weights)
        if array.dtype.kind not in "iu" or array.shape != (len(utterances),) or (array < 0).any():
            raise UsageError("weights must be whole numbers from 0 on, one per utterance")
        parts, done = [], 0
        for part in self.parts:
            count = len(part.utterances)
            parts.append(part.weigh(array[done : done + count].astype(np.int64)))
            done += count
        return replace(self, parts=tuple(parts))


def check_weights(weights: Int64, heaviest: int) -> None:
    """Refuse weights with which one utterance alone could overflow."""
    if weights.size and int(weights.max()) * heaviest >= NS_PER_BLOCK:
        raise UsageError(f"a weight of {int(weights.max())} is too large for the longest utterance")


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
        check_weights(weights, int(self.labelling.extents.max(initial=0)))
        return replace(self, weights=weights if self.weights is None else self.weights * weights)

    def blocks(self) -> Iterator[MassBlock]:
        """Lay over block by block."""
        weights = self.weights
        rows = np.diff(self.runs.offsets)
        time = self.labelling.extents if weights is None else self.labelling.extents * weights
        for first, last in blocks(rows, time, ROWS_PER_BLOCK, NS_PER_BLOCK):
            here = slice(first, last)
            run_block, bona_fide, spoof = lay_over(self.labelling, self.runs, first, last)
            undecided = self.undecided_bona_fide[here], self.undecided_spoof[here]
            if weights is not None:
                bona_fide *= np.repeat(weights[here], rows[here])
                spoof *= np.repeat(weights[here], rows[here])
                undecided = undecided[0] * weights[here], undecided[1] * weights[here]
            yield MassBlock(run_block.values, bona_fide, spoof, *(int(column.sum()) for column in undecided))

    def sample(self, size: int) -> MassBlock:
        """About ``size`` rows; each counts whole for the label under its first instant."""
        if not self.runs.values.size:
            return MassBlock(self.runs.values, np.zeros(0, np.int64), np.zeros(0, np.int64))
        rows = np.arange(0, self.runs.values.size, max(self.runs.values.size // size, 1))
        utterance = np.searchsorted(self.runs.offsets, rows, side="right") - 1
        share = (rows - self.runs.offsets[utterance]) / np.diff(self.runs.offsets)[utterance]
        # Runs are near enough to equally long for a guess; floats are near enough for a place on the axis.
        axis_start = np.concatenate(([0.0], np.cumsum(self.labelling.extents.astype(np.float64))))
        run_ends = axis_start[utterance_of_rows(self.labelling.offsets)] + self.labelling.ends
        time = axis_start[utterance] + share * self.labelling.extents[utterance]
        run = np.minimum(np.searchsorted(run_ends, time, side="right"), run_ends.size - 1)
        label = self.labelling.labels[run]
        weight = 1 if self.weights is None else self.weights[utterance]
        scores = self.runs.values[rows]
        return MassBlock(
            scores if self.runs.higher == "bonafide" else -scores,
            (label == BONA_FIDE) * weight,
            (label == SPOOF) * weight,
        )


def lay_over(labelling: Labelling, runs: ScoreRuns, first: int, last: int) -> tuple[RunBlock, Int64, Int64]:
    """Return the bona fide and the spoofed time under each score run of utterances first to last - 1."""
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
    bona_fide = block.spread(counts, labels, BONA_FIDE)
    spoof = block.spread(counts, labels, SPOOF)

    # Parts of runs: each edge hands the rest of the run it lies in from the label before to the label after.
    edge = np.flatnonzero(within_utterances(offsets, (labels[1:] != labels[:-1]) & (before[:-1] > 0)))
    position = before[edge] - 1
    rest = block.ends(utterance[edge], position) - edges[edge]
    cuts = rest > 0
    edge, rest = edge[cuts], rest[cuts]
    row = block.offsets[utterance[edge]] + position[cuts]
    for column, label in ((bona_fide, BONA_FIDE), (spoof, SPOOF)):
        gain = (labels[edge + 1] == label).astype(np.int64) - (labels[edge] == label)
        np.add.at(column, row, rest * gain)
    return block, bona_fide, spoof


def overlay_part(references: References, scores: Scores, rules: Rules) -> tuple[Labelling, ScoreRuns, list[Touched]]:
    """Pair the utterances and apply every rule to both sides."""
    touched: list[Touched] = []
    references, scores = pair(references, scores, rules, touched)
    labelling, label_touched = label_references(references, rules)
    chosen = _chosen_utterances(labelling, rules, touched)
    if chosen is not None:
        labelling, scores = labelling.take(chosen), scores.take(chosen)
    runs, score_touched = prepare_scores(scores, labelling, rules)
    if not labelling.extents.all():
        some = np.flatnonzero(labelling.extents)
        if not some.size:
            raise UndefinedMeasureError("no utterance has any time to measure; check references and durations")
        labelling, runs = labelling.take(some), runs.take(some)
    return labelling, runs, touched + label_touched + score_touched


def pair(references: References, scores: Scores, rules: Rules, touched: list[Touched]) -> tuple[References, Scores]:
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
    if not both.size:
        raise UndefinedMeasureError("references and scores have no utterance in common; check the ids")
    touched.append(Touched("partial", "True", 0, len(no_scores) + len(no_reference)))
    return references.take(where[both]), scores.take(both)


def _chosen_utterances(labelling: Labelling, rules: Rules, touched: list[Touched]) -> Int64 | None:
    """Rule 15: the utterances that count; None if all do."""
    if rules.utterances == "all":
        return None
    named = np.fromiter((utt.startswith("CON") for utt in labelling.utterances), bool, len(labelling.utterances))
    dropped = named & (labelling.time_of(SPOOF) == 0)
    note_touched(touched, "utterances", rules.utterances, np.where(dropped, labelling.extents, 0))
    if dropped.all():
        raise UndefinedMeasureError("utterances='drop-bonafide-CON' leaves no utterance to measure")
    return np.flatnonzero(~dropped)


def overlay_with(references: References, scores: Scores, rules: Rules) -> tuple[ScoreMass, tuple[Touched, ...]]:
    """Lay references and scores over each other under the given rules."""
    labelling, runs, touched = overlay_part(references, scores, rules)
    undecided = undecided_time(labelling, runs, rules, touched)
    counted = [np.zeros_like(column) if rules.uncovered == "ignore" else column for column in undecided]
    part = Overlay(labelling, runs, *counted)
    return ScoreMass((part,), scores.higher, "ns", rules.uncovered), tuple(touched)


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
        block, *under_scores = lay_over(few.labelling, few.runs, first, last)
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
    if rules.uncovered != "hold":
        note_touched(touched, "uncovered", rules.uncovered, undecided)
    return bona_fide, spoof
