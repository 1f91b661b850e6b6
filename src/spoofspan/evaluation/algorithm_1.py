"""The range-based EER by the paper's Algorithm 1, as a measurement; the algorithm is in ``measures.bisection``."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from spoofspan.data.references import References
from spoofspan.data.rules import rules_for
from spoofspan.data.scores import Scores
from spoofspan.evaluation.measurement import BisectionMeasurement
from spoofspan.evaluation.plan import spelled_rules
from spoofspan.evaluation.signature import Inputs, sign
from spoofspan.measures.bisection import Quantiles, RangeRates, bisect
from spoofspan.measures.operating_point import OperatingPoint

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.data.rules import RuleArguments


def bisection_eer(
    references: References,
    scores: Scores,
    *,
    precision: float = 1e-5,
    quantiles: Quantiles = "real",
    convention: str = "default",
    **rules: Unpack[RuleArguments],
) -> BisectionMeasurement:
    """Estimate the range-based EER by the paper's Algorithm 1; ``trace`` shows every step.

    Parameters
    ----------
    references, scores
        Who is spoofed when, and what a system said.
    precision
        The algorithm ends where FPR and FNR differ by less.
    quantiles
        ``"integer"`` is the algorithm as printed, ``"real"`` as in the published script.
    convention, **rules
        As in :func:`spoofspan.range_eer`.

    Returns
    -------
    BisectionMeasurement
        The estimate with its trace; ``reached`` says whether the precision was.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]})
    >>> frames = {"u1": [0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]}
    >>> m = bisection_eer(references, Scores.from_frames(frames, hop=0.02, higher="bonafide"))
    >>> m.value, m.reached
    (0.25, True)
    """
    scores.refuse_decisions("an EER")
    chosen, _ = rules_for("range", convention, rules)
    rates = RangeRates(references, scores, chosen)
    result = bisect(rates, precision, quantiles)
    best = result.best
    value = (best.false_positive_rate + best.false_negative_rate) / 2
    point = OperatingPoint(
        best.threshold if scores.higher == "bonafide" else -best.threshold,
        scores.higher,
        round(best.false_positive_rate * rates.all_bona_fide),
        round(best.false_negative_rate * rates.all_spoof),
        int(rates.all_bona_fide),
        int(rates.all_spoof),
    )
    notes = []
    if not result.reached:
        notes.append(f"the precision of {precision:g} was not reached: no quantile tried gives |FPR - FNR| below it")
    if not result.bracketed:
        notes.append("FPR - FNR has the same sign at the lowest and at the highest score, so nothing was bracketed")
    measure = f"bisection-eer({quantiles},{precision:g})"
    signer = partial(
        sign,
        measure,
        "bisection",
        spelled_rules("range", chosen, references.snap),
        Inputs(references, scores),
        rates.utterances,
        chosen.regions,
    )
    return BisectionMeasurement(
        measure,
        value,
        point,
        (None, None),
        "bisection",
        convention,
        chosen,
        {entry.rule: entry for entry in rates.touched},
        len(rates.utterances),
        Fraction(value),
        (),
        tuple(notes),
        signer,
        result,
    )
