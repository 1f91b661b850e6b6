"""A recording through a channel, block by block."""

import numpy as np
import pytest

from spoofspan.formats import sound
from spoofspan.formats.sound import RATE, Sound, wav_bytes
from spoofspan.formats.sound_channel import OPEN, Channel, SoundThroughChannel


def noise(samples, seed=0):
    return np.random.default_rng(seed).normal(0, 0.05, samples)


@pytest.mark.parametrize("samples", [1, 300, 513, 1026, 1027, 5000, 40_001])
def test_blocks_are_the_whole_recording_filtered_at_once(samples, monkeypatch):
    content = wav_bytes(noise(samples))
    channel = Channel(150.0, 6850.0, None)
    recording = Sound(content, "a")
    through = SoundThroughChannel.of(recording, channel)
    whole = channel.filtered(recording.read().astype(np.float64))
    found = {}
    for block in (1 << 18, 700):
        monkeypatch.setattr(sound, "BLOCK", block)
        found[block] = np.concatenate(list(through.blocks()))
        assert found[block].size == samples
        ratio = found[block] @ whole / (whole @ whole)  # it has its own level
        assert found[block] == pytest.approx(ratio * whole, abs=1e-5)
    assert found[700] == pytest.approx(found[1 << 18], abs=1e-6)


def test_speech_is_brought_to_the_level_of_corpora_and_pauses_do_not_count():
    loud = np.concatenate((np.zeros(4 * RATE), 0.4 * np.sin(np.arange(2 * RATE) * 0.4)))
    through = SoundThroughChannel.of(Sound(wav_bytes(loud), "a"), Channel(150.0, 6850.0, -90.0))
    heard = np.concatenate(list(through.blocks()))
    assert 20 * np.log10(np.sqrt((heard[4 * RATE + 2000 : -2000] ** 2).mean())) == pytest.approx(-26, abs=0.2)
    assert 20 * np.log10(heard[: 3 * RATE].std()) == pytest.approx(-90, abs=0.2)


def test_a_channel_is_read_as_it_is_stated():
    for one in (Channel(150.0, 6850.0), Channel(300.0, 3400.0, None), Channel(0.0, 1234.5, -70.5), OPEN):
        assert Channel.from_stated(one.stated) == one
    assert Channel.from_stated("some telephone") is None
    assert Channel.from_stated("6,850 to 150 Hz") is None
