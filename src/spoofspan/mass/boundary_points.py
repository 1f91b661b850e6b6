"""Boundary points: where spoof begins or ends, as labels of points, for scores that say how likely a boundary is.

A point is a boundary if it is spoof and the point before or after it is bona fide, as in the labels that BAM trains
its boundary branch with::

    points      b b s s s b b s b b
    boundaries      x   x     x
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from spoofspan.base.columns import within_utterances
from spoofspan.base.errors import UsageError
from spoofspan.data.references import BONA_FIDE, NONSPEECH, SPOOF, References
from spoofspan.data.rules import Rules
from spoofspan.mass.grid import Grid
from spoofspan.mass.label_rules import label_references
from spoofspan.mass.point_labels import point_classes


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
