"""Numbers in print beside one's own; Algorithm 1 as a command; the words of the literature."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
from command_line import run
from schemas import validate

import spoofspan as ss
from spoofspan.data.rules import CONVENTIONS
from spoofspan.evaluation.explain import explain
from spoofspan.evaluation.synonyms import SYNONYMS
from spoofspan.report.published import FILE, published

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "golden" / "short_tail"
FILES = [FOLDER / "rttm_2cls_0sil", FOLDER / "unit0.02.score.gz", "--durations", FOLDER / "reco2dur"]


def named(name, subset):
    return next(one for one in published() if (one.name, one.set) == (name, subset))


# ---------------------------------------------------------------- the register


def test_the_register_has_the_papers_tables_in_full():
    for table in ("zhang-2023-table-3", "zhang-2023-table-4"):
        for subset in ("dev", "eval"):
            rows = named(table, subset).values
            assert list(rows) == ["20ms", "40ms", "80ms", "160ms", "320ms", "640ms"]
            assert {len(row) for row in rows.values()} == {8}
    # cells that the paper's text speaks of, and the corners
    assert named("zhang-2023-table-3", "eval").value("20ms", "point-eer@20ms") == 12.84
    assert named("zhang-2023-table-3", "eval").value("20ms", "point-eer@10ms") == 29.78
    assert named("zhang-2023-table-3", "dev").value("640ms", "range-eer") == 34.96
    assert named("zhang-2023-table-4", "dev").value("20ms", "range-eer") == 24.73
    assert named("zhang-2023-table-4", "eval").value("640ms", "point-eer@640ms") == 6.12


def test_in_the_papers_tables_a_row_falls_from_its_own_resolution_on():
    """A mistyped digit would break what the paper observes: coarser points are easier, finer ones much harder."""
    for one in published():
        for hop, row in one.values.items() if one.name.startswith("zhang") else ():
            points = row[1:]
            own = [10, 20, 40, 80, 160, 320, 640].index(int(hop.removesuffix("ms")))
            assert max(points[own:]) < min(points[:own])
            assert max(points[:own]) - min(points[:own]) < 0.5
            assert 0 < row[0] - min(points[:own]) + 0.3 < 2


def test_the_readme_of_partialspoof_metrics():
    one = named("partialspoof-metrics", "eval")
    assert [one.value(hop, "range-eer") for hop in one.values] == [14.62, 16.29, 18.27, 20.31, 26.27, 34.54]
    assert [one.value(hop, f"point-eer@{hop}") for hop in one.values] == [13.72, 14.46, 15.29, 11.60, 9.63, 7.24]
    assert one.value("20ms", "point-eer@40ms") is None
    assert named("partialspoof-metrics-utterance", "eval").value("", "utterance-eer") == 1.48


def test_every_entry_names_its_source_and_rules():
    for row in json.loads(FILE.read_text()):
        assert all(row[key] for key in ("name", "source", "data", "set", "system", "convention", "measures", "values"))
        assert row["convention"] in CONVENTIONS


# ---------------------------------------------------------------- beside one's own


def test_a_table_has_the_published_rows_of_its_hop_and_says_which_rules_differ(capsys):
    code, said = run(["table", *FILES, "--uncovered", "hold", "--resolutions", "20,40", "--published"], capsys)
    assert code == 0
    assert re.search(r"20 ms +eval +zhang-2023-table-3 +30\.40 +12\.84 +11\.94\n", said.out)
    assert re.search(r"20 ms +eval +partialspoof-metrics +14\.62 +13\.72\n", said.out)
    assert "40 ms  " not in said.out.partition("yours: ")[2].partition("\n\n")[0]
    assert "rules that differ: gaps (bonafide, yours error)" in said.out
    assert "label sources (nii-2023, yours one)" in said.out


def test_under_the_rules_of_the_tool_only_what_the_tool_does_otherwise_differs(capsys):
    flags = ["--convention", "partialspoof-metrics", "--resolutions", "20", "--published", "--format", "json"]
    code, said = run(["table", *FILES, *flags], capsys)
    assert code == 0
    plain = json.loads(said.out)
    validate(plain)
    differs = {one["name"]: one["differs"] for one in plain["published"]}
    assert differs["partialspoof-metrics"] == []
    assert {"rule": "label sources", "theirs": "nii-2023", "yours": "one"} in differs["zhang-2023-table-3"]


def test_without_scores_the_register_is_listed(capsys):
    code, said = run(["table", "--published"], capsys)
    assert code == 0
    assert said.out.count("zhang-2023-table-3 ") == 12
    assert len(json.loads(run(["table", "--published", "--format", "json"], capsys)[1].out)) == len(published())


def test_a_hop_that_is_not_in_print_says_so(capsys, tmp_path):
    (tmp_path / "labels.txt").write_text("u1 0.30 spoof 0.00-0.15-bonafide 0.15-0.30-spoof\n")
    (tmp_path / "a.csv").write_text("utterance,frame,score\nu1,0,0.9\nu1,1,0.8\nu1,2,0.1\n")
    files = [tmp_path / "labels.txt", tmp_path / "a.csv", "--hop", "0.1", "--higher", "bonafide"]
    code, said = run(["table", *files, "--published", "--resolutions", "100"], capsys)
    assert code == 0
    assert "Nothing is in print for these hops and sets" in said.out


# ---------------------------------------------------------------- Algorithm 1


@pytest.mark.parametrize("quantiles", ["real", "integer"])
def test_bisection_is_a_command_with_its_trace(quantiles, capsys):
    flags = ["--algorithm", "bisection", "--precision", "1e-3", "--quantiles", quantiles]
    code, said = run(["eval", *FILES, *flags, "--convention", "nii-2023", "--format", "json"], capsys)
    assert code == 0
    plain = json.loads(said.out)
    jsonschema.validate(plain, json.loads((ROOT / "docs" / "schema" / "evaluation.json").read_text()))
    references = ss.read_references(FILES[0], durations=FILES[3])
    expected = ss.bisection_eer(
        references, ss.read_scores(FILES[1]), precision=1e-3, quantiles=quantiles, convention="nii-2023"
    )
    (found,) = plain["measurements"]
    assert (found["value"], found["reached"], len(found["trace"])) == (
        expected.value,
        expected.reached,
        len(expected.trace),
    )
    # the last step is at the threshold that is printed, in the polarity of the scores
    best = min(found["trace"], key=lambda step: abs(step["false_positive_rate"] - step["false_negative_rate"]))
    assert best["threshold"] == found["threshold"]
    code, said = run(["eval", *FILES, *flags, "--convention", "nii-2023"], capsys)
    assert len(re.findall(r"^ *\d+ +\d+\.\d{6} ", said.out, re.M)) == len(expected.trace)
    assert ("was reached" in said.out) == expected.reached


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--algorithm", "bisect"], "did you mean 'bisection'"),
        (["--precision", "1e-3"], "--precision goes with --algorithm bisection"),
        (["--algorithm", "bisection", "-m", "range-eer", "-m", "range-f1"], "measure range-f1 apart"),
        (["--algorithm", "bisection", "--eer-rule", "interpolated"], "--eer-rule needs the exact range EER"),
        (["--algorithm", "bisection", "--by", "kind"], "--by needs the exact range EER"),
    ],
)
def test_what_bisection_cannot_do_is_refused(flags, message, capsys):
    code, said = run(["eval", *FILES, *flags], capsys)
    assert code == 2
    assert message in said.err


# ---------------------------------------------------------------- words


@pytest.mark.parametrize("word", SYNONYMS)
def test_a_word_of_the_literature_leads_to_names_that_have_an_explanation(word):
    text = explain(word)
    assert text
    for name in SYNONYMS[word][1]:
        assert explain(name)


def test_words_are_found_however_they_are_written():
    assert "a false negative here" in explain("False_Acceptance")
    assert "Two things" in explain("miss")
    assert "a point here" in explain("segment EER")
    assert "--algorithm bisection" in explain("Algorithm 1")
    with pytest.raises(ss.UsageError, match="did you mean 'millisecond eer'"):
        explain("milisecond eer")
