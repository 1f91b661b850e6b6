"""Trials of speaker verification with spoofs: the kind of each, its attack and codec, and one score for each.

====================  =====================================================  =====================================
file                  line                                                   whose
====================  =====================================================  =====================================
keys                  ``spk filename asv-label`` under a header              ASVspoof 5, track 2; other columns too
protocol, scores      ``<spk> <utt> <attack> <target|nontarget|spoof>``      SASV 2022; a-DCF with a score third
scores                ``spk filename asv-score`` under a header              ASVspoof 5, with cm-score, sasv-score, ...
table                 a column ``utterance`` and one ``label``               any
====================  =====================================================  =====================================

Tables have tabs, commas or white space. Columns may have the names of ASVspoof 5's full key: ``tar_spk_anon``,
``trial_anon``, ``attack_anon``. Trials whose ``track_2_tag`` (or ``tag``) is ``dummy`` do not count; their recordings
do, where scores are of recordings (ASVspoof 5, track 1).

A recording may be tried against several speakers. Where it is, a trial's id is ``<spk> <utt>``, else it is ``<utt>``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spoofspan.base.errors import DataError, Problems, UsageError
from spoofspan.data.utterance_scores import DUMMY, TRIALS, TrialKey, UtteranceScores, VerificationScores
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.text.lines import Line, columns_of, first_lines, header_of, is_number, lines_of, score_of

SPEAKER, NAME, LABEL, CM_LABEL, ATTACK = "spk", "filename", "asv-label", "cm-label", "attack"
VERIFICATION = "asv-score"
ALIASES = {"tar-spk": SPEAKER, "speaker": SPEAKER, "trial": NAME, "utterance": NAME}
TAGS = ("tag", "track-2-tag")
FIELDS = (SPEAKER, ATTACK, "label")  # of lines of SASV 2022: <spk> <utt> <attack> <kind>
Row = tuple[str, str, str, str]  # place, speaker, utterance, what is said of the trial


def column_name(name: str) -> str:
    """The name of a column of trials in one spelling.

    >>> column_name("tar_spk_anon"), column_name("trial_anon"), column_name("cm_label"), column_name("attack_anon")
    ('spk', 'filename', 'cm-label', 'attack')
    """
    plain = name.strip().removesuffix("_anon").replace("_", "-")
    return ALIASES.get(plain, plain)


def names_of(head: bytes) -> list[str]:
    """The columns of a table of trials or utterances, each in one spelling."""
    return [column_name(name) for name in header_of(head)]


def recognises_trials(head: bytes) -> bool:
    """Whether the first lines say of each trial what it is."""
    if has_trial_header(head):
        return True
    lines = first_lines(head)
    return bool(lines) and all(len(fields) == 4 and fields[3] in TRIALS for fields in map(str.split, lines))


def has_trial_header(head: bytes) -> bool:
    """Whether this is a key of trials under a header."""
    return {NAME, LABEL} <= set(names_of(head))


def read_trials(source: Source) -> TrialKey:
    """Read what each trial is: ``target``, ``nontarget`` or ``spoof``; or ``dummy``, if it does not count."""
    problems = Problems()
    tags: Sequence[str] = ()
    if has_trial_header(source.head):
        rows = _columns(source, LABEL, problems)
        tag = next((name for name in TAGS if name in names_of(source.head)), None)
        tags = [row[3] for row in _columns(source, tag, problems)] if tag is not None else ()
    else:
        lines = _lines_of_four(source, problems)
        rows = [(line.place, line.fields[0], line.fields[1], line.fields[3]) for line in lines]
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
    return TrialKey(dict(zip(_ids(rows, problems), kinds, strict=True)), _labels_of_recordings(source, rows, kinds))


def _labels_of_recordings(source: Source, rows: Sequence[Row], kinds: Sequence[str]) -> Mapping[str, str]:
    """The label of each recording, as the column ``cm-label`` or its trials say; none if one has two labels."""
    problems = Problems()
    if has_trial_header(source.head) and CM_LABEL in names_of(source.head):
        labels = [row[3] for row in _columns(source, CM_LABEL, problems)]
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


def _lines_of_four(source: Source, problems: Problems) -> list[Line]:
    found = []
    for line in lines_of([source]):
        if len(line.fields) == 4:
            found.append(line)
        else:
            problems.add(f"{line.place}: expected '<spk> <utt> <score> <target, nontarget or spoof>'{line.hint}")
    return found


def _columns(source: Source, wanted: str, problems: Problems) -> list[Row]:
    if SPEAKER not in names_of(source.head):
        found = columns_of(source, (NAME, wanted), problems, column_name)
        return [(place, "", name, said) for place, (name, said) in found]
    found = columns_of(source, (SPEAKER, NAME, wanted), problems, column_name)
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


def read_trial_texts(source: Source, column: str) -> Mapping[str, str]:
    """Read any column of a key of trials: trial -> text; without a header the speaker, the attack or the label."""
    problems, name = Problems(), column_name(column)
    if has_trial_header(source.head):
        rows = _columns(source, name, problems)
    else:
        place = {SPEAKER: 0, ATTACK: 2, "label": 3}[name]
        lines = _lines_of_four(source, problems)
        rows = [(line.place, line.fields[0], line.fields[1], line.fields[place]) for line in lines]
    problems.raise_if_any("correct the key")
    return dict(zip(_ids(rows, problems), (row[3] for row in rows), strict=True))


def trial_columns(head: bytes) -> list[str]:
    """The columns of a key of trials."""
    if has_trial_header(head):
        return names_of(head)
    scored = recognises_trial_scores(head)
    return [name for name in FIELDS if name != ATTACK or not scored]


def read_trial_column(source: Source, column: str) -> tuple[list[str], list[float]]:
    """Read the ids of trials and one of their scores, of a table with a header."""
    problems = Problems()
    rows = _columns(source, column, problems)
    problems.raise_if_any(f"give a column {column}, or name another (--utterance-column)")
    return _ids(rows, problems), _scores(rows, problems)


def _scores(rows: Sequence[Row], problems: Problems) -> list[float]:
    values = [score_of(text, f"{place}: utterance {utt!r}", problems) for place, _, utt, text in rows]
    problems.raise_if_any("correct the scores, or name another column (--utterance-column)")
    return values


# ---------------------------------------------------------------- scores of a verification system


def has_verification_header(head: bytes) -> bool:
    """Whether this is a table with the score of each trial of a verification system."""
    return {NAME, VERIFICATION} <= set(names_of(head))


def read_verification_table(source: Source, key: Mapping[str, str] | None) -> VerificationScores:
    """Read ``spk filename asv-score``, with ``asv-label`` or a ``key`` that says what each trial is."""
    names, problems = names_of(source.head), Problems()
    if LABEL not in names and key is None:
        raise UsageError(
            f"{source.name}: it has no column asv-label, so what each trial is must be known from a key of trials; "
            "give one in the place of REFERENCES (in Python: key=)"
        )
    rows = _columns(source, VERIFICATION, problems)
    labels = [row[3] for row in _columns(source, LABEL, problems)] if LABEL in names else None
    attacks = [row[3] for row in _columns(source, ATTACK, problems)] if ATTACK in names else None
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


# ---------------------------------------------------------------- one score a line


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
    return UtteranceScores(tuple(_ids(rows, problems)), np.array(_scores(rows, problems)), higher, of_trials=True)


FORMAT: Format[UtteranceScores] = Format(
    "sasv-trials",
    "<spk> <utt> <score> <target|nontarget|spoof>, high = target: a-DCF, SASV; it is its own key",
    read_trial_scores,
    recognises_trial_scores,
)
