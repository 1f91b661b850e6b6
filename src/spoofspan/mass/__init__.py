"""Rules applied: from references and scores to a ScoreMass, from which every measure is computed.

**Read** ``score_mass.py`` **first**: it is the idea of the whole package. The way to it::

    References ──rules 1 to 7──▶ Labelling ─┐
                                            ├─ranges or points─▶ ScoreMass, in blocks
    Scores ──────rules 8 to 13─▶ ScoreRuns ─┘

Points are ranges of a time that is counted in points: ``point_labels.py`` says where they lie and labels them.
``utterances.py`` makes a mass of scores of whole utterances.

Imports :mod:`spoofspan.base` and :mod:`spoofspan.data`.
"""
