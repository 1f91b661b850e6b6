"""The probes: which statistics each looks at, and what a listener would call a difference.

A probe is given statistics of frames, of runs of one class, or of whole utterances, and should not be able to tell
spoof from bona fide by them. Runs are compared within utterances that have both classes: a bona fide utterance is one
long run, and its length alone would give it away. Where no utterance has both (a folder of recordings), runs are the
recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spoofspan.base.times import SECOND, Float64, Int64
from spoofspan.corpus.audit.material import Utterance
from spoofspan.corpus.audit.statistics import (
    BANDS,
    HOP,
    OUTER,
    RUN_STATISTICS,
    TICK,
    UTTERANCE_STATISTICS,
    MeasuredSound,
)

FRAME, RUN, UTTERANCE = "frame", "run", "utterance"
SPEAKER = "speaker"

Said = Callable[[float], str]


@dataclass(frozen=True)
class ProbeRows:
    """What a probe sees: a row for each frame, run or utterance, and its time."""

    utterance: Int64
    start: Int64  # ns
    end: Int64
    attack: tuple[str | None, ...]
    is_judged: np.ndarray[tuple[int], np.dtype[np.bool_]]  # others are there so that time has no holes
    features: Mapping[str, Float64]


@dataclass(frozen=True)
class Probe:
    """One look at a corpus."""

    name: str
    title: str
    unit: str
    statistics: tuple[str, ...]
    said: Mapping[str, Said]  # by the statistic: a difference (spoof minus bona fide) in words


def _more(unit: str, more: str, less: str, factor: float = 1.0, form: str = ".1f") -> Said:
    def said(difference: float) -> str:
        return f"{format(abs(difference) * factor, form)} {unit} {more if difference > 0 else less}"

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
    Probe("run-length", "length of runs", RUN, ("length",), {"length": _longer}),
    Probe(
        "position",
        "position",
        FRAME,
        ("position", "centrality"),
        {
            "position": _more("%", "later in the utterance", "earlier in the utterance", 100, ".0f"),
            "centrality": _more("%", "nearer to the ends", "nearer to the middle", 200, ".0f"),
        },
    ),
    Probe("ends", "silence at ends", UTTERANCE, ("lead", "trail"), SILENCE),
    Probe("length", "length of utterances", UTTERANCE, ("length",), {"length": _longer}),
    Probe("loudness", "level of utterances", UTTERANCE, ("level",), {"level": _more("dB", "louder", "softer")}),
    Probe(SPEAKER, "speaker", UTTERANCE, (), {}),
)
NEED_BOTH = ("joints", "run-length", "position", "loudness")  # without an utterance that has both classes, no question


def is_said(probe: Probe, statistic: str) -> bool:
    """Whether there are words for a statistic."""
    return statistic.startswith("band ") or statistic in probe.said


def difference_in_words(probe: Probe, statistic: str, difference: float) -> str:
    """What a listener would call a difference."""
    if statistic.startswith("band "):
        return _of_band(*BANDS[int(statistic.removeprefix("band "))])(difference)
    return probe.said[statistic](difference)


def rows_of(unit: str, utterances: Sequence[Utterance], measured: Sequence[MeasuredSound]) -> ProbeRows:
    """The rows of a unit."""
    return {FRAME: _frames, RUN: _runs, UTTERANCE: _wholes}[unit](utterances, measured)


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
    return ProbeRows(owner, np.zeros(len(owner), np.int64), end, attacks, end > 0, features)


def seconds(rows: ProbeRows) -> Float64:
    """How long each row lasts."""
    lasting: Float64 = (rows.end - rows.start) / SECOND
    return lasting
