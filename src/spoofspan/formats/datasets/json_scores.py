"""Scores as one JSON object: ``{utterance: [score, score, ...]}``, one for each frame from 0."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from spoofspan.base.errors import DataError
from spoofspan.formats.arrays.npz import read_scores
from spoofspan.formats.datasets.proposals import JSON_NUMBER, json_pairs
from spoofspan.formats.format import Format, text_of
from spoofspan.formats.sources import Source

SHAPE = "{utterance: [score, ...]}"
LIST = re.compile(rf'\s*\{{\s*"((?:[^"\\]|\\.)*)"\s*:\s*\[{JSON_NUMBER}[,\]]')
# an object a line may begin with its list of scores
COLUMNS = ("scores", "score")


def recognises(head: bytes) -> bool:
    """Whether it is a JSON object whose first value is a list of numbers."""
    found = LIST.match(text_of(head) or head[:-3].decode("utf-8", "ignore"))
    return found is not None and found[1] not in COLUMNS


def _arrays(source: Source) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for utterance, listed in json_pairs(source, SHAPE):
        if utterance in found:
            raise DataError(f"{source.name}: {utterance!r} is there twice; give each utterance one list")
        found[utterance] = listed
    return found


FORMAT = Format(
    "json-frames",
    f"JSON {SHAPE}, one score per frame from 0",
    partial(read_scores, _arrays),
    recognises,
    None,
    (".json",),
    ("hop", "higher"),
)
