"""Packages beyond the base installation: whether they are there, and how to get them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from spoofspan.base.errors import UsageError

INSTALL_CM = "pip install 'spoofspan[cm]'"


def require(*packages: str) -> None:
    """Refuse to go on without these packages of the countermeasure.

    >>> require("numpy")
    >>> require("torch_of_tomorrow")
    Traceback (most recent call last):
    spoofspan.base.errors.UsageError: this needs torch_of_tomorrow, which is not installed; pip install 'spoofspan[cm]'
    """
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise UsageError(f"this needs {', '.join(missing)}, which is not installed; {INSTALL_CM}")


def package(name: str) -> Any:
    """Import a package that spoofspan does not need itself."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise UsageError(f"{name} is not installed; pip install {name}") from None
