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
Row = tuple[str, str, str, str]  # place, speaker, utterance, what is said of the trial


def read_trials(source: Source, layout: Layout) -> TrialKey:
    """Read what each trial is: ``target``, ``nontarget`` or ``spoof``; or ``dummy``, if it does not count."""
    problems = Problems()
    rows = _columns(source, layout, TRIAL_LABEL, problems)
    tag = next((name for name in TAGS if name in layout.names), None)
    tags = [row[3] for row in _columns(source, layout, tag, problems)] if tag is not None else ()
    problems.raise_if_any("correct the key")
    if not rows:
        raise DataError(f"{source.name}: there is no trial in the file; it has a header only, or is empty")
    kinds = [DUMMY if tags and tags[i] == DUMMY else row[3] for i, row in enumerate(rows)]
    for (place, _, utterance, _), label in zip(rows, kinds, strict=True):
        if label not in (*TRIALS, DUMMY):
            problems.add(
                f"{place}: utterance {utterance!r}: the label must be target, nontarget or spoof, not {label!r}"
            )
    problems.raise_if_any("correct the key")
    recordings = _labels_of_recordings(source, layout, rows, kinds)
    return TrialKey(dict(zip(_ids(rows, problems), kinds, strict=True)), recordings)


def _labels_of_recordings(
    source: Source, layout: Layout, rows: Sequence[Row], kinds: Sequence[str]
) -> Mapping[str, str]:
    """The label of each recording, as the column ``cm-label`` or its trials say; none if one has two labels."""
    problems = Problems()
    if LABEL in layout.names:
        labels = [row[3] for row in _columns(source, layout, LABEL, problems)]
    else:
        labels = ["spoof" if kind == "spoof" else "bonafide" for kind in kinds]
    found: dict[str, str] = {}
    for (place, _, name, _), label, kind in zip(rows, labels, kinds, strict=True):
        if kind != DUMMY and (label == "spoof") != (kind == "spoof"):
            problems.add(f"{place}: recording {name!r} is called {label}, and {kind} as a trial")
    problems.raise_if_any("correct the key")
    for row, label in zip(rows, labels, strict=True):
        if found.setdefault(row[2], label) != label:
            return {}
    return found


def _columns(source: Source, layout: Layout, wanted: str, problems: Problems) -> list[Row]:
    if SPEAKER not in layout.names:
        found = rows_of(source, layout, (UTTERANCE, wanted), problems)
        return [(place, "", name, said) for place, (name, said) in found]
    found = rows_of(source, layout, (SPEAKER, UTTERANCE, wanted), problems)
    return [(place, spk, name, said) for place, (spk, name, said) in found]


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


# ---------------------------------------------------------------- columns


def read_trial_texts(source: Source, layout: Layout, column: str) -> Mapping[str, str]:
    """Read any column of a key of trials: trial -> text."""
    problems = Problems()
    rows = _columns(source, layout, column, problems)
    problems.raise_if_any("correct the key")
    return dict(zip(_ids(rows, problems), (row[3] for row in rows), strict=True))


def read_trial_column(source: Source, layout: Layout, column: str) -> tuple[list[str], list[float]]:
    """Read the ids of trials and one of their scores."""
    problems = Problems()
    rows = _columns(source, layout, column, problems)
    problems.raise_if_any(f"give a column {column}, or name another (--column)")
    return _ids(rows, problems), _scores(rows, problems)


def _scores(rows: Sequence[Row], problems: Problems) -> list[float]:
    values = [score_of(text, f"{place}: utterance {utt!r}", problems) for place, _, utt, text in rows]
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
    rows = _columns(source, layout, scores_in[0], problems)
    labels = [row[3] for row in _columns(source, layout, TRIAL_LABEL, problems)] if TRIAL_LABEL in names else None
    attacks = [row[3] for row in _columns(source, layout, ATTACK, problems)] if ATTACK in names else None
    problems.raise_if_any("correct the table of verification scores")
    ids = _ids(rows, problems)
    places: dict[str, list[int]] = {name: [] for name in TRIALS}
    scores = _scores(rows, problems)
    for i, (place, speaker, name, _) in enumerate(rows):
        known = next((one for one in (f"{speaker} {name}", name) if key is not None and one in key), None)
        ids[i] = known or ids[i]
        kind = key[known] if key is not None and known is not None else labels[i] if labels is not None else ""
        if kind == DUMMY:
            continue
        if labels is not None and labels[i] != kind:
            problems.add(f"{place}: trial {ids[i]!r} is called {labels[i]}, and {kind} in the key")
        elif not kind:
            problems.add(f"{place}: trial {ids[i]!r} is not in the key")
        elif kind not in TRIALS:
            problems.add(f"{place}: trial {ids[i]!r}: the label must be target, nontarget or spoof, not {kind!r}")
        else:
            places[kind].append(i)
    problems.raise_if_any("correct the table of verification scores, or the key")
    target, nontarget, spoof = (np.array(scores)[places[kind]] for kind in TRIALS)
    known_attacks = tuple(attacks[i] for i in places["spoof"]) if attacks is not None else ()
    trials = {kind: tuple(ids[i] for i in places[kind]) for kind in TRIALS}
    return VerificationScores(target, nontarget, spoof, known_attacks, trials)
