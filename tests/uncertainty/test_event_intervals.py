"""Intervals of event measures: the jackknife by hand, and from the command line."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from test_jackknife import error_of_a_difference

import spoofspan as ss
from spoofspan.cli import app
from spoofspan.uncertainty import event_intervals
from spoofspan.uncertainty.jackknife import bounds
from spoofspan.uncertainty.student import quantile

MEASURES = ["event-ap@iou=0.5", "event-ar@n=5", "event-f1@iou=0.5", "event-boundary-f1@tolerance=0.1", "add2023"]
MEASURES += ["event-avdeepfake1m", "event-ap-activitynet@iou=0.5"]


def corpus(count=40, seed=0):
    """Utterances with one or two events, or none, and proposals that are near some of them."""
    rng = np.random.default_rng(seed)
    ranges, proposed = {}, {}
    for i in range(count):
        first = float(rng.uniform(0.2, 0.8))
        spoofs = [(first, first + 0.5)] if i % 4 else []
        if i % 3 == 0 and spoofs:
            spoofs.append((2.0, 2.6))
        ranges[f"u{i:03d}"] = [(*one, "spoof") for one in spoofs]
        shifted = [
            (max(a + float(rng.normal(0, 0.1)), 0.0), b + float(rng.normal(0, 0.1)), float(rng.random()))
            for a, b in spoofs
            if rng.random() < 0.8
        ]
        proposed[f"u{i:03d}"] = [*shifted, (3.0, 3.3, float(rng.random()) * 0.6)][: 3 if i % 2 else 2]
    durations = dict.fromkeys(ranges, 4.0)
    return ss.References.from_ranges(ranges, durations=durations), ss.Proposals.from_ranges(proposed)


@pytest.mark.parametrize("measure", MEASURES)
def test_the_interval_is_the_jackknife_by_hand(measure):
    references, proposals = corpus()
    found = ss.evaluate(references, proposals, [measure], confidence=0.9)[measure]
    values = []
    for left in references.utterances:
        kept = [i for i, utt in enumerate(references.utterances) if utt != left]
        there = [i for i, utt in enumerate(proposals.utterances) if utt != left]
        rest = ss.evaluate(references.take(np.array(kept)), proposals.take(np.array(there)), [measure])
        values.append(rest[measure].value)
    values = np.array(values)
    squares = (values - values.mean()) ** 2
    error = (39 / 40 * squares.sum()) ** 0.5
    assert found.interval.standard_error == pytest.approx(error)
    assert (found.interval.with_bona_fide, found.interval.with_spoof, found.interval.clusters) == (None, 30, 40)
    spread = ((squares - squares.mean()) ** 2).sum() * 40 / 39
    degrees = max(min(2 * squares.sum() ** 2 / spread, 29), 1)
    value = found.value
    reach = quantile(0.9, degrees) * error / (value * (1 - value))
    logit = np.log(value / (1 - value))
    ends = 1 / (1 + np.exp(-(logit + np.array([-reach, reach]))))
    assert (found.interval.low, found.interval.high) == pytest.approx(tuple(ends))


def test_an_error_rate_over_1_has_an_interval_over_1():
    references, _ = corpus()
    false = {
        utt: [(2.7 + 0.1 * k, 2.75 + 0.1 * k, 0.5) for k in range(1 + i % 4)]
        for i, utt in enumerate(references.utterances)
    }
    name = "event-collar-error-rate"
    found = ss.evaluate(references, ss.Proposals.from_ranges(false), [name], confidence=0.95)
    assert 1 < found[name].interval.low < found[name].value < found[name].interval.high


def test_many_clusters_are_left_out_in_groups(monkeypatch):
    references, proposals = corpus(120)
    each = ss.evaluate(references, proposals, ["event-f1@iou=0.5"], confidence=0.95)["event-f1@iou=0.5"].interval
    monkeypatch.setattr(event_intervals, "MOST_LEFT_OUT", 100)
    monkeypatch.setattr(event_intervals, "GROUPS_LEFT_OUT", 40)
    grouped = ss.evaluate(references, proposals, ["event-f1@iou=0.5"], confidence=0.95)["event-f1@iou=0.5"].interval
    assert grouped.clusters == each.clusters == 120
    assert grouped.standard_error == pytest.approx(each.standard_error, rel=0.35)


def test_speakers_may_be_left_out():
    references, proposals = corpus()
    speakers = {utt: f"S{i % 8}" for i, utt in enumerate(references.utterances)}
    with pytest.warns(ss.SpoofspanWarning, match="few"):
        found = ss.evaluate(
            references,
            proposals,
            ["event-f1@iou=0.5"],
            resampling=ss.Resampling(clusters=speakers, clusters_are="speaker"),
        )["event-f1@iou=0.5"]
    assert (found.interval.clusters, found.interval.drawn_by) == (8, "speaker")
    with pytest.raises(ss.UsageError, match="jackknife-t"):
        ss.evaluate(references, proposals, ["event-f1@iou=0.5"], resampling=ss.Resampling(method="percentile"))


def test_events_of_scores_have_intervals_on_the_command_line(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo")])
    assert done.exit_code == 0
    folder = tmp_path / "demo"
    typed = ["eval", folder / "references.rttm", folder / "unit0.16.score", "--durations", folder / "reco2dur"]
    typed += ["-m", "event-f1@iou=0.5", "--confidence", "0.95"]
    text = CliRunner().invoke(app, [str(one) for one in typed]).stdout
    assert "95 % from" in text
    plain = json.loads(CliRunner().invoke(app, [str(one) for one in (*typed, "--format", "json")]).stdout)
    interval = plain["measurements"][0]["interval"]
    assert 0 < interval["low"] < interval["estimate"] < interval["high"] < 1
    assert interval["method"] == "jackknife-t"


def test_systems_are_compared_by_events_as_the_jackknife_by_hand():
    references, proposals = corpus()
    _, others = corpus(seed=3)
    name = "event-f1@iou=0.5"
    found = ss.compare(references, {"A": proposals, "B": others}, name)
    values = {"A": [], "B": []}
    for left in references.utterances:
        kept = np.array([i for i, utt in enumerate(references.utterances) if utt != left])
        for system, one in (("A", proposals), ("B", others)):
            there = np.array([i for i, utt in enumerate(one.utterances) if utt != left])
            values[system].append(ss.evaluate(references.take(kept), one.take(there), [name])[name].value)
    whole = [ss.evaluate(references, one, [name])[name].value for one in (proposals, others)]
    difference = found["A", "B"]
    error = error_of_a_difference(np.array(whole), np.stack([values["A"], values["B"]], axis=1))
    assert difference.interval.standard_error == pytest.approx(error)
    assert difference.value == pytest.approx(whole[0] - whole[1])
    assert found.signatures["A"].comparable == found.signatures["B"].comparable
    with pytest.raises(ss.UsageError, match="jackknife-t"):
        ss.compare(references, {"A": proposals, "B": others}, name, method="percentile")
    with pytest.raises(ss.UsageError, match="needs scores, and 'A' has proposals"):
        ss.compare(references, {"A": proposals, "B": others}, "range-eer")


def test_the_best_threshold_of_all_is_taken_anew_without_each_cluster():
    import spoofspan.demo

    demo = spoofspan.demo.load()
    name = "event-collar-best-f1@onset=0.2,offset=0.2,rate=0.2"
    speakers = ss.Resampling({utt: f"S{i % 4}" for i, utt in enumerate(demo.references.utterances)})
    with pytest.warns(ss.SpoofspanWarning, match="few"):
        found = ss.evaluate(demo.references, demo.systems[0.16], [name], resampling=speakers)[name]
    assert found.interval.low < found.value < found.interval.high


def test_events_of_scores_are_compared_at_the_threshold_of_each(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo")])
    assert done.exit_code == 0
    folder = tmp_path / "demo"
    typed = ["compare", folder / "references.rttm", folder / "unit0.02.score", folder / "unit0.16.score"]
    typed += ["--durations", folder / "reco2dur", "-m", "event-f1@iou=0.5", "--format", "json"]
    run = CliRunner().invoke(app, [str(one) for one in typed])
    (comparison,) = json.loads(run.stdout)["comparisons"]
    import spoofspan.demo

    demo = spoofspan.demo.load()
    for hop, system in ((0.02, 0), (0.16, 1)):
        expected = ss.evaluate(demo.references, demo.systems[hop], ["event-f1@iou=0.5"])["event-f1@iou=0.5"].value
        assert comparison["systems"][system]["value"] == pytest.approx(expected)
    refused = CliRunner().invoke(app, [*map(str, typed[:6]), "--merge-gap", "0.1"])
    assert isinstance(refused.exception, ss.UsageError)
    given = [*map(str, typed), "--system-threshold", "unit0.02=-0.4"]
    assert "threshold:given" in str(CliRunner().invoke(app, given).exception)  # the other one is at its EER


@pytest.mark.parametrize("measure", ["event-ap@iou=0.5", "event-f1@iou=0.5", "event-ap-avdeepfake1m@iou=0.5"])
def test_an_utterance_without_proposals_may_be_left_out_of_the_file(measure):
    labels = [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof")]
    references = ss.References.from_ranges({f"u{i:02d}": labels for i in range(40)})
    every = {utt: [(1.0, 2.0, 0.01 * i)] if i % 3 else [] for i, utt in enumerate(references.utterances)}
    some = {utt: rows for utt, rows in every.items() if rows}
    whole, short = (
        ss.evaluate(references, ss.Proposals.from_ranges(one), [measure], confidence=0.95)[measure]
        for one in (every, some)
    )
    assert short.value == whole.value
    assert (short.interval.low, short.interval.high) == (whole.interval.low, whole.interval.high)


@pytest.mark.parametrize("grid", [0.02, None])
def test_the_interval_of_a_median_of_errors_in_steps_is_cautioned(grid):
    rng = np.random.default_rng(0)
    events = {f"u{i:03}": [(1.0, 3.0, "spoof")] for i in range(80)}
    references = ss.References.from_ranges(events, dict.fromkeys(events, 5.0))
    errors = np.abs(rng.normal(0, 0.04, (2, 80)))
    onsets, offsets = errors if grid is None else np.round(errors / grid) * grid
    proposals = ss.Proposals.from_ranges(
        {utt: [(1 + a, 3 + b, 0.5)] for utt, a, b in zip(events, onsets.tolist(), offsets.tolist(), strict=True)}
    )
    for name in ("event-onset-median-error", "event-boundary-median-error"):
        warned = any("take few values" in text for text in ss.interval(references, proposals, name).warnings)
        assert warned == (grid is not None)
    assert not ss.interval(references, proposals, "event-onset-error").warnings


def test_the_best_f1_of_all_thresholds_is_corrected_for_its_choice():
    rng = np.random.default_rng(0)
    frames, names = 40, [f"u{i:02}" for i in range(60)]
    labels = {name: np.repeat(rng.permutation([0, 1, 0, 1]), frames // 4) for name in names}
    references = ss.References.from_labels(labels, hop=0.02, spoof_label=1)
    frames_of = {name: rng.normal(size=frames) - 1.5 * label for name, label in labels.items()}
    scores = ss.Scores.from_frames(frames_of, hop=0.02, higher="bonafide")
    found = ss.interval(references, scores, "event-collar-best-f1")
    (left_out,) = found.spread.left_out
    assert left_out.optimism < 0  # a half is better still at its own best threshold
    reach = found.spread.jackknife.estimate([1.0])
    assert found.low < bounds(reach, "logit", 0.95)[0] < found.estimate < found.high
    assert ss.interval(references, scores, "event-f1@iou=0.5").spread.left_out[0].optimism == 0
