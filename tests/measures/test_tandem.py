"""The a-DCF, the SASV-EERs, the t-EER and t-DCFs of given rates: against their authors' code and brute force."""

import csv
import json
import math
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command_line import run_command as run

import spoofspan as ss
from spoofspan.data.utterance_scores import UtteranceScores, VerificationScores
from spoofspan.evaluation.evaluate import evaluate_utterances
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.formats.reading import read_utterance_scores
from spoofspan.formats.text.protocol import read_utterance_labels
from spoofspan.uncertainty.clusters import Clusters
from spoofspan.uncertainty.measured_system import measured_system
from spoofspan.uncertainty.optimism import halves

GOLDEN = Path(__file__).parents[1] / "golden" / "trials"
TOOLS = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))["tools"]
# what ASVspoof 5 has built in: accepted non-targets, rejected targets, accepted spoofs of its verification system
RATES = (0.01881016557566423, 0.01880141010575793, 0.4607082907604729)
PRICES = {"p_spoof": 0.1, "p_nontarget": 0.2, "cost_miss": 2, "cost_false_alarm": 5, "cost_false_alarm_spoof": 3}
AUTHORS = {"p_spoof": 0.05, "p_nontarget": 0.05, "cost_miss": 1, "cost_false_alarm": 10, "cost_false_alarm_spoof": 20}


def spelled(name, parameters):
    return f"utterance-{name}@" + ",".join(f"{key}={value}" for key, value in parameters.items())


def rows_of(case):
    """(kind, countermeasure, verification and common score) of each trial."""
    with (
        (GOLDEN / case / "sasv_scores.tsv").open(newline="") as scores,
        (GOLDEN / case / "sasv_keys.tsv").open() as keys,
    ):
        pairs = zip(csv.DictReader(scores, delimiter="\t"), csv.DictReader(keys, delimiter="\t"), strict=True)
        return [
            (key["asv-label"], *(float(one[f"{name}-score"]) for name in ("cm", "asv", "sasv"))) for one, key in pairs
        ]


def golden(case, column):
    key = read_utterance_labels(GOLDEN / case / "sasv_keys.tsv")
    return key, read_utterance_scores(GOLDEN / case / "sasv_scores.tsv", column=column)


# ---------------------------------------------------------------- brute force, in fractions; equal scores are one step


def rate(scores, keep):
    return Fraction(sum(map(keep, scores)), len(scores))


def steps(*kinds):
    return [*sorted({score for scores in kinds for score in scores}), math.inf]


def brute_a_dcf(trials, p_spoof, p_nontarget, cost_miss, cost_false_alarm, cost_false_alarm_spoof):
    prices = [Fraction(str(one)) for one in (p_spoof, p_nontarget, cost_miss, cost_false_alarm, cost_false_alarm_spoof)]
    p_spoof, p_nontarget, miss, false_alarm, spoof = prices
    weights = miss * (1 - p_spoof - p_nontarget), false_alarm * p_nontarget, spoof * p_spoof
    costs = []
    for tau in steps(*trials.values()):
        rejected = rate(trials["target"], lambda s: s < tau)  # noqa: B023
        accepted = [rate(trials[kind], lambda s: s >= tau) for kind in ("nontarget", "spoof")]  # noqa: B023
        costs.append(sum(w * r for w, r in zip(weights, (rejected, *accepted), strict=True)))
    return min(costs) / min(weights[0], weights[1] + weights[2])


def brute_t_eer(bona_fide, spoof, asv):
    """Every pair of thresholds, chosen as the authors' code chooses."""
    points = [(rate(bona_fide, lambda s: s < t), rate(spoof, lambda s: s >= t)) for t in steps(bona_fide, spoof)]  # noqa: B023
    best = None
    for tau in steps(*asv.values()):
        miss = rate(asv["target"], lambda s: s < tau)  # noqa: B023
        pfa, pfa_spoof = (rate(asv[kind], lambda s: s >= tau) for kind in ("nontarget", "spoof"))  # noqa: B023
        if not miss < (pfa + pfa_spoof) / 2 or not pfa_spoof:
            continue
        gaps = [abs(a + (1 - a) * miss - ((1 - a) * pfa + b * pfa_spoof) / 2) for a, b in points]
        a, b = points[gaps.index(min(gaps))]
        if a == 1:
            continue
        apart = abs(pfa / pfa_spoof - b / (1 - a))
        if best is None or apart < best[0]:
            best = apart, b * pfa_spoof
    return best[1]


def by_kind(rows, column):
    return {kind: [row[column] for row in rows if row[0] == kind] for kind in ("target", "nontarget", "spoof")}


# ---------------------------------------------------------------- the authors' code


@pytest.mark.parametrize(("name", "parameters"), [("default", AUTHORS), ("other", PRICES)])
def test_the_a_dcf_is_that_of_its_authors(name, parameters):
    wanted = {one: list(TOOLS[one]["a_DCF"].values())[name == "other"] for one in TOOLS}
    measure = spelled("a-dcf", parameters)
    for case in TOOLS:
        found = evaluate_utterances(*golden(case, "sasv-score"), [measure])[measure]
        assert found.exact_value == brute_a_dcf(by_kind(rows_of(case), 3), **parameters)
        # it splits equal scores, but rejects the targets among them first, which no least cost does
        assert found.value == pytest.approx(wanted[case], abs=1e-14)


def test_the_whole_package_of_asvspoof_5_track_2():
    tool = TOOLS["distinct"]["asvspoof5"]
    a_dcf = evaluate_utterances(*golden("distinct", "sasv-score"), ["utterance-a-dcf"])
    assert a_dcf["utterance-a-dcf"].value == pytest.approx(tool["a-dcf"], abs=1e-14)
    key, countermeasure = golden("distinct", None)
    found = evaluate_utterances(key, countermeasure, ["utterance-min-tdcf"], asv_rates=RATES)["utterance-min-tdcf"]
    assert found.value == pytest.approx(tool["min-tdcf"], abs=1e-14)
    assert f"|asv-rates:{RATES[0]!r},{RATES[1]!r},{RATES[2]!r}|" in found.signature.comparable
    assert "with rates as given, rejects 1.88 % of targets" in found.notes[0]
    asv = ss.read_verification_scores(GOLDEN / "distinct" / "asv_scores.txt")
    teer = evaluate_utterances(key, countermeasure, ["utterance-t-eer"], asv_scores=asv)["utterance-t-eer"]
    assert teer.value == pytest.approx(tool["t-eer"], abs=1e-14)
    printed = next(line for line in TOOLS["distinct"]["T-EER"] if "rho :0.5" in line)
    assert f"{100 * teer.value:.2f}" in printed


@pytest.mark.parametrize("case", TOOLS)
def test_the_t_eer_is_that_of_every_pair_of_thresholds(case):
    rows = rows_of(case)
    key, countermeasure = golden(case, "cm-score")
    asv = ss.read_verification_scores(GOLDEN / case / "asv_scores.txt")
    found = evaluate_utterances(key, countermeasure, ["utterance-t-eer"], asv_scores=asv)["utterance-t-eer"]
    spoof = [row[1] for row in rows if row[0] == "spoof"]
    if case == "ties":
        bona_fide = [row[1] for row in rows if row[0] != "spoof"]
        assert found.exact_value == brute_t_eer(bona_fide, spoof, by_kind(rows, 2))
        assert found.value == pytest.approx(TOOLS[case]["asvspoof5"]["t-eer"], abs=0.02)
    assert 0 < found.threshold < 1


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
@pytest.mark.parametrize("case", TOOLS)
def test_the_a_dcf_without_each_cluster_is_that_of_the_other_trials_at_its_threshold(case, higher):
    key, scores = golden(case, "sasv-score")
    if higher == "spoof":
        scores = UtteranceScores(scores.utterances, -scores.values, "spoof")
    measure = spelled("a-dcf", PRICES)
    clusters = {trial: f"c{k % 37}" for k, trial in enumerate(key)}
    how = ss.Resampling(clusters=clusters, clusters_are="speaker")
    found = evaluate_utterances(key, scores, [measure], resampling=how)[measure]
    sign = 1 if higher == "bonafide" else -1
    prices = [Fraction(str(PRICES[name])) for name in ("p_spoof", "p_nontarget")]
    weights = {
        "target": Fraction(str(PRICES["cost_miss"])) * (1 - sum(prices)),
        "nontarget": Fraction(str(PRICES["cost_false_alarm"])) * prices[1],
        "spoof": Fraction(str(PRICES["cost_false_alarm_spoof"])) * prices[0],
    }
    trivial = min(weights["target"], weights["nontarget"] + weights["spoof"])
    tau = sign * found.threshold

    def cost(without=None):
        total = Fraction(0)
        for kind, weight in weights.items():
            values = [sign * scores[trial] for trial in key if key[trial] == kind and clusters[trial] != without]
            wrong = sum((value < tau) == (kind == "target") for value in values)
            total += weight * Fraction(wrong, len(values))
        return total / trivial

    assert cost() == found.exact_value
    names = sorted(set(clusters.values()))
    left = [float(cost(name)) for name in names]
    mean = sum(left) / len(left)
    error = math.sqrt((len(left) - 1) / len(left) * sum((one - mean) ** 2 for one in left))
    assert found.interval.standard_error == pytest.approx(error, rel=0.05)
    system = measured_system(key, scores, ss.Measure.parse(measure), EvaluationOptions())
    clustered = Clusters.of(list(system.utterances), clusters)
    left_out = system.left_out(clustered)
    assert sorted(left_out.without.tolist()) == pytest.approx(sorted(left), abs=1e-12)
    assert found.interval.low < found.value < found.interval.high
    least = []
    for row in halves(left_out.bona_fide, left_out.spoof).tolist():
        half = {trial: kind for trial, kind in key.items() if row[clustered.unit_of[trial]]}
        values = np.array([scores[trial] for trial in half])
        least.append(evaluate_utterances(half, UtteranceScores(tuple(half), values, higher), [measure])[measure].value)
    assert left_out.optimism == pytest.approx((found.value - np.mean(least)) / (2 ** (2 / 3) - 1), abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_small_tandems_by_brute_force(seed):
    rng = random.Random(seed)
    kinds = ["target", "nontarget", "spoof", *rng.choices(["target", "nontarget", "spoof"], k=rng.randint(3, 12))]
    draw = lambda: [rng.randint(0, 5) + (kind == "target") for kind in kinds]  # noqa: E731
    cm, asv = draw(), draw()
    ids = tuple(f"t{k}" for k in range(len(kinds)))
    key = dict(zip(ids, kinds, strict=True))
    rows = list(zip(kinds, cm, asv, strict=True))
    verification = VerificationScores(*(np.array(scores, float) for scores in by_kind(rows, 2).values()))
    scores = UtteranceScores(ids, np.array(cm, float), "bonafide")
    measure = spelled("a-dcf", PRICES)
    assert evaluate_utterances(key, scores, [measure])[measure].exact_value == brute_a_dcf(by_kind(rows, 1), **PRICES)
    bona_fide, spoof = [s for k, s, _ in rows if k != "spoof"], [s for k, s, _ in rows if k == "spoof"]
    try:
        found = evaluate_utterances(key, scores, ["utterance-t-eer"], asv_scores=verification)["utterance-t-eer"]
    except ss.UndefinedMeasureError:
        with pytest.raises(TypeError):
            brute_t_eer(bona_fide, spoof, by_kind(rows, 2))
    else:
        assert found.exact_value == brute_t_eer(bona_fide, spoof, by_kind(rows, 2))
    mirrored = UtteranceScores(ids, -np.array(cm, float), "spoof")
    assert evaluate_utterances(key, mirrored, [measure])[measure].exact_value == brute_a_dcf(by_kind(rows, 1), **PRICES)


@pytest.mark.filterwarnings("ignore::spoofspan.base.errors.SpoofspanWarning")  # ties leave gaps
@pytest.mark.parametrize("case", TOOLS)
def test_the_eers_of_sasv_2022(case):
    names = [f"utterance-{name}" for name in TOOLS[case]["SASVC2022"]]
    found = evaluate_utterances(*golden(case, "sasv-score"), names, eer_rule="interpolated")
    # its root finder stops within 2e-12
    assert [found[name].value for name in names] == pytest.approx(list(TOOLS[case]["SASVC2022"].values()), abs=1e-11)
    rows = by_kind(rows_of(case), 3)
    nearest = evaluate_utterances(*golden(case, "sasv-score"), names)
    for name, others in zip(names, (("nontarget", "spoof"), ("nontarget",), ("spoof",)), strict=True):
        against = [score for kind in others for score in rows[kind]]
        points = [
            (rate(rows["target"], lambda s: s < t), rate(against, lambda s: s >= t))  # noqa: B023
            for t in steps(rows["target"], against)
        ]
        assert nearest[name].exact_value == sum(min(points, key=lambda one: abs(one[0] - one[1]))) / 2


# ---------------------------------------------------------------- act t-DCF


def test_the_actual_tandem_cost_is_that_of_the_threshold_which_its_constants_imply():
    key, scores = golden("distinct", "cm-score")
    names = ["utterance-act-tdcf", "utterance-min-tdcf"]
    found = evaluate_utterances(key, scores, names, asv_rates=RATES, scores_are="llr")
    pfa, pmiss, pfa_spoof = (Fraction(repr(one)) for one in RATES)
    c0 = Fraction("0.9405") * pmiss + Fraction("0.0095") * 10 * pfa
    c1, c2 = Fraction("0.9405") - c0, Fraction("0.05") * 10 * pfa_spoof
    rows = rows_of("distinct")
    tau = math.log(c2 / c1)
    fpr = rate([row[1] for row in rows if row[0] != "spoof"], lambda s: s < tau)
    fnr = rate([row[1] for row in rows if row[0] == "spoof"], lambda s: s >= tau)
    assert found["utterance-act-tdcf"].exact_value == (c0 + c1 * fpr + c2 * fnr) / (c0 + min(c1, c2))
    assert found["utterance-act-tdcf"].threshold == pytest.approx(tau)
    assert found["utterance-act-tdcf"].value >= found["utterance-min-tdcf"].value
    assert ",scores-are:llr|" in found["utterance-act-tdcf"].signature.comparable


def test_calibrated_scores_have_the_least_actual_cost():
    # 3 scores whose log-likelihood ratios are what the counts say: no other decision is better
    counts = {math.log(4): (8, 2), 0.0: (1, 1), math.log(1 / 7): (1, 7)}
    ids, values, key = [], [], {}
    for score, pair in counts.items():
        for label, amount in zip(("bonafide", "spoof"), pair, strict=True):
            for _ in range(amount):
                ids.append(f"u{len(ids)}")
                values.append(score)
                key[ids[-1]] = label
    scores = UtteranceScores(tuple(ids), np.array(values), "bonafide")
    for rates in (RATES, (0.3, 0.2, 0.9), (0.01, 0.4, 0.2)):
        for form in (2019, 2021):
            names = [f"utterance-{name}-tdcf@form={form},p_spoof=0.3" for name in ("act", "min")]
            found = evaluate_utterances(key, scores, names, asv_rates=rates, scores_are="llr")
            act, least = found.measurements.values()
            assert act.exact_value == least.exact_value


# ---------------------------------------------------------------- files, errors, the command line


def test_the_command_line_reads_keys_and_scores_of_trials(capsys):
    folder = GOLDEN / "distinct"
    sasv = ["--utterance-scores", folder / "sasv_scores.tsv", "--utterance-column", "sasv-score"]
    code, printed, said = run(["eval", folder / "sasv_keys.tsv", *sasv, "-m", "utterance-a-dcf"], capsys)
    assert code == 0, said
    assert printed.startswith("utterance-a-dcf@p_spoof=0.05") or "0.3679" in printed
    one_file = ["eval", folder / "a_dcf.txt", "--utterance-scores", folder / "a_dcf.txt", "--format", "json"]
    code, printed, said = run([*one_file, "-m", "utterance-a-dcf", "-m", "utterance-sv-eer"], capsys)
    assert code == 0, said
    by_tables = evaluate_utterances(*golden("distinct", "sasv-score"), ["utterance-a-dcf", "utterance-sv-eer"])
    values = [one["value"] for one in json.loads(printed)["measurements"]]
    assert values == [one.value for one in by_tables.measurements.values()]
    cm = ["eval", folder / "sasv_keys.tsv", "--utterance-scores", folder / "sasv_scores.tsv"]
    rates = ",".join(map(repr, RATES))
    code, printed, said = run([*cm, "-m", "utterance-min-tdcf", "--asv-rates", rates], capsys)
    assert code == 0, said
    assert "0.6029" in printed
    code, printed, said = run([*cm, "-m", "utterance-t-eer", "--asv-scores", folder / "asv_scores.txt"], capsys)
    assert code == 0, said
    assert "16.29 %" in printed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-m", "utterance-eer", "--asv-rates", "0.1,0.1,0.1"], "no measure needs them"),
        (["-m", "utterance-min-tdcf", "--asv-rates", "0.1,0.1"], "three shares"),
        (["-m", "utterance-min-tdcf", "--asv-rates", "a,b,c"], "write three numbers"),
        (["-m", "utterance-min-tdcf"], "--asv-rates"),
        (["-m", "utterance-t-eer", "--asv-rates", "0.1,0.1,0.1"], "not its rates"),
        (["-m", "utterance-a-dcf@p_spoof=0.9,p_nontarget=0.2"], "leave something for targets"),
        (["-m", "utterance-a-dcf", "--confidence", "0.95", "--interval", "bca"], "'jackknife-t' only"),
        (["-m", "utterance-sasv-eer", "--utterance-column", "x-score"], "no column 'x-score'"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_remedy(arguments, said, capsys):
    folder = GOLDEN / "distinct"
    command = ["eval", folder / "sasv_keys.tsv", "--utterance-scores", folder / "sasv_scores.tsv", *arguments]
    code, _, error = run(command, capsys)
    assert code == 2
    assert said in " ".join(error.split())


def test_labels_of_two_classes_have_no_trials(demo):
    scores = UtteranceScores(("a", "b"), np.array([0.9, 0.1]), "bonafide")
    with pytest.raises(ss.UsageError, match="target, nontarget or spoof"):
        evaluate_utterances({"a": "bonafide", "b": "spoof"}, scores, ["utterance-a-dcf"])
    with pytest.raises(ss.UsageError, match="target, nontarget or spoof"):
        ss.evaluate(*demo, ["utterance-sasv-eer"])
    with pytest.raises(ss.UndefinedMeasureError, match="no nontarget trial"):
        evaluate_utterances({"a": "target", "b": "spoof"}, scores, ["utterance-a-dcf"])


def test_targets_and_nontargets_are_bona_fide_to_a_countermeasure():
    key, scores = golden("distinct", "cm-score")
    plain = {trial: "spoof" if kind == "spoof" else "bonafide" for trial, kind in key.items()}
    by_trials, by_labels = (evaluate_utterances(one, scores)["utterance-eer"] for one in (key, plain))
    assert by_trials.value == by_labels.value
    assert by_trials.signature == by_labels.signature


def test_a_recording_tried_against_several_speakers_is_several_trials(tmp_path):
    key, scores = golden("ties", "sasv-score")
    assert len(key) == len(scores) == 700
    assert set(key) == set(scores.utterances)
    assert all(" " in trial for trial in key)
    assert next(iter(golden("distinct", None)[0])) == "E_0000"
    twice = tmp_path / "key.tsv"
    twice.write_text("spk\tfilename\tasv-label\ns\tu\ttarget\ns\tu\tspoof\n")
    with pytest.raises(ss.DataError, match=r"is listed at .*:2 already"):
        read_utterance_labels(twice)
    wrong = tmp_path / "wrong.tsv"
    wrong.write_text("spk\tfilename\tasv-label\ns\tu\ttarget\ns\tv\tfake\n")
    with pytest.raises(ss.DataError, match="must be target, nontarget or spoof, not 'fake'"):
        read_utterance_labels(wrong)
