"""Measure `spoofspan locate`: speed and memory on two hours, what a model flags as unknown, what its scores mean.

    python benchmarks/locate.py --only long
    python benchmarks/locate.py --only domains calibration choice --model MODEL --corpus CORPUS --other NAME=FOLDER
    python benchmarks/locate.py --only shipped --speech SPEECH [--spoofs SPOOFS] [--models MODELS]

`long` writes a page of noise with a model that has not learned anything: neither changes what it costs. It counts CPU
time of one thread. `domains` and `calibration` need a model that `spoofspan cm train` has finished, and the corpus
(with the folders of PartialSpoof) whose train and dev sets it was trained on: its evaluation set says how often
recordings of the training's domain are flagged. Music, noise and the telephone band are made here; other domains are
folders, as they are and through the channel of the corpus. `choice` and `few` are what decision 13 says of choosing a
branch and of few utterances. `shipped` measures the models
of the package on recordings of speakers whom they do not know, ``SPEECH/bonafide/SPEAKER/*`` (`digit_strings.py` makes
such recordings), and on spoofs of them by other tools (``SPOOFS/ATTACK/SPEAKER/*``, `foreign_attacks.py`); MODELS is a
folder of other models made by `tools/make_models.py`.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from countermeasure import LONG, RATE, checkpoint, write_noise
from run import Figure, _python, options, run

MADE = 200  # recordings of music, and as many of noise
CUT = (0.5, 1.0, 2.0)  # seconds
SPREAD = 1.15  # Cllr over minCllr


@dataclass(frozen=True)
class LocateSetting:
    """What the figures need."""

    scale: float
    model: str | None
    corpus: str | None
    others: dict[str, Path]
    models: Path | None = None
    speech: Path | None = None
    spoofs: Path | None = None


# ---------------------------------------------------------------- two hours


def long(setting: LocateSetting) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = checkpoint(folder / "model")
        seconds = LONG * setting.scale
        write_noise(folder / "long.wav", seconds, 1)
        words = ["locate", str(folder / "long.wav"), "--model", str(model), "--threshold", "0", "-q"]
        words += ["--out", str(folder / "page.html"), "--out", str(folder / "found.rttm"), "--format", "json"]
        code = (
            "import json, sys, time; from spoofspan.cli import app\n"
            f"app({words!r}, standalone_mode=False)\n"
            "peak = next(int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmHWM:')) * 1024\n"
            "print(json.dumps({'peak': peak, 'cpu': time.process_time()}))"
        )
        one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        done = json.loads(_python(code, {**os.environ, **one_thread}).strip().splitlines()[-1])
        page = (folder / "page.html").stat().st_size
    note = f"{seconds / 3600:g} h in {done['cpu']:.0f} s of CPU time, one thread, with a page of {page / 1e6:.1f} MB"
    yield Figure("locate, small-cpu", seconds / done["cpu"], "times real time", at_least=100, note=note)
    yield Figure("peak of memory", done["peak"] / 1e6, "MB", at_most=600, note=f"{seconds / 3600:g} h")


# ---------------------------------------------------------------- domains


def music(random: np.random.Generator, seconds: float) -> np.ndarray:
    """Notes with harmonics that die away."""
    time = np.arange(round(seconds * RATE)) / RATE
    sound = np.zeros(time.size)
    for _ in range(max(3, round(3 * seconds))):
        begins, pitch = random.uniform(0, seconds), 110 * 2 ** (random.integers(0, 36) / 12)
        level = (time >= begins) * np.exp(-np.clip(time - begins, 0, None) * random.uniform(1, 6))
        tilt = random.uniform(1, 2)
        sound += sum(level * np.sin(2 * np.pi * pitch * k * time) / k**tilt for k in range(1, 8) if pitch * k < 7500)
    return 0.3 * sound / np.abs(sound).max()


def noise(random: np.random.Generator, seconds: float) -> np.ndarray:
    """White, pink or anything between."""
    samples = round(seconds * RATE)
    spectrum = np.fft.rfft(random.normal(size=samples))
    spectrum *= (np.fft.rfftfreq(samples, 1 / RATE) + 50) ** -random.uniform(0, 1)
    sound = np.fft.irfft(spectrum, samples)
    return 0.3 * sound / np.abs(sound).max()


def telephone(sound: np.ndarray) -> np.ndarray:
    """300 to 3,400 Hz at 8 kHz, in eight bits of the mu-law, and back to 16 kHz."""
    import soxr

    narrow = soxr.resample(sound, RATE, 8000)
    spectrum = np.fft.rfft(narrow)
    frequency = np.fft.rfftfreq(narrow.size, 1 / 8000)
    spectrum[(frequency < 300) | (frequency > 3400)] *= 1e-3
    narrow = np.clip(np.fft.irfft(spectrum, narrow.size), -1, 1)
    coded = np.rint(127 * np.sign(narrow) * np.log1p(255 * np.abs(narrow)) / np.log(256)) / 127
    return soxr.resample(np.sign(coded) * (256 ** np.abs(coded) - 1) / 255, 8000, RATE)


def flagged(model: str, sounds: dict) -> tuple[int, int]:
    """How many recordings are called unknown, of how many."""
    from spoofspan.cm.locate import locate

    verdicts = locate(sounds, model).judged
    return sum(not one.domain.known for one in verdicts), len(verdicts)


def made(make: Callable[[int], np.ndarray], count: int) -> dict:
    """Recordings in memory."""
    from spoofspan.formats.sound import Sound, wav_bytes

    return {f"u{i}": Sound(wav_bytes(make(i)), f"u{i}") for i in range(count)}


def by_attack(setting: LocateSetting, sounds: dict) -> dict[str, dict]:
    """The evaluation set in two parts: what has an attack that training did not hear, and everything else."""
    import spoofspan as ss
    from spoofspan.cm.scoring import load_model

    heard = set(load_model(setting.model)[1].about["data"]["training"]["attacks"])
    references = ss.read_dataset(f"partialspoof:{setting.corpus}:eval").references
    names = [*references.attack_names, None]
    parts: dict[str, dict] = {"attacks heard in training": {}, "other attacks": {}}
    for row, utterance in enumerate(references.utterances):
        attacks = references.attacks[slice(*references.offsets[row : row + 2])]
        known = {names[attack] for attack in attacks} - {None} <= heard
        parts["attacks heard in training" if known else "other attacks"][utterance] = sounds[utterance]
    return {name: part for name, part in parts.items() if part}


def domains(setting: LocateSetting) -> Iterator[Figure]:
    from spoofspan.cm.scoring import find_recordings, sounds_of_dataset
    from spoofspan.formats.sound_channel import Channel

    random = np.random.default_rng(1)
    own = sounds_of_dataset(f"partialspoof:{setting.corpus}:eval")
    waves = [one.read() for one in list(own.values())[:MADE]]
    for name, sounds in by_attack(setting, own).items():
        alarms, count = flagged(setting.model, sounds)
        yield Figure(f"its own domain, {name}", 100 * alarms / count, "% flagged", note=f"{alarms} of {count}")
    for seconds in CUT:
        length = round(seconds * RATE)
        begins = [random.integers(0, max(wave.size - length, 0) + 1) for wave in waves]
        cuts = made(lambda i, b=begins, n=length: waves[i][b[i] : b[i] + n].astype(np.float64), len(waves))
        alarms, count = flagged(setting.model, cuts)
        yield Figure(
            f"its own domain, {seconds:g} s of each", 100 * alarms / count, "% flagged", note=f"{alarms} of {count}"
        )
    kinds = {
        "music": made(lambda _: music(random, random.uniform(2, 7)), MADE),
        "noise": made(lambda _: noise(random, random.uniform(2, 7)), MADE),
        "its own domain by telephone": made(lambda i: telephone(waves[i].astype(np.float64)), len(waves)),
    }
    channel = Channel(**json.loads((Path(setting.corpus) / "corpus.json").read_text())["settings"]["channel"])
    for name, folder in setting.others.items():
        kinds[name] = find_recordings(folder)
        if channel.has_band:
            others = [one.read().astype(np.float64) for one in kinds[name].values()]
            kinds[f"{name}, same channel"] = made(
                lambda i, x=others: channel.noisy(channel.filtered(x[i]), np.random.default_rng(i)), len(others)
            )
    for name, sounds in kinds.items():
        found, count = flagged(setting.model, sounds)
        yield Figure(name, 100 * found / count, "% flagged", at_least=95, note=f"{found} of {count}")


# ---------------------------------------------------------------- calibration


def calibration(setting: LocateSetting) -> Iterator[Figure]:
    """Maps learned without a speaker, applied to that speaker; and the card's own maps on the evaluation set.

    The bound is for the maps that cards have (PAV); lines stand beside them.
    """
    import spoofspan as ss
    from spoofspan.cm.card import FUSED
    from spoofspan.cm.frame_times import SEGMENT_BRANCHES
    from spoofspan.cm.scoring import load_model, score_sounds, sounds_of_dataset
    from spoofspan.evaluation.calibration import LearningSet

    scorer, card, _ = load_model(setting.model)
    scores, sets = {}, {}
    for name in ("dev", "eval"):
        spec = f"partialspoof:{setting.corpus}:{name}"
        sets[name] = ss.read_dataset(spec)
        scores[name] = score_sounds(scorer, sounds_of_dataset(spec))[0]

    def measured(name, ratios) -> tuple[float, ...]:
        found = ss.evaluate(
            sets[name].references, ratios, ["range-cllr", "range-min-cllr", "range-eer"], scores_are="llr"
        ).measurements
        return tuple(found[one].value for one in ("range-cllr", "range-min-cllr", "range-eer"))

    protocol = sets["dev"].protocol
    speakers = dict(zip(protocol.utterance, protocol.speaker, strict=True))
    branches = [name for name in SEGMENT_BRANCHES if name in scores["dev"]]
    held_out, ratios = {}, {}
    for name in (*branches, FUSED):
        systems = {one: scores["dev"][one] for one in (branches if name == FUSED else [name])}
        learning = LearningSet.of(sets["dev"].references, systems, "default", {})
        for method in ("pav", "affine"):
            ridge = card.calibrations[name].ridge
            made = learning.held_out(speakers, method, 0.5, ridge)
            cllr, own, eer = measured("dev", made)
            # the least of a branch is that of its scores, before any map; a fusion has none but its own
            least = own if name == FUSED else measured("dev", scores["dev"][name])[1]
            note = f"Cllr {cllr:.4f}, min {least:.4f}, EER {100 * eer:.2f} %"
            if method == "pav":
                held_out[name], ratios[name] = cllr, made
                on_eval = measured("eval", card.ratios(scores["eval"])[name])
                note += f"; evaluation: Cllr {on_eval[0]:.4f}, min {on_eval[1]:.4f}, EER {100 * on_eval[2]:.2f} %"
            bound = SPREAD if method == "pav" else None
            yield Figure(f"{name}, {method}, held-out speakers", cllr / least, "min Cllr", at_most=bound, note=note)
    best = min(branches, key=held_out.__getitem__)
    both = {name: ratios[name] for name in (FUSED, best)}
    gap = ss.compare(sets["dev"].references, both, "range-cllr", scores_are="llr", clusters=speakers)[FUSED, best]
    note = f"{best}, {len(set(protocol.speaker))} speakers; difference {gap.value:+.4f}"
    note += f" ({gap.interval.low:+.4f} to {gap.interval.high:+.4f})"
    yield Figure(
        "fusion, held-out speakers", held_out[FUSED] / held_out[best], "Cllr of the best branch", at_most=1.0, note=note
    )


# ---------------------------------------------------------------- what decision 13 asks


def choice(setting: LocateSetting) -> Iterator[Figure]:
    """The fusion kept, and the least of fusion and branches, over the branch that is the best in hindsight."""
    import spoofspan as ss
    from spoofspan.cm.frame_times import SEGMENT_BRANCHES
    from spoofspan.cm.scoring import load_model, score_sounds, sounds_of_dataset
    from spoofspan.evaluation.calibration import LearningSet

    scorer, _, _ = load_model(setting.model)
    for subset in ("dev", "eval"):
        spec = f"partialspoof:{setting.corpus}:{subset}"
        data, scores = ss.read_dataset(spec), score_sounds(scorer, sounds_of_dataset(spec))[0]
        systems = {name: scores[name] for name in SEGMENT_BRANCHES if name in scores}
        speakers = dict(zip(data.protocol.utterance, data.protocol.speaker, strict=True))
        joint = LearningSet.of(data.references, systems, "default", {})
        fusion, taken, chosen = _nested_choice(joint, np.array([speakers[one] for one in joint.rows.utterances]))
        note = ", ".join(f"{name} {chosen.count(name)}" for name in dict.fromkeys(chosen))
        yield Figure(f"{subset}, the fusion", fusion, "Cllr of the best branch")
        yield Figure(
            f"{subset}, chosen inside", taken, "Cllr of the best branch", note=f"{note} of {len(chosen)} folds"
        )


def _nested_choice(joint, speaker: np.ndarray) -> tuple[float, float, list[str]]:
    """Each choice is made by a cross-validation without the speakers that are measured."""
    from spoofspan.cm.card import FUSED
    from spoofspan.cm.finishing import RIDGE
    from spoofspan.evaluation.calibration import FOLDS, _folds

    made = {FUSED: joint}
    for name, one, column in zip(joint.names, joint.systems, joint.columns, strict=True):
        made[name] = replace(joint, names=(name,), systems=(one,), columns=(column,))

    def ratios(name: str, taught: np.ndarray, rows: np.ndarray) -> np.ndarray:
        learned = made[name]._map("pav", 0.5, RIDGE if name == FUSED else 0.0, taught)
        return learned.ratios([column[rows] for column in made[name].columns])

    def cost(values: np.ndarray, rows: np.ndarray) -> float:
        sides = (joint.bona_fide[rows], -values), (joint.spoof[rows], values)
        return sum(np.average(np.logaddexp(0, wrong), weights=amount) for amount, wrong in sides) / 2 / np.log(2)

    def costs(wanted: np.ndarray) -> dict[str, float]:
        fold, found = np.full(speaker.size, -1), {}
        fold[wanted] = _folds(speaker[wanted].tolist(), FOLDS)
        for name in made:
            values = np.zeros(joint.bona_fide.size)
            for number in range(fold.max() + 1):
                rows = np.flatnonzero(fold[joint.utterance] == number)
                values[rows] = ratios(name, (fold >= 0) & (fold != number), rows)
            rows = np.flatnonzero(wanted[joint.utterance])
            found[name] = cost(values[rows], rows)
        return found

    fold, values, chosen = _folds(speaker.tolist(), FOLDS), np.zeros(joint.bona_fide.size), []
    for number in range(fold.max() + 1):
        inside = costs(fold != number)
        chosen.append(min(inside, key=inside.__getitem__))
        rows = np.flatnonzero(fold[joint.utterance] == number)
        values[rows] = ratios(chosen[-1], fold != number, rows)
    whole = costs(np.ones(speaker.size, bool))
    best = min(whole[name] for name in joint.names)
    return whole[FUSED] / best, cost(values, np.arange(values.size)) / best, chosen


def few(_: LocateSetting) -> Iterator[Figure]:
    """What the true map of few scores costs: two normal distributions, whose log-likelihood ratio is known."""
    import spoofspan as ss

    random = np.random.default_rng(0)
    for eer, distance in ((5, 3.2897), (10, 2.5631), (25, 1.3490)):  # between the means, in standard deviations
        for bona_fide, spoof in ((30, 70), (100, 400), (200, 200)):
            labels = dict.fromkeys(map(str, range(bona_fide)), "bonafide")
            labels |= dict.fromkeys(map(str, range(bona_fide, bona_fide + spoof)), "spoof")
            found = []
            for _ in range(40):
                sign = np.repeat([1, -1], [bona_fide, spoof])
                values = sign * distance**2 / 2 + distance * random.normal(size=sign.size)
                scores = ss.UtteranceScores(tuple(labels), values, "bonafide")
                measured = ss.evaluate_utterances(
                    labels, scores, ["utterance-cllr", "utterance-min-cllr"], scores_are="llr"
                )
                found.append(measured["utterance-cllr"].value / max(measured["utterance-min-cllr"].value, 1e-9))
            name = f"true map, EER {eer} %, {bona_fide} bona fide and {spoof} spoof"
            yield Figure(name, float(np.median(found)), "min Cllr")


# ---------------------------------------------------------------- models of the package


def shipped(setting: LocateSetting) -> Iterator[Figure]:
    """Models of the package, or others made like them, on speakers whom they do not know."""
    from spoofspan.cm.locate import locate
    from spoofspan.cm.scoring import find_recordings
    from spoofspan.cm.shipped_models import FOLDER, MODELS
    from spoofspan.formats.sound_channel import Channel

    assert setting.speech is not None
    unknown = find_recordings([setting.speech / "bonafide"])
    waves = [one.read().astype(np.float64) for one in unknown.values()]
    speakers = len(list((setting.speech / "bonafide").iterdir()))
    random = np.random.default_rng(2)
    count = round(MADE * setting.scale)
    kinds = {
        "music": made(lambda _: music(random, random.uniform(2, 7)), count),
        "noise": made(lambda _: noise(random, random.uniform(2, 7)), count),
        "built-in voices": built_in_voices(count),
    }
    mu_law = made(lambda i: telephone(waves[i]), len(waves))
    in_band = {"full-band": unknown}
    for name, channel in (("150-6850", Channel(150.0, 6850.0)), ("telephone", Channel(300.0, 3400.0))):
        in_band[name] = made(lambda i, through=channel: through.filtered(waves[i]), len(waves))
    for name in MODELS:
        model = (setting.models or FOLDER) / name
        found = locate(in_band[name], model)
        alarms = sum(not one.domain.known for one in found.judged)
        note = f"{alarms} of {len(found.judged)} bona fide recordings of {speakers} unknown speakers"
        yield Figure(f"{name}, flagged as foreign", 100 * alarms / len(found.judged), "%", at_most=5, note=note)
        ranges, minutes = sum(len(one.ranges) for one in found.judged), sum(one.seconds for one in found.judged) / 60
        note = f"{ranges} in {minutes:.1f} min, prior {found.prior:.2g}; {found.false_ranges_per_minute:.2f} stated"
        yield Figure(f"{name}, false ranges", ranges / minutes, "a minute", at_most=0.5, note=note)
        if name == "telephone":
            alarms, of = flagged(str(model), mu_law)
            yield Figure(f"{name}, flagged with mu-law", 100 * alarms / of, "%", note=f"{alarms} of {of}")
        for kind, sounds in (kinds if name == "telephone" else kinds | {"speech by telephone": mu_law}).items():
            alarms, of = flagged(str(model), sounds)
            yield Figure(f"{name}, {kind} flagged", 100 * alarms / of, "%", at_least=95, note=f"{alarms} of {of}")
        for attack in sorted(one for one in (setting.spoofs or Path()).glob("*") if one.name != "bonafide"):
            judged = locate(find_recordings([attack]), model).judged
            hit = sum(bool(one.ranges) for one in judged)
            warned = sum(not one.domain.known for one in judged)
            note = f"{hit} of {len(judged)} wholly spoofed recordings; {warned} are flagged as foreign"
            yield Figure(f"{name}, {attack.name} suspected", 100 * hit / len(judged), "%", note=note)
    yield from quickly(next(iter(unknown.values())).where)


def built_in_voices(count: int) -> dict:
    """Bona fide sentences of the synthesizer that the built-in corpus has for a human."""
    from spoofspan.corpus.builtin import Sentence

    return made(lambda i: Sentence(100 + i % 20, i // 20, None, "eval", 3).sound(), count)


def quickly(recording: Path) -> Iterator[Figure]:
    """From the start of the program to an answer, by a model of the package."""
    words = [sys.executable, "-c", "from spoofspan.cli import main; main()", "locate", str(recording), "-q"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    yield Figure("an answer from a cold start", seconds, "s of CPU time", at_most=10, note="one thread")


FIGURES = {
    "shipped": shipped,
    "long": long,
    "domains": domains,
    "calibration": calibration,
    "choice": choice,
    "few": few,
}


def main() -> int:
    parser = options(__doc__.splitlines()[0], FIGURES)
    parser.add_argument("--model", help="a finished model, for domains and calibration")
    parser.add_argument("--corpus", help="the corpus that it was trained on")
    parser.add_argument("--other", nargs="*", default=[], metavar="NAME=FOLDER", help="recordings of other domains")
    parser.add_argument("--models", type=Path, help="other models than those of the package, for shipped")
    parser.add_argument("--speech", type=Path, help="recordings of speakers whom the models do not know")
    parser.add_argument("--spoofs", type=Path, help="spoofs of the recordings: ATTACK/SPEAKER/*")
    arguments = parser.parse_args()
    if arguments.model is None:
        without = ("long", "few", *(["shipped"] if arguments.speech else []))
        arguments.only = [name for name in arguments.only or ["long"] if name in without]
    others = dict(one.split("=", 1) for one in arguments.other)
    setting = LocateSetting(
        arguments.scale,
        arguments.model,
        arguments.corpus,
        {name: Path(where) for name, where in others.items()},
        arguments.models,
        arguments.speech,
        arguments.spoofs,
    )
    return run(arguments, FIGURES, setting, ("<!-- locate: begin -->", "<!-- locate: end -->"))


if __name__ == "__main__":
    sys.exit(main())
