"""Codecs that a recording goes through and back, with the delay of the codec taken out.

mu-law is done here. MP3 and Opus are libsndfile's, by way of soundfile; where one of them is missing, its edit is
skipped, and ``corpus.json`` and the command say so.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from importlib.util import find_spec

import numpy as np

from spoofspan.base.extras import INSTALL_CM
from spoofspan.corpus.frames import RATE, Float64
from spoofspan.corpus.source_folder import Recording
from spoofspan.formats.sound_channel import OPEN

MU = 255.0
LONGEST_DELAY = 4096  # samples
# codec -> format and subtype of libsndfile
LIBSNDFILE = {"mp3": ("MP3", "MPEG_LAYER_III"), "opus": ("OGG", "OPUS")}


def missing_codec(codec: str) -> str | None:
    """Reason why a codec cannot be used here; None if it can."""
    if codec not in LIBSNDFILE:
        return None
    if find_spec("soundfile") is None:
        return f"soundfile is not installed; run: {INSTALL_CM}"
    import soundfile

    form, subtype = LIBSNDFILE[codec]
    if form in soundfile.available_formats() and subtype in soundfile.available_subtypes(form):
        return None
    return f"libsndfile {soundfile.__libsndfile_version__} has no {subtype}; install a newer soundfile"


def codec_version(codec: str) -> str:
    """Implementation of a codec, for corpus.json."""
    if codec not in LIBSNDFILE:
        return "8 bits, mu = 255"
    import soundfile

    return f"libsndfile {soundfile.__libsndfile_version__}"


@dataclass(frozen=True)
class CodedRecording:
    """A recording that went through a codec and is to be written."""

    original: Recording
    codec: str

    def sound(self) -> Float64:
        """Its samples, as many as the original has."""
        return through(replace(self.original, channel=OPEN).sound(), self.codec)


def through(sound: Float64, codec: str) -> Float64:
    """A sound through a codec and back, as long as before and not delayed.

    >>> float(abs(through(np.array([0.0, 0.5, -1.0]), "mu-law") - [0.0, 0.5, -1.0]).max()) < 0.01
    True
    """
    if codec == "mu-law":
        return mu_law(sound)
    import soundfile

    form, subtype = LIBSNDFILE[codec]
    coded = io.BytesIO()
    soundfile.write(coded, sound, RATE, format=form, subtype=subtype)
    coded.seek(0)
    return aligned(soundfile.read(coded, dtype="float64")[0], sound)


def mu_law(sound: Float64) -> Float64:
    """Eight bits on a logarithmic scale: 127 steps on each side of 0."""
    code = np.rint(127 * np.log1p(MU * np.minimum(np.abs(sound), 1.0)) / np.log1p(MU))
    decoded: Float64 = np.sign(sound) * np.expm1(code / 127 * np.log1p(MU)) / MU
    return decoded


def aligned(decoded: Float64, original: Float64) -> Float64:
    """The decoded sound, without the delay at which it is most like the original, and as long as that.

    >>> aligned(np.array([0.0, 0.0, 1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 2.0, 3.0]
    """
    size = 1 << (decoded.size + original.size - 1).bit_length()
    products = np.fft.irfft(np.fft.rfft(decoded, size) * np.conj(np.fft.rfft(original, size)), size)
    reach = min(LONGEST_DELAY, size // 2 - 1)
    delays = np.arange(-reach, reach + 1)
    delay = int(delays[int(np.argmax(products[delays]))])
    moved = decoded[delay:] if delay >= 0 else np.concatenate((np.zeros(-delay), decoded))
    return np.concatenate((moved[: original.size], np.zeros(max(original.size - moved.size, 0))))
