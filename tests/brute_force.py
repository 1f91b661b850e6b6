"""A second, independent implementation of docs/rules.md: slow, exact, one instant at a time.

It shares no code with the package. Times are integers of nanoseconds, rates are fractions, and every
step is written down in the order of the rules. Inputs:

    references  {utterance: [(start_ns, end_ns, "bonafide" | "spoof" | "nonspeech")]}
    durations   {utterance: ns} or None
    scores      {utterance: [(start_ns, end_ns, value)]}, in their original polarity
    hop         seconds, {utterance: seconds}, or None for ranges; it decides the default slack only
    higher      "bonafide" | "spoof"
    **rules     the fields of `Rules`, times in seconds

Inside, "pieces" are a list of (start, end, thing) that do not overlap.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction


class BadData(Exception):  # noqa: N818
    """The rules call this an error."""


class Undefined(Exception):  # noqa: N818
    """The rules call this undefined."""


@dataclass(frozen=True)
class Rules:
    """Every rule with its default; times in seconds."""

    extent: str = "duration"
    snap: float = 0.0
    gaps: str = "error"
    nonspeech: str = "error"
    collar: float = 0.0
    collar_edges: str = "inside"
    regions: dict | None = None
    overlong: str = "error"
    last_frame: str = "use"
    overlap: str = "error"
    slack: float | None = None
    uncovered: str = "error"
    partial: bool = False
    utterances: str = "all"
    label: str | float = "any"
    last_point: str = "use"
    pooling: str = "min"
    resolution: float | None = None


@dataclass(frozen=True)
class OperatingPoint:
    """The rates at one candidate; `everything` marks the one that calls everything spoof."""

    threshold: float
    everything: bool
    fpr: Fraction
    fnr: Fraction


@dataclass(frozen=True)
class EqualErrorRate:
    """The value, the operating point it was read from, and the two around the crossing."""

    value: Fraction
    fpr: Fraction
    fnr: Fraction
    threshold: float
    everything: bool
    gap: Fraction
    below: OperatingPoint | None
    above: OperatingPoint | None


@dataclass(frozen=True)
class Confusion:
    """Amounts (ns or points) at one threshold."""

    fp: int
    fn: int
    tp: int
    tn: int


# Helpers


def nanoseconds(seconds):
    """rint(seconds * 1e9); round() of a float is half to even, as rint."""
    return round(seconds * 1e9)


def overlap(a_start, a_end, b_start, b_end):
    """Eq. 7."""
    return max(0, min(a_end, b_end) - max(a_start, b_start))


def at(pieces, instant):
    """What the pieces say at this instant, None if nothing."""
    for start, end, thing in pieces:
        if start <= instant < end:
            return thing
    return None


def cells(extent, edges):
    """[0, extent) cut at all edges."""
    inside = sorted({0, extent} | {edge for edge in edges if 0 < edge < extent})
    return neighbours(inside)


def neighbours(items):
    """Every item with the next one."""
    return [(items[i], items[i + 1]) for i in range(len(items) - 1)]


def edges_of(pieces):
    """Every start and end."""
    return [edge for start, end, _ in pieces for edge in (start, end)]


# The reference of one utterance


def clean_ranges(ranges):
    """Rule 1: sorted, without empty ones; overlapping ranges of one label joined, and neighbours that touch."""
    ranges = sorted(r for r in ranges if r[0] < r[1])
    while True:
        for i, j in itertools.combinations(range(len(ranges)), 2):
            a, b = ranges[i], ranges[j]
            if a[2] == b[2] and (b[0] < a[1] or (b[0] == a[1] and j == i + 1)):
                rest = [r for k, r in enumerate(ranges) if k not in (i, j)]
                ranges = sorted([*rest, (a[0], max(a[1], b[1]), a[2])])
                break
        else:
            return ranges


def refuse_contradictions(ranges):
    """Rule 3: ranges of two labels that start together, and one that ends inside of another, whatever `snap` is."""
    if any(a[0] == b[0] and a[2] != b[2] and a[0] < a[1] and b[0] < b[1] for a in ranges for b in ranges):
        raise BadData("ranges of two labels start together")
    ranges = clean_ranges(ranges)
    for a in ranges:
        for b in ranges:
            if a[2] != b[2] and a[0] <= b[0] and overlap(a[0], a[1], b[0], b[1]) and (a[0] == b[0] or b[1] < a[1]):
                raise BadData("a range within the time of another label")


def names_both_classes(references):
    """Rule 2: over all the references."""
    named = {label for ranges in references.values() for start, end, label in ranges if start < end}
    return "bonafide" in named and "spoof" in named


def extent_of(ranges, duration, both_classes, rules):
    """Rule 2."""
    last_end = max((end for _, end, _ in ranges), default=0)
    if rules.extent == "last-range-end":
        return last_end
    if duration is None:
        if not both_classes:
            raise BadData("no duration, and the references name one class only")
        return last_end
    if rules.extent == "duration" and last_end - duration > nanoseconds(rules.snap):
        raise BadData("a range ends past the duration")
    if rules.extent == "duration" and any(start >= duration for start, _, _ in ranges):
        raise BadData("a range lies past the duration")
    return duration


def snapped(ranges, extent, rules):
    """Rule 3 (and the cut of rule 2): ranges within [0, extent) that do not overlap."""
    snap = nanoseconds(rules.snap)
    if rules.extent == "cut-at-duration":
        ranges = [(start, min(end, extent), label) for start, end, label in ranges if start < extent]
    ranges = [list(r) for r in ranges]
    for a, b in neighbours(ranges):
        if 0 < abs(b[0] - a[1]) <= snap:
            a[1] = b[0]
    if ranges:
        first = ranges[0]
        if first[0] <= snap:
            first[0] = 0
        last = max(ranges, key=lambda r: r[1])
        if abs(extent - last[1]) <= snap:
            last[1] = extent
    for i, a in enumerate(ranges):
        for b in ranges[i + 1 :]:
            if a[2] != b[2] and overlap(a[0], a[1], b[0], b[1]) > 0:
                raise BadData("ranges of different labels overlap")
    cut = [(max(0, start), min(end, extent), label) for start, end, label in ranges]
    return [r for r in cut if r[0] < r[1]]


def fill_gap(ranges, instant, rules):
    """Rule 4: the label of an instant under no range."""
    if rules.gaps == "error":
        raise BadData("a gap in the reference")
    if rules.gaps == "following":
        following = [r for r in ranges if r[0] > instant]
        if not following:
            raise BadData("a gap that no range follows")
        return min(following)[2]
    return rules.gaps


def judge_nonspeech(label, rules):
    """Rule 5; afterwards a label is bonafide, spoof or ignore."""
    if label != "nonspeech":
        return label
    if rules.nonspeech == "error":
        raise BadData("a nonspeech range")
    return rules.nonspeech


def reference_pieces(utterance, ranges, duration, both_classes, rules):
    """Rules 1 to 7: the extent, and one label for every instant of it."""
    ranges = clean_ranges(ranges)
    extent = extent_of(ranges, duration, both_classes, rules)
    ranges = snapped(ranges, extent, rules)
    pieces = []
    for start, end in cells(extent, edges_of(ranges)):
        label = at(ranges, start)
        if label is None:
            label = fill_gap(ranges, start, rules)
        pieces.append((start, end, judge_nonspeech(label, rules)))
    pieces = apply_collar(pieces, extent, rules)
    return extent, apply_regions(utterance, pieces, extent, rules)


def apply_collar(pieces, extent, rules):
    """Rule 6."""
    collar = nanoseconds(rules.collar)
    changes = [b[0] for a, b in neighbours(pieces) if a[2] != b[2]]
    if rules.collar_edges == "all":
        changes += [edge for piece in pieces for edge in piece[:2] if edge in (0, extent) and piece[2] == "spoof"]
    ignored = [(edge - collar, edge + collar) for edge in changes]
    return ignore(pieces, extent, ignored, inside=True)


def apply_regions(utterance, pieces, extent, rules):
    """Rule 7."""
    if rules.regions is None:
        return pieces
    regions = rules.regions.get(utterance, [])
    regions = [(nanoseconds(start), nanoseconds(end)) for start, end in regions]
    return ignore(pieces, extent, regions, inside=False)


def ignore(pieces, extent, ranges, inside):
    """The pieces, with the time inside (or outside) of the ranges ignored."""
    edges = edges_of(pieces) + [edge for r in ranges for edge in r]
    out = []
    for start, end in cells(extent, edges):
        within = any(r[0] <= start < r[1] for r in ranges)
        out.append((start, end, "ignore" if within == inside else at(pieces, start)))
    return out


# The scores of one utterance


def frames(values, hop, start=0.0, window=None):
    """Rule 8: the ranges of uniform frames."""
    first = nanoseconds(start)
    out = []
    for k, value in enumerate(values):
        begin = first + round(k * hop * 1e9)
        end = first + round((k + 1) * hop * 1e9)
        if window is not None and window != hop:
            end = begin + nanoseconds(window)
        out.append((begin, end, float(value)))
    return out


def bona_fide_polarity(value, higher):
    """Mirror scores that are higher for spoof."""
    if math.isnan(value):
        raise BadData("a score is NaN")
    return value if higher == "bonafide" else -value


def within_extent(ranges, extent, rules):
    """Rules 9 and 10."""
    late = [r for r in ranges if r[0] >= extent]
    if len(late) > 2 and rules.overlong == "error":
        raise BadData("scores past the end")
    out = []
    for start, end, score in ranges:
        if start >= extent:
            continue
        if end > extent and rules.last_frame == "drop":
            continue
        out.append((start, min(end, extent), score))
    if not out and rules.uncovered == "hold":  # there must be one to hold
        out = [(start, extent, score) for start, _, score in ranges if start < extent][:1]
    return out


def any_overlap(ranges):
    """Whether two of the ranges share an instant."""
    for i, a in enumerate(ranges):
        for b in ranges[i + 1 :]:
            if overlap(a[0], a[1], b[0], b[1]) > 0:
                return True
    return False


def centred(ranges):
    """Rule 11, `centre`: move the border of consecutive overlapping ranges between their centres."""
    out = [list(r) for r in ranges]
    for i in range(len(ranges) - 1):
        a, b = ranges[i], ranges[i + 1]
        if b[1] < a[1]:
            raise BadData("ranges within ranges have no border to move")
        if a[:2] == b[:2] and a[2] != b[2]:
            raise BadData("two scores over the same time have one centre")
        if overlap(a[0], a[1], b[0], b[1]) > 0:
            border = (a[0] + a[1] + b[0] + b[1]) // 4
            border = min(max(border, b[0]), a[1])
            out[i][1] = border
            out[i + 1][0] = border
    return [tuple(r) for r in out if r[0] < r[1]]


def mean(scores):
    """Rule 11, `mean`: exact, and rounded once."""
    infinite = {score for score in scores if math.isinf(score)}
    if len(infinite) == 2:
        raise BadData("the mean of opposite infinities")
    return infinite.pop() if infinite else float(sum(map(Fraction, scores)) / len(scores))


def without_overlap(ranges, rules):
    """Rule 11: one score at each instant."""
    ranges = sorted(ranges, key=lambda r: r[:2])
    if not any_overlap(ranges):
        return ranges
    if rules.overlap == "error":
        raise BadData("score ranges overlap")
    if rules.overlap == "centre":
        return centred(ranges)
    edges = sorted(set(edges_of(ranges)))
    pieces = []
    for start, end in neighbours(edges):
        here = [r[2] for r in ranges if r[0] <= start < r[1]]
        if here:
            pieces.append((start, end, min(here) if rules.overlap == "min" else mean(here)))
    return pieces


def slack_of(hop, rules):
    """Rule 12: the slack in ns."""
    if rules.slack is not None:
        return nanoseconds(rules.slack)
    return 25_000_000 + (0 if hop is None else nanoseconds(hop))


def hold_tail(pieces, extent, slack):
    """Rule 12."""
    if not pieces:
        return pieces
    start, end, score = pieces[-1]
    if extent - end > slack:
        return pieces
    return [*pieces[:-1], (start, extent, score)]


def hold_all(pieces, extent):
    """Rule 13, `hold`."""
    out = []
    for i, (start, _, score) in enumerate(pieces):
        begin = min(0, start) if i == 0 else start
        end = pieces[i + 1][0] if i + 1 < len(pieces) else extent
        out.append((begin, end, score))
    return out


def score_pieces(ranges, hop, higher, extent, rules):
    """Rules 9 to 12, and `hold`: one score in bona fide polarity for every covered instant."""
    ranges = [(start, end, bona_fide_polarity(value, higher)) for start, end, value in ranges]
    ranges = within_extent(ranges, extent, rules)
    pieces = without_overlap(ranges, rules)
    pieces = hold_tail(pieces, extent, slack_of(hop, rules))
    if rules.uncovered == "hold":
        pieces = hold_all(pieces, extent)
    return pieces


def check_covered(labels, pieces, extent, rules):
    """Rule 13: labelled time under no score (`hold` leaves some only where there is no score at all)."""
    if rules.uncovered not in ("error", "hold"):
        return
    for start, _ in cells(extent, edges_of(labels) + edges_of(pieces)):
        if at(labels, start) != "ignore" and at(pieces, start) is None:
            raise BadData("labelled time under no score")


# Which utterances


def chosen_utterances(references, scores, rules):
    """Rule 14."""
    if set(references) != set(scores) and not rules.partial:
        raise BadData("utterances on one side only")
    return [utterance for utterance in references if utterance in scores]


def measured_utterances(references, durations, scores, hop, higher, rules):
    """Rules 1 to 15: (extent, labels, scores) of each utterance that counts."""
    for ranges in references.values():
        refuse_contradictions(ranges)
    both_classes = names_both_classes(references)
    for utterance in chosen_utterances(references, scores, rules):
        duration = None if durations is None else durations.get(utterance)
        extent, labels = reference_pieces(utterance, references[utterance], duration, both_classes, rules)
        has_spoof = any(label == "spoof" for _, _, label in labels)
        if rules.utterances == "drop-bonafide-CON" and utterance.startswith("CON") and not has_spoof:
            continue
        one_hop = hop[utterance] if isinstance(hop, dict) else hop
        pieces = score_pieces(scores[utterance], one_hop, higher, extent, rules)
        check_covered(labels, pieces, extent, rules)
        yield extent, labels, pieces


# Range-based and point-based measurement


def range_entries(references, durations, scores, hop, higher, **rules):
    """Eqs. 5-7: (score or None, bona fide ns, spoof ns) of every cell of labelled time."""
    rules = Rules(**rules)
    entries = []
    for extent, labels, pieces in measured_utterances(references, durations, scores, hop, higher, rules):
        for start, end in cells(extent, edges_of(labels) + edges_of(pieces)):
            label, score = at(labels, start), at(pieces, start)
            if label == "ignore" or (score is None and rules.uncovered == "ignore"):
                continue
            length = end - start
            entries.append((score, length, 0) if label == "bonafide" else (score, 0, length))
    return entries


def point_ranges(extent, rules, reach):
    """Rule 16; scores reach to ``reach``."""
    out, k = [], 0
    while round(k * rules.resolution * 1e9) < extent:
        start = round(k * rules.resolution * 1e9)
        end = round((k + 1) * rules.resolution * 1e9)
        share = {"use": 0, "round": Fraction(1, 2), "drop": 1, "scored": 1}[rules.last_point]
        if rules.last_point == "scored" and end > reach:
            break
        if min(end, extent) - start >= share * (end - start):
            out.append((start, min(end, extent)))
        k += 1
    return out


def ignore_uncovered(labels, pieces, extent):
    """Rule 17."""
    out = []
    for start, end in cells(extent, edges_of(labels) + edges_of(pieces)):
        out.append((start, end, "ignore" if at(pieces, start) is None else at(labels, start)))
    return out


def time_of(label, pieces, start, end):
    """How much of [start, end) has this label."""
    return sum(overlap(start, end, a, b) for a, b, thing in pieces if thing == label)


def rounded_label(k, labels, rules):
    """Rule 18, `rounded`: the label of point k on the grid, spoof where nothing is left."""
    grid = nanoseconds(rules.resolution)
    for start, end, label in runs(labels):
        if round(Fraction(start, grid)) <= k < round(Fraction(end, grid)):
            return label
    return "spoof"


def runs(labels):
    """Neighbouring pieces of one label joined."""
    out = []
    for start, end, label in labels:
        if out and out[-1][2] == label:
            out[-1] = (out[-1][0], end, label)
        else:
            out.append((start, end, label))
    return out


def point_label(k, start, end, labels, rules):
    """Rule 18: bonafide, spoof, or ignore for a point that is not counted."""
    spoof = time_of("spoof", labels, start, end)
    labelled = spoof + time_of("bonafide", labels, start, end)
    if labelled == 0:
        return "ignore"
    if rules.label == "rounded":
        return rounded_label(k, labels, rules)
    if rules.label == "any":
        is_spoof = spoof > 0
    elif rules.label == "majority":
        is_spoof = 2 * spoof >= labelled
    elif str(rules.label).startswith("over("):
        is_spoof = spoof > Fraction(rules.label[5:-1]) * labelled
    else:
        is_spoof = spoof >= Fraction(rules.label) * labelled
    return "spoof" if is_spoof else "bonafide"


def point_score(start, end, pieces, pooling="min"):
    """Rule 19; the mean of finite scores is exact, and rounded once."""
    under = [(score, overlap(start, end, a, b)) for a, b, score in pieces if overlap(start, end, a, b) > 0]
    if not under:
        return None
    if pooling == "mean":
        total = sum(Fraction(score) * lasted for score, lasted in under)
        return float(total / sum(lasted for _, lasted in under))
    if pooling.startswith("top-k"):
        lowest = sorted(score for score, _ in under)[: int(pooling[6:-1])]
        return float(sum(map(Fraction, lowest)) / len(lowest))
    return {"min": min, "max": max}[pooling](score for score, _ in under)


def point_entries(references, durations, scores, hop, higher, **rules):
    """Eqs. 1-2: (score or None, 1, 0) of every bona fide point, (score or None, 0, 1) of a spoof point."""
    rules = Rules(**rules)
    entries = []
    for extent, labels, pieces in measured_utterances(references, durations, scores, hop, higher, rules):
        if rules.uncovered == "ignore":
            labels = ignore_uncovered(labels, pieces, extent)
        for k, (start, end) in enumerate(point_ranges(extent, rules, max((end for _, end, _ in pieces), default=0))):
            label = point_label(k, start, end, labels, rules)
            if label == "ignore":
                continue
            score = point_score(start, end, pieces, rules.pooling)
            entries.append((score, 1, 0) if label == "bonafide" else (score, 0, 1))
    return entries


# Rates and equal error rate


def confusion(entries, tau, uncovered, everything=False):
    """Spoof is called iff s < tau; `everything` calls all scored time spoof."""
    fp = fn = tp = tn = 0
    for score, bona_fide, spoof in entries:
        if score is None:
            called_spoof, called_bona_fide = uncovered == "spoof", uncovered == "bonafide"
        else:
            called_spoof = everything or score < tau
            called_bona_fide = not called_spoof
        if called_spoof:
            fp += bona_fide
            tp += spoof
        if called_bona_fide:
            fn += spoof
            tn += bona_fide
    return Confusion(fp, fn, tp, tn)


def operating_points(entries, uncovered):
    """Rules 20 and 22: the rates at every candidate, ascending, each counted from scratch."""
    negatives = sum(bona_fide for _, bona_fide, _ in entries)
    positives = sum(spoof for _, _, spoof in entries)
    scored = [entry for entry in entries if entry[0] is not None and entry[1] + entry[2] > 0]
    taus = sorted({score for score, _, _ in scored})
    if negatives == 0 or positives == 0 or not taus:
        raise Undefined("one class only, or no scored time")
    points = []
    for tau, everything in [(tau, False) for tau in taus] + [(math.inf, True)]:
        counts = confusion(entries, tau, uncovered, everything)
        fpr, fnr = Fraction(counts.fp, negatives), Fraction(counts.fn, positives)
        points.append(OperatingPoint(tau, everything, fpr, fnr))
    return points


def crossing(p, q):
    """The rate at which the segment from p to q crosses FPR = FNR, None if it does not."""
    before, after = p.fpr - p.fnr, q.fpr - q.fnr
    if before == 0:
        return p.fpr
    if after == 0:
        return q.fpr
    if (before > 0) == (after > 0):
        return None
    return p.fpr + (q.fpr - p.fpr) * before / (before - after)


def crossing_of(points, eer_rule):
    """Rule 21, `interpolated` (neighbouring points) and `convex-hull` (the lowest over all pairs)."""
    pairs = [(p, q) for p in points for q in points]
    if eer_rule == "interpolated":
        pairs = neighbours(points)
    values = [value for value in (crossing(p, q) for p, q in pairs) if value is not None]
    if not values:
        raise Undefined("FPR and FNR never cross")
    return values[0] if eer_rule == "interpolated" else min(values)


def bucketed(entries, eer_rule):
    """Rule 21, `bucketed(lo,hi,n)` and `bucketed(2max,n)`: entries with the (mirrored) bucket as score."""
    arguments = eer_rule[len("bucketed(") : -1].split(",")
    count = int(arguments[-1])
    if arguments[0].strip() == "2max":
        high = 2 * max((abs(score) for score, _, _ in entries if score is not None), default=0.0)
        low = -high
    else:
        low, high = float(arguments[0]), float(arguments[1])
    return [(s if s is None else -bucket(-s, low, high, count), b, p) for s, b, p in entries]


def bucket(score, low, high, count):
    """The bucket of one score in spoof polarity."""
    if low == high or not low <= score <= high:
        raise BadData("no bucket")
    return math.floor((score - low) / (high - low) * count)


def eer(entries, uncovered, eer_rule="nearest", last_on_tie=False):
    """Rule 21."""
    points = operating_points(entries, uncovered)
    if eer_rule.startswith("bucketed"):
        return eer(bucketed(entries, eer_rule), uncovered, last_on_tie=True)
    best = points[-1] if last_on_tie else points[0]
    for point in points if not last_on_tie else reversed(points):
        if abs(point.fpr - point.fnr) < abs(best.fpr - best.fnr):
            best = point
    value = (best.fpr + best.fnr) / 2 if eer_rule == "nearest" else crossing_of(points, eer_rule)
    below = [point for point in points if point.fpr < point.fnr]
    above = [point for point in points if point.fpr >= point.fnr]
    return EqualErrorRate(
        value=value,
        fpr=best.fpr,
        fnr=best.fnr,
        threshold=best.threshold,
        everything=best.everything,
        gap=abs(best.fpr - best.fnr),
        below=below[-1] if below else None,
        above=above[0] if above else None,
    )


def range_eer(references, durations, scores, hop, higher, eer_rule="nearest", **rules):
    """The range-based equal error rate."""
    entries = range_entries(references, durations, scores, hop, higher, **rules)
    return eer(entries, Rules(**rules).uncovered, eer_rule)


def point_eer(references, durations, scores, hop, higher, eer_rule="nearest", **rules):
    """The point-based equal error rate."""
    entries = point_entries(references, durations, scores, hop, higher, **rules)
    return eer(entries, Rules(**rules).uncovered, eer_rule)
