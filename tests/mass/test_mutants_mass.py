"""Claims about masses that mutation testing found unguarded (see tools/mutation/README.md)."""

import dataclasses
import random

import numpy as np
import pytest
from outcomes import assert_same, outcome_of_brute_force, outcome_of_package
from random_corpora import random_case
from small_corpora import MS, THREE, THREE_SCORES, TWO, TWO_SCORES, content, frames_of, masses, references_of

import spoofspan as ss
import spoofspan.mass.points
import spoofspan.mass.ranges
import spoofspan.measures.eer
from spoofspan.data.rules import Touched
from spoofspan.measures.curve import error_curve_of
from spoofspan.measures.eer import crossing
from spoofspan.measures.operating_point import totals

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")


def test_what_was_measured_cannot_be_changed():
    measured = ss.range_eer(TWO, TWO_SCORES)
    mass = ss.overlay(TWO, TWO_SCORES)
    points = ss.point_mass(TWO, TWO_SCORES, 0.02)
    found = ss.equal_error_rate(mass)
    curve = error_curve_of(mass)
    buckets = spoofspan.measures.eer.BucketedPart(mass.parts[0], -1.0, 1.0, 4)
    laid = spoofspan.mass.ranges.Overlay.of(TWO, TWO_SCORES, measured.rules)
    for thing in (
        buckets,
        laid,
        measured.rules,
        measured.point,
        found,
        crossing(mass),
        curve,
        totals(mass),
        mass,
        mass.parts[0],
        points.parts[0],
        points.parts[0].grid,
        next(mass.blocks()),
        Touched("gaps", "ignore", 1, 1),
        ss.CONVENTIONS["paper"],
    ):
        name = dataclasses.fields(thing)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, name, None)
    # arrays have no single truth, so these are equal only to themselves
    for thing in (buckets, laid, mass, mass.parts[0], *points.parts, points.parts[0].grid, next(mass.blocks()), curve):
        assert thing == thing
        assert thing != dataclasses.replace(thing)
        assert hash(thing) is not None


# ---------------------------------------------------------------- the mass


def test_a_mass_lists_the_scores_with_counted_time_as_given():
    references = references_of([(30, "b"), (60, "n"), (100, "s")])
    for higher, sign in (("bonafide", 1), ("spoof", -1)):
        scores = frames_of([sign * value for value in (0.9, 0.8, 0.5, 0.4, 0.1)], higher=higher)
        mass = ss.overlay(references, scores, nonspeech="ignore")
        assert mass.scores.tolist() == [sign * 0.9, sign * 0.8, sign * 0.4, sign * 0.1]  # 0.5 lies over non-speech
        assert mass.bona_fide.tolist() == [20 * MS, 10 * MS, 0, 0]
        assert mass.spoof.tolist() == [0, 0, 20 * MS, 20 * MS]


def test_an_edge_one_nanosecond_before_the_end_of_a_score_counts():
    references = ss.References.from_columns(
        ["u"], np.array([40]), [0, 2], np.array([0, 19]), np.array([19, 40]), np.array([False, True])
    )
    edges = np.array([0, 20, 40])
    scores = ss.Scores.from_columns(["u"], [0, 2], [1.0, 0.0], starts=edges[:2], ends=edges[1:], higher="bonafide")
    assert content(ss.overlay(references, scores)) == {1.0: (19, 1), 0.0: (0, 20)}


def test_masses_add_only_if_they_count_the_same():
    mass = ss.overlay(TWO, TWO_SCORES)
    mirrored = frames_of([-0.9, -0.3, -0.5, 0.1, -0.2], [-0.1, -0.4, -0.6, -0.6, -0.8], higher="spoof")
    for other in (
        ss.overlay(TWO, mirrored),
        ss.point_mass(TWO, TWO_SCORES, 0.02),
        ss.overlay(TWO, TWO_SCORES, uncovered="ignore"),
        ss.overlay(TWO, TWO_SCORES, gaps="ignore"),
    ):
        with pytest.raises(ss.UsageError, match="do not add"):
            mass + other
    with pytest.raises(ss.UsageError, match="do not add"):
        ss.point_mass(TWO, TWO_SCORES, 0.02) + ss.point_mass(TWO, TWO_SCORES, 0.04)


def test_a_sum_of_masses_has_all_utterances_and_the_widest_type():
    one = ss.overlay(references_of([(50, "b"), (90, "s")]), frames_of([0.9, 0.3, 0.5, -0.1, 0.2], dtype=np.float32))
    both = one + ss.overlay(TWO, TWO_SCORES)
    assert one.utterances == ("u0",)
    assert both.utterances == ("u0", "u0", "u1")
    assert both.dtype == np.float64
    assert {block.scores.dtype for block in both.blocks()} == {np.dtype(np.float64)}
    assert len(both.scores) == 15
    assert (one + one).dtype == np.float32


def test_a_mass_of_its_own_expects_no_uncovered_time():
    mass = ss.ScoreMass(ss.overlay(TWO, TWO_SCORES).parts, "bonafide")
    assert (mass.unit, mass.uncovered) == ("ns", "error")
    assert (mass + mass).utterances == ("u0", "u1", "u0", "u1")


@pytest.mark.parametrize("uncovered", ["bonafide", "spoof", "unanswered", "ignore"])
def test_selecting_utterances_is_measuring_them_alone(uncovered):
    chosen = np.array([0, 2])
    for mass in masses(uncovered=uncovered):
        rules = {"slack": 0.0, "uncovered": uncovered}
        selected = mass.select(["u2", "u0"])
        assert selected.utterances == ("u0", "u2")
        part = mass.parts[0]
        if mass.unit == "ns":
            alone = ss.overlay(THREE.take(chosen), THREE_SCORES.take(chosen), **rules)
        else:
            alone = ss.point_mass(THREE.take(chosen), THREE_SCORES.take(chosen), part.grid.resolution, **rules)
        assert content(selected) == content(alone)
        assert totals(selected) == totals(alone)
        assert totals(mass) == totals(mass.select(["u0", "u1", "u2"]))
        assert ss.equal_error_rate(selected) == ss.equal_error_rate(alone)
        doubled = mass + mass.select(["u1"])
        assert doubled.select(["u0"]).utterances == ("u0",)
        assert len(doubled.select(["u0"]).parts) == 1
        assert doubled.select(["u1"]).utterances == ("u1", "u1")


def test_selecting_nothing_or_unknown_utterances_is_refused():
    mass = ss.overlay(TWO, TWO_SCORES)
    with pytest.raises(ss.UsageError, match="no such utterance: 'x', 'y'"):
        mass.select(["u0", "y", "x"])
    with pytest.raises(ss.UsageError, match="at least one"):
        mass.select([])


@pytest.mark.parametrize("uncovered", ["bonafide", "spoof", "unanswered", "ignore"])
def test_a_weight_counts_an_utterance_that_many_times(uncovered):
    for mass in masses(uncovered=uncovered):
        weighed = mass.reweight([2, 0, 3])
        one, three = mass.select(["u0"]), mass.select(["u2"])
        repeated = one + one + three + three + three
        assert content(weighed) == content(repeated)
        assert dataclasses.astuple(totals(weighed)) == dataclasses.astuple(totals(repeated))
        assert ss.equal_error_rate(weighed).value == ss.equal_error_rate(repeated).value
        assert content(mass.reweight({"u2": 3, "u1": 0, "u0": 2})) == content(weighed)
        assert totals(mass.reweight([1, 5, 3]).reweight([2, 0, 1])) == totals(weighed)
        assert totals(weighed.select(["u2"])) == totals(three.reweight([3]))
        both = (mass + mass).reweight([1, 0, 0, 1, 0, 3])
        assert content(both) == content(weighed)


def test_weights_are_whole_numbers_from_0_on_one_per_utterance():
    mass = ss.overlay(TWO, TWO_SCORES)
    assert mass.reweight(np.array([0, 1], np.uint8)).bona_fide.sum() == 70 * MS
    for wrong in ([1, -1], [1.0, 2.0], [1], [1, 1, 1], [[1, 1]]):
        with pytest.raises(ss.UsageError, match="whole numbers"):
            mass.reweight(wrong)
    with pytest.raises(ss.UsageError, match="no weight for 'u1'"):
        mass.reweight({"u0": 1})


def test_a_weight_that_could_overflow_is_refused():
    length = 2**20
    references = ss.References.from_columns(["u"], [length], [0, 2], [0, 9], [9, length], [False, True])
    scores = ss.Scores.from_columns(["u"], [0, 2], [0.0, 1.0], starts=[0, 9], ends=[9, length], higher="bonafide")
    mass = ss.overlay(references, scores)
    assert totals(mass.reweight([2**42 - 1])).all_spoof == (length - 9) * (2**42 - 1)
    with pytest.raises(ss.UsageError, match="too large"):
        mass.reweight([2**42])
    assert totals(mass.reweight([2**21]).reweight([2**20])).all_spoof == (length - 9) * 2**41
    for first, second in ((2**42, 1), (1, 2**42), (2**21, 2**21), (2**40, 2**40)):
        with pytest.raises(ss.UsageError, match="too large"):
            mass.reweight([first]).reweight([second])
    for weights in ([0, 2**60], np.array([0, 2**62], np.uint64), np.array([1, 2**63 + 1], np.uint64)):
        with pytest.raises(ss.UsageError, match="too large"):
            ss.overlay(TWO, TWO_SCORES).reweight(weights)
    with pytest.raises(ss.UsageError, match="too large"):
        ss.overlay(TWO, TWO_SCORES).reweight([1, 2**30]).reweight([1, 2**30])
    points = ss.point_mass(references, scores, (length // 4) / 1e9)
    assert totals(points.reweight([2**60 - 1])).all_spoof == 4 * (2**60 - 1)
    with pytest.raises(ss.UsageError, match="too large"):
        points.reweight([2**60])
    one = ss.point_mass(references, scores, 1.0)
    assert totals(one.reweight([2**62 - 1])).all_spoof == 2**62 - 1
    with pytest.raises(ss.UsageError, match="too large"):
        one.reweight([2**62])


def test_the_longest_utterance_limits_all_weights():
    """2**20 ns, or 2**18 points, and one of the shortest."""
    long, short = 2**20, 4
    references = ss.References.from_columns(["u", "v"], [long, short], [0, 1, 2], [0, 0], [long, short], [False, True])
    scores = ss.Scores.from_columns(
        ["u", "v"], [0, 1, 2], [0.0, 1.0], starts=[0, 0], ends=[long, short], higher="bonafide"
    )
    for mass, limit in ((ss.overlay(references, scores), 2**42), (ss.point_mass(references, scores, 4e-9), 2**44)):
        for weights in ([limit, 1], [1, limit]):
            with pytest.raises(ss.UsageError, match="too large for the longest utterance"):
                mass.reweight(weights)
        assert totals(mass.reweight([limit - 1, 0])).all_bona_fide == 2**62 - 2**62 // limit


# ---------------------------------------------------------------- blocks


@pytest.mark.parametrize("rows", [1, 4])
def test_blocks_of_a_few_rows_give_the_bits_of_one_block(monkeypatch, rows):
    for module in (spoofspan.mass.ranges, spoofspan.mass.points):
        monkeypatch.setattr(module, "ROWS_PER_BLOCK", rows)
    for seed in range(40_000, 40_060):
        case = random_case(random.Random(seed))
        for measure in ("range", "point"):
            assert_same(outcome_of_package(case, measure), outcome_of_brute_force(case, measure), case)
