"""Building controls: look, plan, make, note, by the steps of the corpus builder.

The folder is that of a corpus with one set, ``eval``, in which everything is bona fide: whatever reads a corpus reads
it, and ``provenance.jsonl`` says where every sample comes from. Beside it::

    OUT/controls.csv     utterance,speaker,edit,cross_fade,unedited,recording: a table for --metadata, too
    OUT/sources/         recordings that went through a codec, with a list of their originals

All edits of a recording have the same noise, if the channel has any, so that they differ from the unedited utterance by
the edit alone. Utterances appear whole or not at all, and a build that was interrupted goes on where it stopped.

Recordings go through a codec and back, with the delay of the codec taken out. mu-law is done here. MP3 and Opus are
libsndfile's, by way of soundfile; where one of them is missing, its edit is skipped, and ``corpus.json`` and the
command say so.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from spoofspan.base.errors import DataError
from spoofspan.base.extras import INSTALL_CM
from spoofspan.base.pool import check_jobs
from spoofspan.base.times import Float64
from spoofspan.base.version import __version__
from spoofspan.corpus.building import (
    about_set,
    build_folder,
    check_source,
    make_all,
    source_identity,
    survey_recordings,
    warn_of_truncated,
)
from spoofspan.corpus.builtin import write_recordings
from spoofspan.corpus.controls.edits import (
    CODECS,
    EDITS,
    ControlPlan,
    ControlSettings,
    PlannedControl,
    coded_name,
    draw_recordings,
    plan_controls,
)
from spoofspan.corpus.frames import RATE
from spoofspan.corpus.layout import ABOUT, SOURCES, WORK, SetFiles, write_csv, write_json, write_set
from spoofspan.corpus.provenance import Provenance
from spoofspan.corpus.source_folder import Recording, recordings_in
from spoofspan.corpus.splice_plan import stream
from spoofspan.corpus.splicing import SpliceMaterial, SplicePiece, provenance_of, splice
from spoofspan.formats.sound import check_truncated
from spoofspan.formats.sound_channel import OPEN

CONTROLS_VERSION = 1  # raised when the same settings give other bytes
SUBSET = "eval"
LIST = "controls.csv"
COLUMNS = ("utterance", "speaker", "edit", "cross_fade", "unedited", "recording")


def build(
    source: str | Path,
    folder: str | Path,
    settings: ControlSettings | None = None,
    *,
    jobs: int | None = 1,
    force: bool = False,
    truncated: str = "error",
) -> dict[str, Any]:
    """Build controls: edits of bona fide recordings that stay bona fide, and the recordings themselves.

    A build that was interrupted goes on where it stopped, and ends with the same bytes.

    Parameters
    ----------
    source : str or Path
        A folder ``bonafide/SPEAKER/*.wav``, or a CSV list of recordings; spoofed ones in it are not used.
    folder : str or Path
        Where the controls are made, with the layout of a corpus.
    settings : ControlSettings, optional
        Every choice that decides the bytes.
    jobs : int or None
        How many processes; None is one per core.
    force : bool
        Throw controls of other settings away.
    truncated : str
        Recordings with fewer samples than their header states: ``"error"``, or ``"use"`` what is there, with a warning.

    Returns
    -------
    dict
        What ``corpus.json`` says: settings, counts of each edit, what was skipped and why, a digest.

    Raises
    ------
    UsageError
        If the folder has something else in it, or another process builds there.
    DataError
        If there are no bona fide recordings.

    Examples
    --------
    >>> about = build("speech", "my-controls", ControlSettings(seed=2))  # doctest: +SKIP
    >>> about["controls"]["splice"]["utterances"]  # doctest: +SKIP
    720

    """
    out, given, workers = Path(folder).expanduser(), Path(source).expanduser(), check_jobs(jobs)
    chosen = settings or ControlSettings()
    chosen = replace(chosen, channel=chosen.channel or OPEN)
    check_source(given, out)
    codecs = {name: codec_version(name) for name in chosen.edits if name in CODECS and missing_codec(name) is None}
    identity = {
        "controls_version": CONTROLS_VERSION,
        **source_identity(given),
        "control_settings": chosen.to_dict(),
        "codecs": codecs,
    }
    use = check_truncated(truncated)
    return build_folder(out, identity, lambda: _build(out, given, chosen, workers, identity, use), force)


def _build(
    out: Path, given: Path, chosen: ControlSettings, workers: int, identity: dict[str, Any], truncated: str
) -> dict[str, Any]:
    found = [one for one in recordings_in(given, truncated, chosen.channel or OPEN) if one.attack is None]
    if not found:
        raise DataError(f"{given}: there are no bona fide recordings; put them into bonafide/SPEAKER")
    recordings = draw_recordings(found, chosen)
    survey = survey_recordings(out, recordings, chosen.corpus, workers)
    if truncated == "use":
        warn_of_truncated(recordings, survey)
    usable = tuple(name for name in chosen.edits if name not in CODECS or name in identity["codecs"])
    plan = plan_controls(recordings, survey, replace(chosen, edits=usable)) if usable else ControlPlan((), {})
    if not any(one.edit in EDITS for one in plan.utterances):
        raise DataError(
            f"{given}: no recording has a place for any of the edits ({', '.join(chosen.edits)}); give longer "
            "recordings, other edits, or a shorter deletion"
        )
    coded = _coded(out / SOURCES, recordings, [one for one in usable if one in CODECS], workers)
    known = {one.name: one for one in recordings} | {one.name: one for one in coded.values()}
    survey |= {one.name: replace(survey[original], name=one.name) for (_, original), one in coded.items()}
    make = partial(make_control, settings=chosen)
    made = make_all(out, plan.utterances, SpliceMaterial(known, survey), make, workers, "making controls")
    files = SetFiles(out, SUBSET)
    _check_identical(files, plan.utterances)
    write_set(files, made, chosen.corpus)
    rows = (
        (one.utterance, one.speaker, one.edit, _seconds(one.cross_fade), one.unedited, one.recording)
        for one in plan.utterances
    )
    write_csv(out / LIST, [COLUMNS, *rows])
    about = {
        "spoofspan": __version__,
        "numpy": np.__version__,
        **identity,
        "sample_rate": RATE,
        "settings": chosen.corpus.to_dict(),
        "channel": (chosen.channel or OPEN).to_dict(),
        "attacks": {},
        "held_out_attacks": [],
        "recordings": len(recordings),
        "controls": _about_edits(plan.utterances, made),
        "skipped": _skipped(chosen, plan),
        "sets": {SUBSET: about_set(files, made, chosen.corpus)},
    }
    write_json(out / ABOUT, about)
    shutil.rmtree(out / WORK)
    return about


def _coded(
    folder: Path, recordings: Sequence[Recording], codecs: Sequence[str], workers: int
) -> dict[tuple[str, str], Recording]:
    """Write the recordings that went through each codec; by codec and original."""
    made = {
        (codec, one.name): replace(one, name=coded_name(codec, number), path=folder / coded_name(codec, number))
        for codec in codecs
        for number, one in enumerate(recordings, 1)
    }
    if made:
        originals = {one.name: one for one in recordings}
        sounds = {one.name: CodedRecording(originals[name], codec) for (codec, name), one in made.items()}
        rows = ((one.name, one.speaker, codec, name) for (codec, name), one in made.items())
        write_recordings(folder, sounds, workers, "coding recordings", [("path", "speaker", "codec", "made_of"), *rows])
    return made


# ---------------------------------------------------------------- making


def make_control(
    plan: PlannedControl, material: SpliceMaterial, settings: ControlSettings
) -> tuple[Float64, Provenance]:
    """Cut and join: the sound of a control, and where it comes from."""
    pieces = [
        SplicePiece(
            material.sound(one.recording, one.factor),
            one.cut_in,
            one.cut_out,
            one.recording,
            material.survey[one.recording].gain * one.factor,
        )
        for one in plan.pieces
    ]
    spliced = splice(pieces, overlap=plan.overlap, search=plan.search)
    noise = stream(settings.corpus, plan.recording, "noise")
    sound = settings.channel.noisy(spliced.sound, noise) if settings.channel else spliced.sound
    return sound, provenance_of(spliced, plan.utterance, SUBSET, plan.speaker, plan.recording, material)


def _check_identical(files: SetFiles, plans: Sequence[PlannedControl]) -> None:
    """Refuse rejoins without a cross-fade that are not the unedited recording, bit by bit."""
    for one in plans:
        if one.edit.startswith("rejoin") and not one.overlap:
            edited, unedited = (files.sound(name).read_bytes() for name in (one.utterance, one.unedited))
            if edited != unedited:
                raise DataError(
                    f"{files.sound(one.utterance)}: differs from {one.unedited}, which it must not: a source or a file "
                    "was changed while this was running; build again with --force"
                )


# ---------------------------------------------------------------- notes


def _seconds(cross_fade: float | None) -> str:
    return "" if cross_fade is None else f"{cross_fade:g}"


def _about_edits(plans: Sequence[PlannedControl], made: Sequence[Provenance]) -> dict[str, Any]:
    """Utterances and seconds of each edit, and what it is."""
    found: dict[str, Any] = {}
    for plan, one in zip(plans, made, strict=True):
        about = EDITS.get(plan.edit, "the recording as it is, at the level of the corpus")
        entry = found.setdefault(plan.edit, {"about": about, "utterances": 0, "seconds": 0.0})
        entry["utterances"] += 1
        entry["seconds"] += one.samples / RATE
    return found


def _skipped(chosen: ControlSettings, plan: ControlPlan) -> dict[str, str]:
    """Reasons why an edit was not made, of some recordings or at all."""
    found: Mapping[str, str] = {
        edit: f"{count} recording{'s' * (count != 1)} without a place for it" for edit, count in plan.skipped.items()
    }
    missing = {name: why for name in chosen.edits if name in CODECS and (why := missing_codec(name)) is not None}
    return {**found, **missing}


# ---------------------------------------------------------------- codecs

MU = 255.0
LONGEST_DELAY = 4096  # samples
# codec -> format and subtype of libsndfile
LIBSNDFILE = {"mp3": ("MP3", "MPEG_LAYER_III"), "opus": ("OGG", "OPUS")}


def missing_codec(codec: str) -> str | None:
    """Reason why a codec cannot be used here; None if it can."""
    if codec not in LIBSNDFILE:
        return None
    if find_spec("soundfile") is None:
        return f"soundfile is not installed; run: {INSTALL_CM}"
    import soundfile

    form, subtype = LIBSNDFILE[codec]
    if form in soundfile.available_formats() and subtype in soundfile.available_subtypes(form):
        return None
    return f"libsndfile {soundfile.__libsndfile_version__} has no {subtype}; install a newer soundfile"


def codec_version(codec: str) -> str:
    """Implementation of a codec, for corpus.json."""
    if codec not in LIBSNDFILE:
        return "8 bits, mu = 255"
    import soundfile

    return f"libsndfile {soundfile.__libsndfile_version__}"


@dataclass(frozen=True)
class CodedRecording:
    """A recording that went through a codec and is to be written."""

    original: Recording
    codec: str

    def sound(self) -> Float64:
        """Its samples, as many as the original has."""
        return through(replace(self.original, channel=OPEN).sound(), self.codec)


def through(sound: Float64, codec: str) -> Float64:
    """A sound through a codec and back, as long as before and not delayed.

    >>> float(abs(through(np.array([0.0, 0.5, -1.0]), "mu-law") - [0.0, 0.5, -1.0]).max()) < 0.01
    True
    """
    if codec == "mu-law":
        return mu_law(sound)
    import soundfile

    form, subtype = LIBSNDFILE[codec]
    coded = io.BytesIO()
    soundfile.write(coded, sound, RATE, format=form, subtype=subtype)
    coded.seek(0)
    return aligned(soundfile.read(coded, dtype="float64")[0], sound)


def mu_law(sound: Float64) -> Float64:
    """Eight bits on a logarithmic scale: 127 steps on each side of 0."""
    code = np.rint(127 * np.log1p(MU * np.minimum(np.abs(sound), 1.0)) / np.log1p(MU))
    decoded: Float64 = np.sign(sound) * np.expm1(code / 127 * np.log1p(MU)) / MU
    return decoded


def aligned(decoded: Float64, original: Float64) -> Float64:
    """The decoded sound, without the delay at which it is most like the original, and as long as that.

    >>> aligned(np.array([0.0, 0.0, 1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 2.0, 3.0]
    """
    size = 1 << (decoded.size + original.size - 1).bit_length()
    products = np.fft.irfft(np.fft.rfft(decoded, size) * np.conj(np.fft.rfft(original, size)), size)
    reach = min(LONGEST_DELAY, size // 2 - 1)
    delays = np.arange(-reach, reach + 1)
    delay = int(delays[int(np.argmax(products[delays]))])
    moved = decoded[delay:] if delay >= 0 else np.concatenate((np.zeros(-delay), decoded))
    return np.concatenate((moved[: original.size], np.zeros(max(original.size - moved.size, 0))))
