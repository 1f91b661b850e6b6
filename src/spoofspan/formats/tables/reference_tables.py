"""References from tables with the columns utterance, start, end, label[, kind, duration]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import offsets_of, utterance_of_rows
from spoofspan.base.errors import DataError, Problems
from spoofspan.base.times import Int64, duration_ns, seconds_text
from spoofspan.data.references import NONSPEECH, References
from spoofspan.formats.format import ReadOptions
from spoofspan.formats.tables.table_columns import Part, PartColumns, Texts
from spoofspan.formats.tables.table_groups import (
    Groups,
    all_utterances,
    bare_rows,
    check_times,
    group,
    join,
    names_of,
    without,
)
from spoofspan.formats.text.rows import label_and_kind

REFERENCE_COLUMNS = ("utterance", "start", "end", "label", "kind", "duration")
REFERENCE_GRAMMAR = "columns utterance, start, end, label[, kind, duration]"
LABEL_NAMES = frozenset({"label"})  # a table with one of these holds references
UNKNOWN_LABEL = "unknown label {!r} (bonafide, spoof, nonspeech, or an attack such as A07)"
WORDS_NOT_NUMBERS = "0 and 1 mean opposite things in different files; write bonafide or spoof"


@dataclass(frozen=True)
class _PartReferences:
    name: str
    ids: list[str]
    counts: Int64
    starts: Int64
    ends: Int64
    labels: npt.NDArray[np.int8]
    kinds: list[str | None] | None
    durations: Int64 | None  # 0 where there is none
    snap: float | None


def references_from_parts(parts: Sequence[Part], options: ReadOptions, *, snap: float = 0.0) -> References:
    """Make References of tables; ``snap`` holds where neither the options nor the tables say one."""
    read = [_read_references(part) for part in parts]
    ids = all_utterances([(part.name, part.ids) for part in read])
    counts = join([part.counts for part in read])
    usual = max((snap if part.snap is None else part.snap for part in read), default=snap)
    chosen_snap = usual if options.snap is None else options.snap
    stated = [part.durations if part.durations is not None else np.zeros(len(part.ids), np.int64) for part in read]
    durations = _durations(ids, join(stated), options, duration_ns(chosen_snap, "snap"))
    if durations is not None:
        ids += [utt for utt in durations if utt not in set(ids)] if len(durations) > len(ids) else []
        counts = np.append(counts, np.zeros(len(ids) - counts.size, np.int64))
    kinds = None
    if any(part.kinds is not None for part in read):
        kinds = [kind for part in read for kind in (part.kinds or [None] * part.starts.size)]
    try:
        return References.from_columns(
            ids,
            None if durations is None else np.array([durations[utt] for utt in ids], np.int64),
            offsets_of(counts),
            join([part.starts for part in read]),
            join([part.ends for part in read]),
            labels=join([part.labels for part in read]),
            kinds=kinds,
            snap=chosen_snap,
        )
    except DataError as error:
        raise DataError(f"{names_of(parts)}: {error}") from None


def _read_references(part: Part) -> _PartReferences:
    columns = PartColumns(part, REFERENCE_COLUMNS)
    hint = "; these look like scores, not references" if {"score", "scores"} & columns.names else ""
    columns.require(("start", "end", "label"), hint)
    starts, ends = columns.times("start"), columns.times("end")
    words = columns.texts("label", f"labels are words ({WORDS_NOT_NUMBERS})", empty_is_missing=True)
    no_word = words.codes < 0
    bare = bare_rows(
        columns, {"start": starts.missing, "end": ends.missing, "label": no_word if no_word.any() else None}
    )
    check_times(columns, starts.ns, ends.ns)
    labels, kinds = _labels_and_kinds(columns, words)
    columns.refuse_tiny_integers(ends, "end")
    groups = group(columns.utterances)
    durations = _part_durations(columns, groups)
    columns.stop_if_any()
    groups = without(columns, groups, bare, "range")
    stated_snap = part.metadata().get("snap")
    if stated_snap is not None and not (isinstance(stated_snap, (int, float)) and 0 <= stated_snap < 1):
        raise DataError(f"{part.name}: its metadata give a snap of {stated_snap!r}; write the file again")
    return _PartReferences(
        part.name,
        groups.ids,
        np.diff(groups.offsets),
        groups.sort(starts.ns),
        groups.sort(ends.ns),
        groups.sort(labels),
        None if kinds is None else groups.sort(kinds).tolist(),
        durations,
        stated_snap,
    )


def _labels_and_kinds(columns: PartColumns, words: Texts) -> tuple[npt.NDArray[np.int8], npt.NDArray[Any] | None]:
    """Read the labels; an attack's name is spoof, of that kind."""
    meanings = [label_and_kind(word) for word in words.values]
    unknown = np.array([code is None for code, _ in meanings] + [False])
    if unknown.any():

        def describe(row: int) -> str:
            word = words.at(row)
            return UNKNOWN_LABEL.format(word) + (f"; {WORDS_NOT_NUMBERS}" if word in ("0", "1") else "")

        columns.note(np.flatnonzero(unknown[words.codes]), describe)
    labels = np.array([code or 0 for code, _ in meanings] + [NONSPEECH], np.int8)[words.codes]
    attacks = np.array([kind for _, kind in meanings] + [None], object)
    has_attacks = any(kind is not None for _, kind in meanings)
    if "kind" not in columns.names:
        return labels, attacks[words.codes] if has_attacks else None
    named = columns.texts("kind", "kinds are names such as A07", empty_is_missing=True)
    kinds = np.array([*named.values, None], object)[named.codes]
    if has_attacks:
        implied = attacks[words.codes]
        is_attack = implied != None  # noqa: E711  (elementwise)
        clash = np.flatnonzero(is_attack & (named.codes >= 0) & (kinds != implied))
        columns.note(clash, lambda row: f"the label is the attack {implied[row]!r}, the kind is {kinds[row]!r}")
        kinds = np.where(is_attack, implied, kinds)
    return labels, kinds if named.values or has_attacks else None


def _part_durations(columns: PartColumns, groups: Groups) -> Int64 | None:
    """The duration of each utterance in ns, 0 where no row gives one."""
    if "duration" not in columns.names:
        return None
    times = columns.times("duration")
    given = np.ones(times.ns.size, np.bool_) if times.missing is None else ~times.missing
    columns.note(
        np.flatnonzero(given & (times.ns <= 0)),
        lambda row: f"the duration is not positive ({seconds_text(int(times.ns[row]))})",
    )
    owner = utterance_of_rows(groups.offsets)
    sorted_ns = groups.sort(np.where(given, times.ns, 0))
    durations = np.zeros(len(groups.ids), np.int64)
    np.maximum.at(durations, owner, sorted_ns)
    two = np.flatnonzero((sorted_ns != durations[owner]) & groups.sort(given))
    columns.note(
        np.array([groups.row(int(p)) for p in two], np.int64),
        lambda row: f"the utterance has two durations, {seconds_text(int(times.ns[row]))} here and a longer one",
    )
    return durations


def _durations(ids: Sequence[str], stated: Int64, options: ReadOptions, snap: int) -> dict[str, int] | None:
    """Every utterance's duration from the options and the tables, which must agree."""
    known = dict(zip(ids, stated.tolist(), strict=True))
    problems = Problems()
    if options.durations is None:
        if not stated.any():
            return None
    else:
        for utt, seconds in options.durations.items():
            ns, other = duration_ns(seconds, f"duration of {utt!r}"), known.get(utt, 0)
            if other and abs(other - ns) > snap:
                problems.add(f"utterance {utt!r}: {seconds_text(other)} in the table, {seconds_text(ns)} in durations")
            known[utt] = ns
        problems.raise_if_any("give one duration for each utterance")
    without = [utt for utt, ns in known.items() if not ns]
    problems.extend((f"utterance {utt!r} has no duration" for utt in without), len(without))
    problems.raise_if_any("complete the durations")
    return known
