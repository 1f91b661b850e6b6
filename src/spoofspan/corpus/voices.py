"""A voice synthesizer: the built-in bona fide speech.

Source and filter: glottal pulses with jitter and shimmer, breath that follows the pulses, friction, a vocal tract of
eight formants and a nose, then a room, a microphone and the noise of a quiet place. A voice has a pitch, a length of
the tract, habits and a room of its own; every sentence is said differently.

Builder 1 had one shape of pulse and small rooms. From builder 3 on, voices are more unlike each other
(:func:`draw_varied_voice`): pulses are round or sharp, every second one may be weaker (a creak), pitch flutters, breath
is softer or stronger, rooms reach from a booth to a hall with reflections. What is new is drawn after what there was,
so that voices of builder 1 stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spoofspan.base.times import Float64
from spoofspan.corpus.frames import (
    FREQUENCIES,
    RATE,
    STEP,
    Complex128,
    add_noise,
    add_pulses,
    at_samples,
    pulses_of,
    resonator,
)
from spoofspan.corpus.phones import Tracks, say_something

UPPER_FORMANTS = (3500.0, 4500.0, 5500.0, 6500.0, 7500.0)
HIGHEST_FORMANT = 7200.0
BANDWIDTHS = (70.0, 90.0, 140.0, 220.0, 300.0, 380.0, 450.0, 500.0)
BREATH, INHALING = 0.016, 0.02  # amplitudes, the voice is 1
ROOM_SECONDS, WIDE_ROOM_SECONDS = 0.2, 0.5


@dataclass(frozen=True)
class Voice:
    """Properties of a voice that all sentences share."""

    pitch: float  # Hz
    tract: float  # factor on the formants; 1 is a tract of 17.5 cm
    formants: Float64  # further factors, one per formant: no two mouths are alike
    bandwidth: float  # factor
    glottis: float  # Hz: the rise of a pulse
    tilt: float  # Hz: above it the voice gets softer
    breathiness: float
    jitter: float  # of a period
    shimmer: float
    rate: float
    liveliness: float
    noise: float  # amplitude of the noise of the place
    noise_tilt: float
    room: Complex128  # response of room and microphone, zero in its second half
    damping: float = 1.0  # of the rise of a pulse: below 1 it is sharp, above it is round
    creak: float = 0.0  # by how much every second pulse is weaker, and late by a tenth of it
    flutter: float = 0.0  # of the pitch, slower than jitter: a part of it


def draw_voice(rng: np.random.Generator) -> Voice:
    """Make up a speaker."""
    high = rng.random() < 0.5
    pitch = float(np.exp(rng.normal(np.log(200.0 if high else 115.0), 0.12)))
    return Voice(
        pitch=pitch,
        tract=float(rng.normal(1.14 if high else 1.0, 0.035)),
        formants=rng.normal(1.0, 0.03, len(BANDWIDTHS)),
        bandwidth=float(rng.uniform(0.8, 1.3)),
        glottis=float(rng.uniform(0.9, 1.6) * pitch),
        tilt=float(rng.uniform(2000.0, 5000.0)),
        breathiness=float(np.exp(rng.normal(0.0, 0.5))),
        jitter=float(rng.uniform(0.004, 0.012)),
        shimmer=float(rng.uniform(0.03, 0.09)),
        rate=float(rng.uniform(0.85, 1.2)),
        liveliness=float(rng.uniform(0.7, 1.3)),
        noise=float(10 ** (rng.uniform(-58.0, -42.0) / 20)),
        noise_tilt=float(rng.uniform(0.2, 1.0)),
        room=_draw_room(rng),
    )


def draw_varied_voice(rng: np.random.Generator) -> Voice:
    """Make up a speaker who is less like the others."""
    voice = draw_voice(rng)
    return replace(
        voice,
        breathiness=voice.breathiness * float(np.exp(rng.normal(0.0, 0.7))),
        jitter=voice.jitter * float(rng.uniform(0.5, 2.5)),
        shimmer=voice.shimmer * float(rng.uniform(0.5, 2.0)),
        damping=float(rng.uniform(0.45, 1.5)),
        creak=float(rng.uniform(0.1, 0.5)) if rng.random() < 0.3 else 0.0,
        flutter=float(rng.uniform(0.002, 0.02)),
        noise=float(10 ** (rng.uniform(-64.0, -38.0) / 20)),
        room=_draw_room(rng, wide=True),
    )


def speak(voice: Voice, rng: np.random.Generator) -> Float64:
    """Say a sentence; the result is not levelled."""
    tracks = say_something(rng, voice.rate * rng.uniform(0.93, 1.07), voice.liveliness)
    samples = (tracks.voice.size - 1) * STEP
    tract = _tract(voice, tracks)
    voiced, phase = _voiced(voice, tracks, tract, samples, rng)
    breath = _breath(voice, tracks, tract, phase, samples, rng)
    friction = _friction(tracks, samples, rng)
    return _recorded(voice, voiced + breath + friction, rng)


def _tract(voice: Voice, tracks: Tracks) -> Complex128:
    """The response of the vocal tract in each frame."""
    factor = voice.tract * voice.formants
    upper = np.array(UPPER_FORMANTS) * factor[3:]
    heard = upper < HIGHEST_FORMANT  # near 8 kHz a pole would meet its mirror image
    widths = np.array(BANDWIDTHS[3:]) * voice.bandwidth
    # the upper formants stay where they are
    response = resonator(upper[heard], widths[heard]).prod(axis=0)[None, :]
    for number in range(3):
        width = BANDWIDTHS[number] * voice.bandwidth * (1 + tracks.nasal * (1.5 if number else 0.5))
        response = response * resonator(tracks.formants[:, number] * factor[number], width)
    # a nose swallows what is around 900 Hz
    dip = 1 / resonator(np.full(1, 900.0 * voice.tract), np.full(1, 150.0))[0]
    wide = resonator(np.full(1, 900.0 * voice.tract), np.full(1, 600.0))[0]
    nose = tracks.nasal[:, None]
    with_nose: Complex128 = response * (1 - nose + nose * dip * wide)
    return with_nose


def _voiced(
    voice: Voice, tracks: Tracks, tract: Complex128, samples: int, rng: np.random.Generator
) -> tuple[Float64, Float64]:
    """Glottal pulses through the tract, and the phase of the glottis at each sample."""
    pitch = voice.pitch * 2 ** (at_samples(tracks.semitones, samples) / 12)
    if voice.flutter:
        pitch = pitch * (1 + voice.flutter * _wander(samples, rng))
    phase = np.cumsum(pitch / RATE)
    before, times = pulses_of(phase)
    times += rng.normal(0.0, voice.jitter, times.size) * RATE / pitch[before]
    loud = np.interp(times, np.arange(samples), at_samples(tracks.voice, samples))
    kept = (loud > 1e-3) & (times > 0) & (times < samples - 1)
    times, loud = times[kept], loud[kept]
    gains = loud * np.exp(rng.normal(0.0, voice.shimmer, times.size)) * np.sqrt(RATE / pitch[times.astype(np.int64)])
    if voice.creak:
        gains[1::2] *= 1 - voice.creak
        times[1::2] += 0.1 * voice.creak * RATE / voice.pitch
        times = np.minimum(times, samples - 1.0)
    # softer is darker, and no two pulses are quite alike
    tilt = voice.tilt * (0.4 + 0.6 * loud) * np.exp(rng.normal(0.0, 0.08, times.size))
    at = 1j * FREQUENCIES / voice.glottis
    rise = at / ((1 - at) ** 2 if voice.damping == 1 else 1 - 2 * voice.damping * at + at**2)
    glottal = rise[None, :] / (1 + 1j * FREQUENCIES[None, :] / tilt[:, None])
    rows = np.rint(times / STEP).astype(np.int64)
    sound = add_pulses(times, gains, glottal * tract[np.minimum(rows, len(tract) - 1)], samples)
    sounding = at_samples(tracks.voice, samples) > 0.5
    power = np.sqrt(np.mean(sound[sounding] ** 2)) if sounding.any() else 1.0
    return sound / power, phase


def _wander(samples: int, rng: np.random.Generator) -> Float64:
    """A slow movement of about 1, between one and eight times a second."""
    time = np.arange(samples) / RATE
    waves = [np.sin(2 * np.pi * (rng.uniform(1, 8) * time + rng.random())) for _ in range(4)]
    slow: Float64 = np.sum(waves, axis=0) / np.sqrt(2)
    return slow


def _breath(
    voice: Voice, tracks: Tracks, tract: Complex128, phase: Float64, samples: int, rng: np.random.Generator
) -> Float64:
    """Turbulence at the glottis, strongest while it is open, and breath taken in pauses."""
    amplitude = BREATH * voice.breathiness * tracks.breath + INHALING * tracks.inhaling
    open_glottis = 1 + 0.6 * np.cos(2 * np.pi * phase) * (at_samples(tracks.voice, samples) > 0.1)
    noise = rng.standard_normal(samples) * open_glottis
    power = np.sqrt(np.mean(np.abs(tract) ** 2, axis=1, keepdims=True))
    return add_noise(noise, amplitude[:, None] * tract / power)


def _friction(tracks: Tracks, samples: int, rng: np.random.Generator) -> Float64:
    """Turbulence in a narrow place of the mouth."""
    distance = (FREQUENCIES[None, :] - tracks.centre[:, None]) / tracks.width[:, None]
    shape = 1 / (1 + distance**2) + 0.03
    shape /= np.sqrt(np.mean(shape**2, axis=1, keepdims=True))
    return add_noise(rng.standard_normal(samples), tracks.friction[:, None] * shape)


def _draw_room(rng: np.random.Generator, *, wide: bool = False) -> Complex128:
    """Direct sound, a few reflections and a tail; a microphone with a colour."""
    length = int((WIDE_ROOM_SECONDS if wide else ROOM_SECONDS) * RATE)
    time = np.arange(length) / RATE
    decay = rng.uniform(0.08, 0.6) if wide else rng.uniform(0.12, 0.3)  # seconds for 60 dB
    tail = rng.standard_normal(length) * 10 ** (-3 * time / decay)
    tail[: int(0.003 * RATE)] = 0.0
    tail *= 10 ** (rng.uniform(-26.0 if wide else -20.0, -6.0 if wide else -10.0) / 20) / np.sqrt(np.sum(tail**2))
    if wide:
        for place in rng.integers(int(0.002 * RATE), int(0.03 * RATE), rng.integers(0, 6)).tolist():
            tail[place] += rng.uniform(-0.3, 0.3)
    tail[0] = 1.0
    response = np.fft.rfft(tail, 2 * length)
    hertz = np.fft.rfftfreq(2 * length, 1 / RATE)
    octaves = np.log2(np.maximum(hertz, 60.0) / 60.0)
    colour = np.interp(octaves, np.linspace(0, octaves[-1], 8), rng.normal(0.0, 4.0 if wide else 2.0, 8))
    low_cut = 1 / (1 - 1j * rng.uniform(50.0, 90.0) / np.maximum(hertz, 1.0)) ** 2
    coloured: Complex128 = response * 10 ** (colour / 20) * low_cut
    return coloured


def _recorded(voice: Voice, speech: Float64, rng: np.random.Generator) -> Float64:
    """The speech in its room, with the noise of the place."""
    room = np.fft.irfft(voice.room)[: voice.room.size - 1]
    size = 1 << (speech.size + room.size - 1).bit_length()
    heard = np.fft.irfft(np.fft.rfft(speech, size) * np.fft.rfft(room, size), size)[: speech.size]
    spectrum = np.fft.rfft(rng.standard_normal(speech.size), size)
    hertz = np.fft.rfftfreq(size, 1 / RATE)
    spectrum *= (np.maximum(hertz, 40.0) / 1000.0) ** (-voice.noise_tilt / 2)
    noise = np.fft.irfft(spectrum, size)[: speech.size]
    noise *= voice.noise * 10 ** (rng.uniform(-0.5, 0.5) / 20) / np.sqrt(np.mean(noise**2))
    return heard + noise
