"""The result of one submission: measured once, and kept until something that it depends on changes.

A result is known by a *key*, a hash of the submission's bytes and of all that makes its numbers comparable: the
definition of the challenge, the labels of the phase, the version of the rules. With the values it keeps what the team's
values would be without each cluster, so that a leaderboard compares all teams without reading a score again.

::

    results/PHASE/TEAM.json    values, intervals, groups, signatures; or why it was refused
    results/PHASE/TEAM.npz     values without each cluster
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from spoofspan.base.errors import SpoofspanWarning
from spoofspan.base.hashing import utterances_hash
from spoofspan.challenge.definition import Definition, PublicPart, read_json
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.submission import Submission
from spoofspan.data.scores import Scores
from spoofspan.evaluation.breakdown import BREAKDOWNS, Breakdown, by_column
from spoofspan.evaluation.signature import scores_hash, sign_hashes
from spoofspan.formats.writing import write_atomically
from spoofspan.measures.measure import Measure
from spoofspan.report.results import finite
from spoofspan.report.table import json_text
from spoofspan.uncertainty.clusters import Resampling
from spoofspan.uncertainty.intervals import spread_of
from spoofspan.uncertainty.left_out import LeftOut
from spoofspan.uncertainty.measured_system import measured_system

Plain = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Judge:
    """What measures submissions in one phase."""

    public: PublicPart
    hidden: HiddenPart  # of the phase
    phase: str

    @classmethod
    def of(cls, public: PublicPart, hidden: HiddenPart, phase: str | None) -> Judge:
        """For a phase by its name; for the last one without."""
        name = public.definition.phase(phase).name
        return cls(public, hidden.of_phase(name), name)

    @property
    def definition(self) -> Definition:
        """What is measured, and how."""
        return self.public.definition

    @cached_property
    def how(self) -> Resampling:
        """How intervals are made."""
        return self.hidden.resampling(self.definition.confidence)

    @cached_property
    def challenge_key(self) -> str:
        """What all results of the phase depend on."""
        plain = self.definition.to_dict()
        about = {name: plain[name] for name in plain if name not in ("title", "phases")}
        about |= {"hidden": self.hidden.fingerprint, "utterances": self.public.utterances_hash}
        return sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]

    def key(self, submission: Submission) -> str:
        """What the result of a submission depends on."""
        return f"{self.challenge_key}-{submission.digest[:32]}"

    def measure(self, submission: Submission, key: str) -> TeamResult:
        """Measure a submission; refusals are raised."""
        scores = submission.read(self.public)
        rows = self.hidden.references.utterances
        if len(rows) < len(self.public.utterances):  # the phase counts some of them
            known = set(rows)
            chosen = [place for place, utt in enumerate(scores.utterances) if utt in known]
            scores = scores.take(np.array(chosen, np.int64))
        measured, left_out = [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpoofspanWarning)  # cautions stand with the intervals
            said = scores_hash(scores)
            for measure in self.definition.parsed:
                plain, without = self._measured(scores, measure, submission.threshold, said)
                measured.append(plain)
                left_out.append(without)
            groups = {by: self._groups(scores, by, submission.threshold) for by in self.hidden.by}
        return TeamResult(submission.team, key, tuple(measured), tuple(left_out), groups)

    def _measured(self, scores: Scores, measure: Measure, threshold: float | None, said: str) -> tuple[Plain, LeftOut]:
        options = replace(self.definition.options, rules=self.hidden.arguments(self.definition))
        at = threshold if measure.at_threshold else None
        system = measured_system(self.hidden.references, scores, measure, options, at)
        spread = spread_of({"": system}, self.how)
        (left_out,) = spread.left_out
        used = system.mass.utterances
        hashes = self.hidden.fingerprint["references"], f"{len(used)}:{utterances_hash(used)}", said
        references, plan = self.hidden.references, system.plan
        rules = plan.spelled_rules(references.snap, references.modality)
        signature = sign_hashes(str(plan.measure), plan.read_off, rules, hashes, plan.rules.regions)
        return {
            "measure": str(measure),
            "value": system.value,
            "interval": spread.one(0).to_dict(),
            "worst": spread.worst_value(left_out),
            "cautions": list(left_out.cautions),
            "signature": signature.to_dict(),
        }, left_out

    def _groups(self, scores: Scores, by: str, threshold: float | None) -> list[Plain]:
        measure = ranges_of(self.definition)
        options = self.definition.options
        arguments: dict[str, Any] = {
            "measure": measure,
            "resampling": self.how,
            "differences": False,
            "convention": options.convention,
            "eer_rule": options.eer_rule,
            "scores_are": options.scores_are,
            "threshold": threshold if Measure.parse(measure).at_threshold else None,
            **self.hidden.arguments(self.definition),
        }
        column = self.hidden.by[by]
        found: Breakdown
        if column is None:
            found = BREAKDOWNS[by](self.hidden.references, scores, **arguments)
        else:
            found = by_column(self.hidden.references, scores, column, name=by, **arguments)
        return [_group(group.to_dict()) for group in found.groups]


def _group(plain: Plain) -> Plain:
    """The value of a group and its interval, and nothing of its size."""
    interval = plain["interval"] or {}
    ends = {end: interval.get(end, float("nan")) for end in ("low", "high")}
    return {"name": plain["name"], "value": plain["value"], **ends}


def ranges_of(definition: Definition) -> str:
    """The measure by which groups are measured: the first one of ranges."""
    return next((str(one) for one in definition.parsed if one.basis == "range"), "range-eer")


@dataclass(frozen=True, eq=False)
class TeamResult:
    """What is kept of a submission: its values, or the problems for which it was refused."""

    team: str
    key: str
    measured: tuple[Plain, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    groups: Mapping[str, list[Plain]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Write both files; the second says that both are whole."""
        if self.left_out:
            columns: dict[str, Any] = {"key": np.array(self.key)}
            for place, one in enumerate(self.left_out):
                columns[f"without{place}"] = one.without
                columns |= {
                    f"{name}{place}": flags
                    for name, flags in (("bona_fide", one.bona_fide), ("spoof", one.spoof))
                    if flags is not None
                }
            buffer = io.BytesIO()
            np.savez(buffer, **columns)
            write_atomically(folder / f"{self.team}.npz", [buffer.getvalue()], force=True)
        plain: Plain = {"team": self.team, "key": self.key, "problems": list(self.problems)}
        plain |= {"measured": list(self.measured), "groups": dict(self.groups)}
        write_atomically(folder / f"{self.team}.json", [json_text(finite(plain)).encode()], force=True)

    @classmethod
    def read(cls, folder: Path, team: str) -> TeamResult | None:
        """Read what was kept of a team; None if there is nothing that is whole."""
        path = folder / f"{team}.json"
        if not path.is_file():
            return None
        plain = read_json(path)
        measured = tuple(plain["measured"])
        result = cls(team, plain["key"], measured, (), plain["groups"], tuple(plain["problems"]))
        if not measured:
            return result
        try:
            with np.load(folder / f"{team}.npz", allow_pickle=False) as arrays:
                if str(arrays["key"]) != result.key:
                    return None
                left_out = tuple(_left_out(arrays, place, one) for place, one in enumerate(measured))
        except (OSError, KeyError, ValueError):
            return None
        return cls(team, result.key, measured, left_out, result.groups)


def _left_out(arrays: Mapping[str, Any], place: int, measured: Plain) -> LeftOut:
    flags = [arrays.get(f"{name}{place}") for name in ("bona_fide", "spoof")]
    worst = float(measured["worst"])
    return LeftOut(
        arrays[f"without{place}"],
        flags[0],
        flags[1],
        None if isnan(worst) else lambda *_: worst,
        tuple(measured["cautions"]),
    )
