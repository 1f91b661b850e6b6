"""Several corpora at once, against the measures of each."""

import json
import random

import numpy as np
import pytest
from command_line import run_command as run

import spoofspan as ss
from spoofspan.base.columns import positions
from spoofspan.formats.tables import parquet

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
    assert set(plain) == {"spoofspan", "systems"}
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
