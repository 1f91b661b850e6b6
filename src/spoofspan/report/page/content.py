"""What a page shows, as plain data: measurements, curves, breakdowns, timelines. No markup here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.progress import progress
from spoofspan.base.times import exact_sum, milliseconds
from spoofspan.base.version import __version__
from spoofspan.data.references import SPOOF, References
from spoofspan.data.scores import Scores
from spoofspan.data.sides import check_sides, check_systems
from spoofspan.evaluation.breakdown import (
    Breakdown,
    groups_by_boundary,
    groups_by_column,
    groups_by_kind,
    groups_by_length,
)
from spoofspan.evaluation.corpus import Evaluation, default_measures
from spoofspan.evaluation.evaluate import best_possible, evaluate
from spoofspan.evaluation.measurement import EventMeasurement, Measurement
from spoofspan.evaluation.resolution_table import PAPER_RESOLUTIONS
from spoofspan.evaluation.whole_corpus import WholeInMemory
from spoofspan.measures.curve import thin_curve
from spoofspan.measures.measure import parse_measures
from spoofspan.measures.per_utterance import UtteranceErrors
from spoofspan.report.figures.line_simplification import deviates
from spoofspan.report.page.measures_by_group import iou_of, measures_by_group
from spoofspan.report.page.packing import packed, packed_short
from spoofspan.report.page.publishing import without_labels
from spoofspan.report.page.timelines import MOST_TIMELINES, choose, timelines
from spoofspan.report.results import finite
from spoofspan.report.table import printable
from spoofspan.uncertainty import Comparison, Resampling, compare

MOST_GROUPS = 500  # rows of a breakdown
MOST_BYTES = 1_500_000  # of the scores of all timelines
FEW_SYSTEMS = 6  # more have curves of fewer points
COARSE = 0.03  # between these points, in normal deviates
MOST_ROWS = 4000  # of a breakdown, of all systems together


@dataclass(frozen=True)
class PageSettings:
    """What a page shows, and under which rules it is measured.

    Parameters
    ----------
    title : str
        Title of the page.
    resolutions : sequence of float
        Of the point EERs, in seconds.
    resampling : Resampling
        How the intervals are drawn.
    columns : mapping of str to mapping
        Breakdowns by metadata: name of the column -> utterance -> value.
    timelines : int, optional
        How many utterances are shown; None: 240, or fewer with many systems, so that the page stays small. With 0, the
        page holds no labels and can be published (:mod:`spoofspan.report.page.publishing`).
    audio : mapping of str to str
        Utterance -> address of its sound.
    waveforms : mapping of str to dict
        Utterance -> its sound as a picture, see :func:`spoofspan.report.page.audio.waveform`.
    measures : sequence of str
        Further measures, such as ``event-f1@iou=0.5``: on the cards, in the leaderboard, by group.
    arguments : mapping
        ``convention``, ``eer_rule`` and rules, as of :func:`spoofspan.evaluate`.

    """

    title: str = "Spoof localization report"
    resolutions: Sequence[float] = PAPER_RESOLUTIONS
    resampling: Resampling = field(default_factory=lambda: Resampling(replicates=1000))
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # breakdowns by metadata
    timelines: int | None = None
    audio: Mapping[str, str] = field(default_factory=dict)  # utterance -> address of its sound
    waveforms: Mapping[str, dict[str, Any] | None] = field(default_factory=dict)
    measures: Sequence[str] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)  # convention, eer_rule and rules


def page_content(references: References, systems: Mapping[str, Scores], settings: PageSettings) -> dict[str, Any]:
    """Everything that a page shows, measured, as plain data.

    Parameters
    ----------
    references : References
        Reference labels.
    systems : mapping of str to Scores
        The scores of each system by its name; timelines are chosen by the errors of the first one.
    settings : PageSettings
        What the page has.

    Returns
    -------
    dict
        For :func:`render_page`; ready for JSON.

    Examples
    --------
    >>> from spoofspan.demo import load
    >>> corpus = load()
    >>> settings = PageSettings(resolutions=[0.02], resampling=Resampling(replicates=40), timelines=5)
    >>> content = page_content(corpus.references, {"ours": corpus.systems[0.02]}, settings)
    >>> [one["name"] for one in content["systems"]]
    ['ours']

    """
    if not systems:
        raise UsageError("a report needs the scores of at least one system")
    check_systems(systems)
    for scores in systems.values():
        check_sides(references, scores)
        scores.refuse_decisions("a report")
    plan = _Plan(
        _same_measures(systems, settings),
        min(MOST_GROUPS, max(MOST_ROWS // len(systems), 20)),
        len(systems) <= FEW_SYSTEMS and settings.timelines != 0,
    )
    found = {name: _system(name, references, scores, plan, settings) for name, scores in systems.items()}
    first = next(iter(found.values()))
    shown = [] if settings.timelines == 0 else _timelines(references, systems, found, settings)
    content = {
        "spoofspan": __version__,
        "title": printable(settings.title),
        "facts": _facts(references, first.eer),
        "systems": [one.content for one in found.values()],
        "comparison": _comparison(references, systems, settings),
        "labels": True,
        "iou": iou_of(settings.measures),
        "columns": [printable(name) for name in settings.columns],
        "timelines": shown,
        "timelines_of": printable(first.name),
    }
    plain: dict[str, Any] = finite(content)
    return without_labels(plain) if settings.timelines == 0 else plain


def _timelines(
    references: References, systems: Mapping[str, Scores], found: Mapping[str, _System], settings: PageSettings
) -> list[dict[str, Any]]:
    """Utterances by the errors of the first system, with the scores of all."""
    first = next(iter(found.values()))
    count = settings.timelines
    if count is None:
        each = sum(scores.values.nbytes / max(len(scores), 1) for scores in systems.values())
        count = int(min(max(MOST_BYTES / max(each, 1), 12), MOST_TIMELINES))
    with progress("choosing utterances"):
        choices = choose(first.errors, count)
        drawn = {printable(name): (systems[name], one.eer.rules) for name, one in found.items()}
        return timelines(
            references,
            drawn,
            choices,
            audio=settings.audio,
            waveforms=settings.waveforms,
            columns=settings.columns,
        )


@dataclass(frozen=True)
class _Plan:
    """What is the same for all systems: what is measured, the rows of a breakdown, whether curves are fine."""

    measures: Sequence[str]
    most_groups: int
    fine: bool


@dataclass(frozen=True)
class _System:
    name: str
    eer: Measurement
    content: dict[str, Any]
    errors: UtteranceErrors


def _same_measures(systems: Mapping[str, Scores], settings: PageSettings) -> list[str]:
    """The usual measures of all systems, so that each is shown with the same ones."""
    convention = settings.arguments.get("convention", "default")
    usual = [default_measures(scores, convention) for scores in systems.values()]
    order = {"range": 0, "point": 1, "utterance": 2}
    every = dict.fromkeys(measure for measures in usual for measure in measures)
    first = sorted(every, key=lambda measure: order.get(measure.partition("-")[0], 3))
    return list(dict.fromkeys((*first, *map(str, parse_measures(settings.measures)))))


def _system(name: str, references: References, scores: Scores, plan: _Plan, settings: PageSettings) -> _System:
    arguments, measures = dict(settings.arguments), plan.measures

    def leave_out(measure: Any, error: UndefinedMeasureError) -> None:
        if str(measure) == measures[0]:
            raise error

    evaluation = evaluate(
        references, scores, measures, resampling=settings.resampling, on_undefined=leave_out, **arguments
    )
    eer = evaluation[measures[0]]
    whole = WholeInMemory(references, scores, measures[0], arguments)
    with progress("drawing the curve"):
        # a figure of many systems needs no more than it can show
        coarse: dict[str, Any] = {} if plan.fine else {"tolerance": COARSE, "scale": deviates}
        curve = thin_curve(whole.mass, include=[eer.threshold], **coarse)
    start = curve.thresholds.tolist().index(eer.threshold) if eer.threshold in curve.thresholds else 0
    content = {
        "name": printable(name),
        "higher": scores.higher,
        "hop": scores.hop,
        "measurements": [_measurement(one) for one in evaluation.measurements.values()],
        "curve": {
            "thresholds": packed_short(curve.thresholds),
            "false_positive_rates": packed(curve.false_positive_rates),
            "false_negative_rates": packed(curve.false_negative_rates),
            "bona_fide_seconds": curve.sums.all_bona_fide / 1e9,
            "spoof_seconds": curve.sums.all_spoof / 1e9,
            "start": start,
        },
        "resolutions": _resolutions(references, scores, evaluation, settings),
        "breakdowns": [_breakdown(one, plan.most_groups) for one in _breakdowns(whole, settings)],
        "measures_by": measures_by_group(references, scores, settings.measures, settings.columns, arguments),
    }
    return _System(name, eer, content, whole.errors)


def _measurement(m: Measurement) -> dict[str, Any]:
    return {
        "measure": m.measure,
        "number": m.value,
        "value": m.value_text,
        "interval": m.interval_text,
        "ends": None if m.interval is None or m.interval.refused else [m.interval.low, m.interval.high],
        "level": None if m.interval is None else m.interval.level,
        "how": None if m.interval is None else m.interval.how,
        "cautions": [printable(text) for text in m.interval_warnings],
        "threshold": m.threshold,
        "decision": m.decision,
        "false_positive_rate": m.false_positive_rate,
        "false_negative_rate": m.false_negative_rate,
        "notes": [printable(text) for text in (*m.touched_lines(), *m.notes, *m.warnings)],
        "signature": str(m.signature),
        **({"events": m.events, "proposals": m.proposals} if isinstance(m, EventMeasurement) else {}),
    }


def _facts(references: References, eer: Measurement) -> list[list[str]]:
    """What corpus it is: names and values."""
    spoofed = references.labels == SPOOF
    facts = [
        ["utterances", f"{eer.utterances:,}"],
        ["bona fide time", _hours(eer.point.bona_fide)],
        ["spoofed time", _hours(eer.point.spoof)],
        ["spoofed ranges", f"{int(spoofed.sum()):,}"],
    ]
    if spoofed.any():
        lengths = references.range_durations[spoofed]
        facts.append(["mean length of a spoofed range", f"{exact_sum(lengths) / lengths.size / 1e9:.2f} s"])
    return facts


def _hours(ns: int) -> str:
    seconds = ns / 1e9
    if seconds >= 3600:
        return f"{seconds / 3600:.2f} h"
    return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.2f} s"


def _resolutions(references: References, scores: Scores, known: Evaluation, settings: PageSettings) -> dict[str, Any]:
    """The row of the resolution table that belongs to a system; what is known already is not measured again."""
    arguments = dict(settings.arguments)
    measures = [f"point-eer@{milliseconds(one)}" for one in settings.resolutions]
    others = [one for one in measures if one not in known.measurements]
    skipped: list[str] = []
    try:
        found = dict(known.measurements)
        if others:
            found |= evaluate(
                references, scores, others, on_undefined=lambda measure, _: skipped.append(str(measure)), **arguments
            ).measurements
    except UsageError:  # a convention without points
        return {"cells": [], "floor": None}
    cells = [
        {
            "resolution": milliseconds(resolution),
            "value": found[measure].value if measure in found else None,
            "native": scores.hop is not None and abs(scores.hop - resolution) < 1e-9,
            "coarser": scores.hop is not None and resolution > scores.hop * (1 + 1e-9),
        }
        for resolution, measure in zip(settings.resolutions, measures, strict=True)
    ]
    floor = None if scores.hop is None else best_possible(references, scores.hop, **arguments).value
    return {"cells": cells, "floor": floor}


def _breakdowns(whole: WholeInMemory, settings: PageSettings) -> list[Breakdown]:
    """All breakdowns of a system, which share what is laid over each other."""
    with progress("breaking down"):
        found = [groups_by_kind(whole)] if whole.inputs.references.kinds is not None else []
        found += [groups_by_length(whole), groups_by_boundary(whole)]
        found += [groups_by_column(whole, column, name) for name, column in settings.columns.items()]
    return found


def _breakdown(breakdown: Breakdown, most: int) -> dict[str, Any]:
    groups = sorted(breakdown.groups, key=lambda group: -group.error_seconds)[:most]
    kept = [group for group in breakdown.groups if group in groups]
    return {
        "by": printable(breakdown.by),
        "about": breakdown.about,
        "left_out": len(breakdown.groups) - len(kept),
        "groups": [
            {
                "name": printable(group.name),
                "utterances": group.utterances,
                "bona_fide": group.bona_fide_seconds,
                "spoof": group.spoof_seconds,
                "error": group.error_seconds,
                "share": group.share_of_error,
                "value": None if group.measurement is None else group.measurement.value,
                "reason": printable(group.reason),
            }
            for group in kept
        ],
    }


def _comparison(references: References, systems: Mapping[str, Scores], settings: PageSettings) -> dict[str, Any] | None:
    """Ranks of the systems, and a test of every pair."""
    if len(systems) < 2:
        return None
    return comparison_content(compare(references, systems, **vars(settings.resampling), **settings.arguments))


def comparison_content(comparison: Comparison) -> dict[str, Any]:
    """What a page shows of a comparison."""
    pairs = [
        {
            "first": printable(one.first),
            "second": printable(one.second),
            "difference": one.value,
            "low": None if one.interval.refused else one.interval.low,
            "high": None if one.interval.refused else one.interval.high,
            "p": None if isnan(one.p_value) else one.p_value,
            "adjusted": None if isnan(one.adjusted_p_value) else one.adjusted_p_value,
            "better": printable(comparison.better(one) or ""),
        }
        for one in comparison.differences
    ]
    ranks = [one.to_dict() | {"system": printable(one.system)} for one in comparison.ranks]
    return {
        "measure": comparison.measure,
        "test": comparison.test,
        "direction": comparison.direction,
        "values": {
            printable(name): [one.estimate, *((None, None) if one.refused else (one.low, one.high))]
            for name, one in comparison.intervals.items()
        },
        "level": next(iter(comparison.intervals.values())).level,
        "ranks": ranks,
        "pairs": pairs,
        "cautions": [printable(text) for text in comparison.warnings],
    }
