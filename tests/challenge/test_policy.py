"""Which submission counts, when one is taken, who is ranked, and what the organisers decide."""

import json

import numpy as np
import pytest
from challenge_cases import (
    HOP,
    IDS,
    InThisProcess,
    build,
    clock,
    frame_lines,
    judge_quickly,
    kept_result,
    labels,
    scores,
    season,
)
from command_line import run

import spoofspan as ss
from spoofspan.challenge import decisions
from spoofspan.challenge.appeals import certificate, letters, log
from spoofspan.challenge.definition import Definition, Phase, PublicPart
from spoofspan.challenge.judging import score_submissions
from spoofspan.challenge.leaderboard import leaderboard
from spoofspan.challenge.rescoring import rescore
from spoofspan.challenge.submission_check import check_submission

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
PROGRESS = Phase("progress", "2027-01-10 00:00:00", "2027-02-01 00:00:00")
FINAL = Phase("final", "2027-02-02 00:00:00", "2027-03-01 00:00:00")
REASON = "for a reason"
LATER = clock("2027-06-01 00:00:00")


def challenge_in(tmp_path, **definition):
    """A challenge with one measure and without groups, which is quickly scored."""
    return build(tmp_path / "challenge", measures=("range-eer",), by={}, definition=definition)


def upload(tmp_path, team, noise, seed=0):
    folder = tmp_path / "uploads"
    folder.mkdir(exist_ok=True)
    ss.write_scores(scores(labels(), noise, seed), folder / f"{team}.parquet", force=True)
    return folder / f"{team}.parquet"


def value(noise, seed=0):
    return ss.range_eer(labels(), scores(labels(), noise, seed)).value


def shown(challenge, **arguments):
    """Team -> rank and value on the board."""
    return {
        one["team"]: (one["measures"]["range-eer"]["rank"], one["measures"]["range-eer"]["value"])
        for one in leaderboard(challenge, **arguments).to_dict()["teams"]
    }


# ---------------------------------------------------------------- which one counts


def test_the_best_of_many_submissions_stands_beside_its_value_without_luck(tmp_path):
    challenge = challenge_in(tmp_path, counts="best")
    judge_quickly(challenge, upload(tmp_path, "alpha", 1.0, 0))
    assert not any(text.startswith("alpha") for text in leaderboard(challenge).cautions)
    seeds = range(1, 5)
    for seed in seeds:
        judge_quickly(challenge, upload(tmp_path, "alpha", 1.0, seed))
    board = leaderboard(challenge)
    (note,) = (text for text in board.cautions if text.startswith("alpha"))
    assert note not in json.dumps(board.to_dict())  # it comes from the labels: for the organisers
    assert note.startswith(
        "alpha: the submission that counts is the best of 5, which is too good on average; range-eer"
    )
    corrected = float(note.rsplit(" ", 1)[1].rstrip("%")) / 100
    values = [value(1.0, seed) for seed in (0, *seeds)]
    assert corrected > min(values)
    systems = {str(seed): scores(labels(), 1.0, seed) for seed in (0, *seeds)}
    compared = ss.compare(labels(), systems)
    assert corrected == pytest.approx(compared.best_corrected, abs=0.003)


@pytest.mark.parametrize(("counts", "expected"), [("last", 1.6), ("best", 0.8), ("chosen", 1.2)])
def test_the_submission_that_counts(counts, expected, tmp_path):
    challenge = challenge_in(tmp_path, counts=counts)
    numbers = [judge_quickly(challenge, upload(tmp_path, "alpha", noise)).number for noise in (1.2, 0.8, 1.6)]
    if counts == "chosen":
        assert shown(challenge) == {"alpha": (1, round(value(1.6), 4))}  # the last one until it chooses
        decisions.choose(challenge, "alpha", numbers[0], REASON)
    else:
        with pytest.raises(ss.UsageError, match="teams do not choose"):
            decisions.choose(challenge, "alpha", numbers[0], REASON)
    assert shown(challenge) == {"alpha": (1, round(value(expected), 4))}
    withdrawn = {"last": 2, "best": 1, "chosen": 0}[counts]
    decisions.decide(challenge, "withdraw", "alpha", REASON, submission=numbers[withdrawn])
    assert shown(challenge)["alpha"][1] == round(value({"last": 0.8, "best": 1.2, "chosen": 1.6}[counts]), 4)
    decisions.decide(challenge, "reinstate", "alpha", REASON, submission=numbers[withdrawn])
    assert shown(challenge)["alpha"][1] == round(value(expected), 4)
    with pytest.raises(ss.UsageError, match="not withdrawn already"):
        decisions.decide(challenge, "reinstate", "alpha", REASON, submission=numbers[0])
    with pytest.raises(ss.UsageError, match="has no submission 99"):
        decisions.decide(challenge, "withdraw", "alpha", REASON, submission=99)


def test_a_broken_upload_replaces_nothing_and_is_noted(tmp_path):
    challenge = challenge_in(tmp_path)
    judge_quickly(challenge, upload(tmp_path, "alpha", 0.8))
    broken = tmp_path / "uploads" / "alpha.parquet"
    broken.write_bytes(b"PAR1")
    assert judge_quickly(challenge, broken, received="2027-01-16 08:00:00").state == "refused"
    assert shown(challenge) == {"alpha": (1, round(value(0.8), 4))}
    (note,) = leaderboard(challenge).notes
    assert note == (
        "alpha: the submission of 2027-01-16 08:00:00 UTC was refused; that of 2027-01-15 12:00:00 UTC counts"
    )


def test_the_last_submission_may_be_an_earlier_one_again(tmp_path):
    challenge = challenge_in(tmp_path, max_submissions=2)
    for noise in (1.2, 0.8, 1.2):
        assert judge_quickly(challenge, upload(tmp_path, "alpha", noise)).state == "scored"
    assert shown(challenge)["alpha"][1] == round(value(1.2), 4)
    assert judge_quickly(challenge, upload(tmp_path, "alpha", 1.2)).state == "kept"
    assert len(season(challenge).entries) == 3


# ---------------------------------------------------------------- time


def test_a_phase_takes_submissions_while_it_lasts(tmp_path):
    challenge = challenge_in(tmp_path, phases=(PROGRESS, FINAL), grace=30)
    path = upload(tmp_path, "alpha", 0.8)
    times = {
        "2027-01-09 23:59:59": "begins at 2027-01-10 00:00:00 UTC",
        "2027-02-01 00:30:01": "the phase 'progress' ended at 2027-02-01 00:00:00 UTC, and 30 minutes of grace",
        "2027-01-10 00:00:00": None,
        "2027-02-01 00:30:00": None,
    }
    for received, words in times.items():
        found = judge_quickly(challenge, path, "progress", received)
        assert found.state == ("refused" if words else found.state)
        assert words is None or words in found.problems[0]
    assert [one.outcome for one in season(challenge).of_team("progress", "alpha")] == ["early", "late", "scored"]
    assert not judge_quickly(challenge, path, "final", "2027-02-01 12:00:00").values
    with pytest.raises(ss.UsageError, match="no submission of the phase 'final' was scored"):
        leaderboard(challenge, phase="final")


def test_the_time_of_the_upload_decides_and_not_that_of_scoring(tmp_path, monkeypatch):
    monkeypatch.setattr("spoofspan.challenge.judging.ScoringProcess", InThisProcess)
    challenge, path = challenge_in(tmp_path, phases=(PROGRESS,)), upload(tmp_path, "alpha", 0.8)
    (found,) = score_submissions(challenge, path, clock=LATER)
    assert "was received at 2027-06-01 00:00:00 UTC" in found.problems[0]
    came = clock("2027-01-31 23:00:00")()
    (found,) = score_submissions(challenge, path, received=came, clock=LATER)
    assert found.state == "scored"
    with pytest.raises(ss.UsageError, match="lies in the future"):
        score_submissions(challenge, path, received=LATER(), clock=clock("2027-01-01 00:00:00"))


def test_limits_in_all_and_of_a_day(tmp_path):
    challenge = challenge_in(tmp_path, max_submissions=3, max_per_day=2)
    states = []
    for day, noise in (("15", 0.8), ("15", 0.9), ("15", 1.0), ("16", 1.0), ("16", 1.1), ("17", 0.8)):
        received = f"2027-01-{day} 12:00:00"
        found = judge_quickly(challenge, upload(tmp_path, "alpha", noise), received=received)
        states.append(found.state if not found.problems else found.problems[0])
    assert states[2] == "2 submissions of this team were scored on 2027-01-15 (UTC), which is the limit of a day"
    assert states[4] == "3 submissions of this team were scored in this phase, which is the limit"
    assert [states[place] for place in (0, 1, 3, 5)] == ["scored"] * 4  # the last one was counted before
    assert shown(challenge)["alpha"][1] == round(value(0.8), 4)


# ---------------------------------------------------------------- who is ranked


def test_teams_that_are_out_stand_below_the_ranks(tmp_path):
    challenge = challenge_in(tmp_path)
    for team, noise in (("alpha", 0.6), ("bravo", 0.9), ("charlie", 1.2)):
        judge_quickly(challenge, upload(tmp_path, team, noise))
    decisions.decide(challenge, "withdraw", "alpha", "at its request", clock=LATER)
    decisions.decide(challenge, "disqualify", "bravo", "used the labels", clock=LATER)
    assert shown(challenge) == {"charlie": (1, round(value(1.2), 4))}
    text = leaderboard(challenge).tables()[0].render("text")
    assert "alpha: withdrawn on 2027-06-01 00:00:00 UTC (at its request)" in text
    assert "bravo: disqualified on 2027-06-01 00:00:00 UTC (used the labels)" in text
    found = judge_quickly(challenge, upload(tmp_path, "bravo", 0.5))
    assert "the team was disqualified" in found.problems[0]
    assert judge_quickly(challenge, upload(tmp_path, "charlie", 1.2)).state == "kept"
    assert "alpha" not in shown(challenge)  # though its file is still in the folder
    decisions.decide(challenge, "reinstate", "alpha", "back again")
    assert list(shown(challenge)) == ["alpha", "charlie"]
    with pytest.raises(ss.UsageError, match="is not out"):
        decisions.decide(challenge, "reinstate", "alpha", REASON)
    with pytest.raises(ss.UsageError, match=r"there is no team 'alfa'.*alpha"):
        decisions.decide(challenge, "withdraw", "alfa", REASON)


def test_a_team_is_out_of_one_phase(tmp_path):
    challenge = challenge_in(tmp_path, phases=(PROGRESS, FINAL))
    for phase, received in (("progress", "2027-01-15 12:00:00"), ("final", "2027-02-15 12:00:00")):
        for team, noise in (("alpha", 0.6), ("bravo", 0.9)):
            judge_quickly(challenge, upload(tmp_path, team, noise), phase, received)
    decisions.decide(challenge, "withdraw", "alpha", REASON, phase="final")
    assert list(shown(challenge, phase="progress")) == ["alpha", "bravo"]
    assert list(shown(challenge, phase="final")) == ["bravo"]


def test_baselines_and_hosts_are_shown_without_a_rank(tmp_path):
    challenge = challenge_in(tmp_path)
    decisions.set_role(challenge, "baseline", "baseline", REASON)  # before it submits
    for team, noise in (("baseline", 0.6), ("bravo", 0.9), ("charlie", 1.2), ("ours", 0.7)):
        judge_quickly(challenge, upload(tmp_path, team, noise))
    decisions.set_role(challenge, "ours", "host", REASON)
    assert shown(challenge) == {"bravo": (1, round(value(0.9), 4)), "charlie": (2, round(value(1.2), 4))}
    board = leaderboard(challenge)
    unranked = board.to_dict()["unranked"]
    assert [(one["team"], one["role"]) for one in unranked] == [("baseline", "baseline"), ("ours", "host")]
    expected = ss.interval(labels(), scores(labels(), 0.6), clusters=board_speakers(), clusters_are="speaker")
    measured = unranked[0]["measures"]["range-eer"]
    assert measured == {
        "value": round(expected.estimate, 4),
        "low": round(expected.low, 4),
        "high": round(expected.high, 4),
    }
    text = board.tables()[0].render("text")
    assert "baseline (baseline)" in text
    assert board.wide_table().render("csv").count("\n") == 5
    # the family of comparisons has ranked teams alone
    alone = ss.compare(
        labels(),
        {"bravo": scores(labels(), 0.9), "charlie": scores(labels(), 1.2)},
        clusters=board_speakers(),
        clusters_are="speaker",
    )
    assert board.ranks == alone.ranks


def board_speakers():
    from challenge_cases import SPEAKERS

    return SPEAKERS


def test_anonymous_teams_are_named_when_the_names_are_published(tmp_path):
    challenge = challenge_in(tmp_path)
    decisions.set_role(challenge, "alpha", "anonymous", REASON)
    for team, noise in (("alpha", 0.6), ("bravo", 0.9)):
        judge_quickly(challenge, upload(tmp_path, team, noise))
    (tmp_path / "uploads" / "alpha.parquet").write_bytes(b"PAR1")
    judge_quickly(challenge, tmp_path / "uploads" / "alpha.parquet")
    board = leaderboard(challenge)
    assert list(shown(challenge)) == ["(anonymous 1)", "bravo"]
    assert "alpha" not in json.dumps(board.to_dict(pairs=True))
    assert "alpha" not in "".join(one.render("text") for one in board.tables(pairs=True))
    with pytest.raises(ss.DataError, match="choose another"):
        decisions.set_role(challenge, "(anonymous 1)", "team", REASON)
    decisions.publish(challenge, "end of the challenge")
    assert list(shown(challenge)) == ["alpha", "bravo"]


@pytest.mark.parametrize(
    ("ties", "expected"), [("shared", [1, 2, 2, 4]), ("dense", [1, 2, 2, 3]), ("earlier", [1, 2, 3, 4])]
)
def test_ties_of_published_values(ties, expected, tmp_path):
    challenge = challenge_in(tmp_path, ties=ties)
    teams = {"alpha": 0.6, "delta": 0.9, "bravo": 0.9, "charlie": 1.4}
    for hour, (team, noise) in enumerate(teams.items()):
        judge_quickly(challenge, upload(tmp_path, team, noise), received=f"2027-01-15 {hour + 10}:00:00")
    found = shown(challenge)
    assert [found[team][0] for team in teams] == expected
    for one in leaderboard(challenge).to_dict()["teams"]:
        measured = one["measures"]["range-eer"]
        assert measured["best_rank"] <= measured["rank"] <= measured["worst_rank"]


# ---------------------------------------------------------------- measures and checks


def test_a_team_without_a_threshold_lacks_an_optional_measure(tmp_path):
    definition = {"optional": ("range-f1",)}
    challenge = build(tmp_path / "challenge", measures=("range-eer", "range-f1"), by={}, definition=definition)
    without = upload(tmp_path, "alpha", 0.9)
    assert judge_quickly(challenge, without).state == "scored"
    found = check_submission(PublicPart.read(challenge), without)
    assert found.passed
    assert "range-f1 is not measured" in found.notes[-1]
    folder = tmp_path / "uploads" / "bravo"
    folder.mkdir()
    ss.write_scores(scores(labels(), 0.6), folder / "scores.parquet")
    (folder / "submission.json").write_text('{"threshold": 0.25}')
    judge_quickly(challenge, folder)
    plain = leaderboard(challenge).to_dict()
    first, second = (one["measures"]["range-f1"] for one in plain["teams"])
    expected = ss.evaluate(labels(), scores(labels(), 0.6), ["range-f1"], threshold=0.25)["range-f1"].value
    assert first["value"] == round(expected, 4)
    assert second["value"] is None
    rows = leaderboard(challenge).tables()[0].rows
    assert [row[-1] for row in rows] == [f"{100 * expected:.2f}", "-"]
    assert leaderboard(challenge).wide_table().rows[1][-3:] == ("", "", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"optional": ("range-eer",)}, "needs a threshold"),
        ({"optional": ("range-f1",), "measures": ("range-f1", "range-eer")}, "this measure ranks"),
        ({"optional": ("range-auc",)}, "give a measure of the challenge"),
        ({"counts": "first"}, "last"),
        ({"ties": "random"}, "shared"),
        ({"max_per_day": 11}, "between 1 and max_submissions"),
        ({"grace": -1}, "whole number of minutes"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(arguments, words):
    with pytest.raises(ss.UsageError, match=words):
        Definition("Policy", **{"measures": ("range-eer", "range-f1"), **arguments})


def test_policy_changes_no_result(tmp_path):
    one = challenge_in(tmp_path)
    judge_quickly(one, upload(tmp_path, "alpha", 0.8))
    other = build(tmp_path / "other", measures=("range-eer",), by={}, definition={"counts": "best", "grace": 10})
    judge_quickly(other, upload(tmp_path, "alpha", 0.8))
    assert kept_result(one, "alpha").key == kept_result(other, "alpha").key


def test_a_wrong_hop_is_named(tmp_path):
    challenge = challenge_in(tmp_path)
    for hop in (0.01, 0.04):
        folder = tmp_path / f"team{hop}"
        folder.mkdir()
        (folder / "scores.txt").write_text("\n".join(frame_lines()) + "\n")
        (folder / "submission.json").write_text(json.dumps({"hop": hop, "higher": "spoof"}))
        (problem,) = check_submission(PublicPart.read(challenge), folder).problems
        assert f"{1000 * hop:g} ms does not fit, 20 ms would fit 36 of 36 utterances" in problem
        assert 'state {"hop": 0.02} in submission.json' in problem


# ---------------------------------------------------------------- rescoring


def corrected_labels(changed=3):
    """The labels, with some of the spoofed ranges one frame shorter."""
    ranges = {utt: list(rows) for utt, rows in labels().items()}
    durations = dict(zip(labels().utterances, (labels().durations / 1e9).tolist(), strict=True))
    some = [utt for utt, rows in ranges.items() if len(rows) == 3 and rows[1][1] - rows[1][0] > 2 * HOP][:changed]
    for utt in some:
        (_, start, *_), (_, end, _, attack), (_, last, *_) = ranges[utt]
        middle = round(end - HOP, 6)
        ranges[utt] = [(0.0, start, "bonafide"), (start, middle, "spoof", attack), (middle, last, "bonafide")]
    return ss.References.from_ranges(ranges, durations), some


def test_rescoring_after_a_correction_says_what_moved_and_why(tmp_path, monkeypatch):
    monkeypatch.setattr("spoofspan.challenge.rescoring.ScoringProcess", InThisProcess)
    challenge = challenge_in(tmp_path)
    noises = {"alpha": 0.6, "bravo": 0.9, "charlie": 1.2}
    for team, noise in noises.items():
        judge_quickly(challenge, upload(tmp_path, team, noise))
    before, entries = leaderboard(challenge).to_dict(), len(season(challenge).entries)
    truth, some = corrected_labels()
    fixed = build(tmp_path / "fixed", truth, measures=("range-eer",), by={})
    found = rescore(challenge, "boundaries corrected", corrected=fixed, clock=LATER)
    for one in found.moves[0].rows:
        noise = noises[one["team"]]
        assert one["before"] == round(value(noise), 4)
        assert one["after"] == round(ss.range_eer(truth, scores(labels(), noise)).value, 4)
    assert found.what == ("labels",)
    assert [utt for utt, _ in found.utterances] == sorted(some)
    assert [round(seconds, 6) for _, seconds in found.utterances] == [HOP] * len(some)
    assert not set(IDS).intersection(json.dumps(found.to_dict()).split('"'))
    assert all(utt in found.for_organisers[0] for utt in some)
    assert shown(challenge)["alpha"][1] == round(ss.range_eer(truth, scores(labels(), 0.6)).value, 4)
    assert leaderboard(challenge, until=entries).to_dict() == before  # the board as it was
    # again: nothing is left to do, and the same is said
    again = rescore(challenge, "boundaries corrected", corrected=fixed, clock=LATER)
    assert again.moves[0].scored == 0
    assert again.moves[0].rows == found.moves[0].rows
    with pytest.raises(ss.UsageError, match="other utterances"):
        rescore(challenge, REASON, corrected=build(tmp_path / "few", labels().take(np.arange(30)), by={}))


def test_an_interrupted_rescoring_goes_on(tmp_path, monkeypatch):
    class Fails(InThisProcess):
        count = 0

        def score(self, path, team):
            Fails.count += 1
            if Fails.count == 3:
                raise KeyboardInterrupt
            return super().score(path, team)

    monkeypatch.setattr("spoofspan.challenge.rescoring.ScoringProcess", Fails)
    challenge = challenge_in(tmp_path)
    for team, noise in (("alpha", 0.6), ("bravo", 0.9), ("charlie", 1.2)):
        judge_quickly(challenge, upload(tmp_path, team, noise))
    truth, _ = corrected_labels()
    fixed = build(tmp_path / "fixed", truth, measures=("range-eer",), by={})
    with pytest.raises(KeyboardInterrupt):
        rescore(challenge, REASON, corrected=fixed)
    assert list(shown(challenge)) == ["alpha", "bravo"]
    assert "1 result from before the challenge changed" in leaderboard(challenge).notes[0]
    found = rescore(challenge, REASON, corrected=fixed)
    assert found.moves[0].scored == 1
    assert list(shown(challenge)) == ["alpha", "bravo", "charlie"]
    assert sum(one.action == "change" for one in season(challenge).entries) == 1


def test_a_deadline_is_moved_without_scoring_again(tmp_path, monkeypatch):
    monkeypatch.setattr("spoofspan.challenge.rescoring.ScoringProcess", InThisProcess)
    challenge = challenge_in(tmp_path, phases=(PROGRESS,))
    path = upload(tmp_path, "alpha", 0.6)
    judge_quickly(challenge, path)
    later = Phase("progress", PROGRESS.start, "2027-04-01 00:00:00")
    longer = build(tmp_path / "longer", measures=("range-eer",), by={}, definition={"phases": (later,)})
    found = rescore(challenge, "extended", corrected=longer)
    assert (found.what, found.moves[0].scored, found.moves[0].rows[0]["move"]) == (("phases",), 0, "same rank")
    assert judge_quickly(challenge, upload(tmp_path, "bravo", 0.9), received="2027-03-01 00:00:00").state == "scored"


# ---------------------------------------------------------------- what teams are told


def test_a_letter_has_the_whole_refusal_and_what_still_counts(tmp_path):
    challenge = challenge_in(tmp_path, contact="organisers@example.org")
    judge_quickly(challenge, upload(tmp_path, "alpha", 0.6))
    judge_quickly(challenge, upload(tmp_path, "bravo", 0.9))
    folder = tmp_path / "uploads" / "alpha"
    folder.mkdir()
    (folder / "scores.txt").write_text("utt00 0 1\n")
    refused = judge_quickly(challenge, folder)
    told = dict(letters(challenge))
    for problem in refused.problems:
        assert all(line in told["alpha"] for line in problem.splitlines())
    assert "Your earlier submission 1 of 2027-01-15 12:00:00 UTC still counts." in told["alpha"]
    assert "1 of 10 submissions are used" in told["alpha"]
    assert "Questions: organisers@example.org" in told["bravo"]
    assert f"{100 * round(value(0.9), 4):.2f}" in told["bravo"]


def test_the_log_and_the_certificate(tmp_path, capsys):
    challenge = challenge_in(tmp_path)
    path = upload(tmp_path, "alpha", 0.6)
    judge_quickly(challenge, path)
    judge_quickly(challenge, upload(tmp_path, "bravo", 0.9))
    decisions.decide(challenge, "withdraw", "bravo", "gone", clock=LATER)
    assert [one["text"] for one in log(challenge, team="bravo")] == [
        "bravo: submission 2 scored",
        "bravo withdrawn (gone)",
    ]
    found = certificate(challenge, "alpha")
    import hashlib

    assert found["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found["measures"]["range-eer"]["rank"] == 1
    assert found == certificate(challenge, "alpha")
    assert not {"signatures", "comparable"}.intersection(found)
    whole = certificate(challenge, "alpha", all_digits=True)
    assert whole["measures"]["range-eer"]["value"] == value(0.6)
    assert whole["signatures"]["range-eer"]["comparable"] == leaderboard(challenge).comparable["range-eer"]
    with pytest.raises(ss.UsageError, match="no submission that counts"):
        certificate(challenge, "bravo")
    code, printed = run(["challenge", "log", challenge, "--team", "alpha"], capsys)
    assert code == 0
    assert found["sha256"][:12] in printed.out


def test_the_commands_of_the_organisers(tmp_path, capsys):
    challenge = challenge_in(tmp_path, counts="chosen")
    for noise in (0.6, 0.9):
        judge_quickly(challenge, upload(tmp_path, "alpha", noise))
    because = ["--reason", "why"]
    for words in (
        ["role", challenge, "alpha", "anonymous", *because],
        ["choose", challenge, "alpha", "1", *because],
        ["withdraw", challenge, "alpha", "--submission", "2", *because],
        ["disqualify", challenge, "alpha", *because],
        ["reinstate", challenge, "alpha", *because],
        ["share", challenge, "alpha"],
        ["publish", challenge, *because],
        ["letters", challenge, "--out", tmp_path / "letters"],
        ["certificate", challenge, "alpha", "--out", tmp_path / "alpha.json"],
        ["leaderboard", challenge, "--until", "2"],
    ):
        code, printed = run(["challenge", *words], capsys)
        assert code == 0, printed.err
    assert [one.action for one in season(challenge).entries[2:]] == [
        *("role", "choose", "withdraw", "disqualify", "reinstate", "share", "publish")
    ]
    assert json.loads((tmp_path / "alpha.json").read_text())["measures"]["range-eer"]["value"] == round(value(0.6), 4)
    assert (tmp_path / "letters" / "alpha.txt").is_file()
    assert run(["challenge", "withdraw", challenge, "alpha"], capsys)[0] == 2
    code, printed = run(["challenge", "leaderboard", challenge, "--until", "99"], capsys)
    assert (code, "the ledger has 9 lines" in printed.err) == (2, True)


def test_many_refusals_are_a_line_each_on_a_terminal(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("spoofspan.challenge.judging.ScoringProcess", InThisProcess)
    challenge, folder = challenge_in(tmp_path), tmp_path / "uploads"
    folder.mkdir()
    for team in range(14):
        (folder / f"team{team}.txt").write_text("\n".join(frame_lines()[team:]) + "\nstranger 0 1\n")
    code, printed = run(["challenge", "score", challenge, folder], capsys)
    assert code == 3
    lines = printed.out.splitlines()
    assert sum("refused:" in line for line in lines) == 14
    assert len(lines) < 14 + 14 + 8
    code, printed = run(["challenge", "score", challenge, folder, "--team", "team3"], capsys)
    assert "'stranger' is not in the challenge" in printed.out


def test_the_best_submission_is_that_of_the_best_published_value(tmp_path, monkeypatch):
    """Digits that nobody sees do not choose among submissions whose values look the same."""
    challenge = challenge_in(tmp_path, counts="best")
    for seed in (0, 1, 2):
        judge_quickly(challenge, upload(tmp_path, "alpha", 0.6, seed))
    exact = dict(
        zip((one.key for one in season(challenge).of_team("evaluation", "alpha")), (0.2, 0.12341, 0.12339), strict=True)
    )
    monkeypatch.setattr("spoofspan.challenge.leaderboard.kept_values", lambda _, key: [{"value": exact[key]}])
    assert leaderboard(challenge).standings["alpha"].submission.number == 2


# ---------------------------------------------------------------- nothing is silent


def test_a_letter_says_that_the_team_is_out_and_which_submission_counts(tmp_path):
    challenge = challenge_in(tmp_path, counts="best")
    for team, noise in (("alpha", 0.6), ("alpha", 0.9), ("bravo", 0.9)):
        judge_quickly(challenge, upload(tmp_path, team, noise))
    decisions.decide(challenge, "disqualify", "bravo", "used the labels", clock=clock("2027-02-01 10:00:00"))
    told = dict(letters(challenge))
    assert "Your earlier submission 1 of 2027-01-15 12:00:00 UTC still counts." in told["alpha"]
    out = "Your team was disqualified at 2027-02-01 10:00:00 UTC (used the labels), so it is not ranked."
    assert out in told["bravo"]
    assert "counts" not in told["bravo"]


def test_a_letter_says_that_a_submission_was_scored_again(tmp_path, monkeypatch):
    monkeypatch.setattr("spoofspan.challenge.rescoring.ScoringProcess", InThisProcess)
    challenge = challenge_in(tmp_path)
    judge_quickly(challenge, upload(tmp_path, "alpha", 0.6))
    assert "rescoring" not in dict(letters(challenge))["alpha"]
    fixed = build(tmp_path / "fixed", corrected_labels()[0], measures=("range-eer",), by={})
    rescore(challenge, "three labels were wrong", corrected=fixed, clock=clock("2027-02-01 10:00:00"))
    again = "These are the values of its rescoring at 2027-02-01 10:00:00 UTC (three labels were wrong)."
    assert again in dict(letters(challenge))["alpha"]


def test_other_utterances_of_a_phase_are_a_change_that_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("spoofspan.challenge.rescoring.ScoringProcess", InThisProcess)
    definition = {"phases": (PROGRESS,)}
    some = [{"phases": {"progress": IDS[place : place + 20]}, "definition": definition} for place in (0, 10, 16)]
    first, second, third = (
        build(tmp_path / str(place), measures=("range-eer",), by={}, **one) for place, one in enumerate(some)
    )
    judge_quickly(first, upload(tmp_path, "alpha", 0.6))
    for other in (second, third):
        found = rescore(first, "another draw", corrected=other)
        assert (found.what, found.moves[0].scored) == (("utterances of phases",), 1)


def test_a_decision_twice_and_a_role_of_nobody_are_noticed(tmp_path):
    challenge = challenge_in(tmp_path)
    judge_quickly(challenge, upload(tmp_path, "alpha", 0.6))
    decisions.decide(challenge, "withdraw", "alpha", "wish", clock=clock("2027-02-01 10:00:00"))
    with pytest.raises(ss.UsageError, match="'alpha' is withdrawn already, at 2027-02-01 10:00:00 UTC"):
        decisions.decide(challenge, "withdraw", "alpha", "wish")
    decisions.decide(challenge, "disqualify", "alpha", "used the labels")
    with pytest.warns(ss.SpoofspanWarning, match="'alpa' has submitted nothing so far.*alpha"):
        decisions.set_role(challenge, "alpa", "baseline", "typed too fast")


def test_the_phase_is_named_and_a_refusal_has_few_lines(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("spoofspan.challenge.judging.ScoringProcess", InThisProcess)
    challenge = challenge_in(tmp_path, phases=(PROGRESS, Phase("final", "2027-04-01 00:00:00")))
    folder = tmp_path / "uploads"
    folder.mkdir()
    others = [f"other{k} {line.partition(' ')[2]}" for k, line in enumerate(frame_lines()[:40])]
    (folder / "alpha.txt").write_text("\n".join([*frame_lines()[:50], *others]) + "\n")
    (folder / "bravo.txt").write_text("\n".join(frame_lines()).replace("utt", "other") + "\n")
    at = ["--phase", "progress", "--received", "2027-01-15T12:00"]
    monkeypatch.setattr("spoofspan.challenge.judging.as_text", lambda _: "2027-01-15 12:00:00")
    code, printed = run(["challenge", "score", challenge, folder, *at], capsys)
    assert code == 3
    assert printed.out.startswith("Phase progress.")
    assert "more lines: spoofspan challenge letters" in printed.out
    assert "no id is of the challenge, whose ids are as 'utt00', and not as 'other00'" in printed.out
    assert len(printed.out.splitlines()) < 6 + 2 * 20
    code, printed = run(["challenge", "log", challenge], capsys)
    assert "1, alpha: " in printed.out
    assert len(printed.out.splitlines()) < 10
    code, printed = run(["challenge", "log", challenge, "--team", "alpha"], capsys)
    assert "'utt35' is missing" in printed.out or "more" in printed.out
