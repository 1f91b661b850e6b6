"""The rules under which an EER is read off the curve: what they are called, and how they are spelled."""

from __future__ import annotations

import re
from collections.abc import Mapping

from spoofspan.base.errors import UsageError
from spoofspan.base.numbers import is_number, shortest_text

# What each rule does, for people; a bucketed one has its numbers in brackets.
EER_RULES: Mapping[str, str] = {
    "nearest": "The mean of FPR and FNR at the threshold of least |FPR - FNR|; the lowest such threshold.",
    "interpolated": "Where the line between the two neighbouring operating points meets FPR = FNR.",
    "convex-hull": "Where the lower convex hull of all operating points meets FPR = FNR (ROCCH).",
    "bucketed": "Scores are quantised to n buckets between lo and hi first, as some tools do: bucketed(lo,hi,n).",
}
# Rules that need no more of the curve than the two points next to the crossing.
NEIGHBOUR_RULES = ("nearest", "interpolated")
_PLAIN = tuple(name for name in EER_RULES if name != "bucketed")
BUCKETED = re.compile(r"bucketed\((?:2max|([^,()]+),([^,()]+)),(\d{1,15})\)")  # doubles count so many buckets


def check_eer_rule(rule: str) -> str:
    """Return the canonical spelling of an EER rule.

    >>> check_eer_rule("bucketed(-2.0, 2e0, 10000)")
    'bucketed(-2,2,10000)'
    """
    spelled = str(rule).replace(" ", "")
    if spelled in _PLAIN:
        return spelled
    match = BUCKETED.fullmatch(spelled)
    if match is None or not all(map(is_number, match.groups("0"))):
        raise UsageError(f"eer_rule={rule!r}: valid: {', '.join(_PLAIN)}, bucketed(lo,hi,n), bucketed(2max,n)")
    edges = "2max" if match[1] is None else ",".join(shortest_text(float(edge)) for edge in match.groups()[:2])
    return f"bucketed({edges},{int(match[3])})"
