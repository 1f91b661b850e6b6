"""Building a corpus: look, plan, make, label; every step can be taken up again where it stopped.

Sound files, and notes on what was done, appear whole or not at all, and what is there already is not made again. Since
every utterance depends on the seed and its own name only, a build that was interrupted ends with the same bytes.
``corpus.json`` is written last: a folder that has it is complete. One process builds in a folder at a time.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from spoofspan.base.documents import parse_json, read_json
from spoofspan.base.errors import SpoofspanError, SpoofspanWarning, UsageError, warn_user
from spoofspan.base.locks import LOCK, PARTS, own_folder, remove_parts
from spoofspan.base.pool import check_jobs, do_all, in_batches
from spoofspan.base.times import Float64
from spoofspan.base.version import __version__
from spoofspan.corpus.builtin import (
    COPY,
    built_in_settings,
    chosen_vocoders,
    deal_vocoders,
    write_vocoded,
    write_voices,
)
from spoofspan.corpus.frames import RATE
from spoofspan.corpus.layout import (
    ABOUT,
    CROISSANT,
    DATABASE,
    SOURCES,
    WORK,
    SetFiles,
    croissant,
    sound_digest,
    write_json,
    write_set,
)
from spoofspan.corpus.provenance import BONA_FIDE, Provenance, labelled_ranges
from spoofspan.corpus.settings import BUILDER_VERSION, PARTIALSPOOF, RECIPES, SETS, Settings, fingerprint
from spoofspan.corpus.source_folder import (
    Recording,
    Recordings,
    Selection,
    attack_ids,
    attacks_of,
    named_recordings,
    recordings_in,
)
from spoofspan.corpus.splice_plan import deal_speakers, held_out_attacks, make_plan
from spoofspan.corpus.splicing import SpliceMaterial, make_utterance
from spoofspan.corpus.survey import Surveyed, look_at
from spoofspan.formats.sound import Sound, check_truncated, wav_bytes
from spoofspan.formats.sound_channel import OPEN
from spoofspan.formats.writing import write_atomically

BUILT_IN = "built-in voices and vocoders"
BATCH = 24
NOTE = "build.json"
SPOOFED = "spoof"

Noted = TypeVar("Noted", Surveyed, Provenance)


def build(
    folder: str | Path,
    source: str | Path | None = None,
    settings: Settings | None = None,
    *,
    jobs: int | None = 1,
    force: bool = False,
    truncated: str = "error",
    only: str | Path | None = None,
    per_speaker: int | None = None,
) -> dict[str, Any]:
    """Build a partially spoofed corpus in a folder, of recordings or of built-in voices and vocoders.

    A build that was interrupted goes on where it stopped, and ends with the same bytes.

    Parameters
    ----------
    folder : str or Path
        Where the corpus is made: the layout of the PartialSpoof database, see ``docs/corpus.md``.
    source : str or Path, optional
        A folder ``bonafide/SPEAKER/*.wav``, ``ATTACK/SPEAKER/*.wav``, or a CSV list of recordings; without it, built-in
        voices.
    settings : Settings, optional
        Every choice that decides the bytes of the corpus.
    jobs : int or None
        How many processes; None is one per core.
    force : bool
        Throw a corpus of other settings away.
    truncated : str
        Recordings with fewer samples than their header states: ``"error"``, or ``"use"`` what is there, with a warning.
    only : str or Path, optional
        A list of what to take of the source: a speaker or a file in each line.
    per_speaker : int, optional
        How many recordings of each speaker and attack are taken at most, drawn at random.

    Returns
    -------
    dict
        What ``corpus.json`` says: settings, counts of each set, digests.

    Raises
    ------
    UsageError
        If the folder has something else in it, or another process builds there.
    DataError
        If the recordings do not suffice.

    Examples
    --------
    >>> about = build("my-corpus", settings=Settings(seed=2), jobs=2)  # doctest: +SKIP
    >>> about["sets"]["train"]["utterances"]  # doctest: +SKIP
    480

    """
    out, workers = Path(folder).expanduser(), check_jobs(jobs)
    chosen, given = settings or Settings(), None if source is None else Path(source).expanduser()
    selection = Selection(None if only is None else Path(only).expanduser(), per_speaker, chosen.seed)
    if given is None:
        if only is not None or per_speaker is not None:
            raise UsageError(
                "built-in voices are made to order; only and per_speaker choose among recordings (--source)"
            )
        chosen = built_in_settings(chosen)
    else:
        check_source(given, out)
    chosen = replace(chosen, channel=chosen.channel or OPEN, attacks=chosen_vocoders(chosen.attacks))
    identity = {"builder": BUILDER_VERSION, **source_identity(given, selection), "settings": chosen.to_dict()}
    use = check_truncated(truncated)
    return build_folder(out, identity, lambda: _build(out, given, selection, use, chosen, workers, identity), force)


def build_folder(
    out: Path, identity: dict[str, Any], work: Callable[[], dict[str, Any]], force: bool
) -> dict[str, Any]:
    """Do the work in a folder that is made ready for it, unless everything is there; what ``corpus.json`` says."""
    # perhaps where nobody may write
    finished = None if force or (out / WORK).exists() else finished_about(out, identity)
    if finished is not None:
        return finished
    with own_folder(out):
        finished = prepare_folder(out, identity, force)
        if finished is not None:
            return finished
        try:
            return work()
        except SpoofspanError:
            if not (out / DATABASE).exists():  # nothing was made yet: the next start may have other settings
                for name in (WORK, SOURCES):
                    shutil.rmtree(out / name, ignore_errors=True)
            raise


def _build(
    out: Path,
    given: Path | None,  # None: built-in voices
    selection: Selection,
    truncated: str,
    chosen: Settings,
    workers: int,
    identity: dict[str, Any],
) -> dict[str, Any]:
    """Do what is not done yet, in a folder that was made ready."""
    where = given or write_voices(out / SOURCES, chosen, workers)
    found = recordings_in(where, truncated, chosen.channel or OPEN, selection)
    recordings = _with_spoofs(out / SOURCES, found, chosen, workers)
    survey = survey_recordings(out, recordings.items, chosen, workers)
    if truncated == "use":
        warn_of_truncated(recordings.items, survey)
    plan = make_plan(recordings.items, survey, chosen, recordings.attacks)
    material = SpliceMaterial({one.name: one for one in recordings.items}, survey)
    # utterances of a speaker share recordings, so they are made by one worker
    by_speaker = sorted(plan.utterances, key=lambda one: (one.subset, one.speaker, one.utterance))
    make = partial(make_utterance, settings=chosen)
    done = {one.utterance: one for one in make_all(out, by_speaker, material, make, workers, "making utterances")}
    made = [done[one.utterance] for one in plan.utterances]
    sets = {subset: rows for subset in SETS if (rows := [one for one in made if one.subset == subset])}
    for subset, rows in sets.items():
        write_set(SetFiles(out, subset), rows, chosen)
    about = {
        "spoofspan": __version__,
        "numpy": np.__version__,
        **identity,
        "sample_rate": RATE,
        **({"recipe": RECIPES[chosen.recipe]} if chosen.recipe == PARTIALSPOOF else {}),
        "policies": chosen.policies,
        "channel": (chosen.channel or OPEN).to_dict(),
        "attacks": recordings.attacks,
        "held_out_attacks": list(plan.held_out),
        "recordings": len(recordings.items),
        "sets": {subset: about_set(SetFiles(out, subset), rows, chosen) for subset, rows in sets.items()},
    }
    write_json(out / CROISSANT, croissant(out, about))
    write_json(out / ABOUT, about)
    shutil.rmtree(out / WORK)
    return about


def _with_spoofs(made: Path, found: list[Recording], chosen: Settings, workers: int) -> Recordings:
    """The recordings, and spoofs of them where these are asked for; what is made lies in ``made``."""
    if chosen.attacks == (COPY,):  # a control: copies in the place of all that is spoofed
        found = [one for one in found if one.attack is None]
    ids = attack_ids({*attacks_of(found), *chosen.attacks})
    held_out = held_out_attacks(ids.values(), chosen, {new: name for name, new in ids.items()})
    if chosen.attacks:
        own_names = [name for name, new in ids.items() if new in held_out]
        dealt = deal_vocoders(made, found, deal_speakers(found, chosen), own_names, chosen)
        write_vocoded(made, dealt, workers)
        found += [one.recording for one in dealt]
    return named_recordings(found, ids)


def warn_of_truncated(recordings: Sequence[Recording], survey: Mapping[str, Surveyed]) -> None:
    """Say which recordings have fewer samples than their header states; workers read them without a word."""
    for one in recordings:
        stated = Sound(one.path, str(one.path)).stated_samples
        if survey[one.name].samples < stated - 1:  # a resampler may be a sample off its forecast
            warn_user(
                f"{one.path}: the file is truncated: its header states {stated / RATE:.3f} s, and "
                f"{survey[one.name].samples / RATE:.3f} s are there; these are used",
                SpoofspanWarning,
            )


def check_source(source: Path, out: Path) -> None:
    """Refuse a source that is not there, or that --force would throw away."""
    if not source.exists():
        raise UsageError(f"there is no {str(source)!r}; give a folder of speech or a CSV file")
    if out.resolve() in (source.resolve(), *source.resolve().parents):
        raise UsageError(f"the source {str(source)!r} is inside of {str(out)!r}; build the corpus in another folder")


def source_identity(given: Path | None, selection: Selection | None = None) -> dict[str, Any]:
    """Description of the source: its name, and a fingerprint of its files; not where it lies on whose disk."""
    if given is None:
        return {"source": BUILT_IN}
    found = recordings_in(given, selection=selection)
    files = [[one.name, one.speaker, one.attack, one.subset, one.path.stat().st_size] for one in found]
    return {"source": given.resolve().name, "source_files": fingerprint(sorted(files, key=str))}


def finished_about(out: Path, identity: dict[str, Any]) -> dict[str, Any] | None:
    """Content of corpus.json if everything is there already."""
    if not (out / ABOUT).is_file():
        return None
    known = _read_json(out / ABOUT)
    if any(known.get(key) != identity[key] for key in identity):
        raise UsageError(f"{str(out)!r} has a corpus of other settings; choose another folder, or give --force")
    return dict(known)


def prepare_folder(out: Path, identity: dict[str, Any], force: bool) -> dict[str, Any] | None:
    """Make the folder ready; what corpus.json says if everything is there already."""
    about, note = out / ABOUT, out / WORK / NOTE
    if about.is_file() and not force:
        shutil.rmtree(out / WORK, ignore_errors=True)  # of a build that was killed when all was done
        return finished_about(out, identity)
    if note.is_file() and not force and _read_json(note) != identity:
        raise UsageError(f"{str(out)!r} has a corpus that was begun with other settings; repeat them, or give --force")
    ours = about.is_file() or note.is_file()
    if not ours and any(one.name not in (LOCK, WORK) for one in out.iterdir()):  # a kill may come before the note
        raise UsageError(f"the folder {str(out)!r} is not empty, and no corpus; choose another")
    if force and ours:
        for name in (ABOUT, CROISSANT, "controls.csv"):
            (out / name).unlink(missing_ok=True)
        for name in (DATABASE, SOURCES, WORK):
            shutil.rmtree(out / name, ignore_errors=True)
    remove_parts(out.rglob(PARTS))  # of a build that was killed
    note.parent.mkdir(exist_ok=True)
    write_json(note, identity)
    return None


def _read_json(path: Path) -> Any:
    try:
        return read_json(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read ({error}); choose another folder, or give --force") from None


# ---------------------------------------------------------------- looking


def survey_recordings(out: Path, recordings: Sequence[Recording], settings: Settings, jobs: int) -> dict[str, Surveyed]:
    """Look at all recordings, batch by batch; batches that were looked at are not looked at again."""
    folder = out / WORK / "survey"
    folder.mkdir(exist_ok=True)
    batches = [(folder, batch, settings) for batch in in_batches(recordings, BATCH)]
    looked = do_all(_look, batches, jobs, "looking at recordings", lambda task: len(task[1]))
    return {one.name: one for batch in looked for one in batch}


def _look(task: tuple[Path, Sequence[Recording], Settings]) -> list[Surveyed]:
    folder, batch, settings = task
    same = fingerprint([[one.name, one.path.stat().st_size, one.path.stat().st_mtime_ns] for one in batch])
    return noted(folder / f"{same}.jsonl", Surveyed, lambda: look_at(batch, settings.level, settings.recipe))


# ---------------------------------------------------------------- making


class Planned(Protocol):
    """The plan of an utterance, a dataclass."""

    @property
    def recordings(self) -> set[str]:
        """The recordings that it is made of."""


Make = Callable[[Any, SpliceMaterial], tuple[Float64, Provenance]]


def make_all(
    out: Path, plans: Sequence[Planned], material: SpliceMaterial, make: Make, jobs: int, what: str
) -> list[Provenance]:
    """Make all utterances; return where they come from, in the order of the plans."""
    (out / WORK / "made").mkdir(exist_ok=True)
    tasks = [
        (out, batch, material.only(set().union(*(one.recordings for one in batch))), make)
        for batch in in_batches(plans, BATCH)
    ]
    done = do_all(_make_batch, tasks, jobs, what, lambda task: len(task[1]))
    return [one for rows in done for one in rows]


def _make_batch(task: tuple[Path, Sequence[Any], SpliceMaterial, Make]) -> list[Provenance]:
    """Make a batch of utterances; its note is written when all its sound files are."""
    out, plans, material, make = task

    def work() -> list[Provenance]:
        made = []
        for plan in plans:
            sound, provenance = make(plan, material)
            path = SetFiles(out, provenance.subset).sound(provenance.utterance)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, [wav_bytes(sound)], force=True)
            made.append(provenance)
        return made

    survey = material.survey
    # the name tells plans and recordings: where either has changed since, all is made anew
    same = fingerprint([[asdict(one) for one in plans], [asdict(survey[name]) for name in sorted(survey)]])
    return noted(out / WORK / "made" / f"{same}.jsonl", Provenance, work)


def noted(note: Path, kind: type[Noted], work: Callable[[], list[Noted]]) -> list[Noted]:
    """Note of finished work; where there is none, do the work and write it."""
    if note.is_file():
        return [kind.from_dict(parse_json(line)) for line in note.read_text(encoding="utf-8").splitlines()]
    done = work()
    write_atomically(note, [(json.dumps(asdict(one)) + "\n").encode() for one in done], force=True)
    return done


def about_set(files: SetFiles, made: Sequence[Provenance], settings: Settings) -> dict[str, Any]:
    """Entry of a set in corpus.json."""
    spoof: Counter[str] = Counter()
    for one in made:
        for row in labelled_ranges(one, joints=settings.joints, nonspeech=settings.nonspeech):
            if row.label != BONA_FIDE:
                spoof[row.label] += row.end - row.start
    bona_fide = [one for one in made if not one.attacks]
    by_attack = {attack: sum(one.attacks == [attack] for one in made) for attack in sorted(spoof)}
    attack_of = {origin.recording: origin.attack for one in made for origin in one.origins}
    for one in made:  # the recipe of PartialSpoof may leave nothing of a carrier without pauses
        attack_of.setdefault(one.carrier, None if one.attacks else SPOOFED)
    return {
        "speakers": sorted({one.speaker for one in made}),
        "utterances": len(made),
        "bona_fide_utterances": len(bona_fide),
        "spoof_in_bona_fide": sum(attack_of[one.carrier] is None for one in made if one.attacks),
        "bona_fide_in_spoof": sum(attack_of[one.carrier] is not None for one in made if one.attacks),
        "utterances_by_attack": by_attack,
        "seconds": sum(one.samples for one in made) / RATE,
        "spoof_seconds": sum(spoof.values()) / RATE,
        "spoof_seconds_by_attack": {attack: spoof[attack] / RATE for attack in sorted(spoof)},
        "joints": sum(len(one.joints) for one in made),
        "sound_sha256": sound_digest(files, (one.utterance for one in made)),
        **(_about_recipe(made) if settings.recipe == PARTIALSPOOF else {}),
    }


def _about_recipe(made: Sequence[Provenance]) -> dict[str, int]:
    """Numbers of utterances with several attacks, with no segment replaced, and with all of them."""
    partial = [one for one in made if one.utterance.startswith("CON")]
    return {
        "with_several_attacks": sum(len(one.attacks) > 1 for one in partial),
        "with_no_segment_replaced": sum(len(one.origins) == 1 for one in partial),
        "with_all_segments_replaced": sum(
            not any(
                origin.start <= start < origin.end
                for origin in one.origins
                if origin.recording == one.carrier
                for start, _ in one.speech
            )
            for one in partial
        ),
    }
