"""What holds for every test and example: one terminal for all, and none that needs a package which is not installed."""

import os
import re
from importlib.util import find_spec
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).parent
NEEDS = {
    "src/spoofspan/integrations/frame_labels.py": ("torch",),
    "src/spoofspan/integrations/torch.py": ("torch", "torchmetrics"),
    "src/spoofspan/integrations/lightning.py": ("torch", "torchmetrics", "lightning"),
    "src/spoofspan/integrations/dask.py": ("dask", "distributed"),
    "src/spoofspan/integrations/pyannote.py": ("pyannote", "pyannote.core"),
    "src/spoofspan/integrations/hf_evaluate.py": ("datasets", "evaluate"),
    "src/spoofspan/integrations/versa.py": ("versa", "versa.definition", "torch"),
    "docs/make_pictures.py": ("playwright",),
}
# Typer and Rich look at these when they are imported; so they are set before any test is.
TERMINAL = {"COLUMNS": "80", "LINES": "24", "TERM": "xterm-256color"}
UNSET = """
    CLICOLOR CLICOLOR_FORCE COLORTERM FORCE_COLOR GITHUB_ACTIONS JUPYTER_COLUMNS JUPYTER_LINES NO_COLOR PY_COLORS
    TERMINAL_WIDTH TTY_COMPATIBLE TTY_INTERACTIVE
"""
os.environ.update(TERMINAL)
for name in UNSET.split():
    os.environ.pop(name, None)


def installed(package: str) -> bool:
    """Whether a package, or a part of one, can be imported."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


def imports_missing_package(test: Path) -> bool:
    """Whether a file of tests imports, without asking, a package for tests that is not installed."""
    imported = re.findall(r"^(?:import|from) (jsonschema|matplotlib|pandas|sklearn)\b", test.read_text("utf-8"), re.M)
    return not all(map(installed, imported))


collect_ignore = [file for file, packages in NEEDS.items() if not all(map(installed, packages))]
collect_ignore += [str(test) for test in (ROOT / "tests").rglob("test_*.py") if imports_missing_package(test)]
if not all(map(installed, ("torch", "transformers", "safetensors"))):
    modules = {one: one.read_text(encoding="utf-8") for one in (ROOT / "src" / "spoofspan" / "cm").glob("*.py")}
    needing = {one for one, text in modules.items() if "torch" in text}
    while more := {  # and what imports one of these
        one
        for one, text in modules.items()
        if one not in needing and any(f"spoofspan.cm.{other.stem} import" in text for other in needing)
    }:
        needing |= more
    collect_ignore += map(str, needing)


# Examples in docstrings that `pytest -m quick` runs, and those that are left to `.ci/run slow`.
QUICK_PACKAGES = ("base", "data", "mass", "measures", "evaluation", "uncertainty")
SLOW_PACKAGES = ("cm", "integrations")
SOURCE = ROOT / "src" / "spoofspan"
# As many examples as a property gets, where its test does not say so itself. A busy machine is no failure.
for profile, examples in {"few": 10, "many": 50}.items():  # many: .ci/run slow
    hypothesis.settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        derandomize="CI" in os.environ,  # the same examples for the same code, as Hypothesis does there by itself
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("few")


def pytest_report_header() -> str:
    """Name what is not collected."""
    names = sorted(Path(file).relative_to(ROOT) if Path(file).is_absolute() else Path(file) for file in collect_ignore)
    return "not collected, since a package is missing: " + (", ".join(map(str, names)) or "nothing")


def is_quick(path: Path) -> bool:
    """Whether a module's examples are quick, or a file of tests says that it is."""
    if SOURCE in path.parents:
        return path.relative_to(SOURCE).parts[0] in QUICK_PACKAGES
    return path.name.startswith("test_") and "pytest.mark.quick" in path.read_text(encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Leave out the slow tests unless a file or `-m` says what to run."""
    if config.option.markexpr == "quick":
        config.option.markexpr = "quick and not slow and not not_quick"
    elif config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.markexpr:
        config.option.markexpr = "not slow"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import what is not quick: that takes as long as the quick tests, and needs packages."""
    only_quick = config.option.markexpr.startswith("quick")
    return True if only_quick and collection_path.is_file() and not is_quick(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark examples by their package, and single cases of a test by its marks."""
    for item in items:
        if SOURCE in item.path.parents:
            package = item.path.relative_to(SOURCE).parts[0]
            if package in QUICK_PACKAGES:
                item.add_marker("quick")
            if package in SLOW_PACKAGES:
                item.add_marker("slow")
        case = item.name.partition("[")[2].removesuffix("]")
        slow, quick = item.get_closest_marker("slow_cases"), item.get_closest_marker("quick_cases")
        if slow is not None and any(re.search(one, case) for one in slow.args):
            item.add_marker("slow")
        if quick is not None and case not in quick.args:
            item.add_marker("not_quick")
