"""One corpus to evaluate: in memory, in shards, of utterance scores; the same questions, and refusals that say why."""

from dataclasses import replace

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.evaluation.corpus import CorpusInMemory
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.evaluation.utterances import UtteranceCorpus
from spoofspan.formats.tables import parquet
from spoofspan.uncertainty.curve_replicates import EerReplicates

OPTIONS = EvaluationOptions()
LEFT_OUT = EvaluationOptions(resampling=ss.Resampling())
DRAWN = EvaluationOptions(resampling=ss.Resampling(method="percentile", replicates=100))


def never(*arguments):
    raise AssertionError(arguments)


@pytest.fixture
def in_memory(demo):
    return CorpusInMemory(*demo)


@pytest.fixture
def in_shards(demo, tmp_path):
    for name, pieces in (("r", parquet.write_references(demo[0])), ("s", parquet.write_scores(demo[1]))):
        (tmp_path / f"{name}.parquet").write_bytes(b"".join(pieces))
    with ss.sharded(tmp_path / "r.parquet", tmp_path / "s.parquet", shards=3) as corpus:
        yield corpus


@pytest.fixture
def of_utterances(demo):
    utterances = demo[0].utterances
    return UtteranceCorpus(demo[0], ss.UtteranceScores(utterances, -np.arange(len(utterances)) / 7, higher="bonafide"))


def test_every_corpus_has_the_same_numbers(in_memory, in_shards):
    measures = ["range-eer", "point-eer@40ms", "utterance-eer", "range-f1"]
    assert in_memory.evaluate(measures, OPTIONS).to_dict() == in_shards.evaluate(measures, OPTIONS).to_dict()
    defaults = [one.evaluate_defaults(OPTIONS, never) for one in (in_memory, in_shards)]
    assert list(defaults[0].measurements) == ["range-eer", "point-eer@20ms", "utterance-eer"]
    assert defaults[0].to_dict() == defaults[1].to_dict()


def test_every_corpus_has_the_same_errors_by_utterance(in_memory, in_shards):
    evaluation = in_memory.evaluate(["point-eer@20ms"], OPTIONS)  # no threshold of ranges: that of the range EER
    points = [one.range_operating_point(evaluation, OPTIONS, None) for one in (in_memory, in_shards)]
    assert points[0] == points[1] == in_memory.evaluate(["range-eer"], OPTIONS)["range-eer"].point
    assert in_shards.range_operating_point(evaluation, OPTIONS, 0.25).threshold == 0.25
    whole, streamed = (one.errors_by_utterance(points[0], OPTIONS, own_eer=True) for one in (in_memory, in_shards))
    assert whole.sorted().utterances == streamed.utterances
    np.testing.assert_array_equal(whole.sorted().false_negative, streamed.false_negative)
    np.testing.assert_array_equal(whole.sorted().eers.values, streamed.eers.values)


def test_a_breakdown_reads_a_column_only_where_it_needs_one(in_memory):
    assert in_memory.break_down("length", "range-eer", OPTIONS, never).by == "length"
    column = {utterance: utterance[:3] for utterance in in_memory.references.utterances}
    found = in_memory.break_down("speaker", "range-eer", OPTIONS, {"speaker": column}.__getitem__)
    assert {group.name for group in found.groups} == set(column.values())


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
@pytest.mark.parametrize(
    ("by", "measure", "rules"),
    [
        ("attack", "range-eer", {}),
        ("length", "range-f1", {"collar": 0.01}),
        ("boundary", "range-eer", {}),
        ("half", "range-eer", {}),
        ("half", "range-auc", {"regions": {}}),
    ],
)
def test_groups_in_shards_are_those_in_memory(by, measure, rules, in_memory, in_shards):
    """Values, errors, intervals, differences and signatures, to the bit."""
    column = {utt: "ab"[i % 5 == 0] for i, utt in enumerate(in_memory.references.utterances)}
    if "regions" in rules:
        rules = {"regions": {utt: [(0.1, 100.0)] for utt in column}}
    options = EvaluationOptions(resampling=ss.Resampling(), rules=rules)
    both = [one.break_down(by, measure, options, {"half": column}.__getitem__) for one in (in_memory, in_shards)]
    assert repr(both[0].to_dict()) == repr(both[1].to_dict())
    assert both[0].about == both[1].about
    assert any(group.measurement.interval for group in both[0].groups)
    for one, other in zip(*(found.groups for found in both), strict=True):
        assert one.measurement.touched == other.measurement.touched
        assert one.measurement.signature == other.measurement.signature


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
@pytest.mark.parametrize(
    "measure",
    ["range-eer", "range-auc", "range-f1", "point-eer@20ms", "utterance-eer", "event-f1", "event-ap", "event-psds"],
)
@pytest.mark.parametrize("by", ["third", "third,half"])
def test_crossed_tables_in_shards_are_those_in_memory(by, measure, in_memory, in_shards):
    """One of the cells is empty, and one has no spoof."""
    utterances = in_memory.references.utterances
    third = {utt: "abc"[i % 3] for i, utt in enumerate(utterances)}
    half = {utt: "x" if third[utt] == "c" else "xy"[i % 2] for i, utt in enumerate(utterances)}
    read = {"third": third, "half": half}.__getitem__
    both = [one.cross(by, measure, OPTIONS, read) for one in (in_memory, in_shards)]
    assert repr(both[0]) == repr(both[1])


@pytest.mark.slow_cases("^percentile$")
@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_drawn_intervals_in_shards_are_those_in_memory(method, in_memory, in_shards):
    speakers = {utt: f"S{i % 11}" for i, utt in enumerate(in_memory.references.utterances)}
    names = ["range-eer", "point-eer@40ms", "utterance-eer", "range-auc", "range-min-dcf", "range-fnr@fpr=0.1"]
    names = names if method == "percentile" else names[:1]
    for clusters in (None, speakers) if method == "percentile" else (speakers,):
        how = ss.Resampling(clusters, 100 if method == "percentile" else 2000, method=method)
        options = EvaluationOptions(resampling=how)
        both = [one.evaluate(names, options).to_dict() for one in (in_memory, in_shards)]
        assert repr(both[0]) == repr(both[1])  # NaN differs from itself
    at = replace(DRAWN, threshold=0.0)
    both = [one.evaluate(["range-f1", "point-recall@20ms"], at).to_dict() for one in (in_memory, in_shards)]
    assert repr(both[0]) == repr(both[1])
    both = [one.break_down("length", "range-eer", DRAWN, never).to_dict() for one in (in_memory, in_shards)]
    assert repr(both[0]) == repr(both[1])


def test_draws_that_cross_outside_of_the_bracket_go_through_the_shards_again(in_memory, in_shards):
    plan = OPTIONS.plan(ss.Measure.parse("range-eer"), 0.02)
    (lay,) = in_shards.lay([plan], signed=False)
    mass = lay().mass
    whole = ss.overlay(in_memory.references, in_memory.scores).select(mass.utterances)
    order = [whole.utterances.index(utt) for utt in mass.utterances]
    weights = np.random.default_rng(0).integers(0, 3, (8, len(order)))
    found = EerReplicates(mass, deviations=0.01).eers(weights)
    units = np.empty(len(order), np.int64)
    units[order] = np.arange(len(order))
    expected = EerReplicates(whole, units).eers(weights)
    assert found.outside > 0
    assert found.values.tolist() == expected.values.tolist()
    assert found.thresholds.tolist() == expected.thresholds.tolist()
    some = mass.select(mass.utterances[::3])
    assert ss.equal_error_rate(some).value == ss.equal_error_rate(whole.select(some.utterances)).value


def test_groups_that_a_shard_lacks(tmp_path):
    """The first shard has another kind than the second, and no utterance of group a."""
    ranges = {
        f"u{i}": [(0.0, 0.4, "bonafide"), (0.4, 0.8, "spoof", "A1" if i < 4 else None if i % 2 else "A2")]
        for i in range(8)
    }
    frames = {utt: np.sin(np.arange(40) * (i + 1.3)) for i, utt in enumerate(ranges)}
    references = ss.References.from_ranges(ranges)
    scores = ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")
    for name, pieces in (("r", parquet.write_references(references)), ("s", parquet.write_scores(scores))):
        (tmp_path / f"{name}.parquet").write_bytes(b"".join(pieces))
    column = {utt: "ba"[i > 3] for i, utt in enumerate(ranges)}
    with ss.sharded(tmp_path / "r.parquet", tmp_path / "s.parquet", shards=2) as corpus:
        for by in ("attack", "group"):
            both = [
                one.break_down(by, "range-eer", OPTIONS, {"group": column}.__getitem__)
                for one in (CorpusInMemory(references, scores), corpus)
            ]
            assert both[0].to_dict() == both[1].to_dict()
            names = [group.name for group in both[0].groups]
            assert names == (["a", "b"] if by == "group" else ["A1", "A2", "(no attack)"])


def test_only_the_first_default_measure_must_have_a_value():
    ranges = {"u1": [(0.0, 0.04, "bonafide"), (0.04, 0.08, "spoof")]}
    frames = {"u1": [0.9, 0.8, 0.1, 0.2]}
    references = ss.References.from_ranges(ranges)
    corpus = CorpusInMemory(references, ss.Scores.from_frames(frames, hop=0.02, higher="bonafide"))
    left_out = []
    found = corpus.evaluate_defaults(OPTIONS, lambda measure, error: left_out.append(str(measure)))
    assert list(found.measurements) == ["range-eer", "point-eer@20ms"]
    assert left_out == ["utterance-eer"]  # of one utterance
    one_class = CorpusInMemory(ss.References.from_ranges({"u1": [(0.0, 0.08, "spoof")]}, {"u1": 0.08}), corpus.scores)
    with pytest.raises(ss.UndefinedMeasureError):
        one_class.evaluate_defaults(OPTIONS, never)


def test_what_a_corpus_cannot_do_is_refused(in_shards, of_utterances):
    nothing = of_utterances.evaluate_defaults(OPTIONS, never)
    assert list(nothing.measurements) == ["utterance-eer"]
    for ask, said in (
        (lambda: in_shards.break_down("attack", "point-eer@20ms", OPTIONS, never), "one of ranges"),
        (lambda: of_utterances.break_down("attack", "range-eer", OPTIONS, never), "--by attack needs scores in time"),
        (lambda: of_utterances.range_operating_point(nothing, OPTIONS, 0.0), "--per-utterance needs scores in time"),
        (lambda: of_utterances.evaluate(["range-eer"], OPTIONS), "range-eer needs scores in time"),
        (lambda: in_shards.evaluate(["range-eer"], EvaluationOptions(smoothing=3)), "for event measures"),
        (lambda: in_shards.evaluate(["event-ap@iou=0.5"], DRAWN), "'jackknife-t' only"),
        (lambda: in_shards.evaluate(["range-average-precision"], DRAWN), "--no-stream"),
        (lambda: in_shards.evaluate(["range-average-precision"], LEFT_OUT), "--no-stream"),
        (lambda: in_shards.evaluate(["range-eer"], replace(DRAWN, eer_rule="convex-hull")), "--no-stream"),
    ):
        with pytest.raises(ss.UsageError, match=said):
            ask()
