"""The reference implementation, which defines our EERs, and the fast functions are equal to the last digit."""

import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import spoofspan as ss
from spoofspan import reference

pytestmark = pytest.mark.quick


def random_corpus(rng):
    """Labels that cover each utterance, and scores with ties that stop early, on time or up to two frames late."""
    hop = rng.choice([0.01, 0.02, 1 / 30, 0.064])
    labels, scores = {}, {}
    for i in range(rng.randint(1, 4)):
        edges = sorted(rng.sample(range(1, 400), rng.randint(1, 5)))
        classes = [rng.choice(["bonafide", "spoof"]) for _ in edges]
        starts = [0, *edges[:-1]]
        labels[f"u{i}"] = [
            (start / 1000, end / 1000, label) for start, end, label in zip(starts, edges, classes, strict=True)
        ]
        frames = max(1, round(edges[-1] / 1000 / hop) + rng.choice([-1, 0, 1]))
        while frames * hop < edges[-1] / 1000 - hop - 0.025:
            frames += 1
        scores[f"u{i}"] = [rng.choice([-1.5, -0.25, 0.0, 0.5, 0.75, rng.gauss(0, 1)]) for _ in range(frames)]
    return labels, scores, hop


def in_package(labels, scores, hop):
    return (
        ss.References.from_ranges(labels, durations={utt: ranges[-1][1] for utt, ranges in labels.items()}),
        ss.Scores.from_frames({utt: np.array(one) for utt, one in scores.items()}, hop=hop, higher="bonafide"),
    )


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
@pytest.mark.parametrize("seed", range(60))
def test_the_fast_functions_are_what_the_reference_defines(seed):
    rng = random.Random(seed)
    labels, scores, hop = random_corpus(rng)
    resolution = rng.choice([0.01, 0.02, 0.05, 0.1])
    given = in_package(labels, scores, hop)
    pairs = {
        "range": (lambda: reference.range_eer(labels, scores, hop), lambda: ss.range_eer(*given)),
        "point": (
            lambda: reference.point_eer(labels, scores, hop, resolution),
            lambda: ss.point_eer(*given, resolution),
        ),
        "utterance": (lambda: reference.utterance_eer(labels, scores, hop), lambda: ss.utterance_eer(*given)),
    }
    for name, (defined, measured) in pairs.items():
        try:
            wanted = defined()
        except ValueError:
            with pytest.raises(ss.UndefinedMeasureError):
                measured()
            continue
        found = measured()
        assert found.exact_value == wanted.value, name
        assert found.threshold == wanted.threshold, name
        assert found.point.exact_false_positive_rate == wanted.false_positive_rate, name
        assert found.point.exact_false_negative_rate == wanted.false_negative_rate, name


def test_the_reference_agrees_with_a_count_by_hand():
    labels = {"u1": [(0.0, 0.045, "bonafide"), (0.045, 0.088, "spoof"), (0.088, 0.12, "bonafide")]}
    scores = {"u1": [0.9, 0.8, 0.3, -0.2, 0.1, 0.7]}
    found = reference.range_eer(labels, scores, hop=0.02)
    # at 0.3: 12 of 77 ms of bona fide time are called spoof, 15 of 43 ms of spoof bona fide
    assert found == (Fraction(12 * 43 + 15 * 77, 2 * 77 * 43), 0.3, Fraction(12, 77), Fraction(15, 43))


@pytest.mark.parametrize(
    ("labels", "scores", "said"),
    [
        ([(0.0, 0.04, "bonafide"), (0.05, 0.08, "spoof")], [1.0] * 4, "without gaps"),
        ([(0.0, 0.04, "bonafide"), (0.04, 0.2, "spoof")], [1.0] * 4, "scores last 0.080 s, the utterance 0.200 s"),
        ([(0.0, 0.04, "bonafide"), (0.04, 0.08, "spoof")], [1.0] * 7, "scores last 0.140 s, the utterance 0.080 s"),
        ([(0.0, 0.08, "bonafide")], [1.0] * 4, "needs bona fide and spoofed speech"),
    ],
)
def test_what_the_default_rules_refuse_is_refused(labels, scores, said):
    with pytest.raises(ValueError, match=said):
        reference.range_eer({"u1": labels}, {"u1": scores}, hop=0.02)


def test_the_reference_is_short_and_stands_alone():
    source = Path(reference.__file__).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 110
    assert "numpy" not in source
    assert "from spoofspan" not in source
