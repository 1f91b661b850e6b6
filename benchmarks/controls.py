"""Does a detector find the spoof or the cut? Controls of real speech, and spoofs by tools it was trained on.

    python benchmarks/controls.py FOLDER [--out CACHE] [--systems NAME ...] [--seed 1] [--model NAME=MODEL ...]

FOLDER has real recordings, ``bonafide/SPEAKER/*``. The corpus is that of ``real_speech.py`` (one channel for both
classes, no speaker in two sets), with all attacks in training. Controls are made of every bona fide recording of the
evaluation speakers, through the same channel. Each system is trained once, scores the evaluation set and the controls,
and is measured at the threshold of its range EER on the evaluation set. ``--model`` adds models that are trained.

Recordings, corpora, models and scores are kept in CACHE: a run that was stopped is simply repeated. CACHE/controls.json
has every number.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
import time
from pathlib import Path

from real_speech import CHANNEL, Data, Fold, scored, trained

import spoofspan as ss
from spoofspan.base.documents import read_json
from spoofspan.cm.batches import Corpus
from spoofspan.cm.scorers import JOINT_DETECTOR
from spoofspan.data.scores import Scores
from spoofspan.formats.writing import write_atomically
from spoofspan.report.results import finite
from spoofspan.report.table import json_text

SYSTEMS = ("joint-detector", "baseline", "small-cpu")


def controls_of(folder: Path, corpus: Path, out: Path) -> Path:
    """Make controls of the bona fide recordings of the evaluation speakers."""
    speakers = read_json(corpus / "corpus.json")["sets"]["eval"]["speakers"]
    rows = [
        (path.resolve(), speaker, "bonafide")
        for speaker in speakers
        for path in sorted((folder / "bonafide" / speaker).iterdir())
    ]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("path", "speaker", "attack"), *rows])
    listed = out / "recordings.csv"
    write_atomically(listed, [text.getvalue().encode()], force=True)
    settings = ss.controls.ControlSettings(channel=CHANNEL, recordings_per_speaker=None)
    about = ss.controls.build(listed, out / "controls", settings)
    for edit, why in about["skipped"].items():
        print(f"{edit} was skipped: {why}", file=sys.stderr)
    return out / "controls"


def scores_of(
    name: str, fold: Fold, sets: dict[str, Corpus], seed: int, out: Path, given: Path | None = None
) -> dict[str, Scores]:
    """Train a system, as far as it is neither given nor trained, and score each set."""
    files = {part: out / f"scores-{name}-{seed}-{part}.npz" for part in sets}
    model = given or out / "models" / f"{name}-{seed}"
    began = time.process_time()
    if given is None and name != JOINT_DETECTOR and not files["eval"].is_file():
        trained(name)(fold, seed, model)
    for part in (part for part, path in files.items() if not path.is_file()):
        scores = scored(JOINT_DETECTOR if name == JOINT_DETECTOR else model, sets[part])
        ss.write_scores(scores, files[part], force=True)
    print(f"{name}: {time.process_time() - began:.0f} s of CPU time", file=sys.stderr)
    return {part: ss.read_scores(path, hop=0.02, higher="bonafide") for part, path in files.items()}


def markdown(found: ss.controls.ControlsEvaluation) -> str:
    """The tables of docs/controls.md, a column for each system."""
    names = list(found.systems)
    rows = [["edit", "fade, ms", *(f"{name}{where}" for name in names for where in ("", ", near"))]]
    for effects in zip(*(one.effects for one in found.systems.values()), strict=True):
        fade = "" if effects[0].cross_fade is None else f"{1000 * effects[0].cross_fade:g}"
        rows.append([effects[0].edit, fade, *(points(cell) for one in effects for cell in (one.extra, one.near))])
    systems = [["system", "EER, %", "unedited, %", "fade, ms", "H, %", "C, %", "F, %", "index"]]
    for name, one in found.systems.items():
        low, high = one.unedited
        unedited = f"{100 * one.unedited.estimate:.1f} ({100 * low:.1f} to {100 * high:.1f})"
        error = one.threshold_is.split(",")[1].removesuffix("%").strip()
        for index in one.indices:
            rates = (f"{100 * rate:.1f}" for rate in (index.hit_rate, index.splice_rate, index.uncut_rate))
            low, high = index.interval
            shown = f"{index.value:.2f} ({low:.2f} to {high:.2f})"
            systems.append([name, error, unedited, f"{1000 * (index.cross_fade or 0):g}", *rates, shown])
    return "\n\n".join(map(lines_of, (rows, systems)))


def points(interval: ss.Interval | None) -> str:
    """A difference in percentage points, and its interval."""
    if interval is None:
        return ""
    return f"{100 * interval.estimate:+.1f} ({100 * interval.low:.1f} to {100 * interval.high:.1f})"


def lines_of(rows: list[list[str]]) -> str:
    """A table of Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---|" + "---:|" * (len(rows[0]) - 1), *lines[1:]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="real recordings: bonafide/SPEAKER/*")
    parser.add_argument("--out", type=Path, default=Path("real-speech"), help="what is made is kept here")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", nargs="+", default=[], metavar="NAME=MODEL", help="models that are trained")
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    out = arguments.out
    data = Data.made(arguments.folder, out, CHANNEL)
    controls = controls_of(arguments.folder, out / "channel", out)
    dataset = ss.read_dataset(f"partialspoof:{out / 'channel'}:eval")
    fold = Fold(data.sets["train"], data.sets["dev"], data.sets["eval"])
    sets = {"eval": data.sets["eval"], "controls": Corpus.from_dataset(f"partialspoof:{controls}:eval")}
    scores = {name: scores_of(name, fold, sets, arguments.seed, out) for name in arguments.systems}
    for name, _, model in (one.partition("=") for one in arguments.model):
        scores[name] = scores_of(name, fold, sets, arguments.seed, out, Path(model))
    found = ss.controls.evaluate(
        controls,
        {name: one["controls"] for name, one in scores.items()},
        references=dataset.references,
        reference_scores={name: one["eval"] for name, one in scores.items()},
        speakers=dataset.by_utterance("speaker"),
    )
    write_atomically(out / "controls.json", [json_text(finite(found.to_dict())).encode()], force=True)
    print(markdown(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
