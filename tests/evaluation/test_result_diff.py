"""The difference of two results: which rules and inputs differ, and what each rule explains."""

import json
import math

import pytest
from challenge_cases import labels, scores
from command_line import evaluated, invoke, run
from schemas import validate

import spoofspan as ss

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")

TRUTH = labels()
SCORES = scores(TRUTH, 0.9)
OTHER = scores(TRUTH, 1.2, 1)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    ss.write_references(TRUTH, folder / "r.parquet")
    ss.write_scores(SCORES, folder / "s.parquet")
    ss.write_scores(OTHER, folder / "t.parquet")
    for name, flags in {
        "a.json": [],
        "b.json": ["--collar", "0.02", "--eer-rule", "interpolated", "--gaps", "bonafide"],
    }.items():
        where = folder / "r.parquet", folder / "s.parquet"
        measures = ["-m", "range-eer", "-m", "point-eer@20ms"]
        assert invoke("eval", *where, *measures, *flags, "--format", "json", "--out", folder / name).exit_code == 0
    return folder


def test_each_rule_is_changed_alone_from_a_towards_b():
    a = ss.range_eer(TRUTH, SCORES)
    b = ss.range_eer(TRUTH, SCORES, collar=0.02, eer_rule="interpolated", last_frame="drop", uncovered="ignore")
    (found,) = ss.diff_results(a, b, TRUTH, SCORES).measures
    assert [one.rule for one in found.effects] == ["eer", "uncovered", "last_frame", "collar"]
    alone = {"eer": {"eer_rule": "interpolated"}, "uncovered": {"uncovered": "ignore"}}
    alone |= {"last_frame": {"last_frame": "drop"}, "collar": {"collar": 0.02}}
    for one in found.effects:
        assert one.effect == ss.range_eer(TRUTH, SCORES, **alone[one.rule]).value - a.value
    assert found.measured == (a.value, b.value) == (found.a, found.b)
    total = sum(one.effect for one in found.effects)
    assert math.isclose(found.interaction, b.value - a.value - total)


def test_inputs_that_differ_are_named_and_rules_that_do_not_are_not():
    a, b = ss.range_eer(TRUTH, SCORES), ss.range_eer(TRUTH, OTHER)
    (found,) = ss.diff_results(a, b).measures
    assert [one.name for one in found.differences] == ["scores"]
    assert ss.diff_results(a, a).measures[0].differences == ()
    notes = ss.diff_results(a, b, TRUTH, SCORES).notes
    assert any("not those of" in note for note in notes)
    # in any form
    (short,) = ss.diff_results(a.signature.short, b.signature).measures
    assert [one.name for one in short.differences] == ["scores"]


def test_rules_and_references_are_told_apart_and_a_refused_rule_says_why():
    ranges = {"u1": [(0.1, 0.5, "spoof"), (0.5, 1.0, "bonafide")]}
    references = ss.References.from_ranges(ranges, {"u1": 1.0})
    frames = ss.Scores.from_frames(
        {"u1": [0.1, 0.3, 0.2, 0.9, 0.4, 0.8, 0.7, 0.6, 0.9, 0.5]}, hop=0.1, higher="bonafide"
    )
    a, b = (ss.range_eer(references, frames, gaps=gaps) for gaps in ("bonafide", "ignore"))
    (found,) = ss.diff_results(a, b, references, frames).measures
    assert [(one.rule, one.effect) for one in found.effects] == [("gaps", b.value - a.value)]
    assert found.interaction == 0
    complete = ss.References.from_ranges({"u1": [(0.0, 0.1, "bonafide"), *ranges["u1"]]}, {"u1": 1.0})
    (found,) = ss.diff_results(a, ss.range_eer(complete, frames, collar=0.01), complete, frames).measures
    assert [one.name for one in found.differences] == ["references", "rule gaps", "rule collar"]
    refused = ss.diff_results(a, ss.range_eer(complete, frames, collar=0.01), references, frames)
    assert "without a label" in refused.measures[0].effects[0].reason
    assert any("has no value" in note for note in refused.notes)


def test_the_shell_shows_rules_inputs_and_effects(files, capsys):
    paths = [files / one for one in ("a.json", "b.json", "r.parquet", "s.parquet")]
    code, printed = run(["diff", *paths], capsys)
    assert code == 0
    for text in (
        "rule collar",
        "0.020 s",
        "interpolated",
        "interaction",
        "each rule changed alone, from A towards B",
    ):
        assert text in printed.out
    validate(json.loads(invoke("diff", *paths[:2], "--format", "json").stdout), "diff.json")
    plain = json.loads(invoke("diff", *paths, "--format", "json").stdout)
    validate(plain, "diff.json")
    assert [one["measure"] for one in plain["measures"]] == ["range-eer", "point-eer@20ms"]
    effects = {one["rule"]: one["effect"] for one in plain["measures"][0]["effects"]}
    assert effects["gaps"] == 0.0  # which has nothing to do
    expected = ss.range_eer(TRUTH, SCORES, collar=0.02).value - ss.range_eer(TRUTH, SCORES).value
    assert effects["collar"] == expected
    assert plain["measures"][0]["measured"]["a"] == ss.range_eer(TRUTH, SCORES).value


def test_results_without_a_common_measure_are_refused():
    with pytest.raises(ss.UsageError, match="no measure in common"):
        ss.diff_results(ss.range_eer(TRUTH, SCORES), ss.utterance_eer(TRUTH, SCORES))


# ---------------------------------------------------------------- eval --like


def test_like_takes_over_measures_and_rules(files):
    where = files / "r.parquet", files / "t.parquet"
    found = evaluated(*where, "--like", files / "b.json")
    flags = ["--collar", "0.02", "--eer-rule", "interpolated", "--gaps", "bonafide"]
    expected = evaluated(*where, "-m", "range-eer", "-m", "point-eer@20ms", *flags)
    assert found == expected
    first = json.loads((files / "b.json").read_text())["measurements"]
    assert [one["signature"]["comparable"] for one in first] == [
        one["signature"]["comparable"] for one in found.values()
    ]


def test_like_takes_a_signature_and_what_is_typed_wins(files):
    where = files / "r.parquet", files / "s.parquet"
    signature = ss.point_eer(TRUTH, SCORES, 0.02, label=0.3, convention="nii-2023").signature
    for form in (str(signature), signature.short):
        (found,) = evaluated(*where, "--like", form).values()
        assert found["signature"]["comparable"] == signature.comparable
    (other,) = evaluated(*where, "--like", signature.short, "--label", "majority").values()
    assert "|label:majority|" in other["signature"]["comparable"]
    said = invoke("eval", *where, "--like", signature.short, "--label", "majority").stderr
    assert "note: --label majority differs from the signature" in said


def test_like_needs_a_threshold_of_its_own(files):
    where = files / "r.parquet", files / "s.parquet"
    signature = ss.evaluate(TRUTH, SCORES, ["range-f1"], threshold=0.3)["range-f1"].signature
    refused = invoke("eval", *where, "--like", signature.short)
    assert "give --threshold or --threshold-from" in str(refused.exception)
    (found,) = evaluated(*where, "--like", signature.short, "--threshold", "0.1").values()
    assert found["signature"]["comparable"] == signature.comparable


def test_like_takes_over_events_and_bisection(files):
    where = files / "r.parquet", files / "s.parquet"
    events = ss.evaluate(TRUTH, SCORES, ["event-f1@iou=0.5"], smoothing=3, min_duration=0.04)["event-f1@iou=0.5"]
    (found,) = evaluated(*where, "--like", str(events.signature)).values()
    assert found["signature"] == events.signature.to_dict()
    bisection = ss.bisection_eer(TRUTH, SCORES, precision=1e-3, quantiles="integer", collar=0.01)
    (found,) = evaluated(*where, "--like", str(bisection.signature)).values()
    assert found["signature"] == bisection.signature.to_dict()


# ---------------------------------------------------------------- verify in the shell


def test_the_exit_code_of_verify_tells_confirmed_from_not(files, capsys):
    paths = [files / one for one in ("a.json", "r.parquet", "s.parquet")]
    code, printed = run(["verify", *paths], capsys)
    assert code == 0
    assert f"confirmed: {files / 'a.json'}" in printed.out
    code, printed = run(["verify", *paths[:2], files / "t.parquet"], capsys)
    assert code == 5
    assert "not confirmed" in printed.out
    assert "scores" in printed.out
    plain = invoke("verify", *paths[:2], files / "t.parquet", "--format", "json")
    assert plain.exit_code == 5
    found = json.loads(plain.stdout)
    validate(found, "verification.json")
    assert found["confirmed"] is False
    assert "scores" in {one["name"] for one in found["differences"]}


def test_the_systems_of_a_table_are_verified_one_by_one(files, tmp_path, capsys):
    table = tmp_path / "table.json"
    where = [files / one for one in ("r.parquet", "s.parquet", "t.parquet")]
    assert invoke("table", *where, "--format", "json", "--out", table).exit_code == 0
    for system in ("s.parquet", "t.parquet"):
        code, printed = run(["verify", table, files / "r.parquet", files / system], capsys)
        assert code == 0, printed.out
        assert "point-eer@640ms" in printed.out
    ss.write_scores(scores(TRUTH, 2.0, 5), tmp_path / "u.parquet")
    code, printed = run(["verify", table, files / "r.parquet", tmp_path / "u.parquet"], capsys)
    assert code == 5
    assert "scores" in printed.out


def test_a_missing_file_is_a_usage_error(files, capsys):
    code, printed = run(["verify", files / "none.json", files / "r.parquet", files / "s.parquet"], capsys)
    assert code == 2
    assert "there is no file" in printed.err
