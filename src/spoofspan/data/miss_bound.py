"""A threshold with a bound on its expected miss rate over speakers like those of a calibration set.

:func:`spoofspan.uncertainty.bound_misses` finds it on a calibration set, ``spoofspan convert`` and ``locate`` take it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from spoofspan.base.errors import DataError, UsageError
from spoofspan.data.calibration import Unit
from spoofspan.data.scores import Higher

FILE_VERSION = 1


@dataclass(frozen=True)
class MissBound:
    """A threshold whose expected miss rate is at most a stated share.

    Parameters
    ----------
    threshold
        Spoof is what lies beyond it, on the scale and in the polarity of the scores.
    miss_rate
        The promise: the highest expected share of the spoofed time (or utterances) of a new cluster that is missed.
    clusters, drawn_by
        Number of clusters with spoof in the calibration set, and their kind: ``"speaker"``, ``"utterance"``.
    missed, false_positive_rate
        On the calibration set: the mean share that is missed over clusters, and the share of bona fide called spoof.
    higher
        Meaning of high scores.
    unit
        Kind of scores: in ``"time"``, or of whole ``"utterances"``.
    learned_on
        The signature: ``comparable`` (rules, hash of the references) and ``input`` (hashes of the scores).

    """

    threshold: float
    miss_rate: float
    clusters: int
    drawn_by: str
    missed: float
    false_positive_rate: float
    higher: Higher
    unit: Unit = "time"
    learned_on: Mapping[str, str] = field(default_factory=dict)

    @property
    def decision(self) -> str:
        """The inequality, in words."""
        return f"spoof iff score {'<' if self.higher == 'bonafide' else '>'} {self.threshold!r}"

    @property
    def promise(self) -> str:
        """The guarantee in words, and its limits."""
        what = "spoofed time" if self.unit == "time" else "spoofed utterances"
        text = (
            f"of the {what} of a new {self.drawn_by}, at most {100 * self.miss_rate:g} % is missed on average, for "
            f"{self.drawn_by}s like these {self.clusters:,} and the same attacks"
        )
        if self.drawn_by == "utterance":
            text += "; speakers are not known, so it does not hold for new ones (--metadata with speakers)"
        return text

    def threshold_for(self, higher: Higher, unit: Unit = "time") -> float:
        """The threshold of scores with this polarity."""
        if unit != self.unit:
            raise UsageError(f"this threshold is of {_OF[self.unit]}, and these are {_OF[unit]}; learn one of them")
        if higher != self.higher:
            raise UsageError(
                f"this threshold is of scores that are higher for {self.higher}, and these are higher for {higher}; "
                "learn one of scores like these"
            )
        return self.threshold

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {"spoofspan_miss_bound": FILE_VERSION, **asdict(self)}

    @classmethod
    def from_dict(cls, data: Any, name: str = "miss bound") -> MissBound:
        """Build from plain data; ``name`` is for messages."""
        if not isinstance(data, Mapping) or "spoofspan_miss_bound" not in data:
            raise DataError(f"{name}: this has no bound of the miss rate; spoofspan calibrate --miss-rate writes one")
        if data["spoofspan_miss_bound"] != FILE_VERSION:
            raise DataError(f"{name}: of another version; use a newer spoofspan, or learn it again")
        try:
            plain = {key: value for key, value in data.items() if key != "spoofspan_miss_bound"}
            found = cls(**plain)
            numbers = found.threshold, found.miss_rate, found.missed, found.false_positive_rate
            if any(not isinstance(one, float | int) or one != one for one in numbers):
                raise ValueError("numbers must be numbers")
            if found.higher not in ("bonafide", "spoof") or found.unit not in _OF or not 0 < found.miss_rate < 1:
                raise ValueError("a polarity, a unit or a rate that there is not")
        except (TypeError, ValueError) as error:
            raise DataError(f"{name}: a damaged bound of the miss rate ({error}); learn it again") from None
        return found


_OF: Mapping[Literal["time", "utterances"], str] = {
    "time": "scores in time",
    "utterances": "scores of whole utterances",
}
