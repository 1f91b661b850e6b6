"""Corpora that hypothesis draws: times in whole ns, small, with ties, gaps in the scores and time that is ignored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st

import spoofspan as ss

BONA_FIDE, SPOOF, NONSPEECH = 0, 1, 2
MS = 1_000_000

# exact in float16, so in every type of scores
EXACT_SCORES = st.one_of(
    st.integers(-6, 6).map(lambda k: k / 4),
    st.floats(width=16, allow_nan=False, allow_infinity=False),
    st.sampled_from([-0.0, 0.0, float("inf"), float("-inf")]),
)
FEW_SCORES = st.integers(-3, 3).map(float)


def references_of(ranges: Mapping[str, Sequence[tuple[int, int, int]]], durations: Mapping[str, int]) -> ss.References:
    """References from {utterance: [(start, end, label code), ...]} in ns."""
    rows = [row for listed in ranges.values() for row in listed]
    return ss.References.from_columns(
        list(ranges),
        np.array([durations[utt] for utt in ranges], np.int64),
        np.cumsum([0, *(len(listed) for listed in ranges.values())]),
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int64),
        labels=np.array([row[2] for row in rows], np.int64),
    )


def scores_of(
    ranges: Mapping[str, Sequence[tuple[int, int, float]]], higher: str = "bonafide", dtype: Any = np.float64
) -> ss.Scores:
    """Scores from {utterance: [(start, end, score), ...]} in ns."""
    rows = [row for listed in ranges.values() for row in listed]
    return ss.Scores.from_columns(
        list(ranges),
        np.cumsum([0, *(len(listed) for listed in ranges.values())]),
        np.array([row[2] for row in rows], dtype),
        starts=np.array([row[0] for row in rows], np.int64),
        ends=np.array([row[1] for row in rows], np.int64),
        higher=higher,
    )


@dataclass(frozen=True)
class Corpus:
    """Reference ranges and score ranges of a few utterances, with the rules to measure them under."""

    references: dict[str, list[tuple[int, int, int]]]
    durations: dict[str, int]
    scores: dict[str, list[tuple[int, int, float]]]
    higher: str = "bonafide"
    rules: dict[str, Any] = field(default_factory=dict)
    point_rules: dict[str, Any] = field(default_factory=dict)

    def only(self, utterances: Sequence[str]) -> Corpus:
        """The same with these utterances, in this order."""
        return self.but(
            references={utt: self.references[utt] for utt in utterances},
            scores={utt: self.scores[utt] for utt in utterances},
        )

    def but(self, **changes: Any) -> Corpus:
        """The same with something else."""
        return Corpus(**{**self.__dict__, **changes})

    def built(self, dtype: Any = np.float64) -> tuple[ss.References, ss.Scores]:
        """The corpus as spoofspan objects."""
        return references_of(self.references, self.durations), scores_of(self.scores, self.higher, dtype)

    def mass(self, resolution: float | None, dtype: Any = np.float64) -> ss.ScoreMass:
        """The mass in durations, or (with a resolution) in points."""
        return mass_of(*self.built(dtype), resolution, self)


def mass_of(references: ss.References, scores: ss.Scores, resolution: float | None, corpus: Corpus) -> ss.ScoreMass:
    """The mass of any references and scores under the rules of a corpus."""
    if resolution is None:
        return ss.overlay(references, scores, **corpus.rules)
    return ss.point_mass(references, scores, resolution, **corpus.rules, **corpus.point_rules)


def eer_of(mass: ss.ScoreMass, rule: str) -> ss.EqualErrorRate | str:
    """The EER, or "undefined"."""
    try:
        return ss.equal_error_rate(mass, rule)
    except ss.UndefinedMeasureError:
        return "undefined"


@st.composite
def pieces(draw: Any, extent: int, tick: int, things: st.SearchStrategy[Any], most: int = 5) -> list[Any]:
    """[0, extent) cut at some ticks, with a thing for each piece; both in ns."""
    cuts = draw(st.sets(st.integers(1, max(extent // tick - 1, 1)), max_size=most))
    edges = [0, *(cut * tick for cut in sorted(cuts) if cut * tick < extent), extent]
    return [(start, end, draw(things)) for start, end in pairwise(edges)]


@st.composite
def corpora(
    draw: Any,
    *,
    tick: int | None = None,
    labels: Sequence[int] = (BONA_FIDE, SPOOF, BONA_FIDE, SPOOF, NONSPEECH),
    values: st.SearchStrategy[float] = EXACT_SCORES | FEW_SCORES,
    holes: bool = True,
    collar: bool = True,
    label_rules: Sequence[Any] = ("any", "majority", 0.3, "rounded"),
    whole_ticks: bool = False,
) -> Corpus:
    """A corpus of one to five utterances that has both classes."""
    tick = tick or draw(st.sampled_from([5 * MS, 6_250_000, 1_234_567]))
    uncovered = draw(st.sampled_from(["unanswered", "bonafide", "spoof", "ignore", "hold"])) if holes else "error"
    scored = values
    if holes:
        scored = st.one_of(values, values, values, st.none())
    references, durations, scores = {}, {}, {}
    for i in range(draw(st.integers(1, 5))):
        utt = f"u{i}"
        extent = draw(st.integers(2, 20)) * tick
        if not whole_ticks:
            extent += draw(st.sampled_from([0, 0, 1, tick // 3]))
        durations[utt] = extent
        references[utt] = draw(pieces(extent, tick, st.sampled_from(labels)))
        if i == 0:
            references[utt] = [(0, tick, BONA_FIDE), (tick, extent, SPOOF)]
        scores[utt] = [piece for piece in draw(pieces(extent, tick, scored)) if piece[2] is not None]
        if uncovered == "hold" and not scores[utt]:
            scores[utt] = [(0, tick, draw(values))]
    rules = {
        "uncovered": uncovered,
        "slack": 0.0,
        "nonspeech": draw(st.sampled_from(["ignore", "bonafide", "spoof"])),
        "collar": draw(st.sampled_from([0.0, 0.0, 0.002])) if collar else 0.0,
    }
    point_rules = {
        "label": draw(st.sampled_from(label_rules)),
        "last_point": draw(st.sampled_from(["use", "round"])),
    }
    higher = draw(st.sampled_from(["bonafide", "spoof"]))
    return Corpus(references, durations, scores, higher, rules, point_rules)
