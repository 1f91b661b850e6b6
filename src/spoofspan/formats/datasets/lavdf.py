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
from collections.abc import Iterator, Sequence

from spoofspan.base.errors import UsageError
from spoofspan.data.references import SPOOF, References
from spoofspan.formats.datasets.json_entries import (
    Entry,
    entries_of_split,
    first_keys,
    json_list,
    json_name,
    json_periods,
    short,
)
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.text.rows import RangeRows, check_writable, time_text, written_ranges


def recognises(head: bytes) -> bool:
    """Whether the first object of a JSON list has the keys file and fake_periods."""
    return {"file", "fake_periods"} <= first_keys(head)


def read(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read LAV-DF metadata; durations in the options take precedence over those in the file."""
    rows = RangeRows()
    durations: dict[str, float] = {}
    for entry in entries_of_split(rows, sources, "LAV-DF metadata", options.split):
        durations[entry.utterance] = entry.seconds(entry.values.get("duration"), "duration")
        if durations[entry.utterance] <= 0:
            entry.problem(f"duration must be positive, not {entry.values['duration']}")
        _note_periods(entry)
    durations.update(options.durations or {})
    return rows.build(durations, options.snap, only_listed=True)


def _note_periods(entry: Entry) -> None:
    found = entry.periods("fake_periods")
    if found is None:
        return
    count = entry.values.get("n_fakes", len(found))
    if isinstance(count, bool) or count != len(found):
        entry.problem(f"n_fakes is {short(count)}, but there are {len(found)} fake_periods; correct one")
    modified = entry.values.get("modify_audio")
    if not isinstance(modified, bool):
        entry.problem(
            f"modify_audio must be true (the audio is fake) or false (at most the picture is), not {short(modified)}"
        )
    elif modified and not found:
        entry.problem("modify_audio is true, but there are no fake_periods; correct one")
    elif modified:
        entry.add(found)


def write(references: References) -> Iterator[bytes]:
    """Write a JSON list; times exactly. What the references do not know (original, split, frames) is left out."""
    name = "LAV-DF metadata"
    check_writable(references, name, labels=(SPOOF,))
    if references.durations is None:
        raise UsageError(f"{name} holds durations; give them with durations= (--durations)")
    durations = references.durations.tolist()
    yield from json_list(
        f'{{"file": {json_name(utterance, name)}, "n_fakes": {len(ranges)}, "fake_periods": {json_periods(ranges)}, '
        f'"duration": {time_text(duration)}, "modify_audio": {json.dumps(bool(ranges))}}}'
        for (utterance, ranges), duration in zip(written_ranges(references), durations, strict=True)
    )


FORMAT = Format(
    "lavdf",
    "JSON list of {file, fake_periods, duration, modify_audio, ...}: LAV-DF (periods count if the audio is modified)",
    read,
    recognises,
    write,
    (".json",),
    takes=("split",),
)
