"""A metric of DeepFense: exact measures of frame-wise detectors, and of detectors of whole utterances.

DeepFense calls a metric with labels and scores, and with parameters from its configuration. Its temporal evaluation
gives one label and one score per frame, and in the parameters the utterance of each (``keys``) and the hop
(``label_hop_ms``); without keys, each row is an utterance. Register the metric before the trainer is built::

    from spoofspan.integrations.deepfense import register
    register()

    metrics:
      SPOOFSPAN: {measures: [range-eer, point-eer@160ms, utterance-eer], convention: default}

Results are called SPOOFSPAN_RANGE_EER and so on, shares between 0 and 1, as DeepFense's own. Frames whose label is
``ignore_index`` are dropped, as DeepFense does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spoofspan.base.extras import package
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.corpus import Evaluation
from spoofspan.evaluation.evaluate import evaluate, evaluate_utterances

NAME = "SPOOFSPAN"
# Parameters that DeepFense hands to every metric or that are read here; all others are arguments of ss.evaluate.
OWN = (
    *("measures", "keys", "bonafide_label", "ignore_index", "loss"),
    *("label_hop_ms", "source_ms", "source_label_hop_ms", "reference_ms"),
)


def deepfense_metric(labels: Any, scores: Any, params: Mapping[str, Any]) -> dict[str, float]:
    """Measure frames or utterances as DeepFense hands them over.

    Parameters
    ----------
    labels : array
        Of each frame or utterance; ``params["bonafide_label"]`` (1) means bona fide.
    scores : array
        One score each, higher for bona fide, or a column for each of the two classes.
    params : mapping
        ``measures`` (the range EER, or the utterance EER without ``keys``); ``keys`` and ``label_hop_ms``; rules and
        other arguments of :func:`spoofspan.evaluate`.

    Returns
    -------
    dict
        ``SPOOFSPAN_RANGE_EER`` and so on, each with its threshold.

    Examples
    --------
    >>> params = {"keys": ["u1"] * 4, "label_hop_ms": 20}
    >>> deepfense_metric([1, 1, 0, 0], [0.9, 0.2, 0.4, -0.3], params)["SPOOFSPAN_RANGE_EER"]
    0.5

    """
    labels, bona_fide = np.asarray(labels).astype(int), int(params.get("bonafide_label", 1))
    values = _one_column(np.asarray(scores), bona_fide, params)
    counted = labels != int(params.get("ignore_index", -100))
    keys = params.get("keys")
    more = {name: value for name, value in params.items() if name not in OWN}
    if keys is None:
        names = [str(row) for row in np.flatnonzero(counted)]
        truth = dict(zip(names, np.where(labels[counted] == bona_fide, "bonafide", "spoof").tolist(), strict=True))
        given = UtteranceScores(tuple(names), values[counted], higher="bonafide")
        found = evaluate_utterances(truth, given, params.get("measures", ["utterance-eer"]), **more)
        return _flat(found)
    utterances, owner = np.unique(np.asarray(keys).astype(str)[counted], return_inverse=True)
    order = np.argsort(owner, kind="stable")
    ends = np.cumsum(np.bincount(owner, minlength=utterances.size))[:-1]
    hop = float(params.get("source_ms") or params.get("label_hop_ms") or 20.0) / 1000
    by_utterance = (np.split(column[counted][order], ends) for column in ((labels != bona_fide).astype(int), values))
    spoofed, scored = (dict(zip(utterances.tolist(), parts, strict=True)) for parts in by_utterance)
    references = References.from_labels(spoofed, hop, spoof_label=1)
    frames = Scores.from_frames(scored, hop=hop, higher="bonafide")
    return _flat(evaluate(references, frames, params.get("measures", ["range-eer"]), **more))


def _one_column(scores: Any, bona_fide: int, params: Mapping[str, Any]) -> Any:
    """One score each, as DeepFense makes it of its outputs: of two classes, the difference of their logits."""
    if scores.ndim == 1:
        return scores
    if scores.shape[1] == 1 or "ocsoftmax" in str(params.get("loss") or "").lower():
        return scores[:, 0]
    return scores[:, bona_fide] - scores[:, 1 - bona_fide]


def _flat(found: Evaluation) -> dict[str, float]:
    return {f"{NAME}_{name.upper()}": value for name, value in found.to_flat_dict().items()}


def register() -> None:
    """Make the metric known to DeepFense, under the name SPOOFSPAN."""
    package("deepfense.utils.registry").register_metric(NAME)(deepfense_metric)
