"""Comparisons of many systems, against one, over several measures and seeds: in Python and from the command line."""

import json
from itertools import combinations
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from referencing import Registry, Resource

import spoofspan as ss
import spoofspan.demo
from spoofspan.cli import app
from spoofspan.uncertainty import compare_measures, max_t
from spoofspan.uncertainty.student import two_sided_p

SCHEMAS = {
    path.name: json.loads(path.read_text(encoding="utf-8"))
    for path in (Path(__file__).parents[2] / "docs" / "schema").glob("*.json")
}
REGISTRY = Registry().with_resources([(name, Resource.from_contents(one)) for name, one in SCHEMAS.items()])


def corpus_of(distances, utterances=200, frames=20, seed=0, trainings=1, spread=0.0):
    """Systems (each with so many trainings) of known quality: half of their noise is shared."""
    rng = np.random.default_rng(seed)
    spoof = rng.integers(0, 2, (utterances, frames))
    ids = [f"u{i:04d}" for i in range(utterances)]
    offsets, rows = np.arange(utterances + 1) * frames, np.arange(spoof.size) % frames
    ns = 20_000_000
    references = ss.References.from_columns(
        ids, np.full(utterances, frames * ns), offsets, rows * ns, (rows + 1) * ns, spoof.reshape(-1).astype(bool)
    )

    def noise():
        each = rng.normal(size=(2, utterances, 1))
        return 0.55 * np.where(spoof == 1, each[1], each[0]) + 0.84 * rng.normal(size=spoof.shape)

    common, systems = noise(), {}
    for number, distance in enumerate(distances):
        made = {}
        for training in range(trainings):
            d = distance + spread * rng.normal()
            values = np.where(spoof == 1, -d, d) + 0.71 * common + 0.71 * noise()
            made[f"seed{training}"] = ss.Scores.from_columns(
                ids, offsets, values.reshape(-1), hop=0.02, higher="bonafide"
            )
        systems[f"S{number:02d}"] = made if trainings > 1 else made["seed0"]
    return references, systems


def test_fifteen_systems_are_told_apart():
    """Holm's correction of bootstrap p-values decided none of these pairs: 105 / 2001 is over 5 %."""
    references, systems = corpus_of(np.linspace(1.9, 0.1, 15))
    found = ss.compare(references, systems)
    assert found.compared == len(found.differences) == 105
    small = [one for one in found.differences if one.p_value < 0.05 / 105]
    assert len(small) > 90
    assert all(found.better(one) == one.first for one in small)
    assert all(one.p_value <= one.adjusted_p_value for one in found.differences)
    values = {name: one.estimate for name, one in found.intervals.items()}
    decided = {(one.first, one.second) for one in found.differences if found.better(one)}
    assert [one.system for one in found.ranks] == sorted(values, key=values.get)
    for one in found.ranks:
        assert one.low == 1 + sum(pair[1] == one.system for pair in decided)
        assert one.high == 15 - sum(pair[0] == one.system for pair in decided)
        assert one.low <= one.place <= one.high
    letters = {one.system: set(one.groups) for one in found.ranks}
    for pair in combinations(systems, 2):
        assert bool(letters[pair[0]] & letters[pair[1]]) == (pair not in decided)
    assert "rank of S00: 1 to" in str(found)


@pytest.mark.parametrize("degrees", [3.0, 30.0, np.inf])
def test_the_least_p_above_zero_is_adjusted(degrees):
    """Half of it is 0."""
    least = np.nextafter(0, 1)
    found = max_t.adjusted_p_values([least, 0.5, 0.5], [(0, 1), (0, 2), (1, 2)], np.eye(3), degrees)
    assert least <= found[0] < 1e-300


def test_replicates_are_raised_until_they_can_decide():
    references, systems = corpus_of(np.linspace(1.9, 0.3, 9), utterances=80)
    found = ss.compare(references, systems, method="percentile", replicates=999)
    # 36 pairs: the least p of 999 replicates is 0.002, and after the correction over 5 %
    assert found.differences[0].interval.replicates.size == 2 * 36 / 0.05 + 1 or not found.warnings
    far = found["S00", "S08"]
    assert found.better(far) == "S00"
    assert far.p_value == pytest.approx(2 / (far.interval.replicates.size + 1))


def test_too_few_replicates_are_said_with_the_number_it_takes(monkeypatch):
    from spoofspan.uncertainty import families

    monkeypatch.setattr(families, "MOST_REPLICATES", 100)
    references, systems = corpus_of(np.linspace(1.9, 0.3, 9), utterances=80)
    found = ss.compare(references, systems, method="percentile", replicates=99)
    assert any("it takes 1,441" in text for text in found.warnings)


def test_against_one_system_only_its_pairs_are_counted():
    references, systems = corpus_of([1.2, 1.1, 1.0, 0.9])
    whole = ss.compare(references, systems)
    found = ss.compare(references, systems, against="S02")
    assert [(one.first, one.second) for one in found.differences] == [("S00", "S02"), ("S01", "S02"), ("S03", "S02")]
    assert (found.against, found.compared, found.ranks) == ("S02", 3, ())
    for one in found.differences[:2]:
        every = whole[one.first, one.second]
        assert one.p_value == every.p_value
        assert one.adjusted_p_value <= every.adjusted_p_value + 0.01
    with pytest.raises(ss.UsageError, match="no such system"):
        ss.compare(references, systems, against="S9")


def test_several_measures_may_be_one_family():
    references, systems = corpus_of([1.2, 1.0, 0.8], utterances=100)
    names = ["range-eer", "range-auc"]
    apart = compare_measures(references, systems, names)
    together = compare_measures(references, systems, names, one_family=True)
    assert [one.compared for one in apart] == [3, 3]
    assert [one.compared for one in together] == [6, 6]
    for alone, joint in zip(apart, together, strict=True):
        assert (alone.measure, alone.direction) == (joint.measure, joint.direction)
        for one, other in zip(alone.differences, joint.differences, strict=True):
            assert one.p_value == other.p_value
            assert one.adjusted_p_value <= other.adjusted_p_value * 1.05 + 1e-4
            # EER and AUC move together, so two families cost less than twice as much
            assert other.adjusted_p_value <= min(6 * one.p_value, 1.0) + 1e-12


def test_two_systems_with_several_seeds():
    references, systems = corpus_of([1.2, 1.0], trainings=4, spread=0.1, seed=3)
    found = ss.compare(references, systems)
    values = {name: [ss.range_eer(references, one).value for one in made.values()] for name, made in systems.items()}
    means = {name: np.mean(several) for name, several in values.items()}
    assert {name: one.estimate for name, one in found.intervals.items()} == pytest.approx(means)
    assert {name: list(one.values()) for name, one in found.trainings.items()} == values
    # by hand, from the jackknife of all eight trainings
    flat = {f"{name}{seed}": one for name, made in systems.items() for seed, one in made.items()}
    from spoofspan.evaluation.plan import EvaluationOptions
    from spoofspan.uncertainty.clusters import Clusters
    from spoofspan.uncertainty.jackknife import Jackknife
    from spoofspan.uncertainty.measured_system import measured_systems

    measured = measured_systems(references, flat, ss.Measure.parse("range-eer"), EvaluationOptions(), {})
    jackknife = Jackknife.of(list(measured.values()), Clusters.of(references.utterances, None))
    weights = np.array([0.25] * 4 + [-0.25] * 4)
    terms = [(weights @ jackknife.covariance @ weights, jackknife.estimate(weights).degrees_of_freedom)]
    for rows in (slice(0, 4), slice(4, 8)):
        block = jackknife.covariance[rows, rows]
        interaction = (np.trace(block) - (block.sum() - np.trace(block)) / 3) / 4
        between = np.var(jackknife.values[rows], ddof=1)
        degrees = jackknife.estimate(np.abs(weights) * (np.arange(8) // 4 == rows.start // 4)).degrees_of_freedom
        assert between > interaction
        terms += [(between / 4, 3), (-interaction / 4, 3 * degrees)]
    variance = sum(one for one, _ in terms)
    degrees = variance**2 / sum(one**2 / df for one, df in terms)
    (difference,) = found.differences
    assert difference.interval.standard_error == pytest.approx(variance**0.5)
    assert difference.interval.degrees_of_freedom == pytest.approx(degrees)
    assert difference.p_value == pytest.approx(two_sided_p(difference.value / variance**0.5, degrees))
    assert difference.interval.standard_error > terms[0][0] ** 0.5


def test_one_training_against_several_is_cautioned():
    references, systems = corpus_of([1.2, 1.0], trainings=3, spread=0.1)
    mixed = {"S00": systems["S00"], "once": systems["S01"]["seed0"]}
    found = ss.compare(references, mixed)
    assert any("once was trained once" in text for text in found.warnings)
    two = {name: {seed: made[seed] for seed in ("seed0", "seed1")} for name, made in systems.items()}
    assert any("S00: 2 seeds say little" in text for text in ss.compare(references, two).warnings)
    with pytest.raises(ss.UsageError, match="jackknife-t"):
        ss.compare(references, systems, method="percentile")


def test_systems_on_different_utterances_are_compared_if_asked_for():
    """As two samples that have nothing in common: Welch's test of two jackknives."""
    references, systems = corpus_of([1.2, 1.0], utterances=150)
    parts = {"S00": systems["S00"].take(np.arange(90)), "S01": systems["S01"].take(np.arange(90, 150))}
    with pytest.raises(ss.UsageError, match="unpaired=True"):
        ss.compare(references, parts, partial=True)
    found = ss.compare(references, parts, unpaired=True)
    alone = {name: ss.interval(references, scores, partial=True) for name, scores in parts.items()}
    (difference,) = found.differences
    assert difference.value == pytest.approx(alone["S00"].estimate - alone["S01"].estimate)
    error = np.hypot(*(one.standard_error for one in alone.values()))
    assert difference.interval.standard_error == pytest.approx(error, rel=0.02)
    assert found.intervals["S00"].standard_error == pytest.approx(alone["S00"].standard_error, rel=0.02)
    signatures = [one.comparable for one in found.signatures.values()]
    assert signatures[0] != signatures[1]
    same = ss.compare(references, systems, unpaired=True)["S00", "S01"]
    paired = ss.compare(references, systems)["S00", "S01"]
    assert same.p_value == paired.p_value  # what they share is seen, whatever it is called
    with pytest.raises(ss.UsageError, match="jackknife-t"):
        ss.compare(references, parts, unpaired=True, method="percentile")


# ---------------------------------------------------------------- from the command line


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("demo")
    result = CliRunner().invoke(app, ["demo", "--out", str(made), "--force"])
    assert result.exit_code == 0, result.output
    return made


def run(folder, *words):
    typed = ["compare", folder / "references.rttm", *words, "--durations", folder / "reco2dur"]
    return CliRunner().invoke(app, [str(word) for word in typed])


def as_json(folder, *words):
    result = run(folder, *words, "--format", "json")
    assert result.exit_code == 0, (result.output, result.exception)
    content = json.loads(result.stdout)
    jsonschema.Draft202012Validator(SCHEMAS["comparison.json"], registry=REGISTRY).validate(content)
    return content


UNITS = ["02", "04", "16", "64"]


@pytest.mark.parametrize("spelling", ["text", "markdown", "latex", "csv"])
def test_ranks_are_printed(folder, spelling):
    files = [folder / f"unit0.{one}.score" for one in UNITS]
    text = run(folder, *files, "--format", spelling).stdout
    ranked = ("& ranks &",) if spelling == "latex" else ("best rank", "worst rank")  # one narrow column on paper
    for word in (*ranked, "group", "(max-T)"):
        assert word in text
    found = as_json(folder, *files)["comparisons"][0]
    assert [one["system"] for one in found["ranks"]][-1] == "unit0.64"
    assert (found["ranks"][-1]["low"], found["ranks"][-1]["high"]) == (4, 4)


def test_patterns_are_the_seeds_of_a_system(folder):
    words = [f"{name}={folder}/seed-*/scores_{hop}ms.parquet" for name, hop in (("A", 20), ("B", 640))]
    (found,) = as_json(folder, *words)["comparisons"]
    assert [len(one["seeds"]) for one in found["systems"]] == [3, 3]
    references = ss.read_references(folder / "references.rttm", durations=folder / "reco2dur")
    values = [
        ss.range_eer(references, ss.read_scores(folder / f"seed-{seed}" / "scores_20ms.parquet")).value
        for seed in (1, 10, 100)
    ]
    assert [one["value"] for one in found["systems"][0]["seeds"]] == values
    assert found["systems"][0]["value"] == pytest.approx(np.mean(values))
    assert "A: mean of 3 seeds" in run(folder, *words).stdout


def test_files_of_a_pattern_that_share_no_utterance_are_parts_of_one_system(folder, tmp_path):
    lines = (folder / "unit0.02.score").read_text().splitlines(keepends=True)
    utterances = sorted({line.split()[0] for line in lines})
    half = set(utterances[: len(utterances) // 2])
    (tmp_path / "part1_unit0.02.score").write_text("".join(line for line in lines if line.split()[0] in half))
    (tmp_path / "part2_unit0.02.score").write_text("".join(line for line in lines if line.split()[0] not in half))
    (found,) = as_json(folder, f"parts={tmp_path}/part*_unit0.02.score", folder / "unit0.64.score")["comparisons"]
    assert "seeds" not in found["systems"][0]
    (whole,) = as_json(folder, folder / "unit0.02.score", folder / "unit0.64.score")["comparisons"]
    assert found["systems"][0]["value"] == whole["systems"][0]["value"]


def test_against_and_families_from_the_command_line(folder):
    files = [folder / f"unit0.{one}.score" for one in UNITS]
    (found,) = as_json(folder, *files, "--against", "unit0.16")["comparisons"]
    assert found["against"] == "unit0.16"
    assert {one["second"] for one in found["differences"]} == {"unit0.16"}
    both = as_json(folder, *files, "-m", "range-eer", "-m", "range-auc", "--one-family")["comparisons"]
    assert [one["compared"] for one in both] == [12, 12]
    for words in (["--against", "unit0.5"], ["--one-system", "--against", "best"], ["--one-system", "--one-family"]):
        assert isinstance(run(folder, *files, *words).exception, ss.UsageError)


def test_seeds_of_one_system_have_components(folder):
    files = [folder / f"seed-{seed}" / "scores_20ms.parquet" for seed in (1, 10, 100)]
    content = json.loads(run(folder, *files, "--one-system", "--format", "json").stdout)
    jsonschema.Draft202012Validator(SCHEMAS["comparison.json"], registry=REGISTRY).validate(content)
    (found,) = content["seeds"]
    assert found["joint"]["low"] < found["test_set"]["low"] < found["mean"] < found["test_set"]["high"]
    assert set(found["components"]) == {"test_set", "seed", "interaction"}
    text = run(folder, *files, "--one-system").stdout
    assert "mean, other seeds too" in text
    assert "standard deviations of one value (points): test set" in text
