"""Edges of the EER rules that mutation testing brought to light."""

import math
from fractions import Fraction

import pytest

import spoofspan as ss
from spoofspan.curve import error_curve_of

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")


def test_a_bucketed_threshold_is_never_negative_zero():
    references = ss.References.from_ranges({"u1": [(0.0, 0.02, "spoof"), (0.02, 0.04, "bonafide")]})
    for higher in ("bonafide", "spoof"):
        for values in ([-0.5, 0.5], [0.5, -0.5], [-0.25, 0.25], [0.0, 0.5], [-0.5, 0.0]):
            scores = ss.Scores.from_frames({"u1": values}, hop=0.02, higher=higher)
            threshold = ss.range_eer(references, scores, eer_rule="bucketed(-1,1,2)").threshold
            assert threshold != 0 or math.copysign(1, threshold) == 1


def test_the_hull_meets_the_diagonal_where_the_curve_begins_on_it():
    # uncovered time called spoof: all of the bona fide time, so FPR = FNR = 1 before any score is called spoof
    references = ss.References.from_ranges({"u1": [(0.0, 0.02, "spoof"), (0.02, 0.04, "bonafide")]})
    scores = ss.Scores.from_ranges({"u1": [(0.0, 0.02, 0.5)]}, higher="bonafide")
    rules = {"uncovered": "spoof", "slack": 0.0}
    assert error_curve_of(ss.overlay(references, scores, **rules)).hull_crossing() == Fraction(1)
    assert ss.range_eer(references, scores, eer_rule="convex-hull", **rules).exact_value == Fraction(1)
