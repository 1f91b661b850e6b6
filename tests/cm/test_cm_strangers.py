"""Models and recordings that strangers sent: self-contained, checked against their weights, or refused."""

import contextlib
import io
import json
import re
import socket
import zipfile

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")
soundfile = pytest.importorskip("soundfile", reason="soundfile is not installed: pip install 'spoofspan[cm]'")
pytest.importorskip("transformers", reason="transformers is not installed: pip install 'spoofspan[cm]'")

from attack_strangers import RECORDING, _wav, model  # noqa: E402
from command_line import run  # noqa: E402

import spoofspan as ss  # noqa: E402
from spoofspan.cm import checkpoints, frontends  # noqa: E402
from spoofspan.formats import sound as sounds  # noqa: E402
from spoofspan.formats.sound import Sound  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"), pytest.mark.slow]


@pytest.fixture
def folder(tmp_path):
    """Write a model, and a recording beside it; some of its files changed, or (None) left out."""

    def write(kind="structural", **changed):
        place = tmp_path / "model"
        place.mkdir(exist_ok=True)
        (tmp_path / RECORDING).write_bytes(_wav())
        for name, content in model(kind).items():
            own = changed.get(name.replace(".", "_"), content)
            if own is not None:
                (place / name).write_bytes(own)
        return place

    return write


def refused(place, recording=None, **options):
    with pytest.raises(ss.SpoofspanError) as error:
        ss.locate(recording or place.parent / RECORDING, place, threshold=0.0, **options)
    return str(error.value)


@pytest.fixture
def no_network(monkeypatch):
    """Nothing may even look up an address."""
    asked = []

    def refuse(*arguments, **_):
        asked.append(arguments)
        raise OSError("no network in tests")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    yield asked
    assert asked == []


def test_good_models_locate(folder, no_network):
    for kind in ("structural", "wav2vec2"):
        place = folder(kind)
        found = ss.locate(place.parent / RECORDING, place, threshold=0.0)
        assert found.recordings[0].seconds == pytest.approx(0.3)


def test_a_model_that_names_its_front_end_downloads_nothing(folder, no_network):
    config = model("wav2vec2")["config.toml"].replace(b'checkpoint = ""', b'checkpoint = "owner/name"')
    assert b"owner/name" in config
    place = folder("wav2vec2", config_toml=config, front_end_json=None)
    said = refused(place)
    assert "front_end.json is missing" in said
    assert "nothing is downloaded" in said
    # a checkpoint that it started from is only a name, if the model has its own front-end
    place = folder("wav2vec2", config_toml=config)
    assert ss.locate(place.parent / RECORDING, place, threshold=0.0)


def test_other_architectures_are_refused_before_they_are_built(folder, monkeypatch, no_network):
    stated = json.loads(model("wav2vec2")["front_end.json"])
    monkeypatch.setattr(checkpoints, "read_tensors", lambda path: pytest.fail("its weights are read"))
    for changed, why in (
        ({"model_type": "llama"}, "a model of type 'llama'"),
        ({"model_type": {"a": 1}}, "a model of type"),
        ({"hidden_size": 40_000}, "do not fit|has shape"),
        ({"hidden_size": 10**12}, "hidden_size = .* is beyond"),
        ({"num_hidden_layers": 100_000}, "num_hidden_layers = .* is beyond"),
        ({"num_hidden_layers": 200}, "is missing"),
        ({"num_attention_heads": 3}, "do not fit together"),
        ({"conv_dim": [8] * 1000}, "conv_dim = .* is beyond"),
        ({"conv_dim": [8] * 3}, "do not fit together"),
        ({"conv_stride": [1] * 7}, "a frame of"),
        ({"num_conv_pos_embedding_groups": 5}, "no model that can be built"),
        ({"hidden_act": "owner/kernels"}, "hidden_act = .* is beyond"),
    ):
        place = folder("wav2vec2", front_end_json=json.dumps(stated | changed).encode())
        with pytest.raises(ss.DataError, match=why) as error:
            ss.locate(place.parent / RECORDING, place, threshold=0.0)
        assert str(place) in str(error.value)


def test_what_else_an_architecture_says_is_left_aside():
    strange = {"auto_map": {"AutoModel": "owner/name--code.Model"}, "attn_implementation": "owner/kernels"}
    strange |= {"quantization_config": {"quant_method": "x"}, "_name_or_path": "owner/name", "hidden_size": 48}
    assert frontends.stated_architecture(json.dumps(strange)) == {"model_type": "wav2vec2", "hidden_size": 48}


def test_sizes_are_compared_with_the_weights_before_anything_is_built(folder, monkeypatch):
    built = []
    real = checkpoints.build

    def build(config, architecture):
        made = real(config, architecture)
        built.append({one.device.type for one in made.parameters()})
        return made

    monkeypatch.setattr(checkpoints, "build", build)
    config = model()["config.toml"]
    for old, new, why in (
        (b"width = 8", b"width = 8192", r"has shape \(8.* asks for \(8192"),
        (b"layers = 1\n", b"layers = 12\n", "is missing"),
        (b"frames = 384", b"frames = 5000", "must be at most 4,096"),
        (b"width = 8", b"width = 40000", "must be at most 16,384"),
        (b"layers = 1\n", b"layers = 30\n", "must be at most 12"),
        (b"blocks = 0", b"blocks = 1000000", "must be at most 64"),
    ):
        assert old in config
        assert re.search(why, refused(folder(config_toml=config.replace(old, new))))
    assert all(one == {"meta"} for one in built)


def test_weights_that_are_no_numbers_are_refused(folder):
    weights = bytearray(model()["model.safetensors"])
    weights[-4:] = np.float32(np.nan).tobytes()
    assert "not finite" in refused(folder(model_safetensors=bytes(weights)))
    huge = (1 << 40).to_bytes(8, "little") + bytes(weights[8:])
    assert "states a header of" in refused(folder(model_safetensors=huge))


@pytest.mark.parametrize(
    "change",
    [
        {"about": {"data": {"training": {}}}},
        {"about": {"data": []}},
        {"about": {"limits": 5}},
        {"about": {"band_hz": ["a", "b"]}},
        {"about": {"band_hz": [1.0]}},
        {"about": {"random_channels": "x"}},
        {"about": {"figures": {"20ms": 5}}},
        {"about": {"licence": {}}},
        {"about": []},
        {"threshold": 5},
        {"threshold": {"value": "nan", "low": 0, "high": 0, "confidence": 0}},
        {"threshold": {"value": 10**400, "low": 0, "high": 0, "confidence": 0}},
        {"calibrations": []},
        {"calibrations": {"20ms": 7}},
        {"calibrations": {"fused": "20ms"}},
        {"domain": [1]},
        {"domain": {"mean": [10**400]}},
        {"spoofspan_card": "x" * 100_000},
    ],
)
def test_a_card_of_another_shape_is_refused(change, folder, capsys):
    plain = json.loads(model()["card.json"])
    place = folder(card_json=json.dumps(plain | change).encode())
    said = refused(place)
    assert "card.json" in said
    assert len(said) < 2000
    code, printed = run(["cm", "info", place], capsys)
    assert code == 3
    assert "card.json" in printed.err


def test_a_card_of_other_branches_is_refused(folder):
    plain = json.loads(model()["card.json"])
    maps = plain["calibrations"]
    renamed = maps["20ms"] | {"systems": [maps["20ms"]["systems"][0] | {"name": "80ms"}]}
    place = folder(card_json=json.dumps(plain | {"calibrations": {"80ms": renamed}}).encode())
    assert "calibrates the branch 80ms, which the model does not have" in refused(place)
    for wrong in ({"20ms": maps["fused"]}, {"20ms": maps["utterance"]}, {"x": maps["20ms"]}):
        assert "card.json" in refused(folder(card_json=json.dumps(plain | {"calibrations": wrong}).encode()))


def test_an_archive_is_named_as_the_user_calls_it(folder, tmp_path):
    place = folder(card_json=b"[]")
    with zipfile.ZipFile(tmp_path / "small.zip", "w") as archive:
        for path in place.iterdir():
            archive.write(path, path.name)
    said = refused(tmp_path / "small.zip")
    assert f"{tmp_path / 'small.zip'}/card.json" in said
    assert "spoofspan-model-" not in said


# ---------------------------------------------------------------- recordings


def flac(samples, rate=16_000, kind="FLAC"):
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format=kind, subtype="PCM_16")
    return buffer.getvalue()


def test_hours_in_a_small_file_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sounds, "SECONDS_ALLOWED", 20)
    data = flac(np.zeros(16_000 * 120))
    assert len(data) < 10_000
    with pytest.raises(ss.DataError, match=r"call\.flac: 0\.0 hours of sound in .* bytes; recordings of speech"):
        Sound(data, "call.flac").read()
    assert Sound(flac(np.zeros(16_000 * 19)), "short.flac").read().size == 16_000 * 19
    noise = np.random.default_rng(0).normal(0, 0.1, 16_000 * 60)
    assert Sound(flac(noise), "noise.flac").read().size == noise.size


def test_a_header_that_states_hours_is_refused(tmp_path):
    """The length in the header of a FLAC file is 36 bits of its 19th to 26th bytes."""
    data = bytearray(flac(np.random.default_rng(0).normal(0, 0.1, 16_000)))
    data[22:26] = (2**31).to_bytes(4, "big")
    with pytest.raises(ss.DataError, match=r"37\.3 hours of sound in"):
        Sound(bytes(data), "call.flac").read()


def test_a_damaged_rf64_file_prints_no_traceback(tmp_path, capfd):
    """libsndfile seeks where the header says; soundfile prints what Python's files say to that."""
    data = flac(np.random.default_rng(0).normal(0, 0.1, 1600), kind="RF64")
    path = tmp_path / "call.rf64"
    for at in range(12, 100, 4):
        for junk in (b"\xff" * 8, b"\x80" * 8, b"\x7f" * 8):
            path.write_bytes(data[:at] + junk + data[at + 8 :])
            for where in (path, path.read_bytes()):
                with contextlib.suppress(ss.DataError):
                    Sound(where, "call.rf64").read()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("rate", [16_000, 8_000, 44_100])
def test_sound_of_one_bit_has_no_verdict(rate, folder, tmp_path):
    place = folder()
    noise = np.random.default_rng(0).normal(0, 0.1, rate)
    (tmp_path / "bit.flac").write_bytes(flac(np.sign(noise) * 0.5, rate))
    (tmp_path / "fine.flac").write_bytes(flac(noise, rate))
    found = ss.locate([tmp_path / "bit.flac", tmp_path / "fine.flac"], place, threshold=10.0)
    bit, fine = found["bit"], found["fine"]
    assert "2 distinct values" in bit.problem
    assert bit.ranges == ()
    assert not fine.problem
    assert fine.ranges
