"""Durations: ``reco2dur`` files, ``<utt> <seconds>`` a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from spoofspan.base.errors import Problems, UsageError
from spoofspan.data.references import References
from spoofspan.formats.fields import plain_columns
from spoofspan.formats.identify import naming_misplaced
from spoofspan.formats.sources import Source, Where, sources
from spoofspan.formats.tables.corpus_tables import ColumnTable, Numbers, Part, Texts
from spoofspan.formats.text.lines import is_header, lines_of, plain_number
from spoofspan.formats.text.rows import time_text

LINES_PER_PIECE = 1 << 15
REMEDY = "correct the file of durations"


def read_durations(where: Where | Mapping[str, float] | References) -> dict[str, float]:
    r"""Read durations in seconds from a reco2dur file, or take them from a dict or references.

    Parameters
    ----------
    where
        A file of lines ``<utterance> <seconds>``, a dict of seconds, or references that have durations.

    Returns
    -------
    dict
        Seconds by utterance.

    Examples
    --------
    >>> import io
    >>> read_durations(io.BytesIO(b"u1 2.5\nu2 1.0\n"))
    {'u1': 2.5, 'u2': 1.0}

    """
    if isinstance(where, Mapping):
        return dict(where)
    if isinstance(where, References):
        if where.durations is None:
            return {}
        return {utt: ns / 1e9 for utt, ns in zip(where.utterances, where.durations.tolist(), strict=True)}
    found = sources(where)
    if len(found) == 1 and (plain := _quickly(found[0])) is not None:
        return plain
    known: dict[str, float] = {}
    problems = Problems()
    with naming_misplaced("durations", found):
        for place, utterance, seconds in _lines(found, problems):
            if known.setdefault(utterance, seconds) != seconds:
                problems.add(f"{place}: utterance {utterance!r} has two durations")
        problems.raise_if_any(REMEDY)
    return known


def _quickly(source: Source) -> dict[str, float] | None:
    """Read all lines at once; None if anything at all is unusual."""
    columns = plain_columns(source, (2,), texts=(0,), numbers=(1,))
    if columns is None:
        return None
    (ids,), (seconds,) = columns
    if len(ids.texts) < seconds.size or not ((seconds > 0) & (seconds < np.inf)).all():
        return None
    found = dict(zip(ids.texts, seconds.tolist(), strict=True))
    return found if len(found) == seconds.size else None


def stream_durations(where: Where | Mapping[str, float] | References) -> Iterator[Part]:
    """Read durations piece by piece, as tables of utterance and seconds; one that is listed twice is in them twice."""
    if isinstance(where, (Mapping, References)):
        known = read_durations(where)
        yield _part("durations", known, known.values())
        return
    for source in sources(where):
        problems = Problems()
        lines = _lines([source], problems)
        with naming_misplaced("durations", [source]):
            while piece := list(islice(lines, LINES_PER_PIECE)):
                yield _part(source.name, (utterance for _, utterance, _ in piece), (seconds for _, _, seconds in piece))
            problems.raise_if_any(REMEDY)


def _part(name: str, utterances: Iterable[str], seconds: Iterable[float]) -> Part:
    return Part(ColumnTable.of({"utterance": Texts.of(utterances), "seconds": Numbers(np.array(list(seconds)))}), name)


def _lines(found: Sequence[Source], problems: Problems) -> Iterator[tuple[str, str, float]]:
    """Yield (place, utterance, seconds) of the lines that are right."""
    for line in lines_of(found, problems=problems, empty="there is no duration in the file; it is empty"):
        seconds = plain_number(line.fields[1]) if len(line.fields) == 2 else None
        if seconds is None:
            problems.add(f"{line.place}: not '<utterance> <seconds>': {line.text.strip()[:60]!r}{_hint(line.text)}")
        elif 0 < seconds < np.inf:
            yield line.place, line.fields[0], seconds
        else:
            problems.add(f"{line.place}: utterance {line.fields[0]!r}: no duration: {line.fields[1]}")


def _hint(text: str) -> str:
    """The remedy for a line that is almost one of durations.

    >>> _hint("u1 2,5"), _hint("u1,2.5"), _hint("2.5 u1"), _hint("utt dur")
    ('; write a decimal point', '; write a space between the columns', '; the id comes first', '; remove the header')
    """
    fields = text.split()
    if len(fields) == 2 and plain_number(fields[1].replace(",", ".")) is not None:
        return "; write a decimal point"
    if len(split := re.split(r"[,;]", text.strip())) == 2 and plain_number(split[1].strip()) is not None:
        return "; write a space between the columns"
    if len(fields) == 2 and plain_number(fields[0]) is not None:
        return "; the id comes first"
    return "; remove the header" if is_header(fields[1:] or fields) else ""


def reco2dur_lines(references: References) -> Iterator[bytes]:
    """Write durations as a reco2dur file, exactly."""
    if references.durations is None:
        raise UsageError(
            "these references have no durations to write; read them with durations=, or leave --durations-out out"
        )
    for utterance, ns in zip(references.utterances, references.durations.tolist(), strict=True):
        yield f"{utterance} {time_text(ns)}\n".encode()
