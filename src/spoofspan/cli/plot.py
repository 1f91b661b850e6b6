"""``spoofspan plot``: figures for a paper, from files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o
from spoofspan.cli.system_inputs import Systems, takes_systems
from spoofspan.cli.table import resolutions_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from spoofspan.data.references import References
    from spoofspan.data.scores import Scores
    from spoofspan.evaluation.measurement import Measurement
    from spoofspan.formats.datasets.systems import SystemFile


class Kind(str, Enum):
    """The figures."""

    det = "det"
    threshold = "threshold"
    scores = "scores"
    resolution = "resolution"
    boundary = "boundary"
    timeline = "timeline"
    measurement = "measurement"
    resampling = "resampling"


OF_ONE_UTTERANCE = (Kind.timeline, Kind.measurement, Kind.resampling)
OVER_THRESHOLDS = (Kind.det, Kind.threshold, Kind.scores)


@takes_systems
@o.takes_rules
def plot(
    kind: Annotated[Kind, typer.Argument(help="Which figure.", show_default=False)],
    *,
    systems: Systems,
    out: Annotated[Path, typer.Option(help="The .png, .svg or .pdf file to write.", show_default=False)],
    width: Annotated[str | None, typer.Option(help="column (80 mm), page (170 mm), or a number of mm.")] = None,
    resolution: Annotated[
        str | None, typer.Option(help="det, threshold, scores: points of this many ms. measurement: the points.")
    ] = None,
    resolutions: Annotated[
        str | None, typer.Option(help="resolution, resampling: points of these, in ms: 10,20,40.")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(help="det: draw the bootstrap interval of the EER, such as 0.95.")
    ] = None,
    replicates: Annotated[int, typer.Option(help="Of the bootstrap.")] = 2000,
    utterance: Annotated[str | None, typer.Option(help="timeline, measurement, resampling: which one.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Of figures of one utterance; without it, that of the EER.")
    ] = None,
    audio: Annotated[Path | None, typer.Option(help="timeline: the recording, a WAV file.")] = None,
    convention: o.Convention = "default",
    eer_rule: o.EerRule = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
    rules: dict[str, Any],
) -> None:
    """Draw a figure of one system or several.

    det: FNR over FPR on normal-deviate axes, with the EER and (--confidence) its interval.

    threshold: FPR and FNR over the threshold.

    scores: scores of both classes, weighted by duration.

    resolution: point EER over resolution, against the range EER and the floor.

    boundary: how much of the error lies near a true boundary.

    timeline: one utterance, its reference, scores, decision and errors.

    measurement: one utterance counted in points and measured in ranges.

    resampling: one utterance at finer and at coarser resolutions.

    SCORES are as in 'spoofspan table'; NAME=FILE names a system in the figure.

    For example:

      spoofspan plot det ref.rttm ours=a.score theirs=b.score --durations reco2dur --out det.pdf

      spoofspan plot resolution ref.rttm 'unit{resolution}.score' --durations reco2dur --out resolution.svg

      spoofspan plot timeline ref.rttm a.score --utterance CON_E_0000001 --audio CON_E_0000001.wav --out one.png
    """
    from spoofspan.report.figures.style import in_mm, must_be_drawable, save

    o.must_be_free(out, force=force)
    must_be_drawable(out)
    if width is not None:
        in_mm(width)
    _refuse_unused(
        kind,
        {
            "--resolution": (resolution, (*OVER_THRESHOLDS, Kind.measurement)),
            "--resolutions": (resolutions, (Kind.resolution, Kind.resampling)),
            "--confidence": (confidence, (Kind.det,)),
            "--utterance": (utterance, OF_ONE_UTTERANCE),
            "--threshold": (threshold, OF_ONE_UTTERANCE),
            "--audio": (audio, (Kind.timeline,)),
        },
    )
    asked = _Asked(
        kind,
        {"convention": convention, **rules},
        eer_rule,
        resolution,
        resolutions,
        confidence,
        replicates,
        utterance,
        threshold,
        audio,
        {} if width is None else {"width": width},
    )
    save(asked.drawn(systems), out, force)


def _refuse_unused(kind: Kind, flags: dict[str, tuple[Any, tuple[Kind, ...]]]) -> None:
    for flag, (value, kinds) in flags.items():
        if value is not None and kind not in kinds:
            raise UsageError(f"{flag} means nothing to {kind.value}, only to {', '.join(one.value for one in kinds)}")


@dataclass(frozen=True)
class _Asked:
    """What was asked for."""

    kind: Kind
    rules: dict[str, Any]  # and the convention
    eer_rule: str | None
    resolution: str | None
    resolutions: str | None
    confidence: float | None
    replicates: int
    utterance: str | None
    threshold: float | None
    audio: Path | None
    size: dict[str, Any]

    def drawn(self, systems: Systems) -> Figure:
        """Read, measure, draw."""
        references, dataset = systems.read()
        files = systems.files(dataset)
        if self.kind is Kind.resolution:
            return self._resolution(references, systems, files)
        if self.kind in OF_ONE_UTTERANCE:
            if len(files) != 1:
                raise UsageError(f"{self.kind.value} shows one system; give one file of scores, not {len(files)}")
            return self._one_utterance(references, systems.scores(files[0]))
        labels = [one.system or (Path(one.path).name if len(files) > 1 else "") for one in files]
        read: list[Callable[[], Scores]] = [lambda one=one: systems.scores(one) for one in files]  # type: ignore[misc]
        if self.kind is Kind.boundary:
            from spoofspan.report.figures.figure_data import boundary_data
            from spoofspan.report.figures.system_figures import draw_boundary

            return draw_boundary(
                [
                    boundary_data(references, scores(), name, eer_rule=self.eer_rule, **self.rules)
                    for name, scores in zip(labels, read, strict=True)
                ],
                **self.size,
            )
        return self._over_thresholds(references, labels, read)

    def _over_thresholds(self, references: References, names: list[str], read: list[Callable[[], Scores]]) -> Figure:
        from spoofspan.report.figures import figure_data as data
        from spoofspan.report.figures import system_figures as figures
        from spoofspan.uncertainty import bootstrap

        ways: dict[Kind, tuple[Callable[[data.SystemCurve], Any], Callable[..., Figure]]] = {
            Kind.det: (data.det_data, figures.draw_det),
            Kind.threshold: (data.threshold_data, figures.draw_threshold),
            Kind.scores: (data.score_data, figures.draw_scores),
        }
        reduce, draw = ways[self.kind]
        points = None if self.resolution is None else _one_resolution(self.resolution)
        how = {"eer_rule": self.eer_rule, **self.rules}
        reduced = []
        for name, read_scores in zip(names, read, strict=True):
            scores = read_scores()
            curve = data.system_curve(references, scores, name, resolution=points, **how)
            if self.confidence is not None:
                interval = bootstrap(
                    references, scores, curve.eer.measure, confidence=self.confidence, replicates=self.replicates, **how
                )
                curve = replace(curve, interval=interval)
            reduced.append(reduce(curve))  # a whole curve of 12 million scores is not kept
        return draw(reduced, **self.size)

    def _resolution(self, references: References, systems: Systems, files: list[SystemFile]) -> Figure:
        from spoofspan.evaluation.resolution_table import PAPER_RESOLUTIONS, resolution_table
        from spoofspan.report.figures.figure_data import resolution_data
        from spoofspan.report.figures.system_figures import draw_resolution

        points = PAPER_RESOLUTIONS if self.resolutions is None else resolutions_in(self.resolutions, "--resolutions")
        table = resolution_table(references, systems.rows(files), points, eer_rule=self.eer_rule, **self.rules)
        return draw_resolution(resolution_data(table), **self.size)

    def _one_utterance(self, references: References, scores: Scores) -> Figure:
        from spoofspan.evaluation.evaluate import range_eer
        from spoofspan.report.figures import utterance_data as data
        from spoofspan.report.figures import utterance_figures as figures

        if self.utterance is None:
            raise UsageError(
                f"{self.kind.value} shows one utterance; give --utterance, such as {references.utterances[0]}"
            )
        threshold = self.threshold
        if threshold is None:
            measured: Measurement = range_eer(references, scores, eer_rule=self.eer_rule, **self.rules)
            threshold = measured.threshold
        place = references, scores, self.utterance
        if self.kind is Kind.timeline:
            from spoofspan.formats.sound import read_wave

            samples, rate = (None, None) if self.audio is None else read_wave(self.audio)
            return figures.draw_timeline(
                data.timeline_data(*place, threshold, samples=samples, sample_rate=rate, **self.rules), **self.size
            )
        if self.kind is Kind.measurement:
            points = scores.hop if self.resolution is None else _one_resolution(self.resolution)
            if points is None:
                raise UsageError("measurement: these scores are ranges; give the --resolution of the points in ms")
            return figures.draw_measurement(data.measurement_data(*place, points, threshold, **self.rules), **self.size)
        hop = scores.hop or 0.0
        levels = [hop / 2, 2 * hop] if self.resolutions is None else resolutions_in(self.resolutions, "--resolutions")
        return figures.draw_resampling(data.resampling_data(*place, levels, threshold, **self.rules), **self.size)


def _one_resolution(text: str) -> float:
    found = resolutions_in(text, "--resolution")
    if len(found) > 1:
        raise UsageError(f"--resolution {text}: one figure shows points of one resolution; give one")
    return found[0]
