"""Build the folder of a challenge: what teams get, what the organisers keep, and a bundle for Codabench.

All of it is written beside the target, which it becomes when it is whole.
"""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import numpy as np

from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import UsageError
from spoofspan.base.locks import own_file, part_of
from spoofspan.challenge.definition import DEFINITION, DURATIONS, HIDDEN, PUBLIC, Definition, PublicPart
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.submission import ABOUT
from spoofspan.data.rules import rules_for
from spoofspan.data.scores import Scores
from spoofspan.evaluation.plan import spelled_rules
from spoofspan.formats.convert import write_scores
from spoofspan.formats.text.durations import read_durations, reco2dur_lines
from spoofspan.formats.writing import write_atomically
from spoofspan.report.names import measure_name
from spoofspan.report.table import json_text

README, SAMPLE, BUNDLE = "README.md", "sample_submission.zip", "codabench.zip"
SAMPLE_HOP = 0.16  # seconds, where the challenge names none: small files
FIRST_TIME = (1980, 1, 1, 0, 0, 0)  # of files in archives, so that equal content gives equal bytes


def build_challenge(
    folder: Path, definition: Definition, hidden: HiddenPart, *, docker_image: str | None = None
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

    Returns
    -------
    dict
        What was made, by its path in the folder.

    """
    from spoofspan.challenge.codabench import write_bundle

    for name in hidden.phases:
        definition.phase(name)
    public = PublicPart.of(definition, read_durations(hidden.references))
    with _new_folder(folder) as new:
        (new / HIDDEN).mkdir()
        (new / PUBLIC).mkdir()
        hidden.write(new / HIDDEN)
        _write_public(public, new / PUBLIC)
        write_bundle(new, public, docker_image)
    return {
        f"{PUBLIC}/": f"for teams: {len(public.utterances):,} utterances, durations, rules, a sample submission",
        f"{HIDDEN}/": "for the organisers: labels, groups, clusters",
        BUNDLE: "for codabench.org: it has the labels",
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


def _write_public(public: PublicPart, folder: Path) -> None:
    write_atomically(folder / DEFINITION, [json_text(public.definition.to_dict()).encode()])
    write_atomically(folder / DURATIONS, reco2dur_lines(public.extents))
    write_atomically(folder / README, [readme(public).encode()])
    write_scores(sample_scores(public), folder / "scores.parquet")
    sample = {"scores.parquet": (folder / "scores.parquet").read_bytes(), ABOUT: b'{"higher": "bonafide"}\n'}
    write_atomically(folder / SAMPLE, [zip_bytes(sample)])
    (folder / "scores.parquet").unlink()


def sample_scores(public: PublicPart) -> Scores:
    """Random scores of every utterance, the same for the same utterances."""
    hop = public.definition.hop or SAMPLE_HOP
    counts = np.maximum(np.ceil(public.extents.ends / (hop * 1e9) - 1e-6).astype(np.int64), 1)
    seed = int.from_bytes(sha256(public.utterances_hash.encode()).digest()[:8], "big")
    values = np.random.default_rng(seed).standard_normal(int(counts.sum())).round(2).astype(np.float32)
    return Scores.from_columns(public.utterances, offsets_of(counts), values, hop=hop, higher="bonafide")


def zip_bytes(files: Mapping[str, bytes]) -> bytes:
    """A zip archive; equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, FIRST_TIME)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, files[name])
    return buffer.getvalue()


def readme(public: PublicPart) -> str:
    """What teams have to know, in Markdown."""
    definition = public.definition
    rules, eer_rule = rules_for("range", definition.convention, definition.rules)
    spelled = {**spelled_rules("range", rules, 0), "EER rule": definition.eer_rule or eer_rule}
    for name in ("snap", "regions", "partial"):  # of the hidden part, or always the same
        spelled.pop(name, None)
    phases = [
        f"- {one.name}" + (f", from {one.start} UTC" if one.start else "") + (f" to {one.end} UTC" if one.end else "")
        for one in definition.phases
    ]
    measures = [f"- {measure_name(one)}: `{one}`" for one in definition.measures]
    measures[0] += ", which ranks"
    stated = [f"`{name}` is {value}" for name in ("hop", "higher") if (value := getattr(definition, name)) is not None]
    unless = f" Where it says nothing: {', '.join(stated)}." if stated else ""
    return f"""# {definition.title}

{len(public.utterances):,} utterances, {public.seconds / 3600:.2f} hours. `{DURATIONS}` has the id and the duration (in
seconds) of each; `{DEFINITION}` has everything below for programs.

## What to submit

Scores for all of the time of every utterance, in one file of any format that spoofspan reads: `<utterance> <frame>
<score>` a line, Parquet, npz, Kaldi archives and others. Submit the file alone, or a zip archive of the file and
`{ABOUT}`, which says what the file does not:

    {{"hop": 0.02, "higher": "bonafide"}}

`hop` is the spacing of the scores in seconds, `higher` says whether high scores mean `bonafide` or `spoof`.{unless}
`{SAMPLE}` is an example with random scores. At most {public.most_bytes:,} bytes, unpacked.

## Check it first

    spoofspan challenge check . my-submission.zip

says everything that is wrong with a submission. It needs no labels: what it says is what the organisers' check says.

## What is measured

{chr(10).join(measures)}

with intervals and ranks at a confidence of {100 * definition.confidence:g} %, under these rules
(`spoofspan explain rules`):

{chr(10).join(f"- {name}: {value}" for name, value in spelled.items())}

## Phases

{chr(10).join(phases)}

Submit all utterances in every phase; a phase may count some of them only.
"""
