"""Variation of a number over test sets of the same kind, and tests of differences between systems.

Read ``intervals.py`` first (:func:`interval`), then ``methods.py`` and ``spreads.py`` (interval methods),
``jackknife.py`` (each cluster, a speaker or an utterance, is left out once) and ``left_out.py`` (the values without
each cluster). A bootstrap draws clusters instead (``clusters.py``), measures each draw exactly (``replicates.py``; EERs
and other measures over all thresholds have fast ways in ``curve_replicates.py`` and ``gathered.py``) and takes
quantiles. ``comparison.py`` compares systems: ``families.py`` has the differences that are tested together,
``max_t.py`` their adjusted p-values, ``ranks.py`` the ranks that follow, ``improvements.py`` sequential submissions,
``seeds.py`` and ``variance_components.py`` systems with several trainings. ``event_intervals.py`` has intervals of
event measures, ``trial_intervals.py`` of the a-DCF of trials. ``sample_size.py`` plans the size of a test set,
``risk_control.py`` finds a threshold with a bounded miss rate.

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
