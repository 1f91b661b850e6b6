"""Challenges of proposals, of utterance scores and of trials, and of events found by scores."""

import io
import json
import zipfile

import numpy as np
import pytest
from challenge_cases import IDS, SPEAKERS, labels, scores
from command_line import run

import spoofspan as ss
from spoofspan.challenge.challenge_folder import build_challenge
from spoofspan.challenge.definition import Definition, PublicPart
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.judging import score_submissions
from spoofspan.challenge.leaderboard import leaderboard
from spoofspan.challenge.public_page import leaderboard_page
from spoofspan.challenge.scoring_program import score_in_container
from spoofspan.challenge.submission_check import check_submission
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.datasets.proposals import write as write_proposals
from spoofspan.formats.text.utterance_scores import write_asvspoof5
from spoofspan.measures.events.proposals_from_scores import proposals_from_scores

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # twelve speakers are few
NOISE = {"alpha": 0.5, "bravo": 1.2, "charlie": 3.0}
CODECS = {utt: f"C{i % 2}" for i, utt in enumerate(IDS)}
HOW = ss.Resampling(clusters=SPEAKERS, clusters_are="speaker")


def kinds(seed=0):
    """What each trial is."""
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(["target"] * 12 + ["nontarget"] * 12 + ["spoof"] * 12)
    return dict(zip(IDS, drawn.tolist(), strict=True))


def utterance_scores(noise, seed=0, truth=None):
    rng = np.random.default_rng(seed)
    truth = kinds() if truth is None else truth
    values = [float(truth[utt] in ("target", "bonafide")) + noise * rng.standard_normal() for utt in IDS]
    return UtteranceScores(tuple(IDS), np.array(values), "bonafide")


def proposals(noise, seed=0):
    return proposals_from_scores(scores(labels(), noise, seed), 0.0)


def made(folder, truth, submissions, files, **definition):
    """Build a challenge, submit, score; the board."""
    by = {} if submissions == "scores" else {"codec": CODECS}
    hidden = HiddenPart(truth, by, cluster="speaker", clusters=SPEAKERS)
    build_challenge(folder / "challenge", Definition("Kinds", submissions=submissions, **definition), hidden)
    for name, content in files.items():
        (folder / "submissions" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "submissions" / name).write_bytes(content)
    public = PublicPart.read(folder / "challenge" / "public")
    for one in (folder / "submissions").iterdir():
        assert check_submission(public, one).problems == ()
    assert check_submission(public, folder / "challenge" / "public" / "sample_submission.zip").problems == ()
    found = score_submissions(folder / "challenge", folder / "submissions")
    assert [(one.state, one.problems) for one in found] == [("scored", ())] * 3
    return leaderboard(folder / "challenge")


def same(board, measure, expected):
    got = board.comparisons[measure]
    assert [str(one) for one in got.ranks] == [str(one) for one in expected.ranks]
    for team, interval in expected.intervals.items():
        assert str(got.intervals[team].to_dict()) == str(interval.to_dict())
    assert board.comparable[measure] == expected.signatures["alpha"].comparable
    page = leaderboard_page(board)
    assert all(team in page for team in NOISE)


def test_proposals_are_ranked_by_average_precision_as_compare_does(tmp_path):
    measures = ("event-ap@iou=0.5", "event-ar@n=5")
    systems = {team: proposals(noise, seed) for seed, (team, noise) in enumerate(NOISE.items())}
    files = {f"{team}.json": b"".join(write_proposals(one)) for team, one in systems.items()}
    board = made(tmp_path, labels(), "proposals", files, measures=measures)
    for measure in measures:
        same(board, measure, ss.compare(labels(), systems, measure, clusters=SPEAKERS, clusters_are="speaker"))
    assert [one.system for one in board.ranks] == list(NOISE)
    some = [place for place, utt in enumerate(IDS) if CODECS[utt] == "C0"]
    part = systems["bravo"].take(np.flatnonzero([CODECS[utt] == "C0" for utt in systems["bravo"].utterances]))
    expected = ss.evaluate(labels().take(np.array(some)), part, [measures[0]])[measures[0]].value
    assert board.groups["codec"]["bravo"]["C0"]["value"] == expected
    assert board.of_groups == measures[0]


def test_events_of_scores_are_taken_at_the_threshold_of_the_team(tmp_path):
    measures, thresholds = ("event-f1@iou=0.5", "range-eer"), {"alpha": 0.1, "bravo": 0.0, "charlie": -0.3}
    systems = {team: scores(labels(), noise, seed) for seed, (team, noise) in enumerate(NOISE.items())}
    files = {}
    for team, system in systems.items():
        ss.write_scores(system, tmp_path / "scores.parquet", force=True)
        files[f"{team}/scores.parquet"] = (tmp_path / "scores.parquet").read_bytes()
        files[f"{team}/submission.json"] = json.dumps({"threshold": thresholds[team]}).encode()
    board = made(tmp_path, labels(), "scores", files, measures=measures, smoothing=5)
    how = {"clusters": SPEAKERS, "clusters_are": "speaker"}
    expected = ss.compare(labels(), systems, measures[0], thresholds=thresholds, smoothing=5, **how)
    same(board, measures[0], expected)
    same(board, measures[1], ss.compare(labels(), systems, measures[1], **how))
    (tmp_path / "submissions" / "alpha" / "submission.json").unlink()
    found = check_submission(PublicPart.read(tmp_path / "challenge"), tmp_path / "submissions" / "alpha")
    assert found.problems == (
        'event-f1@iou=0.5 is taken at a threshold: state yours in submission.json, as {"threshold": 0.5}',
    )


def test_trials_are_ranked_with_rank_intervals(tmp_path):
    measures = ("utterance-a-dcf", "utterance-sasv-eer", "utterance-spf-eer", "utterance-eer")
    systems = {team: utterance_scores(noise, seed) for seed, (team, noise) in enumerate(NOISE.items())}
    files = {f"{team}.tsv": b"".join(write_asvspoof5(one)) for team, one in systems.items()}
    board = made(tmp_path, kinds(), "utterance-scores", files, measures=measures)
    for team, system in systems.items():
        found = ss.evaluate_utterances(kinds(), system, measures, resampling=HOW)
        for one in map(found.__getitem__, board.comparisons):
            interval = board.comparisons[one.measure].intervals[team]
            ends = interval.estimate, interval.low, interval.high, interval.degrees_of_freedom
            alone = one.interval.estimate, one.interval.low, one.interval.high, one.interval.degrees_of_freedom
            assert ends == pytest.approx(alone, rel=1e-12)
            assert board.comparable[one.measure] == one.signature.comparable
    first, *others = board.ranks
    assert (first.system, first.low) == ("alpha", 1)
    assert first.high < 3  # it is told apart from one at least
    assert all(first.value < one.value for one in others)
    part = {utt: kind for utt, kind in kinds().items() if CODECS[utt] == "C1"}
    few = systems["alpha"].take(np.flatnonzero([utt in part for utt in IDS]))
    expected = ss.evaluate_utterances(part, few, [measures[0]])[measures[0]].value
    assert board.groups["codec"]["alpha"]["C1"]["value"] == expected


def test_utterance_scores_against_references(tmp_path):
    truth = labels()
    spoofed = {utt: "spoof" if any(one[2] == "spoof" for one in truth[utt]) else "bonafide" for utt in IDS}
    systems = {team: utterance_scores(noise, 1, spoofed) for team, noise in NOISE.items()}
    files = {f"{team}.tsv": b"".join(write_asvspoof5(one)) for team, one in systems.items()}
    board = made(tmp_path, truth, "utterance-scores", files, measures=("utterance-eer",))
    for team, system in systems.items():
        found = ss.evaluate_utterances(truth, system, ["utterance-eer"])["utterance-eer"]
        assert board.first.intervals[team].estimate == found.value


def everything_in(folder):
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


@pytest.mark.parametrize(
    ("submissions", "measure", "truths"),
    [
        ("proposals", "event-ap@iou=0.5", [labels(0), labels(1)]),
        ("utterance-scores", "utterance-a-dcf", [kinds(0), kinds(1)]),
    ],
)
def test_the_public_part_does_not_depend_on_labels(submissions, measure, truths, tmp_path):
    for place, truth in enumerate(truths):
        definition = Definition("Kinds", (measure,), submissions=submissions)
        build_challenge(tmp_path / str(place), definition, HiddenPart(truth, cluster="speaker", clusters=SPEAKERS))
    one, two = (everything_in(tmp_path / str(place) / "public") for place in (0, 1))
    assert one == two
    assert {name for name in one if not name.endswith(("zip", "md"))} <= {"challenge.json", "reco2dur", "utterances"}


def test_wrong_proposals_are_refused_by_check_and_score(tmp_path):
    definition = Definition("Kinds", ("event-ap@iou=0.5",), submissions="proposals")
    build_challenge(tmp_path / "challenge", definition, HiddenPart(labels()))
    (tmp_path / "submissions").mkdir()
    wrong = {"stranger": [[0.5, 0.0, 0.5]], IDS[0]: [[0.5, 0.0, 99.0]]}
    (tmp_path / "submissions" / "alpha.json").write_text(json.dumps(wrong))
    (tmp_path / "submissions" / "bravo.json").write_text('{"utt01": [[NaN, 0, 1]], "utt02": [[0.5, 2, 1]]}')
    (tmp_path / "submissions" / "charlie").mkdir()
    (tmp_path / "submissions" / "charlie" / "a.json").write_text(json.dumps({IDS[0]: [[0.5, 0.0, 0.5]]}))
    (tmp_path / "submissions" / "charlie" / "submission.json").write_text('{"hop": 0.02}')
    public = PublicPart.read(tmp_path / "challenge")
    alpha = check_submission(public, tmp_path / "submissions" / "alpha.json")
    assert alpha.problems == ("utterance 'stranger' is not in the challenge",)
    assert alpha.notes == (
        "no proposal for 35 utterances: what is spoofed there counts as missed",
        "beyond the end of an utterance: 1 proposal; are the times in seconds?",
    )
    scored = {one.team: one.problems for one in score_submissions(tmp_path / "challenge", tmp_path / "submissions")}
    assert scored["alpha"] == alpha.problems
    assert "not finite" in scored["bravo"][0]
    assert "ends before it starts" in scored["bravo"][0]
    assert scored["charlie"] == ("submission.json: hop says nothing of proposals; leave it out",)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-m", "utterance-a-dcf"], "key of trials"),
        (["--submissions", "proposals", "-m", "range-eer"], "cannot be measured of proposals"),
        (["--submissions", "utterance-scores", "-m", "range-eer"], "cannot be measured of utterance-scores"),
        (["--submissions", "proposals", "-m", "event-ap@iou=0.5", "--by", "attack"], "columns of metadata"),
        (["--submissions", "proposals", "-m", "event-ap@iou=0.5", "--gaps", "spoof"], "does not go with event"),
        (["--submissions", "utterance-scores", "-m", "utterance-min-tdcf"], "speaker verification"),
        (["-m", "point-boundary-eer@20ms"], "scores of boundaries"),
        (["-m", "event-collar-best-f1", "--merge-gap", "0.1"], "measures of all thresholds"),
        (["--smoothing", "5"], "event"),
        (["--submissions", "utterance-scores", "-m", "utterance-a-dcf"], "key"),
    ],
)
def test_what_cannot_be_measured_is_refused_when_it_is_built(arguments, words, tmp_path, capsys):
    ss.write_references(labels(), tmp_path / "r.parquet")
    code, printed = run(["challenge", "build", tmp_path / "r.parquet", "--out", tmp_path / "c", *arguments], capsys)
    assert code in (2, 3, 4)
    assert words in " ".join(printed.err.split())
    assert not (tmp_path / "c").exists()


def test_labels_of_utterances_have_no_time(tmp_path, capsys):
    (tmp_path / "labels.csv").write_text("utterance,label\nu1,bonafide\nu2,spoof\n")
    code, printed = run(["challenge", "build", tmp_path / "labels.csv", "--out", tmp_path / "c"], capsys)
    assert code == 2
    assert "--submissions" in printed.err
    one_class = tmp_path / "one.csv"
    one_class.write_text("utterance,label\nu1,spoof\nu2,spoof\n")
    build = ["challenge", "build", one_class, "--submissions", "utterance-scores", "-m", "utterance-eer"]
    code, printed = run([*build, "--out", tmp_path / "c"], capsys)
    assert code == 4
    assert "utterance-eer has no value on these labels" in printed.err


@pytest.mark.parametrize("of_trials", [False, True])
def test_ids_that_tell_the_labels_are_warned_of(of_trials):
    ranges = {f"LA_E_{i}": [(0.0, 1.0, "bonafide")] for i in range(5)}
    ranges |= {f"CON_E_{i}": [(0.0, 0.5, "bonafide"), (0.5, 1.0, "spoof")] for i in range(5)}
    truth = ss.References.from_ranges(ranges)
    if of_trials:
        truth = {utt: "spoof" if utt.startswith("CON") else "target" for utt in ranges}
    said = HiddenPart(truth).telling_ids()
    assert "CON (spoof), LA" in said
    assert HiddenPart(labels()).telling_ids() is None
    mixed = {**ranges, "CON_E_9": [(0.0, 1.0, "bonafide")]}
    assert HiddenPart(ss.References.from_ranges(mixed)).telling_ids() is None


@pytest.mark.parametrize(
    ("submissions", "measure", "truth"),
    [("proposals", "event-ap@iou=0.5", labels()), ("utterance-scores", "utterance-a-dcf", kinds())],
)
def test_codabench_scores_the_sample(submissions, measure, truth, tmp_path):
    definition = Definition("Kinds", (measure,), submissions=submissions)
    build_challenge(tmp_path / "challenge", definition, HiddenPart(truth, {"codec": CODECS}))
    with zipfile.ZipFile(tmp_path / "challenge" / "codabench.zip") as bundle:
        for name, part in (("reference_data_0.zip", "ref"), ("sample_submission.zip", "res")):
            with zipfile.ZipFile(io.BytesIO(bundle.read(name))) as archive:
                archive.extractall(tmp_path / "input" / part)
    (tmp_path / "output").mkdir()
    assert score_in_container(tmp_path / "input", tmp_path / "output") == 0
    found = json.loads((tmp_path / "output" / "scores.json").read_text())
    assert len(found) == 1
    assert all(np.isfinite(value) for value in found.values())
