"""``spoofspan experiment``: the paper's experiment from end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spoofspan.base.errors import UsageError
from spoofspan.base.extras import require
from spoofspan.cli import options as o
from spoofspan.cli.cm import Device, Gaps, Nonspeech, chosen_config
from spoofspan.cli.completion import among
from spoofspan.cli.corpus import Utterances, per_set


def _presets() -> list[str]:
    from spoofspan.cm.config import PRESETS

    return [name for name in PRESETS if name != "baseline"]


def experiment(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for everything that is made.")],
    *,
    preset: Annotated[
        str, typer.Option(help="What is trained: small-cpu or paper-multi.", autocompletion=among(_presets))
    ] = "small-cpu",
    data: Annotated[
        Path | None, typer.Option(help="PartialSpoof, or a corpus with its folders; without it, one is built.")
    ] = None,
    systems: Annotated[
        str, typer.Option(help="multi, single, baseline, shuffled, joint-detector: those wanted, with commas.")
    ] = "multi,baseline,joint-detector",
    seeds: Annotated[str, typer.Option(help="Of every training: 1,10,100 as in the paper.")] = "1",
    change: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change one value of the preset: training.epochs=20; may be repeated."),
    ] = None,
    utterances: Utterances = None,
    reference_source: o.ReferenceSource = None,
    gaps: Gaps = None,
    nonspeech: Nonspeech = None,
    device: Device = None,
    processes: Annotated[int, typer.Option(min=1, help="Train with so many processes here.")] = 1,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", help="Processes that build the corpus.")] = None,
    report: Annotated[bool, typer.Option("--report/--no-report", help="With a page of the evaluation set.")] = True,
    output: o.OutputFormat = o.Output.text,
    quiet: o.Quiet = False,
) -> None:
    """Run the paper's experiment from end to end.

    Corpus, training, scores, tables, a page. Without --data, the corpus is made of voices and vocoders of the package.
    The tables are the paper's Table 3 (multi) and Table 4 (single). What is in OUT already is not made again: repeat
    the command after a stop, or with more systems or seeds.

    For example:

      spoofspan experiment small

      spoofspan experiment small --systems multi,single --seeds 1,10,100

      spoofspan experiment paper --preset paper-multi --data PartialSpoof
    """
    require("torch", "safetensors", "soundfile", "soxr")
    from spoofspan.experiment import Experiment, run

    asked = Experiment(
        chosen_config(preset, None, change, {"gaps": gaps, "nonspeech": nonspeech}),
        _words(systems),
        _numbers(seeds),
        None if data is None else str(data),
        reference_source,
        per_set("--utterances", utterances),
    )
    results = run(asked, out, device=device, processes=processes, jobs=jobs, report=report, say=not quiet)
    o.deliver(results.render(output.value), None, False)
    places = results.places
    typer.echo(f"\ntables in {places.tables}" + (f", page: {places.page}" if report else ""), err=True)


def _words(typed: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in typed.split(",") if word.strip())


def _numbers(typed: str) -> tuple[int, ...]:
    words = _words(typed)
    if not all(word.isdecimal() for word in words):
        raise UsageError(f"--seeds {typed}: write whole numbers with commas between them: 1,10,100")
    return tuple(int(word) for word in words)
