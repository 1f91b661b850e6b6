"""Lines that are guessed and checked: what comes out is what a parser that splits lines finds, or nothing."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spoofspan as ss
from spoofspan.formats.line_blocks import native_buffer
from spoofspan.formats.sources import Source
from spoofspan.formats.text import frame_blocks
from spoofspan.formats.text.fixed_decimals import BEFORE, MOST_FRAMES, FixedLines, fixed_lines
from spoofspan.formats.text.frame_blocks import Frames

WIDTHS = (3, 4)


def lines_of(
    ids: list[str], counts: list[int], *, decimals: int = 5, width: int = 4, gap: str = " ", seed: int = 0
) -> str:
    """Frames of utterances with drawn scores, some of them negative zeros, some with two digits before the point."""
    rng = np.random.default_rng(seed)
    text = []
    for utterance, count in zip(ids, counts, strict=True):
        for frame, score in enumerate((rng.normal(size=count) * 10.0 ** rng.integers(-7, 2, count)).tolist()):
            other = [f"{-score:.{decimals}f}"] * (width - 3)
            text.append(gap.join([utterance, str(frame), *other, f"{min(max(score, -99), 99):.{decimals}f}"]) + "\n")
    return "".join(text)


def split_lines(text: bytes, separator: str) -> tuple[list[str], list[int], list[float]]:
    """What lines hold, by Python's own means."""
    fields = [line.split(separator) for line in text.decode(errors="surrogateescape").split("\n")[:-1]]
    return [line[0] for line in fields], [int(line[1]) for line in fields], [float(line[-1]) for line in fields]


def found_lines(found: FixedLines) -> tuple[list[str], list[int], list[float]]:
    ids = [
        one.decode(errors="surrogateescape")
        for one, count in zip(found.ids, found.counts, strict=True)
        for _ in range(count)
    ]
    begins = [found.first_frame, *[0] * (len(found.counts) - 1)]
    frames = [begin + i for begin, count in zip(begins, found.counts, strict=True) for i in range(count)]
    return ids, frames, found.values.tolist()


def read(text: bytes, width: int = 4, *, size: int = 1 << 20, fixed: bool = True) -> Frames | None:
    """Read a file in blocks of a size, with or without the parser that guesses."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame_blocks, "BLOCK_BYTES", size)
        if not fixed:
            patch.setattr(frame_blocks, "fixed_lines", lambda *_: None)
        source = Source("x.score", lambda: io.BytesIO(text))
        return frame_blocks.read_regular(source, (width,), width - 1)


def same(one: Frames | None, other: Frames | None) -> bool:
    """Whether two readings found the same, down to the sign of zero."""
    if one is None or other is None:
        return one is other
    bits = [frames.values.view(np.int64).tolist() for frames in (one, other)]
    return (one.ids, one.counts, bits[0]) == (other.ids, other.counts, bits[1])


@pytest.mark.parametrize("gap", [" ", "\t"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("decimals", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("id_bytes", [1, 5, 7, 8, 9, 13, 16, 17, 64])
def test_regular_lines_are_read(id_bytes: int, decimals: int, width: int, gap: str) -> None:
    ids = [f"{i:0{id_bytes}x}" for i in range(9)]
    counts = [12, 1, 3, 150, 2, 1, 1, 1200, 4]
    text = lines_of(ids, counts, decimals=decimals, width=width, gap=gap, seed=id_bytes).encode()
    lines = text.splitlines(keepends=True)
    while len(lines[0]) <= BEFORE:  # too short for a record
        lines.pop(0)
    text = b"".join(lines)
    found = fixed_lines(text, gap, width)
    assert found is not None
    expected = split_lines(text, gap)
    assert found_lines(found) == expected
    assert np.signbit(found.values).tolist() == np.signbit(expected[2]).tolist()
    assert [one.decode() for one in found.ids] == ids[-len(found.ids) :]


def test_every_score_of_three_decimals_has_the_bits_of_a_float() -> None:
    scores = [f"{sign}{thousandths / 1000:.3f}" for sign in ("", "-") for thousandths in range(100_000)]
    text = "".join(f"utterance-{i // 1000:03d} {i % 1000} x {score}\n" for i, score in enumerate(scores)).encode()
    found = fixed_lines(text, " ", 4)
    assert found is not None
    assert found.values.tobytes() == np.array(list(map(float, scores))).tobytes()


def test_ids_may_be_any_text_of_the_same_length() -> None:
    found = fixed_lines("".join(f"é-{i}{i}\N{SNOWMAN} 0 0.11111 -1.25000\n" for i in range(5)).encode(), " ", 4)
    assert found is not None
    assert [one.decode() for one in found.ids] == [f"é-{i}{i}\N{SNOWMAN}" for i in range(5)]


def test_a_block_may_begin_inside_an_utterance() -> None:
    text = lines_of(["utt-1", "utt-2"], [1500, 3]).encode()
    begin = text.index(b"utt-1 997 ")
    found = fixed_lines(text[begin:], " ", 4)
    assert found is not None
    assert (found.first_frame, found.counts) == (997, [503, 3])


@pytest.mark.parametrize("gap", [" ", "\t"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("size", [3000, 20_000, 1 << 20])
def test_regular_files_never_need_the_other_parser(
    size: int, width: int, gap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or else nobody would notice that reading takes twice as long."""
    text = lines_of([f"utterance-{i:03d}" for i in range(100)], [50] * 100, width=width, gap=gap).encode()
    expected = read(text, width, size=size, fixed=False)
    monkeypatch.setattr(frame_blocks, "_block", lambda *_: pytest.fail("not read by fixed_lines"))
    assert expected is not None
    assert same(read(text, width, size=size), expected)


# ---------------------------------------------------------------- lines that are not regular

LINES = lines_of([f"utt-{i}" for i in range(4)], [3, 12, 2, 4]).encode().splitlines(keepends=True)
LINE = b"utt-1 5 0.12345 -0.12345\n"
OTHERS = {
    "exponent": b"utt-1 5 0.12345 1.234e-5\n",
    "no digit before the point": b"utt-1 5 0.12345 -.123456\n",
    "three digits before the point": b"utt-1 5 0.12345 123.12345\n",
    "plus": b"utt-1 5 0.12345 +0.12345\n",
    "two signs": b"utt-1 5 0.12345 --0.12345\n",
    "sign inside": b"utt-1 5 0.12345 1-0.12345\n",
    "no point": b"utt-1 5 0.12345 12345678\n",
    "comma": b"utt-1 5 0.12345 -0,12345\n",
    "two points": b"utt-1 5 0.12345 -0.12.45\n",
    "a point more": b"utt-1 5 0.12345 .0.12345\n",
    "letter": b"utt-1 5 0.12345 -0.12a45\n",
    "byte after nine": b"utt-1 5 0.12345 -0.12:45\n",
    "byte before zero": b"utt-1 5 0.12345 -0.12/45\n",
    "high bit": b"utt-1 5 0.12345 -0.12\xb345\n",
    "more decimals": b"utt-1 5 0.12345 -0.123456\n",
    "fewer decimals": b"utt-1 5 0.12345 -0.1234\n",
    "nan": b"utt-1 5 0.12345 nan\n",
    "inf": b"utt-1 5 0.12345 -inf\n",
    "frame jumps": b"utt-1 6 0.12345 -0.12345\n",
    "leading zero of a frame": b"utt-1 05 0.12345 -0.12345\n",
    "sign of a frame": b"utt-1 -5 0.12345 -0.12345\n",
    "no frame": b"utt-1  0.12345 -0.12345\n",
    "other id": b"utt-9 5 0.12345 -0.12345\n",
    "longer id": b"utt-11 5 0.12345 -0.12345\n",
    "shorter id": b"utt1 5 0.12345 -0.12345\n",
    "no id": b" 5 0.12345 -0.12345\n",
    "id and frame joined": b"utt-15 0.12345 0.12345 -0.12345\n",
    "space in the id": b"ut -1 5 0.12345-0.12345\n",
    "three columns": b"utt-1 5 -0.12345\n",
    "five columns": b"utt-1 5 0.12345 0.12345 -0.12345\n",
    "three columns, then five": b"utt-1 5 -0.12345\nutt-1 6 0 0 -0.12345\n",
    "five columns, then three": b"utt-1 5 0 0 -0.12345\nutt-1 6 -0.12345\n",
    "two spaces": b"utt-1 5  0.12345 -0.12345\n",
    "space at the end": b"utt-1 5 0.12345 -0.12345 \n",
    "space at the start": b" utt-1 5 0.12345 -0.12345\n",
    "tab": b"utt-1 5\t0.12345 -0.12345\n",
    "CR": b"utt-1 5 0.12345 -0.12345\r\n",
    "CR alone": b"utt-1 5 0.12345 -0.12345\rutt-1 6 0.12345 -0.12345\n",
    "NUL": b"utt\x001 5 0.12345 -0.12345\n",
    "blank line": b"\n",
    "space alone": b" \n",
    "short line": b"a 5 0.1 0.1\n",
    "no end": b"utt-1 5 0.12345 -0.12345",
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_one_line_that_differs_leaves_the_block_to_the_other_parser(other: bytes) -> None:
    lines = [b"utt-1 %d 0.12345 -0.12345\n" % frame for frame in range(10)]
    assert fixed_lines(b"".join(lines), " ", 4) is not None
    for at in (5, 9):
        # the frame that is expected there, or one too many, so that nothing else is wrong
        other_here = other.replace(b" 6 ", b" %d " % (at + 1)).replace(b" 5 ", b" %d " % at)
        changed = [*lines[:at], other_here, *lines[at + 1 :]]
        if at == 5 and other == OTHERS["no end"]:
            continue
        text = b"".join(changed)
        assert fixed_lines(text, " ", 4) is None
        assert same(read(text), read(text, fixed=False))


@pytest.mark.parametrize(
    "text",
    [
        b"".join(b"ab %d 0 0.12345\n" % i for i in range(9)) + b"aba 9 0 0.12345\nb 10 0 0.12345\n",
        b"\xef\xbb\xbf" + LINE.replace(b" 5 ", b" 0 ") + LINE.replace(b" 5 ", b" 1 "),
        b"".join(b"u%065d %d 0.12345 0.12345\n" % (1, i) for i in range(9)),
        LINE,
        b"\n",
    ],
    ids=["joined ids are the same text", "byte order mark", "long ids", "one line", "blank"],
)
def test_these_blocks_are_left_to_the_other_parser(text: bytes) -> None:
    assert fixed_lines(text, " ", 4) is None
    assert same(read(text), read(text, fixed=False))


def test_frames_that_do_not_fit_into_a_word_are_left_to_the_other_parser() -> None:
    text = "".join(f"utterance {MOST_FRAMES - 2 + i} 0 0.12345\n" for i in range(4)).encode()
    assert fixed_lines(text, " ", 4) is None
    assert fixed_lines(text[: text.rindex(b"utterance")], " ", 4) is None
    assert fixed_lines(text[: text.rindex(b"utterance", 0, text.rindex(b"utterance"))], " ", 4) is not None


def test_another_column_than_the_last_is_left_to_the_other_parser() -> None:
    text = lines_of(["utt-1", "utt-2"], [20, 30]).encode()
    source = Source("x.score", lambda: io.BytesIO(text))
    found = frame_blocks.read_regular(source, (4,), 2)
    assert found is not None
    assert found.values.tolist() == [float(line.split()[2]) for line in text.splitlines()]


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


@settings(max_examples=200)
@given(mutations(), st.sampled_from([150, 1 << 20]))
def test_damaged_files_are_read_or_refused_as_without_the_guess(text: bytes, size: int) -> None:
    assert same(read(text, size=size), read(text, size=size, fixed=False))


@settings(max_examples=500)
@given(mutations())
def test_what_is_guessed_is_what_python_splits(text: bytes) -> None:
    found = fixed_lines(text, " ", 4)
    if found is not None:
        assert found_lines(found) == split_lines(text, " ")
        assert all(line.count(b" ") == 3 for line in text.splitlines())


@pytest.mark.parametrize("line", range(1, len(LINES) + 1))
def test_a_damaged_file_is_refused_with_its_line(line: int, tmp_path: Path) -> None:
    file = tmp_path / "unit0.02.score"
    file.write_bytes(b"".join([*LINES[: line - 1], LINES[line - 1][:-2] + b"?\n", *LINES[line:]]))
    with pytest.raises(ss.DataError, match=rf"unit0\.02\.score:{line}: utterance .* cannot be read"):
        ss.read_scores(file, format="unit-score")


def test_blocks_of_arrow_and_bytes_are_alike() -> None:
    text = b"".join(LINES)
    one, other = fixed_lines(text, " ", 4), fixed_lines(native_buffer([text]), " ", 4)
    assert one is not None
    assert other is not None
    assert found_lines(one) == found_lines(other)
