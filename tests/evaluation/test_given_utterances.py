"""Utterance scores of a system's own, and the tandem cost: golden values, brute force, what is refused."""

import json
import math
import random
from fractions import Fraction
from pathlib import Path

import brute_force
import golden_cases
import numpy as np
import pytest
from command_line import evaluated, invoke
from outcomes import build
from random_corpora import random_case
from sklearn.metrics import roc_auc_score

import spoofspan as ss
from spoofspan.data.utterance_scores import VerificationScores
from spoofspan.formats.text.protocol import read_protocol, read_utterance_labels
from spoofspan.formats.text.utterance_tables import recognises_utterance_labels

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")

GOLDEN = Path(__file__).parents[1] / "golden" / "utterance"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
COLUMNS = {
    one["name"] if one["name"].endswith("ms") else "score": one["exact_ties_not_split"]
    for one in EXPECTED["generated"]["columns"]
}
TDCF = "p_spoof=0.05,p_nontarget=0.0095,cost_miss=1,cost_false_alarm=10,cost_false_alarm_spoof=10"


def refused(*arguments):
    result = invoke("eval", *arguments)
    assert isinstance(result.exception, ss.SpoofspanError), (result.output, result.exception)
    assert result.stdout == ""
    return result.exception


# ---------------------------------------------------------------- golden values from the files


@pytest.mark.parametrize("column", COLUMNS)
def test_a_protocol_and_a_log_give_the_numbers_of_the_script(column):
    found = evaluated(
        GOLDEN / "protocol.txt",
        "--utterance-scores",
        GOLDEN / "log_output_dev",
        "--utterance-column",
        column,
        "--asv-scores",
        GOLDEN / "asv_scores.txt",
        *("-m", "utterance-eer", "-m", "utterance-min-tdcf@form=2019", "-m", "utterance-min-tdcf"),
    )
    exact = COLUMNS[column]
    assert found["utterance-eer"]["value"] == float(Fraction(exact["eer"]["exact"]))
    assert found[f"utterance-min-tdcf@form=2019,{TDCF}"]["value"] == float(Fraction(exact["min_tDCF_legacy"]["exact"]))
    assert found[f"utterance-min-tdcf@form=2021,{TDCF}"]["value"] == float(Fraction(exact["min_tDCF_2021"]["exact"]))
    assert {one["unit"] for one in found.values()} == {"utterances"}
    assert all("|utterance-scores:given|" in one["signature"]["comparable"] for one in found.values())


def test_keys_and_scores_of_asvspoof_5_give_the_numbers_of_its_package():
    measures = [f"utterance-{name}" for name in ("eer", "min-dcf", "act-dcf", "cllr")]
    flags = [word for measure in measures for word in ("-m", measure)]
    scores = ["--utterance-scores", GOLDEN / "cm_scores.tsv", "--scores-are", "llr"]
    found = {name.partition("@")[0]: one for name, one in evaluated(GOLDEN / "cm_keys.tsv", *scores, *flags).items()}
    tool = EXPECTED["asvspoof5_generated"]["tool"]
    for name, key in zip(measures, ("eer", "minDCF", "actDCF", "Cllr_bits"), strict=True):
        assert found[name]["value"] == pytest.approx(tool[key], rel=0, abs=1e-12)


@pytest.mark.parametrize("spelling", ["text", "markdown", "latex", "csv"])
def test_every_format_prints_them(spelling):
    result = invoke(
        *("eval", GOLDEN / "protocol.txt", "--utterance-scores", GOLDEN / "log_output_dev"),
        *("--asv-scores", GOLDEN / "asv_scores.txt", "-m", "utterance-min-tdcf", "-m", "utterance-eer"),
        *("--format", spelling),
    )
    assert result.exit_code == 0, (result.output, result.exception)
    assert "0.5808" in result.stdout
    assert ("23.035714285714" if spelling == "csv" else "23.04") in result.stdout
    if spelling == "text":
        assert "note: utterance scores as given" in result.stdout
        assert "rejects 3.53 % of targets and accepts 4.29 % of non-targets and 75.86 % of spoofs" in result.stdout


# ---------------------------------------------------------------- against references, under the rules


def brute_utterances(case):
    """{utterance: (lowest score in bona fide polarity or None, bona fide ns, spoof ns)}, by the brute force."""
    rules = brute_force.Rules(**case.rules)
    both = brute_force.names_both_classes(case.references)
    found = {}
    for utterance in brute_force.chosen_utterances(case.references, case.scores, rules):
        duration = None if case.durations is None else case.durations.get(utterance)
        extent, labels = brute_force.reference_pieces(utterance, case.references[utterance], duration, both, rules)
        time = {
            name: sum(end - start for start, end, label in labels if label == name) for name in ("bonafide", "spoof")
        }
        if rules.utterances == "drop-bonafide-CON" and utterance.startswith("CON") and not time["spoof"]:
            continue
        if extent:
            found[utterance] = time["bonafide"], time["spoof"]
    return found


@pytest.mark.parametrize("batch", range(4))
def test_labels_of_references_follow_every_rule(batch):
    rng = random.Random(500 + batch)
    measured = 0
    for _ in range(150):
        case = random_case(rng)
        label = rng.choice(["any", "any", "majority", 0.3])
        given = {utt: round(rng.gauss(0, 1), 1) for utt in case.scores}
        sign = 1 if case.higher == "bonafide" else -1
        scores = ss.UtteranceScores(tuple(given), np.array([sign * one for one in given.values()]), case.higher)
        try:
            references, timed = build(case)
            found = ss.evaluate(
                references, timed, ["utterance-eer"], utterance_scores=scores, label=label, **case.rules
            )["utterance-eer"]
            expected_utterances = brute_utterances(case)
        except (ss.DataError, ss.UndefinedMeasureError, brute_force.BadData):
            continue
        share = {"any": None, "majority": Fraction(1, 2), 0.3: Fraction(3, 10)}[label]
        entries = []
        for utterance, (bona_fide, spoof) in expected_utterances.items():
            if bona_fide + spoof:
                is_spoof = spoof > 0 if share is None else spoof >= share * (bona_fide + spoof)
                entries.append((given[utterance], int(not is_spoof), int(is_spoof)))
        expected = brute_force.eer(entries, "error")
        assert found.exact_value == expected.value
        assert found.threshold == sign * expected.threshold
        assert found.utterances == len(expected_utterances)
        measured += 1
    assert measured > 40


def test_the_lowest_scores_given_as_utterance_scores_measure_the_same():
    case = golden_cases.load("ties")
    for scores, lowest in ((case.scores, np.min), (case.spoof_scores, np.max)):
        rows = [slice(*scores.offsets[i : i + 2]) for i in range(len(scores))]
        given = ss.UtteranceScores(
            scores.utterances, np.array([lowest(scores.values[row]) for row in rows]), scores.higher
        )
        measures = ["utterance-eer", "utterance-min-dcf", "utterance-auc", "utterance-f1", "range-eer"]
        plain = ss.evaluate(case.references, scores, measures)
        found = ss.evaluate(case.references, scores, measures, utterance_scores=given)
        for one, other in zip(plain.measurements.values(), found.measurements.values(), strict=True):
            assert (one.value, str(one.threshold)) == (other.value, str(other.threshold))
            same = one.measure == "range-eer"
            assert (one.signature == other.signature) == same
        by_hand = ss.evaluate_utterances(case.references, given, measures[:4])
        assert {one.value for one in by_hand.measurements.values()} <= {
            one.value for one in found.measurements.values()
        }
        assert by_hand["utterance-eer"].signature == found["utterance-eer"].signature


def test_the_auc_of_given_scores_equals_scikit_learn():
    labels = dict(
        zip(*(getattr(read_protocol(GOLDEN / "protocol.txt"), name) for name in ("utterance", "label")), strict=True)
    )
    scores = ss.read_utterance_scores(GOLDEN / "log_output_dev", column="80ms")
    found = ss.evaluate_utterances(labels, scores, ["utterance-auc"])["utterance-auc"].value
    is_spoof = [labels[utt] == "spoof" for utt in scores.utterances]
    assert found == pytest.approx(roc_auc_score(is_spoof, -scores.values), rel=1e-12)


def test_the_signature_knows_the_scores_and_the_labels_but_not_their_order():
    labels = {"a": "bonafide", "b": "spoof", "c": "spoof"}
    one = ss.UtteranceScores(("a", "b", "c"), np.array([0.5, 0.0, 0.1]), "bonafide")
    mirrored = ss.UtteranceScores(("c", "b", "a"), np.array([-0.1, -0.0, -0.5]), "spoof")
    other = ss.UtteranceScores(("a", "b", "c"), np.array([0.5, 0.0, 0.2]), "bonafide")
    signed = [ss.evaluate_utterances(labels, each)["utterance-eer"].signature for each in (one, mirrored, other)]
    assert signed[0] == signed[1]
    assert signed[0].comparable == signed[2].comparable
    assert signed[0].input != signed[2].input
    relabelled = ss.evaluate_utterances({**labels, "c": "bonafide"}, one)["utterance-eer"].signature
    assert relabelled.comparable != signed[0].comparable
    assert relabelled.input == signed[0].input


# ---------------------------------------------------------------- the tandem cost


def test_the_tandem_cost_of_lowest_scores_and_its_parameters():
    """By hand: at every threshold, from the published formula with the verification rates of the golden file."""
    case = golden_cases.load("full_cover")
    asv = ss.read_verification_scores(GOLDEN / "asv_scores.txt")
    measure = "utterance-min-tdcf@p_spoof=0.2,p_nontarget=0.1,cost_miss=2,cost_false_alarm=3,cost_false_alarm_spoof=4"
    found = ss.evaluate(case.references, case.scores, [measure], asv_scores=asv)[measure]
    rates = {name: Fraction(EXPECTED["generated"]["asv"][name]["exact"]) for name in ("Pfa", "Pmiss", "Pfa_spoof")}
    always = Fraction(7, 10) * 2 * rates["Pmiss"] + Fraction(1, 10) * 3 * rates["Pfa"]
    of_misses, of_false_alarms = Fraction(7, 10) * 2 - always, Fraction(2, 10) * 4 * rates["Pfa_spoof"]
    rows = [slice(*case.scores.offsets[i : i + 2]) for i in range(len(case.scores))]
    lowest = [float(case.scores.values[row].min()) for row in rows]
    spoofed = {
        utt: bool(one.any())
        for utt, one in zip(
            case.references.utterances,
            np.split(case.references.labels == 1, case.references.offsets[1:-1]),
            strict=True,
        )
    }
    is_spoof = [spoofed[utt] for utt in case.scores.utterances]
    costs = []
    for tau in [*lowest, math.inf]:
        called = [score < tau for score in lowest]
        fpr = Fraction(sum(c and not s for c, s in zip(called, is_spoof, strict=True)), is_spoof.count(False))
        fnr = Fraction(sum(s and not c for c, s in zip(called, is_spoof, strict=True)), is_spoof.count(True))
        costs.append((always + of_misses * fpr + of_false_alarms * fnr) / (always + min(of_misses, of_false_alarms)))
    assert found.exact_value == min(costs)
    assert f"|{asv.signed}|" in found.signature.comparable
    with pytest.raises(ss.UsageError, match="asv_scores="):
        ss.evaluate(case.references, case.scores, ["utterance-min-tdcf"])
    with pytest.raises(ss.UsageError, match="form=2020"):
        ss.evaluate(case.references, case.scores, ["utterance-min-tdcf@form=2020"], asv_scores=asv)
    with pytest.raises(ss.UsageError, match="no measure 'range-min-tdcf'"):
        ss.evaluate(case.references, case.scores, ["range-min-tdcf"], asv_scores=asv)


def test_numbers_of_another_verification_system_are_not_comparable():
    trials = {"target": np.array([2.0, 3.0]), "nontarget": np.array([0.0, 1.0]), "spoof": np.array([2.5, 0.5])}
    one, same, other = (
        VerificationScores(**{**trials, "spoof": np.array(spoof)}) for spoof in ([2.5, 0.5], [0.5, 2.5], [2.5, 0.6])
    )
    assert one.signed == same.signed != other.signed


def test_two_parameters_never_share_a_spelling():
    spelled = [str(ss.Measure.parse(f"utterance-min-dcf@p_spoof={p}")) for p in ("0.05", "0.05000001", "5e-2")]
    assert spelled[0] == spelled[2] != spelled[1]
    assert (
        ss.Measure.parse(spelled[1]).parameters == ss.Measure.parse("utterance-min-dcf@p_spoof=0.05000001").parameters
    )


def test_a_tandem_cost_is_the_same_in_shards(tmp_path):
    folder = GOLDEN.parent / "short_tail"
    inputs = [folder / "rttm_2cls_0sil", folder / "unit0.02.score.gz", "--durations", folder / "reco2dur"]
    told = ["--uncovered", "hold", "-m", "utterance-min-tdcf", "--asv-scores", GOLDEN / "asv_scores.txt"]
    assert evaluated(*inputs, *told, "--stream") == evaluated(*inputs, *told, "--no-stream")


# ---------------------------------------------------------------- a development threshold


def test_a_development_threshold_of_given_scores_survives_json_and_float32(tmp_path):
    """At equality, one bit of the threshold decides about an utterance."""
    values = np.float32([0.1, 0.7, 0.3, 0.2, 0.9, 0.6])
    labels = ["spoof", "bonafide", "bonafide", "spoof", "bonafide", "spoof"]
    keys, scores = tmp_path / "keys.tsv", tmp_path / "scores.tsv"
    keys.write_text("filename\tcm-label\n" + "".join(f"u{i}\t{label}\n" for i, label in enumerate(labels)))
    # one file has the digits of float32, the other those of the same numbers as doubles
    scores.write_text("filename\tcm-score\n" + "".join(f"u{i}\t{float(value)!r}\n" for i, value in enumerate(values)))
    inputs = [keys, "--utterance-scores", scores]
    dev = tmp_path / "dev.json"
    assert invoke("eval", *inputs, "--format", "json", "--out", dev).exit_code == 0
    threshold = json.loads(dev.read_text())["measurements"][0]["threshold"]
    assert threshold in values.astype(float)
    at_own = evaluated(*inputs, "-m", "utterance-fnr", "-m", "utterance-fpr")
    at_dev = evaluated(*inputs, "-m", "utterance-fnr", "-m", "utterance-fpr", "--threshold-from", dev)
    assert [one["value"] for one in at_dev.values()] == [one["value"] for one in at_own.values()]


def test_thresholds_of_given_and_of_lowest_scores_are_not_mixed_up(tmp_path):
    case = golden_cases.load("saturated")
    folder, given, dev = GOLDEN.parent / "saturated", tmp_path / "given.tsv", tmp_path / "dev.json"
    given.write_text(
        "filename\tcm-score\n" + "".join(f"{utt}\t{i % 7}\n" for i, utt in enumerate(case.scores.utterances))
    )
    inputs = [folder / "psm_label.txt", folder / "unit0.02.score.gz"]
    assert invoke("eval", *inputs, "--format", "json", "--out", dev).exit_code == 0
    told = ["-m", "utterance-f1", "--threshold-from", dev]
    assert "given utterance scores" in str(refused(*inputs, *told, "--utterance-scores", given))
    assert evaluated(*inputs, *told)
    assert (
        invoke("eval", *inputs, "--utterance-scores", given, "--format", "json", "--out", dev, "--force").exit_code == 0
    )
    assert "lowest scores" in str(refused(*inputs, *told))
    assert evaluated(*inputs, *told, "--utterance-scores", given)


# ---------------------------------------------------------------- what is refused


def asv5(tmp_path, lines, name="scores.tsv"):
    path = tmp_path / name
    path.write_text("filename\tcm-score\n" + "".join(f"{line}\n" for line in lines))
    return path


def keys5(tmp_path, **labels):
    path = tmp_path / "keys.tsv"
    path.write_text("filename\tcm-label\n" + "".join(f"{utt}\t{label}\n" for utt, label in labels.items()))
    return path


def test_bad_utterance_scores_name_the_line_and_the_utterance(tmp_path):
    keys = keys5(tmp_path, a="bonafide", b="spoof")
    for lines, words in (
        (["a\t0.5", "b\tnan"], ["scores.tsv:3", "'b'", "NaN"]),
        (["a\t0.5", "b\t0.1", "a\t0.2"], ["scores.tsv:4", "'a'", "already"]),
        (["a\t0.5"], ["'b'", "label but no score"]),
        (["a\t0.5", "b\t0.1", "c\t0.1"], ["'c'", "score but no label"]),
    ):
        error = refused(keys, "--utterance-scores", asv5(tmp_path, lines))
        assert error.exit_code == 3
        assert all(word in str(error) for word in words), error
    found = evaluated(keys, "--utterance-scores", asv5(tmp_path, ["a\t0.5", "b\t0.1", "c\t0.1"]), "--partial")
    assert found["utterance-eer"]["touched"]["partial"]["utterances"] == 1
    one_class = refused(keys5(tmp_path, a="spoof", b="spoof"), "--utterance-scores", asv5(tmp_path, ["a\t1", "b\t2"]))
    assert one_class.exit_code == 4


def test_utterances_on_one_side_only_are_refused_with_references_too():
    case = golden_cases.load("full_cover")
    some = ss.UtteranceScores((*case.scores.utterances[1:], "more"), np.zeros(len(case.scores)), "bonafide")
    with pytest.raises(ss.DataError, match="has references but no scores") as error:
        ss.evaluate_utterances(case.references, some)
    assert "'more' has scores but no references" in str(error.value)
    found = ss.evaluate_utterances(case.references, some, partial=True)["utterance-eer"]
    assert (found.utterances, found.touched["partial"].utterances) == (len(case.scores) - 1, 2)


def test_bad_labels_name_the_line(tmp_path):
    scores = ["--utterance-scores", asv5(tmp_path, ["a\t0.5", "b\t0.1"])]
    assert "keys.tsv:3: utterance 'b'" in str(refused(keys5(tmp_path, a="bonafide", b="banana"), *scores))
    path = keys5(tmp_path, a="bonafide", b="spoof")
    path.write_text(path.read_text() + "a\tspoof\n")
    assert "a second time" in str(refused(path, *scores))
    path.write_text("filename\tcm-label\n")
    assert "header only" in str(refused(path, *scores))
    path.write_text("filename\tcm-label\na\tspoof\tx\n")
    assert "instead of" in str(refused(path, *scores))
    path.write_text("utterance,label\na,banana\nb,spoof\n")
    assert "'a': the label must be bonafide or spoof" in str(refused(path, *scores))


def test_a_table_of_labels_is_as_good_as_a_protocol(tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text("utterance,speaker,label\na,S1,bonafide\nb,S2,spoof\n")
    scores = asv5(tmp_path, ["a\t0.5", "b\t0.1"])
    protocol = tmp_path / "protocol.txt"
    protocol.write_text("S1 a - - bonafide\nS2 b - A07 spoof\n")
    keys = keys5(tmp_path, a="bonafide", b="spoof")
    found = [evaluated(one, "--utterance-scores", scores)["utterance-eer"] for one in (table, protocol, keys)]
    assert found[0] == found[1] == found[2]
    assert read_utterance_labels(table) == {"a": "bonafide", "b": "spoof"}
    assert not recognises_utterance_labels(b"utterance,start,end,label\na,0,1,spoof\n")
    assert not recognises_utterance_labels(b"")


def test_options_that_would_not_be_used_are_refused(tmp_path):
    keys, scores = keys5(tmp_path, a="bonafide", b="spoof"), asv5(tmp_path, ["a\t0.5", "b\t0.1"])
    folder = GOLDEN.parent / "saturated"
    timed = [folder / "psm_label.txt", folder / "unit0.02.score.gz"]
    alone = [keys, "--utterance-scores", scores]
    for arguments, words in (
        ([*timed, "--utterance-scores", scores, "-m", "range-eer"], "no measure of utterances"),
        ([*timed, "--asv-scores", GOLDEN / "asv_scores.txt"], "no measure needs them"),
        ([*timed, "--utterance-column", "20ms"], "goes with --utterance-scores"),
        ([*alone, "-m", "utterance-min-tdcf"], "asv_scores="),
        ([*alone, "-m", "range-eer", "-m", "utterance-eer"], "range-eer needs scores in time"),
        ([*alone, "--gaps", "bonafide"], "'gaps' is about time"),
        ([*alone, "--per-utterance", tmp_path / "u.csv"], "--per-utterance needs scores in time"),
        ([*alone, "--per-utterance", tmp_path / "u.csv", "--threshold", "0.1"], "--per-utterance needs scores in time"),
        ([*alone, "--by", "length"], "--by length needs scores in time"),
        ([*alone, "--by", "attack"], "no column 'attack'"),
        ([*timed, "--utterance-scores", scores, "--stream"], "in memory"),
        ([keys], "give SCORES after REFERENCES"),
        ([keys, timed[1]], "looks like utterance labels, not references"),
        ([keys, scores, "-m", "range-eer"], "no measure of utterances"),
    ):
        error = refused(*arguments)
        assert words in str(error), error
        assert error.exit_code == 2
    with pytest.raises(ss.UsageError, match="rounded"):
        ss.evaluate_utterances(golden_cases.load("ties").references, ss.read_utterance_scores(scores), label="rounded")


def test_references_alone_are_enough_for_utterance_scores(tmp_path):
    case = golden_cases.load("gaps")
    lines = [f"{utt}\t{i % 5}" for i, utt in enumerate(case.scores.utterances)]
    scores = ["--utterance-scores", asv5(tmp_path, lines)]
    folder = GOLDEN.parent / "gaps"
    references = [folder / "psm_label.txt", "--gaps", "bonafide"]
    alone = evaluated(*references, *scores)
    timed = evaluated(references[0], folder / "unit0.02.score.gz", *references[1:], *scores, "-m", "utterance-eer")
    assert alone == timed
    assert alone["utterance-eer"]["touched"]["gaps"]["utterances"] == 40
    assert "without a label" in str(refused(folder / "psm_label.txt", *scores))


def test_either_side_may_come_from_standard_input(tmp_path):
    keys, scores = keys5(tmp_path, a="bonafide", b="spoof"), asv5(tmp_path, ["a\t0.5", "b\t0.1"])
    rttm = tmp_path / "ref.rttm"
    line = "SPEAKER {} 1 0.000 1.000 <NA> <NA> {} <NA> <NA>\n"
    rttm.write_text(line.format("a", "bonafide") + line.format("b", "spoof"))
    protocol = tmp_path / "protocol.txt"
    protocol.write_text("S1 a - - bonafide\nS2 b - A07 spoof\n")
    for references in (keys, rttm, protocol):
        from_file = invoke("eval", references, "--utterance-scores", scores)
        assert from_file.exit_code == 0
        piped = invoke("eval", "-", "--utterance-scores", scores, input=references.read_text())
        assert piped.stdout == from_file.stdout
        piped = invoke("eval", references, "--utterance-scores", "-", input=scores.read_text())
        assert piped.stdout == from_file.stdout
