"""Names of columns: the words that people use for the same thing, in every kind of table.

Names are compared without regard to case, and ``_`` equals ``-``. ASVspoof 5's full key adds ``_anon`` to some. An id
(``utt_id``, ``ID``) is preferred to the path of a file where a table has both. The name of a score may say what high
scores mean (``prob_fake``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from spoofspan.data.scores import Higher

UTTERANCE = "utterance"
# by what they mean here; those of one row are equally good, and an earlier row is preferred
IDS = (
    "utterance utt utt-id utterance-id uttid id key trial audio-id id-audio recording recording-id sample-id uniq-id",
    "filename file-name file path file-path filepath audio audio-path audio-filepath audio-file wav wav-path",
)
SAME = {
    "start": "begin onset start-time start-s start-sec begin-time",
    "end": "offset stop end-time end-s end-sec stop-time",
    "label": "event-label real-or-fake",
    "spk": "speaker tar-spk speaker-id spk-id",
    "labels": "frame-labels label-sequence",
}
NAMES = {word: name for name, words in SAME.items() for word in words.split()}
# the columns of tables of ranges and frames
OF_TABLES = frozenset(
    [
        *("utterance", "start", "end", "label", "attack", "duration", "labels"),
        *("frame", "score", "scores", "hop", "origin", "window", "higher"),
    ]
)
WORD_OF_A_SCORE = re.compile(r"(?:^|-)(?:(?:scores?|logits?|llr|probs?|probability)\d*|p)(?:-|$)")
SPOOF_WORDS, BONA_FIDE_WORDS = {"fake", "spoof", "spoofed"}, {"real", "bonafide", "genuine"}


def column_name(name: str) -> str:
    """The name of a column in one spelling; ids keep theirs.

    >>> column_name("tar_spk_anon"), column_name("Begin"), column_name("cm_label"), column_name("utt_id")
    ('spk', 'start', 'cm-label', 'utt-id')
    """
    plain = name.strip().lower().removesuffix("_anon").replace("_", "-").replace(" ", "-")
    return NAMES.get(plain, plain)


def column_names(names: Sequence[str]) -> list[str]:
    """The columns of a table in one spelling; the column that identifies a recording is called ``utterance``.

    >>> column_names(["ID", "path", "label"]), column_names(["filename", "onset", "offset", "prob_fake"])
    (['utterance', 'path', 'label'], ['utterance', 'start', 'end', 'prob-fake'])
    """
    plain = [column_name(name) for name in names]
    if "start" not in plain:  # an offset beside a duration is a start
        plain = [
            "offset" if name.strip().lower() == "offset" else mine for mine, name in zip(plain, names, strict=True)
        ]
    if UTTERANCE in plain:
        return plain
    for words in IDS:
        found = [name for name in plain if name in words.split()]
        if found:
            # two words for one thing mean neither
            return [UTTERANCE if name == found[0] and len(found) == 1 else name for name in plain]
    return plain


def score_columns(names: Collection[str]) -> list[str]:
    """The columns, in one spelling, that may hold scores.

    >>> score_columns(["utterance", "score-spoof", "score-bonafide", "label", "codec"])
    ['score-spoof', 'score-bonafide']
    >>> score_columns(["utterance", "logit0", "logit1"])
    ['logit0', 'logit1']
    """
    return [name for name in names if WORD_OF_A_SCORE.search(name)]


def polarity_of(name: str) -> Higher | None:
    """Meaning of high scores, if the name of their column says it.

    >>> polarity_of("prob_fake"), polarity_of("bonafide_score"), polarity_of("score")
    ('spoof', 'bonafide', None)
    """
    words = set(column_name(name).split("-"))
    if SPOOF_WORDS & words and not BONA_FIDE_WORDS & words:
        return "spoof"
    return "bonafide" if BONA_FIDE_WORDS & words and not SPOOF_WORDS & words else None


def table_names(names: Sequence[str], asked: str | None = None) -> list[str]:
    """The columns of a table of ranges or frames as they are called here; others keep their names.

    The one column that may hold scores is called ``score``, unless there are labels too. The column that was ``asked``
    for keeps its name.

    >>> table_names(["filename", "start_time", "end_time", "prob_fake", "note"])
    ['utterance', 'start', 'end', 'score', 'note']
    """
    plain = column_names(names)
    if "attack" not in plain:  # as tables of ranges called it once; of other tables it is any column
        plain = ["attack" if name == "kind" else name for name in plain]
    scores = [] if {"score", "scores", "label", "labels"}.intersection(plain) else score_columns(plain)
    if len(scores) == 1:
        plain = ["score" if name == scores[0] else name for name in plain]
    # a column that is called so already is meant; and two words for one thing mean neither
    return [
        mine
        if mine == name or (mine in OF_TABLES and mine not in names and plain.count(mine) == 1 and name != asked)
        else name
        for mine, name in zip(plain, names, strict=True)
    ]


def table_polarity(names: Sequence[str], asked: str | None = None) -> Higher | None:
    """Meaning of high scores, where the name of their column says it."""
    if asked is not None:
        return polarity_of(asked) if asked in names else None
    ours = table_names(names)
    return polarity_of(names[ours.index("score")]) if "score" in ours else None


def is_alias(name: str) -> bool:
    """True if a column may be called otherwise here.

    >>> is_alias("utt_id"), is_alias("prob_fake"), is_alias("codec")
    (True, True, False)
    """
    plain = column_name(name)
    return plain in OF_TABLES or bool(score_columns([plain])) or any(plain in words.split() for words in IDS)
