"""A threshold may be given as the measurement that found it; one that nothing uses is refused."""

from __future__ import annotations

import numpy as np
import pytest
from command_line import run

import spoofspan as ss
from spoofspan.measures.operating_point import check_threshold, point_at
from spoofspan.report.figures import utterance_data as figures
from spoofspan.report.page.scores_page import ScoresPageSettings, scores_page
from spoofspan.scale.sharding import sharded

RANGES = {f"u{i}": [(0.0, 0.4, "bonafide"), (0.4, 0.8, "spoof")] for i in range(8)} | {
    f"b{i}": [(0.0, 0.8, "bonafide")] for i in range(4)
}


@pytest.fixture(scope="module")
def references():
    return ss.References.from_ranges(RANGES)


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(1)
    frames = {utt: rng.normal(5.0, 1.0, 40) - 2 * (utt[0] == "u") * (np.arange(40) >= 20) for utt in RANGES}
    return ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")


@pytest.fixture(scope="module")
def dev(references, scores):
    found = ss.range_eer(references, scores)
    assert abs(found.value - found.threshold) > 1  # taken for the other, it would change everything
    return found


@pytest.fixture(scope="module")
def corpus(references, scores, tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    ss.write_references(references, folder / "ref.parquet")
    ss.write_scores(scores, folder / "scores.parquet")
    return folder


def plain(value):
    """A result as something that can be compared."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, ss.References | ss.Proposals):
        return list(value.items()) if hasattr(value, "items") else [value[utt] for utt in value.utterances]
    return str(value)


SYSTEMS = "a", "b"
TAKEN = {
    "evaluate": lambda r, s, t: ss.evaluate(r, s, ["range-f1", "point-f1@20ms"], threshold=t),
    "evaluate events": lambda r, s, t: ss.evaluate(r, s, ["event-f1@iou=0.5"], threshold=t),
    "curve": lambda r, s, t: ss.error_curve(r, s).at(t),
    "mass": lambda r, s, t: point_at(ss.overlay(r, s), t),
    "errors": lambda r, s, t: ss.errors_by_utterance(r, s, t).false_positive.tolist(),
    "called": lambda r, s, t: [ss.called_ranges(s, t)[utt] for utt in s.utterances],
    "proposals": lambda r, s, t: ss.proposals_from_scores(s, t).starts.tolist(),
    "interval": lambda r, s, t: ss.interval(r, s, "range-f1", threshold=t),
    "compare": lambda r, s, t: ss.compare(
        r, dict.fromkeys(SYSTEMS, s), "range-f1", thresholds=dict.fromkeys(SYSTEMS, t)
    ),
    "seeds": lambda r, s, t: ss.seed_variation(r, dict.fromkeys("123", s), "range-f1", threshold=t),
    "timeline": lambda r, s, t: figures.timeline_data(r, s, "u1", t).errors,
    "called timeline": lambda r, s, t: figures.called_timeline_data(s, "u1", t).decision,
    "points": lambda r, s, t: figures.points_data(r, s, "u1", 0.04, t).outcomes,
    "measurement": lambda r, s, t: figures.measurement_data(r, s, "u1", 0.04, t).ranges.errors,
    "resampling": lambda r, s, t: figures.resampling_data(r, s, "u1", [0.04], t).native.outcomes,
    "page": lambda r, s, t: scores_page({"a": s}, ScoresPageSettings("x", {"a": t})),
}


@pytest.mark.parametrize("way", TAKEN)
@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_a_measurement_stands_for_its_threshold(way, references, scores, dev):
    number = plain(TAKEN[way](references, scores, dev.threshold))
    assert plain(TAKEN[way](references, scores, dev)) == number
    assert plain(TAKEN[way](references, scores, dev.point)) == number


def test_shards_and_utterances_take_a_measurement(references, scores, dev, corpus):
    with sharded(corpus / "ref.parquet", corpus / "scores.parquet") as shards:
        found = ss.evaluate_shards(shards, ["range-f1"], threshold=dev)
    assert (
        found["range-f1"].value
        == ss.evaluate(references, scores, ["range-f1"], threshold=dev.threshold)["range-f1"].value
    )
    whole = ss.UtteranceScores(scores.utterances, np.arange(len(scores.utterances), dtype=float), higher="bonafide")
    eer = ss.evaluate_utterances(references, whole)["utterance-eer"]
    found = ss.evaluate_utterances(references, whole, ["utterance-f1"], threshold=eer)
    assert found["utterance-f1"].threshold == eer.threshold


@pytest.mark.parametrize("way", TAKEN)
def test_a_measurement_without_a_threshold_is_refused(way, references, scores):
    free = ss.evaluate(references, scores, ["range-auc"])["range-auc"]
    with pytest.raises(ss.UsageError, match="range-auc has no threshold; give a number"):
        TAKEN[way](references, scores, free)


def test_an_evaluation_is_no_threshold(references, scores):
    with pytest.raises(ss.UsageError, match=r"choose a measurement: found\['range-eer'\]"):
        check_threshold(ss.evaluate(references, scores, ["range-eer"]))


@pytest.mark.parametrize("measures", [None, "range-eer", ["range-eer", "range-auc"], ["event-psds"]])
def test_a_threshold_that_nothing_uses_is_refused(measures, references, scores, corpus):
    with pytest.raises(ss.UsageError, match="not taken at a threshold; leave threshold= out"):
        ss.evaluate(references, scores, measures, threshold=0.5)
    with (
        pytest.raises(ss.UsageError, match="not taken at a threshold; leave threshold= out"),
        sharded(corpus / "ref.parquet", corpus / "scores.parquet") as shards,
    ):
        ss.evaluate_shards(shards, [measures] if isinstance(measures, str) else measures, threshold=0.5)


def test_the_shell_refuses_it_too(corpus, capsys):
    files = ["eval", corpus / "ref.parquet", corpus / "scores.parquet"]
    for more in ([], ["-m", "range-eer"], ["-m", "range-eer", "--stream"], ["-m", "range-eer", "--by", "length"]):
        code, printed = run([*files, "--threshold", "4", *more], capsys)
        assert (code, printed.out) == (2, ""), more
        assert "not taken at a threshold; leave --threshold out" in printed.err
    code, printed = run([*files, "--threshold", "4", "-m", "range-eer", "-m", "range-f1"], capsys)
    assert code == 0, printed.err
    code, printed = run([*files, "--threshold", "4", "--per-utterance", corpus / "errors.csv"], capsys)
    assert code == 0, printed.err
    assert "spoof iff score < 4" in printed.err
