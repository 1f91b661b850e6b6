"""The same ids in two orders, matched as words of eight bytes.

A dictionary of 71,237 ids takes 500 ns for each of them where the strings lie all over the memory. Here the ids of
each side are joined to one text, which reads each string once and in its order, and looked up by a hash of their words.
Some bits of the hash say which of many slots an id takes; those that lose theirs to another get one by other bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from spoofspan.base.times import Int64

WORD = 8  # bytes
LONGEST = 8 * WORD
SPARE_BITS, MOST_BITS = 2, 21  # of a slot's number: about four times as many slots as ids, and at most 16 MB of them
ROUNDS = 8  # each leaves about a tenth of the ids without a slot
FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, and without a pattern in its bits

Words = npt.NDArray[np.uint64]


def same_ids(wanted: Sequence[str], utterances: Sequence[str]) -> Int64 | None:
    """Where each wanted id stands among the utterances; None if it cannot tell.

    It can where both sides hold the same ids, and none of these is shorter than a word or much longer than most are.
    """
    if len(wanted) != len(utterances):
        return None
    words, others = _words(wanted), _words(utterances)
    if words is None or others is None or words.shape != others.shape:
        return None
    hashes, other_hashes = _hashes(words), _hashes(others)
    where = np.full(len(wanted), -1)
    left, free = np.arange(where.size), np.arange(where.size)
    for _ in range(ROUNDS):
        bits = min(left.size.bit_length() + SPARE_BITS, MOST_BITS)
        shift = np.uint64(64 - bits)
        slots = np.zeros(1 << bits, np.int64)
        slots[other_hashes[free] >> shift] = free
        found = slots[hashes[left] >> shift]
        same = np.ones(left.size, bool)
        for row, other in zip(words, others, strict=True):
            same &= row[left] == other[found]
        where[left[same]] = found[same]
        left = left[~same]
        if not left.size:
            return where
        taken = np.zeros(where.size, bool)
        taken[found[same]] = True
        free = free[~taken[free]]
        hashes, other_hashes = hashes * FACTOR, other_hashes * FACTOR  # other bits are on top now
    return None


def _words(ids: Sequence[str]) -> Words | None:
    """A row of lengths, then rows of words that hold every byte of each id; the last word ends where the id does."""
    text = "\0".join(ids).encode("utf-8", "surrogatepass")
    ends = np.append(np.flatnonzero(np.frombuffer(text, np.uint8) == 0), len(text))
    if ends.size != len(ids):  # an id holds a NUL itself
        return None
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts
    if lengths.min() < WORD or lengths.max() > LONGEST:
        return None
    # a word may begin at any byte
    at_byte: Words = np.ndarray((len(text) - WORD + 1,), np.uint64, text, strides=(1,))
    last = ends - WORD
    rows = [at_byte[np.minimum(starts + at, last)] for at in range(0, int(lengths.max()), WORD)]
    return np.stack([lengths.astype(np.uint64), *rows])


def _hashes(words: Words) -> Words:
    """A hash of each id, whose upper bits are the better ones; sums and products wrap around."""
    hashes: Words = np.zeros(words.shape[1], np.uint64)
    for row in words:
        hashes ^= hashes >> np.uint64(29)
        hashes *= FACTOR
        hashes += row
    hashes ^= hashes >> np.uint64(29)
    hashes *= FACTOR
    return hashes
