"""Containers: kinds of file that hold tables. Each says how its tables are found and written, and nothing more.

What the tables mean, and every check of it, is the same for all: :mod:`reference_tables` and :mod:`score_tables`. The
plainest of them is :mod:`arrow_ipc`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.formats.format import Format, ReadOptions, T
from spoofspan.formats.recognition import Begins
from spoofspan.formats.sources import Source
from spoofspan.formats.tables.corpus_tables import (
    REFERENCES,
    SCORES,
    ColumnTable,
    Part,
    Schema,
    Wanted,
    joined_parts,
    table_from_references,
    table_from_scores,
    with_our_names,
)
from spoofspan.formats.tables.reference_tables import references_from_parts
from spoofspan.formats.tables.score_tables import scores_from_parts

FromParts = Callable[[Sequence[Part], ReadOptions], T]


@dataclass(frozen=True)
class Container:
    """One kind of file.

    ``parts`` reads the columns of the given names, where the file has them: some rows at a time, for files larger than
    memory, or as fast as it can where all will be held at once (True).
    """

    name: str
    about: str  # completes "columns utterance, start, ..., "
    suffixes: tuple[str, ...]
    begins: Begins
    holds: Callable[[bytes, Schema], bool]  # of files that begin so
    parts: Callable[[Source, Sequence[str], bool], Iterator[Part]]
    write: Callable[[ColumnTable], Iterator[bytes]]
    text: bool = False  # without types and metadata: times are seconds
    lists: bool = True  # a cell may hold all scores of an utterance

    @property
    def references(self) -> Format[References]:
        """References in this container, for the registry."""
        return replace(self._format(REFERENCES, references_from_parts, self.write_references), takes=("spoof_label",))

    @property
    def scores(self) -> Format[Scores]:
        """Scores in this container, for the registry."""
        return self._format(SCORES, scores_from_parts, self.write_scores)

    def write_references(self, references: References) -> Iterator[bytes]:
        """Write one row per range."""
        return self.write(table_from_references(references, text=self.text))

    def write_scores(self, scores: Scores) -> Iterator[bytes]:
        """Write frames as one list per utterance (where there are lists), ranges as one row each."""
        return self.write(table_from_scores(scores, long=scores.hops is None or not self.lists, text=self.text))

    def _format(self, schema: Schema, from_parts: FromParts[T], write: Callable[[T], Iterator[bytes]]) -> Format[T]:
        grammar = schema.grammar if self.lists else re.sub(r" or utterance, \w+ \(a list\)$", "", schema.grammar)

        def columns(options: ReadOptions) -> Sequence[str]:
            return Wanted(dict.fromkeys((*schema.columns, options.column or "utterance")))

        def read(sources: Sequence[Source], options: ReadOptions) -> T:
            # rows are counted anew where all of them are read
            whole = (
                joined_parts(replace(piece, rows=None) for piece in self.parts(source, columns(options), True))
                for source in sources
            )
            return from_parts(list(whole), options)

        def stream(sources: Sequence[Source], options: ReadOptions) -> Iterator[Part]:
            for source in sources:
                for part in self.parts(source, columns(options), False):
                    yield with_our_names(part, options.column)

        return Format(
            self.name,
            f"{grammar}, {self.about}",
            read,
            replace(self.begins, also=lambda head: self.holds(head, schema)),
            write,
            suffixes=self.suffixes,
            stream=stream,
        )
