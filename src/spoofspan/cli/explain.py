"""``spoofspan explain``: what a name means, in plain words."""

from __future__ import annotations

from typing import Annotated

import typer


def explain(
    subject: Annotated[str, typer.Argument(help="A measure, a rule, an EER rule, a convention, or a signature.")],
) -> None:
    """Explain a measure, a rule, a convention or a signature: definition, formula, reference."""
    from spoofspan.explain import explain as explain_subject

    typer.echo(explain_subject(subject))
