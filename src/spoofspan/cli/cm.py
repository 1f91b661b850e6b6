"""``spoofspan cm``: train the countermeasure, score recordings with it, and say what a checkpoint is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from spoofspan.base.documents import parse_json
from spoofspan.base.errors import UsageError
from spoofspan.base.extras import require
from spoofspan.cli import options as o
from spoofspan.cli.declarations import CommandGroup
from spoofspan.cli.help import HelpCommand
from spoofspan.cm.config import PRESETS, Config
from spoofspan.cm.config import preset as preset_called
from spoofspan.cm.scorers import JOINT_DETECTOR

if TYPE_CHECKING:
    from spoofspan.cm.batches import Corpus


app = CommandGroup(HelpCommand, "Train the countermeasure, and score recordings.")


Preset = Annotated[
    str | None,
    o.option(
        "paper-multi, paper-single-20, ..., paper-single-utterance, small-cpu, small-cpu-multi, baseline.",
        of=PRESETS,
    ),
]
LOGS = ("csv", "tensorboard", "wandb")
Gaps = Annotated[str | None, o.option("Time without a label, see explain gaps.")]
Nonspeech = Annotated[str | None, o.option("Ranges labelled non-speech.")]
Channel = Annotated[str | None, o.option("Which of several channels: mix, or a number from 0 on.")]


@app.subcommand
def train(
    *,
    train: str = o.flag(..., "partialspoof:FOLDER:SET, or references in any format (with --sounds)."),
    dev: str = o.flag(..., "The same for the development set."),
    out: Path = o.flag(..., "Folder of the checkpoint."),
    preset: Preset = None,
    config: Path | None = o.flag(None, "TOML file; cm info --preset prints one."),
    change: list[str] | None = o.flag(
        None, "Change one value: training.seed=10, front_end.checkpoint=FOLDER; may be repeated.", "--change"
    ),
    sounds: Path | None = o.flag(None, "Folder of sound files, by utterance id."),
    durations: o.Durations = None,
    reference_source: o.ReferenceSource = None,
    reference_hop: float | None = o.flag(None, "Spacing of label arrays in seconds."),
    spoof_label: o.SpoofLabel = None,
    channel: Channel = None,
    gaps: Gaps = None,
    nonspeech: Nonspeech = None,
    licence: str = o.flag("not stated", "Licence of the model, for its card."),
    log: list[str] | None = o.flag(
        None, "Where metrics also go: csv, tensorboard, wandb, module:Class; may be repeated.", "--log", of=LOGS
    ),
    resume: bool = o.flag(False, "Continue the training in --out.", "--resume"),
    device: o.Device = None,
    processes: int = o.flag(1, "Number of processes on this machine.", min=1),
    threads: int = o.flag(1, "Threads of each process; more than one is slower on a busy machine.", min=1),
    format: o.Format = "text",
    quiet: o.Quiet = False,
) -> None:
    """Train a countermeasure.

    The folder holds a checkpoint of the best epoch so far; with training.keep=last, as in small-cpu, weights come
    with the last epoch. After a kill, --resume continues and ends with the same weights. With --quiet, nothing is
    printed unless --format asks for it.

    For example:

      spoofspan cm train --preset small-cpu --train partialspoof:corpus:train --dev partialspoof:corpus:dev --out small

      spoofspan cm train --preset paper-multi --change training.seed=10 --train ... --dev ... --out paper-10

      torchrun --no-python --nproc-per-node 4 spoofspan cm train ...
    """
    require("torch", "safetensors")
    from spoofspan.cm.batches import TrainingData
    from spoofspan.cm.training import train as train_model

    chosen = chosen_config(preset, config, change, {"gaps": gaps, "nonspeech": nonspeech})
    about: dict[str, Any] = {"durations": durations, "hop": reference_hop, "spoof_label": spoof_label}
    found = [_corpus(where, sounds, about, reference_source, channel) for where in (train, dev)]
    done = train_model(
        chosen,
        TrainingData(*found),
        out,
        resume=resume,
        device=device,
        processes=processes,
        threads=threads,
        say=not quiet,
        licence=licence,
        callbacks=log or (),
    )
    facts = {
        "checkpoint": str(done.folder),
        "epochs": done.epochs,
        "best_epoch": done.best_epoch,
        done.stop_on: done.best,
    }
    _show_facts(facts, format, quiet)


@app.subcommand
def score(
    *,
    words: Annotated[
        list[str] | None,
        o.argument(
            metavar="CHECKPOINT AUDIO...",
            help="Folder of a checkpoint or its zip; then sound files, folders, lists (.lst, .txt, .scp) or - (stdin).",
        ),
    ] = None,
    out: Path = o.flag(..., "Folder for the scores."),
    dataset: o.DatasetSpec = None,
    preset: str | None = o.flag(None, "joint-detector: a scorer without a checkpoint.", of=[JOINT_DETECTOR]),
    official: str | None = o.flag(
        None, "Also write {SET}_score_ali_2.pkl, ..., as the published code does.", "--official-pickle"
    ),
    channel: Channel = None,
    truncated: o.Truncated = "error",
    device: o.Device = None,
    allow_code: o.AllowCode = False,
    format: o.Format = "text",
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Score recordings.

    Writes one Parquet file for each resolution, and a table of utterance scores. High scores mean bona fide. A
    calibrated model also writes log-likelihood ratios (llr_20ms.parquet, ...; llr_fused.parquet: all resolutions as
    one). With --quiet, nothing is printed unless --format asks for it.

    For example:

      spoofspan cm score small recordings/ --out scores

      spoofspan cm score small --dataset partialspoof:corpus:eval --out scores

      spoofspan eval --dataset partialspoof:corpus:eval scores/scores_20ms.parquet

      spoofspan cm score --preset joint-detector recordings/ --out joints
    """
    from spoofspan.cm.scoring import find_recordings, sounds_of_dataset
    from spoofspan.cm.scoring import score as score_audio

    given = list(words or ())
    if preset is not None and preset != JOINT_DETECTOR:
        raise UsageError(f"--preset {preset}: only {JOINT_DETECTOR} scores without a training; give a CHECKPOINT")
    if preset is None and not given:
        raise UsageError("give a CHECKPOINT and AUDIO, or --preset joint-detector and AUDIO")
    checkpoint = preset or given.pop(0)
    if (dataset is None) == (not given):
        if not given and preset is None and Path(checkpoint).suffix.lower() in (".wav", ".flac", ".mp3", ".ogg"):
            raise UsageError(
                f"{checkpoint} is a recording, and there is no model to score it with: give a CHECKPOINT before it "
                "(spoofspan cm train makes one), or --preset joint-detector, which needs none"
            )
        raise UsageError("give AUDIO (files, folders, lists, -) or --dataset, one of them")
    how: dict[str, Any] = {"channel": channel, "truncated": truncated}
    sounds = find_recordings(given, **how) if dataset is None else sounds_of_dataset(dataset, **how)
    options: dict[str, Any] = {"device": device, "official": official, "force": force, "allow_code": allow_code}
    done = score_audio(checkpoint, sounds, out, **options)
    facts: dict[str, Any] = {
        "recordings": done.recordings,
        "seconds": round(done.seconds, 3),
        "times_real_time": round(done.speed, 1),
        "files": [str(path) for path in done.files.values()],
    }
    _show_facts(facts, format, quiet)


@app.subcommand
def info(
    checkpoint: Annotated[
        str | None, o.argument(help="Folder of a checkpoint, its zip, or its name on the hub.")
    ] = None,
    preset: Preset = None,
    allow_code: o.AllowCode = False,
    format: o.Format = "text",
) -> None:
    """Say what a checkpoint or a preset is.

    After a finished training, it prints the card of the model: data, attacks, figures, the EER threshold, licence,
    limits. With --preset, it prints the configuration as TOML, a file for cm train --config. Without either, it lists
    the presets.

    For example:

      spoofspan cm info small

      spoofspan cm info --preset paper-multi > mine.toml
    """
    if checkpoint is not None and preset is not None:
        raise UsageError("give a CHECKPOINT or --preset, not both")
    if preset is not None:
        click.echo(preset_called(preset).to_toml(), nl=False)
        return
    require("torch", "safetensors")
    if checkpoint is None:
        _show_presets(format)
        return
    from spoofspan.cm import checkpoints
    from spoofspan.cm.card import card_facts, read_card
    from spoofspan.cm.model import parameters_of
    from spoofspan.cm.model_sources import model_at

    with model_at(checkpoint) as source:
        found = checkpoints.load(source.folder, allow_code=allow_code)
        counted = parameters_of(found.model)
        card = read_card(source.folder, source.checksum)
    facts = {
        "configuration": found.config.name,
        "branches": list(found.config.network.branches),
        "parameters": counted.total,
        **vars(counted),
        "longest_seconds": found.config.network.longest / 50,
        **found.about,
        "sha256": source.checksum,
        **card_facts(card),
    }
    _show_facts(facts, format)


@app.subcommand
def convert(
    official: Annotated[Path, o.argument(metavar="OFFICIAL", help="Weights of the published code (.pt).")],
    out: Annotated[Path, o.argument(metavar="OUT", help="Folder of the checkpoint.")],
) -> None:
    """Make a checkpoint of the published code's weights.

    Reads the file without running what a pickle may contain. The checkpoint has the published model's padding of the
    last pooling (legacy_pool_padding), since its weights were learned with it.

    For example:

      spoofspan cm convert trained_network.pt official
    """
    require("torch", "transformers", "safetensors")
    from spoofspan.cm.official import convert as convert_weights

    done = convert_weights(official, out)
    click.echo(f"{out}: {done.total:,} parameters", err=True)


def chosen_config(
    preset: str | None, path: Path | None, changes: list[str] | None, rules: dict[str, str | None]
) -> Config:
    """The configuration that the flags describe."""
    if (preset is None) == (path is None):
        raise UsageError("give --preset or --config, one of them")
    chosen = preset_called(preset) if preset is not None else Config.from_file(str(path))
    for change in changes or ():
        key, is_one, value = change.partition("=")
        section, _, name = key.strip().partition(".")
        if not is_one or not name:
            raise UsageError(f"--change {change}: write SECTION.NAME=VALUE, for example training.seed=10")
        chosen = chosen.changed({section: {name: _value(value.strip())}}, "--change")
    given = {rule: value for rule, value in rules.items() if value is not None}
    return chosen.changed({"labels": given}, "rules") if given else chosen


def _value(text: str) -> Any:
    """A number, true or false, a list with commas, or a word."""
    try:
        return parse_json(text)
    except ValueError:
        return text.split(",") if "," in text else text


def _corpus(where: str, sounds: Path | None, about: dict[str, Any], source: str | None, channel: str | None) -> Corpus:
    from spoofspan.cm.batches import Corpus
    from spoofspan.formats.sound import check_channel

    check_channel(channel)
    if where.startswith("partialspoof:"):
        if sounds is not None or about["durations"] is not None:
            raise UsageError("--sounds and --durations do not go with partialspoof:FOLDER:SET, whose folder has both")
        if about["hop"] is not None or about["spoof_label"] is not None:
            raise UsageError("--reference-hop and --spoof-label do not go with partialspoof:FOLDER:SET, which has both")
        return Corpus.from_dataset(where, source=source, channel=channel)
    if sounds is None:
        raise UsageError(f"{where}: give the folder of the sound files as well (--sounds)")
    if source is not None:
        raise UsageError("--reference-source goes with partialspoof:FOLDER:SET")
    return Corpus.from_files(where, sounds, channel=channel, **about)


def _show_facts(facts: dict[str, Any], format: o.Format, quiet: bool = False) -> None:
    """Print names and values."""
    if quiet and format == "text":
        return
    from spoofspan.cm.history import flattened
    from spoofspan.report.table import Table

    rows: list[tuple[str, str]] = []
    for name, value in facts.items():
        if isinstance(value, list) and any(isinstance(one, dict) for one in value):
            value = {str(number): one for number, one in enumerate(value, 1)}
        if isinstance(value, dict):
            rows += [(f"{name}/{key}", _shown(one, 4)) for key, one in flattened(value).items()]
        elif isinstance(value, list):
            rows += [(name if not i else "", str(one)) for i, one in enumerate(value)]
        else:
            rows.append((name, _shown(value)))
    o.Output(format).show(facts, [Table(("", "value"), tuple(rows))])


def _shown(value: Any, digits: int = 6) -> str:
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _show_presets(format: o.Format) -> None:
    """Print how many parameters each preset has."""
    from spoofspan.cm.model import count_parameters
    from spoofspan.report.table import Table

    sizes = {}
    for one in PRESETS.values():
        counted = count_parameters(one)
        sizes[one.name] = vars(counted) | {"total": counted.total}
    rows = tuple((name, *(f"{number:,}" for number in counts.values())) for name, counts in sizes.items())
    o.Output(format).show(sizes, [Table(("preset", "front-end", "post-net", "heads", "parameters"), rows)])
