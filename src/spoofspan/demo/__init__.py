"""Two small corpora that ship with the package; all of their data are generated.

``load()``: sixty utterances, and a made-up countermeasure with one branch per hop (``make.py`` says how).
``load_short_tail()``: forty utterances whose score lists are a few frames too short or too long, one system: the
corpus on which public tools disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.references import References
from spoofspan.scores import Scores


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
    return _load("demo.npz")


def load_short_tail() -> DemoCorpus:
    """Load the corpus with tails of 5 to 60 ms that no score covers.

    >>> load_short_tail().systems[0.02]
    Scores(40 utterances, 2,982 frames of 20 ms, float64, higher = bonafide)
    """
    return _load("short_tail.npz")


def _load(name: str) -> DemoCorpus:
    with (files("spoofspan.demo") / name).open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        arrays: dict[str, npt.NDArray[Any]] = dict(archive)
    utterances = arrays["utterances"]
    references = References.from_columns(
        utterances,
        arrays["durations"],
        arrays["offsets"],
        arrays["starts"],
        arrays["ends"],
        arrays["is_spoof"],
        kinds=[kind or None for kind in arrays["kinds"].tolist()] if "kinds" in arrays else None,
    )
    milliseconds = sorted(int(key[len("scores_") : -len("ms")]) for key in arrays if key.startswith("scores_"))
    systems = {
        ms / 1000: Scores.from_columns(
            utterances, arrays[f"offsets_{ms}ms"], arrays[f"scores_{ms}ms"], hop=ms / 1000, higher="bonafide"
        )
        for ms in milliseconds
    }
    return DemoCorpus(references, systems)
