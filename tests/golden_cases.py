"""The golden cases as spoofspan objects; golden/README.md says where the numbers come from."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import spoofspan as ss

FOLDER = Path(__file__).parent / "golden"

RANGE_CASES = ["full_cover", "ties", "short_tail", "gaps", "saturated"]
BISECTION_CASES = ["bisection_terminates", "bisection_crashes"]


@dataclass(frozen=True)
class GoldenCase:
    """One golden corpus: `scores` are higher for bona fide, `spoof_scores` higher for spoof."""

    name: str
    references: Any
    scores: Any  # Scores; in `coarse` one per hop in seconds: {0.02: Scores, ...}
    spoof_scores: Any
    expected: dict[str, Any]


@cache
def load(name: str) -> GoldenCase:
    """The case of that name."""
    case = _json(name, "case.json")
    utterances = case["utterances"]
    references = ss.References.from_ranges(
        {
            utterance: [(float(start), float(end), label) for start, end, label in content["reference"]]
            for utterance, content in utterances.items()
        },
        durations={utterance: float(content["duration"]) for utterance, content in utterances.items()},
    )
    if name == "coarse":
        hops = list(next(iter(utterances.values()))["scores_by_hop"])
        frames = {
            float(hop): {utt: content["scores_by_hop"][hop] for utt, content in utterances.items()} for hop in hops
        }
        scores = {hop: _scores(values, hop, "bonafide") for hop, values in frames.items()}
        spoof_scores = {hop: _scores(_spoof_column(case, values), hop, "spoof") for hop, values in frames.items()}
    else:
        assert {content["hop"] for content in utterances.values()} == {"0.020"}
        values = {utterance: content["scores"] for utterance, content in utterances.items()}
        scores = _scores(values, 0.02, "bonafide")
        spoof_scores = _scores(_spoof_column(case, values), 0.02, "spoof")
    return GoldenCase(name, references, scores, spoof_scores, _json(name, "expected.json"))


@cache
def any_spoof_labels() -> dict[float, dict[str, str]]:
    """Labels of the points of `coarse` per resolution in seconds and utterance: a digit each, 0 is spoof."""
    return {float(resolution): rows for resolution, rows in _json("coarse", "labels_any_spoof.json").items()}


def _scores(values: dict[str, Any], hop: float, higher: str) -> Any:
    arrays = {utterance: np.asarray(row, dtype=np.float64) for utterance, row in values.items()}
    return ss.Scores.from_frames(arrays, hop=hop, higher=higher)


def _spoof_column(case: dict[str, Any], values: dict[str, list[float]]) -> dict[str, list[float]]:
    """The score column for spoof, as it was printed for the tools that read it."""
    if case["spoof_score_column"] == "-score":
        return {utterance: [-score for score in row] for utterance, row in values.items()}
    assert case["spoof_score_column"] == "1 - score"
    return {utterance: [round(1 - score, 5) for score in row] for utterance, row in values.items()}


def _json(name: str, file: str) -> Any:
    return json.loads((FOLDER / name / file).read_text(encoding="utf-8"))
