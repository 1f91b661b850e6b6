"""What a challenge measures and how, and the public part of its folder.

::

    CHALLENGE/public/challenge.json      measures, rules, phases
    CHALLENGE/public/reco2dur            the utterances, sorted, and their durations
    CHALLENGE/public/README.md           the same in words, for teams
    CHALLENGE/public/sample_submission.zip
    CHALLENGE/hidden/...                 labels: hidden_part.py
    CHALLENGE/results/PHASE/TEAM.json    team_results.py
    CHALLENGE/codabench.zip              codabench.py

Nothing in the public part depends on the labels: two challenges that differ in their labels alone have the same bytes
there.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.base.hashing import utterances_hash
from spoofspan.data.references import References
from spoofspan.data.rules import rules_for
from spoofspan.evaluation.plan import EvaluationOptions, ScoresAre
from spoofspan.formats.text.durations import read_durations
from spoofspan.measures.measure import Measure

PUBLIC, HIDDEN, RESULTS = "public", "hidden", "results"
DEFINITION, DURATIONS = "challenge.json", "reco2dur"
VERSION = 1
TIME = "%Y-%m-%d %H:%M:%S"
LONGEST_NAME = 60
# Names of devices, which are no files on Windows.
RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(10))}
# A submission may have a score for every millisecond, and so many bytes for every second: 64 for each of 200 scores.
SCORES_PER_SECOND, BYTES_PER_SECOND, BYTES_IN_ANY_CASE = 1000, 200 * 64, 1 << 26


def plain_name(name: str, what: str) -> str:
    """Check a name that becomes the name of a file and stands on a page: letters, digits, spaces, dots, - and _.

    >>> plain_name("Team 7_b", "the team")
    'Team 7_b'
    >>> plain_name("../x", "the team")
    Traceback (most recent call last):
    spoofspan.base.errors.DataError: the team '../x': a name has letters, digits, spaces, '.', '-' and '_', begins ...
    """
    fine = (
        0 < len(name) <= LONGEST_NAME
        and unicodedata.is_normalized("NFC", name)
        and all(c in " ._-" or unicodedata.category(c)[0] in "LMN" for c in name)
        and unicodedata.category(name[0])[0] in "LN"
        and name[-1] not in " ."
        and name.partition(".")[0].casefold() not in RESERVED
    )
    if not fine:
        raise DataError(
            f"{what} {name[:80]!a}: a name has letters, digits, spaces, '.', '-' and '_', begins with a letter or "
            f"a digit, ends in no dot, and has at most {LONGEST_NAME} characters; choose another"
        )
    return name


@dataclass(frozen=True)
class Phase:
    """A time in which submissions are scored, in UTC as ``2027-01-31 12:00:00``; without a start it is open at once.

    >>> Phase.parse("final=2027-03-01/2027-03-07")
    Phase(name='final', start='2027-03-01 00:00:00', end='2027-03-07 00:00:00')
    """

    name: str
    start: str | None = None
    end: str | None = None

    def __post_init__(self) -> None:
        plain_name(self.name, "the phase")
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise UsageError(f"the phase {self.name!r} ends ({self.end}) before it starts ({self.start})")

    @classmethod
    def parse(cls, text: str) -> Phase:
        """``NAME=START/END`` in ISO 8601; END, or both, may be left out."""
        name, _, times = text.partition("=")
        start, _, end = times.partition("/")
        return cls(name, *(_utc(one, text) if one else None for one in (start, end)))


def _utc(text: str, whole: str) -> str:
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise UsageError(f"--phase {whole}: {text!r} is no date; write NAME=2027-01-10/2027-02-28") from None
    return (found if found.tzinfo is None else found.astimezone(timezone.utc)).strftime(TIME)


@dataclass(frozen=True)
class Definition:
    """What is measured, under which rules, and when.

    Parameters
    ----------
    title
        Of the challenge.
    measures
        The first one ranks.
    phases
        In the order of time.
    convention, eer_rule, scores_are, rules
        As in :func:`spoofspan.evaluate`.
    confidence
        Of intervals and verdicts.
    hop, higher
        Of submissions that do not say themselves how long a frame is, and what high scores mean.

    """

    title: str
    measures: tuple[str, ...]
    phases: tuple[Phase, ...] = (Phase("evaluation"),)
    convention: str = "default"
    eer_rule: str | None = None
    scores_are: ScoresAre | None = None
    rules: Mapping[str, Any] = field(default_factory=dict)
    confidence: float = 0.95
    hop: float | None = None
    higher: str | None = None

    def __post_init__(self) -> None:
        if not self.measures:
            raise UsageError("a challenge needs a measure, such as range-eer")
        if not 0 < self.confidence < 1:
            raise UsageError(f"confidence={self.confidence!r}: must lie between 0 and 1, as 0.95")
        if self.higher not in (None, "bonafide", "spoof"):
            raise UsageError(f"higher={self.higher!r}: must be 'bonafide' or 'spoof'")
        if self.rules.get("partial"):
            raise UsageError("partial=True: teams would be measured on different utterances; leave it out")
        rules_for("range", self.convention, self.rules)
        for measure in self.measures:
            parsed = Measure.parse(measure)
            self.options.plan(parsed, None)  # refuses what needs more than references and scores
            if parsed.kind.needs_asv:
                raise UsageError(f"{measure} needs a speaker verification system, which a challenge does not take yet")
            if parsed.kind.declared and self.scores_are is None:
                raise UsageError(f"{measure} takes scores at their word: give scores_are='llr' or 'probability'")
        names = [one.name.casefold() for one in self.phases]
        if len(set(names)) < len(names) or not names:
            raise UsageError("a challenge has at least one phase, and no two of the same name")
        for one, after in pairwise(self.phases):
            if one.end is None or after.start is None or after.start <= one.end:  # as Codabench asks
                raise UsageError(f"the phase {after.name!r} must start after {one.name!r} has ended; give both times")

    @property
    def options(self) -> EvaluationOptions:
        """How measures are taken."""
        return EvaluationOptions(self.convention, self.eer_rule, scores_are=self.scores_are, rules=self.rules)

    @property
    def parsed(self) -> list[Measure]:
        """The measures."""
        return [Measure.parse(one) for one in self.measures]

    def phase(self, name: str | None) -> Phase:
        """A phase by its name; the last one without."""
        if name is None:
            return self.phases[-1]
        for one in self.phases:
            if one.name == name:
                return one
        raise UsageError(f"there is no phase {name!r}; {nearest_name(name, [one.name for one in self.phases])}")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {"challenge": VERSION, **asdict(self)}

    @classmethod
    def from_dict(cls, plain: Any, place: str) -> Definition:
        """What :meth:`to_dict` wrote."""
        try:
            if plain.pop("challenge") != VERSION:
                raise DataError(f"{place}: a challenge of another version; build it again")
            phases = tuple(Phase(**one) for one in plain.pop("phases"))
            return cls(phases=phases, measures=tuple(plain.pop("measures")), **plain)
        except (AttributeError, KeyError, TypeError):
            raise DataError(f"{place}: not the definition of a challenge; get the public part again") from None


@dataclass(frozen=True, eq=False)
class PublicPart:
    """What every team has: the definition, and the utterances with their durations."""

    definition: Definition
    extents: References  # utterances and durations; all time is called bona fide, which says nothing

    @classmethod
    def of(cls, definition: Definition, durations: Mapping[str, float]) -> PublicPart:
        """Sort the utterances: their order in the references may tell which are spoofed."""
        ids = sorted(durations)
        seconds = np.array([durations[utt] for utt in ids], np.float64)
        ends = np.rint(seconds * 1e9).astype(np.int64)
        offsets = np.arange(len(ids) + 1)
        starts, labels = np.zeros_like(ends), np.zeros(ends.size, bool)
        return cls(definition, References.from_columns(ids, ends, offsets, starts, ends, labels))

    @classmethod
    def read(cls, folder: Path) -> PublicPart:
        """Read the public part, given its folder or that of the whole challenge."""
        found = folder / PUBLIC if (folder / PUBLIC / DEFINITION).is_file() else folder
        path = found / DEFINITION
        if not path.is_file():
            raise UsageError(f"{str(folder)!r} has no {DEFINITION}: give the folder of a challenge, or its public part")
        return cls.of(Definition.from_dict(read_json(path), str(path)), read_durations(found / DURATIONS))

    @property
    def utterances(self) -> tuple[str, ...]:
        """The ids, sorted."""
        return self.extents.utterances

    @property
    def seconds(self) -> float:
        """How long all utterances last."""
        return float(self.extents.ends.sum()) / 1e9

    @property
    def most_scores(self) -> int:
        """How many scores a submission may have."""
        return int(SCORES_PER_SECOND * self.seconds) + len(self.utterances)

    @property
    def most_bytes(self) -> int:
        """How many bytes a submission may have, unpacked."""
        return BYTES_IN_ANY_CASE + int(BYTES_PER_SECOND * self.seconds)

    @property
    def utterances_hash(self) -> str:
        """Which utterances they are."""
        return utterances_hash(self.utterances)


def read_json(path: Path) -> Any:
    """Read a JSON file of the challenge."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise DataError(f"{path}: not JSON; get the file again") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}); check the path and its rights") from None
