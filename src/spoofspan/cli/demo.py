"""``spoofspan demo``: the corpus that ships with the package, measured and explained."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from spoofspan.base.terminal import laid_out_for, screen_of
from spoofspan.cli import options as o


def demo(
    format: Literal["text", "json"] = o.flag("text", "Output format: text or json.", "--format"),
    conventions: bool = o.flag(
        False, "Measure one corpus and one system under every convention instead.", "--conventions"
    ),
    out: Path | None = o.flag(
        None, "Also write the corpus to this folder: labels, scores, a protocol and some sound, to experiment with."
    ),
    report: Path | None = o.flag(
        None, "Also write a page that shows where the system errs, as 'spoofspan report' does."
    ),
    force: bool = o.flag(False, "Write into a folder that is not empty, or over a page.", "--force"),
) -> None:
    """Measure a small corpus and explain the numbers.

    The corpus is part of the package. --out also writes it to files, with a README.txt that lists commands to try.

    For example:

      spoofspan demo

      spoofspan demo --out demo

      spoofspan demo --report demo.html

      spoofspan demo --conventions
    """
    from spoofspan.demo import PROTOCOL, README, SOUNDS, export, load, load_short_tail
    from spoofspan.demo.explanation import explanation_of_conventions, explanation_of_resolutions, page_of
    from spoofspan.report.table import json_text

    o.must_be_free(report, force=force)
    corpus = load_short_tail() if conventions else load()
    if out is not None:
        files = export(corpus, out, force=force)
        click.echo(f"{len(files)} files written to {out}; begin with {out / README}", err=True)
        sounds = sum(path.suffix == ".wav" for path in files)
        if sounds:
            click.echo(
                f"among them {out / PROTOCOL} (speakers and attacks) and the sound of {sounds} utterances in "
                f"{out / SOUNDS}",
                err=True,
            )
    if report is not None:
        o.write_page(page_of(corpus), report, force)
    # --out is a folder here, and what is printed goes to the terminal all the same
    with laid_out_for(screen_of(sys.stdout)):
        explained = explanation_of_conventions(corpus) if conventions else explanation_of_resolutions(corpus)
    o.Output(format).deliver(json_text(explained.plain) if format == "json" else explained.text)
