"""What the bins of a histogram hold, carry and hand over, in whole numbers added up by hand."""

import itertools
import pickle
import struct
from collections import defaultdict
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest
from listed_blocks import ListedPart, block_of, check_every_step, find_step

import spoofspan as ss
from spoofspan.mass.score_mass import MassBlock, ScoreMass
from spoofspan.measures.eer import Step, next_score
from spoofspan.measures.histogram import BINS, BinIndex, Bins, Histogram, fill

pytestmark = pytest.mark.quick


def bins_of(amounts, carries=None):
    """Bins of given sums {(column, bin): amount}, and of what they carried."""
    sums = np.zeros((2, BINS), np.int64)
    for place, amount in amounts.items():
        sums[place] = amount
    carried = None if carries is None else np.zeros((2, BINS), np.int32)
    for place, count in (carries or {}).items():
        carried[place] = count
    bins = Bins()
    bins.add_sums(sums, carried)
    return bins


def amounts_in(bins):
    """What is in each bin that is not empty, as whole numbers."""
    filled, columns = bins.filled(np.arange(BINS))
    return {int(one): (int(columns[0][i]), int(columns[1][i])) for i, one in enumerate(filled)}


@pytest.mark.parametrize(
    ("amounts", "carries"),
    [
        ({}, None),
        ({(0, 0): 7, (1, 3): 1, (0, 3): 2**33 + 5, (1, 65535): 9}, None),
        ({(0, 0): 7, (1, 3): 1, (0, 40000): 1}, {(0, 0): 1, (1, 2): 3, (0, 65535): 2, (1, 40000): 2**31 - 1}),
        ({}, {(1, 9): 1}),
    ],
)
def test_bins_travel_as_bytes(amounts, carries):
    """Two numbers of 8 bytes, the filled bins, bona fide, spoof, and what both carried (units of 2**60)."""
    expected = defaultdict(lambda: [0, 0])
    for listed, unit in ((amounts, 1), (carries or {}, 2**60)):
        for (column, one), count in listed.items():
            expected[one][column] += count * unit
    expected = {one: tuple(expected[one]) for one in sorted(expected)}
    count = len(expected)
    packed = struct.pack(f"<qq{count}H", count, carries is not None, *expected)
    for column in (0, 1):
        packed += struct.pack(f"<{count}q", *(amounts.get((column, one), 0) for one in expected))
    for column in (0, 1) if carries is not None else ():
        packed += struct.pack(f"<{count}i", *(carries.get((column, one), 0) for one in expected))
    bins = bins_of(amounts, carries)
    assert bins.to_bytes() == packed
    for again in (bins, Bins.from_bytes(packed), pickle.loads(pickle.dumps(bins))):
        assert amounts_in(again) == expected
        assert again.total() == tuple(sum(both[column] for both in expected.values()) for column in (0, 1))
        # 65,536 bins of both classes, 8 bytes each, and 4 for what they carried
        assert again.nbytes == 2 * 65536 * (8 if carries is None else 12)


def test_sums_made_elsewhere_add_up_past_an_int64():
    """Each is far below 2**62, and so is every bin; together they are not."""
    wide = bins_of({(0, one): 2**61 + one for one in range(8)})
    assert wide.total() == (8 * 2**61 + 28, 0)
    assert amounts_in(wide) == {one: (2**61 + one, 0) for one in range(8)}
    # cumulated, they must not wrap around either
    _, columns = wide.filled(np.arange(BINS))
    assert [int(one) for one in np.cumsum(columns[0])][-1] == 8 * 2**61 + 28
    deep = Bins()
    for _ in range(9):
        deep.add_sums(*bins_of({(0, 5): 2**61 + 1, (1, 5): 3, (1, 6): 2**61 - 1}).parts())
    assert amounts_in(deep) == {5: (9 * 2**61 + 9, 27), 6: (0, 9 * 2**61 - 9)}
    assert deep.total() == (9 * 2**61 + 9, 27 + 9 * 2**61 - 9)


def test_halves_of_a_total_cannot_overflow():
    """In all bins together the low halves alone pass 2**32, and the high ones 2**31."""
    sums = np.full((2, BINS), 2**61 - 1)
    sums[1] -= 2**40
    bins = Bins()
    bins.add_sums(sums)
    assert bins.total() == (BINS * (2**61 - 1), BINS * (2**61 - 1 - 2**40))


@pytest.mark.parametrize("column", [0, 1])
def test_no_bin_carries_2_to_the_31_times(column):
    bins = bins_of({}, {(column, 3): 2**31 - 2, (1 - column, 3): 5})
    bins.add_sums(*bins_of({}, {(column, 3): 1}).parts())
    assert bins.total()[column] == (2**31 - 1) << 60
    with pytest.raises(ss.UsageError, match="smaller weights"):
        bins.add_sums(*bins_of({}, {(column, 3): 1}).parts())


def test_chosen_rows_add_up_past_an_int64():
    """What a further pass picks out of its blocks."""
    bins, scores = Bins(), np.array([1.0, 2.0, 3.0])
    for _ in range(9):
        block = block_of(scores, "bsb", np.array([2**60, 2**61 - 1, 5]), [(0, -1, 1)])
        _, bona_fide, spoof = block.columns_of(np.array([True, True, False]))
        bins.add_rows(np.array([8, 9], np.uint64), bona_fide, spoof)
    assert amounts_in(bins) == {8: (9 * 2**60 - 9, 9), 9: (0, 9 * 2**61 - 9)}


# ---------------------------------------------------------------- places, and merging what shards have seen


def histogram_of(mass, place=None):
    return fill(Histogram(mass.dtype, BinIndex() if place is None else place), mass)


def mass_of(*blocks):
    return ScoreMass((ListedPart(list(blocks), blocks[0].scores.dtype),), "bonafide")


def test_an_empty_histogram_looks_at_everything():
    assert BinIndex() == BinIndex(0, 0, (0, 0), None, None, 0, None)
    empty = Histogram(np.dtype(np.float32))
    assert (empty.index, empty.undecided, empty.lowest_following, empty.sums()) == (BinIndex(), (0, 0), None, (0, 0))
    with pytest.raises(FrozenInstanceError):
        empty.index.level = 1
    # two that have seen different things are never called equal
    assert empty != Histogram(empty.dtype, empty.index, empty.bins)


def test_undecided_time_adds_up():
    blocks = [
        MassBlock(np.zeros(0), np.zeros(0, np.int8), 1, undecided_bona_fide=bona_fide, undecided_spoof=spoof)
        for bona_fide, spoof in ((3, 50), (10, 700))
    ]
    both = histogram_of(mass_of(*blocks))
    assert both.undecided == (13, 750)
    both.merge(histogram_of(mass_of(blocks[0])))
    assert both.undecided == (16, 800)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_that_share_their_leading_bits_keep_their_order(dtype, sign):
    """Large and small numbers, one bit apart each: all passes have to look inside of the same bin."""
    for around in (3.0, 0.3, 1e30, 1e-30):
        first = np.array([around], dtype).view(f"i{np.dtype(dtype).itemsize}")
        scores = sign * (first + np.arange(5, dtype=first.dtype)).view(dtype)
        check_every_step([block_of(scores, "bsbsb", np.array([5, 1, 3, 2, 4]))], dtype)


def test_the_next_score_may_lie_in_any_shard():
    """The step is at 1; the next score lies in other leading bits, in one or both of the shards."""

    def reached(bona_fide, spoof):
        return bona_fide >= 1

    for others in itertools.permutations((None, 5.1, 4.1, 9.1), 2):
        listed = [[block_of(np.array([1.0, 2.0]), "b-" if i == 0 else "--", 1)] for i in range(2)]
        for i, score in enumerate(others):
            if score is not None:
                # scores without counted time are never the next one, not even with the same leading bits
                scores = np.array([score, np.nextafter(score, 0), 1.5, 9.5, 8.5])
                listed[i].append(block_of(scores, "s---s", 1))
        place = None
        for _ in range(4):
            found = [histogram_of(mass_of(*blocks), place) for blocks in listed]
            found[0].merge(found[1])
            place = found[0].find(reached)
        known = [score for score in others if score is not None]
        assert found[0].step(reached) == Step(1.0, 0, 0, 1, 0, min([*known, 8.5]))


def test_the_next_score_is_found_once():
    """Its 16 leading bits are 5; so are the 32 of a much lower score, at which a later pass must not look."""
    scores = np.array([0x00000005_00000000, 0x0004FFFF_00000000, 0x00050000_00000000], np.int64).view(np.float64)
    found = find_step(mass_of(block_of(scores, "sbs", 1)), lambda bona_fide, spoof: bona_fide >= 1)
    assert found == Step(scores[1], 0, 1, 1, 0, scores[2])


@pytest.mark.parametrize(("bona_fide", "spoof"), [(1, 0), (0, 1), (1, 1)])
def test_one_nanosecond_is_counted_time(bona_fide, spoof):
    scores = np.array([1.0, 2.0, 3.0, 1e9])
    exceptions = [(1, bona_fide, spoof)]
    mass = mass_of(block_of(scores, "b--s", 5, exceptions))
    assert find_step(mass, lambda b, s: b >= 1) == Step(1.0, 0, 0, 5, 0, 2.0)
    assert next_score(mass, 2.0) == 1e9


def test_histograms_of_other_types_or_places_do_not_add():
    mass = mass_of(block_of(np.array([1.0, 2.0], np.float32), "bs", 1))
    first = histogram_of(mass)
    further = histogram_of(mass, first.find(lambda bona_fide, spoof: bona_fide >= 1))
    for other in (further, Histogram(np.dtype(np.float64))):
        with pytest.raises(ss.UsageError, match="do not add"):
            first.merge(other)
    assert first.sums() == (1, 1)


@dataclass
class PartElsewhere(ListedPart):
    """A part that is counted by somebody else, in an empty histogram of its own."""

    def counted(self, histogram):
        assert histogram.sums() == (0, 0)
        for block in self.listed:
            histogram.add(block)
        return histogram


def test_parts_that_count_themselves_are_merged():
    here, elsewhere = block_of(np.array([1.0, 3.0]), "bs", 1), block_of(np.array([2.0, 3.0]), "sb", 2)
    kind = here.scores.dtype
    mass = ScoreMass((ListedPart([here], kind), PartElsewhere([elsewhere], kind), ListedPart([here], kind)), "bonafide")
    assert histogram_of(mass).sums() == (4, 4)
    assert find_step(mass, lambda bona_fide, spoof: spoof >= 1) == Step(2.0, 2, 0, 0, 2, 3.0)
