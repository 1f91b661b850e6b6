"""Reference formats: each sample reads as it was meant, is recognised as itself only, and comes back after writing."""

import contextlib
import gzip
import io
import json
import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spoofspan as ss
from spoofspan import DataError, References, UsageError, read_references
from spoofspan.data.protocol import Protocol
from spoofspan.data.rules import rules_for
from spoofspan.formats.convert import convert
from spoofspan.formats.datasets import audiovisual
from spoofspan.formats.format import ReadOptions, Registry
from spoofspan.formats.sources import Source
from spoofspan.formats.sources import sources as find_sources
from spoofspan.formats.text import labelled_ranges, rttm
from spoofspan.formats.text.protocol import read_protocol
from spoofspan.formats.text.rttm import read_regions
from spoofspan.mass.labelling import label_references

FORMATS = Registry(
    "reference",
    [
        rttm.FORMAT,
        labelled_ranges.VAD,
        labelled_ranges.SEGMENT_LIST,
        labelled_ranges.HAD,
        audiovisual.LAVDF,
        audiovisual.AVDEEPFAKE1M,
        labelled_ranges.AUDACITY,
    ],
)

SAMPLES = {
    "rttm": "SPEAKER u1 1 0.000 0.540 <NA> <NA> bonafide <NA> <NA>\nSPEAKER u1 1 0.540 0.316 <NA> <NA> A07 <NA> <NA>\n",
    "vad": "0.0 0.21 2\n0.21 0.54 1\n0.54 0.856 0\n",
    "segment-list": (
        "LA_1 1.500 bonafide 0.000-1.500-bonafide\nCON_2 2.095 spoof 0.000-0.540-bonafide 0.540-0.856-spoof\n"
        "CON_3 0.5 spoof 1e-05-0.5-spoof\nLA_4 3.0 bonafide\n"
    ),
    "had": "HAD_1 0.00-3.81-T/3.81-4.57-F/4.57-6.66-T 0\nHAD_2 0.00-2.50-T 1\n",
    "lavdf": json.dumps(
        [
            {
                "file": f"test/00000{i}.mp4",
                "n_fakes": len(fakes),
                "fake_periods": fakes,
                "duration": 4.224 + i,
                "original": None,
                "modify_video": video,
                "modify_audio": audio,
                "split": "test",
                "video_frames": 103,
                "audio_channels": 1,
                "audio_frames": 65536,
            }
            for i, (fakes, video, audio) in enumerate(
                [
                    ([], False, False),
                    ([[1.25, 1.75], [2, 2.5]], False, True),
                    ([[0.5, 1.0]], True, False),
                    ([[0.25, 0.5]], True, True),
                ]
            )
        ]
    ),
    "avdeepfake1m": json.dumps(
        [
            {
                "file": name,
                "original": None,
                "split": "val",
                "modify_type": kind,
                "audio_model": model,
                "fake_segments": audio + visual,
                "audio_fake_segments": audio,
                "visual_fake_segments": visual,
                "video_frames": 100,
                "audio_frames": 64000,
            }
            for name, kind, model, audio, visual in [
                ("id1/real.mp4", "real", None, [], []),
                ("id1/both.mp4", "both_modified", "vits", [[1.03, 1.896]], [[1.03, 1.8]]),
                ("id1/picture.mp4", "visual_modified", None, [], [[0.5, 0.75]]),
                ("id2/sound.mp4", "audio_modified", "yourtts", [[0.25, 0.5], [1, 2]], []),
            ]
        ]
    ),
    "audacity": "0.000000\t0.540000\tbonafide\n0.540000\t0.856000\tA07\n\\\t100.0\t900.0\n0.856000\t1.200000\tspoof\n",
}
FILE = {"vad": "CON_1.vad", "audacity": "CON_1.txt"}
DURATIONS = {"id1/real.mp4": 4.0, "id1/both.mp4": 5.0, "id1/picture.mp4": 6.0, "id2/sound.mp4": 7.0}
OPTIONS = {
    "avdeepfake1m": ReadOptions(durations=DURATIONS, modality="audio"),
    "lavdf": ReadOptions(modality="audio"),
}
MEANT = {
    "vad": {"CON_1": [(0.0, 0.21, "nonspeech"), (0.21, 0.54, "bonafide"), (0.54, 0.856, "spoof")]},
    "segment-list": {
        "LA_1": [(0.0, 1.5, "bonafide")],
        "CON_2": [(0.0, 0.54, "bonafide"), (0.54, 0.856, "spoof")],
        "CON_3": [(0.00001, 0.5, "spoof")],
        "LA_4": [],
    },
    "had": {
        "HAD_1": [(0.0, 3.81, "bonafide"), (3.81, 4.57, "spoof"), (4.57, 6.66, "bonafide")],
        "HAD_2": [(0.0, 2.5, "bonafide")],
    },
    "lavdf": {
        "test/000000.mp4": [],
        "test/000001.mp4": [(1.25, 1.75, "spoof"), (2.0, 2.5, "spoof")],
        "test/000002.mp4": [],
        "test/000003.mp4": [(0.25, 0.5, "spoof")],
    },
    "avdeepfake1m": {
        "id1/real.mp4": [],
        "id1/both.mp4": [(1.03, 1.896, "spoof", "vits")],
        "id1/picture.mp4": [],
        "id2/sound.mp4": [(0.25, 0.5, "spoof", "yourtts"), (1.0, 2.0, "spoof", "yourtts")],
    },
    "audacity": {"CON_1": [(0.0, 0.54, "bonafide"), (0.54, 0.856, "spoof", "A07"), (0.856, 1.2, "spoof")]},
}
MEANT_DURATIONS = {
    "segment-list": {"LA_1": 1.5, "CON_2": 2.095, "CON_3": 0.5, "LA_4": 3.0},
    "lavdf": {f"test/00000{i}.mp4": 4.224 + i for i in range(4)},
    "avdeepfake1m": DURATIONS,
}


def source(content, name="refs.txt"):
    data = content.encode() if isinstance(content, str) else content
    return Source(name, lambda: io.BytesIO(data))


def read(name, content, options=None, file=None):
    options = OPTIONS.get(name, ReadOptions()) if options is None else options
    return FORMATS.named(name).read([source(content, file or FILE.get(name, "refs.txt"))], options)


def written(name, references):
    return b"".join(FORMATS.named(name).write(references))


def columns(references):
    kinds = references.attacks if references.attacks is not None else np.full(references.starts.size, -1)
    return (
        references.utterances,
        references.offsets.tolist(),
        references.starts.tolist(),
        references.ends.tolist(),
        references.labels.tolist(),
        [references.attack_names[kind] if kind >= 0 else None for kind in kinds],
        None if references.durations is None else references.durations.tolist(),
    )


@pytest.mark.parametrize("name", MEANT)
def test_a_sample_means_what_its_format_says(name):
    meant = References.from_ranges(MEANT[name], MEANT_DURATIONS.get(name))
    assert columns(read(name, SAMPLES[name])) == columns(meant)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_recognised_as_its_format_only(name):
    assert [one.name for one in FORMATS.formats.values() if one.recognises(SAMPLES[name].encode())] == [name]
    assert FORMATS.recognise(source(gzip.compress(SAMPLES[name].encode()))).name == name


@pytest.mark.parametrize("name", MEANT)
def test_byte_order_mark_and_crlf_change_nothing(name):
    foreign = b"\xef\xbb\xbf" + SAMPLES[name].replace("\n", "\r\n").encode()
    assert columns(read(name, foreign)) == columns(read(name, SAMPLES[name]))
    assert FORMATS.recognise(source(foreign)).name == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "u1 3.458062\nu2 2.0\n",  # reco2dur
        "u1 1 0.0 2.0\nu2 1 0.0 3.0\n",  # UEM
        "u1 0.0 2.0\nu2 0.0 3.0\n",
        "LA_0041 u1 - CON spoof\nLA_0041 u2 - - bonafide\n",  # protocol
        "u1 0 0.91234 0.08766\nu1 1 0.91234 0.08766\n",  # scores
        "u1 0.91234 0.08766\n",
        "u1\t0\t1.5\t-1.5\t1\n",
        "filename\tcm-score\nu1\t0.5\n",
        "utterance,start,end,label\nu1,0.0,1.0,spoof\n",
        '{"u1": [[0.9, 0.0, 1.0]]}',
        '{"utterance": "u1", "start": 0.0, "end": 1.0, "label": "spoof"}\n',
        "[]",
        "[" * 100_000,
        "[1, 2]",
        "1\t2.0\tbonafide extra\n",
        "\x00\x01\x02",
    ],
)
def test_other_files_are_not_recognised(text):
    assert not [one.name for one in FORMATS.formats.values() if one.recognises(text.encode())]


def test_one_bad_line_at_the_top_does_not_hide_the_format():
    for name, header in (
        ("vad", "start end label\n"),
        ("audacity", "start\tend\tlabel\n"),
        ("had", "utt ranges label\n"),
    ):
        assert FORMATS.recognise(source(header + SAMPLES[name])).name == name
        with pytest.raises(DataError, match="header"):
            read(name, header + SAMPLES[name])


def test_a_minified_list_longer_than_the_head_is_recognised():
    entry = {"file": "é", "fake_periods": [], "duration": 1.0, "modify_audio": False}
    for shift in range(3):
        text = "[" + " " * shift + ",".join([json.dumps(entry, ensure_ascii=False)] * 2000) + "]"
        assert FORMATS.recognise(source(text)).name == "lavdf"


@pytest.mark.parametrize("name", ["lavdf", "avdeepfake1m"])
def test_lists_of_spoofs_say_so(name):
    assert not read(name, SAMPLES[name]).names_both_classes


@pytest.mark.parametrize("name", MEANT)
def test_edges_of_text_may_miss_each_other_by_two_milliseconds_unless_told_otherwise(name):
    given_options = OPTIONS.get(name, ReadOptions())
    assert read(name, SAMPLES[name]).snap == 2_000_000
    assert read(name, SAMPLES[name], ReadOptions(durations=given_options.durations, snap=0.0)).snap == 0


def test_edges_that_overlap_by_rounding_are_no_problem():
    read("vad", "0.0 0.541 1\n0.540 0.9 0\n")
    with pytest.raises(DataError, match=r"^CON_1\.vad:1 and CON_1\.vad:2: utterance 'CON_1': bonafide .* overlap;"):
        read("vad", "0.0 0.541 1\n0.540 0.9 0\n", ReadOptions(snap=0.0))


def test_durations_given_take_precedence_over_those_in_the_file():
    options = ReadOptions(durations={"CON_2": 2.1, "elsewhere": 9.0})
    references = read("segment-list", SAMPLES["segment-list"], options)
    assert references.utterances == ("LA_1", "CON_2", "CON_3", "LA_4")
    assert references.durations.tolist() == [1_500_000_000, 2_100_000_000, 500_000_000, 3_000_000_000]


def test_an_utterance_that_only_the_durations_have_joins_vad_files():
    references = read("vad", SAMPLES["vad"], ReadOptions(durations={"CON_1": 0.9, "LA_2": 1.0}))
    assert references.utterances == ("CON_1", "LA_2")


def test_an_empty_label_track_is_bona_fide_if_its_duration_is_known():
    references = read("audacity", "", ReadOptions(durations={"CON_1": 1.0}))
    assert columns(references) == columns(References.from_ranges({"CON_1": []}, {"CON_1": 1.0}))


def test_names_of_attacks_are_kinds_of_spoof():
    references = read("rttm", SAMPLES["rttm"])
    meant = {"u1": [(0.0, 0.54, "bonafide"), (0.54, 0.856, "spoof", "A07")]}
    assert columns(references) == columns(References.from_ranges(meant))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.integers(1_000_001, 10**10), min_size=2, max_size=12),
    st.integers(0, 80_000 * 10**9),
    st.integers(0, 10**9),
)
def test_an_rttm_whose_starts_and_durations_were_rounded_apart_reads_without_a_complaint(lengths, long, phase):
    """Ranges over 1 ms, up to a day, edges anywhere: nothing of the rounding is left after snapping.

    One of 1 ms may be rounded to the start of the next, and nothing says then which comes first.
    """
    edges = np.cumsum([0, phase + 1_000_000, *lengths, long + 1_000_000])
    lines = "".join(
        f"SPEAKER u1 1 {start / 1e9:7.3f} {(end - start) / 1e9:7.3f} <NA> <NA> {('bonafide', 'A07')[i % 2]} <NA> <NA>\n"
        for i, (start, end) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    )
    references = read("rttm", lines, ReadOptions(durations={"u1": edges[-1] / 1e9}))
    rules, _ = rules_for("range", "default", {})
    labelling, touched = label_references(references, rules)
    assert {entry.rule for entry in touched} <= {"snap"}
    assert labelling.labels.tolist() == [i % 2 for i in range(len(edges) - 1)]


def test_a_folder_holds_one_file_per_utterance(tmp_path):
    (tmp_path / "b.vad").write_text("0.0 1.0 1\n")
    (tmp_path / "a.vad.gz").write_bytes(gzip.compress(b"0.0 1.0 0\n"))
    (tmp_path / "notes.md").write_text("not a label")
    references = labelled_ranges.VAD.read(find_sources(tmp_path, labelled_ranges.VAD.suffixes), ReadOptions())
    meant = {"a": [(0.0, 1.0, "spoof")], "b": [(0.0, 1.0, "bonafide")]}
    assert columns(references) == columns(References.from_ranges(meant))
    (tmp_path / "a.vad").write_text("0.0 1.0 1\n")
    with pytest.raises(DataError, match=r"a\.vad\.gz: utterance 'a' is listed a second time"):
        labelled_ranges.VAD.read(find_sources(tmp_path, labelled_ranges.VAD.suffixes), ReadOptions())


@pytest.mark.parametrize("name", ["segment-list", "had", "lavdf", "avdeepfake1m"])
def test_an_utterance_in_two_files_is_an_error(name):
    files = [source(SAMPLES[name], "a"), source(SAMPLES[name], "b")]
    with pytest.raises(DataError, match=r"b[:\[].*is listed a second time"):
        FORMATS.named(name).read(files, OPTIONS.get(name, ReadOptions()))


def test_avdeepfake1m_needs_durations_only_where_something_lasts(tmp_path):
    path = tmp_path / "val_metadata.json"
    path.write_text(SAMPLES["avdeepfake1m"])
    references = read_references(path)
    assert references.durations is None
    frames = ss.Scores.from_frames({utt: [0.5] * 400 for utt in DURATIONS}, hop=0.02, higher="spoof")
    with pytest.raises(DataError, match="give durations"):
        ss.range_eer(references, frames)
    proposals = ss.Proposals.from_ranges({"id2/sound.mp4": [(0.25, 0.5, 0.9)], "id1/picture.mp4": [(0.5, 0.75, 0.8)]})
    assert ss.evaluate(references, proposals, ["event-recall@iou=0.5"])["event-recall@iou=0.5"].value == 0.5
    fewer = {utt: seconds for utt, seconds in DURATIONS.items() if utt != "id2/sound.mp4"}
    with pytest.raises(DataError, match=r"'id2/sound\.mp4' has no duration"):
        read("avdeepfake1m", SAMPLES["avdeepfake1m"], ReadOptions(durations=fewer))


SPOOFED = {  # of the samples: files with spoof by modality
    "lavdf": {"any": [1, 2, 3], "audio": [1, 3], "visual": [2, 3]},
    "avdeepfake1m": {"any": [1, 2, 3], "audio": [1, 3], "visual": [1, 2]},
}


@pytest.mark.parametrize("name", SPOOFED)
def test_the_modality_says_whose_fakes_are_spoof(name, tmp_path):
    path = tmp_path / "metadata.json"
    path.write_text(SAMPLES[name])
    for modality, spoofed in SPOOFED[name].items():
        references = read_references(path, modality=modality)
        assert np.flatnonzero(np.diff(references.offsets)).tolist() == spoofed
        assert references.modality == modality
    assert columns(read_references(path)) == columns(read_references(path, modality="any"))
    assert read_references(path).modality == "any"


def test_avdeepfake1m_has_a_list_of_its_own_for_each_modality():
    found = {
        modality: read("avdeepfake1m", SAMPLES["avdeepfake1m"], ReadOptions(modality=modality))
        for modality in SPOOFED["avdeepfake1m"]
    }
    rows = {modality: (one.starts / 1e9, one.ends / 1e9) for modality, one in found.items()}
    assert [list(zip(*pair, strict=True)) for pair in rows.values()] == [
        [(1.03, 1.8), (1.03, 1.896), (0.5, 0.75), (0.25, 0.5), (1.0, 2.0)],
        [(1.03, 1.896), (0.25, 0.5), (1.0, 2.0)],
        [(1.03, 1.8), (0.5, 0.75)],
    ]
    assert found["visual"].attacks is None  # the model is that of the sound


@pytest.mark.parametrize(
    ("subset", "files"),
    [
        ("full", [0, 1, 2, 3]),
        ("subset_for_visual_only", [0, 2, 3]),
        ("visual", [0, 2, 3]),
        ("subset_for_audio_only", [0, 1, 3]),
        ("audio", [0, 1, 3]),
    ],
)
def test_a_subset_of_lavdf_leaves_out_files_in_which_only_the_other_modality_is_fake(subset, files):
    found = read("lavdf", SAMPLES["lavdf"], ReadOptions(subset=subset))
    assert found.utterances == tuple(f"test/00000{i}.mp4" for i in files)
    assert found.offsets[-1] == sum([0, 2, 1, 1][i] for i in files)


def test_what_is_no_subset_or_no_audiovisual_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match="subset='visul' of LAV-DF: did you mean 'visual'"):
        read("lavdf", SAMPLES["lavdf"], ReadOptions(subset="visul"))
    (tmp_path / "a.rttm").write_text(SAMPLES["rttm"])
    for option in ("modality", "subset"):
        with pytest.raises(UsageError, match=f"{option}= means nothing in the format rttm"):
            read_references(tmp_path / "a.rttm", **{option: "audio"})
    (tmp_path / "av.json").write_text(SAMPLES["avdeepfake1m"])
    with pytest.raises(UsageError, match="subset= means nothing"):
        read_references(tmp_path / "av.json", subset="audio")


def test_lavdf_without_durations_has_none(tmp_path):
    entries = [{k: v for k, v in one.items() if k != "duration"} for one in json.loads(SAMPLES["lavdf"])]
    assert read("lavdf", json.dumps(entries), ReadOptions()).durations is None
    with pytest.raises(DataError, match="has no duration"):
        read("lavdf", json.dumps([*entries[:3], json.loads(SAMPLES["lavdf"])[3]]), ReadOptions())


def test_the_modality_is_signed_by_the_labels_that_it_makes(tmp_path):
    path = tmp_path / "metadata.json"
    path.write_text(SAMPLES["lavdf"])
    proposals = ss.Proposals.from_ranges({"test/000001.mp4": [(1.25, 1.75, 0.9)]})
    comparable = {}
    for modality in ("any", "audio", "visual"):
        references = read_references(path, modality=modality)
        made = ss.evaluate(references, proposals, ["event-f1@iou=0.5"])["event-f1@iou=0.5"]
        comparable[modality] = made.signature.comparable
        # converted, it is still known
        written = tmp_path / f"{modality}.parquet"
        convert(str(path), str(written), modality=modality)
        assert read_references(written).modality == modality
        again = ss.evaluate(read_references(written), proposals, ["event-f1@iou=0.5"])["event-f1@iou=0.5"]
        assert again.signature == made.signature
        with pytest.raises(ss.UsageError, match="it is settled when audio-visual metadata are read"):
            ss.evaluate(references, proposals, ["event-f1@iou=0.5"], modality="any" if modality != "any" else "audio")
        # built of the same labels, they are the same references
        bare = replace(references, modality=None)
        assert ss.evaluate(bare, proposals, ["event-f1@iou=0.5"])["event-f1@iou=0.5"].signature == made.signature
    assert len(set(comparable.values())) == 3


@pytest.mark.parametrize("name", ["lavdf", "avdeepfake1m"])
def test_one_split_of_the_metadata_or_all_of_them(name, tmp_path):
    entries = json.loads(SAMPLES[name])
    entries[0]["split"], entries[1]["split"] = "train", "dev"
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps(entries))
    given_durations = OPTIONS[name].durations
    files = [entry["file"] for entry in entries]
    rest = entries[2]["split"]
    for split, expected in ((None, files), ("train", files[:1]), ("dev", files[1:2]), (rest, files[2:])):
        read_back = read_references(path, durations=given_durations, split=split)
        assert list(read_back.utterances) == expected
    with pytest.raises(UsageError, match=r"metadata\.json: no split 'trian': did you mean 'train'"):
        read_references(path, durations=given_durations, split="trian")
    (tmp_path / "more.json").write_text(json.dumps([entries[0] | {"file": "more", "split": "extra"}]))
    both = read_references(tmp_path, durations={**dict.fromkeys(files, 9.0), "more": 1.0}, format=name, split="extra")
    assert both.utterances == ("more",)


def test_a_split_of_files_that_have_none_is_refused(tmp_path):
    (tmp_path / "a.vad").write_text(SAMPLES["vad"])
    with pytest.raises(UsageError, match="split= means nothing in the format vad"):
        read_references(tmp_path / "a.vad", split="test")


# --- folders that mix formats


def test_a_folder_of_two_formats_says_so(tmp_path):
    (tmp_path / "a.vad").write_text(SAMPLES["vad"])
    (tmp_path / "b.txt").write_text(SAMPLES["had"])
    with pytest.raises(
        DataError, match=r"a\.vad is vad, but .*b\.txt is had; give files of one format, or .*format='vad'"
    ):
        read_references(tmp_path)
    assert read_references(tmp_path, format="vad").utterances == ("a",)


def test_a_folder_that_begins_with_something_else_says_what_is_in_it(tmp_path):
    (tmp_path / "README.md").write_text("These are labels.\n")
    (tmp_path / "a.vad").write_text(SAMPLES["vad"])
    with pytest.raises(
        DataError, match=r"README\.md: no reference format is recognised, but .*a\.vad is vad; .*format='vad'"
    ):
        read_references(tmp_path)


def test_an_empty_first_file_does_not_hide_the_format(tmp_path):
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "b.txt").write_text(SAMPLES["audacity"])
    assert read_references(tmp_path, durations={"a": 1.0, "b": 1.2}).utterances == ("a", "b")


def test_a_bad_file_of_the_right_format_is_still_named_by_its_line(tmp_path):
    (tmp_path / "a.vad").write_text(SAMPLES["vad"])
    (tmp_path / "b.vad").write_text(SAMPLES["vad"] + "0.9 0.8 1\n")
    with pytest.raises(DataError, match=r"b\.vad:4: "):
        read_references(tmp_path)


def test_a_stream_without_a_name_is_called_stream(tmp_path):
    path = tmp_path / "bad.rttm"
    path.write_text("SPEAKER u1\n")
    with (
        os.fdopen(os.open(path, os.O_RDONLY), "rb") as stream,
        pytest.raises(DataError, match="<stream>:1: RTTM has 9"),
    ):
        read_references(stream, format="rttm")


# --- converting to label arrays

ON_THE_GRID = "".join(
    f"SPEAKER u1 1 {start:.3f} {length:.3f} <NA> <NA> {label} <NA> <NA>\n"
    for start, length, label in ((0.0, 0.06, "bonafide"), (0.06, 0.04, "spoof"))
)


@pytest.mark.parametrize(
    ("target", "hop", "told"),
    [
        ("labels.npy", 0.02, {"hop": 0.02, "spoof_label": 0}),
        ("dev_seglab_0.02.npy", None, {}),
        ("dev_seglab_0.02.npy", 0.02, {}),
        ("labels.npz", 0.02, {"hop": 0.02, "spoof_label": 0}),
        ("labels.npz", 0.01, {"hop": 0.01, "spoof_label": 0}),
    ],
)
def test_ranges_become_label_arrays_of_a_resolution(target, hop, told, tmp_path):
    (tmp_path / "ref.rttm").write_text(ON_THE_GRID)
    convert(str(tmp_path / "ref.rttm"), str(tmp_path / target), hop=hop)
    back = read_references(tmp_path / target, **told)
    assert columns(back)[:5] == columns(read("rttm", ON_THE_GRID))[:5]


@pytest.mark.parametrize(
    ("target", "hop", "message"),
    [
        ("labels.npy", None, r"the file name states no resolution; give it in seconds with hop= \(--hop\)"),
        ("labels.npz", None, r"the file name states no resolution; give it in seconds with hop= \(--hop\)"),
        ("dev_seglab_0.02.npy", 0.01, r"the file name states a resolution of 0\.02 s, hop states 0\.01 s"),
        ("labels.npy", 0.04, r"its ranges are not on the grid of 0\.04 s; write ranges"),
    ],
)
def test_label_arrays_that_cannot_be_written_are_refused(target, hop, message, tmp_path):
    (tmp_path / "ref.rttm").write_text(ON_THE_GRID)
    with pytest.raises(UsageError, match=message):
        convert(str(tmp_path / "ref.rttm"), str(tmp_path / target), hop=hop)
    assert not (tmp_path / target).exists()


# --- writing


@pytest.mark.parametrize("name", MEANT)
def test_a_sample_comes_back_after_writing(name):
    references = read(name, SAMPLES[name])
    content = written(name, references)
    assert FORMATS.recognise(source(content)).name == name
    assert columns(read(name, content)) == columns(references)


HOLDS = {
    "vad": (["bonafide", "spoof", "nonspeech"], [None]),
    "segment-list": (["bonafide", "spoof"], [None]),
    "had": (["bonafide", "spoof"], [None]),
    "lavdf": (["spoof"], [None]),
    "avdeepfake1m": (["spoof"], ["vits"]),
    "audacity": (["bonafide", "spoof", "nonspeech"], [None, "A07", "B1"]),
}
IDS = st.text(st.characters(exclude_categories=("Cs", "Z", "Cc")), min_size=1, max_size=5).filter(
    lambda text: (
        text.split() == [text] and not text.startswith((".", "\ufeff")) and "/" not in text and "\\" not in text
    )
)


@st.composite
def corpora(draw, name):
    labels, kinds = HOLDS[name]
    one_file = name in FILE
    ids = draw(st.lists(IDS, min_size=1, max_size=1 if one_file else 3, unique=True))
    fewest = 0 if name in ("segment-list", "lavdf", "avdeepfake1m") else 1
    ranges, durations = {}, {}
    for utterance in ids:
        edges = sorted(draw(st.lists(st.integers(0, 80_000 * 10**9), min_size=2 * fewest, max_size=8, unique=True)))
        ranges[utterance] = []
        for start, end in zip(edges[::2], edges[1::2], strict=False):
            label = draw(st.sampled_from(labels))
            kind = draw(st.sampled_from(kinds)) if label == "spoof" else None
            ranges[utterance].append((start, end, label, kind))
        durations[utterance] = max(edges, default=0) + draw(st.integers(1, 10**9))
    rows = [row for utterance in ids for row in ranges[utterance]]
    holds_durations = name in ("segment-list", "lavdf", "avdeepfake1m")
    return References.from_columns(
        ids,
        np.array([durations[utt] for utt in ids], np.int64) if holds_durations else None,
        np.cumsum([0] + [len(ranges[utt]) for utt in ids]),
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int64),
        labels=np.array([("bonafide", "spoof", "nonspeech").index(row[2]) for row in rows], np.int8),
        attacks=[row[3] for row in rows],
    )


@pytest.mark.parametrize("name", HOLDS)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_what_is_written_reads_back_equal(name, data):
    references = data.draw(corpora(name))
    options = ReadOptions()
    if name == "avdeepfake1m":
        seconds = {u: ns / 1e9 for u, ns in zip(references.utterances, references.durations.tolist(), strict=True)}
        options = ReadOptions(durations=seconds)
    file = references.utterances[0] + FORMATS.named(name).suffixes[0] if name in FILE else None
    back = read(name, written(name, references), options, file)
    assert columns(back) == columns(references)


def test_files_of_several_utterances():
    references = References.from_ranges({"a": [(0.0, 1.0, "spoof")], "b c": [(0.0, 0.0625, "bonafide")]})
    assert list(labelled_ranges.VAD_LINES.write_files(references)) == [
        ("a.vad", b"0.000 1.000 0\n"),
        ("b c.vad", b"0.000 0.0625 1\n"),
    ]
    assert list(labelled_ranges.TRACK_LINES.write_files(references)) == [
        ("a.txt", b"0.000\t1.000\tspoof\n"),
        ("b c.txt", b"0.000\t0.0625\tbonafide\n"),
    ]


SPOOF, KIND, NONSPEECH = [(0.0, 1.0, "spoof")], [(0.0, 1.0, "spoof", "vits")], [(0.0, 1.0, "nonspeech")]
BONA_FIDE = [(0.0, 1.0, "bonafide")]
CANNOT = [
    ("segment-list", {"u": SPOOF}, None, "durations"),
    ("segment-list", {"u": KIND}, {"u": 1.0}, "'vits'"),
    ("segment-list", {"u": NONSPEECH}, {"u": 1.0}, "nonspeech"),
    ("segment-list", {"a b": SPOOF}, {"a b": 1.0}, "'a b'"),
    ("segment-list", {"a\ud800": SPOOF}, {"a\ud800": 1.0}, "UTF-8"),
    ("segment-list", {"\ufeffa": SPOOF}, {"\ufeffa": 1.0}, "cannot hold the id"),
    ("had", {"u": KIND}, None, "'vits'"),
    ("had", {"u": NONSPEECH}, None, "nonspeech"),
    ("had", {"a\tb": SPOOF}, None, "white space"),
    ("had", {"u": SPOOF, "v": []}, None, "no ranges"),
    ("had", {"u": SPOOF}, {"u": 1.5}, "cannot hold durations"),
    ("vad", {"u": KIND}, None, "'vits'"),
    ("vad", {"u": SPOOF, "v": SPOOF}, None, "one utterance"),
    ("vad", {"a/b": SPOOF}, None, "no file name"),
    ("vad", {".a": SPOOF}, None, "no file name"),
    ("vad", {"u": []}, {"u": 1.0}, "no ranges"),
    ("vad", {"u": SPOOF}, {"u": 1.5}, "cannot hold durations"),
    ("audacity", {"u": KIND}, None, "'vits'"),
    ("audacity", {"u": [(0.0, 1.0, "bonafide", "A07")]}, None, "bonafide of attack 'A07'"),
    ("audacity", {"u": SPOOF, "v": SPOOF}, None, "one utterance"),
    ("audacity", {"a\\b": SPOOF}, None, "no file name"),
    ("audacity", {"u": []}, {"u": 1.0}, "no ranges"),
    ("audacity", {"u": SPOOF}, {"u": 1.5}, "cannot hold durations"),
    ("lavdf", {"u": SPOOF}, None, "durations"),
    ("lavdf", {"u": KIND}, {"u": 1.0}, "'vits'"),
    ("lavdf", {"u": NONSPEECH}, {"u": 1.0}, "nonspeech"),
    ("lavdf", {"u": BONA_FIDE}, {"u": 1.0}, "bonafide"),
    ("avdeepfake1m", {"u": BONA_FIDE}, None, "bonafide"),
    ("avdeepfake1m", {"u": NONSPEECH}, None, "nonspeech"),
    ("avdeepfake1m", {"u": [*KIND, (2.0, 3.0, "spoof", "yourtts")]}, None, "one attack"),
    ("avdeepfake1m", {"a\ud800": SPOOF}, None, "UTF-8"),
]


@pytest.mark.parametrize(("name", "ranges", "durations", "message"), CANNOT)
def test_what_a_format_cannot_hold_is_refused(name, ranges, durations, message):
    with pytest.raises(UsageError, match=message):
        written(name, References.from_ranges(ranges, durations))


# --- bad input


def lav(**changes):
    entry = {"file": "u", "n_fakes": 1, "fake_periods": [[0.5, 1.0]], "duration": 2.0, "modify_audio": True} | changes
    return json.dumps([{key: value for key, value in entry.items() if value != "drop"}])


def av(**changes):
    entry = {"file": "u", "audio_model": "vits", "audio_fake_segments": [[0.5, 1.0]]} | changes
    return json.dumps([{key: value for key, value in entry.items() if value != "drop"}])


MALFORMED = [
    # vad
    ("vad", "", "CON_1.vad: utterance 'CON_1': the file is empty"),
    ("vad", "start end label\n0.0 1.0 1\n", "CON_1.vad:1: utterance 'CON_1': unknown label 'label'", "a header line?"),
    ("vad", "0.0 1.0\n", "CON_1.vad:1: utterance 'CON_1': ", "3 fields", "has 2"),
    ("vad", "0.0 1.0 1 x\n", "CON_1.vad:1:", "has 4"),
    ("vad", "0.0 1.0 1\n1.0 2.0 3\n", "CON_1.vad:2: utterance 'CON_1': unknown label '3'"),
    ("vad", "0.0 1.0 spoof\n", "CON_1.vad:1:", "unknown label 'spoof'", "0 spoof"),
    ("vad", "0,0 1,0 1\n", "CON_1.vad:1: utterance 'CON_1': start '0,0'", "decimal point"),
    ("vad", "1.0 0.5 1\n", "CON_1.vad:1: utterance 'CON_1': the range ends before it starts"),
    ("vad", "-0.5 0.5 1\n", "CON_1.vad:1: utterance 'CON_1': the range starts before 0"),
    ("vad", "nan 0.5 1\n", "CON_1.vad:1: utterance 'CON_1': start 'nan' is not finite"),
    ("vad", "0.0 inf 1\n", "CON_1.vad:1:", "end 'inf' is not finite"),
    ("vad", "0 540 1\n540 2095 0\n", "CON_1.vad:2: utterance 'CON_1': all times are whole numbers", "milliseconds"),
    ("vad", "0.0 90000.5 1\n", "CON_1.vad:1: utterance 'CON_1': end '90000.5' is over a day", "milliseconds"),
    ("vad", "0.0 1_0 1\n", "CON_1.vad:1:", "'1_0' cannot be read"),
    ("vad", b"0.0 1.0 1\n\xff\xfe 1.0 1\n", "CON_1.vad:2: not UTF-8 text"),
    ("vad", "0.0 1.0 1\n0.0 \x00 1\n", "CON_1.vad:2: not a text file"),
    (
        "vad",
        "0.0 1.0 1\n0.5 1.5 0\n",
        "CON_1.vad:1 and CON_1.vad:2: utterance 'CON_1': bonafide [0",
        "1.000 s) and",
        "overlap",
    ),
    ("vad", gzip.compress(b"0.0 1.0 1\n" * 50, mtime=0)[:-10], "CON_1.vad: the file is truncated"),
    # segment lists
    ("segment-list", "", "refs.txt: the file is empty"),
    ("segment-list", "utt dur label segs\n", "refs.txt:1: utterance 'utt': the third field", "a header line?"),
    ("segment-list", "u\n", "refs.txt:1: utterance 'u'", "at least 3 fields, this line has 1"),
    ("segment-list", "u 2.0 fake 0-1-spoof\n", "refs.txt:1: utterance 'u'", "not 'fake'"),
    ("segment-list", "u 2,0 bonafide\n", "refs.txt:1: utterance 'u': duration '2,0'", "decimal point"),
    ("segment-list", "u two bonafide\n", "refs.txt:1: utterance 'u': duration 'two' cannot be read"),
    ("segment-list", "u 0 bonafide\n", "refs.txt:1: utterance 'u': the duration must be positive"),
    ("segment-list", "u -1 bonafide\n", "refs.txt:1: utterance 'u': the duration must be positive"),
    ("segment-list", "u nan bonafide\n", "refs.txt:1: utterance 'u': duration 'nan' is not finite"),
    ("segment-list", "u 2.0 spoof 0,5-1,0-spoof\n", "refs.txt:1: utterance 'u': the range '0,5-1,0-spoof'", "decimal"),
    ("segment-list", "u 2.0 spoof 0.5-1.0-fake\n", "refs.txt:1: utterance 'u': unknown label 'fake'"),
    ("segment-list", "u 2.0 spoof 0.5-spoof\n", "refs.txt:1: utterance 'u': the range '0.5-spoof' cannot be read"),
    ("segment-list", "u 2.0 spoof 0.5-1.0\n", "refs.txt:1: utterance 'u': the range '0.5-1.0' cannot be read"),
    ("segment-list", "u 2.0 spoof nan-1.0-spoof\n", "refs.txt:1: utterance 'u': the range 'nan-1.0-spoof'"),
    ("segment-list", "u 2.0 spoof 1.0-0.5-spoof\n", "refs.txt:1: utterance 'u': the range ends before it starts"),
    ("segment-list", "u 2.0 spoof -1.0-0.5-spoof\n", "refs.txt:1: utterance 'u': the range starts before 0"),
    ("segment-list", "u 2.0 spoof 0.0-1e999-spoof\n", "refs.txt:1: utterance 'u': end '1e999' is not finite"),
    ("segment-list", "u 2.0 spoof 0.0-1.0-bonafide\n", "refs.txt:1: utterance 'u': it is called spoof, but none"),
    ("segment-list", "u 2.0 spoof\n", "refs.txt:1: utterance 'u': it is called spoof, but none"),
    ("segment-list", "u 2.0 bonafide 0.0-1.0-spoof\n", "refs.txt:1: utterance 'u': it is called bonafide, but one"),
    ("segment-list", "u 2.0 bonafide\nu 2.0 bonafide\n", "refs.txt:2: utterance 'u' is listed a second time"),
    ("segment-list", "u 2.0 spoof 0-540-bonafide 540-856-spoof\n", "refs.txt:1: utterance 'u'", "milliseconds"),
    ("segment-list", "u 2.0 spoof 0-1-spoof 0.5-2-bonafide\n", "refs.txt:1: utterance 'u': spoof", "overlap"),
    ("segment-list", b"u 2.0 bonafide\nv\xe9 2.0 bonafide\n", "refs.txt:2: not UTF-8 text"),
    # HAD
    ("had", "", "refs.txt: the file is empty"),
    ("had", "utt segments label\n", "refs.txt:1: utterance 'utt': the last field must be 0", "a header line?"),
    ("had", "u 0.0-1.0-T\n", "refs.txt:1: utterance 'u'", "3 fields, this line has 2"),
    ("had", "u 0.0-1.0-T 2\n", "refs.txt:1: utterance 'u': the last field must be 0 (fake) or 1 (genuine), not '2'"),
    ("had", "u 0.0-1.0-X 1\n", "refs.txt:1: utterance 'u': unknown label 'X'"),
    ("had", "u 0.0-1.0-spoof 0\n", "refs.txt:1: utterance 'u': unknown label 'spoof'"),
    ("had", "u 0,0-1,0-T 1\n", "refs.txt:1: utterance 'u'", "decimal points"),
    ("had", "u 0.0-1.0-T/ 1\n", "refs.txt:1: utterance 'u': the range '' cannot be read"),
    ("had", "u 1.0-0.5-F 0\n", "refs.txt:1: utterance 'u': the range ends before it starts"),
    ("had", "u -1.0-0.5-F 0\n", "refs.txt:1: utterance 'u': the range starts before 0"),
    ("had", "u 0.0-1.0-F 1\n", "refs.txt:1: utterance 'u': it is called genuine (1), but one"),
    ("had", "u 0.0-1.0-T 0\n", "refs.txt:1: utterance 'u': it is called fake (0), but none"),
    ("had", "u 0.0-1.0-T 1\nu 0.0-1.0-T 1\n", "refs.txt:2: utterance 'u' is listed a second time"),
    ("had", "u 0-3810-T/3810-4570-F 0\n", "refs.txt:1: utterance 'u'", "whole numbers, up to 4570", "give durations"),
    ("had", "u 0.0-1.0-T/0.5-1.5-F 0\n", "refs.txt:1: utterance 'u'", "overlap"),
    ("had", b"\xff\xfeu\x00 0.0-1.0-T 1\n", "refs.txt:1: not UTF-8 text"),
    # LAV-DF
    ("lavdf", "", "refs.txt: the file is empty"),
    ("lavdf", "[]", "refs.txt: LAV-DF metadata is a JSON list of objects, this is a list of 0"),
    ("lavdf", '{"file": "u"}', "refs.txt: LAV-DF metadata is a JSON list", "this is an object of 1"),
    ("lavdf", "[3]", "refs.txt[0]: each entry of the list must be an object, not 3"),
    ("lavdf", lav()[:-1], "refs.txt:1: no JSON from column", "truncated"),
    ("lavdf", lav()[:-30], "refs.txt:1: no JSON from column", "truncated"),
    ("lavdf", lav()[:-1] + ",]", "refs.txt:1: no JSON from column"),
    ("lavdf", lav() + "[]", "refs.txt:1: no JSON from column", "Extra data"),
    ("lavdf", "[" * 100_000, "refs.txt: nested more than 64 deep", "a JSON list of objects"),
    ("lavdf", lav().encode("utf-16"), "refs.txt:1: not UTF-8 text"),
    ("lavdf", '[{"file": "u", "duration": ' + "9" * 5000 + "}]", "refs.txt"),
    ("lavdf", lav(file="drop"), "refs.txt[0]: file must be a name, not null"),
    ("lavdf", lav(file=7), "refs.txt[0]: file must be a name, not 7"),
    ("lavdf", lav(file=""), 'refs.txt[0]: file must be a name, not ""'),
    ("lavdf", lav(file="a\ud800"), "refs.txt[0]: file must be a name"),
    ("lavdf", lav(duration=None), "refs.txt[0]: utterance 'u': duration must be a number of seconds, not null"),
    ("lavdf", lav(duration="2.0"), "refs.txt[0]: utterance 'u': duration must be a number of seconds, not \"2.0\""),
    ("lavdf", lav(duration=True), "refs.txt[0]: utterance 'u': duration must be a number of seconds, not true"),
    ("lavdf", lav(duration=0), "refs.txt[0]: utterance 'u': duration must be positive"),
    ("lavdf", lav(duration=float("nan")), "refs.txt[0]: utterance 'u': duration 'nan' is not finite"),
    ("lavdf", lav(fake_periods="drop"), "refs.txt[0]: utterance 'u': fake_periods must be a list", "not null"),
    ("lavdf", lav(fake_periods={"a": 1}), "refs.txt[0]: utterance 'u': fake_periods must be a list", "an object of 1"),
    ("lavdf", lav(fake_periods=[0.5, 1.0]), "refs.txt[0]: utterance 'u': fake_periods[0] must be [start, end]"),
    ("lavdf", lav(fake_periods=[[0.5]]), "refs.txt[0]: utterance 'u': fake_periods[0]", "a list of 1"),
    ("lavdf", lav(fake_periods=[["0.5", 1]]), "refs.txt[0]: utterance 'u': fake_periods[0] must be a number"),
    ("lavdf", lav(fake_periods=[[1.0, 0.5]]), "refs.txt[0]: utterance 'u': the range ends before it starts"),
    ("lavdf", lav(fake_periods=[[-1.0, 0.5]]), "refs.txt[0]: utterance 'u': the range starts before 0"),
    ("lavdf", lav(fake_periods=[[500, 1000]]), "refs.txt[0]: utterance 'u': a range ends at 1000 s", "milliseconds"),
    ("lavdf", lav(n_fakes=2), "refs.txt[0]: utterance 'u': n_fakes is 2, but there are 1 fake_periods"),
    ("lavdf", lav(n_fakes="one"), "refs.txt[0]: utterance 'u': n_fakes is \"one\""),
    ("lavdf", lav(modify_audio="drop"), "refs.txt[0]: utterance 'u': modify_audio must be true", "not null"),
    ("lavdf", lav(modify_audio=1), "refs.txt[0]: utterance 'u': modify_audio must be true", "not 1"),
    ("lavdf", lav(fake_periods=[], n_fakes=0), "refs.txt[0]: utterance 'u': modify_audio is true, but"),
    ("lavdf", lav()[:-1] + "," + lav()[1:], "refs.txt[1]: utterance 'u' is listed a second time"),
    # AV-Deepfake1M
    ("avdeepfake1m", "", "refs.txt: the file is empty"),
    ("avdeepfake1m", "{}", "refs.txt: AV-Deepfake1M metadata is a JSON list"),
    ("avdeepfake1m", av()[:-9], "refs.txt:1: no JSON from column", "truncated"),
    ("avdeepfake1m", av(file=None), "refs.txt[0]: file must be a name, not null"),
    ("avdeepfake1m", av(audio_model=3), "refs.txt[0]: utterance 'u': audio_model must be a name or null, not 3"),
    ("avdeepfake1m", av(audio_fake_segments="drop"), "refs.txt[0]: utterance 'u': audio_fake_segments must be a list"),
    ("avdeepfake1m", av(audio_fake_segments=[[1, 2, 3]]), "refs.txt[0]: utterance 'u': audio_fake_segments[0]"),
    ("avdeepfake1m", av(audio_fake_segments=[[None, 2]]), "refs.txt[0]: utterance 'u': audio_fake_segments[0]", "null"),
    ("avdeepfake1m", av(audio_fake_segments=[[2, 1]]), "refs.txt[0]: utterance 'u': the range ends before"),
    ("avdeepfake1m", av(audio_fake_segments=[[500, 1000]]), "refs.txt[0]: utterance 'u'", "milliseconds"),
    ("avdeepfake1m", av(file="v"), "utterance 'v' has no duration", "complete the durations"),
    ("avdeepfake1m", av()[:-1] + "," + av()[1:], "refs.txt[1]: utterance 'u' is listed a second time"),
    ("avdeepfake1m", b'[{"file": "\xe9"}]', "refs.txt:1: not UTF-8 text"),
    # Audacity
    ("audacity", "", "CON_1.txt: utterance 'CON_1': the file is empty", "give its duration"),
    ("audacity", "start\tend\tlabel\n", "CON_1.txt:1: utterance 'CON_1': there are no times", "a header line?"),
    ("audacity", "0.0 1.0 spoof\n", "CON_1.txt:1: utterance 'CON_1'", "between tabs, this line has 1"),
    ("audacity", "0.0\t1.0\n", "CON_1.txt:1: utterance 'CON_1'", "this line has 2"),
    ("audacity", "0.0\t1.0\t\n", "CON_1.txt:1: utterance 'CON_1': the label is empty"),
    ("audacity", "0.0\t1.0\tbanana\n", "CON_1.txt:1: utterance 'CON_1': unknown label 'banana'"),
    ("audacity", "0,000000\t1,000000\tspoof\n", "CON_1.txt:1: utterance 'CON_1': start '0,000000'", "decimal point"),
    ("audacity", "1.0\t0.5\tspoof\n", "CON_1.txt:1: utterance 'CON_1': the range ends before it starts"),
    ("audacity", "-1.0\t0.5\tspoof\n", "CON_1.txt:1: utterance 'CON_1': the range starts before 0"),
    ("audacity", "0\t2095\tspoof\n", "CON_1.txt:1: utterance 'CON_1': all times are whole numbers", "milliseconds"),
    ("audacity", b"0.0\t1.0\tsp\xf6\n", "CON_1.txt:1: not UTF-8 text"),
]


@pytest.mark.parametrize(("name", "content", "messages"), [(name, text, rest) for name, text, *rest in MALFORMED])
def test_bad_input_is_named_with_its_place(name, content, messages):
    durations = {"u": 2.0} if name == "avdeepfake1m" else None
    options = ReadOptions(durations=durations, modality="audio" if name in OPTIONS else None)
    with pytest.raises(DataError) as caught:
        read(name, content, options)
    for message in messages:
        assert message in str(caught.value)
    assert any(remedy in str(caught.value) for remedy in ("; ", "the file is empty", "not a text file"))


def test_twenty_problems_are_shown_at_once():
    with pytest.raises(DataError) as caught:
        read("had", "".join(f"u{i} 0.0-1.0-X 1\n" for i in range(30)))
    assert str(caught.value).startswith("30 problems; correct the file\n")
    assert "refs.txt:20:" in str(caught.value)
    assert "refs.txt:21:" not in str(caught.value)


@pytest.mark.parametrize("name", ["vad", "audacity"])
@pytest.mark.parametrize("file", ["<stdin>", "labels.csv", "CON_1.lab", ".vad", ".txt"])
def test_a_file_that_does_not_name_an_utterance_is_refused(name, file):
    with pytest.raises(DataError, match="names the utterance"):
        read(name, SAMPLES[name], file=file)


@pytest.mark.parametrize("name", MEANT)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_mutated_samples_read_or_fail_with_a_sentence(name, data):
    content = bytearray(SAMPLES[name].encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from(
                [b"", b"\n", b"\t", b" ", b"-", b",", b"9", b"e9", b'"', b"[", b"}", b"nan", b"\xff", b"\0"]
            )
        )
    FORMATS.named(name).recognises(bytes(content))
    with contextlib.suppress(DataError):
        read(name, bytes(content))


# --- regions and protocols


def regions(text):
    return read_regions(io.BytesIO(text.encode()))


def test_regions_with_and_without_a_channel():
    assert regions(";; comment\nu1 1 0.0 1.5\nu1 1 2.0 3.0\nu2 0.25 1\n") == {
        "u1": [(0.0, 1.5), (2.0, 3.0)],
        "u2": [(0.25, 1.0)],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no region in the file"),
        (";; only\n", "no region in the file"),
        ("utt chan start end\n", r":1: utterance 'utt': UEM is .* \(a header line\?"),
        ("utt start end\n", r":1: utterance 'utt': UEM is .* \(a header line\?"),
        ("u1 1.0\n", r":1: utterance 'u1': UEM is"),
        ("u1 1 0.0 1.0 x\n", r":1: utterance 'u1': UEM is"),
        ("u1 1 0,0 1,0\n", r":1: utterance 'u1': start '0,0' cannot be read; use a decimal point"),
        ("u1 1 1.0 0.5\n", r":1: utterance 'u1': the region ends before it starts"),
        ("u1 1 0.5 0.5\n", r":1: utterance 'u1': the region .* is empty"),
        ("u1 1 -1 0.5\n", r":1: utterance 'u1': the region starts before 0"),
        ("u1 1 0 nan\n", r":1: utterance 'u1': end 'nan' is not finite"),
        ("u1 1 0 1\nu1 2 0 1\n", r":2: utterance 'u1': a second channel \('2'\)"),
        ("u1 1 0 160000\n", r":1: utterance 'u1': end '160000' is over a day"),
    ],
)
def test_bad_regions(text, message):
    with pytest.raises(DataError, match=message):
        regions(text)


def protocol(text):
    return read_protocol(io.BytesIO(text.encode()))


def test_protocol_columns():
    found = protocol("LA_0041 CON_1 - CON spoof\nLA_0052 LA_2 - - bonafide\nPA_7 PA_3 aaa AB spoof\nx y - - spoof\n")
    assert found == Protocol(
        ("CON_1", "LA_2", "PA_3", "y"),
        ("LA_0041", "LA_0052", "PA_7", "x"),
        ("CON", None, "AB", None),
        ("spoof", "bonafide", "spoof", "spoof"),
    )
    assert len(found) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no utterance in the protocol"),
        ("speaker utterance - attack label\n", "no utterance in the protocol"),
        ("s u spoof\n", r":1: utterance 's': 3 fields instead of <spk> <utt> <environment> <attack> <bonafide\|spoof>"),
        ("s u - A07 banana\n", r":1: utterance 'u': the label must be bonafide or spoof, not 'banana'"),
        ("s u - A07 bonafide\n", r":1: utterance 'u': it is called bonafide, but has the attack 'A07'"),
        ("s u - - bonafide\nt u - - bonafide\n", r":2: utterance 'u' is listed a second time"),
    ],
)
def test_bad_protocols(text, message):
    with pytest.raises(DataError, match=message):
        protocol(text)
