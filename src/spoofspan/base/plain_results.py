"""Results in plain Python: numbers where a number is wanted, and attribute errors that name the right attribute."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.errors import nearest_name

# What other tools call an attribute, and what it is called here.
OTHER_NAMES = {
    "ci": "interval",
    "confidence_interval": "interval",
    "eer": "value",
    "score": "value",
    "result": "value",
    "estimate": "value",
    "fpr": "false_positive_rate",
    "far": "false_positive_rate",
    "fnr": "false_negative_rate",
    "frr": "false_negative_rate",
    "miss_rate": "false_negative_rate",
    "thresholds": "threshold",
    "groups": "breakdown",
    "confidence": "level",
    "systems": "intervals",
    "p_values": "differences",
    "lower": "low",
    "upper": "high",
    "std": "standard_error",
    "p": "p_value",
    "pvalue": "p_value",
    "tpr": "1 - false_negative_rate",
    "roc": "false_positive_rate",
}
# What other tools do with a result, and how it is done here.
OTHER_WAYS = {
    "to_json": "json.dumps(....to_dict())",
    "to_latex": ".render('latex') of tables, or .to_pandas().to_latex()",
    "to_markdown": ".render('markdown') of tables, or .to_pandas().to_markdown()",
    "to_csv": ".to_pandas().to_csv()",
    "to_numpy": ".to_pandas().to_numpy()",
    "plot": "the functions of ss.plot, such as ss.plot.det(references, scores)",
    "map": "Scores.from_frames({utterance: f(frames) for utterance, frames in scores.items()}, hop=..., higher=...)",
    "to_dict": "dict(...)",
    "filter": ".take([utterance for utterance in ... if ...])",
    "sample": ".take([utterance, ...])",
    "save": "write_scores or write_references",
}


class NearAttributes:
    """An object whose attribute errors name the nearest attribute."""

    if not TYPE_CHECKING:  # mypy finds wrong names by itself

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):  # a property that failed says why
                return object.__getattribute__(self, name)
            kind = type(self).__name__
            if name.startswith("_"):
                raise AttributeError(f"{kind!r} object has no attribute {name!r}")
            known = sorted(one for one in dir(self) if not one.startswith("_"))
            meant = self._meant(name) or OTHER_NAMES.get(name, "")
            meant = (
                meant if "[" in meant else next((meant + s for s in ("", "s") if meant.split(" ")[-1] + s in known), "")
            )
            needs = re.findall(r"\.(to_pandas|to_dict|take)\(", OTHER_WAYS.get(name, ""))
            if name in OTHER_WAYS and all(one in known for one in needs):
                advice = f"use {OTHER_WAYS[name]}"
            else:
                advice = f"did you mean {meant}?" if meant else nearest_name(name, known)
            article = "an" if kind[0] in "AEIOU" else "a"
            raise AttributeError(f"{article} {kind} has no attribute {name!r}: {advice}")

    def _meant(self, name: str) -> str | None:
        """Value of a name that is no attribute."""
        return None


def _arithmetic(operation: Callable[[Any, Any], Any]) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    def forward(self: Any, other: Any) -> Any:
        other = self._other_value(other)
        return NotImplemented if other is NotImplemented else operation(float(self), other)

    def backward(self: Any, other: Any) -> Any:
        other = self._other_value(other)
        return NotImplemented if other is NotImplemented else operation(other, float(self))

    return forward, backward


class LikeFloat:
    """A result that acts as its ``value`` in arithmetic, comparisons, ``round``, ``format`` and NumPy."""

    value: float

    def __float__(self) -> float:
        return float(self.value)

    def item(self) -> float:
        """The value as a float, as of an array or a tensor."""
        return float(self)

    def __round__(self, digits: int | None = None) -> float:
        return round(float(self), digits)

    def __abs__(self) -> float:
        return abs(float(self))

    def __neg__(self) -> float:
        return -float(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(float(self), dtype)

    def _other_value(self, other: Any) -> Any:
        """The other operand as a number."""
        if isinstance(other, LikeFloat):
            return float(other)
        return other if isinstance(other, int | float | np.number | np.ndarray) else NotImplemented

    __add__, __radd__ = _arithmetic(operator.add)
    __sub__, __rsub__ = _arithmetic(operator.sub)
    __mul__, __rmul__ = _arithmetic(operator.mul)
    __truediv__, __rtruediv__ = _arithmetic(operator.truediv)
    __pow__, __rpow__ = _arithmetic(operator.pow)
