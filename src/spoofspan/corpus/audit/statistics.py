"""Statistics of the sound: only what a look at the level meter shows, and nothing that a detector would need.

Of every 20 ms: the energy in 23 bands (a window of 32 ms). Of every run of one class: level, offset, the edges of the
band, the softest tenth of it, silence at its ends, length. Of every utterance: silence at its ends, length, level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from spoofspan.base.pool import do_all, in_batches
from spoofspan.base.times import SECOND, Float64
from spoofspan.corpus.audit.material import Run, Utterance
from spoofspan.corpus.audit.traces import (
    CODECS,
    GRIDS,
    JOINT_STATISTICS,
    STEP,
    block_curves,
    codec_depths,
    grid_strengths,
    header_of,
    joint_statistics,
    polarity,
    word_length,
)
from spoofspan.corpus.survey import Span, find_speech
from spoofspan.formats.sound import RATE, read_sound

HOP, WINDOW = 320, 512  # samples
TICK = SECOND // RATE
LOWER = (30, 60, 150, 300, 450, 600, 800, 1000, 1250, 1500, 1800, 2150, 2550)
UPPER = (3000, 3500, 4000, 4500, 5000, 5500, 6000, 6500, 7000, 7500, 8000)
EDGES = LOWER + UPPER  # Hz
BANDS = tuple(pairwise(EDGES))
MIDDLE = slice(3, 17)  # bands from 300 to 5000 Hz, which every channel keeps
OUTER = tuple(i for i, (low, high) in enumerate(BANDS) if high <= 300 or low >= 6000)
SOFTEST = 1e-12  # power; 20 dB below the last bit of 16
ACTIVE_DB = 25.0  # below the loudest frame of a run: what counts for its level
BATCH = 16

LONGEST_EDGE = 0.05  # seconds: a pause so near to a change of the label is at a joint
TRACES = (
    "skewness",
    "skewness of differences",
    "even",
    "fours",
    *(f"grid {name}" for name in GRIDS),
    *(f"codec {name}" for name in CODECS),
)
RUN_STATISTICS = (
    "level",
    "offset",
    *(f"band {i}" for i in OUTER),
    "floor",
    "zeros",
    "lead",
    "trail",
    "length",
    *TRACES,
)
UTTERANCE_STATISTICS = ("level", "lead", "trail", "length")


@dataclass(frozen=True)
class MeasuredSound:
    """The statistics of one utterance: a row for each frame, for each run, and one for the whole."""

    bands: npt.NDArray[np.float32]  # dB
    run_of_frame: npt.NDArray[np.int64]  # -1: of none
    runs: Float64
    whole: Float64
    places: npt.NDArray[np.int64]  # samples: where the label changes, and the middles of other pauses
    joints: Float64  # a row for each place
    header: str = ""  # of the file


def measure_all(utterances: Sequence[Utterance], jobs: int) -> list[MeasuredSound]:
    """Measure the sound of utterances."""
    batches = in_batches(utterances, BATCH)
    return [one for batch in do_all(_measure_some, batches, jobs, "measuring sound", len) for one in batch]


def _measure_some(batch: Sequence[Utterance]) -> list[MeasuredSound]:
    return [replace(measure(one, read_sound(one.sound, "use")), header=header_of(one.sound)) for one in batch]


def measure(one: Utterance, sound: Float64) -> MeasuredSound:
    """Measure one utterance."""
    frames = max(-(-one.duration // (HOP * TICK)), 1)
    look = _Look.at(sound, frames)
    centres = (np.arange(frames) * HOP + HOP // 2) * TICK
    starts = np.array([run.start for run in one.runs], np.int64)
    ends = np.array([run.end for run in one.runs], np.int64)
    place = np.searchsorted(starts, centres, side="right") - 1
    inside = (place >= 0) & (centres < ends[place]) if starts.size else np.zeros(frames, np.bool_)
    curves = block_curves(sound)
    runs = [[*look.run(number, one), *_traces(sound, curves, run)] for number, run in enumerate(one.runs)]
    places = _places(one, look.speech)
    joints = np.array([joint_statistics(sound, place) for place in places]).reshape(-1, len(JOINT_STATISTICS))
    lead, trail = look.silence(0, sound.size)
    whole = np.array([look.level(slice(None)), lead, trail, np.log(one.duration / SECOND)])
    bands = (10 * np.log10(look.power + SOFTEST)).astype(np.float32)
    table = np.array(runs).reshape(-1, len(RUN_STATISTICS))
    return MeasuredSound(bands, np.where(inside, place, -1), table, whole, np.array(places, np.int64), joints)


def _traces(sound: Float64, curves: Float64, run: Run) -> list[float]:
    """Traces of processing in a run."""
    start, end = run.start // TICK, max(run.end // TICK, run.start // TICK + 1)
    own = sound[start:end]
    strengths = grid_strengths(curves[:, start // STEP : end // STEP])
    return [*polarity(own), *word_length(own), *strengths, *codec_depths(own)]


def changes_of(one: Utterance) -> list[int]:
    """Samples at which the label changes within an utterance."""
    neighbours = pairwise(one.runs)
    return [b.start // TICK for a, b in neighbours if a.end == b.start and a.attack != b.attack]


def _places(one: Utterance, speech: Sequence[Span]) -> list[int]:
    """Places where the label changes, and the middle of each pause that is not near one; in order."""
    changes = changes_of(one)
    near = round(LONGEST_EDGE * RATE)
    pauses = ((left[1], right[0]) for left, right in pairwise(speech))
    quiet = [
        (start + end) // 2
        for start, end in pauses
        if end - start >= near and not any(start - near <= place <= end + near for place in changes)
    ]
    return sorted({*changes, *quiet})


@dataclass(frozen=True)
class _Look:
    """Short-time spectra and speech of a sound."""

    power: Float64  # frames by bands
    energy: Float64  # of frames, dB
    sums: Float64  # of all samples before each, for means
    zeros: Float64  # share of samples that are 0, of frames
    speech: list[Span]

    @classmethod
    def at(cls, sound: Float64, frames: int) -> _Look:
        there = max(min(frames, sound.size // HOP), 1)
        padded = np.pad(sound, ((WINDOW - HOP) // 2, WINDOW))
        cut = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP][:there]
        window = np.hanning(WINDOW)
        window /= window.sum()
        centred = cut - (cut * window).sum(axis=1, keepdims=True)  # an offset has a probe of its own
        spectrum = np.abs(np.fft.rfft(centred * window)) ** 2 * 2
        hertz = np.fft.rfftfreq(WINDOW, 1 / RATE)
        power = np.add.reduceat(spectrum, np.searchsorted(hertz, EDGES[:-1]), axis=1)
        whole = np.resize(sound, there * HOP) if sound.size < HOP else sound[: there * HOP]
        blocks = whole.reshape(there, HOP)
        energy = 10 * np.log10(np.mean((blocks - blocks.mean(axis=1, keepdims=True)) ** 2, axis=1) + SOFTEST)
        zeros = (blocks == 0).mean(axis=1)
        rows = np.minimum(np.arange(frames), there - 1)  # labels may last a little longer than the sound
        sums = np.concatenate(([0.0], np.cumsum(sound)))
        return cls(power[rows], energy[rows], sums, zeros[rows], find_speech(sound))

    def level(self, rows: slice) -> float:
        """The level of the louder frames, in dBov."""
        energy = self.energy[rows]
        active = energy[energy > energy.max() - ACTIVE_DB]
        return float(10 * np.log10(np.mean(10 ** (active / 10))))

    def silence(self, start: int, end: int) -> tuple[float, float]:
        """Seconds without speech at both ends of a stretch of samples; all of it where nobody speaks."""
        spans = [(max(a, start), min(b, end)) for a, b in self.speech if a < end and b > start]
        if not spans:
            return (end - start) / RATE, (end - start) / RATE
        return (spans[0][0] - start) / RATE, (end - spans[-1][1]) / RATE

    def _mean(self, start: int, end: int) -> float:
        first, last = (min(place, self.sums.size - 1) for place in (start, end))
        return float((self.sums[last] - self.sums[first]) / max(last - first, 1))

    def run(self, number: int, one: Utterance) -> list[float]:
        """The statistics of a run."""
        own = one.runs[number]
        first = min(own.start // (HOP * TICK), len(self.energy) - 1)
        rows = slice(first, max(own.end // (HOP * TICK), first + 1))
        power = self.power[rows].mean(axis=0) + SOFTEST
        middle = 10 * np.log10(power[MIDDLE].sum())
        outer = [float(10 * np.log10(power[band]) - middle) for band in OUTER]
        lead, trail = self.silence(own.start // TICK, own.end // TICK)
        at_start, at_end = own.start <= 0, own.end >= one.duration
        return [
            self.level(rows),
            self._mean(own.start // TICK, own.end // TICK),
            *outer,
            float(np.percentile(self.energy[rows], 10)),
            float(self.zeros[rows].mean()),
            np.nan if at_start else lead,  # silence at the ends of an utterance is another probe
            np.nan if at_end else trail,
            float(np.log((own.end - own.start) / SECOND)),
        ]
