"""The built-in vocoders: each analyses speech, throws something away, and makes it anew.

=======  ====================  =====================================================================================
attack   vocoder               what is lost
=======  ====================  =====================================================================================
``A01``  griffin-lim           phases, and what 40 mel bands do not tell
``A02``  linear-prediction     everything but an all-pole envelope, the pitch and whether a frame is voiced
``A03``  harmonics-noise       jitter and shimmer; below 2 kHz voiced frames have harmonics only, above noise only
``A04``  phase-vocoder         how the phases of neighbouring partials belong together; by default unseen in training
``A05``  mixed-excitation      phases: a smooth envelope of minimum phase, pulses and noise mixed in each of five bands
``A06``  sinusoidal            what the 40 strongest partials of a frame do not tell
``A07``  overlap-add           the melody: pitch periods, as they are, further apart or closer together
``A08``  transform-codec       small coefficients of a lapped transform, and the last bits of the others
=======  ====================  =====================================================================================

The two parametric ones of these (linear-prediction, harmonics-noise) take part of their noise from a short table that
repeats, as small codecs do. None of the vocoders changes levels or the long-term spectrum much: the traces are in the
fine structure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Float64, Int64
from spoofspan.corpus.frames import (
    FREQUENCIES,
    RATE,
    SIZE,
    STEP,
    Complex128,
    add_noise,
    add_pulses,
    at_samples,
    cut,
    pulses_of,
    smoothed,
)

WINDOW, HOP = 1024, 256  # 64 and 16 ms


def _window(size: int) -> Float64:
    shape: Float64 = np.sin(np.pi * (np.arange(size) + 0.5) / size)
    return shape


def analyse(sound: Float64) -> Complex128:
    """Spectra of overlapping windows, one row each; the first window is centred on the first sample."""
    return np.fft.rfft(cut(sound, WINDOW, HOP) * _window(WINDOW))


def resynthesise(spectra: Complex128, samples: int) -> Float64:
    """The sound whose spectra come closest to these (Griffin and Lim, 1984)."""
    window = _window(WINDOW)
    pieces = np.fft.irfft(spectra, WINDOW) * window
    sound = _overlapped(pieces, HOP)
    weight = _overlapped(np.broadcast_to(window**2, pieces.shape), HOP)
    middle = slice(WINDOW // 2, WINDOW // 2 + samples)
    return sound[middle] / np.maximum(weight[middle], 1e-8)


def _overlapped(pieces: Float64, hop: int) -> Float64:
    """Add pieces, each ``hop`` after the one before."""
    count, size = pieces.shape
    per_piece = -(-size // hop)
    out = np.zeros((count + per_piece, hop))
    for part in range(per_piece):
        block = pieces[:, part * hop : (part + 1) * hop]
        out[part : part + count, : block.shape[1]] += block
    return out.ravel()


LOWEST, HIGHEST = 65.0, 400.0  # Hz
PITCH_WINDOW = 640  # samples: 40 ms
LISTENED_TO = 1000.0  # Hz
VOICED = 0.5  # correlation from which a frame counts as voiced


@dataclass(frozen=True)
class Pitch:
    """Pitch and voicing in frames of 5 ms."""

    hertz: Float64  # in unvoiced frames, what lies between the neighbours
    voiced: npt.NDArray[np.bool_]


def find_pitch(sound: Float64) -> Pitch:
    """Find the pitch of each frame."""
    own = np.hanning(PITCH_WINDOW)
    power = np.abs(np.fft.rfft(cut(sound, PITCH_WINDOW) * own, 2 * PITCH_WINDOW)) ** 2
    power /= 1 + (np.fft.rfftfreq(2 * PITCH_WINDOW, 1 / RATE) / LISTENED_TO) ** 4  # high partials need exact periods
    correlation = np.fft.irfft(power)
    window = np.fft.irfft(np.abs(np.fft.rfft(own, 2 * PITCH_WINDOW)) ** 2)
    lags = np.arange(int(RATE / HIGHEST), int(RATE / LOWEST) + 1)
    energy = correlation[:, :1]
    ratio = correlation[:, lags] / np.maximum(energy, 1e-20) * (window[0] / window[lags])
    peak = ratio.max(axis=1)
    # a multiple of the period correlates as well: the shortest lag that is nearly as good is meant
    inner = ratio[:, 1:-1]
    local = (inner >= ratio[:, :-2]) & (inner >= ratio[:, 2:]) & (inner > 0.9 * peak[:, None])
    first = np.where(local.any(axis=1), local.argmax(axis=1) + 1, ratio.argmax(axis=1))
    loud = energy[:, 0] > 1e-4 * np.percentile(energy, 95)
    voiced = (peak > VOICED) & loud
    hertz = RATE / lags[first]
    voiced, hertz = _median(voiced.astype(np.float64)) > 0.5, _median(hertz)
    if not voiced.any():
        return Pitch(np.full(len(power), 120.0), voiced)
    known = np.flatnonzero(voiced)
    return Pitch(np.interp(np.arange(len(power)), known, hertz[known]), voiced)


def _median(track: Float64, size: int = 5) -> Float64:
    padded = np.pad(track, size // 2, mode="edge")
    middle: Float64 = np.median(np.lib.stride_tricks.sliding_window_view(padded, size), axis=1)
    return middle


MEL_BANDS = 40
ITERATIONS = 10
MOMENTUM = 0.99
ORDER = 16  # of linear prediction
HARMONICS_UP_TO = 2000.0  # Hz
NOISE_BANDS = np.arange(0, FREQUENCIES.size - 1, 32)  # bins where bands of 500 Hz begin
HELD = 4  # frames
TABLE = (130, 260)  # samples of noise that repeat: the length is drawn
REPEATED = 0.7  # amplitude of that noise; the rest of the power is fresh
STRETCH = 1.5

Vocoder = Callable[[Float64, np.random.Generator], Float64]


def griffin_lim(sound: Float64, rng: np.random.Generator) -> Float64:
    """Magnitudes from mel bands, phases by iteration (Griffin and Lim, 1984; fast by Perraudin et al., 2013)."""
    magnitudes = _through_mel(np.abs(analyse(sound)))
    spectra = magnitudes * np.exp(2j * np.pi * rng.random(magnitudes.shape))
    before = np.zeros_like(spectra)
    for _ in range(ITERATIONS):
        consistent = analyse(resynthesise(spectra, sound.size))
        ahead = consistent + MOMENTUM * (consistent - before)
        before = consistent
        spectra = magnitudes * (ahead / np.maximum(np.abs(ahead), 1e-12))
    return resynthesise(spectra, sound.size)


def _through_mel(magnitudes: Float64) -> Float64:
    """Magnitudes as the mel bands tell them: the power of a band is spread evenly, and bands blend into each other."""
    hertz = np.fft.rfftfreq(WINDOW, 1 / RATE)
    mel = 2595 * np.log10(1 + hertz / 700)
    centres = np.linspace(mel[0], mel[-1], MEL_BANDS)
    distance = np.abs(mel[None, :] - centres[:, None])
    near = np.maximum(1 - distance / (centres[1] - centres[0]), 0.0)
    near[np.arange(MEL_BANDS), distance.argmin(axis=1)] += 1e-3  # low bands are narrower than a bin
    near /= near.sum(axis=1, keepdims=True)
    power = magnitudes**2
    bands = np.empty((len(magnitudes), MEL_BANDS))
    for band, weights in enumerate(near):
        inside = np.flatnonzero(weights)
        bands[:, band] = (power[:, inside] * weights[inside]).sum(axis=1)
    position = (mel - centres[0]) / (centres[1] - centres[0])
    low = np.minimum(position.astype(np.int64), MEL_BANDS - 2)
    part = position - low
    told: Float64 = np.sqrt(bands[:, low] * (1 - part) + bands[:, low + 1] * part)
    return told


def linear_prediction(sound: Float64, rng: np.random.Generator) -> Float64:
    """Pulses or noise through an all-pole envelope."""
    pitch = find_pitch(sound)
    envelope = _all_pole(sound)
    times, rows, gains = _pulses(pitch, sound.size)
    pulses = add_pulses(times, gains * pitch.voiced[rows], envelope[rows], sound.size)
    unvoiced = smoothed((~pitch.voiced).astype(np.float64), 3)
    return pulses + add_noise(_table_noise(sound.size, rng), envelope * unvoiced[:, None])


def _pulses(pitch: Pitch, samples: int) -> tuple[Float64, Int64, Float64]:
    """A pulse in each period: its time in samples, its frame, and the gain that makes their power 1."""
    _, times = pulses_of(np.cumsum(at_samples(pitch.hertz, samples) / RATE))
    rows = np.rint(times / STEP).astype(np.int64)
    return times, rows, np.sqrt(RATE / pitch.hertz[rows])


def _all_pole(sound: Float64) -> Complex128:
    """The all-pole envelope of each frame, scaled to the frame's power (Levinson-Durbin, all frames at once)."""
    window = np.hanning(400)
    correlation = np.fft.irfft(np.abs(np.fft.rfft(cut(sound, 400) * window, SIZE)) ** 2)[:, : ORDER + 1]
    correlation = correlation / np.sum(window**2)
    lag = np.arange(ORDER + 1)
    correlation *= np.exp(-0.5 * (2 * np.pi * 40.0 * lag / RATE) ** 2)  # widens peaks by 40 Hz
    correlation[:, 0] = correlation[:, 0] * (1 + 1e-5) + 1e-12
    frames = len(correlation)
    coefficients = np.zeros((frames, ORDER + 1))
    coefficients[:, 0] = 1.0
    error = correlation[:, 0].copy()
    for order in range(1, ORDER + 1):
        past = (coefficients[:, :order] * correlation[:, order:0:-1]).sum(axis=1)
        reflection = -past / error
        coefficients[:, : order + 1] += reflection[:, None] * coefficients[:, order::-1][:, : order + 1]
        error *= 1 - reflection**2
    envelope: Complex128 = np.sqrt(error)[:, None] / np.fft.rfft(coefficients, SIZE)
    return envelope


def _table_noise(samples: int, rng: np.random.Generator) -> Float64:
    """White noise of power 1, much of it from a table that repeats."""
    table = rng.standard_normal(int(rng.integers(*TABLE)))
    table /= np.sqrt(np.mean(table**2))
    fresh = rng.standard_normal(samples)
    noise: Float64 = REPEATED * np.resize(table, samples) + np.sqrt(1 - REPEATED**2) * fresh
    return noise


def harmonics_and_noise(sound: Float64, rng: np.random.Generator) -> Float64:
    """Harmonics with smooth amplitudes and locked phases, noise above and in unvoiced frames."""
    pitch = find_pitch(sound)
    window = np.hanning(480)
    magnitudes = np.abs(np.fft.rfft(cut(sound, 480) * window, SIZE)) / np.sqrt(np.sum(window**2))
    voiced = smoothed(pitch.voiced.astype(np.float64), 5)
    hertz = at_samples(pitch.hertz, sound.size)
    phase = 2 * np.pi * np.cumsum(hertz / RATE)
    harmonic = np.zeros(sound.size)
    frames = np.arange(len(magnitudes))
    for number in range(1, int(HARMONICS_UP_TO / pitch.hertz.min()) + 1):
        frequency = pitch.hertz * number
        at = np.minimum(frequency * SIZE / RATE, FREQUENCIES.size - 2)
        low = at.astype(np.int64)
        amplitude = magnitudes[frames, low] * (1 - at + low) + magnitudes[frames, low + 1] * (at - low)
        # a harmonic of amplitude a has the peak a / 2 * sum(window) in the spectrum
        amplitude *= 2 * np.sqrt(np.sum(window**2)) / np.sum(window) * voiced * (frequency < HARMONICS_UP_TO)
        harmonic += at_samples(amplitude, sound.size) * np.cos(number * phase + 0.05 * number**2)
    noisy = 1 - voiced[:, None] * (FREQUENCIES < HARMONICS_UP_TO)[None, :]
    return harmonic + add_noise(_table_noise(sound.size, rng), _coarse(magnitudes) * noisy)


def _coarse(magnitudes: Float64) -> Float64:
    """Magnitudes as a small codec sends them: one number per band, every 20 ms."""
    bands = np.add.reduceat(magnitudes**2, NOISE_BANDS, axis=1)
    widths = np.diff(NOISE_BANDS, append=FREQUENCIES.size)
    sent = (bands / widths)[np.arange(len(bands)) // HELD * HELD]
    told: Float64 = np.sqrt(np.repeat(sent, widths, axis=1))
    return told


def phase_vocoder(sound: Float64, rng: np.random.Generator) -> Float64:
    """Slower and faster again by half, each partial with a phase of its own (Flanagan and Golden, 1966)."""
    slow = _stretched(sound, STRETCH)
    back = _stretched(slow, sound.size / slow.size)
    return back[: sound.size]


def _stretched(sound: Float64, factor: float) -> Float64:
    """Change the length, not the pitch."""
    spectra = analyse(sound)
    samples = round(sound.size * factor)
    places = np.arange(0, -(-samples // HOP) + 1) / factor
    low = np.minimum(places.astype(np.int64), len(spectra) - 2)
    part = np.clip(places - low, 0.0, 1.0)[:, None]
    magnitudes = np.abs(spectra[low]) * (1 - part) + np.abs(spectra[low + 1]) * part
    expected = 2 * np.pi * HOP * np.arange(spectra.shape[1]) / WINDOW
    turned = np.angle(spectra[low + 1]) - np.angle(spectra[low]) - expected
    advance = expected + turned - 2 * np.pi * np.round(turned / (2 * np.pi))
    phases = np.cumsum(np.concatenate((np.angle(spectra[:1]), advance[:-1])), axis=0)
    return resynthesise(magnitudes * np.exp(1j * phases), samples)


# ---------------------------------------------------------------- parameters alone

ENVELOPE_WINDOW = 480  # samples
LIFTER = 24  # cepstral coefficients that are kept of an envelope
VOICED_UP_TO = np.array([500.0, 1500.0, 3000.0, 4500.0, 8000.0])  # Hz: each band is mixed of pulses and noise
PARTIALS = 40
PARTIAL_HOP = 160  # samples


def mixed_excitation(sound: Float64, rng: np.random.Generator) -> Float64:
    """Pulses and noise, mixed in each band, through a smooth envelope of minimum phase (as WORLD and MELP do)."""
    pitch = find_pitch(sound)
    window = np.hanning(ENVELOPE_WINDOW)
    power = np.abs(np.fft.rfft(cut(sound, ENVELOPE_WINDOW) * window, SIZE)) ** 2
    power /= np.sum(window**2)
    envelope = _minimum_phase(np.log(smoothed(power, 3) + 1e-12) / 2)
    tones = _voicing(pitch.voiced)
    times, rows, gains = _pulses(pitch, sound.size)
    pulses = add_pulses(times, gains, envelope[rows] * np.sqrt(tones[rows]), sound.size)
    return pulses + add_noise(rng.standard_normal(sound.size), envelope * np.sqrt(1 - tones))


def _minimum_phase(logarithm: Float64) -> Complex128:
    """The envelope of which the logarithm is given: its smooth part, with the phase that belongs to it."""
    cepstrum = np.fft.irfft(logarithm, SIZE)
    cepstrum[:, LIFTER:] = 0.0
    cepstrum[:, 1:LIFTER] *= 2
    smooth: Complex128 = np.exp(np.fft.rfft(cepstrum, SIZE))
    return smooth


def _voicing(voiced: npt.NDArray[np.bool_]) -> Float64:
    """The share of pulses at each frequency: less of them the higher it is, none where nothing is voiced."""
    share = np.interp(FREQUENCIES, VOICED_UP_TO, [0.98, 0.95, 0.8, 0.5, 0.2])
    tones: Float64 = smoothed(voiced.astype(np.float64), 5)[:, None] * share[None, :]
    return np.clip(tones, 0.0, 1.0)


def sinusoidal(sound: Float64, rng: np.random.Generator) -> Float64:
    """The strongest partials of every 10 ms, with phases that start anew (McAulay and Quatieri, but no tracks)."""
    window = np.hanning(4 * PARTIAL_HOP)
    magnitudes = np.abs(np.fft.rfft(cut(sound, window.size, PARTIAL_HOP) * window, SIZE)) * 2 / window.sum()
    peaks = np.zeros_like(magnitudes)
    inner = magnitudes[:, 1:-1]
    peaks[:, 1:-1] = inner * ((inner >= magnitudes[:, :-2]) & (inner > magnitudes[:, 2:]))
    few = np.argsort(-peaks, axis=1, kind="stable")[:, :PARTIALS]
    amplitudes = np.take_along_axis(peaks, few, axis=1)
    time = np.arange(-PARTIAL_HOP, PARTIAL_HOP)
    fade = np.hanning(2 * PARTIAL_HOP + 1)[:-1]
    start = rng.random((few.shape[1],))  # of partials by their rank: a phase that nothing connects with the one before
    phases = 2 * np.pi * (FREQUENCIES[few][:, :, None] / RATE * time[None, None, :] + start[None, :, None])
    pieces = (amplitudes[:, :, None] * np.cos(phases)).sum(axis=1) * fade
    return _overlapped(pieces, PARTIAL_HOP)[PARTIAL_HOP : PARTIAL_HOP + sound.size]


# ---------------------------------------------------------------- the waveform, in pieces

SHIFTS = (0.84, 0.92, 1.09, 1.19)  # factors on the pitch
BLOCK = 320  # coefficients of the transform: 20 ms
CODED_BANDS = np.unique(np.geomspace(4, BLOCK, 21).astype(np.int64))
STEPS_PER_BAND = 1.6  # a coefficient is rounded to so many of its band's RMS


def overlap_add(sound: Float64, rng: np.random.Generator) -> Float64:
    """Another melody: windows of two periods around each pulse, put down at other distances (PSOLA)."""
    pitch = find_pitch(sound)
    hertz = at_samples(pitch.hertz, sound.size)
    factor = float(rng.choice(SHIFTS))
    marks = _marks(sound, hertz)
    voiced = at_samples(pitch.voiced.astype(np.float64), sound.size) > 0.5
    out, weight = np.zeros(sound.size), np.zeros(sound.size)
    place = float(marks[0])
    while place < sound.size:
        at = min(int(place), sound.size - 1)
        mark = int(marks[np.abs(marks - place).argmin()])
        period = max(int(RATE / hertz[mark]), 16)
        first, last = max(-period, -mark, -at), min(period, sound.size - mark, sound.size - at)
        window = np.hanning(2 * period + 1)[period + first : period + last]
        out[at + first : at + last] += sound[mark + first : mark + last] * window
        weight[at + first : at + last] += window
        place += RATE / hertz[at] / (factor if voiced[at] else 1.0)
    return np.where(weight > 0.05, out / np.maximum(weight, 0.05), sound)


def _marks(sound: Float64, hertz: Float64) -> Float64:
    """One place in each period, at its loudest sample where the last one leaves room for it."""
    marks = []
    place = 0.0
    while place < sound.size:
        period = RATE / hertz[int(place)]
        low, high = int(max(place - period / 4, 0)), int(min(place + period / 4 + 1, sound.size))
        marks.append(float(low + np.abs(sound[low:high]).argmax()))
        place = max(marks[-1], place) + period
    return np.array(marks)


def transform_codec(sound: Float64, rng: np.random.Generator) -> Float64:
    """A small codec: a lapped cosine transform, each band rounded to steps of its own size; small ones become noise."""
    window = _window(2 * BLOCK)
    coefficients = _lapped(cut(sound, 2 * BLOCK, BLOCK) * window)
    starts = np.concatenate(([0], CODED_BANDS[:-1]))
    widths = np.diff(starts, append=BLOCK)
    size = np.sqrt(np.add.reduceat(coefficients**2, starts, axis=1) / widths)
    step = np.repeat(STEPS_PER_BAND * size, widths, axis=1) + 1e-12
    sent = np.rint(coefficients / step) * step
    lost = sent == 0
    noise = 0.3 * step * rng.uniform(-1, 1, sent.shape)
    back = _lapped_back(np.where(lost, noise, sent)) * window
    return _overlapped(back, BLOCK)[BLOCK : BLOCK + sound.size]


def _lapped(blocks: Float64) -> Float64:
    """The modified discrete cosine transform, by an FFT of twice the length."""
    turned = blocks * np.exp(-1j * np.pi * np.arange(2 * BLOCK) / (2 * BLOCK))
    spectrum = np.fft.fft(turned, axis=1)[:, :BLOCK]
    shift = np.exp(-1j * np.pi / BLOCK * (np.arange(BLOCK) + 0.5) * (0.5 + BLOCK / 2))
    real: Float64 = np.real(spectrum * shift) * np.sqrt(2 / BLOCK)
    return real


def _lapped_back(coefficients: Float64) -> Float64:
    """Its inverse, before the windows are added."""
    shift = np.exp(1j * np.pi / BLOCK * (np.arange(BLOCK) + 0.5) * (0.5 + BLOCK / 2))
    padded = np.zeros((len(coefficients), 2 * BLOCK), np.complex128)
    padded[:, :BLOCK] = coefficients * shift
    turned = np.fft.ifft(padded, axis=1) * 2 * BLOCK * np.exp(1j * np.pi * np.arange(2 * BLOCK) / (2 * BLOCK))
    real: Float64 = np.real(turned) * np.sqrt(2 / BLOCK)
    return real


# ---------------------------------------------------------------- all of them

VOCODERS: dict[str, Vocoder] = {
    "griffin-lim": griffin_lim,
    "linear-prediction": linear_prediction,
    "harmonics-noise": harmonics_and_noise,
    "phase-vocoder": phase_vocoder,
    "mixed-excitation": mixed_excitation,
    "sinusoidal": sinusoidal,
    "overlap-add": overlap_add,
    "transform-codec": transform_codec,
}
ATTACKS = {f"A{number:02d}": name for number, name in enumerate(VOCODERS, 1)}  # as built-in corpora call them
UNSEEN = "A04"  # kept for evaluation unless told otherwise
