"""Event measures by their spelling: through evaluate and the command line, against brute forces and other tools."""

import json
import statistics
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from command_line import run_command as run
from hypothesis import given, settings
from hypothesis import strategies as st
from test_events import (
    CASES,
    EVENTS,
    GOLDEN,
    PROPOSALS,
    brute_ap,
    brute_ar,
    brute_hits,
    counts,
    golden,
    iou_of,
    most_pairs,
    proposals_of,
    references_of,
    union_of,
)
from test_found_events import brute_counts, brute_ratio

import spoofspan as ss
from spoofspan.cli.completion import measures as completed
from spoofspan.evaluation.explain import explain
from spoofspan.formats.datasets.proposals import write as write_proposals
from spoofspan.formats.tables import parquet
from spoofspan.measures.catalogue import EVENT_KINDS, USUAL_OF_EVENTS
from spoofspan.measures.events.event_scores import AR_IOUS, add2023_score
from spoofspan.measures.events.matching import greedy_matching
from spoofspan.measures.measure import Measure
from spoofspan.uncertainty import interval

pytestmark = pytest.mark.quick

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schema/evaluation.json").read_text(encoding="utf-8"))
EXACT_IOUS = [Fraction(k, 20) for k in range(10, 20)]
ALL = [str(Measure.parse(f"event-{name}")) for name in EVENT_KINDS] + ["event-add2023-macro"]


# ---------------------------------------------------------------- spelling


@pytest.mark.parametrize(
    ("spelling", "canonical"),
    [
        ("event-ap", "event-ap@iou=0.5"),
        ("event-ap@iou=.750", "event-ap@iou=0.75"),
        ("event-ap@iou=0.33333333", "event-ap@iou=0.33333333"),
        ("event-ar@n=50", "event-ar@n=50"),
        ("event-boundary-f1@tolerance=1e-2", "event-boundary-f1@tolerance=0.01"),
        ("add2023", "event-add2023"),
        ("add2023-macro", "event-add2023-macro"),
    ],
)
def test_one_canonical_spelling(spelling, canonical):
    assert str(Measure.parse(spelling)) == canonical
    assert str(Measure.parse(canonical)) == canonical


@pytest.mark.parametrize(
    ("spelling", "said"),
    [
        ("event-app", "did you mean 'event-ap'"),
        ("event-eer", "no measure"),
        ("range-ap", "no measure"),
        ("event-ap@n=5", "no parameter 'n'"),
        ("event-ap@20ms", "point-eer@20ms"),
        ("event-f1-bonafide", "no positive class"),
        ("event-ap-macro", "a mean over utterances"),
        ("event-precision-macro", "a mean over utterances"),
        ("event-ap@iou=half", "is no number"),
    ],
)
def test_wrong_spellings_are_answered(spelling, said):
    with pytest.raises(ss.UsageError, match=said):
        Measure.parse(spelling)


@pytest.mark.parametrize("spelling", ALL)
def test_every_event_measure_is_explained_and_completed(spelling):
    text = explain(spelling)
    assert text.startswith(spelling)
    assert Measure.parse(spelling).kind.formula in text
    assert spelling in completed() or spelling.endswith("-macro")


# ---------------------------------------------------------------- values: brute force


def brute_had(events, proposals):
    """Matched, predicted and expected instants."""
    spoof = {(f, t) for f, rows in events.items() for a, b in rows for t in range(a, b)}
    called = {(f, t) for f, rows in proposals.items() for _, a, b in rows for t in range(a, b)}
    return len(spoof & called), len(called), len(spoof)


def brute_segments(events, proposals, iou):
    hits = sum(hit for _, hit in brute_hits(events, proposals, iou, "spoofspan"))
    return hits, sum(map(len, proposals.values())), sum(len(union_of(listed)) for listed in events.values())


def brute_pairs(events, proposals, iou):
    """The event and the range of each match: the most confident ranges choose first, the largest IoU they can get."""
    found = []
    for file, listed in events.items():
        free = union_of(listed)
        for _, *span in sorted(proposals.get(file, []), key=lambda row: (-row[0], *row[1:])):
            near = [event for event in free if iou_of(span, event) >= iou]
            if near:
                best = max(near, key=lambda event: (iou_of(span, event), -event[0]))
                free.remove(best)
                found.append((best, span))
    return found


def brute_of_pairs(name, events, proposals, iou):
    """The mean IoU of matches, or an error at their edges, in seconds; None without any match."""
    pairs = brute_pairs(events, proposals, iou)
    if not pairs:
        return None
    if name == "mean-iou":
        return sum(iou_of(span, event) for event, span in pairs) / Fraction(len(pairs))
    edges = {"onset": [0], "offset": [1], "boundary": [0, 1]}[name.partition("-")[0]]
    errors = [Fraction(span[edge] - event[edge]) for event, span in pairs for edge in edges]
    if name.endswith("bias"):
        return statistics.mean(errors) / 10**9
    middle = statistics.median if "median" in name else statistics.mean
    return middle(map(abs, errors)) / 10**9


def brute_boundaries(events, proposals, tolerance):
    edges = {f: [e for span in union_of(rows) for e in span if e > 0] for f, rows in events.items()}
    found = {f: [e for span in union_of([r[1:] for r in rows]) for e in span if e > 0] for f, rows in proposals.items()}
    matched = sum(most_pairs(sorted(edges[f]), found.get(f, []), tolerance) for f in edges)
    return matched, sum(map(len, found.values())), sum(map(len, edges.values()))


def three(name, counted):
    matched, predicted, expected = counted
    values = {
        "precision": (matched, predicted),
        "recall": (matched, expected),
        "f1": (2 * matched, predicted + expected),
    }
    return Fraction(*values[name])


def brute_add2023(events, proposals, macro):
    right, shares, time = 0, [], [0, 0, 0]
    for file, listed in events.items():
        mine = brute_had({file: listed}, {file: proposals.get(file, [])})
        right += (mine[1] > 0) == (mine[2] > 0)
        time = [a + b for a, b in zip(time, mine, strict=True)]
        if mine[2]:
            shares.append(three("f1", mine))
    f1 = sum(shares) / len(shares) if macro else three("f1", time)
    return Fraction(3, 10) * Fraction(right, len(events)) + Fraction(7, 10) * f1


def brute_challenge(events, proposals):
    ap = [brute_ap(events, proposals, Fraction(iou), "avdeepfake1m") for iou in ("0.5", "0.75", "0.9", "0.95")]
    ar = [brute_ar(events, proposals, n, EXACT_IOUS, "avdeepfake1m") for n in (50, 30, 20, 10, 5)]
    return (sum(map(Fraction, map(float, ap))) / 4 + sum(map(Fraction, map(float, ar))) / 5) / 2


def brute_found(kind, name, parameters, events, proposals):
    """Of events found by collars or by intersection; proposals from the best confidence on, where one is chosen."""
    expected = sum(len(union_of(listed)) for listed in events.values())

    def value(least):
        counted = [
            brute_counts(
                kind, parameters, union_of(events.get(f, [])), [(a, b) for c, a, b in rows if b > a and c >= least]
            )
            for f, rows in proposals.items()
        ]
        return brute_ratio(name.removeprefix("best-"), *map(sum, zip(*counted, strict=True)), expected)

    if name != "best-f1":
        return value(-float("inf"))
    return max(value(least) for least in [float("inf"), *(c for rows in proposals.values() for c, _, _ in rows)])


def brute_value(measure, events, proposals):
    """The value of any event measure, by code that shares nothing with the package's."""
    name, parameters = measure.kind.name, dict(measure.parameters)
    first, _, last = name.partition("-")
    if first in ("ap", "ar"):
        variant = last or "spoofspan"
        if first == "ap":
            return brute_ap(events, proposals, Fraction(str(parameters["iou"])), variant)
        return brute_ar(events, proposals, int(parameters["n"]), EXACT_IOUS, variant)
    if name == "avdeepfake1m":
        return brute_challenge(events, proposals)
    if name == "add2023":
        return brute_add2023(events, proposals, measure.macro)
    if first == "had":
        return three(last, brute_had(events, proposals))
    if first in ("collar", "intersection"):
        return brute_found(first, last, parameters, events, proposals)
    if measure.macro:
        shares = [
            three(name, brute_segments({f: listed}, {f: proposals.get(f, [])}, Fraction(str(parameters["iou"]))))
            for f, listed in events.items()
            if listed
        ]
        return sum(shares) / len(shares)
    if name.endswith(("mean-iou", "error", "bias")):
        return brute_of_pairs(name, events, proposals, Fraction(str(parameters["iou"])))
    if first == "boundary":
        return three(last, brute_boundaries(events, proposals, round(parameters["tolerance"] * 1e9)))
    return three(name, brute_segments(events, proposals, Fraction(str(parameters["iou"]))))


SPELLED = [
    *ALL,
    *("event-ap@iou=0.3", "event-ap@iou=0.75", "event-ap-avdeepfake1m@iou=0.25", "event-ap-activitynet@iou=0.1"),
    *("event-ar@n=2", "event-ar-avdeepfake1m@n=3", "event-ar-activitynet@n=2", "event-f1@iou=0.25"),
    *("event-boundary-median-error@iou=0.1", "event-onset-bias@iou=0.2", "event-mean-iou@iou=0.01"),
    *("event-boundary-precision@tolerance=2e-9", "event-boundary-f1@tolerance=0"),
    *("event-f1-macro@iou=0.5", "event-f1-macro@iou=0.2", "event-collar-f1@onset=2e-9,offset=1e-9,rate=0.3"),
    *("event-collar-best-f1@onset=1e-9,offset=1e-9,rate=0", "event-intersection-recall@dtc=0.8,gtc=0.3"),
]


@pytest.mark.parametrize("spelling", SPELLED)
@settings(deadline=None, max_examples=40)
@given(events=EVENTS, proposals=PROPOSALS)
def test_evaluate_gives_the_value_of_a_brute_force(spelling, events, proposals):
    measure = Measure.parse(spelling)
    variant = "avdeepfake1m" if "avdeepfake1m" in spelling else "spoofspan"
    known = any(file in events for file in proposals)
    if "three-class" in spelling:  # test_three_classes has their values
        with pytest.raises((ss.UsageError, ss.DataError, ss.UndefinedMeasureError)):
            ss.evaluate(references_of(events), proposals_of(proposals), [spelling])
        return
    if not known or not counts(events, proposals, variant):
        with pytest.raises((ss.UndefinedMeasureError, ss.DataError)):
            ss.evaluate(references_of(events), proposals_of(proposals), [spelling])
        return
    if "add2023" in spelling and any(rows and file not in events for file, rows in proposals.items()):
        with pytest.raises(ss.DataError, match="complete the references"):
            ss.evaluate(references_of(events), proposals_of(proposals), [spelling])
        return
    if "psds" in spelling:
        with pytest.raises(ss.UsageError, match="how long every recording is"):
            ss.evaluate(references_of(events), proposals_of(proposals), [spelling])
        return
    if "tolerance" in spelling and 0 in brute_boundaries(events, proposals, 0)[1:]:
        return
    try:
        wanted = brute_value(measure, events, proposals)
    except ZeroDivisionError:  # an event may be neither found nor any range be false
        assert "intersection-precision" in spelling
        with pytest.raises(ss.UndefinedMeasureError, match="no range is false"):
            ss.evaluate(references_of(events), proposals_of(proposals), [spelling])
        return
    if wanted is None:
        with pytest.raises(ss.UndefinedMeasureError, match="needs matched events"):
            ss.evaluate(references_of(events), proposals_of(proposals), [spelling])
        return
    found = ss.evaluate(references_of(events), proposals_of(proposals), [spelling])[spelling]
    assert found.measure == str(measure)
    assert found.value == pytest.approx(float(wanted), abs=1e-15)


WISHES = st.dictionaries(
    st.integers(0, 9), st.lists(st.integers(0, 7), min_size=1, max_size=5, unique=True), min_size=1
)


@given(wishes=WISHES, data=st.data())
def test_choosing_at_once_is_choosing_one_by_one(wishes, data):
    rank = dict(zip(wishes, data.draw(st.permutations(range(len(wishes)))), strict=True))
    free, expected = set(range(8)), set()
    for taker in sorted(wishes, key=rank.__getitem__):
        choice = next((one for one in wishes[taker] if one in free), None)
        if choice is not None:
            free.remove(choice)
            expected.add((taker, choice))
    takers = np.array([taker for taker in wishes for _ in wishes[taker]])
    taken = np.array([one for listed in wishes.values() for one in listed])
    rows = greedy_matching(takers, taken, np.array([rank[taker] for taker in takers]))
    assert {(takers[row], taken[row]) for row in rows} == expected


# ---------------------------------------------------------------- values: golden, hand, other measures


@pytest.mark.not_quick
@pytest.mark.parametrize("name", CASES)
def test_the_command_line_gives_the_numbers_of_the_published_rules(name, tmp_path, capsys):
    references, _, expected = golden(name)
    case = json.loads((GOLDEN / name / "case.json").read_text())
    (tmp_path / "r.parquet").write_bytes(b"".join(parquet.write_references(references)))
    listed = {f: content["proposals"] for f, content in case["files"].items() if content["proposals"] is not None}
    (tmp_path / "p.json").write_text(json.dumps(listed))
    rules = expected["exact"]["av_rules"]
    values = {f"event-ap-avdeepfake1m@iou={float(iou):g}": v["exact"] for iou, v in rules["ap"].items()}
    values |= {f"event-ar-avdeepfake1m@n={n}": v["exact"] for n, v in rules["ar"].items()}
    if "anet_rules" in expected["exact"]:
        anet = expected["exact"]["anet_rules"]
        pairs = zip(anet["tiou"], anet["ap"], strict=True)
        values |= {f"event-ap-activitynet@iou={iou:g}": v["exact"] for iou, v in pairs}
    fps = ["--fps", case["fps"]] if case["fps"] != 1 else []
    asked = [word for spelling in values for word in ("-m", spelling)]
    named = [] if any(listed.values()) and next(iter(listed.values())) else ["--scores-format", "proposals"]
    arguments = ["eval", tmp_path / "r.parquet", tmp_path / "p.json", *fps, *named, *asked, "--format", "json"]
    code, printed, said = run(arguments, capsys)
    assert code == 0, said
    found = {m["measure"]: m["value"] for m in json.loads(printed)["measurements"]}
    assert found == {spelling: float(Fraction(value)) for spelling, value in values.items()}


def test_add2023_by_hand():
    references = ss.References.from_ranges(
        {
            "found": [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof")],
            "missed": [(0.0, 1.0, "spoof"), (1.0, 4.0, "bonafide")],
            "alarm": [(0.0, 2.0, "bonafide")],
            "quiet": [(0.0, 2.0, "bonafide")],
        }
    )
    proposals = ss.Proposals.from_ranges({"found": [(1.5, 2.5, 0.9)], "alarm": [(0.0, 0.5, 0.8)], "missed": []})
    # sentences: found and quiet are right, 2 of 4. Time: 0.5 s in both, 1.5 s called, 2 s spoofed.
    pooled = Fraction(3, 10) * Fraction(2, 4) + Fraction(7, 10) * Fraction(2 * 5, 15 + 20)
    # F1 of utterances: found 2 * 0.5 / 2, missed 0; the others have none
    macro = Fraction(3, 10) * Fraction(2, 4) + Fraction(7, 10) * Fraction(1, 2) * Fraction(1, 2)
    found = ss.evaluate(references, proposals, ["add2023", "add2023-macro"])
    assert found["add2023"].value == float(pooled)
    assert found["add2023-macro"].value == float(macro)
    assert found["add2023"].parts == {"sentence_accuracy": 0.5, "segment_f1": float(Fraction(10, 35))}
    assert all("Reported definition" in found[name].notes[-1 - ("macro" in name)] for name in found.measurements)
    assert "the F1 is the mean of 2 utterances; 2 have none and are left out" in found["add2023-macro"].notes
    assert add2023_score(references, proposals).value == float(pooled)


@pytest.mark.not_quick
@pytest.mark.parametrize("threshold", [None, 0.5, 0.0])
def test_of_scores_time_and_utterances_are_those_of_the_other_measures(demo, threshold):
    """F1 of time is range-f1, also of every utterance; sentence accuracy is utterance-accuracy at that threshold."""
    found = ss.evaluate(*demo, ["range-f1", "range-f1-macro", "range-recall", *ALL], threshold=threshold)
    at = found["range-f1"].threshold
    accuracy = ss.evaluate(*demo, ["utterance-accuracy"], threshold=at)["utterance-accuracy"].value
    assert found["event-had-f1"].value == found["range-f1"].value
    assert found["event-had-recall"].value == pytest.approx(found["range-recall"].value, abs=1e-15)
    assert found["add2023"].parts == {"sentence_accuracy": accuracy, "segment_f1": found["range-f1"].value}
    assert found["add2023-macro"].parts["segment_f1"] == pytest.approx(found["range-f1-macro"].value, abs=1e-15)
    assert found["add2023"].value == pytest.approx(0.3 * accuracy + 0.7 * found["range-f1"].value, abs=1e-15)
    assert found["event-ap"].threshold == at


def frames_called_spoof(references, scores, threshold):
    """Runs of frames below the threshold, as {utterance: [(mean of -score, start, end)]} in ns; the tail is held."""
    made = {}
    for i, utterance in enumerate(scores.utterances):
        values = scores.values[scores.offsets[i] : scores.offsets[i + 1]].astype(float).tolist()
        duration = int(references.durations[references.utterances.index(utterance)])
        spans = [(v, k * 20_000_000, (k + 1) * 20_000_000) for k, v in enumerate(values)]
        spans[-1] = (values[-1], spans[-1][1], duration)
        runs = []
        for value, start, end in spans:
            if value < threshold:
                if runs and runs[-1][-1][2] == start:
                    runs[-1].append((value, start, end))
                else:
                    runs.append([(value, start, end)])
        made[utterance] = [
            (-sum(v * (e - s) for v, s, e in one) / (one[-1][2] - one[0][1]), one[0][1], one[-1][2]) for one in runs
        ]
    return made


def test_scores_become_runs_of_frames_with_the_tail_held(demo):
    references, scores = demo
    made = frames_called_spoof(references, scores, 0.25)
    measures = [one for one in ALL if "activitynet" not in one and not Measure.parse(one).kind.all_thresholds]
    by_scores = ss.evaluate(references, scores, measures, threshold=0.25)
    by_proposals = ss.evaluate(references, proposals_of(made), measures)
    for name in measures:
        assert by_scores[name].value == pytest.approx(by_proposals[name].value, abs=1e-12)
        assert by_scores[name].proposals == sum(map(len, made.values()))
    assert not any(end > 10**12 for rows in made.values() for *_, end in rows)


def test_smoothing_merging_and_dropping_are_those_of_proposals_from_scores(demo):
    references, scores = demo
    how = {"smoothing": 5, "merge_gap": 0.04, "min_duration": 0.1}
    found = ss.evaluate(references, scores, ["event-ap", "event-f1@iou=0.3"], threshold=0.2, **how)
    made = ss.proposals_from_scores(scores, 0.2, **how, durations=references)
    plain = ss.evaluate(references, scores, ["event-ap"], threshold=0.2)["event-ap"]
    # but for tails that are held, and frames after the end that are not smoothed over, they are the same
    assert abs(found["event-ap"].proposals - made.starts.size) <= len(references) // 10
    assert found["event-ap"].value == pytest.approx(
        ss.evaluate(references, made, ["event-ap"])["event-ap"].value, abs=0.03
    )
    assert found["event-ap"].proposals < plain.proposals


def test_every_option_of_making_does_what_it_says():
    references = ss.References.from_ranges({"u": [(0.0, 0.04, "bonafide"), (0.04, 0.1, "spoof")]})
    scores = ss.Scores.from_frames({"u": [0.9, 0.1, 0.2, 0.8, 0.1]}, hop=0.02, higher="bonafide")

    def recall(**how):
        found = ss.evaluate(references, scores, ["event-recall@iou=0.5"], threshold=0.5, **how)
        return found["event-recall@iou=0.5"].proposals, found["event-recall@iou=0.5"].value

    assert recall() == (2, 0.0)  # [20, 60) has an IoU of 1/4, [80, 100) of 1/3
    assert recall(merge_gap=0.02) == (1, 1.0)  # [20, 100)
    assert recall(smoothing=3) == (1, 1.0)  # the frame of 0.8 has two low neighbours
    assert recall(min_duration=0.03) == (1, 0.0)
    with pytest.raises(ss.UndefinedMeasureError, match="move the threshold"):
        recall(min_duration=0.05)


def test_hard_decisions_have_segments_and_boundaries_but_no_ranking(demo):
    references = ss.References.from_ranges({"u": [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof")]})
    decided = ss.Scores.from_decisions({"u": [(0.0, 1.2, "bonafide"), (1.2, 2.0, "spoof")]})
    names = [one for one in ALL if not Measure.parse(one).kind.ranked and "three-class" not in one]  # of one class
    found = ss.evaluate(references, decided, names)
    assert found["event-f1"].value == 1.0
    assert found["event-boundary-f1"].value == 0.0
    assert found["event-had-recall"].value == 0.8
    for name in ("event-ap", "event-ar", "event-avdeepfake1m"):
        with pytest.raises(ss.UndefinedMeasureError, match="hard decisions"):
            ss.evaluate(references, decided, [name])
    with pytest.raises(ss.UsageError, match="no threshold to move"):
        ss.evaluate(references, decided, ["event-f1"], threshold=0.2)


def test_an_edge_that_the_source_rounded_onto_the_end_is_no_boundary():
    ranges = {"u": [(0.0, 1.0, "bonafide"), (1.0, 1.999, "spoof")]}
    proposals = ss.Proposals.from_ranges({"u": [(1.0, 2.0, 0.9)]})
    for snap, expected in ((0.0, 2), (0.002, 1)):
        references = ss.References.from_ranges(ranges, {"u": 2.0}, snap=snap)
        parts = ss.evaluate(references, proposals, ["event-boundary-f1"])["event-boundary-f1"].parts
        assert (parts["expected"], parts["predicted"], parts["matched"]) == (expected, 1, 1)


# ---------------------------------------------------------------- what the number says about itself

SMALL = {"a": [(0, 10), (20, 30)], "b": [(5, 9)]}
PROPOSED = {"a": [(0.9, 0, 9), (0.4, 21, 30)], "b": [(0.4, 5, 9)], "z": [(0.3, 0, 1)]}


def signature(events=SMALL, proposals=PROPOSED, measure="event-ap"):
    return ss.evaluate(references_of(events), proposals_of(proposals), [measure])[measure].signature


def test_a_measurement_has_counts_notes_and_a_signature():
    found = ss.evaluate(references_of(SMALL | {"c": [(0, 5)]}), proposals_of(PROPOSED), ["event-f1"])["event-f1"]
    assert isinstance(found, ss.EventMeasurement)
    assert (found.events, found.proposals, found.utterances) == (4, 4, 3)
    assert found.parts == {
        "matched": 3,
        "predicted": 4,
        "expected": 4,
        "precision": 0.75,
        "recall": 0.75,
        "f1": 0.75,
    }
    assert found.notes == (
        "without proposals, so that their events are missed: 1 utterance",
        "of utterances that the references lack: 1 proposal",
    )
    assert str(found).startswith("event-f1@iou=0.5 75.00 %   (4 events, 4 proposals as given)\n")
    assert np.isnan([found.threshold, found.false_positive_rate, found.gap]).all()
    assert found.signature.comparable.startswith("event-f1@iou=0.5|proposals:given|rules:")
    assert found.signature.input.startswith("proposals:")


def test_how_proposals_were_made_decides_what_may_be_compared(demo):
    def comparable(**how):
        return ss.evaluate(*demo, ["event-ap"], **how)["event-ap"].signature.comparable

    at_eer = comparable()
    assert "|proposals:threshold:eer(nearest),smoothing:1,min_duration:0ns,merge_gap:0ns|" in at_eer
    settings = [
        {"threshold": 0.2},
        {"smoothing": 3},
        {"merge_gap": 0.02},
        {"min_duration": 0.02},
        {"uncovered": "hold"},
        {"eer_rule": "interpolated"},
    ]
    made = [at_eer, *(comparable(**one) for one in settings)]
    assert len(set(made)) == len(made)
    assert comparable(threshold=0.2) == comparable(threshold=0.3)  # the threshold belongs to the system
    given = ss.evaluate(demo[0], ss.proposals_from_scores(demo[1], 0.2), ["event-ap"])["event-ap"].signature
    assert given.comparable not in made


def test_order_and_listing_are_signed_where_they_matter():
    turned = {file: rows[::-1] for file, rows in reversed(PROPOSED.items())}
    empty = PROPOSED | {"y": []}
    split = {"a": [(0, 4), (4, 10), (20, 30)], "b": [(5, 9)]}
    assert signature() == signature(proposals=turned) == signature(proposals=empty) == signature(events=split)
    assert signature().input != signature(proposals=PROPOSED | {"b": [(0.4, 5, 8)]}).input
    for measure in ("event-ap-avdeepfake1m", "event-ar-activitynet", "event-avdeepfake1m"):
        mine = signature(measure=measure)
        assert "|listing:" in mine.comparable
        assert mine.input != signature(proposals=turned, measure=measure).input
        assert mine.input == signature(proposals=empty, measure=measure).input
        assert mine.comparable != signature(events=split, measure=measure).comparable


def test_a_signature_of_events_explains_itself():
    text = explain(str(signature(measure="event-ap-avdeepfake1m")))
    assert "(hash of the proposals)" in text
    assert "hash of the spoof ranges as they are listed" in text


# ---------------------------------------------------------------- what is refused

REFERENCES, GIVEN = references_of(SMALL), proposals_of(PROPOSED)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"convention": "paper"}, "defines no event measure"),
        ({"gaps": "spoof"}, "gaps='spoof' does not go with event measures"),
        ({"nonspeech": "spoof"}, "nonspeech"),
        ({"extent": "cut-at-duration"}, "extent"),
        ({"collar": 0.1}, "collar"),
        ({"regions": {"a": [(0, 1)]}}, "regions"),
        ({"utterances": "drop-bonafide-CON"}, "utterances"),
        ({"uncovered": "ignore"}, "uncovered"),
        ({"threshold": 0.5}, r"leave threshold= \(--threshold\) out"),
        ({"eer_rule": "nearest"}, "eer_rule speaks of scores"),
        ({"smoothing": 3}, "smoothing speaks of scores"),
        ({"merge_gap": 0.1}, "--merge-gap"),
        ({"partial": True}, "partial speaks of scores"),
        ({"overlong": "cut"}, "overlong speaks of scores"),
        ({"gap": "spoof"}, "unknown rule 'gap'"),
    ],
)
def test_what_events_or_proposals_cannot_mean_is_refused(arguments, said):
    with pytest.raises(ss.UsageError, match=said):
        ss.evaluate(REFERENCES, GIVEN, ["event-ap"], **arguments)
    assert ss.evaluate(REFERENCES, GIVEN, ["event-ap"], gaps="bonafide", nonspeech="ignore")["event-ap"].value > 0


@pytest.mark.parametrize(
    ("spelling", "said"),
    [
        ("event-ap@iou=0", "above 0"),
        ("event-ap@iou=1.5", "at most 1"),
        ("event-ap-avdeepfake1m@iou=1", "above 1"),
        ("event-ar@n=0", "1 or more"),
        ("event-ar@n=2.5", "whole number"),
        ("event-boundary-f1@tolerance=-1", "0 or more"),
        ("event-boundary-f1@tolerance=nan", "0 or more"),
        ("event-ap@iou=nan", "IoU"),
        ("event-ar@n=inf", "whole number"),
        ("event-ar@n=nan", "whole number"),
        ("event-ar@n=-1e300", "whole number"),
    ],
)
def test_parameters_without_a_meaning_are_refused(spelling, said):
    with pytest.raises(ss.UsageError, match=said):
        ss.evaluate(REFERENCES, GIVEN, [spelling])


def test_more_proposals_than_there_are_change_nothing():
    names = [f"event-ar{variant}@n={n}" for variant in ("", "-avdeepfake1m", "-activitynet") for n in ("50", "1e+300")]
    values = [m.value for m in ss.evaluate(REFERENCES, GIVEN, names).measurements.values()]
    assert values[::2] == values[1::2]


def test_other_measures_need_scores_and_other_functions_refuse_events(demo):
    with pytest.raises(ss.UsageError, match="needs scores, and these are proposals"):
        ss.evaluate(REFERENCES, GIVEN, ["event-ap", "range-eer"])
    with pytest.raises(ss.UsageError, match="are for event measures"):
        ss.evaluate(*demo, ["range-eer"], merge_gap=0.1)
    with pytest.raises(ss.UsageError, match="by the method 'jackknife-t' only"):
        interval(*demo, "event-ap", method="percentile")
    found = ss.evaluate(*demo, ["event-ap"], confidence=0.95)["event-ap"]
    assert interval(*demo, "event-ap").to_dict() == found.interval.to_dict()
    ranges = ss.Scores.from_ranges({"a": [(0.0, 1e-8, 0.1)], "b": [(0.0, 1e-8, 0.1)]}, higher="bonafide")
    with pytest.raises(ss.UsageError, match="smoothing counts frames"):
        ss.evaluate(REFERENCES, ranges, ["event-ap"], threshold=0.5, smoothing=3)
    some = np.arange(len(demo[1]) - 5, len(demo[1]))
    with pytest.raises(ss.DataError, match="partial=True"):
        ss.evaluate(demo[0], demo[1].take(some), ["event-ap"], threshold=0.2)
    fewer = ss.evaluate(demo[0], demo[1].take(some), ["event-ap"], threshold=0.2, partial=True)["event-ap"]
    assert fewer.utterances == 5
    with pytest.raises(ss.UndefinedMeasureError, match="no utterance in common"):
        ss.evaluate(REFERENCES, proposals_of({"x": [(0.5, 0, 1)]}), ["event-ap"])


@pytest.mark.parametrize(
    ("ranges", "said"),
    [
        ({"u": [(1.0, 2.0)]}, r"a list of \(start, end, confidence\)"),
        ({"u": [(1.0, 2.0, "high")]}, "confidence 'high' is no number"),
        ({"u": [(1.0, 2.0, float("nan"))]}, "NaN"),
        ({"u": [(2.0, 1.0, 0.5)]}, "ends before it starts"),
        ({}, "empty"),
    ],
)
def test_wrong_proposals_are_refused(ranges, said):
    with pytest.raises(ss.SpoofspanError, match=said):
        ss.Proposals.from_ranges(ranges)


# ---------------------------------------------------------------- the command line


@pytest.fixture
def proposal_files(demo, files, tmp_path):
    """The demo's references, and a file of proposals, as arguments of `spoofspan eval`."""
    made = ss.proposals_from_scores(demo[1], 0.2, durations=demo[0])
    (tmp_path / "p.json").write_bytes(b"".join(write_proposals(made)))
    return ["eval", files[1], tmp_path / "p.json", *files[3:]]


def measured(arguments, capsys):
    code, printed, said = run([*arguments, "--format", "json"], capsys)
    assert code == 0, said
    content = json.loads(printed)
    jsonschema.validate(content, SCHEMA)
    return {m["measure"]: m for m in content["measurements"]}


@pytest.mark.not_quick
@pytest.mark.parametrize("spelling", ALL)
def test_the_command_line_measures_what_the_library_measures(spelling, demo, files, proposal_files, capsys):
    references = ss.read_references(files[1], durations=files[4])
    at = 0.2 if ss.Measure.parse(spelling).takes_threshold else None
    expected = ss.evaluate(references, demo[1], [spelling], threshold=at)[spelling].to_dict()
    found = measured([*files, "-m", spelling, *([] if at is None else ["--threshold", at])], capsys)
    jsonless = json.loads(json.dumps(expected).replace("NaN", '"nan"'))
    assert found == {spelling: jsonless}
    proposals = ss.read_proposals(proposal_files[2])
    expected = ss.evaluate(references, proposals, [spelling])[spelling].to_dict()
    found = measured([*proposal_files, "-m", spelling], capsys)
    assert found == {spelling: json.loads(json.dumps(expected).replace("NaN", '"nan"'))}


def test_proposals_alone_have_usual_measures(proposal_files, capsys):
    assert list(measured(proposal_files, capsys)) == list(USUAL_OF_EVENTS)


def test_thresholds_and_making_go_through_the_command_line(demo, files, tmp_path, capsys):
    code, _, said = run([*files, "--format", "json", "--out", tmp_path / "dev.json"], capsys)
    assert code == 0, said
    how = ["--smoothing", "3", "--merge-gap", "0.04", "--min-duration", "0.06"]
    asked = ["-m", "event-ap", "-m", "range-f1", *how]
    carried = measured([*files, *asked, "--threshold-from", tmp_path / "dev.json"], capsys)
    at_eer = measured([*files, *asked], capsys)
    expected = ss.evaluate(
        ss.read_references(files[1], durations=files[4]),
        demo[1],
        ["event-ap"],
        smoothing=3,
        merge_gap=0.04,
        min_duration=0.06,
    )["event-ap"]
    name = "event-ap@iou=0.5"
    assert carried[name]["value"] == at_eer[name]["value"] == expected.value
    assert carried[name]["threshold"] == carried["range-f1"]["threshold"] == expected.threshold
    assert "threshold:given" in carried[name]["signature"]["comparable"]


def test_making_proposals_leaves_the_errors_of_utterances_alone(files, tmp_path, capsys):
    plain, made = tmp_path / "plain.csv", tmp_path / "made.csv"
    assert run([*files, "-m", "range-eer", "--per-utterance", plain], capsys)[0] == 0
    assert run([*files, "-m", "event-ap", "--smoothing", "5", "--per-utterance", made], capsys)[0] == 0
    assert made.read_text() == plain.read_text()


def test_making_proposals_leaves_breakdowns_alone(files, capsys):
    words = [*files, "-m", "range-eer", "--by", "length", "--format", "json"]
    plain = json.loads(run(words, capsys)[1])["breakdowns"]
    made = json.loads(run([*words, "-m", "event-ap", "--smoothing", "5"], capsys)[1])["breakdowns"]
    assert plain
    assert made == plain


@pytest.mark.parametrize("spelling", ["text", "markdown", "latex", "csv"])
def test_events_are_printed_in_every_format(spelling, files, proposal_files, capsys):
    code, printed, _ = run([*proposal_files, "-m", "event-ap", "-m", "add2023", "--format", spelling], capsys)
    assert code == 0
    assert "event-ap@iou=0.5" in printed
    assert "proposals as given" in printed
    code, printed, _ = run([*files, "-m", "event-ap", "-m", "range-eer", "--format", spelling], capsys)
    assert code == 0
    assert "event-ap@iou=0.5" in printed


def test_the_table_of_events_has_their_numbers(proposal_files, demo, capsys):
    code, printed, _ = run([*proposal_files, "-m", "event-ap"], capsys)
    lines = printed.splitlines()
    found = ss.evaluate(
        ss.read_references(proposal_files[1], durations=proposal_files[4]),
        ss.read_proposals(proposal_files[2]),
        ["event-ap"],
    )
    m = found["event-ap"]
    assert code == 0
    assert lines[0].split() == ["measure", "value", "events", "proposals", "decision"]
    expected = [m.measure, f"{100 * m.value:.2f}", "%", str(m.events), str(m.proposals), "proposals", "as", "given"]
    assert lines[2].split() == expected
    assert "read off: proposals:given" in printed
    shown = found._repr_html_()
    assert f"<td>{m.measure}</td><td>{100 * m.value:.2f} %</td><td>{m.events}</td>" in shown


@pytest.mark.not_quick
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-m", "event-ap", "--threshold=-5"], "move the threshold"),
        (["-m", "event-had-precision", "--threshold=-5"], "needs proposals"),
        (["-m", "add2023", "--min-duration", "100"], "needs proposals"),
        (["-m", "event-boundary-f1", "--min-duration", "100"], "needs proposals"),
    ],
)
def test_without_proposals_there_is_no_number(arguments, said, files, capsys):
    code, printed, error = run([*files, *arguments], capsys)
    assert (code, printed) == (4, "")
    assert said in error


@pytest.mark.not_quick
def test_without_events_there_is_no_number(tmp_path, capsys):
    references = ss.References.from_ranges({"u": [(0.0, 1.0, "bonafide")]}, {"u": 1.0})
    (tmp_path / "r.parquet").write_bytes(b"".join(parquet.write_references(references)))
    (tmp_path / "p.json").write_text('{"u": [[0.5, 0.0, 0.5]]}')
    for spelling in ALL:
        code, printed, error = run(["eval", tmp_path / "r.parquet", tmp_path / "p.json", "-m", spelling], capsys)
        assert (code, printed) == (4, "")
        assert "needs spoofed ranges" in error


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-m", "range-eer"], 2, "needs scores, and these are proposals"),
        (["--threshold", "0.5"], 2, "--threshold"),
        (["--higher", "spoof"], 2, "--higher speaks of scores"),
        (["--stream"], 2, "--stream goes with scores"),
        (["--by", "attack"], 2, "belong to no attack"),
        (["--per-utterance", "never.csv"], 2, "leave them out"),
        (["--smoothing", "4"], 2, "odd number of frames"),
        (["--fps", "0"], 2, "fps must be"),
        (["--scores-format", "parquet"], 3, "p.json"),
        (["-m", "event-ap@iou=2"], 2, "at most 1"),
    ],
)
def test_what_is_typed_wrong_with_proposals_is_answered(arguments, code, said, proposal_files, capsys):
    found, printed, error = run([*proposal_files, *arguments], capsys)
    assert (found, printed) == (code, "")
    assert said in error


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-m", "range-eer", "--merge-gap", "0.1"], "are for event measures"),
        (["-m", "range-eer", "--merge-gap", "0.1", "--stream"], "--merge-gap are for event measures"),
        (["-m", "event-ap", "--fps", "25"], "is for proposals, and these are scores"),
        (["-m", "event-ap", "--by", "attack"], "belong to no attack"),
        (["-m", "event-ap", "--convention", "nii-2023"], "defines no event measure"),
    ],
)
def test_what_is_typed_wrong_with_scores_is_answered(arguments, said, files, capsys):
    found, printed, error = run([*files, *arguments], capsys)
    assert (found, printed) == (2, "")
    assert said in error


def test_a_damaged_file_of_proposals_is_named(files, tmp_path, capsys):
    (tmp_path / "p.json").write_text('{"u1": [[0.5, 0.0, 1.0], [0.5, 2.0, 1.0]]}')
    code, printed, error = run(["eval", files[1], tmp_path / "p.json", *files[3:]], capsys)
    assert (code, printed) == (3, "")
    assert "ends before it starts" in error


def test_frames_of_proposals_are_seconds_times_fps(files, tmp_path, capsys):
    (tmp_path / "p.json").write_text('{"x": [[0.5, 5, 10]]}')
    code, _, error = run(["eval", files[1], tmp_path / "p.json", *files[3:], "--fps", "25"], capsys)
    assert code == 4
    assert "no utterance in common" in error
    assert ss.read_proposals(tmp_path / "p.json", fps=25).ends.tolist() == [400_000_000]


def test_the_mean_over_ious_is_over_the_ten_that_are_named():
    assert "0.5, 0.55, ..., 0.95" in EVENT_KINDS["ar"].formula
    assert [Fraction(str(iou)) for iou in AR_IOUS] == EXACT_IOUS
