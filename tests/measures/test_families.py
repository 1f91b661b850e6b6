"""Families of measures: a measure is an entry and a function, a family is a class."""

import runpy
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.cli.completion import measures as completed
from spoofspan.evaluation.explain import explain
from spoofspan.measures import confusion, ranking
from spoofspan.measures.catalogue import KINDS, all_kinds
from spoofspan.measures.kind import BestKind, CurveKind, Kind, RatioKind, Value
from spoofspan.measures.operating_point import point_at

pytestmark = pytest.mark.quick
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def register(monkeypatch):
    """Enter a measure into the catalogue, with its function, for the length of a test."""

    def enter(kind, module=None, function=None):
        if function is not None:
            monkeypatch.setattr(module, function.__name__, function, raising=False)
        monkeypatch.setitem(KINDS, kind.name, kind)

    return enter


def specificity(matrix):
    return matrix.true_negative, matrix.negatives


def register_specificity(register):
    entry = RatioKind(
        "specificity",
        "higher",
        "TN / N",
        "confusion:specificity",
        "How much of the bona fide is called bona fide.",
        needs=("negatives",),
        of_class="negatives",
    )
    register(entry, confusion, specificity)


def test_a_new_ratio_is_an_entry_and_a_function(demo, register):
    register_specificity(register)
    for more, read_off in (({"threshold": 0.1}, "threshold:given"), ({}, "threshold:eer(nearest)")):
        found = ss.evaluate(*demo, ["range-specificity", "range-fpr", "point-specificity@20ms"], **more)
        assert found["range-specificity"].exact_value == 1 - found["range-fpr"].exact_value
        assert f"range-specificity|{read_off}|" in found["range-specificity"].signature.comparable
    limited = ss.evaluate(*demo, ["range-specificity@fnr=0.1", "range-fpr@fnr=0.1", "range-specificity-macro"])
    assert limited["range-specificity@fnr=0.1"].exact_value == 1 - limited["range-fpr@fnr=0.1"].exact_value
    assert 0 < limited["range-specificity-macro"].value < 1


@pytest.mark.parametrize("method", ["jackknife-t", "percentile"])
@pytest.mark.parametrize("at", ["", "@fnr=0.1"])
def test_a_new_ratio_has_intervals(method, at, demo, register):
    register_specificity(register)
    how = {"method": method, "replicates": 60} | ({} if at else {"threshold": 0.1})
    found, mirrored = (ss.interval(*demo, f"range-{name}{at}", **how) for name in ("specificity", "fpr"))
    assert (found.low, found.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), rel=1e-9)


def test_help_completion_and_docs_read_the_entry(register, monkeypatch):
    register_specificity(register)
    assert "TN / N" in explain("range-specificity")
    assert "specificity" in explain("measures")
    assert {"range-specificity", "utterance-specificity"} <= set(completed())
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    table = runpy.run_path(str(DOCS / "make_measures.py"))["table"]()
    assert "| `specificity` | TN / N | higher | at a threshold |  |" in table
    with pytest.raises(ss.UsageError, match="did you mean 'range-specificity'"):
        ss.Measure.parse("range-specifity")


def test_a_new_measure_of_the_curve_takes_the_settings_that_it_names(demo, register):
    def least_rate(curve, scores_are, power):
        assert scores_are == "llr"
        return float(np.maximum(curve.false_positive_rates, curve.false_negative_rates).min()) ** power

    taken = {"takes": ("scores_are",), "parameters": (("power", 1.0),)}
    register(CurveKind("least-rate", "lower", "...", "ranking:least_rate", "...", **taken), ranking, least_rate)
    found = ss.evaluate(*demo, ["range-least-rate", "range-least-rate@power=2"], scores_are="llr")
    assert found["range-least-rate@power=2"].value == found["range-least-rate@power=1"].value ** 2
    assert "|scores-are:llr|" in found["range-least-rate"].signature.comparable
    with pytest.raises(ss.UsageError, match="takes scores at their word"):
        ss.evaluate(*demo, ["range-least-rate"])


def test_a_formula_at_the_best_threshold_is_enough(demo, register):
    def accuracy_formula():
        return confusion.formula_of("accuracy")

    entry = BestKind("best-accuracy", "higher", "...", "confusion:accuracy_formula", "...")
    register(entry, confusion, accuracy_formula)
    found = ss.evaluate(*demo, ["range-best-accuracy"], confidence=0.9)["range-best-accuracy"]
    at_it = ss.evaluate(*demo, ["range-accuracy"], threshold=found.threshold)["range-accuracy"]
    assert (
        found.exact_value == at_it.exact_value >= ss.evaluate(*demo, ["range-accuracy"])["range-accuracy"].exact_value
    )
    assert found.interval.low < found.value


class AtZeroKind(Kind):
    """The share of errors at the threshold 0."""

    family = "at 0"

    def value(self, settings, mass):
        point = point_at(mass, 0.0)
        return Value(Fraction(point.false_positive + point.false_negative, point.bona_fide + point.spoof), point)


@pytest.mark.parametrize("method", ["jackknife-t", "percentile"])
def test_a_new_family_is_a_class(method, demo, register):
    register(AtZeroKind("errors-at-0", "lower", "(FP + FN) / (P + N) at 0", "eer:equal_error_rate", "..."))
    found = ss.evaluate(*demo, ["range-errors-at-0", "range-accuracy"], threshold=0.0)
    assert found["range-errors-at-0"].exact_value == 1 - found["range-accuracy"].exact_value
    how = {"method": method, "replicates": 60}
    same = ss.interval(*demo, "range-accuracy", threshold=0.0, **how)
    interval = ss.interval(*demo, "range-errors-at-0", **how)
    assert (interval.low, interval.high) == pytest.approx((1 - same.high, 1 - same.low), rel=1e-9)


def test_no_module_outside_of_measures_tells_measures_by_their_names():
    source = Path(ss.__file__).parent
    names = {kind.name for kind in all_kinds()}
    for package in ("evaluation", "uncertainty"):
        for path in source.joinpath(package).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            asked = [line for line in text.splitlines() if "kind.name" in line and ("==" in line or "!=" in line)]
            assert not [line for line in asked if any(f'"{name}"' in line for name in names)], path.name
