"""The page of scores without references: what a threshold calls spoof, utterance by utterance.

It is made of the parts of the report, and says nothing about how well the spoofs were found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spoofspan.base.columns import sum_by_utterance
from spoofspan.base.errors import UsageError
from spoofspan.base.times import Int64
from spoofspan.base.version import __version__
from spoofspan.data.proposals import Proposals
from spoofspan.data.scores import Scores, score_times
from spoofspan.evaluation.cautions import note_called
from spoofspan.mass.score_runs import ScoreRuns
from spoofspan.measures.events.proposals_from_scores import ProposalOptions, called_ranges, proposals_from_runs, runs_of
from spoofspan.measures.operating_point import Threshold, check_threshold
from spoofspan.report.page.rendering import SCRIPTS, STYLES, cell, column, packed, packed_short, page_table, render
from spoofspan.report.page.timelines import MOST_TIMELINES, hours, scores_of_row
from spoofspan.report.table import printable

MOST_RANGES = 1000  # rows of the table
STEPS = 1000  # of the slider


@dataclass(frozen=True)
class ScoresPageSettings:
    """Content of a page of scores.

    Parameters
    ----------
    title
        Title of the page.
    thresholds
        Where each system calls spoof, by its name.
    ranges
        How ranges are made of scores, besides the threshold; timelines show the decision on every score.
    timelines
        How many utterances are shown: those with the most time called spoof by the first system.
    audio, waveforms
        Utterance -> address of its sound, and its picture.

    """

    title: str
    thresholds: Mapping[str, Threshold]
    ranges: ProposalOptions = field(default_factory=ProposalOptions)
    timelines: int = MOST_TIMELINES
    audio: Mapping[str, str] = field(default_factory=dict)
    waveforms: Mapping[str, dict[str, Any] | None] = field(default_factory=dict)


def scores_page(systems: Mapping[str, Scores], settings: ScoresPageSettings) -> str:
    """Write a page of scores without references as one self-contained HTML file.

    Parameters
    ----------
    systems
        The scores of each system by its name.
    settings
        What the page has.

    Returns
    -------
    str
        The HTML: it opens from disk, and fetches nothing.

    Examples
    --------
    >>> scores = Scores.from_frames({"u1": [0.9, 0.1, 0.2, 0.8]}, hop=0.02, higher="bonafide")
    >>> scores_page({"ours": scores}, ScoresPageSettings("My scores", {"ours": 0.5}))[:15]
    '<!DOCTYPE html>'

    """
    if not systems:
        raise UsageError("a page needs the scores of at least one system")
    made = {name: _System.of(name, scores, settings) for name, scores in systems.items()}
    first = next(iter(made.values()))
    shown = _timelines(made, first, settings)
    content = {
        "spoofspan": __version__,
        "title": printable(settings.title),
        "facts": first.facts(),
        "systems": [one.content() for one in made.values()],
        "timelines": shown,
    }
    data = {"labelled": False, "systems": [one.data() for one in made.values()], "columns": [], "timelines": shown}
    scripts = (*(name for name in SCRIPTS if name not in ("figures.js", "multiples.js", "report.js")), "scores.js")
    return render("scores.html", content, data, scripts=scripts, styles=STYLES)


@dataclass(frozen=True, eq=False)
class _System:
    """A system, and what it calls spoof."""

    name: str
    scores: Scores
    threshold: float
    runs: ScoreRuns
    found: Proposals
    said: tuple[str, ...]

    @classmethod
    def of(cls, name: str, scores: Scores, settings: ScoresPageSettings) -> _System:
        scores.distinct.refuse("a page of scores")
        how, threshold = settings.ranges, check_threshold(settings.thresholds[name])
        runs = runs_of(scores, how)
        found = proposals_from_runs(scores.utterances, runs, threshold, how)
        said = note_called(scores, threshold, called_ranges(scores, threshold, **vars(how)))
        return cls(name, scores, threshold, runs, found, said)

    def facts(self) -> list[list[str]]:
        """Counts of the content."""
        return [["utterances", f"{len(self.scores):,}"], ["with a score", hours(int(self.runs.covered().sum()))]]

    def called_time(self) -> Int64:
        """The time called spoof in each utterance, in ns."""
        return sum_by_utterance(self.found.ends - self.found.starts, self.found.offsets)

    def content(self) -> dict[str, Any]:
        """Sentences of the page, and the table of ranges."""
        lasting = self.found.ends - self.found.starts
        rows = np.sort(np.argsort(-lasting, kind="stable")[:MOST_RANGES])
        utterance = np.searchsorted(self.found.offsets, rows, side="right") - 1
        sign = 1.0 if self.scores.higher == "spoof" else -1.0
        cells = [
            [
                cell(self.scores.utterances[i]),
                *(_seconds(int(time)) for time in (self.found.starts[row], self.found.ends[row], lasting[row])),
                cell(f"{sign * self.found.confidences[row]:.4g}", sign * float(self.found.confidences[row])),
            ]
            for row, i in zip(rows.tolist(), utterance.tolist(), strict=True)
        ]
        names = ("start (s)", "end (s)", "duration (s)", "mean score")
        columns = [column("utterance"), *(column(name, number=True) for name in names)]
        return {
            "name": printable(self.name),
            "said": [printable(text) for text in self.said],
            "left_out": lasting.size - rows.size,
            "ranges": page_table("ranges", "Ranges called spoof", columns, cells),
        }

    def data(self) -> dict[str, Any]:
        """Positions of the slider: thresholds that call ever more time spoof, and the share of each."""
        starts, ends = score_times(self.scores)
        sign = 1.0 if self.scores.higher == "bonafide" else -1.0
        values = sign * self.scores.values.astype(np.float64)
        order = np.argsort(values, kind="stable")
        below = np.concatenate(([0], np.cumsum((ends - starts)[order])))
        steps = values[order[np.linspace(0, order.size - 1, STEPS).astype(np.int64)]]
        steps = np.unique(np.append(steps[np.isfinite(steps)], sign * self.threshold))
        share = below[np.searchsorted(values[order], steps)] / max(int(below[-1]), 1)
        curve = {
            "thresholds": packed_short(np.append(sign * steps, sign * np.inf) + 0.0),
            "false_positive_rates": packed(np.append(share, 1.0)),
            "false_negative_rates": packed(np.zeros(share.size + 1)),
            "bona_fide": int(below[-1]) / 1e9,
            "spoof": 0.0,
            "start": int(np.searchsorted(steps, sign * self.threshold)),
        }
        return {"name": printable(self.name), "higher": self.scores.higher, "curve": curve, "eer": None}


def _seconds(ns: int) -> dict[str, Any]:
    return cell(f"{ns / 1e9:.3f}", ns / 1e9)


def _timelines(made: Mapping[str, _System], first: _System, settings: ScoresPageSettings) -> list[dict[str, Any]]:
    """The utterances with the most time called spoof by the first system, with the scores of all."""
    called = first.called_time()
    chosen = np.argsort(-called, kind="stable")[: settings.timelines].tolist()
    places = [{utterance: i for i, utterance in enumerate(one.scores.utterances)} for one in made.values()]
    shown = []
    for i in chosen:
        utterance = first.scores.utterances[i]
        drawn = {
            str(number): (one.runs, place[utterance])
            for number, (one, place) in enumerate(zip(made.values(), places, strict=True))
            if utterance in place
        }
        duration = max(_end(runs, row) for runs, row in drawn.values())
        about = {"id": printable(utterance), "group": "", "error": 0.0, "attacks": [], "columns": {}}
        about |= {"audio": settings.audio.get(utterance), "waveform": settings.waveforms.get(utterance)}
        label = {"duration": duration, "ends": [duration], "labels": [2]}  # neither bona fide nor spoof
        shown.append({**about, **label, "scores": {key: scores_of_row(*one) for key, one in drawn.items()}})
    return shown


def _end(runs: ScoreRuns, row: int) -> float:
    last = int(runs.offsets[row + 1] - runs.offsets[row]) - 1
    return 0.0 if last < 0 else int(runs.run_ends(np.array([row]), np.array([last]))[0]) / 1e9
