"""Crossed factors: intervals and tests for other speakers and new attacks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isclose, sqrt

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.base.errors import DataError, IntervalWarning, SpoofspanWarning, UsageError
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.report.verdicts import comparison_tables
from spoofspan.uncertainty.clusters import Clusters, Resampling
from spoofspan.uncertainty.jackknife import stretches
from spoofspan.uncertainty.measured_system import measured_system
from spoofspan.uncertainty.optimism import halves
from spoofspan.uncertainty.student import quantile, two_sided_p

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.base.errors.SpoofspanWarning")

LABELS: dict[str, str] = {}
SPEAKERS: dict[str, str] = {}
ATTACKS: dict[str, str] = {}
for _place in range(240):
    _name = f"u{_place:03}"
    _attack = ("-", "A01", "A02", "A03", "A04", "A05")[_place % 6]
    LABELS[_name] = "bonafide" if _attack == "-" else "spoof"
    SPEAKERS[_name], ATTACKS[_name] = f"s{(_place * 7 + _place // 6) % 8}", _attack
FACTORS = {"speaker": SPEAKERS, "attack": ATTACKS}


def scores_of(seed: int) -> ss.UtteranceScores:
    rng = np.random.default_rng(seed)
    hard = {name: rng.normal(-1, 0.7) for name in sorted({*ATTACKS.values()} - {"-"})} | {"-": 1.0}
    drawn = [hard[ATTACKS[name]] + rng.normal() for name in LABELS]
    return ss.UtteranceScores(tuple(LABELS), np.array(drawn), higher="bonafide")


SYSTEMS = {"a": scores_of(1), "b": scores_of(2), "c": scores_of(3)}


def false_negative_rate(system: ss.UtteranceScores, utterances: set[str]) -> Fraction:
    """The share of spoof called bona fide at the threshold 0, in plain Python."""
    spoof = [u for u in system.utterances if u in utterances and LABELS[u] == "spoof"]
    values = dict(zip(system.utterances, system.values.tolist(), strict=True))
    return Fraction(sum(values[u] >= 0 for u in spoof), len(spoof))


def f1(system: ss.UtteranceScores, utterances: set[str]) -> float:
    values = dict(zip(system.utterances, system.values.tolist(), strict=True))
    called = {u for u in utterances if values[u] < 0}
    spoof = {u for u in utterances if LABELS[u] == "spoof"}
    return 2 * len(called & spoof) / (len(called) + len(spoof))


def brute_force(value, labels=LABELS, speakers=SPEAKERS, attacks=ATTACKS) -> tuple[float, list[float]]:
    """The two-way variance of a function of a set of utterances, and its three parts: each level is left out."""
    alone = {u: u for u in labels if labels[u] == "bonafide"}
    of_attack = {u: alone.get(u, attacks[u]) for u in labels}
    pairs = {u: alone.get(u, (speakers[u], attacks[u])) for u in labels}
    parts = []
    for grouping in (speakers, of_attack, pairs):
        groups = sorted(set(grouping.values()), key=str)
        without = [float(value({u for u in labels if grouping[u] != one})) for one in groups]
        n, mean = len(groups), sum(without) / len(groups)
        parts.append((n - 1) / n * sum((one - mean) ** 2 for one in without))
    variance = parts[0] + parts[1] - parts[2]
    return (variance if variance > 0 else max(parts)), parts


@pytest.mark.parametrize(("measure", "plain"), [("utterance-f1", f1), ("utterance-fnr", false_negative_rate)])
def test_the_two_way_variance_is_that_of_brute_force(measure, plain):
    found = ss.interval(LABELS, SYSTEMS["a"], measure, threshold=0.0, clusters=FACTORS)
    variance, parts = brute_force(lambda utterances: plain(SYSTEMS["a"], utterances))
    assert len({*parts}) == 3
    assert isclose(found.standard_error, sqrt(variance), rel_tol=1e-12)
    assert found.degrees_of_freedom == 4
    value = found.estimate
    reach = quantile(0.95, 4) * sqrt(variance) / (value * (1 - value))
    logits = [np.log(end / (1 - end)) - np.log(value / (1 - value)) for end in (found.low, found.high)]
    assert np.allclose(logits, [-reach, reach], rtol=1e-9)


def test_the_difference_of_two_systems_has_the_variance_of_brute_force():
    thresholds = dict.fromkeys(SYSTEMS, 0.0)
    found = ss.compare(LABELS, SYSTEMS, "utterance-f1", thresholds=thresholds, clusters=FACTORS)
    for one in found.differences:
        first, second = SYSTEMS[one.first], SYSTEMS[one.second]
        # shares have the larger of two standard errors: of the values, and of their logits
        slopes = [(1.0, 1.0), stretches(*(found.intervals[name].estimate for name in (one.first, one.second)))]
        variances = [
            brute_force(lambda chosen, a=a, b=b, x=first, y=second: a * f1(x, chosen) - b * f1(y, chosen))[0]
            for a, b in slopes
        ]
        assert isclose(one.interval.standard_error, sqrt(max(variances)), rel_tol=1e-12)
        assert isclose(one.p_value, two_sided_p(one.value / one.interval.standard_error, 4), rel_tol=1e-9)
        assert one.p_value <= one.adjusted_p_value <= 1
    assert len(found.ranks) == 3


def test_where_the_sum_is_not_positive_the_largest_part_is_taken():
    # speakers and attacks cancel: without a level of either factor nothing changes, without a pair of them it does
    names = [f"u{i:02}" for i in range(64)]
    speakers = {u: f"s{i % 4}" for i, u in enumerate(names)}
    attacks = {u: f"a{i // 4 % 4}" for i, u in enumerate(names)}
    rng = np.random.default_rng(0)
    labels = dict.fromkeys(names, "spoof") | {f"b{i}": "bonafide" for i in range(8)}
    speakers |= {f"b{i}": f"s{i % 4}" for i in range(8)}
    attacks |= {f"b{i}": "-" for i in range(8)}
    sign = {u: (int(speakers[u][1]) + int(attacks[u][1])) % 2 for u in names}
    scores = [2.0 if sign[u] else -2.0 for u in names] + rng.normal(1, 0.1, 8).tolist()
    system = ss.UtteranceScores(tuple(labels), np.array(scores), higher="bonafide")
    factors = {"speaker": speakers, "attack": attacks}
    found = ss.interval(labels, system, "utterance-fnr", threshold=0.0, clusters=factors)
    values = dict(zip(labels, scores, strict=True))

    def fnr(utterances: set[str]) -> float:
        spoof = [u for u in utterances if labels[u] == "spoof"]
        return sum(values[u] >= 0 for u in spoof) / len(spoof)

    variance, parts = brute_force(fnr, labels, speakers, attacks)
    assert parts[0] + parts[1] - parts[2] < 0
    assert variance == max(parts)
    assert isclose(found.standard_error, sqrt(variance), rel_tol=1e-12)


def test_bona_fide_utterances_without_an_attack_are_clusters_of_their_own():
    by_attack = Clusters.of(list(LABELS), ATTACKS, "attack", lambda: {u for u in LABELS if LABELS[u] == "spoof"})
    assert (by_attack.count, by_attack.alone) == (5 + 40, 40)
    found = ss.interval(LABELS, SYSTEMS["a"], "utterance-eer", clusters=ATTACKS, clusters_are="attack")
    assert (found.clusters, dict(found.levels)) == (5, {"attack": 5})
    assert not found.refused
    assert any("5 attacks" in text for text in found.warnings)
    some = {name: attack for name, attack in ATTACKS.items() if attack != "-"}
    without = ss.interval(LABELS, SYSTEMS["a"], "utterance-eer", clusters={"speaker": SPEAKERS, "attack": some})
    crossed = ss.interval(LABELS, SYSTEMS["a"], "utterance-eer", clusters=FACTORS)
    assert (without.low, without.high) == (crossed.low, crossed.high)
    del some["u001"]  # which is spoof
    with pytest.raises(DataError, match="belong to no attack"):
        ss.interval(LABELS, SYSTEMS["a"], "utterance-eer", clusters={"speaker": SPEAKERS, "attack": some})


def test_one_factor_by_name_is_the_one_way_interval():
    named = ss.interval(LABELS, SYSTEMS["a"], "utterance-eer", clusters={"speaker": SPEAKERS})
    plain = ss.interval(LABELS, SYSTEMS["a"], "utterance-eer", clusters=SPEAKERS, clusters_are="speaker")
    assert named.to_dict() == plain.to_dict()


def test_few_attacks_are_cautioned_and_fewer_refused():
    with pytest.warns(SpoofspanWarning, match="only 5 attacks "):
        ss.interval(LABELS, SYSTEMS["a"], "utterance-eer", clusters=FACTORS)
    two = {name: "-" if attack == "-" else "A" + str(int(attack[1:]) % 2) for name, attack in ATTACKS.items()}
    with pytest.warns(SpoofspanWarning, match="2 attacks are too few"):
        found = ss.interval(LABELS, SYSTEMS["a"], "utterance-eer", clusters={"speaker": SPEAKERS, "attack": two})
    assert found.refused


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_drawn_intervals_refuse_crossed_factors_with_the_remedy(method):
    with pytest.raises(UsageError, match=r"jackknife-t.*--cluster speaker"):
        Resampling(FACTORS, method=method)


def test_seeds_and_crossed_factors_go_together():
    seeds = {"1": SYSTEMS["a"], "2": SYSTEMS["b"], "3": SYSTEMS["c"]}
    found = ss.seed_variation(LABELS, seeds, "utterance-eer", clusters=FACTORS)
    assert found.joint is not None
    assert found.joint.low <= found.test_set.low < found.mean < found.test_set.high <= found.joint.high


def test_a_third_factor_adds_the_triple_and_takes_off_the_pairs():
    codec = {name: f"c{place // 6 % 4}" for place, name in enumerate(LABELS)}
    clusters = Clusters.of(list(LABELS), {**FACTORS, "codec": codec}, spoofed=lambda: set(LABELS))
    assert [one.sign for one in (clusters, *clusters.crossed)] == [1, 1, 1, -1, -1, -1, 1]
    found = ss.interval(LABELS, SYSTEMS["a"], "utterance-eer", clusters={**FACTORS, "codec": codec})
    assert found.drawn_by == "speaker x attack x codec"
    assert found.degrees_of_freedom == 3


def test_a_plan_counts_the_scarcest_factor():
    found = ss.sample_size(LABELS, {"a": SYSTEMS["a"], "b": SYSTEMS["b"]}, "utterance-eer", clusters=FACTORS)
    assert (found.drawn_by, found.clusters) == ("attack", 5)
    assert list(found.levels) == ["speaker", "attack"]


def test_every_interval_says_what_it_generalises_to():
    how = {"clusters": SPEAKERS, "clusters_are": "speaker"}
    by_utterance, by_speaker, by_attack, crossed = (
        ss.interval(LABELS, SYSTEMS["a"], "utterance-eer", **more)
        for more in ({}, how, {"clusters": {"attack": ATTACKS}}, {"clusters": FACTORS})
    )
    assert "other utterances; speakers are not considered (give --metadata FILE --cluster speaker)" in str(by_utterance)
    assert by_speaker.estimand == "for other speakers, these attacks (new attacks: --cluster speaker,attack)"
    assert by_attack.estimand == "for new attacks, these speakers"
    assert crossed.estimand == crossed.to_dict()["estimand"] == "for other speakers and new attacks"
    compared = ss.compare(LABELS, SYSTEMS, "utterance-eer", clusters=FACTORS)
    assert compared.to_dict()["estimand"] == crossed.estimand
    seeds = ss.compare(LABELS, {"a": {"1": SYSTEMS["a"], "2": SYSTEMS["b"]}, "c": SYSTEMS["c"]}, "utterance-eer", **how)
    assert seeds.estimand.startswith("for other speakers, these attacks, other seeds")
    plan = ss.sample_size(LABELS, {"a": SYSTEMS["a"], "b": SYSTEMS["b"]}, "utterance-eer", clusters=FACTORS)
    assert "for other speakers and new attacks" in str(plan)
    for output in ("text", "latex", "html"):
        tables = comparison_tables(compared)
        assert all("for other speakers and new attacks" in table.render(output) for table in tables)


def test_min_cllr_is_corrected_as_min_dcf_is():
    truth = 0.5132  # of log-likelihood ratios 2x, with x normal around 1 and -1
    held = dict.fromkeys((True, False), 0)
    names = [f"u{i}" for i in range(400)]
    labels = {name: "bonafide" if i % 2 else "spoof" for i, name in enumerate(names)}
    for run in range(60):
        rng = np.random.default_rng([1, run])
        drawn = np.where(np.arange(400) % 2 == 1, 1.0, -1.0) + rng.normal(size=400)
        system = ss.UtteranceScores(tuple(names), drawn, higher="bonafide")
        spread = ss.interval(labels, system, "utterance-min-cllr").spread
        for corrected in held:
            left_out = tuple(one if corrected else replace(one, optimism=0.0) for one in spread.left_out)
            found = replace(spread, left_out=left_out).one(0)
            held[corrected] += found.low <= truth <= found.high
    assert held[True] >= 54 > held[False]


@pytest.mark.parametrize(("measure", "rate"), [("utterance-min-cllr", 1 / 2), ("utterance-min-dcf", 2 / 3)])
def test_halves_of_few_calibrated_scores_show_less_of_the_bias(measure, rate):
    clusters = Clusters.of(list(LABELS), FACTORS["speaker"], "speaker")
    system = measured_system(LABELS, SYSTEMS["a"], ss.Measure.parse(measure), EvaluationOptions())
    found = system.left_out(clusters)
    each = []
    for half in halves(found.bona_fide, found.spoof):
        kept = [utt for utt in LABELS if half[clusters.units_of([utt])[0]]]
        one = ss.evaluate_utterances({utt: LABELS[utt] for utt in kept}, SYSTEMS["a"].take(kept), [measure])
        each.append(one[measure].value)
    expected = (system.value - np.mean(each)) / (2**rate - 1)
    assert found.optimism == pytest.approx(expected, abs=1e-12)


def test_replicates_of_a_value_at_its_best_threshold_are_cautioned():
    with pytest.warns(IntervalWarning, match="too good on average"):
        found = ss.interval(LABELS, SYSTEMS["a"], "utterance-min-dcf", method="percentile", replicates=100)
    assert any("too good on average" in text for text in found.warnings)
    assert not any("too good" in text for text in ss.interval(LABELS, SYSTEMS["a"], "utterance-min-dcf").warnings)
