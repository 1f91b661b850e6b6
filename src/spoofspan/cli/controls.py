"""``spoofspan controls build`` and ``eval``: to tell whether a system finds the spoof or the cut."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o
from spoofspan.cli.declarations import CommandGroup, OptionGroup, argument
from spoofspan.cli.help import HelpCommand
from spoofspan.cli.inputs import FLAGS
from spoofspan.cli.system_inputs import HIGHER, SCORES, Systems, thresholds_by_system
from spoofspan.corpus.controls.edits import EDITS, ControlSettings
from spoofspan.formats.sound_channel import Channel

if TYPE_CHECKING:
    from spoofspan.report.table import Table

ALL = "all"


@dataclass(frozen=True)
class EditOptions:
    """The fields of :class:`spoofspan.corpus.controls.edits.ControlSettings`, as they were typed."""

    edits: list[str] | None = o.typed_flag(
        "One edit to make; may be repeated. Without it, all.", "--edit", of=list(EDITS), show_default=ALL
    )
    cross_fades: list[float] | None = o.typed_flag(
        "Length of joints in seconds; may be repeated.", "--cross-fade", show_default="0, 0.005, 0.02"
    )
    recordings_per_speaker: str = o.typed_flag(
        "Bona fide recordings of each speaker, drawn at random; or all.",
        default=str(ControlSettings.recordings_per_speaker),
    )
    level_step: float = o.typed_flag("Level steps, in dB.", default=ControlSettings.level_step)
    deletion: float = o.typed_flag("Speech that is taken out, in seconds.", default=ControlSettings.deletion)
    channel: str | None = o.typed_flag("Band in Hz, and noise in dBov, as of corpus build. none: as recorded.")
    level: float = o.typed_flag("Level of speech in dBov.", default=ControlSettings.level)
    shortest_pause: float = o.typed_flag("Pauses to cut in, in seconds.", default=ControlSettings.shortest_pause)
    search: float = o.typed_flag(
        "How far the joint of a splice may be moved, in seconds.", default=ControlSettings.search
    )
    seed: int = o.typed_flag("Same seed, same bytes.", default=ControlSettings.seed)

    def settings(self) -> ControlSettings:
        """Settings from the flags."""
        read: dict[str, Any] = {"channel": None if self.channel is None else Channel.parse(self.channel)}
        typed = self.recordings_per_speaker
        if typed != ALL and not typed.isdecimal():
            raise UsageError(f"--recordings-per-speaker {typed}: must be a number, or all")
        read["recordings_per_speaker"] = None if typed == ALL else int(typed)
        for name in ("edits", "cross_fades"):
            read[name] = tuple(getattr(self, name) or getattr(ControlSettings, name))
        return ControlSettings(**vars(self) | read)


app = CommandGroup(HelpCommand, "Ask whether a system finds the spoof or the cut.")


@app.subcommand
def build(
    *,
    source: Annotated[Path, argument(metavar="SOURCE", help="Folder of speech, or a CSV list of it.")],
    out: Annotated[Path, argument(metavar="OUT", help="Folder to build the controls in.")],
    options: EditOptions,
    truncated: o.Truncated = "error",
    jobs: o.Jobs = None,
    force: bool = o.flag(False, "Delete other controls that are there.", "--force"),
    format: o.Format = "text",
    quiet: o.Quiet = False,
) -> None:
    """Build controls: edits of bona fide speech that stay bona fide.

    Cuts and rejoins, deletes, splices (of the same speaker), changes the level and codes bona fide recordings, each
    edit at several cross-fades, and keeps the unedited recordings beside them. After an interruption, repeat the
    command: it continues where it stopped.

    For example:

      spoofspan controls build speech my-controls

      spoofspan controls build speech my-controls --edit splice --cross-fade 0.02 --channel 150:6850
    """
    from spoofspan.corpus.controls.making import build as build_controls

    about = build_controls(source, out, options.settings(), jobs=jobs, force=force, truncated=truncated)
    o.Output(format).show(about, [_controls_table(out, about)])


@dataclass(frozen=True)
class ControlInputs:
    """A folder of controls with the scores of systems, and a corpus of spoofs with theirs."""

    on_controls: Systems
    on_spoofs: Systems | None

    @classmethod
    def of(
        cls,
        controls: Path,
        on_controls: list[str] | None,
        references: str | None,
        dataset: str | None,
        scores: list[str] | None,
        higher: list[str] | None,
        **flags: Any,
    ) -> ControlInputs:
        """Build the inputs from flags; those that describe scores hold for both sides."""
        spoofs = references is not None or dataset is not None
        if spoofs != bool(scores):
            raise UsageError(
                "--references (or --dataset) and --scores go together: the labels of a corpus with spoofs, and the "
                "scores of each system on it"
            )
        of_scores = {name: flags[name] for name in ("hop", "scores_format", "column", "label2id", "bare_ids")}
        spec = f"partialspoof:{controls}:eval"
        ours = Systems.of(on_controls, None, higher, dataset=spec, **of_scores)
        if not spoofs:
            return cls(ours, None)
        theirs = Systems.of(None, None, higher, references=references, dataset=dataset, **flags)
        return cls(ours, replace(theirs, words=tuple(scores or ())))


OF_SPOOFS = {
    "references": Annotated[str | None, o.option("References of a corpus with spoofs, for the authenticity index.")],
    "scores": Annotated[
        list[str] | None, o.option("Scores on that corpus: FILE or NAME=FILE; may be repeated.", "--scores")
    ],
}
OF_CONTROLS = {
    "controls": Annotated[Path, argument(metavar="CONTROLS", help="Folder that controls build made.")],
    "on_controls": SCORES,
}
BothSides = Annotated[
    ControlInputs,
    OptionGroup(
        OF_CONTROLS
        | OF_SPOOFS
        | {name: kind for name, kind in FLAGS.items() if name not in (*OF_SPOOFS, "training_resolution")}
        | {"higher": HIGHER},
        ControlInputs.of,
        {"controls": ...},
    ),
]


@app.subcommand
def eval_(
    *,
    inputs: BothSides,
    threshold: list[str] | None = o.flag(
        None, "NUMBER, or NAME=NUMBER of one system; may be repeated.", show_default="that of the EER on --references"
    ),
    threshold_from: list[str] | None = o.flag(
        None, "FILE or NAME=FILE: the threshold of the EER in the JSON of an eval on other data."
    ),
    metadata: o.Metadata = None,
    near: float = o.flag(0.1, "How far from a joint is near it, in seconds."),
    confidence: float = o.flag(0.95, "Level of intervals, such as 0.95."),
    ranges: o.RangeOptions,
    output: o.Output,
    rules: o.RangeRules,
) -> None:
    """Measure what edits of bona fide speech add to the alarms of systems.

    Prints how much time each system flags in edited recordings beyond the same time of the unedited ones, near the
    joints and elsewhere, with intervals over speakers. With a corpus of real spoofs also the authenticity index: the
    share of its alarms on spoofs that is left when those that a cut alone would raise are taken off. Thresholds are as
    stated, or those of the EER on the spoofs.

    For example:

      spoofspan controls eval my-controls scores.npz --threshold 0.5 --higher spoof

      spoofspan controls eval my-controls a.score --references ref.rttm --scores a_ref.score --metadata protocol.txt

      spoofspan controls eval my-controls a=a.score b=b.score --threshold a=0.4 --threshold b=-1.2
    """
    from spoofspan.corpus.controls.measuring import evaluate
    from spoofspan.report.table import finite

    ours, theirs = inputs.on_controls, inputs.on_spoofs
    typed = [name for name, value in rules.items() if (name, value) != ("convention", "default")]
    if theirs is None and (typed or metadata is not None):
        name = next(iter(typed), "metadata").replace("_", "-")
        raise UsageError(f"--{name} is for a corpus with spoofs; give --references and --scores, or leave it out")
    controls = _read_controls(ours)
    scores = ours.read_scores()
    how: dict[str, Any] = {"near": near, "confidence": confidence, **ranges.arguments()}
    if theirs is not None:
        references, on_spoofs = theirs.read_each(fewest=1)
        known = o.cluster_arguments(metadata or theirs.metadata(), metadata and ["speaker"], theirs.typed.bare_ids)
        how |= {"references": references, "reference_scores": on_spoofs, **rules}
        how |= {"speakers": known["clusters"]} if known.get("clusters_are") == "speaker" else {}
    given = thresholds_by_system("--threshold", threshold, threshold_from, "range-eer", list(scores))
    how |= {"thresholds": {name: at.value for name, at in given.items()}} if given else {}
    found = evaluate(controls, scores, **how)
    output.show(finite(found.to_dict()), found.tables())


def _read_controls(systems: Systems) -> Any:
    """The controls in the folder that was typed."""
    from spoofspan.corpus.controls.control_set import read

    if not systems.words:
        raise UsageError("give CONTROLS and SCORES...: a folder that controls build made, and the scores of systems")
    return read(str(systems.typed.dataset).removeprefix("partialspoof:").removesuffix(":eval"))


def _controls_table(out: Path, about: dict[str, Any]) -> Table:
    """One row per edit."""
    from spoofspan.report.table import Table

    rows = tuple(
        (edit, f"{one['utterances']:,}", f"{one['seconds'] / 60:.1f}", one["about"])
        for edit, one in about["controls"].items()
    )
    fades = ", ".join(f"{1000 * one:g} ms" for one in about["control_settings"]["cross_fades"])
    speakers = len(about["sets"]["eval"]["speakers"])
    notes = (
        "",
        f"{about['recordings']:,} recordings of {speakers} speakers; cross-fades: {fades}",
        *(f"skipped: {edit}: {why}" for edit, why in about["skipped"].items()),
        "",
        f"spoofspan cm score MODEL {out / 'database' / 'eval' / 'con_wav'} SCORES",
        f"spoofspan controls eval {out} SCORES",
    )
    return Table(("edit", "utterances", "minutes", "about"), rows, notes)
