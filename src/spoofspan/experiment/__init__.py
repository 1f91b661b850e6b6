"""The paper's experiment from end to end: corpus, training, scoring, the two tables, a page.

::

    setup.py      which systems with which seeds, and where their files lie    <- read this first
    steps.py      the steps, each of which is taken up where it stopped
    results.py    tables, attacks seen and unseen in training, each left out in turn, the page

``spoofspan experiment`` is the command; :func:`run` does the same from Python. It needs the ``cm`` extra. May import
every package but ``demo``, ``integrations`` and ``cli``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spoofspan.base.lazy import lazy_names

if TYPE_CHECKING:
    from spoofspan.experiment.setup import Experiment
    from spoofspan.experiment.steps import run

__all__ = ["Experiment", "run"]

__getattr__, __dir__ = lazy_names("spoofspan.experiment", {"setup": "Experiment", "steps": "run"})
