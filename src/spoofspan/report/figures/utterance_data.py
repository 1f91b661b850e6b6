"""One utterance, as numbers: its labels, scores, decisions and errors over time, in ranges and in points.

::

    reference     |    bona fide    |      spoof      |
    scores        | 0.9 | 0.2 | 0.8 | 0.7 | 0.1 | 0.3 |       spoof iff score < 0.5
    decision      |  b  |spoof|    b      |   spoof   |
    errors              | FP  |     | FN  |

Times are seconds. What the rules make of gaps, tails and ignored time is shown as it is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags
from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.times import Float64, Int64
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.data.rules import Rules, rules_for
from spoofspan.data.scores import Higher, Scores
from spoofspan.evaluation.plan import point_rules
from spoofspan.mass.points import PointPart, check_resolution, point_mass_with
from spoofspan.mass.ranges import Overlay
from spoofspan.mass.score_runs import ScoreRuns, mirrored
from spoofspan.measures.events.proposals_from_scores import ProposalOptions, called_ranges, runs_of
from spoofspan.measures.operating_point import Threshold, check_threshold

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.data.rules import RuleArguments

    class PointArguments(RuleArguments, total=False):
        """Rules of points, and the convention that they depart from."""

        convention: str


Outcome = Literal["true_positive", "false_negative", "false_positive", "true_negative", "unanswered", "ignored"]
Side = TypeVar("Side", References, Scores)
WAVEFORM_COLUMNS = 800


@dataclass(frozen=True)
class DrawnStretch:
    """Some time, and what it is."""

    start: float
    end: float
    label: str


@dataclass(frozen=True, eq=False)
class Waveform:
    """The outline of a recording: the lowest and the highest sample in each of a few hundred stretches."""

    times: Float64
    low: Float64
    high: Float64


@dataclass(frozen=True, eq=False)
class TimelineData:
    """One utterance at one threshold."""

    utterance: str
    duration: float
    reference: tuple[DrawnStretch, ...]  # bonafide, spoof, ignored
    score_starts: Float64
    score_ends: Float64
    scores: Float64  # as given
    decision: tuple[DrawnStretch, ...]  # bonafide, spoof, none
    outcomes: tuple[DrawnStretch, ...]  # what decision and reference make: true_positive, false_negative, ...
    threshold: float
    higher: Higher
    waveform: Waveform | None = None

    @property
    def errors(self) -> tuple[DrawnStretch, ...]:
        """The stretches that are called wrong."""
        return tuple(one for one in self.outcomes if one.label in ("false_positive", "false_negative"))

    def seconds(self, outcome: Outcome) -> float:
        """Total duration of an outcome."""
        return sum(one.end - one.start for one in self.outcomes if one.label == outcome)


@dataclass(frozen=True, eq=False)
class PointsData:
    """One utterance in points of a resolution: the label and score of each, and what the threshold makes of it."""

    utterance: str
    resolution: float
    starts: Float64
    ends: Float64
    labels: tuple[str, ...]  # bonafide, spoof, ignored
    scores: Float64  # as given; NaN where there is none
    outcomes: tuple[str, ...]
    threshold: float
    higher: Higher

    def count(self, outcome: Outcome) -> int:
        """Number of points that have an outcome."""
        return self.outcomes.count(outcome)


def timeline_data(
    references: References,
    scores: Scores,
    utterance: str,
    threshold: Threshold,
    *,
    samples: npt.ArrayLike | None = None,
    sample_rate: float | None = None,
    convention: str = "default",
    **rules: Unpack[RuleArguments],
) -> TimelineData:
    """One utterance in ranges, at a threshold.

    Parameters
    ----------
    references, scores
        Reference labels and system scores.
    utterance : str
        Which utterance.
    threshold
        On the scale of the scores, or a measurement: its threshold.
    samples : array, optional
        Its sound, one channel, for the waveform.
    sample_rate : float, optional
        Of the sound, in Hz.
    convention, **rules
        As of :func:`spoofspan.range_eer`.

    Returns
    -------
    TimelineData
        For :func:`.utterance_figures.draw_timeline`.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]})
    >>> scores = Scores.from_frames({"u1": [0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]}, hop=0.02, higher="bonafide")
    >>> [(one.start, one.end, one.label) for one in timeline_data(references, scores, "u1", 0.15).errors]
    [(0.06, 0.08, 'false_positive'), (0.08, 0.1, 'false_negative')]

    """
    limit = check_threshold(threshold)
    chosen, _ = rules_for("range", convention, rules)
    references, scores = _one(references, scores, utterance)
    overlay = Overlay.of(references, scores, chosen)
    overlay.undecided()  # refuses uncovered time where the rules do
    labelling, runs = overlay.labelling, overlay.runs
    starts, ends, values = _score_ranges(runs)
    called = _called(values, limit, scores.higher)
    edges = np.unique(np.concatenate(([0, labelling.extents[0]], labelling.ends, starts, ends)))
    middles = edges[:-1]  # every piece is of one kind from its first instant on
    label = labelling.labels[np.searchsorted(labelling.ends, middles, side="right")]
    row = np.searchsorted(starts, middles, side="right") - 1
    scored = (row >= 0) & (ends[np.maximum(row, 0)] > middles) if starts.size else np.zeros(middles.size, bool)
    decision = _decisions(called[row] if starts.size else scored, scored, chosen)
    outcome = [_outcome(int(one), said) for one, said in zip(label, decision, strict=True)]
    return TimelineData(
        utterance,
        int(labelling.extents[0]) / 1e9,
        _stretches(edges, [_name(int(one)) for one in label]),
        starts / 1e9,
        ends / 1e9,
        values,
        _stretches(edges, decision),
        _stretches(edges, outcome),
        limit,
        scores.higher,
        None if samples is None else _waveform(samples, sample_rate),
    )


def called_timeline_data(
    scores: Scores,
    utterance: str,
    threshold: Threshold,
    *,
    samples: npt.ArrayLike | None = None,
    sample_rate: float | None = None,
    smoothing: int | None = None,
    min_duration: float = 0.0,
    merge_gap: float = 0.0,
) -> TimelineData:
    """One utterance of which nobody knows where it is spoofed, and what a threshold calls spoof.

    Parameters
    ----------
    scores, threshold, smoothing, min_duration, merge_gap
        As of :func:`spoofspan.called_ranges`.
    utterance, samples, sample_rate
        As of :func:`timeline_data`.

    Returns
    -------
    TimelineData
        For :func:`.utterance_figures.draw_timeline`; it has neither a reference nor outcomes.

    Examples
    --------
    >>> scores = Scores.from_frames({"u1": [0.9, 0.8, 0.1, 0.2, 0.7]}, hop=0.02, higher="bonafide")
    >>> [(one.start, one.end) for one in called_timeline_data(scores, "u1", 0.5).decision if one.label == "spoof"]
    [(0.04, 0.08)]

    """
    how = ProposalOptions(smoothing, min_duration, merge_gap)
    only = _only(scores, utterance, "scores")
    called = called_ranges(only, threshold, **vars(how))
    starts, ends, values = _score_ranges(runs_of(only, how))
    decision = [DrawnStretch(start, end, label) for start, end, label, *_ in called[utterance]]
    sound = None if samples is None else _waveform(samples, sample_rate)
    duration = max([*(ends / 1e9), *(one.end for one in decision)], default=0.0)
    columns = starts / 1e9, ends / 1e9, values
    limit = check_threshold(threshold)
    return TimelineData(utterance, duration, (), *columns, tuple(decision), (), limit, only.higher, sound)


def points_data(
    references: References,
    scores: Scores,
    utterance: str,
    resolution: float,
    threshold: Threshold,
    *,
    convention: str = "default",
    **rules: Unpack[RuleArguments],
) -> PointsData:
    """One utterance in points of a resolution, at a threshold.

    Parameters
    ----------
    references, scores, utterance, threshold, convention, **rules
        As of :func:`timeline_data`; rules are those of :func:`spoofspan.point_eer`.
    resolution : float
        Length of a point in seconds.

    Returns
    -------
    PointsData
        Label, score and outcome of every point.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.2, "bonafide"), (0.2, 0.4, "spoof")]})
    >>> scores = Scores.from_frames({"u1": [0.9, 0.1, 0.2, -0.3]}, hop=0.1, higher="bonafide")
    >>> points_data(references, scores, "u1", 0.2, 0.15).outcomes
    ('false_positive', 'true_positive')

    """
    resolution, limit = check_resolution(resolution), check_threshold(threshold)
    chosen, _ = point_rules(scores.hop, resolution, convention, rules)
    references, scores = _one(references, scores, utterance)
    mass, _ = point_mass_with(references, scores, resolution, chosen)
    part = mass.parts[0]
    assert isinstance(part, PointPart)  # noqa: S101 - for the type checker
    found, scored, classes = part.labelled_points(0, 1)
    _, starts, ends = part.grid.cover()
    values = mirrored(found.astype(np.float64), scores.higher)
    has = np.ones(starts.size, bool) if scored is None else scored
    called = _called(values, limit, scores.higher)
    decision = _decisions(called, has, chosen)
    return PointsData(
        utterance,
        resolution,
        starts / 1e9,
        ends / 1e9,
        tuple(_name(int(one)) for one in classes),
        np.where(has, values, np.nan),
        tuple(_outcome(int(one), said) for one, said in zip(classes, decision, strict=True)),
        limit,
        scores.higher,
    )


# ---------------------------------------------------------------- the paper's two explanatory figures


@dataclass(frozen=True, eq=False)
class MeasurementData:
    """The same utterance and scores, counted in points and measured in ranges (the paper's Fig. 1)."""

    points: PointsData
    ranges: TimelineData


def measurement_data(
    references: References,
    scores: Scores,
    utterance: str,
    resolution: float,
    threshold: Threshold,
    **arguments: Unpack[PointArguments],
) -> MeasurementData:
    """Point-based against range-based measurement of one utterance (the paper's Fig. 1).

    Parameters
    ----------
    references, scores, utterance, resolution, threshold, **arguments
        As of :func:`points_data`.

    Returns
    -------
    MeasurementData
        For :func:`.utterance_figures.draw_measurement`.

    """
    return MeasurementData(
        points_data(references, scores, utterance, resolution, threshold, **arguments),
        timeline_data(references, scores, utterance, threshold, **arguments),
    )


@dataclass(frozen=True, eq=False)
class ResamplingData:
    """The scores of one utterance at their own resolution, at finer and at coarser ones (the paper's Fig. 2)."""

    native: PointsData
    finer: tuple[PointsData, ...]
    coarser: tuple[PointsData, ...]


def resampling_data(
    references: References,
    scores: Scores,
    utterance: str,
    resolutions: Sequence[float],
    threshold: Threshold,
    **arguments: Unpack[PointArguments],
) -> ResamplingData:
    """The effect of up- and down-sampling on labels, scores and errors of one utterance (the paper's Fig. 2).

    Parameters
    ----------
    references, scores, utterance, threshold, **arguments
        As of :func:`points_data`.
    resolutions : sequence of float
        Finer and coarser ones than the hop of the scores, in seconds.

    Returns
    -------
    ResamplingData
        For :func:`.utterance_figures.draw_resampling`.

    """
    if scores.hop is None:
        raise UsageError("scores of ranges have no resolution of their own; resample them first")
    levels = [
        points_data(references, scores, utterance, one, threshold, **arguments)
        for one in sorted({scores.hop, *map(check_resolution, resolutions)})
    ]
    at = [level.resolution for level in levels].index(scores.hop)
    return ResamplingData(levels[at], tuple(reversed(levels[:at])), tuple(levels[at + 1 :]))


# ---------------------------------------------------------------- pieces


def _one(references: References, scores: Scores, utterance: str) -> tuple[References, Scores]:
    """Both sides of one utterance."""
    return _only(references, utterance, "references"), _only(scores, utterance, "scores")


def _only(side: Side, utterance: str, name: str) -> Side:
    if utterance not in side.utterances:
        raise UsageError(f"no utterance {utterance!r} in the {name}: {_near(utterance, side.utterances)}")
    return side.take(np.array([side.utterances.index(utterance)], np.int64))


def _near(utterance: str, known: Sequence[str]) -> str:
    return nearest_name(utterance, known) if len(known) <= 20 else f"there are {len(known):,}, such as {known[0]!r}"


def _score_ranges(runs: ScoreRuns) -> tuple[Int64, Int64, Float64]:
    """Start and end of the runs of the only utterance, and their scores as given."""
    block = runs.block(0, 1)
    rows = np.setdiff1d(np.arange(block.values.size), block.rows_without_time())
    utterance = np.zeros(rows.size, np.int64)
    starts, _ = runs.spans(utterance, rows)
    return starts, block.run_ends(utterance, rows), runs.values[rows].astype(np.float64)


def _called(values: Float64, threshold: float, higher: Higher) -> Flags:
    """Scores that are called spoof."""
    called: Flags = values < threshold if higher == "bonafide" else values > threshold
    return called


def _decisions(called: Flags, scored: Flags, rules: Rules) -> list[str]:
    """Decision for each piece of time; without a score, that of the rules."""
    unscored = rules.uncovered if rules.uncovered in ("bonafide", "spoof") else "none"
    decided = zip(called.tolist(), scored.tolist(), strict=True)
    return [("spoof" if spoof else "bonafide") if known else unscored for spoof, known in decided]


def _name(label: int) -> str:
    return {BONA_FIDE: "bonafide", SPOOF: "spoof"}.get(label, "ignored")


def _outcome(label: int, decision: str) -> Outcome:
    if label not in (BONA_FIDE, SPOOF):
        return "ignored"
    if decision == "none":
        return "unanswered"
    if label == SPOOF:
        return "true_positive" if decision == "spoof" else "false_negative"
    return "false_positive" if decision == "spoof" else "true_negative"


def _stretches(edges: Int64, labels: Sequence[str]) -> tuple[DrawnStretch, ...]:
    """Pieces of time, with those of the same kind that touch joined."""
    begins = [i for i in range(len(labels)) if not i or labels[i] != labels[i - 1]]
    at = (edges / 1e9).tolist()
    return tuple(DrawnStretch(at[begin], at[end], labels[begin]) for begin, end in pairwise([*begins, len(labels)]))


def _waveform(samples: npt.ArrayLike, sample_rate: float | None) -> Waveform:
    array = np.asarray(samples, np.float64)
    if sample_rate is None or not sample_rate > 0:
        raise UsageError("samples need their sample_rate, in Hz")
    if array.ndim != 1 or not array.size:
        raise UsageError("samples must be one channel, and some")
    edges, lowest, highest = outline(array, WAVEFORM_COLUMNS)
    return Waveform(edges / sample_rate, lowest, highest)


def outline(samples: Float64, columns: int) -> tuple[Int64, Float64, Float64]:
    """The first, the lowest and the highest sample of each of so many columns, or of fewer samples."""
    edges = np.linspace(0, samples.size, min(columns, samples.size), endpoint=False).astype(np.int64)
    return edges, np.minimum.reduceat(samples, edges), np.maximum.reduceat(samples, edges)
