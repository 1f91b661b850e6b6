"""Labels that are numbers: nothing is measured before someone says which of them means spoof."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from command_line import run as run_command

import spoofspan as ss
from spoofspan.formats.arrays import npz, segment_labels
from spoofspan.formats.convert import convert
from spoofspan.scale.sharding import sharded

HOP = 0.02
IS_SPOOF = {"u1": [0, 0, 0, 1, 1, 0, 0, 0], "u2": [1, 1, 0, 0], "u3": [0, 0]}
SCORES = {utt: np.where(np.array(row) == 1, 0.2, 0.9) for utt, row in IS_SPOOF.items()}
KINDS = ("npz", "npy", "pickle")


def save(path, labels):
    """Write a dict of arrays, or of lists, in the container that the end of the name tells."""
    if path.suffix == ".npz":
        np.savez(path, **labels)
    elif path.suffix == ".npy":
        np.save(path, np.array(labels, object), allow_pickle=True)
    else:
        path.write_bytes(pickle.dumps(labels))
    return path


def numbers(spoof_label: int, dtype=np.int64):
    return {
        utt: np.array([spoof_label if one else 1 - spoof_label for one in row], dtype) for utt, row in IS_SPOOF.items()
    }


def words():
    return {utt: np.where(np.array(row) == 1, "spoof", "bonafide") for utt, row in IS_SPOOF.items()}


def spoof_ns(references) -> dict[str, int]:
    time = np.where(references.labels == 1, references.ends - references.starts, 0)
    return {utt: int(time[slice(*references.offsets[i : i + 2])].sum()) for i, utt in enumerate(references.utterances)}


TRUTH = {utt: sum(row) * 20_000_000 for utt, row in IS_SPOOF.items()}


@pytest.fixture
def run(capsys):
    def run_and_split(*arguments):
        code, printed = run_command(arguments, capsys)
        return code, printed.out, printed.err

    return run_and_split


@pytest.fixture
def scores(tmp_path):
    path = tmp_path / "scores.parquet"
    ss.write_scores(ss.Scores.from_frames(SCORES, HOP, higher="bonafide"), path)
    return path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["labels", "dev_seglab_0.02"])
def test_numbers_without_a_meaning_are_refused(kind, name, tmp_path):
    path = save(tmp_path / f"{name}.{kind}", numbers(1))
    with pytest.raises(ss.UsageError, match="which of them means spoof; give spoof_label=1 if 1 means spoof"):
        ss.read_references(path, hop=HOP)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spoof_label", [0, 1])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32, np.bool_, "<U1"])
def test_stated_labels_are_what_they_are_said_to_be(kind, spoof_label, dtype, tmp_path):
    path = save(tmp_path / f"labels.{kind}", numbers(spoof_label, dtype))
    assert spoof_ns(ss.read_references(path, hop=HOP, spoof_label=spoof_label)) == TRUTH


@pytest.mark.parametrize("kind", KINDS)
def test_words_mean_what_they_say(kind, tmp_path):
    path = save(tmp_path / f"labels.{kind}", words())
    assert spoof_ns(ss.read_references(path, hop=HOP)) == TRUTH


@pytest.mark.parametrize("kind", ["npy", "pickle"])
def test_lists_are_read_like_arrays(kind, tmp_path):
    path = save(tmp_path / f"words.{kind}", {utt: row.tolist() for utt, row in words().items()})
    assert spoof_ns(ss.read_references(path, hop=HOP)) == TRUTH
    path = save(tmp_path / f"numbers.{kind}", {utt: row.tolist() for utt, row in numbers(1).items()})
    assert spoof_ns(ss.read_references(path, hop=HOP, spoof_label=1)) == TRUTH


def test_attacks_in_arrays_are_spoof_of_that_kind(tmp_path):
    labels = {"u1": np.array(["bonafide", "A07", "A08", "A08"])}
    references = ss.read_references(save(tmp_path / "labels.npz", labels), hop=HOP)
    assert references.attack_names == ("A07", "A08")
    assert spoof_ns(references) == {"u1": 60_000_000}


def test_segment_labels_of_partialspoof_keep_their_meaning(tmp_path):
    path = save(tmp_path / "dev_seglab_0.02.npy", numbers(0, "<U1"))
    assert spoof_ns(ss.read_references(path)) == spoof_ns(ss.read_references(path, spoof_label=0)) == TRUTH
    with pytest.raises(ss.UsageError, match="where 0 means spoof, and spoof_label=1 says the opposite"):
        ss.read_references(path, spoof_label=1)


def test_a_format_that_states_the_classes_refuses_the_option(tmp_path):
    (tmp_path / "ref.rttm").write_text("SPEAKER u1 1 0.000 1.200 <NA> <NA> bonafide <NA> <NA>\n")
    with pytest.raises(ss.UsageError, match="spoof_label= means nothing in the format rttm"):
        ss.read_references(tmp_path / "ref.rttm", spoof_label=1)
    with pytest.raises(ss.UsageError, match="spoof_label must be 0 or 1"):
        ss.read_references(tmp_path / "ref.rttm", spoof_label=2)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "arrow"])
@pytest.mark.parametrize("spoof_label", [0, 1])
def test_tables_of_numbers_take_the_same_option(suffix, spoof_label, tmp_path):
    pa = pytest.importorskip("pyarrow")
    label = [1 - spoof_label, spoof_label]
    table = pa.table({"utterance": ["u1", "u1"], "start": [0.0, 0.5], "end": [0.5, 2.0], "label": label})
    path = tmp_path / f"ref.{suffix}"
    write_table(path, table)
    with pytest.raises(ss.UsageError, match="which of them means spoof"):
        ss.read_references(path)
    assert spoof_ns(ss.read_references(path, spoof_label=spoof_label)) == {"u1": 1_500_000_000}
    assert spoof_ns(ss.References.from_table(table, spoof_label=spoof_label)) == {"u1": 1_500_000_000}


def write_table(path, table):
    import json

    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    elif path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    else:
        pa.feather.write_feather(table, str(path))


@pytest.mark.parametrize("kind", KINDS)
def test_the_advice_of_the_shell_leads_to_the_right_number(kind, tmp_path, scores, run):
    path = save(tmp_path / f"labels.{kind}", numbers(1))
    about = ["--hop", "0.02", "-m", "range-f1", "--threshold", "0.5", "--format", "csv"]
    code, out, err = run("eval", path, scores, *about)
    assert (code, out) == (2, "")
    assert "give --spoof-label 1 if 1 means spoof, or --spoof-label 0 if 0 does" in err
    for more in ([], ["--stream"]):
        code, out, err = run("eval", path, scores, *about, *more, "--spoof-label", "1")
        assert code == 0, err
        assert "range-f1,100.0,0.0,0.0" in out


def test_every_command_that_reads_references_has_the_flag(tmp_path, scores, run):
    path = save(tmp_path / "labels.npz", numbers(1))
    other = tmp_path / "other.parquet"
    noisy = {utt: row + np.linspace(0, 0.9, row.size) for utt, row in SCORES.items()}
    ss.write_scores(ss.Scores.from_frames(noisy, HOP, higher="bonafide"), other)
    durations = tmp_path / "reco2dur"
    durations.write_text("".join(f"{utt} {len(row) * HOP:.2f}\n" for utt, row in IS_SPOOF.items()))
    challenge = ["--reference-hop", "0.02", "--durations", durations, "--out", tmp_path / "challenge"]
    reference, told = [path, "--hop", "0.02"], ["--spoof-label", "1"]
    for command in (
        ["eval", *reference, scores],
        ["check", *reference, scores],
        ["table", *reference, scores, "--resolutions", "20"],
        ["plot", "det", *reference, scores, "--out", tmp_path / "det.svg"],
        ["report", *reference, scores, "--out", tmp_path / "page.html"],
        ["compare", *reference, scores, other, "--cluster", "utterance"],
        ["convert", *reference, tmp_path / "out.rttm", "--kind", "references"],
        ["diff-references", *reference, path],
        ["calibrate", *reference, scores, "--out", tmp_path / "calibration.json"],
        ["challenge", "build", path, *challenge],
    ):
        code, _, err = run(*command)
        assert "nothing says which of them means spoof" in err, (command, err)
        assert code == 2
        code, _, err = run(*command, *told)
        assert "means spoof" not in err, (command, err)
        assert code in (0, 4), (command, err)  # so small a corpus does not define every measure


def test_convert_knows_the_kind_by_what_is_told(tmp_path):
    labels = save(tmp_path / "labels.pickle", numbers(1))
    with pytest.raises(ss.DataError, match="say it with --kind"):
        convert(str(labels), str(tmp_path / "a.rttm"), hop=HOP)
    convert(str(labels), str(tmp_path / "a.rttm"), hop=HOP, spoof_label=1)
    assert spoof_ns(ss.read_references(tmp_path / "a.rttm")) == TRUTH
    scores = save(tmp_path / "scores.pickle", SCORES)
    convert(str(scores), str(tmp_path / "a.parquet"), hop=HOP, higher="bonafide")
    assert ss.read_scores(tmp_path / "a.parquet").utterances == tuple(SCORES)


def test_two_references_may_have_opposite_numbers(tmp_path, run):
    a, b = save(tmp_path / "a.npz", numbers(1)), save(tmp_path / "b.npz", numbers(0))
    code, out, err = run("diff-references", a, b, "--hop", "0.02", "--spoof-label", "1", "--spoof-label-b", "0")
    assert code == 0, err
    assert out.count("100.00 %") == 2
    (tmp_path / "ref.rttm").write_bytes(b"")
    convert(str(a), str(tmp_path / "ref.rttm"), hop=HOP, spoof_label=1, kind="references", force=True)
    code, out, err = run("diff-references", tmp_path / "ref.rttm", b, "--hop", "0.02", "--spoof-label", "0")
    assert code == 0, err
    assert out.count("100.00 %") == 2


def test_shards_take_the_option(tmp_path, scores):
    path = save(tmp_path / "labels.npz", numbers(1))
    with (
        pytest.raises(ss.UsageError, match="which of them means spoof"),
        sharded(path, scores, reference_hop=HOP),
    ):
        pass
    with sharded(path, scores, reference_hop=HOP, spoof_label=1) as corpus:
        assert ss.evaluate_shards(corpus, ["range-eer"])["range-eer"].value == 0


def test_labels_that_were_written_are_read_back(tmp_path):
    references = ss.read_references(save(tmp_path / "words.npz", words()), hop=HOP)
    for format_, name in ((npz.LABELS_NPZ, "a.npz"), (segment_labels.FORMAT, "a.npy")):
        ss.write_references(references, tmp_path / name, format=format_.name, hop=HOP)
        back = ss.read_references(tmp_path / name, hop=HOP, spoof_label=0)
        assert spoof_ns(back) == TRUTH


def test_labels_in_memory_follow_the_same_rule():
    for labels in (numbers(1), {utt: row.tolist() for utt, row in numbers(1).items()}):
        assert spoof_ns(ss.References.from_labels(labels, HOP, spoof_label=1)) == TRUTH
        with pytest.raises(ss.UsageError, match="labels: the labels are 0 and 1, and nothing says"):
            ss.References.from_labels(labels, HOP)
    assert spoof_ns(ss.References.from_labels(words(), HOP)) == TRUTH
    short = ss.References.from_labels({"u1": [0, 1]}, HOP, spoof_label=1, durations={"u1": 0.035})
    assert spoof_ns(short) == {"u1": 15_000_000}
    with pytest.raises(ss.UsageError, match="hop must be positive"):
        ss.References.from_labels(words(), 0.0)
    with pytest.raises(ss.DataError, match=r"2 labels of 0\.02 s, but its duration"):
        ss.References.from_labels({"u1": [0, 1]}, HOP, spoof_label=1, durations={"u1": 0.2})


def test_what_is_written_is_read_without_being_told(tmp_path):
    labels = {utt: [int(one) for one in row] for utt, row in IS_SPOOF.items()}
    references = npz.references_of_labels(labels, HOP, None, 1)
    scores = ss.Scores.from_frames(SCORES, hop=HOP, higher="bonafide")
    ss.write_references(references, tmp_path / "labels.npz", hop=HOP)
    ss.write_references(references, tmp_path / "labels.npy", hop=HOP)
    ss.write_scores(scores, tmp_path / "scores.npz")
    assert spoof_ns(ss.read_references(tmp_path / "labels.npz")) == spoof_ns(references)
    assert spoof_ns(ss.read_references(tmp_path / "labels.npy", hop=HOP)) == spoof_ns(references)
    found = ss.read_scores(tmp_path / "scores.npz")
    assert (found.hop, found.higher) == (HOP, "bonafide")
    assert sorted(np.load(tmp_path / "labels.npz")) == sorted(IS_SPOOF)  # nothing but utterances for others
    with pytest.raises(ss.UsageError, match="the file states higher bonafide, and higher=spoof says otherwise"):
        ss.read_scores(tmp_path / "scores.npz", higher="spoof")
    with pytest.raises(ss.UsageError, match="the file states spoof_label 0"):
        ss.read_references(tmp_path / "labels.npz", spoof_label=1)


@pytest.mark.parametrize("spoof_label", [0, 1, None])
def test_lists_of_labels_in_json(spoof_label, tmp_path):
    written = words() if spoof_label is None else numbers(spoof_label)
    path = tmp_path / "labels.json"
    path.write_text(json.dumps({utt: row.tolist() for utt, row in written.items()}))
    wanted = npz.references_of_labels({utt: list(row) for utt, row in IS_SPOOF.items()}, HOP, None, 1)
    assert spoof_ns(ss.read_references(path, hop=HOP, spoof_label=spoof_label)) == spoof_ns(wanted)
    with pytest.raises(ss.UsageError, match="hop="):
        ss.read_references(path, spoof_label=spoof_label)
    if spoof_label is not None:
        with pytest.raises(ss.UsageError, match="spoof_label=1 if 1"):
            ss.read_references(path, hop=HOP)
