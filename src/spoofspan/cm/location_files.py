"""A location written to files: labels for other programs, tables, JSON, a page."""

from __future__ import annotations

import re
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.data.references import References
from spoofspan.formats.convert import write_references
from spoofspan.formats.writing import check_target, write_atomically
from spoofspan.report.results import finite
from spoofspan.report.table import json_text

if TYPE_CHECKING:
    from spoofspan.cm.located import Location

LABELS = {".rttm": "rttm", ".txt": "audacity", ".textgrid": "textgrid"}
SUFFIXES = (*LABELS, ".json", ".csv", ".html")
EACH = "{}"  # in the name of a file: the id of each recording
ONE_EACH = ("audacity", "textgrid")  # formats of one recording a file
UNSAFE = re.compile(r"[^\w.+=,@ -]")


def check_location_target(target: str | PathLike[str], *, force: bool) -> None:
    """Fail fast on output that cannot be written."""
    _suffix(target)
    path = Path(target).expanduser()
    if EACH not in str(path.parent):
        check_target(path, force or EACH in path.name)  # of {}, only the folder is known


def write_location(location: Location, target: str | PathLike[str], *, force: bool) -> None:
    """Write what the end of the name says, of each recording a file if the name asks for it."""
    suffix = _suffix(target)
    if EACH not in fspath(target):
        _write_one(location, target, suffix, force)
        return
    for one in location.judged if suffix in LABELS else location.recordings:
        own = fspath(target).replace(EACH, UNSAFE.sub("_", one.recording))
        _write_one(replace(location, recordings=(one,)), own, suffix, force)


def _write_one(location: Location, target: str | PathLike[str], suffix: str, force: bool) -> None:
    path = Path(target).expanduser()
    if suffix == ".html":
        from spoofspan.cm.location_page import location_page

        write_atomically(path, [location_page(location, path).encode()], force)
    elif suffix in (".json", ".csv"):
        text = json_text(finite(location.to_dict())) if suffix == ".json" else location.table.render("csv")
        write_atomically(path, [text.encode()], force)
    else:
        _write_labels(location, path, LABELS[suffix], force)


def _write_labels(location: Location, path: Path, name: str, force: bool) -> None:
    references = location.references
    if name == "audacity":  # a track of what is suspected, not of everything else
        references = _spoofs(location)
    if name in ONE_EACH and len(references) != 1:
        raise UsageError(
            f"{path}: a file of this kind holds one recording, and there are {len(references)}; write one each "
            f"with {EACH} in the name, such as '{EACH}{path.suffix}'"
        )
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
