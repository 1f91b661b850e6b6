"""EERs inside of a training loop: the numbers of the package, on the device, over batches and processes."""

import os
import random
import socket
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from outcomes import build
from random_corpora import random_case

import spoofspan as ss

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[torch]'")
torchmetrics = pytest.importorskip("torchmetrics", reason="torchmetrics is not installed")

from spoofspan.integrations.torch import PointEER, RangeEER, RangeF1, Unpadded, UtteranceEER  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"), pytest.mark.slow]
HERE = Path(__file__).parents[1]
torch.set_num_threads(1)  # small tensors, and tests that run side by side
CASES, BATCHES = 160, 2


def padded(scores, utterances):
    """A batch as a loader makes it: padded with what would be wrong to count."""
    rows = [scores.values[scores.offsets[i] : scores.offsets[i + 1]] for i in utterances]
    longest = max(max(map(len, rows)), 1) + 2
    batch = np.full((len(rows), longest), -1e4, scores.values.dtype)
    for one, row in zip(batch, rows, strict=True):
        one[: len(row)] = row
    return torch.from_numpy(batch), torch.tensor([len(row) for row in rows])


def batch_of(scores, utterances, target):
    """A batch with its target between scores and lengths."""
    preds, lengths = padded(scores, utterances)
    return preds, target, lengths


def feed(metric, references, scores, rng, size=3):
    """Update with the corpus in batches of any order."""
    where = {utt: i for i, utt in enumerate(scores.utterances)}
    order = np.array(rng.sample(range(len(references)), len(references)))
    for first in range(0, len(order), size):
        chosen = order[first : first + size]
        batch = references.take(chosen)
        preds, lengths = padded(scores, [where[utt] for utt in batch.utterances])
        metric.update(preds, batch, lengths)


def measured(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.SpoofspanWarning)
        try:
            return function()
        except ss.SpoofspanError as error:
            return type(error).__name__


@pytest.mark.parametrize("batch", range(BATCHES))
def test_batches_of_random_corpora_have_the_bits_of_the_package(batch):
    compared = 0
    for seed in range(batch * CASES // BATCHES, (batch + 1) * CASES // BATCHES):
        rng = random.Random(80_000 + seed)
        case = random_case(rng)
        if case.values is None or set(case.references) != set(case.scores):
            continue
        # a metric has one hop, frames that begin at 0, and no windows over each other
        hop = case.hop if isinstance(case.hop, float) else min(case.hop.values())
        rule = case.eer_rule if case.eer_rule == "interpolated" else "nearest"
        case = replace(case, hop=hop, start=0.0, window=None, eer_rule=rule)
        try:
            references, scores = build(case)
        except ss.SpoofspanError:
            continue
        how = {"eer_rule": case.eer_rule, **case.rules}
        points = {**how, **case.point_rules, "pooling": "min"}
        resolution = points.pop("resolution")
        with pytest.raises(ss.UsageError, match="pools by the minimum"):
            PointEER(resolution, case.hop, higher=case.higher, pooling="max")
        arguments = {"higher": case.higher, "dtype": case.dtype}
        for metric, expected in (
            (
                RangeEER(case.hop, exact=True, **arguments, **how),
                measured(lambda r=references, s=scores, how=how: ss.range_eer(r, s, **how)),
            ),
            (
                PointEER(resolution, case.hop, exact=True, **arguments, **points),
                measured(lambda r=references, s=scores, how=points, at=resolution: ss.point_eer(r, s, at, **how)),
            ),
        ):
            if isinstance(expected, str):
                continue
            feed(metric, references, scores, rng)
            found = metric.eer_state().equal_error_rate(case.eer_rule)
            assert (found.value, found.point) == (expected.exact_value, expected.point), seed
            name = "range_eer" if isinstance(metric, RangeEER) else next(iter(metric.compute()))
            assert metric.compute()[name].item() == expected.value
            metric.exact = False
            assert metric.bounds().low <= expected.value <= metric.bounds().high
            compared += 1
    assert compared > 30


@pytest.fixture(scope="module")
def corpus():
    """32 utterances of 1 to 3 s, frames of 20 ms that stop up to 25 ms early."""
    return make_corpus()


def make_corpus():
    rng = np.random.default_rng(11)
    ranges, durations, frames = {}, {}, {}
    for i in range(33):
        utt, end = f"u{i:02d}", int(rng.integers(1000, 3000))
        a, b = sorted(int(one) for one in rng.integers(50, end - 50, 2))
        ranges[utt] = [(0.0, a / 1000, "bonafide"), (a / 1000, b / 1000, "spoof"), (b / 1000, end / 1000, "bonafide")]
        durations[utt] = end / 1000
        middle = np.arange(max(1, (end - 5) // 20)) * 20 + 10
        spoof = (middle >= a) & (middle < b)
        frames[utt] = (rng.normal(size=middle.size) + np.where(spoof, -1.0, 1.0)).astype(np.float32)
    references = ss.References.from_ranges(ranges, durations)
    return references, ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")


def test_without_exact_the_bounds_are_those_of_the_state(corpus):
    references, scores = corpus
    metric = RangeEER(0.02, higher="bonafide")
    feed(metric, references, scores, random.Random(1), size=8)
    state = ss.EerState.of(ss.overlay(references, scores))
    assert metric.bounds() == state.bracket()
    numbers = metric.compute()
    assert list(numbers) == ["range_eer", "range_eer_low", "range_eer_high", "range_eer_threshold"]
    assert numbers["range_eer"].item() == state.bracket().midpoint
    scalar = RangeEER(0.02, higher="bonafide", bracket=False)
    feed(scalar, references, scores, random.Random(2), size=8)
    assert scalar.compute().item() == state.bracket().midpoint
    size = sum(one.numel() * one.element_size() for one in (metric.bins, metric.counted, metric.undecided))
    assert size <= 2_000_000


def saturated(seed, sharpness, shift, dtype=np.float32, higher="bonafide"):
    """Frames with labels, as a batch of 20 utterances: probabilities of a system that is sure of itself."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, (20, 400))
    odds = sharpness * (rng.normal(size=labels.shape) + 1.65 * (1 - 2 * labels)) + shift
    if higher == "spoof":
        odds = -odds
    with np.errstate(over="ignore"):
        return torch.from_numpy((1 / (1 + np.exp(-odds.astype(dtype)))).astype(dtype)), torch.from_numpy(labels)


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
@pytest.mark.parametrize("sharpness", [2, 5, 12])
@pytest.mark.parametrize("shift", [-12, -8, 0, 8, 12])
def test_bounds_of_saturated_probabilities_are_narrow(shift, sharpness, higher):
    """Float32 has 128 bins of leading bits from 0.5 to 1, the last of which held half of the scores."""
    scores, labels = saturated(1, sharpness, shift, higher=higher)
    arguments = {"higher": higher, "bracket": False, "spoof_label": 1}
    exact, metric = (RangeEER(0.02, exact=one, **arguments) for one in (True, False))
    for one in (exact, metric):
        one.update(scores, labels)
    assert metric.compute().item() == pytest.approx(exact.compute().item(), abs=0.002)
    assert metric.bounds().width < 0.004


@pytest.mark.parametrize("rule", ["nearest", "interpolated"])
@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_device_counts_into_the_fine_bins_of_the_state(dtype, higher, rule):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        scores, labels = saturated(seed, rng.choice([1, 4, 20]), rng.choice([-20, -5, 0, 5, 20]), dtype, higher)
        scores = scores * rng.choice([1, -1, 2])
        metric = RangeEER(0.02, higher=higher, dtype=dtype, spoof_label=1, eer_rule=rule)
        metric.update(scores, labels)
        state = ss.EerState(dtype, **{name: getattr(metric.eer_state(), name) for name in ("higher", "basis")})
        spoof = labels.numpy().ravel() * 20_000_000
        state.add(scores.numpy().ravel(), 20_000_000 - spoof, spoof)
        assert metric.eer_state().to_bytes() == state.to_bytes()
        exact = RangeEER(0.02, higher=higher, dtype=dtype, spoof_label=1, eer_rule=rule, exact=True)
        exact.update(scores, labels)
        value, threshold = exact.compute()["range_eer"].item(), exact.bounds().lowest_threshold
        assert metric.bounds().low <= value <= metric.bounds().high
        assert metric.bounds().lowest_threshold <= threshold <= metric.bounds().highest_threshold


def test_wide_bounds_are_warned_of_and_have_no_middle():
    """All scores in one bin of leading bits, far from 1 and 0."""
    rng = np.random.default_rng(4)
    labels = torch.from_numpy(rng.integers(0, 2, (4, 500)))
    narrow, wide = (0.25 + scale * torch.from_numpy(rng.random((4, 500), np.float32)) for scale in (0.05, 0.0005))
    arguments = {"higher": "bonafide", "spoof_label": 1}
    for scores, width in ((narrow, 0.01), (wide, 1.0)):
        metric, one = RangeEER(0.02, **arguments), RangeEER(0.02, bracket=False, **arguments)
        for each in (metric, one):
            each.update(scores, labels)
        with pytest.warns(ss.SpoofspanWarning, match=r"bound the EER only by .* and .* %; use exact=True"):
            found = metric.compute()
        assert 0.002 < found["range_eer_high"] - found["range_eer_low"] <= width + 0.05
        assert metric.bounds().width == one.bounds().width
    with pytest.raises(ss.UndefinedMeasureError, match="one number would mislead; use exact=True, or bracket=True"):
        one.compute()
    quiet = RangeEER(0.02, bracket=False, undefined="nan", **arguments)
    quiet.update(wide, labels)
    assert quiet.compute().isnan()


@pytest.mark.parametrize("exact", [True, False])
def test_an_eer_over_50_percent_is_warned_of(corpus, exact):
    references, scores = corpus
    turned = PointEER(0.02, 0.02, higher="spoof", exact=exact)
    with pytest.warns(ss.SpoofspanWarning) as expected:
        ss.point_eer(references, replace(scores, higher="spoof"), 0.02)
    feed(turned, references, scores, random.Random(1), size=8)
    with pytest.warns(
        ss.SpoofspanWarning, match=r"wrong polarity; these scores were read with higher='spoof'"
    ) as found:
        turned.compute()
    if exact:
        assert [str(one.message) for one in found] == [str(one.message) for one in expected]


def test_bfloat16_scores_need_one_pass():
    scores, labels = saturated(3, 3, 1)
    exact, metric = (
        RangeEER(0.02, higher="bonafide", exact=one, bracket=False, spoof_label=1) for one in (True, False)
    )
    for one in (exact, metric):
        one.update(scores.to(torch.bfloat16), labels)
    assert metric.compute() == exact.compute()
    assert metric.eer_state().is_exact
    assert metric.eer_state().equal_error_rate() == exact.eer_state().equal_error_rate()


def test_states_of_metrics_add_under_the_same_rules_only(corpus):
    references, scores = corpus
    fine, coarse = (PointEER(one, 0.02, higher=scores.higher).eer_state() for one in (0.02, 0.04))
    with pytest.raises(ss.UsageError, match=r"0.04 s points does not add"):
        fine.merge(coarse)
    fine.merge(ss.EerState.of(ss.point_mass(references, scores, 0.02)))
    near = RangeEER(0.02, higher=scores.higher, collar=0.02).eer_state()
    near.merge(ss.EerState.of(ss.overlay(references, scores, collar=0.02)))


def test_reset_forward_and_collections(corpus):
    references, scores = corpus
    both = torchmetrics.MetricCollection(
        {
            "range": RangeEER(0.02, higher="bonafide", exact=True, undefined="nan"),
            "coarse": PointEER(0.04, 0.02, higher="bonafide", exact=True, undefined="nan"),
        }
    )
    expected = {
        "range_eer": ss.range_eer(references, scores).value,
        "point_eer_40ms": ss.point_eer(references, scores, 0.04).value,
    }
    for _ in range(2):
        feed(both, references, scores, random.Random(3), size=5)
        numbers = both.compute()
        assert {name: numbers[name].item() for name in expected} == expected
        both.reset()
    for first in range(0, 33, 6):
        chosen = np.arange(first, min(first + 6, 33))
        batch = both(*batch_of(scores, chosen, references.take(chosen)))
        alone = measured(lambda chosen=chosen: ss.range_eer(references.take(chosen), scores.take(chosen)))
        assert batch["range_eer"].item() == alone.value
    assert both.compute()["range_eer"].item() == expected["range_eer"]


def test_metrics_that_look_alike_at_first_stay_apart():
    """The first batch has no gap, so both states are equal after it; a collection must not take them for one."""
    rules = ("bonafide", "spoof")
    both = torchmetrics.MetricCollection(
        {gaps: RangeEER(0.02, higher="bonafide", exact=True, bracket=False, gaps=gaps) for gaps in rules}
    )
    scores = {"u1": np.float32([0.9, 0.8, -0.4, 0.1]), "u2": np.float32([0.7, -0.6, 0.3, 0.2])}
    ranges = {
        "u1": [(0.0, 0.04, "bonafide"), (0.04, 0.08, "spoof")],
        "u2": [(0.02, 0.04, "spoof"), (0.06, 0.08, "bonafide")],
    }
    for utt, values in scores.items():
        both.update(torch.from_numpy(values)[None], [ranges[utt]], [4])
    references = ss.References.from_ranges(ranges)
    frames = ss.Scores.from_frames(scores, hop=0.02, higher="bonafide")
    for gaps in rules:
        expected = measured(lambda gaps=gaps: ss.range_eer(references, frames, gaps=gaps))
        assert both.compute()[gaps].item() == expected.value


def test_half_precision_scores_count_as_they_are(corpus):
    references, scores = corpus
    metric = RangeEER(0.02, higher="bonafide", exact=True)
    batch, lengths = padded(scores, range(33))
    metric.update(batch.to(torch.bfloat16), references, lengths)
    values = torch.from_numpy(scores.values).to(torch.bfloat16).to(torch.float32).numpy()
    rounded = ss.Scores.from_columns(scores.utterances, scores.offsets, values, hop=0.02, higher="bonafide")
    assert metric.compute()["range_eer"].item() == ss.range_eer(references, rounded).value


@pytest.mark.parametrize("spoof_label", [0, 1])
@pytest.mark.parametrize("metric_class", [RangeEER, lambda **how: PointEER(0.04, **how)])
def test_labels_of_frames_are_the_ranges_they_stand_for(spoof_label, metric_class):
    rng = np.random.default_rng(spoof_label)
    lengths = [5, 1, 9, 30]
    labels, scores = np.full((4, 32), -100), rng.standard_normal((4, 32)).astype(np.float32)
    ranges = {}
    for i, count in enumerate(lengths):
        labels[i, :count] = rng.integers(0, 2, count)
        names = np.where(labels[i, :count] == spoof_label, "spoof", "bonafide")
        ranges[str(i)] = [(k * 0.02, (k + 1) * 0.02, name) for k, name in enumerate(names)]
    frames = {str(i): scores[i, :count] for i, count in enumerate(lengths)}
    references = ss.References.from_ranges(ranges)
    system = ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")
    measure = ss.range_eer if metric_class is RangeEER else lambda *both: ss.point_eer(*both, 0.04)
    expected = measured(lambda: measure(references, system)).value
    tensor = torch.from_numpy(labels)
    for given in (
        (tensor,),
        (tensor, lengths),
        (labels,),
        (labels, lengths),
        (tensor[:, :30],),
        (tensor[:, :30], lengths),
    ):
        metric = metric_class(hop=0.02, higher="bonafide", exact=True, bracket=False, spoof_label=spoof_label)
        metric.update(torch.from_numpy(scores), *given)
        assert metric.compute().item() == expected


def test_labels_of_frames_that_leave_something_open_are_refused():
    scores, labels = torch.zeros(1, 3), torch.tensor([[0, 1, 2]])
    with pytest.raises(ss.UsageError, match="which of them means spoof: spoof_label=1"):
        RangeEER(0.02, higher="bonafide").update(scores, labels)
    knowing = RangeEER(0.02, higher="bonafide", spoof_label=1)
    with pytest.raises(ss.UsageError, match="must be 0, 1, or negative for none, not 2"):
        knowing.update(scores, labels)
    with pytest.raises(ss.UsageError, match=r"as the scores are, \(1, 3\), not \(2, 3\)"):
        knowing.update(scores, torch.zeros(2, 3), [3])
    with pytest.raises(ss.UsageError, match=r"comes third: update\(preds, target, lengths\)"):
        knowing.update(scores, [3])


def test_labels_at_another_hop_are_refused():
    scores, metric = torch.zeros(2, 100), RangeEER(0.02, higher="bonafide", spoof_label=1)
    for given in ((torch.zeros(2, 50),), (torch.zeros(2, 200),), (torch.zeros(2, 200), [100, 90])):
        with pytest.raises(ss.UsageError, match=r"\(2, 100\), not .* at another hop, give their ranges in seconds"):
            metric.update(scores, *given)
    # a frame more or less is the front-end's, and padding has no hop
    padding = torch.nn.functional.pad(torch.zeros(2, 100), (0, 100), value=-100)
    for given in ((torch.zeros(2, 99),), (torch.zeros(2, 101), [100, 90]), (padding, [100, 90]), (padding,)):
        metric.update(scores, *given)


def test_a_batch_without_a_frame_counts_nothing():
    metric = RangeEER(0.02, higher="bonafide", spoof_label=1, undefined="nan")
    for shape in ((0, 0), (2, 0), (0, 3)):
        metric.update(torch.zeros(shape), torch.zeros(shape))
    assert metric.compute()["range_eer"].isnan()


def test_a_type_of_the_model_does_not_round_the_counts():
    metric = RangeEER(0.02, higher="bonafide", spoof_label=1).set_dtype(torch.float16).half()
    metric.update(torch.tensor([[0.9, 0.1, 0.2, -0.4]]), torch.tensor([[0, 0, 1, 1]]))
    assert metric.compute()["range_eer_low"] <= 0.5 <= metric.compute()["range_eer_high"]


def test_ranges_may_be_lists(corpus):
    references, scores = corpus
    metric = RangeEER(0.02, higher="bonafide", exact=True)
    listed = [
        [
            (references.starts[row] / 1e9, references.ends[row] / 1e9, ("bonafide", "spoof")[references.labels[row]])
            for row in range(references.offsets[i], references.offsets[i + 1])
        ]
        for i in range(33)
    ]
    for first in range(0, 33, 4):
        metric.update(*batch_of(scores, range(first, min(first + 4, 33)), listed[first : first + 4]))
    assert metric.compute()["range_eer"].item() == ss.range_eer(references, scores).value


def test_an_update_waits_for_no_device(corpus):
    """No operation whose result the host must know: what an accelerator computes stays there."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = set()

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.add(function.overloadpacket.__name__)
            return function(*args, **(kwargs or {}))

    references, scores = corpus
    metric = PointEER(0.04, 0.02, higher="bonafide", exact=True)
    batch, lengths = padded(scores, range(8))
    lengths = lengths.tolist()
    with Watch():
        metric.update(batch, references.take(np.arange(8)), lengths)
    assert "index_add_" in seen
    assert not seen & {"_local_scalar_dense", "item", "nonzero", "masked_select", "equal", "is_nonzero"}


def test_totals_that_no_int64_holds_are_refused():
    """One utterance a batch, each of one frame of 30 years: five of them are more than 2**62 ns."""
    years = 30 * 365 * 86_400.0
    metric = RangeEER(years, higher="bonafide", exact=True)
    for i in range(5):
        metric.update(torch.tensor([[float(i)]]), [[(0.0, years, "spoof" if i % 3 == 0 else "bonafide")]], [1])
        if i == 3:
            assert metric.eer_state().totals().bona_fide == 2 * 30 * 365 * 86_400 * 10**9
    with pytest.raises(ss.DataError, match="more was counted than fits into 64 bits"):
        metric.compute()


def test_what_is_wrong_is_said(corpus):
    references, scores = corpus
    metric = RangeEER(0.02, higher="bonafide")
    batch, lengths = padded(scores, range(4))
    few = references.take(np.arange(4))
    with pytest.raises(ss.UsageError, match="batch, frames"):
        metric.update(batch[0], few, lengths)
    with pytest.raises(ss.UsageError, match="which of them means spoof"):
        metric.update(batch, torch.zeros_like(batch))
    with pytest.raises(ss.UsageError, match=r"a hop of 20 s is longer than every utterance .* 20 ms is 0\.02"):
        RangeEER(20, higher="bonafide").update(torch.zeros(1, 3), [[(0.0, 0.06, "spoof")]], [3])
    with pytest.raises(ss.UsageError, match="one number of frames"):
        metric.update(batch, few, lengths + 1000)
    with pytest.raises(ss.UsageError, match="one for each"):
        metric.update(batch, references, lengths)
    with pytest.raises(ss.UsageError, match="list with the ranges"):
        metric.update(batch, {"u1": []}, lengths)
    with pytest.raises(ss.UsageError, match="without rounding"):
        metric.update(batch.double(), few, lengths)
    with pytest.raises(ss.DataError, match="no score"):
        metric.update(batch[:, :5], few, [5] * 4)
    with pytest.raises(ss.UsageError, match="whole curve"):
        RangeEER(0.02, higher="bonafide", eer_rule="convex-hull")
    with pytest.raises(ss.UsageError, match="undefined"):
        RangeEER(0.02, higher="bonafide", undefined="zero")
    with pytest.raises(ss.UsageError, match="gap"):
        RangeEER(0.02, higher="bonafide", gap="bonafide")
    with pytest.raises(ss.UsageError, match=r"dtype=torch.float64: valid: 'float16', 'float32', 'float64'"):
        RangeEER(0.02, higher="bonafide", dtype=torch.float64)
    with pytest.raises(ss.UsageError, match=r"preds must be a tensor .* not a ndarray"):
        metric.update(batch.numpy(), few, lengths)
    with pytest.raises(ss.UsageError, match=r"preds must be floats, not torch.bool: measures need scores"):
        metric.update(batch > 0, few, lengths)
    with pytest.raises(ss.UsageError, match="its ranges must be a list of"):
        metric.update(batch, batch.long().tolist(), lengths)
    with pytest.raises(ss.UsageError, match=r"not \(4, 9, 2\); of the logits of two classes, give their difference"):
        metric.update(torch.zeros(4, 9, 2), few, lengths)
    with pytest.raises(ss.UsageError, match=r"preds are on meta, the metric on cpu; use metric.to\(device\)"):
        metric.update(batch.to("meta"), few, lengths)
    with pytest.raises(ss.UsageError, match="give the metric dtype='float32'"):
        RangeEER(0.02, higher="bonafide", dtype="float16").update(batch.float(), few, lengths)


def test_lengths_are_frames_and_no_shares_of_the_longest(corpus):
    references, scores = corpus
    batch, lengths = padded(scores, range(4))
    few, metric = references.take([0, 1, 2, 3]), RangeEER(0.02, higher="bonafide", exact=True, undefined="nan")
    shares = lengths / batch.shape[1]
    for wrong in (shares, shares.tolist(), lengths.double(), 4):
        with pytest.raises(ss.UsageError, match=r"whole numbers.*mask.sum.*\(lengths \* scores.shape\[1\]\).round"):
            metric.update(batch, few, wrong)
    for right in ((shares * batch.shape[1]).round().long(), lengths.tolist(), lengths.numpy(), list(lengths)):
        metric.update(batch, few, right)


def test_a_nan_is_an_error_and_padding_is_not(corpus):
    references, scores = corpus
    batch, lengths = padded(scores, range(4))
    few = references.take(np.arange(4))
    batch[:, -1] = torch.nan
    metric = RangeEER(0.02, higher="bonafide")
    metric.update(batch, few, lengths)
    assert 0 < metric.compute()["range_eer"] < 1
    batch[2, 3] = torch.nan
    metric.update(batch, few, lengths)
    with pytest.raises(ss.DataError, match="1 scores are NaN"):
        metric.compute()


def test_the_names_of_torchmetrics_are_taken_and_lengths_come_third(corpus):
    references, scores = corpus
    batch, lengths = padded(scores, range(4))
    few = references.take(np.arange(4))
    metric, positional = (RangeEER(0.02, higher="bonafide", exact=True) for _ in range(2))
    metric.update(preds=batch, target=few, lengths=lengths)
    positional.update(batch, few, lengths)
    assert metric.compute() == positional.compute()
    for swapped in (lengths, lengths.tolist(), lengths.numpy()):
        with pytest.raises(ss.UsageError, match=r"comes third: update\(preds, target, lengths\)"):
            metric.update(batch, swapped, few)


def test_the_result_has_the_threshold(corpus):
    references, scores = corpus
    exact, rough, one = (RangeEER(0.02, higher="bonafide", **how) for how in ({"exact": True}, {}, {"bracket": False}))
    for metric in (exact, rough, one):
        feed(metric, references, scores, random.Random(1), size=8)
    expected = ss.range_eer(references, scores)
    assert exact.compute()["range_eer_threshold"].item() == expected.threshold == exact.threshold
    found = rough.bounds()
    assert found.lowest_threshold <= rough.compute()["range_eer_threshold"] <= found.highest_threshold
    assert one.threshold == rough.threshold


def test_a_metric_says_what_it_is():
    assert repr(RangeEER(0.02, higher="spoof")) == "RangeEER(hop=0.02, higher='spoof')"
    point = PointEER(0.16, hop=0.02, higher="bonafide", exact=True, bracket=False, spoof_label=1)
    said = "PointEER(resolution=0.16, exact=True, bracket=False, hop=0.02, higher='bonafide', spoof_label=1)"
    assert repr(point) == said
    assert eval(said) == point or repr(eval(said)) == said
    assert repr(RangeF1(0.5, 0.02, higher="spoof")) == "RangeF1(threshold=0.5, hop=0.02, higher='spoof')"


@pytest.mark.filterwarnings("always::spoofspan.SpoofspanWarning")
def test_mistyped_arguments_are_named():
    for kind in (RangeEER, UtteranceEER):
        with pytest.raises(TypeError, match=r"^EER\.__init__\(\) missing .*'higher'"):
            kind(0.02)
    with pytest.warns(ss.SpoofspanWarning, match="hop=20 is in seconds; 20 ms is 0.02"):
        RangeEER(20, higher="bonafide")


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
def test_whole_utterances_have_the_bits_of_the_package(higher):
    rng = np.random.default_rng(8)
    lengths = rng.integers(5, 40, 33).tolist()
    labels = {f"u{i}": (rng.random(count) < 0.1) * (i % 2) for i, count in enumerate(lengths)}
    references = ss.References.from_labels(labels, 0.02, spoof_label=1)
    frames = {name: (rng.normal(0, 1, one.size) - one).astype(np.float32) for name, one in labels.items()}
    scores = ss.Scores.from_frames(frames, 0.02, higher=higher)
    metric = UtteranceEER(0.02, higher=higher, exact=True)
    feed(metric, references, scores, random.Random(1), size=8)
    expected = ss.utterance_eer(references, scores)
    numbers = metric.compute()
    assert numbers["utterance_eer"].item() == expected.value
    assert numbers["utterance_eer_threshold"].item() == expected.threshold


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
@pytest.mark.parametrize("place", [-1.0, 0.1, 0.25])
def test_f1_at_a_threshold_has_the_bits_of_the_package(corpus, higher, place):
    references, scores = corpus
    scores = replace(scores, higher=higher)
    on_a_score = float(scores.values[int(abs(place) * 40)])
    for threshold in (place, on_a_score, float(np.nextafter(on_a_score, 9))):
        metric = RangeF1(threshold, 0.02, higher=higher)
        feed(metric, references, scores, random.Random(1), size=8)
        expected = ss.evaluate(references, scores, ["range-f1"], threshold=threshold)["range-f1"].value
        assert metric.compute().item() == expected
    at_eer = RangeF1(ss.range_eer(references, scores), 0.02, higher=higher)
    assert at_eer.threshold == ss.range_eer(references, scores).threshold


def test_f1_of_nothing_has_no_value():
    for undefined in ("raise", "nan"):
        metric = RangeF1(0.5, 0.02, higher="bonafide", undefined=undefined)
        metric.update(torch.ones(1, 3), [[(0.0, 0.06, "bonafide")]])
        if undefined == "raise":
            with pytest.raises(ss.UndefinedMeasureError, match="F1 has no value"):
                metric.compute()
        else:
            assert metric.compute().isnan()


@pytest.mark.parametrize("seed", range(12))
def test_a_logged_scalar_is_not_off_by_a_tenth_of_a_point_without_a_warning(seed):
    rng = np.random.default_rng(seed)
    labels = torch.from_numpy(rng.integers(0, 2, (8, 800)))
    logits = torch.from_numpy(rng.normal(0, 1, (8, 800)).astype(np.float32)) * 3 + (1 - 2 * labels) * rng.uniform(1, 6)
    squeezed = (
        logits,
        torch.sigmoid(logits * 4),
        0.5 + logits / 2000,
        1000 + logits,
        logits.round(),
        torch.tanh(logits) * 1e-4,
    )[seed % 6].to(torch.float32)
    metric, exact = (RangeEER(0.02, higher="bonafide", spoof_label=1, **how) for how in ({}, {"exact": True}))
    for one in (metric, exact):
        one.update(squeezed, labels)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        logged, true = metric.compute()["range_eer"].item(), exact.compute()["range_eer"].item()
    assert abs(logged - true) <= 0.001 or any("bound the EER only" in str(one.message) for one in warned)


def test_utterances_that_were_counted_twice_are_warned_of():
    rows = [[(0.0, 0.02, "bonafide"), (0.02, 0.04, "spoof")]]
    metric = RangeEER(0.02, higher="bonafide", exact=True, size=2)
    for _ in range(2):
        metric.update(torch.tensor([[0.9, 0.1]]), rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric.compute()
    metric.update(torch.tensor([[0.9, 0.1]]), rows)
    with pytest.warns(ss.SpoofspanWarning, match="3 utterances were counted, and the data set has 2: a Distributed"):
        metric.compute()


def test_a_metric_draws_its_det_curve_and_its_history(corpus):
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    from matplotlib import pyplot as plt

    references, scores = corpus
    metric = RangeEER(0.02, higher="bonafide")
    feed(metric, references, scores, random.Random(1), size=8)
    figure, ax = metric.plot()
    assert ax in figure.axes
    line = ax.get_lines()[0]
    curve = ss.error_curve(references, scores)
    exact = set(zip(curve.false_positive_rates.tolist(), curve.false_negative_rates.tolist(), strict=True))
    drawn = list(zip(line.get_xdata().tolist(), line.get_ydata().tolist(), strict=True))
    assert len(drawn) > 20
    assert set(drawn) <= exact
    _, mine = plt.subplots()
    assert metric.plot(ax=mine)[1] is mine
    one = RangeEER(0.02, higher="bonafide", bracket=False)
    assert one.plot([torch.tensor(0.2), torch.tensor(0.1)], mine)[1] is mine
    plt.close("all")


def test_one_class_has_no_value():
    for undefined in ("raise", "nan"):
        metric = RangeEER(0.02, higher="spoof", undefined=undefined)
        metric.update(torch.zeros(1, 3), [[(0.0, 0.06, "bonafide")]], [3])
        if undefined == "raise":
            with pytest.raises(ss.UndefinedMeasureError, match="no spoofed time"):
                metric.compute()
        else:
            assert all(torch.isnan(one) for one in metric.compute().values())


# ---------------------------------------------------------------- several processes


@pytest.mark.parametrize("shuffle", [False, True])
def test_padding_of_a_distributed_sampler_is_found(shuffle):
    from torch.utils.data import DistributedSampler

    for size in range(1, 24):
        for world in (1, 2, 3, 5, 8):
            kept = []
            for rank in range(world):
                sampler = DistributedSampler(range(size), world, rank, shuffle=shuffle, seed=4)
                unpadded, indices = Unpadded(size, rank, world), list(sampler)
                for first in range(0, len(indices), 4):
                    batch = indices[first : first + 4]
                    kept += [batch[row] for row in unpadded(len(batch))]
                unpadded.reset()
            assert sorted(kept) == list(range(size))


def test_an_impossible_rank_is_refused():
    with pytest.raises(ss.UsageError, match="rank 2"):
        Unpadded(5, 2, 2)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


WORKER = """
import sys, random
import numpy as np, torch, torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/integrations"]
from test_torch import batch_of, make_corpus
from spoofspan.integrations.torch import PointEER, RangeEER, Unpadded
dist.init_process_group("gloo", init_method=sys.argv[2], world_size=2, rank=int(sys.argv[3]))
references, scores = make_corpus()
loader = DataLoader(range(33), batch_size=4, sampler=DistributedSampler(range(33), shuffle=True, seed=2))
metrics = [RangeEER(0.02, higher="bonafide", exact=exact, size=33) for exact in (True, False)]
metrics.append(PointEER(0.04, 0.02, higher="bonafide", exact=True))
unpadded = Unpadded(33)
for batch in loader:
    chosen = batch.numpy()[unpadded(len(batch))]
    if chosen.size:
        for metric in metrics:
            metric.update(*batch_of(scores, chosen, references.take(chosen)))
metrics.append(RangeEER(0.02, higher="bonafide", exact=True))
if dist.get_rank() == 0:  # the other process sees no batch at all
    metrics[-1].update(*batch_of(scores, range(33), references))
for metric in metrics:
    print(" ".join(value.item().hex() for value in metric.compute().values()), flush=True)
dist.destroy_process_group()
"""


def test_two_processes_have_the_bits_of_one(corpus):
    address = f"tcp://127.0.0.1:{free_port()}"
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    running = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", WORKER, str(HERE), address, str(rank)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(2)
    ]
    said = [process.communicate(timeout=120) for process in running]
    assert all(process.returncode == 0 for process in running), said
    references, scores = corpus
    bounds = ss.EerState.of(ss.overlay(references, scores)).bracket()
    value, points = ss.range_eer(references, scores).value, ss.point_eer(references, scores, 0.04).value
    at = ss.range_eer(references, scores).threshold
    middle = (bounds.lowest_threshold + bounds.highest_threshold) / 2
    of_points = ss.point_eer(references, scores, 0.04).threshold
    expected = [
        [value] * 3 + [at],
        [bounds.midpoint, bounds.low, bounds.high, middle],
        [points] * 3 + [of_points],
        [value] * 3 + [at],
    ]
    for out, _ in said:
        assert [[float.fromhex(one) for one in line.split()] for line in out.splitlines()] == expected


# ---------------------------------------------------------------- loops


def run_example(name):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE.parent / "examples" / name), "--quick"],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_in_plain_pytorch_learns():
    last = run_example("train_pytorch.py").strip().splitlines()[-1]
    assert "exact" in last
    assert float(last.split()[-2]) < 25.0


def test_the_example_in_lightning_learns():
    pytest.importorskip("lightning", reason="lightning is not installed")
    last = run_example("train_lightning.py").strip().splitlines()[-1]
    assert float(last.split()[-2]) < 25.0


def test_accelerate_gathers_the_same_bits(corpus):
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
    references, scores = corpus
    accelerator = accelerate.Accelerator(cpu=True)
    loader = accelerator.prepare(torch.utils.data.DataLoader(torch.arange(33), batch_size=8))
    metric = RangeEER(0.02, higher="bonafide", exact=True).to(accelerator.device)
    for batch in loader:
        chosen = accelerator.gather_for_metrics(batch).numpy()
        metric.update(*batch_of(scores, chosen, references.take(chosen)))
    assert metric.compute()["range_eer"].item() == ss.range_eer(references, scores).value
