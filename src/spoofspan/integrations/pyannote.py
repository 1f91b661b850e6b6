"""pyannote.core: annotations as references and back, features on a sliding window as scores and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.base.times import SECOND
from spoofspan.data.references import LABELS, References
from spoofspan.data.scores import Higher, Scores

try:
    from pyannote.core import Annotation, Segment, SlidingWindow, SlidingWindowFeature
    from pyannote.core.utils.generators import string_generator
except ModuleNotFoundError as error:
    raise UsageError(f"{error.name} is not installed; pip install 'spoofspan[pyannote]'") from error


def references_from_annotations(
    annotations: Mapping[str, Annotation],
    durations: Mapping[str, float] | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    snap: float = 0.0,
) -> References:
    """References from pyannote annotations.

    Parameters
    ----------
    annotations : mapping of str to Annotation
        Of each utterance; the labels are bonafide, spoof and nonspeech.
    durations : mapping of str to float, optional
        How long each utterance lasts, in seconds.
    labels : mapping of str to str, optional
        What other labels mean, such as ``{"A07": "spoof"}``; they become the attack of a range.
    snap : float
        Edges that miss each other by no more than this many seconds are joined.

    Returns
    -------
    spoofspan.References
        In the order of the annotations.

    Raises
    ------
    DataError
        If a label is not known.

    Examples
    --------
    >>> annotation = Annotation(uri="u1")
    >>> annotation[Segment(0.0, 1.2)], annotation[Segment(1.2, 2.0)] = "bonafide", "A07"
    >>> references_from_annotations({"u1": annotation}, labels={"A07": "spoof"})
    References(1 utterance, 2 ranges: 1.200 s bona fide, 0.800 s spoof)

    """
    known: dict[str, str] = {label: label for label in LABELS} | dict(labels or {})
    for label, meaning in known.items():
        if meaning not in LABELS:
            raise UsageError(f"labels: {label!r} cannot mean {meaning!r}: {nearest_name(meaning, LABELS)}")
    ranges: dict[str, list[Any]] = {}
    for utterance, annotation in annotations.items():
        ranges[utterance] = []
        for segment, _, label in annotation.itertracks(yield_label=True):
            if label not in known:
                raise DataError(
                    f"utterance {utterance!r}: the label {label!r} of [{segment.start}, {segment.end}) is not known; "
                    f"say what it means: labels={{{label!r}: 'spoof'}}"
                )
            attack = None if label in LABELS else str(label)
            ranges[utterance].append((segment.start, segment.end, known[label], attack))
    return References.from_ranges(ranges, durations, snap=snap)


def annotations_from(references: References) -> dict[str, Annotation]:
    """A pyannote annotation of every utterance; a range with an attack gets that as its label.

    Parameters
    ----------
    references : References
        Reference labels.

    Returns
    -------
    dict of str to Annotation
        By utterance.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 1.2, "bonafide"), (1.2, 2.0, "spoof", "A07")]})
    >>> print(annotations_from(references)["u1"])
    [ 00:00:00.000 -->  00:00:01.200] A bonafide
    [ 00:00:01.200 -->  00:00:02.000] B A07

    """
    made = {}
    for i, utterance in enumerate(references.utterances):
        annotation = Annotation(uri=utterance)
        for track, row in zip(string_generator(), range(*map(int, references.offsets[i : i + 2])), strict=False):
            attack = -1 if references.attacks is None else int(references.attacks[row])
            name = LABELS[references.labels[row]] if attack < 0 else references.attack_names[attack]
            segment = Segment(references.starts[row] / SECOND, references.ends[row] / SECOND)
            annotation[segment, track] = name
        made[utterance] = annotation
    return made


def scores_from_features(
    features: Mapping[str, SlidingWindowFeature], *, higher: Higher, column: int | None = None
) -> Scores:
    """Scores from features on a sliding window, one score for each of its positions.

    Parameters
    ----------
    features : mapping of str to SlidingWindowFeature
        Of each utterance. Windows longer than their step overlap; the rule ``overlap`` says what that means when
        measuring.
    higher : {"bonafide", "spoof"}
        What high scores mean.
    column : int, optional
        Which of several features.

    Returns
    -------
    Scores
        In the order of the features.

    Examples
    --------
    >>> window = SlidingWindow(duration=0.02, step=0.02)
    >>> scores_from_features({"u1": SlidingWindowFeature(np.float32([[0.9], [-0.4]]), window)}, higher="bonafide")
    Scores(1 utterance, 2 frames of 20 ms, float32, higher = bonafide)

    """
    frames: dict[str, Any] = {}
    hops, starts, windows = {}, {}, set()
    for utterance, feature in features.items():
        data = np.asarray(feature.data)
        if data.ndim == 2 and (data.shape[1] == 1 or column is not None):
            if column is not None and not -data.shape[1] <= column < data.shape[1]:
                raise UsageError(f"column={column}: there are {data.shape[1]} features in utterance {utterance!r}")
            data = data[:, 0 if column is None else column]
        if data.ndim != 1:
            raise UsageError(
                f"utterance {utterance!r}: features of shape {data.shape}; choose one of them with column="
            )
        window = feature.sliding_window
        frames[utterance] = data
        hops[utterance], starts[utterance] = float(window.step), float(window.start)
        windows.add(None if window.duration == window.step else float(window.duration))
    if len(windows) > 1:
        raise UsageError(f"windows of different lengths ({sorted(map(str, windows))}); measure them apart")
    return Scores.from_frames(frames, hops, higher=higher, start=starts, window=next(iter(windows), None))


def features_from(scores: Scores) -> dict[str, SlidingWindowFeature]:
    """Features on a sliding window, from the frames of every utterance.

    Parameters
    ----------
    scores : Scores
        Of frames; scores of ranges are resampled first.

    Returns
    -------
    dict of str to SlidingWindowFeature
        By utterance.

    Examples
    --------
    >>> scores = Scores.from_frames({"u1": [0.9, -0.4]}, hop=0.02, higher="bonafide")
    >>> features_from(scores)["u1"].data.shape
    (2, 1)

    """
    if scores.hops is None or scores.origins is None:
        raise UsageError("scores of ranges are no frames; resample them first: scores.resample(0.02)")
    made = {}
    for i, utterance in enumerate(scores.utterances):
        hop = float(scores.hops[i])
        window = SlidingWindow(
            duration=hop if scores.window is None else scores.window, step=hop, start=scores.origins[i] / SECOND
        )
        values = scores.values[scores.offsets[i] : scores.offsets[i + 1]]
        made[utterance] = SlidingWindowFeature(values[:, None], window)
    return made
