"""A season as a script: two phases, twelve teams, sixty submissions, and what goes wrong over months.

What the board must show is worked out here from the uploads and the labels alone, by ``range_eer`` of each upload that
should count; nothing of the ledger is used for it.
"""

import json
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from challenge_cases import IDS, InThisProcess, build, clock, labels, scores, season

import spoofspan as ss
from spoofspan.challenge import decisions
from spoofspan.challenge.appeals import certificate, letters, log
from spoofspan.challenge.definition import Phase
from spoofspan.challenge.fairness import audit
from spoofspan.challenge.judging import score_submissions
from spoofspan.challenge.leaderboard import leaderboard
from spoofspan.challenge.public_page import leaderboard_page, public_page
from spoofspan.challenge.rescoring import rescore

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")]
TEAMS = [f"team {letter}" for letter in "ABCDEFGHJKMN"]
# In the past, so that commands of today may say that a submission came then.
CODEC = {utt: ("opus", "mp3")[i % 2] for i, utt in enumerate(IDS)}
GROUP = {utt: ("low", "high")[i % 3 == 0] for i, utt in enumerate(IDS)}
PHASES = (
    Phase("progress", "2020-01-10 00:00:00", "2020-02-01 00:00:00"),
    Phase("final", "2020-02-02 00:00:00", "2020-03-01 00:00:00"),
)
COUNTED = {"progress": IDS[::2] + IDS[1::4], "final": IDS}
NOW = clock("2020-06-01 00:00:00")
REASON = "for a reason"


def corrected(truth, changed=4):
    """The labels of some utterances turned into bona fide ones."""
    ranges = {utt: list(rows) for utt, rows in truth.items()}
    durations = dict(zip(truth.utterances, (truth.durations / 1e9).tolist(), strict=True))
    spoofed = [utt for utt, rows in ranges.items() if len(rows) > 1]
    for utt in spoofed[:changed]:
        ranges[utt] = [(0.0, durations[utt], "bonafide")]
    return ss.References.from_ranges(ranges, durations)


class Organisers:
    """Those who run the season, and what they expect."""

    def __init__(self, folder, truth, checks=True):
        folder.mkdir()
        self.checks = checks
        self.folder, self.truth = folder, truth
        self.definition = {"phases": PHASES, "counts": "best", "grace": 60, "max_submissions": 8}
        self.challenge = self._built("challenge", truth)
        self.uploads = folder / "uploads"
        self.uploads.mkdir()
        self.valid = {phase: {} for phase in COUNTED}  # phase -> team -> all scores that can count
        self.out = {}
        self.submitted = 0

    def _built(self, name, truth):
        return build(
            self.folder / name,
            truth,
            measures=("range-eer",),
            by={"codec": CODEC, "noise": GROUP, "codec,noise": None},
            phases=COUNTED_IN_PROGRESS,
            definition=self.definition,
        )

    def upload(self, team, noise, seed, phase=None):
        """A good upload, which is expected to count if it is of a phase."""
        found = scores(labels(), noise, seed)  # known to the labels of the first season, whatever is hidden
        ss.write_scores(found, self.uploads / f"{team}.parquet", force=True)
        self.submitted += 1
        if phase is not None:
            self.valid[phase].setdefault(team, []).append(found)

    def score(self, phase, received):
        found = score_submissions(self.challenge, self.uploads, phase=phase, received=clock(received)(), clock=NOW)
        return {one.team: one for one in found}

    def command(self, phase, received):
        """The command in a process of its own."""
        words = [
            "challenge",
            "score",
            self.challenge,
            self.uploads,
            "--phase",
            phase,
            "--received",
            received,
            "--quiet",
        ]
        return subprocess.Popen(
            [sys.executable, "-m", "spoofspan", *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def expected(self, phase):
        """Team -> value on the board, the best first."""
        rows = np.array(sorted(IDS.index(utt) for utt in COUNTED[phase]))
        truth = self.truth.take(rows)
        values = {
            team: min(round(ss.range_eer(truth, one.take(rows)).value, 4) for one in given)
            for team, given in self.valid[phase].items()
            if self.out.get(team) not in (phase, "all")
        }
        return dict(sorted(values.items(), key=lambda item: (item[1], item[0])))

    def check(self, phase):
        """The board is right, and made again from copies it has the same bytes."""
        board = leaderboard(self.challenge, phase=phase)
        if not self.checks:
            return board
        plain = board.to_dict()
        found = {one["team"]: one["measures"]["range-eer"]["value"] for one in plain["teams"]}
        expected = self.expected(phase)
        assert found == expected
        places = [one["measures"]["range-eer"]["rank"] for one in plain["teams"]]
        values = list(found.values())
        assert places == [1 + sum(other < value for other in values) for value in values]
        assert {one["team"] for one in plain["out"]} == {t for t, of in self.out.items() if of in (phase, "all")}
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for name in ("public", "hidden", "results", "former", "ledger.jsonl"):
            source = self.challenge / name
            if source.is_dir():
                shutil.copytree(source, copy / name)
            elif source.is_file():
                shutil.copy(source, copy / name)
        again = leaderboard(copy, phase=phase)
        assert json.dumps(again.to_dict(pairs=True)) == json.dumps(board.to_dict(pairs=True))
        assert [one.render("text") for one in again.tables()] == [one.render("text") for one in board.tables()]
        assert leaderboard_page(again) == leaderboard_page(board)
        return board


COUNTED_IN_PROGRESS = {"progress": COUNTED["progress"]}


def public_files(organisers):
    """Everything that leaves the organisers at the end, by name."""
    challenge = organisers.challenge
    found = {one.name: one.read_bytes().hex() for one in sorted((challenge / "public").iterdir())}
    for phase in COUNTED:
        board = leaderboard(challenge, phase=phase)
        found[f"{phase}.json"] = json.dumps(board.to_dict(pairs=True))
        found[f"{phase}.txt"] = "".join(one.render("text") for one in board.tables())
        found[f"{phase}.csv"] = board.wide_table().render("csv")
        page = public_page(challenge, board, results=organisers.folder / f"files {phase}")
        found[f"{phase}.html"] = page.partition("<body>")[2].partition("<script")[0]
        # which submission is the best one is a function of rounded values that the team has
        best = r"Your earlier submission \d+ of [-\d: ]+ UTC still counts\."
        found |= {f"{phase} letter {team}": re.sub(best, "", text) for team, text in letters(challenge, phase)}
        found |= {
            f"{phase} certificate {one}": json.dumps(certificate(challenge, one, phase=phase))
            for one in board.standings
        }
    found["log"] = json.dumps(log(challenge))
    return found


NUMBER = re.compile(r"[-+\u2212]?\d+(?:\.\d+)?(?:e[-+]?\d+)?|\bnone\b|\bnull\b|\bundecided\b")


def words_of(text):
    """The words of a text in alphabetical order, without numbers, drawings and letters of groups: the order of rows,
    ranks and who is better are functions of rounded values."""
    shown = re.sub(r'(style|d|points|x[12]?|y[12]?|width|height|data-[a-z]+)="[^"]*"', "", text)
    shown = re.sub(r'"better": (null|"team [A-N]")', "", shown)
    shown = re.sub(r"to \d[\d.]*|no interval", "", shown)
    found = re.findall(r"[^\W\d_]{2,}", NUMBER.sub(" ", shown))
    return sorted(word for word in found if not re.fullmatch("[a-n]{1,14}", word))


def run_season(organisers, in_processes):
    """The script; each step ends with a check of the board."""
    noises = {team: 0.5 + 0.15 * place for place, team in enumerate(TEAMS)}
    # January 11: everybody submits
    for place, team in enumerate(TEAMS):
        organisers.upload(team, noises[team], place, "progress")
    early = organisers.score("final", "2020-01-11 10:00:00")  # by mistake into a phase that has not begun
    assert {one.state for one in early.values()} == {"refused"}
    organisers.score("progress", "2020-01-11 10:00:00")
    organisers.check("progress")
    # January 12: B's upload is damaged; E uploads the system of D, nearly; F the very file of D
    broken = organisers.uploads / "team B.parquet"
    broken.write_bytes(broken.read_bytes()[:1000])
    copied = organisers.valid["progress"]["team D"][0]
    nearly = ss.Scores.from_columns(
        copied.utterances,
        copied.offsets,
        copied.values + np.float32(1e-3) * np.random.default_rng(0).standard_normal(copied.values.size, np.float32),
        hop=0.02,
        higher="bonafide",
    )
    ss.write_scores(nearly, organisers.uploads / "team E.parquet", force=True)
    organisers.valid["progress"]["team E"].append(nearly)
    (organisers.uploads / "team F.parquet").write_bytes((organisers.uploads / "team D.parquet").read_bytes())
    organisers.valid["progress"]["team F"].append(copied)
    organisers.submitted += 3
    found = organisers.score("progress", "2020-01-12 10:00:00")
    assert {team for team, one in found.items() if one.state == "refused"} == {"team B"}
    assert "team B: the submission of 2020-01-12 10:00:00 UTC was refused" in organisers.check("progress").notes[0]
    copies = {one.teams for one in audit(organisers.challenge, phase="progress")}
    assert {("team D", "team E"), ("team D", "team F"), ("team E", "team F")} <= copies
    # every night nothing new is scored, and nothing is recorded
    lines = (organisers.challenge / "ledger.jsonl").read_bytes()
    organisers.score("progress", "2020-01-13 04:00:00")
    assert (organisers.challenge / "ledger.jsonl").read_bytes() == lines
    # January 20: worse and better ones; two operators score them at once
    for place, team in enumerate(TEAMS):
        organisers.upload(team, noises[team] * (0.8 if place % 2 else 1.3), 100 + place, "progress")
    if in_processes:
        both = [organisers.command("progress", "2020-01-20 12:00:00") for _ in range(2)]
        errors = [one.communicate(timeout=300)[1].decode() for one in both]
        assert [one.returncode for one in both] == [0, 0], errors
        recorded = [
            one.team
            for teams in season(organisers.challenge).submissions.values()
            for team in teams.values()
            for one in team
            if one.received == "2020-01-20 12:00:00" and one.phase == "progress"
        ]
        assert sorted(recorded) == TEAMS
    else:
        organisers.score("progress", "2020-01-20 12:00:00")
    organisers.check("progress")
    # C withdraws, G is disqualified, H comes late, J within the grace period
    decisions.decide(organisers.challenge, "withdraw", "team C", "at its request", clock=NOW)
    decisions.decide(
        organisers.challenge, "disqualify", "team G", "trained on the test set", phase="progress", clock=NOW
    )
    organisers.out = {"team C": "all", "team G": "progress"}
    organisers.upload("team H", 0.1, 200)
    late = organisers.score("progress", "2020-02-01 01:00:01")
    assert "the phase 'progress' ended" in late["team H"].problems[0]
    organisers.upload("team J", 0.4, 201, "progress")
    shutil.move(organisers.uploads / "team H.parquet", organisers.folder / "late")
    organisers.score("progress", "2020-02-01 01:00:00")
    organisers.check("progress")
    # the final phase: three rounds, one of which is killed at a random moment
    for turn, day in enumerate((10, 15, 20)):
        for place, team in enumerate(TEAMS):
            out = organisers.out.get(team) == "all"
            organisers.upload(
                team, noises[team] * (1.1 - 0.1 * turn), 300 + 20 * turn + place, None if out else "final"
            )
        if in_processes and turn == 1:
            killed = organisers.command("final", f"2020-02-{day} 12:00:00")
            time.sleep(random.uniform(0.3, 4.0))
            killed.send_signal(signal.SIGKILL)
            killed.communicate()
        organisers.score("final", f"2020-02-{day} 12:00:00")
        organisers.check("final")
    organisers.check("progress")
    # an appeal, and labels that were wrong
    decisions.decide(organisers.challenge, "reinstate", "team G", "appeal granted", clock=NOW)
    del organisers.out["team G"]
    organisers.check("progress")
    before = leaderboard(organisers.challenge, phase="final").to_dict()
    count = len(season(organisers.challenge).entries)
    fixed = corrected(organisers.truth)
    found = rescore(
        organisers.challenge, "four labels corrected", corrected=organisers._built("fixed", fixed), clock=NOW
    )
    was, organisers.truth = organisers.expected("final"), fixed
    assert {row["team"]: row["before"] for row in found.moves[1].rows} == was
    assert {row["team"]: row["after"] for row in found.moves[1].rows} == organisers.expected("final")
    assert len(found.utterances) == 4
    for phase in COUNTED:
        organisers.check(phase)
    assert leaderboard(organisers.challenge, phase="final", until=count).to_dict() == before
    return found


def _notice(moved):
    """The notice of a rescoring; whether a rank moved is a function of ranks."""
    return re.sub("same rank|moved, within noise|moved", "", json.dumps(moved.to_dict()))


@pytest.fixture
def without_processes(monkeypatch):
    monkeypatch.setattr("spoofspan.challenge.judging.ScoringProcess", InThisProcess)
    monkeypatch.setattr("spoofspan.challenge.rescoring.ScoringProcess", InThisProcess)


def test_the_board_is_right_at_every_step_of_a_season(tmp_path, without_processes):
    organisers = Organisers(tmp_path / "season", labels())
    run_season(organisers, in_processes=True)
    assert organisers.submitted >= 60
    assert len(season(organisers.challenge).teams) == 12
    left = [one.name for one in organisers.challenge.rglob("*") if one.name.startswith(".")]
    assert left == []


def test_no_public_file_of_a_season_differs_for_two_sets_of_hidden_labels(tmp_path, without_processes):
    """Except in rounded values, and in ranks, which follow from them."""
    found = []
    for seed in (0, 1):
        organisers = Organisers(tmp_path / f"season{seed}", labels(seed), checks=False)
        moved = run_season(organisers, in_processes=False)
        found.append({**public_files(organisers), "rescored": _notice(moved)})
    one, two = found
    assert one.keys() == two.keys()
    for name, text in one.items():
        if name in ("challenge.json", "reco2dur", "README.md", "sample_submission.zip"):
            assert text == two[name]
        assert words_of(text) == words_of(two[name]), name
