"""Utterances shorter than one frame, and labels by more than a share: as partialspoof-metrics has them."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command_line import run

import spoofspan as ss

FOLDER = Path(__file__).parents[1] / "golden" / "short_utterances"
CASE = json.loads((FOLDER / "case.json").read_text())
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
STEP, HOP = CASE["step_seconds"], CASE["unit_seconds"]

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")


def corpus(which="", *, as_ranges=False):
    some = {name: one for name, one in CASE["utterances"].items() if which in name}
    ranges = {name: [(a * STEP, b * STEP, label) for a, b, label in one["ranges"]] for name, one in some.items()}
    references = ss.References.from_ranges(ranges, {name: one["steps"] * STEP for name, one in some.items()})
    frames = {name: one["scores"] for name, one in some.items()}
    if as_ranges:
        timed = {name: [(k * HOP, (k + 1) * HOP, s) for k, s in enumerate(one)] for name, one in frames.items()}
        return references, ss.Scores.from_ranges(timed, higher="spoof")
    return references, ss.Scores.from_frames(frames, hop=HOP, higher="spoof")


# ---------------------------------------------------------------- a lone frame


@pytest.mark.parametrize("as_ranges", [False, True])
@pytest.mark.parametrize("which", ["", "long"])
def test_a_lone_frame_is_kept_as_in_the_millisecond_eer(which, as_ranges):
    found = ss.range_eer(*corpus(which, as_ranges=as_ranges), convention="partialspoof-metrics")
    assert found.value == pytest.approx(EXPECTED["calculate_mseer"][which or "all"], abs=1e-12)


def files(folder, which=""):
    lines, scores = [], []
    for name, one in CASE["utterances"].items():
        if which in name:
            runs = [f"{a * STEP!r}-{b * STEP!r}-{label}" for a, b, label in one["ranges"]]
            label = "spoof" if any(row[2] == "spoof" for row in one["ranges"]) else "bonafide"
            lines.append(f"{name} {one['steps'] * STEP!r} {label} {' '.join(runs)}\n")
            scores += [f"{name} {k} {-score} {score}\n" for k, score in enumerate(one["scores"])]
    (folder / "labels.txt").write_text("".join(lines))
    (folder / "unit0.03125.score").write_text("".join(scores))
    return [str(folder / "labels.txt"), str(folder / "unit0.03125.score"), "--format", "json"]


def values(arguments, capsys):
    code, said = run(["eval", *arguments], capsys)
    assert code == 0, said.err
    return {one["measure"]: one for one in json.loads(said.out)["measurements"]}


@pytest.mark.parametrize("more", [[], ["--stream"], ["--jobs", "2"]])
def test_a_lone_frame_is_kept_in_the_shell_and_in_shards(more, tmp_path, capsys):
    found = values([*files(tmp_path), "--convention", "partialspoof-metrics", "-m", "range-eer", *more], capsys)
    assert found["range-eer"]["value"] == pytest.approx(EXPECTED["calculate_mseer"]["all"], abs=1e-12)


@pytest.mark.parametrize("as_ranges", [False, True])
def test_a_lone_frame_is_dropped_where_nothing_is_held(as_ranges):
    kept = ss.range_eer(*corpus(as_ranges=as_ranges), last_frame="drop", uncovered="ignore")
    assert kept.touched["uncovered"].utterances == 16
    held = ss.range_eer(*corpus(as_ranges=as_ranges), last_frame="drop", uncovered="hold")
    assert "last_frame" not in held.touched
    assert "uncovered" not in held.touched


def test_what_cannot_be_held_is_not_told_to_be_held():
    references, _ = corpus("long0")
    nothing = ss.Scores.from_frames(dict.fromkeys(references.utterances, ()), hop=HOP, higher="spoof")
    with pytest.raises(ss.DataError, match="needs at least one score in each utterance; complete the scores") as error:
        ss.range_eer(references, nothing, uncovered="hold")
    assert "uncovered='hold' (needs" not in str(error.value)


# ---------------------------------------------------------------- more than a share

SENSITIVITIES = [(zoom, share) for zoom, share in (key.split(", sensitivity ") for key in EXPECTED["calculate_eer"])]


@pytest.mark.parametrize(("zoom", "share"), SENSITIVITIES)
def test_more_than_a_share_is_the_sensitivity_of_the_tool(zoom, share):
    resolution = HOP if zoom == "zoom 1" else 2 * HOP
    rules = {"convention": "partialspoof-metrics", "label": f"over({share})"}
    found = ss.point_eer(*corpus("long"), resolution, **rules)
    assert found.value == pytest.approx(EXPECTED["calculate_eer"][f"{zoom}, sensitivity {share}"], abs=1e-12)


def test_at_least_and_more_than_a_share_differ_on_the_share_alone():
    shares = {"at": [(0.0, 0.01, "spoof"), (0.01, 0.02, "bonafide")], "above": [(0.0, 0.02, "spoof")]}
    shares |= {"below": [(0.0, 0.02, "bonafide")]}
    references = ss.References.from_ranges(shares)
    scores = ss.Scores.from_frames({"at": [0.5], "above": [0.1], "below": [0.9]}, hop=0.02, higher="bonafide")

    def spoof_points(label):
        return int(ss.evaluate(references, scores, ["point-eer@20ms"], label=label)["point-eer@20ms"].point.spoof)

    assert {
        label: spoof_points(label) for label in ("any", "over(0)", "over(0.4999)", 0.5, "majority")
    } == dict.fromkeys(("any", "over(0)", "over(0.4999)", 0.5, "majority"), 2)
    assert spoof_points("over(0.5)") == spoof_points("over(0.99)") == spoof_points(0.51) == 1


def test_more_than_a_share_equals_brute_force():
    rng = np.random.default_rng(5)
    ranges, frames, expected = {}, {}, 0
    share = Fraction(1, 2)  # three of six are on it
    for i in range(30):
        steps = rng.integers(0, 2, 60)  # of 10 ms, six of them a point
        ranges[f"u{i}"] = [(0.01 * k, 0.01 * (k + 1), ("bonafide", "spoof")[one]) for k, one in enumerate(steps)]
        frames[f"u{i}"] = rng.normal(size=10)
        expected += sum(Fraction(int(row.sum()), 6) > share for row in steps.reshape(-1, 6))
    found = ss.point_eer(
        ss.References.from_ranges(ranges),
        ss.Scores.from_frames(frames, hop=0.06, higher="spoof"),
        0.06,
        label="over(0.5)",
    )
    assert found.point.spoof == expected


def test_a_share_has_one_spelling_everywhere(tmp_path, capsys):
    spellings = ["over(0.5)", "over(.5)", "over(0.50)", "over(00.500)"]
    sides = corpus("long")
    signatures = {str(ss.point_eer(*sides, HOP, label=one).signature) for one in spellings}
    assert len(signatures) == 1
    assert "|label:over(0.5)|" in signatures.pop()
    assert ss.Rules(label="over(0)") == ss.Rules(label="any")
    measure = f"point-eer@{1000 * HOP:g}ms"
    typed = [*files(tmp_path, "long"), "-m", measure]
    shell, streamed, cut = (
        values([*typed, "--label", label, *more], capsys)[measure]
        for label, more in (("over(0.5)", []), ("over(.50)", ["--stream"]), ("over(0.5)", ["--jobs", "2"]))
    )
    assert shell["signature"] == streamed["signature"] == cut["signature"]
    assert shell["value"] == streamed["value"] == cut["value"] == ss.point_eer(*sides, HOP, label="over(0.5)").value


@pytest.mark.parametrize("label", ["over(1)", "over(-0.1)", "over()", "over(.)", "over(half)", "over(0.5", "over 0.5"])
def test_what_is_no_share_is_refused(label):
    with pytest.raises(ss.UsageError, match=r"more than a fraction below 1: over\(0\.5\)"):
        ss.Rules(label=label)
