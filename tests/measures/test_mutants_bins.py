"""What the bins of a histogram hold, carry and hand over, in whole numbers added up by hand."""

import itertools
import pickle
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest
from listed_blocks import ListedPart, block_of, check_every_step, find_step

import spoofspan as ss
from spoofspan.mass.score_mass import MassBlock, ScoreMass
from spoofspan.measures.eer import Step, next_score
from spoofspan.measures.histogram import BINS, BinIndex, Histogram, fill

pytestmark = pytest.mark.quick


KIND = np.dtype(np.float64)


def histogram_with(amounts):
    """A histogram of given sums {(column, bin): amount}."""
    histogram = Histogram(KIND)
    sums = np.zeros((2, BINS), object if any(one >= 2**63 for one in amounts.values()) else np.int64)
    for place, amount in amounts.items():
        sums[place] = amount
    histogram.add_sums(sums)
    return histogram


@pytest.mark.parametrize(
    "amounts",
    [
        {},
        {(0, 0): 7, (1, 3): 1, (0, 3): 2**33 + 5, (1, 65535): 9},
        {(0, 0): 2**60 + 7, (1, 2): 3 * 2**60, (0, 65535): 2**61, (1, 40000): 2**90 + 2**31 - 1},
        {(1, 9): 2**60},
        {(1, 9): 2**62},
    ],
)
def test_sums_travel_as_bytes(amounts):
    histogram = histogram_with(amounts)
    received = Histogram(KIND)
    received.add_bytes(histogram.to_bytes())
    for again in (received, pickle.loads(pickle.dumps(histogram))):
        assert again.sums.tolist() == histogram.sums.tolist()
        assert again.totals() == tuple(
            sum(amount for (column, _), amount in amounts.items() if column == one) for one in (0, 1)
        )
    # a bit for each bin, 16 bytes for each that is not empty, and 8 more where an int64 is too small
    filled, wide = len({place for _, place in amounts}), max(amounts.values(), default=0) >= 2**62
    wide = wide or sum(amounts.values()) >= 2**62
    assert len(histogram.to_bytes()) == BINS // 8 + filled * (24 if wide else 16)


def test_sums_made_elsewhere_add_up_past_an_int64():
    """Each is far below 2**62, and so is every bin; together they are not."""
    wide = histogram_with({(0, one): 2**61 + one for one in range(8)})
    assert wide.totals() == (8 * 2**61 + 28, 0)
    # cumulated, they must not wrap around either
    assert [int(one) for one in np.cumsum(wide.steps()[0])][-1] == 8 * 2**61 + 28
    deep = Histogram(KIND)
    for _ in range(9):
        deep.merge(histogram_with({(0, 5): 2**61 + 1, (1, 5): 3, (1, 6): 2**61 - 1}))
    assert deep.steps().tolist() == [[9 * 2**61 + 9, 0], [27, 9 * 2**61 - 9]]
    assert deep.totals() == (9 * 2**61 + 9, 27 + 9 * 2**61 - 9)


def test_halves_of_a_total_cannot_overflow():
    """In all bins together the low halves alone pass 2**32, and the high ones 2**31."""
    sums = np.full((2, BINS), 2**61 - 1)
    sums[1] -= 2**40
    histogram = Histogram(KIND)
    histogram.add_sums(sums)
    assert histogram.totals() == (BINS * (2**61 - 1), BINS * (2**61 - 1 - 2**40))


def test_chosen_rows_add_up_past_an_int64():
    """What a further pass picks out of its blocks."""
    scores = np.array([1.0, 1.0 + 2**-15, 3.0])
    block = block_of(scores, "bsb", np.array([2**60, 2**61 - 1, 5]), [(0, -1, 1)])
    first = histogram_of(mass_of(*[block] * 9))
    further = histogram_of(mass_of(*[block] * 9), first.find(lambda bona_fide, spoof: bona_fide >= 1))
    assert further.steps().tolist() == [[9 * 2**60 - 9, 0], [9, 9 * 2**61 - 9]]


# ---------------------------------------------------------------- places, and merging what shards have seen


def histogram_of(mass, place=None):
    return fill(Histogram(mass.dtype, BinIndex() if place is None else place), mass)


def mass_of(*blocks):
    return ScoreMass((ListedPart(list(blocks), blocks[0].scores.dtype),), "bonafide")


def test_an_empty_histogram_looks_at_everything():
    assert BinIndex() == BinIndex(0, (-(2**63), 2**63 - 1), (0, 0), None, None, None)
    empty = Histogram(np.dtype(np.float32))
    assert (empty.index, empty.undecided, empty.lowest_following, empty.totals()) == (BinIndex(), (0, 0), None, (0, 0))
    with pytest.raises(FrozenInstanceError):
        empty.index.level = 1
    # two that have seen different things are never called equal
    assert empty != Histogram(empty.dtype, empty.index)


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
    assert first.totals() == (1, 1)


@dataclass
class PartElsewhere(ListedPart):
    """A part that is counted by somebody else, in an empty histogram of its own."""

    def counted(self, histogram):
        assert histogram.totals() == (0, 0)
        for block in self.listed:
            histogram.add(block)
        return histogram


def test_parts_that_count_themselves_are_merged():
    here, elsewhere = block_of(np.array([1.0, 3.0]), "bs", 1), block_of(np.array([2.0, 3.0]), "sb", 2)
    kind = here.scores.dtype
    mass = ScoreMass((ListedPart([here], kind), PartElsewhere([elsewhere], kind), ListedPart([here], kind)), "bonafide")
    assert histogram_of(mass).totals() == (4, 4)
    assert find_step(mass, lambda bona_fide, spoof: spoof >= 1) == Step(2.0, 2, 0, 0, 2, 3.0)
