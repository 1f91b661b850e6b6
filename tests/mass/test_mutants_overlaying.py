"""Claims about pairing and laying over that mutation testing found unguarded (see tools/mutation/README.md)."""

import numpy as np
import pytest
from small_corpora import MS, THREE, THREE_SCORES, TWO, TWO_SCORES, content, frames_of, references_of

import spoofspan as ss
from spoofspan.data.rules import Touched
from spoofspan.measures.operating_point import totals

pytestmark = [pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"), pytest.mark.quick]


def test_uncovered_time_is_reported():
    for uncovered in ("bonafide", "spoof", "unanswered", "ignore"):
        for measured in (
            ss.range_eer(THREE, THREE_SCORES, slack=0.0, uncovered=uncovered),
            ss.point_eer(THREE, THREE_SCORES, 0.02, slack=0.0, uncovered=uncovered),
        ):
            assert measured.touched["uncovered"] == Touched("uncovered", uncovered, 40 * MS, 1)
    held = ss.range_eer(THREE, THREE_SCORES, slack=0.0, uncovered="hold")
    assert held.touched["uncovered"] == Touched("uncovered", "hold", 40 * MS, 1)
    assert "uncovered" not in ss.range_eer(TWO, TWO_SCORES, uncovered="ignore").touched


def test_uncovered_time_is_an_error_that_names_the_utterance():
    for uncovered, scores in (("error", THREE_SCORES), ("hold", frames_of([0.1] * 5, [0.2] * 5, []))):
        for measure in (ss.overlay, lambda *corpus, **rules: ss.point_mass(*corpus, 0.02, **rules)):
            with pytest.raises(ss.DataError, match=r"'u2'.* have no score"):
                measure(THREE, scores, slack=0.0, uncovered=uncovered)


def test_what_each_side_decided_is_reported():
    """30 ms between the ranges; the last of three frames sticks out by 10 ms."""
    references = ss.References.from_ranges({"u": [(0.0, 0.01, "bonafide"), (0.04, 0.05, "spoof")]}, {"u": 0.05})
    scores = ss.Scores.from_frames({"u": [0.9, 0.5, 0.1]}, hop=0.02, higher="bonafide")
    for measured in (
        ss.range_eer(references, scores, gaps="ignore"),
        ss.point_eer(references, scores, 0.02, gaps="ignore"),
    ):
        assert measured.touched == {
            "gaps": Touched("gaps", "ignore", 30 * MS, 1),
            "last_frame": Touched("last_frame", "use", 10 * MS, 1),
        }


def test_time_without_a_score_over_ignored_time_is_no_error():
    references = references_of([(50, "b"), (90, "s"), (200, "n")])
    mass = ss.overlay(references, frames_of([0.9, 0.3, 0.5, -0.1, 0.2]), slack=0.0, nonspeech="ignore")
    assert totals(mass).all_bona_fide == 50 * MS


def test_utterances_without_time_are_left_out():
    references = ss.References.from_ranges({"a": [], "b": [(0.0, 0.02, "bonafide"), (0.02, 0.04, "spoof")]})
    scores = ss.Scores.from_frames({"a": [0.5], "b": [0.9, 0.1]}, hop=0.02, higher="bonafide")
    measured = ss.range_eer(references, scores)
    assert (measured.value, measured.utterances) == (0.0, 1)
    assert ss.overlay(references, scores).utterances == ("b",)
    empty = ss.References.from_ranges({"a": []}, {"a": 1.0})
    with pytest.raises(ss.UndefinedMeasureError, match="no utterance has any time"):
        ss.range_eer(empty, ss.Scores.from_frames({"a": [0.5]}, hop=0.02, higher="bonafide"), extent="last-range-end")


def test_utterances_of_one_side_only_are_listed_or_left_out():
    scores = ss.Scores.from_frames(
        {"u1": [0.1, 0.4, 0.6, 0.6, 0.8], "x": [1.0], "y": [1.0]}, hop=0.02, higher="bonafide"
    )
    with pytest.raises(ss.DataError, match="3 problems") as error:
        ss.overlay(TWO, scores)
    assert "'u0' has references but no scores" in str(error.value)
    assert "'x' has scores but no references" in str(error.value)
    assert "'u1'" not in str(error.value)
    first = ss.Scores.from_frames({"x": [1.0], "u0": [0.9, 0.3, 0.5, -0.1, 0.2]}, hop=0.02, higher="bonafide")
    with pytest.raises(ss.DataError, match="2 problems") as error:
        ss.overlay(TWO, first)
    assert "'u0'" not in str(error.value)
    assert ss.range_eer(TWO, first, partial=True).touched["partial"].utterances == 2
    measured = ss.range_eer(TWO, scores, partial=True)
    assert measured.touched["partial"] == Touched("partial", "True", 0, 3)
    assert "partial" not in ss.range_eer(TWO, TWO_SCORES, partial=True).touched
    with pytest.raises(ss.UndefinedMeasureError, match="in common"):
        ss.overlay(TWO, ss.Scores.from_frames({"x": [1.0]}, hop=0.02, higher="bonafide"), partial=True)


def test_the_order_of_the_scores_is_the_order_of_the_mass():
    order = np.array([1, 0])
    mass = ss.overlay(TWO, TWO_SCORES.take(order))
    assert mass.utterances == ("u1", "u0")
    assert content(mass) == content(ss.overlay(TWO, TWO_SCORES))


def test_dropped_bona_fide_utterances_are_reported():
    ranges = {
        "CON_1": [(0.0, 0.04, "bonafide")],
        "CON_2": [(0.0, 0.02, "bonafide"), (0.02, 0.04, "spoof")],
        "x": [(0.0, 0.06, "bonafide")],
    }
    references = ss.References.from_ranges(ranges)
    frames = {"CON_1": [0.9, 0.9], "CON_2": [0.9, 0.1], "x": [0.9, 0.9, 0.9]}
    scores = ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")
    measured = ss.range_eer(references, scores, utterances="drop-bonafide-CON")
    assert measured.touched["utterances"] == Touched("utterances", "drop-bonafide-CON", 40 * MS, 1)
    assert measured.utterances == 2
    assert ss.range_eer(references, scores).utterances == 3
    only = ss.References.from_ranges({"CON_1": ranges["CON_1"]}, {"CON_1": 0.04})
    with pytest.raises(ss.UndefinedMeasureError, match="leaves no utterance"):
        ss.overlay(only, scores.take(np.array([0])), utterances="drop-bonafide-CON")
