"""Selections of a part of a corpus: some utterances, or some spoofed ranges with all bona fide time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np

from spoofspan.base.columns import Flags, first_rows, positions, sum_by_utterance, utterance_of_rows
from spoofspan.base.errors import NothingToMeasureError, UsageError
from spoofspan.base.times import Int64, duration_ns
from spoofspan.data.references import SPOOF, References
from spoofspan.data.rules import Rules
from spoofspan.data.scores import Scores
from spoofspan.mass.labelling import CutLabelling, cut_at
from spoofspan.mass.ranges import Overlay, time_by_stretch
from spoofspan.measures.events.event_scores import extents_of
from spoofspan.measures.events.spoof_ranges import ranges_without, spoof_ranges
from spoofspan.measures.operating_point import OperatingPoint, called_spoof

NO_ATTACK = "(no attack)"
NO_ATTACKS = (
    "these references name no attacks; give RTTM with attack names, a table with the column 'attack', or the attack of "
    "every utterance: a column 'attack' of --metadata (by={'attack': {utterance: attack}})"
)
NAMED_ALREADY = (
    "by={'attack': ...}: the references name the attacks of their ranges, which by='attack' measures; give a column of "
    "other groups another name"
)
PERCENT = (10, 25, 50, 75)
SHARES = ("0 to 10 %", "10 to 25 %", "25 to 50 %", "50 to 75 %", "75 to 100 %", "all")  # sorted as text, too
FOREVER = 1e8  # seconds; no utterance is as long


class Selection(ABC):
    """A part of a corpus."""

    @abstractmethod
    def of(self, references: References, laid: Overlay) -> Overlay:
        """The selected part of a corpus, or of one shard."""

    def hashed(self, references: References, scores: Scores, used: Sequence[str]) -> tuple[References, Scores]:
        """The part of a corpus (or of a shard) that a signature hashes, given the utterances measured."""
        return references, scores

    def signed_rules(self, rules: Rules, references: References) -> Rules:
        """The rules that a signature states."""
        return rules


@dataclass(frozen=True)
class ChosenUtterances(Selection):
    """Some of the utterances."""

    utterances: frozenset[str]

    def of(self, references: References, laid: Overlay) -> Overlay:
        """The overlay of these utterances."""
        chosen = [i for i, utt in enumerate(laid.labelling.utterances) if utt in self.utterances]
        if not chosen:
            raise NothingToMeasureError("none of the chosen utterances is here", ())
        return laid.take(np.array(chosen, np.int64))

    def hashed(self, references: References, scores: Scores, used: Sequence[str]) -> tuple[References, Scores]:
        """Both sides of these utterances."""
        chosen = positions(used, references.utterances), positions(used, scores.utterances)
        return references.take(chosen[0]), scores.take(chosen[1])


class SpoofedRanges(Selection):
    """Some of the spoofed ranges, with all bona fide time; the other spoofed ranges are ignored."""

    @abstractmethod
    def among(self, references: References) -> Flags:
        """Flags of the ranges, of any class, that match."""

    def kept(self, references: References) -> Flags:
        """Ranges that are selected."""
        flags: Flags = self.among(references) & (references.labels == SPOOF)
        return flags

    def extent(self, references: References) -> tuple[int, int]:
        """Number of utterances with selected ranges, and the duration of these ranges (ns)."""
        kept = self.kept(references)
        if not kept.any():
            return 0, 0
        utterances = np.count_nonzero(np.add.reduceat(kept, first_rows(references.offsets)) > 0)
        return int(utterances), int(references.range_durations[kept].sum())

    def dropped(self, references: References) -> Flags:
        """Spoofed ranges that are left out."""
        flags: Flags = ~self.among(references) & (references.labels == SPOOF)
        return flags

    def signed_rules(self, rules: Rules, references: References) -> Rules:
        """The rules with regions that leave out the other spoofed ranges."""
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
class RangesOfAttack(SpoofedRanges):
    """Spoofed ranges of one attack."""

    name: str

    def among(self, references: References) -> Flags:
        """Flags of the ranges of this attack; attack codes differ from shard to shard."""
        names = (*references.attack_names, NO_ATTACK)
        codes = np.full(references.starts.size, -1) if references.attacks is None else references.attacks
        wanted = names.index(self.name) if self.name in names else len(names)
        flags: Flags = codes == (-1 if self.name == NO_ATTACK else wanted)
        return flags


@dataclass(frozen=True)
class RangesOfUtterances(SpoofedRanges):
    """Spoofed ranges of some utterances."""

    utterances: frozenset[str]

    def among(self, references: References) -> Flags:
        """Flags of the ranges in these utterances."""
        chosen = np.array([one in self.utterances for one in references.utterances], bool)
        flags: Flags = chosen[utterance_of_rows(references.offsets)]
        return flags


@dataclass(frozen=True)
class RangesOfLength(SpoofedRanges):
    """Spoofed ranges of at least ``low`` and less than ``high`` ns."""

    low: int
    high: int

    def among(self, references: References) -> Flags:
        """Flags of the ranges of such a length."""
        lengths = references.range_durations
        flags: Flags = (lengths >= self.low) & (lengths < self.high)
        return flags


def ranges_by_attack(attacks: frozenset[str]) -> dict[str, SpoofedRanges]:
    """The spoofed ranges of each attack by its name; ranges without an attack come last."""
    if not attacks:
        raise UsageError(NO_ATTACKS)
    names = [*sorted(attacks - {NO_ATTACK}), *sorted(attacks & {NO_ATTACK})]
    return {name: RangesOfAttack(name) for name in names}


def ranges_by_value(column: Mapping[str, str]) -> dict[str, SpoofedRanges]:
    """The spoofed ranges by the value that a column gives to their utterances."""
    found: dict[str, set[str]] = {}
    for utterance, value in column.items():
        found.setdefault(value, set()).add(utterance)
    return {value: RangesOfUtterances(frozenset(found[value])) for value in sorted(found)}


def ranges_by_length(edges: Sequence[float]) -> dict[str, SpoofedRanges]:
    """The spoofed ranges by length; ``edges`` (seconds) separate the groups."""
    return {name: RangesOfLength(*ends) for name, ends in bins(edges).items()}


def bins(edges: Sequence[float]) -> dict[str, tuple[int, int]]:
    """Limits (ns) of each bin between edges (seconds), by name.

    >>> list(bins([0.1, 0.2]))
    ['under 0.1 s', '0.1 to 0.2 s', '0.2 s and more']
    """
    bounds = [0, *(duration_ns(edge, "edge") for edge in edges), np.iinfo(np.int64).max]
    found: dict[str, tuple[int, int]] = {}
    for low, high in pairwise(bounds):
        name = f"under {high / 1e9:g} s" if not low else f"{low / 1e9:g} s and more" if high == bounds[-1] else ""
        found[name or f"{low / 1e9:g} to {high / 1e9:g} s"] = low, int(high)
    return found


@dataclass(frozen=True)
class RangesOfShare(SpoofedRanges):
    """Spoofed ranges of the utterances with one share of spoofed time."""

    name: str

    def among(self, references: References) -> Flags:
        """Flags of the ranges in such utterances."""
        chosen = spoofed_share_codes(references) == SHARES.index(self.name)
        flags: Flags = chosen[utterance_of_rows(references.offsets)]
        return flags


def ranges_by_share() -> dict[str, SpoofedRanges]:
    """The spoofed ranges by the share of their utterance that is spoofed."""
    return {name: RangesOfShare(name) for name in SHARES}


def spoofed_share_codes(references: References) -> Int64:
    """Index into ``SHARES`` of the spoofed share of each utterance; -1 if nothing is spoofed."""
    extents = extents_of(references)
    if extents is None:
        raise UsageError("a share of spoofed time needs durations, and these references list spoof alone; give them")
    ranges = spoof_ranges(references, unite=True)
    spoofed = sum_by_utterance(ranges.ends - ranges.starts, ranges.offsets)
    codes: Int64 = np.count_nonzero(100 * spoofed[:, None] >= np.array(PERCENT) * extents[:, None], axis=1)
    codes[spoofed >= extents - 2 * references.snap] = SHARES.index("all")  # both ends may be rounded
    codes[spoofed == 0] = -1
    return codes


def spoofed_shares(references: References) -> dict[str, str]:
    """The share of each utterance that is spoofed, as a column for breakdowns.

    >>> ranges = {"a": [], "b": [(0.8, 1.0, "spoof")], "c": [(0.0, 1.0, "spoof")]}
    >>> spoofed_shares(References.from_ranges(ranges, {"a": 1.0, "b": 1.0, "c": 1.0}))
    {'a': '-', 'b': '10 to 25 %', 'c': 'all'}
    """
    names = (*SHARES, "-")
    return dict(zip(references.utterances, (names[code] for code in spoofed_share_codes(references)), strict=True))


def attacks_in(references: References) -> frozenset[str]:
    """The attacks of the spoofed ranges, with ``NO_ATTACK`` if some have none; empty if no attacks are known."""
    if references.attacks is None:
        return frozenset()
    some = bool(((references.attacks < 0) & (references.labels == SPOOF)).any())
    return frozenset(references.attack_names) | (frozenset([NO_ATTACK]) if some else frozenset())


_CUTS: WeakKeyDictionary[Overlay, SpoofCut] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class SpoofCut:
    """An overlay cut at the edges of the spoofed ranges, from which groups of ranges are taken."""

    rows: Int64  # the spoofed ranges of the references that have time in the overlay
    cut: CutLabelling

    @classmethod
    def of(cls, references: References, laid: Overlay) -> SpoofCut:
        """The cut of an overlay of these references, made once."""
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
        return cls(rows, cut_at(laid.labelling, utterance[rows], starts[rows], ends[rows]))

    def group(self, selection: SpoofedRanges, references: References, laid: Overlay) -> Overlay:
        """The overlay without the time of the other spoofed ranges."""
        others = self.cut.covered(selection.dropped(references)[self.rows])
        return replace(laid, labelling=self.cut.cells.without(others))

    def missed(
        self, selections: Sequence[SpoofedRanges], references: References, laid: Overlay, at: OperatingPoint
    ) -> list[int]:
        """The spoofed time of each group that is called bona fide (ns), in one pass for all of them."""
        cells, uncovered, pieces = self.cut.cells, laid.rules.uncovered, []
        for first, last in laid.part()[0].spans():
            here, runs = cells.block(first, last), laid.runs.block(first, last)
            called = called_spoof(runs.values, at.threshold, laid.runs.higher) | at.everything
            if uncovered == "bonafide":
                pieces.append(here.ends - here.starts - time_by_stretch(here, runs, called))
            else:
                pieces.append(time_by_stretch(here, runs, ~called))
        missed = np.concatenate(pieces) * (cells.labels == SPOOF)
        others = (self.cut.covered(one.dropped(references)[self.rows]) for one in selections)
        return [int(missed[~covered].sum()) for covered in others]
