"""The documentation site: ``sphinx-build -W docs build/site`` (``.ci/run docs``).

The pages are those that GitHub shows. On the way, links to files outside of ``docs`` are made to lead to the
repository, the API reference is filled in from the public names, the page of commands from what ``--help`` prints, and
the changelog and the page for contributors from the top of the repository.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import spoofspan

ROOT = Path(__file__).resolve().parents[1]
REPOSITORY = "https://github.com/spoofspan/spoofspan"

project = "spoofspan"
author = copyright = "The spoofspan developers"
version = release = spoofspan.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["jupyter_execute"]
suppress_warnings = [
    "ref.python",  # one name is at home in two documented modules
]

html_theme = "furo"
html_title = "spoofspan"
html_copy_source = False
html_theme_options = {"source_repository": REPOSITORY, "source_branch": "main", "source_directory": "docs/"}

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = "off"  # the notebooks are kept with what they print; tests/test_notebooks.py runs them

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say the types in words
autodoc_mock_imports = [
    "torch",
    "torchmetrics",
    "dask",
    "distributed",
    "pyannote",
    "datasets",
    "evaluate",
    "versa",
    "transformers",
    "safetensors",
]
napoleon_google_docstring = False
napoleon_use_rtype = False

# ---------------------------------------------------------------- pages

OUTSIDE = re.compile(r"\]\(((?:\.\./)+)([^)#\s]+)(#[^)\s]*)?\)")
INSIDE = re.compile(r"\]\((?!\w+:|#)(docs/)?([^)\s]+)\)")
COMING = ("benchmarks", "reliability", "verdicts")  # pages that other changes bring; listed where they are there
ABSENT = [page for page in COMING if not (ROOT / "docs" / f"{page}.md").is_file()]
SHOWN_AS = {
    "changelog": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
}  # their text is outside
PAGES_OF = {file: f"{page}.md" for page, file in SHOWN_AS.items()}
ROOMS = {
    "evaluation": "Measuring",
    "data": "Data and rules",
    "formats": "Files",
    "uncertainty": "Uncertainty and comparison",
    "measures": "Building blocks of measures",
    "mass": "Score mass",
    "scale": "Larger than memory",
    "report": "Tables, figures and pages",
    "cm": "Spoofs in recordings",
    "base": "Errors and version",
}
MODULES = {
    "spoofspan.demo": "The demo corpora",
    "spoofspan.events": "Events",
    "spoofspan.groups": "Breakdowns",
    "spoofspan.report.figures": "Figures and their data",
    "spoofspan.report.page": "The page",
    "spoofspan.integrations.torch": "TorchMetrics",
    "spoofspan.integrations.dask": "Dask",
    "spoofspan.integrations.pyannote": "pyannote",
    "spoofspan.integrations.huggingface": "Hugging Face data sets",
    "spoofspan.integrations.hf_evaluate": "Hugging Face evaluate",
    "spoofspan.integrations.leaderboards": "Leaderboards and model cards",
    "spoofspan.integrations.versa": "VERSA",
    "spoofspan.integrations.deepfense": "DeepFense",
    "spoofspan.cm": "The countermeasure",
    "spoofspan.corpus.building": "Building corpora",
    "spoofspan.corpus.checking": "Checking corpora",
    "spoofspan.corpus.settings": "Settings of a corpus",
}
VALUES = {
    "CONVENTIONS": "The conventions by name; each has a set of rules for ranges, points and utterances.",
    "__version__": "The version of the package.",
}
GATHERED = (
    "spoofspan.events",
    "spoofspan.groups",
    "spoofspan.report.page",
    "spoofspan.report.figures",
    "spoofspan.cm",
)  # their names live elsewhere


def setup(app: Any) -> None:
    """Change pages while they are read; load late names now, since autodoc mocks packages only while it imports."""
    from sphinx.ext.autodoc.mock import mock

    with mock(autodoc_mock_imports):
        for module in map(import_module, MODULES):
            for name in getattr(module, "__all__", ()):
                getattr(module, name)
    app.connect("source-read", change_page)


def change_page(app: Any, page: str, source: list[str]) -> None:
    """Fill in what is generated, and let links that leave ``docs`` lead somewhere."""
    if page == "api":
        source[0] += api_reference()
    elif page == "commands":
        source[0] += help_of_commands()
    elif page in SHOWN_AS:
        source[0] = INSIDE.sub(seen_from_docs, (ROOT / SHOWN_AS[page]).read_text(encoding="utf-8"))
    elif page == "index":
        there = (line for line in source[0].splitlines(keepends=True) if line.strip() not in ABSENT)
        source[0] = "".join(there)
    source[0] = OUTSIDE.sub(lambda link: leads_to(page, link), source[0])


def seen_from_docs(link: re.Match[str]) -> str:
    """A link of a file at the top of the repository, as if the file were in ``docs``."""
    inside, target = link.groups()
    if inside and not (ROOT / "docs" / target).is_dir():
        return f"]({target})"
    return f"](../{inside or ''}{target})"


def leads_to(page: str, link: re.Match[str]) -> str:
    """A link to a file outside of ``docs``, as the site has it."""
    up, target, anchor = link.groups()
    levels = page.count("/") + 1
    if up.count("../") < levels:
        return link.group()  # it stays inside of docs
    if target in PAGES_OF:
        return f"]({'../' * (levels - 1)}{PAGES_OF[target]}{anchor or ''})"
    return f"]({REPOSITORY}/blob/main/{target}{anchor or ''})"


def api_reference() -> str:
    """Every public name with its docstring, by the room it lives in; then the documented modules."""
    homes: dict[str, list[str]] = {room: [] for room in ROOMS}
    for home, names in spoofspan._HOMES.items():
        homes[home.partition(".")[0]] += [name.rpartition(":")[2] for name in names.split()]
    text = []
    for room, names in homes.items():
        text += [f"## {ROOMS[room]}\n"] if names else []
        text += [described(name) for name in sorted(names)]
    for module, title in MODULES.items():
        text += [f"## {title}: `{module}`\n", directive("automodule", module)]
    return "\n" + "\n".join(text)


def described(name: str) -> str:
    """A public name with its docstring; values have none, so they are described by their kind."""
    value, path = getattr(spoofspan, name), f"spoofspan.{name}"
    if isinstance(value, type):
        return directive("autoexception" if issubclass(value, BaseException) else "autoclass", path)
    if isinstance(value, ModuleType):
        return f"```{{eval-rst}}\n.. py:data:: {path}\n\n   The module ``{value.__name__}``.\n```\n"
    if not callable(value):
        return f"```{{eval-rst}}\n.. py:data:: {path}\n\n   {VALUES.get(name, type(value).__name__)}\n```\n"
    return directive("autofunction", path)


def directive(name: str, target: str) -> str:
    """A directive of Sphinx inside of a Markdown page."""
    options = "\n   :members:" if name in ("autoclass", "automodule") else ""
    options += "\n   :imported-members:" if target in GATHERED else ""
    return f"```{{eval-rst}}\n.. {name}:: {target}{options}\n```\n"


def help_of_commands() -> str:
    """What ``--help-all`` prints, for each command."""
    from spoofspan.cli.commands import COMMANDS

    names = [
        [one.name, *part] for one in COMMANDS for part in ([], *([sub] for sub in getattr(one.load(), "commands", ())))
    ]
    return "\n" + "\n".join(f"## spoofspan {' '.join(name)}\n\n```text\n{help_of(name)}```\n" for name in names)


def help_of(command: list[str]) -> str:
    """What a command prints about itself."""
    from typer.testing import CliRunner

    from spoofspan.cli import app

    runner = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"})
    answers = (runner.invoke(app, [*command, flag]) for flag in ("--help-all", "--help"))  # groups have only the last
    return next(answer.stdout for answer in answers if not answer.exit_code)
