"""Two small corpora that ship with the package as files, and are read as anybody's files are.

``load()``: sixty utterances, and a made-up countermeasure with one branch per hop (``make.py`` says how).
``load_short_tail()``: forty utterances whose score lists are a few frames too short or too long, one system: the
corpus on which public tools disagree.

All of their data are generated.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from spoofspan.formats.reading import read_references, read_scores
from spoofspan.references import References
from spoofspan.scores import Scores

RTTM, RECO2DUR = "references.rttm", "reco2dur"


@dataclass(frozen=True)
class DemoCorpus:
    """References, and the scores of each branch of one system by its hop in seconds, finest first."""

    references: References
    systems: dict[float, Scores]


def load() -> DemoCorpus:
    """Load the demo corpus.

    >>> corpus = load()
    >>> len(corpus.references), list(corpus.systems)
    (60, [0.02, 0.04, 0.08, 0.16, 0.32, 0.64])
    """
    return _load("corpus", (20, 40, 80, 160, 320, 640))


def load_short_tail() -> DemoCorpus:
    """Load the corpus with tails of 5 to 60 ms that no score covers.

    >>> load_short_tail().systems[0.02]
    Scores(40 utterances, 2,982 frames of 20 ms, float64, higher = bonafide)
    """
    return _load("short_tail", (20,))


def _load(name: str, milliseconds: tuple[int, ...]) -> DemoCorpus:
    folder = files("spoofspan.demo") / name  # streams, since an installed package need not be a folder
    with (folder / RTTM).open("rb") as ranges, (folder / RECO2DUR).open("rb") as durations:
        references = read_references(ranges, durations=durations)
    systems = {}
    for ms in milliseconds:
        with (folder / npz_name(ms)).open("rb") as frames:
            systems[ms / 1000] = read_scores(frames, hop=ms / 1000, higher="bonafide")
    return DemoCorpus(references, systems)


def npz_name(milliseconds: int) -> str:
    """The file of one branch's scores."""
    return f"scores_{milliseconds}ms.npz"
