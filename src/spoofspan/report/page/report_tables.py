"""The tables of a report, from the plain data of :mod:`spoofspan.report.page.content`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from spoofspan.base.numbers import is_number
from spoofspan.measures.measure import Measure, in_percent, number_text
from spoofspan.report.cells import NONE, four_digits, p_text
from spoofspan.report.names import measure_name
from spoofspan.report.page.page_table import Plain, cell, column, page_table
from spoofspan.report.page.small_multiples import title_of
from spoofspan.report.page.story import story
from spoofspan.report.palette import heat_ends, usual_ends
from spoofspan.report.table import MINUS

Spelling = Callable[[str, float], str]  # of a number of a measure
MOST_COLUMNS = 12  # of groups or systems that stand side by side


def report_tables(content: Mapping[str, Any]) -> dict[str, Any]:
    """Every table of the page, ready for the template."""
    systems = content["systems"]
    comparison = content["comparison"]
    return {
        "story": story(content),
        "cards": cards(systems),
        "leaderboard": None if comparison is None else leaderboard(systems, comparison),
        "measure_name": "" if comparison is None else measure_name(comparison["measure"]),
        "pairs": None if comparison is None else pairs(comparison),
        "resolutions": resolutions(systems) if content["in_time"] else None,
        "published": None if content["published"] is None else published(content["published"]),
        "by_group": by_group(systems) if len(systems) > 1 else [],
        "breakdowns": [
            [
                *(breakdown(one, system["name"], in_time=content["in_time"]) for one in system["breakdowns"]),
                *(measures_table(one, system["name"]) for one in system["measures_by"]),
            ]
            for system in systems
        ],
    }


def published(found: Mapping[str, Any]) -> Plain:
    """The systems among published numbers."""
    text = ("hop", "data", "set", "system")
    columns = [column(name, number=name not in text) for name in found["columns"]]
    rows = [[cell(one, float(one)) if is_number(one) else cell(one) for one in row] for row in found["rows"]]
    caption = "EER in %. Numbers under different rules, or on other recordings, may not be compared."
    return page_table("published", "Published numbers", columns, rows, caption=caption, head=text.index("system"))


def cards(systems: Sequence[Mapping[str, Any]]) -> list[Plain]:
    """For each system its measurements with readable names, and each caution once. All EERs are drawn on one scale."""
    highest: dict[str, float] = {}
    for one in (m for system in systems for m in system["measurements"]):
        ends = [end for end in (one["number"], *(one["ends"] or ())) if isinstance(end, float)]
        highest[_scale(one)] = max([highest.get(_scale(one), 0.0), *ends])
    return [
        {
            "name": system["name"],
            "measurements": [_card(m, highest[_scale(m)] or 1.0) for m in system["measurements"]],
            "cautions": _cautions(system["measurements"]),
        }
        for system in systems
    ]


def _scale(m: Mapping[str, Any]) -> str:
    """Measures that are drawn on one scale: those of one kind, as range, point and utterance EER."""
    return Measure.parse(m["measure"]).kind.name


def _card(m: Mapping[str, Any], highest: float) -> Plain:
    drawn = None
    if m["ends"] is not None and isinstance(m["number"], float):
        drawn = [end / (1.1 * highest) for end in (m["ends"][0], m["number"], m["ends"][1])]
    words, space, threshold = m["decision"].rpartition(" ")
    parts = [words, four_digits(float(threshold)), threshold] if space and is_number(threshold) else None
    return {**m, "name": measure_name(m["measure"]), "drawn": drawn, "decision_parts": parts}


def _cautions(measurements: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Each caution once, with the measures that it is about."""
    found: dict[str, list[str]] = {}
    for m in measurements:
        for text in m["cautions"]:
            found.setdefault(text, []).append(measure_name(m["measure"]))
    return list(found.items())


def measure_column(measure: str, *, minor: bool = False) -> Plain:
    """The column of a measure: its readable name, with its spelling as a tooltip."""
    return column(measure_name(measure) + (" %" if in_percent(measure) else ""), measure, number=True, minor=minor)


def measure_cell(measure: str, value: float | None, spell: Spelling = number_text, **more: Any) -> Plain:
    """A value as it is read, in per cent where the measure is; empty if there is none."""
    if not isinstance(value, float | int) or value != value:
        return cell("")
    number = round(100 * value, 13) if in_percent(measure) else value  # 4.13, not 4.130000000000001
    return cell(spell(measure, value).replace("-", MINUS), number, **more)


def leaderboard(
    systems: Sequence[Mapping[str, Any]],
    comparison: Mapping[str, Any],
    called: str = "system",
    spell: Spelling = number_text,
) -> Plain:
    """One row per system, the best first: value with its interval, ranks that the verdicts allow, other measures."""
    measure = comparison["measure"]
    by_name = {system["name"]: {m["measure"]: m for m in system["measurements"]} for system in systems}
    others = [m["measure"] for m in systems[0]["measurements"] if m["measure"] != measure]
    ends = [end for one in comparison["values"].values() for end in one if isinstance(end, float)]
    least, most = usual_ends(ends)
    width = (most - least) or 1.0
    last = max(len(comparison["ranks"]) - 1, 1)
    rows = []
    for rank in comparison["ranks"]:
        measured = by_name[rank["system"]]
        value, low, high = comparison["values"][rank["system"]]
        drawn, beyond = None, None
        if not least <= value <= most:  # an outlier would flatten the others: it is marked at the edge
            beyond = "low" if value < least else "high"
        elif low is not None:
            drawn = tuple((min(max(end, least), most) - least) / width for end in (low, value, high))
        spread = f"{rank['low']}" + f"–{rank['high']}" * (rank["high"] > rank["low"])
        band = tuple((one - 1) / last for one in (rank["low"], rank["place"], rank["high"]))
        rows.append(
            [
                cell(str(rank["place"]), rank["place"]),
                cell(rank["system"]),
                measure_cell(measure, value, spell, interval=drawn, beyond=beyond),
                measure_cell(measure, low, spell),
                measure_cell(measure, high, spell),
                cell(spread, rank["low"], interval=band),
                *(measure_cell(one, measured[one]["number"] if one in measured else None, spell) for one in others),
            ]
        )
    level = f"{100 * comparison['level']:g} %"
    columns = [
        column("rank", number=True),
        column(called),
        measure_column(measure),
        column(f"{level} from", "lower end of the interval", number=True),
        column("to", "upper end of the interval", number=True),
        column("ranks", "the best and the worst rank that the comparisons allow, for all at once", number=True),
        *(measure_column(one, minor=True) for one in others),
    ]
    return page_table("leaderboard", "Leaderboard", columns, rows, head=1)


def pairs(comparison: Mapping[str, Any], spell: Spelling = number_text) -> Plain:
    """Every two systems: the difference with its interval, and p-values."""
    measure, many = comparison["measure"], len(comparison["pairs"]) > 1
    rows = [
        [
            cell(pair["first"]),
            cell(pair["second"]),
            *(measure_cell(measure, pair[end], spell) for end in ("difference", "low", "high")),
            _p_cell(pair["p"]),
            *([_p_cell(pair["adjusted"])] if many else []),
            cell(pair["better"] or "undecided"),
        ]
        for pair in comparison["pairs"]
    ]
    unit = " (points)" if in_percent(measure) else ""
    level = f"{100 * comparison['level']:g} %"
    columns = [
        column("first"),
        column("second"),
        column(f"difference{unit}", f"{measure}, first minus second", number=True),
        column(f"{level} from", number=True),
        column("to", number=True),
        column("p", "two-sided", number=True),
        *([column("p (max-T)", f"adjusted for {len(rows)} comparisons", number=True)] if many else []),
        column("better"),
    ]
    caption = f"{measure_name(measure)}, first minus second; {comparison['test']}, two-sided p-values"
    caption += f", adjusted for {len(rows)} comparisons by max-T" * many + f", {comparison['estimand']}"
    return page_table("pairs", "Every two systems", columns, rows, caption=caption)


def _p_cell(value: float | None) -> Plain:
    return cell(NONE) if value is None else cell(p_text(value), value)


def resolutions(systems: Sequence[Mapping[str, Any]]) -> Plain | None:
    """The EER of each system as ranges and in points of each resolution."""
    heads = [cell_["resolution"] for cell_ in systems[0]["resolutions"]["cells"]]
    if not heads:
        return None
    heat = heat_scale(one["value"] for system in systems for one in system["resolutions"]["cells"])
    rows = []
    for system in systems:
        row = [cell(system["name"]), measure_cell("range-eer", system["resolutions"]["floor"])]
        row.append(measure_cell("range-eer", system["measurements"][0]["number"]))
        for one in system["resolutions"]["cells"]:
            if one["value"] is None:
                row.append(cell(""))
                continue
            mark = "*" if one["native"] else "†" if one["coarser"] else ""
            about = {"*": "the hop of the scores", "†": "coarser than the hop"}.get(mark, "")
            text = number_text("point-eer", one["value"]) + mark
            row.append(cell(text, 100 * one["value"], about=about, heat=heat(one["value"])))
        rows.append(row)
    spaced = [f"{head.removesuffix('ms')} ms" for head in heads]
    columns = [
        column("system"),
        column("floor", "the range EER of a perfect system with the same hop", number=True),
        column("range", systems[0]["measurements"][0]["measure"], number=True),
        *(column(text, f"point-eer@{head}", number=True) for text, head in zip(spaced, heads, strict=True)),
    ]
    caption = "EER in %: as ranges, and in points of each resolution. The floor is that of a perfect system."
    return page_table("resolutions", "EER by resolution", columns, rows, caption=caption)


def by_group(systems: Sequence[Mapping[str, Any]]) -> list[Plain]:
    """For each breakdown: the EER of every system in every group; many groups stand below each other."""
    found = []
    for place, first in enumerate(systems[0]["breakdowns"]):
        names, by = [group["name"] for group in first["groups"]], title_of(first["by"])
        if len(names) < 2 or all(group["value"] is None for group in first["groups"]):
            continue
        if min(len(names), len(systems)) > MOST_COLUMNS:
            continue
        values = [
            {group["name"]: group["value"] for group in system["breakdowns"][place]["groups"]} for system in systems
        ]
        heat = heat_scale(value for one in values for value in one.values())
        cells = [[_heat_cell(one.get(name), heat) for name in names] for one in values]
        title = f"EER in % by {by}, every system"
        if first["by"] == "boundary":  # the group is near the boundary, its value is of the rest
            names = [name.replace("within", "beyond") for name in names]
            title = "EER in % of the time beyond each distance from the nearest boundary, every system"
        corner, down, across = "system", [system["name"] for system in systems], names
        if len(names) > MOST_COLUMNS:
            corner, down, across, cells = (
                by,
                across,
                down,
                [list(row) for row in zip(*cells, strict=True)],
            )
        columns = [column(corner), *(column(name, number=True) for name in across)]
        rows = [[cell(name), *row] for name, row in zip(down, cells, strict=True)]
        found.append(page_table(f"by-{first['by']}", title, columns, rows, caption=title))
    return found


def heat_scale(values: Iterable[Any], *, worst_is_low: bool = False) -> Callable[[float], float]:
    """Degree to which each of some values is shaded, from 0 to 1, the worst most; what is no number is left out."""
    known = [value for value in values if isinstance(value, float)]
    low, high = heat_ends(known)
    best = max(known, default=0.0) if worst_is_low else low
    return lambda value: min(abs(value - best) / (high - low), 1.0)


def _heat_cell(value: float | None, heat: Callable[[float], float]) -> Plain:
    return cell("") if value is None else cell(f"{100 * value:.2f}", 100 * value, heat=heat(value))


def breakdown(one: Mapping[str, Any], system: str, *, in_time: bool = True) -> Plain:
    """The groups of one breakdown of one system: EER, seconds or utterances of error, and their share of all error."""
    amount_cell, unit, all_of = (_seconds_cell, ", s", " time") if in_time else (_count_cell, "", "")
    most = max([group["share"] for group in one["groups"] if isinstance(group["share"], float)], default=1.0) or 1.0
    rows = [
        [
            cell(group["name"]),
            cell("none", about=group["reason"]) if group["value"] is None else _percent_cell(group["value"]),
            amount_cell(group["error"]),
            _share_cell(group["share"], most),
            amount_cell(group["spoof"]),
            amount_cell(group["bona_fide"]),
            _count_cell(group["utterances"]),
        ]
        for group in one["groups"]
    ]
    eer = column("EER %", f"of the group's spoof against all bona fide{all_of} it is measured with", number=True)
    if one["by"] == "boundary":
        eer = column("EER % beyond it", "of the time farther than that from any boundary", number=True)
    columns = [
        column(title_of(one["by"])),
        eer,
        column(f"error{unit}", "false positives and false negatives at the EER threshold", number=True),
        column("share of the error", number=True),
        column(f"spoof{unit}", number=True),
        column(f"bona fide{unit}", number=True),
        column("utterances", number=True),
    ]
    notes = [f"{one['about'][0].upper()}{one['about'][1:]}."] if one["about"] else []
    notes += [f"{one['left_out']} groups with the least error are left out."] if one["left_out"] else []
    return page_table(
        f"{system}-by-{one['by']}", f"By {title_of(one['by'])}, {system}", columns, rows, caption=" ".join(notes)
    ) | {"heading": f"By {title_of(one['by'])}", "system": system}


def measures_table(one: Mapping[str, Any], system: str) -> Plain:
    """Further measures of one system in each group of utterances."""
    rows = [
        [
            cell(group["name"]),
            *(
                cell("none", about=found["reason"]) if found["value"] is None else measure_cell(measure, found["value"])
                for measure, found in zip(one["measures"], group["values"], strict=True)
            ),
        ]
        for group in one["groups"]
    ]
    head = {"attack": "attack of the utterance"}.get(one["by"], one["by"])
    columns = [column(head), *map(measure_column, one["measures"])]
    caption = "Of the utterances of each group alone, at the threshold of the whole corpus where there is one."
    return page_table(
        f"{system}-measures-by-{one['by']}", f"Other measures by {head}, {system}", columns, rows, caption=caption
    ) | {
        "heading": f"Other measures by {head}",
        "system": system,
    }


def _percent_cell(value: float) -> Plain:
    return cell(f"{100 * value:.2f}", 100 * value)


def _seconds_cell(value: float) -> Plain:
    return cell(f"{value:,.2f}", value)


def _count_cell(value: int) -> Plain:
    return cell(f"{value:,}", value)


def _share_cell(value: Any, most: float) -> Plain:
    if not isinstance(value, float):  # NaN, where there is no error at all
        return cell("")
    return cell(f"{100 * value:.1f} %", value, share=value / most)
