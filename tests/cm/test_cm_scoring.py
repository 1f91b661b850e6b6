"""Scoring: exact times, any length, any rate, files that the rest of spoofspan reads; and the detector of joints."""

import io
import json
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")
soundfile = pytest.importorskip("soundfile", reason="soundfile is not installed: pip install 'spoofspan[cm]'")
soxr = pytest.importorskip("soxr", reason="soxr is not installed: pip install 'spoofspan[cm]'")

from click.testing import CliRunner  # noqa: E402
from cm_corpora import make_data, recording, write_wav  # noqa: E402

import spoofspan as ss  # noqa: E402
from spoofspan.cli import app  # noqa: E402
from spoofspan.cm import checkpoints, scorers  # noqa: E402
from spoofspan.cm.config import BASELINE, SMALL_MULTI  # noqa: E402
from spoofspan.cm.frame_times import SEGMENT_BRANCHES, frame_count, resolution, samples_of  # noqa: E402
from spoofspan.cm.model import build  # noqa: E402
from spoofspan.cm.scorers import JointDetector, load_scorer  # noqa: E402
from spoofspan.cm.scoring import CONTEXT, find_recordings, load_model, score_sounds, windows_of  # noqa: E402
from spoofspan.formats.reading import read_utterance_scores  # noqa: E402
from spoofspan.formats.sound import Sound, sounds_in  # noqa: E402

torch.set_num_threads(1)
RATE = 16_000


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A network that has learned nothing: scores differ, which is all that is needed."""
    torch.manual_seed(5)
    folder = tmp_path_factory.mktemp("checkpoint")
    checkpoints.save(folder, build(SMALL_MULTI), SMALL_MULTI, {"epoch": 0})
    return folder


def one_score(scorer, sound):
    return score_sounds(scorer, {"u": sound})[0]


# ---------------------------------------------------------------- windows


@pytest.mark.parametrize("frames", [1, 40, 95, 96, 97, 128, 150, 161, 500])
@pytest.mark.parametrize("block", [100, 7_000, 1 << 18])
def test_windows_keep_every_frame_once_with_context(frames, block):
    wave = np.arange(samples_of(frames) + 100, dtype=np.float32)
    pieces = [wave[at : at + block] for at in range(0, wave.size, block)]
    found = [window for window, _ in windows_of(0, pieces, 96)]
    kept = []
    for window in found:
        start = int(window.wave[0]) // 320
        assert start % 32 == 0
        assert frame_count(window.wave.size) <= 96
        last = frame_count(window.wave.size) if window.last is None else window.last
        kept += range(start + window.first, start + last)
        assert window.first in (0, CONTEXT) or window is found[0]
        assert window.last is None or window.last + CONTEXT == 96
    assert kept == list(range(frame_count(wave.size)))
    assert [window.last is None for window in found] == [False] * (len(found) - 1) + [True]


@pytest.mark.parametrize("scorer", ["network", "joints"])
def test_a_long_recording_has_the_scores_of_every_window(scorer, checkpoint, tmp_path):
    """Longer than the network allows: as many scores as there are windows of each resolution, up to the end."""
    seconds = 31.7 if scorer == "network" else 95.3
    write_wav(tmp_path / "long.wav", recording(np.random.default_rng(1), seconds))
    scored = one_score(
        load_scorer(checkpoint) if scorer == "network" else JointDetector(), Sound(tmp_path / "long.wav", "l")
    )
    frames = (round(seconds * RATE) - 400) // 320 + 1
    for scale, name in enumerate(SEGMENT_BRANCHES):
        assert scored[name].values.size == -(-frames // 2**scale)
        assert scored[name].hop == resolution(scale)
        assert scored[name].higher == "bonafide"


def test_windows_far_from_a_change_do_not_see_it(checkpoint, tmp_path):
    """Scores depend on the window they are kept of, and on nothing else."""
    network = checkpoints.load(checkpoint)
    rng = np.random.default_rng(3)
    sound = rng.normal(0, 0.1, samples_of(320 * 3)).astype(np.float32)
    waves = {}
    for name, other in (("a", rng.normal(0, 0.1, 320 * 320)), ("b", rng.normal(0, 0.1, 320 * 320))):
        wave = sound.copy()
        wave[: 320 * 200] = other[: 320 * 200]
        write_wav(tmp_path / f"{name}.wav", wave)
        waves[name] = one_score(load_scorer(checkpoint), Sound(tmp_path / f"{name}.wav", name))["20ms"].values
    assert network.config.network.longest == 384
    assert (waves["a"][:200] != waves["b"][:200]).any()
    # the second window starts at frame 320, whose scores are kept from 352 on
    np.testing.assert_array_equal(waves["a"][352:], waves["b"][352:])


def test_other_batches_give_the_same_scores(checkpoint, tmp_path):
    rng = np.random.default_rng(9)
    for i, seconds in enumerate((0.01, 3.0, 0.5, 9.0, 1.234, 2.0, 0.3, 17.0, 4.0, 0.7)):
        write_wav(tmp_path / f"u{i}.wav", recording(rng, seconds))
    scorer = load_scorer(checkpoint)
    sounds = sounds_in(tmp_path)
    together, seconds = score_sounds(scorer, sounds)
    assert seconds == pytest.approx(37.744)
    for i, (name, sound) in enumerate(sounds.items()):
        alone = one_score(scorer, sound)
        assert together["utterance"].values[i] == pytest.approx(alone["utterance"].values[0], abs=2e-5)
        for branch in SEGMENT_BRANCHES:
            offsets = together[branch].offsets
            mine = together[branch].values[offsets[i] : offsets[i + 1]]
            np.testing.assert_allclose(mine, alone[branch].values, atol=2e-5, err_msg=name)


# ---------------------------------------------------------------- files in and out


def test_the_files_are_those_that_eval_reads(tmp_path):
    """Train the baseline, score, evaluate, all by the command line; the sample that buzzes is found."""
    make_data(tmp_path / "data", train=10, dev=8)
    runner = CliRunner()
    sets = ["--train", f"partialspoof:{tmp_path}/data:train", "--dev", f"partialspoof:{tmp_path}/data:dev"]
    changes = [
        "--change",
        "training.epochs=6",
        "--change",
        "training.batch_size=2",
        "--change",
        "training.halve_every=0",
    ]
    done = runner.invoke(
        app, ["cm", "train", "--preset", "baseline", *sets, *changes, "--out", f"{tmp_path}/base", "-q"]
    )
    assert done.exit_code == 0, done.output
    out = tmp_path / "scores"
    words = ["cm", "score", f"{tmp_path}/base", "--dataset", f"partialspoof:{tmp_path}/data:dev", "--out", str(out)]
    done = runner.invoke(app, [*words, "--official-pickle", "dev", "--format", "json", "-q"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["recordings"] == 8
    dataset = ss.read_dataset(f"partialspoof:{tmp_path}/data:dev")
    for scale, name in enumerate(SEGMENT_BRANCHES):
        ours = ss.read_scores(out / f"scores_{name}.parquet")
        assert ours.hop == resolution(scale)
        official = dataset.scores(resolution(scale), out)
        np.testing.assert_array_equal(official.values.astype(np.float32), ours.values)
        assert official.higher == ours.higher == "bonafide"
    whole = read_utterance_scores(out / "scores_utterance.tsv")
    assert whole.higher == "bonafide"
    assert len(whole) == 8
    words_of_eval = ["eval", "--dataset", f"partialspoof:{tmp_path}/data:dev", f"{out}/scores_20ms.parquet"]
    measured = runner.invoke(app, [*words_of_eval, "-m", "range-eer", "--format", "json", "-q"])
    assert measured.exit_code == 0, measured.output
    assert json.loads(measured.stdout)["measurements"][0]["value"] < 0.05
    again = runner.invoke(app, words)
    assert isinstance(again.exception, ss.UsageError)
    assert "exists" in str(again.exception)
    told = runner.invoke(app, ["cm", "info", f"{tmp_path}/base", "--format", "json"])
    assert json.loads(told.stdout)["parameters"] == 7 * 202
    assert "range-eer" in runner.invoke(app, ["cm", "info", f"{tmp_path}/base"]).stdout


@pytest.mark.parametrize(("rate", "kind"), [(8_000, "wav"), (44_100, "flac"), (48_000, "ogg"), (16_000, "flac")])
def test_sound_of_any_rate_and_kind(rate, kind, tmp_path):
    """A tone stays the tone it was, in time and pitch."""
    t = np.arange(round(2.5 * rate)) / rate
    tone = 0.3 * np.sin(2 * np.pi * 440 * t) * (t > 1.0)
    path = tmp_path / f"u.{kind}"
    soundfile.write(path, tone, rate)
    sound = Sound(path, "u")
    whole = sound.read()
    assert abs(sound.samples - 2.5 * RATE) <= 1
    assert abs(whole.size - 2.5 * RATE) <= 1
    expected = 0.3 * np.sin(2 * np.pi * 440 * np.arange(whole.size) / RATE) * (np.arange(whole.size) > RATE)
    away = np.abs(np.arange(whole.size) - RATE) > 400
    away[-400:] = False
    assert np.abs(whole - expected)[away].max() < (0.05 if kind == "ogg" else 0.005)
    np.testing.assert_array_equal(np.concatenate(list(sound.blocks())), whole)
    part = sound.read(12_345, 23_456)
    assert part.size == 11_111
    np.testing.assert_allclose(part, whole[12_345:23_456], atol=0.02 if kind == "ogg" else 1e-6)


def test_channels_are_chosen_never_guessed(tmp_path):
    both = np.stack((np.full(1_600, 0.25), np.full(1_600, 0.75)), axis=1)
    write_wav(tmp_path / "u.wav", both)
    with pytest.raises(ss.UsageError, match="--channel"):
        Sound(tmp_path / "u.wav", "u").read()
    for channel, value in (("0", 0.25), ("1", 0.75), ("mix", 0.5)):
        assert Sound(tmp_path / "u.wav", "u", channel).read() == pytest.approx(value)
    with pytest.raises(ss.UsageError, match="no channel 2"):
        Sound(tmp_path / "u.wav", "u", "2").read()
    with pytest.raises(ss.UsageError, match="must be mix"):
        find_recordings(tmp_path, channel="left")


def test_what_is_no_sound_is_refused(tmp_path):
    (tmp_path / "u.wav").write_bytes(b"RIFF and nothing")
    with pytest.raises(ss.DataError, match=r"u\.wav"):
        Sound(tmp_path / "u.wav", str(tmp_path / "u.wav")).read()
    write_wav(tmp_path / "empty.wav", np.zeros(0))
    with pytest.raises(ss.DataError, match="no sound"):
        Sound(tmp_path / "empty.wav", "e").read()
    soundfile.write(tmp_path / "bad.wav", np.array([0.1, np.nan, 0.2]), RATE, subtype="FLOAT")
    with pytest.raises(ss.DataError, match="finite"):
        Sound(tmp_path / "bad.wav", "b").read()


def test_wav_files_are_read_without_soundfile_too(tmp_path, monkeypatch):
    from spoofspan.formats import sound as audio

    samples = recording(np.random.default_rng(0), 0.7)
    write_wav(tmp_path / "u.wav", samples)
    sound = Sound(tmp_path / "u.wav", "u")
    before, part = sound.read(), sound.read(1_000, 2_000)
    monkeypatch.setattr(audio, "find_spec", lambda name: None)
    np.testing.assert_array_equal(sound.read(), before)
    np.testing.assert_array_equal(sound.read(1_000, 2_000), part)
    write_wav(tmp_path / "slow.wav", samples, rate=8_000)
    with pytest.raises(ss.UsageError, match="soxr"):
        Sound(tmp_path / "slow.wav", "slow").read()
    soundfile.write(tmp_path / "v.flac", samples, RATE)
    with pytest.raises(ss.UsageError, match="soundfile"):
        Sound(tmp_path / "v.flac", "v").read()


def test_recordings_come_from_folders_lists_and_standard_input(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    (tmp_path / "deep").mkdir()
    for name in ("a", "b", "deep/c"):
        write_wav(tmp_path / f"{name}.wav", recording(rng, 0.3))
    find = find_recordings
    assert list(find(tmp_path)) == ["a", "b", "c"]
    assert list(find(tmp_path / "a.wav")) == ["a"]
    (tmp_path / "some.lst").write_text(f"a.wav\n\n{tmp_path}/deep/c.wav\n")
    assert list(find(tmp_path / "some.lst")) == ["a", "c"]
    (tmp_path / "named.scp").write_text(f"first a.wav\nsecond {tmp_path}/deep/c.wav\n")
    assert list(find([tmp_path / "named.scp", tmp_path / "b.wav"])) == ["first", "second", "b"]

    def standard_input(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return find("-")

    assert list(standard_input(f"{tmp_path}/b.wav\n".encode())) == ["b"]
    by_pipe = standard_input((tmp_path / "a.wav").read_bytes())
    np.testing.assert_array_equal(by_pipe["stdin"].read(), find(tmp_path / "a.wav")["a"].read())
    if hasattr(os, "mkfifo"):  # as <(ls *.wav) is
        os.mkfifo(tmp_path / "fifo")
        writer = threading.Thread(target=(tmp_path / "fifo").write_text, args=(f"{tmp_path}/b.wav\n",))
        writer.start()
        assert list(find(tmp_path / "fifo")) == ["b"]
        writer.join()
    for wrong in ("missing.wav", "."):
        with pytest.raises(ss.UsageError):
            find(tmp_path / "nowhere" / wrong)
    (tmp_path / "some.lst").write_text("a.wav\nmissing.wav\n")
    with pytest.raises(ss.DataError, match=r"some\.lst:2"):
        find(tmp_path / "some.lst")
    with pytest.raises(ss.DataError, match="both be utterance 'a'; name it once"):
        find([tmp_path / "a.wav", tmp_path / "deep" / ".." / "a.wav"])


def test_lists_may_have_tabs_and_a_byte_order_mark(tmp_path):
    write_wav(tmp_path / "a b.wav", recording(np.random.default_rng(0), 0.1))
    (tmp_path / "wav.scp").write_text("\ufeffa b.wav\r\ncall\ta b.wav\r\n", encoding="utf-8", newline="")
    assert list(find_recordings(tmp_path / "wav.scp")) == ["a b", "call"]


def test_one_name_for_two_files_is_told_from_one_file_named_twice(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write_wav(tmp_path / folder / "a.wav", recording(np.random.default_rng(0), 0.1))
    words = [tmp_path / "one", tmp_path / "two" / "a.wav"]
    with pytest.raises(ss.DataError, match="rename one, or give ids in a list"):
        find_recordings(words)
    (tmp_path / "both.lst").write_text("first one/a.wav\nsecond two/a.wav\n")
    assert list(find_recordings(tmp_path / "both.lst")) == ["first", "second"]


def test_a_folder_without_sound_is_not_passed_over(tmp_path, monkeypatch):
    write_wav(tmp_path / "a.wav", recording(np.random.default_rng(0), 0.1))
    (tmp_path / "phone").mkdir()
    (tmp_path / "phone" / "call.m4a").write_bytes(b"....ftypM4A ")
    with pytest.raises(ss.UsageError, match=r"no sound file in '.*phone' \(\.wav, "):
        find_recordings([tmp_path / "a.wav", tmp_path / "phone"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(ss.UsageError, match="no sound file in standard input"):
        find_recordings("-")


def test_what_is_no_checkpoint_is_refused(checkpoint, tmp_path):
    with pytest.raises(ss.UsageError, match="is no model"):
        load_model(tmp_path)
    broken = tmp_path / "broken"
    checkpoints.save(broken, build(SMALL_MULTI), SMALL_MULTI, {})
    (broken / "model.safetensors").write_bytes((broken / "model.safetensors").read_bytes()[:5000])
    with pytest.raises(ss.DataError, match="cannot be read"):
        load_scorer(broken)
    checkpoints.save(broken, build(BASELINE), BASELINE, {})
    (broken / "config.toml").write_text(SMALL_MULTI.to_toml())
    with pytest.raises(ss.DataError, match="do not fit"):
        load_scorer(broken)
    checkpoints.save(broken, build(SMALL_MULTI), SMALL_MULTI, {})
    tensors, about = checkpoints.read_tensors(broken / "model.safetensors")
    name, tensor = next((name, one) for name, one in tensors.items() if one.ndim == 2)
    checkpoints.write_tensors(broken / "model.safetensors", tensors | {name: tensor[:-1]}, about)
    found, meant = (tuple(one.shape) for one in (tensor[:-1], tensor))
    message = (
        f"model.safetensors: the tensor {name} has shape {found}, config.toml asks for {meant}; the weights do not fit"
    )
    with pytest.raises(ss.DataError, match=re.escape(message)):
        load_scorer(broken)


# ---------------------------------------------------------------- the detector of joints


def test_the_detector_finds_a_splice_and_coarser_windows_have_the_lowest_score(tmp_path):
    rng = np.random.default_rng(2)
    low = np.convolve(rng.normal(0, 0.3, 3 * RATE + 50), np.hanning(51) / 25, "valid")
    sound = np.concatenate((rng.normal(0, 0.05, 2 * RATE), low))
    write_wav(tmp_path / "u.wav", sound)
    scored = one_score(JointDetector(), Sound(tmp_path / "u.wav", "u"))
    frames = scored["20ms"].values
    assert abs(int(frames.argmin()) - 100) <= 1  # the splice is at 2 s
    for scale, name in enumerate(SEGMENT_BRANCHES):
        size = 2**scale
        expected = [frames[at : at + size].min() for at in range(0, frames.size, size)]
        np.testing.assert_array_equal(scored[name].values, expected)
    assert scored["utterance"].values[0] == frames.min()


def test_jumps_are_those_of_a_plain_loop():
    wave = np.random.default_rng(1).normal(0, 0.1, 9_000).astype(np.float32)
    bands = scorers.band_levels(wave)
    level = 10 * np.log10((10 ** (bands / 10)).sum(1))
    expected = []
    for k in range(len(bands)):
        before, after = slice(max(k - scorers.AROUND, 0), k + 1), slice(k, k + 1 + scorers.AROUND)
        shape = bands - level[:, None]
        spectral = shape[before].mean(0) - shape[after].mean(0)
        expected.append(np.sqrt((spectral**2).mean()) + abs(level[before].mean() - level[after].mean()))
    np.testing.assert_allclose(scorers.jumps(wave), expected, rtol=1e-4)


def test_the_detector_needs_no_torch(tmp_path):
    """By the command line, in a process where torch cannot be imported; the rest then says what to install."""
    write_wav(tmp_path / "u.wav", recording(np.random.default_rng(0), 1.0))
    code = (
        "import sys; sys.modules['torch'] = None; import importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'torch' else real(name, *a)\n"
        "from spoofspan.cli import main; main()"
    )
    words = ["cm", "score", "--preset", "joint-detector", str(tmp_path / "u.wav"), "--out", str(tmp_path / "out")]
    subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True)
    assert ss.read_scores(tmp_path / "out" / "scores_20ms.parquet").values.size == 49
    for words in (["cm", "score", "somewhere", str(tmp_path)], ["cm", "train", "--train", "x", "--dev", "x"]):
        refused = subprocess.run(
            [sys.executable, "-c", code, *words, "--out", str(tmp_path / "no")], capture_output=True, text=True
        )
        assert refused.returncode == 2
        assert "pip install 'spoofspan[cm]'" in refused.stderr


# ---------------------------------------------------------------- limits


def test_scoring_is_fast(checkpoint, tmp_path):
    """100 times real time on two cores is 50 times on one: processor time, so that busy machines measure the same."""
    import time

    rng = np.random.default_rng(0)
    for i in range(40):
        write_wav(tmp_path / f"u{i}.wav", recording(rng, 3.0 + i % 5))
    scorer = load_scorer(checkpoint)
    sounds = sounds_in(tmp_path)
    score_sounds(scorer, dict(list(sounds.items())[:4]))
    began = time.process_time()
    _, seconds = score_sounds(scorer, sounds)
    assert seconds / (time.process_time() - began) > 50


def test_memory_does_not_grow_with_the_length_of_a_recording(checkpoint, tmp_path):
    """Two hours need hardly more than twenty seconds."""
    if not hasattr(os, "wait4"):
        pytest.skip("the peak of a process's memory is not known here")
    second = (recording(np.random.default_rng(0), 1.0) * 32768).astype("<i2").tobytes()
    peaks = {}
    for name, seconds in (("short", 20), ("long", 7_200)):
        with soundfile.SoundFile(tmp_path / f"{name}.wav", "w", 16_000, 1, "PCM_16") as file:
            for _ in range(seconds):
                file.buffer_write(second, dtype="int16")
        code = (
            "import sys, torch; torch.set_num_threads(1); from spoofspan.cm.scoring import score;"
            f"print(score({str(checkpoint)!r}, {str(tmp_path / name)!r} + '.wav', {str(tmp_path / name)!r}).seconds)"
        )
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.stdout.close()
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        assert float(output) == seconds
        peaks[name] = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    made = ss.read_scores(tmp_path / "long" / "scores_20ms.parquet")
    assert made.values.size == (7_200 * RATE - 400) // 320 + 1
    # the sound itself has 230 MB as it is on disk, and twice as much as numbers
    assert peaks["long"] - peaks["short"] < 40_000_000
