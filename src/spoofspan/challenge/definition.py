"""Definition of a challenge, and its folder.

::

    CHALLENGE/public/challenge.json      measures, rules, phases
    CHALLENGE/public/reco2dur            the utterances, sorted, and their durations; utterances, without
                                         durations, where submissions have a score of each utterance
    CHALLENGE/public/README.md           the same in words, for teams
    CHALLENGE/public/sample_submission.zip
    CHALLENGE/hidden/...                 labels: hidden_part.py
    CHALLENGE/ledger.jsonl               everything that happened: season.py
    CHALLENGE/received/HASH/...          submissions, as they came: submission.py
    CHALLENGE/results/PHASE/TEAM/...     team_results.py
    CHALLENGE/former/NUMBER/...          both parts before a change: rescoring.py
    CHALLENGE/codabench.zip              platforms.py

Nothing in the public part depends on the labels: two challenges that differ in their labels alone have the same bytes
there: the utterances are sorted, since their order in the references may tell which are spoofed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from spoofspan.base.documents import parse_json
from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.base.hashing import utterances_hash
from spoofspan.base.times import Int64
from spoofspan.challenge.team_names import plain_name
from spoofspan.data.references import References
from spoofspan.data.rules import rules_for
from spoofspan.data.scores import check_higher
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.formats.text.durations import read_durations
from spoofspan.measures.catalogue import EVENT
from spoofspan.measures.events.event_scores import check_parameters
from spoofspan.measures.measure import Measure, ScoresAre

PUBLIC, HIDDEN, RESULTS, FORMER = "public", "hidden", "results", "former"
DEFINITION, DURATIONS, UTTERANCES = "challenge.json", "reco2dur", "utterances"
README, SAMPLE = "README.md", "sample_submission.zip"
PHASE = "phase.json"  # of the reference data on a platform
# Kinds of submission, and their measures.
Submitted = Literal["scores", "boundary-scores", "proposals", "utterance-scores"]
SUBMITTED: Mapping[Submitted, str] = {
    "scores": "of ranges, points, utterances or events",
    "boundary-scores": "of boundary points, as point-boundary-eer@20ms",
    "proposals": "of events, as event-ap@iou=0.5",
    "utterance-scores": "of utterances, as utterance-eer",
}
# The valid submission of a team that counts, and ranks of teams with the same published value.
Counts = Literal["last", "best", "chosen"]
Ties = Literal["shared", "dense", "earlier"]
COUNTS: Mapping[Counts, str] = {
    "last": "the last valid submission of a team counts",
    "best": "the best valid submission of a team counts",
    "chosen": "the submission that a team chooses counts, its last valid one until it has chosen",
}
TIES: Mapping[Ties, str] = {
    "shared": "teams with the same value share the better rank (1, 1, 3)",
    "dense": "teams with the same value share a rank, and no rank is left out (1, 1, 2)",
    "earlier": "of teams with the same value, the one that submitted first is ranked first",
}
# Fields that no value depends on, so that they can change while a challenge runs.
POLICY = (
    *("title", "phases", "max_submissions", "max_per_day", "counts", "ties", "grace", "contact", "fact_sheet"),
    *("hidden_board", "migrate"),
)
VERSION = 1
TIME = "%Y-%m-%d %H:%M:%S"


def as_text(time: datetime) -> str:
    """A time as the ledger has it; one without a zone is UTC."""
    return (time if time.tzinfo is None else time.astimezone(timezone.utc)).strftime(TIME)


def parse_time(text: str, what: str) -> datetime:
    """A time in ISO 8601.

    >>> as_text(parse_time("2027-01-31T12:00+02:00", "--received"))
    '2027-01-31 10:00:00'
    """
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise UsageError(f"{what}: {text!r} is no time; write it in UTC, as 2027-01-31 or 2027-01-31T12:00") from None


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
            raise UsageError(
                f"the phase {self.name!r} ends ({self.end}) before it starts ({self.start}); correct one of the two"
            )

    @classmethod
    def parse(cls, text: str) -> Phase:
        """``NAME=START/END`` in ISO 8601; END, or both, may be left out."""
        name, _, times = text.partition("=")
        start, _, end = times.partition("/")
        what = f"--phase {text}"
        return cls(name, *(as_text(parse_time(one, what)) if one else None for one in (start, end)))


@dataclass(frozen=True)
class Definition:
    """Measures, rules and dates of a challenge.

    Parameters
    ----------
    title
        Title of the challenge.
    measures
        The first one ranks.
    phases
        In chronological order.
    convention, eer_rule, scores_are, rules
        As in :func:`spoofspan.evaluate`.
    confidence
        Level of intervals and verdicts.
    hop, higher
        Frame shift and polarity of submissions that do not state them.
    submissions
        Kind of submission: ``"scores"`` in time, ``"boundary-scores"`` in time, high where spoof begins or ends,
        ``"proposals"``, or ``"utterance-scores"``, one for each utterance or trial.
    fps
        Frames per second of proposals whose times are frame numbers.
    smoothing, min_duration, merge_gap
        Options for making proposals from scores, for event measures.
    max_submissions
        Scored submissions per team and phase, at most. Each reveals something about the labels.
    max_per_day
        Scored submissions per team and day (UTC), at most.
    counts
        The valid submission of a team that counts, see :data:`COUNTS`.
    ties
        Ranks of teams with the same published value, see :data:`TIES`.
    optional
        Optional measures at a threshold: a team that states no threshold has ``-`` there.
    grace
        Minutes after its end in which a phase still accepts submissions.
    contact
        An address for teams.
    fact_sheet
        Questions that teams answer with a submission, on platforms that ask: key -> question.
    hidden_board
        Hide the leaderboard from teams, on platforms.
    migrate
        Submit the valid submissions of a phase to the next one, on platforms.

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
    submissions: Submitted = "scores"
    fps: float | None = None
    smoothing: int | None = None
    min_duration: float = 0.0
    merge_gap: float = 0.0
    max_submissions: int = 10
    max_per_day: int | None = None
    counts: Counts = "last"
    ties: Ties = "shared"
    optional: tuple[str, ...] = ()
    grace: int = 0
    contact: str = ""
    fact_sheet: Mapping[str, str] = field(default_factory=dict)
    hidden_board: bool = False
    migrate: bool = False

    def __post_init__(self) -> None:
        for name, known in (("submissions", SUBMITTED), ("counts", COUNTS), ("ties", TIES)):
            if (value := getattr(self, name)) not in known:
                raise UsageError(f"{name}={value!r}: {nearest_name(value, known)}")
        if not self.title.strip() or not self.title.isprintable():
            raise UsageError(f"title={self.title!r}: must be one line of text")
        if not self.measures:
            raise UsageError("a challenge needs a measure, such as range-eer")
        if not 0 < self.confidence < 1:
            raise UsageError(f"confidence={self.confidence!r}: must lie between 0 and 1, as 0.95")
        if not isinstance(self.max_submissions, int) or self.max_submissions < 1:
            raise UsageError(f"max_submissions={self.max_submissions!r}: must be a whole number from 1 on")
        if self.max_per_day is not None and not 1 <= self.max_per_day <= self.max_submissions:
            raise UsageError(f"max_per_day={self.max_per_day!r}: must lie between 1 and max_submissions")
        if not isinstance(self.grace, int) or self.grace < 0:
            raise UsageError(f"grace={self.grace!r}: must be a whole number of minutes")
        for key in self.fact_sheet:
            if not re.fullmatch(r"[A-Za-z_]\w*", key, re.ASCII):
                raise UsageError(f"fact_sheet: {key!r} must be a name of letters, digits and _, as team_size")
        if self.higher is not None:
            check_higher(self.higher)
        if self.rules.get("partial"):
            raise UsageError("partial=True: teams would be measured on different utterances; leave it out")
        rules_for("range", self.convention, self.rules)
        for measure in self.parsed:
            measure.kind.ranked_by()  # or refused
            self._check(measure)
        for name in self.optional:
            self._check_optional(Measure.parse(name))
        self.options.refuse_proposing_without_events(self.parsed)
        if not self.takes_timed_scores and self.hop is not None:
            raise UsageError(f"hop is of scores in time, not of {self.submissions}; leave it out")
        if self.submissions != "scores" and self.options.makes_proposals:
            raise UsageError(f"smoothing, min_duration and merge_gap are of scores, not of {self.submissions}")
        if self.submissions in ("proposals", "boundary-scores") and self.higher is not None:
            means = "confidence means spoof" if self.submissions == "proposals" else "score means a boundary"
            raise UsageError(f"higher is of scores of spoof; in {self.submissions}, a high {means}: leave it out")
        if self.fps is not None and self.submissions != "proposals":
            raise UsageError("fps is of proposals, which nobody submits here; leave it out")
        names = [one.name.casefold() for one in self.phases]
        if len(set(names)) < len(names) or not names:
            raise UsageError("a challenge has at least one phase, and no two of the same name")
        for one, after in pairwise(self.phases):
            if one.end is None or after.start is None or after.start <= one.end:  # as Codabench asks
                raise UsageError(f"the phase {after.name!r} must start after {one.name!r} has ended; give both times")

    def _check(self, measure: Measure) -> None:
        """Refuse a measure that cannot be taken of what is submitted."""
        kind = measure.kind
        if kind.of_boundaries and self.submissions != "boundary-scores":
            raise UsageError(
                f"{measure} needs scores of boundaries: give submissions='boundary-scores' (--submissions "
                "boundary-scores)"
            )
        if kind.trials and self.takes_timed_scores:
            raise UsageError(
                f"{measure} needs a key of trials and one score of each: give submissions='utterance-scores' "
                "(--submissions utterance-scores)"
            )
        of = {
            "boundary-scores": kind.of_boundaries,
            "proposals": measure.basis == EVENT,
            "utterance-scores": measure.basis == "utterance",
        }
        if not of.get(self.submissions, True):
            raise UsageError(
                f"{measure} cannot be measured of {self.submissions}; take measures {SUBMITTED[self.submissions]}, or "
                "let teams submit something else (--submissions)"
            )
        if measure.basis == EVENT:
            check_parameters(measure)
        else:
            self.options.plan(measure, None, trials=True, boundaries=kind.of_boundaries)
        if kind.declared and self.scores_are is None:
            raise UsageError(f"{measure} takes scores at their word: give scores_are='llr' or 'probability'")

    def _check_optional(self, measure: Measure) -> None:
        """Refuse an optional measure that nothing could be missing for."""
        names = list(map(str, self.parsed))
        if str(measure) not in names or not self.takes_threshold(measure):
            raise UsageError(f"optional={str(measure)!r}: give a measure of the challenge that needs a threshold")
        if str(measure) == names[0]:
            raise UsageError(f"optional={str(measure)!r}: this measure ranks, so every team needs it")

    def is_optional(self, measure: Measure) -> bool:
        """True if a team may do without a measure."""
        return str(measure) in {str(Measure.parse(name)) for name in self.optional}

    def takes_threshold(self, measure: Measure) -> bool:
        """True if a measure is taken at a threshold that the team states."""
        return measure.takes_threshold if self.submissions == "scores" else measure.at_threshold

    @property
    def takes_timed_scores(self) -> bool:
        """True if teams submit scores in time, of spoof or of boundaries."""
        return self.submissions in ("scores", "boundary-scores")

    @property
    def usual(self) -> dict[str, Any]:
        """The hop of scores, and the meaning of high ones, where a submission states none."""
        return {"hop": self.hop, "higher": "spoof" if self.submissions == "boundary-scores" else self.higher}

    @property
    def options(self) -> EvaluationOptions:
        """Settings of measures."""
        return EvaluationOptions(
            self.convention,
            self.eer_rule,
            scores_are=self.scores_are,
            smoothing=self.smoothing,
            min_duration=self.min_duration,
            merge_gap=self.merge_gap,
            rules=self.rules,
        )

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
        """Inverse of :meth:`to_dict`."""
        try:
            if plain.pop("challenge") != VERSION:
                raise DataError(f"{place}: a challenge of another version; build it again")
            phases = tuple(Phase(**one) for one in plain.pop("phases"))
            optional = tuple(plain.pop("optional", ()))
            return cls(phases=phases, measures=tuple(plain.pop("measures")), optional=optional, **plain)
        except (AttributeError, KeyError, TypeError):
            raise DataError(f"{place}: not the definition of a challenge; get the public part again") from None


def read_text(path: Path) -> str:
    """Read a text file of the challenge."""
    try:
        return path.read_text(encoding="utf-8")
    except ValueError:
        raise DataError(f"{path}: not UTF-8 text; get the file again") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}); check the path and its rights") from None


def read_json(path: Path) -> Any:
    """Read a JSON file of the challenge."""
    try:
        return parse_json(read_text(path))
    except DataError:
        raise
    except ValueError:
        raise DataError(f"{path}: not JSON; get the file again") from None


# ---------------------------------------------------------------- the public part

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
        """Limit on the number of scores, or proposals, of a submission."""
        count = len(self.utterances)
        if self.definition.submissions == "proposals":
            return PROPOSALS_PER_UTTERANCE * count
        return int(SCORES_PER_SECOND * self.seconds) + count

    @property
    def most_bytes(self) -> int:
        """Limit on the bytes of a submission, unpacked."""
        timed = self.definition.submissions != "utterance-scores"
        needed = BYTES_PER_SECOND * self.seconds if timed else BYTES_PER_UTTERANCE * len(self.utterances)
        return BYTES_IN_ANY_CASE + int(needed)

    @property
    def utterances_hash(self) -> str:
        """Hash of the utterances."""
        return utterances_hash(self.utterances)
