"""``spoofspan experiment``: the paper's experiment from end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from spoofspan.base.errors import UsageError
from spoofspan.base.extras import require
from spoofspan.cli import options as o
from spoofspan.cli.cm import Gaps, Nonspeech, chosen_config
from spoofspan.cli.corpus import UTTERANCES, per_set
from spoofspan.cm.config import PRESETS

TRAINED = [name for name in PRESETS if name != "baseline"]


def experiment(
    out: Annotated[Path, o.argument(metavar="OUT", help="Folder for everything that is made.")],
    *,
    preset: str = o.flag("small-cpu-multi", "What is trained: small-cpu-multi or paper-multi.", of=TRAINED),
    data: Path | None = o.flag(None, "PartialSpoof, or a corpus with its folders; without it, one is built."),
    systems: str = o.flag(
        "multi,baseline,joint-detector",
        "Which of multi, single, baseline, shuffled, joint-detector, with commas.",
    ),
    seeds: str = o.flag("1", "Seeds of every training: 1,10,100 as in the paper."),
    hold_out: str | None = o.flag(None, "each: train without every attack in turn.", of=["each"]),
    change: list[str] | None = o.flag(
        None, "Change one value of the preset: training.epochs=20; may be repeated.", "--change"
    ),
    utterances: str | None = o.flag(None, *UTTERANCES),
    reference_source: o.ReferenceSource = None,
    gaps: Gaps = None,
    nonspeech: Nonspeech = None,
    device: o.Device = None,
    processes: int = o.flag(1, "Number of processes on this machine.", min=1),
    jobs: int | None = o.flag(None, "Processes that build the corpus.", "--jobs", "-j"),
    report: bool = o.flag(True, "With a page of the evaluation set."),
    format: o.Format = "text",
    quiet: o.Quiet = False,
) -> None:
    """Run the paper's experiment from end to end.

    Builds a corpus, trains, scores, and makes tables and a page. Without --data, the corpus is made of voices and
    vocoders of the package. The tables are the paper's Table 3 (multi) and Table 4 (single). After a stop, repeat the
    command, also with more systems or seeds: it keeps what is finished in OUT.

    For example:

      spoofspan experiment small

      spoofspan experiment small --systems multi,single --seeds 1,10,100

      spoofspan experiment each --hold-out each --systems multi,baseline

      spoofspan experiment paper --preset paper-multi --data PartialSpoof
    """
    if data is not None and not data.expanduser().is_dir():  # before OUT says that this is its experiment
        raise UsageError(f"--data {data}: there is no such folder")
    if preset not in TRAINED and preset in PRESETS:
        raise UsageError(f"--preset {preset}: it is one of the --systems; choose among {', '.join(TRAINED)}")
    require("torch", "safetensors", "soundfile", "soxr")
    from spoofspan.experiment import Experiment, run

    asked = Experiment(
        chosen_config(preset, None, change, {"gaps": gaps, "nonspeech": nonspeech}),
        tuple(o.words_in(systems)),
        _numbers(seeds),
        None if data is None else str(data),
        reference_source,
        per_set("--utterances-per-set", utterances),
        hold_out=hold_out,
    )
    results = run(asked, out, device=device, processes=processes, jobs=jobs, report=report, say=not quiet)
    if quiet and format == "text":
        return
    o.Output(format).deliver(results.render(format))
    places = results.places
    with_page = report and hold_out is None
    if not quiet:
        click.echo(f"\ntables in {places.tables}" + (f", page: {places.page}" if with_page else ""), err=True)


def _numbers(typed: str) -> tuple[int, ...]:
    words = o.words_in(typed)
    if not all(word.isdecimal() for word in words):
        raise UsageError(f"--seeds {typed}: write whole numbers with commas between them: 1,10,100")
    return tuple(int(word) for word in words)
