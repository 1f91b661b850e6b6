"""What is typed and would be lost, or blamed on something else, is refused with what to type instead."""

from __future__ import annotations

import pytest
from command_line import run

from spoofspan.cli.commands import COMMANDS
from spoofspan.cli.help import HelpCommand

FILES = ["eval", "ref.rttm", "a.score"]


def every_command():
    """Each command that takes options, with the words that call it."""
    for lazy in COMMANDS:
        command = lazy.load()
        inner = getattr(command, "commands", None)
        if inner is None:
            yield (lazy.name,), command
        else:
            yield from (((lazy.name, name), one) for name, one in inner.items())


COMMANDS_BY_NAME = dict(every_command())


@pytest.mark.parametrize("words", COMMANDS_BY_NAME, ids=" ".join)
def test_a_flag_of_one_value_cannot_be_repeated(words, capsys):
    command = COMMANDS_BY_NAME[words]
    assert isinstance(command, HelpCommand)
    single = [
        param
        for param in command.params
        if param.param_type_name == "option" and not (param.multiple or param.is_flag or param.count)
    ]
    for param in single[:2]:
        flag = max(param.opts, key=len)
        code, printed = run([*words, flag, "1", flag, "2"], capsys)
        assert (code, printed.out) == (2, ""), flag
        assert f"{flag} is given 2 times, and takes one value" in printed.err


@pytest.mark.parametrize(
    "more", [["--interval=bca", "--interval=percentile"], ["--metadata", "a", "--hop", "1", "--metadata", "b"]]
)
def test_a_repetition_is_found_wherever_it_stands(more, capsys):
    code, printed = run([*FILES, *more], capsys)
    assert code == 2
    assert f"{more[0].partition('=')[0]} is given 2 times" in printed.err


def test_what_may_be_repeated_still_can(capsys):
    code, printed = run(
        [*FILES, "-m", "range-eer", "-m", "range-f1", "-q", "--quiet", "--by", "attack", "--by", "length"], capsys
    )
    assert "times" not in printed.err
    assert "no file" in printed.err
    assert code == 2


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            [*FILES, "-m", "range-eer", "range-f1"],
            "range-f1 is a measure; give each its own flag: -m range-eer -m range-f1",
        ),
        (["eval", "-m", "range-eer", "range-f1", "ref.rttm", "a.score"], "-m range-eer -m range-f1"),
        (["compare", "ref", "a", "b", "-m", "range-eer", "point-eer@20ms"], "-m range-eer -m point-eer@20ms"),
        (["table", "ref", "a", "-m", "range-eer", "range-f1"], "-m range-eer -m range-f1"),
        (["table", "ref", "a", "--resolutions", "20", "160"], "with commas: --resolutions 20,160"),
        ([*FILES, "-m", "point-eer", "--resolutions", "20", "160"], "-m point-eer@20ms -m point-eer@160ms"),
        ([*FILES, "--resolutions", "20,160"], "spoofspan table REFERENCES SCORES --resolutions 20,160"),
        ([*FILES, "--json"], "no option --json: give --format json"),
        ([*FILES, "--csv"], "no option --csv: give --format csv"),
        ([*FILES, "-m", "RangeEER"], "did you mean 'range-eer'?"),
        ([*FILES, "-m", "PointEER"], "did you mean 'point-eer@20ms'?"),
        ([*FILES, "reco2dur"], "one argument too many: 'reco2dur'; if it has durations: --durations reco2dur"),
        (["table", "ref", "a", "--resolution", "20"], "no option --resolution: give --resolutions 20,160"),
        (["compare", "ref", "a", "b", "--threshold", "0.4"], "give each system its own: --system-threshold NAME=0.4"),
        (["compare", "ref", "a", "=", "a.score", "b=b.score"], "'=' names nothing; write NAME=FILE without blanks"),
        (["compare", "ref", "a=", "a.score", "b=b.score"], "'a=' names nothing; write NAME=FILE without blanks"),
        (["plot", "ref.rttm", "a.score", "--out", "a.png"], "KIND comes before files, and is one of det, roc"),
        (["compare", "ref.rttm", "a.score"], "at least two systems (got 1); spoofspan eval measures one"),
        (["compare", "unit0.02.score", "other.score"], "unit0.02.score has scores, and nothing says where the spoofs"),
        (["report", "ref.rttm", "a.score"], "Missing option '--out'. The page to write."),
        (["corpus", "build"], "Missing argument 'OUT'. Folder to build the corpus in."),
        ([*FILES, "--per-utterance", "u.xlsx"], "u.xlsx: errors by utterance are written as .csv, .json or .parquet"),
        (["check", "https://example.org/a.score"], "files on the web are not read; download it, and give the path"),
        (["check"], "give a file to be identified, or REFERENCES and SCORES to be checked"),
        ([*FILES, "b.score"], "one argument too many: 'b.score'; for several systems: spoofspan compare"),
    ],
)
def test_the_message_says_what_to_type(typed, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("ref.rttm", "a.score"):
        (tmp_path / name).write_text("SPEAKER u1 1 0.000 1.200 <NA> <NA> bonafide <NA> <NA>\n")
    (tmp_path / "reco2dur").write_text("u1 1.2\n")
    for name in ("unit0.02.score", "other.score"):
        (tmp_path / name).write_text("".join(f"u1 {k} 0.9 -0.9\n" for k in range(60)))
    code, printed = run(typed, capsys)
    assert (code, printed.out) == (2, "")
    assert said in printed.err


def test_names_of_formats_and_figures_may_be_in_capitals(capsys):
    code, printed = run(["benchmarks", "lav-df", "--format", "JSON"], capsys)
    assert (code, printed.out[:1]) == (0, "{")


def test_a_file_that_is_called_like_a_measure_is_a_file(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "range-f1").write_text("")
    _, printed = run(["compare", "ref", "range-f1", "-m", "range-eer"], capsys)
    assert "is a measure" not in printed.err
