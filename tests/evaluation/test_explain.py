"""What explain answers to names of measures that are spelled in another way."""

import pytest

from spoofspan.evaluation.explain import explain, nearest_subject
from spoofspan.measures.catalogue import all_kinds
from spoofspan.measures.measure import Measure, nearest_measure, number_text

MEASURES = [(basis, kind) for kind in all_kinds() for basis in kind.bases]


@pytest.mark.parametrize(("basis", "kind"), MEASURES, ids=lambda one: one if isinstance(one, str) else one.name)
def test_another_spelling_of_a_measure_means_that_measure(basis, kind):
    name = kind.name
    spellings = [f"{basis}-macro-{name}", f"{basis}-{name}-macro", f"{basis}_{name}", f"{basis.title()} {name.upper()}"]
    spellings += [f"{basis}-{name}-bonafide", f"{basis}-bona-fide-{name}", f"{basis}-{name}@20ms"]
    for spelling in spellings:
        found = Measure.parse(nearest_measure(spelling))
        assert (found.basis, found.kind) == (basis, kind)
        meant = nearest_subject(spelling)
        assert Measure.parse(meant if basis != "point" or "@" in meant else f"{meant}@20ms").kind is kind
        assert f"{basis}-{name}" in explain(meant)
    for bare in (name, name.upper(), name.replace("-", " "), name.replace("-", "_")):
        meant = nearest_subject(bare)
        assert meant is not None
        assert name in meant.replace(" ", "-").replace("_", "-")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("utterance-macro-f1", "utterance-f1"),  # utterances have no mean over utterances
        ("range-macro-f1", "range-f1-macro"),
        ("macro f1", "range-f1-macro"),
        ("range-macro-bonafide-f1", "range-f1-bonafide-macro"),
        ("utterance-eeer", "utterance-eer"),
        ("range-a-dcf", "utterance-a-dcf"),
        ("range-tdcf", "utterance-min-tdcf"),
        ("utterance-xyzzy", None),
        ("range-based-eer", "range-based eer"),
    ],
)
def test_a_name_of_a_measure_is_not_answered_with_another_measure(typed, meant):
    assert nearest_subject(typed) == meant


@pytest.mark.parametrize(
    ("measure", "value", "text"),
    [
        ("utterance-cllr", 1e50, "1.000e+50"),
        ("utterance-cllr", 123456.78912, "123456.7891"),
        ("utterance-cllr", -2.5e8, "-2.500e+08"),
        ("utterance-cllr", float("inf"), "inf"),
        ("range-der", 1e50, "1.000e+52"),
        ("range-der", 1.25, "125.00"),
        ("range-false-alarms-per-hour", 1e12, "1.000e+12"),
    ],
)
def test_a_very_large_value_is_shown_with_a_power_of_ten(measure, value, text):
    assert number_text(measure, value) == text
