"""The result of one submission: measured once, and kept for as long as the challenge runs.

A result is known by a *key*, a hash of the submission's content and of all that makes its numbers comparable: the
definition of the challenge, the labels of the phase, the version of the rules. With the values it keeps what the team's
values would be without each cluster, so that a leaderboard compares all teams without reading a score again.

::

    results/PHASE/TEAM/KEY.json    values, intervals, groups, signatures; or why it was refused
    results/PHASE/TEAM/KEY.npz     values without each cluster, and a sample of the scores

The groups of a leaderboard depend on what is submitted:

===================  ==============================================  =======================================
submissions          measures                                        groups
===================  ==============================================  =======================================
scores               of ranges, points, utterances, events           attacks, lengths, boundaries, any column
boundary-scores      of boundary points                              any column
proposals            of events                                       any column
utterance-scores     of utterances, and of trials                    any column
===================  ==============================================  =======================================

Files are never changed: a submission that is scored again, after the labels were corrected, has another key. Which of
them counts, the ledger says. All of it stays with the organisers: the numbers have all digits, which tell something of
the labels.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from math import isnan, nan
from pathlib import Path
from typing import Any, cast

import numpy as np

from spoofspan.base.columns import positions
from spoofspan.base.times import Float64, Int64
from spoofspan.challenge.definition import POLICY, Definition, PublicPart, read_json
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.published_numbers import clipped
from spoofspan.challenge.submission import Submission, System
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.scores import Scores, score_times
from spoofspan.evaluation.breakdown import MeasuredCorpus
from spoofspan.evaluation.corpus import Corpus, corpus_of
from spoofspan.evaluation.crossed import POOLED
from spoofspan.evaluation.plan import HashedInputs
from spoofspan.evaluation.signature import Signature, scores_hash, sign_hashes, used_hash
from spoofspan.formats.arrays.npz import read_npz
from spoofspan.formats.sources import sources
from spoofspan.formats.writing import write_atomically
from spoofspan.mass.score_runs import automatic_slack
from spoofspan.measures.measure import Measure
from spoofspan.report.table import finite, json_text
from spoofspan.uncertainty.clusters import Clusters, Resampling
from spoofspan.uncertainty.left_out import LeftOut, class_flags, sums_by_unit
from spoofspan.uncertainty.measured_system import Measured, MeasuredSystem, clusters_of, measured_system
from spoofspan.uncertainty.spreads import JackknifeSpread

Plain = dict[str, Any]


def measured_submission(
    hidden: HiddenPart, definition: Definition, system: System, measure: Measure, threshold: float | None, said: str
) -> tuple[Measured, Signature]:
    """Take a measure once, ready to be taken again without any cluster; ``said`` is the hash of scores."""
    given, system = system, _no_more_certain(system, measure, definition)
    if system is not given and isinstance(system, Scores):
        said = scores_hash(system)
    at = threshold if definition.takes_threshold(measure) else None
    corpus = _corpus(hidden, definition, system)
    measured = measured_system(corpus, system, measure, hidden.options(definition), at)
    if isinstance(measured, MeasuredSystem) and not measure.kind.has_jackknife:
        measured = WithoutInterval(measured.plan, measured.mass, measured.value, measured.signer, measured.found_at)
    if not isinstance(measured, MeasuredSystem) or not isinstance(system, Scores):
        return measured, cast("Any", measured.signer)()
    references = cast("References", hidden.truth)
    # as its signer would, with hashes that are known
    used, plan = measured.mass.utterances, measured.plan
    rules = plan.signed_rules(HashedInputs(references, system), used)
    scores = {"score-rows": scores_hash(system, rows=True)} if plan.counts_rows else {"scores": said}
    signed = plan.signed_system(scores, system.higher, automatic_slack(system))
    return measured, sign_hashes(str(plan.measure), plan.read_off, rules, (hidden.truth_hash, used_hash(used)), signed)


class WithoutInterval(MeasuredSystem):
    """A measured system whose value without a cluster says nothing: a rank by its value, and no interval."""

    def left_out(self, clusters: Clusters) -> LeftOut:
        """No value without any cluster."""
        flags = class_flags(sums_by_unit(self.mass, clusters.units_of(self.utterances), clusters.count, None))
        return LeftOut(np.full(clusters.count, np.nan), *flags)


def _corpus(hidden: HiddenPart, definition: Definition, system: System) -> Corpus:
    """Labels and what was submitted, which are scores of spoof or of boundaries."""
    boundaries = cast("Scores", system) if definition.submissions == "boundary-scores" else None
    return corpus_of(hidden.truth, system, boundary_scores=boundaries)


def _no_more_certain(system: System, measure: Measure, definition: Definition) -> System:
    """Counts of a measure of scores that it takes at their word: a single one must not decide the value."""
    if not measure.kind.declared or isinstance(system, Proposals):
        return system
    values = clipped(system.values, definition.scores_are)
    return system if values is system.values else replace(system, values=cast("Any", values))


def of_groups(definition: Definition) -> str:
    """The measure by which groups are measured: of scores the first one of ranges, else the first."""
    if definition.submissions != "scores":
        return str(definition.parsed[0])
    return next((str(one) for one in definition.parsed if one.basis == "range"), "range-eer")


def measured_groups(
    hidden: HiddenPart, definition: Definition, system: System, by: str, threshold: float | None, how: Resampling
) -> list[Plain]:
    """The value of every group, with its interval where there is one, and nothing of its size."""
    measure, column, crossed = Measure.parse(of_groups(definition)), hidden.by[by], "," in by
    system = _no_more_certain(system, measure, definition)
    at = threshold if definition.takes_threshold(measure) else None
    options = replace(hidden.options(definition), threshold=at)
    corpus = _corpus(hidden, definition, system)

    def read_column(name: str) -> Mapping[str, str]:
        return (hidden.by[name] if crossed else column) or {}

    if definition.submissions == "scores" and not crossed:
        whole = MeasuredCorpus(corpus, str(measure), replace(options, resampling=how))
        return [_group(one.to_dict()) for one in whole.break_down(by, read_column, differences=False).groups]
    found = corpus.cross(by, str(measure), options, read_column)
    cells = [(row, col) for row in found.rows for col in found.columns if row != POOLED and (col != POOLED) == crossed]
    return [
        {"name": f"{row}, {col}" if crossed else row, "value": found[row, col].value, "low": nan, "high": nan}
        for row, col in cells
    ]


def _group(plain: Plain) -> Plain:
    interval = plain["interval"] or {}
    ends = {end: interval.get(end, nan) for end in ("low", "high")}
    return {"name": plain["name"], "value": plain["value"], **ends}


# ---------------------------------------------------------------- one measure of a submission


@dataclass(frozen=True, eq=False)
class Judge:
    """Judge of the submissions of one phase."""

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
        """Measures and their settings."""
        return self.public.definition

    @cached_property
    def how(self) -> Resampling:
        """Settings of intervals."""
        return self.hidden.resampling(self.definition.confidence)

    @cached_property
    def challenge_key(self) -> str:
        """Common ground of all results of the phase: what they depend on."""
        about = {name: value for name, value in self.definition.to_dict().items() if name not in POLICY}
        about |= {"hidden": self.hidden.fingerprint, "utterances": self.public.utterances_hash}
        return sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]

    def key(self, submission: Submission) -> str:
        """Key of the result of a submission."""
        return f"{self.challenge_key}-{submission.digest[:32]}"

    def measure(self, system: System, submission: Submission, key: str) -> TeamResult:
        """Measure what was read of a submission that passed the check; refusals are raised."""
        sample, system = sample_of(self.public, system), self.counted(system)
        measured, left_out = [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cautions stand with the intervals; nothing else must reach a team
            said = scores_hash(system) if isinstance(system, Scores) else ""
            for measure in self.definition.parsed:
                if self.definition.is_optional(measure) and submission.threshold is None and not is_decided(system):
                    continue
                plain, without = self._measured(system, measure, submission.threshold, said)
                measured.append(plain)
                left_out.append(without)
            groups = {
                by: measured_groups(self.hidden, self.definition, system, by, submission.threshold, self.how)
                for by in self.hidden.by
            }
        return TeamResult(submission.team, key, tuple(measured), tuple(left_out), groups, sample=sample)

    def counted(self, system: System) -> System:
        """Scores of the utterances that count in the phase."""
        known = set(self.hidden.utterances)
        if len(known) == len(self.public.utterances):
            return system
        elsewhere = set(self.public.utterances) - known
        counted = np.flatnonzero([utt not in elsewhere for utt in system.utterances])
        if isinstance(system, Proposals):
            return system.take_for(self.hidden.utterances, counted)
        return system.take(counted)

    def _measured(self, system: System, measure: Measure, threshold: float | None, said: str) -> tuple[Plain, LeftOut]:
        found, signature = measured_submission(self.hidden, self.definition, system, measure, threshold, said)
        spread = JackknifeSpread.of([found], clusters_of([found], self.how), self.how)
        (left_out,) = spread.left_out
        return {
            "measure": str(measure),
            "value": found.value,
            "interval": spread.one(0).to_dict(),
            "worst": spread.worst_value(left_out),
            "cautions": list(left_out.cautions),
            "optimism": left_out.optimism,
            "ways": [{"factor": one.factor, "alone": one.alone, "sign": one.sign} for one in left_out.ways],
            "signature": signature.to_dict(),
        }, left_out


def is_decided(system: System) -> bool:
    """True if what was submitted are decisions, which need no threshold."""
    return isinstance(system, Scores) and system.decisions


@dataclass(frozen=True, eq=False)
class TeamResult:
    """Record of a submission: its values, or the problems for which it was refused.

    ``problems`` are for the team, and depend on its files and on the public part alone. ``reason`` is for the
    organisers: why a submission that passed the check was not scored. ``measured`` has no optional measure for which
    the team states no threshold.
    """

    team: str
    key: str
    measured: tuple[Plain, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    groups: Mapping[str, list[Plain]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    reason: str = ""
    sample: Float64 | None = None  # not read again with the rest

    def place(self, measure: str) -> int | None:
        """Rank by a measure; None if the team was not measured by it."""
        return next((place for place, one in enumerate(self.measured) if one["measure"] == measure), None)

    def write(self, folder: Path) -> None:
        """Write both files into the folder of the team; the second says that both are whole."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.left_out:
            columns: dict[str, Any] = {"key": np.array(self.key)}
            columns |= {} if self.sample is None else {"sample": self.sample}
            for place, way, one in (
                (place, way, one) for place, of in enumerate(self.left_out) for way, one in enumerate(of.ways)
            ):
                arrays = {"without": one.without, "bona_fide": one.bona_fide, "spoof": one.spoof}
                columns |= {f"{name}{place}.{way}": array for name, array in arrays.items() if array is not None}
            buffer = io.BytesIO()
            np.savez(buffer, **columns)
            write_atomically(folder / f"{self.key}.npz", [buffer.getvalue()], force=True)
        plain: Plain = {"team": self.team, "key": self.key, "problems": list(self.problems)}
        plain["reason"] = self.reason
        plain |= {"measured": list(self.measured), "groups": dict(self.groups)}
        write_atomically(folder / f"{self.key}.json", [json_text(finite(plain)).encode()], force=True)

    @classmethod
    def read(cls, folder: Path, key: str) -> TeamResult | None:
        """Read a result by its key; None if there is none that is whole."""
        path = folder / f"{key}.json"
        if not path.is_file():
            return None
        plain = read_json(path)
        measured = tuple(plain["measured"])
        about = {"problems": tuple(plain["problems"]), "reason": plain.get("reason", "")}
        result = cls(plain["team"], key, measured, (), plain["groups"], **about)
        if not measured:
            return result
        try:
            arrays = read_npz(sources(folder / f"{key}.npz")[0])
            if str(arrays["key"]) != key:
                return None
            left_out = tuple(_left_out(arrays, place, one) for place, one in enumerate(measured))
        except (OSError, KeyError, ValueError):
            return None
        return replace(result, left_out=left_out)


def kept_values(folder: Path, key: str) -> list[Plain]:
    """The values of a result by its key, without reading what they are without each cluster."""
    measured: list[Plain] = read_json(folder / f"{key}.json")["measured"]
    return measured


def kept_sample(folder: Path, key: str) -> Float64:
    """The sample of the scores of a submission, by the key of its result."""
    sample: Float64 = read_npz(sources(folder / f"{key}.npz")[0])["sample"]
    return sample


def _left_out(arrays: Mapping[str, Any], place: int, measured: Plain) -> LeftOut:
    worst = float(measured["worst"])
    first, *crossed = [
        LeftOut(
            arrays[f"without{place}.{way}"],
            arrays.get(f"bona_fide{place}.{way}"),
            arrays.get(f"spoof{place}.{way}"),
            None if isnan(worst) else lambda *_: worst,
            tuple(measured["cautions"]),
            float(measured["optimism"]),
            **about,
        )
        for way, about in enumerate(measured["ways"])
    ]
    return replace(first, crossed=tuple(crossed))


# ---------------------------------------------------------------- a sample of the scores

SAMPLED = 4096  # places


def sample_of(public: PublicPart, system: System) -> Float64:
    """The scores at places that are the same for every submission, mirrored so that high means bona fide."""
    utterance, share = sampled_places(public)
    row = positions(public.utterances, system.utterances)[utterance]
    if isinstance(system, Proposals):  # the most confident one of an utterance; none means bona fide
        best = [
            system.confidences[a:b].max(initial=0.0) for a, b in zip(system.offsets, system.offsets[1:], strict=False)
        ]
        return -np.where(row < 0, 0.0, np.array([*best, 0.0])[row])
    sign = 1.0 if system.higher == "bonafide" else -1.0
    if not isinstance(system, Scores):
        return sign * system.values[row].astype(np.float64)
    starts = score_times(system)[0]
    found = np.empty(row.size)
    for place, (one, at) in enumerate(zip(row.tolist(), (share * public.ends[utterance]).tolist(), strict=True)):
        first, end = system.offsets[one], system.offsets[one + 1]
        last = first + max(int(np.searchsorted(starts[first:end], at, side="right")) - 1, 0)
        found[place] = system.values[last]
    return sign * found


def sampled_places(public: PublicPart) -> tuple[Int64, Float64]:
    """Utterances, by their number, and shares of their durations."""
    rng, count = np.random.default_rng(int(public.utterances_hash[:8], 16)), len(public.utterances)
    if not public.ends.size:  # a score of each utterance
        return np.sort(rng.permutation(count)[:SAMPLED]), np.zeros(min(count, SAMPLED))
    return np.sort(rng.integers(count, size=SAMPLED)), rng.random(SAMPLED)
