"""Sentences of no language: words of syllables with pauses between them, as tracks of one row per frame of 5 ms.

A phone is one or more sections; a section has targets for the formants and for the three sources of sound (voice,
breath, friction). Targets are steps in time, rounded off by how fast each part of a mouth moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spoofspan.base.times import Float64
from spoofspan.corpus.frames import RATE, STEP, smoothed

FRAMES_PER_SECOND = RATE // STEP


@dataclass(frozen=True)
class SpeechSection:
    """A part of a phone."""

    shortest: float  # seconds
    longest: float
    formants: tuple[float, float, float] | None  # Hz, of a tract of 17.5 cm; None: those of the neighbours
    voice: float = 0.0  # how loud each source is
    breath: float = 0.0
    friction: float = 0.0
    centre: float = 4000.0  # Hz, of the friction
    width: float = 1500.0
    nasal: float = 0.0


def _vowel(*formants: float) -> tuple[SpeechSection, ...]:
    first, second, third = formants
    return (SpeechSection(0.07, 0.16, (first, second, third), voice=1.0, breath=1.0),)


def _fricative(centre: float, width: float, loud: float, voice: float = 0.0) -> tuple[SpeechSection, ...]:
    locus = (350.0, 1700.0, 2600.0)
    return (SpeechSection(0.06, 0.12, locus, voice=voice, breath=voice, friction=loud, centre=centre, width=width),)


def _plosive(locus: float, centre: float, voiced: bool) -> tuple[SpeechSection, ...]:
    formants = (250.0, locus, 2500.0)
    closed = SpeechSection(0.04, 0.06, formants, voice=0.12 if voiced else 0.0)
    burst = SpeechSection(0.008, 0.016, formants, friction=0.5, centre=centre, width=1200.0)
    if voiced:
        return closed, burst
    return closed, burst, SpeechSection(0.015, 0.045, None, breath=4.0)


def _sonorant(*formants: float, nasal: float = 0.0, voice: float = 0.55) -> tuple[SpeechSection, ...]:
    first, second, third = formants
    return (SpeechSection(0.045, 0.08, (first, second, third), voice=voice, breath=0.7, nasal=nasal),)


VOWELS = {
    "i": _vowel(290, 2250, 2950),
    "e": _vowel(410, 2050, 2650),
    "E": _vowel(560, 1800, 2500),
    "a": _vowel(760, 1320, 2500),
    "A": _vowel(660, 1080, 2450),
    "o": _vowel(480, 880, 2400),
    "u": _vowel(320, 820, 2300),
    "y": _vowel(300, 1750, 2250),
    "@": _vowel(500, 1450, 2450),
}
CONSONANTS = {
    "s": _fricative(6000, 1300, 0.28),
    "S": _fricative(3300, 1100, 0.28),
    "f": _fricative(5000, 4000, 0.10),
    "z": _fricative(6000, 1300, 0.12, voice=0.3),
    "v": _fricative(4500, 3500, 0.05, voice=0.4),
    "h": (SpeechSection(0.04, 0.08, None, breath=5.0),),
    "p": _plosive(900, 1200, voiced=False),
    "t": _plosive(1750, 4200, voiced=False),
    "k": _plosive(2000, 2200, voiced=False),
    "b": _plosive(900, 1000, voiced=True),
    "d": _plosive(1750, 3800, voiced=True),
    "g": _plosive(2000, 2000, voiced=True),
    "m": _sonorant(260, 1100, 2200, nasal=1.0),
    "n": _sonorant(270, 1600, 2500, nasal=1.0),
    "l": _sonorant(350, 1100, 2700),
    "r": _sonorant(380, 1200, 1650),
    "w": _sonorant(300, 750, 2300),
    "j": _sonorant(280, 2200, 2900),
}
PAUSE = SpeechSection(0.0, 0.0, None)
# how many frames a change takes
FORMANTS_MOVE, VOICE_MOVES, FRICTION_MOVES = 9, 5, 3


@dataclass(frozen=True)
class Tracks:
    """Articulation in each frame."""

    formants: Float64  # frames x 3
    voice: Float64
    breath: Float64
    friction: Float64
    centre: Float64
    width: Float64
    nasal: Float64
    semitones: Float64  # the melody, around the voice's own pitch
    inhaling: Float64  # breath of the pauses


def say_something(rng: np.random.Generator, rate: float, liveliness: float) -> Tracks:
    """Make up a sentence of four to seven words, at ``rate`` times the usual speed."""
    words = int(rng.integers(4, 8))
    sections: list[tuple[SpeechSection, float]] = [(PAUSE, rng.uniform(0.12, 0.25))]
    accents: list[tuple[float, float]] = []  # second, semitones
    inhaled: list[tuple[float, float]] = []
    now = sections[0][1]
    for word in range(words):
        for syllable in range(int(rng.choice([1, 2, 3], p=[0.35, 0.45, 0.2]))):
            for phone in _syllable(rng):
                for section in phone:
                    lasts = rng.uniform(section.shortest, section.longest) / rate
                    sections.append((section, lasts))
                    now += lasts
            accents.append((now - 0.08, rng.normal(1.2 if syllable == 0 else -0.4, 1.0) * liveliness))
        last = word == words - 1
        pause = rng.uniform(0.12, 0.25) if last else rng.choice([rng.uniform(0.07, 0.13), rng.uniform(0.13, 0.32)])
        if pause > 0.18 and not last and rng.random() < 0.5:
            inhaled.append((now + 0.04, now + pause - 0.03))
        sections.append((PAUSE, pause))
        now += pause
    return _tracks(sections, accents, inhaled, rng, liveliness)


def _syllable(rng: np.random.Generator) -> list[tuple[SpeechSection, ...]]:
    consonants, vowels = list(CONSONANTS.values()), list(VOWELS.values())
    phones = []
    if rng.random() < 0.85:
        phones.append(consonants[rng.integers(len(consonants))])
    phones.append(vowels[rng.integers(len(vowels))])
    if rng.random() < 0.35:
        phones.append(consonants[rng.integers(len(consonants))])
    return phones


def _tracks(
    sections: list[tuple[SpeechSection, float]],
    accents: list[tuple[float, float]],
    inhaled: list[tuple[float, float]],
    rng: np.random.Generator,
    liveliness: float,
) -> Tracks:
    ends = np.cumsum([lasts for _, lasts in sections])
    frames = int(np.ceil(ends[-1] * FRAMES_PER_SECOND))
    times = np.arange(frames) / FRAMES_PER_SECOND
    which = np.minimum(np.searchsorted(ends, times, side="right"), len(sections) - 1)
    chosen = [section for section, _ in sections]

    def steps(name: str) -> Float64:
        return np.array([getattr(section, name) for section in chosen], np.float64)[which]

    progress = times / ends[-1]
    melody = np.zeros(frames)
    for at, semitones in accents:
        melody += semitones * np.exp(-0.5 * ((times - at) / 0.09) ** 2)
    wander = smoothed(rng.standard_normal(frames), 41) * 2.0
    inhaling = np.zeros(frames)
    for start, end in inhaled:
        inhaling[(times >= start) & (times < end)] = 1.0
    return Tracks(
        formants=smoothed(_formants(chosen)[which], FORMANTS_MOVE),
        voice=smoothed(steps("voice"), VOICE_MOVES),
        breath=smoothed(steps("breath"), VOICE_MOVES),
        friction=smoothed(steps("friction"), FRICTION_MOVES),
        centre=smoothed(steps("centre"), FRICTION_MOVES),
        width=steps("width"),
        nasal=smoothed(steps("nasal"), VOICE_MOVES),
        semitones=smoothed(melody + (2.5 - 5.0 * progress) * liveliness + wander, 9),
        inhaling=smoothed(inhaling, 15),
    )


def _formants(sections: list[SpeechSection]) -> Float64:
    """The targets of each section; those without their own take the next one's, or the last one's at the end."""
    targets: list[tuple[float, float, float]] = []
    following = (500.0, 1450.0, 2450.0)
    for section in reversed(sections):
        following = section.formants or following
        targets.append(following)
    return np.array(targets[::-1])
