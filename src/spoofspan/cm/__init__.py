"""The countermeasure: the paper's model, trained and run (``pip install 'spoofspan[cm]'``).

::

    config.py       what is to be trained, and how; the presets
    timing.py       frames, scales and windows: where every score lies in time
    frontends.py    sound -> features every 20 ms (wav2vec 2.0, or a light one)
    gmlp.py         the block that the branches are made of
    model.py        multi-resolution chain, branches, heads       <- read this first
    loss.py         the P2SGrad-based loss
    labels.py       windows of References
    data.py         corpora, batches
    training.py     the loop
    scoring.py      recordings of any length -> Scores
    baseline.py     logistic regression on the same spectra; joints.py: a detector of splices without training

The functions other code calls: :func:`train`, :func:`score`, :func:`preset`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spoofspan.cm.batches import Corpus, TrainingData
    from spoofspan.cm.config import Config, preset
    from spoofspan.cm.scoring import score
    from spoofspan.cm.training import train

__all__ = ["Config", "Corpus", "TrainingData", "preset", "score", "train"]

_LATER = {
    "Config": "config",
    "Corpus": "data",
    "TrainingData": "data",
    "preset": "config",
    "score": "scoring",
    "train": "training",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'spoofspan.cm' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"spoofspan.cm.{_LATER[name]}"), name)
