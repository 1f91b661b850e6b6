"""Event measures: published numbers, a brute force in fractions that shares no code, and invariances."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spoofspan as ss
from spoofspan.data.proposals import Proposals
from spoofspan.measures.events.event_scores import (
    AR_IOUS,
    VARIANTS,
    avdeepfake1m_score,
    average_precision_at,
    average_recall_at,
    boundary_scores,
    had_range_scores,
    proposals_from_scores,
    segment_f1,
    segment_scores,
)

pytestmark = pytest.mark.quick

GOLDEN = Path(__file__).parents[1] / "golden" / "proposals"
CASES = sorted(folder.name for folder in GOLDEN.iterdir() if folder.is_dir())
MS = 1_000_000


def references_of(events, durations=None):
    """References from {utterance: [(start, end), ...]} in ns; only spoof is listed."""
    rows = [row for listed in events.values() for row in listed]
    return ss.References.from_columns(
        list(events),
        durations,
        np.cumsum([0, *map(len, events.values())]),
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int64),
        np.ones(len(rows), bool),
    )


def proposals_of(proposals):
    """Proposals from {utterance: [(confidence, start, end), ...]}, times in ns."""
    rows = [row for listed in proposals.values() for row in listed]
    return Proposals(
        tuple(proposals),
        np.cumsum([0, *map(len, proposals.values())]),
        np.array([row[0] for row in rows], np.float64),
        np.array([row[1] for row in rows], np.int64),
        np.array([row[2] for row in rows], np.int64),
    )


# --- Golden values ----------------------------------------------------------------------------------------


def golden(name):
    case = json.loads((GOLDEN / name / "case.json").read_text())

    def ns(time, fps=1):
        return round(Fraction(str(time)) * 10**9 / fps)

    events = {file: [(ns(a), ns(b)) for a, b in content["labels"]] for file, content in case["files"].items()}
    proposals = {
        file: [(c, ns(a, case["fps"]), ns(b, case["fps"])) for c, a, b in content["proposals"]]
        for file, content in case["files"].items()
        if content["proposals"] is not None
    }
    expected = json.loads((GOLDEN / name / "expected.json").read_text())
    return references_of(events), proposals_of(proposals), expected


@pytest.mark.parametrize("name", CASES)
def test_avdeepfake1m_gives_the_exact_numbers_of_its_rules(name):
    references, proposals, expected = golden(name)
    rules = expected["exact"]["av_rules"]
    for iou, value in rules["ap"].items():
        found = average_precision_at(references, proposals, float(iou), variant="avdeepfake1m")
        assert found == float(Fraction(value["exact"]))
    for n, value in (rules["ar"] | expected["exact"].get("cfprf_ar", {})).items():
        assert average_recall_at(references, proposals, int(n), variant="avdeepfake1m") == float(
            Fraction(value["exact"])
        )


@pytest.mark.parametrize("name", CASES)
def test_avdeepfake1m_gives_the_numbers_of_the_three_tools(name):
    references, proposals, expected = golden(name)
    for tool in ("avdeepfake1m", "lavdf_metrics", "cfprf_evaluation_proposal"):
        given = expected["tools"].get(tool, {})
        for iou, value in given.get("ap", {}).items():
            found = average_precision_at(references, proposals, float(iou), variant="avdeepfake1m")
            assert found == pytest.approx(value, abs=2e-6)
        for n, value in given.get("ar", {}).items():
            assert average_recall_at(references, proposals, int(n), variant="avdeepfake1m") == pytest.approx(
                value, abs=2e-6
            )


@pytest.mark.parametrize("name", [name for name in CASES if "anet_rules" in golden(name)[2]["exact"]])
def test_activitynet_gives_the_numbers_of_its_rules_and_of_the_tool(name):
    references, proposals, expected = golden(name)
    rules, tool = expected["exact"]["anet_rules"], expected["tools"]["ummaformer_anet"]
    for i, iou in enumerate(rules["tiou"]):
        ap = average_precision_at(references, proposals, iou, variant="activitynet")
        assert ap == float(Fraction(rules["ap"][i]["exact"]))
        assert ap == pytest.approx(tool["ap"][i], abs=1e-9)
        for k, values in tool["recall_top_kx"].items():
            recall = average_recall_at(references, proposals, int(k), ious=[iou], variant="activitynet")
            assert recall == pytest.approx(values[i], abs=1e-9)


@pytest.mark.parametrize("name", sorted(set(CASES) - {"duplicate_and_shared", "tied_confidence", "iou_on_threshold"}))
def test_without_ties_or_overlaps_ap_is_that_of_sorted_proposals_with_the_first_step(name):
    references, proposals, expected = golden(name)
    rules = expected["exact"]["proposals_sorted_by_confidence_with_first_step"]
    for iou, value in rules["ap"].items():
        assert average_precision_at(references, proposals, float(iou)) == float(Fraction(value["exact"]))
    for n, value in rules["ar"].items():
        assert average_recall_at(references, proposals, int(n)) == float(Fraction(value["exact"]))


def test_the_challenge_score_is_the_mean_of_the_two_means():
    references, proposals, expected = golden("main")
    score = avdeepfake1m_score(references, proposals)
    rules = expected["exact"]["av_rules"]
    means = [
        sum(Fraction(rules[kind][key]["exact"]) for key in keys) / len(keys)
        for kind, keys in (("ap", ("0.5", "0.75", "0.9", "0.95")), ("ar", ("50", "30", "20", "10", "5")))
    ]
    assert score.value == pytest.approx(float(sum(means) / 2), abs=1e-15)
    assert score.average_recalls[10] == 0.902


# --- Brute force ------------------------------------------------------------------------------------------


def union_of(ranges):
    """Ranges as a set of their instants (small whole times), then as ranges again."""
    covered = sorted({t for start, end in ranges for t in range(start, end)})
    edges = [t for t in covered if t - 1 not in covered], [t + 1 for t in covered if t + 1 not in covered]
    return list(zip(*edges, strict=True))


def iou_of(a, b):
    both = max(0, min(a[1], b[1]) - max(a[0], b[0]))
    return Fraction(both, (a[1] - a[0]) + (b[1] - b[0]) - both) if both else Fraction(0)


def brute_hits(events, proposals, iou, variant):
    """[(confidence, is a hit)] in the order in which the variant goes through them."""
    rows = []
    if variant == "avdeepfake1m":
        for file, listed in events.items():
            mine = proposals.get(file, [])
            used = []
            for event in sorted(listed):
                for j, (_, *span) in enumerate(mine):
                    if j not in used and iou_of(span, event) > iou:
                        used.append(j)
                        break
            rows += [(c, j in used) for j, (c, *_) in enumerate(mine)]
        return sorted(rows, key=lambda row: -row[0])
    flat = [(file, *row) for file, listed in proposals.items() for row in listed]
    if variant == "activitynet":
        flat.reverse()
        flat.sort(key=lambda row: -row[1])
        events = {file: sorted(listed) for file, listed in events.items()}
    else:
        flat.sort(key=lambda row: (-row[1], *row[2:]))
        events = {file: union_of(listed) for file, listed in events.items()}
    free = {file: list(enumerate(listed)) for file, listed in events.items()}
    for file, confidence, *span in flat:
        sign = 1 if variant == "activitynet" else -1
        best = max(free.get(file, []), key=lambda item: (iou_of(span, item[1]), sign * item[0]), default=None)
        hit = best is not None and iou_of(span, best[1]) >= iou
        if hit:
            free[file].remove(best)
        rows.append((confidence, hit))
    return rows


def brute_ap(events, proposals, iou, variant):
    hits = brute_hits(events, proposals, iou, variant)
    if variant == "spoofspan":
        expected = sum(len(union_of(listed)) for listed in events.values())
        ends = [i for i in range(len(hits)) if i + 1 == len(hits) or hits[i + 1][0] != hits[i][0]]
    else:
        expected = sum(map(len, events.values()))
        ends = range(len(hits))
    true = [sum(hit for _, hit in hits[: i + 1]) for i in ends]
    precision = [Fraction(t, i + 1) for t, i in zip(true, ends, strict=True)]
    recall = [Fraction(t, expected) for t in true]
    first = 1 if variant == "avdeepfake1m" else 0
    return sum((recall[i] - (recall[i - 1] if i else 0)) * max(precision[i:]) for i in range(first, len(recall)))


def brute_ar(events, proposals, n, ious, variant):
    if variant == "spoofspan":
        top = {f: sorted(rows, key=lambda r: (-r[0], *r[1:]))[:n] for f, rows in proposals.items()}
        expected = sum(len(union_of(listed)) for listed in events.values())
        recalls = [Fraction(sum(h for _, h in brute_hits(events, top, iou, variant)), expected) for iou in ious]
        return sum(recalls) / len(ious)
    top = dict(proposals)
    if variant == "activitynet":
        later_first = {f: rows[::-1] for f, rows in top.items()}
        top = {f: sorted(rows, key=lambda r: -r[0])[: n * len(events.get(f, []))] for f, rows in later_first.items()}
    else:
        top = {f: rows[:n] for f, rows in top.items()}
    strict = variant == "avdeepfake1m"

    def found(file, event, iou):
        values = [iou_of(row[1:], event) for row in top.get(file, [])]
        return any(v > iou if strict else v >= iou for v in values)

    every = [(file, event) for file, listed in events.items() for event in listed]
    return Fraction(sum(found(f, e, iou) for f, e in every for iou in ious), len(every) * len(ious))


SPAN = st.tuples(st.integers(0, 12), st.integers(1, 9)).map(lambda t: (t[0], t[0] + t[1]))
PROPOSAL = st.tuples(st.integers(0, 3).map(lambda k: k / 4), SPAN).map(lambda t: (t[0], *t[1]))
FILES = st.sampled_from("abcd")
EVENTS = st.dictionaries(FILES, st.lists(SPAN, max_size=4, unique=True), min_size=1)
PROPOSALS = st.dictionaries(FILES, st.lists(PROPOSAL, max_size=7), min_size=1)
IOUS = st.sampled_from(["0.1", "0.25", "0.3", "1/3", "0.5", "0.6", "0.75", "0.9"]).map(Fraction)


def counts(events, proposals, variant="spoofspan"):
    """Whether the variant has something to count."""
    return any(events.values()) and any(
        rows for file, rows in proposals.items() if variant != "avdeepfake1m" or file in events
    )


def test_events_that_start_together_are_taken_by_their_end_in_whatever_order_they_are_listed():
    made = proposals_of({"a": [(0.0, 0, 1), (0.0, 1, 2)]})
    for listed in ([(0, 1), (0, 2)], [(0, 2), (0, 1)]):
        assert average_precision_at(references_of({"a": listed}), made, 0.1, variant="avdeepfake1m") == 0.5


@pytest.mark.parametrize("variant", VARIANTS)
@given(events=EVENTS, proposals=PROPOSALS, iou=IOUS, n=st.integers(1, 8))
def test_ap_and_ar_equal_a_brute_force_in_fractions(variant, events, proposals, iou, n):
    references, made = references_of(events), proposals_of(proposals)
    if not counts(events, proposals, variant):
        with pytest.raises(ss.UndefinedMeasureError):
            average_precision_at(references, made, iou, variant=variant)
        return
    assert average_precision_at(references, made, iou, variant=variant) == float(
        brute_ap(events, proposals, iou, variant)
    )
    ious = [iou, Fraction(1, 2)]
    assert average_recall_at(references, made, n, ious=ious, variant=variant) == float(
        brute_ar(events, proposals, n, ious, variant)
    )


@given(events=EVENTS, proposals=PROPOSALS, iou=IOUS)
def test_segment_f1_counts_the_matches_of_ap(events, proposals, iou):
    if counts(events, proposals):
        scores = segment_scores(references_of(events), proposals_of(proposals), iou)
        hits = sum(hit for _, hit in brute_hits(events, proposals, iou, "spoofspan"))
        expected = sum(len(union_of(listed)) for listed in events.values())
        predicted = sum(map(len, proposals.values()))
        assert (scores.matched, scores.predicted, scores.expected) == (hits, predicted, expected)
        assert scores.f1 == float(Fraction(2 * hits, predicted + expected))


def most_pairs(expected, found, tolerance):
    """The size of the largest matching, by trying everything."""
    if not expected:
        return 0
    head, *rest = expected
    options = [most_pairs(rest, found, tolerance)]
    for i, edge in enumerate(found):
        if abs(edge - head) <= tolerance:
            options.append(1 + most_pairs(rest, found[:i] + found[i + 1 :], tolerance))
    return max(options)


@settings(deadline=None)
@given(events=EVENTS, proposals=PROPOSALS, tolerance=st.integers(0, 5))
def test_no_matching_of_boundaries_has_more_pairs(events, proposals, tolerance):
    edges = {f: [e for span in union_of(rows) for e in span if 0 < e < 20] for f, rows in events.items()}
    found = {
        f: [e for span in union_of([r[1:] for r in rows]) for e in span if e > 0 and (f not in events or e < 20)]
        for f, rows in proposals.items()
    }
    references = references_of(events, np.full(len(events), 20))
    made = proposals_of(proposals)
    if not any(edges.values()) or not any(found.values()):
        with pytest.raises(ss.UndefinedMeasureError):
            boundary_scores(references, made, tolerance / 1e9)
        return
    scores = boundary_scores(references, made, tolerance / 1e9)
    assert scores.matched == sum(most_pairs(sorted(edges[f]), found.get(f, []), tolerance) for f in edges)
    assert scores.expected == sum(map(len, edges.values()))
    assert scores.predicted == sum(map(len, found.values()))


@given(events=EVENTS, proposals=PROPOSALS)
def test_had_range_scores_count_instants(events, proposals):
    if counts(events, proposals):
        scores = had_range_scores(references_of(events), proposals_of(proposals))
        spoof = {(f, t) for f, rows in events.items() for a, b in rows for t in range(a, b)}
        called = {(f, t) for f, rows in proposals.items() for _, a, b in rows for t in range(a, b)}
        assert (scores.matched, scores.predicted, scores.expected) == (len(spoof & called), len(called), len(spoof))


# --- Invariances ------------------------------------------------------------------------------------------


@given(events=EVENTS, proposals=PROPOSALS, iou=IOUS, data=st.data())
def test_the_order_of_files_and_of_proposals_does_not_matter(events, proposals, iou, data):
    if counts(events, proposals):
        shuffled = {f: data.draw(st.permutations(proposals[f])) for f in data.draw(st.permutations(list(proposals)))}
        moved = {f: events[f] for f in data.draw(st.permutations(list(events)))}
        before, after = (references_of(events), proposals_of(proposals)), (references_of(moved), proposals_of(shuffled))
        assert average_precision_at(*before, iou) == average_precision_at(*after, iou)
        assert average_recall_at(*before, 2) == average_recall_at(*after, 2)
        assert segment_f1(*before, iou) == segment_f1(*after, iou)


@pytest.mark.parametrize("variant", VARIANTS)
@given(events=EVENTS, proposals=PROPOSALS, iou=IOUS)
def test_an_increasing_map_of_confidences_changes_nothing(variant, events, proposals, iou):
    if counts(events, proposals, variant):
        mapped = {f: [(math.exp(c) - 7, a, b) for c, a, b in rows] for f, rows in proposals.items()}
        values = [
            average_precision_at(references_of(events), proposals_of(p), iou, variant=variant)
            for p in (proposals, mapped)
        ]
        assert values[0] == values[1]


@given(events=EVENTS, proposals=PROPOSALS, iou=IOUS)
def test_a_far_away_proposal_of_least_confidence_leaves_ap_and_lowers_precision(events, proposals, iou):
    if counts(events, proposals):
        references = references_of(events)
        more = proposals | {"a": [*proposals.get("a", []), (-1.0, 1000, 1001)]}
        before, after = (segment_scores(references, proposals_of(p), iou) for p in (proposals, more))
        assert after.precision <= before.precision
        assert after.recall == before.recall
        assert average_precision_at(references, proposals_of(more), iou) == average_precision_at(
            references, proposals_of(proposals), iou
        )


@given(events=EVENTS, proposals=PROPOSALS, iou=IOUS, scale=st.sampled_from([MS, 62_500, 2**50]))
def test_scaling_time_changes_nothing_even_beyond_products_of_64_bits(events, proposals, iou, scale):
    if counts(events, proposals):
        long_events = {f: [(a * scale, b * scale) for a, b in rows] for f, rows in events.items()}
        long_proposals = {f: [(c, a * scale, b * scale) for c, a, b in rows] for f, rows in proposals.items()}
        assert average_precision_at(references_of(long_events), proposals_of(long_proposals), iou) == float(
            brute_ap(events, proposals, iou, "spoofspan")
        )


@given(events=EVENTS, proposals=PROPOSALS, iou=IOUS)
def test_splitting_an_event_changes_nothing(events, proposals, iou):
    if counts(events, proposals):
        split = {
            f: [part for a, b in rows for part in ([(a, a + 1), (a + 1, b)] if b > a + 1 else [(a, b)])]
            for f, rows in events.items()
        }
        made = proposals_of(proposals)
        assert average_precision_at(references_of(events), made, iou) == average_precision_at(
            references_of(split), made, iou
        )


def test_iou_is_compared_exactly_where_floats_cannot():
    second = 2**59
    references = references_of({"a": [(0, second)]})
    for missing, hit in ((0, True), (1, False)):
        # IoU one half, or less by one part in 2**59
        made = proposals_of({"a": [(0.5, 0, second // 2 - missing)]})
        assert segment_scores(references, made, 0.5).matched == hit
    # two events whose IoUs agree in all digits of a float: the larger one is taken
    big = 2**55
    references = references_of({"a": [(0, big), (big + 2, 2 * big + 1)]})
    made = proposals_of({"a": [(0.9, 0, 2 * big + 2), (0.5, 0, big)]})
    assert segment_scores(references, made, 0.4).matched == 1  # the first event was the longer by a nanosecond


def test_an_iou_on_the_threshold_counts_except_in_avdeepfake1m():
    references = references_of({"a": [(0, 20)], "b": [(0, 20)]})
    made = proposals_of({"a": [(0.9, 0, 11)], "b": [(0.8, 0, 20)]})
    assert average_recall_at(references, made, 1, ious=[0.55]) == 1.0
    assert average_recall_at(references, made, 1, ious=[0.55], variant="activitynet") == 1.0
    assert average_recall_at(references, made, 1, ious=[0.55], variant="avdeepfake1m") == 0.5


def test_bona_fide_ranges_and_files_are_no_events():
    references = ss.References.from_ranges(
        {
            "a": [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof", "A01"), (2.0, 3.0, "spoof", "A02")],
            "b": [(0.0, 1.0, "bonafide")],
        }
    )
    made = proposals_of({"a": [(0.5, 10**9, 3 * 10**9)], "b": [(0.9, 0, 10**9)], "c": [(0.8, 0, 10**9)]})
    assert average_precision_at(references, made, 0.9) == 1 / 3
    assert segment_f1(references, made, 0.9) == 0.5
    # not united, and 'c' is unknown to the references: the published variants
    assert average_recall_at(references, made, 1, ious=[0.5], variant="activitynet") == 1.0
    assert average_recall_at(references, made, 1, ious=[0.9], variant="activitynet") == 0.0


def test_edges_at_the_ends_of_an_utterance_are_no_boundaries():
    references = ss.References.from_ranges({"a": [(0.0, 1.0, "spoof"), (1.0, 2.0, "bonafide")]}, {"a": 2.0})
    decided = ss.Scores.from_decisions({"a": [(0.0, 1.01, "spoof"), (1.01, 2.0, "bonafide")]})
    scores = boundary_scores(references, decided, 0.01)
    assert (scores.matched, scores.predicted, scores.expected) == (1, 1, 1)
    assert boundary_scores(references, decided, 0.0099).f1 == 0.0


# --- What is refused --------------------------------------------------------------------------------------

SOME = proposals_of({"a": [(0.5, 0, 10)]})
NONE = proposals_of({"a": []})


@pytest.mark.parametrize(
    "measure",
    [
        lambda r, p: average_precision_at(r, p, 0.5),
        lambda r, p: average_recall_at(r, p, 5),
        lambda r, p: segment_f1(r, p, 0.5),
        lambda r, p: boundary_scores(r, p, 0.1),
        had_range_scores,
        avdeepfake1m_score,
    ],
)
def test_without_events_or_proposals_there_is_no_number(measure):
    with pytest.raises(ss.UndefinedMeasureError, match="check"):
        measure(references_of({"a": []}), SOME)
    with pytest.raises(ss.UndefinedMeasureError, match="move the threshold"):
        measure(references_of({"a": [(1, 10)]}), NONE)


def test_wrong_arguments_are_refused_with_a_remedy():
    references = references_of({"a": [(0, 10)]})
    for iou in (0, 1.5, "x", math.nan):
        with pytest.raises(ss.UsageError, match="IoU"):
            average_precision_at(references, SOME, iou)
    with pytest.raises(ss.UsageError, match="above 1"):
        average_precision_at(references, SOME, 1, variant="avdeepfake1m")
    with pytest.raises(ss.UsageError, match="did you mean 'activitynet'"):
        average_precision_at(references, SOME, 0.5, variant="activity-net")
    with pytest.raises(ss.UsageError, match="1 or more"):
        average_recall_at(references, SOME, 0)
    with pytest.raises(ss.UsageError, match="empty"):
        average_recall_at(references, SOME, 5, ious=[])
    with pytest.raises(ss.UsageError, match="tolerance"):
        boundary_scores(references, SOME, -1)
    with pytest.raises(ss.UsageError, match="proposals_from_scores"):
        segment_f1(references, ss.Scores.from_frames({"a": [0.5]}, 0.02, higher="spoof"), 0.5)


# --- Proposals from scores --------------------------------------------------------------------------------


def made_from(values, threshold=0.5, higher="spoof", **options):
    scores = ss.Scores.from_frames({"a": np.array(values)}, hop=0.01, higher=higher)
    made = proposals_from_scores(scores, threshold, **options)
    frames = zip((made.starts / 1e7).tolist(), (made.ends / 1e7).tolist(), strict=True)
    return list(frames), made.confidences.tolist()


def test_proposals_are_runs_beyond_the_threshold():
    assert made_from([0.0, 1.0, 1.0, 0.5, 0.75]) == ([(1, 3), (4, 5)], [1.0, 0.75])
    assert made_from([1.0, 0.0, 0.0, 0.5, 0.25], higher="bonafide") == ([(1, 3), (4, 5)], [0.0, -0.25])
    assert made_from([0.0, 0.1]) == ([], [])


def test_gaps_are_bridged_before_what_is_short_is_dropped():
    values = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    assert made_from(values, merge_gap=0.01)[0] == [(0, 3), (5, 6)]
    assert made_from(values, merge_gap=0.01, min_duration=0.03) == ([(0, 3)], [pytest.approx(2 / 3)])
    assert made_from(values, min_duration=0.03)[0] == []


def test_proposals_are_cut_at_the_duration():
    assert made_from([0.0, 1.0, 1.0, 1.0], durations={"a": 0.025}) == ([(1, 2.5)], [1.0])
    assert made_from([0.0, 0.0, 1.0], durations={"a": 0.02})[0] == []


@given(values=st.lists(st.integers(0, 4).map(lambda k: k / 4), min_size=1, max_size=12), half=st.integers(0, 3))
def test_smoothing_is_a_median_filter(values, half):
    padded = [values[0]] * half + values + [values[-1]] * half
    smooth = [sorted(padded[i : i + 2 * half + 1])[half] for i in range(len(values))]
    assert made_from(values, smoothing=2 * half + 1)[0] == made_from(smooth)[0]


@given(value=st.floats(0.51, 1e6), count=st.integers(1, 9))
def test_the_mean_of_equal_scores_is_the_score(value, count):
    assert made_from([value] * count)[1] == [value]


def test_a_threshold_is_not_rounded_to_the_type_of_the_scores():
    values = np.array([0.1], np.float32)  # a little above the double 0.1
    assert made_from(values, threshold=0.1)[0] == [(0, 1)]


def test_utterances_without_proposals_stay_and_others_do_not_touch():
    scores = ss.Scores.from_frames({"a": [1.0, 1.0], "b": [0.0], "c": [1.0]}, hop=0.01, higher="spoof")
    made = proposals_from_scores(scores, 0.5, merge_gap=1.0, smoothing=3)
    assert made.utterances == ("a", "b", "c")
    assert made.offsets.tolist() == [0, 1, 1, 2]


def test_score_ranges_with_a_hole_are_two_proposals_unless_bridged():
    scores = ss.Scores.from_ranges({"a": [(0.0, 1.0, 0.9), (1.5, 2.0, 0.6)]}, higher="spoof")
    assert proposals_from_scores(scores, 0.5).starts.tolist() == [0, 1_500_000_000]
    bridged = proposals_from_scores(scores, 0.5, merge_gap=0.5)
    assert bridged.confidences.tolist() == [pytest.approx(0.8)]


def test_scores_that_make_no_proposals_are_refused():
    with pytest.raises(ss.UsageError, match="odd"):
        made_from([1.0], smoothing=2)
    with pytest.raises(ss.UsageError, match="merge_gap"):
        made_from([1.0], merge_gap=-1)
    with pytest.raises(ss.UsageError, match="threshold"):
        made_from([1.0], threshold=math.nan)
    with pytest.raises(ss.DataError, match="infinite"):
        made_from([math.inf, -math.inf, math.inf], merge_gap=0.01)
    windows = ss.Scores.from_frames({"a": [1.0, 1.0]}, hop=0.01, window=0.02, higher="spoof")
    with pytest.raises(ss.DataError, match="two scores at once"):
        proposals_from_scores(windows, 0.5)
    ranges = ss.Scores.from_ranges({"a": [(0.0, 1.0, 0.9)]}, higher="spoof")
    with pytest.raises(ss.UsageError, match="resample"):
        proposals_from_scores(ranges, 0.5, smoothing=3)


def test_every_default_threshold_of_ar_is_a_twentieth():
    assert [Fraction(str(iou)) for iou in AR_IOUS] == [Fraction(k, 20) for k in range(10, 20)]
