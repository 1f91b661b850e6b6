"""``spoofspan plot``: figures for a paper, from files."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o
from spoofspan.cli.bootstrap_options import cluster_arguments
from spoofspan.cli.range_options import RangeOptions, takes_ranges
from spoofspan.cli.system_inputs import Systems, takes_systems
from spoofspan.cli.table import resolutions_in

if TYPE_CHECKING:
    from spoofspan.data.references import References
    from spoofspan.data.scores import Scores


class FigureKind(str, Enum):
    """The figures."""

    det = "det"
    roc = "roc"
    threshold = "threshold"
    scores = "scores"
    resolution = "resolution"
    boundary = "boundary"
    reliability = "reliability"
    pav = "pav"
    tippett = "tippett"
    timeline = "timeline"
    measurement = "measurement"
    resampling = "resampling"


OF_ONE_UTTERANCE = (FigureKind.timeline, FigureKind.measurement, FigureKind.resampling)
OVER_THRESHOLDS = (FigureKind.det, FigureKind.roc, FigureKind.threshold, FigureKind.scores)
OF_CALIBRATION = (FigureKind.reliability, FigureKind.pav, FigureKind.tippett)
OF_UTTERANCES = (*OVER_THRESHOLDS, *OF_CALIBRATION)  # figures that scores of whole utterances have
MANY = 4  # systems, from which on a figure takes the width of a page


@takes_systems
@takes_ranges
@o.takes_rules
def plot(
    kind: Annotated[FigureKind, typer.Argument(help="Which figure.", show_default=False)],
    *,
    systems: Systems,
    out: Path = o.flag(..., "The .png, .svg or .pdf file to write.", show_default=False),
    width: str | None = o.flag(None, "column (80 mm), page (170 mm), or a number of mm."),
    resolution: str | None = o.flag(
        None, "Measure points of this many ms: in figures of systems but boundary and resolution, and in measurement."
    ),
    resolutions: str | None = o.flag(None, "resolution, resampling: points of these, in ms: 10,20,40."),
    confidence: float | None = o.flag(None, "det: draw the interval of the EER, such as 0.95."),
    replicates: int | None = o.flag(None, "Intervals by a bootstrap with this many replicates. Default: jackknife-t."),
    scores_are: o.ScoresAre = None,
    prior: float | None = o.flag(None, "reliability, pav, tippett: the assumed share of spoof; 0.5."),
    bins: int | None = o.flag(None, "reliability: how many bins; 10."),
    utterance: str | None = o.flag(None, "timeline, measurement, resampling: which utterance."),
    threshold: float | None = o.flag(None, "Threshold in figures of one utterance; without it, that of the EER."),
    audio: Path | None = o.flag(None, "timeline: the recording, a WAV file."),
    ranges: RangeOptions,
    convention: o.Convention = "default",
    eer_rule: o.EerRule = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
    rules: dict[str, Any],
) -> None:
    """Draw a figure of one system or several.

    det: FNR over FPR on normal-deviate axes, with the EER and (--confidence) its interval.

    roc: the share of spoof that is found, over FPR, with the EER.

    threshold: FPR and FNR over the threshold.

    scores: histogram of the scores of both classes, weighted by duration.

    resolution: point EER over resolution, against the range EER and the floor.

    boundary: how much of the error lies near a true boundary.

    reliability: the share of spoof over the probability that the scores state (--scores-are llr or probability).

    pav: the best monotone calibration of the scores, with Cllr and minCllr (--scores-are).

    tippett: how much of each class has at least a likelihood ratio (--scores-are).

    timeline: one utterance, its reference, scores, decision and errors; without REFERENCES, what --threshold calls.

    measurement: one utterance counted in points and measured in ranges.

    resampling: one utterance at finer and at coarser resolutions.

    Several seeds of a system are drawn as systems of their own, NAME/SEED; resolution shows the mean over them. Scores
    of whole utterances, with a protocol or labels as REFERENCES, have det, roc, threshold, scores, reliability, pav and
    tippett, where each utterance counts once.

    For example:

      spoofspan plot det ref.rttm ours=a.score theirs=b.score --durations reco2dur --out det.pdf

      spoofspan plot resolution ref.rttm 'unit{resolution}.score' --durations reco2dur --out resolution.svg

      spoofspan plot pav ref.rttm ours=a.score theirs=b.score --durations reco2dur --scores-are llr --out pav.pdf

      spoofspan plot det protocol.txt a=a_scores.tsv b=b_scores.tsv --confidence 0.95 --out det.pdf

      spoofspan plot timeline ref.rttm a.score --utterance CON_E_0000001 --audio CON_E_0000001.wav --out one.png
    """
    from spoofspan.data.sides import separate_seeds
    from spoofspan.evaluation.resolution_table import PAPER_RESOLUTIONS, resolution_table
    from spoofspan.formats.datasets.systems import open_systems
    from spoofspan.report import figures
    from spoofspan.report.figures.figure_data import resolution_data
    from spoofspan.report.figures.style import in_mm, must_be_drawable, save

    o.must_be_free(out, force=force)
    must_be_drawable(out)
    size = {} if width is None else {"width": in_mm(width)}
    meant_for: dict[str, tuple[Any, tuple[FigureKind, ...]]] = {
        "--resolution": (resolution, (*OVER_THRESHOLDS, *OF_CALIBRATION, FigureKind.measurement)),
        "--resolutions": (resolutions, (FigureKind.resolution, FigureKind.resampling)),
        "--confidence": (confidence, (FigureKind.det,)),
        "--scores-are": (scores_are, OF_CALIBRATION),
        "--prior": (prior, OF_CALIBRATION),
        "--bins": (bins, (FigureKind.reliability,)),
        "--utterance": (utterance, OF_ONE_UTTERANCE),
        "--threshold": (threshold, OF_ONE_UTTERANCE),
        "--audio": (audio, (FigureKind.timeline,)),
    }
    for flag, (value, kinds) in meant_for.items():
        if value is not None and kind not in kinds:
            raise UsageError(f"{flag} means nothing to {kind.value}, only to {', '.join(one.value for one in kinds)}")
    if kind in OF_CALIBRATION and scores_are is None:
        raise UsageError(
            f"{kind.value} takes scores at their word: say what they are with --scores-are llr or probability"
        )
    meaning = {"scores_are": scores_are, "prior": prior, "bins": bins}
    points = None if resolution is None else _one_resolution(resolution)
    levels = None if resolutions is None else resolutions_in(resolutions, "--resolutions")
    rules |= {"convention": convention}
    if kind is FigureKind.timeline and (alone := systems.scores_alone()) is not None:
        shown = _of_scores_alone(alone, utterance, threshold, audio, ranges)
        save(figures.draw_timeline(shown, **size), out, force)
        return
    ranges.refuse_any("says how ranges are made of scores without references; leave it out")
    if systems.of_utterances:
        _refuse_without_time(kind, resolution)
    references: Any = systems.truth()
    files = systems.files()
    data: Any
    each = separate_seeds({} if kind is FigureKind.resolution else open_systems(files, systems.any_scores))
    if kind is FigureKind.resolution:
        rows = systems.rows(files)
        data = resolution_data(
            resolution_table(references, rows, levels or PAPER_RESOLUTIONS, eer_rule=eer_rule, **rules)
        )
    elif kind in OF_ONE_UTTERANCE:
        if len(each) != 1:
            raise UsageError(f"{kind.value} shows one system; give one file of scores, not {len(each)}")
        if utterance is None:
            raise UsageError(f"{kind.value} shows one utterance; give --utterance, such as {references.utterances[0]}")
        (scores,) = each.values()
        if threshold is None:
            from spoofspan.evaluation.evaluate import range_eer

            threshold = range_eer(references, scores, eer_rule=eer_rule, **rules).threshold
        data = _of_utterance(kind, (references, scores, utterance), threshold, points, levels, audio, rules)
    else:
        resampled: dict[str, Any] | None = None
        if confidence is not None:
            resampled = {
                "confidence": confidence,
                **cluster_arguments(systems.metadata(), None, systems.typed.bare_ids),
            }
            if replicates is not None:
                resampled |= {"method": "percentile", "replicates": replicates}
        if width is None and len(each) > MANY:
            size = {"width": in_mm("page")}
        data = [  # a whole curve of 12 million scores is not kept
            _of_system(
                kind,
                (references, each[name], name if len(each) > 1 else files[0].system),  # alone, it needs no name
                points,
                resampled,
                {flag: value for flag, value in meaning.items() if value is not None},
                eer_rule=eer_rule,
                **rules,
            )
            for name in each
        ]
    save(getattr(figures, f"draw_{kind.value}")(data, **size), out, force)


def _refuse_without_time(kind: FigureKind, resolution: str | None) -> None:
    """Refuse what scores of whole utterances have no data for."""
    if kind not in OF_UTTERANCES:
        valid = ", ".join(one.value for one in OF_UTTERANCES)
        raise UsageError(
            f"{kind.value} shows errors in time, and these are scores of whole utterances; they have {valid}"
        )
    if resolution is not None:
        raise UsageError(
            "--resolution is the length of points in time, and these are scores of whole utterances; leave it out"
        )


def _of_system(
    kind: FigureKind,
    system: tuple[Any, Any, str],  # truth, scores and name
    points: float | None,
    resampled: dict[str, Any] | None,
    meaning: dict[str, Any],
    **how: Any,
) -> Any:
    """The data of one system in a figure of systems."""
    from spoofspan.report.figures import figure_data as data
    from spoofspan.uncertainty import interval

    if kind is FigureKind.boundary:
        return data.boundary_data(*system, **how)
    curve = data.system_curve(*system, resolution=points, **how)
    if kind in OF_CALIBRATION:
        return getattr(data, f"{kind.value}_data")(curve, **meaning)
    if resampled is not None:
        truth, scores, _ = system
        found = interval(truth, scores, curve.eer.measure, **resampled, **how)
        o.say(f"warning: {curve.eer.measure}: {text}" for text in found.warnings)  # figures have no place for them
        curve = replace(curve, interval=found)
    return {
        FigureKind.det: data.det_data,
        FigureKind.roc: data.det_data,
        FigureKind.threshold: data.threshold_data,
        FigureKind.scores: data.score_data,
    }[kind](curve)


def _of_utterance(
    kind: FigureKind,
    place: tuple[References, Scores, str],
    threshold: float,
    points: float | None,
    levels: list[float] | None,
    audio: Path | None,
    rules: dict[str, Any],
) -> Any:
    """The data of a figure of one utterance."""
    from spoofspan.formats.sound import read_wave
    from spoofspan.report.figures import utterance_data as data

    hop = place[1].hop
    if kind is FigureKind.timeline:
        samples, rate = (None, None) if audio is None else read_wave(audio)
        return data.timeline_data(*place, threshold, samples=samples, sample_rate=rate, **rules)
    if kind is FigureKind.resampling:
        return data.resampling_data(*place, levels or [(hop or 0.0) / 2, 2 * (hop or 0.0)], threshold, **rules)
    points = points or hop
    if points is None:
        raise UsageError("measurement: these scores are ranges; give the --resolution of the points in ms")
    return data.measurement_data(*place, points, threshold, **rules)


def _of_scores_alone(
    systems: dict[str, Scores], utterance: str | None, threshold: float | None, audio: Path | None, ranges: RangeOptions
) -> Any:
    """The data of a timeline without references."""
    from spoofspan.formats.sound import read_wave
    from spoofspan.report.figures.utterance_data import called_timeline_data

    if len(systems) != 1:
        raise UsageError(f"timeline shows one system; give one file of scores, not {len(systems)}")
    (scores,) = systems.values()
    if threshold is None:
        raise UsageError(
            "without REFERENCES there is no EER, so give --threshold, on the scale of the scores; or give REFERENCES"
        )
    if utterance is None:
        raise UsageError(f"timeline shows one utterance; give --utterance, such as {scores.utterances[0]}")
    samples, rate = (None, None) if audio is None else read_wave(audio)
    how = ranges.arguments()
    return called_timeline_data(scores, utterance, threshold, samples=samples, sample_rate=rate, **how)


def _one_resolution(text: str) -> float:
    found = resolutions_in(text, "--resolution")
    if len(found) > 1:
        raise UsageError(f"--resolution {text}: one figure shows points of one resolution; give one")
    return found[0]
