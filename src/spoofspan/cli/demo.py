"""``spoofspan demo``: the corpus that ships with the package, measured and explained."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from spoofspan.base.errors import SpoofspanError, SpoofspanWarning
from spoofspan.base.terminal import Screen, laid_out_for, screen_of
from spoofspan.cli.options import flag
from spoofspan.data.references import SPOOF, References
from spoofspan.data.rules import CONVENTIONS, Rules
from spoofspan.mass.points import OF_POINTS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from spoofspan.demo import DemoCorpus
    from spoofspan.evaluation.measurement import Measurement
    from spoofspan.evaluation.resolution_table import ResolutionTable

NARROWEST, WIDEST = 80, 100  # columns; a terminal may have fewer
SHOWN = (0.02, 0.16)  # branches on the page

MEANING = (
    "Range and point. The range EER weighs every error by how long it lasts. The point EER divides time into "
    "fixed-length points; a point counts as spoofed if any part of it is, and the system was trained the same way. "
    "At its own resolution (*), the branch of {finest} has a point EER of {native_point} and a range EER of "
    "{native_range}. The branch of {coarsest} has {coarsest_point} and {coarsest_range}, because much bona fide time "
    "shares a window with a spoof there.",
    "Right of the star. Measured coarser than the hop, the same scores answer another question: the lowest score of a "
    "window decides. Finding any part of a spoof is enough to be right, one short false alarm is enough to be wrong. "
    "The branch of {finest} has {finest_coarse} at {coarsest} instead of {native_point}, and is the same system. Left "
    "of the star, finer points repeat the scores and show the errors inside a window.",
    "Floor. The range EER of a perfect system that must give one score per hop. It is the error that the resolution "
    "causes. The system causes the rest: {native_own} points at {finest}, {coarsest_own} at {coarsest}.",
)

OWN_FILES = """\
spoofspan eval ref.rttm unit0.02.score --durations reco2dur
spoofspan table ref.rttm 'unit{resolution}.score' --durations reco2dur
spoofspan demo --out demo            (writes such files, to experiment with)
spoofspan demo --report demo.html    (a page: where the system errs)
"""
OWN_DATA = """\
import spoofspan as ss
references = ss.References.from_ranges(
    {"u1": [(0.0, 1.2, "bonafide"), (1.2, 2.0, "spoof", "A07")]}, durations={"u1": 2.0})
scores = ss.Scores.from_frames({"u1": frames}, hop=0.02, higher="bonafide")
print(ss.range_eer(references, scores))
print(ss.resolution_table(references, {0.02: scores}))
"""


def demo(
    format: Literal["text", "json"] = flag("text", "Output format: text or json.", "--format"),
    conventions: bool = flag(
        False, "Measure one corpus and one system under every convention instead.", "--conventions"
    ),
    out: Path | None = flag(
        None, "Also write the corpus to this folder: labels, scores, a protocol and some sound, to experiment with."
    ),
    report: Path | None = flag(None, "Also write a page that shows where the system errs, as 'spoofspan report' does."),
    force: bool = flag(False, "Write into a folder that is not empty, or over a page.", "--force"),
) -> None:
    """Measure a small corpus and explain the numbers.

    The corpus is part of the package. --out also writes it to files, with a README.txt that lists commands to try.

    For example:

      spoofspan demo

      spoofspan demo --out demo

      spoofspan demo --report demo.html

      spoofspan demo --conventions
    """
    from spoofspan.demo import PROTOCOL, README, SOUNDS, export, load, load_short_tail

    corpus = load_short_tail() if conventions else load()
    if out is not None:
        files = export(corpus, out, force=force, rules={"uncovered": "hold"} if conventions else {})
        click.echo(f"{len(files)} files written to {out}; begin with {out / README}", err=True)
        sounds = sum(path.suffix == ".wav" for path in files)
        if sounds:
            click.echo(
                f"among them {out / PROTOCOL} (speakers and attacks) and the sound of {sounds} utterances in "
                f"{out / SOUNDS}",
                err=True,
            )
    if report is not None:
        _write_page(corpus, report, force)
    if conventions:
        _demo_of_conventions(corpus, format)
    else:
        _demo_of_resolutions(corpus, format)


def _write_page(corpus: DemoCorpus, target: Path, force: bool) -> None:
    from spoofspan.formats.writing import check_target, write_atomically
    from spoofspan.report.page import PageSettings, page_content, render_page

    check_target(target.expanduser(), force)
    tail = {"uncovered": "hold"} if list(corpus.systems) == [0.02] else {}  # the corpus with short tails
    settings = PageSettings("spoofspan demo", arguments=tail)
    systems = {f"{_ms(hop)} branch": scores for hop, scores in corpus.systems.items() if hop in SHOWN}
    page = render_page(page_content(corpus.references, systems, settings))
    write_atomically(target, [page.encode()], force)
    click.echo(f"{target} written; open it in a browser", err=True)


# ---------------------------------------------------------------- range EER and resolutions


def _demo_of_resolutions(corpus: DemoCorpus, format: str) -> None:
    from spoofspan.evaluation.evaluate import evaluate
    from spoofspan.evaluation.resolution_table import resolution_table
    from spoofspan.report.results import results_table

    table = resolution_table(corpus.references, corpus.systems)
    hop, system = next(iter(corpus.systems.items()))
    evaluation = evaluate(corpus.references, system, ["range-eer", f"point-eer@{1000 * hop:g}ms"])
    finest = evaluation["range-eer"]
    if format == "json":
        _print_json(corpus, range_eer=finest.to_dict(), table=table.to_dict())
        return
    console = _console()
    console.print(_about(corpus))
    _heading(console, f"The branch with a score every {_ms(hop)}, as 'spoofspan eval' prints it")
    with laid_out_for(_plain_screen()):
        console.print(results_table(evaluation, signatures=False).render("text"), end="", soft_wrap=True)
    console.print()
    console.print(
        f"Range EER: {_percent(finest.false_positive_rate)} of the bona fide time is called spoof (FPR), and "
        f"{_percent(finest.false_negative_rate)} of the spoofed time is called bona fide (FNR).",
    )
    _heading(console, "EER in %, by branch (rows) and by how it is measured (columns)")
    _print_table(console, table)
    _heading(console, "What the numbers mean")
    for sentence in MEANING:
        console.print(sentence.format(**_examples(table, hop, max(corpus.systems))))
        console.print()
    console.print("Signature of the range EER", style="bold")
    console.print(
        "Numbers may be compared if the first part is equal: the same measure, rules and references. The second part "
        "identifies the scores.",
    )
    _verbatim(console, finest.signature.comparable, finest.signature.input)
    _heading(console, "The same with your own files, or in Python")
    _verbatim(console, *OWN_FILES.splitlines())
    console.print()
    _verbatim(console, *OWN_DATA.splitlines())


def _about(corpus: DemoCorpus) -> str:
    facts = _corpus_facts(corpus.references)
    hops = ", ".join(f"{1000 * hop:g}" for hop in corpus.systems)
    return (
        f"A corpus of {facts['utterances']} utterances, made of voices and vocoders of the package: "
        f"{facts['bona_fide_seconds']:.1f} s bona fide, {facts['spoof_seconds']:.1f} s spoofed in "
        f"{facts['spoofed_ranges']} ranges of {facts['partially_spoofed_utterances']} utterances (attacks "
        f"{', '.join(facts['attacks'])}). A countermeasure with a branch per hop ({hops} ms), trained on other voices "
        "but on the same attacks: on unseen attacks it performs near chance. Its scores are higher for bona "
        "fide. 'spoofspan experiment' made both."
    )


def _corpus_facts(references: References) -> dict[str, Any]:
    spoof = references.labels == SPOOF
    lasted = references.range_durations
    counts = [int(spoof[a:b].sum()) for a, b in zip(references.offsets[:-1], references.offsets[1:], strict=True)]
    return {
        "utterances": len(references),
        "partially_spoofed_utterances": sum(count > 0 for count in counts),
        "spoofed_ranges": sum(counts),
        "bona_fide_seconds": int(lasted[~spoof].sum()) / 1e9,
        "spoof_seconds": int(lasted[spoof].sum()) / 1e9,
        "attacks": list(references.attack_names),
    }


def _print_table(console: Console, table: ResolutionTable) -> None:
    """As 'spoofspan table' prints it, without the signature, which follows below."""
    from spoofspan.report.resolutions import captions, render, wrapped

    with laid_out_for(screen := _plain_screen()):
        lines = render({"": table}, "text").split("\n")
    notes = captions({"": table})
    below = [part for note in notes for part in wrapped(note)] if screen is None else screen.lines(notes)
    for line in (*_rows_of(lines), *below):
        console.print(line, soft_wrap=True)


def _rows_of(lines: list[str]) -> list[str]:
    """The lines of a table up to its notes: blocks that a narrow terminal puts below one another, each with a rule."""
    last = max(i for i, line in enumerate(lines) if line and not line.strip("-"))
    return lines[: lines.index("", last)]


def _plain_screen() -> Screen | None:
    """The terminal, to which rich adds the emphasis."""
    screen = screen_of(sys.stdout)
    return None if screen is None else replace(screen, emphasis=False)


def _examples(table: ResolutionTable, finest: float, coarsest: float) -> dict[str, str]:
    """The cells that the explanation quotes."""
    found = {"finest": _ms(finest), "coarsest": _ms(coarsest)}
    found["finest_coarse"] = _percent(table[finest].point_eers[coarsest].value)
    for name, row, hop in (("native", table[finest], finest), ("coarsest", table[coarsest], coarsest)):
        found[f"{name}_point"] = _percent(row.point_eers[hop].value)
        found[f"{name}_range"] = _percent(row.range_eer.value)
        above_floor = row.range_eer.value - (0.0 if row.floor is None else row.floor.value)
        found[f"{name}_own"] = f"{100 * above_floor:.2f}"
    return found


# ---------------------------------------------------------------- conventions

NAMES = {
    "nii-2023": "published script (nii-2023)",
    "wedefense": "WeDefense (wedefense)",
    "partialspoof-metrics": "partialspoof-metrics",
    "paper": "the equations (paper)",
    "default": "spoofspan (default)",
}
WINDOW = 0.32  # seconds
TAILS = {
    "bonafide": "always called bona fide",
    "hold": "last score held",
    "unanswered": "counted, but never an error",
    "error": "refused",
}


@dataclass(frozen=True)
class _Row:
    """One convention: what it does to the tail, and its number or its refusal."""

    convention: str
    name: str
    tail: str
    measurement: Measurement | None = None
    refusal: str | None = None

    @property
    def seconds(self) -> float | None:
        """The time without a score that the convention decided."""
        if self.measurement is None:
            return None
        touched = self.measurement.touched
        return sum(touched[rule].ns for rule in ("slack", "uncovered") if rule in touched) / 1e9

    def to_dict(self) -> dict[str, Any]:
        before = {"convention": self.convention, "name": self.name, "tail": self.tail, "seconds": self.seconds}
        return {**before, "measurement": self.measurement and self.measurement.to_dict(), "refusal": self.refusal}


def _demo_of_conventions(corpus: DemoCorpus, format: str) -> None:
    rows = _rows_of_conventions(corpus)
    if format == "json":
        windows = [m.to_dict() for m in _windows(corpus).values()]
        _print_json(corpus, conventions=[row.to_dict() for row in rows], windows=windows)
        return
    console = _console()
    console.print(
        f"One corpus and one system: {len(corpus.references)} made-up utterances, a score every 20 ms. Most score "
        "lists end 1 to 3 frames early, so that 5 to 60 ms at the end of an utterance have no score. What is that "
        "time? Every tool decides, and most decide in silence.",
    )
    console.print()
    console.print(_conventions_grid(rows))
    for row in rows:
        if row.refusal is not None:
            _heading(console, f"Why {row.name} refuses")
            for line in row.refusal.splitlines():
                console.print(line)
    _heading(console, f"The same in windows of {_ms(WINDOW)}: what is their score, and what are they called?")
    cells = [(name, m.rules.pooling, str(m.rules.label), _percent(m.value)) for name, m in _windows(corpus).items()]
    console.print(_grid(("rules of", "pooling", "label", "point EER"), cells))
    console.print()
    console.print(
        "Each number is right under its rules, and numbers under different rules cannot be compared. So every rule is "
        "an argument, a set of rules has a name (convention=), and every number carries its rules in its signature.",
    )


def _rows_of_conventions(corpus: DemoCorpus) -> list[_Row]:
    from spoofspan.evaluation.evaluate import range_eer

    scores = corpus.systems[0.02]
    rows = []
    for convention, name in NAMES.items():
        rules, _ = CONVENTIONS[convention].measures["range"]
        found: dict[str, Any] = {}
        try:
            found["measurement"] = range_eer(corpus.references, scores, convention=convention)
        except SpoofspanError as error:
            found["refusal"] = str(error)
        rows.append(_Row(convention, name, _tail(rules), **found))
    told = range_eer(corpus.references, scores, uncovered="hold")
    rows.append(_Row("default", "spoofspan, uncovered='hold'", _tail(told.rules), told))
    return rows


def _windows(corpus: DemoCorpus) -> dict[str, Measurement]:
    """The EER of windows under every convention that has one, and under each pooling."""
    from spoofspan.evaluation.evaluate import point_eer

    def measured(**how: Any) -> Measurement:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpoofspanWarning)  # so few windows have wide gaps
            return point_eer(corpus.references, corpus.systems[0.02], WINDOW, **how)

    others = [name for name, one in CONVENTIONS.items() if "point" in one.measures and name != "default"]
    found = {name: measured(convention=name) for name in others}
    return found | {f"spoofspan, pooling='{one}'": measured(pooling=one, uncovered="hold") for one in OF_POINTS}


def _tail(rules: Rules) -> str:
    does = TAILS[rules.uncovered]
    if rules.last_frame == "drop":
        return f"frame that sticks out dropped, {does}"
    if rules.slack is None and rules.uncovered == "error":
        return f"last score held for one hop + 25 ms, more is {does}"
    return does


def _conventions_grid(rows: list[_Row]) -> Table:
    cells = [
        (
            row.name,
            row.tail,
            "" if row.seconds is None else f"{row.seconds:.3f}",
            "refused" if row.measurement is None else _percent(row.measurement.value),
        )
        for row in rows
    ]
    return _grid(("rules of", "time without a score", "seconds", "range EER"), cells)


def _grid(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    """A grid whose last column is the number, and numbers stand to the right."""
    from rich import box
    from rich.table import Table

    # a rule of hyphens under the head: the same in every terminal
    ruled = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
    grid = Table(box=ruled, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in head[:-1]:
        grid.add_column(name, justify="right" if name == "seconds" else "left")
    grid.add_column(head[-1], justify="right", style="bold")
    for row in rows:
        grid.add_row(*row)
    return grid


# ---------------------------------------------------------------- printing


def _console() -> Console:
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    console.width = min(max(console.width, 0 if console.is_terminal else NARROWEST), WIDEST)
    return console


def _heading(console: Console, text: str) -> None:
    console.print(f"\n{text}", style="bold")


def _verbatim(console: Console, *lines: str) -> None:
    """Print lines that may be copied: they are never broken."""
    for line in lines:
        console.print(f"  {line}", soft_wrap=True)


def _print_json(corpus: DemoCorpus, **content: Any) -> None:
    facts = _corpus_facts(corpus.references)
    click.echo(json.dumps({"corpus": facts, **content}, indent=2, allow_nan=False))


def _percent(rate: float) -> str:
    return f"{100 * rate:.2f} %"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:g} ms"
