"""The audit: every probe measured as if it were a system, with an interval, and an alarm if chance does not explain it.

A probe is a logistic regression on a few statistics, which gives every frame, run or utterance a score by a model
that never heard its speaker. The scores are measured by the range EER, for all spoofs together and for each attack
alone (with a model of its own), with an interval over speakers. A probe of a corpus that does not give itself away is
at 50 %.

An alarm is an EER below 50 % that chance does not explain: the one-sided p-value of a t test against 50 %, with the
standard error of the jackknife over speakers (and no less than labels dealt at random would have), is corrected by
Holm over all probes and attacks of the audit. So a corpus whose labels mean nothing raises any alarm at all with a
probability of about ``false_alarms`` at most.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import SpoofspanWarning, UndefinedMeasureError, UsageError
from spoofspan.base.pool import check_jobs
from spoofspan.base.progress import progress
from spoofspan.base.times import Float64, Int64
from spoofspan.corpus.audit.logistic import deal_folds, unseen_scores
from spoofspan.corpus.audit.material import ALL, Utterance, material_of
from spoofspan.corpus.audit.probes import (
    FRAME,
    NEED_BOTH,
    PROBES,
    RUN,
    SPEAKER,
    UTTERANCE,
    Probe,
    ProbeRows,
    difference_in_words,
    is_said,
    rows_of,
    seconds,
    statistics_of,
)
from spoofspan.corpus.audit.statistics import HOP, MeasuredSound, measure_all
from spoofspan.data.references import BONA_FIDE, NONSPEECH, SPOOF, References
from spoofspan.data.scores import Scores
from spoofspan.formats.sound import RATE
from spoofspan.report.table import Table
from spoofspan.uncertainty.intervals import interval
from spoofspan.uncertainty.max_t import holm
from spoofspan.uncertainty.spreads import Interval
from spoofspan.uncertainty.student import two_sided_p

TELLING = 0.35  # an EER below it is named, alarm or not
PIPELINE, VOCODER, UNKNOWN = "pipeline", "vocoder", "vocoder or pipeline"
ACT_ON = {
    PIPELINE: "the corpus is made so: correct how it is built",
    VOCODER: "the vocoder leaves it, and the pipeline does not: correct the spoofed recordings, or accept it",
    UNKNOWN: "build a control of copies and give it with --control to know which of the two",
}


@dataclass(frozen=True)
class Finding:
    """Finding of one probe in one part of a corpus.

    ``part`` is ``"all"``, an attack or a set; ``words`` is what a listener would call the largest difference. Of a set
    there is no p-value: alarms are raised for all spoofs and for attacks. The cause of an alarm says what to act on, as
    :func:`spoofspan.corpus.audit.auditing.audit` explains.
    """

    probe: str
    title: str
    unit: str
    part: str
    eer: float
    low: float
    high: float
    p_value: float  # one-sided, corrected for the number of probes and parts; NaN for a set
    is_alarm: bool
    words: str
    cause: str = ""  # of an alarm: PIPELINE, VOCODER or UNKNOWN

    @property
    def is_telling(self) -> bool:
        """True if so little tells so much that it should be known, by chance or not."""
        return self.eer < TELLING

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        plain = asdict(self)
        return {name: None if isinstance(one, float) and isnan(one) else one for name, one in plain.items()}


@dataclass(frozen=True)
class Audit:
    """Findings of the probes in a corpus.

    Parameters
    ----------
    findings
        Of every probe: for all spoofs, for each attack, and for each set.
    utterances, available
        How many were looked at, and how many there are.
    speakers
        How many; 0 where they are not known.
    clusters
        What intervals are over: ``"speaker"`` or ``"utterance"``.
    false_alarms
        How probable any alarm is at most in a corpus whose labels mean nothing.
    """

    findings: tuple[Finding, ...]
    utterances: int
    available: int
    speakers: int
    clusters: str
    false_alarms: float

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """Findings that give the corpus away, the most telling first."""
        return tuple(sorted((one for one in self.findings if one.is_alarm), key=lambda one: one.eer))

    @property
    def passed(self) -> bool:
        """True if there is no alarm."""
        return not self.alarms

    def caused_by(self, cause: str) -> tuple[Finding, ...]:
        """Alarms of one cause: ``"pipeline"``, ``"vocoder"`` or ``"vocoder or pipeline"``."""
        return tuple(one for one in self.alarms if one.cause == cause)

    def of(self, probe: str, part: str = ALL) -> Finding | None:
        """Finding of a probe in a part; None where it had nothing to compare."""
        return next((one for one in self.findings if (one.probe, one.part) == (probe, part)), None)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        plain = {name: getattr(self, name) for name in ("utterances", "available", "speakers", "clusters")}
        findings = [one.to_dict() for one in self.findings]
        return {"passed": self.passed, **plain, "false_alarms": self.false_alarms, "findings": findings}

    def table(self) -> Table:
        """A row for each probe, and what raised an alarm below."""
        rows = []
        for whole in (one for one in self.findings if one.part == ALL):
            attacks = [one for one in self._tested() if one.probe == whole.probe and one.part != ALL]
            lowest = min(attacks, key=lambda one: one.eer, default=None)
            alarms = sum(one.is_alarm for one in (whole, *attacks))
            rows.append(
                (
                    whole.title,
                    f"{100 * whole.eer:.1f}",
                    _bounds(whole),
                    "-" if lowest is None else f"{100 * lowest.eer:.1f} ({lowest.part})",
                    "-" if not alarms else f"{alarms} of {1 + len(attacks)}",
                )
            )
        return Table(("probe", "EER %", "95 % interval", "lowest attack", "alarms"), tuple(rows), self._notes())

    def _tested(self) -> list[Finding]:
        return [one for one in self.findings if not isnan(one.p_value)]

    def _notes(self) -> tuple[str, ...]:
        some = "" if self.utterances == self.available else f" of {self.available:,}, drawn at random"
        who = f"{self.speakers} speakers" if self.speakers else "speakers not known"
        about = (
            "",
            f"{self.utterances:,} utterances{some}, {who}; intervals over each {self.clusters}. 50 % tells nothing.",
            f"At most {100 * self.false_alarms:g} % of corpora whose labels mean nothing would raise an alarm.",
            "",
        )
        lines = [] if self.alarms else ["no alarm"]
        for cause, remedy in ACT_ON.items():
            own = self.caused_by(cause)
            lines += [f"{cause} ({remedy}):"] if own else []
            lines += [f"alarm: {_line(one)}" for one in own]
        quiet = [one for one in self._tested() if one.is_telling and not one.is_alarm]
        rest = [f"below {100 * TELLING:g} %, but within chance: {_line(one)}" for one in quiet]
        return (*about, *lines, *rest)


def _bounds(one: Finding) -> str:
    return "-" if isnan(one.low) else f"{100 * one.low:.1f} to {100 * one.high:.1f}"


def _line(one: Finding) -> str:
    part = "" if one.part == ALL else f" ({one.part})"
    words = f": spoof {one.words}" if one.words else ""
    return f"{one.title}{part}, {100 * one.eer:.1f} %{words}"


# ---------------------------------------------------------------- findings

LIMIT = 1000  # utterances of a set
FALSE_ALARMS = 0.05  # of corpora whose labels mean nothing
FOLDS = 5
OF_PIPELINE = frozenset(probe.name for probe in PROBES if probe.is_of_pipeline)
FEWEST_SPEAKERS = 5  # for intervals over speakers


def audit(
    folder: str | Path,
    *,
    reference_source: str | None = None,
    limit: int = LIMIT,
    false_alarms: float = FALSE_ALARMS,
    control: str | Path | None = None,
    jobs: int | None = 1,
) -> Audit:
    """Ask whether a corpus gives itself away, by what has nothing to do with being spoofed.

    Parameters
    ----------
    folder : str or Path
        A corpus with the layout of PartialSpoof and its sound, or recordings as ``corpus build`` takes them:
        ``bonafide/SPEAKER/*.wav``, ``ATTACK/SPEAKER/*.wav``, or a CSV list.
    reference_source : str, optional
        Which labels of PartialSpoof's layout.
    limit : int
        How many utterances of each set are looked at, at most.
    false_alarms : float
        How probable any alarm may be in a corpus whose labels mean nothing.
    control : str or Path, optional
        The same corpus made of copies: every step is the same, but in the place of spoofed recordings there are bona
        fide ones (``corpus build --attack builtin:copy``). An alarm of a probe that raises one there too is caused by
        the pipeline, any other by the vocoder. Without a control that is known of some probes only: no vocoder leaves
        a name, a header, fewer bits, a position or the length of a run.
    jobs : int or None
        How many processes read sound; None is one per core.

    Returns
    -------
    Audit
        ``alarms``, ``passed``, ``findings``; ``table()`` for people.

    Raises
    ------
    UsageError
        If there is no corpus in the folder.
    DataError
        If sound or labels cannot be read, or one class is missing.

    Examples
    --------
    >>> found = audit("my-corpus")  # doctest: +SKIP
    >>> [one.title for one in found.alarms]  # doctest: +SKIP
    ["one frame's spectrum", 'level']

    """
    if limit < 2:
        raise UsageError(f"limit={limit}: at least 2 utterances of a set are compared")
    if not 0 < false_alarms < 1:
        raise UsageError(f"false_alarms={false_alarms}: must lie between 0 and 1, as 0.05")
    workers = check_jobs(jobs)
    material = material_of(Path(folder).expanduser(), limit, reference_source)
    copies = None if control is None else material_of(Path(control).expanduser(), limit, reference_source)
    found = audit_measured(
        material.utterances, measure_all(material.utterances, workers), false_alarms, material.available
    )
    if copies is None:
        return found
    own = audit_measured(copies.utterances, measure_all(copies.utterances, workers), false_alarms)
    return with_control(found, own)


def with_control(found: Audit, control: Audit) -> Audit:
    """An audit whose alarms are put down to the pipeline where the same probe raised one in a control of copies."""
    alarmed = {one.probe for one in control.alarms}
    causes = {probe.name: PIPELINE if probe.is_of_pipeline or probe.name in alarmed else VOCODER for probe in PROBES}
    return replace(
        found, findings=tuple(replace(one, cause=causes[one.probe] if one.is_alarm else "") for one in found.findings)
    )


def audit_measured(
    utterances: Sequence[Utterance],
    measured: Sequence[MeasuredSound],
    false_alarms: float = FALSE_ALARMS,
    available: int | None = None,
) -> Audit:
    """Audit what was measured already."""
    auditing = _Auditing(utterances, measured)
    with progress("probing"), warnings.catch_warnings():
        warnings.simplefilter("ignore", SpoofspanWarning)  # few distinct scores, EERs at chance: by design
        findings = list(auditing.findings())
    tested = [row for row, one in enumerate(findings) if not isnan(one.p_value)]
    corrected = holm([findings[row].p_value for row in tested])
    for row, p in zip(tested, corrected, strict=True):
        cause = PIPELINE if findings[row].probe in OF_PIPELINE else UNKNOWN
        alarm = p <= false_alarms
        findings[row] = replace(findings[row], p_value=p, is_alarm=alarm, cause=cause if alarm else "")
    return Audit(
        tuple(findings),
        len(utterances),
        len(utterances) if available is None else available,
        auditing.speakers,
        auditing.clusters_are,
        false_alarms,
    )


class _Auditing:
    """Probes over one corpus."""

    def __init__(self, utterances: Sequence[Utterance], measured: Sequence[MeasuredSound]) -> None:
        self.utterances, self.measured = utterances, measured
        self.names = [f"{number}" for number in range(len(utterances))]
        known = {one.speaker for one in utterances}
        self.speakers = 0 if None in known else len(known)
        codes = {speaker: code for code, speaker in enumerate(sorted(known, key=str))}
        own = np.array([codes[one.speaker] for one in utterances], np.int64)
        each = np.arange(len(utterances))
        self.groups: Int64 = own if self.speakers > 1 else each
        self.folds = deal_folds(self.groups, min(FOLDS, len(set(self.groups.tolist()))))
        over_speakers = self.speakers >= FEWEST_SPEAKERS
        self.clusters_are = SPEAKER if over_speakers else UTTERANCE
        self.clusters = dict(zip(self.names, map(str, own.tolist()), strict=True)) if over_speakers else None
        self.attacks = sorted({attack for one in utterances for attack in one.attacks})
        self.sets = list(dict.fromkeys(one.subset for one in utterances))
        self.mixed = any(one.is_mixed for one in utterances)
        self._rows: dict[str, ProbeRows] = {}

    def rows(self, unit: str) -> ProbeRows:
        """The rows of a unit, made once."""
        if unit not in self._rows:
            self._rows[unit] = rows_of(unit, self.utterances, self.measured)
        return self._rows[unit]

    def findings(self) -> Iterator[Finding]:
        """Every probe: all spoofs, each attack, each set."""
        for probe in PROBES:
            if (probe.name in NEED_BOTH and not self.mixed) or (probe.name == SPEAKER and self.speakers < 2):
                continue
            if probe.name != SPEAKER and not statistics_of(probe, self.rows(probe.unit)):
                continue
            parts = [ALL, *(self.attacks if len(self.attacks) > 1 else [])]
            for part in parts:
                look = _Look(self, probe, part)
                if (whole := look.finding(part, None)) is not None:
                    yield whole
                if part == ALL and len(self.sets) > 1:
                    rows = (look.finding(subset, subset) for subset in self.sets)
                    yield from (replace(one, p_value=nan) for one in rows if one is not None)


class _Look:
    """One probe over all spoofs or one attack: its scores, measured on all sets or on one."""

    def __init__(self, auditing: _Auditing, probe: Probe, part: str) -> None:
        self.auditing, self.probe = auditing, probe
        self.rows = auditing.rows(probe.unit)
        self.part = part
        meant, self.is_spoof = self._classes(self.rows)
        self.judged = self.rows.is_judged & meant
        self.weight = np.where(self.judged, seconds(self.rows), 0.0)
        self.statistics = statistics_of(probe, self.rows)
        self.features = np.column_stack([self.rows.features[name] for name in self.statistics] or [self.weight])
        scored = self._by_speaker if probe.name == SPEAKER else self._by_model
        self.scores = scored() if self._has_both(self.judged) else np.zeros(len(self.judged))

    def _classes(self, rows: ProbeRows) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Rows of bona fide and of the attack in question, with their classes."""
        meant = [attack is None or self.part in (ALL, attack) for attack in rows.attack]
        return np.array(meant, np.bool_), np.array([attack is not None for attack in rows.attack], np.bool_)

    def _has_both(self, rows: npt.NDArray[np.bool_]) -> bool:
        return bool((rows & self.is_spoof).any() and (rows & ~self.is_spoof).any())

    def _by_model(self) -> Float64:
        folds = self.auditing.folds[self.rows.utterance]
        return unseen_scores(self.features, self.is_spoof, self.weight, folds)

    def _by_speaker(self) -> Float64:
        """Share of spoof of a speaker, by the speaker's other utterances."""
        groups, folds = self.auditing.groups, deal_folds(np.arange(len(self.judged)), FOLDS)
        scores = np.full(len(self.judged), 0.5)
        for fold in range(FOLDS):
            rest = self.judged & (folds != fold)
            if not rest.any():
                continue
            spoof = np.bincount(groups[rest], self.is_spoof[rest], groups.max() + 1)
            count = np.bincount(groups[rest], minlength=groups.max() + 1)
            share = (spoof + self.is_spoof[rest].mean()) / (count + 1)  # one utterance of everybody's for each
            scores[folds == fold] = share[groups[folds == fold]]
        return scores

    def finding(self, part: str, subset: str | None) -> Finding | None:
        """The range EER in all sets or in one; None where one class is missing."""
        sets = np.array([subset in (None, one.subset) for one in self.auditing.utterances], np.bool_)
        judged = self.judged & sets[self.rows.utterance]
        if not self._has_both(judged):
            return None
        try:
            found = self._interval(judged)
        except UndefinedMeasureError:
            return None
        eer = found.estimate
        p_value = one_sided_p(found, self._least_error(judged))
        probe = self.probe
        words = self._words(judged)
        return Finding(probe.name, probe.title, probe.unit, part, eer, found.low, found.high, p_value, False, words)

    def _interval(self, judged: npt.NDArray[np.bool_]) -> Interval:
        auditing, rows = self.auditing, self.rows
        kept = np.unique(rows.utterance[judged])
        names = [auditing.names[row] for row in kept.tolist()]
        durations = np.array([auditing.utterances[row].duration for row in kept.tolist()], np.int64)
        own, offsets = _of_utterances(rows, kept)
        times: dict[str, Any] = {"starts": rows.start[own], "ends": rows.end[own]}
        if self.probe.unit == FRAME:
            times = {"hop": HOP / RATE}
        scores = Scores.from_columns(names, offsets, self.scores[own], higher="spoof", **times)
        spoof = self.is_spoof
        if self.probe.unit == FRAME:  # the ranges themselves, not the frames that lie in them
            rows, judged, spoof = self._runs_of(kept)
            own, offsets = _of_utterances(rows, kept)
        labels = np.where(judged, np.where(spoof, SPOOF, BONA_FIDE), NONSPEECH)[own].astype(np.int8)
        references = References.from_columns(names, durations, offsets, rows.start[own], rows.end[own], labels=labels)
        rules: dict[str, Any] = {"nonspeech": "ignore", "gaps": "ignore", "eer_rule": "interpolated"}
        if auditing.clusters is None:
            return interval(references, scores, clusters_are=auditing.clusters_are, **rules)
        clusters = {name: auditing.clusters[name] for name in names}
        if len(set(clusters.values())) == 1:  # one speaker says nothing of others
            return replace(interval(references, scores, **rules), low=nan, high=nan)
        return interval(references, scores, clusters=clusters, clusters_are=auditing.clusters_are, **rules)

    def _least_error(self, judged: npt.NDArray[np.bool_]) -> float:
        """Jackknife errors can be too small by chance, where few runs are compared; not smaller than this."""
        pieces = judged
        rows, spoof = self.rows, self.is_spoof
        if self.probe.unit == FRAME:
            rows, pieces, spoof = self._runs_of(np.unique(self.rows.utterance[judged]))
        lasting = seconds(rows)
        return least_standard_error(lasting[pieces & ~spoof], lasting[pieces & spoof])

    def _runs_of(self, kept: Int64) -> tuple[ProbeRows, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """The runs that frames lie in, which of them are judged, and which are spoof."""
        rows = self.auditing.rows(RUN)
        meant, spoof = self._classes(rows)
        return rows, meant & np.isin(rows.utterance, kept), spoof

    def _words(self, judged: npt.NDArray[np.bool_]) -> str:
        """The statistic in which the classes differ most, and by how much."""
        if self.probe.name == SPEAKER:
            groups = self.auditing.groups[self.rows.utterance[judged]]
            count = np.bincount(groups)
            share = (np.bincount(groups, self.is_spoof[judged]) / np.maximum(count, 1))[count > 0]
            return f"is {100 * share.min():.0f} to {100 * share.max():.0f} % of a speaker's utterances"
        best, found = -1.0, ""
        for name in self.statistics:
            values = self.rows.features[name]
            if not is_said(self.probe, name):
                continue
            there = judged & ~np.isnan(values)
            if not self._has_both(there):
                continue
            spoof, bona_fide = values[there & self.is_spoof], values[there & ~self.is_spoof]
            spread = np.sqrt((spoof.var() + bona_fide.var()) / 2)
            difference = float(spoof.mean() - bona_fide.mean())
            distance = abs(difference) / spread if spread > 0 else np.inf if difference else 0.0
            if distance > best:
                best, found = distance, difference_in_words(self.probe, name, difference, self.rows.said)
        return found


def _of_utterances(rows: ProbeRows, kept: Int64) -> tuple[npt.NDArray[np.bool_], Int64]:
    """Rows of some utterances, and the first row of each."""
    own = np.isin(rows.utterance, kept)
    return own, offsets_of(np.bincount(rows.utterance[own], minlength=int(kept.max()) + 1)[kept])


def one_sided_p(found: Interval, least_error: float = 0.0) -> float:
    """The chance of an EER as low as this if the true one were 50 %; 1 where the interval says nothing.

    The class that fewer clusters have decides how much is known. Where no cluster left out changes anything, as if one
    of them were at chance.
    """
    fewest = min(found.with_bona_fide or 0, found.with_spoof or 0)
    if found.refused or isnan(found.high) or found.degrees_of_freedom is None or fewest < 2:
        return 1.0
    error = max(found.standard_error or 0.5 / fewest, least_error)
    statistic = (found.estimate - 0.5) / error
    half = two_sided_p(statistic, min(found.degrees_of_freedom, fewest - 1)) / 2
    return half if statistic < 0 else 1 - half


def least_standard_error(bona_fide: Float64, spoof: Float64) -> float:
    """The standard error of an EER at 50 %, if labels were dealt at random to pieces that last so long.

    Of two normal distributions at a distance d the EER is Phi(-d / 2), and d has the variance 1 / n + 1 / m at 0, with
    as many pieces as count: the square of the sum of their lengths by the sum of their squares.

    >>> round(least_standard_error(np.ones(100), np.ones(100)), 4)
    0.0282
    """
    counts = (float(one.sum() ** 2 / (one**2).sum()) for one in (bona_fide, spoof))
    return float(np.sqrt(sum(1 / count for count in counts)) / (2 * np.sqrt(2 * np.pi)))
