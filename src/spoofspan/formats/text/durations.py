"""Durations: ``reco2dur`` files, ``<utt> <seconds>`` a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np

from spoofspan.base.errors import Problems, UsageError
from spoofspan.data.references import References
from spoofspan.formats.sources import Source, Where, sources
from spoofspan.formats.text.plain_columns import columns_of, numbers_of, texts_of
from spoofspan.formats.text.rows import plain_number, time_text

LINES_PER_PIECE = 1 << 17
REMEDY = "correct the file of durations"


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
    found_sources = sources(where)
    if len(found_sources) == 1 and (plain := _quickly(found_sources[0])) is not None:
        return plain
    for source in found_sources:
        for place, utterance, seconds in _lines(source, problems):
            if found.setdefault(utterance, seconds) != seconds:
                problems.add(f"{place}: utterance {utterance!r} has two durations")
    problems.raise_if_any(REMEDY)
    return found


def _quickly(source: Source) -> dict[str, float] | None:
    """Read all lines at once; None if anything at all is unusual."""
    columns = columns_of(source.read(), (2,))
    seconds = None if columns is None else numbers_of(columns[1])
    if columns is None or seconds is None or not ((seconds > 0) & (seconds < np.inf)).all():
        return None
    found = dict(zip(texts_of(columns[0]), seconds.tolist(), strict=True))
    return found if len(found) == seconds.size else None


def stream_durations(where: Where | Mapping[str, float] | References) -> Iterator[tuple[str, list[str], list[float]]]:
    """Read durations piece by piece: the file, the utterances, their seconds (one that is listed twice, twice)."""
    if isinstance(where, (Mapping, References)):
        known = read_durations(where)
        yield "durations", list(known), list(known.values())
        return
    for source in sources(where):
        problems = Problems()
        lines = _lines(source, problems)
        while piece := list(islice(lines, LINES_PER_PIECE)):
            yield source.name, [utterance for _, utterance, _ in piece], [seconds for _, _, seconds in piece]
        problems.raise_if_any(REMEDY)


def _lines(source: Source, problems: Problems) -> Iterator[tuple[str, str, float]]:
    """Yield (place, utterance, seconds) of the lines that are right."""
    number = 0
    for number, line in source.lines():
        place = f"{source.name}:{number}"
        fields = line.split()
        seconds = plain_number(fields[1]) if len(fields) == 2 else None
        if seconds is None:
            problems.add(f"{place}: not '<utterance> <seconds>': {line.strip()[:60]!r}")
        elif 0 < seconds < float("inf"):
            yield place, fields[0], seconds
        else:
            problems.add(f"{place}: utterance {fields[0]!r}: no duration: {fields[1]}")
    if not number:
        problems.add(f"{source.name}: there is no duration in the file; it is empty")


def reco2dur_lines(references: References) -> Iterator[bytes]:
    """Write durations as a reco2dur file, exactly."""
    if references.durations is None:
        raise UsageError("these references have no durations to write")
    for utterance, ns in zip(references.utterances, references.durations.tolist(), strict=True):
        yield f"{utterance} {time_text(ns)}\n".encode()
