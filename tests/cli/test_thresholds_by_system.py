"""Thresholds that are typed for systems by name, or for all of them."""

import json

import pytest

import spoofspan as ss
from spoofspan.cli.system_inputs import thresholds_by_system


def values(*typed, names=(), files=()):
    found = thresholds_by_system("--threshold", typed, files, "range-eer", names)
    return {name: one.value for name, one in found.items()}


def test_each_system_has_the_threshold_of_its_name():
    assert values("a=0.4", "b=-1e-3") == {"a": 0.4, "b": -0.001}
    assert values("0.5", names=["a", "b"]) == {"a": 0.5, "b": 0.5}
    assert values() == {}


@pytest.mark.parametrize(
    ("typed", "names", "why"),
    [
        (["0.4"], (), "--threshold 0.4: say which system it is for, as --threshold NAME=..."),
        (["a="], ["a"], "--threshold a=: say which system it is for"),
        (["a=high"], (), "--threshold a=high: 'high' is no number"),
        (["high"], ["a"], "--threshold high: 'high' is no number"),
        (["a=1", "a=2"], (), "--threshold a=2: a has a threshold already; give one for each system"),
        (["0.5", "b=2"], ["a", "b"], "--threshold b=2: b has a threshold already"),
    ],
)
def test_a_threshold_that_belongs_to_no_system_is_refused(typed, names, why):
    with pytest.raises(ss.UsageError) as refused:
        values(*typed, names=names)
    assert why in str(refused.value)


def test_a_file_may_have_an_equals_sign_in_its_name(tmp_path, demo_result):
    path = tmp_path / "seed=1.json"
    path.write_text(demo_result)
    found = thresholds_by_system("--threshold", [], [str(path)], "range-eer", ["a", "b"])
    assert found["a"] is found["b"]
    assert (found["a"].source, list(found["a"].hashes)) == (str(path), ["references", "utterances"])
    assert thresholds_by_system("--threshold", [], [f"a={path}"], "range-eer")["a"] == found["a"]


@pytest.fixture
def demo_result():
    references = ss.References.from_ranges({"u1": [(0.0, 0.2, "bonafide"), (0.2, 0.4, "spoof")]})
    scores = ss.Scores.from_frames({"u1": [0.9, 0.1, 0.2, -0.3]}, hop=0.1, higher="bonafide")
    return json.dumps(ss.evaluate(references, scores, ["range-eer"]).to_dict())
