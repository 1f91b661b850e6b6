"""Several corpora as a table."""

from __future__ import annotations

from spoofspan.evaluation.domains import DomainTable
from spoofspan.report.cells import share_cell
from spoofspan.report.table import Shown, Table


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
