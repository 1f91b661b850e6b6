"""Sound files of any kind and rate -> samples at 16 kHz, whole or in blocks.

soundfile reads them and soxr resamples; without soundfile, WAV files of 16 bits are still read. A file with several
channels is refused unless someone says which to take (``channel="0"``) or to mix them (``channel="mix"``).
"""

from __future__ import annotations

import io
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import DataError, UsageError
from spoofspan.cm.extra import INSTALL
from spoofspan.cm.frame_times import RATE

Samples = npt.NDArray[np.float32]
SUFFIXES = (".wav", ".flac", ".ogg", ".opus", ".mp3", ".aiff", ".aif", ".au", ".sph", ".w64", ".rf64", ".caf")
BLOCK = 1 << 18  # samples that are read at once
FULL_SCALE = 32768


@dataclass(frozen=True)
class Sound:
    """Where a recording is: a file, or bytes that came by a pipe."""

    where: Path | bytes
    name: str
    channel: str | None = None

    @property
    def samples(self) -> int:
        """How many samples it has at 16 kHz."""
        with self._opened() as file:
            return -(-file.frames * RATE // file.rate)

    def read(self, start: int = 0, stop: int | None = None) -> Samples:
        """The samples from start to stop at 16 kHz; exactly so many if both are given."""
        with self._opened() as file:
            native = file.rate == RATE
            if native and start:
                file.seek(start)
            wanted = None if stop is None else stop - start
            pieces, length = [], 0
            for piece in self._at_rate(file):
                pieces.append(piece)
                length += piece.size
                if wanted is not None and length >= wanted + (0 if native else start):
                    break
        found = np.concatenate(pieces) if pieces else np.zeros(0, np.float32)
        found = found if native else found[start:]
        if wanted is None:
            return found
        # a resampler may be a sample off its forecast
        return np.pad(found[:wanted], (0, max(wanted - found.size, 0)))

    def blocks(self) -> Iterator[Samples]:
        """The samples at 16 kHz, some at a time; memory does not grow with the length."""
        with self._opened() as file:
            yield from self._at_rate(file)

    def _at_rate(self, file: _File) -> Iterator[Samples]:
        if file.rate == RATE:
            yield from self._one_channel(file)
            return
        if find_spec("soxr") is None:
            raise UsageError(f"{self.name}: {file.rate} samples a second; resampling needs soxr: {INSTALL}")
        import soxr

        resampler = soxr.ResampleStream(file.rate, RATE, 1, dtype="float32")
        for block in self._one_channel(file):
            yield resampler.resample_chunk(block)
        yield resampler.resample_chunk(np.zeros(0, np.float32), last=True)

    def _one_channel(self, file: _File) -> Iterator[Samples]:
        channels = file.channels
        if channels > 1 and self.channel is None:
            raise UsageError(
                f"{self.name}: {channels} channels; choose one with channel= (--channel 0), or mix them (--channel mix)"
            )
        if self.channel not in (None, "mix") and int(str(self.channel)) >= channels:
            raise UsageError(f"{self.name}: there is no channel {self.channel}, only 0 to {channels - 1}")
        for block in file.blocks():
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
            file = _soundfile(stream, self.name) if find_spec("soundfile") else _wave(stream, self.name)
            if not file.frames:
                raise DataError(f"{self.name}: there is no sound in the file; leave it out")
            yield file


def check_channel(channel: str | None) -> str | None:
    """Return which channel is meant, or say what is wrong with it.

    >>> check_channel("mix"), check_channel("1")
    ('mix', '1')
    """
    if channel is not None and channel != "mix" and not channel.isdecimal():
        raise UsageError(f"channel {channel!r}: must be mix or the number of a channel, from 0 on")
    return channel


# ---------------------------------------------------------------- two ways to open a file


class _File(Protocol):
    """An open sound file, one way or the other."""

    rate: int
    channels: int
    frames: int

    def seek(self, sample: int) -> None:
        """Go to a sample."""
        ...

    def blocks(self) -> Iterator[Samples]:
        """(samples, channels) at the rate of the file."""
        ...


class _SoundFile:
    def __init__(self, file: Any, name: str) -> None:
        self._file, self._name = file, name
        self.rate, self.channels, self.frames = file.samplerate, file.channels, file.frames

    def seek(self, sample: int) -> None:
        self._file.seek(min(sample, self.frames))

    def blocks(self) -> Iterator[Samples]:
        import soundfile

        while True:
            try:
                block = self._file.read(BLOCK, dtype="float32", always_2d=True)
            except soundfile.LibsndfileError as error:
                raise DataError(f"{self._name}: cannot be read to its end ({error}); repair the file") from None
            if not len(block):
                return
            yield block


class _WaveFile:
    def __init__(self, file: wave.Wave_read) -> None:
        self._file = file
        self.rate, self.channels, self.frames = file.getframerate(), file.getnchannels(), file.getnframes()

    def seek(self, sample: int) -> None:
        self._file.setpos(min(sample, self.frames))

    def blocks(self) -> Iterator[Samples]:
        whole = 2 * self.channels
        while data := self._file.readframes(BLOCK):
            values = np.frombuffer(data[: len(data) // whole * whole], "<i2")
            yield (values.astype(np.float32) / np.float32(FULL_SCALE)).reshape(-1, self.channels)


def _soundfile(stream: BinaryIO, name: str) -> _File:
    import soundfile

    try:
        return _SoundFile(soundfile.SoundFile(stream), name)
    except (soundfile.LibsndfileError, TypeError) as error:
        raise DataError(f"{name}: cannot be read as sound ({error}); convert it, or leave it out") from None


def _wave(stream: BinaryIO, name: str) -> _File:
    try:
        file = wave.open(stream, "rb")  # noqa: SIM115  (closed with its stream)
        if file.getsampwidth() == 2:
            return _WaveFile(file)
    except (wave.Error, EOFError):
        pass
    raise UsageError(f"{name}: this is no WAV file of 16 bits, and other files need soundfile: {INSTALL}")


# ---------------------------------------------------------------- finding files


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
