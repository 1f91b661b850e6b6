"""What people hand to Python functions: lists, tensors, frames, dicts of other things. Each is taken or named."""

import numpy as np
import pyarrow as pa
import pytest

import spoofspan as ss
from spoofspan.data.dataset_rows import references_from_rows, scores_from_rows

RANGES = {
    "u1": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof", "A07")],
    "u2": [(0.0, 0.16, "bonafide")],
    "u3": [(0.0, 0.04, "spoof"), (0.04, 0.16, "bonafide")],
}
FRAMES = {"u1": [0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3], "u2": [0.5] * 8, "u3": [0.05, -0.4] + [0.6] * 6}
REFERENCES = ss.References.from_ranges(RANGES, dict.fromkeys(RANGES, 0.16))
SCORES = ss.Scores.from_frames(FRAMES, 0.02, higher="bonafide")
UTTERANCE_SCORES = ss.UtteranceScores(tuple(RANGES), np.array([0.1, 0.9, 0.2]), higher="bonafide")
PROPOSALS = ss.Proposals.from_ranges({utt: [(0.0, 0.08, np.float32(0.7))] for utt in RANGES})
TABLE = pa.table({"utterance": ["u1"], "start": [0.0], "end": [1.0], "label": ["spoof"]})


def refused(call, *parts):
    with pytest.raises(ss.UsageError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)


# ---------------------------------------------------------------- choosing utterances


@pytest.mark.parametrize(
    "corpus", [REFERENCES, SCORES, UTTERANCE_SCORES, PROPOSALS], ids=lambda one: type(one).__name__
)
def test_utterances_are_chosen_by_lists_of_places(corpus):
    for chosen in ([2, 0], (2, 0), np.array([2, 0], np.int32), range(2, -1, -2)):
        assert corpus.take(chosen).utterances == ("u3", "u1")
    for wrong, part in {
        (-1,): "go from 0 to 2, not -1",
        (3,): "go from 0 to 2, not 3",
        (True, False): "2 flags for 3 utterances",
        ("u9",): "no utterance is called 'u9'",
        (0.5,): "a list of ids, of indices",
    }.items():
        refused(lambda wrong=wrong: corpus.take(list(wrong)), part)
    refused(lambda: corpus.take(0), "a list of ids, of indices")
    assert corpus.take(["u3", "u1"]).utterances == corpus[["u3", "u1"]].utterances == ("u3", "u1")
    assert corpus[np.array([True, False, True])].utterances == corpus[::2].utterances == ("u1", "u3")


# ---------------------------------------------------------------- what corpora are built from


@pytest.mark.parametrize(
    "given", [[("u1", [])], np.zeros((2, 9)), TABLE, 2.0, None], ids=lambda one: type(one).__name__
)
def test_what_is_no_dict_by_utterance_is_named(given):
    for build in (
        ss.References.from_ranges,
        ss.Proposals.from_ranges,
        ss.Scores.from_decisions,
        lambda given: ss.Scores.from_ranges(given, higher="spoof"),
        lambda given: ss.Scores.from_frames(given, 0.02, higher="spoof"),
    ):
        refused(lambda build=build: build(given), "must be a dict, utterance -> ", f"not a {type(given).__name__}")


def test_a_data_frame_has_its_own_way_in():
    refused(lambda: ss.References.from_ranges(TABLE), "from_table takes a data frame")


@pytest.mark.parametrize("durations", [2.0, [2.0], "reco2dur"])
def test_durations_are_a_dict(durations):
    refused(lambda: ss.References.from_ranges(RANGES, durations), "durations must be a dict")
    refused(lambda: SCORES.resample(0.04, durations), "durations must be a dict", "read_durations")


def test_a_duration_that_is_no_number_is_named():
    with pytest.raises(ss.DataError, match="utterance 'u1': duration 'long' is no number of seconds"):
        ss.References.from_ranges({"u1": []}, {"u1": "long"})


@pytest.mark.parametrize(
    "rows", [(0.0, 1.0, "spoof"), [None], [{"start": 0.0, "end": 1.0, "label": "spoof"}], None, [(0.0, 1.0)], "spoof"]
)
def test_a_range_that_is_no_tuple_is_named(rows):
    refused(
        lambda: ss.References.from_ranges({"u1": rows}), "utterance 'u1'", "a list of (start, end, label[, attack])"
    )
    refused(lambda: ss.Scores.from_ranges({"u1": rows}, higher="spoof"), "utterance 'u1'", "(start, end, score)")
    refused(lambda: ss.Scores.from_decisions({"u1": rows}), "utterance 'u1'", '"spoof" or "bonafide"')
    refused(lambda: ss.Proposals.from_ranges({"u1": rows}), "utterance 'u1'", "(start, end, confidence)")


def test_two_scores_of_one_range_are_refused():
    refused(lambda: ss.Scores.from_ranges({"u1": [(0.0, 1.0, 0.3, 0.7)]}, higher="spoof"), "(start, end, score)")


def test_masked_scores_are_refused_and_filled_ones_are_not():
    masked = np.ma.masked_array([0.1, 0.2], [True, False])
    refused(lambda: ss.Scores.from_frames({"u1": masked}, 0.02, higher="spoof"), "utterance 'u1'", "masked", "filled")
    filled = ss.Scores.from_frames({"u1": masked.filled(-1.0)}, 0.02, higher="spoof")
    assert filled.values.tolist() == [-1.0, 0.2]


def test_scores_that_are_no_array_are_named():
    ragged = [[0.1], [0.2, 0.3]]
    refused(lambda: ss.Scores.from_frames({"u1": ragged}, 0.02, higher="spoof"), "utterance 'u1'", "no array")
    lazy = (value for value in [0.1, 0.2])
    refused(lambda: ss.Scores.from_frames({"u1": lazy}, 0.02, higher="spoof"), "utterance 'u1'", "not a generator")


def test_tensors_of_a_training_are_taken_as_they_are():
    torch = pytest.importorskip("torch")
    for tensor in (torch.tensor([0.5], requires_grad=True), torch.tensor([0.5], dtype=torch.bfloat16)):
        assert ss.Scores.from_frames({"u1": tensor}, 0.02, higher="spoof").values.tolist() == [0.5]


def test_whole_seconds_in_lists_are_no_nanoseconds():
    columns = [0, 2], [0, 1], [1, 2]
    refused(lambda: ss.References.from_columns(["u1"], None, *columns, [False, True]), "longest of these is 2 ns")
    nanoseconds = [np.array(column) for column in columns]
    assert ss.References.from_columns(["u1"], None, *nanoseconds, [False, True]).ends.tolist() == [1, 2]


def test_flags_are_one_for_each_range():
    columns = ["u1"], None, [0, 2], [0.0, 1.0], [1.0, 2.0]
    refused(lambda: ss.References.from_columns(*columns, [[False], [True]]), "is_spoof must be one-dimensional")
    refused(lambda: ss.References.from_columns(*columns, labels=[[0], [1]]), "labels must be one-dimensional")


def test_scores_of_utterances_do_not_change_with_what_they_were_made_of():
    values = np.array([0.1, 0.2])
    scores = ss.UtteranceScores(("u1", "u2"), values, higher="spoof")
    values[:] = 9.0
    assert scores.values.tolist() == [0.1, 0.2]


def test_rows_of_data_sets_are_named_by_their_utterance():
    def references(ranges, **more):
        return lambda: references_from_rows([{"utterance": "u1", "ranges": ranges, **more}])

    ragged = {"start": [0.0], "end": [1.0, 2.0], "label": ["spoof"]}
    for build, part in {
        references(None): "its ranges are None; give a list",
        references(ragged): "as many starts as ends and labels",
        references([(0.0, 1.0, "spoof")], duration="long"): "duration 'long' is no number",
    }.items():
        with pytest.raises(ss.DataError, match=f"utterance 'u1'.*{part}"):
            build()
    refused(references([1, 2]), "utterance 'u1'", "(start, end, label[, attack])")
    for scores, part in {("low", "high"): "not <U4", (True, False): "hard decisions"}.items():
        rows = [{"utterance": "u1", "scores": list(scores)}]
        refused(lambda rows=rows: scores_from_rows(rows, hop=0.02, higher="spoof"), "utterance 'u1'", part)


def test_a_negative_snap_is_refused():
    refused(lambda: ss.References.from_ranges(RANGES, snap=-0.001), "snap=-0.001: must not be negative")


# ---------------------------------------------------------------- what is measured

ONE_SYSTEM = {
    "range_eer": ss.range_eer,
    "overlay": ss.overlay,
    "error_curve": ss.error_curve,
    "bisection_eer": ss.bisection_eer,
    "interval": ss.interval,
    "calibrate": ss.calibrate,
    "errors_by_utterance": ss.errors_by_utterance,
    "compare": lambda references, scores: ss.compare(references, {"a": SCORES, "b": scores}),
    "seed_variation": lambda references, scores: ss.seed_variation(references, {"1": SCORES, "2": scores}),
    "sample_size": lambda references, scores: ss.sample_size(references, {"a": SCORES, "b": scores}),
    "resolution_table": lambda references, scores: ss.resolution_table(references, {"a": scores}, [0.02]),
}


@pytest.mark.parametrize("name", ONE_SYSTEM)
def test_what_are_no_references_or_no_scores_is_named_at_every_door(name):
    measure = ONE_SYSTEM[name]
    refused(lambda: measure(7, SCORES), "references must be References, not a int")
    refused(lambda: measure(REFERENCES, 7), "scores must be Scores, not a int", "read_scores")
    if name not in ("compare", "seed_variation", "sample_size"):
        refused(lambda: measure(SCORES, REFERENCES), "these are swapped")
    if name == "interval":
        refused(lambda: measure(REFERENCES, UTTERANCE_SCORES), "needs scores in time", "utterance-eer")
    elif name in ("compare", "seed_variation", "sample_size"):
        refused(lambda: measure(REFERENCES, UTTERANCE_SCORES), "has scores of whole utterances")
    elif name not in ("calibrate", "resolution_table"):
        refused(lambda: measure(REFERENCES, UTTERANCE_SCORES), "not UtteranceScores", "evaluate_utterances")


@pytest.mark.parametrize("systems", [[SCORES, SCORES], SCORES], ids=["list", "scores"])
def test_systems_are_a_dict(systems):
    for measure in (ss.compare, ss.seed_variation, ss.sample_size, ss.fuse):
        refused(lambda measure=measure: measure(REFERENCES, systems), "systems must be a dict, name -> scores")
    refused(lambda: ss.compare(REFERENCES, SCORES, SCORES), "systems must be a dict, name -> scores")
    refused(lambda: ss.resolution_table(REFERENCES, [SCORES]), "systems must be a dict, name -> scores")


def test_proposals_have_event_measures_only():
    refused(
        lambda: ss.range_eer(REFERENCES, PROPOSALS), "not Proposals", "event measures: evaluate(references, scores)"
    )
    assert "event-ap@iou=0.5" in ss.evaluate(REFERENCES, PROPOSALS).measurements


def test_scores_of_utterances_are_named():
    by_id = dict(zip(RANGES, [0.1, 0.9, 0.2], strict=True))
    made = "UtteranceScores(tuple(scores), list(scores.values()), higher='bonafide')"
    refused(lambda: ss.evaluate_utterances(REFERENCES, by_id), "do not say what high scores mean")
    refused(lambda: ss.evaluate(REFERENCES, SCORES, "utterance-eer", utterance_scores=by_id), "not a dict", made)
    followed = ss.UtteranceScores(tuple(by_id), list(by_id.values()), higher="bonafide")
    assert ss.evaluate_utterances(REFERENCES, followed)["utterance-eer"].value == 0.0
    refused(lambda: ss.evaluate_utterances(REFERENCES, SCORES), "not a Scores", "'utterance-eer'")
    refused(lambda: ss.evaluate_utterances(UTTERANCE_SCORES, REFERENCES), "these are swapped")
    refused(lambda: ss.evaluate(REFERENCES, SCORES, boundary_scores=FRAMES), "scores must be Scores, not a dict")


def test_what_takes_scores_or_references_alone_checks_them_too():
    for call in (ss.called_ranges, ss.proposals_from_scores):
        refused(lambda call=call: call(FRAMES, 0.1), "scores must be Scores, not a dict")
    refused(lambda: ss.default_measures(REFERENCES), "scores must be Scores, not References")
    refused(lambda: ss.best_possible(SCORES, 0.02), "references must be References, not Scores")
    refused(lambda: ss.best_possible(REFERENCES, 20), "a hop of 20 s is longer than every utterance", "20 ms is 0.02")
    refused(lambda: ss.equal_error_rate(SCORES), "a ScoreMass, not a Scores", "overlay(references, scores)")


def test_what_is_written_is_what_the_name_says(tmp_path):
    refused(lambda: ss.write_scores(REFERENCES, tmp_path / "x.parquet"), "scores must be Scores, not References")
    refused(lambda: ss.write_references(SCORES, tmp_path / "x.parquet"), "references must be References, not Scores")
    refused(lambda: ss.write_report(REFERENCES, FRAMES, tmp_path / "x.html"), "scores must be Scores, not a list")
    refused(lambda: ss.write_report(SCORES, SCORES, tmp_path / "x.html"), "references must be References, not Scores")
    assert not list(tmp_path.iterdir())
    ss.write_scores(UTTERANCE_SCORES, tmp_path / "x.txt")


@pytest.mark.parametrize("threshold", ["0.3", [0.1, 0.2], True, float("nan")], ids=repr)
def test_a_threshold_is_one_number(threshold):
    for call in (
        ss.error_curve(REFERENCES, SCORES).at,
        lambda at: ss.errors_by_utterance(REFERENCES, SCORES, at),
        lambda at: ss.evaluate(REFERENCES, SCORES, "range-f1", threshold=at),
        lambda at: ss.evaluate(REFERENCES, SCORES, "event-f1", threshold=at),
        lambda at: ss.called_ranges(SCORES, at),
    ):
        refused(lambda call=call: call(threshold), f"threshold={threshold!r}: must be a number")


def test_numbers_of_other_arguments_are_numbers():
    for name in ("confidence", "replicates", "seed"):
        refused(lambda name=name: ss.interval(REFERENCES, SCORES, **{name: "9"}), f"{name}='9': must be a number")
    refused(lambda: ss.evaluate(REFERENCES, SCORES, resampling="bca"), "Resampling(method='bca')")
    refused(lambda: ss.resolution_table(REFERENCES, {"a": SCORES}, 0.02), "give a list of seconds")
    systems = {"a": SCORES, "b": SCORES}
    refused(lambda: ss.compare(REFERENCES, systems, "range-f1", thresholds=0.5), "each system its own: {'a': ...}")


# ---------------------------------------------------------------- what comes out


def test_a_mass_says_in_a_line_what_it_is():
    mass = ss.point_mass(REFERENCES, SCORES, 0.02)
    assert repr(mass) == "ScoreMass(3 utterances, points, float64, higher = bonafide)"
    assert mass.select("u1").utterances == ("u1",)
    with pytest.raises(TypeError, match="unsupported operand"):
        mass + 1


def test_a_collar_that_leaves_a_class_out_is_a_cause_that_is_named():
    with pytest.raises(ss.UndefinedMeasureError, match=r"no spoofed time.*a collar \(in seconds\)"):
        ss.range_eer(REFERENCES, SCORES, collar=0.1)
