"""Pages of the API reference and of the commands, made from docstrings and from ``--help``.

The lists of :doc:`api` and :doc:`commands` are kept in the repository (``python docs/make_reference.py``). The pages
behind them, one for each object and each command, are written when the site is built.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import spoofspan


@dataclass(frozen=True)
class Page:
    """A page of the reference: public names, or the names of one module."""

    file: str
    title: str
    names: str = ""  # in the order of the page
    module: str = ""

    @property
    def listed(self) -> list[str]:
        """Public names on this page; the last page of names has all that no other page lists."""
        if self is not NAMES[-1]:
            return self.names.split()
        taken = {name for page in NAMES for name in page.names.split()}
        return [*self.names.split(), *sorted(name for name in spoofspan.__all__ if name not in taken)]


# In the order of use.
NAMES = (
    Page("references", "References", "References with_bare_ids"),
    Page("scores", "Scores", "Scores"),
    Page("eer", "Equal error rates", "range_eer point_eer utterance_eer eer bisection_eer best_possible"),
    Page("evaluate", "Several measures", "evaluate evaluate_utterances Evaluation default_measures"),
    Page("compare", "Comparisons", "compare Comparison seed_variation SeedVariation sample_size SampleSize"),
    Page("intervals", "Intervals", "interval Interval Resampling"),
    Page("measurement", "Measurements", "Measurement EventMeasurement BisectionMeasurement Signature"),
    Page(
        "reading",
        "Reading files",
        "read_references read_scores read_utterance_scores read_proposals read_durations read_protocol read_metadata "
        "read_utterance_labels read_regions read_verification_scores read_dataset Dataset read_systems find_systems "
        "SystemFile",
    ),
    Page("writing", "Writing files", "write_references write_scores"),
    Page("rules", "Rules", "Rules CONVENTIONS"),
    Page("tables", "Tables", "resolution_table ResolutionTable measure_domains DomainTable published Published"),
    Page("report", "Report page and figures", "write_report plot"),
    Page("curves", "Error curves", "error_curve ErrorCurve OperatingPoint"),
    Page(
        "utterances", "Utterance scores and proposals", "UtteranceScores Proposals errors_by_utterance UtteranceErrors"
    ),
    Page("verification", "Repeating a result", "verify Verification diff_results ResultDiff"),
    Page("calibration", "Calibration", "calibrate fuse Calibration read_calibration write_calibration"),
    Page("locating", "Spoofs in recordings", "locate Location"),
    Page("spoof-or-cut", "The spoof or the cut", "controls"),
    Page("scaling", "Larger than memory", "sharded evaluate_shards"),
    Page("errors", "Errors", "SpoofspanError DataError UsageError UndefinedMeasureError SpoofspanWarning __version__"),
    Page("blocks", "Building blocks", "overlay point_mass ScoreMass equal_error_rate EqualErrorRate Measure"),
)
MODULES = (
    Page("plot", "Figures", module="spoofspan.report.figures.plots"),
    Page("figure-data", "Data of figures", module="spoofspan.report.figures"),
    Page("page", "Content of the report page", module="spoofspan.report.page"),
    Page("groups", "Breakdowns", module="spoofspan.groups"),
    Page("events", "Events", module="spoofspan.events"),
    Page("torch", "TorchMetrics", module="spoofspan.integrations.torch"),
    Page("lightning", "Lightning", module="spoofspan.integrations.lightning"),
    Page("dask", "Dask", module="spoofspan.integrations.dask"),
    Page("pyannote", "pyannote", module="spoofspan.integrations.pyannote"),
    Page("rows", "Rows of Hugging Face data sets", module="spoofspan.data.dataset_rows"),
    Page("hf-evaluate", "Hugging Face evaluate", module="spoofspan.integrations.hf_evaluate"),
    Page("leaderboards", "Leaderboards and model cards", module="spoofspan.integrations.leaderboards"),
    Page("versa", "VERSA", module="spoofspan.integrations.versa"),
    Page("deepfense", "DeepFense", module="spoofspan.integrations.deepfense"),
    Page("cm", "The countermeasure", module="spoofspan.cm"),
    Page("corpus-building", "Building corpora", module="spoofspan.corpus.building"),
    Page("corpus-checking", "Checking corpora", module="spoofspan.corpus.checking"),
    Page("corpus-settings", "Settings of a corpus", module="spoofspan.corpus.settings"),
    Page("controls", "Controls", module="spoofspan.corpus.controls"),
    Page("demo", "The demo corpora", module="spoofspan.demo"),
)
# modules whose names are defined elsewhere
GATHERED = (
    "spoofspan.events",
    "spoofspan.groups",
    "spoofspan.report.page",
    "spoofspan.report.figures",
    "spoofspan.cm",
    "spoofspan.corpus.controls",
)
VALUES = {
    "CONVENTIONS": "The conventions by name; each has a set of rules for ranges, points and utterances.",
    "__version__": "The version of the package.",
}

# ---------------------------------------------------------------- lists, for the repository too


def api_list() -> str:
    """Tables of all public names and documented modules."""
    tables = [table(page.title, "name", map(name_row, page.listed)) for page in NAMES]
    tables.append(table("Modules", "module", ((page.module, page.title) for page in MODULES)))
    return "\n".join(tables)


def command_list() -> str:
    """Tables of all commands, by group."""
    from spoofspan.cli.commands import GROUPS

    tables = []
    for group, commands in GROUPS.items():
        rows = [(f"spoofspan {' '.join(name)}", about) for one in commands for name, about in parts_of(one)]
        tables.append(table(group, "command", rows))
    return "\n".join(tables)


def table(title: str, what: str, rows: Any) -> str:
    """One table with a heading."""
    lines = (f"| `{name}` | {about} |" for name, about in rows)
    return "\n".join([f"## {title}", "", f"| {what} | |", "|---|---|", *lines, ""])


def name_row(name: str) -> tuple[str, str]:
    """A public name with its summary."""
    value = getattr(spoofspan, name)
    if isinstance(value, ModuleType):
        return f"ss.{name}", f"The module `{value.__name__}`."
    return f"ss.{name}", VALUES.get(name) or summary(value)


def summary(value: Any) -> str:
    """The first sentence of a docstring, without Sphinx's roles."""
    text = (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ")
    text = re.sub(r":\w+(?::\w+)?:`~?([^`<]*?)(?: <[^`]*>)?`", r"`\1`", text).replace("``", "`")
    return re.split(r"(?<=\.)\s(?=[A-Z`])", text, maxsplit=1)[0].rstrip(".:").replace("|", "\\|") + "."


def parts_of(one: Any) -> Iterator[tuple[list[str], str]]:
    """A command, or the commands of a group, each with its sentence."""
    parts = getattr(one.load(), "commands", {})
    yield [one.name], one.about
    for name, command in parts.items():
        yield [one.name, name], command.get_short_help_str(200)


# ---------------------------------------------------------------- links, for the site


def linked(page: str, text: str) -> str:
    """Let the names in a list lead to their pages."""
    if page == "commands":
        return re.sub(
            r"^\| `spoofspan ([\w -]+)` \|",
            lambda found: f"| [`spoofspan {found[1]}`](commands/{found[1].replace(' ', '-')}.rst) |",
            text,
            flags=re.M,
        )
    for one in MODULES:
        text = text.replace(f"| `{one.module}` |", f"| [`{one.module}`](api/{one.file}.rst) |")
    for one in NAMES:
        for name in one.listed:
            text = text.replace(f"| `ss.{name}` |", f"| {{py:obj}}`ss.{name} <spoofspan.{name}>` |")
        text = text.replace(f"## {one.title}\n", f"## [{one.title}](api/{one.file}.rst)\n")
    return text


# ---------------------------------------------------------------- pages, for the site


def write_pages(folder: Path) -> None:
    """Write the pages of ``api`` and ``commands`` into the folder of the documentation."""
    contents = {f"api/{page.file}.rst": api_page(page) for page in (*NAMES, *MODULES)}
    from spoofspan.cli.commands import COMMANDS

    for one in COMMANDS:
        for name, about in parts_of(one):
            contents[f"commands/{'-'.join(name)}.rst"] = command_page(name, about)
    for file, text in contents.items():
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in [*folder.glob("api/*.rst"), *folder.glob("commands/*.rst")]:
        if path.relative_to(folder).as_posix() not in contents:
            path.unlink()


def heading(title: str, mark: str = "=") -> str:
    """A heading of reStructuredText."""
    return f"{title}\n{mark * len(title)}\n"


def api_page(page: Page) -> str:
    """A page with a summary table, then every name in full."""
    up = ":doc:`Python API <../api>`\n"
    if page.module:
        text = [":orphan:\n", heading(page.title), up, directive("automodule", page.module)]
        return "\n".join(text)
    rows, parts = [], []
    for name in page.listed:
        value, path = getattr(spoofspan, name), f"spoofspan.{name}"
        about = VALUES.get(name)
        if isinstance(value, ModuleType):
            other = next(one for one in MODULES if one.module == value.__name__)
            rows.append((f":doc:`ss.{name} <{other.file}>`", f"The module ``{other.module}``."))
            parts.append(
                f".. py:data:: {path}\n\n   The module ``{other.module}``: :doc:`{other.title} <{other.file}>`.\n"
            )
            continue
        rows.append((f":py:obj:`ss.{name} <{path}>`", about or summary(value).replace("`", "``")))
        if isinstance(value, type):
            rows += [
                (f":py:obj:`.{member} <{path}.{member}>`", summary(found).replace("`", "``"))
                for member, found in members(value)
            ]
            parts.append(directive("autoexception" if issubclass(value, BaseException) else "autoclass", path))
        elif callable(value):
            parts.append(directive("autofunction", path))
        else:
            parts.append(f".. py:data:: {path}\n\n   {about or type(value).__name__}\n")
    lines = [".. list-table::", "   :widths: 32 68", "   :class: summary", ""]
    for name, about in rows:
        lines += [f"   * - {name}", f"     - {about}"]
    return "\n".join([":orphan:\n", heading(page.title), up, *lines, "", *parts])


def members(value: type) -> list[tuple[str, Any]]:
    """Documented public methods and properties of a class, in the order of the source."""
    found = []
    for name, member in vars(value).items():
        member = getattr(member, "__func__", member)  # of a class method
        if not name.startswith("_") and (callable(member) or isinstance(member, property)) and inspect.getdoc(member):
            found.append((name, member))
    return found


def directive(name: str, target: str) -> str:
    """A directive of autodoc."""
    options = "\n   :members:" if name in ("autoclass", "automodule") else ""
    options += "\n   :imported-members:" if target in GATHERED else ""
    return f".. {name}:: {target}{options}\n"


def command_page(name: list[str], about: str) -> str:
    """A page with what ``--help-all`` prints."""
    text = "".join(f"   {line}".rstrip() + "\n" for line in help_of(name).splitlines())
    up = ":doc:`Commands <../commands>`\n"
    return "\n".join(
        [":orphan:\n", heading(f"spoofspan {' '.join(name)}"), up, f"{about}\n", f".. code-block:: text\n\n{text}"]
    )


def help_of(command: list[str]) -> str:
    """What a command prints about itself."""
    from click.testing import CliRunner

    from spoofspan.cli import app

    runner = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"})
    answers = (runner.invoke(app, [*command, flag]) for flag in ("--help-all", "--help"))  # groups have only the last
    return next(answer.stdout for answer in answers if not answer.exit_code)
