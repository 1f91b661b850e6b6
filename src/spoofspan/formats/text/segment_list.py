"""Segment lists: ``<utt> <dur s> <bonafide|spoof> (<start>-<end>-<bonafide|spoof>)*``, a line per utterance.

The labels of LlamaPartialSpoof and of partialspoof-metrics. They carry durations, and a label of the utterance that
must agree with its ranges: spoof if and only if one of them is. An utterance without ranges is bona fide and stays
without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spoofspan.base.errors import UsageError
from spoofspan.data.references import BONA_FIDE, LABELS, SPOOF, References
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.text.range_items import RANGE, ItemWords, read_lines
from spoofspan.formats.text.rows import (
    TEXT_SNAP,
    RangeRows,
    check_labels,
    check_no_kinds,
    check_words,
    is_number,
    mostly,
    time_text,
    written_ranges,
)

WORDS = ItemWords({"bonafide": "bonafide", "spoof": "spoof"}, "bonafide|spoof", "bonafide or spoof")


def recognises(head: bytes) -> bool:
    """Whether most of the first lines are an id, a number, a class, and ranges."""
    return mostly(head, _fits)


def _fits(line: str) -> bool:
    fields = line.split()
    if len(fields) < 3 or fields[2] not in WORDS.labels or not is_number(fields[1]):
        return False
    # Three fields of which two are numbers could be a label track.
    return not is_number(fields[0]) if len(fields) == 3 else RANGE.fullmatch(fields[3]) is not None


def read(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read segment lists; durations in the options take precedence over those in the file."""
    rows = RangeRows()
    durations = note_ranges(rows, sources) | dict(options.durations or {})
    return rows.build(durations, snap=TEXT_SNAP if options.snap is None else options.snap, only_listed=True)


def note_ranges(rows: RangeRows, sources: Sequence[Source]) -> dict[str, float]:
    """Note the ranges of every line; returns the duration of every utterance."""
    durations: dict[str, float] = {}

    def read_line(place: str, fields: list[str], hint: str) -> None:
        where = f"{place}: utterance {fields[0]!r}"
        if len(fields) < 3:
            rows.problems.add(
                f"{where}: '<utt> <seconds> <bonafide|spoof> <ranges>' has at least 3 fields, this line has "
                f"{len(fields)}{hint}"
            )
            return
        utterance, duration, label = fields[:3]
        if label not in WORDS.labels:
            rows.problems.add(f"{where}: the third field must be bonafide or spoof, not {label!r}{hint}")
            return
        if not rows.name_once(place, utterance):
            return
        durations[utterance] = rows.seconds(where, duration, "duration")
        if durations[utterance] <= 0:
            rows.problems.add(f"{where}: the duration must be positive, not {duration}")
        spoof = WORDS.note(rows, place, utterance, fields[3:])
        if spoof is not None and spoof != (label == "spoof"):
            found = "one of its ranges is spoof" if spoof else "none of its ranges is spoof"
            rows.problems.add(f"{where}: it is called {label}, but {found}; correct the label or the ranges")

    read_lines(rows, sources, read_line)
    return durations


def write(references: References) -> Iterator[bytes]:
    """Write a line per utterance; times exactly."""
    check_words(references, "a segment list")
    check_labels(references, "a segment list", (BONA_FIDE, SPOOF))
    check_no_kinds(references, "a segment list")
    if references.durations is None:
        raise UsageError("a segment list holds durations; give them with durations= (--durations)")
    for (utterance, ranges), duration in zip(written_ranges(references), references.durations.tolist(), strict=True):
        label = LABELS[max((one.label for one in ranges), default=BONA_FIDE)]
        items = "".join(f" {WORDS.text(one, LABELS[one.label])}" for one in ranges)
        yield f"{utterance} {time_text(duration)} {label}{items}\n".encode()


FORMAT = Format(
    "segment-list",
    "<utt> <dur s> <bonafide|spoof> (<start>-<end>-<bonafide|spoof>)*: LlamaPartialSpoof, partialspoof-metrics",
    read,
    recognises,
    write,
)
