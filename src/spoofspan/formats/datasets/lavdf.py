"""LAV-DF metadata: a JSON list of ``{file, n_fakes, fake_periods: [[s, e]], duration, modify_audio, ...}``, in seconds.

Files are audio-visual. ``fake_periods`` holds for whatever was modified, and ``modify_audio`` says whether the audio
was: the periods of a file count as spoof only if ``modify_audio`` is true. A fake picture with its true sound is bona
fide here. Only spoofs are listed: a bona fide file is in the references without ranges, with its duration.
The utterance is ``file``. All splits of the metadata are read, or the one that ``split`` names.

``duration`` is reported to be ``audio_frames / 16000 + 0.128``, about 0.1 s longer than the audio stream itself: scores
of the audio then end early, which the rule ``uncovered`` decides. Durations given by the user take precedence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard

from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.data.references import SPOOF, References
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.text.rows import (
    RangeRows,
    WrittenRange,
    check_labels,
    check_no_kinds,
    check_utf8,
    time_text,
    written_ranges,
)

SPACE = re.compile(r"[ \t\n\r]*")


def recognises(head: bytes) -> bool:
    """Whether the first object of a JSON list has the keys file and fake_periods."""
    return {"file", "fake_periods"} <= first_keys(head)


def read(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read LAV-DF metadata; durations in the options take precedence over those in the file."""
    rows = RangeRows()
    durations: dict[str, float] = {}
    for place, entry in entries_of_split(sources, "LAV-DF metadata", options.split):
        utterance = file_of(rows, place, entry)
        if utterance is not None:
            _read_entry(rows, durations, place, utterance, entry)
    durations.update(options.durations or {})
    return rows.build(durations, options.snap, only_listed=True)


def _read_entry(
    rows: RangeRows, durations: dict[str, float], place: str, utterance: str, entry: dict[str, Any]
) -> None:
    where = f"{place}: utterance {utterance!r}"
    durations[utterance] = seconds(rows, where, entry.get("duration"), "duration")
    if durations[utterance] <= 0:
        rows.problems.add(f"{where}: duration must be positive, not {entry['duration']}")
    found = periods(rows, where, entry, "fake_periods")
    if found is None:
        return
    count = entry.get("n_fakes", len(found))
    if isinstance(count, bool) or count != len(found):
        rows.problems.add(f"{where}: n_fakes is {short(count)}, but there are {len(found)} fake_periods; correct one")
    modified = entry.get("modify_audio")
    if not isinstance(modified, bool):
        rows.problems.add(
            f"{where}: modify_audio must be true (the audio is fake) or false (at most the picture is), "
            f"not {short(modified)}"
        )
    elif modified and not found:
        rows.problems.add(f"{where}: modify_audio is true, but there are no fake_periods; correct one")
    elif modified:
        for start, end in found:
            rows.add(place, utterance, start, end, "spoof")


def first_keys(head: bytes) -> set[str]:
    """Return the keys of the first object of a JSON list; none if the file does not begin with one."""
    # The head may end within a character, so that is ignored.
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "ignore")
    opening = re.match(r"\s*\[\s*", text)
    if opening is None:
        return set()
    try:
        first, _ = json.JSONDecoder().raw_decode(text, opening.end())
    except (ValueError, RecursionError):
        return set()
    return set(first) if isinstance(first, dict) else set()


def entries(source: Source, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the content of each object of a JSON list; only one of them is held at a time."""
    try:
        text = source.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{source.name}: not UTF-8 text (byte {error.start}); convert it to UTF-8") from None
    if not text.strip():
        raise DataError(f"{source.name}: the file is empty")
    decoder = json.JSONDecoder()
    position = _skip(text, 0)
    if text[position] != "[":
        raise DataError(
            f"{source.name}: {name} is a JSON list of objects, this file begins with "
            f"{text[position : position + 20]!r}; give the whole metadata file"
        )
    position = _skip(text, position + 1)
    if text[position : position + 1] == "]":
        raise DataError(f"{source.name}: the list is empty; there is no reference in the file")
    index = 0
    try:
        while True:
            place = f"{source.name}[{index}]"
            entry, position = decoder.raw_decode(text, position)
            if not isinstance(entry, dict):
                raise DataError(f"{place}: each entry of the list must be an object, not {short(entry)}; correct it")
            yield place, entry
            index += 1
            position = _skip(text, position)
            if text[position : position + 1] == "]":
                break
            if text[position : position + 1] != ",":
                raise json.JSONDecodeError("Expecting ',' delimiter", text, position)
            position = _skip(text, position + 1)
        position = _skip(text, position + 1)
        if position < len(text):
            raise json.JSONDecodeError("Extra data", text, position)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{source.name}:{error.lineno}: entry [{index}] is no valid JSON (column {error.colno}: {error.msg}); "
            "the file is damaged or truncated, get it again"
        ) from None
    except (RecursionError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{source.name}[{index}]: cannot be read ({error}); the file is damaged, get it again"
        ) from None


def entries_of_split(sources: Sequence[Source], name: str, split: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the entries of one split, or of all if none is asked for."""
    splits: set[str] = set()
    for source in sources:
        for place, entry in entries(source, name):
            splits.add(str(entry.get("split", "")))
            if split is None or entry.get("split") == split:
                yield place, entry
    if split is not None and split not in splits:
        raise UsageError(f"{sources[0].name}: no split {split!r}: {nearest_name(split, splits - {''})}")


def _skip(text: str, position: int) -> int:
    match = SPACE.match(text, position)
    return match.end() if match is not None else position


def file_of(rows: RangeRows, place: str, entry: dict[str, Any]) -> str | None:
    """Note the utterance of an entry, its file; None (and a problem) if there is none or it occurred before."""
    name = entry.get("file")
    if not is_name(name):
        rows.problems.add(f"{place}: file must be a name, not {short(name)}")
        return None
    return name if rows.name_once(place, name) else None


def is_name(value: object) -> TypeGuard[str]:
    """Tell whether a JSON value is text that can be written again (JSON can hold halves of characters)."""
    return isinstance(value, str) and value != "" and not re.search("[\ud800-\udfff]", value)


def periods(rows: RangeRows, where: str, entry: dict[str, Any], key: str) -> list[tuple[float, float]] | None:
    """Read a list of [start, end]; None (and a problem) if it is no such list."""
    found = entry.get(key)
    if not isinstance(found, list):
        rows.problems.add(f"{where}: {key} must be a list of [start, end] in seconds, not {short(found)}")
        return None
    result: list[tuple[float, float]] = []
    for i, period in enumerate(found):
        if not isinstance(period, list) or len(period) != 2:
            rows.problems.add(f"{where}: {key}[{i}] must be [start, end] in seconds, not {short(period)}")
            return None
        start, end = (seconds(rows, where, value, f"{key}[{i}]") for value in period)
        result.append((start, end))
    return result


def seconds(rows: RangeRows, where: str, value: object, what: str) -> float:
    """Read a JSON number of seconds; NaN (and a problem) if it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        rows.problems.add(f"{where}: {what} must be a number of seconds, not {short(value)}")
        return float("nan")
    return rows.seconds(where, repr(value), what)


def short(value: object) -> str:
    """Describe a JSON value for a message."""
    if isinstance(value, (list, dict)):
        return ("a list" if isinstance(value, list) else "an object") + f" of {len(value)}"
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


def write(references: References) -> Iterator[bytes]:
    """Write a JSON list; times exactly. What the references do not know (original, split, frames) is left out."""
    name = "LAV-DF metadata"
    check_labels(references, name, (SPOOF,))
    check_no_kinds(references, name)
    if references.durations is None:
        raise UsageError(f"{name} holds durations; give them with durations= (--durations)")
    durations = references.durations.tolist()
    yield from json_list(
        f'{{"file": {json_name(utterance, name)}, "n_fakes": {len(ranges)}, "fake_periods": {json_periods(ranges)}, '
        f'"duration": {time_text(duration)}, "modify_audio": {json.dumps(bool(ranges))}}}'
        for (utterance, ranges), duration in zip(written_ranges(references), durations, strict=True)
    )


def json_name(text: str, name: str) -> str:
    """Write an id as JSON."""
    check_utf8(text, name)
    return json.dumps(text, ensure_ascii=False)


def json_periods(ranges: list[WrittenRange]) -> str:
    """Write ranges as JSON, times in seconds."""
    return "[" + ", ".join(f"[{time_text(one.start)}, {time_text(one.end)}]" for one in ranges) + "]"


def json_list(objects: Iterator[str]) -> Iterator[bytes]:
    """Write objects as a list, a line each."""
    between = "[\n"
    for one in objects:
        yield f"{between}{one}".encode()
        between = ",\n"
    yield b"\n]\n"


FORMAT = Format(
    "lavdf",
    "JSON list of {file, fake_periods, duration, modify_audio, ...}: LAV-DF (periods count if the audio is modified)",
    read,
    recognises,
    write,
    (".json",),
    takes=("split",),
)
