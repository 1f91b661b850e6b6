"""Breakdowns: groups are corpora of their own, and their errors add up to those of the whole."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from command_line import run_command as run

import spoofspan as ss
from spoofspan.evaluation.breakdown import by_attack, by_boundary, by_column, by_length
from spoofspan.formats.text.protocol import read_metadata

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schema/evaluation.json").read_text(encoding="utf-8"))


def relabelled(references, drop):
    """The same corpus, the time of dropped ranges taken out by hand: labelled non-speech, which is ignored."""
    labels = references.labels.copy()
    labels[drop] = 2
    return ss.References.from_columns(
        references.utterances,
        references.durations,
        references.offsets,
        references.starts,
        references.ends,
        labels=labels,
        snap=references.snap / 1e9,
    )


def test_each_kind_is_measured_against_all_bona_fide_time(demo):
    references, scores = demo
    found = by_attack(references, scores)
    assert [group.name for group in found.groups] == list(references.attack_names)
    for code, name in enumerate(references.attack_names):
        others = (references.labels == 1) & (references.attacks != code)
        expected = ss.range_eer(relabelled(references, others), scores, nonspeech="ignore")
        assert found[name].measurement.value == expected.value
        assert found[name].measurement.threshold == expected.threshold
    assert sum(group.share_of_error for group in found.groups) == pytest.approx(1)


def test_lengths_cover_all_spoofed_ranges(demo):
    references, scores = demo
    found = by_length(references, scores, edges=(0.3, 0.7))
    assert [group.name for group in found.groups] == ["under 0.3 s", "0.3 to 0.7 s", "0.7 s and more"]
    is_spoof = references.labels == 1
    whole = references.range_durations[is_spoof].sum() / 1e9
    assert sum(group.spoof_seconds for group in found.groups) == pytest.approx(whole)
    assert sum(group.share_of_error for group in found.groups) == pytest.approx(1)


def test_groups_of_utterances_are_corpora_of_their_own(demo):
    references, scores = demo
    column = {utt: "ab"[i % 2] for i, utt in enumerate(references.utterances)}
    found = by_column(references, scores, column, name="half")
    half = np.arange(0, len(references), 2)
    expected = ss.range_eer(references.take(half), scores, partial=True)
    assert found["a"].measurement.value == expected.value
    assert found["a"].utterances + found["b"].utterances == len(references)
    point = ss.range_eer(references, scores).point
    errors = (point.false_positive + point.false_negative) / 1e9
    assert sum(group.error_seconds for group in found.groups) == pytest.approx(errors)


def test_a_group_of_one_class_says_why_it_has_no_value(demo):
    references, scores = demo
    has_spoof = {
        references.utterances[i]
        for i in np.repeat(range(len(references)), np.diff(references.offsets))[references.labels == 1]
    }
    column = {utt: "partial" if utt in has_spoof else "genuine" for utt in references.utterances}
    genuine = by_column(references, scores, column)["genuine"]
    assert genuine.measurement is None
    assert "no spoofed time" in genuine.reason
    assert 0 < genuine.share_of_error < 1


def test_the_error_near_boundaries_is_what_a_collar_takes_away(demo):
    references, scores = demo
    whole = ss.range_eer(references, scores)
    found = by_boundary(references, scores, distances=(0.04, 0.1))
    for group, collar in zip(found.groups, (0.04, 0.1), strict=True):
        outside = ss.error_curve(references, scores, collar=collar).at(whole.threshold)
        left = (whole.point.false_positive + whole.point.false_negative) - (
            outside.false_positive + outside.false_negative
        )
        assert group.error_seconds == pytest.approx(left / 1e9)
        assert group.measurement.value == ss.range_eer(references, scores, collar=collar).value


def test_groups_of_a_measure_at_a_threshold_share_the_threshold_of_the_corpus(demo):
    references, scores = demo
    column = {utt: "ab"[i % 2] for i, utt in enumerate(references.utterances)}
    found = by_column(references, scores, column, measure="range-f1")
    assert {group.measurement.threshold for group in found.groups} == {ss.range_eer(references, scores).threshold}


def test_what_cannot_be_broken_down_is_refused(demo):
    references, scores = demo
    with pytest.raises(ss.UsageError, match="no attacks"):
        by_attack(relabelled(references, np.zeros(references.labels.size, bool)), scores)
    with pytest.raises(ss.UsageError, match="one of ranges"):
        by_length(references, scores, measure="point-eer@20ms")
    with pytest.raises(ss.DataError, match="no value for"):
        by_column(references, scores, {references.utterances[0]: "a"})
    some_without = {utt: None if i % 2 else "a" for i, utt in enumerate(references.utterances)}
    for measure, name in (("range-eer", "codec"), ("point-eer@20ms", "attack")):
        with pytest.raises(ss.DataError, match=f"{name}: no value for"):
            ss.evaluate(references, scores, measure, by={name: some_without})


@pytest.mark.parametrize(
    ("measure", "name"),
    [("range-eer", "length"), ("range-f1", "boundary"), ("range-eer", "share"), ("utterance-eer", "share")],
)
def test_a_column_is_never_replaced_by_groups_of_its_name(measure, name, demo):
    column = {utt: "ab"[i % 2] for i, utt in enumerate(demo[0].utterances)}
    with pytest.raises(ss.UsageError, match=f"by='{name}' makes these groups itself"):
        ss.evaluate(*demo, measure, by={name: column})
    for other in ("point-eer@20ms", "event-f1@iou=0.5"):
        if name != "share":
            assert ss.evaluate(*demo, other, by={name: column})[other].breakdown.rows == ("pooled", "a", "b")


# ---------------------------------------------------------------- files


def test_metadata_from_tables_and_protocols(tmp_path):
    (tmp_path / "m.csv").write_text("utterance,speaker,n\nu1,s1,1\nu2,s2,2\n")
    (tmp_path / "m.tsv").write_text("utterance\tspeaker\nu1\ts1\nu2\ts2\n")
    (tmp_path / "protocol.txt").write_text("s1 u1 - A01 spoof\ns2 u2 - - bonafide\n")
    for name in ("m.csv", "m.tsv", "protocol.txt"):
        assert read_metadata(tmp_path / name, "speaker") == {"u1": "s1", "u2": "s2"}
    assert read_metadata(tmp_path / "m.csv", "n") == {"u1": "1", "u2": "2"}
    assert read_metadata(tmp_path / "protocol.txt", "attack") == {"u1": "A01", "u2": "-"}


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("utterance,speaker\nu1,a\nu1,b\n", ss.DataError, ":3: utterance 'u1' has two values"),
        ("utterance,codec\nu1,a\n", ss.UsageError, "no column 'speaker'"),
        ("utterance,speaker\nu1\n", ss.DataError, "1 field instead of the 2 of the header"),
        ("a b\n", ss.DataError, "2 fields instead of"),
    ],
)
def test_bad_metadata_is_refused(text, error, said, tmp_path):
    (tmp_path / "m.txt").write_text(text)
    with pytest.raises(error, match=said):
        read_metadata(tmp_path / "m.txt", "speaker")


def test_the_command_line_breaks_down(files, tmp_path, demo, capsys):
    lines = [f"{utt},s{i % 3}" for i, utt in enumerate(demo[0].utterances)]
    (tmp_path / "m.csv").write_text("\n".join(["utterance,speaker", *lines]) + "\n")
    told = ["--by", "attack", "--by", "boundary", "--by", "speaker", "--metadata", tmp_path / "m.csv"]
    code, printed, said = run([*files, *told, "--format", "json"], capsys)
    assert code == 0, said
    found = json.loads(printed)
    jsonschema.validate(found, SCHEMA)
    assert [one["by"] for one in found["breakdowns"]] == ["attack", "boundary", "speaker"]
    assert [group["name"] for group in found["breakdowns"][2]["groups"]] == ["s0", "s1", "s2"]
    code, printed, _ = run([*files, *told], capsys)
    assert code == 0
    assert "of all error" in printed


def test_the_command_line_answers_what_is_missing(files, capsys):
    assert "--metadata" in run([*files, "--by", "speaker"], capsys)[2]
