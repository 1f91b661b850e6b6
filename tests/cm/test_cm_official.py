"""Weights of the published code: a made-up checkpoint with its names, and its arithmetic written out by hand."""

import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")
pytest.importorskip("transformers", reason="transformers is not installed: pip install 'spoofspan[cm]'")

from click.testing import CliRunner  # noqa: E402

import spoofspan as ss  # noqa: E402
from spoofspan.cli import app  # noqa: E402
from spoofspan.cm import checkpoints  # noqa: E402
from spoofspan.cm.official import convert  # noqa: E402

torch.set_num_threads(1)
F = torch.nn.functional
WIDTH, LAYERS, FRAMES, BLOCKS, CONV, FEED = 128, 2, 96, 2, 16, 48


def drawn(*shape):
    return torch.randn(*shape) * 0.2


def wav2vec_tensors():
    """The names of fairseq's wav2vec 2.0, as far as it is used, and some of what is only used in pre-training."""
    found = {}
    for i, kernel in enumerate((10, 3, 3, 3, 3, 2, 2)):
        found[f"feature_extractor.conv_layers.{i}.0.weight"] = drawn(CONV, CONV if i else 1, kernel)
        found[f"feature_extractor.conv_layers.{i}.0.bias"] = drawn(CONV)
        for part in ("weight", "bias"):
            found[f"feature_extractor.conv_layers.{i}.2.1.{part}"] = drawn(CONV) + 1
    for part in ("weight", "bias"):
        found[f"layer_norm.{part}"] = drawn(CONV) + 1
        found[f"encoder.layer_norm.{part}"] = drawn(WIDTH) + 1
    found |= {"post_extract_proj.weight": drawn(WIDTH, CONV), "post_extract_proj.bias": drawn(WIDTH)}
    found |= {"encoder.pos_conv.0.bias": drawn(WIDTH), "encoder.pos_conv.0.weight_g": drawn(1, 1, 8).abs() + 0.1}
    found["encoder.pos_conv.0.weight_v"] = drawn(WIDTH, WIDTH // 4, 8)
    for i in range(LAYERS):
        at = f"encoder.layers.{i}."
        for name in ("k_proj", "v_proj", "q_proj", "out_proj"):
            found |= {f"{at}self_attn.{name}.weight": drawn(WIDTH, WIDTH), f"{at}self_attn.{name}.bias": drawn(WIDTH)}
        for name in ("self_attn_layer_norm", "final_layer_norm"):
            found |= {f"{at}{name}.weight": drawn(WIDTH) + 1, f"{at}{name}.bias": drawn(WIDTH)}
        found |= {f"{at}fc1.weight": drawn(FEED, WIDTH), f"{at}fc1.bias": drawn(FEED)}
        found |= {f"{at}fc2.weight": drawn(WIDTH, FEED), f"{at}fc2.bias": drawn(WIDTH)}
    found |= {"mask_emb": drawn(WIDTH), "quantizer.vars": drawn(1, 4, 2), "project_q.weight": drawn(3, 3)}
    return {f"extracter.model.{name}": tensor for name, tensor in found.items()}


def branch_tensors(prefix, width, frames):
    found = {f"{prefix}fc.weight": drawn(width // 2, width)}
    for i in range(BLOCKS):
        at = f"{prefix}layers.{i}."
        found |= {f"{at}norm.weight": drawn(width) + 1, f"{at}norm.bias": drawn(width)}
        found |= {f"{at}proj1.weight": drawn(width // 2, width), f"{at}proj1.bias": drawn(width // 2)}
        found |= {f"{at}proj2.weight": drawn(width, width // 4), f"{at}proj2.bias": drawn(width)}
        found |= {f"{at}sgu.norm.weight": drawn(width // 4) + 1, f"{at}sgu.norm.bias": drawn(width // 4)}
        found |= {f"{at}sgu.weight": drawn(frames, frames), f"{at}sgu.bias": drawn(frames) + 1}
    return found


def published():
    """A whole checkpoint."""
    torch.manual_seed(4)
    found = {"weight_hidd": drawn(30), "input_mean": drawn(1), "output_std": drawn(1)} | wav2vec_tensors()
    for i in range(6):
        width = WIDTH // 2**i
        if i:
            found[f"m_transform.0.blocks.{i}.1.weight"] = drawn(width, width)
            found[f"m_transform.0.blocks.{i}.1.bias"] = drawn(width)
        found |= branch_tensors(f"m_transform.0.post_nets_seg.disc_{i}.", width, FRAMES // 2**i)
        found[f"m_angle_scales.{2 ** (i + 1)}.weight"] = drawn(width // 2, 2)
    return found | branch_tensors("m_transform.0.post_nets_utt.", width, FRAMES // 32)


# ---------------------------------------------------------------- the published arithmetic, by hand


def run_wav2vec(w, wave):
    """The hidden states: the inputs of the layers and the last output."""
    w = {name.removeprefix("extracter.model."): tensor for name, tensor in w.items()}
    x = F.layer_norm(wave, wave.shape)[None, None]
    for i, (_, stride) in enumerate(zip(range(7), (5, 2, 2, 2, 2, 2, 2), strict=True)):
        at = f"feature_extractor.conv_layers.{i}."
        x = F.conv1d(x, w[f"{at}0.weight"], w[f"{at}0.bias"], stride=stride)
        x = F.layer_norm(x.transpose(1, 2), (CONV,), w[f"{at}2.1.weight"], w[f"{at}2.1.bias"]).transpose(1, 2)
        x = F.gelu(x)
    x = F.layer_norm(x.transpose(1, 2), (CONV,), w["layer_norm.weight"], w["layer_norm.bias"])
    x = F.linear(x, w["post_extract_proj.weight"], w["post_extract_proj.bias"])
    v, g = w["encoder.pos_conv.0.weight_v"], w["encoder.pos_conv.0.weight_g"]
    kernel = v * g / v.norm(dim=(0, 1), keepdim=True)
    position = F.conv1d(x.transpose(1, 2), kernel, w["encoder.pos_conv.0.bias"], padding=4, groups=4)[..., :-1]
    x = x + F.gelu(position).transpose(1, 2)
    states = []
    for i in range(LAYERS):
        states.append(x)
        at = f"encoder.layers.{i}."

        def line(name, y, at=at):
            return F.linear(y, w[f"{at}{name}.weight"], w[f"{at}{name}.bias"])

        y = F.layer_norm(x, (WIDTH,), w[f"{at}self_attn_layer_norm.weight"], w[f"{at}self_attn_layer_norm.bias"])
        q, k, v = (line(f"self_attn.{one}_proj", y).unflatten(-1, (2, 64)).transpose(1, 2) for one in "qkv")
        weights = (q @ k.transpose(-1, -2) / 8).softmax(-1)
        x = x + line("self_attn.out_proj", (weights @ v).transpose(1, 2).flatten(2))
        y = F.layer_norm(x, (WIDTH,), w[f"{at}final_layer_norm.weight"], w[f"{at}final_layer_norm.bias"])
        x = x + line("fc2", F.gelu(line("fc1", y)))
    return [*states, F.layer_norm(x, (WIDTH,), w["encoder.layer_norm.weight"], w["encoder.layer_norm.bias"])]


def run_branch(w, at, x):
    for i in range(BLOCKS):
        layer = f"{at}layers.{i}."
        y = F.layer_norm(x, x.shape[-1:], w[f"{layer}norm.weight"], w[f"{layer}norm.bias"])
        a, b = F.gelu(F.linear(y, w[f"{layer}proj1.weight"], w[f"{layer}proj1.bias"])).chunk(2, -1)
        b = F.layer_norm(b, b.shape[-1:], w[f"{layer}sgu.norm.weight"], w[f"{layer}sgu.norm.bias"])
        n = x.shape[1]
        b = torch.einsum("ij,bjd->bid", w[f"{layer}sgu.weight"][:n, :n], b) + w[f"{layer}sgu.bias"][:n, None]
        x = x + F.linear(a * b, w[f"{layer}proj2.weight"], w[f"{layer}proj2.bias"])
    return x


def run_published(w, wave):
    """The score of every window of every branch, as the published code has it for one utterance."""
    states = run_wav2vec(w, wave)
    mix = w["weight_hidd"][: len(states)].softmax(0)
    x = sum(weight * state for weight, state in zip(mix, states, strict=True))

    def cosine(embeddings, units):
        return F.cosine_similarity(embeddings[0], w[f"m_angle_scales.{units}.weight"][:, 1], dim=-1)

    scores = {}
    for i in range(6):
        if i:
            x = F.max_pool2d(x[:, None], 2, padding=(1, 0) if i == 5 else 0)[:, 0]
            x = F.linear(x, w[f"m_transform.0.blocks.{i}.1.weight"], w[f"m_transform.0.blocks.{i}.1.bias"])
        at = f"m_transform.0.post_nets_seg.disc_{i}."
        scores[f"{20 * 2**i}ms"] = cosine(F.linear(run_branch(w, at, x), w[f"{at}fc.weight"]), 2 ** (i + 1))
    at = "m_transform.0.post_nets_utt."
    scores["utterance"] = cosine(F.linear(run_branch(w, at, x).mean(1, keepdim=True), w[f"{at}fc.weight"]), 64)
    return scores


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_converted_checkpoint_scores_as_the_published_code(wrapped, tmp_path):
    tensors = published()
    content = {"state_dict": {f"module.{name}": one for name, one in tensors.items()}} if wrapped else tensors
    torch.save(content, tmp_path / "trained_network.pt")
    counted = convert(tmp_path / "trained_network.pt", tmp_path / "own")
    assert counted.heads == sum(WIDTH // 2**i for i in range(6))
    found = checkpoints.load(tmp_path / "own")
    assert found.config.network.legacy_pool_padding
    assert found.config.network.share_utterance_head
    for samples in (9_000, 16_000, 20_480):
        wave = torch.randn(samples)
        with torch.inference_mode():
            ours = found.model(wave[None], torch.tensor([samples]))
            for name, scores in run_published(tensors, wave).items():
                torch.testing.assert_close(ours[name][0, :, 1], scores, rtol=0, atol=2e-4)


GOLDEN = Path(__file__).parents[1] / "golden" / "countermeasure"


def by_rule(name, shape, offset):
    """A tensor of the golden weights."""
    x = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(int(np.prod(shape)))
    x = x / np.sqrt(np.prod(shape[1:])) if len(shape) > 1 else x * 0.1
    return torch.from_numpy((offset + x).astype(np.float32).reshape(shape))


def test_the_published_network_gave_the_same_outputs(tmp_path):
    listed = json.loads((GOLDEN / "tensors.json").read_text())
    torch.save({name: by_rule(name, *one) for name, one in listed.items()}, tmp_path / "w.pt")
    convert(tmp_path / "w.pt", tmp_path / "own")
    model = checkpoints.load(tmp_path / "own").model
    worst = 0.0
    with np.load(GOLDEN / "expected.npz") as expected, torch.inference_mode():
        for n in sorted({int(key.split("/")[0]) for key in expected}):
            sound = torch.from_numpy((0.1 * np.random.default_rng(n).standard_normal(n)).astype(np.float32))
            for name, found in model(sound[None], torch.tensor([n])).items():
                assert found[0].shape == expected[f"{n}/{name}"].shape
                worst = max(worst, np.abs(found[0].numpy() - expected[f"{n}/{name}"]).max())
    assert worst < 2e-6


def test_weights_that_do_not_fit_are_refused(tmp_path):
    def refusal(tensors):
        torch.save(tensors, tmp_path / "w.pt")
        with pytest.raises(ss.DataError) as error:
            convert(tmp_path / "w.pt", tmp_path / "own")
        assert not (tmp_path / "own").exists()
        return str(error.value)

    whole = published()
    assert "not a file of weights" in refusal([1, 2])
    assert "extracter.model.post_extract_proj.weight is missing" in refusal({"a": torch.zeros(1)})
    assert "odd.weight has no place" in refusal(whole | {"odd.weight": torch.zeros(1)})
    assert "has shape (3, 3)" in refusal(whole | {"m_angle_scales.4.weight": torch.zeros(3, 3)})
    gone = {name: one for name, one in whole.items() if name != "m_transform.0.post_nets_utt.fc.weight"}
    assert "nothing fills post_net.branches.utterance.project.weight" in refusal(gone)


@pytest.mark.parametrize(
    "junk", [b"", b"junk", b"PK\x03\x04junk", bytes(4000), b"\x80\x02}q\x00.", b"\x80\x04\x95" + bytes(99)]
)
def test_junk_is_refused_in_a_sentence_without_bad_advice(junk, tmp_path):
    (tmp_path / "w.pt").write_bytes(junk)
    with pytest.raises(ss.DataError, match=r"w\.pt: no.* file of weights|post_extract_proj.weight is missing") as error:
        convert(tmp_path / "w.pt", tmp_path / "own")
    assert not re.search("weights_only|add_safe_globals|trust|unsafe", str(error.value))
    assert len(str(error.value).splitlines()) == 1


def test_shapes_that_fit_no_model_are_named(tmp_path):
    whole, name = published(), "extracter.model.post_extract_proj.weight"
    for shape in ((), (5,), (0, 3), (2, 3, 4)):
        torch.save(whole | {name: torch.zeros(shape)}, tmp_path / "w.pt")
        with pytest.raises(ss.DataError, match=re.escape(f"{name} has shape {shape}, not one of 2 dimensions")):
            convert(tmp_path / "w.pt", tmp_path / "own")


class Evil:
    """A pickle that would run something."""

    def __reduce__(self):
        return print, ("it ran",)


def test_a_pickle_is_never_run(tmp_path, capsys):
    torch.save({"weight_hidd": Evil()}, tmp_path / "w.pt")
    with pytest.raises(ss.DataError, match="plain tensors"):
        convert(tmp_path / "w.pt", tmp_path / "own")
    (tmp_path / "x.pt").write_bytes(b"no weights at all")
    with pytest.raises(ss.DataError):
        convert(tmp_path / "x.pt", tmp_path / "own")
    assert "it ran" not in capsys.readouterr().out
    with pytest.raises(ss.UsageError, match="no file"):
        convert(tmp_path / "missing.pt", tmp_path / "own")


def test_the_command_converts(tmp_path):
    torch.save(published(), tmp_path / "w.pt")
    done = CliRunner().invoke(app, ["cm", "convert", str(tmp_path / "w.pt"), str(tmp_path / "own")])
    assert done.exit_code == 0, done.output
    told = CliRunner().invoke(app, ["cm", "info", str(tmp_path / "own")])
    assert "converted_from" in told.stdout
    again = CliRunner().invoke(app, ["cm", "convert", str(tmp_path / "w.pt"), str(tmp_path / "own")])
    assert isinstance(again.exception, ss.UsageError)
