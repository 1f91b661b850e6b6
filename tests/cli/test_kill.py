"""A few real kills of every command that writes; tools/kill.py has the rest."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "tools"))
import kill

pytestmark = [pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc"), pytest.mark.slow]


@pytest.mark.parametrize("name", kill.commands())
def test_a_killed_command_leaves_whole_files_and_its_repetition_the_same_bytes(name, tmp_path):
    if name in ("train", "experiment"):
        for needed in ("torch", "safetensors", "soundfile", "soxr"):
            pytest.importorskip(needed)
    found = kill.attack(kill.commands()[name], 3, 7, tmp_path)
    assert found.counts["kills"] == 3
    assert not found.problems
