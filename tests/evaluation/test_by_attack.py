"""Groups by attack mean one thing everywhere: the spoofed ranges of an attack against all bona fide time."""

import json
from dataclasses import replace

import numpy as np
import pytest
from command_line import run_command as run

import spoofspan as ss
from spoofspan.evaluation.corpus import CorpusInMemory
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.formats.tables import parquet
from spoofspan.formats.text import rttm
from spoofspan.groups import by_attack, by_column, compare_groups
from spoofspan.report.page import PageSettings, page_content
from spoofspan.report.page.report_page import small_multiples

OPTIONS = EvaluationOptions("default", None)


@pytest.fixture(scope="module")
def corpus():
    """Every utterance has ranges of one attack; the first three have none."""
    rng = np.random.default_rng(5)
    ranges, frames, attacks = {}, {}, {}
    for i in range(24):
        attack = (None, "A01", "A02", "A03")[i % 4] if i > 2 else None
        spoofed = set() if attack is None else set(rng.choice(10, 3, replace=False).tolist())
        ranges[f"u{i}"] = [
            (n / 10, (n + 1) / 10, *(("spoof", attack) if n in spoofed else ("bonafide",))) for n in range(10)
        ]
        frames[f"u{i}"] = rng.normal(size=50) + np.repeat([n not in spoofed for n in range(10)], 5)
        attacks[f"u{i}"] = attack or "-"
    references = ss.References.from_ranges(ranges)
    scores = ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")
    return references, replace(references, attacks=None, attack_names=()), scores, attacks


def values(breakdown):
    return {group.name: (group.measurement.exact_value, group.spoof_seconds) for group in breakdown.groups}


def test_a_column_of_attacks_gives_the_numbers_of_named_ranges(corpus):
    named, unnamed, scores, attacks = corpus
    expected = values(by_attack(named, scores))
    assert list(expected) == ["A01", "A02", "A03"]
    for name, (value, _) in expected.items():  # an oracle of its own: the ranges of other attacks are no time at all
        others = (named.labels == 1) & (named.attacks != named.attack_names.index(name))
        alone = replace(named, labels=np.where(others, 2, named.labels).astype(np.int8))
        assert ss.range_eer(alone, scores, nonspeech="ignore").exact_value == value
    found = ss.range_eer(unnamed, scores, by={"attack": attacks}).breakdown
    assert (found.by, values(found)) == ("attack", expected)
    assert values(ss.range_eer(named, scores, by="attack").breakdown) == expected


def test_attacks_have_one_source(corpus):
    named, unnamed, scores, attacks = corpus
    with pytest.raises(ss.UsageError, match="the references name the attacks"):
        ss.range_eer(named, scores, by={"attack": attacks})
    with pytest.raises(ss.UsageError, match="these references name no attacks"):
        ss.range_eer(unnamed, scores, by="attack")
    with pytest.raises(ss.DataError, match="attack: no value for 'u23'"):
        ss.range_eer(unnamed, scores, by={"attack": {utt: one for utt, one in attacks.items() if utt != "u23"}})


def test_shards_take_a_column_of_attacks(corpus, tmp_path):
    _, unnamed, scores, attacks = corpus
    for name, pieces in (("r", parquet.write_references(unnamed)), ("s", parquet.write_scores(scores))):
        (tmp_path / f"{name}.parquet").write_bytes(b"".join(pieces))
    column = {"attack": attacks}.__getitem__
    whole = CorpusInMemory(unnamed, scores).break_down("attack", "range-eer", OPTIONS, column)
    with ss.sharded(tmp_path / "r.parquet", tmp_path / "s.parquet", shards=3) as shards:
        assert shards.break_down("attack", "range-eer", OPTIONS, column).to_dict() == whole.to_dict()


def test_systems_are_compared_on_the_same_groups(corpus):
    named, unnamed, scores, attacks = corpus
    noise = np.random.default_rng(6).normal(size=scores.values.size)
    systems = {"a": scores, "b": replace(scores, values=scores.values + noise)}
    by_name = compare_groups(named, systems, "attack", "range-eer")
    by_column = compare_groups(unnamed, systems, attacks, "range-eer", name="attack")
    assert by_name.groups.keys() == by_column.groups.keys() == {"A01", "A02", "A03"}
    for name, group in by_name.groups.items():
        expected = by_attack(named, scores)[name].measurement.value
        for found in (group, by_column.groups[name]):
            assert found.intervals["a"].estimate == expected
            assert found.differences[0].p_value == group.differences[0].p_value


def test_the_shell_takes_names_first_and_else_the_metadata(corpus, tmp_path, capsys):
    named, unnamed, scores, attacks = corpus
    for name, references in (("named", named), ("unnamed", unnamed)):
        (tmp_path / f"{name}.rttm").write_bytes(b"".join(rttm.write(references)))
    (tmp_path / "scores.parquet").write_bytes(b"".join(parquet.write_scores(scores)))
    (tmp_path / "m.csv").write_text("utterance,attack\n" + "".join(f"{utt},{one}\n" for utt, one in attacks.items()))
    told = [tmp_path / "scores.parquet", "-m", "range-eer", "--by", "attack", "--format", "json"]
    found = []
    for name, metadata in (
        ("named", []),
        ("named", ["--metadata", tmp_path / "m.csv"]),
        ("unnamed", ["--metadata", tmp_path / "m.csv"]),
    ):
        code, printed, said = run(["eval", tmp_path / f"{name}.rttm", *told, *metadata], capsys)
        assert code == 0, said
        found.append([(one["name"], one["value"]) for one in json.loads(printed)["breakdowns"][0]["groups"]])
    assert found[0] == found[1] == found[2]
    code, _, said = run(["eval", tmp_path / "unnamed.rttm", *told], capsys)
    assert (code, "--by attack: give --metadata" in said) == (2, True)


def test_tables_have_a_column_attack_and_are_read_by_its_old_name(tmp_path):
    rows = ["u1,0,1,bonafide,-", "u1,1,2,spoof,A07", "u2,0,1,bonafide,", "u2,1,2,spoof,A08"]
    for column in ("attack", "kind"):
        path = tmp_path / f"{column}.csv"
        path.write_text("\n".join([f"utterance,start,end,label,{column}", *rows]) + "\n")
        references = ss.read_references(path)
        assert (references.attack_names, references["u1"][1]) == (("A07", "A08"), (1.0, 2.0, "spoof", "A07"))
    assert "attack" in references.to_arrow().column_names


def test_no_road_takes_attacks_from_two_places(corpus):
    named, unnamed, scores, attacks = corpus
    systems = {"a": scores, "b": scores.take(range(len(scores.utterances)))}
    with pytest.raises(ss.UsageError, match="the references name the attacks"):
        compare_groups(named, systems, {"attack": attacks}, "range-eer")
    with pytest.raises(ss.UsageError, match="the references name the attacks"):
        ss.evaluate(named, scores, "event-recall@iou=0.5", by={"attack": attacks})
    with pytest.raises(ss.UsageError, match="the references name the attacks"):
        by_attack(named, scores, column=attacks)
    with pytest.raises(ss.UsageError, match=r"groups\.by_attack"):
        by_column(unnamed, scores, attacks, name="attack")
    assert values(by_attack(unnamed, scores, column=attacks)) == values(by_attack(named, scores))


def test_a_series_keeps_its_name(corpus):
    pandas = pytest.importorskip("pandas")
    named, unnamed, scores, attacks = corpus
    found = ss.range_eer(unnamed, scores, by=pandas.Series(attacks, name="attack")).breakdown
    assert (found.by, values(found)) == ("attack", values(by_attack(named, scores)))
    told = {"clusters": {"speaker": pandas.Series({utt: utt[-1] for utt in attacks})}, "confidence": 0.95}
    with pytest.warns(ss.SpoofspanWarning, match="only 10 speakers"):
        assert ss.range_eer(named, scores, **told).interval.clusters == 10


def test_kind_is_another_name_in_references_only(corpus, tmp_path, capsys):
    """A protocol has a column of attacks; ``--by kind`` must not take it for another column of that name."""
    named, _, scores, attacks = corpus
    (tmp_path / "r.rttm").write_bytes(b"".join(rttm.write(named)))
    (tmp_path / "s.parquet").write_bytes(b"".join(parquet.write_scores(scores)))
    lines = (f"S {utt} - {one} {'bonafide' if one == '-' else 'spoof'}\n" for utt, one in attacks.items())
    (tmp_path / "protocol.txt").write_text("".join(lines))
    told = ["eval", tmp_path / "r.rttm", tmp_path / "s.parquet", "-m", "range-eer", "--by", "kind"]
    code, _, said = run([*told, "--metadata", tmp_path / "protocol.txt"], capsys)
    assert (code, "no column 'kind'" in said) == (2, True)
    (tmp_path / "both.csv").write_text(
        "utterance,start,end,label,attack,kind\nu1,0,1,spoof,A07,K9\nu1,1,2,bonafide,-,K9\n"
    )
    assert ss.read_references(tmp_path / "both.csv").attack_names == ("A07",)


def test_a_page_shows_one_chart_by_attack_wherever_the_names_come_from(corpus):
    named, unnamed, scores, attacks = corpus
    shown = []
    for references, columns in ((named, {}), (named, {"attack": attacks}), (unnamed, {"attack": attacks})):
        settings = PageSettings(resampling=None, timelines=0, resolutions=[0.02], columns=columns)
        content = page_content(references, {"a": scores}, settings)
        (chart,) = (one for one in small_multiples(content) if one["title"] == "By attack")
        shown.append(([(row["name"], row["values"]) for row in chart["rows"]], chart["rows"][0]["where"]))
    assert shown[0][0] == shown[1][0] == shown[2][0]
    # utterances are found by the attacks of their ranges, or by the column
    assert [where for _, where in shown] == [{"attack": "A01"}, {"attack": "A01"}, {"column": "attack", "value": "A01"}]
