"""Submissions that mean harm: refused with a sentence, quickly, and nothing outside of their folder is read."""

import gzip
import io
import json
import os
import stat
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from challenge_cases import SECONDS, build, frame_lines, labels, scores, submit
from command_line import run

import spoofspan as ss
from spoofspan.challenge.definition import Definition, plain_name
from spoofspan.challenge.judging import score_submissions
from spoofspan.challenge.leaderboard import leaderboard
from spoofspan.challenge.public_part import PublicPart
from spoofspan.challenge.submission_check import check_submission

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
MIB = 1 << 20
not_on_windows = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
GOOD = ("\n".join(frame_lines()) + "\n").encode()
ABOUT = json.dumps({"hop": 0.02, "higher": "bonafide"}).encode()


@pytest.fixture(scope="module")
def challenge(tmp_path_factory):
    return build(tmp_path_factory.mktemp("hostile") / "challenge")


@pytest.fixture
def refused(challenge, tmp_path):
    """Check a submission; what it is refused with."""

    def problems(path):
        before = {one: one.read_bytes() for one in tmp_path.rglob("*") if one.is_file() and one.stat().st_size < MIB}
        found = check_submission(PublicPart.read(challenge), path).problems
        assert {one: one.read_bytes() for one in before} == before
        assert found
        return "\n".join(found)

    return problems


def archive_of(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members:
            archive.writestr(member, data)
    return path


def link(name, target):
    member = zipfile.ZipInfo(name)
    member.create_system, member.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return member, target


def test_a_good_archive_passes(challenge, tmp_path):
    for folder in ("", "results/"):
        members = [(f"{folder}scores.txt", GOOD), (f"{folder}submission.json", ABOUT), ("__MACOSX/._scores.txt", b"\0")]
        path = archive_of(tmp_path / "good.zip", members)
        assert check_submission(PublicPart.read(challenge), path).problems == ()


@pytest.mark.parametrize(
    "name",
    ["../scores.txt", "a/../../scores.txt", "/etc/scores.txt", "..\\scores.txt", "C:\\scores.txt", "C:scores.txt"],
)
def test_paths_that_lead_out_of_an_archive(name, tmp_path, refused):
    path = archive_of(tmp_path / "evil.zip", [(name, GOOD), ("submission.json", ABOUT)])
    assert "leads out of its folder" in refused(path)
    assert [one.name for one in tmp_path.iterdir()] == ["evil.zip"]


@not_on_windows
def test_links_pipes_and_folders(challenge, tmp_path, refused):
    hidden = challenge / "hidden" / "references.parquet"
    assert "a link" in refused(archive_of(tmp_path / "link.zip", [link("scores.txt", str(hidden))]))
    folder = tmp_path / "team"
    folder.mkdir()
    (folder / "scores.parquet").symlink_to(hidden)
    assert "is a link" in refused(folder)
    (tmp_path / "alias.parquet").symlink_to(hidden)
    assert "is a link" in refused(tmp_path / "alias.parquet")
    os.mkfifo(tmp_path / "pipe.txt")
    assert "no plain file" in refused(tmp_path / "pipe.txt")
    (tmp_path / "deep" / "inner").mkdir(parents=True)
    assert "is a folder" in refused(tmp_path / "deep")


def test_a_list_that_points_at_other_files(challenge, tmp_path, refused):
    folder = tmp_path / "team"
    folder.mkdir()
    (folder / "scores.scp").write_text(f"utt00 {challenge / 'hidden' / 'references.parquet'}:4\n")
    (folder / "submission.json").write_text('{"format": "kaldi-scp", "hop": 0.02, "higher": "spoof"}')
    said = refused(folder)
    assert "names other files" in said
    assert "PAR1" not in said


@pytest.mark.parametrize("name", ["zip", "gz", "npz", "parquet"])
def test_bombs(name, tmp_path, refused):
    zeros = np.zeros(10 * MIB)
    path = tmp_path / {"zip": "b.zip", "gz": "b.txt.gz", "npz": "b.npz", "parquet": "b.parquet"}[name]
    if name == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("scores.txt", "w") as out:
            for _ in range(80):
                out.write(bytes(MIB))
    elif name == "gz":
        path.write_bytes(gzip.compress(GOOD) + gzip.compress(b"\n" * (16 * MIB), 1) * 5)
    elif name == "npz":
        np.savez_compressed(path, utt00=zeros)
    else:
        ids = pa.DictionaryArray.from_arrays(pa.array(np.zeros(zeros.size, np.int32)), ["utt00"])
        table = pa.table({"utterance": ids, "frame": zeros.astype(np.int32), "score": zeros})
        pq.write_table(table, path)
    assert path.stat().st_size < MIB
    began = os.times()
    said = refused(path)
    assert any(words in said for words in ("more than", "room for")), said
    assert os.times().user - began.user < 5


def test_a_size_that_lies(tmp_path, refused):
    """A header that says one byte, and data that go on: as much is unpacked as the header says, and that is wrong."""
    path = archive_of(tmp_path / "lie.zip", [("scores.txt", GOOD), ("submission.json", ABOUT)])
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.index(mark) + offset
        data[at : at + 4] = (1).to_bytes(4, "little")
    path.write_bytes(bytes(data))
    assert "the archive is damaged" in refused(path)


@pytest.mark.parametrize(
    "content", [b"PK\x03\x04 no more", b"", b"\0" * 5000, b"<html><script>alert(1)</script></html>", b"{" * 100_000]
)
@pytest.mark.parametrize("name", ["team.zip", "team.txt", "team.parquet", "team.json"])
def test_rubbish(content, name, tmp_path, refused):
    (tmp_path / name).write_bytes(content)
    assert "Traceback" not in refused(tmp_path / name)


@pytest.mark.parametrize(
    "about",
    [
        b"[1]",
        b"[" * 60_000,
        b'{"hop": "0.02"}',
        b'{"hop": -1}',
        b'{"hop": 1e999}',
        b'{"hop": NaN}',
        b'{"higher": "yes"}',
        b'{"format": "../x"}',
        b'{"regions": "../hidden"}',
        b'{"' + b"x" * 70_000 + b'": 1}',
        b"\xff\xfe",
    ],
)
def test_what_a_team_says_of_its_files(about, tmp_path, refused):
    folder = tmp_path / "team"
    folder.mkdir()
    (folder / "scores.txt").write_bytes(GOOD)
    (folder / "submission.json").write_bytes(about)
    assert len(refused(folder)) < 1000


def test_too_many_files(tmp_path, refused):
    path = archive_of(tmp_path / "many.zip", [(f"{i}.txt", b"") for i in range(1001)])
    assert "1,001 files" in refused(path)
    same = archive_of(tmp_path / "same.zip", [("a.txt", GOOD), ("A.txt", GOOD)])
    assert "twice" in refused(same)
    apart = archive_of(tmp_path / "apart.zip", [("a/s.txt", GOOD), ("b/t.txt", GOOD)])
    assert "several folders" in refused(apart)


@pytest.mark.parametrize(
    "name",
    [
        "..",
        ".hidden",
        "a/b",
        "a\\b",
        "<img src=x onerror=alert(1)>",
        "a\x1b[31mred",
        "a\nb",
        "\u202egnp.exe",
        "zero\u200bwidth",
        "=cmd()",
        "-rf",
        "a;b",
        "a&b",
        "CON",
        "nul.txt",
        "",
        " a",
        "a ",
        "a.",
        "x" * 61,
        "e\u0301",
        "$(id)",
    ],
)
def test_names_that_are_no_names(name):
    with pytest.raises(ss.DataError, match="choose another") as error:
        plain_name(name, "the team")
    assert str(error.value).isascii()
    assert "\x1b" not in str(error.value)
    assert "device" in str(error.value)  # the reason of CON, which is of letters alone


@pytest.mark.parametrize("name", ["Team 7", "über-spoof_2", "团队", "a.b", "0x"])
def test_names_that_are_names(name):
    assert plain_name(name, "the team") == name


@not_on_windows
def test_hostile_teams_among_others(tmp_path, capsys):
    """The commands refuse each, score the rest, and print nothing that a terminal would act on."""
    challenge, submissions = build(tmp_path / "challenge"), submit(tmp_path / "submissions")
    (submissions / "<script>alert(1)<").write_bytes(GOOD)
    (submissions / "red\x1b[31m.txt").write_bytes(GOOD)
    (submissions / "=1+1.csv").write_bytes(GOOD)
    (submissions / "loop").symlink_to(challenge / "hidden")
    archive_of(submissions / "evil.zip", [("../../challenge/public/challenge.json", b"{}")])
    before = (challenge / "public" / "challenge.json").read_bytes()
    for spelling in ("text", "json", "csv"):
        code, printed = run(["challenge", "score", challenge, submissions, "--format", spelling], capsys)
        assert code == 3
        assert "\x1b" not in printed.out + printed.err
    assert [one.system for one in leaderboard(challenge).ranks] == ["alpha", "bravo", "charlie"]
    assert (challenge / "public" / "challenge.json").read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["challenge", "submissions"]
    states = {one.team: one.state for one in score_submissions(challenge, submissions)}
    assert sum(state == "refused" for state in states.values()) == 5


def test_a_reader_that_fails_in_an_unknown_way_is_told(challenge, tmp_path, monkeypatch):
    submissions = submit(tmp_path / "submissions")

    def fail(*_, **__):
        raise RuntimeError("a bug")

    monkeypatch.setattr("spoofspan.challenge.submission.read_scores", fail)
    found = score_submissions(challenge, submissions)
    assert {one.state for one in found} == {"refused"}
    assert all("RuntimeError" in one.problems[0] for one in found)


def test_ids_with_markup_are_told_as_text(challenge, tmp_path, capsys):
    values = {**dict.fromkeys(labels().utterances, np.ones(56)), "<b>x</b>\x1b[2J": np.ones(3)}
    table = pa.table({"utterance": list(values), "scores": [one.tolist() for one in values.values()]})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    folder = tmp_path / "team"
    folder.mkdir()
    (folder / "scores.parquet").write_bytes(buffer.getvalue())
    (folder / "submission.json").write_bytes(ABOUT)
    code, printed = run(["challenge", "check", challenge, folder], capsys)
    assert code == 3
    assert "is not in the challenge" in printed.out
    assert "\x1b" not in printed.out


def test_the_folder_of_temporary_files_is_left_empty(challenge, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    Path(tmp_path / "temporary").mkdir()
    for name in ("scores.txt", "../scores.txt"):
        path = archive_of(tmp_path / "team.zip", [(name, GOOD), ("submission.json", ABOUT)])
        check_submission(PublicPart.read(challenge), path)
    assert not list((tmp_path / "temporary").iterdir())
    assert scores(labels(), 0.6).values.size == len(frame_lines())


# ---------------------------------------------------------------- mistakes of friends


def check_zip(tmp_path, lines, about, **more):
    files = {"scores.txt": "\n".join(lines), "submission.json": about, **more}
    with zipfile.ZipFile(tmp_path / "team.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    definition = Definition("Small challenge", ("range-eer",))
    public = PublicPart.of(definition, SECONDS)
    return check_submission(public, tmp_path / "team.zip")


ABOUT_IT = '{"hop": 0.02, "higher": "bonafide"}'


@pytest.mark.parametrize(
    ("changed", "remedy"),
    [
        (lambda utt: f"{utt}.wav", "as 'utt00.wav' from 'utt00': leave out their endings"),
        (lambda utt: f"eval/{utt}", "as 'eval/utt00' from 'utt00': leave out their folders"),
        (lambda utt: f"eval/{utt}.flac", "leave out their folders and endings"),
        (str.upper, "as 'UTT00' from 'utt00': mind upper and lower case"),
    ],
)
def test_ids_that_are_spelled_otherwise_are_said_to_be(changed, remedy, tmp_path):
    lines = [" ".join((changed(line.split()[0]), *line.split()[1:])) for line in frame_lines()]
    found = check_zip(tmp_path, lines, ABOUT_IT)
    assert remedy in found.problems[0]
    assert len(found.problems) == 3  # and which are missing, and which are unknown


def test_a_mark_of_windows_and_other_letters_in_the_name_are_no_mistakes(tmp_path):
    assert check_zip(tmp_path, frame_lines(), "\ufeff" + ABOUT_IT).passed
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("scores.txt", "\n".join(frame_lines()))
        archive.writestr("Submission.JSON", ABOUT_IT)
    public = PublicPart.of(Definition("Small challenge", ("range-eer",)), SECONDS)
    assert check_submission(public, tmp_path / "other.zip").passed


def test_what_is_said_twice_and_archives_in_archives_are_refused(tmp_path):
    (said,) = check_zip(tmp_path, frame_lines(), '{"hop": 0.02, "higher": "bonafide", "hop": 0.04}').problems
    assert said == "submission.json: 'hop' is said twice; keep one of them"
    (said,) = check_zip(tmp_path, frame_lines(), ABOUT_IT, **{"inner.zip": b"PK"}).problems
    assert "'inner.zip' is an archive" in said


def test_scores_that_say_the_opposite_are_scored_with_a_warning(tmp_path):
    challenge = build(tmp_path / "challenge", measures=("range-eer",), by={})
    (tmp_path / "submissions" / "alpha").mkdir(parents=True)
    (tmp_path / "submissions" / "alpha" / "scores.txt").write_text("\n".join(frame_lines()))
    (tmp_path / "submissions" / "alpha" / "submission.json").write_text('{"hop": 0.02, "higher": "spoof"}')
    (only,) = score_submissions(challenge, tmp_path / "submissions")
    assert only.state == "scored"
    assert only.cautions == ["range-eer is over 50 %: do high scores mean what the submission says of them?"]
