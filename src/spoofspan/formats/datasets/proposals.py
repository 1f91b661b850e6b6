"""Proposals as JSON ``{file: [[confidence, start, end], ...]}`` (AV-Deepfake1M, LAV-DF), and as CSV; high = fake.

Times are seconds, or with ``fps`` frame numbers that are divided by it, as in AV-Deepfake1M's scorer (1 = seconds).
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import DataError, Problems, UsageError
from spoofspan.data.proposals import Proposals
from spoofspan.formats.arrays.npz import DICT
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.pickles import read_dict
from spoofspan.formats.recognition import Begins, first_line
from spoofspan.formats.sources import Source
from spoofspan.formats.tables import csv_files
from spoofspan.formats.tables.corpus_tables import joined_parts
from spoofspan.formats.tables.table_columns import PartColumns
from spoofspan.formats.text.json_text import TRIPLES, json_object, json_pairs
from spoofspan.formats.text.rows import SUSPICIOUS_SECONDS, time_text

SHAPE = "{file: [[confidence, start, end], ...]}"


class _Rows:
    """Collects proposals of files, utterance by utterance."""

    def __init__(self, options: ReadOptions, shape: str) -> None:
        self.shape = shape
        self.fps = 1.0 if options.fps is None else options.fps
        if not 0 < self.fps < math.inf:
            raise UsageError(
                f"fps must be a positive number of frames per second, not {self.fps!r}; 1 if times are seconds"
            )
        self.problems = Problems()
        self.of: dict[str, list[tuple[float, float, float]]] = {}

    def add(self, utterance: str, item: Any, place: str) -> None:
        """Note one ``[confidence, start, end]``, its times in seconds; a problem if it is none."""
        if not isinstance(item, list) or len(item) != 3 or not all(isinstance(value, float) for value in item):
            self.problems.add(f"{place}: not three numbers [confidence, start, end]")
            return
        confidence, start, end = item[0], item[1] / self.fps, item[2] / self.fps
        if not all(map(math.isfinite, (confidence, start, end))):
            self.problems.add(f"{place}: {item} has a number that is not finite; leave such a proposal out")
        elif end < start:
            self.problems.add(f"{place}: ends before it starts ({start} > {end})")
        elif start < 0:
            self.problems.add(f"{place}: starts before 0 ({start})")
        elif end > SUSPICIOUS_SECONDS:
            self.problems.add(f"{place}: ends after more than a day ({end} s); are these milliseconds or frames?")
        else:
            self.of[utterance].append((confidence, start, end))

    def build(self, sources: Sequence[Source]) -> Proposals:
        """Make Proposals of what was noted."""
        self.problems.raise_if_any(f"correct the file: {self.shape}, times in seconds, or in frames with fps=")
        if not self.of:
            raise DataError(f"{', '.join(source.name for source in sources)}: there is no proposal in the file")
        columns = np.array([row for rows in self.of.values() for row in rows], np.float64).reshape(-1, 3)
        starts, ends = (np.rint(columns[:, i] * 1e9).astype(np.int64) for i in (1, 2))
        counts = [len(rows) for rows in self.of.values()]
        return Proposals(tuple(self.of), offsets_of(counts), columns[:, 0].copy(), starts, ends)


def _read(
    items_of: Callable[[Source], Iterable[tuple[str, Any]]], sources: Sequence[Source], options: ReadOptions
) -> Proposals:
    """Read files that each list the proposals of some files."""
    rows = _Rows(options, SHAPE)
    file_of: dict[str, str] = {}
    for source in sources:
        for utterance, listed in items_of(source):
            place = f"{source.name}: {utterance!r}"
            if utterance in file_of:
                again = "twice" if file_of[utterance] == source.name else f"in {file_of[utterance]} as well"
                rows.problems.add(f"{place} is there {again}")
            elif not utterance or not isinstance(listed, list):
                rows.problems.add(f"{place}: not a list of [confidence, start, end]")
            else:
                file_of[utterance] = source.name
                rows.of[utterance] = []
                for i, item in enumerate(listed):
                    rows.add(utterance, item, f"{place}[{i}]")
    return rows.build(sources)


def _dict_items(source: Source) -> Iterator[tuple[str, Any]]:
    """The items of a dict in an npy file or pickle, arrays as lists of floats."""
    for utterance, given in read_dict(source).items():
        listed = given.tolist() if isinstance(given, np.ndarray) else given
        yield utterance, [_floats(one) for one in listed] if isinstance(listed, list) else listed


def _floats(row: Any) -> Any:
    numbers = list(row) if isinstance(row, (list, tuple, np.ndarray)) else []
    return [float(one) for one in numbers if isinstance(one, (int, float, np.number))]


def write(proposals: Proposals) -> Iterator[bytes]:
    """Write JSON, an utterance a line."""
    said = ((utt, [(confidence, start, end) for start, end, confidence in found]) for utt, found in proposals.items())
    return json_object(said, "proposals")


# ---------------------------------------------------------------- CSV

COLUMNS = ("utterance", "start", "end", "confidence")


def read_csv(sources: Sequence[Source], options: ReadOptions) -> Proposals:
    """Read a table with a row for each proposal; a row without times names an utterance that has none."""
    rows = _Rows(options, f"columns {', '.join(COLUMNS)}")
    for source in sources:
        part = joined_parts(csv_files.CSV.parts(source, COLUMNS, True))
        columns = PartColumns(part, COLUMNS)
        columns.require(COLUMNS)
        values = (columns.column(name).to_list() for name in COLUMNS)
        for row, (utterance, start, end, confidence) in enumerate(zip(*values, strict=True)):
            rows.of.setdefault(utterance, [])
            if (start, end, confidence) != (None, None, None):
                rows.add(utterance, [confidence, start, end], f"{part.place(row)}, utterance {utterance!r}")
    return rows.build(sources)


def write_csv(proposals: Proposals) -> Iterator[bytes]:
    """Write a row for each proposal, times exactly; an utterance without any has a row without times."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for i, utterance in enumerate(proposals.utterances):
        rows = slice(int(proposals.offsets[i]), int(proposals.offsets[i + 1]))
        columns = (column[rows].tolist() for column in (proposals.starts, proposals.ends, proposals.confidences))
        found = [
            (time_text(start), time_text(end), repr(confidence))
            for start, end, confidence in zip(*columns, strict=True)
        ]
        table.writerows((utterance, *one) for one in found or [("", "", "")])
        yield out.getvalue().encode()
        out.seek(0)
        out.truncate()


# ---------------------------------------------------------------- CFPRF


CFPRF = Format(
    "cfprf-proposals",
    "{set}_cp_dict.npy, _ver_dict.npy, _regver_dict.npy: dict <file> -> [[confidence, start, end], ...], s: CFPRF",
    partial(_read, _dict_items),
    DICT,
    suffixes=("cp_dict.npy", "ver_dict.npy"),
    named=r"_?(cp|ver|regver)_dict\.npy$",
    takes=("fps",),
)
FORMAT = Format(
    "proposals",
    f"JSON {SHAPE}, seconds (or frames, with fps), high = fake: AV-Deepfake1M, LAV-DF",
    partial(_read, partial(json_pairs, shape=SHAPE)),
    TRIPLES,
    write,
    suffixes=(".json",),
    takes=("fps",),
)
CSV = Format(
    "proposals-csv",
    "CSV with the columns utterance, start, end, confidence (seconds, high = fake); without times: nothing was found",
    read_csv,
    Begins(r"[^\n]*,", lambda head: set(COLUMNS) <= {name.strip() for name in first_line(head).split(",")}),
    write_csv,
    suffixes=(".csv",),
    takes=("fps",),
)
