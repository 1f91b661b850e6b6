"""Public corpora as a source: tiny folders in each layout, what is taken of them, and a corpus built of one."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import spoofspan as ss
from spoofspan.cli import app
from spoofspan.corpus.building import build
from spoofspan.corpus.settings import Settings
from spoofspan.corpus.source_folder import Selection, recordings_in
from spoofspan.formats.sound import RATE, wav_bytes
from spoofspan.formats.sound_channel import OPEN


def put(folder, *names):
    """Files with three words of noise each; what is called FLAC is read by what it holds."""
    rng = np.random.default_rng(len(names))
    for name in names:
        words = [0.1 * rng.standard_normal(6000) * np.hanning(6000) for _ in range(3)]
        parts = [part for word in words for part in (np.zeros(2000), word)]
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(wav_bytes(np.concatenate(parts) + 1e-4 * rng.standard_normal(24_000)))


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found_in(folder, **selection):
    found = recordings_in(folder, selection=Selection(**selection))
    return {(one.name, one.speaker, one.attack, one.subset) for one in found}


# ---------------------------------------------------------------- layouts


@pytest.fixture
def vctk(tmp_path):
    folder = tmp_path / "VCTK-Corpus-0.92"
    put(
        folder / "wav48_silence_trimmed",
        *(f"{speaker}/{speaker}_00{n}_mic{mic}.flac" for speaker in ("p225", "s5") for n in (1, 2) for mic in (1, 2)),
    )
    write(folder / "txt/p225/p225_001.txt", "Please call Stella.")
    write(folder / "speaker-info.txt", "ID AGE")
    return folder


@pytest.fixture
def libri(tmp_path):
    folder = tmp_path / "LibriTTS"
    for name in (
        "train-clean-100/103/1241/103_1241_000000_000001",
        "dev-clean/84/121/84_121_0",
        "test-other/7/8/7_8_0",
    ):
        put(folder, f"{name}.wav")
        write(folder / f"{name}.normalized.txt", "text")
    write(folder / "SPEAKERS.txt", "; comment")
    return folder


@pytest.fixture
def asvspoof_2019(tmp_path):
    folder = tmp_path / "LA"
    rows = {
        "train.trn": ["LA_0079 LA_T_1 - - bonafide", "LA_0079 LA_T_2 - A01 spoof"],
        "dev.trl": ["LA_0069 LA_D_1 - - bonafide", "LA_0069 LA_D_2 - A06 spoof"],
        "eval.trl": ["LA_0039 LA_E_1 - - bonafide", "LA_0039 LA_E_2 - A11 spoof"],
    }
    for name, lines in rows.items():
        subset = name.partition(".")[0]
        put(folder / f"ASVspoof2019_LA_{subset}/flac", *(f"{line.split()[1]}.flac" for line in lines))
        write(folder / f"ASVspoof2019_LA_cm_protocols/ASVspoof2019.LA.cm.{name}.txt", "\n".join(lines) + "\n")
    return folder


@pytest.fixture
def asvspoof_5(tmp_path):
    folder = tmp_path / "ASVspoof5"
    lines = ["T_4850 T_0000000001 F - - - AC3 A05 spoof -", "T_4850 T_0000000002 F - - - - bonafide bonafide -"]
    put(folder / "flac_T", "T_0000000001.flac", "T_0000000002.flac")
    write(folder / "ASVspoof5_protocols/ASVspoof5.train.tsv", "\n".join(lines) + "\n")
    return folder


def test_vctk_is_read_with_one_microphone(vctk):
    assert found_in(vctk) == {
        (f"wav48_silence_trimmed/{speaker}/{speaker}_00{n}_mic1.flac", speaker, None, None)
        for speaker in ("p225", "s5")
        for n in (1, 2)
    }
    assert len(found_in(vctk.parent)) == 4  # the folder above


def test_the_older_vctk_is_read(tmp_path):
    put(tmp_path / "wav48", "p225/p225_001.wav", "p226/p226_001.wav")
    assert {one[1] for one in found_in(tmp_path)} == {"p225", "p226"}


def test_libritts_keeps_its_sets_if_all_three_are_there(libri):
    assert {(speaker, subset) for _, speaker, _, subset in found_in(libri)} == {
        ("103", "train"),
        ("84", "dev"),
        ("7", "eval"),
    }
    (libri / "test-other/7/8/7_8_0.wav").unlink()
    assert {subset for *_, subset in found_in(libri)} == {None}


def test_asvspoof_2019_has_speakers_attacks_and_sets(asvspoof_2019):
    assert {one[1:] for one in found_in(asvspoof_2019)} == {
        ("LA_0079", None, "train"),
        ("LA_0079", "A01", "train"),
        ("LA_0069", None, "dev"),
        ("LA_0069", "A06", "dev"),
        ("LA_0039", None, "eval"),
        ("LA_0039", "A11", "eval"),
    }


def test_asvspoof_5_of_one_set_has_its_speakers_dealt(asvspoof_5):
    assert {one[1:] for one in found_in(asvspoof_5)} == {("T_4850", "A05", None), ("T_4850", None, None)}


def test_own_folders_are_read_as_before(tmp_path):
    put(tmp_path, "bonafide/a/1.wav", "train-clean-100/a/2/3.wav")
    assert {one[1:3] for one in found_in(tmp_path)} == {("a", None), ("a", "train-clean-100")}


# ---------------------------------------------------------------- selections and faults


def test_a_list_takes_speakers_and_files(vctk, tmp_path):
    only = write(tmp_path / "only.txt", "# a comment\ns5\n\np225_001_mic1\n")
    assert {name.rpartition("/")[2] for name, *_ in found_in(vctk, only=only)} == {
        "p225_001_mic1.flac",
        "s5_001_mic1.flac",
        "s5_002_mic1.flac",
    }
    only.write_text("s5\np999\n")
    with pytest.raises(
        ss.DataError, match=r"only.txt:2: the source has no speaker and no file 'p999'; correct the list"
    ):
        found_in(vctk, only=only)


def test_a_few_of_each_speaker_are_the_same_ones_for_a_seed(vctk):
    one = found_in(vctk, per_speaker=1)
    assert sorted(speaker for _, speaker, *_ in one) == ["p225", "s5"]
    assert one == found_in(vctk, per_speaker=1)
    assert len({frozenset(found_in(vctk, per_speaker=1, seed=seed)) for seed in range(8)}) > 1
    with pytest.raises(ss.UsageError, match="at least 1"):
        Selection(per_speaker=0)


def test_files_that_the_protocol_names_must_be_there_unless_a_list_leaves_them_out(asvspoof_5, tmp_path):
    (asvspoof_5 / "flac_T/T_0000000001.flac").unlink()
    with pytest.raises(ss.DataError, match=r"ASVspoof5.train.tsv:1: there is no file .*T_0000000001.flac.*--only"):
        found_in(asvspoof_5)
    only = write(tmp_path / "only.txt", "T_0000000002\n")
    assert len(found_in(asvspoof_5, only=only)) == 1


def test_a_protocol_that_is_missing_or_is_none_is_named(asvspoof_2019, asvspoof_5):
    (asvspoof_2019 / "ASVspoof2019_LA_cm_protocols/ASVspoof2019.LA.cm.dev.trl.txt").unlink()
    with pytest.raises(ss.DataError, match=r"there is no protocol ASVspoof2019.LA.cm.dev.trl.txt"):
        found_in(asvspoof_2019)
    write(asvspoof_5 / "ASVspoof5_protocols/ASVspoof5.train.tsv", "T_4850 T_0000000002 F\n")
    with pytest.raises(ss.DataError, match=r"train.tsv:1: no line of this protocol.*10 fields were expected"):
        found_in(asvspoof_5)


# ---------------------------------------------------------------- a corpus of one


def test_a_corpus_is_built_of_vctk_with_vocoders_and_of_asvspoof_with_its_attacks(vctk, asvspoof_2019, tmp_path):
    arguments = ["--source", vctk, "--recordings-per-speaker", "1", "--attack", "builtin:overlap-add", "--jobs", "1"]
    arguments += ["--speakers", "train=1,dev=1", "--format", "json"]
    result = CliRunner().invoke(app, ["corpus", "build", str(tmp_path / "a"), *map(str, arguments)])
    assert result.exit_code == 0, (result.output, result.exception)
    about = json.loads(result.stdout)
    assert about["recordings"] == 4  # one of each speaker, and its spoof
    assert {name: one["speakers"] for name, one in about["sets"].items()}.keys() == {"train", "dev"}
    settings = Settings(channel=OPEN, held_out=())
    about = build(tmp_path / "b", asvspoof_2019, settings)
    assert {name: list(one["spoof_seconds_by_attack"]) for name, one in about["sets"].items()} == {
        "train": ["A01"],
        "dev": ["A06"],
        "eval": ["A11"],
    }
    assert str(tmp_path) not in (tmp_path / "b/corpus.json").read_text()


def test_built_in_voices_are_not_chosen_from(tmp_path):
    with pytest.raises(ss.UsageError, match="made to order"):
        build(tmp_path / "x", per_speaker=3)
    assert RATE == 16_000
