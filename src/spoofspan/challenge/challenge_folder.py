"""Build the folder of a challenge: what teams get, what the organisers keep, and a bundle for Codabench.

All of it is written beside the target, which it becomes when it is whole.
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from math import isnan
from pathlib import Path
from typing import Literal, cast

import numpy as np

from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import SpoofspanWarning, UndefinedMeasureError, UsageError, warn_user
from spoofspan.base.locks import own_file, part_of
from spoofspan.challenge.definition import (
    COUNTS,
    DEFINITION,
    DURATIONS,
    HIDDEN,
    PUBLIC,
    README,
    SAMPLE,
    TIES,
    UTTERANCES,
    Definition,
    PublicPart,
)
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.platforms import BUNDLES, OTHER_PLATFORMS, Platform, filled, zip_bytes
from spoofspan.challenge.published_numbers import MOST_LLR
from spoofspan.challenge.submission import ABOUT, System
from spoofspan.challenge.team_results import Judge, measured_groups, measured_submission, of_groups
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.rules import rules_for
from spoofspan.data.scores import Higher, Scores
from spoofspan.data.utterance_scores import UtteranceScores, VerificationScores
from spoofspan.formats.datasets.proposals import write as write_proposals
from spoofspan.formats.tables.parquet import write_scores as write_parquet
from spoofspan.formats.text.durations import read_durations, reco2dur_lines
from spoofspan.formats.text.utterance_scores import write_asvspoof5
from spoofspan.formats.writing import write_atomically
from spoofspan.measures.measure import Measure
from spoofspan.report.cells import measure_name
from spoofspan.report.table import json_text

SAMPLE_HOP = 0.16  # seconds, where the challenge names none: small files


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
        for name in ("codabench", *platforms):
            write_atomically(new / f"{name}.zip", [zip_bytes(BUNDLES[name](new, public, docker_image))])
    return {
        f"{PUBLIC}/": f"for teams: {len(public.utterances):,} utterances, durations, rules, a sample submission",
        f"{HIDDEN}/": "for the organisers: labels, groups, clusters",
        "codabench.zip": "for codabench.org: it has the labels",
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


# ---------------------------------------------------------------- what teams read


def instructions(public: PublicPart) -> str:
    """Instructions for teams, in Markdown: the README of the public part."""
    definition = public.definition
    at = [f"`{one}`" for one in definition.parsed if definition.takes_threshold(one)]
    usual = {"hop": definition.hop} if definition.submissions == "boundary-scores" else definition.usual
    return filled(
        "instructions.md",
        challenge=definition,
        utterances=f"{len(public.utterances):,}",
        hours=f"{public.seconds / 3600:.2f}" if public.ends.size else "",
        several=any(" " in utt for utt in public.utterances),
        at=", ".join(at),
        stated=", ".join(f"`{name}` is {value}" for name, value in usual.items() if value is not None),
        most_bytes=f"{public.most_bytes:,}",
        measures={one: measure_name(one) for one in definition.measures},
        tandem=any(one.kind.needs_asv for one in definition.parsed),
        confidence=f"{100 * definition.confidence:g}",
        rules=_rules(definition),
        policy=(COUNTS[definition.counts], TIES[definition.ties]),
        most_llr=f"{MOST_LLR:g}" if any(one.kind.declared for one in definition.parsed) else "",
    )


def _rules(definition: Definition) -> dict[str, str]:
    """The rules as they are spelled; of submissions that are not in time, those that were stated."""
    spelled = {name: str(value) for name, value in definition.rules.items()}
    if definition.takes_timed_scores:
        basis: Literal["range", "point"] = "range" if definition.submissions == "scores" else "point"
        rules, eer_rule = rules_for(basis, definition.convention, definition.rules)
        spelled = {**rules.spelled(basis), "EER rule": definition.eer_rule or eer_rule}
        if not rules.collar:
            del spelled["collar_edges"]
    hidden = ("snap", "regions", "partial")  # of the hidden part, or always the same
    return {name: value for name, value in spelled.items() if name not in hidden}


# ---------------------------------------------------------------- a random submission


def sample_files(public: PublicPart) -> dict[str, bytes]:
    """A random submission as files, by name."""
    system = sample(public)
    if isinstance(system, Proposals):
        return {"proposals.json": b"".join(write_proposals(system))}
    if isinstance(system, UtteranceScores):
        return {"scores.tsv": b"".join(_score_lines(system))}
    return {"scores.parquet": b"".join(write_parquet(system))}


def _score_lines(scores: UtteranceScores) -> Iterator[bytes]:
    """``filename TAB cm-score``; with a column of speakers, if recordings are tried against several."""
    if not any(" " in utt for utt in scores.utterances):
        yield from write_asvspoof5(scores)
        return
    yield b"spk\tfilename\tcm-score\n"
    for utt, value in zip(scores.utterances, scores.values.tolist(), strict=True):
        speaker, _, name = utt.partition(" ")
        yield f"{speaker}\t{name}\t{value!r}\n".encode()


def sample(public: PublicPart) -> System:
    """Random scores or proposals of every utterance, the same for the same utterances."""
    definition, utterances = public.definition, public.utterances
    seed = int.from_bytes(sha256(public.utterances_hash.encode()).digest()[:8], "big")
    rng = np.random.default_rng(seed)
    draw = rng.random if definition.scores_are == "probability" else rng.standard_normal
    if definition.submissions == "utterance-scores":
        return UtteranceScores(utterances, draw(len(utterances)).round(2), "bonafide")
    if definition.submissions == "proposals":
        starts = (0.25 * public.ends).astype(np.int64)
        offsets = np.arange(len(utterances) + 1)
        return Proposals(utterances, offsets, rng.random(len(utterances)).round(2), starts, 3 * starts)
    hop = definition.hop or SAMPLE_HOP
    counts = np.maximum(np.ceil(public.ends / (hop * 1e9) - 1e-6).astype(np.int64), 1)
    values = draw(int(counts.sum())).round(2).astype(np.float32)
    higher: Higher = "spoof" if definition.submissions == "boundary-scores" else "bonafide"
    return Scores.from_columns(utterances, offsets_of(counts), values, hop=hop, higher=higher)
