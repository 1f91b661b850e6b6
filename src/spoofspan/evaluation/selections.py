"""Selections: a part of a corpus as it is cut out of what was laid over each other, whole or shard by shard."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from spoofspan.base.columns import Flags, first_rows, positions, utterance_of_rows
from spoofspan.base.errors import NothingToMeasureError
from spoofspan.base.times import Int64
from spoofspan.data.references import SPOOF, References
from spoofspan.data.rules import Regions
from spoofspan.mass.labelling import IGNORED, cut_at
from spoofspan.mass.ranges import Overlay
from spoofspan.measures.events.spoof_ranges import ranges_without
from spoofspan.measures.operating_point import OperatingPoint, count_again

NO_KIND = "(no kind)"
FOREVER = 1e8  # seconds; no utterance is as long


class Selection(ABC):
    """A part of a corpus."""

    @abstractmethod
    def of(self, references: References, laid: Overlay) -> Overlay:
        """Cut it out of a corpus, or of a shard of one."""


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

    def regions(self, references: References, given: Regions | None) -> Regions:
        """All time, or that of given regions, without the other spoofed ranges: what a signature names."""
        dropped, found = self.dropped(references), {}
        for i, utterance in enumerate(references.utterances):
            rows = range(int(references.offsets[i]), int(references.offsets[i + 1]))
            others = [(references.starts[row] / 1e9, references.ends[row] / 1e9) for row in rows if dropped[row]]
            kept = [(0.0, FOREVER)] if given is None else sorted(given.get(utterance, ()))
            found[utterance] = list(ranges_without(kept, sorted(others)))
        return found

    def of(self, references: References, laid: Overlay) -> Overlay:
        """Ignore the time of the other spoofed ranges."""
        return next(cut_out(references, laid, [self]))


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


def kinds_in(references: References) -> frozenset[str]:
    """The kinds of the spoofed ranges, and that some have none; nothing where no kinds are known."""
    if references.kinds is None:
        return frozenset()
    some = bool(((references.kinds < 0) & (references.labels == SPOOF)).any())
    return frozenset(references.kind_names) | (frozenset([NO_KIND]) if some else frozenset())


def range_totals(
    references: References, laid: Overlay | None, selections: Sequence[SpoofedRanges], at: OperatingPoint
) -> Int64:
    """A row for each selection: how many utterances have such ranges, how long these are (ns), and what is missed.

    Nothing is missed where nothing was laid over.
    """
    missed = [0] * len(selections)
    if laid is not None:
        missed = [missed_spoof(part, at) for part in cut_out(references, laid, selections)]
    rows = [(*one.extent(references), amount) for one, amount in zip(selections, missed, strict=True)]
    return np.array(rows, np.int64).reshape(-1, 3)


def missed_spoof(laid: Overlay, at: OperatingPoint) -> int:
    """How much spoofed time (ns) is called bona fide at an operating point of another overlay."""
    return count_again(laid.mass()[0], at).false_negative


def cut_out(references: References, laid: Overlay, selections: Sequence[SpoofedRanges]) -> Iterator[Overlay]:
    """Cut selections out of an overlay: each ignores the time of the other spoofed ranges."""
    utterance = positions(references.utterances, laid.labelling.utterances)[utterance_of_rows(references.offsets)]
    # a range may end a little after its utterance, where the rules let it
    extents = laid.labelling.extents[utterance]
    starts, ends = (np.minimum(times, extents) for times in (references.starts, references.ends))
    rows = np.flatnonzero((references.labels == SPOOF) & (utterance >= 0) & (ends > starts))
    cut = cut_at(laid.labelling, utterance[rows], starts[rows], ends[rows])
    for one in selections:
        ignored = cut.covered(one.dropped(references)[rows])
        labels = np.where(ignored, np.int8(IGNORED), cut.cells.labels)
        yield replace(laid, labelling=replace(cut.cells, labels=labels))
