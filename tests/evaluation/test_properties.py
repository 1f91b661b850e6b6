"""What must not change a number does not change it: invariances of range and point measures, by hypothesis."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from drawn_corpora import (
    BONA_FIDE,
    EXACT_SCORES,
    FEW_SCORES,
    MS,
    NONSPEECH,
    SPOOF,
    Corpus,
    corpora,
    eer_of,
    mass_of,
    pieces,
    references_of,
    scores_of,
)
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import spoofspan as ss
from spoofspan.measures.curve import error_curve_of

explored = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

# few distinct scores and no good system are the point of these corpora
pytestmark = [pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"), pytest.mark.quick]

EER_RULES = ("nearest", "interpolated", "convex-hull", "bucketed(-70000,70000,7)")
WITHOUT_BUCKETS = EER_RULES[:3]
FINITE_SCORES = EXACT_SCORES.filter(math.isfinite)

# None stands for the range-based measure
RANGES, POINTS = st.none(), st.sampled_from([0.005, 0.01, 0.02, 0.035, 1 / 30])
both_measures = pytest.mark.parametrize("resolutions", [RANGES, POINTS], ids=["range", "point"])


def assert_same(data, found: ss.ScoreMass, expected: ss.ScoreMass) -> None:
    """Value, operating point and neighbours are equal under an EER rule, and so is the whole curve."""
    finite = np.isfinite(expected.scores.astype(float)).all()
    rule = data.draw(st.sampled_from(EER_RULES if finite else WITHOUT_BUCKETS))
    assert eer_of(found, rule) == eer_of(expected, rule)
    curves = []
    for mass in (found, expected):
        try:
            curve = error_curve_of(mass)
            curves.append([curve.thresholds, curve.false_positive_rates, curve.false_negative_rates])
        except ss.UndefinedMeasureError:
            curves.append([])
    assert len(curves[0]) == len(curves[1])
    assert all(map(np.array_equal, *curves))


def defined_eers(data, found: ss.ScoreMass, expected: ss.ScoreMass, rules=WITHOUT_BUCKETS):
    """An EER rule and the EERs of both masses under it, if they are defined; they must be so together."""
    rule = data.draw(st.sampled_from(rules))
    eers = eer_of(found, rule), eer_of(expected, rule)
    assert (eers[0] == "undefined") == (eers[1] == "undefined")
    assume(eers[0] != "undefined")
    return rule, *eers


def map_scores(corpus: Corpus, change) -> dict:
    return {utt: [(start, end, change(score)) for start, end, score in rows] for utt, rows in corpus.scores.items()}


def cut_somewhere(data, ranges: dict) -> dict:
    """The same ranges, some of them in two or three pieces, in any order."""
    cut = {}
    for utt, rows in ranges.items():
        cut[utt] = []
        for start, end, thing in rows:
            inner = data.draw(st.sets(st.integers(start, end), max_size=2)) if end - start > 1 else set()
            edges = [start, *sorted(inner - {start, end}), end]
            cut[utt] += [(a, b, thing) for a, b in pairwise(edges)]
        cut[utt] = data.draw(st.permutations(cut[utt]))
    return cut


# ---------------------------------------------------------------- order, shards, pieces


@both_measures
@explored
@given(data=st.data(), corpus=corpora())
def test_the_order_of_utterances_changes_nothing(resolutions, data, corpus):
    resolution = data.draw(resolutions)
    utterances = list(corpus.references)
    in_references, in_scores = (data.draw(st.permutations(utterances)) for _ in range(2))
    references, scores = corpus.only(in_references).built()[0], corpus.only(in_scores).built()[1]
    assert_same(data, mass_of(references, scores, resolution, corpus), corpus.mass(resolution))


@both_measures
@explored
@given(data=st.data(), corpus=corpora())
def test_masses_of_any_shards_add_up_to_the_whole(resolutions, data, corpus):
    resolution = data.draw(resolutions)
    shard_of = {utt: data.draw(st.integers(0, 2)) for utt in corpus.references}
    shards = [[utt for utt in corpus.references if shard_of[utt] == shard] for shard in range(3)]
    masses = [corpus.only(shard).mass(resolution) for shard in shards if shard]
    whole = masses[0]
    for mass in masses[1:]:
        whole = whole + mass
    assert sorted(whole.utterances) == sorted(corpus.references)
    assert_same(data, whole, corpus.mass(resolution))


@both_measures
@explored
@given(data=st.data(), corpus=corpora())
def test_splitting_a_reference_range_changes_nothing(resolutions, data, corpus):
    resolution = data.draw(resolutions)
    split = corpus.but(references=cut_somewhere(data, corpus.references))
    assert_same(data, split.mass(resolution), corpus.mass(resolution))


@both_measures
@explored
@given(data=st.data(), corpus=corpora())
def test_splitting_a_score_range_changes_nothing(resolutions, data, corpus):
    resolution = data.draw(resolutions)
    split = corpus.but(scores=cut_somewhere(data, corpus.scores))
    assert_same(data, split.mass(resolution), corpus.mass(resolution))


@both_measures
@explored
@given(data=st.data(), corpus=corpora())
def test_empty_ranges_change_nothing(resolutions, data, corpus):
    resolution = data.draw(resolutions)
    instant = {utt: data.draw(st.integers(0, corpus.durations[utt])) for utt in corpus.references}
    with_empty = corpus.but(
        references={u: [*rows, (instant[u], instant[u], SPOOF)] for u, rows in corpus.references.items()},
        scores={u: [*rows, (instant[u], instant[u], -9.0)] for u, rows in corpus.scores.items()},
    )
    references, scores = with_empty.built()
    assert references.dropped_empty == scores.dropped_empty == len(corpus.references)
    assert_same(data, with_empty.mass(resolution), corpus.mass(resolution))


# ---------------------------------------------------------------- time


def shifted(ranges: dict, by: int) -> dict:
    return {utt: [(start + by, end + by, thing) for start, end, thing in rows] for utt, rows in ranges.items()}


@both_measures
@explored
@given(
    data=st.data(),
    corpus=corpora(collar=False),
    double_points=st.integers(1, 5),
    by_regions=st.booleans(),
)
def test_shifting_time_behind_an_ignored_gap_changes_nothing(resolutions, data, corpus, double_points, by_regions):
    # points lie on a grid from 0 on, so a shift must keep it; an even number of points also keeps ties of rounding
    resolution = data.draw(resolutions.filter(lambda r: r != 1 / 30))
    assume(corpus.rules["uncovered"] != "hold")
    grid = 2 * 10 * MS if resolution is None else 2 * round(resolution * 1e9)
    by = double_points * grid
    durations = {utt: duration + by for utt, duration in corpus.durations.items()}
    rules = {**corpus.rules, "gaps": "ignore"}
    if by_regions:
        regions = {utt: [(by / 1e9, duration / 1e9)] for utt, duration in durations.items()}
        rules = {**corpus.rules, "gaps": "spoof", "regions": regions}
    later = corpus.but(
        references=shifted(corpus.references, by),
        scores=shifted(corpus.scores, by),
        durations=durations,
        rules=rules,
    )
    assert_same(data, later.mass(resolution), corpus.mass(resolution))


@both_measures
@explored
@given(data=st.data(), start=st.integers(-3, 7))
def test_frames_may_start_anywhere(resolutions, data, start):
    resolution = data.draw(resolutions)
    hop, frames = 10 * MS, data.draw(st.integers(2, 12))
    values = data.draw(st.lists(FEW_SCORES, min_size=frames, max_size=frames))
    extent = frames * hop
    references = references_of({"u": [(0, hop, BONA_FIDE), (hop, extent, SPOOF)]}, {"u": extent})
    offset = start * 4 * MS
    as_frames = ss.Scores.from_frames({"u": values}, hop=0.01, start=offset / 1e9, higher="bonafide")
    edges = [max(offset + k * hop, 0) for k in range(frames + 1)]
    as_ranges = scores_of({"u": list(zip(edges, edges[1:], values, strict=False))})
    corpus = Corpus({}, {}, {}, rules={"uncovered": "unanswered", "slack": 0.0, "overlong": "cut"})
    assert_same(
        data, mass_of(references, as_frames, resolution, corpus), mass_of(references, as_ranges, resolution, corpus)
    )


@both_measures
@explored
@given(data=st.data(), corpus=corpora(collar=False), factor=st.integers(2, 50))
def test_scaling_time_changes_no_rate(resolutions, data, corpus, factor):
    resolution = data.draw(resolutions.filter(lambda r: r != 1 / 30))
    scaled = corpus.but(
        references={u: [(a * factor, b * factor, x) for a, b, x in rows] for u, rows in corpus.references.items()},
        scores={u: [(a * factor, b * factor, x) for a, b, x in rows] for u, rows in corpus.scores.items()},
        durations={utt: duration * factor for utt, duration in corpus.durations.items()},
    )
    coarser = None if resolution is None else round(resolution * 1e9) * factor / 1e9
    _, found, expected = defined_eers(data, scaled.mass(coarser), corpus.mass(resolution))
    assert found.value == expected.value
    for point, other in zip((found.point, *found.neighbours), (expected.point, *expected.neighbours), strict=True):
        if resolution is not None or other is None:
            assert point == other
            continue
        assert point.exact_false_positive_rate == other.exact_false_positive_rate
        assert point.exact_false_negative_rate == other.exact_false_negative_rate
        assert (point.threshold, point.everything) == (other.threshold, other.everything)
        assert point.bona_fide == factor * other.bona_fide


# ---------------------------------------------------------------- scores


def with_threshold(point, change):
    """The same operating point on another scale; "everything is called spoof" stays what it is."""
    if point is None or point.everything:
        return point
    return replace(point, threshold=change(point.threshold))


@both_measures
@explored
@given(data=st.data(), corpus=corpora())
def test_an_increasing_map_of_the_scores_maps_the_threshold_only(resolutions, data, corpus):
    resolution = data.draw(resolutions)
    old = sorted({score for rows in corpus.scores.values() for *_, score in rows})
    new = data.draw(
        st.lists(st.floats(allow_nan=False), min_size=len(old), max_size=len(old), unique_by=lambda value: value + 0.0)
    )
    mapping = dict(zip(old, sorted(new), strict=True))
    mapped = corpus.but(scores=map_scores(corpus, mapping.__getitem__))
    _, found, expected = defined_eers(data, mapped.mass(resolution), corpus.mass(resolution))
    assert found.value == expected.value
    assert found.point == with_threshold(expected.point, mapping.__getitem__)
    for point, other in zip(found.neighbours, expected.neighbours, strict=True):
        assert point == with_threshold(other, mapping.__getitem__)


@both_measures
@explored
@given(data=st.data(), corpus=corpora())
def test_negated_scores_of_the_other_polarity_negate_the_threshold_only(resolutions, data, corpus):
    resolution = data.draw(resolutions)
    other = {"bonafide": "spoof", "spoof": "bonafide"}[corpus.higher]
    mirrored = corpus.but(scores=map_scores(corpus, lambda score: -score), higher=other)
    finite = all(math.isfinite(score) for rows in corpus.scores.values() for *_, score in rows)

    def mirror(point):
        return None if point is None else replace(point, threshold=-point.threshold, higher=other)

    rules = EER_RULES if finite else WITHOUT_BUCKETS
    _, found, expected = defined_eers(data, mirrored.mass(resolution), corpus.mass(resolution), rules)
    assert found.value == expected.value
    assert found.point == mirror(expected.point)
    assert found.neighbours == tuple(map(mirror, expected.neighbours))
    assert math.copysign(1, found.point.threshold) == 1 or found.point.threshold != 0, "no negative zero"


SWAPPED = {"bonafide": "spoof", "spoof": "bonafide"}


def swapped(corpus: Corpus) -> Corpus:
    """The classes change places, and so do the ends of the scale."""
    other = {BONA_FIDE: SPOOF, SPOOF: BONA_FIDE, NONSPEECH: NONSPEECH}
    return corpus.but(
        references={u: [(a, b, other[label]) for a, b, label in rows] for u, rows in corpus.references.items()},
        scores=map_scores(corpus, lambda score: -score),
        rules={name: SWAPPED.get(value, value) for name, value in corpus.rules.items()},
    )


# a point's minimum and its label know the classes apart, unless every edge lies on the grid of the points
@pytest.mark.parametrize(
    ("resolution", "drawn"),
    [(None, corpora()), (0.005, corpora(tick=5 * MS, whole_ticks=True, collar=False))],
    ids=["range", "point"],
)
@explored
@given(data=st.data())
def test_swapping_labels_with_negated_scores_changes_no_value(resolution, drawn, data):
    corpus = data.draw(drawn)
    rule, found, expected = defined_eers(data, swapped(corpus).mass(resolution), corpus.mass(resolution))
    gaps = [
        abs(point.exact_false_positive_rate - point.exact_false_negative_rate)
        for point in expected.neighbours
        if point is not None
    ]
    if rule == "nearest" and len(gaps) == 2 and gaps[0] == gaps[1]:
        return  # two thresholds tie, and the lowest in one direction is the highest in the other
    assert found.value == expected.value, rule
    if rule == "nearest":
        assert found.point.exact_false_positive_rate == expected.point.exact_false_negative_rate
        assert found.point.exact_false_negative_rate == expected.point.exact_false_positive_rate


@both_measures
@explored
@given(data=st.data(), corpus=corpora())
def test_the_type_of_the_scores_changes_nothing(resolutions, data, corpus):
    resolution = data.draw(resolutions)
    masses = [corpus.mass(resolution, dtype) for dtype in (np.float64, np.float32, np.float16)]
    assert_same(data, masses[1], masses[0])
    assert_same(data, masses[2], masses[0])


@both_measures
@explored
@given(data=st.data(), corpus=corpora())
def test_shards_may_have_scores_of_different_types(resolutions, data, corpus):
    resolution = data.draw(resolutions)
    dtypes = st.sampled_from([np.float16, np.float32, np.float64])
    masses = [corpus.only([utt]).mass(resolution, data.draw(dtypes)) for utt in corpus.references]
    whole = masses[0]
    for mass in masses[1:]:
        whole = whole + mass
    assert_same(data, whole, corpus.mass(resolution))


# ---------------------------------------------------------------- weights


@both_measures
@explored
@given(data=st.data(), corpus=corpora())
def test_a_whole_weight_is_a_repetition(resolutions, data, corpus):
    resolution = data.draw(resolutions)
    weights = {utt: data.draw(st.integers(0, 3)) for utt in corpus.references}
    assume(any(weights.values()))
    copies = [(utt, f"{utt}, copy {i}") for utt, weight in weights.items() for i in range(weight)]
    repeated = corpus.but(
        references={copy: corpus.references[utt] for utt, copy in copies},
        scores={copy: corpus.scores[utt] for utt, copy in copies},
        durations={copy: corpus.durations[utt] for utt, copy in copies},
    )
    mass = corpus.mass(resolution)
    assert_same(data, mass.reweight(weights), repeated.mass(resolution))
    assert_same(data, mass.reweight(np.array([weights[utt] for utt in mass.utterances])), repeated.mass(resolution))


@both_measures
@explored
@given(data=st.data(), corpus=corpora())
def test_a_weight_of_zero_removes_an_utterance(resolutions, data, corpus):
    resolution = data.draw(resolutions)
    kept = data.draw(st.sets(st.sampled_from(list(corpus.references)), min_size=1))
    mass = corpus.mass(resolution)
    selected = mass.select(sorted(kept))
    assert set(selected.utterances) == kept
    assert_same(data, mass.reweight({utt: int(utt in kept) for utt in mass.utterances}), selected)
    assert_same(data, selected, corpus.only([utt for utt in corpus.references if utt in kept]).mass(resolution))


@both_measures
@explored
@given(data=st.data(), corpus=corpora(), first=st.integers(1, 4), second=st.integers(1, 4))
def test_weights_multiply_and_survive_selecting_and_adding(resolutions, data, corpus, first, second):
    resolution = data.draw(resolutions)
    mass = corpus.mass(resolution)
    count = len(mass.utterances)
    twice = mass.reweight([first] * count).reweight([second] * count)
    assert_same(data, twice, mass.reweight([first * second] * count))
    assert_same(data, twice.select(mass.utterances), twice)
    half = data.draw(st.integers(0, count))
    parts = [mass.select(some) for some in (mass.utterances[:half], mass.utterances[half:]) if some]
    whole = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    weights = {utt: i + 1 for i, utt in enumerate(mass.utterances)}
    assert_same(data, whole.reweight(weights), mass.reweight(weights))


# ---------------------------------------------------------------- frames, points, re-sampling


@explored
@given(data=st.data(), corpus=corpora(tick=20 * MS, whole_ticks=True, collar=False, label_rules=["any", 0.3, 1.0]))
def test_points_are_ranges_when_every_edge_lies_on_the_grid(data, corpus):
    label = data.draw(st.sampled_from(["any", "majority", "rounded", 0.01, 1.0]))
    resolution = data.draw(st.sampled_from([0.02, 0.01, 0.004]))
    points = corpus.but(point_rules={**corpus.point_rules, "label": label}).mass(resolution)
    size = round(resolution * 1e9)

    def in_time(point):
        amounts = ("false_positive", "false_negative", "bona_fide", "spoof")
        unanswered = ("unanswered_bona_fide", "unanswered_spoof")
        if point is None:
            return None
        return replace(point, unit="ns", **{name: size * getattr(point, name) for name in (*amounts, *unanswered)})

    _, found, expected = defined_eers(data, points, corpus.mass(None))
    assert found.value == expected.value
    assert in_time(found.point) == expected.point
    assert tuple(map(in_time, found.neighbours)) == expected.neighbours


HOPS = (0.02, 0.01, 0.0125, 1 / 30, 256 / 22050, 0.02 + 1e-9 / 3)


@st.composite
def framed(draw, covered: bool = False):
    """References, frames for them (too few, too many, or just enough), the same as ranges, and the hop."""
    hop = draw(st.sampled_from(HOPS))
    dtype = draw(st.sampled_from([np.float16, np.float32, np.float64]))
    higher = draw(st.sampled_from(["bonafide", "spoof"]))
    ranges, durations, frames, same = {}, {}, {}, {}
    for i in range(draw(st.integers(1, 4))):
        utt = f"u{i}"
        extent = draw(st.integers(2, 12)) * round(hop * 1e9) + draw(st.integers(-1_000_000, 1_000_000))
        enough = next(k for k in range(20) if np.rint(k * hop * 1e9) >= extent)
        count = enough + draw(st.integers(0, 2) if covered else st.integers(-3, 2))
        values = draw(st.lists(EXACT_SCORES | FEW_SCORES, min_size=max(count, 1), max_size=max(count, 1)))
        edges = np.rint(np.arange(len(values) + 1) * hop * 1e9).astype(np.int64).tolist()
        durations[utt] = extent
        ranges[utt] = draw(pieces(extent, 3_000_000, st.sampled_from([BONA_FIDE, SPOOF])))
        if i == 0:
            middle = draw(st.integers(1, extent - 1))
            ranges[utt] = [(0, middle, SPOOF), (middle, extent, BONA_FIDE)]
        frames[utt] = np.array(values, dtype)
        same[utt] = list(zip(edges, edges[1:], values, strict=False))
    as_frames = ss.Scores.from_frames(frames, hop=hop, higher=higher)
    return references_of(ranges, durations), as_frames, scores_of(same, higher, dtype), hop


RULES_FOR_TAILS = st.fixed_dictionaries(
    {
        "uncovered": st.sampled_from(["hold", "unanswered", "bonafide", "spoof", "ignore"]),
        "slack": st.sampled_from([0.0, 0.015, 0.045]),
        "last_frame": st.sampled_from(["use", "drop"]),
    }
)


@both_measures
@explored
@given(data=st.data(), drawn=framed(), rules=RULES_FOR_TAILS)
def test_frames_are_the_ranges_they_stand_for(resolutions, data, drawn, rules):
    resolution = data.draw(resolutions)
    references, frames, ranges, _ = drawn
    if rules["last_frame"] == "drop" and rules["uncovered"] == "hold":
        rules = {**rules, "uncovered": "unanswered"}  # an utterance may be left without any score
    corpus = Corpus({}, {}, {}, rules=rules)
    found, expected = (mass_of(references, scores, resolution, corpus) for scores in (frames, ranges))
    assert_same(data, found, expected)
    if eer_of(expected, "nearest") != "undefined":
        measure = ss.range_eer if resolution is None else lambda *args, **kw: ss.point_eer(*args, resolution, **kw)
        assert measure(references, frames, **rules).touched == measure(references, ranges, **rules).touched


@explored
@given(
    data=st.data(), drawn=framed(covered=True), resolution=st.sampled_from([0.004, 0.01, 0.02, 0.035, 0.1, 1 / 30, 1.0])
)
def test_scores_resampled_to_a_resolution_measure_there_as_the_original(data, drawn, resolution):
    references, frames, ranges, _ = drawn
    corpus = Corpus({}, {}, {})
    expected = mass_of(references, frames, resolution, corpus)
    for scores in (frames, ranges):
        resampled = scores.resample(resolution, durations=references)
        assert resampled.hop == resolution
        assert_same(data, mass_of(references, resampled, resolution, corpus), expected)


@explored
@given(drawn=framed())
def test_resampling_to_its_own_hop_is_the_identity(drawn):
    _, frames, ranges, hop = drawn
    for scores in (frames, ranges):
        same = scores.resample(hop)
        assert same.values.dtype == frames.values.dtype
        assert np.array_equal(same.values, frames.values)
        assert np.array_equal(same.offsets, frames.offsets)
        assert (same.utterances, same.higher, same.hop) == (frames.utterances, frames.higher, frames.hop)


@explored
@given(drawn=framed(), factor=st.integers(2, 4))
def test_duplicating_frames_and_taking_the_minimum_gives_the_frames_back(drawn, factor):
    _, frames, _, hop = drawn
    assume(hop in (0.02, 0.01, 0.0125))  # a part of the hop must be a whole number of ns
    assume(round(hop * 1e9) % factor == 0)
    finer = frames.resample(hop / factor)
    assert np.array_equal(finer.values, np.repeat(frames.values, factor))
    assert np.array_equal(finer.resample(hop).values, frames.values)


@explored
@given(data=st.data(), corpus=corpora(values=FINITE_SCORES))
def test_measuring_does_not_change_its_inputs(data, corpus):
    references, scores = corpus.built()
    columns = [references.starts, references.ends, references.labels, references.durations]
    columns += [scores.values, scores.starts, scores.ends]
    before = [column.copy() for column in columns]
    for resolution in (None, 0.01):
        mass = mass_of(references, scores, resolution, corpus)
        for rule in WITHOUT_BUCKETS:
            eer_of(mass, rule)
        eer_of(mass.reweight([2] * len(mass.utterances)), "nearest")
    assert all(np.array_equal(column, copy) for column, copy in zip(columns, before, strict=True))
