"""Ranges of scores and a threshold: instant by instant, and in every file that can hold them."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from command_line import run

import spoofspan as ss
import spoofspan.demo
from spoofspan.formats.registry import PROPOSAL_FORMATS, REFERENCE_FORMATS
from spoofspan.report.figures.utterance_data import called_timeline_data
from spoofspan.report.page.rendering import unpacked
from spoofspan.report.page.scores_page import ScoresPageSettings, scores_page

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
MS = 1_000_000


def drawn(seed, higher):
    """Ranges of whole milliseconds, some with gaps between them."""
    rng = np.random.default_rng(seed)
    ranges = {}
    for name in ("u1", "u2"):
        edges = np.sort(rng.choice(np.arange(1, 400), 24, replace=False))
        kept = [(a, b) for a, b in pairwise(edges) if rng.random() < 0.8]
        ranges[name] = [(a / 1000, b / 1000, float(rng.integers(-3, 4))) for a, b in kept]
    return ss.Scores.from_ranges(ranges, higher=higher)


def by_instants(ranges, threshold, higher, shortest, widest):
    """What every millisecond is called: each is looked at alone, then gaps are filled and short runs dropped."""
    called = np.full(400, -1)
    for start, end, score in ranges:
        spoof = score > threshold if higher == "spoof" else score < threshold
        called[round(start * 1000) : round(end * 1000)] = spoof
    spoof = np.flatnonzero(called == 1)
    if spoof.size:
        for a, b in pairwise(spoof):
            if b - a - 1 <= widest:
                called[a : b + 1] = 1
    runs = np.flatnonzero(np.diff(np.concatenate(([0], called == 1, [0]))))
    for a, b in zip(runs[::2], runs[1::2], strict=True):
        if b - a < shortest:
            scored = np.zeros(400, bool)
            for start, end, _ in ranges:
                scored[round(start * 1000) : round(end * 1000)] = True
            called[a:b] = np.where(scored[a:b], 0, -1)
    return called


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
@pytest.mark.parametrize(("shortest", "widest"), [(0, 0), (20, 0), (0, 15), (30, 8)])
def test_every_instant_is_called_what_its_score_says(seed, higher, shortest, widest):
    scores = drawn(seed, higher)
    called = ss.called_ranges(scores, 0.5, min_duration=shortest / 1000, merge_gap=widest / 1000)
    for utterance, ranges in scores.items():
        expected = by_instants(ranges, 0.5, higher, shortest, widest)
        found = np.full(400, -1)
        for start, end, label in called[utterance]:
            assert (found[round(start * 1000) : round(end * 1000)] == -1).all()
            found[round(start * 1000) : round(end * 1000)] = label == "spoof"
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("hop", [0.02, 0.64])
def test_called_ranges_have_the_errors_of_the_threshold(hop):
    corpus = ss.demo.load()
    scores = corpus.systems[hop]
    called = ss.called_ranges(scores, 0.387, durations=corpus.references)
    decisions = ss.Scores.from_decisions({utt: [row[:3] for row in rows] for utt, rows in called.items()})
    expected = ss.error_curve(corpus.references, scores).at(0.387)
    found = ss.error_curve(corpus.references, decisions).at(0.5)
    names = ("false_positive", "false_negative", "bona_fide", "spoof")
    assert [getattr(found, name) for name in names] == [getattr(expected, name) for name in names]


@pytest.fixture(scope="module")
def scores():
    return ss.demo.load().systems[0.02].take(np.arange(80, 92))


@pytest.fixture
def convert(scores, tmp_path, capsys):
    ss.write_scores(scores, tmp_path / "s.parquet")
    return lambda *arguments: run(["convert", tmp_path / "s.parquet", *arguments], capsys)


@pytest.mark.parametrize("name", ["found.rttm", "found.parquet", "found.jsonl", "found.tsv"])
def test_convert_writes_what_python_calls(convert, scores, name, tmp_path):
    options = ["--threshold", "0.387", "--smoothing", "3", "--min-duration", "0.1", "--merge-gap", "0.04"]
    code, said = convert(tmp_path / name, *options)
    assert code == 0, said.err
    called = ss.called_ranges(scores, 0.387, smoothing=3, min_duration=0.1, merge_gap=0.04)
    assert "spoof iff score < 0.387: " in said.err
    again = ss.read_references(tmp_path / name)
    assert list(again) == list(called)
    assert all(again[utt] == called[utt] for utt in called)


@pytest.mark.parametrize("name", ["found.json", "found.csv", "found.csv.gz"])
def test_convert_writes_what_python_proposes(convert, scores, name, tmp_path):
    code, said = convert(tmp_path / name, "--threshold", "0.387")
    assert code == 0, said.err
    again, made = ss.read_proposals(tmp_path / name), ss.proposals_from_scores(scores, 0.387)
    assert again.utterances == made.utterances
    for column in ("offsets", "starts", "ends", "confidences"):
        np.testing.assert_array_equal(getattr(again, column), getattr(made, column))


@pytest.mark.parametrize(("to", "suffix"), [("audacity", ".txt"), ("textgrid", ".TextGrid"), ("vad", ".vad")])
def test_a_folder_has_a_file_for_each_utterance(convert, scores, to, suffix, tmp_path):
    arguments = (f"{tmp_path}/labels/", "--to", to, "--threshold", "0.387")
    assert convert(*arguments)[0] == 0
    assert len(list((tmp_path / "labels").glob(f"*{suffix}"))) == 12
    again = ss.read_references(tmp_path / "labels", format=to)
    called = ss.called_ranges(scores, 0.387)
    assert all(again[utt] == called[utt] for utt in called)
    code, said = convert(*arguments)
    assert (code, "exists" in said.err) == (2, True)
    assert convert(*arguments, "--force")[0] == 0


def test_what_cannot_be_is_said(convert, tmp_path):
    def said(*arguments):
        code, printed = convert(*arguments)
        assert code == 2
        return printed.err

    assert "give --threshold too" in said(tmp_path / "a.rttm", "--smoothing", "3")
    assert "references are ranges already" in said(tmp_path / "a.rttm", "--threshold", "0.3", "--kind", "references")
    assert "one file for all utterances" in said(f"{tmp_path}/a/", "--to", "rttm", "--threshold", "0.3")
    assert "write a folder of them (OUT/)" in said(tmp_path / "a.TextGrid", "--threshold", "0.3")
    assert "--threshold nan: must be a number" in said(tmp_path / "a.rttm", "--threshold", "nan")
    assert "is it of the other polarity? 0.99 would call" in convert(tmp_path / "a.rttm", "--threshold", "-0.99")[1].err


def test_a_table_of_proposals_names_what_is_wrong(tmp_path):
    bad = tmp_path / "p.csv"
    bad.write_text("utterance,start,end,confidence\nu1,0.5,0.2,0.9\nu1,-1,1.0,0.9\n")
    with pytest.raises(ss.DataError) as error:
        ss.read_proposals(bad)
    assert "p.csv:2, utterance 'u1': ends before it starts (0.5 > 0.2)" in str(error.value)
    assert "p.csv:3, utterance 'u1': starts before 0 (-1.0)" in str(error.value)
    bad.write_text("utterance,start,end,confidence\nu1,x,1.0,0.9\nu2,0.1\n")
    with pytest.raises(ss.DataError) as error:
        ss.read_proposals(bad)
    assert "p.csv:2, utterance 'u1': start 'x' cannot be read" in str(error.value)
    assert "p.csv:3, utterance 'u2': 2 cells, the header has 4" in str(error.value)


def test_formats_of_files_by_utterance_are_those_that_say_so():
    per_file = {name for name, one in REFERENCE_FORMATS.formats.items() if one.write_files is not None}
    assert per_file == {"vad", "audacity", "textgrid", "lab"}
    assert all(one.write_files is None for one in PROPOSAL_FORMATS.formats.values())


# ---------------------------------------------------------------- seen without references


def page_data(page):
    text = page.partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    return json.loads(text)


def test_a_page_without_references_has_the_scores_and_the_threshold(scores, tmp_path, capsys):
    for name, system in (("a", scores), ("b", replace(scores, values=-scores.values, higher="spoof"))):
        ss.write_scores(system, tmp_path / f"{name}.parquet")
    words = ["report", tmp_path / "a.parquet", tmp_path / "b.parquet", "--threshold", "0.387", "--min-duration", "0.1"]
    code, said = run([*words, "--out", tmp_path / "page.html"], capsys)
    assert code == 0, said.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    data = page_data(page)
    assert data["labelled"] is False
    curve = data["systems"][0]["curve"]
    thresholds, shares = unpacked(curve["thresholds"]), unpacked(curve["false_positive_rates"])
    assert thresholds[curve["start"]] == 0.387
    time = np.full(scores.values.size, 20)
    expected = [time[scores.values < at].sum() / time.sum() for at in thresholds]
    np.testing.assert_allclose(shares, expected, atol=1e-12)
    called = ss.proposals_from_scores(scores, 0.387, min_duration=0.1)
    assert page.count("<tr>") >= called.starts.size
    lasting = {utt: sum(end - start for start, end, _ in called[utt]) for utt in called}
    shown = [one["id"] for one in data["timelines"]]
    assert sorted(shown) == sorted(scores.utterances)
    assert [round(lasting[utt], 6) for utt in shown] == sorted(
        (round(one, 6) for one in lasting.values()), reverse=True
    )
    first = data["timelines"][0]
    np.testing.assert_array_equal(unpacked(first["scores"]["0"]["values"]), scores[first["id"]])


def test_ids_on_a_page_without_references_are_escaped(tmp_path):
    hostile = "</script><img src=x onerror=alert(1)>"
    scores = ss.Scores.from_frames({hostile: [0.1, 0.9]}, hop=0.02, higher="spoof")
    page = scores_page({hostile: scores}, ScoresPageSettings(hostile, {hostile: 0.5}))
    assert "<img" not in page
    assert page_data(page)["timelines"][0]["id"] == hostile


def test_a_timeline_without_references_shows_what_is_called(scores):
    utterance = scores.utterances[0]
    data = called_timeline_data(scores, utterance, 0.387, smoothing=5)
    called = ss.called_ranges(scores, 0.387, smoothing=5)[utterance]
    assert [(one.start, one.end, one.label) for one in data.decision] == [row[:3] for row in called]
    assert (data.reference, data.outcomes, data.errors) == ((), (), ())
    np.testing.assert_array_equal(data.scores, scores[utterance])


def test_plot_draws_a_timeline_without_references(scores, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib, which draws, is not installed")
    ss.write_scores(scores, tmp_path / "s.parquet")
    words = ["plot", "timeline", tmp_path / "s.parquet", "--utterance", scores.utterances[0], "--threshold", "0.3"]
    assert run([*words, "--smoothing", "3", "--out", tmp_path / "t.svg"], capsys)[0] == 0
    drawn = (tmp_path / "t.svg").read_text(encoding="utf-8")
    assert "<svg" in drawn
    code, said = run([*words[:3], "--threshold", "0.3", "--out", tmp_path / "u.svg"], capsys)
    assert (code, "give --utterance, such as" in said.err) == (2, True)
