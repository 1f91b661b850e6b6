"""``spoofspan locate``: where recordings are spoofed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import click

from spoofspan.base.errors import DataError, UsageError
from spoofspan.cli import options as o


@dataclass(frozen=True)
class JudgingOptions:
    """Arguments of :func:`spoofspan.locate`, as they were typed."""

    threshold: float | None = o.typed_flag("Mark spoof below this score; by default, the prior decides.")
    prior: float | None = o.typed_flag(
        "How probable spoof is before the recording is heard; without it, what the model's card advises, or 0.5."
    )
    smoothing: int | None = o.typed_flag("Median filter over this many scores, an odd number.")
    min_duration: float = o.typed_flag("Shortest suspected range, in seconds.", default=0.1)
    merge_gap: float = o.typed_flag("Widest gap that is bridged, in seconds.", default=0.1)
    channel: str | None = o.typed_flag("Channel: mix, or a number from 0; by default, each channel is judged.")
    truncated: str = o.typed_flag(o.ABOUT_TRUNCATED, default="error", of=("error", "use"))
    checksum: str | None = o.typed_flag("SHA-256 that the weights of the model must have.")
    device: str | None = o.typed_flag(o.ABOUT_DEVICE)
    allow_code: bool = o.typed_flag(o.ABOUT_CODE, "--allow-code", default=False)


def locate(
    *,
    recordings: Annotated[
        list[str],
        o.argument(metavar="RECORDING", help="Sound files, folders, lists (.lst, .txt, .scp) or - (stdin)."),
    ],
    model: str | None = o.flag(
        None,
        "Folder of a model, a zip or tar of one, OWNER/NAME@COMMIT of the Hugging Face hub, or builtin:full-band, "
        "builtin:150-6850, builtin:telephone; without it, the built-in one for the recording's band.",
    ),
    out: list[str] | None = o.flag(
        None,
        "Write a page (.html), RTTM (.rttm), Audacity labels (.txt), .TextGrid, .json or .csv; may be repeated. {} in "
        "the name: a file for each recording.",
    ),
    threshold_from: str | None = o.flag(
        None, "Threshold from calibrate --miss-rate, with its promise. Ranges of any length are kept then."
    ),
    judging: JudgingOptions,
    format: o.Format = "text",
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Find where recordings are spoofed.

    Prints the suspected ranges, or that there are none. A warning comes first if the sound is unlike that of the
    training. Probabilities depend on --prior. Without --model, a small model of the package is used: a hint where to
    listen, not evidence. Better ones come from cm train or cm convert, or from the Hugging Face hub.

    For example:

      spoofspan locate call.wav

      spoofspan locate call.wav --model small

      spoofspan locate call.wav --model small --out call.html

      spoofspan locate recordings/ --model small.zip --prior 0.1 --out found.rttm --out found.csv

      spoofspan locate call.wav --model official --threshold 0.2

      spoofspan locate call.wav --model small --threshold-from threshold.json
    """
    from spoofspan.cli.wording import in_words_of_the_shell
    from spoofspan.cm.locate import PAGE, Listening, recordings_to_judge
    from spoofspan.cm.locate import locate as locate_spoofs
    from spoofspan.cm.located import check_location_target
    from spoofspan.report.table import finite

    sounds = recordings_to_judge(recordings, judging.channel, judging.truncated)
    for target in out or ():
        check_location_target(target, len(sounds), force=force)
    if threshold_from is not None:
        judging = _with_promise(judging, threshold_from)
    page = any(Path(target).suffix.lower() == ".html" for target in out or ())
    found = locate_spoofs(sounds, model, **vars(judging), keep=PAGE if page else Listening())
    said = (replace(one, problem=in_words_of_the_shell(one.problem)) for one in found.recordings)
    found = replace(found, recordings=tuple(said))  # before anything of it is shown or written
    if format == "text":
        click.echo(found)
    else:
        o.Output(format).show(finite(found.to_dict()), [found.table])
    for target in out or ():  # after the verdicts, which long work must not lose
        found.write(target, force=force)
    bad = [one for one in found.recordings if one.problem]
    if bad:
        raise DataError(f"{len(bad)} of {len(found.recordings)} recordings could not be judged; the verdicts say why")


def _with_promise(judging: JudgingOptions, where: str) -> JudgingOptions:
    """The threshold of a file, and options that keep its promise."""
    from spoofspan.formats.calibrations import read_miss_bound

    if judging.threshold is not None:
        raise UsageError("give --threshold or --threshold-from, not both")
    if judging.smoothing is not None or judging.min_duration not in (0, JudgingOptions().min_duration):
        raise UsageError(
            "--smoothing and --min-duration may drop what is called spoof, and the promise of --threshold-from with "
            "it; leave them out"
        )
    bound = read_miss_bound(where)
    o.say([f"promise: {bound.promise}"])
    return replace(judging, threshold=bound.threshold_for("bonafide"), min_duration=0.0)
