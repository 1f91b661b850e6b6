"""Reading references and scores from wherever they are, in whatever format they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from spoofspan.base.byte_count import counted
from spoofspan.base.errors import DataError, UsageError
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.scores import Higher, Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.arrays.kaldi import read_label2id
from spoofspan.formats.format import Format, ReadOptions, Registry, T
from spoofspan.formats.registry import PROPOSAL_FORMATS, REFERENCE_FORMATS, SCORE_FORMATS, UTTERANCE_SCORE_FORMATS
from spoofspan.formats.sources import Source, Where, sources
from spoofspan.formats.text.durations import read_durations


def read_references(
    where: Where | Sequence[Where],
    *,
    durations: Where | Mapping[str, float] | References | None = None,
    format: str | None = None,
    hop: float | None = None,
    snap: float | None = None,
    split: str | None = None,
) -> References:
    """Read references from a file, a folder, a glob, an address, ``-`` or several of these.

    ``durations`` is a reco2dur file or a dict of seconds; ``format`` names the format where its content does not;
    ``hop`` is the resolution (seconds) of label arrays; ``snap`` overrides how far rounded edges may miss each other;
    ``split`` takes one part of metadata that hold several ("test"), all of them otherwise.
    """
    known = None if durations is None else read_durations(durations)
    options = ReadOptions(durations=known, hop=hop, snap=snap, split=split)
    return read_with(REFERENCE_FORMATS, where, format, options, refusable=("split",))


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
    """Read scores from a file, a folder, a glob, an address, ``-`` or several of these.

    ``hop`` (seconds) and ``higher`` ("bonafide" or "spoof") are needed where the format does not state them.
    ``label2id`` (a JSON file or a dict) says which column of an archive is which class. For hard decisions,
    ``durations`` lists the utterances that were decided on (those without a range may be missing in the file), and
    ``snap`` overrides how far rounded edges may miss each other.
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
    """Read utterance scores from a file, a folder, a glob, an address, ``-`` or several of these.

    ``format`` names the format where its content does not; ``column`` chooses one of several scores.
    """
    return read_with(UTTERANCE_SCORE_FORMATS, where, format, ReadOptions(higher=higher, column=column))


def read_proposals(where: Where | Sequence[Where], *, fps: float | None = None) -> Proposals:
    """Read proposals from JSON files of AV-Deepfake1M or LAV-DF.

    Times are seconds, or with ``fps`` frame numbers at so many frames per second (1 = seconds).
    """
    return read_with(PROPOSAL_FORMATS, where, "proposals", ReadOptions(fps=fps))


def read_with(
    registry: Registry[T],
    where: Where | Sequence[Where],
    name: str | None,
    options: ReadOptions,
    refusable: Sequence[str] = (),
    durations: Where | Mapping[str, float] | References | None = None,
) -> T:
    """Read sources in the named format, or in that which their content shows.

    ``durations`` are read for formats that take them; others need not wait for them.
    """
    found, chosen = choose_format(registry, where, name, options, refusable)
    if durations is not None and "durations" in chosen.takes:
        options = replace(options, durations=read_durations(durations))
    try:
        with counted(found) as watched:
            return chosen.read(watched, options)
    except DataError:
        if name is None and len(found) > 1:
            registry.refuse_mixture(chosen, found)
        raise


def choose_format(
    registry: Registry[T],
    where: Where | Sequence[Where],
    name: str | None,
    options: ReadOptions,
    refusable: Sequence[str] = (),
) -> tuple[list[Source], Format[T]]:
    """Find the sources, and the format that was named or that their content shows.

    ``refusable`` options are refused if they were given and mean nothing to the format.
    """
    chosen = None if name is None else registry.named(name)
    found = sources(where, chosen.suffixes if chosen is not None else ())
    if chosen is None:
        chosen = registry.recognise_one_of(found)
    missing = [need for need in chosen.needs if getattr(options, need) is None]
    if missing:
        flags = " and ".join(f"{need}= (--{need})" for need in missing)
        raise UsageError(f"{found[0].name}: the format {chosen.name} does not say it all; give {flags}")
    for option in refusable:
        if getattr(options, option) is not None and option not in chosen.takes:
            raise UsageError(f"{found[0].name}: {option} means nothing in the format {chosen.name}; leave it out")
    return found, chosen
