"""Survey of the recordings before anything is planned: length, level and speech.

Three detectors vote on every 10 ms, and runs under 30 ms are flipped:

- loud: no more than 30 dB below the loudest frames;
- above the floor: at least 8 dB over the noise of the pauses;
- unlike the floor: a spectrum that differs from that of the pauses.

All three compare frames of one recording with each other, so the level of a recording does not matter. From the
speech come *units*: what can be cut out, from the middle of one pause to the middle of the next::

    pause     speech      pause    speech       pause
    ~~~~|#################~~|~~#############~~~~|~~~~
      cut                  cut                 cut

Levels are in dBov: 0 dB is a square wave at full scale, so a sound of RMS 0.05 has -26 dBov.

The recipe of PartialSpoof takes the active speech level of ITU-T P.56, method B: the power while someone speaks. The
envelope of the sound passes two exponential averages of 30 ms. For each of 15 thresholds, a factor of two apart, time
counts as active while the envelope is above it and for 200 ms afterwards. The level over the active time falls as more
time counts; the level that is 15.9 dB above its own threshold is the active speech level. Between two thresholds it is
interpolated linearly (the ITU's program searches in halves, to half a decibel).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Float64
from spoofspan.corpus.frames import RATE
from spoofspan.corpus.settings import PARTIALSPOOF, SPOOFSPAN
from spoofspan.corpus.source_folder import Recording
from spoofspan.formats.sound_channel import convolved

FRAME = RATE // 100
WINDOW = 240  # samples: longer ones would stretch a click beyond 30 ms
SHORTEST_RUN = 3  # frames
RANGE_DB = 30.0
OVER_FLOOR_DB = 8.0
UNLIKE_DB = 6.0
BAND_EDGES = np.linspace(1, WINDOW // 2, 16, endpoint=False).astype(np.int64)
SILENT = -120.0  # dBov; softer than the last bit of 16
HIGHEST_PEAK = 0.99

Bool = npt.NDArray[np.bool_]
Span = tuple[int, int]  # samples, half-open


@dataclass(frozen=True)
class Surveyed:
    """Facts about a recording."""

    name: str
    samples: int
    gain: float  # brings its speech to the level of the corpus
    speech: tuple[Span, ...]

    def units(self, shortest_pause: float) -> list[Unit]:
        """Units of the recording."""
        return find_units(self.speech, self.samples, round(shortest_pause * RATE))

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Surveyed:
        """Read what :func:`dataclasses.asdict` and JSON made of one."""
        return cls(**{**plain, "speech": tuple((int(start), int(end)) for start, end in plain["speech"])})


def look_at(recordings: Sequence[Recording], level: float, recipe: str = SPOOFSPAN) -> list[Surveyed]:
    """Look at recordings; the recipe of PartialSpoof measures their level by ITU-T P.56."""
    found = []
    for one in recordings:
        sound = one.sound()
        speech = find_speech(sound)
        measured = p56_level(sound) if recipe == PARTIALSPOOF else None
        found.append(Surveyed(one.name, sound.size, gain_to(level, sound, speech, measured), tuple(speech)))
    return found


# ---------------------------------------------------------------- speech


@dataclass(frozen=True)
class Unit:
    """Speech between two pauses, in samples, and where to cut it out."""

    start: int
    end: int
    cut_in: int  # 0 or the recording's end where there is no pause: then nothing can be joined there
    cut_out: int
    room_in: int  # samples from the cut to the nearer end of its pause
    room_out: int

    @property
    def length(self) -> int:
        """Duration of the speech."""
        return self.end - self.start


def find_speech(sound: Float64) -> list[Span]:
    """The stretches of speech of a recording, in samples."""
    frames = sound.size // FRAME
    if frames < SHORTEST_RUN or not sound.any():
        return []
    padded = np.pad(sound, (WINDOW - FRAME) // 2 + 1)
    cut = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::FRAME][:frames]
    spectrum = np.abs(np.fft.rfft(cut * np.hanning(WINDOW))) ** 2
    bands = 10 * np.log10(np.add.reduceat(spectrum, BAND_EDGES, axis=1) + 1e-12)
    energy = 10 * np.log10(spectrum.sum(axis=1) + 1e-12)
    highest = np.percentile(energy, 95)
    floor = min(np.percentile(energy, 10), highest - RANGE_DB)
    loud = energy > highest - RANGE_DB
    above = energy > floor + OVER_FLOOR_DB
    quiet = energy <= max(np.percentile(energy, 10), floor)
    unlike = np.abs(bands - np.median(bands[quiet], axis=0)).mean(axis=1) > UNLIKE_DB
    votes = loud.astype(int) + above + unlike
    speech = _without_short_runs(_without_short_runs(votes >= 2, False), True)
    spans = [(start * FRAME, end * FRAME) for start, end in _runs(speech)]
    if spans and spans[-1][1] == frames * FRAME:  # the last, shorter frame goes with the one before
        spans[-1] = (spans[-1][0], sound.size)
    return spans


def _without_short_runs(flags: Bool, value: bool) -> Bool:
    """Flip runs of ``value`` that are shorter than 30 ms."""
    kept: Bool = flags.copy()
    for start, end in _runs(flags == value):
        if end - start < SHORTEST_RUN:
            kept[start:end] = not value
    return kept


def _runs(flags: Bool) -> list[Span]:
    """Runs of true flags.

    >>> _runs(np.array([True, False, True, True]))
    [(0, 1), (2, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def merged(spans: Iterable[Span], shortest_gap: int = 1) -> list[Span]:
    """Spans in order, those with a shorter gap between them as one."""
    found: list[Span] = []
    for start, end in spans:
        if found and start - found[-1][1] < shortest_gap:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def find_units(speech: Sequence[Span], samples: int, shortest_pause: int) -> list[Unit]:
    """Units of a recording; speech with less than the shortest pause in between is one unit."""
    joined = merged(speech, shortest_pause)
    units = []
    for number, (start, end) in enumerate(joined):
        before = joined[number - 1][1] if number else 0
        after = joined[number + 1][0] if number + 1 < len(joined) else samples
        cut_in, room_in = (start + before) // 2, (start - before) // 2
        cut_out, room_out = (end + after) // 2, (after - end) // 2
        if not number and start < shortest_pause:
            cut_in, room_in = 0, 0
        if number + 1 == len(joined) and samples - end < shortest_pause:
            cut_out, room_out = samples, 0
        units.append(Unit(start, end, cut_in, cut_out, room_in, room_out))
    return units


# ---------------------------------------------------------------- levels


def level_of(sound: Float64) -> float:
    """The RMS level.

    >>> round(level_of(np.full(100, 0.05)), 2)
    -26.02
    """
    power = float(np.mean(sound**2)) if sound.size else 0.0
    return max(10 * float(np.log10(power)), SILENT) if power > 0 else SILENT


def active_level(sound: Float64, speech: Sequence[Span]) -> float:
    """The level of the speech, pauses left out."""
    return level_of(np.concatenate([sound[start:end] for start, end in speech]) if speech else sound)


def gain_to(target: float, sound: Float64, speech: Sequence[Span], measured: float | None = None) -> float:
    """The factor that brings speech to a level; less of it where the loudest sample would not fit into a file.

    The level of the sound is ``measured``, or else that of its speech.
    """
    gain = 10 ** ((target - (active_level(sound, speech) if measured is None else measured)) / 20)
    peak = float(np.abs(sound).max(initial=0.0))
    return float(min(gain, HIGHEST_PEAK / peak)) if peak else 1.0


# ---------------------------------------------------------------- levels by ITU-T P.56

SMOOTHING = 0.03  # seconds
HANGOVER = 0.2  # seconds
MARGIN = 15.9  # dB
THRESHOLDS = 2.0 ** np.arange(-15, 0)  # of full scale, for samples of 16 bits
NEGLIGIBLE = 40  # time constants: exp(-40) is below the last bit of a double


def p56_level(sound: Float64) -> float | None:
    """Active speech level in dBov; None where the sound is too soft for the thresholds (below about -74 dBov).

    >>> sine = np.sin(2 * np.pi * 200 * np.arange(5 * RATE) / RATE)
    >>> round(p56_level(0.1 * sine), 1)  # all of it is active: its RMS
    -23.0
    """
    energy = float(np.sum(sound**2))
    if not energy:
        return None
    envelope = _envelope(sound)
    active = np.array([_active_samples(envelope >= threshold) for threshold in THRESHOLDS.tolist()])
    heard = int(np.count_nonzero(active))  # higher thresholds are never reached
    levels = 10 * np.log10(energy / active[:heard])
    above = levels - 20 * np.log10(THRESHOLDS[:heard])
    reached = np.flatnonzero(above <= MARGIN)
    if not reached.size or not reached[0]:
        return None
    upper = int(reached[0])
    part = (above[upper - 1] - MARGIN) / (above[upper - 1] - above[upper])
    return float(levels[upper - 1] + part * (levels[upper] - levels[upper - 1]))


def _envelope(sound: Float64) -> Float64:
    """Two exponential averages of the magnitude, one after the other, as a convolution."""
    decay = np.exp(-1 / (SMOOTHING * RATE))
    time = np.arange(min(round(NEGLIGIBLE * SMOOTHING * RATE), sound.size))
    response = (1 - decay) ** 2 * (time + 1) * decay**time
    return convolved(np.abs(sound), response)[: sound.size]


def _active_samples(is_above: npt.NDArray[np.bool_]) -> int:
    """Samples above a threshold, and up to 200 ms after each.

    >>> _active_samples(np.array([False, True, False, False]))
    3
    """
    places = np.flatnonzero(is_above)
    if not places.size:
        return 0
    hangover = int(np.ceil(HANGOVER * RATE))
    until_next = np.diff(np.append(places, is_above.size)) - 1
    return places.size + int(np.minimum(until_next, hangover).sum())
