"""The page of ``spoofspan report``: its first paragraph, tables and charts, of the plain data of :mod:`.content`.

What stands in the plain data is all that is read here, so that a page without labels tells no more in its sentences
than in its tables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoofspan.base.numbers import is_number
from spoofspan.data.front_door import RulesAndInputs, opens_inputs, separate_seeds
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.breakdown import LENGTHS
from spoofspan.evaluation.selections import bins
from spoofspan.formats.writing import check_target, write_atomically
from spoofspan.measures.measure import Measure, in_percent, number_text, short_measure
from spoofspan.report.cells import NONE, four_digits, measure_name, p_text
from spoofspan.report.page.content import PageSettings, page_content
from spoofspan.report.page.rendering import SCRIPTS, STYLES, Plain, cell, column, page_table, render
from spoofspan.report.page.timelines import axis_of
from spoofspan.report.palette import heat_ends, usual_ends
from spoofspan.report.table import MINUS
from spoofspan.uncertainty.clusters import Resampling

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.data.utterance_scores import VerificationScores
    from spoofspan.evaluation.utterances import Truth
    from spoofspan.measures.costs import VerificationErrors
    from spoofspan.measures.measure import ScoresAre

Said = Scores | UtteranceScores
Spelling = Callable[[str, float], str]  # of a number of a measure
Groups = Sequence[Mapping[str, Any]]

TITLES = {"length": "length of the spoofed range", "boundary": "distance from the nearest boundary"}
MOST_COLUMNS = 12  # of groups or systems that stand side by side
MOST_ROWS = 16  # of a chart: those with the most error of the system that the page opens on
LARGE = 1.5  # a condition is named if it has so many times the error that its share of the spoof would make
LEAST_SHARE = 0.01  # of all spoof that a condition has, to be named
LEAST_GROUPS = 2


@opens_inputs
def write_report(
    references: Truth,
    systems: Said | Mapping[str, Said | Mapping[str, Said]],
    target: str | PathLike[str],
    *,
    title: str | None = None,
    by: Mapping[str, Mapping[str, str]] | None = None,
    measures: Sequence[str] = (),
    timelines: int | None = None,
    scores_are: ScoresAre | None = None,
    asv_scores: VerificationScores | VerificationErrors | None = None,
    published: str | None = None,
    resampling: Resampling | None = None,
    force: bool = False,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RulesAndInputs],
) -> None:
    """Write one HTML file that shows where systems err, as ``spoofspan report`` does.

    Parameters
    ----------
    references
        Reference labels; for scores of whole utterances also a protocol, or a label by utterance.
    systems
        The scores of one system, or of several by their names. Several seeds, name -> seed -> scores, are shown as
        systems of their own, ``name/seed``. Scores of whole utterances have no timelines and no resolutions.
    target
        The file, which ends in .html.
    title
        Title of the page.
    by
        Breakdowns by metadata: name of the column -> utterance -> value.
    measures
        Further measures, such as ``event-f1@iou=0.5``.
    timelines
        How many utterances are shown; None: 240, or fewer with many systems. With 0, the page holds no labels and can
        be published.
    scores_are, asv_scores
        For measures that need them, as in :func:`spoofspan.evaluate`.
    published
        Show the systems among published numbers: the name of the database ("partialspoof"), or "" for all numbers.
    resampling
        How the intervals are drawn.
    force
        Replace an existing file.
    convention, eer_rule, **rules
        As in :func:`spoofspan.range_eer`.

    Raises
    ------
    UsageError
        If the file is there already, and ``force`` is not set.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from spoofspan import demo
    >>> corpus = demo.load()
    >>> with TemporaryDirectory() as folder:
    ...     write_report(corpus.references, {"ours": corpus.systems[0.02]}, Path(folder) / "page.html")
    ...     (Path(folder) / "page.html").read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'

    """
    check_target(Path(target).expanduser(), force)
    named = dict(separate_seeds({"system": systems} if isinstance(systems, Scores | UtteranceScores) else systems))
    settings = PageSettings(
        title,
        resampling=resampling or Resampling(replicates=1000),
        columns=by or {},
        timelines=timelines,
        measures=measures,
        scores_are=scores_are,
        asv_scores=asv_scores,
        published=published,
        arguments={"convention": convention, "eer_rule": eer_rule, **rules},
    )
    write_atomically(Path(target), [render_page(page_content(references, named, settings)).encode()], force)


def render_page(content: dict[str, Any]) -> str:
    """Write a page as one self-contained HTML file.

    Parameters
    ----------
    content : dict
        What :func:`spoofspan.report.page.page_content` returned.

    Returns
    -------
    str
        The HTML: it opens from disk, and fetches nothing.

    Examples
    --------
    >>> page = render_page(page_content(references, {"ours": scores}, PageSettings("My report")))  # doctest: +SKIP

    """
    tables = report_tables(content)
    return render("report.html", content, _script_data(content), scripts=SCRIPTS, styles=STYLES, tables=tables)


def _script_data(content: dict[str, Any]) -> dict[str, Any]:
    """Data for the scripts, less what they can read from the tables of the page."""
    number = {system["name"]: str(place) for place, system in enumerate(content["systems"])}
    systems = [
        {
            **{name: system[name] for name in ("name", "higher", "curve")},
            "eer": system["measurements"][0]["number"],
            "axis": axis_of(content["timelines"], system["name"]),
        }
        for system in content["systems"]
    ]
    return {
        "systems": systems,
        "in_time": content["in_time"],
        "opens_on": content["opens_on"],
        "columns": content["columns"],
        "iou": content["iou"],
        "multiples": small_multiples(content),
        "timelines": [
            one | {"scores": {number[name]: scores for name, scores in one["scores"].items()}}
            for one in content["timelines"]
        ],
    }


# ---------------------------------------------------------------- tables


def report_tables(content: Mapping[str, Any]) -> dict[str, Any]:
    """Every table of the page, ready for the template."""
    systems = content["systems"]
    comparison = content["comparison"]
    return {
        "story": story(content),
        "cards": cards(systems, () if comparison is None else comparison["cautions"]),
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


def cards(systems: Sequence[Mapping[str, Any]], above: Sequence[str] = ()) -> list[Plain]:
    """For each system its measurements with readable names, and each caution once, but for those that stand above.

    All EERs are drawn on one scale.
    """
    highest: dict[str, float] = {}
    for one in (m for system in systems for m in system["measurements"]):
        ends = [end for end in (one["number"], *(one["ends"] or ())) if isinstance(end, float)]
        highest[_scale(one)] = max([highest.get(_scale(one), 0.0), *ends])
    return [
        {
            "name": system["name"],
            "measurements": [_card(m, highest[_scale(m)] or 1.0) for m in system["measurements"]],
            "cautions": [one for one in _cautions(system["measurements"]) if one[0] not in above],
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


# ---------------------------------------------------------------- charts
#
# Small charts of all systems by attack, length, distance from a boundary, resolution and metadata: a row for a
# condition, and in it a dot for the EER of each system (assets/multiples.js draws them). What the tables say is said
# here once more for the eye, with what chooses the utterances behind a row.


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
    for place, one in enumerate(systems[0]["resolutions"]["cells"]):
        name = f"{one['resolution'].removesuffix('ms')} ms"
        values[name] = [system["resolutions"]["cells"][place]["value"] for system in systems]
    rows = [{"name": name, "values": row, "shares": None, "where": None} for name, row in values.items()]
    about = "coarser than a system's hop: an easier task, not a better system"
    return {"title": "By resolution", "about": about, "rows": rows, "left_out": 0}


# ---------------------------------------------------------------- the first paragraph


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
