"""Findings of an audit: a row for each probe, alarms in words, and everything as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

from spoofspan.corpus.audit.material import ALL
from spoofspan.report.table import Table

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
        rest = [f"under {100 * TELLING:g} %, but not beyond chance: {_line(one)}" for one in quiet]
        return (*about, *lines, *rest)


def _bounds(one: Finding) -> str:
    return "-" if isnan(one.low) else f"{100 * one.low:.1f} to {100 * one.high:.1f}"


def _line(one: Finding) -> str:
    part = "" if one.part == ALL else f" ({one.part})"
    words = f": spoof {one.words}" if one.words else ""
    return f"{one.title}{part}, {100 * one.eer:.1f} %{words}"
