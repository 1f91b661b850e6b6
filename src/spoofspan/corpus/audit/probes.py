"""The probes: which statistics each looks at, and what a listener would call a difference.

A probe is given statistics of frames, of runs of one class, or of whole utterances, and should not be able to tell
spoof from bona fide by them. Runs are compared within utterances that have both classes: a bona fide utterance is one
long run, and its length alone would give it away. Where no utterance has both (a folder of recordings), runs are the
recordings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from spoofspan.base.times import SECOND, Float64, Int64
from spoofspan.corpus.audit.material import Utterance
from spoofspan.corpus.audit.statistics import (
    BANDS,
    CODECS,
    GRIDS,
    HOP,
    JOINT_STATISTICS,
    NEAR,
    OUTER,
    RUN_STATISTICS,
    TICK,
    UTTERANCE_STATISTICS,
    MeasuredSound,
    changes_of,
    name_parts,
)

FRAME, RUN, UTTERANCE, JOINT = "frame", "run", "utterance", "joint"
SPEAKER, HEADER, NAME = "speaker", "header", "name"
MOST_HEADERS = 8

Said = Callable[[float], str]


@dataclass(frozen=True)
class ProbeRows:
    """Input of a probe: a row for each frame, run or utterance, and its time."""

    utterance: Int64
    start: Int64  # ns
    end: Int64
    attack: tuple[str | None, ...]
    is_judged: np.ndarray[tuple[int], np.dtype[np.bool_]]  # others are there so that time has no holes
    features: Mapping[str, Float64]
    said: Mapping[str, str] = field(default_factory=dict)  # of features that depend on the corpus: what spoof has more


@dataclass(frozen=True)
class Probe:
    """One look at a corpus."""

    name: str
    title: str
    unit: str
    statistics: tuple[str, ...]
    said: Mapping[str, Said]  # by the statistic: a difference (spoof minus bona fide) in words
    is_of_pipeline: bool = False  # no vocoder can leave it


def _more(unit: str, more: str, less: str, factor: float = 1.0, form: str = ".1f") -> Said:
    """A difference as a number, with its unit if it has one."""

    def said(difference: float) -> str:
        amount = f"{format(abs(difference) * factor, form)} {unit}".rstrip()
        return f"{amount} {more if difference > 0 else less}"

    return said


def _of_band(low: int, high: int) -> Said:
    words = ("rumble", "no rumble") if high <= 150 else ("fuller", "thinner") if high <= 500 else ("sharp", "dull")
    if 500 < high <= 3000:
        words = ("nearer", "muffled")

    def said(difference: float) -> str:
        more = difference > 0
        return f"{abs(difference):.1f} dB {'more' if more else 'less'} at {low} to {high} Hz: {words[not more]}"

    return said


def _longer(difference: float) -> str:
    return f"{100 * abs(np.expm1(difference)):.0f} % {'longer' if difference > 0 else 'shorter'}"


def _offset(difference: float) -> str:
    return f"an offset of {difference:+.4f}: nothing to hear but a click where it begins"


def _of_codec(name: str) -> Said:
    return lambda difference: f"{'more' if difference > 0 else 'less'} like a codec with frames of {name}"


def _at_change(what: str) -> Said:
    return _more("dB", f"more of a {what} where the label changes", f"less of a {what} where the label changes")


NEPER = 4.34  # dB
SILENCE = {
    "lead": _more("ms", "more silence before it", "less silence before it", 1000, ".0f"),
    "trail": _more("ms", "more silence after it", "less silence after it", 1000, ".0f"),
}
PROBES = (
    Probe("spectrum", "one frame's spectrum", FRAME, tuple(f"band {i}" for i in range(len(BANDS))), {}),
    Probe("level", "level", RUN, ("level",), {"level": _more("dB", "louder", "softer")}),
    Probe("offset", "offset", RUN, ("offset", "offset size"), {"offset": _offset}),
    Probe("band", "edges of the band", RUN, tuple(f"band {i}" for i in OUTER), {}),
    Probe(
        "floor",
        "noise of the softest tenth",
        RUN,
        ("floor", "zeros"),
        {
            "floor": _more("dB", "more hiss in its pauses", "less hiss in its pauses"),
            "zeros": _more("%", "more samples are 0: dead silence", "fewer samples are 0", 100),
        },
    ),
    Probe("joints", "silence at joints", RUN, ("lead", "trail"), SILENCE),
    Probe(
        "polarity",
        "polarity",
        RUN,
        ("skewness", "skewness of differences"),
        {
            "skewness": _more("", "more skewed upwards", "more skewed downwards", form=".2f"),
            "skewness of differences": _more(
                "", "differences skewed upwards", "differences skewed downwards", form=".2f"
            ),
        },
    ),
    Probe(
        "word-length",
        "word length",
        RUN,
        ("even", "fours"),
        {
            "even": _more("%", "more samples are even: fewer than 16 bits", "fewer samples are even", 100, ".0f"),
            "fours": _more("%", "more are multiples of 4: fewer than 16 bits", "fewer are multiples of 4", 100, ".0f"),
        },
        is_of_pipeline=True,
    ),
    Probe(
        "grid",
        "grid of blocks",
        RUN,
        tuple(f"grid {name}" for name in GRIDS),
        {f"grid {one}": _more("dB", f"more of a grid of {one}", f"less of a grid of {one}", NEPER) for one in GRIDS},
    ),
    Probe(
        "codec",
        "frames of a codec",
        RUN,
        tuple(f"codec {name}" for name in CODECS),
        {f"codec {name}": _of_codec(name) for name in CODECS},
    ),
    Probe(
        "clicks",
        "sound of joints",
        JOINT,
        JOINT_STATISTICS,
        {what: _at_change(what) for what in JOINT_STATISTICS},
    ),
    Probe("run-length", "length of runs", RUN, ("length",), {"length": _longer}, is_of_pipeline=True),
    Probe(
        "position",
        "position",
        FRAME,
        ("position", "centrality"),
        {
            "position": _more("%", "later in the utterance", "earlier in the utterance", 100, ".0f"),
            "centrality": _more("%", "nearer to the ends", "nearer to the middle", 200, ".0f"),
        },
        is_of_pipeline=True,
    ),
    Probe("ends", "silence at ends", UTTERANCE, ("lead", "trail"), SILENCE),
    Probe("length", "length of utterances", UTTERANCE, ("length",), {"length": _longer}),
    Probe("loudness", "level of utterances", UTTERANCE, ("level",), {"level": _more("dB", "louder", "softer")}),
    Probe(HEADER, "headers of files", UTTERANCE, (), {}, is_of_pipeline=True),
    Probe(NAME, "names of files", UTTERANCE, (), {}, is_of_pipeline=True),
    Probe(SPEAKER, "speaker", UTTERANCE, (), {}, is_of_pipeline=True),
)
# probes that have no question to ask where no utterance has both classes
NEED_BOTH = ("joints", "clicks", "run-length", "position", "loudness")


def is_said(probe: Probe, statistic: str) -> bool:
    """True if there are words for a statistic."""
    return probe.name in (HEADER, NAME) or statistic.startswith("band ") or statistic in probe.said


def difference_in_words(probe: Probe, statistic: str, difference: float, called: Mapping[str, str]) -> str:
    """Description of a difference for a listener; ``called``: features that depend on the corpus."""
    if probe.name == HEADER:
        return f"has {'more' if difference > 0 else 'fewer'} files with the header {called[statistic]}"
    if probe.name == NAME:
        what = called[statistic]
        if what.startswith("its "):
            return f"has names whose {what.removeprefix('its ')} is {'greater' if difference > 0 else 'smaller'}"
        return f"has {'more' if difference > 0 else 'fewer'} names with {what!r}"
    if statistic.startswith("band "):
        return _of_band(*BANDS[int(statistic.removeprefix("band "))])(difference)
    return probe.said[statistic](difference)


def rows_of(unit: str, utterances: Sequence[Utterance], measured: Sequence[MeasuredSound]) -> ProbeRows:
    """The rows of a unit."""
    return {FRAME: _frames, RUN: _runs, UTTERANCE: _wholes, JOINT: _joints}[unit](utterances, measured)


def statistics_of(probe: Probe, rows: ProbeRows) -> tuple[str, ...]:
    """The statistics of a probe; of headers and names, those that this corpus has."""
    if probe.name in (HEADER, NAME):
        return tuple(name for name in rows.said if name.startswith(f"{probe.name} "))
    return probe.statistics


def _frames(utterances: Sequence[Utterance], measured: Sequence[MeasuredSound]) -> ProbeRows:
    counts = [len(one.bands) for one in measured]
    owner = np.repeat(np.arange(len(utterances)), counts)
    number = np.concatenate([np.arange(count) for count in counts])
    start = number * HOP * TICK
    place = np.concatenate([one.run_of_frame for one in measured])
    attacks = tuple(
        None if run < 0 else utterances[row].runs[run].attack
        for row, run in zip(owner.tolist(), place.tolist(), strict=True)
    )
    bands = np.concatenate([one.bands for one in measured]).astype(np.float64)
    position = (number + 0.5) / np.repeat(counts, counts)
    features = {f"band {i}": bands[:, i] for i in range(len(BANDS))}
    features |= {"position": position, "centrality": np.abs(position - 0.5)}
    return ProbeRows(owner, start, start + HOP * TICK, attacks, place >= 0, features)


def _runs(utterances: Sequence[Utterance], measured: Sequence[MeasuredSound]) -> ProbeRows:
    mixed = any(one.is_mixed for one in utterances)
    owner = np.repeat(np.arange(len(utterances)), [len(one.runs) for one in utterances])
    runs = [run for one in utterances for run in one.runs]
    judged = np.array([one.is_mixed or not mixed for one in utterances], np.bool_)[owner]
    table = np.concatenate([one.runs for one in measured])
    features = dict(zip(RUN_STATISTICS, table.T, strict=True))
    return ProbeRows(
        owner,
        np.array([run.start for run in runs], np.int64),
        np.array([run.end for run in runs], np.int64),
        tuple(run.attack for run in runs),
        judged,
        {**features, "offset size": np.abs(features["offset"])},
    )


def _wholes(utterances: Sequence[Utterance], measured: Sequence[MeasuredSound]) -> ProbeRows:
    table = np.array([one.whole for one in measured])
    owner = np.arange(len(utterances))
    attacks = tuple("+".join(one.attacks) or None for one in utterances)
    end = np.array([one.duration for one in utterances], np.int64)
    features = dict(zip(UTTERANCE_STATISTICS, table.T, strict=True))
    said = {}
    headers = [one.header for one in measured]
    for number, (header, _) in enumerate(Counter(headers).most_common(MOST_HEADERS)):
        if len(set(headers)) > 1:
            features[f"{HEADER} {number}"] = np.array([one == header for one in headers], np.float64)
            said[f"{HEADER} {number}"] = header
    for what, values in name_parts([one.name for one in utterances]).items():
        features[f"{NAME} {what}"] = values
        said[f"{NAME} {what}"] = what
    return ProbeRows(owner, np.zeros(len(owner), np.int64), end, attacks, end > 0, features, said)


def _joints(utterances: Sequence[Utterance], measured: Sequence[MeasuredSound]) -> ProbeRows:
    """Windows of 20 ms where the label changes, and in the middle of other pauses; the time between is not judged."""
    rows: list[tuple[int, int, int, str | None, bool]] = []
    values: list[Float64] = []
    reached = 0

    def between(owner: int, start: int) -> None:
        if start > reached:
            rows.append((owner, reached, start, None, False))
            values.append(np.full(len(JOINT_STATISTICS), np.nan))

    for owner, (one, own) in enumerate(zip(utterances, measured, strict=True)):
        changes, reached = set(changes_of(one)), 0
        for place, found in zip(own.places.tolist(), own.joints, strict=True):
            start, end = max((place - NEAR) * TICK, reached), min((place + NEAR) * TICK, one.duration)
            if end <= start:
                continue
            between(owner, start)
            attack = _attack_at(one, place * TICK) if place in changes else None
            rows.append((owner, start, end, attack, True))
            values.append(found)
            reached = end
        between(owner, one.duration)
    owners, starts, ends, attacks, judged = zip(*rows, strict=True)
    table = np.array(values).reshape(-1, len(JOINT_STATISTICS))
    return ProbeRows(
        np.array(owners, np.int64),
        np.array(starts, np.int64),
        np.array(ends, np.int64),
        attacks,
        np.array(judged, np.bool_),
        dict(zip(JOINT_STATISTICS, table.T, strict=True)),
    )


def _attack_at(one: Utterance, place: int) -> str | None:
    """The attack on one side of a place."""
    return next((run.attack for run in one.runs if run.attack is not None and place in (run.start, run.end)), None)


def seconds(rows: ProbeRows) -> Float64:
    """Duration of each row."""
    lasting: Float64 = (rows.end - rows.start) / SECOND
    return lasting
