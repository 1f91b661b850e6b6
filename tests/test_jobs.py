"""Several processes on one machine: the bits of one."""

import os
import signal
from functools import partial

import numpy as np
import pytest
from command_line import run

import spoofspan as ss
from spoofspan.formats.tables import parquet
from spoofspan.formats.text import frame_lines, rttm
from spoofspan.formats.text.durations import reco2dur_lines
from spoofspan.scale.jobs import Processes, processes


@pytest.fixture
def files(demo, tmp_path):
    """The demo corpus as text and as Parquet."""
    references, scores = demo
    for name, pieces in (
        ("r.rttm", rttm.write(references)),
        ("reco2dur", reco2dur_lines(references)),
        ("unit0.02.score", frame_lines.write(frame_lines.UNIT, scores)),
        ("r.parquet", parquet.write_references(references)),
        ("s.parquet", parquet.write_scores(scores)),
    ):
        (tmp_path / name).write_bytes(b"".join(pieces))
    return tmp_path


def test_the_command_line_prints_the_same_with_jobs(files, capsys):
    text = ["eval", files / "r.rttm", files / "unit0.02.score", "--durations", files / "reco2dur", "--format", "json"]
    tables = ["eval", files / "r.parquet", files / "s.parquet", "--format", "json"]
    for command in (text, tables):
        _, one = run(command, capsys)
        code, two = run([*command, "--jobs", 2], capsys)
        assert code == 0, two.err
        assert two.out == one.out
        assert '"range-eer"' in one.out


def test_shards_in_processes_have_the_same_bits(demo, files):
    measures = ["range-eer", "point-eer@40ms", "range-f1"]
    with ss.sharded(files / "r.parquet", files / "s.parquet", jobs=2, shards=5) as corpus:
        assert len(corpus) == 5
        found = ss.evaluate_shards(corpus, measures, eer_rule="interpolated")
        bare = ss.evaluate_shards(corpus, ["range-eer"], signed=False)
    assert found.to_dict() == ss.evaluate(*demo, measures, eer_rule="interpolated").to_dict()
    assert bare["range-eer"].value == ss.range_eer(*demo).value
    assert "unsigned" in bare["range-eer"].signature.comparable


def test_a_bad_line_is_named_from_another_process(files, capsys):
    path = files / "unit0.02.score"
    lines = path.read_text().splitlines()
    lines[700] = lines[700].rsplit(maxsplit=2)[0] + " 0.5 nan"
    path.write_text("\n".join(lines) + "\n")
    command = ["eval", files / "r.rttm", path, "--durations", files / "reco2dur", "--jobs", 2]
    code, said = run(command, capsys)
    assert code == 3
    assert "unit0.02.score:701" in said.err


@pytest.mark.parametrize("jobs", [0, -1])
def test_no_such_number_of_jobs(jobs, files, capsys):
    code, said = run(["eval", files / "r.parquet", files / "s.parquet", "--jobs", jobs], capsys)
    assert code == 2
    assert "whole number of processes" in said.err


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a POSIX signal")
def test_a_process_that_is_killed_is_an_error_that_says_so():
    with processes(2) as pool, pytest.raises(ss.DataError, match="fewer --jobs"):
        list(pool.finished(die, range(3)))
    with processes(1) as none:
        assert none is None


def test_results_come_in_order():
    pool = Processes(2)
    try:
        assert list(pool.ordered(partial(np.add, 1), range(20))) == list(range(1, 21))
    finally:
        pool.close()
