"""Several corpora, and the agreement of systems, as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping

from spoofspan.evaluation.domains import DomainTable
from spoofspan.report.table import Table
from spoofspan.uncertainty.agreement import Agreement


def domains_table(system: str, table: DomainTable) -> Table:
    """One row per corpus, then their mean and all of them pooled."""
    header = (system, "utterances", "EER %", "threshold", "FPR %", "FNR %", "HTER %", "degradation")
    rows = [
        (
            one.name,
            str(one.utterances),
            f"{100 * one.eer:.2f}",
            f"{one.threshold:.6g}",
            f"{100 * one.carried.false_positive_rate:.2f}",
            f"{100 * one.carried.false_negative_rate:.2f}",
            f"{100 * one.hter:.2f}",
            f"{100 * one.degradation:+.2f}",
        )
        for one in table.domains
    ]
    total = str(sum(one.utterances for one in table.domains))
    rows.append(("mean", "", f"{100 * table.mean_eer:.2f}", "", "", "", f"{100 * table.mean_hter:.2f}", ""))
    rows.append(("pooled", total, f"{100 * table.pooled_eer:.2f}", f"{table.pooled_threshold:.6g}", "", "", "", ""))
    source = "all corpora pooled" if table.threshold_of == "pooled" else table.threshold_of
    notes = (
        "",
        f"{table.measure}; FPR, FNR and HTER at the threshold {table.threshold!r} of {source}",
        "degradation: HTER less the corpus's own EER, in points",
    )
    return Table(header, tuple(rows), notes)


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
            f"{one.p_value:.2g}",
            "" if math.isnan(one.correlation) else f"{one.correlation:.2f}",
        )
        for (first, second), one in agreements.items()
    ]
    notes = ("", "utterances of all corpora, each system at the threshold of its utterance EER on each corpus")
    return Table(header, tuple(rows), notes)
