"""Oracles that share nothing with the exact path: ROC curves, closed forms, hand computation, plain counting."""

import math
from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from drawn_corpora import BONA_FIDE, EXACT_SCORES, FEW_SCORES, MS, SPOOF, Corpus, corpora, references_of, scores_of
from golden_cases import load
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_curve

import spoofspan as ss
from spoofspan.measures.curve import error_curve_of
from spoofspan.measures.eer import crossing

# few distinct scores and no good system are the point of some corpora
pytestmark = [pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"), pytest.mark.quick]

few_examples = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

SAMPLE_NS = 62_500  # one sample at 16 kHz
DTYPES = [np.float16, np.float32, np.float64]
POLARITIES = ["bonafide", "spoof"]


# ---------------------------------------------------------------- the oracles


def overlaps(corpus: Corpus) -> list[tuple[float, int, int]]:
    """(score in bona fide polarity, bona fide ns, spoof ns) of every score range, by comparing it with every range."""
    sign = 1 if corpus.higher == "bonafide" else -1
    rows = []
    for utt, scored in corpus.scores.items():
        for start, end, score in scored:
            time = [0, 0, 0]
            for first, last, label in corpus.references[utt]:
                time[label] += max(min(end, last) - max(start, first), 0)
            rows.append((sign * score, time[BONA_FIDE], time[SPOOF]))
    return rows


def candidates(rows) -> list[tuple[float | None, int, int]]:
    """(tau, bona fide and spoof called spoof) of each distinct score with counted time, then of everything."""
    by_score: dict[float, list[int]] = {}
    for score, bona_fide, spoof in rows:
        if bona_fide or spoof:
            both = by_score.setdefault(float(score) + 0.0, [0, 0])
            both[0] += int(bona_fide)
            both[1] += int(spoof)
    called, points = [0, 0], []
    for score in sorted(by_score):
        points.append((score, *called))
        called = [called[0] + by_score[score][0], called[1] + by_score[score][1]]
    return [*points, (None, *called)]


def rates(rows) -> list[tuple[float | None, Fraction, Fraction]]:
    """(tau, FPR, FNR) of every candidate."""
    points = candidates(rows)
    _, bona_fide, spoof = points[-1]
    return [(tau, Fraction(fp, bona_fide), 1 - Fraction(tp, spoof)) for tau, fp, tp in points]


def nearest(points) -> tuple[float | None, Fraction, Fraction]:
    """The candidate of least |FPR - FNR|, the lowest on a tie."""
    return min(points, key=lambda point: abs(point[1] - point[2]))


def interpolated(points) -> Fraction:
    """Where the straight lines between neighbouring points meet FPR = FNR."""
    for (_, x0, y0), (_, x1, y1) in pairwise(points):
        if x0 < y0 and x1 >= y1:
            share = (y0 - x0) / ((y0 - x0) + (x1 - y1))
            return x0 + share * (x1 - x0)
    raise AssertionError("no crossing")


def hull_crossing(points) -> Fraction:
    """The least value at which a line between any two points meets FPR = FNR: that is the lower hull."""
    below = [(x, y) for _, x, y in points if x < y]
    above = [(x, y) for _, x, y in points if x >= y]
    return min(
        x0 + (y0 - x0) / ((y0 - x0) + (x1 - y1)) * (x1 - x0) if (y0 - x0) + (x1 - y1) else x0
        for x0, y0 in below
        for x1, y1 in above
    )


def random_corpus(rng, utterances: int, tick: int, decimals: int | None = None, higher: str = "bonafide") -> Corpus:
    """Ranges and score ranges with edges on a tick; scores that know something about the class."""
    references, durations, scores = {}, {}, {}
    for i in range(utterances):
        utt, ticks = f"u{i}", int(rng.integers(200, 3000))
        edges = [0, *sorted(rng.choice(np.arange(1, ticks), rng.integers(1, 5), replace=False).tolist()), ticks]
        first = int(rng.integers(0, 2))
        references[utt] = [
            (a * tick, b * tick, (first + k) % 2) for k, (a, b) in enumerate(pairwise(int(edge) for edge in edges))
        ]
        cuts = [0, *sorted(rng.choice(np.arange(1, ticks), rng.integers(3, 30), replace=False).tolist()), ticks]
        scores[utt] = []
        for a, b in pairwise(int(cut) for cut in cuts):
            middle = (a + b) * tick / 2
            spoofed = next(label for start, end, label in references[utt] if start <= middle < end)
            score = rng.normal() + (0.0 if spoofed else 1.5)
            score = round(score, decimals) if decimals is not None else score
            scores[utt].append((a * tick, b * tick, score if higher == "bonafide" else -score))
        durations[utt] = ticks * tick
    return Corpus(references, durations, scores, higher)


# ---------------------------------------------------------------- ROC curves


def samples_of(corpus: Corpus):
    """Label and score of every sample at 16 kHz."""
    labels, scores = [], []
    for utt, ranges in corpus.references.items():
        label, score = (np.empty(corpus.durations[utt] // SAMPLE_NS, kind) for kind in (np.int8, np.float64))
        for target, rows in ((label, ranges), (score, corpus.scores[utt])):
            for start, end, thing in rows:
                target[start // SAMPLE_NS : end // SAMPLE_NS] = thing
        labels.append(label)
        scores.append(score)
    return np.concatenate(labels), np.concatenate(scores)


@pytest.mark.parametrize("higher", POLARITIES)
@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("seed", range(4))
def test_an_unweighted_roc_over_samples_gives_the_same_value(seed, decimals, higher):
    corpus = random_corpus(np.random.default_rng(seed), 12, SAMPLE_NS, decimals, higher)
    labels, scores = samples_of(corpus)
    # positive = spoof; roc_curve calls score >= threshold positive
    spoof_scores = scores if higher == "spoof" else -scores
    fpr, tpr, _ = roc_curve(labels == SPOOF, spoof_scores, drop_intermediate=False)
    bona_fide, spoof = int((labels == BONA_FIDE).sum()), int((labels == SPOOF).sum())
    false_positive = np.rint(fpr * bona_fide).astype(np.int64)
    false_negative = spoof - np.rint(tpr * spoof).astype(np.int64)
    best = int(np.argmin(np.abs(false_positive * spoof - false_negative * bona_fide)))  # the first on a tie
    expected = (Fraction(int(false_positive[best]), bona_fide) + Fraction(int(false_negative[best]), spoof)) / 2
    measured = ss.range_eer(*corpus.built())
    assert measured.exact_value == expected
    assert measured.point.false_positive == int(false_positive[best]) * SAMPLE_NS
    assert measured.point.false_negative == int(false_negative[best]) * SAMPLE_NS
    # and a sample is a point
    assert ss.point_eer(*corpus.built(), resolution=SAMPLE_NS / 1e9).exact_value == expected


@pytest.mark.parametrize("higher", POLARITIES)
@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("seed", range(4))
def test_a_weighted_roc_gives_the_same_value(seed, decimals, higher):
    corpus = random_corpus(np.random.default_rng(seed), 12, 1_234_567, decimals, higher)
    rows = overlaps(corpus)
    scores = np.array([row[0] for row in rows] * 2)
    weights = np.array([row[1] for row in rows] + [row[2] for row in rows], float)
    is_spoof = np.repeat([False, True], len(rows))
    counted = weights > 0
    fpr, tpr, _ = roc_curve(
        is_spoof[counted], -scores[counted], sample_weight=weights[counted], drop_intermediate=False
    )
    best = int(np.argmin(np.abs(fpr - (1 - tpr))))
    measured = ss.range_eer(*corpus.built())
    assert measured.value == pytest.approx((fpr[best] + 1 - tpr[best]) / 2, rel=0, abs=1e-12)
    assert measured.false_positive_rate == pytest.approx(fpr[best], rel=0, abs=1e-12)
    curve = ss.error_curve(*corpus.built())
    assert curve.false_positive_rates == pytest.approx(fpr, rel=0, abs=1e-12)
    assert curve.false_negative_rates == pytest.approx(1 - tpr, rel=0, abs=1e-12)


# ---------------------------------------------------------------- the paper's Algorithm 1


def gaussian_frames(seed, utterances, frames, distance, dtype=np.float64, higher="bonafide"):
    """Frames of 20 ms, half of each utterance spoofed, with unit-variance scores so far apart."""
    rng = np.random.default_rng(seed)
    hop = 20 * MS
    middle = frames // 2 * hop
    ids = [f"u{i}" for i in range(utterances)]
    references = ss.References.from_columns(
        ids,
        np.full(utterances, frames * hop),
        2 * np.arange(utterances + 1),
        np.tile([0, middle], utterances),
        np.tile([middle, frames * hop], utterances),
        np.tile([False, True], utterances),
    )
    is_spoof = np.tile(np.arange(frames) >= frames // 2, utterances)
    values = rng.normal(size=is_spoof.size) - distance * is_spoof
    values = (values if higher == "bonafide" else -values).astype(dtype)
    scores = ss.Scores.from_columns(ids, frames * np.arange(utterances + 1), values, hop=0.02, higher=higher)
    return references, scores, is_spoof


@pytest.mark.parametrize("higher", POLARITIES)
@pytest.mark.parametrize(("seed", "precision"), [(0, 1e-2), (1, 1e-3), (2, 2e-4), (3, 2e-4), (4, 2e-4)])
def test_algorithm_1_finds_the_exact_value_within_its_precision(seed, precision, higher):
    references, scores, _ = gaussian_frames(seed, 100, 200, distance=2.0, higher=higher)
    estimate = ss.bisection_eer(references, scores, precision=precision, quantiles="real")
    exact = ss.range_eer(references, scores)
    assert estimate.reached
    assert estimate.bracketed
    assert not estimate.notes
    # FPR rises and FNR falls, so two thresholds with |FPR - FNR| < precision have values this close
    assert abs(estimate.value - exact.value) <= precision
    assert estimate.gap < precision


@pytest.mark.parametrize("seed", range(3))
def test_algorithm_1_agrees_with_the_exact_value_on_ranges_of_any_length(seed):
    corpus = random_corpus(np.random.default_rng(seed), 60, 1_234_567)
    exact = ss.range_eer(*corpus.built())
    estimate = ss.bisection_eer(*corpus.built(), precision=2 * exact.gap, quantiles="real")
    assert estimate.reached
    assert abs(estimate.value - exact.value) <= 2 * exact.gap
    # with a precision that no threshold reaches it narrows down to the two thresholds around the crossing
    estimate = ss.bisection_eer(*corpus.built(), precision=1e-15, quantiles="real")
    assert not estimate.reached
    assert estimate.value == pytest.approx(exact.value, rel=0, abs=1e-12)
    assert estimate.gap == pytest.approx(exact.gap, rel=0, abs=1e-12)


@pytest.mark.parametrize("quantiles", ["integer", "real"])
@pytest.mark.parametrize("higher", POLARITIES)
def test_the_trace_shows_percentiles_of_the_scores_and_the_rates_there(quantiles, higher):
    references, scores, _ = gaussian_frames(7, 10, 50, distance=1.5, higher=higher)
    measured = ss.bisection_eer(references, scores, quantiles=quantiles)
    values = scores.values if higher == "bonafide" else -scores.values
    assert [step.quantile for step in measured.trace[:3]] == [0.0, 100.0, 50.0]
    assert [step.threshold for step in measured.trace[:3]] == [values.min(), values.max(), np.median(values)]
    curve = ss.error_curve(references, scores)
    sign = 1 if higher == "bonafide" else -1
    for step in measured.trace:
        assert step.threshold == pytest.approx(np.percentile(values, step.quantile), rel=0, abs=1e-12)
        point = curve.at(sign * step.threshold)
        assert step.false_positive_rate == pytest.approx(point.false_positive_rate, rel=0, abs=1e-12)
        assert step.false_negative_rate == pytest.approx(point.false_negative_rate, rel=0, abs=1e-12)
    if quantiles == "integer":
        assert all(step.quantile == int(step.quantile) for step in measured.trace)
    # the middle is halved: each quantile lies between two that were tried before
    for i, step in enumerate(measured.trace[3:], start=3):
        earlier = [before.quantile for before in measured.trace[:i]]
        assert min(earlier) < step.quantile < max(earlier)


@few_examples
@given(
    corpus=corpora(values=FEW_SCORES, collar=False),
    quantiles=st.sampled_from(["integer", "real"]),
    precision=st.sampled_from([1e-9, 1e-5, 0.1]),
)
def test_algorithm_1_always_ends_on_tied_and_tiny_data(corpus, quantiles, precision):
    try:
        measured = ss.bisection_eer(*corpus.built(), quantiles=quantiles, precision=precision, **corpus.rules)
    except ss.UndefinedMeasureError:
        return
    trace = measured.trace
    assert 3 <= len(trace) < 60
    best = min(abs(step.difference) for step in trace)
    chosen = next(step for step in trace if abs(step.difference) == best)
    assert measured.value == (chosen.false_positive_rate + chosen.false_negative_rate) / 2
    assert measured.reached == (abs(trace[-1].difference) < precision)
    assert measured.reached == (not any("not reached" in note for note in measured.notes))
    exact = ss.range_eer(*corpus.built(), **corpus.rules)
    assert best >= exact.gap - 1e-12  # no step is nearer than the nearest


def test_algorithm_1_ends_when_all_scores_are_equal():
    references = references_of({"u": [(0, MS, BONA_FIDE), (MS, 3 * MS, SPOOF)]}, {"u": 3 * MS})
    for quantiles in ("integer", "real"):
        measured = ss.bisection_eer(references, scores_of({"u": [(0, 3 * MS, 0.5)]}), quantiles=quantiles)
        assert not measured.reached
        assert not measured.bracketed
        assert (measured.false_positive_rate, measured.false_negative_rate) == (0.0, 1.0)


def test_algorithm_1_refuses_infinite_scores():
    references = references_of({"u": [(0, MS, BONA_FIDE), (MS, 3 * MS, SPOOF)]}, {"u": 3 * MS})
    with pytest.raises(ss.DataError, match="range_eer"):
        ss.bisection_eer(references, scores_of({"u": [(0, MS, math.inf), (MS, 3 * MS, 0.5)]}))


# ---------------------------------------------------------------- closed forms and hand computation


@pytest.mark.parametrize("distance", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("higher", POLARITIES)
def test_gaussian_scores_converge_to_the_closed_form(distance, higher):
    expected = NormalDist().cdf(-distance / 2)
    for utterances in (10, 100, 1000):
        references, scores, _ = gaussian_frames(11, utterances, 200, distance, np.float32, higher)
        frames = utterances * 100  # of each class
        # the threshold moves both rates by opposite amounts, so their mean has the deviation of one rate over sqrt(2)
        deviation = math.sqrt(expected * (1 - expected) / frames / 2)
        for measured in (ss.range_eer(references, scores), ss.point_eer(references, scores, 0.02)):
            assert abs(measured.value - expected) < 4 * deviation


SHIFT = 0.16


def delayed_perfect_system(spoofs, duration, hop=0.02, delay=SHIFT):
    """Scores 0.9 and 0.1 of a system that sees every spoof so much too late; all times are multiples of the hop."""
    starts = np.arange(round(duration / hop)) * hop
    inside = [(starts > a + delay - hop / 2) & (starts < b + delay - hop / 2) for a, b in spoofs]
    return ss.Scores.from_frames({"u": np.where(np.any(inside, axis=0), 0.1, 0.9)}, hop=hop, higher="bonafide")


def references_around(spoofs, duration):
    edges = [0.0, *(edge for spoof in spoofs for edge in spoof), duration]
    labels = ["bonafide", "spoof"] * len(spoofs) + ["bonafide"]
    rows = [(a, b, label) for (a, b), label in zip(pairwise(edges), labels, strict=True)]
    return ss.References.from_ranges({"u": rows}, {"u": duration})


def test_a_shift_of_160_ms_costs_eight_percent_of_two_seconds():
    # 2 s bona fide, 2 s spoof from 1 to 3 s. Called spoof: 1.16 to 3.16 s.
    # 1.00-1.16 is missed: FNR = 0.16 / 2. 3.00-3.16 is a false alarm: FPR = 0.16 / 2. EER = 8 %.
    references = references_around([(1.0, 3.0)], 4.0)
    assert ss.range_eer(references, delayed_perfect_system([(1.0, 3.0)], 4.0, delay=0.0)).exact_value == 0
    scores = delayed_perfect_system([(1.0, 3.0)], 4.0)
    for eer_rule in ("nearest", "interpolated", "convex-hull"):
        measured = ss.range_eer(references, scores, eer_rule=eer_rule)
        assert measured.exact_value == Fraction(8, 100)
        assert (measured.threshold, measured.gap) == (0.9, 0.0)
    # each splice that is 160 ms late costs as much again: 4 spoofs of 0.5 s, 2 s bona fide
    spoofs = [(0.5 + k, 1.0 + k) for k in range(4)]
    measured = ss.range_eer(references_around(spoofs, 4.5 - 0.5 + 0.5), delayed_perfect_system(spoofs, 4.5))
    assert measured.point.false_negative == measured.point.false_positive == 4 * 160 * MS
    assert measured.exact_false_negative_rate == Fraction(4 * 16, 200)
    assert measured.exact_false_positive_rate == Fraction(4 * 16, 250)


def test_a_shift_of_160_ms_with_unequal_classes():
    # 3 s bona fide, 1 s spoof from 1 to 2 s. Called spoof: 1.16 to 2.16 s. FNR = 0.16 / 1, FPR = 0.16 / 3.
    references = references_around([(1.0, 2.0)], 4.0)
    scores = delayed_perfect_system([(1.0, 2.0)], 4.0)
    measured = ss.range_eer(references, scores)
    assert (measured.exact_false_positive_rate, measured.exact_false_negative_rate) == (
        Fraction(16, 300),
        Fraction(16, 100),
    )
    assert measured.exact_value == Fraction(8, 75)  # the mean of 4/75 and 12/75
    # From (4/75, 12/75) to "everything is spoof", (1, 0), the line x = 4/75 + t 71/75, y = 12/75 (1 - t)
    # meets x = y at t = 8 / 83: x = 4/75 + 8 * 71 / (83 * 75) = 900 / 6225 = 12 / 83.
    assert ss.range_eer(references, scores, eer_rule="interpolated").exact_value == Fraction(12, 83)
    # points of 20 ms: 150 bona fide, 50 spoof, 8 of each wrong
    assert ss.point_eer(references, scores, 0.02).exact_value == Fraction(8, 75)
    # points of 160 ms (25, the last from 3.84 to 4.00). Spoof if any of it is: points 6 (0.96) to 12 (1.92-2.08), 7 of
    # them. Scored 0.1 if any of it is called spoof, 1.16 to 2.16: points 7 to 13. Point 6 is missed, point 13 is wrong.
    coarse = ss.point_eer(references, scores, 0.16)
    assert (coarse.exact_false_positive_rate, coarse.exact_false_negative_rate) == (Fraction(1, 18), Fraction(1, 7))


def test_the_shift_is_the_same_in_a_system_with_graded_scores():
    # 2 s each. Scores fall in steps from 1.0 (bona fide) over 0.5 (160 ms around the edge) to 0.0 (spoof):
    # spoof 1-3 s; 0.0 on 1.16-3.00, 0.5 on 1.00-1.16 and 3.00-3.16, 1.0 elsewhere.
    # tau 0.5: FPR 0, FNR 0.16 / 2; tau 1.0: FPR 0.16 / 2, FNR 0. A tie: the lower threshold, EER 4 %.
    references = references_around([(1.0, 3.0)], 4.0)
    scores = ss.Scores.from_ranges(
        {"u": [(0.0, 1.0, 1.0), (1.0, 1.16, 0.5), (1.16, 3.0, 0.0), (3.0, 3.16, 0.5), (3.16, 4.0, 1.0)]},
        higher="bonafide",
    )
    measured = ss.range_eer(references, scores)
    assert (measured.exact_value, measured.threshold) == (Fraction(4, 100), 0.5)
    assert ss.range_eer(references, scores, eer_rule="interpolated").exact_value == Fraction(4, 100)


# ---------------------------------------------------------------- two ways to the crossing


def big_corpus(rows_per_utterance, values, is_spoof, dtype, higher="bonafide", cut=0):
    """One label per utterance; frames of 20 ms, the last ``cut`` of which start after the end."""
    rows_per_utterance = np.asarray(rows_per_utterance)
    count = rows_per_utterance.size
    ids = [f"u{i}" for i in range(count)]
    extents = (rows_per_utterance - cut) * 20 * MS
    references = ss.References.from_columns(
        ids, extents, np.arange(count + 1), np.zeros(count, np.int64), extents, np.asarray(is_spoof, bool)
    )
    offsets = np.concatenate(([0], np.cumsum(rows_per_utterance)))
    values = (values if higher == "bonafide" else -values).astype(dtype)
    return references, ss.Scores.from_columns(ids, offsets, values, hop=0.02, higher=higher)


def structure(name, dtype, higher="bonafide", utterances=400, rows=50):
    """Corpora that make a guess from a sample hard."""
    rng = np.random.default_rng(len(name))
    is_spoof = rng.random(utterances) < 0.4
    per_row = np.repeat(is_spoof, rows)
    lengths = np.full(utterances, rows)
    noise = rng.normal(size=per_row.size)
    values = noise - 1.5 * per_row
    cut = 0
    if name == "two values":
        values = (values > -0.7).astype(float)
    elif name == "nine values":
        values = np.clip(np.rint(values), -4, 4)
    elif name == "all equal":
        values = np.full(per_row.size, 0.25)
    elif name == "saturated":
        values = np.clip(values + 1.0, -0.5, 0.5)
    elif name == "zeros of both signs":
        values = np.where(np.abs(values) < 0.8, np.where(noise > 0, 0.0, -0.0), values)
    elif name == "infinities":
        values = np.where(values > 1, np.inf, np.where(values < -2, -np.inf, values))
    elif name == "sorted by utterance":
        order = np.argsort(values)
        values, per_row = values[order], per_row[order]
        is_spoof = per_row.reshape(utterances, rows).mean(axis=1) > 0.4
    elif name == "one huge outlier block":
        # one utterance with half of all time that knows everything the wrong way round, far away from the others
        lengths[0] = per_row.size
        is_spoof[0] = True
        values = np.concatenate((1e4 + rng.normal(size=lengths[0]), values[rows:]))
    elif name == "overlong":
        cut = 2
        late = np.arange(per_row.size) % rows >= rows - cut
        values = np.where(late, rng.normal(size=per_row.size) * 3, values)
    elif name == "outside every bin":
        values = values * 1e-6 + 1e-3 * per_row
    elif name == "no errors":
        values = np.where(per_row, -np.abs(noise) - 0.01, np.abs(noise))
    elif name == "all wrong":
        values = np.where(per_row, np.abs(noise), -np.abs(noise) - 0.01)
    else:
        assert name == "gaussian"
    return big_corpus(lengths, values, is_spoof, dtype, higher, cut)


STRUCTURES = [
    "gaussian",
    "two values",
    "nine values",
    "all equal",
    "saturated",
    "zeros of both signs",
    "infinities",
    "sorted by utterance",
    "one huge outlier block",
    "overlong",
    "outside every bin",
    "no errors",
    "all wrong",
]


def sorted_crossing(mass: ss.ScoreMass):
    """The two neighbours of the crossing as (tau, FP, FN), by sorting the columns of a mass."""
    sign = 1 if mass.higher == "bonafide" else -1
    distinct, place = np.unique(sign * mass.scores, return_inverse=True)
    called = np.zeros((2, distinct.size + 1), np.int64)
    for column, amounts in zip(called, (mass.bona_fide, mass.spoof), strict=True):
        np.add.at(column[1:], place, amounts)
        np.cumsum(column, out=column)
    (*_, bona_fide), (*_, spoof) = called.tolist()

    def is_after(i):
        false_positive, true_positive = map(int, called[:, i])
        return false_positive * spoof - (spoof - true_positive) * bona_fide >= 0

    after = bisect_left(range(distinct.size + 1), True, key=is_after)
    taus = [*distinct.tolist(), None]
    return [(taus[i], int(called[0, i]), spoof - int(called[1, i])) for i in (after - 1, after)]


def assert_both_paths_find(mass: ss.ScoreMass) -> None:
    guessed, counted = crossing(mass, guess=True), crossing(mass, guess=False)
    assert guessed == counted
    sign = 1 if mass.higher == "bonafide" else -1
    for point, (tau, false_positive, false_negative) in zip(
        (counted.before, counted.after), sorted_crossing(mass), strict=True
    ):
        assert point.everything == (tau is None)
        assert point.threshold == (sign * math.inf if tau is None else sign * tau)
        assert (point.false_positive, point.false_negative) == (false_positive, false_negative)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", STRUCTURES)
def test_the_guess_and_the_histograms_find_the_same_crossing(name, dtype):
    for higher in POLARITIES:
        references, scores = structure(name, dtype, higher)
        assert_both_paths_find(ss.overlay(references, scores))
    assert_both_paths_find(ss.point_mass(references, scores, 0.03))


@pytest.mark.parametrize("sample", [1, 2, 7, 64])
@pytest.mark.parametrize("name", STRUCTURES)
def test_a_guess_from_a_tiny_sample_misleads_nobody(name, sample, monkeypatch):
    monkeypatch.setattr("spoofspan.measures.eer.SAMPLE", sample)
    references, scores = structure(name, np.float32, utterances=60, rows=20)
    for mass in (ss.overlay(references, scores), ss.point_mass(references, scores, 0.02)):
        assert_both_paths_find(mass)
        weights = np.random.default_rng(sample).integers(0, 5, len(mass.utterances))
        assert_both_paths_find(mass.reweight(weights))
        half = len(mass.utterances) // 2
        assert_both_paths_find(mass.select(mass.utterances[half:]) + mass.select(mass.utterances[:half]))


@few_examples
@given(data=st.data(), corpus=corpora(), dtype=st.sampled_from(DTYPES), sample=st.sampled_from([1, 3, 1 << 15]))
def test_both_paths_agree_on_small_corpora_under_any_rule(data, corpus, dtype, sample):
    resolution = data.draw(st.sampled_from([None, 0.01, 0.035]))
    mass = corpus.mass(resolution, dtype)
    outcomes = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spoofspan.measures.eer.SAMPLE", sample)
        for guess in (True, False):
            try:
                outcomes.append(crossing(mass, guess=guess))
            except ss.UndefinedMeasureError as error:
                outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


def test_a_sample_that_sees_only_the_exceptions_misleads_nobody():
    # rows that a regular sample of 2**15 out of 2**18 picks say the opposite of all others
    rows = np.arange(1 << 18)
    is_spoof = np.arange(1 << 13) % 2 == 0
    per_row = np.repeat(is_spoof, 32)
    noise = np.random.default_rng(3).normal(size=rows.size)
    right = noise - 2.0 * per_row
    for picked in (rows % 8 == 0, rows % 8 != 1):
        values = np.where(picked, 50.0 - right, right)
        references, scores = big_corpus(np.full(1 << 13, 32), values, is_spoof, np.float32)
        assert_both_paths_find(ss.overlay(references, scores))


@pytest.mark.parametrize("name", ["gaussian", "nine values", "sorted by utterance", "one huge outlier block"])
def test_both_paths_agree_on_more_than_200_000_rows(name):
    references, scores = structure(name, np.float32, utterances=5200, rows=40)
    assert scores.values.size > 200_000
    assert_both_paths_find(ss.overlay(references, scores))


# ---------------------------------------------------------------- large totals


def long_corpus(utterances=60, seed=5, longest=2**59):
    """Ranges of up to 18 years: totals beyond 2**63 ns."""
    rng = np.random.default_rng(seed)
    references, durations, scores = {}, {}, {}
    for i in range(utterances):
        utt, extent = f"u{i}", int(rng.integers(longest // 2, longest))
        edge = int(rng.integers(1, extent))
        references[utt] = [(0, edge, i % 2), (edge, extent, 1 - i % 2)]
        durations[utt] = extent
        cuts = [0, *sorted(int(rng.integers(1, extent)) for _ in range(6)), extent]
        scores[utt] = [(a, b, float(rng.integers(-3, 4)) / 2) for a, b in pairwise(cuts)]
    return Corpus(references, durations, scores)


def assert_exact(mass: ss.ScoreMass, rows) -> None:
    points = rates(rows)
    tau, fpr, fnr = nearest(points)
    for guess in (True, False):
        found = crossing(mass, guess=guess).nearest
        assert (found.exact_false_positive_rate, found.exact_false_negative_rate) == (fpr, fnr)
        assert found.threshold == (math.inf if tau is None else tau)
        assert found.bona_fide == candidates(rows)[-1][1]
        assert found.spoof == candidates(rows)[-1][2]
    assert ss.equal_error_rate(mass).value == (fpr + fnr) / 2
    assert ss.equal_error_rate(mass, "interpolated").value == interpolated(points)
    if len(points) < 100:
        assert ss.equal_error_rate(mass, "convex-hull").value == hull_crossing(points)
    curve = error_curve_of(mass)
    assert curve.false_positive_rates.tolist() == [float(point[1]) for point in points]
    assert curve.false_negative_rates.tolist() == [float(point[2]) for point in points]


@pytest.mark.parametrize(("longest", "least"), [(2**52, 2**53), (2**59, 2**63)])
def test_long_totals_are_exact(longest, least):
    corpus = long_corpus(longest=longest)
    rows = overlaps(corpus)
    assert sum(row[1] for row in rows) > least
    assert sum(row[2] for row in rows) > least
    assert_exact(corpus.mass(None), rows)
    distinct = [(score + i / 1e6, *times) for i, (score, *times) in enumerate(rows)]
    numbers = iter(distinct)
    untied = {u: [(a, b, next(numbers)[0]) for a, b, _ in listed] for u, listed in corpus.scores.items()}
    assert_exact(corpus.but(scores=untied).mass(None), distinct)


def test_long_totals_are_shown_right():
    corpus = long_corpus()
    totals = [0, 0]
    for ranges in corpus.references.values():
        for start, end, label in ranges:
            totals[label] += end - start
    shown = repr(corpus.built()[0])
    for total, name in zip(totals, ("bona fide", "spoof"), strict=True):
        assert f"{total // 10**9}." in shown
        assert f" s {name}" in shown


@pytest.mark.parametrize("weight", [2**10, 2**30, 2**33 - 1])
def test_reweighted_totals_beyond_64_bits_are_exact(weight):
    corpus = random_corpus(np.random.default_rng(1), 40, 62_500, decimals=1)
    weights = [weight - i for i in range(40)]
    by_utterance = [
        (score, bona_fide * weights[i], spoof * weights[i])
        for i, utt in enumerate(corpus.references)
        for score, bona_fide, spoof in overlaps(corpus.only([utt]))
    ]
    mass = corpus.mass(None)
    assert_exact(mass.reweight(weights), by_utterance)
    # the weights of two re-weightings multiply
    assert_exact(mass.reweight([2] * 40).reweight(weights), [(s, 2 * b, 2 * f) for s, b, f in by_utterance])


@pytest.mark.parametrize("weight", [2**45, 2**52, 2**55])
def test_reweighted_points_beyond_64_bits_are_exact(weight):
    corpus = random_corpus(np.random.default_rng(1), 300, 62_500, decimals=1)
    mass = corpus.mass(0.02)
    ones = mass.reweight([1] * 300)
    rows = list(zip(ones.scores.tolist(), ones.bona_fide.tolist(), ones.spoof.tolist(), strict=True))
    expected = [(score, bona_fide * weight, spoof * weight) for score, bona_fide, spoof in rows]
    assert sum(row[1] for row in expected) > 2**53
    assert_exact(mass.reweight([weight] * 300), expected)


def test_a_weight_that_does_not_fit_is_refused_and_never_wraps():
    corpus = random_corpus(np.random.default_rng(1), 2, 62_500)
    for mass in (corpus.mass(None), corpus.mass(0.02)):
        for weights in ([2**62, 1], [2**63, 1], np.array([2**64 - 1, 1], np.uint64)):
            with pytest.raises(ss.UsageError, match="weight"):
                mass.reweight(weights)
        with pytest.raises(ss.UsageError, match="weight"):
            mass.reweight([2**40, 1]).reweight([2**40, 1])


def test_weights_of_very_short_utterances_leave_the_guess_alone():
    # 40,000 utterances of 2 ns, each counted 2**49 times: 2**64 in a sample of 2**15 alone
    count, extent, weight = 40_000, 2, 2**49
    rng = np.random.default_rng(2)
    ids = [f"u{i}" for i in range(count)]
    is_spoof = np.arange(count) % 2 == 0
    references = ss.References.from_columns(
        ids, np.full(count, extent), np.arange(count + 1), np.zeros(count, np.int64), np.full(count, extent), is_spoof
    )
    values = rng.normal(size=count) - is_spoof
    scores = ss.Scores.from_columns(
        ids,
        np.arange(count + 1),
        values,
        starts=np.zeros(count, np.int64),
        ends=np.full(count, extent),
        higher="bonafide",
    )
    for mass in (ss.overlay(references, scores), ss.point_mass(references, scores, extent / 1e9)):
        light = ss.equal_error_rate(mass)
        heavy = ss.equal_error_rate(mass.reweight(np.full(count, weight)))
        assert (heavy.value, heavy.point.threshold) == (light.value, light.point.threshold)
        assert heavy.point.bona_fide == weight * light.point.bona_fide


# ---------------------------------------------------------------- buckets


def test_buckets_move_the_eer_of_saturated_scores_by_the_documented_amount():
    case = load("saturated")
    golden = case.expected["rule_sets"]["psm_mseer_decimal_comparison"]
    arguments = {"convention": "partialspoof-metrics"}
    exact = ss.range_eer(case.references, case.spoof_scores, eer_rule="nearest", **arguments)
    coarse = ss.range_eer(case.references, case.spoof_scores, eer_rule="bucketed(-2,2,8000)", **arguments)
    fine = ss.range_eer(case.references, case.spoof_scores, eer_rule="bucketed(-2,2,100000)", **arguments)
    assert fine.exact_value == exact.exact_value
    moved = Fraction(golden["result_with_buckets_8000"]["eer_exact"]) - Fraction(
        golden["result_without_buckets"]["eer_exact"]
    )
    assert coarse.exact_value - exact.exact_value == moved
    assert float(moved) == pytest.approx(0.028303, abs=1e-6)
    # points, with the tool's own 10,000 buckets
    points = case.expected["rule_sets"]["psm_frame_decimal_comparison"]["frame_eer"]
    bucketed = ss.point_eer(case.references, case.spoof_scores, 0.02, **arguments)
    without = ss.point_eer(case.references, case.spoof_scores, 0.02, eer_rule="nearest", **arguments)
    assert bucketed.exact_value == Fraction(points["result_with_buckets"]["eer_exact"])
    assert without.exact_value == Fraction(points["result_without_buckets"]["eer_exact"])


def test_scores_in_one_bucket_are_tied():
    # four quarters: bona fide 0.9999, bona fide 0.9998, spoof 0.9997, spoof 0.1; a bucket is 0.001 wide
    references = ss.References.from_ranges({"u": [(0.0, 2.0, "bonafide"), (2.0, 4.0, "spoof")]}, {"u": 4.0})
    rows = [(0.0, 1.0, 0.9999), (1.0, 2.0, 0.9998), (2.0, 3.0, 0.9997), (3.0, 4.0, 0.1)]
    scores = ss.Scores.from_ranges({"u": rows}, higher="bonafide")
    assert ss.range_eer(references, scores).exact_value == 0
    # three of them fall into one: candidates (0, 1), (0, 1/2), (1, 0); the first of the middle two is nearest
    measured = ss.range_eer(references, scores, eer_rule="bucketed(-1,0,1000)")
    assert (measured.exact_value, measured.gap) == (Fraction(1, 4), 0.5)


# ---------------------------------------------------------------- the floor


@st.composite
def references_off_the_grid(draw):
    ranges, durations = {}, {}
    for i in range(draw(st.integers(1, 3))):
        extent = draw(st.integers(20, 200))
        cuts = draw(st.sets(st.integers(1, extent - 1), min_size=1, max_size=4))
        edges = [0, *sorted(cuts), extent]
        first = draw(st.integers(0, 1))
        ranges[f"u{i}"] = [(a * MS, b * MS, (first + k) % 2) for k, (a, b) in enumerate(pairwise(edges))]
        durations[f"u{i}"] = extent * MS
    return references_of(ranges, durations)


@few_examples
@given(
    references=references_off_the_grid(),
    hop=st.sampled_from([0.01, 0.02, 0.035, 1 / 30]),
    seed=st.integers(0, 2**16),
    noise=st.sampled_from([0.01, 0.3, 100.0]),
)
def test_no_scores_beat_the_floor(references, hop, seed, noise):
    rng = np.random.default_rng(seed)
    counts = [math.ceil(extent / 1e9 / hop) for extent in references.durations]
    ends = dict(zip(references.utterances, np.split(references.ends, references.offsets[1:-1]), strict=True))
    labels = dict(zip(references.utterances, np.split(references.labels, references.offsets[1:-1]), strict=True))
    frames = {}
    for utt, count in zip(references.utterances, counts, strict=True):
        centres = (np.arange(count) + 0.5) * hop * 1e9
        run = np.minimum(np.searchsorted(ends[utt], centres), ends[utt].size - 1)
        frames[utt] = (labels[utt][run] == BONA_FIDE) + noise * rng.normal(size=count)
    scores = ss.Scores.from_frames(frames, hop=hop, higher="bonafide")
    for eer_rule in ("interpolated", "convex-hull"):
        floor = ss.best_possible(references, hop, eer_rule=eer_rule)
        assert ss.range_eer(references, scores, eer_rule=eer_rule).exact_value >= floor.exact_value
    assert ss.best_possible(references, hop, eer_rule="interpolated").exact_value == floor.exact_value


@few_examples
@given(references=references_off_the_grid(), hop_ms=st.sampled_from([1, 3, 5, 10]), factor=st.sampled_from([2, 3, 4]))
def test_the_floor_rises_with_the_hop(references, hop_ms, factor):
    fine, coarse = (
        ss.best_possible(references, ms / 1000, eer_rule="convex-hull").exact_value for ms in (hop_ms, factor * hop_ms)
    )
    assert fine <= coarse


@few_examples
@given(references=references_off_the_grid())
def test_the_floor_is_zero_where_every_edge_lies_on_the_grid(references):
    floor = ss.best_possible(references, 0.001)
    assert floor.exact_value == 0
    assert floor.measure == "floor@1ms"


def test_the_floor_of_a_small_case_by_hand():
    references = ss.References.from_ranges({"u": [(0.0, 0.03, "bonafide"), (0.03, 0.06, "spoof")]}, {"u": 0.06})
    # frames of 20 ms with 20, 10 and 0 ms of bona fide: candidates (0, 1), (0, 1/3), (1/3, 0), (1, 0)
    floor = ss.best_possible(references, 0.02)
    assert floor.exact_value == Fraction(1, 6)
    assert (floor.exact_false_positive_rate, floor.exact_false_negative_rate) == (0, Fraction(1, 3))
    assert ss.best_possible(references, 0.02, eer_rule="interpolated").exact_value == Fraction(1, 6)
    # one frame for all of it: call nothing or everything spoof
    assert ss.best_possible(references, 0.06).exact_value == Fraction(1, 2)
    # frames of 40 ms: 30 + 10 and 0 + 20: candidates (0, 1), (0, 1/3), (1, 0); the line from the second to the third
    # x = t, y = (1 - t) / 3 meets x = y at 1/4
    assert ss.best_possible(references, 0.04, eer_rule="interpolated").exact_value == Fraction(1, 4)
    assert ss.best_possible(references, 0.04).exact_value == Fraction(1, 6)


def test_the_floor_counts_only_what_the_rules_count():
    ranges = {"u": [(0.0, 0.03, "bonafide"), (0.03, 0.06, "spoof"), (0.06, 0.08, "nonspeech")]}
    references = ss.References.from_ranges(ranges, {"u": 0.08})
    with pytest.raises(ss.DataError, match="non-speech"):
        ss.best_possible(references, 0.02)
    # without the 5 ms on both sides of every edge: 25 ms of both, and the frame in the middle has 5 ms of both
    floor = ss.best_possible(references, 0.02, nonspeech="ignore", collar=0.005)
    assert floor.point.bona_fide == 25 * MS
    assert floor.point.spoof == 20 * MS
    assert floor.exact_value == Fraction(1, 2) * Fraction(5, 25)


# ---------------------------------------------------------------- the curve, by plain counting


def counted_at(rows, tau, undecided=(0, 0), uncovered="error"):
    """TP, FN, FP, TN and unanswered if scores below tau (bona fide polarity) are called spoof."""
    false_positive = sum(bona_fide for score, bona_fide, _ in rows if score < tau)
    true_negative = sum(bona_fide for score, bona_fide, _ in rows if score >= tau)
    true_positive = sum(spoof for score, _, spoof in rows if score < tau)
    false_negative = sum(spoof for score, _, spoof in rows if score >= tau)
    if uncovered == "spoof":
        false_positive, true_positive = false_positive + undecided[0], true_positive + undecided[1]
    if uncovered == "bonafide":
        true_negative, false_negative = true_negative + undecided[0], false_negative + undecided[1]
    unanswered = sum(undecided) if uncovered == "unanswered" else 0
    return true_positive, false_negative, false_positive, true_negative, unanswered


@few_examples
@given(corpus=corpora(labels=(BONA_FIDE, SPOOF), collar=False), dtype=st.sampled_from(DTYPES))
def test_the_curve_at_any_threshold_is_what_counting_gives(corpus, dtype):
    assume(corpus.rules["uncovered"] != "hold")
    rows = overlaps(corpus)
    whole = [0, 0]
    for ranges in corpus.references.values():
        for start, end, label in ranges:
            whole[label] += end - start
    undecided = (whole[BONA_FIDE] - sum(row[1] for row in rows), whole[SPOOF] - sum(row[2] for row in rows))
    if corpus.rules["uncovered"] == "ignore":
        undecided = (0, 0)
    references, scores = corpus.built(dtype)
    try:
        curve = ss.error_curve(references, scores, **corpus.rules)
    except ss.UndefinedMeasureError:
        scored = [sum(row[1] for row in rows), sum(row[2] for row in rows)]
        assert not scored[0] + undecided[0] or not scored[1] + undecided[1] or not sum(scored)
        return
    sign = 1 if corpus.higher == "bonafide" else -1
    given_scores = {float(value) for value in scores.values}
    nearby = {float(np.nextafter(value, side)) for value in given_scores for side in (math.inf, -math.inf)}
    for threshold in given_scores | nearby | {math.inf, -math.inf, 0.0, -0.0, 0.1}:
        point = curve.at(threshold)
        expected = counted_at(rows, sign * threshold, undecided, corpus.rules["uncovered"])
        found = (point.true_positive, point.false_negative, point.false_positive, point.true_negative)
        assert (*found, point.unanswered_bona_fide + point.unanswered_spoof) == expected
        assert point.threshold == threshold
        assert list(point.seconds().values()) == [amount / 1e9 for amount in expected]
        assert point.false_positive_rate == float(Fraction(expected[2], point.bona_fide))
        assert point.false_negative_rate == float(Fraction(expected[1], point.spoof))


@few_examples
@given(corpus=corpora(labels=(BONA_FIDE, SPOOF), holes=False, collar=False))
def test_the_eer_rules_are_those_of_the_curve(corpus):
    rows = overlaps(corpus)
    points = rates(rows)
    references, scores = corpus.built()
    curve = ss.error_curve(references, scores)
    sign = 1 if corpus.higher == "bonafide" else -1
    assert len(curve) == len(points)
    assert curve.thresholds.tolist() == [sign * (math.inf if tau is None else tau) for tau, *_ in points]
    assert curve.false_positive_rates.tolist() == [float(fpr) for _, fpr, _ in points]
    assert curve.false_negative_rates.tolist() == [float(fnr) for _, _, fnr in points]
    assert (np.diff(curve.false_positive_rates) >= 0).all()
    assert (np.diff(curve.false_negative_rates) <= 0).all()
    for i, (tau, fpr, fnr) in enumerate(points):
        point = curve.point(i)
        assert (point.exact_false_positive_rate, point.exact_false_negative_rate) == (fpr, fnr)
        assert point.everything == (tau is None)
    assert curve.point(-1) == curve.point(len(curve) - 1)
    tau, fpr, fnr = nearest(points)
    measured = ss.range_eer(references, scores)
    assert measured.exact_value == (fpr + fnr) / 2
    assert measured.threshold == sign * (math.inf if tau is None else tau)
    assert ss.range_eer(references, scores, eer_rule="interpolated").exact_value == interpolated(points)
    assert ss.range_eer(references, scores, eer_rule="convex-hull").exact_value == hull_crossing(points)
    before, after = measured.neighbours
    places = [i for i in range(len(points)) if curve.point(i) in (before, after)]
    assert places == [places[0], places[0] + 1]


@few_examples
@given(corpus=corpora(labels=(BONA_FIDE, SPOOF), values=EXACT_SCORES | FEW_SCORES, collar=False, holes=False))
def test_the_columns_of_a_mass_add_up_to_the_labels(corpus):
    mass = corpus.mass(None)
    assert int(mass.bona_fide.sum()) == sum(b - a for rows in corpus.references.values() for a, b, x in rows if not x)
    assert int(mass.spoof.sum()) == sum(b - a for rows in corpus.references.values() for a, b, x in rows if x)
    assert mass.bona_fide.dtype == mass.spoof.dtype == np.int64
    expected = [
        (score, bona_fide, spoof)
        for (score, bona_fide, spoof) in overlaps(corpus.but(higher="bonafide"))
        if bona_fide or spoof
    ]
    assert list(zip(mass.scores.tolist(), mass.bona_fide.tolist(), mass.spoof.tolist(), strict=True)) == expected
    points = corpus.but(point_rules={"label": "any"}).mass(0.01)
    everything = sum(-(-duration // (10 * MS)) for duration in corpus.durations.values())
    assert int(points.bona_fide.sum() + points.spoof.sum()) == everything
