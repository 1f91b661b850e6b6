"""Variation of a number over test sets of the same kind, and tests of differences between systems.

Read ``intervals.py`` first (:func:`interval`), then ``methods.py`` and ``spreads.py`` (how intervals are made),
``jackknife.py`` (each cluster, a speaker or an utterance, is left out once) and ``left_out.py`` (how the value without
it is computed). A bootstrap draws clusters instead (``clusters.py``), measures each draw exactly (``replicates.py``;
EERs have a fast way of their own in ``curve_replicates.py`` and ``gathered.py``) and takes their quantiles.
``comparison.py`` compares systems: ``families.py`` has all differences that are judged together, ``max_t.py`` their
adjusted p-values, ``ranks.py`` what follows for ranks, ``improvements.py`` submissions that come one after another,
``seeds.py`` and ``variance_components.py`` systems that were trained several times. ``event_intervals.py`` does the
same for events, ``trial_intervals.py`` for the a-DCF of trials. ``sample_size.py`` says how large a test set must be,
``risk_control.py`` finds a threshold that keeps a promise.

Imports evaluation, which is of the same layer, and the packages below: base, data, mass, measures.
"""

from typing import TYPE_CHECKING

from spoofspan.base.lazy import lazy_names

if TYPE_CHECKING:
    from spoofspan.uncertainty.clusters import Resampling
    from spoofspan.uncertainty.comparison import Comparison, Difference, compare, compare_measures
    from spoofspan.uncertainty.intervals import bootstrap_of, interval
    from spoofspan.uncertainty.risk_control import bound_misses
    from spoofspan.uncertainty.seeds import SeedVariation, seed_variation
    from spoofspan.uncertainty.spreads import Interval

__all__ = [
    "Comparison",
    "Difference",
    "Interval",
    "Resampling",
    "SeedVariation",
    "bootstrap_of",
    "bound_misses",
    "compare",
    "compare_measures",
    "interval",
    "seed_variation",
]

# Loaded when first used: the command line reads the list of methods without NumPy.
__getattr__, __dir__ = lazy_names(
    "spoofspan.uncertainty",
    {
        "clusters": "Resampling",
        "comparison": "Comparison Difference compare compare_measures",
        "intervals": "bootstrap_of interval",
        "risk_control": "bound_misses",
        "seeds": "SeedVariation seed_variation",
        "spreads": "Interval",
    },
)
