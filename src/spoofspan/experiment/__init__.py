"""The paper's experiment from end to end: corpus, training, scoring, the two tables, a page.

::

    plan.py       which systems with which seeds, and where their files lie    <- read this first
    running.py    the steps, each of which is taken up where it stopped
    results.py    tables, attacks seen and unseen, the page

``spoofspan experiment`` is the command; :func:`run` does the same from Python. It needs the ``cm`` extra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spoofspan.experiment.setup import Experiment
    from spoofspan.experiment.steps import run

__all__ = ["Experiment", "run"]

_LATER = {"Experiment": "plan", "run": "running"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'spoofspan.experiment' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"spoofspan.experiment.{_LATER[name]}"), name)
