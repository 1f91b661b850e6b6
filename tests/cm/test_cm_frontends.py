"""wav2vec 2.0 from a folder, offline: a tiny checkpoint of random weights, loaded as real ones are."""

import json

import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")
transformers = pytest.importorskip("transformers", reason="transformers is not installed: pip install 'spoofspan[cm]'")

import spoofspan as ss  # noqa: E402
from spoofspan.cm import checkpoints  # noqa: E402
from spoofspan.cm.config import PAPER  # noqa: E402
from spoofspan.cm.loss import whole_loss  # noqa: E402
from spoofspan.cm.model import build  # noqa: E402

torch.set_num_threads(1)
TINY = {
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "conv_dim": [16] * 7,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}
STABLE = {"feat_extract_norm": "layer", "conv_bias": True, "do_stable_layer_norm": True}


def save_tiny(folder, family="wav2vec2", **changes):
    torch.manual_seed(7)
    config = transformers.AutoConfig.for_model(family, **(TINY | STABLE | changes))
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    return folder


def config_for(folder, **front_end):
    return PAPER.changed(
        {
            "front_end": {"checkpoint": str(folder), **front_end},
            "network": {"blocks": 1, "frames": 128, "utterance_dropout": 0.0},
        }
    )


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return save_tiny(tmp_path_factory.mktemp("tiny"))


def a_batch():
    torch.manual_seed(2)
    samples = torch.tensor([8_000, 400, 20_000, 150])
    return torch.randn(4, 20_000), samples


def step_loss(model):
    waves, samples = a_batch()
    outputs = model(waves, samples)
    targets = {name: torch.ones(one.shape[:2], dtype=torch.long) for name, one in outputs.items()}
    return whole_loss(outputs, targets, {name: one.numel() for name, one in targets.items()})


def test_a_folder_loads_offline_and_trains_a_step(tiny, monkeypatch):
    import socket

    def no_network(*_, **__):
        raise AssertionError("nothing may be looked up")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    model = build(config_for(tiny))
    # the mix starts uniform over the input of both layers and the output
    assert model.front_end.mix.softmax(0).tolist() == pytest.approx([1 / 3] * 3)
    model.train()
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.Adam(learned, lr=1e-3)
    first = step_loss(model)
    first.backward()
    frozen = [name for name, parameter in model.named_parameters() if parameter.grad is None]
    assert frozen
    assert all(".feature_extractor." in name for name in frozen)
    assert not any(p.requires_grad for p in model.front_end.encoder.feature_extractor.parameters())
    optimiser.step()
    changed = {name for name, parameter in model.named_parameters() if (parameter != before[name]).any()}
    assert "front_end.mix" in changed
    assert any("encoder.encoder.layers" in name for name in changed)
    assert not changed & set(frozen)
    assert float(step_loss(model).detach()) < float(first.detach())


def test_the_mix_is_of_the_hidden_states_that_transformers_has(tiny):
    """Inputs of all layers and the output, which is what its hidden_states are for a stable layer norm."""
    front_end = build(config_for(tiny)).front_end.eval()
    wave = torch.randn(1, 6_000)
    front_end.mix.data = torch.tensor([0.5, -1.0, 2.0])
    with torch.inference_mode():
        features, counts = front_end(wave, torch.tensor([6_000]))
        x = torch.nn.functional.layer_norm(wave, (6_000,))
        encoder = front_end.encoder
        hidden, _ = encoder.feature_projection(encoder.feature_extractor(x).transpose(1, 2))
        states = [hidden + encoder.encoder.pos_conv_embed(hidden)]
        for layer in encoder.encoder.layers:
            found = layer(states[-1])
            states.append(found[0] if isinstance(found, tuple) else found)
        states[-1] = encoder.encoder.layer_norm(states[-1])
        weights = front_end.mix.softmax(0)
        expected = sum(weight * state for weight, state in zip(weights, states, strict=True))
    assert counts.tolist() == [(6_000 - 400) // 320 + 1]
    torch.testing.assert_close(features, expected, rtol=0, atol=1e-5)


XLS_R = {"num_hidden_layers": 3, "proj_codevector_dim": 64, "mask_feature_length": 64}  # a wav2vec2 with other settings


@pytest.mark.parametrize(
    ("family", "changes"),
    [("hubert", {}), ("wavlm", {"num_buckets": 32}), ("wav2vec2", XLS_R)],
    ids=lambda one: str(one),
)
def test_the_front_end_is_what_the_config_of_its_checkpoint_says(family, changes, tmp_path):
    config = config_for(save_tiny(tmp_path / "tiny", family, **changes))
    model = build(config).eval()
    assert model.front_end.encoder.config.model_type == family
    checkpoints.save(tmp_path / "own", model, config, {})
    loaded = checkpoints.load(tmp_path / "own").model
    waves, samples = a_batch()
    with torch.inference_mode():
        together = model(waves, samples)
        for name, values in loaded(waves, samples).items():
            assert torch.equal(values, together[name])
        for row, n in enumerate(samples.tolist()):
            for name, values in model(waves[row : row + 1, :n], samples[row : row + 1]).items():
                torch.testing.assert_close(together[name][row : row + 1, : values.shape[1]], values, rtol=0, atol=2e-5)
    model.train()
    step_loss(model).backward()
    assert model.front_end.mix.grad.abs().sum() > 0


def test_the_dropout_of_the_transformer_is_what_the_configuration_says(tmp_path):
    folder = save_tiny(tmp_path, attention_dropout=0.3, hidden_dropout=0.2)
    for dropout in (0.0, 0.25):
        encoder = build(config_for(folder, transformer_dropout=dropout)).front_end.encoder
        assert {module.p for module in encoder.modules() if isinstance(module, torch.nn.Dropout)} == {dropout}
        assert {layer.attention.dropout for layer in encoder.encoder.layers} == {dropout}


def test_a_width_that_cannot_be_halved_is_refused(tmp_path):
    folder = save_tiny(tmp_path, hidden_size=96)
    with pytest.raises(ss.UsageError, match=r"96 features.*'320ms' needs a multiple of 64"):
        build(config_for(folder))
    assert build(config_for(folder).changed({"network": {"branches": ["20ms", "160ms"]}})).post_net.embedded


@pytest.mark.parametrize("norm", ["layer", "group"])
def test_a_batch_is_its_utterances_one_by_one(norm, tmp_path):
    changes = {} if norm == "layer" else {"feat_extract_norm": "group", "do_stable_layer_norm": False}
    model = build(config_for(save_tiny(tmp_path, **changes))).eval()
    waves, samples = a_batch()
    with torch.inference_mode():
        together = model(waves, samples)
        for row, n in enumerate(samples.tolist()):
            alone = model(waves[row : row + 1, :n], samples[row : row + 1])
            for name, values in alone.items():
                torch.testing.assert_close(together[name][row : row + 1, : values.shape[1]], values, rtol=0, atol=2e-5)


def test_gradient_checkpointing_changes_no_gradient(tiny):
    gradients = []
    for checkpointing in (False, True):
        torch.manual_seed(1)
        model = build(config_for(tiny, gradient_checkpointing=checkpointing)).train()
        assert (
            any(getattr(m, "gradient_checkpointing", False) for m in model.front_end.encoder.modules()) is checkpointing
        )
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        model.front_end.encoder.config.hidden_dropout = 0.0
        step_loss(model).backward()
        gradients.append({name: p.grad for name, p in model.named_parameters() if p.grad is not None})
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], rtol=1e-4, atol=1e-6)


def test_a_checkpoint_needs_no_folder_of_transformers_any_more(tiny, tmp_path):
    config = config_for(tiny)
    model = build(config).eval()
    checkpoints.save(tmp_path / "own", model, config.changed({"front_end": {"checkpoint": "gone"}}), {"epoch": 3})
    loaded = checkpoints.load(tmp_path / "own")
    assert loaded.about == {"epoch": 3}
    waves, samples = a_batch()
    with torch.inference_mode():
        for name, values in model(waves, samples).items():
            assert torch.equal(values, loaded.model(waves, samples)[name])


def test_another_kind_of_model_is_refused(tiny, tmp_path):
    about = json.loads((tiny / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(about | {"model_type": "whisper"}))
    with pytest.raises(ss.UsageError, match="whisper"):
        build(config_for(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps(about | {"conv_stride": [5, 2, 2, 2, 2, 2, 1]}))
    with pytest.raises(ss.UsageError, match="every 160"):
        build(config_for(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps(about))
    with pytest.raises(ss.UsageError, match="cannot be loaded"):
        build(config_for(tmp_path))
    with pytest.raises(ss.UsageError, match="is empty"):
        build(config_for(""))
