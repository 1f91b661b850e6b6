"""Sound files: 16-bit WAV by the standard library, everything else by soundfile, other rates by soxr.

A sample of a file is a whole number from -32768 to 32767; here it is that number divided by 32768, so that reading and
writing again changes nothing.
"""

from __future__ import annotations

import io
import wave
from pathlib import Path

import numpy as np

from spoofspan.base.errors import DataError
from spoofspan.corpus.frames import RATE, Float64

FULL_SCALE = 32768
SUFFIXES = (".wav", ".flac", ".ogg", ".opus", ".mp3", ".aiff", ".aif")
INSTALL = "pip install 'spoofspan[cm]'"


def read_sound(path: Path) -> Float64:
    """Read a file of one channel at 16 kHz; other rates are resampled."""
    try:
        with wave.open(str(path), "rb") as file:
            if file.getsampwidth() == 2:
                channels, rate = file.getnchannels(), file.getframerate()
                data = file.readframes(file.getnframes())
                sound = np.frombuffer(data[: len(data) // 2 * 2], "<i2").astype(np.float64) / FULL_SCALE
                return _at_rate(path, _one_channel(path, sound.reshape(-1, channels)), rate)
    except (wave.Error, EOFError):  # another kind of file, or of samples
        pass
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    try:
        import soundfile
    except ImportError:
        raise DataError(
            f"{path}: this is no 16-bit WAV file, and other files need soundfile; {INSTALL}, or convert it"
        ) from None
    try:
        samples, rate = soundfile.read(str(path), dtype="float64", always_2d=True)
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise DataError(f"{path}: cannot be read ({error}); convert it to WAV, or leave it out") from None
    return _at_rate(path, _one_channel(path, samples), int(rate))


def _one_channel(path: Path, samples: Float64) -> Float64:
    if samples.shape[1] != 1:
        raise DataError(f"{path}: {samples.shape[1]} channels; a corpus has one: choose or mix them first")
    if not samples.size:
        raise DataError(f"{path}: there is no sound in the file; leave it out")
    return samples[:, 0]


def _at_rate(path: Path, sound: Float64, rate: int) -> Float64:
    if rate == RATE:
        return sound
    try:
        import soxr
    except ImportError:
        raise DataError(
            f"{path}: {rate} samples per second, a corpus has {RATE}, and resampling needs soxr; {INSTALL}, "
            "or resample it"
        ) from None
    resampled: Float64 = soxr.resample(sound, rate, RATE)
    return resampled


def whole_samples(sound: Float64) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    """The samples as a file has them."""
    return np.clip(np.rint(sound * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


def wav_bytes(sound: Float64) -> bytes:
    """A 16-bit WAV file of one channel at 16 kHz."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(whole_samples(sound).astype("<i2").tobytes())
    return buffer.getvalue()
