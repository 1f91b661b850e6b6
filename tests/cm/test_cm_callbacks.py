"""Metrics of a training for other tools, quiet trainings, and options of the loop that change no weights."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")
pytest.importorskip("safetensors", reason="safetensors is not installed: pip install 'spoofspan[cm]'")

from cm_corpora import make_data  # noqa: E402
from command_line import invoke  # noqa: E402

import spoofspan as ss  # noqa: E402
from spoofspan.cm import checkpoints, preset, train, training  # noqa: E402
from spoofspan.cm.batches import Pieces  # noqa: E402
from spoofspan.cm.distributed import Team  # noqa: E402
from spoofspan.cm.history import Callback, flattened  # noqa: E402
from spoofspan.cm.model import build  # noqa: E402
from spoofspan.cm.training import validate  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"), pytest.mark.slow]
torch.set_num_threads(1)
TINY = preset("small-cpu").changed(
    {
        "front_end": {"width": 16, "layers": 2},
        "network": {"branches": ["20ms"]},
        "training": {"epochs": 3, "batch_size": 4, "channels": 0.0},
    }
)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return tmp_path_factory.mktemp("callbacks")


@pytest.fixture(scope="module")
def data(database):
    return make_data(database, train=4, dev=4)


class Noting(Callback):
    def __init__(self):
        self.calls = []

    def on_train_begin(self, folder, config, epochs):
        self.calls.append(("begin", folder.name, config.name, [one["epoch"] for one in epochs]))

    def on_epoch_end(self, numbers):
        self.calls.append(("epoch", numbers["epoch"], numbers["dev/20ms/range-eer"]))

    def on_train_end(self):
        self.calls.append(("end",))


class Killed(BaseException):
    """What a test raises where the process would die."""


def lines_of(folder):
    return [flattened(json.loads(line)) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def rows_of(folder):
    with (folder / "metrics.csv").open(newline="") as stream:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(stream)]


def test_callbacks_hear_every_epoch_once_and_the_table_has_them_all_after_a_kill(data, tmp_path, monkeypatch):
    folder, noting = tmp_path / "model", Noting()
    real, saves = training._Loop._save, []

    def die(loop):
        real(loop)
        saves.append(loop)
        if len(saves) == 2:
            raise Killed

    monkeypatch.setattr(training._Loop, "_save", die)
    with pytest.raises(Killed):
        train(TINY, data, folder, callbacks=[noting, "csv"])
    monkeypatch.undo()
    (folder / "metrics.csv").write_text("half a li")  # whatever a kill left
    train(TINY, data, folder, resume=True, callbacks=[noting, "csv"])
    lines = lines_of(folder)
    assert [one["epoch"] for one in lines] == [0, 1, 2]
    assert rows_of(folder) == lines
    eers = [one["dev/20ms/range-eer"] for one in lines]
    assert noting.calls == [
        ("begin", "model", "small-cpu", []),
        ("epoch", 0, eers[0]),
        ("epoch", 1, eers[1]),
        ("begin", "model", "small-cpu", [0, 1]),
        ("epoch", 2, eers[2]),
        ("end",),
    ]
    train(TINY, data, folder, resume=True, callbacks=[noting, "csv"])  # there is nothing left to do
    assert len(noting.calls) == 6
    assert rows_of(folder) == lines


def test_what_is_no_callback_is_refused_before_training(data, tmp_path):
    for given, message in (
        ("cvs", "no log is called 'cvs': did you mean 'csv'"),
        ("no_such:Log", "there is no module 'no_such'"),
    ):
        with pytest.raises(ss.UsageError, match=message):
            train(TINY, data, tmp_path / "model", callbacks=[given])
    assert not (tmp_path / "model" / "config.toml").exists()


def test_tensorboard_has_every_number(data, tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = train(TINY, data, tmp_path / "model").folder
    events = EventAccumulator(str(folder / "tensorboard")).Reload()
    lines = lines_of(folder)
    assert set(events.Tags()["scalars"]) == set(lines[0])
    for name in lines[0]:
        found = [(one.step, one.value) for one in events.Scalars(name)]
        assert found == [(int(one["epoch"]), pytest.approx(one[name], rel=1e-6)) for one in lines]


def test_wandb_has_a_run(data, tmp_path, monkeypatch, capfd):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    folder = train(TINY, data, tmp_path / "model", callbacks=["wandb"]).folder
    assert list((folder / "wandb").glob("offline-run-*/*.wandb"))
    assert capfd.readouterr() == ("", "")


def test_a_quiet_training_and_scoring_print_nothing(data, database, tmp_path):
    """In a process of its own, where packages may print by themselves; asked for, the result is still printed."""
    (tmp_path / "tiny.toml").write_text(TINY.changed({"training": {"epochs": 1}}).to_toml())
    sets = [f"--{one}=partialspoof:{database}:{one}" for one in ("train", "dev")]
    command = [sys.executable, "-m", "spoofspan", "cm", "train", "--config", "tiny.toml", *sets, "--out", "model"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, "-q"], cwd=tmp_path, capture_output=True, env=environment, check=True)
    assert (done.stdout, [line for line in done.stderr.splitlines() if b"rough" not in line]) == (b"", [])
    wav = str(data.dev.sounds[0].where)
    scoring = ["cm", "score", tmp_path / "model", wav, "--out", tmp_path / "scores", "--force"]
    assert invoke(*scoring, "-q").output == ""
    assert json.loads(invoke(*scoring, "-q", "--format", "json").stdout)["recordings"] == 1
    assert "recordings" in invoke(*scoring).stdout


def test_validation_in_other_processes_and_precision_is_that_of_one(data):
    torch.manual_seed(2)
    model, team = build(TINY), Team(0, 1, torch.device("cpu"))
    one, workers, half = (
        validate(model, Pieces(data.dev, config), config, team)
        for config in (
            TINY.changed({"training": changes}) for changes in ({}, {"workers": 2}, {"precision": "bf16", "workers": 1})
        )
    )
    assert one == workers
    assert half.loss == pytest.approx(one.loss, rel=0.02)
    assert half.loss != one.loss  # autocast computed in half precision


def test_a_batch_is_pinned_as_a_whole(data, monkeypatch):
    """No GPU here: pinned memory is asked for where the device is one, and every tensor of a batch goes there."""
    pieces, pinned = Pieces(data.dev, TINY), []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda one: pinned.append(one) or one)
    batch = pieces[[0, 1]]
    same = batch.pin_memory()
    assert len(pinned) == 2 + len(batch.targets)
    assert torch.equal(same.waves, batch.waves)
    assert pieces.loader([[0]], 0, torch.device("cuda")).pin_memory
    assert not pieces.loader([[0]], 0, torch.device("cpu")).pin_memory


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch, in its compiler
@pytest.mark.skipif(not hasattr(torch.compiler, "set_stance"), reason="needs torch 2.6")
def test_a_compiled_training_learns_the_same_weights(data, tmp_path, monkeypatch):
    """What torch.compile wraps, run without its compiler, which takes minutes."""
    config, wrapped, real = TINY.changed({"training": {"epochs": 1}}), [], torch.compile

    def spy(model, **how):
        wrapped.append((real(model, **how), how))
        return wrapped[-1][0]

    monkeypatch.setattr(torch, "compile", spy)
    with torch.compiler.set_stance("force_eager"):
        compiled = train(config.changed({"training": {"compile": True}}), data, tmp_path / "compiled").folder
    plain = train(config, data, tmp_path / "plain").folder
    ((model, how),) = wrapped
    assert type(model).__name__ == "OptimizedModule"
    assert how == {"dynamic": True}  # lengths differ from batch to batch
    tensors = [checkpoints.read_tensors(Path(one) / checkpoints.MODEL)[0] for one in (plain, compiled)]
    assert tensors[0].keys() == tensors[1].keys()
    assert all(torch.equal(tensors[1][name], one) for name, one in tensors[0].items())
