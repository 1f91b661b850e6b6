"""Several processes on one machine: the bits of one."""

import os
import pickle
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from command_line import run

import spoofspan as ss
from spoofspan.base.pool import do_all, open_pool
from spoofspan.formats.tables import parquet
from spoofspan.formats.text import frame_lines, rttm
from spoofspan.formats.text.durations import reco2dur_lines


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


@pytest.mark.slow
def test_the_command_line_prints_the_same_with_jobs(files, capsys):
    text = ["eval", files / "r.rttm", files / "unit0.02.score", "--durations", files / "reco2dur", "--format", "json"]
    tables = ["eval", files / "r.parquet", files / "s.parquet", "--format", "json"]
    for command in (text, tables):
        _, one = run(command, capsys)
        code, two = run([*command, "--jobs", 2], capsys)
        assert code == 0, two.err
        assert two.out == one.out
        assert "without --jobs this is often faster" in two.err
        assert "--jobs" not in run([*command, "--jobs", 2, "--quiet"], capsys)[1].err
        assert '"range-eer"' in one.out
    grouped = [*tables, "-m", "range-eer", "--by", "attack", "--confidence", 0.95]
    assert run([*grouped, "--jobs", 2], capsys)[1].out == run(grouped, capsys)[1].out


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


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a POSIX signal")
def test_a_process_that_is_killed_is_an_error_that_says_so():
    for results in ("as_finished", "in_order"):
        with open_pool(2) as pool, pytest.raises(ss.DataError, match="fewer --jobs"):
            list(getattr(pool, results)(die, range(3)))
    with pytest.raises(ss.DataError, match="fewer --jobs"):
        list(do_all(die, range(3), 2, "dying"))
    for one in (None, 1):
        with open_pool(one) as none:
            assert none is None


@pytest.mark.slow
@pytest.mark.parametrize("typed", [False, True])
def test_a_script_without_a_guard_is_told_of_it(typed, files):
    script = "import spoofspan as ss\nwith ss.sharded('r.parquet', 's.parquet', jobs=2) as corpus: len(corpus)\n"
    (files / "script.py").write_text(script)
    how = {"input": script} if typed else {"stdin": subprocess.DEVNULL}
    environment = {**os.environ, "PYTHONPATH": str(Path(ss.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-" if typed else "script.py"],
        cwd=files,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        **how,
    )
    assert done.returncode
    told = 'jobs=2: the processes could not start; put what the script does under if __name__ == "__main__": '
    # Python may add what it cleaned up after its workers
    assert told in "".join(done.stderr.splitlines()[-3:])


def test_results_come_in_order_or_as_they_finish_and_few_tasks_wait():
    taken = []

    def tasks():
        for number in range(20):
            taken.append(number)
            yield number

    with open_pool(2) as pool:
        ordered = pool.in_order(partial(np.add, 1), tasks())
        assert next(ordered) == 1
        assert len(taken) == 5
        assert list(ordered) == list(range(2, 21))
        taken.clear()
        finished = pool.as_finished(partial(np.add, 1), tasks())
        first = next(finished)
        assert len(taken) == 5
        assert sorted([first, *finished]) == list(range(1, 21))


def test_one_job_is_done_here():
    assert list(do_all(lambda task: task + 1, [1, 2, 3], 1, "adding")) == [2, 3, 4]
    assert list(do_all(lambda task: task + 1, [], 4, "adding")) == []


def children_of(process):
    """The processes that another one has started, by their ids (Linux)."""
    listed = Path(f"/proc/{process}/task/{process}/children")
    return [int(child) for child in listed.read_text().split()]


def is_running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def waited_for(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def started(*arguments, **options):
    command = [sys.executable, "-c", "from spoofspan.cli import main; main()", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_the_process_that_reads_a_pickle_ends_with_a_parent_that_is_killed(tmp_path):
    """The rest of the pickle never comes, so it would wait for it."""
    arguments = ["convert", "-", tmp_path / "x.parquet", "--from", "partialspoof-pickle", "--hop", "0.02"]
    parent = started(*arguments, stdin=subprocess.PIPE)
    try:
        parent.stdin.write(pickle.dumps([float(number) for number in range(20_000)])[:150_000])
        parent.stdin.flush()
        assert waited_for(lambda: parent.poll() is not None or children_of(parent.pid), 30)
        (child,) = children_of(parent.pid)
        time.sleep(0.5)
        assert is_running(child)
    finally:
        parent.kill()
        parent.wait(10)
        parent.stdin.close()
    assert waited_for(lambda: not is_running(child), 2)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
@pytest.mark.parametrize("command", ["eval", "corpus"])
def test_workers_end_with_a_parent_that_is_killed(command, files):
    many = [word for ms in range(1, 60) for word in ("-m", f"point-eer@{ms}ms")]
    arguments = {
        "eval": ["eval", files / "r.parquet", files / "s.parquet", *many, "--jobs", "2"],
        "corpus": [
            "corpus",
            "build",
            files / "corpus",
            "--utterances-per-set",
            "train=400,dev=40,eval=400",
            "--jobs",
            "2",
        ],
    }
    parent = started(*arguments[command])
    try:
        assert waited_for(lambda: parent.poll() is not None or len(children_of(parent.pid)) >= 3, 30)
        workers = children_of(parent.pid)  # two, and the process by which Python keeps track of shared resources
        time.sleep(1)  # until they are at work
        assert parent.poll() is None
    finally:
        parent.kill()
        parent.wait(10)
    assert waited_for(lambda: not any(map(is_running, workers)), 2)
