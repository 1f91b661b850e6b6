"""Intervals of groups and of their differences: each group as a corpus of its own, the differences by hand."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from test_jackknife import error_of_a_difference

import spoofspan as ss
import spoofspan.demo
from spoofspan.cli import app
from spoofspan.evaluation.breakdown import MeasuredCorpus
from spoofspan.evaluation.corpus import CorpusInMemory
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.groups import by_attack, by_boundary, by_column, by_length
from spoofspan.uncertainty.student import two_sided_p

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
HOW = ss.Resampling()


@pytest.fixture(scope="module")
def corpus():
    return spoofspan.demo.load()


@pytest.fixture(scope="module")
def column(corpus):
    return {utt: "ABC"[i % 3] for i, utt in enumerate(corpus.references.utterances)}


def of_utterances(corpus, chosen, measure="range-auc"):
    """References and scores of some utterances."""
    rows = np.array([i for i, utt in enumerate(corpus.references.utterances) if utt in chosen])
    scores = corpus.systems[0.16]
    there = np.array([i for i, utt in enumerate(scores.utterances) if utt in chosen])
    return corpus.references.take(rows), scores.take(there)


def test_a_group_has_the_interval_of_a_corpus_of_its_own(corpus, column):
    found = by_column(corpus.references, corpus.systems[0.16], column, name="c", resampling=HOW)
    for group in found.groups:
        chosen = {utt for utt, value in column.items() if value == group.name}
        expected = ss.interval(*of_utterances(corpus, chosen))
        assert group.measurement.interval.to_dict() == expected.to_dict()
        assert group.to_dict()["interval"] == expected.to_dict()
    plain = by_column(corpus.references, corpus.systems[0.16], column, name="c")
    assert [group.to_dict()["interval"] for group in plain.groups] == [None] * 3
    assert plain.differences == ()


def test_breakdowns_of_one_corpus_do_not_mix_their_groups(corpus, column):
    options = EvaluationOptions(resampling=HOW)
    whole = MeasuredCorpus(CorpusInMemory(corpus.references, corpus.systems[0.16]), "range-eer", options)
    whole.by_length([0.8])
    found = whole.by_column(column, "c").differences
    assert {name for one in found for name in (one.first, one.second)} == set(column.values())


def test_the_difference_of_two_groups_is_the_jackknife_by_hand(corpus, column):
    system = corpus.systems[0.16]
    found = by_column(corpus.references, system, column, name="c", measure="range-auc", resampling=HOW)
    one = next(each for each in found.differences if (each.first, each.second) == ("A", "B"))

    def auc(chosen):
        return ss.evaluate(*of_utterances(corpus, chosen), ["range-auc"])["range-auc"].value

    groups = {name: {utt for utt, value in column.items() if value == name} for name in "AB"}
    whole = {name: auc(chosen) for name, chosen in groups.items()}
    left = []
    for utt in corpus.references.utterances:
        without = {name: auc(groups[name] - {utt}) if utt in groups[name] else whole[name] for name in "AB"}
        left.append([without["A"], without["B"]])
    error = error_of_a_difference(np.array([whole["A"], whole["B"]]), np.array(left))
    assert one.value == pytest.approx(whole["A"] - whole["B"])
    assert one.interval.standard_error == pytest.approx(error)
    assert one.p_value == pytest.approx(two_sided_p(one.value / error, one.interval.degrees_of_freedom))
    fewest = min(one.interval.with_spoof, one.interval.with_bona_fide)
    assert one.interval.degrees_of_freedom <= fewest - 1 < 60
    assert all(each.p_value <= each.adjusted_p_value for each in found.differences)


def test_spoofs_of_two_lengths_share_their_bona_fide_time(corpus):
    """Values that share half of what they are made of differ by less than two independent ones would."""
    found = by_length(corpus.references, corpus.systems[0.16], edges=[0.8], resampling=HOW)
    (one,) = found.differences
    errors = [group.measurement.interval.standard_error for group in found.groups]
    assert 0 < one.interval.standard_error < np.hypot(*errors) * 1.02
    if corpus.references.attacks is not None:
        assert all(
            group.measurement.interval
            for group in by_attack(corpus.references, corpus.systems[0.16], resampling=HOW).groups
        )
    near = by_boundary(corpus.references, corpus.systems[0.16], resampling=HOW)
    assert all(group.measurement.interval.low < group.measurement.value for group in near.groups)
    assert near.differences == ()  # the groups lie in each other


def test_a_group_of_one_cluster_says_why_it_has_no_interval(corpus):
    names = corpus.references.utterances
    spoofed = np.add.reduceat(corpus.references.labels == 1, corpus.references.offsets[:-1]) > 0
    lonely = names[int(np.flatnonzero(spoofed)[0])]
    column = {utt: "one" if utt == lonely else "rest" for utt in names}
    found = by_column(corpus.references, corpus.systems[0.16], column, name="c", resampling=HOW)
    group = found["one"]
    assert group.measurement.interval is None
    assert any(note.startswith("no interval") for note in group.measurement.notes)


@pytest.mark.slow
def test_by_on_the_command_line_has_intervals_and_differences(tmp_path):
    folder = tmp_path / "demo"
    assert CliRunner().invoke(app, ["demo", "--out", str(folder)]).exit_code == 0
    typed = ["eval", folder / "references.rttm", folder / "unit0.16.score", "--durations", folder / "reco2dur"]
    typed += ["-m", "range-eer", "--by", "length", "--confidence", "0.95"]
    text = CliRunner().invoke(app, [str(one) for one in typed]).stdout
    assert text.count("95 % from") == 3
    assert "under 0.1 s - 1.6 s and more" in text
    plain = json.loads(CliRunner().invoke(app, [str(one) for one in (*typed, "--format", "json")]).stdout)
    (breakdown,) = plain["breakdowns"]
    assert len(breakdown["differences"]) == 15
    assert breakdown["groups"][0]["interval"]["method"] == "jackknife-t"
    drawn = CliRunner().invoke(app, [str(one) for one in (*typed, "--interval", "percentile", "--replicates", "100")])
    assert "differences between groups come with the method jackknife-t" in drawn.stdout


def test_the_mean_over_attacks_and_its_parts_are_those_of_leaving_out_utterances_by_hand(corpus):
    system = corpus.systems[0.16]
    found = by_attack(corpus.references, system, measure="range-auc", resampling=HOW).over_attacks
    everyone = corpus.references.utterances

    def values(chosen):
        groups = by_attack(*of_utterances(corpus, chosen), measure="range-auc").groups
        return [group.measurement.value for group in groups]

    whole = np.array(values(set(everyone)))
    assert list(found.values.values()) == pytest.approx(whole)
    assert found.mean == pytest.approx(whole.mean())
    assert found.values[found.worst] == whole.min()  # the AUC is better if it is higher
    without = np.array([values({*everyone} - {utt}) for utt in everyone])
    covariance = np.cov(without.T, bias=True) * (len(everyone) - 1)
    shared = covariance[~np.eye(3, dtype=bool)].mean()
    interaction = np.trace(covariance) / 3 - shared
    parts = found.components
    expected = shared, interaction, max(whole.var(ddof=1) - interaction, 0)
    assert (parts.test_set, parts.interaction, parts.seed) == pytest.approx(expected, rel=1e-6)
    # the variance of the mean, were everything there twice; and the sentence says so
    variance = parts.test_set + (parts.seed + parts.interaction) / 3
    clusters = parts.test_set / 2 + (parts.seed + parts.interaction / 2) / 3
    attacks = parts.test_set + (parts.seed + parts.interaction) / 6
    shares = [f"{100 * (1 - (one / variance) ** 0.5):.0f} %" for one in (clusters, attacks)]
    assert found.advice.endswith(f"twice as many utterances {shares[0]}, twice as many attacks {shares[1]}")
