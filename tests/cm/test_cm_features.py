"""Hand-made features and augmentation: each against numbers worked out apart from it."""

import numpy as np
import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")

from spoofspan.cm import augmentation  # noqa: E402
from spoofspan.cm.features import COUNT, GROUPS, FrameFeatures, bands_of, remembered_features  # noqa: E402

torch.set_num_threads(1)
RATE = 16_000


def features(sound):
    """The groups of features of one recording, each (frames, numbers)."""
    found, counts = FrameFeatures()(torch.from_numpy(sound.astype(np.float32))[None], torch.tensor([sound.size]))
    assert counts.tolist() == [max((sound.size - 400) // 320 + 1, 1)]
    assert found.shape == (1, int(counts), COUNT)
    return dict(zip(GROUPS, found[0].split(list(GROUPS.values()), dim=1), strict=True))


def test_bands_are_means_of_their_bins_in_the_order_of_frequency():
    for count, bins, widening in ((32, 201, True), (16, 33, False)):
        bands = bands_of(bins, count, widening=widening).numpy()
        np.testing.assert_allclose(bands.sum(0), 1, rtol=1e-6)
        assert (np.diff(bands.argmax(0)) >= 0).all()
        hertz = np.linspace(0, 8000, bins)
        outside = (hertz < 100) | (hertz > 7000)
        assert bands[outside].max() == 0


def test_pulses_excite_all_bands_together_and_noise_does_not():
    rng = np.random.default_rng(1)
    pulses = 1e-3 * rng.standard_normal(2 * RATE)
    pulses[::160] += 1.0
    noise = rng.standard_normal(2 * RATE)
    by_pulses, by_noise = features(pulses), features(noise)
    assert by_pulses["together"].mean() > 0.6
    assert abs(by_noise["together"][:, 15:].mean()) < 0.2  # bands that do not touch
    assert by_pulses["depth"].mean() > 1.5 * by_noise["depth"].mean()


def test_the_depth_of_an_envelope_is_its_deviation():
    """A tone whose level swings by a known number of dB, slowly against 4 ms."""
    time = np.arange(2 * RATE) / RATE
    swing = 0.5 * np.sin(2 * np.pi * 50 * time)  # of the natural logarithm of the amplitude; 40 ms are two periods
    tone = np.exp(swing) * np.sin(2 * np.pi * 3_500 * time)
    depth = features(tone)["depth"][10:-10].mean(0)
    assert float(depth[7]) == pytest.approx(2 * 0.5 / np.sqrt(2), rel=0.15)


def test_the_delay_of_a_click_is_where_it_is_in_its_window():
    for at in (100, 200, 300):  # of 400 samples, in the first window of frame 10
        click = np.zeros(RATE)
        click[10 * 320 + at] = 1.0
        delay = features(click)["delay"]
        # the second window of the frame begins 160 samples later, and may not hold the click
        places = [2 * one / 399 - 1 for one in (at, at - 160) if 0 < one < 400]
        silent = 2 - len(places)
        assert float(delay[10, 8]) == pytest.approx(sum(places) / 2, abs=0.02 + silent)


def test_a_batch_is_its_recordings_one_by_one():
    torch.manual_seed(1)
    waves, samples = torch.randn(4, 20_000), torch.tensor([20_000, 399, 7_777, 1])
    found, counts = FrameFeatures()(waves, samples)
    for row, n in enumerate(samples.tolist()):
        alone, count = FrameFeatures()(waves[row : row + 1, :n], samples[row : row + 1])
        torch.testing.assert_close(found[row, : int(counts[row])], alone[0], rtol=0, atol=1e-4)
        assert int(count) == int(counts[row])
    assert torch.isfinite(found).all()


# ---------------------------------------------------------------- augmentation


def test_channels_change_the_sound_and_keep_it_finite():
    torch.manual_seed(5)
    waves, samples = 0.1 * torch.randn(6, 4 * RATE), torch.full((6,), 4 * RATE)
    made = augmentation.through_channels(waves, samples, 1.0)
    assert made.shape == waves.shape
    assert torch.isfinite(made).all()
    assert (made - waves).abs().mean() > 0.01
    quiet = augmentation.through_channels(waves, samples, 0.0)  # noise 60 dB below is all that is left
    assert float((quiet - waves).abs().max()) < 0.01
    assert torch.isfinite(augmentation.through_channels(torch.zeros(2, 8_000), torch.tensor([8_000, 1]), 1.0)).all()
    some = augmentation.through_channels(waves, samples, 1.0, share=0.5)
    untouched = (some == waves).all(1)
    assert 0 < int(untouched.sum()) < len(waves)


def test_remembered_features_are_those_that_are_computed_again():
    front_end = FrameFeatures()
    waves, samples = torch.randn(3, 9_000), torch.tensor([9_000, 5_000, 300])
    plain, counts = front_end(waves, samples)
    with remembered_features():
        first = front_end(waves, samples)[0]
        with remembered_features():  # of the same memory
            again = front_end(waves[[1, 0]], samples[[1, 0]])[0]
        waves[0, 0] += 1.0
        other = front_end(waves, samples)[0]
    assert torch.equal(first, plain)
    assert torch.equal(again[1], plain[0])
    assert torch.equal(again[0, : counts[1]], plain[1, : counts[1]])
    assert not torch.equal(other[0], plain[0])
