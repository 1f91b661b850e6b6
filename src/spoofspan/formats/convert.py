"""Converting files between formats: read once, write whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path, PurePath
from typing import Any

from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.times import warn_of_milliseconds
from spoofspan.data.bare_ids import with_bare_ids
from spoofspan.data.front_door import check_references, check_scores
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.arrays import npz, segment_labels
from spoofspan.formats.file_names import is_official_labels, stated_resolution, unpacked_name
from spoofspan.formats.format import OF_REFERENCES, Format, ReadOptions, Registry, T, first_with_content
from spoofspan.formats.identify import Contents, is_utterance_scores
from spoofspan.formats.reading import read_with
from spoofspan.formats.registry import PROPOSAL_FORMATS, REFERENCE_FORMATS, SCORE_FORMATS, UTTERANCE_SCORE_FORMATS
from spoofspan.formats.sources import Source, sources
from spoofspan.formats.tables.parquet import kind_of
from spoofspan.formats.text import hypotheses
from spoofspan.formats.text.durations import read_durations, reco2dur_lines
from spoofspan.formats.writing import check_target, write_atomically

# What the end of a file name says about its format.
BY_SUFFIX = {f".{name}": name for name in ("parquet", "arrow", "csv", "tsv", "jsonl", "npz")} | {".feather": "arrow"}
REFERENCES_BY_SUFFIX = {**BY_SUFFIX, ".rttm": "rttm", ".npy": "segment-labels", ".TextGrid": "textgrid"}
SCORES_BY_SUFFIX = BY_SUFFIX | {".rttm": "hypothesis-rttm", ".pkl": "partialspoof-pickle"}
SCORES_BY_SUFFIX |= {".ark": "kaldi-ark", ".npy": "npy-dict"}
UTTERANCES_BY_SUFFIX = {".score": "utt-score", ".tsv": "asvspoof5", ".txt": "asvspoof5"}
PROPOSALS_BY_SUFFIX = {".json": "proposals", ".csv": "proposals-csv"}
WRITTEN: dict[type, tuple[Registry[Any], Mapping[str, str]]] = {
    References: (REFERENCE_FORMATS, REFERENCES_BY_SUFFIX),
    Scores: (SCORE_FORMATS, SCORES_BY_SUFFIX),
    UtteranceScores: (UTTERANCE_SCORE_FORMATS, UTTERANCES_BY_SUFFIX),
    Proposals: (PROPOSAL_FORMATS, PROPOSALS_BY_SUFFIX),
}
CONVERTED: dict[str, Registry[Any]] = {
    "references": REFERENCE_FORMATS,
    "scores": SCORE_FORMATS,
    "utterance-scores": UTTERANCE_SCORE_FORMATS,
}


def convert(
    source: str,
    target: str,
    *,
    kind: str | None = None,
    from_format: str | None = None,
    to_format: str | None = None,
    durations: str | None = None,
    durations_out: str | None = None,
    force: bool = False,
    bare_ids: bool = False,
    **options: Any,
) -> str:
    """Convert one file and say what was done; ``options`` are those of :class:`.ReadOptions`."""
    if kind not in (None, *CONVERTED):
        raise UsageError(f"--kind {kind}: must be one of {', '.join(CONVERTED)}")
    told = ReadOptions(**options)
    meant = "references" if told.spoof_label is not None else "scores" if told.higher is not None else None
    # a format that is named says which files of a folder are read
    where: str | list[Source] = sources(source) if from_format is None else source
    chosen = kind or _kind(where, from_format, meant)
    if chosen == "references" and durations is not None:
        told, durations = replace(told, durations=read_durations(durations)), None
    refusable = OF_REFERENCES if chosen == "references" else ()
    content = read_with(CONVERTED[chosen], where, from_format, told, refusable, durations)
    content = with_bare_ids(content) if bare_ids else content
    return write_converted(content, target, to_format=to_format, hop=told.hop, durations_out=durations_out, force=force)


def holds_proposals(target: str, to_format: str | None) -> bool:
    """True if a file is to hold ranges with a confidence, rather than labels of all time."""
    return (to_format or PROPOSALS_BY_SUFFIX.get(_suffix(target))) in PROPOSAL_FORMATS.formats


def write_converted(
    content: References | Scores | UtteranceScores | Proposals,
    target: str,
    *,
    to_format: str | None = None,
    hop: float | None = None,
    durations_out: str | None = None,
    force: bool = False,
) -> str:
    """Write what was read, and say what was done; ``hop`` is the resolution (seconds) of label arrays.

    A target that ends in a slash is a folder, with a file for each utterance.
    """
    if durations_out is not None and not isinstance(content, References):
        raise UsageError("--durations-out goes with references")
    warn_of_milliseconds(hop, "hop")
    if isinstance(content, UtteranceScores) and len(content.columns) > 1:
        raise UsageError(
            f"these utterances have several scores, {', '.join(content.columns)}; name the one to read: column= "
            "(--column)"
        )
    chosen = _format(*WRITTEN[type(content)], target, to_format)
    if isinstance(content, Scores) and content.decisions and chosen not in hypotheses.FORMATS:
        holds = ", ".join(one.name for one in hypotheses.FORMATS)
        raise UsageError(
            f"{chosen.name} cannot hold hard decisions: they would be read back as scores, and get an EER; choose "
            f"one of {holds} with --to, or convert them as references with --kind references"
        )
    if isinstance(content, References) and durations_out is not None:
        write_atomically(durations_out, reco2dur_lines(content), force)
    if target.endswith(("/", os.sep)):
        _write_folder(chosen, content, Path(target).expanduser(), force)
    else:
        write_atomically(target, _chunks(chosen, content, target, hop), force)
    digits = chosen is npz.LABELS_NPZ or (chosen is segment_labels.FORMAT and is_official_labels(target))
    labels = "; 0 means spoof, 1 bona fide" if digits else ""
    return f"{content!r} -> {target} ({chosen.name}{labels})"


def _write_folder(chosen: Format[Any], content: Any, folder: Path, force: bool) -> None:
    """Write a file for each utterance, none of them if one exists and must not be replaced."""
    if chosen.write_files is None:
        raise UsageError(f"{chosen.name} is one file for all utterances; give OUT without a slash at its end")
    files = dict(chosen.write_files(content))
    if not folder.is_dir():
        try:
            folder.mkdir()
        except OSError as error:
            raise UsageError(f"the folder {str(folder)!r} cannot be made ({error.strerror or error})") from None
    for name in files:
        check_target(folder / name, force)
    for name, lines in files.items():
        write_atomically(folder / name, [lines], force)


def write_references(
    references: References,
    target: str | PathLike[str],
    *,
    format: str | None = None,
    hop: float | None = None,
    durations: str | PathLike[str] | None = None,
    force: bool = False,
) -> None:
    """Write references to a file, whole or not at all.

    Parameters
    ----------
    references : References
        Reference labels.
    target
        The file. The end of its name tells the format: .rttm, .parquet, .csv, .jsonl, ...
    format
        The name of the format (see ``docs/formats.md``) where the name of the file does not tell.
    hop
        The resolution of label arrays in seconds.
    durations
        Also write a reco2dur file, for formats that have no durations.
    force
        Replace an existing file.

    Examples
    --------
    >>> import tempfile
    >>> from spoofspan.formats.reading import read_references
    >>> references = References.from_ranges({"u1": [(0.0, 1.2, "bonafide")]}, durations={"u1": 1.2})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_references(references, f"{folder}/labels.parquet")
    ...     read_references(f"{folder}/labels.parquet")
    References(1 utterance, 1 ranges: 1.200 s bona fide)

    """
    check_references(references)
    out = None if durations is None else str(durations)
    write_converted(references, str(target), to_format=format, hop=hop, durations_out=out, force=force)


def write_scores(
    scores: Scores | UtteranceScores, target: str | PathLike[str], *, format: str | None = None, force: bool = False
) -> None:
    """Write scores to a file, whole or not at all.

    Parameters
    ----------
    scores
        What a system said, in time or of whole utterances.
    target, format, force
        As in :func:`write_references`. Utterance scores: .score, .tsv (ASVspoof 5).

    Examples
    --------
    >>> import tempfile
    >>> from spoofspan.formats.reading import read_scores
    >>> scores = Scores.from_frames({"u1": [0.9, -0.4]}, hop=0.02, higher="bonafide")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_scores(scores, f"{folder}/scores.parquet")
    ...     read_scores(f"{folder}/scores.parquet")
    Scores(1 utterance, 2 frames of 20 ms, float64, higher = bonafide)

    """
    if not isinstance(scores, UtteranceScores):
        check_scores(scores)
    write_converted(scores, str(target), to_format=format, force=force)


def _kind(where: str | list[Source], name: str | None, told: str | None) -> str:
    """Find out which of these a file holds; where it could be references or scores, options have ``told`` it."""
    if name is not None:
        could_be = [kind for kind, registry in CONVERTED.items() if name in registry.formats]
    else:
        known = Contents(where)
        first = first_with_content(known.sources)
        if not first.head.strip():
            raise DataError(f"{first.name}: the file is empty")
        if first.head.startswith(b"PAR1") and (stated := kind_of(first)) is not None:
            return stated
        # decisions look like the references they would be; they are taken for such, and --kind scores says otherwise
        in_scores = any(one not in hypotheses.FORMATS for one in SCORE_FORMATS.fits(first))
        fits = (bool(REFERENCE_FORMATS.fits(first)), in_scores, is_utterance_scores(known, None, labels=False))
        could_be = [kind for kind, fit in zip(CONVERTED, fits, strict=True) if fit]
    if told in could_be:
        return told
    if len(could_be) != 1:
        shown = where if isinstance(where, str) else where[0].name
        raise DataError(f"{shown}: cannot tell whether this is {', '.join(could_be or CONVERTED)}; say it with --kind")
    return could_be[0]


def _format(registry: Registry[T], by_suffix: Mapping[str, str], target: str, name: str | None) -> Format[T]:
    """The format that was named, or that the name of the file tells."""
    chosen = name or by_suffix.get(_suffix(target))
    valid = ", ".join(name for name, one in registry.formats.items() if one.write is not None)
    if chosen is None:
        raise UsageError(f"{target}: the name does not show the format; give format= (--to): {valid}")
    if chosen not in registry.formats:
        raise UsageError(f"{chosen} is no format for this kind of content; valid: {valid}")
    return registry.formats[chosen]


def _suffix(target: str) -> str:
    return PurePath(unpacked_name(target)).suffix


def _chunks(chosen: Format[Any], content: Any, target: str, hop: float | None) -> Iterable[bytes]:
    if chosen is segment_labels.FORMAT:
        return segment_labels.write(content, stated_resolution(target, hop), words=not is_official_labels(target))
    if chosen is npz.LABELS_NPZ:
        return npz.write_labels_npz(content, stated_resolution(target, hop))
    if chosen.write is None:
        raise UsageError(f"the format {chosen.name} can be read but not written; choose another with --to")
    return chosen.write(content)
