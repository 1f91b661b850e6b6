"""``spoofspan publish``: a result in the form that a leaderboard or a model card takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from spoofspan.base.errors import DataError, UsageError
from spoofspan.cli import options as o


def publish(
    result: Annotated[Path, o.argument(metavar="RESULT", help="The JSON that eval --out wrote.")],
    form: str = o.flag(
        ...,
        "arena (Speech Anti-Spoofing Arena), hf-eval-results or model-index (Hugging Face hub).",
        "--to",
        of=["arena", "hf-eval-results", "model-index"],
        show_default=False,
    ),
    system: str = o.flag(..., "Name of the system.", show_default=False),
    dataset: str = o.flag(..., "The data set on the hub: OWNER/NAME.", "--hub-dataset", show_default=False),
    revision: str = o.flag("", "The commit of the data set, 40 digits."),
    hub_split: str = o.flag("test", "Split of the data set."),
    measure: list[str] | None = o.measure_flag(None, "Only this measure of the result; may be repeated."),
    task: str = o.flag("", "The task of the benchmark, with hf-eval-results; default: the measure."),
    paper: str = o.flag("", "arXiv number of the paper."),
    scores: Path | None = o.flag(None, "The score file that was uploaded, to be hashed."),
    scores_url: str = o.flag("", "Address of the uploaded file: .../resolve/COMMIT/..."),
    skipped: int = o.flag(0, "Number of trials without a score.", min=0),
    date: str = o.flag("", "Date of the measurement, such as 2026-11-18."),
    source: str = o.flag("", "Address of a page about the result.", "--source-url"),
    out: Path | None = o.flag(None, "Write to this .yaml file, not to stdout."),
    force: o.Force = False,
) -> None:
    """Write a result in the format of a leaderboard or a model card.

    Prints YAML and uploads nothing. The values are in per cent, and the signatures say how they were measured. arena
    ranks the utterance EER and needs --revision and --scores.

    For example:

      spoofspan publish result.json --to model-index --system ours --hub-dataset OWNER/NAME

      spoofspan publish result.json --to hf-eval-results --system ours --hub-dataset OWNER/NAME --out eval.yaml

      spoofspan publish result.json --to arena --system ours --hub-dataset OWNER/NAME --revision COMMIT --scores s.txt
    """
    from spoofspan.base.documents import read_json, yaml_text
    from spoofspan.base.hashing import file_hash
    from spoofspan.integrations.leaderboards import PublishedSystem
    from spoofspan.integrations.leaderboards import publish as in_form

    if out is not None and out.suffix.lower() not in (".yaml", ".yml"):
        raise UsageError(f"--out {out}: this is YAML; choose a name that ends in .yaml")
    o.must_be_free(out, force=force)
    try:
        content = read_json(result.expanduser())
        digest = "" if scores is None else file_hash(scores.expanduser())
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {error.filename!r}") from None
    except ValueError as error:
        raise DataError(f"{result}: not the JSON of an evaluation ({error}); write one with eval --out") from None
    about = PublishedSystem(
        system=system,
        dataset=dataset,
        revision=revision,
        split=hub_split,
        task=task,
        paper=paper,
        scores_url=scores_url,
        scores_sha256=digest,
        skipped=skipped,
        date=date,
        source=source,
    )
    o.Output("text", out, force).deliver(yaml_text(in_form(content, form, about, measure or ())))
