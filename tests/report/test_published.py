"""Numbers in print beside one's own; Algorithm 1 as a command; the words of the literature."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
from command_line import run
from register_rows import checked_row
from schemas import validate

import spoofspan as ss
from spoofspan.evaluation.explain import SYNONYMS, explain
from spoofspan.report.published import FOLDER as REGISTER
from spoofspan.report.published import Beside, OwnRow, Published, published

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "golden" / "short_tail"
FILES = [FOLDER / "rttm_2cls_0sil", FOLDER / "unit0.02.score.gz", "--durations", FOLDER / "reco2dur"]


def row(name, subset, hop):
    return next(one for one in published() if (one.name, one.set, one.hop) == (name, subset, hop))


# ---------------------------------------------------------------- the register


@pytest.mark.parametrize("path", sorted(REGISTER.iterdir()), ids=lambda path: path.stem)
def test_a_row_of_the_register_is_complete_and_is_yaml(path):
    one = checked_row(path)
    assert path.suffix == ".yaml"
    assert path.stem.startswith(one.name.removesuffix("-utterance")), "the file is called as the row is"
    assert len(one.source) > 20
    yaml = pytest.importorskip("yaml")
    assert Published(**yaml.safe_load(path.read_text(encoding="utf-8"))) == one


def test_no_number_is_registered_twice():
    keys = [(one.name, one.data, one.set, one.hop, measure) for one in published() for measure in one.values]
    assert len(set(keys)) == len(keys)


GOOD = """\
name: mine
source: A. Author, A Title, 2026, Table 1
data: PartialSpoof
system: a system
hop: 0.02
values:
  range-eer: 12.30
"""


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("source: A. Author, A Title, 2026, Table 1\n", "", "source must be given"),
        ("source", "sauce", "unknown key 'sauce': did you mean 'source'"),
        ("range-eer: 12.30", "range-ear: 12.30", "no measure 'range-ear'"),
        ("range-eer: 12.30", "range-eer: 123.0", "must be a number from 0 to 100"),
        ("range-eer: 12.30", "range-eer: high", "must be a number from 0 to 100"),
        ("range-eer", "point-eer@0.02s", "write the measure point-eer@0.02s as point-eer@20ms"),
        ("hop: 0.02", "hop: 20", "hop is in seconds"),
        ("hop: 0.02", "hop: 20ms", "put the text in double quotes"),
        ("hop: 0.02", "convention: nii", "did you mean"),
        ("hop: 0.02", "convention: deepfense", "defines no range-based measure"),
        ("hop: 0.02", "rules:\n  gapz: ignore", "unknown rule 'gapz': did you mean 'gaps'"),
        ("hop: 0.02", "rules:\n  gaps: maybe", "gaps='maybe'"),
        ("hop: 0.02", "eer_rule: middle", "eer_rule"),
        ("hop: 0.02", "label_sources: two", "label_sources must be"),
        ("hop: 0.02", "signature: none", "signature must be one that spoofspan printed"),
        ("data: PartialSpoof", "data: yes", "line 3: put the text in double quotes"),
    ],
)
def test_a_wrong_row_is_refused_with_the_reason(old, new, why, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD)
    assert checked_row(path).values == {"range-eer": 12.3}
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(ValueError, match=re.escape(why)):
        checked_row(path)


def test_the_register_has_the_papers_tables_in_full():
    for table in ("zhang-2023-table-3", "zhang-2023-table-4"):
        for subset in ("dev", "eval"):
            rows = [one for one in published() if (one.name, one.set) == (table, subset)]
            assert [one.hop for one in rows] == [0.02, 0.04, 0.08, 0.16, 0.32, 0.64]
            assert {len(one.values) for one in rows} == {8}
    # cells that the paper's text speaks of, and the corners
    assert row("zhang-2023-table-3", "eval", 0.02).values["point-eer@20ms"] == 12.84
    assert row("zhang-2023-table-3", "eval", 0.02).values["point-eer@10ms"] == 29.78
    assert row("zhang-2023-table-3", "dev", 0.64).values["range-eer"] == 34.96
    assert row("zhang-2023-table-4", "dev", 0.02).values["range-eer"] == 24.73
    assert row("zhang-2023-table-4", "eval", 0.64).values["point-eer@640ms"] == 6.12


def test_in_the_papers_tables_a_row_falls_from_its_own_resolution_on():
    """A mistyped digit would break what the paper observes: coarser points are easier, finer ones much harder."""
    for one in published():
        if one.name.startswith("zhang"):
            ranges, *points = one.values.values()
            own = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64].index(one.hop)
            assert max(points[own:]) < min(points[:own])
            assert max(points[:own]) - min(points[:own]) < 0.5
            assert 0 < ranges - min(points[:own]) + 0.3 < 2


def test_the_readme_of_partialspoof_metrics():
    rows = [one for one in published() if one.name == "partialspoof-metrics"]
    assert [one.values["range-eer"] for one in rows] == [14.62, 16.29, 18.27, 20.31, 26.27, 34.54]
    own = [one.values[f"point-eer@{1000 * one.hop:.0f}ms"] for one in rows]
    assert own == [13.72, 14.46, 15.29, 11.60, 9.63, 7.24]
    assert row("partialspoof-metrics-utterance", "eval", None).values == {"utterance-eer": 1.48}


def test_the_cross_domain_audit_has_the_rules_of_its_code():
    rows = [one for one in published() if one.name.startswith("audit-2026")]
    assert {one.data for one in rows} == {"PartialSpoof", "LlamaPartialSpoof", "PartialEdit", "HQ-MPSD"}
    assert all(one.convention == "xps-forensic-2026-06" for one in rows if one.hop is not None)
    values = {(one.system, one.data): one.values for one in rows if one.hop is not None}
    assert values["CFPRF", "PartialSpoof"]["point-eer@320ms"] == 30.13
    assert list(values["BAM", "PartialEdit"].values()) == [45.15, 47.38, 48.62]


# ---------------------------------------------------------------- beside one's own


def test_a_table_has_the_published_rows_of_its_hop_and_says_which_rules_differ(capsys):
    code, said = run(["table", *FILES, "--uncovered", "hold", "--resolutions", "20,40", "--published"], capsys)
    assert code == 0
    assert re.search(r"20 ms +PartialSpoof +eval +zhang-2023-table-3 +30\.40 +12\.84 +11\.94\n", said.out)
    assert re.search(r"20 ms +PartialSpoof +eval +partialspoof-metrics +14\.62 +13\.72\n", said.out)
    assert "40 ms  " not in said.out.partition("yours: ")[2].partition("\n\n")[0]
    assert "rules that differ: gaps (bonafide, yours error)" in said.out
    assert "label sources (nii-2023, yours one)" in said.out
    assert "pooling (max, yours min)" in said.out


def test_under_the_rules_of_the_tool_only_what_the_tool_does_otherwise_differs(capsys):
    flags = ["--convention", "partialspoof-metrics", "--resolutions", "20", "--published", "--format", "json"]
    code, said = run(["table", *FILES, *flags], capsys)
    assert code == 0
    plain = json.loads(said.out)
    validate(plain)
    differs = {one["name"]: one["differs"] for one in plain["published"]}
    assert differs["partialspoof-metrics"] == []
    assert {"rule": "label sources", "theirs": "nii-2023", "yours": "one"} in differs["zhang-2023-table-3"]


def test_a_comparison_shows_its_systems_among_published_numbers(capsys, tmp_path):
    assert run(["demo", "--out", tmp_path / "demo"], capsys)[0] == 0
    files = [tmp_path / "demo" / name for name in ("references.rttm", "scores_20ms.parquet", "scores_640ms.parquet")]
    words = ["compare", *files, "--durations", tmp_path / "demo" / "reco2dur", "--published"]
    code, said = run(words, capsys)
    assert code == 0
    table = said.out[said.out.index("   hop  data") :]
    assert re.search(r"20 ms +yours: scores_20ms +5\.21\n", table)
    assert re.search(r"640 ms +PartialSpoof +eval +zhang-2023-table-4 +38\.36\n", table)
    assert "rules that differ: gaps (bonafide, yours error)" in table
    plain = json.loads(run([*words, "--format", "json"], capsys)[1].out)
    validate(plain, "comparison.json")
    assert {one["hop"] for one in plain["published"]} == {0.02, 0.64}
    code, said = run([*words, "--one-system"], capsys)
    assert code == 2
    assert "--published are for a comparison" in said.err


def test_a_page_shows_its_systems_among_published_numbers(tmp_path):
    from spoofspan import demo

    corpus = demo.load()
    ss.write_report(corpus.references, {"ours": corpus.systems[0.02]}, tmp_path / "p.html", published="", timelines=2)
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "Among published numbers" in page
    assert "yours: ours" in page
    assert "rules that differ: gaps (bonafide, yours error)" in page
    ss.write_report(corpus.references, {"ours": corpus.systems[0.02]}, tmp_path / "q.html", timelines=2)
    assert "Among published numbers" not in (tmp_path / "q.html").read_text(encoding="utf-8")


def test_on_a_known_database_only_its_numbers_are_shown():
    own = [OwnRow("ours", {"point-eer@20ms": 0.1}, 0.02)]
    assert {one.data for one in Beside(own, ["point-eer@20ms"]).found()} >= {"PartialSpoof", "PartialEdit"}
    known = Beside(own, ["point-eer@20ms"], data="llamapartialspoof:folder:R01TTS.0.a")
    assert {one.data for one in known.found()} == {"LlamaPartialSpoof"}
    of_set = Beside(own, ["point-eer@20ms"], data="partialspoof:folder:dev").found()
    assert {(one.data, one.set) for one in of_set} == {("PartialSpoof", "dev")}


def test_unknown_rules_are_said_to_be_unknown():
    table = Beside([OwnRow("ours", {"utterance-eer": 0.01})], ["utterance-eer"]).table()
    assert "  its rules are not known" in table.notes


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
    assert "No published number has the same hop, set and measure" in said.out


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
        (["--algorithm", "bisection", "--by", "attack"], "--by needs the exact range EER"),
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
