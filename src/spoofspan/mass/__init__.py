"""Rules applied: from references and scores to a ScoreMass, from which every measure is computed.

**Read** ``score_mass.py`` **first**: it is the idea of the whole package. The way to it::

    References ──label_rules──▶ Labelling ─┐
                                           ├─ranges or points─▶ ScoreMass, in blocks
    Scores ─────score_rules───▶ ScoreRuns ─┘

Points are ranges of a time that is counted in points: ``grid.py`` says where they lie, ``point_labels.py`` labels them.
``utterances.py`` makes a mass of scores of whole utterances.

Imports :mod:`spoofspan.base` and :mod:`spoofspan.data`.
"""
