"""One state for memory, shards, processes and clusters: mergeable, bounded, and exact after its passes."""

import math
import pickle
import random
from fractions import Fraction
from itertools import pairwise

import brute_force
import numpy as np
import pytest
from outcomes import assert_same, build, has_clashing_labels, outcome_of_brute_force
from random_corpora import random_case

import spoofspan as ss
from spoofspan.measures.eer_state import MAGIC
from spoofspan.measures.histogram import code_of, codes_of, first_codes, score_of_code

pytestmark = pytest.mark.quick

CASES, BATCHES = 160, 4
PASSES = {np.float16: 1, np.float32: 2, np.float64: 4}


def in_passes(state, feed):
    """Run all passes; ``feed`` gives a state all data, in whatever pieces. Returns the state of every pass."""
    states = []
    while True:
        feed(state)
        states.append(state)
        if state.is_exact:
            return states
        state = state.next_pass()


def in_shards(mass, rng):
    """Feed a state through several others, as workers would: each sees some utterances, one travels as bytes."""
    utterances = list(mass.utterances)
    rng.shuffle(utterances)
    cuts = sorted({0, len(utterances), *(rng.randrange(len(utterances) + 1) for _ in range(3))})
    shards = [utterances[a:b] for a, b in pairwise(cuts)]

    def feed(state):
        done = []
        for shard in shards:
            worker = state.emptied()
            worker.update(mass.select(shard))
            done.append(ss.EerState.from_bytes(worker.to_bytes()) if rng.random() < 0.5 else worker)
        rng.shuffle(done)
        while len(done) > 1:  # a tree of any shape
            done.append(done.pop(0) + done.pop(0))
        state.merge(done[0])

    return feed


def like(mass):
    return ss.EerState(mass.dtype, higher=mass.higher, unit=mass.unit, uncovered=mass.uncovered, basis=mass.basis)


class Found:
    """An EER of a state, with the names of a measurement."""

    def __init__(self, eer):
        self.exact_value, self.value = eer.value, float(eer.value)
        self.point, self.neighbours = eer.point, eer.neighbours
        self.threshold, self.gap = eer.point.threshold, eer.point.gap
        self.false_positive_rate = eer.point.false_positive_rate
        self.false_negative_rate = eer.point.false_negative_rate


@pytest.mark.quick_cases("0")
@pytest.mark.parametrize("batch", range(BATCHES))
def test_shards_of_random_corpora_equal_the_brute_force_to_the_last_bit(batch):
    measured = 0
    for seed in range(batch * CASES // BATCHES, (batch + 1) * CASES // BATCHES):
        rng = random.Random(70_000 + seed)
        case = random_case(rng)
        if case.eer_rule not in ("nearest", "interpolated") or has_clashing_labels(case):
            continue
        for measure in ("range", "point"):
            expected = outcome_of_brute_force(case, measure)
            if isinstance(expected, str):
                continue
            references, scores = build(case)
            rules = dict(case.rules)
            if measure == "range":
                mass = ss.overlay(references, scores, **rules)
            else:
                rules |= case.point_rules
                mass = ss.point_mass(references, scores, rules.pop("resolution"), **rules)
            states = in_passes(like(mass), in_shards(mass, rng))
            assert_same(Found(states[-1].equal_error_rate(case.eer_rule)), expected, case)
            assert len(states) <= {2: 1, 4: 2, 8: 4}[mass.dtype.itemsize]
            widths, threshold = [], states[-1].equal_error_rate().point.threshold
            for state in states:
                bracket = state.bracket(case.eer_rule)
                assert bracket.low <= float(expected.value) <= bracket.high
                assert bracket.lowest_threshold <= threshold <= bracket.highest_threshold
                widths.append(bracket.width)
                assert state.nbytes <= 2_000_000
                assert len(state.to_bytes()) <= 2_000_000
            assert widths == sorted(widths, reverse=True)
            assert widths[-1] == 0
            measured += 1
    assert measured > CASES // BATCHES // 2


@pytest.mark.parametrize("dtype", PASSES)
@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
def test_passes_by_the_type_of_the_scores(dtype, higher):
    rng = np.random.default_rng(3)
    scores = np.concatenate((rng.normal(1, 1, 4000), rng.normal(-1, 1, 3000))).astype(dtype)
    bona_fide = np.where(np.arange(7000) < 4000, 20, 0)
    state = ss.EerState(dtype, higher=higher)
    states = in_passes(
        state, lambda one: one.add(scores if higher == "bonafide" else -scores, bona_fide, 20 - bona_fide)
    )
    assert len(states) == states[-1].passes == PASSES[dtype]
    entries = list(zip(scores.tolist(), bona_fide.tolist(), (20 - bona_fide).tolist(), strict=True))
    value, threshold = by_hand(entries)
    found = states[-1].equal_error_rate()
    assert found.value == value
    assert found.point.threshold == (threshold if higher == "bonafide" else -threshold)


def by_hand(entries):
    """The EER of (score, bona fide, spoof) by trying every threshold, in fractions."""
    all_bona_fide, all_spoof = sum(e[1] for e in entries), sum(e[2] for e in entries)
    by_score = {}
    for score, bona_fide, spoof in entries:
        known = by_score.get(score, (0, 0))
        by_score[score] = (known[0] + bona_fide, known[1] + spoof)
    called, best = (0, 0), None
    for tau in [*sorted(s for s, amounts in by_score.items() if any(amounts)), math.inf]:
        fpr, fnr = Fraction(called[0], all_bona_fide), 1 - Fraction(called[1], all_spoof)
        if best is None or abs(fpr - fnr) < best[0]:
            best = (abs(fpr - fnr), (fpr + fnr) / 2, tau)
        if tau in by_score:
            called = (called[0] + by_score[tau][0], called[1] + by_score[tau][1])
    return best[1:]


@pytest.mark.parametrize("total", [2**50, 2**53, 2**62, 2**63, 2**66])
def test_any_total_is_exact(total):
    """Amounts one ns apart, summed far past what a double, and then an int64, can hold."""
    rng = random.Random(total)
    each = min(total, 2**61)
    repeats = max(1, total // each)
    entries = [
        (rng.choice([-1.5, -0.25, 0.0, 0.5, 3.0]), each - rng.randrange(99), each - rng.randrange(99)) for _ in range(8)
    ]

    def feed(state):
        for _ in range(repeats):
            worker = state.emptied()
            worker.add(*zip(*entries, strict=True))
            state.merge(pickle.loads(pickle.dumps(worker)))

    states = in_passes(ss.EerState(higher="bonafide"), feed)
    value, threshold = by_hand([(s, b * repeats, f * repeats) for s, b, f in entries])
    found = states[-1].equal_error_rate()
    assert (found.value, found.point.threshold) == (value, threshold)
    assert found.point.bona_fide == repeats * sum(e[1] for e in entries) > total
    assert states[0].nbytes <= 2_000_000
    assert len(states[0].to_bytes()) <= 2_000_000


def test_a_full_state_is_at_most_2_mb():
    count = first_codes(np.dtype(np.float32), True).size
    state = ss.EerState(higher="bonafide")
    for _ in range(5):
        state.add_bins(np.full((2, count), 2**61))
    assert state.nbytes <= 2_000_000
    assert len(state.to_bytes()) <= 2_000_000
    again = ss.EerState.from_bytes(state.to_bytes())
    assert again.totals() == state.totals()
    assert again.totals().bona_fide == 5 * 2**61 * count


def test_one_array_may_hold_more_than_an_int64():
    rng = random.Random(8)
    entries = [
        (rng.choice([-1.0, 0.5, 2.0]), 2**62 - rng.randrange(1, 9), 2**62 - rng.randrange(1, 9)) for _ in range(9)
    ]
    states = in_passes(ss.EerState(higher="bonafide"), lambda one: one.add(*zip(*entries, strict=True)))
    found = states[-1].equal_error_rate()
    assert (found.value, found.point.threshold) == by_hand(entries)
    assert found.point.spoof == sum(entry[2] for entry in entries) > 2**65


def test_points_groups_and_weights_go_through_the_same_state(demo):
    references, scores = demo
    whole = ss.point_mass(references, scores, 0.04)
    for mass in (whole, whole.select(whole.utterances[::4]), whole.reweight(np.arange(len(whole.utterances)) % 3)):
        states = in_passes(like(mass), lambda state, mass=mass: state.update(mass))
        found, expected = states[-1].equal_error_rate(), ss.equal_error_rate(mass)
        assert found == expected
    groups = [ss.EerState.of(whole.select(whole.utterances[i::3])) for i in range(3)]
    together = groups[0] + groups[1] + groups[2]
    assert together.totals() == ss.EerState.of(whole).totals()
    assert together.bracket() == ss.EerState.of(whole).bracket()
    assert sum(groups).to_bytes() == together.to_bytes()


def test_time_without_a_score_stays_in_the_denominators():
    """2 of 10 spoofed ns are never called: FNR stays at 0.2 or above, and FPR crosses it there."""
    state = ss.EerState(higher="bonafide", uncovered="bonafide")
    scores, bona_fide, spoof = [0.0, 1.0, 2.0], [0, 5, 5], [8, 0, 0]
    exact = in_passes(state, lambda one: one.add(scores, bona_fide, spoof, undecided=(0, 2)))
    found = exact[-1].equal_error_rate()
    assert found.point.spoof == 10
    # at tau = 1: FPR 0, FNR 0.2; at tau = 2: FPR 0.5, FNR 0.2
    assert (found.value, found.point.threshold) == (Fraction(1, 10), 1.0)
    assert found.neighbours[1].threshold == 2.0


def test_rates_that_never_cross_need_no_further_pass():
    """All spoof lies under no score and is called bona fide: FNR = 1 everywhere."""
    state = ss.EerState(higher="bonafide", uncovered="bonafide")
    state.add([0.5, 0.7], [5, 5], [0, 0], undecided=(0, 7))
    # everything called spoof: FPR 1, FNR 1, so they meet there after all
    assert state.bracket().high == 1.0
    state = ss.EerState(higher="bonafide", uncovered="unanswered")
    state.add([0.5, 0.7], [0, 0], [5, 5], undecided=(7, 0))
    assert not state.is_exact
    exact = in_passes(state.emptied(), lambda one: one.add([0.5, 0.7], [0, 0], [5, 5], undecided=(7, 0)))[-1]
    assert exact.equal_error_rate().value == brute_value([(0.5, 0, 5), (0.7, 0, 5), (None, 7, 0)], "unanswered")


def brute_value(entries, uncovered):
    return brute_force.eer(entries, uncovered).value


# ---------------------------------------------------------------- fine bins


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fine_bins_split_the_bins_of_leading_bits(dtype):
    """Next to 1 and -1 by the leading bits of the distance to the float below 1; 1, -1 and 0 are alone."""
    kind = np.dtype(dtype)
    rest = 8 * kind.itemsize - 16
    fine, leading = first_codes(kind, True), first_codes(kind, False)
    assert set(leading) <= set(fine)
    assert (np.diff(fine) > 0).all()
    one, unit = code_of(1.0, kind), float(np.nextafter(kind.type(1), kind.type(0)))

    def group(score):
        """What a score shares with all others in its bin."""
        code = code_of(score, kind)
        if abs(score) == 1 or score == 0:
            return "alone", score
        if not 0.5 <= abs(score) < 1:
            return code >> rest
        distance = one - 1 - code_of(abs(score), kind)
        return score > 0, code >> rest, code_of(distance, kind) >> rest if distance else -1

    rng = np.random.default_rng(0)
    tiny = np.exp(-rng.uniform(0, 40, 5000))
    special = np.array([0, 1, -1, 0.5, -0.5, 2, 1e-45, -1e-45, np.inf, -np.inf, unit, -unit])
    scores = np.concatenate((rng.uniform(-1.2, 1.2, 5000), 1 - tiny, tiny - 1, tiny, special)).astype(dtype)
    scores.sort()
    bins = np.searchsorted(fine, codes_of(scores), side="right") - 1
    groups = [group(float(score)) for score in scores]
    for (before, after), (its, other) in zip(pairwise(bins.tolist()), pairwise(groups), strict=True):
        assert (before == after) == (its == other)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_codes_order_like_scores_and_lead_back_to_them(dtype):
    scores = np.array([-np.inf, -2.5, -1.0, -1e-7, -0.0, 0.0, 1e-7, 1.0, 2.5, np.inf], dtype)
    codes = codes_of(scores)
    assert ((codes[1:] > codes[:-1]) == (scores[1:] > scores[:-1])).all()
    assert [score_of_code(int(code), scores.dtype) for code in codes] == scores.tolist()


def test_fine_bins_bound_the_eer_of_saturated_scores():
    scores = (1 - np.exp(-np.random.default_rng(1).uniform(5, 12, 4000))).astype(np.float32)
    bona_fide = np.where(np.arange(4000) % 3 == 0, 0, 20)
    fine = ss.EerState(higher="bonafide")
    fine.add(scores, bona_fide, 20 - bona_fide)
    exact = in_passes(fine.emptied(), lambda one: one.add(scores, bona_fide, 20 - bona_fide))[-1]
    value = float(exact.equal_error_rate().value)
    assert fine.bracket().low <= value <= fine.bracket().high
    assert fine.bracket().width < 0.01


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
@pytest.mark.parametrize("tie", [0.0, 1.0, -1.0, np.inf])
def test_ties_at_1_and_0_have_exact_rates_after_one_pass(tie, higher):
    rng = np.random.default_rng(2)
    scores = np.float32(np.where(rng.random(1000) < 0.6, tie, tie + rng.normal(size=1000)))
    scores[:5] = 0.3  # a score of more than 16 bits
    bona_fide = rng.integers(0, 2, 1000) * 20
    state = ss.EerState(higher=higher)
    states = in_passes(state, lambda one: one.add(np.nan_to_num(scores, posinf=np.inf), bona_fide, 20 - bona_fide))
    value = float(states[-1].equal_error_rate().value)
    assert (states[0].bracket().low, states[0].bracket().high) == (value, value)


# ---------------------------------------------------------------- refusals


def test_bytes_that_are_not_a_state_are_refused():
    state = ss.EerState(higher="bonafide")
    state.add([0.5, 0.7, 0.1], [5, 5, 0], [0, 1, 4])
    good = state.to_bytes()
    assert ss.EerState.from_bytes(good).to_bytes() == good
    for bad in (b"", b"PAR1", good[:-1], good + b"x", good[:30], MAGIC):
        with pytest.raises(ss.DataError):
            ss.EerState.from_bytes(bad)
    for at in range(0, len(good), 7):
        with pytest.raises(ss.DataError):
            ss.EerState.from_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])


def test_another_version_is_refused(monkeypatch):
    from spoofspan.measures import eer_state

    state = ss.EerState(higher="bonafide")
    monkeypatch.setattr(eer_state, "VERSION", 4)
    newer = state.to_bytes()
    monkeypatch.undo()
    with pytest.raises(ss.DataError, match=r"version 4.*reads version 3"):
        ss.EerState.from_bytes(newer)


def test_what_does_not_add_is_refused(demo):
    references, scores = demo
    mass = ss.overlay(references, scores)
    state = ss.EerState.of(mass)
    with pytest.raises(ss.UsageError, match=r"a mass with basis 'collar': '20000000ns' does .* basis 'collar': '0ns'$"):
        state.update(ss.overlay(references, scores, collar=0.02))
    for give in (state.update, ss.EerState.of):
        with pytest.raises(ss.UsageError, match=r"what ss.overlay\(references, scores\) returns, not Scores"):
            give(scores)
    with pytest.raises(ss.UsageError, match=r"what ss.EerState.from_bytes\(data\) returns, not bytes"):
        state.merge(state.to_bytes())
    with pytest.raises(ss.UsageError, match="higher"):
        state.merge(ss.EerState(higher="spoof", basis=mass.basis))
    with pytest.raises(ss.UsageError, match="unit"):
        state.update(ss.point_mass(references, scores, 0.02))
    with pytest.raises(ss.UsageError, match="different passes"):
        state.merge(state.next_pass())
    with pytest.raises(ss.UsageError, match="types of scores"):
        ss.EerState(np.float32, higher="spoof").merge(ss.EerState(np.float64, higher="spoof"))


def test_arrays_are_checked():
    state = ss.EerState(np.float32, higher="bonafide")
    with pytest.raises(ss.DataError, match="score 1 is NaN"):
        state.add([0.5, math.nan], [1, 1], [0, 0])
    with pytest.raises(ss.UsageError, match="without rounding"):
        state.add(np.array([0.1]), [1], [1])
    for wrong in ([-1], [0.5], [2**62], [1, 2]):
        with pytest.raises(ss.UsageError):
            state.add([0.5], wrong, [1])
    for wrong in ((-1, 0), (0, 0.5)):
        with pytest.raises(ss.UsageError, match="two whole numbers from 0 on"):
            state.add([0.5], [1], [1], undecided=wrong)
    with pytest.raises(ss.UsageError, match="dtype"):
        ss.EerState("int32", higher="spoof")
    with pytest.raises(ss.UsageError, match="higher"):
        ss.EerState(higher="?")
    with pytest.raises(ss.UndefinedMeasureError, match="nothing was counted"):
        state.bracket()
    assert "no EER yet" in repr(state)


def test_passes_must_see_the_same_data():
    state = ss.EerState(higher="bonafide")
    state.add([0.5, 0.7, 0.1], [5, 5, 1], [0, 1, 4])
    with pytest.raises(ss.UsageError, match="one more pass"):
        state.equal_error_rate()
    with pytest.raises(ss.UsageError, match="whole curve"):
        state.bracket("convex-hull")
    further = state.next_pass()
    assert "middle of a pass" in repr(further)
    further.add([0.5], [4], [0])
    with pytest.raises(ss.DataError, match="same data"):
        further.equal_error_rate()
    exact = state.next_pass()
    exact.add([0.5, 0.7, 0.1], [5, 5, 1], [0, 1, 4])
    with pytest.raises(ss.UsageError, match="no further pass"):
        exact.next_pass()
    with pytest.raises(ss.UsageError, match="first pass"):
        exact.add_bins(np.zeros((2, 69_635), np.int64))
    assert "EER" in repr(exact)
