"""Formats with a file per utterance, which the file is named after: ``.vad`` files and label tracks.

The utterance is the file name without its ending (and .gz or .zst), so a corpus is a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath

from spoofspan.base.errors import UsageError
from spoofspan.data.references import References
from spoofspan.formats.format import ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.text.rows import (
    TEXT_SNAP,
    RangeRows,
    WrittenRange,
    check_ends_at_durations,
    check_utf8,
    header_hint,
    written_ranges,
)

# Reads one line: the rows, the utterance, its place, the line, and a hint if it looks like a header.
ReadLine = Callable[[RangeRows, str, str, str, str], None]


def read_files(
    sources: Sequence[Source],
    options: ReadOptions,
    suffix: str,
    read_line: ReadLine,
    *,
    may_be_empty: bool = False,
) -> References:
    """Read files, each of one utterance; if they ``may_be_empty``, only those without a duration may not."""
    rows = RangeRows()
    for source in sources:
        utterance = _named_by_file(rows, source, suffix)
        if utterance is None:
            continue
        empty = True
        for number, line in source.lines():
            empty = False
            read_line(rows, utterance, f"{source.name}:{number}", line, header_hint(number, line))
        if empty and not (may_be_empty and utterance in (options.durations or {})):
            hint = "; if it has no ranges, give its duration" if may_be_empty else ""
            rows.problems.add(f"{source.name}: utterance {utterance!r}: the file is empty{hint}")
    return rows.build(options.durations, snap=TEXT_SNAP if options.snap is None else options.snap)


def _named_by_file(rows: RangeRows, source: Source, suffix: str) -> str | None:
    """Name the utterance of a file after the file; None (and a problem) if that is impossible."""
    name = PurePath(source.name).name
    for packed in (".gz", ".zst"):
        name = name.removesuffix(packed)
    utterance = name.removesuffix(suffix)
    if utterance == name or not utterance:
        rows.problems.add(f"{source.name}: the file names the utterance, and must be called <utterance>{suffix}")
        return None
    return utterance if rows.name_once(source.name, utterance) else None


def written_files(
    references: References, name: str, suffix: str, line: Callable[[WrittenRange], str]
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of every utterance's file; ``name`` is what messages call one."""
    _check_file_names(references, name)
    for utterance, ranges in written_ranges(references):
        if not ranges:
            raise UsageError(f"{name} cannot hold utterance {utterance!r}, which has no ranges")
    check_ends_at_durations(references, name)
    files = [(utterance, "".join(map(line, ranges))) for utterance, ranges in written_ranges(references)]
    for utterance, text in files:
        yield utterance + suffix, text.encode()


def only_file(references: References, name: str, files: Iterator[tuple[str, bytes]]) -> Iterator[bytes]:
    """Return the content of the only file of one utterance."""
    if len(references) != 1:
        raise UsageError(f"{name} holds one utterance, not {len(references)}; write a folder of them")
    yield from (content for _, content in files)


def _check_file_names(references: References, name: str) -> None:
    """Refuse ids that cannot name a file."""
    for utterance in references.utterances:
        check_utf8(utterance, name)
        if utterance.startswith(".") or any(bad in utterance for bad in "/\\\0"):
            raise UsageError(
                f"{name} is named by its utterance, and {utterance!r} is no file name; write another format"
            )
