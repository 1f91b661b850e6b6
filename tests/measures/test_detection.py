"""Measures at a threshold and of the order of scores, against scikit-learn and a brute force in fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    fbeta_score,
    precision_recall_curve,
    roc_auc_score,
)

import spoofspan as ss
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.mass.utterances import utterance_mass
from spoofspan.measures.catalogue import KINDS
from spoofspan.measures.confusion import at_constraint, best_point, formula_of, macro_at, value_at
from spoofspan.measures.curve import error_curve_of
from spoofspan.measures.operating_point import OperatingPoint
from spoofspan.measures.per_utterance import UtteranceErrors
from spoofspan.measures.ranking import auc, average_precision, exact_dot, partial_auc

pytestmark = pytest.mark.quick

AT_A_THRESHOLD = sorted(name for name, kind in KINDS.items() if kind.at_threshold and not kind.of_boundaries)
NAMES = sorted(set(AT_A_THRESHOLD) - {"false-alarms-per-hour"})
AMOUNTS = st.integers(0, 5)
SCORES = st.integers(-4, 4).map(float)
ROWS = st.lists(st.tuples(SCORES, AMOUNTS, AMOUNTS), min_size=1, max_size=12).filter(
    lambda rows: sum(row[1] for row in rows) and sum(row[2] for row in rows)
)
POSITIVE = st.sampled_from(["spoof", "bonafide"])


def mass_of(rows, higher="bonafide"):
    """The mass of rows (score, bona fide amount, spoof amount)."""
    names = [f"{label}{i}" for i in range(len(rows)) for label in ("b", "s")]
    scores = UtteranceScores(tuple(names), np.repeat([row[0] for row in rows], 2), higher)
    labels = {name: "bonafide" if name[0] == "b" else "spoof" for name in names}
    return utterance_mass(scores, labels).reweight(np.array([row[1:] for row in rows]).ravel())


def curve_of(rows, higher="bonafide"):
    return error_curve_of(mass_of(rows, higher))


def brute(name, tp, fp, fn, tn, p, n):
    """The textbook formulas; None where there is no value. `p` and `n` include what is unanswered."""

    def over(a, b):
        return Fraction(a, b) if b else None

    precision, recall, specificity = over(tp, tp + fp), over(tp, p), over(tn, n)
    fpr, fnr = over(fp, n), over(fn, p)
    both = p and n
    product = (tp + fp) * p * n * (tn + fn)
    root = Fraction(math.isqrt(product << 256), 1 << 128)  # to as many places as are promised
    f1 = None if not p else (2 / (1 / precision + 1 / recall) if tp else Fraction(0))
    other_f1 = None if not n else (2 / (Fraction(tn + fn, tn) + 1 / specificity) if tn else Fraction(0))
    return {
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "f-beta": None if not p else (5 / (1 / precision + 4 / recall) if tp else Fraction(0)),
        "class-mean-f1": (f1 + other_f1) / 2 if both else None,
        "iou": over(tp, fp + p) if p else None,
        "accuracy": over(tp + tn, p + n),
        "balanced-accuracy": (recall + specificity) / 2 if both else None,
        "coverage": over(tp + fp + fn + tn, p + n),
        "answered-accuracy": over(tp + tn, tp + fp + fn + tn),
        "mcc": (tp * tn - fp * fn) / root if product else None,
        "fpr": fpr,
        "fnr": fnr,
        "hter": (fpr + fnr) / 2 if both else None,
        "der": over(fp + fn, p),
        "dcf": (fpr + 3 * fnr) / 4 if both else None,
        "iou-psynd": over(tp + tn, 2 * (p + n) - tp - tn) if p or n else None,
    }[name]


def brute_curve(name, rows, positive):
    """(tau, value) at every threshold."""
    taus = [*sorted({row[0] for row in rows if row[1] or row[2]}), math.inf]
    found = []
    for tau in taus:
        bona_fide_called = sum(row[1] for row in rows if row[0] < tau)
        spoof_called = sum(row[2] for row in rows if row[0] < tau)
        bona_fide, spoof = sum(row[1] for row in rows), sum(row[2] for row in rows)
        cells = (spoof_called, bona_fide_called, spoof - spoof_called, bona_fide - bona_fide_called, spoof, bona_fide)
        if positive == "bonafide":
            cells = (cells[3], cells[2], cells[1], cells[0], bona_fide, spoof)
        found.append((tau, brute(name, *cells)))
    return found


# ---------------------------------------------------------------- at a threshold


@given(*[AMOUNTS] * 6, st.sampled_from(NAMES), POSITIVE)
def test_measures_at_a_point_are_the_textbook_formulas(tp, fp, fn, tn, up, un, name, positive):
    p, n = tp + fn + up, fp + tn + un
    point = OperatingPoint(0.0, "bonafide", fp, fn, n, p, un, up, "points")
    cells = (tp, fp, fn, tn, p, n) if positive == "spoof" else (tn, fn, fp, tp, n, p)
    expected = brute(name, *cells)
    if expected is None:
        with pytest.raises(ss.UndefinedMeasureError, match=r"has no value \(spoof iff score < 0.0\): "):
            value_at(point, name, positive)
    else:
        assert value_at(point, name, positive) == expected


def test_unanswered_time_is_no_error_but_stays_in_the_denominators():
    point = OperatingPoint(0.0, "bonafide", 1, 1, 10, 10, unanswered_bona_fide=2, unanswered_spoof=4)
    assert value_at(point, "recall") == Fraction(5, 10)
    assert value_at(point, "fnr") == Fraction(1, 10)
    assert value_at(point, "precision") == Fraction(5, 6)
    assert value_at(point, "accuracy") == Fraction(5 + 7, 20)
    assert value_at(point, "f1") == Fraction(10, 16)


def test_false_alarms_per_hour_are_seconds_and_need_time():
    point = OperatingPoint(0.0, "bonafide", 10**9, 0, 7200 * 10**9, 10**9)
    assert value_at(point, "false-alarms-per-hour") == Fraction(1, 2)
    with pytest.raises(ss.UsageError, match="needs time"):
        value_at(OperatingPoint(0.0, "bonafide", 1, 0, 10, 10, unit="points"), "false-alarms-per-hour")


def test_wrong_names_are_refused_with_the_nearest_one():
    point = OperatingPoint(0.0, "bonafide", 1, 1, 10, 10)
    with pytest.raises(ss.UsageError, match="did you mean 'precision'"):
        value_at(point, "precison")
    with pytest.raises(ss.UsageError, match="positive='fake'"):
        value_at(point, "recall", "fake")


# ---------------------------------------------------------------- means over utterances


@example([(0, 1, 1, 1), (3, 0, 1, 1)], "mcc", "spoof")
@given(
    st.lists(st.tuples(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS), min_size=1, max_size=6), st.sampled_from(NAMES), POSITIVE
)
def test_a_mean_over_utterances_leaves_out_those_without_a_value(cells, name, positive):
    tp, fp, fn, tn = (np.array(column) for column in zip(*cells, strict=True))
    errors = UtteranceErrors(tuple(map(str, range(len(cells)))), fp + tn, tp + fn, fp, fn)
    expected = []
    for a, b, c, d in cells:
        mirrored = (a, b, c, d, a + c, b + d) if positive == "spoof" else (d, c, b, a, b + d, a + c)
        expected.append(brute(name, *mirrored))
    some = [value for value in expected if value is not None]
    if not some:
        with pytest.raises(ss.UndefinedMeasureError, match="on any of the"):
            macro_at(errors, name, positive)
        return
    found = macro_at(errors, name, positive)
    # each value is rounded, so a mean of values of both signs may be nearer to 0 than they are exact
    largest = float(max(map(abs, some)))
    assert found.value == pytest.approx(float(sum(some) / len(some)), rel=2**-51, abs=2**-52 * largest)
    assert (found.utterances, found.left_out) == (len(some), len(cells) - len(some))


def test_unanswered_time_of_utterances_is_neither_right_nor_wrong():
    amounts = [np.array([ns]) for ns in (10, 8, 1, 2, 4, 3)]
    errors = UtteranceErrors(("u",), *amounts)
    assert macro_at(errors, "recall").value == 3 / 8
    assert macro_at(errors, "fnr").value == 2 / 8
    assert macro_at(errors, "accuracy").value == 8 / 18


# ---------------------------------------------------------------- at a constraint


@given(
    ROWS, st.sampled_from(NAMES), st.sampled_from(NAMES), st.integers(0, 12).map(lambda k: Fraction(k, 12)), POSITIVE
)
def test_the_best_under_a_constraint_is_that_of_a_brute_force(rows, wanted, given_name, bound, positive):
    up = {name: formula_of(name).direction == "higher" for name in NAMES}
    values, limits = brute_curve(wanted, rows, positive), brute_curve(given_name, rows, positive)
    allowed = [
        (tau, value)
        for (tau, value), (_, limit) in zip(values, limits, strict=True)
        if limit is not None and (limit >= bound if up[given_name] else limit <= bound)
    ]
    some = [pair for pair in allowed if pair[1] is not None]
    if not some:
        with pytest.raises(ss.UndefinedMeasureError):
            at_constraint(curve_of(rows), wanted, given_name, bound, positive)
        return
    best = (max if up[wanted] else min)(value for _, value in some)
    found = at_constraint(curve_of(rows), wanted, given_name, bound, positive)
    assert found.value == best
    assert found.point.threshold == next(tau for tau, value in some if value == best)
    assert value_at(found.point, wanted, positive) == best


def test_constraints_read_as_people_write_them():
    # ten bona fide, ten spoof; one of ten bona fide is a share of exactly 0.1
    rows = [(-2.0, 0, 6), (-1.0, 1, 3), (0.0, 9, 1)]
    assert at_constraint(curve_of(rows), "fnr", "fpr", 0.1).value == Fraction(1, 10)
    assert at_constraint(curve_of(rows), "fnr", "fpr", 0.0999).value == Fraction(4, 10)
    assert at_constraint(curve_of(rows), "precision", "recall", 0.9).value == Fraction(9, 10)


def test_a_constraint_that_nothing_meets_says_what_is_possible():
    with pytest.raises(ss.UndefinedMeasureError, match=r"no threshold has precision >= 0.9.*the best precision is 0.5"):
        at_constraint(curve_of([(0.0, 1, 1)]), "recall", "precision", 0.9)
    for bound in (math.nan, -0.1):
        with pytest.raises(ss.UsageError, match="bound"):
            at_constraint(curve_of([(0.0, 1, 1)]), "recall", "fpr", bound)


def test_differences_below_the_precision_of_doubles_decide():
    # in doubles both thresholds have the same precision
    big = 10**17
    curve = curve_of([(0.0, big, big), (1.0, 0, 1), (2.0, 1, 0)])
    found = best_point(curve, formula_of("precision"))
    assert found.value == Fraction(big + 1, 2 * big + 1)
    assert found.point.threshold == 2.0
    bound = Fraction(big + 1, 2 * big + 1)
    assert at_constraint(curve, "recall", "precision", bound).point.threshold == 2.0
    with pytest.raises(ss.UndefinedMeasureError):
        at_constraint(curve, "recall", "precision", bound + Fraction(1, 10**40))


def test_many_ties_are_searched_in_several_steps():
    rows = [(float(k), 1, 0) for k in range(150_000)] + [(-1.0, 0, 1), (2e5, 1, 1)]
    names = tuple(map(str, range(len(rows))))
    scores = UtteranceScores((*names, "x"), np.array([*(row[0] for row in rows), 2e5]), "bonafide")
    labels = {name: "bonafide" if row[1] else "spoof" for name, row in zip(names, rows, strict=True)} | {"x": "spoof"}
    curve = error_curve_of(utterance_mass(scores, labels))
    found = at_constraint(curve, "recall", "fnr", 0.5)
    assert (found.value, found.point.threshold) == (1, math.inf)
    assert at_constraint(curve, "fnr", "fpr", 0.9).point.threshold == 0.0
    assert at_constraint(curve, "recall", "fpr", 0).value == Fraction(1, 2)


# ---------------------------------------------------------------- the order of the scores


def samples(rows, positive):
    """The same for scikit-learn: labels, scores that are higher for the positive class, weights."""
    labels = np.array([label for row in rows for label in ("bonafide", "spoof")]) == positive
    scores = np.repeat([row[0] for row in rows], 2) * (1 if positive == "bonafide" else -1)
    weights = np.array([row[1:] for row in rows], float).ravel()
    some = weights > 0
    return labels[some], scores[some], weights[some]


@given(ROWS, POSITIVE)
def test_auc_and_average_precision_equal_scikit_learn(rows, positive):
    labels, scores, weights = samples(rows, positive)
    curve = curve_of(rows)
    assert float(auc(curve)) == pytest.approx(roc_auc_score(labels, scores, sample_weight=weights), abs=1e-12)
    expected = average_precision_score(labels, scores, sample_weight=weights)
    assert average_precision(curve, positive) == pytest.approx(expected, abs=1e-12)


@given(ROWS, POSITIVE, st.sampled_from([0.05, 0.1, 0.5, 1.0]))
def test_the_partial_auc_equals_scikit_learn(rows, positive, most):
    labels, scores, weights = samples(rows, positive)
    expected = roc_auc_score(labels, scores, sample_weight=weights, max_fpr=most)
    assert float(partial_auc(curve_of(rows), most, positive)) == pytest.approx(expected, abs=1e-12)


def test_the_partial_auc_counts_what_is_always_called_spoof_first():
    filled = uncovered_curve([*SCORED, (1.5, 2.0, -9.0), (3.0, 4.0, -9.0)], "error")
    for most in (0.2, 0.5, 1.0):
        assert partial_auc(uncovered_curve(SCORED, "spoof"), most) == partial_auc(filled, most)
    assert partial_auc(filled, 1.0) == auc(filled)
    with pytest.raises(ss.UndefinedMeasureError, match="the partial AUC has no value with unanswered time"):
        partial_auc(uncovered_curve(SCORED, "unanswered"), 0.1)
    with pytest.raises(ss.UsageError, match="max_fpr=0: must be above 0"):
        partial_auc(filled, 0)


@given(ROWS, POSITIVE, st.sampled_from([0.5, 1.0, 2.0, 0.1]))
def test_f_beta_and_the_macro_f1_of_classes_equal_scikit_learn(rows, positive, beta):
    labels, scores, weights = samples(rows, positive)
    curve = curve_of(rows)
    for threshold in sorted({row[0] for row in rows})[1:]:
        point = curve.at(threshold)
        called = (scores >= threshold) if positive == "bonafide" else (scores > -threshold)
        given = {"sample_weight": weights, "zero_division": 0}
        expected = fbeta_score(labels, called, beta=beta, **given)
        found = value_at(point, "f-beta", positive, (("beta", beta),))
        assert float(found) == pytest.approx(expected, abs=1e-12)
        assert value_at(point, "f-beta", positive, (("beta", 1.0),)) == value_at(point, "f1", positive)
        expected = f1_score(labels, called, average="macro", **given)
        assert float(value_at(point, "class-mean-f1", positive)) == pytest.approx(expected, abs=1e-12)


def best_f1(curve, positive="spoof"):
    return best_point(curve, formula_of("f1"), positive)


@given(ROWS, POSITIVE)
def test_best_f1_is_the_best_of_the_precision_recall_curve(rows, positive):
    labels, scores, weights = samples(rows, positive)
    precision, recall, _ = precision_recall_curve(labels, scores, sample_weight=weights)
    expected = max(2 * p * r / (p + r) if p + r else 0 for p, r in zip(precision, recall, strict=True))
    found = best_f1(curve_of(rows), positive)
    assert float(found.value) == pytest.approx(expected, abs=1e-12)
    assert found.value == value_at(found.point, "f1", positive)


@given(ROWS)
def test_auc_is_the_chance_of_the_right_order(rows):
    won = sum(
        spoof * bona_fide * (2 if low < high else low == high) for low, _, spoof in rows for high, bona_fide, _ in rows
    )
    whole = 2 * sum(row[1] for row in rows) * sum(row[2] for row in rows)
    assert auc(curve_of(rows)) == Fraction(won, whole)


@given(ROWS, POSITIVE)
def test_increasing_maps_splits_and_merges_change_nothing(rows, positive):
    def all_of(some, higher="bonafide"):
        curve = curve_of(some, higher)
        return auc(curve), average_precision(curve, positive), best_f1(curve, positive).value

    split = [part for score, b, s in rows for part in ((score, b, 0), (score, 0, s))]
    found = all_of(rows)
    assert found == all_of([(math.atan(score), b, s) for score, b, s in rows])
    assert found == all_of(split)
    assert found == all_of([(-score, b, s) for score, b, s in rows], "spoof")


@given(ROWS)
def test_swapped_classes_in_mirrored_order_are_the_same_with_the_other_positive_class(rows):
    swapped = [(-score, s, b) for score, b, s in rows]
    one, other = curve_of(rows), curve_of(swapped)
    assert auc(one) == auc(other)
    assert average_precision(one, "spoof") == average_precision(other, "bonafide")
    assert best_f1(one, "spoof").value == best_f1(other, "bonafide").value


@given(st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 2**62)), max_size=5))
def test_exact_dot_is_exact(pairs):
    a, b = (np.array([pair[i] for pair in pairs], np.int64) for i in (0, 1))
    assert exact_dot(a, b) == sum(x * y for x, y in pairs) == exact_dot(a.astype(object), b)


# ---------------------------------------------------------------- time under no score


def uncovered_curve(scored, rule):
    references = ss.References.from_ranges({"u": [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof"), (2.0, 4.0, "bonafide")]})
    scores = ss.Scores.from_ranges({"u": scored}, higher="bonafide")
    return ss.error_curve(references, scores, uncovered=rule)


SCORED = [(0.0, 0.5, 1.0), (0.5, 1.5, 0.0), (2.0, 3.0, 2.0)]


@pytest.mark.parametrize("rule", ["bonafide", "spoof"])
def test_time_that_is_always_called_the_same_stands_at_that_end_of_the_order(rule):
    end = 9.0 if rule == "bonafide" else -9.0
    filled = uncovered_curve([*SCORED, (1.5, 2.0, end), (3.0, 4.0, end)], "error")
    assert auc(uncovered_curve(SCORED, rule)) == auc(filled)


def test_what_is_never_called_positive_adds_nothing_to_the_average_precision():
    # half of the spoof has a score, and is called spoof first, with as much bona fide
    for rule in ("bonafide", "unanswered"):
        assert average_precision(uncovered_curve(SCORED, rule)) == 0.5 * 0.5
    # called spoof from the start: half of the spoof with 1 s of bona fide, then the rest
    expected = 0.5 * (0.5 / 1.5) + 0.5 * (1.0 / 2.5)
    assert average_precision(uncovered_curve(SCORED, "spoof")) == pytest.approx(expected)


def test_unanswered_time_has_no_place_in_the_order():
    with pytest.raises(ss.UndefinedMeasureError, match="no place in the order"):
        auc(uncovered_curve(SCORED, "unanswered"))


@pytest.mark.parametrize("rule", ["bonafide", "spoof", "unanswered"])
@pytest.mark.parametrize("positive", ["spoof", "bonafide"])
@pytest.mark.parametrize("name", AT_A_THRESHOLD)
def test_the_best_of_a_curve_is_the_best_of_its_points(rule, positive, name):
    curve = uncovered_curve(SCORED, rule)
    values = []
    for i in range(len(curve)):
        try:
            values.append(value_at(curve.point(i), name, positive))
        except ss.UndefinedMeasureError:
            continue
    best = max if formula_of(name).direction == "higher" else min
    assert best_point(curve, formula_of(name), positive).value == best(values)


@given(ROWS)
def test_weights_are_repetitions(rows):
    repeated = [(score, *part) for score, b, s in rows for part in [(1, 0)] * b + [(0, 1)] * s]
    assume(repeated)
    one, other = curve_of(rows), curve_of(repeated)
    assert auc(one) == auc(other)
    assert best_f1(one) == best_f1(other)
