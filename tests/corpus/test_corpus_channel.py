"""Corpora that do not leak: one channel for both classes, even attacks, spoofs of one's own speech."""

import json
from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner

import spoofspan as ss
from spoofspan.cli import app
from spoofspan.corpus.building import build
from spoofspan.corpus.builtin import Sentence
from spoofspan.corpus.checking import check_corpus
from spoofspan.corpus.frames import RATE
from spoofspan.corpus.layout import SetFiles, read_provenance
from spoofspan.corpus.settings import SETS, Settings
from spoofspan.corpus.source_folder import Recording, attack_ids
from spoofspan.corpus.splice_plan import make_plan
from spoofspan.corpus.survey import Surveyed
from spoofspan.formats.sound import read_sound, wav_bytes
from spoofspan.formats.sound_channel import OPEN, Channel

pytestmark = pytest.mark.slow

CHANNEL = Channel(150.0, 6850.0)
SPEAKERS = {"train": 2, "dev": 1, "eval": 2}


def run(*arguments):
    return CliRunner().invoke(app, ["corpus", *map(str, arguments)])


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    """Bona fide recordings of five speakers, with a rumble below 60 Hz as rooms have it."""
    folder = tmp_path_factory.mktemp("speech")
    for speaker in range(1, 6):
        for number in range(1, 4):
            path = folder / "bonafide" / f"speaker{speaker}" / f"{number}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            sound = Sentence(speaker, number, None, "train", 3).sound()
            path.write_bytes(wav_bytes(sound + 0.02 * np.sin(2 * np.pi * 40 * np.arange(sound.size) / RATE)))
    return folder


@pytest.fixture(scope="module")
def vocoded(speech, tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocoded") / "corpus"
    attacks = ("builtin:griffin-lim", "builtin:linear-prediction", "builtin:phase-vocoder")
    settings = Settings(attacks=attacks, channel=CHANNEL, speakers=SPEAKERS, held_out=("builtin:phase-vocoder",))
    build(folder, speech, settings)
    return folder


# ---------------------------------------------------------------- the band


def test_the_band_pass_is_that_of_scipy():
    signal = pytest.importorskip("scipy.signal")
    taps = CHANNEL.taps()
    window = ("kaiser", signal.kaiser_beta(100.0))
    expected = signal.firwin(taps.size, [150.0, 6850.0], window=window, pass_zero=False, scale=False, fs=RATE)
    assert taps == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("channel", [CHANNEL, Channel(300.0, 3400.0), Channel(0.0, 4000.0), Channel(80.0, 8000.0)])
def test_outside_of_the_band_nothing_is_left_and_inside_nothing_is_lost(channel):
    response = 20 * np.log10(np.abs(np.fft.rfft(channel.taps(), 1 << 15)) + 1e-12)
    hertz = np.fft.rfftfreq(1 << 15, 1 / RATE)
    below = hertz < channel.low - 50 if channel.low else hertz < -1
    above = hertz > channel.high + 50 if channel.high < 8000 else hertz > 8000
    assert response[below | above].max() < -97  # 100 and over, but where the images of two edges add up
    inside = (hertz > channel.low + 50 * (channel.low > 0)) & (hertz < channel.high - 50 * (channel.high < 8000))
    assert np.abs(response[inside]).max() < 0.01


def test_the_band_pass_does_not_delay_and_is_a_plain_convolution():
    sound = np.random.default_rng(1).standard_normal(3000)
    assert CHANNEL.filtered(sound) == pytest.approx(np.convolve(sound, CHANNEL.taps(), mode="same"))
    assert OPEN.filtered(sound) is sound
    assert OPEN.noisy(sound, np.random.default_rng(1)) is sound


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("150", "150:6850"),
        ("150:6850:-90:1", "150:6850"),
        ("a:b", "150:6850"),
        ("6850:150", "between 0 and 8000"),
        ("150:9000", "between 0 and 8000"),
        ("20:6850", "within 50 Hz"),
        ("150:7990", "within 50 Hz"),
        ("150:6850:0", "between -120 and -30"),
    ],
)
def test_channels_that_make_no_sense_are_refused_before_anything_is_written(tmp_path, typed, message):
    result = run("build", tmp_path / "c", "--channel", typed)
    assert isinstance(result.exception, ss.UsageError)
    assert message in str(result.exception)
    assert not (tmp_path / "c").exists()


def test_channels_survive_json_and_say_exactly_what_they_are():
    settings = Settings(channel=Channel.parse("150:6850:none"), attacks=("builtin:all",))
    assert Settings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings
    assert CHANNEL.to_dict()["taps"] == 1027
    assert Channel.parse("none") == OPEN


# ---------------------------------------------------------------- spoofs of one's own speech


def test_bona_fide_speech_alone_is_enough_for_a_corpus(vocoded, speech):
    assert check_corpus(vocoded).passed
    about = json.loads((vocoded / "corpus.json").read_text())
    names = ("builtin:griffin-lim", "builtin:linear-prediction", "builtin:phase-vocoder")
    assert about["attacks"] == dict(zip(("A01", "A02", "A03"), names, strict=True))
    assert about["held_out_attacks"] == ["A03"]
    assert set(about["sets"]["train"]["utterances_by_attack"]) == {"A01", "A02"}
    assert set(about["sets"]["eval"]["utterances_by_attack"]) == {"A01", "A02", "A03"}
    rows = (vocoded / "sources/list.csv").read_text().splitlines()
    assert len(rows) == 1 + 15
    assert all((speech / row.split(",")[3]).is_file() for row in rows[1:])


def test_without_vocoders_a_folder_of_bona_fide_speech_is_told_of_them(speech, tmp_path):
    with pytest.raises(ss.DataError, match=r"no spoofed recordings.*--attack builtin:all"):
        build(tmp_path / "c", speech)
    assert not (tmp_path / "c").exists()


def test_the_channel_takes_the_rumble_from_both_classes_and_adds_one_noise(vocoded, speech):
    about = json.loads((vocoded / "corpus.json").read_text())
    assert about["channel"] == CHANNEL.to_dict()
    assert about["settings"]["channel"] == {"low": 150.0, "high": 6850.0, "noise": -90.0}
    original = read_sound(speech / "bonafide/speaker1/1.wav")
    hum = np.exp(-2j * np.pi * 40 * np.arange(16000) / RATE)
    assert abs(np.mean(original[:16000] * hum)) > 0.005
    for subset in SETS:
        for one in read_provenance(SetFiles(vocoded, subset).provenance):
            sound = read_sound(SetFiles(vocoded, subset).sound(one.utterance))
            window = np.hanning(sound.size)
            spectrum = np.abs(np.fft.rfft(sound * window)) ** 2 / np.sum(window**2)
            hertz = np.fft.rfftfreq(sound.size, 1 / RATE)
            for outside in (hertz < 95, hertz > 6905):  # nothing but the noise, and that of 16 bits
                level = 10 * np.log10(spectrum[outside].mean())
                assert level == pytest.approx(10 * np.log10(1e-9 + 1 / 32768**2 / 12), abs=2.0)


def test_the_noise_is_that_of_the_utterance_alone(speech, tmp_path):
    for count in (3, 5):
        settings = Settings(
            attacks=("builtin:phase-vocoder",), channel=CHANNEL, utterances={"eval": count}, bonafide_share=0.0
        )
        build(tmp_path / str(count), speech, settings)
    few, many = (
        {path.name: path.read_bytes() for path in (tmp_path / str(count) / "database/eval/con_wav").iterdir()}
        for count in (3, 5)
    )
    assert few.items() <= many.items()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--attack", "builtin:lpc"], "no vocoder is called 'builtin:lpc'"),
        (["--attack", "builtin:all", "--held-out", "wavenet"], "no such attack"),
        (["--attack", "builtin:all", "--utterances-per-set", "eval=100000"], "ask for fewer"),
        (["--attack", "builtin:griffin-lim", "--speakers", "train=50"], "speakers are not enough"),
    ],
)
def test_a_start_that_failed_leaves_nothing_and_the_next_may_differ(speech, tmp_path, arguments, message):
    out = tmp_path / "c"
    if "eval=100000" in arguments:  # one vocoder will do
        arguments = ["--attack", "builtin:phase-vocoder", *arguments[2:]]
    result = run("build", out, "--source", speech, "--jobs", "1", *arguments)
    assert message in str(result.exception)
    assert not out.exists()


def test_vocoders_over_built_in_voices_are_refused(tmp_path):
    with pytest.raises(ss.UsageError, match="--source"):
        build(tmp_path / "c", settings=Settings(attacks=("builtin:all",)))


def test_no_file_of_a_corpus_says_on_whose_disk_it_was_built(speech, tmp_path):
    listed = tmp_path / "lists" / "list.csv"
    listed.parent.mkdir()
    rows = [f"{path},{path.parent.name},-" for path in sorted(speech.rglob("*.wav"))]  # absolute
    listed.write_text("\n".join(["path,speaker,attack", *rows]))
    settings = Settings(attacks=("builtin:phase-vocoder",), utterances={"dev": 2, "eval": 2}, channel=CHANNEL)
    out = tmp_path / "c"
    about = build(out, listed, settings)
    assert about["source"] == "list.csv"
    for path in out.rglob("*"):
        if path.is_file() and path.suffix != ".wav":
            assert str(tmp_path).encode() not in path.read_bytes()
            assert f'"{speech}'.encode() not in path.read_bytes()
    assert build(out, listed, settings) == about  # and it is still known as finished


def test_a_source_of_the_same_name_with_other_files_is_another_source(speech, tmp_path):
    settings = Settings(attacks=("builtin:phase-vocoder",), utterances={"eval": 2}, channel=CHANNEL)
    build(tmp_path / "c", speech, settings)
    other = tmp_path / speech.name
    other.mkdir()
    (other / "bonafide").symlink_to(speech / "bonafide/speaker1")
    with pytest.raises(ss.SpoofspanError):
        build(tmp_path / "c", other, settings)


# ---------------------------------------------------------------- even draws


def fake_source(attacks, speakers=6, recordings=12):
    """Recordings that have units and nothing else: plans need no sound."""
    items, survey = [], {}
    for speaker in range(speakers):
        for kind in (None, *attacks):
            for number in range(recordings):
                one = Recording(f"{kind}/{speaker}/{number:03d}", None, f"s{speaker}", kind)
                items.append(one)
                spoken = tuple((4000 + 8000 * unit, 8000 + 8000 * unit) for unit in range(4))
                survey[one.name] = Surveyed(one.name, 36000, 1.0, spoken)
    return items, survey


@pytest.mark.parametrize("wanted", [None, {"train": 70, "dev": 20, "eval": 30}])
def test_attacks_are_even_over_utterances_directions_sets_and_speakers(wanted):
    attacks = [f"A{number:02d}" for number in range(1, 6)]
    items, survey = fake_source(attacks, recordings=10)
    attack_of = {one.name: one.attack for one in items}
    settings = Settings(held_out=("A05",), utterances=wanted, speakers={"train": 3, "dev": 1, "eval": 2})
    for subset in SETS:
        plans = [one for one in make_plan(items, survey, settings).utterances if one.subset == subset]
        partial = [one for one in plans if one.substitutions]
        seen = attacks if subset == "eval" else attacks[:4]
        for into_spoof in (False, True):
            own = [one for one in partial if (attack_of[one.carrier] is not None) == into_spoof]
            counts = Counter(attack_of[one.carrier] or attack_of[one.substitutions[0].donor] for one in own)
            assert set(counts) == set(seen)
            assert max(counts.values()) - min(counts.values()) <= 1
            by_speaker = Counter(
                (one.speaker, attack_of[one.carrier] or attack_of[one.substitutions[0].donor]) for one in own
            )
            assert max(by_speaker.values()) - min(by_speaker.values()) <= (2 if wanted else 1)


def test_attacks_keep_names_that_rttm_can_hold():
    assert attack_ids(["A01", "A02"]) == {"A01": "A01", "A02": "A02"}
    assert attack_ids(["lpc", "builtin:griffin-lim"]) == {"builtin:griffin-lim": "A01", "lpc": "A02"}
    assert attack_ids(["lpc", "A01"]) == {"A01": "A01", "lpc": "A02"}
