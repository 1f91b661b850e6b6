"""Files larger than memory: cut into shards, measured shard by shard, the same bits as in memory."""

import gzip
import random
import tempfile
import warnings
from functools import partial

import numpy as np
import pytest
from command_line import run_command as run
from outcomes import build
from random_corpora import random_case

import spoofspan as ss
from spoofspan.base.errors import SpoofspanError
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.formats.tables import arrow_ipc, csv_files, jsonl, parquet
from spoofspan.formats.tables.dataframes import to_arrow
from spoofspan.formats.text import frame_lines, rttm
from spoofspan.formats.text.durations import reco2dur_lines
from spoofspan.scale import memory
from spoofspan.scale.sharding import IdSample

pq = pytest.importorskip("pyarrow.parquet")

CASES, BATCHES = 240, 8


def write(path, pieces):
    path.write_bytes(b"".join(pieces))
    return path


def outcome(measure):
    """What came of it: all numbers and signatures, or the kind of refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.SpoofspanWarning)
        try:
            return measure().to_dict()
        except SpoofspanError as error:
            return error.exit_code


@pytest.mark.slow_cases("^[1-7]$")
@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_corpora_have_the_same_bits_in_shards(batch, tmp_path):
    rng = random.Random(9000 + batch)
    measured = 0
    for _ in range(CASES // BATCHES):
        case = random_case(rng)
        try:
            references, scores = build(case)
        except SpoofspanError:
            continue
        write(tmp_path / "r.parquet", parquet.write_references(references))
        write(tmp_path / "s.parquet", parquet.write_scores(scores))
        rules = {**case.rules, **{k: v for k, v in case.point_rules.items() if k != "resolution"}}
        measures = ["range-eer", ss.Measure("point-eer", case.point_rules["resolution"]), "utterance-eer"]
        for wanted in measures:
            mine = {k: v for k, v in rules.items() if wanted != "range-eer" or k not in ("label", "last_point")}
            arguments = {"eer_rule": case.eer_rule, **mine}
            whole = outcome(partial(ss.evaluate, references, scores, [wanted], **arguments))
            for shards in (1, 3):
                with ss.sharded(tmp_path / "r.parquet", tmp_path / "s.parquet", shards=shards) as corpus:
                    assert outcome(partial(ss.evaluate_shards, corpus, [wanted], **arguments)) == whole
            measured += isinstance(whole, dict)
    assert measured > CASES // BATCHES


# ---------------------------------------------------------------- formats


@pytest.fixture(scope="module")
def corpus():
    """References and scores of 40 utterances, in an order that is not that of their ids."""
    rng = np.random.default_rng(5)
    ranges, frames = {}, {}
    for i in rng.permutation(40):
        cut, last = sorted(rng.integers(100, 900, 2))
        ranges[f"u{i:02d}"] = [
            (0.0, cut / 1000, "bonafide"),
            (cut / 1000, last / 1000, "spoof", f"A{i % 3:02d}"),
            (last / 1000, 1.0, "bonafide"),
        ]
        where = (np.arange(50) * 20 + 10 > cut) & (np.arange(50) * 20 < last)
        frames[f"u{i:02d}"] = np.round(rng.normal(size=50) - 2.0 * where, 3)
    references = ss.References.from_ranges(ranges, dict.fromkeys(ranges, 1.0), snap=0.002)
    return references, ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")


def references_as(kind, references, folder):
    if kind == "rttm":
        write(folder / "reco2dur", reco2dur_lines(references))
        return write(folder / "r.rttm", rttm.write(references)), {"durations": folder / "reco2dur"}
    if kind == "csv":
        return write(folder / "r.csv", csv_files.CSV.write_references(references)), {}
    container = {"parquet": parquet.PARQUET, "arrow": arrow_ipc.ARROW, "jsonl": jsonl.JSONL}[kind]
    return write(folder / f"r.{kind}", container.write_references(references)), {}


def scores_as(kind, scores, folder):
    if kind in ("unit", "gz"):
        lines = b"".join(frame_lines.write(frame_lines.UNIT, scores))
        path = folder / ("unit0.02.score" if kind == "unit" else "unit0.02.score.gz")
        path.write_bytes(lines if kind == "unit" else gzip.compress(lines))
        return path, {}
    if kind in ("long", "shuffled"):
        table = to_arrow(scores)
        rows = np.random.default_rng(1).permutation(table.num_rows)
        pq.write_table(table if kind == "long" else table.take(rows), folder / "s.parquet", row_group_size=300)
        return folder / "s.parquet", {}
    if kind == "csv":
        return write(folder / "s.csv", csv_files.CSV.write_scores(scores)), {}
    if kind == "npz":
        np.savez(folder / "s.npz", **dict(zip(scores.utterances, scores.values.reshape(-1, 50), strict=True)))
        return folder / "s.npz", {"hop": 0.02, "higher": "bonafide"}
    container = {"wide": parquet.PARQUET, "arrow": arrow_ipc.ARROW, "jsonl": jsonl.JSONL}[kind]
    return write(folder / f"s.{kind}", container.write_scores(scores)), {}


@pytest.mark.parametrize("score_kind", ["unit", "gz", "wide", "long", "shuffled", "arrow", "csv", "jsonl", "npz"])
@pytest.mark.parametrize("reference_kind", ["rttm", "csv", "jsonl", "parquet", "arrow"])
def test_every_streamed_format_has_the_same_bits(reference_kind, score_kind, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(rttm, "LINES_PER_PIECE", 7)
    monkeypatch.setattr(frame_lines, "LINES_PER_PIECE", 130)
    monkeypatch.setattr(frame_lines, "BLOCK_BYTES", 1500)
    monkeypatch.setattr(parquet, "VALUES_PER_BATCH", 170)
    monkeypatch.setattr(arrow_ipc, "BYTES_PER_PIECE", 2000)
    monkeypatch.setattr(csv_files, "BYTES_PER_PIECE", 2000)
    monkeypatch.setattr(jsonl, "BYTES_PER_PIECE", 2000)
    references, more = references_as(reference_kind, corpus[0], tmp_path)
    scores, told = scores_as(score_kind, corpus[1], tmp_path)
    read = ss.read_references(references, **more), ss.read_scores(scores, **told)
    measures = ["range-eer", "point-eer@20ms", "point-eer@15ms"]
    whole = ss.evaluate(*read, measures)
    with ss.sharded(references, scores, shards=5, **more, **told) as shards:
        assert len(shards) == 5
        streamed = ss.evaluate_shards(shards, measures)
        threshold = streamed["range-eer"].threshold
        errors = shards.errors_by_utterance(streamed["range-eer"].point, EvaluationOptions())
    assert streamed.to_dict() == whole.to_dict()
    expected = ss.errors_by_utterance(*read, threshold).sorted()
    assert errors.utterances == expected.utterances == tuple(sorted(expected.utterances))
    np.testing.assert_array_equal(errors.false_negative, expected.false_negative)


def test_references_scattered_over_a_file_come_together(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(rttm, "LINES_PER_PIECE", 7)
    path, more = references_as("rttm", corpus[0], tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    random.Random(3).shuffle(lines)
    path.write_text("".join(lines))
    scores, _ = scores_as("unit", corpus[1], tmp_path)
    with ss.sharded(path, scores, shards=4, **more) as shards:
        streamed = ss.evaluate_shards(shards, ["range-eer"])
    read = ss.read_references(path, **more), ss.read_scores(scores)
    assert streamed.to_dict() == ss.evaluate(*read, ["range-eer"]).to_dict()


def test_a_file_that_lists_spoofs_only_is_known_as_such_in_every_shard(tmp_path):
    """Whether both classes are named is a fact of the corpus: one shard may hold a single class."""
    ranges = {f"u{i}": [(0.0, 1.0, "spoof" if i < 3 else "bonafide")] for i in range(6)}
    frames = {utt: np.linspace(-1, 1, 50) + (rows[0][2] == "bonafide") for utt, rows in ranges.items()}
    references = ss.References.from_ranges(ranges, dict.fromkeys(ranges, 1.0))
    scores = ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")
    write(tmp_path / "r.parquet", parquet.write_references(references))
    write(tmp_path / "s.parquet", parquet.write_scores(scores))
    with ss.sharded(tmp_path / "r.parquet", tmp_path / "s.parquet", shards=6) as shards:
        streamed = ss.evaluate_shards(shards, ["range-eer"])
    assert streamed.to_dict() == ss.evaluate(references, scores, ["range-eer"]).to_dict()


# ---------------------------------------------------------------- refusals


def damaged(path, line, text):
    lines = path.read_text().splitlines()
    lines[line - 1] = text
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("line", "text", "said"),
    [
        (777, "u99 3 nan 0.5", "unit0.02.score:777"),
        (300, "u99 3", "unit0.02.score:300"),
        (1999, "u99 x 0.1 -0.1", "unit0.02.score:1999"),
    ],
)
def test_a_bad_line_is_named(line, text, said, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(frame_lines, "LINES_PER_PIECE", 130)
    monkeypatch.setattr(frame_lines, "BLOCK_BYTES", 1500)
    references, more = references_as("rttm", corpus[0], tmp_path)
    scores, _ = scores_as("unit", corpus[1], tmp_path)
    damaged(scores, line, text)
    with pytest.raises(ss.DataError, match=said), ss.sharded(references, scores, shards=3, **more):
        pass


def test_a_bad_row_of_a_table_is_named(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "VALUES_PER_BATCH", 170)
    references, _ = references_as("parquet", corpus[0], tmp_path)
    scores, _ = scores_as("long", corpus[1], tmp_path)
    table = pq.read_table(scores)
    values = table.column("score").to_numpy().copy()
    values[1234] = np.nan
    pq.write_table(table.set_column(table.column_names.index("score"), "score", [values]), scores)
    with (
        pytest.raises(ss.DataError, match=r"s\.parquet, row 1235, utterance 'u\d\d': score is NaN"),
        ss.sharded(references, scores, shards=3),
    ):
        pass


@pytest.mark.parametrize("lines_per_piece", [130, 100_000])
def test_an_utterance_that_is_there_twice_is_named_with_its_line(lines_per_piece, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(frame_lines, "LINES_PER_PIECE", lines_per_piece)
    monkeypatch.setattr(frame_lines, "BLOCK_BYTES", 1500)
    references, more = references_as("rttm", corpus[0], tmp_path)
    scores, _ = scores_as("unit", corpus[1], tmp_path)
    first = corpus[1].utterances[0]
    with scores.open("a") as file:
        file.write(f"{first} 0 0.5 -0.5\n")
    with (
        pytest.raises(ss.DataError, match=rf"unit0\.02\.score:2001\W+utterance '{first}'"),
        ss.sharded(references, scores, shards=3, **more),
    ):
        pass


@pytest.mark.parametrize("missing", ["references", "scores"])
def test_utterances_on_one_side_only(missing, corpus, tmp_path):
    references, scores = corpus
    few = np.arange(0, 40, 7)
    few_references, few_scores = references, scores
    if missing == "references":
        few_references = references.take(few)
    else:
        few_scores = scores.take(few)
    write(tmp_path / "r.parquet", parquet.write_references(few_references))
    write(tmp_path / "s.parquet", parquet.write_scores(few_scores))
    with ss.sharded(tmp_path / "r.parquet", tmp_path / "s.parquet", shards=12) as shards:
        with pytest.raises(ss.DataError, match="but no " + missing):
            ss.evaluate_shards(shards, ["range-eer"])
        streamed = ss.evaluate_shards(shards, ["range-eer"], partial=True)
        twice = ss.evaluate_shards(shards, ["range-eer", "range-eer"], partial=True)
    assert twice.to_dict() == streamed.to_dict()
    whole = ss.evaluate(few_references, few_scores, ["range-eer"], partial=True)
    assert streamed.to_dict() == whole.to_dict()


def test_nothing_in_common_is_undefined(corpus, tmp_path):
    references, scores = corpus
    write(tmp_path / "r.parquet", parquet.write_references(references.take(np.arange(20))))
    write(tmp_path / "s.parquet", parquet.write_scores(scores.take(np.arange(20, 40))))
    with (
        ss.sharded(tmp_path / "r.parquet", tmp_path / "s.parquet", shards=4) as shards,
        pytest.raises(ss.UndefinedMeasureError, match="no utterance in common"),
    ):
        ss.evaluate_shards(shards, ["range-eer"], partial=True)


def test_two_durations_of_one_utterance_are_refused(corpus, tmp_path):
    references, more = references_as("rttm", corpus[0], tmp_path)
    with more["durations"].open("a") as file:
        file.write(f"{corpus[0].utterances[0]} 2.5\n")
    scores, _ = scores_as("unit", corpus[1], tmp_path)
    with pytest.raises(ss.DataError, match="two durations"), ss.sharded(references, scores, **more):
        pass


def test_milliseconds_are_noticed(corpus, tmp_path):
    references, more = references_as("rttm", corpus[0], tmp_path)
    scores, _ = scores_as("unit", corpus[1], tmp_path)
    lines = [line.split() for line in references.read_text().splitlines()]
    for fields in lines:
        fields[3], fields[4] = (f"{float(x) * 1000:.0f}" for x in fields[3:5])
    references.write_text("".join(" ".join(fields) + "\n" for fields in lines))
    with pytest.raises(ss.DataError, match="milliseconds or samples"), ss.sharded(references, scores, **more):
        pass


def test_hard_decisions_have_no_eer(corpus, tmp_path):
    references, more = references_as("rttm", corpus[0], tmp_path)
    with (
        pytest.raises(ss.UndefinedMeasureError, match="hard decisions"),
        ss.sharded(references, references, scores_format="hypothesis-rttm", **more),
    ):
        pass


# ---------------------------------------------------------------- files and memory


def test_nothing_stays_on_disk(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    references, more = references_as("rttm", corpus[0], tmp_path)
    scores, _ = scores_as("unit", corpus[1], tmp_path)
    with ss.sharded(references, scores, shards=3, **more) as shards:
        assert list((tmp_path / "t").iterdir())
        ss.evaluate_shards(shards, ["range-eer"])
    assert not list((tmp_path / "t").iterdir())
    damaged(scores, 5, "broken")
    with pytest.raises(ss.DataError), ss.sharded(references, scores, shards=3, **more):
        pass
    assert not list((tmp_path / "t").iterdir())


def test_what_is_not_asked_for_may_have_no_value_in_shards_too(tmp_path):
    ranges = {f"u{i}": [(0.0, 0.04, "bonafide"), (0.04, 0.08, "spoof")] for i in range(3)}
    references = ss.References.from_ranges(ranges)
    scores = ss.Scores.from_frames({utt: [0.9, 0.1, 0.3, -0.4] for utt in ranges}, hop=0.02, higher="bonafide")
    ss.write_references(references, tmp_path / "references.parquet")
    ss.write_scores(scores, tmp_path / "scores.parquet")
    files = tmp_path / "references.parquet", tmp_path / "scores.parquet"
    with warnings.catch_warnings(record=True) as said, ss.sharded(*files) as corpus:
        warnings.simplefilter("always")
        whole, streamed = ss.evaluate(references, scores, confidence=0.9), ss.evaluate_shards(corpus, confidence=0.9)
    assert streamed.to_dict() == whole.to_dict()
    assert sum("utterance-eer is left out: there is no bona fide point" in str(one.message) for one in said) == 2
    with pytest.raises(ss.UsageError, match=r"gone; measure them inside of `with sharded"):
        ss.evaluate_shards(corpus)


def test_what_is_not_in_shards_is_refused(corpus):
    with pytest.raises(ss.UsageError, match=r"this is a References; evaluate\(references, scores\) measures"):
        ss.evaluate_shards(corpus[0])
    with pytest.raises(ss.UsageError, match=r"cuts files; evaluate\(references, scores\)"), ss.sharded(*corpus):
        pass


def test_the_sample_of_ids_stays_small_and_splits_evenly():
    ids = [f"u{i:06d}" for i in range(100_000)]
    sample = IdSample()
    sample.add(random.Random(0).sample(ids, len(ids)))
    splitters = sample.splitters(10)
    assert splitters == sorted(set(splitters))
    assert len(splitters) == 9
    places = np.array([ids.index(one) for one in splitters])
    assert np.abs(places - np.arange(10_000, 100_000, 10_000)).max() < 2_500


def test_fewer_ids_than_shards_make_fewer_shards():
    sample = IdSample()
    sample.add(["b", "a", "a"])
    assert sample.splitters(100) == ["b"]


def test_the_command_line_streams_on_request(corpus, tmp_path, capsys):
    references, more = references_as("rttm", corpus[0], tmp_path)
    scores, _ = scores_as("unit", corpus[1], tmp_path)
    files = ["eval", references, scores, "--durations", more["durations"], "--format", "json"]
    told = ["--per-utterance", tmp_path / "a.csv"]
    code, whole, _ = run([*files, *told], capsys)
    assert code == 0
    told = ["--per-utterance", tmp_path / "b.csv", "--stream"]
    assert run([*files, *told], capsys)[:2] == (0, whole)
    assert sorted((tmp_path / "a.csv").read_text().splitlines()) == sorted(
        (tmp_path / "b.csv").read_text().splitlines()
    )


def test_the_command_line_streams_what_does_not_fit(corpus, tmp_path, capsys, monkeypatch):
    references, more = references_as("rttm", corpus[0], tmp_path)
    scores, _ = scores_as("unit", corpus[1], tmp_path)
    cut = []
    sharded = ss.sharded
    monkeypatch.setattr("spoofspan.scale.sharding.sharded", lambda *a, **k: cut.append(a) or sharded(*a, **k))
    files = ["eval", references, scores, "--durations", more["durations"], "-m", "range-eer"]
    in_memory = run(files, capsys)
    assert in_memory[0] == 0
    assert not cut
    monkeypatch.setattr(memory, "memory_bytes", lambda: 1000)
    assert run(files, capsys) == in_memory
    assert len(cut) == 1
    assert run([*files, "--no-stream"], capsys) == in_memory
    assert len(cut) == 1


def test_what_fits_into_memory(tmp_path, monkeypatch):
    from spoofspan.formats.sources import sources

    (tmp_path / "plain").write_bytes(b"x" * 1000)
    (tmp_path / "packed").write_bytes(gzip.compress(bytes(random.Random(0).randbytes(1000))))
    monkeypatch.setattr(memory, "memory_bytes", lambda: 2000)
    assert memory.fits_into_memory(sources(tmp_path / "plain"))
    assert not memory.fits_into_memory(sources(tmp_path / "packed"))
    monkeypatch.setattr(memory, "memory_bytes", lambda: None)
    assert memory.fits_into_memory(sources(tmp_path / "packed"))
    monkeypatch.undo()
    assert memory.memory_bytes() is None or memory.memory_bytes() > 2**20


def test_intervals_in_shards_are_those_in_memory():
    """The jackknife goes through the shards; what gives the curve's slope does not depend on their order."""
    import json
    from pathlib import Path

    from click.testing import CliRunner

    from spoofspan.cli import app

    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "demo"
        assert CliRunner().invoke(app, ["demo", "--out", str(where)]).exit_code == 0
        names = ["range-eer", "range-auc", "utterance-eer", "point-f1@160ms"]
        typed = ["eval", where / "references.rttm", where / "unit0.16.score", "--durations", where / "reco2dur"]
        typed += ["--confidence", "0.95", "--format", "json", *(word for name in names for word in ("-m", name))]
        found = {}
        for more in ("--no-stream", "--stream"):
            done = CliRunner().invoke(app, [str(one) for one in (*typed, more)])
            assert done.exit_code == 0, (done.output, done.exception)
            found[more] = [one["interval"] for one in json.loads(done.stdout)["measurements"]]
    for alone, sharded in zip(*found.values(), strict=True):
        assert sharded == alone
        assert alone["clusters"] == 169
