"""Damaged files that once got through (`tools/attack.py` found and minimised them) are refused or read, for good."""

from pathlib import Path

import pytest

attack_judge = pytest.importorskip("attack_judge", reason="the limits of a process need the module resource")

CASES = sorted((Path(__file__).parents[1] / "attack_cases").glob("*.bin"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_what_once_got_through_does_so_no_more(case, tmp_path):
    target = attack_judge.attacked()[case.stem.partition("--")[0]]
    assert attack_judge.judge(target, case.read_bytes(), tmp_path) is None


def test_the_judge_sees_what_gets_through(tmp_path):
    def wrong(folder):
        raise MemoryError

    bad = attack_judge.Attacked({"a": b""}, wrong)
    assert attack_judge.judge(bad, b"", tmp_path) == "MemoryError: "
