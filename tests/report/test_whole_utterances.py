"""Scores of whole utterances in tables, in figures and on the page: the same numbers as of eval and compare."""

import json
import re

import numpy as np
import pytest
from browsers import SCREENS, Opened, assert_accessible, needs_axe
from command_line import run_command as run
from schemas import validate
from utterance_corpora import ATTACKS, CODECS, SPEAKERS, drawn, exact_eer, files

import spoofspan as ss
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.evaluate import cross_utterances
from spoofspan.report.figures.figure_data import det_data, score_data, system_curve
from spoofspan.report.page import PageSettings, page_content, render_page
from spoofspan.report.page.report_page import report_tables

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # few clusters
ASV = "".join(
    f"{kind} {trial} {value}\n"
    for kind, trial, value in (
        *(("bonafide", "target", one) for one in (3.0, 2.5, 0.4, 4.0)),
        *(("bonafide", "nontarget", one) for one in (-3.0, -2.5, 0.5, -4.0)),
        *((attack, "spoof", one) for attack in ATTACKS for one in (1.0, 2.0, -1.0)),
    )
)


@pytest.fixture
def typed(tmp_path):
    """A protocol and three files of scores, as they are typed."""
    protocol, *scores = files(tmp_path, *drawn())
    return [protocol, *(f"{name}={path}" for name, path in zip("abc", scores, strict=True))]


def in_python(rows, systems):
    """The same as labels and scores."""
    names = tuple(row[1] for row in rows)
    return {row[1]: row[4] for row in rows}, {
        name: UtteranceScores(names, values, higher="bonafide") for name, values in systems.items()
    }


def protocol_of(rows):
    return ss.data.protocol.Protocol(
        utterance=tuple(row[1] for row in rows),
        speaker=tuple(row[0] for row in rows),
        attack=tuple(None if row[3] == "-" else row[3] for row in rows),
        label=tuple(row[4] for row in rows),
    )


# ---------------------------------------------------------------- tables


def test_a_table_has_a_column_for_each_measure(typed, tmp_path, capsys):
    (tmp_path / "asv.txt").write_text(ASV)
    asked = ["-m", "utterance-eer", "-m", "utterance-min-tdcf", "--asv-scores", str(tmp_path / "asv.txt")]
    code, out, _ = run(["table", *typed, *asked, "--confidence", "0.95", "--format", "json"], capsys)
    assert code == 0
    content = json.loads(out)
    validate(content)
    _, out, _ = run(["compare", *typed, *asked, "--format", "json"], capsys)
    compared = json.loads(out)["comparisons"]
    for row in content["sets"][0]["rows"]:
        assert (row["hop"], row["floor"], row["range_eer"], row["point_eers"]) == (None, None, None, [])
        for cell, comparison in zip(row["measures"], compared, strict=True):
            (other,) = (one for one in comparison["systems"] if one["system"] == row["name"])
            assert cell["value"] == other["value"]
            assert cell["interval"] == other["interval"]
            assert cell["interval"]["drawn_by"] == "speaker"
    code, out, _ = run(["table", *typed, *asked], capsys)
    assert out.split()[:3] == ["system", "utterance-eer", "utterance-min-tdcf"]
    assert "All in %, but for utterance-min-tdcf." in out
    code, out, _ = run(["table", *typed], capsys)  # the EER, if nothing is asked for
    assert out.splitlines()[0].split() == ["system", "utterance-eer"]


def test_the_table_of_seeds_has_their_means(tmp_path):
    rows, systems = drawn()
    labels, scores = in_python(rows, systems)
    several = {"ours": {"1": scores["a"], "2": scores["b"]}, "theirs": {"1": scores["c"]}}
    table = ss.resolution_table(labels, several, measures=["utterance-eer", "utterance-auc"])
    each = [ss.evaluate(labels, scores[name])["utterance-eer"].value for name in "ab"]
    cell = table["ours"].measures["utterance-eer"]
    assert cell.value == pytest.approx(sum(each) / 2, abs=1e-15)
    assert cell.standard_deviation == pytest.approx(np.std(each, ddof=1))
    assert table.resolutions == ()
    assert [row["utterance-eer"] for row in table.to_rows()] == [
        row.measures["utterance-eer"].value for row in table.rows
    ]
    assert "means over seeds (ours: 2, theirs: 1)" in table.render("text")
    for spelling in ("markdown", "latex", "html"):
        assert f"{100 * cell.value:.2f}" in table.render(spelling)
    assert repr(100 * cell.value) in table.render("csv")
    assert "utterance-eer, utterance-auc: utterance scores as given." in table.render("text")
    costs = ss.resolution_table(labels, several, measures=["utterance-min-dcf"]).render("latex")
    assert r"\caption{Utterance measures, means over seeds (ours: 2, theirs: 1).}" in costs
    with pytest.raises(ss.UsageError, match="no range EER"):
        _ = table["ours"].range_eer
    with pytest.raises(ss.UsageError, match="range-f1 needs scores in time"):
        ss.resolution_table(labels, several, measures=["range-f1"])


def test_a_table_mixes_no_kinds_of_systems(demo):
    references, scores = demo
    whole = UtteranceScores(references.utterances, np.arange(len(references)) * 1.0, higher="bonafide")
    with pytest.raises(ss.UsageError, match="scores in time and scores of whole utterances"):
        ss.resolution_table(references, {"a": scores, "b": whole})


@pytest.mark.parametrize(
    "flags",
    [["--resolutions", "20"], ["--heatmap", "map.png"], ["--label-sources", "nii-2023"]],
    ids=lambda one: one[0],
)
def test_a_table_refuses_options_about_time(typed, capsys, flags):
    code, _, error = run(["table", *typed, *flags], capsys)
    assert code == 2
    assert f"{flags[0]} is about points in time, and these are scores of whole utterances" in error


# ---------------------------------------------------------------- figures


def test_a_curve_counts_each_utterance_once():
    rows, systems = drawn()
    labels, scores = in_python(rows, systems)
    for truth in (labels, protocol_of(rows)):
        curve = system_curve(truth, scores["a"], "a")
        real = np.array([row[4] == "bonafide" for row in rows])
        assert det_data(curve).eer == exact_eer(systems["a"][real].tolist(), systems["a"][~real].tolist())
        shown = score_data(curve, bins=10)
        assert shown.unit == "utterances"
        counted = np.histogram(systems["a"][real], shown.edges)[0] / real.sum()
        assert shown.bona_fide == pytest.approx(counted)
    with pytest.raises(ss.UsageError, match="whole utterances have none"):
        system_curve(labels, scores["a"], resolution=0.02)


@pytest.mark.parametrize("kind", ["det", "roc", "threshold", "scores", "reliability", "pav", "tippett"])
def test_figures_over_thresholds_are_drawn(typed, tmp_path, capsys, kind):
    more = ["--confidence", "0.95"] if kind == "det" else []
    more = ["--scores-are", "llr"] if kind in ("reliability", "pav", "tippett") else more
    code, _, error = run(["plot", kind, *typed, *more, "--out", str(tmp_path / "one.svg")], capsys)
    assert (code, (tmp_path / "one.svg").stat().st_size > 5000) == (0, True), error
    if kind == "det":
        _, out, _ = run(
            ["eval", typed[0], typed[1].partition("=")[2], "--confidence", "0.95", "--format", "json"], capsys
        )
        (alone,) = json.loads(out)["measurements"]
        low, high = (f"{100 * alone['interval'][end]:.2f}" for end in ("low", "high"))
        drawn_text = (tmp_path / "one.svg").read_text("utf-8")
        assert f"({low} to {high})" in drawn_text


@pytest.mark.parametrize("kind", ["resolution", "boundary", "timeline", "measurement", "resampling"])
def test_figures_in_time_say_what_there_is_instead(typed, tmp_path, capsys, kind):
    code, _, error = run(["plot", kind, *typed, "--out", str(tmp_path / "one.svg")], capsys)
    assert code == 2
    assert f"{kind} shows errors in time, and these are scores of whole utterances; they have det, roc" in error
    code, _, error = run(["plot", "det", *typed, "--resolution", "20", "--out", str(tmp_path / "one.svg")], capsys)
    assert (code, "--resolution is the length of points in time" in error) == (2, True)


# ---------------------------------------------------------------- the page


@pytest.fixture
def page(typed, tmp_path, capsys):
    """The page of three systems, by attack and codec, with a further measure."""
    rows, _ = drawn()
    header = "utterance,speaker,codec,attack\n"
    (tmp_path / "metadata.csv").write_text(header + "".join(f"{u},{s},{c},{a}\n" for s, u, c, a, _ in rows))
    (tmp_path / "asv.txt").write_text(ASV)
    more = ["-m", "utterance-min-tdcf", "--asv-scores", str(tmp_path / "asv.txt"), "--published"]
    more += ["--metadata", str(tmp_path / "metadata.csv"), "--out", str(tmp_path / "page.html")]
    code, _, error = run(["report", *typed, *more], capsys)
    assert code == 0, error
    return tmp_path / "page.html"


def test_the_page_has_the_numbers_of_eval_and_compare(tmp_path):
    rows, systems = drawn()
    _, scores = in_python(rows, systems)
    protocol = protocol_of(rows)
    speakers = {row[1]: row[0] for row in rows}
    resampling = ss.Resampling(clusters=speakers, clusters_are="speaker")
    codecs = {row[1]: row[2] for row in rows}
    content = page_content(protocol, scores, PageSettings(resampling=resampling, columns={"codec": codecs}))
    compared = ss.compare(protocol, scores, "utterance-eer", clusters=speakers)
    for system in content["systems"]:
        (shown,) = system["measurements"]
        alone = ss.evaluate(protocol, scores[system["name"]], resampling=resampling)["utterance-eer"]
        assert (shown["number"], shown["ends"]) == (alone.value, [alone.interval.low, alone.interval.high])
        assert shown["signature"] == str(alone.signature)
        assert "resolutions" not in system
        attack, codec = system["breakdowns"]
        assert [one["name"] for one in attack["groups"]] == list(ATTACKS)  # of the protocol
        assert [one["name"] for one in codec["groups"]] == list(CODECS)
        for name, column in (("attack", attack), ("codec", codec)):
            values = {row[1]: row[3 if name == "attack" else 2] for row in rows}
            crossed = cross_utterances(protocol, scores[system["name"]], {name: values})
            assert [one["value"] for one in column["groups"]] == [
                crossed[one["name"], "pooled"].value for one in column["groups"]
            ]
        point = alone.point
        wrong = point.false_positive + point.false_negative
        assert sum(one["error"] for one in codec["groups"]) == wrong
        assert sum(one["error"] for one in attack["groups"]) == point.false_negative
        assert f"{point.false_positive} bona fide called spoof" in attack["about"]
        assert (system["curve"]["bona_fide"], system["curve"]["spoof"]) == (80, 160)
    assert {pair["p"] for pair in content["comparison"]["pairs"]} == {one.p_value for one in compared.differences}
    assert [one["system"] for one in content["comparison"]["ranks"]] == [one.system for one in compared.ranks]
    assert content["facts"] == [["utterances", "240"], ["bona fide", "80"], ["spoofed", "160"]]
    assert content["timelines"] == []
    ss.write_report(protocol, scores, tmp_path / "page.html", resampling=resampling)
    assert "<title>Spoof detection: " in (tmp_path / "page.html").read_text("utf-8")


def test_the_page_has_no_empty_sections_and_no_links_to_them(page):
    text = page.read_text("utf-8")
    links = re.findall(r'<a href="#([a-z]+-title)"', text)
    assert links == ["leaderboard-title", "headline-title", "threshold-title", "published-title", "breakdown-title"]
    assert re.findall(r'<h2 id="([a-z]+-title)"', text) == links
    assert f"jackknife-t by speaker ({len(SPEAKERS)} of them" in text
    assert all(words in text for words in ("By attack", "By codec", "Other measures by attack"))
    assert not any(words in text for words in ("By resolution", "bona fide time", 'id="timelines-title"'))


def test_without_columns_nothing_is_broken_down():
    rows, systems = drawn()
    labels, scores = in_python(rows, systems)
    content = page_content(labels, {"a": scores["a"]}, PageSettings())
    assert content["systems"][0]["breakdowns"] == []
    assert "breakdown-title" not in render_page(content)
    assert report_tables(content)["resolutions"] is None


def test_references_name_the_attacks_of_whole_utterances():
    rows, systems = drawn()
    _, scores = in_python(rows, systems)
    ranges = {u: [(0.0, 1.0, label, *([a] if a != "-" else []))] for _, u, _, a, label in rows}
    references = ss.References.from_ranges(ranges)
    content = page_content(references, scores, PageSettings())
    by_protocol = page_content(protocol_of(rows), scores, PageSettings())
    for one, other in zip(content["systems"], by_protocol["systems"], strict=True):
        assert one["breakdowns"] == other["breakdowns"]


def test_a_page_of_whole_utterances_can_be_published(typed, tmp_path, capsys):
    code, _, error = run(["report", *typed, "--timelines", "0", "--out", str(tmp_path / "public.html")], capsys)
    assert code == 0, error
    text = (tmp_path / "public.html").read_text("utf-8")
    assert not re.search(r"\bu\d{3}\b", text)


def test_what_a_page_without_time_cannot_show_is_refused(typed, tmp_path, capsys, demo):
    for flags in (["--audio", str(tmp_path)], ["--timelines", "5"]):
        code, _, error = run(["report", *typed, *flags, "--out", str(tmp_path / "no.html")], capsys)
        assert code == 2
        assert f"{flags[0]} needs scores in time, and these are scores of whole utterances" in error
    code, _, error = run(["report", *typed, "-m", "range-f1", "--out", str(tmp_path / "no.html")], capsys)
    assert (code, "range-f1 needs scores in time" in error) == (2, True)
    references, scores = demo
    whole = UtteranceScores(references.utterances, np.arange(len(references)) * 1.0, higher="bonafide")
    with pytest.raises(ss.UsageError, match="'b' has scores of whole utterances and 'a' has not"):
        page_content(references, {"a": scores, "b": whole}, PageSettings())
    with pytest.raises(ss.UsageError, match="timelines and sound need scores in time"):
        ss.write_report(references, {"b": whole}, tmp_path / "no.html", timelines=3)
    assert not (tmp_path / "no.html").exists()


@pytest.mark.slow
def test_the_threshold_of_the_page_counts_utterances(browser, page):
    with Opened(browser, page) as opened:
        assert opened.said == []
        shown = opened.page.locator("#rates dt").all_inner_texts()
        assert shown == ["FPR", "FNR", "false positives", "false negatives", "precision", "recall", "F1"]
        fnr = float(opened.text("#rate-fnr").removesuffix(" %")) / 100
        assert int(opened.text("#rate-fn")) == round(fnr * 160)
        opened.page.locator("#system").select_option("2")
        assert opened.page.locator(".system-block:visible h3").first.inner_text() == "c"
        for width in (1200, 390):
            opened.page.set_viewport_size({"width": width, "height": 900})
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
@needs_axe
def test_an_accessibility_scan_of_the_page_finds_nothing(browser, page):
    for width, scheme in SCREENS:
        assert_accessible(browser, page, width, scheme)
