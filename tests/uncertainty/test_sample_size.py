"""How large a test set must be: from a jackknife by hand, and from the command line."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import spoofspan as ss
import spoofspan.demo
from spoofspan.cli import app
from spoofspan.uncertainty.sample_size import clusters_needed

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")


@pytest.fixture(scope="module")
def corpus():
    return spoofspan.demo.load()


def without(corpus, system, left_out):
    """The AUC without some utterances."""
    keep = np.array([i for i, utt in enumerate(corpus.references.utterances) if utt not in left_out])
    names = {corpus.references.utterances[i] for i in keep}
    rows = np.array([i for i, utt in enumerate(system.utterances) if utt in names])
    return ss.evaluate(corpus.references.take(keep), system.take(rows), ["range-auc"])["range-auc"].value


@pytest.fixture(scope="module")
def speakers(corpus):
    return {utt: f"S{i % 24:02d}" for i, utt in enumerate(corpus.references.utterances)}


def test_the_clusters_needed_follow_from_a_jackknife_by_hand(corpus, speakers):
    systems = {"a": corpus.systems[0.02], "b": corpus.systems[0.16]}
    names = sorted(set(speakers.values()))
    left = np.array(
        [
            [without(corpus, system, {utt for utt, who in speakers.items() if who == name}) for name in names]
            for system in systems.values()
        ]
    )
    covariance = np.cov(left) * (len(names) - 1) ** 2  # of one cluster: C times the jackknife's (C - 1)^2 / C
    found = ss.sample_size(corpus.references, systems, "range-auc", clusters=speakers, clusters_are="speaker")
    paired, unpaired = found.needed
    correlation = covariance[0, 1] / (covariance[0, 0] * covariance[1, 1]) ** 0.5
    assert paired.correlation == pytest.approx(correlation)
    values = [without(corpus, system, set()) for system in systems.values()]
    assert (found.first, found.second) == pytest.approx(values)
    both = covariance[0, 0] + covariance[1, 1]
    for one, variance, samples in ((paired, both - 2 * covariance[0, 1], 1), (unpaired, both, 2)):
        assert one.clusters == clusters_needed(values[0] - values[1], variance**0.5, 0.8, 0.05, samples)
        assert one.utterances == np.ceil(one.clusters * 169 / 24)
    assert found.drawn_by == "speaker"
    assert any("few" in text for text in found.warnings)


def test_one_system_is_scaled_to_other_heights(corpus):
    system = {"a": corpus.systems[0.02]}
    same = ss.sample_size(corpus.references, system, second=0.06)
    value = ss.range_eer(corpus.references, corpus.systems[0.02]).value
    assert same.first == value
    assert [one.correlation for one in same.needed] == [0.5, 0.8, 0.95, 0.0]
    counts = [one.clusters for one in same.needed]
    assert counts[0] > counts[1] > counts[2]
    assert counts[3] > counts[0]
    # half the difference takes four times as many; a rate ten times as low varies about ten times less
    far = ss.sample_size(corpus.references, system, first=0.05, second=0.051, correlation=0.0)
    near = ss.sample_size(corpus.references, system, first=0.05, second=0.0505, correlation=0.0)
    low = ss.sample_size(corpus.references, system, first=0.005, second=0.0051, correlation=0.0)
    assert near.needed[0].clusters == pytest.approx(4 * far.needed[0].clusters, rel=0.02)
    assert low.needed[0].clusters == pytest.approx(10 * far.needed[0].clusters * (0.995 / 0.95), rel=0.02)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "second="),
        ({"second": 0.1, "power": 1.0}, "power"),
        ({"second": 0.1, "correlation": 1.0}, "correlation"),
        ({"first": 0.1, "second": 0.1}, "cannot be told apart"),
        ({"second": 0.0}, "rate of 0 or 1"),
    ],
)
def test_what_cannot_be_planned_is_refused(corpus, more, said):
    with pytest.raises(ss.UsageError, match=said):
        ss.sample_size(corpus.references, {"a": corpus.systems[0.02]}, **more)


def test_a_plan_from_a_system_with_hardly_an_error_is_cautioned():
    labels = [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof")]
    references = ss.References.from_ranges({f"u{i}": labels for i in range(40)})
    frames = {utt: [1.0] * 10 + [0.0] * 10 for utt in references.utterances}
    frames["u0"] = [1.0] * 9 + [0.0, 1.0] + [0.0] * 9  # an error of each kind
    almost = ss.Scores.from_frames(frames, hop=0.1, higher="bonafide")
    found = ss.sample_size(references, {"almost": almost}, first=0.001, second=0.01)
    assert found.warnings == (
        "1 cluster with bona fide called spoof and 1 cluster with spoof called bona fide (under 5): "
        "intervals and plans rest on few errors",
    )
    assert found.warnings[0] in str(found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("demo")
    assert CliRunner().invoke(app, ["demo", "--out", str(made), "--force"]).exit_code == 0
    return made


def run(folder, *words):
    typed = ["plan", folder / "references.rttm", *words, "--durations", folder / "reco2dur"]
    return CliRunner().invoke(app, [str(word) for word in typed])


def test_the_command_says_what_the_library_does(folder, corpus):
    words = [folder / "unit0.02.score", "--from", "5.2", "--to", "5.5", "--correlation", "0.9"]
    found = json.loads(run(folder, *words, "--format", "json").stdout)["plan"]
    references = ss.read_references(folder / "references.rttm", durations=folder / "reco2dur")
    scores = {"unit0.02": ss.read_scores(folder / "unit0.02.score")}
    expected = ss.sample_size(references, scores, first=5.2 / 100, second=5.5 / 100, correlation=0.9)
    assert found == json.loads(json.dumps(expected.to_dict()))
    text = run(folder, *words).stdout
    for one in expected.needed:
        assert f"{one.clusters:,}" in text
    assert "range-eer: 5.20 against 5.50 %" in text
    assert str(expected) == text.rstrip("\n")
    assert "<table" in expected._repr_html_()


def test_the_command_wants_two_values(folder):
    done = run(folder, folder / "unit0.02.score")
    assert "--from 5.2 --to 5.5" in str(done.exception)
