"""Reading references and scores from wherever they are, in whatever format they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from spoofspan.base.errors import DataError, UsageError
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.rules import Modality
from spoofspan.data.scores import Higher, Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.arrays.kaldi import read_label2id
from spoofspan.formats.arrow import release_unused
from spoofspan.formats.format import OF_REFERENCES, Format, ReadOptions, Registry, T
from spoofspan.formats.identify import Contents, naming_misplaced
from spoofspan.formats.registry import PROPOSAL_FORMATS, REFERENCE_FORMATS, SCORE_FORMATS, UTTERANCE_SCORE_FORMATS
from spoofspan.formats.sources import Source, Where, counted, naming, sources
from spoofspan.formats.text.durations import read_durations
from spoofspan.formats.text.protocol import read_utterance_labels
from spoofspan.formats.text.utterance_tables import has_only_labels, layout_of


def read_references(
    where: Where | Sequence[Where],
    *,
    durations: Where | Mapping[str, float] | References | None = None,
    format: str | None = None,
    hop: float | None = None,
    snap: float | None = None,
    split: str | None = None,
    modality: Modality | None = None,
    subset: str | None = None,
    spoof_label: int | None = None,
) -> References:
    r"""Read references from files of any format.

    Parameters
    ----------
    where
        A file, a folder, a glob, an address (``s3://...``), ``-`` for standard input, an open binary file, or several
        of these.
    durations
        A reco2dur file, a dict of seconds, or references that have durations.
    format
        The name of the format (see ``docs/formats.md``) where the content does not show it.
    hop
        The resolution of label arrays in seconds.
    snap
        How far rounded edges may miss each other, in seconds; otherwise what suits the format.
    split
        Which part of metadata that hold several ("test"); all of them otherwise.
    modality
        Whose fakes are spoof in audio-visual metadata: "any" (sound or picture; what the benchmarks rank), "audio",
        "visual".
    subset
        Which files of LAV-DF count: "full", or its protocols "audio" and "visual", without the files in which only the
        other one is fake.
    spoof_label
        Which of the labels 0 and 1 means spoof, in arrays and tables of numbers. Words ("bonafide", "spoof") and
        PartialSpoof's segment labels need no such statement.

    Returns
    -------
    references : References
        Those of all files together.

    Raises
    ------
    DataError
        If the content is wrong; up to 20 problems at once, each with file and line.
    UsageError
        If there is no such file, or the format needs something that was not given.

    Examples
    --------
    >>> import io
    >>> line = b"SPEAKER u1 1 0.000 1.200 <NA> <NA> bonafide <NA> <NA>\n"
    >>> read_references(io.BytesIO(line), durations={"u1": 1.2})
    References(1 utterance, 1 ranges: 1.200 s bona fide)

    """
    known = None if durations is None else read_durations(durations)
    options = ReadOptions(
        durations=known,
        hop=hop,
        snap=snap,
        split=split,
        modality=modality,
        subset=subset,
        spoof_label=spoof_label,
    )
    return read_with(REFERENCE_FORMATS, where, format, options, refusable=OF_REFERENCES)


def read_truth(
    where: Where | Sequence[Where], *, format: str | None = None, **options: Any
) -> References | Mapping[str, str]:
    r"""Read references, or labels of whole utterances from a file that has no times.

    ``options`` are those of :func:`read_references`.

    >>> import io
    >>> read_truth(io.BytesIO(b"filename\tcm-label\nu1\tspoof\n"))
    {'u1': 'spoof'}
    """
    if format is not None:
        return read_references(where, format=format, **options)
    found = Contents(where)
    if found.has_only_labels:
        return read_utterance_labels(found.sources[0], options.get("spoof_label"))
    try:
        return read_references(found.sources, **options)
    except DataError:
        # a table whose columns its first bytes do not show
        layout = layout_of(found.sources[0], ()) if len(found.sources) == 1 else None
        if layout is None or not has_only_labels(layout):
            raise
    return read_utterance_labels(found.sources[0], options.get("spoof_label"))


def read_scores(
    where: Where | Sequence[Where],
    *,
    hop: float | None = None,
    higher: Higher | None = None,
    column: str | None = None,
    format: str | None = None,
    durations: Where | Mapping[str, float] | References | None = None,
    snap: float | None = None,
    label2id: Where | Mapping[str, int] | None = None,
) -> Scores:
    r"""Read scores from files of any format.

    Parameters
    ----------
    where
        As in :func:`read_references`.
    hop
        The spacing of frames in seconds, where neither the file nor its name states it.
    higher
        What high scores mean, "bonafide" or "spoof", where the format does not state it.
    column
        Which column or class holds the score, where there are several.
    format
        The name of the format (see ``docs/formats.md``) where the content does not show it.
    durations
        For hard decisions: the utterances that were decided on; those without a range may be missing in the file.
    snap
        For hard decisions: how far rounded edges may miss each other, in seconds.
    label2id
        Which column of an archive is which class: a JSON file or a dict.

    Returns
    -------
    Scores

    Raises
    ------
    DataError
        If the content is wrong; up to 20 problems at once, each with file and line.
    UsageError
        If there is no such file, or the format needs something that was not given.

    Examples
    --------
    >>> import io
    >>> read_scores(io.BytesIO(b"u1 0 0.9\nu1 1 -0.4\n"), hop=0.02, higher="bonafide")
    Scores(1 utterance, 2 frames of 20 ms, float64, higher = bonafide)

    """
    ids = None if label2id is None else read_label2id(label2id)
    options = ReadOptions(hop=hop, higher=higher, column=column, snap=snap, label2id=ids)
    return read_with(SCORE_FORMATS, where, format, options, ("snap", "label2id"), durations)


def read_utterance_scores(
    where: Where | Sequence[Where],
    format: str | None = None,
    *,
    column: str | None = None,
    higher: Higher | None = None,
) -> UtteranceScores:
    r"""Read one score per utterance from files of any format.

    Parameters
    ----------
    where
        As in :func:`read_references`.
    format
        The name of the format (see ``docs/formats.md``) where the content does not show it.
    column
        Which score, where there are several: a class ("bonafide"), a resolution ("20ms") or a column of a table.
    higher
        What high scores mean, "bonafide" or "spoof", where the format does not state it.

    Returns
    -------
    UtteranceScores

    Examples
    --------
    >>> import io
    >>> read_utterance_scores(io.BytesIO(b"u1.mp4;0.9\nu2.mp4;0.2\n"))
    UtteranceScores(2 utterances, higher = spoof)

    """
    contents = Contents(where)
    default = "utterance-table" if format is None and contents.is_other_table else None
    given = where if format is not None else contents.sources
    return read_with(UTTERANCE_SCORE_FORMATS, given, format, ReadOptions(higher=higher, column=column), default=default)


def read_proposals(where: Where | Sequence[Where], *, fps: float | None = None, format: str | None = None) -> Proposals:
    """Read proposals from JSON files of AV-Deepfake1M or LAV-DF, or from CSV.

    Parameters
    ----------
    where
        As in :func:`read_references`.
    fps
        The frames per second of times that are frame numbers; without it, times are seconds.
    format
        The name of the format (see ``docs/formats.md``) where the content does not show it.

    Returns
    -------
    Proposals

    Examples
    --------
    >>> import io
    >>> read_proposals(io.BytesIO(b'{"u1.mp4": [[0.9, 0.5, 1.25]]}'))
    Proposals(1 utterance, 1 proposal)

    """
    return read_with(PROPOSAL_FORMATS, where, format, ReadOptions(fps=fps), default="proposals")


def check_unused_columns(where: Where | Sequence[Where], format: str | None, options: ReadOptions) -> list[str]:
    """Problems with columns of scores that are not measured, and so not looked at when scores are read."""
    found, chosen = choose_format(SCORE_FORMATS, where, format, options)
    problems = []
    for column in chosen.columns:
        if column != (options.column or chosen.columns[0]):
            try:
                # what high values mean is of no interest here, but some columns must be told it
                higher: Higher | None = "bonafide" if column == "score0" else None
                with counted(found) as watched:
                    chosen.read(watched, replace(options, column=column, higher=higher))
            except DataError as error:
                problems.append(f"column {column!r}, which is not measured: {error}")
    return problems


def read_with(
    registry: Registry[T],
    where: Where | Sequence[Where],
    name: str | None,
    options: ReadOptions,
    refusable: Sequence[str] = (),
    durations: Where | Mapping[str, float] | References | None = None,
    default: str | None = None,
) -> T:
    """Read sources in the named format, in that which their content shows, or else in the ``default``.

    ``durations`` are read for formats that take them; others need not wait for them.
    """
    found, chosen = choose_format(registry, where, name, options, refusable, default)
    if durations is not None and "durations" in chosen.takes:
        options = replace(options, durations=read_durations(durations))
    try:
        with counted(found) as watched, naming([source.name for source in found]):
            return chosen.read(watched, options)
    except MemoryError:
        names = found[0].name if len(found) == 1 else f"{found[0].name} and {len(found) - 1} more"
        raise DataError(
            f"{names}: what the format {chosen.name} says is in there does not fit into memory; is the file what it "
            "should be? Scores and references larger than memory are measured by spoofspan eval --stream"
        ) from None
    except DataError as error:
        if name is None and len(found) > 1:
            registry.refuse_mixture(chosen, found)
        if chosen.explain is not None and (why := chosen.explain(found)):
            raise DataError(why) from error
        raise
    finally:
        # what both sides need at most must not add up: references of 30 MB leave 80 MB that nobody uses
        release_unused()


def choose_format(
    registry: Registry[T],
    where: Where | Sequence[Where],
    name: str | None,
    options: ReadOptions,
    refusable: Sequence[str] = (),
    default: str | None = None,
) -> tuple[list[Source], Format[T]]:
    """Find the sources, and the format that was named or that their content shows.

    ``refusable`` options are refused if they were given and mean nothing to the format.
    """
    chosen = None if name is None else registry.named(name)
    found = sources(where, chosen.suffixes if chosen is not None else ())
    if chosen is None:
        with naming_misplaced(registry, found):
            chosen = registry.recognise_one_of(found, default, options.column)
    options.refuse_unsaid(f"{found[0].name}: the format {chosen.name}", chosen.needs)
    for option in refusable:
        if getattr(options, option) is not None and option not in chosen.takes:
            raise UsageError(f"{found[0].name}: {option}= means nothing in the format {chosen.name}; leave it out")
    return found, chosen
