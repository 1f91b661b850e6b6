"""Breakdowns of a corpus in shards: the same groups, tables, values, intervals and signatures as in memory.

A group is measured as a corpus is, shard by shard; its plan carries the selection that is cut out of each shard. All
groups are prepared in one pass, and each takes passes of its own to find its value and its interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from spoofspan.base.columns import positions
from spoofspan.base.errors import NothingToMeasureError, Problems
from spoofspan.base.times import Int64
from spoofspan.evaluation.breakdown import (
    Breakdown,
    groups_by_boundary,
    groups_by_column,
    groups_by_kind,
    groups_by_length,
)
from spoofspan.evaluation.crossed import Columns, CrossedBreakdown, crossed
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.plan import EvaluationOptions, Plan
from spoofspan.evaluation.selections import ChosenUtterances, Selection, SpoofedRanges, kinds_in, range_totals
from spoofspan.evaluation.signature import AppliedRules, CorpusHash, Signature
from spoofspan.evaluation.whole_corpus import MeasurePart, SpoofedPart, WholeCorpus, measure_of_ranges, quietly
from spoofspan.mass.ranges import label_utterances
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.catalogue import EVENT
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import OperatingPoint
from spoofspan.measures.per_utterance import UtteranceErrors
from spoofspan.scale.shard_facts import Shard
from spoofspan.scale.sharded_events import cross_events
from spoofspan.scale.shards import PreparedPlan, ShardedCorpus

if TYPE_CHECKING:
    from spoofspan.evaluation.corpus import ReadColumn


def break_down(
    corpus: ShardedCorpus, by: str, measure: str, options: EvaluationOptions, read_column: ReadColumn
) -> Breakdown:
    """The groups of a corpus in shards by kind, length, boundary or a column."""
    ways: dict[str, Callable[[WholeCorpus], Breakdown]]
    ways = {"kind": groups_by_kind, "length": groups_by_length, "boundary": groups_by_boundary}
    whole = WholeInShards(corpus, measure, options)
    return ways[by](whole) if by in ways else groups_by_column(whole, read_column(by), by)


def cross(corpus: ShardedCorpus, measure: Measure, columns: Columns, options: EvaluationOptions) -> CrossedBreakdown:
    """A measure by one or two columns; each cell takes passes of its own over the shards."""
    if measure.basis == EVENT:
        return cross_events(corpus, measure, columns, options)
    look = corpus.look([options.plan(measure, corpus.hop)], signed=False)
    (prepared,) = look.plans
    return crossed(prepared.mass_in(corpus, look.unpaired), prepared.plan, columns, options.resampling)


class WholeInShards(WholeCorpus):
    """A corpus in shards that groups are cut out of."""

    def __init__(
        self, corpus: ShardedCorpus, measure: str, options: EvaluationOptions, at: OperatingPoint | None = None
    ) -> None:
        self.corpus, self.options = corpus, options
        self.resampling = options.resampling
        plan = self.plan = options.plan(measure_of_ranges(measure), corpus.hop)
        look = corpus.look([plan], signed=options.signed)
        (self.prepared,) = look.plans
        self.hashes = look.hashes
        self.mass = self.prepared.mass_in(corpus, look.unpaired)
        self.measured = self._measured(self.prepared, self.mass)
        self.settle(plan, at)

    def errors_at(self, point: OperatingPoint) -> UtteranceErrors:
        """The errors of each utterance at an operating point."""
        return self.prepared.errors_at(self.corpus, point)

    def kinds(self) -> frozenset[str]:
        """The kinds of the spoofed ranges."""
        return self.corpus.merged(_kinds, frozenset.union, "kinds")

    def measurers(self, selections: Sequence[Selection]) -> Sequence[MeasurePart]:
        """What measures each of some parts of the corpus, after one look at all shards."""
        look = self.corpus.look([replace(self.plan, selection=one) for one in selections], signed=False)
        return [partial(self._part, one, look.unpaired) for one in look.plans]

    def spoofed_parts(self, chosen: Mapping[str, SpoofedRanges]) -> dict[str, SpoofedPart]:
        """Those selections of which there are any ranges."""
        selections = list(chosen.values())
        totals = self.corpus.merged(partial(_totals, self.plan, selections, self.point), np.add, "groups").tolist()
        there = {name: row for name, row in zip(chosen, totals, strict=True) if row[0]}
        parts = {}
        for name, measure in zip(there, self.measurers([chosen[name] for name in there]), strict=True):
            utterances, spoof, missed = there[name]
            parts[name] = SpoofedPart(utterances, spoof, missed, measure)
        return parts

    def farther_than(self, distance: float) -> WholeInShards:
        """The same without the time near boundaries."""
        options = replace(self.options, rules={**self.options.rules, "collar": distance})
        return WholeInShards(self.corpus, str(self.plan.measure), options, self.point)

    def _part(self, prepared: PreparedPlan, unpaired: Problems) -> tuple[Measurement, ScoreMass]:
        # an utterance on one side only is in no group of utterances
        of_utterances = isinstance(prepared.plan.selection, ChosenUtterances)
        mass = prepared.mass_in(self.corpus, Problems() if of_utterances else unpaired)
        return self._measured(prepared, mass), mass

    def _measured(self, prepared: PreparedPlan, mass: ScoreMass) -> Measurement:
        with quietly():
            return prepared.plan.measured(
                mass,
                prepared.touched.values(),
                prepared.utterances.count,
                partial(self._sign, prepared),
                errors_at=partial(prepared.errors_at, self.corpus),
            )

    def _sign(self, prepared: PreparedPlan) -> Signature:
        """Sign a group; that takes one more pass, while the shards are there."""
        selection = prepared.plan.selection
        if not self.options.signed or selection is None:
            return prepared.sign(self.corpus, self.hashes, self.prepared.applied)
        hashed, applied = CorpusHash(rows=self.plan.counts_rows), AppliedRules(self.plan.rules)
        for references, scores in self.corpus.watched("signing"):
            with suppress(NothingToMeasureError):
                rules = self.plan.rules
                labelling, _ = label_utterances(references, scores, rules, [])
                used = [utt for utt, ns in zip(labelling.utterances, labelling.extents, strict=True) if ns]
                if isinstance(selection, SpoofedRanges):
                    rules = replace(rules, regions=selection.regions(references, rules.regions))
                elif isinstance(selection, ChosenUtterances):
                    used = [utt for utt in used if utt in selection.utterances]
                    hashed.add(
                        references.take(positions(used, references.utterances)),
                        scores.take(positions(used, scores.utterances)),
                    )
                applied.add(references, used, rules)
        digests = hashed.digests() if isinstance(selection, ChosenUtterances) else self.hashes
        return prepared.sign(self.corpus, digests, applied)


def _kinds(shard: Shard) -> frozenset[str]:
    return frozenset() if shard[0] is None else kinds_in(shard[0])


def _totals(plan: Plan, selections: Sequence[SpoofedRanges], at: OperatingPoint, shard: Shard) -> Int64:
    references, scores = shard
    if references is None:
        return np.zeros((len(selections), 3), np.int64)
    laid = None
    if scores is not None:
        with suppress(NothingToMeasureError):
            laid = plan.laid(references, scores)
    return range_totals(references, laid, selections, at)
