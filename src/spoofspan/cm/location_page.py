"""The page of ``spoofspan locate``: what was heard, where it is suspected, and the sound itself.

It is made of the parts of every page (:mod:`spoofspan.report.page`), and asks nothing of the network. Sound is put into
it as FLAC, as the model heard it (16 kHz, one channel), up to ten minutes and 12 MB in all; longer sound is linked from
where it lies. Pictures are as coarse as a screen, so that two hours take no more room than two minutes.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from spoofspan.base.version import __version__
from spoofspan.cm.card import card_lines
from spoofspan.cm.chance import SHORTEST
from spoofspan.cm.listening import BANDS, STEP, Heard, UInt8
from spoofspan.cm.located import LocatedRecording, Location, range_cells
from spoofspan.formats.sound import FULL_SCALE, RATE, wav_bytes
from spoofspan.report.page.rendering import SHARED_SCRIPTS, SHARED_STYLES, cell, column, packed, page_table, render
from spoofspan.report.table import printable

MOST_DRAWN = 40  # recordings
COLUMNS = 2400  # of a picture, more than a screen has
SOUND_BYTES = 12_000_000  # before base64, which adds a third
BESIDE = "not suspected, from s"
LONG_ENOUGH = 0.5  # seconds to compare with
DYNAMIC = 75.0  # dB from the darkest to the lightest of a spectrogram


def location_page(location: Location, target: Path) -> str:
    """Write the page; ``target`` is where it will lie, for links to sound."""
    judged = sorted(location.judged, key=lambda one: -one.suspected_seconds)[:MOST_DRAWN]
    drawn = [one for one in location.judged if one in judged and one.heard is not None]
    left = SOUND_BYTES
    pictures, notes = [], {}
    for one in drawn:
        sound = _embedded(one.heard) if one.heard is not None else b""
        if sound and len(sound) <= left:
            left -= len(sound)
            kind = "flac" if sound[:4] == b"fLaC" else "wav"
            address: str | None = f"data:audio/{kind};base64,{base64.b64encode(sound).decode('ascii')}"
        else:
            address, notes[one.recording] = _linked(one, target)
        pictures.append(_picture(one, location.scores.hop or 0.02, address))
    places = {one.recording: place for place, one in enumerate(drawn)}
    content = {
        "spoofspan": __version__,
        "title": _title(location),
        "decision": f"suspected if the strength is over {-location.threshold + 0.0:g}",
        "prior": location.prior,
        "model": printable(location.model.name),
        "checksum": location.model.checksum,
        "facts": [[printable(name), printable(value)] for name, value in _facts(location)],
        "limits": [printable(str(text)) for text in location.model.about.get("limits", ())],
        "strange": sum(bool(one.unlike_training) for one in location.judged),
        "drawn": len(drawn),
        "overview": _overview(location) if len(location.recordings) > 1 else None,
        "recordings": [_recording(one, places, notes) for one in location.recordings],
    }
    # strengths, as in the tables: more means spoof
    data = {"threshold": -location.threshold + 0.0, "bands": BANDS, "recordings": pictures}
    scripts, styles = (*SHARED_SCRIPTS, "strips.js", "locate.js"), (*SHARED_STYLES, "locate.css")
    return render("locate.html", content, data, scripts=scripts, styles=styles, package="spoofspan.cm")


def _facts(location: Location) -> list[tuple[str, str]]:
    """The card of the model, what happens before scoring, and false ranges."""
    model, rate = location.model, location.false_ranges_per_minute
    found = [*card_lines(model.about)]
    found += [("chosen because", model.chosen)] if model.chosen else []
    found += [("recordings go through", model.channel)] if model.channel else []
    like = f"speech like that of its training ({location.chance})"
    counted = f"{rate:.2f} expected a minute in {like}" if rate is not None else ""
    return found + ([("false ranges", counted)] if counted else [])


def _title(location: Location) -> str:
    if len(location.recordings) == 1:
        return printable(f"{location.recordings[0].recording}: {location.recordings[0].verdict}")
    suspected = sum(bool(one.ranges) for one in location.recordings)
    return f"{len(location.recordings)} recordings, something suspected in {suspected}"


def _overview(location: Location) -> dict[str, Any]:
    """A row for each recording; the name leads to it."""
    names = ("suspected s", "ranges", "strongest", "lasts s")
    rows = []
    for place, one in enumerate(location.recordings):
        strongest = max((range_.strength for range_ in one.ranges), default=None)
        values = (None,) * 4 if one.problem else (one.suspected_seconds, len(one.ranges), strongest, one.seconds)
        texts = (
            "" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.2f}" for value in values
        )
        caution = "no verdict" if one.problem else "unlike the training" if one.unlike_training else ""
        caution = caution or ("see notes" if one.notes else "")
        numbers = [cell(text, value) for text, value in zip(texts, values, strict=True)]
        rows.append([cell(one.recording, place=f"recording-{place}"), *numbers, cell(caution)])
    columns = [column("recording"), *(column(name, number=True) for name in names), column("caution")]
    return page_table("recordings", "Recordings", columns, rows)


def _recording(one: LocatedRecording, places: Mapping[str, int], notes: Mapping[str, str]) -> dict[str, Any]:
    return {
        "id": printable(one.recording),
        "verdict": printable(one.verdict),
        "problem": bool(one.problem),
        "cautions": [printable(f"This recording {one.unlike_training}.")] if one.unlike_training else [],
        "notes": [printable(f"{text[:1].upper()}{text[1:]}.") for text in (*one.notes, *one.remarks)],
        "ranges": len(one.ranges),
        "shown": places.get(one.recording),
        "sound_note": printable(notes.get(one.recording, "")),
        "table": _table(one) if one.ranges else None,
    }


def _table(one: LocatedRecording) -> dict[str, Any]:
    names = ("start s", "end s", "length s", "strength", "probability")
    known = [place for place in range(len(names)) if place < 4 or one.ranges[0].probability is not None]
    rows = []
    for range_, beside in zip(one.ranges, stretches_beside(one), strict=True):
        values = (range_.start, range_.end, range_.end - range_.start, range_.strength, range_.probability)
        texts = range_cells(range_)
        other = cell("none") if beside is None else cell(f"{beside[0]:.3f}", beside[0])
        rows.append([*(cell(texts[place], values[place]) for place in known), other])
    columns = [column(names[place], number=True) for place in known]
    columns.append(
        column(BESIDE, "start of the nearest stretch that is not suspected, as long as there is", number=True)
    )
    return page_table(f"{one.recording}-ranges", f"Suspected ranges of {one.recording}", columns, rows)


def stretches_beside(one: LocatedRecording) -> list[tuple[float, float] | None]:
    """The nearest stretch to each suspected range that is not suspected, as long as the range if there is so much.

    >>> from spoofspan.cm.located import SuspectedRange
    >>> ranges = SuspectedRange(2_000_000_000, 3_000_000_000, 1, None), SuspectedRange(4 * 10**9, 6 * 10**9, 1, None)
    >>> stretches_beside(LocatedRecording("a", "a.wav", seconds=7.5, ranges=ranges))
    [(1.0, 2.0), (6.0, 7.5)]
    """
    edges = [0.0, *(edge for range_ in one.ranges for edge in (range_.start, range_.end)), float(one.seconds or 0.0)]
    gaps = [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if end - start >= SHORTEST]
    found: list[tuple[float, float] | None] = []
    for range_ in one.ranges:
        wanted = min(range_.end - range_.start, max((end - start for start, end in gaps), default=0.0))
        own = [
            (max(start, end - wanted), end) if end <= range_.start else (start, min(end, start + wanted))
            for start, end in gaps
        ]
        # nearest of the longest: next to another range there may be only a breath
        near = [(min(end - start, LONG_ENOUGH), max(range_.start - end, start - range_.end)) for start, end in own]
        lengths = [end - start for start, end in own]
        best = min(range(len(own)), key=lambda k: (-near[k][0], near[k][1], -lengths[k]), default=None)
        found.append(None if best is None else own[best])
    return found


def _picture(one: LocatedRecording, hop: float, sound: str | None) -> dict[str, Any]:
    heard = one.heard or Heard()
    return {
        "id": printable(one.recording),
        "duration": one.seconds,
        "hop": hop,
        "values": packed(-one.values.astype(np.float32)),
        "loudest": heard.loudest,
        "peaks": _text(_coarse_peaks(heard.waveform)),
        "levels": _text(_shades(_coarse(heard.spectrogram))),
        "ranges": [[range_.start, range_.end] for range_ in one.ranges],
        "beside": stretches_beside(one),
        "sound": sound,
    }


def _coarse_peaks(peaks: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """The lowest and the highest sample under each column."""
    edges = _edges(len(peaks))
    if not edges.size:
        return peaks
    lowest, highest = (ufunc.reduceat(peaks[:, side], edges) for side, ufunc in enumerate((np.minimum, np.maximum)))
    return np.stack((lowest, highest), axis=1).astype(np.int8)


def _coarse(levels: UInt8) -> UInt8:
    """The loudest level under each column."""
    edges = _edges(len(levels))
    return np.maximum.reduceat(levels, edges, axis=0) if edges.size else levels


def _edges(count: int) -> npt.NDArray[np.int64]:
    return np.unique(np.linspace(0, count, min(count, COLUMNS), endpoint=False).astype(np.int64))


def _shades(levels: UInt8) -> UInt8:
    """Levels as shades, the loudest hundredth darkest."""
    if not levels.size:
        return levels
    top = float(np.percentile(levels, 99.5))
    shade = 1 + (levels.astype(np.float64) - top) * STEP / DYNAMIC
    return np.rint(255 * np.clip(shade, 0, 1)).astype(np.uint8)


def _text(array: npt.NDArray[Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")


def _embedded(heard: Heard) -> bytes:
    """The sound as a file, if it was kept; FLAC where that can be written."""
    kept = heard.kept
    if kept is None:
        return b""
    if find_spec("soundfile") is None:
        return wav_bytes(kept / FULL_SCALE)
    import soundfile

    out = io.BytesIO()
    soundfile.write(out, kept, RATE, format="FLAC", subtype="PCM_16")
    return out.getvalue()


def _linked(one: LocatedRecording, target: Path) -> tuple[str | None, str]:
    """The address of sound that is not in the page, and a sentence that says so."""
    path = Path(one.file)
    if not path.is_file():
        return None, "The sound is not in this page: it is long, and came by a pipe."
    try:
        way = os.path.relpath(path.resolve(), target.resolve().parent).replace(os.sep, "/")
    except ValueError:  # on another drive
        way = path.resolve().as_posix()
    channel = "" if one.channel in (None, "mix") else f" What plays has all channels; this is number {one.channel}."
    return quote(way), f"The sound is too long to be put into this page: it is linked from {path}.{channel}"
