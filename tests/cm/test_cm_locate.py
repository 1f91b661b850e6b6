"""Locating: ranges are those of scores and a threshold, to the bit; every kind of bad sound gets a sentence."""

import csv
import io
import json
import math
import shutil

import numpy as np
import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")
soundfile = pytest.importorskip("soundfile", reason="soundfile is not installed: pip install 'spoofspan[cm]'")
soxr = pytest.importorskip("soxr", reason="soxr is not installed: pip install 'spoofspan[cm]'")

from cm_corpora import recording, write_wav  # noqa: E402
from command_line import run  # noqa: E402

import spoofspan as ss  # noqa: E402
from spoofspan.cm import checkpoints  # noqa: E402
from spoofspan.cm.config import preset  # noqa: E402
from spoofspan.cm.locate import locate  # noqa: E402
from spoofspan.cm.model import build  # noqa: E402
from spoofspan.cm.scoring import score  # noqa: E402

RATE = 16_000
SPOOFED = (1.0, 2.2)


@pytest.fixture(scope="module")
def model(trained):
    return trained[0]


@pytest.fixture(scope="module")
def uncalibrated(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("uncalibrated")
    for name in ("config.toml", "model.safetensors"):
        shutil.copy(model / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def sounds(tmp_path_factory):
    """Two recordings with a buzz, one without."""
    folder = tmp_path_factory.mktemp("sounds")
    rng = np.random.default_rng(8)
    write_wav(folder / "long.wav", recording(rng, 11.3, [(3.0, 4.5), (9.0, 10.0)]))
    write_wav(folder / "short.wav", recording(rng, 3.0, [SPOOFED]))
    write_wav(folder / "clean.wav", recording(rng, 2.0))
    return folder


def numbers(verdict):
    """Everything that was measured of the ranges; batches of other recordings change the last digits."""
    return [number for one in verdict.ranges for number in one.to_dict().values()]


def test_a_model_of_whole_utterances_is_refused_before_anything_is_scored(sounds, tmp_path, monkeypatch):
    config = preset("small-cpu-multi").changed(
        {"network": {"branches": ["utterance"]}, "training": {"stop_on": "loss"}}
    )
    checkpoints.save(tmp_path, build(config), config, {})
    monkeypatch.setattr("spoofspan.cm.locate.score_sounds", None)
    with pytest.raises(ss.UsageError, match="scores whole utterances only, and cannot say where"):
        locate(sounds, tmp_path, threshold=0.0)


# ---------------------------------------------------------------- ranges


@pytest.mark.parametrize("prior", [0.5, 0.03])
def test_ranges_are_those_of_cm_score_and_a_threshold_to_the_bit(model, sounds, tmp_path, prior):
    found = locate(sounds, model, prior=prior)
    score(model, sounds, tmp_path)
    ratios = ss.read_scores(tmp_path / "llr_fused.parquet")
    assert (ratios.values == found.scores.values).all()
    lengths = {name: soundfile.info(sounds / f"{name}.wav").duration for name in ("long", "short", "clean")}
    made = ss.proposals_from_scores(
        ratios, math.log(prior / (1 - prior)), min_duration=0.1, merge_gap=0.1, durations=lengths
    )
    for row, name in enumerate(made.utterances):
        rows = slice(*made.offsets[row : row + 2])
        mine = [(one.start_ns, one.end_ns, one.strength) for one in found[name].ranges]
        assert mine == list(
            zip(made.starts[rows].tolist(), made.ends[rows].tolist(), made.confidences[rows].tolist(), strict=True)
        )


def test_the_buzz_is_found_and_the_rest_is_not(model, sounds):
    found = locate(sounds, model)
    spoofed = np.zeros(300, bool)
    for one in found["short"].ranges:
        spoofed[round(one.start * 100) : round(one.end * 100)] = True
    inside = np.zeros(300, bool)
    inside[100:220] = True
    assert spoofed[inside].mean() > 0.6
    assert spoofed[~inside].mean() < 0.4


def test_probabilities_are_bayes_of_the_ratios(model, sounds):
    for prior in (0.5, 0.1):
        found = locate(sounds / "short.wav", model, prior=prior, threshold=1.0)["short"]
        assert found.ranges
        for one in found.ranges:
            own = found.values[round(one.start / 0.02) : math.ceil(one.end / 0.02 - 1e-6)]
            odds = prior / (1 - prior) * np.exp(-own)
            assert one.probability == pytest.approx(float((odds / (1 + odds)).mean()))
            assert 0 <= one.probability <= 1
    for wrong in (0, 1, -0.2, 2):
        with pytest.raises(ss.UsageError, match="prior"):
            locate(sounds, model, prior=wrong)


def test_a_model_that_says_less_than_nothing_is_warned_of(model, sounds, tmp_path):
    folder = tmp_path / "useless"
    shutil.copytree(model, folder)
    card = json.loads((folder / "card.json").read_text())
    card["about"]["figures"]["fused"]["held-out-cllr"] = 1.25
    (folder / "card.json").write_text(json.dumps(card))
    with pytest.warns(ss.SpoofspanWarning, match=r"costs 1\.25 \(Cllr\), and to say nothing costs 1"):
        locate(sounds / "clean.wav", folder)


def test_a_model_without_calibration_needs_a_threshold(uncalibrated, sounds, tmp_path):
    with pytest.raises(ss.UsageError, match=r"no calibration.*--threshold"):
        locate(sounds, uncalibrated)
    found = locate(sounds, uncalibrated, threshold=0.3)
    assert (found.prior, found.branch) == (None, None)
    assert all(one.probability is None for recording in found.recordings for one in recording.ranges)
    assert "strength" in str(found)
    assert "probability" not in str(found)
    assert all(recording.domain is None for recording in found.recordings)
    score(uncalibrated, sounds, tmp_path)
    assert (ss.read_scores(tmp_path / "scores_20ms.parquet").values == found.scores.values).all()
    assert not list(tmp_path.glob("llr*"))


def test_a_zip_says_what_its_folder_says(model, sounds, tmp_path):
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", model)
    plain, packed = (locate(sounds, one).to_dict() for one in (model, archive))
    assert plain["recordings"] == packed["recordings"]


# ---------------------------------------------------------------- what recordings may be


def test_every_channel_is_judged(model, sounds, tmp_path):
    both = np.stack([soundfile.read(sounds / f"{name}.wav")[0][: 2 * RATE] for name in ("short", "clean")], axis=1)
    soundfile.write(tmp_path / "call.wav", both, RATE)
    found = locate(tmp_path / "call.wav", model)
    assert [(one.recording, one.channel) for one in found.recordings] == [("call_ch0", "0"), ("call_ch1", "1")]
    for number in "01":
        alone = locate(tmp_path / "call.wav", model, channel=number)["call"]
        assert numbers(alone) == pytest.approx(numbers(found[f"call_ch{number}"]), rel=1e-4)
    assert [one.recording for one in locate(tmp_path / "call.wav", model, channel="mix").recordings] == ["call"]
    with pytest.raises(ss.SpoofspanError, match=r"there is no channel 1, only 0 \(it is mono\)"):
        locate(sounds / "clean.wav", model, channel="1")
    write_wav(tmp_path / "call_ch1.wav", both[:, 0])
    with pytest.raises(ss.DataError, match="call_ch1"):
        locate(tmp_path, model)


@pytest.mark.parametrize("rate", [8_000, 44_100])
def test_any_rate_is_judged(model, sounds, tmp_path, rate):
    sound, _ = soundfile.read(sounds / "short.wav")
    soundfile.write(tmp_path / "other.flac", soxr.resample(sound, RATE, rate), rate)
    found = locate(tmp_path / "other.flac", model)["other"]
    assert found.seconds == pytest.approx(3.0, abs=0.001)
    assert any("8,000 samples a second: nothing above 4 kHz" in note for note in found.notes) == (rate == 8_000)


def test_lists_and_standard_input(model, sounds, capsys, monkeypatch):
    (sounds / "all.lst").write_text("short.wav\nfirst clean.wav\n")
    assert [one.recording for one in locate(sounds / "all.lst", model).recordings] == ["short", "first"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((sounds / "short.wav").read_bytes())))
    code, said = run(["locate", "-", "--model", model, "-q"], capsys)
    assert code == 0
    assert "stdin: " in said.out
    (sounds / "all.lst").unlink()


# ---------------------------------------------------------------- bad sound


def bad_sounds(folder, sounds):
    """A file of each kind, with what is said of it."""
    whole = (sounds / "short.wav").read_bytes()
    (folder / "truncated.wav").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.wav").write_bytes(b"")
    write_wav(folder / "headeronly.wav", np.zeros(0))
    write_wav(folder / "silent.wav", np.zeros(RATE))
    (folder / "picture.wav").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(500))
    write_wav(folder / "blink.wav", np.full(100, 0.1))
    soundfile.write(folder / "nan.wav", np.full(RATE, np.nan), RATE, subtype="FLOAT")
    flac = folder / "damaged.flac"
    soundfile.write(flac, recording(np.random.default_rng(1), 20.0), RATE)
    content = bytearray(flac.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 4000] = bytes(4000)
    flac.write_bytes(content)
    return {
        "truncated.wav": "truncated: its header states 48,000 samples",
        "empty.wav": "the file is empty",
        "headeronly.wav": "there is no sound in the file",
        "silent.wav": "only silence",
        "picture.wav": "cannot be read as sound",
        "blink.wav": "too short for a single score",
        "nan.wav": "not a finite number",
        "damaged.flac": "cannot be read to its end",
    }


def test_each_kind_of_bad_sound_gets_its_sentence_and_no_number(model, sounds, tmp_path, capsys):
    said_of = bad_sounds(tmp_path, sounds)
    shutil.copy(sounds / "short.wav", tmp_path / "good.wav")
    found = locate(tmp_path, model)
    assert numbers(found["good"]) == pytest.approx(numbers(locate(sounds / "short.wav", model)["short"]), rel=1e-4)
    for name, words in said_of.items():
        one = found[name.partition(".")[0]]
        assert any(word in one.problem for word in words.split("|")), (name, one.problem)
        assert one.ranges == ()
        assert one.verdict.startswith("no verdict: ")
    assert set(found.references.utterances) == {"good"}
    outs = [tmp_path / name for name in ("page.html", "found.csv", "found.json")]
    code, said = run(["locate", tmp_path, "--model", model, "-q", *(x for out in outs for x in ("--out", out))], capsys)
    assert code == 3
    for out in outs:  # the files speak of flags, too
        assert "with --truncated use" in out.read_text()
        assert "truncated='use'" not in out.read_text()
    assert f"{len(said_of)} of {len(said_of) + 1} recordings could not be judged" in said.err
    assert "good: " in said.out
    assert "get it again, or take what is there with --truncated use\n" in said.out
    assert "warning: silent" not in said.out  # there is nothing to warn of where nothing is said
    code, said = run(["locate", tmp_path / "picture.wav", "--model", model, "-q"], capsys)
    assert (code, said.out) == (3, "")


def test_a_recording_shorter_than_any_range_has_no_verdict(model, tmp_path, capsys):
    write_wav(tmp_path / "bit.wav", recording(np.random.default_rng(3), 0.06, [(0.0, 0.06)]))
    command = ["locate", tmp_path / "bit.wav", "--model", model, "-q"]
    code, said = run(command, capsys)
    assert code == 3
    assert "no verdict: it lasts 60 ms, and ranges shorter than --min-duration 0.1 s are dropped" in said.out
    code, said = run([*command, "--min-duration", "0.02"], capsys)
    assert code == 0
    assert "bit: 1 suspected range" in said.out


def test_a_recording_that_is_not_there_is_a_key_error(model, sounds):
    with pytest.raises(KeyError):
        locate(sounds / "clean.wav", model)["unclean"]


def test_truncated_sound_is_used_where_that_is_asked_for(model, sounds, tmp_path):
    bad_sounds(tmp_path, sounds)
    with pytest.warns(ss.SpoofspanWarning, match="truncated"):
        found = locate(tmp_path / "truncated.wav", model, truncated="use")
    assert found["truncated"].seconds == pytest.approx(1.5, abs=0.01)


def test_what_a_listener_would_say_first(model, tmp_path):
    rng = np.random.default_rng(2)
    write_wav(tmp_path / "clipped.wav", np.clip(60 * recording(rng, 2.0), -1, 1))
    padded = np.concatenate([recording(rng, 0.5), np.zeros(8 * RATE)])
    write_wav(tmp_path / "padded.wav", padded)
    low = soxr.resample(soxr.resample(recording(rng, 2.0), RATE, 8_000), 8_000, RATE)
    write_wav(tmp_path / "telephone.wav", low)
    write_wav(tmp_path / "short.wav", recording(rng, 0.3))
    write_wav(tmp_path / "fine.wav", recording(rng, 2.0))
    found = locate(tmp_path, model)
    wanted = {
        "clipped": "are clipped",
        "padded": "94 % of it is digital silence",
        "telephone": "nothing is heard above 3.",
        "short": "it lasts 0.30 s",
    }
    for name, words in wanted.items():
        assert [note for note in found[name].notes if words in note], (name, found[name].notes)
    assert found["fine"].notes == ()


# ---------------------------------------------------------------- out of domain


def test_sound_of_another_kind_is_warned_of_before_the_verdict(model, trained, tmp_path, capsys):
    k = np.arange(3 * RATE) / RATE
    tones = sum(np.sin(2 * np.pi * pitch * k) * np.exp(-3 * (k % 0.5)) for pitch in (220, 277, 330))
    write_wav(tmp_path / "music.wav", 0.1 * tones)
    code, said = run(["locate", tmp_path / "music.wav", "--model", model, "-q"], capsys)
    assert code == 0
    assert "warning: music: it does not sound like what the model was trained on" in said.out
    assert said.out.index("warning: music") < said.out.index("\nmusic: ")
    write_wav(tmp_path / "again.wav", 0.1 * tones)
    said = run(["locate", tmp_path, "--model", model, "-q"], capsys)[1]
    first = "warning: the model was not trained on sound like that of 2 of 2 recordings; its verdict may be wrong"
    assert said.out.index(first) < said.out.index("warning: again") < said.out.index("\nagain: ")
    assert said.out.index("\nagain: ") < said.out.index("warning: music") < said.out.index("\nmusic: ")
    said = run(["locate", tmp_path, "--model", model, "-q", "--format", "csv"], capsys)[1]
    assert all("does not sound like" in line for line in said.out.splitlines()[1:])
    own = dict(zip(trained[1].dev.references.utterances, trained[1].dev.sounds, strict=True))
    found = locate(own, model)
    assert sum(not one.domain.known for one in found.recordings) <= 2  # 5 % of 32, by which the limit was set


# ---------------------------------------------------------------- results


def test_results_are_text_json_and_html(model, sounds):
    found = locate(sounds, model)
    text = str(found)
    assert "suspected if the strength is over 0; probabilities for a prior of 0.5" in text
    assert "short: " in text
    plain = json.loads(json.dumps(found.to_dict()))
    assert [one["recording"] for one in plain["recordings"]] == ["clean", "long", "short"]
    assert plain["recordings"][2]["ranges"][0].keys() == {"start", "end", "strength", "probability"}
    assert plain["model"]["card"]["licence"] == "not stated"
    assert "<table" in found._repr_html_()


def test_what_files_hold_is_read_back(model, sounds, tmp_path, capsys):
    targets = [tmp_path / "found.rttm", tmp_path / "found.json", tmp_path / "found.csv", tmp_path / "{}.TextGrid"]
    flags = [part for target in [*targets, tmp_path / "{}.txt"] for part in ("--out", target)]
    code, _ = run(["locate", sounds, "--model", model, "-q", *flags], capsys)
    assert code == 0
    found = locate(sounds, model)
    expected = found.references
    assert ss.read_references(tmp_path / "found.rttm").labels.tolist() == expected.labels.tolist()
    grid = ss.read_references(tmp_path / "short.TextGrid")
    assert (grid.starts == expected.take(np.array([2])).starts).all()
    assert (tmp_path / "clean.txt").exists()
    track = ss.read_references(tmp_path / "short.txt", durations={"short": 3.0})
    assert track.starts.size == len(found["short"].ranges)
    assert json.loads((tmp_path / "found.json").read_text()) == json.loads(json.dumps(found.to_dict()))
    assert (tmp_path / "found.csv").read_text().splitlines()[0].startswith("recording,verdict,start s,end s")
    for name, words in (("one.TextGrid", "one each with"), ("found.docx", "its ending says"), ("found.rttm", "exists")):
        code, said = run(["locate", sounds, "--model", model, "-q", "--out", tmp_path / name], capsys)
        assert code == 2
        assert words in said.err


def test_a_name_with_braces_is_a_file_for_each_recording_of_any_kind(model, sounds, tmp_path, capsys):
    endings = ("json", "csv", "html", "rttm")
    flags = [part for ending in endings for part in ("--out", tmp_path / f"{{}}.{ending}")]
    assert run(["locate", sounds / "short.wav", sounds / "clean.wav", "--model", model, "-q", *flags], capsys)[0] == 0
    names = {f"{name}.{ending}" for ending in endings for name in ("short", "clean")}
    assert {path.name for path in tmp_path.iterdir()} == names
    plain = json.loads((tmp_path / "clean.json").read_text())
    assert [one["recording"] for one in plain["recordings"]] == ["clean"]
    code, said = run(["locate", sounds, "--model", model, "--out", tmp_path / "nowhere" / "{}.txt"], capsys)
    assert (code, said.out) == (2, "")  # before the work
    assert "there is no folder" in said.err


def test_json_has_no_infinity(model, sounds, tmp_path, capsys):
    target = tmp_path / "all.json"
    command = ["locate", sounds / "clean.wav", "--model", model, "-q", "--threshold", "inf"]
    _, said = run([*command, "--format", "json", "--out", target], capsys)
    for text in (said.out, target.read_text()):
        assert json.loads(text, parse_constant=pytest.fail)["threshold"] == "inf"


def test_ids_cannot_leave_the_folder_or_act_on_the_terminal(model, sounds, tmp_path, capsys):
    (tmp_path / "list.lst").write_text(f"../e\x1b[31mvil {sounds / 'short.wav'}\n")
    command = ["locate", tmp_path / "list.lst", "--model", model, "-q"]
    code, said = run(command, capsys)
    assert code == 0
    assert "\x1b" not in said.out
    code, said = run([*command, "--out", tmp_path / "{}.TextGrid"], capsys)
    assert code == 2
    assert "is no file name" in said.err
    assert not [*tmp_path.rglob("*vil*"), *tmp_path.parent.glob("*vil*")]


def test_a_word_that_is_no_model_is_answered_with_what_a_model_is(sounds, capsys):
    code, said = run(["locate", sounds / "short.wav", "--model", "nothing"], capsys)
    assert code == 2
    for words in ("cm train", "cm convert", "OWNER/NAME@COMMIT", "builtin:telephone"):
        assert words in said.err


# ---------------------------------------------------------------- chance, channels, cautions


def test_a_range_with_less_spoof_than_the_prior_says_is_not_suspected(model, sounds):
    given = locate(sounds / "long.wav", model, threshold=0.0, merge_gap=6)["long"]
    (bridged,) = given.ranges  # two spoofs, and more between them than in them
    assert bridged.probability < 0.5
    assert locate(sounds / "long.wav", model, merge_gap=6)["long"].ranges == ()


def test_a_recording_has_an_answer_and_a_second_opinion(model, sounds):
    found = locate(sounds / "short.wav", model)
    one = found["short"]
    assert found.chance is not None
    assert one.answer == found.chance.answer(len(one.ranges), 3.0, found.threshold)
    assert one.check.channel == "200 to 6,400 Hz, noise of -65 dBov"
    assert 0 <= one.check.same <= 1
    assert all(text in str(found) for text in (str(one.answer), str(one.check), "false ranges a minute are expected"))
    assert locate(sounds / "short.wav", model, merge_gap=0.3)["short"].answer is None  # not what was counted


def test_a_model_of_a_channel_hears_recordings_through_it(model, sounds, tmp_path):
    folder = tmp_path / "channel"
    shutil.copytree(model, folder)
    card = json.loads((folder / "card.json").read_text())
    card["about"]["data"]["training"]["channel"] = "150 to 6,850 Hz, noise of -90 dBov"
    (folder / "card.json").write_text(json.dumps(card))
    rumbling = soundfile.read(sounds / "short.wav")[0] * 0.5 + 0.3 * np.sin(np.arange(3 * RATE) * 0.01)
    write_wav(tmp_path / "rumble.wav", rumbling)
    shutil.copy(sounds / "short.wav", tmp_path / "plain.wav")
    found = locate([tmp_path / "rumble.wav", tmp_path / "plain.wav"], folder)
    assert found["rumble"].values == pytest.approx(found["plain"].values, abs=0.5)
    assert found["rumble"].domain.distance == pytest.approx(found["plain"].domain.distance, rel=0.1)
    assert "through the channel of its training before scoring: 150 to 6,850 Hz" in str(found)


def test_files_of_labels_carry_the_caution_and_tables_are_numbers(model, sounds, tmp_path):
    found = locate(sounds, model)
    found.write(tmp_path / "a.rttm")
    found.write(tmp_path / "{}.TextGrid")
    found.write(tmp_path / "a.csv")
    comments = [line for line in (tmp_path / "a.rttm").read_text().splitlines() if line.startswith(";;")]
    assert "not proven" in comments[0]
    assert any(str(found["short"].check) in line for line in comments)
    assert '"caution"' in (tmp_path / "short.TextGrid").read_text()
    assert "not proven" in (tmp_path / "short.TextGrid").read_text()
    head, *rows = csv.reader((tmp_path / "a.csv").read_text().splitlines())
    assert {row[1] for row in rows} <= {"suspected", "nothing", "no verdict"}
    numbers = [row[head.index("start s") : head.index("warning")] for row in rows]
    assert all(cell == "" or math.isfinite(float(cell)) for row in numbers for cell in row)


def test_arguments_are_checked_before_anything_is_scored(model, sounds, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("spoofspan.cm.locate.load_model", lambda *_: pytest.fail("the model is not needed to refuse"))
    for words in (("--out", tmp_path / "a.TextGrid"), ("--threshold", "nan"), ("--prior", "2"), ("--smoothing", "2")):
        code, _ = run(["locate", sounds, "--model", model, *words], capsys)
        assert code == 2
