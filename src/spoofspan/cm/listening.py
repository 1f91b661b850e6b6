"""Sound of a recording, collected block by block while it is scored: nothing is read a second time.

Frames are those of the scores: 20 ms apart, 25 ms long. Of each, the power in 67 bands of 120 Hz is kept in steps of
half a decibel: that is the spectrogram of the page, and, counted over a recording, what is compared with the sound of
the training (:mod:`spoofspan.cm.out_of_domain`).

So is how fast these levels rise and fall in six wide bands, the modulation spectrum. Speech of one kind has the same
rhythm through any channel: syllables come at 2 to 8 Hz, phones and noise faster. Power spectra are summed over segments
of 1.28 s that overlap by half (Welch's method), so a recording may have any length::

    number = power of the changes at 0.5 to 2, 2 to 4, 4 to 8, 8 to 16 or 16 to 25 Hz, less that of all; in dB

Notes on the sound say what a listener would say before any verdict, a sentence each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Float64, Int64
from spoofspan.cm.frame_times import HOP, WINDOW, samples_of
from spoofspan.formats.sound import FULL_SCALE, RATE, Samples, Sound
from spoofspan.formats.sound_channel import OPEN, Channel, SoundThroughChannel

UInt8 = npt.NDArray[np.uint8]
BINS = 3  # of the Fourier transform in a band: 120 Hz
BANDS = -(-(WINDOW // 2 + 1) // BINS)
LEVELS = 256
STEP, LOWEST = 0.5, -110.0  # dB: what the levels 0 to 255 stand for
AT_ONCE = 4096  # frames transformed together
PEAK_HOP = RATE // 100  # samples under one step of the waveform
LOUDEST = 0.999  # of full scale: a sample there may have been cut off
RUN = 3  # samples at full scale in a row that count as clipped
SILENT = 2 / FULL_SCALE  # amplitude: dither alone
FRAMES_PER_SECOND = RATE // HOP
SEGMENT, ADVANCE = 64, 32  # frames of a modulation spectrum
WIDE_BANDS = 6
RATES = (0.5, 2.0, 4.0, 8.0, 16.0, 25.0)  # Hz, between which changes are summed
LEAST_CHANGE = 1e-3  # dB squared: no change at all
FEWEST_VALUES = 16  # distinct samples, 4 bits; what has fewer is no recording of speech


@dataclass
class Modulation:
    """The power of what changes how fast, in each band, of the segments heard so far."""

    power: Float64 = field(default_factory=lambda: np.zeros((SEGMENT // 2 + 1, WIDE_BANDS)))
    _rest: Float64 = field(default_factory=lambda: np.zeros((0, WIDE_BANDS)))  # begins at the next segment
    _segments: int = 0

    def hear(self, levels: Float64) -> None:
        """Take in the levels (dB) of the next frames in the wide bands, a row each."""
        waiting = np.concatenate((self._rest, levels))
        count = max((len(waiting) - SEGMENT) // ADVANCE + 1, 0)
        if count:
            views = np.lib.stride_tricks.sliding_window_view(waiting, SEGMENT, axis=0)[::ADVANCE][:count]
            self._add(views.transpose(0, 2, 1), np.hanning(SEGMENT)[:, None])
        self._rest = waiting[count * ADVANCE :]

    def end(self) -> None:
        """No more is coming: the last frames are a shorter segment, if they were in none."""
        if len(self._rest) > ADVANCE or (self._segments == 0 and len(self._rest)):
            self._add(self._rest[None], np.hanning(len(self._rest))[:, None])
        self._rest = self._rest[:0]

    def _add(self, segments: Float64, window: Float64) -> None:
        spectra = np.fft.rfft((segments - segments.mean(axis=1, keepdims=True)) * window, SEGMENT, axis=1)
        self.power += (spectra.real**2 + spectra.imag**2).sum(axis=0)
        self._segments += len(segments)

    @property
    def numbers(self) -> Float64:
        """The share of each range of rates in each band, in dB: (rates, bands)."""
        rate = np.fft.rfftfreq(SEGMENT, 1 / FRAMES_PER_SECOND)
        place = np.searchsorted(RATES[1:-1], rate, side="right")
        some = rate >= RATES[0]
        sums = np.stack([self.power[some & (place == k)].sum(axis=0) for k in range(len(RATES) - 1)])
        found: Float64 = 10 * np.log10((sums + LEAST_CHANGE) / (self.power[some].sum(axis=0) + LEAST_CHANGE))
        return found


@dataclass
class Heard:
    """Sound of one recording so far; ``keep`` samples of it are kept to be played."""

    keep: int = 0
    picture: bool = False  # keep waveform and spectrogram
    pictured: int | None = None  # frames of the spectrogram that are kept; None: all
    samples: int = 0
    loudest: float = 0.0
    clipped: int = 0
    silent: int = 0
    values: Samples = field(default_factory=lambda: np.zeros(0, np.float32))  # the first distinct ones of the file
    counts: Int64 = field(default_factory=lambda: np.zeros((BANDS, LEVELS), np.int64))  # of frames by band and level
    modulation: Modulation = field(default_factory=Modulation)
    _rest: Samples = field(default_factory=lambda: np.zeros(0, np.float32))  # begins at the next frame
    _levels: list[UInt8] = field(default_factory=list)
    _peaks: list[npt.NDArray[np.int8]] = field(default_factory=list)
    _unpeaked: Samples = field(default_factory=lambda: np.zeros(0, np.float32))
    _kept: list[npt.NDArray[np.int16]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return self.samples / RATE

    @property
    def spectrogram(self) -> UInt8:
        """Levels by frame and band, if a picture was wanted."""
        return np.concatenate([np.zeros((0, BANDS), np.uint8), *self._levels])

    @property
    def waveform(self) -> npt.NDArray[np.int8]:
        """The lowest and the highest sample of every 10 ms, in steps of 1/127, if a picture was wanted."""
        return np.concatenate([np.zeros((0, 2), np.int8), *self._peaks])

    @property
    def kept(self) -> npt.NDArray[np.int16] | None:
        """The samples, if they are no more than were to be kept."""
        return np.concatenate(self._kept) if self._kept and self.samples <= self.keep else None

    def note_values(self, block: Samples) -> None:
        """Count distinct samples of the file, before it is resampled."""
        if self.values.size < FEWEST_VALUES:
            self.values = np.union1d(self.values, block)[:FEWEST_VALUES]

    def hear(self, block: Samples) -> None:
        """Take in the next samples."""
        size = np.abs(block)
        self.samples += block.size
        self.loudest = max(self.loudest, float(size.max(initial=0.0)))
        self.silent += int(np.count_nonzero(size <= SILENT))
        self.clipped += _in_runs(size >= LOUDEST)
        if self.samples <= self.keep:
            self._kept.append(np.clip(np.rint(block * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16))
        else:
            self._kept.clear()
        if self.picture:
            self._draw(block)
        self._rest = np.concatenate((self._rest, block))
        frames = (self._rest.size - WINDOW) // HOP + 1
        if frames > 0:
            self._transform(frames)
            self._rest = self._rest[frames * HOP :].copy()

    def end(self) -> None:
        """No more is coming: what is shorter than a frame is filled up with silence."""
        if not self.counts.any() and self._rest.size:
            self._rest = np.pad(self._rest, (0, WINDOW - self._rest.size))
            self._transform(1)
        self.modulation.end()
        if self.picture and self._unpeaked.size:
            self._draw(np.zeros(-self._unpeaked.size % PEAK_HOP, np.float32))
        self._rest = np.zeros(0, np.float32)

    def _transform(self, frames: int) -> None:
        views = np.lib.stride_tricks.sliding_window_view(self._rest, WINDOW)[::HOP][:frames]
        for first in range(0, frames, AT_ONCE):
            levels = band_levels(views[first : first + AT_ONCE])
            self._count(levels)
            if self.picture:
                self._keep(levels)

    def _keep(self, levels: UInt8) -> None:
        left = None if self.pictured is None else max(self.pictured - sum(map(len, self._levels)), 0)
        self._levels.append(levels if left is None or left >= len(levels) else levels[:left].copy())

    def _count(self, levels: UInt8) -> None:
        rows = (np.arange(BANDS) * LEVELS + levels).ravel()
        self.counts += np.bincount(rows, minlength=BANDS * LEVELS).reshape(BANDS, LEVELS)
        self.modulation.hear(STEP * mean_in_bands(levels, MODULATED))

    def part(self, first: int, frames: int) -> Heard:
        """Sound of some frames alone, if a picture was wanted."""
        found = Heard(samples=samples_of(frames))
        found._count(self.spectrogram[first : first + frames])
        found.modulation.end()
        return found

    def _draw(self, block: Samples) -> None:
        waiting = np.concatenate((self._unpeaked, block))
        whole = waiting.size // PEAK_HOP * PEAK_HOP
        steps = waiting[:whole].reshape(-1, PEAK_HOP)
        peaks = np.stack((steps.min(1, initial=1.0), steps.max(1, initial=-1.0)), axis=1)
        self._peaks.append(np.clip(np.rint(peaks * 127), -127, 127).astype(np.int8))
        self._unpeaked = waiting[whole:].copy()


@dataclass(frozen=True)
class ListenedSound(SoundThroughChannel):
    """A recording of which ``heard`` keeps what is read; without a channel (:data:`OPEN`) its level is not changed."""

    heard: Heard = field(default_factory=Heard)

    @classmethod
    def to(cls, sound: Sound, heard: Heard, through: Channel = OPEN) -> ListenedSound:
        """The same recording, perhaps through a channel."""
        return cls(sound.where, sound.name, sound.channel, sound.truncated, through, heard)

    def _one_channel(self, file: Any, dtype: str = "float32") -> Iterator[Any]:
        for block in super()._one_channel(file, dtype):
            self.heard.note_values(block)
            yield block

    def blocks(self) -> Iterator[Samples]:
        """The samples at 16 kHz, some at a time."""
        for block in Sound.blocks(self) if self.through == OPEN else super().blocks():
            self.heard.hear(block)
            yield block
        self.heard.end()


def band_levels(frames: Samples) -> UInt8:
    """The level of each band in each frame, in steps of half a decibel."""
    spectra = np.fft.rfft(frames * np.hanning(WINDOW).astype(np.float32), axis=1)
    power = np.add.reduceat(spectra.real**2 + spectra.imag**2, np.arange(0, spectra.shape[1], BINS), axis=1)
    decibel = 10 * np.log10(power / WINDOW + 1e-12)
    return np.clip((decibel - LOWEST) / STEP, 0, LEVELS - 1).astype(np.uint8)


def wide_edges(count: int) -> Int64:
    """The first of the 120 Hz bands in each of so many wide ones."""
    return np.linspace(0, BANDS, count, endpoint=False).astype(np.int64)


def mean_in_bands(levels: npt.NDArray[Any], edges: Int64) -> Float64:
    """The mean over each wide band; bands are the last axis."""
    found: Float64 = np.add.reduceat(levels, edges, axis=-1, dtype=np.float64) / np.diff(np.append(edges, BANDS))
    return found


MODULATED = wide_edges(WIDE_BANDS)


def band_percentiles(counts: Int64, shares: tuple[float, ...]) -> Float64:
    """The levels (dB) below which such shares of the frames lie: (bands, shares)."""
    below = np.cumsum(counts, axis=1)
    wanted = np.array(shares)[:, None, None] * below[None, :, -1:]
    return LOWEST + STEP * (below[None] < wanted).sum(axis=2).T


def _in_runs(flags: npt.NDArray[np.bool_]) -> int:
    """Number of flags in runs of at least three."""
    if not flags.any():
        return 0
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.view(np.int8), [0]))))
    lengths = edges[1::2] - edges[::2]
    return int(lengths[lengths >= RUN].sum())


# ---------------------------------------------------------------- notes

CLIPPED = 0.0005  # share of samples that is worth a word
MOSTLY_SILENT = 0.9
SHORTEST = 0.5  # seconds
DROP = 45.0  # dB by which bands lie below the loudest one to count as empty
FULL_BAND = 0.85  # share of the bands; files of 16 kHz are filtered a little below 8 kHz


def unjudgeable(heard: Heard) -> str:
    """Reason why there is nothing to judge; empty if there is."""
    if heard.samples and heard.silent == heard.samples:
        steps = round(SILENT * FULL_SCALE)
        return f"there is only silence (no sample is further than {steps} steps of 16 bits from zero)"
    if 0 < heard.values.size < FEWEST_VALUES:
        return (
            f"its samples have {heard.values.size} distinct values, less than sound of 4 bits: it was quantised too "
            "coarsely to be judged"
        )
    return ""


def sound_notes(heard: Heard, rate: int) -> tuple[str, ...]:
    """Notes on the sound; ``rate`` is that of the file."""
    notes = []
    if heard.seconds < SHORTEST:
        notes.append(f"it lasts {heard.seconds:.2f} s, which is little to judge by")
    share = heard.silent / max(heard.samples, 1)
    if share >= MOSTLY_SILENT:
        notes.append(f"{100 * share:.0f} % of it is digital silence")
    if heard.clipped > CLIPPED * heard.samples:
        notes.append(
            f"{100 * heard.clipped / heard.samples:.1f} % of its samples are clipped (cut off at full scale), which "
            "may look like a trace of synthesis, or hide one"
        )
    _, top = heard_band(heard.counts)
    if rate < RATE:
        notes.append(f"the file has {rate:,} samples a second: nothing above {rate / 2000:g} kHz, as on the telephone")
    elif top < FULL_BAND * RATE / 2:
        notes.append(f"nothing is heard above {top / 1000:.1f} kHz: it was filtered, coded or resampled before")
    return tuple(notes)


def heard_band(counts: Int64) -> tuple[float, float]:
    """The lower edge of the lowest, and the upper edge of the highest band that is ever heard, in Hz."""
    if not counts.any():
        return 0.0, RATE / 2
    loud = band_percentiles(counts, (0.98,))[:, 0]
    floor = max(float(loud.max()) - DROP, LOWEST + STEP)
    heard = [band for band in range(BANDS) if loud[band] > floor] or [0, BANDS - 1]
    return RATE / 2 * heard[0] / BANDS, RATE / 2 * (heard[-1] + 1) / BANDS
