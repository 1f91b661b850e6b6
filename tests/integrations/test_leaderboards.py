"""Results as leaderboards and model cards take them: read back by the packages that read them there."""

import hashlib
import json

import pytest
from command_line import run

import spoofspan as ss
from spoofspan import demo
from spoofspan.base.documents import yaml_text
from spoofspan.integrations.leaderboards import FORMS, PublishedSystem, publish
from spoofspan.report.table import finite

COMMIT = "13d69268a57afc7ebba2421d2a31730a390f1ff2"
URL = f"https://huggingface.co/owner/model/resolve/{COMMIT}/.eval_results/owner/name/scores.txt"
ABOUT = {"system": "Ours: «v1» # two", "dataset": "owner/name", "revision": COMMIT}


@pytest.fixture(scope="module")
def result():
    corpus = demo.load()
    measures = ["range-eer", "point-eer@20ms", "utterance-eer", "range-min-dcf"]
    return finite(ss.evaluate(corpus.references, corpus.systems[0.02], measures).to_dict())


@pytest.fixture
def values(result):
    return {one["measure"]: one["value"] for one in result["measurements"]}


def read_back(plain):
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load(yaml_text(plain))
    assert found == plain
    return found


def test_the_arenas_result_has_the_keys_of_the_arena(result, values):
    about = PublishedSystem(**ABOUT, paper="2305.17739", scores_url=URL, scores_sha256="ab" * 32, skipped=3)
    found = read_back(publish(result, "arena", about))
    assert found["schema_version"] == 1
    assert found["system"] == {"name": ABOUT["system"], "slug": "ours-v1-two", "paper": {"arxiv_id": "2305.17739"}}
    assert found["dataset"] == {"id": "owner/name", "revision": COMMIT, "split": "test"}
    assert found["scores"] == {
        "eer_percent": pytest.approx(100 * values["utterance-eer"], abs=1e-12),
        "n_trials": 169,
        "n_skipped": 3,
    }
    assert found["artifact"] == {"scores_url": URL, "scores_sha256": "ab" * 32}


def test_eval_results_are_what_the_hub_parses(result, values):
    hub = pytest.importorskip("huggingface_hub")
    if not hasattr(hub, "parse_eval_result_entries"):
        pytest.skip("this version of huggingface_hub does not know .eval_results")
    about = PublishedSystem(**ABOUT, date="2026-11-18", source="https://example.org/run")
    plain = read_back(publish(result, "hf-eval-results", about))
    entries = hub.parse_eval_result_entries(plain)
    assert [one.task_id for one in entries] == list(values)
    assert [one.dataset_revision for one in entries] == [COMMIT] * 4
    assert entries[0].value == pytest.approx(100 * values["range-eer"])
    assert entries[3].value == list(values.values())[3]  # a cost is no share
    assert "Range EER, in %; spoofspan: range-eer|nearest|" in entries[0].notes
    assert hub.eval_result_entries_to_yaml(entries) == plain
    (one,) = hub.parse_eval_result_entries(
        publish(result, "hf-eval-results", PublishedSystem(**ABOUT, task="localization"), ["range-eer"])
    )
    assert one.task_id == "localization"


def test_a_model_index_is_what_a_model_card_holds(result, values):
    hub = pytest.importorskip("huggingface_hub")
    plain = publish(result, "model-index", PublishedSystem(**ABOUT, source="https://example.org/run"))
    card = hub.ModelCard(f"---\n{yaml_text(plain)}---\n# Ours\n")
    assert card.data.model_name == ABOUT["system"]
    found = card.data.eval_results
    assert [one.metric_type for one in found] == list(values)
    assert found[0].metric_value == pytest.approx(100 * values["range-eer"])
    assert found[0].metric_name == "Range EER (%)"
    assert (found[0].dataset_type, found[0].dataset_split, found[0].dataset_revision) == ("owner/name", "test", COMMIT)
    assert found[0].metric_args["signature"].startswith("range-eer|nearest|")
    again = hub.ModelCard(str(card)).data.eval_results  # the card writes itself, and is read again
    assert [one.metric_value for one in again] == [one.metric_value for one in found]


@pytest.mark.parametrize(
    ("form", "about", "measures", "why"),
    [
        ("arena", {"revision": ""}, (), r"needs revision= \(--revision COMMIT\) and scores_sha256= \("),
        ("arena", {}, ["range-eer"], "the Arena ranks the utterance-eer, and the result has range-eer"),
        ("arenas", {}, (), "did you mean 'arena'"),
        ("model-index", {}, ["range-f1"], "the result has no range-f1, only range-eer"),
        ("hf-eval-results", {"task": "one"}, (), "the task 'one' has one value, and the result has range-eer, "),
        ("arena", {"revision": "main"}, (), "must be a commit of 40 hexadecimal digits"),
        ("arena", {"dataset": "name"}, (), "must be OWNER/NAME"),
        ("arena", {"scores_url": URL.replace(COMMIT, "main")}, (), "must lead to a commit"),
    ],
)
def test_what_a_leaderboard_would_refuse_is_refused_here(form, about, measures, why, result):
    with pytest.raises(ss.UsageError, match=why):
        publish(result, form, PublishedSystem(**(ABOUT | about)), measures)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "broken", [{}, [], {"measurements": []}, {"measurements": [{"measure": "range-eer", "value": "nan"}]}]
)
def test_what_is_no_result_is_refused(form, broken):
    with pytest.raises(ss.DataError, match="eval --out"):
        publish(broken, form, PublishedSystem(**ABOUT))


def test_the_command_writes_what_the_function_gives(result, tmp_path, capsys):
    (tmp_path / "result.json").write_text(json.dumps(result))
    (tmp_path / "scores.txt").write_text("u1 0.5\n")
    about = ["--system", "ours", "--hub-dataset", "owner/name", "--revision", COMMIT]
    words = ["publish", tmp_path / "result.json", "--to", "arena", *about, "--scores", tmp_path / "scores.txt"]
    code, said = run(words, capsys)
    assert code == 0, said.err
    digest = hashlib.sha256(b"u1 0.5\n").hexdigest()
    expected = PublishedSystem(system="ours", dataset="owner/name", revision=COMMIT, scores_sha256=digest)
    assert said.out == yaml_text(publish(result, "arena", expected))
    assert run([*words, "--out", tmp_path / "result.yaml"], capsys)[0] == 0
    assert (tmp_path / "result.yaml").read_text() == said.out
    code, refused = run([*words, "--out", tmp_path / "result.json"], capsys)
    assert code == 2
    assert "this is YAML" in refused.err
    code, refused = run(["publish", tmp_path / "none.json", "--to", "arena", *about], capsys)
    assert code == 2
    assert "there is no file" in refused.err
    code, refused = run(["publish", tmp_path / "scores.txt", "--to", "arena", *about], capsys)
    assert code == 3
    assert "not the JSON of an evaluation" in refused.err
