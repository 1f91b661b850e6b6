"""XPS-Forensic, CFPRF, DeepFense and BAM, run on generated files: their values are ours under the stated rules."""

import json
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

import spoofspan as ss

FOLDER = Path(__file__).parents[1] / "golden" / "other_toolkits"
CASE = json.loads((FOLDER / "case.json").read_text())
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
HOP = 0.02


def ranges(labels):
    found, start = [], 0
    for label, frames in groupby(labels):
        end = start + len(list(frames))
        found.append((start * HOP, end * HOP, "spoof" if label == "1" else "bonafide"))
        start = end
    return found


@pytest.fixture(scope="module")
def references():
    utterances = CASE["utterances"]
    durations = {name: len(one["labels"]) * HOP for name, one in utterances.items()}
    return ss.References.from_ranges({name: ranges(one["labels"]) for name, one in utterances.items()}, durations)


@pytest.fixture(scope="module")
def scores():
    frames = {name: one["scores"] for name, one in CASE["utterances"].items()}
    return ss.Scores.from_frames(frames, hop=HOP, higher="spoof")


@pytest.mark.parametrize("resolution", ["20", "40", "80", "160", "320"])
def test_segment_eers_of_xps_forensic(references, scores, resolution):
    name = f"point-eer@{resolution}ms"
    found = ss.evaluate(references, scores, [name], convention="xps-forensic-2026-03")[name]
    # it looks for the crossing by brentq, whose tolerance is 2e-12
    assert found.value == pytest.approx(EXPECTED["xps-forensic"]["compute_segment_eer"][resolution], abs=3e-12)


@pytest.mark.parametrize("resolution", ["20", "40", "80", "160", "320", "640"])
@pytest.mark.parametrize("hop", ["20", "160"])
@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_segment_eers_of_the_cross_domain_audit(references, hop, resolution):
    """The least spoof-like frame of each window, of utterances as long as one; at 160 ms, every eighth score."""
    if resolution not in (expected := EXPECTED["cross-domain-audit"]["seg_eer"][hop]):
        return  # finer than the hop
    frames = int(resolution) // 20
    long = {name: one["scores"] for name, one in CASE["utterances"].items() if len(one["labels"]) >= frames}
    every = int(hop) // 20
    said = {name: one[: len(one) // every * every : every] for name, one in long.items()}
    scores = ss.Scores.from_frames(said, hop=int(hop) / 1000, higher="spoof")
    name = f"point-eer@{resolution}ms"
    found = ss.evaluate(references, scores, [name], convention="xps-forensic-2026-06", partial=True)[name]
    assert found.value == pytest.approx(expected[resolution], abs=3e-12)


@pytest.mark.parametrize("resolution", ["20", "40", "80", "160", "320"])
def test_segment_eers_of_the_cross_domain_audit_where_scores_stop_early(resolution):
    """Utterances of the golden case short_tail; 28 of 40 have too few scores, 8 too many."""
    folder = FOLDER.parent / "short_tail"
    references = ss.read_references(folder / "rttm_2cls_0sil", durations=folder / "reco2dur")
    scores = ss.read_scores(folder / "unit0.02.score.gz")
    found = ss.point_eer(references, scores, int(resolution) / 1000, convention="xps-forensic-2026-06")
    expected = EXPECTED["cross-domain-audit"]["seg_eer of short_tail"][resolution]
    assert found.value == pytest.approx(expected, abs=3e-12)


def test_shares_of_time_of_xps_forensic(references, scores):
    names = ["range-f1", "range-fnr", "range-precision", "range-iou"]
    found = ss.evaluate(references, scores, names, threshold=0.2)
    tool = EXPECTED["xps-forensic"]
    assert found["range-f1"].value == pytest.approx(tool["compute_segment_f1"], abs=1e-15)
    assert found["range-fnr"].value == pytest.approx(tool["compute_tFNR"], abs=1e-15)
    assert 1 - found["range-precision"].value == pytest.approx(tool["compute_tFDR"], abs=1e-15)
    assert found["range-iou"].value == pytest.approx(tool["compute_tIoU"], abs=1e-15)


def test_proposals_of_cfprf(references):
    listed = {
        name: [(start * HOP, end * HOP, confidence) for confidence, start, end in one["proposals"]]
        for name, one in CASE["utterances"].items()
    }
    tool = EXPECTED["cfprf"]
    wanted = {f"event-ap-avdeepfake1m@iou={iou}": value for iou, value in tool["AP"].items()}
    wanted |= {f"event-ar-avdeepfake1m@n={n}": value for n, value in tool["AR"].items()}
    wanted["event-ap-avdeepfake1m@iou=0.5:0.05:0.95"] = tool["mAP"]
    found = ss.evaluate(references, ss.Proposals.from_ranges(listed), list(wanted))
    assert {name: found[name].value for name in wanted} == pytest.approx(wanted, abs=2e-7)  # it computes in 32 bits


def test_frames_of_cfprf(references, scores):
    names = {"point-eer": "eer", "point-auc": "auc", "point-accuracy": "accuracy"}
    names |= {f"point-{name}-bonafide": name for name in ("precision", "recall", "f1")}
    found = ss.evaluate(references, scores, [f"{name}@20ms" for name in names])
    for name, theirs in names.items():
        assert 100 * found[f"{name}@20ms"].value == pytest.approx(EXPECTED["cfprf"]["eval_PFD"][theirs], abs=1e-12)


def test_utterances_of_deepfense():
    trials = CASE["trials"]
    truth = {f"t{i}": "bonafide" if label else "spoof" for i, (label, _) in enumerate(trials)}
    scores = ss.UtteranceScores(tuple(truth), np.array([score for _, score in trials]), "bonafide")
    names = {"utterance-eer": "EER", "utterance-min-dcf": "minDCF", "utterance-cllr": "CLLR"}
    names |= {"utterance-act-dcf": "actDCF"}
    found = ss.evaluate_utterances(truth, scores, list(names), scores_are="llr")
    for name, theirs in names.items():
        assert found[name].value == pytest.approx(EXPECTED["deepfense"][theirs], abs=1e-15)


LABELS = {"any_spoof": "any", "majority": "majority", "all_spoof": 1.0}


@pytest.fixture(scope="module")
def whole_windows():
    """Both sides, each utterance cut to windows of 320 ms."""
    cut = {name: len(one["labels"]) // 16 * 16 for name, one in CASE["utterances"].items()}
    labels = {name: ranges(CASE["utterances"][name]["labels"][:count]) for name, count in cut.items()}
    frames = {name: CASE["utterances"][name]["scores"][:count] for name, count in cut.items()}
    references = ss.References.from_ranges(labels, {name: count * HOP for name, count in cut.items()})
    return references, ss.Scores.from_frames(frames, hop=HOP, higher="spoof")


@pytest.mark.parametrize("setting", list(EXPECTED["deepfense"]["SEGMENT_EER"]))
@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # few windows have wide gaps
def test_segment_eers_of_deepfense(whole_windows, setting):
    pooling, rule = setting.split(", ")
    for resolution, theirs in EXPECTED["deepfense"]["SEGMENT_EER"][setting].items():
        name = f"point-eer@{resolution}ms"
        rules = {"convention": "deepfense", "pooling": pooling, "label": LABELS[rule]}
        assert ss.evaluate(*whole_windows, [name], **rules)[name].value == pytest.approx(theirs, abs=1e-15)


@pytest.mark.parametrize("pooling", ["min", "mean"])
@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_utterance_eers_of_deepfense(whole_windows, pooling):
    found = ss.evaluate(*whole_windows, ["utterance-eer"], convention="deepfense", pooling=pooling)["utterance-eer"]
    assert found.value == pytest.approx(EXPECTED["deepfense"]["UTTERANCE_EER"][pooling], abs=1e-15)


def test_segments_of_bam(references, scores):
    tool = EXPECTED["bam"]
    assert ss.point_eer(references, scores, 0.16).value == pytest.approx(tool["compute_eer"], abs=1e-15)
    theirs = {f"point-{name}-bonafide@160ms": tool[name] for name in ("precision", "recall", "f1")}
    theirs["point-accuracy@160ms"] = tool["accuracy"]
    found = ss.evaluate(references, scores, list(theirs), threshold=0.2)
    assert {name: found[name].value for name in theirs} == pytest.approx(theirs, abs=1e-15)
