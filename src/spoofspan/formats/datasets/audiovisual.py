"""Metadata of LAV-DF and AV-Deepfake1M: a JSON list with an object per file, each with its fake periods in seconds.

============  =================================================================================================
format        object
============  =================================================================================================
lavdf         ``{file, n_fakes, fake_periods: [[s, e]], duration, modify_audio, modify_video, ...}``
avdeepfake1m  ``{file, audio_model, fake_segments: [[s, e]], audio_fake_segments, visual_fake_segments, ...}``
============  =================================================================================================

Only spoofs are listed: a bona fide file is in the references without ranges. The utterance is its ``file``. All splits
of the metadata are read, or the one that ``split`` names. An entry is checked key by key, and every problem keeps its
place.

Files are audio-visual. The rule ``modality`` says whose fakes are spoof: those of sound or picture (``any``, the
default, as both benchmarks rank), of the sound alone (``audio``: a fake picture with its true sound is bona fide), or
of the picture alone (``visual``).

LAV-DF: ``fake_periods`` holds for whatever was modified, which ``modify_audio`` and ``modify_video`` say. ``subset``
leaves out files as its protocols do. ``duration`` is reported to be ``audio_frames / 16000 + 0.128``, about 0.1 s
longer than the audio stream itself: scores of the audio then end early, which the rule ``uncovered`` decides.
Durations given by the user take precedence; where no file has one, there are none.

AV-Deepfake1M: three lists of segments, one for each modality; ``audio_model`` is the attack. There are no durations in
it: ``audio_frames`` counts samples, but nothing states their rate, and the official loader takes ``video_frames / 25``
s, which is how long the picture lasts, not the audio. Event measures need none; for others they must be given.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.base.times import SECOND
from spoofspan.data.references import SPOOF, References
from spoofspan.data.rules import Modality
from spoofspan.formats.format import OF_METADATA, Format, ReadOptions
from spoofspan.formats.recognition import Begins, first_object
from spoofspan.formats.sources import Source
from spoofspan.formats.text.json_text import json_document, json_list, json_periods
from spoofspan.formats.text.rows import RangeRows, check_writable, is_unicode, written_ranges

RANKED: Modality = "any"  # both benchmarks rank by fakes of sound or picture
SEGMENTS = {"any": "fake_segments", "audio": "audio_fake_segments", "visual": "visual_fake_segments"}
MODIFIED = {"audio": "modify_audio", "visual": "modify_video"}
KEYS = {"file", "split", "n_fakes", "fake_periods", "duration", "audio_model", *SEGMENTS.values(), *MODIFIED.values()}


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

    def add(self, periods: Iterable[tuple[float, float]] | None, attack: str | None = None) -> None:
        """Note periods as spoof."""
        for start, end in periods or ():
            self.rows.add(self.place, self.utterance, start, end, "spoof", attack=attack)

    def flags(self, keys: Iterable[str], periods: list[tuple[float, float]]) -> bool:
        """True if some keys are all true or false, and none is true without periods; else a problem."""
        for key in keys:
            value = self.values.get(key)
            if not isinstance(value, bool):
                self.problem(f"{key} must be true (it is fake) or false, not {_short(value)}")
                return False
            if value and not periods:
                self.problem(f"{key} is true, but there are no fake_periods; correct one")
                return False
        return True

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


def _entries_of_split(
    rows: RangeRows,
    sources: Sequence[Source],
    name: str,
    split: str | None,
    left_out: Callable[[dict[str, Any]], bool] = lambda values: False,
) -> Iterator[Entry]:
    """Yield the entries of one split, or of all if none is asked for; a file may have only one of them."""
    splits: set[str] = set()
    for source in sources:
        for place, values in _objects(source, name):
            splits.add(str(values.get("split", "")))
            if left_out(values) or (split is not None and values.get("split") != split):
                continue
            utterance = values.get("file")
            if not _is_name(utterance):
                rows.problems.add(f"{place}: file must be a name, not {_short(utterance)}")
            elif rows.name_once(place, utterance):
                yield Entry(rows, place, utterance, values)
    if split is not None and split not in splits:
        raise UsageError(f"{sources[0].name}: no split {split!r}: {nearest_name(split, splits - {''})}")


def _objects(source: Source, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and what is needed of each object of a JSON list."""
    listed = json_document(source, f"{name}, a JSON list of objects", _needed, parse_int=None)
    if not isinstance(listed, list) or not listed:
        raise DataError(
            f"{source.name}: {name} is a JSON list of objects, this is {_short(listed)}; give the whole file"
        )
    for index, entry in enumerate(listed):
        place = f"{source.name}[{index}]"
        if not isinstance(entry, dict):
            raise DataError(f"{place}: each entry of the list must be an object, not {_short(entry)}; correct it")
        yield place, entry


def _needed(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; an entry without its transcript and the like, which take far more memory than the rest."""
    found = dict(pairs)
    return {key: found[key] for key in KEYS & found.keys()} if "file" in found else found


def _is_name(value: object) -> TypeGuard[str]:
    """Tell whether a JSON value is text that can be written again (JSON can hold halves of characters)."""
    return isinstance(value, str) and value != "" and is_unicode(value)


def _short(value: object) -> str:
    """Describe a JSON value for a message."""
    if isinstance(value, (list, dict)):
        return ("a list" if isinstance(value, list) else "an object") + f" of {len(value)}"
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


# ---------------------------------------------------------------- LAV-DF


# Protocols, as the benchmark calls them and shorter, and the modality whose files they leave out if only that is fake.
SUBSETS = {
    "full": None,
    **dict.fromkeys(("subset_for_visual_only", "visual"), "audio"),
    **dict.fromkeys(("subset_for_audio_only", "audio"), "visual"),
}


def read_lavdf(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read LAV-DF metadata; durations in the options take precedence over those in the file."""
    rows = RangeRows()
    modality, left_out = options.modality or RANKED, _left_out(options.subset)
    needed = {MODIFIED[one] for one in MODIFIED if left_out is not None or modality == one}
    durations: dict[str, float] = {}
    for entry in _entries_of_split(rows, sources, "LAV-DF metadata", options.split, _only_fake(left_out)):
        if "duration" in entry.values:
            durations[entry.utterance] = entry.seconds(entry.values["duration"], "duration")
            if durations[entry.utterance] <= 0:
                entry.problem(f"duration must be positive, not {entry.values['duration']}")
        if (found := entry.periods("fake_periods")) is None:
            continue
        count = entry.values.get("n_fakes", len(found))
        if isinstance(count, bool) or count != len(found):
            entry.problem(f"n_fakes is {_short(count)}, but there are {len(found)} fake_periods; correct one")
        stated = [key for key in MODIFIED.values() if key in needed or key in entry.values]
        if entry.flags(stated, found) and (modality == "any" or entry.values[MODIFIED[modality]]):
            entry.add(found)
    durations.update(options.durations or {})
    built = rows.build(durations or None, options.snap, only_listed=True)
    return replace(built, modality=modality)


def _left_out(subset: str | None) -> str | None:
    """The modality whose files a protocol of LAV-DF leaves out if only that is fake."""
    if subset is None:
        return None
    if subset not in SUBSETS:
        raise UsageError(f"subset={subset!r} of LAV-DF: {nearest_name(subset, SUBSETS)}")
    return SUBSETS[subset]


def _only_fake(modality: str | None) -> Callable[[dict[str, Any]], bool]:
    """True if nothing but this modality of an object is fake; never without a modality."""
    if modality is None:
        return lambda values: False
    other = next(one for one in MODIFIED if one != modality)
    return lambda values: values.get(MODIFIED[modality]) is True and values.get(MODIFIED[other]) is False


def write_lavdf(references: References) -> Iterator[bytes]:
    """Write a JSON list; times exactly. What the references do not know (original, split, frames) is left out."""
    name = "LAV-DF metadata"
    check_writable(references, name, labels=(SPOOF,))
    if references.durations is None:
        raise UsageError(f"{name} holds durations; give them with durations=")
    audio = references.modality != "visual"
    return json_list(
        (
            {
                "file": utterance,
                "n_fakes": len(ranges),
                "fake_periods": json_periods(ranges),
                "duration": duration / SECOND,
                "modify_audio": bool(ranges) and audio,
                "modify_video": bool(ranges) and not audio,
            }
            for (utterance, ranges), duration in zip(
                written_ranges(references), references.durations.tolist(), strict=True
            )
        ),
        name,
    )


LAVDF = Format(
    "lavdf",
    "JSON list of {file, fake_periods, duration, modify_audio, modify_video, ...}: LAV-DF (modality, subset)",
    read_lavdf,
    Begins(r"\[", lambda head: {"file", "fake_periods"} <= first_object(head).keys()),
    write_lavdf,
    suffixes=(".json",),
    takes=OF_METADATA,
)


# ---------------------------------------------------------------- AV-Deepfake1M


def read_avdeepfake1m(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read AV-Deepfake1M metadata."""
    rows, modality = RangeRows(), options.modality or RANKED
    for entry in _entries_of_split(rows, sources, "AV-Deepfake1M metadata", options.split):
        model = entry.values.get("audio_model")
        if model is not None and not _is_name(model):
            entry.problem(f"audio_model must be a name or null, not {_short(model)}")
        else:
            entry.add(entry.periods(SEGMENTS[modality]), None if modality == "visual" else model)
    return replace(rows.build(options.durations, options.snap, only_listed=True), modality=modality)


def write_avdeepfake1m(references: References) -> Iterator[bytes]:
    """Write a JSON list, without durations (a reader has to be given them); times exactly."""
    name = "AV-Deepfake1M metadata"
    check_writable(references, name, labels=(SPOOF,), attacks=True)
    models: list[str | None] = []
    for utterance, ranges in written_ranges(references):
        attacks = {one.attack for one in ranges}
        if len(attacks) > 1 or "" in attacks:
            raise UsageError(f"{name} holds one attack per utterance; {utterance!r} has several; write another format")
        models.append(attacks.pop() if attacks else None)
    # what was read of no audio-visual data is of sound
    keys = dict.fromkeys((SEGMENTS["any"], SEGMENTS[references.modality or "audio"]))
    return json_list(
        (
            {"file": utterance, "audio_model": model, **dict.fromkeys(keys, json_periods(ranges))}
            for (utterance, ranges), model in zip(written_ranges(references), models, strict=True)
        ),
        name,
    )


AVDEEPFAKE1M = Format(
    "avdeepfake1m",
    "JSON list of {file, audio_model, fake_segments, audio_fake_segments, visual_fake_segments, ...}: AV-Deepfake1M",
    read_avdeepfake1m,
    Begins(
        r"\[", lambda head: "file" in (keys := first_object(head).keys()) and not keys.isdisjoint(SEGMENTS.values())
    ),
    write_avdeepfake1m,
    suffixes=(".json",),
    takes=("split", "modality"),
)
