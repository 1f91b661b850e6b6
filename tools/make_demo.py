"""Make the corpora of the demo.

``python tools/make_demo.py --experiment FOLDER`` takes the evaluation set of an experiment, without the attack that
training did not hear, and what ``multi`` said of it with each seed; and where the samples of a few utterances come
from, which is enough to make their sound again. The experiment is::

    OMP_NUM_THREADS=1 spoofspan experiment FOLDER --seeds 1,10,100

Its corpus has the same bytes wherever it is built. What is learned differs in its last digits, and then in more of
them, with the number of threads and the machine, and so do scores.

``python tools/make_demo.py --short-tail tests/golden/short_tail/case.json`` takes the golden case of that name.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import offsets_of
from spoofspan.corpus.layout import SetFiles, protocol_of, read_provenance
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.demo import HOPS_MS, PROTOCOL, RECO2DUR, RTTM, SEEDS, DemoCorpus, npz_name
from spoofspan.demo.recordings import PROVENANCE
from spoofspan.experiment.results import SEEN, by_attack, unseen_attacks
from spoofspan.formats.arrays import npz as arrays
from spoofspan.formats.datasets.partialspoof_dataset import read_dataset
from spoofspan.formats.reading import read_scores
from spoofspan.formats.text import rttm
from spoofspan.formats.text.durations import reco2dur_lines
from spoofspan.formats.text.protocol import protocol_lines
from spoofspan.formats.writing import write_atomically

# What can be heard: the worst utterances of several kinds, and one that is found well.
HEARD = (
    "BONA_E_0000013",
    "CON_E_0000003",
    "CON_E_0000039",
    "CON_E_0000063",
    "CON_E_0000098",
    "CON_E_0000132",
)
SHIPPED = Path(__file__).parents[1] / "src" / "spoofspan" / "demo"

Array = npt.NDArray[Any]


def main(arguments: list[str]) -> None:
    """Write the files asked for."""
    if len(arguments) == 2 and arguments[0] == "--experiment":
        write(SHIPPED / "corpus", demo_corpus(Path(arguments[1])))
        write_origins(SHIPPED / "corpus", Path(arguments[1]) / "corpus")
    elif len(arguments) == 2 and arguments[0] == "--short-tail":
        write(SHIPPED / "short_tail", short_tail_corpus(Path(arguments[1])))
    else:
        sys.exit("usage: python tools/make_demo.py --experiment FOLDER | --short-tail CASE.json")


def write(folder: Path, corpus: DemoCorpus) -> None:
    """Write references, durations, the protocol and the scores of every branch and seed."""
    folder.mkdir(exist_ok=True)
    write_atomically(folder / RTTM, rttm.write(corpus.references), force=True)
    write_atomically(folder / RECO2DUR, reco2dur_lines(corpus.references), force=True)
    if corpus.protocol is not None:
        write_atomically(folder / PROTOCOL, protocol_lines(corpus.protocol), force=True)
    for seed, systems in (corpus.seeds or {"": corpus.systems}).items():
        for hop, scores in systems.items():
            write_atomically(folder / npz_name(round(1000 * hop), seed), arrays.write_scores_npz(scores), force=True)


def write_origins(folder: Path, corpus: Path) -> None:
    """Write where the samples of the utterances that can be heard come from."""
    heard = [one for one in read_provenance(SetFiles(corpus, "eval").provenance) if one.utterance in HEARD]
    lines = ((json.dumps(asdict(one), ensure_ascii=False) + "\n").encode() for one in heard)
    write_atomically(folder / PROVENANCE, lines, force=True)


def demo_corpus(experiment: Path, seeds: tuple[str, ...] = SEEDS, hops_ms: tuple[int, ...] = HOPS_MS) -> DemoCorpus:
    """Take a part of an experiment."""
    trained, references = (
        read_dataset(f"partialspoof:{experiment / 'corpus'}:{subset}").references for subset in ("train", "eval")
    )
    part = references.take(by_attack(references, unseen_attacks(trained, references))[SEEN])

    def scores_of(seed: str, ms: int) -> Scores:
        scores = read_scores(experiment / "scores" / "eval" / "multi" / f"seed-{seed}" / f"scores_{ms}ms.parquet")
        rows = {utterance: row for row, utterance in enumerate(scores.utterances)}
        return scores.take(np.array([rows[utterance] for utterance in part.utterances], np.int64))

    systems = {seed: {ms / 1000: scores_of(seed, ms) for ms in hops_ms} for seed in seeds}
    shown = set(part.utterances)
    made = [
        one for one in read_provenance(SetFiles(experiment / "corpus", "eval").provenance) if one.utterance in shown
    ]
    return DemoCorpus(part, systems[seeds[0]], systems, protocol_of(made))


def short_tail_corpus(case: Path) -> DemoCorpus:
    """Take the golden case as it is."""
    utterances = json.loads(case.read_text(encoding="utf-8"))["utterances"]
    rows = [row for content in utterances.values() for row in content["reference"]]
    references = References.from_columns(
        list(utterances),
        _nanoseconds(content["duration"] for content in utterances.values()),
        offsets_of([len(content["reference"]) for content in utterances.values()]),
        _nanoseconds(row[0] for row in rows),
        _nanoseconds(row[1] for row in rows),
        np.array([row[2] == "spoof" for row in rows]),
    )
    frames = [np.array(content["scores"]) for content in utterances.values()]
    return DemoCorpus(references, {0.02: _system(list(utterances), frames, 0.02)})


def _system(ids: list[str], frames: list[Array], hop: float) -> Scores:
    return Scores.from_columns(
        ids, offsets_of([one.size for one in frames]), np.concatenate(frames), hop=hop, higher="bonafide"
    )


def _nanoseconds(seconds: Any) -> Array:
    return np.array([int(Decimal(text) * 10**9) for text in seconds], np.int64)


if __name__ == "__main__":
    main(sys.argv[1:])
