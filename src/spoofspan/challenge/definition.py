"""What a challenge measures and how, and its folder.

::

    CHALLENGE/public/challenge.json      measures, rules, phases
    CHALLENGE/public/reco2dur            the utterances, sorted, and their durations; utterances, without
                                         durations, where submissions have a score of each utterance
    CHALLENGE/public/README.md           the same in words, for teams
    CHALLENGE/public/sample_submission.zip
    CHALLENGE/hidden/...                 labels: hidden_part.py
    CHALLENGE/results/PHASE/TEAM.json    team_results.py
    CHALLENGE/codabench.zip              codabench.py

Nothing in the public part depends on the labels: two challenges that differ in their labels alone have the same bytes
there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from spoofspan.base.documents import parse_json
from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.challenge.team_names import plain_name
from spoofspan.data.rules import rules_for
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.measures.catalogue import EVENT
from spoofspan.measures.events.event_scores import check_parameters
from spoofspan.measures.measure import Measure
from spoofspan.measures.measure_settings import ScoresAre

PUBLIC, HIDDEN, RESULTS = "public", "hidden", "results"
DEFINITION, DURATIONS, UTTERANCES = "challenge.json", "reco2dur", "utterances"
# What a team submits, and which measures there are of it.
Submitted = Literal["scores", "proposals", "utterance-scores"]
SUBMITTED: Mapping[Submitted, str] = {
    "scores": "of ranges, points, utterances or events",
    "proposals": "of events, as event-ap@iou=0.5",
    "utterance-scores": "of utterances, as utterance-eer",
}
VERSION = 1
TIME = "%Y-%m-%d %H:%M:%S"


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
    submissions
        What teams submit: ``"scores"`` in time, ``"proposals"``, or ``"utterance-scores"``, one for each utterance or
        trial.
    fps
        Of proposals whose times are frames.
    smoothing, min_duration, merge_gap
        How proposals are made of scores, for event measures.
    max_submissions
        How many submissions of a team are scored in a phase. Each says something of the labels.

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

    def __post_init__(self) -> None:
        if self.submissions not in SUBMITTED:
            raise UsageError(f"submissions={self.submissions!r}: {nearest_name(self.submissions, SUBMITTED)}")
        if not self.title.strip() or not self.title.isprintable():
            raise UsageError(f"title={self.title!r}: must be one line of text")
        if not self.measures:
            raise UsageError("a challenge needs a measure, such as range-eer")
        if not 0 < self.confidence < 1:
            raise UsageError(f"confidence={self.confidence!r}: must lie between 0 and 1, as 0.95")
        if not isinstance(self.max_submissions, int) or self.max_submissions < 1:
            raise UsageError(f"max_submissions={self.max_submissions!r}: must be a whole number from 1 on")
        if self.higher not in (None, "bonafide", "spoof"):
            raise UsageError(f"higher={self.higher!r}: must be 'bonafide' or 'spoof'")
        if self.rules.get("partial"):
            raise UsageError("partial=True: teams would be measured on different utterances; leave it out")
        rules_for("range", self.convention, self.rules)
        for measure in self.parsed:
            self._check(measure)
        self.options.refuse_proposing_without_events(self.parsed)
        if self.submissions != "scores" and (self.hop is not None or self.options.makes_proposals):
            raise UsageError(f"hop, smoothing, min_duration and merge_gap are of scores, not of {self.submissions}")
        if self.submissions == "proposals" and self.higher is not None:
            raise UsageError("higher is of scores: a high confidence of a proposal means spoof; leave it out")
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
        if kind.of_boundaries:
            raise UsageError(f"{measure} needs scores of boundaries, which a challenge does not take")
        if kind.needs_asv:
            raise UsageError(f"{measure} needs a speaker verification system, which a challenge does not take")
        if kind.trials and self.submissions == "scores":
            raise UsageError(
                f"{measure} needs a key of trials and one score of each: give submissions='utterance-scores' "
                "(--submissions utterance-scores)"
            )
        of = {"proposals": measure.basis == EVENT, "utterance-scores": measure.basis == "utterance"}
        if not of.get(self.submissions, True):
            raise UsageError(
                f"{measure} cannot be measured of {self.submissions}; take measures {SUBMITTED[self.submissions]}, or "
                "let teams submit something else (--submissions)"
            )
        if measure.basis == EVENT:
            check_parameters(measure)
        else:
            self.options.plan(measure, None, trials=True)
        if kind.declared and self.scores_are is None:
            raise UsageError(f"{measure} takes scores at their word: give scores_are='llr' or 'probability'")

    def takes_threshold(self, measure: Measure) -> bool:
        """Whether a measure is taken at a threshold that the team states."""
        return measure.takes_threshold if self.submissions == "scores" else measure.at_threshold

    @property
    def options(self) -> EvaluationOptions:
        """How measures are taken."""
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
        """What :meth:`to_dict` wrote."""
        try:
            if plain.pop("challenge") != VERSION:
                raise DataError(f"{place}: a challenge of another version; build it again")
            phases = tuple(Phase(**one) for one in plain.pop("phases"))
            return cls(phases=phases, measures=tuple(plain.pop("measures")), **plain)
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
