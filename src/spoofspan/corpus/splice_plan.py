"""Plan of the utterances, made from the survey alone, before any sound is made.

Speakers are dealt to the sets first, so none is heard in two. Then, in each set, some bona fide recordings are left as
they are, and *carriers* of both classes get some of their units replaced by units of the other class by the same
speaker: for each one the shortest that is at least as long, from last to first. An utterance has one attack, the one
that its speaker and its set have had least so far, so that attacks are even over speakers, directions and sets.

Every draw has a stream of its own, made of the seed and of what is drawn for: the number of workers and the order of
work do not matter, and an utterance depends on those before it only.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest

import numpy as np

from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.corpus.partialspoof_recipe import SEEDS_APART, SHORTEST_PAUSE, Segment, choose_segments
from spoofspan.corpus.settings import PARTIALSPOOF, SETS, SPEAKER_SHARES, Settings
from spoofspan.corpus.source_folder import Recording, attacks_of
from spoofspan.corpus.survey import Surveyed, Unit

FEWEST_UNITS = 2  # of a carrier: one is replaced, one stays
LETTERS = {"train": "T", "dev": "D", "eval": "E"}


@dataclass(frozen=True)
class Substitution:
    """Unit ``unit`` of the carrier is replaced by unit ``donor_unit`` of the recording ``donor``."""

    unit: int
    donor: str
    donor_unit: int


@dataclass(frozen=True)
class UtterancePlan:
    """One utterance; without substitutions it is the carrier as it is."""

    utterance: str
    subset: str
    speaker: str
    carrier: str
    substitutions: tuple[Substitution, ...]

    @property
    def recordings(self) -> set[str]:
        """The recordings that it is made of."""
        return {self.carrier, *(one.donor for one in self.substitutions)}


@dataclass(frozen=True)
class CorpusPlan:
    """All utterances, and the choices behind them."""

    utterances: tuple[UtterancePlan, ...]
    held_out: tuple[str, ...]


def shortest_pause(settings: Settings) -> float:
    """Shortest pause between two units, in seconds, by the recipe."""
    return SHORTEST_PAUSE if settings.recipe == PARTIALSPOOF else settings.shortest_pause


def stream(settings: Settings, *what: str | int) -> np.random.Generator:
    """The random numbers of one purpose."""
    words = "/".join(map(str, what)).encode()
    return np.random.default_rng([settings.seed, *words])


def make_plan(
    recordings: Sequence[Recording],
    survey: Mapping[str, Surveyed],
    settings: Settings,
    called: Mapping[str, str] | None = None,
) -> CorpusPlan:
    """Plan a corpus."""
    held_out = held_out_attacks(attacks_of(recordings), settings, called)
    set_of = deal_speakers(recordings, settings)
    utterances: list[UtterancePlan] = []
    for subset in SETS:
        usable = [
            one
            for one in recordings
            if set_of.get(one.speaker) == subset and (subset == "eval" or one.attack not in held_out)
        ]
        utterances += _plan_set(subset, usable, survey, settings)
    if not utterances:
        raise DataError("nothing can be built of these recordings: none has two stretches of speech with a pause")
    return CorpusPlan(tuple(utterances), held_out)


def held_out_attacks(
    attacks: Iterable[str], settings: Settings, called: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """The attacks that only evaluation sees."""
    known = sorted(attacks)
    if settings.held_out is None:
        return tuple(known[-1:]) if len(known) > 1 else ()
    return check_held_out(settings.held_out, known, called)


def check_held_out(
    names: Sequence[str], known: Sequence[str], called: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """The attacks that are held out, by the corpus's names; ``called``: the source's names by those.

    >>> check_held_out(["lpc"], ["A01", "A02"], {"A01": "griffin-lim", "A02": "lpc"})
    ('A02',)
    """
    ids = {source: attack for attack, source in (called or {}).items()} | {attack: attack for attack in known}
    for name in names:
        if name not in ids:
            raise UsageError(f"held_out={name!r}: there is no such attack, {nearest_name(name, sorted(ids))}")
    held_out = {ids[name] for name in names}
    if len(held_out) == len(known):
        raise UsageError("all attacks are held out; training needs at least one")
    return tuple(sorted(held_out))


def deal_speakers(recordings: Sequence[Recording], settings: Settings) -> dict[str, str]:
    """The set of each speaker: as a list says, or drawn."""
    stated = {one.speaker: one.subset for one in recordings if one.subset is not None}
    free = sorted({one.speaker for one in recordings} - set(stated))
    free = [free[i] for i in stream(settings, "speakers").permutation(len(free))]
    dealt = {speaker: subset for speaker, subset in stated.items() if subset is not None}
    if not free:
        return dealt
    counts = settings.speakers
    if counts is None:
        shares = [max(1, round(SPEAKER_SHARES[subset] * len(free))) for subset in SETS[1:]]
        counts = dict(zip(SETS, [max(len(free) - sum(shares), 1), *shares], strict=True))
    if sum(counts.values()) > len(free):
        wanted = ", ".join(f"{count} in {name}" for name, count in counts.items())
        raise DataError(
            f"{len(free)} speakers are not enough for {wanted}; "
            "say how many each set gets (--speakers train=2,dev=1,eval=1)"
        )
    for subset in SETS:
        for _ in range(counts.get(subset, 0)):
            dealt[free.pop()] = subset
    return dealt


def _plan_set(
    subset: str, usable: Sequence[Recording], survey: Mapping[str, Surveyed], settings: Settings
) -> list[UtterancePlan]:
    """Bona fide utterances first, then partially spoofed ones of both directions in turns."""
    units = {one.name: survey[one.name].units(shortest_pause(settings)) for one in usable}
    bona_fide = [one for one in usable if one.attack is None]
    fewest = 1 if settings.recipe == PARTIALSPOOF else FEWEST_UNITS
    carriers = [one for one in usable if len(units[one.name]) >= fewest]
    wanted = None if settings.utterances is None else settings.utterances.get(subset, 0)
    if wanted == 0:
        return []
    plain = None if wanted is None else round(wanted * settings.bonafide_share)
    partial = math.inf if wanted is None or plain is None else wanted - plain
    as_they_are = _in_turns(bona_fide, stream(settings, subset, "bona fide"))
    into_bona_fide, into_spoof = (
        _in_turns(
            [one for one in carriers if (one.attack is None) == is_bona_fide],
            stream(settings, subset, "into bona fide" if is_bona_fide else "into spoof"),
        )
        for is_bona_fide in (True, False)
    )
    plans = [
        UtterancePlan(f"BONA_{LETTERS[subset]}_{number:07d}", subset, one.speaker, one.name, ())
        for number, one in enumerate(as_they_are[:plain], 1)
    ]
    donors = Donors(usable, units)
    made = 0
    for carrier in chain.from_iterable(zip_longest(into_bona_fide, _evenly(into_spoof))):
        if made >= partial:
            break
        if carrier is None:  # there are no more of this class
            continue
        utterance = f"CON_{LETTERS[subset]}_{made + 1:07d}"
        if settings.recipe == PARTIALSPOOF:
            chosen = _segments(carrier, donors, made + SEEDS_APART * (settings.seed - 1))
        else:
            chosen = choose_substitutions(carrier, donors, settings, stream(settings, utterance)) or None
        if chosen is not None:
            plans.append(UtterancePlan(utterance, subset, carrier.speaker, carrier.name, chosen))
            made += 1
    if wanted is not None and len(plans) < wanted:
        raise DataError(
            f"the recordings give {len(plans)} utterances of the set {subset!r}, not {wanted} "
            f"({len(as_they_are)} bona fide recordings, {made} with substitutions); ask for "
            "fewer (--utterances-per-set)"
        )
    return plans


def _in_turns(recordings: Sequence[Recording], rng: np.random.Generator) -> list[Recording]:
    """Shuffle recordings so that speakers take turns, and so do the attacks of each."""
    shuffled = [recordings[i] for i in rng.permutation(len(recordings))]
    seen: Counter[tuple[str, str | None]] = Counter()
    turns = []
    for place, one in enumerate(shuffled):
        seen[one.speaker, one.attack] += 1
        turns.append((seen[one.speaker, one.attack], place))
    return [shuffled[place] for _, place in sorted(turns)]


def _evenly(recordings: Sequence[Recording]) -> Iterator[Recording]:
    """Spoofed recordings, each time of the attack that came least so far, and of its speaker who did."""
    waiting: dict[str | None, dict[str, list[Recording]]] = {}
    for one in reversed(recordings):
        waiting.setdefault(one.attack, {}).setdefault(one.speaker, []).append(one)
    taken: Counter[str | None] = Counter()
    heard: Counter[str] = Counter()
    while waiting:
        attack = min(waiting, key=lambda name: (taken[name], str(name)))
        speakers = waiting[attack]
        speaker = min(speakers, key=lambda name: (heard[name], name))
        yield speakers[speaker].pop()
        taken[attack] += 1
        heard[speaker] += 1
        if not speakers[speaker]:
            del speakers[speaker]
        if not speakers:
            del waiting[attack]


@dataclass
class Donors:
    """Donors of units, and how often each attack was given to carriers that are bona fide."""

    usable: Sequence[Recording]
    units: Mapping[str, Sequence[Unit]]
    given: Counter[str] = field(default_factory=Counter)
    given_to: Counter[tuple[str, str]] = field(default_factory=Counter)  # by speaker and attack
    _by_speaker: dict[str, dict[str | None, list[Recording]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for one in self.usable:
            self._by_speaker.setdefault(one.speaker, {}).setdefault(one.attack, []).append(one)

    def pools(self, carrier: Recording, rng: np.random.Generator | None = None) -> list[list[Recording]]:
        """Recordings of the other class by the same speaker, one list for each attack, the one to prefer first."""
        own = self._by_speaker[carrier.speaker]
        if carrier.attack is not None:
            return [own[None]] if None in own else []
        attacks = sorted(attack for attack in own if attack is not None)
        drawn = list(range(len(attacks))) if rng is None else rng.permutation(len(attacks)).tolist()
        preferred = sorted(
            range(len(attacks)),
            key=lambda i: (self.given_to[carrier.speaker, attacks[i]], self.given[attacks[i]], drawn[i]),
        )
        return [own[attacks[i]] for i in preferred]

    def count(self, carrier: Recording, donor: Recording) -> None:
        """Remember which attack a bona fide carrier was given."""
        if carrier.attack is None and donor.attack is not None:
            self.given[donor.attack] += 1
            self.given_to[carrier.speaker, donor.attack] += 1


def _segments(carrier: Recording, donors: Donors, number: int) -> tuple[Substitution, ...] | None:
    """Choose segments by the recipe of PartialSpoof, out of all of the speaker's; None where there is none."""
    pool = [
        Segment(one.name, place, unit.length)
        for one in sorted(chain.from_iterable(donors.pools(carrier)), key=lambda one: one.name)
        for place, unit in enumerate(donors.units[one.name])
    ]
    least = 1 if carrier.attack is None else 0
    chosen = choose_segments(donors.units[carrier.name], pool, at_least=least, number=number)
    return None if chosen is None else tuple(Substitution(place, one.recording, one.number) for place, one in chosen)


def choose_substitutions(
    carrier: Recording, donors: Donors, settings: Settings, rng: np.random.Generator
) -> tuple[Substitution, ...]:
    """Choose units of the carrier and what takes their place; those without a fitting candidate stay."""
    own = donors.units[carrier.name]
    count = int(rng.integers(1, len(own)))
    chosen = sorted(rng.permutation(len(own))[:count].tolist(), reverse=True)
    for pool in donors.pools(carrier, rng):
        few = [pool[i] for i in rng.permutation(len(pool))[: settings.donors]]
        used: set[tuple[str, int]] = set()
        found = []
        for number in chosen:
            best = _shortest(own[number], few, donors.units, used) or _shortest(own[number], pool, donors.units, used)
            if best is not None:
                used.add(best)
                found.append(Substitution(number, *best))
        if found:
            donors.count(carrier, pool[0])
            return tuple(found[::-1])
    return ()


def _shortest(
    replaced: Unit, donors: Sequence[Recording], units: Mapping[str, Sequence[Unit]], used: set[tuple[str, int]]
) -> tuple[str, int] | None:
    """The shortest unit that is at least as long as the one replaced, and can be joined where that one is.

    Returns its recording and its number there.
    """
    best, length = None, math.inf
    for donor in donors:
        for number, unit in enumerate(units[donor.name]):
            joins = (not replaced.room_in or unit.room_in) and (not replaced.room_out or unit.room_out)
            if replaced.length <= unit.length < length and joins and (donor.name, number) not in used:
                best, length = (donor.name, number), unit.length
    return best
