"""``--bare-ids`` and :func:`spoofspan.with_bare_ids`: files that write the ids of one corpus in different ways."""

import json
from dataclasses import replace

import pytest
from command_line import run_command as run
from test_compare_utterances import drawn, files

import spoofspan as ss

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # few clusters


@pytest.fixture
def utterances(tmp_path, monkeypatch):
    """A protocol and scores, and the same with longer ids."""
    monkeypatch.chdir(tmp_path)
    rows, systems = drawn()
    files(tmp_path, rows, systems)
    longer = [(s, f"flac/{u}.flac", *rest) for s, u, *rest in rows]
    (tmp_path / "long").mkdir()
    files(tmp_path / "long", longer, systems)


def ask(words, capsys):
    code, out, error = run([*words, "--format", "json"], capsys)
    assert code == 0, error
    return json.loads(out), error


@pytest.mark.parametrize(
    "command",
    [
        ["eval", "{}protocol.txt", "{}a.tsv", "--confidence", "0.95", "--by", "attack"],
        ["compare", "{}protocol.txt", "{}a.tsv", "{}b.tsv", "--by", "attack"],
        ["calibrate", "{}protocol.txt", "{}a.tsv"],
        ["fuse", "{}protocol.txt", "{}a.tsv", "{}b.tsv"],
        ["plan", "{}protocol.txt", "{}a.tsv", "{}b.tsv"],
        ["check", "{}protocol.txt", "{}a.tsv"],
    ],
)
def test_bare_ids_give_what_equal_ids_give(utterances, command, capsys):
    wanted, _ = ask([word.format("") for word in command], capsys)
    for truth, scores in (("long/", ""), ("", "long/"), ("long/", "long/")):
        places = [truth if word.endswith("protocol.txt") else scores for word in command]
        words = [word.format(place) for word, place in zip(command, places, strict=True)]
        found, said = ask([*words, "--bare-ids"], capsys)
        assert found == wanted
        assert "note: --bare-ids: 'flac/u000.flac' is read as 'u000' (240 ids)" in said
        if truth != scores:
            code, out, error = run(words, capsys)
            assert code != 0
            assert "or use --bare-ids" in out + error


def test_durations_metadata_and_converted_files_have_them_too(demo, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    references, scores = demo
    longer = tuple(f"{one}.wav" for one in references.utterances)
    ss.write_references(references, "ref.rttm", durations="reco2dur")
    ss.write_references(replace(references, utterances=longer), "long.rttm", durations="long_dur")
    ss.write_scores(scores, "scores.parquet")
    ss.write_scores(replace(scores, utterances=longer), "long.parquet")
    wanted, _ = ask(["eval", "ref.rttm", "scores.parquet", "--durations", "reco2dur"], capsys)
    for typed in (
        ["long.rttm", "scores.parquet", "--durations", "long_dur"],
        ["ref.rttm", "long.parquet", "--durations", "long_dur"],
    ):
        assert ask(["eval", *typed, "--bare-ids"], capsys)[0] == wanted
    code, _, error = run(["eval", *typed, "--bare-ids", "--stream"], capsys)
    assert code == 2
    assert "spoofspan convert IN OUT --bare-ids" in error
    assert run(["convert", "long.parquet", "bare.parquet", "--bare-ids"], capsys)[0] == 0
    assert ask(["eval", "ref.rttm", "bare.parquet", "--durations", "reco2dur", "--stream"], capsys)[0] == wanted


def test_python_reads_everything_with_bare_ids(utterances):
    protocol = ss.with_bare_ids(ss.read_protocol("long/protocol.txt"))
    scores = ss.with_bare_ids(ss.read_utterance_scores("long/a.tsv"))
    assert protocol == ss.read_protocol("protocol.txt")
    assert scores.utterances == ss.read_utterance_scores("a.tsv").utterances
    with pytest.raises(ss.UsageError, match="'a/u1' and 'b/u1' would both be called 'u1'"):
        ss.with_bare_ids({"a/u1": 1.0, "b/u1": 2.0})
    with pytest.raises(ss.UsageError, match="not a list"):
        ss.with_bare_ids(["u1"])
