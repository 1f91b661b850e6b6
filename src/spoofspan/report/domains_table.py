"""Several corpora, and the agreement of systems, as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping

from spoofspan.evaluation.domains import DomainTable
from spoofspan.report.cells import amount_cell, share_cell
from spoofspan.report.table import Shown, Table
from spoofspan.uncertainty.agreement import Agreement


def domains_table(system: str, table: DomainTable) -> Table:
    """One row per corpus, then their mean and all of them pooled."""
    header = (system, "utterances", "EER %", "threshold", "FPR %", "FNR %", "HTER %", "degradation")
    rows: list[tuple[str, ...]] = [
        (
            one.name,
            str(one.utterances),
            share_cell(one.eer),
            _threshold(one.threshold),
            share_cell(one.carried.false_positive_rate),
            share_cell(one.carried.false_negative_rate),
            share_cell(one.hter),
            Shown(f"{100 * one.degradation:+.2f}", exact=repr(100 * one.degradation)),
        )
        for one in table.domains
    ]
    total = str(sum(one.utterances for one in table.domains))
    rows.append(("mean", "", share_cell(table.mean_eer), "", "", "", share_cell(table.mean_hter), ""))
    rows.append(("pooled", total, share_cell(table.pooled_eer), _threshold(table.pooled_threshold), "", "", "", ""))
    source = "all corpora pooled" if table.threshold_of == "pooled" else table.threshold_of
    notes = (
        "",
        f"{table.measure}; FPR, FNR and HTER at the threshold {table.threshold!r} of {source}",
        "degradation: HTER less the corpus's own EER, in points",
    )
    return Table(header, tuple(rows), notes)


def _threshold(value: float) -> Shown:
    return Shown(f"{value:.6g}", exact=repr(float(value)), paper=f"{value:.4g}")


def agreement_table(agreements: Mapping[tuple[str, str], Agreement]) -> Table:
    """One row per pair of systems."""
    header = (
        "systems",
        "both right",
        "only first wrong",
        "only second wrong",
        "both wrong",
        "McNemar p",
        "correlation",
    )
    rows = [
        (
            f"{first}, {second}",
            str(one.both_right),
            str(one.only_first_wrong),
            str(one.only_second_wrong),
            str(one.both_wrong),
            Shown(f"{one.p_value:.2g}", exact=repr(float(one.p_value))),
            "" if math.isnan(one.correlation) else amount_cell(one.correlation),
        )
        for (first, second), one in agreements.items()
    ]
    notes = ["", "utterances of all corpora, each system at the threshold of its utterance EER on each corpus"]
    if len(rows) > 1:
        notes.append(f"McNemar p: of each pair alone, not adjusted for {len(rows)} pairs; a verdict is that of compare")
    return Table(header, tuple(rows), tuple(notes))
