"""Inputs of a measurement, and its rules.

References (labels), scores of a system, scores of whole utterances, proposals, calibrations, and
the rules that say what a gap or a missing tail means. A corpus is columns: flat arrays and offsets, never an object per
row.

Imports :mod:`spoofspan.base` only. Read ``references.py`` first, then ``scores.py`` and ``rules.py``.
"""
