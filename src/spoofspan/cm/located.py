"""What :func:`spoofspan.locate` found: a verdict for every recording and channel, for people, programs and files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.times import SECOND
from spoofspan.cm.listening import Heard
from spoofspan.cm.out_of_domain import DomainVerdict
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.formats.convert import write_references
from spoofspan.formats.writing import check_target, write_atomically
from spoofspan.measures.events.proposals_from_scores import ProposalOptions
from spoofspan.report.results import finite
from spoofspan.report.table import Table, json_text, printable

LABELS = {".rttm": "rttm", ".txt": "audacity", ".textgrid": "textgrid"}
SUFFIXES = (*LABELS, ".json", ".csv", ".html")
EACH = "{}"  # in the name of a file: the id of each recording
ONE_EACH = ("audacity", "textgrid")  # formats of one recording a file
UNSAFE = re.compile(r"[^\w.+=,@ -]")

AFTER_LAST_SCORE = 0.025  # seconds: a frame of 25 ms every 20 ms ends up to so much early
UNKNOWN_DOMAIN = "does not sound like what the model was trained on, and the verdict may be wrong"


@dataclass(frozen=True)
class SuspectedRange:
    """A range that a model calls spoof.

    Parameters
    ----------
    start_ns, end_ns : int
        Nanoseconds.
    strength : float
        The mean score over the range, turned so that more means spoof: of log-likelihood ratios, 0 says nothing and 4.6
        is a hundred to one.
    probability : float or None
        The mean probability of spoof over the range, for the stated prior: how much of it is expected to be spoofed.

    """

    start_ns: int
    end_ns: int
    strength: float
    probability: float | None

    @property
    def start(self) -> float:
        """Seconds."""
        return self.start_ns / SECOND

    @property
    def end(self) -> float:
        """Seconds."""
        return self.end_ns / SECOND

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"start": self.start, "end": self.end, "strength": self.strength, "probability": self.probability}


@dataclass(frozen=True, eq=False)
class LocatedRecording:
    """The verdict on one recording, or on one channel of it."""

    recording: str
    file: str
    channel: str | None = None
    seconds: float | None = None
    ranges: tuple[SuspectedRange, ...] = ()
    domain: DomainVerdict | None = None
    notes: tuple[str, ...] = ()
    problem: str = ""  # why it cannot be judged
    values: Any = field(default=None, repr=False)  # its scores
    heard: Heard | None = field(default=None, repr=False)

    @property
    def suspected_seconds(self) -> float:
        """How long the suspected ranges last together."""
        return sum(one.end_ns - one.start_ns for one in self.ranges) / SECOND

    @property
    def unlike_training(self) -> str:
        """How it differs from what the model was trained on; empty if it is of that kind, or if nobody can tell."""
        if self.domain is None or self.domain.known:
            return ""
        return f"{UNKNOWN_DOMAIN}: {self.domain.reason}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the verdict."""
        return (*([f"it {self.unlike_training}"] if self.unlike_training else ()), *self.notes)

    @property
    def verdict(self) -> str:
        """The verdict in a sentence."""
        if self.problem:
            return f"no verdict: {self.problem}"
        if not self.ranges:
            return f"nothing suspected in {self.seconds:.2f} s"
        count = f"{len(self.ranges):,} suspected range{'s' * (len(self.ranges) != 1)}"
        return f"{count}, {self.suspected_seconds:.2f} of {self.seconds:.2f} s"

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "recording": self.recording,
            "file": self.file,
            "channel": self.channel,
            "seconds": self.seconds,
            "problem": self.problem or None,
            "domain": None if self.domain is None else self.domain.to_dict(),
            "notes": list(self.notes),
            "ranges": [one.to_dict() for one in self.ranges],
        }


@dataclass(frozen=True)
class ModelFacts:
    """Which model said so."""

    name: str
    checksum: str  # SHA-256 of its weights
    about: Mapping[str, Any]  # the card; empty without one

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"name": self.name, "sha256": self.checksum, "card": dict(self.about) or None}


@dataclass(frozen=True, eq=False)
class Location:
    """Where recordings are spoofed, as far as a model can tell.

    Parameters
    ----------
    recordings : tuple of LocatedRecording
        A verdict for each recording and channel; ``location["id"]`` finds one.
    model : ModelFacts
        Which model it was.
    threshold : float
        Time is called spoof iff its score lies below.
    prior : float or None
        For which probabilities are stated; None if the model has no calibration.
    branch : str or None
        Whose log-likelihood ratios they are, ``"fused"`` where there are several branches; None: plain scores.
    scores : Scores
        What was decided by, of all recordings that could be judged.
    options : ProposalOptions
        How ranges were made of decisions.

    """

    recordings: tuple[LocatedRecording, ...]
    model: ModelFacts
    threshold: float
    prior: float | None
    branch: str | None
    scores: Scores = field(repr=False)
    options: ProposalOptions = field(default_factory=ProposalOptions)

    def __getitem__(self, recording: str) -> LocatedRecording:
        return {one.recording: one for one in self.recordings}[recording]

    @property
    def decision(self) -> str:
        """What is called spoof."""
        what = "score" if self.branch is None else "log-likelihood ratio"
        return f"spoof iff {what} < {self.threshold:g}"

    @property
    def judged(self) -> tuple[LocatedRecording, ...]:
        """The recordings that could be judged."""
        return tuple(one for one in self.recordings if not one.problem)

    @property
    def proposals(self) -> Proposals:
        """The suspected ranges, with their strength as confidence."""
        return Proposals.from_ranges(
            {one.recording: [(r.start, r.end, r.strength) for r in one.ranges] for one in self.judged}
        )

    @property
    def references(self) -> References:
        """The verdicts as labels: suspected ranges are spoof, everything else is bona fide."""
        durations = {one.recording: float(one.seconds or 0.0) for one in self.judged}
        return References.from_ranges({one.recording: _labelled(one) for one in self.judged}, durations=durations)

    def write(self, target: str | PathLike[str], *, force: bool = False) -> None:
        """Write the result to a file, whole or not at all.

        Parameters
        ----------
        target
            The end of its name tells what: .rttm, .txt (Audacity), .TextGrid, .json, .csv, .html (a page with sound).
        force
            Replace an existing file.

        """
        suffix = _suffix(target)
        if EACH not in fspath(target):
            _write_one(self, target, suffix, force)
            return
        for one in self.judged if suffix in LABELS else self.recordings:
            own = fspath(target).replace(EACH, UNSAFE.sub("_", one.recording))
            _write_one(replace(self, recordings=(one,)), own, suffix, force)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            "model": self.model.to_dict(),
            "decision": self.decision,
            "threshold": self.threshold,
            "prior": self.prior,
            "scores": (self.branch and f"log-likelihood ratios, {self.branch}") or "scores without calibration",
            "min_duration": self.options.min_duration,
            "merge_gap": self.options.merge_gap,
            "smoothing": self.options.smoothing,
            "recordings": [one.to_dict() for one in self.recordings],
        }

    @property
    def table(self) -> Table:
        """Every suspected range, a row each; recordings without any have a row without times."""
        head = ("recording", "start s", "end s", "length s", "strength", "probability", "warning")
        rows: list[tuple[str, ...]] = []
        for one in self.recordings:
            name, warning = printable(one.recording), printable(one.problem or "; ".join(one.warnings))
            if one.problem:
                rows.append((name, "no verdict", "", "", "", "", warning))
            elif not one.ranges:
                rows.append((name, "nothing", "", "", "", "", warning))
            rows += [(name, *range_cells(range_), warning) for range_ in one.ranges]
        return Table(head, tuple(rows))

    def __str__(self) -> str:
        lines = [f"model {printable(self.model.name)}; {self.decision}{self._prior_text()}", ""]
        strange = sum(bool(one.unlike_training) for one in self.recordings)
        if strange and len(self.recordings) > 1:
            which = f"{strange:,} of {len(self.recordings):,} recordings"
            lines += [f"warning: the model was not trained on sound like that of {which}; its verdict may be wrong", ""]
        for one in self.recordings:
            lines += [f"warning: {printable(one.recording)}: {printable(text)}" for text in one.warnings]
            lines += [f"{printable(one.recording)}: {printable(one.verdict)}"]
            if one.ranges:
                names: tuple[str, ...] = ("start s", "end s", "length s", "strength", "probability")
                count = len(names) - (self.prior is None)  # without calibration there is no probability
                table = Table(names[:count], tuple(range_cells(range_)[:count] for range_ in one.ranges))
                lines += [*(f"  {line}" for line in table.render("text").rstrip().splitlines()), ""]
        return "\n".join(lines).rstrip("\n")

    def _prior_text(self) -> str:
        return "" if self.prior is None else f"; probabilities for a prior of {self.prior:g}"

    def _repr_html_(self) -> str:
        notes = [f"{one.recording}: {text}" for one in self.recordings for text in (*one.warnings, one.verdict)]
        return Table((), tuple((printable(text),) for text in notes)).render("html") + self.table.render("html")


def _labelled(one: LocatedRecording) -> list[tuple[float, float, str]]:
    """The ranges of a recording, from its beginning to its end; what comes after the last score is called as it was."""
    end = float(one.seconds or 0.0)
    edges = [0.0, *(edge for r in one.ranges for edge in (r.start, r.end)), end]
    if one.ranges and end - edges[-2] <= AFTER_LAST_SCORE:
        edges[-2] = end
    labels = np.resize(["bonafide", "spoof"], len(edges) - 1)
    pairs = zip(edges[:-1], edges[1:], labels.tolist(), strict=True)
    return [(start, end, label) for start, end, label in pairs if end > start]


def range_cells(one: SuspectedRange) -> tuple[str, ...]:
    """Start, end, length, strength and probability, as they are shown."""
    chance = "" if one.probability is None else f"{one.probability:.3f}"
    length = one.end - one.start
    return f"{one.start:.3f}", f"{one.end:.3f}", f"{length:.3f}", f"{one.strength:.2f}", chance


# ---------------------------------------------------------------- files


def check_location_target(target: str | PathLike[str], *, force: bool) -> None:
    """Fail fast on output that cannot be written."""
    _suffix(target)
    path = Path(target).expanduser()
    if EACH not in str(path.parent):
        check_target(path, force or EACH in path.name)  # of {}, only the folder is known


def _write_one(location: Location, target: str | PathLike[str], suffix: str, force: bool) -> None:
    path = Path(target).expanduser()
    if suffix == ".html":
        from spoofspan.cm.location_page import location_page

        write_atomically(path, [location_page(location, path).encode()], force)
    elif suffix in (".json", ".csv"):
        text = json_text(finite(location.to_dict())) if suffix == ".json" else location.table.render("csv")
        write_atomically(path, [text.encode()], force)
    else:
        _write_labels(location, path, LABELS[suffix], force)


def _write_labels(location: Location, path: Path, name: str, force: bool) -> None:
    references = location.references
    if name == "audacity":  # a track of what is suspected, not of everything else
        ranges = {one.recording: [(r.start, r.end, "spoof") for r in one.ranges] for one in location.judged}
        references = References.from_ranges(ranges)
    if name in ONE_EACH and len(references) != 1:
        raise UsageError(
            f"{path}: a file of this kind holds one recording, and there are {len(references)}; write one each "
            f"with {EACH} in the name, such as '{EACH}{path.suffix}'"
        )
    if name == "audacity" and not references.starts.size:  # an empty track: nothing is suspected
        write_atomically(path, [], force)
    else:
        write_references(references, path, format=name, force=force)


def _suffix(target: str | PathLike[str]) -> str:
    suffix = PurePath(target).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{fspath(target)}: its ending says what to write: {nearest_name(suffix, SUFFIXES)}")
    return suffix
