"""Every problem of a submission, found without labels: what a team can check before it submits.

All is looked at that can be, whatever was wrong before: a NaN does not hide a missing utterance. The coverage of each
utterance is checked as when measuring, under the rules of the challenge, with all time under one label.

Teams and organisers check in this one way, and what passed is measured as it was read here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from spoofspan.base.columns import positions
from spoofspan.base.errors import DataError, Problems, SpoofspanError, UsageError, noting_problems
from spoofspan.base.other_ids import id_remedy
from spoofspan.base.times import milliseconds
from spoofspan.challenge.definition import PublicPart
from spoofspan.challenge.published_numbers import MOST_LLR, clipped
from spoofspan.challenge.submission import ABOUT, Submission, System, opened
from spoofspan.challenge.team_results import is_decided
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.rules import Rules, rules_for
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.measurement import counted
from spoofspan.formats.format import UNSAID, unsaid_in
from spoofspan.formats.sources import sources
from spoofspan.mass.diagnosis import hop_remedy
from spoofspan.mass.ranges import Overlay
from spoofspan.measures.costs import check_declared
from spoofspan.measures.kind import EventKind
from spoofspan.measures.measure import ScoresAre

ASSUMED = {"hop": 0.02, "higher": "bonafide"}  # to go on looking where a team does not say it


@dataclass(frozen=True)
class SubmissionCheck:
    """Findings: facts, notes on what is legal but may not be meant, and problems, each with what it lists."""

    team: str
    facts: dict[str, str]
    notes: tuple[str, ...]
    problems: tuple[str, ...]
    system: System | None = field(default=None, repr=False, compare=False)  # what was read, if nothing is wrong with it

    @property
    def passed(self) -> bool:
        """True if the submission can be scored."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "team": self.team,
            "passed": self.passed,
            "facts": self.facts,
            "notes": list(self.notes),
            "problems": list(self.problems),
        }


def check_submission(public: PublicPart, path: Path, team: str | None = None) -> SubmissionCheck:
    """Check a submission against the public part of a challenge.

    Parameters
    ----------
    public
        The utterances, their durations and the rules.
    path
        A score file, a folder, or a zip archive.
    team
        Whose it is, if the name of the file does not say.

    Returns
    -------
    SubmissionCheck

    """
    try:
        with opened(path, public, team) as submission:
            return check_opened(public, submission)
    except DataError as error:
        return SubmissionCheck(team or ascii(path.name), {}, (), (str(error),))


def check_opened(public: PublicPart, submission: Submission) -> SubmissionCheck:
    """Check a submission that is open."""
    problems: list[str] = []
    system, assumed = _read(public, submission, problems)
    if system is None:
        return SubmissionCheck(submission.team, {}, (), tuple(problems))
    problems += _missing_thresholds(public, submission, system)
    optional = _without_threshold(public, submission, system)
    if isinstance(system, Proposals):
        notes = _look_at_proposals(public, system)
        problems += _strangers(public, set(system.utterances), may_lack=True)
    else:
        notes = _look_at_values(public, system)
        problems += [*_strangers(public, set(system.utterances)), *_no_probabilities(public, system)]
    if isinstance(system, Scores) and "hop" not in assumed:
        problems += _uncovered(public, system)
    count = _count(system)
    if count > public.most_scores:
        named = "proposals" if isinstance(system, Proposals) else "scores"
        problems.append(f"{count:,} {named}, and there is room for {public.most_scores:,}; submit fewer")
    facts = _facts(public, submission, system, assumed)
    return SubmissionCheck(submission.team, facts, (*notes, *optional), tuple(problems), None if problems else system)


def _count(system: System) -> int:
    return int(system.confidences.size if isinstance(system, Proposals) else system.values.size)


def _read(public: PublicPart, submission: Submission, problems: list[str]) -> tuple[System | None, dict[str, Any]]:
    """Read what was submitted, wrong scores too; and what had to be assumed of them."""
    assumed: dict[str, Any] = {}
    for _ in (*ASSUMED, None):
        with noting_problems() as noted:
            try:
                scores = submission.read(public, **assumed)
            except UsageError as error:
                if noted:  # what was noted and not raised led to it
                    problems += _texts(submission, noted) + _strangers(public, _ids_in_lines(public, submission))
                    return None, assumed
                unstated = ASSUMED.keys() - assumed - submission.about.keys()
                missing = [name for name in unsaid_in(error) if name in unstated]
                if not missing:
                    problems.append(submission.told(error))
                    return None, assumed
                problems += [
                    f"it is not said {UNSAID[name]}; state it in {ABOUT}, as {json.dumps({name: ASSUMED[name]})}"
                    for name in missing
                ]
                assumed |= {name: ASSUMED[name] for name in missing}
                continue
            except Exception as error:
                problems += _texts(submission, noted)
                # after a problem that was noted and not raised, a reader may fail for that reason alone
                if not noted or isinstance(error, DataError):
                    problems.append(submission.told(_sentence(error)))
                if noted:
                    problems += _strangers(public, _ids_in_lines(public, submission))
                return None, assumed
        problems += _texts(submission, noted)
        return scores, assumed
    return None, assumed


def _sentence(error: Exception) -> str:
    if isinstance(error, SpoofspanError):
        return str(error)
    return f"the files cannot be read ({type(error).__name__}: {error}); are they what they should be?"


def _texts(submission: Submission, noted: Sequence[Problems]) -> list[str]:
    """Noted problems; a NaN that the reader noted is noted again among the values, and kept once."""
    texts = [submission.told("\n".join(one.lines)) for one in noted]
    return [text for place, text in enumerate(texts) if not (place and "is NaN" in text and "is NaN" in texts[0])]


def _look_at_proposals(public: PublicPart, proposals: Proposals) -> tuple[str, ...]:
    where = positions(proposals.utterances, public.utterances)
    of_row = np.repeat(where, np.diff(proposals.offsets))
    late = int(np.count_nonzero((of_row >= 0) & (proposals.ends > public.ends[of_row])))
    notes = []
    if silent := len(public.utterances) - int(np.count_nonzero((np.diff(proposals.offsets) > 0) & (where >= 0))):
        notes.append(f"no proposal for {counted(silent, 'utterance')}: what is spoofed there counts as missed")
    if late:
        notes.append(f"beyond the end of an utterance: {counted(late, 'proposal')}; are the times in seconds?")
    return tuple(notes)


def _no_probabilities(public: PublicPart, scores: Scores | UtteranceScores) -> list[str]:
    """A problem if scores that measures take at their word cannot be what the challenge says they are."""
    declared = any(one.kind.declared for one in public.definition.parsed)
    known = scores.values[~np.isnan(scores.values)].astype(np.float64) if declared else np.zeros(0)
    if not known.size or (isinstance(scores, Scores) and scores.decisions):
        return []
    try:
        check_declared(known, cast("ScoresAre", public.definition.scores_are))
    except UsageError as error:
        return [str(error).partition(";")[0]]
    return []


def _look_at_values(public: PublicPart, scores: Scores | UtteranceScores) -> tuple[str, ...]:
    notes = []
    definition = public.definition
    if any(one.kind.declared for one in definition.parsed):
        beyond = int(np.count_nonzero(clipped(scores.values, definition.scores_are) != scores.values))
        if beyond:
            what = f"a log-likelihood ratio of {MOST_LLR:g} to either side, which it counts as"
            notes.append(f"{counted(beyond, 'score')} beyond {what}")
    infinite = int(np.count_nonzero(np.isinf(scores.values)))
    if infinite:
        notes.append(f"{counted(infinite, 'score')} beyond every threshold (infinite), which is legal")
    distinct = np.unique(scores.values[: 1 << 20]).size
    decisions = isinstance(scores, Scores) and scores.decisions
    if distinct < 100 and not decisions and scores.values.size > 1000:
        notes.append(f"{counted(distinct, 'distinct score')}: an EER from so few is coarse; are they decisions?")
    return tuple(notes)


def _missing_thresholds(public: PublicPart, submission: Submission, system: System) -> list[str]:
    definition = public.definition
    if isinstance(system, Scores) and system.decisions:
        free = [
            one
            for one in definition.parsed
            if (isinstance(one.kind, EventKind) and one.kind.ranked) or not definition.takes_threshold(one)
        ]
        return [f"{one} needs scores, and these are hard decisions" for one in free]
    if submission.threshold is not None:
        return []
    at = [str(one) for one in definition.parsed if definition.takes_threshold(one) and not definition.is_optional(one)]
    return [f'{one} is taken at a threshold: state yours in {ABOUT}, as {{"threshold": 0.5}}' for one in at]


def _without_threshold(public: PublicPart, submission: Submission, system: System) -> tuple[str, ...]:
    """Notes on optional measures that the team does without."""
    if submission.threshold is not None or is_decided(system):
        return ()
    named = [str(one) for one in public.definition.parsed if public.definition.is_optional(one)]
    return tuple(f"no threshold in {ABOUT}: {one} is not measured, and the leaderboard has - there" for one in named)


def _ids_in_lines(public: PublicPart, submission: Submission) -> set[str]:
    """The first words of lines, of text that could not be read; nothing if they are hardly ever utterances."""
    first: set[str] = set()
    try:
        for source in sources(list(submission.files)):
            first.update(re.split(r"[\s,;]", line.strip(), maxsplit=1)[0] for _, line in source.lines())
    except DataError:
        return set()
    first.discard("utterance")  # a header
    return first if 2 * len(first.intersection(public.utterances)) > len(public.utterances) else set()


def _strangers(public: PublicPart, given: set[str], *, may_lack: bool = False) -> list[str]:
    """Utterances that are missing, and those that the challenge does not have; nothing if none is known."""
    known = set(public.utterances)
    if not given:
        return []
    remedy = id_remedy(sorted(known - given), sorted(given - known), "challenge", "submission") or ""
    found = [f"{remedy.rpartition(': ')[0]}: write them as the challenge does"] if remedy else []
    if known.isdisjoint(given):
        theirs, ours = min(given), min(known)
        return found or [f"no id is of the challenge, whose ids are as {ours!r}, and not as {theirs!r}; check them"]
    missing = [] if may_lack else sorted(known - given)
    for what, ids in (("is missing", missing), ("is not in the challenge", sorted(given - known))):
        found += _listed(f"utterance {utt!r} {what}" for utt in ids)
    return found


def _listed(lines: Iterable[str]) -> list[str]:
    """Problems of one kind as one text, the first ones of many; nothing without any."""
    every = list(lines)
    problems = Problems()
    problems.extend(every, len(every))
    return ["\n".join(problems.lines)] if every else []


def _uncovered(public: PublicPart, scores: Scores) -> list[str]:
    """Uncovered time that the rules of the challenge refuse."""
    extents, definition = public.extents, public.definition
    where = positions(scores.utterances, extents.utterances)
    both = np.flatnonzero(where >= 0)
    if not both.size:
        return []
    common: References = extents.take(where[both])
    if scores.hops is not None and scores.origins is not None:
        frames, extent = np.diff(scores.offsets)[both], public.ends[where[both]]
        if remedy := hop_remedy(frames, extent - scores.origins[both], 1e9 * scores.hops[both]):
            return [re.sub(r"give hop=(\S+)", rf'state {{"hop": \1}} in {ABOUT}', remedy)]
    finite = np.nan_to_num(scores.values, nan=0.0, posinf=0.0, neginf=0.0)  # only time is looked at
    some = replace(scores, values=finite).take(both)
    bases: list[Literal["range", "point"]] = ["range"] if definition.submissions == "scores" else []
    if any(one.basis == "point" for one in definition.parsed):
        bases.append("point")
    found: dict[Rules, list[str]] = {}
    for basis in bases:
        rules = rules_for(basis, definition.convention, definition.rules)[0]
        rules = replace(rules, utterances="all", partial=True)
        if rules not in found:
            found[rules] = _refused_time(common, some, rules)
    return list(dict.fromkeys(text for texts in found.values() for text in texts))


def _refused_time(extents: References, scores: Scores, rules: Rules) -> list[str]:
    with noting_problems() as noted:
        try:
            Overlay.of(extents, scores, rules).mass()
        except Exception as error:
            if not noted:
                return [_sentence(error)]
    return ["\n".join(one.lines) for one in noted]


def _facts(public: PublicPart, submission: Submission, system: System, assumed: Mapping[str, Any]) -> dict[str, str]:
    known = len(set(public.utterances).intersection(system.utterances))
    facts = {
        "files": ", ".join(one.name for one in submission.files[:5]) + (", ..." if len(submission.files) > 5 else ""),
        "utterances": f"{known:,} of {len(public.utterances):,}",
    }
    if isinstance(system, Proposals):
        return {**facts, "proposals": f"{_count(system):,}"}
    facts["scores"] = f"{_count(system):,}"
    if isinstance(system, UtteranceScores):
        return {**facts, "high scores mean": system.higher}
    hop = "ranges" if system.hop is None else milliseconds(system.hop)
    facts["hop"] = "not said" if "hop" in assumed else hop
    of_boundaries = public.definition.submissions == "boundary-scores"
    means = "decisions" if system.decisions else "a boundary" if of_boundaries else system.higher
    return {**facts, "high scores mean": "not said" if "higher" in assumed else means}
