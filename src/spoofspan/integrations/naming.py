"""Names of numbers that every logger takes: letters, digits and underscores."""

from __future__ import annotations

import re


def flat_name(measure: str) -> str:
    """Spell a measure as a plain word.

    >>> flat_name("point-eer@20ms"), flat_name("range-fnr@fpr=0.01")
    ('point_eer_20ms', 'range_fnr_fpr_0_01')
    """
    return re.sub(r"[^0-9A-Za-z]+", "_", measure).strip("_")
