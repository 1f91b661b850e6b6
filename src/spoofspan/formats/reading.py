"""Reading references and scores from wherever they are, in whatever format they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spoofspan.errors import UsageError
from spoofspan.formats.catalogue import REFERENCE_FORMATS, SCORE_FORMATS
from spoofspan.formats.durations import read_durations
from spoofspan.formats.registry import ReadOptions, Registry, T
from spoofspan.formats.sources import Where, sources
from spoofspan.references import References
from spoofspan.scores import Higher, Scores


def read_references(
    where: Where | Sequence[Where],
    *,
    durations: Where | Mapping[str, float] | References | None = None,
    format: str | None = None,
    hop: float | None = None,
    snap: float | None = None,
) -> References:
    """Read references from a file, a folder, a glob, an address, ``-`` or several of these.

    ``durations`` is a reco2dur file or a dict of seconds; ``format`` names the format where its content does not;
    ``hop`` is the resolution (seconds) of label arrays; ``snap`` overrides how far rounded edges may miss each other.
    """
    known = None if durations is None else read_durations(durations)
    return _read(where, REFERENCE_FORMATS, format, ReadOptions(durations=known, hop=hop, snap=snap))


def read_scores(
    where: Where | Sequence[Where],
    *,
    hop: float | None = None,
    higher: Higher | None = None,
    column: str | None = None,
    format: str | None = None,
) -> Scores:
    """Read scores from a file, a folder, a glob, an address, ``-`` or several of these.

    ``hop`` (seconds) and ``higher`` ("bonafide" or "spoof") are needed where the format does not state them.
    """
    return _read(where, SCORE_FORMATS, format, ReadOptions(hop=hop, higher=higher, column=column))


def _read(where: Where | Sequence[Where], registry: Registry[T], name: str | None, options: ReadOptions) -> T:
    chosen = None if name is None else registry.named(name)
    found = sources(where, chosen.suffixes if chosen is not None else ())
    if chosen is None:
        chosen = registry.recognise(found[0])
    missing = [need for need in chosen.needs if getattr(options, need) is None]
    if missing:
        flags = " and ".join(f"{need}= (--{need})" for need in missing)
        raise UsageError(f"{found[0].name}: the format {chosen.name} does not say it all; give {flags}")
    return chosen.read(found, options)
