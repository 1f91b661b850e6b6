"""Bona fide, partially and fully spoofed utterances: against scikit-learn on labels that are made by hand."""

import random

import pytest
from sklearn.metrics import accuracy_score, f1_score

import spoofspan as ss

pytestmark = [pytest.mark.quick, pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")]


def drawn(seed):
    """Spoofed and proposed ranges of utterances of 1 s, in tenths of it."""
    draw = random.Random(seed)

    def ranges():
        kind = draw.choice(["none", "part", "part", "all", "nearly"])
        start = draw.randint(0, 5)
        part = [(start, start + draw.randint(1, 4))]
        return {"none": [], "part": part, "all": [(0, 4), (4, 10)], "nearly": [(0, 9)]}[kind]

    return [(ranges(), ranges()) for _ in range(40)]


def class_of(ranges, full):
    time = sum(end - start for start, end in ranges)
    return 0 if not time else 2 if time >= 10 * full else 1


def sides(rows):
    events = {f"u{i}": [(a / 10, b / 10, "spoof") for a, b in row[0]] for i, row in enumerate(rows)}
    proposals = {f"u{i}": [(a / 10, b / 10, 0.5) for a, b in row[1]] for i, row in enumerate(rows)}
    return ss.References.from_ranges(events, dict.fromkeys(events, 1.0)), ss.Proposals.from_ranges(proposals)


@pytest.mark.parametrize("full", [0.95, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_values_are_those_of_scikit_learn(seed, full):
    rows = drawn(seed)
    true, called = ([class_of(row[side], full) for row in rows] for side in (0, 1))
    names = [f"event-three-class-{name}@full={full:g}" for name in ("accuracy", "f1")]
    found = ss.evaluate(*sides(rows), names, confidence=0.9)
    assert found[names[0]].value == pytest.approx(accuracy_score(true, called), abs=1e-15)
    assert found[names[1]].value == pytest.approx(f1_score(true, called, average="macro"), abs=1e-15)
    assert found[names[1]].parts["partial_called_full"] == sum(
        a == 1 and b == 2 for a, b in zip(true, called, strict=True)
    )
    assert found[names[0]].interval.low < found[names[0]].value < found[names[0]].interval.high


def test_a_class_that_no_utterance_has_is_not_in_the_mean():
    rows = [([], []), ([(0, 3)], [(0, 2)]), ([(0, 3)], [(0, 10)])]
    found = ss.evaluate(*sides(rows), "event-three-class-f1")["event-three-class-f1"]
    assert found.value == pytest.approx((1 + 2 / 3) / 2)
    assert "2 classes: no utterance is full" in found.notes[-1]
    with pytest.raises(ss.UndefinedMeasureError, match="two classes at least"):
        ss.evaluate(*sides(rows[1:]), "event-three-class-f1")
    references = ss.References.from_ranges({"u": [(0.0, 1.0, "spoof")]})
    with pytest.raises(ss.UsageError, match="how long every recording is"):
        ss.evaluate(references, ss.Proposals.from_ranges({"u": [(0.0, 1.0, 0.5)]}), "event-three-class-f1")


def test_a_system_that_abstains_has_a_coverage_and_an_accuracy_of_what_it_answers():
    labels = [(0.0, 2.0, "bonafide"), (2.0, 4.0, "spoof")]
    references = ss.References.from_ranges({"u": labels})
    scores = ss.Scores.from_ranges({"u": [(0.0, 1.0, 0.9), (1.0, 1.5, 0.1), (2.5, 4.0, 0.2)]}, higher="bonafide")
    names = ["range-coverage", "range-answered-accuracy", "range-accuracy", "point-coverage@500ms"]
    found = ss.evaluate(references, scores, names, threshold=0.5, uncovered="unanswered")
    assert [one.value for one in found.measurements.values()] == [3 / 4, 5 / 6, 5 / 8, 3 / 4]
    held = ss.evaluate(references, scores, names[:2], threshold=0.5, uncovered="hold")
    assert held["range-coverage"].value == 1
    assert ss.evaluate(references, scores, "range-answered-accuracy@fpr=0.1", uncovered="unanswered")
