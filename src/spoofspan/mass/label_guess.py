"""Labels at a few thousand times of a corpus, for a guess at where its error rates cross.

All utterances lie one after the other on an axis of doubles. These are exact up to 104 days, and near enough beyond.
"""

from __future__ import annotations

import numpy as np

from spoofspan.base.times import Float64, Int64
from spoofspan.data.references import BONA_FIDE, SPOOF, Labels


class LabelGuess:
    """Runs of labels on one axis."""

    def __init__(self, extents: Int64, offsets: Int64, ends: Int64, labels: Labels) -> None:
        self._labels = labels
        self._begins = np.concatenate(([0.0], np.cumsum(extents[:-1], dtype=np.float64)))
        self._edges = np.concatenate(([0.0], np.repeat(self._begins, np.diff(offsets)) + ends))
        self._cumulated: dict[int, Float64] = {}

    def _runs_at(self, places: Float64) -> Int64:
        runs: Int64 = np.minimum(np.searchsorted(self._edges[1:], places, side="right"), self._labels.size - 1)
        return runs

    def label_at(self, utterance: Int64, times: Int64) -> Labels:
        """The label of each time."""
        labels: Labels = self._labels[self._runs_at(self._begins[utterance] + times)]
        return labels

    def times_of_both(self, utterance: Int64, starts: Int64, ends: Int64) -> tuple[Int64, Int64]:
        """The bona fide and the spoofed time in some ranges."""
        first: Float64 = self._begins[utterance] + starts
        last: Float64 = self._begins[utterance] + ends
        runs = self._runs_at(first), self._runs_at(last)
        bona_fide, spoof = (
            np.rint(self._before(label, runs[1], last) - self._before(label, runs[0], first)).astype(np.int64)
            for label in (BONA_FIDE, SPOOF)
        )
        return bona_fide, spoof

    def _before(self, label: int, runs: Int64, places: Float64) -> Float64:
        """The time of a label before some places that lie in these runs."""
        if label not in self._cumulated:
            lasting = np.diff(self._edges) * (self._labels == label)
            self._cumulated[label] = np.concatenate(([0.0], np.cumsum(lasting)))
        before: Float64 = self._cumulated[label][runs] + (places - self._edges[runs]) * (self._labels[runs] == label)
        return before
