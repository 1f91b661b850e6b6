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
            help="A measure, a rule, an EER rule, a convention, a word of the literature, or a signature.",
            autocompletion=completion.among(completion.subjects),
        ),
    ],
) -> None:
    """Explain a name in plain words.

    A measure, a rule, an EER rule, a convention, a word of the literature (false acceptance, miss, segment EER) or a
    signature: definition, formula, reference.

    For example:

      spoofspan explain range-eer

      spoofspan explain uncovered

      spoofspan explain nii-2023

      spoofspan explain "false acceptance"

      spoofspan explain bisection
    """
    from spoofspan.evaluation.explain import explain as explain_subject

    typer.echo(explain_subject(subject))
