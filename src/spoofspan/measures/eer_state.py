"""EerState: sufficient statistics of an EER for any amount of data, in at most 2 MB, mergeable to the bit.

::

    shard ──update──▶ state ─┐
    shard ──update──▶ state ─┼─merge─▶ state ──▶ bracket()                     one pass: proven bounds of the EER
    shard ──update──▶ state ─┘           └──▶ next_pass() ──▶ update, merge ──▶ equal_error_rate()      exact

A state sums durations (or points, or utterances) of both classes, as integers, by 16 bits of the score. The first pass
looks at the leading bits: the EER lies in one bin, which bounds it. Finer bins next to 1, -1 and 0 keep the bounds of
saturated probabilities narrow (:mod:`spoofspan.measures.histogram`). Each further pass looks at the next bits inside of
the bin; where no bits are left the value, its threshold and its neighbours are exact: float16 needs one pass (as does
bfloat16 in a state of float32), float32 two, float64 up to four. States of shards add, in any order and any grouping,
on one machine or on many, and the result has the bits of :func:`spoofspan.range_eer` in memory.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from spoofspan.base.documents import parse_json
from spoofspan.base.errors import DataError, UndefinedMeasureError, UsageError
from spoofspan.base.times import Float64, Int64
from spoofspan.data.distinct_values import DistinctValues
from spoofspan.data.references import BONA_FIDE
from spoofspan.data.scores import Higher, Values, check_higher
from spoofspan.mass.score_mass import NS_PER_BLOCK, MassBlock, ScoreMass
from spoofspan.mass.score_runs import mirrored
from spoofspan.measures.curve import rates
from spoofspan.measures.eer import Amounts, Crossing, EqualErrorRate, crossing_at, eer_at, eer_of
from spoofspan.measures.histogram import BinIndex, Histogram, fill, score_of_code
from spoofspan.measures.measure import NEIGHBOUR_RULES
from spoofspan.measures.operating_point import Totals

MAGIC = b"spoofspan EerState\n"
VERSION = 3
DTYPES = ("float16", "float32", "float64")
T = TypeVar("T")
FACTS = ("higher", "unit", "uncovered", "basis")


@dataclass(frozen=True)
class EerBracket:
    """Proven bounds of an EER and of its threshold; the exact value lies within.

    Parameters
    ----------
    low, high
        The bounds of the EER.
    lowest_threshold, highest_threshold
        The bounds of its threshold, on the scale of the scores.

    Examples
    --------
    >>> bracket = EerBracket(0.05, 0.06, 0.1, 0.2)
    >>> print(bracket, round(bracket.midpoint, 3))
    5.000 to 6.000 % 0.055

    """

    low: float
    high: float
    lowest_threshold: float
    highest_threshold: float

    @property
    def midpoint(self) -> float:
        """The middle of both bounds: the exact value is at most half the width away."""
        return (self.low + self.high) / 2

    @property
    def width(self) -> float:
        """The distance of the bounds; 0 where the value is exact."""
        return self.high - self.low

    def __str__(self) -> str:
        return f"{100 * self.low:.3f} to {100 * self.high:.3f} %"


class EerState:
    """Sufficient statistics of an EER: update, merge, and read off a bracket or the exact value.

    Parameters
    ----------
    dtype
        The type of the scores: float16, float32 or float64.
    higher
        Meaning of high scores, ``"bonafide"`` or ``"spoof"``.
    unit, uncovered, basis
        As in :class:`~spoofspan.ScoreMass`.

    Examples
    --------
    >>> state = EerState(np.float32, higher="bonafide")
    >>> state.add([0.9, 0.8, 0.3, -0.2], bona_fide=[20, 20, 5, 0], spoof=[0, 0, 15, 20])
    >>> more = EerState(np.float32, higher="bonafide")
    >>> more.add([0.7, 0.1], bona_fide=[20, 12], spoof=[0, 8])
    >>> state.merge(more)
    >>> bracket = state.bracket()
    >>> print(bracket)
    7.792 to 28.481 %
    >>> exact = state.next_pass()                                # the same data once more, in any shards
    >>> exact.add([0.9, 0.8, 0.3, -0.2, 0.7, 0.1], [20, 20, 5, 0, 20, 12], [0, 0, 15, 20, 0, 8])
    >>> found = exact.equal_error_rate()
    >>> round(float(found.value), 6), found.point.decision
    (0.252341, 'spoof iff score < 0.30000001192092896')

    """

    def __init__(
        self,
        dtype: npt.DTypeLike = np.float32,
        *,
        higher: Higher,
        unit: str = "ns",
        uncovered: str = "error",
        basis: str = "",
    ) -> None:
        check_higher(higher)
        kind = np.dtype(dtype).newbyteorder("=")
        if kind.name not in DTYPES:
            raise UsageError(f"dtype={kind.name!r}: scores are {', '.join(DTYPES)} (integers: float64)")
        self.higher, self.unit, self.uncovered, self.basis = higher, unit, uncovered, basis
        self._histogram = Histogram(kind, fine=True)
        self._first: Totals | None = None  # of the first pass, in a further one

    @classmethod
    def of(cls, mass: ScoreMass) -> EerState:
        """The state of a mass after one pass; of points, groups (``mass.select``) and weights (``mass.reweight``) too.

        >>> import spoofspan.demo
        >>> corpus = spoofspan.demo.load()
        >>> mass = spoofspan.overlay(corpus.references, corpus.systems[0.02])
        >>> print(EerState.of(mass).bracket())
        5.198 to 5.213 %
        """
        state = cls(_expected(mass, ScoreMass).dtype, **_facts(mass))
        state.update(mass)
        return state

    # ---------------------------------------------------------------- data in

    def update(self, mass: ScoreMass) -> None:
        """Count a mass."""
        self._check_facts("a mass", _expected(mass, ScoreMass))
        self._check_type(mass.dtype)
        fill(self._histogram, mass)

    def add(
        self, scores: npt.ArrayLike, bona_fide: npt.ArrayLike, spoof: npt.ArrayLike, *, undecided: Amounts = (0, 0)
    ) -> None:
        """Count arrays: for each score (on its own scale) how much bona fide and how much spoof lies under it.

        ``undecided`` is what of both classes lies under no score.
        """
        values = np.asarray(scores)
        if values.dtype.kind in "iu":
            values = values.astype(np.float64)
        elif not isinstance(scores, np.ndarray) and values.dtype == np.float64:
            values = values.astype(self.dtype)  # a list says nothing about its type
        self._check_type(values.dtype)
        amounts = np.asarray(bona_fide), np.asarray(spoof)
        for column in amounts:
            if column.shape != values.shape or values.ndim != 1:
                raise UsageError(f"{values.shape} scores need as many amounts of both classes, not {column.shape}")
            if column.size and (column.dtype.kind not in "iu" or int(column.min()) < 0 or int(column.max()) >= 2**62):
                raise UsageError("amounts must be whole numbers from 0 on, below 2**62")
        if not all(isinstance(one, int | np.integer) and one >= 0 for one in undecided):
            raise UsageError(f"undecided={undecided!r}: must be two whole numbers from 0 on, bona fide and spoof")
        if np.isnan(values).any():
            raise DataError(f"score {int(np.flatnonzero(np.isnan(values))[0])} is NaN; find out why there is no number")
        bona_fide_high = mirrored(values.astype(self.dtype, copy=False), self.higher)
        self._add(bona_fide_high, amounts[0].astype(np.int64), amounts[1].astype(np.int64))
        self._histogram.add_undecided(undecided)

    def _add(self, scores: Values, bona_fide: Int64, spoof: Int64) -> None:
        """Count columns in bona fide polarity; in halves, as long as their sums could overflow."""
        total = float(bona_fide.sum(dtype=np.float64) + spoof.sum(dtype=np.float64))
        if total >= NS_PER_BLOCK and scores.size > 1:
            half = scores.size // 2
            self._add(scores[:half], bona_fide[:half], spoof[:half])
            self._add(scores[half:], bona_fide[half:], spoof[half:])
        else:
            self._histogram.add(amounts_block(scores, bona_fide, spoof))

    def add_bins(self, sums: npt.NDArray[np.int64], *, undecided: Amounts = (0, 0), longer: bool = True) -> None:
        """Count a histogram made elsewhere, on an accelerator say: row 0 bona fide, row 1 spoof.

        A column for each bin of :func:`spoofspan.measures.histogram.first_codes`. ``longer=False`` says that no score
        has other bits than the 16 leading ones.
        """
        if self._histogram.index.level:
            raise UsageError("bins of leading bits belong to the first pass")
        self._histogram.add_sums(sums)
        self._histogram.add_undecided(undecided)
        self._histogram.longer |= longer

    def merge(self, other: EerState) -> None:
        """Add the counts of another state of the same pass."""
        self._check_facts("a state", _expected(other, EerState))
        if self._first != other._first:
            raise UsageError("states of different passes do not add")
        self._histogram.merge(other._histogram)

    def __add__(self, other: EerState) -> EerState:
        both = self.emptied()
        both.merge(self)
        both.merge(other)
        return both

    def __radd__(self, other: int) -> EerState:
        """``sum(states)`` begins with 0."""
        return self.emptied() + self if other == 0 else NotImplemented

    def emptied(self) -> EerState:
        """An empty state of the same pass, for a worker to start with."""
        state = self._like(self._histogram.emptied())
        state._first = self._first
        return state

    def _like(self, histogram: Histogram) -> EerState:
        state = EerState(self.dtype, **_facts(self))
        state._histogram = histogram
        return state

    def _check_facts(self, what: str, other: EerState | ScoreMass) -> None:
        theirs = _facts(other)
        for name, own in _facts(self).items():
            if own != theirs[name]:
                there, here = _differing(theirs[name], own), _differing(own, theirs[name])
                raise UsageError(f"{what} with {name} {there} does not add to a state with {name} {here}")

    def _check_type(self, kind: np.dtype[Any]) -> None:
        if kind.kind != "f" or not np.can_cast(kind, self.dtype):
            raise UsageError(
                f"scores of {kind} do not fit into a state of {self.dtype} without rounding; make the state with "
                f"dtype={kind.name!r}, or convert the scores"
            )

    # ---------------------------------------------------------------- numbers out

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the scores."""
        return self._histogram.dtype

    @property
    def passes(self) -> int:
        """Number of passes that this state's counts are from, itself included."""
        return self._histogram.index.level + 1

    @property
    def is_exact(self) -> bool:
        """True if the value and its threshold are exact, so that no further pass is needed."""
        return self._histogram.is_last or self._histogram.find(self.totals().crossed) is None

    @property
    def nbytes(self) -> int:
        """Bytes that the counts take in memory."""
        return self._histogram.sums.nbytes

    def totals(self) -> Totals:
        """Totals of all data."""
        if self._first is not None:
            return self._first
        counted = self._histogram.totals(), self._histogram.undecided
        return Totals(self.higher, self.unit, self.uncovered, *counted[0], *counted[1])

    def distinct(self) -> DistinctValues:
        """The distinct scores, where these are two at most and the leading bits are all they have."""
        found = self._histogram.distinct()
        return DistinctValues(None if found is None else frozenset(mirrored(one, self.higher) + 0.0 for one in found))

    def next_pass(self) -> EerState:
        """An empty state that looks closer at where the crossing is; it must see all data once more."""
        sums = self._checked()
        found = None if self._histogram.is_last else self._histogram.find(sums.crossed)
        if found is None:
            raise UsageError("this state is exact: no further pass is needed")
        state = self._like(Histogram(self.dtype, found))
        state._first = sums
        return state

    def rates(self) -> tuple[Float64, Float64]:
        """FPR and FNR after the first pass: points of the exact error curve, one after each bin.

        >>> state = EerState(np.float32, higher="bonafide")
        >>> state.add([0.9, 0.3, -0.2], bona_fide=[30, 10, 0], spoof=[0, 20, 20])
        >>> [rates.tolist() for rates in state.rates()]
        [[0.0, 0.0, 0.25, 1.0], [1.0, 0.5, 0.0, 0.0]]
        """
        if self._first is not None:
            raise UsageError("the error curve is that of the first pass; ask the state before next_pass()")
        sums = self._checked()
        called = np.cumsum(np.pad(self._histogram.steps(), ((0, 0), (1, 0))), axis=1)
        return rates(sums, *called)

    def bracket(self, eer_rule: str = "nearest") -> EerBracket:
        """Proven bounds of the EER.

        Inside the bin of the crossing FPR rises from x0 to x1, and FNR falls from y0 to y1. Both points next to the
        crossing lie there, so ``nearest`` is between (x0 + y1) / 2 and (x1 + y0) / 2, and ``interpolated``, where both
        rates are equal, between max(x0, y1) and min(x1, y0).
        """
        sums = self._checked(eer_rule)
        found = self._histogram.find(sums.crossed)
        if found is None or found.inside is None or self._histogram.is_last:
            exact = self.equal_error_rate(eer_rule)
            return EerBracket(*[float(exact.value)] * 2, *[exact.point.threshold] * 2)
        below, inside = found.below, found.inside
        lowest, highest, following = self._scores_of(found)
        if sums.crossed(0, 0):  # the rates are those of the lowest score, wherever that is
            value = float(eer_at(Crossing(None, sums.point(None, 0, 0)), eer_rule))
            return EerBracket(value, value, *self._as_given(lowest, highest))
        # the point after the crossing may have the next score as its threshold
        thresholds = self._as_given(lowest, following)
        start = sums.point(None, *below)
        end = sums.point(None, below[0] + inside[0], below[1] + inside[1])
        if lowest == highest:  # one score: both points are known
            value = float(eer_at(Crossing(start, end), eer_rule))
            return EerBracket(value, value, *thresholds)
        x0, y0 = start.exact_false_positive_rate, start.exact_false_negative_rate
        x1, y1 = end.exact_false_positive_rate, end.exact_false_negative_rate
        mean = eer_rule == "nearest"
        bounds = ((x0 + y1) / 2, (x1 + y0) / 2) if mean else (max(x0, y1), min(x1, y0))
        return EerBracket(float(bounds[0]), float(bounds[1]), *thresholds)

    def next_pass_scores(self) -> tuple[float, float]:
        """The lowest and the highest score that the next pass looks at, on the scale of the scores."""
        found = self._histogram.find(self._checked().crossed)
        if found is None:
            raise UsageError("this state is exact: no further pass is needed")
        lowest, _, following = self._scores_of(found)
        return self._as_given(lowest, following)

    def _scores_of(self, found: BinIndex) -> tuple[float, float, float]:
        """The ends of the bin of the crossing, and that of the next one that is not empty, where a threshold may be."""
        lowest, highest = (score_of_code(code, self.dtype) for code in found.span)
        following = float("inf") if found.following is None else score_of_code(found.following[1], self.dtype)
        return lowest, highest, following

    def crossing(self) -> Crossing:
        """The two neighbouring operating points between which FPR - FNR changes its sign, exactly."""
        sums = self._checked()
        if self._histogram.is_last:
            return crossing_at(sums, self._histogram.step(sums.crossed))
        if self._histogram.find(sums.crossed) is not None:
            raise UsageError("the exact value needs one more pass over the data: next_pass(); bounds: bracket()")
        return crossing_at(sums, None)

    def equal_error_rate(self, eer_rule: str = "nearest") -> EqualErrorRate:
        """The exact EER with its operating point and neighbours, as :func:`spoofspan.equal_error_rate` of a mass."""
        self._check_rule(eer_rule)
        return eer_of(self.crossing(), eer_rule)

    def _checked(self, eer_rule: str = "nearest") -> Totals:
        """The totals, if they define an EER and this pass has seen what the last one did."""
        self._check_rule(eer_rule)
        sums = self.totals()
        sums.check()
        expected = self._histogram.index.inside
        if expected is not None and self._histogram.totals() != expected:
            raise DataError(
                f"this pass found {self._histogram.totals()} {self.unit} near the crossing, the last one {expected}; "
                "every pass must see the same data, each of them once"
            )
        return sums

    def _check_rule(self, eer_rule: str) -> None:
        if eer_rule not in NEIGHBOUR_RULES:
            raise UsageError(
                f"eer_rule={eer_rule!r}: a state has {' and '.join(NEIGHBOUR_RULES)}; other rules need the whole curve"
            )

    def _as_given(self, lowest: float, highest: float) -> tuple[float, float]:
        return (lowest, highest) if self.higher == "bonafide" else (-highest + 0.0, -lowest + 0.0)

    # ---------------------------------------------------------------- bytes

    def to_bytes(self) -> bytes:
        """Everything, for a file or another process; at most 2 MB."""
        counted = self._histogram
        header = {
            "version": VERSION,
            "dtype": self.dtype.name,
            **_facts(self),
            "place": asdict(counted.index),
            "undecided": counted.undecided,
            "lowest_following": counted.lowest_following,
            "first": None if self._first is None else asdict(self._first),
            "longer": counted.longer,
        }
        packed = json.dumps(header).encode() + b"\n" + counted.to_bytes()
        return MAGIC + hashlib.sha256(packed).digest() + packed

    @classmethod
    def from_bytes(cls, data: bytes) -> EerState:
        """Undo :meth:`to_bytes`; anything else than the bytes of a state is refused."""
        start = len(MAGIC) + hashlib.sha256().digest_size
        if not data.startswith(MAGIC):
            raise DataError("these bytes are not those of an EerState; write them with to_bytes()")
        if hashlib.sha256(data[start:]).digest() != data[len(MAGIC) : start]:
            raise DataError("the bytes of this EerState are damaged or incomplete; make or send it again")
        header, _, rest = data[start:].partition(b"\n")
        stated = parse_json(header)
        if stated.get("version") != VERSION:
            raise DataError(
                f"this EerState has version {stated.get('version')}, and this spoofspan reads version {VERSION}; "
                "use the same spoofspan on all machines"
            )
        place: dict[str, Any] = {
            name: tuple(one) if isinstance(one, list) else one for name, one in stated["place"].items()
        }
        state = cls(stated["dtype"], **{name: stated[name] for name in FACTS})
        counted = state._histogram if not place["level"] else Histogram(state.dtype, BinIndex(**place))
        counted.add_bytes(rest)
        counted.undecided = cast(Amounts, tuple(stated["undecided"]))
        counted.lowest_following, counted.longer = stated["lowest_following"], stated["longer"]
        state._histogram = counted
        state._first = None if stated["first"] is None else Totals(**stated["first"])
        return state

    def __reduce__(self) -> tuple[Any, ...]:
        return EerState.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        try:
            now = f"EER {self.bracket()}"
        except UndefinedMeasureError:
            now = "no EER yet"
        except (DataError, UsageError):
            now = "in the middle of a pass"
        return f"EerState({self.dtype}, pass {self.passes}, {now})"


def _expected(given: T, kind: type[T]) -> T:
    """Return an argument of the right type; refuse others."""
    if not isinstance(given, kind):
        maker = "ss.overlay(references, scores)" if kind is ScoreMass else "ss.EerState.from_bytes(data)"
        raise UsageError(f"this must be what {maker} returns, not {type(given).__name__}")
    return given


def _differing(one: str, other: str) -> str:
    """Fields that differ between two descriptions."""
    return ", ".join(part for part in one.split(", ") if part not in other.split(", ")) or "(none)"


def _facts(source: EerState | ScoreMass) -> dict[str, Any]:
    """Properties that two states, or a state and a mass, must share to be added."""
    return {name: getattr(source, name) for name in FACTS}


def amounts_block(scores: Values, bona_fide: Int64, spoof: Int64) -> MassBlock:
    """A block of a mass from its columns."""
    classes, mixed = np.full(scores.size, BONA_FIDE, np.int8), np.flatnonzero(spoof)
    return MassBlock(scores, classes, bona_fide, mixed, np.zeros(mixed.size, np.int64), spoof[mixed])
