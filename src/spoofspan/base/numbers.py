"""Numbers as text."""

from __future__ import annotations


def is_number(text: str) -> bool:
    """True if Python reads a text as a number.

    >>> is_number("-1.5e-3"), is_number("inf"), is_number("0,5")
    (True, True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def shortest_text(number: float) -> str:
    """Write a number as the shortest text that reads back as the same number; equal numbers have one text.

    >>> shortest_text(2), shortest_text(2e0), shortest_text(-0.0), shortest_text(0.12345678), shortest_text(1e-5)
    ('2', '2', '0', '0.12345678', '1e-05')
    """
    value = float(number) + 0.0  # no negative zero
    text = f"{value:g}"
    return text if float(text) == value else repr(value)
