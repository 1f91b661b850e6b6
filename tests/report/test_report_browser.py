"""The page in a real browser: it opens from disk, asks for nothing, and shows the library's own numbers."""

import csv
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from browsers import (
    AT_SECTION,
    CURSOR,
    CUT,
    SCREENS,
    Opened,
    assert_accessible,
    assert_sections_keep_the_view,
    needs_axe,
)

import spoofspan as ss
import spoofspan.demo
from spoofspan.formats.sound import wav_bytes
from spoofspan.groups import by_attack
from spoofspan.report.page import PageSettings, page_content, render_page
from spoofspan.report.page.audio import addresses, waveforms
from spoofspan.report.page.scores_page import ScoresPageSettings, scores_page

pytestmark = pytest.mark.slow

HOSTILE = {
    "<img src=x onerror=\"document.title='broken'\">": "markup",
    "</script><script>document.title='broken'</script>": "the end of a script",
    "left\u202eright\u2066": "marks that change the direction of writing",
    "x" * 500: "500 characters",
    "{{ 7 * 7 }}": "a template",
}


@pytest.fixture(scope="module")
def corpus():
    return spoofspan.demo.load()


@pytest.fixture(scope="module")
def page_file(corpus, tmp_path_factory):
    systems = {"fine": corpus.systems[0.02], "coarse": corpus.systems[0.64]}
    column = {utt: f"S{i % 12:02d}" for i, utt in enumerate(corpus.references.utterances)}
    settings = PageSettings(resampling=ss.Resampling(replicates=100), columns={"speaker": column})
    content = page_content(corpus.references, systems, settings)
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render_page(content), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser, page_file):
    found = Opened(browser, page_file)
    yield found
    found.context.close()


def headline(corpus, hop):
    return f"{100 * ss.range_eer(corpus.references, corpus.systems[hop]).value:.2f} %"


def test_it_opens_from_disk_without_a_complaint_or_a_request(opened, page_file, corpus):
    assert opened.said == []
    assert opened.requests == [page_file.as_uri()]
    assert headline(corpus, 0.02) in opened.text(".card >> nth=0")


@pytest.mark.parametrize("share", [0.1, 0.35, 0.6, 0.9])
@pytest.mark.parametrize("system", [0, 1])
def test_the_slider_shows_the_rates_of_the_library(opened, corpus, share, system):
    scores = [corpus.systems[0.02], corpus.systems[0.64]][system]
    page = opened.page
    page.select_option("#system", str(system))
    index = int(share * int(page.get_attribute("#threshold", "max")))
    page.evaluate(
        "i => { const s = document.getElementById('threshold'); s.value = i; s.dispatchEvent(new Event('input')); }",
        index,
    )
    threshold = float(opened.page.get_attribute("#decision .exact", "data-exact"))
    point = ss.error_curve(corpus.references, scores).at(threshold)
    assert opened.text("#rate-fpr") == f"{100 * point.false_positive_rate:.2f} %"
    assert opened.text("#rate-fnr") == f"{100 * point.false_negative_rate:.2f} %"
    measures = ["range-precision", "range-recall", "range-f1"]
    found = ss.evaluate(corpus.references, scores, measures, threshold=threshold)
    for measure in measures:
        assert opened.text(f"#rate-{measure.removeprefix('range-')}") == found[measure].value_text


def test_dragging_in_the_figure_moves_the_threshold_and_the_timelines(opened):
    page = opened.page
    before = opened.text("#decision")
    page.locator("#timelines li canvas").first.scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    drawn = page.evaluate("document.querySelector('#timelines canvas').toDataURL()")
    plot = page.locator("#rates-plot .handle")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 20, steps=4)
    page.mouse.up()
    after = opened.text("#decision")
    assert after != before
    page.locator("#timelines li canvas").first.scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    assert page.evaluate("document.querySelector('#timelines canvas').toDataURL()") != drawn
    page.click("#to-eer")
    assert opened.text("#decision") == before


def test_the_errors_of_a_timeline_are_those_of_the_library(opened, corpus):
    scores = corpus.systems[0.02]
    threshold = float(opened.page.get_attribute("#decision .exact", "data-exact"))
    errors = ss.errors_by_utterance(corpus.references, scores, threshold)
    item = opened.page.locator("#timelines li").first
    item.scroll_into_view_if_needed()
    opened.page.wait_for_timeout(300)
    place = errors.utterances.index(item.locator(".timeline-id").inner_text())
    expected = [errors.false_positive[place] / 1e9, errors.false_negative[place] / 1e9]
    text = item.locator(".quiet").first.inner_text()
    assert f"{expected[0]:.2f} s false positive, {expected[1]:.2f} s false negative" in text


def column_of(table, number):
    cells = table.locator(f"tbody tr:visible > :nth-child({number})").all()
    return [float(cell.get_attribute("data-value")) for cell in cells]


def test_tables_sort_filter_and_leave(browser, page_file):
    opened = Opened(browser, page_file, permissions=["clipboard-read", "clipboard-write"])
    page = opened.page
    page.locator("summary", has_text="Tables").click()
    holder = page.locator(".breakdown:visible .table").last
    head = holder.locator("th button.sort", has_text="error, s")
    head.click()
    assert column_of(holder, 3) == sorted(column_of(holder, 3))
    assert holder.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    head.focus()
    page.keyboard.press("Enter")
    assert column_of(holder, 3) == sorted(column_of(holder, 3), reverse=True)
    holder.locator(".filter").fill("s03")
    assert holder.locator("tbody tr:visible").count() == 1
    with page.expect_download() as saved:
        holder.get_by_text("CSV").click()
    assert saved.value.suggested_filename == "fine-by-speaker.csv"
    names, row = list(csv.reader(Path(saved.value.path()).read_text(encoding="utf-8").splitlines()))
    assert names[:3] == ["speaker", "EER %", "error, s"]
    assert row[0] == "S03"
    assert float(row[2]) == column_of(holder, 3)[0]
    holder.get_by_text("LaTeX").click()
    page.wait_for_timeout(100)
    latex = page.evaluate("navigator.clipboard.readText()")
    assert latex.startswith("\\begin{tabular}{lrrrrrr}")
    assert "EER \\% & error, s" in latex
    assert "S03 & " in latex
    opened.context.close()


def test_utterances_are_searched_filtered_and_sorted(opened, corpus):
    page = opened.page
    page.fill("#find", corpus.references.utterances[-1])
    assert opened.text("#count") == "1 of 1 utterances"
    page.fill("#find", "")
    page.select_option("#group", "worst")
    assert page.locator("#timelines li").count() <= 24
    page.select_option("#group", "")
    page.get_by_label("speaker", exact=True).select_option("S03")
    assert opened.text("#count") == "12 of 14 utterances"
    page.get_by_label("speaker", exact=True).select_option("")
    page.get_by_label("Attack", exact=True).select_option("A02")
    assert opened.text("#count") == "12 of 40 utterances"
    page.get_by_label("Attack", exact=True).select_option("")
    page.select_option("#error", "none")
    scores = corpus.systems[0.02]
    errors = ss.errors_by_utterance(corpus.references, scores, ss.range_eer(corpus.references, scores).threshold)
    none = int(((errors.false_positive + errors.false_negative) == 0).sum())
    assert opened.text("#count").endswith(f"of {none} utterances")
    page.select_option("#error", "")
    for order, wanted in (("error", [0, 1]), ("fp", [0]), ("fn", [1])):
        page.select_option("#order", order)
        totals = []
        for item in page.locator("#timelines li .timeline-head").all()[:4]:
            words = item.inner_text().split()
            amounts = float(words[words.index("threshold") + 1]), float(words[words.index("positive,") + 1])
            totals.append(sum(amounts[one] for one in wanted))
        assert totals == sorted(totals, reverse=True)


def test_a_link_restores_what_was_seen(browser, page_file, corpus):
    first = Opened(browser, page_file)
    page = first.page
    page.locator('.table[data-name="leaderboard"] .pick', has_text="coarse").click()
    page.fill("#typed", "-0.5")
    page.keyboard.press("Enter")
    page.locator("#beside summary").click()
    page.get_by_role("checkbox", name="fine").check()
    wanted = corpus.references.utterances[7]
    page.fill("#find", wanted)
    canvas = page.locator("#timelines canvas").first
    canvas.focus()
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    seen = page.evaluate("location.hash")
    state = [
        "[...document.querySelectorAll('#decision, #rates, .system-block:not([hidden]) h3')].map(e => e.innerText)"
    ]
    state.append(
        "(({ timeline: t }) => [t.id, t.from.toFixed(3), t.to.toFixed(3)])(document.querySelector('#timelines canvas'))"
    )
    state.append("[...spoofspan.timelines.beside]")
    before = [page.evaluate(one) for one in state]
    assert before[1][0] == wanted
    assert f"utterance={wanted}&t=" in seen
    again = Opened(browser, page_file, fragment=seen)
    assert [again.page.evaluate(one) for one in state] == before
    assert again.page.evaluate("location.hash") == seen
    assert again.page.locator("#timelines li.linked .timeline-id").inner_text() == wanted
    # a link typed into an open page is followed too
    again.page.evaluate("location.hash = '#system=fine&utterance=nobody'")
    again.page.wait_for_timeout(100)
    assert again.text(".system-block:visible >> nth=0").startswith("fine")
    assert "nobody" in again.text("#absent")
    assert first.said == again.said == []
    first.context.close()
    again.context.close()


# everything that a reader has chosen, and the numbers that follow from it
VIEW = """[
    document.documentElement.dataset.theme,
    spoofspan.state.current().name,
    document.getElementById("system").value,
    document.getElementById("typed").value,
    ...["decision", "rates", "count"].map((id) => document.getElementById(id)?.innerText),
    ...[...document.querySelectorAll(".system-block:not([hidden])")].map((one) => one.dataset.system),
    document.querySelector("#timelines .timeline-id").textContent,
    [...spoofspan.timelines.beside],
]"""


@pytest.fixture
def chosen(opened):
    """A page on which a reader has chosen what can be chosen."""
    page = opened.page
    page.click("#theme")
    page.select_option("#system", "1")
    page.fill("#typed", "-0.5")
    page.keyboard.press("Enter")
    page.locator("#beside summary").click()
    page.get_by_role("checkbox", name="fine").check()
    page.select_option("#order", "duration")
    return opened


def test_links_to_sections_keep_the_view(chosen, browser, page_file):
    page = chosen.page
    view = page.evaluate(VIEW)
    assert view[:3] == ["dark", "coarse", "1"]
    last = assert_sections_keep_the_view(chosen, VIEW)[-1]
    with Opened(browser, page_file, "#" + last.partition("#")[2], color_scheme="dark") as again:
        again.until(AT_SECTION)
        again.page.select_option("#order", "duration")
        assert again.page.evaluate(VIEW) == view
        again.page.reload()
        again.page.wait_for_selector("html[data-ready=yes]")
        assert again.page.url == last


def test_back_leads_to_another_section_and_keeps_what_was_chosen_since(chosen):
    page = chosen.page
    links = page.locator(".places a")
    links.nth(1).click()
    links.nth(2).click()
    page.select_option("#system", "0")
    page.fill("#typed", "0.25")
    page.keyboard.press("Enter")
    view = page.evaluate(VIEW)
    for step in ("back", "back", "forward"):
        before = page.url
        page.evaluate(f"history.{step}()")
        chosen.until(f"location.href !== {before!r}")
        assert page.evaluate(VIEW) == view
        assert "system=fine&threshold=0.2" in page.url


def test_another_link_shows_its_own_view_and_back_the_one_before(chosen):
    page = chosen.page
    page.locator(".places a").nth(2).click()
    view, address = page.evaluate(VIEW), page.url
    page.evaluate("location.hash = '#system=fine'")
    chosen.until("spoofspan.state.current().name === 'fine'")
    page.locator(".places a").nth(3).click()
    assert page.evaluate("spoofspan.state.current().name") == "fine"
    page.evaluate("history.go(-2)")
    chosen.until(f"location.href === {address!r}")
    assert page.evaluate(VIEW) == view


def test_the_name_of_a_section_alone_keeps_the_view(chosen):
    view = chosen.page.evaluate(VIEW)
    chosen.page.evaluate("location.hash = '#threshold-title'")
    chosen.until("location.hash.includes('section=threshold-title')")
    chosen.until(AT_SECTION)
    assert chosen.page.evaluate(VIEW) == view


def test_the_first_link_of_the_page_skips_to_the_results(chosen):
    view = chosen.page.evaluate(VIEW)
    chosen.page.locator(".skip").first.focus()
    chosen.page.keyboard.press("Enter")
    assert chosen.page.evaluate("document.activeElement.id") == "main"
    assert chosen.page.evaluate(VIEW) == view


def test_the_second_link_skips_to_the_first_timeline(opened):
    for _ in range(2):
        opened.page.keyboard.press("Tab")
    opened.page.keyboard.press("Enter")
    opened.page.keyboard.press("Tab")
    inside = "document.activeElement.closest('#timelines > li') === document.querySelector('#timelines > li')"
    assert opened.page.evaluate(inside)


def test_headings_of_a_table_are_one_stop_and_arrow_keys_lead_on(opened):
    page = opened.page
    heads = page.locator('[data-name="leaderboard"] th button.sort')
    assert heads.evaluate_all("all => all.map(one => one.tabIndex)") == [0] + [-1] * (heads.count() - 1)
    heads.first.focus()
    page.keyboard.press("ArrowRight")
    assert heads.nth(1).evaluate("one => [document.activeElement === one, one.tabIndex]") == [True, 0]
    assert heads.first.evaluate("one => one.tabIndex") == -1


def test_a_click_on_a_condition_shows_its_utterances(opened, corpus):
    page = opened.page
    row = page.locator("#multiples .row", has_text="A02")
    row.hover()
    fine = by_attack(corpus.references, corpus.systems[0.02])
    value = next(one.measurement.value for one in fine.groups if one.name == "A02")
    assert f"fine: {100 * value:.2f} %" in opened.text(".tip")
    row.click()
    assert page.get_by_label("Attack", exact=True).input_value() == "A02"
    assert opened.text("#count") == "12 of 40 utterances"
    page.locator("#multiples .row", has_text="under 0.1 s").click()
    assert page.get_by_label("Attack", exact=True).input_value() == ""  # one condition at a time
    assert page.get_by_label("Range length", exact=True).input_value() == "under 0.1 s"
    lengths = corpus.references.range_durations[corpus.references.labels == 1]
    short = len(set(spoofed_utterances(corpus.references)[lengths < 100_000_000]))
    assert opened.text("#count") == f"12 of {short} utterances"
    assert opened.said == []


def test_a_flipped_system_leaves_the_dots_of_the_others_apart(browser, corpus, tmp_path):
    scores = corpus.systems[0.02]
    flipped = ss.Scores.from_columns(scores.utterances, scores.offsets, -scores.values, hop=0.02, higher=scores.higher)
    systems = {"fine": scores, "coarse": corpus.systems[0.64], "flipped": flipped}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.SpoofspanWarning)  # an EER over 50 %
        content = page_content(corpus.references, systems, PageSettings(resampling=ss.Resampling(), timelines=2))
    path = tmp_path / "flipped.html"
    path.write_text(render_page(content), encoding="utf-8")
    with Opened(browser, path) as found:
        row = found.page.locator("#multiples .row", has_text="A01")
        places = row.locator("circle").evaluate_all("all => all.map((one) => Number(one.getAttribute('cx')))")
        assert len(places) == 2
        assert max(places) - min(places) > 100
        assert row.locator("path.dot").count() == 1
        assert "90" not in found.page.locator("#det text").all_text_contents()  # a tick of the DET curve's axes
        found.page.select_option("#system", label="flipped")
        assert "90" in found.page.locator("#det text").all_text_contents()
        assert found.said == []


def spoofed_utterances(references):
    rows = np.repeat(np.arange(len(references)), np.diff(references.offsets))
    return rows[references.labels == 1]


def test_the_pointer_reads_the_curves(opened):
    opened.page.locator("#rates-plot").scroll_into_view_if_needed()
    box = opened.page.locator("#rates-plot .handle").bounding_box()
    opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    assert "FPR" in opened.text(".tip")
    assert "spoof iff score <" in opened.text(".tip")
    crosses = "[...document.querySelectorAll('.cross')].map(one => Boolean(one.getAttribute('d')))"
    assert opened.page.evaluate(crosses) == [True, True]  # the same operating point in both figures
    opened.page.mouse.move(2, 2)
    assert opened.page.locator(".tip").is_hidden()
    assert opened.page.evaluate(crosses) == [False, False]


def test_the_theme_is_remembered(browser, page_file):
    with Opened(browser, page_file, color_scheme="light") as found:
        found.page.click("#theme")
        found.page.reload()
        found.page.wait_for_selector("html[data-ready=yes]")
        assert found.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_wheel_and_brush_show_a_part(opened):
    page = opened.page
    canvas = page.locator("#timelines canvas").first
    canvas.scroll_into_view_if_needed()
    page.wait_for_timeout(100)
    box = canvas.bounding_box()
    left, duration = canvas.evaluate("({ timeline }) => [timeline.left, timeline.duration]")
    middle = box["x"] + left + (box["width"] - left) / 2
    page.mouse.move(middle, box["y"] + 30)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -50)
    page.keyboard.up("Control")
    start, end = canvas.evaluate("({ timeline }) => [timeline.from, timeline.to]")
    assert end - start == pytest.approx(duration * np.exp(-0.5), rel=0.01)
    assert (start + end) / 2 == pytest.approx(duration / 2, rel=0.02)
    page.keyboard.press("Escape")
    canvas.dblclick()
    page.keyboard.down("Shift")
    page.mouse.move(middle, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 30, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    start, end = canvas.evaluate("({ timeline }) => [timeline.from, timeline.to]")
    assert (start, end) == (pytest.approx(duration / 2, rel=0.02), pytest.approx(duration, rel=0.02))
    assert opened.said == []


INK = """one => {
    const { timeline } = one, pen = one.getContext("2d"), scale = one.height / one.clientHeight;
    const left = Math.round(timeline.left * scale), width = one.width - left;
    // the lane of errors ends a gap of twice 5 and the axis of 20 above the bottom; it is 10 high, above its line of 1
    const bottom = Math.round((one.clientHeight - 31) * scale), height = Math.round(10 * scale);
    const pixels = pen.getImageData(left, bottom - height, width, height).data;
    let inked = 0;
    for (let i = 3; i < pixels.length; i += 4) inked += pixels[i] / 255;
    return inked / (pixels.length / 4);
}"""


@pytest.mark.slow  # ten minutes of speech
def test_ink_is_as_large_as_the_error(browser, tmp_path):
    """Isolated wrong frames of 20 ms in ten minutes are a fifteenth of a pixel each."""
    rng = np.random.default_rng(3)
    frames = 30_000
    ranges = [(0.0, 300.0, "bonafide"), (300.0, 600.0, "spoof")]
    references = ss.References.from_ranges({"long": ranges, "again": ranges})
    right = np.repeat(np.float32([1.0, -1.0]), frames // 2)
    wrong = rng.permutation(np.arange(0, frames, 8))[:411]  # 1.37 %, none beside another
    values = right.copy()
    values[wrong] *= -1
    scores = ss.Scores.from_frames({"long": values, "again": values}, hop=0.02, higher="bonafide")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.SpoofspanWarning)
        content = page_content(references, {"ours": scores}, PageSettings(resampling=ss.Resampling(replicates=10)))
    path = tmp_path / "long.html"
    path.write_text(render_page(content), encoding="utf-8")
    with Opened(browser, path, viewport={"width": 1400, "height": 900}, device_scale_factor=2) as found:
        canvas = found.page.locator("#timelines canvas").first
        canvas.scroll_into_view_if_needed()
        found.page.wait_for_timeout(200)
        assert 411 / frames / 1.5 < canvas.evaluate(INK) < 1.5 * 411 / frames


def test_sections_of_a_page_without_references_keep_the_view(browser, corpus, tmp_path):
    path = tmp_path / "scores.html"
    systems = {"fine": corpus.systems[0.02], "coarse": corpus.systems[0.64]}
    settings = ScoresPageSettings("Scores", {"fine": 0.387, "coarse": 0.1})
    path.write_text(scores_page(systems, settings), encoding="utf-8")
    with Opened(browser, path) as found:
        found.page.click("#theme")
        found.page.select_option("#system", "1")
        found.page.fill("#typed", "-0.5")
        found.page.keyboard.press("Enter")
        assert_sections_keep_the_view(found, VIEW)


def test_systems_side_by_side_share_their_time(opened):
    page = opened.page
    canvas = page.locator("#timelines canvas").first
    canvas.scroll_into_view_if_needed()
    low = canvas.bounding_box()["height"]
    page.locator("#beside summary").click()
    page.get_by_role("checkbox", name="coarse").check()
    page.wait_for_timeout(100)
    assert canvas.bounding_box()["height"] > 1.5 * low
    page.get_by_role("checkbox", name="coarse").uncheck()
    page.wait_for_timeout(100)
    assert canvas.bounding_box()["height"] == low


def test_a_threshold_has_four_digits_and_all_when_it_is_copied(browser, page_file, corpus):
    opened = Opened(browser, page_file, permissions=["clipboard-read", "clipboard-write"])
    page = opened.page
    threshold = ss.range_eer(corpus.references, corpus.systems[0.02]).threshold
    assert page.locator(".card:visible .exact").first.inner_text() == f"{threshold:.4g}".replace("-", "\u2212")
    page.evaluate("getSelection().selectAllChildren(document.querySelector('.card .exact').parentElement)")
    page.keyboard.press("Control+c")
    assert page.evaluate("navigator.clipboard.readText()").split()[-1] == str(threshold)
    opened.context.close()


def test_the_det_curve_is_square_with_its_diagonal_and_every_eer(opened, corpus):
    page = opened.page
    frame = page.locator("#det .frame")
    assert frame.get_attribute("width") == frame.get_attribute("height")
    assert page.locator("#det .diagonal").count() == 1
    labels = page.locator("#det .label").all_text_contents()
    for hop, name in ((0.02, "fine"), (0.64, "coarse")):
        assert any(name in label and headline(corpus, hop) in label for label in labels)


def test_every_system_has_the_same_cards(opened):
    names = []
    for number in ("0", "1"):
        opened.page.select_option("#system", number)
        names.append(opened.page.locator(".card-name:visible").all_inner_texts())
    assert names[0] == names[1] == ["Range EER", "Point EER, 20 ms", "Point EER, 640 ms", "Utterance EER"]
    assert opened.page.locator(".card-name").first.get_attribute("title") == "range-eer"


def test_zooming_with_the_keyboard(opened):
    canvas = opened.page.locator("#timelines canvas").first
    canvas.scroll_into_view_if_needed()
    canvas.focus()
    opened.page.keyboard.press("+")
    width = canvas.evaluate("({ timeline }) => (timeline.to - timeline.from) / timeline.duration")
    assert width == pytest.approx(0.5)
    opened.page.keyboard.press("ArrowRight")
    assert canvas.evaluate("({ timeline }) => timeline.from") > 0
    opened.page.keyboard.press("0")
    assert canvas.evaluate("({ timeline }) => timeline.from") == 0


def test_the_system_the_theme_and_the_print_view(opened, corpus):
    page = opened.page
    assert opened.text(".card:visible .card-value >> nth=0") == headline(corpus, 0.02)
    page.select_option("#system", "1")
    assert opened.text(".card:visible .card-value >> nth=0") == headline(corpus, 0.64)
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.get_attribute("#theme", "aria-pressed") == "true"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.emulate_media(media="print")
    assert page.locator(".controls:visible, .table-tools:visible").count() == 0
    assert page.locator(".card:visible").count() >= 2
    assert len(page.pdf()) > 10_000
    assert opened.said == []


def test_print_repeats_no_screen_and_cuts_no_table(browser, page_file):
    opened = Opened(browser, page_file, viewport={"width": 720, "height": 1000})
    opened.page.emulate_media(media="print")
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 720
    assert opened.page.evaluate(CUT) == 0
    assert opened.page.locator("thead:visible").count() == 1  # the leaderboard; tables by condition are closed
    assert opened.page.locator("#multiples svg:visible").count() == 5
    opened.context.close()


def test_names_of_many_systems_stand_beside_their_curves_on_paper(browser, corpus, tmp_path):
    coarse, rng = corpus.systems[0.64], np.random.default_rng(1)
    systems = {
        f"system {number}": replace(coarse, values=coarse.values + rng.normal(0, 0.1, coarse.values.size))
        for number in range(13)
    }
    settings = PageSettings(resampling=ss.Resampling(), timelines=0)
    path = tmp_path / "many.html"
    path.write_text(render_page(page_content(corpus.references, systems, settings)), encoding="utf-8")
    with Opened(browser, path) as found:
        found.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        found.page.set_viewport_size({"width": 695, "height": 1000})
        found.page.emulate_media(media="print")
        drawn = found.page.locator("#det svg").bounding_box()
        assert drawn["height"] < drawn["width"]


def test_what_is_drawn_keeps_its_shape_on_paper(browser, page_file):
    with Opened(browser, page_file, viewport={"width": 1400, "height": 1000}) as opened:
        opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        opened.page.set_viewport_size({"width": 695, "height": 1000})
        opened.page.emulate_media(media="print")
        stretched = opened.page.locator("canvas.timeline").evaluate_all(
            "all => all.map((one) => one.width / one.height / (one.clientWidth / one.clientHeight))"
        )
        assert len(stretched) > 3
        assert stretched == pytest.approx([1.0] * len(stretched), rel=0.02)
        assert opened.page.locator("details:visible").count() == 0
        opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert opened.page.locator(".paper").count() == 0


def test_the_dark_scheme_is_followed(browser, page_file):
    dark = Opened(browser, page_file, color_scheme="dark")
    assert dark.page.evaluate("document.documentElement.dataset.theme") == "dark"
    dark.context.close()


def test_nothing_sticks_out_on_a_phone(browser, page_file):
    phone = Opened(browser, page_file, viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert phone.page.evaluate(CUT) == 0
    phone.context.close()


def test_the_signature_can_be_copied(browser, page_file, corpus):
    opened = Opened(browser, page_file, permissions=["clipboard-read", "clipboard-write"])
    opened.page.locator("summary:visible", has_text="signatures").first.click()
    opened.page.locator(".copy:visible").first.click()
    opened.page.wait_for_timeout(200)
    expected = str(ss.range_eer(corpus.references, corpus.systems[0.02]).signature)
    assert opened.page.locator(".copy:visible").first.get_attribute("data-copy") == expected
    assert opened.page.locator(".copy:visible").first.inner_text().startswith("Copied")
    opened.context.close()


def test_hostile_names_are_inert_and_legible(browser, tmp_path):
    rng = np.random.default_rng(0)
    ranges = {utt: [(0.0, 0.5, "bonafide"), (0.5, 1.0, "spoof", f"<b>{i}</b>")] for i, utt in enumerate(HOSTILE)}
    references = ss.References.from_ranges(ranges)
    frames = {utt: rng.normal(size=50).astype(np.float32) for utt in HOSTILE}
    names = ["<i>a</i>", "\u05e9\u05dc\u05d5\u05dd", "long" * 40]
    systems = {name: ss.Scores.from_frames(frames, hop=0.02, higher="bonafide") for name in names}
    column = dict.fromkeys(HOSTILE, "<script>document.title='broken'</script>")
    settings = PageSettings("<h1>&amp;", resampling=ss.Resampling(replicates=50), columns={"<u>": column})
    path = tmp_path / "hostile.html"
    with pytest.warns(ss.SpoofspanWarning):
        path.write_text(render_page(page_content(references, systems, settings)), encoding="utf-8")
    opened = Opened(browser, path)
    assert opened.said == []
    assert opened.requests == [path.as_uri()]
    assert opened.page.title() == "<h1>&amp;"
    shown = opened.page.locator(".timeline-id").all_inner_texts()
    assert set(shown) == {utt.encode("unicode_escape").decode() if "\u202e" in utt else utt for utt in HOSTILE}
    assert opened.page.locator("img, b, i, u").count() == 0
    labels = opened.page.locator("#det .label").evaluate_all("all => all.map((one) => one.firstChild.data)")
    assert sum(one.startswith("\u2068\u05e9\u05dc\u05d5\u05dd\u2069 ") for one in labels) == 1
    for width in (1200, 640, 390):
        opened.page.set_viewport_size({"width": width, "height": 900})
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.page.evaluate(CUT) == 0
    opened.context.close()


@needs_axe
@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_an_accessibility_scan_finds_nothing(browser, page_file, width, scheme):
    assert_accessible(browser, page_file, width, scheme)


# ---------------------------------------------------------------- sound


@pytest.fixture(scope="module")
def heard_file(corpus, tmp_path_factory):
    """A page with the sound of some utterances, linked or put into it."""
    folder = tmp_path_factory.mktemp("heard")
    (folder / "wav").mkdir()
    some = np.arange(0, len(corpus.references), 24)
    shown = [corpus.references.utterances[place] for place in some]
    durations = dict(zip(corpus.references.utterances, corpus.references.durations, strict=True))
    for utt in shown:
        times = np.arange(int(durations[utt] / 1e9 * 16_000)) / 16_000
        (folder / "wav" / f"{utt}.wav").write_bytes(wav_bytes(0.3 * np.sin(2 * np.pi * 440 * times)))
    references = corpus.references.take(some)
    systems = {name: corpus.systems[hop].take(some) for name, hop in (("fine", 0.02), ("coarse", 0.64))}
    for name, embed in (("linked.html", False), ("inside.html", True)):
        sound = addresses(folder / "wav", shown, folder / name, embed=embed)
        settings = PageSettings(
            resampling=ss.Resampling(replicates=20), audio=sound, waveforms=waveforms(folder / "wav", shown)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ss.SpoofspanWarning)  # few utterances
            content = page_content(references, systems, settings)
        (folder / name).write_text(render_page(content), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["linked.html", "inside.html"])
def test_a_click_is_heard_from_there_and_the_line_follows(browser, heard_file, name):
    with Opened(browser, heard_file / name) as found:
        page = found.page
        item = page.locator("#timelines li").first
        canvas, audio = item.locator("canvas"), item.locator("audio")
        canvas.scroll_into_view_if_needed()
        page.wait_for_timeout(100)
        assert canvas.evaluate(CURSOR) == pytest.approx(0, abs=0.05)
        box = canvas.bounding_box()
        left, duration = canvas.evaluate("({ timeline }) => [timeline.left, timeline.duration]")
        page.mouse.click(box["x"] + left + 0.5 * (box["width"] - left), box["y"] + 30)
        middle = audio.evaluate("one => one.currentTime")
        assert middle == pytest.approx(duration / 2, abs=0.02 * duration)
        assert canvas.evaluate(CURSOR) == pytest.approx(middle, abs=0.02 * duration)
        assert audio.evaluate("one => one.paused")
        canvas.focus()
        page.keyboard.press("Space")
        found.until(f"document.querySelector('#timelines audio').currentTime > {middle + 0.2}")
        page.keyboard.press("Space")
        assert audio.evaluate("one => one.paused")
        page.wait_for_timeout(100)
        stopped = audio.evaluate("one => one.currentTime")
        assert canvas.evaluate(CURSOR) == pytest.approx(stopped, abs=0.02 * duration)
        # in a part that is looked at, the same place
        page.keyboard.press("+")
        assert canvas.evaluate(CURSOR) == pytest.approx(stopped, abs=0.02 * duration)
        assert found.said == []


def test_systems_one_above_the_other_move_together(browser, heard_file):
    """Both have one canvas: its time axis, its zoom and the line of the sound are those of both."""
    with Opened(browser, heard_file / "inside.html", "#beside=coarse") as found:
        page = found.page
        canvas = page.locator("#timelines canvas").first
        canvas.scroll_into_view_if_needed()
        page.wait_for_timeout(100)
        before = canvas.evaluate("one => one.toDataURL()")
        canvas.focus()
        page.keyboard.press("+")
        page.keyboard.press("ArrowRight")
        assert canvas.evaluate("one => one.toDataURL()") != before
        start, end = canvas.evaluate("({ timeline }) => [timeline.from, timeline.to]")
        shown = page.evaluate("new URLSearchParams(location.hash.slice(1)).get('t')")
        assert shown == f"{round(start, 3):g}-{round(end, 3):g}"
        canvas.dblclick()
        assert canvas.evaluate("({ timeline }) => timeline.to - timeline.from == timeline.duration")
        assert found.said == []


# ---------------------------------------------------------------- full size


@pytest.fixture(scope="module")
def full_size(tmp_path_factory):
    """As many utterances as the evaluation set of PartialSpoof has, of their mean length, and few replicates."""
    utterances, frames, attacks = 71_237, 175, 13
    rng = np.random.default_rng(0)
    ids = [f"CON_E_{i:07d}" for i in range(utterances)]
    # bona fide, spoof, bona fide
    edges = np.sort(rng.integers(1, frames * 20, (utterances, 2), dtype=np.int64) * 1_000_000, axis=1)
    edges[:, 1] += 1_000_000
    end = frames * 20_000_000 + 1_000_000
    bounds = np.column_stack((np.zeros(utterances, np.int64), edges, np.full(utterances, end)))
    kinds = [kind for i in range(utterances) for kind in (None, f"A{i % attacks:02d}", None)]
    references = ss.References.from_columns(
        ids,
        np.full(utterances, end),
        np.arange(utterances + 1) * 3,
        bounds[:, :-1].ravel(),
        bounds[:, 1:].ravel(),
        np.tile([False, True, False], utterances),
        attacks=kinds,
    )
    middles = (np.arange(frames) * 2 + 1) * 10_000_000
    values = rng.standard_normal((utterances, frames), dtype=np.float32)
    values += np.where((middles > edges[:, :1]) & (middles < edges[:, 1:]), np.float32(-1.2), np.float32(1.2))
    offsets = np.arange(utterances + 1) * frames
    scores = ss.Scores.from_columns(ids, offsets, values.ravel(), hop=0.02, higher="bonafide")
    content = page_content(references, {"system": scores}, PageSettings(resampling=ss.Resampling(replicates=40)))
    path = tmp_path_factory.mktemp("full") / "report.html"
    path.write_text(render_page(content), encoding="utf-8")
    return path


def test_a_page_of_full_size_is_small_and_opens_at_once(browser, full_size):
    assert full_size.stat().st_size < 5_000_000
    opened = Opened(browser, full_size)
    assert opened.cpu_seconds() < 2
    assert opened.said == []
    while opened.page.locator("#more").is_visible():
        opened.page.click("#more")
    assert opened.page.locator("#timelines > li").count() == 240
    assert "71,237" in opened.text("body")
    assert opened.page.locator("tr", has_text="A12").count() == 1
    opened.context.close()


@pytest.mark.parametrize("width", [390, 1400])
def test_a_page_without_references_shows_what_is_called(browser, corpus, tmp_path, width):
    scores = corpus.systems[0.02]
    path = tmp_path / "scores.html"
    path.write_text(scores_page({"ours": scores}, ScoresPageSettings("Scores", {"ours": 0.387})), encoding="utf-8")
    found = Opened(browser, path, viewport={"width": width, "height": 900})
    assert (found.said, found.requests) == ([], [path.as_uri()])
    assert found.page.evaluate("document.documentElement.scrollWidth") == width
    assert found.text("#share") == f"{np.mean(scores.values < 0.387):.2%}".replace("%", " % of all time")
    assert "called spoof at this threshold" in found.text("#timelines li >> nth=0")
    assert "false" not in found.text("#main")
    found.page.fill("#typed", "-5")
    found.page.press("#typed", "Enter")
    assert found.text("#share") == "0.00 % of all time"
    found.context.close()


@pytest.mark.parametrize("iou", [0.5, 0.2])
def test_timelines_show_the_events_that_the_measure_counts(browser, corpus, tmp_path, iou):
    measure = f"event-f1@iou={iou}"
    settings = PageSettings(
        resampling=ss.Resampling(replicates=40), measures=[measure], timelines=len(corpus.references)
    )
    scores = corpus.systems[0.02]
    path = tmp_path / "report.html"
    path.write_text(render_page(page_content(corpus.references, {"fine": scores}, settings)), encoding="utf-8")
    opened = Opened(browser, path)
    counts = opened.page.evaluate(
        "spoofspan.timelines.all.map((one) => spoofspan.timelines.eventsOf(one))"
        ".map(({ events, false: wrong }) => [events.filter((one) => one.found).length, events.length, wrong.length])"
    )
    found, events, wrong = np.sum(counts, axis=0).tolist()
    parts = ss.evaluate(corpus.references, scores, [measure])[measure].parts
    assert opened.said == []
    assert (found, events, wrong) == (parts["matched"], parts["expected"], parts["predicted"] - parts["matched"])
    opened.context.close()
