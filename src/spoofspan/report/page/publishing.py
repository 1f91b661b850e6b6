"""A page that can be published while the labels stay hidden: aggregate numbers only, with few digits.

An exact number says more than it seems to: from FPR and FNR at every threshold the label of each frame can be read, and
one submission whose scores are made for it reads labels off a loss with 16 digits. So no timelines are left, the curve
has few points, and every number is rounded as it is shown: rates to 0.01 %, times to 0.01 s. Costs of 1 and more have
four digits that count, since those before the point can hold labels as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spoofspan.measures.measure import in_percent, number_text
from spoofspan.report.page.rendering import packed, unpacked

RATE_DIGITS, SECONDS_DIGITS, P_DIGITS, THRESHOLD_DIGITS, DIGITS = 4, 2, 2, 4, 4
SECONDS = ("error", "spoof", "bona_fide")
P_VALUES = ("p", "adjusted", "p_value", "adjusted_p_value")


def without_labels(content: dict[str, Any]) -> dict[str, Any]:
    """Part of a page that may be published: no utterance, and no more digits than are shown."""
    plain: dict[str, Any] = few_digits(content)
    comparison = plain.get("comparison")
    if comparison and not in_percent(comparison["measure"]):
        comparison["verdict"] = ""  # states costs with digits before and after the point
    for system in plain["systems"]:
        curve = system["curve"]
        for name in ("false_positive_rates", "false_negative_rates"):
            curve[name] = packed(np.round(unpacked(curve[name]), RATE_DIGITS).astype(np.float32))
        for m in system["measurements"]:
            words, space, threshold = m["decision"].rpartition(" ")
            if space and isinstance(m["threshold"], float):
                m["decision"] = f"{words} {float(threshold):.{THRESHOLD_DIGITS}g}"
                m["threshold"] = float(f"{m['threshold']:.{THRESHOLD_DIGITS}g}")
            _shorten(m)
    return plain | {"timelines": [], "labels": False}


def _shorten(m: dict[str, Any]) -> None:
    """Show no more digits of a measurement than its rounded numbers have."""
    unit = " %" if in_percent(m["measure"]) else ""
    if isinstance(m["number"], float) and abs(m["number"]) >= 1:
        m["value"] = f"{number_text(m['measure'], m['number'])}{unit}"
    if m["ends"] and any(isinstance(end, float) and abs(end) >= 1 for end in m["ends"]):
        m["interval"] = " to ".join(number_text(m["measure"], float(end)) for end in m["ends"])


def few_digits(value: Any, name: str = "") -> Any:
    """Round every number of plain data by its name, as it is shown."""
    if isinstance(value, dict):
        return {key: few_digits(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [few_digits(item, name) for item in value]
    if not isinstance(value, float) or name == "threshold":
        return value
    if name in P_VALUES:
        return float(f"{value:.{P_DIGITS}g}")
    if name in SECONDS:
        return round(value, SECONDS_DIGITS)
    return round(value, RATE_DIGITS) if abs(value) < 1 else float(f"{value:.{DIGITS}g}")
