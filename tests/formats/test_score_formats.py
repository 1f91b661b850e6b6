"""Score files of other tools read as they were meant, and bad ones are refused with the place."""

import contextlib
import gzip
import io
import json
import re
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spoofspan as ss
from spoofspan.data.proposals import Proposals
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.arrays import kaldi
from spoofspan.formats.datasets import proposals
from spoofspan.formats.format import ReadOptions
from spoofspan.formats.reading import read_proposals, read_utterance_scores
from spoofspan.formats.sources import Source
from spoofspan.formats.sources import sources as find_sources
from spoofspan.formats.text import frame_lines, utterance_scores

FORMATS = {
    one.name: one
    for one in (
        *frame_lines.FORMATS,
        *utterance_scores.FORMATS,
        *kaldi.FORMATS,
        proposals.FORMAT,
    )
}

UNIT = "u1 0 0.75000 0.25000\nu1 1 0.50000 0.40000\nu2 0 -1.50000 2.00000\n"
WEDEFENSE = "u1\t0\t0.75\t0.25\tunknown\nu1\t1\t0.5\t0.4\t0\nu2\t0\t-1.5\t2.0\t1\n"
FRAME = "u1 0 0.25\nu1 1 0.4\nu2 0 2.0\n"
UTT = "u1 0.75 0.25\nu2 0.5 0.4\nu3 -1.5 2.0\n"
ASVSPOOF5 = "filename\tcm-score\nu1\t0.25\nu2\t0.4\nu3\t2.0\n"
DETECTION = "a/u1.mp4;0.25\na/u2.mp4;0.4\na/u3.mp4;2.0\n"
LOG = (
    "Loading the network\n"
    "Output, u1, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.25\n"
    "Output, u2, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 0.4\n"
)
# as kaldiio 2.18.1 writes them
ARK = (
    b"u1 \0BFM \4\2\0\0\0\4\2\0\0\0\0\0@?\0\0\x80>\0\0\0?\0\0\0\xbf"
    b"u2 \0BDM \4\1\0\0\0\4\2\0\0\0\0\0\0\0\0\0\xc0?\0\0\0\0\0\0\0@"
)
SCP = "u1 exp/logits.ark:3\nu2 exp/logits.ark:37\n"
TEXT_ARK = "u1  [\n  0.75 0.25 \n  0.5 -0.5 ]\nu2  [\n  0.125 2.0 ]\n"
VECTORS = b"u1 \0BFV \4\3\0\0\0\0\0\x80?\0\0\0@\0\0@@"
TEXT_VECTORS = "u1  [ 1.0 2.0 3.0 ]\n"
PROPOSALS = '{"a/u1.mp4": [[0.9, 0.5, 1.25], [0.4, 0.0, 2.0]], "a/u2.mp4": []}'

CLASSES = {"hop": 0.02, "label2id": {"bonafide": 0, "spoof": 1}}

# format, name of the file, content, options
SAMPLES = [
    ("unit-score", "unit0.02.score", UNIT, {}),
    ("wedefense-logits", "logits_frame_20ms.txt", WEDEFENSE, {}),
    ("frame-score", "scores.txt", FRAME, {"hop": 0.02, "higher": "spoof"}),
    ("utt-score", "utt.score", UTT, {}),
    ("asvspoof5", "scores.tsv", ASVSPOOF5, {}),
    ("av-deepfake1m-detection", "prediction.txt", DETECTION, {}),
    ("log-output", "log_output_eval", LOG, {}),
    ("kaldi-ark", "logits.ark", ARK, {"hop": 0.02, "column": "1", "higher": "spoof"}),
    ("kaldi-ark", "logits.ark", TEXT_ARK, {"hop": 0.02, "label2id": {"bonafide": 0, "spoof": 1}}),
    ("kaldi-ark", "logits.ark", VECTORS, {"hop": 0.02, "higher": "spoof"}),
    ("kaldi-ark", "logits.ark", TEXT_VECTORS, {"hop": 0.02, "higher": "spoof"}),
    ("proposals", "proposals.json", PROPOSALS, {}),
]
TEXT_SAMPLES = [sample for sample in SAMPLES if isinstance(sample[2], str)]


def as_bytes(content):
    return content.encode() if isinstance(content, str) else content


def source(content, name="file"):
    data = as_bytes(content)
    return Source(name, lambda: io.BytesIO(data))


def read(format_name, content, name="file", **options):
    return FORMATS[format_name].read([source(content, name)], ReadOptions(**options))


def content_of(read_back):
    """Everything a reader returned, comparable."""
    if isinstance(read_back, ss.Scores):
        return (
            read_back.utterances,
            read_back.offsets.tolist(),
            read_back.values.tolist(),
            read_back.higher,
            np.broadcast_to(read_back.hops, len(read_back)).tolist(),
        )
    if isinstance(read_back, UtteranceScores):
        return read_back.utterances, read_back.values.tolist(), read_back.higher
    columns = (read_back.offsets, read_back.confidences, read_back.starts, read_back.ends)
    return read_back.utterances, *(column.tolist() for column in columns)


# ---------------------------------------------------------------- what the samples mean


def test_unit_score_reads_the_spoof_column_unless_told_otherwise():
    scores = read("unit-score", UNIT, "exp/unit0.02.score")
    assert content_of(scores) == (("u1", "u2"), [0, 2, 3], [0.25, 0.4, 2.0], "spoof", [0.02, 0.02])
    scores = read("unit-score", UNIT, "exp/unit0.02.score", column="bonafide")
    assert content_of(scores) == (("u1", "u2"), [0, 2, 3], [0.75, 0.5, -1.5], "bonafide", [0.02, 0.02])


def test_wedefense_logits_with_and_without_labels():
    expected = (("u1", "u2"), [0, 2, 3], [0.25, 0.4, 2.0], "spoof", [0.16, 0.16])
    assert content_of(read("wedefense-logits", WEDEFENSE, "logits_frame_160ms.txt")) == expected
    bare = "\n".join(line.rpartition("\t")[0] for line in WEDEFENSE.splitlines())
    assert content_of(read("wedefense-logits", bare, "logits_frame_160ms.txt.gz")) == expected
    mixed = bare.splitlines()[0] + "\n" + "".join(WEDEFENSE.splitlines(keepends=True)[1:])
    assert content_of(read("wedefense-logits", mixed, "logits_frame_160ms.txt")) == expected


def test_decimals_become_the_nearest_double():
    texts = ["0.1", "-1.7976931348623157e308", "5e-324", "0.30000000000000004", "123456789.123456789", "-0.0", "inf"]
    lines = "".join(f"u {i} 0 {text}\n" for i, text in enumerate(texts))
    for content in (lines, lines + " \n"):  # a line of blanks takes the other way through the reader
        assert read("unit-score", content, hop=0.02).values.tolist() == [float(text) for text in texts]


def test_an_hop_given_counts_more_than_the_name():
    assert read("unit-score", UNIT, "unit0.02.score", hop=0.04).hop == 0.04


@pytest.mark.parametrize(("format_name", "content"), [("unit-score", UNIT), ("wedefense-logits", WEDEFENSE)])
def test_without_hop_or_name_there_is_no_guess(format_name, content):
    with pytest.raises(ss.UsageError, match="give hop="):
        read(format_name, content, "scores.txt")


def test_frame_score_needs_polarity_and_hop():
    with pytest.raises(ss.UsageError, match="give higher="):
        read("frame-score", FRAME, hop=0.02)
    with pytest.raises(ss.UsageError, match="give hop="):
        read("frame-score", FRAME, higher="spoof")
    assert FORMATS["frame-score"].needs == ("higher",)
    assert read("frame-score", FRAME, "unit0.04.score", higher="spoof").hop == 0.04  # the name tells it
    tabs = read("frame-score", FRAME.replace(" ", "\t"), hop=0.02, higher="bonafide")
    assert content_of(tabs) == (("u1", "u2"), [0, 2, 3], [0.25, 0.4, 2.0], "bonafide", [0.02, 0.02])


def test_frames_out_of_order_are_sorted():
    shuffled = "u1 2 0 0.3\nu1 0 0 0.1\nu1 1 0 0.2\nu2 1 0 0.5\nu2 0 0 0.4\n"
    mixed = "u1 2 0 0.3\nu2 1 0 0.5\nu1 0 0 0.1\nu2 0 0 0.4\nu1 1 0 0.2\n"
    for content in (shuffled, shuffled.replace("\n", " \n"), mixed):
        scores = read("unit-score", content, hop=0.02)
        assert scores.utterances == ("u1", "u2")
        assert scores.values.tolist() == [0.1, 0.2, 0.3, 0.4, 0.5]


def test_both_ways_through_the_reader_agree(monkeypatch):
    rng = np.random.default_rng(7)
    lines = [
        f"utt-{i:03d} {frame} {value!r} {-value!r}\n"
        for i in range(200)
        for frame, value in enumerate(rng.normal(size=rng.integers(1, 60)).tolist())
    ]
    quick = frame_lines.read_regular(source("".join(lines)), frame_lines.UNIT.widths, 3)
    monkeypatch.setattr(frame_lines, "BLOCK_BYTES", 1000)  # utterances go on over the edges of blocks
    small = frame_lines.read_regular(source("".join(lines)), frame_lines.UNIT.widths, 3)
    slow = frame_lines._line_by_line(source("".join(lines)), frame_lines.UNIT, 3)
    mixed = frame_lines.read_regular(
        source("".join(sorted(lines))), frame_lines.UNIT.widths, 3
    )  # frames 0, 1, 10, 11, ...
    for other in (small, slow, mixed):
        assert (other.ids, other.counts) == (quick.ids, quick.counts)
        assert other.values.tolist() == quick.values.tolist()


@given(
    st.lists(st.sampled_from(["a", "b", "bb", "ccc"]), min_size=1, max_size=8),
    st.lists(st.integers(0, 3), min_size=8, max_size=8),
    st.integers(20, 200),
)
def test_runs_of_ids_are_found_whatever_the_frames_are(ids, frames, size):
    text = "".join(f"{utt} {frame} 0 {i}\n" for i, (utt, frame) in enumerate(zip(ids, frames, strict=False)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame_lines, "BLOCK_BYTES", size)
        quick = frame_lines.read_regular(source(text), frame_lines.UNIT.widths, 3)
    try:
        slow = frame_lines._line_by_line(source(text), frame_lines.UNIT, 3)
    except ss.DataError:
        assert quick is None
    else:
        together = len({*ids}) == len([one for one, _ in groupby(ids)])
        assert (quick is not None) == together  # lines of an utterance apart from each other are left to the slow way
        assert quick is None or (quick.ids, quick.counts, quick.values.tolist()) == (
            slow.ids,
            slow.counts,
            slow.values.tolist(),
        )


def test_several_files_may_have_several_hops():
    parts = [source("u1 0 0 1\nu1 1 0 2\n", "unit0.02.score"), source("u2 0 0 3\n", "unit0.04.score")]
    scores = FORMATS["unit-score"].read(parts, ReadOptions())
    assert content_of(scores) == (("u1", "u2"), [0, 2, 3], [1.0, 2.0, 3.0], "spoof", [0.02, 0.04])


def test_two_files_of_one_utterance_are_refused():
    parts = [source("u1 0 0 1\n", "unit0.02.score"), source("u1 0 0 3\n", "unit0.04.score")]
    with pytest.raises(ss.DataError, match=r"unit0.04.score: utterance 'u1' is in unit0.02.score as well"):
        FORMATS["unit-score"].read(parts, ReadOptions())


def test_ids_with_spaces_live_in_files_with_tabs():
    scores = read("wedefense-logits", "my file\t0\t0\t1\nmy file\t1\t0\t2\n", hop=0.02)
    assert scores.utterances == ("my file",)


def test_utterance_scores_of_each_format():
    assert content_of(read("utt-score", UTT)) == (("u1", "u2", "u3"), [0.25, 0.4, 2.0], "spoof")
    assert content_of(read("utt-score", UTT, column="bonafide")) == (("u1", "u2", "u3"), [0.75, 0.5, -1.5], "bonafide")
    for separator in ("\t", " ", ","):
        table = ASVSPOOF5.replace("\t", separator)
        assert content_of(read("asvspoof5", table)) == (("u1", "u2", "u3"), [0.25, 0.4, 2.0], "bonafide")
    files = ("a/u1.mp4", "a/u2.mp4", "a/u3.mp4")
    assert content_of(read("av-deepfake1m-detection", DETECTION)) == (files, [0.25, 0.4, 2.0], "spoof")


def test_asvspoof5_reads_by_the_header():
    more = "filename\tasv-score\tcm-score\nu1\t9\t0.25\n"
    assert content_of(read("asvspoof5", more)) == (("u1",), [0.25], "bonafide")


@pytest.mark.parametrize(
    ("column", "expected"),
    [(None, [0.25, 0.4]), ("score", [0.25, 0.4]), ("20ms", [0.1, 1.1]), ("640ms", [0.6, 1.6])],
)
def test_log_output_has_a_score_per_resolution(column, expected):
    assert content_of(read("log-output", LOG, column=column)) == (("u1", "u2"), expected, "bonafide")


@pytest.mark.parametrize("content", [ARK, TEXT_ARK])
def test_archives_hold_a_column_per_class(content):
    spoof = (("u1", "u2"), [0, 2, 3], [0.25, -0.5, 2.0], "spoof", [0.02, 0.02])
    bona_fide = (("u1", "u2"), [0, 2, 3], [0.75, 0.5, 0.125], "bonafide", [0.02, 0.02])
    for column, expected in ((None, spoof), ("spoof", spoof), ("1", spoof), ("bonafide", bona_fide), ("0", bona_fide)):
        assert content_of(read("kaldi-ark", content, **CLASSES, column=column)) == expected
    swapped = {"hop": 0.02, "label2id": {"spoof": 0, "bonafide": 1}}
    assert read("kaldi-ark", content, **swapped).values.tolist() == bona_fide[2]
    assert read("kaldi-ark", content, **swapped).higher == "spoof"


@pytest.mark.parametrize("column", [None, "spoof", "bonafide"])
def test_the_order_of_two_columns_is_never_guessed(column):
    with pytest.raises(ss.UsageError, match=r"which of the 2 columns\?.*label2id\.json.*column=.*0 to 1.*higher="):
        read("kaldi-ark", ARK, hop=0.02, column=column)
    with pytest.raises(ss.UsageError, match="give higher="):
        read("kaldi-ark", ARK, hop=0.02, column="0")
    assert read("kaldi-ark", ARK, hop=0.02, column="0", higher="spoof").values.tolist() == [0.75, 0.5, 0.125]


def test_each_archive_has_its_own_order_of_columns(tmp_path):
    for folder, order in (("a", '{"spoof": 0, "bonafide": 1}'), ("b", '{"bonafide": 0, "spoof": 1}')):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "label2id.json").write_text(order)
    (tmp_path / "a" / "logits.ark").write_bytes(ARK)
    (tmp_path / "b" / "logits.ark").write_bytes(ARK.replace(b"u1 ", b"v1 ").replace(b"u2 ", b"v2 "))
    both = [tmp_path / "a" / "logits.ark", tmp_path / "b" / "logits.ark"]
    scores = ss.read_scores(both, hop=0.02)
    assert (scores.values.tolist(), scores.higher) == ([0.75, 0.5, 0.125, 0.25, -0.5, 2.0], "spoof")
    with pytest.raises(ss.UsageError, match="in the archive before they mean spoof"):
        ss.read_scores(both, hop=0.02, column="0")
    told = ss.read_scores(both, hop=0.02, label2id=tmp_path / "b" / "label2id.json")
    assert told.values.tolist() == [0.25, -0.5, 2.0] * 2


@pytest.mark.parametrize("content", [VECTORS, TEXT_VECTORS])
def test_vectors_are_one_score_per_frame(content):
    assert read("kaldi-ark", content, hop=0.02, higher="bonafide").values.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ss.UsageError, match="give higher="):
        read("kaldi-ark", content, hop=0.02)


def test_label2id_next_to_the_archive_says_which_column_is_spoof(tmp_path):
    (tmp_path / "logits.ark").write_bytes(ARK)
    (tmp_path / "label2id.json").write_text('{"spoof": 0, "bonafide": 1}')
    options = ReadOptions(hop=0.02)
    scores = FORMATS["kaldi-ark"].read(find_sources(tmp_path / "logits.ark"), options)
    assert (scores.values.tolist(), scores.higher) == ([0.75, 0.5, 0.125], "spoof")
    for broken in ("{", "[]", '{"spoof": "x"}', '{"spoof": 0}'):
        (tmp_path / "label2id.json").write_text(broken)
        with pytest.raises(ss.DataError, match=r"label2id\.json"):
            FORMATS["kaldi-ark"].read(find_sources(tmp_path / "logits.ark"), options)


def test_more_classes_than_two_must_be_chosen_by_index():
    three = "u1 [\n 1 2 3\n 4 5 6 ]\n"
    with pytest.raises(ss.UsageError, match="which of the 3 columns"):
        read("kaldi-ark", three, hop=0.02)
    with pytest.raises(ss.UsageError, match="give higher="):
        read("kaldi-ark", three, hop=0.02, column="2")
    assert read("kaldi-ark", three, hop=0.02, column="2", higher="spoof").values.tolist() == [3.0, 6.0]


def test_scp_points_into_the_archive_wherever_it_was_written(tmp_path):
    whole = tmp_path / "exp"
    whole.mkdir()
    (whole / "logits.ark").write_bytes(ARK)
    (whole / "logits.scp").write_text(SCP)  # paths seen from the working directory of the writer
    (tmp_path / "beside.scp").write_text(SCP)  # paths seen from the scp's folder
    (tmp_path / "absolute.scp").write_text(SCP.replace("exp", str(whole)))
    (whole / "single.ark").write_bytes(ARK[3:34])
    (whole / "single.scp").write_text("u1 single.ark\n")
    spoof = (("u1", "u2"), [0, 2, 3], [0.25, -0.5, 2.0], "spoof", [0.02, 0.02])
    for path in (whole / "logits.scp", tmp_path / "beside.scp", tmp_path / "absolute.scp"):
        assert content_of(FORMATS["kaldi-scp"].read(find_sources(path), ReadOptions(**CLASSES))) == spoof
    single = FORMATS["kaldi-scp"].read(find_sources(whole / "single.scp"), ReadOptions(**CLASSES))
    assert single.values.tolist() == [0.25, -0.5]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("u1", "not '<utterance> <ark>:<byte>'"),
        ("u1 gunzip -c logits.ark.gz |", "commands are not run"),
        ("u1 | logits.ark:3", "commands are not run"),
        ("u1 logits.ark:3[0:1]", "parts of matrices"),
        ("u1 missing.ark:3", "there is no 'missing.ark'"),
        ("u1 logits.ark:4", "no binary matrix begins at byte 4"),
        ("u1 logits.ark:0", "no binary matrix begins at byte 0"),
        ("u1 logits.ark:99999999", "no binary matrix begins at byte 99999999"),
        ("u2 logits.ark:3", "another utterance is at byte 3"),
        ("u1 empty.ark:3", "cannot be read"),
        ("u1 short.ark:3", "truncated"),
        ("u1 logits.ark:3\nu1 logits.ark:3", "is there already"),
    ],
)
def test_scp_lines_that_point_nowhere(tmp_path, line, message):
    (tmp_path / "logits.ark").write_bytes(ARK)
    (tmp_path / "short.ark").write_bytes(ARK[:20])
    (tmp_path / "empty.ark").write_bytes(b"")
    (tmp_path / "logits.scp").write_text(line + "\n")
    with pytest.raises(ss.DataError, match=re.escape(message)) as caught:
        FORMATS["kaldi-scp"].read(find_sources(tmp_path / "logits.scp"), ReadOptions(**CLASSES))
    assert "logits.scp:" in str(caught.value)


def test_proposals_keep_their_order_and_their_empty_files():
    read_back = read("proposals", PROPOSALS)
    assert read_back.utterances == ("a/u1.mp4", "a/u2.mp4")
    assert read_back.offsets.tolist() == [0, 2, 2]
    assert read_back.confidences.tolist() == [0.9, 0.4]
    assert read_back.starts.tolist() == [500_000_000, 0]
    assert read_back.ends.tolist() == [1_250_000_000, 2_000_000_000]
    assert repr(read_back) == "Proposals(2 utterances, 2 proposals)"


# ---------------------------------------------------------------- containers


@pytest.mark.parametrize(("format_name", "name", "content", "options"), SAMPLES)
def test_packing_changes_nothing(format_name, name, content, options):
    import pyarrow as pa

    plain = content_of(read(format_name, content, name, **options))
    assert content_of(read(format_name, gzip.compress(as_bytes(content)), name, **options)) == plain
    packed = pa.compress(as_bytes(content), codec="zstd", asbytes=True)
    assert content_of(read(format_name, packed, name, **options)) == plain


@pytest.mark.parametrize(("format_name", "name", "content", "options"), TEXT_SAMPLES)
def test_line_ends_and_marks_change_nothing(format_name, name, content, options):
    plain = content_of(read(format_name, content, name, **options))
    variants = {
        "crlf": content.replace("\n", "\r\n"),
        "bom": "\ufeff" + content,
        "both": "\ufeff" + content.replace("\n", "\r\n"),
        "no last line end": content.rstrip("\n"),
        "blank lines": "\n" + content.replace("\n", "\n\n"),
    }
    for variant, changed in variants.items():
        assert content_of(read(format_name, changed, name, **options)) == plain, variant


@pytest.mark.parametrize(("format_name", "name", "content", "options"), SAMPLES)
def test_files_are_recognised_by_exactly_one_format(format_name, name, content, options):
    for changed in (as_bytes(content), b"\xef\xbb\xbf" + as_bytes(content).replace(b"\n", b"\r\n")):
        if changed.startswith(b"\xef") and isinstance(content, bytes):
            continue
        fits = [one.name for one in FORMATS.values() if one.recognises(changed)]
        assert fits == ([format_name, "two-scores"] if format_name == "utt-score" else [format_name])


def test_two_scores_a_line_are_told_apart_by_the_name_of_the_file(tmp_path):
    for name in ("utt.score", "utt.score.gz", "scores.txt"):
        (tmp_path / name).write_text(UTT)
    assert read_utterance_scores(tmp_path / "utt.score").higher == "spoof"
    assert read_utterance_scores(tmp_path / "utt.score.gz").higher == "spoof"
    with pytest.raises(ss.DataError, match=r"could be utt-score \(.*\) or two-scores \(.*--utterance-scores-format"):
        read_utterance_scores(tmp_path / "scores.txt")
    with pytest.raises(ss.UsageError, match="--column first"):
        read_utterance_scores(tmp_path / "scores.txt", "two-scores")
    second = read_utterance_scores(tmp_path / "scores.txt", "two-scores", column="second", higher="bonafide")
    assert content_of(second) == (("u1", "u2", "u3"), [0.25, 0.4, 2.0], "bonafide")


def test_scp_files_are_recognised():
    for content in (SCP, "u1 gunzip -c x.ark.gz |\n"):
        assert [one.name for one in FORMATS.values() if one.recognises(content.encode())] == ["kaldi-scp"]


def test_long_files_are_recognised_by_their_beginning():
    lines = "".join(f"u{i // 100} {i % 100} 0.5 0.5\n" for i in range(20000)).encode()[: 1 << 16]
    assert [one.name for one in FORMATS.values() if one.recognises(lines)] == ["unit-score"]
    one_line = json.dumps({f"ü{i}": [[0.5, 1.0, 2.0]] for i in range(5000)}, ensure_ascii=False).encode()
    for cut in range(4):
        assert [one.name for one in FORMATS.values() if one.recognises(one_line[: (1 << 16) - cut])] == ["proposals"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"\xff\xfe\x00",
        b"\x93NUMPY",
        b"SPEAKER u1 1 0.0 1.0 <NA> <NA> spoof <NA> <NA>\n",
        b"utterance,frame,score\nu1,0,0.5\n",
        b"utterance frame bonafide spoof\nu1 0 0.5 0.5\n",
        b"u1 0 1\nu2 0 1\n",  # one frame each, or two scores each
        b"0.0 1.2 0\n1.2 2.0 1\n",
        b"LA_0041 u1 - A07 spoof\n",
        b'{"u1": [0.1, 0.2]}',
        b'[{"file": "a", "fake_segments": [[0.1, 0.2]]}]',
        b"bonafide target 0.936567\n",
        b"u1 [\nx y ]\n"[:4] + b"x",
    ],
)
def test_other_files_are_not_recognised(content):
    assert [one.name for one in FORMATS.values() if one.recognises(content)] == []


# ---------------------------------------------------------------- polarity


def corpus():
    """Twenty utterances, half of each spoofed, and scores (high = spoof) whose EER is about 10 %."""
    rng = np.random.default_rng(11)
    references = ss.References.from_ranges(
        {f"u{i:02d}": [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof")] for i in range(20)},
        durations={f"u{i:02d}": 2.0 for i in range(20)},
    )
    frames = {utt: rng.normal(np.repeat([-1.28, 1.28], 50)) for utt in references.utterances}
    return references, frames


def utterance_corpus():
    """The same for whole utterances of one second."""
    rng = np.random.default_rng(12)
    ids = [f"u{i:03d}" for i in range(400)]
    references = ss.References.from_ranges(
        {utt: [(0.0, 1.0, "spoof" if i % 2 else "bonafide")] for i, utt in enumerate(ids)},
        durations=dict.fromkeys(ids, 1.0),
    )
    return references, {utt: rng.normal(1.28 if i % 2 else -1.28) for i, utt in enumerate(ids)}


def assert_about_ten_percent(references, scores):
    assert 0.07 < ss.range_eer(references, scores).value < 0.13


def ark_of(frames, columns):
    """An archive as Kaldi's tools write it: frames x classes, float32."""
    chunks = []
    for utt, values in frames.items():
        matrix = np.stack(columns(values), axis=1).astype("<f4")
        sizes = b"".join(b"\4" + int(n).to_bytes(4, "little") for n in matrix.shape)
        chunks.append(utt.encode() + b" \0BFM " + sizes + matrix.tobytes())
    return b"".join(chunks)


@pytest.mark.parametrize("column", [None, "bonafide", "spoof"])
def test_frames_of_other_tools_keep_their_polarity(column):
    references, frames = corpus()
    rows = [(utt, i, 1 / (1 + np.exp(x))) for utt, values in frames.items() for i, x in enumerate(values)]
    unit = "".join(f"{utt} {i} {p:.5f} {1 - p:.5f}\n" for utt, i, p in rows)
    assert_about_ten_percent(references, read("unit-score", unit, "unit0.02.score", column=column))
    wedefense = "".join(f"{utt}\t{i}\t{p}\t{1 - p}\t{i // 50}\n" for utt, i, p in rows)
    assert_about_ten_percent(references, read("wedefense-logits", wedefense, "logits_frame_20ms.txt", column=column))
    ark = ark_of(frames, lambda spoof: (-spoof, spoof))
    assert_about_ten_percent(references, read("kaldi-ark", ark, **CLASSES, column=column))


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
def test_frames_without_a_polarity_take_what_they_are_told(higher):
    references, frames = corpus()
    sign = 1 if higher == "spoof" else -1
    lines = "".join(f"{utt} {i} {sign * x}\n" for utt, values in frames.items() for i, x in enumerate(values))
    assert_about_ten_percent(references, read("frame-score", lines, hop=0.02, higher=higher))
    ark = ark_of(frames, lambda spoof: (sign * spoof,))
    assert_about_ten_percent(references, read("kaldi-ark", ark, hop=0.02, higher=higher))


@pytest.mark.parametrize("column", [None, "bonafide", "spoof"])
def test_utt_score_keeps_its_polarity(column):
    references, spoof = utterance_corpus()
    lines = "".join(f"{utt} {-x:.5f} {x:.5f}\n" for utt, x in spoof.items())
    assert_utterances_about_ten_percent(references, read("utt-score", lines, column=column))


@pytest.mark.parametrize("column", [None, "20ms", "320ms"])
def test_log_output_keeps_its_polarity(column):
    references, spoof = utterance_corpus()
    lines = "".join(f"Output, {utt}, 0{f', {-x:.6f}' * 7}\n" for utt, x in spoof.items())
    assert_utterances_about_ten_percent(references, read("log-output", lines, column=column))


def test_challenge_files_keep_their_polarity():
    references, spoof = utterance_corpus()
    table = "filename\tcm-score\n" + "".join(f"{utt}\t{-x}\n" for utt, x in spoof.items())
    assert_utterances_about_ten_percent(references, read("asvspoof5", table))
    lines = "".join(f"{utt};{x}\n" for utt, x in spoof.items())
    assert_utterances_about_ten_percent(references, read("av-deepfake1m-detection", lines))


def assert_utterances_about_ten_percent(references, scores):
    assert isinstance(scores, UtteranceScores)
    ranges = {utt: [(0.0, 1.0, x)] for utt, x in zip(scores.utterances, scores.values.tolist(), strict=True)}
    assert_about_ten_percent(references, ss.Scores.from_ranges(ranges, higher=scores.higher))


def test_proposals_mean_spoof_where_their_confidence_is_high():
    references, frames = corpus()
    listed = {
        utt: [[1 / (1 + np.exp(-x)), i * 0.02, (i + 1) * 0.02] for i, x in enumerate(v)] for utt, v in frames.items()
    }
    found = read("proposals", json.dumps(listed))
    scores = ss.Scores.from_columns(
        found.utterances, found.offsets, found.confidences, starts=found.starts, ends=found.ends, higher="spoof"
    )
    assert_about_ten_percent(references, scores)


@pytest.mark.parametrize(
    ("format_name", "content", "options"),
    [
        ("unit-score", UNIT, {"hop": 0.02, "higher": "bonafide"}),
        ("unit-score", UNIT, {"hop": 0.02, "higher": "spoof", "column": "bonafide"}),
        ("wedefense-logits", WEDEFENSE, {"hop": 0.02, "higher": "bonafide"}),
        ("utt-score", UTT, {"higher": "bonafide"}),
        ("asvspoof5", ASVSPOOF5, {"higher": "spoof"}),
        ("av-deepfake1m-detection", DETECTION, {"higher": "bonafide"}),
        ("log-output", LOG, {"higher": "spoof"}),
        ("kaldi-ark", ARK, {**CLASSES, "higher": "bonafide"}),
    ],
)
def test_a_polarity_against_the_format_is_refused(format_name, content, options):
    with pytest.raises(ss.UsageError, match="leave higher="):
        read(format_name, content, **options)


@pytest.mark.parametrize(
    ("format_name", "content", "options"),
    [
        ("unit-score", UNIT, {"hop": 0.02, "column": "spoofed"}),
        ("frame-score", FRAME, {"hop": 0.02, "higher": "spoof", "column": "2"}),
        ("utt-score", UTT, {"column": "1"}),
        ("asvspoof5", ASVSPOOF5, {"column": "1"}),
        ("av-deepfake1m-detection", DETECTION, {"column": "1"}),
        ("log-output", LOG, {"column": "10ms"}),
        ("kaldi-ark", ARK, {**CLASSES, "column": "2"}),
        ("kaldi-ark", ARK, {**CLASSES, "column": "-1"}),
        ("kaldi-ark", ARK, {"hop": 0.02}),
        ("kaldi-ark", VECTORS, {"hop": 0.02, "higher": "spoof", "column": "1"}),
        ("kaldi-ark", ARK, {}),
        ("unit-score", UNIT, {"hop": 0.0}),
    ],
)
def test_wrong_options_are_refused(format_name, content, options):
    with pytest.raises(ss.UsageError):
        read(format_name, content, **options)


# ---------------------------------------------------------------- round trips


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("format_name", ["unit-score", "wedefense-logits", "frame-score", "kaldi-ark"])
def test_scores_come_back_as_written(format_name, dtype, higher):
    rng = np.random.default_rng(3)
    frames = {f"u{i}": rng.normal(size=7 + i).astype(dtype) for i in range(5)}
    frames["edge"] = np.array([np.inf, -np.inf, 0.0, -0.0, 1e-7], dtype)
    scores = ss.Scores.from_frames(frames, hop=0.02, higher=higher)
    options = {"higher": higher} if format_name in ("frame-score", "kaldi-ark") else {"column": higher}
    written = b"".join(FORMATS[format_name].write(scores))
    assert content_of(read(format_name, written, hop=0.02, **options)) == content_of(scores)


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
@pytest.mark.parametrize("format_name", ["utt-score", "asvspoof5", "av-deepfake1m-detection"])
def test_utterance_scores_come_back_as_written(format_name, higher):
    values = np.random.default_rng(4).normal(size=9)
    scores = UtteranceScores(tuple(f"u{i}" for i in range(9)), values, higher)
    read_back = read(format_name, b"".join(FORMATS[format_name].write(scores)))
    assert read_back.utterances == scores.utterances
    assert read_back.values.tolist() == (values if read_back.higher == higher else -values).tolist()


def test_proposals_come_back_as_written():
    found = read("proposals", PROPOSALS)
    assert content_of(read("proposals", b"".join(FORMATS["proposals"].write(found)))) == content_of(found)


@pytest.mark.parametrize("format_name", ["unit-score", "frame-score", "kaldi-ark"])
def test_what_a_format_cannot_hold_is_not_written(format_name):
    write = FORMATS[format_name].write
    refused = [
        ss.Scores.from_ranges({"u": [(0.0, 1.0, 0.5)]}, higher="spoof"),
        ss.Scores.from_frames({"u": [0.5]}, hop=0.02, window=0.04, higher="spoof"),
        ss.Scores.from_frames({"u": [0.5]}, hop=0.02, start=0.5, higher="spoof"),
        ss.Scores.from_frames({"u": [0.5], "v": [0.5]}, hop={"u": 0.02, "v": 0.04}, higher="spoof"),
        ss.Scores.from_frames({"u v": [0.5]}, hop=0.02, higher="spoof"),
    ]
    for scores in refused:
        with pytest.raises(ss.SpoofspanError):
            list(write(scores))
    empty = ss.Scores.from_frames({"u": [], "v": [0.5]}, hop=0.02, higher="spoof")
    if format_name == "kaldi-ark":
        assert content_of(read(format_name, b"".join(write(empty)), hop=0.02, higher="spoof")) == content_of(empty)
    else:
        with pytest.raises(ss.DataError, match="'u' cannot be written"):
            list(write(empty))


@pytest.mark.parametrize(
    ("format_name", "utterance"),
    [("utt-score", "u v"), ("asvspoof5", "u\tv"), ("av-deepfake1m-detection", "u;v"), ("asvspoof5", "u\nv")],
)
def test_ids_that_would_not_read_back_are_not_written(format_name, utterance):
    with pytest.raises(ss.DataError, match="cannot be written"):
        list(FORMATS[format_name].write(UtteranceScores((utterance,), np.array([0.5]), "spoof")))


# ---------------------------------------------------------------- by name and by content


def test_utterance_scores_are_read_by_content_or_by_name(tmp_path):
    for name, content in (("a.score", UTT), ("b", ASVSPOOF5), ("c", DETECTION), ("d", LOG)):
        (tmp_path / name).write_text(content)
    assert read_utterance_scores(tmp_path / "a.score").higher == "spoof"
    assert read_utterance_scores(tmp_path / "a.score", column="bonafide").higher == "bonafide"
    assert read_utterance_scores(tmp_path / "b", "asvspoof5").higher == "bonafide"
    assert read_utterance_scores(str(tmp_path / "c")).higher == "spoof"
    assert read_utterance_scores(tmp_path / "d", column="40ms").values.tolist() == [0.2, 1.2]
    with pytest.raises(ss.UsageError, match="did you mean 'asvspoof5'"):
        read_utterance_scores(tmp_path / "a.score", "asvspoof")
    (tmp_path / "e").write_text("what is this\n")
    with pytest.raises(ss.DataError, match="no utterance-scores format is recognised"):
        read_utterance_scores(tmp_path / "e")


def test_packed_files_on_disk(tmp_path):
    (tmp_path / "unit0.02.score.gz").write_bytes(gzip.compress(UNIT.encode()))
    scores = FORMATS["unit-score"].read(find_sources(tmp_path / "unit0.02.score.gz"), ReadOptions())
    assert content_of(scores) == content_of(read("unit-score", UNIT, "unit0.02.score"))


def test_proposals_are_read_from_a_folder(tmp_path):
    (tmp_path / "a.json").write_text('{"u1": [[0.9, 0.5, 1.25]]}')
    (tmp_path / "b.json").write_text('{"u2": []}')
    assert read_proposals(tmp_path).utterances == ("u1", "u2")
    (tmp_path / "c.json").write_text('{"u1": []}')
    with pytest.raises(ss.DataError, match=r"c\.json: 'u1' is there in .*a\.json as well"):
        read_proposals(tmp_path)


def test_proposals_in_frames_are_divided_by_their_rate(tmp_path):
    (tmp_path / "frames.json").write_text('{"u1": [[0.9, 10, 30]]}')
    for fps, end in ((None, 30.0), (1, 30.0), (25, 1.2), (29.97, 30 / 29.97)):
        assert read_proposals(tmp_path / "frames.json", fps=fps).ends.tolist() == [round(end * 1e9)]
    for fps in (0, -25, float("inf"), float("nan")):
        with pytest.raises(ss.UsageError, match="fps must be a positive number"):
            read_proposals(tmp_path / "frames.json", fps=fps)


def test_utterance_scores_check_what_they_hold():
    with pytest.raises(ss.DataError, match="'b' is NaN"):
        UtteranceScores(("a", "b"), np.array([0.0, np.nan]), "spoof")
    with pytest.raises(ss.DataError, match="more than once"):
        UtteranceScores(("a", "a"), np.array([0.0, 1.0]), "spoof")
    with pytest.raises(ss.UsageError, match="must be 'bonafide' or 'spoof'"):
        UtteranceScores(("a",), np.array([0.0]), "real")
    with pytest.raises(ss.UsageError, match="as many scores"):
        UtteranceScores(("a",), np.array([0.0, 1.0]), "spoof")


def test_proposals_check_what_they_hold():
    one, zero = np.array([1.0]), np.array([0], np.int64)
    with pytest.raises(ss.DataError, match="NaN"):
        Proposals(("a",), np.array([0, 1]), np.array([np.nan]), zero, zero)
    with pytest.raises(ss.DataError, match="ends before it starts"):
        Proposals(("a",), np.array([0, 1]), one, zero + 1, zero)
    with pytest.raises(ss.UsageError, match="int64"):
        Proposals(("a",), np.array([0, 1]), one, one, one)
    with pytest.raises(ss.UsageError, match="one start"):
        Proposals(("a",), np.array([0, 1]), one, zero, np.array([0, 0]))


# ---------------------------------------------------------------- bad input

FRAME_OPTIONS = {"hop": 0.02, "higher": "spoof"}
HOP = {"hop": 0.02}

# format, content, options, what the message says (besides the name of the file)
MALFORMED = [
    ("unit-score", "", HOP, "there is no score"),
    ("unit-score", "\n \n", HOP, "there is no score"),
    ("unit-score", "utt frame bonafide spoof\n" + UNIT, HOP, ":1: .*header"),
    ("unit-score", UNIT + "u3 0 0.5\n", HOP, ":4: utterance .*: 3 fields instead of"),
    ("unit-score", UNIT + "u3 0 0.5 0.5 0.5\n", HOP, ":4: utterance .*: 5 fields instead of"),
    ("unit-score", UNIT + "u3\n", HOP, ":4: utterance .*: 1 field instead of"),
    ("unit-score", UNIT[:-10], HOP, ":3: utterance .*: 3 fields"),
    ("unit-score", UNIT.replace("0.40000", "0,40000"), HOP, ":2: utterance 'u1', frame 1: .*decimal point"),
    ("unit-score", UNIT.replace("0.40000", "nan"), HOP, ":2: utterance 'u1', frame 1: the score is NaN"),
    ("unit-score", UNIT.replace("0.40000", "-NaN"), HOP, ":2: utterance 'u1', frame 1: the score is NaN"),
    ("unit-score", UNIT.replace("0.40000", "spoof"), HOP, ":2: utterance 'u1', frame 1: .*'spoof' cannot be read"),
    ("unit-score", UNIT.replace("0.40000", "1_0"), HOP, ":2: .*'1_0' cannot be read"),
    ("unit-score", UNIT.replace("0.40000", "0x1p3"), HOP, ":2: .*'0x1p3' cannot be read"),
    ("unit-score", UNIT.replace("0.40000", "１"), HOP, ":2: .*cannot be read"),
    ("unit-score", UNIT.replace("0.40000", ""), HOP, ":2: utterance .*: 3 fields"),
    ("unit-score", UNIT.replace("u1 1", "u1 2"), HOP, ":2, utterance 'u1': frame 1 is missing before frame 2"),
    ("unit-score", UNIT.replace("u1 1", "u1 9"), HOP, ":2, utterance 'u1': frame 1 is missing before frame 9"),
    ("unit-score", UNIT.replace("u1 1", "u1 0"), HOP, ":2, utterance 'u1': frame 0 occurs twice"),
    ("unit-score", UNIT.replace("u2 0", "u2 1"), HOP, ":3, utterance 'u2': the first frame is 1, frames count from 0"),
    ("unit-score", UNIT.replace("u1 1", "u1 1.0"), HOP, ":2: utterance 'u1': no frame number: '1.0'"),
    ("unit-score", UNIT.replace("u1 1", "u1 -1"), HOP, ":2: utterance 'u1': no frame number: '-1'"),
    ("unit-score", UNIT.replace("u1 1", "u1 " + "9" * 5000), HOP, ":2: utterance 'u1': no frame number"),
    ("unit-score", UNIT + UNIT, HOP, ":4, utterance 'u1': frame 0 occurs twice"),
    ("unit-score", UNIT.replace(" ", ","), HOP, ":1: utterance .*: 1 field instead of"),
    ("unit-score", UNIT.replace("u1", "ü").encode("latin-1"), HOP, ":1: not UTF-8"),
    ("unit-score", UNIT.encode("utf-16"), HOP, ":1: not UTF-8|NUL"),
    ("unit-score", UNIT.replace("u2", "u\0"), HOP, ":3: .*NUL"),
    ("unit-score", gzip.compress(UNIT.encode() * 99, mtime=0)[:-12], HOP, "truncated or damaged"),
    ("unit-score", gzip.compress(UNIT.encode(), mtime=0)[:12] + b"\xff" * 9, HOP, "truncated or damaged"),
    ("unit-score", b"\x28\xb5\x2f\xfd garbage", HOP, "truncated or damaged"),
    ("unit-score", "\x93NUMPY", HOP, ":1: utterance .*: 1 field"),
    ("unit-score", FRAME, HOP, ":1: utterance .*: 3 fields instead of"),
    ("unit-score", " 0 0.5 0.5\n", HOP, ":1: utterance .*: 3 fields instead of"),
    ("wedefense-logits", WEDEFENSE.replace("u2", ""), HOP, ":3: the utterance is missing"),
    ("wedefense-logits", "utt\tframe\tbonafide\tspoof\n" + WEDEFENSE, HOP, ":1: .*header"),
    ("wedefense-logits", WEDEFENSE.replace("0.4", "0,4"), HOP, ":2: utterance 'u1', frame 1: .*decimal point"),
    ("wedefense-logits", WEDEFENSE.replace("u1\t1", "u1\t3"), HOP, ":2, utterance 'u1': frame 1 is missing"),
    ("wedefense-logits", WEDEFENSE.replace("0.4", "nan"), HOP, ":2: utterance 'u1', frame 1: the score is NaN"),
    ("wedefense-logits", WEDEFENSE + "u3\t0\t0.5\n", HOP, ":4: utterance .*: 3 fields"),
    ("wedefense-logits", WEDEFENSE + "u3\t0\t0.5\t0.5\t0\t0\n", HOP, ":4: utterance .*: 6 fields"),
    ("wedefense-logits", WEDEFENSE + "u3\t0\t0.5\t\t0\n", HOP, ":4: utterance 'u3', frame 0: .*'' cannot be read"),
    ("wedefense-logits", "", HOP, "there is no score"),
    ("frame-score", "", FRAME_OPTIONS, "there is no score"),
    ("frame-score", "utterance frame score\n" + FRAME, FRAME_OPTIONS, ":1: .*header"),
    ("frame-score", FRAME.replace("0.4", "0,4"), FRAME_OPTIONS, ":2: utterance 'u1', frame 1: .*decimal point"),
    ("frame-score", FRAME.replace("u1 1", "u1 0"), FRAME_OPTIONS, ":2, utterance 'u1': frame 0 occurs twice"),
    ("frame-score", UNIT, FRAME_OPTIONS, ":1: utterance .*: 4 fields instead of <utt> <frame> <score>"),
    ("frame-score", "u1 0.00 0.25\nu1 0.02 0.4\n", FRAME_OPTIONS, ":1: utterance 'u1': no frame number: '0.00'"),
    ("utt-score", "", {}, "there is no score"),
    ("utt-score", "utt bonafide spoof\n" + UTT, {}, ":1: .*header"),
    ("utt-score", UTT.replace("0.4", "0,4"), {}, ":2: utterance 'u2': .*decimal point"),
    ("utt-score", UTT.replace("0.4", "nan"), {}, ":2: utterance 'u2': the score is NaN"),
    ("utt-score", UTT + "u1 0.5 0.5\n", {}, ":4: utterance 'u1' has a score at file:1 already"),
    ("utt-score", UTT + "u4 0.5\n", {}, ":4: utterance .*: 2 fields instead of"),
    ("utt-score", UTT.replace("u2", "ü").encode("latin-1"), {}, ":2: not UTF-8"),
    ("asvspoof5", "", {}, "there is no score"),
    ("asvspoof5", "filename\tcm-score\n", {}, "there is no score"),
    ("asvspoof5", ASVSPOOF5.partition("\n")[2], {}, ":1: the header must have"),
    ("asvspoof5", ASVSPOOF5.replace("cm-score", "cm-label"), {}, ":1: the header must have"),
    ("asvspoof5", "filename\tcm-label\nu1\tspoof\n", {}, ":1: the header must have"),
    ("asvspoof5", ASVSPOOF5.replace("0.4", "0,4"), {}, ":3: utterance 'u2': .*decimal point"),
    ("asvspoof5", ASVSPOOF5.replace("0.4", "spoof"), {}, ":3: utterance 'u2': .*cannot be read"),
    ("asvspoof5", ASVSPOOF5.replace("0.4", ""), {}, ":3: utterance 'u2': the score '' cannot be read"),
    ("asvspoof5", ASVSPOOF5 + "u4\n", {}, ":5: utterance 'u4': 1 field instead of the 2 of the header"),
    ("asvspoof5", ASVSPOOF5 + ASVSPOOF5, {}, ":5: .*'cm-score' cannot be read"),
    ("asvspoof5", ASVSPOOF5 + "\t0.5\n", {}, ":5: the utterance is missing"),
    ("av-deepfake1m-detection", "", {}, "there is no score"),
    ("av-deepfake1m-detection", "file;score\n" + DETECTION, {}, ":1: .*header"),
    ("av-deepfake1m-detection", DETECTION.replace("0.4", "0,4"), {}, ":2: utterance 'a/u2.mp4': .*decimal point"),
    ("av-deepfake1m-detection", DETECTION.replace(";", ","), {}, ":1: utterance .*: 1 field instead of <utt>;<score>"),
    ("av-deepfake1m-detection", DETECTION + DETECTION, {}, ":4: utterance 'a/u1.mp4' has a score at file:1"),
    ("av-deepfake1m-detection", DETECTION.replace("0.4", "nan"), {}, ":2: utterance 'a/u2.mp4': the score is NaN"),
    ("log-output", "", {}, "there is no score"),
    ("log-output", "epoch 1\nepoch 2\n", {}, "there is no score"),
    ("log-output", LOG.replace("0.4\n", "0,4\n"), {}, ":3: utterance 'u2': 10 fields instead of .*a point"),
    ("log-output", LOG[:-20], {}, ":3: utterance 'u2': 6 fields instead of"),
    ("log-output", LOG.replace(" 0.4\n", " nan\n"), {}, ":3: utterance 'u2': the score is NaN"),
    ("log-output", LOG.replace(" 0.4\n", " \n"), {}, ":3: utterance 'u2': the score '' cannot be read"),
    ("log-output", LOG + LOG, {}, ":5: utterance 'u1' has a score at file:2 already"),
    ("kaldi-ark", b"", CLASSES, "there is no score"),
    (
        "kaldi-ark",
        ARK[:-1],
        CLASSES,
        "byte 34: utterance 'u2': the matrix should have 1 x 2 values, but 15 bytes are left",
    ),
    ("kaldi-ark", ARK[:45], CLASSES, "byte 34: utterance 'u2': the archive is truncated"),
    ("kaldi-ark", ARK[:40], CLASSES, "byte 34: utterance 'u2': the archive is truncated"),
    ("kaldi-ark", ARK[:36], CLASSES, "byte 34: here should be an utterance"),
    ("kaldi-ark", ARK[:2] + ARK[3:], CLASSES, "byte 0: here should be an utterance"),
    ("kaldi-ark", ARK[3:], CLASSES, "byte 0: here should be an utterance"),
    ("kaldi-ark", ARK + ARK, CLASSES, "byte 68: utterance 'u1' is there already"),
    (
        "kaldi-ark",
        ARK.replace(b"\4\2\0\0\0\4", b"\4\xff\xff\xff\x7f\4", 1),
        CLASSES,
        "2147483647 x 2 values, but 50 bytes",
    ),
    ("kaldi-ark", ARK.replace(b"\4\2\0\0\0\4", b"\4\xff\xff\xff\xff\4", 1), CLASSES, "-1 x 2 values"),
    ("kaldi-ark", ARK.replace(b"\4\2\0\0\0\4", b"\5\2\0\0\0\4", 1), CLASSES, "'u1': the size of the matrix is damaged"),
    ("kaldi-ark", ARK.replace(b"BFM", b"BCM"), CLASSES, "'u1': the matrix is compressed"),
    ("kaldi-ark", ARK.replace(b"BFM ", b"BSM "), CLASSES, "'u1': b'SM ' is no matrix"),
    ("kaldi-ark", ARK.replace(b"u1", b"\xff\xfe"), CLASSES, "byte 0: the utterance .* is not UTF-8"),
    ("kaldi-ark", ARK.replace(b"\0\0\x80>", b"\0\0\xc0\x7f"), CLASSES, "'u1': the score of frame 0 is NaN"),
    ("kaldi-ark", ARK + VECTORS.replace(b"u1", b"u3"), CLASSES, "'u3' has a vector, others have 2 columns"),
    ("kaldi-ark", "u1 [ 1 2 ]\nu2 [ 3 4 ]\n", FRAME_OPTIONS, "every vector has two values"),
    ("kaldi-ark", TEXT_ARK[:-3], CLASSES, ":4: utterance 'u2': the closing bracket is missing"),
    ("kaldi-ark", TEXT_ARK.replace("-0.5", "-0,5"), CLASSES, ":3: utterance 'u1', frame 1: .*decimal point"),
    ("kaldi-ark", TEXT_ARK.replace("-0.5", "nan"), CLASSES, ":3: utterance 'u1', frame 1: the score is NaN"),
    ("kaldi-ark", TEXT_ARK.replace("-0.5", ""), CLASSES, ":3: utterance 'u1', frame 1: 1 values"),
    ("kaldi-ark", TEXT_ARK.replace("[", "("), CLASSES, ":1: here should be an utterance and an opening bracket"),
    ("kaldi-ark", TEXT_ARK.replace("-0.5 ]", "-0.5 ] 7"), CLASSES, ":3: utterance 'u1': a bracket is missing"),
    ("kaldi-ark", TEXT_ARK.replace("-0.5 ]", "-0.5"), CLASSES, ":4: utterance 'u1': a bracket is missing"),
    ("kaldi-ark", TEXT_ARK + TEXT_ARK, CLASSES, ":6: utterance 'u1' is there already"),
    ("kaldi-ark", "u1 [ ]\n", CLASSES, "there is no score"),
    ("kaldi-ark", UNIT, CLASSES, ":1: here should be an utterance"),
    ("kaldi-scp", "", CLASSES, "there is no score"),
    ("proposals", "", {}, "the file is empty"),
    ("proposals", "{}", {}, "there is no proposal"),
    ("proposals", PROPOSALS[:-4], {}, ":1: no JSON"),
    ("proposals", PROPOSALS + "}", {}, ":1: no JSON"),
    ("proposals", "[" + PROPOSALS + "]", {}, "the JSON is no object"),
    ("proposals", "[" * 100_000, {}, "nested more than"),
    ("proposals", PROPOSALS.replace("0.5,", "NaN,"), {}, r"'a/u1.mp4'\[0\]: .*not finite"),
    ("proposals", PROPOSALS.replace("0.5,", "1e999,"), {}, r"'a/u1.mp4'\[0\]: .*not finite"),
    ("proposals", PROPOSALS.replace("0.5,", "1" * 400 + ","), {}, r"'a/u1.mp4'\[0\]: .*not finite"),
    ("proposals", PROPOSALS.replace("0.5,", "1" * 5000 + ","), {}, r"'a/u1.mp4'\[0\]: .*not finite"),
    ("proposals", PROPOSALS.replace("0.5,", "1.5,"), {}, r"'a/u1.mp4'\[0\]: ends before it starts \(1.5 > 1.25\)"),
    ("proposals", PROPOSALS.replace("0.5,", "-0.5,"), {}, r"'a/u1.mp4'\[0\]: starts before 0"),
    ("proposals", PROPOSALS.replace("1.25", "125000"), {}, r"'a/u1.mp4'\[0\]: ends after more than a day"),
    ("proposals", PROPOSALS.replace("0.5,", ""), {}, r"'a/u1.mp4'\[0\]: not three numbers"),
    ("proposals", PROPOSALS.replace("0.5,", '"0.5",'), {}, r"'a/u1.mp4'\[0\]: not three numbers"),
    ("proposals", PROPOSALS.replace("0.5,", "true,"), {}, r"'a/u1.mp4'\[0\]: not three numbers"),
    ("proposals", PROPOSALS.replace("0.5,", "0,5,"), {}, r"'a/u1.mp4'\[0\]: not three numbers"),
    ("proposals", PROPOSALS.replace("[]", "null"), {}, "'a/u2.mp4': not a list"),
    ("proposals", PROPOSALS.replace("[]", '{"a": 1}'), {}, "'a/u2.mp4': not a list"),
    ("proposals", PROPOSALS.replace("u2", "u1"), {}, "'a/u1.mp4' is there twice"),
    ("proposals", PROPOSALS.replace("u2", "ü").encode("latin-1"), {}, ":1: not UTF-8"),
    ("proposals", gzip.compress(PROPOSALS.encode(), mtime=0)[:-9], {}, "truncated or damaged"),
]


@pytest.mark.parametrize(("format_name", "content", "options", "message"), MALFORMED)
def test_bad_input_is_refused_with_its_place(format_name, content, options, message):
    with pytest.raises(ss.DataError) as caught:
        read(format_name, content, **options)
    text = str(caught.value)
    assert re.search(message, text), text
    assert "file" in text
    assert len(text) < 3000


def test_up_to_twenty_problems_are_shown_at_once():
    lines = "".join(f"u {i} 0,5 0,5\n" for i in range(100))
    with pytest.raises(ss.DataError) as caught:
        read("unit-score", lines, hop=0.02)
    text = str(caught.value)
    assert "reading stopped here" in text
    assert [f"file:{i + 1}:" in text for i in range(21)] == [True] * 20 + [False]


def test_a_lost_line_is_not_also_a_missing_frame():
    with pytest.raises(ss.DataError) as caught:
        read("unit-score", "u 0 0 0\nu 1 0\nu 2 0 0\n", hop=0.02)
    assert "missing" not in str(caught.value)


@pytest.mark.parametrize(("format_name", "name", "content", "options"), SAMPLES)
def test_cut_and_damaged_files_never_crash(format_name, name, content, options):
    data = as_bytes(content)
    rng = np.random.default_rng(5)
    damaged = [data[:cut] for cut in range(len(data))]
    for _ in range(300):
        changed = bytearray(data)
        changed[rng.integers(len(data))] = rng.integers(256)
        damaged.append(bytes(changed))
    for one in damaged:
        for fmt in FORMATS.values():
            fmt.recognises(one)
        with contextlib.suppress(ss.SpoofspanError):
            read(format_name, one, name, **options)


def test_a_column_that_is_asked_for_keeps_its_name_and_takes_no_polarity_from_another(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("filename,start_time,end_time,prob_fake,logit\nu1,0.0,1.0,0.1,5\nu1,1.0,2.0,0.9,-5\n")
    named = ss.read_scores(path, column="prob_fake")
    assert (named.higher, named.values.tolist()) == ("spoof", [0.1, 0.9])
    with pytest.raises(ss.UsageError, match="several columns may hold the scores, prob_fake, logit; say which"):
        ss.read_scores(path)
    with pytest.raises(ss.UsageError, match="what high scores mean"):
        ss.read_scores(path, column="logit")
    assert ss.read_scores(path, column="logit", higher="bonafide").values.tolist() == [5.0, -5.0]


def test_ids_that_are_the_same_text_when_joined_are_told_apart(tmp_path):
    path = tmp_path / "unit0.02.score"
    path.write_text("ab 0 1.0 -1.0\naba 1 0.5 -0.5\nb 2 0.1 -0.1\n")
    with pytest.raises(ss.DataError, match="aba"):
        ss.read_scores(path)
    path.write_text("ab 0 1.0 -1.0\nab 1 0.5 -0.5\naba 0 0.2 -0.2\nb 0 0.1 -0.1\n")
    assert ss.read_scores(path).utterances == ("ab", "aba", "b")
