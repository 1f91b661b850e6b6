"""A thin curve is exact where it has a point, and close enough everywhere else."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from outcomes import build
from random_corpora import random_case

import spoofspan as ss
from spoofspan.measures.curve import error_curve_of, thin_curve

pytestmark = pytest.mark.quick


def check(mass, thin, tolerance):
    whole = error_curve_of(mass)
    assert (thin.thresholds[0], thin.thresholds[-1]) == (whole.thresholds[0], whole.thresholds[-1])
    points = [thin.point(index) for index in range(len(thin))]
    for point in points[:-1]:
        assert point == whole.at(point.threshold)
    assert points[-1] == whole.point(-1)
    assert [point.false_positive_rate for point in points] == thin.false_positive_rates.tolist()
    assert [point.false_negative_rate for point in points] == thin.false_negative_rates.tolist()
    sign = 1 if mass.higher == "bonafide" else -1
    scores = sorted(sign * threshold for threshold in whole.thresholds[:-1].tolist())
    for before, after in pairwise(points):
        moved = [
            abs(after.false_positive_rate - before.false_positive_rate),
            abs(after.false_negative_rate - before.false_negative_rate),
        ]
        last = math.inf if after.everything else sign * after.threshold
        inside = [one for one in scores if sign * before.threshold <= one < last or (after.everything and one == last)]
        # a rate may jump at one score; then there is nothing in between
        assert max(moved) <= tolerance or len(inside) == 1


@pytest.mark.parametrize("seed", range(150))
def test_random_corpora(seed):
    case = random_case(random.Random(seed))
    try:
        mass = ss.overlay(*build(case), **case.rules)
        thin = thin_curve(mass, tolerance=0.05)
    except ss.SpoofspanError:
        return  # refused by the rules, or one class only
    check(mass, thin, 0.05)


@pytest.mark.parametrize("digits", [None, 1, 3])
@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
def test_a_larger_corpus_keeps_few_points(digits, higher):
    rng = np.random.default_rng(1)
    spoof = rng.random(20_000) < 0.3
    values = rng.normal(np.where(spoof, -1.0, 1.0)).astype(np.float32)
    if digits is not None:
        values = values.round(digits)
    values = values if higher == "bonafide" else -values
    starts = np.arange(values.size) * 20_000_000
    offsets = np.array([0, values.size])
    references = ss.References.from_columns(["u"], None, offsets, starts, starts + 20_000_000, spoof)
    scores = ss.Scores.from_columns(["u"], offsets, values, hop=0.02, higher=higher)
    mass = ss.overlay(references, scores)
    eer = ss.range_eer(references, scores, eer_rule="interpolated")  # few values: the nearest would warn of its gap
    thin = thin_curve(mass, tolerance=0.01, include=[eer.threshold])
    assert len(thin) < 1000
    check(mass, thin, 0.01)
    assert eer.threshold in thin.thresholds.tolist()


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
def test_the_tolerance_may_be_one_of_normal_deviates(higher):
    from spoofspan.report.figures.line_simplification import deviates

    rng = np.random.default_rng(2)
    spoof = rng.random(30_000) < 0.3
    values = rng.normal(np.where(spoof, -1.0, 1.0)) * (1 if higher == "bonafide" else -1)
    starts = np.arange(values.size) * 20_000_000
    offsets = np.array([0, values.size])
    references = ss.References.from_columns(["u"], None, offsets, starts, starts + 20_000_000, spoof)
    mass = ss.overlay(references, ss.Scores.from_columns(["u"], offsets, values, hop=0.02, higher=higher))
    thin, whole = thin_curve(mass, tolerance=0.05, scale=deviates), error_curve_of(mass)
    place = {threshold: i for i, threshold in enumerate(whole.thresholds.tolist())}
    kept = [place[threshold] for threshold in thin.thresholds.tolist()]
    assert len(kept) < 1000
    for rates, exact in (
        (thin.false_positive_rates, whole.false_positive_rates),
        (thin.false_negative_rates, whole.false_negative_rates),
    ):
        np.testing.assert_array_equal(rates, exact[kept])
        moved = np.abs(np.diff(deviates(rates)))
        assert (moved[np.diff(kept) > 1] <= 0.05).all()  # only neighbours on the exact curve may be further apart
