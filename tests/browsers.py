"""A page in a real browser, with everything that it complained about or asked for."""

import json
import os
import shutil
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
AXE = next(
    (
        path
        for path in map(Path, (os.environ.get("AXE_CORE", ""), "node_modules/axe-core/axe.min.js"))
        if path.is_file()
    ),
    None,
)
needs_axe = pytest.mark.skipif(
    AXE is None, reason="axe-core is not found; npm install axe-core, or set AXE_CORE to axe.min.js"
)
SCREENS = [(390, "dark"), (1400, "light")]  # colours do not depend on the width: each of both once
# parts of a page that stick out of the screen; what scrolls inside of its own box does not
OUTSIDE = """[...document.querySelectorAll("main *, nav *")].filter((one) => {
    const box = one.getBoundingClientRect();
    const elsewhere = one.closest(".places, .unseen, thead, details");
    return box.width > 1 && !elsewhere && (box.left < -1 || box.right > innerWidth + 1);
}).map((one) => one.outerHTML.slice(0, 80))"""
# how many tables that are seen are wider than what holds them
CUT = (
    "[...document.querySelectorAll('.scroll')].filter(one => one.offsetParent && one.scrollWidth > one.clientWidth + 1)"
    ".length"
)
# where the line that follows the sound stands, in seconds; null if it is not drawn
CURSOR = """(canvas) => {
    const strip = canvas.timeline || spoofspan.recordings.find((one) => one.canvas === canvas);
    const scale = canvas.width / canvas.clientWidth;
    const pen = new OffscreenCanvas(canvas.width, 1).getContext("2d");
    pen.drawImage(canvas, 0, 0);
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(spoofspan.css("--accent").slice(at, at + 2), 16));
    const row = pen.getImageData(0, 0, canvas.width, 1).data, found = [];
    for (let i = 0; i < canvas.width; i++) {
        const off = Math.abs(row[4 * i] - r) + Math.abs(row[4 * i + 1] - g) + Math.abs(row[4 * i + 2] - b);
        if (off < 12) found.push(i / scale);
    }
    if (!found.length) return null;
    const at = found.reduce((sum, one) => sum + one, 0) / found.length;
    return strip.from + ((at - strip.left) / (canvas.clientWidth - strip.left - 1)) * (strip.to - strip.from);
}"""


class Opened:
    """A page that is open, and ready."""

    def __init__(self, browser, path, fragment="", **context):
        self.context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **context})
        self.page = self.context.new_page()
        self.said, self.requests = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.session = self.context.new_cdp_session(self.page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.page.goto(path.as_uri() + fragment)
        self.page.wait_for_selector("html[data-ready=yes]")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def cpu_seconds(self):
        """What the page has needed of the processor, however busy the machine is."""
        metrics = self.session.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    def until(self, expression, seconds=20):
        """Wait until something holds; the page's policy forbids Playwright's own way to wait for it."""
        for _ in range(50 * seconds):
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"did not come true: {expression}")

    def text(self, selector):
        return self.page.locator(selector).inner_text()


def assert_accessible(browser, path, width, scheme, before=None):
    """Open every part of a page and let axe-core look at it, after what is to be done ``before``."""
    view = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme, "bypass_csp": True}
    with Opened(browser, path, **view) as opened:
        if before is not None:
            before(opened)
        for summary in opened.page.locator("summary:visible").all():
            summary.click()
        opened.page.add_script_tag(path=str(AXE))
        found = opened.page.evaluate("axe.run().then(result => result.violations)")
        named = [(one["id"], one["impact"], [node["html"][:160] for node in one["nodes"][:3]]) for one in found]
        assert not named, json.dumps(named, indent=1)


# whether the heading of the section in the address stands at the top of the screen, as far as the page is long enough
AT_SECTION = """(() => {
    const wanted = new URLSearchParams(location.hash.slice(1)).get("section");
    const top = document.getElementById(wanted).getBoundingClientRect().top;
    const atEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
    return top > -2 && (top < 120 || (atEnd && top < innerHeight));
})()"""


def assert_sections_keep_the_view(opened, view):
    """Click every link of the bar, then go back and forward: what ``view`` evaluates to must stay as it is."""
    page = opened.page
    before = page.evaluate(view)
    links = page.locator(".places a").all()
    assert len(links) > 1
    addresses = [page.url]
    for link in links:
        promised = link.evaluate("one => one.href")
        link.click()
        opened.until(AT_SECTION)
        assert page.url == promised
        assert page.evaluate(view) == before
        addresses.append(page.url)
    for address in [*reversed(addresses[:-1]), *addresses[1:]]:
        page.evaluate("history.back()" if address in addresses[: addresses.index(page.url)] else "history.forward()")
        opened.until(f"location.href === {json.dumps(address)}")
        assert page.evaluate(view) == before
    assert opened.said == []
    return addresses
