"""The corpora of the package, measured and explained: the text and the data that ``spoofspan demo`` prints.

Each explanation is computed once and read twice, as plain data and as text: a template beside this module, laid out for
the terminal.
"""

from __future__ import annotations

import textwrap
import warnings
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from spoofspan.base.errors import SpoofspanError, SpoofspanWarning
from spoofspan.base.terminal import current_screen
from spoofspan.data.references import SPOOF, References
from spoofspan.data.rules import CONVENTIONS, Rules
from spoofspan.mass.points import OF_POINTS
from spoofspan.report.table import Table

if TYPE_CHECKING:
    from spoofspan.demo import DemoCorpus
    from spoofspan.evaluation.measurement import Measurement
    from spoofspan.evaluation.resolution_table import ResolutionRow, ResolutionTable

WIDTH, WIDEST = 80, 100  # columns of text: in a pipe, and at most
OWN_DATA = """\
import spoofspan as ss
references = ss.References.from_ranges(
    {"u1": [(0.0, 1.2, "bonafide"), (1.2, 2.0, "spoof", "A07")]}, durations={"u1": 2.0})
scores = ss.Scores.from_frames({"u1": frames}, hop=0.02, higher="bonafide")
print(ss.range_eer(references, scores))
print(ss.resolution_table(references, {0.02: scores}))
"""


@dataclass(frozen=True)
class Explanation:
    """Measurements of a corpus of the package, as plain data and as text."""

    plain: dict[str, Any]
    text: str


def _explained(name: str, corpus: DemoCorpus, plain: dict[str, Any], **content: Any) -> Explanation:
    from jinja2 import Environment, StrictUndefined

    screen = current_screen()
    width = WIDTH if screen is None else min(screen.width, WIDEST)
    # text, not HTML, so that nothing is escaped
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
    environment.filters["heading"] = lambda text: text if screen is None else screen.shown(text, "strong")
    environment.filters["wrapped"] = lambda text: textwrap.fill(text, width, break_on_hyphens=False) + "\n"
    template = (files("spoofspan.demo") / f"{name}.txt.jinja").read_text(encoding="utf-8")
    facts = _facts(corpus.references)
    text = environment.from_string(template).render(corpus=facts, **content)
    return Explanation({"corpus": facts, **plain}, text.rstrip() + "\n")


def _facts(references: References) -> dict[str, Any]:
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


# ---------------------------------------------------------------- range EER and resolutions


def explanation_of_resolutions(corpus: DemoCorpus) -> Explanation:
    """Range and point EERs of every branch, and what each of them means."""
    from spoofspan.evaluation.evaluate import evaluate
    from spoofspan.evaluation.resolution_table import resolution_table
    from spoofspan.report.results import results_table

    table = resolution_table(corpus.references, corpus.systems)
    finest, coarsest = min(corpus.systems), max(corpus.systems)
    evaluation = evaluate(corpus.references, corpus.systems[finest], ["range-eer", f"point-eer@{1000 * finest:g}ms"])
    measured = evaluation["range-eer"]
    return _explained(
        "resolutions",
        corpus,
        {"range_eer": measured.to_dict(), "table": table.to_dict()},
        hops=", ".join(f"{1000 * hop:g}" for hop in corpus.systems),
        finest=_ms(finest),
        coarsest=_ms(coarsest),
        evaluation=results_table(evaluation, signatures=False).render("text"),
        fpr=_percent(measured.false_positive_rate),
        fnr=_percent(measured.false_negative_rate),
        table=_without_signature(table),
        native=_quoted(table[finest], finest),
        coarse=_quoted(table[coarsest], coarsest),
        finest_coarse=_percent(table[finest].point_eers[coarsest].value),
        signature=measured.signature,
        own_data=OWN_DATA,
    )


def _quoted(row: ResolutionRow, hop: float) -> dict[str, str]:
    """The numbers of a branch that the explanation quotes."""
    above_floor = row.range_eer.value - (0.0 if row.floor is None else row.floor.value)
    values = {"point": _percent(row.point_eers[hop].value), "range": _percent(row.range_eer.value)}
    return {**values, "own": f"{100 * above_floor:.2f}"}


def _without_signature(table: ResolutionTable) -> str:
    """As 'spoofspan table' prints it; the signature has a section of its own."""
    from spoofspan.report.resolutions import captions, render, wrapped

    screen = current_screen()
    lines = render({"": table}, "text").split("\n")
    # blocks that a narrow terminal puts below one another, each with a rule
    last = max(i for i, line in enumerate(lines) if "---" in line)
    notes = captions({"": table})
    below = [part for note in notes for part in wrapped(note)] if screen is None else screen.lines(notes)
    return "\n".join([*lines[: lines.index("", last)], *below])


# ---------------------------------------------------------------- the page

SHOWN = (0.02, 0.16)  # branches


def page_of(corpus: DemoCorpus) -> str:
    """A page of the errors, as ``spoofspan report`` writes it."""
    from spoofspan.report.page import PageSettings, page_content, render_page

    systems = {f"{_ms(hop)} branch": scores for hop, scores in corpus.systems.items() if hop in SHOWN}
    return render_page(page_content(corpus.references, systems, PageSettings("spoofspan demo", arguments=corpus.rules)))


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
}


@dataclass(frozen=True)
class ConventionRow:
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

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        if self.measurement is None:
            return self.name, self.tail, "", ""
        return self.name, self.tail, f"{self.seconds:.3f}", _percent(self.measurement.value)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        before = {"convention": self.convention, "name": self.name, "tail": self.tail, "seconds": self.seconds}
        return {**before, "measurement": self.measurement and self.measurement.to_dict(), "refusal": self.refusal}


def explanation_of_conventions(corpus: DemoCorpus) -> Explanation:
    """One corpus and one system under every convention."""
    rows, windows = _rows_of_conventions(corpus), _windows(corpus)
    cells = tuple((name, m.rules.pooling, str(m.rules.label), _percent(m.value)) for name, m in windows.items())
    head = ("rules of", "time without a score", "seconds", "range EER")
    return _explained(
        "conventions",
        corpus,
        {"conventions": [row.to_dict() for row in rows], "windows": [one.to_dict() for one in windows.values()]},
        utterances=len(corpus.references),
        conventions=Table(head, tuple(row.cells for row in rows)).render("text"),
        refused=[row for row in rows if row.refusal is not None],
        window=_ms(WINDOW),
        windows=Table(("rules of", "pooling", "label", "point EER"), cells).render("text"),
    )


def _rows_of_conventions(corpus: DemoCorpus) -> list[ConventionRow]:
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
        rows.append(ConventionRow(convention, name, _tail(rules), **found))
    told = range_eer(corpus.references, scores, uncovered="hold")
    rows.append(ConventionRow("default", "spoofspan, uncovered='hold'", _tail(told.rules), told))
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
    """Rule for the tail, in at most 31 letters, so that the table has 80 columns."""
    if rules.last_frame == "drop":
        return "last frame dropped, rest held"
    return TAILS.get(rules.uncovered, "over one hop + 25 ms: refused")


def _percent(rate: float) -> str:
    return f"{100 * rate:.2f} %"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:g} ms"
