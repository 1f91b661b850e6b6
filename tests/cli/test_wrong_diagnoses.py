"""A refusal blames what is wrong: an empty array is no millisecond, and a frame number is no second."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from command_line import run

import spoofspan as ss

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
LENGTHS = {"u1": 0.8, "u2": 2.42, "u3": 1.5, "u4": 3.0}
RANGES = {utt: [(0.0, length / 2, "bonafide"), (length / 2, length, "spoof")] for utt, length in LENGTHS.items()}


@pytest.fixture
def references():
    return ss.References.from_ranges(RANGES, durations=LENGTHS)


@pytest.fixture
def scores():
    return ss.Scores.from_frames({utt: scored(length) for utt, length in LENGTHS.items()}, hop=0.02, higher="bonafide")


def scored(length):
    return np.linspace(1, 0, round(length / 0.02))


def in_frames(frame):
    """The same ranges, with the numbers of frames in the place of seconds."""
    return {utt: [(round(s / frame), round(e / frame), label) for s, e, label in rows] for utt, rows in RANGES.items()}


def test_empty_arrays_of_scores_are_called_empty(references, tmp_path, capsys):
    empty = ss.Scores.from_frames({utt: np.zeros(0) for utt in LENGTHS}, hop=0.02, higher="bonafide")
    ranges = ss.Scores.from_ranges({utt: [] for utt in LENGTHS}, higher="bonafide")
    for scores in (empty, ranges):
        for measure in (lambda s: ss.range_eer(references, s), lambda s: ss.point_eer(references, s, 0.02)):
            with pytest.raises(ss.DataError, match="4 of 4 utterances have no scores at all") as caught:
                measure(scores)
            assert "milliseconds" not in str(caught.value)
    ss.write_references(references, tmp_path / "ref.parquet")
    np.savez(tmp_path / "scores.npz", **{utt: np.zeros(0) for utt in LENGTHS})
    told = ["--hop", "0.02", "--higher", "bonafide", "-m", "range-eer"]
    for more in ([], ["--stream"]):
        code, printed = run(["eval", tmp_path / "ref.parquet", tmp_path / "scores.npz", *told, *more], capsys)
        assert code == 3
        assert "have no scores at all" in printed.err
        assert "milliseconds" not in printed.err


def test_one_empty_array_is_called_empty(references):
    frames = {utt: scored(length) if utt != "u4" else np.zeros(0) for utt, length in LENGTHS.items()}
    with pytest.raises(ss.DataError, match="utterance 'u4' has no scores at all") as caught:
        ss.range_eer(references, ss.Scores.from_frames(frames, hop=0.02, higher="bonafide"))
    assert "check hop" not in str(caught.value)


@pytest.mark.parametrize("place", ["references", "scores"])
def test_a_result_is_not_taken_for_labels_or_scores(references, scores, tmp_path, capsys, place):
    paths = {"references": tmp_path / "ref.parquet", "scores": tmp_path / "scores.parquet"}
    ss.write_references(references, paths["references"])
    ss.write_scores(scores, paths["scores"])
    result = tmp_path / "result.json"
    code, printed = run(["eval", *paths.values(), "--out", result], capsys)
    assert code == 0
    paths[place] = result
    code, printed = run(["eval", *paths.values()], capsys)
    assert code == 2
    assert f"looks like results of spoofspan (spoofspan eval --format json), not {place}" in printed.err
    assert f"spoofspan verify {result} REFERENCES SCORES" in printed.err


def test_metadata_of_other_utterances_are_named(references, scores):
    with pytest.raises(ss.DataError, match="name none of the utterances: they have 'nobody', the references 'u1'"):
        ss.evaluate(references, scores, "range-eer", by={"speaker": {"nobody": "s"}, "codec": {"nobody": "c"}})


def test_a_wrong_name_of_the_package_names_the_right_one():
    for wrong, right in (
        ("range_err", "range_eer"),
        ("RangeEER", "range_eer"),
        ("compute_eer", "eer"),
        ("bootstrap", None),
    ):
        with pytest.raises(AttributeError) as caught:
            getattr(ss, wrong)
        assert right is None or f"did you mean {right!r}?" in str(caught.value)


def test_a_few_empty_utterances_do_not_hide_a_wrong_hop(references):
    frames = {utt: scored(length) if utt != "u4" else np.zeros(0) for utt, length in LENGTHS.items()}
    with pytest.raises(ss.DataError, match=r"20 ms would fit 3 of 3 utterances; give hop=0\.02"):
        ss.range_eer(references, ss.Scores.from_frames(frames, hop=0.01, higher="bonafide"))


def test_utterances_without_a_range_say_nothing_of_the_unit():
    listed = {"u1": [(0.0, 0.2, "spoof")]} | {f"b{i}": [] for i in range(20)}
    references = ss.References.from_ranges(listed, durations=dict.fromkeys(listed, 2.0))
    scores = ss.Scores.from_frames(dict.fromkeys(listed, np.linspace(0, 1, 100)), hop=0.02, higher="bonafide")
    with pytest.raises(ss.DataError, match="state what they are with gaps=") as caught:
        ss.range_eer(references, scores)
    assert "milliseconds" not in str(caught.value)


@pytest.mark.parametrize("frame", [0.01, 0.02])
def test_references_in_frames_are_not_blamed_on_the_hop(frame, scores):
    said = f"look like frames of {1000 * frame:g} ms"
    with pytest.raises(ss.DataError, match=said) as caught:
        ss.range_eer(ss.References.from_ranges(in_frames(frame)), scores)
    assert str(caught.value).index(said) < str(caught.value).index("give hop=")
    with pytest.raises(ss.DataError, match=f"times of the references {said}"):
        ss.range_eer(ss.References.from_ranges(in_frames(frame), durations=LENGTHS), scores)
    durations = {utt: round(length / frame) for utt, length in LENGTHS.items()}
    with pytest.raises(ss.DataError, match=f"durations {said}"):
        ss.range_eer(ss.References.from_ranges(RANGES, durations=durations), scores)


def test_a_hop_of_a_second_is_still_found():
    references = ss.References.from_ranges({"u1": [(0.0, 20.3, "bonafide"), (20.3, 40.7, "spoof")]})
    scores = ss.Scores.from_frames({"u1": np.linspace(1, 0, 41)}, hop=0.02, higher="bonafide")
    with pytest.raises(ss.DataError, match=r"1000 ms would fit 1 of 1 utterances; give hop=1$"):
        ss.range_eer(references, scores)


@pytest.mark.parametrize(("unit", "name"), [(0.02, "frames of 20 ms"), (0.001, "milliseconds")])
def test_ranges_of_scores_in_another_unit_are_refused(unit, name, references):
    ranges = {utt: [(0, round(length / unit / 2), 0.9), (round(length / unit / 2), round(length / unit), 0.1)]
              for utt, length in LENGTHS.items()}  # fmt: skip
    with pytest.raises(ss.DataError, match=f"times of the scores look like {name}"):
        ss.range_eer(references, ss.Scores.from_ranges(ranges, higher="bonafide"))


def test_one_score_for_all_time_may_last_longer_than_the_utterance(references):
    scores = ss.Scores.from_ranges({utt: [(0.0, 1000.5, i)] for i, utt in enumerate(LENGTHS)}, higher="bonafide")
    assert ss.range_eer(references, scores).utterances == 4


def test_labels_in_the_place_of_scores_are_called_labels(references, tmp_path, capsys):
    ss.write_references(references, tmp_path / "ref.parquet")
    words = {utt: ["bonafide"] * round(length / 0.02) for utt, length in LENGTHS.items()}
    (tmp_path / "labels.pkl").write_bytes(pickle.dumps(words))
    told = ["--hop", "0.02", "--higher", "bonafide"]
    code, printed = run(["eval", tmp_path / "ref.parquet", tmp_path / "labels.pkl", *told], capsys)
    assert code == 3
    assert "these are words such as 'bonafide': labels belong to the references" in printed.err


# ---------------------------------------------------------------- Hugging Face


def saved_to_disk(folder, table):
    """What ``Dataset.save_to_disk`` writes."""
    pa = pytest.importorskip("pyarrow")
    folder.mkdir(parents=True)
    data = folder / "data-00000-of-00001.arrow"
    with pa.OSFile(str(data), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    about = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_format_type": None}
    (folder / "state.json").write_text(json.dumps(about, indent=2))
    (folder / "dataset_info.json").write_text(json.dumps({"citation": "", "features": {}}, indent=2))


def test_a_dataset_that_was_saved_to_disk_is_read(tmp_path, references, scores, capsys):
    expected = ss.range_eer(references, scores)
    saved_to_disk(tmp_path / "all" / "dev", references.to_arrow())
    saved_to_disk(tmp_path / "scores", scores.to_arrow(long=False))
    assert ss.read_references(tmp_path / "all" / "dev").utterances == references.utterances
    found = ss.range_eer(
        ss.read_references(tmp_path / "all" / "dev"), ss.read_scores(tmp_path / "scores", hop=0.02, higher="bonafide")
    )
    assert found.value == expected.value
    (tmp_path / "all" / "dataset_dict.json").write_text('{"splits": ["dev"]}')
    code, printed = run(["eval", tmp_path / "all", tmp_path / "scores", "--hop", "0.02"], capsys)
    assert code == 2
    assert f"is a Hugging Face DatasetDict; give one of its splits: {tmp_path / 'all' / 'dev'}" in printed.err


@pytest.mark.slow  # it imports datasets
def test_the_library_itself_writes_what_is_read(tmp_path, references):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    rows = [{"utterance": utt, "start": s, "end": e, "label": label} for utt in LENGTHS for s, e, label in RANGES[utt]]
    datasets.Dataset.from_list(rows).save_to_disk(tmp_path / "set")
    assert ss.read_references(tmp_path / "set").utterances == references.utterances


# ---------------------------------------------------------------- exit codes


def test_the_exit_codes_are_those_of_the_page(tmp_path, references, scores, capsys):
    ss.write_references(references, tmp_path / "ref.parquet")
    ss.write_scores(scores, tmp_path / "scores.parquet")
    files = ["eval", tmp_path / "ref.parquet", tmp_path / "scores.parquet", "-m", "range-eer"]
    (tmp_path / "blocked").write_text("")
    for target in (tmp_path / "none" / "x.txt", tmp_path, tmp_path / "blocked"):
        code, printed = run([*files, "--out", target], capsys)
        assert (code, printed.out) == (2, ""), printed.err


def test_one_utterance_in_another_unit_is_measured_with_a_warning():
    references = ss.References.from_ranges({"u1": [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof")]})
    scores = ss.Scores.from_ranges({"u1": [(0, 1000.0, 0.9), (1000.0, 2000.0, 0.1)]}, higher="bonafide")
    with pytest.warns(ss.SpoofspanWarning, match="times of the scores look like milliseconds"):
        ss.range_eer(references, scores)
