"""Diagnosis of references and scores that do not match: the hop, the unit of the times, or the ids.

Each function compares both sides of the same utterances, and returns a remedy as a sentence, or None if there is no
evidence. A remedy is named only if it fits :data:`MOST` of the utterances.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spoofspan.base.columns import Flags
from spoofspan.base.other_ids import MOST, id_remedy
from spoofspan.base.times import SECOND, Float64, Int64

# Hops that systems have, in milliseconds: feature rates, strides of front-ends, resolutions of corpora, video frames.
USUAL_HOPS: tuple[float, ...] = (
    *(1, 2, 2.5, 4, 5, 8, 10, 12.5, 15, 16, 20, 25, 30, 32, 40, 50, 60, 64, 80, 100, 120, 160, 200, 240, 250),
    *(300, 320, 400, 480, 500, 640, 800, 1000, 1280, 2000, 2560),
)
TAIL_NS, LATE_FRAMES = 25_000_000, 2  # as rules 9 and 12 let pass under every rule
LONG_HOP, LONGEST_FRAME = 500.0, 200.0  # ms: lengths that are numbers of frames look like a hop of about a second
FEWEST_FRAMES = 20  # of an utterance whose length may be a number of frames
# How many of a unit make a second.
UNITS = {1000: "milliseconds", 16_000: "samples at 16 kHz", 8000: "samples at 8 kHz", 22_050: "samples at 22.05 kHz"}
UNITS |= {24_000: "samples at 24 kHz", 44_100: "samples at 44.1 kHz", 48_000: "samples at 48 kHz"}
UNITS |= {10**6: "microseconds", 10**9: "nanoseconds"}
LENGTHS = "durations, or the times of the references,"
SCORES_APART_NS = 200_000_000  # a fifth of a second; a unit is a factor of 1,000 or more


def fits_hop(frames: Int64, extents: Int64, hop_ns: float | Float64) -> Flags:
    """Utterances that have as many frames as a hop gives: none is too late, and no more than a tail is missing.

    >>> fits_hop(np.array([100, 100]), np.array([2_010_000_000, 4_000_000_000]), 20e6).tolist()
    [True, False]
    """
    late = frames - np.ceil(extents / hop_ns)
    tail = extents - frames * hop_ns
    return (late <= LATE_FRAMES) & (tail <= hop_ns + TAIL_NS)


def fitting_hop(frames: Int64, extents: Int64) -> tuple[float, int] | None:
    """The usual hop, in ms, that fits most utterances, and how many; None if it fits too few.

    >>> fitting_hop(np.array([100, 151]), np.array([2_010_000_000, 3_030_000_000]))
    (20, 2)
    """
    filled = frames > 0
    if not filled.any():
        return None
    # among hops that fit equally many (short utterances fit several), the one nearest to what the lengths say
    typical = float(np.median(extents[filled] / frames[filled])) / 1e6
    counts = {hop: int(fits_hop(frames, extents, hop * 1e6).sum()) for hop in USUAL_HOPS}
    best = max(counts, key=lambda hop: (counts[hop], -abs(np.log(max(typical, 1e-9) / hop))))
    return (best, counts[best]) if counts[best] >= MOST * frames.size else None


def empty_remedy(scores: Int64) -> str | None:
    """Remedy where most utterances have no score at all: neither a hop nor a unit is to blame."""
    empty = int((scores == 0).sum())
    if not empty or empty < MOST * scores.size:
        return None
    return f"{empty:,} of {scores.size:,} utterances have no scores at all (an empty array); write their scores"


def hop_remedy(frames: Int64, extents: Int64, hops_ns: Float64) -> str | None:
    """Find the hop, or the unit of durations, that makes frames and durations fit, if the given hop fits too few."""
    if (empty := empty_remedy(frames)) is not None:
        return empty
    filled = frames > 0
    frames, extents, hops_ns = frames[filled], extents[filled], hops_ns[filled]
    if fits_hop(frames, extents, hops_ns).sum() >= MOST * frames.size:
        return None
    of = f"of {frames.size:,} utterances"
    if (hops_ns == hops_ns[0]).all():
        found = fitting_hop(frames, extents)
        if found is not None:
            hop, count = found
            if hop >= LONG_HOP and not (extents % SECOND).any():  # whole seconds: numbers of frames
                return (
                    f"{_in_seconds(LENGTHS, _frames_of(1000 * hops_ns[0] / hop), count, of)}; if they are seconds, and "
                    f"the scores {hop:g} ms apart, give hop={hop / 1000:g}"
                )
            return (
                f"check hop and durations: {hops_ns[0] / 1e6:g} ms does not fit, {hop:g} ms would fit {count:,} {of}; "
                f"give hop={hop / 1000:g}"
            )
    for factor, unit in UNITS.items():
        count = int(fits_hop(frames, extents // factor, hops_ns).sum())
        if count >= MOST * frames.size:
            return _in_seconds(LENGTHS, unit, count, of)
    return None


def unit_remedy(
    last_ends: Int64, extents: Int64, times_of: str = "references", lengths: str = "durations", apart: int = 5_000_000
) -> str | None:
    """Find the unit of the durations, or of the ranges, with which their ends agree to within ``apart`` ns.

    >>> unit_remedy(np.array([151 * 10**9]), np.array([3_030_000_000]))
    'the times of the references look like frames of 20 ms: as seconds they would fit 1 of 1 utterances; write them in \
seconds'
    """
    both = (last_ends > 0) & (extents > 0)  # an utterance without ranges says nothing of their unit
    last_ends, extents = last_ends[both], extents[both]
    if last_ends.size == 0:
        return None
    of = f"of {last_ends.size:,} utterances"
    ways = (lengths, last_ends, extents), (f"times of the {times_of}", extents, last_ends)
    for factor, unit in UNITS.items():
        near = max(apart, 2_000_000_000 // factor)
        for what, short, long in ways:
            count = int(((long > short) & (np.abs(long // factor - short) <= near)).sum())
            if count >= MOST * last_ends.size:
                return _in_seconds(what, unit, count, of)
    for what, short, long in ways:
        found = _fitting_frame(short, long, apart)
        if found is not None:
            return _in_seconds(what, _frames_of(found[0] * 1e6), found[1], of)
    return None


def _fitting_frame(short: Int64, long: Int64, apart: int) -> tuple[float, int] | None:
    """The usual length of a frame, in ms, if whole numbers of frames were given as ``long``; and how many it fits."""
    if (long % SECOND).any():
        return None
    typical = float(np.median(short / long)) * 1000
    near, enough = np.minimum(apart, short / 20), long >= FEWEST_FRAMES * SECOND  # a few frames fit many lengths
    counts = {
        hop: int((enough & (np.abs(long * (hop / 1000) - short) <= near + hop * 1e6)).sum())
        for hop in USUAL_HOPS
        if hop <= LONGEST_FRAME
    }
    best = max(counts, key=lambda hop: (counts[hop], -abs(np.log(typical / hop))))
    return (best, counts[best]) if counts[best] >= MOST * short.size else None


def score_unit_remedy(last_ends: Int64, extents: Int64) -> str | None:
    """Find the unit of the scores' times, or of the others, with which the ends agree; scores may end a little early.

    >>> score_unit_remedy(np.array([1_800_000_000_000]), np.array([1_810_000_000]))
    'the times of the scores look like milliseconds: as seconds they would fit 1 of 1 utterances; write them in seconds'
    """
    return unit_remedy(last_ends, extents, "scores", LENGTHS, apart=SCORES_APART_NS)


def _frames_of(ns: float) -> str:
    return f"frames of {ns / 1e6:g} ms"


def _in_seconds(what: str, unit: str, count: int, of: str) -> str:
    return f"the {what} look like {unit}: as seconds they would fit {count:,} {of}; write them in seconds"


def pairing_remedy(no_scores: Sequence[str], no_reference: Sequence[str], common: int = 1) -> str:
    """Remedy about utterances that only one side has, given how many both have."""
    if (found := id_remedy(no_scores, no_reference)) is not None:
        return found
    if not common and no_scores and no_reference:
        return (
            f"references ({no_scores[0]!r}, ...) and scores ({no_reference[0]!r}, ...) have no utterance in common; "
            "give references and scores of one set"
        )
    return "complete the files, or measure the common utterances with partial=True"
