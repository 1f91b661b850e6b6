"""The page in the browser measures as the library does, to the bit: its modules in Node, and all of it in Chromium."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import app_corpora
import numpy as np
import pytest
from browsers import SCREENS, Opened, assert_accessible, needs_axe
from click.testing import CliRunner
from golden_cases import BISECTION_CASES, RANGE_CASES, load

import spoofspan as ss
from spoofspan.cli import app
from spoofspan.report.app import app_page
from spoofspan.report.app.bundle import bundled

HERE = Path(__file__).parent / "app"
MODULES = Path(ss.__file__).parent / "report" / "app" / "assets"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")


def node(*arguments):
    run = subprocess.run([NODE, *map(str, arguments)], capture_output=True, text=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    return run.stdout


def in_node(folder):
    """What the modules find in a folder of cases."""
    return [json.loads(line) for line in node(HERE / "measure_cases.mjs", MODULES, folder).splitlines()]


def compared(folder, cases, found):
    """How many numbers were equal, and which the page left to the command line."""
    assert len(found) == len(cases)
    equal, left = 0, []
    for case, page in zip(cases, found, strict=True):
        library = app_corpora.library_result(folder, case)
        wrong, own = app_corpora.differences(library, page)
        assert not wrong, (case, wrong[0])
        equal += sum(isinstance(one, dict) for one in library.values()) - len(own)
        left += own
    return equal, left


@needs_node
def test_the_modules_keep_their_own_tests():
    node("--test", *HERE.glob("*.test.js"))


@needs_node
@pytest.mark.parametrize(("count", "seed"), [(40, 1), pytest.param(1000, 2, marks=pytest.mark.slow)])
def test_random_corpora_have_the_numbers_of_the_library(tmp_path, count, seed):
    cases = app_corpora.write_cases(tmp_path, count, seed)
    equal, left = compared(tmp_path, cases, in_node(tmp_path))
    assert equal > count  # of up to three each: most have a number, the others are refused by both
    assert len(left) < equal / 100


def golden_corpora():
    """The golden cases of frames, in both polarities."""
    for name in (*RANGE_CASES, *BISECTION_CASES, "coarse"):
        case = load(name)
        for way, scores in (("bonafide", case.scores), ("spoof", case.spoof_scores)):
            yield from (
                (f"{name}-{way}-{hop}", case.references, one)
                for hop, one in (scores.items() if isinstance(scores, dict) else [(0.02, scores)])
            )


@needs_node
def test_golden_cases_have_the_numbers_of_the_library(tmp_path):
    cases = []
    for name, references, scores in golden_corpora():
        folder = tmp_path / name
        folder.mkdir()
        ss.write_references(references, folder / "ref.rttm")
        lines = zip(references.utterances, references.durations.tolist(), strict=True)
        (folder / "reco2dur").write_text("".join(f"{utt} {ns / 1e9!r}\n" for utt, ns in lines), encoding="utf-8")
        ss.write_scores(scores, folder / "scores.csv")
        files = {"references": "ref.rttm", "durations": "reco2dur", "scores": "scores.csv", "hop": None, "higher": None}
        measures = ["range-eer", "point-eer@20ms", "point-eer@160ms", "utterance-eer"]
        cases.append({"folder": name, **files, "measures": measures, "version": ss.__version__})
    (tmp_path / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    equal, left = compared(tmp_path, cases, in_node(tmp_path))
    assert equal > 2 * len(cases)
    assert not left


def test_the_page_is_one_small_file_that_asks_for_nothing():
    page = app_page()
    assert len(page.encode()) < 400_000
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src &#39;none&#39;" in policy
    assert "connect-src &#39;none&#39;" in policy
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)


def test_the_command_writes_the_page(tmp_path):
    ran = CliRunner().invoke(app, ["app", "--out", str(tmp_path / "web")])
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "web" / "index.html").read_text(encoding="utf-8") == app_page()
    ran = CliRunner().invoke(app, ["app", "--out", str(tmp_path / "web.html")])
    assert "give the folder that it goes into" in str(ran.exception)


def test_a_bundle_refuses_what_it_does_not_know():
    for text in (
        'import all from "./b.js";\n',
        "export default 1;\n",
        'import { a } from "https://example.org/b.js";\n',
    ):
        with pytest.raises(ValueError, match="not known"):
            bundled("a.js", {"a.js": text})
    circle = {"a.js": 'import { b } from "./b.js";\n', "b.js": 'import { a } from "./a.js";\n'}
    with pytest.raises(ValueError, match=r"a\.js -> b\.js -> a\.js"):
        bundled("a.js", circle)


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("app") / "index.html"
    path.write_text(app_page(), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser, page_file):
    found = Opened(browser, page_file)
    yield found
    found.context.close()


@pytest.mark.slow
def test_an_address_opens_it_with_the_demo(browser, page_file):
    with Opened(browser, page_file, "#open=demo") as found:
        measured(found, 1)
        assert found.page.locator("#timelines li").count() == 6
        assert found.page.evaluate("scrollY") == 0
        assert found.said == []


def measured(opened, times):
    opened.until(f"document.documentElement.dataset.measured === '{times}'", 60)


def open_demo(opened):
    opened.page.click("#demo")
    measured(opened, 1)


def demo_corpus():
    from spoofspan.demo import load as load_demo

    corpus = load_demo()
    return corpus.references, corpus.systems[0.04]


@pytest.mark.slow
def test_the_demo_has_the_numbers_of_the_library_and_asks_nothing(opened, page_file):
    open_demo(opened)
    references, scores = demo_corpus()
    rows = opened.page.locator("#numbers tbody tr").all()
    measures = ["range-eer", "point-eer@20ms", "point-eer@160ms", "utterance-eer"]
    for row, (measure, own) in zip(rows, ss.evaluate(references, scores, measures).measurements.items(), strict=True):
        assert row.locator("th").inner_text() == measure
        assert float(row.locator("[data-exact]").get_attribute("data-exact")) == own.value
        assert own.point.decision in row.inner_text()
    # its worker is a part of the page, and nothing else was asked for
    assert [one for one in opened.requests if not one.startswith("blob:")] == [page_file.as_uri()]
    assert opened.said == []


@pytest.mark.slow
def test_the_slider_shows_the_rates_of_the_library(opened):
    open_demo(opened)
    references, scores = demo_corpus()
    move = """share => {
        const slider = document.getElementById("threshold");
        slider.value = share * slider.max;
        slider.dispatchEvent(new Event("input"));
    }"""
    for share in (0.3, 0.6):
        opened.page.evaluate(move, share)
        threshold = float(opened.page.get_attribute("#decision .exact", "data-exact"))
        point = ss.error_curve(references, scores).at(threshold)
        assert opened.text("#rate-fpr") == f"{100 * point.false_positive_rate:.2f} %"
        assert opened.text("#rate-fnr") == f"{100 * point.false_negative_rate:.2f} %"
        errors = ss.errors_by_utterance(references, scores, threshold)
        utterance = opened.text("#timelines .timeline-id >> nth=0")
        place = errors.utterances.index(utterance)
        opened.page.locator("#timelines li").first.scroll_into_view_if_needed()
        opened.page.wait_for_timeout(100)
        false = [one[place] / 1e9 for one in (errors.false_positive, errors.false_negative)]
        said = f"{false[0]:.2f} s false positive, {false[1]:.2f} s false negative"
        assert said in opened.text("#timelines li >> nth=0")


@pytest.mark.slow
def test_nothing_can_be_asked_for(opened):
    for way in ("fetch('https://example.org/')", "import('https://example.org/a.js')"):
        assert opened.page.evaluate(f"{way}.then(() => 'sent', () => 'refused')") == "refused"


@pytest.mark.slow
def test_random_corpora_have_the_numbers_of_the_library_in_a_browser(opened, tmp_path):
    cases = app_corpora.write_cases(tmp_path, 200, 3)
    program = """async ([files, one]) => {
        const infinite = (value) => (value > 0 ? "inf" : value < 0 ? "-inf" : "nan");
        const finite = (value) => (Object.is(value, -0) ? "-0.0" : String(value));
        const text = (value) => (Number.isFinite(value) ? finite(value) : infinite(value));
        const source = (file) => file && { name: file[0], blob: new Blob([spoofspan.bytesOf(file[1])]) };
        const sources = Object.fromEntries(Object.entries(files).map(([role, file]) => [role, source(file)]));
        const ask = async (measures) => {
            const message = { files: sources, options: one, measures, version: one.version };
            const { measurements } = await spoofspan.app.ask("measure", message);
            return Object.fromEntries(measurements.map((own) => [own.measure, own]));
        };
        const refused = (error) => ({ error: error.message, elsewhere: error.elsewhere });
        const alone = (measure) => ask([measure]).catch((error) => ({ [measure]: refused(error) }));
        const apart = async () => Object.assign({}, ...(await Promise.all(one.measures.map(alone))));
        const found = await ask(one.measures).catch(apart);
        return JSON.stringify(found, (key, value) => (typeof value === "number" ? text(value) : value));
    }"""
    found = []
    for case in cases:
        folder = tmp_path / case["folder"]
        files = {
            role: case[role] and [case[role], app_corpora.base64_of(folder / case[role])]
            for role in ("references", "durations", "scores")
        }
        found.append(json.loads(opened.page.evaluate(program, [files, case])))
    equal, left = compared(tmp_path, cases, found)
    assert equal > len(cases)
    assert len(left) < equal / 50
    assert opened.said == []


def write_results(folder):
    """Results of the demo: the same, another system, and one under other rules."""
    from spoofspan.report.table import json_text

    references, scores = demo_corpus()
    rng = np.random.default_rng(0)
    other = ss.Scores.from_frames(
        {utt: row + rng.normal(size=row.size) for utt, row in scores.items()}, 0.04, higher="bonafide"
    )
    made = {
        "same": ss.evaluate(references, scores, ["range-eer"]),
        "noisy": ss.evaluate(references, other, ["range-eer"]),
        "rules": ss.evaluate(references, scores, ["range-eer"], collar=0.05),
    }
    for name, evaluation in made.items():
        (folder / f"{name}.json").write_text(json_text(evaluation.to_dict()), encoding="utf-8")
    return [folder / f"{name}.json" for name in made]


@pytest.mark.slow
def test_results_are_verified_and_ranked(opened, tmp_path):
    open_demo(opened)
    opened.page.set_input_files("#choose", list(map(str, write_results(tmp_path))))
    measured(opened, 2)
    said = opened.text("#verified").replace("\n\n", "\n")
    assert "Confirmed: same.json" in said
    assert "Not confirmed: noisy.json\nrange-eer, input: stated" in said
    assert "Not confirmed: rules.json\nrange-eer, collar: stated 50000000ns, found nothing" in said
    assert [one.inner_text() for one in opened.page.locator("#board tbody th").all()] == ["same.json", "noisy.json"]
    assert "rules.json: collar is 50000000ns, not nothing" in opened.text("#refused")


@pytest.mark.slow
def test_the_saved_result_is_confirmed_by_the_library(opened):
    open_demo(opened)
    with opened.page.expect_download() as saved:
        opened.page.click("#save")
    assert ss.verify(saved.value.path(), *demo_corpus()).confirmed


@pytest.mark.slow
def test_what_is_refused_names_the_command(opened, tmp_path):
    (tmp_path / "ref.rttm").write_text(
        "SPEAKER u 1 0 1 <NA> <NA> bonafide <NA> <NA>\nSPEAKER u 1 1.5 0.5 <NA> <NA> spoof <NA> <NA>\n"
    )
    (tmp_path / "unit0.5.score").write_text("".join(f"u {k} 0.5 {k}\n" for k in range(4)))
    opened.page.set_input_files("#choose", [str(tmp_path / name) for name in ("ref.rttm", "unit0.5.score")])
    measured(opened, 1)
    assert "utterance 'u': 0.500 s without a label\nState what they are: spoofspan eval" in opened.text("#problem")
    assert opened.page.locator("#numbers tbody tr").count() == 0


@needs_axe
@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_it_is_accessible(browser, page_file, width, scheme):
    assert_accessible(browser, page_file, width, scheme, before=open_demo)
