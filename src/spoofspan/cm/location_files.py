"""A location written to files: labels for other programs, tables, JSON, a page."""

from __future__ import annotations

import re
from os import PathLike, fspath
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import numpy as np

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.data.references import References
from spoofspan.formats.convert import write_references
from spoofspan.formats.writing import check_target, write_atomically
from spoofspan.report.table import json_text

if TYPE_CHECKING:
    from spoofspan.cm.located import Location

LABELS = {".rttm": "rttm", ".txt": "audacity", ".textgrid": "textgrid"}
SUFFIXES = (*LABELS, ".json", ".csv", ".html")
EACH = "{}"  # in the name of a file: the id of each recording
ONE_EACH = ("audacity", "textgrid")  # formats of one recording a file
UNSAFE = re.compile(r"[^\w.+=,@ -]")


def check_location_target(target: str | PathLike[str], *, force: bool) -> None:
    """Refuse before long work what writing would refuse after it."""
    _suffix(target)
    if EACH not in fspath(target):
        check_target(Path(target).expanduser(), force)


def write_location(location: Location, target: str | PathLike[str], *, force: bool) -> None:
    """Write what the end of the name says."""
    suffix = _suffix(target)
    if suffix == ".html":
        from spoofspan.cm.location_page import location_page

        path = Path(target).expanduser()
        write_atomically(path, [location_page(location, path).encode()], force)
    elif suffix in (".json", ".csv"):
        text = json_text(location.to_dict()) if suffix == ".json" else location.table.render("csv")
        write_atomically(Path(target).expanduser(), [text.encode()], force)
    else:
        _write_labels(location, fspath(target), LABELS[suffix], force)


def _write_labels(location: Location, target: str, name: str, force: bool) -> None:
    references = location.references
    if name == "audacity":  # a track of what is suspected, not of everything else
        references = _spoofs(location)
    if EACH not in target:
        if name in ONE_EACH and len(references) != 1:
            raise UsageError(
                f"{target}: a file of this kind holds one recording, and there are {len(references)}; write one each "
                f"with {EACH} in the name, such as '{EACH}{PurePath(target).suffix}'"
            )
        _write_one(references, target, name, force)
        return
    for row, recording in enumerate(references.utterances):
        own = target.replace(EACH, UNSAFE.sub("_", recording))
        _write_one(references.take(np.array([row])), own, name, force)


def _write_one(references: References, target: str, name: str, force: bool) -> None:
    path = Path(target).expanduser()
    if name == "audacity" and not references.starts.size:  # an empty track: nothing is suspected
        write_atomically(path, [], force)
    else:
        write_references(references, path, format=name, force=force)


def _spoofs(location: Location) -> References:
    ranges = {one.recording: [(r.start, r.end, "spoof") for r in one.ranges] for one in location.judged}
    return References.from_ranges(ranges)


def _suffix(target: str | PathLike[str]) -> str:
    suffix = PurePath(target).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{fspath(target)}: its ending says what to write: {nearest_name(suffix, SUFFIXES)}")
    return suffix
