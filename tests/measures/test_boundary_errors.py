"""Errors at the edges of matched events: mir_eval, symmetries, intervals; brute forces are in test_event_measures."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.measures.events.boundary_errors import MedianTally

pytestmark = pytest.mark.quick

GOLDEN = Path(__file__).parents[1] / "golden" / "matched_edges"
NAMES = ["event-onset-bias", "event-offset-bias", "event-onset-error", "event-offset-median-error", "event-mean-iou"]


@pytest.fixture(scope="module")
def case():
    return json.loads((GOLDEN / "case.json").read_text(encoding="utf-8"))["files"]


def sides(files, mirrored=False):
    """References and proposals; mirrored in time, every edge t of an utterance of length d becomes d - t."""

    def spans(one, rows):
        ends = [(float(a), float(b)) for *_, a, b in rows]
        return [(float(one["duration"]) - b, float(one["duration"]) - a) for a, b in ends[::-1]] if mirrored else ends

    events = {file: [(*span, "spoof") for span in spans(one, one["events"])] for file, one in files.items()}
    proposals = {file: [(*span, 0.5) for span in spans(one, one["proposals"])] for file, one in files.items()}
    durations = {file: float(one["duration"]) for file, one in files.items()}
    return ss.References.from_ranges(events, durations), ss.Proposals.from_ranges(proposals)


@pytest.mark.parametrize("edge", ["onset", "offset", "boundary"])
def test_errors_are_those_of_mir_eval(edge, case):
    expected = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))["mir_eval"][edge]
    mean, median = f"event-{edge}-error", f"event-{edge}-median-error"
    found = ss.evaluate(*sides(case), [mean, median])
    assert found[mean].value == pytest.approx(expected["mean"], abs=1e-11)
    assert found[median].value == pytest.approx(expected["median"], abs=1e-11)
    assert found[mean].parts["matched"] * (2 if edge == "boundary" else 1) == expected["pairs"]


def test_mirrored_time_swaps_the_edges_and_the_sign(case):
    found, mirrored = (ss.evaluate(*sides(case, mirrored=one), [*NAMES, "event-offset-error"]) for one in (False, True))
    assert mirrored["event-onset-bias"].value == -found["event-offset-bias"].value != 0
    assert mirrored["event-onset-error"].value == found["event-offset-error"].value
    assert mirrored["event-mean-iou"].value == found["event-mean-iou"].value


def test_a_shift_of_all_ranges_is_the_bias():
    references = ss.References.from_ranges({"a": [(1.0, 2.0, "spoof"), (5.0, 6.0, "spoof")]}, {"a": 8.0})
    late = ss.Proposals.from_ranges({"a": [(1.1, 2.1, 0.9), (5.1, 6.1, 0.2), (3.0, 3.5, 0.9)]})
    found = ss.evaluate(references, late, NAMES)
    values = [one.value for one in found.measurements.values()]
    assert values == [0.1, 0.1, 0.1, 0.1, float(Fraction(9, 11))]
    assert found["event-onset-bias"].notes == ("in seconds, of the 2 of 2 events that are matched",)


def test_equal_confidences_do_not_depend_on_the_order_of_the_file():
    references = ss.References.from_ranges({"a": [(1.0, 2.0, "spoof")]}, {"a": 3.0})
    rows = [(1.1, 2.0, 0.5), (0.95, 2.0, 0.5), (1.2, 2.0, 0.5)]
    for listed in (rows, rows[::-1]):
        found = ss.evaluate(references, ss.Proposals.from_ranges({"a": listed}), "event-onset-bias")
        assert found["event-onset-bias"].value == -0.05  # of equals, the range that starts first takes the event


@pytest.mark.filterwarnings("ignore:.*fewer than 30")
def test_the_interval_of_a_mean_is_the_jackknife_of_means(case):
    references, proposals = sides(case)
    found = ss.interval(references, proposals, "event-onset-bias")
    errors = {file: [] for file in case}
    for file, one in case.items():
        for _, start, end in one["proposals"]:
            near = [a for a, b in one["events"] if float(a) < float(end) and float(start) < float(b)]
            errors[file] += [float(start) - float(a) for a in near]
    without = [np.mean([x for other in case if other != file for x in errors[other]]) for file in case]
    count = len(without)
    error = np.sqrt((count - 1) / count * np.sum((np.array(without) - np.mean(without)) ** 2))
    assert found.standard_error == pytest.approx(error, rel=0.05)  # utterances without any event count on no side
    assert found.low < 0 < found.high


def test_the_median_without_a_part_moves_as_the_density_says():
    draw = np.random.default_rng(1)
    errors = (1e8 * draw.exponential(size=4001)).astype(np.int64)
    whole, rank = MedianTally((errors,), 4001, 5000), np.argsort(errors)
    measure = ss.Measure.parse("event-onset-median-error")
    for gone in (rank[:40], rank[-40:], rank[::100]):
        part = MedianTally((errors[gone],), gone.size, gone.size)
        expected = np.median(np.delete(errors, gone)) / 1e9
        assert (whole - part).value(measure).value == pytest.approx(expected, rel=2e-2)
    assert (whole - MedianTally((errors[:0],), 0, 0)).value(measure).value == whole.value(measure).value
    with pytest.raises(ss.UndefinedMeasureError, match="needs matched events"):
        (whole - whole).value(measure)


@pytest.mark.filterwarnings("ignore:.*fewer than 30")
def test_a_bias_does_not_rank_systems(case):
    references, proposals = sides(case)
    with pytest.raises(ss.UsageError, match=r"not ranked by onset-bias.*take onset-error"):
        ss.compare(references, {"a": proposals, "b": proposals}, "event-onset-bias")
    earlier = replace(proposals, starts=proposals.starts - 10_000_000)
    (found,) = ss.compare(references, {"a": proposals, "b": earlier}, "event-onset-error").differences
    assert 0 < abs(found.value) <= 0.01


def test_a_mean_of_medians_of_shards_is_not_the_median_but_the_tally_is():
    parts = [MedianTally((np.array(one, np.int64),), len(one), len(one)) for one in ([1, 9, 5], [2], [8, 3])]
    measure = ss.Measure.parse("event-onset-median-error")
    assert sum(parts[1:], parts[0]).value(measure).value == 4e-9
