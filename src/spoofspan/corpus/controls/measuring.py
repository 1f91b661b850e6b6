"""Systems evaluated on controls: alarms added by each edit, and the share of alarms on spoofs that remains.

For each edit and cross-fade, over all its utterances::

    extra alarms = (time flagged - time flagged in the unedited recordings it was made of) / time

near the joints, elsewhere, and in recordings with any alarm. Intervals leave out each speaker once, with all that this
speaker has; a speaker's edits and the unedited recordings leave together, so the difference is paired.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from spoofspan.base.errors import DataError, SpoofspanWarning, UsageError, nearest_name, warn_user
from spoofspan.base.progress import progress
from spoofspan.base.times import Float64, Int64, duration_ns
from spoofspan.base.version import __version__
from spoofspan.corpus.controls.authenticity import (
    Alarms,
    AuthenticityIndex,
    SpliceAlarms,
    SpoofAlarms,
    authenticity,
    counts_by_speaker,
)
from spoofspan.corpus.controls.control_set import Controls, read
from spoofspan.corpus.controls.edits import EDITS, SPLICE
from spoofspan.data.front_door import FrontDoor, InputArguments, systems_by_name
from spoofspan.data.rules import rules_for
from spoofspan.data.scores import Scores
from spoofspan.evaluation.evaluate import overlay, range_eer
from spoofspan.evaluation.signature import references_hash, scores_hash
from spoofspan.mass.labelling import Labelling, label_references
from spoofspan.measures.events.proposals_from_scores import called_ranges
from spoofspan.measures.kind import Scale
from spoofspan.measures.operating_point import check_threshold
from spoofspan.report.cells import NONE, amount_cell, share_cell, warning_lines
from spoofspan.report.table import Shown, Table
from spoofspan.uncertainty.clusters import SPEAKER
from spoofspan.uncertainty.intervals import interval_of_left_out
from spoofspan.uncertainty.left_out import LeftOut
from spoofspan.uncertainty.spreads import Interval

RANGE_OPTIONS = ("smoothing", "min_duration", "merge_gap")
NEAR = 0.1
ALONE = "utterance "  # before the name of an utterance that is a cluster; names of speakers have no white space
NO_SPEAKERS = (
    "the speakers of the spoofs are not known, so each of their utterances is left out alone; give speakers= "
    "(--metadata)"
)


@dataclass(frozen=True, kw_only=True)
class EditEffect:
    """The alarms of a system that one edit at one cross-fade adds; shares of time or of recordings.

    Parameters
    ----------
    edit, cross_fade
        The edit; the cross-fade in seconds, None if it has no joint.
    recordings, seconds
        How many utterances, and their time.
    flagged, unedited
        Flagged share of their time, and of the same time in the unedited recordings.
    extra
        The difference of the two, with its interval over speakers.
    near, elsewhere
        The difference within reach of a joint (None if there is no joint), and in the rest of the time.
    recordings_flagged, recordings_unedited
        Share of the utterances with any alarm, and of their unedited recordings.
    extra_recordings
        The difference of these two.
    """

    edit: str
    cross_fade: float | None
    recordings: int
    seconds: float
    flagged: float
    unedited: float
    extra: Interval
    near: Interval | None
    elsewhere: Interval | None
    recordings_flagged: float
    recordings_unedited: float
    extra_recordings: Interval

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        plain = {name: value for name, value in vars(self).items() if not isinstance(value, Interval)}
        intervals = {name: value.to_dict() for name, value in vars(self).items() if isinstance(value, Interval)}
        return {"about": EDITS[self.edit], **plain, **intervals}


@dataclass(frozen=True, kw_only=True)
class SystemOnControls:
    """One system on controls.

    Parameters
    ----------
    threshold, higher
        The threshold on the scale of the scores, and what high scores mean.
    threshold_is
        Where the threshold comes from, in words.
    unedited, unedited_recordings
        Flagged share of the time of the unedited recordings, and of the recordings.
    effects
        What each edit adds.
    indices
        The authenticity index for each cross-fade of the splices; none without a corpus of spoofs.
    scores
        Hash of the scores on the controls.
    """

    threshold: float
    higher: str
    threshold_is: str
    unedited: Interval
    unedited_recordings: Interval
    effects: tuple[EditEffect, ...]
    indices: tuple[AuthenticityIndex, ...]
    scores: str

    def effect(self, edit: str, cross_fade: float | None = None) -> EditEffect:
        """The alarms that one edit adds, at a cross-fade in seconds."""
        for one in self.effects:
            if (one.edit, one.cross_fade) == (edit, cross_fade):
                return one
        known = [f"{one.edit} {'' if one.cross_fade is None else one.cross_fade}".strip() for one in self.effects]
        raise UsageError(f"no edit {edit!r} with the cross-fade {cross_fade!r}; there are: {', '.join(known)}")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        plain = {name: getattr(self, name) for name in ("threshold", "higher", "threshold_is", "scores")}
        return {
            **plain,
            "unedited": self.unedited.to_dict(),
            "unedited_recordings": self.unedited_recordings.to_dict(),
            "edits": [one.to_dict() for one in self.effects],
            "authenticity": [one.to_dict() for one in self.indices],
        }


@dataclass(frozen=True, kw_only=True)
class ControlsEvaluation:
    """Systems on controls: ``evaluation.systems["name"]``, tables, and plain data.

    Parameters
    ----------
    systems
        The result of each system.
    near
        What counts as near a joint, in seconds.
    controls, references
        Hashes of the sound of the controls, and of the labels of the spoofs.
    """

    systems: Mapping[str, SystemOnControls]
    near: float
    controls: str
    references: str | None

    def __str__(self) -> str:
        return "\n".join(one.render("text") for one in self.tables())

    def tables(self) -> list[Table]:
        """The edits, and the authenticity index."""
        return tables_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "spoofspan": __version__,
            "near": self.near,
            "controls": self.controls,
            "references": self.references,
            "systems": {name: one.to_dict() for name, one in self.systems.items()},
        }


def evaluate(
    controls: Controls | str | Path,
    systems: Any,
    *,
    thresholds: float | Mapping[str, float] | None = None,
    references: Any = None,
    reference_scores: Any = None,
    speakers: Mapping[str, str | None] | None = None,
    near: float = NEAR,
    confidence: float = 0.95,
    **options: Any,
) -> ControlsEvaluation:
    """Measure what edits of bona fide speech add to the alarms of systems, and which alarms on spoofs that explains.

    Parameters
    ----------
    controls : Controls, str or Path
        A folder that :func:`build` made.
    systems : mapping
        The scores of each system on the controls, by its name; or the scores of one.
    thresholds : float or mapping, optional
        The threshold, of all systems or of each; without it, that of the EER on the corpus of spoofs.
    references, reference_scores : optional
        A corpus with real spoofs, and the scores of each system on it. Without it there is no authenticity index.
    speakers : mapping, optional
        Utterance of that corpus -> speaker. Without it, each of its utterances is left out alone.
    near : float
        How far from a joint is still near it, in seconds.
    confidence : float
        Level of the intervals.
    **options
        ``smoothing``, ``min_duration`` and ``merge_gap``, as in :func:`spoofspan.called_ranges`; ``hop`` and ``higher``
        of plain arrays; rules for the corpus of spoofs, and its ``convention``.

    Returns
    -------
    ControlsEvaluation
        For each system, the effect of each edit and the authenticity indices.

    Raises
    ------
    UsageError
        If there is no threshold, or the systems of both sides differ.
    DataError
        If scores lack an utterance, or do not fit the durations.

    Examples
    --------
    >>> found = evaluate("my-controls", {"mine": "controls.score"}, thresholds=0.5)  # doctest: +SKIP
    >>> found.systems["mine"].effect("splice", 0.02).extra  # doctest: +SKIP

    """
    controls = controls if isinstance(controls, Controls) else read(controls)
    if "threshold" in options:
        raise UsageError("give thresholds=: a number, or {system: number}")
    ranges = {name: options.pop(name) for name in RANGE_OPTIONS if name in options}
    door = FrontDoor({name: options.pop(name) for name in InputArguments.__annotations__ if name in options})
    convention = options.pop("convention", "default")
    rules = rules_for("range", convention, options)[0]
    found = _named("systems", systems, door)
    spoofs = None if references is None else door.references(references)
    theirs = None if reference_scores is None else _named("reference_scores", reference_scores, door)
    if door.unused:
        raise UsageError(f"{min(door.unused)}= means nothing here: labels and scores say it themselves; leave it out")
    if (spoofs is None) != (theirs is None):
        raise UsageError(
            "references= (--references) and reference_scores= (--scores) go together; give both or neither"
        )
    if theirs is not None:
        theirs = _of_the_same_systems(found, theirs)
    if theirs is None and thresholds is None:
        raise UsageError(
            "there is no threshold: give thresholds= (--threshold), or references= (--references) and "
            "reference_scores= (--scores), a corpus with spoofs, for the threshold of its EER"
        )
    reach = duration_ns(near, "near")
    if reach <= 0:
        raise UsageError(f"near={near!r}: must be more than 0 seconds")
    chosen = {name: _threshold_of(name, thresholds, list(found)) for name in found}
    labelling = None if spoofs is None else label_references(spoofs, rules)[0]
    clusters = None if labelling is None else _clusters(labelling, speakers)
    results: dict[str, SystemOnControls] = {}
    with progress("measuring systems", total=len(found)) as advance:
        for name, scores in found.items():
            told, threshold = "as given", chosen[name]
            if threshold is None:
                measured = range_eer(spoofs, theirs[name], convention=convention, **options)  # type: ignore[index]
                threshold, told = measured.threshold, f"of the range EER of the spoofs, {100 * measured.value:.2f} %"
            alarms = _alarms_on_controls(controls, name, scores, threshold, ranges)
            indices: tuple[AuthenticityIndex, ...] = ()
            if labelling is not None and clusters is not None and theirs is not None:
                overlay(spoofs, theirs[name], convention=convention, **options)  # refuses scores that do not fit
                lasts = dict(zip(labelling.utterances, (labelling.extents / 1e9).tolist(), strict=True))
                called = called_ranges(theirs[name], threshold, durations=lasts, **ranges)
                indices = _indices(controls, alarms, Alarms(called), labelling, clusters, confidence)
            results[name] = _system(controls, alarms, scores, threshold, told, indices, reach, confidence)
            advance(1)
    hashed = None if spoofs is None else references_hash(spoofs)
    return ControlsEvaluation(systems=results, near=near, controls=controls.digest, references=hashed)


# ---------------------------------------------------------------- what was given


def _named(what: str, given: Any, door: FrontDoor) -> dict[str, Scores]:
    """Scores by the name of their system."""
    found: dict[str, Scores] = {}
    for name, scores in door.systems(systems_by_name(given)).items():
        if not isinstance(scores, Scores):
            raise UsageError(
                f"{what}: {name!r} has no scores in time, which controls need; give frame scores or ranges"
            )
        found[str(name) or "system"] = scores
    if not found:
        raise UsageError(f"{what}: give the scores of at least one system")
    return found


def _of_the_same_systems(ours: Mapping[str, Scores], theirs: Mapping[str, Scores]) -> dict[str, Scores]:
    """Scores on the spoofs by the names that the systems have on the controls."""
    if len(ours) == len(theirs) == 1:
        return dict(zip(ours, theirs.values(), strict=True))
    if odd := sorted(set(ours) ^ set(theirs)):
        where = "the controls" if odd[0] in ours else "the spoofs"
        raise UsageError(
            f"{odd[0]!r} has scores on {where} alone; give the same systems on both, by the same names: NAME=FILE"
        )
    return {name: theirs[name] for name in ours}


def _threshold_of(name: str, given: float | Mapping[str, float] | None, systems: list[str]) -> float | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return check_threshold(given)
    for one in given:
        if one not in systems:
            raise UsageError(f"thresholds: there is no system {one!r}; {nearest_name(one, systems)}")
    if name not in given:
        raise UsageError(f"thresholds: {name!r} has none; give one for each system ({', '.join(systems)})")
    return check_threshold(given[name])


def _clusters(labelling: Labelling, speakers: Mapping[str, str | None] | None) -> Mapping[str, str]:
    """Speaker of each utterance of the spoofs; without speakers, a name of its own."""
    if speakers is None:
        return {name: f"{ALONE}{name}" for name in labelling.utterances}
    if lacking := [name for name in labelling.utterances if speakers.get(name) is None]:
        raise DataError(
            f"{len(lacking):,} utterances of the spoofs have no speaker: {', '.join(map(repr, lacking[:20]))}; name "
            "one for each, or leave speakers= (--metadata) out"
        )
    return {name: str(speakers[name]) for name in labelling.utterances}


def _alarms_on_controls(
    controls: Controls, name: str, scores: Scores, threshold: float, ranges: Mapping[str, Any]
) -> Alarms:
    """The time that a system flags, once its scores are known to fit."""
    try:
        overlay(controls.references, scores)
    except DataError as error:
        raise DataError(f"{name}, on {controls.folder}: {error}") from None
    return Alarms(called_ranges(scores, threshold, durations=controls.references, **ranges))


# ---------------------------------------------------------------- effects


def _system(
    controls: Controls,
    alarms: Alarms,
    scores: Scores,
    threshold: float,
    told: str,
    indices: tuple[AuthenticityIndex, ...],
    reach: int,
    confidence: float,
) -> SystemOnControls:
    plain = counts_by_speaker(alarms, controls.unedited, controls.speakers, reach)
    effects = []
    for (edit, fade), group in controls.groups.items():
        counts = counts_by_speaker(alarms, group, controls.speakers, reach)
        effects.append(_effect(edit, fade, counts, confidence))
        if edit.startswith("rejoin") and not fade and effects[-1].extra.estimate:
            warn_user(
                f"{edit} without a cross-fade is bit-identical to the unedited recordings, and the scores differ: the "
                "system gives other scores for the same sound, or these are scores of other files",
                SpoofspanWarning,
            )
    return SystemOnControls(
        threshold=threshold,
        higher=scores.higher,
        threshold_is=told,
        unedited=_ratio("flagged", plain["edited"], plain["time"], confidence, "logit"),
        unedited_recordings=_ratio(
            "flagged recordings", plain["edited recordings"], plain["recordings"], confidence, "logit"
        ),
        effects=tuple(effects),
        indices=indices,
        scores=scores_hash(scores),
    )


def _effect(edit: str, fade: float | None, counts: Mapping[str, Int64], confidence: float) -> EditEffect:
    total = {name: int(column.sum()) for name, column in counts.items()}

    def extra(name: str, where: str = "") -> Interval:
        more = counts[f"{where}edited"] - counts[f"{where}unedited"]
        return _ratio(name, more, counts[f"{where}time"], confidence)

    far = {f"far {name}": counts[name] - counts[f"near {name}"] for name in ("time", "edited", "unedited")}
    counts = {**counts, **far}
    more_recordings = counts["edited recordings"] - counts["unedited recordings"]
    return EditEffect(
        edit=edit,
        cross_fade=fade,
        recordings=total["recordings"],
        seconds=total["time"] / 1e9,
        flagged=total["edited"] / total["time"],
        unedited=total["unedited"] / total["time"],
        extra=extra("extra alarms"),
        near=extra("extra alarms near joints", "near ") if total["near time"] else None,
        elsewhere=extra("extra alarms elsewhere", "far ") if counts["far time"].sum() else None,
        recordings_flagged=total["edited recordings"] / total["recordings"],
        recordings_unedited=total["unedited recordings"] / total["recordings"],
        extra_recordings=_ratio("extra flagged recordings", more_recordings, counts["recordings"], confidence),
    )


def _ratio(name: str, amount: Int64, whole: Int64, confidence: float, scale: Scale = "raw") -> Interval:
    """A ratio of sums over speakers, and its interval; speakers without any of it do not count."""
    some = whole > 0
    amounts, wholes = amount[some].astype(np.float64), whole[some].astype(np.float64)
    value = float(amounts.sum() / wholes.sum()) if some.any() else nan
    with np.errstate(divide="ignore", invalid="ignore"):
        without: Float64 = (amounts.sum() - amounts) / (wholes.sum() - wholes)
    left_out = LeftOut(without, np.ones(amounts.size, np.bool_), None, factor=SPEAKER)
    return interval_of_left_out(name, value, left_out, confidence, scale=scale)


# ---------------------------------------------------------------- authenticity


def _indices(
    controls: Controls,
    alarms: Alarms,
    on_spoofs: Alarms,
    labelling: Labelling,
    clusters: Mapping[str, str],
    confidence: float,
) -> tuple[AuthenticityIndex, ...]:
    """The index for each cross-fade of the splices."""
    if lacking := [name for name in labelling.utterances if name not in on_spoofs]:
        raise DataError(f"the scores on the spoofs lack the utterance {lacking[0]!r}; score it, or leave it out")
    spoofs = SpoofAlarms.of(on_spoofs, labelling, clusters)
    if not spoofs.time.sum():
        raise DataError("the corpus of spoofs has no spoofed time; give one that has, or leave it out")
    fades = [fade for edit, fade in controls.groups if edit == SPLICE]
    found = (
        authenticity(spoofs, SpliceAlarms.of(alarms, controls, fade), controls.speakers, fade, confidence)
        for fade in fades
    )
    if not all(name.startswith(ALONE) for name in spoofs.clusters):
        return tuple(found)
    return tuple(
        replace(one, interval=replace(one.interval, warnings=(*one.interval.warnings, NO_SPEAKERS))) for one in found
    )


# ---------------------------------------------------------------- tables


def cross_fade_cell(seconds: float | None) -> Shown:
    """A cross-fade in milliseconds; empty without a joint."""
    return Shown("") if seconds is None else Shown(f"{1000 * seconds:g}", exact=repr(1000 * seconds))


def tables_of(found: ControlsEvaluation) -> list[Table]:
    """The tables of a result."""
    effects = [(name, one) for name, system in found.systems.items() for one in system.effects]
    level = next(iter(found.systems.values())).unedited.level
    ends = (f"{100 * level:g} % from", "to")
    key = ("system", "edit", "fade ms")
    time = Table(
        (*key, "recordings", "flagged %", "unedited %", "extra %", *ends),
        tuple(
            (*_key(name, one), f"{one.recordings:,}", *map(share_cell, (one.flagged, one.unedited)), *_cells(one.extra))
            for name, one in effects
        ),
        tuple(_about(found)),
    )
    reach = f"{1000 * found.near:g} ms"
    where = Table(
        (*key, f"extra % within {reach}", *ends, "elsewhere %", *ends, "recordings %", *ends),
        tuple(
            (*_key(name, one), *_cells(one.near), *_cells(one.elsewhere), *_cells(one.extra_recordings))
            for name, one in effects
        ),
    )
    tables = [time, where]
    indices = [(name, one) for name, system in found.systems.items() for one in system.indices]
    if indices:
        rows = tuple(
            (
                name,
                cross_fade_cell(one.cross_fade),
                *map(share_cell, (one.hit_rate, one.splice_rate, one.uncut_rate)),
                amount_cell(one.value, 3) if one.value == one.value else NONE,
                *_ends(one.interval, share=False),
            )
            for name, one in indices
        )
        header = ("system", "fade ms", "spoofs %", "splices %", "uncut %", "authenticity index", *ends)
        tables.append(Table(header, rows, tuple(_about_indices(found))))
    return tables


def _key(name: str, one: EditEffect) -> tuple[str, str, str]:
    return name, one.edit, cross_fade_cell(one.cross_fade)


def _cells(interval: Interval | None) -> tuple[str, str, str]:
    """A difference of shares with its sign, and both ends."""
    if interval is None:
        return "", "", ""
    text = share_cell(interval.estimate)
    return Shown(text if text.startswith("-") else f"+{text}", exact=text.exact), *_ends(interval, share=True)


def _ends(interval: Interval, *, share: bool) -> tuple[str, str]:
    if interval.refused:
        return NONE, NONE
    low, high = (share_cell(end) if share else amount_cell(end, 3) for end in interval)
    return low, high


def _about(found: ControlsEvaluation) -> list[str]:
    lines = [""]
    warnings = []
    for name, one in found.systems.items():
        sign = "<" if one.higher == "bonafide" else ">"
        low, high = _ends(one.unedited, share=True)
        lines += [
            f"{name}: spoof iff score {sign} {one.threshold!r} ({one.threshold_is})",
            f"  unedited recordings: {share_cell(one.unedited.estimate)} % of the time flagged ({low} to {high}), "
            f"{share_cell(one.unedited_recordings.estimate)} % of the recordings",
        ]
        refused = (effect.extra for effect in one.effects if effect.extra.refused)
        warnings += [*one.unedited.warnings, *(text for interval in refused for text in interval.warnings)]
    lines.append("extra: time flagged beyond the same time of the unedited recordings; intervals over speakers")
    return [*lines, *warning_lines(warnings)]


def _about_indices(found: ControlsEvaluation) -> list[str]:
    indices = [one for system in found.systems.values() for one in system.indices]
    beyond = max(one.beyond for one in indices)
    lines = [
        "",
        "spoofs: flagged share of the spoofed time; splices: of real speech that was spliced in, as far from a joint;",
        "uncut: of the same speech where it comes from; index: (spoofs - splices) / spoofs, 0 for a detector of cuts",
    ]
    if beyond:
        lines.append(
            f"note: {100 * beyond:.1f} % of the spoofed time lies further from a joint than any splice reaches, and is "
            "compared with the innermost time of the splices"
        )
    return [*lines, *warning_lines([text for one in indices for text in one.interval.warnings])]
