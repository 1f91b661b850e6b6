"""What is measured, and under which rules.

References (who is spoofed when), scores (what a system said), scores of whole utterances, proposals, calibrations, and
the rules that say what a gap or a missing tail means. A corpus is columns: flat arrays and offsets, never an object per
row.

Imports :mod:`spoofspan.base` only. Read ``references.py`` first, then ``scores.py`` and ``rules.py``.
"""
