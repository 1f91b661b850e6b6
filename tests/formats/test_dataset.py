"""The PartialSpoof database by its folder: a small one in the official layout, and ways to have it wrong."""

import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

import spoofspan as ss
from spoofspan.cli import app
from spoofspan.formats.arrays import partialspoof_scores, segment_labels
from spoofspan.formats.text import rttm
from spoofspan.formats.text.durations import reco2dur_lines

RANGES = {
    "LA_E_0000001": [(0.0, 1.0, "bonafide")],
    "LA_E_0000002": [(0.0, 0.6, "bonafide")],
    "CON_E_0000001": [(0.0, 0.4, "bonafide"), (0.4, 0.8, "spoof"), (0.8, 1.2, "bonafide")],
    "CON_E_0000002": [(0.0, 0.2, "spoof"), (0.2, 0.8, "bonafide")],
}
DURATIONS = {utt: ranges[-1][1] for utt, ranges in RANGES.items()}
CON_DATA = "database/eval/con_data"
PROTOCOL = "database/protocols/PartialSpoof_LA_cm_protocols/PartialSpoof.LA.cm.eval.trl.txt"


@pytest.fixture(scope="module")
def references():
    return ss.References.from_ranges(RANGES, DURATIONS, snap=0.002)


@pytest.fixture
def root(tmp_path, references):
    """A database of one set, with scores at two resolutions."""
    put(tmp_path / "database/eval/eval.lst", "".join(f"{utt}\n" for utt in RANGES))
    protocol = [
        f"LA_00{i:02d} {utt} - {'CON spoof' if utt.startswith('CON') else '- bonafide'}\n"
        for i, utt in enumerate(RANGES)
    ]
    put(tmp_path / PROTOCOL, "".join(protocol))
    put(tmp_path / CON_DATA / "rttm_2cls_0sil", b"".join(rttm.write(references)).decode())
    spoofs = [line for line in b"".join(rttm.write(references)).decode().splitlines(True) if " spoof " in line]
    put(tmp_path / CON_DATA / "rttm_2cls_0sil_spoof", "".join(spoofs))
    put(tmp_path / CON_DATA / "reco2dur", b"".join(reco2dur_lines(references)).decode())
    put(tmp_path / "database/eval/con_wav/LA_E_0000001.wav", "no audio")
    for resolution in (0.01, 0.02):
        path = tmp_path / f"database/segment_labels/eval_seglab_{resolution}.npy"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"".join(segment_labels.write(references, resolution)))
    for number in (2, 4):
        path = tmp_path / f"results/output/eval_score_ali_{number}_20230101.pkl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(partialspoof_scores.write(scores(number / 100))))
    return tmp_path


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def scores(hop):
    rng = np.random.default_rng(1)
    return ss.Scores.from_frames(
        {utt: rng.normal(size=round(seconds / hop)) for utt, seconds in DURATIONS.items()}, hop=hop, higher="bonafide"
    )


def spec(root, subset="eval"):
    return f"partialspoof:{root}:{subset}"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def evaluated(*arguments):
    result = run("eval", *arguments, "--format", "json")
    assert result.exit_code == 0, (result.output, result.exception)
    return {m["measure"]: m for m in json.loads(result.stdout)["measurements"]}


def refusal(kind, *arguments):
    result = run(*arguments)
    assert isinstance(result.exception, kind), (result.output, result.exception)
    return str(result.exception)


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize("inside", ["", "database"])
def test_the_official_layout_gives_the_corpus(root, references, inside):
    dataset = ss.read_dataset(spec(root / inside))
    assert dataset.references.utterances == tuple(RANGES)
    system = scores(0.02)
    assert ss.range_eer(dataset.references, system).signature == ss.range_eer(references, system).signature
    assert dataset.files["labels"].name == "rttm_2cls_0sil"
    assert set(dataset.files) == {"labels", "durations", "list", "protocol"}


def test_the_protocol_is_there_for_breakdowns(root):
    dataset = ss.read_dataset(spec(root))
    assert dataset.by_utterance("speaker")["CON_E_0000001"] == "LA_0002"
    assert dataset.by_utterance("attack") == {
        "LA_E_0000001": None,
        "LA_E_0000002": None,
        "CON_E_0000001": "CON",
        "CON_E_0000002": "CON",
    }
    assert dataset.by_utterance("label")["LA_E_0000002"] == "bonafide"


def test_a_file_that_lists_spoofs_only_leaves_the_bona_fide_utterances_in(root):
    full, spoofs = (ss.read_dataset(spec(root), source=f"rttm_2cls_0sil{end}") for end in ("", "_spoof"))
    assert spoofs.references.utterances == full.references.utterances
    system = scores(0.02)
    assert ss.range_eer(full.references, system).value == (
        ss.range_eer(spoofs.references, system, gaps="bonafide").value
    )


@pytest.mark.parametrize("resolution", [10, 20])
def test_segment_labels_are_another_source(root, resolution):
    dataset = ss.read_dataset(spec(root), source=f"segment_labels@{resolution}ms")
    assert dataset.files["labels"].name == f"eval_seglab_{resolution / 1000}.npy"
    system = scores(0.02)
    expected = ss.range_eer(ss.read_dataset(spec(root)).references, system)
    assert ss.range_eer(dataset.references, system).value == expected.value  # all edges are on the grid


def test_files_are_found_by_name_where_they_are_not_in_their_place(root, references):
    (root / "elsewhere/eval").mkdir(parents=True)
    for name in ("rttm_2cls_0sil", "reco2dur"):
        shutil.move(root / CON_DATA / name, root / "elsewhere/eval" / name)
    (root / CON_DATA / "rttm_2cls_0sil_spoof").unlink()
    shutil.move(root / PROTOCOL, root / "elsewhere")
    shutil.move(root / "database/eval/eval.lst", root)
    dataset = ss.read_dataset(spec(root))
    assert dataset.references.utterances == tuple(RANGES)
    assert dataset.files["durations"] == root / "elsewhere/eval/reco2dur"


def test_list_or_protocol_is_enough(root):
    (root / "database/eval/eval.lst").unlink()
    assert len(ss.read_dataset(spec(root)).references) == 4
    put(root / "database/eval/eval.lst", "".join(f"{utt}\n" for utt in RANGES))
    (root / PROTOCOL).unlink()
    dataset = ss.read_dataset(spec(root))
    assert len(dataset.references) == 4
    with pytest.raises(ss.DataError, match=r"no protocol.*; put the protocol"):
        dataset.by_utterance("speaker")


def test_durations_of_other_sets_do_no_harm(root):
    with (root / CON_DATA / "reco2dur").open("a") as stream:
        stream.write("LA_T_1138215 3.458062 \n")
    assert ss.read_dataset(spec(root)).references.utterances == tuple(RANGES)


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        (f"{CON_DATA}/reco2dur", "eval/con_data/reco2dur"),
        (f"{CON_DATA}/rttm_*", "segment_labels@10ms, segment_labels@20ms"),
        (f"{CON_DATA}/rttm_*", "eval/con_data/rttm_*"),
    ],
)
def test_what_is_missing_is_named_with_the_places(root, missing, named):
    for path in root.glob(missing):
        path.unlink()
    with pytest.raises(ss.DataError) as refused:
        ss.read_dataset(spec(root))
    assert named in str(refused.value)
    assert str(root / "database") in str(refused.value)


def test_a_set_that_is_not_there_is_answered_with_those_that_are(root):
    with pytest.raises(ss.DataError, match="the sets there: eval"):
        ss.read_dataset(spec(root, "dev"))


@pytest.mark.parametrize(
    "wrong", ["partialspoof", "partialspoof:eval", "partialspof:x:eval", "partialspoof:/no/x:eval"]
)
def test_a_spec_that_cannot_be_is_refused(wrong):
    with pytest.raises(ss.UsageError):
        ss.read_dataset(wrong)


def test_a_drive_letter_is_part_of_the_folder(tmp_path, monkeypatch):
    with pytest.raises(ss.UsageError, match=r"there is no folder 'C:\\\\data'"):
        ss.read_dataset(r"partialspoof:C:\data:eval")


def test_list_and_protocol_must_agree(root):
    put(root / "database/eval/eval.lst", "".join(f"{utt}\n" for utt in [*list(RANGES)[1:], "LA_E_0000009"]))
    with pytest.raises(ss.DataError) as refused:
        ss.read_dataset(spec(root))
    assert "'LA_E_0000009' is in" in str(refused.value)
    assert "'LA_E_0000001' is in" in str(refused.value)


def test_labels_of_strangers_are_named(root):
    with (root / CON_DATA / "rttm_2cls_0sil").open("a") as stream:
        stream.write("SPEAKER LA_E_7 1 0.000 1.000 <NA> <NA> bonafide <NA> <NA>\n")
    with (root / CON_DATA / "reco2dur").open("a") as stream:
        stream.write("LA_E_7 1.0\n")
    with pytest.raises(ss.DataError, match=r"'LA_E_7' is in .*rttm_2cls_0sil but not in .*eval.lst"):
        ss.read_dataset(spec(root))


def test_missing_durations_and_labels_are_named(root):
    put(root / CON_DATA / "reco2dur", "".join(f"{utt} {DURATIONS[utt]}\n" for utt in list(RANGES)[1:]))
    with pytest.raises(ss.DataError, match=r"'LA_E_0000001' has no duration in .*reco2dur"):
        ss.read_dataset(spec(root))


def test_a_protocol_that_contradicts_the_labels_is_refused(root):
    text = (root / PROTOCOL).read_text()
    put(root / PROTOCOL, text.replace("CON_E_0000001 - CON spoof", "CON_E_0000001 - - bonafide"))
    with pytest.raises(ss.DataError, match="'CON_E_0000001' is bona fide in the protocol but has spoofed ranges"):
        ss.read_dataset(spec(root))


def test_spoofed_utterances_without_a_spoofed_range_are_warned_about(root):
    text = (root / PROTOCOL).read_text()
    put(root / PROTOCOL, text.replace("LA_E_0000002 - - bonafide", "LA_E_0000002 - CON spoof"))
    with pytest.warns(ss.SpoofspanWarning, match="LA_E_0000002"):
        ss.read_dataset(spec(root))


def test_unknown_labels_are_answered_with_those_that_are_there(root):
    with pytest.raises(ss.UsageError, match="rttm_2cls_0sil"):
        ss.read_dataset(spec(root), source="rttm_2cls")
    with pytest.raises(ss.UsageError, match="segment_labels@10ms, segment_labels@20ms"):
        ss.read_dataset(spec(root), source="segment_labels@40ms")


def test_several_rttm_files_without_the_usual_names_must_be_chosen_from(root):
    for end in ("", "_spoof"):
        (root / CON_DATA / f"rttm_2cls_0sil{end}").rename(root / CON_DATA / f"rttm_mine{end}")
    with pytest.raises(ss.UsageError, match="rttm_mine, rttm_mine_spoof"):
        ss.read_dataset(spec(root))


def test_a_hostile_pickle_is_not_run(root):
    import pickle

    class Evil:
        def __reduce__(self):
            return (print, ("run",))

    (root / "database/segment_labels/eval_seglab_0.02.npy").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(ss.SpoofspanError):
        ss.read_dataset(spec(root), source="segment_labels@20ms")


# ---------------------------------------------------------------- scores


def test_scores_are_found_by_resolution(root):
    dataset = ss.read_dataset(spec(root))
    assert list(dataset.scores_by_resolution()) == [0.02, 0.04]
    assert dataset.scores(0.04).hop == 0.04
    assert dataset.scores(0.02, root / "results").values.tolist() == scores(0.02).values.tolist()
    with pytest.raises(ss.UsageError, match="20ms, 40ms; choose one with hop="):
        dataset.scores()
    with pytest.raises(ss.UsageError, match="only at 20ms, 40ms; give another hop="):
        dataset.scores(0.08)
    with pytest.raises(ss.DataError, match="eval_score_ali"):
        dataset.scores(where=root / "database")


def test_two_files_of_one_resolution_must_be_chosen_from(root):
    path = root / "results/output/eval_score_ali_2_20230101.pkl"
    shutil.copy(path, path.with_name("eval_score_ali_2_20240101.pkl"))
    with pytest.raises(ss.UsageError, match="20240101"):
        ss.read_dataset(spec(root)).scores(0.02)


# ---------------------------------------------------------------- the command line


def test_eval_takes_a_dataset_in_the_place_of_references(root, references):
    expected = ss.range_eer(references, scores(0.02)).value
    file = root / "results/output/eval_score_ali_2_20230101.pkl"
    for arguments in ([file], [root / "results", "--hop", "0.02"], ["--hop", "0.02"]):
        found = evaluated("--dataset", spec(root), *arguments, "-m", "range-eer")
        assert found["range-eer"]["value"] == expected
    labels = ["--reference-source", "segment_labels@20ms"]
    assert evaluated("--dataset", spec(root), file, *labels, "-m", "range-eer")["range-eer"]["value"] == expected


def test_eval_says_which_files_it_read(root):
    result = run("eval", "--dataset", spec(root), "--hop", "0.02")
    assert "rttm_2cls_0sil" in result.stderr
    assert "eval_score_ali_2_20230101.pkl" in result.stderr
    assert "rttm_2cls_0sil" not in result.stdout


def test_what_is_typed_wrong_is_answered(root):
    assert "--hop" in refusal(ss.UsageError, "eval", "--dataset", spec(root))
    assert "SCORES alone" in refusal(ss.UsageError, "eval", "--dataset", spec(root), "a", "b")
    assert "--durations does not go" in refusal(ss.UsageError, "eval", "--dataset", spec(root), "a", "--durations", "d")
    assert "goes with --dataset" in refusal(ss.UsageError, "eval", "a", "b", "--reference-source", "rttm")
    assert "give SCORES" in refusal(ss.UsageError, "eval", "--dataset", spec(root / "database"))
    assert "give SCORES" in refusal(ss.UsageError, "eval", "a")
    assert "give REFERENCES" in refusal(ss.UsageError, "eval")


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # few speakers
@pytest.mark.parametrize("hop", [[], ["--hop", "0.02"]])
def test_compare_takes_a_dataset_and_all_words_are_systems(root, references, hop):
    files = [root / f"results/output/eval_score_ali_{number}_20230101.pkl" for number in (2, 4)]
    words = [files[0], f"coarse={files[1]}"] if not hop else [f"a={files[0]}", f"b={root / 'copy.pkl'}"]
    (root / "copy.pkl").write_bytes(files[0].read_bytes())
    result = run("compare", "--dataset", spec(root), *words, *hop, "--replicates", 100, "--format", "json")
    assert result.exit_code == 0, result.exception
    assert result.stderr.count(": 4 utterances") == 1  # what was read is said once
    found = json.loads(result.stdout)["comparisons"][0]["systems"]
    hops = {"eval_score_ali_2_20230101": 0.02, "coarse": 0.04} if not hop else {"a": 0.02, "b": 0.02}
    assert [one["system"] for one in found] == list(hops)
    for one, each in zip(found, hops.values(), strict=True):
        assert one["value"] == ss.range_eer(references, scores(each)).value


def test_check_takes_a_dataset(root):
    alone = run("check", "--dataset", spec(root))
    assert alone.exit_code == 0, (alone.output, alone.exception)
    assert "hop" not in alone.stdout
    both = run("check", "--dataset", spec(root), "--hop", "0.04")
    assert both.exit_code == 0
    assert "40ms" in both.stdout


def test_convert_takes_a_dataset(root, references):
    out = root / "eval.parquet"
    done = run("convert", "--dataset", spec(root), out)
    assert done.exit_code == 0, (done.output, done.exception)
    system = scores(0.02)
    assert ss.range_eer(ss.read_references(out), system).signature == ss.range_eer(references, system).signature
    assert "OUT alone" in refusal(ss.UsageError, "convert", "--dataset", spec(root), "a", "b.parquet")
    assert "give IN and OUT" in refusal(ss.UsageError, "convert", "a.rttm")


def test_utterance_scores_are_measured_against_the_set_alone_or_beside_its_scores(root, tmp_path):
    given = tmp_path / "given.tsv"
    put(given, "filename\tcm-score\n" + "".join(f"{utt}\t{i % 3}\n" for i, utt in enumerate(RANGES)))
    told = ["--dataset", spec(root), "--utterance-scores", given]
    alone = evaluated(*told)
    assert list(alone) == ["utterance-eer"]
    beside = evaluated(*told, root / "results/output", "--hop", "0.02")
    assert list(beside) == ["range-eer", "point-eer@20ms", "utterance-eer"]
    assert beside["utterance-eer"] == alone["utterance-eer"]
