"""CSV and TSV with a list in a cell: all scores, or all labels, of an utterance.

Cells are as pandas and numpy print them: ``"[0.1, 0.2]"``, ``[0.1 0.2]``. Everything else is as in arrays
(:mod:`spoofspan.formats.arrays.npz`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from spoofspan.base.errors import Problems, UsageError
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.formats.arrays.npz import read_labels, read_scores
from spoofspan.formats.column_names import UTTERANCE, polarity_of
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.recognition import Begins
from spoofspan.formats.sources import Source
from spoofspan.formats.text.lines import is_number
from spoofspan.formats.text.utterance_tables import Layout, header_layout, rows_of

CELLS = r"[^{\[][^\n]*\n[^\[]*\["  # lists below a header


def _is_of(head: bytes, *, labels: bool) -> bool:
    found = layout.columns_of_lists if (layout := header_layout(head)) is not None else []
    return bool(found) and any("label" in name.lower() for name in found) == labels


def _column(source: Source, options: ReadOptions) -> tuple[Layout, str]:
    layout = header_layout(source.head)
    found = [] if layout is None else layout.columns_of_lists
    name = options.column or (found[0] if len(found) == 1 else None)
    if layout is None or name is None or layout.position(name) is None:
        raise UsageError(f"{source.name}: which column has the lists, {', '.join(found) or 'none'}? Give column=")
    return layout, name


def _lists(options: ReadOptions, source: Source) -> dict[str, Any]:
    layout, name = _column(source, options)
    found: dict[str, Any] = {}
    problems = Problems()
    for place, (utterance, cell) in rows_of(source, layout, (UTTERANCE, name), problems):
        words = [word.strip("'\"") for word in re.split(r"[,\s]+", cell.strip("[] ")) if word]
        if utterance in found:
            problems.add(f"{place}: utterance {utterance!r} is listed a second time; keep one of the two")
        elif ", " in cell and re.search(r"\d,\d", cell):
            problems.add(f"{place}: utterance {utterance!r}: the list has decimal commas; use decimal points")
        elif not cell.startswith("[") or not words or "..." in words:
            problems.add(f"{place}: utterance {utterance!r}: {cell[:40]!r} is no list of all its frames")
        else:
            found[utterance] = [float(word) for word in words] if all(map(is_number, words)) else words
    problems.raise_if_any("correct the file")
    return found


def _read_scores(sources: Sequence[Source], options: ReadOptions) -> Scores:
    stated = polarity_of(_column(sources[0], options)[1])
    if stated is not None:
        options = ReadOptions(hop=options.hop, higher=options.polarity(stated, "its column"), column=options.column)
    # the column is that of the table, and each of its lists has one score per frame
    told = ReadOptions(hop=options.hop, higher=options.higher)
    return read_scores(partial(_lists, options), sources, told)


def _read_labels(sources: Sequence[Source], options: ReadOptions) -> References:
    return read_labels(partial(_lists, options), sources, options)


SCORES = Format(
    "list-cells",
    'CSV or TSV with a list of scores in a cell, one per frame from 0: utterance,scores / u1,"[0.1, 0.2]"',
    _read_scores,
    Begins(CELLS, partial(_is_of, labels=False)),
    suffixes=(".csv", ".tsv"),
)
LABELS = Format(
    "list-cells",
    'CSV or TSV with a list of labels in a cell, one per frame from 0: utterance,labels / u1,"[0, 1]"',
    _read_labels,
    Begins(CELLS, partial(_is_of, labels=True)),
    suffixes=(".csv", ".tsv"),
    takes=("spoof_label",),
)
