"""Scores of whole utterances in calibrate, fuse, plan and domains: on the shell, in Python, and against oracles."""

import json

import numpy as np
import pytest
from command_line import run_command as run
from scipy.optimize import minimize
from test_compare_utterances import drawn, exact_eer, files

import spoofspan as ss

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # few clusters


@pytest.fixture
def corpus(tmp_path):
    """A protocol, the scores of two systems, and the second with the other polarity, as files."""
    rows, systems = drawn()
    systems = {name: systems[name] for name in "ab"}
    typed = files(tmp_path, rows, systems)
    lines = [f"{row[1]} {-value!r}\n" for row, value in zip(rows, systems["b"].tolist(), strict=True)]
    (tmp_path / "mirrored.txt").write_text("".join(lines))  # high = spoof, which nothing says
    return rows, systems, typed, str(tmp_path / "mirrored.txt")


def by_class(rows, values):
    """Bona fide and spoof scores."""
    return [[v for v, row in zip(values, rows, strict=True) if row[4] == name] for name in ("bonafide", "spoof")]


def plain_regression(columns, real):
    """Weights and offset of a logistic regression whose classes weigh one half each, by a general minimiser."""
    design = np.column_stack([*columns, np.ones(len(real))])
    weights = np.where(real, 0.5 / real.sum(), 0.5 / (~real).sum())
    signs = np.where(real, 1.0, -1.0)
    found = minimize(lambda w: weights @ np.logaddexp(0, -signs * (design @ w)), np.zeros(design.shape[1]), tol=1e-14)
    return found.x


def succeed(words, capsys):
    code, out, error = run([str(word) for word in words], capsys)
    assert code == 0, error
    return out


def test_a_calibration_keeps_the_eer_and_is_read_back(corpus, tmp_path, capsys):
    rows, systems, typed, _ = corpus
    wanted = exact_eer(*by_class(rows, systems["a"].tolist()))
    learned, made = tmp_path / "a.json", tmp_path / "a_llr.tsv"
    plain = json.loads(succeed(["calibrate", *typed[:2], "--out", learned, "--format", "json"], capsys))
    assert [one["eer"] for one in plain["scores"][:2]] == [wanted, wanted]
    assert plain["scores"][2]["name"] == "held out by speaker"  # of the protocol itself
    real = np.array([row[4] == "bonafide" for row in rows])
    weight, offset = plain_regression([systems["a"]], real)
    assert plain["calibration"]["systems"][0]["weight"] == pytest.approx(weight, rel=1e-4)
    assert plain["calibration"]["offset"] == pytest.approx(offset, abs=1e-4)
    succeed(["calibrate", "--apply", learned, typed[1], "--out", made], capsys)
    found = json.loads(succeed(["eval", typed[0], made, "--format", "json"], capsys))
    assert found["measurements"][0]["value"] == wanted
    compared = json.loads(succeed(["compare", typed[0], typed[1], made, "--format", "json"], capsys))
    assert [one["value"] for one in compared["comparisons"][0]["systems"]] == [wanted, wanted]


def test_a_fusion_takes_the_polarity_of_each_system(corpus, tmp_path, capsys):
    rows, systems, typed, mirrored = corpus
    fusion, fused = tmp_path / "ab.json", tmp_path / "fused.score"
    given = [typed[0], typed[1], f"b={mirrored}", "--higher", "b=spoof"]
    plain = json.loads(succeed(["fuse", *given, "--out", fusion, "--format", "json"], capsys))
    real = np.array([row[4] == "bonafide" for row in rows])
    *weights, offset = plain_regression([systems["a"], systems["b"]], real)
    learned = plain["calibration"]
    found = [one["weight"] for one in learned["systems"]]
    assert found == pytest.approx(weights, rel=1e-3)
    assert learned["offset"] == pytest.approx(offset, abs=1e-3)
    assert [one["higher"] for one in learned["systems"]] == ["bonafide", "spoof"]
    succeed(["fuse", "--apply", fusion, *given[1:], "--out", fused], capsys)
    ratios = learned["offset"] + found[0] * systems["a"] + found[1] * systems["b"]
    wanted = exact_eer(*by_class(rows, ratios.tolist()))
    assert {one["name"]: one["eer"] for one in plain["scores"]}["fused"] == wanted
    found = json.loads(succeed(["eval", typed[0], fused, "--format", "json"], capsys))
    assert found["measurements"][0]["value"] == wanted
    code, _, error = run(["fuse", *given[:3]], capsys)
    assert code == 2
    assert "mirrored.txt: nothing says what high values" in error


@pytest.mark.parametrize("learn", [ss.calibrate, ss.fuse])
def test_python_learns_of_a_protocol_labels_or_references(corpus, learn):
    rows, systems, typed, _ = corpus
    names = tuple(row[1] for row in rows)
    said = {name: ss.UtteranceScores(names, values, higher="bonafide") for name, values in systems.items()}
    truths = (
        ss.read_protocol(typed[0]),
        {row[1]: row[4] for row in rows},
        ss.References.from_ranges({row[1]: [(0.0, 1.0, row[4])] for row in rows}),
    )
    first, *others = [learn(truth, said if learn is ss.fuse else said["a"]).map for truth in truths]
    assert others == [first, first]


def test_plan_and_domains_measure_whole_utterances(corpus, tmp_path, capsys):
    rows, systems, typed, mirrored = corpus
    eers = [exact_eer(*by_class(rows, systems[name].tolist())) for name in "ab"]
    clusters = {row[1]: row[0] for row in rows}
    said = {name: ss.UtteranceScores(tuple(clusters), values, higher="bonafide") for name, values in systems.items()}
    labels = {row[1]: row[4] for row in rows}
    given = [typed[0], typed[1], f"b={mirrored}", "--higher", "b=spoof"]
    plan = json.loads(succeed(["plan", *given, "--format", "json"], capsys))["plan"]
    assert (plan["measure"], plan["first"], plan["second"]) == ("utterance-eer", *eers)
    wanted = ss.sample_size(labels, said, "utterance-eer", clusters=clusters, clusters_are="speaker")
    assert plan == wanted.to_dict()
    for name in ("one", "two"):
        (tmp_path / f"{name}_key.txt").write_text((tmp_path / "protocol.txt").read_text())
        (tmp_path / f"{name}.tsv").write_text((tmp_path / ("a.tsv" if name == "one" else "b.tsv")).read_text())
    typed = ["domains", tmp_path / "{set}_key.txt", tmp_path / "{set}.tsv", "--set", "one", "--set", "two"]
    found = json.loads(succeed([*typed, "--format", "json"], capsys))["systems"][0]
    assert [one["eer"] for one in found["domains"]] == eers


def test_scores_in_time_are_not_taken_for_scores_of_utterances(corpus, demo, tmp_path, capsys):
    _, _, typed, _ = corpus
    ss.write_scores(demo[1], tmp_path / "frames.parquet")
    for command in (["eval"], ["calibrate"], ["plan", "--from", "5", "--to", "4"]):
        code, _, error = run([command[0], typed[0], str(tmp_path / "frames.parquet"), *command[1:]], capsys)
        assert code == 2
        assert "scores in time need references in time" in error


def test_common_mistakes_are_named(corpus, tmp_path, capsys):
    rows, _, typed, _ = corpus
    (tmp_path / "own_key.txt").write_text("".join(f"{row[1]} -{i}.5 {row[4]}\n" for i, row in enumerate(rows)))
    (tmp_path / "other.tsv").write_text((tmp_path / "a.tsv").read_text().replace("u", "E_"))
    for words, said in {
        ("eval", typed[1], typed[0]): "is given as SCORES; REFERENCES come first",
        ("compare", typed[1], typed[0], typed[2]): "is given as SCORES; REFERENCES come first",
        ("compare", *typed[:2]): "spoofspan eval measures one",
        (
            "eval",
            typed[0],
            tmp_path / "other.tsv",
        ): "have no utterance in common; give references and scores of one set",
        ("eval", *typed[:2], "-m", "range-eer"): "add -m utterance-eer",
    }.items():
        code, _, error = run([str(word) for word in words], capsys)
        assert code in (2, 3)
        assert said in error
    both = [str(tmp_path / "own_key.txt")] * 2  # a score file with labels is its own key
    succeed(["eval", *both, "--higher", "bonafide"], capsys)
