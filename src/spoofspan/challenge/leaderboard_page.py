"""The leaderboard as a page: one file, made of the parts of :mod:`spoofspan.report.page`.

It has the numbers of the leaderboard, rounded as they are shown, and nothing else of the labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from spoofspan.base.version import __version__
from spoofspan.challenge.leaderboard import Leaderboard
from spoofspan.measures.measure import Measure, in_percent
from spoofspan.report.names import measure_name
from spoofspan.report.page.content import comparison_content
from spoofspan.report.page.page_table import Plain, cell, column, page_table
from spoofspan.report.page.publishing import few_digits
from spoofspan.report.page.rendering import SHARED_SCRIPTS, SHARED_STYLES, render
from spoofspan.report.page.report_tables import TITLES, leaderboard, measure_cell, pairs, signed_text

RANKS = 5  # the column of the table
LEAST_CONTRAST = 0.25  # of the highest value, from the lightest to the darkest cell


def leaderboard_page(board: Leaderboard) -> str:
    """Write a leaderboard as one self-contained HTML file.

    Parameters
    ----------
    board
        The teams, ranked.

    Returns
    -------
    str
        The HTML: it opens from disk, and fetches nothing.

    """
    comparison = few_digits(comparison_content(board.first))
    teams = [
        {"name": rank.system, "measurements": _measurements(board, rank.system), "groups": rank.groups}
        for rank in board.ranks
    ]
    cautions, of_teams = _cautions(board)
    content = {
        "spoofspan": __version__,
        "title": f"{board.title}: leaderboard",
        "facts": _facts(board),
        "comparison": {**comparison, "cautions": cautions},
        "of_teams": of_teams,
        "how": next(iter(board.first.intervals.values())).how,
        "comparable": dict(board.comparable),
        "notes": list(board.notes),
    }
    tables = {
        "measure_name": measure_name(board.first.measure),
        "leaderboard": _ranks(board, leaderboard(teams, comparison, "team")),
        "groups": [_groups(board, by) for by in board.groups],
        "pairs": pairs(comparison) if len(teams) > 1 else None,
    }
    data = {"groups": {one["name"]: one["groups"] for one in teams}}
    return render(
        "leaderboard.html",
        content,
        data,
        scripts=(*SHARED_SCRIPTS, "leaderboard.js"),
        styles=(*SHARED_STYLES, "leaderboard.css"),
        package="spoofspan.challenge",
        tables=tables,
    )


def _facts(board: Leaderboard) -> list[tuple[str, str]]:
    interval = next(iter(board.first.intervals.values()))
    count = len(board.ranks)
    return [
        (f"team{'s' * (count != 1)}", str(count)),
        ("phase", board.phase),
        (f"{interval.drawn_by}s left out in turn", f"{interval.clusters:,}"),
    ]


def _cautions(board: Leaderboard) -> tuple[list[str], list[str]]:
    """Cautions about all teams and about some of them, each once, with readable names of its measures."""
    of_all: list[str] = []
    of_some: list[str] = []
    for names, of, text in board.cautions_by_measure:
        (of_some if of else of_all).append(f"{'; '.join(map(measure_name, names))}{of}: {text}")
    return of_all, of_some


def _measurements(board: Leaderboard, team: str) -> list[Plain]:
    found: list[Plain] = few_digits(
        [{"measure": name, "number": one.intervals[team].estimate} for name, one in board.comparisons.items()]
    )
    return found


def _ranks(board: Leaderboard, table: Plain) -> Plain:
    """Draw the ranks that a team may have."""
    count = max(len(board.ranks) - 1, 1)
    for rank, row in zip(board.ranks, table["rows"], strict=True):
        row[RANKS]["interval"] = [(one - 1) / count for one in (rank.low, rank.place, rank.high)]
    return table


def _groups(board: Leaderboard, by: str) -> Plain:
    """The value of every team in every group."""
    names, measure = board.names(by), board.of_groups
    found: dict[str, dict[str, Plain]] = few_digits(
        {team: {name: dict(one) for name, one in groups.items()} for team, groups in board.groups[by].items()}
    )
    shade = _shades(measure, found)
    rows = [
        [cell(rank.system), *(_group_cell(measure, found[rank.system].get(name), shade) for name in names)]
        for rank in board.ranks
    ]
    unit = " in %" if in_percent(measure) else ""
    title = f"{measure_name(measure)}{unit} by {TITLES.get(by, by)}"
    columns = [column("team"), *(column(name, number=True) for name in names)]
    has_intervals = any(_has_interval(one) for groups in found.values() for one in groups.values())
    caption = f"{title}; hover over a number for its interval" if has_intervals else title
    return page_table(f"leaderboard-by-{by}", title, columns, rows, caption=caption)


def _shades(measure: str, found: Mapping[str, Mapping[str, Plain]]) -> Callable[[float], float]:
    """How strongly a value is shaded, the worst most; values that hardly differ do not look as if they did."""
    values = [one["value"] for groups in found.values() for one in groups.values() if isinstance(one["value"], float)]
    low, high = min(values, default=0.0), max(values, default=0.0)
    width = max(high - low, LEAST_CONTRAST * high) or 1.0
    worst_is_low = Measure.parse(measure).kind.direction == "higher"
    return lambda value: (high - value if worst_is_low else value - low) / width


def _has_interval(group: Mapping[str, Any]) -> bool:
    return all(isinstance(end, float) and end == end for end in (group["low"], group["high"]))


def _group_cell(measure: str, group: Mapping[str, Any] | None, shade: Callable[[float], float]) -> Plain:
    if group is None or not isinstance(group["value"], float):
        return cell("")
    ends = [group[end] for end in ("low", "high")]
    about = " to ".join(signed_text(measure, end) for end in ends) if _has_interval(group) else "no interval"
    return measure_cell(measure, group["value"], heat=shade(group["value"]), about=about)
