"""Metadata of LAV-DF and AV-Deepfake1M: a JSON list with an object per file, each with its fake periods in seconds.

============  =================================================================================
format        object
============  =================================================================================
lavdf         ``{file, n_fakes, fake_periods: [[s, e]], duration, modify_audio, ...}``
avdeepfake1m  ``{file, audio_model, audio_fake_segments: [[s, e]], ...}``
============  =================================================================================

Only spoofs are listed: a bona fide file is in the references without ranges. The utterance is its ``file``. All splits
of the metadata are read, or the one that ``split`` names. An entry is checked key by key, and every problem keeps its
place. Only one entry is held at a time.

LAV-DF: files are audio-visual. ``fake_periods`` holds for whatever was modified, and ``modify_audio`` says whether the
audio was: the periods of a file count as spoof only if ``modify_audio`` is true. A fake picture with its true sound is
bona fide here. ``duration`` is reported to be ``audio_frames / 16000 + 0.128``, about 0.1 s longer than the audio
stream itself: scores of the audio then end early, which the rule ``uncovered`` decides. Durations given by the user
take precedence.

AV-Deepfake1M: ``audio_fake_segments`` are what counts for the audio (``fake_segments`` has the picture's as well), of
the kind ``audio_model``. Durations must be given: ``audio_frames`` counts samples, but nothing states their rate, and
the official loader takes ``video_frames / 25`` s, which is how long the picture lasts, not the audio.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.data.references import SPOOF, References
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.text.rows import RangeRows, WrittenRange, check_utf8, check_writable, time_text, written_ranges

SPACE = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True)
class Entry:
    """One object of the list; its key ``file`` is the utterance."""

    rows: RangeRows
    place: str
    utterance: str
    values: dict[str, Any]

    def problem(self, what: str) -> None:
        """Note what is wrong with it."""
        self.rows.problems.add(f"{self.place}: utterance {self.utterance!r}: {what}")

    def add(self, periods: Iterable[tuple[float, float]] | None, kind: str | None = None) -> None:
        """Note periods as spoof."""
        for start, end in periods or ():
            self.rows.add(self.place, self.utterance, start, end, "spoof", kind=kind)

    def seconds(self, value: object, what: str) -> float:
        """Read a JSON number of seconds; NaN (and a problem) if it is none."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.problem(f"{what} must be a number of seconds, not {_short(value)}")
            return math.nan
        return self.rows.seconds(f"{self.place}: utterance {self.utterance!r}", repr(value), what)

    def periods(self, key: str) -> list[tuple[float, float]] | None:
        """Read a list of [start, end]; None (and a problem) if it is no such list."""
        found = self.values.get(key)
        if not isinstance(found, list):
            self.problem(f"{key} must be a list of [start, end] in seconds, not {_short(found)}")
            return None
        result: list[tuple[float, float]] = []
        for i, period in enumerate(found):
            if not isinstance(period, list) or len(period) != 2:
                self.problem(f"{key}[{i}] must be [start, end] in seconds, not {_short(period)}")
                return None
            start, end = (self.seconds(value, f"{key}[{i}]") for value in period)
            result.append((start, end))
        return result


def _first_keys(head: bytes) -> set[str]:
    """Return the keys of the first object of a JSON list; none if the file does not begin with one."""
    # The head may end within a character, so that is ignored.
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "ignore")
    if (opening := re.match(r"\s*\[\s*", text)) is None:
        return set()
    try:
        first, _ = json.JSONDecoder().raw_decode(text, opening.end())
    except (ValueError, RecursionError):
        return set()
    return set(first) if isinstance(first, dict) else set()


def _entries_of_split(rows: RangeRows, sources: Sequence[Source], name: str, split: str | None) -> Iterator[Entry]:
    """Yield the entries of one split, or of all if none is asked for; a file may have only one of them."""
    splits: set[str] = set()
    for source in sources:
        for place, values in _objects(source, name):
            splits.add(str(values.get("split", "")))
            if split is not None and values.get("split") != split:
                continue
            utterance = values.get("file")
            if not _is_name(utterance):
                rows.problems.add(f"{place}: file must be a name, not {_short(utterance)}")
            elif rows.name_once(place, utterance):
                yield Entry(rows, place, utterance, values)
    if split is not None and split not in splits:
        raise UsageError(f"{sources[0].name}: no split {split!r}: {nearest_name(split, splits - {''})}")


def _objects(source: Source, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the content of each object of a JSON list."""
    try:
        text = source.document().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{source.name}: not UTF-8 text (byte {error.start}); convert it to UTF-8") from None
    if not text.strip():
        raise DataError(f"{source.name}: the file is empty")
    position = _skip(text, 0)
    if text[position] != "[":
        raise DataError(
            f"{source.name}: {name} is a JSON list of objects, this file begins with "
            f"{text[position : position + 20]!r}; give the whole metadata file"
        )
    if text.startswith("]", _skip(text, position + 1)):
        raise DataError(f"{source.name}: the list is empty; there is no reference in the file")
    decoder, index = json.JSONDecoder(), 0
    try:
        while text[position] != "]":  # but the bracket or the comma before an entry
            place = f"{source.name}[{index}]"
            entry, position = decoder.raw_decode(text, _skip(text, position + 1))
            if not isinstance(entry, dict):
                raise DataError(f"{place}: each entry of the list must be an object, not {_short(entry)}; correct it")
            yield place, entry
            index += 1
            position = _skip(text, position)
            if not text.startswith((",", "]"), position):
                raise json.JSONDecodeError("Expecting ',' delimiter", text, position)
        position = _skip(text, position + 1)
        if position < len(text):
            raise json.JSONDecodeError("Extra data", text, position)
    except DataError:
        raise
    except json.JSONDecodeError as error:
        raise DataError(
            f"{source.name}:{error.lineno}: entry [{index}] is no valid JSON (column {error.colno}: {error.msg}); "
            "the file is damaged or truncated, get it again"
        ) from None
    except (RecursionError, ValueError) as error:
        raise DataError(
            f"{source.name}[{index}]: cannot be read ({error}); the file is damaged, get it again"
        ) from None


def _skip(text: str, position: int) -> int:
    match = SPACE.match(text, position)
    return match.end() if match is not None else position


def _is_name(value: object) -> TypeGuard[str]:
    """Tell whether a JSON value is text that can be written again (JSON can hold halves of characters)."""
    return isinstance(value, str) and value != "" and not re.search("[\ud800-\udfff]", value)


def _short(value: object) -> str:
    """Describe a JSON value for a message."""
    if isinstance(value, (list, dict)):
        return ("a list" if isinstance(value, list) else "an object") + f" of {len(value)}"
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


# ---------------------------------------------------------------- LAV-DF


def read_lavdf(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read LAV-DF metadata; durations in the options take precedence over those in the file."""
    rows = RangeRows()
    durations: dict[str, float] = {}
    for entry in _entries_of_split(rows, sources, "LAV-DF metadata", options.split):
        durations[entry.utterance] = entry.seconds(entry.values.get("duration"), "duration")
        if durations[entry.utterance] <= 0:
            entry.problem(f"duration must be positive, not {entry.values['duration']}")
        if (found := entry.periods("fake_periods")) is None:
            continue
        count = entry.values.get("n_fakes", len(found))
        if isinstance(count, bool) or count != len(found):
            entry.problem(f"n_fakes is {_short(count)}, but there are {len(found)} fake_periods; correct one")
        modified = entry.values.get("modify_audio")
        if not isinstance(modified, bool):
            valid = "true (the audio is fake) or false (at most the picture is)"
            entry.problem(f"modify_audio must be {valid}, not {_short(modified)}")
        elif modified and not found:
            entry.problem("modify_audio is true, but there are no fake_periods; correct one")
        elif modified:
            entry.add(found)
    durations.update(options.durations or {})
    return rows.build(durations, options.snap, only_listed=True)


def write_lavdf(references: References) -> Iterator[bytes]:
    """Write a JSON list; times exactly. What the references do not know (original, split, frames) is left out."""
    name = "LAV-DF metadata"
    check_writable(references, name, labels=(SPOOF,))
    if references.durations is None:
        raise UsageError(f"{name} holds durations; give them with durations= (--durations)")
    durations = references.durations.tolist()
    yield from _json_list(
        f'{{"file": {_json_name(utterance, name)}, "n_fakes": {len(ranges)}, "fake_periods": {_json_periods(ranges)}, '
        f'"duration": {time_text(duration)}, "modify_audio": {json.dumps(bool(ranges))}}}'
        for (utterance, ranges), duration in zip(written_ranges(references), durations, strict=True)
    )


LAVDF = Format(
    "lavdf",
    "JSON list of {file, fake_periods, duration, modify_audio, ...}: LAV-DF (periods count if the audio is modified)",
    read_lavdf,
    lambda head: {"file", "fake_periods"} <= _first_keys(head),
    write_lavdf,
    (".json",),
    takes=("split",),
)


# ---------------------------------------------------------------- AV-Deepfake1M


def read_avdeepfake1m(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read AV-Deepfake1M metadata."""
    if options.durations is None:
        raise UsageError(
            f"{sources[0].name}: AV-Deepfake1M metadata has no durations (audio_frames has no rate, video_frames is "
            "the picture's); give those of the audio with durations= (--durations)"
        )
    rows = RangeRows()
    for entry in _entries_of_split(rows, sources, "AV-Deepfake1M metadata", options.split):
        model = entry.values.get("audio_model")
        if model is not None and not _is_name(model):
            entry.problem(f"audio_model must be a name or null, not {_short(model)}")
        else:
            entry.add(entry.periods("audio_fake_segments"), model)
    return rows.build(options.durations, options.snap, only_listed=True)


def write_avdeepfake1m(references: References) -> Iterator[bytes]:
    """Write a JSON list, without durations (a reader has to be given them); times exactly."""
    name = "AV-Deepfake1M metadata"
    check_writable(references, name, labels=(SPOOF,), kinds=True)
    models: list[str | None] = []
    for utterance, ranges in written_ranges(references):
        kinds = {one.kind for one in ranges}
        if len(kinds) > 1 or "" in kinds:
            raise UsageError(f"{name} holds one kind per utterance; {utterance!r} has several; write another format")
        models.append(kinds.pop() if kinds else None)
    yield from _json_list(
        f'{{"file": {_json_name(utterance, name)}, '
        f'"audio_model": {"null" if model is None else _json_name(model, name)}, '
        f'"audio_fake_segments": {_json_periods(ranges)}}}'
        for (utterance, ranges), model in zip(written_ranges(references), models, strict=True)
    )


AVDEEPFAKE1M = Format(
    "avdeepfake1m",
    "JSON list of {file, audio_model, audio_fake_segments, ...}: AV-Deepfake1M (needs durations)",
    read_avdeepfake1m,
    lambda head: {"file", "audio_fake_segments"} <= _first_keys(head),
    write_avdeepfake1m,
    (".json",),
    ("durations",),
    ("split",),
)


# ---------------------------------------------------------------- JSON


def _json_name(text: str, name: str) -> str:
    """Write an id as JSON."""
    check_utf8(text, name)
    return json.dumps(text, ensure_ascii=False)


def _json_periods(ranges: list[WrittenRange]) -> str:
    """Write ranges as JSON, times in seconds."""
    return "[" + ", ".join(f"[{time_text(one.start)}, {time_text(one.end)}]" for one in ranges) + "]"


def _json_list(objects: Iterator[str]) -> Iterator[bytes]:
    """Write objects as a list, a line each."""
    between = "[\n"
    for one in objects:
        yield f"{between}{one}".encode()
        between = ",\n"
    yield b"\n]\n"
