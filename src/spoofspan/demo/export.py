"""Writing a demo corpus for a newcomer to look at: ``spoofspan demo --out FOLDER``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

from spoofspan.base.errors import UsageError
from spoofspan.data.rules import RuleArguments
from spoofspan.demo import RECO2DUR, RTTM, DemoCorpus
from spoofspan.evaluation.evaluate import range_eer
from spoofspan.formats.tables import parquet
from spoofspan.formats.text import frame_lines, rttm
from spoofspan.formats.text.durations import reco2dur_lines
from spoofspan.formats.writing import write_atomically

README = "README.txt"
TABLED = "seed-{seed}/scores_{resolution}.parquet"
UNIT_SCORE = frame_lines.FORMATS[0]


def export(corpus: DemoCorpus, folder: Path, *, force: bool = False, rules: RuleArguments | None = None) -> list[Path]:
    """Write references, durations, the scores of every branch as text and as Parquet, and a README.txt.

    ``rules`` are those that the corpus needs to be measured at all; the README's commands have them.
    """
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
    for hop, scores in corpus.systems.items():
        assert UNIT_SCORE.write is not None  # noqa: S101 - for the type checker
        contents[text_name(hop)] = UNIT_SCORE.write(scores)
        contents[parquet_name(hop)] = parquet.write_scores(scores)
    for seed, systems in corpus.seeds.items():
        (folder / seed_name(seed)).mkdir(exist_ok=True)
        contents |= {
            f"{seed_name(seed)}/{parquet_name(hop)}": parquet.write_scores(scores) for hop, scores in systems.items()
        }
    for name, chunks in contents.items():
        write_atomically(folder / name, chunks, force)
    return [folder / name for name in contents]


def text_name(hop: float) -> str:
    """The text file of one branch's scores; the hop is in its name."""
    return f"unit{hop:g}.score"


def parquet_name(hop: float) -> str:
    """The Parquet file of one branch's scores."""
    return f"scores_{1000 * hop:g}ms.parquet"


def seed_name(seed: str) -> str:
    """The folder of one seed's scores."""
    return f"seed-{seed}"


def _readme(corpus: DemoCorpus, rules: RuleArguments) -> str:
    finest = min(corpus.systems)
    flags = "".join(f" --{name} {value}" for name, value in rules.items())
    command = f"spoofspan eval {RTTM} {text_name(finest)} --durations {RECO2DUR}{flags}"
    measured = range_eer(corpus.references, corpus.systems[finest], **rules)
    hops = ", ".join(f"{1000 * hop:g}" for hop in corpus.systems)
    files = {
        RTTM: "Who is spoofed when. A line per range: SPEAKER <utterance> 1 <start> <duration> <NA> <NA> <label> "
        "<NA> <NA>, times in seconds. The label is bonafide, spoof, or the name of an attack such as A01.",
        RECO2DUR: "How long each utterance lasts: <utterance> <seconds>.",
        text_name(finest): "What the system said, as text: <utterance> <frame> <bona fide> <spoof>. Frames count from "
        f"0; the hop in seconds is in the name. One such file per hop ({hops} ms).",
        parquet_name(finest): "The same scores as Parquet: one row per utterance, a list of scores, and hop and "
        "polarity in the file itself. Smaller and faster than text. One such file per hop.",
    }
    if corpus.seeds:
        files[f"{seed_name('1')}/{parquet_name(finest)}"] = (
            "The same again, and of the same system trained with other seeds."
        )
    lines = ["A small corpus and what a system said of it, in files as spoofspan reads them.", ""]
    for name, about in files.items():
        lines += [name, textwrap.indent(textwrap.fill(about, 76), "    ")]
    lines += [
        "",
        "Type, in this folder:",
        "",
        f"    {command}",
        "",
        f"It prints a range EER of {100 * measured.value:.2f} %. Then try:",
        "",
        f"    spoofspan check {RTTM} {text_name(finest)} --durations {RECO2DUR}{flags}",
        f"    spoofspan eval {RTTM} {parquet_name(finest)} --durations {RECO2DUR}{flags} --format json",
        f"    spoofspan convert {parquet_name(finest)} scores.csv",
        "    spoofspan explain range-eer",
        *([f"    spoofspan table {RTTM} '{TABLED}' --durations {RECO2DUR}"] if corpus.seeds else []),
        "",
    ]
    return "\n".join(lines)
