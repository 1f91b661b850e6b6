"""Facts about whole utterances: protocols, keys, and tables of metadata.

========  ==============================================================  ==========================================
file      line                                                            whose
========  ==============================================================  ==========================================
protocol  ``<spk> <utt> - <attack or - or CON> <spoof or bonafide>``      ASVspoof, PartialSpoof
keys      ``filename TAB cm-label`` under a header, and other columns     ASVspoof 5 (tabs, commas or spaces)
table     a column of ids or files, and others                            any: CSV, TSV, JSON Lines, Parquet
lines     other keys without a header                                     ``forms.json``
scores    those that have labels beside them are their own key            ``forms.json``
========  ==============================================================  ==========================================

Labels, attacks and speakers: what breakdowns and clusters are made of. Not ranges. The third field of a protocol is an
environment in the physical access protocols. A key of trials (:mod:`.trials`) has a value for each trial. Bona fide
utterances have no attack, which keys write as ``-``, ``bonafide`` or ``A00``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from spoofspan.base.errors import DataError, Problems, UsageError, nearest_name
from spoofspan.data.bare_ids import with_bare_ids
from spoofspan.data.protocol import Protocol
from spoofspan.data.utterance_scores import TRIALS
from spoofspan.formats.column_names import UTTERANCE, column_name
from spoofspan.formats.format import ReadOptions
from spoofspan.formats.sources import Source, Where, sources
from spoofspan.formats.text.trials import read_trial_texts, read_trials
from spoofspan.formats.text.utterance_tables import (
    ATTACK,
    CLASS_WORDS,
    FORMS,
    LABELS,
    NO_ATTACK,
    SPEAKER,
    TRIAL_LABEL,
    Layout,
    form_layout,
    layout_of,
    rows_of,
)

PROTOCOL = form_layout(FORMS["protocol"])
MISSING = "-"
CLUSTER = "speaker"  # what a bootstrap draws by default
OWN_GROUPS = ("attack", "length", "share", "boundary")  # breakdowns that need no column


def read_protocol(where: Where | Sequence[Where]) -> Protocol:
    r"""Read protocols; several are one after the other.

    Parameters
    ----------
    where
        A protocol of PartialSpoof or ASVspoof, another key with speakers and labels, or several.

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
    for source in found:
        layout = layout_of(source)
        if layout is None or not {SPEAKER, ATTACK} <= set(layout.names) or _label_column(layout) is None:
            layout = PROTOCOL
        wanted = (SPEAKER, UTTERANCE, ATTACK, _label_column(layout) or LABELS[0])
        for place, (speaker, utterance, attack, word) in rows_of(source, layout, wanted, problems):
            label = CLASS_WORDS.get(word.lower())
            named = None if attack in NO_ATTACK else attack
            if label is None:
                problems.add(f"{place}: {_wrong_label(utterance, word)}")
            elif label == "bonafide" and named is not None:
                problems.add(f"{place}: utterance {utterance!r}: it is called bonafide, but has the attack {attack!r}")
            elif utterance in rows:
                problems.add(f"{place}: utterance {utterance!r} is listed a second time; keep one of the two")
            else:
                rows[utterance] = (speaker, named, label)
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
        yield f"{speaker} {utterance} - {attack or MISSING} {label}\n".encode()


# ---------------------------------------------------------------- metadata


def read_metadata(where: Where | Sequence[Where], column: str) -> Mapping[str, str]:
    r"""Read one column: utterance -> value. Tables have a header; a protocol has speaker, attack and label.

    Parameters
    ----------
    where
        A table with a column of utterances, a protocol or another key.
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
    layout = layout_of(source) or PROTOCOL
    if column == "label" and layout.position(column) is None:
        column = _label_column(layout) or column
    if layout.position(UTTERANCE) is None:
        raise NoColumnError(f"{source.name}: no column 'utterance': {nearest_name(UTTERANCE, list(layout.written))}")
    if layout.position(column) is None:
        names = [name for name in layout.written if name != UTTERANCE]
        raise NoColumnError(f"{source.name}: no column {column!r}: {nearest_name(column, names)}")
    if TRIAL_LABEL in layout.names:
        return read_trial_texts(source, layout, column)
    if layout.form is PROTOCOL.form:
        read_protocol(source)  # says what is wrong with it
    return _read_column(source, layout, column)


def _label_column(layout: Layout) -> str | None:
    return next((name for name in LABELS if name in layout.names), None)


def _read_column(source: Source, layout: Layout, column: str) -> dict[str, str]:
    """The values of a column, of which an utterance has one; bona fide utterances have no attack."""
    problems = Problems()
    known: dict[str, str] = {}
    label = _label_column(layout) if column == ATTACK else None
    wanted = (UTTERANCE, column) if label is None else (UTTERANCE, column, label)
    for place, (utterance, value, *labelled) in rows_of(source, layout, wanted, problems):
        if not utterance or not value:
            problems.add(f"{place}: {'utterance' if not utterance else column} is missing")
            continue
        if column == ATTACK and value in NO_ATTACK and "spoof" not in labelled:
            value = MISSING
        if known.setdefault(utterance, value) != value:
            problems.add(f"{place}: utterance {utterance!r} has two values of {column}; keep one")
    problems.raise_if_any("correct the file")
    return known


def read_groups(
    where: Where | Sequence[Where] | None, column: str, *, bare_ids: bool | None = None
) -> Mapping[str, str]:
    """Read the column that a breakdown groups by; without metadata, name the groups that need none."""
    if where is None:
        near = ["attack"] if column == "kind" else get_close_matches(column.lower(), OWN_GROUPS, 1)
        without = f"; without it there is --by {near[0]}" if near else ""
        if column == "attack":
            without = ", or references that name the attack of each range (for measures of ranges and events)"
        raise UsageError(f"--by {column}: give --metadata, a file that says the {column} of every utterance{without}")
    found = read_metadata(where, column)
    return with_bare_ids(found) if bare_ids else found


def read_clusters(
    where: Where | Sequence[Where] | None, columns: Sequence[str] | None, *, bare_ids: bool | None = None
) -> dict[str, Mapping[str, str]]:
    """Read the factors that intervals leave out, by name; none: utterances.

    ``columns`` are names, or several with commas between them. Without them, that is speakers, if the metadata know
    them. An utterance whose speaker is ``-`` has none.
    """
    names = [name.strip() for one in columns or () for name in one.split(",")]
    if names == [UTTERANCE] or (not names and where is None):
        return {}
    if UTTERANCE in names or "" in names or len({*names}) < len(names):
        raise UsageError(
            f"--cluster {','.join(names)}: name different columns of the metadata, such as speaker,attack, or only "
            "utterance"
        )
    if where is None:
        raise UsageError(f"the {names[0]} of every utterance is not known; give metadata (--metadata FILE)")
    try:
        found = {name: read_groups(where, name, bare_ids=bare_ids) for name in names or [CLUSTER]}
    except NoColumnError:
        if names:
            raise
        return {}
    for name in found:
        if column_name(name) == column_name(CLUSTER):
            found[name] = {utterance: level for utterance, level in found[name].items() if level != MISSING}
    return found if names or found[CLUSTER] else {}


class NoColumnError(UsageError):
    """Metadata without the column asked for."""


# ---------------------------------------------------------------- labels of whole utterances


def read_utterance_labels(where: Where, spoof_label: int | None = None) -> Mapping[str, str]:
    r"""Read the label of each utterance, or what each trial of a key is.

    Parameters
    ----------
    where
        A protocol, a key of ASVspoof 5, a key of trials, a table with the columns ``utterance`` and ``label``, or
        scores that have labels beside them.
    spoof_label
        Which of the labels 0 and 1 means spoof, where labels are numbers.

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
    source.hold()  # attacks and speakers may be asked for
    layout = layout_of(source) or PROTOCOL
    if TRIAL_LABEL in layout.names:
        return read_trials(source, layout)
    if layout.form is PROTOCOL.form:
        protocol = read_protocol(source)
        return dict(zip(protocol.utterance, protocol.label, strict=True))
    column = _label_column(layout) or "label"
    problems, labels, places = Problems(), dict[str, str](), dict[str, str]()
    for place, (utterance, label) in rows_of(source, layout, (UTTERANCE, column), problems):
        if places.setdefault(utterance, place) != place:
            problems.add(f"{place}: utterance {utterance!r} is listed a second time; keep one of the two")
        labels[utterance] = label
    problems.raise_if_any("correct the keys")
    if not labels:
        raise DataError(f"{source.name}: there is no utterance in the file; it has a header only")
    if set(labels.values()) <= set(TRIALS) and "target" in labels.values():
        return labels
    words = dict(CLASS_WORDS)
    if not {"0", "1"}.isdisjoint(labels.values()):
        # in logs of scores, 1 is bona fide
        words |= ReadOptions(spoof_label=0 if column == "digit" else spoof_label).words_of_digits(source.name)
    for utterance, label in labels.items():
        if (word := words.get(label.lower())) is None:
            problems.add(f"{places[utterance]}: {_wrong_label(utterance, label)}")
        else:
            labels[utterance] = word
    problems.raise_if_any("correct the keys")
    return labels


def _wrong_label(utterance: str, label: str) -> str:
    return f"utterance {utterance!r}: the label must be bonafide or spoof, not {label!r}"
