"""Hashes of files, and of columns: the same content has the same hash, in however many pieces it comes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

DIGITS = 16
BLOCK = 1 << 20  # bytes that are read at once


def file_hash(path: Path) -> str:
    """The SHA-256 of a file, as ``sha256sum`` prints it."""
    total = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(BLOCK):
            total.update(piece)
    return total.hexdigest()


class ContentHash:
    """Hashes named columns piece by piece; each column has its own stream, so pieces leave no trace."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._streams: dict[str, Any] = {}

    def add(self, column: str, data: bytes | npt.NDArray[Any]) -> None:
        """Add to a column."""
        self._streams.setdefault(column, hashlib.sha256()).update(data)

    def add_texts(self, column: str, texts: Sequence[str]) -> None:
        """Add texts, and their lengths in a column of their own: a separator could be part of a text."""
        self.add(column, "".join(texts).encode("utf-8", "surrogatepass"))
        self.add(f"lengths of {column}", np.fromiter(map(len, texts), "<i8", len(texts)))

    def digest(self) -> str:
        """The hash of all columns."""
        whole = hashlib.sha256(self._kind.encode())
        for column in sorted(self._streams):
            whole.update(column.encode() + b"\0" + self._streams[column].digest())
        return whole.hexdigest()[:DIGITS]


class UtterancesHash:
    """Hashes a set of utterance ids, given in pieces whose ids rise from piece to piece."""

    def __init__(self) -> None:
        self._hashed = ContentHash("utterances 1")
        self.count = 0

    def add(self, utterances: Sequence[str]) -> None:
        """Add a piece."""
        self.count += len(utterances)
        self._hashed.add_texts("ids", sorted(utterances))

    def digest(self) -> str:
        """The hash of all pieces."""
        return self._hashed.digest()


def utterances_hash(utterances: Sequence[str]) -> str:
    """Hash a set of utterance ids."""
    hashed = UtterancesHash()
    hashed.add(utterances)
    return hashed.digest()


def labels_hash(labels: Mapping[str, str]) -> str:
    """Hash a label of each utterance."""
    hashed = ContentHash("labels 1")
    hashed.add_texts("ids", sorted(labels))
    hashed.add_texts("labels", [labels[utt] for utt in sorted(labels)])
    return hashed.digest()
