"""Modules of neighbours that are not installed have no examples to run."""

from importlib.util import find_spec

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
