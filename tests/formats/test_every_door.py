"""Every command takes every form of scores, and the command that an answer prints works when it is typed.

A corpus of 40 utterances, with scores that overlap, in the forms that tools of the field write.
"""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from test_shelf import CASES, COMPANIONS

UTTERANCES = [f"LA_E_{1000000 + 7919 * i}" for i in range(40)]
SPOOFED = {utt: i % 3 == 0 or i % 10 in (1, 3, 7, 9) for i, utt in enumerate(UTTERANCES)}
NOISE = np.random.default_rng(7).normal(scale=2, size=(2, 40))
OURS = {utt: float(np.round(NOISE[0, i] + (-1 if SPOOFED[utt] else 1), 5)) for i, utt in enumerate(UTTERANCES)}
THEIRS = {utt: float(np.round(NOISE[1, i] + (-1 if SPOOFED[utt] else 1), 5)) for i, utt in enumerate(UTTERANCES)}
LABEL = {utt: "spoof" if SPOOFED[utt] else "bonafide" for utt in UTTERANCES}
ATTACK = {utt: f"A0{7 + i % 3}" if SPOOFED[utt] else "-" for i, utt in enumerate(UTTERANCES)}


def text(line, scores=OURS):
    return "".join(line(utt, scores[utt]) + "\n" for utt in UTTERANCES)


def digit(utt):
    return 0 if SPOOFED[utt] else 1


# Each form of scores of whole utterances: the file, its content, what must be said of it, and what a conversion needs
# where other systems do not have what is said (a column, a format).
FORMS = {
    "two columns": ("s.txt", text(lambda u, s: f"{u} {s}"), "--higher ours=bonafide", None),
    "ASVspoof 2019": ("s.txt", text(lambda u, s: f"{u} {ATTACK[u]} {LABEL[u]} {s}"), "--higher ours=bonafide", None),
    "AIR": ("s.txt", text(lambda u, s: f"{u} {-s} {LABEL[u]}"), "--higher ours=spoof", None),
    "log": ("s.log", "epoch 3\n" + text(lambda u, s: f"Output, {u}, {digit(u)}, {s}"), "", None),
    "two logits": ("s.txt", text(lambda u, s: f"{u} {s - 1} {s}"), "", "--column second --higher bonafide"),
    "CSV": ("s.csv", "ID,prob_fake\n" + text(lambda u, s: f"{u},{1 / (1 + np.exp(s))}"), "", None),
    "JSON Lines": ("s.jsonl", text(lambda u, s: json.dumps({"filename": u, "bonafide_score": s})), "", None),
    "ESDD2": ("s.txt", text(lambda u, s: f"{u}|original|{s}|0.1|0.2"), "", "--column s1 --higher bonafide"),
    "ASVspoof 5": ("s.tsv", "filename\tcm-score\n" + text(lambda u, s: f"{u}\t{s}"), "", None),
    "AV-Deepfake1M": ("s.txt", text(lambda u, s: f"{u};{-s}"), "", None),
    "utt.score": ("s.score", text(lambda u, s: f"{u} {s} {-s}"), "", None),
    "log_output": ("s.txt", text(lambda u, s: f"Output, {u}, {digit(u)}, " + ", ".join([str(s)] * 7)), "", None),
}
COMMANDS = (
    "compare key.txt ours={} theirs=theirs.tsv",
    "report key.txt ours={} theirs=theirs.tsv --out page.html",
    "domains key_{set}.txt ours={set}_{} --set a --set b",
    "plot det key.txt ours={} theirs=theirs.tsv --out det.svg",
    "table key.txt ours={} theirs=theirs.tsv",
    "plan key.txt ours={} theirs=theirs.tsv",
    "calibrate key.txt {} --out map.json",
    "fuse key.txt ours={} theirs=theirs.tsv --out fusion.json",
)


def eer():
    """The EER of OURS by counting: the mean of the two rates at the threshold where they differ least."""
    rates = []
    for tau in [*sorted(OURS.values()), np.inf]:
        called = {utt: OURS[utt] < tau for utt in UTTERANCES}
        false_positive = np.mean([called[utt] for utt in UTTERANCES if not SPOOFED[utt]])
        false_negative = np.mean([not called[utt] for utt in UTTERANCES if SPOOFED[utt]])
        rates.append((abs(false_positive - false_negative), (false_positive + false_negative) / 2))
    return min(rates)[1]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    key = "".join(f"S{i % 8} {utt} - {ATTACK[utt]} {LABEL[utt]}\n" for i, utt in enumerate(UTTERANCES))
    for name in ("key.txt", "key_a.txt", "key_b.txt"):
        Path(name).write_text(key)
    Path("theirs.tsv").write_text("filename\tcm-score\n" + text(lambda u, s: f"{u}\t{s}", THEIRS))
    return tmp_path


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
@pytest.mark.parametrize("form", FORMS)
def test_every_command_takes_every_form_of_utterance_scores(form, folder, capsys):
    name, content, flags, to_convert = FORMS[form]
    Path(name).write_text(content)
    if to_convert is not None:
        code, said = run(["convert", name, "one.tsv", *to_convert.split()], capsys)
        assert code == 0, said.err
        name = "one.tsv"
    for copy in "ab":
        Path(f"{copy}_{name}").write_bytes(Path(name).read_bytes())
    alone = flags.replace("ours=", "")
    code, said = run(["eval", "key.txt", name, *alone.split(), "--format", "json"], capsys)
    assert code == 0, said.err
    assert json.loads(said.out)["measurements"][0]["value"] == pytest.approx(eer(), abs=1e-12)
    for command in COMMANDS:
        typed = command.replace("{}", name).split() + (flags if "ours=" in command else alone).split()
        code, said = run(typed, capsys)
        assert code == 0, (typed, said.err)


# ---------------------------------------------------------------- what check prints is typed

FILES = {(case.name, str(case.content)): case for case in CASES if not case.name.endswith(".eaf")}
# What stands for the parts of a command that a person fills in.
FILLED = {
    " KEY": " key.txt",
    " REFERENCES": " ref.rttm",
    "RECO2DUR": "reco2dur",
    "SECONDS": "0.5",
    "bonafide|spoof": "bonafide",
    "0|1": "1",
}
# What is left for an error to say, since a file alone does not show it.
LATER = (
    "--bare-ids",
    "--gaps",
    "--partial",
    "--reference-hop",
    "--spoof-label",
    "--durations",
    "one class",
    "hop",
    "in common",
)


@pytest.mark.slow
@pytest.mark.parametrize("case", FILES.values(), ids=lambda case: f"{case.whose}: {case.name}")
def test_the_command_that_check_prints_works(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    content = case.content() if callable(case.content) else case.content
    for name, one in (COMPANIONS | case.beside | {case.name: content}).items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(one.encode() if isinstance(one, str) else one)
    code, said = run(["check", case.name, "--format", "json"], capsys)
    if code != 0:
        return  # refused, as the shelf says
    command = json.loads(said.out)["facts"]["command"].partition("; or, if")[0]
    for part, filled in FILLED.items():
        command = command.replace(part, filled)
    in_time = " unit0.5.score" in case.command or "ref.rttm" in case.command
    command = command.replace(" SCORES", " unit0.5.score" if in_time else " scores.tsv")
    if not command.startswith("spoofspan eval") or "NAME" in command or "|" in command:
        return
    code, said = run(shlex.split(command)[1:], capsys)
    assert code == 0 or any(word in said.err for word in LATER), (command, said.err)


# ---------------------------------------------------------------- remedies in the words of the shell

RANGES = [
    ("u1", 0.0, 0.3, "bonafide"),
    ("u1", 0.3, 0.6, "spoof"),
    ("u1", 0.6, 1.0, "bonafide"),
    ("u2", 0.0, 0.4, "spoof"),
    ("u2", 0.4, 0.7, "bonafide"),
    ("u2", 0.7, 1.0, "spoof"),
]


def told_to_type(typed, capsys, pattern):
    """The command of the shell in a refusal."""
    code, said = run(typed, capsys)
    assert code != 0
    return re.search(pattern, said.err)[1]


@pytest.fixture
def shell(tmp_path, monkeypatch):
    if sys.platform == "win32":
        pytest.skip("commands of a POSIX shell")
    monkeypatch.chdir(tmp_path)
    for name in ("ref.rttm", "unit0.5.score", "reco2dur"):
        Path(name).write_text(COMPANIONS[name])

    def type_it(command):
        subprocess.run(["sh", "-c", command], check=True, cwd=tmp_path)

    return type_it


def value_of(arguments, capsys):
    code, said = run([*arguments, "-m", "range-eer", "--format", "json"], capsys)
    assert code == 0, said.err
    return json.loads(said.out)["measurements"][0]["value"]


def test_ends_in_the_place_of_durations_are_mended_by_the_printed_command(shell, capsys):
    Path("end.rttm").write_text("".join(f"SPEAKER {u} 1 {a} {b} <NA> <NA> {x} <NA> <NA>\n" for u, a, b, x in RANGES))
    Path("right.rttm").write_text(
        "".join(f"SPEAKER {u} 1 {a} {b - a} <NA> <NA> {x} <NA> <NA>\n" for u, a, b, x in RANGES)
    )
    shell(
        told_to_type(["eval", "end.rttm", "unit0.5.score", "--durations", "reco2dur"], capsys, r"(awk .*fixed\.rttm)")
    )
    mended = value_of(["eval", "fixed.rttm", "unit0.5.score"], capsys)
    assert mended == value_of(["eval", "right.rttm", "unit0.5.score"], capsys)


def test_the_times_of_htk_are_made_seconds_by_the_printed_command(shell, capsys):
    for folder, unit in (("right", 1), ("htk", 10**7)):
        Path(folder).mkdir()
        for utt in ("u1", "u2"):
            lines = (f"{round(a * unit, 1):.15g} {round(b * unit, 1):.15g} {x}\n" for u, a, b, x in RANGES if u == utt)
            Path(folder, f"{utt}.lab").write_text("".join(lines))
    command = told_to_type(["eval", "htk", "unit0.5.score"], capsys, r"(mkdir .*done)")
    shell(f"cd htk; {command}")
    mended = value_of(["eval", "htk/seconds", "unit0.5.score"], capsys)
    assert mended == value_of(["eval", "right", "unit0.5.score"], capsys)


def test_words_become_regions_by_the_printed_command(shell, capsys):
    Path("mfa").mkdir()
    for utt in ("u1", "u2"):
        rows = f"Begin,End,Label,Type,Speaker\n0.0,0.5,a,words,{utt}\n0.0,0.2,AH,phones,{utt}\n0.6,1.0,b,words,{utt}\n"
        Path(f"mfa/{utt}.csv").write_text(rows)
    Path("words.ctm").write_text("".join(f"{utt} 1 0.0 0.5 a\n{utt} 1 0.6 0.4 b\n" for utt in ("u1", "u2")))
    by_table = told_to_type(["eval", "mfa/u1.csv", "unit0.5.score"], capsys, r"(awk .*) && spoofspan")
    shell(by_table.replace("mfa/u1.csv", "mfa/*.csv"))
    of_table = Path("words.uem").read_text()
    assert of_table == "u1 1 0.0 0.5\nu1 1 0.6 1.0\nu2 1 0.0 0.5\nu2 1 0.6 1.0\n"
    value = value_of(["eval", "ref.rttm", "unit0.5.score", "--regions", "words.uem"], capsys)
    shell(told_to_type(["eval", "words.ctm", "unit0.5.score"], capsys, r"(awk .*) && spoofspan"))
    assert value == value_of(["eval", "ref.rttm", "unit0.5.score", "--regions", "words.uem"], capsys)


def test_pickled_tensors_are_read_after_the_printed_command(shell, capsys):
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[torch]'")
    import pickle

    tensors = {"u1": torch.tensor([0.1, 0.8]), "u2": torch.tensor([0.2, 0.3])}
    Path("t.pkl").write_bytes(pickle.dumps(tensors))
    told = ["--hop", "0.5", "--higher", "spoof"]
    command = told_to_type(["eval", "ref.rttm", "t.pkl", *told], capsys, r"torch\.save: python (-c .*)")
    shell(f"{shlex.quote(sys.executable)} {command}")
    assert value_of(["eval", "ref.rttm", "scores.pt", *told], capsys) == 0
