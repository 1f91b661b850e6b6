"""Points are compared with the resolution that a system was trained at, as the paper recommends."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import spoofspan as ss
import spoofspan.demo
from spoofspan.cli import app


@pytest.fixture(scope="module")
def corpus():
    return spoofspan.demo.load()


def notes(corpus, scores, resolution):
    return ss.point_eer(corpus.references, scores, resolution, overlong="cut").notes


def copied(scores, blocks):
    """The same scores, each written several times at a finer hop."""
    frames = {
        one: np.repeat(scores.values[scores.offsets[i] : scores.offsets[i + 1]], blocks)
        for i, one in enumerate(scores.utterances)
    }
    return ss.Scores.from_frames(frames, hop=scores.hop / blocks, higher=scores.higher)


def test_points_at_and_above_the_training_resolution_are_noted(corpus):
    scores = replace(corpus.systems[0.02], training_resolution=0.16)
    assert notes(corpus, scores, 0.08) == ()
    assert "at the training resolution of 160ms" in notes(corpus, scores, 0.16)[0]
    assert "coarser than the training resolution of 160ms" in notes(corpus, scores, 0.32)[0]


def test_without_it_points_are_compared_with_the_hop(corpus):
    assert notes(corpus, corpus.systems[0.02], 0.02) == ()
    assert "coarser than the scores' hop of 20ms" in notes(corpus, corpus.systems[0.02], 0.04)[0]


@pytest.mark.parametrize(("hop", "blocks"), [(0.16, 16), (0.02, 2), (0.04, 1)])
def test_copies_are_noticed_whatever_their_number(corpus, hop, blocks):
    scores = copied(corpus.systems[hop], blocks)
    assert scores.copied_resolution == (pytest.approx(hop) if blocks > 1 else None)


def test_copies_stand_for_the_training_resolution_and_change_no_number(corpus):
    scores = copied(corpus.systems[0.16], 16)
    found = notes(corpus, scores, 0.16)
    assert "each is repeated in 16 frames" in found[0]
    assert "at the training resolution of 160ms" in found[1]
    cut = {"overlong": "cut"}
    coarse = ss.range_eer(corpus.references, corpus.systems[0.16], **cut)
    assert ss.range_eer(corpus.references, scores, **cut).value == coarse.value


def test_few_changes_and_hard_decisions_are_no_copies():
    few = ss.Scores.from_frames({"u1": np.repeat([0.0, 1.0, 2.0], 16)}, hop=0.01, higher="bonafide")
    assert few.copied_resolution is None
    one_off = np.repeat(np.arange(50.0), 16)
    one_off[3] = -1
    assert ss.Scores.from_frames({"u1": one_off}, hop=0.01, higher="bonafide").copied_resolution is None


def test_a_parquet_file_keeps_the_training_resolution(corpus, tmp_path):
    pytest.importorskip("pyarrow")
    ss.write_scores(replace(corpus.systems[0.04], training_resolution=0.32), tmp_path / "scores.parquet")
    assert ss.read_scores(tmp_path / "scores.parquet").training_resolution == 0.32


@pytest.fixture(scope="module")
def folder(corpus, tmp_path_factory):
    made = tmp_path_factory.mktemp("demo")
    spoofspan.demo.export(corpus, made, force=True)
    return made


def run(folder, monkeypatch, *words):
    monkeypatch.chdir(folder)
    return CliRunner().invoke(app, [*words, "--durations", "reco2dur"])


def test_the_flag_says_it_of_files_that_do_not(folder, monkeypatch):
    given = ["eval", "references.rttm", "unit0.02.score", "-m", "point-eer@160ms", "--format", "json"]
    found = run(folder, monkeypatch, *given, "--training-resolution", "160")
    (measurement,) = json.loads(found.stdout)["measurements"]
    assert "training resolution of 160ms" in measurement["notes"][0]
    wrong = run(folder, monkeypatch, *given, "--training-resolution", "0.16")
    assert isinstance(wrong.exception, ss.UsageError)
    assert "write milliseconds" in str(wrong.exception)


@pytest.mark.parametrize("flags", [(), ("--training-resolution", "160")])
def test_files_in_shards_have_the_same_notes(corpus, folder, tmp_path, monkeypatch, flags):
    pytest.importorskip("pyarrow")
    ss.write_scores(copied(corpus.systems[0.16], 8), tmp_path / "copies.parquet")
    for scores in ("unit0.02.score", str(tmp_path / "copies.parquet")):
        given = ["eval", "references.rttm", scores, "-m", "point-eer@160ms", "--format", "json"]
        given += ["--overlong", "cut", *flags]
        whole, shards = (
            json.loads(run(folder, monkeypatch, *given, *more).stdout)["measurements"][0]["notes"]
            for more in ((), ("--stream",))
        )
        assert whole == shards
        assert len(whole) == 1 + (scores != "unit0.02.score" and not flags)


def test_copies_add_up_over_parts_of_a_corpus(corpus):
    scores = copied(corpus.systems[0.16], 8)
    halves = [scores.take(scores.utterances[:50]), scores.take(scores.utterances[50:])]
    assert halves[0].copies + halves[1].copies == scores.copies


def test_a_table_marks_the_training_resolution(folder, monkeypatch):
    given = ["table", "references.rttm", "unit0.02.score", "--resolutions", "20,160,640"]
    printed = run(folder, monkeypatch, *given, "--training-resolution", "160").stdout
    assert "5.86*" in printed
    assert "5.39*" not in printed
    assert "Coarser than the training resolution" in printed
