"""Arrays per utterance: npz files, and dicts of arrays in npy files.

Scores: utterance -> one score per frame, the first frame at 0. Labels: utterance -> one label per segment; segment k
is ``[k * resolution, (k + 1) * resolution)``. With ``spoof_label=0``::

    0.02 s    1 1 0 0 1    ->    bonafide [0.00, 0.04)  spoof [0.04, 0.08)  bonafide [0.08, 0.10)

Labels are words (bonafide, spoof, an attack such as A07), or 0 and 1. Which of these two means spoof differs between
corpora, so it must be stated, except in PartialSpoof's own files (:mod:`.segment_labels`). An npz file names no hop, no
resolution and no polarity either: these must be said. Its members are plain arrays, without
pickles, and their names are the utterances.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from spoofspan.base.columns import host_array, offsets_of
from spoofspan.base.errors import DataError, Problems, UsageError
from spoofspan.base.times import Int64, duration_ns, edges_before, grid_edges
from spoofspan.data.references import BONA_FIDE, LABELS, SPOOF, References
from spoofspan.data.scores import Scores
from spoofspan.formats.file_names import checked_resolution, is_official_labels
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.pickles import PREAMBLE, check_text, npy_header, read_dict
from spoofspan.formats.recognition import Begins
from spoofspan.formats.sources import MOST_UNPACKED, UNPACKED_ALLOWANCE, Source
from spoofspan.formats.text.frame_lines import check_frames
from spoofspan.formats.text.rows import label_and_attack

if TYPE_CHECKING:
    import zipfile

MOST_MEMBER = 1 << 30  # bytes of one array
MOST_TOTAL = 1 << 34  # bytes of all arrays of a file
COMMENT = re.compile(r"spoofspan((?: (?:hop|higher|spoof_label)=[\w.+-]+)*)")
ZIP = b"PK\x03\x04"

Array = npt.NDArray[Any]


class Seen(dict[str, str]):
    """Utterances and the files they were found in."""

    def is_new(self, utterance: str, source: Source, problems: Problems) -> bool:
        """Note an utterance; a second one is a problem."""
        if utterance in self:
            also = "" if self[utterance] == source.name else f" and in {self[utterance]}"
            problems.add(f"{source.name}: utterance {utterance!r} occurs more than once{also}")
            return False
        self[utterance] = source.name
        return True


# --- scores


def read_scores(
    arrays_of: Callable[[Source], Mapping[str, Any]], sources: Sequence[Source], options: ReadOptions
) -> Scores:
    """Read scores from files that each hold a dict of arrays, checking every array."""
    hop, higher = options.hop_and_higher(f"{sources[0].name}: the file")
    problems, seen, frames = Problems(), Seen(), dict[str, Array]()
    for source in sources:
        for utterance, given in arrays_of(source).items():
            place = f"{source.name}: utterance {utterance!r}"
            array = _column(_as_array(given), place, options)
            if (why := _not_scores(array)) is not None:
                problems.add(f"{place}: {why}")
            elif seen.is_new(utterance, source, problems):
                frames[utterance] = array
                bad = np.flatnonzero(np.isnan(array))
                problems.extend((f"{place}: score {row} is NaN" for row in bad), bad.size)
    lists = any("type list," in one for one in problems.found)
    problems.raise_if_any("write one list or array of numbers per utterance" if lists else "correct the file")
    if not frames:
        raise DataError("there are no scores in the file")
    return Scores.from_frames(frames, hop, higher=higher)


def _as_array(given: Any) -> Any:
    """Lists (and arrays of Python objects) of numbers, words or rows of numbers as an array; anything else as it is."""
    listed = given.tolist() if isinstance(given, np.ndarray) and given.dtype == object else given
    if not isinstance(listed, list | tuple) or not listed:
        return given
    if all(isinstance(one, list) and len(one) == len(listed[0]) for one in listed):
        rows = [_as_array(one) for one in listed]
        return np.array(rows) if all(isinstance(row, np.ndarray) and row.dtype.kind in "iuf" for row in rows) else given
    kinds = {type(one) for one in listed}
    return np.array(listed) if kinds <= {int, float} or kinds in ({str}, {bool}) else given


def _column(array: Any, place: str, options: ReadOptions) -> Any:
    """One column of frames x classes, which the options must name; anything else as it is."""
    if not isinstance(array, np.ndarray) or array.ndim != 2 or not array.shape[1]:
        return array
    width = array.shape[1]
    if width > 1 and options.column not in [str(index) for index in range(width)]:
        raise UsageError(
            f"{place}: it has {width} scores per frame (shape {array.shape}), and nothing says which is which; give "
            f"column=, 0 to {width - 1}, with higher="
        )
    return array[:, int(options.column or 0)]


def _not_scores(array: Any) -> str | None:
    if not isinstance(array, np.ndarray):
        return f"it has a value of type {type(array).__name__}, not an array"
    if array.ndim != 1:
        return f"scores must be one-dimensional, not of shape {array.shape}"
    if array.dtype.kind == "U":
        return f"scores must be numbers, and these are words such as {str(array[0])!r}: labels belong to the references"
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        return f"scores must be numbers, not {array.dtype}"
    return None


# --- labels


def references_from_arrays(
    found: Iterable[tuple[Source, float, Mapping[str, Any]]], options: ReadOptions, official: bool = False
) -> References:
    """Build references from (source, resolution, labels): runs of equal labels become ranges.

    Where files may be ``official`` (PartialSpoof's, by their names), the text '0' means spoof.
    """
    problems, seen = Problems(), Seen()
    words = _Words()
    runs: dict[str, tuple[Int64, npt.NDArray[np.int64]]] = {}  # the edges of its ranges, and their labels as words
    durations = None if options.durations is None else dict(options.durations)
    for source, resolution, arrays in found:
        is_official = official and is_official_labels(source.name)
        for utterance, array in arrays.items():
            place = f"{source.name}: utterance {utterance!r}"
            codes = words.codes_of(_as_array(array), source, place, problems, options, is_official)
            if codes is None or not seen.is_new(utterance, source, problems):
                continue
            end = None
            if durations is not None:
                if utterance not in durations:
                    problems.add(f"{place} has no duration")
                    continue
                end = duration_ns(durations[utterance], f"duration of {utterance!r}")
                segments = int(edges_before(np.array([end]), resolution)[0])
                # ceil(duration / resolution) in doubles may count one more: 0.07 / 0.01 > 7
                if codes.size == segments + 1 == math.ceil(durations[utterance] / resolution):
                    codes = codes[:segments]
                if codes.size != segments:
                    problems.add(
                        f"{place}: {codes.size:,} labels of {resolution:g} s, but its duration "
                        f"({durations[utterance]:g} s) has {segments:,}"
                    )
                    continue
            first = np.flatnonzero(np.diff(codes, prepend=codes[0] + 1))
            edges = grid_edges(np.append(first, codes.size), resolution)
            if end is not None:
                edges[-1] = end
            runs[utterance] = edges, codes[first]
    problems.raise_if_any("correct the labels, the durations or the resolution")
    ids = list(dict.fromkeys([*runs, *(durations or ())]))
    if not ids:
        raise DataError("there are no labels in the file")
    edges_of, words_of = [edges for edges, _ in runs.values()], [codes for _, codes in runs.values()]
    labels, attacks = words.meanings(np.concatenate([np.zeros(0, np.int64), *words_of]))
    return References.from_columns(
        ids,
        None if durations is None else np.array([durations[utt] for utt in ids], np.float64),
        offsets_of([*map(len, words_of), *[0] * (len(ids) - len(runs))]),
        np.concatenate([np.zeros(0, np.int64), *(edges[:-1] for edges in edges_of)]),
        np.concatenate([np.zeros(0, np.int64), *(edges[1:] for edges in edges_of)]),
        labels=labels,
        attacks=attacks,
        snap=0.0 if options.snap is None else options.snap,
    )


def read_labels(
    arrays_of: Callable[[Source], Mapping[str, Any]],
    sources: Sequence[Source],
    options: ReadOptions,
    official: bool = False,
) -> References:
    """Read labels from files that each hold a dict of arrays, which do not state their resolution."""
    hop = checked_resolution(sources[0].name, "file", options.hop)
    return references_from_arrays(((source, hop, arrays_of(source)) for source in sources), options, official)


def references_of_labels(
    labels: Mapping[str, Any], hop: float, durations: Mapping[str, float] | None, spoof_label: int | None
) -> References:
    """Build references from labels in memory."""
    if duration_ns(hop, "hop") <= 0:
        raise UsageError("hop must be positive: the length of a frame in seconds")
    source = Source("labels", lambda: io.BytesIO(b""))
    arrays = {utt: np.asarray(host_array(row)) if hasattr(row, "__array__") else row for utt, row in labels.items()}
    return references_from_arrays([(source, hop, arrays)], ReadOptions(durations=durations, spoof_label=spoof_label))


class _Words(dict[str, int]):
    """The labels met so far as words, numbered in the order they came in."""

    def codes_of(
        self, array: Any, source: Source, place: str, problems: Problems, options: ReadOptions, official: bool
    ) -> npt.NDArray[np.int64] | None:
        """The number of each segment's label, or None and a problem."""
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "biufU":
            what = f"{array.dtype}" if isinstance(array, np.ndarray) else f"a value of type {type(array).__name__}"
            problems.add(f"{place}: labels must be an array of words (bonafide, spoof), or of 0 and 1, not {what}")
            return None
        if array.ndim != 1 or not array.size:
            problems.add(f"{place}: labels must be one-dimensional and at least one, not of shape {array.shape}")
            return None
        zero, one = ("0", "1") if array.dtype.kind == "U" else (0, 1)
        is_one = np.asarray(array == one)
        is_digit = is_one | (array == zero)
        if is_digit.all():
            meaning = _meaning_of_digits(array, source, options, official)
            return np.where(is_one, self._number(meaning["1"]), self._number(meaning["0"]))
        distinct, codes = np.unique(array, return_inverse=True)
        known = [isinstance(word, str) and label_and_attack(word)[0] is not None for word in distinct.tolist()]
        if not all(known):
            bad = np.flatnonzero(~np.array(known)[codes] & (~is_digit | any(known)))
            wrong = (f"label {row} is {array[row].item()!r}, neither bonafide or spoof nor 0 or 1" for row in bad)
            hint = "; are these scores?" if array.dtype.kind == "f" else ""
            problems.extend((f"{place}: {one}{hint}" for one in wrong), bad.size)
            return None
        return np.array([self._number(word) for word in distinct.tolist()], np.int64)[codes]

    def _number(self, word: str) -> int:
        return self.setdefault(word, len(self))

    def meanings(self, codes: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int8], list[str | None] | None]:
        """The class of each label, and its attack if any has one."""
        known = [label_and_attack(word) for word in self]
        labels = np.array([code or 0 for code, _ in known], np.int8)[codes] if known else np.zeros(0, np.int8)
        attacks = [attack for _, attack in known]
        return labels, [attacks[code] for code in codes.tolist()] if any(attacks) else None


def _meaning_of_digits(array: Array, source: Source, options: ReadOptions, official: bool) -> dict[str, str]:
    """The words that 0 and 1 stand for."""
    if not (official and array.dtype.kind == "U"):
        return options.words_of_digits(source.name)
    if options.spoof_label == 1:
        raise UsageError(
            f"{source.name}: the name says that these are PartialSpoof's segment labels, where 0 means spoof, and "
            "spoof_label=1 says the opposite; drop it or rename the file"
        )
    return {"0": "spoof", "1": "bonafide"}


def label_arrays(references: References, resolution: float) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
    """Cut references into segments, True for bona fide; what the segments cannot hold exactly is refused."""
    step = duration_ns(resolution, "resolution")
    if step <= 0:
        raise UsageError("resolution must be positive: the length of a segment in seconds")
    remedy = "write ranges (for example RTTM) instead"
    for i, utterance in enumerate(references.utterances):
        rows = slice(int(references.offsets[i]), int(references.offsets[i + 1]))
        start, end, label = references.starts[rows], references.ends[rows], references.labels[rows]
        place = f"utterance {utterance!r}"
        if not np.isin(label, (BONA_FIDE, SPOOF)).all():
            odd = LABELS[label[~np.isin(label, (BONA_FIDE, SPOOF))][0]]
            raise UsageError(f"{place}: segment labels know bonafide and spoof, not {odd}; {remedy}")
        duration = None if references.durations is None else int(references.durations[i])
        if not (start.size and start[0] == 0 and (start[1:] == end[:-1]).all() and duration in (None, int(end[-1]))):
            raise UsageError(f"{place}: its ranges leave gaps or overlap; {remedy}")
        first, last = edges_before(start, resolution), edges_before(end, resolution)
        on_grid = (grid_edges(first, resolution) == start).all() and (
            duration is not None or grid_edges(last[-1:], resolution)[0] == end[-1]
        )
        if not on_grid:
            raise UsageError(f"{place}: its ranges are not on the grid of {resolution:g} s; {remedy}")
        yield utterance, np.repeat(label == BONA_FIDE, last - first)


# --- npz


def read_npz(source: Source) -> dict[str, Array]:
    """Read the arrays of an npz file; pickles, huge and damaged members are refused."""
    with _opened(source) as archive:
        return _members(source, archive)


@contextmanager
def _opened(source: Source) -> Iterator[zipfile.ZipFile]:
    from spoofspan.formats.archives import opened_zip  # only here: zipfile is slow to load

    with source.read_errors(), source.open() as stream:
        plain = isinstance(getattr(stream, "raw", None), io.FileIO)
        with opened_zip(stream if plain else io.BytesIO(stream.read()), source.name) as archive:
            yield archive


def _members(source: Source, archive: zipfile.ZipFile) -> dict[str, Array]:
    from spoofspan.formats.archives import pieces

    arrays: dict[str, Array] = {}
    total = packed = 0
    for member in archive.infolist():
        utterance = member.filename.removesuffix(".npy")
        place = f"{source.name}: utterance {utterance!r}"
        if utterance == member.filename or not utterance:
            raise DataError(f"{source.name}: the member {member.filename!r} is no array; members are '<utterance>.npy'")
        if utterance in arrays:
            raise DataError(f"{place} occurs more than once; give each utterance one id")
        total, packed = total + member.file_size, packed + member.compress_size
        if member.file_size > MOST_MEMBER or total > MOST_TOTAL:
            raise DataError(f"{place}: the arrays are larger than {MOST_MEMBER:,} bytes each, {MOST_TOTAL:,} in all")
        if total > UNPACKED_ALLOWANCE + MOST_UNPACKED * packed:
            raise DataError(
                f"{place}: the arrays unpack to more than {MOST_UNPACKED} times their size; if that is right, write "
                "the file without compression (numpy.savez)"
            )
        with archive.open(member) as stream:
            shape, dtype = npy_header(place, stream)
            if dtype.hasobject or dtype.kind not in "biufSU":
                raise DataError(f"{place}: the array has the dtype {dtype}; npz files must hold numbers or text")
            data = b"".join(pieces(stream))
        if len(data) != math.prod(shape) * dtype.itemsize:
            raise DataError(f"{place}: the array is truncated: {len(data):,} bytes for shape {shape} of {dtype}")
        flat: Array = np.frombuffer(data, dtype).astype(dtype.newbyteorder("="), copy=False)
        if dtype.kind == "U":
            check_text(place, flat)
        arrays[utterance] = flat.reshape(shape)
    return arrays


def stated_in_npz(source: Source) -> dict[str, str]:
    """Metadata in the comment of an npz file that :func:`write_npz` wrote: hop, higher, spoof_label."""
    source.hold()
    with _opened(source) as archive:
        found = COMMENT.fullmatch(archive.comment.decode("ascii", "replace"))
    return {} if found is None else dict(pair.split("=") for pair in found[1].split())


def _with_stated(sources: Sequence[Source], options: ReadOptions) -> ReadOptions:
    """The options with what the files state; one that says otherwise is refused."""
    for source in sources:
        stated = stated_in_npz(source)
        for name, text in stated.items():
            value = {"hop": float, "spoof_label": int}.get(name, str)(text)
            if getattr(options, name) not in (None, value):
                raise UsageError(
                    f"{source.name}: the file states {name} {text}, and {name}={getattr(options, name)} says "
                    "otherwise; leave it out"
                )
            options = replace(options, **{name: value})
    return options


def write_npz(arrays: Iterable[tuple[str, Array]], **about: object) -> Iterator[bytes]:
    """Write an npz file, the same bytes for the same arrays; its comment says what is known ``about`` them."""
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for utterance, array in arrays:
            if "\0" in utterance or len(utterance.encode()) > 1000:
                raise UsageError(f"utterance {utterance!r}: the id cannot be the name of an npz member")
            member = zipfile.ZipInfo(f"{utterance}.npy", (1980, 1, 1, 0, 0, 0))
            with archive.open(member, "w") as stream:
                npy.write_array(stream, array, allow_pickle=False)
        archive.comment = " ".join(["spoofspan", *(f"{name}={value}" for name, value in about.items())]).encode()
    yield buffer.getvalue()


# --- formats


def recognises_npz(head: bytes) -> bool:
    """True if it is a zip archive whose first member is an array."""
    length = int.from_bytes(head[26:28], "little")
    return head[30 : 30 + length].endswith(b".npy")


NPZ = Begins(ZIP, recognises_npz)
# an npy file of one object, or a pickled dict
DICT = Begins(PREAMBLE + rb"\}|\x93NUMPY(?=.{2,192}'descr': *'\|O')(?=.{2,192}'shape': *\( *\))")


def read_labels_npz(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read npz files of labels."""
    return read_labels(read_npz, sources, _with_stated(sources, options), official=True)


def read_scores_npz(sources: Sequence[Source], options: ReadOptions) -> Scores:
    """Read npz files of scores."""
    return read_scores(read_npz, sources, _with_stated(sources, options))


def write_scores_npz(scores: Scores) -> Iterator[bytes]:
    """Write an npz file of scores, which states their hop and polarity."""
    check_frames(scores, "npz")
    return write_npz(scores.items(), **({} if scores.hop is None else {"hop": scores.hop}), higher=scores.higher)


def write_labels_npz(references: References, resolution: float = 0.01) -> Iterator[bytes]:
    """Write an npz file of labels, 0 spoof and 1 bona fide, which states that; durations are not in it."""
    labels = ((utt, bona.astype(np.uint8)) for utt, bona in label_arrays(references, resolution))
    return write_npz(labels, hop=resolution, spoof_label=0)


SCORES_NPZ = Format(
    "npz",
    "npz: <utterance> -> array of scores, one per frame from 0, or frames x classes with --column",
    read_scores_npz,
    NPZ,
    write_scores_npz,
    suffixes=(".npz",),
)
SCORES_DICT = Format(
    "npy-dict",
    "npy or pickle: dict <utterance> -> array of scores, one per frame from 0, or frames x classes with --column",
    partial(read_scores, read_dict),
    DICT,
    suffixes=(".npy", ".pkl", ".pickle"),
    needs=("hop", "higher"),
)
LABELS_NPZ = Format(
    "npz",
    "npz: <utterance> -> 1-D array of labels, one per segment: bonafide and spoof, or 0 and 1 with --spoof-label",
    read_labels_npz,
    NPZ,
    write_labels_npz,
    suffixes=(".npz",),
    takes=("spoof_label",),
)
# What CFPRF writes: dicts in npy files that their names tell apart; 1 and high scores are bona fide, frames are 20 ms.
CFPRF_HOP = 0.02
CFPRF_SCORES = Format(
    "cfprf-scores",
    "{set}_seg_score_dict.npy: dict <utterance> -> scores of 20 ms, high = bona fide: CFPRF",
    lambda sources, options: read_scores(
        read_dict, sources, replace(options, hop=options.hop or CFPRF_HOP, higher=options.polarity("bonafide", "CFPRF"))
    ),
    DICT,
    suffixes=("seg_score_dict.npy",),
    higher="bonafide",
    hop=CFPRF_HOP,
    named=r"seg_score_dict\.npy$",
)
CFPRF_LABELS = Format(
    "cfprf-labels",
    "{set}_seg_tar_dict.npy: dict <utterance> -> labels of 20 ms, 1 bona fide, 0 spoof: CFPRF",
    lambda sources, options: references_from_arrays(
        ((source, options.hop or CFPRF_HOP, read_dict(source)) for source in sources), replace(options, spoof_label=0)
    ),
    DICT,
    suffixes=("seg_tar_dict.npy",),
    hop=CFPRF_HOP,
    named=r"seg_tar_dict\.npy$",
)
