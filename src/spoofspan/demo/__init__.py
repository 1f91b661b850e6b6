"""Two small corpora that ship with the package as files, and are read as anybody's files are.

``load()``: most of the evaluation set of ``spoofspan experiment``, and what its countermeasure says, which was trained
with three seeds on other voices: voices and vocoders of the package, one branch per hop (``make.py`` says how).
``load_short_tail()``: forty utterances whose score lists are a few frames too short or too long, one system: the
corpus on which public tools disagree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files

from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.formats.reading import read_references, read_scores

RTTM, RECO2DUR = "references.rttm", "reco2dur"
HOPS_MS = (20, 40, 80, 160, 320, 640)
SEEDS = ("1", "10", "100")


@dataclass(frozen=True)
class DemoCorpus:
    """References, and the scores of each branch of one system by its hop in seconds, finest first."""

    references: References
    systems: dict[float, Scores]  # of the first seed
    seeds: dict[str, dict[float, Scores]] = field(default_factory=dict)  # of every seed, where there are several


def load() -> DemoCorpus:
    """Load the demo corpus.

    >>> corpus = load()
    >>> len(corpus.references), list(corpus.systems), list(corpus.seeds)
    (169, [0.02, 0.04, 0.08, 0.16, 0.32, 0.64], ['1', '10', '100'])
    """
    seeds = {seed: _scores("corpus", HOPS_MS, seed) for seed in SEEDS}
    return DemoCorpus(_references("corpus"), seeds[SEEDS[0]], seeds)


def load_short_tail() -> DemoCorpus:
    """Load the corpus with tails of 5 to 60 ms that no score covers.

    >>> load_short_tail().systems[0.02]
    Scores(40 utterances, 2,982 frames of 20 ms, float64, higher = bonafide)
    """
    return DemoCorpus(_references("short_tail"), _scores("short_tail", (20,)))


def _references(name: str) -> References:
    folder = files("spoofspan.demo") / name  # streams, since an installed package need not be a folder
    with (folder / RTTM).open("rb") as ranges, (folder / RECO2DUR).open("rb") as durations:
        return read_references(ranges, durations=durations)


def _scores(name: str, milliseconds: tuple[int, ...], seed: str = "") -> dict[float, Scores]:
    systems = {}
    for ms in milliseconds:
        with (files("spoofspan.demo") / name / npz_name(ms, seed)).open("rb") as frames:
            systems[ms / 1000] = read_scores(frames, hop=ms / 1000, higher="bonafide")
    return systems


def npz_name(milliseconds: int, seed: str = "") -> str:
    """The file of one branch's scores."""
    return f"scores_{milliseconds}ms.npz" if not seed else f"seed-{seed}_{milliseconds}ms.npz"
