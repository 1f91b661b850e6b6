"""DER, the cost of NIST, the IoU of Psynd, collars at the ends: against pyannote.metrics and brute force."""

import json
import random
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import brute_force
import pytest

import spoofspan as ss

GOLDEN = Path(__file__).parents[1] / "golden" / "detection"
CASE = json.loads((GOLDEN / "case.json").read_text(encoding="utf-8"))["utterances"]
TOOL = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))["tools"]
SPELLED = {
    "DetectionErrorRate": "range-der",
    "DetectionCostFunction": "range-dcf@p_spoof=0.75,cost_miss=1,cost_false_alarm=1",
}


def corpus():
    """References that list spoofs, and decisions."""
    durations = {name: one["duration"] / 1000 for name, one in CASE.items()}
    spoof = {name: [(a / 1000, b / 1000, "spoof") for a, b in one["spoof"]] for name, one in CASE.items()}
    called = {}
    for name, one in CASE.items():
        edges = [0, *(edge for pair in one["called_spoof"] for edge in pair), one["duration"]]
        called[name] = [
            (a / 1000, b / 1000, ("bonafide", "spoof")[k % 2]) for k, (a, b) in enumerate(pairwise(edges)) if b > a
        ]
    references = ss.References.from_ranges(spoof, durations)
    return references, ss.Scores.from_decisions(called)


@pytest.mark.parametrize("run", TOOL)
def test_values_are_those_of_pyannote_metrics(run):
    name, _, width = run.rstrip(")").partition("(collar=")
    rules = {"collar": float(width) / 2, "collar_edges": "all"} if float(width) else {}
    found = ss.evaluate(*corpus(), [SPELLED[name]], gaps="bonafide", **rules)[SPELLED[name]]
    # the tool adds seconds as doubles
    assert found.value == pytest.approx(TOOL[run]["value"], abs=1e-14)
    assert found.point.seconds()["false_positive"] == pytest.approx(TOOL[run]["components"]["false alarm"], abs=1e-12)


def test_the_ends_have_a_collar_only_if_told_so():
    inside, everywhere = (
        ss.evaluate(*corpus(), ["range-der"], gaps="bonafide", collar=0.25, collar_edges=edges)["range-der"]
        for edges in ("inside", "all")
    )
    assert inside.value != everywhere.value
    assert "collar_edges" not in inside.signature.comparable
    assert "|collar_edges:all|" in everywhere.signature.comparable
    with pytest.raises(ss.UsageError, match=r"give collar= too, such as collar=0\.25"):
        ss.evaluate(*corpus(), ["range-der"], gaps="bonafide", collar_edges="all")


@pytest.mark.parametrize("seed", range(8))
def test_collars_at_the_ends_are_those_of_the_brute_force(seed):
    rng = random.Random(seed)
    ms, labels, scores, durations = 1_000_000, {}, {}, {}
    for k in range(3):
        edges = [0, *sorted(rng.sample(range(1, 300), 4)), 300]
        labels[f"u{k}"] = [(a * ms, b * ms, rng.choice(["bonafide", "spoof"])) for a, b in pairwise(edges)]
        scores[f"u{k}"] = [(a * ms, (a + 20) * ms, rng.randrange(9) / 8) for a in range(0, 300, 20)]
        durations[f"u{k}"] = 300 * ms
    rules = {"collar": 0.017, "collar_edges": "all"}
    entries = brute_force.range_entries(labels, durations, scores, 0.02, "bonafide", **rules)
    seconds = {name: [(a / 1e9, b / 1e9, value) for a, b, value in rows] for name, rows in labels.items()}
    references = ss.References.from_ranges(seconds, {name: one / 1e9 for name, one in durations.items()})
    frames = {name: [value for _, _, value in rows] for name, rows in scores.items()}
    mass = ss.overlay(references, ss.Scores.from_frames(frames, hop=0.02, higher="bonafide"), **rules)
    wanted = {}
    for score, bona_fide, spoof in entries:
        row = wanted.setdefault(score, [0, 0])
        row[0] += bona_fide
        row[1] += spoof
    found = {}
    for score, bona_fide, spoof in zip(mass.scores.tolist(), mass.bona_fide.tolist(), mass.spoof.tolist(), strict=True):
        row = found.setdefault(score, [0, 0])
        row[0] += bona_fide
        row[1] += spoof
    assert {score: row for score, row in found.items() if any(row)} == {s: row for s, row in wanted.items() if any(row)}


def test_the_psynd_iou_is_that_of_both_classes_and_a_function_of_the_accuracy(demo):
    for basis, at in (("range", ""), ("point", "@20ms"), ("utterance", "")):
        names = [f"{basis}-{name}{at}" for name in ("iou-psynd", "accuracy")]
        psynd, accuracy = (ss.evaluate(*demo, names, threshold=0.4)[name] for name in names)
        assert psynd.exact_value == accuracy.exact_value / (2 - accuracy.exact_value)
        point = psynd.point
        tp, fp, fn, tn = (
            Fraction(getattr(point, cell))
            for cell in ("true_positive", "false_positive", "false_negative", "true_negative")
        )
        in_both, in_either = tp + tn, (tp + fp + fn) + (tn + fn + fp)  # of spoof, then of bona fide
        assert psynd.exact_value == in_both / in_either
    assert Fraction(1, 2) / (2 - Fraction(1, 2)) == Fraction(1, 3)  # the chance level that the paper gives


def test_a_cost_at_a_threshold_has_parameters_a_constraint_and_no_negative_weight(demo):
    found = ss.evaluate(*demo, ["range-dcf@p_spoof=0.5", "range-hter", "range-dcf@fpr=0.01@p_spoof=0.5"])
    assert found["range-dcf@p_spoof=0.5"].exact_value == found["range-hter"].exact_value
    limited = found["range-dcf@fpr=0.01@p_spoof=0.5"]
    assert limited.measure == "range-dcf@fpr=0.01@p_spoof=0.5,cost_miss=1,cost_false_alarm=1"
    assert limited.false_positive_rate <= 0.01
    least = ss.evaluate(*demo, ["range-fnr@fpr=0.01"])["range-fnr@fpr=0.01"]
    assert limited.value <= float(least.point.exact_false_positive_rate + least.exact_value) / 2
    with pytest.raises(ss.UsageError, match="p_spoof must lie in"):
        ss.evaluate(*demo, ["range-dcf@p_spoof=1.5"])
    mean = ss.evaluate(*demo, ["range-dcf-macro@p_spoof=0.5", "range-hter-macro"])
    assert mean["range-dcf-macro@p_spoof=0.5"].value == pytest.approx(mean["range-hter-macro"].value, abs=1e-15)
