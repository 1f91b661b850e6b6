"""The first paragraph of a page: the verdict of the comparison, then the conditions with the most error.

Made of the plain data of :mod:`spoofspan.report.page.content`, so that a page without labels tells no more here than in
its tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spoofspan.measures.measure import short_measure

LARGE = 1.5  # a condition is named if it has so many times the error that its share of the spoof would make
LEAST_SHARE = 0.01  # of all spoof that a condition has, to be named
LEAST_GROUPS = 2
Groups = Sequence[Mapping[str, Any]]


def story(content: Mapping[str, Any]) -> list[str]:
    """The sentences of the first paragraph; the verdict is the first one."""
    best = content["systems"][content["opens_on"]]
    comparison = content["comparison"]
    verdict = _alone(best) if comparison is None or not comparison["verdict"] else _upper(comparison["verdict"])
    by = {one["by"]: one["groups"] for one in best["breakdowns"]}
    found = [_attack(by.get("attack", ()))]
    if content["in_time"]:
        found += [_lengths(by.get("length", ())), _boundary(by.get("boundary", ()))]
    errors = "; ".join(filter(None, found))
    return [verdict, *([f"Errors of {best['name']}: {errors}."] if errors else [])]


def _alone(system: Mapping[str, Any]) -> str:
    """The value of a single system."""
    m = system["measurements"][0]
    between = "" if not m["interval"] else f" ({100 * m['level']:g} % interval {m['interval']})"
    return f"{system['name']} has a {short_measure(m['measure'])} of {m['value']}{between}."


def _upper(text: str) -> str:
    """A verdict as a sentence begins; names of systems keep their spelling."""
    return text[:1].upper() + text[1:] if text.startswith("no two ") else text


def _attack(groups: Groups) -> str:
    """The attack with the most missed spoof, if it has more than its share."""
    spoofed, errors, spoof = _with_spoof(groups)
    if len(spoofed) < LEAST_GROUPS or not errors:
        return ""
    worst = max(spoofed, key=lambda one: float(one["error"]))
    share, own = worst["error"] / errors, worst["spoof"] / spoof
    if share < LARGE * own:
        return ""
    return f"{_percent(share)} of the missed spoof is {worst['name']} ({_percent(own)} of all spoof)"


def _lengths(groups: Groups) -> str:
    """The lengths of spoofed ranges that are missed most often."""
    spoofed, errors, spoof = _with_spoof(groups)
    if len(spoofed) < LEAST_GROUPS or not errors:
        return ""
    known = [one for one in spoofed if one["spoof"] >= LEAST_SHARE * spoof]
    worst = max(known, key=lambda one: float(one["error"] / one["spoof"]))
    rate = worst["error"] / worst["spoof"]
    if rate < LARGE * errors / spoof:
        return ""
    length = worst["name"].replace("under", "shorter than")
    return (
        f"{_percent(rate)} of the time in spoofed ranges {length} is missed ({_percent(errors / spoof)} of all spoof)"
    )


def _boundary(groups: Groups) -> str:
    """The least distance from a boundary within which half of the error lies."""
    for one in groups:
        if isinstance(one["share"], float) and one["share"] >= 0.5:
            return f"{_percent(one['share'])} of the error lies {one['name']} of a boundary"
    return ""


def _with_spoof(groups: Groups) -> tuple[Groups, float, float]:
    """The groups that have spoof, their missed spoof and all their spoof."""
    some = [one for one in groups if one["spoof"] > 0]
    return some, sum(one["error"] for one in some), sum(one["spoof"] for one in some)


def _percent(share: float) -> str:
    """A share without digits after the point, as a sentence has it."""
    return f"{100 * share:.0f} %"
