"""Digit strings of AudioMNIST's speakers, put together like the recordings of docs/real-speech.md.

    python benchmarks/digit_strings.py AUDIOMNIST OUT --without SPEECH [--each 6]

AUDIOMNIST is a clone of <https://github.com/soerenab/AudioMNIST> (MIT licence), with 50 recordings of each digit by 60
speakers at 48 kHz. Each string has 5 to 7 different digits of a speaker, at 16 kHz. Between two digits lie at least
60 ms of the speaker's own room: the quietest 60 ms at the edges of 40 recordings, forwards and backwards in turn, faded
into each other over 20 ms. Joints are fades of 10 ms that keep the power, and one gain brings the louder half of a
string to -23 dBov. SPEECH is a folder with ``bonafide/SPEAKER/*``, whose speakers are left out, so that a model that
was made of them can be tried on others. ``strings.csv`` has the digits, for spoofs by text to speech
(``foreign_attacks.py``). The same clone gives the same bytes.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
import soundfile
import soxr

RATE = 16_000
SHORTEST, ROOM_FADE, JOINT = 960, 320, 160  # samples: 60, 20 and 10 ms
MEAN_PAUSE, LONGEST_PAUSE = 0.12, 0.5  # seconds, beside the shortest
LISTENED_TO = 40
SPEECH_LEVEL = 10 ** (-23 / 20)


def read(path: Path) -> np.ndarray:
    """A recording at 16 kHz."""
    sound, rate = soundfile.read(path)
    return soxr.resample(sound, rate, RATE)


def joined(left: np.ndarray, right: np.ndarray, fade: int) -> np.ndarray:
    """One sound after the other, faded so that the power is kept."""
    rising = np.sin(np.linspace(0, np.pi / 2, fade))
    middle = left[-fade:] * rising[::-1] + right[:fade] * rising
    return np.concatenate((left[:-fade], middle, right[fade:]))


def quietest(recordings: list[np.ndarray]) -> np.ndarray:
    """The quietest 60 ms at the edges of recordings."""
    edges = [edge for one in recordings for edge in (one[: 3 * SHORTEST], one[-3 * SHORTEST :])]
    pieces = [one[at : at + SHORTEST] for one in edges for at in range(0, one.size - SHORTEST, SHORTEST // 12)]
    return min(pieces, key=lambda one: float(np.square(one).mean()))


def room(piece: np.ndarray, samples: int) -> np.ndarray:
    """So much of a room."""
    found, backwards = piece, True
    while found.size < samples:
        found, backwards = joined(found, piece[::-1] if backwards else piece, ROOM_FADE), not backwards
    return found[:samples]


def strings_of(folder: Path, count: int) -> list[tuple[list[int], np.ndarray]]:
    """Digits and sound of some strings of the speaker of a folder."""
    random = np.random.default_rng(int(folder.name))
    files = sorted(folder.glob("*.wav"))
    piece = quietest([read(files[i]) for i in random.permutation(len(files))[:LISTENED_TO]])
    found = []
    for _ in range(count):
        digits = random.permutation(10)[: random.integers(5, 8)].tolist()
        words = [read(random.choice(sorted(folder.glob(f"{digit}_*.wav")))) for digit in digits]
        sound = words[0]
        for word in words[1:]:
            pause = SHORTEST + round(RATE * min(random.gamma(1.5, MEAN_PAUSE / 1.5), LONGEST_PAUSE))
            sound = joined(joined(sound, room(piece, pause), JOINT), word, JOINT)
        power = np.sort(np.square(sound[: sound.size // 320 * 320]).reshape(-1, 320).mean(1))
        level = float(np.sqrt(power[power.size // 2 :].mean()))
        found.append((digits, sound * min(SPEECH_LEVEL / level, 0.98 / np.abs(sound).max())))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("clone", type=Path, help="a clone of AudioMNIST")
    parser.add_argument("out", type=Path, help="where bonafide/SPEAKER/* goes")
    parser.add_argument("--without", type=Path, required=True, help="recordings whose speakers are left out")
    parser.add_argument("--each", type=int, default=6, help="strings of each speaker")
    arguments = parser.parse_args()
    known = {one.name for one in (arguments.without / "bonafide").iterdir()}
    rows = [("path", "digits")]
    for folder in sorted(one for one in (arguments.clone / "data").iterdir() if one.is_dir()):
        if folder.name in known:
            continue
        for number, (digits, sound) in enumerate(strings_of(folder, arguments.each)):
            target = arguments.out / "bonafide" / folder.name / f"{folder.name}_{number:02d}.flac"
            target.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(target, sound, RATE, subtype="PCM_16")
            rows.append((target.relative_to(arguments.out).as_posix(), " ".join(map(str, digits))))
    with (arguments.out / "strings.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
