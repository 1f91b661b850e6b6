"""Calibrations as small JSON files."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

from spoofspan.data.calibration import Calibration
from spoofspan.data.miss_bound import MissBound
from spoofspan.formats.sources import Where, sources
from spoofspan.formats.text.json_text import json_document
from spoofspan.formats.writing import write_atomically


def read_calibration(where: Where) -> Calibration:
    """Read a calibration that :func:`write_calibration`, ``spoofspan calibrate`` or ``spoofspan fuse`` wrote.

    Parameters
    ----------
    where
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from spoofspan.data.calibration import AffineMap
    >>> calibration = Calibration(AffineMap((2.0,), -1.0), ("a",), ("bonafide",), "time")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_calibration(calibration, f"{folder}/a.json")
    ...     read_calibration(f"{folder}/a.json") == calibration
    True

    """
    return Calibration.from_dict(*_document(where, "what spoofspan calibrate and spoofspan fuse write"))


def read_miss_bound(where: Where) -> MissBound:
    """Read a threshold with a promise that ``spoofspan calibrate --miss-rate`` wrote."""
    return MissBound.from_dict(*_document(where, "what spoofspan calibrate --miss-rate writes"))


def _document(where: Where, what: str) -> tuple[Any, str]:
    source = sources(where)[0]
    return json_document(source, what, parse_int=None), source.name


def write_calibration(
    calibration: Calibration | MissBound, target: str | PathLike[str], *, force: bool = False
) -> None:
    """Write a calibration as JSON, whole or not at all.

    Parameters
    ----------
    calibration
        What :func:`spoofspan.calibrate`, :func:`spoofspan.fuse` or :func:`.bound_misses` learned.
    target
        The file.
    force
        Replace an existing file.

    """
    text = json.dumps(calibration.to_dict(), indent=1, ensure_ascii=False)
    write_atomically(str(target), [f"{text}\n".encode()], force)
