"""What figures show: thinned curves stay near the exact ones, pictures of one utterance have its measured errors."""

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spoofspan as ss
from spoofspan.report.figures import figure_data as data
from spoofspan.report.figures.line_simplification import TOLERANCE, deviates, rates_of, thin_det, thin_function
from spoofspan.report.figures.utterance_data import measurement_data, points_data, resampling_data, timeline_data
from spoofspan.uncertainty import interval

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # small corpora have wide gaps


@pytest.fixture(scope="module")
def corpus():
    import spoofspan.demo

    return spoofspan.demo.load()


@pytest.fixture(scope="module")
def system(corpus):
    return data.system_curve(corpus.references, corpus.systems[0.02], "20 ms")


def large(count=400_000, higher="bonafide", seed=0):
    """Frames of two normal distributions, all distinct, in one long utterance each."""
    rng = np.random.default_rng(seed)
    sign = 1 if higher == "bonafide" else -1
    values = sign * np.concatenate((rng.normal(1.0, 1.0, count), rng.normal(-1.0, 1.3, count // 2)))
    hop = 0.02
    references = ss.References.from_ranges(
        {"u": [(0.0, count * hop, "bonafide"), (count * hop, values.size * hop, "spoof")]},
        durations={"u": values.size * hop},
    )
    return references, ss.Scores.from_frames({"u": values}, hop=hop, higher=higher)


def furthest_rates(x, y, kept):
    """How far, in rates, exact points are from the nearest point of the lines between kept ones, drawn in deviates."""
    u, v = deviates(x), deviates(y)
    a, b = np.stack((u[kept][:-1], v[kept][:-1]), 1), np.stack((u[kept][1:], v[kept][1:]), 1)
    span = b - a
    squared = np.maximum((span**2).sum(1), 1e-300)
    worst = 0.0
    for point in np.stack((u, v), 1):
        along = np.clip(((point - a) * span).sum(1) / squared, 0, 1)
        feet = a + along[:, None] * span
        foot = feet[((feet - point) ** 2).sum(1).argmin()]
        worst = max(worst, float(np.abs(rates_of(foot) - rates_of(point)).max()))
    return worst


# ---------------------------------------------------------------- thinning


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=120), st.booleans())
def test_a_thinned_det_curve_shows_every_point(steps, fine):
    amounts = np.cumsum(np.array([(0, 0), *steps], float) ** (0.2 if fine else 1), axis=0)
    x, y = amounts[:, 0] / max(amounts[-1, 0], 1), 1 - amounts[:, 1] / max(amounts[-1, 1], 1)
    kept = thin_det(x, y)
    assert kept[0] == 0
    assert kept[-1] == x.size - 1
    assert furthest_rates(x, y, kept) <= TOLERANCE


@pytest.mark.slow
def test_a_large_curve_becomes_small_and_stays_near():
    references, scores = large()
    system = data.system_curve(references, scores)
    exact = ss.error_curve(references, scores)
    assert len(exact) == 600_001
    found = data.det_data(system)
    assert found.false_positive_rates.size < 500
    # scores are all distinct, so both rates together tell the points apart
    place = {both: i for i, both in enumerate(zip(exact.false_positive_rates, exact.false_negative_rates, strict=True))}
    kept = [place[both] for both in zip(found.false_positive_rates, found.false_negative_rates, strict=True)]
    assert (kept[0], kept[-1]) == (0, len(exact) - 1)
    some = np.unique(np.concatenate((kept, np.linspace(0, len(exact) - 1, 2000).astype(int))))
    among = np.searchsorted(some, kept)
    assert furthest_rates(exact.false_positive_rates[some], exact.false_negative_rates[some], among) <= TOLERANCE
    rates = data.threshold_data(system)
    assert rates.false_positive.x.size + rates.false_negative.x.size < 500
    assert len(json.dumps([data.plain(found), data.plain(rates), data.plain(data.score_data(system))])) < 60_000


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
def test_rates_over_the_threshold_are_near_everywhere(higher):
    references, scores = large(20_000, higher)
    system = data.system_curve(references, scores)
    found, exact = data.threshold_data(system), ss.error_curve(references, scores)
    assert (np.diff(found.false_positive.x) >= 0).all()
    for tau in np.random.default_rng(1).uniform(-6, 6, 3000):
        point = exact.at(float(tau))
        for line, rate in (
            (found.false_positive, point.false_positive_rate),
            (found.false_negative, point.false_negative_rate),
        ):
            assert abs(np.interp(tau, line.x, line.y) - rate) <= TOLERANCE + 1e-12


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
def test_a_few_distinct_scores_are_exact_steps(higher):
    sign = 1 if higher == "bonafide" else -1
    references = ss.References.from_ranges({"u": [(0.0, 0.06, "bonafide"), (0.06, 0.12, "spoof")]})
    frames = {"u": [sign * one for one in (0.9, 0.8, 0.2, 0.5, 0.1, 0.1)]}
    scores = ss.Scores.from_frames(frames, hop=0.02, higher=higher)
    found, exact = data.threshold_data(data.system_curve(references, scores)), ss.error_curve(references, scores)
    for tau in (0.05, 0.15, 0.3, 0.6, 0.85, 0.95):
        point = exact.at(sign * tau)
        assert np.interp(sign * tau, found.false_positive.x, found.false_positive.y) == point.false_positive_rate
        assert np.interp(sign * tau, found.false_negative.x, found.false_negative.y) == point.false_negative_rate


def test_infinite_scores_and_one_score_are_drawable():
    references = ss.References.from_ranges({"u": [(0.0, 0.04, "bonafide"), (0.04, 0.08, "spoof")]})
    for frames in ([np.inf, 0.5, 0.5, -np.inf], [1.0, 1.0, 1.0, 1.0]):
        system = data.system_curve(references, ss.Scores.from_frames({"u": frames}, hop=0.02, higher="bonafide"))
        scores, rates = data.score_data(system, bins=4), data.threshold_data(system)
        assert np.isfinite(scores.edges).all()
        assert np.isfinite(rates.false_positive.x).all()
        assert scores.bona_fide.sum() + sum(scores.bona_fide_outside) == pytest.approx(1)
        assert scores.spoof.sum() + sum(scores.spoof_outside) == pytest.approx(1)


def test_deviates_are_those_of_scipy_like_tables():
    # quantiles of the normal distribution, from a printed table
    assert deviates([0.5, 0.8413447461, 0.9772498681, 0.0013498980]) == pytest.approx([0, 1, 2, -3], abs=1e-8)
    assert rates_of(deviates([0.001, 0.3, 0.999])) == pytest.approx([0.001, 0.3, 0.999], abs=1e-12)
    assert np.isfinite(deviates([0.0, 1.0])).all()


def test_a_jump_is_kept_whole():
    x, y = np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 0.0, 1.0, 1.0])
    assert thin_function(x, y).tolist() == [0, 1, 2, 3]


# ---------------------------------------------------------------- systems


def test_the_eer_on_a_det_curve_is_the_measured_one(corpus, system):
    found_interval = interval(corpus.references, corpus.systems[0.02], replicates=200, seed=1, method="percentile")
    found = data.det_data(data.system_curve(corpus.references, corpus.systems[0.02], interval=found_interval))
    measured = ss.range_eer(corpus.references, corpus.systems[0.02])
    assert (found.eer, found.low, found.high) == (measured.value, found_interval.low, found_interval.high)
    assert (found.eer_false_positive_rate, found.eer_false_negative_rate) == (
        measured.false_positive_rate,
        measured.false_negative_rate,
    )
    assert data.det_data(system).low is None
    with pytest.raises(ss.UsageError, match="one of range-eer, the curve one of point-eer@20ms"):
        data.system_curve(corpus.references, corpus.systems[0.02], resolution=0.02, interval=found_interval)


def test_points_have_curves_too(corpus):
    found = data.system_curve(corpus.references, corpus.systems[0.02], resolution=0.04)
    assert found.eer.value == ss.point_eer(corpus.references, corpus.systems[0.02], 0.04).value
    assert data.score_data(found).unit == "points"


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
def test_scores_are_weighted_by_duration(higher):
    sign = 1 if higher == "bonafide" else -1
    references = ss.References.from_ranges({"u": [(0.0, 0.5, "bonafide"), (0.5, 1.0, "spoof")]})
    ranges = {"u": [(0.0, 0.4, sign * 0.9), (0.4, 0.6, sign * 0.1), (0.6, 1.0, sign * -0.5)]}
    found = data.score_data(data.system_curve(references, ss.Scores.from_ranges(ranges, higher=higher)), bins=7)
    low, high = sorted((sign * -0.5, sign * 0.9))
    assert (found.edges[0], found.edges[-1]) == (low, high)
    # by hand: 0.4 s bona fide at 0.9, 0.1 s of both at 0.1, 0.4 s spoof at -0.5
    expected = {"bona_fide": {0.9: 0.8, 0.1: 0.2}, "spoof": {0.1: 0.2, -0.5: 0.8}}
    for column, shares in expected.items():
        bins = np.histogram([sign * score for score in shares], found.edges, weights=list(shares.values()))[0]
        np.testing.assert_allclose(getattr(found, column), bins, rtol=1e-12)
    assert found.higher == higher


def test_what_lies_outside_of_the_bins_is_counted():
    references, scores = large(50_000)
    found = data.score_data(data.system_curve(references, scores))
    assert found.bona_fide.sum() + sum(found.bona_fide_outside) == pytest.approx(1, abs=1e-12)
    assert 0 < found.spoof_outside[0] <= 0.001 + 1e-9
    assert 0 < found.bona_fide_outside[1] <= 0.001 + 1e-9


def test_eer_over_resolution_is_the_table(corpus):
    systems = {0.02: corpus.systems[0.02]}
    table = ss.resolution_table(corpus.references, systems, [0.04, 0.01])
    (found,) = data.resolution_data(table)
    assert found.resolutions.tolist() == [0.01, 0.04]
    assert found.point_eers.tolist() == [table[0.02].point_eers[one].value for one in (0.01, 0.04)]
    assert (found.range_eer, found.floor) == (table[0.02].range_eer.value, table[0.02].floor.value)


def test_time_and_error_near_boundaries_are_those_of_a_count_by_hand():
    references = ss.References.from_ranges({"u": [(0.0, 0.5, "bonafide"), (0.5, 1.0, "spoof")]})
    ranges = {
        "u": [
            (0.0, 0.1, -1.0),
            (0.1, 0.45, 1.0),
            (0.45, 0.5, -1.0),
            (0.5, 0.6, 1.0),
            (0.6, 0.95, -1.0),
            (0.95, 1.0, 1.0),
        ]
    }
    found = data.boundary_data(
        references, ss.Scores.from_ranges(ranges, higher="bonafide"), "made up", distances=(0.05, 0.2)
    )
    # errors: bona fide 0.1 s far and 0.05 s near, spoof 0.1 s near and 0.05 s far: 0.3 s in all
    assert found.share_of_error == pytest.approx([0.1 / 0.3, 0.15 / 0.3])
    assert found.share_of_time == pytest.approx([0.1, 0.4])
    assert found.eer == pytest.approx(0.3)
    outside = [
        ss.range_eer(references, ss.Scores.from_ranges(ranges, higher="bonafide"), collar=d).value for d in (0.05, 0.2)
    ]
    assert found.eer_outside.tolist() == outside


# ---------------------------------------------------------------- one utterance


def example(higher="bonafide"):
    sign = 1 if higher == "bonafide" else -1
    references = ss.References.from_ranges(
        {"a": [(0.0, 0.05, "bonafide"), (0.05, 0.1, "spoof")], "b": [(0.0, 0.03, "spoof"), (0.03, 0.09, "bonafide")]}
    )
    frames = {
        "b": [sign * one for one in (0.2, 0.8, 0.3, 0.9, 0.7)],
        "a": [sign * one for one in (0.9, 0.2, 0.8, 0.7, 0.1)],
    }
    return references, ss.Scores.from_frames(frames, hop=0.02, higher=higher)


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
def test_a_timeline_by_hand(higher):
    references, scores = example(higher)
    found = timeline_data(references, scores, "a", 0.5 if higher == "bonafide" else -0.5)
    assert [(one.start, one.end, one.label) for one in found.reference] == [(0, 0.05, "bonafide"), (0.05, 0.1, "spoof")]
    assert [(one.start, one.end, one.label) for one in found.decision] == [
        (0, 0.02, "bonafide"),
        (0.02, 0.04, "spoof"),
        (0.04, 0.08, "bonafide"),
        (0.08, 0.1, "spoof"),
    ]
    assert [(one.start, one.end, one.label) for one in found.errors] == [
        (0.02, 0.04, "false_positive"),
        (0.05, 0.08, "false_negative"),
    ]
    assert found.scores.tolist() == scores.values[5:].tolist()


def test_the_errors_of_every_timeline_are_the_measured_ones(corpus):
    for hop, threshold in ((0.02, 0.16), (0.32, 0.0)):
        scores = corpus.systems[hop]
        errors = ss.errors_by_utterance(corpus.references, scores, threshold)
        for i, utterance in enumerate(errors.utterances):
            found = timeline_data(corpus.references, scores, utterance, threshold)
            assert found.seconds("false_positive") == pytest.approx(errors.false_positive[i] / 1e9, abs=1e-9)
            assert found.seconds("false_negative") == pytest.approx(errors.false_negative[i] / 1e9, abs=1e-9)
            assert sum(one.end - one.start for one in found.outcomes) == pytest.approx(found.duration)


@pytest.mark.parametrize(
    ("rule", "outcome"), [("bonafide", "false_negative"), ("spoof", "true_positive"), ("unanswered", "unanswered")]
)
def test_time_without_a_score_is_shown_as_it_is_measured(rule, outcome):
    references = ss.References.from_ranges({"u": [(0.0, 0.1, "bonafide"), (0.1, 0.2, "spoof")]})
    scores = ss.Scores.from_ranges({"u": [(0.0, 0.15, 1.0)]}, higher="bonafide")
    found = timeline_data(references, scores, "u", 0.5, uncovered=rule, slack=0.0)
    assert (found.outcomes[-1].end, found.outcomes[-1].label) == (0.2, outcome)
    assert found.seconds(outcome) == pytest.approx(0.1 if outcome == "false_negative" else 0.05)


@pytest.mark.parametrize("resolution", [0.01, 0.02, 0.03, 0.16])
@pytest.mark.parametrize("hop", [0.02, 0.16])
def test_points_are_the_measured_ones(corpus, hop, resolution):
    scores, threshold = corpus.systems[hop], 0.1
    point = ss.error_curve(corpus.references, scores, resolution=resolution).at(threshold)
    found = [points_data(corpus.references, scores, utt, resolution, threshold) for utt in scores.utterances]
    assert sum(one.count("false_positive") for one in found) == point.false_positive
    assert sum(one.count("false_negative") for one in found) == point.false_negative
    assert sum(one.labels.count("spoof") for one in found) == point.spoof
    assert sum(one.labels.count("bonafide") for one in found) == point.bona_fide


def test_points_and_ranges_of_one_utterance_by_hand():
    references, scores = example()
    found = measurement_data(references, scores, "a", 0.02, 0.5)
    assert found.points.labels == ("bonafide", "bonafide", "spoof", "spoof", "spoof")
    assert found.points.outcomes == (
        "true_negative",
        "false_positive",
        "false_negative",
        "false_negative",
        "true_positive",
    )
    assert found.ranges.seconds("false_negative") == pytest.approx(0.03)


def test_resampling_repeats_scores_or_keeps_the_lowest():
    references, scores = example()
    found = resampling_data(references, scores, "a", [0.04, 0.01, 0.08], 0.5)
    assert [one.resolution for one in found.finer] == [0.01]
    assert [one.resolution for one in found.coarser] == [0.04, 0.08]
    assert found.finer[0].scores.tolist() == [0.9, 0.9, 0.2, 0.2, 0.8, 0.8, 0.7, 0.7, 0.1, 0.1]
    assert found.coarser[0].scores.tolist() == [0.2, 0.7, 0.1]
    mirrored = resampling_data(*example("spoof"), "a", [0.04], -0.5)
    assert mirrored.coarser[0].scores.tolist() == [-0.2, -0.7, -0.1]
    ranges = ss.Scores.from_ranges({"a": [(0.0, 0.1, 1.0)]}, higher="bonafide")
    with pytest.raises(ss.UsageError, match="no resolution of their own"):
        resampling_data(references, ranges, "a", [0.04], 0.5)


def test_a_waveform_keeps_its_peaks():
    references, scores = example()
    samples = np.zeros(1600)
    samples[700], samples[900] = 0.9, -0.8
    found = timeline_data(references, scores, "a", 0.5, samples=samples, sample_rate=16000)
    assert found.waveform.high.max() == 0.9
    assert found.waveform.low.min() == -0.8
    assert found.waveform.times[found.waveform.high.argmax()] == pytest.approx(700 / 16000, abs=2e-4)
    for wrong in (
        {"samples": samples},
        {"samples": samples[None], "sample_rate": 1.0},
        {"samples": [], "sample_rate": 1.0},
    ):
        with pytest.raises(ss.UsageError):
            timeline_data(references, scores, "a", 0.5, **wrong)


def test_wrong_names_and_thresholds_are_refused():
    references, scores = example()
    with pytest.raises(ss.UsageError, match="no utterance 'c' in the references"):
        timeline_data(references, scores, "c", 0.5)
    with pytest.raises(ss.UsageError, match="NaN"):
        timeline_data(references, scores, "a", float("nan"))
    with pytest.raises(ss.UsageError, match="bin"):
        data.score_data(data.system_curve(references, scores), bins=0)


def test_data_are_ready_for_json(corpus, system):
    everything = [data.det_data(system), data.threshold_data(system), data.score_data(system)]
    everything.append(timeline_data(corpus.references, corpus.systems[0.02], corpus.references.utterances[0], 0.1))
    for one in everything:
        assert json.loads(json.dumps(data.plain(one)))["name" if hasattr(one, "name") else "utterance"]


def test_data_need_no_matplotlib():
    modules = "spoofspan.report.figures.figure_data, spoofspan.report.figures.utterance_data"
    code = f"import sys, {modules}; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
