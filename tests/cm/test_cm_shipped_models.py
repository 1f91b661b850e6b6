"""The models of the package: they are there, they say what they are, and they are chosen by the band."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")
soundfile = pytest.importorskip("soundfile", reason="soundfile is not installed: pip install 'spoofspan[cm]'")

from command_line import run  # noqa: E402

import spoofspan as ss  # noqa: E402
from spoofspan.cm.locate import locate  # noqa: E402
from spoofspan.cm.scoring import load_model, score_sounds  # noqa: E402
from spoofspan.cm.shipped_models import FOLDER, MODELS, choose_model  # noqa: E402
from spoofspan.formats.sound import Sound, wav_bytes  # noqa: E402

RATE = 16_000
# of test_a_shipped_model_gives_the_scores_that_it_gave: every tenth score, by the machine that made the models
SCORES = {
    "full-band": [-3.341, -8.368, -9.752, -10.857, -8.244],
    "150-6850": [-4.931, -10.95, -11.111, -13.67, -9.908],
    "telephone": [-6.646, -11.36, -12.395, -12.297, -11.384],
}


def vowels(seconds=1.0, top=7900.0):
    """A hum of 120 Hz with formants, without a random number."""
    time = np.arange(round(seconds * RATE)) / RATE
    sound = np.zeros(time.size)
    for k in range(1, int(top // 120)):
        level = sum(1 / (1 + ((120 * k - centre) / 150) ** 2) for centre in (600, 1300, 2600, 5200)) + 0.02
        sound += level * np.sin(2 * np.pi * 120 * k * time + k * k)
    sound *= 1 + 0.8 * np.sin(2 * np.pi * 3 * time)
    return Sound(wav_bytes(0.3 * sound / np.abs(sound).max()), "vowels")


@pytest.mark.parametrize("name", MODELS)
def test_a_shipped_model_gives_the_scores_that_it_gave(name):
    scorer, card, _ = load_model(f"builtin:{name}")
    scores = score_sounds(scorer, {"a": vowels()})[0]["20ms"]
    assert scores.values[::10] == pytest.approx(SCORES[name], abs=0.02)
    assert card.locating == "20ms"


@pytest.mark.parametrize("name", MODELS)
def test_a_card_says_what_the_model_is_and_is_not(name):
    _, card, source = load_model(f"builtin:{name}")
    assert source.name == f"builtin:{name}"
    assert card.weights == source.checksum
    assert "MIT" in card.about["licence"]
    assert any("not evidence" in one for one in card.about["limits"])
    assert any("English digits" in one for one in card.about["limits"])
    threshold = math.log(card.about["prior"] / (1 - card.about["prior"]))
    assert card.chance.per_minute(threshold) <= 0.5
    assert card.chance.upper[card.chance.thresholds.index(round(threshold, 2))] <= 0.5
    assert card.chance.speakers == card.about["data"]["training"]["speakers"] == 24
    assert "development" not in card.about["data"]  # each speaker was judged by models that had not heard the speaker
    assert card.held_out_cost < 1
    stated = {"full-band": "none", "150-6850": "150:6850:-90", "telephone": "300:3400:-90"}[name]
    assert card.channel.spelled == stated or (stated == "none" and not card.channel.has_band)


def test_they_are_small_and_lie_where_the_wheel_takes_them():
    files = [one for one in FOLDER.rglob("*") if one.is_file()]
    assert {one.parent.name for one in files} == set(MODELS)
    assert sum(one.stat().st_size for one in files) <= 2_000_000
    assert FOLDER.is_relative_to(Path(ss.__file__).parent)


@pytest.mark.parametrize(("top", "name"), [(7900, "full-band"), (6850, "150-6850"), (3400, "telephone")])
def test_the_band_of_a_recording_chooses(top, name):
    chosen, why = choose_model([vowels(top=top)])
    assert chosen == f"builtin:{name}"
    assert why.startswith("it is heard up to")
    both, why = choose_model([vowels(), vowels(top=top)])
    assert both == f"builtin:{name}"
    assert "the narrowest of 2 recordings" in why


def test_a_recording_alone_is_enough(tmp_path, capsys):
    (tmp_path / "my.wav").write_bytes(vowels(2.0, 3400).where)
    code, said = run(["locate", tmp_path / "my.wav", "-q"], capsys)
    assert code == 0
    for words in ("model builtin:telephone", "chosen because it is heard up to 3.", "limit: a small model", "my: "):
        assert words in said.out
    code, said = run(["locate", tmp_path / "my.wav", "-q", "--format", "json"], capsys)
    assert json.loads(said.out)["model"]["channel"] == "300 to 3,400 Hz, noise of -90 dBov"
    assert locate(tmp_path / "my.wav").model.name == "builtin:telephone"


def test_a_name_that_no_model_has_is_answered_with_those_there_are():
    with pytest.raises(ss.UsageError, match=r"full-band.*telephone"):
        load_model("builtin:phone")
