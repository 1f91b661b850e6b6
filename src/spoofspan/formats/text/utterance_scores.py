"""Scores of whole utterances; and the trials of speaker verification that go with them.

Lines without a header are of the forms that :mod:`.utterance_tables` lists. Tables with a header (text, JSON Lines,
Parquet, Arrow) are read by the names of their columns; those of ASVspoof 5 state that high scores mean bona fide, and
so does a name such as ``prob_fake``. Whatever states no polarity must be told it. Writers mirror the scores where the
format's polarity is the other one.

A table or line may have several scores: ``column`` names the one to read. Of ASVspoof 5's columns, measures of trials
take ``sasv-score`` and others ``cm-score``; ``asv-score`` is that of a verification system. In ``utt-score`` the spoof
column is read (high = spoof), in ``log-output`` the score of the utterance branch, unless ``column`` names another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePath

import numpy as np

from spoofspan.base.errors import DataError, Problems, UsageError, nearest_name
from spoofspan.data.scores import Higher
from spoofspan.data.utterance_scores import COMMON, COUNTERMEASURE, TRIALS, UtteranceScores, VerificationScores
from spoofspan.formats.column_names import UTTERANCE, column_name, polarity_of, score_columns
from spoofspan.formats.format import Format, ReadOptions, first_with_content
from spoofspan.formats.sources import Source, Where, sources
from spoofspan.formats.text import trials
from spoofspan.formats.text.lines import check_word, is_header, lines_of, score_of
from spoofspan.formats.text.utterance_tables import (
    FORMS,
    SPEAKER,
    TRIAL_LABEL,
    Form,
    Header,
    Layout,
    form_layout,
    layout_of,
    rows_of,
    seen_polarity,
)

KNOWN_SCORES = (COUNTERMEASURE, COMMON, trials.VERIFICATION)  # of ASVspoof 5, where high is bona fide
NOT_GIVEN = "-"  # ASVspoof 5: in the columns of a system that gives only one score
OF_TIME = {"start", "end", "frame", "scores", "hop"}  # columns of scores in time


def _higher(source: Source, layout: Layout, column: str, stated: Higher | None, options: ReadOptions) -> Higher:
    """Meaning of high scores, as the format, the name of the column or the user says it."""
    stated = stated or polarity_of(column)
    if stated is not None:
        return options.polarity(stated, f"the column {column!r}")
    if options.higher is None:
        if "dur" in PurePath(source.name).name.lower():
            raise UsageError(f"{source.name} looks like durations, not scores; give it with durations= (--durations)")
        seen = seen_polarity(source, layout, column)
        raise UsageError(
            f"{source.name}: nothing says what high values of its column {column!r} mean{seen}; give "
            "higher='bonafide' or 'spoof'"
        )
    return options.higher


def _read_column(
    found: Sequence[Source], layout: Layout, column: str, stated: Higher | None, options: ReadOptions
) -> UtteranceScores:
    """Read one column of scores of utterances, or of trials if the table has their speakers."""
    higher = _higher(first_with_content(found), layout, column, stated, options)
    if is_of_trials(layout):
        if len(found) != 1:
            raise UsageError(f"scores of trials are one file, not {len(found)}; put them together")
        ids, values = trials.read_trial_column(found[0], layout, column)
        return UtteranceScores(tuple(ids), np.array(values), higher, of_trials=True)
    scores: dict[str, float] = {}
    places: dict[str, str] = {}
    problems = Problems()
    for source in found:
        own = layout if layout.form is not None else layout_of(source, ()) or layout
        for place, (utterance, text) in rows_of(source, own, (UTTERANCE, column), problems):
            if layout.form is not None and place.endswith(":1") and is_header([text]) and not layout.form.mark:
                problems.add(f"{place}: this looks like a header; remove it")
            elif not utterance:
                problems.add(f"{place}: the utterance is missing")
            elif (first := places.setdefault(utterance, place)) != place:
                problems.add(f"{place}: utterance {utterance!r} has a score at {first} already")
            else:
                scores[utterance] = score_of(text, f"{place}: utterance {utterance!r}", problems)
    problems.raise_if_any("correct the file, or state another format")
    if not scores:
        names = ", ".join(source.name for source in found)
        raise DataError(f"{names}: there is no score in the file; it is empty or of another format")
    return UtteranceScores(tuple(scores), np.array(list(scores.values())), higher)


def is_of_trials(layout: Layout) -> bool:
    """True if each row is a recording tried against a speaker, and not just a recording of one."""
    return SPEAKER in layout.names and not {TRIAL_LABEL, *KNOWN_SCORES}.isdisjoint(layout.names)


# ---------------------------------------------------------------- lines without a header


def read_form(form: Form, found: Sequence[Source], options: ReadOptions) -> UtteranceScores:
    """Read lines of a known form."""
    names = form.score_names
    if options.column is not None and column_name(options.column) not in names:
        raise UsageError(f"no column {options.column!r} in {form.line}: {nearest_name(options.column, names)}")
    if options.column is None and len(names) > 1 and form.higher is None and polarity_of(names[0]) is None:
        raise UsageError(
            f"{found[0].name}: a line has several scores, {form.line}; name the one to read, column={names[0]!r} "
            f"(--column {names[0]}), and what high values of it mean, higher='bonafide' or 'spoof'"
        )
    column = names[0] if options.column is None else column_name(options.column)
    return _read_column(found, form_layout(form), column, form.higher, options)


def _about(form: Form) -> str:
    said = {"bonafide": "high = bona fide", "spoof": "high = spoof", None: "polarity must be stated"}
    by_column = form.higher is None and polarity_of(form.score_names[0]) is not None
    return f"{form.line}, {'polarity by column' if by_column else said[form.higher]}: {form.whose}"


# ---------------------------------------------------------------- tables with a header


def _has_known_scores(layout: Layout) -> bool:
    return not set(layout.written).isdisjoint(KNOWN_SCORES)


def _is_table(layout: Layout) -> bool:
    """True if the columns are of utterances and scores, without times, and no cell is a list: scores of frames."""
    other = OF_TIME.intersection(layout.names) or _has_known_scores(layout)
    return not other and bool(_candidates(layout)) and not layout.columns_of_lists


def _candidates(layout: Layout) -> list[str]:
    """The columns that may hold scores: by their names, or those of the two classes."""
    return score_columns(layout.names) or [name for name in layout.names if name in ("bonafide", "spoof")]


def read_table(found: Sequence[Source], options: ReadOptions) -> UtteranceScores:
    """Read a table with a header; of ASVspoof 5's, up to two scores of each trial."""
    first = first_with_content(found)
    if not first.head.strip():
        raise DataError(f"{first.name}: there is no score in the file; it is empty")
    layout = layout_of(first, ()) or Layout([], [])
    known = [name for name in layout.names if name in KNOWN_SCORES and name in layout.written]
    candidates = known if known and options.column is None else _candidates(layout)
    others = [name for name in _candidates(layout) if name not in KNOWN_SCORES]
    if options.column is not None:
        if layout.position(options.column) is None:
            raise UsageError(
                f"{first.name}: no column {options.column!r}: "
                f"{nearest_name(options.column, candidates or layout.written or KNOWN_SCORES)}"
            )
        name = column_name(options.column)
        return _read_column(found, layout, options.column, "bonafide" if name in known else None, options)
    if (known and others) or (len(candidates) > 1 and not known):
        written = [layout.written[list(layout.names).index(name)] for name in _candidates(layout)]
        unstated = options.higher is None and any(polarity_of(name) is None for name in others)
        unsaid = ", and what high values of it mean: higher='bonafide' or 'spoof'" if unstated else ""
        raise UsageError(
            f"{first.name}: it has several columns of scores, {', '.join(written)}; name the one to read: column= "
            f"(--column){unsaid}"
        )
    if candidates == [trials.VERIFICATION] and options.column is None:
        raise UsageError(
            f"{first.name}: its only scores are those of a speaker verification system (asv-score); give them beside "
            f"those of a countermeasure, asv_scores={first.name!r} (--asv-scores), or name them as what is measured "
            "(--column asv-score)"
        )
    if not candidates and layout.written:
        raise DataError(
            f"{first.name}:1: the header must have a column of scores, and none of its names says so "
            f"({', '.join(layout.written)}); name the column that holds them: column= (--column)"
        )
    if not candidates:
        return _read_column(found, layout, COUNTERMEASURE, "bonafide", options)
    if len(candidates) == 1:
        return _read_column(found, layout, candidates[0], "bonafide" if known else None, options)
    for source in found:
        source.hold()
    given = [name for name in (COUNTERMEASURE, COMMON) if name in candidates and _is_given(first, layout, name)]
    if not given:
        return _read_column(found, layout, candidates[0], "bonafide", options)
    columns = {name: _read_column(found, layout, name, "bonafide", options) for name in given}
    one = columns[given[0]]
    values = {name: columns[name].values for name in given}
    return UtteranceScores(one.utterances, one.values, one.higher, values, one.of_trials)


def _is_given(source: Source, layout: Layout, column: str) -> bool:
    """True if a column has scores, and not the mark of a system without them."""
    first = next(rows_of(source, layout, (column,), Problems()), None)
    return first is None or first[1][0].strip() != NOT_GIVEN


# ---------------------------------------------------------------- writing


def write_utt_score(scores: UtteranceScores) -> Iterator[bytes]:
    """Write ``<utt> <bona fide> <spoof>``, one of the two mirrored."""
    bona_fide, spoof = _in_polarity(scores, "bonafide"), _in_polarity(scores, "spoof")
    for utterance, a, b in zip(scores.utterances, bona_fide, spoof, strict=True):
        check_word(utterance, "utt-score")
        yield f"{utterance} {a!r} {b!r}\n".encode()


def write_asvspoof5(scores: UtteranceScores) -> Iterator[bytes]:
    """Write ``filename TAB cm-score``, high = bona fide."""
    yield f"filename\t{COUNTERMEASURE}\n".encode()
    yield from _write(scores, "bonafide", "\t", "asvspoof5")


def write_detection(scores: UtteranceScores) -> Iterator[bytes]:
    """Write ``<file>;<score>``, high = spoof."""
    return _write(scores, "spoof", ";", "av-deepfake1m-detection")


def _in_polarity(scores: UtteranceScores, higher: Higher) -> list[float]:
    return list(map(float, scores.values if scores.higher == higher else -scores.values))


def _write(scores: UtteranceScores, higher: Higher, separator: str, name: str) -> Iterator[bytes]:
    for utterance, value in zip(scores.utterances, _in_polarity(scores, higher), strict=True):
        if separator in utterance or len(utterance.splitlines()) > 1 or utterance.strip() != utterance:
            raise DataError(f"utterance {utterance!r} cannot be written as {name}: its id would not read back")
        yield f"{utterance}{separator}{value!r}\n".encode()


# ---------------------------------------------------------------- speaker verification


def read_verification_scores(
    where: Where | Sequence[Where], key: Mapping[str, str] | None = None
) -> VerificationScores:
    r"""Read the scores of a verification system: lines of ASVspoof, or a table with a score of each trial.

    Lines are ``<attack> <target | nontarget | spoof> <score>``. A trial is a spoof if either field says so: in
    ASVspoof's files the second one does, in others (``spoof nontarget``) the first. A table has the columns ``spk``,
    ``filename`` (or ``trial``, ...) and ``asv-score`` (or one other score), and ``asv-label`` unless a key is given, as
    in ASVspoof 5; without a header its lines are ``<spk> <utt> <target | nontarget | spoof> <score>``.

    Parameters
    ----------
    where
        A file, a folder, a glob, an address, ``-`` for standard input, an open binary file, or several of these.
    key
        What each trial is: ``target``, ``nontarget`` or ``spoof``. For tables without a column ``asv-label``.

    Returns
    -------
    VerificationScores

    Examples
    --------
    >>> import io
    >>> found = read_verification_scores(io.BytesIO(b"a target 2.5\nb nontarget -1\nA07 spoof 0.5\n"))
    >>> found.target.tolist(), found.spoof.tolist()
    ([2.5], [0.5])

    """
    found = sources(where)
    if (layout := trials.verification_layout(found[0])) is not None:
        if len(found) != 1:
            raise UsageError(f"a table of verification scores is one file, not {len(found)}; put them together")
        return trials.read_verification_table(found[0], layout, key)
    scores: dict[str, list[float]] = {name: [] for name in TRIALS}
    attacks = []
    problems = Problems()
    for line in lines_of(found):
        if len(line.fields) != 3 or line.fields[1] not in TRIALS:
            expected = "'<label> <target, nontarget or spoof> <score>'"
            problems.add(f"{line.place}: expected {expected}, found {line.text[:80]!r}")
            continue
        label, trial, score = line.fields
        kind = "spoof" if "spoof" in (label, trial) else trial
        scores[kind].append(score_of(score, line.place, problems))
        if kind == "spoof":
            attacks.append(label)
    problems.raise_if_any("correct the file of verification scores")
    target, nontarget, spoof = (np.array(scores[name]) for name in TRIALS)
    return VerificationScores(target, nontarget, spoof, tuple(attacks))


WRITERS: Mapping[str, tuple[Callable[[UtteranceScores], Iterator[bytes]], tuple[str, ...]]] = {
    "utt-score": (write_utt_score, (".score",)),
    "av-deepfake1m-detection": (write_detection, (".txt", ".csv")),
}
FORMATS: tuple[Format[UtteranceScores], ...] = (
    *(
        Format(
            form.name,
            _about(form),
            partial(read_form, form),
            form.fits,
            WRITERS[form.name][0] if form.name in WRITERS else None,
            columns=tuple(form.score_names),
            suffixes=WRITERS[form.name][1] if form.name in WRITERS else (),
            higher=form.higher,
        )
        for form in FORMS.values()
        if form.scores
    ),
    Format(
        "asvspoof5",
        "<filename> <cm-score> under a header, tabs, high = bona fide: ASVspoof 5; with <spk>, of trials",
        read_table,
        Header(_has_known_scores),
        write_asvspoof5,
        suffixes=(".tsv", ".txt"),
        higher="bonafide",
    ),
    Format(
        "utterance-table",
        "columns utterance, score (or other names for them) in CSV, TSV, JSON Lines, Parquet or Arrow, polarity must "
        "be stated unless a column's name does (prob_fake): pandas, DeepFense",
        read_table,
        Header(_is_table, binary=True),
        suffixes=(".csv", ".tsv", ".jsonl", ".parquet", ".arrow", ".txt"),
    ),
)
