"""Sound files of any kind and rate: whole or in blocks, at 16 kHz or as they are; and 16-bit WAV files written.

soundfile reads them and soxr resamples (``pip install 'spoofspan[cm]'``); without soundfile, WAV files of 16 bits are
still read. A sample lies between -1 and 1: a file's whole number divided by 32768, so that reading and writing again
changes nothing. A file with several channels is refused unless someone says which to take (``channel="0"``) or to mix
them (``channel="mix"``), and so is one with fewer samples than its header states, unless what is there will do
(``truncated="use"``).
"""

from __future__ import annotations

import io
import warnings
import wave
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import DataError, SpoofspanWarning, UsageError, nearest_name, warn_user
from spoofspan.base.extras import INSTALL_CM
from spoofspan.base.times import Float64
from spoofspan.formats.sound_headers import ends_early, stated_bytes

Samples = npt.NDArray[np.float32]
RATE = 16_000  # samples a second of everything that is asked for at one rate
SUFFIXES = (".wav", ".flac", ".ogg", ".opus", ".mp3", ".aiff", ".aif", ".au", ".sph", ".w64", ".rf64", ".caf")
BLOCK = 1 << 18  # numbers that are read at once
LAST_BLOCK = 1 << 10  # near a fault
SLOWEST, FASTEST = 1_000, 10_000_000  # samples a second that a header may state
FULL_SCALE = 32768
# a kilobyte of FLAC can hold minutes of silence; the lowest rates of speech codecs are above 250 bytes a second
SECONDS_ALLOWED, LEAST_BYTES_PER_SECOND = 600, 200
TRUNCATED = {"error": "is refused", "use": "is used as far as it goes, with a warning"}


@dataclass(frozen=True)
class Sound:
    """A recording that is read when asked for: a file, or bytes that came by a pipe."""

    where: Path | bytes
    name: str
    channel: str | None = None
    truncated: str = "error"  # or "use": what is there

    @property
    def stated_samples(self) -> int:
        """Number of samples that its header states, at 16 kHz."""
        with replace(self, truncated="use")._opened(check=False) as file:
            return -(-file.stated * RATE // file.rate)

    @property
    def rate(self) -> int:
        """Sampling rate of the file."""
        with self._opened() as file:
            return file.rate

    @property
    def channels(self) -> int:
        """Number of channels that the file has."""
        with self._opened() as file:
            return file.channels

    @property
    def samples(self) -> int:
        """Number of samples that it has at 16 kHz."""
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
            there = "0 (it is mono)" if channels == 1 else f"0 to {channels - 1}"
            raise UsageError(f"{self.name}: there is no channel {self.channel}, only {there}")
        for block in self._blocks(file, dtype):
            if not np.isfinite(block).all():
                raise DataError(f"{self.name}: a sample is not a finite number; repair the file")
            if channels == 1:
                yield block[:, 0]
            elif self.channel == "mix":
                yield block.mean(1)
            else:
                yield np.ascontiguousarray(block[:, int(str(self.channel))])

    def _blocks(self, file: _File, dtype: str) -> Iterator[Any]:
        """All blocks that there are; fewer samples than stated are refused, or used with a warning."""
        done = file.position
        try:
            for block in file.blocks(dtype):
                done += len(block)
                yield block
        except TruncatedError as error:
            if self.truncated == "error" or not done:
                raise
            self._warn(f"{str(error).partition(';')[0]}, and {done:,} samples are there")
        else:
            if done < file.stated or file.ends_early:
                self._refuse_or_warn(file, done)

    def _refuse_or_warn(self, file: _File, found: int) -> None:
        """Refuse a truncated file, or warn."""
        there = f"its header states {file.stated:,} samples, and {found:,} are there"
        if file.ends_early:
            there = f"it has no mark of its end, and {found:,} samples are there"
        text = f"{self.name}: the file is truncated: {there}"
        if self.truncated == "error":
            raise TruncatedError(f"{text}; get it again, or take what is there with truncated='use' (--truncated use)")
        self._warn(text)

    def _warn(self, text: str) -> None:
        warn_user(f"{text}; these are used", SpoofspanWarning)

    @contextmanager
    def _opened(self, *, check: bool = True) -> Iterator[_File]:
        stream: BinaryIO
        try:
            stream = self.where.open("rb") if isinstance(self.where, Path) else io.BytesIO(self.where)
        except OSError as error:
            raise DataError(f"{self.name}: cannot be read ({error.strerror or error})") from None
        with stream:
            if not stream.read(1):
                raise DataError(f"{self.name}: the file is empty; get it again, or leave it out")
            stream.seek(0)
            file: _File = _SoundFile(stream, self.name) if find_spec("soundfile") else _wave(stream, self.name)
            if not file.frames:
                raise DataError(f"{self.name}: there is no sound in the file; leave it out")
            _check_rate(self.name, file.rate)
            _check_length(self.name, file.frames / file.rate, file.size)
            if check and (file.frames < file.stated or file.ends_early) and self.truncated == "error":
                self._refuse_or_warn(file, file.frames)
            yield file


def read_sound(path: Path, truncated: str = "error") -> Float64:
    """The samples of a file with one channel, at 16 kHz and in double precision; truncated ones without a word."""
    sound = Sound(path, str(path), truncated=truncated)
    with sound._opened() as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", SpoofspanWarning)
        if file.channels != 1:
            raise DataError(f"{path}: {file.channels} channels; a corpus has one: choose or mix them first")
        whole: Float64 = np.concatenate(list(sound._one_channel(file, "float64")))
        resampled: Float64 = whole if file.rate == RATE else sound._soxr(file).resample(whole, file.rate, RATE)
    return resampled


def _check_rate(name: str, rate: int) -> None:
    """Refuse a rate that is none of speech: at 1 Hz, a megabyte would be a week of sound."""
    if not SLOWEST <= rate <= FASTEST:
        raise DataError(
            f"{name}: its header states {rate:,} samples a second; speech has {SLOWEST:,} or more: correct the header, "
            "or leave the file out"
        )


def _check_length(name: str, seconds: float, size: int) -> None:
    """Refuse a small file that states hours of sound."""
    if seconds > SECONDS_ALLOWED + size / LEAST_BYTES_PER_SECOND:
        raise DataError(
            f"{name}: {seconds / 3600:,.1f} hours of sound in {size:,} bytes; recordings of speech have at least "
            f"{LEAST_BYTES_PER_SECOND} bytes a second: leave the file out, or convert it to WAV"
        )


def check_channel(channel: str | None) -> str | None:
    """Return which channel is meant, or say what is wrong with it.

    >>> check_channel("mix"), check_channel("1")
    ('mix', '1')
    """
    if channel is not None and channel != "mix" and not channel.isdecimal():
        raise UsageError(f"channel {channel!r}: must be mix or the number of a channel, from 0 on")
    return channel


def check_truncated(truncated: str) -> str:
    """Return what to do with truncated files, or say what is wrong with that.

    >>> check_truncated("use")
    'use'
    """
    if truncated not in TRUNCATED:
        raise UsageError(f"truncated={truncated!r}: {nearest_name(truncated, TRUNCATED)}")
    return truncated


def sounds_in(folder: Path, channel: str | None = None, truncated: str = "error") -> dict[str, Sound]:
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
            found[path.stem] = Sound(path, str(path), channel, truncated)
    return found


# ---------------------------------------------------------------- two ways to open a file


class TruncatedError(DataError):
    """A file with fewer samples than its header states."""


class _Stream:
    """A stream as soundfile reads it; libsndfile seeks where a damaged header says, and errors there would be printed.

    Positions outside of the file become its beginning or its end.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.size = stream.seek(0, io.SEEK_END)
        self.read, self.readinto, self.tell = stream.read, stream.readinto, stream.tell  # type: ignore[attr-defined]
        stream.seek(0)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._stream.tell(), io.SEEK_END: self.size}[whence]
        return self._stream.seek(min(max(start + offset, 0), self.size))


class _SoundFile:
    """A file of any kind, by soundfile; ``blocks`` are (samples, channels) at the rate of the file."""

    position = 0

    def __init__(self, stream: BinaryIO, name: str) -> None:
        import soundfile

        self._name, self._error = name, soundfile.LibsndfileError
        data_bytes, self.ends_early = stated_bytes(stream), ends_early(stream)
        try:
            readable = _Stream(stream)
            self._file = file = soundfile.SoundFile(readable)
        except (self._error, TypeError) as error:
            why = getattr(error, "error_string", str(error)).rstrip(".")
            if data_bytes is not None and data_bytes.found < data_bytes.stated:
                why = f"its header states {data_bytes.stated:,} bytes of samples, and {data_bytes.found:,} are there"
            raise DataError(f"{name}: cannot be read as sound ({why}); convert it, or leave it out") from None
        self.size = readable.size
        self.rate, self.channels, self.frames = file.samplerate, file.channels, file.frames
        self.stated = self.frames
        if data_bytes is not None and data_bytes.stated > data_bytes.found > 0:  # soundfile counts what is there
            whole = data_bytes.found // max(self.frames, 1)  # bytes of a sample of all channels; 0 if it is packed
            stated = data_bytes.stated // whole if whole else self.frames * data_bytes.stated // data_bytes.found
            self.stated = max(stated, self.frames)

    def seek(self, sample: int) -> None:
        self.position = min(sample, self.frames)
        self._file.seek(self.position)

    def blocks(self, dtype: str) -> Iterator[Any]:
        size = max(1, BLOCK // self.channels)
        while True:
            try:
                block = self._file.read(size, dtype=dtype, always_2d=True)
            except self._error as error:
                if size > LAST_BLOCK:  # of a block that fails, what comes before the fault is fine
                    size = LAST_BLOCK
                    with suppress(self._error):
                        self._file.seek(self.position)
                        continue
                raise TruncatedError(
                    f"{self._name}: cannot be read to its end ({error}); repair the file, or take what is there with "
                    "truncated='use' (--truncated use)"
                ) from None
            if not len(block):
                return
            self.position += len(block)
            yield block


class _WaveFile:
    """A WAV file of 8, 16 or 32 bits, by the standard library."""

    position = 0
    ends_early = False

    def __init__(self, stream: BinaryIO) -> None:
        self.size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        self._file = wave.open(stream, "rb")  # noqa: SIM115  (closed with its stream)
        self.channels, self.bytes, self.rate, self.stated = self._file.getparams()[:4]
        stream.seek(0)
        data_bytes = stated_bytes(stream)
        there = self.stated if data_bytes is None else data_bytes.found // (self.channels * self.bytes)
        self.frames = min(self.stated, there)
        self._file.rewind()

    def seek(self, sample: int) -> None:
        self.position = min(sample, self.frames)
        self._file.setpos(self.position)

    def blocks(self, dtype: str) -> Iterator[Any]:
        whole = self.bytes * self.channels
        while data := self._file.readframes(max(1, BLOCK // self.channels)):
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
            _check_rate(str(path), file.rate)
            if file.bytes not in (1, 2, 4):
                raise UsageError(f"{path}: samples of {8 * file.bytes} bits are not read; convert it to 16 bits")
            blocks = [block[:, 0] for block in file.blocks("float64")]
    except (OSError, EOFError, wave.Error) as error:
        raise UsageError(f"{path}: cannot be read as a WAV file ({error}); convert it to WAV with 16 bits") from None
    return np.concatenate([np.zeros(0), *blocks]), float(file.rate)


def whole_samples(sound: Float64) -> npt.NDArray[np.int16]:
    """The samples as a 16-bit file has them."""
    return np.clip(np.rint(sound * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


def wav_bytes(sound: Float64, rate: int = RATE) -> bytes:
    """A 16-bit WAV file of one channel."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(whole_samples(sound).astype("<i2").tobytes())
    return buffer.getvalue()
