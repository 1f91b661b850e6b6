"""Costs against the golden values of ASVspoof's tools, hand formulas and scikit-learn."""

import csv
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss

import spoofspan as ss
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.reading import read_utterance_scores
from spoofspan.formats.text.protocol import read_protocol
from spoofspan.formats.text.utterance_scores import read_verification_scores
from spoofspan.mass.utterances import utterance_mass
from spoofspan.measures.confusion import best_point
from spoofspan.measures.costs import (
    TandemCosts,
    VerificationErrors,
    actual_cost,
    cllr,
    dcf_formula,
    min_cllr,
    pool_adjacent_violators,
    tdcf_formula,
    verification_errors,
)
from spoofspan.measures.curve import error_curve_of
from spoofspan.measures.eer import equal_error_rate
from spoofspan.measures.reliability import reliability

pytestmark = pytest.mark.quick

GOLDEN = Path(__file__).parents[1] / "golden" / "utterance"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
COLUMNS = EXPECTED["generated"]["columns"]


def curve_of(rows, higher="bonafide"):
    """The curve of rows (score, bona fide amount, spoof amount)."""
    names, values, labels, weights = [], [], {}, []
    for i, (score, *amounts) in enumerate(rows):
        for label, amount in zip(("bonafide", "spoof"), amounts, strict=True):
            names.append(f"{i}{label}")
            values.append(score)
            labels[names[-1]] = label
            weights.append(amount)
    mass = utterance_mass(UtteranceScores(tuple(names), np.array(values, float), higher), labels)
    return error_curve_of(mass.reweight(np.array(weights)))


def min_dcf(curve, **costs):
    return best_point(curve, dcf_formula(**costs))


def min_tdcf(curve, verification, *form, **costs):
    return best_point(curve, tdcf_formula(verification, *form, **costs))


def act_dcf(curve, scores_are, prior=0.5, **costs):
    return actual_cost(curve, dcf_formula(**costs), scores_are, prior)


def golden_5():
    with (GOLDEN / "cm_keys.tsv").open(encoding="utf-8", newline="") as file:
        labels = {row["filename"]: row["cm-label"] for row in csv.DictReader(file, delimiter="\t")}
    return utterance_mass(read_utterance_scores(GOLDEN / "cm_scores.tsv"), labels)


AMOUNTS = st.integers(0, 5)
ROWS = st.lists(st.tuples(st.integers(-8, 8).map(lambda k: k / 4), AMOUNTS, AMOUNTS), min_size=1, max_size=12).filter(
    lambda rows: sum(row[1] for row in rows) and sum(row[2] for row in rows)
)
COSTS = st.tuples(st.integers(1, 99).map(lambda k: Fraction(k, 100)), st.integers(1, 20), st.integers(1, 20))


def brute_dcf(rows, tau, p_spoof, cost_miss, cost_false_alarm):
    """The normalised cost if scores below tau are called spoof."""
    bona_fide, spoof = sum(row[1] for row in rows), sum(row[2] for row in rows)
    fpr = Fraction(sum(row[1] for row in rows if row[0] < tau), bona_fide)
    fnr = Fraction(sum(row[2] for row in rows if row[0] >= tau), spoof)
    cost = cost_miss * (1 - p_spoof) * fpr + cost_false_alarm * p_spoof * fnr
    return cost / min(cost_miss * (1 - p_spoof), cost_false_alarm * p_spoof)


# ---------------------------------------------------------------- golden values


def test_the_costs_equal_those_of_the_asvspoof_5_package():
    golden = EXPECTED["asvspoof5_generated"]
    mass = golden_5()
    curve = error_curve_of(mass)
    assert equal_error_rate(mass).value == Fraction(golden["exact_ties_not_split"]["eer"]["exact"])
    # the tool names the highest score that is called spoof, we the lowest that is not
    assert mass.scores[mass.scores < equal_error_rate(mass).point.threshold].max() == golden["exact"]["eer_threshold"]
    assert min_dcf(curve).value == Fraction(golden["exact_ties_not_split"]["minDCF"]["exact"])
    actual = act_dcf(curve, "llr")
    assert actual.value == Fraction(golden["exact"]["actDCF"]["exact"])
    assert actual.point.threshold == pytest.approx(golden["exact"]["actDCF_threshold"], abs=1e-15)
    assert cllr(curve, "llr") == pytest.approx(golden["tool"]["Cllr_bits"], rel=0, abs=1e-12)
    assert min_cllr(curve) < cllr(curve, "llr")


def test_verification_errors_equal_those_of_the_script():
    golden, found = (
        EXPECTED["generated"]["asv"],
        verification_errors(read_verification_scores(GOLDEN / "asv_scores.txt")),
    )
    assert found.threshold == golden["threshold"]
    assert found.accepted_nontargets == Fraction(golden["Pfa"]["exact"])
    assert found.rejected_targets == Fraction(golden["Pmiss"]["exact"])
    assert found.accepted_spoofs == Fraction(golden["Pfa_spoof"]["exact"])


@pytest.mark.parametrize("golden", COLUMNS, ids=lambda golden: golden["name"])
def test_tandem_costs_and_eers_equal_those_of_the_script(golden):
    name = golden["name"] if golden["name"].endswith("ms") else "score"
    scores = read_utterance_scores(GOLDEN / "log_output_dev", column=name)
    mass = utterance_mass(scores, read_protocol(GOLDEN / "protocol.txt"))
    verification = verification_errors(read_verification_scores(GOLDEN / "asv_scores.txt"))
    exact = golden["exact_ties_not_split"]
    assert equal_error_rate(mass).value == Fraction(exact["eer"]["exact"])
    curve = error_curve_of(mass)
    assert min_tdcf(curve, verification, "2019").value == Fraction(exact["min_tDCF_legacy"]["exact"])
    assert min_tdcf(curve, verification, "2021").value == Fraction(exact["min_tDCF_2021"]["exact"])


def test_mirrored_utterance_scores_give_the_same_costs():
    scores = read_utterance_scores(GOLDEN / "log_output_dev", column="80ms")
    protocol = read_protocol(GOLDEN / "protocol.txt")
    mirrored = UtteranceScores(scores.utterances, -scores.values, "spoof")
    one, other = (error_curve_of(utterance_mass(each, protocol)) for each in (scores, mirrored))
    assert min_dcf(one).value == min_dcf(other).value
    assert min_dcf(one).point.threshold == -min_dcf(other).point.threshold
    assert act_dcf(one, "llr").value == act_dcf(other, "llr").value
    assert (cllr(one, "llr"), min_cllr(one)) == (cllr(other, "llr"), min_cllr(other))


# ---------------------------------------------------------------- brute force and properties


@given(ROWS, COSTS)
def test_min_dcf_is_the_least_of_all_thresholds(rows, costs):
    taus = [*sorted({row[0] for row in rows if row[1] or row[2]}), math.inf]
    found = min_dcf(curve_of(rows), p_spoof=costs[0], cost_miss=costs[1], cost_false_alarm=costs[2])
    by_tau = [brute_dcf(rows, tau, *costs) for tau in taus]
    assert found.value == min(by_tau)
    assert found.point.threshold == taus[by_tau.index(min(by_tau))]


@given(ROWS, COSTS, st.sampled_from(["bonafide", "spoof"]))
def test_act_dcf_decides_by_bayes(rows, costs, higher):
    tau = math.log(costs[2] * costs[0] / (costs[1] * (1 - costs[0])))
    given_rows = [(row[0] if higher == "bonafide" else -row[0], *row[1:]) for row in rows]
    found = act_dcf(
        curve_of(given_rows, higher), "llr", p_spoof=costs[0], cost_miss=costs[1], cost_false_alarm=costs[2]
    )
    if all(abs(row[0] - tau) > 1e-12 for row in rows):
        assert found.value == brute_dcf(rows, tau, *costs)


@given(ROWS)
def test_cllr_is_the_log_loss_at_even_priors(rows):
    labels = np.repeat([[1, 0]], len(rows), axis=0).ravel()
    ratios = np.repeat([row[0] for row in rows], 2)
    amounts = np.array([row[1:] for row in rows], float)
    weights = (amounts / amounts.sum(axis=0)).ravel()
    expected = log_loss(labels, 1 / (1 + np.exp(-ratios)), sample_weight=weights) / math.log(2)
    assert cllr(curve_of(rows), "llr") == pytest.approx(expected, rel=1e-12)


@given(ROWS, st.sampled_from([0.5, 0.05]))
def test_probabilities_are_odds_over_prior_odds(rows, prior):
    ratios = curve_of(rows)
    odds = [(math.exp(row[0]) * (1 - prior) / prior, row) for row in rows]
    bona_fide = curve_of([(odd / (1 + odd), *row[1:]) for odd, row in odds])
    spoof = curve_of([(1 / (1 + odd), *row[1:]) for odd, row in odds], "spoof")
    for curve in (bona_fide, spoof):
        assert cllr(curve, "probability", prior=prior) == pytest.approx(cllr(ratios, "llr"), rel=1e-9)
        # 0.3 keeps the threshold away from all scores
        assert (
            act_dcf(curve, "probability", p_spoof=0.3, prior=prior).value == act_dcf(ratios, "llr", p_spoof=0.3).value
        )


@given(ROWS)
def test_min_cllr_is_cllr_after_isotonic_regression(rows):
    counted = [row for row in rows if row[1] + row[2]]
    scores, bona_fide, spoof = (np.array(column, float) for column in zip(*counted, strict=True))
    all_bona_fide, all_spoof = bona_fide.sum(), spoof.sum()
    # classes weighted evenly, so that the fitted share is the posterior at even priors
    y = np.concatenate((np.ones(scores.size), np.zeros(scores.size)))
    weights = np.concatenate((bona_fide / all_bona_fide, spoof / all_spoof))
    some = weights > 0
    x = np.concatenate((scores, scores))
    fitted = IsotonicRegression(y_min=0, y_max=1).fit_transform(x[some], y[some], sample_weight=weights[some])
    right = np.where(y[some] == 1, fitted, 1 - fitted)
    expected = -(weights[some] * np.log2(right)).sum() / 2
    assert min_cllr(curve_of(rows)) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(ROWS)
def test_an_increasing_map_leaves_min_costs_as_they_are_and_min_cllr_is_the_least(rows):
    curve, mapped = curve_of(rows), curve_of([(math.exp(row[0]) ** 3, *row[1:]) for row in rows])
    assert min_dcf(curve).value == min_dcf(mapped).value
    assert min_cllr(curve) == min_cllr(mapped) <= min(1, cllr(curve, "llr"), cllr(mapped, "llr")) + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_pooling_many_groups_equals_a_plain_stack(seed):
    rng = np.random.default_rng(seed)
    # shares that mostly rise: few neighbours to pool at once, so that the stack has work as well
    share = np.clip(np.linspace(0, 1, 2000) + rng.normal(0, [0.5, 0.01, 1e-4, 3e-4][seed], 2000), 0, 1)
    total = rng.integers(1000, 2000, 2000)
    bona_fide = np.floor(share * total)
    spoof = total - bona_fide
    groups = []
    for b, s in zip(map(int, bona_fide), map(int, spoof), strict=True):
        groups.append((b, s))
        while len(groups) > 1 and Fraction(groups[-2][0], sum(groups[-2])) >= Fraction(groups[-1][0], sum(groups[-1])):
            last = groups.pop()
            groups[-1] = (groups[-1][0] + last[0], groups[-1][1] + last[1])
    found = pool_adjacent_violators(bona_fide, spoof)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == groups


def test_large_ratios_do_not_overflow():
    assert cllr(curve_of([(1e4, 0, 1), (-1e4, 1, 0)]), "llr") == pytest.approx(1e4 / math.log(2))
    assert cllr(curve_of([(1e4, 1, 0), (-1e4, 0, 1)]), "llr") == 0.0


# ---------------------------------------------------------------- reliability


@given(ROWS, st.sampled_from(["bonafide", "spoof"]), st.integers(1, 7))
def test_a_reliability_table_counts_everything_once(rows, higher, bins):
    table = reliability(curve_of(rows, higher), "llr", bins=bins)
    assert sum(row.bona_fide for row in table.bins) == sum(row[1] for row in rows)
    assert sum(row.spoof for row in table.bins) == sum(row[2] for row in rows)
    assert math.fsum(row.weight for row in table.bins) == pytest.approx(1)
    assert all(row.low - 1e-12 <= row.predicted <= row.high + 1e-12 for row in table.bins)


def test_calibrated_scores_are_on_the_diagonal():
    rows = [(0.25, 30, 10), (0.75, 5, 15)]
    table = reliability(curve_of(rows, "spoof"), "probability", prior=Fraction(25, 60))
    assert [(row.low, row.bona_fide, row.spoof) for row in table.bins] == [(0.2, 30, 10), (0.7, 5, 15)]
    assert [row.observed for row in table.bins] == pytest.approx([0.25, 0.75])
    assert table.error == pytest.approx(0, abs=1e-15)
    # evenly weighted, the same scores are off: 10/25 against 30/35
    even = reliability(curve_of(rows, "spoof"), "probability")
    assert even.bins[0].observed == pytest.approx((10 / 25) / (10 / 25 + 30 / 35))


# ---------------------------------------------------------------- refusals


def test_certain_scores_cost_nothing_if_right_and_are_an_error_if_wrong():
    assert cllr(curve_of([(math.inf, 1, 0), (-math.inf, 0, 1)]), "llr") == 0.0
    assert cllr(curve_of([(1.0, 1, 0), (0.0, 0, 1)]), "probability") == 0.0
    for rows, kind in (([(math.inf, 1, 1)], "llr"), ([(1.0, 3, 1), (0.5, 1, 1)], "probability")):
        with pytest.raises(ss.UndefinedMeasureError, match="certain, and wrong"):
            cllr(curve_of(rows), kind)


@pytest.mark.parametrize("scores", [(-0.1, 0.5), (0.5, 1.5)])
@pytest.mark.parametrize("measure", [cllr, act_dcf, reliability])
def test_numbers_outside_0_and_1_are_no_probabilities(measure, scores):
    with pytest.raises(ss.UsageError, match="no probabilities"):
        measure(curve_of([(score, 1, 1) for score in scores]), "probability")


@pytest.mark.parametrize(
    "wrong", [{"p_spoof": 0}, {"p_spoof": 1}, {"p_spoof": math.nan}, {"cost_miss": 0}, {"cost_false_alarm": -1}]
)
def test_priors_and_costs_must_make_sense(wrong):
    with pytest.raises(ss.UsageError, match=next(iter(wrong))):
        min_dcf(curve_of([(0.0, 1, 1)]), **wrong)


def test_what_scores_are_must_be_a_known_word():
    with pytest.raises(ss.UsageError, match="scores_are='logit'"):
        cllr(curve_of([(0.0, 1, 1)]), "logit")


@pytest.mark.parametrize("uncovered", ["bonafide", "spoof", "unanswered"])
def test_time_under_no_score_has_no_cllr(uncovered):
    references = ss.References.from_ranges({"u": [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof")]})
    scores = ss.Scores.from_ranges({"u": [(0.0, 1.5, 0.5)]}, higher="bonafide")
    curve = ss.error_curve(references, scores, uncovered=uncovered)
    for measure in (min_cllr, lambda curve: cllr(curve, "llr")):
        with pytest.raises(ss.UndefinedMeasureError, match="under no score"):
            measure(curve)
    assert 0 <= min_dcf(curve).value <= 1


def test_a_verification_system_that_accepts_no_spoof_has_no_tandem_cost():
    rates = VerificationErrors(0.0, Fraction(0), Fraction(0), Fraction(0))
    with pytest.raises(ss.UndefinedMeasureError, match="C2"):
        min_tdcf(curve_of([(0.0, 1, 1)]), rates)
    with pytest.raises(ss.UsageError, match="leave something for targets"):
        min_tdcf(curve_of([(0.0, 1, 1)]), rates, costs=TandemCosts(p_spoof=0.5, p_nontarget=0.5))
    with pytest.raises(ss.UsageError, match="form='2020'"):
        min_tdcf(curve_of([(0.0, 1, 1)]), rates, "2020")


def test_bad_verification_files_are_refused_line_by_line(tmp_path):
    path = tmp_path / "asv.txt"
    path.write_text("bonafide target 1.0\nbonafide impostor 0.5\nspoof spoof x\n", encoding="utf-8")
    with pytest.raises(ss.DataError, match=r"(?s)asv.txt:2.*asv.txt:3"):
        read_verification_scores(path)
    path.write_text("bonafide target 1.0\nbonafide nontarget 0.5\n", encoding="utf-8")
    with pytest.raises(ss.UndefinedMeasureError, match="no spoof trial"):
        read_verification_scores(path)
    path.write_text("- target 1.0\n- nontarget 0.5\n- spoof 0.7\n", encoding="utf-8")
    assert read_verification_scores(path).spoof.tolist() == [0.7]


def test_labels_and_utterance_scores_must_match():
    scores = UtteranceScores(("a", "b"), np.array([1.0, 0.0]), "bonafide")
    with pytest.raises(ss.DataError, match="'b' has a score but no label"):
        utterance_mass(scores, {"a": "bonafide"})
    with pytest.raises(ss.DataError, match="must be bonafide or spoof, not 'fake'"):
        utterance_mass(scores, {"a": "bonafide", "b": "fake"})
    assert utterance_mass(scores, {"a": "bonafide", "c": "spoof"}, partial=True).utterances == ("a",)
    with pytest.raises(ss.UndefinedMeasureError, match="no bona fide utterance"):
        equal_error_rate(utterance_mass(scores, {"a": "spoof", "b": "spoof"}))


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
@pytest.mark.parametrize("seed", range(5))
def test_brier_and_ece_are_those_of_scikit_learn_and_of_counting(higher, seed):
    rng = np.random.default_rng(seed)
    labels = np.concatenate(([0, 1], rng.integers(0, 2, 60)))  # 1 is spoof
    stated = np.round(np.clip(0.5 + (labels - 0.5) * 0.4 + rng.normal(0, 0.25, 62), 0, 1), 2)
    ids = tuple(f"u{i}" for i in range(62))
    key = {utt: ("bonafide", "spoof")[label] for utt, label in zip(ids, labels, strict=True)}
    given_scores = stated if higher == "spoof" else 1 - stated
    scores = UtteranceScores(ids, given_scores, higher)
    found = ss.evaluate_utterances(
        key, scores, ["utterance-brier", "utterance-ece@bins=7"], scores_are="probability"
    ).measurements
    brier, ece = (one.value for one in found.values())
    assert brier == pytest.approx(brier_score_loss(labels, stated), abs=1e-14)
    again = given_scores if higher == "spoof" else 1 - given_scores
    bins = np.minimum((again * 7).astype(int), 6)
    apart = [abs(again[bins == k].sum() - labels[bins == k].sum()) for k in range(7)]
    assert ece == pytest.approx(sum(apart) / 62, abs=1e-14)
    # log-likelihood ratios that say the same, for the corpus's share of spoof
    inside = np.clip(stated, 0.01, 0.99)
    ratios = np.log(inside / (1 - inside)) - math.log(labels.mean() / (1 - labels.mean()))
    as_ratios = UtteranceScores(ids, ratios if higher == "spoof" else -ratios, higher)
    same = ss.evaluate_utterances(key, as_ratios, ["utterance-brier"], scores_are="llr")["utterance-brier"]
    assert same.value == pytest.approx(brier_score_loss(labels, inside), abs=1e-12)


def test_an_ece_needs_whole_bins():
    scores = UtteranceScores(("a", "b"), np.array([0.9, 0.2]), "bonafide")
    with pytest.raises(ss.UsageError, match="whole number"):
        ss.evaluate_utterances(
            {"a": "bonafide", "b": "spoof"}, scores, ["utterance-ece@bins=2.5"], scores_are="probability"
        )
