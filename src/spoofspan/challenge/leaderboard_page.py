"""The leaderboard as a page: one file, made of the parts of :mod:`spoofspan.report.page`.

It shows what :meth:`.Leaderboard.to_dict` has for teams, and nothing else of the labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from spoofspan.base.version import __version__
from spoofspan.challenge.leaderboard import Leaderboard
from spoofspan.challenge.published_numbers import difference_text, published_text
from spoofspan.measures.measure import Measure, in_percent
from spoofspan.report.names import measure_name
from spoofspan.report.page.page_table import Plain, cell, column, page_table
from spoofspan.report.page.rendering import SHARED_SCRIPTS, SHARED_STYLES, render
from spoofspan.report.page.report_tables import TITLES, heat_scale, leaderboard, measure_cell, pairs
from spoofspan.report.table import MINUS, printable

RANKS = 5  # the column of the table


def leaderboard_page(board: Leaderboard, *, with_pairs: bool = False) -> str:
    """Write a leaderboard as one self-contained HTML file.

    Parameters
    ----------
    board
        The teams, ranked.
    with_pairs
        Also show the difference of every two teams.

    Returns
    -------
    str
        The HTML: it opens from disk, and fetches nothing.

    """
    plain = board.to_dict(pairs=with_pairs)
    comparison = _comparison(board, plain)
    teams = [
        {"name": team["team"], "measurements": _measurements(team), "groups": _first(board, team)["group"]}
        for team in plain["teams"]
    ]
    content = {
        "spoofspan": __version__,
        "title": f"{board.title}: leaderboard",
        "facts": _facts(board),
        "comparison": comparison,
        "how": board.how,
        "measures": {name: measure_name(name) for name in board.comparisons},
        "notes": plain["notes"],
    }
    tables = {
        "measure_name": measure_name(board.first.measure),
        "leaderboard": _ranks(board, leaderboard(teams, comparison, "team", published_text)),
        "groups": [_groups(board, plain, by) for by in board.groups],
        "pairs": pairs(comparison, difference_text) if comparison["pairs"] else None,
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


def _first(board: Leaderboard, team: Plain) -> Plain:
    """The numbers of a team by the measure that ranks."""
    found: Plain = team["measures"][board.first.measure]
    return found


def _comparison(board: Leaderboard, plain: Plain) -> Plain:
    """The numbers of a comparison that the tables of a page show."""
    firsts = {team["team"]: _first(board, team) for team in plain["teams"]}
    names = {"place": "rank", "low": "best_rank", "high": "worst_rank", "groups": "group"}
    return {
        "measure": board.first.measure,
        "test": board.first.test,
        "estimand": board.first.estimand,
        "direction": board.first.direction,
        "level": board.level,
        "values": {team: [_number(one[end]) for end in ("value", "low", "high")] for team, one in firsts.items()},
        "ranks": [{"system": team} | {to: one[name] for to, name in names.items()} for team, one in firsts.items()],
        "pairs": [
            {name: printable(row[name] or "") for name in ("first", "second", "better")}
            | {name: _number(row[name]) for name in ("difference", "low", "high")}
            | {"p": _number(row["p_value"]), "adjusted": _number(row["adjusted_p_value"])}
            for row in plain.get("pairs", {}).get(board.first.measure, ())
        ],
        "cautions": plain["warnings"],
    }


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and value == value else None


def _facts(board: Leaderboard) -> list[tuple[str, str]]:
    count = len(board.ranks)
    return [
        (f"team{'s' * (count != 1)}", str(count)),
        ("phase", board.phase),
        (f"{board.drawn_by}s left out in turn", f"{board.clusters:,}"),
    ]


def _measurements(team: Plain) -> list[Plain]:
    return [{"measure": name, "number": _number(one["value"])} for name, one in team["measures"].items()]


def _ranks(board: Leaderboard, table: Plain) -> Plain:
    """Draw the ranks that a team may have."""
    count = max(len(board.ranks) - 1, 1)
    for rank, row in zip(board.ranks, table["rows"], strict=True):
        row[RANKS]["interval"] = [(one - 1) / count for one in (rank.low, rank.place, rank.high)]
    return table


def _groups(board: Leaderboard, plain: Plain, by: str) -> Plain:
    """The value of every team in every group."""
    names, measure = board.names(by), board.of_groups
    found: dict[str, dict[str, Plain]] = {
        team["team"]: {
            name: {end: _number(one[end]) for end in ("value", "low", "high")}
            for name, one in team["groups"][by].items()
        }
        for team in plain["teams"]
    }
    values = (one["value"] for groups in found.values() for one in groups.values())
    shade = heat_scale(values, worst_is_low=Measure.parse(measure).kind.direction == "higher")
    rows = [
        [cell(team), *(_group_cell(measure, groups.get(name), shade) for name in names)]
        for team, groups in found.items()
    ]
    unit = " in %" if in_percent(measure) else ""
    title = f"{measure_name(measure)}{unit} by {TITLES.get(by, by)}"
    columns = [column("team"), *(column(name, number=True) for name in names)]
    has_intervals = any(_has_interval(one) for groups in found.values() for one in groups.values())
    caption = f"{title}; hover over a number for its interval" if has_intervals else title
    return page_table(f"leaderboard-by-{by}", title, columns, rows, caption=caption)


def _has_interval(group: Mapping[str, Any]) -> bool:
    return all(end is not None for end in (group["low"], group["high"]))


def _group_cell(measure: str, group: Mapping[str, Any] | None, shade: Callable[[float], float]) -> Plain:
    if group is None or not isinstance(group["value"], float):
        return cell("")
    ends = [group[end] for end in ("low", "high")]
    texts = (published_text(measure, end).replace("-", MINUS) for end in ends) if _has_interval(group) else ()
    about = " to ".join(texts) or "no interval"
    return measure_cell(measure, group["value"], published_text, heat=shade(group["value"]), about=about)
