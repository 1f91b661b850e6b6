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
from spoofspan.data.scores import Higher
from spoofspan.formats.file_names import resolution_in_name
from spoofspan.formats.format import Format, Registry, first_with_content
from spoofspan.formats.other_files import OTHERS
from spoofspan.formats.registry import PROPOSAL_FORMATS, REFERENCE_FORMATS, SCORE_FORMATS, UTTERANCE_SCORE_FORMATS
from spoofspan.formats.sources import Source, Where, sources
from spoofspan.formats.text.utterance_scores import OF_TIME
from spoofspan.formats.text.utterance_tables import BINARY, header_layout, layout_of, recognises_utterance_labels

LABELS = "utterance labels"
KINDS: dict[str, Registry[Any]] = {
    "references": REFERENCE_FORMATS,
    "scores": SCORE_FORMATS,
    "proposals": PROPOSAL_FORMATS,
    "utterance scores": UTTERANCE_SCORE_FORMATS,
}
SCORED = ("scores", "utterance scores")
# The kinds that are given by mistake in each place, the likeliest first.
MISTAKEN = {
    "references": ("scores", LABELS, "utterance scores", "proposals"),
    "scores": ("utterance scores", "proposals", "references", LABELS),
    "utterance scores": ("scores", "references", "proposals", LABELS),
    "durations": ("references", "scores", LABELS),
}


class MisplacedFileError(UsageError):
    """A file that holds one kind of content (``found``) where another was asked for (``place``)."""

    def __init__(self, name: str, found: str, place: str) -> None:
        stated = f", or state its format with format= (--{KINDS[place].kind}-format)" if place in KINDS else ""
        super().__init__(f"{name} looks like {found}, not {place}; give {place}{stated}")
        self.name, self.found, self.place = name, found, place


@dataclass(frozen=True)
class Contents:
    """Content of a path, as far as its first bytes tell.

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
        """True if it may be of a kind; no file that cannot be read is of any, since reading it says why."""
        try:
            first = first_with_content(self.sources)
            found = [] if kind == LABELS else KINDS[kind].fits(first)
            fits = recognises_utterance_labels(first.head) if kind == LABELS else bool(found)
        except SpoofspanError:
            return False
        if any(one.named for one in found):  # nothing else is called so
            return True
        return fits and (but_not is None or not self.holds(but_not))

    @property
    def kinds(self) -> set[str]:
        """All kinds that it may be of."""
        return {kind for kind in (*KINDS, LABELS) if self.holds(kind)}

    def format_of(self, kind: str) -> Format[Any] | None:
        """The one format that it has as content of a kind; None if none or several fit."""
        try:
            return KINDS[kind].recognise(first_with_content(self.sources))
        except SpoofspanError:
            return None

    @property
    def higher(self) -> Higher | None:
        """Meaning of high scores, where the format states it."""
        return next((one.higher for kind in SCORED if (one := self.format_of(kind)) is not None and one.higher), None)

    @property
    def hop(self) -> float | None:
        """The spacing of frames in seconds, where the format or the name of the file states it."""
        stated = next((one.hop for kind in SCORED if (one := self.format_of(kind)) is not None and one.hop), None)
        return stated or resolution_in_name(self.sources[0].name)

    @property
    def is_binary_table_in_time(self) -> bool:
        """True if it is a Parquet or Arrow file with columns of times or frames, which stand at its end."""
        first = first_with_content(self.sources)
        if not first.head.startswith(BINARY):
            return False
        layout = layout_of(first, ())
        return layout is not None and not OF_TIME.isdisjoint(layout.names)

    @property
    def is_other_table(self) -> bool:
        """True if it is a table of utterances in text, without times, labels, or columns that are called scores."""
        layout = header_layout(first_with_content(self.sources).head)
        return layout is not None and OF_TIME.isdisjoint(layout.names) and not self.kinds

    @property
    def has_only_labels(self) -> bool:
        """True if it is one file of labels of whole utterances or of trials, without times."""
        return len(self.sources) == 1 and self.holds(LABELS, but_not="references")


def refuse_other_file(contents: Contents, place: str) -> None:
    """Refuse a file that is known, and no content of any kind, with the command that takes it."""
    first = first_with_content(contents.sources)
    one = next((one for one in OTHERS if one.fits(first.head)), None)
    if one is not None and one.command and not one.may_be_read:
        raise UsageError(
            f"{first.name} looks like {one.kind} ({one.whose}), not {place}; use: {one.command_for(first)}"
        )


def is_proposals(contents: Contents, format: str | None) -> bool:
    """True if a file in the place of scores is, or shall be read as, proposals."""
    return contents.holds("proposals", but_not="scores") if format is None else format in PROPOSAL_FORMATS.formats


def is_utterance_scores(contents: Contents, format: str | None, *, labels: bool) -> bool:
    """True if a file in the place of scores is, or shall be read as, scores of whole utterances.

    With ``labels`` of whole utterances there cannot be any others.
    """
    if format is not None:
        return format in UTTERANCE_SCORE_FORMATS.formats
    if labels and contents.is_other_table:
        return True
    whole = contents.holds("utterance scores", but_not=None if labels else "scores")
    return whole and not contents.holds("proposals") and not contents.is_binary_table_in_time


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
        if place in KINDS:
            refuse_other_file(contents, place)
        raise
