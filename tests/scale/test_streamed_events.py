"""Event measures shard by shard: the same bits as in memory, whatever the shards."""

import json
import random
import warnings
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from command_line import run
from outcomes import build
from random_corpora import random_case

import spoofspan as ss
from spoofspan.base.errors import SpoofspanError, UsageError
from spoofspan.evaluation.corpus import CorpusInMemory
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.formats.tables import parquet
from spoofspan.measures.events import found_events
from spoofspan.measures.events.found_events import Changes, area_under, best_f1, curve_of
from spoofspan.uncertainty import event_intervals
from spoofspan.uncertainty.clusters import Clusters

pytest.importorskip("pyarrow.parquet")

SUMS = ("event-f1@iou=0.3", "event-f1-macro", "event-precision", "event-recall@iou=0.9", "event-ar@n=2")
SUMS += ("event-boundary-f1@tolerance=0.1", "event-had-f1", "add2023", "event-add2023-macro")
SUMS += ("event-collar-f1", "event-intersection-error-rate")
RANKED = ("event-ap@iou=0.5", "event-ap@iou=0.1:0.2:0.9")
SWEPT = ("event-collar-best-f1", "event-intersection-best-f1@dtc=0.3,gtc=0.3", "event-psds@max_efpr=2000")


def outcome(measure):
    """What came of it: all numbers and signatures, or the kind of refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.SpoofspanWarning)
        try:
            return json.dumps(measure().to_dict(), sort_keys=True)  # as text: NaN differs from itself
        except SpoofspanError as error:
            return error.exit_code


def files(folder, references, scores):
    paths = folder / "r.parquet", folder / "s.parquet"
    paths[0].write_bytes(b"".join(parquet.write_references(references)))
    paths[1].write_bytes(b"".join(parquet.write_scores(scores)))
    return paths


def drawn(rng, utterances=12):
    """A corpus whose scores follow its labels, with ties, and utterances that have no spoof."""
    labels, frames = {}, {}
    for number in range(utterances):
        cuts = sorted(rng.uniform(0.0, 2.0) for _ in range(rng.randint(0, 5)))
        edges = [0.0, *(round(cut, 3) for cut in cuts), 2.0]
        spans = [(a, b, ("bonafide", "spoof")[i % 2]) for i, (a, b) in enumerate(pairwise(edges)) if a < b]
        name = f"u{rng.randrange(10**6):06d}-{number}"
        labels[name] = spans
        spoofed = [any(a <= 0.02 * k + 0.01 < b for a, b, label in spans if label == "spoof") for k in range(100)]
        frames[name] = np.float32([round(rng.gauss(-1.0 if one else 1.0, 1.0), 1) for one in spoofed])
    return ss.References.from_ranges(labels), ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("how", [{}, {"threshold": 0.1}, {"smoothing": 3}, {"merge_gap": 0.1, "min_duration": 0.05}])
def test_drawn_corpora_have_the_same_bits_in_shards(seed, how, tmp_path, monkeypatch):
    monkeypatch.setattr(found_events, "ROWS_PER_PIECE", 7)
    references, scores = drawn(random.Random(seed))
    swept = () if "merge_gap" in how else SWEPT
    measures = [*SUMS, *RANKED, *swept, "range-eer"]
    expected = outcome(partial(ss.evaluate, references, scores, measures, **how))
    assert isinstance(expected, str)
    with ss.sharded(*files(tmp_path, references, scores), shards=5) as corpus:
        assert len(corpus) == 5
        assert outcome(partial(ss.evaluate_shards, corpus, measures, **how)) == expected


@pytest.mark.parametrize("clusters", ["utterance", "speaker", "dealt"])
def test_intervals_in_shards_are_those_in_memory(clusters, tmp_path, monkeypatch):
    references, scores = drawn(random.Random(9), 30)
    speakers = {utt: f"S{i % 7}" for i, utt in enumerate(references.utterances)} if clusters == "speaker" else None
    if clusters == "dealt":
        monkeypatch.setattr(event_intervals, "MOST_LEFT_OUT", 20)
        monkeypatch.setattr(event_intervals, "GROUPS_LEFT_OUT", 9)
    how = {"resampling": ss.Resampling(speakers)}
    measures = [*SUMS, *RANKED, *SWEPT, "range-eer"]
    expected = outcome(partial(ss.evaluate, references, scores, measures, **how))
    assert all(one["interval"]["low"] < one["interval"]["high"] for one in json.loads(expected)["measurements"])
    with ss.sharded(*files(tmp_path, references, scores), shards=4) as corpus:
        assert outcome(partial(ss.evaluate_shards, corpus, measures, **how)) == expected


@pytest.mark.parametrize("measure", [*SUMS, *RANKED, *SWEPT])
def test_what_is_counted_less_a_part_has_the_bits_of_the_rest_measured_anew(measure):
    references, scores = drawn(random.Random(11), 25)
    parsed = ss.Measure.parse(measure)
    events = CorpusInMemory(references, scores).events([], EvaluationOptions())
    corpus, value = events.prepared_for(parsed).corpus, events.measured(parsed).value
    utterances = corpus.references.utterances
    clusters = Clusters.of(utterances, {utt: str(i % 6) for i, utt in enumerate(utterances)})
    left_out = event_intervals.MeasuredEvents(parsed, [corpus], value).left_out(clusters)
    for unit, found in enumerate(left_out.without.tolist()):
        kept = [i for i in range(len(utterances)) if i % 6 != unit]
        rest = (
            references.take(np.array(kept)),
            scores.take(np.array([scores.utterances.index(utterances[i]) for i in kept])),
        )
        threshold = None if parsed.kind.all_thresholds else events.prepared_for(parsed).about.point.threshold
        assert ss.evaluate(*rest, [measure], threshold=threshold)[measure].value == found


@pytest.mark.slow
def test_random_corpora_have_the_same_bits_or_the_same_refusal_in_shards(tmp_path):
    rng = random.Random(77)
    measured = 0
    for _ in range(60):
        case = random_case(rng)
        try:
            references, scores = build(case)
        except SpoofspanError:
            continue
        paths = files(tmp_path, references, scores)
        for measure in (*SUMS, *RANKED, *SWEPT):
            expected = outcome(partial(ss.evaluate, references, scores, [measure], **case.rules))
            with ss.sharded(*paths, shards=3) as corpus:
                assert outcome(partial(ss.evaluate_shards, corpus, [measure], **case.rules)) == expected
            measured += isinstance(expected, str)
    assert measured > 100


@pytest.mark.parametrize("seed", range(20))
def test_a_curve_in_parts_and_pieces_is_the_curve_of_all_changes(seed, monkeypatch):
    rng = random.Random(seed)
    levels = [-np.inf, -1.0, -0.5, 0.0, 0.25, 0.5, 2.0, np.inf]
    changes = [(rng.choice(levels), rng.randint(0, 2), rng.randint(0, 2), rng.randint(1, 3)) for _ in range(40)]
    monkeypatch.setattr(found_events, "ROWS_PER_PIECE", rng.randint(1, 5))
    cuts = sorted(rng.randrange(41) for _ in range(3))
    parts = [Changes.of(changes[a:b]) for a, b in pairwise([0, *cuts, 40])]
    expected, hours, most = 100, 1, 50
    rows = [(np.inf, 0, 0, 0)]
    for level in sorted({change[0] for change in changes}, reverse=True):
        taken = [change for change in changes if change[0] >= level]
        rows.append((level, *(sum(change[k] for change in taken) for k in (1, 2, 3))))
    best = best_f1(curve_of(parts), expected)
    f1s = [2 * found / (found + false + expected) for _, found, false, _ in rows]
    place = f1s.index(max(f1s))
    assert (best.found, best.false, best.predicted) == rows[place][1:]
    assert best.lower == (rows[place + 1][0] if place + 1 < len(rows) else None)
    heights = [max(found for _, found, false, _ in rows if false <= x) for x in range(most)]
    assert float(area_under(curve_of(parts), expected, hours, most)) == sum(heights) / (most * expected)


def test_what_cannot_be_streamed_is_refused_with_the_way_out(tmp_path, capsys):
    references, scores = drawn(random.Random(1))
    paths = files(tmp_path, references, scores)
    typed = ["eval", *map(str, paths), "--stream", "-m"]
    code, printed = run([*typed, "event-avdeepfake1m"], capsys)
    assert code == 2
    assert "order of the files" in printed.err
    assert "--no-stream" in printed.err
    with ss.sharded(*paths) as corpus, pytest.raises(UsageError, match="order of the files"):
        ss.evaluate_shards(corpus, ["event-ap-activitynet"])


@pytest.mark.parametrize("how", [["--stream"], pytest.param(["--jobs", "2"], marks=pytest.mark.slow)])
def test_the_shell_streams_event_measures_in_one_process_and_in_two(how, tmp_path, capsys):
    references, scores = drawn(random.Random(2))
    typed = ["eval", *map(str, files(tmp_path, references, scores)), "-m", "event-psds", "-m", "event-ap@iou=0.5"]
    typed += ["--smoothing", "3", "--format", "json"]
    printed = []
    for more in ([], how):
        code, said = run([*typed, *more], capsys)
        assert code == 0
        printed.append(said.out)
    assert printed[0] == printed[1]
