"""Flags as bits, of rows and of stretches, against lists of Python booleans."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoofspan.base.bits import Bits
from spoofspan.data.references import BONA_FIDE, NONSPEECH, SPOOF
from spoofspan.mass.labelling import IGNORED
from spoofspan.mass.score_mass import MassBlock
from spoofspan.mass.stretches import Stretches

pytestmark = pytest.mark.quick

# some stretches are empty, some end where a word does, some are longer than a word
LENGTHS = st.integers(0, 3) | st.sampled_from([31, 32, 33, 64]) | st.integers(0, 200)
STRETCHES = st.lists(st.tuples(LENGTHS, st.sampled_from([BONA_FIDE, SPOOF, NONSPEECH, IGNORED])), max_size=20)


def stretches_of(listed):
    ends = np.cumsum([length for length, _ in listed], dtype=np.int64)
    return Stretches(ends, np.array([label for _, label in listed], np.int8))


def rows_of(listed):
    return [label for length, label in listed for _ in range(length)]


@given(STRETCHES, st.integers(0, 2**32))
def test_bits_of_stretches_are_those_of_their_rows(listed, seed):
    stretches, rows = stretches_of(listed), rows_of(listed)
    assert stretches.of_rows().tolist() == rows
    chosen = np.random.default_rng(seed).random(len(rows)) < 0.5
    for label in (BONA_FIDE, SPOOF, NONSPEECH, IGNORED):
        bits, flags = stretches.where(label), [row == label for row in rows]
        assert bits.words.tolist() == Bits.of(np.array(flags, bool)).words.tolist()
        assert bits.at(np.arange(len(rows))).tolist() == flags
        assert bits.count() == sum(flags)
        assert (bits & Bits.of(chosen)).count() == sum(a and b for a, b in zip(flags, chosen.tolist(), strict=True))


def test_rows_of_a_third_label_keep_it():
    for label in (NONSPEECH, IGNORED):
        assert stretches_of([(3, BONA_FIDE), (2, label), (1, SPOOF)]).of_rows().tolist() == [0, 0, 0, label, label, 1]


def test_every_row_has_a_bit_of_its_own():
    for count in (1, 31, 32, 33, 64, 65):
        for row in range(count):
            flags = np.arange(count) == row
            assert [i for i in range(count) if Bits.of(flags).words[i // 32] >> (i % 32) & 1] == [row]


@given(STRETCHES, st.integers(0, 2**32))
def test_a_block_of_stretches_is_a_block_of_their_rows(listed, seed):
    rng = np.random.default_rng(seed)
    stretches, rows = stretches_of(listed), np.array(rows_of(listed), np.int8)
    scores, chosen = rng.normal(size=rows.size), rng.random(rows.size) < 0.5
    odd = rng.integers(0, rows.size, 5 if rows.size else 0)
    more = rng.integers(0, 9, (2, odd.size))
    two_classes = not {NONSPEECH, IGNORED} & set(rows.tolist())
    for amounts in (7, rng.integers(1, 9, rows.size)):
        blocks = [
            MassBlock(scores, labels, amounts, odd, *more, two_classes=two_classes) for labels in (stretches, rows)
        ]
        blocks.append(MassBlock(scores, rows, amounts, odd, *more))
        told = [
            (
                block.sums(),
                block.sums(chosen),
                [column.tolist() for column in block.columns_of(chosen)],
                block.bona_fide.tolist(),
                block.spoof.tolist(),
            )
            for block in blocks
        ]
        assert told[0] == told[1] == told[2]
        both = [block.columns_of(np.ones(rows.size, bool)) for block in blocks]
        assert all(column[1].tolist() == blocks[0].bona_fide.tolist() for column in both)
        assert all(column[2].tolist() == blocks[0].spoof.tolist() for column in both)
