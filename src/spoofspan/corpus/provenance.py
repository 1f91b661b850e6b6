"""Source of every sample of an utterance, and the labels that follow from it under a policy.

Stretches say which recording a range of samples was taken from; where two overlap, in a joint, both sound. The truth is
kept as it is, labels are made of it: a joint is spoof if either side is (or changes its label in the middle), and
non-speech has the class of the recording it came from (or is always bona fide).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.errors import DataError
from spoofspan.corpus.survey import Span

NO_SPEECH = "nonspeech"
BONA_FIDE = "bonafide"


@dataclass(frozen=True)
class Origin:
    """Samples ``start`` to ``end`` of an utterance are those of a recording from ``source_start`` on, times a gain."""

    start: int
    end: int
    recording: str
    source_start: int
    gain: float
    attack: str | None  # None: bona fide


@dataclass(frozen=True)
class Joint:
    """Samples of the result in which two stretches overlap, by which lag they were aligned and how alike they were.

    Without samples where the recipe of PartialSpoof sets two stretches side by side; its lag is the length.
    """

    start: int
    end: int
    lag: int
    correlation: float


@dataclass(frozen=True)
class Provenance:
    """All of an utterance."""

    utterance: str
    subset: str
    speaker: str
    samples: int
    carrier: str  # the recording that the rest was put into
    origins: tuple[Origin, ...]
    joints: tuple[Joint, ...]
    speech: tuple[Span, ...]

    @property
    def attacks(self) -> list[str]:
        """The attacks in it."""
        return sorted({one.attack for one in self.origins if one.attack is not None})

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Provenance:
        """Read what :func:`dataclasses.asdict` and JSON made of one."""
        try:
            return cls(
                **{
                    **plain,
                    "origins": tuple(Origin(**one) for one in plain["origins"]),
                    "joints": tuple(Joint(**one) for one in plain["joints"]),
                    "speech": tuple((int(start), int(end)) for start, end in plain["speech"]),
                }
            )
        except (TypeError, KeyError, ValueError) as error:
            raise DataError(f"this is no provenance of an utterance ({error}); build the corpus again") from None


@dataclass(frozen=True)
class LabelledRange:
    """A range of samples; the label is ``bonafide``, an attack, or ``nonspeech``."""

    start: int
    end: int
    label: str


def labelled_ranges(one: Provenance, *, joints: str, nonspeech: str) -> list[LabelledRange]:
    """Label every sample of an utterance by a policy; ``nonspeech="nonspeech"`` shows where it is."""
    names = [BONA_FIDE, NO_SPEECH, *one.attacks]
    codes = np.full(one.samples, -1, np.int16)
    for origin in one.origins:
        codes[origin.start : origin.end] = _code(names, origin.attack)
    for joint, left, right in zip(one.joints, one.origins[:-1], one.origins[1:], strict=True):
        middle = (joint.start + joint.end) // 2
        codes[joint.start : middle] = _code(names, left.attack)
        codes[middle : joint.end] = _code(names, right.attack)
    if nonspeech != "origin":
        silent = np.ones(one.samples, np.bool_)
        for start, end in one.speech:
            silent[start:end] = False
        codes[silent] = names.index(nonspeech)
    if joints == "spoof":
        for joint, left, right in zip(one.joints, one.origins[:-1], one.origins[1:], strict=True):
            attack = right.attack if left.attack is None else left.attack
            if attack is not None:
                codes[joint.start : joint.end] = _code(names, attack)
    return _runs(codes, names)


def _code(names: list[str], attack: str | None) -> int:
    return names.index(BONA_FIDE if attack is None else attack)


def _runs(codes: npt.NDArray[np.int16], names: list[str]) -> list[LabelledRange]:
    edges = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), codes.size]
    return [LabelledRange(start, end, names[codes[start]]) for start, end in pairwise(edges)]


def segment_labels(ranges: list[LabelledRange], samples: int, segment: int) -> npt.NDArray[np.bool_]:
    """True if each segment of so many samples is bona fide: spoof if any of it is.

    >>> segment_labels([LabelledRange(0, 5, "bonafide"), LabelledRange(5, 9, "A01")], 9, 4).tolist()
    [True, False, False]
    """
    bona_fide = np.ones(-(-samples // segment), np.bool_)
    for one in ranges:
        if one.label != BONA_FIDE:
            bona_fide[one.start // segment : (one.end - 1) // segment + 1] = False
    return bona_fide
