"""Small random corpora under random rules, for comparing the package with the brute force.

About four fifths of the cases are valid: there the data are made to fit the rules ("tame"). In the
others ("wild") anything may meet anything, so that errors are compared as well.
"""

from __future__ import annotations

import math
import random
import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from brute_force import frames

MS = 1_000_000
SAMPLE = 62_500
SNAP = 2 * MS
HOPS = (0.02, 0.01, 0.04, 0.16, 0.64, 0.0125, 1 / 3 * 0.1, 256 / 22050, 0.02 + 1e-9 / 3)
FORMATS = {"float16": "e", "float32": "f", "float64": "d"}


@dataclass
class Case:
    """One corpus with its rules: once in ns for the brute force, once in seconds for the package."""

    # ns, for the brute force
    references: dict[str, list[tuple[int, int, str]]]
    durations: dict[str, int] | None
    scores: dict[str, list[tuple[int, int, float]]]
    # the same in seconds: rint(seconds * 1e9) gives the ns above
    references_seconds: dict[str, list[tuple[float, float, str]]]
    durations_seconds: dict[str, float] | None
    scores_seconds: dict[str, list[tuple[float, float, float]]]
    # uniform frames: the values and where they lie; `values` is None for ranges
    values: dict[str, list[float]] | None
    hop: float | dict[str, float] | None
    start: float
    window: float | None
    # every value is exact in this dtype
    dtype: str
    higher: str
    # rules of both measurements (seconds), of the points only, and the EER rule
    rules: dict[str, Any]
    point_rules: dict[str, Any]
    eer_rule: str
    wild: bool

    def inputs(self):
        """The arguments of the brute force that are no rules."""
        names = ("references", "durations", "scores", "hop", "higher")
        return {name: getattr(self, name) for name in names}


def chance(rng, probability):
    return rng.random() < probability


def weighted(rng, **weights):
    """One of the keys; `_` stands for `-`."""
    key = rng.choices(list(weights), list(weights.values()))[0]
    return key.replace("_", "-")


def to_seconds(ns):
    seconds = ns / 1e9
    assert round(seconds * 1e9) == ns
    return seconds


def in_seconds(ranges):
    return {u: [(to_seconds(a), to_seconds(b), thing) for a, b, thing in rows] for u, rows in ranges.items()}


def precise(ns, tick):
    """The multiple of the tick next to this time."""
    return round(ns / tick) * tick


def representable(value, dtype):
    """The nearest value of the dtype."""
    code = FORMATS[dtype]
    return struct.unpack(code, struct.pack(code, value))[0]


# Rules


def random_rules(rng):
    rules = {
        "extent": weighted(rng, duration=70, cut_at_duration=15, last_range_end=15),
        "snap": rng.choice([0.0, 0.0, 0.0, 0.0, SNAP / 1e9]),
        "gaps": weighted(rng, error=35, bonafide=20, spoof=15, ignore=15, following=15),
        "nonspeech": weighted(rng, error=40, ignore=25, bonafide=20, spoof=15),
        "collar": rng.choice([0.0] * 9 + [0.005, 0.0213, to_seconds(rng.randrange(1, 50 * MS))]),
        "overlong": weighted(rng, error=60, cut=40),
        "last_frame": weighted(rng, use=70, drop=30),
        "overlap": weighted(rng, error=40, min=20, mean=20, centre=20),
        "slack": rng.choice([None, None, None, None, 0.0, 0.01, to_seconds(rng.randrange(1, 300 * MS))]),
        "uncovered": weighted(rng, error=30, hold=14, bonafide=14, spoof=14, ignore=14, unanswered=14),
        "partial": chance(rng, 0.25),
        "utterances": weighted(rng, all=80, drop_bonafide_CON=20),
        "regions": None,
    }
    return {name: rules[name] for name in rng.sample(sorted(rules), len(rules))}


def random_point_rules(rng, hop, longest):
    label = weighted(rng, any=35, majority=20, rounded=25, fraction=20)
    if label == "fraction":
        label = rng.choice([0.125, 0.25, 0.3, 1 / 3, 0.5, 0.7, 0.75, 1.0, "over(0.25)", "over(0.5)", "over(0.3)"])
    hops = [hop] if isinstance(hop, float) else list(hop.values()) if hop else [0.02, 0.3]
    ratio = rng.choice([1, 1, 0.5, 0.25, 2, 3, 4, 0.37, 1.7, 2.5, 1 / 3])
    resolution = rng.choice([rng.choice(hops) * ratio, 0.01, 0.02, 0.04, 0.16, 0.64])
    while longest / 1e9 / resolution > 200:
        resolution *= 2
    while resolution >= 2 and longest / 1e9 / resolution < 100:  # longer than every utterance, it would be refused
        resolution /= 2
    last_point = weighted(rng, use=55, round=20, drop=10, scored=15)
    pooling = weighted(rng, min=70, max=30)
    return {"label": label, "last_point": last_point, "pooling": pooling, "resolution": resolution}


# Scores: first where they lie


def random_hops(rng, utterances):
    if chance(rng, 0.3):
        return {utterance: rng.choice(HOPS) for utterance in utterances}
    return rng.choice(HOPS)


def random_window(rng, hop, rules, wild):
    """Longer windows need an overlap rule, shorter ones leave gaps."""
    if chance(rng, 0.5):
        return None
    hops = list(hop.values()) if isinstance(hop, dict) else [hop]
    factors = [1.0]
    if rules["overlap"] != "error" or wild:
        factors += [1.25, 2.0, 3.0, 1.1]
    if rules["uncovered"] != "error" or wild:
        factors += [0.5]
    factor = rng.choice(factors)
    return max(hops) if factor == 1.0 else to_seconds(round(max(hops) * factor * 1e9))


def random_start(rng, hop, rules, wild):
    shortest = min(hop.values()) if isinstance(hop, dict) else hop
    starts = [0.0] * 4 + [to_seconds(-round(shortest * part * 1e9)) for part in (rng.random(), 1.5)]
    if rules["uncovered"] != "error" or wild:
        starts += [0.01, to_seconds(round(rng.random() * 2e9 * shortest))]
    return rng.choice(starts)


def random_ranges(rng, count, rules, wild, tick):
    """Score ranges of any length; gaps and overlaps where the rules can take them."""
    gaps = (rules["uncovered"] != "error" or wild) and chance(rng, 0.5)
    overlaps = (rules["overlap"] != "error" or wild) and chance(rng, 0.5)
    nested = overlaps and rules["overlap"] in ("min", "mean") and chance(rng, 0.4)
    edge = tick * rng.randrange(1, 500) if gaps and chance(rng, 0.4) else 0
    out = []
    for _ in range(count):
        length = rng.choice([20 * MS, 150 * MS, 600 * MS, 3500 * MS]) * (0.5 + rng.random())
        length = max(tick, precise(length, tick))
        start = edge
        if out and gaps and chance(rng, 0.4):
            start += precise(rng.random() * 60 * MS, tick)
        elif out and overlaps and chance(rng, 0.6):
            shared = min(length, out[-1][1] - out[-1][0]) - tick
            start -= precise(rng.random() * shared * 0.9, tick)
            start = max(start, out[-1][0] + tick)
        end = start + length
        if nested and out and chance(rng, 0.5):
            end = max(start + tick, out[-1][1] - tick)
        elif out:
            end = max(end, out[-1][1] + tick)
        out.append((start, end))
        edge = max(edge, end)
    return out


# References: the extent relative to the last score, then the labels


def random_extent(rng, ranges, slack, rules, wild, tick):
    """Tails of all lengths: inside and beyond the slack, frames that stick out, frames past the end."""
    if not ranges:
        return tick * rng.randrange(1, 2000)
    last_start, last_end = ranges[-1][0], max(end for _, end in ranges)
    kinds = ["exact"] * 3 + ["held"] * 3 + ["slack"]
    may_end_early = rules["uncovered"] != "error" or wild
    if may_end_early:
        kinds += ["beyond"] * 3
    if rules["last_frame"] == "use" or last_end - last_start <= slack or may_end_early:
        kinds += ["stick"] * 3
    kinds += ["late"] * 2
    if rules["overlong"] == "cut" or wild:
        kinds += ["overlong"]
    kind = rng.choice(kinds)
    if kind == "held":
        extent = last_end + rng.randrange(0, max(1, slack - tick // 2 + 1))
    elif kind == "slack":
        extent = last_end + slack + rng.choice([0, 0, 1 if may_end_early else 0])
        return max(1, extent)
    elif kind == "beyond":
        extent = last_end + slack + 1 + rng.randrange(0, 400 * MS)
    elif kind == "stick":
        extent = rng.randrange(min(last_start, last_end - 1) + 1, last_end + 1)
    elif kind == "late":
        extent = ranges[-min(len(ranges), rng.randrange(1, 3))][0]
    elif kind == "overlong":
        extent = ranges[-min(len(ranges), rng.randrange(3, 6))][0] + rng.randrange(0, 2)
    else:
        extent = last_end
    if kind not in ("exact", "late"):
        extent = precise(extent, tick)
    return extent if extent > 0 else max(tick, last_end)


def random_labels(rng, extent, edges, rules, wild, fits_end, tick):
    """Ranges over [0, extent); gaps (start, middle, end) and nonspeech where the rules can take them."""
    least = 3 * SNAP if rules["snap"] else 1
    cuts = {0, extent}
    for _ in range(rng.randrange(0, 5)):
        inside = [edge for edge in edges if 0 < edge < extent]
        cut = precise(rng.random() * extent, tick)
        if inside and chance(rng, 0.3):
            cut = rng.choice(inside)
        if all(abs(cut - other) >= least for other in cuts) and 0 < cut < extent:
            cuts.add(cut)
    cuts = sorted(cuts)
    labels = ["bonafide", "spoof"] * 3
    if rules["nonspeech"] != "error" or (wild and chance(rng, 0.3)):
        labels += ["nonspeech"]
    may_gap = rules["gaps"] != "error" or (wild and chance(rng, 0.3))
    out = []
    for start, end in pairwise(cuts):
        at_end = end == extent and (fits_end or rules["gaps"] == "following") and not wild
        if may_gap and not at_end and len(cuts) > 2 and chance(rng, 0.3):
            continue
        out.append((start, end, rng.choice(labels)))
    return out


def disturb(rng, ranges, rules, wild):
    """Small mismatches between edges, for `snap`."""
    if not rules["snap"]:
        return ranges
    out = [list(r) for r in ranges]
    reach = SNAP + (rng.randrange(0, 2) if wild else 0)
    for a, b in pairwise(out):
        if a[1] == b[0] and chance(rng, 0.6):
            a[1] += rng.choice([-reach, reach, rng.randrange(-reach, reach + 1), MS, -MS])
    if out and out[0][0] == 0 and chance(rng, 0.4):
        out[0][0] = rng.choice([reach, rng.randrange(0, reach + 1)])
    if out and chance(rng, 0.5):
        out[-1][1] += rng.choice([-reach, reach, rng.randrange(-reach, reach + 1)])
    return [tuple(r) for r in out if r[0] < r[1]]


def lengthen(rng, ranges, extent, rules, wild):
    """Ranges past the duration, for `cut-at-duration`."""
    if not ranges or (rules["extent"] != "cut-at-duration" and not (wild and chance(rng, 0.1))):
        return ranges
    out = list(ranges)
    if chance(rng, 0.5):
        start, end, label = out[-1]
        if end >= extent:
            out[-1] = (start, end + rng.randrange(1, 900 * MS), label)
    if chance(rng, 0.3):
        start = max(extent, out[-1][1]) + rng.choice([0, rng.randrange(0, 100 * MS)])
        out.append((start, start + rng.randrange(1, 500 * MS), rng.choice(["bonafide", "spoof"])))
    return out


def clutter(rng, ranges, wild):
    """Split, empty, unsorted and (rarely) overlapping ranges."""
    out = list(ranges)
    if out and chance(rng, 0.15):
        i = rng.randrange(len(out))
        start, end, label = out[i]
        middle = (start + end) // 2
        if start < middle < end:
            out[i : i + 1] = [(start, middle, label), (middle, end, label)]
            if chance(rng, 0.5):
                out[i] = (start, (middle + end) // 2, label)
    if out and chance(rng, 0.1):
        instant = rng.choice(out)[0]
        out.append((instant, instant, rng.choice(["bonafide", "spoof"])))
    if out and wild and chance(rng, 0.05):
        start, end, label = out[0]
        out.append((start, end, "spoof" if label == "bonafide" else "bonafide"))
    if chance(rng, 0.15):
        rng.shuffle(out)
    return out


# Score values


def value_source(rng, dtype, rules):
    """A function of the label that draws a score in bona fide polarity."""
    kind = rng.choice(["few", "few", "ties", "ties", "fine", "fine", "fine", "constant", "saturated"])
    skill = rng.choice([2.0, 1.0, 1.0, 0.5, 0.0, -1.0, -2.0])
    pool = [representable(rng.uniform(-2, 2), dtype) for _ in range(rng.randrange(2, 4))] + [0.0, -0.0]
    infinities = []
    if chance(rng, 0.2):
        infinities = rng.choice([[math.inf], [-math.inf], [math.inf, -math.inf]])
        if rules["overlap"] == "mean":
            infinities = infinities[:1]

    def draw(label):
        centre = {"bonafide": skill, "spoof": -skill}.get(label, 0.0)
        if infinities and chance(rng, 0.15):
            return rng.choice(infinities)
        if chance(rng, 0.05):
            return rng.choice([0.0, -0.0])
        value = rng.gauss(centre / 2, 1.0)
        if kind == "constant":
            return pool[0]
        if kind == "few":
            return min(pool, key=lambda v: abs(v - value))
        if kind == "ties":
            return representable(round(value, 1), dtype)
        if kind == "saturated":
            return representable(1 / (1 + math.exp(-8 * value)), dtype)
        return representable(value, dtype)

    return draw, bool(infinities)


def label_at(ranges, instant):
    for start, end, label in ranges:
        if start <= instant < end:
            return label
    return None


# Everything together


def random_regions(rng, extents):
    """Listed ranges of most utterances; some stick out of the extent."""
    out = {}
    for utterance, extent in extents.items():
        if chance(rng, 0.15):
            continue
        edges = sorted(rng.sample(range(extent + 50 * MS), rng.choice([2, 2, 4])))
        if chance(rng, 0.4):
            edges[0] = 0
        pairs = zip(edges[::2], edges[1::2], strict=True)
        out[utterance] = [(to_seconds(a), to_seconds(b)) for a, b in pairs]
    return out


def random_names(rng):
    count = rng.choice([1, 2, 3, 3, 4, 4, 5, 5])
    names = [f"{rng.choice(['u', 'CON_', 'x-con', 'é'])}{i}" for i in range(count)]
    rng.shuffle(names)
    return names


def shuffled(rng, mapping):
    keys = list(mapping)
    rng.shuffle(keys)
    return {key: mapping[key] for key in keys}


def random_layout(rng, utterances, rules, wild, tick):
    """Where the scores lie: hop, start, window, and the ranges of each utterance."""
    counts = {u: rng.randrange(1, 13) if chance(rng, 0.97) else 0 for u in utterances}
    if not wild and rules["uncovered"] in ("error", "hold"):
        counts = {u: max(1, count) for u, count in counts.items()}
    if chance(rng, 0.35):
        layout = {u: random_ranges(rng, counts[u], rules, wild, tick) for u in utterances}
        return None, 0.0, None, layout
    hop = random_hops(rng, utterances)
    start = random_start(rng, hop, rules, wild)
    window = random_window(rng, hop, rules, wild) if rules["overlap"] != "error" or chance(rng, 0.3) else None
    if isinstance(hop, dict) and window is not None and rules["overlap"] == "error" and not wild:
        window = None
    layout = {}
    for u in utterances:
        one_hop = hop[u] if isinstance(hop, dict) else hop
        made = frames([0.0] * counts[u], one_hop, start, window)
        layout[u] = [(begin, end) for begin, end, _ in made]
    return hop, start, window, layout


def random_durations(rng, extents, rules):
    """The durations, or None; under `last-range-end` they say something else."""
    if rules["extent"] == "last-range-end":
        extents = {u: max(1, extent + rng.randrange(-MS, 900 * MS)) for u, extent in extents.items()}
        return None if chance(rng, 0.4) else extents
    return None if chance(rng, 0.15) else dict(extents)


def random_case(rng: random.Random) -> Case:
    """One random corpus with its rules."""
    wild = chance(rng, 0.14)
    rules = random_rules(rng)
    tick = rng.choice([MS, MS, SAMPLE, SAMPLE, 1])
    utterances = random_names(rng)
    hop, start, window, layout = random_layout(rng, utterances, rules, wild, tick)
    slacks = {}
    for u in utterances:
        one_hop = hop[u] if isinstance(hop, dict) else hop
        default = 25 * MS + (round(one_hop * 1e9) if one_hop else 0)
        slacks[u] = default if rules["slack"] is None else round(rules["slack"] * 1e9)
    extents = {u: random_extent(rng, layout[u], slacks[u], rules, wild, tick) for u in utterances}
    durations = random_durations(rng, extents, rules)
    fits_end = durations is None or rules["extent"] == "last-range-end"
    labelled = {}
    for u in utterances:
        edges = [edge for r in layout[u] for edge in r]
        labelled[u] = random_labels(rng, extents[u], edges, rules, wild, fits_end, tick)
    both_classes(rng, labelled)
    references = {}
    for u in utterances:
        made = disturb(rng, labelled[u], rules, wild)
        if durations is not None:
            made = lengthen(rng, made, extents[u], rules, wild)
        references[u] = clutter(rng, made, wild)
    if chance(rng, 0.12):
        rules["regions"] = random_regions(rng, extents)
    higher = rng.choice(["bonafide", "spoof"])
    dtype = rng.choice(list(FORMATS))
    draw, infinite = value_source(rng, dtype, rules)
    sign = 1 if higher == "bonafide" else -1
    scores = {}
    for u in utterances:
        scores[u] = [(a, b, sign * draw(label_at(labelled[u], (a + b) // 2))) for a, b in layout[u]]
    one_sided(rng, references, scores, durations, rules, wild)
    references, scores = shuffled(rng, references), shuffled(rng, scores)
    if isinstance(hop, dict):
        hop = {u: hop[u] for u in scores}
    values = None if hop is None else {u: [value for _, _, value in rows] for u, rows in scores.items()}
    return Case(
        references=references,
        durations=durations,
        scores=scores,
        references_seconds=in_seconds(references),
        durations_seconds=None if durations is None else {u: to_seconds(d) for u, d in durations.items()},
        scores_seconds=in_seconds(scores),
        values=values,
        hop=hop,
        start=start,
        window=window,
        dtype=dtype,
        higher=higher,
        rules=rules,
        point_rules=random_point_rules(rng, hop, max(extents.values())),
        eer_rule=random_eer_rule(rng, infinite),
        wild=wild,
    )


def both_classes(rng, labelled):
    """Most corpora have both classes."""
    named = {label for ranges in labelled.values() for _, _, label in ranges}
    for label in sorted({"bonafide", "spoof"} - named):
        u = rng.choice(list(labelled))
        if labelled[u] and chance(rng, 0.9):
            i = rng.randrange(len(labelled[u]))
            start, end, old = labelled[u][i]
            middle = start + (end - start) // 2
            if start < middle < end:
                labelled[u][i : i + 1] = [(start, middle, old), (middle, end, label)]


def one_sided(rng, references, scores, durations, rules, wild):
    """Take utterances away from one side."""
    if not (rules["partial"] or (wild and chance(rng, 0.2))) or len(references) < 2:
        return
    for u in rng.sample(sorted(references), rng.randrange(0, len(references))):
        if chance(rng, 0.5):
            del scores[u]
        else:
            del references[u]
            if durations is not None:
                durations.pop(u, None)
        if chance(rng, 0.7):
            return


def random_eer_rule(rng, infinite):
    rules = ["nearest"] * 6 + ["interpolated"] * 2 + ["convex-hull"] * 2
    if not infinite:
        rules += ["bucketed(-4,4,100)", "bucketed(-2,2,7)", "bucketed(2max,50)"]
    return rng.choice(rules)
