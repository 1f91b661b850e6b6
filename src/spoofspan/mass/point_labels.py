"""The labels of points (rule 18 of ``docs/rules.md``), as runs of points of one label.

Most points lie in a range of one label, and keep it. Only a point with an edge of the reference inside is looked at::

    reference   |   bona fide   |     spoof      | bona fide |
    points      |  0  |  1  |  2  |  3  |  4  |  5  |  6  |  7  |
    label=any      b     b     S     s     s     S     b     b      runs that end at points 2, 6 and 8

The result is a labelling whose time is counted in points, so what is laid over one lays over the other.

**Boundary points**, where spoof begins or ends, are for scores that say how likely a boundary is. A point is one if it
is spoof and the point before or after it is bona fide, as in the labels that BAM trains its boundary branch with::

    points      b b s s s b b s b b
    boundaries      x   x     x
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from spoofspan.base.columns import Flags, blocks, kept_offsets, last_rows, utterance_of_rows, within_utterances
from spoofspan.base.errors import UsageError
from spoofspan.base.times import Float64, Int64, duration_ns
from spoofspan.data.references import BONA_FIDE, NONSPEECH, SPOOF, Labels, References
from spoofspan.data.rules import Rules
from spoofspan.mass.grid import Grid
from spoofspan.mass.label_rules import label_references
from spoofspan.mass.labelling import IGNORED, Labelling, overwrite
from spoofspan.mass.ranges import overlay_block
from spoofspan.mass.score_mass import NS_PER_BLOCK, ROWS_PER_BLOCK


def boundary_references(references: References, resolution: float, rules: Rules) -> References:
    """References whose spoof ranges are the boundary points of a resolution."""
    if rules.utterances != "all":
        raise UsageError(f"utterances={rules.utterances!r} does not go with boundary points; leave it out")
    labelling, _ = label_references(references, rules)
    grid = Grid.over(labelling.extents, resolution, rules.last_point)
    classes = np.concatenate([*point_classes(labelling, grid, rules), np.zeros(0, np.int8)])
    beside = within_utterances(grid.offsets, np.ones(max(classes.size - 1, 0), bool))
    bona_fide, spoof = classes == BONA_FIDE, classes == SPOOF
    boundary = np.zeros(classes.size, bool)
    boundary[1:] |= beside & spoof[1:] & bona_fide[:-1]
    boundary[:-1] |= beside & spoof[:-1] & bona_fide[1:]
    labels = np.where(boundary, SPOOF, np.where(bona_fide | spoof, BONA_FIDE, NONSPEECH)).astype(np.int8)
    _, starts, ends = grid.cover()
    return References(labelling.utterances, grid.offsets, starts, ends, labels, labelling.extents)


def rules_of_boundaries(rules: Rules) -> Rules:
    """The rules under which boundary points are measured: their labels are settled."""
    settled: dict[str, Any] = {
        "gaps": "ignore",
        "nonspeech": "ignore",
        "label": "any",
        "snap": 0.0,
        "extent": "duration",
    }
    return replace(rules, **settled, collar=0.0, regions=None)


def classes_of(bona_fide: Int64, spoof: Int64, rules: Rules) -> Labels:
    """Rule 18: the class of each point (or utterance), given the time of both classes in it; IGNORED without any."""
    if rules.label == "any":
        is_spoof: Any = spoof > 0
    else:
        share = rules.spoof_fraction
        labelled: Any = bona_fide + spoof
        if labelled.size and int(labelled.max()) * share.denominator >= 2**63:
            labelled, spoof = labelled.astype(object), spoof.astype(object)
        left, right = spoof * share.denominator, labelled * share.numerator
        is_spoof = (left > right if rules.spoof_strictly else left >= right) & (labelled > 0)
    classes: Labels = np.where((bona_fide > 0) | (spoof > 0), np.int8(BONA_FIDE), np.int8(IGNORED))
    classes[np.asarray(is_spoof, bool)] = SPOOF
    return classes


def point_classes(labelling: Labelling, grid: Grid, rules: Rules) -> Iterator[Labels]:
    """The classes of all points of a labelling, some utterances at a time, whatever their scores are."""
    for first, last in blocks(grid.counts, labelling.extents, ROWS_PER_BLOCK, NS_PER_BLOCK):
        yield classes_of_points(label_points(labelling.block(first, last), grid.block(first, last), rules))


def classes_of_points(labelled: Labelling) -> Labels:
    """The class of each point of labelled points."""
    return np.repeat(labelled.labels, labelled.ends - labelled.starts)


def bona_fide_shares(labelling: Labelling, grid: Grid) -> Float64:
    """The share of bona fide time in the labelled time of each point; 0 where there is none."""
    shares = np.empty(int(grid.offsets[-1]))
    for first, last in blocks(grid.counts, labelling.extents, ROWS_PER_BLOCK, NS_PER_BLOCK):
        laid = overlay_block(labelling.block(first, last), grid.block(first, last).runs())
        here = shares[grid.offsets[first] : grid.offsets[last]]
        here[:] = laid.is_bona_fide
        mixed = np.zeros(here.size, bool)
        mixed[laid.rows] = True
        _, bona_fide, spoof = laid.columns_of(mixed)
        here[mixed] = bona_fide / np.maximum(bona_fide + spoof, 1)
    return shares


def label_points(ranges: Labelling, grid: Grid, rules: Rules) -> Labelling:
    """Label the points of the same utterances; the time of the result is counted in points."""
    if rules.label == "any" and (ranges.labels <= SPOOF).all():
        return _stretch_spoof(ranges, grid)
    if rules.label != "rounded":
        return _label_by_time(ranges, grid, rules)
    rounded, by_time = _label_rounded(ranges, grid), _label_by_time(ranges, grid, replace(rules, label="any"))
    ignored = by_time.labels == IGNORED
    if not ignored.any():
        return rounded
    utterance = utterance_of_rows(by_time.offsets)[ignored]
    return overwrite(rounded, utterance, by_time.starts[ignored], by_time.ends[ignored], IGNORED)


def _begun_and_shared(ranges: Labelling, grid: Grid) -> tuple[Int64, Int64, Flags]:
    """For each range: its utterance, the points that begin before it ends, and whether the last of these goes on."""
    utterance = utterance_of_rows(ranges.offsets)
    begun = np.minimum(grid.begun_before(ranges.ends), grid.counts[utterance])
    return utterance, begun, ranges.ends < np.minimum(grid.starts(begun), grid.extents[utterance])


def _stretch_spoof(ranges: Labelling, grid: Grid) -> Labelling:
    """Label points ``any``, where all time is of one class or the other: every point that both share is spoof."""
    utterance, begun, shared = _begun_and_shared(ranges, grid)
    ends = begun - (shared & (ranges.labels == BONA_FIDE))
    if within_utterances(ranges.offsets, ends[1:] < ends[:-1]).any():
        # bona fide ranges that end in a point of an earlier spoof have no points
        ends = np.maximum.accumulate(ends + grid.offsets[utterance]) - grid.offsets[utterance]
    return Labelling(ranges.utterances, grid.counts, ranges.offsets, ends, ranges.labels)


def _label_by_time(ranges: Labelling, grid: Grid, rules: Rules) -> Labelling:
    """Label points by the time of both classes in each."""
    utterance, begun, is_shared = _begun_and_shared(ranges, grid)
    shared = np.flatnonzero(is_shared)
    # two runs for each range: its own points, then the shared one
    run_ends, run_labels = np.repeat(begun, 2), np.repeat(ranges.labels, 2)
    if shared.size:
        owner, point = utterance[shared], begun[shared] - 1
        # a range that ends in the same point as the one before it has no points of its own
        begins = np.concatenate(([True], (point[1:] != point[:-1]) | (owner[1:] != owner[:-1])))
        run_ends[2 * shared[begins]] -= 1
        time = _time_in_points(ranges, grid, shared, owner, point, np.flatnonzero(begins))
        run_labels[2 * shared + 1] = classes_of(*time, rules)[np.cumsum(begins) - 1]
    offsets = 2 * ranges.offsets
    keep = np.ones(run_ends.size, bool)  # neighbours of one label become one run
    keep[:-1] = run_labels[1:] != run_labels[:-1]
    keep[last_rows(offsets)] = True
    return Labelling(ranges.utterances, grid.counts, kept_offsets(offsets, keep), run_ends[keep], run_labels[keep])


def _time_in_points(
    ranges: Labelling, grid: Grid, shared: Int64, owner: Int64, point: Int64, first: Int64
) -> tuple[Int64, Int64]:
    """The time of both classes in points that several ranges share.

    ``shared`` are the ranges that end inside such a point, ``owner`` and ``point`` tell in which; those of one point
    begin at ``first``. The rest of a point is of the range that follows the last of them.
    """
    lasted = ranges.ends[shared] - np.maximum(ranges.starts[shared], grid.starts(point))
    last = np.append(first[1:], shared.size) - 1
    rest = grid.edges(owner[last], point[last])[1] - ranges.ends[shared[last]]
    bona_fide, spoof = (
        np.add.reduceat(lasted * (ranges.labels[shared] == label), first)
        + rest * (ranges.labels[shared[last] + 1] == label)
        for label in (BONA_FIDE, SPOOF)
    )
    return bona_fide, spoof


def _label_rounded(ranges: Labelling, grid: Grid) -> Labelling:
    """Rule 18, ``rounded``: edges between labels go to the nearest edge of the grid, half to even."""
    spacing = duration_ns(grid.resolution, "resolution")
    utterance = utterance_of_rows(ranges.offsets)
    whole, rest = np.divmod(ranges.ends, spacing)
    up = (2 * rest > spacing) | ((2 * rest == spacing) & (whole % 2 == 1))
    # one more run per utterance: the points that rounding leaves without a label are spoof
    count = ranges.extents.size
    run_at, extra_at = np.arange(utterance.size) + utterance, ranges.offsets[1:] + np.arange(count)
    run_ends = np.empty(utterance.size + count, np.int64)
    run_labels = np.full(run_ends.size, SPOOF, np.int8)
    run_ends[run_at], run_labels[run_at] = np.minimum(whole + up, grid.counts[utterance]), ranges.labels
    run_ends[extra_at] = grid.counts
    return Labelling(ranges.utterances, grid.counts, ranges.offsets + np.arange(count + 1), run_ends, run_labels)
