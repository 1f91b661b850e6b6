"""Masses whose blocks are written by hand, and every step of them, found by a loop over sorted Python numbers."""

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from spoofspan.data.references import BONA_FIDE, SPOOF
from spoofspan.mass.labelling import IGNORED
from spoofspan.mass.score_mass import MassBlock, ScoreMass
from spoofspan.measures.eer import Step, next_score
from spoofspan.measures.histogram import Histogram, fill, find_inside


def find_step(mass, reached):
    """The lowest score at whose inclusion ``reached`` becomes true, by histograms alone."""
    return find_inside(fill(Histogram(mass.dtype), mass), mass, reached)


@dataclass
class ListedPart:
    """A part whose blocks are given."""

    listed: list
    dtype: np.dtype
    utterances: tuple = ("u",)

    def blocks(self):
        yield from self.listed


def block_of(scores, classes, amounts, exceptions=()):
    """A block of scores, of classes in letters, and what exceptions (row, bona fide, spoof) add."""
    codes = np.array([{"b": BONA_FIDE, "s": SPOOF, "-": IGNORED}[letter] for letter in classes], np.int8)
    rows, bona_fide, spoof = (np.array([row[i] for row in exceptions], np.int64) for i in range(3))
    return MassBlock(scores, codes, amounts, rows, bona_fide, spoof)


def amounts_by_score(blocks):
    """Bona fide and spoof of every score, by counting one row after the other in Python integers."""
    found = defaultdict(lambda: [0, 0])
    for block in blocks:
        for row, score in enumerate(block.scores.tolist()):
            amount = block.amounts if isinstance(block.amounts, int) else int(block.amounts[row])
            if block.classes[row] in (BONA_FIDE, SPOOF):
                found[score][int(block.classes[row])] += amount
        for row, more in zip(
            block.rows.tolist(), zip(block.more_bona_fide, block.more_spoof, strict=True), strict=True
        ):
            for column in (0, 1):
                found[float(block.scores[row])][column] += int(more[column])
    return sorted((score, *amounts) for score, amounts in found.items() if any(amounts))


def step_by_hand(counted, reached, below=(0, 0)):
    """The first score of a sorted list at whose inclusion a condition becomes true, given what lies below it."""
    for place, (score, bona_fide, spoof) in enumerate(counted):
        called = below[0] + bona_fide, below[1] + spoof
        if reached(*called):
            return Step(score, *below, bona_fide, spoof, counted[place + 1][0] if place + 1 < len(counted) else None)
        below = called
    return None


def check_every_step(blocks, dtype):
    """Ask for each score in turn (or 6 of many), by the amount that is called with it, and one more."""
    mass = ScoreMass((ListedPart(blocks, np.dtype(dtype)),), "bonafide")
    counted = amounts_by_score(blocks)
    cumulated = list(accumulate(bona_fide + spoof for _, bona_fide, spoof in counted))
    asked = sorted({0, *cumulated[:: max(len(cumulated) // 6, 1)], *cumulated[-1:]})
    for amount in [called + more for called in asked for more in (0, 1)]:

        def reached(bona_fide, spoof, amount=amount):
            return bona_fide + spoof >= amount

        found, expected = find_step(mass, reached), step_by_hand(counted, reached)
        assert found == expected
        if expected is not None:
            assert math.copysign(1, found.score) == (1 if expected.score == 0 else math.copysign(1, expected.score))
    for score, *_ in counted[:: max(len(counted) // 6, 1)] + counted[-1:]:
        assert next_score(mass, score) == next((other for other, *_ in counted if other > score), None)
