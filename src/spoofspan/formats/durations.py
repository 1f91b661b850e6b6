"""Durations: ``reco2dur`` files, ``<utt> <seconds>`` a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spoofspan.errors import Problems, UsageError
from spoofspan.formats.rows import time_text
from spoofspan.formats.sources import Where, sources
from spoofspan.references import References


def read_durations(where: Where | Mapping[str, float] | References) -> dict[str, float]:
    """Read durations in seconds from a reco2dur file, or take them from a dict or references."""
    if isinstance(where, Mapping):
        return dict(where)
    if isinstance(where, References):
        if where.durations is None:
            return {}
        return {utt: ns / 1e9 for utt, ns in zip(where.utterances, where.durations.tolist(), strict=True)}
    found: dict[str, float] = {}
    problems = Problems()
    for source in sources(where):
        for number, line in source.lines():
            fields = line.split()
            try:
                if len(fields) != 2:
                    raise ValueError
                seconds = float(fields[1])
            except ValueError:
                problems.add(f"{source.name}:{number}: not '<utterance> <seconds>': {line.strip()[:60]!r}")
                continue
            if not 0 < seconds < float("inf"):
                problems.add(f"{source.name}:{number}: utterance {fields[0]!r}: no duration: {fields[1]}")
            elif found.setdefault(fields[0], seconds) != seconds:
                problems.add(f"{source.name}:{number}: utterance {fields[0]!r} has two durations")
    problems.raise_if_any("correct the file of durations")
    return found


def reco2dur_lines(references: References) -> Iterator[bytes]:
    """Write durations as a reco2dur file, exactly."""
    if references.durations is None:
        raise UsageError("these references have no durations to write")
    for utterance, ns in zip(references.utterances, references.durations.tolist(), strict=True):
        yield f"{utterance} {time_text(ns)}\n".encode()
