"""PartialSpoof's score pickles: ``{set}_score_ali_{2,4,8,16,32,64}[_{date}].pkl``.

A pickled list with one 2-D array of text per utterance, one row per frame; the number in the file name is the hop in
units of 10 ms::

    utterance  score0  score1  [label]        score1 is high for bona fide; the label is not read
    utterance  score1

Read without running the pickle, see :mod:`spoofspan.formats.pickles`. The decimal strings become float64.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import DataError, Problems, UsageError
from spoofspan.base.numbers import is_number
from spoofspan.base.times import Float64
from spoofspan.data.scores import Scores
from spoofspan.formats.arrays.npz import Seen
from spoofspan.formats.file_names import stated_resolution
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.pickles import PREAMBLE, portable, read_list
from spoofspan.formats.recognition import Begins
from spoofspan.formats.sources import Source
from spoofspan.formats.text.frame_lines import check_frames

# Which column is which, by the number of columns.
COLUMNS = {2: {"score1": 1}, 3: {"score0": 1, "score1": 2}, 4: {"score0": 1, "score1": 2}}
WIDTH = 32  # characters; numpy's width for a float joined with text
BATCH = 1000


def read(sources: Sequence[Source], options: ReadOptions) -> Scores:
    """Read score pickles; ``column`` may name score0 instead of score1, and must then come with ``higher``."""
    column = "score1" if options.column is None else options.column
    if column not in COLUMNS[4]:
        raise UsageError(f"no column {column!r} in this format; valid: score0, score1 (high for bona fide)")
    if options.higher is None and column == "score0":
        raise UsageError("what high values of score0 mean is not fixed; give higher=")
    problems, seen = Problems(), Seen()
    hops: list[float] = []
    values: list[Float64] = []
    for source in sources:
        hop = stated_resolution(source.name, options.hop)
        for number, item in enumerate(read_list(source)):
            place = f"{source.name}: item {number}"
            if (wrong := _wrong(item)) is not None:
                problems.add(place + wrong)
                continue
            utterance = str(item[0, 0])
            if not seen.is_new(utterance, source, problems):
                continue
            if (index := COLUMNS[item.shape[1]].get(column)) is None:
                problems.add(f"{place}, utterance {utterance!r}: there is no {column}, only score1")
                continue
            hops.append(hop)
            values.append(_numbers(item, index, f"{place}, utterance {utterance!r}", problems))
    problems.raise_if_any("correct the file, or read one resolution at a time")
    if not seen:
        raise DataError(f"{sources[0].name}: there are no scores in the file; its list is empty")
    return Scores.from_columns(
        list(seen),
        offsets_of([array.size for array in values]),
        np.concatenate(values),
        hop=hops,
        higher=options.higher or "bonafide",
    )


def _wrong(item: Any) -> str | None:
    """Problems with the layout of an item, if anything."""
    if not isinstance(item, np.ndarray):
        return f": a value of type {type(item).__name__}, not an array"
    if item.ndim != 2 or item.shape[1] not in COLUMNS or not item.shape[0]:
        return f": an array of shape {item.shape}, not of rows with 4, 3 or 2 columns"
    if item.dtype.kind != "U":
        return f": an array of {item.dtype}, not of text: there is no utterance id in it"
    utterance = str(item[0, 0])
    if item.shape[1] == 2 and is_number(utterance):
        return ": two columns of scores without an utterance id (some scripts keep the ids in a file apart)"
    for row in np.flatnonzero(item[:, 0] != item[0, 0])[:1].tolist():
        return f", row {row}: utterance {str(item[row, 0])!r} among the rows of {utterance!r}"
    return None if utterance else ": the utterance id is empty"


def _numbers(item: npt.NDArray[np.str_], index: int, place: str, problems: Problems) -> Float64:
    """One column as float64; every cell must be a number."""
    cells = item[:, index]
    with suppress(ValueError):
        numbers = cells.astype(np.float64)
        if not np.isnan(numbers).any() and not (np.char.find(cells, "_") >= 0).any():
            return numbers
    for row, cell in enumerate(cells.tolist()):
        if not is_number(cell) or "_" in cell:
            hint = "; use a decimal point" if "," in cell else ""
            problems.add(f"{place}, row {row}: score {cell!r} is no number{hint}")
        elif np.isnan(float(cell)):
            problems.add(f"{place}, row {row}: score {cell!r} is NaN")
    return np.zeros(cells.size)


def write(scores: Scores) -> Iterator[bytes]:
    """Write the official layout with three columns, score0 = -score1; the file name must state the hop."""
    check_frames(scores, "partialspoof-pickle")
    yield b"\x80\x02]"  # protocol 2, a list
    sign = 1.0 if scores.higher == "bonafide" else -1.0
    for number, (utterance, values) in enumerate(scores.items()):
        if not values.size:
            raise UsageError(f"utterance {utterance!r} has no scores; the format partialspoof-pickle cannot name it")
        score1 = sign * values.astype(np.float64)
        array = np.empty((values.size, 3), f"<U{max(WIDTH, len(utterance))}")
        array[:, 0] = utterance
        array[:, 1:] = [(repr(-score), repr(score)) for score in score1.tolist()]
        # Each array is a pickle of its own, without its beginning and end: nothing refers across, memory stays small.
        yield (b"(" if number % BATCH == 0 else b"") + portable(pickle.dumps(array, protocol=2)[2:-1])
        if number % BATCH == BATCH - 1 or number == len(scores) - 1:
            yield b"e"
    yield b"."


FORMAT = Format(
    "partialspoof-pickle",
    "pickled list of text arrays, rows [utt, score0, score1, label]: PartialSpoof {set}_score_ali_{10 ms}_{date}.pkl",
    read,
    Begins(PREAMBLE + rb"\]", lambda head: b"numpy" in head),  # a list of arrays, as far as one can see
    write,
    suffixes=(".pkl",),
    columns=("score1", "score0"),
)
