"""What stands in the cells of tables: intervals, differences, p-values."""

from __future__ import annotations

from collections.abc import Sequence

from spoofspan.measures.measure import in_percent, number_text
from spoofspan.uncertainty import Interval

# What stands where an interval or a p-value is refused.
NONE = "none"
# What stands behind a short signature.
IN_FULL = "(in full: --signature)"


def interval_header(interval: Interval) -> tuple[str, str]:
    """Two columns, so that both ends are numbers in a spreadsheet as well."""
    return f"{100 * interval.level:g} % from", "to"


def interval_cells(measure: str, interval: Interval | None) -> tuple[str, str]:
    """Both ends, as the value of the measure is read; empty without an interval."""
    if interval is None:
        return "", ""
    if interval.refused:
        return NONE, NONE
    return number_text(measure, interval.low), number_text(measure, interval.high)


def heading(measure: str) -> str:
    """The head of a column of values."""
    return f"{measure} %" if in_percent(measure) else measure


def signed(measure: str, value: float) -> str:
    """A difference as it is read, with its sign."""
    text = number_text(measure, value)
    return text if text.startswith("-") else f"+{text}"


def p_text(value: float) -> str:
    """A p-value as it is read."""
    if value != value:
        return NONE
    return f"{value:.4f}" if value >= 0.001 else f"{value:.2g}"


def warning_lines(texts: Sequence[str]) -> list[str]:
    """Warnings, each once."""
    return [f"warning: {text}" for text in dict.fromkeys(texts)]
