"""Lines of text in blocks, cut into columns by a few NumPy operations on all lines at once.

Nothing but "all is well" is established here: a block in which anything is unusual is declined (None), and left to a
reader of lines, where every problem gets its place. What is accepted has the values that the reader of lines would
find: a number is the float64 nearest to its text, as ``float`` gives it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags
from spoofspan.base.errors import DataError
from spoofspan.base.times import Float64, Int64
from spoofspan.formats.sources import MOST_BYTES_PER_LINE, Source

BOM = codecs.BOM_UTF8
BLOCK_BYTES = 1 << 20
NEWLINE = ord("\n")
NUMBER = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)", re.IGNORECASE)

Words = npt.NDArray[np.uint64]
WORD = 8  # bytes
ROOM = 3 * WORD  # bytes before and after the lines
LARGEST_TEXT = 256  # bytes of a text that is compared by words
DIGITS_OF_WORD = 10**WORD
LARGEST_INTEGER = 1.8e19  # below 2**64
EXACT_POWERS = 22  # 10**22 is the largest power of ten that float64 holds
EXACT_INTEGER = 1 << 53


def _every_byte(byte: int) -> np.uint64:
    return np.uint64(int.from_bytes(bytes([byte]) * WORD, "little"))  # type: ignore[no-any-return]


ONE, HIGH_BIT, ZERO_DIGIT, POINT = (_every_byte(byte) for byte in (1, 0x80, ord("0"), ord(".")))
NO_DIGIT = _every_byte(0x80 - 10)  # added to a byte of more than 9, it sets the highest bit
FIRST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(WORD + 1)], np.uint64)  # the lowest so many bytes
POWERS: Float64 = np.array([10.0**k for k in range(EXACT_POWERS + 1)])
INTEGER_POWERS = np.array([10**k for k in range(20)], np.uint64)


# ---------------------------------------------------------------- blocks


def line_blocks(source: Source, size: int) -> Iterator[bytes]:
    """Yield the unpacked bytes of a source in blocks of about ``size`` bytes that end where a line ends.

    The last block ends where the source does; a byte order mark at the start is left out. Only LF ends a line here:
    where a cell of a CSV file has one inside quotes, the next block may begin in the middle of the cell.
    """
    carried: list[bytes] = []  # of a line that has no end yet
    mark, lines, length = BOM, 1, 0
    with source.read_errors(), source.open() as stream:
        while piece := stream.read(size):
            end = piece.rfind(b"\n") + 1
            if length + (piece.find(b"\n") if end else len(piece)) > MOST_BYTES_PER_LINE:
                raise source.line_too_long(lines, MOST_BYTES_PER_LINE)
            if end:
                block = b"".join([*carried, piece[:end]]).removeprefix(mark)
                mark, carried, length = b"", [], 0
                lines += block.count(b"\n")
                yield block
                del block
            carried.append(piece[end:])
            length += len(piece) - end
    if length:
        yield b"".join(carried).removeprefix(mark)


def refuse_empty(source: Source) -> None:
    """Refuse a text file that is blank."""
    if not source.head.removeprefix(BOM).strip() and not any(map(bytes.strip, line_blocks(source, BLOCK_BYTES))):
        raise DataError(f"{source.name}: the file is empty")


# ---------------------------------------------------------------- fields


def fields_of_lines(lines: bytes, width: int, separator: str | None = None) -> Fields | None:
    """Cut lines into fields, at separators or at white space; None if a line has not ``width`` of them.

    Blank lines are left out.
    """
    if b"\r" in lines:
        lines = lines.replace(b"\r\n", b"\n")
    if separator is None and b"\t" in lines:
        lines = lines.replace(b"\t", b" ")
    if b"\0" in lines:
        return None
    text = np.frombuffer(lines if lines.endswith(b"\n") else lines + b"\n", np.uint8)
    found = _cut(text, width, separator)
    return _cut(_tidy(text, separator is None), width, separator) if found is None else found


def _cut(text: npt.NDArray[np.uint8], width: int, separator: str | None) -> Fields | None:
    # of what is left of white space, Python would split at some bytes and not at others
    cuts = np.flatnonzero(text <= ord(" ") if separator is None else (text == NEWLINE) | (text == ord(separator)))
    if not cuts.size or cuts.size % width:
        return None
    ends = cuts.reshape(-1, width)
    begins = np.concatenate(([0], cuts[:-1] + 1)).reshape(-1, width)
    marks = text[ends]
    if (marks[:, -1] != NEWLINE).any() or (marks[:, :-1] != ord(separator or " ")).any():
        return None
    if separator is None and (begins == ends).any():
        return None
    room = np.zeros(ROOM, np.uint8)  # as fields are read by words
    return Fields(np.concatenate((room, text, room)), begins + ROOM, ends + ROOM)


def _tidy(text: npt.NDArray[np.uint8], spaces: bool) -> npt.NDArray[np.uint8]:
    """The same lines without blank ones, and with one space between words; bytes.replace takes three times as long."""
    kept: Flags
    if spaces:
        kept = text != ord(" ")
        in_word = kept & (text != NEWLINE)
        kept[:-1] |= in_word[1:]
        text = text[kept]
    kept = text != NEWLINE
    kept[1:] |= kept[:-1]
    return text[kept]


class Runs(NamedTuple):
    """Texts of rows that follow each other: each text, and how many rows have it."""

    texts: list[str]
    counts: Int64


@dataclass(frozen=True)
class Fields:
    """Some lines as bytes, with room at both ends, and where the fields of each line begin and end."""

    text: npt.NDArray[np.uint8]
    begins: Int64  # rows x columns
    ends: Int64

    def __len__(self) -> int:
        return len(self.begins)

    def _words(self, at: Int64) -> Words:
        """The eight bytes from these positions on, the first one in the lowest bits."""
        anywhere: Words = np.ndarray((self.text.size - WORD + 1,), "<u8", self.text, strides=(1,))
        return anywhere[at].astype(np.uint64, copy=False)

    def _bytes(self, column: int, rows: Int64) -> list[bytes]:
        data = self.text.tobytes()
        begins, ends = self.begins[rows, column].tolist(), self.ends[rows, column].tolist()
        return [data[begin:end] for begin, end in zip(begins, ends, strict=True)]

    def runs(self, column: int) -> Runs:
        """A column of text in which the same text often stands in many rows after each other."""
        begins, sizes = self.begins[:, column], self.ends[:, column] - self.begins[:, column]
        differs = sizes[1:] != sizes[:-1]
        largest = int(sizes.max())
        if largest > LARGEST_TEXT:
            differs[:] = True
        for at in range(0, min(largest, LARGEST_TEXT), WORD):
            words = self._words(begins + np.minimum(at, sizes))
            words &= FIRST_BYTES[np.clip(sizes - at, 0, WORD)]
            differs |= words[1:] != words[:-1]
        heads = np.concatenate(([0], np.flatnonzero(differs) + 1))
        texts = [text.decode() for text in self._bytes(column, heads)]
        return Runs(texts, np.diff(heads, append=len(self)))

    def integers(self, column: int) -> Int64 | None:
        """A column of integers of one to eight digits; None if there is anything else."""
        sizes = self.ends[:, column] - self.begins[:, column]
        if sizes.min() < 1 or sizes.max() > WORD:
            return None
        words = self._words(self.ends[:, column] - WORD) ^ ZERO_DIGIT
        words &= ~FIRST_BYTES[WORD - sizes]
        return None if _has_no_digit(words).any() else _number_of_digits(words).view(np.int64)

    def numbers(self, column: int) -> Float64 | None:
        """A column of numbers; None if some field is none. An empty field is NaN."""
        begins, ends = self.begins[:, column], self.ends[:, column]
        minus: Flags = np.equal(self.text[begins], ord("-"))
        begins = begins + minus
        scaled: Flags = (self.text[ends - 4] | 0x20 == ord("e")) & (ends - begins > 4)  # e-05
        exponents: Int64 | None = None
        if scaled.any():
            sign, tens, ones = (self.text[ends - place] for place in (3, 2, 1))
            exponents = scaled * (10 * tens.astype(np.int64) + ones - 11 * ord("0")) * np.where(sign == ord("-"), -1, 1)
            ends = ends - 4 * scaled
        sizes = ends - begins
        words = self._words(begins)
        points: Any = words ^ POINT
        points = (points - ONE) & ~points & HIGH_BIT  # the lowest bit that is set is that of the first point
        whole = np.minimum(np.bitwise_count((points & -points) - np.uint64(1)).astype(np.int64) >> 3, sizes)
        words ^= ZERO_DIGIT
        words <<= (64 - 8 * whole).astype(np.uint64)  # 64 shifts out all
        wrong = _has_no_digit(words)
        mantissas = _number_of_digits(words)
        decimals = np.maximum(sizes - whole - 1, 0)
        wrong |= (whole + decimals == 0) | (decimals > EXACT_POWERS) | ((whole == WORD) & (sizes > WORD))
        scales = decimals
        if exponents is not None:
            signed = (sign == ord("-")) | (sign == ord("+"))
            digits_only = (np.minimum(tens, ones) >= ord("0")) & (np.maximum(tens, ones) <= ord("9"))
            scales = decimals - exponents
            wrong |= scaled & ~(signed & digits_only) | (scales < 0) | (scales > EXACT_POWERS)
        approximate = mantissas * POWERS[np.minimum(decimals, EXACT_POWERS)]
        mantissas *= INTEGER_POWERS[np.minimum(decimals, INTEGER_POWERS.size - 1)]
        for place in range(0, min(int(decimals.max()), EXACT_POWERS), WORD):
            words = self._words(ends - place - WORD) ^ ZERO_DIGIT
            words &= ~FIRST_BYTES[WORD - np.clip(decimals - place, 0, WORD)]
            wrong |= _has_no_digit(words)
            digits = _number_of_digits(words)
            approximate += digits * POWERS[place]
            mantissas += digits * INTEGER_POWERS[place]
        wrong |= approximate > LARGEST_INTEGER
        values, doubtful = _quotients(mantissas, scales)
        wrong |= doubtful
        np.negative(values, out=values, where=minus)
        return self._by_float(column, values, np.flatnonzero(wrong))

    def _by_float(self, column: int, values: Float64, rows: Int64) -> Float64 | None:
        """Fill in the few numbers that Python has to read: long ones, exponents, infinities."""
        texts = self._bytes(column, rows) if rows.size else []
        if not all(not text or NUMBER.fullmatch(text) for text in texts):
            return None
        values[rows] = [float(text or b"nan") for text in texts]
        return values


def plain_columns(
    source: Source, widths: Sequence[int], *, texts: Sequence[int], numbers: Sequence[int]
) -> tuple[list[Runs], list[Float64]] | None:
    """Some columns of lines with white space between fields; None if the file is not plain ASCII as regular as that."""
    width = len(source.head.split(b"\n", 1)[0].split())
    runs: list[list[Runs]] = []
    values: list[list[Float64]] = []
    for block in line_blocks(source, BLOCK_BYTES):
        fields = fields_of_lines(block, width) if width in widths and block.isascii() else None
        found = [] if fields is None else [fields.numbers(at) for at in numbers]
        if fields is None or any(one is None for one in found):
            return None
        values.append([one for one in found if one is not None])
        runs.append([fields.runs(at) for at in texts])
    if not runs:
        return None
    joined = [
        Runs([text for one in column for text in one.texts], np.concatenate([one.counts for one in column]))
        for column in zip(*runs, strict=True)
    ]
    return joined, [np.concatenate(column) for column in zip(*values, strict=True)]


def _has_no_digit(words: Words) -> Flags:
    """Words that have a byte that is more than 9."""
    found: Flags = ((words + NO_DIGIT | words) & HIGH_BIT) != 0
    return found


def _number_of_digits(words: Words) -> Words:
    """The numbers whose digits are the bytes of words: first pairs of digits, then pairs of pairs."""
    for factor, shift, kept in ((10, 8, 0x00FF00FF00FF00FF), (100, 16, 0x0000FFFF0000FFFF), (10_000, 32, 0xFFFFFFFF)):
        words *= np.uint64((factor << shift) + 1)
        words >>= np.uint64(shift)
        words &= np.uint64(kept)
    return words


def _quotients(mantissas: Words, scales: Int64) -> tuple[Float64, Flags]:
    """Integers divided by powers of ten, rounded once; and which of them are too near to the middle of two floats.

    Where both are exact in float64, so is the rounding of their quotient. Of larger integers the rest of the division
    is computed exactly, by Dekker's product, and decides.
    """
    powers = POWERS[np.clip(scales, 0, EXACT_POWERS)]
    values = mantissas.astype(np.float64)
    if not mantissas.size or int(mantissas.max()) <= EXACT_INTEGER:
        values /= powers
        return values, np.zeros(values.size, np.bool_)
    with np.errstate(invalid="ignore"):  # of those that are too large, and not used
        below = (mantissas - values.astype(np.uint64)).view(np.int64).astype(np.float64)
    quotients: Float64 = values / powers
    (a, b), (c, d) = _halves(quotients), _halves(powers)
    product = quotients * powers
    error = ((a * c - product) + a * d + b * c) + b * d
    rest = ((values - product) - error + below) / powers
    rounded = quotients + rest
    missed = np.abs(rest - (rounded - quotients))
    unit = np.spacing(rounded)
    doubtful = np.abs(missed - unit / 2) < unit * 1e-6
    doubtful |= rounded.view(np.int64) & ((1 << 52) - 1) == 0  # next to a power of two, floats are nearer to each other
    return rounded, doubtful


def _halves(values: Float64) -> tuple[Float64, Float64]:
    """Each float as the sum of two with half as many digits."""
    scaled = values * ((1 << 27) + 1.0)
    high = scaled - (scaled - values)
    return high, values - high
