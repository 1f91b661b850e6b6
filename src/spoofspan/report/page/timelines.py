"""Utterances that a page shows, with the labels and scores that were counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spoofspan.base.columns import positions
from spoofspan.base.times import Int64
from spoofspan.data.references import References
from spoofspan.data.rules import Rules
from spoofspan.data.scores import Scores
from spoofspan.mass.ranges import Overlay
from spoofspan.mass.score_runs import FrameRuns, ScoreRuns
from spoofspan.measures.per_utterance import UtteranceErrors
from spoofspan.report.page.rendering import packed, unpacked
from spoofspan.report.table import printable

GROUPS = ("worst", "median", "random")
MOST_TIMELINES, LEAST_TIMELINES = 240, 8  # of a page, unless another number is asked for
MOST_BYTES = 1_800_000  # of the scores of all timelines


@dataclass(frozen=True)
class Choice:
    """An utterance, and why it is shown."""

    utterance: str
    group: str
    error_seconds: float


def worst_first(errors: UtteranceErrors) -> Int64:
    """The places of the utterances: those with the most error come first, equal ones by name."""
    return np.lexsort((np.array(errors.utterances), -errors.false_positive - errors.false_negative))


def choose(errors: UtteranceErrors, order: Int64, count: int) -> list[Choice]:
    """About ``count`` utterances: two fifths the first in order, one fifth around the middle, the rest at random."""
    amounts = errors.false_positive + errors.false_negative
    worst = order[: max(2 * count // 5, 1)]
    rest = order[worst.size :]
    middle = len(order) // 2 - worst.size
    width = count // 5
    first = max(middle - width // 2, 0)
    median = rest[first : first + width]
    others = np.sort(np.concatenate((rest[:first], rest[first + width :])))
    drawn = np.random.default_rng(0).permutation(others)[: max(count - worst.size - median.size, 0)]
    return [
        Choice(errors.utterances[i], group, int(amounts[i]) / 1e9)
        for group, rows in zip(GROUPS, (worst, median, np.sort(drawn)), strict=True)
        for i in rows.tolist()
    ]


def within_bytes(
    errors: UtteranceErrors, systems: Mapping[str, Scores], ranked: Sequence[str], asked: int | None
) -> tuple[Sequence[str], list[Choice]]:
    """The systems, the best first, and the utterances whose scores a page has room for.

    With long recordings of many systems, fewer utterances are shown, and then the scores of the best systems alone.
    """
    order = worst_first(errors)
    if asked is not None:
        return ranked, choose(errors, order, asked)
    sizes = {name: _bytes_by_utterance(scores) for name, scores in systems.items()}

    def needed(count: int, names: Sequence[str]) -> int:
        chosen = choose(errors, order, count)
        return sum(sizes[name].get(one.utterance, 0) for name in names for one in chosen)

    shown = list(ranked)
    while len(shown) > 1 and needed(LEAST_TIMELINES, shown) > MOST_BYTES:
        shown.pop()
    low, high = LEAST_TIMELINES, MOST_TIMELINES
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if needed(middle, shown) <= MOST_BYTES else (low, middle - 1)
    return shown, choose(errors, order, low)


def _bytes_by_utterance(scores: Scores) -> dict[str, int]:
    sizes = np.diff(scores.offsets) * (scores.values.itemsize + (0 if scores.hop is not None else 24))
    return dict(zip(scores.utterances, sizes.tolist(), strict=True))


def axis_of(found: Sequence[Mapping[str, Any]], system: str) -> list[float] | None:
    """The lowest and the highest score of a system in all timelines, without the outermost thousandth at either end."""
    values = [unpacked(one["scores"][system]["values"]) for one in found if system in one["scores"]]
    every = np.concatenate(values) if values else np.empty(0)
    finite = every[np.isfinite(every)]
    return None if finite.size == 0 else np.quantile(finite, [0.001, 0.999]).tolist()


def timelines(
    references: References,
    systems: Mapping[str, tuple[Scores, Rules]],
    choices: Sequence[Choice],
    *,
    audio: Mapping[str, str],
    waveforms: Mapping[str, dict[str, Any] | None],
    columns: Mapping[str, Mapping[str, str]],
) -> list[dict[str, Any]]:
    """The chosen utterances as plain data, in the order of the choices, with their sound and their metadata."""
    chosen = [choice.utterance for choice in choices]
    attacks = _attacks(references, chosen)
    found: dict[str, dict[str, Any]] = {}
    for name, (scores, rules) in systems.items():
        some = _only(references, chosen), _only(scores, chosen)
        overlay = Overlay.of(*some, rules)
        labelling, runs = overlay.labelling, overlay.runs
        for row, utterance in enumerate(labelling.utterances):
            here = found.setdefault(
                utterance,
                {
                    "duration": int(labelling.extents[row]) / 1e9,
                    "ends": _seconds(labelling.ends[labelling.offsets[row] : labelling.offsets[row + 1]]),
                    "labels": labelling.labels[labelling.offsets[row] : labelling.offsets[row + 1]].tolist(),
                    "attacks": attacks.get(utterance, []),
                    "scores": {},
                },
            )
            here["scores"][name] = scores_of_row(runs, row)
    return [
        {
            "id": printable(choice.utterance),
            "group": choice.group,
            "error": choice.error_seconds,
            "audio": audio.get(choice.utterance),
            "waveform": waveforms.get(choice.utterance),
            "columns": {
                printable(name): printable(values[choice.utterance])
                for name, values in columns.items()
                if choice.utterance in values
            },
            **found[choice.utterance],
        }
        for choice in choices
        if choice.utterance in found
    ]


def scores_of_row(runs: ScoreRuns, row: int) -> dict[str, Any]:
    """The scores of an utterance, by its place, as a page takes them."""
    rows = slice(int(runs.offsets[row]), int(runs.offsets[row + 1]))
    values = runs.values[rows]
    if isinstance(runs, FrameRuns):
        used = int(runs.used[row])
        return {
            "values": packed(values[:used]),
            "start": int(runs.origins[row]) / 1e9,
            "hop": int(runs.hops[row]) / 1e9,
            "last": int(runs.last[row]) / 1e9,
        }
    position = np.arange(values.size)
    starts, ends = runs.spans(np.full(values.size, row), rows.start + position)
    return {"values": packed(values), "starts": _seconds(starts), "ends": _seconds(ends)}


def _seconds(times: Int64) -> list[float]:
    return [round(time / 1e9, 6) for time in times.tolist()]


def _only(corpus: Any, utterances: Sequence[str]) -> Any:
    place = positions(utterances, corpus.utterances)
    return corpus.take(place[place >= 0])


def _attacks(references: References, utterances: Sequence[str]) -> dict[str, list[list[Any]]]:
    """The spoofed ranges that have an attack: start, end, attack."""
    if references.attacks is None:
        return {}
    some = _only(references, utterances)
    names = [printable(name) for name in references.attack_names]
    found: dict[str, list[list[Any]]] = {}
    for i, utterance in enumerate(some.utterances):
        rows = range(int(some.offsets[i]), int(some.offsets[i + 1]))
        found[utterance] = [
            [some.starts[row] / 1e9, some.ends[row] / 1e9, names[some.attacks[row]]]
            for row in rows
            if some.attacks[row] >= 0
        ]
    return found


def hours(ns: int) -> str:
    """A duration to be read, in hours, minutes or seconds."""
    seconds = ns / 1e9
    if seconds >= 3600:
        return f"{seconds / 3600:.2f} h"
    return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.2f} s"
