"""Labels in time as annotation tools, toolkits and language models write them.

Each form yields the annotation of one utterance after the other; :func:`_read` checks them and makes references. What
is listed keeps its label: a word for a class, an attack, or 0 and 1 whose meaning must be stated. A range without a
label is spoofed. Where every utterance states its duration, that is taken; durations given by the user come first.

==============  ======================================================================================================
format          content
==============  ======================================================================================================
range-lines     ``<utt> <start s> <end s> <label>`` without a header
kaldi-segments  ``segments``: ``<segment> <utt> <start s> <end s>``, with ``utt2label``: ``<segment> <label>`` beside it
lhotse          JSON Lines of supervisions or cuts; the label is in ``custom`` or is the ``text``
nemo            JSON Lines ``{audio_filepath, offset, duration, label}``
label-studio    JSON, exported in full or as JSON_MIN
activitynet     JSON ``{database: {utt: {duration, subset, annotations: [{segment, label}]}}}``
json-ranges     JSON ``{file: [[start, end], ...]}``, spoofed ranges without confidences
json-segments   JSON ``{utt: {duration, segments: [[start, end, label], ...]}}``, or objects with start, end and label
language-model  ``{"real_or_fake": "fake", "fake_region": [[1.26, 1.64]]}`` for each utterance, also as text in JSON
elan            an ``.eaf`` file per utterance; the tiers whose annotations are labels count
==============  ======================================================================================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath
from typing import Any

from spoofspan.base.documents import parse_json
from spoofspan.base.errors import DataError, UsageError
from spoofspan.data.references import SPOOF, References
from spoofspan.formats.column_names import UTTERANCE, column_names
from spoofspan.formats.file_names import unpacked_name
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.recognition import (
    Begins,
    Lines,
    Recognises,
    anything,
    at_separators,
    first_object,
    is_name,
)
from spoofspan.formats.sources import Source, sources
from spoofspan.formats.text.hypotheses import decisions_format
from spoofspan.formats.text.json_text import (
    PAIRS,
    json_document,
    json_object,
    json_objects,
    json_pairs,
    json_periods,
    lists_ranges,
)
from spoofspan.formats.text.lines import is_finite, lines_of
from spoofspan.formats.text.rows import RangeRows, check_writable, label_and_attack, written_ranges

LABELS_BESIDE = "utt2label"  # of Kaldi's segments
WHOLE = "all"  # of a file, where a language model lists regions
RANGES_SHAPE = "{file: [[start, end], ...]}"
UPLOADED = re.compile(r"^[0-9a-f]{8}-")  # what Label Studio puts before the name of an uploaded file


@dataclass(frozen=True)
class Range:
    """A labelled range, as it is written; without an end it is the whole utterance."""

    place: str
    start: Any
    end: Any
    label: Any = "spoof"


@dataclass(frozen=True)
class Annotation:
    """Entry of one utterance in a file."""

    utterance: str
    ranges: Iterable[Range] = ()
    duration: Any = None
    once: bool = True  # nothing else may be said of the utterance later


Annotations = Callable[[Source, ReadOptions], Iterator[Annotation]]


def _note(rows: RangeRows, found: Sequence[Source], options: ReadOptions, annotations: Annotations) -> dict[str, float]:
    """Note all ranges; return the durations, if all utterances have one."""
    durations: dict[str, float] = {}
    names: set[str] = set()
    for source in found:
        if not source.head.strip():
            rows.problems.add(f"{source.name}: the file is empty")
            continue
        for one in annotations(source, options):
            if one.once and not rows.name_once(source.name, one.utterance):
                continue
            rows.name(one.utterance)
            names.add(one.utterance)
            if one.duration is not None:
                durations[one.utterance] = rows.seconds(_place(source.name, one), str(one.duration), "duration")
            for each in one.ranges:
                _note_range(rows, source, one, each, options)
    return durations if names and names <= durations.keys() else {}


def _note_range(rows: RangeRows, source: Source, one: Annotation, each: Range, options: ReadOptions) -> None:
    where = _place(each.place, one)
    start, end = each.start, each.end
    if end is None:
        known = options.durations or {}
        start, end = 0, one.duration if one.duration is not None else known.get(one.utterance)
        if end is None:
            rows.problems.add(f"{where}: all of it is spoofed, and its duration is not known")
            rows.remedy = "give durations="
            return
    label = str(each.label)
    if label in ("0", "1", "0.0", "1.0"):
        label = options.words_of_digits(source.name)[label[0]]
    rows.add(where, one.utterance, rows.seconds(where, str(start)), rows.seconds(where, str(end)), label)


def _place(place: str, one: Annotation) -> str:
    return place if "utterance" in place else f"{place}: utterance {one.utterance!r}"


def _read(annotations: Annotations, found: Sequence[Source], options: ReadOptions) -> References:
    rows = RangeRows()
    durations = _note(rows, found, options, annotations) | dict(options.durations or {})
    return rows.build(durations or None, options.snap)


def _stem(path: Any) -> str:
    """The name of a recording: its file without folder and ending."""
    return PurePath(str(path).replace("\\", "/")).stem


def _is_label(value: Any) -> bool:
    if isinstance(value, str):
        return value in ("0", "1") or label_and_attack(value)[0] is not None
    return isinstance(value, (int, float)) and value in (0, 1)


# ---------------------------------------------------------------- lines


def _are_ranges(rows: Sequence[list[str]]) -> bool:
    """True if the first line fits too, and these are no frames, whose numbers are whole."""
    frames = all(len(row) == 4 and row[1].isdecimal() and row[3] in ("0", "1") for row in rows)
    return not frames and RANGE_LINES.fits(rows[0])


RANGE_LINES = Lines((is_name, is_finite, is_finite, _is_label), at_separators, most=True, rows=_are_ranges)
SEGMENTS = Lines((anything, is_name, is_finite, is_finite), most=True)


def _range_lines(source: Source, options: ReadOptions) -> Iterator[Annotation]:
    for line in lines_of([source]):
        fields = at_separators(line.text)
        if len(fields) != 4:
            raise DataError(f"{line.place}: {len(fields)} fields instead of <utt> <start> <end> <label>{line.hint}")
        utterance, start, end, label = fields
        yield Annotation(utterance, [Range(line.place, start, end, label)], once=False)


def _segments(source: Source, options: ReadOptions) -> Iterator[Annotation]:
    name = unpacked_name(PurePath(source.name).name)
    if LABELS_BESIDE in name:
        return
    beside = None if source.path is None else source.path.with_name(name.replace("segments", LABELS_BESIDE))
    if beside is None or not beside.is_file():
        raise UsageError(
            f"{source.name}: Kaldi's segments have no labels; put a file utt2label with lines '<segment> <label>' into "
            "the same folder"
        )
    labels = {line.fields[0]: line.fields[-1] for line in lines_of(sources(beside))}
    for line in lines_of([source]):
        if len(line.fields) != 4:
            raise DataError(f"{line.place}: {len(line.fields)} fields instead of <segment> <utt> <start> <end>")
        segment, utterance, start, end = line.fields
        if segment not in labels:
            raise DataError(f"{line.place}: segment {segment!r} has no label in {beside}; complete that file")
        yield Annotation(utterance, [Range(line.place, start, end, labels[segment])], once=False)


# ---------------------------------------------------------------- JSON


def _entry(place: str, value: Any, *keys: str) -> dict[str, Any]:
    """An object with these keys; anything else is refused."""
    missing = [key for key in keys if key not in value] if isinstance(value, dict) else list(keys)
    if not isinstance(value, dict) or missing:
        raise DataError(f"{place}: an object with {', '.join(keys)} was expected; {', '.join(missing)} is missing")
    return value


def _lhotse(source: Source, options: ReadOptions) -> Iterator[Annotation]:
    for place, value in json_objects(source, "objects, one a line or in one list"):
        if "supervisions" in _entry(place, value, "id", "start", "duration"):
            # times of supervisions count from the start of their cut
            whole = _entry(place, value.get("recording") or {"id": value["id"]}, "id")
            is_whole = value["start"] == 0 and value["duration"] == whole.get("duration")
            utterance = whole["id"] if is_whole else value["id"]
            ranges = [_supervision(place, one) for one in value["supervisions"]]
            yield Annotation(str(utterance), ranges, value["duration"])
        else:
            utterance = value.get("recording_id", value["id"])
            yield Annotation(str(utterance), [_supervision(place, value)], once=False)


def _supervision(place: str, value: Any) -> Range:
    one = _entry(place, value, "start", "duration")
    custom = one.get("custom") or {}
    said = [word for word in [*custom.values(), one.get("text")] if _is_label(word)] if isinstance(custom, dict) else []
    if len({str(word) for word in said}) != 1:
        raise DataError(
            f"{place}: the label of a supervision must be one value of 'custom', or its 'text': bonafide, spoof, an "
            f"attack such as A07, 0 or 1; found {', '.join(map(repr, said)) or 'none'}"
        )
    return Range(place, one["start"], _sum(one["start"], one["duration"]), said[0])


def _sum(start: Any, duration: Any) -> float:
    """The end of a range; NaN, which is refused, if a time is no number."""
    both = isinstance(start, (int, float)) and isinstance(duration, (int, float))
    return round(start + duration, 9) if both else math.nan


def _nemo(source: Source, options: ReadOptions) -> Iterator[Annotation]:
    for place, value in json_objects(source, "objects, one a line or in one list"):
        one = _entry(place, value, "audio_filepath", "duration", "label")
        start = one.get("offset") or 0
        ranges = [Range(place, start, _sum(start, one["duration"]), one["label"])]
        yield Annotation(_stem(one["audio_filepath"]), ranges, once=False)


def _label_studio(source: Source, options: ReadOptions) -> Iterator[Annotation]:
    for place, task in json_objects(source, "objects, one a line or in one list"):
        data = task.get("data", task) if isinstance(task, dict) else {}
        audio = next((data[key] for key in ("audio", "sound", "file", "url") if isinstance(data.get(key), str)), None)
        if audio is None:
            raise DataError(f"{place}: a task of Label Studio names its recording as 'audio'; this one does not")
        found = [one for each in task.get("annotations", ()) for one in each.get("result", ())]
        values = [one.get("value", {}) for one in found if one.get("type", "labels") == "labels"]
        values += [one for key in ("label", "labels") if isinstance(task.get(key), list) for one in task[key]]
        lengths = {one["original_length"] for one in found if "original_length" in one}
        ranges = [
            Range(place, one.get("start"), one.get("end", math.nan), label)
            for one in values
            for label in one.get("labels", ())
        ]
        yield Annotation(UPLOADED.sub("", _stem(audio)), ranges, lengths.pop() if len(lengths) == 1 else None)


def _activitynet(source: Source, options: ReadOptions) -> Iterator[Annotation]:
    splits = set()
    for utterance, value in _entry(source.name, json_document(source, "one object"), "database")["database"].items():
        place = f"{source.name}: utterance {utterance!r}"
        one = _entry(place, value, "annotations")
        splits.add(str(one.get("subset")))
        if options.split is not None and one.get("subset") != options.split:
            continue
        ranges = []
        for each in one["annotations"]:
            start, end = _pair(place, _entry(place, each, "segment")["segment"])
            ranges.append(Range(place, start, end, each.get("label", "spoof")))
        yield Annotation(utterance, ranges, one.get("duration"))
    if options.split is not None and options.split not in splits:
        raise UsageError(f"{source.name}: no split {options.split!r}; it has {', '.join(sorted(splits))}")


def _pair(place: str, value: Any) -> tuple[Any, Any]:
    if not isinstance(value, list) or len(value) != 2:
        raise DataError(f"{place}: [start, end] in seconds was expected, not {str(value)[:60]!r}")
    return value[0], value[1]


def _json_ranges(source: Source, options: ReadOptions) -> Iterator[Annotation]:
    for utterance, listed in json_pairs(source, RANGES_SHAPE):
        place = f"{source.name}: utterance {utterance!r}"
        if not isinstance(listed, list):
            raise DataError(f"{place}: not a list of [start, end] in seconds")
        yield Annotation(utterance, [Range(place, *_pair(place, one)) for one in listed])


# what language models write looks alike
LISTS_RANGES = replace(PAIRS, also=lambda head: lists_ranges(head) and b"real_or_fake" not in head)


def write_ranges(references: References) -> Iterator[bytes]:
    """Write JSON, an utterance a line; durations are left out."""
    name = "JSON of ranges"
    check_writable(references, name, labels=(SPOOF,))
    return json_object(((utt, json_periods(ranges)) for utt, ranges in written_ranges(references)), name)


def _json_segments(source: Source, options: ReadOptions) -> Iterator[Annotation]:
    for utterance, value in json_document(source, "one object").items():
        place = f"{source.name}: utterance {utterance!r}"
        one = _entry(place, value, "segments")
        yield Annotation(utterance, [_segment(place, each) for each in one["segments"]], one.get("duration"))


def _segment(place: str, value: Any) -> Range:
    if isinstance(value, list) and len(value) == 3:
        return Range(place, *value)
    if isinstance(value, list):
        return Range(place, *_pair(place, value))
    one = _entry(place, value, "start", "end")
    return Range(place, one["start"], one["end"], one.get("label", "spoof"))


# ---------------------------------------------------------------- language models


def _language_model(source: Source, options: ReadOptions) -> Iterator[Annotation]:
    for place, utterance, answer in _answers(source):
        said = _answer(place, answer)
        fake = str(said["real_or_fake"]).strip().lower() in ("fake", "spoof", "spoofed")
        region = said.get("fake_region") or []
        if not fake:
            yield Annotation(utterance)
        elif region == WHOLE or region == [WHOLE]:
            yield Annotation(utterance, [Range(place, 0, None)])
        else:
            yield Annotation(utterance, [Range(place, *_pair(place, one)) for one in region])


def _answers(source: Source) -> Iterator[tuple[str, str, Any]]:
    """The place, the utterance and the answer of each: rows that have both, or an object by utterance."""
    first = first_object(source.head)
    if not first or all(_has_answer(value) for value in first.values()):
        for utterance, answer in json_document(source, "one object").items():
            yield f"{source.name}: utterance {utterance!r}", utterance, answer
        return
    for place, value in json_objects(source, "objects, one a line or in one list"):
        row = _entry(place, value)
        names = column_names(list(row))
        if UTTERANCE not in names:
            raise DataError(f"{place}: which utterance is this? An id is called utt_id, id, file, path, ...")
        utterance = str(list(row.values())[names.index(UTTERANCE)])
        answers = [one for one in row.values() if _has_answer(one)]
        yield place, utterance, row if "real_or_fake" in row else answers[0] if len(answers) == 1 else None


def _has_answer(value: Any) -> bool:
    return "real_or_fake" in value if isinstance(value, (str, dict)) else False


def _answer(place: str, value: Any) -> dict[str, Any]:
    """An answer as an object; of text, the part in braces."""
    if isinstance(value, str) and (match := re.search(r"\{.*\}", value, re.DOTALL)) is not None:
        try:
            value = parse_json(match[0], parse_int=float)
        except ValueError as error:
            raise DataError(f"{place}: the answer is no JSON ({error}); correct or leave out this utterance") from None
    return _entry(place, value, "real_or_fake")


# ---------------------------------------------------------------- ELAN


def _elan(source: Source, options: ReadOptions) -> Iterator[Annotation]:
    from xml.etree import ElementTree  # only here: it is slow to load

    data = source.document()
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise DataError(f"{source.name}: an ELAN file has no DOCTYPE and no entities; export it again")
    try:
        root = ElementTree.fromstring(data)  # noqa: S314 - no entities, see above
    except ElementTree.ParseError as error:
        raise DataError(f"{source.name}: not XML ({error}); the file is truncated or damaged") from None
    times = {one.get("TIME_SLOT_ID"): one.get("TIME_VALUE") for one in root.iter("TIME_SLOT")}
    ranges, others = [], set()
    for tier in root.iter("TIER"):
        found = [
            (one.get("TIME_SLOT_REF1"), one.get("TIME_SLOT_REF2"), (one.findtext("ANNOTATION_VALUE") or "").strip())
            for one in tier.iter("ALIGNABLE_ANNOTATION")
        ]
        if not all(_is_label(label) for *_, label in found):
            others.add(str(tier.get("TIER_ID")))
            continue
        place = f"{source.name}, tier {tier.get('TIER_ID')!r}"
        ranges += [Range(place, _milliseconds(times.get(a)), _milliseconds(times.get(b)), c) for a, b, c in found]
    if not ranges and others:
        raise DataError(
            f"{source.name}: no tier has labels alone (bonafide, spoof, nonspeech, or an attack such as A07); it has "
            f"{', '.join(sorted(others))}"
        )
    yield Annotation(_stem(unpacked_name(source.name)), ranges)


def _milliseconds(text: str | None) -> float:
    """Seconds; NaN, which is refused, if a time slot has no value."""
    return float(text) / 1000 if text is not None and is_finite(text) else math.nan


# ---------------------------------------------------------------- formats


def _format(
    name: str,
    about: str,
    annotations: Annotations,
    recognises: Recognises,
    suffixes: tuple[str, ...] = (".json",),
    takes: tuple[str, ...] = ("spoof_label",),
) -> Format[References]:
    return Format(name, about, partial(_read, annotations), recognises, suffixes=suffixes, takes=takes)


def _is_lhotse(head: bytes) -> bool:
    first = first_object(head)
    times = {"id", "start", "duration"} <= first.keys()
    return times and ("supervisions" in first or "recording_id" in first)


def _is_label_studio(head: bytes) -> bool:
    first = first_object(head)
    of_task = isinstance(first.get("data"), dict) and "annotations" in first
    return of_task or ("audio" in first and isinstance(first.get("label"), list))


LANGUAGE_MODEL = Begins(r"[{\[]", lambda head: b"real_or_fake" in head)


FORMATS = (
    _format("range-lines", "<utt> <start s> <end s> <label> without a header", _range_lines, RANGE_LINES, (".txt",)),
    _format(
        "kaldi-segments",
        "<segment> <utt> <start s> <end s>, with utt2label (<segment> <label>) beside it: Kaldi",
        _segments,
        SEGMENTS,
        ("segments",),
    ),
    _format(
        "lhotse",
        "JSON Lines of supervisions or cuts, the label in custom or text: lhotse",
        _lhotse,
        Begins(r"[{\[]", _is_lhotse),
        (".jsonl",),
    ),
    _format(
        "nemo",
        "JSON Lines {audio_filepath, offset, duration, label}: NeMo manifests",
        _nemo,
        Begins(r"[{\[]", lambda head: {"audio_filepath", "duration", "label"} <= first_object(head).keys()),
        (".json", ".jsonl"),
    ),
    _format(
        "label-studio",
        "JSON or JSON_MIN exported from Label Studio",
        _label_studio,
        Begins(r"[{\[]", _is_label_studio),
    ),
    _format(
        "activitynet",
        "JSON {database: {utt: {duration, subset, annotations: [{segment, label}]}}}: ActivityNet",
        _activitynet,
        Begins(r"\{", lambda head: b'"database"' in head and b'"annotations"' in head),
        takes=("spoof_label", "split"),
    ),
    _format(
        "json-segments",
        "JSON {utt: {duration, segments: [[start, end, label], ...]}}; without labels, spoofed ranges",
        _json_segments,
        Begins(r'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{[^{}]*"segments"\s*:'),
    ),
    _format(
        "language-model",
        'JSON or JSON Lines with {"real_or_fake": "fake", "fake_region": [[start, end]]} for each utterance, also as '
        "text: speech language models",
        _language_model,
        LANGUAGE_MODEL,
        (".json", ".jsonl"),
    ),
    _format(
        "elan",
        "an .eaf file per utterance, tiers of labels: ELAN",
        _elan,
        Begins("<", lambda head: b"<ANNOTATION_DOCUMENT" in head[:4096]),
        (".eaf",),
    ),
)


JSON_RANGES = replace(
    _format("json-ranges", f"JSON {RANGES_SHAPE}, seconds, of spoofed ranges", _json_ranges, LISTS_RANGES, takes=()),
    write=write_ranges,
)


def _note_decisions(annotations: Annotations, rows: RangeRows, found: Sequence[Source]) -> None:
    _note(rows, found, ReadOptions(durations=getattr(rows, "durations", None)), annotations)


# Decisions are not written so: it would be lost that the rest was called bona fide.
HYPOTHESES = (
    decisions_format(
        "hypothesis-json",
        f"JSON {RANGES_SHAPE}, seconds, of ranges called spoof",
        partial(_note_decisions, _json_ranges),
        LISTS_RANGES,
        None,
        (".json",),
    ),
    decisions_format(
        "hypothesis-language-model",
        "the answers of a speech language model as decisions: {real_or_fake, fake_region}",
        partial(_note_decisions, _language_model),
        LANGUAGE_MODEL,
        None,
        (".json", ".jsonl"),
    ),
)
