"""Build the folder of a challenge: what teams get, what the organisers keep, and a bundle for Codabench.

All of it is written beside the target, which it becomes when it is whole.
"""

from __future__ import annotations

import io
import json
import shutil
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import Literal, cast

from spoofspan.base.errors import SpoofspanWarning, UndefinedMeasureError, UsageError, warn_user
from spoofspan.base.locks import own_file, part_of
from spoofspan.challenge.definition import DEFINITION, DURATIONS, HIDDEN, PUBLIC, UTTERANCES, Definition
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.instructions import SAMPLE, instructions
from spoofspan.challenge.measured_submission import System, measured_groups, measured_submission, of_groups
from spoofspan.challenge.public_part import PublicPart
from spoofspan.challenge.sample_submission import sample, sample_files
from spoofspan.challenge.submission import ABOUT
from spoofspan.challenge.team_results import Judge
from spoofspan.data.references import References
from spoofspan.data.utterance_scores import VerificationScores
from spoofspan.formats.text.durations import read_durations, reco2dur_lines
from spoofspan.formats.writing import write_atomically
from spoofspan.measures.measure import Measure
from spoofspan.report.table import json_text

README, BUNDLE = "README.md", "codabench.zip"
Platform = Literal["evalai", "huggingface"]
OTHER_PLATFORMS: Mapping[Platform, str] = {"evalai": "eval.ai", "huggingface": "a competition on huggingface.co"}
FIRST_TIME = (1980, 1, 1, 0, 0, 0)  # of files in archives, so that equal content gives equal bytes


def build_challenge(
    folder: Path,
    definition: Definition,
    hidden: HiddenPart,
    *,
    docker_image: str | None = None,
    platforms: Sequence[Platform] = (),
) -> dict[str, str]:
    """Build a challenge.

    Parameters
    ----------
    folder
        To be made.
    definition
        What is measured, and how.
    hidden
        The labels, and what they are grouped by.
    docker_image
        For Codabench: an image with Python 3.10 or newer.
    platforms
        Others than Codabench to make bundles for: ``"evalai"``, ``"huggingface"``.

    Returns
    -------
    dict
        What was made, by its path in the folder.

    """
    from spoofspan.challenge.codabench import write_bundle
    from spoofspan.challenge.other_platforms import evalai_bundle, huggingface_bundle

    bundles = {"evalai": evalai_bundle, "huggingface": huggingface_bundle}

    for name in hidden.phases:
        definition.phase(name)
    hidden.fit(definition)
    timed = definition.submissions != "utterance-scores"
    public = PublicPart.of(definition, read_durations(cast("References", hidden.truth)) if timed else hidden.utterances)
    if caution := hidden.telling_ids():
        warn_user(caution, SpoofspanWarning)
    with _new_folder(folder) as new:
        (new / HIDDEN).mkdir()
        (new / PUBLIC).mkdir()
        try_measures(public, hidden.write(new / HIDDEN))
        _write_public(public, new / PUBLIC)
        write_bundle(new, public, docker_image)
        for name in platforms:
            write_atomically(new / f"{name}.zip", [bundles[name](new, public)])
    return {
        f"{PUBLIC}/": f"for teams: {len(public.utterances):,} utterances, durations, rules, a sample submission",
        f"{HIDDEN}/": "for the organisers: labels, groups, clusters",
        BUNDLE: "for codabench.org: it has the labels",
        **{f"{name}.zip": f"for {OTHER_PLATFORMS[name]}: it has the labels" for name in platforms},
    }


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    """A folder that takes its place when all is written."""
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {str(target.parent)!r}; create it first")
    part = part_of(target)
    with own_file(part, repr(str(target))):  # also to remove what one that was killed left beside the whole folder
        if target.exists():
            raise UsageError(f"{str(target)!r} exists; choose another name, or remove it")
        work = part.with_suffix(".building")
        shutil.rmtree(work, ignore_errors=True)  # of one that was killed
        work.mkdir()
        try:
            yield work
            work.rename(target)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def try_measures(public: PublicPart, hidden: HiddenPart) -> None:
    """Measure random submissions, so that what cannot be measured is refused now, and not when teams submit."""
    definition, system = public.definition, sample(public)
    for phase in ("", *hidden.phases):  # all utterances, and those of phases that count some
        judge = Judge(public, hidden.of_phase(phase), phase)
        some = judge.counted(system)
        for measure in definition.parsed:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SpoofspanWarning)
                try:
                    measured_submission(judge.hidden, definition, some, measure, 0.5, "")
                except UndefinedMeasureError as error:
                    if phase:
                        few = f"{len(judge.hidden.utterances):,} utterances that count in the phase {phase!r}"
                        raise UndefinedMeasureError(f"{measure} has no value on the {few}; let more count") from None
                    raise UndefinedMeasureError(f"{measure} has no value on these labels: {error}") from None
    if isinstance(hidden.asv, VerificationScores) and Measure.parse(of_groups(definition)).kind.needs_asv:
        for by in hidden.by:
            _try_groups(hidden, definition, system, by)


def _try_groups(hidden: HiddenPart, definition: Definition, system: System, by: str) -> None:
    """Refuse a column that the trials of the verification system do not have."""
    groups = measured_groups(hidden, definition, system, by, 0.5, hidden.resampling(definition.confidence))
    if all(isnan(one["value"]) for one in groups):
        raise UsageError(
            f"by={by!r}: {of_groups(definition)} has no value in any group; the verification scores must tell which "
            "trials are in which: give a table with a score of each trial of REFERENCES (spk, filename, asv-score) as "
            "--asv-scores"
        )


def _write_public(public: PublicPart, folder: Path) -> None:
    write_atomically(folder / DEFINITION, [json_text(public.definition.to_dict()).encode()])
    if public.definition.submissions == "utterance-scores":
        write_atomically(folder / UTTERANCES, [f"{utt}\n".encode() for utt in public.utterances])
    else:
        write_atomically(folder / DURATIONS, reco2dur_lines(public.extents))
    write_atomically(folder / README, [instructions(public).encode()])
    about: dict[str, object] = {"higher": "bonafide"} if public.definition.submissions == "scores" else {}
    if any(map(public.definition.takes_threshold, public.definition.parsed)):
        about["threshold"] = 0.5
    files = sample_files(public)
    if about:
        files[ABOUT] = f"{json.dumps(about)}\n".encode()
    write_atomically(folder / SAMPLE, [zip_bytes(files)])


def zip_bytes(files: Mapping[str, bytes]) -> bytes:
    """A zip archive; equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, FIRST_TIME)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, files[name])
    return buffer.getvalue()
