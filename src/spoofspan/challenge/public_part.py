"""The public part of a challenge: the definition and the utterances, which every team has.

Nothing in it depends on the labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.hashing import utterances_hash
from spoofspan.base.times import Int64
from spoofspan.challenge.definition import (
    DEFINITION,
    DURATIONS,
    PUBLIC,
    UTTERANCES,
    Definition,
    read_json,
    read_text,
)
from spoofspan.data.references import References
from spoofspan.formats.text.durations import read_durations

# A submission may have a score for every millisecond, and so many bytes for every second: 64 for each of 200 scores.
SCORES_PER_SECOND, BYTES_PER_SECOND, BYTES_IN_ANY_CASE = 1000, 200 * 64, 1 << 26
PROPOSALS_PER_UTTERANCE, BYTES_PER_UTTERANCE = 1000, 1000


@dataclass(frozen=True, eq=False)
class PublicPart:
    """Public part: the definition, and the utterances, with their durations where time matters."""

    definition: Definition
    utterances: tuple[str, ...]  # sorted: their order in the references may tell which are spoofed
    ends: Int64  # in ns; none where submissions have a score of each utterance

    @classmethod
    def of(cls, definition: Definition, durations: Mapping[str, float] | Iterable[str]) -> PublicPart:
        """Sort the utterances, given with their durations where these matter."""
        ids = tuple(sorted(durations))
        if not isinstance(durations, Mapping):
            return cls(definition, ids, np.zeros(0, np.int64))
        seconds = np.array([durations[utt] for utt in ids], np.float64)
        return cls(definition, ids, np.rint(seconds * 1e9).astype(np.int64))

    @classmethod
    def read(cls, folder: Path) -> PublicPart:
        """Read the public part, given its folder or that of the whole challenge."""
        found = folder / PUBLIC if (folder / PUBLIC / DEFINITION).is_file() else folder
        path = found / DEFINITION
        if not path.is_file():
            raise UsageError(f"{str(folder)!r} has no {DEFINITION}: give the folder of a challenge, or its public part")
        definition = Definition.from_dict(read_json(path), str(path))
        if definition.submissions == "utterance-scores":
            return cls.of(definition, read_text(found / UTTERANCES).splitlines())
        return cls.of(definition, read_durations(found / DURATIONS))

    @cached_property
    def extents(self) -> References:
        """The utterances and their durations; all time is called bona fide, which says nothing."""
        offsets, starts = np.arange(len(self.utterances) + 1), np.zeros_like(self.ends)
        labels = np.zeros(self.ends.size, bool)
        return References.from_columns(self.utterances, self.ends, offsets, starts, self.ends, labels)

    @property
    def seconds(self) -> float:
        """Length of all utterances last, where that known."""
        return float(self.ends.sum()) / 1e9

    @property
    def most_scores(self) -> int:
        """How many scores, or proposals, a submission may have."""
        count = len(self.utterances)
        if self.definition.submissions == "proposals":
            return PROPOSALS_PER_UTTERANCE * count
        return int(SCORES_PER_SECOND * self.seconds) + count

    @property
    def most_bytes(self) -> int:
        """How many bytes a submission may have, unpacked."""
        timed = self.definition.submissions != "utterance-scores"
        needed = BYTES_PER_SECOND * self.seconds if timed else BYTES_PER_UTTERANCE * len(self.utterances)
        return BYTES_IN_ANY_CASE + int(needed)

    @property
    def utterances_hash(self) -> str:
        """Hash of the utterances."""
        return utterances_hash(self.utterances)
