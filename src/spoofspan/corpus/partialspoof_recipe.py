"""The recipe of the PartialSpoof authors: what their published scripts do where our own recipe does otherwise.

``docs/corpus.md`` has a table of the differences. Segments are the runs of speech of the voice activity, however short
the pauses between them (30 ms or more). A segment is replaced together with half of the pauses beside it, from the last
to the first. At both ends, half pauses overlap, and overlapping samples are averaged::

    carrier  ~~~~~~~~|                               |~~~~~~~~
                middle of the pause             middle of the pause
    donor         |~~~~~###############~~~~~~|
                  |ov|  segment            |ov|

The overlap reaches at most over the shorter half pause; the lag of greatest plain cross-correlation (not normalised)
decides. Where one side has no pause, the two are set side by side. Where two neighbouring segments are both replaced,
the first one's overlap is half of what the second left of the pause between them.

Random numbers are those of Python's ``random``, seeded by the running number of the utterance, as in the scripts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np

from spoofspan.base.times import Float64
from spoofspan.corpus.provenance import BONA_FIDE, Joint, Origin, Provenance
from spoofspan.corpus.survey import Unit

SHORTEST_PAUSE = 0.03
SEEDS_APART = 10_000_000  # seed 1 is that of the scripts
MIXED = 1000  # class of non-speech; 1000 + a class is non-speech of that class


@dataclass(frozen=True)
class Segment:
    """A segment that may be inserted: speech of a recording, by its number there."""

    recording: str
    number: int
    length: int


def choose_segments(
    own: Sequence[Unit], pool: Sequence[Segment], *, at_least: int, number: int
) -> list[tuple[int, Segment]] | None:
    """Segments of a carrier that are replaced, in order, and by which; None where there is nothing to choose from.

    From ``at_least`` to all of them are replaced. Each is replaced by one of the unused segments of the shortest length
    that is not shorter, or else by one of the longest.
    """
    most = min(len(own), len(pool))
    if not most:
        return None
    count = _random(number).randint(at_least, most)
    places = sorted(_random(number).sample(range(len(own)), count), reverse=True)
    free = dict(enumerate(pool))
    chosen = []
    for place in places:
        lengths = {one.length for one in free.values()}
        length = min((one for one in lengths if one >= own[place].length), default=max(lengths))
        group = [index for index, one in free.items() if one.length == length]
        chosen.append((place, free.pop(_random(abs(number - len(group))).sample(group, 1)[0])))
    return chosen[::-1]


def _random(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - the generator of the scripts


def best_overlap(ending: Float64, beginning: Float64) -> int:
    """Samples by which two half pauses overlap: the lag of greatest cross-correlation; 1 or more.

    >>> best_overlap(np.array([0.0, 0.0, 1.0, -1.0]), np.array([1.0, -1.0, 0.0]))
    2
    """
    earliest = max(ending.size - beginning.size, 0)
    padded = np.append(ending[earliest:], np.zeros(beginning.size - 1))
    return ending.size - earliest - int(np.argmax(np.correlate(padded, beginning, "valid")))


@dataclass(frozen=True)
class Replacement:
    """A unit of the carrier by its number, and what takes its place."""

    number: int
    recording: str
    attack: str | None
    gain: float
    sound: Float64
    donated: Unit


@dataclass(frozen=True)
class _Stretch:
    """Samples ``start`` to ``end`` of a recording, which overlap with the stretch before."""

    recording: str
    attack: str | None
    gain: float
    sound: Float64
    start: int
    end: int
    overlap: int


def replace_units(
    carrier: Replacement, units: Sequence[Unit], replacements: Sequence[Replacement]
) -> tuple[Float64, tuple[Origin, ...], tuple[Joint, ...]]:
    """Replace units of a carrier, given in order: the sound, where each stretch comes from, and the joints."""
    found: list[_Stretch] = []  # from last to first
    end = reach = carrier.sound.size  # of the carrier; what is replaced already begins at ``reach``
    replaced_after = len(units)

    def add(one: Replacement, start: int, stop: int, overlap: int) -> None:
        if stop > start:
            found.append(_Stretch(one.recording, one.attack, one.gain, one.sound, start, stop, overlap))

    for one in reversed(replacements):
        unit, donated = units[one.number], one.donated
        room, cut_out = unit.room_out, unit.cut_out
        if replaced_after == one.number + 1 < len(units):
            room = (reach - unit.end) // 2
            cut_out = unit.end + room
        pause = one.sound[donated.cut_out - donated.room_out : donated.cut_out]
        overlap = best_overlap(pause, carrier.sound[cut_out : cut_out + room]) if pause.size and room else 0
        add(carrier, cut_out, end, overlap)
        pause = one.sound[donated.cut_in : donated.cut_in + donated.room_in]
        own = carrier.sound[unit.cut_in - unit.room_in : unit.cut_in + 1]  # one sample more, as in the scripts
        overlap = best_overlap(own, pause) - 1 if pause.size and unit.room_in else 0
        add(one, donated.cut_in, donated.cut_out, overlap)
        end, reach, replaced_after = unit.cut_in, unit.cut_in - overlap, one.number
    add(carrier, 0, end, 0)
    return _averaged(found[::-1])


def _averaged(stretches: Sequence[_Stretch]) -> tuple[Float64, tuple[Origin, ...], tuple[Joint, ...]]:
    """Stretches one after the other; where two overlap, their mean."""
    sound = np.zeros(sum(one.end - one.start - one.overlap for one in stretches))
    origins: list[Origin] = []
    joints: list[Joint] = []
    reached = 0
    for one in stretches:
        start = reached - one.overlap
        if origins:
            joints.append(Joint(start, reached, one.overlap, _correlation(sound[start:reached], one)))
        reached = start + one.end - one.start
        sound[start:reached] += one.sound[one.start : one.end]
        sound[start : start + one.overlap] /= 2
        origins.append(Origin(start, reached, one.recording, one.start, one.gain, one.attack))
    return sound, tuple(origins), tuple(joints)


def _correlation(before: Float64, one: _Stretch) -> float:
    own = one.sound[one.start : one.start + one.overlap]
    norm = float(np.sqrt((before**2).sum() * (own**2).sum()))
    return float((before * own).sum()) / norm if norm else 0.0


# ---------------------------------------------------------------- the labels of October 2022


def class_numbers(attacks: Iterable[str]) -> dict[str, int]:
    """The numbers of the classes of speech, as the scripts count them.

    >>> class_numbers(["A02", "A01"])
    {'bonafide': 1, 'A01': 2, 'A02': 3}
    """
    return {name: number for number, name in enumerate((BONA_FIDE, *sorted(attacks)), 1)}


def second_generation(one: Provenance, numbers: Mapping[str, int]) -> list[tuple[int, int, int]]:
    """Ranges of samples with the class of their speech; non-speech has 1000 + its class, and 1000 where two mix."""
    classes = np.zeros(one.samples, np.int64)
    for origin in one.origins:
        classes[origin.start : origin.end] = numbers[origin.attack or BONA_FIDE]
    is_speech = np.zeros(one.samples, np.bool_)
    for start, end in one.speech:
        is_speech[start:end] = True
    for joint in one.joints:  # in pauses
        classes[joint.start : joint.end] = 0
    classes[~is_speech] += MIXED
    edges = [0, *(np.flatnonzero(np.diff(classes)) + 1).tolist(), one.samples]
    return [(start, end, int(classes[start])) for start, end in pairwise(edges)]
