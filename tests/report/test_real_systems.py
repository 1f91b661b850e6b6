"""Public systems on ASVspoof 2019 LA: the commands give the numbers of independent computations."""

import importlib.util
import json
from fractions import Fraction
from pathlib import Path

import pytest
from command_line import run_command as run
from utterance_corpora import REAL

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "real_systems.py"
PROTOCOL, VERIFICATION = (
    str(REAL / f"ASVspoof2019.LA.{name}.txt.gz") for name in ("cm.eval.trl", "asv.eval.gi.trl.scores")
)
MEASURES = ("-m", "utterance-eer", "-m", "utterance-min-tdcf", "--asv-scores", VERIFICATION)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not REAL.is_dir(), reason="there are no real scores; SPOOFSPAN_REAL_SCORES names their folder"),
    pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"),
]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("real_systems", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def typed(script):
    scores = [f"{name}={script.find(REAL, file)}" for name, (file, _, _) in script.SYSTEMS.items()]
    return [PROTOCOL, *scores, "--higher", "bonafide", "--higher", "oc=spoof"]


def test_compare_table_and_python_give_the_numbers_of_independent_computations(script, typed, capsys):
    expected = script.independent(REAL)
    assert script.measured(REAL) == {name: pytest.approx(values, abs=1e-12) for name, values in expected.items()}
    code, out, _ = run(["compare", *typed, *MEASURES, "--format", "json"], capsys)
    assert code == 0
    compared = json.loads(out)["comparisons"]
    for place, comparison in enumerate(compared):
        for one in comparison["systems"]:
            assert one["value"] == pytest.approx(expected[one["system"]][place], abs=1e-12)
            assert one["interval"]["clusters"] == 67  # speakers
    code, out, _ = run(["table", *typed, *MEASURES, "--confidence", "0.95", "--format", "json"], capsys)
    assert code == 0
    for row in json.loads(out)["sets"][0]["rows"]:
        for cell, comparison in zip(row["measures"], compared, strict=True):
            (other,) = (one for one in comparison["systems"] if one["system"] == row["name"])
            assert cell["value"] == other["value"]
            for end in ("low", "high"):  # sums are taken in another order
                assert cell["interval"][end] == pytest.approx(other["interval"][end], rel=1e-12)
    better = {(one["first"], one["second"]): one["better"] for one in compared[0]["differences"]}
    assert better["am", "oc"] == "oc"
    assert better["cfst", "ctsf"] is None
    assert 100 * expected["oc"][0] == pytest.approx(2.19, abs=0.02)  # as its paper states


def test_an_eer_is_that_of_counting_in_fractions(script):
    labels = {row[1]: row[4] for row in script.rows_of(Path(PROTOCOL))}
    ours = script.measured(REAL)
    for name, (file, column, higher) in script.SYSTEMS.items():
        sign = 1 if higher == "bonafide" else -1
        said = sorted(
            (sign * float(row[column]), labels[row[0]] == "spoof") for row in script.rows_of(script.find(REAL, file))
        )
        spoofs = sum(spoof for _, spoof in said)
        others = len(said) - spoofs
        best, below = None, [0, 0]  # bona fide and spoof under the threshold
        for place, (value, spoof) in enumerate(said):
            if place == 0 or value > said[place - 1][0]:
                fpr, fnr = Fraction(below[0], others), Fraction(spoofs - below[1], spoofs)
                if best is None or abs(fpr - fnr) < best[0]:
                    best = abs(fpr - fnr), (fpr + fnr) / 2
            below[spoof] += 1
        assert ours[name][0] == float(best[1])


def test_no_difference_is_significant_for_new_attacks(typed, capsys):
    decided = {}
    for cluster in ("speaker", "speaker,attack"):
        code, out, _ = run(["compare", *typed, "-m", "utterance-eer", "--cluster", cluster, "--format", "json"], capsys)
        assert code == 0
        (found,) = json.loads(out)["comparisons"]
        decided[cluster] = sum(one["better"] is not None for one in found["differences"])
    assert found["systems"][0]["interval"]["levels"] == {"speaker": 67, "attack": 13}
    assert decided == {"speaker": 5, "speaker,attack": 0}
