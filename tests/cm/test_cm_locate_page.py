"""The page of a location: small, self-contained, with sound; and tried in a real browser."""

import json
import re
import shutil

import numpy as np
import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")
soundfile = pytest.importorskip("soundfile", reason="soundfile is not installed: pip install 'spoofspan[cm]'")

from browsers import CURSOR, SCREENS, Opened, assert_accessible, assert_sections_keep_the_view, needs_axe  # noqa: E402
from cm_corpora import recording, write_wav  # noqa: E402

from spoofspan.cm import location_page  # noqa: E402
from spoofspan.cm.locate import PAGE, locate  # noqa: E402
from spoofspan.report.page.rendering import unpacked  # noqa: E402

RATE = 16_000


@pytest.fixture(scope="module")
def sounds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sounds")
    rng = np.random.default_rng(8)
    write_wav(folder / "one.wav", recording(rng, 8.0, [(3.0, 4.5), (6.0, 7.0)]))
    write_wav(folder / "two.wav", recording(rng, 2.0))
    k = np.arange(3 * RATE) / RATE
    write_wav(folder / "music.wav", 0.2 * np.sin(2 * np.pi * 440 * k))
    (folder / "broken.wav").write_bytes(b"no sound")
    return folder


@pytest.fixture(scope="module")
def page(trained, sounds):
    found = locate(sounds, trained[0], keep=PAGE)
    found.write(sounds / "page.html")
    return sounds / "page.html"


def data_of(page):
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def test_the_page_says_everything_without_a_script(page):
    text = page.read_text(encoding="utf-8")
    for words in ("does not sound like what the model was trained on", "cannot be read as sound", "attacks heard"):
        assert words in text
    assert "http" not in re.sub(r"data:[^\"]*", "", text).replace("http-equiv", "").replace("http://www.w3.org", "")


def test_several_recordings_have_an_overview_that_leads_to_each(page, trained, sounds, tmp_path):
    text = page.read_text(encoding="utf-8")
    overview = text[text.index('id="recordings-title"') : text.index("</table>")]
    leads = dict(re.findall(r'<a href="#(recording-\d+)"><bdi>(\w+)</bdi></a>', overview))
    assert sorted(leads.values()) == ["broken", "music", "one", "two"]
    for place, name in leads.items():
        assert f'<h2 id="{place}" tabindex="-1"><bdi>{name}</bdi>' in text
    assert "no verdict" in overview
    assert "unlike the training" in overview
    locate(sounds / "one.wav", trained[0], keep=PAGE).write(tmp_path / "one.html")
    assert "recordings-title" not in (tmp_path / "one.html").read_text(encoding="utf-8")


def test_sound_in_the_page_is_what_was_heard(page, sounds, tmp_path):
    import base64

    for one in data_of(page)["recordings"]:
        kind, _, content = one["sound"].partition(";base64,")
        assert kind == "data:audio/flac"
        (tmp_path / "out.flac").write_bytes(base64.b64decode(content))
        played, rate = soundfile.read(tmp_path / "out.flac", dtype="int16")
        assert rate == RATE
        assert (played == soundfile.read(sounds / f"{one['id']}.wav", dtype="int16")[0]).all()


def test_the_page_draws_strength_as_the_tables_state_it(page, trained, sounds):
    location = locate(sounds / "one.wav", trained[0])
    (drawn,) = [one for one in data_of(page)["recordings"] if one["id"] == "one"]
    strengths = unpacked(drawn["values"])
    assert data_of(page)["threshold"] == -location.threshold == 0
    for found in location["one"].ranges:
        inside = strengths[round(found.start / drawn["hop"]) : round(found.end / drawn["hop"])]
        assert inside.mean() == pytest.approx(found.strength, abs=0.15)
    assert "suspected if the strength is over 0" in page.read_text(encoding="utf-8")


def test_long_sound_is_linked_and_the_page_stays_small(trained, sounds, tmp_path, monkeypatch):
    monkeypatch.setattr(location_page, "SOUND_BYTES", 1000)
    (tmp_path / "deep er").mkdir()
    locate(sounds / "one.wav", trained[0], keep=PAGE).write(tmp_path / "deep er" / "page.html")
    sound = data_of(tmp_path / "deep er" / "page.html")["recordings"][0]["sound"]
    assert sound.startswith("..")
    assert sound.endswith("/one.wav")
    noise = np.random.default_rng(0).normal(0, 0.2, 12 * 60 * RATE)
    write_wav(tmp_path / "long.wav", noise)
    monkeypatch.undo()
    locate(tmp_path / "long.wav", trained[0], keep=PAGE).write(tmp_path / "long.html")
    assert data_of(tmp_path / "long.html")["recordings"][0]["sound"] == "long.wav"
    assert (tmp_path / "long.html").stat().st_size < 3_000_000
    shutil.rmtree(tmp_path)


def test_ids_are_text_wherever_they_stand(trained, sounds, tmp_path):
    evil = "</script><img src=x onerror=alert(1)>"
    (tmp_path / "all.lst").write_text(f"{evil.replace(' ', '_')} {sounds / 'one.wav'}\n")
    locate(tmp_path / "all.lst", trained[0], keep=PAGE).write(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "</script><img" not in text
    assert data_of(tmp_path / "page.html")["recordings"][0]["id"] == evil.replace(" ", "_")


# ---------------------------------------------------------------- in a browser


def opened(browser, page, width, scheme="light"):
    return Opened(browser, page, viewport={"width": width, "height": 900}, color_scheme=scheme)


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_the_page_fits_and_draws(browser, page, width, scheme):
    found = opened(browser, page, width, scheme)
    tab = found.page
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    shades = """(canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const found = new Set();
        for (let i = 0; i < data.length; i += 4) found.add(data[i] + "," + data[i + 1] + "," + data[i + 2]);
        return found.size;
    }"""
    for canvas in tab.locator(".picture canvas").all():
        assert canvas.evaluate(shades) > 40
    assert found.said == []
    found.context.close()


def test_a_range_is_shown_and_played(browser, page):
    with opened(browser, page, 1400) as found:
        tab = found.page
        found.until("[...document.querySelectorAll('audio')].every((one) => one.readyState >= 1)")
        lengths = tab.evaluate("[...document.querySelectorAll('audio')].map((one) => one.duration)")
        assert lengths == pytest.approx([3.0, 8.0, 2.0], abs=0.01)
        recording = tab.locator(".recording", has_text="one")
        pick, audio, canvas = recording.locator(".pick").first, recording.locator("audio"), recording.locator("canvas")
        start, end = (float(recording.locator("tbody tr").first.locator("th,td").nth(i).inner_text()) for i in (0, 1))
        pick.click()
        found.until(f"[...document.querySelectorAll('audio')].some((one) => one.currentTime > {start + 0.05})")
        # the line follows what is heard; then the end of the range stops it
        assert start <= canvas.evaluate(CURSOR) <= end + 0.2
        found.until("[...document.querySelectorAll('audio')].every((one) => one.paused)")
        stopped = audio.evaluate("one => one.currentTime")
        assert end <= stopped < end + 0.5
        assert canvas.evaluate(CURSOR) == pytest.approx(stopped, abs=0.05)
        beside = recording.get_by_label("not suspected, to compare").first
        beside.click()
        begins = float(beside.inner_text())
        assert begins <= audio.evaluate("one => one.currentTime") <= begins + 1
        assert not start <= begins < end
        assert found.said == []


def test_links_of_the_bar_lead_to_their_sections(browser, page):
    with opened(browser, page, 1400) as found:
        last = assert_sections_keep_the_view(found, "document.documentElement.dataset.theme")[-1]
        found.page.reload()
        found.page.wait_for_selector("html[data-ready=yes]")
        assert found.page.url == last


def test_the_page_prints_on_white(browser, page, tmp_path):
    with opened(browser, page, 1400, "dark") as found:
        found.page.pdf(path=tmp_path / "page.pdf", format="A4")
        assert (tmp_path / "page.pdf").stat().st_size > 20_000
        assert found.page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert found.said == []


@needs_axe
@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_an_accessibility_scan_finds_nothing(browser, page, width, scheme):
    assert_accessible(browser, page, width, scheme)
