"""JSON and TOML that strangers wrote: bounded in depth and size, refused with a sentence wherever they are read."""

import json
import re
import tracemalloc
from pathlib import Path

import pytest

import spoofspan as ss
from spoofspan.base import documents
from spoofspan.base.documents import TooComplexError, parse_json, parse_toml, read_json

SOURCE = Path(ss.__file__).parent
# the protocols between this process and its own children, files that were written a moment before, a reader that
# takes one object after the other of a file that was checked, a look at the first bytes of a file, and values that went
# through JSON and back to become plain
OWN = {
    "base/documents.py",
    "challenge/appeals.py",
    "challenge/assets/evalai_main.py",
    "challenge/assets/hf_metric.py",
    "challenge/scoring_process.py",
    "formats/pickles.py",
    "scale/sharding.py",
    "formats/recognition.py",
}


def test_nothing_else_parses_json_or_toml():
    parsing = re.compile(r"json\.loads?\(|tomllib|JSONDecoder")
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if parsing.search(path.read_text(encoding="utf-8"))
    }
    assert found == OWN


def test_plain_documents_are_parsed_as_json_does():
    for plain in ({"a": [1, 2.5, None, True], "b]]": '[[[{\\"'}, [[]] * 500, "\u2028", 7):
        text = json.dumps(plain)
        assert parse_json(text) == parse_json(text.encode()) == parse_json(b"\xef\xbb\xbf" + text.encode()) == plain


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("depth", [65, 900, 200_000])
def test_deep_documents_are_refused(depth, closed):
    for left, right in (("[", "]"), ('{"a":', "}")):
        with pytest.raises(ValueError, match="nested more than 64 deep"):
            parse_json(left * depth + "1" + right * depth * closed)
    with pytest.raises(ValueError, match=r"nested more than 64 deep|Unclosed|Invalid"):
        parse_toml("a = " + "[" * depth + "]" * depth * closed)
    with pytest.raises(ValueError, match="nested more than 64 deep"):
        parse_toml(".".join("a" * min(depth, 9000)) + " = 1")


def test_a_key_of_many_parts_takes_no_memory():
    tracemalloc.start()
    with pytest.raises(TooComplexError, match="nested more than 64 deep"):
        parse_toml(".".join("a" * 20_000) + " = 1")
    assert tracemalloc.get_traced_memory()[1] < 10 << 20
    tracemalloc.stop()


def test_brackets_in_strings_hide_no_depth():
    assert parse_json(json.dumps({"a": "[" * 1000})) == {"a": "[" * 1000}
    deep = '["]]]]]]]]\\"", ' * 70 + "1" + "]" * 70
    with pytest.raises(TooComplexError, match="nested"):
        parse_json(deep)


def test_the_depth_of_damaged_strings_takes_no_time():
    """Quotes without a partner, and backslashes at the end: the length decides, not its square."""
    for text in ('"' + '\\"' * 500_000 + "[" * 100, "[" * 70 + '"\\', '["' * 300_000):
        with pytest.raises(ValueError, match=r"nested|char|column"):
            parse_json(text)


def test_keys_and_values_are_counted_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(documents, "MOST_KEYS", 100)
    monkeypatch.setattr(documents, "MOST_VALUES", 1000)
    assert len(parse_json(json.dumps({str(i): i for i in range(100)}))) == 100
    with pytest.raises(TooComplexError, match="more than 100 keys"):
        parse_json(json.dumps({str(i): i for i in range(101)}))
    with pytest.raises(TooComplexError, match="1,000 values"):
        parse_json(json.dumps([0] * 1002))


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("[" + "1," * 1000 + "1]")
    assert len(read_json(path)) == 1001
    with pytest.raises(TooComplexError, match="more than 1,000 bytes"):
        read_json(path, 1000)


DEEP = "[" * 50_000


@pytest.mark.parametrize("content", [DEEP, '{"a": ' * 3000, "[" * 500 + "]" * 500])
def test_every_road_to_a_document_refuses_deep_ones(content, tmp_path):
    from spoofspan.corpus.checking import _read_about
    from spoofspan.corpus.layout import read_provenance
    from spoofspan.evaluation.stated_result import read_threshold
    from spoofspan.formats.arrays.kaldi import read_label2id
    from spoofspan.formats.calibrations import read_calibration
    from spoofspan.formats.reading import read_proposals

    path = tmp_path / "deep.json"
    path.write_text(content)
    for read in (
        read_calibration,
        read_label2id,
        read_proposals,
        _read_about,
        lambda where: list(read_provenance(where)),
        lambda where: read_threshold(where, ["range-eer"]),
        lambda where: ss.read_scores(where, format="json-frames", hop=0.02, higher="spoof"),
        lambda where: ss.read_references(where, format="json-ranges"),
        lambda where: ss.read_references(where, format="avdeepfake1m"),
        lambda where: ss.read_scores(where, format="jsonl", hop=0.02, higher="spoof"),
    ):
        with pytest.raises(ss.DataError, match=r"deep\.json"):
            read(path)


@pytest.mark.parametrize("content", ["a = " + DEEP, ".".join("a" * 9000) + " = 1", "x" * (2 << 20)])
def test_a_deep_configuration_is_refused(content, tmp_path):
    from spoofspan.cm.config import Config

    (tmp_path / "config.toml").write_text(content)
    with pytest.raises(ss.SpoofspanError, match=r"config\.toml"):
        Config.from_file(tmp_path / "config.toml")
