"""AV-Deepfake1M metadata: a JSON list of ``{file, audio_model, audio_fake_segments: [[s, e]], ...}``, in seconds.

``audio_fake_segments`` are what counts for the audio (``fake_segments`` has the picture's as well), of the kind
``audio_model``. Only spoofs are listed: a bona fide file is in the references without ranges. The utterance is its
``file``. All splits of the metadata are read, or the one that ``split`` names.

Durations must be given. ``audio_frames`` counts samples, but nothing states their rate. The official loader takes
``video_frames / 25`` s, which is how long the picture lasts, not the audio.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spoofspan.base.errors import UsageError
from spoofspan.data.references import SPOOF, References
from spoofspan.formats.datasets.json_entries import (
    entries_of_split,
    first_keys,
    is_name,
    json_list,
    json_name,
    json_periods,
    short,
)
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.text.rows import RangeRows, check_writable, written_ranges


def recognises(head: bytes) -> bool:
    """Whether the first object of a JSON list has the keys file and audio_fake_segments."""
    return {"file", "audio_fake_segments"} <= first_keys(head)


def read(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read AV-Deepfake1M metadata."""
    if options.durations is None:
        raise UsageError(
            f"{sources[0].name}: AV-Deepfake1M metadata has no durations (audio_frames has no rate, video_frames is "
            "the picture's); give those of the audio with durations= (--durations)"
        )
    rows = RangeRows()
    for entry in entries_of_split(rows, sources, "AV-Deepfake1M metadata", options.split):
        model = entry.values.get("audio_model")
        if model is not None and not is_name(model):
            entry.problem(f"audio_model must be a name or null, not {short(model)}")
        else:
            entry.add(entry.periods("audio_fake_segments"), model)
    return rows.build(options.durations, options.snap, only_listed=True)


def write(references: References) -> Iterator[bytes]:
    """Write a JSON list, without durations (a reader has to be given them); times exactly."""
    name = "AV-Deepfake1M metadata"
    check_writable(references, name, labels=(SPOOF,), kinds=True)
    models: list[str | None] = []
    for utterance, ranges in written_ranges(references):
        kinds = {one.kind for one in ranges}
        if len(kinds) > 1 or "" in kinds:
            raise UsageError(f"{name} holds one kind per utterance; {utterance!r} has several; write another format")
        models.append(kinds.pop() if kinds else None)
    yield from json_list(
        f'{{"file": {json_name(utterance, name)}, '
        f'"audio_model": {"null" if model is None else json_name(model, name)}, '
        f'"audio_fake_segments": {json_periods(ranges)}}}'
        for (utterance, ranges), model in zip(written_ranges(references), models, strict=True)
    )


FORMAT = Format(
    "avdeepfake1m",
    "JSON list of {file, audio_model, audio_fake_segments, ...}: AV-Deepfake1M (needs durations)",
    read,
    recognises,
    write,
    (".json",),
    ("durations",),
    ("split",),
)
