"""Databases whose labels are one file of their folder: ``--dataset lav-df:FOLDER:test``.

Each is a row of ``folders.json``: where the labels of a set are, and what reading them is told. PartialSpoof, which has
lists, protocols and several kinds of labels, has a module of its own (``partialspoof_dataset.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from spoofspan.base.documents import read_json
from spoofspan.base.errors import DataError
from spoofspan.data.references import References
from spoofspan.formats.reading import read_references

FILE = Path(__file__).with_name("folders.json")


@cache
def one_file_databases() -> Mapping[str, Mapping[str, Any]]:
    """All rows, by name."""
    return {row["name"]: row for row in read_json(FILE)}


def read_folder(name: str, folder: Path, part: str, **options: Any) -> tuple[Path, References]:
    """Find and read the labels of a set; options are those of ``read_references``."""
    row = one_file_databases()[name]
    places = [folder / one.format(set=part) for one in row["labels"]]
    labels = next((place for place in places if place.is_file()), None)
    if labels is None:
        raise DataError(f"{name}: the labels of the set {part!r} are not there; sought: {', '.join(map(str, places))}")
    stated = {key: text.format(set=part) for key, text in row["options"].items()}
    return labels, read_references(labels, **stated, **options)
