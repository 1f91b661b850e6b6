"""How far a number would move on another test set of the same kind, and whether two systems differ by more.

A bootstrap draws clusters (speakers, or utterances) with replacement and measures each draw exactly. Read
``intervals.py`` first (:func:`bootstrap`), then ``clusters.py`` (what is drawn) and ``replicates.py`` (how a draw is
measured; EERs have a fast way of their own in ``eer_replicates.py``). ``comparison.py`` compares systems, and several
trainings of one.

Imports evaluation, which is of the same layer, and the rooms below: base, data, mass, measures.
"""

from spoofspan.uncertainty.clusters import Resampling
from spoofspan.uncertainty.comparison import Comparison, Difference, SeedVariation, compare, seed_variation
from spoofspan.uncertainty.intervals import Interval, bootstrap, bootstrap_of

__all__ = [
    "Comparison",
    "Difference",
    "Interval",
    "Resampling",
    "SeedVariation",
    "bootstrap",
    "bootstrap_of",
    "compare",
    "seed_variation",
]
