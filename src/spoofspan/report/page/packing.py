"""Arrays as text in a page, which a browser turns back into the same bits (``unpack`` in ``assets/page.js``)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from spoofspan.base.times import Float64


def packed(values: np.ndarray[Any, Any]) -> dict[str, str]:
    """An array of floats as text.

    >>> packed(np.float32([1.0, -2.5]))
    {'f4': 'AACAPwAAIMA='}
    """
    kind = "f4" if values.dtype == np.float32 else "f8"
    return {kind: base64.b64encode(np.ascontiguousarray(values, f"<{kind}").tobytes()).decode("ascii")}


def packed_short(values: Float64) -> dict[str, str]:
    """An array of floats as text, in four bytes each where these hold every value."""
    short = values.astype(np.float32)
    return packed(short if np.array_equal(short.astype(np.float64), values) else values)


def unpacked(text: Mapping[str, str]) -> Float64:
    """The array behind such a text."""
    ((kind, bits),) = text.items()
    return np.frombuffer(base64.b64decode(bits), f"<{kind}").astype(np.float64)
