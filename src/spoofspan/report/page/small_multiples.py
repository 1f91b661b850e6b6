"""Small charts of all systems by attack, length, distance from a boundary, resolution and metadata, as plain data.

Each has a row for a condition and in it a dot for the EER of each system (``assets/multiples.js`` draws them). What the
tables say is said here once more for the eye, with what chooses the utterances behind a row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from spoofspan.evaluation.breakdown import LENGTHS
from spoofspan.evaluation.selections import bins
from spoofspan.report.page.page_table import Plain

TITLES = {"length": "length of the spoofed range", "boundary": "distance from the nearest boundary"}
MOST_ROWS = 16  # of a chart: those with the most error of the system that the page opens on


def title_of(by: str) -> str:
    """The name of a breakdown as it is read."""
    return TITLES.get(by, by)


def small_multiples(content: Mapping[str, Any]) -> list[Plain]:
    """Every chart that has at least two rows."""
    systems = content["systems"]
    places = range(len(systems[0]["breakdowns"]))
    charts = [_of_breakdown(systems, place, content["opens_on"], content["columns"]) for place in places]
    if content["in_time"]:
        charts.append(_of_resolutions(systems))
    return [one for one in charts if len(one["rows"]) > 1 and any(_numbers(one))]


def _numbers(chart: Plain) -> Iterator[float]:
    return (value for row in chart["rows"] for value in row["values"] if isinstance(value, float))


def _of_breakdown(systems: Sequence[Mapping[str, Any]], place: int, best: int, columns: Collection[str]) -> Plain:
    first = systems[best]["breakdowns"][place]
    by = first["by"]
    groups = [{group["name"]: group for group in system["breakdowns"][place]["groups"]} for system in systems]
    most = sorted(first["groups"], key=lambda group: -group["error"])[:MOST_ROWS]
    rows = [
        {
            "name": group["name"].replace("within", "beyond") if by == "boundary" else group["name"],
            "values": [one[group["name"]]["value"] if group["name"] in one else None for one in groups],
            # the share of the error near a boundary is not that of the time beyond it
            "shares": None
            if by == "boundary"
            else [one[group["name"]]["share"] if group["name"] in one else None for one in groups],
            "where": _where(by, group["name"], columns),
        }
        for group in first["groups"]
        if group in most
    ]
    left_out = first["left_out"] + len(first["groups"]) - len(rows)
    about = "of the time beyond the distance" if by == "boundary" else ""
    return {"title": f"By {title_of(by)}", "about": about, "rows": rows, "left_out": left_out}


def _where(by: str, name: str, columns: Collection[str]) -> Plain | None:
    """Condition that selects the utterances of a row: an attack, a length in seconds, or a value of a column."""
    if by == "attack" and by not in columns:
        return {"attack": name}
    if by == "length":
        low, high = bins(LENGTHS)[name]
        return {"from": low / 1e9, "to": high / 1e9}
    return None if by == "boundary" else {"column": by, "value": name}


def _of_resolutions(systems: Sequence[Mapping[str, Any]]) -> Plain:
    """The range EER and the EER in points of each resolution; one coarser than the hop is an easier task."""
    values = {"range": [system["measurements"][0]["number"] for system in systems]}
    for place, cell in enumerate(systems[0]["resolutions"]["cells"]):
        name = f"{cell['resolution'].removesuffix('ms')} ms"
        values[name] = [system["resolutions"]["cells"][place]["value"] for system in systems]
    rows = [{"name": name, "values": row, "shares": None, "where": None} for name, row in values.items()]
    about = "coarser than a system's hop: an easier task, not a better system"
    return {"title": "By resolution", "about": about, "rows": rows, "left_out": 0}
