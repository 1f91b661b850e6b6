"""Bundles for Codabench, EvalAI and Hugging Face: what their platforms ask for, and one value on all of them."""

import importlib
import json
import sys
import types
import zipfile
from pathlib import Path

import pytest
from challenge_cases import HOP, IDS, build, frame_lines, labels, scores

import spoofspan as ss
from spoofspan.challenge.definition import Phase

yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
PHASES = (Phase("progress", "2027-01-10 00:00:00", "2027-02-01 00:00:00"), Phase("final", "2027-02-02 00:00:00"))
SOME = IDS[:24]
POLICY = {"max_submissions": 8, "max_per_day": 2, "contact": "organisers@example.org", "migrate": True}
POLICY |= {"counts": "best", "hidden_board": True, "fact_sheet": {"size": "How many parameters?"}, "phases": PHASES}


@pytest.fixture(scope="module")
def challenge(tmp_path_factory):
    folder = tmp_path_factory.mktemp("platforms")
    platforms = ["evalai", "huggingface"]
    return build(folder / "challenge", phases={"progress": SOME}, by={}, definition=POLICY, platforms=platforms)


@pytest.fixture(scope="module")
def submission(tmp_path_factory):
    folder = tmp_path_factory.mktemp("submission")
    ss.write_scores(scores(labels(), 0.8), folder / "scores.parquet")
    with zipfile.ZipFile(folder / "mine.zip", "w") as archive:
        archive.write(folder / "scores.parquet", "scores.parquet")
    with zipfile.ZipFile(folder / "bad.zip", "w") as archive:
        archive.writestr("scores.txt", "\n".join(frame_lines()[60:]))
        archive.writestr("submission.json", json.dumps({"hop": HOP, "higher": "bonafide"}))
    return folder


def expected(utterances):
    rows = [IDS.index(utt) for utt in utterances]
    return round(100 * ss.range_eer(labels().take(rows), scores(labels(), 0.8).take(rows)).value, 2)


def unpacked(archive, folder):
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    return folder


def test_codabench_gets_the_whole_policy(challenge, tmp_path):
    told = yaml.safe_load((unpacked(challenge / "codabench.zip", tmp_path) / "competition.yaml").read_text())
    first, second = told["phases"]
    for phase in (first, second):
        assert (phase["max_submissions"], phase["max_submissions_per_day"]) == (8, 2)
        assert not any(phase[name] for name in ("hide_output", "hide_prediction_output", "hide_score_output"))
    assert "auto_migrate_to_this_phase" not in first  # which Codabench refuses there
    assert second["auto_migrate_to_this_phase"] is True
    (board,) = told["leaderboards"]
    assert (board["submission_rule"], board["hidden"]) == ("Force_Best", True)
    assert told["contact_email"] == "organisers@example.org"
    # as Codabench's validate_fact_sheet asks
    for key, question in told["fact_sheet"].items():
        assert set(question) == {"key", "type", "title", "selection", "is_required", "is_on_leaderboard"}
        assert question["key"] == key
        assert question["type"] in ("checkbox", "text", "select")
    assert told["registration_auto_approve"] is False
    assert told["can_participants_make_submissions_public"] is False
    assert told["make_programs_available"] is False


@pytest.mark.parametrize(("counts", "rule"), [("last", "Force_Last"), ("chosen", "Add_And_Delete")])
def test_what_counts_is_what_stays_on_the_leaderboard_there(counts, rule, tmp_path):
    challenge = build(tmp_path / "challenge", by={}, definition={"counts": counts})
    told = yaml.safe_load((unpacked(challenge / "codabench.zip", tmp_path / "bundle") / "competition.yaml").read_text())
    assert told["leaderboards"][0]["submission_rule"] == rule
    assert "fact_sheet" not in told
    assert told["phases"][0]["max_submissions_per_day"] == 10  # Codabench would allow 5


def test_the_table_of_needs_names_tests_that_exist():
    table = (Path(__file__).parents[2] / "docs" / "challenge.md").read_text().partition("## What organisers need")[2]
    rows = [line for line in table.partition("##")[0].splitlines() if line.startswith("| ")][1:]
    named = [row.split("|")[-2].strip(" `") for row in rows]
    assert len(named) > 10
    assert [name for name in named if not (Path(__file__).parent / name).is_file()] == []


# ---------------------------------------------------------------- EvalAI


def evalai_worker(challenge, folder, monkeypatch):
    """Import the evaluation script as EvalAI's worker does, from challenge_data/challenge_ID."""
    bundle = unpacked(challenge / "evalai.zip", folder / "bundle")
    where = folder / "challenge_data" / "challenge_1"
    unpacked(bundle / "evaluation_script.zip", where)
    (folder / "challenge_data" / "__init__.py").touch()
    monkeypatch.syspath_prepend(folder)
    for name in [name for name in sys.modules if name.startswith("challenge_data")]:
        monkeypatch.delitem(sys.modules, name)
    return importlib.import_module("challenge_data.challenge_1").evaluate, bundle


def test_the_config_of_evalai_has_what_it_asks_for(challenge, tmp_path):
    bundle = unpacked(challenge / "evalai.zip", tmp_path)
    told = yaml.safe_load((bundle / "challenge_config.yaml").read_text())
    for name in ("description", "evaluation_details", "terms_and_conditions", "submission_guidelines", "image"):
        assert (bundle / told[name]).stat().st_size
    assert (bundle / told["evaluation_script"]).is_file()
    for place, phase in enumerate(told["challenge_phases"], start=1):
        assert phase["id"] == place
        assert (bundle / phase["test_annotation_file"]).is_file()
        assert (bundle / phase["description"]).is_file()
        limits = ("max_submissions_per_day", "max_submissions_per_month", "max_submissions")
        assert [phase[name] for name in limits] == [2, 8, 8]
        assert phase["leaderboard_public"] is False
    assert str(told["challenge_phases"][0]["start_date"]) == "2027-01-10 00:00:00"
    (board,) = told["leaderboard"]
    assert board["schema"]["labels"] == ["range_eer", "point_eer_20ms"]
    assert board["schema"]["default_order_by"] == "range_eer"
    assert board["schema"]["metadata"]["range_eer"]["sort_ascending"] is True
    splits = {one["id"] for one in told["dataset_splits"]}
    assert {one["dataset_split_id"] for one in told["challenge_phase_splits"]} == splits
    assert {one["visibility"] for one in told["challenge_phase_splits"]} == {1}  # hosts alone
    assert not any(one["is_leaderboard_order_descending"] for one in told["challenge_phase_splits"])


@pytest.mark.slow
def test_the_evaluation_script_runs_as_on_evalai(challenge, submission, tmp_path, monkeypatch):
    evaluate, bundle = evalai_worker(challenge, tmp_path, monkeypatch)
    told = yaml.safe_load((bundle / "challenge_config.yaml").read_text())
    counted = (SOME, IDS)
    for phase, utterances, name in zip(told["challenge_phases"], counted, ("mine.zip", "scores.parquet"), strict=True):
        annotations = bundle / phase["test_annotation_file"]
        found = evaluate(str(annotations), str(submission / name), phase["codename"], submission_metadata={"id": 1})
        (split,) = found["result"]
        assert set(split) <= {one["codename"] for one in told["dataset_splits"]}
        assert set(split[phase["codename"]]) == set(told["leaderboard"][0]["schema"]["labels"])
        assert split[phase["codename"]]["range_eer"] == expected(utterances)
        assert found["submission_result"] == split[phase["codename"]]
    with pytest.raises(Exception, match="'utt00' is missing") as refused:
        evaluate(str(annotations), str(submission / "bad.zip"), phase["codename"])
    assert "hidden" not in str(refused.value)


# ---------------------------------------------------------------- Hugging Face


def test_the_files_of_a_competition_on_hugging_face(challenge, tmp_path):
    bundle = unpacked(challenge / "huggingface.zip", tmp_path)
    told = json.loads((bundle / "dataset" / "conf.json").read_text())
    # what CompetitionInfo reads, and how
    assert told["END_DATE"] == "2099-12-31"
    assert told["SCORING_METRIC"] == "range_eer"
    assert (told["EVAL_METRIC"], int(told["EVAL_HIGHER_IS_BETTER"])) == ("custom", 0)
    assert told["SUBMISSION_LIMIT"] == 2
    for name in ("COMPETITION_DESC.md", "DATASET_DESC.md", "SUBMISSION_DESC.md", "RULES.md", "solution.csv"):
        assert (bundle / "dataset" / name).is_file()
    assert json.loads((bundle / "dataset" / "teams.json").read_text()) == {}
    front = (bundle / "space" / "README.md").read_text().split("---\n")[1]
    assert yaml.safe_load(front)["sdk"] == "docker"
    assert (bundle / "space" / "Dockerfile").read_text().startswith("FROM huggingface/competitions")
    assert not [name for name in bundle.joinpath("space").iterdir() if name.suffix == ".zip"]  # a Space may be public


@pytest.mark.slow
def test_the_metric_runs_as_on_hugging_face(challenge, submission, tmp_path, monkeypatch):
    """``compute`` with the hub replaced by a folder, as compute_metrics.py of the competitions package calls it."""
    root = unpacked(challenge / "huggingface.zip", tmp_path) / "dataset"
    (root / "submissions").mkdir()
    (root / "submissions" / "team-1.zip").write_bytes((submission / "mine.zip").read_bytes())
    (root / "submissions" / "team-2.zip").write_bytes((submission / "bad.zip").read_bytes())
    hub = types.ModuleType("huggingface_hub")

    def hf_hub_download(repo_id, filename, *, repo_type, token):
        assert (repo_id, repo_type, token) == ("org/competition", "dataset", "secret")
        return str(root / filename)

    def list_repo_files(repo_id, *, repo_type, token):
        assert (repo_id, repo_type, token) == ("org/competition", "dataset", "secret")
        return [one.relative_to(root).as_posix() for one in root.rglob("*") if one.is_file()]

    hub.hf_hub_download, hub.list_repo_files = hf_hub_download, list_repo_files
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.syspath_prepend(root)
    monkeypatch.delitem(sys.modules, "metric", raising=False)
    metric = importlib.import_module("metric")
    given = {"competition_id": "org/competition", "token": "secret", "team_id": "team"}
    found = metric.compute(types.SimpleNamespace(**given, submission_id="1"))
    assert found["public_score"].keys() == found["private_score"].keys()
    assert found["public_score"]["range_eer"] == expected(SOME)
    assert found["private_score"]["range_eer"] == expected(IDS)
    with pytest.raises(ValueError, match="'utt00' is missing"):
        metric.compute(types.SimpleNamespace(**given, submission_id="2"))
    monkeypatch.delitem(sys.modules, "metric", raising=False)


@pytest.mark.slow
def test_bundles_differ_in_the_reference_data_alone_for_other_labels(tmp_path):
    found = []
    for seed in (1, 2):
        (tmp_path / str(seed)).mkdir()
        platforms = ["evalai", "huggingface"]
        challenge = build(tmp_path / str(seed) / "challenge", labels(seed), by={}, platforms=platforms)
        files = {}
        for name in platforms:
            with zipfile.ZipFile(challenge / f"{name}.zip") as opened:
                files |= {f"{name}/{one}": opened.read(one) for one in opened.namelist()}
        found.append(files)
    differ = {name for name in found[0] if found[0][name] != found[1][name]}
    assert differ == {"evalai/annotations/0.zip", "huggingface/dataset/reference_data_0.zip"}
