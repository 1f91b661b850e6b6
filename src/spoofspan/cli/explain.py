"""``spoofspan explain``: what a name means, in plain words."""

from __future__ import annotations

from typing import Annotated

import typer

from spoofspan.cli import completion


def explain(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="SUBJECT",
            help="A measure, a rule, a convention, a word of the literature, a topic, or a signature.",
            autocompletion=completion.among(completion.subjects),
        ),
    ] = "topics",
) -> None:
    """Explain a name in plain words.

    A measure, a rule, an EER rule, a convention, a word of the literature (false acceptance, miss, segment EER) or a
    signature: definition, formula, reference. Without a word: the topics.

    For example:

      spoofspan explain rules

      spoofspan explain range-eer

      spoofspan explain uncovered

      spoofspan explain nii-2023

      spoofspan explain "false acceptance"

      spoofspan explain bisection
    """
    from spoofspan.base.errors import UsageError
    from spoofspan.evaluation.explain import explain as explain_subject
    from spoofspan.evaluation.explain import nearest_subject

    try:
        text = explain_subject(subject)
    except UsageError:
        nearest = nearest_subject(subject)
        if nearest is None:
            raise
        text = explain_subject(nearest)
        typer.echo(f"note: nothing is called {subject!r}; this is {nearest!r}", err=True)
    typer.echo(text)
