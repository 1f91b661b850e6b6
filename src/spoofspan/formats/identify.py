"""Identify files: the kinds of content that a path may hold, from one look at its first bytes.

A file in the wrong place (scores given as references, references as durations) is named by what it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spoofspan.base.errors import DataError, SpoofspanError, UsageError
from spoofspan.formats.format import Registry, first_with_content
from spoofspan.formats.registry import PROPOSAL_FORMATS, REFERENCE_FORMATS, SCORE_FORMATS, UTTERANCE_SCORE_FORMATS
from spoofspan.formats.sources import Source, Where, sources
from spoofspan.formats.text.protocol import recognises_utterance_labels

LABELS = "utterance labels"
KINDS: dict[str, Registry[Any]] = {
    "references": REFERENCE_FORMATS,
    "scores": SCORE_FORMATS,
    "proposals": PROPOSAL_FORMATS,
    "utterance scores": UTTERANCE_SCORE_FORMATS,
}
# The kinds that are given by mistake in each place, the likeliest first.
MISTAKEN = {
    "references": ("scores", LABELS, "utterance scores", "proposals"),
    "scores": ("utterance scores", "proposals", "references", LABELS),
    "utterance scores": ("scores", "references", "proposals", LABELS),
    "durations": ("references", "scores", "utterance scores", LABELS),
}


class MisplacedFileError(UsageError):
    """A file that holds one kind of content (``found``) where another was asked for (``place``)."""

    def __init__(self, name: str, found: str, place: str) -> None:
        stated = f", or state its format with format= (--{KINDS[place].kind}-format)" if place in KINDS else ""
        super().__init__(f"{name} looks like {found}, not {place}; give {place}{stated}")
        self.name, self.found, self.place = name, found, place


@dataclass(frozen=True)
class Contents:
    """What a path holds, as far as its first bytes tell.

    >>> import io
    >>> sorted(Contents(io.BytesIO(b'{"u1.mp4": [[0.9, 0.5, 1.25]]}')).kinds)
    ['proposals']
    """

    where: Where | Sequence[Where]

    @cached_property
    def sources(self) -> list[Source]:
        """The files, which keep their first bytes for the reader."""
        return sources(self.where)

    def holds(self, kind: str, *, but_not: str | None = None) -> bool:
        """Whether it may be of a kind; no file that cannot be read is of any, since reading it says why."""
        try:
            first = first_with_content(self.sources)
            fits = recognises_utterance_labels(first.head) if kind == LABELS else bool(KINDS[kind].fits(first))
        except SpoofspanError:
            return False
        return fits and (but_not is None or not self.holds(but_not))

    @property
    def kinds(self) -> set[str]:
        """All kinds that it may be of."""
        return {kind for kind in (*KINDS, LABELS) if self.holds(kind)}

    @property
    def has_only_labels(self) -> bool:
        """Whether it is one file of labels of whole utterances or of trials, without times."""
        return len(self.sources) == 1 and self.holds(LABELS, but_not="references")


def is_proposals(contents: Contents, format: str | None) -> bool:
    """Whether a file in the place of scores is, or shall be read as, proposals."""
    return contents.holds("proposals", but_not="scores") if format is None else format in PROPOSAL_FORMATS.formats


@contextmanager
def naming_misplaced(place: str | Registry[Any], found: Sequence[Source]) -> Iterator[None]:
    """Say what a file holds, if it cannot be read because it belongs in another place."""
    try:
        yield
    except DataError:
        if isinstance(place, Registry):
            place = next((kind for kind, registry in KINDS.items() if registry is place), "")
        contents = Contents(found)
        if place in KINDS and contents.holds(place):
            raise
        for kind in MISTAKEN.get(place, ()):
            if contents.holds(kind):
                raise MisplacedFileError(contents.sources[0].name, kind, place) from None
        raise
