"""The page of a challenge: phases, history, conditions with ranks, and result files; and nothing of the labels more."""

import json
import re

import numpy as np
import pytest
from browsers import OUTSIDE, Opened
from challenge_cases import IDS, SPEAKERS, build, clock, judge_quickly, labels, scores
from command_line import run

import spoofspan as ss
from spoofspan.base.errors import UsageError
from spoofspan.challenge import decisions
from spoofspan.challenge.appeals import history
from spoofspan.challenge.definition import Definition, Phase, PublicPart
from spoofspan.challenge.leaderboard import leaderboard
from spoofspan.challenge.public_page import check_page, public_page

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
PHASES = (Phase("progress", "2027-01-10 00:00:00", "2027-02-01 00:00:00"), Phase("final", "2027-02-02 00:00:00"))
CODEC = {utt: ("opus", "mp3")[i % 2] for i, utt in enumerate(IDS)}
GROUP = {utt: ("low", "high")[i % 3 == 0] for i, utt in enumerate(IDS)}
NOISES = {"alpha": 0.6, "bravo": 0.9, "charlie": 1.2, "delta": 1.6, "echo": 2.0}


def season_in(folder, seed=0):
    """Five teams in two phases; the labels follow from the seed, the uploads do not."""
    folder.mkdir(exist_ok=True)
    by = {"codec": CODEC, "noise": GROUP, "codec,noise": None}
    challenge = build(folder / "challenge", labels(seed), by=by, definition={"phases": PHASES})
    decisions.set_role(challenge, "delta", "baseline", "ours", clock=clock("2027-01-01 00:00:00"))
    decisions.set_role(challenge, "charlie", "anonymous", "asked", clock=clock("2027-01-01 00:00:00"))
    for phase, received in (("progress", "2027-01-15 12:00:00"), ("final", "2027-02-15 12:00:00")):
        for team, noise in NOISES.items():
            ss.write_scores(scores(labels(), noise, len(team)), folder / f"{team}.parquet", force=True)
            judge_quickly(challenge, folder / f"{team}.parquet", phase, received)
    later = clock("2027-02-20 00:00:00")
    (folder / "bravo.parquet").write_bytes(b"PAR1")
    judge_quickly(challenge, folder / "bravo.parquet", "final", "2027-02-16 12:00:00")
    decisions.decide(challenge, "withdraw", "echo", "at its request", clock=later)
    for team in ("alpha", "charlie"):
        decisions.share(challenge, team, clock=later)
    return challenge


@pytest.fixture(scope="module")
def challenge(tmp_path_factory):
    return season_in(tmp_path_factory.mktemp("page") / "season")


def test_conditions_have_ranks_and_cross(challenge):
    board = leaderboard(challenge)
    plain = board.to_dict()
    for by, rows in (
        ("codec", {name: [i for i, utt in enumerate(IDS) if CODEC[utt] == name] for name in ("mp3", "opus")}),
        (
            "codec,noise",
            {
                f"{codec}, {noise}": [i for i, utt in enumerate(IDS) if (CODEC[utt], GROUP[utt]) == (codec, noise)]
                for codec in ("mp3", "opus")
                for noise in ("high", "low")
            },
        ),
    ):
        assert board.names(by) == sorted(rows)
        for name, chosen in rows.items():
            values = {}
            for team in ("alpha", "bravo", "charlie", "delta"):
                given = scores(labels(), NOISES[team], len(team)).take(np.array(chosen))
                shown = "(anonymous 1)" if team == "charlie" else team
                values[shown] = round(ss.range_eer(labels().take(np.array(chosen)), given).value, 4)
                row = next(one for one in (*plain["teams"], *plain["unranked"]) if one["team"] == shown)
                assert row["groups"][by][name]["value"] == values[shown]
            del values["delta"]  # the baseline has no rank
            expected = {team: 1 + sum(other < one for other in values.values()) for team, one in values.items()}
            assert plain["ranks_in_groups"][by][name] == expected


def test_the_history_has_values_and_decisions_and_no_refusal(challenge):
    events = history(challenge)
    text = json.dumps(events)
    assert [one["line"] for one in events] == sorted((one["line"] for one in events), reverse=True)
    assert "echo withdrawn (at its request)" in text
    assert "charlie" not in text
    assert not [one for one in events if one["team"] == "echo" and one["value"] is not None]
    assert sum(one["team"] == "bravo" for one in events) == 2  # its refused upload is not there
    final = next(one for one in events if one["team"] == "alpha" and one["phase"] == "final")
    assert final["value"] == round(ss.range_eer(labels(), scores(labels(), 0.6, 5)).value, 4)


def test_result_files_are_of_teams_that_agreed_under_their_names(challenge, tmp_path, capsys):
    page = tmp_path / "board.html"
    words = ["challenge", "leaderboard", challenge, "--page", page, "--result-files", tmp_path / "files"]
    code, printed = run(words, capsys)
    assert code == 0, printed.err
    assert [one.name for one in (tmp_path / "files").iterdir()] == ["alpha.json"]  # charlie is anonymous
    assert "signatures" not in (tmp_path / "files" / "alpha.json").read_text()
    text = page.read_text("utf-8")
    assert 'href="files/alpha.json"' in text
    assert "charlie" not in text
    assert run(["challenge", "leaderboard", challenge, "--result-files", tmp_path / "x"], capsys)[0] == 2


@pytest.mark.slow
def test_the_page_links_one_that_checks_submissions(challenge, tmp_path, capsys, browser):
    words = ["challenge", "leaderboard", challenge, "--page", tmp_path / "board.html"]
    code, printed = run([*words, "--check-page", tmp_path / "check.html"], capsys)
    assert code == 0, printed.err
    assert 'href="check.html"' in (tmp_path / "board.html").read_text("utf-8")
    good = scores(labels(), 0.6, 5)
    ss.write_scores(good, tmp_path / "good.csv")
    ss.write_scores(good.take(np.arange(1, len(good.utterances))), tmp_path / "short.csv")
    first = good.utterances[0]
    with Opened(browser, tmp_path / "check.html") as opened:
        for file, said in (("good.csv", "Checked without references"), ("short.csv", f"'{first}' has a duration")):
            opened.page.set_input_files("#choose", str(tmp_path / file))
            opened.until(f"document.querySelector('#chosen').textContent.includes('{file}')")
            opened.until(
                "document.querySelector('#numbers').textContent !== '' || !document.querySelector('#problem').hidden"
            )
            assert said in opened.text("#numbers") + opened.text("#problem")
        assert opened.said == []


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        (Definition("c", ("range-eer",), rules={"uncovered": "hold"}), "uncovered=hold"),
        (Definition("c", ("utterance-eer",), submissions="utterance-scores"), "teams submit utterance-scores"),
    ],
)
def test_no_page_checks_under_other_rules(definition, reason):
    with pytest.raises(UsageError, match=reason):
        check_page(PublicPart.of(definition, {"u1": 1.0}))


def words_of(text):
    """Words without numbers, drawings, who is better and letters of groups, which follow from rounded values."""
    shown = re.sub(r'(style|d|points|x[12]?|y[12]?|width|height|title|data-[a-z]+)="[^"]*"', "", text)
    shown = re.sub(r"[-+\u2212]?\d+(?:\.\d+)?|\bnone\b|\bno interval\b|\bto\b", " ", shown)
    return sorted(word for word in re.findall(r"[^\W\d_]{2,}", shown) if not re.fullmatch("[a-h]+", word))


@pytest.mark.slow
def test_the_page_differs_in_rounded_numbers_alone_for_other_labels(tmp_path):
    pages = []
    for seed in (0, 1):
        challenge = season_in(tmp_path / str(seed), seed)
        pages.append(public_page(challenge, leaderboard(challenge)).partition("<body>")[2].partition("<script")[0])
        assert not re.search(r"\d\.\d{5}", pages[-1])
        assert not {*IDS, *SPEAKERS.values()}.intersection(re.findall(r"\w+", pages[-1]))
    assert words_of(pages[0]) == words_of(pages[1])


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_the_screen_and_opens_without_an_error(browser, challenge, width, tmp_path):
    page = tmp_path / "board.html"
    page.write_text(public_page(challenge, leaderboard(challenge)), encoding="utf-8")
    opened = Opened(browser, page, "", viewport={"width": width, "height": 800})
    found = opened.page
    assert found.locator('.table[data-name="phase-progress"] tbody tr').count() == 3
    assert found.locator('.table[data-name="not-ranked"] tbody tr').count() == 1
    found.locator("details summary", has_text="events").click()
    assert found.locator('.table[data-name="history"] tbody tr').count() == len(history(challenge))
    assert found.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert found.evaluate(OUTSIDE) == []
    assert opened.said == []
    opened.context.close()
