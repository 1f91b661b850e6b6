"""Every measure by its spelling: through evaluate, through shards, and through the command line."""

import json

import numpy as np
import pytest
from command_line import run_command as run
from sklearn.metrics import f1_score, jaccard_score, precision_score, roc_auc_score

import spoofspan as ss
from spoofspan.evaluation.breakdown import by_column
from spoofspan.evaluation.explain import explain
from spoofspan.formats.tables import parquet
from spoofspan.measures.catalogue import KINDS
from spoofspan.measures.measure import EXAMPLES, Measure

pytestmark = pytest.mark.quick

DECLARED = [name for name, kind in KINDS.items() if kind.declared and "range" in kind.bases]


@pytest.fixture(scope="module")
def samples(demo):
    """Label, score and weight of every stretch of time, as scikit-learn takes them."""
    mass = ss.overlay(*demo)
    scores, weights = np.tile(mass.scores, 2), np.concatenate((mass.bona_fide, mass.spoof))
    is_spoof = np.arange(scores.size) >= mass.scores.size
    return is_spoof[weights > 0], scores[weights > 0].astype(float), weights[weights > 0]


# ---------------------------------------------------------------- spelling


@pytest.mark.parametrize("spelling", EXAMPLES)
def test_every_example_is_read_and_explained(spelling):
    measure = Measure.parse(spelling)
    assert Measure.parse(str(measure)) == measure
    assert measure.kind.formula.split()[0] in explain(spelling) or spelling.partition("@")[0].endswith("-eer")


@pytest.mark.parametrize(
    ("spelling", "canonical"),
    [
        ("point-fnr@fpr=0.010@20ms", "point-fnr@20ms@fpr=0.01"),
        ("range-min-dcf@p_spoof=0.5", "range-min-dcf@p_spoof=0.5,cost_miss=1,cost_false_alarm=10"),
        ("point-f1-bonafide@0.02s", "point-f1-bonafide@20ms"),
        ("range-f1-bonafide-macro", "range-f1-bonafide-macro"),
    ],
)
def test_one_canonical_spelling(spelling, canonical):
    assert str(Measure.parse(spelling)) == canonical


@pytest.mark.parametrize(
    ("spelling", "said"),
    [
        ("range-erer", "did you mean 'range-eer'"),
        ("point-f1", "point-f1@20ms"),
        ("range-eer@20ms", "other measures have none"),
        ("range-auc-bonafide", "no positive class"),
        ("range-fnr@fpr=x", "is no bound"),
        ("range-fnr@far=0.1", "did you mean"),
        ("range-min-dcf@prior=1", "no parameter 'prior'"),
        ("range-min-dcf@p_spoof=x", "is no number"),
        ("range-auc-macro", "a mean over utterances"),
        ("point-false-alarms-per-hour@20ms", "no measure"),
    ],
)
def test_wrong_spellings_are_answered(spelling, said):
    with pytest.raises(ss.UsageError, match=said):
        Measure.parse(spelling)


# ---------------------------------------------------------------- values


def test_measures_at_the_threshold_of_the_eer_equal_scikit_learn(demo, samples):
    is_spoof, scores, weights = samples
    names = ["range-eer", "range-f1", "range-f1-bonafide", "range-precision", "range-iou", "range-auc"]
    found = ss.evaluate(*demo, names)
    called = scores < found["range-eer"].threshold
    for name, oracle, positive in (
        ("range-f1", f1_score, True),
        ("range-f1-bonafide", f1_score, False),
        ("range-precision", precision_score, True),
        ("range-iou", jaccard_score, True),
    ):
        assert found[name].threshold == found["range-eer"].threshold
        expected = oracle(is_spoof, called, sample_weight=weights, pos_label=positive)
        assert found[name].value == pytest.approx(expected, abs=1e-12)
    assert found["range-auc"].value == pytest.approx(roc_auc_score(is_spoof, -scores, sample_weight=weights), abs=1e-12)


def test_a_given_threshold_is_used_and_named(demo):
    given = ss.evaluate(*demo, ["range-f1"], threshold=0.5)["range-f1"]
    assert given.threshold == 0.5
    assert given.value == pytest.approx(
        2
        * given.point.true_positive
        / (2 * given.point.true_positive + given.point.false_positive + given.point.false_negative)
    )
    assert "|threshold:given|" in given.signature.comparable
    assert "|threshold:eer(nearest)|" in ss.evaluate(*demo, ["range-f1"])["range-f1"].signature.comparable


def test_a_constraint_is_kept(demo):
    found = ss.evaluate(*demo, ["range-fnr@fpr=0.05", "range-precision@recall=0.9"])
    assert found["range-fnr@fpr=0.05"].false_positive_rate <= 0.05
    assert 1 - found["range-precision@recall=0.9"].false_negative_rate >= 0.9


def test_the_mean_over_utterances_says_whom_it_leaves_out(demo):
    macro = ss.evaluate(*demo, ["range-recall-macro"])["range-recall-macro"]
    errors = ss.errors_by_utterance(*demo, macro.threshold)
    some = errors.spoof > 0
    assert macro.value == pytest.approx(np.mean(1 - errors.false_negative[some] / errors.spoof[some]))
    assert f"the mean of {some.sum()} utterances" in macro.notes[0]


def test_a_value_over_all_thresholds_has_none(demo):
    auc = ss.evaluate(*demo, ["range-auc"])["range-auc"]
    assert np.isnan([auc.threshold, auc.false_positive_rate, auc.gap]).all()
    assert auc.decision == "no threshold"
    assert str(auc).startswith(f"range-auc {100 * auc.value:.2f} %\n")


@pytest.mark.parametrize("name", DECLARED)
def test_scores_are_taken_at_their_word_only_if_it_was_given(name, demo):
    with pytest.raises(ss.UsageError, match="scores_are"):
        ss.evaluate(*demo, [f"range-{name}"])
    found = ss.evaluate(*demo, [f"range-{name}"], scores_are="llr")
    measurement = next(iter(found.measurements.values()))
    assert measurement.value > 0
    assert "|scores-are:llr|" in measurement.signature.comparable
    with pytest.raises(ss.UsageError, match="valid: 'llr', 'probability'"):
        ss.evaluate(*demo, [f"range-{name}"], scores_are="logit")


def test_every_measure_is_the_same_in_shards(demo, tmp_path):
    (tmp_path / "r.parquet").write_bytes(b"".join(parquet.write_references(demo[0])))
    (tmp_path / "s.parquet").write_bytes(b"".join(parquet.write_scores(demo[1])))
    measures = [
        # a boundary track has scores of its own, which are not cut into shards
        *(one for one in EXAMPLES if not one.startswith(("utterance", "event", "point-boundary"))),
        "range-f1-macro",
        "range-recall@fpr=0.1",
        "utterance-eer",
    ]
    whole = ss.evaluate(*demo, measures, scores_are="llr").to_dict()
    with ss.sharded(tmp_path / "r.parquet", tmp_path / "s.parquet", shards=4) as corpus:
        streamed = ss.evaluate_shards(corpus, measures, scores_are="llr").to_dict()
    np.testing.assert_equal(streamed, whole)


def test_hard_decisions_have_measures_at_their_threshold_only(demo):
    references, scores = demo
    threshold = ss.range_eer(references, scores).threshold
    decided = {}
    durations = dict(zip(references.utterances, references.durations / 1e9, strict=True))
    for i, utterance in enumerate(scores.utterances):
        values = scores.values[scores.offsets[i] : scores.offsets[i + 1]]
        edges = np.append(np.arange(values.size) * 0.02, durations[utterance])
        decided[utterance] = [
            (edges[k], edges[k + 1], "spoof" if value < threshold else "bonafide")
            for k, value in enumerate(values)
            if edges[k] < edges[k + 1]
        ]
    decisions = ss.Scores.from_decisions(decided)
    names = ["range-f1", "range-precision", "range-f1-macro"]
    by_scores, by_decisions = ss.evaluate(references, scores, names), ss.evaluate(references, decisions, names)
    for name in names:
        assert by_decisions[name].value == pytest.approx(by_scores[name].value, abs=1e-6)
    for refused in ("range-eer", "range-auc", "range-fnr@fpr=0.1"):
        with pytest.raises(ss.UndefinedMeasureError, match="hard decisions"):
            ss.evaluate(references, decisions, [refused])
    with pytest.raises(ss.UsageError, match="no threshold to move"):
        ss.evaluate(references, decisions, ["range-f1"], threshold=0.7)


@pytest.mark.parametrize(("measure", "threshold"), [("range-precision", -5.0), ("range-precision@recall=0.5", None)])
def test_undefined_is_said(measure, threshold):
    references = ss.References.from_ranges({"u": [(0.0, 1.0, "bonafide")]}, {"u": 1.0})
    scores = ss.Scores.from_frames({"u": np.linspace(0, 1, 50)}, hop=0.02, higher="bonafide")
    with pytest.raises(ss.UndefinedMeasureError):
        ss.evaluate(references, scores, [measure], threshold=threshold)


# ---------------------------------------------------------------- the command line


def test_a_development_threshold_survives_json_and_float32(files, tmp_path, capsys):
    """The threshold is a float32 score: at equality, one bit decides about that score's time."""
    code, _, said = run([*files, "--format", "json", "--out", tmp_path / "dev.json"], capsys)
    assert code == 0, said
    code, printed, said = run(
        [*files, "-m", "range-f1", "--threshold-from", tmp_path / "dev.json", "--format", "json"], capsys
    )
    assert code == 0, said
    carried = json.loads(printed)["measurements"][0]
    code, printed, _ = run([*files, "-m", "range-f1", "--format", "json"], capsys)
    at_eer = json.loads(printed)["measurements"][0]
    assert (carried["value"], carried["threshold"]) == (at_eer["value"], at_eer["threshold"])


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-m", "range-f1", "--threshold", "0", "--threshold-from", "x.json"], 2, "not both"),
        (["-m", "range-f1", "--threshold-from", "missing.json"], 2, "there is no file"),
        (["-m", "range-f1", "-m", "utterance-f1", "--threshold-from", "x.json"], 2, "thresholds of their own"),
        (["-m", "range-cllr"], 2, "--scores-are"),
        (["-m", "rang-f1"], 2, "did you mean 'range-f1'"),
    ],
)
def test_what_is_typed_wrong_is_answered(arguments, code, said, files, capsys):
    found, printed, error = run([*files, *arguments], capsys)
    assert (found, printed) == (code, "")
    assert said in error


def test_a_table_of_several_measures_shows_their_units(files, capsys):
    code, printed, _ = run([*files, "-m", "range-f1", "-m", "range-auc", "-m", "range-min-dcf"], capsys)
    assert code == 0
    lines = {line.split()[0]: line.split()[1:3] for line in printed.splitlines() if line.startswith("range-")}
    assert lines["range-f1"][1] == lines["range-auc"][1] == "%"
    assert float(lines["range-min-dcf@p_spoof=0.05,cost_miss=1,cost_false_alarm=10"][0]) < 1


def test_a_notebook_shows_a_table_with_escaped_text(demo):
    references, scores = demo
    shown = ss.evaluate(references, scores, ["range-eer", "range-f1"])._repr_html_()
    assert shown.startswith("<table>")
    assert "<td>range-f1</td>" in shown
    by = by_column(references, scores, dict.fromkeys(references.utterances, "<script>"), name="<b>")
    assert "<script>" not in by._repr_html_()
    assert "&lt;script&gt;" in by._repr_html_()
