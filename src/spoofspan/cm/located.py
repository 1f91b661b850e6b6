"""Results of :func:`spoofspan.locate`: a verdict for each recording and channel, for people, programs, files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.times import SECOND
from spoofspan.cm.chance import ChanceRanges, RecordingAnswer
from spoofspan.cm.listening import Heard
from spoofspan.cm.out_of_domain import DomainVerdict
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.formats.convert import write_references
from spoofspan.formats.text import rttm, textgrid
from spoofspan.formats.writing import check_target, write_atomically
from spoofspan.measures.events.proposals_from_scores import ProposalOptions
from spoofspan.report.table import Table, finite, json_text, printable

LABELS = {".rttm": "rttm", ".txt": "audacity", ".textgrid": "textgrid"}
SUFFIXES = (*LABELS, ".json", ".csv", ".html")
EACH = "{}"  # in the name of a file: the id of each recording
ONE_EACH = ("audacity", "textgrid")  # formats of one recording a file
UNSAFE = re.compile(r"[^\w.+=,@ -]")

LIMITS = 3  # of a model of the package: what it can and cannot do
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


@dataclass(frozen=True)
class ChannelCheck:
    """The verdict of the same model on the recording through a narrower and noisier channel.

    Parameters
    ----------
    channel : str
        The band and the noise.
    ranges : int
        Number of suspected ranges.
    seconds : float
        Their total duration.
    same : float
        Share of the time that has the same verdict.

    """

    channel: str
    ranges: int
    seconds: float
    same: float

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    def __str__(self) -> str:
        count = f"{self.ranges:,} suspected range{'s' * (self.ranges != 1)}, {self.seconds:.2f} s"
        return f"through {self.channel}: {count}; {100 * self.same:.0f} % of the time has the same verdict"


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
    answer: RecordingAnswer | None = None  # None if the sound is unlike the training, or nobody has counted
    check: ChannelCheck | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the verdict, a sentence each."""
        found = [] if self.answer is None else [str(self.answer)]
        if self.answer is None and self.unlike_training and not self.problem:
            found.append("no number of ranges by chance: the recording sounds unlike the training data")
        return (*found, *([] if self.check is None else [str(self.check)]))

    @property
    def suspected_seconds(self) -> float:
        """Total duration of the suspected ranges."""
        return sum(one.end_ns - one.start_ns for one in self.ranges) / SECOND

    @property
    def unlike_training(self) -> str:
        """Difference from the training data of the model; empty if it is of that kind, or if nobody can tell."""
        if self.domain is None or self.domain.known:
            return ""
        return f"{UNKNOWN_DOMAIN}: {self.domain.reason}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes before the verdict."""
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
            "answer": None if self.answer is None else self.answer.to_dict(),
            "channel_check": None if self.check is None else self.check.to_dict(),
            "ranges": [one.to_dict() for one in self.ranges],
        }


@dataclass(frozen=True)
class ModelFacts:
    """Description of the model."""

    name: str
    checksum: str  # SHA-256 of its weights
    about: Mapping[str, Any]  # the card; empty without one
    chosen: str = ""  # why this one of the package's models, if nobody named a model
    channel: str = ""  # that recordings are sent through before they are scored; empty if none

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "name": self.name,
            "sha256": self.checksum,
            "chosen": self.chosen or None,
            "channel": self.channel or None,
            "card": dict(self.about) or None,
        }

    @property
    def lines(self) -> list[str]:
        """Facts of the model, before any verdict."""
        found = [f"model {self.name}"]
        if self.chosen:
            found += [
                f"chosen because {self.chosen}",
                *(f"limit: {one}" for one in self.about.get("limits", ())[:LIMITS]),
            ]
        if self.channel:
            found.append(f"recordings go through the channel of its training before scoring: {self.channel}")
        return found


@dataclass(frozen=True, eq=False)
class Location:
    """Suspected ranges of recordings, according to a model.

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
    chance : ChanceRanges or None
        False ranges on the development set; None if the options are others than those that they were counted with.

    """

    recordings: tuple[LocatedRecording, ...]
    model: ModelFacts
    threshold: float
    prior: float | None
    branch: str | None
    scores: Scores = field(repr=False)
    options: ProposalOptions = field(default_factory=ProposalOptions)
    chance: ChanceRanges | None = field(default=None, repr=False)

    def __getitem__(self, recording: str) -> LocatedRecording:
        return {one.recording: one for one in self.recordings}[recording]

    @property
    def decision(self) -> str:
        """The decision in words; more strength means more like spoof."""
        return f"suspected if the strength is over {-self.threshold + 0.0:g}"

    @property
    def false_ranges_per_minute(self) -> float | None:
        """Ranges expected by chance in a minute of bona fide speech like that of the training."""
        return None if self.chance is None else self.chance.per_minute(self.threshold)

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
            "false_ranges_per_minute": self.false_ranges_per_minute,
            "min_duration": self.options.min_duration,
            "merge_gap": self.options.merge_gap,
            "smoothing": self.options.smoothing,
            "recordings": [one.to_dict() for one in self.recordings],
        }

    @property
    def table(self) -> Table:
        """Every suspected range, a row each; recordings without any have a row without times."""
        times = ("start s", "end s", "length s", "strength", "probability")
        whole = ("expected ranges", "chance of as many", "odds factor of any spoof")
        rows: list[tuple[str, ...]] = []
        for one in self.recordings:
            verdict = "no verdict" if one.problem else "suspected" if one.ranges else "nothing"
            name, warning = printable(one.recording), printable(one.problem or "; ".join(one.warnings))
            known = one.answer
            numbers = () if known is None else (known.expected, known.chance, known.ratio)
            of_all = tuple(f"{number:.4f}" for number in numbers) or ("",) * 3
            cells = [range_cells(range_) for range_ in one.ranges] or [("",) * len(times)]
            rows += [(name, verdict, *own, *of_all, warning) for own in cells]
        head = ("recording", "verdict", *times, *whole, "warning")
        return Table(head, tuple(rows))

    def __str__(self) -> str:
        lines = [*map(printable, self.model.lines), f"{self.decision}{self._prior_text()}"]
        if (rate := self.false_ranges_per_minute) is not None and self.chance is not None:
            like = f"speech like that of its training ({self.chance})"
            lines.append(f"{rate:.2f} false ranges a minute are expected in {like}")
        lines.append("")
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
                lines += [f"  {line}" for line in table.render("text").rstrip().splitlines()]
            lines += [f"  {printable(text)}" for text in one.remarks]
            lines += [""] if one.ranges or one.remarks else []
        return "\n".join(lines).rstrip("\n")

    def _prior_text(self) -> str:
        return "" if self.prior is None else f"; probabilities for a prior of {self.prior:.3g}"

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


def check_location_target(target: str | PathLike[str], recordings: int, *, force: bool) -> None:
    """Fail fast on output that cannot be written of so many recordings."""
    suffix = _suffix(target)
    if EACH not in fspath(target) and LABELS.get(suffix) in ONE_EACH:
        _check_single(Path(target), recordings)
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
    if name in ONE_EACH:
        _check_single(path, len(references))
    if name == "audacity" and not references.starts.size:  # an empty track: nothing is suspected
        write_atomically(path, [], force)
    elif name == "audacity":  # which knows neither comments nor a second track
        write_references(references, path, format=name, force=force)
    else:
        write = rttm.write if name == "rttm" else textgrid.write
        write_atomically(path, write(references, _cautions(location)), force)


def _cautions(location: Location) -> list[str]:
    """Notes before the labels of a file: a model suspects them, and when that may be wrong."""
    found = [f"suspected by the model {location.model.name}, not proven; {location.decision}"]
    for one in location.recordings:
        found += [
            f"{one.recording}: {text}" for text in (one.problem and one.verdict, *one.warnings, *one.remarks) if text
        ]
    return [" ".join(printable(one).split()) for one in found]


def _check_single(path: Path, recordings: int) -> None:
    if recordings != 1:
        raise UsageError(
            f"{path}: a file of this kind holds one recording, and there are {recordings}; write one each with {EACH} "
            f"in the name, such as '{EACH}{path.suffix}'"
        )


def _suffix(target: str | PathLike[str]) -> str:
    suffix = PurePath(target).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{fspath(target)}: its ending says what to write: {nearest_name(suffix, SUFFIXES)}")
    return suffix
