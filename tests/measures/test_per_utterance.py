"""Errors, rates and own EERs of each utterance: brute force in fractions, scikit-learn, and the utterance alone."""

import csv
import json
import math
import random
from fractions import Fraction
from pathlib import Path

import brute_force
import golden_cases
import jsonschema
import numpy as np
import pyarrow.parquet as pq
import pytest
from command_line import invoke
from drawn_corpora import references_of, scores_of
from hypothesis import given, settings
from hypothesis import strategies as st
from outcomes import build
from random_corpora import random_case
from sklearn.metrics import jaccard_score, precision_recall_fscore_support, roc_curve

import spoofspan as ss
import spoofspan.demo
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.mass import ranges as laying
from spoofspan.measures.catalogue import KINDS
from spoofspan.measures.confusion import formula_of
from spoofspan.measures.operating_point import OperatingPoint
from spoofspan.measures.per_utterance import UtteranceErrors

pytestmark = [pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"), pytest.mark.quick]

CASES, BATCHES = 2400, 8
SAMPLE_NS = 62_500
GOLDEN = Path(__file__).parents[1] / "golden"
SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schema/utterances.json").read_text(encoding="utf-8"))
RATES = ("false_positive_rate", "false_negative_rate", "precision", "recall", "f1", "iou")


def same(found, expected):
    """Equal to the last bit, or both without a value."""
    return found == expected or (math.isnan(found) and math.isnan(expected))


# ---------------------------------------------------------------- against the brute force


def share(above, below):
    return float(Fraction(above, below)) if below else math.nan


def brute_rates(entries, tau, uncovered):
    """The six rates of an utterance's entries (score, bona fide ns, spoof ns), in fractions."""
    cells = brute_force.confusion(entries, tau, uncovered)
    bona_fide, spoof = sum(entry[1] for entry in entries), sum(entry[2] for entry in entries)
    return {
        "false_positive_rate": share(cells.fp, bona_fide),
        "false_negative_rate": share(cells.fn, spoof),
        "precision": share(cells.tp, cells.tp + cells.fp),
        "recall": share(cells.tp, spoof),
        "f1": share(2 * cells.tp, cells.tp + cells.fp + spoof) if spoof else math.nan,
        "iou": share(cells.tp, cells.fp + spoof) if spoof else math.nan,
    }


def brute_eer(entries, uncovered, eer_rule):
    try:
        found = brute_force.eer(entries, uncovered, eer_rule)
    except brute_force.Undefined:
        return math.nan, math.nan
    return float(found.value), found.threshold


@pytest.mark.slow_cases("^[1-7]$")
@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_utterance_equals_the_brute_force_under_every_rule(batch, monkeypatch):
    monkeypatch.setattr(laying, "ROWS_PER_BLOCK", 7)  # several blocks
    monkeypatch.setattr(laying, "FRAMES_PER_BLOCK", 7)
    rng = random.Random(4000 + batch)
    compared = with_eer = 0
    for _ in range(CASES // BATCHES):
        case = random_case(rng)
        eer_rule = rng.choice(["nearest", "interpolated"])
        sign = 1 if case.higher == "bonafide" else -1
        tau = rng.choice([value for rows in case.scores.values() for *_, value in rows] or [0.0])
        try:
            references, scores = build(case)
            found = ss.errors_by_utterance(references, scores, tau, own_eer=True, eer_rule=eer_rule, **case.rules)
        except ss.SpoofspanError:
            continue
        uncovered = case.rules["uncovered"]
        for utterance in case.scores.keys() & case.references.keys():
            one = {**case.inputs(), "scores": {utterance: case.scores[utterance]}}
            entries = brute_force.range_entries(**one, **{**case.rules, "partial": True})
            if utterance not in found.utterances:
                assert not entries
                continue
            i = found.utterances.index(utterance)
            for name, expected in brute_rates(entries, sign * tau, uncovered).items():
                assert same(getattr(found, name)[i], expected), (name, case)
            value, threshold = brute_eer(entries, uncovered, eer_rule)
            assert same(found.eers.values[i], value), case
            assert same(found.eers.thresholds[i], sign * threshold), case
            assert math.copysign(1, found.eers.thresholds[i]) == math.copysign(1, found.eers.thresholds[i] + 0.0)
            undefined = [math.isnan(getattr(found, name)[i]) for name in RATES] + [math.isnan(value)]
            assert any(undefined) == bool(found.reasons[i])
            compared, with_eer = compared + 1, with_eer + (not math.isnan(value))
    assert compared > CASES // BATCHES
    assert with_eer > CASES // BATCHES // 4


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_own_eers_have_the_bits_of_the_utterance_measured_alone(seed, dtype, monkeypatch):
    monkeypatch.setattr(laying, "ROWS_PER_BLOCK", 1000)
    monkeypatch.setattr(laying, "FRAMES_PER_BLOCK", 1000)
    rng = np.random.default_rng(seed)
    higher = ["bonafide", "spoof"][seed % 2]
    frames, ranges = {}, {}
    for i in range(60):
        count = int(rng.integers(1, 90))
        values = rng.normal(size=count).astype(dtype)
        values[rng.random(count) < 0.3] = rng.choice([-0.0, 0.0, 0.5, np.inf, -np.inf])
        frames[f"u{i}"] = np.round(values, 1) if i % 3 else values
        cut = float(rng.uniform(0, count * 0.02))
        labels = [["bonafide", "spoof"], ["spoof", "bonafide"], ["spoof", "spoof"]][i % 3]
        ranges[f"u{i}"] = [(0.0, cut, labels[0]), (cut, count * 0.02, labels[1])]
    references = ss.References.from_ranges(ranges)
    scores = ss.Scores.from_frames(frames, hop=0.02, higher=higher)
    found = ss.errors_by_utterance(references, scores, own_eer=True)
    for i, utterance in enumerate(found.utterances):
        alone = ss.range_eer(references.take(np.array([i])), scores.take(np.array([i])), undefined="nan")
        assert same(found.eers.values[i], alone.value), utterance
        assert same(found.eers.thresholds[i], alone.threshold), utterance
    assert np.isnan(found.eers.values).sum() == 20  # the utterances with one class


HUGE = st.integers(2**55, 2**57)
STEPS = st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=2, max_size=9)


@settings(max_examples=200, deadline=None)
@given(HUGE, HUGE, st.integers(-3, 3), STEPS, st.sampled_from(["nearest", "interpolated"]))
def test_rates_that_doubles_cannot_tell_apart_are_compared_in_integers(less, more, off, steps, eer_rule):
    """Years of audio, and a few nanoseconds around the crossing: FPR - FNR differs in the 17th digit there."""
    entries = [
        (-1.0, less, more),
        *((k / 16, *((ns, 0) if bona_fide else (0, ns))) for k, (ns, bona_fide) in enumerate(steps)),
    ]
    entries.append((1.0, more, less + off))
    rows, labels, instant = [], [], 0
    for score, *amounts in entries:
        for label, amount in enumerate(amounts):
            if amount:
                rows.append((instant, instant + amount, score))
                labels.append((instant, instant + amount, label))
                instant += amount
    references = references_of({"a": labels, "b": labels}, {"a": instant, "b": instant})
    found = ss.errors_by_utterance(references, scores_of({"a": rows, "b": rows}), 0.0, own_eer=True, eer_rule=eer_rule)
    expected = brute_force.eer(entries, "error", eer_rule)
    assert found.eers.values.tolist() == [float(expected.value)] * 2
    assert found.eers.thresholds.tolist() == [expected.threshold] * 2
    for name, value in brute_rates(entries, 0.0, "error").items():
        assert all(same(one, value) for one in getattr(found, name)), name


# ---------------------------------------------------------------- against scikit-learn


def samples(references, scores, i):
    """Whether it is spoof, and the score, of each sample at 16 kHz of utterance i."""
    tick = SAMPLE_NS
    rows = slice(references.offsets[i], references.offsets[i + 1])
    ends = references.ends[rows] // tick
    is_spoof = np.repeat(references.labels[rows] == 1, np.diff(ends, prepend=0))
    frame = np.minimum(np.arange(is_spoof.size) * tick // 20_000_000, scores.offsets[i + 1] - scores.offsets[i] - 1)
    return is_spoof, scores.values[scores.offsets[i] + frame]


@pytest.fixture(scope="module")
def demo():
    corpus = spoofspan.demo.load()
    return corpus.references, corpus.systems[0.02]


def test_rates_and_own_eers_equal_scikit_learn_on_samples(demo):
    references, scores = demo
    assert not (np.concatenate([references.starts, references.ends]) % SAMPLE_NS).any()
    assert references.utterances == scores.utterances
    errors = ss.errors_by_utterance(references, scores, own_eer=True)
    tau = ss.range_eer(references, scores).threshold
    for i in range(len(errors.utterances)):
        truth, values = samples(references, scores, i)
        called = values < tau
        if truth.any():
            expected = precision_recall_fscore_support(truth, called, average="binary", zero_division=np.nan)
            for name, value in zip(("precision", "recall", "f1"), expected[:3], strict=True):
                if not np.isnan(value):  # scikit-learn has no F1 where it has no precision
                    assert getattr(errors, name)[i] == pytest.approx(value, rel=1e-12)
            assert errors.iou[i] == pytest.approx(jaccard_score(truth, called), rel=1e-12)
        else:
            assert np.isnan([errors.recall[i], errors.f1[i], errors.iou[i], errors.false_negative_rate[i]]).all()
        if 0 < truth.sum() < truth.size:
            fpr, tpr, _ = roc_curve(truth, -values, drop_intermediate=False)
            gaps = np.abs(fpr + tpr - 1)
            nearest = [(fpr[k] + 1 - tpr[k]) / 2 for k in np.flatnonzero(gaps < gaps.min() + 1e-12)]
            assert any(errors.eers.values[i] == pytest.approx(one, abs=1e-12) for one in nearest)
        else:
            assert np.isnan(errors.eers.values[i])
    assert 0 < np.isnan(errors.eers.values).sum() < len(errors.utterances)


# ---------------------------------------------------------------- formulas of single utterances


@given(
    st.lists(st.tuples(*[st.integers(0, 2**59)] * 4), min_size=1, max_size=5),
    st.sampled_from([name for name, kind in KINDS.items() if kind.at_threshold and not kind.of_boundaries]),
)
def test_a_measure_of_each_utterance_is_that_of_its_operating_point(cells, name):
    columns = (np.array(column) for column in zip(*cells, strict=True))
    false_positive, rest_negative, false_negative, rest_positive = columns
    errors = UtteranceErrors(
        tuple(map(str, range(len(cells)))),
        false_positive + rest_negative,
        false_negative + rest_positive,
        false_positive,
        false_negative,
    )
    for i, found in enumerate(errors.values_of(name)):
        amounts = (false_positive, false_negative, errors.bona_fide, errors.spoof)
        point = OperatingPoint(0.0, "bonafide", *(int(column[i]) for column in amounts))
        try:
            assert found == float(formula_of(name).at(point))
        except ss.UndefinedMeasureError:
            assert np.isnan(found)


def test_unanswered_time_is_neither_right_nor_wrong():
    references = ss.References.from_ranges({"u": [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof")]})
    scores = ss.Scores.from_ranges({"u": [(0.0, 0.5, 1.0), (1.0, 1.75, -1.0), (1.75, 1.8, 1.0)]}, higher="bonafide")
    errors = ss.errors_by_utterance(references, scores, 0.0, uncovered="unanswered", slack=0.0)
    assert (errors.unanswered_bona_fide.tolist(), errors.unanswered_spoof.tolist()) == ([500_000_000], [200_000_000])
    assert (errors.recall[0], errors.false_negative_rate[0], errors.precision[0]) == (0.75, 0.05, 1.0)
    macro = ss.evaluate(references, scores, ["range-recall-macro"], threshold=0.0, uncovered="unanswered", slack=0.0)
    assert macro["range-recall-macro"].value == 0.75


def test_without_a_value_there_is_a_reason_and_never_a_number():
    references = ss.References.from_ranges(
        {
            "bona fide": [(0.0, 1.0, "bonafide")],
            "spoof": [(0.0, 1.0, "spoof")],
            "both": [(0, 0.5, "bonafide"), (0.5, 1, "spoof")],
        }
    )
    scores = ss.Scores.from_ranges({utt: [(0.0, 1.0, 0.5)] for utt in references.utterances}, higher="bonafide")
    errors = ss.errors_by_utterance(references, scores, 0.5, own_eer=True)
    assert dict(zip(errors.utterances, errors.reasons, strict=True)) == {
        "bona fide": "no spoofed time; nothing is called spoof",
        "spoof": "no bona fide time; nothing is called spoof",
        "both": "nothing is called spoof",
    }
    assert np.isnan(errors.precision).all()
    assert errors.eers.values.tolist()[2] == 0.5
    # nothing is called spoof: precision has no value, but F1 and IoU are 0 where there is spoof to find
    assert errors.f1.tolist()[1:] == errors.iou.tolist()[1:] == [0.0, 0.0]


def test_own_eers_need_an_eer_rule_of_single_points_and_scores():
    case = golden_cases.load("full_cover")
    for rule in ("convex-hull", "bucketed(-9,9,100)"):
        with pytest.raises(ss.UsageError, match="nearest or interpolated"):
            ss.errors_by_utterance(case.references, case.scores, 0.0, own_eer=True, eer_rule=rule)
    decisions = ss.Scores.from_decisions({"u": [(0.0, 1.0, "spoof")]})
    references = ss.References.from_ranges({"u": [(0.0, 0.5, "bonafide"), (0.5, 1.0, "spoof")]})
    with pytest.raises(ss.UndefinedMeasureError, match="hard decisions"):
        ss.errors_by_utterance(references, decisions, 0.5, own_eer=True)
    assert ss.errors_by_utterance(references, decisions).false_positive.tolist() == [500_000_000]
    with pytest.raises(ss.UsageError, match="NaN"):
        ss.errors_by_utterance(references, decisions, math.nan)


# ---------------------------------------------------------------- files


def files(name="short_tail"):
    folder = GOLDEN / name
    return [folder / "psm_label.txt", folder / "unit0.02.score.gz", "--uncovered", "hold"]


def test_csv_json_and_parquet_have_the_same_rows(tmp_path):
    targets = [tmp_path / name for name in ("u.csv", "u.json", "u.parquet", "u.csv.gz")]
    for target in targets:
        result = invoke("eval", *files(), "-m", "range-eer", "--per-utterance", target, "--own-eer")
        assert result.exit_code == 0, (result.output, result.exception)
        assert "errors of 40 utterances (spoof iff score > " in result.output
    rows = list(csv.DictReader(targets[0].read_text(encoding="utf-8").splitlines()))
    whole = json.loads(targets[1].read_text(encoding="utf-8"))
    jsonschema.validate(whole, SCHEMA)
    assert whole["decision"] == f"spoof iff score > {whole['threshold']!r}"
    columns = pq.read_table(targets[2]).to_pylist()
    assert whole["utterances"] == columns
    assert [{name: "" if value is None else str(value) for name, value in row.items()} for row in columns] == rows
    some = [row for row in columns if row["spoof_seconds"] == 0]
    assert some
    assert all(row["recall"] is None and row["eer"] is None and "no spoofed time" in row["undefined"] for row in some)
    case = golden_cases.load("short_tail")
    alone = {utt: i for i, utt in enumerate(case.references.utterances)}
    for row in columns:
        if row["eer"] is not None:
            i = np.array([alone[row["utterance"]]])
            measured = ss.range_eer(case.references.take(i), case.spoof_scores.take(i), uncovered="hold")
            assert (measured.value, measured.threshold) == (row["eer"], row["eer_threshold"])


def test_the_table_is_taken_at_the_threshold_of_a_range_measure(tmp_path):
    def seconds(*told):
        target = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        result = invoke("eval", *files(), *told, "--per-utterance", target)
        assert result.exit_code == 0, (result.output, result.exception)
        return json.loads(target.read_text(encoding="utf-8"))

    at_eer = seconds("-m", "range-eer")
    # points, utterances and measures over all thresholds have no threshold for ranges
    for measure in ("utterance-eer", "point-eer@40ms", "range-auc"):
        assert seconds("-m", measure) == at_eer
    given = seconds("-m", "range-eer", "--threshold", "0.75")
    assert given["threshold"] == 0.75
    assert given != at_eer
    dev = tmp_path / "dev.json"
    assert invoke("eval", *files(), "--format", "json", "--out", dev).exit_code == 0
    assert (
        seconds("-m", "utterance-f1", "--threshold-from", dev) == at_eer
    )  # a threshold of utterances is none of ranges
    assert seconds("-m", "range-f1", "--threshold-from", dev) == at_eer
    constrained = seconds("-m", "range-fnr@fpr=0.01")
    called = sum(row["false_positive_seconds"] for row in constrained["utterances"])
    assert 0 < called <= 0.01 * sum(row["bona_fide_seconds"] for row in constrained["utterances"])


def test_shards_have_the_same_rows(tmp_path):
    told = ["-m", "range-eer", "--own-eer"]
    folder = GOLDEN / "short_tail"
    inputs = [folder / "rttm_2cls_0sil", folder / "unit0.02.score.gz", "--durations", folder / "reco2dur"]
    for name, more in (("a.csv", ["--no-stream"]), ("b.csv", ["--stream"])):
        result = invoke("eval", *inputs, "--uncovered", "hold", *told, *more, "--per-utterance", tmp_path / name)
        assert result.exit_code == 0, (result.output, result.exception)
    whole, streamed = ((tmp_path / name).read_text().splitlines() for name in ("a.csv", "b.csv"))
    assert whole[0] == streamed[0]
    assert sorted(whole) == sorted(streamed)
    with ss.sharded(
        folder / "rttm_2cls_0sil", folder / "unit0.02.score.gz", durations=folder / "reco2dur", shards=3
    ) as shards:
        at = OperatingPoint(0.1, "bonafide", 0, 0, 0, 0)
        found = shards.errors_by_utterance(at, EvaluationOptions(rules={"uncovered": "hold"}), own_eer=True)
    read = (
        ss.read_references(folder / "rttm_2cls_0sil", durations=folder / "reco2dur"),
        ss.read_scores(folder / "unit0.02.score.gz"),
    )
    expected = ss.errors_by_utterance(*read, 0.1, own_eer=True, uncovered="hold").sorted()
    assert found.utterances == expected.utterances
    np.testing.assert_array_equal(found.eers.values, expected.eers.values)
    np.testing.assert_array_equal(found.true_positive, expected.true_positive)


def test_own_eer_without_a_file_to_write_is_refused():
    assert "--per-utterance" in str(invoke("eval", *files(), "--own-eer").exception)


def test_own_eers_of_a_convention_with_buckets_are_refused_before_anything_is_printed(tmp_path):
    told = ["--own-eer", "--per-utterance", tmp_path / "u.csv", "--convention", "wedefense"]
    result = invoke("eval", *files(), "-m", "range-eer", *told)
    assert "nearest or interpolated, not bucketed" in str(result.exception)
    assert (result.stdout, (tmp_path / "u.csv").exists()) == ("", False)
    assert invoke("eval", *files(), "-m", "range-eer", *told, "--eer-rule", "nearest").exit_code == 0
