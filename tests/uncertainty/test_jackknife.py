"""Intervals and p-values by leaving out clusters, against brute force and derivations of their own."""

import json
import warnings
from math import atan, comb, exp, gamma, log, pi, sqrt

import numpy as np
import pytest
from test_comparison import noisy
from test_uncertainty import speakers_of, toy

import spoofspan as ss
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.report.page.content import PageSettings, page_content
from spoofspan.report.results import render
from spoofspan.report.verdicts import comparison_tables
from spoofspan.uncertainty import measured_system as measured
from spoofspan.uncertainty.clusters import ClusterCounts, Clusters, Resampling, dealt
from spoofspan.uncertainty.jackknife import Jackknife
from spoofspan.uncertainty.left_out import LeftOut
from spoofspan.uncertainty.methods import METHODS
from spoofspan.uncertainty.spreads import JackknifeSpread
from spoofspan.uncertainty.student import quantile, two_sided_p

pytestmark = pytest.mark.quick

# ---------------------------------------------------------------- Student's t


@pytest.mark.parametrize("t", [0.0, 1e-6, 0.3, 1.0, 2.5, 12.7, 300.0])
def test_t_with_one_two_and_four_degrees_of_freedom_is_in_closed_form(t):
    assert two_sided_p(t, 1) == pytest.approx(1 - 2 / pi * atan(t), rel=1e-9, abs=1e-12)
    assert two_sided_p(t, 2) == pytest.approx(1 - t / sqrt(2 + t * t), rel=1e-9, abs=1e-12)
    x = t / sqrt(4 + t * t)
    assert two_sided_p(t, 4) == pytest.approx(1 - x * (3 - x * x) / 2, rel=1e-9, abs=1e-12)
    assert two_sided_p(-t, 4) == two_sided_p(t, 4)


def tail_by_integration(t, degrees):
    """The chance beyond t by Simpson's rule over the density, with t = sqrt(degrees) * tan(angle)."""
    angles = np.linspace(np.arctan(t / sqrt(degrees)), pi / 2, 20_001)
    density = np.cos(angles) ** (degrees - 1)
    steps = np.ones(angles.size)
    steps[1:-1:2], steps[2:-1:2] = 4, 2
    whole = sqrt(pi) * gamma(degrees / 2) / gamma((degrees + 1) / 2)
    return 2 * float((steps * density).sum()) * (angles[1] - angles[0]) / 3 / whole


@pytest.mark.parametrize("degrees", [1.7, 3.0, 5.5, 9.0, 47.0, 168.0])
def test_t_with_any_degrees_of_freedom_is_the_integral_of_its_density(degrees):
    for t in (0.1, 1.0, 2.0, 4.0):
        assert two_sided_p(t, degrees) == pytest.approx(tail_by_integration(t, degrees), rel=1e-6)
    for confidence in (0.5, 0.9, 0.95, 0.999):
        assert two_sided_p(quantile(confidence, degrees), degrees) == pytest.approx(1 - confidence, rel=1e-9)


def test_t_with_many_degrees_of_freedom_is_normal():
    assert quantile(0.95, 1e6) == pytest.approx(1.959966, abs=1e-6)
    assert two_sided_p(float("inf"), 5) == 0


def test_t_as_in_scipy():
    t = pytest.importorskip("scipy.stats").t
    for degrees in (1, 1.5, 2.3, 8, 29.9, 400, 71236):
        for value in (0.01, 0.7, 1.96, 3.3, 20):
            assert two_sided_p(value, degrees) == pytest.approx(2 * float(t.sf(value, degrees)), rel=1e-8)


# ---------------------------------------------------------------- values without each cluster


def jackknife_of(references, scores, measure, clusters=None, threshold=None, **options):
    _, rest = measured.split_arguments(options)
    system = measured.measured_system(references, scores, ss.Measure.parse(measure), rest, threshold)
    return Jackknife.of([system], Clusters.of(system.mass.utterances, clusters))


def values_of_subsets(references, scores, measure, clusters, **options):
    """Remove the utterances of each cluster from the corpus, and evaluate what is left."""
    found = []
    for name in sorted(set(clusters.values())):
        keep = np.array([i for i, utt in enumerate(references.utterances) if clusters[utt] != name])
        left = ss.evaluate(references.take(keep), scores.take(keep), [measure], **options)
        found.append(left[measure].value)
    return np.array(found)


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
@pytest.mark.parametrize(
    ("measure", "options"),
    [
        ("range-f1", {"threshold": 0.1}),
        ("range-precision-bonafide", {"threshold": 0.1}),
        ("point-hter@40ms", {"threshold": 0.1}),
        ("range-fpr", {"threshold": 0.1}),
        ("range-false-alarms-per-hour", {"threshold": 0.1}),
        ("range-der", {"threshold": 0.1}),
        ("range-dcf@p_spoof=0.9,cost_miss=3,cost_false_alarm=1", {"threshold": 0.1}),
        ("range-act-dcf", {"scores_are": "llr"}),
        ("range-cllr", {"scores_are": "llr"}),
        ("range-auc", {}),
        ("range-average-precision", {}),
    ],
)
def test_sums_and_pairs_without_a_cluster_are_the_measure_of_the_rest(measure, options, higher):
    references, scores = toy(24, 10, higher=higher)
    clusters = speakers_of(references, 8)
    found = jackknife_of(references, scores, measure, clusters, **options).without[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.SpoofspanWarning)
        expected = values_of_subsets(references, scores, measure, clusters, **options)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("rule", ["ignore", "bonafide", "spoof", "unanswered"])
def test_time_under_no_score_is_left_out_as_well(rule):
    references, scores = toy(12, 10)
    short = ss.Scores.from_columns(
        scores.utterances,
        np.arange(13) * 6,
        scores.values.reshape(12, 10)[:, :6].reshape(-1),
        hop=0.02,
        higher="bonafide",
    )
    clusters = {utt: utt for utt in references.utterances}
    for measure, options in (("range-f1", {"threshold": 0.1}), ("range-auc", {})):
        if (measure, rule) == ("range-auc", "unanswered"):
            continue
        found = jackknife_of(references, short, measure, uncovered=rule, **options)
        expected = values_of_subsets(references, short, measure, clusters, uncovered=rule, **options)
        assert found.without[:, 0] == pytest.approx(expected, abs=1e-12)


def test_a_best_value_without_a_cluster_is_taken_where_it_was_best():
    references, scores = toy(60, 20)
    clusters = {utt: utt for utt in references.utterances}
    for measure in ("range-min-dcf", "range-best-f1", "range-min-cllr"):
        found = jackknife_of(references, scores, measure)
        moved = values_of_subsets(references, scores, measure, clusters)
        sign = -1 if measure == "range-best-f1" else 1
        # the best threshold, or map, of the rest can only be better
        assert (sign * (found.without[:, 0] - moved) >= -1e-12).all()
        error = sqrt(59 / 60 * ((moved - moved.mean()) ** 2).sum())
        assert found.estimate([1.0]).standard_error == pytest.approx(error, rel=0.1)


def moved_by_hand(spoof, values, cluster, keep):
    """The EER without each cluster, from rates at the same threshold and a chord of the curve; frames, all alike."""
    order = np.argsort(values)
    called_b, called_s = (np.concatenate(([0], np.cumsum(one[order]))) for one in (~spoof, spoof))
    fpr, fnr = called_b / called_b[-1], 1 - called_s / called_s[-1]
    at = (
        int(np.argmin(np.abs(fpr - fnr))) if keep == "difference" else int(np.searchsorted(fpr, keep, side="right")) - 1
    )
    if keep != "difference":  # the lowest of equally good thresholds
        at = int(np.flatnonzero(fnr == fnr[at])[0])
    low = values < (values[order][at] if at < values.size else np.inf)
    rest = []
    for one in np.unique(cluster):
        other = cluster != one
        rest.append((low[other & ~spoof].mean(), 1 - low[other & spoof].mean()))
    dx, dy = (np.array(column) - base for column, base in zip(zip(*rest, strict=True), (fpr[at], fnr[at]), strict=True))
    count = dx.size
    level = fpr - fnr if keep == "difference" else fpr
    apart = dx - dy if keep == "difference" else dx
    reach = 2 * sqrt((count - 1) / count * ((apart - apart.mean()) ** 2).sum())
    # with both classes in steps of their own, sums of rates tie only by rounding
    first = np.flatnonzero(level <= level[at] - reach + 1e-12)
    last = np.flatnonzero(level >= level[at] + reach - 1e-12)
    first, last = (first[-1] if first.size else 0), (last[0] if last.size else fpr.size - 1)
    right, down = fpr[last] - fpr[first], fnr[first] - fnr[last]
    if keep == "difference":
        return (fpr[at] + fnr[at]) / 2 + (down * dx + right * dy) / (right + down)
    return fnr[at] + dy + dx * down / right


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
def test_rates_without_a_cluster_are_moved_along_the_curve(seed, higher):
    references, scores = toy(60, 12, seed=seed, higher=higher, dtype=np.float64)
    sign = 1 if higher == "bonafide" else -1
    spoof, cluster = references.labels == 1, np.repeat(np.arange(60), 12)
    values = sign * scores.values
    found = jackknife_of(references, scores, "range-eer").without[:, 0]
    assert found == pytest.approx(moved_by_hand(spoof, values, cluster, "difference"), abs=2e-3 / 60)
    found = jackknife_of(references, scores, "range-fnr@fpr=0.1").without[:, 0]
    assert found == pytest.approx(moved_by_hand(spoof, values, cluster, 0.1), abs=1e-2 / 60)


@pytest.mark.filterwarnings("ignore:.*the best of this very test set")
@pytest.mark.parametrize("measure", ["range-eer", "utterance-eer", "range-fnr@fpr=0.2", "range-f1", "range-min-dcf"])
def test_the_standard_error_is_near_that_of_a_bootstrap(measure):
    references, scores = toy(300, 2 if "utterance" in measure else 8, shift=1.0)
    left_out = ss.interval(references, scores, measure)
    drawn = ss.interval(references, scores, measure, replicates=400, method="percentile")
    assert left_out.standard_error == pytest.approx(drawn.standard_error, rel=0.2)
    assert left_out.estimate == drawn.estimate


def test_rules_that_read_the_eer_off_differently_move_alike():
    references, scores = toy(60, 20)
    plain = ss.interval(references, scores)
    for rule in ("interpolated", "convex-hull", "bucketed(-6,6,5000)"):
        other = ss.interval(references, scores, eer_rule=rule)
        assert other.standard_error == pytest.approx(plain.standard_error, rel=0.05)
        assert other.low < other.estimate < other.high


def test_clusters_are_left_out_in_groups_where_a_measure_is_slow(monkeypatch):
    references, scores = toy(80, 8)
    each = jackknife_of(references, scores, "range-average-precision").estimate([1.0])
    monkeypatch.setattr(measured, "MOST_LEFT_OUT", 50)
    monkeypatch.setattr(measured, "GROUPS_LEFT_OUT", 40)
    groups = jackknife_of(references, scores, "range-average-precision")
    assert groups.without.shape == (40, 1)
    assert groups.counts.clusters == 80
    assert groups.estimate([1.0]).standard_error == pytest.approx(each.standard_error, rel=0.3)


# ---------------------------------------------------------------- systems together


def error_of_a_difference(values, without):
    """The larger standard error: of the values as they are, and of their logits times the slope between both."""
    count = len(without)
    logits, slopes = np.log(values / (1 - values)), 1 / (values * (1 - values))
    between = (values[0] - values[1]) / (logits[0] - logits[1])
    apart = without - without.mean(axis=0)
    both = apart[:, 0] - apart[:, 1], between * (slopes[0] * apart[:, 0] - slopes[1] * apart[:, 1])
    return max(sqrt((count - 1) / count * (one**2).sum()) for one in both)


def test_the_covariance_of_systems_is_that_of_their_values_without_each_cluster():
    references, first = toy(60)
    systems = [first, noisy(first, 0.5), noisy(first, 2.0, seed=2)]
    _, options = measured.split_arguments({})
    made = [measured.measured_system(references, one, ss.Measure.parse("range-eer"), options) for one in systems]
    found = Jackknife.of(made, Clusters.of(references.utterances, None))
    assert found.without.shape == (60, 3)
    assert found.values.tolist() == [ss.range_eer(references, one).value for one in systems]
    # np.cov divides by n - 1, the jackknife multiplies by (n - 1) / n
    assert found.covariance == pytest.approx(np.cov(found.without.T) * 59**2 / 60)
    thirds = np.ones(3) / 3
    assert found.estimate(thirds).standard_error ** 2 == pytest.approx(thirds @ found.covariance @ thirds)
    for first, second in ((0, 1), (1, 2)):
        contrast = np.eye(3)[first] - np.eye(3)[second]
        error = error_of_a_difference(found.values[[first, second]], found.without[:, [first, second]])
        assert found.estimate(contrast).standard_error == pytest.approx(error)


def test_a_difference_has_the_larger_of_two_standard_errors():
    """With the lower value's deviations scaled up, as on the scale of logits, it is larger here; a copy has none."""
    rng = np.random.default_rng(3)
    values = np.array([0.10, 0.06])
    without = values + rng.normal(0, [0.0005, 0.002], (40, 2))
    counts = ClusterCounts(40, 40, 40)
    plain, both = (Jackknife(values, without, counts, shares).estimate([1, -1]) for shares in (False, True))
    assert both.standard_error == pytest.approx(error_of_a_difference(values, without))
    assert both.standard_error > 1.2 * plain.standard_error
    assert both.value == plain.value
    swapped = Jackknife(values, without, counts, True).estimate([-1, 1])
    assert swapped.p_value == both.p_value
    # as seeds: the mean of two against one
    three = Jackknife(values[[0, 0, 1]], without[:, [0, 0, 1]], counts, True).estimate([0.5, 0.5, -1])
    assert three.standard_error == pytest.approx(both.standard_error)
    none = Jackknife(np.array([0.0, 0.06]), without, counts, True).estimate([1, -1])
    assert none.standard_error == plain.standard_error


def test_degrees_of_freedom_are_those_of_the_scarcer_class_and_of_the_clusters_that_matter():
    def degrees(without, with_spoof=60):
        counts = ClusterCounts(60, 60, with_spoof)
        return Jackknife(np.array([0.5]), np.array(without)[:, None], counts).estimate([1.0]).degrees_of_freedom

    normal = np.random.default_rng(0).normal(size=60)
    # of normal deviations, the kurtosis is 3 and the degrees of freedom are 2 n / (3 - 1)
    assert degrees(normal) == pytest.approx(59, abs=15)
    assert degrees(normal, with_spoof=4) == 3
    two_matter = np.zeros(60)
    two_matter[:2] = (1, -1)
    # V = 2, and the squares 1, 1, 0, ... have a variance of (2 - 4 / 60) * 60 / 59 in sum
    assert degrees(two_matter) == pytest.approx(2 * 4 / ((2 - 4 / 60) * 60 / 59))


def interval_by_hand(value, error, degrees, scale):
    low, high = 0.0, 1000.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if tail_by_integration(middle, degrees) > 0.05 else (low, middle)
    if scale == "logit":
        centre, reach = log(value / (1 - value)), high * error / (value * (1 - value))
        return [1 / (1 + exp(-(centre + sign * reach))) for sign in (-1, 1)]
    return [exp(log(value) + sign * high * error / value) for sign in (-1, 1)]


def how_classes(references):
    """Which utterances have bona fide, and which have spoof."""
    errors = ss.errors_by_utterance(references, toy(60)[1], 0.0)
    return errors.bona_fide > 0, errors.spoof > 0


@pytest.mark.parametrize(
    ("measure", "scale"),
    [("range-eer", "logit"), ("range-f1", "logit"), ("range-min-dcf", "logit"), ("range-cllr", "log")],
)
def test_the_interval_is_that_of_t_on_its_scale(measure, scale):
    references, scores = toy(60)
    options = {"scores_are": "llr"} if scale == "log" else {}
    assert ss.Measure.parse(measure).kind.scale == scale
    found = ss.interval(references, scores, measure, **options)
    how = jackknife_of(references, scores, measure, **options)
    rest = how.without[:, 0]
    error = sqrt(59 / 60 * ((rest - rest.mean()) ** 2).sum())
    assert found.standard_error == pytest.approx(error)
    low, high = interval_by_hand(found.estimate, error, found.degrees_of_freedom, scale)
    if measure == "range-min-dcf":  # the least of all costs is too low: 15 times, both halves have theirs
        groups = dealt(16, *how_classes(references)).tolist()
        signs = np.array([[(-1) ** bin(row & group).count("1") for group in groups] for row in range(1, 16)])
        mass = ss.overlay(references, scores)
        plan = EvaluationOptions().plan(ss.Measure.parse(measure), scores.hop)
        halves = [plan.value(mass.reweight((sign * row > 0).astype(int))).value for row in signs for sign in (1, -1)]
        centre = found.estimate + (found.estimate - float(np.mean(halves))) / (2 ** (2 / 3) - 1)
        assert centre > found.estimate
        high = interval_by_hand(centre, error, found.degrees_of_freedom, scale)[1]
    assert [found.low, found.high] == pytest.approx([low, high], rel=1e-6)


def test_an_error_rate_beyond_one_has_an_interval_around_it():
    references, scores = few_spoofs(40, shift=0.0)
    found = ss.interval(references, scores, "range-der", threshold=0.5)
    assert 1 < found.low < found.estimate < found.high


def spread_of_random_systems(rng, clusters, systems=2):
    """Values without each cluster that were never measured: heavy tails, few clusters, any scale."""
    estimates = rng.uniform(0.05, 0.6, systems)
    shape = (clusters, systems)
    moves = rng.standard_t(3, shape) if rng.random() < 0.5 else rng.normal(size=shape)
    without = estimates + rng.choice([1e-6, 1e-3, 0.02]) * moves
    flags = np.ones(clusters, bool)
    left_out = tuple(LeftOut(column, flags, flags) for column in without.T)
    counts = ClusterCounts(clusters, clusters, clusters)
    how = Resampling(confidence=float(rng.choice([0.5, 0.9, 0.95, 0.99])))
    return JackknifeSpread("range-eer", "logit", how, counts, estimates, left_out)


def test_interval_and_p_never_disagree():
    disagree, decided = disagreements(1_000)
    assert not disagree
    assert 200 < decided < 900


@pytest.mark.slow
def test_interval_and_p_never_disagree_in_ten_thousand_pairs():
    disagree, decided = disagreements(10_000)
    assert not disagree
    assert 2_000 < decided < 9_000


def disagreements(pairs):
    """How many of so many pairs have an interval and a p-value that say different things, and how many are decided."""
    rng = np.random.default_rng(5)
    disagree = decided = 0
    for number in range(pairs):
        spread = spread_of_random_systems(rng, int(rng.integers(3, 12)))
        if number % 2:  # differences near the level, to the last bits
            first = spread.jackknife.estimate([1.0, -1.0])
            wanted = first.reach(spread.how.confidence) * (1 + rng.integers(-3, 4) * 2.0**-52)
            spread.estimates[0] = spread.estimates[1] + wanted
            del spread.__dict__["jackknife"]
        interval, p = spread.difference(0, 1)
        disagree += (p < 1 - interval.level) != (not interval.low <= 0 <= interval.high)
        decided += p < 1 - interval.level
    return disagree, decided


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_bootstrap_interval_and_p_never_disagree(method):
    rng = np.random.default_rng(6)
    for number in range(400):
        values = np.round(rng.normal(rng.normal(), 1, (2, 199)), int(rng.integers(0, 3)))
        without = rng.normal(size=(2, 20))
        how = Resampling(confidence=float(rng.choice([0.5, 0.9, 0.95])), replicates=2000, method=method)
        counts = ClusterCounts(40, 40, 40)
        spread = METHODS[method].spread("range-eer", "logit", how, counts, values.mean(axis=1), values, 0, without)
        interval, p = spread.difference(0, 1)
        assert (p < 1 - interval.level) == (not interval.low <= 0 <= interval.high), number
        replicates = values[0] - values[1]
        if (
            method == "percentile" and 2 / 200 < p < 1
        ):  # a little below p the interval holds 0, a little above it does not
            for change, holds in ((-1e-6, True), (1e-6, False)):
                tail = (p + change) / 2
                low, high = np.quantile(replicates, (tail, 1 - tail), method="weibull")
                assert (low <= 0 <= high) == holds


# ---------------------------------------------------------------- few clusters, no errors


def few_spoofs(spoofed, utterances=60, shift=1.5):
    """Of some utterances, a few have spoof: half of their frames."""
    rng = np.random.default_rng(1)
    ranges = {
        f"u{i:02d}": [(0.0, 0.2, "bonafide"), (0.2, 0.4, "spoof" if i < spoofed else "bonafide")]
        for i in range(utterances)
    }
    references = ss.References.from_ranges(ranges)
    frames = {
        utt: rng.normal(size=20) + shift * np.where((np.arange(20) >= 10) & (parts[1][2] == "spoof"), -1, 1)
        for utt, parts in ranges.items()
    }
    return references, ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")


def test_few_clusters_of_one_class_are_cautioned():
    with pytest.warns(ss.SpoofspanWarning, match="only 4 utterances with spoof"):
        found = ss.interval(*few_spoofs(4))
    assert (found.clusters, found.with_bona_fide, found.with_spoof) == (60, 60, 4)
    assert found.degrees_of_freedom <= 3
    assert "4 with spoof" in found.how
    assert not ss.interval(*few_spoofs(30)).warnings
    # FPR at a threshold does not look at spoof
    only_bona_fide = ss.interval(*few_spoofs(4), "range-fpr", threshold=0.0)
    assert (only_bona_fide.warnings, only_bona_fide.with_spoof) == ((), None)


@pytest.mark.parametrize("method", ["jackknife-t", "percentile"])
def test_two_clusters_of_a_class_say_nothing_and_every_output_says_so(method):
    references, scores = few_spoofs(2)
    other = noisy(scores, 0.5)
    resampling = Resampling(method=method, replicates=100)
    said = "2 utterances with spoof are too few"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.SpoofspanWarning)
        evaluation = ss.evaluate(references, scores, ["range-eer"], resampling=resampling)
        comparison = ss.compare(references, {"A": scores, "B": other}, method=method, replicates=100)
        page = page_content(
            references, {"A": scores, "B": other}, PageSettings(resampling=resampling, resolutions=[0.02])
        )
    found = evaluation["range-eer"]
    assert np.isnan([found.interval.low, found.interval.high]).all()
    assert found.interval.refused
    assert found.interval_text == "none"
    assert found.value == ss.range_eer(references, scores).value
    for text in (str(found), *(render(evaluation, one) for one in ("text", "json", "latex", "markdown"))):
        assert said in text
    assert said in evaluation._repr_html_()
    assert json.loads(render(evaluation, "json"))["measurements"][0]["interval"]["low"] == "nan"
    (difference,) = comparison.differences
    assert np.isnan([difference.p_value, difference.adjusted_p_value]).all()
    assert comparison.better(difference) is None
    for text in (
        str(comparison),
        comparison._repr_html_(),
        *(one.render("latex") for one in comparison_tables(comparison)),
    ):
        assert said in text or "signature" not in text
    assert said in comparison.to_dict()["warnings"][0]
    assert said in page["comparison"]["cautions"][0]
    assert said in page["systems"][0]["measurements"][0]["cautions"][0]
    assert page["comparison"]["pairs"][0]["p"] is None


def test_without_any_error_the_interval_ends_at_the_binomial_bound():
    references, scores = few_spoofs(40, shift=10)
    found = ss.interval(references, scores)
    assert (found.estimate, found.low) == (0, 0)
    # so many clusters of the scarcer class would have no error with a chance of 2.5 %
    chance = sum(comb(40, k) * found.high**k * (1 - found.high) ** (40 - k) for k in range(1))
    assert chance == pytest.approx(0.025)
    recall = ss.interval(references, scores, "range-recall", threshold=0.0)
    assert (recall.estimate, recall.high, recall.low) == (1, 1, pytest.approx(1 - found.high))
    auc = ss.interval(references, scores, "range-auc")
    assert (auc.estimate, auc.high) == (1, 1)
    assert auc.low < 1
    cost = ss.interval(references, scores, "range-min-dcf")
    assert cost.low == 0 < cost.high <= 1
    other = noisy(scores, 0.5)
    difference = ss.compare(references, {"A": scores, "B": other})["A", "B"]
    assert difference.value == 0
    assert difference.interval.low == -difference.interval.high == pytest.approx(-found.high)
    assert difference.p_value == 1


def test_where_one_class_has_no_error_the_interval_reaches_at_least_to_its_bound():
    """A few bona fide frames score low in ever other utterances; no spoof scores high."""
    references, scores = few_spoofs(5, shift=10)
    values = scores.values.copy()
    values[20 * np.arange(10, 20)] = -30.0
    low = ss.Scores.from_columns(scores.utterances, scores.offsets, values, hop=0.02, higher="bonafide")
    with pytest.warns(ss.SpoofspanWarning, match="only 5 utterances with spoof"):
        found = ss.interval(references, low)
    at = ss.range_eer(references, low, eer_rule="interpolated")  # without the warning of a gap
    assert at.false_negative_rate == 0 < at.false_positive_rate
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 5))
    assert "no clusters with spoof called bona fide (under 5)" in found.warnings[1]


def test_few_clusters_with_errors_are_cautioned():
    references, scores = few_spoofs(40, shift=10)
    values = scores.values.copy()
    values[20 * np.arange(12)] = -30.0  # bona fide
    values[20 * np.arange(3) + 15] = 30.0  # spoof
    some = ss.Scores.from_columns(scores.utterances, scores.offsets, values, hop=0.02, higher="bonafide")
    assert ss.interval(references, some, "range-fpr", threshold=0.0).warnings == ()
    for measure in ("range-fnr", "range-hter"):
        (text,) = ss.interval(references, some, measure, threshold=0.0).warnings
        assert text.startswith("3 clusters with spoof called bona fide (under 5)")
    assert (
        ss.compare(references, {"A": some, "B": some}, "range-fnr", thresholds={"A": 0.0, "B": 0.0}).warnings[0] == text
    )


@pytest.mark.slow
def test_a_calibration_loss_of_calibrated_scores_may_be_0():
    rng, distance, held = np.random.default_rng(5), 1.0, []
    labels = {f"u{i:03}": ("bonafide", "spoof")[i % 2] for i in range(200)}
    side = np.array([1 if label == "bonafide" else -1 for label in labels.values()])
    for _ in range(20):
        ratios = 2 * distance * (side * distance + rng.normal(size=200))  # of two normal laws
        for factor in (1, 3):
            scores = ss.UtteranceScores(tuple(labels), factor * ratios, "bonafide")
            found = ss.interval(labels, scores, "utterance-calibration-loss", scores_are="llr")
            assert 0 <= found.low < found.estimate < found.high
            held.append((factor, found.low == 0))
    assert sum(zero for factor, zero in held if factor == 1) >= 17
    assert not any(zero for factor, zero in held if factor == 3)
