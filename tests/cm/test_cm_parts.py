"""Parts of one's own, named as module:Class: the examples as a user runs them, refusals, and code that needs leave."""

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")
pytest.importorskip("safetensors", reason="safetensors is not installed: pip install 'spoofspan[cm]'")
pytest.importorskip("soundfile", reason="soundfile is not installed: pip install 'spoofspan[cm]'")

from cm_corpora import make_data, recording, write_wav  # noqa: E402
from command_line import invoke  # noqa: E402

import spoofspan as ss  # noqa: E402
from spoofspan.cm import Config, preset, score, train  # noqa: E402
from spoofspan.cm.loss import loss_of_head, window_errors  # noqa: E402
from spoofspan.cm.model import build  # noqa: E402
from spoofspan.cm.parts import named_object, own_augmentation, own_loss  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"), pytest.mark.slow]
torch.set_num_threads(1)
EXAMPLES = Path(__file__).parents[2] / "examples"
TINY = """
preset = "small-cpu"
[training]
epochs = 1
batch_size = 4
channels = 0.0
stop_on = "loss"
"""
PARTS = '''
import torch

class Levels:
    """The level of every frame: nothing to learn."""
    width = 4
    def __init__(self, *, wrong=""):
        self.wrong = wrong
        if wrong == "raises":
            raise RuntimeError("no luck")
        if wrong == "width":
            self.width = "4"
    def __call__(self, waves, samples):
        levels = waves.unfold(1, 400, 320).square().mean(-1).add(1e-6).log()[..., None].expand(-1, -1, 4)
        return {"shape": levels[:, 1:], "type": levels.numpy(), "ints": levels.int()}.get(self.wrong, levels)

class Net(torch.nn.Module):
    def __init__(self, width, branches, hidden=8, wrong=""):
        super().__init__()
        self.branches, self.wrong = branches, wrong
        self.lines = torch.nn.Sequential(torch.nn.Linear(width, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1))
    def forward(self, features, counts):
        found = self.lines(features)
        whole = torch.stack([one[:n].mean(0, keepdim=True) for one, n in zip(found, counts.tolist())])
        outputs = {"20ms": found, "utterance": whole}
        if self.wrong == "branches":
            return found
        if self.wrong == "windows":
            outputs["20ms"] = found[:, ::2]
        return {name: outputs[name] for name in self.branches}

class Plain:
    def __init__(self, width, branches):
        pass

class Mean(torch.nn.Module):
    def forward(self, outputs, targets):
        return outputs.mean()

class Failing:
    def __call__(self, outputs, targets):
        return {}["x"]

class Learned(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.centre = torch.nn.Parameter(torch.zeros(2))

class Softer:
    def __init__(self, factor):
        self.factor = factor
    def __call__(self, waves, samples):
        return waves * self.factor * torch.rand(len(waves), 1)

class Longer:
    def __call__(self, waves, samples):
        return torch.cat((waves, waves), 1)

not_a_class = 3
'''


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    make_data(folder, train=4, dev=4)
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A user's folder with an own module, and modules imported from it forgotten afterwards."""
    before = set(sys.modules)
    (tmp_path / "my_parts.py").write_text(PARTS)
    write_wav(tmp_path / "call.wav", recording(np.random.default_rng(1), 1.0))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def use_example(name, folder, **changed):
    """The example's file, and the configuration that it documents in a training as small as can be."""
    shutil.copy(EXAMPLES / f"{name}.py", folder)
    text = (EXAMPLES / f"{name}.py").read_text().split('"""')[1]
    lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    assert any(line.startswith(f'kind = "{name}:') for line in lines)
    for key, value in changed.items():
        assert any(line.startswith(f"{key} = ") for line in lines)
        lines = [f"{key} = {value}" if line.startswith(f"{key} = ") else line for line in lines]
    if "[network]" not in lines:
        lines.append("[network]")
    at = lines.index("[network]") + 1
    (folder / "own.toml").write_text("\n".join([TINY, *lines[:at], 'branches = ["20ms"]', *lines[at:]]))


def raised(result):
    raise result.exception


def train_as_a_user(database, *options):
    sets = [f"--{one}=partialspoof:{database}:{one}" for one in ("train", "dev")]
    trained = invoke("cm", "train", "--config", "own.toml", *sets, "--out", "model", *options)
    assert trained.exit_code == 0, trained.exception


def test_an_own_loss_trains_a_model_that_needs_no_own_code(here, database):
    use_example("focal_loss", here)
    train_as_a_user(database)
    (here / "focal_loss.py").unlink()
    assert score("model", "call.wav", "scores").recordings == 1


def test_the_focal_loss_without_focus_is_the_logistic_loss(here):
    use_example("focal_loss", here, gamma="0.0", spoof_weight="1.0")
    losses = own_loss(Config.from_file("own.toml").loss)
    outputs, targets = torch.randn(3, 7, 1), torch.tensor([1, 0, 1, 0, 0, 1, -1]).expand(3, 7)
    torch.testing.assert_close(losses(outputs, targets.clamp(min=0)), loss_of_head(outputs, targets.clamp(min=0)))
    torch.testing.assert_close(window_errors(outputs, targets, losses), window_errors(outputs, targets))
    focused = own_loss(Config.from_toml('[loss]\nkind = "focal_loss:Focal"\nspoof_weight = 3').loss)
    # by hand: log odds of ln 3 are a probability of 3/4
    found = focused(torch.full((1, 2, 1), np.log(3)), torch.tensor([[1, 0]]))[0]
    expected = [-(0.25**2) * np.log(0.75), -3 * 0.75**2 * np.log(0.25)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:Support for mismatched key_padding_mask")  # of torch, about WavLM's code
def test_wavlm_as_a_front_end(here, database):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(7)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    sizes |= {
        "conv_dim": [16] * 7,
        "num_conv_pos_embeddings": 16,
        "num_conv_pos_embedding_groups": 4,
        "num_buckets": 32,
    }
    sizes |= {"feat_extract_norm": "layer", "conv_bias": True, "do_stable_layer_norm": True}
    encoder = transformers.WavLMModel(transformers.WavLMConfig(**sizes)).eval()
    encoder.save_pretrained("wavlm")
    use_example("wavlm_front_end", here, checkpoint='"wavlm"', last="2")
    front_end = build(Config.from_file("own.toml")).front_end.train()
    waves, samples = torch.randn(2, 9_000), torch.tensor([9_000, 6_100])
    features, counts = front_end(waves, samples)
    assert counts.tolist() == [27, 18]
    for wave, n, row, count in zip(waves, samples, features, counts, strict=True):
        sound = torch.nn.functional.layer_norm(wave[None, :n], (int(n),))
        states = encoder(sound, output_hidden_states=True).hidden_states
        torch.testing.assert_close(row[:count], ((states[-1] + states[-2]) / 2)[0], rtol=0, atol=1e-4)
        assert not row[count:].any()
    train_as_a_user(database)
    with pytest.raises(
        ss.UsageError, match=r"run wavlm_front_end:WavLM\(checkpoint='wavlm', last=2\) as its front-end"
    ):
        score("model", "call.wav", "scores")
    assert score("model", "call.wav", "scores", allow_code=True).recordings == 1


def tiny_encoder(path):
    """Moonshine's layout: sound in, a convolution every 384 samples, its features out as (1, steps, features)."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper

    weight = np.random.default_rng(3).normal(size=(8, 1, 895)).astype(np.float32) / 30
    nodes = [
        helper.make_node("Unsqueeze", ["input_values", "one"], ["sound"]),
        helper.make_node("Conv", ["sound", "weight"], ["found"], strides=[384]),
        helper.make_node("Transpose", ["found"], ["last_hidden_state"], perm=[0, 2, 1]),
    ]
    graph = helper.make_graph(
        nodes,
        "encoder",
        [helper.make_tensor_value_info("input_values", TensorProto.FLOAT, ["batch_size", "num_samples"])],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch_size", "steps", 8])],
        [onnx.numpy_helper.from_array(weight, "weight"), onnx.numpy_helper.from_array(np.array([1]), "one")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return torch.from_numpy(weight)


def test_an_onnx_encoder_as_a_front_end(here, database):
    weight = tiny_encoder("encoder.onnx")
    use_example("onnx_front_end", here, path='"encoder.onnx"')
    waves, samples = torch.randn(3, 9_000), torch.tensor([9_000, 6_100, 300])
    features, counts = build(Config.from_file("own.toml")).front_end(waves, samples)
    assert counts.tolist() == [27, 18, 1]
    steps = torch.nn.functional.conv1d(waves[1:2, None, :6_100], weight, stride=384)  # 14 of 24 ms
    places = ((torch.arange(18) + 0.5) * steps.shape[2] / 18 - 0.5).clamp(0, steps.shape[2] - 1)
    for feature in range(8):
        expected = np.interp(places, np.arange(steps.shape[2]), steps[0, feature])
        np.testing.assert_allclose(features[1, :18, feature], expected, atol=1e-4)
    train_as_a_user(database)
    scoring = ("cm", "score", "model", "call.wav", "--out", "scores")
    refused = str(invoke(*scoring).exception)
    assert "onnx_front_end:OnnxEncoder(path='encoder.onnx') as its front-end" in refused
    assert "--allow-code" in refused
    assert invoke(*scoring, "--allow-code").exit_code == 0
    assert invoke("cm", "info", "model", "--allow-code").exit_code == 0


OWN = {
    "front_end": {"kind": "my_parts:Levels"},
    "network": {"kind": "my_parts:Net", "branches": ["20ms", "utterance"], "hidden": 5},
    "augmentation": {"kind": "my_parts:Softer", "factor": 0.5},
    "training": {"epochs": 2, "stop_on": "loss", "channels": 0.0},
}


def own(**changed):
    return preset("small-cpu").changed({name: OWN[name] | changed.get(name, {}) for name in OWN} | changed)


def test_all_parts_of_ones_own_train_go_on_and_score(here, database):
    from spoofspan.cm import Corpus, TrainingData
    from spoofspan.cm.checkpoints import load

    data = TrainingData(*(Corpus.from_dataset(f"partialspoof:{database}:{one}") for one in ("train", "dev")))
    done = train(own(), data, "model")
    assert Config.from_file(done.folder / "config.toml") == own()
    assert train(own(), data, "model", resume=True) == done
    scored = score("model", "call.wav", "scores", allow_code=True)
    assert set(scored.files) >= {"20ms", "utterance"}
    with pytest.raises(ss.UsageError, match=r"Net\(hidden=5\) as its network"):
        ss.locate("call.wav", "model", threshold=0.0)
    assert ss.locate("call.wav", "model", threshold=0.0, allow_code=True)["call"].seconds == pytest.approx(1.0)
    text = (done.folder / "config.toml").read_text()
    (done.folder / "config.toml").write_text(text.replace("hidden = 5", "hidden = 6"))
    with pytest.raises(
        ss.DataError, match=r"post_net.lines.0.weight has shape \(5, 4\), config.toml asks for \(6, 4\)"
    ):
        load(done.folder, allow_code=True)


def test_an_augmentation_is_drawn_by_torch_and_leaves_padding_silent(here):
    augmented = own_augmentation(own().augmentation)
    waves, samples = torch.ones(2, 100), torch.tensor([100, 60])
    torch.manual_seed(3)
    first = augmented(waves, samples)
    torch.manual_seed(3)
    assert torch.equal(first, augmented(waves, samples))
    torch.manual_seed(3)
    torch.testing.assert_close(first[:, 0], 0.5 * torch.rand(2, 1)[:, 0])
    assert not first[1, 60:].any()


@pytest.mark.parametrize(
    ("section", "keys", "message"),
    [
        ("front_end", {"kind": "no_such_parts:Levels"}, r"front_end: there is no module 'no_such_parts' for .* nor a"),
        ("front_end", {"kind": "my_parts.inner:Levels"}, "'my_parts.inner' cannot be imported|there is no module"),
        ("front_end", {"kind": "broken:Levels"}, "front_end: 'broken' cannot be imported: ZeroDivisionError"),
        ("front_end", {"kind": "needing:Levels"}, "'needing' cannot be imported: No module named 'not_here'"),
        ("front_end", {"kind": "my_parts:Level"}, "'my_parts' has nothing called 'Level': did you mean 'Levels'"),
        ("front_end", {"kind": "my_parts:not_a_class"}, "is int, not a class"),
        ("front_end", {"layers": 3}, r"Levels\(\*, wrong=''\) cannot be called .* \(layers\): got an unexpected"),
        ("front_end", {"wrong": "raises"}, r"Levels\(wrong='raises'\) failed: RuntimeError: no luck \(my_parts"),
        ("front_end", {"wrong": "width"}, "width = '4'; set it to how many features"),
        ("front_end", {"wrong": "shape"}, r"shape \(2, 4, 4\) .*, not \(2, 5, 4\) \(float\): recordings, frames"),
        ("front_end", {"wrong": "type"}, r"returned ndarray, not a tensor of shape \(2, 5, 4\)"),
        ("front_end", {"wrong": "ints"}, r"shape \(2, 5, 4\) \(torch.int32\), not .* \(float\)"),
        ("network", {"wrong": "branches"}, r"returned Tensor, not a dict with a tensor for each of \['20ms', 'utt"),
        ("network", {"wrong": "windows"}, r"branch 20ms, returned .* \(2, 3, 1\) .*, not \(2, 5, 1\)"),
        ("network", {"kind": "my_parts:Plain"}, "must be a torch.nn.Module"),
        ("loss", {"kind": "my_parts:Mean"}, r"loss: my_parts:Mean returned .* \(\) .*, not \(2, 5\) .* neither sum"),
        ("loss", {"kind": "my_parts:Failing"}, r"my_parts:Failing failed: KeyError: 'x' \(my_parts.py, line \d+\)"),
        ("loss", {"kind": "my_parts:Learned"}, "only a front-end and a network are learned"),
        ("augmentation", {"kind": "my_parts:Longer"}, r"shape \(2, 3600\) .*, not \(2, 1800\)"),
    ],
    ids=lambda one: str(one)[:40],
)  # fmt: skip
def test_a_part_that_does_not_fit_is_refused_by_name(section, keys, message, here):
    (here / "broken.py").write_text("1 / 0")
    (here / "needing.py").write_text("import not_here")
    old = OWN.get(section, {})
    base = old if keys.get("kind", old.get("kind")) == old.get("kind") else {}
    if section == "network":
        base = base | {"branches": ["20ms", "utterance"]}
        base.pop("hidden", None)
    config = preset("small-cpu").changed(OWN | {"augmentation": {}, section: base | keys})

    def use():
        model = build(config)
        waves, samples = torch.randn(2, 1_800), torch.tensor([1_800, 700])
        augmented = own_augmentation(config.augmentation)
        outputs = model(waves if augmented is None else augmented(waves, samples), samples)["20ms"]
        window_errors(outputs, torch.zeros(2, 5, dtype=torch.long), own_loss(config.loss))

    with pytest.raises(ss.UsageError, match=message):
        use()


def test_a_model_of_a_stranger_cannot_run_code(here, database):
    """A name and arguments are enough to run anything that Python has: so nothing is imported without leave."""
    from spoofspan.cm import Corpus, TrainingData

    data = TrainingData(*(Corpus.from_dataset(f"partialspoof:{database}:{one}") for one in ("train", "dev")))
    folder = train(own(training=OWN["training"] | {"epochs": 1}), data, "model").folder
    text = (folder / "config.toml").read_text()
    hostile = text.replace('kind = "my_parts:Levels"', 'kind = "subprocess:Popen"\nargs = ["touch", "pwned"]')
    assert hostile != text
    (folder / "config.toml").write_text(hostile)
    shutil.make_archive("model", "zip", folder)
    for model in ("model", "model.zip"):
        for attempt in (
            lambda model=model: ss.locate("call.wav", model, threshold=0.0),
            lambda model=model: score(model, "call.wav", "scores"),
            lambda model=model: raised(invoke("cm", "info", model)),
        ):
            with pytest.raises(ss.UsageError, match=re.escape("subprocess:Popen(args=['touch', 'pwned'])")):
                attempt()
    assert not Path("pwned").exists()


def test_the_working_folder_is_searched_last_and_forgotten(here):
    (here / "wave.py").write_text("class Wave_read: ours = True")
    path = list(sys.path)
    assert not hasattr(named_object("wave:Wave_read", "front_end"), "ours")
    assert named_object("my_parts:Levels", "front_end").width == 4
    assert sys.path == path


def test_keys_are_the_sections_own_and_survive_toml():
    text = (
        '[loss]\nkind = "a.b:C.d"\ngamma = 2.0\nnames = ["x", "y"]\non = true\n[network]\nkind = "n:N"\nframes = 64\n'
    )
    config = Config.from_toml(text)
    assert config.loss.options == {"gamma": 2.0, "names": ["x", "y"], "on": True}
    assert config.network.frames == 64
    assert Config.from_toml(config.to_toml()) == config
    assert config.changed({"loss": {"gamma": 3.0}}).loss.options["gamma"] == 3.0
    assert config.changed({"loss": {"kind": "e:F"}}).loss.options == {}
    assert config.changed({"loss": {"kind": "head"}}).loss == Config().loss
    for wrong, message in (
        ('[loss]\nkind = "a:"', "or a class of your own, module:Class"),
        ("[loss]\ngamma = 1", "nothing is called 'gamma': valid: kind; arguments of a class of your own need kind"),
        ('[training]\nepochs = "3"', "training.epochs = '3': must be a whole number"),
        ('[loss]\nkind = "a:B"\nx = {y = 1}', "must be text, a number"),
        ('[loss]\nkind = "a:B"\n"x y" = 1', "'x y' cannot be the name of an argument"),
    ):
        with pytest.raises(ss.UsageError, match=message):
            Config.from_toml(wrong)
