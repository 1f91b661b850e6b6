"""Other tools' objects in and out: pyannote, Hugging Face, loggers."""

import math
import re

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.data.dataset_rows import references_from_rows, scores_from_rows
from spoofspan.formats.tables.dataframes import references_from

# a few frames of noise have few operating points
pytestmark = [pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"), pytest.mark.slow]

RANGES = {
    "u1": [(0.0, 1.2, "bonafide"), (1.2, 2.0, "spoof", "A07")],
    "u2": [(0.0, 0.5, "spoof", "A09"), (0.5, 0.75, "nonspeech"), (0.75, 1.5, "bonafide")],
}
LENGTHS = {"u1": 100, "u2": 75}


@pytest.fixture
def references():
    return ss.References.from_ranges(RANGES)


@pytest.fixture
def scores():
    rng = np.random.default_rng(2)
    frames = {utt: rng.normal(size=count).astype(np.float32) for utt, count in LENGTHS.items()}
    return ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")


def same(a, b, scores):
    """The same references, as far as any number and any signature tells."""
    of = [ss.evaluate(one, scores, ["range-eer"], nonspeech="ignore").to_dict() for one in (a, b)]
    return of[0] == of[1]


# ---------------------------------------------------------------- pyannote


def test_annotations_there_and_back(references, scores):
    pytest.importorskip("pyannote.core", reason="pyannote.core is not installed")
    from spoofspan.integrations.pyannote import annotations_from, references_from_annotations

    annotations = annotations_from(references)
    assert annotations["u1"].uri == "u1"
    assert annotations["u1"].label_duration("bonafide") == 1.2
    assert annotations["u2"].labels() == ["A09", "bonafide", "nonspeech"]
    back = references_from_annotations(annotations, labels={"A07": "spoof", "A09": "spoof"})
    assert same(back, references, scores)
    with pytest.raises(ss.DataError, match=r"'A07'.*say what it means"):
        references_from_annotations(annotations)
    with pytest.raises(ss.UsageError, match="cannot mean 'fake'"):
        references_from_annotations(annotations, labels={"A07": "fake"})


def test_features_there_and_back(references, scores):
    core = pytest.importorskip("pyannote.core", reason="pyannote.core is not installed")
    from spoofspan.integrations.pyannote import features_from, scores_from_features

    features = features_from(scores)
    assert features["u2"].data.shape == (75, 1)
    # pyannote's own look at the middle of frame 10
    assert features["u2"].sliding_window[10].middle == pytest.approx(0.21)
    back = scores_from_features(features, higher="bonafide")
    assert back.values.tobytes() == scores.values.tobytes()
    found = [ss.range_eer(references, one, nonspeech="ignore") for one in (scores, back)]
    assert str(found[0].signature) == str(found[1].signature)
    wide = core.SlidingWindowFeature(np.zeros((5, 3)), core.SlidingWindow(duration=0.04, step=0.02, start=0.01))
    with pytest.raises(ss.UsageError, match="column="):
        scores_from_features({"u": wide}, higher="spoof")
    with pytest.raises(ss.UsageError, match="3 features"):
        scores_from_features({"u": wide}, higher="spoof", column=3)
    chosen = scores_from_features({"u": wide}, higher="spoof", column=-1)
    assert (chosen.window, chosen.hops.tolist(), chosen.origins.tolist()) == (0.04, [0.02], [10_000_000])
    with pytest.raises(ss.UsageError, match="different lengths"):
        scores_from_features({"u": wide, "v": features["u1"]}, higher="spoof", column=0)
    with pytest.raises(ss.UsageError, match="resample"):
        features_from(ss.Scores.from_ranges({"u": [(0.0, 1.0, 0.5)]}, higher="spoof"))


# ---------------------------------------------------------------- Hugging Face


def rows_of(scores):
    listed = []
    for i, (utt, ranges) in enumerate(RANGES.items()):
        values = scores.values[scores.offsets[i] : scores.offsets[i + 1]]
        keys = ("start", "end", "label")
        listed.append(
            {
                "utterance": utt,
                "ranges": [dict(zip(keys, one[:3], strict=True)) for one in ranges],
                "scores": values.tolist(),
            }
        )
    return listed


def test_rows_of_a_data_set(references, scores):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    whole = datasets.Dataset.from_list(rows_of(scores))
    plain = ss.References.from_ranges({utt: [one[:3] for one in listed] for utt, listed in RANGES.items()})
    for rows in (whole, whole.to_iterable_dataset(), rows_of(scores)):
        assert same(references_from_rows(rows), plain, scores)
        read = scores_from_rows(rows, hop=0.02, higher="bonafide")
        assert read.values.tobytes() == scores.values.tobytes()
    names = ("utterance", "start", "end", "label")
    long = [dict(zip(names, (utt, *one), strict=False)) for utt, listed in RANGES.items() for one in listed]
    table = references_from(datasets.Dataset.from_list(long).with_format("arrow")[:])
    assert same(table, plain, scores)


def test_ranges_of_a_row_in_every_shape():
    shapes = [
        [(0.0, 1.0, "spoof", "A07")],
        [{"start": 0.0, "end": 1.0, "label": "spoof", "attack": "A07"}],
        {"start": [0.0], "end": [1.0], "label": ["spoof"], "attack": ["A07"]},
    ]
    for shape in shapes:
        made = references_from_rows([{"id": "u", "r": shape, "d": 1.0}], utterance="id", ranges="r", duration="d")
        assert (made.attack_names, made.ends.tolist(), made.durations.tolist()) == (("A07",), [10**9], [10**9])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"utt": "u", "ranges": []}], "row 0: no column 'utterance'"),
        ([{"utterance": "u", "ranges": []}] * 2, "row 1: utterance 'u' is there twice"),
        ([{"utterance": "u", "ranges": [{"start": 0.0, "end": 1.0}]}], "has no label"),
        ([{"utterance": "u", "ranges": {"start": [0.0]}}], "need start, end and label"),
    ],
)
def test_rows_that_are_wrong(rows, said):
    with pytest.raises(ss.DataError, match=re.escape(said)):
        references_from_rows(rows)


def test_rows_are_dicts_with_an_id():
    ranges = [(0.0, 1.0, "spoof")]
    for rows in ({"test": []}, [("u1", ranges)]):
        with pytest.raises(ss.UsageError, match=r"row 0 is a (str|tuple); give one split of a DatasetDict"):
            references_from_rows(rows)
    with pytest.raises(ss.DataError, match="row 0: no id in column 'utterance'"):
        references_from_rows([{"utterance": None, "ranges": ranges}])
    number = np.array(7)  # a tensor of no dimension, as data sets in the format of PyTorch have them
    assert references_from_rows([{"utterance": number, "ranges": ranges}]).utterances == ("7",)


def test_tensors_in_rows_are_not_rounded():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    scores = torch.tensor([0.1, 0.2], dtype=torch.float64)
    read = scores_from_rows([{"utterance": "u1", "scores": scores}], hop=0.02, higher="spoof")
    assert read.values.tolist() == [0.1, 0.2]
    learning = [{"utterance": "u1", "scores": scores.requires_grad_()}]
    assert scores_from_rows(learning, hop=0.02, higher="spoof").values.tolist() == [0.1, 0.2]


def test_the_evaluate_module(scores, tmp_path, monkeypatch):
    pytest.importorskip("evaluate", reason="evaluate is not installed")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from spoofspan.integrations.hf_evaluate import SpoofLocalization

    plain = ss.References.from_ranges({utt: [one[:3] for one in listed] for utt, listed in RANGES.items()})
    measures = ["range-eer", "point-eer@40ms"]
    expected = ss.evaluate(plain, scores, measures, nonspeech="ignore").to_flat_dict()
    metric = SpoofLocalization(cache_dir=str(tmp_path))
    for row in rows_of(scores):
        metric.add(prediction=row["scores"], reference=row["ranges"])
    assert metric.compute(hop=0.02, higher="bonafide", measures=measures, nonspeech="ignore") == expected
    metric = SpoofLocalization(cache_dir=str(tmp_path), keep_in_memory=True)
    metric.add_batch(
        predictions=[row["scores"] for row in rows_of(scores)], references=[row["ranges"] for row in rows_of(scores)]
    )
    with pytest.raises(ss.UsageError, match="compute needs hop="):
        metric.compute()


# ---------------------------------------------------------------- loggers


def test_a_flat_dict_has_names_that_every_logger_takes(references, scores):
    found = ss.evaluate(references, scores, ["range-eer", "point-eer@20ms", "range-auc"], nonspeech="ignore")
    flat = found.to_flat_dict()
    assert list(flat) == ["range_eer", "range_eer_threshold", "point_eer_20ms", "point_eer_20ms_threshold", "range_auc"]
    assert flat["range_eer"] == found["range-eer"].value
    assert all(re.fullmatch(r"[A-Za-z0-9_]+", name) for name in flat)
    assert all(isinstance(value, float) and math.isfinite(value) for value in flat.values())
