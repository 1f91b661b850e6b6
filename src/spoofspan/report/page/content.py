"""Content of a page as plain data: measurements, curves, breakdowns, timelines. No markup here."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cache, cached_property
from math import isnan
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from spoofspan.base.columns import utterance_of_rows
from spoofspan.base.errors import UndefinedMeasureError, UsageError
from spoofspan.base.progress import progress
from spoofspan.base.times import SECOND, exact_sum, milliseconds
from spoofspan.base.version import __version__
from spoofspan.data.front_door import check_sides, of_whole_utterances
from spoofspan.data.protocol import Protocol
from spoofspan.data.references import SPOOF, References
from spoofspan.data.rules import Rules
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.breakdown import Group, MeasuredCorpus
from spoofspan.evaluation.corpus import PlannedMass, corpus_of
from spoofspan.evaluation.crossed import POOLED, ColumnGroups, CrossedCell, crossed
from spoofspan.evaluation.evaluate import best_possible
from spoofspan.evaluation.measurement import EventMeasurement, Measurement
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.evaluation.resolution_table import PAPER_RESOLUTIONS
from spoofspan.mass.score_runs import mirrored
from spoofspan.measures.catalogue import EVENT
from spoofspan.measures.curve import thin_curve
from spoofspan.measures.measure import Measure, ScoresAre, parse_measures
from spoofspan.report.figures.line_simplification import deviates
from spoofspan.report.page.publishing import without_labels
from spoofspan.report.page.rendering import packed, packed_short
from spoofspan.report.page.timelines import hours, timelines, within_bytes
from spoofspan.report.published import Beside, OwnRow, published_measures
from spoofspan.report.table import finite, printable
from spoofspan.uncertainty import Comparison, Resampling, compare
from spoofspan.uncertainty.sentences import listed

if TYPE_CHECKING:
    from spoofspan.data.utterance_scores import VerificationScores
    from spoofspan.evaluation.utterances import Truth
    from spoofspan.mass.utterances import UtterancePart
    from spoofspan.measures.costs import VerificationErrors

MOST_GROUPS = 500  # rows of a breakdown
FEW_SYSTEMS = 6  # more have curves of fewer points
COARSE = 0.03  # between these points, in normal deviates
MOST_ROWS = 4000  # of a breakdown, of all systems together
USUAL_IOU = 0.5
NOTHING = "none"  # the attack of utterances that have none


@dataclass(frozen=True)
class PageSettings:
    """Content of a page, and the rules it is measured under.

    Parameters
    ----------
    title : str, optional
        Title of the page; None: the systems, and the corpus if it has a name.
    corpus : str
        Name of the corpus, or of the file of its references.
    date : str, optional
        Date of the page, as 2026-11-18; None: today.
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
    scores_are, asv_scores
        For measures that need them, as of :func:`spoofspan.evaluate`.
    published : str, optional
        Show the systems among published numbers, those on the database of this name, or all (""); None: do not.
    arguments : mapping
        ``convention``, ``eer_rule`` and rules, as of :func:`spoofspan.evaluate`.

    """

    title: str | None = None
    corpus: str = ""
    date: str | None = None
    resolutions: Sequence[float] = PAPER_RESOLUTIONS
    resampling: Resampling = field(default_factory=lambda: Resampling(replicates=1000))
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # breakdowns by metadata
    timelines: int | None = None
    audio: Mapping[str, str] = field(default_factory=dict)  # utterance -> address of its sound
    waveforms: Mapping[str, dict[str, Any] | None] = field(default_factory=dict)
    measures: Sequence[str] = ()
    scores_are: ScoresAre | None = None
    asv_scores: VerificationScores | VerificationErrors | None = None
    published: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)  # convention, eer_rule and rules

    @property
    def how(self) -> dict[str, Any]:
        """Settings of measures, as keyword arguments."""
        return {**self.arguments, "scores_are": self.scores_are, "asv_scores": self.asv_scores}


def page_content(
    references: Truth, systems: Mapping[str, Scores | UtteranceScores], settings: PageSettings
) -> dict[str, Any]:
    """Everything that a page shows, measured, as plain data.

    Parameters
    ----------
    references : References, Protocol or mapping of str to str
        Reference labels; scores of whole utterances may have a protocol, or a label by utterance.
    systems : mapping of str to Scores or UtteranceScores
        The scores of each system by its name. The page opens on the best one, whose errors choose the timelines. Scores
        of whole utterances have no timelines, and no other sections in time.
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
    in_time = not of_whole_utterances(systems)
    for scores in systems.values():
        if in_time:
            check_sides(references, scores)
            scores.distinct.refuse("a report")
    if not in_time and (settings.timelines or settings.audio):
        raise UsageError(
            "timelines and sound need scores in time, and these are of whole utterances; leave timelines= and audio= "
            "(--timelines, --audio) out"
        )
    common = _Common(references, systems, settings, in_time)
    comparison = _comparison(common)
    ranked = list(systems) if comparison is None else [one.system for one in comparison.ranks]
    best = _System(ranked[0], common)
    measured, rules = {best.name: best.content()}, {best.name: best.eer.rules}
    for name in ranked[1:]:  # their overlays are not kept
        one = _System(name, common)
        measured[name] = one.content()
        rules[name] = one.eer.rules
    shown = [] if settings.timelines == 0 or not in_time else _timelines(best, rules, ranked)
    content = {
        "spoofspan": __version__,
        "title": printable(settings.title or _title(ranked, settings.corpus, in_time)),
        "date": settings.date or today(),
        "facts": _facts(common, best.eer),
        "in_time": in_time,
        "systems": [measured[name] for name in systems],
        "opens_on": list(systems).index(best.name),
        "comparison": None if comparison is None else comparison_content(comparison),
        "published": None,
        "labels": True,
        "iou": iou_of(settings.measures),
        "columns": [printable(name) for name in common.columns],
        "timelines": shown,
        "systems_in_timelines": len({name for one in shown for name in one["scores"]}),
        "timelines_of": printable(best.name),
    }
    if settings.published is not None:
        content["published"] = _published([measured[name] for name in systems], settings)
    plain: dict[str, Any] = finite(content)
    return without_labels(plain) if settings.timelines == 0 else plain


def _title(ranked: Sequence[str], corpus: str, in_time: bool) -> str:
    """The systems, the best first, and the corpus."""
    return (
        f"{listed(ranked)} on {corpus}"
        if corpus
        else f"Spoof {'localization' if in_time else 'detection'}: {listed(ranked)}"
    )


def today() -> str:
    """Today's date, or that of ``SOURCE_DATE_EPOCH``, by which builds are repeated to the byte."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.fromtimestamp(int(fixed), timezone.utc) if fixed else datetime.now().astimezone()
    return now.date().isoformat()


def _timelines(best: _System, rules: Mapping[str, Rules], ranked: Sequence[str]) -> list[dict[str, Any]]:
    """Utterances by the errors of the best system, with the scores of as many systems as the page has room for."""
    systems, settings = best.common.systems, best.common.settings
    errors = best.whole.errors
    with progress("choosing utterances"):
        shown, choices = within_bytes(errors, systems, ranked, settings.timelines)
        drawn = {printable(name): (systems[name], rules[name]) for name in systems if name in shown}
        return timelines(
            best.common.references,
            drawn,
            choices,
            audio=settings.audio,
            waveforms=settings.waveforms,
            columns=settings.columns,
        )


class _Common:
    """Content that all systems share: inputs, measures, the rows of a breakdown, and the fineness of curves."""

    def __init__(self, references: Any, systems: Mapping[str, Any], settings: PageSettings, in_time: bool) -> None:
        self.references, self.systems, self.settings, self.in_time = references, systems, settings, in_time
        self.arguments = dict(settings.arguments)
        # one recording has no others to be drawn from
        self.resampling = settings.resampling if len(references) > 1 else None
        self.measures = _same_measures(references, systems, settings)
        attacks = {} if in_time or "attack" in settings.columns else {"attack": _attacks(references)}
        self.columns = {name: column for name, column in attacks.items() if column} | dict(settings.columns)
        if in_time and references.attacks is not None:  # each range has its own
            self.columns.pop("attack", None)
        self.most_groups = min(MOST_GROUPS, max(MOST_ROWS // len(systems), 20))
        self.fine = len(systems) <= FEW_SYSTEMS and settings.timelines != 0
        self.floor = cache(lambda hop: best_possible(references, hop, **self.arguments).value)


class _System:
    """One system, laid over the references once; its sections are made of that."""

    def __init__(self, name: str, common: _Common) -> None:
        self.name, self.scores, self.common = name, common.systems[name], common
        references, settings, first = common.references, common.settings, common.measures[0]

        def leave_out(measure: Any, error: UndefinedMeasureError) -> None:
            if str(measure) == first:
                raise error

        self.corpus, self.options = corpus_of(references, self.scores), EvaluationOptions.from_arguments(settings.how)
        sampled = replace(self.options, resampling=common.resampling)
        self.evaluation = self.corpus.evaluate(common.measures, sampled, leave_out)
        self.eer = self.evaluation[first]

    @cached_property
    def planned(self) -> PlannedMass:
        """Its mass under the plan of the first measure."""
        if self.common.in_time:
            return self.whole.planned
        (lay,) = self.corpus.lay([self.corpus.plan(Measure.parse(self.common.measures[0]), self.options)])
        return lay()

    @cached_property
    def whole(self) -> MeasuredCorpus:
        """Scores in time, ready to be broken down."""
        return MeasuredCorpus(self.corpus, self.common.measures[0], self.options)

    def content(self) -> dict[str, Any]:
        """Everything that a page shows of it."""
        about = {"name": printable(self.name), "higher": self.scores.higher, "hop": getattr(self.scores, "hop", None)}
        shown = [one for one in SECTIONS if self.common.in_time or not one.in_time]
        return about | {one.name: one.of(self) for one in shown}


def _same_measures(references: Any, systems: Mapping[str, Any], settings: PageSettings) -> list[str]:
    """The usual measures of all systems, so that each is shown with the same ones."""
    convention = settings.arguments.get("convention", "default")
    usual = [corpus_of(references, scores).default_measures(convention) for scores in systems.values()]
    order = {"range": 0, "point": 1, "utterance": 2}
    every = dict.fromkeys(measure for measures in usual for measure in measures)
    first = sorted(every, key=lambda measure: order.get(measure.partition("-")[0], 3))
    return list(dict.fromkeys((*first, *map(str, parse_measures(settings.measures)))))


# ---------------------------------------------------------------- sections


def _measurements(system: _System) -> list[dict[str, Any]]:
    return [_measurement(one) for one in system.evaluation.measurements.values()]


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


def _curve(system: _System) -> dict[str, Any]:
    """FPR and FNR over the threshold, thinned, and where the EER is."""
    eer = system.eer
    with progress("drawing the curve"):
        # a figure of many systems needs no more than it can show
        coarse: dict[str, Any] = {} if system.common.fine else {"tolerance": COARSE, "scale": deviates}
        curve = thin_curve(system.planned.mass, include=[eer.threshold], **coarse)
    unit = SECOND if system.common.in_time else 1
    return {
        "thresholds": packed_short(curve.thresholds),
        "false_positive_rates": packed(curve.false_positive_rates),
        "false_negative_rates": packed(curve.false_negative_rates),
        "bona_fide": curve.sums.all_bona_fide / unit,
        "spoof": curve.sums.all_spoof / unit,
        "start": curve.thresholds.tolist().index(eer.threshold) if eer.threshold in curve.thresholds else 0,
    }


def _resolutions(system: _System) -> dict[str, Any]:
    """The row of the resolution table that belongs to a system; what is known already is not measured again."""
    common, hop = system.common, system.scores.hop
    resolutions = common.settings.resolutions
    measures = [f"point-eer@{milliseconds(one)}" for one in resolutions]
    found = dict(system.evaluation.measurements)
    others = [one for one in measures if one not in found]
    try:
        if others:
            found |= system.corpus.evaluate(others, system.options, lambda *_: None).measurements
    except UsageError:  # a convention without points
        return {"cells": [], "floor": None}
    cells = [
        {
            "resolution": milliseconds(resolution),
            "value": found[measure].value if measure in found else None,
            "native": hop is not None and abs(hop - resolution) < 1e-9,
            "coarser": hop is not None and resolution > hop * (1 + 1e-9),
        }
        for resolution, measure in zip(resolutions, measures, strict=True)
    ]
    return {"cells": cells, "floor": None if hop is None else common.floor(hop)}


def _breakdowns(system: _System) -> list[dict[str, Any]]:
    """The error by attack, length, boundary and the columns of metadata; of whole utterances, by columns alone."""
    common = system.common
    with progress("breaking down"):
        if not common.in_time:
            return [_utterance_groups(system, name, column) for name, column in common.columns.items()]
        whole = system.whole
        attacks = common.references.attacks is not None or "attack" in common.columns
        found = [whole.break_down("attack", common.columns.__getitem__)] if attacks else []
        found += [whole.by_length(), whole.by_boundary()]
        found += [whole.by_column(column, name) for name, column in common.columns.items() if name != "attack"]
    return [
        _most_wrong(breakdown.by, breakdown.about, list(map(_time_group, breakdown.groups)), common.most_groups)
        for breakdown in found
    ]


def _time_group(group: Group) -> dict[str, Any]:
    return {
        "name": printable(group.name),
        "utterances": group.utterances,
        "bona_fide": group.bona_fide_seconds,
        "spoof": group.spoof_seconds,
        "error": group.error_seconds,
        "share": group.share_of_error,
        "value": None if group.measurement is None else group.measurement.value,
        "reason": printable(group.reason),
    }


def _utterance_groups(system: _System, name: str, column: Mapping[str, str]) -> dict[str, Any]:
    """Groups of whole utterances: each one's EER, and its errors at the threshold of the whole corpus."""
    planned, point = system.planned, system.eer.point
    part = cast("UtterancePart", planned.mass.parts[0])
    called = part.scores < mirrored(np.array([point.threshold]), planned.mass.higher)[0]
    spoof = part.classes == SPOOF
    wrong = (called | point.everything) != spoof
    chosen = ColumnGroups.of(name, column, part.utterances, part.classes)
    found = crossed(planned, {name: column})
    groups = []
    for place, value in enumerate(chosen.names):
        cell, own = found[value, POOLED], chosen.codes == place
        groups.append(
            {
                "name": printable(value),
                "utterances": int(own.sum()),
                "bona_fide": cell.bona_fide,
                "spoof": cell.spoof,
                "error": int(wrong[own].sum()),
                "share": float(wrong[own].sum() / wrong.sum()) if wrong.any() else float("nan"),
                "value": None if isnan(cell.value) else cell.value,
                "reason": printable(cell.reason),
            }
        )
    about = [found.about] if found.about else []
    if chosen.against_all is not None:
        others = int((wrong & ~spoof).sum())
        about.append(f"errors are spoof called bona fide, apart from {others:,} bona fide called spoof")
    return _most_wrong(name, "; ".join(about), groups, system.common.most_groups)


def _most_wrong(by: str, about: str, groups: list[dict[str, Any]], most: int) -> dict[str, Any]:
    """The groups with the most error, in their own order."""
    kept = sorted(sorted(range(len(groups)), key=lambda place: -groups[place]["error"])[:most])
    return {
        "by": printable(by),
        "about": about,
        "left_out": len(groups) - len(kept),
        "groups": [groups[place] for place in kept],
    }


def _published(systems: Sequence[Mapping[str, Any]], settings: PageSettings) -> dict[str, Any]:
    """The systems among published numbers."""
    own = []
    for one in systems:
        cells = one["resolutions"]["cells"] if "resolutions" in one else []
        values = {f"point-eer@{cell['resolution']}": cell["value"] for cell in cells}
        values |= {m["measure"]: m["number"] for m in one["measurements"]}
        known = {name: value for name, value in values.items() if value is not None}
        own.append(OwnRow(one["name"], known, one["hop"]))
    measures = [name for name in published_measures() if any(name in one.values for one in own)]
    table = Beside(own, measures, settings.arguments, data=settings.published or "").table()
    return {"columns": table.columns, "rows": table.rows, "notes": table.notes[1:]}


def _measures_by(system: _System) -> list[dict[str, Any]]:
    """For each column, and for the attacks that utterances have: further measures of each group, as of events."""
    common = system.common
    references = common.references
    wanted = [one for one in parse_measures(common.settings.measures) if not one.macro or one.basis == EVENT]
    if not wanted:
        return []
    attacks = {"attack": _attacks(references)} if common.in_time and references.attacks is not None else {}
    found = []
    with progress("measuring groups"):
        for name, column in (attacks | common.columns).items():
            read = {name: column}.__getitem__
            tables = {str(one): system.corpus.cross(name, str(one), system.options, read) for one in wanted}
            # attacks of whole utterances are measured against all bona fide ones, which are no group then
            rows = dict.fromkeys(row for one in tables.values() for row in one.rows)
            nothing = CrossedCell(float("nan"), 0, 0)
            groups = [_group(row, [one.cells.get((row, POOLED), nothing) for one in tables.values()]) for row in rows]
            found.append({"by": printable(name), "measures": list(tables), "groups": groups})
    return found


def _group(row: str, cells: Sequence[Any]) -> dict[str, Any]:
    values = [
        {"value": None if one.value != one.value else one.value, "reason": printable(one.reason)} for one in cells
    ]
    return {"name": printable(row), "values": values}


def _attacks(references: Truth) -> dict[str, str]:
    """The attacks of each utterance, in one word; none where they are not known."""
    if isinstance(references, Protocol):
        named = [attack or NOTHING for attack in references.attack]
        return dict(zip(references.utterance, named, strict=True)) if any(references.attack) else {}
    if not isinstance(references, References) or references.attacks is None:
        return {}
    found: dict[str, set[str]] = {utterance: set() for utterance in references.utterances}
    rows = utterance_of_rows(references.offsets).tolist()
    for place, attack in zip(rows, references.attacks.tolist(), strict=True):
        if attack >= 0:
            found[references.utterances[place]].add(references.attack_names[attack])
    return {utterance: "+".join(sorted(names)) or NOTHING for utterance, names in found.items()}


@dataclass(frozen=True)
class Section:
    """A part of what a page shows of each system.

    Parameters
    ----------
    name : str
        Its name in the content of a system.
    of : callable
        What makes it of a measured system.
    in_time : bool
        It needs labels and scores in time; the others are made of scores of whole utterances as well.

    """

    name: str
    of: Callable[[_System], Any]
    in_time: bool


# In the order in which they are measured. Timelines, chosen by the errors of the best system, need time as well; facts
# and the comparison of systems do not.
SECTIONS = (
    Section("measurements", _measurements, in_time=False),
    Section("curve", _curve, in_time=False),
    Section("resolutions", _resolutions, in_time=True),
    Section("breakdowns", _breakdowns, in_time=False),
    Section("measures_by", _measures_by, in_time=False),
)


# ---------------------------------------------------------------- the whole page


def _facts(common: _Common, eer: Measurement) -> list[list[str]]:
    """Description of the corpus: names and values."""
    if not common.in_time:
        counts = {"utterances": eer.utterances, "bona fide": eer.point.bona_fide, "spoofed": eer.point.spoof}
        return [[name, f"{count:,}"] for name, count in counts.items()]
    references = common.references
    spoofed = references.labels == SPOOF
    facts = [
        ["utterances", f"{eer.utterances:,}"],
        ["bona fide time", hours(eer.point.bona_fide)],
        ["spoofed time", hours(eer.point.spoof)],
        ["spoofed ranges", f"{int(spoofed.sum()):,}"],
    ]
    if spoofed.any():
        lengths = references.range_durations[spoofed]
        facts.append(["mean length of a spoofed range", f"{exact_sum(lengths) / lengths.size / 1e9:.2f} s"])
    return facts


def iou_of(measures: Sequence[str]) -> float | None:
    """At which IoU timelines show events: that of the first event measure that has one; None without any."""
    events = [one for one in parse_measures(measures) if one.basis == EVENT]
    stated = [dict(one.parameters).get("iou") for one in events]
    return next((float(iou) for iou in stated if isinstance(iou, float | int)), USUAL_IOU) if events else None


def _comparison(common: _Common) -> Comparison | None:
    """Ranks of the systems, and a test of every pair."""
    if len(common.systems) < 2 or common.resampling is None:
        return None
    how: dict[str, Any] = {**vars(common.resampling), **common.arguments}
    return compare(common.references, common.systems, common.measures[0], **how)


def comparison_content(comparison: Comparison) -> dict[str, Any]:
    """Part of a comparison that a page shows."""
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
        "verdict": printable(comparison.verdict),
        "test": comparison.test,
        "estimand": comparison.estimand,
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
