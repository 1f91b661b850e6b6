"""``spoofspan explain``: what a name means, in plain words."""

from __future__ import annotations

import sys
from typing import Annotated

import click

from spoofspan.base.terminal import fitted, screen_of
from spoofspan.cli import completion
from spoofspan.cli import options as o


def explain(
    subject: Annotated[
        str,
        o.argument(
            metavar="SUBJECT",
            help="A measure, a rule, a convention, a benchmark, a word of the literature, a topic, or a signature.",
            complete=completion.among(completion.subjects),
        ),
    ] = "topics",
) -> None:
    """Explain a name in plain words.

    A measure, a rule, an EER rule, a convention, a benchmark, a word of the literature (false acceptance, miss, segment
    EER) or a signature: definition, formula, reference. Without a word: the topics.

    For example:

      spoofspan explain rules

      spoofspan explain range-eer

      spoofspan explain uncovered

      spoofspan explain nii-2023

      spoofspan explain "false acceptance"

      spoofspan explain bisection

      spoofspan explain 'range-eer|default|eer:nearest|rules:2|refs:7bfc076a|v0.1'
    """
    from spoofspan.base.errors import UsageError
    from spoofspan.evaluation.explain import explain as explain_subject
    from spoofspan.evaluation.signature_text import is_signature

    try:
        text = explain_subject(subject)
    except UsageError:
        if is_signature(subject):  # nothing else is near
            raise
        text = _benchmark(subject) or _nearest(subject)
    click.echo(fitted(text, screen_of(sys.stdout)))


def _benchmark(name: str) -> str:
    """Description of a benchmark; nothing if it is none."""
    from spoofspan.formats.datasets.benchmarks import benchmarks, find_benchmark
    from spoofspan.report.results import benchmark_table

    if name.partition(":")[0] not in benchmarks():
        return ""
    return benchmark_table(find_benchmark(name)).render("text").rstrip()


def _nearest(subject: str) -> str:
    from spoofspan.base.errors import UsageError, dated_names
    from spoofspan.data.rules import CONVENTIONS
    from spoofspan.evaluation.explain import explain, nearest_subject

    if dated := dated_names(subject, {name: one.about for name, one in CONVENTIONS.items()}):
        raise UsageError(f"{subject}: {dated}")
    nearest = nearest_subject(subject)
    text = explain(nearest or subject)
    click.echo(f"note: nothing is called {subject!r}; this is {nearest!r}", err=True)
    return text
