"""Two small corpora that ship with the package as files, and are read as anybody's files are.

:func:`load` reads most of the evaluation set of ``spoofspan experiment`` and the scores of its countermeasure, which
was trained with three seeds on other voices; voices and vocoders are those of the package, and there is one branch per
hop (``tools/make_demo.py`` wrote the files). :func:`load_short_tail` reads forty utterances whose score lists are a few
frames too short or too long, and one system: the corpus on which public tools disagree. :func:`export` writes a corpus
for a newcomer to look at (``spoofspan demo --out FOLDER``), with a protocol and the sound of a few utterances.

May import ``base``, ``data``, ``evaluation``, ``formats`` and ``corpus``, whose voices speak. Read this file first;
``recordings.py`` makes the sound.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from spoofspan.base.errors import UsageError
from spoofspan.data.protocol import Protocol
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.formats.reading import read_references, read_scores
from spoofspan.formats.text.protocol import protocol_lines, read_protocol

if TYPE_CHECKING:
    from spoofspan.data.rules import RuleArguments
    from spoofspan.formats.tables.containers import Container

RTTM, RECO2DUR, PROTOCOL = "references.rttm", "reco2dur", "protocol.txt"
SOUNDS = "wav"
HOPS_MS = (20, 40, 80, 160, 320, 640)
SEEDS = ("1", "10", "100")
README = "README.txt"
TABLE_WORDS = {"parquet": "Parquet", "jsonl": "JSON Lines"}


@dataclass(frozen=True)
class DemoCorpus:
    """References, and the scores of each branch of one system by its hop in seconds, finest first."""

    references: References
    systems: dict[float, Scores]  # of the first seed
    seeds: dict[str, dict[float, Scores]] = field(default_factory=dict)  # of every seed, where there are several
    protocol: Protocol | None = None  # speakers and attacks, where they are known


def load() -> DemoCorpus:
    """The demo corpus: 169 partially spoofed utterances, and a countermeasure with six branches and three seeds.

    Returns
    -------
    DemoCorpus
        ``references``, ``systems`` (the scores of the first seed by their hop in seconds), ``seeds`` (those of every
        seed by its name) and ``protocol`` (speaker and attack of each utterance).

    Examples
    --------
    >>> corpus = load()
    >>> len(corpus.references), list(corpus.systems), list(corpus.seeds)
    (169, [0.02, 0.04, 0.08, 0.16, 0.32, 0.64], ['1', '10', '100'])
    >>> len(set(corpus.protocol.speaker))
    16

    """
    seeds = {seed: _scores("corpus", HOPS_MS, seed) for seed in SEEDS}
    with (files("spoofspan.demo") / "corpus" / PROTOCOL).open("rb") as lines:
        return DemoCorpus(_references("corpus"), seeds[SEEDS[0]], seeds, read_protocol(lines))


def load_short_tail() -> DemoCorpus:
    """The corpus with tails of 5 to 60 ms that no score covers.

    Returns
    -------
    DemoCorpus
        ``references``, and one system with a hop of 20 ms.

    Examples
    --------
    >>> load_short_tail().systems[0.02]
    Scores(40 utterances, 2,982 frames of 20 ms, float64, higher = bonafide)

    """
    return DemoCorpus(_references("short_tail"), _scores("short_tail", (20,)))


def _references(name: str) -> References:
    folder = files("spoofspan.demo") / name  # streams, since an installed package need not be a folder
    with (folder / RTTM).open("rb") as ranges, (folder / RECO2DUR).open("rb") as durations:
        return read_references(ranges, durations=durations)


def _scores(name: str, milliseconds: tuple[int, ...], seed: str = "") -> dict[float, Scores]:
    systems = {}
    for ms in milliseconds:
        with (files("spoofspan.demo") / name / npz_name(ms, seed)).open("rb") as frames:
            systems[ms / 1000] = read_scores(frames, hop=ms / 1000, higher="bonafide")
    return systems


def npz_name(milliseconds: int, seed: str = "") -> str:
    """The file of one branch's scores."""
    return f"scores_{milliseconds}ms.npz" if not seed else f"seed-{seed}_{milliseconds}ms.npz"


# ---------------------------------------------------------------- files for a newcomer


def export(corpus: DemoCorpus, folder: Path, *, force: bool = False, rules: RuleArguments | None = None) -> list[Path]:
    """Write references, durations, the scores of every branch as text and as tables, and a README.txt.

    Where speakers are known, also a protocol, the sound of a few utterances, and the files of ``recipe_files.py``.
    ``rules`` are those that the corpus needs to be measured at all; the README's commands have them.
    """
    from spoofspan.formats.text import frame_lines, rttm
    from spoofspan.formats.text.durations import reco2dur_lines
    from spoofspan.formats.writing import write_atomically

    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{str(folder)!r} is a file; give the name of a folder")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise UsageError(f"the folder {str(folder)!r} is not empty; choose another, or give --force to write into it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{str(folder)!r} cannot be made ({error.strerror or error})") from None
    contents: dict[str, Iterable[bytes]] = {
        README: [_readme(corpus, rules or {}).encode()],
        RTTM: rttm.write(corpus.references),
        RECO2DUR: reco2dur_lines(corpus.references),
    }
    if corpus.protocol is not None:
        from spoofspan.demo.recipe_files import OTHER_TOOLS, files_of_other_tools, recipe_files
        from spoofspan.demo.recordings import wav_files

        (folder / SOUNDS).mkdir(exist_ok=True)
        contents[PROTOCOL] = protocol_lines(corpus.protocol)
        contents |= {f"{SOUNDS}/{utterance}.wav": [content] for utterance, content in wav_files().items()}
        (folder / OTHER_TOOLS).mkdir(exist_ok=True)
        contents |= recipe_files(corpus.references, corpus.systems[min(corpus.systems)], corpus.protocol)
        contents |= files_of_other_tools(corpus.references, corpus.systems, corpus.protocol)
    for hop, scores in corpus.systems.items():
        contents[text_name(hop)] = frame_lines.write(frame_lines.UNIT, scores)
        contents[table_name(hop)] = _tables().write_scores(scores)
    for seed, systems in corpus.seeds.items():
        (folder / seed_name(seed)).mkdir(exist_ok=True)
        contents |= {
            f"{seed_name(seed)}/{table_name(hop)}": _tables().write_scores(scores) for hop, scores in systems.items()
        }
    for name, chunks in contents.items():
        write_atomically(folder / name, chunks, force)
    return [folder / name for name in contents]


def text_name(hop: float) -> str:
    """The text file of one branch's scores; the hop is in its name."""
    return f"unit{hop:g}.score"


def _tables() -> Container:
    """Format of tables of scores: Parquet, or JSON Lines where pyarrow is not installed."""
    from spoofspan.formats.arrow import is_installed
    from spoofspan.formats.tables.jsonl import JSONL
    from spoofspan.formats.tables.parquet import PARQUET

    return PARQUET if is_installed() else JSONL


def table_name(hop: float) -> str:
    """The table of one branch's scores."""
    return f"scores_{1000 * hop:g}ms{_tables().suffixes[0]}"


def seed_name(seed: str) -> str:
    """The folder of one seed's scores."""
    return f"seed-{seed}"


def _heard() -> str:
    """The first utterance with sound and a spoof."""
    from spoofspan.demo.recordings import wav_files

    return next(one for one in wav_files() if one.startswith("CON"))


def _readme(corpus: DemoCorpus, rules: RuleArguments) -> str:
    from spoofspan.evaluation.evaluate import range_eer

    finest = min(corpus.systems)
    flags = "".join(f" --{name} {value}" for name, value in rules.items())
    command = f"spoofspan eval {RTTM} {text_name(finest)} --durations {RECO2DUR}{flags}"
    measured = range_eer(corpus.references, corpus.systems[finest], **rules)
    hops = ", ".join(f"{1000 * hop:g}" for hop in corpus.systems)
    words = TABLE_WORDS[_tables().name]
    about_files = {
        RTTM: "Reference labels. One line per range: SPEAKER <utterance> 1 <start> <duration> <NA> <NA> <label> "
        "<NA> <NA>, times in seconds. The label is bonafide, spoof, or the name of an attack such as A01.",
        RECO2DUR: "Durations: <utterance> <seconds>.",
        text_name(finest): "System scores as text: <utterance> <frame> <bona fide> <spoof>. Frames count from "
        f"0; the hop in seconds is in the name. One such file per hop ({hops} ms).",
        table_name(finest): f"The same scores as {words}: one row per utterance, a list of scores, and hop and "
        "polarity in the file itself. One such file per hop.",
    }
    more, seen = [], ""
    if corpus.protocol is not None:
        heard, seen = _heard(), " (of attacks that the system was trained on)"
        about_files[PROTOCOL] = "Speakers and attacks: <speaker> <utterance> - <attack or -> <label>."
        about_files[f"{SOUNDS}/{heard}.wav"] = (
            "What it sounds like, 16 kHz. A few utterances have their sound here; it is made from a seed, with the "
            "voices of the package."
        )
        given = f"{RTTM} {table_name(finest)} --durations {RECO2DUR}{flags}"
        more = [
            f"    spoofspan eval {given} --by speaker --metadata {PROTOCOL}",
            f"    spoofspan plot timeline {given} \\",
            f"        --utterance {heard} --audio {SOUNDS}/{heard}.wav --out timeline.png",
            f"    spoofspan report {given} \\",
            f"        --metadata {PROTOCOL} --by speaker --audio {SOUNDS} --out report.html",
        ]
    if corpus.seeds:
        about_files[f"{seed_name('1')}/{table_name(finest)}"] = (
            "The same again, and of the same system trained with other seeds."
        )
        seeds = f"'seed-{{seed}}/scores_{{resolution}}{_tables().suffixes[0]}'"
        more.insert(0, f"    spoofspan table {RTTM} {seeds} --durations {RECO2DUR}")
    if corpus.protocol is not None:
        from spoofspan.demo.recipe_files import ABOUT

        about_files |= ABOUT
    lines = ["A small corpus with the scores of one system, in files as spoofspan reads them.", ""]
    for name, about in about_files.items():
        lines += [name, textwrap.indent(textwrap.fill(about, 76), "    ")]
    lines += [
        "",
        "Type, in this folder:",
        "",
        f"    {command}",
        "",
        f"It prints a range EER of {100 * measured.value:.2f} %{seen}. Then try:",
        "",
        f"    spoofspan check {RTTM} {text_name(finest)} --durations {RECO2DUR}{flags}",
        f"    spoofspan eval {RTTM} {table_name(finest)} --durations {RECO2DUR}{flags} --format json",
        f"    spoofspan convert {table_name(finest)} scores.csv",
        "    spoofspan explain range-eer",
        *more,
        "",
    ]
    return "\n".join(lines)
