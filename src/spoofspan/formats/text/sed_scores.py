"""Scores of sound event detection (DCASE, sed_scores_eval): a file ``<utt>.tsv`` per utterance.

::

    onset   offset  spoof
    0.0     0.02    0.03
    0.02    0.04    0.91

A row is a range, a further column a class; high scores mean that the class is there. The column ``spoof`` (or ``fake``)
is read, or that which ``column`` names.
"""

from __future__ import annotations

from collections.abc import Sequence

from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.data.references import BONA_FIDE, SPOOF
from spoofspan.data.scores import Higher, Scores
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.recognition import Begins, first_lines, text_of
from spoofspan.formats.sources import Source
from spoofspan.formats.text.labelled_ranges import utterance_named
from spoofspan.formats.text.lines import score_of
from spoofspan.formats.text.rows import WORDS, RangeRows, label_and_attack
from spoofspan.formats.text.utterance_tables import Layout, rows_of

TIMES = ("onset", "offset")
SUFFIX = ".tsv"
HEADER = Begins("onset\toffset\t", lambda head: bool(text_of(head)))


def _header(source: Source) -> list[str]:
    return [name.strip() for name in first_lines(source.head)[0].split("\t")]


def _column(source: Source, options: ReadOptions) -> tuple[str, Higher]:
    """The column of the scores, and what high ones mean."""
    classes = _header(source)[2:]
    spoof = [name for name in classes if label_and_attack(name)[0] == SPOOF]
    name = options.column or (spoof or classes)[0]
    if name not in classes:
        raise UsageError(f"{source.name}: no column {name!r}: {nearest_name(name, classes)}")
    if options.column is None and len(spoof) != 1:
        words = WORDS[SPOOF].replace(" ", " or ")
        raise UsageError(
            f"{source.name}: which of {', '.join(classes)} has the scores? Give column=, or call it {words}"
        )
    stated: Higher = "bonafide" if label_and_attack(name)[0] == BONA_FIDE else "spoof"
    return name, options.polarity(stated, f"the column {name!r}")


def read(sources: Sequence[Source], options: ReadOptions) -> Scores:
    """Read files, each of one utterance."""
    if options.hop is not None:
        raise UsageError(f"{sources[0].name}: rows have times of their own; leave hop= out")
    rows, higher = RangeRows(), options.higher
    found: dict[str, list[tuple[float, float, float]]] = {}
    for source in sources:
        if (utterance := utterance_named(source, SUFFIX, rows)) is None:
            continue
        if not HEADER(source.head):
            raise DataError(f"{source.name}: the first line must be onset, offset and classes, tabs between them")
        name, higher = _column(source, options)
        ranges = found.setdefault(utterance, [])
        layout = Layout(_header(source), _header(source), "\t")
        for place, (onset, offset, text) in rows_of(source, layout, (*TIMES, name), rows.problems):
            where = f"{place}: utterance {utterance!r}"
            times = rows.seconds(where, onset, "onset"), rows.seconds(where, offset, "offset")
            if not 0 <= times[0] <= times[1]:
                rows.problems.add(
                    f"{where}: the range from {onset} to {offset} starts before 0, or ends before it starts"
                )
            ranges.append((*times, score_of(text, where, rows.problems)))
    rows.problems.raise_if_any("correct the files")
    return Scores.from_ranges(found, higher=higher or "spoof")


FORMAT = Format(
    "sed-scores",
    "<onset> TAB <offset> TAB <class scores> under a header, a file <utt>.tsv per utterance: DCASE, sed_scores_eval",
    read,
    HEADER,
    suffixes=(SUFFIX,),
)
