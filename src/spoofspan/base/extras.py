"""Packages beyond the base installation: whether they are there, and how to get them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from typing import Any

from spoofspan.base.errors import UsageError

INSTALL_CM, INSTALL_TABLES = "pip install 'spoofspan[cm]'", "pip install 'spoofspan[tables]'"
# Two threads that import parts of one package each wait for what the other one holds, and Python then hands out modules
# that are half imported: whatever imports in passing takes this lock.
one_import = RLock()


def require(*packages: str) -> None:
    """Refuse to go on without these packages of the countermeasure.

    >>> require("numpy")
    >>> require("torch_of_tomorrow")
    Traceback (most recent call last):
    spoofspan.base.errors.UsageError: torch_of_tomorrow is not installed; run: pip install 'spoofspan[cm]'
    """
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        named = " and ".join([", ".join(missing[:-1]), missing[-1]] if missing[1:] else missing)
        raise UsageError(f"{named} {'are' if missing[1:] else 'is'} not installed; run: {INSTALL_CM}")


def package(name: str, remedy: str | None = None) -> Any:
    """Import a package that spoofspan does not need itself, or a part of one.

    >>> package("torch_of_tomorrow")
    Traceback (most recent call last):
    spoofspan.base.errors.UsageError: torch_of_tomorrow is not installed; pip install torch_of_tomorrow
    """
    try:
        with one_import:
            return import_module(name)
    except ModuleNotFoundError:
        raise UsageError(f"{name} is not installed; {remedy or f'pip install {name}'}") from None
