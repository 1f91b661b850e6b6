"""A file is identified once, and one in the wrong place is named by what it holds, on every road."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from command_line import run

import spoofspan as ss
from spoofspan.formats.format import Format
from spoofspan.formats.identify import Contents
from spoofspan.formats.registry import REFERENCE_FORMATS, SCORE_FORMATS, UTTERANCE_SCORE_FORMATS
from spoofspan.scale.memory import fits_into_memory

pytestmark = pytest.mark.quick
LENGTHS = {"u1": 0.8, "u2": 2.4}
RANGES = {utt: [(0.0, length / 2, "bonafide"), (length / 2, length, "spoof")] for utt, length in LENGTHS.items()}
# Counts, for each command that is read from standard input, the opens of each input and the formats asked about it.
CHILD = """
import json, sys
from collections import Counter
from pathlib import Path

opened, asked = Counter(), Counter()

def note(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        opened[Path(arguments[0]).name] += 1

sys.addaudithook(note)
from spoofspan.cli import main
from spoofspan.formats import arrow, registry

def counting(name, format, recognises):
    def ask(head):
        asked[f"{name}:{format}:{hash(head)}"] += 1
        return recognises(head)
    return ask

for name in ("REFERENCE", "SCORE", "UTTERANCE_SCORE", "PROPOSAL"):
    for one in getattr(registry, f"{name}_FORMATS").formats.values():
        object.__setattr__(one, "recognises", counting(name, one.name, one.recognises))

def seen(opener):
    def open(path, *more):
        opened[Path(path).name] += 1  # Arrow opens files itself, and raises no event
        return opener(path, *more)
    return open

arrow.memory_map, arrow.OSFile = seen(arrow.memory_map), seen(arrow.OSFile)
found = []
for command in json.load(sys.stdin):
    opened.clear(), asked.clear()
    sys.argv = ["spoofspan", *command]
    try:
        main()
    except SystemExit as stopped:
        code = stopped.code or 0
    found.append([code, dict(opened), sorted(asked.values()), len(asked)])
print(json.dumps(found), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One corpus in several formats, in a folder."""
    folder = tmp_path_factory.mktemp("identify")
    references = ss.References.from_ranges(RANGES, durations=LENGTHS)
    frames = {utt: np.linspace(1, 0, round(length / 0.02)) for utt, length in LENGTHS.items()}
    scores = ss.Scores.from_frames(frames, hop=0.02, higher="spoof")
    for name in ("ref.rttm", "ref.csv", "ref.parquet", "ref.jsonl", "ref.arrow"):
        ss.write_references(references, folder / name)
    for name in ("s.csv", "s.csv.gz", "s.parquet", "s.jsonl", "s.arrow", "s.npz"):
        ss.write_scores(scores, folder / name)
    ss.write_scores(scores, folder / "unit0.02.score", format="unit-score")
    (folder / "reco2dur").write_text("".join(f"{utt} {length}\n" for utt, length in LENGTHS.items()))
    (folder / "protocol.txt").write_text("LA_1 u1 - - bonafide\nLA_2 u2 - A01 spoof\n")
    (folder / "cm.tsv").write_text("filename\tcm-score\nu1\t0.9\nu2\t0.1\n")
    (folder / "both.tsv").write_text("filename\tcm-score\tsasv-score\nu1\t0.9\t1\nu2\t0.1\t0\n")
    (folder / "proposals.json").write_text('{"u1.mp4": [[0.9, 0.5, 1.25]], "u2.mp4": []}')
    return folder


def child(folder, commands):
    """The exit code, the opens by file, and how often each format was asked, of each command."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(commands),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stderr.splitlines()[-1])


def test_every_input_of_eval_is_opened_at_most_twice(folder):
    files = [
        ["ref.rttm", "unit0.02.score", "--durations", "reco2dur"],
        ["ref.csv", "s.csv"],
        ["ref.csv", "s.csv.gz"],
        ["ref.jsonl", "s.jsonl"],
        ["ref.parquet", "s.parquet"],
        ["ref.arrow", "s.arrow"],
        ["ref.parquet", "s.npz", "--hop", "0.02", "--higher", "spoof"],
    ]
    commands = [["eval", *each, "-m", "range-eer", *more] for each in files for more in ([], ["--stream"])]
    whole = ["eval", "protocol.txt", "--utterance-scores", "cm.tsv", "-m", "utterance-eer"]
    commands += [whole, [*whole, "--by", "attack"], [*whole, "--by", "attack,speaker", "-m", "utterance-auc"]]
    columns = ["--by", "speaker", "--by", "attack", "--metadata", "protocol.txt"]
    commands += [["eval", "ref.csv", "s.csv", "-m", "range-eer", *columns, "--confidence", "0.9"]]
    commands += [["eval", "protocol.txt", "--utterance-scores", "both.tsv", "-m", "utterance-eer"]]
    for command, (code, opened, asked, _) in zip(commands, child(folder, commands), strict=True):
        assert code == 0, command
        inputs = {name: opened.get(name, 0) for name in command if (folder / name).is_file()}
        assert set(inputs.values()) <= {1, 2}, (command, inputs)
        assert set(asked) == {1}, command  # no format is asked twice about the same bytes


def test_only_formats_that_matter_are_asked(folder):
    ((_, _, _, count),) = child(folder, [["eval", "ref.rttm", "unit0.02.score", "--durations", "reco2dur"]])
    proposals = 2  # in the place of scores, as scores of whole utterances are
    kinds = (REFERENCE_FORMATS, SCORE_FORMATS, UTTERANCE_SCORE_FORMATS)
    by_content = [one for kind in kinds for one in kind.formats.values() if not one.named]
    assert count == len(by_content) + proposals


@pytest.mark.parametrize(
    ("read", "name", "message"),
    [
        (ss.read_references, "unit0.02.score", "looks like scores, not references; give references, or state"),
        (ss.read_references, "protocol.txt", "looks like utterance labels, not references"),
        (ss.read_references, "cm.tsv", "looks like utterance scores, not references"),
        (ss.read_scores, "cm.tsv", "looks like utterance scores, not scores"),
        (ss.read_scores, "proposals.json", "looks like proposals, not scores"),
        (ss.read_scores, "protocol.txt", "looks like utterance labels, not scores"),
        (ss.read_utterance_scores, "unit0.02.score", "looks like scores, not utterance scores"),
        (ss.read_durations, "ref.rttm", "looks like references, not durations; give durations"),
        (ss.read_durations, "unit0.02.score", "looks like scores, not durations"),
    ],
)
def test_python_names_what_a_misplaced_file_holds(read, name, message, folder):
    with pytest.raises(ss.UsageError, match=message) as caught:
        read(folder / name)
    assert str(caught.value).startswith(str(folder / name))


def test_a_format_that_is_named_is_believed(folder):
    with pytest.raises(ss.DataError, match="RTTM has 9 or 10 fields"):
        ss.read_references(folder / "unit0.02.score", format="rttm")


@pytest.mark.parametrize("more", [[], ["--stream"]])
def test_the_shell_names_swapped_files_in_its_own_words(more, folder, capsys):
    code, printed = run(["eval", folder / "unit0.02.score", folder / "ref.rttm", *more], capsys)
    assert code == 2
    assert "unit0.02.score looks like scores; REFERENCES come first, then SCORES" in printed.err
    swapped = ["eval", folder / "ref.rttm", folder / "unit0.02.score", "--durations", folder / "ref.rttm", *more]
    code, printed = run(swapped, capsys)
    assert code == 2
    assert "ref.rttm looks like references, and is given as --durations" in printed.err


def test_contents_of_no_file_are_of_no_kind(folder):
    assert Contents(folder / "missing").kinds == set()
    assert Contents(folder / "ref.rttm").kinds == {"references", "scores"}  # decisions have the same format
    assert Contents(folder / "proposals.json").holds("proposals", but_not="scores")


def test_files_that_fit_into_memory_in_any_case_are_not_opened(folder):
    found = Contents([folder / "ref.rttm", folder / "s.parquet"]).sources
    assert fits_into_memory(found)
    assert [source.look.stored for source in found] == [None, None]


def test_a_format_is_a_reader_and_a_recogniser(tmp_path, monkeypatch):
    def recognises(head):
        return head.startswith(b"#arrows\n")

    def read(sources, options):
        lines = [line.split(" -> ") for source in sources for _, line in list(source.lines())[1:]]
        return ss.References.from_ranges({utt: [(0.0, float(end), label)] for utt, end, label in lines})

    form = Format("arrows", "<utt> -> <end> -> <label>", read, recognises)
    monkeypatch.setitem(REFERENCE_FORMATS.formats, form.name, form)
    file = tmp_path / "x.txt"
    file.write_text("#arrows\nu1 -> 1.5 -> spoof\nu2 -> 2.0 -> bonafide\n")
    assert ss.read_references(file).utterances == ("u1", "u2")
    with pytest.raises(ss.UsageError, match="looks like references, not scores"):
        ss.read_scores(file)


def test_check_opens_a_score_file_twice(folder):
    commands = [["check", "ref.rttm", "unit0.02.score", "--durations", "reco2dur"], ["check", "cm.tsv"]]
    for command, (code, opened, *_) in zip(commands, child(folder, commands), strict=True):
        assert code == 0, command
        assert all(opened.get(name, 0) <= 2 for name in command), (command, opened)
