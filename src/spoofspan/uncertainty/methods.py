"""The catalogue of interval methods: name, requirements, and the class that computes it.

Command line, messages and tests read this list. A new method is a subclass of
:class:`~spoofspan.uncertainty.spreads.Spread` and an entry here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from spoofspan.uncertainty.spreads import Spread

Method = Literal["jackknife-t", "percentile", "bca"]
DEFAULT_METHOD: Method = "jackknife-t"


@dataclass(frozen=True)
class IntervalMethod:
    """One way to compute intervals and p-values."""

    name: Method
    computed_by: str  # "module:class" in spoofspan.uncertainty
    about: str
    draws: bool  # bootstrap replicates; otherwise each cluster is left out once
    fewest_replicates: int = 1

    @property
    def test(self) -> str:
        """The test that its p-values belong to."""
        return f"{self.name} interval, inverted" if self.draws else self.name

    @property
    def spread(self) -> type[Spread]:
        """The class that computes it."""
        module, _, name = self.computed_by.partition(":")
        found: type[Spread] = getattr(import_module(f"spoofspan.uncertainty.{module}"), name)
        return found


METHODS: Mapping[str, IntervalMethod] = {
    one.name: one
    for one in (
        IntervalMethod("jackknife-t", "spreads:JackknifeSpread", "leaves out each cluster once", draws=False),
        IntervalMethod("percentile", "spreads:PercentileSpread", "quantiles of bootstrap replicates", draws=True),
        IntervalMethod(
            "bca",
            "spreads:BcaSpread",
            "quantiles of bootstrap replicates, corrected for bias and acceleration",
            draws=True,
            fewest_replicates=2000,  # it uses quantiles further out than the nominal ones
        ),
    )
}
