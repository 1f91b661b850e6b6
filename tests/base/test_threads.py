"""Several threads give the same bits as one, in order, and none is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from command_line import run

import spoofspan as ss
from spoofspan.base.errors import UsageError
from spoofspan.base.pool import open_pool
from spoofspan.base.threads import ALL_CORES, VARIABLE, in_order, meanwhile, thread_count, use_threads
from spoofspan.cli.inputs import Inputs
from spoofspan.evaluation.signature import ScoresHash, scores_hash
from spoofspan.mass import score_mass
from spoofspan.measures.crossing import crossing


def test_results_come_in_order_whichever_ends_first() -> None:
    with use_threads(3):
        found = list(in_order(lambda wait: time.sleep(wait) or wait, [0.03, 0.0, 0.02, 0.0, 0.01]))
    assert found == [0.03, 0.0, 0.02, 0.0, 0.01]


@pytest.mark.parametrize(("threads", "workers"), [(2, 1), (3, 2)])
def test_a_caller_who_works_is_one_of_the_threads(threads: int, workers: int) -> None:
    before, most = threading.active_count(), 0
    with use_threads(threads):
        for number, found in enumerate(in_order(abs, range(50), caller_works=True)):
            most = max(most, threading.active_count() - before)
            assert found == number
    assert most == workers


def test_an_error_comes_out_and_no_thread_stays() -> None:
    before = threading.active_count()
    with use_threads(2), pytest.raises(ZeroDivisionError):
        list(in_order(lambda n: 1 // n, [1, 0, 1, 1, 1]))
    some = in_order(abs, range(100))
    next(some)
    some.close()
    assert threading.active_count() == before


def test_a_thread_starts_no_threads_of_its_own() -> None:
    with use_threads(3):
        assert list(in_order(lambda _: thread_count(), range(4))) == [1, 1, 1, 1]


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_done_meanwhile_has_its_result_its_error_and_its_number_of_threads(threads: int) -> None:
    before = threading.active_count()
    with use_threads(threads):
        with meanwhile(thread_count) as count, meanwhile(lambda: 1 // 0) as broken:
            assert count() == threads
            with pytest.raises(ZeroDivisionError):
                broken()
        with pytest.raises(KeyError), meanwhile(lambda: time.sleep(0.01)):
            raise KeyError
    assert threading.active_count() == before


@pytest.mark.parametrize(("given", "used"), [(None, "4"), ("26", "26")])
def test_threads_of_matrix_products_sleep_in_commands_unless_somebody_wants_them_to_spin(given, used) -> None:
    code = "import os, sys, spoofspan.cli as cli; cli.atexit.register(lambda: print(os.environ[%r])); cli.main()"
    name = "OPENBLAS_THREAD_TIMEOUT"
    environment = {key: value for key, value in os.environ.items() if key != name} | ({name: given} if given else {})
    command = [sys.executable, "-c", code % name, "--version"]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == used


def test_one_thread_does_nothing_meanwhile() -> None:
    done: list[int] = []
    with use_threads(1), meanwhile(lambda: done.append(1)):
        pass
    assert not done


def test_asked_for_by_argument_or_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "5")
    assert thread_count() == 5
    with use_threads(2):
        assert thread_count() == 2
    monkeypatch.setenv(VARIABLE, "many")
    with pytest.raises(UsageError, match="SPOOFSPAN_THREADS must be a whole number"):
        thread_count()
    with pytest.raises(UsageError, match="threads=0"), use_threads(0):
        pass


@pytest.mark.parametrize("guess", [True, False])
def test_a_mass_has_the_same_crossing_with_any_number_of_threads(guess: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_mass, "ROWS_PER_BLOCK", 50)
    monkeypatch.setattr("spoofspan.mass.ranges.ROWS_PER_BLOCK", 50)
    monkeypatch.setattr("spoofspan.mass.points.ROWS_PER_BLOCK", 50)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        ranges, frames = {}, {}
        for i in range(40):
            cut = int(rng.integers(1, 40))
            ranges[f"u{i}"] = [(0.0, cut * 0.013, "bonafide"), (cut * 0.013, 0.8, "spoof")]
            frames[f"u{i}"] = rng.normal(size=40).round(1) + np.where(np.arange(40) * 0.02 < cut * 0.013, 0.5, -0.5)
        references = ss.References.from_ranges(ranges)
        scores = ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")
        for mass in (ss.overlay(references, scores), ss.point_mass(references, scores, 0.01)):
            found = []
            for threads in (1, 2, 5):
                with use_threads(threads):
                    found.append(crossing(mass, guess=guess))
            assert found[0] == found[1] == found[2]
        one, two = (ss.range_eer(references, scores, eer_rule="interpolated", threads=threads) for threads in (1, 2))
        assert (one.value, one.threshold, one.signature) == (two.value, two.threshold, two.signature)


def test_an_error_of_the_references_comes_before_one_of_the_scores(tmp_path: Path) -> None:
    (tmp_path / "ref.rttm").write_text("SPEAKER u1 1 0.0 banana <NA> <NA> spoof <NA> <NA>\n")
    (tmp_path / "unit0.02.score").write_text("u1 0 0.1 banana\n" * 3)
    for threads in (1, 2):
        with use_threads(threads), pytest.raises(ss.DataError, match=r"ref\.rttm:1"):
            Inputs(str(tmp_path / "ref.rttm"), str(tmp_path / "unit0.02.score")).read()


@pytest.mark.parametrize("threads", [1, 2])
def test_eval_hashes_scores_once_and_leaves_no_thread(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ref.rttm").write_text("SPEAKER u1 1 0.00 0.03 <NA> <NA> bonafide <NA> <NA>\n")
    (tmp_path / "spoofed.rttm").write_text(
        "SPEAKER u1 1 0.00 0.01 <NA> <NA> bonafide <NA> <NA>\nSPEAKER u1 1 0.01 0.02 <NA> <NA> spoof <NA> <NA>\n"
    )
    scores = tmp_path / "unit0.01.score"
    scores.write_text("u1 0 0.9 -0.9\nu1 1 0.1 -0.1\nu1 2 0.2 -0.2\n")
    monkeypatch.setenv(VARIABLE, str(threads))
    hashed: list[ss.Scores] = []
    add = ScoresHash.add
    monkeypatch.setattr(ScoresHash, "add", lambda self, scores: hashed.append(scores) or add(self, scores))
    code, said = run(["eval", tmp_path / "spoofed.rttm", scores, "--format", "json"], capsys)
    built = ss.Scores.from_frames({"u1": [-0.9, -0.1, -0.2]}, hop=0.01, higher="spoof")
    assert (code, len(hashed)) == (0, 1)
    assert f'"scores:{scores_hash(built)}"' in said.out
    # one class only: the error of the measure comes out, and the thread that hashes has ended
    (tmp_path / "reco2dur").write_text("u1 0.03\n")
    one_class = ["eval", tmp_path / "ref.rttm", scores, "--durations", tmp_path / "reco2dur", "-m", "range-eer"]
    assert run(one_class, capsys)[0] == 4
    assert not [one for one in threading.enumerate() if one.name.startswith("spoofspan")]


def test_blocks_have_threads_unasked_only_where_python_has_no_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("spoofspan.base.threads.cores", lambda: 3)
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: True, raising=False)
    assert (thread_count(), thread_count(ALL_CORES)) == (1, 3)
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False)
    assert (thread_count(), thread_count(2)) == (3, 2)
    with use_threads(1):
        assert thread_count() == 1


def _threads_there(unasked: int) -> int:
    return thread_count(unasked)


def test_a_process_of_a_pool_has_one_thread() -> None:
    with open_pool(2) as pool:
        assert pool is not None
        assert list(pool.in_order(_threads_there, [4, 4])) == [1, 1]
