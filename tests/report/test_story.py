"""The first paragraph of the page says what the tests and the breakdowns say."""

import warnings

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.demo import load
from spoofspan.report.page import PageSettings, page_content, render_page
from spoofspan.report.page.publishing import without_labels
from spoofspan.report.page.report_page import story

QUICK = ss.Resampling(replicates=50)


def group(name, spoof, error, share=0.0):
    return {"name": name, "spoof": spoof, "error": error, "share": share}


def content(kinds=(), lengths=(), boundaries=(), verdict="a is better than b (p = 0.01)."):
    groups = {"attack": kinds, "length": lengths, "boundary": boundaries}
    system = {"name": "a", "breakdowns": [{"by": by, "groups": list(some)} for by, some in groups.items()]}
    return {"systems": [{"name": "b"}, system], "opens_on": 1, "in_time": True, "comparison": {"verdict": verdict}}


def test_an_attack_is_named_if_it_has_more_than_its_share_of_the_missed_spoof():
    kinds = [group("A01", 30.0, 1.0), group("A02", 10.0, 3.0)]
    assert story(content(kinds)) == [
        "a is better than b (p = 0.01).",
        "Errors of a: 75 % of the missed spoof is A02 (25 % of all spoof).",
    ]
    assert len(story(content([group("A01", 30.0, 3.0), group("A02", 10.0, 1.1)]))) == 1  # each has its share
    assert len(story(content([group("A01", 30.0, 0.0), group("A02", 10.0, 0.0)]))) == 1  # nothing is missed
    assert len(story(content([group("A01", 30.0, 3.0)]))) == 1  # a single attack says nothing


def test_short_ranges_are_named_with_the_share_of_them_that_is_missed():
    lengths = [group("under 0.1 s", 2.0, 1.0), group("0.1 s and more", 98.0, 4.0)]
    assert story(content(lengths=lengths))[1] == (
        "Errors of a: 50 % of the time in spoofed ranges shorter than 0.1 s is missed (5 % of all spoof)."
    )
    rare = [group("under 0.1 s", 0.5, 0.5), group("0.1 s and more", 99.5, 4.5)]  # under 1 % of all spoof
    assert len(story(content(lengths=rare))) == 1


def test_the_least_distance_that_has_half_of_the_error_is_named():
    boundaries = [
        group("within 20 ms", 1.0, 1.0, 0.3),
        group("within 40 ms", 1.0, 1.0, 0.6),
        group("within 80 ms", 1.0, 1.0, 0.8),
    ]
    assert story(content(boundaries=boundaries))[1] == "Errors of a: 60 % of the error lies within 40 ms of a boundary."


@pytest.fixture(scope="module")
def page():
    corpus = load()
    systems = {"coarse": corpus.systems[0.64], "fine": corpus.systems[0.02], "<mid>": corpus.systems[0.16]}
    settings = PageSettings(resampling=QUICK, timelines=4, corpus="demo & more", date="2026-11-18")
    return corpus, systems, page_content(corpus.references, systems, settings)


def test_a_page_opens_on_the_best_system_and_is_named_after_what_it_shows(page):
    corpus, systems, found = page
    best = min(systems, key=lambda name: ss.range_eer(corpus.references, systems[name]).value)
    assert [one["name"] for one in found["systems"]] == ["coarse", "fine", "<mid>"]  # in the order given
    assert (found["opens_on"], found["timelines_of"]) == (list(systems).index(best), best)
    assert found["title"] == "<mid>, fine and coarse on demo & more"
    html = render_page(found)
    assert "<title>&lt;mid&gt;, fine and coarse on demo &amp; more</title>" in html
    assert '<time datetime="2026-11-18">' in html


def test_the_first_sentence_is_the_verdict_of_compare(page):
    corpus, systems, found = page
    compared = ss.compare(corpus.references, systems, "range-eer", **vars(QUICK))
    assert story(found)[0] == compared.verdict
    assert story(found)[1].startswith("Errors of <mid>: ")


def test_a_single_system_is_introduced_by_its_value():
    corpus = load()
    settings = PageSettings(resampling=QUICK, timelines=2)
    alone = page_content(corpus.references, {"ours": corpus.systems[0.02]}, settings)
    assert story(alone)[0].startswith("ours has a range-eer of 5.21 % (95 % interval ")
    assert alone["opens_on"] == 0


def test_costs_are_not_spelled_out_on_a_page_without_labels(page):
    found = page[2]
    costs = found | {"comparison": found["comparison"] | {"measure": "range-cllr"}}
    assert without_labels(costs)["comparison"]["verdict"] == ""
    assert without_labels(found)["comparison"]["verdict"] == found["comparison"]["verdict"]


def test_the_date_of_a_page_can_be_fixed(monkeypatch):
    from spoofspan.report.page.content import today

    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert today() == "1970-01-02"


def test_a_single_recording_has_a_page_without_intervals_and_ranks():
    corpus = load()
    spoofed = corpus.references.utterances[np.flatnonzero(np.diff(corpus.references.offsets) > 2)[0]]
    one = corpus.references.take([spoofed])
    systems = {name: corpus.systems[hop].take([spoofed]) for name, hop in (("fine", 0.02), ("coarse", 0.64))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.SpoofspanWarning)  # few distinct scores
        found = page_content(one, systems, PageSettings(resampling=QUICK))
    assert found["comparison"] is None
    assert all(m["interval"] is None or not m["interval"] for m in found["systems"][0]["measurements"])
    assert story(found)[0].startswith("fine has a range-eer of ")
    assert render_page(found)
