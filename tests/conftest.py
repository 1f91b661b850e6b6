"""Fixtures that several files use."""

import pytest

import spoofspan.demo
from spoofspan.formats.tables import parquet
from spoofspan.formats.text import rttm


@pytest.fixture(scope="session")
def demo():
    """References and a system of the corpus that ships with the package."""
    corpus = spoofspan.demo.load()
    return corpus.references, corpus.systems[0.02]


@pytest.fixture
def files(demo, tmp_path):
    """The same in files, as arguments of `spoofspan eval`."""
    references, scores = demo
    (tmp_path / "r.rttm").write_bytes(b"".join(rttm.write(references)))
    lines = (f"{u} {d / 1e9}\n" for u, d in zip(references.utterances, references.durations, strict=True))
    (tmp_path / "reco2dur").write_text("".join(lines))
    (tmp_path / "s.parquet").write_bytes(b"".join(parquet.write_scores(scores)))
    return ["eval", tmp_path / "r.rttm", tmp_path / "s.parquet", "--durations", tmp_path / "reco2dur"]


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A tiny countermeasure that was trained to its end, and the data it was trained on."""
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")
    from cm_corpora import make_model

    torch.set_num_threads(1)
    return make_model(tmp_path_factory.mktemp("trained"))


@pytest.fixture(scope="module")
def browser():
    """Chromium, which plays sound without being asked by a hand."""
    from browsers import CHROMIUM

    playwright = pytest.importorskip("playwright.sync_api", reason="to test pages in a browser: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no Chromium is found; on Debian: apt-get install chromium")
    with playwright.sync_playwright() as started:
        flags = ["--no-sandbox", "--autoplay-policy=no-user-gesture-required"]
        launched = started.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield launched
        launched.close()
