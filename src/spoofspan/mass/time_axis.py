"""One axis for the times of all utterances, to sort and search them at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Int64


class TimeAxis:
    """All utterances one after the other, so that a time of any of them is one number.

    Corpora of more than 146 years do not fit onto it; their times are compared utterance by utterance.
    """

    def __init__(self, extents: Int64) -> None:
        self._shift: Int64 | None = None
        if int(extents.sum(dtype=np.float64)) + extents.size < 2**61:
            self._shift = np.concatenate(([0], np.cumsum(extents[:-1] + 1)))

    def order(self, utterance: Int64, time: Int64) -> npt.NDArray[np.intp]:
        """The rows by utterance, then time."""
        if self._shift is None:
            return np.lexsort((time, utterance))
        # rows are mostly in order, or a few such columns one after the other, which this sort merges
        return np.argsort(self._shift[utterance] + time, kind="stable")

    def count_at_or_before(self, utterance: Int64, time: Int64, other_utterance: Int64, other_time: Int64) -> Any:
        """Count, over all utterances up to and including its own, the other times that do not come later."""
        if self._shift is not None:
            others = np.sort(self._shift[other_utterance] + other_time)
            return np.searchsorted(others, self._shift[utterance] + time, side="right")
        merged_utterance = np.concatenate((other_utterance, utterance))
        merged_time = np.concatenate((other_time, time))
        is_query = np.concatenate((np.zeros(other_time.size, bool), np.ones(time.size, bool)))
        order = np.lexsort((is_query, merged_time, merged_utterance))
        seen = np.cumsum(~is_query[order])
        counts = np.empty(order.size, np.int64)
        counts[order] = seen
        return counts[other_time.size :]

    def last_at_or_before(self, utterance: Int64, time: Int64, run_utterance: Int64, run_start: Int64) -> Any:
        """Find the run that each time lies in; runs start at 0, so there always is one in the same utterance."""
        return self.count_at_or_before(utterance, time, run_utterance, run_start) - 1
