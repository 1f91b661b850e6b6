"""The layout of the package: packages that explain themselves, modules of one idea, public names that are all there."""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest

import spoofspan as ss

pytestmark = pytest.mark.quick

PACKAGE = Path(ss.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
PACKAGES = sorted(init.parent for init in PACKAGE.glob("*/__init__.py"))
LATE = ("torch", "matplotlib", "dask", "pandas", "scipy", "pyarrow")
# Modules of one name mean one thing. In cli, each is the command of that name.
SAME_NAME = {
    "calibration": "maps of scores to log-likelihood ratios, and how they are learned",
    "events": "what is measured of events, its evaluation, and the documented path to the first",
    "proposals": "the data, and the files it is read from",
    "protocol": "the data, and the files it is read from",
    "results": "what was found, as tables: by an evaluation, by an experiment",
    "sound": "recordings: read from files, played on the page",
    "utterance_scores": "the data, and the files it is read from",
    "utterances": "one decision per utterance: its mass, its evaluation",
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def name_of(module: Path) -> str:
    return module.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_package_says_what_it_holds(package):
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
    assert docstring
    assert len(docstring.split()) >= 15, f"{package.name}: {docstring!r} does not describe its contents"


def test_no_module_gives_one_name_to_two_things():
    """A second assignment replaces the first without a word, which the linter does not notice for constants."""
    twice = []
    for module in MODULES:
        seen = set()
        for statement in ast.parse(module.read_text(encoding="utf-8")).body:
            names = [statement.name] if isinstance(statement, DOCUMENTED) else []
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                nodes = [node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
                names = [node.id for node in nodes if isinstance(node.ctx, ast.Store)]
            twice += [f"{name_of(module)}:{statement.lineno} {name}" for name in names if name in seen]
            seen.update(names)
    assert twice == []


def test_a_module_name_means_one_thing():
    places = defaultdict(list)
    for module in MODULES:
        if module.stem != "__init__" and module.parent.name != "cli":
            places[module.stem].append(name_of(module))
    twice = {name: found for name, found in places.items() if len(found) > 1 and name not in SAME_NAME}
    assert twice == {}


# Where modules are for users, and nothing inside needs to import them: commands, adapters, programs that bundles hold.
ENTRANCES = ("cli/", "integrations/", "challenge/assets/", "reference.py", "events.py", "groups.py", "__main__.py")


def test_every_module_is_used():
    """A module that nothing imports is an entrance, or was left behind by a merge."""
    source = "\n".join(module.read_text(encoding="utf-8") for module in MODULES)
    left = []
    for module in MODULES:
        package, name = ".".join(["spoofspan", *module.relative_to(PACKAGE).parent.parts]), module.stem
        imported = rf"from {package} import (\([^)]*|[^\n]*)\b{name}\b"
        named_in_catalogue = rf'"[\w.]*\b{name}:'
        if not (
            name == "__init__"
            or f"{package}.{name}" in source
            or re.search(imported, source)
            or re.search(named_in_catalogue, source)
        ):
            left.append(name_of(module))
    assert [one for one in left if not one.startswith(ENTRANCES)] == []


def test_the_public_names_are_listed_and_found():
    assert sorted(dir(ss)) == sorted(ss.__all__)
    assert len(set(ss.__all__)) == len(ss.__all__)
    for name in ss.__all__:
        assert getattr(ss, name) is not None


def test_type_checkers_see_the_names_that_users_get():
    tree = ast.parse(Path(ss.__file__).read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    seen = {}
    for node in (node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)):
        seen |= {alias.asname or alias.name: getattr(import_module(node.module), alias.name) for alias in node.names}
    assert sorted(seen) == sorted(ss.__all__)
    for name, value in seen.items():
        assert getattr(ss, name) is value, name


@pytest.mark.parametrize("name", [name for name in ss.__all__ if callable(getattr(ss, name))])
def test_a_public_name_is_documented(name):
    value = getattr(ss, name)
    docstring = inspect.getdoc(value)
    assert docstring
    if inspect.isfunction(value) and inspect.signature(value).parameters:
        assert "\nParameters\n----------\n" in docstring, f"{name} does not describe its parameters"


def test_importing_the_package_imports_nothing_large():
    program = f"import spoofspan, sys; print([name for name in {LATE} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def output_of(arguments, **environment):
    """What a command prints where the terminal is set up like this."""
    command = [sys.executable, "-c", "from spoofspan.cli import main; main()", *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, check=True, env={**os.environ, **environment})
    return run.stdout.decode("utf-8")


def test_explain_needs_no_numpy():
    code = "import sys; sys.modules['numpy'] = None; from spoofspan.cli import main; main()"
    for subject in ("range-eer", "rules", "conventions", "measures", "bucketed", "false acceptance"):
        subprocess.run([sys.executable, "-c", code, "explain", subject], capture_output=True, check=True)


def test_actions_of_the_workflows_are_pinned_to_commits():
    used = [
        line.partition("uses:")[2].split()
        for path in (Path(__file__).parents[1] / ".github" / "workflows").glob("*.yml")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    assert len(used) >= 10
    for action, *comment in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)
        assert re.fullmatch(r"# v\d+\.\d+\.\d+", " ".join(comment))


TERMINALS = [{"COLUMNS": "40"}, {"COLUMNS": "300", "FORCE_COLOR": "1"}, {"TERM": "dumb", "NO_COLOR": "1"}]


@pytest.mark.not_quick
@pytest.mark.slow
def test_results_do_not_depend_on_the_terminal(files):
    texts = [output_of(files, **terminal) for terminal in TERMINALS]
    assert texts[0] == texts[1] == texts[2]
    assert "range-eer" in texts[0]
    assert "\x1b" not in texts[0]
    numbers = [json.loads(output_of([*files, "--format", "json"], **terminal)) for terminal in TERMINALS[:2]]
    assert numbers[0] == numbers[1]


@pytest.mark.not_quick
@pytest.mark.slow
def test_the_demo_says_the_same_in_lines_of_any_length():
    narrow, wide = (output_of(["demo"], COLUMNS=columns).split() for columns in ("40", "300"))
    assert narrow == wide
