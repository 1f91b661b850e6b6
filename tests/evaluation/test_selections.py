"""Groups of spoofed ranges that are cut out of an overlay, and how often a page makes one."""

import numpy as np
import pytest

import spoofspan as ss
import spoofspan.demo
from spoofspan.data.rules import Rules
from spoofspan.evaluation.breakdown import by_attack
from spoofspan.evaluation.selections import RangesOfAttack, SpoofCut
from spoofspan.mass.ranges import Overlay
from spoofspan.measures.operating_point import OperatingPoint, count_again
from spoofspan.measures.per_utterance import errors_of_overlay
from spoofspan.report.page import PageSettings, page_content

KINDS = ("A", "B", "C")


def drawn_references(rng, utterances=20):
    """Spoofed ranges of three kinds or none; some of them overlap."""
    ranges, durations = {}, {}
    for i in range(utterances):
        edges = np.sort(rng.choice(np.arange(1, 200), 8, replace=False)) / 100
        rows = [[start, end, "spoof", str(rng.choice(KINDS))] for start, end in edges.reshape(-1, 2)]
        rows[0] = rows[0][:3]
        if rng.random() < 0.5:
            rows[1][1] = (rows[2][0] + rows[2][1]) / 2
        ranges[f"u{i}"], durations[f"u{i}"] = [tuple(row) for row in rows], 2.013
    return ss.References.from_ranges(ranges, durations)


def drawn_scores(rng, references, *, dtype, digits, higher, as_ranges):
    frames = {utt: np.round(rng.normal(size=100), digits).astype(dtype) for utt in references.utterances}
    if not as_ranges:
        return ss.Scores.from_frames(frames, hop=0.02, higher=higher)
    rows = {utt: [(0.02 * i, 0.02 * (i + 1), float(one)) for i, one in enumerate(own)] for utt, own in frames.items()}
    return ss.Scores.from_ranges(rows, higher=higher)


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # few distinct scores
@pytest.mark.parametrize("as_ranges", [False, True])
@pytest.mark.parametrize("uncovered", ["hold", "spoof", "bonafide", "ignore", "unanswered"])
def test_a_kind_is_measured_as_if_the_other_spoofed_ranges_were_outside_of_the_regions(uncovered, as_ranges):
    rng = np.random.default_rng(5)
    references = drawn_references(rng)
    for higher in ("bonafide", "spoof"):
        scores = drawn_scores(rng, references, dtype=np.float32, digits=1, higher=higher, as_ranges=as_ranges)
        rules = {"gaps": "bonafide", "uncovered": uncovered, "slack": 0.0}
        for group in by_attack(references, scores, **rules).groups:
            regions = RangesOfAttack(group.name).signed_rules(Rules(), references).regions
            alone = ss.range_eer(references, scores, **rules, regions=regions)
            assert group.measurement.exact_value == alone.exact_value
            assert group.measurement.point == alone.point


@pytest.mark.parametrize("as_ranges", [False, True])
@pytest.mark.parametrize("uncovered", ["hold", "spoof", "bonafide", "ignore", "unanswered"])
def test_missed_time_of_a_kind_is_the_sum_over_its_utterances(uncovered, as_ranges):
    rng = np.random.default_rng(6)
    references = drawn_references(rng)
    scores = drawn_scores(rng, references, dtype=np.float64, digits=1, higher="spoof", as_ranges=as_ranges)
    laid = Overlay.of(references, scores, Rules(gaps="bonafide", uncovered=uncovered, slack=0.0))
    selections = [RangesOfAttack(name) for name in KINDS]
    for at in (OperatingPoint(0.1, "spoof", 0, 0, 0, 0), OperatingPoint(0.0, "spoof", 0, 0, 0, 0, everything=True)):
        missed = SpoofCut.of(references, laid).missed(selections, references, laid, at)
        for selection, found in zip(selections, missed, strict=True):
            part = selection.of(references, laid)
            errors = errors_of_overlay(part, at.threshold, at.everything)
            assert found == count_again(part.mass()[0], at).false_negative == errors.false_negative.sum()


def test_a_page_lays_a_system_over_its_references_few_times(monkeypatch):
    corpus = spoofspan.demo.load()
    made = []
    of = Overlay.of.__func__
    monkeypatch.setattr(Overlay, "of", classmethod(lambda cls, *sides: made.append(sides) or of(cls, *sides)))
    settings = PageSettings(columns={"speaker": dict.fromkeys(corpus.references.utterances, "one")}, timelines=3)
    page_content(corpus.references, {"ours": corpus.systems[0.02]}, settings)
    # ranges and points; the floor; four collars; the timelines
    assert len(made) <= 8
