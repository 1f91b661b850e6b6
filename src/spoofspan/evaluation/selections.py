"""Selections: a part of a corpus as it is cut out of what was laid over each other, whole or shard by shard."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np

from spoofspan.base.columns import Flags, first_rows, positions, utterance_of_rows
from spoofspan.base.errors import NothingToMeasureError, UsageError
from spoofspan.base.times import Int64, duration_ns
from spoofspan.data.references import SPOOF, References
from spoofspan.data.rules import Rules
from spoofspan.data.scores import Scores
from spoofspan.mass.labelling import CutLabelling, cut_at
from spoofspan.mass.ranges import HeldBlocks, Overlay, RangePart, ScoredStretches
from spoofspan.mass.score_mass import MassBlock
from spoofspan.measures.events.spoof_ranges import ranges_without

NO_KIND = "(no kind)"
FOREVER = 1e8  # seconds; no utterance is as long


class Selection(ABC):
    """A part of a corpus."""

    @abstractmethod
    def of(self, references: References, laid: Overlay) -> Overlay:
        """Cut it out of a corpus, or of a shard of one."""

    def hashed(self, references: References, scores: Scores, used: Sequence[str]) -> tuple[References, Scores]:
        """What a signature hashes of a corpus, or of a shard of one, given the utterances that are measured."""
        return references, scores

    def signed_rules(self, rules: Rules, references: References) -> Rules:
        """The rules that a signature states."""
        return rules


@dataclass(frozen=True)
class ChosenUtterances(Selection):
    """Some of the utterances."""

    utterances: frozenset[str]

    def of(self, references: References, laid: Overlay) -> Overlay:
        """Keep them."""
        chosen = [i for i, utt in enumerate(laid.labelling.utterances) if utt in self.utterances]
        if not chosen:
            raise NothingToMeasureError("none of the chosen utterances is here", ())
        return laid.take(np.array(chosen, np.int64))

    def hashed(self, references: References, scores: Scores, used: Sequence[str]) -> tuple[References, Scores]:
        """Both sides of them."""
        chosen = positions(used, references.utterances), positions(used, scores.utterances)
        return references.take(chosen[0]), scores.take(chosen[1])


class SpoofedRanges(Selection):
    """Some of the spoofed ranges, against all bona fide time; the other spoofed ranges are left out of account."""

    @abstractmethod
    def among(self, references: References) -> Flags:
        """Which ranges, of any class, are of this sort."""

    def kept(self, references: References) -> Flags:
        """Which ranges are selected."""
        flags: Flags = self.among(references) & (references.labels == SPOOF)
        return flags

    def extent(self, references: References) -> tuple[int, int]:
        """How many utterances have selected ranges, and how long these are (ns)."""
        kept = self.kept(references)
        if not kept.any():
            return 0, 0
        utterances = np.count_nonzero(np.add.reduceat(kept, first_rows(references.offsets)) > 0)
        return int(utterances), int(references.range_durations[kept].sum())

    def dropped(self, references: References) -> Flags:
        """Which spoofed ranges are left out."""
        flags: Flags = ~self.among(references) & (references.labels == SPOOF)
        return flags

    def signed_rules(self, rules: Rules, references: References) -> Rules:
        """The rules with all time, or that of given regions, without the other spoofed ranges."""
        dropped, found = self.dropped(references), {}
        for i, utterance in enumerate(references.utterances):
            rows = range(int(references.offsets[i]), int(references.offsets[i + 1]))
            others = [(references.starts[row] / 1e9, references.ends[row] / 1e9) for row in rows if dropped[row]]
            kept = [(0.0, FOREVER)] if rules.regions is None else sorted(rules.regions.get(utterance, ()))
            found[utterance] = list(ranges_without(kept, sorted(others)))
        return replace(rules, regions=found)

    def of(self, references: References, laid: Overlay) -> Overlay:
        """Ignore the time of the other spoofed ranges."""
        return SpoofCut.of(references, laid).group(self, references, laid)


@dataclass(frozen=True)
class RangesOfKind(SpoofedRanges):
    """Spoofed ranges of one kind."""

    name: str

    def among(self, references: References) -> Flags:
        """Which ranges have this kind; kinds are numbered anew in every shard."""
        names = (*references.kind_names, NO_KIND)
        codes = np.full(references.starts.size, -1) if references.kinds is None else references.kinds
        wanted = names.index(self.name) if self.name in names else len(names)
        flags: Flags = codes == (-1 if self.name == NO_KIND else wanted)
        return flags


@dataclass(frozen=True)
class RangesOfLength(SpoofedRanges):
    """Spoofed ranges that last at least ``low`` and less than ``high`` (ns)."""

    low: int
    high: int

    def among(self, references: References) -> Flags:
        """Which ranges are as long."""
        lengths = references.range_durations
        flags: Flags = (lengths >= self.low) & (lengths < self.high)
        return flags


def ranges_by_kind(kinds: frozenset[str]) -> dict[str, SpoofedRanges]:
    """The spoofed ranges of each kind, by its name; those of no kind come last."""
    if not kinds:
        raise UsageError("these references have no kinds; give RTTM with attack names, or a column 'kind'")
    names = [*sorted(kinds - {NO_KIND}), *sorted(kinds & {NO_KIND})]
    return {name: RangesOfKind(name) for name in names}


def ranges_by_length(edges: Sequence[float]) -> dict[str, SpoofedRanges]:
    """The spoofed ranges between two lengths (seconds), by name."""
    bounds = [0, *(duration_ns(edge, "edge") for edge in edges), np.iinfo(np.int64).max]
    chosen: dict[str, SpoofedRanges] = {}
    for low, high in pairwise(bounds):
        name = f"under {high / 1e9:g} s" if not low else f"{low / 1e9:g} s and more" if high == bounds[-1] else ""
        chosen[name or f"{low / 1e9:g} to {high / 1e9:g} s"] = RangesOfLength(low, int(high))
    return chosen


def kinds_in(references: References) -> frozenset[str]:
    """The kinds of the spoofed ranges, and that some have none; nothing where no kinds are known."""
    if references.kinds is None:
        return frozenset()
    some = bool(((references.kinds < 0) & (references.labels == SPOOF)).any())
    return frozenset(references.kind_names) | (frozenset([NO_KIND]) if some else frozenset())


_CUTS: WeakKeyDictionary[Overlay, SpoofCut] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class SpoofCut:
    """An overlay that is cut at the edges of the spoofed ranges, so that groups of these can be taken from it.

    All groups share the time under no spoofed range. It is laid once, and each group adds the time under its own.
    """

    rows: Int64  # the spoofed ranges of the references that have time in the overlay
    cut: CutLabelling
    part: RangePart  # of the time under no spoofed range
    shared: HeldBlocks  # the same
    stretches: ScoredStretches  # the time under spoofed ranges
    groups: dict[SpoofedRanges, Overlay] = field(default_factory=dict)  # those that were asked for

    @classmethod
    def of(cls, references: References, laid: Overlay) -> SpoofCut:
        """Cut an overlay of these references, once."""
        if laid not in _CUTS:
            _CUTS[laid] = cls._made(references, laid)
        return _CUTS[laid]

    @classmethod
    def _made(cls, references: References, laid: Overlay) -> SpoofCut:
        utterance = positions(references.utterances, laid.labelling.utterances)[utterance_of_rows(references.offsets)]
        # a range may end a little after its utterance, where the rules let it
        extents = laid.labelling.extents[utterance]
        starts, ends = (np.minimum(times, extents) for times in (references.starts, references.ends))
        rows = np.flatnonzero((references.labels == SPOOF) & (utterance >= 0) & (ends > starts))
        cut = cut_at(laid.labelling, utterance[rows], starts[rows], ends[rows])
        part, _ = replace(laid, labelling=cut.cells.without(cut.covered())).part()
        covered = np.flatnonzero(cut.covered() & (cut.cells.labels <= SPOOF))
        stretches = ScoredStretches.of(cut.cells, laid.runs, covered)
        return cls(rows, cut, part, HeldBlocks(part.blocks()), stretches)

    def group(self, selection: SpoofedRanges, references: References, laid: Overlay) -> Overlay:
        """All time but that of the other spoofed ranges; its pieces are what all groups share, and its own."""
        if selection in self.groups:
            return self.groups[selection]
        others = self.cut.covered(selection.dropped(references)[self.rows])
        group = replace(laid, labelling=self.cut.cells.without(others))
        part, _ = group.part()
        undecided = MassBlock(
            laid.runs.values[:0],
            part.labelling.labels[:0],
            0,
            undecided_bona_fide=int((part.undecided_bona_fide - self.part.undecided_bona_fide).sum()),
            undecided_spoof=int((part.undecided_spoof - self.part.undecided_spoof).sum()),
        )
        own = HeldBlocks((*self.stretches.blocks(others), undecided))
        self.groups[selection] = replace(group, pieces=(self.shared, own))
        return self.groups[selection]
