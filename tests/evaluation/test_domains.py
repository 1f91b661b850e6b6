"""Several corpora at once, against the measures of each."""

import json
import random

import numpy as np
import pytest
from command_line import run_command as run

import spoofspan as ss
from spoofspan.base.columns import positions
from spoofspan.evaluation.domains import compare_domains
from spoofspan.formats.tables import parquet
from spoofspan.uncertainty.student import two_sided_p

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.base.errors.SpoofspanWarning")


def part(corpus, k, of=3):
    references, scores = corpus
    few = references.take(np.arange(k, len(references), of))
    return few, scores.take(positions(few.utterances, scores.utterances))


@pytest.mark.parametrize("measure", ["range-eer", "point-eer@20ms", "utterance-eer"])
def test_domains_are_measured_alone_together_and_at_one_threshold(demo, measure):
    corpora = {name: part(demo, k) for k, name in enumerate(("a", "b", "c"))}
    table = ss.measure_domains(corpora, measure=measure, dev="b")
    alone = {name: ss.evaluate(*one, [measure])[measure] for name, one in corpora.items()}
    assert {one.name: one.eer for one in table.domains} == {name: one.value for name, one in alone.items()}
    assert table.mean_eer == pytest.approx(sum(one.value for one in alone.values()) / 3)
    assert table.pooled_eer == ss.evaluate(*demo, [measure])[measure].value
    assert table.threshold == alone["b"].threshold
    names = [measure.replace("eer", name) for name in ("fpr", "fnr", "hter")]
    for one in table.domains:
        found = ss.evaluate(*corpora[one.name], names, threshold=table.threshold)
        rates = (one.carried.false_positive_rate, one.carried.false_negative_rate, one.hter)
        assert rates == tuple(found[name].value for name in names)
        assert one.degradation == pytest.approx(one.hter - one.eer)
    assert table["b"].degradation == pytest.approx(0.0)  # its own threshold
    without = ss.measure_domains(corpora, measure=measure)
    assert (without.threshold, without.threshold_of) == (without.pooled_threshold, "pooled")


def test_what_is_no_table_of_domains_is_refused(demo):
    corpora = {name: part(demo, k, 2) for k, name in enumerate(("a", "b"))}
    with pytest.raises(ss.UsageError, match="at least two corpora"):
        ss.measure_domains({"a": corpora["a"]})
    with pytest.raises(ss.UsageError, match="no such corpus"):
        ss.measure_domains(corpora, dev="x")
    with pytest.raises(ss.UsageError, match="threshold to carry over"):
        ss.measure_domains(corpora, measure="range-auc")


def test_the_command_line_measures_several_corpora(demo, tmp_path, capsys):
    for k, name in enumerate(("x", "y")):
        references, scores = part(demo, k, 2)
        (tmp_path / f"{name}.ref.parquet").write_bytes(b"".join(parquet.write_references(references)))
        for system in ("one", "two"):
            (tmp_path / f"{name}_{system}.parquet").write_bytes(b"".join(parquet.write_scores(scores)))
    files = [tmp_path / "{set}.ref.parquet", f"a={tmp_path}/{{set}}_one.parquet", f"b={tmp_path}/{{set}}_two.parquet"]
    code, printed, said = run(["domains", *files, "--set", "x", "--set", "y", "--dev", "x"], capsys)
    assert code == 0, said
    for word in ("pooled", "mean", "degradation"):
        assert word in printed
    assert "McNemar" not in printed  # compare tests whether systems differ
    code, printed, said = run(["domains", *files, "--set", "x", "--set", "y", "--format", "json"], capsys)
    assert code == 0, said
    plain = json.loads(printed)
    assert [one["name"] for one in plain["systems"][0]["domains"]] == ["x", "y"]
    assert set(plain) == {"spoofspan", "systems", "differences", "verdict"}
    assert plain["differences"][0]["p_value"] == 1.0  # two names of one system
    code, _, said = run(["domains", *files, "--set", "x"], capsys)
    assert (code, "--set dev --set eval" in " ".join(said.split())) == (2, True)


def drawn_trials(seed, count=120):
    """Labels of whole utterances, and the scores of two systems."""
    rng = random.Random(seed)
    labels = {f"{seed}-{i}": ("bonafide", "spoof", "spoof")[i % 3] for i in range(count)}
    said = [
        {utt: round(rng.gauss(seed + 1.5 * (label == "bonafide"), spread), 2) for utt, label in labels.items()}
        for spread in (1.0, 1.5)
    ]
    return labels, [ss.UtteranceScores(tuple(one), np.array(list(one.values())), "bonafide") for one in said]


def test_scores_of_whole_utterances_have_domains_too(tmp_path, capsys):
    corpora = {"a": drawn_trials(0), "b": drawn_trials(1)}
    table = ss.measure_domains(
        {name: (labels, said[0]) for name, (labels, said) in corpora.items()}, measure="utterance-eer"
    )
    for name, (labels, (scores, _)) in corpora.items():
        assert table[name].eer == ss.evaluate_utterances(labels, scores, ["utterance-eer"])["utterance-eer"].value
    pooled = {**corpora["a"][0], **corpora["b"][0]}
    both = [one[1][0] for one in corpora.values()]
    together = ss.UtteranceScores(
        both[0].utterances + both[1].utterances, np.concatenate([one.values for one in both]), "bonafide"
    )
    assert table.pooled_eer == ss.evaluate_utterances(pooled, together, ["utterance-eer"])["utterance-eer"].value

    for name, (labels, said) in corpora.items():
        keys = "".join(f"{utt}\t{label}\n" for utt, label in labels.items())
        (tmp_path / f"{name}_key.tsv").write_text("filename\tcm-label\n" + keys)
        rows = "".join(f"{utt}\t{value}\n" for utt, value in zip(said[0].utterances, said[0].values, strict=True))
        (tmp_path / f"{name}_scores.tsv").write_text("filename\tcm-score\n" + rows)
    typed = ["domains", str(tmp_path / "{set}_key.tsv"), str(tmp_path / "{set}_scores.tsv"), "--set", "a", "--set", "b"]
    code, out, _ = run([*typed, "-m", "utterance-eer", "--format", "json"], capsys)
    assert code == 0
    assert json.loads(out)["systems"][0]["pooled_eer"] == table.pooled_eer
    assert run([*typed, "--format", "json"], capsys)[1] == out  # what utterances are measured by
    code, _, said = run([*typed, "-m", "range-eer"], capsys)
    assert code == 2
    assert "of utterance scores there is utterance-eer" in said


def test_labels_alone_do_not_say_when(demo):
    labels = dict.fromkeys(demo[1].utterances, "spoof")
    with pytest.raises(ss.UsageError, match="not labels alone"):
        ss.measure_domains({"a": (labels, demo[1]), "b": demo}, measure="utterance-eer")


def speakers_of(references, prefix=""):
    """Eight utterances to a speaker."""
    return {utt: f"{prefix}{i // 8}" for i, utt in enumerate(references.utterances)}


def without(corpora, clusters, left):
    """The corpora without a speaker."""
    found = {}
    for name, (references, scores) in corpora.items():
        kept = [i for i, utt in enumerate(references.utterances) if clusters[name][utt] != left]
        few = references.take(np.array(kept))
        found[name] = few, scores.take(positions(few.utterances, scores.utterances))
    return found


@pytest.mark.parametrize("dev", ["b", None])
@pytest.mark.parametrize("shared", [True, False])
def test_intervals_are_those_of_leaving_out_speakers_and_measuring_everything_again(demo, dev, shared):
    """The threshold is found again without each speaker, also one of the corpus that it comes from."""
    corpora = {name: part(demo, k) for k, name in enumerate(("a", "b", "c"))}
    clusters = {name: speakers_of(one[0], "" if shared else name) for name, one in corpora.items()}
    table = ss.measure_domains(corpora, dev=dev, confidence=0.95, clusters=clusters, clusters_are="speaker")
    everyone = sorted({one for column in clusters.values() for one in column.values()})
    again = [ss.measure_domains(without(corpora, clusters, one), dev=dev) for one in everyone]

    def error(value):
        values = np.array([value(one) for one in again])
        return np.sqrt((len(values) - 1) / len(values) * ((values - values.mean()) ** 2).sum())

    for name in corpora:
        found = table[name].intervals
        assert found.eer.standard_error == pytest.approx(error(lambda one, name=name: one[name].eer), rel=0.12)
        hter = error(lambda one, name=name: one[name].hter)
        assert found.hter.standard_error == pytest.approx(hter, rel=0.2), name
        # the threshold of all corpora is near the own one of each, and what is measured again jumps from score to score
        if dev is not None and name != dev:
            degradation = error(lambda one, name=name: one[name].degradation)
            # a difference of rates has the larger of two standard errors
            assert found.degradation.standard_error > 0.75 * degradation
            assert found.degradation.standard_error < 1.3 * degradation
    mean = table.over_corpora.components
    assert mean.fixed**0.5 == pytest.approx(error(lambda one: one.mean_eer), rel=0.12)


def test_the_set_of_the_threshold_loses_nothing_by_it(demo):
    corpora = {name: part(demo, k) for k, name in enumerate(("a", "b", "c"))}
    table = ss.measure_domains(corpora, dev="b", confidence=0.95)
    found = table["b"].intervals
    assert found.degradation.estimate == pytest.approx(0.0)
    assert found.degradation.standard_error == pytest.approx(0.0, abs=1e-9)
    assert (found.hter.low, found.hter.high) == pytest.approx((found.eer.low, found.eer.high))


def test_equal_names_in_two_corpora_may_be_different_utterances(demo):
    references, scores = part(demo, 0)
    corpora = {"x": (references, scores), "y": (references, scores)}
    clusters = {"x": speakers_of(references, "x"), "y": speakers_of(references, "y")}
    apart = ss.measure_domains(corpora, confidence=0.95, clusters=clusters)
    alone = ss.interval(references, scores, clusters=clusters["x"])
    assert apart["x"].intervals.eer.standard_error == pytest.approx(alone.standard_error, rel=0.1)


def test_systems_are_compared_over_corpora():
    made = {"x": drawn_trials(0, 300), "y": drawn_trials(1, 300), "z": drawn_trials(2, 300)}
    systems = {
        name: {corpus: (labels, said[place]) for corpus, (labels, said) in made.items()}
        for place, name in enumerate(("good", "poor"))
    }
    found = compare_domains(systems, measure="utterance-eer")
    (one,) = found.differences
    each = {
        corpus: ss.compare(labels, {"good": said[0], "poor": said[1]}, "utterance-eer")["good", "poor"]
        for corpus, (labels, said) in made.items()
    }
    values = np.array([two.value for two in each.values()])
    assert one.these.estimate == pytest.approx(values.mean())
    assert list(one.new.values.values()) == pytest.approx(values.tolist())
    # corpora have nothing in common, so their variances add
    together = np.sqrt(sum(two.interval.standard_error**2 for two in each.values())) / 3
    assert one.these.standard_error == pytest.approx(together, rel=0.05)
    assert one.new.high - one.new.low > 0
    assert "good is better than poor on these corpora (p < 0.001)" in found.verdict
    with pytest.raises(ss.UsageError, match="give all the same"):
        compare_domains({"a": systems["good"], "b": {"x": systems["poor"]["x"]}}, measure="utterance-eer")


def test_the_corpus_of_the_threshold_is_not_counted_as_a_comparison(demo):
    corpora = {name: part(demo, k, 2) for k, name in enumerate(("a", "b"))}
    found = ss.measure_domains(corpora, dev="a", confidence=0.95)
    own, other = (one.intervals for one in found.domains)
    of_b = other.degradation
    assert own.p_value == 1
    # not twice as much, as Holm's correction of two would have it
    assert other.p_value == pytest.approx(two_sided_p(of_b.estimate / of_b.standard_error, of_b.degrees_of_freedom))
    pooled = ss.measure_domains(corpora, confidence=0.95)  # whose threshold may cost something on both
    assert all(one.intervals.p_value < 1 for one in pooled.domains)
