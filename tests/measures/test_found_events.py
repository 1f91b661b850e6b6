"""Events by collars and by intersection, at one threshold and at all: against brute force and sed_scores_eval."""

import json
import random
from fractions import Fraction
from pathlib import Path

import pytest

import spoofspan as ss
from spoofspan.measures.events.found_events import largest_matching

GOLDEN = Path(__file__).parents[1] / "golden" / "sound_events"
CASE = json.loads((GOLDEN / "case.json").read_text(encoding="utf-8"))
TOOL = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))["tools"]
SETTINGS = [(kind, key) for kind in ("collar", "intersection") for key in TOOL[kind]]


# ---------------------------------------------------------------- brute force, in nanoseconds


def most_pairs(hits, used=frozenset()):
    """The most ranges that can have one of their events each, by trying everything."""
    if not hits:
        return 0
    first, *rest = hits
    return max([most_pairs(rest, used), *(1 + most_pairs(rest, used | {one}) for one in first if one not in used)])


def brute_counts(kind, parameters, events, ranges):
    """Events found and false ranges, of one file."""
    if kind == "collar":
        onset, offset, rate = (Fraction(str(parameters[name])) for name in ("onset", "offset", "rate"))
        hits = [
            [
                k
                for k, (a, b) in enumerate(events)
                if abs(start - a) <= onset * 10**9 and abs(end - b) <= max(offset * 10**9, rate * (b - a))
            ]
            for start, end in ranges
        ]
        found = most_pairs([one for one in hits if one])
        return found, len(ranges) - found

    def common(one, other):
        return max(min(one[1], other[1]) - max(one[0], other[0]), 0)

    dtc, gtc = (Fraction(str(parameters[name])) for name in ("dtc", "gtc"))
    relevant = [one for one in ranges if sum(common(one, e) for e in events) >= dtc * (one[1] - one[0])]
    found = [e for e in events if sum(common(one, e) for one in relevant) >= gtc * (e[1] - e[0])]
    return len(found), len(ranges) - len(relevant)


def brute_ratio(name, found, false, expected):
    if name == "precision":
        return Fraction(found, found + false)
    if name == "recall":
        return Fraction(found, expected)
    if name == "error-rate":
        return Fraction(false + expected - found, expected)
    return Fraction(2 * found, found + false + expected)


def called(starts, ends, scores, threshold):
    """Ranges of touching time with scores of at least the threshold."""
    ranges = []
    for start, end, score in zip(starts, ends, scores, strict=True):
        if score >= threshold:
            if ranges and ranges[-1][1] == start:
                ranges[-1] = (ranges[-1][0], end)
            else:
                ranges.append((start, end))
    return ranges


def drawn(seed):
    """A small corpus in ns: events and scored time of each file; some time has no score."""
    rng = random.Random(seed)
    files = {}
    for k in range(rng.randint(1, 4)):
        size = rng.randint(3, 12)
        edges, starts, ends = [0], [], []
        for _ in range(size):
            starts.append(edges[-1])
            ends.append(starts[-1] + rng.randint(1, 9))
            edges.append(ends[-1] + (rng.randint(1, 3) if rng.random() < 0.1 else 0))
        cuts = sorted(rng.sample(range(ends[-1] + 1), 2 * rng.randint(0, min(3, ends[-1] // 2))))
        events = [(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=True)]
        files[f"f{k}"] = (events, starts, ends, [rng.randint(0, 6) / 4 for _ in range(size)])
    return files


def measurable(files):
    durations = {name: ends[-1] / 1e9 for name, (_, _, ends, _) in files.items()}
    spoof = {name: [(a / 1e9, b / 1e9, "spoof") for a, b in events] for name, (events, *_) in files.items()}
    scores = {
        name: [(a / 1e9, b / 1e9, s) for a, b, s in zip(*rest, strict=True)] for name, (_, *rest) in files.items()
    }
    return ss.References.from_ranges(spoof, durations), ss.Scores.from_ranges(scores, higher="spoof")


CRITERIA = {
    "collar": [{"onset": 2e-9, "offset": 2e-9, "rate": 0.0}, {"onset": 4e-9, "offset": 1e-9, "rate": 0.3}],
    "intersection": [{"dtc": 0.5, "gtc": 0.5}, {"dtc": 0.3, "gtc": 0.9}],
}
RULES = {"gaps": "bonafide", "uncovered": "bonafide", "slack": 0.0}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kind", CRITERIA)
def test_every_threshold_is_that_of_the_brute_force(kind, seed):
    files = drawn(seed)
    expected = sum(len(events) for events, *_ in files.values())
    if not expected:
        return
    corpus = measurable(files)
    levels = sorted({score for *_, scores in files.values() for score in scores}, reverse=True)
    for parameters in CRITERIA[kind]:
        at = ",".join(f"{name}={value!r}" for name, value in parameters.items())
        points = [(0, 0)]
        for level in levels:
            per_file = [brute_counts(kind, parameters, e, called(*rest, level)) for e, *rest in files.values()]
            points.append(tuple(map(sum, zip(*per_file, strict=True))))
            # spoof iff score > threshold: just below the level
            found = ss.evaluate(*corpus, [f"event-{kind}-f1@{at}"], threshold=level - 0.01, **RULES)
            (found,) = found.measurements.values()
            assert found.value == float(brute_ratio("f1", *points[-1], expected))
            assert (found.parts["found"], found.parts["false"]) == points[-1]
        (best,) = ss.evaluate(*corpus, [f"event-{kind}-best-f1@{at}"], **RULES).measurements.values()
        values = [brute_ratio("f1", *point, expected) for point in points]
        assert best.value == float(max(values))
        if best.value:
            there = ss.evaluate(*corpus, [f"event-{kind}-f1@{at}"], threshold=best.threshold, **RULES)
            assert next(iter(there.measurements.values())).value == best.value
        if kind == "intersection":
            hours = Fraction(sum(ends[-1] for _, _, ends, _ in files.values()), 3600 * 10**9)
            most = 3.5 / float(hours)
            name = f"event-psds@{at},max_efpr={most!r}"
            limit = Fraction(repr(most)) * hours
            xs = [Fraction(x) for x in range(int(limit) + 1)]
            heights = [max(f for f, false in points if false <= x) for x in xs]
            widths = [min(x + 1, limit) - x for x in xs]
            area = sum(h * w for h, w in zip(heights, widths, strict=True)) / limit / expected
            (psds,) = ss.evaluate(*corpus, [name], **RULES).measurements.values()
            assert psds.value == pytest.approx(float(area), abs=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_matching_is_that_of_trying_everything(seed):
    rng = random.Random(seed)
    wishes = [rng.sample(range(5), rng.randint(1, 3)) for _ in range(rng.randint(0, 6))]
    assert largest_matching(wishes) == most_pairs(wishes)


# ---------------------------------------------------------------- sed_scores_eval


def golden():
    durations = {name: one["duration"] / 1000 for name, one in CASE["files"].items()}
    spoof = {name: [(a / 1000, b / 1000, "spoof") for a, b in one["events"]] for name, one in CASE["files"].items()}
    scores = {name: one["scores"] for name, one in CASE["files"].items()}
    hop = CASE["hop"] / 1000
    return ss.References.from_ranges(spoof, durations), ss.Scores.from_frames(scores, hop=hop, higher=CASE["higher"])


@pytest.mark.parametrize(("kind", "key"), SETTINGS)
def test_values_are_those_of_sed_scores_eval(kind, key):
    corpus = golden()
    for threshold, values in TOOL[kind][key].items():
        if threshold == "best":
            (found,) = ss.evaluate(*corpus, [f"event-{kind}-best-f1@{key}"], gaps="bonafide").measurements.values()
            assert found.value == pytest.approx(values["f1"], abs=1e-15)
            continue
        names = {name: f"event-{kind}-{name}@{key}" for name in values if name != "counts"}
        found = ss.evaluate(*corpus, list(names.values()), threshold=float(threshold), gaps="bonafide")
        assert {name: found[spelled].value for name, spelled in names.items()} == pytest.approx(
            {name: values[name] for name in names}, abs=1e-15
        )


@pytest.mark.parametrize("key", TOOL["psds"])
def test_the_psds_is_that_of_sed_scores_eval(key):
    (found,) = ss.evaluate(*golden(), [f"event-psds@{key}"], gaps="bonafide").measurements.values()
    assert found.value == pytest.approx(TOOL["psds"][key], abs=1e-13)


# ---------------------------------------------------------------- the rest


def test_smoothing_scores_is_smoothing_decisions(demo):
    best = ss.evaluate(*demo, ["event-collar-best-f1"], smoothing=7)["event-collar-best-f1"]
    at_best = ss.evaluate(*demo, ["event-collar-f1"], smoothing=7, threshold=best.threshold)["event-collar-f1"]
    assert best.value == at_best.value
    others = [ss.evaluate(*demo, ["event-collar-f1"], smoothing=7, threshold=t / 8) for t in range(1, 8)]
    assert best.value >= max(one["event-collar-f1"].value for one in others)


def test_proposals_are_taken_by_their_confidence():
    references = ss.References.from_ranges({"u": [(1.0, 2.0, "spoof"), (3.0, 4.0, "spoof")]}, {"u": 36.0})
    proposals = ss.Proposals.from_ranges({"u": [(1.1, 2.0, 0.9), (5.0, 6.0, 0.5), (3.0, 4.1, 0.5), (8.0, 9.0, 0.1)]})
    names = ["event-collar-f1", "event-collar-best-f1", "event-psds@max_efpr=150"]
    found = ss.evaluate(references, proposals, names)
    assert found["event-collar-f1"].value == 2 * 2 / (4 + 2)
    assert found["event-collar-best-f1"].value == 2 * 2 / (3 + 2)
    assert "of the proposals with a confidence above 0.1, the best choice of all" in found["event-collar-best-f1"].notes
    # in an hundredth of an hour: recall 1/2 with no false range, 1 with one, which is 100 in an hour
    assert found["event-psds@max_efpr=150"].value == pytest.approx((100 * 0.5 + 50) / 150)
    without = ss.References.from_ranges({"u": [(1.0, 2.0, "spoof")]})
    with pytest.raises(ss.UsageError, match="--durations"):
        ss.evaluate(without, proposals, ["event-psds"])


def test_what_has_no_meaning_is_refused(demo):
    for options in ({"merge_gap": 0.1}, {"min_duration": 0.1}):
        with pytest.raises(ss.UsageError, match="all thresholds"):
            ss.evaluate(*demo, ["event-psds"], **options)
    for spelling, said in {
        "event-collar-f1@onset=-1": "onset must be 0 or more seconds",
        "event-collar-f1@rate=-1": "a share of the event",
        "event-psds@dtc=0": "dtc is a share",
        "event-psds@max_efpr=0": "max_efpr is a number",
        "event-ap@iou=0.5:0:1": "is no number",
        "event-ap@iou=0.5:1": "is no number",
        "event-f1@iou=0.5:0.1:0.9": "is no number",
    }.items():
        with pytest.raises(ss.UsageError, match=said):
            ss.evaluate(*demo, [spelling])
    nothing = ss.evaluate(*demo, ["event-collar-recall"], threshold=99.0, on_undefined=lambda *_: None)
    assert len(nothing) == 1


def test_several_iou_thresholds_have_the_mean_of_their_values(demo):
    ious = [0.5 + 0.05 * k for k in range(10)]
    for variant in ("", "-avdeepfake1m", "-activitynet"):
        names = [f"event-ap{variant}@iou={iou:.2f}" for iou in ious]
        found = ss.evaluate(*demo, [*names, f"event-ap{variant}@iou=.50:0.05:0.950"])
        mean = found[f"event-ap{variant}@iou=0.5:0.05:0.95"]
        assert mean.measure == f"event-ap{variant}@iou=0.5:0.05:0.95"
        assert mean.value == pytest.approx(sum(found[name].value for name in names) / 10, abs=1e-15)
        assert len(mean.parts) == 10
