"""Times of scores.

At 16,000 samples a second, frame k sees the samples [320 k, 320 k + 400) and stands for the 20 ms [320 k, 320 k + 320).
Scale i pools 2**i frames; its window j stands for frames [j 2**i, (j + 1) 2**i), the last one may have fewer::

    scale 0    20 ms   |0|1|2|3|4|
    scale 1    40 ms   | 0 | 1 |2|
    scale 2    80 ms   |   0   |1|

So every branch covers the same time, and window j of a branch is frame j of a hop of 20 ms * 2**i.

The published code drops what does not fill a window, and pads the last pooling on both ends, which moves the 640 ms
branch by half a window; ``legacy`` counts as it does, but for inputs too short for it, which get one window.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

HOP, WINDOW = 320, 400  # samples
SCALES = 6
COARSEST = 2 ** (SCALES - 1)  # frames under a window of the last scale
UTTERANCE = "utterance"

Frames = TypeVar("Frames")  # int, or a tensor of them


def resolution(scale: int) -> float:
    """Length of a window of a scale, in seconds.

    >>> [resolution(scale) for scale in range(6)]
    [0.02, 0.04, 0.08, 0.16, 0.32, 0.64]
    """
    return 0.02 * 2**scale


SEGMENT_BRANCHES = tuple(f"{20 * 2**scale}ms" for scale in range(SCALES))
BRANCHES = (*SEGMENT_BRANCHES, UTTERANCE)


def scale_of(branch: str) -> int:
    """The scale of a branch; the utterance branch looks at the last one.

    >>> scale_of("20ms"), scale_of("160ms"), scale_of("utterance")
    (0, 3, 5)
    """
    return SCALES - 1 if branch == UTTERANCE else SEGMENT_BRANCHES.index(branch)


def finest(branches: Iterable[str]) -> str | None:
    """The branch of the shortest windows; None if there is only that of utterances.

    >>> finest(["utterance", "40ms", "20ms"])
    '20ms'
    """
    return min((name for name in branches if name != UTTERANCE), key=scale_of, default=None)


def frame_count(samples: int) -> int:
    """Number of frames of a recording; what is shorter than one is filled up with silence.

    >>> frame_count(400), frame_count(719), frame_count(720), frame_count(1)
    (1, 1, 2, 1)
    """
    return max((samples - WINDOW) // HOP + 1, 1)


def samples_of(frames: int) -> int:
    """Number of samples that so many frames see.

    >>> samples_of(1), samples_of(2)
    (400, 720)
    """
    return (frames - 1) * HOP + WINDOW


def window_count(frames: Frames, scale: int, *, legacy: bool = False) -> Frames:
    """Number of windows of a scale so many frames have; also of a tensor of frames, element by element.

    >>> [window_count(16, scale) for scale in range(6)], [window_count(33, scale) for scale in range(6)]
    ([16, 8, 4, 2, 1, 1], [33, 17, 9, 5, 3, 2])
    >>> [window_count(33, scale, legacy=True) for scale in range(6)], window_count(3, 5, legacy=True)
    ([33, 16, 8, 4, 2, 2], 1)
    """
    count = frames
    for step in range(1, scale + 1):
        count = pooled_count(count, legacy=legacy, padded=legacy and step == SCALES - 1)
    return count


def pooled_count(count: Frames, *, legacy: bool, padded: bool) -> Frames:
    """Number of windows after one pooling of two."""
    n: int = count  # type: ignore[assignment]  # tensors know the same operators
    if padded:
        return n // 2 + 1  # type: ignore[return-value]
    if legacy:
        return n // 2 + (n == 1)  # type: ignore[return-value]
    return (n + 1) // 2  # type: ignore[return-value]
