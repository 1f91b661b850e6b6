"""The page of a leaderboard in a browser: it opens without an error, sorts, marks a team, keeps it in the address."""

import csv
from pathlib import Path

import pytest
from browsers import OUTSIDE, SCREENS, Opened, assert_accessible, assert_sections_keep_the_view, needs_axe
from challenge_cases import build, labels, scores

import spoofspan as ss
from spoofspan.challenge.judging import score_submissions
from spoofspan.challenge.leaderboard import leaderboard
from spoofspan.challenge.public_page import leaderboard_page

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")]
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
    page.write_text(leaderboard_page(leaderboard(challenge), with_pairs=True), encoding="utf-8")
    return leaderboard(challenge), page


@pytest.fixture
def opened(browser, board):
    made = []

    def open_(address="", **view):
        made.append(Opened(browser, board[1], address, **view))
        return made[-1].page

    yield open_
    for one in made:
        assert one.said == []
        assert all(url.startswith("file:") for url in one.requests)
        one.context.close()


def column(page, name, number):
    rows = page.locator(f'.table[data-name="{name}"] tbody tr')
    return [row.locator("th,td").nth(number).locator("bdi").inner_text() for row in rows.all()]


def test_the_page_has_the_ranks_and_sorts(opened, board):
    page = opened()
    ranks = board[0].ranks
    assert column(page, "leaderboard", 1) == [one.system for one in ranks]
    spans = [f"{one.low}–{one.high}" if one.high > one.low else f"{one.low}" for one in ranks]
    assert column(page, "leaderboard", 5) == spans
    page.locator('.table[data-name="leaderboard"] thead button').nth(1).click()
    assert column(page, "leaderboard", 1) == sorted(one.system for one in ranks)
    assert column(page, "leaderboard-by-attack", 0) == [one.system for one in ranks]
    page.locator("details summary", has_text="pairs").click()
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


def test_links_to_sections_keep_the_team_and_the_theme(browser, board):
    chosen = board[0].ranks[2].system
    view = """[
        document.documentElement.dataset.theme,
        ...[...document.querySelectorAll("tr.chosen, tr.alike")].map((row) => row.className + row.textContent),
    ]"""
    with Opened(browser, board[1]) as found:
        found.page.click("#theme")
        found.page.get_by_role("button", name=chosen, exact=True).first.click()
        last = assert_sections_keep_the_view(found, view)[-1]
        marked = found.page.evaluate(view)
        assert marked[0] == "dark"
        assert len(marked) > 1
        assert "team=" in last
        assert "section=" in last
        with Opened(browser, board[1], "#" + last.partition("#")[2], color_scheme="dark") as again:
            assert again.page.evaluate(view) == marked


@pytest.mark.parametrize("name", ["constructor", "nobody", ""])
def test_a_link_to_a_team_that_is_not_there_marks_none(opened, name):
    page = opened(f"#team={name}")
    assert page.locator("tr.chosen, tr.alike").count() == 0


def test_the_table_is_filtered_saved_and_printed(opened, board, tmp_path):
    page = opened()
    holder = page.locator('.table[data-name="leaderboard"]')
    holder.locator(".filter").fill("team 03")
    assert holder.locator("tbody tr:visible").count() == 1
    with page.expect_download() as saved:
        holder.get_by_text("CSV").click()
    names, row = list(csv.reader(Path(saved.value.path()).read_text(encoding="utf-8").splitlines()))
    assert row[names.index("team")] == "team 03"
    value = next(one.value for one in board[0].ranks if one.system == "team 03")
    assert row[2] == f"{100 * value:.2f}"  # rounded, as it is shown
    holder.locator(".filter").fill("")
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.pdf(path=tmp_path / "board.pdf", format="A4")
    assert (tmp_path / "board.pdf").stat().st_size > 20_000
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_nothing_is_cut_off_on_a_phone_or_on_paper(opened):
    page = opened(viewport={"width": 390, "height": 800}, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(OUTSIDE) == []
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # Chromium leaves buttons out of headings that it repeats on the next page
    assert page.locator("thead button").first.evaluate("one => getComputedStyle(one).display") == "contents"


@needs_axe
@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_an_accessibility_scan_finds_nothing(browser, board, width, scheme):
    assert_accessible(browser, board[1], width, scheme)
