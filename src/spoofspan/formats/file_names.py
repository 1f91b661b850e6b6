"""Hops and resolutions that the names of files state, in seconds.

========================================  ==========================================
``unit0.02.score``                        partialspoof-metrics, in seconds
``logits_frame_20ms.txt``                 WeDefense and others, in milliseconds
``eval_score_ali_2_2023.pkl``             PartialSpoof's scores, in units of 10 ms
``eval_seglab_0.02.npy``                  PartialSpoof's segment labels, in seconds
========================================  ==========================================
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from spoofspan.base.errors import UsageError
from spoofspan.base.times import SECOND, duration_ns

SCORE_ALI_PER_SECOND = 100  # units of the number in the name of a score file of PartialSpoof
OFFICIAL_LABELS = re.compile(r"_seglab_(\d+(?:\.\d+)?)(?:[._]|$)", re.ASCII)
NAMES = {  # and the number of units in a second
    re.compile(r"unit(\d+\.?\d*)\.score", re.ASCII): 1,
    re.compile(r"_score_ali_(\d+)(?:[._]|$)", re.ASCII): SCORE_ALI_PER_SECOND,
    OFFICIAL_LABELS: 1,
    re.compile(r"_(\d+\.?\d*)ms\.\w+", re.ASCII): 1000,
}


def file_name(path: str) -> str:
    """The name of a file without its folder."""
    return PurePosixPath(path.replace("\\", "/")).name


def unpacked_name(name: str) -> str:
    """The name of a file without the ending of a packed one."""
    return name.removesuffix(".gz").removesuffix(".zst")


def is_official_labels(path: str) -> bool:
    """True if the name of a file is that of PartialSpoof's segment labels, where 0 means spoof."""
    return OFFICIAL_LABELS.search(file_name(path)) is not None


def resolution_in_name(path: str) -> float | None:
    """The resolution (seconds) that the name of a file states, if it does.

    >>> resolution_in_name("unit0.02.score"), resolution_in_name("eval_score_ali_16_2023.pkl"), resolution_in_name("a")
    (0.02, 0.16, None)
    """
    name = file_name(path)
    found = ((pattern.search(name), units) for pattern, units in NAMES.items())
    return next((float(match[1]) / units for match, units in found if match is not None), None) or None


def stated_resolution(path: str, hop: float | None) -> float:
    """The resolution (seconds) that a file name or ``hop`` states; both may, if they agree."""
    named = resolution_in_name(path)
    if hop is not None and named is not None and duration_ns(hop, "hop") != round(named * SECOND):
        raise UsageError(
            f"{path}: the file name states a resolution of {named:g} s, hop states {hop:g} s; drop hop= (--hop) or "
            "rename the file"
        )
    return checked_resolution(path, "file name", named if hop is None else hop)


def checked_resolution(path: str, where: str, hop: float | None) -> float:
    """The resolution (seconds) as it is known, or a refusal that names ``where`` it could have been stated."""
    if hop is None:
        raise UsageError(f"{path}: the {where} states no resolution; give it in seconds with hop= (--hop)")
    if duration_ns(hop, "hop") <= 0:
        raise UsageError("hop must be positive: the resolution in seconds")
    return hop
