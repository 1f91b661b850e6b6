"""``spoofspan calibrate`` and ``spoofspan fuse``: what they print and write is what Python finds."""

import json

import numpy as np
import pytest
from command_line import run

import spoofspan as ss
import spoofspan.demo

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")


@pytest.fixture(scope="module")
def corpus():
    return ss.demo.load()


@pytest.fixture(scope="module")
def folder(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibrate")
    ss.write_references(corpus.references, folder / "ref.parquet")
    for hop in (0.02, 0.64):
        ss.write_scores(corpus.systems[hop], folder / f"s{round(1000 * hop)}.parquet")
    lines = zip(corpus.protocol.speaker, corpus.protocol.utterance, corpus.protocol.label, strict=True)
    (folder / "protocol.txt").write_text("".join(f"{s} {u} - - {label}\n" for s, u, label in lines))
    return folder


@pytest.fixture
def said(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)

    def ask(*words, code=0):
        found, printed = run(words, capsys)
        assert found == code, printed.err
        return printed

    return ask


def test_learning_prints_before_after_and_held_out(said, corpus, folder):
    words = ("calibrate", "ref.parquet", "s20.parquet", "--metadata", "protocol.txt")
    printed = said(*words, "--out", "learn.json")
    rows = [line.split()[-5:] for line in printed.out.splitlines()[2:5]]
    assert [row[0] for row in rows[:2]] == ["5.21", "5.21"]
    assert rows[0][2] == rows[1][2]  # minCllr
    assert float(rows[1][1]) < float(rows[2][1]) < float(rows[0][1])
    assert "held out by speaker" in printed.out
    learned = ss.read_calibration(folder / "learn.json")
    assert learned == ss.calibrate(corpus.references, corpus.systems[0.02], name="s20")
    assert str(learned) in printed.out
    plain = json.loads(said(*words, "--format", "json", "--folds", "0").out)
    assert plain["calibration"] == learned.to_dict()
    assert [row["name"] for row in plain["scores"]] == ["as given", "calibrated"]


def test_applying_writes_what_python_applies(said, corpus, folder):
    said("calibrate", "ref.parquet", "s20.parquet", "--method", "pav", "--folds", "0", "--out", "pav.json")
    said("calibrate", "--apply", "pav.json", "s20.parquet", "--out", "llr.parquet")
    applied = ss.calibrate(corpus.references, corpus.systems[0.02], method="pav").apply(corpus.systems[0.02])
    np.testing.assert_array_equal(ss.read_scores(folder / "llr.parquet").values, applied.values)
    measured = said("calibrate", "ref.parquet", "s20.parquet", "--apply", "pav.json").out
    assert "calibrated" in measured
    assert "held out" not in measured


def test_a_fusion_is_learned_and_applied(said, corpus, folder):
    words = ("fuse", "ref.parquet", "s20.parquet", "s640.parquet")
    printed = said(*words, "--metadata", "protocol.txt", "--out", "fusion.json").out
    rows = {line.rpartition("   ")[0][:40].strip(): line.split()[-4] for line in printed.splitlines()[2:8]}
    assert len(rows) == 6
    said("fuse", "--apply", "fusion.json", "s20.parquet", "s640.parquet", "--out", "fused.parquet")
    systems = {"s20": corpus.systems[0.02], "s640": corpus.systems[0.64]}
    fused = ss.fuse(corpus.references, systems).apply(*systems.values())
    np.testing.assert_array_equal(ss.read_scores(folder / "fused.parquet").values, fused.values)
    again = said(*words, "--apply", "fusion.json").out
    assert f"{ss.range_eer(corpus.references, fused).value:.2%}"[:4] in again
    swapped = ("fuse", "--apply", "fusion.json", "s640.parquet", "s20.parquet", "--out", "swapped.parquet")
    assert "in another order (s640, s20); give them as s20, s640" in said(*swapped, code=2).err
    one = said("fuse", "--apply", "fusion.json", "s20.parquet", "--out", "one.parquet", code=2).err
    assert "fusion.json is a fusion of 2 systems (s20, s640); give the scores of each, in this order" in one
    said("calibrate", "ref.parquet", "s20.parquet", "--folds", "0", "--out", "single.json")
    applied = said("fuse", "--apply", "single.json", "s20.parquet", "s640.parquet", "--out", "x.parquet", code=2).err
    assert "single.json is a calibration of one system (s20): spoofspan calibrate applies it" in applied
    told = said(*words, "--method", "pav", "--folds", "0", "--out", "pavs.json")
    assert "pav-fusion calibration -> pavs.json" in told.err
    assert "* pav(s640)" in told.out
    assert ss.read_calibration(folder / "pavs.json") == ss.fuse(corpus.references, systems, method="pav")


def test_scores_of_whole_utterances(said, corpus, folder):
    rng = np.random.default_rng(0)
    spoof = np.array([label == "spoof" for label in corpus.protocol.label])
    for name in "ab":
        values = rng.normal(size=spoof.size) + np.where(spoof, -1.0, 1.0)
        scores = ss.UtteranceScores(tuple(corpus.protocol.utterance), values, "bonafide")
        ss.write_scores(scores, folder / f"{name}.tsv")
    said("calibrate", "protocol.txt", "a.tsv", "--out", "a.json")
    said("calibrate", "--apply", "a.json", "a.tsv", "--out", "a_llr.tsv")
    given, made = (ss.read_utterance_scores(folder / name) for name in ("a.tsv", "a_llr.tsv"))
    np.testing.assert_array_equal(made.values, ss.read_calibration(folder / "a.json").apply(given).values)
    words = ("fuse", "protocol.txt", "a.tsv", "b.tsv")
    assert "fused, held out by speaker" in said(*words, "--out", "ab.json").out
    assert "fused, held out by utterance" in said(*words, "--cluster", "utterance").out
    # of references, an utterance is spoof if any of it is
    assert said("calibrate", "ref.parquet", "a.tsv", "--folds", "0").out
    words = ("calibrate", "protocol.txt")
    said(*words, "a.tsv", "--scores-format", "asvspoof5", "--out", "again.json")
    assert ss.read_calibration(folder / "again.json").map == ss.read_calibration(folder / "a.json").map
    assert "give the file of utterance scores as SCORES" in said(*words, "--utterance-scores", "a.tsv", code=2).err
    (folder / "bare.txt").write_text((folder / "a.tsv").read_text().partition("\n")[2])
    assert "give --higher bonafide or spoof" in said(*words, "bare.txt", code=2).err
    said(*words, "bare.txt", "--higher", "bonafide", "--out", "bare.json")
    assert ss.read_calibration(folder / "bare.json").map == ss.read_calibration(folder / "a.json").map
    refused = said("calibrate", "--apply", "a.json", "s20.parquet", "--out", "no.parquet", code=2).err
    assert "learned on scores of whole utterances, and these are in time" in refused


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["calibrate", "ref.parquet"], "give SCORES after REFERENCES"),
        (["calibrate"], "give REFERENCES and SCORES to learn a calibration"),
        (["calibrate", "ref.parquet", "s20.parquet", "--method", "line"], "no method 'line'"),
        (["calibrate", "ref.parquet", "s20.parquet", "s640.parquet"], "of one system, and these are 2 (s20, s640)"),
        (["calibrate", "ref.parquet", "s20.parquet", "--prior", "1"], "--prior 1.0: must lie between 0 and 1"),
        (["calibrate", "ref.parquet", "s20.parquet", "--folds", "1"], "at least two folds"),
        (["calibrate", "ref.parquet", "s20.parquet", "--out", "map.parquet"], "write it to map.json, then give that"),
        (["fuse", "ref.parquet", "s20.parquet"], "at least two systems, not of 1; spoofspan calibrate takes one"),
    ],
)
def test_what_is_missing_is_said(said, words, message):
    assert message in said(*words, code=2).err


def test_what_was_learned_is_not_learned_again(said):
    said("calibrate", "ref.parquet", "s20.parquet", "--folds", "0", "--out", "once.json")
    said("calibrate", "ref.parquet", "s20.parquet", "--folds", "0", "--out", "once.json", code=2)
    words = ("calibrate", "--apply", "once.json", "s20.parquet")
    assert "--prior is for learning" in said(*words, "--prior", "0.1", "--out", "x.parquet", code=2).err
    assert "give --out, the file of calibrated scores" in said(*words, code=2).err
    assert "no JSON from" in said("calibrate", "--apply", "protocol.txt", "s20.parquet", "--out", "x", code=3).err
