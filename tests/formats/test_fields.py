"""Lines in blocks: every byte once, and columns that are what Python's own splitting and float find, or nothing."""

from __future__ import annotations

import gzip
import io
import random
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spoofspan as ss
from spoofspan.base.errors import DataError
from spoofspan.formats import fields as module
from spoofspan.formats.fields import BOM, fields_of_lines, line_blocks, plain_columns
from spoofspan.formats.sources import Source
from spoofspan.formats.text import frame_lines
from spoofspan.formats.text.frame_lines import Frames


def source(data: bytes) -> Source:
    return Source("x.csv", lambda: io.BytesIO(data))


# ---------------------------------------------------------------- blocks


@given(
    st.lists(st.sampled_from([b"a", b"bc", b"\r", b"\n", b"\n\n", b'"', b"d" * 50])).map(b"".join), st.integers(1, 60)
)
def test_blocks_are_the_source_cut_at_line_ends(data: bytes, size: int) -> None:
    blocks = list(line_blocks(source(data), size))
    assert b"".join(blocks) == data
    assert all(block.endswith(b"\n") for block in blocks[:-1])
    assert all(blocks)


def test_packed_sources_are_unpacked() -> None:
    assert list(line_blocks(source(gzip.compress(b"a\nb")), 2)) == [b"a\n", b"b"]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_byte_order_mark_is_dropped_at_the_start_only(size: int) -> None:
    assert b"".join(line_blocks(source(BOM + b"a\n" + BOM + b"b\n"), size)) == b"a\n" + BOM + b"b\n"


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


# ---------------------------------------------------------------- numbers


def numbers(texts: list[str]) -> np.ndarray | None:
    fields = fields_of_lines("".join(f"u,{text},x\n" for text in texts).encode(), 3, ",")
    assert fields is not None
    return fields.numbers(1)


def same_bits(texts: list[str]) -> bool:
    found = numbers(texts)
    return found is not None and found.tobytes() == np.array(list(map(float, texts))).tobytes()


DRAWN = np.random.default_rng(1).normal(size=20_000)
KINDS = {
    "every digit": [repr(one) for one in DRAWN.tolist()],
    "float32": [repr(one) for one in DRAWN.astype(np.float32).astype(np.float64).tolist()],
    "any size": [repr(one) for one in (DRAWN * 10.0 ** np.random.default_rng(2).integers(-20, 20, 20_000)).tolist()],
    "exponents": [f"{one:.18e}" for one in DRAWN.tolist()],
    "odd": ["-0.0", "0", "5.", ".5", "-.5", "+1", "inf", "-inf", "1e5", "1E-5", "0.5", "12345678", "1234567."],
    "long": ["0.0000000000000000000000001", "1.00000000000000011102230246251565", "9007199254740993", "9" * 40],
    **{f"{places} decimals": [f"{one:.{places}f}" for one in DRAWN[:4000].tolist()] for places in range(24)},
}


@pytest.mark.parametrize("texts", KINDS.values(), ids=KINDS)
def test_numbers_have_the_bits_of_float(texts: list[str]) -> None:
    assert same_bits(texts)


def test_every_score_of_three_decimals_has_the_bits_of_float() -> None:
    assert same_bits([f"{sign}{one / 1000:.3f}" for sign in ("", "-") for one in range(100_000)])


def test_numbers_next_to_the_middle_of_two_floats_are_rounded_as_float_does() -> None:
    texts = []
    for one in np.random.default_rng(3).random(2000).tolist():
        middle = (Decimal(one) + Decimal(float(np.nextafter(one, 2)))) / 2
        texts += [f"{middle:.{places}f}" for places in (16, 17, 18, 19)]
    for power in range(-30, 20):  # where floats below are nearer to each other than those above
        for neighbour in (0, 1):
            middle = (Decimal(2.0**power) + Decimal(float(np.nextafter(2.0**power, neighbour * 1e9)))) / 2
            texts += [f"{middle:.{places}f}" for places in (15, 16, 17, 18)]
    assert same_bits(texts)


@settings(max_examples=300)
@given(
    st.lists(st.from_regex(r"-?([0-9]{1,20}\.?[0-9]{0,22}|\.[0-9]{1,22})(e-?[0-9]{1,3})?", fullmatch=True), min_size=1)
)
def test_any_number_has_the_bits_of_float(texts: list[str]) -> None:
    assert same_bits(texts)


@pytest.mark.parametrize(
    "text",
    ["1_0", "..", "-", ".", "1.2.3", "abc", "--1", "1e", "e5", "\N{FULLWIDTH DIGIT ONE}", "/", ":", "5-3", "1e+"],
)
def test_what_is_no_number_declines_the_column(text: str) -> None:
    assert numbers(["0.5", text]) is None


def test_an_empty_field_is_not_a_number() -> None:
    found = numbers(["0.5", ""])
    assert found is not None
    assert np.isnan(found).tolist() == [False, True]


@pytest.mark.parametrize(
    ("texts", "expected"), [("0 7 12345678 007", [0, 7, 12345678, 7]), ("1 -1", None), ("1 1.", None)]
)
def test_integers_are_digits_only(texts: str, expected: list[int] | None) -> None:
    fields = fields_of_lines(texts.replace(" ", "\n").encode(), 1)
    assert fields is not None
    found = fields.integers(0)
    assert expected == (None if found is None else found.tolist())


# ---------------------------------------------------------------- fields


@pytest.mark.parametrize("longest", [1, 7, 8, 9, 16, 33, 300])
def test_runs_of_texts_are_those_of_the_lines(longest: int) -> None:
    rng = random.Random(longest)
    texts = ["".join(rng.choices("abé", k=rng.randint(1, longest))) for _ in range(50)]
    rows = [text for text in texts for _ in range(rng.randint(1, 4))]
    fields = fields_of_lines("".join(f"{text} 1\n" for text in rows).encode(), 2)
    assert fields is not None
    found, counts = fields.runs(0)
    assert [text for text, count in zip(found, counts.tolist(), strict=True) for _ in range(count)] == rows


@pytest.mark.parametrize(
    "text", [b"a  b\n", b"a b \n", b"a\tb\n", b"a b\r\n", b"a b", b"\n\na b\n\n\n", b"a \t b\r\n\r\n"]
)
def test_white_space_of_any_kind_separates(text: bytes) -> None:
    fields = fields_of_lines(text, 2)
    assert fields is not None
    assert [fields.runs(at).texts for at in (0, 1)] == [["a"], ["b"]]


@pytest.mark.parametrize(
    "text", [b"", b"\n", b"a\n", b"a b c\n", b"a b\nc\n", b"a b\rc d\n", b"a\0 b\n", b"a\vc b\n", b" a\n b c\n"]
)
def test_other_lines_are_declined(text: bytes) -> None:
    assert fields_of_lines(text, 2) is None


def test_columns_of_a_file_are_read_over_the_edges_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"".join(b"utt%d %d.5\n" % (at // 3, at) for at in range(100))
    whole = plain_columns(source(text), (2,), texts=(0,), numbers=(1,))
    monkeypatch.setattr(module, "BLOCK_BYTES", 40)
    for columns in (whole, plain_columns(source(text), (2,), texts=(0,), numbers=(1,))):
        assert columns is not None
        (ids,), (numbers,) = columns
        assert numbers.tolist() == [at + 0.5 for at in range(100)]
        assert list(dict.fromkeys(ids.texts)) == [f"utt{at}" for at in range(34)]
    assert plain_columns(source(text + "ü 1\n".encode()), (2,), texts=(0,), numbers=(1,)) is None


# ---------------------------------------------------------------- files of frames

LINES = [
    b"utt-%d %d %.5f %.5f\n" % (utt, frame, frame / 7, -frame / 7)
    for utt, count in enumerate([3, 12, 2, 4])
    for frame in range(count)
]


def read(text: bytes, size: int = 1 << 20) -> Frames | None:
    """Read a file in blocks of a size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame_lines, "BLOCK_BYTES", size)
        return frame_lines.read_regular(source(text), (4,), 3)


def by_line(text: bytes) -> Frames | None:
    try:
        return frame_lines._line_by_line(source(text), frame_lines.UNIT, 3)
    except DataError:
        return None


def content(frames: Frames) -> tuple[list[str], list[int], bytes]:
    return frames.ids, frames.counts, frames.values.tobytes()


def mutations() -> st.SearchStrategy[bytes]:
    """A regular file with bytes or lines changed, inserted, deleted or exchanged."""
    byte = st.one_of(st.sampled_from(list(b" \t\n\r\0-+.0123456789eutab\xc3\xef")), st.integers(0, 255)).map(
        lambda value: bytes([value])
    )
    change = st.tuples(st.sampled_from(["change", "insert", "delete", "swap"]), st.integers(0, 10_000), byte)

    def mutate(changes: list[tuple[str, int, bytes]]) -> bytes:
        text = b"".join(LINES)
        for kind, place, value in changes:
            at = place % len(text)
            if kind == "swap":
                lines = text.splitlines(keepends=True)
                first, second = place % len(lines), value[0] % len(lines)
                lines[first], lines[second] = lines[second], lines[first]
                text = b"".join(lines)
            else:
                text = text[:at] + (b"" if kind == "delete" else value) + text[at + (kind != "insert") :]
        return text

    return st.lists(change, min_size=1, max_size=3).map(mutate)


@settings(max_examples=500)
@given(mutations(), st.sampled_from([150, 1 << 20]))
def test_what_blocks_accept_is_what_lines_say(text: bytes, size: int) -> None:
    found = read(text, size)
    if found is not None:
        expected = by_line(text)
        assert expected is not None
        assert content(found) == content(expected)


@pytest.mark.parametrize("size", [1 << 8, 1 << 20])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace(b" ", b"\t"),
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text + b"\n\n",
        lambda text: text.removesuffix(b"\n"),
        lambda text: BOM + text,
        lambda text: text.replace(b"utt-", "ütt\N{SNOWMAN}".encode()),
        lambda text: text.replace(b"0.00000", b"1.5e-07").replace(b"-0.14286", b"-inf"),
        lambda text: b"".join(sorted(text.splitlines(keepends=True))),
    ],
    ids=["plain", "tabs", "CRLF", "blank lines", "no end", "BOM", "not ASCII", "exponents", "out of order"],
)
def test_these_files_are_read_in_blocks(change, size: int) -> None:
    """Or else nobody would notice that reading takes ten times as long, and --stream would refuse them."""
    text = change(b"".join(LINES))
    found, expected = read(text, size), by_line(text)
    assert found is not None
    assert expected is not None
    assert content(found) == content(expected)


@pytest.mark.parametrize("line", range(1, len(LINES) + 1))
def test_a_damaged_file_is_refused_with_its_line(line: int, tmp_path: Path) -> None:
    file = tmp_path / "unit0.02.score"
    file.write_bytes(b"".join([*LINES[: line - 1], LINES[line - 1][:-2] + b"?\n", *LINES[line:]]))
    with pytest.raises(ss.DataError, match=rf"unit0\.02\.score:{line}: utterance .* cannot be read"):
        ss.read_scores(file, format="unit-score")
