"""Several corpora as a sample: intervals of each, the cost of a carried threshold, and systems over new corpora.

Clusters (speakers) are left out of all corpora at once, so that a speaker in two corpora counts once. Equal names of
different speakers in unrelated corpora do no harm, since their effects are independent.

**A carried threshold** was itself found on a test set, and moves with the clusters of that set. Without one of them,
FPR - FNR changes there at the same threshold; the threshold moves until the difference is the same again, and the half
total error rate of every corpus moves with it. The slope is that of a chord between the two thresholds at which
FPR - FNR is two standard errors away, as in :mod:`~spoofspan.uncertainty.left_out`.

**New corpora**: :mod:`~spoofspan.uncertainty.random_units`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from operator import add
from typing import Any

import numpy as np

from spoofspan.base.times import Float64
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.confusion import value_at
from spoofspan.measures.operating_point import OperatingPoint, count_again
from spoofspan.uncertainty.clusters import UNNAMED, UTTERANCE, Clusters, Grouping, Resampling, factors_of
from spoofspan.uncertainty.left_out import CHORD, Confusions, LeftOut, chord_points, jackknife_error, sums_by_unit
from spoofspan.uncertainty.max_t import holm
from spoofspan.uncertainty.measured_system import MeasuredSystem, leave_out
from spoofspan.uncertainty.random_units import UnitSpread, over_units
from spoofspan.uncertainty.spreads import Interval, JackknifeSpread


@dataclass(frozen=True)
class DomainIntervals:
    """Intervals of one corpus: EER, HTER at the carried threshold, and degradation by that threshold."""

    eer: Interval
    hter: Interval
    degradation: Interval
    p_value: float  # of the degradation, for all corpora together (Holm)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        plain = {name: getattr(self, name).to_dict() for name in ("eer", "hter", "degradation")}
        return {**plain, "degradation_p_value": self.p_value}


@dataclass(frozen=True)
class DomainDifference:
    """Two systems over several corpora: the mean of their differences, first - second."""

    first: str
    second: str
    these: Interval  # corpora
    p_value: float  # of these corpora
    adjusted_p_value: float  # for the number of pairs (Holm)
    new: UnitSpread  # corpora
    adjusted_new_p_value: float

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        names = "first second p_value adjusted_p_value adjusted_new_p_value"
        plain = {name: getattr(self, name) for name in names.split()}
        return {**plain, "these_corpora": self.these.to_dict(), "new_corpora": self.new.to_dict()}


@dataclass(frozen=True, eq=False)
class MeasuredDomains:
    """One system on several corpora, with its EER and its HTER at a carried threshold without each cluster."""

    eers: Mapping[str, MeasuredSystem]
    hters: Mapping[str, float]
    how: Resampling
    eers_without: Mapping[str, LeftOut]
    hters_without: Mapping[str, LeftOut]
    own: str | None = None  # the corpus of the threshold, if it is one; there is no degradation

    @classmethod
    def of(
        cls,
        eers: Mapping[str, MeasuredSystem],
        hters: Mapping[str, MeasuredSystem],
        carried: OperatingPoint,
        sources: Sequence[str],
        how: Resampling,
        clusters: Mapping[str, Clusters],
    ) -> MeasuredDomains:
        """Leave out each cluster; the threshold was found on the pooled ``sources``."""
        masses = {name: one.mass for name, one in eers.items()}
        source = reduce(add, (masses[name] for name in sources))
        moved = _movements(masses, sources, carried, clusters)
        ends = chord_points(source, carried, "difference", CHORD * jackknife_error(moved[0]))
        eers_without = {name: leave_out(one, clusters[name]) for name, one in eers.items()}
        hters_without = {
            name: _shifted(leave_out(one, clusters[name]), _slope(masses[name], source, ends), moved)
            for name, one in hters.items()
        }
        own = sources[0] if len(sources) == 1 else None
        return cls(eers, {name: one.value for name, one in hters.items()}, how, eers_without, hters_without, own)

    def _spread(self, values: Sequence[float], without: Sequence[LeftOut]) -> JackknifeSpread:
        some = next(iter(self.eers.values()))
        return JackknifeSpread.from_left_out(some.measure, self.how, values, without)

    def intervals(self) -> dict[str, DomainIntervals]:
        """The intervals of each corpus."""
        found: dict[str, tuple[JackknifeSpread, Interval, float]] = {}
        for name, one in self.eers.items():
            both = [self.hters_without[name], self.eers_without[name]]
            spread = self._spread([self.hters[name], one.value], both)
            found[name] = spread, *spread.difference(0, 1)
        others = [name for name in found if name != self.own]
        adjusted = dict(zip(others, holm([found[name][2] for name in others]), strict=True))
        return {
            name: DomainIntervals(spread.one(1), spread.one(0), apart, adjusted.get(name, p))
            for name, (spread, apart, p) in found.items()
        }

    def over_corpora(self) -> UnitSpread:
        """The mean of the EERs over new corpora, and the prediction for the next one."""
        values = {name: one.value for name, one in self.eers.items()}
        spread = self._spread(list(values.values()), list(self.eers_without.values()))
        return over_units(values, np.eye(len(values)), spread, "corpus")


def compared_over_corpora(systems: Mapping[str, MeasuredDomains]) -> tuple[DomainDifference, ...]:
    """The difference of every pair of systems over the corpora, with p-values adjusted for all pairs."""
    found = []
    for first, second in combinations(systems, 2):
        one, two = systems[first], systems[second]
        names = list(one.eers)
        values = [system.eers[name].value for system in (one, two) for name in names]
        spread = one._spread(values, [system.eers_without[name] for system in (one, two) for name in names])
        unit = np.eye(len(names))
        contrasts = np.concatenate((unit, -unit), axis=1)  # a row for each corpus
        these, p_value = spread.tested(contrasts.mean(axis=0))
        differences = dict(zip(names, (contrasts @ spread.estimates).tolist(), strict=True))
        found.append((first, second, these, p_value, over_units(differences, contrasts, spread, "corpus", raw=True)))
    fixed, new = holm([one[3] for one in found]), holm([one[4].p_value for one in found])
    return tuple(DomainDifference(*one[:4], fixed[place], one[4], new[place]) for place, one in enumerate(found))


def clusters_of_corpora(
    corpora: Mapping[str, MeasuredSystem], clusters: Mapping[str, Grouping] | None, clusters_are: str
) -> tuple[dict[str, Clusters], dict[str, Mapping[str, str]]]:
    """The clusters of all corpora, by the utterances of each; and the factors by name, of all utterances.

    Utterances of two corpora may have equal names and different speakers.
    """
    grouped = clusters or {name: {utt: utt for utt in one.utterances} for name, one in corpora.items()}
    named = UTTERANCE if clusters is None else clusters_are
    factors: dict[str, dict[str, str]] = {}
    for name in corpora:
        for factor, column in factors_of(grouped[name], named).items():
            factors.setdefault(factor, {}).update({_in_corpus(name, utt): level for utt, level in column.items()})
    utterances = [_in_corpus(name, utt) for name, one in corpora.items() for utt in one.utterances]

    def spoofed() -> set[str]:
        return {_in_corpus(name, utt) for name, one in corpora.items() for utt in one.spoofed}

    everyone = Clusters.of(utterances, factors, UNNAMED, None if clusters is None else spoofed)
    seen = {name: _seen_by(everyone, name, one.utterances) for name, one in corpora.items()}
    return seen, dict(factors)


def _in_corpus(name: str, utterance: str) -> str:
    return f"{name}\n{utterance}"


def _seen_by(clusters: Clusters, name: str, utterances: Sequence[str]) -> Clusters:
    """The same clusters by the names of utterances in one corpus."""
    unit_of = {utt: clusters.unit_of[_in_corpus(name, utt)] for utt in utterances}
    return replace(
        clusters, unit_of=unit_of, crossed=tuple(_seen_by(one, name, utterances) for one in clusters.crossed)
    )


def _movements(
    masses: Mapping[str, ScoreMass], sources: Sequence[str], at: OperatingPoint, clusters: Mapping[str, Clusters]
) -> list[Float64]:
    """Change of FPR - FNR of the pooled sources without each cluster, for each factor and product."""
    found = []
    for ways in zip(*((clusters[name], *clusters[name].crossed) for name in sources), strict=True):
        sums = sum(
            sums_by_unit(masses[name], one.units_of(masses[name].utterances), one.count, at)
            for name, one in zip(sources, ways, strict=True)
        )
        whole = Confusions.of(np.asarray(sums).sum(axis=0), masses[sources[0]].uncovered).rates
        others = Confusions.of(np.asarray(sums).sum(axis=0) - sums, masses[sources[0]].uncovered).rates
        found.append((others[0] - others[1]) - (whole[0] - whole[1]))
    return found


def _slope(mass: ScoreMass, source: ScoreMass, ends: tuple[OperatingPoint, OperatingPoint]) -> float:
    """Slope of the HTER of a mass over FPR - FNR of the source, between two thresholds."""
    apart = [one.false_positive_rate - one.false_negative_rate for one in ends]
    hters = [float(value_at(count_again(mass, one), "hter")) for one in ends]
    return (hters[1] - hters[0]) / (apart[1] - apart[0]) if apart[1] != apart[0] else 0.0


def _shifted(left_out: LeftOut, slope: float, moved: Sequence[Float64]) -> LeftOut:
    """The values without each cluster, at a threshold moved so that FPR - FNR of its source stays the same."""
    first, *others = moved
    crossed = tuple(_shifted(one, slope, [move]) for one, move in zip(left_out.crossed, others, strict=True))
    return replace(left_out, without=left_out.without - slope * first, crossed=crossed)
