"""Corpora, the signals: splicing, levels, voice activity, voices and vocoders, against signals whose truth is known."""

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.corpus import vocoders
from spoofspan.corpus.frames import RATE, add_noise, add_pulses, cut
from spoofspan.corpus.splicing import SplicePiece, best_lag, cross_fade, splice
from spoofspan.corpus.survey import active_level, find_speech, find_units, gain_to, level_of
from spoofspan.corpus.vocoders import VOCODERS, analyse, find_pitch, resynthesise
from spoofspan.corpus.voices import draw_varied_voice, draw_voice, speak
from spoofspan.formats.sound import FULL_SCALE, read_sound, wav_bytes, whole_samples


def noise(samples, seed=0, rms=0.05):
    return rms * np.random.default_rng(seed).standard_normal(samples)


def tone(hertz, samples, rms=0.05):
    return rms * np.sqrt(2) * np.sin(2 * np.pi * hertz * np.arange(samples) / RATE)


@pytest.fixture(scope="module")
def voices():
    """Three voices and a sentence of each."""
    rng = np.random.default_rng(5)
    drawn = [draw_voice(rng) for _ in range(3)]
    return [(voice, speak(voice, rng)) for voice in drawn]


# ---------------------------------------------------------------- lag and fade


@pytest.mark.parametrize("shift", [-160, -37, 0, 1, 80, 160])
@pytest.mark.parametrize("gain", [1.0, 0.3])
def test_the_lag_of_a_shifted_copy_is_recovered(shift, gain):
    sound = noise(2000)
    found = best_lag(sound[1000:1320], gain * sound[1000 - 160 - shift : 1320 + 160 - shift])
    assert found.samples == shift
    assert found.correlation == pytest.approx(1.0)


def test_the_lag_is_that_of_a_brute_force_search():
    left, right = noise(64, 1), noise(64 + 40, 2)
    correlations = [np.corrcoef(left, right[k : k + 64])[0, 1] for k in range(41)]  # of centred values
    centred = best_lag(left - left.mean(), right)
    plain = [left @ right[k : k + 64] / np.linalg.norm(left) / np.linalg.norm(right[k : k + 64]) for k in range(41)]
    assert best_lag(left, right).samples == int(np.argmax(plain)) - 20
    assert best_lag(left, right).correlation == pytest.approx(max(plain))
    assert abs(centred.correlation) <= max(correlations) + 0.2


def test_silence_has_no_lag():
    assert best_lag(np.zeros(32), np.zeros(64)).samples == 0
    assert best_lag(np.zeros(32), np.zeros(64)).correlation == 0.0


def test_a_right_side_without_room_for_lags_is_refused():
    with pytest.raises(ss.UsageError, match="twice the greatest lag"):
        best_lag(np.ones(10), np.ones(13))


@pytest.mark.parametrize("alike", [0.0, 0.5, 1.0])
def test_a_cross_fade_keeps_the_power(alike):
    rng = np.random.default_rng(3)
    left = rng.standard_normal((4000, 64))
    right = alike * left + np.sqrt(1 - alike**2) * rng.standard_normal((4000, 64))
    faded = np.array([cross_fade(a, b, alike) for a, b in zip(left, right, strict=True)])
    assert 10 * np.log10(np.mean(faded**2, axis=0)) == pytest.approx(np.zeros(64), abs=0.3)


# ---------------------------------------------------------------- splicing


def test_the_total_length_is_that_of_the_pieces_moved_by_their_lags():
    pieces = [SplicePiece(noise(3000, seed), 600, 2400) for seed in range(4)]
    done = splice(pieces, overlap=64, search=40)
    assert done.sound.size == 4 * 1800 - sum(joint.lag for joint in done.joints)
    assert len(done.origins) == 4
    assert len(done.joints) == 3


def test_joints_lie_where_stretches_overlap_and_the_rest_is_a_copy():
    pieces = [SplicePiece(noise(3000, seed), 600, 2400) for seed in range(4)]
    done = splice(pieces, overlap=64, search=40)
    assert done.origins[0].start == 0
    assert done.origins[-1].end == done.sound.size
    in_joint = np.zeros(done.sound.size, bool)
    for left, right, joint in zip(done.origins[:-1], done.origins[1:], done.joints, strict=True):
        assert (joint.start, joint.end) == (right.start, left.end)
        assert joint.end - joint.start == 64
        in_joint[joint.start : joint.end] = True
    for piece, stretch in zip(pieces, done.origins, strict=True):
        source = piece.sound[stretch.source_start :][: stretch.end - stretch.start]
        outside = ~in_joint[stretch.start : stretch.end]
        assert np.array_equal(done.sound[stretch.start : stretch.end][outside], source[outside])
    # cuts are in the middle of the overlaps, up to the lag
    for piece, stretch, joint in zip(pieces[1:], done.origins[1:], done.joints, strict=True):
        assert stretch.source_start + 32 == piece.cut_in + joint.lag


def test_a_sound_cut_apart_and_joined_again_is_the_same_sound():
    sound = noise(6000, 9)
    done = splice([SplicePiece(sound, 0, 2500), SplicePiece(sound, 2500 + 17, 6000)], overlap=200, search=40)
    assert done.joints[0].lag == -17  # the second piece was begun too late
    assert done.sound == pytest.approx(sound)


def test_one_piece_is_left_as_it_is():
    sound = noise(500)
    done = splice([SplicePiece(sound, 0, 500)], overlap=64, search=10)
    assert np.array_equal(done.sound, sound)
    assert not done.joints


@pytest.mark.parametrize("cuts", [(0, 20), (20, 100)])
def test_pieces_without_room_for_a_joint_are_refused(cuts):
    first, second = SplicePiece(noise(300), 0, 150), SplicePiece(noise(300), *cuts)
    with pytest.raises(ss.UsageError, match="too short"):
        splice([first, second, first], overlap=64, search=10)


# ---------------------------------------------------------------- level and activity


def test_levels_come_within_a_tenth_of_a_decibel():
    for seed, gain in enumerate((0.001, 0.2, 3.0)):
        sound = np.concatenate((noise(8000, seed, 1e-5), tone(200, 16000), noise(8000, seed, 1e-5))) * gain
        speech = find_speech(sound)
        levelled = sound * gain_to(-26.0, sound, speech)
        assert active_level(levelled, speech) == pytest.approx(-26.0, abs=0.001)
        in_file = whole_samples(levelled) / FULL_SCALE
        assert level_of(in_file[8500:23500]) == pytest.approx(-26.0, abs=0.1)  # of the tone, wherever speech was found


def test_a_sound_with_high_peaks_stays_in_range():
    sound = noise(16000)
    sound[5000] = 100.0
    assert np.abs(sound * gain_to(-26.0, sound, [(0, 16000)])).max() <= 0.99


def test_silence_is_not_amplified():
    assert gain_to(-26.0, np.zeros(100), []) == 1.0
    assert level_of(np.zeros(100)) == -120.0
    assert find_speech(np.zeros(16000)) == []


@pytest.mark.parametrize("scale", [1.0, 0.01])
@pytest.mark.parametrize("sort", ["tone", "noise"])
def test_bursts_are_found_within_a_frame_whatever_the_level(scale, sort):
    bursts = [(4000, 9600), (12800, 16000), (20000, 30400)]
    sound = noise(36000, 1, 1e-4)
    for start, end in bursts:
        sound[start:end] += tone(300, end - start) if sort == "tone" else noise(end - start, 4)
    found = find_speech(scale * sound)
    assert len(found) == len(bursts)
    assert np.array(found) == pytest.approx(np.array(bursts), abs=2 * RATE // 100)


def test_runs_under_30_ms_are_flipped():
    sound = noise(32000, 1, 1e-4)
    sound[8000:16000] += tone(300, 8000)
    sound[12000:12200] = noise(200, 2, 1e-4)  # a gap of 12 ms in speech
    sound[24040:24120] += tone(300, 80)  # a click of 5 ms in a pause
    found = find_speech(sound)
    assert len(found) == 1
    assert found[0] == pytest.approx((8000, 16000), abs=320)


def test_units_are_cut_in_the_middle_of_pauses():
    units = find_units([(2000, 5000), (5500, 8000), (10000, 15900)], 16000, shortest_pause=960)
    assert [(unit.start, unit.end) for unit in units] == [(2000, 8000), (10000, 15900)]  # 500 samples are no pause
    assert [(unit.cut_in, unit.cut_out) for unit in units] == [(1000, 9000), (9000, 16000)]
    assert [(unit.room_in, unit.room_out) for unit in units] == [(1000, 1000), (1000, 0)]  # no pause at the end


# ---------------------------------------------------------------- files


def test_a_sound_file_is_read_back_sample_by_sample(tmp_path):
    samples = np.random.default_rng(1).integers(-32768, 32768, 5000)
    path = tmp_path / "x.wav"
    path.write_bytes(wav_bytes(samples / FULL_SCALE))
    assert np.array_equal(read_sound(path) * FULL_SCALE, samples)
    path.write_bytes(wav_bytes(np.array([-2.0, 2.0])))
    assert (read_sound(path) * FULL_SCALE).tolist() == [-32768, 32767]  # cut off, not turned around


def test_flac_and_other_rates_are_read_by_the_extra(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    sound = tone(440, 16000)
    soundfile.write(tmp_path / "a.flac", sound, RATE, subtype="PCM_24")
    assert read_sound(tmp_path / "a.flac") == pytest.approx(sound, abs=1e-6)
    double = 0.05 * np.sqrt(2) * np.sin(2 * np.pi * 440 * np.arange(32000) / 32000)
    soundfile.write(tmp_path / "b.wav", double, 32000, subtype="PCM_16")
    pytest.importorskip("soxr")
    assert read_sound(tmp_path / "b.wav")[500:-500] == pytest.approx(sound[500:-500], abs=1e-3)


def test_files_that_cannot_be_used_are_named(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    soundfile.write(tmp_path / "stereo.wav", np.zeros((100, 2)), RATE, subtype="PCM_16")
    (tmp_path / "text.wav").write_text("no sound")
    (tmp_path / "empty.wav").write_bytes(wav_bytes(np.zeros(0)))
    for name, why in (("stereo", "2 channels"), ("text", "cannot be read"), ("empty", "no sound")):
        with pytest.raises(ss.DataError, match=why) as refused:
            read_sound(tmp_path / f"{name}.wav")
        assert str(tmp_path / f"{name}.wav") in str(refused.value)


# ---------------------------------------------------------------- frames and spectra


def test_noise_through_an_open_filter_is_the_noise():
    sound = noise(5000)
    assert add_noise(sound, np.ones((len(cut(sound, 2)), 513))) == pytest.approx(sound)


def test_a_pulse_through_an_open_filter_is_where_it_should_be():
    out = add_pulses(np.array([700.0, 1500.5]), np.array([1.0, 0.5]), np.ones((2, 513)), 2000)
    assert out[700] == pytest.approx(1.0, abs=1e-2)
    assert out[1500] == pytest.approx(out[1501], rel=0.05)  # half a sample in between
    assert np.abs(out[:600]).max() < 1e-2


def test_spectra_and_back_is_the_same_sound():
    sound = noise(7001)
    assert resynthesise(analyse(sound), 7001) == pytest.approx(sound)


@pytest.mark.parametrize("hertz", [90.0, 140.0, 240.0])
def test_the_pitch_of_a_pulse_train_is_found(hertz):
    times = np.arange(0, 16000, RATE / hertz)
    pulses = add_pulses(times[1:-1], np.ones(times.size - 2), np.ones((times.size - 2, 513)), 16000)
    found = find_pitch(pulses + noise(16000, 1, 1e-3))
    assert found.voiced[20:-20].all()
    assert found.hertz[20:-20] == pytest.approx(hertz, rel=0.02)


def test_noise_has_no_pitch():
    assert find_pitch(noise(16000)).voiced.mean() < 0.05


# ---------------------------------------------------------------- voices and vocoders


def test_a_sentence_has_words_and_pauses_and_a_pitch_of_its_own(voices):
    for voice, sound in voices:
        assert 1.2 < sound.size / RATE < 7
        units = find_units(find_speech(sound), sound.size, 960)
        assert 2 <= len(units) <= 12
        spoken = sum(unit.length for unit in units) / sound.size
        assert 0.3 < spoken < 0.95
        pitch = find_pitch(sound)
        assert 0.2 < pitch.voiced.mean() < 0.9
        assert np.median(pitch.hertz[pitch.voiced]) == pytest.approx(voice.pitch, rel=0.25)


def test_voices_differ_and_one_voice_says_different_sentences():
    rng = np.random.default_rng(1)
    drawn = [draw_voice(rng) for _ in range(20)]
    assert np.std([voice.pitch for voice in drawn]) > 20
    assert np.std([voice.tract for voice in drawn]) > 0.03
    one, other = speak(drawn[0], rng), speak(drawn[0], rng)
    assert one.size != other.size


def test_varied_voices_are_less_alike_and_still_speak():
    rng = np.random.default_rng(1)
    drawn = [draw_varied_voice(rng) for _ in range(30)]
    assert 5 < sum(voice.creak > 0 for voice in drawn) < 15
    assert np.ptp([voice.damping for voice in drawn]) > 0.7
    for voice in drawn[:3]:
        sound = speak(voice, rng)
        assert len(find_units(find_speech(sound), sound.size, 960)) >= 2
        pitch = find_pitch(sound)
        assert np.median(pitch.hertz[pitch.voiced]) == pytest.approx(voice.pitch, rel=0.3)


def test_the_transform_of_the_codec_gives_back_what_it_was_given():
    sound = noise(3000)
    padded = np.pad(sound, (vocoders.BLOCK, 2 * vocoders.BLOCK))
    window = np.sin(np.pi * (np.arange(2 * vocoders.BLOCK) + 0.5) / (2 * vocoders.BLOCK))
    cut = np.lib.stride_tricks.sliding_window_view(padded, 2 * vocoders.BLOCK)[:: vocoders.BLOCK] * window
    coefficients = vocoders._lapped(cut)
    k, n = np.arange(vocoders.BLOCK), np.arange(2 * vocoders.BLOCK)
    basis = np.cos(np.pi / vocoders.BLOCK * (n[None, :] + 0.5 + vocoders.BLOCK / 2) * (k[:, None] + 0.5))
    assert coefficients == pytest.approx(cut @ basis.T * np.sqrt(2 / vocoders.BLOCK))  # the MDCT as it is defined
    back = np.zeros(padded.size)
    for block, piece in enumerate(vocoders._lapped_back(coefficients) * window):
        back[block * vocoders.BLOCK : (block + 2) * vocoders.BLOCK] += piece
    assert back[vocoders.BLOCK : vocoders.BLOCK + 3000] == pytest.approx(sound)


def test_the_same_stream_says_the_same():
    voice = draw_voice(np.random.default_rng(1))
    one, other = (speak(voice, np.random.default_rng(2)) for _ in range(2))
    assert np.array_equal(one, other)


# Snapshots: the level (RMS, in ten-thousandths) of six parts of what each vocoder makes of one sentence.
MADE = {
    "griffin-lim": [3154, 5957, 9223, 4941, 6512, 8140],
    "linear-prediction": [3362, 6695, 9764, 4880, 7895, 8173],
    "harmonics-noise": [3017, 5854, 8672, 4822, 6289, 7642],
    "phase-vocoder": [1517, 3174, 5425, 2969, 3619, 4518],
    "mixed-excitation": [1866, 3835, 6384, 2919, 4530, 5889],
    "sinusoidal": [2170, 5151, 6292, 4302, 5924, 5424],
    "overlap-add": [2967, 5632, 8401, 4683, 5843, 7732],
    "transform-codec": [3329, 6839, 9287, 5482, 6361, 8796],
}


@pytest.mark.parametrize("attack", VOCODERS)
def test_a_vocoder_makes_the_same_sound_as_before(attack, voices):
    made = VOCODERS[attack](voices[0][1], np.random.default_rng(1))
    levels = [1e4 * np.sqrt((part**2).mean()) for part in np.array_split(made, 6)]
    assert levels == pytest.approx(MADE[attack], rel=1e-3)


@pytest.mark.parametrize("attack", VOCODERS)
def test_a_vocoder_keeps_what_is_said_and_changes_the_waveform(voices, attack):
    for _, sound in voices[:2]:
        made = VOCODERS[attack](sound, np.random.default_rng(1))
        assert made.size == sound.size
        assert np.isfinite(made).all()
        made *= gain_to(-26.0, made, find_speech(sound))
        levelled = sound * gain_to(-26.0, sound, find_speech(sound))
        # the coarse spectrogram (bands of 500 Hz) stays, the samples do not
        power = [np.add.reduceat(np.abs(analyse(one)) ** 2, np.arange(0, 257, 16), axis=1) for one in (levelled, made)]
        coarse = [10 * np.log10(one + 1e-6) for one in power]
        assert np.corrcoef(coarse[0].ravel(), coarse[1].ravel())[0, 1] > (0.85 if attack == "sinusoidal" else 0.9)
        assert abs(np.corrcoef(levelled, made)[0, 1]) < (0.97 if attack == "transform-codec" else 0.9)


@pytest.mark.parametrize("attack", VOCODERS)
def test_a_vocoder_survives_silence_and_very_short_sounds(attack):
    for sound in (np.zeros(4000), noise(900), tone(150, 1000)):
        made = VOCODERS[attack](sound, np.random.default_rng(1))
        assert made.size == sound.size
        assert np.isfinite(made).all()
