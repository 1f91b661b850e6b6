"""Overwriting ranges of a labelling, and times in it, against a picture of it with one cell per nanosecond."""

import numpy as np
import pytest

from spoofspan.mass.labelling import Labelling, overwrite

pytestmark = pytest.mark.quick


def random_labelling(rng):
    count = int(rng.integers(1, 5))
    extents = rng.integers(3, 30, count)
    ends = [np.unique(np.append(rng.integers(1, extent + 1, 4), extent)) for extent in extents]
    offsets = np.concatenate(([0], np.cumsum([one.size for one in ends])))
    labels = rng.integers(0, 2, offsets[-1]).astype(np.int8)
    return Labelling(tuple(f"u{i}" for i in range(count)), extents, offsets, np.concatenate(ends), labels)


def picture(labelling):
    cells = []
    for i, extent in enumerate(labelling.extents.tolist()):
        rows = slice(labelling.offsets[i], labelling.offsets[i + 1])
        cells.append(labelling.labels[rows][np.searchsorted(labelling.ends[rows], np.arange(extent), side="right")])
    return cells


def test_overwriting():
    rng = np.random.default_rng(7)
    for _ in range(300):
        before = random_labelling(rng)
        utterance = rng.integers(0, len(before.utterances), int(rng.integers(0, 7)))
        edges = [np.sort(rng.integers(0, before.extents[u] + 1, 2)) for u in utterance]
        starts, ends = (np.array([edge[k] for edge in edges], np.int64) for k in (0, 1))
        after = overwrite(before, utterance, starts, ends, 3)
        expected = picture(before)
        for u, start, end in zip(utterance, starts, ends, strict=True):
            expected[u][start:end] = 3
        assert [one.tolist() for one in picture(after)] == [one.tolist() for one in expected]
        for i in range(len(after.utterances)):
            assert (np.diff(after.ends[after.offsets[i] : after.offsets[i + 1]]) > 0).all()


def test_the_run_of_any_time_and_the_time_of_each_label_in_any_range_are_exact():
    rng = np.random.default_rng(11)
    for _ in range(300):
        labelling = random_labelling(rng)
        cells = picture(labelling)
        utterance = rng.integers(0, len(labelling.utterances), int(rng.integers(0, 9)))
        starts = rng.integers(0, labelling.extents[utterance])
        ends = rng.integers(starts, labelling.extents[utterance] + 1)  # some are empty
        labels = labelling.labels[labelling.runs_at(utterance, starts)]
        assert labels.tolist() == [cells[u][start] for u, start in zip(utterance, starts, strict=True)]
        for label, time in zip((1, 0), labelling.times_of((1, 0), utterance, starts, ends), strict=True):
            ranges = zip(utterance, starts, ends, strict=True)
            assert time.tolist() == [np.count_nonzero(cells[u][start:end] == label) for u, start, end in ranges]


def test_a_corpus_of_centuries_is_overwritten_like_any_other():
    extents = np.full(3, 2**60)
    whole = Labelling(("u0", "u1", "u2"), extents, np.arange(4), extents, np.zeros(3, np.int8))
    after = overwrite(whole, np.array([2]), np.array([5]), np.array([9]), 3)
    assert (after.ends.tolist(), after.labels.tolist()) == ([2**60, 2**60, 5, 9, 2**60], [0, 0, 0, 3, 0])
