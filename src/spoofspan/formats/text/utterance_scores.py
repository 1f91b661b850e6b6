"""One utterance a line; and the trials of speaker verification that go with them.

=======================  ========================================  =====================================  ===========
format                   line                                      whose                                  high scores
=======================  ========================================  =====================================  ===========
utt-score                ``<utt> <bona fide> <spoof>``             partialspoof-metrics, ``utt.score``    by column
asvspoof5                ``<utt> <score> ...`` under a header      ASVspoof 5, ``filename TAB cm-score``  bona fide
av-deepfake1m-detection  ``<file>;<score>``                        AV-Deepfake1M                          spoof
sasv-trials              ``<spk> <utt> <score> <kind of trial>``   a-DCF, SASV (:mod:`.trials`)           target
log-output               ``Output, <utt>, <label>, <score>, ...``  PartialSpoof, ``log_output_{set}``     bona fide
=======================  ========================================  =====================================  ===========

In ``utt-score`` the spoof column is read (high = spoof), with ``column="bonafide"`` the other one. ``log-output`` has
six minima over the utterance, one for each resolution, then the score of the utterance branch, which is read unless
``column`` names another (``20ms``, ``40ms``, ..., ``640ms``); other lines of the log are passed over. Writers mirror
the scores where the format's polarity is the other one.

A table under a header may have several columns of scores. Of ASVspoof 5's, measures of trials take ``sasv-score`` and
others ``cm-score``; ``asv-score`` is that of a verification system. Several columns with other names are refused,
unless ``column`` names one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from spoofspan.base.errors import DataError, Problems, UsageError, nearest_name
from spoofspan.data.scores import Higher
from spoofspan.data.utterance_scores import COMMON, COUNTERMEASURE, TRIALS, UtteranceScores, VerificationScores
from spoofspan.formats.format import Format, ReadOptions, first_with_content
from spoofspan.formats.sources import Source, Where, sources
from spoofspan.formats.text import trials
from spoofspan.formats.text.lines import (
    check_word,
    columns_of,
    first_lines,
    is_header,
    is_number,
    lines_of,
    score_of,
    separator_of,
    wrong_width,
)

CLASSES = {"bonafide": 1, "spoof": 2}
NAME, SCORE = trials.NAME, COUNTERMEASURE
KNOWN_SCORES = (COUNTERMEASURE, COMMON, trials.VERIFICATION)
NOT_GIVEN = "-"  # ASVspoof 5: in the columns of a system that gives only one score
LOG_MARK = "Output,"
LOG_COLUMNS = {"20ms": 2, "40ms": 3, "80ms": 4, "160ms": 5, "320ms": 6, "640ms": 7, "utterance": 8}
LOG_WIDTH = 10


class UtteranceRows:
    """Collects one score per utterance from text, with up to 20 problems at once."""

    def __init__(self) -> None:
        self.problems = Problems()
        self._scores: dict[str, float] = {}
        self._places: dict[str, str] = {}

    def add(self, place: str, utterance: str, text: str) -> None:
        """Note one score."""
        if not utterance:
            self.problems.add(f"{place}: the utterance is missing")
            return
        first = self._places.setdefault(utterance, place)
        if first != place:
            self.problems.add(f"{place}: utterance {utterance!r} has a score at {first} already")
            return
        self._scores[utterance] = score_of(text, f"{place}: utterance {utterance!r}", self.problems)

    def build(self, found: Sequence[Source], higher: Higher) -> UtteranceScores:
        """Make UtteranceScores."""
        self.problems.raise_if_any("correct the file, or state another format")
        if not self._scores:
            names = ", ".join(source.name for source in found)
            raise DataError(f"{names}: there is no score in the file; it is empty or of another format")
        return UtteranceScores(tuple(self._scores), np.array(list(self._scores.values())), higher)


def _read_fields(
    found: Sequence[Source], separator: str | None, width: int, line: str, column: int, higher: Higher, mark: str = ""
) -> UtteranceScores:
    """Read files of lines of ``width`` fields, the utterance first; with a ``mark``, only lines that begin with it."""
    rows = UtteranceRows()
    for source in found:
        for one in lines_of([source], separator):
            if not one.text.startswith(mark):
                continue
            fields = one.fields[1:] if mark else one.fields
            if len(fields) != width:
                rows.problems.add(wrong_width(one.place, fields, line))
            elif one.number == 1 and not mark and is_header(fields[1:]):
                rows.problems.add(f"{one.place}: this looks like a header; remove it")
            else:
                rows.add(one.place, fields[0], fields[column])
            if rows.problems.full:
                break
    return rows.build(found, higher)


# ---------------------------------------------------------------- partialspoof-metrics


def recognises_utt_score(head: bytes) -> bool:
    """Whether the first lines have an id that no other has, and two numbers, not all whole ones (frames)."""
    lines = [line.split() for line in first_lines(head)]
    if not lines or not all(len(fields) == 3 and all(map(is_number, fields[1:])) for fields in lines):
        return False
    ids, firsts, _ = zip(*lines, strict=True)
    return len(set(ids)) == len(ids) and not all(map(is_number, ids)) and not all(map(str.isdecimal, firsts))


def read_utt_score(found: Sequence[Source], options: ReadOptions) -> UtteranceScores:
    """Read ``<utt> <bona fide> <spoof>``."""
    return _read_fields(found, None, 3, "<utt> <bona fide> <spoof>", *options.class_column(CLASSES))


def write_utt_score(scores: UtteranceScores) -> Iterator[bytes]:
    """Write ``<utt> <bona fide> <spoof>``, one of the two mirrored."""
    bona_fide, spoof = _in_polarity(scores, "bonafide"), _in_polarity(scores, "spoof")
    for utterance, a, b in zip(scores.utterances, bona_fide, spoof, strict=True):
        check_word(utterance, "utt-score")
        yield f"{utterance} {a!r} {b!r}\n".encode()


# ---------------------------------------------------------------- ASVspoof 5


def recognises_asvspoof5(head: bytes) -> bool:
    """Whether the header names columns of ASVspoof 5."""
    names = set(trials.names_of(head))
    return NAME in names and bool(names.intersection(KNOWN_SCORES))


def read_asvspoof5(found: Sequence[Source], options: ReadOptions) -> UtteranceScores:
    """Read ``filename TAB cm-score``, or other scores of trials; further columns are allowed."""
    first = first_with_content(found)
    names = trials.names_of(first.head)
    candidates = [name for name in names if "score" in name]
    if options.column is not None:
        wanted = trials.column_name(options.column)
        if wanted not in names:
            raise UsageError(f"no column {options.column!r}: {nearest_name(wanted, candidates or KNOWN_SCORES)}")
        return _read_column(found, wanted, options)
    if len(candidates) < 2:
        return _read_column(found, candidates[0] if candidates else SCORE, options)
    if unknown := [name for name in candidates if name not in KNOWN_SCORES]:
        raise UsageError(
            f"{first.name}: it has several columns of scores, {', '.join(candidates)}, and {unknown[0]} is not of "
            "ASVspoof 5; name the one to read (column=, --utterance-column)"
        )
    given = [name for name in (COUNTERMEASURE, COMMON) if name in candidates and _is_given(first, name)]
    if not given:
        return _read_column(found, SCORE if SCORE in candidates else candidates[0], options)
    for source in found:
        source.hold()
    columns = {name: _read_column(found, name, options) for name in given}
    one = columns[given[0]]
    values = {name: columns[name].values for name in given}
    return UtteranceScores(one.utterances, one.values, one.higher, values, one.of_trials)


def _is_given(source: Source, column: str) -> bool:
    """Whether a column has scores, and not the mark of a system without them."""
    header, *rows = first_lines(source.head)
    at = trials.names_of(source.head).index(column)
    fields = rows[0].split(separator_of(header)) if rows else []
    return at >= len(fields) or fields[at].strip() != NOT_GIVEN


def _read_column(found: Sequence[Source], column: str, options: ReadOptions) -> UtteranceScores:
    higher = options.polarity("bonafide", f"the column {column}")
    if trials.SPEAKER in trials.names_of(found[0].head):
        if len(found) != 1:
            raise UsageError(f"scores of trials are one file, not {len(found)}; put them together")
        ids, values = trials.read_trial_column(found[0], column)
        return UtteranceScores(tuple(ids), np.array(values), higher, of_trials=True)
    rows = UtteranceRows()
    for source in found:
        for place, fields in columns_of(source, (NAME, column), rows.problems, trials.column_name):
            rows.add(place, *fields)
    return rows.build(found, higher)


def write_asvspoof5(scores: UtteranceScores) -> Iterator[bytes]:
    """Write ``filename TAB cm-score``, high = bona fide."""
    yield f"{NAME}\t{SCORE}\n".encode()
    yield from _write(scores, "bonafide", "\t", "asvspoof5")


# ---------------------------------------------------------------- AV-Deepfake1M


def recognises_detection(head: bytes) -> bool:
    """Whether the first lines are a name and a number with a semicolon between them."""
    lines = [line.split(";") for line in first_lines(head)]
    return bool(lines) and all(len(fields) == 2 and fields[0] and is_number(fields[1].strip()) for fields in lines)


def read_detection(found: Sequence[Source], options: ReadOptions) -> UtteranceScores:
    """Read ``<file>;<score>``."""
    options.refuse_column("av-deepfake1m-detection")
    higher = options.polarity("spoof", "av-deepfake1m-detection")
    return _read_fields(found, ";", 2, "<file>;<score>", 1, higher)


def write_detection(scores: UtteranceScores) -> Iterator[bytes]:
    """Write ``<file>;<score>``, high = spoof."""
    return _write(scores, "spoof", ";", "av-deepfake1m-detection")


# ---------------------------------------------------------------- PartialSpoof's log


def recognises_log(head: bytes) -> bool:
    """Whether there are lines of output, each with its ten fields."""
    lines = [line.split(",") for line in first_lines(head) if line.startswith(LOG_MARK)]
    return bool(lines) and all(len(fields) == LOG_WIDTH for fields in lines)


def read_log(found: Sequence[Source], options: ReadOptions) -> UtteranceScores:
    """Read the utterance scores of a log."""
    name = "utterance" if options.column is None else options.column
    if name not in LOG_COLUMNS:
        raise UsageError(f"no column {name!r}: {nearest_name(name, LOG_COLUMNS)}")
    higher = options.polarity("bonafide", "log-output")
    line = "utterance, label, six minima, score (decimals have a point, not a comma)"
    return _read_fields(found, ",", LOG_WIDTH - 1, line, LOG_COLUMNS[name], higher, LOG_MARK)


# ---------------------------------------------------------------- writing


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
    ``filename`` and ``asv-score``, and ``asv-label`` unless a key is given, as in ASVspoof 5.

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
    if trials.has_verification_header(found[0].head):
        if len(found) != 1:
            raise UsageError(f"a table of verification scores is one file, not {len(found)}; put them together")
        return trials.read_verification_table(found[0], key)
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


FORMATS: tuple[Format[UtteranceScores], ...] = (
    Format(
        "utt-score",
        "<utt> <bona fide> <spoof>: partialspoof-metrics, utt.score",
        read_utt_score,
        recognises_utt_score,
        write_utt_score,
        suffixes=(".score",),
    ),
    Format(
        "asvspoof5",
        "<filename> <cm-score> under a header, tabs, high = bona fide: ASVspoof 5; with <spk>, of trials",
        read_asvspoof5,
        recognises_asvspoof5,
        write_asvspoof5,
        suffixes=(".tsv", ".txt"),
    ),
    Format(
        "av-deepfake1m-detection",
        "<file>;<score>, high = spoof: AV-Deepfake1M",
        read_detection,
        recognises_detection,
        write_detection,
        suffixes=(".txt", ".csv"),
    ),
    trials.FORMAT,
    Format(
        "log-output",
        "Output, <utt>, <label>, <20ms>, ..., <640ms>, <utterance>, high = bona fide: PartialSpoof, log_output_eval",
        read_log,
        recognises_log,
    ),
)
