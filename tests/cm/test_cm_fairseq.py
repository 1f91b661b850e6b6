"""A file of fairseq as a front-end: the outputs of transformers with these weights, and no code of a pickle."""

import argparse
import collections
import json
import os
import pickle
import sys
import types
import zipfile

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")
transformers = pytest.importorskip("transformers", reason="transformers is not installed: pip install 'spoofspan[cm]'")
if not hasattr(torch.serialization, "safe_globals"):
    pytest.skip("files of fairseq need torch 2.5", allow_module_level=True)

import spoofspan as ss  # noqa: E402
from spoofspan.cm import preset  # noqa: E402
from spoofspan.cm.fairseq import read_fairseq  # noqa: E402
from spoofspan.cm.model import build  # noqa: E402

pytestmark = pytest.mark.slow
torch.set_num_threads(1)
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "conv_dim": [16] * 7,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "mask_time_prob": 0.0,
}
LARGE = {"feat_extract_norm": "layer", "conv_bias": True, "do_stable_layer_norm": True}
BASE = {"feat_extract_norm": "group", "conv_bias": False, "do_stable_layer_norm": False}
STRIDES = "[(16, 10, 5)] + [(16, 3, 2)] * 4 + [(16,2,2)] + [(16,2,2)]"


def settings(kind):
    """What fairseq writes of a model beside its weights."""
    return {
        "arch": "wav2vec2",
        "extractor_mode": "layer_norm" if kind is LARGE else "default",
        "encoder_layers": 2,
        "encoder_embed_dim": 32,
        "encoder_ffn_embed_dim": 24,
        "encoder_attention_heads": 4,
        "activation_fn": "gelu",
        "layer_norm_first": kind["do_stable_layer_norm"],
        "conv_feature_layers": STRIDES,
        "conv_bias": kind["conv_bias"],
        "conv_pos": 16,
        "conv_pos_groups": 4,
        "final_dim": 8,
    }


def fairseq_names(encoder, kind):
    """The weights of a model of transformers by fairseq's names, written out one by one."""
    w = encoder.state_dict()
    found = {}
    for i in range(7):
        old, new = f"feature_extractor.conv_layers.{i}.", f"feature_extractor.conv_layers.{i}."
        found[f"{new}0.weight"] = w[f"{old}conv.weight"]
        if kind is LARGE:
            found[f"{new}0.bias"] = w[f"{old}conv.bias"]
        for part in ("weight", "bias"):
            if kind is LARGE:  # a layer norm between two transpositions
                found[f"{new}2.1.{part}"] = w[f"{old}layer_norm.{part}"]
            elif i == 0:  # a group norm
                found[f"{new}2.{part}"] = w[f"{old}layer_norm.{part}"]
    position = "encoder.pos_conv_embed.conv."
    found["encoder.pos_conv.0.weight_g"] = w[f"{position}parametrizations.weight.original0"]
    found["encoder.pos_conv.0.weight_v"] = w[f"{position}parametrizations.weight.original1"]
    found["encoder.pos_conv.0.bias"] = w[f"{position}bias"]
    for part in ("weight", "bias"):
        found[f"layer_norm.{part}"] = w[f"feature_projection.layer_norm.{part}"]
        found[f"post_extract_proj.{part}"] = w[f"feature_projection.projection.{part}"]
        found[f"encoder.layer_norm.{part}"] = w[f"encoder.layer_norm.{part}"]
        for i in range(2):
            old = new = f"encoder.layers.{i}."
            for name in "qkv":
                found[f"{new}self_attn.{name}_proj.{part}"] = w[f"{old}attention.{name}_proj.{part}"]
            found[f"{new}self_attn.out_proj.{part}"] = w[f"{old}attention.out_proj.{part}"]
            found[f"{new}self_attn_layer_norm.{part}"] = w[f"{old}layer_norm.{part}"]
            found[f"{new}fc1.{part}"] = w[f"{old}feed_forward.intermediate_dense.{part}"]
            found[f"{new}fc2.{part}"] = w[f"{old}feed_forward.output_dense.{part}"]
            found[f"{new}final_layer_norm.{part}"] = w[f"{old}final_layer_norm.{part}"]
    assert len(found) == len(w)
    # of pre-training
    for name in ("mask_emb", "quantizer.vars", "quantizer.weight_proj.weight", "project_q.weight", "final_proj.bias"):
        found[name] = torch.randn(3)
    return found


def tiny(kind=LARGE):
    torch.manual_seed(5)
    encoder = transformers.Wav2Vec2Model(transformers.Wav2Vec2Config(**SIZES, **kind)).eval()
    for parameter in encoder.parameters():  # norms too, so that no two tensors are alike
        parameter.data += 0.05 * torch.randn_like(parameter)
    return encoder


def checkpoint(kind=LARGE, encoder=None, **changed):
    """What fairseq gives to torch.save, with what else it keeps."""
    content = {
        "args": argparse.Namespace(**settings(kind)),
        "cfg": None,
        "model": fairseq_names(encoder or tiny(kind), kind),
        "optimizer_history": [{"num_updates": 800_000, "criterion_name": "Wav2vecCriterion"}],
        "extra_state": {"epoch": 45, "val_loss": 2.5},
        "last_optimizer_state": None,
    }
    return content | changed


def front_end(path):
    config = preset("paper-single-20").changed({"front_end": {"checkpoint": str(path)}, "network": {"blocks": 0}})
    return build(config).front_end.eval()


def omegaconf_container(content, monkeypatch):
    """What omegaconf pickles: containers and nodes with metadata. Reading it does not need its classes."""
    made = {}
    monkeypatch.setitem(sys.modules, "omegaconf", types.ModuleType("omegaconf"))
    for name in ("dictconfig.DictConfig", "base.ContainerMetadata", "nodes.AnyNode"):
        module, own = f"omegaconf.{name}".rsplit(".", 1)
        holder = types.ModuleType(module)
        made[own] = type(own, (), {"__module__": module})
        setattr(holder, own, made[own])
        monkeypatch.setitem(sys.modules, module, holder)

    def wrapped(value):
        one = made["DictConfig" if isinstance(value, dict) else "AnyNode"]()
        about = made["ContainerMetadata"]()
        about.__dict__ |= {"object_type": dict, "key": None, "resolver_cache": collections.defaultdict(dict)}
        one.__dict__ |= {"_metadata": about, "_parent": None}
        if isinstance(value, dict):
            one._content = {name: wrapped(inner) for name, inner in value.items()}
        else:
            one._val = value
        return one

    return wrapped(content)


LAYOUTS = {
    "zip, Namespace": {},
    "older layout, Namespace": {"older": True},
    "zip, dict": {"args": None, "cfg": "dict"},
    "older layout, omegaconf": {"args": None, "cfg": "omegaconf", "older": True},
    "zip, no settings": {"args": None},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", [LARGE, BASE], ids=["large", "base"])
def test_outputs_are_those_of_transformers_with_the_same_weights(kind, layout, tmp_path, monkeypatch):
    how = dict(LAYOUTS[layout])
    encoder = tiny(kind)
    older, cfg = how.pop("older", False), how.pop("cfg", None)
    if cfg is not None:
        how["cfg"] = {"model": settings(kind), "task": {"data": "/data"}}
        if cfg == "omegaconf":
            how["cfg"] = omegaconf_container(how["cfg"], monkeypatch)
    if layout == "zip, no settings":  # heads of 64 features are taken for granted
        sizes = SIZES | {"num_attention_heads": 1}
        same = transformers.Wav2Vec2Model(transformers.Wav2Vec2Config(**sizes, **kind)).eval()
        same.load_state_dict(encoder.state_dict())
        encoder = same
    path = tmp_path / "w2v_large_lv_fsh_swbd_cv.pt"
    torch.save(checkpoint(kind, encoder, **how), path, _use_new_zipfile_serialization=not older)
    monkeypatch.undo()
    assert "omegaconf.dictconfig" not in sys.modules
    ours = front_end(path)
    wave = torch.randn(1, 8_000)
    with torch.inference_mode():
        sound = torch.nn.functional.layer_norm(wave, (8_000,))
        expected = encoder(sound).last_hidden_state
        torch.testing.assert_close(ours.encoder(sound).last_hidden_state, expected, rtol=0, atol=1e-5)
        ours.mix.data = torch.tensor([-100.0, -100.0, 100.0])
        torch.testing.assert_close(ours(wave, torch.tensor([8_000]))[0], expected, rtol=0, atol=1e-5)
    assert expected.std() > 0.1


def test_a_model_of_it_needs_the_file_no_more(tmp_path):
    from spoofspan.cm import checkpoints

    path = tmp_path / "tiny.pt"
    torch.save(checkpoint(), path)
    config = preset("paper-single-20").changed(
        {"front_end": {"checkpoint": str(path)}, "network": {"blocks": 0, "frames": 64}}
    )
    model = build(config).eval()
    checkpoints.save(tmp_path / "model", model, config, {})
    path.unlink()
    found = checkpoints.load(tmp_path / "model").model
    waves, samples = torch.randn(2, 9_000), torch.tensor([9_000, 5_000])
    with torch.inference_mode():
        torch.testing.assert_close(found(waves, samples)["20ms"], model(waves, samples)["20ms"])


def without(name):
    def change(content):
        del content["model"][name]

    return change


def renamed(content):
    content["model"]["encoder.layers.1.fc3.weight"] = content["model"].pop("encoder.layers.1.fc1.weight")


def reshaped(content):
    content["model"]["encoder.layers.1.fc1.weight"] = torch.zeros(24, 31)


def stating(**values):
    return lambda content: vars(content["args"]).update(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (stating(encoder_layers=24), "state encoder_layers = '24', and its tensors have 2"),
        (stating(conv_bias=False), "state conv_bias = 'False', and its tensors have True"),
        (stating(conv_feature_layers="[(16, 10, 5)] + [(16, 3, 3)] * 4 + [(16,2,2)] * 2"), "a frame of .* samples"),
        (stating(encoder_attention_heads=5), "do not fit together"),
        (stating(activation_fn="evil"), "hidden_act = 'evil' is beyond"),
        (without("encoder.layers.1.fc1.bias"), "nothing fills encoder.layers.1.feed_forward.intermediate_dense.bias"),
        (without("post_extract_proj.weight"), "post_extract_proj.weight is missing"),
        (renamed, "encoder.layers.1.fc3.weight has no place in the model"),
        (reshaped, r"encoder.layers.1.fc1.weight has shape \(24, 31\), not \(24, 32\)"),
        (lambda content: content.update(model={"a": 1}), "no 'model' with tensors by name"),
        (
            lambda content: content["model"].update(huge=torch.zeros(1).expand(1 << 40)),
            "far more numbers than the file",
        ),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_does_not_fit_is_refused_by_name(change, message, tmp_path):
    content = checkpoint()
    change(content)
    torch.save(content, tmp_path / "tiny.pt")
    with pytest.raises(ss.DataError, match=message) as error:
        front_end(tmp_path / "tiny.pt")
    assert "tiny.pt" in str(error.value)


class Hostile:
    """Runs a command where it is simply unpickled."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("older", [False, True], ids=["zip", "older"])
@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (os.system, ("touch pwned",), "posix.system"),
        (eval, ("open('pwned', 'w')",), r"__builtin__.eval|builtins.eval"),
        (pickle.loads, (b"cposix\nsystem\n(S'touch pwned'\ntR.",), "ickle.loads"),
        (torch.hub.load, ("owner/name", "model"), "Unsupported global"),
        (torch.load, ("other.pt",), "Unsupported global"),
        (getattr, (argparse.Namespace, "__init__"), "__builtin__.getattr|builtins.getattr"),
    ],
    ids=lambda one: getattr(one, "__qualname__", ""),
)
def test_a_hostile_pickle_is_refused(older, function, arguments, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = checkpoint(extra_state=Hostile(function, *arguments))
    torch.save(content, "hostile.pt", _use_new_zipfile_serialization=not older)
    with pytest.raises(ss.DataError, match=name):
        front_end("hostile.pt")
    assert not (tmp_path / "pwned").exists()


def test_a_name_on_the_stack_is_refused(tmp_path, monkeypatch):
    """Newer protocols take the name of a function from the stack, where no list of names shows it."""
    monkeypatch.chdir(tmp_path)
    torch.save(checkpoint(extra_state=Hostile(os.system, "touch pwned")), "hostile.pt", pickle_protocol=4)
    with pytest.raises(ss.DataError, match=r"no file of weights|asks for"):
        front_end("hostile.pt")
    assert not (tmp_path / "pwned").exists()


def test_settings_run_nothing_though_their_classes_would(tmp_path, monkeypatch):
    """A class of this name, were it imported, would do something."""

    class DictConfig:
        def __setstate__(self, state):
            (tmp_path / "pwned").touch()

    DictConfig.__module__ = "omegaconf.dictconfig"
    DictConfig.__qualname__ = "DictConfig"
    holder = types.ModuleType("omegaconf.dictconfig")
    holder.DictConfig = DictConfig
    monkeypatch.setitem(sys.modules, "omegaconf", types.ModuleType("omegaconf"))
    monkeypatch.setitem(sys.modules, "omegaconf.dictconfig", holder)
    config = DictConfig()
    config.content = {"model": {}}
    torch.save(checkpoint(cfg=config), tmp_path / "tiny.pt")
    assert read_fairseq(tmp_path / "tiny.pt")[0]["num_hidden_layers"] == 2
    assert not (tmp_path / "pwned").exists()


def test_other_files_are_refused(tmp_path):
    (tmp_path / "junk.pt").write_bytes(b"\x80\x02junk")
    (tmp_path / "text.pt").write_text(json.dumps({"model": {}}))
    with zipfile.ZipFile(tmp_path / "empty.pt", "w") as archive:
        archive.writestr("a/b.txt", "c")
    for name in ("junk.pt", "text.pt", "empty.pt"):
        with pytest.raises(ss.DataError, match=f"{name}: not a file that torch.save wrote"):
            front_end(tmp_path / name)
