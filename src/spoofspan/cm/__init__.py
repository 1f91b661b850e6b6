"""The countermeasure: the paper's model, trained and run (``pip install 'spoofspan[cm]'``).

::

    config.py         what is to be trained, and how; the presets
    frame_times.py    frames, scales and windows: where every score lies in time
    frontends.py      sound -> features every 20 ms (wav2vec 2.0, or a light one); features.py: the hand-made ones
    fairseq.py        wav2vec 2.0 from a file of fairseq; official.py: the published countermeasure
    model.py          multi-resolution chain, branches, heads; the logistic baseline       <- read this first
    loss.py           the P2SGrad-based loss
    parts.py          front-ends, networks, losses and augmentations of one's own, by module:Class
    batches.py        corpora, targets of windows, batches
    training.py       the loop, with the development set after each epoch; augmentation.py: random channels
    history.py        metrics of every epoch; callbacks
    scorers.py        a trained model, and a detector of splices without training
    scoring.py        recordings of any length -> Scores
    finishing.py      the end of a training: calibration, fusion; card.py: what a model says of itself
    model_sources.py  a model from a folder, an archive, the Hugging Face hub; shipped_models.py: those of the package
    locate.py         recordings -> where they are spoofed; located.py: verdicts, files; location_page.py: the page
    listening.py      what a recording sounds like, with notes; out_of_domain.py: whether it is of the training's kind
    chance.py         ranges that are expected by chance

May import every package but ``corpus``, ``experiment``, ``demo``, ``integrations`` and ``cli``. The functions that
other code calls: :func:`train`, :func:`score`, :func:`locate`, :func:`preset`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spoofspan.base.lazy import lazy_names

if TYPE_CHECKING:
    from spoofspan.cm.batches import Corpus, TrainingData
    from spoofspan.cm.config import Config, preset
    from spoofspan.cm.scoring import score
    from spoofspan.cm.training import train

__all__ = ["Config", "Corpus", "TrainingData", "preset", "score", "train"]

__getattr__, __dir__ = lazy_names(
    "spoofspan.cm",
    {"batches": "Corpus TrainingData", "config": "Config preset", "scoring": "score", "training": "train"},
)
