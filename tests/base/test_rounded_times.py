"""Seconds that were rounded to float32: 0.02 becomes 0.0199999996, whose edges miss those of a grid of 20 ms."""

import numpy as np
import pyarrow as pa
import pytest

import spoofspan as ss

RANGES = {"u1": [(0.0, 0.7, "bonafide"), (0.7, 1.4, "spoof")]}
FRAMES = {"u1": np.float32([0.9, 0.1, 0.8] * 12 + [-0.4, 0.3] * 17)}


def references_of(kind):
    return ss.References.from_ranges({u: [(kind(a), kind(b), c) for a, b, c in rows] for u, rows in RANGES.items()})


def scores_of(hop):
    return ss.Scores.from_frames(FRAMES, hop, higher="bonafide")


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_a_rounded_hop_or_resolution_is_refused(kind):
    references, scores = references_of(float), scores_of(0.02)
    for refused in (
        lambda: scores_of(kind(0.02)),
        lambda: scores_of({"u1": kind(0.02)}),
        lambda: ss.Scores.from_columns(["u1"], [0, 70], FRAMES["u1"], hop=kind(0.02), higher="bonafide"),
        lambda: ss.point_eer(references, scores, kind(0.02)),
        lambda: ss.point_mass(references, scores, kind(0.02)),
        lambda: ss.best_possible(references, kind(0.02)),
        lambda: ss.resolution_table(references, {"a": scores}, [kind(0.02)]),
        lambda: ss.range_eer(references, scores, collar=kind(0.01)),
        lambda: scores.resample(kind(0.04)),
    ):
        with pytest.raises(ss.UsageError, match=r"was rounded to float32 or float16.*give a Python float"):
            refused()


def test_tensors_are_rounded_too():
    torch = pytest.importorskip("torch")
    from spoofspan.integrations.torch import PointEER, RangeEER

    for refused in (
        lambda: scores_of(torch.tensor(0.02)),
        lambda: RangeEER(torch.tensor(0.02), higher="bonafide"),
        lambda: PointEER(np.float32(0.02), 0.02, higher="bonafide"),
    ):
        with pytest.raises(ss.UsageError, match=r"edges miss those of 0\.02"):
            refused()
    with pytest.raises(ss.UsageError, match="must be positive"):
        RangeEER(0, higher="bonafide")


def test_what_is_exact_in_few_digits_is_taken():
    assert ss.point_eer(references_of(float), scores_of(0.02), np.float32(0.25)).measure == "point-eer@250ms"
    assert scores_of(np.float32(0.03125)).hop == 0.03125
    assert scores_of(np.float64(0.02)).hop == 0.02


def test_rounded_edges_are_warned_about_since_they_change_point_labels():
    exact = ss.point_mass(references_of(float), scores_of(0.02), 0.02)
    with pytest.warns(ss.SpoofspanWarning, match=r"seconds are float32.*give float64 seconds"):
        rounded = references_of(np.float32)
    assert ss.point_mass(rounded, scores_of(0.02), 0.02).spoof.sum() == exact.spoof.sum() + 1
    starts, ends = np.float32([0.0, 0.7]), np.float32([0.7, 1.4])
    with pytest.warns(ss.SpoofspanWarning, match="float32"):
        ss.References.from_columns(["u1"], None, [0, 2], starts, ends, [False, True])
    table = pa.table({"utterance": ["u1", "u1"], "start": starts, "end": ends, "label": ["bonafide", "spoof"]})
    with pytest.warns(ss.SpoofspanWarning, match="float32"):
        ss.References.from_table(table)
    ss.References.from_columns(["u1"], None, [0, 1], np.float32([0.0]), np.float32([0.5]), [True])
