"""Traces of processing: each statistic against an oracle, and six leaks planted in small corpora."""

import io
import wave
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from click.testing import CliRunner

import spoofspan as ss
from spoofspan.cli import app
from spoofspan.corpus.audit.auditing import audit_measured, with_control
from spoofspan.corpus.audit.material import Run, Utterance
from spoofspan.corpus.audit.statistics import (
    CODECS,
    GRIDS,
    TICK,
    _mean_log_coefficient,
    block_curves,
    codec_depths,
    grid_strengths,
    header_of,
    joint_statistics,
    measure,
    name_parts,
    polarity,
    word_length,
)
from spoofspan.corpus.building import build
from spoofspan.corpus.builtin import chosen_vocoders
from spoofspan.corpus.layout import SetFiles, read_provenance
from spoofspan.corpus.settings import Settings
from spoofspan.formats.sound import FULL_SCALE, RATE, read_sound, wav_bytes
from spoofspan.formats.sound_channel import OPEN

# ---------------------------------------------------------------- statistics


def smooth_noise(rng, samples):
    """Noise with little above 2 kHz, as speech has; an edge stands out of it."""
    window = np.hanning(33)
    return 0.05 * np.convolve(rng.standard_normal(samples), window / np.sqrt(np.sum(window**2)), "same")


def test_polarity_is_the_skewness_of_scipy_and_turns_with_the_sound():
    stats = pytest.importorskip("scipy.stats")
    sound = np.random.default_rng(1).gamma(2.0, size=5000)
    found = polarity(sound)
    assert found == pytest.approx((stats.skew(sound), stats.skew(np.diff(sound))))
    assert polarity(-sound) == pytest.approx([-one for one in found])
    assert polarity(np.zeros(100)) == (0.0, 0.0)


def test_word_length_counts_even_samples():
    steps = np.random.default_rng(2).integers(1, 2000, 40_000)
    assert word_length(steps / FULL_SCALE) == pytest.approx((0.5, 0.25), abs=0.02)
    assert word_length(steps // 2 * 2 / FULL_SCALE)[0] == 1.0
    assert word_length(steps // 4 * 4 / FULL_SCALE) == (1.0, 1.0)
    soft = np.rint(np.random.default_rng(3).normal(0, 1.5, 4000)) / FULL_SCALE
    assert word_length(soft) == (0.5, 0.25)  # too soft to tell


@pytest.mark.parametrize("name", ["8 ms", "12.5 ms", "20 ms", "30 ms"])
def test_steps_of_gain_at_equal_distances_are_the_grid_of_that_length(name):
    """A few lengths share multiples; the planted one is among the two strongest."""
    rng = np.random.default_rng(3)
    sound = smooth_noise(rng, 4 * RATE)
    plain = grid_strengths(block_curves(sound))
    gains = 10 ** (rng.uniform(-4, 4, sound.size // GRIDS[name] + 1) / 20)
    stepped = grid_strengths(block_curves(sound * np.repeat(gains, GRIDS[name])[: sound.size]))
    assert name in [list(GRIDS)[place] for place in np.argsort(stepped)[-2:]]
    assert stepped[list(GRIDS).index(name)] > max(plain) + 1
    assert all(map(np.isnan, grid_strengths(block_curves(sound[:2000]))))


def plain_lapped_codec(sound, length, step):
    """A codec by its definition: cosines as a matrix, a sine window, coefficients rounded."""
    time, number = np.arange(2 * length), np.arange(length)
    window = np.sin(np.pi * (time + 0.5) / (2 * length))
    cosines = np.cos(np.pi / length * (time[:, None] + 0.5 + length / 2) * (number + 0.5))
    coded = np.zeros(sound.size)
    for start in range(0, sound.size - 2 * length + 1, length):
        coefficients = (sound[start : start + 2 * length] * window) @ cosines
        coded[start : start + 2 * length] += np.rint(coefficients / step) * step @ cosines.T * window / length
    return coded


@pytest.mark.parametrize("name", CODECS)
def test_the_frames_of_a_plain_codec_are_found_wherever_they_begin(name):
    rng = np.random.default_rng(4)
    sound = 0.01 * rng.standard_normal(2 * RATE)
    coded = plain_lapped_codec(sound, CODECS[name], 0.01 * np.sqrt(CODECS[name]))[1234:]
    before, after = codec_depths(sound), codec_depths(coded)
    own = list(CODECS).index(name)
    assert int(np.argmax(after)) == own
    assert after[own] > 3 * max(before)
    assert np.isnan(codec_depths(sound[:1000])[own])


@pytest.mark.parametrize("length", CODECS.values())
def test_the_lapped_transform_is_that_of_cosines(length):
    blocks = np.random.default_rng(6).standard_normal((3, 2 * length)).astype(np.float32)
    time, number = np.arange(2 * length), np.arange(length)
    window = np.sin(np.pi * (time + 0.5) / (2 * length))
    plain = (blocks * window) @ np.cos(np.pi / length * (time[:, None] + 0.5 + length / 2) * (number + 0.5))
    kept = np.log(np.abs(plain[:, length // 8 : length * 3 // 4]) + 1e-4)
    assert _mean_log_coefficient(blocks, length) == pytest.approx(np.mean(kept), abs=1e-3)


def test_the_frames_of_an_mp3_file_are_found():
    soundfile = pytest.importorskip("soundfile")
    rng = np.random.default_rng(5)
    sound = smooth_noise(rng, 3 * RATE) + 1e-4 * rng.standard_normal(3 * RATE)
    file = io.BytesIO()
    soundfile.write(file, sound, RATE, format="MP3")
    file.seek(0)
    coded, _ = soundfile.read(file)
    own = list(CODECS).index("36 ms, as MP3")
    assert codec_depths(coded)[own] > 2 * codec_depths(sound)[own]


def test_a_click_a_step_and_a_dip_are_what_was_planted():
    noise = 0.01 * np.random.default_rng(6).standard_normal(4000)
    click, step, dip = joint_statistics(noise, 2000)
    planted = noise.copy()
    planted[2000] += 0.5
    around = np.abs(np.diff(noise, 2))[[*range(1600, 1840), *range(2160, 2399)]].max()
    assert joint_statistics(planted, 2000)[0] == pytest.approx(20 * np.log10(1.0 / around), abs=0.3)  # twice 0.5
    assert 0 <= click < 3
    louder = np.concatenate((noise[:2000], noise[2000:] * 2))
    assert joint_statistics(louder, 2000)[1] == pytest.approx(6.0, abs=step + 0.1)
    halved = noise.copy()
    halved[1900:2100] *= 0.5
    assert joint_statistics(halved, 2000)[2] > dip + 3
    assert all(map(np.isnan, joint_statistics(noise[:100], 50)))


def test_headers_tell_rate_bits_and_chunks(tmp_path):
    def wav(name, bits, rate):
        with wave.open(str(tmp_path / name), "wb") as file:
            file.setparams((1, bits // 8, rate, 0, "NONE", ""))
            file.writeframes(bytes(bits // 8 * 100))
        return tmp_path / name

    assert header_of(wav("a.wav", 16, RATE)) == "WAV, 1 channel, 16000 Hz, 16 bits, code 1, chunks fmt  data"
    assert "24 bits" in header_of(wav("b.wav", 24, RATE))
    assert "8000 Hz" in header_of(wav("c.wav", 16, 8000))
    content = (tmp_path / "a.wav").read_bytes()
    (tmp_path / "a.wav").write_bytes(content + b"LIST\x04\x00\x00\x00made")
    assert header_of(tmp_path / "a.wav").endswith("chunks fmt  data LIST")
    (tmp_path / "other.flac").write_bytes(b"fLaC")
    soundfile = pytest.importorskip("soundfile")
    soundfile.write(tmp_path / "x.flac", np.zeros(100), RATE)
    assert header_of(tmp_path / "x.flac") == "FLAC, 1 channel, 16000 Hz, PCM_16"


def test_names_of_the_layout_are_left_out_and_others_are_taken_apart():
    assert name_parts(["BONA_T_0000001", "CON_T_0000002", "LA_E_1234567"]) == {}
    found = name_parts(["bonafide/s1/a_01.wav", "lpc/s1/a_117_gl.wav"])
    assert found["its last number"].tolist() == [1, 117]
    assert found["gl"].tolist() == [0, 1]
    assert "lpc" not in found


# ---------------------------------------------------------------- six planted leaks


SPEAKERS, EACH, WORDS = 8, 4, 6


@cache
def plain_corpus():
    """Utterances in which both classes alternate, and their sound: skewed noise between pauses, 16 bits."""
    rng = np.random.default_rng(8)
    found = []
    for speaker in range(SPEAKERS):
        for number in range(EACH):
            sounds, runs, reached = [], [], 0
            for place in range(WORDS):
                noise = 20 * smooth_noise(rng, round(RATE * rng.uniform(0.4, 0.5)))
                word = 0.04 * (noise + 0.3 * (noise**2 - np.mean(noise**2)))
                pauses = [np.zeros(round(RATE * rng.uniform(0.05, 0.12))) for _ in range(2)]
                sound = np.concatenate((pauses[0], word, pauses[1]))
                sounds.append(sound + rng.normal(0, 3e-4, sound.size))
                reached += sound.size
                if place % 2:
                    begin = runs[-1].end if runs else 0
                    runs.append(Run(begin, reached * TICK, "A01" if (place // 2 + number) % 2 else None))
            one = Utterance(f"u{speaker}{number}", None, f"s{speaker}", "eval", reached * TICK, tuple(runs))
            found.append((one, np.rint(np.concatenate(sounds) * FULL_SCALE) / FULL_SCALE))
    return tuple(found)


def inverted(sound, start, end):
    sound[start:end] *= -1


def of_15_bits(sound, start, end):
    sound[start:end] = np.floor(sound[start:end] * FULL_SCALE / 2) * 2 / FULL_SCALE


def with_clicks(sound, start, end):
    for place in {start, end} - {0, sound.size}:
        sound[place] += 0.005


def on_a_grid(sound, start, end):
    gains = 10 ** (np.random.default_rng(start).uniform(-2, 2, (end - start) // 320 + 1) / 20)
    sound[start:end] *= np.repeat(gains, 320)[: end - start]


def through_mp3(sound, start, end):
    soundfile = pytest.importorskip("soundfile")
    file = io.BytesIO()
    soundfile.write(file, sound, RATE, format="MP3")
    file.seek(0)
    coded = soundfile.read(file)[0][start:end]
    sound[start : start + coded.size] = coded


@cache
def audited(leak=None):
    utterances, measured = [], []
    for one, sound in plain_corpus():
        planted = sound.copy()
        for run in one.runs if leak and leak != "names" else ():
            if run.attack:
                leak(planted, run.start // TICK, run.end // TICK)
        name = f"{one.name}_{'ab'[len(one.runs[0].attack or '') > 0]}"
        utterances.append(replace(one, name=name) if leak == "names" else one)
        measured.append(measure(one, planted))
    if leak == "names":  # what is called b is spoof, and the rest is not
        utterances = [
            one if one.name.endswith("b") else replace(one, runs=(Run(0, one.duration, None),)) for one in utterances
        ]
        measured = [measure(one, sound) for one, (_, sound) in zip(utterances, plain_corpus(), strict=True)]
    return audit_measured(utterances, measured)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("leak", "probe", "words", "cause"),
    [
        (inverted, "polarity", "skewed downwards", "vocoder or pipeline"),
        (of_15_bits, "word-length", "more samples are even", "pipeline"),
        (with_clicks, "clicks", "more of a click", "vocoder or pipeline"),
        (on_a_grid, "grid", "grid of 20 ms", "vocoder or pipeline"),
        (through_mp3, "codec", "36 ms, as MP3", "vocoder or pipeline"),
        ("names", "name", "names with '", "pipeline"),
    ],
)
def test_a_planted_leak_is_found_named_and_put_down_to_its_cause(leak, probe, words, cause):
    found = audited(leak)
    one = found.of(probe)
    assert one.is_alarm
    assert words in one.words
    assert one.cause == cause
    assert one in found.caused_by(cause)
    # a control with the same leak: the pipeline does it; one without: the vocoder, unless no vocoder can
    assert with_control(found, found).of(probe).cause == "pipeline"
    assert with_control(found, audited()).of(probe).cause == ("vocoder" if "or" in cause else "pipeline")
    assert "correct how it is built" in with_control(found, found).table().render("text")


@pytest.mark.slow
def test_nothing_is_found_where_nothing_was_planted():
    assert audited().passed, audited().alarms


# ---------------------------------------------------------------- the control of copies


def test_a_control_is_made_of_copies_and_nothing_else(tmp_path):
    rng = np.random.default_rng(9)
    for kind in ("bonafide", "A01"):
        for number in range(3):
            words = [0.1 * rng.standard_normal(8000) * np.hanning(8000) for _ in range(3)]
            sound = np.concatenate([part for word in words for part in (np.zeros(2000), word, np.zeros(2000))])
            path = tmp_path / "speech" / kind / "s" / f"{number}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(wav_bytes(sound + 1e-4 * rng.standard_normal(sound.size)))
    settings = Settings(attacks=("builtin:copy",), channel=OPEN, speakers={"eval": 1})
    about = build(tmp_path / "control", tmp_path / "speech", settings)
    assert about["attacks"] == {"A01": "builtin:copy"}
    for one in read_provenance(SetFiles(tmp_path / "control", "eval").provenance):
        for origin in one.origins:
            assert origin.recording.startswith("builtin/copy/" if origin.attack else "bonafide/")
    copies = [read_sound(path) for path in sorted((tmp_path / "control/sources").rglob("*.wav"))]
    originals = [read_sound(path) for path in sorted((tmp_path / "speech/bonafide").rglob("*.wav"))]
    for copy in copies:  # up to the level
        assert max(np.corrcoef(copy, own[: copy.size])[0, 1] for own in originals if own.size == copy.size) > 0.9999
    with pytest.raises(ss.UsageError, match="leave the other attacks out"):
        chosen_vocoders(["builtin:copy", "builtin:griffin-lim"])
    printed = CliRunner().invoke(app, ["corpus", "audit", "--help"]).stdout
    assert "--control" in printed
