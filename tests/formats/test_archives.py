"""Archives of a kilobyte that claim gigabytes: refused before they are unpacked, by every road that opens one."""

import io
import lzma
import struct
import tarfile
import tracemalloc
import zipfile

import numpy as np
import pytest
from challenge_cases import build

import spoofspan as ss
from spoofspan.challenge.definition import PublicPart
from spoofspan.challenge.submission_check import check_submission
from spoofspan.formats import archives
from spoofspan.formats.archives import opened_zip, pieces, tar_members

MIB = 1 << 20


def zip_of(members, method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def tar_of(members, mode="w"):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture(scope="module")
def public(tmp_path_factory):
    return PublicPart.read(build(tmp_path_factory.mktemp("archives") / "challenge"))


def as_submission(path, public):
    return "\n".join(check_submission(public, path).problems)


def as_scores(path, _=None):
    with pytest.raises(ss.DataError) as refused:
        ss.read_scores(path, format="npz", hop=0.02, higher="spoof")
    return str(refused.value)


def as_model(path, _=None):
    from spoofspan.cm.model_sources import model_at

    with pytest.raises(ss.SpoofspanError) as refused, model_at(path):
        pass
    return str(refused.value)


def as_weights(path, _=None):
    pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")
    from spoofspan.cm.official import read_official

    with pytest.raises(ss.DataError) as refused:
        read_official(path)
    return str(refused.value)


ROADS = {
    "submission": (as_submission, "team.zip", "scores.txt"),
    "scores": (as_scores, "scores.npz", "u1.npy"),
    "model": (as_model, "model.zip", "model.safetensors"),
    "weights": (as_weights, "trained.pt", "trained/data.pkl"),
}


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "lzma"])
@pytest.mark.parametrize("road", ROADS)
def test_members_that_cannot_be_unpacked_within_bounds_are_refused_everywhere(road, method, public, tmp_path):
    say, name, member = ROADS[road]
    npy = io.BytesIO()
    np.save(npy, np.zeros(4 * MIB))
    path = tmp_path / name
    path.write_bytes(zip_of([(member, npy.getvalue())], method))
    assert path.stat().st_size < 10_000
    said = say(path, public)  # everything is imported
    tracemalloc.start()
    say(path, public)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "is packed by " in said
    assert peak < 16 * MIB


@pytest.mark.parametrize("road", ROADS)
def test_members_that_share_their_bytes_are_refused_everywhere(road, public, tmp_path):
    """A directory of many names for one member: each unpacks alone, and all of them are too much."""
    say, name, member = ROADS[road]
    one = zip_of([(member, bytes(MIB))])
    start = one.index(b"PK\x01\x02")
    entry, end = one[start : one.index(b"PK\x05\x06")], one[one.index(b"PK\x05\x06") :]
    many = 50
    end = end[:8] + struct.pack("<HHI", many, many, many * len(entry)) + end[16:]
    path = tmp_path / name
    path.write_bytes(one[:start] + entry * many + end)
    said = say(path, public)
    assert "overlap" in said.lower() or "would both be" in said or "twice" in said


def test_a_directory_of_millions_of_names_is_not_read(tmp_path):
    names = zip_of([("a" * 200, b"")])
    start = names.index(b"PK\x01\x02")
    entry, end = names[start : names.index(b"PK\x05\x06")], names[names.index(b"PK\x05\x06") :]
    claimed = 40_000
    end = end[:8] + struct.pack("<HHI", claimed, claimed, claimed * len(entry)) + end[16:]
    data = names[:start] + entry * claimed + end
    tracemalloc.start()
    many = opened_zip(io.BytesIO(data), "many.zip", most_members=1000)
    with pytest.raises(ss.DataError, match=r"many\.zip: .*part of 9,840,000 bytes"), many:
        pass
    assert tracemalloc.get_traced_memory()[1] < 2 * MIB
    tracemalloc.stop()
    more = opened_zip(io.BytesIO(zip_of([(str(i), b"") for i in range(1001)])), "many.zip", most_members=1000)
    with pytest.raises(ss.DataError, match=r"1,001 files in the archive, and 1,000"), more:
        pass


def test_good_archives_are_read():
    members = [("a.txt", b"a" * 3 * MIB), ("b.txt", b"")]
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with opened_zip(io.BytesIO(zip_of(members, method)), "good.zip") as archive:
            for name, content in members:
                with archive.open(name) as stream:
                    assert b"".join(pieces(stream)) == content
    for mode in ("w", "w:gz"):
        found = tar_members(io.BytesIO(tar_of(members, mode)), "good.tar", most_members=9, most_bytes=8 * MIB)
        assert [(name, b"".join(pieces(stream, archives.TAR_PIECE))) for name, stream in found] == members


def long_header(kind, size):
    """The header of a tar that states so many bytes of a name, a link or of attributes."""
    entry = tarfile.TarInfo("././@LongLink")
    entry.type, entry.size = kind, size
    return entry.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_tar_header_that_states_gigabytes_is_not_read(kind, tmp_path):
    path = tmp_path / "long.tar"
    path.write_bytes(long_header(kind, 4 << 30) + bytes(1024))
    tracemalloc.start()
    assert "long.tar" in as_model(path)
    assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    tracemalloc.stop()


def test_a_packed_tar_is_bounded_in_members_and_bytes(tmp_path):
    from spoofspan.cm import model_sources

    many = tar_of([(f"{i}.txt", b"") for i in range(model_sources.MOST_MEMBERS + 1)], "w:gz")
    (tmp_path / "many.tar.gz").write_bytes(many)
    assert "more than 1,000 files" in as_model(tmp_path / "many.tar.gz")
    with pytest.raises(ss.DataError, match=r"big\.tar: the archive is damaged or locked \(it states a position"):
        list(tar_members(io.BytesIO(tar_of([("a", bytes(MIB))] * 3)), "big.tar", most_members=9, most_bytes=2 * MIB))


def test_a_tar_packed_by_anything_but_gzip_is_refused(tmp_path):
    path = tmp_path / "model.tar.xz"
    path.write_bytes(lzma.compress(tar_of([("config.toml", b"")])))
    assert "pack it again as .tar.gz, or as .zip" in as_model(path)


def test_headers_without_end_are_refused(tmp_path):
    """Names of names of names: Python's tarfile recurses."""
    path = tmp_path / "deep.tar"
    path.write_bytes((long_header(tarfile.GNUTYPE_LONGNAME, 1) + b"a".ljust(512, b"\0")) * 3000 + bytes(1024))
    assert "deep.tar" in as_model(path)


def test_a_zip_of_scores_is_to_be_unpacked(tmp_path):
    path = tmp_path / "s.zip"
    path.write_bytes(zip_of([("s.csv", "utterance,frame,score\nu1,0,0.5\n")]))
    for read in (ss.read_scores, ss.read_references, ss.read_utterance_scores):
        with pytest.raises(ss.DataError, match="it is a zip archive, and no npz file: unpack it"):
            read(path)
