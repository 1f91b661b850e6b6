"""The LaTeX that commands print compiles, where a TeX engine is found."""

import re
import shutil
import string
import subprocess

import pytest
from click.testing import CliRunner

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
    "eval-groups": ["eval", *FILES, "--by", "attack", "--by", "length", "--by", "boundary"],
    "eval-events": ["eval", *FILES, "-m", "event-ap@iou=0.5", "--threshold", "0"],
    "check": ["check", *FILES],
    "compare": ["compare", *FILES[:2], "unit0.16.score", *FILES[2:], "--replicates", "50"],
    "table": ["table", "references.rttm", "unit{resolution}.score", *FILES[2:]],
    "table-intervals": ["table", "references.rttm", "unit{resolution}.score", *FILES[2:], "--confidence", "0.95"],
    "table-bold": ["table", "references.rttm", "unit{resolution}.score", *FILES[2:], "--bold", "--letters"],
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
        pytest.skip(f"{ENGINE} sets no paper with booktabs: {done.stdout[-300:]}")


ARTICLE, IEEE = "[twocolumn]{article}", "[journal]{IEEEtran}"


def set_in_a_paper(latex, folder, paper=ARTICLE):
    (folder / "table.tex").write_text(latex, encoding="utf-8")
    packages = r"\usepackage{booktabs}" + ("\\pdfcompresslevel=0 " if ENGINE == "pdflatex" else "")
    text = rf"\documentclass{paper}{packages}\begin{{document}}\input{{table}}\end{{document}}"
    (folder / "paper.tex").write_text(text, encoding="utf-8")
    command = [ENGINE, *ENGINES[ENGINE], "paper.tex"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)


def compiled(latex, folder, paper=ARTICLE):
    """What the engine says about it."""
    done = set_in_a_paper(latex, folder, paper)
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


def type_sizes(pdf):
    """Sizes of type in pt that a PDF without compression uses, times the scale of what is drawn."""
    number = rb"-?[\d.]+"
    pattern = rb"(?m)^(q|Q)$|(" + rb" ".join([number] * 6) + rb") cm\b|/F\d+ (" + number + rb") Tf"
    found = set()
    for stream in re.findall(rb"(?s)stream\r?\n(.*?)endstream", pdf):
        stack, scale = [], 1.0
        if b" Tf" not in stream or stream.startswith(b"%!"):  # a font
            continue
        for state, matrix, size in re.findall(pattern, stream):
            if state == b"q":
                stack.append(scale)
            elif state == b"Q":
                scale = stack.pop()
            elif matrix:
                scale *= float(matrix.split()[3])
            else:
                found.add(round(float(size) * scale, 2))
    return found


@pytest.mark.skipif(ENGINE != "pdflatex", reason="type is measured in the PDF of pdflatex")
@pytest.mark.parametrize("command", COMMANDS)
def test_no_type_is_under_7_pt_in_ieeetran(folder, tmp_path, monkeypatch, command):
    if shutil.which("kpsewhich") is None or subprocess.run(["kpsewhich", "IEEEtran.cls"], check=False).returncode:
        pytest.skip("IEEEtran is not installed")
    monkeypatch.chdir(folder)
    printed = CliRunner().invoke(app, [*COMMANDS[command], "--format", "latex"], catch_exceptions=False)
    # the class itself sets captions in small capitals, of 6.4 pt
    assert "Overfull" not in compiled("\\renewcommand\\scshape{}\n" + printed.stdout, tmp_path, IEEE)
    sizes = type_sizes((tmp_path / "paper.pdf").read_bytes())
    assert sizes
    assert min(sizes) > 6.95, sizes  # TeX's 7 pt are 6.97 of a PDF's


@pytest.mark.skipif(ENGINE != "pdflatex", reason="type is measured in the PDF of pdflatex")
def test_type_that_is_too_small_is_noticed(tmp_path):
    set_in_a_paper(r"a {\tiny b}", tmp_path)
    assert min(type_sizes((tmp_path / "paper.pdf").read_bytes())) < 5


@pytest.mark.skipif(ENGINE != "pdflatex", reason="type is measured in the PDF of pdflatex")
def test_small_p_values_are_powers_of_ten_in_readable_type(tmp_path):
    latex = Table(("pair", "p"), (("a, b", "7.2e-06"), ("a, c", "0.0412"))).render("latex")
    assert r"$7.2\times10^{-6}$" in latex
    compiled(latex, tmp_path)
    assert min(type_sizes((tmp_path / "paper.pdf").read_bytes())) > 6.95


@pytest.mark.parametrize("command", ["eval", "compare"])
def test_a_paper_reads_names_and_four_digits(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    printed = CliRunner().invoke(app, [*COMMANDS[command], "--format", "latex"], catch_exceptions=False)
    body = [line for line in printed.stdout.splitlines() if not line.startswith("%")]
    assert "Range EER" in "\n".join(body).replace("Range\\\\EER", "Range EER")  # a head may have two lines
    assert "range-eer" not in "\n".join(body)
    assert not any(re.search(r"\d\.\d{6}", line) for line in body)


def test_the_caption_of_a_table_says_how_to_read_it_and_notes_are_comments(tmp_path):
    corpus = spoofspan.demo.load()
    table = ss.resolution_table(
        corpus.references, {0.02: corpus.systems[0.02], 0.64: corpus.systems[0.64]}, resampling=ss.Resampling()
    )
    latex = render({"": table}, "latex")
    (caption,) = re.findall(r"\\caption{(.*)}", latex)
    assert caption.startswith(r"Range-based and point-based EER (\%). In brackets: 95\,\% confidence intervals")
    assert "% Coarser than the hop" in latex[: latex.index(r"\begin{table")]
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
