"""Labels of windows: spoof if any of the window is, by spoofspan's own points (rules 16 and 18 of ``docs/rules.md``).

The rules decide what references leave open; windows that they ignore have no target, as have windows without a label.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spoofspan.cm.frame_times import UTTERANCE, resolution, scale_of, window_count
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.data.rules import Rules
from spoofspan.mass.labelling import label_references
from spoofspan.mass.point_labels import Grid, point_classes

Targets = npt.NDArray[np.int8]  # of windows
TARGET = {"bona fide": 1, "spoof": 0, "not counted": -1}


@dataclass(frozen=True, eq=False)
class Windows:
    """Targets of the windows of one scale: those of utterance i are ``values[offsets[i]:offsets[i + 1]]``."""

    offsets: npt.NDArray[np.int64]
    values: Targets

    def of(self, utterance: int, start: int, count: int) -> Targets:
        """So many windows from one on; where there are no labels any more, they do not count."""
        end = min(int(self.offsets[utterance]) + start + count, int(self.offsets[utterance + 1]))
        found = self.values[int(self.offsets[utterance]) + start : end]
        return np.pad(found, (0, count - found.size), constant_values=TARGET["not counted"])


def window_targets(references: References, rules: Rules, scale: int) -> Windows:
    """The targets of all windows of a scale."""
    labelling, _ = label_references(references, rules)
    grid = Grid.over(labelling.extents, resolution(scale), rules.last_point)
    classes = np.concatenate(list(point_classes(labelling, grid, rules)))
    values = np.full(classes.size, TARGET["not counted"], np.int8)
    values[classes == BONA_FIDE], values[classes == SPOOF] = TARGET["bona fide"], TARGET["spoof"]
    return Windows(grid.offsets, values)


class WindowLabels:
    """Targets of a corpus for some branches."""

    def __init__(self, references: References, rules: Rules, branches: Iterable[str], *, legacy: bool = False) -> None:
        self.branches = tuple(branches)
        self._legacy = legacy
        # what an utterance is follows from its finest windows
        scales = {0 if name == UTTERANCE else scale_of(name) for name in self.branches}
        self._windows = {scale: window_targets(references, rules, scale) for scale in scales}

    def of(self, utterance: int, start: int, frames: int) -> dict[str, Targets]:
        """The targets of every branch for so many frames from one on, which begins a window of every scale."""
        found = {}
        for name in self.branches:
            if name == UTTERANCE:
                found[name] = _whole(self._windows[0].of(utterance, start, frames))
            else:
                scale = scale_of(name)
                count = window_count(frames, scale, legacy=self._legacy)
                found[name] = self._windows[scale].of(utterance, start // 2**scale, count)
        return found


def _whole(targets: Targets) -> Targets:
    """One target: spoof if any window is; the lowest that counts."""
    counted = targets[targets != TARGET["not counted"]]
    return counted.min(keepdims=True) if counted.size else np.array([TARGET["not counted"]], np.int8)


def shuffled(targets: list[dict[str, Targets]], how: str, seed: int) -> list[dict[str, Targets]]:
    """Labels that cannot be learned, with the same share of spoof.

    ``frames``: the windows of each branch trade places over the whole corpus. ``utterances``: every utterance gets the
    labels of another one, repeated or cut to its length.
    """
    if how == "no":
        return targets
    random = np.random.default_rng([seed, 0x5B])
    if how == "utterances":
        other = random.permutation(len(targets))
        return [
            {name: np.resize(targets[j][name], values.size) for name, values in one.items()}
            for one, j in zip(targets, other.tolist(), strict=True)
        ]
    mixed: list[dict[str, Targets]] = [{} for _ in targets]
    for name in targets[0] if targets else ():
        ends = np.cumsum([one[name].size for one in targets])
        pool = random.permutation(np.concatenate([one[name] for one in targets]))
        for one, part in zip(mixed, np.split(pool, ends[:-1]), strict=True):
            one[name] = part
    return mixed
