"""Which columns a table of references or scores has, and how it says what its columns do not."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

METADATA_KEY = b"spoofspan"
METADATA_VERSION = 1
TEXTS = ("utterance", "label", "kind", "higher")  # columns of words; all others are numbers


@dataclass(frozen=True)
class Schema:
    """The columns of one kind of content."""

    columns: tuple[str, ...]
    telling: frozenset[str]  # a table with one of these columns has this content
    grammar: str

    def fits(self, names: Collection[str]) -> bool:
        """Whether a table with these columns may have this content: a column tells so, or none tells anything."""
        return bool(self.telling & set(names)) or not (REFERENCES.telling | SCORES.telling) & set(names)


REFERENCES = Schema(
    ("utterance", "start", "end", "label", "kind", "duration"),
    frozenset({"label"}),
    "columns utterance, start, end, label[, kind, duration]",
)
SCORES = Schema(
    ("utterance", "start", "end", "frame", "score", "scores", "hop", "origin", "window", "higher"),
    frozenset({"score", "scores"}),
    "columns utterance, start, end, score or utterance, frame, score or utterance, scores (a list)",
)


def with_metadata(table: Any, stated: dict[str, Any]) -> Any:
    """The same Arrow table, stating this (and nothing else) about itself in the metadata of its schema."""
    packed = {METADATA_KEY: json.dumps({"version": METADATA_VERSION, **stated}).encode()} if stated else None
    return table.replace_schema_metadata(packed)
