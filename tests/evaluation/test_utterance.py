"""The utterance-level EER against golden values and by hand."""

from fractions import Fraction

import golden_cases
import pytest

import spoofspan as ss

pytestmark = [pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"), pytest.mark.quick]


@pytest.mark.parametrize("row", range(6))
@pytest.mark.parametrize("convention", ["paper", "nii-2023"])
def test_the_lowest_score_against_the_utterance_label_equals_the_utterance_column_of_the_script(row, convention):
    case = golden_cases.load("coarse")
    hop = case.expected["rows_ms"][row] / 1000
    expected = Fraction(case.expected["rule_sets"]["nii_segment"]["eer_exact"][row][-1])
    assert ss.utterance_eer(case.references, case.scores[hop], convention=convention).exact_value == expected


@pytest.mark.parametrize("name", ["full_cover", "ties", "short_tail", "gaps", "saturated"])
def test_the_highest_spoof_score_equals_zoom_0_of_partialspoof_metrics(name):
    case = golden_cases.load(name)
    zoom_0 = case.expected["rule_sets"]["psm_frame_decimal_comparison"]["utt_eer_zoom0"]
    for rule, key in ((None, "result_with_buckets"), ("nearest", "result_without_buckets")):
        found = ss.utterance_eer(case.references, case.spoof_scores, convention="partialspoof-metrics", eer_rule=rule)
        assert found.exact_value == Fraction(zoom_0[key]["eer_exact"])


def test_one_spoofed_moment_makes_an_utterance_spoof():
    references = ss.References.from_ranges(
        {
            "a": [(0.0, 1.0, "bonafide")],
            "b": [(0.0, 0.99, "bonafide"), (0.99, 1.0, "spoof")],
        }
    )
    scores = ss.Scores.from_ranges({"a": [(0.0, 1.0, 0.5)], "b": [(0.0, 0.5, 0.9), (0.5, 1.0, 0.1)]}, higher="bonafide")
    found = ss.utterance_eer(references, scores)
    assert (found.value, found.point.bona_fide, found.point.spoof) == (0.0, 1, 1)
    assert ss.evaluate(references, scores, ["utterance-eer"])["utterance-eer"].value == 0.0
