"""The pages: every link leads somewhere, every command and block of Python runs or says why not, excerpts are honest.

``>>>`` examples are run by pytest itself. A block of another kind is run here, page by page, in a folder with the files
that the page speaks of, unless the line before it says ``<!-- not run: why -->``; ``<!-- slow: why -->`` leaves it to
``.ci/run slow``. A block of text that follows a command shows the whole of what it prints; ``...`` on a line of its own
is what was cut.
"""

import ast
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from utterance_corpora import REAL

import spoofspan as ss
import spoofspan.demo
from spoofspan.cli import app
from spoofspan.cli.commands import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "examples/*.md", "tests/**/*.md", "tools/**/*.md")
    for page in ROOT.glob(pattern)
)
FENCE = r"^ *```.*?^ *```"


def anchors(page: Path) -> set[str]:
    """What a link into a page may name: its headings, as GitHub spells them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.S | re.M), re.M)
    plain = (re.sub(r"[^\w\- ]", "", heading.strip().lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.S | re.M)
    links = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text))
    dead = []
    for link in links:
        if re.match(r"\w+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target) if target else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            dead.append(link)
    assert dead == []


# ---------------------------------------------------------------- blocks


@dataclass(frozen=True)
class Block:
    """A fenced block that a person would copy, and the text that follows it as what it prints."""

    page: Path
    line: int
    language: str
    text: str
    mark: str  # "", "not run" or "slow"
    why: str
    printed: str | None

    @property
    def commands(self) -> list[list[str]]:
        """The commands of a shell block, one list of words each."""
        whole = re.sub(r"[<>]\([^)]*\)", "PIPE", re.sub(r"\\\n", " ", self.text))
        lines = re.sub(r" < \S+$", "", whole, flags=re.M).splitlines()
        return [words for line in lines if (words := shlex.split(line, comments=True))]


BLOCK = re.compile(
    r"(?:^ *<!-- (?P<mark>not run|slow): (?P<why>[^\n]*?) -->\n)?"
    r"^ *```(?P<language>sh|bat|python)\n(?P<text>.*?)^ *```\n"
    r"(?:\n+```text\n(?P<printed>.*?)^```)?",
    re.S | re.M,
)


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page that somebody has to run; doctest runs those with a prompt."""
    text = page.read_text("utf-8")
    found = []
    for match in BLOCK.finditer(text):
        if ">>>" not in match["text"]:
            mark, why = match["mark"] or "", match["why"] or ""
            line = text[: match.start("language")].count("\n") + 1
            found.append(Block(page, line, match["language"], match["text"], mark, why, match["printed"]))
    return found


READ = [page for page in PAGES if page.name == "README.md" or page.parent == ROOT / "docs"]
READ = [page for page in READ if page.parent in (ROOT, ROOT / "docs")]
BLOCKS = [block for page in READ for block in blocks_of(page)]
RUN = [page for page in READ if any(block.mark == "" for block in blocks_of(page))]
SLOW = [page for page in READ if any(block.mark == "slow" for block in blocks_of(page))]


def test_the_pages_have_blocks_to_run():
    assert len(BLOCKS) > 30
    assert len(RUN) > 6


def test_a_block_that_is_not_run_says_why():
    silent = [f"{block.page.name}:{block.line}" for block in BLOCKS if block.mark and len(block.why.split()) < 3]
    assert silent == []


# ---------------------------------------------------------------- the files that pages speak of


@pytest.fixture(scope="module")
def demo_files(tmp_path_factory):
    """The folder that ``demo --out`` writes: every command of a page runs in it."""
    folder = tmp_path_factory.mktemp("demo")
    spoofspan.demo.export(spoofspan.demo.load(), folder, force=True)
    return folder


# ---------------------------------------------------------------- running


def run(folder: Path, words: list[str]) -> str:
    """Run one command in a folder; what it prints."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(app, words[1:])
    finally:
        os.chdir(before)
    assert result.exit_code == 0, f"{shlex.join(words)}: {result.output}{result.exception!r}"
    return result.stdout


def run_block(block: Block, folder: Path) -> Path:
    """Run a block; the folder in which the next one begins."""
    where = f"{block.page.name}:{block.line}"
    if block.language == "python":
        before = Path.cwd()
        os.chdir(folder)
        try:
            exec(compile(block.text, where, "exec"), {"__name__": "__main__"})
        finally:
            os.chdir(before)
        return folder
    printed = ""
    for words in block.commands:
        if words[0] == "cd":
            folder = folder / words[1]
        else:
            assert words[0] == "spoofspan", f"{where}: {words[0]} is not run here; say why, in <!-- not run: ... -->"
            printed = run(folder, words)
    if block.printed is not None:
        assert shows(block.printed, printed), f"{where} shows something else than\n{printed}"
    return folder


def shows(excerpt: str, printed: str) -> bool:
    """Whether an excerpt is what was printed, but for lines of dots that stand for any lines.

    >>> shows("a\\n...\\nd\\n", "a\\nb\\nc\\nd\\n"), shows("a\\n", "a\\nb\\n")
    (True, False)
    """
    lines = [line.rstrip() for line in excerpt.strip("\n").splitlines()]
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line) + r"\n" for line in lines)
    whole = "".join(line.rstrip() + "\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, whole) is not None


def run_page(page: Path, request: pytest.FixtureRequest, folder: Path, *, slow: bool) -> None:
    source = request.getfixturevalue("demo_files")
    for path in source.rglob("*"):  # files are only read: a link will do
        if path.is_file():
            (folder / path.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
            (folder / path.relative_to(source)).hardlink_to(path)
    for block in blocks_of(page):
        if block.mark == "" or (slow and block.mark == "slow"):
            folder = run_block(block, folder)


@pytest.mark.slow_cases("^costs.md$")
@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_the_commands_of_a_page_run(page, request, tmp_path):
    run_page(page, request, tmp_path, slow=False)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
@pytest.mark.parametrize("page", SLOW, ids=lambda page: page.name)
def test_the_slow_commands_of_a_page_run(page, request, tmp_path):
    run_page(page, request, tmp_path, slow=True)


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason="there are no real scores; SPOOFSPAN_REAL_SCORES names their folder")
@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_the_commands_on_real_scores_print_what_their_page_shows(tmp_path):
    for path in REAL.iterdir():
        (tmp_path / path.name).symlink_to(path)
    blocks = blocks_of(ROOT / "docs" / "real-systems.md")
    assert len(blocks) == 5
    for block in blocks:
        run_block(block, tmp_path)
    assert all((tmp_path / name).stat().st_size > 10_000 for name in ("report.html", "det.pdf", "python.html"))


# ---------------------------------------------------------------- commands that are only named

PLACEHOLDERS = ("...", "…")


def inline_commands(page: Path) -> list[list[str]]:
    """Commands inside of sentences."""
    prose = re.sub(FENCE, "", page.read_text("utf-8"), flags=re.S | re.M)
    return [shlex.split(re.sub(r"\s+", " ", command)) for command in re.findall(r"`(spoofspan [^`]+)`", prose)]


def mistake_in(words: list[str]) -> str:
    """Parse a command without running it; a part that is missing is no mistake in a sentence."""
    command, name = app, words[0]
    context, rest = None, [word for word in words[1:] if word not in PLACEHOLDERS]
    try:
        while hasattr(command, "resolve_command"):  # a group
            if not rest or rest[0].startswith("-"):
                return ""
            context = command.make_context(name, list(rest), parent=context, resilient_parsing=True)
            name, command, rest = command.resolve_command(context, rest)
        command.make_context(name, list(rest), parent=context)
    except (click.ClickException, click.exceptions.Exit) as error:
        message = str(getattr(error, "message", error))
        placeholder = any(f"'{word}'" in message for word in words if word.isupper())
        if type(error).__name__ not in ("MissingParameter", "Exit") and not placeholder:
            return f"{shlex.join(words)}: {message}"
    return ""


@pytest.mark.parametrize("page", READ, ids=lambda page: page.name)
def test_commands_that_are_only_named_have_the_options_they_are_given(page):
    named = inline_commands(page)
    named += [words for block in blocks_of(page) if block.mark == "not run" for words in block.commands]
    assert [wrong for words in named if words[0] == "spoofspan" and (wrong := mistake_in(words))] == []


# ---------------------------------------------------------------- the site


def script_of_the_site(name):
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        spec = spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
        module = module_from_spec(spec)
        sys.modules[name] = module  # its dataclasses look themselves up
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(ROOT / "docs"))


def test_the_site_has_every_public_name_and_every_command(tmp_path):
    pages = script_of_the_site("reference_pages")
    pages.write_pages(tmp_path)
    reference = "".join(path.read_text("utf-8") for path in (tmp_path / "api").glob("*.rst"))
    assert [name for name in ss.__all__ if f":: spoofspan.{name}\n" not in reference] == []
    for command in [*(one.name for one in COMMANDS), "corpus-build"]:
        page = (tmp_path / "commands" / f"{command}.rst").read_text("utf-8")
        assert f"\nspoofspan {command.replace('-', ' ')}\n=" in page.replace("diff-references", "diff references")
        assert "\n.. code-block:: text\n\n   Usage: " in page


def test_the_lists_of_the_clone_have_every_public_name_and_every_command():
    pages = script_of_the_site("reference_pages")
    api, commands = ((ROOT / "docs" / name).read_text("utf-8") for name in ("api.md", "commands.md"))
    assert [name for page in pages.NAMES for name in page.listed if f"| `ss.{name}` | " not in api] == []
    named = [" ".join(name) for one in COMMANDS for name, _ in pages.parts_of(one)]
    assert [name for name in named if f"| `spoofspan {name}` | " not in commands] == []


def test_every_page_is_in_the_sidebar_or_linked_from_a_page_that_is():
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    names = [path.with_suffix("").as_posix() for path in pages if path.name != "index.md"]
    listed = re.findall(r"^[a-z][\w-]*$", (ROOT / "docs" / "index.md").read_text("utf-8"), re.M)
    assert len(listed) <= 20
    linked = {
        name
        for page in ("index", "development")
        for name in re.findall(r"\]\(([\w/-]+)\.md", (ROOT / "docs" / f"{page}.md").read_text("utf-8"))
    }
    assert [name for name in names if name not in listed and name not in linked] == []
    conf = script_of_the_site("conf")
    aside = {name for name in names if any(fnmatch(name, one) for one in conf.ASIDE)}
    assert aside == set(names) - set(listed)
    for moved, target in conf.MOVED.items():
        page, _, anchor = target.partition("#")
        assert moved not in names
        assert anchor in anchors(ROOT / "docs" / page.replace(".html", ".md"))


# ---------------------------------------------------------------- error messages


def test_the_messages_of_the_index_are_those_of_the_package():
    said = []
    for module in sorted(Path(ss.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                said.append(node.value)
    rows = re.findall(r"^\| `([^`]+)`", (ROOT / "docs" / "recipes.md").read_text("utf-8"), re.M)
    assert len(rows) > 15
    assert [row for row in rows if not any(row in text for text in said)] == []


def test_docstrings_begin_with_a_noun_phrase_or_an_imperative():
    subprocess.run([sys.executable, ROOT / "tools" / "relative_docstrings.py"], check=True)
