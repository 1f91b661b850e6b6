"""The command line as a person types it: files in, numbers (or a sentence) out."""

import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import golden_cases
import pytest
from click.testing import CliRunner
from command_line import evaluated, invoke

import spoofspan as ss
from spoofspan.base.errors import SpoofspanError
from spoofspan.cli import app
from spoofspan.cli.commands import COMMANDS
from spoofspan.cli.commands import GROUPS as COMMAND_GROUPS
from spoofspan.cli.wording import in_words_of_the_shell
from spoofspan.data.rules import RULES
from spoofspan.formats.arrays import npz as arrays
from spoofspan.formats.arrays import segment_labels

GOLDEN = Path(__file__).parents[1] / "golden"
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schema" / "evaluation.json").read_text())

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")


RANGE_SETS = [
    ("nii-2023", "nii_range", "result"),
    ("paper", "paper_range", "result"),
    ("wedefense", "wedefense_range", "result_with_buckets"),
    ("partialspoof-metrics", "psm_mseer_decimal_comparison", "result_with_buckets_100000"),
]


@pytest.mark.parametrize("case", ["short_tail", "gaps", "saturated"])
@pytest.mark.parametrize(("convention", "rule_set", "result"), RANGE_SETS)
def test_golden_numbers_come_from_the_native_files(case, convention, rule_set, result):
    expected = Fraction(golden_cases.load(case).expected["rule_sets"][rule_set][result]["eer_exact"])
    references = [GOLDEN / case / "rttm_2cls_0sil", "--durations", GOLDEN / case / "reco2dur"]
    found = evaluated(*references, GOLDEN / case / "unit0.02.score.gz", "--convention", convention, "-m", "range-eer")
    assert found["range-eer"]["value"] == float(expected)


def test_the_spoof_only_rttm_and_the_pickle_give_the_number_of_the_published_script():
    folder = GOLDEN / "gaps"
    expected = Fraction(golden_cases.load("gaps").expected["rule_sets"]["nii_range"]["result"]["eer_exact"])
    found = evaluated(
        folder / "rttm_2cls_0sil_spoof",
        folder / "dev_score_ali_2_20230101.pkl.gz",
        "--durations",
        folder / "reco2dur",
        "--convention",
        "nii-2023",
        "-m",
        "range-eer",
    )
    assert found["range-eer"]["value"] == float(expected)


def test_every_way_to_the_same_corpus_has_the_same_value_and_signature():
    folder = GOLDEN / "short_tail"
    rules = ["--uncovered", "hold", "-m", "range-eer"]
    rttm = [folder / "rttm_2cls_0sil", "--durations", folder / "reco2dur"]
    found = [
        evaluated(*rttm, folder / "unit0.02.score.gz", *rules)["range-eer"],
        evaluated(*rttm, folder / "dev_score_ali_2_20230101.pkl.gz", *rules)["range-eer"],
        evaluated(folder / "psm_label.txt", folder / "unit0.02.score.gz", *rules)["range-eer"],
    ]
    assert len({m["value"] for m in found}) == 1
    assert len({m["signature"]["input"] for m in found}) == 1
    assert len({m["signature"]["comparable"] for m in found}) == 1


def test_without_a_measure_range_point_and_utterance_eer_are_measured():
    folder = GOLDEN / "gaps"
    found = evaluated(
        folder / "psm_label.txt", folder / "unit0.02.score.gz", "--gaps", "bonafide", "--uncovered", "hold"
    )
    assert list(found) == ["range-eer", "point-eer@20ms", "utterance-eer"]
    case = golden_cases.load("gaps")
    library = ss.evaluate(case.references, case.spoof_scores, list(found), gaps="bonafide", uncovered="hold")
    assert {name: m["value"] for name, m in found.items()} == {
        name: m.value for name, m in library.measurements.items()
    }


@pytest.mark.parametrize("spelling", ["text", "markdown", "latex", "csv"])
def test_results_are_printed_in_every_format(spelling):
    folder = GOLDEN / "saturated"
    result = invoke("eval", folder / "psm_label.txt", folder / "unit0.02.score.gz", "--format", spelling)
    assert result.exit_code == 0, result.output
    assert "range-eer" in result.stdout


def test_refusals_are_sentences_with_their_exit_codes(tmp_path):
    folder = GOLDEN / "gaps"
    with pytest.raises(SpoofspanError) as refused:
        CliRunner().invoke(
            app, ["eval", str(folder / "psm_label.txt"), str(folder / "unit0.02.score.gz")], catch_exceptions=False
        )
    assert refused.value.exit_code == 3
    assert "gaps=" in str(refused.value)
    one_class = tmp_path / "one.rttm"
    one_class.write_text("SPEAKER u1 1 0.000 1.000 <NA> <NA> bonafide <NA> <NA>\n")
    scores = tmp_path / "unit0.02.score"
    scores.write_text("".join(f"u1 {k} 0.5 -0.5\n" for k in range(50)))
    durations = tmp_path / "reco2dur"
    durations.write_text("u1 1.0\n")
    result = invoke("eval", one_class, scores, "--durations", durations)
    assert isinstance(result.exception, ss.UndefinedMeasureError)
    assert result.exception.exit_code == 4
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("eval ref.rttm a.score b.score", "one argument too many: 'b.score'; for several systems: spoofspan compare"),
        ("convert my file.rttm out.csv", "one argument too many: 'out.csv'; if a name has spaces, quote it"),
    ],
)
def test_arguments_that_are_too_many_have_a_remedy(arguments, told):
    result = invoke(*arguments.split())
    assert result.exit_code == 2
    assert told in result.stderr


def test_check_lists_problems_and_prints_no_number():
    folder = GOLDEN / "gaps"
    result = invoke("check", folder / "psm_label.txt", folder / "unit0.02.score.gz")
    assert result.exit_code == 3
    assert "without a label" in result.stdout
    assert "EER" not in result.stdout
    rules = ["--gaps", "bonafide", "--uncovered", "hold"]
    passed = invoke("check", folder / "psm_label.txt", folder / "unit0.02.score.gz", *rules)
    assert passed.exit_code == 0
    assert "passed" in passed.stdout


def test_per_utterance_errors_add_up_to_the_whole(tmp_path):
    import csv

    folder, file = GOLDEN / "saturated", tmp_path / "utterances.csv"
    inputs = [folder / "psm_label.txt", folder / "unit0.02.score.gz"]
    found = evaluated(*inputs, "-m", "range-eer", "--per-utterance", file)
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert len(rows) == found["range-eer"]["utterances"]
    for error, total in (("false_positive", "bona_fide"), ("false_negative", "spoof")):
        rate = sum(float(row[f"{error}_seconds"]) for row in rows) / sum(float(row[f"{total}_seconds"]) for row in rows)
        assert rate == pytest.approx(found["range-eer"][f"{error}_rate"], abs=1e-9)
    again = invoke("eval", folder / "psm_label.txt", folder / "unit0.02.score.gz", "--per-utterance", file)
    assert isinstance(again.exception, ss.UsageError)  # an existing file needs --force


@pytest.mark.parametrize("target", ["scores.parquet", "scores.csv", "scores.jsonl.gz", "scores.arrow", "scores.npz"])
def test_converted_scores_measure_the_same(tmp_path, target):
    folder = GOLDEN / "saturated"
    done = invoke("convert", folder / "dev_score_ali_2_20230101.pkl.gz", tmp_path / target)
    assert done.exit_code == 0, (done.output, done.exception)
    # formats without a place for them must be told
    told = [] if target.startswith(("scores.parquet", "scores.arrow")) else ["--hop", "0.02", "--higher", "bonafide"]
    straight = evaluated(folder / "psm_label.txt", folder / "dev_score_ali_2_20230101.pkl.gz", "-m", "range-eer")
    converted = evaluated(folder / "psm_label.txt", tmp_path / target, *told, "-m", "range-eer")
    assert converted["range-eer"]["value"] == straight["range-eer"]["value"]
    assert converted["range-eer"]["signature"] == straight["range-eer"]["signature"]


@pytest.mark.parametrize("target", ["references.parquet", "references.csv", "references.rttm", "references.jsonl"])
def test_converted_references_measure_the_same(tmp_path, target):
    folder = GOLDEN / "saturated"
    durations = tmp_path / "reco2dur"
    done = invoke("convert", folder / "psm_label.txt", tmp_path / target, "--durations-out", durations)
    assert done.exit_code == 0, (done.output, done.exception)
    straight = evaluated(folder / "psm_label.txt", folder / "unit0.02.score.gz", "-m", "range-eer")
    converted = evaluated(tmp_path / target, folder / "unit0.02.score.gz", "-m", "range-eer", "--durations", durations)
    assert converted["range-eer"]["value"] == straight["range-eer"]["value"]


def test_diff_references_shows_what_two_label_sources_do(tmp_path):
    a, b = tmp_path / "a.rttm", tmp_path / "b.rttm"
    line = "SPEAKER u{} 1 {:.3f} {:.3f} <NA> <NA> {} <NA> <NA>\n"
    a.write_text(line.format(1, 0, 1, "bonafide") + line.format(1, 1, 1, "spoof"))
    b.write_text(line.format(1, 0, 1.1, "bonafide") + line.format(1, 1.1, 0.9, "spoof"))
    result = invoke("diff-references", a, b, "--format", "json")
    assert result.exit_code == 0, (result.output, result.exception)
    found = json.loads(result.stdout)
    assert found["shift_seconds"] == 0.1
    assert found["seconds"][1][0] == pytest.approx(0.1)
    assert found["eer_interval"] == [0.0, pytest.approx(0.1 / 1.1)]
    assert "between 0.00 % and 9.09 %" in invoke("diff-references", a, b).stdout
    b.write_text(line.format(1, 0, 2, "bonafide"))
    told = invoke("diff-references", a, b).stdout
    assert "no shift is known" in told
    assert "most likely shift" not in told


@pytest.mark.parametrize(
    "subject", ["range-eer", "point-eer@20ms", "gaps", "last-frame", "nii-2023", "bucketed(-2,2,9)", "benchmarks"]
)
def test_everything_has_an_explanation(subject):
    result = invoke("explain", subject)
    assert result.exit_code == 0
    assert len(result.stdout) > 60


@pytest.mark.parametrize("name", ["partialspoof", "lav-df", "lav-df:audio"])
def test_a_benchmark_is_explained_and_not_what_is_called_alike(name):
    result = invoke("explain", name)
    assert result.stdout == invoke("benchmarks", name).stdout
    assert not result.stderr


def test_a_signature_explains_itself():
    case = golden_cases.load("saturated")
    result = invoke("explain", str(ss.range_eer(case.references, case.scores).signature))
    assert "hash of the references" in result.stdout
    assert "scores:" in result.stdout


def test_control_characters_in_ids_never_reach_the_terminal(tmp_path):
    from spoofspan.report.table import Table

    table = Table(("utterance",), (("u\x1b[2J\u202e",),))
    assert "\x1b" not in table.render("text")
    assert "\u202e" not in table.render("text")
    assert table.render("csv") == "utterance\nu\x1b[2J\u202e\n"
    assert Table(("a",), (("=1+1",), ("-0.5",))).render("csv") == "a\n'=1+1\n-0.5\n"


def test_the_page_of_formats_is_up_to_date():
    root = Path(__file__).parents[2]
    for script in ("make_formats.py", "make_measures.py", "make_benchmarks.py"):
        subprocess.run([sys.executable, root / "docs" / script, "--check"], check=True)


def test_the_page_on_rules_shows_what_eval_prints(monkeypatch):
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    page = (root / "docs" / "concepts.md").read_text(encoding="utf-8")
    command = next(line for line in page.splitlines() if "`spoofspan eval tests/golden" in line)
    arguments = command.partition("`")[2].partition("`")[0].split()[1:]
    printed = invoke(*arguments).stdout.splitlines()
    for line in printed[:8]:
        assert line in page


# ---------------------------------------------------------------- what a person types

GROUPS = {
    "corpus": ["build", "check", "audit"],
    "cm": ["train", "score", "info", "convert"],
    "controls": ["build", "eval"],
    "challenge": [
        *("build", "check", "score", "leaderboard", "withdraw", "disqualify", "reinstate", "choose", "role", "publish"),
        *("share", "rescore", "log", "audit", "letters", "certificate"),
    ],
}
NAMES = [one.name for one in COMMANDS if one.name not in GROUPS]


@pytest.mark.parametrize("command", NAMES)
def test_help_has_examples_and_fits_80_columns(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    printed = invoke(command, "--help").stdout
    too_long = [line for line in printed.splitlines() if len(line) > 80]
    assert all(len(line.split()) <= 2 for line in too_long)  # the choices of an argument, which are one word
    examples = [line.strip() for line in printed.splitlines() if line.startswith("    spoofspan ")]
    assert examples
    assert all(line.startswith(f"spoofspan {command}") for line in examples)
    assert "For example:" in printed


def test_the_list_of_commands_is_not_cut_off(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    printed = invoke("--help").stdout
    listed = printed.partition("Measure:")[2]
    assert "..." not in listed
    assert re.findall(r"^  ([a-z]\S*)", listed, re.MULTILINE) == [one.name for one in COMMANDS]
    assert re.findall(r"^(\S.*):$", printed, re.MULTILINE)[1:] == list(COMMAND_GROUPS)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: one.name)
def test_the_list_of_commands_says_what_the_commands_say(command):
    real = command.load()
    assert real.name == command.name
    assert not real.hidden
    assert command.about == real.get_short_help_str(200)
    assert f"{command.about}\n" in invoke(command.name, "--help").stdout


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_lists_its_commands_and_each_has_help(group, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    printed = invoke(group, "--help").stdout
    assert [line.split()[0] for line in printed.partition("Commands:\n")[2].splitlines()] == GROUPS[group]
    assert all(f"Usage: spoofspan {group} {one} " in invoke(group, one, "-h").stdout for one in GROUPS[group])


@pytest.mark.parametrize(("typed", "meant"), [(["evla"], "eval"), (["corpus", "chekc"], "check")])
def test_a_mistyped_command_is_a_usage_error(typed, meant):
    result = invoke(*typed)
    assert result.exit_code == 2
    assert f"No such command '{typed[-1]}'." in result.output
    assert f"Did you mean '{meant}'?" in result.output


@pytest.mark.parametrize("asked", ["--help", "--version"])
def test_help_brings_in_neither_commands_nor_tables_nor_formats(asked):
    commands = sorted({f"spoofspan.cli.{one.module}" for one in COMMANDS})
    heavy = [*commands, "spoofspan.cli.options", "spoofspan.formats.registry", "pyarrow", "rich"]
    question = (
        f"import sys, spoofspan.cli; sys.argv = ['spoofspan', '{asked}']\n"
        "try: spoofspan.cli.main()\n"
        f"except SystemExit: print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", question], capture_output=True, check=True, text=True)
    assert result.stderr.strip() == "[]"


def test_every_rule_is_a_flag_of_the_same_name():
    from dataclasses import fields

    for command, without in (("eval", ()), ("check", ("label", "last_point", "pooling"))):
        words = invoke(command, "--help-all").stdout.split()
        for rule in fields(ss.Rules):
            assert (f"--{rule.name.replace('_', '-')}" in words) == (rule.name not in without)


@pytest.mark.parametrize("command", NAMES)
def test_rules_are_described_in_one_place(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    flags = [f"--{name.replace('_', '-')}" for name in RULES if name != "modality"]  # which is said of the input
    described = re.findall(r"^  (--[\w-]+)", invoke(command, "--help").stdout, re.MULTILINE)
    assert not set(described) & set(flags)
    explained = invoke("explain", "rules").stdout
    for name, flag in zip(RULES, [*flags, "--modality"], strict=True):
        assert f"\n{flag}: " in explained
        assert RULES[name].explanation.splitlines()[0] in explained


def test_the_help_of_eval_fits_a_screen_and_names_every_option(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    printed = invoke("eval", "--help").stdout
    assert len(printed.splitlines()) <= 60
    groups = ["Arguments", "Inputs", "Measures", "Rules", "Uncertainty", "Output"]
    assert re.findall(r"^(\S.*):$", printed, re.MULTILINE) == groups
    assert printed.index("For example") < printed.index("Arguments:")
    everything = invoke("eval", "--help-all").stdout
    assert re.findall(r"^(\S.*):$", everything, re.MULTILINE) == groups
    command = next(one for one in COMMANDS if one.name == "eval").load()
    for param in command.params:
        flag = max(param.opts, key=len)
        if param.param_type_name == "option":
            assert re.search(rf"{flag}\b", everything)
            assert param.name in RULES or re.search(rf"{flag}\b", printed)


def test_the_short_help_has_the_first_sentence_and_the_default(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    short, full = (invoke("eval", asked).stdout for asked in ("--help", "--help-all"))
    assert "Named set of rules.  [default: default]" in short
    assert "Named set of rules. One of default, paper" in full


def test_explain_without_a_word_lists_topics_that_are_all_explained():
    printed = invoke("explain").stdout
    topics = re.findall(r"^  spoofspan explain (\S+)", printed, re.MULTILINE)
    assert {"measures", "rules", "conventions"} <= set(topics)
    assert all(len(invoke("explain", topic).stdout) > 60 for topic in topics)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("slacks", "slack"), ("Range EER", "range-eer"), ("uncoverd", "uncovered"), ("last frame", "last_frame")],
)
def test_explain_finds_a_near_word(typed, meant):
    result = invoke("explain", typed)
    assert result.exit_code == 0
    assert result.stdout == invoke("explain", meant).stdout
    assert f"this is {meant!r}" in result.stderr
    assert str(invoke("explain", "xyzzy").exception).endswith("'spoofspan explain' lists the topics")


def test_text_has_a_short_signature_and_the_long_one_on_demand():
    case = GOLDEN / "short_tail"
    arguments = ["eval", case / "rttm_2cls_0sil", case / "unit0.02.score.gz", "--durations", case / "reco2dur"]
    arguments += ["--convention", "paper", "-m", "range-eer", "-m", "range-f1"]
    shown, full, plain = (invoke(*arguments, *more).stdout for more in ((), ("--signature",), ("--format", "json")))
    for one in json.loads(plain)["measurements"]:
        signature = ss.Signature(**one["signature"])
        assert str(signature) in full
        assert str(signature) not in shown
        assert f"signature {one['short_signature']}\n" in shown
        assert one["short_signature"].startswith(f"{one['measure']}|paper|")
        assert len(one["short_signature"]) <= 80


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("e", ["eval", "explain", "experiment"]),
        ("cor", ["corpus"]),
        ("cm ", ["train", "score", "info", "convert"]),
        ("corpus check --for", ["--format"]),
        ("eval --conv", ["--convention"]),
        ("eval --convention n", ["nii-2023"]),
        (
            "eval --convention ",
            [
                "default",
                "paper",
                "nii-2023",
                "partialspoof-metrics",
                "wedefense",
                "xps-forensic-2026-03",
                "xps-forensic-2026-06",
                "deepfense",
            ],
        ),
        ("eval --pooling m", ["min", "mean", "max"]),
        ("eval --benchmark lav-df:", ["lav-df:full", "lav-df:visual", "lav-df:audio"]),
        ("eval --measure utterance-e", ["utterance-eer", "utterance-ece"]),
        ("eval --measure point-eer@1", ["point-eer@10ms", "point-eer@160ms"]),
        ("eval --uncovered un", ["unanswered"]),
        ("eval --label m", ["majority"]),
        ("eval --reference-format rt", ["rttm"]),
        ("eval --scores-format parq", ["parquet"]),
        ("check --gaps f", ["following"]),
        ("convert --to wed", ["wedefense-logits"]),
        ("convert --kind s", ["scores"]),
        ("eval --dataset p", ["partialspoof:"]),
        ("eval --reference-source segment_labels@2", ["segment_labels@20ms"]),
        ("eval --eer-rule near", ["nearest"]),
        ("eval --higher b", ["bonafide"]),
        ("explain nii", ["nii-2023"]),
    ],
)
def test_the_shell_completes(typed, offered):
    words = f"spoofspan {typed}"
    environment = {
        **os.environ,
        "_SPOOFSPAN_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    script = "import sys; sys.argv = ['spoofspan']; from spoofspan.cli import main; main()"
    found = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert [line.partition(",")[2] for line in found.stdout.splitlines()] == offered  # after each one's kind


def test_completing_imports_nothing_heavy():
    question = (
        "import sys; from spoofspan.cli import completion as c\n"
        "for names in (c.conventions, c.eer_rules, c.measures, c.formats, c.written_formats, c.reference_sources,"
        " c.subjects): assert list(names())\n"
        "print([name for name in ('pyarrow', 'pandas') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", question], capture_output=True, check=True, text=True)
    assert result.stdout.strip() == "[]"


def test_label_arrays_take_the_hop_of_the_scores_or_their_own(tmp_path):
    labels, scores = tmp_path / "labels.npz", tmp_path / "scores.npz"
    for hop in (0.02, 0.04):
        case = ss.References.from_ranges({"u1": [(0.0, 0.4, "bonafide"), (0.4, 0.8, "spoof")]}, {"u1": 0.8})
        frames = ss.Scores.from_frames({"u1": [0.5, 0.1] * 10 + [0.3, -0.1] * 10}, hop=0.02, higher="bonafide")
        labels.write_bytes(b"".join(arrays.write_labels_npz(case, hop)))
        scores.write_bytes(b"".join(arrays.write_scores_npz(frames)))
        told = ["--hop", "0.02", "--higher", "bonafide", "-m", "range-eer"]
        told += ["--spoof-label", 0, *(["--reference-hop", hop] if hop != 0.02 else [])]
        found = evaluated(labels, scores, *told)
        assert found["range-eer"]["value"] == ss.range_eer(case, frames).value
        checked = invoke("check", labels, scores, *told[:4], *told[6:])
        assert checked.exit_code == 0, (checked.output, checked.exception)


def test_the_hop_of_the_scores_is_not_that_of_labels_whose_name_states_one(tmp_path):
    case = ss.References.from_ranges({"u1": [(0.0, 0.4, "bonafide"), (0.4, 0.8, "spoof")]}, {"u1": 0.8})
    frames = ss.Scores.from_frames({"u1": [0.5, 0.1] * 10 + [0.3, -0.1] * 10}, hop=0.02, higher="bonafide")
    labels, scores = tmp_path / "dev_seglab_0.01.npy", tmp_path / "scores.npz"
    labels.write_bytes(b"".join(segment_labels.write(case, 0.01)))
    scores.write_bytes(b"".join(arrays.write_scores_npz(frames)))
    found = evaluated(labels, scores, "--hop", "0.02", "--higher", "bonafide", "-m", "range-eer")
    assert found["range-eer"]["value"] == ss.range_eer(case, frames).value


def test_usual_measures_without_a_value_are_left_out(tmp_path):
    """Where every utterance is partially spoofed there is no utterance EER, but there is a range EER."""
    references, scores = tmp_path / "r.rttm", tmp_path / "unit0.02.score"
    line = "SPEAKER u1 1 {} 0.400 <NA> <NA> {} <NA> <NA>\n"
    references.write_text(line.format("0.000", "bonafide") + line.format("0.400", "spoof"))
    scores.write_text("".join(f"u1 {k} {-k % 7} {k % 7}\n" for k in range(40)))
    result = invoke("eval", references, scores)
    assert result.exit_code == 0, (result.output, result.exception)
    assert "note: utterance-eer is left out" in result.stderr
    assert "utterance-eer" not in result.stdout
    asked = invoke("eval", references, scores, "-m", "utterance-eer")
    assert isinstance(asked.exception, ss.UndefinedMeasureError)


def test_swapped_arguments_are_noticed():
    folder = GOLDEN / "gaps"
    result = invoke("eval", folder / "unit0.02.score.gz", folder / "psm_label.txt")
    assert isinstance(result.exception, ss.UsageError)
    assert "REFERENCES come first" in in_words_of_the_shell(result.exception)


@pytest.mark.parametrize("command", ["eval", "check", "convert"])
def test_a_file_that_is_in_the_way_is_noticed_before_anything_is_read(command, tmp_path):
    taken = tmp_path / "taken.csv"
    taken.write_text("mine")
    arguments = ["nothing.rttm", taken] if command == "convert" else ["no.rttm", "no.score", "--out", taken]
    result = invoke(command, *arguments)
    assert "--force" in str(result.exception)
    assert taken.read_text() == "mine"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_is_a_sentence():
    script = "import sys; from spoofspan.cli import main; main()"
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-c", script, "explain", "gaps"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 1
    assert result.stderr.startswith("error: the result cannot be written")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_for_each_shell(shell):
    result = invoke("--completion", shell)
    assert result.exit_code == 0
    assert f"_SPOOFSPAN_COMPLETE={shell}_complete" in result.stdout


def test_python_runs_the_package():
    asked = [sys.executable, "-m", "spoofspan", "eval", "--help"]
    shown = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert shown.startswith("Usage: spoofspan eval [OPTIONS] [REFERENCES] [SCORES]\n")
