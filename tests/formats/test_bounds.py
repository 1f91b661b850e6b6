"""What a file may cost: a few kilobytes that stand for gigabytes are refused, quickly and in little memory."""

import gzip
import json
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import run
from format_samples import FOREIGN, REFERENCE_FILES, UTTERANCE_LINES, foreign_scores, written_references

import spoofspan as ss
from spoofspan.formats.registry import PROPOSAL_FORMATS, UTTERANCE_SCORE_FORMATS

MIB = 1 << 20
pytestmark = pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="memory is read from /proc")
PACKINGS = {".gz": gzip.compress, ".zst": lambda data: pa.compress(data, "zstd", asbytes=True)}
OTHERS = {  # the formats that have no sample: how they begin
    "proposals": b'{"u1.mp4": [[0.9, 0.5, 1.25]], "',
    "proposals-csv": b"utterance,start,end,confidence\nu1,0.5,1.25,0.9\n",
    "cfprf-proposals": b"\x93NUMPY",
    **{name: lines.encode() for name, lines in UTTERANCE_LINES.items()},
}


def beginnings():
    """The kind, the name, a file name and the first bytes of every format."""
    for name in REFERENCE_FILES:
        sample = written_references(name, ["CON_1", "CON_2"])
        yield "reference", name, REFERENCE_FILES[name].format("CON_1"), next(iter(sample.files.values()))
    for name in FOREIGN:
        sample = foreign_scores(name, ["CON_1", "CON_2"])
        yield "scores", name, next(iter(sample.files)), next(iter(sample.files.values()))
    for kind, registry in (("utterance-scores", UTTERANCE_SCORE_FORMATS), ("proposals", PROPOSAL_FORMATS)):
        for name in registry.formats:
            yield kind, name, "scores.txt", OTHERS[name]


def run_child(folder, limit=700 * MIB):
    script = Path(__file__).parents[1] / "bomb_child.py"
    done = subprocess.run(
        [sys.executable, str(script), str(folder), str(limit)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def assert_refused(answer, most):
    for name, one in answer["found"].items():
        assert name in one["said"], (name, one)
        assert one["said"].startswith(("DataError", "UsageError")), (name, one)
        assert one["seconds"] < 10, (name, one)
        assert one["memory"] - answer["before"] < most, (name, one)


def test_a_packed_line_without_end_is_refused_by_every_reader(tmp_path):
    """After a beginning that is right: 256 MiB without the end of a line, in some kilobytes."""
    for packing, pack in PACKINGS.items():
        tail = pack(b"7" * (8 * MIB)) * 32
        for kind, name, file, head in beginnings():
            (tmp_path / f"{kind}~{name}~{file}{packing}").write_bytes(pack(head) + tail)
    assert_refused(run_child(tmp_path), 150 * MIB)


def test_a_sparse_file_is_refused_by_every_reader(tmp_path):
    """4 GiB of nothing after a beginning that is right."""
    for kind, name, file, head in beginnings():
        path = tmp_path / f"{kind}~{name}~{file}"
        path.write_bytes(head)
        os.truncate(path, 4 << 30)
    assert_refused(run_child(tmp_path, limit=6 << 30), 400 * MIB)  # of which Arrow reads ahead, more when it must wait


def test_arrays_and_tables_that_repeat_one_value_are_refused(tmp_path):
    """Formats that pack by themselves: 32 MiB of zeros."""
    zeros = np.zeros(4 * MIB)
    np.savez_compressed(tmp_path / "scores~npz~s.npz", u1=zeros)
    ids = pa.DictionaryArray.from_arrays(pa.array(np.zeros(zeros.size, np.int32)), ["u1"])
    pq.write_table(
        pa.table({"utterance": ids, "frame": zeros.astype(np.int32), "score": zeros}),
        tmp_path / "scores~parquet~s.parquet",
    )
    for packing in ("zstd", "lz4"):
        table = pa.table({"utterance": ids, "frame": zeros.astype(np.int32), "score": zeros})
        options = pa.ipc.IpcWriteOptions(compression=packing)
        for ending, open_new in ((".arrow", pa.ipc.new_file), (".arrows", pa.ipc.new_stream)):
            path = tmp_path / f"scores~arrow~{packing}{ending}"
            with open_new(path, table.schema, options=options) as out:
                out.write_table(table)
    with zipfile.ZipFile(tmp_path / "reference~npz~r.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("u1.npy", bytes(32 * MIB))
    answer = run_child(tmp_path)
    assert_refused(answer, 100 * MIB)
    assert all("than 200 times" in one["said"] for one in answer["found"].values())


def test_what_repeats_itself_within_reason_is_read(tmp_path):
    """The scores of a system that says the same of everything, packed: 200 times smaller and more is no crime yet."""
    lines = "".join(f"CON_{i:03d} {k} 0.5\n" for i in range(100) for k in range(100)).encode()
    constant = {"u1": np.zeros(1 << 20)}
    np.savez_compressed(tmp_path / "scores.npz", **constant)
    (tmp_path / "scores.txt.gz").write_bytes(gzip.compress(lines))
    assert len(ss.read_scores(tmp_path / "scores.txt.gz", hop=0.02, higher="bonafide")) == 100
    assert ss.read_scores(tmp_path / "scores.npz", hop=0.02, higher="bonafide").values.size == 1 << 20


@pytest.mark.slow
@pytest.mark.parametrize("role", ["references", "scores", "durations"])
def test_the_command_line_refuses_four_gibibytes_in_one_line_within_seconds(role, tmp_path):
    """A gzip file of 4 MiB, with the bounds as they are: 10 s and 500 MB above what a command needs anyway."""
    tail = gzip.compress(bytes(64 * MIB), 1) * 64
    files = {
        "references": ("ref.rttm", b"SPEAKER u1 1 0.000 1.000 <NA> <NA> spoof <NA> <NA>\nSPEAKER u1 1 1.0"),
        "scores": ("scores.txt", b"u1 0 0.5\nu1 1 0.4\nu1 2 0."),
        "durations": ("reco2dur", b"u1 2.0\nu2 "),
    }
    for name, (file, head) in files.items():
        whole = head.rpartition(b"\n")[0] + b"\n"
        (tmp_path / file).write_bytes(gzip.compress(head) + tail if name == role else whole)
    command = ["eval", "ref.rttm", "scores.txt", "--durations", "reco2dur", "--hop", "0.02", "--higher", "bonafide"]
    command.append("--quiet")  # a busy machine would show progress before the error
    program = (
        "import sys, resource; from spoofspan.cli import main; import spoofspan.formats.registry, pyarrow.csv\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: main()\n"
        "finally: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    began = os.times()
    done = subprocess.run(
        [sys.executable, "-c", program, *command], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    ended = os.times()
    spent = ended.children_user + ended.children_system - began.children_user - began.children_system
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith(f"error: {files[role][0]}")
    assert "Traceback" not in done.stderr
    assert int(done.stdout) < 500 * 1024
    assert spent < 10


def test_too_little_memory_is_said_with_the_file(tmp_path):
    """A legal file under a limit: the sentence names it, and there is no traceback."""
    values = np.arange(16 * MIB, dtype=np.float32)
    np.savez(tmp_path / "scores~npz~large.npz", u1=values)
    said = run_child(tmp_path, limit=40 * MIB)["found"]["scores~npz~large.npz"]["said"]
    assert "scores~npz~large.npz: what the format npz says is in there does not fit into memory" in said


# ---------------------------------------------------------------- sound


def wav(samples, rate=16_000, stated=None, channels=1):
    """A WAV file of 16 bits whose header may say anything."""
    data = np.zeros(samples * channels, "<i2").tobytes()
    size = len(data) if stated is None else stated
    form = struct.pack("<HHIIHH", 1, channels, rate, min(rate * 2 * channels, 2**32 - 1), 2 * channels, 16)
    head = b"RIFF" + struct.pack("<I", min(36 + size, 2**32 - 1)) + b"WAVEfmt " + struct.pack("<I", 16) + form
    return head + b"data" + struct.pack("<I", size) + data


@pytest.mark.parametrize("rate", [1, 999, 2**31 - 1])
def test_a_rate_that_is_none_of_speech_is_refused(rate, tmp_path, monkeypatch):
    from spoofspan.formats import sound

    (tmp_path / "u.wav").write_bytes(wav(1 << 20, rate))
    for by_soundfile in (True, False):
        if not by_soundfile:
            monkeypatch.setattr(sound, "find_spec", lambda name: None)
        for read in (sound.Sound(tmp_path / "u.wav", "u.wav").read, lambda: sound.read_sound(tmp_path / "u.wav")):
            with pytest.raises(
                ss.SpoofspanError, match=rf"u\.wav: (its header states {rate:,} samples a second|cannot)"
            ):
                read()


@pytest.mark.parametrize("stated", [2**32 - 2, 4_000_000_000, 2**32 - 1, 32_002])
def test_a_header_that_states_more_than_there_is(stated, tmp_path, monkeypatch):
    from spoofspan.formats import sound

    path = tmp_path / "u.wav"
    path.write_bytes(wav(16_000, stated=stated))
    for by_soundfile in (True, False):
        if not by_soundfile:
            monkeypatch.setattr(sound, "find_spec", lambda name: None)
        states = rf"u\.wav: the file is truncated: its header states {stated // 2:,} samples"
        message = rf"{states}, and 16,000 are there; .*--truncated use"
        for read in (sound.Sound(path, "u.wav").read, lambda: sound.read_sound(path)):
            with pytest.raises(ss.DataError, match=message):
                read()
        with pytest.warns(ss.SpoofspanWarning, match=r"16,000 are there; these are used"):
            assert sound.Sound(path, "u.wav", truncated="use").read().size == 16_000
        assert sound.read_sound(path, "use").size == 16_000
        path.write_bytes(wav(16_000))
        assert sound.Sound(path, "u.wav").read().size == 16_000  # a whole one needs no word
        path.write_bytes(wav(16_000, stated=stated))


@pytest.mark.parametrize(
    ("form", "subtype"),
    [
        *((form, None) for form in ("FLAC", "AIFF", "AU", "RF64", "W64", "NIST", "CAF")),
        ("WAV", "PCM_24"),
        ("W64", "ULAW"),
    ],
)
def test_other_files_state_how_much_they_have(form, subtype, tmp_path):
    soundfile = pytest.importorskip("soundfile", reason="soundfile is not installed: pip install 'spoofspan[cm]'")
    from spoofspan.formats.sound import Sound

    path = tmp_path / f"u.{form.lower()}"
    wave = np.random.default_rng(1).normal(0, 0.1, 48_000)
    soundfile.write(path, wave, 16_000, format=form, subtype=subtype)
    whole = Sound(path, path.name).read()
    assert whole.size == 48_000
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    if form == "CAF":  # libsndfile does not open it at all
        with pytest.raises(ss.DataError, match=r"states 96,000 bytes of samples, and [56]\d,\d+ are there"):
            Sound(path, path.name).read()
        return
    with pytest.raises(ss.DataError, match=rf"{path.name}: .*--truncated use"):
        Sound(path, path.name).read()
    with pytest.warns(ss.SpoofspanWarning, match=rf"{path.name}: .* are there; these are used"):
        found = Sound(path, path.name, truncated="use").read()
    assert 24_000 < found.size < 33_000
    np.testing.assert_array_equal(found, whole[: found.size])


@pytest.mark.parametrize("subtype", ["VORBIS", "OPUS"])
def test_an_ogg_file_has_a_mark_of_its_end(subtype, tmp_path):
    soundfile = pytest.importorskip("soundfile", reason="soundfile is not installed: pip install 'spoofspan[cm]'")
    from spoofspan.formats.sound import Sound

    path = tmp_path / "u.ogg"
    soundfile.write(path, np.random.default_rng(1).normal(0, 0.1, 96_000), 16_000, format="OGG", subtype=subtype)
    whole, data = Sound(path, "u.ogg").read(), path.read_bytes()
    assert whole.size == 96_000
    # within the last page, within its head, before it, in the middle of the file
    for kept in (len(data) - 1, (last := data.rfind(b"OggS")) + 9, last + 4, last, len(data) * 2 // 3):
        path.write_bytes(data[:kept])
        with pytest.raises(ss.DataError, match=r"u\.ogg: the file is truncated: it has no mark of its end, and .*use"):
            Sound(path, "u.ogg").read()
        with pytest.warns(ss.SpoofspanWarning, match="samples are there; these are used"):
            assert 30_000 < Sound(path, "u.ogg", truncated="use").read().size < 96_000


def test_a_pipe_need_not_know_how_long_it_is():
    """As ffmpeg writes a WAV file to standard output."""
    from spoofspan.formats.sound import Sound

    assert Sound(wav(8_000, stated=2**32 - 1), "stdin").read().size == 8_000
    with pytest.raises(ss.DataError, match="truncated"):
        Sound(wav(8_000, stated=2**31), "stdin").read()


def test_many_channels_are_read_a_few_samples_at_a_time(tmp_path):
    from spoofspan.formats import sound

    (tmp_path / "u.wav").write_bytes(wav(2_000, channels=512))
    assert max(len(block) for block in sound.Sound(tmp_path / "u.wav", "u.wav", "mix").blocks()) <= sound.BLOCK // 512


def test_scoring_a_truncated_file_is_an_error_unless_told(tmp_path, capsys):
    (tmp_path / "u.wav").write_bytes(wav(16_000, stated=64_000))
    command = ["cm", "score", "--preset", "joint-detector", tmp_path / "u.wav", "--out", tmp_path / "scores"]
    code, said = run(command, capsys)
    assert code == 3
    assert "u.wav: the file is truncated: its header states 32,000 samples, and 16,000 are there" in said.err
    assert not (tmp_path / "scores").exists()
    code, said = run([*command, "--truncated", "use"], capsys)
    assert code == 0
    assert "warning: " in said.err
    assert "16,000 are there; these are used" in said.err
    assert ss.read_scores(tmp_path / "scores" / "scores_20ms.parquet").values.size == 49
    code, said = run([*command, "--truncated", "perhaps"], capsys)
    assert code == 2
    assert "--truncated perhaps: valid: error, use" in said.err


def test_lists_of_recordings_are_bounded_too(tmp_path, capsys):
    for name, head, command in (
        ("some.lst", b"a.wav\n", ["cm", "score", "--preset", "joint-detector", "some.lst", "--out", "out"]),
        ("some.csv", b"path,speaker,attack\n", ["corpus", "build", "out", "--source", "some.csv"]),
    ):
        path = tmp_path / name
        path.write_bytes(head)
        os.truncate(path, 4 << 30)
        code, said = run([tmp_path / one if one in (name, "out") else one for one in command], capsys)
        assert code == 3
        assert f"{name}:2: the line is longer than 64 MiB" in said.err
    path.write_bytes(head + b"a" * 200_000 + b",s,A01\n")
    code, said = run(["corpus", "build", tmp_path / "other", "--source", path], capsys)
    assert code == 3
    assert "some.csv:2: cannot be read as CSV (field larger than field limit" in said.err
