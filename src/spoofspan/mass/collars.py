"""Rule 6: the edges that have a collar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spoofspan.base.columns import utterance_of_rows, within_utterances
from spoofspan.base.times import Int64
from spoofspan.data.references import SPOOF
from spoofspan.data.rules import CollarEdges

if TYPE_CHECKING:
    from spoofspan.mass.labelling import Labelling


def edges_with_collar(labelling: Labelling, which: CollarEdges) -> tuple[Int64, Int64]:
    """The utterance and the time of every change of label; of ``all`` edges, also where spoof begins or ends it."""
    rows = np.flatnonzero(within_utterances(labelling.offsets, labelling.labels[1:] != labelling.labels[:-1]))
    utterance, edges = utterance_of_rows(labelling.offsets)[rows], labelling.ends[rows]
    if which == "inside":
        return utterance, edges
    some = np.flatnonzero(np.diff(labelling.offsets))
    first = some[labelling.labels[labelling.offsets[some]] == SPOOF]
    last = some[labelling.labels[labelling.offsets[some + 1] - 1] == SPOOF]
    ends = np.concatenate((edges, np.zeros(first.size, np.int64), labelling.extents[last]))
    return np.concatenate((utterance, first, last)), ends
