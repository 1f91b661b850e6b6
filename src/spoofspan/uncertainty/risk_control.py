"""Conformal risk control: a threshold whose expected miss rate is at most a stated share.

With a loss of each of n exchangeable clusters that never rises with the threshold and is at most 1 (the share of a
speaker's spoofed time that is missed), take the lowest threshold at which::

    (sum of losses + 1) / (n + 1) <= miss_rate

Then the expected loss of a further such cluster is at most the miss rate, whatever the distribution of the scores and
the quality of the system (A. N. Angelopoulos, S. Bates, A. Fisch, L. Lei, T. Schuster: Conformal Risk Control, 2022,
arXiv:2208.02814, Theorem 1); and at least the miss rate - 2 / (n + 1) where losses change in small steps (Theorem 2).

The expectation is over calibration sets and new clusters: with one calibration set, the miss rate may be higher or
lower. New attacks are not exchangeable with those of the set, so the bound does not cover them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, cast

from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.progress import progress
from spoofspan.data.front_door import RulesAndInputs, opens_inputs
from spoofspan.data.miss_bound import MissBound
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.corpus import corpus_of
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.measures.confusion import as_fraction
from spoofspan.measures.curve import error_curve_of
from spoofspan.measures.measure import Measure
from spoofspan.measures.operating_point import OperatingPoint
from spoofspan.uncertainty.clusters import Clusters, Grouping, Resampling
from spoofspan.uncertainty.left_out import Confusions, sums_by_unit
from spoofspan.uncertainty.measured_system import MeasuredSystem

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.evaluation.utterances import Truth


@opens_inputs
def bound_misses(
    references: Truth,
    scores: Scores | UtteranceScores,
    miss_rate: float,
    *,
    clusters: Grouping | None = None,
    clusters_are: str = "cluster",
    convention: str = "default",
    **rules: Unpack[RulesAndInputs],
) -> MissBound:
    """Find the threshold whose expected miss rate is at most a stated share, by conformal risk control.

    Parameters
    ----------
    references, scores
        A calibration set that the system was not trained on, with the attacks to detect.
    miss_rate
        The bound, such as 0.05: the highest expected share of missed spoofed time of a new cluster.
    clusters, clusters_are
        The cluster of each utterance, such as ``{"speaker": {utterance: speaker}}``. Without them, utterances are taken
        as independent, and the bound is for new utterances of the same speakers.
    convention, **rules
        As in :func:`spoofspan.range_eer`.

    Returns
    -------
    MissBound
        The threshold, the bound, and its cost: the share of bona fide called spoof.

    Raises
    ------
    UndefinedMeasureError
        If there are too few clusters for that miss rate, or if all would have to be called spoof.

    Examples
    --------
    >>> import spoofspan.demo
    >>> corpus = spoofspan.demo.load()
    >>> speakers = dict(zip(corpus.protocol.utterance, corpus.protocol.speaker, strict=True))
    >>> bound = bound_misses(corpus.references, corpus.systems[0.02], 0.1, clusters={"speaker": speakers})
    >>> f"{bound.threshold:.3f} {bound.missed:.3f} {bound.clusters} {bound.drawn_by}s"
    '0.538 0.044 16 speakers'

    """
    most = as_fraction(miss_rate, "miss_rate")
    if not 0 < most < 1:
        raise UsageError(f"miss_rate={miss_rate!r}: must lie between 0 and 1, such as 0.05 (--miss-rate 0.05)")
    how = Resampling(clusters=clusters, clusters_are=clusters_are)
    if len(how.factors) > 1:
        raise UsageError(
            f"crossed factors ({', '.join(how.factors)}) are not exchangeable one by one; take one, such as speaker"
        )
    of_utterances = isinstance(scores, UtteranceScores)
    measure = Measure("utterance-eer" if of_utterances else "range-eer")
    options = EvaluationOptions(convention, rules=rules)
    system = cast("MeasuredSystem", corpus_of(references, scores).ready(measure, options))
    losses = _losses_at(system, Clusters.of(system.mass.utterances, clusters, clusters_are))
    curve = error_curve_of(system.mass)
    count = len(losses(curve.point(0))[0])
    needed = ceil(1 / most) - 1
    if count < needed:
        raise UndefinedMeasureError(
            f"an expected miss rate of at most {float(most):g} needs {needed:,} {how.drawn_by}s with spoof at least, "
            f"and these are {count:,}; allow {ceil(10**4 / (count + 1)) / 10**4:g}, or calibrate on more"
        )

    def kept(place: int) -> bool:
        return sum(losses(curve.point(place))[0], Fraction(1)) <= most * (count + 1)

    low, high = 0, len(curve) - 1  # at the last one everything is called spoof
    with progress("bounding the miss rate"):
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if kept(middle) else (middle + 1, high)
        if not kept(low) or curve.point(low).everything:
            raise UndefinedMeasureError(
                f"to miss at most {float(most):g} of {count:,} {how.drawn_by}s, everything would have to be called "
                "spoof; allow more, or calibrate on more"
            )
    point = curve.point(low)
    missed, false_positive_rate = losses(point)
    return MissBound(
        threshold=point.threshold,
        miss_rate=float(most),
        clusters=count,
        drawn_by=how.drawn_by,
        missed=float(sum(missed, Fraction(0)) / count),
        false_positive_rate=false_positive_rate,
        higher=point.higher,
        unit="utterances" if of_utterances else "time",
        learned_on={} if system.signer is None else system.signer().to_dict(),
    )


def _losses_at(system: MeasuredSystem, clusters: Clusters) -> Callable[[OperatingPoint], tuple[list[Fraction], float]]:
    """A function of an operating point: the missed share of each cluster with spoof, and the FPR."""
    units, uncovered = clusters.units_of(system.mass.utterances), system.mass.uncovered

    def losses(point: OperatingPoint) -> tuple[list[Fraction], float]:
        sums = sums_by_unit(system.mass, units, clusters.count, point)
        each = Confusions.of(sums, uncovered)
        missed = each.false_negative + each.unanswered_spoof  # what has no score is not found
        shares = [
            Fraction(int(one), int(spoof))
            for one, spoof in zip(missed.tolist(), each.spoof.tolist(), strict=True)
            if spoof
        ]
        return shares, point.false_positive_rate

    return losses
