"""Breakdowns as functions.

They live in :mod:`spoofspan.evaluation.breakdown`, those of whole utterances in :mod:`spoofspan.evaluation.evaluate`.
"""

from spoofspan.evaluation.breakdown import Breakdown, Group, by_attack, by_boundary, by_column, by_length
from spoofspan.evaluation.crossed import CrossedBreakdown, CrossedCell
from spoofspan.evaluation.evaluate import cross_utterances
from spoofspan.evaluation.selections import spoofed_shares
from spoofspan.uncertainty.comparison import GroupedComparison, compare_groups

__all__ = [
    "Breakdown",
    "CrossedBreakdown",
    "CrossedCell",
    "Group",
    "GroupedComparison",
    "by_attack",
    "by_boundary",
    "by_column",
    "by_length",
    "compare_groups",
    "cross_utterances",
    "spoofed_shares",
]
