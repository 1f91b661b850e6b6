"""A stranger's notebook: what a cell ends with shows itself, tables go in and out, numbers are numbers."""

import copy
import pickle
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import spoofspan as ss
import spoofspan.demo
from spoofspan.evaluation.signature import references_hash, scores_hash

NOTEBOOK = """
import numpy as np, pandas as pd, spoofspan as ss, spoofspan.demo
demo = spoofspan.demo.load()
ref, scores = demo.references, demo.systems[0.02]
ref
scores
len(ref), list(ref)[0] in ref
utterance = list(ref)[0]
ref[utterance]
scores[utterance][:4]
m = ss.range_eer(ref, scores)
m
float(m)
f"{m:.2%}"
m < ss.range_eer(ref, demo.systems[0.64])
found = ss.evaluate(ref, scores)
found
ss.evaluate(ref, scores, "range-f1")
found.to_pandas()
frame = ref.to_pandas()
again = ss.References.from_table(frame)
ss.range_eer(again, scores, snap=ref.snap / 1e9)
comparison = ss.compare(ref, {"fine": scores, "coarse": demo.systems[0.64]})
comparison
comparison.to_pandas()
table = ss.resolution_table(ref, {0.02: scores}, [0.02, 0.04])
table
table.to_pandas()
ss.errors_by_utterance(ref, scores, m.threshold)
ss.error_curve(ref, scores).at(m.threshold)
ss.write_references(ref, "labels.parquet")
ss.read_references("labels.parquet")
""".strip().splitlines()


class Tags(HTMLParser):
    """Whether every tag that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def corpus():
    return spoofspan.demo.load()


def test_a_strangers_notebook_runs_without_a_surprise(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(NOTEBOOK) <= 31
    names: dict[str, object] = {}
    shown = {}
    for line in NOTEBOOK:
        try:
            value = eval(line, names)
        except SyntaxError:
            exec(line, names)
            continue
        shown[line] = value
        assert len(repr(value)) < 1000, line
        if hasattr(value, "_repr_html_"):
            tags = Tags()
            tags.feed(value._repr_html_())
            assert not tags.open
    assert shown["float(m)"] == names["m"].value
    assert shown['f"{m:.2%}"'] == "5.21%"
    assert shown["m < ss.range_eer(ref, demo.systems[0.64])"]
    assert list(shown["found"]) == ["range-eer", "point-eer@20ms", "utterance-eer"]
    assert references_hash(shown['ss.read_references("labels.parquet")']) == references_hash(names["ref"])
    own = [one for one in shown.values() if type(one).__module__.startswith("spoofspan")]
    assert all(hasattr(one, "_repr_html_") for one in own if not isinstance(one, ss.OperatingPoint))


# ---------------------------------------------------------------- tables


def from_pandas(table):
    return table.to_pandas()


FRAMES = {"arrow": lambda table: table, "pandas": from_pandas, "polars": pl.from_arrow}


@pytest.mark.parametrize("library", FRAMES)
def test_references_and_scores_go_out_and_come_back(corpus, library):
    references, scores = corpus.references, corpus.systems[0.16]
    frame = FRAMES[library](references.to_arrow())
    assert isinstance(frame, {"arrow": pa.Table, "pandas": pd.DataFrame, "polars": pl.DataFrame}[library])
    assert references_hash(ss.References.from_table(frame)) == references_hash(references)
    back = ss.Scores.from_table(FRAMES[library](scores.to_arrow()), hop=0.16, higher=scores.higher)
    assert scores_hash(back) == scores_hash(scores)


def test_the_three_libraries_get_the_same_rows(corpus):
    found = ss.evaluate(corpus.references, corpus.systems[0.02], ["range-eer", "range-f1"])
    rows = found.to_rows()
    assert [row["value"] for row in rows] == [found["range-eer"].value, found["range-f1"].value]
    assert [row["comparable"] for row in rows] == [m.signature.comparable for m in found.measurements.values()]
    assert found.to_arrow().to_pylist() == rows
    assert found.to_polars().to_dicts() == rows
    assert found.to_pandas()["value"].tolist() == [row["value"] for row in rows]


def test_results_are_tables(corpus):
    references, fine, coarse = corpus.references, corpus.systems[0.02], corpus.systems[0.64]
    comparison = ss.compare(references, {"fine": fine, "coarse": coarse})
    row = comparison.to_arrow().to_pylist()[0]
    assert row["difference"] == comparison["fine", "coarse"].value
    assert row["better"] == "fine"
    table = ss.resolution_table(references, {0.02: fine}, [0.04])
    only = table.to_arrow().to_pylist()[0]
    assert only["floor"] == ss.best_possible(references, 0.02).value
    assert ss.range_eer(references, fine).value in only.values()
    assert ss.point_eer(references, fine, 0.04).value in only.values()
    errors = ss.errors_by_utterance(references, fine, 0.0)
    rows = errors.to_rows()
    assert [one["utterance"] for one in rows] == list(errors.utterances)
    assert [one["spoof_seconds"] for one in rows] == (errors.spoof / 1e9).tolist()
    assert sum(one["recall"] is None for one in rows) == np.isnan(errors.recall).sum()


def test_results_are_stored_with_their_signatures_and_without_the_corpus(corpus):
    references, fine, coarse = corpus.references, corpus.systems[0.02], corpus.systems[0.64]
    found = ss.evaluate(references, fine, ["range-eer", "range-f1", "event-f1", "utterance-eer"], confidence=0.9)
    again = pickle.loads(pickle.dumps(found))
    assert again.to_dict() == found.to_dict()
    assert str(again) == str(found)
    assert again["range-eer"] < ss.range_eer(references, coarse)
    table = ss.resolution_table(references, {0.02: fine}, [0.04])
    assert pickle.loads(pickle.dumps(table)).to_dict() == table.to_dict()
    comparison = ss.compare(references, {"fine": fine, "coarse": coarse})
    assert pickle.loads(pickle.dumps(comparison)).signatures == comparison.signatures
    for result in (ss.range_eer(references, fine), ss.bisection_eer(references, fine), comparison, table):
        assert len(pickle.dumps(copy.copy(result))) < fine.values.nbytes / 5


# ---------------------------------------------------------------- a corpus as a mapping


def test_a_corpus_is_a_mapping_of_what_it_was_made_of():
    ranges = {"u1": [(0.0, 1.2, "bonafide"), (1.2, 2.0, "spoof", "A07")], "u2": [(0.0, 0.5, "nonspeech")], "u3": []}
    references = ss.References.from_ranges(ranges, durations={"u1": 2.0, "u2": 0.5, "u3": 1.0})
    assert references["u1"] == [(0.0, 1.2, "bonafide", None), (1.2, 2.0, "spoof", "A07")]
    assert references["u2"] == ranges["u2"]
    assert references["u3"] == []
    assert (len(references), list(references), "u2" in references, "u4" in references) == (3, [*ranges], True, False)
    again = ss.References.from_ranges(dict(references), durations={"u1": 2.0, "u2": 0.5, "u3": 1.0})
    assert references_hash(again) == references_hash(references)
    frames = ss.Scores.from_frames({"u1": [0.9, -0.4], "u2": [0.1]}, hop=0.02, higher="bonafide")
    assert frames["u1"].tolist() == [0.9, -0.4]
    runs = {"u1": [(0.0, 0.7, 0.9), (0.7, 2.0, -0.4)]}
    assert dict(ss.Scores.from_ranges(runs, higher="spoof").items()) == runs
    assert dict(ss.Proposals.from_ranges(runs)) == runs
    assert ss.UtteranceScores(("u1", "u2"), np.array([0.9, -0.4]), "spoof")["u2"] == -0.4
    with pytest.raises(ss.UsageError, match="no utterance is called 'u4'; did you mean 'u"):
        references["u4"]


def test_what_a_notebook_shows_is_escaped():
    references = ss.References.from_ranges({"<script>": [(0.0, 1.0, "spoof")]})
    assert "<script>" not in references._repr_html_()
    assert "&lt;script&gt;" in references._repr_html_()


# ---------------------------------------------------------------- measurements are numbers


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_measurements_are_compared_only_where_their_signatures_allow_it(corpus):
    references = corpus.references
    fine, coarse = (ss.range_eer(references, corpus.systems[hop]) for hop in (0.02, 0.64))
    assert fine < coarse
    assert fine <= coarse
    assert coarse > fine
    assert coarse >= fine
    assert sorted([coarse, fine]) == [fine, coarse]
    assert fine < 0.06 < coarse
    for other in (
        ss.point_eer(references, corpus.systems[0.64], 0.02),
        ss.range_eer(references, corpus.systems[0.64], collar=0.01),
        ss.range_eer(references.take(np.arange(80)), corpus.systems[0.64], partial=True),
    ):
        with pytest.raises(ss.UsageError, match="may not be compared: their signatures differ in"):
            _ = fine < other


def test_a_string_is_one_measure_and_none_are_those_of_the_command(corpus):
    references, scores = corpus.references, corpus.systems[0.04]
    assert list(ss.evaluate(references, scores, "range-f1")) == ["range-f1"]
    assert list(ss.evaluate(references, scores)) == ss.default_measures(scores)
    one = ss.References.from_ranges({"u1": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]})
    few = ss.Scores.from_frames({"u1": [0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]}, hop=0.02, higher="bonafide")
    with pytest.warns(ss.SpoofspanWarning, match="utterance-eer is left out: "):
        assert list(ss.evaluate(one, few)) == ["range-eer", "point-eer@20ms"]


# ---------------------------------------------------------------- what people mix up


@pytest.mark.parametrize("measure", [ss.range_eer, ss.evaluate, ss.overlay, ss.error_curve, ss.bisection_eer])
def test_swapped_arguments_dicts_and_paths_are_named(corpus, measure):
    references, scores = corpus.references, corpus.systems[0.02]
    for given, said in (
        ((scores, references), "references come first, then scores; these are swapped"),
        ((references, dict(scores)), "scores of frames do not say how long a frame is .*, nor what high scores mean"),
        ((Path("ref.rttm"), scores), "there is no file or folder 'ref.rttm'"),
        ((references, references), "scores must be Scores, not References"),
        ((references, [0.1, 0.2]), r"not a list: Scores.from_frames\({utterance: ...}, hop"),
    ):
        with pytest.raises(ss.UsageError, match=said):
            measure(*given)


# ---------------------------------------------------------------- names


def test_what_is_written_is_read_back(corpus, tmp_path):
    references, scores = corpus.references, corpus.systems[0.64]
    ss.write_references(references, tmp_path / "labels.rttm", durations=tmp_path / "reco2dur")
    assert ss.read_durations(tmp_path / "reco2dur").keys() == set(references)
    assert len(ss.read_references(tmp_path / "labels.rttm", durations=tmp_path / "reco2dur")) == len(references)
    ss.write_scores(scores, tmp_path / "scores.npz")
    assert scores_hash(ss.read_scores(tmp_path / "scores.npz", hop=0.64, higher=scores.higher)) == scores_hash(scores)
    with pytest.raises(ss.UsageError, match="exists"):
        ss.write_scores(scores, tmp_path / "scores.npz")
    ss.write_scores(scores, tmp_path / "scores.npz", force=True)


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_the_report_and_the_figures_are_at_hand(corpus, tmp_path):
    few = corpus.references.take(np.arange(0, 160, 8))
    resampling = ss.Resampling(replicates=20)
    page = tmp_path / "page.html"
    ss.write_report(few, corpus.systems[0.64], page, title="Mine", resampling=resampling, timelines=2, partial=True)
    assert "<title>Mine</title>" in page.read_text(encoding="utf-8")
    assert {"det", "roc", "timeline", "heatmap"} <= set(dir(ss.plot))
