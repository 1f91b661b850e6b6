"""The pages of a challenge: the leaderboard for everybody, and one on which teams check a submission in the browser.

Each is one file, made of the parts of :mod:`spoofspan.report.page` or :mod:`spoofspan.report.app`. The leaderboard
shows what :meth:`.Leaderboard.to_dict` has for teams, and nothing else of the labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spoofspan.base.errors import UsageError
from spoofspan.base.version import __version__
from spoofspan.challenge.appeals import certificate, history, season_of
from spoofspan.challenge.definition import PublicPart
from spoofspan.challenge.leaderboard import Leaderboard, leaderboard
from spoofspan.challenge.published_numbers import difference_text, published_text
from spoofspan.data.rules import Rules, rules_for
from spoofspan.formats.writing import write_atomically
from spoofspan.measures.measure import Measure, in_percent
from spoofspan.report.app import app_page
from spoofspan.report.cells import measure_name
from spoofspan.report.page.rendering import SHARED_SCRIPTS, SHARED_STYLES, Plain, cell, column, page_table, render
from spoofspan.report.page.report_page import heat_scale, measure_cell, measure_column, pairs, title_of
from spoofspan.report.page.report_page import leaderboard as leaderboard_table
from spoofspan.report.table import MINUS, json_text, printable


def public_page(
    challenge: Path, board: Leaderboard, *, with_pairs: bool = False, results: Path | None = None, check: str = ""
) -> str:
    """Write the page, and the result files of teams that agreed into a folder beside it; `check` is linked."""
    others = []
    for phase in board.definition.phases:
        if phase.name != board.phase:
            try:
                others.append(leaderboard(challenge, phase=phase.name))
            except UsageError:  # nothing was scored in it
                continue
    files = {}
    if results is not None:
        season = season_of(challenge)
        results.mkdir(parents=True, exist_ok=True)
        for team in sorted(season.shares):
            # a file would name a team that is anonymous
            if team in board.standings:
                text = json_text(certificate(challenge, team, phase=board.phase))
                write_atomically(results / f"{team}.json", [text.encode()], force=True)
                files[team] = f"{results.name}/{team}.json"
    return leaderboard_page(
        board, with_pairs=with_pairs, others=others, events=history(challenge), files=files, check=check
    )


def leaderboard_page(
    board: Leaderboard,
    *,
    with_pairs: bool = False,
    others: Sequence[Leaderboard] = (),
    events: Sequence[Plain] = (),
    files: Mapping[str, str] | None = None,
    check: str = "",
) -> str:
    """Write a leaderboard as one self-contained HTML file.

    Parameters
    ----------
    board
        The teams, ranked.
    with_pairs
        Also show the difference of every pair of teams.
    others
        Leaderboards of other phases, to be shown below.
    events
        What happened, see :func:`.appeals.history`.
    files
        Team -> where the result file lies that it agreed to publish.
    check
        The address of the page that checks submissions.

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
        "out": plain["out"],
        "phase": board.phase,
        "phases": [{"phase": one.phase, "as_of": one.as_of[1], "notes": one.to_dict()["notes"]} for one in others],
        "files": [{"team": team, "file": file} for team, file in sorted((files or {}).items())],
        "check": check,
    }
    tables = {
        "measure_name": measure_name(board.first.measure),
        "leaderboard": leaderboard_table(teams, comparison, "team", published_text),
        "groups": [_groups(board, plain, by) for by in board.groups],
        "unranked": _values_table("not-ranked", "Baselines and hosts", plain["unranked"], board.measures),
        "phases": [
            _values_table(f"phase-{one.phase}", f"Phase {one.phase}", one.to_dict()["teams"], one.measures)
            for one in others
        ],
        "history": _history(events, board.measures[0]),
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


def _values_table(name: str, title: str, teams: Sequence[Plain], measures: Sequence[str]) -> Plain | None:
    """Teams with their ranks, where they have one, and values; None without teams."""
    if not teams:
        return None
    ranked = "rank" in teams[0]["measures"][measures[0]]
    columns = [column("team"), *([column("rank", number=True)] if ranked else [column("role")])]
    columns += [measure_column(one) for one in measures] + [column("received (UTC)")]
    rows = []
    for team in teams:
        first = team["measures"][measures[0]]
        place = cell(str(first["rank"]), first["rank"]) if ranked else cell(team["role"])
        values = [_value_cell(one, team["measures"][one]) for one in measures]
        rows.append([cell(team["team"]), place, *values, cell(team["received"])])
    return page_table(name, title, columns, rows, caption=title)


def _value_cell(measure: str, one: Plain) -> Plain:
    return measure_cell(measure, _number(one["value"]), published_text, about=_interval_text(measure, one))


def _interval_text(measure: str, one: Plain) -> str:
    """An interval as it is read when a number is pointed at; nothing where there is none."""
    ends = [_number(one[end]) for end in ("low", "high")]
    return " to ".join(published_text(measure, end).replace("-", MINUS) for end in ends if end is not None)


def _history(events: Sequence[Plain], measure: str) -> Plain | None:
    """Table of events, the latest first; None without events."""
    if not events:
        return None
    columns = [column("time (UTC)"), column("phase"), column("what"), measure_column(measure)]
    rows = [
        [
            cell(one["time"]),
            cell(one["phase"] or "all"),
            cell(one["text"]),
            measure_cell(measure, _number(one["value"]), published_text),
        ]
        for one in events
    ]
    return page_table("history", "History", columns, rows, caption="History, the latest first")


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
    scored = sum(one.scored for one in board.standings.values())
    return [
        (f"team{'s' * (count != 1)}", str(count)),
        (f"submission{'s' * (scored != 1)} scored", f"{scored:,}"),
        ("phase", board.phase),
        *([("UTC", f"as of {board.as_of[1]}")] if board.as_of[1] else []),
        (f"{board.drawn_by}s left out in turn", f"{board.clusters:,}"),
    ]


def _measurements(team: Plain) -> list[Plain]:
    return [{"measure": name, "number": _number(one["value"])} for name, one in team["measures"].items()]


def _groups(board: Leaderboard, plain: Plain, by: str) -> Plain:
    """The value of every team in every group."""
    names, measure = board.names(by), board.of_groups
    found: dict[str, dict[str, Plain]] = {
        team["team"]: {
            name: {end: _number(one[end]) for end in ("value", "low", "high")}
            for name, one in team["groups"][by].items()
        }
        for team in (*plain["teams"], *plain["unranked"])
    }
    places = plain["ranks_in_groups"][by]
    values = (one["value"] for groups in found.values() for one in groups.values())
    shade = heat_scale(values, worst_is_low=Measure.parse(measure).kind.direction == "higher")
    rows = [
        [
            cell(team),
            *(_group_cell(measure, groups.get(name), shade, places[name].get(team)) for name in names),
        ]
        for team, groups in found.items()
    ]
    unit = " in %" if in_percent(measure) else ""
    title = f"{measure_name(measure)}{unit} by {title_of(by)}"
    columns = [column("team"), *(column(name, number=True) for name in names)]
    has_intervals = any(_has_interval(one) for groups in found.values() for one in groups.values())
    title = f"{title}, and the rank there"
    caption = f"{title}; hover over a number for its interval" if has_intervals else title
    return page_table(f"leaderboard-by-{by}", title, columns, rows, caption=caption)


def _has_interval(group: Mapping[str, Any]) -> bool:
    return all(end is not None for end in (group["low"], group["high"]))


def _group_cell(measure: str, group: Plain | None, shade: Callable[[float], float], place: int | None) -> Plain:
    if group is None or not isinstance(group["value"], float):
        return cell("")
    about = _interval_text(measure, group) or "no interval"

    def spelled(name: str, value: float) -> str:
        return published_text(name, value) + (f" ({place})" if place is not None else "")

    return measure_cell(measure, group["value"], spelled, heat=shade(group["value"]), about=about)


# ---------------------------------------------------------------- a page for teams

RULES_OF_SCORES = ("uncovered", "slack", "overlong", "last_frame", "overlap")


def check_page(public: PublicPart) -> str:
    """Write the page; it has the utterances and durations, which every team has.

    It checks under the default rules, and a challenge with other rules for scores has no such page.
    """
    definition = public.definition
    if definition.submissions != "scores":
        raise UsageError(f"the page checks scores in time, and teams submit {definition.submissions} here")
    rules = rules_for("range", definition.convention, definition.rules)[0]
    other = [f"{name}={value}" for name in RULES_OF_SCORES if (value := getattr(rules, name)) != getattr(Rules(), name)]
    if other:
        raise UsageError(
            f"the page checks under the default rules, and this challenge has {', '.join(other)}; "
            "teams can use spoofspan challenge check"
        )
    durations = dict(zip(public.utterances, (public.ends / 1e9).tolist(), strict=True))
    return app_page(definition.title, durations, hop=definition.hop, higher=definition.higher or "")
