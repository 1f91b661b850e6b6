"""YAML is read as other parsers read it, and what is written is read back by them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoofspan.base.documents import parse_yaml, yaml_text

yaml = pytest.importorskip("yaml")
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
WORDS = st.sampled_from(["no", "on", "model-index", "point-eer@20ms", "a: b", "1", "null"])
PLAIN = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | WORDS, inner, max_size=3),
    max_leaves=8,
)


@given(PLAIN)
def test_what_is_written_is_read_back(plain):
    assert yaml.safe_load(yaml_text(plain)) == plain


@given(st.text(alphabet="ab :#\"-\\\n09.@{}[]&*!|>'%`,?~yno=", max_size=12))
def test_what_is_read_means_the_same_to_other_parsers(value):
    text = f"name: {value}\n"
    try:
        found = parse_yaml(text)
    except ValueError:
        return
    assert yaml.safe_load(text) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: yes", "line 1: put the text in double quotes"),
        ("a: 2026-06-01", "put the text in double quotes"),
        ("a: b: c", "put the text in double quotes"),
        ("a: b # c", "put the text in double quotes"),
        ("a: [1, 2]", "put the text in double quotes"),
        ("a: 1\na: 2", "line 2: a is given twice"),
        ("a: 1\n  b: 2", "line 2: b is indented, and no key above"),
        ("a:\n  b:\n    c: 1", "line 2: b has no value"),
        ("a:\nb: 1", "a has no value"),
        ("no: 1", "line 1: write"),
        ("a", "line 1: write 'key: value'"),
        ('a: "b', "not as in JSON"),
    ],
)
def test_what_is_beyond_a_small_record_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        parse_yaml(text)
