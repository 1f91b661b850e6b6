"""Synonyms in the literature, and their names here: the entries of ``assets/glossary.txt``."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from importlib.resources import files


def _entries() -> Iterator[tuple[str, tuple[str, tuple[str, ...]]]]:
    """Each word of the glossary, what is meant, and the names that have an explanation of their own."""
    text = (files("spoofspan.evaluation") / "assets" / "glossary.txt").read_text(encoding="utf-8")
    for entry in text.split("\n\n")[1:]:  # the first is a comment
        words, _, rest = entry.partition("\n")
        meaning, _, names = " ".join(rest.split()).partition(" See: ")
        for word in words.split(", "):
            yield word, (meaning, tuple(names.split(", ")) if names else ())


SYNONYMS: Mapping[str, tuple[str, tuple[str, ...]]] = dict(_entries())


# What a heading has besides its word: numbers, units, and of what so many are needed.
_BESIDES = re.compile(r"[\d.,]+|%|\bpoints\b| s$|^\w+ (?=needed$)|:.*")


def synonym(subject: str) -> str | None:
    """Meaning of a word of the literature, or of a heading as it is printed; None if it is none.

    >>> [synonym(one).splitlines()[0] for one in ("FAR", "95 % from", "speakers needed", "within 0.80 points")]
    ['FAR (word)', '95 % from (word)', 'speakers needed (word)', 'within 0.80 points (word)']
    """
    words = " ".join(subject.lower().replace("_", " ").split())
    heading = " ".join(_BESIDES.sub("", words).split())
    found = SYNONYMS.get(words) or SYNONYMS.get(subject.lower()) or SYNONYMS.get(heading)
    if found is None:
        return None
    text, names = found
    see = ", ".join(f"spoofspan explain {name}" for name in names)
    meaning = textwrap.fill(text, 110, break_on_hyphens=False)
    return f"{subject} (word)\n\n{meaning}" + (f"\n\nSee: {see}" if names else "")
