"""Claims that mutation testing found unguarded (see tests/mutation/README.md)."""

import dataclasses
import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from random_corpora import random_case
from test_exactness import assert_same, build, outcome_of_brute_force, outcome_of_package

import spoofspan as ss
import spoofspan.crossing
import spoofspan.eer
import spoofspan.mass
import spoofspan.operating_point
import spoofspan.overlaying
import spoofspan.points
import spoofspan.resample
import spoofspan.rules
from spoofspan.crossing import crossing
from spoofspan.curve import error_curve_of
from spoofspan.operating_point import OperatingPoint, totals
from spoofspan.points import Grid
from spoofspan.rules import Touched, note_touched, rules_for

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")

MS = 10**6


def references_of(*utterances, durations=None, **rules):
    """Each utterance is a list of (end in ms, label); ranges touch each other."""
    ranges, lengths = {}, {}
    for number, listed in enumerate(utterances):
        start = 0
        rows = []
        for end, label in listed:
            rows.append((start / 1000, end / 1000, {"b": "bonafide", "s": "spoof", "n": "nonspeech"}[label]))
            start = end
        ranges[f"u{number}"] = rows
        lengths[f"u{number}"] = start / 1000
    return ss.References.from_ranges(ranges, lengths if durations is None else durations, **rules)


def frames_of(*utterances, hop=0.02, higher="bonafide", dtype=np.float64, **layout):
    frames = {f"u{number}": np.array(values, dtype) for number, values in enumerate(utterances)}
    return ss.Scores.from_frames(frames, hop=hop, higher=higher, **layout)


def content(mass):
    """The two amounts of every distinct score, by counting."""
    bona_fide, spoof = Counter(), Counter()
    for score, b, s in zip(mass.scores.tolist(), mass.bona_fide.tolist(), mass.spoof.tolist(), strict=True):
        bona_fide[score] += b
        spoof[score] += s
    return {score: (bona_fide[score], spoof[score]) for score in bona_fide}


TWO = references_of([(50, "b"), (90, "s")], [(30, "s"), (100, "b")])
TWO_SCORES = frames_of([0.9, 0.3, 0.5, -0.1, 0.2], [0.1, 0.4, 0.6, 0.6, 0.8])
# u2 has 40 ms without a score, 10 of them bona fide
THREE = references_of([(50, "b"), (90, "s")], [(30, "s"), (100, "b")], [(50, "b"), (80, "s")])
THREE_SCORES = frames_of([0.9, 0.3, 0.5, -0.1, 0.2], [0.1, 0.4, 0.6, 0.6, 0.8], [0.7, 0.25])


def masses(**rules):
    rules = {"slack": 0.0, **rules}
    yield ss.overlay(THREE, THREE_SCORES, **rules)
    yield ss.point_mass(THREE, THREE_SCORES, 0.02, **rules)
    yield ss.point_mass(THREE, THREE_SCORES, 0.0301, **rules)


# ---------------------------------------------------------------- rules


CHOICES = {
    "gaps": ["error", "bonafide", "spoof", "ignore", "following"],
    "extent": ["duration", "cut-at-duration", "last-range-end"],
    "nonspeech": ["error", "ignore", "bonafide", "spoof"],
    "uncovered": ["error", "hold", "bonafide", "spoof", "ignore", "unanswered"],
    "overlong": ["error", "cut"],
    "last_frame": ["use", "drop"],
    "overlap": ["error", "min", "mean", "centre"],
    "utterances": ["all", "drop-bonafide-CON"],
    "last_point": ["use", "round"],
}
RANGE_DEFAULTS = {
    "gaps": "error",
    "snap": "auto",
    "extent": "duration",
    "nonspeech": "error",
    "uncovered": "error",
    "slack": "auto",
    "overlong": "error",
    "last_frame": "use",
    "overlap": "error",
    "regions": "all",
    "collar": "0ns",
    "partial": "False",
    "utterances": "all",
}


@pytest.mark.parametrize("name", CHOICES)
def test_each_rule_takes_its_values_and_no_other(name):
    assert spoofspan.rules.CHOICES[name] == tuple(CHOICES[name])
    for value in CHOICES[name]:
        assert getattr(ss.Rules(**{name: value}), name) == value
    for wrong in ("no such choice", None, 1):
        with pytest.raises(ss.UsageError, match=f"{name}="):
            ss.Rules(**{name: wrong})


@pytest.mark.parametrize("name", ["snap", "slack", "collar"])
def test_times_must_not_be_negative(name):
    assert getattr(ss.Rules(**{name: 0.0}), name) == 0.0
    assert ss.Rules(**{name: 1e-9}).spelled("range")[name] == "1ns"
    for wrong in (-1e-9, -1.0):
        with pytest.raises(ss.UsageError, match="must not be negative"):
            ss.Rules(**{name: wrong})


def test_snap_and_slack_may_be_left_to_the_data_but_not_the_collar():
    assert ss.Rules(snap=None, slack=None) == ss.Rules()
    with pytest.raises(ss.UsageError, match="collar"):
        ss.Rules(collar=None)


def test_partial_and_regions_have_types():
    assert ss.Rules(partial=True).partial
    for wrong in (1, "True", None):
        with pytest.raises(ss.UsageError, match="True or False"):
            ss.Rules(partial=wrong)
    assert ss.Rules(regions={"u": [(0, 1)]}).spelled("range")["regions"] == "given"
    with pytest.raises(ss.UsageError, match="must be a dict"):
        ss.Rules(regions=[(0, 1)])


def test_label_is_a_name_or_a_fraction():
    assert ss.Rules(label="majority").spoof_fraction == Fraction(1, 2)
    assert ss.Rules(label=0.3).spoof_fraction == Fraction(3, 10)
    assert ss.Rules(label=1).spoof_fraction == 1
    assert ss.Rules(label=0.3).spelled("point")["label"] == "3/10"
    for label in ("any", "majority", "rounded"):
        assert ss.Rules(label=label).spelled("point")["label"] == label
    for wrong in (0, -0.1, 1.1, "half", None, math.nan):
        with pytest.raises(ss.UsageError, match="label="):
            ss.Rules(label=wrong)


def test_the_defaults_are_spelled_out():
    assert ss.Rules().spelled("range") == RANGE_DEFAULTS
    assert ss.Rules().spelled("point") == {**RANGE_DEFAULTS, "label": "any", "last_point": "use"}
    assert ss.Rules(snap=0.002, slack=0.1, collar=0.05).spelled("range") == {
        **RANGE_DEFAULTS,
        "snap": "2000000ns",
        "slack": "100000000ns",
        "collar": "50000000ns",
    }


TOOL = {"snap": 0.0, "slack": 0.0, "overlong": "cut", "nonspeech": "ignore"}
NII = {**TOOL, "gaps": "bonafide", "nonspeech": "bonafide", "extent": "cut-at-duration"}
CONVENTIONS = {
    ("default", "range", False): ({}, "nearest"),
    ("default", "point", False): ({}, "nearest"),
    ("default", "point", True): ({}, "nearest"),
    ("paper", "range", False): ({**TOOL, "gaps": "ignore", "uncovered": "unanswered"}, "nearest"),
    ("paper", "point", False): ({**TOOL, "gaps": "ignore", "uncovered": "unanswered"}, "nearest"),
    ("nii-2023", "range", False): ({**NII, "uncovered": "bonafide", "utterances": "drop-bonafide-CON"}, "nearest"),
    ("nii-2023", "point", False): ({**NII, "uncovered": "ignore"}, "nearest"),
    ("nii-2023", "point", True): ({**NII, "uncovered": "ignore", "gaps": "spoof", "label": "rounded"}, "nearest"),
    ("partialspoof-metrics", "range", False): (
        {**TOOL, "gaps": "following", "uncovered": "hold", "extent": "last-range-end", "last_frame": "drop"},
        "bucketed(-2,2,100000)",
    ),
    ("partialspoof-metrics", "point", False): (
        {**TOOL, "gaps": "bonafide", "uncovered": "hold", "last_point": "round", "nonspeech": "bonafide"},
        "bucketed(-2,2,10000)",
    ),
    ("wedefense", "range", False): (
        {**TOOL, "gaps": "following", "uncovered": "hold", "extent": "last-range-end"},
        "bucketed(2max,100000)",
    ),
}


@pytest.mark.parametrize(("convention", "measure", "finer"), CONVENTIONS)
def test_a_convention_is_this_set_of_rules(convention, measure, finer):
    rules, eer_rule = CONVENTIONS[convention, measure, finer]
    assert rules_for(measure, convention, {}, finer_than_hop=finer) == (ss.Rules(**rules), eer_rule)


def test_stated_rules_go_before_those_of_the_convention():
    rules, _ = rules_for("range", "paper", {"gaps": "spoof"})
    assert (rules.gaps, rules.uncovered) == ("spoof", "unanswered")
    assert rules_for("point", "nii-2023", {})[0].label == "any"
    with pytest.raises(ss.UsageError, match="unknown rule 'gap': did you mean 'gaps'"):
        rules_for("range", "paper", {"gap": "spoof"})
    with pytest.raises(ss.UsageError, match="did you mean 'paper'"):
        rules_for("range", "papers", {})
    with pytest.raises(ss.UsageError, match="defines no point-based measure"):
        rules_for("point", "wedefense", {})


def test_the_version_of_the_rules_is_part_of_every_signature():
    assert "|rules:1|" in ss.range_eer(TWO, TWO_SCORES).signature.comparable


def test_what_was_measured_cannot_be_changed():
    measured = ss.range_eer(TWO, TWO_SCORES)
    mass = ss.overlay(TWO, TWO_SCORES)
    points = ss.point_mass(TWO, TWO_SCORES, 0.02)
    found = ss.equal_error_rate(mass)
    curve = error_curve_of(mass)
    buckets = spoofspan.eer.BucketedPart(mass.parts[0], -1.0, 1.0, 4)
    for thing in (
        buckets,
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
    for thing in (buckets, mass, mass.parts[0], points.parts[0], points.parts[0].grid, next(mass.blocks()), curve):
        assert thing == thing
        assert thing != dataclasses.replace(thing)
        assert hash(thing) is not None


# ---------------------------------------------------------------- the guess


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
                monkeypatch.setattr(spoofspan.crossing, "_bracket", lambda sample, low=low, top=top: (low, top))
                assert crossing(mass) == expected


def test_a_guess_of_equal_rates_below_the_bracket_is_wrong(monkeypatch):
    """FPR = FNR = 1/2 at 2.0; a bracket that starts there does not hold the crossing."""
    mass = ss.overlay(references_of([(40, "b"), (80, "s")]), frames_of([0.0, 3.0, 1.0, 2.0]))
    expected = crossing(mass, guess=False)
    assert (expected.before.threshold, expected.after.threshold) == (1.0, 2.0)
    assert expected.after.gap == 0.0
    monkeypatch.setattr(spoofspan.crossing, "_bracket", lambda sample: (2.0, 3.0))
    assert crossing(mass) == expected


def test_a_guess_that_gathers_too_much_is_given_up(monkeypatch):
    values = np.random.default_rng(1).normal(size=4000)
    labels = [(40_000, "b"), (80_000, "s")]
    mass = ss.overlay(references_of(labels), frames_of(values))
    expected = crossing(mass, guess=False)
    monkeypatch.setattr(spoofspan.crossing, "_bracket", lambda sample: (values.min(), values.max()))
    monkeypatch.setattr(spoofspan.crossing, "SAMPLE", 10)
    monkeypatch.setattr(spoofspan.crossing, "_step_inside", None)  # would be called if it were not given up
    assert crossing(mass) == expected


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
    references = ss.References.from_columns(["u"], [40], [0, 2], [0, 19], [19, 40], np.array([False, True]))
    scores = ss.Scores.from_columns(["u"], [0, 2], [1.0, 0.0], starts=[0, 20], ends=[20, 40], higher="bonafide")
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


def test_weighted_totals_beyond_int64_are_exact():
    references = references_of(*[[(20, "b"), (40, "s")]] * 9)
    scores = frames_of(*[[0.5, 0.25]] * 9)
    for mass, weight, each in (
        (ss.overlay(references, scores), 2**36, 20 * MS),
        (ss.point_mass(references, scores, 0.02), 2**60, 1),
    ):
        found = totals(mass.reweight([weight] * 9))
        assert (found.all_bona_fide, found.all_spoof) == (9 * weight * each, 9 * weight * each)
        uneven = totals(mass.reweight([weight] * 8 + [3]))
        assert uneven.all_bona_fide == (8 * weight + 3) * each


@pytest.mark.parametrize("count", [8, 9, 40])
def test_totals_beyond_int64_are_exact(count):
    """Each utterance lasts 36 years; eight of them are 2**63 ns."""
    long = 2**60
    ids = [f"u{i}" for i in range(count)] + ["last"]
    references = ss.References.from_columns(
        ids,
        [long] * count + [3],
        np.arange(count + 2),
        np.zeros(count + 1, np.int64),
        np.array([long] * count + [3]),
        np.array([False] * count + [True]),
    )
    rows = np.arange(count + 1)
    scores = ss.Scores.from_columns(
        ids,
        np.concatenate((2 * rows, [2 * count + 2])),
        np.array([0.5, 0.25] * count + [0.25, 0.0]),
        starts=np.array([0, long - 5] * count + [0, 1]),
        ends=np.array([long - 5, long] * count + [1, 3]),
        higher="bonafide",
    )
    mass = ss.overlay(references, scores)
    assert totals(mass).all_bona_fide == count * long
    assert sum(map(int, mass.bona_fide)) == count * long
    curve = error_curve_of(mass)
    assert [curve.point(i).false_positive for i in range(4)] == [0, 0, 5 * count, count * long]
    assert curve.false_positive_rates.tolist() == [0.0, 0.0, 5 / long, 1.0]
    assert curve.false_negative_rates.tolist() == [1.0, 1 / 3, 0.0, 0.0]
    for guess in (True, False):
        found = crossing(mass, guess=guess)
        assert (found.before.false_positive, found.after.false_positive) == (0, 5 * count)
        assert (found.before.false_negative, found.after.false_negative) == (1, 0)
    interpolated = ss.equal_error_rate(mass, "interpolated").value
    assert interpolated == Fraction(5, 15 + long)
    assert ss.equal_error_rate(mass, "convex-hull").value == interpolated


def test_ties_of_both_classes_beyond_int64_are_exact():
    long, count = 2**60, 9
    ids = [f"u{i}" for i in range(2 * count)]
    references = ss.References.from_columns(
        ids, [long] * 18, np.arange(19), [0] * 18, [long] * 18, np.arange(18) % 2 == 1
    )
    scores = ss.Scores.from_columns(
        ids, np.arange(19), [0.5] * 17 + [0.25], starts=[0] * 18, ends=[long] * 18, higher="bonafide"
    )
    mass = ss.overlay(references, scores)
    curve = error_curve_of(mass)
    assert [curve.point(i).false_positive for i in range(3)] == [0, 0, 9 * long]
    assert [curve.point(i).false_negative for i in range(3)] == [9 * long, 8 * long, 0]
    assert crossing(mass) == crossing(mass, guess=False)
    assert crossing(mass).after.false_positive == 9 * long


@pytest.mark.parametrize(
    ("part", "length"), [(12477179974387661, 2**54 - 1), (17025803372547245, 2**54 - 1), (2**54 + 3, 2**55 + 5)]
)
def test_rates_of_large_totals_are_rounded_once(part, length):
    """Doubles do not hold these integers, so dividing doubles would round three times."""
    references = ss.References.from_columns(
        ["a", "b"], [length, 2], [0, 1, 2], [0, 0], [length, 2], np.array([False, True])
    )
    scores = ss.Scores.from_columns(
        ["a", "b"],
        [0, 2, 3],
        [0.0, 1.0, 0.5],
        starts=np.array([0, part, 0]),
        ends=np.array([part, length, 2]),
        higher="bonafide",
    )
    curve = ss.error_curve(references, scores)
    assert curve.false_positive_rates.tolist() == [0.0, part / length, part / length, 1.0]


# ---------------------------------------------------------------- what the rules decided


def test_uncovered_time_is_reported():
    for uncovered in ("bonafide", "spoof", "unanswered", "ignore"):
        for measured in (
            ss.range_eer(THREE, THREE_SCORES, slack=0.0, uncovered=uncovered),
            ss.point_eer(THREE, THREE_SCORES, 0.02, slack=0.0, uncovered=uncovered),
        ):
            assert measured.touched["uncovered"] == Touched("uncovered", uncovered, 40 * MS, 1)
    held = ss.range_eer(THREE, THREE_SCORES, slack=0.0, uncovered="hold")
    assert held.touched["uncovered"] == Touched("uncovered", "hold", 40 * MS, 1)
    assert "uncovered" not in ss.range_eer(TWO, TWO_SCORES, uncovered="ignore").touched


def test_uncovered_time_is_an_error_that_names_the_utterance():
    for uncovered, scores in (("error", THREE_SCORES), ("hold", frames_of([0.1] * 5, [0.2] * 5, []))):
        for measure in (ss.overlay, lambda *corpus, **rules: ss.point_mass(*corpus, 0.02, **rules)):
            with pytest.raises(ss.DataError, match=r"'u2'.* have no score"):
                measure(THREE, scores, slack=0.0, uncovered=uncovered)


def test_time_without_a_score_over_ignored_time_is_no_error():
    references = references_of([(50, "b"), (90, "s"), (200, "n")])
    mass = ss.overlay(references, frames_of([0.9, 0.3, 0.5, -0.1, 0.2]), slack=0.0, nonspeech="ignore")
    assert totals(mass).all_bona_fide == 50 * MS


def test_utterances_without_time_are_left_out():
    references = ss.References.from_ranges({"a": [], "b": [(0.0, 0.02, "bonafide"), (0.02, 0.04, "spoof")]})
    scores = ss.Scores.from_frames({"a": [0.5], "b": [0.9, 0.1]}, hop=0.02, higher="bonafide")
    measured = ss.range_eer(references, scores)
    assert (measured.value, measured.utterances) == (0.0, 1)
    assert ss.overlay(references, scores).utterances == ("b",)
    empty = ss.References.from_ranges({"a": []}, {"a": 1.0})
    with pytest.raises(ss.UndefinedMeasureError, match="no utterance has any time"):
        ss.range_eer(empty, ss.Scores.from_frames({"a": [0.5]}, hop=0.02, higher="bonafide"), extent="last-range-end")


def test_utterances_of_one_side_only_are_listed_or_left_out():
    scores = ss.Scores.from_frames(
        {"u1": [0.1, 0.4, 0.6, 0.6, 0.8], "x": [1.0], "y": [1.0]}, hop=0.02, higher="bonafide"
    )
    with pytest.raises(ss.DataError, match="3 problems") as error:
        ss.overlay(TWO, scores)
    assert "'u0' has references but no scores" in str(error.value)
    assert "'x' has scores but no references" in str(error.value)
    assert "'u1'" not in str(error.value)
    first = ss.Scores.from_frames({"x": [1.0], "u0": [0.9, 0.3, 0.5, -0.1, 0.2]}, hop=0.02, higher="bonafide")
    with pytest.raises(ss.DataError, match="2 problems") as error:
        ss.overlay(TWO, first)
    assert "'u0'" not in str(error.value)
    assert ss.range_eer(TWO, first, partial=True).touched["partial"].utterances == 2
    measured = ss.range_eer(TWO, scores, partial=True)
    assert measured.touched["partial"] == Touched("partial", "True", 0, 3)
    assert "partial" not in ss.range_eer(TWO, TWO_SCORES, partial=True).touched
    with pytest.raises(ss.UndefinedMeasureError, match="in common"):
        ss.overlay(TWO, ss.Scores.from_frames({"x": [1.0]}, hop=0.02, higher="bonafide"), partial=True)


def test_the_order_of_the_scores_is_the_order_of_the_mass():
    order = np.array([1, 0])
    mass = ss.overlay(TWO, TWO_SCORES.take(order))
    assert mass.utterances == ("u1", "u0")
    assert content(mass) == content(ss.overlay(TWO, TWO_SCORES))


def test_dropped_bona_fide_utterances_are_reported():
    ranges = {
        "CON_1": [(0.0, 0.04, "bonafide")],
        "CON_2": [(0.0, 0.02, "bonafide"), (0.02, 0.04, "spoof")],
        "x": [(0.0, 0.06, "bonafide")],
    }
    references = ss.References.from_ranges(ranges)
    scores = ss.Scores.from_frames({"CON_1": [1, 1], "CON_2": [1, 0], "x": [1, 1, 1]}, hop=0.02, higher="bonafide")
    measured = ss.range_eer(references, scores, utterances="drop-bonafide-CON")
    assert measured.touched["utterances"] == Touched("utterances", "drop-bonafide-CON", 40 * MS, 1)
    assert measured.utterances == 2
    assert ss.range_eer(references, scores).utterances == 3
    only = ss.References.from_ranges({"CON_1": ranges["CON_1"]}, {"CON_1": 0.04})
    with pytest.raises(ss.UndefinedMeasureError, match="leaves no utterance"):
        ss.overlay(only, scores.take(np.array([0])), utterances="drop-bonafide-CON")


def test_touched_time_is_summed_over_the_utterances_that_have_some():
    touched = []
    note_touched(touched, "gaps", "ignore", np.array([0, 1500 * MS, 500 * MS]))
    note_touched(touched, "snap", "2ns", np.zeros(3, np.int64))
    assert touched == [Touched("gaps", "ignore", 2000 * MS, 2)]
    assert touched[0].seconds == 2.0


# ---------------------------------------------------------------- operating points


def test_the_four_cells_add_up_to_both_classes():
    point = OperatingPoint(0.25, "bonafide", 1 * MS, 2 * MS, 10 * MS, 20 * MS, 3 * MS, 4 * MS)
    assert (point.true_positive, point.true_negative) == (14 * MS, 6 * MS)
    assert point.seconds() == {
        "true_positive": 0.014,
        "false_negative": 0.002,
        "false_positive": 0.001,
        "true_negative": 0.006,
        "unanswered": 0.007,
    }
    assert (point.false_positive_rate, point.false_negative_rate, point.gap) == (0.1, 0.1, 0.0)
    assert OperatingPoint(0.25, "bonafide", 1, 2, 10, 10).gap == 0.1
    with pytest.raises(ss.UsageError, match="points, not time"):
        dataclasses.replace(point, unit="points").seconds()


def test_an_operating_point_on_its_own_has_answers_for_all_time():
    point = OperatingPoint(0.25, "spoof", 1, 2, 10, 10)
    assert (point.unanswered_bona_fide, point.unanswered_spoof) == (0, 0)
    assert (point.unit, point.everything) == ("ns", False)
    assert point.decision == "spoof iff score > 0.25"
    assert dataclasses.replace(point, everything=True).decision == "everything is called spoof"


def test_rates_without_a_class_are_nan():
    point = OperatingPoint(0.25, "bonafide", 0, 2, 0, 10)
    assert math.isnan(point.false_positive_rate)
    assert point.false_negative_rate == 0.2
    assert math.isnan(point.gap)
    other = OperatingPoint(0.25, "bonafide", 1, 0, 10, 0)
    assert other.false_positive_rate == 0.1
    assert math.isnan(other.false_negative_rate)
    assert math.isnan(other.gap)


def test_unanswered_time_is_in_the_denominators_and_in_no_cell():
    point = ss.range_eer(THREE, THREE_SCORES, slack=0.0, uncovered="unanswered").point
    assert (point.unanswered_bona_fide, point.unanswered_spoof) == (10 * MS, 30 * MS)
    assert (point.bona_fide, point.spoof) == (170 * MS, 100 * MS)
    for uncovered in ("bonafide", "spoof"):
        point = ss.range_eer(THREE, THREE_SCORES, slack=0.0, uncovered=uncovered).point
        assert (point.unanswered_bona_fide, point.unanswered_spoof) == (0, 0)
        assert (point.bona_fide, point.spoof) == (170 * MS, 100 * MS)


def test_an_undefined_rate_says_which_class_is_missing_and_of_what():
    only = references_of([(100, "b")])
    scores = frames_of([0.1] * 5)
    with pytest.raises(ss.UndefinedMeasureError, match="no spoofed time"):
        ss.range_eer(only, scores)
    with pytest.raises(ss.UndefinedMeasureError, match="no spoofed time"):
        ss.error_curve(only, scores)
    with pytest.raises(ss.UndefinedMeasureError, match="no spoofed point"):
        ss.point_eer(only, scores, 0.02)
    with pytest.raises(ss.UndefinedMeasureError, match="no bona fide time"):
        ss.range_eer(references_of([(100, "s")]), scores)
    with pytest.raises(ss.UndefinedMeasureError, match="lies under any score"):
        ss.range_eer(references_of([(50, "b"), (100, "s")]), frames_of([]), uncovered="unanswered")


def test_rates_that_never_cross_have_no_interpolated_value():
    """Uncovered are 100 of 120 ms bona fide and 60 of 80 ms spoof."""
    references = references_of([(20, "b"), (100, "s"), (200, "b")])
    scores = frames_of([0.9, 0.1])
    above = ss.range_eer(references, scores, slack=0.0, uncovered="spoof")
    assert above.neighbours == (None, above.point)
    assert (above.threshold, above.exact_value) == (0.1, Fraction(5, 6) / 2 + Fraction(1, 4) / 2)
    below = ss.range_eer(references, scores, slack=0.0, uncovered="bonafide")
    assert below.neighbours == (below.point, None)
    assert (below.threshold, below.exact_value) == (math.inf, Fraction(1, 6) / 2 + Fraction(3, 4) / 2)
    even = references_of([(20, "b"), (60, "s"), (80, "b")])  # FPR = FNR = 1/2 at the lowest score already
    measured = ss.range_eer(even, scores, slack=0.0, uncovered="spoof", eer_rule="interpolated")
    assert (measured.neighbours, measured.value) == ((None, measured.point), 0.5)
    for uncovered in ("spoof", "bonafide"):
        for rule in ("interpolated", "convex-hull"):
            with pytest.raises(ss.UndefinedMeasureError, match="never cross"):
                ss.range_eer(references, scores, slack=0.0, uncovered=uncovered, eer_rule=rule)


# ---------------------------------------------------------------- the curve


@pytest.mark.parametrize(("higher", "sign"), [("bonafide", 1), ("spoof", -1)])
def test_the_curve_has_every_score_and_then_everything(higher, sign):
    scores = frames_of([sign * value for value in (0.9, 0.3, 0.5, -0.1, 0.2)], higher=higher)
    curve = ss.error_curve(references_of([(50, "b"), (90, "s")]), scores)
    assert curve.thresholds.tolist() == [sign * value for value in (-0.1, 0.2, 0.3, 0.5, 0.9, math.inf)]
    assert len(curve) == 6
    assert repr(curve) == "ErrorCurve(6 thresholds)"
    assert [curve.point(i).false_positive for i in range(6)] == [0, 0, 0, 20 * MS, 30 * MS, 50 * MS]
    assert [curve.point(i).false_negative for i in range(6)] == [40 * MS, 20 * MS, 10 * MS, 10 * MS, 0, 0]
    assert curve.false_positive_rates.tolist() == [0.0, 0.0, 0.0, 0.4, 0.6, 1.0]
    assert curve.false_negative_rates.tolist() == [1.0, 0.5, 0.25, 0.25, 0.0, 0.0]
    assert [curve.point(i).everything for i in range(6)] == [False] * 5 + [True]
    assert curve.point(-1) == curve.point(5)
    assert [curve.point(i).threshold for i in range(6)] == curve.thresholds.tolist()
    assert curve.point(-2) == curve.point(4)


@pytest.mark.parametrize(("higher", "sign"), [("bonafide", 1), ("spoof", -1)])
def test_at_any_threshold_scores_beyond_it_are_called_spoof(higher, sign):
    scores = frames_of([sign * value for value in (0.9, 0.3, 0.5, -0.1, 0.2)], higher=higher)
    curve = ss.error_curve(references_of([(50, "b"), (90, "s")]), scores)
    for threshold, called in ((-9, 0), (-0.1, 0), (0.0, 1), (0.2, 1), (0.25, 2), (0.9, 4), (0.95, 5), (math.inf, 5)):
        point = curve.at(sign * threshold)
        assert point == dataclasses.replace(curve.point(called), threshold=sign * threshold, everything=False)
    with pytest.raises(ss.UsageError, match="NaN"):
        curve.at(math.nan)


@pytest.mark.parametrize(("higher", "sign"), [("bonafide", 1), ("spoof", -1)])
def test_the_largest_scores_are_told_apart(higher, sign):
    curve = ss.error_curve(
        references_of([(20, "b"), (40, "s")]), frames_of([sign * 1.7e308, sign * 1.6e308], higher=higher)
    )
    assert curve.at(sign * 1.6e308) == curve.point(0)
    assert curve.at(sign * 1.7e308) == curve.point(1)


def test_thresholds_have_no_negative_zero():
    for higher in ("bonafide", "spoof"):
        for zero in (0.0, -0.0):
            curve = ss.error_curve(references_of([(20, "b"), (40, "s")]), frames_of([zero, 1.0], higher=higher))
            assert not np.signbit(curve.thresholds[curve.thresholds == 0.0]).any()
            assert not any(math.copysign(1, curve.point(i).threshold) < 0 for i in range(2) if not curve.thresholds[i])


def naive_hull(curve):
    """Where the lower hull meets the diagonal: the lowest of all segments between two points."""
    points = [curve.point(i) for i in range(len(curve))]
    rates = [(p.exact_false_positive_rate, p.exact_false_negative_rate) for p in points]
    best = []
    for x1, y1 in rates:
        for x2, y2 in rates:
            if x1 < y1 and x2 >= y2:
                along = (y1 - x1) / ((y1 - x1) + (x2 - y2))
                best.append(x1 + along * (x2 - x1))
    return min(best)


@pytest.mark.parametrize("seed", range(30))
def test_the_hull_is_the_lowest_segment_between_any_two_points(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 40))
    edges = np.sort(rng.choice(np.arange(1, 20 * count), 6, replace=False))
    labels = [(int(edge), "bs"[i % 2]) for i, edge in enumerate(edges)] + [(20 * count, "b")]
    scores = frames_of(np.round(rng.normal(size=count), int(rng.integers(0, 3))))
    mass = ss.overlay(references_of(labels), scores)
    assert ss.equal_error_rate(mass, "convex-hull").value == naive_hull(error_curve_of(mass))


def test_the_hull_may_have_a_corner_of_equal_rates():
    scores = frames_of([0, 1, 1, 1, 0, 0, 0, 1])
    mass = ss.overlay(references_of([(80, "b"), (160, "s")]), scores)
    assert ss.equal_error_rate(mass, "convex-hull").value == Fraction(1, 4)


# ---------------------------------------------------------------- buckets


@pytest.mark.parametrize(("higher", "sign"), [("bonafide", 1), ("spoof", -1)])
def test_thresholds_of_buckets_are_their_edges(higher, sign):
    """Spoof scores -0.9 ... 0.1 in four buckets from -1 to 1; the tools call a bucket spoof as a whole."""
    scores = frames_of([sign * value for value in (0.9, 0.3, 0.7, -0.1, 0.2)], higher=higher)
    measured = ss.range_eer(references_of([(50, "b"), (90, "s")]), scores, eer_rule="bucketed(-1, 1, 4)")
    assert measured.eer_rule == "bucketed(-1,1,4)"
    # buckets: 0.9 and 0.7 -> 0; 0.3 and 0.2 -> 1; -0.1 -> 2; everything below 0.5 is called spoof, or below 0.0
    assert [point.threshold for point in measured.neighbours] == [sign * 0.0, sign * 0.5]
    assert measured.threshold == sign * 0.5
    assert (measured.false_positive_rate, measured.false_negative_rate) == (0.4, 0.25)
    assert measured.value == 0.325


def test_a_bucket_threshold_that_calls_everything_spoof_is_infinite():
    references = references_of([(20, "b"), (40, "s")])
    scores = frames_of([0.5, 0.5])
    measured = ss.range_eer(references, scores, eer_rule="bucketed(2max,10)")
    assert measured.threshold == math.inf
    assert measured.point.everything
    assert measured.neighbours[1].everything
    assert measured.neighbours[0].threshold == 0.4  # bucket 2 of 10 from -1 to 1 ends at -0.4 in spoof polarity


def test_buckets_whose_rates_never_cross_have_one_neighbour():
    references = references_of([(20, "b"), (100, "s"), (200, "b")])
    rules = {"slack": 0.0, "eer_rule": "bucketed(-1,1,4)"}
    above = ss.range_eer(references, frames_of([0.9, 0.1]), uncovered="spoof", **rules)
    assert above.neighbours == (None, above.point)
    assert above.threshold == 0.0  # 0.1 becomes bucket 1 of 4, which ends at 0 in spoof polarity
    below = ss.range_eer(references, frames_of([0.9, 0.1]), uncovered="bonafide", **rules)
    assert below.neighbours == (below.point, None)
    assert below.threshold == math.inf


@pytest.mark.parametrize(
    "rule", ["bucketed(1,1,4)", "bucketed(2,1,4)", "bucketed(-1,1,0)", "bucketed(-inf,1,4)", "bucketed(-1,inf,4)"]
)
def test_buckets_need_a_finite_range_and_a_number(rule):
    with pytest.raises(ss.UsageError, match="lo < hi"):
        ss.range_eer(TWO, TWO_SCORES, eer_rule=rule)


@pytest.mark.parametrize(
    "rule", ["bucketed(1,1)", "bucketed", "near", "bucketed(2max,x)", "bucketed(a,1,4)", "bucketed(-1,b,4)"]
)
def test_unknown_eer_rules_are_refused(rule):
    with pytest.raises(ss.UsageError, match="valid"):
        ss.equal_error_rate(ss.overlay(TWO, TWO_SCORES), rule)


def test_scores_must_fit_into_the_buckets_edges_included():
    references = references_of([(20, "b"), (40, "s"), (60, "b")])
    scores = frames_of([0.5, -0.25, 0.0])
    fits = ss.range_eer(references, scores, eer_rule="bucketed(-0.5,0.25,3)")
    assert fits.value == 0.0
    for rule in ("bucketed(-0.49,0.25,3)", "bucketed(-0.5,0.24,3)"):
        with pytest.raises(ss.UsageError, match="do not fit"):
            ss.range_eer(references, scores, eer_rule=rule)
    # scores without counted time may lie anywhere
    ignored = references_of([(20, "b"), (40, "s"), (60, "n")])
    assert ss.range_eer(ignored, frames_of([0.5, 0, 9]), eer_rule="bucketed(-1,1,4)", nonspeech="ignore").value == 0


# ---------------------------------------------------------------- points


@pytest.mark.parametrize("resolution", [0, -0.02, 1e-10])
def test_a_resolution_must_be_positive(resolution):
    with pytest.raises(ss.UsageError, match="must be positive"):
        ss.point_eer(TWO, TWO_SCORES, resolution)
    with pytest.raises(ss.UsageError, match="must be positive"):
        TWO_SCORES.resample(resolution)


def test_a_last_point_of_half_its_length_is_rounded_up():
    for end, points in ((50, 3), (49, 2), (60, 3), (61, 3)):
        references = references_of([(20, "b"), (end, "s")])
        mass = ss.point_mass(references, frames_of([0.9, 0.8, 0.7, 0.6][: -(-end // 20)]), 0.02, last_point="round")
        assert len(mass.scores) == points


def test_rounding_gives_labels_to_points_with_labelled_time_only():
    """Points of 20 ns; the last one is left empty by rounding, and so spoof, if any of it is labelled."""
    for label, counted in ((0, {0.9: (2, 0), 0.1: (0, 1)}), (1, {0.9: (2, 0), 0.1: (0, 1)}), (2, {0.9: (2, 0)})):
        references = ss.References.from_columns(["u"], [41], [0, 2], [0, 40], [40, 41], labels=[0, label])
        scores = ss.Scores.from_columns(["u"], [0, 2], [0.9, 0.1], starts=[0, 40], ends=[40, 41], higher="bonafide")
        mass = ss.point_mass(references, scores, 20e-9, label="rounded", nonspeech="ignore")
        assert content(mass) == counted


def test_points_of_years_lie_where_doubles_put_them():
    """Beyond 10**15 ns the edges are no multiples of a whole number of ns any more."""
    resolution = 12_345_678.123456789
    grid = Grid.over(np.array([10**14, 2**60, 10**14]), resolution, "use")
    k = np.arange(int(grid.counts[1]) - 1)
    expected = np.rint((k + 1) * resolution * 1e9).astype(np.int64)
    assert (expected != (k + 1) * round(resolution * 1e9)).any()
    block = grid.runs().block(0, 3)
    np.testing.assert_array_equal(block.ends(np.ones_like(k), k), expected)


def test_a_point_of_one_nanosecond_is_a_point():
    references = ss.References.from_columns(["u"], [6], [0, 2], [0, 3], [3, 6], np.array([False, True]))
    scores = ss.Scores.from_columns(["u"], [0, 2], [1.0, 0.0], starts=[0, 3], ends=[3, 6], higher="bonafide")
    for label in ("any", "majority", "rounded", 0.3):
        assert content(ss.point_mass(references, scores, 1e-9, label=label)) == {1.0: (3, 0), 0.0: (0, 3)}


def test_a_corpus_whose_points_are_all_rounded_away_has_no_eer():
    references = references_of([(4, "b"), (8, "s")])
    for label in ("any", "majority", "rounded"):
        with pytest.raises(ss.UndefinedMeasureError, match="no bona fide point"):
            ss.point_eer(references, frames_of([0.9]), 0.02, label=label, last_point="round")


@pytest.mark.parametrize(
    ("edge", "bona_fide"), [(10, 0), (11, 1), (29, 1), (30, 2), (31, 2), (50, 2), (51, 3), (70, 4), (90, 4)]
)
def test_edges_are_rounded_to_points_half_to_even(edge, bona_fide):
    references = references_of([(edge, "b"), (100, "s")], [(100, "b")])
    mass = ss.point_mass(references, frames_of([0.5] * 5, [0.6] * 5), 0.02, label="rounded")
    assert content(mass) == {0.5: (bona_fide, 5 - bona_fide), 0.6: (5, 0)}


@pytest.mark.parametrize("label", ["majority", 0.3, 1.0, 0.125])
def test_labels_of_very_long_points_are_exact(label):
    """Products with the denominator of the fraction pass 2**63."""
    long = 2**60
    share = {"majority": Fraction(1, 2), 0.3: Fraction(3, 10), 1.0: Fraction(1), 0.125: Fraction(1, 8)}[label]
    least = math.ceil(share * long)
    for spoofed in (least - 1, least):
        references = ss.References.from_columns(
            ["u", "v", "w", "short"],
            [long, long, long, 9],
            [0, 2, 3, 4, 5],
            np.array([0, spoofed, 0, 0, 0]),
            np.array([spoofed, long, long, long, 9]),
            np.array([True, False, False, True, True]),
        )
        scores = ss.Scores.from_columns(
            ["u", "v", "w", "short"],
            np.arange(5),
            [0.0, 1.0, 2.0, 3.0],
            starts=[0] * 4,
            ends=[long, long, long, 9],
            higher="bonafide",
        )
        mass = ss.point_mass(references, scores, long / 1e9, label=label)
        first = (int(spoofed < least), int(spoofed >= least))
        assert content(mass) == {0.0: first, 1.0: (1, 0), 2.0: (0, 1), 3.0: (0, 1)}


def test_a_point_that_reaches_one_nanosecond_into_a_frame_has_its_score():
    references = references_of([(40, "b"), (80, "s")])
    for hop, resolution in ((0.02, 0.020000001), (0.02, 0.04), (1 / 50.0001, 0.020000001)):
        mass = ss.point_mass(references, frames_of([0.9, 0.7, 0.8, 0.1], hop=hop), resolution, label="majority")
        expected = {0.7: (2, 0), 0.1: (0, 2)} if resolution < 0.03 else {0.7: (1, 0), 0.1: (0, 1)}
        assert content(mass) == expected


def test_a_score_that_ends_where_a_point_starts_is_not_its_score():
    """The middle score lasts one nanosecond, until the second point starts."""
    references = ss.References.from_columns(["u"], [40], [0, 2], [0, 20], [20, 40], np.array([True, False]))
    scores = ss.Scores.from_columns(
        ["u"], [0, 3], [0.5, 0.1, 0.9], starts=[0, 19, 20], ends=[19, 20, 40], higher="bonafide"
    )
    assert content(ss.point_mass(references, scores, 20e-9)) == {0.1: (0, 1), 0.9: (1, 0)}


def test_ignored_uncovered_time_leaves_no_undecided_points():
    """Before the first score, after the last one, and in an utterance without any."""
    references = references_of([(50, "b"), (200, "s")], [(30, "s"), (100, "b")], [(100, "s")])
    scores = frames_of([0.1, 0.2], [], [0.3], start={"u0": 0.04, "u1": 0.0, "u2": 0.06})
    for resolution in (0.02, 0.01, 0.007):
        mass = ss.point_mass(references, scores, resolution, uncovered="ignore", slack=0.0)
        found = totals(mass)
        assert (found.undecided_bona_fide, found.undecided_spoof) == (0, 0)
    mass = ss.point_mass(references, scores, 0.02, uncovered="ignore", slack=0.0)
    assert content(mass) == {0.1: (0, 1), 0.2: (0, 1), 0.3: (0, 1)}


def test_a_corpus_of_one_score_can_leave_points_undecided():
    references = references_of([(20, "b"), (40, "s"), (80, "b")])
    mass = ss.point_mass(references, frames_of([0.5]), 0.02, uncovered="spoof", slack=0.0)
    assert content(mass) == {0.5: (1, 0)}
    assert (totals(mass).undecided_bona_fide, totals(mass).undecided_spoof) == (2, 1)


def test_a_point_that_ends_where_a_score_starts_does_not_overlap_it():
    references = references_of([(40, "b"), (80, "s")])
    scores = ss.Scores.from_ranges({"u0": [(0.0, 0.02, 0.9), (0.04, 0.05, 0.1), (0.06, 0.08, 0.5)]}, higher="bonafide")
    mass = ss.point_mass(references, scores, 0.02, uncovered="spoof", slack=0.0)
    assert content(mass) == {0.9: (1, 0), 0.1: (0, 1), 0.5: (0, 1)}
    assert totals(mass).undecided_bona_fide == 1
    assert totals(mass).undecided_spoof == 0


# ---------------------------------------------------------------- re-sampling


def naive_resample(ranges, extent, resolution):
    """Lowest score over each point, by looking at all ranges; None where there is none."""
    out, k = [], 0
    edge = [round(i * resolution * 1e9) for i in range(10_000)]
    while edge[k] < extent:
        start, end = edge[k], min(edge[k + 1], extent)
        over = [value for a, b, value in ranges if a < end and b > start]
        out.append(min(over, default=None))
        k += 1
    return out


@pytest.mark.parametrize("block", [1, 1 << 17])
@pytest.mark.parametrize("resolution", [0.01, 0.02, 0.03, 0.04, 0.1, 1 / 30, 0.0071])
@pytest.mark.parametrize("kind", ["frames", "odd hops", "ranges", "start", "early start", "window", "two hops"])
def test_resampled_scores_are_the_lowest_over_each_frame(monkeypatch, kind, resolution, block):
    monkeypatch.setattr(spoofspan.resample, "ROWS_PER_BLOCK", block)
    rng = np.random.default_rng(3)
    values = {"a": rng.normal(size=9), "b": np.zeros(0), "c": rng.normal(size=4), "d": rng.normal(size=11)}
    layout = {
        "frames": {"hop": 0.02},
        "odd hops": {"hop": 1 / 30},
        "early start": {"hop": 0.02, "start": -0.013},
        "start": {"hop": 0.02, "start": {"a": 0.0, "b": 0.0, "c": 0.0, "d": -0.02}},
        "window": {"hop": 0.02, "window": 0.015},
        "two hops": {"hop": {"a": 0.02, "b": 0.01, "c": 0.03, "d": 0.01}},
    }
    times = {}
    for utt, row in values.items():
        if kind == "ranges":
            edges = np.concatenate(([0], np.cumsum(rng.integers(1, 60, row.size)))) * MS
            times[utt] = list(zip(edges[:-1].tolist(), edges[1:].tolist(), row.tolist(), strict=True))
            continue
        hop = layout[kind]["hop"]
        hop = hop[utt] if isinstance(hop, dict) else hop
        start = layout[kind].get("start", 0.0)
        start = round((start[utt] if isinstance(start, dict) else start) * 1e9)
        window = layout[kind].get("window")
        times[utt] = [
            (
                start + round(k * hop * 1e9),
                start + (round((k + 1) * hop * 1e9) if window is None else round(k * hop * 1e9) + round(window * 1e9)),
                value,
            )
            for k, value in enumerate(row.tolist())
        ]
    for higher, sign in (("bonafide", 1), ("spoof", -1)):
        if kind == "ranges":
            given = {utt: [(a / 1e9, b / 1e9, sign * value) for a, b, value in rows] for utt, rows in times.items()}
            scores = ss.Scores.from_ranges(given, higher=higher)
        else:
            given = {utt: sign * row for utt, row in values.items()}
            scores = ss.Scores.from_frames(given, higher=higher, **layout[kind])
        for durations in (None, {"a": 0.1, "b": 0.3, "c": 0.021, "d": 0.5}):
            expected = {}
            for utt, rows in times.items():
                ends = [b for _, b, _ in rows]
                extent = max(ends, default=0) if durations is None else round(durations[utt] * 1e9)
                reach = min(max(ends, default=0), extent)
                inside = [(a, min(b, extent), value) for a, b, value in rows if a < extent]
                reach = min(reach, max((b for _, b, _ in inside), default=0))
                expected[utt] = naive_resample(inside, reach, resolution)
            if any(None in row for row in expected.values()):
                with pytest.raises(ss.DataError, match="holes"):
                    scores.resample(resolution, durations)
                continue
            result = scores.resample(resolution, durations)
            assert (result.higher, result.hop, result.window) == (higher, resolution, None)
            assert result.origins.tolist() == [0, 0, 0, 0]
            for i, utt in enumerate(scores.utterances):
                found = result.values[result.offsets[i] : result.offsets[i + 1]]
                assert (sign * found).tolist() == expected[utt]


@pytest.mark.parametrize("block", [1, 1 << 17])
def test_a_hole_is_refused_and_named(monkeypatch, block):
    monkeypatch.setattr(spoofspan.resample, "ROWS_PER_BLOCK", block)
    scores = ss.Scores.from_ranges(
        {"a": [(0.0, 0.1, 1.0)], "b": [(0.0, 0.03, 1.0), (0.06, 0.07, 2.0)], "c": [(0.0, 0.1, 1.0)]}, higher="bonafide"
    )
    with pytest.raises(ss.DataError, match="utterance 'b' has no score for frame 2; scores with holes"):
        scores.resample(0.02)
    with pytest.raises(ss.DataError, match="3 problems") as error:
        scores.resample(0.01)
    assert [line.strip() for line in str(error.value).splitlines()[1:]] == [
        f"utterance 'b' has no score for frame {k}" for k in (3, 4, 5)
    ]


def test_a_hole_at_the_start_of_an_utterance_is_its_own():
    scores = ss.Scores.from_ranges({"a": [(0.0, 0.1, 1.0)], "b": [(0.02, 0.04, 1.0)]}, higher="bonafide")
    with pytest.raises(ss.DataError, match="utterance 'b' has no score for frame 0; scores with holes"):
        scores.resample(0.02)


def test_a_window_longer_than_the_hop_is_resampled_to_its_end():
    scores = frames_of([0.5], [0.25], hop=0.02, window=0.03)
    assert scores.resample(0.01).values.tolist() == [0.5] * 3 + [0.25] * 3


def test_scores_before_0_alone_leave_nothing_to_resample():
    scores = frames_of([0.5, 0.4], [0.1, 0.2, 0.3], start={"u0": -0.1, "u1": 0.0})
    assert scores.resample(0.02).offsets.tolist() == [0, 0, 3]


# ---------------------------------------------------------------- blocks


@pytest.mark.parametrize("rows", [1, 4])
def test_blocks_of_a_few_rows_give_the_bits_of_one_block(monkeypatch, rows):
    for module in (spoofspan.overlaying, spoofspan.points):
        monkeypatch.setattr(module, "ROWS_PER_BLOCK", rows)
    for seed in range(40_000, 40_060):
        case = random_case(random.Random(seed))
        for measure in ("range", "point"):
            assert_same(outcome_of_package(case, measure), outcome_of_brute_force(case, measure), case)


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
