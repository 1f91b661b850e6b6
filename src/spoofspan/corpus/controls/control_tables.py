"""Systems on controls as tables: what edits add, where they add it, and the authenticity index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spoofspan.report.cells import NONE, amount_cell, share_cell, warning_lines
from spoofspan.report.table import Shown, Table

if TYPE_CHECKING:
    from spoofspan.corpus.controls.measuring import ControlsEvaluation, EditEffect
    from spoofspan.uncertainty.spreads import Interval


def cross_fade_cell(seconds: float | None) -> Shown:
    """A cross-fade in milliseconds; empty without a joint."""
    return Shown("") if seconds is None else Shown(f"{1000 * seconds:g}", exact=repr(1000 * seconds))


def tables_of(found: ControlsEvaluation) -> list[Table]:
    """The tables of a result."""
    effects = [(name, one) for name, system in found.systems.items() for one in system.effects]
    level = next(iter(found.systems.values())).unedited.level
    ends = (f"{100 * level:g} % from", "to")
    key = ("system", "edit", "fade ms")
    time = Table(
        (*key, "recordings", "flagged %", "unedited %", "extra %", *ends),
        tuple(
            (*_key(name, one), f"{one.recordings:,}", *map(share_cell, (one.flagged, one.unedited)), *_cells(one.extra))
            for name, one in effects
        ),
        tuple(_about(found)),
    )
    reach = f"{1000 * found.near:g} ms"
    where = Table(
        (*key, f"extra % within {reach}", *ends, "elsewhere %", *ends, "recordings %", *ends),
        tuple(
            (*_key(name, one), *_cells(one.near), *_cells(one.elsewhere), *_cells(one.extra_recordings))
            for name, one in effects
        ),
    )
    tables = [time, where]
    indices = [(name, one) for name, system in found.systems.items() for one in system.indices]
    if indices:
        rows = tuple(
            (
                name,
                cross_fade_cell(one.cross_fade),
                *map(share_cell, (one.hit_rate, one.splice_rate, one.uncut_rate)),
                amount_cell(one.value, 3) if one.value == one.value else NONE,
                *_ends(one.interval, share=False),
            )
            for name, one in indices
        )
        header = ("system", "fade ms", "spoofs %", "splices %", "uncut %", "authenticity index", *ends)
        tables.append(Table(header, rows, tuple(_about_indices(found))))
    return tables


def _key(name: str, one: EditEffect) -> tuple[str, str, str]:
    return name, one.edit, cross_fade_cell(one.cross_fade)


def _cells(interval: Interval | None) -> tuple[str, str, str]:
    """A difference of shares with its sign, and both ends."""
    if interval is None:
        return "", "", ""
    text = share_cell(interval.estimate)
    return Shown(text if text.startswith("-") else f"+{text}", exact=text.exact), *_ends(interval, share=True)


def _ends(interval: Interval, *, share: bool) -> tuple[str, str]:
    if interval.refused:
        return NONE, NONE
    low, high = (share_cell(end) if share else amount_cell(end, 3) for end in interval)
    return low, high


def _about(found: ControlsEvaluation) -> list[str]:
    lines = [""]
    warnings = []
    for name, one in found.systems.items():
        sign = "<" if one.higher == "bonafide" else ">"
        low, high = _ends(one.unedited, share=True)
        lines += [
            f"{name}: spoof iff score {sign} {one.threshold!r} ({one.threshold_is})",
            f"  unedited recordings: {share_cell(one.unedited.estimate)} % of the time flagged ({low} to {high}), "
            f"{share_cell(one.unedited_recordings.estimate)} % of the recordings",
        ]
        refused = (effect.extra for effect in one.effects if effect.extra.refused)
        warnings += [*one.unedited.warnings, *(text for interval in refused for text in interval.warnings)]
    lines.append("extra: time flagged beyond the same time of the unedited recordings; intervals over speakers")
    return [*lines, *warning_lines(warnings)]


def _about_indices(found: ControlsEvaluation) -> list[str]:
    indices = [one for system in found.systems.values() for one in system.indices]
    beyond = max(one.beyond for one in indices)
    lines = [
        "",
        "spoofs: flagged share of the spoofed time; splices: of real speech that was spliced in, as far from a joint;",
        "uncut: of the same speech where it comes from; index: (spoofs - splices) / spoofs, 0 for a detector of cuts",
    ]
    if beyond:
        lines.append(
            f"note: {100 * beyond:.1f} % of the spoofed time lies further from a joint than any splice reaches, and is "
            "compared with the innermost time of the splices"
        )
    return [*lines, *warning_lines([text for one in indices for text in one.interval.warnings])]
