"""Consistency checks of a corpus.

- every utterance of the list has a sound file of the stated length, and no sound file is left over;
- labels cover every utterance from 0 to its end, and all RTTM files, the segment labels and the protocol agree;
- provenance covers every sample, and gives the same labels under the stated policies;
- no speaker and no utterance is in two sets, and attacks that were held out are in ``eval`` only;
- the sound files have the digest that corpus.json noted.

Labels are compared as a reader gets them, from the files alone; nothing is shared with the code that wrote them but the
policies on provenance. Folders of the same layout from elsewhere are checked as far as they go.
"""

from __future__ import annotations

import warnings
import wave
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.documents import read_json
from spoofspan.base.errors import DataError, Problems, SpoofspanError, SpoofspanWarning, UsageError
from spoofspan.base.progress import progress
from spoofspan.corpus.frames import RATE
from spoofspan.corpus.layout import (
    ABOUT,
    RESOLUTIONS,
    TICK,
    WORK,
    SetFiles,
    read_provenance,
    references_of,
    second_generation_lines,
    sound_digest,
)
from spoofspan.corpus.partialspoof_recipe import class_numbers
from spoofspan.corpus.provenance import Provenance, labelled_ranges
from spoofspan.corpus.settings import PARTIALSPOOF, SETS, Settings
from spoofspan.data.references import NONSPEECH, SPOOF, References, durations_of
from spoofspan.data.rules import Rules
from spoofspan.evaluation.reference_diff import diff_references
from spoofspan.formats.datasets.partialspoof_dataset import Dataset, read_dataset
from spoofspan.formats.reading import read_references
from spoofspan.formats.text.durations import read_durations
from spoofspan.formats.text.rows import written_ranges
from spoofspan.mass.labelling import label_references
from spoofspan.mass.point_labels import Grid, point_classes


@dataclass(frozen=True)
class CorpusCheck:
    """Checked parts, their numbers, and all problems."""

    looked_at: Mapping[str, int]
    problems: tuple[str, ...]
    total_problems: int

    @property
    def passed(self) -> bool:
        """True if nothing is wrong."""
        return not self.total_problems

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {"passed": self.passed, **asdict(self), "problems": list(self.problems)}


@dataclass
class _Findings:
    looked_at: Counter[str] = field(default_factory=Counter)
    problems: Problems = field(default_factory=Problems)


@dataclass(frozen=True)
class _About:
    settings: Settings
    held_out: set[str]
    digests: Mapping[str, str]  # of the sound files of each set


def check_corpus(folder: str | Path) -> CorpusCheck:
    """Check that the files of a corpus agree with each other, in all its sets.

    Parameters
    ----------
    folder : str or Path
        A folder that :func:`spoofspan.corpus.building.build` made, or another one with the layout of PartialSpoof.

    Returns
    -------
    CorpusCheck
        ``passed``, what was looked at and how many of each, and the problems (the first 20 as text).

    Raises
    ------
    UsageError
        If there is no corpus in the folder.

    Examples
    --------
    >>> check_corpus("my-corpus").passed  # doctest: +SKIP
    True

    """
    top = Path(folder).expanduser()
    sets = [SetFiles(top, subset) for subset in SETS if SetFiles(top, subset).list.is_file()]
    if not sets:
        unfinished = f"; {WORK} is there: build it to the end first" if (top / WORK).is_dir() else ""
        raise UsageError(f"{str(top)!r}: there is no corpus (no database/train/train.lst, dev, eval){unfinished}")
    found = _Findings()
    if (top / WORK).is_dir():
        found.problems.add(f"{top}: the corpus is not finished; give the command that builds it once more")
    about = _read_about(top / ABOUT)
    datasets = {}
    for files in sets:
        with progress(f"checking {files.subset}"):
            # what a reader only warns about is a problem here
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always", SpoofspanWarning)
                try:
                    datasets[files.subset] = _check_set(files, about, found)
                except SpoofspanError as error:
                    found.problems.add(f"{files.subset}: {error}")
            found.problems.add(*(f"{files.subset}: {one.message}" for one in warned))
    _check_across(datasets, about, found)
    return CorpusCheck(dict(found.looked_at), tuple(found.problems.found), found.problems.total)


def _read_about(path: Path) -> _About | None:
    """Content of corpus.json about the checked part; None without one."""
    if not path.is_file():
        return None
    try:
        content = read_json(path)
        return _About(
            Settings.from_dict(content["settings"]),
            set(content["held_out_attacks"]),
            {subset: one["sound_sha256"] for subset, one in content["sets"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: cannot be read ({error}); build the corpus again") from None


def _check_set(files: SetFiles, about: _About | None, found: _Findings) -> Dataset:
    # our own times are exact; others' are rounded to milliseconds
    snap = 0.0 if about is not None else None
    dataset = read_dataset(f"partialspoof:{files.folder}:{files.subset}", snap=snap)
    references = dataset.references
    found.looked_at["utterances"] += len(references)
    _check_sounds(files, references, found)
    label_references(references, Rules(nonspeech="ignore"))  # refuses gaps and ranges past the end
    found.looked_at["labelled ranges"] += references.starts.size
    _check_other_ranges(files, references, snap, found)
    _check_segments(files, references, found)
    if about is not None:
        _check_provenance(files, references, about.settings, found)
        noted = about.digests.get(files.subset)
        there = all(files.sound(utterance).is_file() for utterance in references.utterances)
        if there and noted != sound_digest(files, references.utterances):
            found.problems.add(f"{files.sounds}: sound files were changed since the corpus was built")
    return dataset


# ---------------------------------------------------------------- sound


def _check_sounds(files: SetFiles, references: References, found: _Findings) -> None:
    durations = durations_of(references, references.utterances)
    for utterance, duration in zip(references.utterances, durations.tolist(), strict=True):
        path = files.sound(utterance)
        if not path.is_file():
            found.problems.add(f"utterance {utterance!r}: there is no {path}")
            continue
        try:
            with wave.open(str(path), "rb") as file:
                form = (file.getnchannels(), file.getsampwidth(), file.getframerate())
                samples = len(file.readframes(file.getnframes())) // (form[0] * form[1])
        except (wave.Error, EOFError) as error:
            found.problems.add(f"{path}: no WAV file ({error})")
            continue
        found.looked_at["sound files"] += 1
        if form != (1, 2, RATE):
            found.problems.add(f"{path}: {form[0]} channels of {form[1]} bytes at {form[2]} Hz, not 1 of 2 at {RATE}")
        elif abs(samples * TICK - duration) > TICK // 2:
            found.problems.add(f"{path}: {samples * TICK / 1e9} s of sound, but the duration is {duration / 1e9} s")
    listed = set(references.utterances)
    for path in sorted(files.sounds.glob("*")):
        if path.stem not in listed:
            found.problems.add(f"{path}: it belongs to no utterance of {files.list}")


# ---------------------------------------------------------------- labels


def _check_other_ranges(files: SetFiles, references: References, snap: float | None, found: _Findings) -> None:
    """Compare every RTTM file with the one that is read by default; they differ in what they can say."""
    durations = read_durations(references)
    for path in sorted(files.data.glob("rttm_*")):
        other = read_references(path, durations=durations, format="rttm", snap=snap)
        difference = diff_references(references, other)
        bona_fide, nonspeech, unlabelled = 0, 2, 3  # of NAMES in reference_diff
        allowed = {(nonspeech, one) for one in range(4)} | {(one, nonspeech) for one in range(4)}
        if path.name.endswith("_spoof"):
            allowed.add((bona_fide, unlabelled))
        wrong = sum(difference.time[i][j] for i in range(4) for j in range(4) if i != j and (i, j) not in allowed)
        if wrong:
            found.problems.add(f"{path}: {wrong / 1e9:.6f} s are labelled differently from the default RTTM")
        found.looked_at["RTTM files"] += 1


def _check_segments(files: SetFiles, references: References, found: _Findings) -> None:
    if (references.labels == NONSPEECH).any():
        return  # segment labels know two classes
    for resolution in RESOLUTIONS:
        expected = segments_of(references, resolution)
        for suffix, form in ((".npz", "npz"), (".npy", "segment-labels")):
            path = files.segments(resolution, suffix)
            if not path.is_file():
                continue
            labels = read_references(
                path, durations=read_durations(references), format=form, hop=resolution, spoof_label=0
            )
            found.looked_at["files of segment labels"] += 1
            if set(labels.utterances) != set(expected):
                found.problems.add(f"{path}: its utterances are not those of {files.list}")
                continue
            for utterance, is_spoof in segments_of(labels, resolution).items():
                if not np.array_equal(is_spoof, expected[utterance]):
                    found.problems.add(f"{path}: utterance {utterance!r}: the labels are not those of the RTTM")


def segments_of(references: References, resolution: float) -> dict[str, npt.NDArray[np.bool_]]:
    """True if any of each segment is spoof, by utterance."""
    rules = Rules(gaps="bonafide", nonspeech="ignore", label="any")
    labelling, _ = label_references(references, rules)
    grid = Grid.over(labelling.extents, resolution, rules.last_point)
    is_spoof = np.concatenate(list(point_classes(labelling, grid, rules))) == SPOOF
    return dict(zip(references.utterances, np.split(is_spoof, grid.offsets[1:-1]), strict=True))


# ---------------------------------------------------------------- provenance


def _check_provenance(files: SetFiles, references: References, settings: Settings, found: _Findings) -> None:
    made = list(read_provenance(files.provenance))
    if [one.utterance for one in made] != list(references.utterances):
        raise DataError(f"{files.provenance}: its utterances are not those of {files.list}; build the corpus again")
    for one in made:
        if (why := _not_covering(one)) is not None:
            found.problems.add(f"{files.provenance}: utterance {one.utterance!r}: {why}")
            return
    ranges = {one.utterance: labelled_ranges(one, joints=settings.joints, nonspeech=settings.nonspeech) for one in made}
    expected = references_of(made, ranges)
    ours, read = (
        (list(written_ranges(one)), durations_of(one, one.utterances).tolist()) for one in (expected, references)
    )
    if ours != read:
        found.problems.add(f"{files.provenance}: its labels under the stated policies are not those of the RTTM")
    if settings.recipe == PARTIALSPOOF:
        numbers = class_numbers({attack for one in made for attack in one.attacks})
        lines = b"".join(second_generation_lines(made, numbers))
        if not files.second_generation.is_file() or files.second_generation.read_bytes() != lines:
            found.problems.add(f"{files.second_generation}: its labels are not those of the provenance")
    found.looked_at["stretches of known origin"] += sum(len(one.origins) for one in made)
    found.looked_at["joints"] += sum(len(one.joints) for one in made)


def _not_covering(one: Provenance) -> str | None:
    """Reason why stretches and joints do not cover every sample as they should."""
    if not one.origins or one.origins[0].start != 0 or one.origins[-1].end != one.samples:
        return "its stretches do not reach from the first sample to the last"
    if len(one.joints) != len(one.origins) - 1:
        return f"{len(one.origins)} stretches with {len(one.joints)} joints between them"
    for left, right, joint in zip(one.origins[:-1], one.origins[1:], one.joints, strict=True):
        if (joint.start, joint.end) != (right.start, left.end) or joint.start > joint.end:
            return f"the joint at sample {joint.start} is not where its stretches overlap"
    return None


# ---------------------------------------------------------------- sets


def _check_across(datasets: Mapping[str, Dataset], about: _About | None, found: _Findings) -> None:
    """Compare the sets with each other."""
    held_out = about.held_out if about is not None else set()
    seen: dict[tuple[str, str], str] = {}
    speakers: set[str] = set()
    for subset, dataset in datasets.items():
        if dataset.protocol is None:
            found.problems.add(f"{subset}: there is no protocol, so speakers are not known")
            continue
        speakers.update(dataset.protocol.speaker)
        names = [("utterance", one) for one in dataset.protocol.utterance]
        names += [("speaker", one) for one in sorted(set(dataset.protocol.speaker))]
        for what, name in names:
            other = seen.setdefault((what, name), subset)
            if other != subset:
                found.problems.add(f"{what} {name!r} is in {other} and in {subset}")
        heard = {one for one in dataset.protocol.attack if one is not None} | set(dataset.references.attack_names)
        if subset != "eval":
            for attack in sorted(heard & held_out):
                found.problems.add(f"the attack {attack} is held out for eval, but is in {subset}")
    found.looked_at["sets"] += len(datasets)
    found.looked_at["speakers"] += len(speakers)
