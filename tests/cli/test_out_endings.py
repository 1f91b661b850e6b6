"""The ending of --out says the format of a result, in every command that writes one."""

import csv
import gzip
import json
from html.parser import HTMLParser

import pytest
from command_line import invoke

from spoofspan.cli import options
from spoofspan.cli.commands import COMMANDS as EVERY

FILES = ["references.rttm", "scores_20ms.parquet", "--durations", "reco2dur"]
# each command that writes a result to a file, with arguments that it accepts
COMMANDS = {
    "eval": ["eval", *FILES, "-m", "range-eer"],
    "check": ["check", *FILES],
    "compare": ["compare", *FILES, "scores_640ms.parquet"],
    "table": ["table", "--published"],
    "plan": ["plan", *FILES, "--to", "30"],
    "benchmarks": ["benchmarks"],
    "diff-references": ["diff-references", FILES[0], FILES[0], *FILES[2:]],
    "domains": ["domains", "nothing"],
    "leaderboard": ["challenge", "leaderboard", "nothing"],
}
RUN = [name for name, arguments in COMMANDS.items() if "nothing" not in arguments]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files") / "demo"
    assert invoke("demo", "--out", folder).exit_code == 0
    return folder


@pytest.fixture(autouse=True)
def in_the_folder_of_the_demo(demo, monkeypatch):
    monkeypatch.chdir(demo)


@pytest.mark.parametrize("command", RUN)
def test_the_ending_says_the_format(command, tmp_path):
    for ending in ("json", "csv", "tex", "md", "html", "txt"):
        done = invoke(*COMMANDS[command], "--out", tmp_path / f"result.{ending}")
        assert done.exit_code == 0, (done.output, done.exception)
        assert done.stdout == ""
    text = {one.suffix: one.read_text(encoding="utf-8") for one in tmp_path.iterdir()}
    json.loads(text[".json"])
    assert len({len(row) for row in csv.reader(text[".csv"].split("\n\n")[0].splitlines())}) == 1
    assert r"\begin{tabular}" in text[".tex"]
    assert "|---" in text[".md"]
    assert "---" in text[".txt"]
    assert "|---" not in text[".txt"]
    assert text[".html"].startswith("<!DOCTYPE html>")
    HTMLParser().feed(text[".html"])
    assert text[".html"].count("<table>") == text[".html"].count("</table>") > 0


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("turned", [False, True])
def test_an_ending_that_contradicts_the_format_is_refused(command, turned):
    flags = ["--format", "json", "--out", "result.csv"]
    done = invoke(*COMMANDS[command], *(flags[2:] + flags[:2] if turned else flags))
    assert "--out result.csv means --format csv, and --format json was given" in str(done.exception)


def test_an_unknown_ending_needs_a_format(tmp_path):
    done = invoke(*COMMANDS["eval"], "--out", "result.xlsx")
    assert ".txt, .json, .md, .tex, .csv, .html; for any other give --format" in str(done.exception)
    assert invoke(*COMMANDS["eval"], "--out", tmp_path / "result.xlsx", "--format", "json").exit_code == 0
    json.loads((tmp_path / "result.xlsx").read_text())


def test_packed_files_and_capitals_are_understood(tmp_path):
    assert invoke(*COMMANDS["eval"], "--out", tmp_path / "result.JSON.gz").exit_code == 0
    json.loads(gzip.decompress((tmp_path / "result.JSON.gz").read_bytes()))
    assert invoke(*COMMANDS["eval"], "--out", tmp_path / "result.json", "--format", "json").exit_code == 0
    assert invoke(*COMMANDS["eval"], "--out", tmp_path / "result").exit_code == 0
    assert (tmp_path / "result").read_text().startswith("measure ")


# their --out is no result: a folder, a calibration, or files of ranges
OTHERS = {"calibrate", "fuse", "locate", "demo", "build", "train", "score", "experiment"}


def test_every_command_that_prints_a_result_writes_it_by_the_same_option():
    apart = set()
    for command in EVERY:
        found = command.load()
        for one in [*getattr(found, "commands", {}).values()] or [found]:
            parameters = {param.name: param for param in one.params}
            if {"out", "format"} <= set(parameters) and parameters["out"].callback is not options._by_ending:
                apart.add(one.name)
    assert apart == OTHERS
