"""Challenges: numbers as those of eval and compare, labels that stay hidden, submissions that are kept."""

import json
import os
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from challenge_cases import HOP, IDS, NOISE, SPEAKERS, build, clock, frame_lines, kept_result, labels, scores, submit
from command_line import run
from format_samples import FOREIGN, foreign_scores
from format_samples import durations as sample_durations

import spoofspan as ss
from spoofspan.base.locks import part_of
from spoofspan.challenge.definition import Definition, Phase, PublicPart
from spoofspan.challenge.judging import score_submissions
from spoofspan.challenge.leaderboard import leaderboard
from spoofspan.challenge.public_page import leaderboard_page
from spoofspan.challenge.submission_check import check_submission
from spoofspan.evaluation.breakdown import by_attack

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # twelve speakers are few


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("challenge")
    challenge, submissions = build(folder / "challenge"), submit(folder / "submissions")
    assert [one.state for one in score_submissions(challenge, submissions)] == ["scored"] * 3
    return challenge, submissions


@pytest.fixture(scope="module")
def board(scored):
    return leaderboard(scored[0])


def everything_in(folder):
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def members(archive):
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


# ---------------------------------------------------------------- numbers


def test_the_leaderboard_says_what_compare_and_eval_say(scored, board):
    found = board
    references = labels()
    systems = {team: scores(references, noise, seed) for seed, (team, noise) in enumerate(NOISE.items())}
    for measure in ("range-eer", "point-eer@20ms"):
        expected = ss.compare(references, systems, measure, clusters=SPEAKERS, clusters_are="speaker")
        got = found.comparisons[measure]
        assert got.ranks == expected.ranks
        assert {name: one.to_dict() for name, one in got.intervals.items()} == {
            name: one.to_dict() for name, one in expected.intervals.items()
        }
        assert [one.to_dict() for one in got.differences] == [one.to_dict() for one in expected.differences]
        assert got.warnings == expected.warnings
        assert found.comparable[measure] == expected.signatures["alpha"].comparable
        kept = kept_result(scored[0], "alpha").measured
        signed = {one["measure"]: one["signature"] for one in kept}
        assert signed[measure] == expected.signatures["alpha"].to_dict()
    how = ss.Resampling(clusters=SPEAKERS, clusters_are="speaker")
    for team, system in systems.items():
        for group in by_attack(references, system, resampling=how).groups:
            got = found.groups["attack"][team][group.name]
            assert got["value"] == group.measurement.value
            assert (got["low"], got["high"]) == (group.measurement.interval.low, group.measurement.interval.high)


@pytest.mark.slow
def test_a_team_without_errors_is_compared_as_compare_does(tmp_path):
    """Values that no cluster changes: the interval reaches to the errors that may not have been seen."""
    references = labels()
    for team, noise in (("perfect", 0.0), ("also", 0.0), ("noisy", 2.0)):
        (tmp_path / "submissions").mkdir(exist_ok=True)
        ss.write_scores(scores(references, noise), tmp_path / "submissions" / f"{team}.parquet")
    challenge = build(tmp_path / "challenge", measures=("range-eer",), cluster=None, clusters=None)
    score_submissions(challenge, tmp_path / "submissions")
    systems = {team: scores(references, noise) for team, noise in (("also", 0.0), ("noisy", 2.0), ("perfect", 0.0))}
    expected = ss.compare(references, systems)
    got = leaderboard(challenge).first
    assert [str(one.to_dict()) for one in got.differences] == [str(one.to_dict()) for one in expected.differences]
    assert [str(one.to_dict()) for one in got.ranks] == [str(one.to_dict()) for one in expected.ranks]


def test_columns_of_metadata_group_and_cluster(tmp_path):
    """Also where their names are those of other columns, and their values look like numbers."""
    column = {utt: f"0{i % 2}" for i, utt in enumerate(IDS)}
    challenge = build(tmp_path / "challenge", by={"cluster": column}, measures=("point-eer@20ms", "range-eer"))
    score_submissions(challenge, submit(tmp_path / "submissions"), teams=["alpha"])
    found = leaderboard(challenge)
    assert set(found.groups["cluster"]["alpha"]) == {"00", "01"}
    assert found.of_groups == "range-eer"
    rows = np.arange(0, len(IDS), 2)
    expected = ss.range_eer(labels().take(rows), scores(labels(), 0.6).take(rows)).value
    assert found.groups["cluster"]["alpha"]["00"]["value"] == expected
    assert next(iter(found.first.intervals.values())).clusters == len(set(SPEAKERS.values()))


def test_a_challenge_by_kind_says_how_it_is_built_again(tmp_path):
    challenge = build(tmp_path / "challenge")
    settings = next(challenge.rglob("settings.json"))
    settings.write_text(settings.read_text().replace('"attack": false', '"kind": false'))
    with pytest.raises(ss.DataError, match="build it again with --by attack"):
        leaderboard(challenge)


def test_one_team_alone_has_a_rank(tmp_path):
    challenge, submissions = build(tmp_path / "challenge"), submit(tmp_path / "submissions")
    score_submissions(challenge, submissions, teams=["bravo"])
    (only,) = leaderboard(challenge).ranks
    assert (only.system, only.place, only.low, only.high) == ("bravo", 1, 1, 1)


def test_a_measure_at_a_threshold_takes_the_teams_own(tmp_path):
    challenge = build(tmp_path / "challenge", measures=("range-f1",), by={})
    folder = tmp_path / "submissions" / "alpha"
    folder.mkdir(parents=True)
    ss.write_scores(scores(labels(), 0.6), folder / "scores.parquet")
    assert "state yours" in check_submission(PublicPart.read(challenge), folder).problems[0]
    (folder / "submission.json").write_text('{"threshold": 0.25}')
    (one,) = score_submissions(challenge, tmp_path / "submissions")
    expected = ss.evaluate(labels(), scores(labels(), 0.6), ["range-f1"], threshold=0.25)["range-f1"]
    assert one.result.measured[0]["value"] == expected.value
    (alone,) = score_submissions(challenge, folder)  # one submission, by its own folder
    assert (alone.team, alone.state) == ("alpha", "kept")


# ---------------------------------------------------------------- what stays hidden


def test_public_files_and_checks_are_the_same_bytes_whatever_the_labels(tmp_path, capsys, monkeypatch):
    bad = tmp_path / "bad.txt"
    bad.write_text("\n".join([*frame_lines()[20:], "other 0 nan", "utt01 3 0.5"]) + "\n")
    public, bundles, said = [], [], []
    for seed in (1, 2):
        (tmp_path / str(seed)).mkdir()
        challenge = build(tmp_path / str(seed) / "challenge", labels(seed))
        public.append(everything_in(challenge / "public"))
        bundle = members(challenge / "codabench.zip")
        hidden = bundle.pop("reference_data_0.zip")
        bundles.append(bundle)
        said.append([])
        for submission in (challenge / "public" / "sample_submission.zip", bad):
            for spelling in ("text", "json"):
                monkeypatch.chdir(challenge)
                code, printed = run(["challenge", "check", "public", submission, "--format", spelling], capsys)
                said[-1].append((code, printed.out, printed.err))
        assert hidden
    assert public[0] == public[1]
    assert bundles[0] == bundles[1]
    assert said[0] == said[1]
    assert [code for code, *_ in said[0]] == [0, 0, 3, 3]


def test_the_order_of_the_references_does_not_show(tmp_path):
    first = labels()
    turned = first.take(np.arange(len(first))[::-1])
    assert everything_in(build(tmp_path / "a", first) / "public") == everything_in(
        build(tmp_path / "b", turned) / "public"
    )


def published(board):
    """A leaderboard in every spelling; of the page, what is not the same on every page."""
    tables = board.tables(pairs=True)
    for spelling in ("text", "latex", "markdown", "html"):
        yield spelling, "".join(one.render(spelling) for one in tables)
    yield "csv", board.wide_table().render("csv")
    yield "json", json.dumps(board.to_dict(pairs=True))
    yield "page", leaderboard_page(board).partition("<body>")[2].partition("<script>")[0]


def test_the_leaderboard_names_no_utterance_and_no_speaker(board):
    for spelling, text in published(board):
        assert all(team in text for team in NOISE), spelling
        assert not {*IDS, *SPEAKERS.values()}.intersection(re.findall(r"\w+", text)), spelling


def test_published_numbers_have_the_digits_that_are_shown(board):
    """With 16 digits, two submissions that differ in one utterance tell its label."""
    found = dict(published(board))
    for spelling in ("csv", "json", "page"):
        assert re.search(r"\d\.\d\d", found[spelling])
        assert not re.search(r"\d\.\d{5}", found[spelling]), spelling


def test_the_organisers_may_have_all_digits(scored, board, capsys):
    printed = run(["challenge", "leaderboard", scored[0], "--format", "csv", "--all-digits"], capsys)[1].out
    header, first, *_ = (line.split(",") for line in printed.splitlines())
    row = dict(zip(header, first, strict=True))
    found = board
    assert float(row["range-eer"]) == found.ranks[0].value
    assert float(row["range-eer attack=A02 high"]) == found.groups["attack"][row["team"]]["A02"]["high"]


# ---------------------------------------------------------------- checks


def test_every_problem_is_said_at_once(tmp_path):
    challenge = build(tmp_path / "challenge")
    lines = [line for line in frame_lines() if not line.startswith(("utt05 ", "utt06 "))]
    lines = [line for line in lines if not (line.startswith("utt07 ") and int(line.split()[1]) > 30)]
    lines[3] = "utt00 3 nan"
    lines += ["stranger 0 0.5", "utt01 0 0.7"]
    (tmp_path / "scores.txt").write_text("\n".join(lines) + "\n")
    found = check_submission(PublicPart.read(challenge), tmp_path / "scores.txt")
    told = "\n".join(found.problems)
    for words in (
        "how long a frame is",
        "whether high scores mean bona fide or spoof",
        "'utt05' is missing",
        "'utt06' is missing",
        "'stranger' is not in the challenge",
        "utterance 'utt00', frame 3",
        "utterance 'utt01': frame 0 occurs twice",
    ):
        assert words in told, words
    assert str(tmp_path) not in told
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "scores.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "team" / "submission.json").write_text(json.dumps({"hop": HOP, "higher": "bonafide"}))
    told = "\n".join(check_submission(PublicPart.read(challenge), tmp_path / "team").problems)
    assert "'utt07'" in told
    assert "'utt05' is missing" in told
    assert "how long a frame is" not in told


def test_the_challenge_says_what_submissions_do_not(tmp_path):
    challenge = build(tmp_path / "challenge", definition={"hop": HOP, "higher": "bonafide"})
    (tmp_path / "scores.txt").write_text("\n".join(frame_lines()) + "\n")
    public = PublicPart.read(challenge)
    assert check_submission(public, tmp_path / "scores.txt").passed
    # a file that says it itself is taken at its word
    coarse = ss.Scores.from_frames({utt: np.ones(26) for utt in IDS}, hop=0.045, higher="spoof")
    ss.write_scores(coarse, tmp_path / "coarse.parquet")
    assert check_submission(public, tmp_path / "coarse.parquet").facts["hop"] == "45ms"


@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_any_score_format_can_be_submitted(name, tmp_path):
    ids = ["CON_1", "CON_2"]
    sample = foreign_scores(name, ids)
    folder = tmp_path / "team"
    sample.write(folder)
    stated = {key: value for key, value in sample.options.items() if key in ("hop", "higher", "column")}
    (folder / "submission.json").write_text(json.dumps({"format": name, **stated}))
    public = PublicPart.of(Definition("Formats", ("range-f1",)), sample_durations(ids))
    problems = check_submission(public, folder).problems
    if name == "kaldi-scp":
        assert "names other files" in problems[0]
    else:
        spoofs_alone = name in ("hypothesis-json", "hypothesis-language-model")
        expected = "have no score" if spoofs_alone else "threshold"
        assert all(expected in one for one in problems), problems


# ---------------------------------------------------------------- scoring


def test_results_are_kept_until_something_changes(tmp_path):
    challenge, submissions = build(tmp_path / "challenge"), submit(tmp_path / "submissions")

    def states():
        return {one.team: one.state for one in score_submissions(challenge, submissions)}

    assert set(states().values()) == {"scored"}
    before = everything_in(challenge / "results")
    assert set(states().values()) == {"kept"}
    assert everything_in(challenge / "results") == before
    # interrupted: one of the two files of a team is not there, or is of another result
    files = {name.split("/")[1] + name[-5:].partition(".")[2]: challenge / "results" / name for name in before}
    files["alphajson"].unlink()
    files["bravonpz"].write_bytes(files["charlienpz"].read_bytes())
    assert states() == {"alpha": "scored", "bravo": "scored", "charlie": "kept"}
    assert everything_in(challenge / "results") == before
    ss.write_scores(scores(labels(), 1.0), submissions / "alpha.parquet", force=True)
    assert states() == {"alpha": "scored", "bravo": "kept", "charlie": "kept"}


@pytest.mark.slow
def test_results_of_other_labels_are_not_ranked(tmp_path):
    challenge, submissions = build(tmp_path / "challenge"), submit(tmp_path / "submissions")
    score_submissions(challenge, submissions)
    other = build(tmp_path / "other", labels(5))
    for name in ("results", "received", "ledger.jsonl"):
        (challenge / name).rename(other / name)
    with pytest.raises(ss.UsageError, match="score first"):
        leaderboard(other)
    score_submissions(other, submissions, teams=["alpha"])
    found = leaderboard(other)
    assert [one.system for one in found.ranks] == ["alpha"]
    assert "2 results from before the challenge changed" in found.notes[0]


def test_a_broken_submission_does_not_stop_the_others(tmp_path, capsys):
    challenge, submissions = build(tmp_path / "challenge"), submit(tmp_path / "submissions")
    (submissions / "broken.parquet").write_bytes(b"PAR1 no more")
    (submissions / "twin.txt").write_text("utt00 0 1\n")
    (submissions / "Twin.csv").write_text("utt00 0 1\n")
    (submissions / "empty").mkdir()
    code, printed = run(["challenge", "score", challenge, submissions, "--format", "json"], capsys)
    assert code == 3
    found = {one["team"]: one for one in json.loads(printed.out)["submissions"]}
    assert {team for team, one in found.items() if one["state"] == "scored"} == set(NOISE)
    assert all(one["problems"] for one in found.values() if one["state"] == "refused")
    assert len(found) == 7
    code, printed = run(["challenge", "leaderboard", challenge], capsys)
    assert code == 0
    assert "broken" not in printed.out
    assert "2 teams without a valid submission" in printed.out  # names that look like one are of no team


@pytest.mark.parametrize("later", ["alpha.zip", "alpha"])
def test_a_refused_submission_does_not_replace_a_valid_one(later, tmp_path):
    challenge, submissions = build(tmp_path / "challenge"), submit(tmp_path / "submissions")
    score_submissions(challenge, submissions)
    earlier = (submissions / "alpha.parquet").rename(tmp_path / "earlier")
    (submissions / later).mkdir() if later == "alpha" else (submissions / later).write_text("not an archive")
    states = {one.team: one.state for one in score_submissions(challenge, submissions)}
    assert states == {"alpha": "refused", "bravo": "kept", "charlie": "kept"}
    found = leaderboard(challenge)
    assert [one.system for one in found.ranks] == ["alpha", "bravo", "charlie"]
    assert re.fullmatch(r"alpha: the submission of .* UTC was refused; that of .* UTC counts", found.notes[0])
    (submissions / later).rename(tmp_path / "refused")
    earlier.rename(submissions / "alpha.parquet")
    assert [one.state for one in score_submissions(challenge, submissions, teams=["alpha"])] == ["scored"]
    assert leaderboard(challenge).notes == ()


def test_two_submissions_of_a_team_are_refused_by_its_name_too(tmp_path):
    challenge, submissions = build(tmp_path / "challenge"), submit(tmp_path / "submissions")
    (submissions / "alpha.txt").write_text("utt00 0 1\n")
    found = score_submissions(challenge, submissions, teams=["alpha"])
    assert [one.state for one in found] == ["refused", "refused"]
    assert "are of one team; keep one of them" in found[0].problems[0]


def test_a_submission_that_is_not_there_changes_no_result(tmp_path):
    challenge, submissions = build(tmp_path / "challenge"), submit(tmp_path / "submissions")
    score_submissions(challenge, submissions)
    with pytest.raises(ss.UsageError, match="give one submission"):
        score_submissions(challenge, tmp_path / "alpha.parquet")
    assert len(leaderboard(challenge).ranks) == 3


def test_a_phase_that_has_one_class_is_refused_when_it_is_built(tmp_path):
    references, times = (
        labels(),
        (Phase("progress", None, "2027-02-01 00:00:00"), Phase("final", "2027-02-02 00:00:00")),
    )
    spoofed = {utt for utt, ranges in references.items() if any(one[2] == "spoof" for one in ranges)}
    bona_fide = [utt for utt in IDS if utt not in spoofed]
    said = f"range-eer has no value on the {len(bona_fide)} utterances that count in the phase 'progress'"
    with pytest.raises(ss.UndefinedMeasureError, match=said):
        build(tmp_path / "challenge", phases={"progress": bona_fide}, definition={"phases": times})
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_a_phase_counts_some_utterances(tmp_path):
    times = (Phase("progress", "2027-01-10 00:00:00", "2027-02-01 00:00:00"), Phase("final", "2027-02-02 00:00:00"))
    some = IDS[::2]
    challenge = build(tmp_path / "challenge", phases={"progress": some}, definition={"phases": times})
    submissions = submit(tmp_path / "submissions")
    for phase, ids in (("progress", some), ("final", IDS)):
        rows = np.array([IDS.index(utt) for utt in ids])
        expected = ss.range_eer(labels().take(rows), scores(labels(), 0.6).take(rows)).value
        came = clock("2027-01-20 00:00:00" if phase == "progress" else "2027-02-03 00:00:00")
        found = {one.team: one for one in score_submissions(challenge, submissions, phase=phase, clock=came)}
        assert found["alpha"].result.measured[0]["value"] == expected
        assert leaderboard(challenge, phase=phase).phase == phase
    assert "utt" not in (challenge / "public" / "challenge.json").read_text()


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ({"measures": ()}, "needs a measure"),
        ({"title": "two\nlines"}, "one line"),
        ({"measures": ("event-ap@iou=0",)}, "IoU"),
        ({"measures": ("range-cllr",)}, "scores_are"),
        ({"rules": {"partial": True}}, "different utterances"),
        ({"phases": (Phase("a"), Phase("b"))}, "must start after"),
        ({"phases": ()}, "at least one phase"),
        ({"confidence": 1.5}, "between 0 and 1"),
    ],
)
def test_a_challenge_that_cannot_be_scored_is_not_built(definition, words, tmp_path):
    with pytest.raises(ss.UsageError, match=words):
        build(tmp_path / "challenge", definition=definition)
    assert not (tmp_path / "challenge").exists()


def test_a_build_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(ss.UsageError, match="no phase"):
        build(tmp_path / "challenge", phases={"elsewhere": IDS})
    killed = part_of(tmp_path / "challenge").with_suffix(".building")  # what a build that was killed leaves
    killed.mkdir()
    (killed / "rest").touch()
    build(tmp_path / "challenge")
    with pytest.raises(ss.UsageError, match="exists"):
        build(tmp_path / "challenge")
    assert [one.name for one in tmp_path.iterdir()] == ["challenge"]


# ---------------------------------------------------------------- Codabench


def container(tmp_path, challenge, submission):
    """The folders of Codabench's container, unpacked as its worker does."""
    bundle = members(challenge / "codabench.zip")
    for name, where in (("scoring_program.zip", "program"), ("reference_data_0.zip", "input/ref")):
        (tmp_path / name).write_bytes(bundle[name])
        zipfile.ZipFile(tmp_path / name).extractall(tmp_path / where)
    zipfile.ZipFile(submission).extractall(tmp_path / "input" / "res")
    (tmp_path / "output").mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    metadata = (tmp_path / "program" / "metadata.yaml").read_text()
    command = metadata.removeprefix("command: ").replace("/app/", f"{tmp_path}/").split()
    return subprocess.run(
        [sys.executable, "-P" if sys.version_info >= (3, 11) else "-B", *command[1:]],
        cwd=tmp_path / "program",
        env=environment,
        capture_output=True,
        text=True,
    )


def test_the_scoring_program_runs_in_the_folders_of_codabench(scored, tmp_path):
    challenge, submissions = scored
    with zipfile.ZipFile(tmp_path / "submission.zip", "w") as archive:
        archive.write(submissions / "bravo.parquet", "scores.parquet")
    done = container(tmp_path, challenge, tmp_path / "submission.zip")
    assert done.returncode == 0, done.stderr
    kept = {one["measure"]: one["value"] for one in leaderboard_values(scored)["bravo"]}
    assert json.loads((tmp_path / "output" / "scores.json").read_text()) == {
        "range_eer": round(100 * kept["range-eer"], 2),
        "point_eer_20ms": round(100 * kept["point-eer@20ms"], 2),
    }
    assert "<table>" in (tmp_path / "output" / "detailed_results.html").read_text()


def leaderboard_values(scored):
    return {one.team: one.result.measured for one in score_submissions(*scored)}


@pytest.mark.slow
def test_the_scoring_program_refuses_with_every_problem(scored, tmp_path):
    with zipfile.ZipFile(tmp_path / "submission.zip", "w") as archive:
        archive.writestr("scores.txt", "\n".join(frame_lines()[60:]))
        archive.writestr("submission.json", json.dumps({"hop": HOP, "higher": "bonafide"}))
    done = container(tmp_path, scored[0], tmp_path / "submission.zip")
    assert done.returncode == 3
    assert "'utt00' is missing" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "output").iterdir())


def test_the_bundle_has_what_codabench_asks_for(scored):
    yaml = pytest.importorskip("yaml")
    bundle = members(scored[0] / "codabench.zip")
    told = yaml.safe_load(bundle["competition.yaml"])
    assert told["version"] == 2
    assert {"title", "image", "terms", "pages", "phases", "tasks", "leaderboards"} <= set(told)
    named = [told["image"], told["terms"], *(one["file"] for one in told["pages"])]
    named += [one[key] for one in told["tasks"] for key in ("scoring_program", "reference_data")]
    named += [one[key] for one in told["phases"] for key in ("public_data", "starting_kit")]
    named += [one["path"] for one in told["solutions"]]
    assert set(named) <= set(bundle)
    (board,) = told["leaderboards"]
    assert [one["key"] for one in board["columns"]] == ["range_eer", "point_eer_20ms"]
    assert [one["sorting"] for one in board["columns"]] == ["asc", "asc"]
