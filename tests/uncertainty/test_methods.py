"""Interval methods: each is an entry and a class, and another one takes no more than that."""

from dataclasses import replace

import pytest

import spoofspan as ss
from spoofspan.uncertainty import spreads
from spoofspan.uncertainty.methods import METHODS, IntervalMethod
from spoofspan.uncertainty.spreads import PercentileSpread


class BasicSpread(PercentileSpread):
    """The basic bootstrap: the quantiles, reflected about the estimate."""

    def interval(self, contrast, terms=()):
        found = super().interval(contrast, terms)
        return replace(found, low=2 * found.estimate - found.high, high=2 * found.estimate - found.low)


def test_a_new_method_is_an_entry_and_a_class(demo, monkeypatch):
    monkeypatch.setattr(spreads, "BasicSpread", BasicSpread, raising=False)
    basic = IntervalMethod("basic", "spreads:BasicSpread", "reflected quantiles of replicates", draws=True)
    monkeypatch.setitem(METHODS, "basic", basic)
    drawn = {"replicates": 200, "seed": 3}
    percentile, found = (ss.interval(*demo, method=method, **drawn) for method in ("percentile", "basic"))
    assert found.method == "basic"
    assert (found.low, found.high) == pytest.approx(
        (2 * found.estimate - percentile.high, 2 * found.estimate - percentile.low)
    )
    compared = ss.compare(demo[0], {"a": demo[1], "b": demo[1]}, method="basic", **drawn)
    assert compared.test == "basic interval, inverted"


@pytest.mark.parametrize("name", METHODS)
def test_every_function_takes_every_method(name, demo):
    references, scores = demo
    how = {"method": name, "replicates": 2000, "confidence": 0.9}
    alone = ss.interval(references, scores, "utterance-eer", **how)
    evaluated = ss.evaluate(references, scores, ["utterance-eer"], resampling=ss.Resampling(**how))
    compared = ss.compare(references, {"a": scores, "b": scores}, "utterance-eer", **how)
    assert alone.method == name
    for other in (evaluated["utterance-eer"].interval, compared.intervals["a"]):
        assert (other.low, other.high) == pytest.approx((alone.low, alone.high), rel=1e-12)


def test_the_default_is_the_same_everywhere(demo):
    references, scores = demo
    found = {
        ss.interval(references, scores).method,
        ss.evaluate(references, scores, ["range-eer"], confidence=0.95)["range-eer"].interval.method,
        ss.compare(references, {"a": scores, "b": scores}).intervals["a"].method,
        ss.Resampling().method,
    }
    assert found == {"jackknife-t"}
