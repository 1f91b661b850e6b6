"""Sound files of any kind and rate: whole or in blocks, at 16 kHz or as they are; and 16-bit WAV files written.

soundfile reads them and soxr resamples (``pip install 'spoofspan[cm]'``); without soundfile, WAV files of 16 bits are
still read. A sample lies between -1 and 1: a file's whole number divided by 32768, so that reading and writing again
changes nothing. A file with several channels is refused unless someone says which to take (``channel="0"``) or to mix
them (``channel="mix"``).
"""

from __future__ import annotations

import io
import wave
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.extras import INSTALL_CM
from spoofspan.base.times import Float64

Samples = npt.NDArray[np.float32]
RATE = 16_000  # samples a second of everything that is asked for at one rate
SUFFIXES = (".wav", ".flac", ".ogg", ".opus", ".mp3", ".aiff", ".aif", ".au", ".sph", ".w64", ".rf64", ".caf")
BLOCK = 1 << 18  # samples that are read at once
FULL_SCALE = 32768


@dataclass(frozen=True)
class Sound:
    """A recording that is read when asked for: a file, or bytes that came by a pipe."""

    where: Path | bytes
    name: str
    channel: str | None = None

    @property
    def samples(self) -> int:
        """How many samples it has at 16 kHz."""
        with self._opened() as file:
            return -(-file.frames * RATE // file.rate)

    def read(self, start: int = 0, stop: int | None = None) -> Samples:
        """The samples from start to stop at 16 kHz; ``stop - start`` of them if both are given."""
        with self._opened() as file:
            native = file.rate == RATE
            if native and start:
                file.seek(start)
            wanted = None if stop is None else stop - start
            pieces: list[Samples] = []
            for piece in self._at_rate(file):
                pieces.append(piece)
                if wanted is not None and sum(map(len, pieces)) >= wanted + (0 if native else start):
                    break
        found = np.concatenate([np.zeros(0, np.float32), *pieces])[0 if native else start :]
        # a resampler may be a sample off its forecast
        return found if wanted is None else np.pad(found[:wanted], (0, max(wanted - found.size, 0)))

    def blocks(self) -> Iterator[Samples]:
        """The samples at 16 kHz, some at a time; memory does not grow with the length."""
        with self._opened() as file:
            yield from self._at_rate(file)

    def _at_rate(self, file: _File) -> Iterator[Samples]:
        if file.rate == RATE:
            yield from self._one_channel(file)
            return
        resampler = self._soxr(file).ResampleStream(file.rate, RATE, 1, dtype="float32")
        for block in self._one_channel(file):
            yield resampler.resample_chunk(block)
        yield resampler.resample_chunk(np.zeros(0, np.float32), last=True)

    def _soxr(self, file: _File) -> Any:
        if find_spec("soxr") is None:
            raise UsageError(f"{self.name}: {file.rate} samples a second; resampling needs soxr: {INSTALL_CM}")
        import soxr

        return soxr

    def _one_channel(self, file: _File, dtype: str = "float32") -> Iterator[Any]:
        channels = file.channels
        if channels > 1 and self.channel is None:
            raise UsageError(
                f"{self.name}: {channels} channels; choose one with channel= (--channel 0), or mix them (--channel mix)"
            )
        if self.channel not in (None, "mix") and int(str(self.channel)) >= channels:
            raise UsageError(f"{self.name}: there is no channel {self.channel}, only 0 to {channels - 1}")
        for block in file.blocks(dtype):
            if not np.isfinite(block).all():
                raise DataError(f"{self.name}: a sample is not a finite number; repair the file")
            if channels == 1:
                yield block[:, 0]
            elif self.channel == "mix":
                yield block.mean(1)
            else:
                yield np.ascontiguousarray(block[:, int(str(self.channel))])

    @contextmanager
    def _opened(self) -> Iterator[_File]:
        stream: BinaryIO
        try:
            stream = self.where.open("rb") if isinstance(self.where, Path) else io.BytesIO(self.where)
        except OSError as error:
            raise DataError(f"{self.name}: cannot be read ({error.strerror or error})") from None
        with stream:
            file: _File = _SoundFile(stream, self.name) if find_spec("soundfile") else _wave(stream, self.name)
            if not file.frames:
                raise DataError(f"{self.name}: there is no sound in the file; leave it out")
            yield file


def read_sound(path: Path) -> Float64:
    """The samples of a file with one channel, at 16 kHz and in double precision."""
    sound = Sound(path, str(path))
    with sound._opened() as file:
        if file.channels != 1:
            raise DataError(f"{path}: {file.channels} channels; a corpus has one: choose or mix them first")
        whole: Float64 = np.concatenate(list(sound._one_channel(file, "float64")))
        resampled: Float64 = whole if file.rate == RATE else sound._soxr(file).resample(whole, file.rate, RATE)
    return resampled


def check_channel(channel: str | None) -> str | None:
    """Return which channel is meant, or say what is wrong with it.

    >>> check_channel("mix"), check_channel("1")
    ('mix', '1')
    """
    if channel is not None and channel != "mix" and not channel.isdecimal():
        raise UsageError(f"channel {channel!r}: must be mix or the number of a channel, from 0 on")
    return channel


def sounds_in(folder: Path, channel: str | None = None) -> dict[str, Sound]:
    """All sound files below a folder by their name without its ending."""
    if not folder.is_dir():
        raise UsageError(f"there is no folder {str(folder)!r}")
    found: dict[str, Sound] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in SUFFIXES and not path.name.startswith("."):
            if path.stem in found:
                raise DataError(
                    f"{path} and {found[path.stem].name} would both be utterance {path.stem!r}; rename one of them"
                )
            found[path.stem] = Sound(path, str(path), channel)
    return found


# ---------------------------------------------------------------- two ways to open a file


class _SoundFile:
    """A file of any kind, by soundfile; ``blocks`` are (samples, channels) at the rate of the file."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        import soundfile

        self._name, self._error = name, soundfile.LibsndfileError
        try:
            self._file = file = soundfile.SoundFile(stream)
        except (self._error, TypeError) as error:
            raise DataError(f"{name}: cannot be read as sound ({error}); convert it, or leave it out") from None
        self.rate, self.channels, self.frames = file.samplerate, file.channels, file.frames

    def seek(self, sample: int) -> None:
        self._file.seek(min(sample, self.frames))

    def blocks(self, dtype: str) -> Iterator[Any]:
        while True:
            try:
                block = self._file.read(BLOCK, dtype=dtype, always_2d=True)
            except self._error as error:
                raise DataError(f"{self._name}: cannot be read to its end ({error}); repair the file") from None
            if not len(block):
                return
            yield block


class _WaveFile:
    """A WAV file of 8, 16 or 32 bits, by the standard library."""

    def __init__(self, stream: BinaryIO) -> None:
        self._file = wave.open(stream, "rb")  # noqa: SIM115  (closed with its stream)
        self.channels, self.bytes, self.rate, self.frames = self._file.getparams()[:4]

    def seek(self, sample: int) -> None:
        self._file.setpos(min(sample, self.frames))

    def blocks(self, dtype: str) -> Iterator[Any]:
        whole = self.bytes * self.channels
        while data := self._file.readframes(BLOCK):
            values = np.frombuffer(data[: len(data) // whole * whole], {1: "u1", 2: "<i2", 4: "<i4"}[self.bytes])
            samples = values.reshape(-1, self.channels).astype(dtype) - (128 if self.bytes == 1 else 0)
            yield samples / samples.dtype.type(2 ** (8 * self.bytes - 1))


_File = _SoundFile | _WaveFile


def _wave(stream: BinaryIO, name: str) -> _File:
    with suppress(wave.Error, EOFError):
        file = _WaveFile(stream)
        if file.bytes == 2:
            return file
    raise UsageError(f"{name}: this is no WAV file of 16 bits, and other files need soundfile: {INSTALL_CM}")


# ---------------------------------------------------------------- WAV files


def read_wave(path: Path) -> tuple[Float64, float]:
    """The first channel of a WAV file of whole numbers, and its sample rate."""
    try:
        with path.expanduser().open("rb") as stream:
            file = _WaveFile(stream)
            if file.bytes not in (1, 2, 4):
                raise UsageError(f"{path}: samples of {8 * file.bytes} bits are not read; convert it to 16 bits")
            blocks = [block[:, 0] for block in file.blocks("float64")]
    except (OSError, EOFError, wave.Error) as error:
        raise UsageError(f"{path}: cannot be read as a WAV file ({error})") from None
    return np.concatenate([np.zeros(0), *blocks]), float(file.rate)


def whole_samples(sound: Float64) -> npt.NDArray[np.int16]:
    """The samples as a 16-bit file has them."""
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
