"""Damaged files that once got through (`tools/attack.py` found and minimised them) are refused or read, for good."""

from pathlib import Path

import pytest

attack_judge = pytest.importorskip("attack_judge", reason="the limits of a process need the module resource")

CASES = sorted((Path(__file__).parents[1] / "attack_cases").glob("*.bin"))
NEED_TORCH = ("model-", "sound-")


@pytest.mark.parametrize(
    "case", [one for one in CASES if not one.stem.startswith(NEED_TORCH)], ids=lambda path: path.stem
)
def test_what_once_got_through_does_so_no_more(case, tmp_path):
    target = attack_judge.attacked(models=False)[case.stem.partition("--")[0]]
    assert attack_judge.judge(target, case.read_bytes(), tmp_path) is None


@pytest.mark.slow
@pytest.mark.parametrize("case", [one for one in CASES if one.stem.startswith(NEED_TORCH)], ids=lambda path: path.stem)
def test_models_that_once_got_through_do_so_no_more(case, tmp_path):
    if not attack_judge.HAS_MODELS:
        pytest.skip("torch is not installed: pip install 'spoofspan[cm]'")
    target = attack_judge.attacked()[case.stem.partition("--")[0]]
    assert attack_judge.judge(target, case.read_bytes(), tmp_path) is None


def test_good_files_are_good(tmp_path):
    for name, target in attack_judge.attacked(models=False).items():
        if not name.startswith("command-") and name not in attack_judge.STARTS_A_PROCESS:
            assert attack_judge.judge(target, next(iter(target.files.values())), tmp_path) is None, name


def test_the_judge_sees_what_gets_through(tmp_path):
    def wrong(folder):
        raise MemoryError

    bad = attack_judge.Attacked({"a": b""}, wrong)
    assert attack_judge.judge(bad, b"", tmp_path) == "MemoryError: "
