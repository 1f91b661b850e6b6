"""Arrow files whose messages do not tile them are refused: Arrow's own checks pass, and the numbers are others."""

from __future__ import annotations

import io
import random
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spoofspan as ss
from spoofspan.formats.tables import arrow_ipc

VALUES = np.random.default_rng(5).normal(size=(24, 5)).astype(np.float32)
END = b"\xff\xff\xff\xff\0\0\0\0"


def written(kind: str, **how: object) -> bytes:
    """Scores of 24 utterances, in three batches."""
    ids = pa.array([f"u{i}" for i in range(len(VALUES))]).dictionary_encode()
    table = pa.table({"utterance": ids, "scores": list(VALUES)})
    sink = io.BytesIO()
    make = pyarrow.ipc.new_file if kind == "file" else pyarrow.ipc.new_stream
    with make(sink, table.schema, options=pyarrow.ipc.IpcWriteOptions(**how)) as writer:
        writer.write_table(table, max_chunksize=8)
    return sink.getvalue()


def read(data: bytes) -> list[float]:
    return ss.read_scores(io.BytesIO(data), format="arrow", hop=0.02, higher="spoof").values.tolist()


INTACT = {
    "file": written("file"),
    "packed file": written("file", compression="zstd"),
    "file of before 0.15": written("file", use_legacy_format=True),
    "stream": written("stream"),
    "packed stream": written("stream", compression="lz4"),
    "stream without the mark of its end": written("stream").removesuffix(END),
}


@pytest.mark.parametrize("kind", INTACT)
def test_whole_files_are_read(kind: str) -> None:
    assert INTACT["stream"].endswith(END)
    assert read(INTACT[kind]) == VALUES.ravel().tolist()


@given(st.sampled_from(sorted(INTACT)), st.floats(0, 1), st.sampled_from([1, 2, 4, 8, 16, 64]), st.data())
@settings(max_examples=100)
def test_bytes_inserted_or_removed_never_change_a_number(
    kind: str, part: float, count: int, data: st.DataObject
) -> None:
    intact = INTACT[kind]
    at = 8 + int(part * (len(intact) - 8))
    inserted = data.draw(st.sampled_from([b"", bytes(count), b"\xff" * count, intact[at - count : at]]))
    damaged = intact[:at] + inserted + intact[at if inserted else at + count :]
    with suppress(ss.DataError):
        assert read(damaged) == VALUES.ravel().tolist()


def test_a_file_with_bytes_too_many_says_so() -> None:
    intact = INTACT["file"]
    at = intact.index(VALUES[-4:].tobytes())  # in the last batch, whose place the footer states
    with pytest.raises(ss.DataError, match="bytes were inserted or removed in the file; get it again"):
        read(intact[:at] + bytes(8) + intact[at:])


@pytest.mark.parametrize("packing", ["zstd", "lz4", None])
def test_a_packed_message_says_what_it_unpacks_to(packing):
    batch = pa.record_batch(
        {
            "utterance": pa.array(["u1", "u2"] * 500).dictionary_encode(),
            "scores": pa.array([[0.25] * 3, None] * 500),
            "score": np.zeros(1000),
        }
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression=packing)) as out:
        out.write_batch(batch)
    schema, dictionary, rows = pa.ipc.MessageReader.open_stream(pa.BufferReader(sink.getvalue()))
    assert not schema.body
    assert arrow_ipc.unpacked_bytes(dictionary.metadata, dictionary.body) == (3 * 4 + len("u1u2") if packing else 0)
    # 4 bytes an index; a bit a list and 1001 offsets; 8 bytes for each of 1,500 and 1,000 numbers
    expected = 4 * 1000 + 125 + 4 * 1001 + 8 * 2500
    assert arrow_ipc.unpacked_bytes(rows.metadata, rows.body) == (expected if packing else 0)


@pytest.mark.slow_cases("^packed file$")
@pytest.mark.parametrize("kind", ["packed file", "packed stream"])
def test_changed_bytes_of_a_packed_file_are_refused_or_read(kind: str) -> None:
    """Also where an offset leads out of the message: at first 33 of 30,000 such files ended in a traceback."""
    dice = random.Random(5)
    for _ in range(3000):
        damaged = bytearray(INTACT[kind])
        for _ in range(dice.choice((1, 1, 2, 4))):
            damaged[dice.randrange(len(damaged))] = dice.choice((0, 127, 128, 255, dice.randrange(256)))
        with suppress(ss.SpoofspanError):
            read(bytes(damaged))
