"""Segment lists: ``<utt> <dur s> <bonafide|spoof> (<start>-<end>-<bonafide|spoof>)*``, a line per utterance.

The labels of LlamaPartialSpoof and of partialspoof-metrics. They carry durations, and a label of the utterance that
must agree with its ranges: spoof if and only if one of them is. An utterance without ranges is bona fide and stays
without.
A ``-`` also is a sign of a number or of its exponent: ``1e-05-0.5-spoof`` is a range from 0.00001 s to 0.5 s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from spoofspan.errors import UsageError
from spoofspan.formats.registry import Format, ReadOptions
from spoofspan.formats.rows import (
    TEXT_SNAP,
    RangeRows,
    check_labels,
    check_no_kinds,
    check_words,
    header_hint,
    is_number,
    mostly,
    time_text,
    written_ranges,
)
from spoofspan.formats.sources import Source
from spoofspan.references import BONA_FIDE, LABELS, SPOOF, References

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
RANGE = re.compile(rf"({NUMBER})-({NUMBER})-(.*)")
WORDS = ("bonafide", "spoof")


def recognises(head: bytes) -> bool:
    """Whether most of the first lines are an id, a number, a class, and ranges."""
    return mostly(head, _fits)


def _fits(line: str) -> bool:
    fields = line.split()
    if len(fields) < 3 or fields[2] not in WORDS or not is_number(fields[1]):
        return False
    # Three fields of which two are numbers could be a label track.
    return not is_number(fields[0]) if len(fields) == 3 else RANGE.fullmatch(fields[3]) is not None


def read(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read segment lists; durations in the options take precedence over those in the file."""
    rows = RangeRows()
    durations: dict[str, float] = {}
    for source in sources:
        empty = True
        for number, line in source.lines():
            empty = False
            _read_line(rows, durations, f"{source.name}:{number}", line.split(), header_hint(number, line))
        if empty:
            rows.problems.add(f"{source.name}: the file is empty")
    durations.update(options.durations or {})
    return rows.build(durations, snap=TEXT_SNAP if options.snap is None else options.snap, only_listed=True)


def _read_line(rows: RangeRows, durations: dict[str, float], place: str, fields: list[str], hint: str) -> None:
    if len(fields) < 3:
        rows.problems.add(
            f"{place}: utterance {fields[0]!r}: '<utt> <seconds> <bonafide|spoof> <ranges>' has at least 3 fields, "
            f"this line has {len(fields)}{hint}"
        )
        return
    utterance, duration, label = fields[:3]
    where = f"{place}: utterance {utterance!r}"
    if label not in WORDS:
        rows.problems.add(f"{where}: the third field must be bonafide or spoof, not {label!r}{hint}")
        return
    if not rows.name_once(place, utterance):
        return
    durations[utterance] = rows.seconds(where, duration, "duration")
    if durations[utterance] <= 0:
        rows.problems.add(f"{where}: the duration must be positive, not {duration}")
    words = {_read_range(rows, place, utterance, item) for item in fields[3:]}
    if None in words:
        return
    if ("spoof" in words) != (label == "spoof"):
        found = "one of its ranges is spoof" if "spoof" in words else "none of its ranges is spoof"
        rows.problems.add(f"{where}: it is called {label}, but {found}; correct the label or the ranges")


def _read_range(rows: RangeRows, place: str, utterance: str, item: str) -> str | None:
    """Note one range; returns its label, None (and a problem) if it cannot be read."""
    where = f"{place}: utterance {utterance!r}"
    match = RANGE.fullmatch(item)
    if match is None:
        hint = "use decimal points" if "," in item else "it must be <start>-<end>-<bonafide|spoof>, in seconds"
        rows.problems.add(f"{where}: the range {item!r} cannot be read; {hint}")
        return None
    if match[3] not in WORDS:
        rows.problems.add(f"{where}: unknown label {match[3]!r} in {item!r} (bonafide or spoof)")
        return None
    start, end = rows.seconds(where, match[1], "start"), rows.seconds(where, match[2], "end")
    rows.add(place, utterance, start, end, match[3])
    return match[3]


def write(references: References) -> Iterator[bytes]:
    """Write a line per utterance; times exactly."""
    check_words(references, "a segment list")
    check_labels(references, "a segment list", (BONA_FIDE, SPOOF))
    check_no_kinds(references, "a segment list")
    if references.durations is None:
        raise UsageError("a segment list holds durations; give them with durations= (--durations)")
    for (utterance, ranges), duration in zip(written_ranges(references), references.durations.tolist(), strict=True):
        label = LABELS[max((one.label for one in ranges), default=BONA_FIDE)]
        items = "".join(f" {time_text(one.start)}-{time_text(one.end)}-{LABELS[one.label]}" for one in ranges)
        yield f"{utterance} {time_text(duration)} {label}{items}\n".encode()


FORMAT = Format(
    "segment-list",
    "<utt> <dur s> <bonafide|spoof> (<start>-<end>-<bonafide|spoof>)*: LlamaPartialSpoof, partialspoof-metrics",
    read,
    recognises,
    write,
)
