r"""Kaldi archives: a matrix (frames x classes) or a vector (one score per frame) per utterance.

::

    binary ark   <utt> \0B FM \4 <rows> \4 <columns> <float32 ...>     (DM: float64; FV, DV: vectors)
    text ark     <utt>  [
                   0.91 0.09
                   0.12 0.88 ]
    scp          <utt> <ark>:<byte where its matrix begins>

Which column is which class, an archive does not say: WeDefense numbers its labels as it meets them in training, and
notes the order in ``label2id.json``. Such a file next to the archive counts, or one that is given. The spoof column is
read then (high = spoof) unless ``column`` names the other class or an index. Without it, ``column`` must be an index,
and polarity must be told, as for archives of one column.

A scp's paths are looked up in its own folder. Commands (``gunzip -c ... |``) are never run.
"""

from __future__ import annotations

import math
import mmap
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import DataError, Problems, UsageError, nearest_name
from spoofspan.data.scores import Higher, Scores
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.recognition import Begins, first_lines
from spoofspan.formats.sources import Source, Where, sources
from spoofspan.formats.text.frame_lines import check_frames
from spoofspan.formats.text.json_text import json_document
from spoofspan.formats.text.lines import check_word, fields_of, is_number, score_of

Matrix = npt.NDArray[Any]
Bytes = bytes | memoryview | mmap.mmap

BINARY = b"\0B"
# token: number type, dimensions
TYPES = {b"FM ": ("<f4", 2), b"DM ": ("<f8", 2), b"FV ": ("<f4", 1), b"DV ": ("<f8", 1)}
BINARY_START = re.compile(rb"[^\s\0]+ \0B(?:[FD][MV]|CM\d?) ")
TEXT_START = re.compile(r"\S+\s+\[")
SCP_LINE = re.compile(r"\S+\s+\S.*\.ark(?::\d+)?|\S+\s+\S.*\|\s*")
LONGEST_ID = 4096


@dataclass(frozen=True)
class _Record:
    """One utterance of an archive."""

    place: str
    utterance: str
    matrix: Matrix


# ---------------------------------------------------------------- recognising


def recognises_ark(head: bytes) -> bool:
    """True if it begins with an utterance and the mark of a binary matrix, or an opening bracket."""
    if BINARY_START.match(head):
        return True
    lines = first_lines(head)
    if not lines or not TEXT_START.match(lines[0]):
        return False
    return all(map(is_number, lines[0].partition("[")[2].replace("]", " ").split()))


def recognises_scp(head: bytes) -> bool:
    """True if each of the first lines points into an ark."""
    lines = first_lines(head)
    return bool(lines) and all(SCP_LINE.fullmatch(line) and ".ark" in line for line in lines)


# ---------------------------------------------------------------- reading


def _read(records_of: Callable[[Source], Iterator[_Record]], found: Sequence[Source], options: ReadOptions) -> Scores:
    """Read archives, or what scp files point to."""
    archives = [(source, records_of(source)) for source in found]
    if options.hop is None:
        raise UsageError(f"{found[0].name}: an archive does not say how long a frame is; give hop=")
    problems = Problems()
    place_of: dict[str, str] = {}
    columns: list[Matrix] = []
    choice: _Choice | None = None
    for source, records in archives:
        names = _label_order(source) if options.label2id is None else dict(options.label2id)
        chosen_here = False  # the next archive may have its columns in another order
        for record in records:
            place = f"{record.place}: utterance {record.utterance!r}"
            if record.utterance in place_of:
                problems.add(f"{place} is there already ({place_of[record.utterance]})")
                continue
            place_of[record.utterance] = record.place
            width = record.matrix.shape[1] if record.matrix.ndim == 2 else 0
            if record.matrix.size and not chosen_here and (choice is None or width == choice.width):
                before, choice, chosen_here = choice, _choose(width, names, options, source.name), True
                if before is not None and before.higher != choice.higher:
                    raise UsageError(
                        f"{choice.what}: high values mean {choice.higher}, in the archive before they mean "
                        f"{before.higher}; name the class with column="
                    )
            if record.matrix.size and choice is not None and width != choice.width:
                problems.add(f"{place} has {_width(width)}, others have {_width(choice.width)}")
                continue
            column = record.matrix if width == 0 or choice is None else record.matrix[:, choice.column]
            columns.append(np.array(column.reshape(-1)))  # a copy, so that the archive need not stay
            bad = np.flatnonzero(np.isnan(columns[-1]))
            problems.extend((f"{place}: the score of frame {i} is NaN" for i in bad.tolist()), bad.size)
    problems.raise_if_any("correct the archive")
    if not place_of or choice is None:
        raise DataError(f"{found[0].name}: there is no score in the archive; it is empty")
    if choice.width == 0 and len(columns) > 1 and all(column.size == 2 for column in columns):
        raise DataError(
            f"{found[0].name}: every vector has two values; that looks like the classes of whole utterances, not "
            "like frames; give the archive of frames"
        )
    return Scores.from_columns(
        list(place_of),
        offsets_of([column.size for column in columns]),
        np.concatenate(columns),
        hop=options.hop,
        higher=choice.higher,
    )


@dataclass(frozen=True)
class _Choice:
    """Column of how many that is read (0: vectors), and what its high values mean."""

    width: int
    column: int
    higher: Higher
    what: str  # for messages


def _width(columns: int) -> str:
    return f"{columns} column{'s' * (columns != 1)}" if columns else "a vector"


def _choose(width: int, names: Mapping[str, int] | None, options: ReadOptions, source: str) -> _Choice:
    if names is not None and width > 1 and sorted(names.values()) != list(range(width)):
        raise DataError(f"{source}: label2id.json has {len(names)} labels for {_width(width)}; correct it")
    names = names if names and width > 1 else {}
    if width < 2:
        column, what = 0, f"the scores of {source}"
        if options.column not in (None, "0"):
            raise UsageError(f"{source}: there is one score per frame; leave column= out")
    else:
        name = "spoof" if options.column is None else options.column
        if name in ("spoof", "bonafide") and name not in names:
            raise UsageError(
                f"{source}: which of the {width} columns? nothing says which is {name}; put label2id.json next to it, "
                f"or give column=, 0 to {width - 1}, with higher="
            )
        what = f"column {name!r} of {source}"
        valid = {**names, **{str(i): i for i in range(width)}}
        if name not in valid:
            raise UsageError(f"{source}: no column {name!r}: {nearest_name(name, valid)}")
        column = valid[name]
    classes: tuple[Higher, ...] = ("bonafide", "spoof")
    for stated in classes:
        if names.get(stated) == column:
            return _Choice(width, column, options.polarity(stated, what), what)
    if options.higher is None:
        raise UsageError(f"{what}: what do high values mean? give higher=")
    return _Choice(width, column, options.higher, what)


def _label_order(source: Source) -> dict[str, int] | None:
    """Read ``label2id.json`` next to the archive, if there is one."""
    path = Path(source.name).with_name("label2id.json") if Path(source.name).is_file() else None
    return None if path is None or not path.is_file() else read_label2id(path)


def read_label2id(where: Where | Mapping[str, int]) -> dict[str, int]:
    """Read which column is which class from a JSON file, or take it from a dict."""
    if isinstance(where, Mapping):
        return dict(where)
    source = sources(where)[0]
    order = json_document(source, 'which column is which class, {"bonafide": 0, "spoof": 1}', parse_int=None)
    if not isinstance(order, dict) or not all(type(index) is int for index in order.values()):
        raise DataError(f'{source.name}: not {{"bonafide": 0, "spoof": 1}} or the like; it says which column is spoof')
    return order


# ---------------------------------------------------------------- archives


def _records(source: Source) -> Iterator[_Record]:
    return _binary_records(source) if BINARY in source.head or not source.head else _text_records(source)


def _binary_records(source: Source) -> Iterator[_Record]:
    data = source.whole()
    position = 0
    while position < len(data):
        place = f"{source.name}: byte {position}"
        gap = data.find(b" ", position, position + LONGEST_ID)
        key = data[position:gap] if gap > position else b""
        if not key or data[gap + 1 : gap + 3] != BINARY[: len(data) - gap - 1]:
            raise DataError(f"{place}: here should be an utterance and a binary matrix; the archive is damaged")
        try:
            utterance = key.decode("utf-8")
        except UnicodeDecodeError:
            raise DataError(f"{place}: the utterance {key[:40]!r} is not UTF-8; rename it") from None
        if utterance.split() != [utterance]:
            raise DataError(f"{place}: {utterance[:40]!r} is no utterance id; the archive is damaged")
        matrix, position = _binary_matrix(data, gap + 1, f"{place}: utterance {utterance!r}")
        yield _Record(place, utterance, matrix)


def _binary_matrix(data: Bytes, position: int, place: str) -> tuple[Matrix, int]:
    """Read the matrix or vector that begins at a position with its mark; return it with the position after it."""
    token = bytes(data[position + 2 : position + 5])
    if token.startswith(b"CM"):
        raise DataError(f"{place}: the matrix is compressed, with loss; write it with --compress=false")
    if len(token) == 3 and token not in TYPES:
        raise DataError(f"{place}: {token!r} is no matrix or vector of float32 or float64; convert it")
    number_type, dimensions = TYPES.get(token, ("<f4", 1))
    layout = struct.Struct("<" + "bi" * dimensions)  # each number of the shape after a byte that says how long it is
    if len(token) < 3 or len(data) < position + 5 + layout.size:
        raise DataError(f"{place}: the archive is truncated; get it again")
    header = layout.unpack_from(data, position + 5)
    position += 5 + layout.size
    if set(header[::2]) != {4}:
        raise DataError(f"{place}: the size of the matrix is damaged; get the archive again")
    shape = header[1::2]
    count = math.prod(shape)
    size = count * np.dtype(number_type).itemsize
    if min(shape) < 0 or size > len(data) - position:
        raise DataError(
            f"{place}: the matrix should have {' x '.join(map(str, shape))} values, but {len(data) - position} bytes "
            "are left; the archive is truncated or damaged"
        )
    return np.frombuffer(data, number_type, count, position).reshape(shape), position + size


def _text_records(source: Source) -> Iterator[_Record]:
    problems = Problems()
    utterance, place, vector = "", "", False
    rows: list[list[float]] | None = None
    for number, line in source.lines():
        here = f"{source.name}:{number}"
        body = line
        if rows is None:
            head, bracket, body = line.partition("[")
            if not bracket or len(head.split()) != 1:
                raise DataError(f"{here}: here should be an utterance and an opening bracket; the archive is damaged")
            utterance, place, rows, vector = head.strip(), here, [], bool(body.replace("]", "").strip())
        numbers, bracket, rest = body.partition("]")
        if "[" in numbers or rest.strip():
            raise DataError(f"{here}: utterance {utterance!r}: a bracket is missing or too many; correct it")
        where = f"{here}: utterance {utterance!r}, frame {len(rows)}"
        row = [score_of(text, where, problems) for text in fields_of(numbers, None, here)]
        if row:
            if rows and (vector or len(row) != len(rows[0])):
                problems.add(f"{where}: {len(row)} values, the frames before have {len(rows[0])}")
            else:
                rows.append(row)
        if problems.full:
            break
        if bracket:
            yield _Record(place, utterance, np.array(rows[0] if vector else rows, np.float64))
            rows = None
    problems.raise_if_any("correct the archive")
    if rows is not None:
        raise DataError(f"{place}: utterance {utterance!r}: the closing bracket is missing; the archive is truncated")


def _scp_records(source: Source) -> Iterator[_Record]:
    """Records that the lines of an scp file point to."""
    problems = Problems()
    archives: dict[Path, memoryview] = {}
    found: list[_Record] = []
    for number, line in source.lines():
        place = f"{source.name}:{number}"
        fields = line.split(None, 1)
        if len(fields) != 2:
            problems.add(f"{place}: not '<utterance> <ark>:<byte>': {line.strip()[:60]!r}")
            continue
        try:
            matrix = _matrix_at(source, fields[1].strip(), fields[0], archives, f"{place}: utterance {fields[0]!r}")
            found.append(_Record(place, fields[0], matrix))
        except DataError as error:
            problems.add(str(error))
    problems.raise_if_any("correct the file")
    return iter(found)


def _find(source: Source, name: str, place: str) -> Path:
    """Look a path up in the scp's folder, then its name alone: WeDefense writes paths from its working directory."""
    folder = Path(source.name).parent
    for path in (folder / name, folder / Path(name).name):
        with suppress(OSError, ValueError):  # a name too long for the system is no file either
            if path.is_file():
                return path
    raise DataError(f"{place}: there is no {name[:80]!r}, seen from the folder {str(folder)!r}")


def _matrix_at(source: Source, target: str, utterance: str, archives: dict[Path, memoryview], place: str) -> Matrix:
    """The matrix that a line of an scp file points to."""
    if "|" in target:
        raise DataError(f"{place}: commands are not run ({target[:60]!r}); unpack the archive")
    if target.endswith("]"):
        raise DataError(f"{place}: parts of matrices are not read ({target[:60]!r}); write them out")
    name, _, number = target.rpartition(":") if re.search(r":\d{1,18}$", target, re.ASCII) else (target, "", "0")
    path, offset = _find(source, name, place), int(number)
    if path not in archives:
        try:
            archives[path] = memoryview(np.memmap(path, np.uint8, "r"))  # type: ignore[arg-type]
        except (OSError, ValueError) as error:
            raise DataError(f"{place}: {path} cannot be read ({error})") from None
    data = archives[path]
    key = utterance.encode() + b" "
    if bytes(data[offset : offset + 2]) != BINARY:
        raise DataError(f"{place}: no binary matrix begins at byte {offset} of {path}")
    if offset and bytes(data[max(offset - len(key), 0) : offset]) != key:
        raise DataError(f"{place}: another utterance is at byte {offset} of {path}")
    return _binary_matrix(data, offset, f"{place}: {path}")[0]


# ---------------------------------------------------------------- writing


def write_ark(scores: Scores) -> Iterator[bytes]:
    """Write a binary archive of matrices with one column, float32 or float64 as the scores are."""
    check_frames(scores, "kaldi-ark")
    token, number_type = (b"DM ", "<f8") if scores.values.dtype == np.float64 else (b"FM ", "<f4")
    for utterance, frames in scores.items():
        check_word(utterance, "kaldi-ark")
        values = frames.astype(number_type)
        sizes = struct.pack("<bibi", 4, values.size, 4, 1 if values.size else 0)
        yield utterance.encode() + b" " + BINARY + token + sizes + values.tobytes()


FORMATS: tuple[Format[Scores], ...] = (
    Format(
        "kaldi-ark",
        "a matrix, frames x classes, or a vector per utterance, binary or text: Kaldi, WeDefense",
        partial(_read, _records),
        Begins(rb"[^\s\0]+ \0B|\s*\S+\s+\[", recognises_ark),
        write_ark,
        suffixes=(".ark",),
        needs=("hop",),
        takes=("label2id",),
    ),
    Format(
        "kaldi-scp",
        "<utt> <ark>:<byte>: Kaldi, WeDefense",
        partial(_read, _scp_records),
        Begins(r"\S+\s[^\n]*\.ark", recognises_scp),
        suffixes=(".scp",),
        needs=("hop",),
        takes=("label2id",),
    ),
)
