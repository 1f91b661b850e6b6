"""Help pages that fit a screen: examples first, options in groups, rare ones by name; ``--help-all`` has everything.

The rules are the same in every command, so their flags are described in one place: ``spoofspan explain rules``.
"""

from __future__ import annotations

import re
from inspect import cleandoc
from textwrap import wrap
from typing import Any

from typer.core import TyperCommand

from spoofspan.cli.plain_values import with_plain_values
from spoofspan.cli.typed_words import refuse_mistyped

IN_FULL = "--help-all"
ABOUT_HELP = f"Show this page; {IN_FULL} describes every option."
# Parameters by group. Those after the bar are rare: named in the help, described by --help-all. What is not listed is
# a command's own.
GROUPS = {
    "Inputs": (
        "dataset durations hop higher metadata benchmark utterance_scores | column reference_source reference_format "
        "scores_format reference_hop spoof_label bare_ids label2id split modality subset utterance_scores_format "
        "utterance_column utterance_higher asv_scores asv_rates boundary_scores fps"
    ),
    "Measures": (
        "measure threshold threshold_from by per_utterance | scores_are algorithm precision quantiles smoothing "
        "merge_gap min_duration own_eer like"
    ),
    "Rules": "convention eer_rule |",
    "Uncertainty": "confidence cluster interval | replicates seed workers",
    "Output": "output out force full_signature quiet help | stream jobs scheduler heatmap",
}
OWN = "Options"
EVERY_FLAG = "Every rule is a flag, such as --gaps bonafide"
EVERY_RULE = "every rule"  # a group that only --help-all describes
EXAMPLES = 5  # of a command that has more
# What more arguments than a command takes were meant for.
SEVERAL = {"eval": "for several systems: spoofspan compare REFERENCES SCORES SCORES"}
NAMES_UP_TO = 25  # columns; a longer name stands on a line of its own


class HelpCommand(TyperCommand):
    """A command whose help is in groups."""

    _in_full = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Understand --help-all, which every command has."""
        self._in_full = IN_FULL in args
        ctx.allow_extra_args = True  # they are refused here, where the remedy is known
        typed = ["--help"] if self._in_full else args
        if not ctx.resilient_parsing:
            refuse_mistyped(self, ctx, typed)
        extra = super().parse_args(ctx, typed)
        if extra and not ctx.resilient_parsing:
            count = "one argument" if len(extra) == 1 else f"{len(extra)} arguments"
            remedy = SEVERAL.get(ctx.command.name, "if a name has spaces, quote it")
            ctx.fail(f"{count} too many: {' '.join(map(repr, extra[:5]))}; {remedy}")
        return extra

    def get_params(self, ctx: Any) -> list[Any]:
        """The flags and arguments, which convert plain values themselves."""
        return with_plain_values(super().get_params(ctx))

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
                about = ABOUT_HELP if param.name == "help" else about
                groups[_group_of(param)][str(param.name)] = (record[0].replace("<list[str]>", "<str>"), about)
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


def _group_of(param: Any) -> str:
    from spoofspan.data.rules import RULES

    if param.param_type_name == "argument":
        return "Arguments"
    found = next((group for group, names in GROUPS.items() if param.name in names.split()), OWN)
    return EVERY_RULE if found == OWN and param.name in RULES and _flag(param.name) in param.opts else found


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
