"""What explain answers to names of measures that are spelled in another way."""

import re
from importlib.resources import files

import pytest
from click.testing import CliRunner

import spoofspan.demo
from spoofspan.cli import app
from spoofspan.evaluation.explain import SYNONYMS, explain, nearest_subject
from spoofspan.measures.catalogue import all_kinds
from spoofspan.measures.measure import Measure, nearest_measure, number_text
from spoofspan.report.table import Table

MEASURES = [(basis, kind) for kind in all_kinds() for basis in kind.bases]


@pytest.mark.parametrize(("basis", "kind"), MEASURES, ids=lambda one: one if isinstance(one, str) else one.name)
def test_another_spelling_of_a_measure_means_that_measure(basis, kind):
    name = kind.name
    spellings = [f"{basis}-macro-{name}", f"{basis}-{name}-macro", f"{basis}_{name}", f"{basis.title()} {name.upper()}"]
    spellings += [f"{basis}-{name}-bonafide", f"{basis}-bona-fide-{name}", f"{basis}-{name}@20ms"]
    for spelling in spellings:
        found = Measure.parse(nearest_measure(spelling))
        assert (found.basis, found.kind) == (basis, kind)
        meant = nearest_subject(spelling)
        assert Measure.parse(meant if basis != "point" or "@" in meant else f"{meant}@20ms").kind is kind
        assert f"{basis}-{name}" in explain(meant)
    for bare in (name, name.upper(), name.replace("-", " "), name.replace("-", "_")):
        meant = nearest_subject(bare)
        assert meant is not None
        assert name in meant.replace(" ", "-").replace("_", "-")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("utterance-macro-f1", "utterance-f1"),  # utterances have no mean over utterances
        ("range-macro-f1", "range-f1-macro"),
        ("macro f1", "macro f1"),  # of classes or of utterances: the answer names both
        ("range-macro-bonafide-f1", "range-f1-bonafide-macro"),
        ("utterance-eeer", "utterance-eer"),
        ("range-a-dcf", "utterance-a-dcf"),
        ("range-tdcf", "utterance-min-tdcf"),
        ("utterance-xyzzy", None),
        ("range-based-eer", "range-based eer"),
    ],
)
def test_a_name_of_a_measure_is_not_answered_with_another_measure(typed, meant):
    assert nearest_subject(typed) == meant


@pytest.mark.parametrize(
    ("measure", "value", "text"),
    [
        ("utterance-cllr", 1e50, "1.000e+50"),
        ("utterance-cllr", 123456.78912, "123456.7891"),
        ("utterance-cllr", -2.5e8, "-2.500e+08"),
        ("utterance-cllr", float("inf"), "inf"),
        ("range-der", 1e50, "1.000e+52"),
        ("range-der", 1.25, "125.00"),
        ("range-false-alarms-per-hour", 1e12, "1.000e+12"),
    ],
)
def test_a_very_large_value_is_shown_with_a_power_of_ten(measure, value, text):
    assert number_text(measure, value) == text


DEMO = ["references.rttm", "unit0.02.score", "unit0.16.score", "--durations", "reco2dur", "--metadata", "protocol.txt"]
ONE = [DEMO[0], DEMO[1], *DEMO[3:]]
COMMANDS = [
    ["eval", *ONE, "--confidence", "0.95", "--by", "attack", "--confusion"],
    ["eval", *ONE, "--by", "attack", "--by", "boundary", "--by", "share", "--by", "speaker,attack"],
    ["eval", *ONE, "--confidence", "0.95", "--cluster", "speaker,attack"],
    ["eval", *ONE[:4], "-m", "event-recall@iou=0.5", "--by", "length"],
    ["eval", *ONE[:4], "--algorithm", "bisection"],
    ["compare", *DEMO, "--margin", "0.8", "--fragility"],
    ["compare", *DEMO, "unit0.64.score", "--against", "best", "--cluster", "speaker,attack"],
    ["compare", *DEMO[:-2], "--one-system"],
    ["plan", *DEMO],
    ["plan", *DEMO, "--cluster", "speaker,attack", "--from", "5.2", "--to", "7.2"],
    ["domains", "{set}.rttm", "a=a_{set}.parquet", "b=b_{set}.parquet", "--set", "one", "--set", "two"],
]
# names of measures, systems and groups stand in headings too
NAMES = re.compile(r"range-|point-|utterance-|event-|unit0|^[ab]$|^A0\d$|^-$|^speaker$")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demo, and its systems on two corpora."""
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("demo")
    spoofspan.demo.export(spoofspan.demo.load(), folder, force=True)
    for place, corpus in enumerate(("one", "two")):
        (folder / f"{corpus}.rttm").write_bytes((folder / "references.rttm").read_bytes())
        for system, hops in (("a", (20, 40)), ("b", (160, 320))):
            scores = (folder / f"scores_{hops[place]}ms.parquet").read_bytes()
            (folder / f"{system}_{corpus}.parquet").write_bytes(scores)
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: " ".join(one[:1] + one[-2:]))
@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_every_heading_is_explained(command, demo, monkeypatch):
    shown = []
    render = Table.render

    def noted(table, *given, **more):
        shown.append(table)
        return render(table, *given, **more)

    monkeypatch.setattr(Table, "render", noted)
    monkeypatch.chdir(demo)
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.exception
    headings = dict.fromkeys(str(one) for table in shown for one in table.columns)
    assert headings
    for heading in headings:
        if heading and not NAMES.search(heading):
            assert explain(heading)


WORDS = (
    "interval jackknife-t cluster confidence p-value max-T rank group seed plan percentile BCa correlation degradation "
    "PAV undecided equivalent fragility warning copies improvements logit"
)


@pytest.mark.parametrize("word", WORDS.split())
def test_words_of_notes_are_explained(word):
    assert explain(word).startswith(f"{word} (word)")


def test_every_word_of_the_glossary_stands_once_and_has_a_meaning():
    entries = (files("spoofspan.evaluation") / "assets" / "glossary.txt").read_text(encoding="utf-8").split("\n\n")[1:]
    words = [word for entry in entries for word in entry.splitlines()[0].split(", ")]
    assert len(words) == len(set(words)) == len(SYNONYMS)
    for meaning, names in SYNONYMS.values():
        assert meaning.endswith((".", ")"))
        assert "See:" not in meaning
        assert all(names)
