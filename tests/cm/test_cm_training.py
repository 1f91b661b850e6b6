"""Training: it learns, goes on after a kill as if nothing had happened, and is the same with several processes."""

import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")
pytest.importorskip("safetensors", reason="safetensors is not installed: pip install 'spoofspan[cm]'")

sys.path.append(str(Path(__file__).parents[2] / "tools"))
import kill  # noqa: E402
from cm_corpora import make_data, make_set, recording, write_wav  # noqa: E402

import spoofspan as ss  # noqa: E402
from spoofspan.base import locks  # noqa: E402
from spoofspan.base.locks import own_folder  # noqa: E402
from spoofspan.cm import checkpoints, training  # noqa: E402
from spoofspan.cm.batches import Corpus, Pieces, TrainingData, bucketed_batches, pieces_of  # noqa: E402
from spoofspan.cm.card import read_card  # noqa: E402
from spoofspan.cm.config import BASELINE, SMALL, SMALL_MULTI  # noqa: E402
from spoofspan.cm.distributed import Team  # noqa: E402
from spoofspan.cm.frame_times import BRANCHES, samples_of  # noqa: E402
from spoofspan.cm.loss import whole_loss, window_errors  # noqa: E402
from spoofspan.cm.model import build  # noqa: E402
from spoofspan.cm.training import train, validate  # noqa: E402

torch.set_num_threads(1)
HERE = Path(__file__).parents[1]
# a small network that learns in seconds; with dropout, so that every random draw must be the same after a kill
TINY = replace(SMALL_MULTI, name="tiny").changed(
    {
        "front_end": {"width": 16, "layers": 2, "maps": 2},
        "network": {"blocks": 1, "frames": 128, "branches": ["20ms", "160ms", "utterance"], "head": "cosine"},
        "training": {
            "epochs": 2,
            "batch_size": 3,
            "halve_every": 1,
            "patience": 3,
            "channels": 1.0,
            "channel_share": 0.5,
            "keep": "best",
        },
    }
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """A training that nothing interrupts."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    return train(TINY, data, folder)


def weights(folder, name=checkpoints.STATE):
    return checkpoints.read_tensors(folder / name)[0]


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


class Killed(BaseException):
    """What a test raises where the process would die."""


@pytest.mark.parametrize("steps", [1, 4, 6, 7], ids=lambda n: f"save {n}")
def test_a_killed_training_goes_on_to_the_same_weights(steps, data, whole, tmp_path, monkeypatch):
    config = TINY.changed({"training": {"save_every": 1}})
    folder = tmp_path / "out"
    saves = []
    save = training._Loop._save

    def save_and_die(loop):
        save(loop)
        saves.append(loop.at.step)
        if len(saves) == steps:
            raise Killed

    monkeypatch.setattr(training._Loop, "_save", save_and_die)
    with pytest.raises(Killed):
        train(config, data, folder)
    monkeypatch.undo()
    train(config, data, folder, resume=True)
    assert same(weights(folder), weights(whole.folder))
    assert same(weights(folder, checkpoints.MODEL), weights(whole.folder, checkpoints.MODEL))
    without_time = [
        [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in path.read_text().splitlines()]
        for path in (folder / "metrics.jsonl", whole.folder / "metrics.jsonl")
    ]
    assert without_time[0] == without_time[1]


def test_a_kill_between_the_files_leaves_a_training_that_goes_on(data, whole, tmp_path, monkeypatch):
    """The best model and the line of metrics are written before the state; the epoch is simply done again."""
    folder = tmp_path / "out"

    def die(loop):
        raise Killed

    monkeypatch.setattr(training._Loop, "_save", die)
    with pytest.raises(Killed):
        train(TINY, data, folder)
    assert (folder / "metrics.jsonl").read_text().count("\n") == 1
    monkeypatch.undo()
    train(TINY, data, folder, resume=True)
    assert same(weights(folder), weights(whole.folder))
    assert (folder / "metrics.jsonl").read_text().count("\n") == TINY.training.epochs


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize(("processes", "workers"), [(2, 0), (1, 2)])
def test_every_process_of_a_killed_training_ends_with_it_and_none_keeps_its_lock(processes, workers, data, tmp_path):
    """Two that train, or two that read sound for it: these may be forked, and have every open file."""
    database, folder, mark = data.train.sounds[0].where.parents[2], tmp_path / "out", "a-training-that-is-killed"
    config = TINY.changed({"training": {"workers": workers, "epochs": 1000, "patience": 1000}})
    (tmp_path / "tiny.toml").write_text(config.to_toml())
    command = [*kill.PROGRAM, "cm", "train", "--config", tmp_path / "tiny.toml", "--out", folder]
    command += ["--train", f"partialspoof:{database}:train", "--dev", f"partialspoof:{database}:dev"]
    command += ["--processes", str(processes)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", kill.MARK: mark}
    most, deadline = 0, time.monotonic() + 120
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as process:
        while process.poll() is None and time.monotonic() < deadline:
            most = len(kill.living(mark))
            if most >= 3 and (folder / checkpoints.STATE).is_file():  # the command and two more
                break
        running = process.poll() is None
        process.kill()
    assert running
    assert most >= 3
    deadline = time.monotonic() + 10
    while kill.living(mark) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not kill.living(mark)
    with own_folder(folder):
        pass


def test_two_trainings_do_not_write_one_checkpoint(data, tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.1)
    with own_folder(tmp_path), pytest.raises(ss.UsageError, match="is being written by another process"):
        train(TINY, data, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_real_kill_leaves_a_training_that_goes_on(whole, data, tmp_path):
    """SIGKILL while the command trains; what is there then goes on."""
    database = data.train.sounds[0].where.parents[2]
    folder = tmp_path / "out"
    config = TINY.changed({"training": {"save_every": 1}})
    (tmp_path / "tiny.toml").write_text(config.to_toml())
    command = [sys.executable, "-c", "from spoofspan.cli import main; main()", "cm", "train"]
    command += ["--config", str(tmp_path / "tiny.toml"), "--out", str(folder), "-q"]
    command += ["--train", f"partialspoof:{database}:train", "--dev", f"partialspoof:{database}:dev"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
        while process.poll() is None and not (folder / checkpoints.STATE).is_file():
            time.sleep(0.01)
        process.kill()
    assert (folder / checkpoints.STATE).is_file()
    train(config, data, folder, resume=True)
    assert same(weights(folder), weights(whole.folder))


def test_a_training_is_not_overwritten_or_mixed_up(data, whole):
    with pytest.raises(ss.UsageError, match="--resume"):
        train(TINY, data, whole.folder)
    with pytest.raises(ss.UsageError, match="another configuration"):
        train(TINY.changed({"training": {"seed": 5}}), data, whole.folder, resume=True)
    with pytest.raises(ss.UsageError, match="other data"):
        train(TINY, TrainingData(data.dev, data.train), whole.folder, resume=True)
    before = weights(whole.folder)
    assert train(TINY, data, whole.folder, resume=True) == whole  # it is done already
    assert same(before, weights(whole.folder))


def test_a_training_that_failed_before_it_saved_anything_is_begun_anew_with_other_settings(data, tmp_path):
    config = TINY.changed({"training": {"epochs": 1}, "network": {"branches": ["20ms"]}})
    failing = config.changed({"loss": {"kind": "types:SimpleNamespace"}})
    with pytest.raises(ss.UsageError, match="loss: types:SimpleNamespace failed: TypeError"):
        train(failing, data, tmp_path / "out")
    assert (tmp_path / "out/config.toml").is_file()
    assert train(config, data, tmp_path / "out").epochs == 1


def test_a_development_set_that_was_trained_on_is_warned_of_and_stands_on_the_card(data, tmp_path):
    config = TINY.changed({"training": {"epochs": 1}, "network": {"branches": ["20ms"]}})
    with pytest.warns(ss.SpoofspanWarning, match=r"6 of 6 recordings .* dev= \(--dev\)"):
        folder = train(config, TrainingData(data.dev, data.dev), tmp_path / "out").folder
    assert any("in the training set too" in limit for limit in read_card(folder).about["limits"])
    assert not data.shared


def test_the_seed_decides(data, whole, tmp_path):
    assert same(weights(train(TINY, data, tmp_path / "same").folder), weights(whole.folder))
    other = train(TINY.changed({"training": {"seed": 2}}), data, tmp_path / "other")
    assert not same(weights(other.folder), weights(whole.folder))


def test_gradients_are_not_longer_than_asked_for(data, tmp_path, monkeypatch):
    lengths = []
    step = torch.optim.AdamW.step

    def noting(optimiser, *arguments):
        gradients = [one.grad for group in optimiser.param_groups for one in group["params"] if one.grad is not None]
        lengths.append(float(torch.stack([one.norm() for one in gradients]).norm()))
        return step(optimiser, *arguments)

    monkeypatch.setattr(torch.optim.AdamW, "step", noting)
    train(TINY.changed({"training": {"epochs": 1, "largest_gradient": 0.0}}), data, tmp_path / "any")
    free, lengths[:] = list(lengths), []
    limit = statistics.fmean(free)
    train(TINY.changed({"training": {"epochs": 1, "largest_gradient": limit}}), data, tmp_path / "short")
    assert max(free) > limit * 1.001
    assert max(lengths) <= limit * 1.0001
    assert lengths[0] == pytest.approx(min(free[0], limit), rel=1e-3)


def test_two_processes_learn_what_one_does(data, tmp_path):
    """Through torch's own distributed data parallel on gloo; batches that do not divide, and accumulated parts."""
    config = TINY.changed(
        {
            "network": {"utterance_dropout": 0.0},
            "front_end": {"dropout": 0.0},
            "training": {"channels": 0.0},  # which are drawn for a whole batch
        }
    )
    one = train(config, data, tmp_path / "one")
    parts = train(config.changed({"training": {"accumulate": 2}}), data, tmp_path / "parts")
    two = train(config, data, tmp_path / "two", processes=2)
    alone = weights(one.folder)
    for other in (parts, two):
        found = weights(other.folder)
        assert found.keys() == alone.keys()
        for name, tensor in alone.items():
            if name.startswith("model/"):
                torch.testing.assert_close(found[name], tensor, rtol=1e-3, atol=2e-5)
    lines = [json.loads((one.folder / "metrics.jsonl").read_text().splitlines()[-1]) for one in (one, two)]
    assert lines[0]["train_loss"] == pytest.approx(lines[1]["train_loss"], rel=1e-4)
    assert lines[0]["dev_loss"] == pytest.approx(lines[1]["dev_loss"], rel=1e-4)


def test_it_overfits_four_utterances(tmp_path):
    """All branches together, by the loss that training has."""
    make_set(tmp_path, "train", 4, seed=11, lengths=(0.7, 1.0))
    config = TINY.changed(
        {
            "front_end": {"width": 32, "dropout": 0.0},
            "network": {"utterance_dropout": 0.0, "branches": list(BRANCHES)},
        }
    )
    pieces = Pieces(Corpus.from_dataset(f"partialspoof:{tmp_path}:train"), config)
    torch.manual_seed(1)
    model, batch = build(config), pieces[[0, 1, 2, 3]]
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(120):
        value = whole_loss(model(batch.waves, batch.samples), batch.targets, pieces.windows(range(4)))
        losses.append(float(value.detach()))
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
    assert losses[-1] < 0.05 * losses[0]
    found = validate(model, pieces, config, Team(0, 1, torch.device("cpu")))
    assert max(eer for one in found.measures.values() for name, eer in one.items() if name != "range-eer") < 0.01


def test_labels_are_learned_and_shuffled_labels_are_not(data, tmp_path):
    """The baseline learns the buzz in seconds, unless its labels trade places."""
    config = BASELINE.changed(
        {"network": {"branches": ["20ms"]}, "training": {"epochs": 8, "batch_size": 2, "patience": 8}}
    )
    real = train(config, data, tmp_path / "real")
    mixed = train(config.changed({"training": {"shuffle_labels": "frames"}}), data, tmp_path / "mixed")
    assert real.best < 0.05
    assert mixed.best > 0.2


def test_threads_are_those_asked_for_and_as_before_afterwards(data, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(training, "through_channels", lambda waves, *_: seen.append(torch.get_num_threads()) or waves)
    one = TINY.changed({"training": {"epochs": 1}})
    before = torch.get_num_threads()
    train(one, data, tmp_path / "one")
    train(one, data, tmp_path / "two", threads=2)
    assert (seen[0], seen[-1], torch.get_num_threads()) == (1, 2, before)
    with pytest.raises(ss.UsageError, match="threads=0"):
        train(one, data, tmp_path / "none", threads=0)


BF16 = """
import torch
with torch.autocast("cpu", dtype=torch.bfloat16):
    torch.nn.Linear(64, 64)(torch.randn(8, 64)).sum().backward()
"""


def test_half_precision_trains(data, tmp_path):
    if subprocess.run(
        [sys.executable, "-c", BF16], capture_output=True
    ).returncode:  # ended by the processor, not by us
        pytest.skip("torch cannot compute in bf16 here: a virtual machine may not have what its processor announces")
    done = train(TINY.changed({"training": {"precision": "bf16", "epochs": 1}}), data, tmp_path / "out")
    tensors = weights(done.folder)
    assert all(torch.isfinite(tensor).all() for tensor in tensors.values())
    assert tensors["model/heads.of.20ms.weight"].dtype == torch.float32
    with pytest.raises(ss.UsageError, match="needs a GPU"):
        train(TINY.changed({"training": {"precision": "fp16"}}), data, tmp_path / "other")


def test_reading_in_other_processes_changes_nothing(data, whole, tmp_path):
    done = train(TINY.changed({"training": {"workers": 1, "epochs": 1}}), data, tmp_path / "workers")
    first = train(TINY.changed({"training": {"epochs": 1}}), data, tmp_path / "first")
    assert same(weights(done.folder), weights(first.folder))


def test_the_learning_rate_is_halved_and_training_stops_without_a_new_best(data, tmp_path, monkeypatch):
    values = iter([0.4, 0.3, 0.35, 0.3, 0.31, 0.2])
    real = training.validate
    monkeypatch.setattr(training, "validate", lambda *a: replace(real(*a), stop_on=next(values)))
    recipe = {"epochs": 9, "schedule": "halving", "learning_rate": 1e-3, "halve_every": 2}
    done = train(TINY.changed({"training": recipe}), data, tmp_path / "out")
    assert (done.epochs, done.best_epoch, done.best) == (5, 1, 0.3)
    lines = [json.loads(line) for line in (done.folder / "metrics.jsonl").read_text().splitlines()]
    assert [one["learning_rate"] for one in lines] == [1e-3, 1e-3, 5e-4, 5e-4, 2.5e-4]
    assert [one["best"] for one in lines] == [True, True, False, False, False]
    assert checkpoints.load(done.folder).about["epoch"] == 1


def test_a_best_epoch_while_the_rate_is_high_does_not_count(data, tmp_path, monkeypatch):
    values = iter([0.1, 0.4, 0.5, 0.3, 0.35, 0.45])
    real = training.validate
    monkeypatch.setattr(training, "validate", lambda *a: replace(real(*a), stop_on=next(values)))
    recipe = {"epochs": 6, "schedule": "one-cycle", "patience": 1}
    done = train(TINY.changed({"training": recipe}), data, tmp_path / "out")
    assert (done.epochs, done.best_epoch, done.best) == (5, 3, 0.3)


def test_validation_is_in_evaluation_mode_and_measures_with_spoofspan(data, whole):
    """Its numbers are those of the checkpoint's scores, laid over the references by hand; dropout plays no part."""
    from spoofspan.cm.scorers import load_scorer
    from spoofspan.cm.scoring import score_sounds

    found = checkpoints.load(whole.folder)
    pieces = Pieces(data.dev, TINY)
    team = Team(0, 1, torch.device("cpu"))
    found.model.train()
    first, second = (validate(found.model, pieces, TINY, team) for _ in range(2))
    assert first == second
    assert first.measures == found.about["dev"]
    ids = data.dev.references.utterances
    made, seconds = score_sounds(load_scorer(whole.folder), dict(zip(ids, data.dev.sounds, strict=True)))
    assert seconds == pytest.approx(data.dev.seconds)
    for name in ("20ms", "160ms"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ss.SpoofspanWarning)  # it has learned too little to be of any use
            expected = ss.range_eer(data.dev.references, made[name]).value
        assert first.measures[name]["range-eer"] == pytest.approx(expected, abs=1e-3)
    assert first.stop_on == first.measures["20ms"]["range-eer"]


# ---------------------------------------------------------------- the baseline


def test_the_baseline_is_the_logistic_regression_of_scikit_learn():
    """The lowest loss has the line that another program finds."""
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3000, 201)).astype(np.float32)
    y = (x[:, :5] @ rng.normal(size=5) + 0.7 + rng.logistic(size=3000) > 0).astype(np.int64)
    model = build(BASELINE)
    line = model.heads["20ms"]
    optimiser = torch.optim.LBFGS(line.parameters(), max_iter=500, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        value = window_errors(model.outputs("20ms", torch.from_numpy(x)), torch.from_numpy(y)) / len(y)
        value.backward()
        return value

    optimiser.step(closure)
    found = linear.LogisticRegression(C=1e9, max_iter=5000, tol=1e-8).fit(x.astype(np.float64), y)
    np.testing.assert_allclose(line.weight.detach().numpy()[0], found.coef_[0], atol=5e-3)
    assert float(line.bias.detach()) == pytest.approx(float(found.intercept_[0]), abs=5e-3)


def test_the_baseline_sees_the_mean_spectrum_of_a_window(data):
    model = build(BASELINE)
    batch = Pieces(data.train, BASELINE)[[0]]
    wave = batch.waves[0].double().numpy()
    wave = (wave - wave.mean()) / np.sqrt(wave.var() + 1e-5)
    frames = [wave[at : at + 400] * np.hanning(401)[:-1] for at in range(0, wave.size - 399, 160)]
    spectra = [np.log(np.abs(np.fft.rfft(one)) ** 2 + 1e-5) for one in frames]  # nothing was looked at yet
    pairs = [np.mean(spectra[i : i + 2], axis=0) for i in range(0, len(spectra), 2)]
    found = model.embed(batch.waves, batch.samples)
    np.testing.assert_allclose(found["20ms"].values[0].numpy(), np.array(pairs), atol=2e-3)
    windows = [np.mean(pairs[i : i + 8], axis=0) for i in range(0, len(pairs), 8)]
    np.testing.assert_allclose(found["160ms"].values[0].numpy(), np.array(windows), atol=2e-3)
    np.testing.assert_allclose(found["utterance"].values[0, 0].numpy(), np.mean(pairs, axis=0), atol=2e-3)


# ---------------------------------------------------------------- batches


def test_every_piece_is_in_one_batch_and_neighbours_have_similar_lengths():
    lengths = np.random.default_rng(0).integers(1, 400, 1000).tolist()
    first, second = bucketed_batches(lengths, 8, seed=1, epoch=0), bucketed_batches(lengths, 8, seed=1, epoch=1)
    assert sorted(i for batch in first for i in batch) == list(range(1000))
    assert first != second
    assert first == bucketed_batches(lengths, 8, seed=1, epoch=0)
    padded = sum(len(batch) * max(lengths[i] for i in batch) for batch in first)
    assert padded < 1.1 * sum(lengths)
    longest = [max(lengths[i] for i in batch) for batch in first]
    assert longest != sorted(longest)


@pytest.mark.parametrize("frames", [1, 63, 64, 65, 96, 97, 128, 129, 500])
def test_pieces_cover_an_utterance_once(frames):
    samples = samples_of(frames) + 17
    found = pieces_of([samples], 64)
    assert [one.start for one in found] == [sum(one.frames for one in found[:i]) for i in range(len(found))]
    assert sum(one.frames for one in found) == frames
    assert all(one.start % 32 == 0 and one.frames <= 64 for one in found)
    assert all(one.samples == samples_of(one.frames) for one in found[:-1])
    assert found[-1].start * 320 + found[-1].samples == samples


def test_the_targets_of_pieces_are_those_of_the_utterance(tmp_path):
    rng = np.random.default_rng(4)
    write_wav(tmp_path / "u.wav", recording(rng, 7.3))
    references = ss.References.from_ranges(
        {"u": [(0.0, 2.0, "bonafide"), (2.0, 2.013, "spoof"), (2.013, 7.3, "bonafide")]}, {"u": 7.3}
    )
    (tmp_path / "r.csv").write_text(
        "utterance,start,end,label\nu,0,2,bonafide\nu,2,2.013,spoof\nu,2.013,7.3,bonafide\n"
    )
    corpus = Corpus.from_files(str(tmp_path / "r.csv"), tmp_path)
    pieces = Pieces(corpus, TINY.changed({"network": {"frames": 64}}))
    whole = Pieces(corpus, TINY.changed({"network": {"frames": 384}}))
    assert len(pieces) == 6
    assert len(whole) == 1
    for name in ("20ms", "160ms"):
        joined = np.concatenate([one[name] for one in pieces.targets])
        assert joined.tolist() == whole.targets[0][name].tolist()
    assert [int(one["utterance"][0]) for one in pieces.targets] == [1, 0, 1, 1, 1, 1]
    assert int(references.durations[0]) == int(corpus.references.durations[0])


def test_sound_that_does_not_fit_the_references_is_refused(tmp_path):
    write_wav(tmp_path / "u.wav", recording(np.random.default_rng(0), 1.0))
    references = ss.References.from_ranges({"u": [(0.0, 2.0, "spoof")], "v": [(0.0, 1.0, "spoof")]}, {"u": 2.0, "v": 1})
    from spoofspan.formats.sound import sounds_in

    with pytest.raises(ss.DataError, match="'v' has no sound"):
        Corpus.of(references, sounds_in(tmp_path))
    write_wav(tmp_path / "v.wav", recording(np.random.default_rng(0), 1.0))
    with pytest.raises(ss.DataError, match=r"lasts 1\.000 s"):
        Corpus.of(references, sounds_in(tmp_path))


def test_the_last_epoch_is_kept_where_that_is_asked_for(data, tmp_path):
    config = SMALL.changed(
        {"front_end": {"width": 16, "layers": 1}, "training": {"epochs": 3, "batch_size": 4, "patience": 1}}
    )
    folder = tmp_path / "out"
    trained = train(config, data, folder)
    assert (trained.epochs, trained.best_epoch) == (3, 2)
    last = {name.removeprefix("model/"): one for name, one in weights(folder).items() if name.startswith("model/")}
    assert same(last, weights(folder, checkpoints.MODEL))


def test_members_are_trainings_of_their_own(data, tmp_path):
    """Each is, to the bit, what a training with its seed alone gives; the card is of their mean."""
    alone = SMALL.changed({"front_end": {"width": 16, "layers": 1}, "training": {"epochs": 1, "batch_size": 4}})
    both = alone.changed({"network": {"members": 2}})
    train(both, data, tmp_path / "both")
    train(alone.changed({"training": {"seed": 2}}), data, tmp_path / "second")
    joined = weights(tmp_path / "both", checkpoints.MODEL)
    second = {name.removeprefix("members.1."): one for name, one in joined.items() if name.startswith("members.1.")}
    assert same(second, weights(tmp_path / "second", checkpoints.MODEL))
    assert read_card(tmp_path / "both").locating == "20ms"
    before = (tmp_path / "both" / checkpoints.MODEL).read_bytes()
    train(both, data, tmp_path / "both", resume=True)
    assert (tmp_path / "both" / checkpoints.MODEL).read_bytes() == before
