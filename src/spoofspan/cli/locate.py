"""``spoofspan locate``: where recordings are spoofed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from spoofspan.base.errors import DataError
from spoofspan.cli import options as o


@dataclass(frozen=True)
class JudgingOptions:
    """Arguments of :func:`spoofspan.locate`, as they were typed."""

    threshold: float | None = o.typed_flag("Call spoof what scores below this; without it, the prior decides.")
    prior: float = o.typed_flag("How probable spoof is before the recording is heard.", default=0.5)
    smoothing: int | None = o.typed_flag("Median filter over this many scores, an odd number.")
    min_duration: float = o.typed_flag("Shortest suspected range, in seconds.", default=0.1)
    merge_gap: float = o.typed_flag("Widest gap that is bridged, in seconds.", default=0.1)
    channel: str | None = o.typed_flag("Which channel: mix, or a number from 0 on; without it, each is judged.")
    truncated: str = o.typed_flag(o.ABOUT_TRUNCATED, default="error", of=("error", "use"))
    checksum: str | None = o.typed_flag("SHA-256 that the weights of the model must have.")
    device: str | None = o.typed_flag(o.ABOUT_DEVICE)


@o.takes_options("judging", JudgingOptions)
def locate(
    *,
    recordings: Annotated[
        list[str],
        typer.Argument(metavar="RECORDING...", help="Sound files, folders, lists (.lst, .txt, .scp) or - (stdin)."),
    ],
    model: str | None = o.flag(
        None, "Folder of a model, a zip or tar of one, or OWNER/NAME@COMMIT of the Hugging Face hub."
    ),
    out: list[str] | None = o.flag(
        None,
        "Write a page (.html), RTTM (.rttm), Audacity labels (.txt), .TextGrid, .json or .csv; may be repeated. {} in "
        "the name: a file for each recording.",
    ),
    judging: JudgingOptions,
    output: o.OutputFormat = o.Output.text,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Find where recordings are spoofed.

    Prints the suspected ranges, or that there are none. A warning comes first if the sound is unlike that of the
    training. Probabilities depend on --prior. The model comes from cm train or cm convert, or from the Hugging Face
    hub.

    For example:

      spoofspan locate call.wav --model small

      spoofspan locate call.wav --model small --out call.html

      spoofspan locate recordings/ --model small.zip --prior 0.1 --out found.rttm --out found.csv

      spoofspan locate call.wav --model official --threshold 0.2
    """
    from spoofspan.cli import in_words_of_the_shell
    from spoofspan.cm.locate import PAGE, Listening
    from spoofspan.cm.locate import locate as locate_spoofs
    from spoofspan.cm.located import check_location_target
    from spoofspan.report.results import finite

    for target in out or ():
        check_location_target(target, force=force)
    page = any(Path(target).suffix.lower() == ".html" for target in out or ())
    found = locate_spoofs(recordings, model, **vars(judging), keep=PAGE if page else Listening())
    said = (replace(one, problem=in_words_of_the_shell(one.problem)) for one in found.recordings)
    found = replace(found, recordings=tuple(said))  # before anything of it is shown or written
    if output is o.Output.text:
        typer.echo(found)
    else:
        o.show(finite(found.to_dict()), [found.table], output)
    for target in out or ():  # after the verdicts, which long work must not lose
        found.write(target, force=force)
    bad = [one for one in found.recordings if one.problem]
    if bad:
        raise DataError(f"{len(bad)} of {len(found.recordings)} recordings could not be judged; the verdicts say why")
