"""``spoofspan corpus build``, ``check`` and ``audit``: partially spoofed corpora, and what they give away."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o
from spoofspan.cli.declarations import CommandGroup
from spoofspan.cli.help import HelpCommand
from spoofspan.corpus.settings import POLICIES, RECIPES, Settings
from spoofspan.formats.sound_channel import Channel

if TYPE_CHECKING:
    from spoofspan.report.table import Table

UTTERANCES = ("How many in each set, such as train=400,dev=100,eval=200.", "--utterances-per-set")


@dataclass(frozen=True)
class BuildOptions:
    """The fields of :class:`spoofspan.corpus.settings.Settings`, as they were typed."""

    utterances: str | None = o.typed_flag(*UTTERANCES)
    speakers: str | None = o.typed_flag("How many in each set, such as train=24,dev=8,eval=12.")
    bonafide_share: float = o.typed_flag(
        "Share of utterances that are left as they are.", default=Settings.bonafide_share
    )
    held_out: list[str] | None = o.typed_flag("Attack for the evaluation only; may be repeated. none: no attack.")
    attacks: list[str] | None = o.typed_flag(
        "Make spoofs of bona fide recordings: builtin:all, or one of its vocoders; may be repeated. "
        "builtin:copy: copies, for --control of an audit.",
        "--attack",
    )
    channel: str | None = o.typed_flag(
        "Band in Hz, and noise in dBov, for both classes: 150:6850 or 150:6850:-90. none: as recorded."
    )
    joints: str = o.typed_flag(
        "Label of joints: spoof (if either side is), or middle (it changes there).",
        default=Settings.joints,
        of=POLICIES["joints"],
    )
    nonspeech: str = o.typed_flag(
        "Label of non-speech: origin (that of its recording), or bonafide.",
        "--nonspeech-label",
        default=Settings.nonspeech,
        of=POLICIES["nonspeech"],
    )
    level: float = o.typed_flag("Level of speech in dBov.", default=Settings.level)
    shortest_pause: float = o.typed_flag("Pauses to cut in, in seconds.", default=Settings.shortest_pause)
    overlap: float = o.typed_flag("Length of a joint in seconds.", "--joint-length", default=Settings.overlap)
    search: float = o.typed_flag("How far a joint may be moved, in seconds.", default=Settings.search)
    official_labels: bool = o.typed_flag(
        "Also write segment labels as PartialSpoof does (pickles).", "--official-labels", default=False
    )
    recipe: str = o.typed_flag(
        "spoofspan, or partialspoof: what the published scripts of PartialSpoof do.",
        default=Settings.recipe,
        of=RECIPES,
    )
    seed: int = o.typed_flag("Same seed, same bytes.", default=Settings.seed)

    def settings(self) -> Settings:
        """Settings from the flags."""
        read: dict[str, Any] = {
            "utterances": per_set("--utterances-per-set", self.utterances),
            "speakers": per_set("--speakers", self.speakers),
            "held_out": _held_out(self.held_out),
            "attacks": tuple(self.attacks or ()),
            "channel": None if self.channel is None else Channel.parse(self.channel),
        }
        return Settings(**vars(self) | read)


app = CommandGroup(HelpCommand, "Build, check and audit partially spoofed corpora.")


@app.subcommand
def build(
    *,
    out: Annotated[Path, o.argument(metavar="OUT", help="Folder to build the corpus in.")],
    source: Path | None = o.flag(
        None, "Folder of speech, VCTK, LibriTTS, ASVspoof, or a CSV list; without it, built-in voices."
    ),
    only: Path | None = o.flag(None, "Take these only: a text file, a speaker or a file in each line."),
    per_speaker: int | None = o.flag(
        None, "Of each speaker and attack, at most so many at random.", "--recordings-per-speaker"
    ),
    options: BuildOptions,
    truncated: o.Truncated = "error",
    jobs: o.Jobs = None,
    force: bool = o.flag(False, "Delete another corpus that is there.", "--force"),
    format: o.Format = "text",
    quiet: o.Quiet = False,
) -> None:
    """Build a partially spoofed corpus.

    Builds it from bona fide and spoofed recordings by the same speakers, or from built-in voices and vocoders. After an
    interruption, repeat the command: it continues where it stopped.

    For example:

      spoofspan corpus build my-corpus

      spoofspan corpus build my-corpus --source speech --held-out A07 --channel 150:6850

      spoofspan corpus build my-corpus --source speech --attack builtin:all

      spoofspan corpus build vctk --source VCTK-Corpus-0.92 --recordings-per-speaker 20 --attack builtin:all
    """
    from spoofspan.corpus.building import build as build_corpus

    about = build_corpus(
        out,
        source,
        options.settings(),
        jobs=jobs,
        force=force,
        truncated=truncated,
        only=only,
        per_speaker=per_speaker,
    )
    o.Output(format).show(about, [_corpus_table(out, about)])


@app.subcommand
def check(
    folder: Annotated[Path, o.argument(metavar="FOLDER", help="Folder of a corpus.")],
    audit: bool = o.flag(False, "If all agrees, also ask whether it gives itself away.", "--audit"),
    format: o.Format = "text",
    quiet: o.Quiet = False,
) -> None:
    """Check that a corpus is consistent.

    Sound files, durations, ranges, segment labels, protocols, provenance and splits must all say the same. Exits with 3
    if they do not.

    For example:

      spoofspan corpus check my-corpus

      spoofspan corpus check my-corpus --audit
    """
    from spoofspan.corpus.audit.auditing import audit as audit_corpus
    from spoofspan.corpus.checking import check_corpus
    from spoofspan.report.table import Table

    found = check_corpus(folder)
    rows = tuple((what, f"{number:,}") for what, number in found.looked_at.items())
    more = found.total_problems - len(found.problems)
    verdict = "passed: everything agrees" if found.passed else f"{found.total_problems:,} problems:"
    rest = (f"... and {more:,} more",) if more else ()
    lines = (line for problem in found.problems for line in problem.splitlines())
    plain, tables = found.to_dict(), [Table(("looked at", "number"), rows, ("", verdict, *lines, *rest))]
    if audit and found.passed:
        audited = audit_corpus(folder)
        plain, tables = {**plain, "audit": audited.to_dict()}, [*tables, audited.table()]
    o.Output(format).show(plain, tables)
    if not found.passed:
        raise click.exceptions.Exit(3)


@app.subcommand
def audit(
    folder: Annotated[
        Path,
        o.argument(metavar="FOLDER", help="Corpus with PartialSpoof's folders, or a folder of speech, or a list."),
    ],
    limit: int = o.flag(1000, "How many utterances of each set are looked at, at most."),
    false_alarms: float = o.flag(0.05, "Share of corpora with meaningless labels that may raise an alarm."),
    control: Path | None = o.flag(None, "The same corpus made of copies (build --attack builtin:copy)."),
    reference_source: o.ReferenceSource = None,
    jobs: o.Jobs = None,
    format: o.Format = "text",
    quiet: o.Quiet = False,
) -> None:
    """Ask whether a corpus gives itself away.

    Level, offset, band, noise, silence, lengths, positions and speakers should not tell spoof from bona fide. The audit
    measures each of them like a system, with models that never heard the speaker; 50 % is chance. An alarm is an EER
    that chance does not explain. With a control of copies, it says whether the vocoder or the pipeline causes it.

    For example:

      spoofspan corpus audit my-corpus

      spoofspan corpus audit my-corpus --control copies

      spoofspan corpus audit speech --format json
    """
    from spoofspan.corpus.audit.auditing import audit as audit_corpus

    found = audit_corpus(
        folder,
        reference_source=reference_source,
        limit=limit,
        false_alarms=false_alarms,
        control=control,
        jobs=jobs,
    )
    o.Output(format).show(found.to_dict(), [found.table()])


def per_set(flag: str, typed: str | None) -> dict[str, int] | None:
    """Read train=400,dev=100,eval=200."""
    if typed is None:
        return None
    counts: dict[str, int] = {}
    for part in typed.split(","):
        name, _, number = part.strip().partition("=")
        if not number.isdecimal() or name in counts:
            raise UsageError(f"{flag} {typed}: write it as train=400,dev=100,eval=200")
        counts[name] = int(number)
    return counts


def _held_out(typed: list[str] | None) -> tuple[str, ...] | None:
    if not typed:
        return None
    if "none" in typed:
        if len(typed) > 1:
            raise UsageError("--held-out none goes with no other attack")
        return ()
    return tuple(typed)


def _corpus_table(out: Path, about: dict[str, Any]) -> Table:
    """One row per set."""
    from spoofspan.report.table import Table

    held_out = about["held_out_attacks"]
    rows = tuple(
        (
            subset,
            str(len(one["speakers"])),
            f"{one['utterances']:,}",
            f"{one['bona_fide_utterances']:,}",
            f"{one['spoof_in_bona_fide']:,}",
            f"{one['bona_fide_in_spoof']:,}",
            f"{one['seconds'] / 60:.1f}",
            f"{100 * one['spoof_seconds'] / one['seconds']:.1f}",
            " ".join(f"{attack}{'*' * (attack in held_out)}" for attack in one["spoof_seconds_by_attack"]),
        )
        for subset, one in about["sets"].items()
    )
    names = (f"{new} = {name}" for new, name in about["attacks"].items() if new != name)
    counts = ("speakers", "utterances", "bona fide", "into bona fide", "into spoof")
    header = ("set", *counts, "minutes", "spoof %", "attacks")
    notes = [
        "",
        *([f"* held out: {', '.join(held_out)} in eval only"] if held_out else []),
        *names,
        f"channel: {_channel(about['channel'])}",
        f"joints: {next(iter(about['policies']['joints'].values()))}",
        f"non-speech: {next(iter(about['policies']['nonspeech'].values()))}",
        "",
        f"spoofspan corpus check {out}",
        f"spoofspan eval --dataset partialspoof:{out}:{list(about['sets'])[-1]} SCORES",
    ]
    return Table(header, rows, tuple(notes))


def _channel(channel: dict[str, Any]) -> str:
    """Channel of both classes, in words."""
    noise = channel["noise_dbov"]
    band = f"{channel['low_hz']:g} to {channel['high_hz']:g} Hz" if "taps" in channel else "all frequencies"
    return f"{band}, {'no noise' if noise is None else f'white noise of {noise:g} dBov'}"
