"""Corpora, built: what is in the files, the same bytes for the same seed, and builds that were interrupted."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner

import spoofspan as ss
from spoofspan.cli import app
from spoofspan.corpus import building
from spoofspan.corpus.building import build
from spoofspan.corpus.checking import check_corpus
from spoofspan.corpus.frames import RATE
from spoofspan.corpus.layout import RESOLUTIONS, SetFiles, read_provenance
from spoofspan.corpus.provenance import Joint, LabelledRange, Origin, Provenance, labelled_ranges, segment_labels
from spoofspan.corpus.settings import SETS, Settings
from spoofspan.corpus.survey import active_level
from spoofspan.formats.sound import FULL_SCALE, read_sound, wav_bytes
from spoofspan.formats.sound_channel import OPEN

SETTINGS = Settings(
    utterances={"train": 8, "dev": 4, "eval": 10},
    speakers={"train": 2, "dev": 1, "eval": 2},
    official_labels=True,
    channel=OPEN,  # so that samples are those of the recordings
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A small corpus of built-in voices."""
    folder = tmp_path_factory.mktemp("corpus") / "built"
    build(folder, settings=SETTINGS)
    return folder


@pytest.fixture(scope="module")
def about(corpus):
    return json.loads((corpus / "corpus.json").read_text())


def of_all_sets(corpus):
    sets = [SetFiles(corpus, subset) for subset in SETS]
    return [(files, one) for files in sets for one in read_provenance(files.provenance)]


def contents(folder):
    """Every file of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def run(*arguments):
    return CliRunner().invoke(app, ["corpus", *map(str, arguments)])


# ---------------------------------------------------------------- what is in it


def test_croissant_metadata_name_every_file_and_say_how_to_read_the_ranges(corpus, about):
    plain = json.loads((corpus / "croissant.json").read_text())
    listed = {one["@id"]: one for one in plain["distribution"]}
    for one in listed.values():
        if one["@type"] == "cr:FileObject":
            assert hashlib.sha256((corpus / one["contentUrl"]).read_bytes()).hexdigest() == one["sha256"]
    for subset in SETS:
        sounds = list(corpus.glob(listed[f"{subset}-wav"]["includes"]))
        assert len(sounds) == about["sets"][subset]["utterances"]
    fields = {one["@id"]: one["source"] for record in plain["recordSet"] for one in record["field"]}
    assert {source["fileObject"]["@id"] for source in fields.values()} <= set(listed)
    lines = (corpus / listed["eval-rttm_attacks"]["contentUrl"]).read_text().splitlines()
    names = ("utterance", "start", "duration", "label")
    patterns = [fields[f"eval-ranges/{name}"]["transform"]["regex"] for name in names]
    read = [tuple(re.match(pattern, line)[1] for pattern in patterns) for line in lines]
    assert read == [tuple(line.split()[place] for place in (1, 3, 4, 7)) for line in lines]
    assert str(corpus) not in json.dumps(plain)  # no path of this disk


def test_mlcroissant_reads_the_records(corpus, about):
    mlcroissant = pytest.importorskip("mlcroissant")
    found = mlcroissant.Dataset(jsonld=str(corpus / "croissant.json"))
    utterances = [one["eval/utterance"].decode() for one in found.records("eval")]
    assert utterances == [one.utterance for one in read_provenance(SetFiles(corpus, "eval").provenance)]
    ranges = list(found.records("eval-ranges"))
    seconds = sum(one["eval-ranges/duration"] for one in ranges if one["eval-ranges/label"] != b"bonafide")
    assert seconds == pytest.approx(about["sets"]["eval"]["spoof_seconds"], abs=0.001 * len(ranges))


def test_a_built_corpus_passes_its_check(corpus):
    found = check_corpus(corpus)
    assert found.passed, found.problems
    assert found.looked_at["utterances"] == found.looked_at["sound files"] == 22
    assert found.looked_at["speakers"] == 5
    assert found.looked_at["files of segment labels"] == 3 * 7 * 2
    assert found.looked_at["RTTM files"] == 3 * 4


def test_the_dataset_reader_gives_labels_kinds_speakers_and_durations(corpus):
    for subset in SETS:
        dataset = ss.read_dataset(f"partialspoof:{corpus}:{subset}")
        assert len(dataset.references) == SETTINGS.utterances[subset]
        assert dataset.references.names_both_classes
        attacks = {one for one in dataset.by_utterance("attack").values() if one is not None}
        assert attacks == set(dataset.references.attack_names)
        assert dataset.files["labels"].name == "rttm_attacks"


@pytest.mark.parametrize("source", ["rttm_2cls_0sil", "segment_labels@10ms", "segment_labels@640ms"])
def test_other_labels_of_the_folder_can_be_chosen(corpus, source):
    spec = f"partialspoof:{corpus}:eval"
    chosen, default = ss.read_dataset(spec, source=source).references, ss.read_dataset(spec).references
    assert chosen.utterances == default.utterances
    time_of_spoof = [int(one.range_durations[one.labels == 1].sum()) for one in (chosen, default)]
    assert time_of_spoof[0] >= time_of_spoof[1]
    assert (time_of_spoof[0] == time_of_spoof[1]) == (source == "rttm_2cls_0sil")


def test_segment_labels_without_pickles_are_found_by_the_reader(corpus, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(corpus / "database", copy / "database", ignore=shutil.ignore_patterns("*.npy", "*.wav"))
    spec, source = "partialspoof:{}:dev", "segment_labels@20ms"
    safe = ss.read_dataset(spec.format(copy), source=source)
    assert safe.files["labels"].suffix == ".npz"
    official = ss.read_dataset(spec.format(corpus), source=source)
    assert official.files["labels"].suffix == ".npy"
    assert np.array_equal(safe.references.starts, official.references.starts)
    assert np.array_equal(safe.references.labels, official.references.labels)


def test_every_sample_outside_of_joints_is_that_of_its_recording(corpus):
    for files, one in of_all_sets(corpus):
        sound = read_sound(files.sound(one.utterance)) * FULL_SCALE
        assert sound.size == one.samples
        in_joint = np.zeros(one.samples, bool)
        for joint in one.joints:
            in_joint[joint.start : joint.end] = True
        for origin in one.origins:
            recording = read_sound(corpus / "sources" / origin.recording)
            taken = recording[origin.source_start :][: origin.end - origin.start] * origin.gain
            outside = ~in_joint[origin.start : origin.end]
            assert np.array_equal(sound[origin.start : origin.end][outside], np.rint(taken * FULL_SCALE)[outside])


def test_stretches_name_the_right_speaker_and_attack(corpus):
    for _, one in of_all_sets(corpus):
        for origin in one.origins:
            kind, speaker, _ = origin.recording.split("/")
            assert speaker == one.speaker
            assert origin.attack == (None if kind == "bonafide" else kind)
        if one.utterance.startswith("CON"):
            classes = {origin.attack is None for origin in one.origins}
            assert classes == {True, False}
            assert len(one.attacks) == 1
        else:
            assert [origin.attack for origin in one.origins] == [None]


def test_both_directions_are_there(about):
    for one in about["sets"].values():
        assert one["bona_fide_utterances"] == round(0.3 * one["utterances"])
        assert one["spoof_in_bona_fide"] > 0
        assert one["bona_fide_in_spoof"] > 0


def test_no_speaker_is_in_two_sets_and_one_attack_is_unseen_in_training(about):
    speakers = [set(one["speakers"]) for one in about["sets"].values()]
    assert sum(map(len, speakers)) == len(set.union(*speakers)) == 5
    assert about["held_out_attacks"] == ["A04"]
    heard = {subset: set(one["utterances_by_attack"]) for subset, one in about["sets"].items()}
    assert "A04" in heard["eval"]
    assert "A04" not in heard["train"] | heard["dev"]


def test_joints_are_cut_in_pauses(corpus):
    for _, one in of_all_sets(corpus):
        for joint in one.joints:
            assert not any(start < joint.end and joint.start < end for start, end in one.speech)


def test_joints_were_aligned_where_the_two_sides_are_most_alike(corpus):
    """Brute force over all lags, from the recordings."""
    one = next(one for _, one in of_all_sets(corpus) if len(one.joints) > 1)
    for left, right, joint in zip(one.origins[:-1], one.origins[1:], one.joints, strict=True):
        sounds = [read_sound(corpus / "sources" / origin.recording) for origin in (left, right)]
        size = joint.end - joint.start
        tail = sounds[0][left.source_start + joint.start - left.start :][:size]
        middle = right.source_start - joint.lag

        def alike(lag, tail=tail, middle=middle, sound=sounds[1], size=size):
            head = sound[middle + lag :][:size]
            return tail @ head / np.linalg.norm(tail) / np.linalg.norm(head)

        best = max(range(-160, 161), key=alike)
        assert joint.lag == best
        assert joint.correlation == pytest.approx(alike(best))


def test_recordings_are_within_a_tenth_of_a_decibel_of_their_level(corpus):
    for _, one in of_all_sets(corpus):
        if not one.joints:
            sound = read_sound(SetFiles(corpus, one.subset).sound(one.utterance))
            assert active_level(sound, one.speech) == pytest.approx(-26.0, abs=0.1)


# ---------------------------------------------------------------- labels and their policies


EXAMPLE = Provenance(
    "u",
    "dev",
    "s",
    1000,
    "b",
    (
        Origin(0, 420, "b", 0, 1.0, None),
        Origin(400, 620, "x", 50, 1.0, "A01"),
        Origin(600, 1000, "b", 700, 1.0, None),
    ),
    (Joint(400, 420, 0, 0.5), Joint(600, 620, 3, 0.5)),
    ((100, 350), (450, 580), (700, 900)),
)


@pytest.mark.parametrize(
    ("joints", "nonspeech", "expected"),
    [
        ("spoof", "origin", [(0, 400, "bonafide"), (400, 620, "A01"), (620, 1000, "bonafide")]),
        ("middle", "origin", [(0, 410, "bonafide"), (410, 610, "A01"), (610, 1000, "bonafide")]),
        (
            "spoof",
            "bonafide",
            [
                (0, 400, "bonafide"),
                (400, 420, "A01"),
                (420, 450, "bonafide"),
                (450, 580, "A01"),
                (580, 600, "bonafide"),
                (600, 620, "A01"),
                (620, 1000, "bonafide"),
            ],
        ),
        ("middle", "bonafide", [(0, 450, "bonafide"), (450, 580, "A01"), (580, 1000, "bonafide")]),
    ],
)
def test_policies_by_hand(joints, nonspeech, expected):
    assert labelled_ranges(EXAMPLE, joints=joints, nonspeech=nonspeech) == [LabelledRange(*row) for row in expected]


def test_a_joint_between_two_bona_fide_stretches_is_bona_fide():
    plain = replace(EXAMPLE, origins=tuple(replace(origin, attack=None) for origin in EXAMPLE.origins))
    assert labelled_ranges(plain, joints="spoof", nonspeech="origin") == [LabelledRange(0, 1000, "bonafide")]


def test_labels_cover_every_utterance_and_agree_with_a_count_in_fractions(corpus):
    """The RTTM as text against provenance: every edge is a sample, ranges touch, and begin and end with the sound."""
    for subset in SETS:
        rows = {}
        for line in (SetFiles(corpus, subset).data / "rttm_attacks").read_text().splitlines():
            fields = line.split()
            start, length = Fraction(fields[3]) * RATE, Fraction(fields[4]) * RATE
            assert start.denominator == length.denominator == 1
            rows.setdefault(fields[1], []).append((int(start), int(start + length), fields[7]))
        for one in read_provenance(SetFiles(corpus, subset).provenance):
            ranges = rows.pop(one.utterance)
            assert ranges[0][0] == 0
            assert ranges[-1][1] == one.samples
            assert all(left[1] == right[0] for left, right in pairwise(ranges))
            spoof = np.zeros(one.samples, bool)
            for origin in one.origins:  # any sample that a spoofed recording sounds in
                spoof[origin.start : origin.end] |= origin.attack is not None
            labelled = np.zeros(one.samples, bool)
            for start, end, label in ranges:
                labelled[start:end] = label != "bonafide"
            assert np.array_equal(spoof, labelled)
        assert not rows


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_a_segment_is_spoof_if_any_sample_of_it_is(corpus, resolution):
    size = round(resolution * RATE)
    for subset in SETS:
        safe = np.load(SetFiles(corpus, subset).segments(resolution, ".npz"))
        for one in read_provenance(SetFiles(corpus, subset).provenance):
            spoof = np.zeros(-(-one.samples // size) * size, bool)
            for origin in one.origins:
                spoof[origin.start : origin.end] |= origin.attack is not None
            assert np.array_equal(safe[one.utterance], 1 - spoof.reshape(-1, size).any(axis=1))


def test_segments_of_ranges_that_touch_an_edge():
    ranges = [LabelledRange(0, 160, "bonafide"), LabelledRange(160, 320, "A01"), LabelledRange(320, 400, "bonafide")]
    assert segment_labels(ranges, 400, 160).tolist() == [True, False, True]


def test_the_three_class_rttm_says_where_nobody_speaks(corpus):
    for subset in SETS:
        path = SetFiles(corpus, subset).data / "rttm_3cls"
        labels = {line.split()[7] for line in path.read_text().splitlines()}
        assert "nonspeech" in labels
        assert "bonafide" in labels


# ---------------------------------------------------------------- the same bytes


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_whatever_the_number_of_workers(corpus, tmp_path):
    build(tmp_path / "again", settings=SETTINGS, jobs=2)
    assert contents(tmp_path / "again") == contents(corpus)


def test_another_seed_gives_another_corpus_of_the_same_recordings(corpus, tmp_path):
    made = {}
    for seed in (1, 2):
        settings = Settings(seed=seed, utterances={"eval": 8}, held_out=())
        made[seed] = build(tmp_path / str(seed), corpus / "sources" / "list.csv", settings)
    assert made[1]["sets"]["eval"]["sound_sha256"] != made[2]["sets"]["eval"]["sound_sha256"]


def test_an_utterance_does_not_depend_on_how_many_there_are(corpus, tmp_path):
    for count in (5, 8):
        settings = Settings(utterances={"eval": count}, bonafide_share=0.0)
        build(tmp_path / str(count), corpus / "sources" / "list.csv", settings)
    few, many = (contents(tmp_path / str(count) / "database/eval/con_wav") for count in (5, 8))
    assert few.items() <= many.items()


def test_a_finished_corpus_is_not_built_again(corpus):
    before = (corpus / "corpus.json").stat().st_mtime_ns
    assert build(corpus, settings=SETTINGS)["sets"]["train"]["utterances"] == 8
    assert (corpus / "corpus.json").stat().st_mtime_ns == before


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_build_that_was_killed_goes_on_and_ends_with_the_same_bytes(corpus, tmp_path):
    out = tmp_path / "killed"
    arguments = [
        "--utterances-per-set",
        "train=8,dev=4,eval=10",
        "--speakers",
        "train=2,dev=1,eval=2",
        "--official-labels",
    ]
    arguments += ["--channel", "none"]
    command = [sys.executable, "-c", "from spoofspan.cli import main; main()", "corpus", "build", str(out), *arguments]
    process = subprocess.Popen([*command, "--jobs", "2"], stdout=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        while len(list(out.rglob("*.wav"))) < 10 and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)  # ends when the last worker is gone: they have the same stdout
    assert not (out / "corpus.json").exists()
    (out / "sources/bonafide/.x.wav.0123456789abcdef.part").write_bytes(b"half")  # what a kill may leave behind
    early = {path: path.stat().st_mtime_ns for path in out.rglob("*.wav")}
    assert early
    result = run("build", out, *arguments, "--jobs", "2")
    assert result.exit_code == 0, (result.output, result.exception)
    assert contents(out) == contents(corpus)
    assert all(path.stat().st_mtime_ns == changed for path, changed in early.items())  # not made a second time


def test_a_build_that_was_interrupted_between_utterances_goes_on(corpus, tmp_path, monkeypatch):
    source, settings = corpus / "sources" / "list.csv", replace(SETTINGS, held_out=("A04",))
    build(tmp_path / "whole", source, settings)
    made = []

    def interrupted(*arguments, **chosen):
        if len(made) == 7:
            raise KeyboardInterrupt
        made.append(arguments)
        return whole(*arguments, **chosen)

    whole = building.make_utterance
    monkeypatch.setattr(building, "make_utterance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "parts", source, settings)
    assert not (tmp_path / "parts/corpus.json").exists()
    with pytest.raises(ss.UsageError, match="no corpus"):
        check_corpus(tmp_path / "parts")
    monkeypatch.undo()
    build(tmp_path / "parts", source, settings)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


# ---------------------------------------------------------------- refusals


def test_other_settings_do_not_overwrite_a_corpus_unless_told(corpus, tmp_path):
    out = tmp_path / "small"
    source = corpus / "sources" / "list.csv"
    build(out, source, Settings(utterances={"dev": 2}))
    (out / "notes.txt").write_text("mine")
    with pytest.raises(ss.UsageError, match="--force"):
        build(out, source, Settings(utterances={"dev": 3}))
    build(out, source, Settings(utterances={"dev": 3}), force=True)
    assert len(list((out / "database/dev/con_wav").iterdir())) == 3
    assert (out / "notes.txt").read_text() == "mine"


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    for force in (False, True):
        with pytest.raises(ss.UsageError, match="not empty"):
            build(tmp_path, settings=SETTINGS, force=force)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(ss.UsageError, match="is a file"):
        build(tmp_path / "thesis.tex", settings=SETTINGS)


def test_a_source_is_never_thrown_away(corpus, tmp_path):
    with pytest.raises(ss.UsageError, match="inside of"):
        build(corpus, corpus / "sources" / "list.csv", SETTINGS, force=True)
    with pytest.raises(ss.UsageError, match="there is no"):
        build(tmp_path / "new", tmp_path / "nowhere", SETTINGS)
    assert not (tmp_path / "new").exists()
    assert check_corpus(corpus).passed


def test_recordings_that_changed_meanwhile_are_used_as_they_are_now(corpus, tmp_path, monkeypatch):
    speech = shutil.copytree(corpus / "sources", tmp_path / "speech")
    settings = Settings(utterances={"dev": 4}, held_out=())
    monkeypatch.setattr(building, "write_set", lambda *_: 1 / 0)  # after everything was made
    with pytest.raises(ZeroDivisionError):
        build(tmp_path / "parts", speech / "list.csv", settings)
    monkeypatch.undo()
    for path in speech.rglob("*.wav"):
        path.write_bytes(wav_bytes(read_sound(path)[::-1]))
    for name in ("parts", "whole"):
        build(tmp_path / name, speech / "list.csv", settings)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_a_truncated_recording_is_an_error_unless_told(corpus, tmp_path):
    """A recording with fewer samples than its header states."""
    source = tmp_path / "speech"
    shutil.copytree(corpus / "sources", source)
    cut = sorted(source.rglob("*.wav"))[0]
    cut.write_bytes(cut.read_bytes()[:-20_000])
    settings = replace(SETTINGS, utterances=None, speakers=None, official_labels=False)
    with pytest.raises(ss.DataError, match=rf"{cut.name}: the file is truncated: .*--truncated use"):
        build(tmp_path / "built", source, settings)
    with pytest.warns(ss.SpoofspanWarning, match=rf"{cut.name}: the file is truncated: its header .*; these are used"):
        about = build(tmp_path / "built", source, settings, truncated="use")
    assert about["sets"]["eval"]["utterances"] > 0
    with pytest.raises(ss.UsageError, match="truncated='perhaps'"):
        build(tmp_path / "other", source, settings, truncated="perhaps")
    assert "--truncated" in run("build", "--help").output


def test_more_utterances_than_the_recordings_give_are_refused(corpus, tmp_path):
    with pytest.raises(ss.DataError, match="ask for fewer"):
        build(tmp_path / "x", corpus / "sources" / "list.csv", Settings(utterances={"dev": 1000}))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"joints": "spoofed"}, "did you mean 'spoof'"),
        ({"nonspeech": "ignore"}, "bonafide, origin"),
        ({"utterances": {"test": 3}}, "no set is called 'test'"),
        ({"speakers": {"dev": -1}}, "less than none"),
        ({"seed": -1}, "negative"),
        ({"bonafide_share": 1.5}, "between 0 and 1"),
        ({"level": 3.0}, "dBov"),
        ({"donors": 0}, "at least 1"),
        ({"overlap": 0.0}, "at least 0.001"),
        ({"overlap": 0.05}, "needs pauses of 0.07 s"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, message):
    with pytest.raises(ss.UsageError, match=message):
        Settings(**wrong)


def test_settings_survive_json():
    settings = replace(SETTINGS, held_out=("A01", "A02"))
    assert Settings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


# ---------------------------------------------------------------- the command line


def test_the_command_says_what_it_built(corpus, tmp_path):
    arguments = ["--source", corpus / "sources/list.csv", "--utterances-per-set", "dev=4,eval=6", "--jobs", "1"]
    result = run("build", tmp_path / "c", *arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    assert "* held out: A08 in eval only" in result.stdout
    assert "corpus check" in result.stdout
    as_json = json.loads(run("build", tmp_path / "c", *arguments, "--format", "json").stdout)
    assert as_json == json.loads((tmp_path / "c/corpus.json").read_text())
    assert list(as_json["sets"]) == ["dev", "eval"]
    checked = run("check", tmp_path / "c")
    assert checked.exit_code == 0
    assert "passed" in checked.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["--utterances-per-set", "train=many"],
        ["--utterances-per-set", "train"],
        ["--utterances-per-set", "train=1,train=2"],
        ["--held-out", "none", "--held-out", "A01"],
        ["--held-out", "A09"],
        ["--jobs", "0"],
        ["--joints", "left"],
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_written(tmp_path, arguments):
    result = run("build", tmp_path / "c", *arguments)
    assert isinstance(result.exception, ss.UsageError), (result.output, result.exception)
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("command", ["build", "check", "audit"])
def test_help_has_examples_and_fits_80_columns(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    printed = run(command, "--help").stdout
    assert all(len(line) <= 80 for line in printed.splitlines())
    assert f"    spoofspan corpus {command} my-corpus" in printed.splitlines()
