"""EERs and F1 inside of a training loop: TorchMetrics metrics that count on the device of the scores.

::

    metric = RangeEER(hop=0.02, higher="bonafide").to(device)
    for preds, target, lengths in batches:        # (B, T) scores; labels (B, T) or B lists of ranges; B lengths
        metric.update(preds, target, lengths)
    metric.compute()                              # {"range_eer": ..., "range_eer_low": ..., "range_eer_threshold": ...}

Which frames count, for how long and for which class, is settled on the host from the references; the scores stay on
their device, which counts them into 2 x 69,635 integers. States add, so the sums of all processes (DDP, Accelerate,
Lightning) give the same bits as one process. From these sums follow proven bounds of the EER and their middle, which is
warned of where it may be more than 0.1 points off, and refused as a scalar (``bracket=False``) from 0.5 points on. With
``exact=True`` the scores are kept on the device too (20 bytes each), and the value is the exact one.

A ``DistributedSampler`` repeats samples so that all processes get equally many: :class:`Unpadded` says which to drop,
and ``size=`` warns of those that were counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from operator import index
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import (
    DataError,
    NothingToMeasureError,
    SpoofspanWarning,
    UndefinedMeasureError,
    UsageError,
    warn_user,
)
from spoofspan.base.times import Int64, warn_of_milliseconds
from spoofspan.data.references import Range, References
from spoofspan.data.scores import Higher, Scores
from spoofspan.evaluation.plan import EvaluationOptions, Plan, Undefined
from spoofspan.mass.diagnosis import LATE_FRAMES
from spoofspan.mass.points import WHOLE_UTTERANCE, check_resolution, point_basis
from spoofspan.mass.ranges import range_basis
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.confusion import ConfusionMatrix, f1
from spoofspan.measures.eer import Amounts, polarity_caution
from spoofspan.measures.eer_state import EerBracket, EerState
from spoofspan.measures.histogram import first_codes, rest_bits
from spoofspan.measures.measure import Measure, flat_name
from spoofspan.measures.operating_point import Threshold, Totals, check_threshold

try:
    import torch
    from torchmetrics import Metric

    from spoofspan.integrations.frame_labels import check_labels, label_ranges, labels_as_tensor, last_labels
except ModuleNotFoundError as error:
    raise UsageError(f"{error.name} is not installed; pip install 'spoofspan[torch]'") from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.data.rules import RuleArguments

# Amounts (ns) are added up in parts of this size too, so that sums past an int64 are noticed.
PART = 2**32
# Bounds of an EER that are farther apart are warned of; the middle of bounds this far apart says too little.
WIDE, TOO_WIDE = 0.002, 0.01
BITS = {f"float{n}": (getattr(torch, f"float{n}"), getattr(torch, f"int{n}")) for n in (16, 32, 64)}


class _FrameMetric(Metric):  # type: ignore[misc]
    """Batches of frame scores and their references in, scores with the amounts of both classes under them out."""

    is_differentiable = False
    full_state_update = False

    _measure: Measure
    undecided: torch.Tensor
    not_numbers: torch.Tensor
    utterances: torch.Tensor

    def __init__(
        self,
        hop: float,
        higher: Higher,
        dtype: str,
        undefined: Undefined,
        spoof_label: Literal[0, 1] | None,
        size: int | None,
        options: EvaluationOptions,
    ) -> None:
        super().__init__()
        warn_of_milliseconds(check_resolution(hop, "hop"), "hop")
        if dtype not in BITS:
            raise UsageError(f"dtype={dtype!r}: valid: {', '.join(map(repr, BITS))}")
        if spoof_label not in (0, 1, None):
            raise UsageError(f"spoof_label={spoof_label!r}: valid: 0, 1")
        if undefined not in ("raise", "nan"):
            raise UsageError(f"undefined={undefined!r}: valid: 'raise', 'nan'")
        self._plan = options.plan(self._measure, hop)
        pooling = self._plan.rules.pooling
        if self._plan.kind == "point" and pooling != "min":
            raise UsageError(
                f"pooling={pooling!r}: this metric pools by the minimum; use spoofspan.evaluate for another"
            )
        self.hop, self.higher, self.undefined, self.size = hop, higher, undefined, size
        self.dtype_name, self.spoof_label = dtype, spoof_label
        self.add_state("undecided", torch.zeros(2, dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("not_numbers", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("utterances", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")
        # a MetricCollection updates only one of several metrics whose states have the same names and look alike so far
        settings = repr((str(self._plan.measure), self._plan.rules, hop, higher, dtype, spoof_label))
        self.add_state(f"settings_{sha256(settings.encode()).hexdigest()[:16]}", torch.zeros(()), dist_reduce_fx="sum")

    @property
    def name(self) -> str:
        """The name of the measure, as loggers take it."""
        return flat_name(str(self._plan.measure))

    def __repr__(self) -> str:
        stated = {"hop": self.hop, "higher": self.higher, "spoof_label": self.spoof_label, "size": self.size}
        given = (f"{name}={value!r}" for name, value in (self._stated() | stated).items() if value is not None)
        return f"{type(self).__name__}({', '.join(given)})"

    def _stated(self) -> dict[str, Any]:
        """Arguments to print besides those that all metrics have."""
        return {}

    def set_dtype(self, dst_type: Any) -> _FrameMetric:
        """Nothing to do: counts are integers, whatever the type of the model."""
        return self

    # ---------------------------------------------------------------- a batch in

    def update(
        self,
        preds: torch.Tensor,
        target: References | Sequence[Sequence[Range]] | torch.Tensor,
        lengths: torch.Tensor | Sequence[int] | None = None,
    ) -> None:
        """Count a batch.

        Parameters
        ----------
        preds : torch.Tensor
            Scores (batch, frames).
        target : torch.Tensor, References or list of lists of ranges
            Labels of frames (batch, frames), negative where there is none; or :class:`spoofspan.References`, or for
            each utterance a list of ``(start, end, label)`` in seconds, in the order of the batch.
        lengths : sequence of int or torch.Tensor, optional
            The number of frames of each utterance. Without it, an utterance ends with its last label that is not
            negative; with ranges, all frames count. On a device, fetching them waits for it.

        """
        if not isinstance(preds, torch.Tensor) or preds.ndim != 2:
            found = tuple(preds.shape) if isinstance(preds, torch.Tensor) else f"a {type(preds).__name__}"
            logits = isinstance(found, tuple) and len(found) == 3 and found[-1] == 2
            remedy = "; of the logits of two classes, give their difference" if logits else ""
            raise UsageError(f"preds must be a tensor (batch, frames) of scores, not {found}{remedy}")
        if preds.device != self.undecided.device:
            raise UsageError(
                f"preds are on {preds.device}, the metric on {self.undecided.device}; use metric.to(device)"
            )
        target = labels_as_tensor(target)
        if _are_lengths(target):
            raise UsageError(
                "target must be labels of frames (batch, frames), or the ranges of each utterance in seconds; the "
                "number of frames of each utterance comes third: update(preds, target, lengths)"
            )
        width = preds.shape[1]
        if isinstance(target, torch.Tensor):
            frames = None if lengths is None else whole_lengths(lengths)
            fewest = width - LATE_FRAMES if frames is None else max(frames, default=0)
            check_labels(target, preds.shape, fewest, width if frames is None else width + LATE_FRAMES)
            frames = whole_lengths(last_labels(target)) if frames is None else frames
        else:
            frames = [width] * len(preds) if lengths is None else whole_lengths(lengths)
        if len(frames) != preds.shape[0] or (frames and not 0 <= min(frames) <= max(frames) <= width):
            raise UsageError(f"lengths must be one number of frames, up to {width}, for each utterance")
        if isinstance(target, torch.Tensor):
            target = label_ranges(target, frames, self.hop, self.spoof_label)
        if not frames:
            return
        values = self._in_our_type(preds.detach())
        rows = rows_of(batch_references(target, len(frames)), frames, self.hop, self._plan)
        # from rows that are numbered through the batch to places in the padded one
        before = np.concatenate(([0], np.cumsum(frames)))
        utterance = np.searchsorted(before, rows.first, side="right") - 1
        shift = utterance * width - before[utterance]
        longest = int((rows.last - rows.first).max(initial=0))
        first = _sent(rows.first + shift, values.device)
        last = first if longest == 0 else _sent(rows.last + shift, values.device)
        inside = torch.arange(width, device=values.device) < _sent(np.array(frames), values.device)[:, None]
        self.not_numbers += (torch.isnan(values) & inside).sum()
        self.utterances += len(frames)
        values = values.reshape(-1)
        lowest = values[first]
        for step in range(1, longest + 1):
            lowest = torch.minimum(lowest, values[torch.minimum(first + step, last)])
        self._take(lowest, np.stack((rows.bona_fide, rows.spoof)))
        self.undecided += _sent(np.array(rows.undecided), self.undecided.device)

    def _take(self, scores: torch.Tensor, amounts: Any) -> None:
        """Count scores in bona fide polarity, and how much of both classes lies under each."""
        raise NotImplementedError

    def _in_our_type(self, scores: torch.Tensor) -> torch.Tensor:
        """Scores in bona fide polarity and in the type of the state, if that loses nothing."""
        kind = BITS[self.dtype_name][0]
        if not scores.is_floating_point():
            raise UsageError(f"preds must be floats, not {scores.dtype}: measures need scores, and no decisions")
        wide = torch.promote_types(scores.dtype, kind)
        if wide != kind:
            raise UsageError(
                f"preds of {scores.dtype} do not fit into {kind} without rounding; give the metric "
                f"dtype={str(wide).removeprefix('torch.')!r}"
            )
        converted = scores.to(kind)
        return converted if self.higher == "bonafide" else -converted

    def _number(self, value: float) -> torch.Tensor:
        """A number on the device; doubles hold every bit, and some accelerators have none."""
        kind = torch.float32 if self.undecided.device.type == "mps" else torch.float64
        return torch.tensor(value, dtype=kind, device=self.undecided.device)

    def _check_counted(self) -> None:
        """Refuse NaN, and warn of utterances that were counted twice."""
        if int(self.not_numbers):
            raise DataError(f"{int(self.not_numbers)} scores are NaN; find out why the model gave no number there")
        counted, running = int(self.utterances), torch.distributed.is_available() and torch.distributed.is_initialized()
        remedy = "a DistributedSampler repeats some, so that all processes get equally many; drop them with Unpadded"
        if self.size is not None and counted > self.size:
            warn_user(
                f"{self._plan.measure}: {counted} utterances were counted, and the data set has {self.size}: {remedy}"
            )
        elif self.size is None and self._is_synced and running and torch.distributed.get_world_size() > 1:
            warn_user(
                f"{self._plan.measure}: {counted} utterances were counted in {torch.distributed.get_world_size()} "
                f"processes, perhaps some of them twice; give size=len(dataset), which checks it: {remedy}"
            )


class EER(_FrameMetric):
    """An EER of frames: arguments, state and numbers of :class:`RangeEER`, :class:`PointEER`, :class:`UtteranceEER`."""

    higher_is_better = False
    plot_lower_bound = 0.0

    bins: torch.Tensor
    counted: torch.Tensor
    longer: torch.Tensor

    def __init__(
        self,
        hop: float,
        *,
        higher: Higher,
        exact: bool = False,
        bracket: bool = True,
        dtype: Literal["float16", "float32", "float64"] = "float32",
        undefined: Undefined = "raise",
        spoof_label: Literal[0, 1] | None = None,
        size: int | None = None,
        eer_rule: Literal["nearest", "interpolated"] = "nearest",
        convention: str = "default",
        **rules: Unpack[RuleArguments],
    ) -> None:
        options = EvaluationOptions(convention, eer_rule, rules=rules)
        super().__init__(hop, higher, dtype, undefined, spoof_label, size, options)
        self.exact, self.bracket = exact, bracket
        self._empty_state()._check_rule(self._plan.eer_rule)
        first = torch.from_numpy(first_codes(np.dtype(dtype), True))
        self.register_buffer("first_codes", first, persistent=False)
        self.add_state("bins", torch.zeros(2, first.numel(), dtype=torch.int64), dist_reduce_fx="sum")
        for name in ("counted", "longer"):
            self.add_state(name, torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")
        if exact:
            for name in ("kept_scores", "kept_bona_fide", "kept_spoof"):
                self.add_state(name, [], dist_reduce_fx="cat")

    def _empty_state(self) -> EerState:
        rules, resolution = self._plan.rules, self._plan.measure.resolution or WHOLE_UTTERANCE
        is_range = self._plan.kind == "range"
        unit, basis = ("ns", range_basis(rules)) if is_range else ("points", point_basis(resolution, rules))
        return EerState(self.dtype_name, higher=self.higher, unit=unit, uncovered=rules.uncovered, basis=basis)

    def _take(self, scores: torch.Tensor, amounts: Any) -> None:
        self._count(scores, amounts)
        if self.exact:
            self.kept_scores.append(scores)
            self.kept_bona_fide.append(_sent(amounts[0], scores.device))
            self.kept_spoof.append(_sent(amounts[1], scores.device))

    def _count(self, scores: torch.Tensor, amounts: Any) -> None:
        # + 0.0 turns -0.0 into 0.0
        kind, whole = BITS[self.dtype_name]
        bits = (scores + 0.0).view(whole).to(torch.int64)
        rest = rest_bits(np.dtype(self.dtype_name))
        self.longer += (bits & ((1 << rest) - 1) != 0).sum()
        # the lower a negative float, the higher are its other bits
        codes = bits ^ ((bits >> 63) & ((1 << 8 * kind.itemsize - 1) - 1))
        place = torch.bucketize(codes, self.first_codes, right=True) - 1
        self.bins.index_add_(1, place, _sent(amounts, scores.device))
        self.counted += int(amounts.sum(dtype=np.float64) / PART) + 1

    def sync(self, *arguments: Any, **how: Any) -> None:
        """Gather the states of all processes; one that has seen no batch has nothing to give, but takes part."""
        if self.exact and not self.kept_scores:
            kinds = {"scores": BITS[self.dtype_name][0], "bona_fide": torch.int64, "spoof": torch.int64}
            for name, kind in kinds.items():
                getattr(self, f"kept_{name}").append(torch.zeros(0, dtype=kind, device=self.bins.device))
        super().sync(*arguments, **how)

    # ---------------------------------------------------------------- numbers out

    def compute(self) -> torch.Tensor | dict[str, torch.Tensor]:
        """The EER so far, of all processes: bounds, their middle and its threshold; with ``exact`` the exact value."""
        name = self.name
        try:
            found = self.bounds()
            self._warn(found)
            numbers = (found.midpoint, found.low, found.high, _middle(found.lowest_threshold, found.highest_threshold))
        except UndefinedMeasureError:
            if self.undefined == "raise":
                raise
            numbers = (float("nan"),) * 4
        names = (name, f"{name}_low", f"{name}_high", f"{name}_threshold")
        tensors = {key: self._number(value) for key, value in zip(names, numbers, strict=True)}
        return tensors if self.bracket else tensors[name]

    def _warn(self, found: EerBracket) -> None:
        """Warn of wide bounds and of the wrong polarity; refuse the middle of bounds that say too little."""
        cautions = *self._first_pass().distinct().cautions(found.low), *polarity_caution(found.low, self.higher)
        if found.width > WIDE:
            text = f"the bins of the scores bound the EER only by {100 * found.low:.2f} and {100 * found.high:.2f} %"
            if found.width > TOO_WIDE and not self.bracket:
                raise UndefinedMeasureError(f"{text}: one number would mislead; use exact=True, or bracket=True")
            cautions = (f"{text}; use exact=True for the exact value", *cautions)
        for text in cautions:
            # compute() is wrapped
            warn_user(f"{self._plan.measure}: {text}", SpoofspanWarning)

    @property
    def threshold(self) -> float:
        """The threshold of the EER so far, or the middle of its bounds."""
        found = self.bounds()
        return _middle(found.lowest_threshold, found.highest_threshold)

    def bounds(self) -> EerBracket:
        """The bounds of the EER and of its threshold; with ``exact`` they are one number each."""
        state = self._first_pass()
        state.distinct().refuse(str(self._plan.measure))
        return self._finished(state).bracket(self._plan.eer_rule)

    def eer_state(self) -> EerState:
        """The state on the host, to merge, store or read off; of this process, where nothing has been synchronised.

        With ``exact`` it is the state after all passes.
        """
        return self._finished(self._first_pass())

    def _finished(self, state: EerState) -> EerState:
        return self._after_all_passes(state) if self.exact else state

    def _first_pass(self) -> EerState:
        self._check_counted()
        if int(self.counted) >= 2**62 // PART:
            raise DataError(f"{self._plan.measure}: more was counted than fits into 64 bits; call reset() now and then")
        state = self._empty_state()
        bona_fide, spoof = self.undecided.tolist()
        state.add_bins(self.bins.cpu().numpy(), undecided=(bona_fide, spoof), longer=bool(self.longer))
        return state

    def plot(self, val: Any = None, ax: Any = None) -> tuple[Any, Any]:
        """The DET curve so far; or values of earlier steps, as those of all metrics are drawn.

        Parameters
        ----------
        val : optional
            What :meth:`compute` returned, or a list of such values, one for each step.
        ax : matplotlib Axes, optional
            Where it is drawn.

        Returns
        -------
        tuple of matplotlib Figure and Axes

        """
        if val is not None:
            return self._plot(val, ax)  # type: ignore[no-any-return]
        from spoofspan.report.figures.figure_data import DetData
        from spoofspan.report.figures.style import canvas_in
        from spoofspan.report.figures.system_figures import draw_det

        found, rates = self.bounds(), self._first_pass().rates()
        name = f"{self._plan.measure}"
        with canvas_in(ax, None, None, "column") as canvas:
            drawn = draw_det(
                [DetData(name, *rates, found.midpoint, found.midpoint, found.midpoint, None, None)], canvas
            )
        return drawn.figure, drawn

    def _stated(self) -> dict[str, Any]:
        return {"exact": self.exact or None, "bracket": None if self.bracket else False}

    def _after_all_passes(self, state: EerState) -> EerState:
        """Further passes over what was kept: only scores near the crossing leave the device, once."""
        sums = state.totals()
        if not (sums.all_bona_fide and sums.all_spoof) or state.is_exact:
            return state
        low, high = state.next_pass_scores()
        low, high = (low, high) if self.higher == "bonafide" else (-high, -low)
        kept = [_joined(self.kept_scores), _joined(self.kept_bona_fide), _joined(self.kept_spoof)]
        chosen = (kept[0] >= low) & (kept[0] <= high)
        scores, bona_fide, spoof = (column[chosen].cpu().numpy() for column in kept)
        while True:
            state = state.next_pass()
            state.add(scores if self.higher == "bonafide" else -scores, bona_fide, spoof)
            if state.is_exact:
                return state


def _middle(low: float, high: float) -> float:
    """The middle of two thresholds; where one of them is infinite, the other."""
    finite = [one for one in (low, high) if np.isfinite(one)]
    return sum(finite) / len(finite) if finite else high


def _are_lengths(target: Any) -> bool:
    """True if these are numbers of frames, which once came second."""
    if isinstance(target, torch.Tensor | np.ndarray):
        return target.ndim < 2
    return isinstance(target, Sequence) and not isinstance(target, str) and bool(target) and isinstance(target[0], int)


def _sent(array: Any, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device, non_blocking=True)


def _joined(kept: Any) -> torch.Tensor:
    """A list of what each update kept; one tensor, where all processes' have been gathered."""
    return kept if isinstance(kept, torch.Tensor) else torch.cat(kept)


# ---------------------------------------------------------------- what lies under the scores of a batch
#
# References, numbers of frames and rules decide which scores count, for how long and for which class; the values do
# not. So the rules run where the references are, on the host, over *row numbers in the place of scores*, and an
# accelerator needs three or four small columns to do the rest with scores that never leave it.


@dataclass(frozen=True, eq=False)
class Rows:
    """The points or frames that count: each has the lowest of the scores ``first`` to ``last``, and its amounts.

    Rows are numbered through the batch, those of the second utterance after those of the first.
    """

    first: Int64
    last: Int64
    bona_fide: Int64
    spoof: Int64
    undecided: Amounts


def rows_of(references: References, frames: Sequence[int], hop: float, plan: Plan) -> Rows:
    """Lay the references of a batch over so many frames of each of its utterances.

    >>> from spoofspan.measures.measure import Measure
    >>> from spoofspan.evaluation.plan import EvaluationOptions
    >>> references = References.from_ranges({"u1": [(0.0, 0.03, "bonafide"), (0.03, 0.06, "spoof")]})
    >>> rows = rows_of(references, [3], 0.02, EvaluationOptions().plan(Measure("range-eer"), 0.02))
    >>> rows.first.tolist(), rows.bona_fide.tolist(), rows.spoof.tolist()
    ([0, 1, 2], [20000000, 10000000, 0], [0, 10000000, 20000000])
    """
    offsets = offsets_of(frames)
    numbers = np.arange(offsets[-1], dtype=np.float64)

    def mass_of(values: Any) -> ScoreMass:
        scores = Scores.from_columns(references.utterances, offsets, values, hop=hop, higher="bonafide")
        return plan.mass(references, scores)[0]

    try:
        blocks = list(mass_of(numbers).blocks())
    except NothingToMeasureError:
        blocks = []
    columns = [(block.scores, block.bona_fide, block.spoof) for block in blocks]
    empty = np.zeros(0, np.int64)
    first, bona_fide, spoof = (np.concatenate(column) for column in zip((empty,) * 3, *columns, strict=True))
    last = first
    if plan.kind == "point" and blocks:
        # the lowest of the numbers turned round is the last
        last = -np.concatenate([block.scores for block in mass_of(-numbers).blocks()])
    counted = np.flatnonzero((bona_fide > 0) | (spoof > 0))
    return Rows(
        first[counted].astype(np.int64),
        last[counted].astype(np.int64),
        bona_fide[counted],
        spoof[counted],
        (sum(block.undecided_bona_fide for block in blocks), sum(block.undecided_spoof for block in blocks)),
    )


def batch_references(references: References | Sequence[Sequence[Range]], size: int) -> References:
    """The references of a batch: as they are, or from a list of ranges for each of its utterances."""
    if not isinstance(references, References):
        if isinstance(references, Mapping | str):
            raise UsageError("references must be References, or a list with the ranges of each utterance of the batch")
        built = References.from_ranges({str(i): list(rows) for i, rows in enumerate(references)})
        # one batch may well have one class only
        references = replace(built, names_both_classes=True)
    if len(references) != size:
        raise UsageError(f"{len(references)} references for a batch of {size}; give one for each, in the same order")
    return references


def whole_lengths(lengths: Any) -> list[int]:
    """The number of frames of each utterance; shares of the longest one, as some loaders give them, are refused.

    >>> whole_lengths(torch.tensor([100, 50]))
    [100, 50]
    """
    try:
        return [index(one) for one in (lengths.tolist() if isinstance(lengths, torch.Tensor) else lengths)]
    except TypeError:
        raise UsageError(
            "lengths must be a list of whole numbers, the frames of each utterance: mask.sum(1) of a mask, and "
            "(lengths * scores.shape[1]).round().long() of shares of the longest one"
        ) from None


# ---------------------------------------------------------------- the metrics


class RangeEER(EER):
    """The range-based EER of all batches so far.

    Parameters
    ----------
    hop : float
        Spacing of the scores in seconds.
    higher : {"bonafide", "spoof"}
        What high scores mean.
    exact : bool
        Keep the scores on the device (20 bytes each), so that the value is the exact one.
    bracket : bool
        Whether :meth:`compute` returns the value with its bounds, or the value alone as one scalar. There is no such
        value where the bounds are more than 1 point apart.
    dtype : {"float32", "float16", "float64"}
        The type that scores are counted in; one that would round them is refused.
    undefined : {"raise", "nan"}
        What :meth:`compute` does where only one class was seen, or ``bracket=False`` has no number to return.
    spoof_label : {0, 1}, optional
        What labels of frames call spoof, where :meth:`update` is given such.
    size : int, optional
        The number of utterances of the data set, to warn of those that were counted twice.
    eer_rule : {"nearest", "interpolated"}
        How the EER is computed from the error curve.
    convention : str
        Name of a set of rules.
    **rules
        Rules of :func:`spoofspan.range_eer`.

    Examples
    --------
    >>> metric = RangeEER(hop=0.02, higher="bonafide", exact=True)
    >>> scores = torch.tensor([[0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3, 0.0, 0.0]])
    >>> metric.update(scores, [[(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]], [8])
    >>> metric.compute()["range_eer"].item()
    0.25
    >>> metric = RangeEER(hop=0.02, higher="bonafide", exact=True, spoof_label=1)
    >>> metric.update(scores, torch.tensor([[0, 0, 0, 0, 1, 1, 1, 1, -100, -100]]))
    >>> metric.compute()["range_eer"].item()
    0.25

    """

    _measure = Measure("range-eer")


class PointEER(EER):
    """The point-based EER at a resolution of all batches so far.

    Parameters
    ----------
    resolution : float
        Length of a point in seconds.
    hop, higher, exact, bracket, dtype, undefined, spoof_label, size, eer_rule, convention, **rules
        As of :class:`RangeEER`; rules are those of :func:`spoofspan.point_eer`.

    Examples
    --------
    >>> metric = PointEER(0.04, hop=0.02, higher="bonafide", exact=True)
    >>> scores = torch.tensor([[0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]])
    >>> metric.update(scores, [[(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]], [8])
    >>> metric.compute()["point_eer_40ms"].item(), metric
    (0.0, PointEER(resolution=0.04, exact=True, hop=0.02, higher='bonafide'))

    """

    def __init__(
        self,
        resolution: float,
        hop: float,
        *,
        higher: Higher,
        exact: bool = False,
        bracket: bool = True,
        dtype: Literal["float16", "float32", "float64"] = "float32",
        undefined: Undefined = "raise",
        spoof_label: Literal[0, 1] | None = None,
        size: int | None = None,
        eer_rule: Literal["nearest", "interpolated"] = "nearest",
        convention: str = "default",
        **rules: Unpack[RuleArguments],
    ) -> None:
        self._measure = Measure("point-eer", resolution)
        how: dict[str, Any] = {"exact": exact, "bracket": bracket, "dtype": dtype, "undefined": undefined}
        how |= {"spoof_label": spoof_label, "size": size, "eer_rule": eer_rule, "convention": convention}
        super().__init__(hop, higher=higher, **how, **rules)

    def _stated(self) -> dict[str, Any]:
        return {"resolution": self._measure.resolution} | super()._stated()


class UtteranceEER(EER):
    """The EER of whole utterances of all batches so far: one score each, the most spoofed of its frames.

    Parameters
    ----------
    hop, higher, exact, bracket, dtype, undefined, spoof_label, size, eer_rule, convention, **rules
        As of :class:`RangeEER`; rules are those of :func:`spoofspan.utterance_eer`.

    Examples
    --------
    >>> metric = UtteranceEER(hop=0.02, higher="bonafide", spoof_label=1, exact=True)
    >>> metric.update(torch.tensor([[0.9, 0.8], [0.7, 0.1], [0.6, 0.9]]), torch.tensor([[0, 0], [0, 1], [0, 0]]))
    >>> metric.compute()["utterance_eer"].item()
    0.0

    """

    _measure = Measure("utterance-eer")


class RangeF1(_FrameMetric):
    """The F1 of spoofed time at a threshold, of all batches so far.

    Parameters
    ----------
    threshold : float
        On the scale of the scores; a :class:`spoofspan.Measurement` stands for its threshold.
    hop, higher, dtype, undefined, spoof_label, size, convention, **rules
        As of :class:`RangeEER`.

    Examples
    --------
    >>> metric = RangeF1(0.15, hop=0.02, higher="bonafide", spoof_label=1)
    >>> scores = torch.tensor([[0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]])
    >>> metric.update(scores, torch.tensor([[0, 0, 0, 0, 1, 1, 1, 1]]))
    >>> metric.compute().item()
    0.75

    """

    higher_is_better = True
    plot_lower_bound, plot_upper_bound = 0.0, 1.0

    _measure = Measure("range-f1")
    called: torch.Tensor
    totals: torch.Tensor

    def __init__(
        self,
        threshold: Threshold,
        hop: float,
        *,
        higher: Higher,
        dtype: Literal["float16", "float32", "float64"] = "float32",
        undefined: Undefined = "raise",
        spoof_label: Literal[0, 1] | None = None,
        size: int | None = None,
        convention: str = "default",
        **rules: Unpack[RuleArguments],
    ) -> None:
        options = EvaluationOptions(convention, rules=rules)
        super().__init__(hop, higher, dtype, undefined, spoof_label, size, options)
        self.threshold = check_threshold(threshold)
        for name in ("called", "totals"):
            self.add_state(name, torch.zeros(2, dtype=torch.int64), dist_reduce_fx="sum")

    def _stated(self) -> dict[str, Any]:
        return {"threshold": self.threshold}

    def _take(self, scores: torch.Tensor, amounts: Any) -> None:
        sent = _sent(amounts, scores.device)
        self.called += (sent * (scores < self._limit())).sum(1)
        self.totals += sent.sum(1)

    def _limit(self) -> float:
        """The threshold in bona fide polarity and in the type of the scores, which are below it as they were before."""
        limit = self.threshold if self.higher == "bonafide" else -self.threshold
        kind = np.dtype(self.dtype_name).type
        rounded = kind(limit)
        return float(np.nextafter(rounded, kind(np.inf)) if float(rounded) < limit else rounded)

    def compute(self) -> torch.Tensor:
        """The F1 so far, of all processes."""
        self._check_counted()
        all_of_both, undecided = self.totals.tolist(), self.undecided.tolist()
        sums = Totals(self.higher, "ns", self._plan.rules.uncovered, *all_of_both, *undecided)
        part, whole = f1(ConfusionMatrix.of(sums.point(self._limit(), *self.called.tolist())))
        if not whole and self.undefined == "raise":
            raise UndefinedMeasureError("there is no spoof, and nothing is called spoof, so F1 has no value")
        return self._number(part / whole if whole else float("nan"))

    def plot(self, val: Any = None, ax: Any = None) -> tuple[Any, Any]:
        """The value so far, or values of earlier steps (``val``), in ``ax`` if given."""
        return self._plot(val, ax)  # type: ignore[no-any-return]


class Unpadded:
    """Samples of a process that are real, and which a ``DistributedSampler`` repeated to fill up the last round.

    The sampler deals out a list of all samples (shuffled or not) in turn, and pads its end: the process of rank r gets
    places r, r + world, r + 2 world, ... of it, and what lies past the size of the data set is there twice.

    Parameters
    ----------
    size : int
        Of the data set.
    rank, world_size : int, optional
        Which process this is, and of how many; from ``torch.distributed`` if not given.

    Examples
    --------
    >>> unpadded = Unpadded(size=5, rank=1, world_size=2)        # places 1, 3 and 5: the last one is padding
    >>> unpadded(2), unpadded(1)
    ([0, 1], [])

    """

    def __init__(self, size: int, rank: int | None = None, world_size: int | None = None) -> None:
        """``size`` is that of the data set; rank and world size come from ``torch.distributed`` if not given."""
        running = torch.distributed.is_available() and torch.distributed.is_initialized()
        self.size = size
        self.rank = (torch.distributed.get_rank() if running else 0) if rank is None else rank
        self.world_size = (torch.distributed.get_world_size() if running else 1) if world_size is None else world_size
        if not 0 <= self.rank < self.world_size:
            raise UsageError(f"rank {self.rank} of {self.world_size} processes: ranks count from 0")
        self._seen = 0

    def __call__(self, count: int) -> list[int]:
        """The rows to keep of the next batch, which has so many."""
        places = [self.rank + self.world_size * (self._seen + row) for row in range(count)]
        self._seen += count
        return [row for row, place in enumerate(places) if place < self.size]

    def reset(self) -> None:
        """Begin again, with a new epoch."""
        self._seen = 0
