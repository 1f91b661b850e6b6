r"""Lines of frames with equally long ids and equally many decimals, read by a few operations on all lines at once.

Nothing is searched for but the ends of the lines. The first line says how long ids are and how many decimals scores
have; around each end, one record then holds all that matters, always at the same place::

    CON_E_0000000 152 2.44141 -2.44141\nCON_E_0000000 153 2.83501 -2.83501\n
                           |---------- one record ----------|
                              score     id            frame

That is a guess, and it is checked: an id goes on with its next frame or another one begins with frame 0, every line
ends with a score, and there is no white space but that. A block where anything differs is for another parser to read.

A score is the integer of its digits divided by a power of ten. Both are exact in float64, so the quotient is the float
nearest to the text, as any correct parser has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags
from spoofspan.base.times import Float64, Int64

WORD = 8  # bytes
BEFORE = 11  # bytes of a record before the end of a line: separator, sign, two digits, point, six decimals
MOST_FRAMES = 99_999  # a word holds a frame and the separators around it
LEAST_TABLE = 1 << 12
SAMPLES, SAMPLE = 8, 512  # how many lines are looked at first, and how many bytes to find one in
PATTERN = rb"(?!\xef\xbb\xbf)([^\0- ]{1,64})%b(\d{1,5})%b(?:[^\0- ]+%b)?-?\d{1,2}\.(\d{2,6})\n"
LINE = {gap: re.compile(PATTERN.replace(b"%b", gap)) for gap in (b" ", b"\t")}

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class FixedLines:
    """Runs of lines of one id each, and the score of every line; frames count up, from 0 in all runs but the first."""

    ids: list[bytes]
    counts: list[int]
    values: Float64
    first_frame: int


class _DifferentError(Exception):
    """Something in a block is not as it was guessed."""


def fixed_lines(lines: Any, separator: str, width: int) -> FixedLines | None:
    """Read a block of lines ``<utt> <frame> [<other>] <score>``; None if it is not as regular as that."""
    text: Bytes = np.frombuffer(lines, np.uint8)
    gap = separator.encode()
    if width not in (3, 4) or text[-1] != ord("\n"):
        return None
    try:
        first, *others = _some_lines(text, gap)
        id_bytes, first_frame, decimals = len(first[1]), int(first[2]), len(first[3])
        _check(all((len(other[1]), len(other[3])) == (id_bytes, decimals) for other in others))
        mask = text == ord("\n")
        ends = np.flatnonzero(mask)
        _check(np.count_nonzero(np.less_equal(text, ord(" "), out=mask)) == ends.size * width)
        del mask
        records = _records(text, ends, id_bytes)
        tails, heads = records[1:, :BEFORE], records[:-1, BEFORE + 1 :]
        left = ends.copy()  # the bytes of each line, less the fields that are found
        left[1:] -= ends[:-1]
        left[0] += 1
        left -= id_bytes + decimals + 5
        values = _scores(tails, decimals, gap, left)
        begins = _begins(heads, id_bytes)
        counts = np.diff(begins, append=ends.size)
        _check_frames(heads[:, id_bytes:], first_frame, begins, counts, gap, left)
    except _DifferentError:
        return None
    # what is left is nothing, or another field and its separator: then the count of white space allows for no more
    if left.any() if width == 3 else left.min() < 1:
        return None
    ids = heads[begins, :id_bytes].tobytes()
    texts = [ids[at : at + id_bytes] for at in range(0, len(ids), id_bytes)]
    return FixedLines(texts, counts.tolist(), values, first_frame)


def _check(holds: Any) -> None:
    if not holds:
        raise _DifferentError


def _some_lines(text: Bytes, gap: bytes) -> Iterator[re.Match[bytes]]:
    """The first line and some others: most files that are different show it here, at no cost."""
    for at in range(0, max(text.size - SAMPLE, 1), text.size // SAMPLES + 1):
        sample = text[at : at + SAMPLE].tobytes()
        line = LINE[gap].match(sample, sample.find(b"\n") + 1 if at else 0)
        if line is None:
            raise _DifferentError
        yield line


def _records(text: Bytes, ends: Int64, id_bytes: int) -> Bytes:
    """What lies around the ends of lines, before the first line and after the last one too."""
    size = BEFORE + 1 + id_bytes + WORD
    _check(ends.size > 1 and ends[0] >= BEFORE and ends[-2] + size - BEFORE <= text.size)
    at = np.zeros(ends.size + 1, np.int64)
    np.subtract(ends[:-1], BEFORE, out=at[1:-1])
    # a record may begin at any byte; of type void they are copied in one go
    any_byte = np.ndarray((text.size - size + 1,), f"V{size}", text, strides=(1,))
    records: Bytes = any_byte[at].view(np.uint8).reshape(-1, size)
    records[0, BEFORE + 1 :] = text[: id_bytes + WORD]
    records[-1, :BEFORE] = text[ends[-1] - BEFORE : ends[-1]]
    return records


def _words(columns: Bytes, at: int) -> Words:
    """Eight bytes of every row, the first one in the lowest bits."""
    return columns[:, at : at + WORD].view("<u8")[:, 0].astype(np.uint64)


def _begins(heads: Bytes, id_bytes: int) -> Int64:
    """The lines where another id begins."""
    differ = np.zeros(len(heads) - 1, np.uint64)
    for at in range(0, id_bytes, WORD):
        words = _words(heads, at)
        other = words[1:] ^ words[:-1]
        if at + WORD > id_bytes:
            other &= np.uint64((1 << 8 * (id_bytes - at)) - 1)
        differ |= other
    return np.concatenate(([0], np.flatnonzero(differ != 0) + 1))


def _check_frames(after_ids: Bytes, first_frame: int, begins: Int64, counts: Int64, gap: bytes, left: Int64) -> None:
    """Compare frames, and the separators around them, with those that are expected."""
    most = int(max(first_frame + counts[0], counts.max()))
    _check(most <= MOST_FRAMES)
    table = _frame_table(gap, max(LEAST_TABLE, 1 << most.bit_length()))
    frames = np.arange(len(after_ids))
    frames -= np.repeat(begins, counts)
    frames[: counts[0]] += first_frame
    words = _words(after_ids, 0)
    words ^= table.words[frames]
    unused = table.unused[frames]
    words <<= unused
    _check(not words.any())
    unused >>= np.uint64(3)
    left += unused.view(np.int64)
    left -= WORD - 2


@dataclass(frozen=True)
class _FrameTable:
    """Frames as text between two separators, and how many bits of the word that leaves unused."""

    words: Words
    unused: Words


@lru_cache(maxsize=4)
def _frame_table(gap: bytes, frames: int) -> _FrameTable:
    texts = [b"%b%d%b" % (gap, frame, gap) for frame in range(frames)]
    unused = 64 - 8 * np.array(list(map(len, texts)))
    return _FrameTable(np.array(texts, f"S{WORD}").view("<u8").astype(np.uint64), unused.astype(np.uint64))


# ---------------------------------------------------------------- scores


def _scores(tails: Bytes, decimals: int, gap: bytes, left: Int64) -> Float64:
    """The numbers at the ends of lines."""
    words = _words(tails, BEFORE - WORD)
    point = 8 * (WORD - 1 - decimals)  # its first bit
    digits = np.uint64((1 << 64) - (1 << (point + 8)) | 0xFF << (point - 8))
    words ^= (digits & _every_byte(ord("0"))) | np.uint64(ord(".") << point)
    # what is more than 9, or more than 0 where the point should be, has the highest bit of its byte or gets it
    other = words + ((digits & _every_byte(0x80 - 10)) | np.uint64(0x7F << point))
    other |= words
    other &= _every_byte(0x80) >> np.uint64(point - 8) << np.uint64(point - 8)
    _check(not other.any())
    # the digit before the point takes its place
    np.left_shift(words, np.uint64(8), out=other)
    other &= np.uint64(0xFF << point)
    words &= np.uint64((1 << 64) - (1 << (point + 8)))
    words |= other
    values = _eight_digits(words).astype(np.float64)
    minus = _before_digit(tails[:, : BEFORE - decimals - 2], gap[0], 10 ** (decimals + 1), values, left)
    values /= 10**decimals
    other[:] = minus
    other <<= np.uint64(63)
    np.bitwise_or(values.view(np.uint64), other, out=values.view(np.uint64))  # -0.0 too
    return values


def _before_digit(tails: Bytes, gap: int, ten: int, values: Float64, left: Int64) -> Flags:
    """Which scores are negative; add what a second digit before the point is worth."""
    last = tails[:, -1].copy()
    minus: Flags = last == ord("-")
    fine = minus & (tails[:, -2] == gap)
    fine |= last == gap
    if not fine.all():
        last -= np.uint8(ord("0"))  # wraps around
        digit = last < 10
        second = digit & (tails[:, -2] == ord("-"))
        fine |= second & (tails[:, -3] == gap)
        fine |= digit & (tails[:, -2] == gap)
        _check(fine.all())
        values += np.where(digit, last, 0) * float(ten)
        left -= digit
        minus |= second
    left -= minus
    return minus


def _every_byte(byte: int) -> np.uint64:
    every: np.uint64 = np.uint64(int.from_bytes(bytes([byte] * WORD), "little"))
    return every


def _eight_digits(words: Words) -> Int64:
    """The numbers whose digits are the bytes of words: first pairs of digits, then pairs of pairs."""
    for factor, shift, kept in ((10, 8, 0x00FF00FF00FF00FF), (100, 16, 0x0000FFFF0000FFFF), (10_000, 32, 0xFFFFFFFF)):
        words *= np.uint64((factor << shift) + 1)
        words >>= np.uint64(shift)
        words &= np.uint64(kept)
    return words.view(np.int64)
