"""Trials of speaker verification with spoofs: what each is, and one score for each.

====================  =====================================================  =====================================
file                  line                                                   whose
====================  =====================================================  =====================================
keys                  ``spk TAB filename TAB asv-label`` under a header      ASVspoof 5, track 2; other columns too
protocol, scores      ``<spk> <utt> <anything> <target|nontarget|spoof>``    SASV 2022; a-DCF with a score third
table                 a column ``utterance`` and one ``label``               any
====================  =====================================================  =====================================

A recording may be tried against several speakers. Where it is, a trial's id is ``<spk> <utt>``, else it is ``<utt>``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spoofspan.base.errors import DataError, Problems
from spoofspan.data.utterance_scores import TRIALS, UtteranceScores
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.text.lines import Line, columns_of, first_lines, header_of, is_number, lines_of, score_of

SPEAKER, NAME, LABEL = "spk", "filename", "asv-label"
Row = tuple[str, str, str, str]  # place, speaker, utterance, what is said of the trial


def recognises_trials(head: bytes) -> bool:
    """Whether the first lines say of each trial what it is."""
    if {NAME, LABEL} <= set(header_of(head)):
        return True
    lines = first_lines(head)
    return bool(lines) and all(len(fields) == 4 and fields[3] in TRIALS for fields in map(str.split, lines))


def read_trials(source: Source) -> Mapping[str, str]:
    """Read what each trial is: ``target``, ``nontarget`` or ``spoof``."""
    problems = Problems()
    header = header_of(source.head)
    if LABEL in header:
        rows = _columns(source, header, LABEL, problems)
    else:
        lines = _lines_of_four(source, problems)
        rows = [(line.place, line.fields[0], line.fields[1], line.fields[3]) for line in lines]
    for place, _, utterance, label in rows:
        if label not in TRIALS:
            problems.add(
                f"{place}: utterance {utterance!r}: the label must be target, nontarget or spoof, not {label!r}"
            )
    problems.raise_if_any("correct the key")
    if not rows:
        raise DataError(f"{source.name}: there is no trial in the file; it has a header only, or is empty")
    return dict(zip(_ids(rows, problems), (row[3] for row in rows), strict=True))


def _lines_of_four(source: Source, problems: Problems) -> list[Line]:
    found = []
    for line in lines_of([source]):
        if len(line.fields) == 4:
            found.append(line)
        else:
            problems.add(f"{line.place}: expected '<spk> <utt> <score> <target, nontarget or spoof>'{line.hint}")
    return found


def _columns(source: Source, header: Sequence[str], wanted: str, problems: Problems) -> list[Row]:
    if SPEAKER not in header:
        return [(place, "", name, said) for place, (name, said) in columns_of(source, (NAME, wanted), problems)]
    return [
        (place, spk, name, said) for place, (spk, name, said) in columns_of(source, (SPEAKER, NAME, wanted), problems)
    ]


def _ids(rows: Sequence[Row], problems: Problems) -> list[str]:
    """The id of each trial; a trial that is listed twice is a problem."""
    names = [row[2] for row in rows]
    ids = names if len(set(names)) == len(names) else [f"{row[1]} {row[2]}".strip() for row in rows]
    seen: dict[str, str] = {}
    for (place, *_), trial in zip(rows, ids, strict=True):
        if seen.setdefault(trial, place) != place:
            problems.add(f"{place}: trial {trial!r} is listed at {seen[trial]} already; keep one of the two")
    problems.raise_if_any("correct the file of trials")
    return ids


# ---------------------------------------------------------------- scores


def read_trial_column(source: Source, column: str) -> tuple[list[str], list[float]]:
    """Read the ids of trials and one of their scores, of a table with a header and tabs."""
    problems = Problems()
    rows = _columns(source, header_of(source.head), column, problems)
    problems.raise_if_any(f"give a column {column}, or name another (--utterance-column)")
    return _ids(rows, problems), _scores(rows, problems)


def _scores(rows: Sequence[Row], problems: Problems) -> list[float]:
    values = [score_of(text, f"{place}: utterance {utt!r}", problems) for place, _, utt, text in rows]
    problems.raise_if_any("correct the scores, or name another column (--utterance-column)")
    return values


def recognises_trial_scores(head: bytes) -> bool:
    """Whether the first lines have a speaker, an utterance, a score and what the trial is."""
    lines = [line.split() for line in first_lines(head)]
    return bool(lines) and all(len(fields) == 4 and is_number(fields[2]) and fields[3] in TRIALS for fields in lines)


def read_trial_scores(found: Sequence[Source], options: ReadOptions) -> UtteranceScores:
    """Read ``<spk> <utt> <score> <target|nontarget|spoof>``."""
    options.refuse_column("sasv-trials")
    higher = options.polarity("bonafide", "sasv-trials")
    problems = Problems()
    rows = [
        (line.place, line.fields[0], line.fields[1], line.fields[2])
        for source in found
        for line in _lines_of_four(source, problems)
    ]
    problems.raise_if_any("correct the file, or state another format")
    return UtteranceScores(tuple(_ids(rows, problems)), np.array(_scores(rows, problems)), higher)


FORMAT: Format[UtteranceScores] = Format(
    "sasv-trials",
    "<spk> <utt> <score> <target|nontarget|spoof>, high = target: a-DCF, SASV; it is its own key",
    read_trial_scores,
    recognises_trial_scores,
)
