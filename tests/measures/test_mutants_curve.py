"""Claims about the curve and the EER that mutation testing found unguarded (see tools/mutation/README.md)."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from small_corpora import MS, THREE, THREE_SCORES, TWO, TWO_SCORES, frames_of, references_of

import spoofspan as ss
import spoofspan.mass.ranges
import spoofspan.measures.eer
from spoofspan.measures.curve import error_curve_of
from spoofspan.measures.eer import crossing
from spoofspan.measures.operating_point import OperatingPoint, point_at, totals

pytestmark = [pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"), pytest.mark.quick]


# ---------------------------------------------------------------- operating points


def test_the_four_cells_add_up_to_both_classes():
    point = OperatingPoint(0.25, "bonafide", 1 * MS, 2 * MS, 10 * MS, 20 * MS, 3 * MS, 4 * MS)
    assert (point.true_positive, point.true_negative) == (14 * MS, 6 * MS)
    assert point.seconds() == {
        "true_positive": 0.014,
        "false_negative": 0.002,
        "false_positive": 0.001,
        "true_negative": 0.006,
        "unanswered": 0.007,
    }
    assert (point.false_positive_rate, point.false_negative_rate, point.gap) == (0.1, 0.1, 0.0)
    assert OperatingPoint(0.25, "bonafide", 1, 2, 10, 10).gap == 0.1
    with pytest.raises(ss.UsageError, match="points, not time"):
        dataclasses.replace(point, unit="points").seconds()


def test_an_operating_point_on_its_own_has_answers_for_all_time():
    point = OperatingPoint(0.25, "spoof", 1, 2, 10, 10)
    assert (point.unanswered_bona_fide, point.unanswered_spoof) == (0, 0)
    assert (point.unit, point.everything) == ("ns", False)
    assert point.decision == "spoof iff score > 0.25"
    assert dataclasses.replace(point, everything=True).decision == "everything is called spoof"


def test_operating_points_and_sums_cannot_be_changed():
    mass = ss.overlay(TWO, TWO_SCORES)
    for thing in (
        crossing(mass).nearest,
        crossing(mass),
        totals(mass),
        ss.equal_error_rate(mass),
        error_curve_of(mass),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, dataclasses.fields(thing)[0].name, None)
    # arrays have no single truth, so these are equal only to themselves
    assert error_curve_of(mass) != error_curve_of(dataclasses.replace(mass))
    buckets = spoofspan.measures.eer.BucketedPart(mass.parts[0], -1.0, 1.0, 4)
    assert buckets != dataclasses.replace(buckets)
    with pytest.raises(dataclasses.FrozenInstanceError):
        buckets.low = 0.0


@pytest.mark.parametrize(("higher", "sign"), [("bonafide", 1), ("spoof", -1)])
@pytest.mark.parametrize("uncovered", ["bonafide", "spoof", "unanswered", "ignore"])
def test_one_pass_finds_the_errors_at_a_threshold(monkeypatch, higher, sign, uncovered):
    """By hand, in blocks of one utterance each: (score, bona fide ms, spoof ms) of three utterances."""
    monkeypatch.setattr(spoofspan.mass.ranges, "ROWS_PER_BLOCK", 1)
    rows = [(0.9, 20, 0), (0.3, 20, 0), (0.5, 10, 10), (-0.1, 0, 20), (0.2, 0, 10)]
    rows += [(0.1, 0, 20), (0.4, 10, 10), (0.6, 20, 0), (0.6, 20, 0), (0.8, 20, 0), (0.7, 20, 0), (0.25, 20, 0)]
    scores = frames_of(
        *([sign * v for v in row] for row in ([0.9, 0.3, 0.5, -0.1, 0.2], [0.1, 0.4, 0.6, 0.6, 0.8], [0.7, 0.25])),
        higher=higher,
    )
    mass = ss.overlay(THREE, scores, slack=0.0, uncovered=uncovered)
    undecided = (0, 0) if uncovered == "ignore" else (10, 30)
    for tau in (-1.0, -0.1, 0.0, 0.1, 0.25, 0.26, 0.6, 0.9, 0.91, math.inf):
        point = point_at(mass, sign * tau)
        false_positive = sum(b for score, b, _ in rows if score < tau) + (10 if uncovered == "spoof" else 0)
        false_negative = sum(s for score, _, s in rows if score >= tau) + (30 if uncovered == "bonafide" else 0)
        assert (point.threshold, point.higher, point.everything) == (sign * tau, higher, False)
        assert (point.false_positive, point.false_negative) == (false_positive * MS, false_negative * MS)
        assert (point.bona_fide, point.spoof) == ((160 + undecided[0]) * MS, (70 + undecided[1]) * MS)
        assert point == error_curve_of(mass).at(sign * tau)
    with pytest.raises(ss.UsageError, match="NaN"):
        point_at(mass, math.nan)


def test_rates_without_a_class_are_nan():
    point = OperatingPoint(0.25, "bonafide", 0, 2, 0, 10)
    assert math.isnan(point.false_positive_rate)
    assert point.false_negative_rate == 0.2
    assert math.isnan(point.gap)
    other = OperatingPoint(0.25, "bonafide", 1, 0, 10, 0)
    assert other.false_positive_rate == 0.1
    assert math.isnan(other.false_negative_rate)
    assert math.isnan(other.gap)


def test_unanswered_time_is_in_the_denominators_and_in_no_cell():
    point = ss.range_eer(THREE, THREE_SCORES, slack=0.0, uncovered="unanswered").point
    assert (point.unanswered_bona_fide, point.unanswered_spoof) == (10 * MS, 30 * MS)
    assert (point.bona_fide, point.spoof) == (170 * MS, 100 * MS)
    for uncovered in ("bonafide", "spoof"):
        point = ss.range_eer(THREE, THREE_SCORES, slack=0.0, uncovered=uncovered).point
        assert (point.unanswered_bona_fide, point.unanswered_spoof) == (0, 0)
        assert (point.bona_fide, point.spoof) == (170 * MS, 100 * MS)


def test_an_undefined_rate_says_which_class_is_missing_and_of_what():
    only = references_of([(100, "b")])
    scores = frames_of([0.1] * 5)
    with pytest.raises(ss.UndefinedMeasureError, match="no spoofed time"):
        ss.range_eer(only, scores)
    with pytest.raises(ss.UndefinedMeasureError, match="no spoofed time"):
        ss.error_curve(only, scores)
    with pytest.raises(ss.UndefinedMeasureError, match="no spoofed point"):
        ss.point_eer(only, scores, 0.02)
    with pytest.raises(ss.UndefinedMeasureError, match="no bona fide time"):
        ss.range_eer(references_of([(100, "s")]), scores)
    with pytest.raises(ss.UndefinedMeasureError, match="lies under any score"):
        ss.range_eer(references_of([(50, "b"), (100, "s")]), frames_of([]), uncovered="unanswered")


def test_rates_that_never_cross_have_no_interpolated_value():
    """Uncovered are 100 of 120 ms bona fide and 60 of 80 ms spoof."""
    references = references_of([(20, "b"), (100, "s"), (200, "b")])
    scores = frames_of([0.9, 0.1])
    above = ss.range_eer(references, scores, slack=0.0, uncovered="spoof")
    assert above.neighbours == (None, above.point)
    assert (above.threshold, above.exact_value) == (0.1, Fraction(5, 6) / 2 + Fraction(1, 4) / 2)
    below = ss.range_eer(references, scores, slack=0.0, uncovered="bonafide")
    assert below.neighbours == (below.point, None)
    assert (below.threshold, below.exact_value) == (math.inf, Fraction(1, 6) / 2 + Fraction(3, 4) / 2)
    even = references_of([(20, "b"), (60, "s"), (80, "b")])  # FPR = FNR = 1/2 at the lowest score already
    measured = ss.range_eer(even, scores, slack=0.0, uncovered="spoof", eer_rule="interpolated")
    assert (measured.neighbours, measured.value) == ((None, measured.point), 0.5)
    for uncovered in ("spoof", "bonafide"):
        for rule in ("interpolated", "convex-hull"):
            with pytest.raises(ss.UndefinedMeasureError, match="never cross"):
                ss.range_eer(references, scores, slack=0.0, uncovered=uncovered, eer_rule=rule)


# ---------------------------------------------------------------- the curve


@pytest.mark.parametrize(("higher", "sign"), [("bonafide", 1), ("spoof", -1)])
def test_the_curve_has_every_score_and_then_everything(higher, sign):
    scores = frames_of([sign * value for value in (0.9, 0.3, 0.5, -0.1, 0.2)], higher=higher)
    curve = ss.error_curve(references_of([(50, "b"), (90, "s")]), scores)
    assert curve.thresholds.tolist() == [sign * value for value in (-0.1, 0.2, 0.3, 0.5, 0.9, math.inf)]
    assert len(curve) == 6
    assert repr(curve) == "ErrorCurve(6 thresholds)"
    assert [curve.point(i).false_positive for i in range(6)] == [0, 0, 0, 20 * MS, 30 * MS, 50 * MS]
    assert [curve.point(i).false_negative for i in range(6)] == [40 * MS, 20 * MS, 10 * MS, 10 * MS, 0, 0]
    assert curve.false_positive_rates.tolist() == [0.0, 0.0, 0.0, 0.4, 0.6, 1.0]
    assert curve.false_negative_rates.tolist() == [1.0, 0.5, 0.25, 0.25, 0.0, 0.0]
    assert [curve.point(i).everything for i in range(6)] == [False] * 5 + [True]
    assert curve.point(-1) == curve.point(5)
    assert [curve.point(i).threshold for i in range(6)] == curve.thresholds.tolist()
    assert curve.point(-2) == curve.point(4)


@pytest.mark.parametrize(("higher", "sign"), [("bonafide", 1), ("spoof", -1)])
def test_at_any_threshold_scores_beyond_it_are_called_spoof(higher, sign):
    scores = frames_of([sign * value for value in (0.9, 0.3, 0.5, -0.1, 0.2)], higher=higher)
    curve = ss.error_curve(references_of([(50, "b"), (90, "s")]), scores)
    for threshold, called in ((-9, 0), (-0.1, 0), (0.0, 1), (0.2, 1), (0.25, 2), (0.9, 4), (0.95, 5), (math.inf, 5)):
        point = curve.at(sign * threshold)
        assert point == dataclasses.replace(curve.point(called), threshold=sign * threshold, everything=False)
    with pytest.raises(ss.UsageError, match="NaN"):
        curve.at(math.nan)


@pytest.mark.parametrize(("higher", "sign"), [("bonafide", 1), ("spoof", -1)])
def test_the_largest_scores_are_told_apart(higher, sign):
    curve = ss.error_curve(
        references_of([(20, "b"), (40, "s")]), frames_of([sign * 1.7e308, sign * 1.6e308], higher=higher)
    )
    assert curve.at(sign * 1.6e308) == curve.point(0)
    assert curve.at(sign * 1.7e308) == curve.point(1)


def test_thresholds_have_no_negative_zero():
    for higher in ("bonafide", "spoof"):
        for zero in (0.0, -0.0):
            curve = ss.error_curve(references_of([(20, "b"), (40, "s")]), frames_of([zero, 1.0], higher=higher))
            assert not np.signbit(curve.thresholds[curve.thresholds == 0.0]).any()
            assert not any(math.copysign(1, curve.point(i).threshold) < 0 for i in range(2) if not curve.thresholds[i])


def naive_hull(curve):
    """Where the lower hull meets the diagonal: the lowest of all segments between two points."""
    points = [curve.point(i) for i in range(len(curve))]
    rates = [(p.exact_false_positive_rate, p.exact_false_negative_rate) for p in points]
    best = []
    for x1, y1 in rates:
        for x2, y2 in rates:
            if x1 < y1 and x2 >= y2:
                along = (y1 - x1) / ((y1 - x1) + (x2 - y2))
                best.append(x1 + along * (x2 - x1))
    return min(best)


@pytest.mark.parametrize("seed", range(30))
def test_the_hull_is_the_lowest_segment_between_any_two_points(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 40))
    edges = np.sort(rng.choice(np.arange(1, 20 * count), 6, replace=False))
    labels = [(int(edge), "bs"[i % 2]) for i, edge in enumerate(edges)] + [(20 * count, "b")]
    scores = frames_of(np.round(rng.normal(size=count), int(rng.integers(0, 3))))
    mass = ss.overlay(references_of(labels), scores)
    assert ss.equal_error_rate(mass, "convex-hull").value == naive_hull(error_curve_of(mass))


def test_the_hull_may_have_a_corner_of_equal_rates():
    scores = frames_of([0, 1, 1, 1, 0, 0, 0, 1])
    mass = ss.overlay(references_of([(80, "b"), (160, "s")]), scores)
    assert ss.equal_error_rate(mass, "convex-hull").value == Fraction(1, 4)


def test_the_hull_meets_the_diagonal_where_the_curve_begins_on_it():
    # uncovered time called spoof: all of the bona fide time, so FPR = FNR = 1 before any score is called spoof
    references = ss.References.from_ranges({"u1": [(0.0, 0.02, "spoof"), (0.02, 0.04, "bonafide")]})
    scores = ss.Scores.from_ranges({"u1": [(0.0, 0.02, 0.5)]}, higher="bonafide")
    rules = {"uncovered": "spoof", "slack": 0.0}
    assert error_curve_of(ss.overlay(references, scores, **rules)).hull_crossing() == Fraction(1)
    assert ss.range_eer(references, scores, eer_rule="convex-hull", **rules).exact_value == Fraction(1)


def test_the_hull_of_rates_that_never_cross_meets_no_diagonal():
    """Uncovered are 100 of 120 ms bona fide and 60 of 80 ms spoof: FPR > FNR from the first threshold on."""
    references = references_of([(20, "b"), (100, "s"), (200, "b")])
    mass = ss.overlay(references, frames_of([0.9, 0.1]), slack=0.0, uncovered="spoof")
    with pytest.raises(ss.UndefinedMeasureError, match="never cross"):
        error_curve_of(mass).hull_crossing()


def test_the_hull_may_meet_the_diagonal_where_the_curve_ends():
    """No bona fide time lies under a score, so FPR = 0 always, and FNR falls to 0 at the end."""
    references = references_of([(40, "s"), (60, "b")])
    mass = ss.overlay(references, frames_of([0.9, 0.1]), slack=0.0, uncovered="unanswered")
    for rule in ("nearest", "interpolated", "convex-hull"):
        assert ss.equal_error_rate(mass, rule).value == 0


# ---------------------------------------------------------------- buckets


def test_a_bucketed_threshold_is_never_negative_zero():
    references = ss.References.from_ranges({"u1": [(0.0, 0.02, "spoof"), (0.02, 0.04, "bonafide")]})
    for higher in ("bonafide", "spoof"):
        for values in ([-0.5, 0.5], [0.5, -0.5], [-0.25, 0.25], [0.0, 0.5], [-0.5, 0.0]):
            scores = ss.Scores.from_frames({"u1": values}, hop=0.02, higher=higher)
            threshold = ss.range_eer(references, scores, eer_rule="bucketed(-1,1,2)").threshold
            assert threshold != 0 or math.copysign(1, threshold) == 1


@pytest.mark.parametrize(("higher", "sign"), [("bonafide", 1), ("spoof", -1)])
def test_thresholds_of_buckets_are_their_edges(higher, sign):
    """Spoof scores -0.9 ... 0.1 in four buckets from -1 to 1; the tools call a bucket spoof as a whole."""
    scores = frames_of([sign * value for value in (0.9, 0.3, 0.7, -0.1, 0.2)], higher=higher)
    measured = ss.range_eer(references_of([(50, "b"), (90, "s")]), scores, eer_rule="bucketed(-1, 1, 4)")
    assert measured.eer_rule == "bucketed(-1,1,4)"
    # buckets: 0.9 and 0.7 -> 0; 0.3 and 0.2 -> 1; -0.1 -> 2; everything below 0.5 is called spoof, or below 0.0
    assert [point.threshold for point in measured.neighbours] == [sign * 0.0, sign * 0.5]
    assert measured.threshold == sign * 0.5
    assert (measured.false_positive_rate, measured.false_negative_rate) == (0.4, 0.25)
    assert measured.value == 0.325


def test_a_bucket_threshold_that_calls_everything_spoof_is_infinite():
    references = references_of([(20, "b"), (40, "s")])
    scores = frames_of([0.5, 0.5])
    measured = ss.range_eer(references, scores, eer_rule="bucketed(2max,10)")
    assert measured.threshold == math.inf
    assert measured.point.everything
    assert measured.neighbours[1].everything
    assert measured.neighbours[0].threshold == 0.4  # bucket 2 of 10 from -1 to 1 ends at -0.4 in spoof polarity


def test_buckets_whose_rates_never_cross_have_one_neighbour():
    references = references_of([(20, "b"), (100, "s"), (200, "b")])
    rules = {"slack": 0.0, "eer_rule": "bucketed(-1,1,4)"}
    above = ss.range_eer(references, frames_of([0.9, 0.1]), uncovered="spoof", **rules)
    assert above.neighbours == (None, above.point)
    assert above.threshold == 0.0  # 0.1 becomes bucket 1 of 4, which ends at 0 in spoof polarity
    below = ss.range_eer(references, frames_of([0.9, 0.1]), uncovered="bonafide", **rules)
    assert below.neighbours == (below.point, None)
    assert below.threshold == math.inf


@pytest.mark.parametrize(
    "rule",
    [
        "bucketed(1,1,4)",
        "bucketed(2,1,4)",
        "bucketed(-1,1,0)",
        "bucketed(-inf,1,4)",
        "bucketed(-1,inf,4)",
        "bucketed(nan,1,4)",
        "bucketed(-1e308,1e308,4)",  # both are finite, their distance is not
    ],
)
def test_buckets_need_a_finite_range_and_a_number(rule):
    with pytest.raises(ss.UsageError, match="lo < hi"):
        ss.range_eer(TWO, TWO_SCORES, eer_rule=rule)


@pytest.mark.parametrize(
    "rule",
    [
        "bucketed(1,1)",
        "bucketed",
        "near",
        "bucketed(2max,x)",
        "bucketed(a,1,4)",
        "bucketed(-1,b,4)",
        "bucketed(-1,1,10000000000000000)",  # doubles do not count so far
    ],
)
def test_unknown_eer_rules_are_refused(rule):
    with pytest.raises(ss.UsageError, match="valid"):
        ss.equal_error_rate(ss.overlay(TWO, TWO_SCORES), rule)


def test_the_largest_score_of_all_blocks_sets_the_buckets(monkeypatch):
    """Twice the 2.0 of the middle one of three utterances; -3.0 lies over ignored time."""
    monkeypatch.setattr(spoofspan.mass.ranges, "ROWS_PER_BLOCK", 1)
    references = references_of([(20, "b"), (40, "s")], [(20, "b"), (40, "s")], [(20, "n"), (40, "s")])
    for sign, higher in ((1, "bonafide"), (-1, "spoof")):
        scores = frames_of([0.5 * sign, 0.25 * sign], [-0.1, -2.0], [-3.0, 0.1], higher=higher)
        mass = ss.overlay(references, scores, nonspeech="ignore")
        expected = ss.equal_error_rate(mass, "bucketed(-4,4,64)")
        assert ss.equal_error_rate(mass, "bucketed(2max,64)") == expected
        assert expected != ss.equal_error_rate(mass, "bucketed(-6,6,64)")


def test_scores_must_fit_into_the_buckets_edges_included():
    references = references_of([(20, "b"), (40, "s"), (60, "b")])
    scores = frames_of([0.5, -0.25, 0.0])
    fits = ss.range_eer(references, scores, eer_rule="bucketed(-0.5,0.25,3)")
    assert fits.value == 0.0
    for rule in ("bucketed(-0.49,0.25,3)", "bucketed(-0.5,0.24,3)"):
        with pytest.raises(ss.UsageError, match="do not fit"):
            ss.range_eer(references, scores, eer_rule=rule)
    # scores without counted time may lie anywhere
    ignored = references_of([(20, "b"), (40, "s"), (60, "n")])
    assert ss.range_eer(ignored, frames_of([0.5, 0, 9]), eer_rule="bucketed(-1,1,4)", nonspeech="ignore").value == 0
