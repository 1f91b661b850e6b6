"""Points as runs of one label, and frames that are cut into points, against one point after the other."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from small_corpora import content

import spoofspan as ss
from spoofspan.data.rules import Rules
from spoofspan.mass.labelling import Labelling
from spoofspan.mass.point_labels import Grid, bona_fide_shares, classes_of_points, label_points

MS = 1_000_000
IGNORED = 3
pytestmark = [pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"), pytest.mark.quick]


@st.composite
def labellings(draw):
    """A few utterances of runs of 1 to 40 ns, some of which have the label of their neighbours."""
    runs = st.lists(st.tuples(st.integers(1, 40), st.sampled_from([0, 1, IGNORED])), min_size=1, max_size=12)
    return of_runs(*draw(st.lists(runs, min_size=1, max_size=4)))


def times_in_points(labelling, grid):
    """The bona fide and the spoofed time of every point, instant by instant."""
    for i in range(len(labelling.utterances)):
        rows = slice(labelling.offsets[i], labelling.offsets[i + 1])
        label = np.repeat(labelling.labels[rows], np.diff(labelling.ends[rows], prepend=0))
        k = np.arange(grid.counts[i])
        for start, end in zip(*grid.edges(np.full(k.size, i), k), strict=True):
            here = label[start:end]
            yield int((here == 0).sum()), int((here == 1).sum())


def of_runs(*utterances):
    """A labelling of (length, label) in each utterance."""
    offsets = np.cumsum([0, *map(len, utterances)])
    ends = np.concatenate([np.cumsum([length for length, _ in one]) for one in utterances])
    labels = np.array([label for one in utterances for _, label in one], np.int8)
    return Labelling(tuple(f"u{i}" for i in range(len(utterances))), ends[offsets[1:] - 1], offsets, ends, labels)


@example(of_runs([(51, 1), (5, 0), (5, 0), (60, 1)], [(1, 0)]), 50, "any", "use", True)
@given(
    labelling=labellings(),
    spacing=st.sampled_from([1, 3, 7, 20, 50]),
    label=st.sampled_from(["any", "majority", "0.3"]),
    last_point=st.sampled_from(["use", "round", "drop"]),
    only_two=st.booleans(),
)
def test_each_point_has_the_class_of_its_own_time(labelling, spacing, label, last_point, only_two):
    if only_two:
        labels = np.minimum(labelling.labels, 1).astype(np.int8)
        labelling = Labelling(labelling.utterances, labelling.extents, labelling.offsets, labelling.ends, labels)
    grid = Grid.over(labelling.extents, spacing * 1e-9, last_point)
    labelled = label_points(labelling, grid, Rules(label=label))
    share = {"any": Fraction(0), "majority": Fraction(1, 2), "0.3": Fraction(3, 10)}[label]
    expected = [
        IGNORED if not bona_fide + spoof else int(spoof > 0 if label == "any" else spoof >= share * (bona_fide + spoof))
        for bona_fide, spoof in times_in_points(labelling, grid)
    ]
    assert classes_of_points(labelled).tolist() == expected
    assert labelled.extents.tolist() == grid.counts.tolist()
    shares = [Fraction(b, max(b + s, 1)) for b, s in times_in_points(labelling, grid)]
    assert bona_fide_shares(labelling, grid).tolist() == [float(one) for one in shares]


@pytest.mark.parametrize("resolution", [0.02, 0.01, 0.005])
@pytest.mark.parametrize("pooling", ["min", "mean", "max"])
@pytest.mark.parametrize("last_point", ["use", "round", "drop"])
def test_points_of_a_frame_are_counted_and_not_listed(resolution, pooling, last_point):
    """The same as frames of the resolution itself, each written as often as it has points."""
    rng = np.random.default_rng(7)
    lengths = {"u1": 1.0, "u2": 0.513, "u3": 0.024, "u4": 0.0401}
    ranges, values = {}, {}
    for utt, length in lengths.items():
        cuts = np.unique(np.round(rng.uniform(0, length, 9), 4))
        edges = [0.0, *cuts[(cuts > 0) & (cuts < length)].tolist(), length]
        ranges[utt] = [(a, b, ("bonafide", "spoof")[i % 2]) for i, (a, b) in enumerate(pairwise(edges))]
        values[utt] = rng.integers(0, 9, max(int(length / 0.02), 1)).astype(np.float32)
    references = ss.References.from_ranges(ranges, durations=lengths)
    scores = ss.Scores.from_frames(values, hop=0.02, higher="spoof")
    times = round(0.02 / resolution)
    finer = {utt: np.repeat(own, times) for utt, own in values.items()}
    repeated = ss.Scores.from_frames(finer, hop=resolution, higher="spoof")
    rules = {"pooling": pooling, "last_point": last_point, "slack": 0.045}
    mass = ss.point_mass(references, scores, resolution, **rules)
    assert content(mass) == content(ss.point_mass(references, repeated, resolution, **rules))
    assert sum(block.scores.size for block in mass.blocks()) == scores.values.size
    assert mass.parts[0].points_per_frame == times


def test_the_points_of_an_utterance_can_still_be_listed():
    references = ss.References.from_ranges({"u": [(0.0, 0.03, "bonafide"), (0.03, 0.06, "spoof")]})
    scores = ss.Scores.from_frames({"u": [0.9, 0.3, -0.2]}, hop=0.02, higher="bonafide")
    part = ss.point_mass(references, scores, 0.01).parts[0]
    values, scored, classes = part.labelled_points(0, 1)
    assert values.tolist() == [0.9, 0.9, 0.3, 0.3, -0.2, -0.2]
    assert scored is None
    assert classes.tolist() == [0, 0, 0, 1, 1, 1]


def test_frames_of_a_microsecond_are_pooled_into_whole_utterances():
    """As many frames of a point as utterances would have if each lasted as long as one may does not fit into int64."""
    ids = [f"u{i}" for i in range(20_000)]
    is_spoof = np.arange(20_000) % 2 == 1
    references = ss.References.from_columns(
        ids, np.full(20_000, 2000), np.arange(20_001), np.zeros(20_000, int), np.full(20_000, 2000), is_spoof
    )
    values = np.stack((1.0 - is_spoof, np.full(20_000, 2.0)), axis=1).ravel()
    scores = ss.Scores.from_columns(ids, 2 * np.arange(20_001), values, hop=1e-6, higher="bonafide")
    assert ss.evaluate(references, scores, "utterance-eer").measurements["utterance-eer"].value == 0.0
