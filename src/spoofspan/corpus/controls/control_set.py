"""A folder of controls, read and checked: every utterance with its edit, and with the unedited time behind its own.

Each sample of a control is a sample of some bona fide recording, which is there unedited as well::

    edited      0 |-- A from 0 --|-- B from 3.1 --|-- A from 2.4 --| end       stretches, cut in the middle of joints
    unedited    A |==============|  B ... |=========|  A ... |=============|
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from spoofspan.base.documents import read_json
from spoofspan.base.errors import DataError, Problems, UsageError
from spoofspan.base.times import seconds_text
from spoofspan.corpus.controls.edits import EDITS, SPLICE, UNEDITED
from spoofspan.corpus.controls.making import COLUMNS, LIST, SUBSET
from spoofspan.corpus.layout import ABOUT, TICK, SetFiles, read_provenance
from spoofspan.corpus.provenance import Provenance
from spoofspan.data.references import BONA_FIDE, References
from spoofspan.formats.datasets.partialspoof_dataset import read_dataset

AGAIN = "build the controls again: spoofspan controls build SOURCE OUT --force"


@dataclass(frozen=True)
class Stretch:
    """Time of a control that was taken from one place of a recording; in ns."""

    start: int
    end: int
    unedited: str  # the utterance that has this time unedited
    source_start: int


@dataclass(frozen=True)
class Control:
    """One utterance of a folder of controls."""

    utterance: str
    speaker: str
    edit: str
    cross_fade: float | None  # seconds; None: it has no joint
    unedited: str
    duration: int  # ns
    joints: tuple[tuple[int, int], ...]  # ns
    stretches: tuple[Stretch, ...]

    def passages(self) -> list[tuple[int, int]]:
        """Time that was put in from other recordings, joints included; what touches is one."""
        found: list[tuple[int, int]] = []
        edges = [(0, 0), *self.joints, (self.duration, self.duration)]
        for number, one in enumerate(self.stretches):
            if one.unedited == self.unedited:
                continue
            start, end = edges[number][0], edges[number + 1][1]
            if found and start <= found[-1][1]:
                found[-1] = (found[-1][0], end)
            else:
                found.append((start, end))
        return found


@dataclass(frozen=True, eq=False)
class Controls:
    """Bona fide speech with and without edits, as :func:`spoofspan.controls.build` made it.

    Attributes
    ----------
    folder
        Where it lies.
    references
        The labels: everything is bona fide.
    items
        The utterances in order, the unedited ones among them.
    digest
        Hash of all sound files.

    Examples
    --------
    See :func:`spoofspan.controls.read`.

    """

    folder: Path
    references: References
    items: tuple[Control, ...]
    digest: str

    def __repr__(self) -> str:
        return f"Controls({len(self.items):,} utterances of {len(self.speakers)} speakers, {len(self.groups)} edits)"

    @cached_property
    def speakers(self) -> tuple[str, ...]:
        """The speakers, in the order of their names."""
        return tuple(sorted({one.speaker for one in self.items}))

    @cached_property
    def groups(self) -> Mapping[tuple[str, float | None], tuple[Control, ...]]:
        """The edited utterances by edit and cross-fade."""
        found: dict[tuple[str, float | None], list[Control]] = {}
        for one in self.items:
            if one.edit != UNEDITED:
                found.setdefault((one.edit, one.cross_fade), []).append(one)
        order = {edit: place for place, edit in enumerate(EDITS)}
        ordered = sorted(found, key=lambda key: (order.get(key[0], len(order)), key[1] or 0.0))
        return {key: tuple(found[key]) for key in ordered}

    @cached_property
    def unedited(self) -> tuple[Control, ...]:
        """The recordings as they are."""
        return tuple(one for one in self.items if one.edit == UNEDITED)

    def splices(self, cross_fade: float | None) -> tuple[Control, ...]:
        """The splices of a speaker's own speech with this cross-fade."""
        return self.groups.get((SPLICE, cross_fade), ())


def read(folder: str | Path) -> Controls:
    """Read a folder of controls, and check that its files agree and that everything in it is bona fide.

    Parameters
    ----------
    folder : str or Path
        What :func:`spoofspan.controls.build` made.

    Returns
    -------
    Controls
        Labels, edits and where every stretch of time comes from.

    Raises
    ------
    UsageError
        If there are no controls in the folder.
    DataError
        If a file is damaged, or something is labelled spoof.

    Examples
    --------
    >>> controls = read("my-controls")  # doctest: +SKIP
    >>> [edit for edit, cross_fade in controls.groups][:2]  # doctest: +SKIP
    ['rejoin-pause', 'rejoin-pause']

    """
    top = Path(folder).expanduser()
    listed = top / LIST
    if not listed.is_file() or not (top / ABOUT).is_file():
        raise UsageError(f"{str(top)!r}: there are no controls ({LIST}, {ABOUT}); spoofspan controls build makes them")
    files = SetFiles(top, SUBSET)
    try:
        digest = str(read_json(top / ABOUT)["sets"][SUBSET]["sound_sha256"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{top / ABOUT}: cannot be read ({error}); {AGAIN}") from None
    dataset = read_dataset(f"partialspoof:{top}:{SUBSET}", snap=0.0)
    _refuse_spoof(dataset.references, dataset.files["labels"])
    rows = _rows(listed)
    made = {one.utterance: one for one in read_provenance(files.provenance)}
    for name, known in (("the labels", set(dataset.references.utterances)), (str(files.provenance), set(made))):
        if odd := sorted(known ^ set(rows)):
            raise DataError(f"{listed}: utterance {odd[0]!r} is in only one of this file and {name}; {AGAIN}")
    unedited_of = {made[name].carrier: name for name, row in rows.items() if row["edit"] == UNEDITED}
    items = tuple(_control(rows[name], made[name], unedited_of, listed) for name in rows)
    return Controls(top, dataset.references, items, digest)


def _refuse_spoof(references: References, path: Path) -> None:
    wrong = np.flatnonzero(references.labels != BONA_FIDE)
    if wrong.size:
        row = int(wrong[0])
        place = int(np.searchsorted(references.offsets, row, side="right")) - 1
        start, end = (seconds_text(int(column[row])) for column in (references.starts, references.ends))
        raise DataError(
            f"{path}: utterance {references.utterances[place]!r}: {start} to {end} s is not labelled bona fide, and "
            f"controls must be; {AGAIN}, or correct the label"
        )


def _rows(path: Path) -> dict[str, dict[str, str]]:
    """Rows of the list by utterance."""
    problems = Problems()
    found: dict[str, dict[str, str]] = {}
    with path.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream)
        if missing := [name for name in COLUMNS if name not in (rows.fieldnames or ())]:
            raise DataError(f"{path}: no column {', '.join(missing)}; {AGAIN}")
        for row in rows:
            place = f"{path}:{rows.line_num}: utterance {row['utterance']!r}"
            if any(row[name] is None for name in COLUMNS):
                problems.add(f"{place}: the line is cut short")
            elif row["edit"] not in (UNEDITED, *EDITS):
                problems.add(f"{place}: there is no edit {row['edit']!r}")
            elif row["cross_fade"] and not _is_seconds(row["cross_fade"]):
                problems.add(f"{place}: the cross-fade {row['cross_fade']!r} is no number of seconds")
            elif row["utterance"] in found:
                problems.add(f"{place} is listed a second time")
            else:
                found[row["utterance"]] = row
    for name, row in found.items():
        if found.get(row["unedited"], {}).get("edit") != UNEDITED:
            problems.add(f"{path}: utterance {name!r}: its unedited recording {row['unedited']!r} is not listed")
    problems.raise_if_any(AGAIN)
    return found


def _is_seconds(text: str) -> bool:
    try:
        return float(text) >= 0
    except ValueError:
        return False


def _control(row: Mapping[str, str], one: Provenance, unedited_of: Mapping[str, str], path: Path) -> Control:
    """Divide a control into stretches, in the middle of its joints."""
    middles = [0, *((joint.start + joint.end) // 2 for joint in one.joints), one.samples]
    if one.attacks:
        raise DataError(f"{path}: utterance {one.utterance!r} has spoofed samples ({', '.join(one.attacks)}); {AGAIN}")
    stretches = []
    for origin, start, end in zip(one.origins, middles[:-1], middles[1:], strict=True):
        # a recording that went through a codec is compared with the one that did not
        unedited = unedited_of.get(origin.recording, row["unedited"])
        source_start = origin.source_start + start - origin.start
        stretches.append(Stretch(start * TICK, end * TICK, unedited, source_start * TICK))
    return Control(
        one.utterance,
        one.speaker,
        row["edit"],
        float(row["cross_fade"]) if row["cross_fade"] else None,
        row["unedited"],
        one.samples * TICK,
        tuple((joint.start * TICK, joint.end * TICK) for joint in one.joints),
        tuple(stretches),
    )
