"""Text whose lines all have the same number of words, read as columns at once.

The quick way into files of hundreds of thousands of lines. It only ever says yes to plain ASCII in which nothing is
unusual; whatever it declines is read line by line, where every problem gets its place.
"""

from __future__ import annotations

import numpy as np

from spoofspan.base.times import Float64

# what Python takes for white space in text, and not in bytes; and the mark of a line's end
UNUSUAL = b"\0\v\f\x1c\x1d\x1e\x1f|"


def is_plain(data: bytes) -> bool:
    """Whether a text is ASCII without anything that could be read in two ways."""
    return data.isascii() and len(data.translate(None, UNUSUAL)) == len(data)


def columns_of(data: bytes, widths: tuple[int, ...]) -> list[list[bytes]] | None:
    """The words of a text, column by column; None if its lines are not all of one of these widths, or not plain."""
    if not is_plain(data):
        return None
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    words = (data if data.endswith(b"\n") else data + b"\n").replace(b"\n", b" | ").split()
    width = len(words) // lines - 1 if lines else 0
    # as many marks as lines, each after as many words
    if width not in widths or len(words) != lines * (width + 1) or words[width :: width + 1] != [b"|"] * lines:
        return None
    return [words[column :: width + 1] for column in range(width)]


def numbers_of(words: list[bytes]) -> Float64 | None:
    """Read words as numbers; None if one of them is none, though Python takes 1_000 for one."""
    if b"_" in b"".join(words):
        return None
    try:
        return np.fromiter(map(float, words), np.float64, len(words))
    except ValueError:
        return None


def texts_of(words: list[bytes]) -> list[str]:
    """Words as text."""
    return b" ".join(words).decode("ascii").split(" ")
