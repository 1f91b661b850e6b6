"""Two small corpora that ship with the package as files, and are read as anybody's files are.

:func:`load` reads most of the evaluation set of ``spoofspan experiment`` and the scores of its countermeasure, which
was trained with three seeds on other voices; voices and vocoders are those of the package, and there is one branch per
hop (``tools/make_demo.py`` wrote the files). :func:`load_short_tail` reads forty utterances whose score lists are a few
frames too short or too long, and one system: the corpus on which public tools disagree. :func:`export` writes a corpus
for a newcomer to look at (``spoofspan demo --out FOLDER``), with a protocol and the sound of a few utterances.

May import every package up to ``corpus``, whose voices speak. Read this file first; ``explanation.py`` is what
``spoofspan demo`` prints, ``recordings.py`` makes the sound.
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
from spoofspan.data.rules import RuleArguments
from spoofspan.data.scores import Scores
from spoofspan.formats.reading import read_references, read_scores
from spoofspan.formats.text.protocol import protocol_lines, read_protocol

if TYPE_CHECKING:
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
    rules: RuleArguments = field(default_factory=RuleArguments)  # without which it cannot be measured


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
    return DemoCorpus(_references("short_tail"), _scores("short_tail", (20,)), rules={"uncovered": "hold"})


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


def export(corpus: DemoCorpus, folder: Path, *, force: bool = False) -> list[Path]:
    """Write references, durations, the scores of every branch as text and as tables, and a README.txt.

    Where speakers are known, also a protocol, the sound of a few utterances, and the files of ``recipe_files.py``.
    The README's commands have the rules of the corpus.
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
        README: [_readme(corpus).encode()],
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


def _readme(corpus: DemoCorpus) -> str:
    from jinja2 import Environment, StrictUndefined

    from spoofspan.evaluation.evaluate import range_eer

    finest = min(corpus.systems)
    # text, not HTML, so that nothing is escaped
    environment = Environment(  # noqa: S701
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters["paragraph"] = lambda text: textwrap.indent(textwrap.fill(text, 76), "    ") + "\n"
    template = (files("spoofspan.demo") / f"{README}.jinja").read_text(encoding="utf-8")
    return environment.from_string(template).render(
        references=RTTM,
        text=text_name(finest),
        table=table_name(finest),
        suffix=_tables().suffixes[0],
        table_words=TABLE_WORDS[_tables().name],
        hops=", ".join(f"{1000 * hop:g}" for hop in corpus.systems),
        flags="".join(f" --{name} {value}" for name, value in corpus.rules.items()),
        eer=f"{100 * range_eer(corpus.references, corpus.systems[finest], **corpus.rules).value:.2f}",
        protocol="" if corpus.protocol is None else PROTOCOL,
        heard="" if corpus.protocol is None else _heard(),
        seeds=corpus.seeds,
    )
