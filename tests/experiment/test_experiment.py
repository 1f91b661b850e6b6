"""The paper's experiment: what it makes, what it goes on with, and that its numbers are those of the library."""

import json
import shutil
import statistics
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import spoofspan as ss
from spoofspan.cli import app

pytestmark = pytest.mark.slow

for needed in ("torch", "safetensors", "soundfile", "soxr"):
    pytest.importorskip(needed)

sys.path.append(str(Path(__file__).parents[2] / "tools"))
import make_demo as make  # noqa: E402

from spoofspan.base import locks  # noqa: E402
from spoofspan.base.locks import own_folder  # noqa: E402
from spoofspan.cm.batches import Corpus  # noqa: E402
from spoofspan.cm.config import SMALL_MULTI  # noqa: E402
from spoofspan.corpus.building import build  # noqa: E402
from spoofspan.corpus.settings import Settings  # noqa: E402
from spoofspan.experiment import Experiment, run  # noqa: E402
from spoofspan.experiment.results import (  # noqa: E402
    by_attack,
    unseen_attacks,
    without_attack,
)

TINY = SMALL_MULTI.changed(
    {
        "front_end": {"width": 16, "layers": 1, "maps": 2},
        "network": {"blocks": 1, "branches": ["20ms", "160ms", "utterance"]},
        "training": {"epochs": 1},
    }
)
UTTERANCES = {"train": 8, "dev": 6, "eval": 12}
SPEAKERS = {"train": 2, "dev": 2, "eval": 3}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiment") / "corpus"
    build(folder, settings=Settings(seed=3, utterances=UTTERANCES, speakers=SPEAKERS))
    return folder


@pytest.fixture(scope="module")
def asked(corpus):
    systems = ("multi", "single", "baseline", "shuffled", "joint-detector")
    return Experiment(TINY, systems, seeds=(1, 10), data=str(corpus))


@pytest.fixture(scope="module")
def done(asked, tmp_path_factory):
    return run(asked, tmp_path_factory.mktemp("experiment") / "out")


def read(corpus, results, system, subset, branch="20ms"):
    references = ss.read_dataset(f"partialspoof:{corpus}:{subset}").references
    folder = results.places.out / "scores" / subset / system
    return references, ss.read_scores(folder / f"scores_{branch}.parquet")


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_the_tables_are_those_of_the_library(corpus, done):
    assert set(done.tables) == {"multi", "single"}
    for name, system in (("multi", "multi"), ("single", "single-160")):
        for subset in ("dev", "eval"):
            table = done.tables[name][subset]
            assert [row.hop for row in table.rows] == [0.02, 0.16]
            assert table[0.16].seeds == ("1", "10")
            values = []
            for seed in (1, 10):
                references, scores = read(corpus, done, f"{system}/seed-{seed}", subset, "160ms")
                values.append(ss.range_eer(references, scores))
                assert table[0.16].range_eer.measurements[str(seed)].signature == values[-1].signature
            assert table[0.16].range_eer.value == pytest.approx(statistics.fmean(one.value for one in values))


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_attacks_seen_and_unseen_are_measured_apart(corpus, done):
    references, scores = read(corpus, done, "baseline/seed-10", "eval")
    attacks = {utterance: set() for utterance in references.utterances}
    with (corpus / "database/eval/con_data/rttm_attacks").open(encoding="utf-8") as lines:
        for fields in map(str.split, lines):
            if fields[7] != "bonafide":
                attacks[fields[1]].add(fields[7])
    assert "A04" in done.unseen  # and what a small training set happens not to have
    unseen = set(done.unseen)
    assert any(attacks.values())
    assert not all(attacks.values())
    row = next(row for row in done.rows if row.system == "baseline")
    for part, wanted in (
        ("seen attacks", [u for u in references.utterances if not attacks[u] & unseen]),
        ("unseen attacks", [u for u in references.utterances if attacks[u] <= unseen]),
    ):
        mass = ss.overlay(references, scores).select(wanted)
        assert row.values[part][1] == float(ss.equal_error_rate(mass).value)
    assert row.values["eval"][1] == ss.range_eer(references, scores).value
    assert row.floor == ss.best_possible(references, 0.02).value


def test_every_system_has_its_row_and_files(done):
    assert [row.system for row in done.rows] == [
        "multi",
        "multi",
        "multi",
        "single-20",
        "single-160",
        "single-utterance",
        "baseline",
        "shuffled",
        "joint-detector",
    ]
    assert [len(row.values["eval"]) for row in done.rows] == [2, 2, 2, 2, 2, 2, 2, 2, 1]
    assert [row.hop for row in done.rows] == [0.02, 0.16, None, 0.02, 0.16, None, 0.02, 0.02, 0.02]
    out = done.places.out
    for name in ("multi", "single", "systems"):
        for suffix in ("txt", "md", "tex", "csv", "json"):
            assert (out / "tables" / f"{name}.{suffix}").stat().st_size
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "con_wav" in page
    assert "jackknife-t by speaker (3 of them" in page
    assert "joint-detector" in page
    seconds = json.loads((out / "experiment.json").read_text())["seconds"]
    assert "training single-160, seed 10" in seconds
    assert "scoring eval with joint-detector" in seconds
    assert json.loads(done.render("json"))["systems"][0]["system"] == "multi"
    for spelling in ("text", "markdown", "latex", "csv"):
        assert "joint-detector" in done.render(spelling)


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_utterances_are_scored_by_a_system_of_their_own(corpus, done):
    """Trained on the utterance branch alone; its EER is that of its score file, and of the definition."""
    row = next(row for row in done.rows if row.system == "single-utterance")
    for i, seed in enumerate((1, 10)):
        for subset in ("dev", "eval"):
            references = ss.read_dataset(f"partialspoof:{corpus}:{subset}").references
            folder = done.places.out / "scores" / subset / f"single-utterance/seed-{seed}"
            assert not list(folder.glob("scores_*ms.parquet"))
            scores = ss.read_utterance_scores(folder / "scores_utterance.tsv")
            value = row.values[subset][i]
            assert value == ss.utterance_eer(references, scores).value
            labels = np.array([(references.labels[a:b] == 1).any() for a, b in pairwise(references.offsets)])
            of = dict(zip(scores.utterances, scores.values, strict=True))
            found = np.array([of[name] for name in references.utterances])
            rates = [((found[labels] >= t).mean(), (found[~labels] < t).mean()) for t in [*found, np.inf]]
            nearest = min(abs(a - b) for a, b in rates)
            middles = [(a + b) / 2 for a, b in rates if abs(a - b) == nearest]
            assert any(value == pytest.approx(one) for one in middles)
    text = done.render("text")
    assert "single-utterance" in text
    assert "Rows with the hop 'utterance': utterance EER" in text
    plain = next(one for one in json.loads(done.render("json"))["systems"] if one["system"] == "single-utterance")
    assert plain["hop"] is None
    assert plain["utterance_eer"]["eval"]["seeds"] == row.values["eval"]


def test_what_is_there_is_not_made_again(asked, done):
    def times():
        return {path: path.stat().st_mtime_ns for path in done.places.out.rglob("*.parquet")}

    before = times()
    again = run(asked, done.places.out, report=False)
    assert times() == before
    assert [row.to_dict() for row in again.rows] == [row.to_dict() for row in done.rows]


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_the_demo_is_made_of_an_experiment(corpus, done, tmp_path):
    shutil.copytree(corpus, tmp_path / "corpus")
    shutil.copytree(done.places.out / "scores", tmp_path / "scores")
    made = make.demo_corpus(tmp_path, seeds=("1", "10"), hops_ms=(20, 160))
    references, scores = read(corpus, done, "multi/seed-10", "eval", "160ms")
    held_out = {references.attack_names.index(name) for name in done.unseen}
    without = [
        name
        for name, a, b in zip(references.utterances, references.offsets[:-1], references.offsets[1:], strict=True)
        if not held_out & set(references.attacks[a:b].tolist())
    ]
    assert made.references.utterances == tuple(without)
    assert made.systems is made.seeds["1"]
    mass = ss.overlay(references, scores).select(made.references.utterances)
    assert ss.range_eer(made.references, made.seeds["10"][0.16]).value == float(ss.equal_error_rate(mass).value)


def test_another_experiment_is_refused_in_the_same_folder(asked, corpus, done, tmp_path, monkeypatch):
    other = Experiment(TINY.changed({"training": {"epochs": 2}}), asked.systems, asked.seeds, str(corpus))
    with pytest.raises(ss.UsageError, match="another experiment"):
        run(other, done.places.out)
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ss.UsageError, match="other files in it"):
        run(asked, tmp_path)
    with pytest.raises(ss.UsageError, match="is a file"):
        run(asked, tmp_path / "thesis.txt")
    monkeypatch.setattr(locks, "PATIENCE", 0.1)
    with own_folder(tmp_path), pytest.raises(ss.UsageError, match="is being written by another process"):
        run(asked, tmp_path)
    (tmp_path / "experiment.json").write_text("[]")
    with pytest.raises(ss.DataError, match="not written by spoofspan experiment"):
        run(asked, tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"systems": ("multy",)}, "did you mean 'multi'"),
        ({"systems": ()}, "at least one"),
        ({"seeds": (1, 1)}, "none twice"),
        ({"data": "x", "utterances": {"train": 3}}, "built-in corpus"),
        ({"reference_source": "rttm"}, "one kind"),
    ],
)
def test_what_cannot_be_run_is_refused(changes, message):
    with pytest.raises(ss.UsageError, match=message):
        Experiment(**changes)


def test_utterances_with_both_sorts_of_attack_are_in_no_part():
    ranges = {
        "bona fide": [(0, 2, "bonafide")],
        "seen": [(0, 1, "bonafide"), (1, 2, "spoof", "A01")],
        "unseen": [(0, 1, "spoof", "A09")],
        "both": [(0, 1, "spoof", "A01"), (1, 2, "spoof", "A09")],
        "not named": [(0, 1, "spoof")],
    }
    references = ss.References.from_ranges(ranges)
    names = np.array(references.utterances)
    parts = by_attack(references, ["A09"])
    assert names[parts["seen attacks"]].tolist() == ["bona fide", "seen", "not named"]
    assert names[parts["unseen attacks"]].tolist() == ["bona fide", "unseen"]
    assert by_attack(references, []) == {}
    assert unseen_attacks(references, references) == ()


def test_the_command(corpus, tmp_path):
    arguments = [
        "experiment",
        str(tmp_path / "out"),
        *("--data", str(corpus), "--systems", "baseline,joint-detector", "--no-report", "--format", "json"),
    ]
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0, found.output
    systems = json.loads(found.stdout)["systems"]
    assert [one["system"] for one in systems] == ["baseline", "joint-detector"]
    assert not (tmp_path / "out" / "report.html").exists()
    wrong = CliRunner().invoke(app, ["experiment", str(tmp_path / "new"), "--seeds", "one"])
    assert isinstance(wrong.exception, ss.UsageError)
    assert "whole numbers" in str(wrong.exception)
    wrong = CliRunner().invoke(app, ["experiment", str(tmp_path / "new"), "--preset", "baseline"])
    assert "one of the --systems" in str(wrong.exception)


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_each_attack_is_held_out_in_turn(tmp_path):
    folder = tmp_path / "corpus"
    settings = Settings(seed=3, utterances={"train": 16, "dev": 12, "eval": 14}, speakers=SPEAKERS, held_out=())
    build(folder, settings=settings)
    asked = Experiment(TINY, ("baseline", "joint-detector"), seeds=(1,), data=str(folder), hold_out="each")
    asked = replace(asked, config=asked.config.changed({"training": {"epochs": 1}}))
    done = run(asked, tmp_path / "out")
    dataset = ss.read_dataset(f"partialspoof:{folder}:eval").references
    attacks = sorted(dataset.attack_names)
    assert len(attacks) >= 3
    assert [(row.system, row.attack) for row in done.rows] == [
        (system, attack) for system in ("joint-detector", "baseline") for attack in attacks
    ]
    train = Corpus.from_dataset(f"partialspoof:{folder}:train")
    left = without_attack(train, attacks[0])
    assert 0 < len(left) < len(train)
    who = dict(zip(train.references.utterances, train.speakers, strict=True))
    assert left.speakers == tuple(who[name] for name in left.references.utterances)
    assert attacks[0] not in {
        left.references.attack_names[code] for code in left.references.attacks.tolist() if code >= 0
    }
    for attack in attacks:
        path = tmp_path / "out/scores/eval" / f"without-{attack}/baseline/seed-1/scores_20ms.parquet"
        rows = by_attack(dataset, [attack])["unseen attacks"]
        utterances = [dataset.utterances[row] for row in rows]
        mass = ss.overlay(dataset, ss.read_scores(path)).select(utterances)
        assert done.unseen("baseline")[attack] == float(ss.equal_error_rate(mass).value)
    text = (tmp_path / "out/tables/held-out.txt").read_text()
    assert "mean" in text
    assert "worst" in text
    assert json.loads(done.render("json"))["held_out"][0]["system"] == "joint-detector"
    with pytest.raises(ss.UsageError, match="each"):
        Experiment(hold_out="A01")
