"""The histograms find every step of any mass: against a loop over sorted Python numbers, in blocks made by hand."""

import math
import random
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from listed_blocks import ListedPart, block_of, check_every_step, find_step

import spoofspan as ss
import spoofspan.measures.histogram
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.eer import Step, crossing, next_score

# the smallest and largest, neighbours that differ in the last bit only, and both zeros
EXTREMES = {
    "float16": [0.0, -0.0, 6e-8, -6e-8, 1.0, 1.001, -1.0, -1.001, 65504.0, -65504.0, math.inf, -math.inf],
    "float32": [0.0, -0.0, 1e-45, -1e-45, 1.0, 1.0000001, -1.0, -1.0000001, 3.4e38, -3.4e38, math.inf, -math.inf],
    "float64": [
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        1.0,
        1.0 + 2**-52,
        -1.0,
        -1.0 - 2**-52,
        1.7e308,
        -1.7e308,
        math.inf,
        -math.inf,
    ],
}


@pytest.mark.parametrize("dtype", EXTREMES)
def test_extreme_scores_are_told_apart(dtype):
    scores = np.array(EXTREMES[dtype], dtype)
    assert len(set(scores.tolist())) == 11
    check_every_step([block_of(scores, "bsbsbsbsbsbs", 7)], dtype)
    check_every_step([block_of(scores, "sbsbsbsbsbsb", np.arange(1, 13))], dtype)


@pytest.mark.parametrize("dtype", EXTREMES)
def test_any_blocks_are_counted(dtype):
    """One amount for all or one for each, the same as in the block before or not, with exceptions or without."""
    rng = random.Random(dtype)
    for _ in range(5):
        blocks = []
        for _ in range(rng.randrange(1, 7)):
            size = rng.randrange(0, 9)
            scores = np.array([rng.choice((-0.5, 0.25, 1 / 3, rng.gauss(0, 1))) for _ in range(size)], dtype)
            amounts = rng.choice((1, 3, 10**7, np.array([rng.randrange(4) for _ in range(size)], np.int64)))
            classes = [rng.choice("bs-") for _ in range(size)]
            exceptions = []
            for _ in range(rng.randrange(3) if size and isinstance(amounts, int) else 0):
                # a part of a row goes from its class to the other one, a part of that again to neither
                row, part = rng.randrange(size), rng.randrange(1, amounts + 1) // 3
                back = {"b": (-part, part - part // 2), "s": (part - part // 2, -part), "-": (part, part // 2)}
                exceptions.append((row, *back[classes[row]]))
            blocks.append(block_of(scores, classes, amounts, exceptions))
        check_every_step(blocks, dtype)


@pytest.mark.parametrize("dtype", EXTREMES)
@pytest.mark.parametrize("amount", [1, 2**40 + 1, 2**53 - 1, 2**57 + 1])
@pytest.mark.parametrize("heavy", [3, 4])  # bona fide, spoof
def test_many_scores_with_amounts_of_their_own_are_summed_exactly(dtype, amount, heavy):
    """Ties of 20 scores among so many rows that they are counted in doubles, where doubles are exact."""
    count = 5000
    scores = np.array([(-1) ** i * (i % 250) / 64 for i in range(count)], dtype)
    amounts = np.full(count, 1, np.int64)
    amounts[heavy] = amount
    classes = ["bs"[i % 3 % 2] for i in range(count)]
    blocks = [block_of(scores, classes, amounts), block_of(scores[::-1].copy(), classes, amounts)]
    check_every_step(blocks, dtype)


@pytest.mark.parametrize("one_amount", [True, False])
def test_sums_beyond_int64_are_exact(one_amount):
    """Seven blocks of about 2**61, which pass 2**63 together."""
    scores = np.array([0.25, -1.0, 0.25, 3.0])
    blocks = []
    for i in range(7):
        amount = 2**59 + i
        amounts = amount if one_amount else np.array([amount, amount - 1, 1, amount])
        blocks.append(block_of(scores, "bbsb", amounts, [(1, -5, 5)]))
    check_every_step(blocks, "float64")


@pytest.mark.parametrize("letter", "bs")
@pytest.mark.parametrize("one_amount", [True, False])
def test_ties_beyond_int64_are_exact(letter, one_amount):
    """Each block is nearly as heavy as a block may be, and all of it lies under one score, or nearly all."""
    for scores in (np.full(4, 0.25), np.array([0.25, 0.25, 0.25 + 2**-50, 0.25])):
        amount = 2**60 - 1
        amounts = amount if one_amount else np.full(4, amount)
        check_every_step([block_of(scores, 4 * letter, amounts) for _ in range(9)], "float64")


@pytest.mark.parametrize("before", [2**62 - 11, 2**62 - 10, 2**62 - 9])
def test_sums_next_to_the_limit_are_exact(before):
    scores = np.array([0.5, 0.5, -0.5])
    blocks = [
        block_of(scores, "bs-", np.array([before - 3, 3, 9])),
        block_of(scores, "bsb", np.array([4, 3, 3])),
        block_of(scores, "bbs", np.array([2**61, 2**60, 2**60])),
        block_of(scores, "bbs", 2**60),
    ]
    check_every_step(blocks, "float64")


def test_a_step_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Step(0.5, 0, 0, 1, 1, None).score = 0.6


def test_without_counted_amounts_nothing_is_reached():
    for blocks in (
        [block_of(np.zeros(0), "", 1)],
        [block_of(np.array([1.0, 2.0]), "--", 1)],
        [block_of(np.array([1.0]), "b", 5, [(0, -5, 0)])],
    ):
        mass = ScoreMass((ListedPart(blocks, np.dtype(np.float64)),), "bonafide")
        assert find_step(mass, lambda bona_fide, spoof: True) is None
        assert next_score(mass, -math.inf) is None


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_weighted_corpora_of_many_frames_need_no_guess(dtype):
    values = np.random.default_rng(4).normal(size=6000).astype(dtype)
    values[:3600] += dtype(1)
    references = ss.References.from_ranges({"u": [(0.0, 72.0, "bonafide"), (72.0, 120.0, "spoof")]})
    scores = ss.Scores.from_frames({"u": values}, hop=0.02, higher="bonafide")
    mass = ss.overlay(references, scores)
    expected = crossing(mass)
    weighted = crossing(mass.reweight([3]), guess=False)
    assert weighted.nearest.threshold == expected.nearest.threshold
    assert weighted.nearest.false_positive == 3 * expected.nearest.false_positive
    # by hand: the rates on both sides of the threshold
    bona_fide, spoof = np.sort(values[:3600].astype(np.float64)), np.sort(values[3600:].astype(np.float64))
    differences = {
        float(tau): abs(int((bona_fide < tau).sum()) * 2400 - int((spoof >= tau).sum()) * 3600)
        for tau in np.unique(values.astype(np.float64))
    }
    assert differences[weighted.nearest.threshold] == min(differences.values())
