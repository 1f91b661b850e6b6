"""Groups that are measured in one pass have the bits of each group alone, and a page takes few passes."""

import numpy as np
import pytest

import spoofspan as ss
import spoofspan.demo
from spoofspan.data.rules import Rules
from spoofspan.evaluation.breakdown import by_kind
from spoofspan.evaluation.selections import RangesOfKind, measure_selections
from spoofspan.mass.ranges import Overlay
from spoofspan.measures import crossing as alone
from spoofspan.measures import joint_crossings
from spoofspan.measures.operating_point import OperatingPoint
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


def assert_as_alone(references, laid, at):
    selections = [RangesOfKind(name) for name in KINDS]
    found = measure_selections(references, laid, selections, at, crossings=True)
    for one, part in zip(selections, found, strict=True):
        expected = one.of(references, laid)
        errors = errors_of_overlay(expected, at.threshold, at.everything)
        assert part.missed == errors.false_negative.sum()
        if part.crossing is not None:
            assert part.crossing == alone.crossing(expected.mass()[0], guess=False)
    return sum(part.crossing is not None for part in found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("digits", [0, 1, 9])
@pytest.mark.parametrize("as_ranges", [False, True])
def test_parts_in_one_pass_are_those_of_each_part_alone(dtype, digits, as_ranges):
    rng = np.random.default_rng(5)
    crossings = 0
    for uncovered in ("hold", "spoof", "bonafide", "ignore", "unanswered"):
        for higher in ("bonafide", "spoof"):
            references = drawn_references(rng)
            scores = drawn_scores(rng, references, dtype=dtype, digits=digits, higher=higher, as_ranges=as_ranges)
            laid = Overlay.of(references, scores, Rules(gaps="bonafide", uncovered=uncovered, slack=0.0))
            for threshold in (0.1, -0.5):
                crossings += assert_as_alone(references, laid, OperatingPoint(threshold, higher, 0, 0, 0, 0))
            crossings += assert_as_alone(references, laid, OperatingPoint(0.0, higher, 0, 0, 0, 0, everything=True))
    assert crossings > 60  # of 90: the sample mostly guesses well


@pytest.mark.parametrize("ends", [(), (-9.0, -8.0), (8.0, 9.0), (-9.0, 9.0), (0.0, 0.0)])
def test_a_wrong_bracket_changes_nothing(monkeypatch, ends):
    rng = np.random.default_rng(6)
    references = drawn_references(rng)
    scores = drawn_scores(rng, references, dtype=np.float64, digits=9, higher="bonafide", as_ranges=False)
    expected = [group.to_dict() for group in by_kind(references, scores, gaps="bonafide").groups]
    monkeypatch.setattr(joint_crossings, "bracket", lambda sample: ends)
    assert [group.to_dict() for group in by_kind(references, scores, gaps="bonafide").groups] == expected
    monkeypatch.setattr(joint_crossings, "SAMPLE", 0)  # as if too much had been gathered
    assert [group.to_dict() for group in by_kind(references, scores, gaps="bonafide").groups] == expected


def test_groups_of_ranges_take_one_pass_whatever_their_number(monkeypatch):
    corpus = spoofspan.demo.load()
    passes = []
    crossing = alone.crossing
    monkeypatch.setattr("spoofspan.measures.eer.crossing", lambda mass: passes.append(mass) or crossing(mass))
    found = by_kind(corpus.references, corpus.systems[0.02])
    assert len(found.groups) > 2
    assert len(passes) == 1  # the whole corpus


def test_a_page_lays_a_system_over_its_references_few_times(monkeypatch):
    corpus = spoofspan.demo.load()
    made = []
    of = Overlay.of.__func__
    monkeypatch.setattr(Overlay, "of", classmethod(lambda cls, *sides: made.append(sides) or of(cls, *sides)))
    settings = PageSettings(columns={"speaker": dict.fromkeys(corpus.references.utterances, "one")}, timelines=3)
    page_content(corpus.references, {"ours": corpus.systems[0.02]}, settings)
    # numbers: two sets of rules; resolutions: three; the floor; curve and groups; four collars; the timelines
    assert len(made) <= 12
