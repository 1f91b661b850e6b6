"""What a calibration is worth, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from spoofspan.evaluation.calibration_effects import CalibrationEffect
from spoofspan.measures.measure import plain_text
from spoofspan.report.table import Table

NOTES = (
    "scores are taken as log-likelihood ratios; Cllr in bits, actDCF and minDCF of ASVspoof 5",
    "minCllr and minDCF depend on the order of the scores alone",
)


def calibration_table(effects: Sequence[CalibrationEffect], notes: Sequence[str] = ()) -> Table:
    """One row for each state of the scores."""
    rows = [
        (
            one.name,
            f"{100 * one.eer:.2f}",
            *(plain_text(value, 4) for value in (one.cllr, one.min_cllr, one.act_dcf, one.min_dcf)),
        )
        for one in effects
    ]
    return Table(("scores", "EER %", "Cllr", "minCllr", "actDCF", "minDCF"), tuple(rows), ("", *NOTES, *notes))
