"""Help pages that fit a screen: examples first, options in groups, rare ones by name; ``--help-all`` has everything.

The rules are the same in every command, so their flags are described in one place: ``spoofspan explain rules``.

Mistakes that a parser would accept, or would blame on something else, are refused before anything is read, with what to
type instead: a flag that takes one value and is repeated, a list without commas, another program's name of a flag.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from contextlib import suppress
from inspect import cleandoc
from pathlib import Path
from textwrap import wrap
from typing import Any

import click

from spoofspan.base.numbers import is_number
from spoofspan.base.terminal import laid_out_for, screen_of

IN_FULL = "--help-all"
ABOUT_HELP = f"Show this page; {IN_FULL} describes every option."
# Parameters by group. Those after the bar are rare: named in the help, described by --help-all. What is not listed is
# a command's own.
GROUPS = {
    "Inputs": (
        "dataset durations hop higher metadata benchmark | utterance_scores training_resolution column "
        "reference_source reference_format scores_format reference_hop spoof_label bare_ids label2id split "
        "modality subset utterance_scores_format utterance_column utterance_higher asv_scores asv_rates "
        "boundary_scores fps"
    ),
    "Measures": (
        "measure threshold threshold_from by per_utterance | scores_are algorithm precision quantiles smoothing "
        "merge_gap min_duration own_eer like words tier"
    ),
    "Rules": "convention eer_rule |",
    "Uncertainty": "confidence cluster interval | replicates seed",
    "Output": "format out force full_signature quiet help | stream jobs scheduler heatmap confusion",
}
OWN = "Options"
EVERY_FLAG = "Every rule is a flag, such as --gaps bonafide"
EVERY_RULE = "every rule"  # a group that only --help-all describes
EXAMPLES = 5  # of a command that has more
# What more arguments than a command takes were meant for.
SEVERAL = {"eval": "for several systems: spoofspan compare REFERENCES SCORES SCORES"}
NAMES_UP_TO = 25  # columns; a longer name stands on a line of its own


class HelpCommand(click.Command):
    """A command whose help is in groups."""

    _in_full = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Understand --help-all, which every command has."""
        self._in_full = IN_FULL in args
        ctx.allow_extra_args = True  # they are refused here, where the remedy is known
        typed = ["--help"] if self._in_full else args
        if not ctx.resilient_parsing:
            refuse_mistyped(self, ctx, typed)
        try:
            extra = super().parse_args(ctx, typed)
        except click.MissingParameter as missing:  # which says what is meant, too
            record = missing.param.get_help_record(ctx) if missing.param is not None else None
            about = "" if record is None else _first_sentence(record[1].partition("  [")[0])
            raise click.MissingParameter(about, ctx, missing.param) from None
        if extra and not ctx.resilient_parsing:
            count = "one argument" if len(extra) == 1 else f"{len(extra)} arguments"
            remedy = SEVERAL.get(ctx.command.name, "if a name has spaces, quote it")
            if len(extra) == 1 and _may_be_durations(extra[0]):
                remedy = f"if it has durations: --durations {extra[0]}"
            ctx.fail(f"{count} too many: {' '.join(map(repr, extra[:5]))}; {remedy}")
        return extra

    def invoke(self, ctx: Any) -> Any:
        """Lay results out for the terminal, if they go to one."""
        with laid_out_for(None if ctx.params.get("out") is not None else screen_of(sys.stdout)):
            return super().invoke(ctx)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """The first sentence, examples, and then the rest."""
        text, _, below = cleandoc(self.help or "").partition("For example:\n\n")
        first, _, rest = text.partition("\n\n")
        _write_text(formatter, first)
        examples = [line.strip() for line in below.splitlines() if line.strip()]
        if examples:
            formatter.write("\n  For example:\n")
        for example in examples if self._in_full else examples[:EXAMPLES]:
            for line in wrap(example, formatter.width - 5, subsequent_indent="    ", break_on_hyphens=False):
                formatter.write(f"    {line}\n")
        _write_text(formatter, rest)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, and options by group."""
        groups: dict[str, dict[str, tuple[str, str]]] = {name: {} for name in ("Arguments", OWN, *GROUPS, EVERY_RULE)}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                about = record[1] if self._in_full else _first_sentence(record[1])
                name = "help" if "--help" in param.opts else str(param.name)  # click's own name of it varies
                groups[_group_of(param, name)][name] = (record[0], ABOUT_HELP if name == "help" else about)
        rules = groups.pop(EVERY_RULE)
        if self._in_full:
            groups["Rules"] |= rules
        for group in GROUPS:  # a command with nothing but the rare ones means something of its own by them
            if set(groups[group]) <= set(_rare(group)):
                groups[OWN] |= groups[group]
                groups[group] = {}
        for group, records in groups.items():
            if not records and not (group == "Rules" and rules):
                continue
            rare = [] if self._in_full else [one for one in _rare(group) if one in records]
            with formatter.section(group):
                if records:
                    formatter.write_dl([one for name, one in records.items() if name not in rare], col_max=NAMES_UP_TO)
                if rare:
                    also = "Also: " + ", ".join(re.findall(r"--[\w-]+", records[name][0])[0] for name in rare)
                    for line in wrap(also, formatter.width - 3, subsequent_indent="  ", break_on_hyphens=False):
                        formatter.write(f"  {line}\n")
                if group == "Rules" and rules and not self._in_full:
                    few = f"Also: {', '.join(map(_flag, rules))}" if len(rules) < 4 else EVERY_FLAG
                    formatter.write_text(f"{few}: see spoofspan explain rules")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _group_of(param: Any, name: str) -> str:
    from spoofspan.data.rules import RULES

    if param.param_type_name == "argument":
        return "Arguments"
    found = next((group for group, names in GROUPS.items() if name in names.split()), OWN)
    return EVERY_RULE if found == OWN and name in RULES and _flag(name) in param.opts else found


def _first_sentence(about: str) -> str:
    """A description without what follows its first sentence; its default stays.

    >>> _first_sentence("Named set of rules. One of a, b.  [default: a]")
    'Named set of rules.  [default: a]'
    """
    text, bracket, default = about.partition("  [")
    return text.partition(". ")[0].rstrip(".") + "." + bracket + default


def _rare(group: str) -> list[str]:
    return GROUPS.get(group, "").partition("|")[2].split()


def _write_text(formatter: Any, text: str) -> None:
    """Paragraphs, wrapped; inside a section they continue it."""
    if not text.strip():
        return
    if not formatter.current_indent:
        formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(text.strip())


# ---------------------------------------------------------------- what was mistyped

MEASURE = re.compile(r"(range|point|utterance|event)-[a-z][a-z0-9-]*(@\S+)?")
RESOLUTION = re.compile(r"[0-9]+(\.[0-9]+)?(ms)?")
# Flags of other programs, a flag of ours that the command must have, and what to type instead.
OTHER_FLAGS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("--metric", "--metrics", "--measures"), "--measure", "give each one with -m, such as -m range-eer"),
    (("--ci", "--alpha", "--level"), "--confidence", "give --confidence 0.95 for intervals at 95 %"),
    (
        ("--bootstrap", "--n-bootstrap", "--n-resamples"),
        "--replicates",
        "give --confidence 0.95 --interval percentile --replicates 1000",
    ),
    (("--output", "--save", "--output-file", "-o"), "--out", "give --out FILE"),
    (("--group-by", "--groupby"), "--by", "give --by attack, or --by COLUMN --metadata FILE"),
    (("--duration", "--reco2dur", "--utt2dur"), "--durations", "give --durations FILE"),
    (("--frame-shift", "--frame-hop", "--unit"), "--hop", "give --hop in seconds, such as 0.02"),
    (("--polarity", "--pos-label"), "--higher", "give --higher bonafide or --higher spoof"),
    (("--ref", "--reference", "--references", "--rttm"), "--hop", "give REFERENCES as the first word"),
    (("--hyp", "--score", "--scores"), "--scores-format", "give SCORES after REFERENCES"),
    (("--overwrite", "--yes", "-f", "-y"), "--force", "give --force"),
    (("--verbose", "-v", "--debug"), "--signature", "progress is shown anyway; --signature prints more"),
    (("--num-workers", "--processes", "--n-jobs"), "--jobs", "give --jobs N"),
    (("--threshold",), "--system-threshold", "give each system its own: --system-threshold NAME=0.4"),
    (("--resolution",), "--resolutions", "give --resolutions 20,160"),
    (("--resolution",), "--measure", "a resolution is part of a measure, such as -m point-eer@20ms"),
    (
        ("--resolutions",),
        "--measure",
        "each resolution is a measure, -m point-eer@20ms -m point-eer@160ms; for a table of them: spoofspan table "
        "REFERENCES SCORES --resolutions 20,160",
    ),
    (
        ("--utterance-scores",),
        "--scores-format",
        "give the file of utterance scores as SCORES, after REFERENCES",
    ),
    *(((f"--{name}",), "--format", f"give --format {name}") for name in ("json", "csv", "markdown", "latex")),
)


def refuse_mistyped(command: Any, ctx: Any, args: list[str]) -> None:
    """Refuse such mistakes; what a parser refuses by itself is left to it."""
    flags = {flag for param in command.get_params(ctx) for flag in param.opts}
    for word in (word.partition("=")[0] for word in args):
        if word not in flags:
            advice = next((text for names, ours, text in OTHER_FLAGS if word in names and ours in flags), None)
            if advice is not None:
                ctx.fail(f"no option {word}: {advice}")
    opts, extra, order = command.make_parser(ctx).parse_args(args=list(args))
    _refuse_repeated(ctx, order)
    words = [word for param in command.get_params(ctx) if _is_argument(param) for word in _words(opts.get(param.name))]
    for word in (*words, *extra):
        if word.startswith("=") or (word.endswith("=") and not Path(word).exists()):
            ctx.fail(f"{word!r} names nothing; write NAME=FILE without blanks")
        if (MEASURE.fullmatch(word) or RESOLUTION.fullmatch(word)) and not Path(word).exists():
            _refuse_stray(ctx, word, flags, opts)


def _may_be_durations(word: str) -> bool:
    """True if the first line of a file is ``<utterance> <seconds>``."""
    with suppress(OSError, ValueError), Path(word).expanduser().open(encoding="utf-8") as lines:
        words = lines.readline().split()
        return len(words) == 2 and is_number(words[1])
    return False


def _refuse_repeated(ctx: Any, order: list[Any]) -> None:
    """Refuse a flag that takes one value and is given several times: all but the last would be lost."""
    for param, times in Counter(param for param in order if not _is_argument(param)).items():
        if times > 1 and not (param.multiple or param.is_flag or param.count):
            ctx.fail(f"{max(param.opts, key=len)} is given {times} times, and takes one value; give it once")


def _refuse_stray(ctx: Any, word: str, flags: set[str], opts: dict[str, Any]) -> None:
    """Refuse a word in the place of a file that belongs to the list of a flag before it."""
    if "--measure" in flags and opts.get("measure") and MEASURE.fullmatch(word):
        first = opts["measure"] if isinstance(opts["measure"], str) else opts["measure"][-1]
        several = any(param.multiple for param in ctx.command.get_params(ctx) if param.name == "measure")
        ctx.fail(
            f"{word} is a measure; "
            + (f"give each its own flag: -m {first} -m {word}" if several else "this command takes one: give one -m")
        )
    if opts.get("resolutions") and RESOLUTION.fullmatch(word):
        ctx.fail(f"{word} is no file; write resolutions with commas: --resolutions {opts['resolutions']},{word}")


def _is_argument(param: Any) -> bool:
    return bool(param.param_type_name == "argument")


def _words(value: Any) -> list[str]:
    """The words of an argument, which may take one or several."""
    found = value if isinstance(value, list | tuple) else [value]
    return [one for one in found if isinstance(one, str)]
