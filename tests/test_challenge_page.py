"""The page of a leaderboard in a browser: it opens without an error, sorts, marks a team, keeps it in the address."""

import shutil

import pytest
from challenge_cases import build, labels, scores

import spoofspan as ss
from spoofspan.challenge.judging import score_submissions
from spoofspan.challenge.leaderboard import leaderboard
from spoofspan.challenge.leaderboard_page import leaderboard_page

playwright = pytest.importorskip("playwright.sync_api")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is found"),
    pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"),
]
TEAMS = 12


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    folder = tmp_path_factory.mktemp("board")
    challenge = build(folder / "challenge", cluster=None, clusters=None)
    (folder / "submissions").mkdir()
    for team in range(TEAMS):
        ss.write_scores(scores(labels(), 0.6 + 0.15 * team, team), folder / "submissions" / f"team {team:02d}.parquet")
    score_submissions(challenge, folder / "submissions")
    page = folder / "leaderboard.html"
    page.write_text(leaderboard_page(leaderboard(challenge)), encoding="utf-8")
    return leaderboard(challenge), page


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def opened(browser, board):
    said = []

    def open_(address="", **view):
        page = browser.new_context(**view).new_page()
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
        page.on("request", lambda request: None if request.url.startswith("file:") else said.append(request.url))
        page.goto(board[1].as_uri() + address)
        page.wait_for_selector("html[data-ready=yes]")
        return page

    yield open_
    assert said == []


def column(page, name, number):
    rows = page.locator(f'.table[data-name="{name}"] tbody tr')
    return [row.locator("th,td").nth(number).locator("bdi").inner_text() for row in rows.all()]


def test_the_page_has_the_ranks_and_sorts(opened, board):
    page = opened()
    ranks = board[0].ranks
    assert column(page, "leaderboard", 1) == [one.system for one in ranks]
    assert column(page, "leaderboard", 6) == [one.groups for one in ranks]
    page.locator('.table[data-name="leaderboard"] thead button').nth(1).click()
    assert column(page, "leaderboard", 1) == sorted(one.system for one in ranks)
    assert column(page, "leaderboard-by-kind", 0) == [one.system for one in ranks]
    page.locator("details summary").click()
    assert page.locator('.table[data-name="pairs"] tbody tr').count() == TEAMS * (TEAMS - 1) // 2


def test_a_team_that_is_chosen_marks_those_it_is_not_told_apart_from(opened, board):
    page = opened()
    letters = {one.system: set(one.groups) for one in board[0].ranks}
    chosen = board[0].ranks[2].system
    page.get_by_role("button", name=chosen, exact=True).first.focus()
    page.keyboard.press("Enter")
    assert page.url.endswith(f"#team={chosen.replace(' ', '+')}")
    again = opened("#" + page.url.partition("#")[2])
    for one in (page, again):
        marked = set(one.locator('.table[data-name="leaderboard"] tr.alike th bdi').all_inner_texts())
        assert marked == {team for team in letters if team != chosen and letters[team] & letters[chosen]}
        assert one.locator('.table[data-name="leaderboard"] tr.chosen th bdi').all_inner_texts() == [chosen]
    page.get_by_role("button", name=chosen, exact=True).first.click()
    assert page.locator("tr.chosen").count() == 0


def test_nothing_is_cut_off_on_a_phone_or_on_paper(opened):
    page = opened(viewport={"width": 390, "height": 800}, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    outside = """[...document.querySelectorAll("main *, nav *")].filter((one) => {
        const box = one.getBoundingClientRect();
        const elsewhere = one.closest(".places, .unseen, thead, details");
        return box.width > 1 && !elsewhere && (box.left < -1 || box.right > innerWidth + 1);
    }).map((one) => one.outerHTML.slice(0, 80))"""
    assert page.evaluate(outside) == []
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
