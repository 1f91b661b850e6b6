"""Breakdowns as functions; they live in :mod:`spoofspan.evaluation.breakdown`."""

from spoofspan.evaluation.breakdown import Breakdown, Group, by_boundary, by_column, by_kind, by_length

__all__ = ["Breakdown", "Group", "by_boundary", "by_column", "by_kind", "by_length"]
