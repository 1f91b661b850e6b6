"""Blocks of whole lines: every byte once, cut at line ends only, and no line without bound."""

from __future__ import annotations

import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoofspan.base.errors import DataError
from spoofspan.formats import line_blocks as module
from spoofspan.formats.line_blocks import BOM, line_blocks
from spoofspan.formats.sources import Source


def source(data: bytes) -> Source:
    return Source("x.csv", lambda: io.BytesIO(data))


@given(
    st.lists(st.sampled_from([b"a", b"bc", b"\r", b"\n", b"\n\n", b'"', b"d" * 50])).map(b"".join), st.integers(1, 60)
)
def test_blocks_are_the_source_cut_at_line_ends(data: bytes, size: int) -> None:
    blocks = [block.to_pybytes() for block in line_blocks(source(data), size)]
    assert b"".join(blocks) == data
    assert all(block.endswith(b"\n") for block in blocks[:-1])
    assert all(blocks)


def test_packed_sources_are_unpacked() -> None:
    assert [block.to_pybytes() for block in line_blocks(source(gzip.compress(b"a\nb")), 2)] == [b"a\n", b"b"]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_byte_order_mark_inside_a_file_stays_where_a_reader_drops_that_of_each_block(size: int) -> None:
    blocks = [block.to_pybytes() for block in line_blocks(source(BOM + b"a\n" + BOM + b"b\n"), size)]
    assert blocks in ([BOM + b"a\n", BOM + BOM + b"b\n"], [BOM + b"a\n" + BOM + b"b\n"])


@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_without_end_is_refused_with_its_number(size: int, end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES_PER_LINE", 1 << 20)
    long = b"a\nb\n" + b"c" * ((1 << 20) + 1) + end
    with pytest.raises(DataError, match=r"x\.csv:3: the line is longer than 1 MiB"):
        list(line_blocks(source(long), size << 10))
    assert len(list(line_blocks(source(long.replace(b"c", b"", 1)), size << 10))) >= 2


def test_a_truncated_source_is_named() -> None:
    with pytest.raises(DataError, match=r"x\.csv: the file is truncated or damaged"):
        list(line_blocks(source(gzip.compress(b"a\n" * 1000)[:-9]), 10))
