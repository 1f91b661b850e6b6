"""How far a number would move on another test set of the same kind, and whether two systems differ by more."""

from spoofspan.uncertainty.clusters import Resampling
from spoofspan.uncertainty.comparison import Comparison, Difference, compare
from spoofspan.uncertainty.intervals import Interval, bootstrap, bootstrap_of
from spoofspan.uncertainty.seeds import SeedVariation, seed_variation

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
