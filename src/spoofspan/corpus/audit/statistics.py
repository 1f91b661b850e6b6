"""Statistics of the sound: only what a look at the level meter shows, and nothing that a detector would need.

Of every 20 ms: the energy in 23 bands (a window of 32 ms). Of every run of one class: level, offset, the edges of the
band, the softest tenth of it, silence at its ends, length. Of every utterance: silence at its ends, length, level.

And traces that processing leaves:

- **Polarity**: the skewness of the sound and of its first differences. Inverting a sound changes their sign.
- **Word length**: the share of samples that are multiples of 2, and of 4, steps of 16 bits.
- **Grid**: processing in blocks leaves edges at equal distances. Two curves of 1,000 values a second, the energy of
  second differences and the change of the spectrum, have a line at the rate of the blocks and its multiples: the mean
  power there, over that beside it.
- **Codec**: MP3, AAC and other codecs send the coefficients of a lapped transform, and round small ones to 0. The same
  transform shows that if its frames lie as the codec's did: how far the mean logarithm of the coefficients falls at
  the best of 16 offsets.
- **Joints**: at a place where the label changes, or in the middle of another pause: the largest second difference
  (a click), and how the level around it changes.
- **Headers and names** of files.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from spoofspan.base.pool import do_all, in_batches
from spoofspan.base.times import SECOND, Float64
from spoofspan.corpus.audit.material import Run, Utterance
from spoofspan.corpus.survey import Span, find_speech
from spoofspan.formats.sound import FULL_SCALE, RATE, read_sound

STEP = 16  # samples: both curves have 1,000 values a second
SPECTRUM = 64  # samples
LOWEST_BIN = 8  # of the spectrum: 2 kHz
GRIDS = {  # samples at 16 kHz between two edges
    "5 ms": 80,
    "8 ms": 128,
    "10 ms": 160,
    "12.5 ms": 200,
    "16 ms": 256,
    "20 ms": 320,
    "30 ms": 480,
    "32 ms": 512,
}
CODECS = {"20 ms, as G.722.1": 320, "36 ms, as MP3": 576, "64 ms, as AAC": 1024}  # samples at 16 kHz of a frame
LEAST_STEPS = 16  # of 16 bits, of a sample that tells the word length
OFFSETS = 16  # at which frames are tried
FEWEST_FRAMES = 4
LONGEST = 4 * RATE  # samples of a stretch that are looked at for the frames of a codec
HARMONICS = 8
FASTEST = 450.0  # Hz: nearer to half of the rate of the curves nothing is looked for
BESIDE = (-4, -3, -2, 2, 3, 4)  # lines of the spectrum that are no multiple of the grid's rate
SHORTEST = 0.3  # seconds: of shorter stretches nothing is said
AROUND = 400  # samples: on both sides of a joint
NEAR = 160
SOFTEST_COEFFICIENT = 1e-4  # about that of a step of 16 bits
SILENT = 1e-6  # a thirtieth of a step of 16 bits

OF_LAYOUT = re.compile(r"(BONA|CON|LA)_[TDE]_\d+")  # utterances of PartialSpoof's layout
MOST_WORDS = 20

JOINT_STATISTICS = ("click", "step", "dip")


def polarity(sound: Float64) -> tuple[float, float]:
    """Skewness of a sound and of its differences; 0 of silence.

    >>> sound = np.array([0.0, 0.0, 0.0, 3.0] * 9)
    >>> polarity(sound)[0] == -polarity(-sound)[0] > 1
    True
    """
    return _skewness(sound), _skewness(np.diff(sound))


def _skewness(values: Float64) -> float:
    if values.size < 2:
        return 0.0
    centred = values - values.mean()
    squares = centred * centred  # a power of 3 takes ten times as long
    power = float(squares.mean())
    return float(np.mean(squares * centred)) / power**1.5 if power > 0 else 0.0


def word_length(sound: Float64) -> tuple[float, float]:
    """Shares of samples that are multiples of two and of four steps; a half and a quarter by chance.

    Samples of few steps are left out: in soft sound they are no multiples of four, since they are small.

    >>> word_length(np.array([2.0, 32.0, 34.0, 38.0]) / FULL_SCALE)
    (1.0, 0.3333333333333333)
    """
    steps = np.rint(sound * FULL_SCALE).astype(np.int64)
    steps = steps[np.abs(steps) >= LEAST_STEPS]
    if not steps.size:
        return 0.5, 0.25
    return float(np.mean(steps % 2 == 0)), float(np.mean(steps % 4 == 0))


def block_curves(sound: Float64) -> Float64:
    """Two curves in which edges of blocks stand out: energy of second differences, change of the spectrum."""
    frames = max(sound.size // STEP, 2)
    padded = np.pad(sound, (1, SPECTRUM + frames * STEP - min(sound.size, frames * STEP)))
    bends = np.log(np.mean(np.diff(padded, 2)[: frames * STEP].reshape(frames, STEP) ** 2, axis=1) + SILENT**2)
    cut = np.lib.stride_tricks.sliding_window_view(padded, SPECTRUM)[::STEP][:frames]
    power = np.abs(np.fft.rfft(cut * np.hanning(SPECTRUM), axis=1))[:, LOWEST_BIN:] ** 2
    change = np.abs(np.diff(np.log(power + SILENT**2), axis=0)).mean(axis=1)
    return np.stack((bends, np.append(change, change[-1:])))


def grid_strengths(curves: Float64) -> list[float]:
    """For each grid, the logarithm of the power at its rate and multiples over that beside them; NaN if too short."""
    samples = curves.shape[1]
    if samples < SHORTEST * RATE / STEP:
        return [float("nan")] * len(GRIDS)
    smooth = curves - curves.mean(axis=1, keepdims=True)
    size = 1 << (4 * samples - 1).bit_length()
    power = np.abs(np.fft.rfft(smooth * np.hanning(samples), size, axis=1)) ** 2
    line = size / samples  # a line of the spectrum, in bins
    found = []
    for length in GRIDS.values():
        rates = np.arange(1, HARMONICS + 1) * RATE / length
        bins = rates[rates < FASTEST] * size * STEP / RATE
        beside = np.rint(bins[:, None] + line * np.array(BESIDE)).astype(np.int64)
        background = power[:, np.clip(beside, 0, power.shape[1] - 1)].mean(axis=2)
        found.append(float(np.log(np.mean(power[:, np.rint(bins).astype(np.int64)] / (background + 1e-30)))))
    return found


def codec_depths(sound: Float64) -> list[float]:
    """For each length of a codec's frames, how much smaller the coefficients are at the best offset; NaN if too short.

    The fall is below the median of all offsets, times the square root of the number of frames.
    """
    own = sound[:LONGEST].astype(np.float32)
    return [_depth(own, length) if own.size >= (FEWEST_FRAMES + 2) * length else np.nan for length in CODECS.values()]


def _depth(sound: npt.NDArray[np.float32], length: int) -> float:
    cut = np.lib.stride_tricks.sliding_window_view(sound, 2 * length)
    frames = (len(cut) - length) // length  # as many at each offset
    offsets = range(0, length, length // OFFSETS)
    levels = [_mean_log_coefficient(cut[offset::length][:frames], length) for offset in offsets]
    return float((np.median(levels) - min(levels)) * np.sqrt(frames))


def _mean_log_coefficient(blocks: npt.NDArray[np.float32], length: int) -> float:
    """Of the lapped transform (MDCT with a sine window) of blocks, from an eighth to three quarters of the band."""
    window, turn, shift = _factors(length)
    half = length // 2
    own = blocks * window
    first, second, third, fourth = (own[:, place * half : (place + 1) * half] for place in range(4))
    folded = np.concatenate((-third[:, ::-1] - fourth, first - second[:, ::-1]), axis=1)
    pairs = np.fft.fft((folded[:, ::2] + 1j * folded[:, ::-2]) * turn, axis=1) * shift
    even, odd = np.abs(pairs.real), np.abs(pairs.imag[:, ::-1])  # coefficients 0, 2, ... and 1, 3, ...
    kept = slice(half // 8, half * 3 // 4)
    logs = np.log(np.concatenate((even[:, kept], odd[:, kept]), axis=1) + SOFTEST_COEFFICIENT)
    return float(np.mean(logs))


@cache
def _factors(length: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.complex64], npt.NDArray[np.complex64]]:
    """Window, and factors before and after the FFT of half the length that makes a cosine transform (DCT-IV)."""
    window = np.sin(np.pi * (np.arange(2 * length) + 0.5) / (2 * length))
    place = np.arange(length // 2)
    turn, shift = np.exp(-1j * np.pi / length * (place + 0.25)), np.exp(-1j * np.pi / length * place)
    return window.astype(np.float32), turn.astype(np.complex64), shift.astype(np.complex64)


def joint_statistics(sound: Float64, place: int) -> list[float]:
    """Of the sound around a sample: the largest second difference, a step of the level, and a dip, in dB.

    The second difference counts as far as it exceeds all of those around it, so that a change of the noise, as a
    vocoder leaves it, is no click. The step is that between both sides, and the dip is how much softer the softest
    5 ms near the place are than both sides.
    """
    start, end = max(place - AROUND, 1), min(place + AROUND, sound.size - 1)
    if end - start < AROUND:
        return [float("nan")] * len(JOINT_STATISTICS)
    bends = np.abs(np.diff(sound[start - 1 : end + 1], 2))
    middle = place - start
    near, far = (
        bends[max(middle - NEAR, 0) : middle + NEAR],
        np.delete(bends, slice(max(middle - NEAR, 0), middle + NEAR)),
    )
    if not near.size or not far.size:
        return [float("nan")] * len(JOINT_STATISTICS)
    click = max(_decibels(float(near.max()) ** 2) - _decibels(float(far.max()) ** 2), 0.0)
    before, after = _power(sound[start : max(place - NEAR // 2, start + 1)]), _power(sound[place + NEAR // 2 : end])
    blocks = sound[start:end][: (end - start) // 80 * 80].reshape(-1, 80)
    softest = min(_power(block) for block in blocks[1:-1]) if len(blocks) > 2 else _power(blocks[0])
    return [click, abs(before - after), (before + after) / 2 - softest]


def _power(sound: Float64) -> float:
    return _decibels(float(np.mean((sound - sound.mean()) ** 2)) if sound.size else 0.0)


def _decibels(power: float) -> float:
    return 10 * float(np.log10(power + SILENT**2))


# ---------------------------------------------------------------- headers and names


def _channels(count: int) -> str:
    return f"{count} channel{'' if count == 1 else 's'}"


def header_of(path: Path) -> str:
    """The header of a sound file in words: kind, rate, channels, bits, and the chunks of a WAV file in their order.

    Without soundfile, of files other than WAV the kind only.
    """
    with path.open("rb") as stream:
        head = stream.read(12)
        if head[:4] == b"RIFF" and head[8:] == b"WAVE":
            return _wave_header(stream)
    if find_spec("soundfile") is None:
        return path.suffix.lower()
    import soundfile

    info = soundfile.info(str(path))
    return f"{info.format}, {_channels(info.channels)}, {info.samplerate} Hz, {info.subtype}"


def _wave_header(stream: BinaryIO) -> str:
    chunks, form = [], "no format"
    while len(head := stream.read(8)) == 8:
        name, size = head[:4], int.from_bytes(head[4:], "little")
        chunks.append(name.decode("ascii", "replace"))
        start = stream.tell()
        if name == b"fmt ":
            code, channels, rate, _, _, bits = struct.unpack("<HHIIHH", stream.read(16).ljust(16, b"\0"))
            form = f"{_channels(channels)}, {rate} Hz, {bits} bits, code {code}"
        stream.seek(start + size + size % 2)
    return f"WAV, {form}, chunks {' '.join(chunks)}"


def name_parts(names: Sequence[str]) -> dict[str, Float64]:
    """Clues in names, a column each: their length, their last number, and which words they have.

    The first folder of a path is left out: it states the class. Where all names are those of PartialSpoof's layout,
    which state the class as well, nothing is left.

    >>> sorted(name_parts(["bonafide/s/a_1.wav", "lpc/s/b_2.wav"]))
    ['a', 'b', 'its last number']
    """
    if all(OF_LAYOUT.fullmatch(name) for name in names):
        return {}
    bare = [name.partition("/")[2] or name for name in names]
    words = [set(re.findall(r"[^\W\d_]+", name)) for name in bare]
    numbers = [re.findall(r"\d+", name) for name in bare]
    found = {
        "its length": np.array([len(name) for name in bare], np.float64),
        "its last number": np.array([float(own[-1][-9:]) if own else np.nan for own in numbers]),
    }
    counts = Counter(word for own in words for word in own)
    for word, count in counts.most_common(MOST_WORDS):
        if count < len(names):
            found[word] = np.array([word in own for own in words], np.float64)
    return {what: values for what, values in found.items() if len(set(values.tolist())) > 1}


# ---------------------------------------------------------------- traces of processing

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
