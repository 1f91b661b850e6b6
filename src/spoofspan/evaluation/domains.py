"""Several corpora at once: how a system does on each, on all of them, and at one threshold for all.

For each corpus (*domain*): its EER, and both error rates at the one threshold that is carried over, that of a
development corpus or, without one, that of all corpora pooled. For all of them:

- the **mean** of the EERs, each with a threshold of its own, which a system in use does not have;
- the **pooled** EER, of all corpora as one: there is one threshold, and large corpora weigh more;
- the **degradation** of a corpus: its half total error rate at the carried threshold less its own EER. That is what it
  costs not to know the domain.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from spoofspan.base.errors import SpoofspanWarning, UsageError, nearest_name
from spoofspan.base.tabular import Tabular
from spoofspan.data.rules import RuleArguments
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.corpus import corpus_of
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.evaluation.utterances import Truth
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.confusion import value_at
from spoofspan.measures.eer import EqualErrorRate, eer_cautions
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import OperatingPoint, point_at

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Domain:
    """One corpus: its own EER with its threshold, and the error rates at the carried threshold."""

    name: str
    utterances: int
    eer: float
    threshold: float
    carried: OperatingPoint

    @property
    def hter(self) -> float:
        """Half the total error rate at the carried threshold."""
        return float(value_at(self.carried, "hter"))

    @property
    def degradation(self) -> float:
        """What the carried threshold costs: HTER less the EER."""
        return self.hter - self.eer

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        rates = {"fpr": self.carried.false_positive_rate, "fnr": self.carried.false_negative_rate}
        at = {"eer": self.eer, "threshold": self.threshold, **rates, "hter": self.hter}
        return {"name": self.name, "utterances": self.utterances, **at, "degradation": self.degradation}


@dataclass(frozen=True)
class DomainTable(Tabular):
    """A system on several corpora.

    Parameters
    ----------
    measure
        The EER that was measured: of ranges, points or utterances.
    domains
        The corpora.
    pooled_eer, pooled_threshold
        Of all corpora as one.
    threshold, threshold_of
        What is carried over to every corpus, and where it comes from: a development corpus, or ``pooled``.

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
        return [one.to_dict() for one in self.domains]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        pooled = {"pooled_eer": self.pooled_eer, "pooled_threshold": self.pooled_threshold}
        means = {"mean_eer": self.mean_eer, "mean_hter": self.mean_hter}
        carried = {"threshold": self.threshold, "threshold_of": self.threshold_of}
        return {
            "measure": self.measure,
            **means,
            **pooled,
            **carried,
            "domains": self.to_rows(),
        }


def measure_domains(
    corpora: Mapping[str, tuple[Truth, Scores | UtteranceScores]],
    *,
    measure: str = "range-eer",
    dev: str | None = None,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RuleArguments],
) -> DomainTable:
    """Measure a system on several corpora, each on its own, pooled, and at one threshold.

    Parameters
    ----------
    corpora
        References and scores by the name of the corpus; or labels of whole utterances, and scores of these. The scores
        must mean the same everywhere.
    measure
        An EER: ``range-eer``, ``point-eer@20ms`` or ``utterance-eer``.
    dev
        The corpus whose EER threshold is carried over to the others; without it, that of all corpora pooled.
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
    wanted = Measure.parse(measure)
    if wanted != wanted.eer:
        raise UsageError(f"several corpora are measured by an EER, which has a threshold to carry over, not {measure}")
    if len(corpora) < 2:
        raise UsageError(f"give at least two corpora, not {len(corpora)}; one corpus is measured by evaluate")
    if dev is not None and dev not in corpora:
        raise UsageError(f"dev={dev!r}: no such corpus, {nearest_name(dev, corpora)}")
    options = EvaluationOptions(convention, eer_rule, rules=rules)
    masses: dict[str, ScoreMass] = {}
    eers: dict[str, EqualErrorRate] = {}
    for name, (truth, scores) in corpora.items():
        corpus = corpus_of(truth, scores)
        (lay,) = corpus.lay([corpus.plan(wanted, options)])
        planned = lay()
        masses[name], rule = planned.mass, planned.plan.eer_rule
        eers[name] = wanted.kind.function(masses[name], rule)
        for text in eer_cautions(float(eers[name].value), eers[name].point, rule):
            warnings.warn(f"{name}, {wanted}: {text}", SpoofspanWarning, stacklevel=2)
    pooled: EqualErrorRate = wanted.kind.function(reduce(add, masses.values()), rule)
    carried = (pooled if dev is None else eers[dev]).point
    domains = tuple(
        Domain(
            name,
            len(mass.utterances),
            float(eers[name].value),
            eers[name].point.threshold,
            point_at(mass, carried.threshold),
        )
        for name, mass in masses.items()
    )
    return DomainTable(
        str(wanted), domains, float(pooled.value), pooled.point.threshold, carried.threshold, dev or "pooled"
    )
