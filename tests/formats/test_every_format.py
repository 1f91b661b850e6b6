"""Every format of the registries: the same corpus, the same number, the same hash, whatever the file is wrapped in.

A format that is registered and has no sample fails here.
"""

import gzip
import json
import subprocess
import sys

import format_samples as samples
import pyarrow as pa
import pytest
from format_samples import Sample

import spoofspan as ss
from spoofspan.evaluation.signature import references_hash, scores_hash
from spoofspan.formats.registry import REFERENCE_FORMATS, SCORE_FORMATS

IDS = tuple(f"CON_{number}" for number in range(20))
STATED = {
    *("unit-score", "wedefense-logits", "partialspoof-pickle", "kaldi-ark", "kaldi-scp"),
    *("hypothesis-rttm", "hypothesis-had", "hypothesis-segments", "hypothesis-json", "sed-scores"),
    *("hypothesis-language-model", "cfprf-scores"),
}


def packed_with_zstd(content):
    return pa.compress(content, "zstd", asbytes=True)


PACKING = {"": bytes, ".gz": lambda content: gzip.compress(content, mtime=0), ".zst": packed_with_zstd}
LINE_ENDS = {
    "LF": bytes,
    "CRLF": lambda content: content.replace(b"\n", b"\r\n"),
    "BOM": lambda content: b"\xef\xbb\xbf" + content,
    "BOM and CRLF": lambda content: b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n"),
}


def read_references(where, sample, **options):
    return ss.read_references(where, **sample.options | options)


def read_scores(where, sample, **options):
    return ss.read_scores(where, **sample.options | options)


def test_every_format_has_a_sample():
    assert set(samples.REFERENCE_FILES) == set(REFERENCE_FORMATS.formats) - samples.NOT_HERE
    assert set(samples.SCORE_FILES) == {name for name, form in SCORE_FORMATS.formats.items() if form.write is not None}
    assert set(samples.FOREIGN) == set(SCORE_FORMATS.formats) - samples.NOT_HERE


# --- there and back


@pytest.mark.parametrize("name", samples.REFERENCE_FILES)
def test_references_come_back_and_measure_the_same(name, tmp_path):
    sample = samples.written_references(name, IDS)
    original, scores = samples.references(IDS, name in samples.SPOOFS_ONLY), samples.scores(IDS)
    back = read_references(sample.write(tmp_path), sample)
    assert references_hash(back) == references_hash(original)
    rules = {"snap": 0, "gaps": "bonafide" if name in samples.SPOOFS_ONLY else "error"}
    measured, expected = (ss.range_eer(one, scores, **rules) for one in (back, original))
    assert measured.value == expected.value == ss.range_eer(samples.references(IDS), scores).value
    assert measured.signature == expected.signature


@pytest.mark.parametrize("name", samples.SCORE_FILES)
def test_scores_come_back_and_measure_the_same(name, tmp_path):
    sample, original = samples.written_scores(name, IDS), samples.original_scores(name, IDS)
    back = read_scores(sample.write(tmp_path), sample)
    assert scores_hash(back) == scores_hash(original)
    assert error_rate(back) == error_rate(original)
    if not original.decisions:
        measured, expected = (ss.range_eer(samples.references(IDS), one) for one in (back, original))
        assert measured.signature == expected.signature


# --- polarity, as the tools that own the formats have it


def error_rate(scores):
    """The range EER; of hard decisions, which have none, the mean of their two error rates."""
    references = samples.references(IDS)
    if scores.decisions:
        # a file that lists what is called spoof calls the rest bona fide
        point = ss.error_curve(references, scores, uncovered="bonafide").at(0.5)
        return (point.false_positive_rate + point.false_negative_rate) / 2
    return ss.range_eer(references, scores).value


@pytest.mark.parametrize("name", samples.FOREIGN)
def test_files_of_other_tools_are_not_read_the_wrong_way_round(name, tmp_path):
    sample = samples.foreign_scores(name, IDS)
    assert 0.07 < error_rate(read_scores(sample.write(tmp_path), sample)) < 0.13


@pytest.mark.parametrize("name", [name for name in samples.FOREIGN if name not in STATED])
def test_a_polarity_that_a_file_does_not_state_must_be_said(name, tmp_path):
    sample = samples.foreign_scores(name, IDS)
    with pytest.raises(ss.SpoofspanError, match="higher") as refused:
        read_scores(sample.write(tmp_path / "a"), sample, higher=None)
    assert refused.value.exit_code == 2
    mirrored = samples.mirrored_foreign_scores(name, IDS)
    assert 0.07 < error_rate(read_scores(mirrored.write(tmp_path / "b"), mirrored)) < 0.13


def test_an_archive_of_two_columns_says_nothing_without_their_order(tmp_path):
    sample = samples.foreign_scores("kaldi-ark", IDS)
    where = sample.write(tmp_path)
    (tmp_path / "label2id.json").unlink()
    with pytest.raises(ss.UsageError, match="label2id"):
        read_scores(where, sample)


# --- packing, line ends, byte order marks


def assert_wrapping_changes_nothing(sample: Sample, folder, hash_of):
    found = {}
    for ending, pack in PACKING.items():
        for name, change in LINE_ENDS.items() if sample.is_text else [("as it is", bytes)]:
            where = sample.write(folder / f"{name}{ending}", ending, lambda content, c=change, p=pack: p(c(content)))
            found[name, ending] = hash_of(where)
    assert len(set(found.values())) == 1, found


@pytest.mark.parametrize("name", samples.REFERENCE_FILES)
def test_wrapping_of_references_changes_nothing(name, tmp_path):
    sample = samples.written_references(name, IDS[:3])
    assert_wrapping_changes_nothing(sample, tmp_path, lambda where: references_hash(read_references(where, sample)))


@pytest.mark.parametrize("name", samples.FOREIGN)
def test_wrapping_of_scores_changes_nothing(name, tmp_path):
    sample = samples.foreign_scores(name, IDS[:3])
    assert_wrapping_changes_nothing(sample, tmp_path, lambda where: scores_hash(read_scores(where, sample)))


# --- folders, globs, standard input


def in_two_files(sample_of, name, folder):
    """Two parts of a corpus in one folder, and how the first file ends."""
    folder.mkdir()
    for number, ids in enumerate((IDS[:2], IDS[2:5])):
        part = sample_of(name, ids)
        for file, content in part.files.items():
            # a file that is called as its utterance stays so; a scp names its ark
            renamed = file if part.one_file_each or file == "label2id.json" else f"{number}{file}"
            (folder / renamed).write_bytes(content.replace(b"logits.ark", f"{number}logits.ark".encode()))
    return next(iter(part.files)).rpartition(".")[2]


@pytest.mark.parametrize("name", samples.REFERENCE_FILES)
def test_folders_and_globs_of_references(name, tmp_path):
    folder = tmp_path / "references"
    ending = in_two_files(samples.written_references, name, folder)
    options = samples.written_references(name, IDS[:5]).options
    expected = references_hash(samples.references(IDS[:5], name in samples.SPOOFS_ONLY))
    for where in (folder, f"{folder}/*.{ending}", sorted(folder.iterdir())):
        assert references_hash(ss.read_references(where, format=name, **options)) == expected


@pytest.mark.parametrize("name", samples.FOREIGN)
def test_folders_and_globs_of_scores(name, tmp_path):
    folder, whole = tmp_path / "scores", samples.foreign_scores(name, IDS[:5])
    ending = in_two_files(samples.foreign_scores, name, folder)
    expected = scores_hash(read_scores(whole.write(tmp_path / "whole"), whole))
    for where in (folder, f"{folder}/*.{ending}", sorted(folder.glob(f"*.{ending}"))):
        assert scores_hash(read_scores(where, whole, format=name)) == expected


def spoofspan(*arguments, piped):
    command = [sys.executable, "-c", "from spoofspan.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(command, input=piped, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.slow_cases("^parquet$", "^jsonl$", "^segment-list$")
@pytest.mark.parametrize("name", ["rttm", "parquet", "jsonl", "segment-list"])
def test_references_from_standard_input(name, tmp_path):
    sample, scores = samples.written_references(name, IDS), samples.written_scores("parquet", IDS)
    durations = tmp_path / "reco2dur"
    durations.write_text("".join(f"{utt} {seconds}\n" for utt, seconds in samples.durations(IDS).items()))
    (content,) = sample.files.values()
    printed = spoofspan(
        *("eval", "-", scores.write(tmp_path), "--durations", durations, "-m", "range-eer", "--format", "json"),
        piped=content,
    )
    (measured,) = json.loads(printed)["measurements"]
    assert measured["value"] == ss.range_eer(samples.references(IDS), samples.scores(IDS)).value


@pytest.mark.slow_cases("^partialspoof-pickle$", "^csv$", "^arrow$", "^kaldi-ark$")
@pytest.mark.parametrize("name", ["unit-score", "partialspoof-pickle", "csv", "arrow", "kaldi-ark"])
def test_scores_from_standard_input(name, tmp_path):
    sample = samples.foreign_scores(name, IDS)
    content = next(iter(sample.files.values()))
    # what the name of the file says, or the file next to it
    told = {"kaldi-ark": {"column": 1, "higher": "spoof"}, "csv": {}, "arrow": {}}.get(name, {"hop": 0.02})
    flags = [word for key, value in (sample.options | told).items() for word in (f"--{key}", value)]
    target = tmp_path / "out.parquet"
    spoofspan("convert", "-", target, "--kind", "scores", *flags, piped=content)
    file = sample.write(tmp_path)
    assert scores_hash(ss.read_scores(target)) == scores_hash(read_scores(file, sample))
