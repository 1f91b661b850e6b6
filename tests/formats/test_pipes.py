"""Pipes: what can be read from a file can be read from <(zcat file), once, in every format that its head shows."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import format_samples as samples
import pytest
from command_line import run

import spoofspan as ss
from spoofspan.evaluation.signature import references_hash, scores_hash
from spoofspan.formats import pipes
from spoofspan.formats.sources import sources

pytestmark = pytest.mark.skipif(not Path("/dev/fd").exists(), reason="there are no paths of open files here")

IDS = tuple(f"CON_{number}" for number in range(20))
# what the name of a file says, or a file next to it, or nothing at all
TOLD = {
    "segment-labels": {"hop": 0.01, "spoof_label": 0},
    "unit-score": {"hop": 0.02},
    "wedefense-logits": {"hop": 0.02},
    "partialspoof-pickle": {"hop": 0.02},
    "kaldi-ark": {"column": "1", "higher": "spoof"},
}
MAIN = [sys.executable, "-c", "from spoofspan.cli import main; main()"]


def feed(descriptor, content):
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)


@contextmanager
def piped(content):
    """The path of a pipe through which this comes, as a shell gives it for <(cat file)."""
    reading, writing = os.pipe()
    writer = threading.Thread(target=feed, args=(writing, content))
    writer.start()
    try:
        yield f"/dev/fd/{reading}"
        writer.join()
    finally:
        os.close(reading)


# what is named by its file, or has another file beside it, is none to pipe
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", sorted(set(samples.REFERENCE_FILES) - {"cfprf-labels", "kaldi-segments"}))
def test_references_of_every_format_come_through_a_pipe(name, packed, tmp_path):
    sample = samples.written_references(name, IDS)
    if sample.one_file_each:
        pytest.skip("a file for each utterance, and its name is the utterance")
    content = next(iter(sample.files.values()))
    with piped(gzip.compress(content) if packed else content) as path:
        found = ss.read_references(path, **sample.options | TOLD.get(name, {}))
    assert references_hash(found) == references_hash(ss.read_references(sample.write(tmp_path), **sample.options))


@pytest.mark.parametrize(
    "name", sorted(set(samples.FOREIGN) - {"kaldi-scp", "cfprf-scores"})
)  # they list or are named files
def test_scores_of_every_format_come_through_a_pipe(name, tmp_path):
    sample = samples.foreign_scores(name, IDS)
    if sample.one_file_each:
        pytest.skip("a file for each utterance, and its name is the utterance")
    with piped(next(iter(sample.files.values()))) as path:
        found = ss.read_scores(path, **sample.options | TOLD.get(name, {}))
    assert scores_hash(found) == scores_hash(ss.read_scores(sample.write(tmp_path), **sample.options))


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a shell with process substitution")
def test_process_substitution_measures_the_same(files, tmp_path, capsys):
    about = ["-m", "range-eer", "--format", "json"]
    _, plain = run([*files, *about], capsys)
    for path in (files[1], files[2], files[4]):
        Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes()))
    script = '"$@" <(zcat r.rttm.gz) <(zcat s.parquet.gz) --durations <(zcat reco2dur.gz) --out >(gzip -c > out.gz; :)'
    shell = [shutil.which("bash"), "-c", f"{script}; code=$?; wait; exit $code", "bash", *MAIN, "eval", *about]
    done = subprocess.run(shell, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(gzip.decompress((tmp_path / "out.gz").read_bytes())) == json.loads(plain.out)


@pytest.mark.slow_cases("^jobs$")
@pytest.mark.parametrize("how", [["--stream"], ["--jobs", "2"]], ids=["stream", "jobs"])
def test_pipes_are_cut_into_shards_to_the_same_bits(how, files, capsys):
    about = ["-m", "range-eer", "--format", "json"]
    _, plain = run([*files, *about], capsys)
    with piped(files[1].read_bytes()) as references, piped(files[2].read_bytes()) as scores:
        code, said = run(["eval", references, scores, *files[3:], *about, *how], capsys)
    assert code == 0, said.err
    assert json.loads(said.out) == json.loads(plain.out)


def test_a_named_pipe_is_opened_once_by_a_command_that_looks_twice(files, tmp_path, capsys):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_bytes(files[2].read_bytes()))
    writer.start()
    code, said = run(["convert", fifo, tmp_path / "through.csv"], capsys)
    writer.join()
    assert code == 0, said.err
    assert scores_hash(ss.read_scores(tmp_path / "through.csv")) == scores_hash(ss.read_scores(files[2]))


def test_in_python_a_named_pipe_is_read_anew_each_time(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for content in (b"u 0 0.5\nu 1 0.25\n", b"u 0 0.5\nu 1 0.75\n"):
        writer = threading.Thread(target=fifo.write_bytes, args=(content,))
        writer.start()
        scores = ss.read_scores(fifo, hop=0.02, higher="spoof")
        writer.join()
        assert scores.values.tolist() == [0.5, float(content.split()[-1])]


def test_every_place_can_be_read_again_from_memory_and_from_disk(monkeypatch):
    content = os.urandom(3_000_000)
    for memory in (1000, 1 << 26):
        monkeypatch.setattr(pipes, "MEMORY", memory)
        with piped(content) as path:
            (source,) = sources(path)
            assert source.head == content[: 1 << 16]
            with source.open() as stream:
                assert stream.seek(-5, os.SEEK_END) == len(content) - 5
                assert stream.read() == content[-5:]
                stream.seek(70_000)
                stream.seek(10, os.SEEK_CUR)
                assert stream.read(100) == content[70_010:70_110]
            assert source.read() == content


def test_a_pipe_that_is_too_large_says_what_to_do(monkeypatch):
    monkeypatch.setattr(pipes, "MOST", 1 << 30)
    (source,) = sources("/dev/zero")
    monkeypatch.setattr(pipes, "MOST", 1 << 20)
    with pytest.raises(ss.DataError, match=r"/dev/zero: more than .* came; write it to a file, and give that"):
        source.read()


def test_a_full_disk_says_what_to_do(tmp_path):
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)); "
    small = "from spoofspan.formats import pipes; pipes.MEMORY = 1000; from spoofspan.cli import main; main()"
    command = [sys.executable, "-c", limited + small, "eval", "-", "x.csv"]
    (tmp_path / "x.csv").write_text("utterance,frame,score\n")
    done = subprocess.run(
        command,
        input=b"utterance,start,end,label\n" + b"u,0.0,1.0,spoof\n" * 200_000,
        cwd=tmp_path,
        capture_output=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 3
    assert b"<stdin>: " in done.stderr
    assert b"set TMPDIR to a folder with more room, or give a file" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


def test_standard_input_cannot_be_both(capsys):
    code, said = run(["eval", "-", "-"], capsys)
    assert code == 2
    assert "cannot both be standard input" in said.err


def open_files():
    return len(list(Path("/dev/fd").iterdir()))


def test_no_pipe_is_left_open(files, capsys):
    before = open_files()
    with piped(files[2].read_bytes()) as path:
        code, said = run([*files[:2], path, *files[3:], "-m", "range-eer"], capsys)
    assert code == 0, said.err
    assert open_files() == before
