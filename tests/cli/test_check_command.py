"""``spoofspan check``: standard input, folders, and scores of whole utterances."""

import io
import json
import sys

import pytest
from command_line import run_command as run
from test_compare_utterances import drawn, files

import spoofspan as ss


@pytest.fixture
def folder(demo, tmp_path, monkeypatch):
    references, scores = demo
    ss.write_references(references, tmp_path / "ref.parquet")
    ss.write_scores(scores, tmp_path / "a.parquet")
    ss.write_scores(scores, tmp_path / "b.parquet")
    files(tmp_path, *drawn())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def facts(words, capsys):
    code, out, error = run(["check", *words, "--format", "json"], capsys)
    assert code == 0, error
    return json.loads(out)["facts"]


def test_standard_input_is_identified_and_its_command_reads_it(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / "a.parquet").read_bytes())))
    found = facts(["-"], capsys)
    assert (found["content"], found["command"]) == ("scores", "spoofspan eval REFERENCES -")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / "a.parquet").read_bytes())))
    assert facts(["ref.parquet", "-"], capsys)["utterances in the scores"] == "169"


def test_a_folder_lists_each_sort_of_file(folder, capsys):
    found = facts([str(folder)], capsys)
    assert found[f"{folder}/a.parquet and 1 more"] == f"scores: spoofspan eval REFERENCES {folder}/a.parquet"
    assert found[f"{folder}/ref.parquet"].startswith("references: spoofspan eval")
    assert found[f"{folder}/protocol.txt"] == f"utterance labels: spoofspan eval {folder}/protocol.txt SCORES"
    assert found[f"{folder}/a.tsv and 2 more"] == f"utterance scores: spoofspan eval KEY {folder}/a.tsv"


def test_a_folder_that_is_read_as_one_is_described_as_one(demo, tmp_path, capsys):
    code, _, _ = run(["check", str(tmp_path)], capsys)
    assert code == 2  # it is empty
    ss.write_references(demo[0], f"{tmp_path}/", format="textgrid")
    found = facts([str(tmp_path)], capsys)
    assert found["command"] == f"spoofspan eval {tmp_path} SCORES"
    assert found["utterances in the references"] == "169"


def test_scores_of_whole_utterances_are_checked_against_their_labels(folder, capsys):
    found = facts(["protocol.txt", "a.tsv"], capsys)
    assert (found["utterances in the labels"], found["bonafide"], found["spoof"]) == ("240", "80", "160")
    (folder / "other.tsv").write_text((folder / "a.tsv").read_text().replace("u0", "v0"))
    code, out, _ = run(["check", "protocol.txt", "other.tsv"], capsys)
    assert code == 3
    assert "utterance 'u000' has a label but no score" in out


def test_the_command_has_what_was_typed(tmp_path, capsys):
    path = tmp_path / "frames.json"
    path.write_text('{"u1": [0.5, 0.25]}')
    command = f"spoofspan eval REFERENCES {path} --higher bonafide|spoof --hop 0.02"
    assert facts([str(path), "--hop", "0.02"], capsys)["command"] == command


def test_a_file_named_durations_is_no_file_of_scores(tmp_path, capsys):
    path = tmp_path / "reco2dur"
    path.write_text("u1 1.25\nu2 2.5\n")
    assert facts([str(path)], capsys)["command"] == f"spoofspan eval REFERENCES SCORES --durations {path}"


def test_references_that_are_refused_are_identified_too(tmp_path, capsys):
    path = tmp_path / "answers.jsonl"
    answer = '{"real_or_fake": "fake", "fake_region": "all"}'
    path.write_text(json.dumps({"utt": "u1", "response": answer}) + "\n")
    code, out, error = run(["check", str(path)], capsys)
    assert (code, error) == (3, "")
    assert f"spoofspan eval {path} SCORES --durations RECO2DUR" in out
    assert "its duration is not known" in out
    path = tmp_path / "ends.rttm"
    times = [("0.000", "0.540", "spoof"), ("0.540", "0.960", "bonafide"), ("0.960", "2.000", "spoof")]
    path.write_text("".join(f"SPEAKER u1 1 {a} {b} <NA> <NA> {label} <NA> <NA>\n" for a, b, label in times))
    code, out, _ = run(["check", str(path)], capsys)
    assert code == 3
    assert "spoofspan eval" not in out  # no command reads it as it is
