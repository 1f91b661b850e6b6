"""Trials of speaker verification with spoofs: the kind of each, its attack and codec, and one score for each.

====================  =====================================================  =====================================
file                  line                                                   whose
====================  =====================================================  =====================================
keys                  ``spk filename asv-label`` under a header              ASVspoof 5, track 2; other columns too
protocol, scores      ``<spk> <utt> <attack> <target|nontarget|spoof>``      SASV 2022; a-DCF with a score third
scores                ``spk filename asv-score`` under a header              ASVspoof 5, with cm-score, sasv-score, ...
====================  =====================================================  =====================================

Columns are found as in every table of utterances (:mod:`.utterance_tables`). Trials whose ``track_2_tag`` (or ``tag``)
is ``dummy`` do not count; their recordings do, where scores are of recordings (ASVspoof 5, track 1).

A recording may be tried against several speakers. Where it is, a trial's id is ``<spk> <utt>``, else it is ``<utt>``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spoofspan.base.errors import DataError, Problems, UsageError
from spoofspan.data.utterance_scores import DUMMY, TRIALS, TrialKey, VerificationScores
from spoofspan.formats.column_names import UTTERANCE, score_columns
from spoofspan.formats.sources import Source
from spoofspan.formats.text.lines import score_of
from spoofspan.formats.text.utterance_tables import (
    ATTACK,
    LABEL,
    SPEAKER,
    TRIAL_LABEL,
    Form,
    Layout,
    layout_of,
    rows_of,
)

VERIFICATION = "asv-score"
TAGS = ("tag", "track-2-tag")
VERIFICATION_LINES = Form("asv-trials", "spk utterance asv-label score", "score", "speaker verification", "bonafide")


@dataclass(frozen=True)
class Trial:
    """One row: where it stands, the speaker and the recording, and the other columns that were asked for."""

    place: str
    speaker: str
    utterance: str
    said: Mapping[str, str]

    @property
    def both(self) -> str:
        """The id where a recording is tried against several speakers."""
        return f"{self.speaker} {self.utterance}".strip()


def read_trials(source: Source, layout: Layout) -> TrialKey:
    """Read what each trial is: ``target``, ``nontarget`` or ``spoof``; or ``dummy``, if it does not count."""
    problems = Problems()
    tag = next((name for name in TAGS if name in layout.names), None)
    optional = [name for name in (tag, LABEL) if name is not None and name in layout.names]
    rows = _rows(source, layout, (TRIAL_LABEL, *optional), problems)
    problems.raise_if_any("correct the key")
    if not rows:
        raise DataError(f"{source.name}: there is no trial in the file; it has a header only, or is empty")
    kinds = [DUMMY if row.said.get(tag or "") == DUMMY else row.said[TRIAL_LABEL] for row in rows]
    recordings: dict[str, str] = {}
    clear = True  # no recording has two labels
    for row, kind in zip(rows, kinds, strict=True):
        if kind not in (*TRIALS, DUMMY):
            problems.add(_wrong_kind(f"{row.place}: utterance {row.utterance!r}", kind))
            continue
        label = row.said.get(LABEL, "spoof" if kind == "spoof" else "bonafide")
        if kind != DUMMY and (label == "spoof") != (kind == "spoof"):
            problems.add(f"{row.place}: recording {row.utterance!r} is called {label}, and {kind} as a trial")
        clear &= recordings.setdefault(row.utterance, label) == label
    problems.raise_if_any("correct the key")
    return TrialKey(dict(zip(_ids(rows, problems), kinds, strict=True)), recordings if clear else {})


def _wrong_kind(place: str, kind: str) -> str:
    return f"{place}: the label must be target, nontarget or spoof, not {kind!r}"


def _rows(source: Source, layout: Layout, wanted: Sequence[str], problems: Problems) -> list[Trial]:
    speaker = (SPEAKER,) if SPEAKER in layout.names else ()
    found = rows_of(source, layout, (UTTERANCE, *speaker, *wanted), problems)
    return [
        Trial(place, cells[1] if speaker else "", cells[0], dict(zip(wanted, cells[1 + len(speaker) :], strict=True)))
        for place, cells in found
    ]


def _ids(rows: Sequence[Trial], problems: Problems) -> list[str]:
    """The id of each trial; a trial that is listed twice is a problem."""
    names = [row.utterance for row in rows]
    ids = names if len(set(names)) == len(names) else [row.both for row in rows]
    seen: dict[str, str] = {}
    for row, trial in zip(rows, ids, strict=True):
        if seen.setdefault(trial, row.place) != row.place:
            problems.add(f"{row.place}: trial {trial!r} is listed at {seen[trial]} already; keep one of the two")
    problems.raise_if_any("correct the file of trials")
    return ids


# ---------------------------------------------------------------- columns


def read_trial_texts(source: Source, layout: Layout, column: str) -> Mapping[str, str]:
    """Read any column of a key of trials: trial -> text."""
    problems = Problems()
    rows = _rows(source, layout, (column,), problems)
    problems.raise_if_any("correct the key")
    return dict(zip(_ids(rows, problems), (row.said[column] for row in rows), strict=True))


def read_trial_column(source: Source, layout: Layout, column: str) -> tuple[list[str], list[float]]:
    """Read the ids of trials and one of their scores."""
    problems = Problems()
    rows = _rows(source, layout, (column,), problems)
    problems.raise_if_any(f"give a column {column}, or name another (--column)")
    return _ids(rows, problems), _scores(rows, column, problems)


def _scores(rows: Sequence[Trial], column: str, problems: Problems) -> list[float]:
    values = [score_of(row.said[column], f"{row.place}: utterance {row.utterance!r}", problems) for row in rows]
    problems.raise_if_any("correct the scores, or name another column (--column)")
    return values


# ---------------------------------------------------------------- scores of a verification system


def verification_layout(source: Source) -> Layout | None:
    """The columns of a table with the score of each trial; None for lines that do not name their trials."""
    layout = layout_of(source, [VERIFICATION_LINES])
    if layout is None or VERIFICATION in layout.names or TRIAL_LABEL in layout.names:
        return layout
    return None


def read_verification_table(source: Source, layout: Layout, key: Mapping[str, str] | None) -> VerificationScores:
    """Read ``spk filename asv-score``, with ``asv-label`` or a ``key`` that says what each trial is."""
    names, problems = layout.names, Problems()
    scores_in = [VERIFICATION] if VERIFICATION in names else score_columns(names)
    if len(scores_in) != 1:
        raise UsageError(f"{source.name}: which of {', '.join(names)} has the scores? Call it {VERIFICATION}")
    if TRIAL_LABEL not in names and key is None:
        raise UsageError(
            f"{source.name}: it has no column asv-label, so what each trial is must be known from a key of trials; "
            "give one in the place of REFERENCES (in Python: key=)"
        )
    optional = [name for name in (TRIAL_LABEL, ATTACK) if name in names]
    rows = _rows(source, layout, (scores_in[0], *optional), problems)
    problems.raise_if_any("correct the table of verification scores")
    ids = _ids(rows, problems)
    places: dict[str, list[int]] = {name: [] for name in TRIALS}
    scores = _scores(rows, scores_in[0], problems)
    for i, row in enumerate(rows):
        ids[i] = next((one for one in (row.both, row.utterance) if key is not None and one in key), ids[i])
        label = row.said.get(TRIAL_LABEL)
        kind = (key or {}).get(ids[i], label)
        place = f"{row.place}: trial {ids[i]!r}"
        if kind == DUMMY:
            continue
        if label is not None and label != kind:
            problems.add(f"{place} is called {label}, and {kind} in the key")
        elif not kind:
            problems.add(f"{place} is not in the key")
        elif kind not in TRIALS:
            problems.add(_wrong_kind(place, kind))
        else:
            places[kind].append(i)
    problems.raise_if_any("correct the table of verification scores, or the key")
    target, nontarget, spoof = (np.array(scores)[places[kind]] for kind in TRIALS)
    attacks = tuple(rows[i].said[ATTACK] for i in places["spoof"]) if ATTACK in optional else ()
    trials = {kind: tuple(ids[i] for i in places[kind]) for kind in TRIALS}
    return VerificationScores(target, nontarget, spoof, attacks, trials)
