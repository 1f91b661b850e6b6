"""The countermeasure's parts: sizes, time, padding, loss and labels, each against its own oracle."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")

import spoofspan as ss  # noqa: E402
from spoofspan.cm import batches, loss  # noqa: E402
from spoofspan.cm import frame_times as timing  # noqa: E402
from spoofspan.cm.config import (  # noqa: E402
    BASELINE,
    PAPER,
    PRESETS,
    SMALL,
    SMALL_2025,
    SMALL_MULTI,
    Config,
    FrontEnd,
    Network,
    preset,
)
from spoofspan.cm.model import Countermeasure, PoolingLayer, PostNet, build, count_parameters, members_of  # noqa: E402
from spoofspan.cm.padding import normalised  # noqa: E402

torch.set_num_threads(1)
LENGTHS = [*range(1, 70), 127, 128, 129]


def small(**network):
    return replace(SMALL_2025, network=replace(SMALL_2025.network, utterance_dropout=0.0, **network))


def test_the_presets_have_the_sizes_of_the_paper():
    paper = count_parameters(PAPER)
    assert (paper.post_net, paper.heads) == (33_055_038, 2_016)
    assert paper.total == 348_494_775
    assert 1.1e6 < count_parameters(SMALL_2025).total < 1.3e6
    assert count_parameters(SMALL).total < 0.2e6
    # 201 weights and an intercept for each of seven branches
    assert count_parameters(BASELINE).total == 7 * 202
    assert len(PRESETS) == 12


@pytest.mark.parametrize("legacy", [False, True])
def test_every_branch_has_the_windows_that_timing_counts(legacy):
    network = replace(PAPER.network, blocks=1, frames=384, legacy_pool_padding=legacy)
    net = PostNet(128, network).eval()
    assert network.longest == (352 if legacy else 384)
    with torch.inference_mode():
        for frames in [*LENGTHS, network.longest]:
            found = net(torch.randn(1, frames, 128), torch.tensor([frames]))
            counts = [found[name].values.shape[1] for name in timing.SEGMENT_BRANCHES]
            if legacy:  # floor, and the last pooling padded on both ends
                halves = [max(frames // 2**i, 1) for i in range(5)]
                expected = [*halves, halves[-1] // 2 + 1]
            else:
                expected = [-(-frames // 2**i) for i in range(6)]
            assert counts == expected, frames
            assert counts == [timing.window_count(frames, scale, legacy=legacy) for scale in range(6)]
            assert found["utterance"].values.shape[1] == 1
            assert all(torch.isfinite(one.values).all() for one in found.values())


@pytest.mark.parametrize("samples", [1, 399, 400, 719, 720, 5120, 5199, 5200, 16_000, 48_001])
@pytest.mark.parametrize("config", [SMALL_MULTI, SMALL_2025, BASELINE], ids=lambda one: one.name)
def test_a_recording_of_any_length_has_scores(config, samples):
    with torch.inference_mode():
        outputs = build(config).eval()(torch.randn(1, samples), torch.tensor([samples]))
    frames = max((samples - 400) // 320 + 1, 1)
    assert [outputs[name].shape[1] for name in timing.SEGMENT_BRANCHES] == [-(-frames // 2**i) for i in range(6)]
    assert all(torch.isfinite(one).all() for one in outputs.values())


@pytest.mark.parametrize(
    "config",
    [SMALL_MULTI.changed({"network": {"head": "cosine"}}), small(), small(legacy_pool_padding=True), BASELINE],
    ids=["features", "gmlp", "legacy", "line"],
)
def test_a_batch_is_its_utterances_one_by_one(config):
    torch.manual_seed(3)
    model = build(config).eval()
    for parameter in model.parameters():  # gates that are no gates at the start would hide what they see
        parameter.data += 0.3 * torch.randn_like(parameter)
    samples = torch.tensor([16_000, 400, 48_000, 7, 9_000, 23_456])
    waves = torch.randn(len(samples), 48_000)  # what is past the end is noise, and must not be heard
    with torch.inference_mode():
        together = model(waves, samples)
        for row, n in enumerate(samples.tolist()):
            alone = model(waves[row : row + 1, :n], samples[row : row + 1])
            for name, values in alone.items():
                torch.testing.assert_close(
                    together[name][row : row + 1, : values.shape[1]], values, rtol=1e-6, atol=2e-5
                )


def test_the_normalised_sound_is_that_of_torch_s_layer_norm():
    waves = torch.randn(2, 5_000) * 3 + 1
    waves[1, 3_000:] = 0
    found = normalised(waves, torch.tensor([5_000, 3_000]))
    for row, n in enumerate((5_000, 3_000)):
        torch.testing.assert_close(found[row, :n], torch.nn.functional.layer_norm(waves[row, :n], (n,)))
    assert not found[1, 3_000:].any()


@pytest.mark.parametrize("legacy", [False, True])
def test_an_impulse_lights_the_right_window_of_every_branch(legacy):
    """A click moves the embeddings of the windows it is in most; the published padding moves the last branch."""
    torch.manual_seed(0)
    model = build(small(legacy_pool_padding=legacy)).eval()
    for branch in model.post_net.branches.values():
        for block in branch.blocks:  # the gate sees all times by design; without it only the alignment is left
            block.gate.weight.data.zero_()
    for convolution in (model.front_end.halve, *model.front_end.layers):  # likewise for what a frame sees around it
        convolution.weight.data[..., [0, 1, 3, 4]] = 0
    for convolution in model.front_end.patterns:
        convolution.weight.data[:, :, [0, 2]] = 0
    quiet = 0.01 * torch.randn(1, 16_000 * 5)
    samples = torch.tensor([quiet.shape[1]])
    with torch.inference_mode():
        before = model.embed(quiet, samples)
        for frame in (0, 16, 50, 113, 176, 208):
            clicked = quiet.clone()
            clicked[0, frame * 320 + 170 : frame * 320 + 230] += 0.05 * torch.randn(60)
            for name, after in model.embed(clicked, samples).items():
                if name == "utterance":
                    continue
                moved = (after.values - before[name].values)[0].norm(dim=-1)
                shift = 16 if legacy and name == "640ms" else 0
                assert int(moved.argmax()) == (frame + shift) // 2 ** timing.scale_of(name), (name, frame)


def test_pooling_is_the_pooling_of_the_paper():
    pool = PoolingLayer(8, PAPER.network, last=False)
    torch.nn.init.eye_(pool.linear.weight)
    torch.nn.init.zeros_(pool.linear.bias)
    x = torch.randn(2, 10, 8)
    expected = torch.nn.functional.max_pool2d(x[:, None], 2)[:, 0]
    torch.testing.assert_close(pool(x, torch.tensor([10, 10])).values, expected)
    padded = PoolingLayer(8, replace(PAPER.network, legacy_pool_padding=True), last=True)
    padded.linear.load_state_dict(pool.linear.state_dict())
    expected = torch.nn.functional.max_pool2d(x[:, None], 2, padding=(1, 0))[:, 0]
    torch.testing.assert_close(padded(x, torch.tensor([10, 10])).values, expected)


def test_the_loss_and_its_gradient_are_those_of_the_formula():
    cosines = torch.tensor([[0.3, -0.2], [0.9, 0.1], [-0.4, 0.8], [0.5, 0.5]], requires_grad=True)
    targets = torch.tensor([batches.TARGET[name] for name in ("bona fide", "spoof", "bona fide", "not counted")])
    value = loss.whole_loss({"20ms": cosines}, {"20ms": targets}, {"20ms": 3})
    value.backward()
    tenth = Fraction(1, 10)
    by_hand = (
        (3 * tenth - 0) ** 2 + (-2 * tenth - 1) ** 2  # bona fide: (0, 1)
        + (9 * tenth - 1) ** 2 + (1 * tenth - 0) ** 2  # spoof: (1, 0)
        + (-4 * tenth - 0) ** 2 + (8 * tenth - 1) ** 2
    ) / (2 * 3)  # fmt: skip
    assert float(value.detach()) == pytest.approx(float(by_hand), rel=1e-6)
    gradient = [[0.3 / 3, -1.2 / 3], [-0.1 / 3, 0.1 / 3], [-0.4 / 3, -0.2 / 3], [0, 0]]
    torch.testing.assert_close(cosines.grad, torch.tensor(gradient))


def test_the_whole_loss_is_the_plain_sum_of_the_branches():
    outputs = {"20ms": torch.tensor([[[0.0, 1.0], [0.0, 0.0]]]), "utterance": torch.tensor([[[0.6, 0.8]]])}
    targets = {"20ms": torch.tensor([[1, 0]]), "utterance": torch.tensor([[0]])}
    found = loss.whole_loss(outputs, targets, {"20ms": 2, "utterance": 1})
    assert float(found) == pytest.approx(1 / 4 + (0.4**2 + 0.8**2) / 2)


def test_logistic_errors_are_those_of_the_formula():
    found = loss.window_errors(torch.tensor([[2.0], [-1.0], [5.0]]), torch.tensor([1, 0, -1]))
    assert float(found) == pytest.approx(np.log1p(np.exp(-2.0)) + np.log1p(np.exp(-1.0)))


def test_a_head_gives_the_cosines():
    torch.manual_seed(1)
    head = Countermeasure(build(SMALL_2025).front_end, SMALL_2025.network).heads
    x = torch.randn(3, 64)
    weight = head.of["20ms"].weight.detach() * torch.tensor([2.0, 0.1])  # the length of a class vector does not count
    head.of["20ms"].weight.data.copy_(weight)
    found = head("20ms", x).detach()
    for row in range(3):
        for column in range(2):
            a, b = x[row].double(), weight[:, column].double()
            assert float(found[row, column]) == pytest.approx(float(a @ b / (a.norm() * b.norm())), abs=1e-6)


def test_a_logistic_head_gives_the_log_odds_of_a_line():
    torch.manual_seed(1)
    model = build(small(head="logistic"))
    x = torch.randn(2, 3, 64)
    line = model.heads.of["20ms"]
    width = line.weight.shape[1]
    found = model.outputs("20ms", x[..., :width]).detach().numpy()
    weight, intercept = line.weight.detach().double().numpy()[0], float(line.bias.detach())
    wanted = (x[..., :width].double().numpy() * weight).sum(-1) + intercept
    np.testing.assert_allclose(found[..., 0], wanted, atol=1e-5)
    assert found.shape == (2, 3, 1)


def test_the_utterance_branch_may_share_the_head_of_640ms():
    shared = build(small(share_utterance_head=True))
    assert "utterance" not in shared.heads.of
    assert "utterance" in build(small()).heads.of
    x = torch.randn(1, 1, 64)
    torch.testing.assert_close(shared.outputs("utterance", x), shared.outputs("640ms", x))


# ---------------------------------------------------------------- labels


def drawn_references(rng):
    """Ranges with edges on and off the grid, gaps, non-speech, and utterances shorter than a window."""
    ranges, durations = {}, {}
    for i in range(6):
        extent = int(rng.choice([1, 19_999_999, 20_000_000, 20_000_001, 640_000_000, rng.integers(1, 3_000_000_000)]))
        edges = np.unique(np.concatenate(([0, extent], rng.integers(0, extent + 1, rng.integers(0, 7)))))
        snapped = edges // 20_000_000 * 20_000_000
        edges = np.unique(np.where(rng.random(edges.size) < 0.5, np.minimum(snapped, extent), edges))
        rows = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        ranges[f"u{i}"] = [(a, b, int(rng.integers(0, 3))) for a, b in rows if rng.random() < 0.8]
        durations[f"u{i}"] = extent
    rows = [row for one in ranges.values() for row in one]
    return ss.References.from_columns(
        list(ranges),
        np.array(list(durations.values()), np.int64),
        np.cumsum([0, *map(len, ranges.values())]),
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int64),
        labels=np.array([row[2] for row in rows], np.int8),
    )


@pytest.mark.parametrize("seed", range(30))
def test_window_targets_are_those_of_a_brute_force(seed):
    """Every window in whole nanoseconds: spoof if any of it is, not counted without labelled time."""
    references = drawn_references(np.random.default_rng(seed))
    for scale in range(6):
        found = batches.window_targets(references, ss.Rules(gaps="ignore", nonspeech="ignore"), scale)
        width = 20_000_000 * 2**scale
        for i in range(len(references)):
            rows = range(references.offsets[i], references.offsets[i + 1])
            expected = []
            for start in range(0, int(references.durations[i]), width):
                end = min(start + width, int(references.durations[i]))
                seen = {
                    int(references.labels[r])
                    for r in rows
                    if min(end, int(references.ends[r])) > max(start, int(references.starts[r]))
                }
                expected.append(0 if 1 in seen else 1 if 0 in seen else -1)
            assert found.values[found.offsets[i] : found.offsets[i + 1]].tolist() == expected


def test_targets_of_an_utterance_and_of_missing_windows():
    references = ss.References.from_ranges(
        {"u": [(0.0, 0.05, "bonafide"), (0.05, 0.06, "spoof"), (0.06, 0.2, "bonafide")]}, {"u": 0.2}
    )
    found = batches.WindowLabels(references, ss.Rules(), ("20ms", "40ms", "utterance"))
    targets = found.of(0, 0, 11)  # a frame more than there are labels
    assert targets["20ms"].tolist() == [1, 1, 0, 1, 1, 1, 1, 1, 1, 1, -1]
    assert targets["40ms"].tolist() == [1, 0, 1, 1, 1, -1]
    assert targets["utterance"].tolist() == [0]
    assert found.of(0, 4, 4)["20ms"].tolist() == [1, 1, 1, 1]
    assert found.of(0, 4, 4)["utterance"].tolist() == [1]


@pytest.mark.parametrize("how", ["frames", "utterances"])
def test_shuffled_labels_have_the_same_sizes_and_are_others(how):
    rng = np.random.default_rng(5)
    targets = [{"20ms": rng.integers(0, 2, n).astype(np.int8)} for n in (50, 20, 80, 50)]
    found = batches.shuffled(targets, how, seed=1)
    assert [one["20ms"].size for one in found] == [50, 20, 80, 50]
    assert any((a["20ms"] != b["20ms"]).any() for a, b in zip(found, targets, strict=True))
    if how == "frames":
        total = sum(int(one["20ms"].sum()) for one in targets)
        assert sum(int(one["20ms"].sum()) for one in found) == total
    assert batches.shuffled(targets, "no", seed=1) is targets


# ---------------------------------------------------------------- configuration


@pytest.mark.parametrize("name", PRESETS)
def test_a_configuration_survives_toml(name):
    odd = preset(name).changed({"name": 'a "quoted"\n name', "front_end": {"checkpoint": "C:\\models\\x"}})
    assert Config.from_toml(odd.to_toml()) == odd
    assert Config.from_toml(preset(name).to_toml()) == preset(name)


@pytest.mark.parametrize(
    "text",
    [
        "[training]\nseeed = 1",
        "[training]\nseed = 'one'",
        "[training]\nseed = true",
        "[training]\nlearning_rate = 0",
        "[training]\nstop_on = 'range-f1'",
        "[training]\nprecision = 'fp8'",
        "[training]\nshuffle_labels = 'yes'",
        "[training]\nchannel_share = 1.5",
        "[network]\nbranches = []",
        "[network]\nbranches = ['30ms']",
        "[network]\nbranches = ['20ms', '20ms']",
        "[network]\nframes = 31",
        "[network]\nhead = 'linear'",
        "[network]\nutterance_dropout = 1.0",
        "[labels]\ngaps = 'bona fide'",
        "training = 3",
        "presets = 'small-cpu'",
    ],
)
def test_a_wrong_configuration_is_refused(text):
    with pytest.raises(ss.UsageError):
        Config.from_toml(text)


def test_what_is_no_toml_is_refused():
    with pytest.raises(ss.DataError, match="not valid TOML"):
        Config.from_toml("[training")


def test_single_resolution_models_have_no_more_than_they_need():
    model = build(small(branches=("160ms",)))
    assert list(model.post_net.branches) == ["160ms"]
    assert len(model.post_net.chain) == 3
    assert json.dumps(sorted(model.heads.of)) == '["160ms"]'
    assert Network().branches == timing.BRANCHES
    assert FrontEnd().kind == "spectral"


def test_a_committee_has_the_mean_of_its_members():
    torch.manual_seed(1)
    config = SMALL.changed({"network": {"members": 3}})
    model = build(config).eval()
    waves, samples = torch.randn(2, 16_000), torch.tensor([16_000, 9_000])
    with torch.inference_mode():
        alone = torch.stack([member(waves, samples)["20ms"] for member in model.members])
        assert not torch.equal(alone[0], alone[1])
        torch.testing.assert_close(model(waves, samples)["20ms"], alone.mean(0))
    assert count_parameters(config).total == 3 * count_parameters(SMALL).total
    assert [one.training.seed for one in members_of(config)] == [1, 2, 3]
    with pytest.raises(ss.UsageError, match="whose features they share"):
        SMALL_2025.changed({"network": {"members": 2}})
