"""Statements of how files begin and what their lines hold, and the files that broke the functions before them."""

import io

import pytest

from spoofspan.formats.describe import describe
from spoofspan.formats.recognition import Begins, Lines, anything, at_tabs, is_name, is_seconds
from spoofspan.formats.text.lines import is_number

LINES = Lines((is_name, is_number, is_seconds), least=2)


@pytest.mark.parametrize("head", [b'{"a": 1}', b'\xef\xbb\xbf \r\n{"a": 1}', b'{"utterance": "\xc3'])
def test_text_begins_after_blanks_and_may_end_within_a_character(head):
    assert Begins(r"\{")(head)
    assert not Begins(r"\[")(head)


def test_bytes_begin_at_the_first():
    assert Begins(b"PAR1")(b"PAR1\0")
    assert not Begins(b"PAR1")(b"\nPAR1\0")


def test_a_further_look_is_taken_only_where_the_beginning_fits():
    def never(head):
        raise AssertionError

    assert not Begins(r"\{", never)(b"u1 0 0.5\n")
    assert not Begins(r"\{", lambda head: b"label" in head)(b'{"a": 1}')


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("u1 0.5 2\n", True),
        ("\nu1 0.5\r\nu2 inf 1\n", True),
        ("u1 0.5 -2\n", False),
        ("u1 0.5 2 3\n", False),
        ("u1\n", False),
        ("u1 0.5\nu2 x\n", False),
        ("", False),
    ],
)
def test_all_lines_have_the_fields(text, fits):
    assert LINES(text.encode()) == fits


def test_most_lines_may_do_and_comments_do_not_count():
    most = Lines((is_name, is_number), most=True)
    assert most(b"utt score\nu1 1\nu2 2\n")
    assert not most(b"utt score\nu1 1\n")
    assert Lines((is_name, is_number), comment=";;")(b";; two fields, and more\nu1 1\n")
    assert Lines((anything, is_number), at_tabs)(b"a name\t1\n")


def test_a_line_that_is_too_short_is_left_to_the_reader():
    assert describe(io.BytesIO(b"u 0 0 0\nu 1 0\nu 2 0 0\n")).kind == "references"


@pytest.mark.parametrize("line", [b"u1 1 0.0 1.5", b"u1 0.0 1.5"])
def test_regions_may_stand_below_a_comment(line):
    assert describe(io.BytesIO(b";; regions\n" + line + b"\nu2 1 0 1\n")).kind == "regions that count (UEM)"
