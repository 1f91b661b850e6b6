"""Files that people have lying around: other words for columns, TextGrids, lists of ranges, scores of sound events."""

import json

import numpy as np
import pytest
from command_line import run

import spoofspan as ss

LONG = """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 2.5
tiers? <exists>
size = 3
item []:
    item [1]:
        class = "IntervalTier"
        name = "words"
        xmin = 0
        xmax = 2.5
        intervals: size = 1
        intervals [1]:
            xmin = 0
            xmax = 2.5
            text = "he said ""no"" 3 times"
    item [2]:
        class = "IntervalTier"
        name = "spoof"
        xmin = 0
        xmax = 2.5
        intervals: size = 3
        intervals [1]:
            xmin = 0
            xmax = 1.25
            text = "bonafide"
        intervals [2]:
            xmin = 1.25
            xmax = 1.75
            text = "A07"
        intervals [3]:
            xmin = 1.75
            xmax = 2.5
            text = ""
    item [3]:
        class = "TextTier"
        name = "clicks"
        xmin = 0
        xmax = 2.5
        points: size = 1
        points [1]:
            number = 0.3
            mark = "spoof"
"""
SHORT = """"ooTextFile"
"TextGrid"
0
2.5
<exists>
1
"IntervalTier" "spoof" 0 2.5 3
0 1.25 "bonafide"
1.25 1.75 "A07"  ! a comment with 1 "number"
1.75 2.5 ""
"""


@pytest.mark.parametrize("content", [LONG, SHORT], ids=["long", "short"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_textgrid_has_its_labels_in_one_tier_and_its_end(content, encoding, tmp_path):
    path = tmp_path / "u1.TextGrid"
    path.write_bytes(content.encode(encoding))
    found = ss.read_references(path)
    assert found.utterances == ("u1",)
    assert (found.starts.tolist(), found.ends.tolist()) == ([0, 1_250_000_000], [1_250_000_000, 1_750_000_000])
    assert (found.labels.tolist(), found.attack_names) == ([0, 1], ("A07",))
    assert found.durations.tolist() == [2_500_000_000]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (SHORT[:60], "truncated"),
        (SHORT.replace('"A07"', '"banana"'), r"0 interval tiers \(of 'spoof'\)"),
        (SHORT.replace("<exists>\n1\n", "<exists>\n2\n") + SHORT.partition("1\n")[2], "2 interval tiers"),
        (SHORT.replace("1.75 2.5", "1.75 x"), "truncated"),
    ],
)
def test_what_is_wrong_with_a_textgrid_is_said_with_its_file(content, message, tmp_path):
    path = tmp_path / "u1.TextGrid"
    path.write_text(content)
    with pytest.raises(ss.DataError, match=message) as refused:
        ss.read_references(path)
    assert "u1.TextGrid" in str(refused.value)


# ---------------------------------------------------------------- columns as people name them

ROWS = [("a", 0.0, 1.0, 0.1), ("a", 1.0, 2.0, 0.9), ("b", 0.0, 2.0, 0.3)]


def written(path, names, separator=",", rows=ROWS):
    path.write_text("".join(separator.join(map(str, row)) + "\n" for row in [names, *rows]))
    return path


@pytest.mark.parametrize(
    ("names", "higher"),
    [
        (("filename", "start_time", "end_time", "prob_fake"), "spoof"),
        (("file", "onset", "offset", "spoof_score"), "spoof"),
        (("File_Name", "Start_Time", "End_Time", "P_bonafide"), "bonafide"),
    ],
)
def test_columns_with_other_names_are_read_and_say_what_high_scores_mean(names, higher, tmp_path):
    found = ss.read_scores(written(tmp_path / "scores.csv", names))
    plain = written(tmp_path / "plain.csv", ("utterance", "start", "end", "score"))
    expected = ss.read_scores(plain, higher=higher)
    assert found.higher == higher
    assert found.values.tolist() == expected.values.tolist()
    assert (found.starts.tolist(), found.utterances) == (expected.starts.tolist(), expected.utterances)
    with pytest.raises(ss.UsageError, match="higher"):
        ss.read_scores(tmp_path / "scores.csv", higher="spoof" if higher == "bonafide" else "bonafide")


def test_many_rows_with_other_names_are_read_alike_in_pieces(tmp_path, monkeypatch):
    from spoofspan.formats.tables import csv_files

    monkeypatch.setattr(csv_files, "BYTES_AT_ONCE", 64)
    rows = [(f"u{i}", 0.0, 1.0, i / 7) for i in range(50)]
    found = ss.read_scores(written(tmp_path / "a.csv", ("filename", "start_time", "end_time", "prob_fake"), rows=rows))
    assert found.values.tolist() == [i / 7 for i in range(50)]


def test_two_words_for_one_column_are_refused_with_what_is_wanted(tmp_path):
    path = written(tmp_path / "a.csv", ("filename", "file", "end_time", "score"))
    with pytest.raises(ss.DataError, match="no column 'utterance'"):
        ss.read_scores(path, format="csv", higher="spoof")


def test_a_list_of_events_as_dcase_writes_it_is_references(tmp_path):
    path = written(tmp_path / "a.tsv", ("filename", "onset", "offset", "event_label"), "\t", [("a", 1.0, 2.0, "fake")])
    found = ss.read_references(path, durations={"a": 3.0})
    assert (found.starts.tolist(), found.ends.tolist(), found.labels.tolist()) == ([10**9], [2 * 10**9], [1])


# ---------------------------------------------------------------- scores of sound event detection


def test_scores_of_sound_events_are_ranges_of_the_class_that_is_spoof(tmp_path):
    for name, values in (("a", [0.1, 0.9]), ("b", [0.2, 0.3])):
        rows = [(0.5 * k, 0.5 * (k + 1), 1 - value, value) for k, value in enumerate(values)]
        written(tmp_path / f"{name}.tsv", ("onset", "offset", "speech", "fake"), "\t", rows)
    found = ss.read_scores(tmp_path, format="sed-scores")
    assert (found.utterances, found.values.tolist(), found.higher) == (("a", "b"), [0.1, 0.9, 0.2, 0.3], "spoof")
    np.testing.assert_array_equal(found.ends, [5e8, 1e9, 5e8, 1e9])
    assert ss.read_scores(tmp_path / "a.tsv", column="speech").values.tolist() == [0.9, 0.09999999999999998]
    with pytest.raises(ss.UsageError, match="no column 'spoof': "):
        ss.read_scores(tmp_path / "a.tsv", column="spoof")
    written(tmp_path / "c.tsv", ("onset", "offset", "dog", "cat"), "\t", [(0, 1, 0.5, 0.5)])
    with pytest.raises(ss.UsageError, match="which of dog, cat has the scores"):
        ss.read_scores(tmp_path / "c.tsv")


# ---------------------------------------------------------------- ranges as JSON


def test_ranges_without_confidence_are_references_or_decisions(tmp_path, capsys):
    (tmp_path / "labels.json").write_text(json.dumps({"a": [[1, 2.0]], "b": []}))
    (tmp_path / "said.json").write_text(json.dumps({"a": [[1.5, 2.5]], "b": []}))
    (tmp_path / "reco2dur").write_text("a 4\nb 4\n")
    files = [tmp_path / "labels.json", tmp_path / "said.json", "--durations", tmp_path / "reco2dur"]
    rules = ["--gaps", "bonafide", "--uncovered", "bonafide"]
    code, said = run(["eval", *files, *rules, "-m", "range-f1", "-m", "range-fpr", "--format", "json"], capsys)
    assert code == 0
    assert [one["value"] for one in json.loads(said.out)["measurements"]] == [0.5, 0.5 / 7]
    # an EER needs scores
    code, said = run(["eval", *files, *rules], capsys)
    assert code == 4
    assert "hard decisions" in said.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": [[1.0, 2.0], [3.0]]}', r"'a': \[start, end\] in seconds was expected, not"),
        ('{"a": [[1.0, 2.0]], "a": [[3.0, 4.0]]}', "listed a second time"),
        ('{"a": [[2.0, 1.0]]}', "ends before it starts"),
        ('{"a": [[1.0, 2.0]', "truncated"),
        ('{"a": [[1.0, 2.0], ["x", 2.0]]}', "cannot be read"),
    ],
)
def test_json_of_ranges_that_is_none_is_refused(content, message, tmp_path):
    (tmp_path / "labels.json").write_text(content)
    with pytest.raises(ss.DataError, match=message):
        ss.read_references(tmp_path / "labels.json", format="json-ranges")
