"""``spoofspan plot``: figures for a paper, from files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from spoofspan.base.errors import UsageError
from spoofspan.base.lazy import LazyMapping
from spoofspan.base.progress import progress
from spoofspan.cli import options as o
from spoofspan.cli.system_inputs import OneSet

FigureKind = Literal[
    "det",
    "roc",
    "threshold",
    "scores",
    "resolution",
    "boundary",
    "reliability",
    "pav",
    "tippett",
    "timeline",
    "measurement",
    "resampling",
]
OF_ONE_UTTERANCE = ("timeline", "measurement", "resampling")
OVER_THRESHOLDS = ("det", "roc", "threshold", "scores")
OF_CALIBRATION = ("reliability", "pav", "tippett")
OF_UTTERANCES = (*OVER_THRESHOLDS, *OF_CALIBRATION)  # figures that scores of whole utterances have
MANY = 4  # systems, from which on a figure takes the width of a page


def plot(
    kind: Annotated[FigureKind, o.argument(help="Figure to draw.")],
    *,
    systems: OneSet,
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
    ranges: o.RangeOptions,
    force: o.Force = False,
    quiet: o.Quiet = False,
    rules: o.PointRules,
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
    from spoofspan.data.front_door import separate_seeds
    from spoofspan.formats.datasets.systems import open_systems
    from spoofspan.report.figures import plots
    from spoofspan.report.figures.style import OURS, in_mm, must_be_drawable, save

    o.must_be_free(out, force=force)
    must_be_drawable(out)
    size = None if width is None else in_mm(width)
    meant_for: dict[str, tuple[Any, tuple[str, ...]]] = {
        "--resolution": (resolution, (*OVER_THRESHOLDS, *OF_CALIBRATION, "measurement")),
        "--resolutions": (resolutions, ("resolution", "resampling")),
        "--confidence": (confidence, ("det",)),
        "--scores-are": (scores_are, OF_CALIBRATION),
        "--prior": (prior, OF_CALIBRATION),
        "--bins": (bins, ("reliability",)),
        "--utterance": (utterance, OF_ONE_UTTERANCE),
        "--threshold": (threshold, OF_ONE_UTTERANCE),
        "--audio": (audio, ("timeline",)),
    }
    for flag, (value, kinds) in meant_for.items():
        if value is not None and kind not in kinds:
            raise UsageError(f"{flag} means nothing to {kind}, only to {', '.join(kinds)}")
    if kind in OF_CALIBRATION and scores_are is None:
        raise UsageError(f"{kind} takes scores at their word: say what they are with --scores-are llr or probability")
    how: dict[str, Any] = {"style": OURS, **rules}
    points = None if resolution is None else o.resolution_in(resolution, "--resolution")
    levels = None if resolutions is None else o.resolutions_in(resolutions, "--resolutions")
    given: dict[str, Any] = {"scores_are": scores_are, "prior": prior, "bins": bins, "threshold": threshold}
    given |= {"resolution": points, "resolutions": levels, "confidence": confidence}
    given |= {"audio": audio, "width": size}
    how |= {name: value for name, value in given.items() if value is not None}
    figure = getattr(plots, kind)

    def draw(*sides: Any, **arguments: Any) -> None:
        with progress(f"drawing {out.name}"):
            drawn = figure(*sides, **arguments)
        save(drawn, out, force)

    if kind == "timeline" and (unlabelled := systems.scores_alone()) is not None:
        if threshold is None:
            raise UsageError(
                "without REFERENCES there is no EER, so give --threshold, on the scale of the scores; or give "
                "REFERENCES"
            )
        only = {name: how[name] for name in ("style", "width", "threshold", "audio") if name in how}
        draw(None, _one_system(kind, unlabelled), utterance, **only, **ranges.arguments())
        return
    ranges.refuse_any("says how ranges are made of scores without references; leave it out")
    if systems.of_utterances:
        _refuse_without_time(kind, resolution)
    references: Any = systems.truth()
    files = systems.files()
    if kind == "resolution":
        draw(references, systems.rows(files), **how)
        return
    each = open_systems(files, systems.any_scores)
    if kind in OF_ONE_UTTERANCE:
        draw(references, _one_system(kind, separate_seeds(each)), utterance, **how)
        return
    if confidence is not None:
        how["resampling"] = o.cluster_arguments(systems.metadata(), None, systems.typed.bare_ids)
        if replicates is not None:
            how["resampling"] |= {"method": "percentile", "replicates": replicates}
    if width is None and sum(map(len, each.values())) > MANY:
        how["width"] = "page"
    alone = next(iter(each.values()))
    if len(each) == len(alone) == 1:
        each = LazyMapping([files[0].system], lambda _: alone)  # a name that was typed
    draw(references, each, **how)


def _one_system(kind: FigureKind, systems: Mapping[str, Any]) -> Any:
    if len(systems) != 1:
        raise UsageError(f"{kind} shows one system; give one file of scores, not {len(systems)}")
    return next(iter(systems.values()))


def _refuse_without_time(kind: FigureKind, resolution: str | None) -> None:
    """Refuse what scores of whole utterances have no data for."""
    if kind not in OF_UTTERANCES:
        valid = ", ".join(OF_UTTERANCES)
        raise UsageError(f"{kind} shows errors in time, and these are scores of whole utterances; they have {valid}")
    if resolution is not None:
        raise UsageError(
            "--resolution is the length of points in time, and these are scores of whole utterances; leave it out"
        )
