"""Calibrations: maps of scores to log-likelihood ratios, learned on one set and applied to any other.

With scores s in bona fide polarity, the natural log-likelihood ratio L of bona fide to spoof is::

    affine      L = offset + weight * s                       weight > 0
    fusion      L = offset + sum of weight_k * s_k            of several systems; a weight may be negative
    pav         L = the line through (s, L) at the knots, flat beyond them
    pav-fusion  L = offset + sum of weight_k * pav_k(s_k)     the fusion of systems that have their own PAV maps

Flat parts of a PAV map are tilted by less than a millionth, so that it rises strictly too: an affine or a PAV map
leaves the order of the scores, and so every EER, as it was.

Calibrated scores keep the polarity of what they were made of: high means the same class as before (bona fide, if the
systems of a fusion do not agree). They are what ``scores_are="llr"`` declares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np

from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.times import Float64
from spoofspan.data.scores import Higher, Scores
from spoofspan.data.utterance_scores import UtteranceScores

Unit = Literal["time", "utterances"]
System = TypeVar("System", Scores, UtteranceScores)
FILE_VERSION = 1
TILT = 1e-6  # nats
LARGEST = 1e100  # of any weight or knot: sums of larger ones may be infinite


@dataclass(frozen=True)
class AffineMap:
    """An offset and the weight of each system."""

    weights: tuple[float, ...]
    offset: float

    def ratios(self, columns: Sequence[Float64]) -> Float64:
        """The log-likelihood ratios of scores in bona fide polarity, a column for each system."""
        total = np.full(columns[0].shape, self.offset)
        with np.errstate(invalid="ignore"):
            for weight, column in zip(self.weights, columns, strict=True):
                total += weight * column
        return total


@dataclass(frozen=True)
class PavMap:
    """Scores that rise, and log-likelihood ratios that do not fall."""

    scores: tuple[float, ...]
    knots: tuple[float, ...]

    def ratios(self, columns: Sequence[Float64]) -> Float64:
        """Calibrated scores, as of :class:`AffineMap`; there is one column."""
        (column,) = columns
        low, high = self.scores[0], self.scores[-1]
        with np.errstate(invalid="ignore"):
            inside = (2 * column - low - high) / ((high - low) or 1.0)  # -1 at the first knot, 1 at the last
            rise = np.where(np.isinf(column), np.sign(column), inside / (1 + np.abs(inside)))
        ratios: Float64 = np.interp(column, self.scores, self.knots) + TILT * rise
        return ratios

    @property
    def pairs(self) -> list[list[float]]:
        """The knots as plain data."""
        return [list(pair) for pair in zip(self.scores, self.knots, strict=True)]

    @classmethod
    def from_pairs(cls, pairs: Any) -> PavMap:
        """Build from :attr:`pairs`."""
        scores, knots = zip(*pairs, strict=True)
        if not (np.abs([scores, knots]) < LARGEST).all() or (np.diff(scores) < 0).any() or (np.diff(knots) < 0).any():
            raise ValueError("knots must be finite and must not fall")
        return cls(tuple(map(float, scores)), tuple(map(float, knots)))


@dataclass(frozen=True)
class PavFusionMap:
    """The PAV map of each system, and the weights of the ratios that they give."""

    maps: tuple[PavMap, ...]
    sum: AffineMap

    def ratios(self, columns: Sequence[Float64]) -> Float64:
        """Calibrated scores, as of :class:`AffineMap`."""
        return self.sum.ratios([one.ratios([column]) for one, column in zip(self.maps, columns, strict=True)])


LearnedMap = AffineMap | PavMap | PavFusionMap


@dataclass(frozen=True)
class Calibration:
    """A map of scores to log-likelihood ratios; :func:`spoofspan.calibrate` and :func:`spoofspan.fuse` learn it.

    Parameters
    ----------
    map
        The map of scores in bona fide polarity.
    systems, higher
        The name of each system, and what its high scores mean.
    unit
        Unit of the calibration set: scores in ``"time"`` (weighted by duration), or of whole ``"utterances"``.
    prior
        The share of spoof that learning weighed the classes to.
    ridge
        Penalty on large weights; 0: none.
    learned_on
        The signature: ``comparable`` (method, rules, hash of the references) and ``input`` (hashes of the scores).

    Examples
    --------
    >>> calibration = Calibration(AffineMap((2.0,), -1.0), ("a",), ("bonafide",), "utterances")
    >>> scores = UtteranceScores(("u1", "u2"), np.array([0.9, -0.5]), higher="bonafide")
    >>> calibration.apply(scores).values.tolist()
    [0.8, -2.0]

    """

    map: LearnedMap
    systems: tuple[str, ...]
    higher: tuple[Higher, ...]
    unit: Unit
    prior: float = 0.5
    ridge: float = 0.0
    learned_on: Mapping[str, str] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """``"affine"`` or ``"pav"``; of several systems ``"fusion"`` or ``"pav-fusion"``."""
        if isinstance(self.map, AffineMap):
            return "affine" if len(self.systems) == 1 else "fusion"
        return "pav" if isinstance(self.map, PavMap) else "pav-fusion"

    @property
    def result_higher(self) -> Higher:
        """Meaning of high calibrated scores."""
        return self.higher[0] if len(set(self.higher)) == 1 else "bonafide"

    def values(self, *columns: Any) -> Float64:
        """Map plain arrays, one for each system: scores as given to log-likelihood ratios of :attr:`result_higher`."""
        self._check_count(len(columns), "columns of scores")
        arrays = [np.asarray(column, np.float64) for column in columns]
        mirrored = [array if high == "bonafide" else -array for array, high in zip(arrays, self.higher, strict=True)]
        ratios = self.map.ratios(mirrored)
        if np.isnan(ratios).any():
            raise DataError("infinite scores of the systems contradict each other and have no sum; replace them")
        return (ratios if self.result_higher == "bonafide" else -ratios) + 0.0  # no negative zero

    def apply(self, *scores: System) -> System:
        """Turn scores into log-likelihood ratios; of a fusion, give the scores of every system, in its order.

        Parameters
        ----------
        *scores
            Frames or ranges (:class:`Scores`), or scores of whole utterances, as those it was learned on.

        Returns
        -------
        Scores or UtteranceScores
            As given, with other values. A fusion of systems with different hops has the time of the finest.

        """
        self._check_count(len(scores), "systems")
        for name, high, one in zip(self.systems, self.higher, scores, strict=True):
            self._check(name, high, one)
        # of a table with several scores, those of the countermeasure are calibrated
        chosen: list[Any] = [one.of_column(trials=False) if isinstance(one, UtteranceScores) else one for one in scores]
        if len(chosen) == 1:
            calibrated: System = replace(chosen[0], values=self.values(chosen[0].values))
            return calibrated
        fused: System = self._fused(chosen)
        return fused

    def _fused(self, scores: Sequence[Any]) -> Any:
        first = scores[0]
        if isinstance(first, UtteranceScores):
            columns = utterance_columns(scores, self.systems)
            return UtteranceScores(first.utterances, self.values(*columns), self.result_higher)
        from spoofspan.mass.joint_scores import joint_scores

        joint = joint_scores(scores, self.systems)
        return replace(joint.rows, values=self.values(*joint.columns), higher=self.result_higher)

    def check_order(self, names: Sequence[str]) -> None:
        """Refuse the systems that it was learned on in another order; other names say nothing."""
        if tuple(names) != self.systems and sorted(names) == sorted(self.systems):
            raise UsageError(
                f"these are the systems of this calibration in another order ({', '.join(names)}); give them as "
                f"{', '.join(self.systems)}"
            )

    def _check_count(self, given: int, what: str) -> None:
        if given != len(self.systems):
            raise UsageError(
                f"this calibration was learned on {len(self.systems)} {what} ({', '.join(self.systems)}), and "
                f"{given} are given; give one for each, in this order"
            )

    def _check(self, name: str, high: Higher, scores: Any) -> None:
        unit = "utterances" if isinstance(scores, UtteranceScores) else "time"
        if not isinstance(scores, Scores | UtteranceScores):
            raise UsageError(f"scores must be Scores or UtteranceScores, not {type(scores).__name__}")
        if unit != self.unit:
            raise UsageError(
                f"this calibration was learned on scores {_of(self.unit)}, and these are {_of(unit)}, which mean "
                "something else; learn one on such scores"
            )
        if isinstance(scores, Scores):
            scores.refuse_decisions("a calibration")
        if scores.higher != high:
            raise UsageError(
                f"{name}: high scores meant {high} when this calibration was learned, and mean {scores.higher} here; "
                "state what these scores mean with higher=, or learn another"
            )

    def __str__(self) -> str:
        """The map as a formula.

        >>> print(Calibration(AffineMap((2.0, -0.5), -1.0), ("a", "b"), ("bonafide", "spoof"), "time"))
        L = -1 + 2 * a - 0.5 * (-b)
        """
        if isinstance(self.map, PavMap):
            low, top = self.map.knots[0], self.map.knots[-1]
            return f"L rises from {low:.4g} to {top:.4g} in {len(self.map.knots) // 2} steps of {self.systems[0]}"
        line, each = (self.map, "{}") if isinstance(self.map, AffineMap) else (self.map.sum, "pav({})")
        text = f"L = {line.offset:.4g}"
        for weight, name, high in zip(line.weights, self.systems, self.higher, strict=True):
            side = each.format(name) if high == "bonafide" else each.format(f"-{name}")
            side = f"({side})" if side.startswith("-") else side
            text += f" {'-' if weight < 0 else '+'} {abs(weight):.4g} * {side}"
        return text

    # ---------------------------------------------------------------- as plain data

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data, which :meth:`from_dict` reads; JSON keeps every digit."""
        systems: list[dict[str, Any]] = [
            {"name": name, "higher": high} for name, high in zip(self.systems, self.higher, strict=True)
        ]
        learned: dict[str, Any]
        if isinstance(self.map, PavMap):
            learned = {"knots": self.map.pairs}
        else:
            line = self.map if isinstance(self.map, AffineMap) else self.map.sum
            systems = [{**one, "weight": w} for one, w in zip(systems, line.weights, strict=True)]
            if isinstance(self.map, PavFusionMap):
                systems = [{**one, "knots": own.pairs} for one, own in zip(systems, self.map.maps, strict=True)]
            learned = {"offset": line.offset}
        about = {"prior": self.prior, "ridge": self.ridge, "learned_on": dict(self.learned_on)}
        head = {"spoofspan_calibration": FILE_VERSION, "method": self.method, "unit": self.unit}
        return {**head, "systems": systems, **learned, **about}

    @classmethod
    def from_dict(cls, data: Any, name: str = "calibration") -> Calibration:
        """Build from plain data; ``name`` is for messages.

        >>> plain = Calibration(AffineMap((2.0,), -1.0), ("a",), ("spoof",), "time").to_dict()
        >>> Calibration.from_dict(plain).map
        AffineMap(weights=(2.0,), offset=-1.0)
        """
        if not isinstance(data, Mapping) or "spoofspan_calibration" not in data:
            raise DataError(f"{name}: this is no calibration; spoofspan calibrate and spoofspan fuse write them")
        if data["spoofspan_calibration"] != FILE_VERSION:
            raise DataError(
                f"{name}: a calibration of version {str(data['spoofspan_calibration'])[:80]!a}, and this program knows "
                f"{FILE_VERSION}; use a newer spoofspan, or learn it again"
            )
        try:
            return cls._checked(data)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise DataError(f"{name}: a damaged calibration ({repr(error)[:200]}); learn it again") from None

    @classmethod
    def _checked(cls, data: Mapping[str, Any]) -> Calibration:
        systems = data["systems"]
        learned: LearnedMap
        if data["method"] in ("affine", "pav") and len(systems) != 1:
            raise ValueError(f"the method {data['method']} is of one system")
        if data["method"] == "pav":
            learned = PavMap.from_pairs(data["knots"])
        elif data["method"] in ("affine", "fusion", "pav-fusion"):
            learned = AffineMap(tuple(float(one["weight"]) for one in systems), float(data["offset"]))
            if not (np.abs([*learned.weights, learned.offset]) < LARGEST).all():
                raise ValueError("weights must be finite")
            if len(systems) == 1 and learned.weights[0] <= 0:
                raise ValueError("the weight must be positive")
            if data["method"] == "pav-fusion":
                learned = PavFusionMap(tuple(PavMap.from_pairs(one["knots"]) for one in systems), learned)
        else:
            raise ValueError(f"no method {data['method']!r}")
        higher = tuple(one["higher"] for one in systems)
        if not systems or set(higher) - {"bonafide", "spoof"} or data["unit"] not in ("time", "utterances"):
            raise ValueError("systems have a name and higher (bonafide or spoof); unit is time or utterances")
        names = tuple(str(one["name"]) for one in systems)
        prior, ridge = float(data["prior"]), float(data["ridge"])
        if not 0 < prior < 1 or not 0 <= ridge < LARGEST:
            raise ValueError("the prior must lie between 0 and 1, and the ridge must not be negative")
        signature = {str(key): str(value) for key, value in data["learned_on"].items()}
        return cls(learned, names, higher, data["unit"], prior, ridge, signature)


def _of(unit: str) -> str:
    return "in time" if unit == "time" else "of whole utterances"


def utterance_columns(scores: Sequence[UtteranceScores], names: Sequence[str]) -> list[Float64]:
    """The scores of each system, in the order of the first system's utterances; all must have the same."""
    first = scores[0]
    columns = []
    for name, one in zip(names, scores, strict=True):
        found = dict(zip(one.utterances, one.values.tolist(), strict=True))
        alone = sorted(found.keys() ^ set(first.utterances))
        if alone:
            raise DataError(
                f"{len(alone):,} utterances have scores of only one of {names[0]} and {name} ({alone[0]!r}, ...); give "
                "every system's scores of the same utterances"
            )
        columns.append(np.array([found[utterance] for utterance in first.utterances]))
    return columns
