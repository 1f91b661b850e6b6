"""Examples in docstrings of modules that need an extra are left out where it is not installed."""

from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent
NEEDS = {
    "torch": ("torch", "torchmetrics"),
    "dask": ("dask", "distributed"),
    "pyannote": ("pyannote", "pyannote.core"),
    "hf_evaluate": ("datasets", "evaluate"),
}


def installed(package: str) -> bool:
    """Whether a package, or a part of one, can be imported."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


collect_ignore = [
    f"src/spoofspan/integrations/{module}.py" for module, packages in NEEDS.items() if not all(map(installed, packages))
]
if not all(map(installed, ("torch", "transformers", "safetensors"))):
    modules = (ROOT / "src" / "spoofspan" / "cm").glob("*.py")
    collect_ignore += [str(one) for one in modules if "torch" in one.read_text(encoding="utf-8")]
