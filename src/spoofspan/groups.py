"""Breakdowns as functions.

They live in :mod:`spoofspan.evaluation.breakdown`, those of whole utterances in :mod:`spoofspan.evaluation.utterances`.
"""

from spoofspan.evaluation.breakdown import Breakdown, Group, by_boundary, by_column, by_kind, by_length
from spoofspan.evaluation.crossed import CrossedBreakdown, CrossedCell
from spoofspan.evaluation.utterances import cross_utterances

__all__ = [
    "Breakdown",
    "CrossedBreakdown",
    "CrossedCell",
    "Group",
    "by_boundary",
    "by_column",
    "by_kind",
    "by_length",
    "cross_utterances",
]
