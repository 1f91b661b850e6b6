"""Rows of a table into utterances: brought together, in the order in which they first occur."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags, offsets_of
from spoofspan.base.errors import Problems
from spoofspan.base.times import Int64, seconds_text
from spoofspan.formats.tables.table_columns import Part, PartColumns, Texts


@dataclass(frozen=True)
class Groups:
    """The rows of a part by utterance: rows ``order[offsets[i]:offsets[i + 1]]`` belong to ``ids[i]``."""

    ids: list[str]
    offsets: Int64
    order: Int64 | None  # None: as they stand

    def row(self, position: int) -> int:
        """The row of the table that stands at a position of the sorted columns."""
        return position if self.order is None else int(self.order[position])

    def sort(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A column with the rows of each utterance together; the column itself where they are already."""
        return array if self.order is None else array[self.order]

    def first(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The value in the first row of each utterance."""
        rows = self.offsets[:-1]
        return array[rows if self.order is None else self.order[rows]]


def group(texts: Texts) -> Groups:
    """Bring the rows of each utterance together, utterances and rows in the order in which they first occur."""
    codes = texts.codes
    heads = np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1))
    stretch = codes[heads]
    distinct, first = np.unique(stretch, return_index=True)
    if distinct.size == stretch.size:
        return Groups([texts.values[code] for code in stretch], np.append(heads, codes.size), None)
    by_appearance = distinct[np.argsort(first)]
    rank = np.empty(len(texts.values), np.int64)
    rank[by_appearance] = np.arange(by_appearance.size)
    ranks = rank[codes]
    order = np.argsort(ranks, kind="stable").astype(np.int64, copy=False)
    counts = np.bincount(ranks, minlength=by_appearance.size)
    return Groups([texts.values[code] for code in by_appearance], offsets_of(counts), order)


def without(columns: PartColumns, groups: Groups, bare: Flags | None, item: str) -> Groups:
    """Leave out the rows that only say that an utterance has no ranges or scores."""
    if bare is None or not bare.any():
        return groups
    sorted_bare = groups.sort(bare)
    alone = np.repeat(np.diff(groups.offsets) == 1, np.diff(groups.offsets))
    wrong = np.flatnonzero(sorted_bare & ~alone)
    columns.note(
        np.array([groups.row(int(p)) for p in wrong], np.int64), lambda row: f"a row without a {item} among others"
    )
    columns.stop_if_any(f"fill in or drop the rows without a {item}")
    positions = np.flatnonzero(~sorted_bare)
    order = positions if groups.order is None else groups.order[positions]
    kept_before = np.concatenate(([0], np.cumsum(~sorted_bare)))
    return Groups(groups.ids, kept_before[groups.offsets], order)


def bare_rows(columns: PartColumns, parts: dict[str, Flags | None]) -> Flags | None:
    """Which rows have none of these values; a row with only some of them is a problem."""
    if all(missing is None for missing in parts.values()):
        return None
    rows = columns.part.table.num_rows
    masks = [np.zeros(rows, np.bool_) if missing is None else missing for missing in parts.values()]
    bare = np.logical_and.reduce(masks)
    for name, mask in zip(parts, masks, strict=True):
        columns.note(np.flatnonzero(mask & ~bare), lambda row, name=name: f"{name} is missing (null or NaN)")  # type: ignore[misc]
    return cast(Flags, bare)


def all_utterances(named: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """One utterance in two files is a mistake; return all ids."""
    if len(named) == 1:
        return list(named[0][1])
    seen: dict[str, str] = {}
    problems = Problems()
    for name, ids in named:
        twice = [utt for utt in ids if utt in seen]
        problems.extend((f"utterance {utt!r} is in {seen[utt]} and in {name}" for utt in twice), len(twice))
        seen.update((utt, name) for utt in ids if utt not in seen)
    problems.raise_if_any("keep each utterance in one file")
    return list(seen)


def join(arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Concatenate; one array is taken as it is."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def check_times(columns: PartColumns, starts: Int64, ends: Int64) -> None:
    """Note ranges that no rule could make sense of."""
    columns.note(
        np.flatnonzero(starts < 0), lambda row: f"the range starts before 0 ({seconds_text(int(starts[row]))})"
    )
    columns.note(
        np.flatnonzero(ends < starts),
        lambda row: (
            f"the range ends before it starts ({seconds_text(int(starts[row]))} > {seconds_text(int(ends[row]))})"
        ),
    )


def names_of(parts: Sequence[Part]) -> str:
    """Name the parts in a message."""
    return parts[0].name if len(parts) == 1 else f"{parts[0].name} and {len(parts) - 1} more"
