"""The audit on clean and on leaky corpora: false alarms by cause, and planted leaks that are found.

``python benchmarks/corpus_audit.py SPEECH WORK [--parts 20]`` builds a corpus of SPEECH (``bonafide/SPEAKER/*``) with
all built-in vocoders, and its control of copies, in WORK (or takes those that are there), both through the channel and
with ``--joints middle``. Small corpora are random parts of it: 12 speakers, up to 8 utterances of each, two attacks. In
the control's parts, a leak is planted in every spoofed stretch; the control has no vocoder, so what is found is the
leak.
"""

from __future__ import annotations

import argparse
import io
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from spoofspan.corpus.audit.auditing import PIPELINE, Audit, audit_measured, with_control
from spoofspan.corpus.audit.material import Utterance, material_of
from spoofspan.corpus.audit.statistics import TICK, MeasuredSound, measure, measure_all
from spoofspan.corpus.building import build
from spoofspan.corpus.settings import Settings
from spoofspan.formats.sound import FULL_SCALE, RATE, read_sound
from spoofspan.formats.sound_channel import Channel

SPEAKERS, EACH = 12, 8
NAMED = {  # by leak: the probe that must raise an alarm
    "polarity": "polarity",
    "15 bits": "word-length",
    "clicks": "clicks",
    "20 ms grid": "grid",
    "MP3 grid": "codec",
    "names": "name",
}

Sound = np.ndarray[tuple[int], np.dtype[np.float64]]
Measured = tuple[Sequence[Utterance], Sequence[MeasuredSound]]


def polarity(sound: Sound, start: int, end: int) -> None:
    """Inverted."""
    sound[start:end] *= -1


def fewer_bits(sound: Sound, start: int, end: int) -> None:
    """The last of 16 bits is 0."""
    sound[start:end] = np.floor(np.rint(sound[start:end] * FULL_SCALE) / 2) * 2 / FULL_SCALE


def clicks(sound: Sound, start: int, end: int) -> None:
    """One sample at each joint, 0.003 off."""
    for place in {start, end} - {0, sound.size}:
        sound[place] += 0.003


def grid(sound: Sound, start: int, end: int) -> None:
    """Every 20 ms another gain, within 1 dB."""
    gains = 10 ** (np.random.default_rng(start).uniform(-1, 1, (end - start) // 320 + 1) / 20)
    sound[start:end] *= np.repeat(gains, 320)[: end - start]


LEAKS: dict[str, Callable[[Sound, int, int], None]] = {
    "polarity": polarity,
    "15 bits": fewer_bits,
    "clicks": clicks,
    "20 ms grid": grid,
}


def through_mp3(sound: Sound) -> Sound:
    """The sound as an MP3 file has it."""
    import soundfile

    file = io.BytesIO()
    soundfile.write(file, sound, RATE, format="MP3")
    file.seek(0)
    coded = soundfile.read(file)[0][: sound.size]
    return np.pad(coded, (0, sound.size - coded.size))


def leaky(one: Utterance, leak: str) -> MeasuredSound:
    """An utterance with a leak in its spoofed stretches, measured."""
    sound = read_sound(one.sound)
    coded = through_mp3(sound) if leak == "MP3 grid" else sound
    for run in one.runs:
        if run.attack is not None:
            start, end = run.start // TICK, min(run.end // TICK, sound.size)
            if leak == "MP3 grid":
                sound[start:end] = coded[start:end]
            else:
                LEAKS[leak](sound, start, end)
    return measure(one, np.rint(sound * FULL_SCALE) / FULL_SCALE)


def part(measured: Measured, seed: int) -> list[int]:
    """Rows of a small corpus: bona fide utterances, and those with one of two attacks."""
    rng = np.random.default_rng(seed)
    attacks = {attack for one in measured[0] for attack in one.attacks}
    kept = {(), *((attack,) for attack in rng.permutation(sorted(attacks))[:2].tolist())}
    speakers = sorted({str(one.speaker) for one in measured[0]})
    found: list[int] = []
    for speaker in rng.permutation(speakers)[:SPEAKERS].tolist():
        own = [row for row, one in enumerate(measured[0]) if one.speaker == speaker and one.attacks in kept]
        found += rng.permutation(own)[:EACH].tolist()
    return sorted(found)


def audited(measured: Measured, rows: Sequence[int]) -> Audit:
    """The audit of some rows."""
    return audit_measured([measured[0][row] for row in rows], [measured[1][row] for row in rows])


def planted(measured: Measured, rows: Sequence[int], leak: str) -> Audit:
    """The audit of some rows with a leak."""
    utterances = [measured[0][row] for row in rows]
    if leak == "names":
        named = [replace(one, name=f"{row}{'_s' if one.attacks else ''}") for row, one in enumerate(utterances)]
        return audit_measured(named, [measured[1][row] for row in rows])
    return audit_measured(utterances, [leaky(one, leak) for one in utterances])


def main() -> None:
    """Build, measure, count."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("speech", type=Path)
    options.add_argument("work", type=Path)
    options.add_argument("--parts", type=int, default=20)
    options.add_argument("--leaky-parts", type=int, default=1)
    options.add_argument("--limit", type=int, default=1000, help="utterances of each set that are measured")
    options.add_argument("--jobs", type=int, default=1)
    typed = options.parse_args()
    settings = Settings(held_out=(), channel=Channel(150.0, 6850.0), joints="middle")
    measured: dict[str, Measured] = {}
    for name, attack in (("corpus", "builtin:all"), ("control", "builtin:copy")):
        build(typed.work / name, typed.speech, replace(settings, attacks=(attack,)), jobs=typed.jobs)
        material = material_of(typed.work / name, typed.limit)
        utterances = [replace(one, subset="all") for one in material.utterances]
        measured[name] = (utterances, measure_all(utterances, typed.jobs))
    counts: Counter[str] = Counter()
    for seed in range(typed.parts):
        own = audited(measured["control"], part(measured["control"], seed))
        found = with_control(audited(measured["corpus"], part(measured["corpus"], seed)), own)
        counts["with an alarm"] += bool(found.alarms)
        counts["with an alarm called pipeline"] += bool(found.caused_by(PIPELINE))
        counts["controls with an alarm"] += bool(own.alarms)
        called = [(one.probe, one.part, round(one.eer, 3), one.words) for one in found.caused_by(PIPELINE)]
        copies = [(one.probe, round(one.eer, 3), one.words) for one in own.alarms]
        print(f"part {seed}: {len(found.alarms)} alarms, pipeline: {called}, control: {copies}", flush=True)
    print(json.dumps({"parts": typed.parts, **counts}))
    for leak, probe in NAMED.items():
        for seed in range(typed.leaky_parts):
            rows = part(measured["control"], seed)
            found = planted(measured["control"], rows, leak)
            alarm = next((one for one in found.alarms if one.probe == probe), None)
            said = "NOT FOUND" if alarm is None else f"{100 * alarm.eer:.1f} %: {alarm.words}"
            print(f"{leak}, part {seed}: {said}; {len(found.alarms)} alarms", flush=True)


if __name__ == "__main__":
    main()
