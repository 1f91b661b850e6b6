"""How large a test set must be: from a jackknife by hand, and from the command line."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import spoofspan as ss
import spoofspan.demo
from spoofspan.cli import app
from spoofspan.uncertainty.sample_size import levels_needed, power_with, variance_bounds
from spoofspan.uncertainty.variance_components import Design

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
    paired, least, unpaired = found.needed
    correlation = covariance[0, 1] / (covariance[0, 0] * covariance[1, 1]) ** 0.5
    assert paired.correlation == pytest.approx(correlation)
    values = [without(corpus, system, set()) for system in systems.values()]
    assert (found.first, found.second) == pytest.approx(values)
    both = covariance[0, 0] + covariance[1, 1]
    for one, variance, samples in ((paired, both - 2 * covariance[0, 1], 1), (unpaired, both, 2)):
        of_one = Design({"speaker": 1}, {("speaker",): variance})
        assert one.clusters == levels_needed(of_one, ("speaker",), values[0] - values[1], 0.8, 0.05, samples)
        assert one.utterances == np.ceil(one.clusters * 169 / 24)
    # with 80 % confidence, the difference is larger than its interval at 60 % reaches
    ends = ss.compare(corpus.references, systems, "range-auc", clusters=speakers, confidence=0.6)["a", "b"].interval
    assert abs(least.difference) == pytest.approx(min(abs(ends.low), abs(ends.high)), rel=1e-9)
    assert least.clusters > paired.clusters
    assert found.interval == pytest.approx(
        tuple(ss.compare(corpus.references, systems, "range-auc", clusters=speakers)["a", "b"].interval)
    )
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
    frames = {utt: [0.9] * 10 + [0.1] * 10 for utt in references.utterances}
    frames["u0"] = [0.9] * 9 + [0.1, 0.9] + [0.1] * 9  # an error of each kind
    almost = ss.Scores.from_frames(frames, hop=0.1, higher="bonafide")
    found = ss.sample_size(references, {"almost": almost}, first=0.001, second=0.01)
    assert found.warnings == (
        "1 cluster with bona fide called spoof and 1 cluster with spoof called bona fide (under 5): "
        "intervals and plans rest on few errors",
    )
    assert found.warnings[0] in str(found)


def test_the_range_of_a_plan_is_what_pilots_of_that_size_give():
    rng, clusters, true = np.random.default_rng(0), 40, 110
    low, high = variance_bounds(clusters - 1)
    held = 0
    for _ in range(300):
        estimated = rng.normal(size=clusters).var(ddof=1)
        held += low * estimated <= 1 <= high * estimated  # what is needed is proportional to the variance
    assert 275 <= held <= 293  # 285 are expected, with a standard error of 3.8
    assert 67 < low * true < high * true < 200  # what pilots of 40 gave for 110


def test_parts_of_speakers_and_attacks_are_found_and_say_what_is_worth_collecting():
    # values of cells: speaker + attack + both, in a complete layout
    rng, speakers, attacks = np.random.default_rng(3), 300, 200
    cells = 0.3 * rng.normal(size=(speakers, 1)) + 0.9 * rng.normal(size=(1, attacks))
    cells = cells + 0.5 * rng.normal(size=(speakers, attacks))
    means = cells.mean(axis=1), cells.mean(axis=0), cells.reshape(-1)
    variances = [one.var(ddof=1) / one.size for one in means]
    found = Design.of({"speaker": speakers, "attack": attacks}, variances)
    expected = {("speaker",): 0.09 / speakers, ("attack",): 0.81 / attacks}
    for names, part in expected.items():
        assert found.parts[names] == pytest.approx(part, rel=0.35)
    assert found.variance({"speaker": 2 * speakers, "attack": attacks}) < found.variance()
    # twice as many of all halve what each factor brings, and quarter what their pairs do
    both, all_parts = found.parts["speaker", "attack"], found.variance()
    assert found.variance({"speaker": 600, "attack": 400}) == pytest.approx((all_parts - both) / 2 + both / 4)
    assert found.worth("attack", "speaker", 100) == np.inf  # attacks bring more than all speakers
    worth = found.worth("speaker", "attack", 100)
    grown = found.variance({"speaker": speakers, "attack": attacks + worth})
    assert grown == pytest.approx(found.variance({"speaker": speakers + 100, "attack": attacks}))


def test_a_crossed_plan_lets_each_factor_grow():
    labels, attack, speaker = {}, {}, {}
    rng = np.random.default_rng(4)
    shift = dict(zip("VWXYZ", rng.normal(size=5), strict=True))
    values = {"a": [], "b": []}
    for i in range(400):
        name = f"u{i:03}"
        spoof = i % 2
        labels[name], speaker[name] = ("bonafide", "spoof")[spoof], f"s{i // 10}"
        attack[name] = rng.choice(list("VWXYZ")) if spoof else "-"
        hard = shift[attack[name]] if spoof else 0.0
        for system, apart in (("a", 1.5), ("b", 1.0)):
            values[system].append((-apart if spoof else apart) + hard * (system == "b") + rng.normal())
    systems = {name: ss.UtteranceScores(tuple(labels), np.array(one), "bonafide") for name, one in values.items()}
    found = ss.sample_size(
        labels, systems, "utterance-eer", first=0.15, second=0.10, clusters={"speaker": speaker, "attack": attack}
    )
    of_attacks, of_speakers, of_both, *_ = found.needed
    assert [one.growing for one in found.needed[:3]] == [("attack",), ("speaker",), ("attack", "speaker")]
    assert of_both.clusters <= (of_attacks.clusters or np.inf)
    assert found.parts["attack"] > found.parts["speaker"]
    assert "more attacks are worth" in found.advice
    text = str(found)
    assert "attacks and speakers: so many attacks, and the others in proportion" in text
    assert (of_speakers.clusters is None) == (of_speakers.to_dict()["clusters"] is None)
    assert power_with(0.05, 0.1, 29, 0.05) == pytest.approx(power_with(0.5, 1.0, 29, 0.05))


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
