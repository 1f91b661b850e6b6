"""Rows of a table into utterances: brought together, in the order in which they first occur."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import Flags, kept_offsets, offsets_of
from spoofspan.base.errors import Problems
from spoofspan.base.times import Int64
from spoofspan.formats.tables.corpus_tables import Texts
from spoofspan.formats.tables.table_columns import PartColumns


@dataclass(frozen=True)
class Groups:
    """The rows of a part by utterance: rows ``order[offsets[i]:offsets[i + 1]]`` belong to ``ids[i]``."""

    ids: list[str]
    offsets: Int64
    order: Int64 | None  # None: as they stand

    @property
    def counts(self) -> Int64:
        """Number of rows that each utterance has."""
        return np.diff(self.offsets)

    def rows(self, positions: Int64) -> Int64:
        """The rows of the table that stand at positions of the sorted columns."""
        return positions if self.order is None else self.order[positions]

    def sort(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A column with the rows of each utterance together; the column itself where they are already."""
        return array if self.order is None else array[self.order]

    def first(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The value in the first row of each utterance."""
        return array[self.rows(self.offsets[:-1])]


@dataclass(frozen=True)
class Grouped:
    """Content of a part: utterances, their numbers of rows, and columns (of rows or of utterances)."""

    name: str
    ids: list[str]
    counts: Int64
    columns: dict[str, Any]


def group(texts: Texts) -> Groups:
    """Bring the rows of each utterance together, utterances and rows in the order in which they first occur."""
    codes = texts.codes
    heads = np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1))
    stretch = codes[heads]
    distinct, first = np.unique(stretch, return_index=True)
    if distinct.size == stretch.size:
        return Groups(list(map(texts.values.__getitem__, stretch.tolist())), np.append(heads, codes.size), None)
    by_appearance = distinct[np.argsort(first)]
    rank = np.empty(len(texts.values), np.int64)
    rank[by_appearance] = np.arange(by_appearance.size)
    ranks = rank[codes]
    order = np.argsort(ranks, kind="stable").astype(np.int64, copy=False)
    counts = np.bincount(ranks, minlength=by_appearance.size)
    return Groups([texts.values[code] for code in by_appearance], offsets_of(counts), order)


def without_bare_rows(columns: PartColumns, groups: Groups, bare: Flags | None, item: str) -> Groups:
    """Leave out the rows that only say that an utterance has no ranges or scores."""
    if bare is None or not bare.any():
        return groups
    sorted_bare = groups.sort(bare)
    wrong = np.flatnonzero(sorted_bare & np.repeat(groups.counts > 1, groups.counts))
    columns.note(groups.rows(wrong), lambda row: f"a row without a {item} among others")
    columns.stop_if_any(f"fill in or drop the rows without a {item}")
    return Groups(groups.ids, kept_offsets(groups.offsets, ~sorted_bare), groups.rows(np.flatnonzero(~sorted_bare)))


def joined_groups(read: Sequence[Grouped]) -> Grouped:
    """All parts of a corpus as one; an utterance in two of them is a mistake."""
    first = read[0]
    if len(read) == 1:
        return first
    seen: dict[str, str] = {}
    problems = Problems()
    for part in read:
        twice = [utt for utt in part.ids if utt in seen]
        problems.extend((f"utterance {utt!r} is in {seen[utt]} and in {part.name}" for utt in twice), len(twice))
        seen.update((utt, part.name) for utt in part.ids if utt not in seen)
    problems.raise_if_any("keep each utterance in one file")
    shared = [name for name in first.columns if all(name in part.columns for part in read)]
    return Grouped(
        f"{first.name} and {len(read) - 1} more",
        list(seen),
        np.concatenate([part.counts for part in read]),
        {name: np.concatenate([part.columns[name] for part in read]) for name in shared},
    )
