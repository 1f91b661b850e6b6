"""Several corpora (*domains*): each on its own, pooled, and at one threshold for all.

For each corpus: its EER, and both error rates at the carried threshold, which is that of a development corpus or,
without one, that of all corpora pooled. For all of them:

- the **mean** of the EERs, each at its own threshold, which a deployed system does not have;
- the **pooled** EER, of all corpora as one: there is one threshold, and large corpora have more weight;
- the **degradation** of a corpus: its half total error rate at the carried threshold minus its own EER, the cost of an
  unknown domain.

With a ``confidence``, each of these has an interval over other speakers; the degradation has a p-value; the mean has an
interval over new corpora, and the next corpus a prediction interval (:mod:`spoofspan.uncertainty.domain_intervals`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, cast

from spoofspan.base.errors import SpoofspanWarning, UsageError, nearest_name, warn_user
from spoofspan.base.tabular import Tabular
from spoofspan.data.rules import RuleArguments
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.corpus import corpus_of
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.evaluation.utterances import Truth
from spoofspan.measures.confusion import value_at
from spoofspan.measures.eer import EqualErrorRate
from spoofspan.measures.kind import Value
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import OperatingPoint, point_at

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.uncertainty.clusters import Grouping
    from spoofspan.uncertainty.domain_intervals import DomainDifference, DomainIntervals, MeasuredDomains
    from spoofspan.uncertainty.measured_system import MeasuredSystem
    from spoofspan.uncertainty.random_units import UnitSpread

# Name -> labels or references, and scores.
Corpora = Mapping[str, tuple[Truth, Scores | UtteranceScores]]


@dataclass(frozen=True)
class Domain:
    """One corpus, with its own EER and its error rates at the carried threshold."""

    name: str
    utterances: int
    eer: float
    threshold: float
    carried: OperatingPoint
    intervals: DomainIntervals | None = None

    @property
    def hter(self) -> float:
        """Half the total error rate at the carried threshold."""
        return float(value_at(self.carried, "hter"))

    @property
    def degradation(self) -> float:
        """Cost of the carried threshold: HTER minus EER."""
        return self.hter - self.eer

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        rates = {"fpr": self.carried.false_positive_rate, "fnr": self.carried.false_negative_rate}
        at = {"eer": self.eer, "threshold": self.threshold, **rates, "hter": self.hter}
        plain = {"name": self.name, "utterances": self.utterances, **at, "degradation": self.degradation}
        return plain if self.intervals is None else {**plain, "intervals": self.intervals.to_dict()}


@dataclass(frozen=True)
class DomainTable(Tabular):
    """A system on several corpora.

    Parameters
    ----------
    measure
        The EER of ranges, points or utterances.
    domains
        The corpora.
    pooled_eer, pooled_threshold
        The EER of all corpora as one, and its threshold.
    threshold, threshold_of
        The threshold that is carried over to every corpus, and its source: a development corpus, or ``pooled``.
    over_corpora
        The mean of the EERs over new corpora, and the EER of the next one, if intervals were requested.

    Examples
    --------
    >>> import spoofspan as ss
    >>> ranges = {"u": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]}
    >>> frames = {"clean": [0.9, 0.8, 0.7, 0.6, 0.2, 0.1, 0.1, 0.1], "noisy": [0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.0, 0.0]}
    >>> corpora = {
    ...     name: (ss.References.from_ranges(ranges), ss.Scores.from_frames({"u": row}, hop=0.02, higher="bonafide"))
    ...     for name, row in frames.items()
    ... }
    >>> table = measure_domains(corpora, dev="clean")
    >>> table.mean_eer, table.pooled_eer, table["noisy"].degradation
    (0.0, 0.0625, 0.5)

    """

    measure: str
    domains: tuple[Domain, ...]
    pooled_eer: float
    pooled_threshold: float
    threshold: float
    threshold_of: str
    over_corpora: UnitSpread | None = None

    def __getitem__(self, name: str) -> Domain:
        return next(one for one in self.domains if one.name == name)

    @property
    def mean_eer(self) -> float:
        """The mean of the EERs, each at its own threshold."""
        return sum(one.eer for one in self.domains) / len(self.domains)

    @property
    def mean_hter(self) -> float:
        """The mean of the half total error rates at the carried threshold."""
        return sum(one.hter for one in self.domains) / len(self.domains)

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each corpus."""
        return [{name: one for name, one in row.to_dict().items() if name != "intervals"} for row in self.domains]

    @property
    def verdict(self) -> str:
        """Verdict in one sentence."""
        from spoofspan.uncertainty.sentences import domains_sentence

        return domains_sentence(self)

    @property
    def estimand(self) -> str:
        """Scope of intervals and tests, in words; empty without them."""
        some = self.domains[0].intervals
        return "" if some is None else f"{some.eer.estimand}, these corpora"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Cautions about intervals and p-values, each once, with the corpora concerned."""
        found: dict[str, list[str]] = {}
        for one in self.domains:
            for text in () if one.intervals is None else one.intervals.eer.warnings:
                found.setdefault(text, []).append(one.name)
        every = len(self.domains)
        texts = [text if len(names) == every else f"{', '.join(names)}: {text}" for text, names in found.items()]
        return (*texts, *(() if self.over_corpora is None else self.over_corpora.warnings))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        pooled = {"pooled_eer": self.pooled_eer, "pooled_threshold": self.pooled_threshold}
        means = {"mean_eer": self.mean_eer, "mean_hter": self.mean_hter}
        carried = {"threshold": self.threshold, "threshold_of": self.threshold_of}
        return {
            "measure": self.measure,
            "verdict": self.verdict,
            **means,
            **pooled,
            **carried,
            "domains": [one.to_dict() for one in self.domains],
            **({} if self.over_corpora is None else {"new_corpora": self.over_corpora.to_dict()}),
            **({"estimand": self.estimand, "warnings": list(self.warnings)} if self.estimand else {}),
        }


@dataclass(frozen=True)
class DomainComparison:
    """Systems on several corpora: the table of each, and the difference of every pair over the corpora.

    Parameters
    ----------
    tables
        System -> its corpora.
    differences
        First - second of every pair of systems: the mean over these corpora, and over new ones.

    Examples
    --------
    See :func:`compare_domains`.

    """

    tables: Mapping[str, DomainTable]
    differences: tuple[DomainDifference, ...]

    @property
    def verdict(self) -> str:
        """Verdict of the difference of systems, in one sentence; empty for one system."""
        from spoofspan.uncertainty.sentences import domain_comparison_sentence

        return domain_comparison_sentence(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        systems = [{"system": name, **table.to_dict()} for name, table in self.tables.items()]
        return {
            "verdict": self.verdict,
            "systems": systems,
            "differences": [one.to_dict() for one in self.differences],
        }


def measure_domains(
    corpora: Corpora,
    *,
    measure: str = "range-eer",
    dev: str | None = None,
    confidence: float | None = None,
    clusters: Mapping[str, Grouping] | None = None,
    clusters_are: str = "cluster",
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RuleArguments],
) -> DomainTable:
    """Measure a system on several corpora, each on its own, pooled, and at one threshold.

    Parameters
    ----------
    corpora
        References and scores by the name of the corpus; or labels and scores of whole utterances. The scores of all
        corpora must be on one scale.
    measure
        An EER: ``range-eer``, ``point-eer@20ms`` or ``utterance-eer``.
    dev
        The corpus whose EER threshold is carried over to the others; default: all corpora pooled.
    confidence
        The level of intervals, such as 0.95; without it there are none.
    clusters
        Corpus -> utterance -> speaker, or crossed factors as in :class:`~spoofspan.Resampling`; None: each utterance
        is a cluster. Equal names of speakers in two corpora mean one speaker.
    clusters_are
        The noun for a cluster, such as ``"speaker"``.
    convention, eer_rule, **rules
        As in :func:`spoofspan.range_eer`.

    Returns
    -------
    DomainTable
        The corpora, their mean and their pooled EER.

    Examples
    --------
    See :class:`DomainTable`.

    """
    options = EvaluationOptions(convention, eer_rule, rules=rules)
    table, carried = _table(corpora, Measure.parse(measure), dev, options)
    if confidence is None:
        return table
    return _with_intervals(table, _ready(carried, options, confidence, clusters, clusters_are))


def compare_domains(
    systems: Mapping[str, Corpora],
    *,
    measure: str = "range-eer",
    dev: str | None = None,
    confidence: float = 0.95,
    clusters: Mapping[str, Grouping] | None = None,
    clusters_are: str = "cluster",
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RuleArguments],
) -> DomainComparison:
    """Measure systems on the same corpora, and compare every pair over these corpora and over new ones.

    Parameters
    ----------
    systems
        System -> its corpora, as in :func:`measure_domains`. All systems need the same corpora.
    measure, dev, confidence, clusters, clusters_are, convention, eer_rule, **rules
        As in :func:`measure_domains`.

    Returns
    -------
    DomainComparison

    Examples
    --------
    >>> import numpy as np
    >>> import spoofspan as ss
    >>> rng = np.random.default_rng(0)
    >>> labels = {f"u{i}": ("bonafide", "spoof")[i % 2] for i in range(80)}
    >>> def scored(apart):
    ...     drawn = rng.normal(size=80) + [apart * (label == "bonafide") for label in labels.values()]
    ...     return labels, ss.UtteranceScores(tuple(labels), drawn, "bonafide")
    >>> systems = {name: {corpus: scored(apart) for corpus in "xyz"} for name, apart in (("good", 3.0), ("poor", 1.0))}
    >>> (found,) = compare_domains(systems, measure="utterance-eer").differences
    >>> found.these.estimate < 0, found.p_value < 0.001, len(found.new.values)
    (True, True, 3)

    """
    options = EvaluationOptions(convention, eer_rule, rules=rules)
    wanted = Measure.parse(measure)
    first = list(next(iter(systems.values())))
    for name, some in systems.items():
        if list(some) != first:
            raise UsageError(f"{name!r} has the corpora {', '.join(some)}, not {', '.join(first)}; give all the same")
    made = {name: _table(some, wanted, dev, options) for name, some in systems.items()}
    ready = {name: _ready(carried, options, confidence, clusters, clusters_are) for name, (_, carried) in made.items()}
    from spoofspan.uncertainty.domain_intervals import compared_over_corpora

    tables = {name: _with_intervals(table, ready[name]) for name, (table, _) in made.items()}
    return DomainComparison(tables, compared_over_corpora(ready))


@dataclass(frozen=True, eq=False)
class _Carried:
    """A system on several corpora, with the threshold that is carried over."""

    corpora: Corpora
    eers: Mapping[str, MeasuredSystem]
    point: OperatingPoint
    sources: tuple[str, ...]  # the corpora it was found on


def _table(
    corpora: Corpora, wanted: Measure, dev: str | None, options: EvaluationOptions
) -> tuple[DomainTable, _Carried]:
    """Measure each corpus, all pooled, and each at one threshold."""
    if wanted != wanted.eer:
        raise UsageError(f"several corpora are measured by an EER, which has a threshold to carry over, not {wanted}")
    if len(corpora) < 2:
        raise UsageError(f"give at least two corpora, not {len(corpora)}; one corpus is measured by evaluate")
    if dev is not None and dev not in corpora:
        raise UsageError(f"dev={dev!r}: no such corpus, {nearest_name(dev, corpora)}")
    eers: dict[str, MeasuredSystem] = {}
    for name, (truth, scores) in corpora.items():
        eers[name] = one = cast("MeasuredSystem", corpus_of(truth, scores).ready(wanted, options))
        for text in wanted.kind.cautions(one.plan, Value(one.value, one.point)):
            warn_user(f"{name}, {wanted}: {text}", SpoofspanWarning)
    rule = next(iter(eers.values())).plan.eer_rule
    pooled: EqualErrorRate = wanted.kind.function(reduce(add, (one.mass for one in eers.values())), rule)
    carried = pooled.point if dev is None else eers[dev].point
    domains = tuple(
        Domain(name, len(one.utterances), one.value, one.point.threshold, point_at(one.mass, carried.threshold))
        for name, one in eers.items()
    )
    table = DomainTable(
        str(wanted), domains, float(pooled.value), pooled.point.threshold, carried.threshold, dev or "pooled"
    )
    return table, _Carried(corpora, eers, carried, tuple(corpora) if dev is None else (dev,))


def _ready(
    carried: _Carried,
    options: EvaluationOptions,
    confidence: float,
    clusters: Mapping[str, Grouping] | None,
    clusters_are: str,
) -> MeasuredDomains:
    """The system without each cluster of all corpora in turn."""
    from spoofspan.uncertainty.clusters import Resampling
    from spoofspan.uncertainty.domain_intervals import MeasuredDomains, clusters_of_corpora

    measure = next(iter(carried.eers.values())).measure
    hter = replace(measure, family=measure.family.replace("-eer", "-hter"))
    at = replace(options, threshold=carried.point.threshold)
    hters = {
        name: cast("MeasuredSystem", corpus_of(truth, scores).ready(hter, at))
        for name, (truth, scores) in carried.corpora.items()
    }
    seen, factors = clusters_of_corpora(carried.eers, clusters, clusters_are)
    how = Resampling(clusters=factors, confidence=confidence)
    return MeasuredDomains.of(carried.eers, hters, carried.point, carried.sources, how, seen)


def _with_intervals(table: DomainTable, ready: MeasuredDomains) -> DomainTable:
    found = ready.intervals()
    domains = tuple(replace(one, intervals=found[one.name]) for one in table.domains)
    return replace(table, domains=domains, over_corpora=ready.over_corpora())
