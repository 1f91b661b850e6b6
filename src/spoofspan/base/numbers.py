"""Numbers written as text."""

from __future__ import annotations


def is_number(text: str) -> bool:
    """Whether Python reads a text as a number.

    >>> is_number("-1.5e-3"), is_number("inf"), is_number("0,5")
    (True, True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True
