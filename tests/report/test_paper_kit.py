"""``spoofspan paper``: the files of a paper compile, fit their columns, and have no type under 7 pt."""

import re
import shutil
import subprocess
import zlib

import pytest
from click.testing import CliRunner

import spoofspan as ss
import spoofspan.demo
from spoofspan.cli import app

pytest.importorskip("matplotlib")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")]
COLUMN = {"ieeetran": 252.0, "interspeech": 227.7}  # pt
PARTS = ("table.tex", "methods.tex", "appendix.tex", "figures.tex", "paper.tex")


@pytest.fixture(scope="module", params=["ieeetran", "interspeech"])
def written(request, tmp_path_factory):
    """The demo's systems with three seeds each, as a paper."""
    folder = tmp_path_factory.mktemp("demo")
    spoofspan.demo.export(spoofspan.demo.load(), folder, force=True)
    (folder / "sys").mkdir()
    for seed in ("1", "10", "100"):
        for hop in ("20", "160"):
            scores = ss.read_scores(next((folder / f"seed-{seed}").glob(f"scores_{hop}ms.*")))
            ss.write_scores(scores, folder / "sys" / f"b_{hop}_seed{seed}.jsonl")
    words = ["paper", str(folder / "references.rttm"), str(folder / "sys" / "{system}_seed{seed}.jsonl")]
    words += ["--durations", str(folder / "reco2dur"), "--metadata", str(folder / "protocol.txt")]
    words += ["--venue", request.param, "--out", str(folder / "paper")]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return request.param, folder / "paper"


def streams(pdf):
    """The content of a PDF's streams, unpacked."""
    for stream in re.findall(rb"(?s)stream\r?\n(.*?)\r?\nendstream", pdf):
        try:
            yield zlib.decompress(stream)
        except zlib.error:
            yield stream


def type_sizes(pdf):
    """Sizes of type (pt): every ``Tf`` times the scale of the transformations around it."""
    number = rb"-?[\d.]+"
    pattern = rb"(?<!\S)(q|Q)(?!\S)|((?:" + number + rb"\s+){6})cm\b|/F[\w-]+\s+(" + number + rb")\s+Tf"
    found = set()
    for content in streams(pdf):
        stack, scale = [], 1.0
        if b" Tf" not in content:
            continue
        for state, matrix, size in re.findall(pattern, content):
            if state == b"q":
                stack.append(scale)
            elif state == b"Q":
                scale = stack.pop() if stack else 1.0
            elif matrix:
                scale *= abs(float(matrix.split()[3])) or 1.0
            else:
                found.add(round(float(size) * scale, 2))
    return found


def test_every_part_is_written(written):
    _, folder = written
    assert {path.name for path in folder.iterdir()} >= {*PARTS, "det.pdf", "resolution.pdf", "resampling.pdf"}
    methods = (folder / "methods.tex").read_text("utf-8")
    assert "169 utterances" in methods
    assert "means over 3 training seeds" in methods
    assert re.search(r"rule slack = held decided \d+\.\d\d s in \d+", methods)
    corpus = spoofspan.demo.load()
    measured = ss.range_eer(corpus.references, corpus.systems[0.02])
    appendix = (folder / "appendix.tex").read_text("utf-8").replace(r"\textbar\allowbreak{}", "|")
    assert measured.signature.input in appendix
    assert "refs:2eebecdc" in appendix
    table = (folder / "table.tex").read_text("utf-8")
    assert r"$\pm$" in table
    assert r"\textbf" in table


def test_figures_have_the_width_of_the_column_and_type_of_7_pt(written):
    venue, folder = written
    for figure in folder.glob("*.pdf"):
        if figure.name == "paper.pdf":
            continue
        pdf = figure.read_bytes()
        (box,) = re.findall(rb"/MediaBox \[ ?([\d. ]+) ?\]", pdf)
        assert COLUMN[venue] - 4 <= float(box.split()[2]) * 72.27 / 72 <= COLUMN[venue], figure.name
        assert min(type_sizes(pdf)) >= 7, (figure.name, type_sizes(pdf))
        assert b"STIX" in pdf


def test_the_paper_compiles_without_an_overfull_box_or_small_type(written):
    venue, folder = written
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    if venue == "ieeetran" and subprocess.run(["kpsewhich", "IEEEtran.cls"], check=False).returncode:
        pytest.skip("IEEEtran is not installed")
    main = (folder / "paper.tex").read_text("utf-8")
    # the class itself sets captions and headings in small capitals, of 6.4 pt
    (folder / "paper.tex").write_text(main.replace(r"\title", r"\renewcommand\scshape{}\title"))
    for _ in range(2):
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
        assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    assert "undefined" not in done.stdout
    sizes = type_sizes((folder / "paper.pdf").read_bytes())
    assert min(sizes) > 6.95, sizes  # TeX's 7 pt are 6.97 of a PDF's


def test_other_inputs_are_refused(tmp_path):
    spoofspan.demo.export(spoofspan.demo.load(), tmp_path, force=True)
    words = ["paper", str(tmp_path / "references.rttm"), str(tmp_path / "unit0.16.score")]
    words += ["--durations", str(tmp_path / "reco2dur"), "--out", str(tmp_path / "paper")]
    with pytest.raises(ss.UsageError, match="--venue icassp"):
        CliRunner().invoke(app, [*words, "--venue", "icassp"], catch_exceptions=False)
    with pytest.raises(ss.UsageError, match="--utterance"):
        CliRunner().invoke(app, [*words, "--utterance", "nobody"], catch_exceptions=False)
    with pytest.raises(ss.UsageError, match="is not empty"):
        CliRunner().invoke(app, [*words[:-1], str(tmp_path)], catch_exceptions=False)


def test_systems_of_one_training_have_no_seed(tmp_path):
    spoofspan.demo.export(spoofspan.demo.load(), tmp_path, force=True)
    systems = [f"{name}={tmp_path / file}" for name, file in (("ours", "unit0.02.score"), ("theirs", "unit0.16.score"))]
    words = ["paper", str(tmp_path / "references.rttm"), *systems]
    words += ["--durations", str(tmp_path / "reco2dur"), "--resolutions", "20", "--out", str(tmp_path / "paper")]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "of the seed" not in (tmp_path / "paper" / "figures.tex").read_text(encoding="utf-8")
