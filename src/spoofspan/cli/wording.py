"""Messages in the words of the shell: the library speaks of arguments (``uncovered='hold'``), the shell of flags."""

from __future__ import annotations

import re

from spoofspan.data.rules import RULES

# Arguments that are flags of the same name, besides the rules.
ARGUMENTS = """
    hop higher column durations spoof_label split subset
    eer_rule threshold scores_are confidence convention asv_scores asv_rates
    resume processes force snap smoothing min_duration merge_gap prior ridge folds
    against unpaired dev power correlation jobs seed precision quantiles bins label_sources submissions truncated
    bonafide_share held_out hold_out channel level limit false_alarms threads
"""
# Arguments that have another name as a flag.
OTHER_NAMES = {"source": "reference-source", "method": "interval"}
_NAMES = "|".join(sorted({*RULES, *ARGUMENTS.split(), *OTHER_NAMES}, key=len, reverse=True))
_VALUES = r"'[^'\s]*'(?:(?:,| or) '[^'\s]*')*|True\b|nan\b|-?inf\b|-?\d[\w.+-]*(?<![.])|(?=[\s,;:)]|$)"
_ARGUMENT = re.compile(rf"(?<![\w'\"/.=@-])(?P<name>{_NAMES})=(?P<value>{_VALUES})(?: \(--[a-z-]+(?: [\w-]+)?\))?")

# A file in the wrong place (:class:`.MisplacedFileError`), by that place and by what it holds.
MISPLACED = {
    ("references", "scores"): "{} looks like scores; REFERENCES come first, then SCORES",
    ("references", "utterance labels"): (
        "{} has labels of whole utterances, without times, which go with scores of whole utterances; scores in time "
        "need references in time, such as RTTM"
    ),
    ("scores", "utterance scores"): (
        "{} has scores of whole utterances, without times; spoofspan eval takes them beside scores in time with "
        "--utterance-scores, and eval, compare, calibrate, fuse, plan and domains take them in the place of SCORES"
    ),
    ("durations", "references"): (
        "{} looks like references, and is given as --durations; give a file of <utterance> <seconds>, or leave "
        "--durations out"
    ),
    ("durations", "utterance labels"): (
        "{} looks like labels of utterances, and is given as --durations; give a file of <utterance> <seconds>, or "
        "leave --durations out (speakers and attacks: --metadata)"
    ),
    ("durations", "scores"): (
        "{} looks like scores, and is given as --durations; give SCORES after REFERENCES, and --durations a file of "
        "<utterance> <seconds>"
    ),
}


def in_words_of_the_shell(message: object) -> str:
    """A message of the library, with flags in the place of arguments, and REFERENCES and SCORES for files."""
    place = getattr(message, "place", ""), getattr(message, "found", "")
    if place not in MISPLACED:
        return in_flags(str(message))
    return MISPLACED[place].format(message.name)  # type: ignore[attr-defined]


def in_flags(message: str) -> str:
    """Turn the arguments that a message names into flags.

    >>> in_flags("give hop= (--hop) in seconds; use uncovered='hold' or 'ignore', or measure with partial=True")
    'give --hop in seconds; use --uncovered hold or ignore, or measure with --partial'
    >>> in_flags("20 ms would fit: give hop=0.02")
    '20 ms would fit: give --hop 0.02'
    """
    # the flag that belongs to an argument of another name is named behind it: format= (--scores-format)
    named = re.sub(r"\b\w+=(?:'[^'\s]*')? \((--[a-z0-9-]+(?: [\w-]+)?)\)", r"\1", message)
    named = named.replace("with_bare_ids (--bare-ids)", "--bare-ids")
    return _ARGUMENT.sub(_flag, named).replace(", or use undefined='nan'", "")  # which has no flag


def _flag(found: re.Match[str]) -> str:
    if re.search(r"--[\w-]+ $", found.string[: found.start()]):  # it is what was typed: --change seed=3
        return found[0]
    name = OTHER_NAMES.get(found["name"], found["name"].replace("_", "-"))
    value = found["value"].replace("'", "")
    return f"--{name}" if value in ("", "True") else f"--{name} {value}"
