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

    def last_at_or_before(self, utterance: Int64, time: Int64, run_utterance: Int64, run_start: Int64) -> Any:
        """The last of all runs, by utterance and start, that starts no later than each time; -1: none."""
        if self._shift is not None:
            starts = np.sort(self._shift[run_utterance] + run_start)
            return np.searchsorted(starts, self._shift[utterance] + time, side="right") - 1
        # both in one order, runs before times of the same instant: how many runs come before each time
        merged_utterance = np.concatenate((run_utterance, utterance))
        merged_time = np.concatenate((run_start, time))
        is_time = np.arange(merged_time.size) >= run_start.size
        order = np.lexsort((is_time, merged_time, merged_utterance))
        counts = np.empty(order.size, np.int64)
        counts[order] = np.cumsum(~is_time[order])
        return counts[run_start.size :] - 1
