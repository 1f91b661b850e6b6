"""The development set: its loss, and what spoofspan measures on its scores, always in evaluation mode."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import SpoofspanWarning, UndefinedMeasureError
from spoofspan.base.progress import progress
from spoofspan.base.times import milliseconds
from spoofspan.cm.batches import Batch, Pieces
from spoofspan.cm.config import Config
from spoofspan.cm.distributed import Team, computing_in
from spoofspan.cm.frame_times import SEGMENT_BRANCHES, UTTERANCE, finest, resolution, scale_of
from spoofspan.cm.loss import window_errors
from spoofspan.cm.model import scores as scores_of
from spoofspan.cm.parts import WindowLosses
from spoofspan.data.references import References, durations_of
from spoofspan.data.scores import Scores
from spoofspan.evaluation.evaluate import evaluate

Values = np.ndarray[tuple[int], np.dtype[np.float32]]
ScoredPiece = tuple[int, dict[str, Values], dict[str, float]]  # its number; scores and losses of each branch


@dataclass(frozen=True)
class Validation:
    """The loss, and the measures of each branch (in that branch's own scores)."""

    loss: float
    measures: dict[str, dict[str, float]]
    stop_on: float  # what decides which epoch is best; lower is better


def validate(
    model: nn.Module, pieces: Pieces, config: Config, team: Team, losses: WindowLosses | None = None
) -> Validation:
    """Score the development set and measure; the processes of a team share the work."""
    model.eval()
    found: list[ScoredPiece] = []
    batches = team.share(pieces.in_order(config.training.batch_size))
    recipe = config.training
    reading = pieces.loader(batches, recipe.workers, team.device)
    with torch.inference_mode(), progress("validating", total=len(batches), unit="batches") as advance:
        for batch in reading:
            with computing_in(recipe.precision, team.device):
                found += _scored(model, pieces, batch.to(team.device), losses)
            advance(1)
    found = sorted(team.gather(found), key=lambda one: one[0])
    counted = pieces.windows(range(len(pieces)))
    loss = sum(sum(errors[name] for _, _, errors in found) / max(counted[name], 1) for name in counted)
    by_branch = {name: branch_scores(pieces, [values[name] for _, values, _ in found], name) for name in counted}
    # what a warning says of a system's scores is no news of a model that has just begun to learn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpoofspanWarning)
        references, rules, stop_on = pieces.corpus.references, asdict(config.labels), config.training.stop_on
        measures = {name: _eers(references, scores, name, rules) for name, scores in by_branch.items()}
        if stop_on == "loss":
            return Validation(loss, measures, loss)
        return Validation(loss, measures, _value(references, by_branch[finest(by_branch) or UTTERANCE], stop_on, rules))


def _value(references: References, scores: Scores, measure: str, rules: dict[str, Any]) -> float:
    evaluation = evaluate(references, scores, [measure], **rules)
    return float(next(iter(evaluation.measurements.values())).value)


def _scored(model: nn.Module, pieces: Pieces, batch: Batch, losses: WindowLosses | None) -> list[ScoredPiece]:
    """Scores and losses of the pieces of one batch."""
    outputs = model(batch.waves, batch.samples)
    rows = []
    for row, piece in enumerate(batch.pieces):
        values, errors = {}, {}
        for name, out in outputs.items():
            own = out[row : row + 1, : pieces.targets[piece][name].size]
            values[name] = scores_of(own)[0].cpu().numpy()
            errors[name] = float(window_errors(own, batch.targets[name][row : row + 1, : own.shape[1]], losses))
        rows.append((piece, values, errors))
    return rows


def branch_scores(pieces: Pieces, values: list[Values], name: str) -> Scores:
    """The scores of a branch for whole utterances, from those of their pieces in order."""
    references = pieces.corpus.references
    ids = references.utterances
    owner = np.array([one.utterance for one in pieces.pieces])
    if name == UTTERANCE:  # one range: the whole utterance; of several pieces, the lowest score
        lowest = np.full(len(ids), np.inf, np.float32)
        np.minimum.at(lowest, owner, np.concatenate(values))
        starts, ends = np.zeros(len(ids), np.int64), durations_of(references, ids)
        return Scores.from_columns(ids, np.arange(len(ids) + 1), lowest, starts=starts, ends=ends, higher="bonafide")
    counts = np.bincount(owner, [one.size for one in values], len(ids)).astype(np.int64)
    hop = resolution(scale_of(name))
    return Scores.from_columns(ids, offsets_of(counts), np.concatenate(values), hop=hop, higher="bonafide")


def _eers(references: References, scores: Scores, name: str, rules: dict[str, Any]) -> dict[str, float]:
    """The EERs of a branch that the development set defines."""
    wanted = [UTTERANCE + "-eer"]
    if name in SEGMENT_BRANCHES:
        wanted = ["range-eer", f"point-eer@{milliseconds(resolution(scale_of(name)))}"]
    values = {}
    for measure in wanted:
        with suppress(UndefinedMeasureError):  # one class only: there is a loss, but no EER
            values[measure] = _value(references, scores, measure, rules)
    return values
