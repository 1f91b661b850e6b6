"""Converting files between formats: read once, write whole or not at all."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from spoofspan.errors import DataError, UsageError
from spoofspan.formats.catalogue import REFERENCE_FORMATS, SCORE_FORMATS
from spoofspan.formats.durations import reco2dur_lines
from spoofspan.formats.parquet import kind_of
from spoofspan.formats.reading import read_references, read_scores
from spoofspan.formats.registry import Format
from spoofspan.formats.sources import sources
from spoofspan.formats.writing import write_atomically
from spoofspan.scores import Higher

# What the end of a file name says about its format.
BY_SUFFIX = {
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".rttm": "rttm",
    ".npz": "npz",
    ".pkl": "partialspoof-pickle",
    ".ark": "kaldi-ark",
}


def convert(
    source: str,
    target: str,
    *,
    kind: str | None = None,
    from_format: str | None = None,
    to_format: str | None = None,
    durations: str | None = None,
    hop: float | None = None,
    higher: Higher | None = None,
    column: str | None = None,
    durations_out: str | None = None,
    force: bool = False,
) -> str:
    """Convert one file and say what was done."""
    if kind not in (None, "references", "scores"):
        raise UsageError(f"--kind {kind}: must be references or scores")
    chosen = kind or _kind(source, from_format)
    if chosen == "references":
        references = read_references(source, durations=durations, format=from_format, hop=hop)
        writer: Format[Any] = _writer(REFERENCE_FORMATS.formats, target, to_format)
        content: Any = references
    else:
        content = read_scores(source, hop=hop, higher=higher, column=column, format=from_format)
        writer = _writer(SCORE_FORMATS.formats, target, to_format)
    if writer.write is None:
        raise UsageError(f"the format {writer.name} can be read but not written; choose another with --to")
    if durations_out is not None:
        if chosen != "references":
            raise UsageError("--durations-out goes with references")
        write_atomically(durations_out, reco2dur_lines(content), force)
    write_atomically(target, writer.write(content), force)
    return f"{content!r} -> {target} ({writer.name})"


def _kind(source: str, name: str | None) -> str:
    """Find out whether a file holds references or scores."""
    if name is not None:
        in_references, in_scores = name in REFERENCE_FORMATS.formats, name in SCORE_FORMATS.formats
    else:
        first = sources(source)[0]
        head = first.head
        stated = kind_of(first) if head.startswith(b"PAR1") else None
        if stated is not None:
            return stated
        in_references = any(one.recognises(head) for one in REFERENCE_FORMATS.formats.values())
        in_scores = any(one.recognises(head) for one in SCORE_FORMATS.formats.values())
    if in_references == in_scores:
        raise DataError(f"{source}: cannot tell whether this is references or scores; say it with --kind")
    return "references" if in_references else "scores"


def _writer(formats: dict[str, Any], target: str, name: str | None) -> Any:
    stem = target.removesuffix(".gz").removesuffix(".zst")
    chosen = name or BY_SUFFIX.get(PurePath(stem).suffix)
    if chosen is None:
        raise UsageError(f"{target}: the name does not tell the format; give --to: {', '.join(formats)}")
    if chosen not in formats:
        raise UsageError(f"{chosen} is no format for this kind of content; valid: {', '.join(formats)}")
    return formats[chosen]
