"""Lists of scores are brought together batch by batch, and are what reading the file at once gives."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import spoofspan as ss
from spoofspan.base.errors import DataError
from spoofspan.formats.tables import parquet

ROWS = 5_000
RANDOM = np.random.default_rng(7)


def lists(item, *, empty=0.2):
    counts = RANDOM.integers(1, 200, ROWS) * (RANDOM.random(ROWS) > empty)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    values = pa.array(RANDOM.normal(size=offsets[-1]).astype(np.float32)).cast(item, safe=False)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def written(path, column, **how):
    table = pa.table({"kind": ["a", "b"] * (ROWS // 2), "scores": column, "utterance": [f"u{i}" for i in range(ROWS)]})
    pq.write_table(table.replace_schema_metadata({"spoofspan": "{}"}), path, **how)
    return pq.ParquetFile(path)


@pytest.mark.parametrize("groups", [ROWS, 700, 1])
@pytest.mark.parametrize("item", [pa.float32(), pa.float64()])
def test_lists_of_floats_are_those_of_the_file(tmp_path, item, groups):
    file = written(tmp_path / "a.parquet", lists(item), row_group_size=groups)
    names = file.schema_arrow.names
    found = parquet._read_lists(file, names)
    found.validate(full=True)
    assert found.equals(file.read(names), check_metadata=True)
    assert found.column("scores").num_chunks == 1


def with_nulls(which):
    plain = lists(pa.float32())
    rows = plain.to_pylist()
    if which == "a list":
        rows[1_234] = None
    else:
        rows[4_999] = [0.5, None]
    return pa.array(rows, plain.type)


@pytest.mark.parametrize(
    "column",
    [
        lambda: with_nulls("a list"),
        lambda: with_nulls("an item"),
        lambda: lists(pa.int32()),
        lambda: lists(pa.float32()).cast(pa.large_list(pa.float32())),
        lambda: pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(2 * ROWS, np.float32)), 2),
        lambda: pa.array(np.zeros(ROWS)),
    ],
    ids=["a null list", "a null item", "integers", "large lists", "lists of one length", "no lists"],
)
def test_everything_else_is_read_at_once(tmp_path, column):
    file = written(tmp_path / "a.parquet", column())
    assert parquet._read_lists(file, file.schema_arrow.names) is None


@pytest.mark.parametrize("at", [0.3, 0.6, 0.9])
def test_damage_is_told_as_if_read_at_once(tmp_path, at, monkeypatch):
    path = tmp_path / "a.parquet"
    scores = ss.Scores.from_frames(
        {f"u{i}": RANDOM.normal(size=500) for i in range(2_000)}, hop=0.02, higher="bonafide"
    )
    ss.write_scores(scores, path)
    damaged = bytearray(path.read_bytes())
    damaged[int(at * len(damaged))] ^= 0xFF
    path.write_bytes(damaged)
    told = []
    for read in (parquet._read_lists, lambda file, chosen: None):
        monkeypatch.setattr(parquet, "_read_lists", read)
        with pytest.raises(DataError) as error:
            ss.read_scores(path)
        told.append(str(error.value))
    assert told[0] == told[1]
