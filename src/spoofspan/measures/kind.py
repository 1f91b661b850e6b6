"""A kind of measure: what an entry of the catalogue says.

:mod:`spoofspan.measures.catalogue` has the entries, :mod:`spoofspan.measures.events.event_catalogue` those of events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from spoofspan.measures.events.average_precision import Variant

BASES = ("range", "point", "utterance")
EVENT = "event"

Group = Literal["eer", "threshold", "ranking", "cost", "event"]
Direction = Literal["lower", "higher"]
# An amount that must not be 0: of the positive or the negative class, called positive or negative, or any at all.
Needs = tuple[Literal["positives", "negatives", "called", "called-negative", "any"], ...]
# A number, or several as text: 0.5:0.05:0.95.
Parameters = tuple[tuple[str, float | str], ...]


@dataclass(frozen=True)
class Kind:
    """One kind of measure."""

    name: str
    group: Group
    direction: Direction  # is better
    formula: str
    computed_by: str  # "module:function" in spoofspan.measures
    about: str
    reference: str = ""
    percent: bool = True  # a share, shown in per cent
    positive: bool = False  # has a positive class, which may be bona fide
    needs: Needs = ()  # at a threshold: without these it has no value
    needs_asv: bool = False  # needs the scores of a speaker verification system
    trials: tuple[str, ...] = ()  # what targets stand against, of a key with target, nontarget and spoof
    boundaries: bool = False  # is of scores that say how likely a boundary is, not of those of spoof
    declared: bool = False  # needs to know what the scores are: log-likelihood ratios or probabilities
    ranked: bool = False  # needs confidences, which hard decisions have not
    all_thresholds: bool = False  # of events: takes scores, or confidences, at every threshold
    averaged: bool = False  # has a mean over utterances of its own (-macro)
    parameters: Parameters = ()  # with their defaults
    ranges: tuple[str, ...] = ()  # parameters that may be several numbers, start:step:stop
    bases: tuple[str, ...] = BASES
    variant: Variant = "spoofspan"  # whose rules of matching it follows, of events

    @cached_property
    def function(self) -> Callable[..., Any]:
        """What computes it, imported when it is first asked for.

        What it takes depends on the group: a mass and an EER rule (eer); a confusion matrix, of which it returns the
        two terms of its ratio (threshold); a curve and the measure's parameters (ranking, cost); a measure, an
        :class:`~spoofspan.measures.events.event_scores.EventCorpus` and the measure's parameters (event).
        """
        module, _, name = self.computed_by.partition(":")
        function: Callable[..., Any] = getattr(import_module(f"spoofspan.measures.{module}"), name)
        return function


def parameters_of(**parameters: float | str) -> Parameters:
    """Parameters with their defaults."""
    return tuple(parameters.items())


def by_name(*kinds: Kind) -> Mapping[str, Kind]:
    """Entries by their names."""
    return {kind.name: kind for kind in kinds}
