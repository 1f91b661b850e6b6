"""What is known of whole utterances: protocols, keys, and tables of metadata.

========  ==============================================================  ==========================================
file      line                                                            whose
========  ==============================================================  ==========================================
protocol  ``<spk> <utt> - <attack or - or CON> <spoof or bonafide>``      ASVspoof, PartialSpoof
keys      ``filename TAB cm-label`` under a header, and other columns     ASVspoof 5 (tabs, commas or spaces)
table     a column ``utterance`` (or ``filename``) and others             any: CSV, TSV, Parquet
========  ==============================================================  ==========================================

Labels, attacks and speakers: what breakdowns and clusters are made of. Not ranges. The third field of a protocol (an
environment in the physical access protocols) is skipped. Columns are found by the names of ASVspoof 5's full key too:
``attack`` is ``attack_anon`` there. A key of trials (:mod:`.trials`) has a value for each trial.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from spoofspan.base.errors import DataError, Problems, UsageError, nearest_name, refuse
from spoofspan.data.protocol import Protocol
from spoofspan.data.utterance_scores import TRIALS
from spoofspan.formats import arrow as pa
from spoofspan.formats.line_blocks import native_buffer
from spoofspan.formats.sources import Source, Where, sources
from spoofspan.formats.tables.containers import arrow_errors
from spoofspan.formats.text.lines import columns_of, first_lines, header_of, lines_of, separator_of
from spoofspan.formats.text.trials import (
    column_name,
    names_of,
    read_trial_texts,
    read_trials,
    recognises_trials,
    trial_columns,
)

CLASSES = ("bonafide", "spoof")
NAME, LABEL = "filename", "cm-label"
SPEAKER = "speaker"
PROTOCOL_COLUMNS = (SPEAKER, "attack", "label")


def read_protocol(where: Where | Sequence[Where]) -> Protocol:
    r"""Read protocols; several are one after the other.

    Parameters
    ----------
    where
        A protocol of PartialSpoof or ASVspoof, or several.

    Returns
    -------
    Protocol
        Speaker, attack and label of each utterance.

    Examples
    --------
    >>> import io
    >>> read_protocol(io.BytesIO(b"S1 u1 - A07 spoof\n")).utterance
    ('u1',)

    """
    rows: dict[str, tuple[str, str | None, str]] = {}
    problems = Problems()
    found = sources(where)
    for line in lines_of(found):
        width = len(line.fields)
        if width != 5:
            problems.add(
                f"{line.place}: '<spk> <utt> - <attack> <label>' has 5 fields, this line has {width}{line.hint}"
            )
            continue
        speaker, utterance, _, attack, label = line.fields
        place = f"{line.place}: utterance {utterance!r}"
        if label not in CLASSES:
            problems.add(f"{line.place}: {_wrong_label(utterance, label)}{line.hint}")
        elif label == "bonafide" and attack != "-":
            problems.add(f"{place}: it is called bonafide, but has the attack {attack!r}")
        elif utterance in rows:
            problems.add(f"{place} is listed a second time; keep one of the two")
        else:
            rows[utterance] = (speaker, None if attack == "-" else attack, label)
    problems.raise_if_any("correct the protocol")
    if not rows:
        raise DataError(f"{found[0].name}: there is no utterance in the protocol; it is empty")
    speakers, attacks, labels = zip(*rows.values(), strict=True)
    return Protocol(tuple(rows), speakers, attacks, labels)


def protocol_lines(protocol: Protocol) -> Iterator[bytes]:
    """Write a protocol."""
    for utterance, speaker, attack, label in zip(
        protocol.utterance, protocol.speaker, protocol.attack, protocol.label, strict=True
    ):
        yield f"{speaker} {utterance} - {attack or '-'} {label}\n".encode()


# ---------------------------------------------------------------- metadata


def read_metadata(where: Where | Sequence[Where], column: str) -> Mapping[str, str]:
    r"""Read one column: utterance -> value. Tables have a header; a protocol has speaker, attack and label.

    Parameters
    ----------
    where
        A table with a column ``utterance``, or a protocol.
    column
        The name of the column.

    Returns
    -------
    mapping
        Values by utterance, as text.

    Examples
    --------
    >>> import io
    >>> read_metadata(io.BytesIO(b"utterance,codec\nu1,mp3\n"), "codec")
    {'u1': 'mp3'}

    """
    found = sources(where)
    if len(found) != 1:
        raise UsageError(f"{found[0].name}: metadata are one file, not {len(found)}")
    source = found[0]
    source.hold()  # other columns may be asked for
    if recognises_trials(source.head):
        names = trial_columns(source.head)
        if column_name(column) not in names:
            raise NoColumnError(f"{source.name}: no column {column!r}: {nearest_name(column, names)}")
        return read_trial_texts(source, column)
    if source.head.startswith(b"PAR1") or b"utterance" in source.head.split(b"\n", 1)[0] or _has_names(source.head):
        return _from_table(source, column)
    if column not in PROTOCOL_COLUMNS:
        raise UsageError(f"{source.name}: no column {column!r} in a protocol: {nearest_name(column, PROTOCOL_COLUMNS)}")
    protocol = read_protocol(source)
    return {utt: value or "-" for utt, value in zip(protocol.utterance, getattr(protocol, column), strict=True)}


def read_clusters(where: Where | Sequence[Where] | None, column: str | None) -> tuple[str, Mapping[str, str]] | None:
    """What a bootstrap draws, with its name; None: utterances.

    Without a ``column`` that is speakers, if the metadata know them.
    """
    if column == "utterance" or (column is None and where is None):
        return None
    if where is None:
        raise UsageError(f"the {column} of every utterance is not known; give metadata (--metadata FILE)")
    try:
        return column or SPEAKER, read_metadata(where, column or SPEAKER)
    except NoColumnError:
        if column is not None:
            raise
        return None


class NoColumnError(UsageError):
    """Metadata without the column asked for."""


def _from_table(source: Source, column: str) -> Mapping[str, str]:
    def unreadable(error: Exception) -> DataError:
        return DataError(f"{source.name}: cannot be read as a table ({error}); correct the file")

    with arrow_errors(unreadable):
        is_parquet = source.head.startswith(b"PAR1")
        content = pa.BufferReader(native_buffer([source.document() if is_parquet else source.text()]))
        if is_parquet:
            table = pa.parquet.read_table(content)
        else:
            between = separator_of(source.head.split(b"\n", 1)[0].decode(errors="replace")) or " "
            table = pa.csv.read_csv(content, parse_options=pa.csv.ParseOptions(delimiter=between))
    of_ids = _column_of(table.column_names, "utterance" if "utterance" in table.column_names else NAME, "utterance")
    column = _column_of(table.column_names, column)
    for name in (of_ids, column):
        if name not in table.column_names:
            raise NoColumnError(f"{source.name}: no column {name!r}: {nearest_name(name, table.column_names)}")
    ids, values = table.column(of_ids).to_pylist(), table.column(column).to_pylist()
    known: dict[str, str] = {}
    for row, (utterance, value) in enumerate(zip(ids, values, strict=True), 1):
        if utterance is None or value is None:
            raise DataError(f"{source.name}, row {row}: {'utterance' if utterance is None else column} is missing")
        if known.setdefault(str(utterance), str(value)) != str(value):
            raise DataError(f"{source.name}, row {row}: utterance {utterance!r} has two values of {column}; keep one")
    return known


def _column_of(names: Sequence[str], wanted: str, otherwise: str | None = None) -> str:
    """The column of this name, or of the same name in another spelling (``attack_anon``)."""
    same = [name for name in names if column_name(name) == column_name(wanted)]
    return wanted if wanted in names else same[0] if len(same) == 1 else otherwise or wanted


def _has_names(head: bytes) -> bool:
    """Whether a text begins with a header that names a column of recordings."""
    return NAME in names_of(head)


# ---------------------------------------------------------------- labels of whole utterances


def recognises_utterance_labels(head: bytes) -> bool:
    """Whether these are labels of whole utterances, and not ranges."""
    lines = first_lines(head)
    if not lines:
        return False
    names = set(names_of(head))
    if {NAME, LABEL} <= names or recognises_trials(head):
        return True
    if {NAME, "label"} <= names and "utterance" in header_of(head):
        return not {"start", "end"} & names
    return all(len(fields) == 5 and fields[4] in CLASSES for fields in map(str.split, lines))


def read_utterance_labels(where: Where) -> Mapping[str, str]:
    r"""Read the label of each utterance, or what each trial of a key is.

    Parameters
    ----------
    where
        A protocol, a key of ASVspoof 5, a key of trials, or a table with the columns ``utterance`` and ``label``.

    Returns
    -------
    mapping
        ``bonafide`` or ``spoof`` by utterance; ``target``, ``nontarget``, ``spoof`` (or ``dummy``, which does not
        count) by trial.

    Examples
    --------
    >>> import io
    >>> read_utterance_labels(io.BytesIO(b"filename\tcm-label\nu1\tspoof\n"))
    {'u1': 'spoof'}

    """
    source = sources(where)[0]
    if recognises_trials(source.head):
        return read_trials(source)
    if {NAME, LABEL} <= set(names_of(source.head)):
        return _read_keys(source)
    labels = read_metadata(source, "label")
    if set(labels.values()) <= set(TRIALS) and "target" in labels.values():
        return labels
    wrong = [utterance for utterance, label in labels.items() if label not in CLASSES]
    refuse(wrong, lambda utt: f"{source.name}: {_wrong_label(utt, labels[utt])}", "correct the file")
    if not labels:
        raise DataError(f"{source.name}: there is no utterance in the file")
    return labels


def _wrong_label(utterance: str, label: str) -> str:
    return f"utterance {utterance!r}: the label must be bonafide or spoof, not {label!r}"


def _read_keys(source: Source) -> Mapping[str, str]:
    """``filename TAB cm-label`` under a header; further columns are allowed."""
    labels: dict[str, str] = {}
    problems = Problems()
    for place, (utterance, label) in columns_of(source, (NAME, LABEL), problems, column_name):
        if label not in CLASSES:
            problems.add(f"{place}: {_wrong_label(utterance, label)}")
        elif utterance in labels:
            problems.add(f"{place}: utterance {utterance!r} is listed a second time; keep one of the two")
        else:
            labels[utterance] = label
    problems.raise_if_any("correct the keys")
    if not labels:
        raise DataError(f"{source.name}: there is no utterance in the file; it has a header only")
    return labels
