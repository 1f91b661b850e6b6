"""Claims about the guess at the crossing that mutation testing found unguarded (see tools/mutation/README.md)."""

import dataclasses
import random

import numpy as np
import pytest
from outcomes import build
from random_corpora import random_case
from small_corpora import TWO, TWO_SCORES, frames_of, references_of

import spoofspan as ss
import spoofspan.measures.eer
import spoofspan.measures.histogram
from spoofspan.data.scores import score_times
from spoofspan.measures.eer import crossing

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")


def test_a_wrong_guess_changes_nothing(monkeypatch):
    """Brackets beside the crossing, on it, and around it; FPR and FNR may be equal at a threshold, or not."""
    rng = np.random.default_rng(5)
    corpora = [(TWO, TWO_SCORES)]
    for _ in range(6):
        edges = np.sort(rng.choice(np.arange(1, 12), 3, replace=False)) * 10
        labels = [(int(edge), "bsbs"[i]) for i, edge in enumerate([*edges, 120])]
        corpora.append((references_of(labels), frames_of(rng.permutation(6))))
    for references, scores in corpora:
        mass = ss.overlay(references, scores)
        expected = crossing(mass, guess=False)
        distinct = sorted(set(mass.scores.tolist()))
        for i, low in enumerate(distinct):
            for top in distinct[i:]:
                monkeypatch.setattr(spoofspan.measures.eer, "bracket", lambda sample, low=low, top=top: (low, top))
                assert crossing(mass) == expected


def test_ties_beyond_int64_at_the_ends_of_a_bracket_are_exact(monkeypatch):
    """Under 0.25 and 0.75 lie 2**60 ns, under 0.5 lie 9 * 2**60 of each class."""
    long = 2**60
    ids = [f"u{i:02}" for i in range(20)]
    offsets = np.arange(21)
    references = ss.References.from_columns(ids, [long] * 20, offsets, [0] * 20, [long] * 20, offsets[:20] % 2 == 1)
    values = [0.75, *[0.5] * 18, 0.25]
    scores = ss.Scores.from_columns(ids, offsets, values, starts=[0] * 20, ends=[long] * 20, higher="bonafide")
    mass = ss.overlay(references, scores)
    for low, top in ((0.25, 0.25), (0.25, 0.5), (0.25, 0.75), (0.5, 0.5), (0.5, 0.75)):
        monkeypatch.setattr(spoofspan.measures.eer, "bracket", lambda sample, ends=(low, top): ends)
        found = crossing(mass)
        assert (found.before.threshold, found.after.threshold) == (0.5, 0.75)
        assert (found.before.false_positive, found.before.false_negative) == (0, 9 * long)
        assert (found.after.false_positive, found.after.false_negative) == (9 * long, 0)


def test_a_guess_of_equal_rates_below_the_bracket_is_wrong(monkeypatch):
    """FPR = FNR = 1/2 at 2.0; a bracket that starts there does not hold the crossing."""
    mass = ss.overlay(references_of([(40, "b"), (80, "s")]), frames_of([0.0, 3.0, 1.0, 2.0]))
    expected = crossing(mass, guess=False)
    assert (expected.before.threshold, expected.after.threshold) == (1.0, 2.0)
    assert expected.after.gap == 0.0
    monkeypatch.setattr(spoofspan.measures.eer, "bracket", lambda sample: (2.0, 3.0))
    assert crossing(mass) == expected


def test_a_guess_that_gathers_too_much_is_given_up(monkeypatch):
    values = np.random.default_rng(1).normal(size=4000)
    labels = [(40_000, "b"), (80_000, "s")]
    mass = ss.overlay(references_of(labels), frames_of(values))
    expected = crossing(mass, guess=False)
    monkeypatch.setattr(spoofspan.measures.eer, "bracket", lambda sample: (values.min(), values.max()))
    monkeypatch.setattr(spoofspan.measures.eer, "SAMPLE", 10)
    monkeypatch.setattr(spoofspan.measures.eer, "step_inside", None)  # would be called if it were not given up
    assert crossing(mass) == expected


@pytest.mark.parametrize("distinct", [1, 2, 3, 9])
def test_few_distinct_scores_take_one_pass(monkeypatch, distinct):
    """The score after the crossing is found in the pass that finds the crossing, and so is that there is none."""
    references, scores = normal_corpus("spoof")
    values = np.rint(np.clip(scores.values, -2, 2) * (distinct - 1) / 4)
    mass = ss.overlay(references, dataclasses.replace(scores, values=values))
    expected = crossing(mass, guess=False)
    monkeypatch.setattr(spoofspan.measures.eer, "next_score", None)  # would be called for another pass
    monkeypatch.setattr(spoofspan.measures.histogram, "fill", None)
    assert crossing(mass) == expected


def test_without_a_guess_the_crossing_is_the_same():
    for seed in range(41_000, 41_060):
        case = random_case(random.Random(seed))
        try:
            references, scores = build(case)
            mass = ss.overlay(references, scores, **case.rules)
            expected = crossing(mass)
        except ss.SpoofspanError:
            continue
        assert crossing(mass, guess=False) == expected


def normal_corpus(higher):
    """100 utterances of 1 to 4 s, two fifths of them spoofed; two normal distributions, two deviations apart."""
    rng = np.random.default_rng(8)
    labels, frames = [], []
    for _ in range(100):
        count = int(rng.integers(50, 200))
        edge = int(count * rng.uniform(0.2, 0.9))
        labels.append([(20 * edge - 7, "s"), (20 * count, "b")] if rng.random() < 0.4 else [(20 * count, "b")])
        spoofed = (np.arange(count) < edge) & (len(labels[-1]) == 2)
        frames.append((rng.normal(size=count) - 2 * spoofed) * (1 if higher == "bonafide" else -1))
    return references_of(*labels), frames_of(*frames, higher=higher)


@pytest.mark.parametrize("kind", ["frames", "ranges", "weighted", "bucketed", "two parts"])
@pytest.mark.parametrize(
    ("resolution", "higher"),
    [(None, "bonafide"), (None, "spoof"), (0.02, "bonafide"), (0.01, "spoof"), (0.07, "bonafide"), (1 / 30, "spoof")],
)
def test_the_guess_is_near_enough_for_one_pass(monkeypatch, higher, kind, resolution):
    """A sample of a tenth suggests a bracket that holds the crossing and few other scores."""
    references, scores = normal_corpus(higher)
    if kind == "ranges":
        starts, ends = score_times(scores)
        scores = ss.Scores.from_columns(
            scores.utterances, scores.offsets, scores.values, starts=starts, ends=ends, higher=higher
        )
    for label in ["any"] if resolution is None else ["any", "majority", "rounded"]:
        mass = ss.overlay(references, scores)
        if resolution is not None:
            mass = ss.point_mass(references, scores, resolution, label=label)
        if kind == "weighted":
            mass = mass.reweight([(7 * i) % 5 for i in range(100)])
        if kind == "two parts":
            mass = mass.select(mass.utterances[:9]) + mass.select(mass.utterances[9:])
        if kind == "bucketed":
            mass = dataclasses.replace(
                mass, parts=(spoofspan.measures.eer.BucketedPart(mass.parts[0], -9.0, 9.0, 10**5),)
            )
        expected = crossing(mass, guess=False)
        rows = sum(block.scores.size for block in mass.blocks())
        with monkeypatch.context() as patch:
            patch.setattr(spoofspan.measures.eer, "SAMPLE", rows // 10)
            ends = spoofspan.measures.eer.bracket(mass.sample(rows // 10))
            low, top = ends[0], ends[-1]
            inside = sum(int(((block.scores >= low) & (block.scores <= top)).sum()) for block in mass.blocks())
            assert inside < rows // 4
            patch.setattr(spoofspan.measures.histogram, "fill", None)  # would be called if the guess were wrong
            assert crossing(mass) == expected
