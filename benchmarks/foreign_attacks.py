"""Spoofs of real recordings, made by tools that this project did not write.

Eight attacks in four families, so that each has a relative; the list is fixed, and no figure was seen before it was.

==============  =========================================  ============================================================
attack          tool                                       what it does
==============  =========================================  ============================================================
espeak          espeak-ng (Debian)                         text to speech from formants; a voice for each speaker
flite           flite (Debian)                             text to speech from diphones or statistics; four voices
griffin-lim     librosa (PyPI)                             80 mel bands and back, phases by Griffin-Lim
world           pyworld (PyPI)                             pitch, envelope and aperiodicity, and back
sox             sox (Debian)                               pitch moved by 200 cents, by overlap-add (WSOLA)
psola           praat-parselmouth (PyPI)                   pitch moved by a fifth of itself, by PSOLA
opus            opus-tools (Debian)                        a codec: 12 kbit/s
speex           speex (Debian)                             a codec: wide band, quality 3
==============  =========================================  ============================================================

An attack whose tool is missing is left out, and named. Text to speech needs ``strings.csv`` beside the recordings, with
the columns path and digits. Each file is made once: what is there already is kept.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from spoofspan.base.progress import progress
from spoofspan.formats.sound import RATE, Sound, wav_bytes
from spoofspan.formats.writing import write_atomically

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
FLITE_VOICES = ("rms", "awb", "kal16", "slt")
WINDOW = 1024  # samples of a spectrum that Griffin-Lim starts from
CENTS = 200
FIFTH = 1.2


@dataclass(frozen=True)
class Source:
    """One bona fide recording."""

    path: Path
    speaker: str
    number: int  # of the speaker, for what differs from speaker to speaker
    text: str  # empty where it is not known


def espeak(source: Source, out: Path) -> None:
    variant = ("m1", "m2", "m3", "m4", "m5", "m6", "m7", "f1", "f2", "f3", "f4")[source.number % 11]
    pitch = 30 + 5 * (source.number % 9)
    _run("espeak-ng", "-v", f"en-us+{variant}", "-p", pitch, "-s", 140, "-w", out, source.text)


def flite(source: Source, out: Path) -> None:
    _run("flite", "-voice", FLITE_VOICES[source.number % 4], "-t", source.text, "-o", out)


def griffin_lim(source: Source, out: Path) -> None:
    sys.modules.setdefault("coverage", None)  # type: ignore[arg-type]  # numba would take our coverage.py for it
    import librosa

    bands = librosa.filters.mel(sr=RATE, n_fft=WINDOW, n_mels=80)
    power = bands @ np.abs(librosa.stft(_read(source), n_fft=WINDOW)) ** 2
    magnitude = np.sqrt(np.maximum(np.linalg.pinv(bands) @ power, 1e-10))
    _write(out, librosa.griffinlim(magnitude, n_iter=32, n_fft=WINDOW, random_state=source.number))


def world(source: Source, out: Path) -> None:
    # pyworld asks for its own version in a way that newer setuptools do not know
    sys.modules.setdefault("pkg_resources", SimpleNamespace(get_distribution=distribution))  # type: ignore[arg-type]
    import pyworld

    sound = _read(source).astype(np.float64)
    pitch, times = pyworld.dio(sound, RATE)
    pitch = pyworld.stonemask(sound, pitch, times, RATE)
    envelope = pyworld.cheaptrick(sound, pitch, times, RATE)
    aperiodicity = pyworld.d4c(sound, pitch, times, RATE)
    _write(out, pyworld.synthesize(pitch, envelope, aperiodicity, RATE))


def sox(source: Source, out: Path) -> None:
    _run("sox", "-G", source.path, "-b", 16, out, "pitch", CENTS if source.number % 2 else -CENTS)


def psola(source: Source, out: Path) -> None:
    import parselmouth
    from parselmouth.praat import call

    whole = call(parselmouth.Sound(_read(source).astype(np.float64), RATE), "To Manipulation", 0.01, 75, 500)
    tier = call(whole, "Extract pitch tier")
    call(tier, "Multiply frequencies", 0, 1e6, FIFTH if source.number % 2 else 1 / FIFTH)
    call([tier, whole], "Replace pitch tier")
    _write(out, call(whole, "Get resynthesis (overlap-add)").values[0])


def opus(source: Source, out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        wav, coded = Path(folder, "a.wav"), Path(folder, "a.opus")
        _write(wav, _read(source))
        _run("opusenc", "--quiet", "--speech", "--bitrate", 12, wav, coded)
        _run("opusdec", "--quiet", "--rate", RATE, coded, out)


def speex(source: Source, out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        wav, coded = Path(folder, "a.wav"), Path(folder, "a.spx")
        _write(wav, _read(source))
        _run("speexenc", "--wideband", "--quality", 3, wav, coded)
        _run("speexdec", coded, out)


@dataclass(frozen=True)
class Attack:
    """How an attack is made, and what it needs."""

    name: str
    make: Callable[[Source, Path], None]
    commands: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    speaks: bool = False  # text to speech

    def missing(self, sources: list[Source]) -> str:
        """Why it cannot be made; empty if it can."""
        gone = [one for one in self.commands if shutil.which(one) is None]
        gone += [one for one in self.modules if find_spec(one) is None]
        if not gone and self.speaks and not all(one.text for one in sources):
            return "strings.csv, which says what is spoken"
        return ", ".join(gone)


ATTACKS = (
    Attack("espeak", espeak, ("espeak-ng",), speaks=True),
    Attack("flite", flite, ("flite",), speaks=True),
    Attack("griffin-lim", griffin_lim, modules=("librosa",)),
    Attack("world", world, modules=("pyworld",)),
    Attack("sox", sox, ("sox",)),
    Attack("psola", psola, modules=("parselmouth",)),
    Attack("opus", opus, ("opusenc", "opusdec")),
    Attack("speex", speex, ("speexenc", "speexdec")),
)


def sources_in(folder: Path) -> list[Source]:
    """The bona fide recordings of a folder: bonafide/SPEAKER/*."""
    listed, texts = folder / "strings.csv", {}
    if listed.is_file():
        with listed.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                texts[row["path"]] = ", ".join(WORDS[int(one)] for one in row["digits"].split())
    found = sorted(one for one in (folder / "bonafide").glob("*/*") if one.is_file())
    if not found:
        sys.exit(f"{folder}: there are no recordings; they are looked for in bonafide/SPEAKER/")
    speakers = sorted({one.parent.name for one in found})
    return [
        Source(one, one.parent.name, speakers.index(one.parent.name), texts.get(one.relative_to(folder).as_posix(), ""))
        for one in found
    ]


def make_spoofs(folder: Path, out: Path) -> list[str]:
    """Make the spoofs that are not there yet in ``out/ATTACK/SPEAKER``; returns the attacks whose tools are there."""
    sources, made = sources_in(folder), []
    for attack in ATTACKS:
        missing = attack.missing(sources)
        if missing:
            print(f"{attack.name} is left out: it needs {missing}", file=sys.stderr)
            continue
        with progress(f"making {attack.name}", total=len(sources), unit="files") as advance:
            for one in sources:
                _make(attack, one, out / attack.name / one.speaker / f"{one.path.stem}.wav")
                advance(1)
        made.append(attack.name)
    return made


def _make(attack: Attack, source: Source, target: Path) -> None:
    if target.is_file():
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made.wav")
        attack.make(source, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(target, Sound(path, path.name).read())


def _read(source: Source) -> Any:
    return Sound(source.path, source.path.name).read()


def _write(path: Path, sound: Any) -> None:
    """16 bits at 16 kHz; what would be clipped is made softer."""
    peak = np.abs(sound).max(initial=1e-9)
    write_atomically(path, [wav_bytes(np.asarray(sound, np.float64) * min(1.0, 0.99 / peak))], force=True)


def _run(*command: object) -> None:
    subprocess.run([str(one) for one in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
