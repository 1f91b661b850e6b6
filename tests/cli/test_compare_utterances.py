"""Scores of whole utterances, compared: from the shell and in Python."""

import json

import numpy as np
import pytest
from command_line import run_command as run
from utterance_corpora import ATTACKS, CODECS, SPEAKERS, drawn, exact_eer, files

import spoofspan as ss
import spoofspan.demo
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.groups import by_attack, by_boundary, by_length, compare_groups

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # few clusters


def test_one_command_compares_scores_of_whole_utterances(tmp_path, capsys):
    rows, systems = drawn()
    typed = files(tmp_path, rows, systems)
    code, out, _ = run(["compare", *typed, "--format", "json"], capsys)
    assert code == 0
    (found,) = json.loads(out)["comparisons"]
    assert found["measure"] == "utterance-eer"
    real = [row[4] == "bonafide" for row in rows]
    for one in found["systems"]:
        values = systems[one["system"]].tolist()
        classes = [[v for v, r in zip(values, real, strict=True) if r == wanted] for wanted in (True, False)]
        assert one["value"] == exact_eer(*classes)
        assert one["interval"]["drawn_by"] == "speaker"  # of the protocol itself
        assert one["interval"]["clusters"] == len(SPEAKERS)
    assert len(found["differences"]) == 3
    assert [one["system"] for one in found["ranks"]][-1] == "c"


def test_python_compares_them_with_a_protocol_labels_or_references(tmp_path):
    rows, systems = drawn()
    files(tmp_path, rows, systems)
    names = tuple(row[1] for row in rows)
    said = {name: UtteranceScores(names, values, higher="bonafide") for name, values in systems.items()}
    protocol = ss.read_protocol(tmp_path / "protocol.txt")
    labels = {row[1]: row[4] for row in rows}
    references = ss.References.from_ranges({row[1]: [(0.0, 1.0, row[4])] for row in rows})
    clusters = {row[1]: row[0] for row in rows}
    for method in ("jackknife-t", "percentile"):
        found = [
            ss.compare(truth, said, "utterance-eer", clusters=clusters, method=method, replicates=200)
            for truth in (protocol, labels, references)
        ]
        assert found[0].to_dict()["differences"] == found[1].to_dict()["differences"]
        assert found[0].to_dict()["differences"] == found[2].to_dict()["differences"]
        assert found[0].signatures == found[1].signatures
    alone = ss.evaluate(protocol, said["a"], resampling=ss.Resampling(clusters=clusters))["utterance-eer"]
    one = ss.compare(protocol, said, "utterance-eer", clusters=clusters).intervals["a"]
    assert (alone.value, alone.interval.low, alone.interval.high) == (one.estimate, one.low, one.high)
    again = ss.interval(protocol, said["a"], "utterance-eer", clusters=clusters)
    assert one.to_dict() == again.to_dict()


def test_systems_are_compared_on_each_attack_and_codec(tmp_path, capsys):
    rows, systems = drawn()
    typed = files(tmp_path, rows, systems)
    header = "utterance,speaker,codec,attack\n"
    (tmp_path / "metadata.csv").write_text(header + "".join(f"{u},{s},{c},{a}\n" for s, u, c, a, _ in rows))
    more = ["--by", "attack", "--by", "codec", "--metadata", str(tmp_path / "metadata.csv")]
    code, out, _ = run(["compare", *typed, *more, "--format", "json"], capsys)
    assert code == 0
    attack, codec = json.loads(out)["comparisons"][0]["by"]
    assert [one["group"] for one in attack["groups"]] == list(ATTACKS)
    assert [one["group"] for one in codec["groups"]] == list(CODECS)

    def alone(name, chosen):
        """Systems on some utterances, compared as a corpus of their own."""
        ids = [u for s, u, c, a, label in rows if chosen(c, a)]
        kept = [place for place, row in enumerate(rows) if row[1] in ids]
        labels = {row[1]: row[4] for row in rows if row[1] in ids}
        said = {one: UtteranceScores(tuple(ids), values[kept], "bonafide") for one, values in systems.items()}
        return ss.compare(labels, said, "utterance-eer", clusters={row[1]: row[0] for row in rows if row[1] in ids})

    for found, chosen in (
        *((one, lambda c, a, one=one: a in ("-", one["group"])) for one in attack["groups"]),
        *((one, lambda c, a, one=one: c == one["group"]) for one in codec["groups"]),
    ):
        wanted = alone(found["group"], chosen)
        assert found["differences"] == wanted.to_dict()["differences"]
        signed = {one["system"]: one["signature"] for one in found["systems"]}
        assert signed == {name: one.to_dict() for name, one in wanted.signatures.items()}
    code, out, _ = run(["compare", *typed, "--by", "attack,codec", *more[4:], "--format", "json"], capsys)
    assert code == 0
    (cells,) = json.loads(out)["comparisons"][0]["by"]
    assert [one["group"] for one in cells["groups"]] == ["A01,c1", "A01,c2", "A02,c1", "A02,c2"]
    for found in cells["groups"]:
        of_cell = found["group"].split(",")
        wanted = alone("cell", lambda c, a, cell=of_cell: a in ("-", cell[0]) and c == cell[1])
        assert found["differences"] == wanted.to_dict()["differences"]
    code, out, _ = run(["compare", *typed, "--by", "attack"], capsys)  # of the protocol itself
    assert code == 0
    assert "each attack is measured against all bona fide" in out


def test_scores_in_time_are_compared_on_each_group_too(demo):
    references, scores = demo
    column = {utt: f"half {i % 2}" for i, utt in enumerate(references.utterances)}
    systems = {
        "a": scores,
        "b": ss.Scores.from_columns(scores.utterances, scores.offsets, -scores.values, hop=0.02, higher="spoof"),
    }
    found = compare_groups(references, systems, column)
    for name, comparison in found.groups.items():
        own = [[i for i, utt in enumerate(one.utterances) if column[utt] == name] for one in demo]
        alone = ss.range_eer(references.take(own[0]), scores.take(own[1]))
        assert comparison.intervals["a"].estimate == comparison.intervals["b"].estimate == alone.value
        assert comparison.signatures["a"] == alone.signature


def test_scores_in_time_are_compared_on_each_kind_length_and_boundary(demo, tmp_path, capsys):
    references, scores = demo
    coarse = ss.demo.load().systems[0.04]
    systems = {"fine": scores, "coarse": coarse}
    for by, break_down in (("attack", by_attack), ("length", by_length), ("boundary", by_boundary)):
        found = compare_groups(references, systems, by)
        for name, one in systems.items():
            wanted = {group.name.replace("within", "beyond"): group for group in break_down(references, one).groups}
            assert list(found.groups) == list(wanted)
            for group, comparison in found.groups.items():
                assert comparison.intervals[name].estimate == wanted[group].measurement.value
    ss.write_references(references, tmp_path / "ref.parquet")
    for name, one in systems.items():
        ss.write_scores(one, tmp_path / f"{name}.parquet")
    typed = ["compare", *(str(tmp_path / f"{name}.parquet") for name in ("ref", "fine", "coarse")), "--by", "length"]
    code, out, _ = run([*typed, "--format", "json"], capsys)
    assert code == 0
    lengths = compare_groups(references, systems, "length").to_dict()["groups"]
    found = json.loads(out)["comparisons"][0]["by"][0]["groups"]
    assert [one["differences"] for one in found] == [one["differences"] for one in lengths]
    code, _, error = run([*typed, "-m", "utterance-eer"], capsys)
    assert code == 2
    assert "take range-eer first" in error


def test_eval_takes_scores_of_whole_utterances_in_the_place_of_scores(tmp_path, capsys):
    typed = files(tmp_path, *drawn())
    code, plain, _ = run(["eval", *typed[:2], "--format", "json"], capsys)
    assert code == 0
    _, flagged, _ = run(["eval", typed[0], "--utterance-scores", typed[1], "--format", "json"], capsys)
    assert json.loads(plain) == json.loads(flagged)


def test_columns_that_may_be_scores_are_listed_as_they_are_written(tmp_path, capsys):
    rows, systems = drawn()
    protocol, *_ = files(tmp_path, rows, systems)
    scores = dict(zip([row[1] for row in rows], systems["a"].tolist(), strict=True))
    table = tmp_path / "table.csv"
    for first, second in (("score1", "score2"), ("Logit_real", "logit_fake"), ("mine", "theirs")):
        table.write_text(f"utt,{first},{second}\n" + "".join(f"{u},{s},{-s}\n" for u, s in scores.items()))
        code, _, error = run(["eval", protocol, str(table)], capsys)
        assert code in (2, 3)
        assert f"{first}, {second}" in error
        assert "--column" in error
        code, _, error = run(["eval", protocol, str(table), "--column", second, "--higher", "spoof"], capsys)
        assert code == 0, error
    table.write_text("utterance,frame,score_a,score_b\nu1,0,1,2\n")
    (tmp_path / "r.rttm").write_text("SPEAKER u1 1 0 0.02 <NA> <NA> spoof <NA> <NA>\n")
    _, _, error = run(["eval", str(tmp_path / "r.rttm"), str(table)], capsys)
    assert "score_a, score_b" in error


def test_polarity_may_be_said_of_one_system(tmp_path, capsys):
    rows, systems = drawn()
    typed = files(tmp_path, rows, systems)
    lines = [f"{row[1]};{-value}\n" for row, value in zip(rows, systems["a"].tolist(), strict=True)]
    (tmp_path / "mirrored.csv").write_text("".join(lines))  # high = spoof
    mirrored = f"a={tmp_path / 'mirrored.csv'}"
    values = []
    for first in (typed[1], mirrored):
        code, out, _ = run(["compare", typed[0], first, *typed[2:], "--format", "json"], capsys)
        assert code == 0
        values.append(json.loads(out)["comparisons"][0]["differences"])
    assert values[0] == values[1]
    confirmed = ["--higher", "bonafide", "--higher", "a=spoof"]
    assert run(["compare", typed[0], mirrored, *typed[2:], *confirmed], capsys)[0] == 0
    for wrong, said in {"x=spoof": "no such system", "a=bonafide": "spoof", "a=up": "must be"}.items():
        code, _, error = run(["compare", typed[0], mirrored, *typed[2:], "--higher", wrong], capsys)
        assert code == 2
        assert said in error


def test_scores_in_time_and_of_whole_utterances_are_not_mixed(demo):
    references, scores = demo
    whole = UtteranceScores(references.utterances, np.arange(len(references)) * 1.0, higher="bonafide")
    with pytest.raises(ss.UsageError, match="'b' has scores of whole utterances and 'a' has not"):
        ss.compare(references, {"a": scores, "b": whole}, "utterance-eer")
    with pytest.raises(ss.UsageError, match="range-eer needs scores in time"):
        ss.compare(references, {"a": whole, "b": whole})


def test_references_in_time_are_resampled_by_utterance(tmp_path, capsys):
    rows, systems = drawn(count=60)
    typed = files(tmp_path, rows, systems)
    lines = [f"SPEAKER {row[1]} 1 0.0 1.0 <NA> <NA> {row[4]} <NA> <NA>\n" for row in rows]
    (tmp_path / "ref.rttm").write_text("".join(lines))
    references = str(tmp_path / "ref.rttm")
    for command in (["eval", references, typed[1], "--confidence", "0.95"], ["compare", references, *typed[1:3]]):
        code, out, _ = run([*command, "--format", "json"], capsys)
        assert code == 0
        assert '"drawn_by": "utterance"' in out
    code, _, error = run(["compare", references, *typed[1:3], "--by", "attack"], capsys)
    assert code == 2
    assert "--by attack: give --metadata" in error
