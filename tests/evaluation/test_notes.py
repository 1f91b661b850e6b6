"""What is odd without being wrong gets a note: ids that nobody has, and columns of scores that are not measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import run

import spoofspan as ss
from spoofspan.evaluation.breakdown import by_column

RANGES = {utt: [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")] for utt in ("u1", "u2")}
FRAMES = {utt: [9.0, 7.0, 8.0, 2.0, 5.0, 3.0, 6.0, 1.0] for utt in RANGES}
REGIONS = {"u1": [(0.0, 0.16)], "u2": [(0.0, 0.16)], "U2": [(0.0, 1.0)]}
REGIONS_NOTE = "regions of 1 utterance that is not measured: 'U2'"


def corpus() -> tuple[ss.References, ss.Scores]:
    return ss.References.from_ranges(RANGES), ss.Scores.from_frames(FRAMES, 0.02, higher="bonafide")


def test_regions_of_nobody_are_noted() -> None:
    assert ss.range_eer(*corpus(), regions=REGIONS).notes == (REGIONS_NOTE,)
    known = {utt: REGIONS[utt] for utt in RANGES}
    assert ss.range_eer(*corpus(), regions=known).notes == ()
    assert ss.range_eer(*corpus(), regions=known).value == ss.range_eer(*corpus(), regions=REGIONS).value


def test_many_are_counted() -> None:
    many = {f"v{i}": [(0.0, 1.0)] for i in range(1234)} | REGIONS
    (note,) = ss.range_eer(*corpus(), regions=many).notes
    assert note == "regions of 1,235 utterances that are not measured: 'U2', 'v0', 'v1', ..."


def test_regions_of_nobody_are_noted_in_shards(tmp_path: Path) -> None:
    rows = "".join(f"{utt},{a},{b},{label}\n" for utt, some in RANGES.items() for a, b, label in some)
    (tmp_path / "r.csv").write_text("utterance,start,end,label\n" + rows)
    rows = "".join(f"{utt},{k},{score}\n" for utt, some in FRAMES.items() for k, score in enumerate(some))
    (tmp_path / "s.csv").write_text("utterance,frame,score\n" + rows)
    with ss.sharded(tmp_path / "r.csv", tmp_path / "s.csv", hop=0.02, higher="bonafide", shards=2) as shards:
        assert len(shards) == 2
        found = ss.evaluate_shards(shards, ["range-eer"], regions=REGIONS)["range-eer"]
    assert found.notes == (REGIONS_NOTE,)
    assert found.value == ss.range_eer(*corpus(), regions=REGIONS).value


def test_metadata_of_nobody_are_noted() -> None:
    speakers = {"u1": "anna", "u2": "ben", "u3": "cy"}
    assert by_column(*corpus(), speakers, name="speaker").about == (
        "each speaker is measured on its own utterances, with the bona fide time inside them only; "
        "a speaker of 1 utterance that is not measured: 'u3'"
    )
    how = ss.Resampling(clusters=speakers, clusters_are="speaker", replicates=50)
    with pytest.warns(ss.SpoofspanWarning, match="few"):
        found = ss.evaluate(*corpus(), ["range-eer"], resampling=how)["range-eer"]
    assert found.notes == ("a speaker of 1 utterance that is not measured: 'u3'",)


# ---------------------------------------------------------------- columns that are not measured


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    rows = "".join(f"{u} 1 {a} {b - a} {label}\n" for u, some in RANGES.items() for a, b, label in some)
    rttm = re.sub(r"(\S+) 1 (\S+) (\S+) (\S+)", r"SPEAKER \1 1 \2 \3 <NA> <NA> \4 <NA> <NA>", rows)
    (tmp_path / "r.rttm").write_text(rttm)
    scores = [f"{u} {k} {score} {-score}\n" for u, some in FRAMES.items() for k, score in enumerate(some)]
    (tmp_path / "unit0.02.score").write_text("".join(scores))
    return tmp_path


@pytest.mark.parametrize(
    ("cell", "told"), [("7.x", "the score '7.x' cannot be read; it must be a number"), ("nan", "the score is NaN")]
)
def test_check_notes_garbage_in_a_column_that_is_not_measured(cell: str, told: str, lines: Path, capsys) -> None:
    scores = lines / "unit0.02.score"
    files = [lines / "r.rttm", scores, "--scores-format", "unit-score"]
    code, said = run(["check", *files], capsys)
    assert (code, "note:" in said.out) == (0, False)
    scores.write_text(scores.read_text().replace("u2 1 7.0 ", f"u2 1 {cell} "))
    code, said = run(["check", *files], capsys)
    assert code == 0
    (note,) = [line for line in said.out.splitlines() if line.startswith("note:")]
    assert note.startswith("note: column 'bonafide', which is not measured: ")
    assert f"{scores}:10: utterance 'u2', frame 1: {told}" in note
    # measuring does not read it, until it is asked for
    assert run(["eval", *files, "-m", "range-eer"], capsys)[0] == 0
    assert run(["eval", *files, "-m", "range-eer", "--column", "bonafide"], capsys)[0] == 3
    assert run(["check", *files, "--column", "bonafide"], capsys)[0] == 3
