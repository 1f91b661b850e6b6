"""The LaTeX that commands print compiles, where a TeX engine is found."""

import re
import shutil
import string
import subprocess

import pytest
from typer.testing import CliRunner

import spoofspan as ss
import spoofspan.demo
from spoofspan.cli import app
from spoofspan.report.resolutions import render
from spoofspan.report.table import Table

ENGINES = {
    "pdflatex": ["-interaction=nonstopmode", "-halt-on-error"],
    "xelatex": ["-interaction=nonstopmode", "-halt-on-error"],
    "lualatex": ["-interaction=nonstopmode", "-halt-on-error"],
    "tectonic": ["--only-cached", "--print"],  # nothing is fetched in a test
}
ENGINE = next(filter(shutil.which, ENGINES), None)
pytestmark = [
    pytest.mark.skipif(ENGINE is None, reason=f"no TeX engine to try the LaTeX on; one of {', '.join(ENGINES)}"),
    pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"),  # small corpora have wide gaps
]
FILES = ["references.rttm", "unit0.02.score", "--durations", "reco2dur"]
COMMANDS = {
    "eval": ["eval", *FILES, "--confidence", "0.95", "--replicates", "50"],
    "eval-groups": ["eval", *FILES, "--by", "kind", "--by", "length", "--by", "boundary"],
    "eval-events": ["eval", *FILES, "-m", "event-ap@iou=0.5", "--threshold", "0"],
    "check": ["check", *FILES],
    "compare": ["compare", *FILES[:2], "unit0.16.score", *FILES[2:], "--replicates", "50"],
    "table": ["table", "references.rttm", "unit{resolution}.score", *FILES[2:]],
    "table-names": ["table", "references.rttm", "{system}/unit0.02.score", *FILES[2:]],
    "diff-references": ["diff-references", "references.rttm", "references.rttm", *FILES[2:]],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("demo")
    assert CliRunner().invoke(app, ["demo", "--out", str(made), "--force"]).exit_code == 0
    for name in ("our_system", "100% & more"):
        (made / name).mkdir()
        shutil.copy(made / "unit0.02.score", made / name)
    return made


@pytest.fixture(scope="module", autouse=True)
def _packages(tmp_path_factory):
    done = set_in_a_paper("nothing", tmp_path_factory.mktemp("empty"))
    if done.returncode:
        pytest.skip(f"{ENGINE} sets no paper with booktabs and graphicx: {done.stdout[-300:]}")


def set_in_a_paper(latex, folder):
    (folder / "table.tex").write_text(latex, encoding="utf-8")
    packages = r"\usepackage{booktabs,graphicx}"
    text = rf"\documentclass[twocolumn]{{article}}{packages}\begin{{document}}\input{{table}}\end{{document}}"
    (folder / "paper.tex").write_text(text, encoding="utf-8")
    command = [ENGINE, *ENGINES[ENGINE], "paper.tex"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)


def compiled(latex, folder):
    """What the engine says about it."""
    done = set_in_a_paper(latex, folder)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-500:]
    assert (folder / "paper.pdf").stat().st_size > 1000
    return done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_command_prints_compiles(folder, tmp_path, monkeypatch, command):
    monkeypatch.chdir(folder)
    printed = CliRunner().invoke(app, [*COMMANDS[command], "--format", "latex"], catch_exceptions=False)
    assert printed.exit_code == 0, printed.output
    assert r"\toprule" in printed.stdout
    # a column of a two-column paper is enough, and signs are signs
    assert "Overfull" not in compiled(printed.stdout, tmp_path)
    assert not re.search(r"& [-+][\d.]", printed.stdout)


@pytest.mark.parametrize("command", ["eval", "compare"])
def test_a_paper_reads_names_and_four_digits(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    printed = CliRunner().invoke(app, [*COMMANDS[command], "--format", "latex"], catch_exceptions=False)
    body = [line for line in printed.stdout.splitlines() if not line.startswith("%")]
    assert "Range EER" in "\n".join(body).replace("Range\\\\EER", "Range EER")  # a head may have two lines
    assert "range-eer" not in "\n".join(body)
    assert not any(re.search(r"\d\.\d{6}", line) for line in body)


def test_the_caption_of_a_table_is_one_line_with_the_notes_below(tmp_path):
    corpus = spoofspan.demo.load()
    table = ss.resolution_table(
        corpus.references, {0.02: corpus.systems[0.02], 0.64: corpus.systems[0.64]}, resampling=ss.Resampling()
    )
    latex = render({"": table}, "latex")
    assert r"\caption{Range-based and point-based EER (\%).}" in latex
    assert latex.index(r"\end{tabular}") < latex.index("Italics: the row's own resolution.")
    assert "Overfull" not in compiled(latex, tmp_path)


@pytest.mark.parametrize("sets", [["dev", "eval"], [""]])
def test_resolution_tables_compile_and_fit_the_paper(tmp_path, sets):
    corpus = spoofspan.demo.load()
    table = ss.resolution_table(corpus.references, {0.02: corpus.systems[0.02], 0.64: corpus.systems[0.64]})
    assert "Overfull" not in compiled(render(dict.fromkeys(sets, table), "latex"), tmp_path)


def test_every_printable_character_compiles_in_a_cell_and_in_a_note(tmp_path):
    table = Table(
        ("name", "value"),
        ((string.punctuation, "1"), ("[1] a", "3"), ("*", "4"), ("u\n\x1b[31m\u202e", "2")),
        (string.printable,),
    )
    compiled(table.render("latex"), tmp_path)


def test_a_table_with_long_heads_and_more_rows_than_a_page_fits(tmp_path):
    heads = ("pair of systems", "difference in percentage points", "95 % from", "to", "p adjusted for all comparisons")
    rows = tuple((f"system {i}", "-0.21", "-0.35", "+0.07", "0.0412") for i in range(120))
    latex = Table(heads, rows).render("latex")
    assert r"\shortstack[r]{difference in\\percentage points}" in latex
    assert "Overfull" not in compiled(latex, tmp_path)
