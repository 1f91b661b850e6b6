"""Claims about amounts beyond int64 that mutation testing found unguarded (see tools/mutation/README.md)."""

from fractions import Fraction

import numpy as np
import pytest
from small_corpora import MS, frames_of, references_of

import spoofspan as ss
import spoofspan.mass.points
import spoofspan.mass.ranges
import spoofspan.measures.eer
from spoofspan.measures.curve import error_curve_of
from spoofspan.measures.eer import crossing
from spoofspan.measures.operating_point import totals

pytestmark = [pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"), pytest.mark.quick]


def test_weighted_totals_beyond_int64_are_exact():
    references = references_of(*[[(20, "b"), (40, "s")]] * 9)
    scores = frames_of(*[[0.5, 0.25]] * 9)
    for mass, weight, each in (
        (ss.overlay(references, scores), 2**36, 20 * MS),
        (ss.point_mass(references, scores, 0.02), 2**60, 1),
    ):
        found = totals(mass.reweight([weight] * 9))
        assert (found.all_bona_fide, found.all_spoof) == (9 * weight * each, 9 * weight * each)
        uneven = totals(mass.reweight([weight] * 8 + [3]))
        assert uneven.all_bona_fide == (8 * weight + 3) * each


@pytest.mark.parametrize("count", [8, 9, 40])
def test_totals_beyond_int64_are_exact(count):
    """Each utterance lasts 36 years; eight of them are 2**63 ns."""
    long = 2**60
    ids = [f"u{i}" for i in range(count)] + ["last"]
    references = ss.References.from_columns(
        ids,
        [long] * count + [3],
        np.arange(count + 2),
        np.zeros(count + 1, np.int64),
        np.array([long] * count + [3]),
        np.array([False] * count + [True]),
    )
    rows = np.arange(count + 1)
    scores = ss.Scores.from_columns(
        ids,
        np.concatenate((2 * rows, [2 * count + 2])),
        np.array([0.5, 0.25] * count + [0.25, 0.0]),
        starts=np.array([0, long - 5] * count + [0, 1]),
        ends=np.array([long - 5, long] * count + [1, 3]),
        higher="bonafide",
    )
    mass = ss.overlay(references, scores)
    assert totals(mass).all_bona_fide == count * long
    assert sum(map(int, mass.bona_fide)) == count * long
    curve = error_curve_of(mass)
    assert [curve.point(i).false_positive for i in range(4)] == [0, 0, 5 * count, count * long]
    assert curve.false_positive_rates.tolist() == [0.0, 0.0, 5 / long, 1.0]
    assert curve.false_negative_rates.tolist() == [1.0, 1 / 3, 0.0, 0.0]
    for guess in (True, False):
        found = crossing(mass, guess=guess)
        assert (found.before.false_positive, found.after.false_positive) == (0, 5 * count)
        assert (found.before.false_negative, found.after.false_negative) == (1, 0)
    interpolated = ss.equal_error_rate(mass, "interpolated").value
    assert interpolated == Fraction(5, 15 + long)
    assert ss.equal_error_rate(mass, "convex-hull").value == interpolated


def test_ties_of_both_classes_beyond_int64_are_exact():
    long, count = 2**60, 9
    ids = [f"u{i}" for i in range(2 * count)]
    references = ss.References.from_columns(
        ids, [long] * 18, np.arange(19), [0] * 18, [long] * 18, np.arange(18) % 2 == 1
    )
    scores = ss.Scores.from_columns(
        ids, np.arange(19), [0.5] * 17 + [0.25], starts=[0] * 18, ends=[long] * 18, higher="bonafide"
    )
    mass = ss.overlay(references, scores)
    curve = error_curve_of(mass)
    assert [curve.point(i).false_positive for i in range(3)] == [0, 0, 9 * long]
    assert [curve.point(i).false_negative for i in range(3)] == [9 * long, 8 * long, 0]
    assert crossing(mass) == crossing(mass, guess=False)
    assert crossing(mass).after.false_positive == 9 * long


@pytest.mark.parametrize(
    ("part", "length"), [(12477179974387661, 2**54 - 1), (17025803372547245, 2**54 - 1), (2**54 + 3, 2**55 + 5)]
)
def test_rates_of_large_totals_are_rounded_once(part, length):
    """Doubles do not hold these integers, so dividing doubles would round three times."""
    references = ss.References.from_columns(
        ["a", "b"], [length, 2], [0, 1, 2], [0, 0], [length, 2], np.array([False, True])
    )
    scores = ss.Scores.from_columns(
        ["a", "b"],
        [0, 2, 3],
        [0.0, 1.0, 0.5],
        starts=np.array([0, part, 0]),
        ends=np.array([part, length, 2]),
        higher="bonafide",
    )
    curve = ss.error_curve(references, scores)
    assert curve.false_positive_rates.tolist() == [0.0, part / length, part / length, 1.0]
