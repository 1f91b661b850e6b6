"""Several corpora at once, and whether systems err together: against brute force, SciPy and the measures of each."""

import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from test_streaming import run

import spoofspan as ss
from spoofspan.base.columns import positions
from spoofspan.formats.tables import parquet
from spoofspan.report.domains_table import agreement_table
from spoofspan.uncertainty.agreement import Agreement

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


@pytest.mark.parametrize("seed", range(20))
def test_mcnemar_and_the_correlation_are_those_of_fractions_and_scipy(seed):
    rng = random.Random(seed)
    cells = [rng.randint(0, 40) for _ in range(4)]
    found = Agreement(*cells)
    _, b, c, _ = cells
    tail = sum(Fraction(math.comb(b + c, k), 2 ** (b + c)) for k in range(min(b, c) + 1))
    assert found.p_value == pytest.approx(float(min(Fraction(1), 2 * tail)), rel=1e-11)
    if b + c:
        assert found.p_value == pytest.approx(scipy.stats.binomtest(b, b + c).pvalue, rel=1e-9)
    columns = [[0] * cells[0] + [1] * b + [0] * c + [1] * cells[3], [0] * (cells[0] + b) + [1] * (c + cells[3])]
    if all(len(set(column)) == 2 for column in columns):
        assert found.correlation == pytest.approx(np.corrcoef(columns)[0, 1])
    else:
        assert math.isnan(found.correlation)


def test_agreement_counts_the_utterances_that_are_called_wrong(demo):
    references, scores = demo
    rng = np.random.default_rng(5)
    other = ss.Scores.from_columns(
        scores.utterances,
        scores.offsets,
        scores.values + rng.normal(0, 0.4, scores.values.size).astype(np.float32),
        hop=0.02,
        higher="bonafide",
    )
    thresholds = (0.2, -0.3)
    found = ss.error_agreement(references, scores, other, thresholds=thresholds)
    counted = [0, 0, 0, 0]
    for i, utt in enumerate(references.utterances):
        rows = slice(int(references.offsets[i]), int(references.offsets[i + 1]))
        spoof = bool((references.labels[rows] == 1).any())
        wrong = []
        for system, threshold in zip((scores, other), thresholds, strict=True):
            k = system.utterances.index(utt)
            # in double precision, as thresholds are compared
            last = -(-int(references.durations[i]) // 20_000_000)
            frames = system.values[system.offsets[k] : system.offsets[k + 1]][:last].astype(np.float64)
            wrong.append((frames.min() < threshold) != spoof)
        counted[wrong[0] + 2 * wrong[1]] += 1
    assert (found.both_right, found.only_first_wrong, found.only_second_wrong, found.both_wrong) == tuple(counted)
    assert ss.error_agreement(references, scores, scores).correlation == pytest.approx(1.0)
    with pytest.raises(ss.SpoofspanError):
        ss.error_agreement(references, scores, part(demo, 0)[1])


def test_the_command_line_measures_several_corpora(demo, tmp_path, capsys):
    for k, name in enumerate(("x", "y")):
        references, scores = part(demo, k, 2)
        (tmp_path / f"{name}.ref.parquet").write_bytes(b"".join(parquet.write_references(references)))
        for system in ("one", "two"):
            (tmp_path / f"{name}_{system}.parquet").write_bytes(b"".join(parquet.write_scores(scores)))
    files = [tmp_path / "{set}.ref.parquet", f"a={tmp_path}/{{set}}_one.parquet", f"b={tmp_path}/{{set}}_two.parquet"]
    code, printed, said = run(["domains", *files, "--set", "x", "--set", "y", "--dev", "x"], capsys)
    assert code == 0, said
    for word in ("pooled", "mean", "degradation", "McNemar p", "a, b"):
        assert word in printed
    code, printed, said = run(["domains", *files[:2], "--set", "x", "--set", "y", "--format", "json"], capsys)
    assert code == 0, said
    plain = json.loads(printed)
    assert [one["name"] for one in plain["systems"][0]["domains"]] == ["x", "y"]
    assert plain["agreements"] == []
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

    labels, (first, second) = corpora["a"]
    agreement = ss.error_agreement(labels, first, second, thresholds=(0.7, 0.9))
    wrong = [
        np.array(
            [(value < at) == (labels[utt] == "bonafide") for utt, value in zip(one.utterances, one.values, strict=True)]
        )
        for one, at in ((first, 0.7), (second, 0.9))
    ]
    assert agreement.both_wrong == int((wrong[0] & wrong[1]).sum())
    assert agreement.only_first_wrong == int((wrong[0] & ~wrong[1]).sum())

    for name, (labels, said) in corpora.items():
        keys = "".join(f"{utt}\t{label}\n" for utt, label in labels.items())
        (tmp_path / f"{name}_key.tsv").write_text("filename\tcm-label\n" + keys)
        rows = "".join(f"{utt}\t{value}\n" for utt, value in zip(said[0].utterances, said[0].values, strict=True))
        (tmp_path / f"{name}_scores.tsv").write_text("filename\tcm-score\n" + rows)
    typed = ["domains", str(tmp_path / "{set}_key.tsv"), str(tmp_path / "{set}_scores.tsv"), "--set", "a", "--set", "b"]
    code, out, _ = run([*typed, "-m", "utterance-eer", "--format", "json"], capsys)
    assert code == 0
    assert json.loads(out)["systems"][0]["pooled_eer"] == table.pooled_eer
    code, _, said = run(typed, capsys)
    assert code == 2
    assert "take utterance-eer" in said


def test_labels_alone_do_not_say_when(demo):
    labels = dict.fromkeys(demo[1].utterances, "spoof")
    with pytest.raises(ss.UsageError, match="not labels alone"):
        ss.measure_domains({"a": (labels, demo[1]), "b": demo}, measure="utterance-eer")


def test_p_of_several_pairs_is_said_to_be_that_of_each_alone():
    one = Agreement(90, 4, 5, 1)
    said = "of each pair alone, not adjusted for 3 pairs"
    several = agreement_table({("a", "b"): one, ("a", "c"): one, ("b", "c"): one})
    assert said in several.notes[-1]
    assert "pairs" not in agreement_table({("a", "b"): one}).render("text")
