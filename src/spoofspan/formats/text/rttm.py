"""NIST's two formats: RTTM, the ranges, and UEM, the regions that count; comments start with ``;;``.

====  =========================================================================================================
RTTM  ``SPEAKER <utt> <chan> <start s> <dur s> <NA> <NA> <label> <NA> [<NA>]``
UEM   ``<utt> <chan> <start> <end>``, or (PartialSpoof) ``<utt> <start> <end>``: not references, but what the rule
      ``regions`` takes
====  =========================================================================================================

PartialSpoof prints times with three decimals, start and duration rounded apart; hence the snap of 2 ms. A label that
is no word for a class is an attack (``A07``): spoof, by that attack.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, repeat

import numpy as np

from spoofspan.base.errors import DataError, UsageError
from spoofspan.data.references import LABELS, References
from spoofspan.formats.fields import plain_columns
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.recognition import text_of
from spoofspan.formats.sources import Source, Where, sources
from spoofspan.formats.tables.corpus_tables import Part, Texts, table_from_references
from spoofspan.formats.text.lines import Line, lines_of, plain_number
from spoofspan.formats.text.rows import (
    SUSPICIOUS_RATIO,
    SUSPICIOUS_SECONDS,
    RangeRows,
    check_writable,
    label_and_attack,
    references_of,
    time_text,
    written_ranges,
)

COMMENT = ";;"
WIDTHS = (9, 10)
LINES_PER_PIECE = 1 << 15


def recognises(head: bytes) -> bool:
    """True if the first line that is no comment looks like RTTM."""
    lines = (line.split() for line in text_of(head).splitlines() if line.strip() and not line.startswith(COMMENT))
    first = next(lines, [""])
    return first[0] == "SPEAKER" and len(first) in WIDTHS


def read(found: Sequence[Source], options: ReadOptions) -> References:
    """Read RTTM files."""
    if len(found) == 1 and (plain := _quickly(found[0], options)) is not None:
        return plain
    rows = RangeRows()
    note_ranges(rows, found)
    return rows.build(options.durations, options.snap)


def _quickly(source: Source, options: ReadOptions) -> References | None:
    """Read a file as a table; None if anything at all is unusual, and has to be looked at line by line."""
    columns = plain_columns(source, WIDTHS, texts=(0, 1, 7), numbers=(3, 4))
    if columns is None:
        return None
    mark, utterances, labels = (Texts.of(*runs) for runs in columns[0])
    starts, lengths = columns[1]
    ends = starts + lengths
    times = np.concatenate((starts, lengths))
    meanings = [label_and_attack(label) for label in labels.values]
    fine = ((times >= 0) & (times <= SUSPICIOUS_SECONDS)).all() and all(code is not None for code, _ in meanings)
    if mark.values != ["SPEAKER"] or not fine or (times == np.floor(times)).all():
        return None
    durations, ids = options.durations, utterances.values
    if durations is not None:
        known = np.array(list(map(durations.get, ids, repeat(np.nan))))
        # false too where an id has no duration
        if not (ends <= SUSPICIOUS_RATIO * known[utterances.codes]).all():
            return None
        if len(durations) > len(ids):
            ids = list(dict.fromkeys([*ids, *durations]))
    codes = np.array([code for code, _ in meanings], np.int8)[labels.codes]
    attack_of = [attack for _, attack in meanings]
    attacks = [attack_of[word] for word in labels.codes.tolist()] if any(attack_of) else None
    try:
        return references_of(ids, durations, utterances.codes, starts, ends, codes, attacks, options.snap)
    except DataError:
        return None


# ---------------------------------------------------------------- columns that were mixed up

# Columns that hold something else: the words for it, the remedy, and the range that such a line means.
MISREADINGS: tuple[tuple[str, str, Callable[[float, float], tuple[float, float]]], ...] = (
    (
        "the fifth column holds ends, not durations (each range starts where the one before has its fifth column); "
        "write durations",
        "$5 = $5 - $4",
        lambda fourth, fifth: (fourth, fifth),
    ),
    (
        "the fourth column holds durations and the fifth starts; swap them",
        "t = $4; $4 = $5; $5 = t",
        lambda fourth, fifth: (fifth, fourth + fifth),
    ),
)


def _ranges_meet(found: Sequence[Source], reading: Callable[[float, float], tuple[float, float]]) -> bool:
    """True if each range, read so, starts where the one before ends; else that is rare."""
    before: dict[str, tuple[float, float]] = {}
    meets = differs = 0
    for line in lines_of(found, comment=COMMENT):
        times = [plain_number(field) for field in line.fields[3:5]] if len(line.fields) >= 9 else [None]
        if None in times:
            return False
        start, end = reading(*(float(time or 0) for time in times))
        if end <= start:
            return False
        last_start, last_end = before.get(line.fields[1], (0.0, 0.0))
        if last_start > 0:  # of a range from 0, the duration is the end
            near = abs(start - last_end) < 0.002
            meets, differs = meets + near, differs + (not near)
        before[line.fields[1]] = (start, end)
    return meets > 9 * differs


def misread(found: Sequence[Source]) -> str:
    """The columns that were mixed up, and the command that mends them; empty if none show."""
    for columns, fixed, reading in MISREADINGS:
        if _ranges_meet(found, reading):
            return f"{found[0].name}: {columns}: awk '{{{fixed}; print}}' {found[0].name} > fixed.rttm"
    return ""


# ---------------------------------------------------------------- piece by piece, and writing


def stream(found: Sequence[Source], options: ReadOptions) -> Iterator[Part]:
    """Read RTTM files piece by piece."""
    for source in found:
        lines = lines_of([source], comment=COMMENT)
        for first in lines:
            rows = RangeRows()
            _note_lines(rows, chain([first], islice(lines, LINES_PER_PIECE - 1)))
            references = rows.build(None, options.snap, check_units=False)
            yield Part(table_from_references(references), source.name)


def note_ranges(rows: RangeRows, found: Sequence[Source]) -> None:
    """Note the range of every line."""
    _note_lines(rows, lines_of(found, comment=COMMENT))


def _note_lines(rows: RangeRows, lines: Iterable[Line]) -> None:
    for line in lines:
        fields = line.fields
        if len(fields) not in WIDTHS:
            rows.problems.add(f"{line.place}: RTTM has 9 or 10 fields, this line has {len(fields)}")
        elif fields[0] != "SPEAKER":
            rows.problems.add(f"{line.place}: the line begins with {fields[0]!r}, not with SPEAKER")
        else:
            start = rows.seconds(line.place, fields[3], "start")
            length = rows.seconds(line.place, fields[4], "duration")
            if length < 0:
                rows.problems.add(f"{line.place}: the duration is negative ({fields[4]})")
            else:
                rows.add(line.place, fields[1], start, start + length, fields[7])


def write(references: References, notes: Sequence[str] = ()) -> Iterator[bytes]:
    """Write RTTM lines, times exactly; durations, and utterances without ranges, need a reco2dur beside it.

    Notes are comments before the lines.
    """
    check_writable(references, "RTTM", words=True, attacks=True)
    yield from (f"{COMMENT} {note}\n".encode() for note in notes)
    for utterance, ranges in written_ranges(references):
        for one in ranges:
            label = LABELS[one.label] if one.attack is None else one.attack
            if one.attack is not None and label_and_attack(one.attack) != (one.label, one.attack):
                raise UsageError(
                    f"RTTM cannot hold the attack {one.attack!r} (attacks look like A07); write another format"
                )
            times = f"{time_text(one.start):>7} {time_text(one.end - one.start):>7}"
            yield f"SPEAKER {utterance} 1 {times} <NA> <NA> {label} <NA> <NA>\n".encode()


FORMAT = Format(
    "rttm",
    "SPEAKER <utt> <chan> <start s> <dur s> <NA> <NA> <label> <NA> [<NA>]: PartialSpoof and NIST",
    read,
    recognises,
    write,
    suffixes=(".rttm",),
    stream=stream,
    explain=misread,
)


# ---------------------------------------------------------------- UEM


def read_regions(where: Where | Sequence[Where]) -> dict[str, list[tuple[float, float]]]:
    r"""Read the regions of each utterance, in seconds.

    Parameters
    ----------
    where
        A UEM file: lines ``<utterance> <channel> <start> <end>``.

    Returns
    -------
    dict
        Pairs of start and end by utterance, for the rule ``regions``.

    Examples
    --------
    >>> import io
    >>> read_regions(io.BytesIO(b"u1 1 0.5 2.0\n"))
    {'u1': [(0.5, 2.0)]}

    """
    rows = RangeRows()
    regions: dict[str, list[tuple[float, float]]] = {}
    channels: dict[str, str] = {}
    found = sources(where, (".uem",))
    for line in lines_of(found, comment=COMMENT):
        fields, utterance = line.fields, line.fields[0]
        place = f"{line.place}: utterance {utterance!r}"
        if len(fields) not in (3, 4) or line.hint:
            rows.problems.add(
                f"{place}: UEM is '<utt> <chan> <start> <end>' or '<utt> <start> <end>', "
                f"not {line.text.strip()[:60]!r}{line.hint}"
            )
            continue
        channel = fields[1] if len(fields) == 4 else ""
        if channels.setdefault(utterance, channel) != channel:
            rows.problems.add(f"{place}: a second channel ({channel!r}); keep one channel of each utterance")
            continue
        start, end = rows.seconds(place, fields[-2], "start"), rows.seconds(place, fields[-1], "end")
        if math.isnan(start) or math.isnan(end):
            continue
        if start < 0:
            rows.problems.add(f"{place}: the region starts before 0 ({start})")
        elif end <= start:
            rows.problems.add(f"{place}: the region ends before it starts, or is empty ({start} to {end})")
        else:
            regions.setdefault(utterance, []).append((start, end))
    rows.problems.raise_if_any("correct the file of regions")
    if not regions:
        raise DataError(f"{found[0].name}: there is no region in the file; it is empty or has comments only")
    return regions
