"""Conventions give the numbers of the public tools' rules, to the last bit."""

import math
import subprocess
import sys
from collections import defaultdict
from fractions import Fraction
from itertools import accumulate, product
from pathlib import Path

import numpy as np
import pytest
from golden_cases import BISECTION_CASES, RANGE_CASES, any_spoof_labels, load

import spoofspan as ss

# few distinct scores are the point of some cases
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*FPR and FNR differ by:spoofspan.SpoofspanWarning"),
    pytest.mark.quick,
]

GAP_RULES = ["bonafide", "spoof", "ignore"]
UNCOVERED_RULES = {
    "bonafide": "bonafide",
    "spoof": "spoof",
    "exclude": "ignore",
    "none": "unanswered",
    "stretch_last": "hold",
}
WHOLE_UTTERANCE = 3600.0  # seconds: a point longer than any utterance is the utterance

# run of partialspoof-metrics' frame EER: (resolution in seconds, rules besides the convention's own)
POINT_RUNS = {
    "frame_eer": (0.02, {}),
    "frame_eer_r100000": (0.02, {"eer_rule": "bucketed(-2,2,100000)"}),
    "frame_eer_zoom2": (0.01, {}),
    "frame_eer_zoom-2": (0.04, {}),
}
MILLISECOND_RUNS = {
    "mseer": ("result_with_buckets_100000", {}),
    "mseer_r8000": ("result_with_buckets_8000", {"eer_rule": "bucketed(-2,2,8000)"}),
}

COARSE = load("coarse").expected
HOPS = [ms / 1000 for ms in COARSE["rows_ms"]]
RESOLUTIONS = [WHOLE_UTTERANCE if ms == "utt" else ms / 1000 for ms in COARSE["columns_ms"]]
CELLS = list(product(HOPS, RESOLUTIONS))
FINER_CELLS = [(hop, resolution) for hop, resolution in CELLS if resolution < hop]
OTHER_CELLS = [(hop, resolution) for hop, resolution in CELLS if resolution >= hop]


def assert_equals(measurement, golden):
    """The fractions are equal, and the floats are those fractions rounded once."""
    assert measurement.exact_value == Fraction(golden["eer_exact"])
    assert measurement.exact_false_positive_rate == Fraction(golden["fpr_exact"])
    assert measurement.exact_false_negative_rate == Fraction(golden["fnr_exact"])
    assert measurement.value == golden["eer"]
    assert measurement.false_positive_rate == golden["fpr"]
    assert measurement.false_negative_rate == golden["fnr"]


def threshold_of(golden):
    """The lowest score that is called bona fide; infinite if there is none."""
    return math.inf if golden["threshold_lt"] is None else golden["threshold_lt"]


def coarse_cell(rule_set, hop, resolution):
    row, column = HOPS.index(hop), RESOLUTIONS.index(resolution)
    return Fraction(COARSE["rule_sets"][rule_set]["eer_exact"][row][column])


# ---------------------------------------------------------------- range-based


@pytest.mark.parametrize("name", RANGE_CASES)
def test_paper_range_eer_is_exact(name):
    case = load(name)
    golden = case.expected["rule_sets"]["paper_range"]
    measurement = ss.range_eer(case.references, case.scores, convention="paper")
    assert_equals(measurement, golden["result"])
    assert measurement.threshold == threshold_of(golden["result"])
    interpolated = ss.range_eer(case.references, case.scores, convention="paper", eer_rule="interpolated")
    assert interpolated.value == pytest.approx(golden["eer_interpolated"], rel=0, abs=1e-12)


@pytest.mark.parametrize("name", RANGE_CASES + BISECTION_CASES)
def test_nii_range_eer_is_exact(name):
    case = load(name)
    golden = case.expected["rule_sets"]["nii_range"]["result"]
    measurement = ss.range_eer(case.references, case.scores, convention="nii-2023")
    assert_equals(measurement, golden)
    assert measurement.threshold == threshold_of(golden)


@pytest.mark.parametrize("name", RANGE_CASES + BISECTION_CASES)
def test_nii_rates_are_those_of_the_script_at_any_threshold(name):
    case = load(name)
    curve = ss.error_curve(case.references, case.scores, convention="nii-2023")
    for row in case.expected["tools"]["nii_RangeEER"]["at_thresholds"]:
        point = curve.at(np.nextafter(row["threshold"], np.inf))  # the script calls s <= threshold spoof
        assert point.false_positive_rate == pytest.approx(row["fpr"], rel=0, abs=1e-12)
        assert point.false_negative_rate == pytest.approx(row["fnr"], rel=0, abs=1e-12)


@pytest.mark.parametrize("name", RANGE_CASES)
def test_wedefense_range_eer_is_exact(name):
    case = load(name)
    golden = case.expected["rule_sets"]["wedefense_range"]
    measurement = ss.range_eer(case.references, case.spoof_scores, convention="wedefense")
    assert_equals(measurement, golden["result_with_buckets"])


@pytest.mark.parametrize("name", RANGE_CASES)
def test_wedefense_range_eer_without_buckets_is_exact(name):
    case = load(name)
    golden = case.expected["rule_sets"]["wedefense_range"]
    for scores in (case.spoof_scores, case.scores):
        measurement = ss.range_eer(case.references, scores, convention="wedefense", eer_rule="nearest")
        assert_equals(measurement, golden["result_without_buckets"])


@pytest.mark.parametrize("run", MILLISECOND_RUNS)
@pytest.mark.parametrize("name", RANGE_CASES)
def test_millisecond_eer_is_exact(name, run):
    case = load(name)
    result, rules = MILLISECOND_RUNS[run]
    golden = case.expected["rule_sets"]["psm_mseer_decimal_comparison"]
    measurement = ss.range_eer(case.references, case.spoof_scores, convention="partialspoof-metrics", **rules)
    assert_equals(measurement, golden[result])


@pytest.mark.parametrize("name", RANGE_CASES)
def test_millisecond_eer_without_buckets_is_exact(name):
    case = load(name)
    golden = case.expected["rule_sets"]["psm_mseer_decimal_comparison"]
    for scores in (case.spoof_scores, case.scores):
        measurement = ss.range_eer(case.references, scores, convention="partialspoof-metrics", eer_rule="nearest")
        assert_equals(measurement, golden["result_without_buckets"])


@pytest.mark.parametrize("uncovered", UNCOVERED_RULES)
@pytest.mark.parametrize("gaps", GAP_RULES)
@pytest.mark.parametrize("name", RANGE_CASES)
def test_every_rule_for_gaps_and_uncovered_time_is_exact(name, gaps, uncovered):
    case = load(name)
    rows = case.expected["rule_grid_exact"]["rows"]
    (golden,) = [row for row in rows if (row["gap"], row["uncovered"]) == (gaps, uncovered)]
    rules = {
        "gaps": gaps,
        "uncovered": UNCOVERED_RULES[uncovered],
        "slack": 0,
        "snap": 0,
        "overlong": "cut",
    }
    measurement = ss.range_eer(case.references, case.scores, **rules)
    assert_equals(measurement, golden)
    assert measurement.threshold == threshold_of(golden)
    interpolated = ss.range_eer(case.references, case.scores, eer_rule="interpolated", **rules)
    assert interpolated.value == pytest.approx(golden["eer_interpolated"], rel=0, abs=1e-12)


@pytest.mark.parametrize("convention", ["paper", "nii-2023"])
@pytest.mark.parametrize("name", RANGE_CASES)
def test_the_column_for_spoof_gives_the_same_number(name, convention):
    case = load(name)
    measurement = ss.range_eer(case.references, case.scores, convention=convention)
    mirrored = ss.range_eer(case.references, case.spoof_scores, convention=convention)
    assert mirrored.exact_value == measurement.exact_value
    assert mirrored.exact_false_positive_rate == measurement.exact_false_positive_rate
    assert mirrored.exact_false_negative_rate == measurement.exact_false_negative_rate
    offset = 1 if name == "saturated" else 0
    assert mirrored.threshold == pytest.approx(offset - measurement.threshold, rel=0, abs=1e-9)


@pytest.mark.parametrize("name", RANGE_CASES)
def test_the_overlay_sums_to_the_labelled_time(name):
    case = load(name)
    (golden,) = [
        row
        for row in case.expected["rule_grid_exact"]["rows"]
        if (row["gap"], row["uncovered"]) == ("ignore", "stretch_last")
    ]
    mass = ss.overlay(case.references, case.scores, gaps="ignore", uncovered="hold", slack=0, snap=0, overlong="cut")
    assert int(mass.bona_fide.sum()) == golden["bona_fide_ms"] * 10**6
    assert int(mass.spoof.sum()) == golden["spoof_ms"] * 10**6


# ---------------------------------------------------------------- point-based


@pytest.mark.parametrize("run", POINT_RUNS)
@pytest.mark.parametrize("name", RANGE_CASES)
def test_frame_eer_is_exact(name, run):
    case = load(name)
    resolution, rules = POINT_RUNS[run]
    golden = case.expected["rule_sets"]["psm_frame_decimal_comparison"][run]
    measurement = ss.point_eer(
        case.references,
        case.spoof_scores,
        resolution=resolution,
        convention="partialspoof-metrics",
        **rules,
    )
    assert_equals(measurement, golden["result_with_buckets"])


@pytest.mark.parametrize("run", POINT_RUNS)
@pytest.mark.parametrize("name", RANGE_CASES)
def test_frame_eer_without_buckets_is_exact(name, run):
    case = load(name)
    resolution, _ = POINT_RUNS[run]
    golden = case.expected["rule_sets"]["psm_frame_decimal_comparison"][run]
    for scores in (case.spoof_scores, case.scores):
        measurement = ss.point_eer(
            case.references,
            scores,
            resolution=resolution,
            convention="partialspoof-metrics",
            eer_rule="nearest",
        )
        assert_equals(measurement, golden["result_without_buckets"])


@pytest.mark.parametrize(("hop", "resolution"), CELLS)
def test_the_papers_resolution_matrix_is_exact(hop, resolution):
    case = load("coarse")
    measurement = ss.point_eer(case.references, case.scores[hop], resolution=resolution, convention="paper")
    assert measurement.exact_value == coarse_cell("paper", hop, resolution)


@pytest.mark.parametrize(("hop", "resolution"), OTHER_CELLS)
def test_nii_segment_eer_not_finer_than_the_scores_is_exact(hop, resolution):
    case = load("coarse")
    measurement = ss.point_eer(case.references, case.scores[hop], resolution=resolution, convention="nii-2023")
    assert measurement.exact_value == coarse_cell("nii_segment", hop, resolution)


@pytest.mark.parametrize(("hop", "resolution"), FINER_CELLS)
def test_nii_segment_eer_finer_than_the_scores_has_rounded_labels_and_split_ties(hop, resolution):
    case = load("coarse")
    mass = ss.point_mass(case.references, case.scores[hop], resolution=resolution, label="rounded")
    assert eer_of_counts(mass, split_ties=True) == coarse_cell("nii_segment_exact_rounding", hop, resolution)


@pytest.mark.parametrize(("hop", "resolution"), FINER_CELLS)
def test_nii_convention_finer_than_the_scores_keeps_ties_together(hop, resolution):
    case = load("coarse")
    mass = ss.point_mass(case.references, case.scores[hop], resolution=resolution, label="rounded")
    measurement = ss.point_eer(case.references, case.scores[hop], resolution=resolution, convention="nii-2023")
    assert measurement.exact_value == eer_of_counts(mass, split_ties=False)


@pytest.mark.parametrize(("hop", "resolution"), CELLS)
def test_the_papers_matrix_with_split_ties_is_exact(hop, resolution):
    case = load("coarse")
    mass = ss.point_mass(case.references, case.scores[hop], resolution=resolution, label="any")
    assert eer_of_counts(mass, split_ties=True) == coarse_cell("paper_split_ties", hop, resolution)


@pytest.mark.parametrize("resolution", any_spoof_labels())
def test_any_spoof_labels_are_those_of_the_corpus(resolution):
    labels = any_spoof_labels()[resolution]
    firsts = accumulate((len(row) for row in labels.values()), initial=0)
    numbers = {
        utterance: np.arange(first, first + len(row), dtype=np.float64)
        for (utterance, row), first in zip(labels.items(), firsts, strict=False)
    }
    scores = ss.Scores.from_frames(numbers, hop=resolution, higher="bonafide")  # each point its own score
    mass = ss.point_mass(load("coarse").references, scores, resolution=resolution, label="any")
    spoofs = {int(score) for score, count in zip(mass.scores, mass.spoof, strict=True) if count}
    expected = "".join(labels.values())
    assert "".join("0" if number in spoofs else "1" for number in range(len(expected))) == expected
    assert int(mass.bona_fide.sum()) + int(mass.spoof.sum()) == len(expected)


def eer_of_counts(mass, *, split_ties):
    """Rates after every single point (bona fide first among equal scores), or after every distinct score."""
    counts = defaultdict(lambda: [0, 0])
    for score, bona_fide, spoof in zip(mass.scores, mass.bona_fide, mass.spoof, strict=True):
        counts[float(score)][0] += int(bona_fide)
        counts[float(score)][1] += int(spoof)
    bona_fide_total, spoof_total = (sum(column) for column in zip(*counts.values(), strict=True))
    false_positives, false_negatives = 0, spoof_total
    rates = [(Fraction(0), Fraction(1))]
    for score in sorted(counts):
        bona_fide, spoof = counts[score]
        steps = [(1, 0)] * bona_fide + [(0, 1)] * spoof if split_ties else [(bona_fide, spoof)]
        for bona_fide_step, spoof_step in steps:
            false_positives += bona_fide_step
            false_negatives -= spoof_step
            rates.append((Fraction(false_positives, bona_fide_total), Fraction(false_negatives, spoof_total)))
    return sum(min(rates, key=lambda pair: abs(pair[0] - pair[1]))) / 2


# ---------------------------------------------------------------- the tools themselves


@pytest.mark.parametrize("name", RANGE_CASES + BISECTION_CASES)
def test_nii_convention_gives_what_the_script_gives(name):
    case = load(name)
    script = case.expected["tools"]["nii_RangeEER"]["argmin_over_all_distinct_scores"]
    assert case.expected["agreement"]["nii_RangeEER vs nii_range"]["explained"]
    measurement = ss.range_eer(case.references, case.scores, convention="nii-2023")
    assert measurement.value == pytest.approx(script["eer"], rel=0, abs=1e-9)


@pytest.mark.parametrize("name", RANGE_CASES)
def test_wedefense_convention_gives_what_the_tool_gives(name):
    case = load(name)
    tools = case.expected["tools"]
    assert case.expected["agreement"]["wedefense vs wedefense_range with buckets"]["explained"]
    measurement = ss.range_eer(case.references, case.spoof_scores, convention="wedefense")
    assert measurement.value == pytest.approx(tools["wedefense_rangeeer"]["eer"], rel=0, abs=1e-9)
    swapped = tools["wedefense_rangeeer_rttm_starting_with_spoof"]["eer"]
    assert measurement.value == pytest.approx(1 - swapped, rel=0, abs=1e-9)


@pytest.mark.parametrize("run", MILLISECOND_RUNS)
@pytest.mark.parametrize("name", RANGE_CASES)
def test_millisecond_eer_is_as_far_from_the_tool_as_documented(name, run):
    case = load(name)
    _, rules = MILLISECOND_RUNS[run]
    measurement = ss.range_eer(case.references, case.spoof_scores, convention="partialspoof-metrics", **rules)
    assert_distance(case, measurement, run, "psm_mseer_decimal_comparison")


@pytest.mark.parametrize("run", POINT_RUNS)
@pytest.mark.parametrize("name", RANGE_CASES)
def test_frame_eer_is_as_far_from_the_tool_as_documented(name, run):
    case = load(name)
    resolution, rules = POINT_RUNS[run]
    measurement = ss.point_eer(
        case.references, case.spoof_scores, resolution=resolution, convention="partialspoof-metrics", **rules
    )
    assert_distance(case, measurement, run, "psm_frame_decimal_comparison")


@pytest.mark.parametrize(("hop", "resolution"), OTHER_CELLS)
def test_segment_eer_is_that_of_the_script_unless_finer_than_the_scores(hop, resolution):
    case = load("coarse")
    script = COARSE["tools"]["nii_SegmentEER"]["eer"][HOPS.index(hop)][RESOLUTIONS.index(resolution)]
    measurement = ss.point_eer(case.references, case.scores[hop], resolution=resolution, convention="nii-2023")
    assert measurement.value == pytest.approx(script, rel=0, abs=1e-9)


def assert_distance(case, measurement, run, rule_set):
    """The tool differs by what the golden case says; by nothing where its rules explain its number."""
    printed = case.expected["tools"][f"partialspoof_metrics_{run}"]["eer"]
    documented = case.expected["agreement"][f"{run} vs {rule_set}"]
    assert abs(measurement.value - printed) == pytest.approx(documented["abs_diff_eer"], rel=0, abs=1e-9)
    if documented["explained"]:
        assert measurement.value == pytest.approx(printed, rel=0, abs=1e-9)


# ---------------------------------------------------------------- Algorithm 1


@pytest.mark.parametrize("name", BISECTION_CASES)
def test_bisection_reaches_the_eer_where_the_script_stops_or_crashes(name):
    case = load(name)
    measurement = ss.bisection_eer(case.references, case.scores, precision=1e-5)
    assert measurement.reached
    assert measurement.value == pytest.approx(0.1, rel=0, abs=1e-12)


@pytest.mark.parametrize("name", RANGE_CASES)
def test_bisection_ends_where_the_script_runs_forever_and_finds_the_same_rates(name):
    case = load(name)
    script = case.expected["tools"]["nii_RangeEER"]["own_bisection"]
    assert script["outcome"] == "does not terminate"
    measurement = ss.bisection_eer(
        case.references, case.scores, precision=1e-5, quantiles="real", convention="nii-2023"
    )
    assert not measurement.reached
    assert measurement.value == pytest.approx(script["best_row_written"]["eer"], rel=0, abs=1e-9)


# ---------------------------------------------------------------- the page


def test_the_page_on_other_tools_is_made_from_these_cases():
    script = Path(__file__).parents[2] / "docs" / "make_other_tools.py"
    subprocess.run([sys.executable, str(script), "--check"], check=True)
