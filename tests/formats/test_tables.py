"""The same corpus as a table in every container, tables that must be refused, and files that are whole or absent."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spoofspan import DataError, References, Scores, UsageError
from spoofspan.evaluation.signature import references_hash, scores_hash
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.registry import CONTAINERS
from spoofspan.formats.sources import Source, sources
from spoofspan.formats.tables import arrow_tables, csv_files, jsonl, parquet
from spoofspan.formats.tables.arrow_ipc import ARROW
from spoofspan.formats.tables.corpus_tables import table_from_references, table_from_scores
from spoofspan.formats.tables.dataframes import references_from, scores_from, to_arrow, to_pandas, to_polars
from spoofspan.formats.tables.parquet import PARQUET
from spoofspan.formats.writing import write_atomically

REFERENCE_FORMATS: dict[str, Format[References]] = {one.name: one.references for one in CONTAINERS}
SCORE_FORMATS: dict[str, Format[Scores]] = {one.name: one.scores for one in CONTAINERS}
NAMES = ("parquet", "arrow", "csv", "tsv", "jsonl")
TYPED = ("parquet", "arrow")
STRANGE_IDS = (
    "plain",
    "ünïcødé 日本",
    "comma,id",
    'quote"id',
    "line\nbreak",
    "tab\tid",
    "=1+1",
    "-x",
    "007",
    " padded ",
    "NA",
)


def source(data: bytes, name: str = "file") -> Source:
    return Source(name, lambda: io.BytesIO(data))


def written(form: Format[Any], content: Any) -> bytes:
    assert form.write is not None
    return b"".join(form.write(content))


REFERENCES = {
    "plain": References.from_ranges({"u1": [(0, 1.2, "bonafide"), (1.2, 2, "spoof")], "u2": [(0, 1, "bonafide")]}),
    "kinds": References.from_ranges(
        {
            "u1": [(0, 1.2, "bonafide"), (1.2, 2, "spoof", "A07"), (2, 2.5, "spoof")],
            "u2": [(0, 1, "bonafide", "an editor"), (1, 1.5, "nonspeech")],
        }
    ),
    "durations": References.from_ranges(
        {"u1": [(0, 1.2, "bonafide"), (1.2, 2, "spoof")], "u2": [(0, 1, "spoof")]}, durations={"u1": 2.5, "u2": 1.1}
    ),
    "without ranges": References.from_ranges(
        {"u1": [], "u2": [(0, 1, "spoof")], "u3": []}, durations={"u1": 2.5, "u2": 1.1, "u3": 0.3}
    ),
    "no range at all": References.from_ranges({"u1": [], "u2": []}, durations={"u1": 2.5, "u2": 1.1}),
    "no range, no duration": References.from_columns(
        ["u1", "u2"], None, [0, 0, 1], np.array([0]), np.array([10**9]), labels=np.int8([1])
    ),
    "nanoseconds": References.from_columns(
        ["u1"],
        np.array([3_000_000_001]),
        [0, 2],
        np.array([1, 62_500]),
        np.array([62_500, 2_999_999_999]),
        [True, False],
    ),
    "strange ids": References.from_ranges({utt: [(0, 1, "spoof", f"{utt}?")] for utt in STRANGE_IDS}),
}

SCORES = {
    **{
        f"frames of {dtype}": Scores.from_frames(
            {"u1": np.array([0.1, -0.2, 1e-3, 7], dtype), "u2": np.array([3, 0.7], dtype)}, hop=0.02, higher="bonafide"
        )
        for dtype in ("float16", "float32", "float64")
    },
    **{
        f"ranges of {dtype}": Scores.from_columns(
            ["u1", "u2"],
            [0, 2, 3],
            np.array([0.1, -0.2, 1e-3], dtype),
            starts=np.array([0, 62_500, 1]),
            ends=np.array([62_500, 2_999_999_999, 10**9]),
            higher="spoof",
        )
        for dtype in ("float16", "float32", "float64")
    },
    "infinities": Scores.from_frames({"u1": np.float32([-np.inf, 0, np.inf])}, hop=0.01, higher="spoof"),
    "utterances without frames": Scores.from_frames(
        {"u1": np.float32([]), "u2": np.float32([1, 2]), "u3": np.float32([])}, hop=0.02, higher="spoof"
    ),
    "no frame at all": Scores.from_frames({"u1": np.float32([])}, hop=0.02, higher="spoof"),
    "utterances without ranges": Scores.from_ranges({"u1": [], "u2": [(0.0, 1.0, 3.0)]}, higher="spoof"),
    "a hop each": Scores.from_frames({"u1": [1.0, 2.0], "u2": [3.0]}, hop={"u1": 1 / 30, "u2": 0.02}, higher="spoof"),
    "a window": Scores.from_frames({"u1": [1.0, 2.0]}, hop=0.02, window=0.025, higher="spoof"),
    "a start": Scores.from_frames({"u1": [1.0, 2.0], "u2": [1.0]}, hop=0.02, start=0.0125, higher="spoof"),
    "a start each": Scores.from_frames(
        {"u1": [1.0, 2.0], "u2": [1.0]}, hop=0.02, start={"u1": 0.01, "u2": 0.0}, window=0.04, higher="bonafide"
    ),
    "strange ids": Scores.from_frames({utt: [float(i)] for i, utt in enumerate(STRANGE_IDS)}, hop=0.02, higher="spoof"),
}


def same_references(read: References, original: References) -> None:
    assert read.utterances == original.utterances
    assert references_hash(read) == references_hash(original)
    assert read.names_both_classes == original.names_both_classes


def same_scores(read: Scores, original: Scores) -> None:
    assert read.utterances == original.utterances
    assert read.higher == original.higher
    assert scores_hash(read) == scores_hash(original)
    assert np.array_equal(read.values, original.values)
    for name in ("hops", "origins", "starts", "ends"):
        mine, other = getattr(read, name), getattr(original, name)
        assert (mine is None) == (other is None)
        assert mine is None or np.array_equal(mine, other)
    assert read.window == original.window


# ---------------------------------------------------------------- there and back


@pytest.mark.parametrize("content", REFERENCES)
@pytest.mark.parametrize("name", NAMES)
def test_references_come_back_from_every_format(name: str, content: str) -> None:
    form, original = REFERENCE_FORMATS[name], REFERENCES[content]
    data = written(form, original)
    assert form.recognises(data[: 1 << 16])
    same_references(form.read([source(data)], ReadOptions()), original)


@pytest.mark.parametrize("content", SCORES)
@pytest.mark.parametrize("name", NAMES)
def test_scores_come_back_from_every_format_with_hop_and_polarity(name: str, content: str) -> None:
    form, original = SCORE_FORMATS[name], SCORES[content]
    data = written(form, original)
    assert form.recognises(data[: 1 << 16])
    read = form.read([source(data)], ReadOptions())
    same_scores(read, original)
    assert read.values.dtype == (original.values.dtype if name in TYPED else np.float64)


@pytest.mark.parametrize("long", [True, False])
@pytest.mark.parametrize("content", [name for name, scores in SCORES.items() if scores.hops is not None])
def test_frames_are_the_same_long_and_wide(content: str, long: bool) -> None:
    table = to_arrow(SCORES[content], long=long)
    same_scores(scores_from(table), SCORES[content])
    with_columns = arrow_tables.to_arrow(table_from_scores(SCORES[content], long=long, text=True))
    assert with_columns.schema.metadata is None
    same_scores(scores_from(with_columns), SCORES[content])


@pytest.mark.parametrize("name", NAMES)
def test_every_writing_gives_the_same_bytes(name: str) -> None:
    assert written(REFERENCE_FORMATS[name], REFERENCES["kinds"]) == written(
        REFERENCE_FORMATS[name], REFERENCES["kinds"]
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_snap_of_rounded_references_survives_where_the_format_can_say_it(name: str) -> None:
    rounded = References.from_ranges({"u1": [(0, 1.2, "bonafide"), (1.201, 2, "spoof")]}, snap=0.002)
    read = REFERENCE_FORMATS[name].read([source(written(REFERENCE_FORMATS[name], rounded))], ReadOptions())
    assert read.snap == rounded.snap


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("name", NAMES)
def test_packed_files_come_back(name: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"scores.{name}{ending}"
    original = SCORES["frames of float32"]
    write_atomically(path, SCORE_FORMATS[name].write(original), force=False)  # type: ignore[misc]
    same_scores(SCORE_FORMATS[name].read(sources(path), ReadOptions()), original)


@pytest.mark.parametrize("name", NAMES)
def test_several_files_are_one_corpus(name: str) -> None:
    form = SCORE_FORMATS[name]
    whole = SCORES["frames of float32"]
    parts = [source(written(form, whole.take(np.array([i]))), f"part {i}") for i in range(2)]
    same_scores(form.read(parts, ReadOptions()), whole)


def test_files_of_one_corpus_may_differ_in_their_types() -> None:
    seconds = pa.table({"utterance": ["u1"], "start": [0.0], "end": [1.2], "label": ["spoof"]})
    ns = pa.table({"utterance": ["u2"], "start": [0], "end": [10**9], "label": ["A07"], "attack": ["A07"]})
    files = []
    for table in (seconds, ns):
        buffer = io.BytesIO()
        pq.write_table(table, buffer)
        files.append(source(buffer.getvalue()))
    read = REFERENCE_FORMATS["parquet"].read(files, ReadOptions())
    expected = References.from_ranges({"u1": [(0, 1.2, "spoof")], "u2": [(0, 1, "spoof", "A07")]})
    same_references(read, expected)


def test_an_arrow_stream_reads_as_a_file_does() -> None:
    table = to_arrow(SCORES["frames of float16"], long=False)
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema) as stream:
        stream.write_table(table)
    assert SCORE_FORMATS["arrow"].recognises(buffer.getvalue())
    same_scores(SCORE_FORMATS["arrow"].read([source(buffer.getvalue())], ReadOptions()), SCORES["frames of float16"])


@pytest.mark.parametrize("name", ["arrow", "csv", "tsv", "jsonl"])
def test_what_a_file_holds_is_recognised_by_its_columns(name: str) -> None:
    references = written(REFERENCE_FORMATS[name], REFERENCES["kinds"])
    scores = written(SCORE_FORMATS[name], SCORES["a hop each"])
    for known, data, other in (
        (REFERENCE_FORMATS, references, SCORE_FORMATS),
        (SCORE_FORMATS, scores, REFERENCE_FORMATS),
    ):
        assert [form.name for form in known.values() if form.recognises(data)] == [name]
        assert [form.name for form in other.values() if form.recognises(data)] == []


def test_what_a_parquet_file_holds_stands_at_its_end() -> None:
    references = written(REFERENCE_FORMATS["parquet"], REFERENCES["kinds"])
    scores = written(SCORE_FORMATS["parquet"], SCORES["a hop each"])
    assert parquet.kind_of(source(references)) == "references"
    assert parquet.kind_of(source(scores)) == "scores"


def test_big_tables_are_written_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "VALUES_PER_GROUP", 4)
    monkeypatch.setattr(csv_files, "ROWS_PER_PIECE", 2)
    monkeypatch.setattr(jsonl, "ROWS_PER_PIECE", 1)
    for name in ("parquet", "csv", "jsonl"):
        form, original = SCORE_FORMATS[name], SCORES["frames of float32"]
        assert form.write is not None
        pieces = list(form.write(original))
        assert len(pieces) > 2 or name == "jsonl"
        same_scores(form.read([source(b"".join(pieces))], ReadOptions()), original)


@pytest.mark.parametrize("size", [7, 64, 300])
@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl"])
def test_text_is_the_same_in_blocks_of_any_size(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "BYTES_AT_ONCE", size)
    for module in (csv_files, jsonl):
        monkeypatch.setattr(module, "BYTES_PER_PIECE", size)
    for original in REFERENCES.values():
        data = written(REFERENCE_FORMATS[name], original)
        same_references(REFERENCE_FORMATS[name].read([source(data)], ReadOptions()), original)
    for original in SCORES.values():
        data = written(SCORE_FORMATS[name], original)
        same_scores(SCORE_FORMATS[name].read([source(data)], ReadOptions()), original)
        stream = SCORE_FORMATS[name].stream
        assert stream is not None
        pieces = [part.table for part in stream([source(data)], ReadOptions())]
        assert sum(piece.size for piece in pieces) == data.count(b"\n") - (name != "jsonl") - data.count(b"line\nb")


def test_a_quote_that_stays_open_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "BYTES_AT_ONCE", 40)
    text = "utterance,start,end,label\n" + "".join(f"u{i},0,1,spoof\n" for i in range(9))
    with pytest.raises(DataError, match=r"ref\.csv"):
        read_csv(text.replace("u3", '"u3'))
    same_references(read_csv(text.replace("u3", "u'3")), read_csv(text.replace("u3", "u'3").replace("\n", "\r\n")))


def test_a_place_is_a_line_where_rows_are_lines_and_a_row_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = "u9,2,1,spoof\n"
    for size in (20, 1 << 20):
        monkeypatch.setattr(csv_files, "BYTES_AT_ONCE", size)
        for rows, place in (
            ("u1,0,1,spoof\n" + bad, "ref.csv:3"),
            ('"u1",0,1,spoof\n' + bad, "ref.csv:3"),
            ("u1,0,1,spoof\n\n" + bad, "ref.csv, row 2"),
            ('"u\n1",0,1,spoof\n' + bad, "ref.csv, row 2"),
        ):
            with pytest.raises(DataError) as caught:
                read_csv(REF + rows)
            assert str(caught.value).startswith(f"{place}, utterance 'u9'")


# ---------------------------------------------------------------- files as others write them


def read_csv(text: str, options: ReadOptions | None = None, name: str = "csv") -> References:
    return REFERENCE_FORMATS[name].read([source(text.encode(), f"ref.{name}")], options or ReadOptions())


def test_rows_may_stand_in_any_order() -> None:
    text = "label,utterance,end,start,note\nspoof,u1,2,1.2,x\nbonafide,u2,1,0,\nbonafide,u1,1.2,0,y\n"
    same_references(read_csv(text), REFERENCES["plain"])


@pytest.mark.parametrize(
    "variant",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.replace("u1", '"u1"'),
        lambda text: text.replace("bonafide", "Bona-Fide").replace("spoof", "FAKE"),
        lambda text: text.replace("1.2", "1.200").replace(",2,", ",2.0,"),
        lambda text: text.replace("1.2", "12e-1"),
    ],
)
def test_csv_reads_whatever_the_line_ends_and_the_spelling(variant: Any) -> None:
    text = "utterance,start,end,label\nu1,0,1.2,bonafide\nu1,1.2,2,spoof\nu2,0,1,bonafide\n"
    same_references(read_csv(variant(text)), REFERENCES["plain"])


def test_whole_numbers_in_text_are_seconds_and_in_typed_tables_nanoseconds() -> None:
    assert read_csv("utterance,start,end,label\nu1,0,2,spoof\n").ends.tolist() == [2 * 10**9]
    table = pa.table({"utterance": ["u1"], "start": [0], "end": [2 * 10**9], "label": ["spoof"]})
    assert references_from(table).ends.tolist() == [2 * 10**9]
    line = b'{"utterance": "u1", "start": 0, "end": 2, "label": "spoof"}'
    assert REFERENCE_FORMATS["jsonl"].read([source(line)], ReadOptions()).ends.tolist() == [2 * 10**9]


def test_attack_names_in_labels_become_kinds() -> None:
    read = read_csv("utterance,start,end,label\nu1,0,1,bonafide\nu1,1,2,A07\n")
    same_references(read, References.from_ranges({"u1": [(0, 1, "bonafide"), (1, 2, "spoof", "A07")]}))


def test_utterances_that_only_the_durations_list_belong_to_the_corpus() -> None:
    read = read_csv("utterance,start,end,label\nu1,0,1,spoof\n", ReadOptions(durations={"u1": 1.0, "u2": 2.0}))
    same_references(read, References.from_ranges({"u1": [(0, 1, "spoof")]}, durations={"u1": 1.0, "u2": 2.0}))


def test_durations_may_stand_in_some_rows_and_in_the_options() -> None:
    text = "utterance,start,end,label,duration\nu1,0,1,spoof,\nu1,1,2,bonafide,2\n"
    for options, expected in ((ReadOptions(), 2 * 10**9), (ReadOptions(durations={"u1": 2.001}), 2_001_000_000)):
        durations = read_csv(text, options).durations
        assert durations is not None
        assert durations.tolist() == [expected]


def long_table(**columns: Any) -> Any:
    return pa.table({"utterance": ["u1", "u2", "u1"], "frame": [1, 0, 0], "score": [0.2, 0.3, 0.1], **columns})


def test_frames_in_any_order_are_sorted() -> None:
    read = scores_from(long_table(), hop=0.02, higher="spoof")
    same_scores(read, Scores.from_frames({"u1": [0.1, 0.2], "u2": [0.3]}, hop=0.02, higher="spoof"))


@pytest.mark.parametrize("hop", [pa.array([20_000_000] * 3), pa.array([0.02] * 3), pa.array([0.02] * 3, pa.float32())])
def test_the_hop_may_be_a_column(hop: Any) -> None:
    read = scores_from(long_table(hop=hop), higher="spoof")
    assert read.hops is not None
    assert read.hops.tolist() == [0.02, 0.02]


def test_column_names_the_scores() -> None:
    table = pa.table({"utterance": ["u1", "u1"], "frame": [0, 1], "p(spoof)": [0.5, 0.25], "score": ["x", "y"]})
    read = scores_from(table, hop=0.02, higher="spoof", column="p(spoof)")
    assert read.values.tolist() == [0.5, 0.25]
    line = b'{"utterance": "u1", "logits": [1, 2.5]}'
    options = ReadOptions(hop=0.02, higher="spoof", column="logits")
    assert SCORE_FORMATS["jsonl"].read([source(line)], options).values.tolist() == [1, 2.5]
    text = b"utterance,frame,bona,spoof\nu1,0,0.25,0.75\n"
    options = ReadOptions(hop=0.02, higher="spoof", column="spoof")
    assert SCORE_FORMATS["csv"].read([source(text)], options).values.tolist() == [0.75]


@pytest.mark.parametrize(
    "scores",
    [
        pa.array([[1, 2], [3]], pa.large_list(pa.float32())),
        pa.array([[1, 2], [3]], pa.list_(pa.int16())),
        pa.chunked_array([[np.float16([1, 2])], [np.float16([3])]], pa.list_(pa.float16())),
        pa.array([[9.0], [1.0, 2.0], [3.0]]).slice(1),
    ],
)
def test_lists_of_any_kind_are_scores(scores: Any) -> None:
    read = scores_from(pa.table({"utterance": ["u1", "u2"], "scores": scores}), hop=1, higher="spoof")
    assert read.values.tolist() == [1, 2, 3]
    assert read.offsets.tolist() == [0, 2, 3]


def test_lists_of_one_size_are_scores() -> None:
    scores = pa.array([[1, 2], [3, 4]], pa.list_(pa.float32(), 2))
    read = scores_from(pa.table({"utterance": ["u1", "u2"], "scores": scores}), hop=1, higher="spoof")
    assert read.offsets.tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    "ids",
    [
        pa.chunked_array([["u1", "u2"], ["u1"]]),
        pa.array(["u1", "u2", "u1"], pa.large_string()),
        pa.array(["u1", "u2", "u1"]).dictionary_encode(),
        pa.chunked_array([pa.array(["u1", "u2"]).dictionary_encode(), pa.array(["u1"]).dictionary_encode()]),
        pa.DictionaryArray.from_arrays(pa.array([2, 0, 2], pa.uint8()), ["u2", "unused", "u1"]),
        *([pa.array(["u1", "u2", "u1"], pa.string_view())] if int(pa.__version__.split(".")[0]) >= 20 else []),
    ],
)
def test_ids_of_any_kind_of_text_are_the_same(ids: Any) -> None:
    table = pa.table({"utterance": ids, "frame": [1, 0, 0], "score": [0.2, 0.3, 0.1]})
    read = scores_from(table, hop=0.02, higher="spoof")
    same_scores(read, Scores.from_frames({"u1": [0.1, 0.2], "u2": [0.3]}, hop=0.02, higher="spoof"))


def test_scores_in_one_piece_are_not_copied() -> None:
    values = np.arange(6, dtype=np.float32)
    lists = pa.ListArray.from_arrays(pa.array([0, 4, 6], pa.int32()), pa.array(values))
    wide = pa.table({"utterance": ["u1", "u2"], "scores": lists})
    assert np.shares_memory(scores_from(wide, hop=0.02, higher="spoof").values, values)
    long = pa.table({"utterance": ["u1"] * 6, "frame": np.arange(6), "score": values})
    assert np.shares_memory(scores_from(long, hop=0.02, higher="spoof").values, values)


def test_arrow_files_are_mapped_not_read(tmp_path: Path) -> None:
    path = tmp_path / "scores.arrow"
    original = Scores.from_frames({"u1": np.arange(100_000, dtype=np.float32)}, hop=0.02, higher="spoof")
    write_atomically(path, ARROW.write_scores(original))
    before = pa.total_allocated_bytes()
    read = SCORE_FORMATS["arrow"].read(sources(path), ReadOptions())
    assert pa.total_allocated_bytes() - before < 100_000
    same_scores(read, original)


# ---------------------------------------------------------------- what the file says and what the caller says


@pytest.mark.parametrize("name", NAMES)
def test_a_polarity_that_contradicts_the_file_is_refused(name: str) -> None:
    data = written(SCORE_FORMATS[name], SCORES["frames of float32"])
    SCORE_FORMATS[name].read([source(data)], ReadOptions(higher="bonafide"))
    with pytest.raises(UsageError, match="high scores mean bonafide, higher='spoof' contradicts it"):
        SCORE_FORMATS[name].read([source(data)], ReadOptions(higher="spoof"))


@pytest.mark.parametrize("name", NAMES)
def test_a_hop_that_contradicts_the_file_is_refused(name: str) -> None:
    data = written(SCORE_FORMATS[name], SCORES["frames of float32"])
    SCORE_FORMATS[name].read([source(data)], ReadOptions(hop=0.02))
    with pytest.raises(UsageError, match=r"its hop is 0\.02 s, hop=0\.04 contradicts it; leave hop= out"):
        SCORE_FORMATS[name].read([source(data)], ReadOptions(hop=0.04))


def test_files_of_different_polarity_are_not_one_corpus() -> None:
    one = Scores.from_frames({"u1": [1.0]}, hop=0.02, higher="spoof")
    other = Scores.from_frames({"u2": [1.0]}, hop=0.02, higher="bonafide")
    files = [source(b"".join(PARQUET.write_scores(scores)), f"{scores.higher}.parquet") for scores in (one, other)]
    with pytest.raises(DataError, match="differ in what high scores mean"):
        PARQUET.scores.read(files, ReadOptions())


def test_frames_and_ranges_are_not_one_corpus() -> None:
    one = Scores.from_frames({"u1": [1.0]}, hop=0.02, higher="spoof")
    other = Scores.from_ranges({"u2": [(0.0, 1.0, 1.0)]}, higher="spoof")
    files = [source(b"".join(PARQUET.write_scores(scores))) for scores in (one, other)]
    with pytest.raises(DataError, match="differ in being frames or ranges"):
        PARQUET.scores.read(files, ReadOptions())


@pytest.mark.parametrize("name", NAMES)
def test_one_utterance_in_two_files_is_refused(name: str) -> None:
    files = [source(written(REFERENCE_FORMATS[name], REFERENCES["plain"]), f"file{i}") for i in range(2)]
    with pytest.raises(
        DataError, match=r"keep each utterance in one file(?s:.*)utterance 'u1' is in file0 and in file1"
    ):
        REFERENCE_FORMATS[name].read(files, ReadOptions())


# ---------------------------------------------------------------- malformed text


REF = "utterance,start,end,label\n"
FRAMES = "utterance,frame,score\n"
RANGES = "utterance,start,end,score\n"

MALFORMED_REFERENCES: list[tuple[str, str | bytes, str]] = [
    ("empty", "", "ref.csv: the file is empty"),
    ("blank lines", "\n\n  \n", "the file is empty"),
    ("header only", REF, "no rows"),
    ("no header", "u1,0,1,spoof\n", "ref.csv:1: no header; the first line must name the columns"),
    ("a wrong name", "utterances,start,end,label\nu1,0,1,spoof\n", "no column 'utterance' (found: 'utterances', 'st"),
    ("its remedy", "utterances,start,end,label\nu1,0,1,spoof\n", "rename 'utterances' to 'utterance'"),
    ("no label", "utterance,start,end\nu1,0,1\n", "no column 'label' (found: 'utterance', 'start', 'end')"),
    ("scores", "utterance,start,end,score\nu1,0,1,0.5\n", "these look like scores, not references"),
    ("a column twice", "utterance,start,end,label,label\nu1,0,1,spoof,spoof\n", "2 columns are called 'label'"),
    ("semicolons", "utterance;start;end;label\nu1;0,5;1;spoof\n", "separated by semicolons"),
    ("tabs", "utterance\tstart\tend\tlabel\nu1\t0\t1\tspoof\n", "separated by tabs; use format tsv"),
    (
        "decimal commas",
        REF + "u1,0,5,1,2,spoof\n",
        "ref.csv:2, utterance 'u1': 6 cells, the header has 4; are there dec",
    ),
    ("quoted decimal comma", REF + 'u1,0,1,spoof\nu1,"1,5",2,spoof\n', "ref.csv:3, utterance 'u1': start '1,5'"),
    ("its remedy", REF + 'u1,"1,5",2,spoof\n', "use a decimal point"),
    ("too few cells", REF + "u1,0,1,spoof\nu1,1\n", "ref.csv:3, utterance 'u1': 2 cells, the header has 4"),
    ("a word for a time", REF + "u1,zero,1,spoof\n", "start 'zero' cannot be read; it must be a number"),
    ("NA for a time", REF + "u1,NA,1,spoof\n", "start 'NA' cannot be read"),
    ("underscores", REF + "u1,1_0,11,spoof\n", "start '1_0' cannot be read"),
    ("a header in the middle", REF + "u1,0,1,spoof\n" + REF, "ref.csv:3, utterance 'utterance': start 'start'"),
    ("NaN", REF + "u1,0,1,spoof\nu2,nan,1,spoof\n", "ref.csv:3, utterance 'u2': start is not a time (nan)"),
    ("infinite", REF + "u1,0,inf,spoof\n", "end is not a time (inf)"),
    ("milliseconds", REF + "u1,0,1200000,spoof\n", "end is over a day (1200000.0 s); are these milliseconds"),
    ("nanoseconds", REF + "u1,0,1200000000,spoof\n", "samples or nanoseconds?"),
    ("missing start", REF + "u1,,1,spoof\n", "ref.csv:2, utterance 'u1': start is missing"),
    ("missing end", REF + "u1,0,1,spoof\nu2,0,,spoof\n", "ref.csv:3, utterance 'u2': end is missing"),
    ("missing label", REF + "u1,0,1,\n", "label is missing"),
    ("missing id", REF + "u1,0,1,spoof\n,0,1,spoof\n", "ref.csv:3: the utterance id is empty"),
    ("end before start", REF + "u1,1.2,0.9,spoof\n", "the range ends before it starts (1.200 s > 0.900 s)"),
    ("negative", REF + "u1,-0.5,1,spoof\n", "the range starts before 0 (-0.500 s)"),
    ("unknown label", REF + "u1,0,1,banana\n", "ref.csv:2, utterance 'u1': unknown label 'banana'"),
    ("0 and 1", REF + "u1,0,1,1\n", "nothing says which of them means spoof"),
    ("their remedy", REF + "u1,0,1,0\n", "give spoof_label=1 if 1 means spoof, or spoof_label=0 if 0 does"),
    ("another number", REF + "u1,0,1,2\n", "unknown label '2'"),
    (
        "overlap",
        REF + "u1,0,1,spoof\nu1,0.5,2,bonafide\n",
        "ref.csv:2 and ref.csv:3: utterance 'u1': spoof [0.000 s, 1.000 s) and bonafide",
    ),
    (
        "row without a range",
        REF + "u1,0,1,spoof\nu1,,,\n",
        "ref.csv:3, utterance 'u1': a row without a range among others",
    ),
    (
        "two durations",
        "utterance,start,end,label,duration\nu1,0,1,spoof,2\nu1,1,2,spoof,3\n",
        "two durations, 2.000 s here",
    ),
    ("no duration", "utterance,start,end,label,duration\nu1,0,1,spoof,2\nu2,0,1,spoof,\n", "'u2' has no duration"),
    ("duration 0", "utterance,start,end,label,duration\nu1,0,1,spoof,0\n", "the duration is not positive"),
    (
        "kind against label",
        "utterance,start,end,label,attack\nu1,0,1,A07,A08\n",
        "the label is attack 'A07', but the column attack says 'A08'",
    ),
    ("latin-1", REF.encode() + b"u1,0,1,spoof\nu\xe9,0,1,spoof\n", "ref.csv:3: not UTF-8 text"),
    ("latin-1 header", b"utterance,start,end,label,r\xe9m\nu1,0,1,spoof,x\n", "ref.csv:1: not UTF-8 text"),
    ("UTF-16", REF.encode("utf-16"), "not a text file (it has a NUL byte)"),
    ("binary", bytes(range(256)), "not a text file"),
    ("an open quote", REF + '"u1,0,1,spoof\n', "ref.csv:2"),
    ("JSON", '{"utterance": "u1"}\n', "no header"),
]

MALFORMED_SCORES: list[tuple[str, str, str]] = [
    ("a frame twice", FRAMES + "u1,0,1\nu1,1,1\nu1,1,2\n", "s.csv:4, utterance 'u1': frame 1 occurs twice"),
    ("a frame missing", FRAMES + "u1,0,1\nu1,2,1\n", "s.csv:3, utterance 'u1': frame 1 is missing before frame 2"),
    ("missing in disorder", FRAMES + "u1,3,1\nu2,0,1\nu1,0,1\nu1,1,1\n", "s.csv:2, utterance 'u1': frame 2 is missing"),
    ("from 1", FRAMES + "u1,1,1\nu1,2,1\nu2,1,5\n", "the first frame is 1, frames count from 0 (they all start at 1"),
    ("late start", FRAMES + "u1,0,1\nu2,4,1\n", "s.csv:3, utterance 'u2': the first frame is 4"),
    ("negative frame", FRAMES + "u1,-1,1\nu1,0,1\n", "the first frame is -1"),
    ("half a frame", FRAMES + "u1,0.5,1\n", "frame '0.5' cannot be read; it must be an integer"),
    ("NaN", FRAMES + "u1,0,1\nu1,1,nan\n", "s.csv:3, utterance 'u1': score is NaN"),
    ("missing score", FRAMES + "u1,0,1\nu1,1,\n", "s.csv:3, utterance 'u1': score is missing"),
    ("missing frame", FRAMES + "u1,,1\n", "frame is missing"),
    ("a row without a score", FRAMES + "u1,0,1\nu1,,\n", "a row without a score among others"),
    ("a word", FRAMES + "u1,0,high\n", "score 'high' cannot be read"),
    (
        "references",
        REF + "u1,0,1,spoof\n",
        "no column 'score' (found: 'utterance', 'start', 'end', 'label'); these look",
    ),
    ("no time", "utterance,score\nu1,0.5\n", "scores need a time: no column 'frame'"),
    ("end before start", RANGES + "u1,1,0.5,3\n", "the range ends before it starts"),
    ("negative time", RANGES + "u1,-1,0.5,3\n", "the range starts before 0"),
    ("range with NaN", RANGES + "u1,0,1,nan\n", "s.csv:2, utterance 'u1': score is NaN"),
    ("range missing", RANGES + "u1,0,,3\n", "end is missing"),
    ("two hops", "utterance,frame,score,hop\nu1,0,1,0.02\nu1,1,1,0.04\n", "the utterance has more than one hop"),
    ("hop 0", "utterance,frame,score,hop\nu1,0,1,0\n", "hop must be positive, not 0"),
    ("some hops", "utterance,frame,score,hop\nu1,0,1,0.02\nu1,1,1,\n", "s.csv:3, utterance 'u1': hop is missing"),
    ("two windows", "utterance,frame,score,window\nu1,0,1,0.02\nu2,0,1,0.04\n", "several windows"),
    ("two polarities", "utterance,frame,score,higher\nu1,0,1,spoof\nu2,0,1,bonafide\n", "; write it again"),
    ("a third polarity", "utterance,frame,score,higher\nu1,0,1,fake\n", "high scores mean 'fake'"),
    (
        "some polarities",
        "utterance,frame,score,higher\nu1,0,1,spoof\nu2,0,1,\n",
        "s.csv:3, utterance 'u2': higher is miss",
    ),
]


def refused(form: Format[Any], data: str | bytes, name: str, part: str, options: ReadOptions) -> None:
    raw = data if isinstance(data, bytes) else data.encode()
    with pytest.raises((DataError, UsageError)) as caught:
        form.read([source(raw, name)], options)
    assert part in str(caught.value)
    assert name in str(caught.value) or "has no duration" in part


@pytest.mark.parametrize(
    ("data", "part"), [case[1:] for case in MALFORMED_REFERENCES], ids=[c[0] for c in MALFORMED_REFERENCES]
)
def test_malformed_csv_references_are_refused_with_their_place(data: str | bytes, part: str) -> None:
    refused(REFERENCE_FORMATS["csv"], data, "ref.csv", part, ReadOptions())


@pytest.mark.parametrize(
    ("data", "part"), [case[1:] for case in MALFORMED_SCORES], ids=[c[0] for c in MALFORMED_SCORES]
)
def test_malformed_csv_scores_are_refused_with_their_place(data: str, part: str) -> None:
    # whoever states hop or polarity in the file must not be contradicted by the options of this test
    hop = None if ",hop" in data.split("\n")[0] or ",start" in data.split("\n")[0] else 0.02
    higher = None if ",higher" in data.split("\n")[0] else "spoof"
    refused(SCORE_FORMATS["csv"], data, "s.csv", part, ReadOptions(hop=hop, higher=higher))  # type: ignore[arg-type]


MALFORMED_LINES: list[tuple[str, str | bytes, str]] = [
    ("empty", "", "the file is empty"),
    ("cut", '{"utterance": "u1", "start": 0, "end": 1, "label": "spoof"}\n{"utterance": "u1", "st', "x.jsonl:2: not"),
    ("a list", '[{"utterance": "u1"}]', "x.jsonl:1: not a JSON object but list"),
    ("a number", "5\n", "not a JSON object but int"),
    ("null", "null", "x.jsonl:1: not a JSON object but NoneType"),
    ("null after an object", '{"utterance": "u1", "start": 0, "end": 1, "label": "spoof"}\nnull\n', "x.jsonl:2: not a"),
    ("several lines", '{"utterance": "u1",\n"start": 0}x\n', "x.jsonl:1: not a JSON object on one line"),
    ("a number for an id", '{"utterance": 5, "start": 0, "end": 1, "label": "spoof"}', "utterance must be text, not 5"),
    ("a number for a label", '{"utterance": "u1", "start": 0, "end": 1, "label": 1}', "which of them means spoof"),
    ("text for a time", '{"utterance": "u1", "start": "0", "end": 1, "label": "spoof"}', "start must be a number"),
    ("a decimal comma", '{"utterance": "u1", "start": "0,5", "end": 1, "label": "spoof"}', "use a decimal point"),
    ("true for a time", '{"utterance": "u1", "start": true, "end": 1, "label": "spoof"}', "start must be a number"),
    ("a key twice", '{"utterance": "u1", "start": 0, "start": 1, "end": 2, "label": "spoof"}', "a key occurs twice"),
    ("no label", '{"utterance": "u1", "start": 0, "end": 2}', "no column 'label' (found: 'utterance', 'start', 'end')"),
    ("some labels", '{"utterance": "u1", "start": 0, "end": 1, "label": "spoof"}\n{"utterance": "u2", "start": 0}',
     "x.jsonl:2, utterance 'u2': label is missing"),
    ("NaN", '{"utterance": "u1", "start": NaN, "end": 2, "label": "spoof"}', "x.jsonl:1, utterance 'u1': start is"),
    ("not UTF-8", b'{"utterance": "\xe9", "start": 0, "end": 2, "label": "spoof"}', "x.jsonl:1: not UTF-8"),
    ("half a letter", '{"utterance": "\\ud800", "start": 0, "end": 2, "label": "spoof"}', "x.jsonl"),
    ("deep", '{"utterance": ' + "[" * 100_000, "x.jsonl:1: not a JSON object on one line"),
    ("no utterance", '{"utterances": "u1", "start": 0, "end": 1, "label": "spoof"}', "rename 'utterances' to 'utter"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "part"), [case[1:] for case in MALFORMED_LINES], ids=[c[0] for c in MALFORMED_LINES])
def test_malformed_json_lines_are_refused_with_their_place(data: str | bytes, part: str) -> None:
    refused(REFERENCE_FORMATS["jsonl"], data, "x.jsonl", part, ReadOptions())


MALFORMED_SCORE_LINES = [
    ('{"utterance": "u1", "scores": [1, "2"]}', "x.jsonl:1, utterance 'u1': scores: item 1 is '2', not a number"),
    ('{"utterance": "u1", "scores": 5}', "scores must be a list of numbers, not 5"),
    ('{"utterance": "u1", "scores": [1, null]}', "x.jsonl:1, utterance 'u1': score 1 is missing"),
    ('{"utterance": "u1", "scores": [1, 2, NaN]}', "x.jsonl:1, utterance 'u1': score 2 is NaN"),
    (
        '{"utterance": "u1", "scores": [1]}\n{"utterance": "u1", "scores": [1]}',
        "x.jsonl:2, utterance 'u1': the utterance oc",
    ),
    ('{"utterance": "u1", "scores": [1]}\n{"utterance": "u2"}', "x.jsonl:2, utterance 'u2': scores is missing"),
    ('{"utterance": "u1", "frame": 1.5, "score": 1}', "frame must be an integer, not 1.5"),
    ('{"utterance": "u1", "scores": [1], "score": 1}', "it has the columns 'score' and 'scores'"),
]


@pytest.mark.parametrize(("data", "part"), MALFORMED_SCORE_LINES)
def test_malformed_lines_of_scores_are_refused_with_their_place(data: str, part: str) -> None:
    refused(SCORE_FORMATS["jsonl"], data, "x.jsonl", part, ReadOptions(hop=0.02, higher="spoof"))


def test_json_lines_that_arrow_cannot_read_are_read_slowly() -> None:
    lines = b'{"utterance": "u1", "scores": [1e999, 2, -1e999]}\n\n{"utterance": "u2", "scores": [3]}\n'
    read = SCORE_FORMATS["jsonl"].read([source(lines)], ReadOptions(hop=0.02, higher="spoof"))
    assert read.values.tolist() == [np.inf, 2, -np.inf, 3]


# ---------------------------------------------------------------- malformed tables


def ref_table(**columns: Any) -> Any:
    usual = {"utterance": ["u1", "u1"], "start": [0.0, 1.0], "end": [1.0, 2.0], "label": ["spoof", "bonafide"]}
    return pa.table({name: column for name, column in {**usual, **columns}.items() if column is not None})


def with_metadata(table: Any, stated: Any) -> Any:
    return table.replace_schema_metadata({"spoofspan": stated if isinstance(stated, str) else json.dumps(stated)})


MALFORMED_REFERENCE_TABLES = {
    "no columns": (pa.table({}), "no column 'utterance' (found: none)"),
    "no rows": (ref_table().slice(0, 0), "no rows"),
    "ids as integers": (ref_table(utterance=[1, 2]), "column 'utterance' is of type int64; ids are text"),
    "null id": (ref_table(utterance=["u1", None]), "row 2: no utterance id"),
    "null ids": (ref_table(utterance=pa.nulls(2)), "row 1: no utterance id"),
    "times as text": (ref_table(start=["0", "1"]), "column 'start' is of type string; times are floats (seconds)"),
    "times as bool": (ref_table(start=[False, True]), "column 'start' is of type bool"),
    "null time": (ref_table(end=[1.0, None]), "row 2, utterance 'u1': end is missing"),
    "NaN": (ref_table(end=[1.0, np.nan]), "row 2, utterance 'u1': end is not a time (nan)"),
    "seconds as integers": (
        ref_table(start=[0, 1], end=[1, 2]),
        "integer times are nanoseconds, and the longest end is 2 ns",
    ),
    "samples": (ref_table(start=[0, 16000], end=[16000, 32000]), "if these are seconds, milliseconds or samples"),
    "milliseconds": (ref_table(end=[1.0, 2e6]), "end is over a day"),
    "too large": (ref_table(end=pa.array([1, 2**64 - 1], pa.uint64())), "a time does not fit"),
    "labels as integers": (ref_table(label=[0, 1]), "nothing says which of them means spoof"),
    "labels as bool": (ref_table(label=[True, False]), "nothing says which of them means spoof"),
    "labels as lists": (ref_table(label=[["spoof"], ["spoof"]]), "labels are words"),
    "attacks as integers": (ref_table(attack=[1, 2]), "column 'attack' is of type int64"),
    "durations as text": (ref_table(duration=["1", "2"]), "column 'duration' is of type string"),
    "damaged metadata": (with_metadata(ref_table(), "{"), "metadata 'spoofspan' cannot be read"),
    "metadata of another kind": (with_metadata(ref_table(), [1]), "metadata 'spoofspan' cannot be read"),
    "newer metadata": (with_metadata(ref_table(), {"version": 99}), "written by a newer spoofspan"),
    "a snap of years": (with_metadata(ref_table(), {"version": 1, "snap": "x"}), "a snap of 'x'"),
}

MALFORMED_SCORE_TABLES = {
    "nothing says the polarity": (long_table(hop=[0.02] * 3), {}, "nothing says what high scores mean; give higher="),
    "nothing says the hop": (long_table(), {"higher": "spoof"}, "nothing says how far its frames are apart; give hop="),
    "frames as floats": (
        long_table().set_column(1, "frame", pa.array([0.0, 1.0, 2.0])),
        {"hop": 0.02, "higher": "spoof"},
        "column 'frame' is of type double; frames are integers",
    ),
    "scores as text": (
        long_table().set_column(2, "score", pa.array(["1", "2", "3"])),
        {"hop": 0.02, "higher": "spoof"},
        "column 'score' is of type string; scores are numbers",
    ),
    "hard decisions": (
        long_table().set_column(2, "score", pa.array([True, False, True])),
        {"hop": 0.02, "higher": "spoof"},
        "hard decisions",
    ),
    "a hop for ranges": (
        pa.table({"utterance": ["u1"], "start": [0.0], "end": [1.0], "score": [1.0]}),
        {"hop": 0.02, "higher": "spoof"},
        "its scores have starts and ends",
    ),
    "no such column": (long_table(), {"hop": 0.02, "higher": "spoof", "column": "p"}, "no column 'p' (found: 'utt"),
    "hop as text": (long_table(hop=["20ms"] * 3), {"higher": "spoof"}, "column 'hop' is of type string"),
    "hop NaN": (long_table(hop=[0.02, 0.02, np.nan]), {"higher": "spoof"}, "row 3, utterance 'u1': hop is not a time"),
    "negative hop": (long_table(hop=[-0.02] * 3), {"higher": "spoof"}, "hop must be positive"),
    "lists of text": (
        pa.table({"utterance": ["u1"], "scores": [["1"]]}), {"hop": 0.02, "higher": "spoof"}, "scores are numbers"
    ),
    "a null list": (
        pa.table({"utterance": ["u1", "u2"], "scores": [[1.0], None]}),
        {"hop": 0.02, "higher": "spoof"},
        "row 2, utterance 'u2': scores is missing",
    ),
    "a null in a list": (
        pa.table({"utterance": ["u1", "u2"], "scores": [[1.0], [2.0, None]]}),
        {"hop": 0.02, "higher": "spoof"},
        "row 2, utterance 'u2': score 1 is missing",
    ),
    "NaN in a list": (
        pa.table({"utterance": ["u1", "u2"], "scores": [[1.0], [2.0, np.nan]]}),
        {"hop": 0.02, "higher": "spoof"},
        "row 2, utterance 'u2': score 1 is NaN",
    ),
    "an utterance twice": (
        pa.table({"utterance": ["u1", "u2", "u1"], "scores": [[1.0], [2.0], [3.0]]}),
        {"hop": 0.02, "higher": "spoof"},
        "row 3, utterance 'u1': the utterance occurs more than once",
    ),
    "metadata without sense": (
        with_metadata(long_table(), {"version": 1, "hop": "20 ms", "higher": "spoof"}), {}, "metadata give hop ="
    ),
    "metadata with a hop of 0": (
        with_metadata(long_table(), {"version": 1, "hop": 0, "higher": "spoof"}), {}, "which must be positive"
    ),
    "metadata with a third polarity": (
        with_metadata(long_table(), {"version": 1, "hop": 0.02, "higher": "fake"}), {}, "high scores mean 'fake'"
    ),
    "metadata against the column": (
        with_metadata(long_table(hop=[0.04] * 3), {"version": 1, "hop": 0.02}), {"higher": "spoof"}, "different hops"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("table", "part"), MALFORMED_REFERENCE_TABLES.values(), ids=MALFORMED_REFERENCE_TABLES)
def test_malformed_tables_of_references_are_refused(table: Any, part: str) -> None:
    with pytest.raises((DataError, UsageError)) as caught:
        references_from(table)
    assert part in str(caught.value)


@pytest.mark.parametrize(("table", "options", "part"), MALFORMED_SCORE_TABLES.values(), ids=MALFORMED_SCORE_TABLES)
def test_malformed_tables_of_scores_are_refused(table: Any, options: dict[str, Any], part: str) -> None:
    with pytest.raises((DataError, UsageError)) as caught:
        scores_from(table, **options)
    assert part in str(caught.value)


def test_many_problems_are_shown_at_once() -> None:
    text = REF + "".join(f"u{i},1,0,banana\n" for i in range(30))
    with pytest.raises(DataError, match=r"60 problems(?s:.*)ref\.csv:2(?s:.*)and 40 more"):
        read_csv(text)


def test_durations_that_disagree_are_refused() -> None:
    text = "utterance,start,end,label,duration\nu1,0,1,spoof,2\n"
    with pytest.raises(DataError, match=r"'u1': 2\.000 s in the table, 3\.000 s in durations"):
        read_csv(text, ReadOptions(durations={"u1": 3.0}))
    with pytest.raises(DataError, match="'u1' has no duration"):
        read_csv(REF + "u1,0,1,spoof\n", ReadOptions(durations={"u2": 3.0}))


def test_ids_that_no_file_can_hold_are_refused_when_writing() -> None:
    references = References.from_ranges({"half \ud800": [(0, 1, "spoof")]})
    with pytest.raises(DataError, match="not valid Unicode"):
        table_from_references(references)


def test_ranges_cannot_be_written_wide() -> None:
    with pytest.raises(UsageError, match="write them long"):
        table_from_scores(SCORES["ranges of float32"], long=False)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kept", [0.02, 0.3, 0.6, 0.9, 0.99])
def test_truncated_files_are_refused(name: str, kept: float) -> None:
    original = Scores.from_frames({f"u{i}": np.arange(50.0) + 0.25 for i in range(40)}, hop=0.02, higher="spoof")
    data = written(SCORE_FORMATS[name], original)
    cut = data[: int(len(data) * kept)]
    if name in ("csv", "tsv"):
        cut = cut[: cut.rindex(b".")]  # text that ends within a line
    with pytest.raises((DataError, UsageError)):
        SCORE_FORMATS[name].read([source(cut)], ReadOptions())


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("name", NAMES)
def test_truncated_packed_files_are_refused(name: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"scores.{name}{ending}"
    original = Scores.from_frames({f"u{i}": np.arange(50.0) + 0.25 for i in range(40)}, hop=0.02, higher="spoof")
    write_atomically(path, SCORE_FORMATS[name].write(original))  # type: ignore[misc]
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    with pytest.raises(DataError, match="truncated or damaged"):
        SCORE_FORMATS[name].read(sources(path), ReadOptions())


@pytest.mark.parametrize("name", TYPED)
def test_bit_errors_never_crash(name: str) -> None:
    original = SCORES["frames of float32"]
    good = written(SCORE_FORMATS[name], original)
    rng = np.random.default_rng(5)
    for _ in range(300):
        data = bytearray(good)
        for at in rng.integers(0, len(data), 3):
            data[at] ^= 1 << int(rng.integers(0, 8))
        with contextlib.suppress(DataError, UsageError):
            SCORE_FORMATS[name].read([source(bytes(data))], ReadOptions())


def test_empty_files_are_refused() -> None:
    for form in (*REFERENCE_FORMATS.values(), *SCORE_FORMATS.values()):
        with pytest.raises(DataError):
            form.read([source(b"")], ReadOptions())


def parquet_of(table: Any) -> Source:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return source(buffer.getvalue(), "x.parquet")


@pytest.mark.parametrize(
    ("table", "part"),
    [
        (ref_table().drop_columns(["utterance"]), "x.parquet: no column 'utterance' (found: 'start', 'end', 'label')"),
        (ref_table().rename_columns(["z", "a", "b", "c"]), "no column 'utterance' (found: 'z', 'a', 'b', 'c')"),
        (ref_table(utterance=[1, 2]), "column 'utterance' is of type int64"),
        (ref_table(utterance=[{"id": "u1"}] * 2), "column 'utterance' is of type struct"),
        (ref_table(utterance=[["u1"]] * 2), "column 'utterance' is of type list"),
        (ref_table(utterance=[b"u1", b"\xff"]), "column 'utterance' is of type"),
        (ref_table().rename_columns(["utterance", "start", "start", "label"]), "2 columns are called 'start'"),
        (ref_table().slice(0, 0), "no rows"),
    ],
)
def test_parquet_files_of_other_shapes_are_refused(table: Any, part: str) -> None:
    with pytest.raises(DataError) as caught:
        REFERENCE_FORMATS["parquet"].read([parquet_of(table)], ReadOptions())
    assert part in str(caught.value)


# ---------------------------------------------------------------- data frames


def test_a_pandas_frame_is_a_table() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    frame = pandas.DataFrame(
        {
            "utterance": ["u1", "u1", "u2"],
            "start": [0, 1.2, 0],
            "end": [1.2, 2, 1],
            "label": ["bonafide", "spoof", "bonafide"],
        }
    )
    same_references(references_from(frame), REFERENCES["plain"])
    for content in ("kinds", "durations", "without ranges", "strange ids"):
        same_references(references_from(to_pandas(REFERENCES[content])), REFERENCES[content])
    for long in (True, False):
        scores = SCORES["frames of float32"]
        back = scores_from(to_pandas(scores, long=long), hop=0.02, higher="bonafide")
        same_scores(back, scores)
    missing = pandas.DataFrame({"utterance": ["u1", "u1"], "frame": [0, 1], "score": [0.5, np.nan]})
    with pytest.raises(DataError, match=r"row 2, utterance 'u1': score is missing \(null or NaN\)"):
        scores_from(missing, hop=0.02, higher="spoof")


def test_a_polars_frame_is_a_table() -> None:
    polars = pytest.importorskip("polars", reason="polars is optional")
    frame = polars.DataFrame(
        {
            "utterance": ["u1", "u1", "u2"],
            "start": [0, 1.2, 0],
            "end": [1.2, 2, 1],
            "label": ["bonafide", "spoof", "bonafide"],
        },
        strict=False,
    )
    same_references(references_from(frame), REFERENCES["plain"])
    same_references(
        references_from(frame.with_columns(polars.col("utterance", "label").cast(polars.Categorical))),
        REFERENCES["plain"],
    )
    for content in ("kinds", "durations", "without ranges", "strange ids"):
        same_references(references_from(to_polars(REFERENCES[content])), REFERENCES[content])
    for long in (True, False):
        scores = SCORES["frames of float32"]
        back = scores_from(to_polars(scores, long=long), hop=0.02, higher="bonafide")
        same_scores(back, scores)


def test_a_duckdb_result_is_a_table() -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is optional")
    result = duckdb.sql("select 'u1' as utterance, 0.0 as start, 1.5 as \"end\", 'spoof' as label")
    same_references(references_from(result), References.from_ranges({"u1": [(0, 1.5, "spoof")]}))


def test_decimals_are_seconds() -> None:
    from decimal import Decimal

    table = ref_table(start=[Decimal("0.0"), Decimal("1.2")], end=[Decimal("1.2"), Decimal("2.0")])
    assert references_from(table).starts.tolist() == [0, 1_200_000_000]


def test_anything_with_the_arrow_interface_is_a_table() -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return ref_table().__arrow_c_stream__(requested_schema)

    batch = ref_table().to_batches()[0]
    expected = references_from(ref_table())
    for obj in (Stream(), batch, pa.RecordBatchReader.from_batches(batch.schema, [batch])):
        same_references(references_from(obj), expected)
    with pytest.raises(UsageError, match="a list has no Arrow interface"):
        references_from([1])
    with pytest.raises(UsageError, match="only References and Scores"):
        to_arrow({})  # type: ignore[arg-type]
    assert to_arrow(SCORES["a window"], long=False).column_names == ["utterance", "scores"]


def test_importing_the_package_imports_no_pyarrow() -> None:
    modules = "parquet, arrow_ipc, csv_files, jsonl, dataframes"
    code = (
        f"import sys, spoofspan; from spoofspan.formats.tables import {modules}; import spoofspan.formats.writing; "
        "print('pyarrow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


# ---------------------------------------------------------------- writing


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"

    def chunks() -> Iterator[bytes]:
        yield b"a"
        assert not path.exists()
        yield b"b"

    write_atomically(path, chunks())
    assert path.read_bytes() == b"ab"
    assert left_over(tmp_path) == ["out.csv"]


def test_an_existing_file_needs_force(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_bytes(b"old")
    started = []

    def chunks() -> Iterator[bytes]:
        started.append(True)
        yield b"new"

    with pytest.raises(UsageError, match=r"exists; choose another name, or give force=True \(--force\)"):
        write_atomically(path, chunks())
    assert not started
    assert path.read_bytes() == b"old"
    write_atomically(path, chunks(), force=True)
    assert path.read_bytes() == b"new"
    assert left_over(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("interruption", [ValueError, KeyboardInterrupt, MemoryError, SystemExit, GeneratorExit])
def test_an_interruption_leaves_the_old_file_and_nothing_else(
    interruption: type[BaseException], ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"out.csv{ending}"
    path.write_bytes(b"old")

    def chunks() -> Iterator[bytes]:
        yield b"half" * 100_000
        raise interruption

    with pytest.raises(interruption):
        write_atomically(path, chunks(), force=True)
    assert path.read_bytes() == b"old"
    assert left_over(tmp_path) == [path.name]


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"

    def chunks() -> Iterator[bytes]:
        path.write_bytes(b"someone else's")
        yield b"ours"

    with pytest.raises(UsageError, match="exists"):
        write_atomically(path, chunks())
    assert path.read_bytes() == b"someone else's"
    assert left_over(tmp_path) == ["out.csv"]


def test_names_say_how_to_pack(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a.csv.gz", [b"x" * 1000])
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == b"x" * 1000
    write_atomically(tmp_path / "b.csv.gz", [b"x" * 1000])
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    write_atomically(tmp_path / "a.csv.zst", [b"x" * 500, b"x" * 500])
    assert sources(tmp_path / "a.csv.zst")[0].read() == b"x" * 1000
    assert (tmp_path / "a.csv.zst").stat().st_size < 100


def test_a_dash_is_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write_atomically("-", [b"a", b"b\n"])
    assert capfdbinary.readouterr().out == b"ab\n"


def test_targets_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        write_atomically(tmp_path, [b"x"], force=True)
    with pytest.raises(UsageError, match="there is no folder"):
        write_atomically(tmp_path / "none" / "x.csv", [b"x"])


@pytest.mark.skipif(sys.platform == "win32", reason="rights and links as POSIX has them")
def test_a_replaced_file_keeps_its_rights_and_a_link_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "out.csv", tmp_path / "link.csv"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_atomically(link, [b"new"], force=True)
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    write_atomically("/dev/null", [b"gone"], force=True)


def test_long_names_leave_room_for_the_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 240 + ".csv")
    write_atomically(path, [b"x"])
    assert path.read_bytes() == b"x"


def test_missing_cells_of_parquet_need_no_pandas(tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="pandas is optional")
    references = References.from_ranges({"u1": [(0.0, 1.2, "bonafide"), (1.2, 2.0, "spoof", "A07")]})
    path = tmp_path / "references.parquet"
    path.write_bytes(b"".join(PARQUET.write_references(references)))
    assert pq.read_table(path)["attack"].null_count == 1
    code = "import sys, spoofspan as ss; ss.read_references(sys.argv[1]); sys.exit('pandas' in sys.modules)"
    subprocess.run([sys.executable, "-c", code, path], check=True)
