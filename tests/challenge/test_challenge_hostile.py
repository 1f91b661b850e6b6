"""Submissions that mean harm: refused with a sentence, quickly, and nothing outside of their folder is read."""

import gzip
import io
import json
import os
import stat
import unicodedata
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from challenge_cases import SECONDS, build, frame_lines, labels, scores, submit
from command_line import run

import spoofspan as ss
from spoofspan.challenge import scoring_process
from spoofspan.challenge.definition import Definition, PublicPart
from spoofspan.challenge.judging import NOT_SCORED, judge_of, score_file, score_submissions
from spoofspan.challenge.leaderboard import leaderboard
from spoofspan.challenge.submission_check import check_submission
from spoofspan.challenge.team_names import look_alike, plain_name

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


@pytest.mark.slow_cases("^parquet$")
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


@pytest.mark.parametrize(
    "name", ["Team 7", "über-spoof_2", "团队", "a.b", "0x", "チーム7", "한국 team", "команда", "ομάδα", "ทีมที่ดี", "फ़ाइल"]
)
def test_names_that_are_names(name):
    assert plain_name(unicodedata.normalize("NFKC", name), "the team")


@pytest.mark.parametrize(
    "name",
    [
        "a\u3164b",  # a letter that is drawn as nothing
        "\u115fa",
        "a\ufe0f",
        "a\u034fb",
        "a\u0336\u0337",  # marks on a Latin letter
        "\u05d0\u05b0\u05b1\u05b2",  # three on one of another script
        "\u0430lpha",  # Cyrillic a
        "\u03bfmega",  # Greek o
        "\u13aalpha",  # Cherokee
        "te\u0251m",  # of the phonetic alphabet
        "\uff41lpha",  # full width
        "\u2170v",  # a Roman numeral
        "\U0001d41balpha",  # mathematical
        "team \u0662",  # digits of another script
        "team\u02b0",  # a raised letter
        "a  b",  # drawn as one space
    ],
)
def test_names_that_deceive_are_refused(name):
    with pytest.raises(ss.DataError, match="choose another") as error:
        plain_name(name, "the team")
    assert str(error.value).isascii()


@pytest.mark.parametrize(
    "other", ["ALPHA", "Alpha", "a1pha", "\u0430\u04cf\u0440\u04bb\u0430", "\u0410LPHA", "alpha\u200b"]
)
def test_names_that_look_like_one_are_one(other):
    assert look_alike(other.replace("\u200b", "")) == look_alike("alpha")


def test_a_name_that_looks_like_an_earlier_teams_does_not_unseat_it(tmp_path):
    challenge, submissions = build(tmp_path / "challenge"), submit(tmp_path / "submissions")
    (submissions / "bravo.parquet").rename(submissions / "op.parquet")
    score_submissions(challenge, submissions)
    kept = {one: one.read_bytes() for one in (challenge / "results").rglob("*") if one.is_file()}
    for late in ("ALPHA", "\u043e\u0440"):  # upper case; all letters Cyrillic
        (submissions / f"{late}.parquet").write_bytes((submissions / "charlie.parquet").read_bytes())
    found = {one.team: one for one in score_submissions(challenge, submissions)}
    assert {team: one.state for team, one in found.items()} == {
        "ALPHA": "refused",
        "alpha": "kept",
        "charlie": "kept",
        "op": "kept",
        "\u043e\u0440": "refused",
    }
    assert "looks like that of the team 'alpha'" in found["ALPHA"].problems[0]
    (alone,) = score_submissions(challenge, submissions / "ALPHA.parquet")
    assert alone.state == "refused"
    assert {one: one.read_bytes() for one in (challenge / "results").rglob("*") if one.is_file()} == kept
    assert [one.system for one in leaderboard(challenge).ranks] == ["alpha", "op", "charlie"]


@pytest.mark.slow
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
    results = tmp_path / "results"
    results.mkdir()
    found = score_file(judge_of(challenge, None), submissions / "alpha.parquet", "alpha", results)
    assert not found.measured
    assert "RuntimeError" in found.problems[0]


def test_an_archive_that_does_not_fit_into_memory_is_refused_alone(tmp_path, monkeypatch):
    """Unpacking raises a MemoryError, and errors of LZMA where there is more memory."""
    monkeypatch.setattr(scoring_process, "MEMORY", 3 << 30)
    challenge = build(tmp_path / "challenge")
    submissions = submit(tmp_path / "submissions")
    with zipfile.ZipFile(submissions / "evil.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("scores.txt", GOOD)
    data = bytearray((submissions / "evil.zip").read_bytes())
    at = data.index(b"scores.txt") + len(b"scores.txt")
    data[at + 5 : at + 9] = b"\xff\xff\xff\xff"  # a dictionary of 4 GiB
    data[at + 12 : at + 40] = bytes(28)
    (submissions / "evil.zip").write_bytes(bytes(data))
    found = {one.team: one.state for one in score_submissions(challenge, submissions)}
    assert found == {"alpha": "scored", "bravo": "scored", "charlie": "scored", "evil": "refused"}


@not_on_windows
def test_a_submission_that_ends_its_process_is_refused_alone(challenge, tmp_path, monkeypatch):
    """One that takes too long here; one that takes too much memory ends in the same way."""
    submissions = submit(tmp_path / "submissions")
    started, patient = [], scoring_process.SECONDS

    class Process(scoring_process.ScoringProcess):
        def score(self, path, team):
            monkeypatch.setattr(scoring_process, "SECONDS", 0.0 if team == "bravo" else patient)
            return super().score(path, team)

        def _start(self):
            started.append(super()._start())
            return started[-1]

    monkeypatch.setattr("spoofspan.challenge.judging.ScoringProcess", Process)
    with_results = build(tmp_path / "challenge")
    found = {one.team: one for one in score_submissions(with_results, submissions)}
    assert {team: one.state for team, one in found.items()} == {
        "alpha": "scored",
        "bravo": "refused",
        "charlie": "scored",
    }
    assert found["bravo"].problems == (NOT_SCORED,)
    assert "ended with code -9" in found["bravo"].cautions[0]
    assert len(started) == 2
    assert all(one.returncode is not None for one in started)
    monkeypatch.setattr("spoofspan.challenge.judging.ScoringProcess", scoring_process.ScoringProcess)
    assert {one.state for one in score_submissions(with_results, submissions)} == {"kept", "scored"}


@not_on_windows
def test_a_process_that_does_not_start_changes_no_result(tmp_path, monkeypatch):
    challenge, submissions = build(tmp_path / "challenge"), submit(tmp_path / "submissions")
    monkeypatch.setattr(scoring_process, "PROGRAM", "raise SystemExit(5)")
    with pytest.raises(ss.DataError, match=r"does not start \(code 5\)"):
        score_submissions(challenge, submissions)
    assert not list((challenge / "results").rglob("*.json"))


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
        (lambda utt: f"{utt}.wav", "ids of the submission have an extension ('utt00.wav')"),
        (lambda utt: f"eval/{utt}", "ids of the submission have a folder ('eval/utt00')"),
        (lambda utt: f"eval/{utt}.flac", "ids of the submission have a folder and an extension"),
        (str.upper, "('UTT00') differ in upper and lower case"),
    ],
)
def test_ids_that_are_spelled_otherwise_are_said_to_be(changed, remedy, tmp_path):
    lines = [" ".join((changed(line.split()[0]), *line.split()[1:])) for line in frame_lines()]
    found = check_zip(tmp_path, lines, ABOUT_IT)
    assert remedy in found.problems[0]
    assert found.problems[0].endswith("meet: write them as the challenge does")
    assert len(found.problems) == 1  # all are missing, and all are unknown


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
