"""References from tables with the columns utterance, start, end, label[, attack, duration]."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import DataError, Problems, UsageError, refuse
from spoofspan.base.times import Float64, Int64, duration_ns, seconds_text
from spoofspan.data.references import NONSPEECH, References
from spoofspan.formats.arrays.npz import references_from_arrays
from spoofspan.formats.format import ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.tables.corpus_tables import REFERENCES, SCORES, Part, Texts, with_our_names
from spoofspan.formats.tables.table_columns import PartColumns
from spoofspan.formats.tables.table_groups import Grouped, Groups, group, joined_groups, without_bare_rows
from spoofspan.formats.text.rows import label_and_attack
from spoofspan.formats.text.utterance_tables import NO_ATTACK

UNKNOWN_LABEL = "unknown label {!r} (bonafide, spoof, nonspeech, or an attack such as A07)"


@dataclass(frozen=True)
class _PartReferences(Grouped):
    part: Part
    groups: Groups


def references_from_parts(parts: Sequence[Part], options: ReadOptions) -> References:
    """Make References of tables."""
    parts = [with_our_names(part) for part in parts]
    if all("labels" in part.column_names and "start" not in part.column_names for part in parts):
        return _from_lists(parts, options)
    found = [_read_part(part, options) for part in parts]
    read = joined_groups(found)
    snap = float(read.columns["snap"].max()) if options.snap is None else options.snap
    ids, durations = _durations(read.ids, read.columns["durations"], options, duration_ns(snap, "snap"))
    counts = np.append(read.counts, np.zeros(len(ids) - len(read.ids), np.int64))
    attacks = read.columns["attacks"]
    modalities = {part.stated.get("modality") for part in parts}
    if len(modalities) > 1:
        raise DataError(f"{read.name}: some of these files are of another modality; read them apart")
    references = References.from_columns(
        ids,
        durations,
        offsets_of(counts),
        read.columns["starts"],
        read.columns["ends"],
        labels=read.columns["labels"],
        attacks=attacks.tolist() if attacks.any() else None,
        snap=snap,
        place=lambda row: _place(found, row),
    )
    return replace(references, modality=modalities.pop())


def _from_lists(parts: Sequence[Part], options: ReadOptions) -> References:
    """Read one row per utterance, with a list of the labels of its frames."""
    found = []
    for part in parts:
        columns = PartColumns(part, REFERENCES.columns)
        hops = set(columns.column("hop").to_list()) if "hop" in columns.names else set()
        if options.hop is not None:
            hops = {options.hop}
        if len(hops) != 1:
            raise UsageError(f"{part.name}: nothing says how long a label lasts; give hop= in seconds")
        ids = columns.utterances.to_list()
        labels = dict(zip(map(str, ids), columns.column("labels").to_list(), strict=True))
        if len(labels) < len(ids):
            raise DataError(f"{part.name}: an utterance occurs more than once; keep one row of each")
        found.append((Source(part.name, lambda: io.BytesIO(b"")), float(hops.pop()), labels))
    return references_from_arrays(found, options)


def _place(parts: Sequence[_PartReferences], row: int) -> str:
    """Location of a row of all parts together."""
    before = offsets_of([int(one.counts.sum()) for one in parts])
    i = int(np.searchsorted(before, row, side="right")) - 1
    position = np.array([row - before[i]])
    return parts[i].part.place(int(parts[i].groups.rows(position)[0]))


def _read_part(part: Part, options: ReadOptions) -> _PartReferences:
    columns = PartColumns(part, REFERENCES.columns)
    hint = "; these look like scores, not references" if SCORES.telling & columns.names else ""
    columns.require(("start", "end", "label"), hint)
    starts, ends = columns.times("start"), columns.times("end")
    words = _label_words(columns, options)
    bare = columns.bare_rows({"start": starts.missing, "end": ends.missing, "label": words.missing})
    columns.check_ranges(starts, ends)
    labels, attacks = _labels_and_attacks(columns, words)
    columns.refuse_tiny_integers(ends)
    groups = group(columns.utterances)
    durations = _part_durations(columns, groups)
    columns.stop_if_any()
    groups = without_bare_rows(columns, groups, bare, "range")
    by_row: dict[str, Any] = {"starts": starts.ns, "ends": ends.ns, "labels": labels, "attacks": attacks}
    by_row = {name: groups.sort(column) for name, column in by_row.items()}
    facts = {**by_row, "durations": durations, "snap": _stated_snap(part)}
    return _PartReferences(part.name, groups.ids, groups.counts, facts, part, groups)


def _label_words(columns: PartColumns, options: ReadOptions) -> Texts:
    """Take the labels as words; 0 and 1 mean what the options say."""
    words = columns.texts("label", "labels are words", empty_is_missing=True, numbers=True)
    if {"0", "1"}.isdisjoint(words.values):
        return words
    meaning = options.words_of_digits(columns.part.name)
    return replace(words, values=[meaning.get(word, word) for word in words.values])


def _stated_snap(part: Part) -> Float64:
    """The one snap (s) of a part, 0 if it states none."""
    snap = part.stated.get("snap")
    if snap is not None and not (isinstance(snap, (int, float)) and 0 <= snap < 1):
        raise DataError(f"{part.name}: its metadata give a snap of {snap!r}; write the file again")
    return np.array([snap or 0.0])


def _labels_and_attacks(columns: PartColumns, words: Texts) -> tuple[npt.NDArray[np.int8], npt.NDArray[Any]]:
    """Read the labels; an attack's name means spoof by that attack."""
    meanings = [label_and_attack(word) for word in words.values]
    unknown = np.array([code is None for code, _ in meanings] + [False])
    if unknown.any():
        columns.note(np.flatnonzero(unknown[words.codes]), lambda row: UNKNOWN_LABEL.format(words.at(row)))
    labels = np.array([code or 0 for code, _ in meanings] + [NONSPEECH], np.int8)[words.codes]
    names = [attack for _, attack in meanings]
    attacks = np.array([*names, None], object)[words.codes] if any(names) else np.full(words.codes.size, None)
    if "attack" not in columns.names:
        return labels, attacks
    named = columns.texts("attack", "attacks are names such as A07", empty_is_missing=True)
    stated = np.array([*(None if one in NO_ATTACK else one for one in named.values), None], object)[named.codes]
    is_attack = attacks != None  # noqa: E711  (elementwise)
    is_stated = stated != None  # noqa: E711
    clash = np.flatnonzero(is_attack & is_stated & (stated != attacks))
    columns.note(clash, lambda row: f"the label is attack {attacks[row]!r}, but the column attack says {stated[row]!r}")
    return labels, np.where(is_attack, attacks, stated)


def _part_durations(columns: PartColumns, groups: Groups) -> Int64:
    """The duration of each utterance in ns, 0 where no row gives one."""
    if "duration" not in columns.names:
        return np.zeros(len(groups.ids), np.int64)
    times = columns.times("duration")
    given = np.ones(times.ns.size, np.bool_) if times.missing is None else ~times.missing
    wrong = np.flatnonzero(given & (times.ns <= 0))
    columns.note(wrong, lambda row: f"the duration is not positive ({seconds_text(times.ns[row])})")
    sorted_ns = groups.sort(np.where(given, times.ns, 0))
    durations = np.maximum.reduceat(sorted_ns, groups.offsets[:-1])
    longest = np.repeat(durations, groups.counts)
    shorter = groups.rows(np.flatnonzero((sorted_ns != longest) & groups.sort(given)))
    text = "the utterance has two durations, {} here and a longer one"
    columns.note(shorter, lambda row: text.format(seconds_text(times.ns[row])))
    return durations


def _durations(ids: list[str], stated: Int64, options: ReadOptions, snap: int) -> tuple[list[str], Int64 | None]:
    """The ids, and every utterance's duration from the options and the tables, which must agree."""
    if options.durations is None and not stated.any():
        return ids, None
    if options.durations is None and stated.all():
        return ids, stated
    known = dict(zip(ids, stated.tolist(), strict=True))
    problems = Problems()
    for utt, seconds in (options.durations or {}).items():
        ns, other = duration_ns(seconds, f"duration of {utt!r}"), known.get(utt, 0)
        if other and abs(other - ns) > snap:
            problems.add(f"utterance {utt!r}: {seconds_text(other)} in the table, {seconds_text(ns)} in durations")
        known[utt] = ns
    problems.raise_if_any("give one duration for each utterance")
    without = [utt for utt, ns in known.items() if not ns]
    refuse(without, lambda utt: f"utterance {utt!r} has no duration", "complete the durations")
    return list(known), np.array(list(known.values()), np.int64)
