"""Labels or hard decisions in the place of scores have no EER, on whatever road they arrive."""

import json

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.data.distinct_values import DistinctValues

LABELS = {"u1": [0, 0, 1, 1, 0, 0], "u2": [0, 0, 0, 1, 1, 1], "u3": [0] * 6}
FRAMES = {"hop": 0.02, "higher": "spoof"}
KEY = {"a": "spoof", "b": "bonafide", "c": "spoof", "d": "bonafide"}
REFUSED = "needs scores, and these are 0 and 1 only.*measure the decisions at the threshold 0.5"


@pytest.fixture(name="references", scope="module")
def _references():
    labels = {utterance: np.array(values) for utterance, values in LABELS.items()}
    return ss.References.from_labels(labels, hop=0.02, spoof_label=1)


def frames(dtype, change=lambda values: values):
    return ss.Scores.from_frames({one: change(np.array(of, dtype)) for one, of in LABELS.items()}, **FRAMES)


def ranges(dtype):
    rows = {one: [(k / 50, (k + 1) / 50, dtype(label)) for k, label in enumerate(of)] for one, of in LABELS.items()}
    return ss.Scores.from_ranges(rows, higher="spoof")


def columns(dtype):
    values = np.concatenate([np.array(of, dtype) for of in LABELS.values()])
    return ss.Scores.from_columns(list(LABELS), [0, 6, 12, 18], values, **FRAMES)


IN_MEMORY = {
    "frames of integers": lambda: frames(int),
    "frames of floats": lambda: frames(np.float32),
    "ranges of integers": lambda: ranges(int),
    "ranges of floats": lambda: ranges(float),
    "columns of integers": lambda: columns(np.uint8),
    "columns of floats": lambda: columns(np.float16),
}


@pytest.mark.parametrize("build", IN_MEMORY.values(), ids=IN_MEMORY)
def test_labels_have_no_eer_in_any_container(build, references):
    with pytest.raises(ss.UndefinedMeasureError, match=REFUSED):
        ss.range_eer(references, build())


def test_labels_have_no_eer_where_an_utterance_has_no_frame(references):
    given = {one: np.array(of) for one, of in LABELS.items()} | {"u4": np.zeros(0, int)}
    with pytest.raises(ss.UndefinedMeasureError, match=REFUSED):
        ss.range_eer(references, ss.Scores.from_frames(given, **FRAMES), partial=True)


def test_labels_have_no_eer_in_a_dict(references):
    with pytest.raises(ss.UndefinedMeasureError, match=REFUSED):
        ss.range_eer(references, LABELS, **FRAMES)


def write(path, as_text):
    rows = [(one, k, as_text(label)) for one, of in LABELS.items() for k, label in enumerate(of)]
    if path.suffix == ".json":
        path.write_text(json.dumps({one: [float(as_text(label)) for label in of] for one, of in LABELS.items()}))
    elif path.suffix == ".npz":
        np.savez(path, **{one: np.array([float(as_text(label)) for label in of]) for one, of in LABELS.items()})
    elif path.name == "frames.csv":
        path.write_text("utterance,frame,score\n" + "".join(f"{one},{k},{score}\n" for one, k, score in rows))
    elif path.name == "ranges.csv":
        lines = (f"{one},{k / 50:.2f},{(k + 1) / 50:.2f},{score}\n" for one, k, score in rows)
        path.write_text("utterance,start,end,score\n" + "".join(lines))
    elif path.suffix == ".parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        lists = [[float(as_text(label)) for label in of] for of in LABELS.values()]
        pq.write_table(pa.table({"utterance": list(LABELS), "scores": lists}), path)
    else:
        path.write_text("".join(f"{one} {k} {score}\n" for one, k, score in rows))
    return path


FILES = ("unit.score", "frames.csv", "ranges.csv", "scores.json", "scores.npz", "scores.parquet")


@pytest.mark.parametrize("as_text", [str, lambda label: f"{label:.3f}"], ids=["integers", "floats"])
@pytest.mark.parametrize("name", FILES)
def test_labels_have_no_eer_in_any_file(name, as_text, references, tmp_path):
    options = {"higher": "spoof"} if name == "ranges.csv" else FRAMES
    scores = ss.read_scores(write(tmp_path / name, as_text), **options)
    with pytest.raises(ss.UndefinedMeasureError, match=REFUSED):
        ss.range_eer(references, scores)


def test_labels_have_no_eer_in_shards(references, tmp_path):
    ranges = tmp_path / "references.csv"
    rows = ("spoof" if label else "bonafide" for of in LABELS.values() for label in of)
    lines = (
        f"{one},{k / 50:.2f},{(k + 1) / 50:.2f},{next(rows)}\n" for one, of in LABELS.items() for k in range(len(of))
    )
    ranges.write_text("utterance,start,end,label\n" + "".join(lines))
    with ss.sharded(ranges, write(tmp_path / "frames.csv", str), **FRAMES) as corpus:
        with pytest.raises(ss.UndefinedMeasureError, match=REFUSED):
            ss.evaluate_shards(corpus, ["range-eer"])
        found = ss.evaluate_shards(corpus, ["range-f1"], threshold=0.5)
    assert found["range-f1"].value == ss.evaluate(references, frames(int), "range-f1", threshold=0.5)["range-f1"].value


@pytest.mark.parametrize("dtype", [int, float, bool, str])
def test_labels_have_no_eer_of_utterances(dtype):
    values = np.array([1, 0, 1, 0]).astype(dtype)
    with pytest.raises(ss.UndefinedMeasureError, match=REFUSED):
        ss.eer([1, 0, 1, 0], values)
    with pytest.raises(ss.UndefinedMeasureError, match=REFUSED):
        ss.utterance_eer(KEY, ss.UtteranceScores(tuple(KEY), values, "spoof"))


def test_labels_have_no_eer_in_a_file_of_utterances(tmp_path):
    path = tmp_path / "utterances.txt"
    path.write_text("".join(f"{one} {int(label == 'spoof')}\n" for one, label in KEY.items()))
    with pytest.raises(ss.UndefinedMeasureError, match=REFUSED):
        ss.utterance_eer(KEY, ss.read_utterance_scores(path, higher="spoof"))


@pytest.mark.parametrize("exact", [True, False])
def test_labels_have_no_eer_in_a_training_loop(exact):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchmetrics")
    from spoofspan.integrations.torch import RangeEER

    labels = torch.tensor(list(LABELS.values()))
    for higher in ("spoof", "bonafide"):
        metric = RangeEER(hop=0.02, higher=higher, exact=exact, spoof_label=1)
        metric.update(labels.float(), labels)
        with pytest.raises(ss.UndefinedMeasureError, match=REFUSED):
            metric.compute()
    metric = RangeEER(hop=0.02, higher="spoof", exact=exact, spoof_label=1, undefined="nan")
    metric.update(labels.float(), labels)
    assert metric.compute()["range_eer"].isnan()
    metric = RangeEER(hop=0.02, higher="spoof", exact=exact, spoof_label=1)
    metric.update(2.0 * labels - 1.0, labels)
    with pytest.warns(ss.SpoofspanWarning, match="only two values, -1 and 1"):
        assert metric.compute()["range_eer"] == 0.0


ROADS = {
    "AUC": lambda references, scores: ss.evaluate(references, scores, "range-auc"),
    "F1 at the threshold of the EER": lambda references, scores: ss.evaluate(references, scores, "range-f1"),
    "points": lambda references, scores: ss.point_eer(references, scores, resolution=0.02),
    "utterances": lambda references, scores: ss.evaluate(references, scores, "utterance-eer"),
    "event F1": lambda references, scores: ss.evaluate(references, scores, "event-f1@iou=0.5"),
    "event AP": lambda references, scores: ss.evaluate(references, scores, "event-ap@iou=0.5"),
    "Algorithm 1": ss.bisection_eer,
    "errors by utterance": ss.errors_by_utterance,
    "an interval": lambda references, scores: ss.interval(references, scores, "range-eer"),
    "a comparison": lambda references, scores: ss.compare(references, {"a": scores, "b": scores}),
}


@pytest.mark.parametrize("measure", ROADS.values(), ids=ROADS)
def test_no_measure_moves_a_threshold_over_labels(measure, references):
    with pytest.raises(ss.UndefinedMeasureError, match=REFUSED):
        measure(references, frames(float))


def test_a_given_threshold_measures_decisions(references):
    wrong = ss.Scores.from_frames({one: np.roll(of, 1) for one, of in LABELS.items()}, **FRAMES)
    decided = ss.Scores.from_decisions(
        {
            one: [(k / 50, (k + 1) / 50, "spoof" if of[k - 1] else "bonafide") for k in range(len(of))]
            for one, of in LABELS.items()
        }
    )
    for measure in ("range-fpr", "range-fnr", "range-f1", "event-f1@iou=0.5"):
        found = ss.evaluate(references, wrong, measure, threshold=0.5)
        assert found[measure].value == ss.evaluate(references, decided, measure)[measure].value
    assert ss.error_curve(references, wrong).at(0.5).false_negative == 40_000_000
    assert len(ss.errors_by_utterance(references, wrong, 0.5).utterances) == 3


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (-1, 0), (1, 2), (-np.inf, np.inf)])
def test_two_whole_numbers_are_warned_of(low, high, references):
    scores = frames(float, lambda labels: np.where(labels > 0, high, low))
    with pytest.warns(ss.SpoofspanWarning, match="only two values"):
        found = ss.range_eer(references, scores, eer_rule="interpolated")
    assert found.warnings
    assert found.value in (0.0, 1.0)
    for measure in ("range-auc", "range-f1", "event-f1@iou=0.5", "event-ap@iou=0.5"):
        with pytest.warns(ss.SpoofspanWarning, match="only two values"):
            ss.evaluate(references, scores, measure)


def test_algorithm_1_warns_of_two_whole_numbers(references):
    with pytest.warns(ss.SpoofspanWarning, match="only two values"):
        assert ss.bisection_eer(references, frames(float, lambda labels: 2 * labels - 1)).warnings


def test_two_values_of_many_scores_without_an_error_are_warned_of():
    for count, value, warned in ((999, 0.0, False), (1000, 0.0, True), (1000, 1.0, True), (1000, 0.3, False)):
        values = np.where(np.arange(count) % 2, 0.9, -0.4)
        assert bool(DistinctValues.of(values).cautions(value)) == warned


def test_two_fractions_of_a_few_scores_are_scores():
    assert ss.eer(["bonafide", "spoof"], [0.9, -0.4], higher="bonafide").warnings == ()


@pytest.mark.parametrize("values", [[0.0, 1.0, 0.5], [1.0, 1.0], [0.0, 0.0], [0, 1, 2]])
def test_other_scores_are_no_decisions(values):
    distinct = DistinctValues.of(np.array(values))
    distinct.refuse("an EER")
    assert distinct.cautions(0.0) == ()


def test_distinct_values_of_shards_add():
    pieces = [DistinctValues.of(np.array(values)) for values in ([0.0, 0.0], [], [1.0], [0.0, 1.0])]
    with pytest.raises(ss.UndefinedMeasureError, match=REFUSED):
        sum(pieces, DistinctValues()).refuse("an EER")
    pieces.append(DistinctValues.of(np.array([0.5])))
    sum(pieces, DistinctValues()).refuse("an EER")
