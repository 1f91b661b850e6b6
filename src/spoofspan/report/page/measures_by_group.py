"""Further measures of a page, such as those of events, by attack and by the columns of metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spoofspan.base.columns import utterance_of_rows
from spoofspan.base.progress import progress
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.evaluation.corpus import CorpusInMemory
from spoofspan.evaluation.crossed import POOLED, CrossedCell
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.measures.catalogue import EVENT
from spoofspan.measures.measure import parse_measures
from spoofspan.report.table import printable

USUAL_IOU = 0.5
NOTHING = "none"  # the attack of utterances that have none


def iou_of(measures: Sequence[str]) -> float | None:
    """At which IoU timelines show events: that of the first event measure that has one; None without any."""
    events = [one for one in parse_measures(measures) if one.basis == EVENT]
    stated = [dict(one.parameters).get("iou") for one in events]
    return next((float(iou) for iou in stated if isinstance(iou, float | int)), USUAL_IOU) if events else None


def measures_by_group(
    references: References,
    scores: Scores,
    measures: Sequence[str],
    columns: Mapping[str, Mapping[str, str]],
    arguments: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """For each column, and for the attacks that utterances have: the measures of each group, as plain data."""
    wanted = [one for one in parse_measures(measures) if not one.macro or one.basis == EVENT]
    if not wanted:
        return []
    attacks = {"kind": _attacks(references)} if references.kinds is not None else {}
    corpus, options = CorpusInMemory(references, scores), EvaluationOptions.from_arguments(arguments)
    found = []
    with progress("measuring groups"):
        for name, column in (attacks | dict(columns)).items():
            crossed = {str(one): corpus.cross(name, str(one), options, {name: column}.__getitem__) for one in wanted}
            # attacks of whole utterances are measured against all bona fide ones, which are no group then
            rows = dict.fromkeys(row for one in crossed.values() for row in one.rows)
            nothing = CrossedCell(float("nan"), 0, 0)
            groups = [_group(row, [one.cells.get((row, POOLED), nothing) for one in crossed.values()]) for row in rows]
            found.append({"by": printable(name), "measures": list(crossed), "groups": groups})
    return found


def _group(row: str, cells: Sequence[Any]) -> dict[str, Any]:
    values = [
        {"value": None if one.value != one.value else one.value, "reason": printable(one.reason)} for one in cells
    ]
    return {"name": printable(row), "values": values}


def _attacks(references: References) -> dict[str, str]:
    """The attacks of each utterance, in one word."""
    found: dict[str, set[str]] = {utterance: set() for utterance in references.utterances}
    kinds = [] if references.kinds is None else references.kinds.tolist()
    for place, kind in zip(utterance_of_rows(references.offsets).tolist(), kinds, strict=True):
        if kind >= 0:
            found[references.utterances[place]].add(references.kind_names[kind])
    return {utterance: "+".join(sorted(names)) or NOTHING for utterance, names in found.items()}
