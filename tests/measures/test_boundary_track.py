"""The EER of a boundary track: against the labels and the EER of BAM, and by hand."""

import json
from pathlib import Path

import pytest
from command_line import run_command as run
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

import spoofspan as ss
from spoofspan.formats.tables import parquet

# there are few boundaries
pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.base.errors.SpoofspanWarning")
GOLDEN = Path(__file__).parents[1] / "golden" / "boundary_track"
CASE = json.loads((GOLDEN / "case.json").read_text(encoding="utf-8"))["utterances"]
TOOL = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))["tools"]


def corpus(ms):
    durations = {name: one["duration"] / 1000 for name, one in CASE.items()}
    spoof = {name: [(a / 1000, b / 1000, "spoof") for a, b in one["spoof"]] for name, one in CASE.items()}
    track = {name: one["scores"][ms] for name, one in CASE.items()}
    scores = ss.Scores.from_frames(track, hop=int(ms) / 1000, higher="spoof")
    return ss.References.from_ranges(spoof, durations), scores


@pytest.mark.parametrize("ms", TOOL)
def test_labels_and_eer_are_those_of_bam(ms):
    references, track = corpus(ms)
    name = f"point-boundary-eer@{ms}ms"
    found = ss.evaluate(references, track, [name], boundary_scores=track, gaps="bonafide")[name]
    assert (found.point.spoof, found.point.spoof + found.point.bona_fide) == (
        TOOL[ms]["boundaries"],
        TOOL[ms]["points"],
    )
    assert found.value == pytest.approx(TOOL[ms]["eer"], abs=1e-15)


def test_boundary_points_by_hand():
    # points of 10 ms: b b s s s b s s, then the end; boundaries are 2, 4 and 6
    ranges = [(0.0, 0.025, "bonafide"), (0.025, 0.05, "spoof"), (0.05, 0.06, "bonafide"), (0.06, 0.08, "spoof")]
    references = ss.References.from_ranges({"u": ranges})
    name = "point-boundary-eer@10ms"
    for wrong, value in ((None, 0.0), (7, 0.1), (0, 0.1)):
        frames = [0.9 if k in (2, 4, 6) else 0.1 for k in range(8)]
        if wrong is not None:
            frames[wrong] = 0.9
        track = ss.Scores.from_frames({"u": frames}, hop=0.01, higher="spoof")
        found = ss.evaluate(references, track, [name], boundary_scores=track, eer_rule="nearest", threshold=None)
        assert found[name].value == value
        assert found[name].point.spoof == 3


def test_the_command_line_takes_a_boundary_track(tmp_path, capsys):
    references, track = corpus("20")
    (tmp_path / "r.parquet").write_bytes(b"".join(parquet.write_references(references)))
    (tmp_path / "s.parquet").write_bytes(b"".join(parquet.write_scores(track)))
    files = [tmp_path / "r.parquet", tmp_path / "s.parquet", "--gaps", "bonafide", "--hop", "0.02", "--higher", "spoof"]
    asked = ["-m", "point-boundary-eer@20ms", "-m", "range-eer", "--format", "json"]
    code, printed, said = run(["eval", *files, *asked, "--boundary-scores", tmp_path / "s.parquet"], capsys)
    assert code == 0, said
    values = {one["measure"]: one["value"] for one in json.loads(printed)["measurements"]}
    assert values["point-boundary-eer@20ms"] == pytest.approx(TOOL["20"]["eer"], abs=1e-15)
    assert values["range-eer"] != values["point-boundary-eer@20ms"]
    code, _, said = run(["eval", *files, *asked], capsys)
    assert (code, "--boundary-scores FILE" in " ".join(said.split())) == (2, True)
    code, _, said = run(["eval", *files, "--boundary-scores", tmp_path / "s.parquet"], capsys)
    assert (code, "add -m point-boundary-eer@20ms" in " ".join(said.split())) == (2, True)


def boundary_points(one, ms):
    """1 where a point has any spoof and a neighbour has none, in milliseconds; a second way to BAM's labels."""
    spoof = [any(a < k + ms and k < b for a, b in one["spoof"]) for k in range(0, one["duration"], ms)]
    edges = zip([spoof[0], *spoof], spoof, [*spoof[1:], spoof[-1]], strict=False)
    return [int(here and not (before and after)) for before, here, after in edges]


@pytest.mark.parametrize("ms", TOOL)
@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8])
def test_ratios_of_boundary_points_are_those_of_scikit_learn(ms, threshold):
    references, track = corpus(ms)
    labels = [label for one in CASE.values() for label in boundary_points(one, int(ms))]
    assert (sum(labels), len(labels)) == (TOOL[ms]["boundaries"], TOOL[ms]["points"])
    called = [score > threshold for one in CASE.values() for score in one["scores"][ms]]
    names = {name: f"point-boundary-{name}@{ms}ms" for name in ("precision", "recall", "f1", "accuracy")}
    how = {"boundary_scores": track, "gaps": "bonafide", "threshold": threshold}
    found = ss.evaluate(references, track, list(names.values()), **how)
    precision, recall, f1, _ = precision_recall_fscore_support(labels, called, average="binary")
    expected = {"precision": precision, "recall": recall, "f1": f1, "accuracy": accuracy_score(labels, called)}
    assert {name: found[names[name]].value for name in names} == pytest.approx(expected, abs=1e-12)


def test_without_a_threshold_they_are_taken_at_the_eer_of_the_track():
    references, track = corpus("20")
    names = ["point-boundary-eer@20ms", "point-boundary-accuracy@20ms"]
    how = {"boundary_scores": track, "gaps": "bonafide"}
    at_eer = ss.evaluate(references, track, names, confidence=0.95, **how)
    assert at_eer[names[1]].threshold == at_eer[names[0]].threshold
    assert at_eer[names[1]].interval.low < at_eer[names[1]].value < at_eer[names[1]].interval.high
    given = ss.evaluate(references, track, names[1], threshold=at_eer[names[0]], **how)
    assert given[names[1]].exact_value == at_eer[names[1]].exact_value
    with pytest.raises(
        ss.UsageError, match="on that of the boundary track; measure point-boundary-accuracy@20ms apart"
    ):
        ss.evaluate(references, track, [names[1], "range-f1"], threshold=0.5, **how)
    with pytest.raises(ss.UsageError, match="measured of scores of boundaries"):
        ss.compare(references, {"a": track, "b": track}, names[1], thresholds={"a": 0.5, "b": 0.5}, gaps="bonafide")


def test_a_track_that_is_high_elsewhere_is_refused(demo):
    references, scores = demo
    with pytest.raises(ss.UsageError, match="high where a boundary is"):
        ss.evaluate(references, scores, ["point-boundary-eer@20ms"], boundary_scores=scores)
