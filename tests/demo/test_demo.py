"""The demo: its data are reproducible, and the command line prints the library's numbers."""

import json
import shlex
import subprocess
import sys
import sysconfig
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from golden_cases import FOLDER, load

import spoofspan as ss
import spoofspan.cli
import spoofspan.demo
from spoofspan.corpus.builtin import recording_named
from spoofspan.corpus.provenance import Provenance
from spoofspan.corpus.settings import Settings
from spoofspan.corpus.source_folder import Recording
from spoofspan.corpus.splice_plan import Substitution, UtterancePlan
from spoofspan.corpus.splicing import SpliceMaterial, make_utterance
from spoofspan.corpus.survey import look_at
from spoofspan.demo import recordings
from spoofspan.demo.explanation import OWN_DATA
from spoofspan.formats.sound import read_wave, wav_bytes

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))
import make_demo as make  # noqa: E402

DATA = Path(spoofspan.demo.__file__).parent
CONVENTIONS = {"nii-2023": "14.68", "wedefense": "14.41", "partialspoof-metrics": "14.41", "paper": "14.25"}


@pytest.fixture(scope="module")
def corpus():
    return spoofspan.demo.load()


@pytest.fixture(scope="module")
def table(corpus):
    return ss.resolution_table(corpus.references, corpus.systems)


def run(*arguments):
    return CliRunner().invoke(spoofspan.cli.app, arguments)


def output_of(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


# ---------------------------------------------------------------- the data


def assert_is_shipped(corpus, folder, tmp_path, *, others=frozenset()):
    make.write(tmp_path, corpus)
    assert {path.name for path in tmp_path.iterdir()} | others == {path.name for path in (DATA / folder).iterdir()}
    for path in tmp_path.iterdir():
        if path.suffix == ".npz":  # the system that made a zip archive is noted in it
            with np.load(path) as made, np.load(DATA / folder / path.name) as shipped:
                assert list(made) == list(shipped)
                for name, array in made.items():
                    assert array.dtype == shipped[name].dtype
                    np.testing.assert_array_equal(array, shipped[name])
        else:
            assert path.read_bytes() == (DATA / folder / path.name).read_bytes()


def test_what_is_shipped_is_what_the_maker_writes(corpus, tmp_path):
    assert_is_shipped(corpus, "corpus", tmp_path, others={recordings.PROVENANCE})


def test_short_tail_is_the_golden_case(tmp_path):
    assert_is_shipped(make.short_tail_corpus(FOLDER / "short_tail" / "case.json"), "short_tail", tmp_path)
    shipped, golden = spoofspan.demo.load_short_tail(), load("short_tail")
    signatures = [
        ss.range_eer(references, scores, convention="paper").signature
        for references, scores in (
            (shipped.references, shipped.systems[0.02]),
            (golden.references, golden.scores),
        )
    ]
    assert signatures[0] == signatures[1]


def test_the_corpus_is_small_and_varied(corpus):
    assert sum(path.stat().st_size for path in (DATA / "corpus").iterdir()) < 1_500_000
    references = corpus.references
    spoofed = [bool((references.labels[a:b] == 1).any()) for a, b in pairwise(references.offsets)]
    assert len(references) == 169
    assert 100 <= sum(spoofed) <= 120
    assert references.attack_names == ("A01", "A02", "A03")
    assert list(corpus.seeds) == ["1", "10", "100"]
    assert corpus.seeds["1"] is corpus.systems
    for systems in corpus.seeds.values():
        assert all(scores.values.dtype == np.float32 for scores in systems.values())


def test_seeds_are_trainings_of_their_own(corpus):
    values = {seed: ss.range_eer(corpus.references, systems[0.02]).value for seed, systems in corpus.seeds.items()}
    assert len(set(values.values())) == 3
    assert all(0.01 < value < 0.12 for value in values.values())


# ---------------------------------------------------------------- the table


def test_floors_rise_with_the_hop_and_nobody_is_below(table):
    floors = [row.floor.value for row in table.rows]
    assert floors == sorted(floors)
    assert all(row.floor.value < row.range_eer.value for row in table.rows)


def test_measured_coarser_than_the_hop_is_said_to_be_another_task(table):
    for row in table.rows:
        for resolution, measured in row.point_eers.items():
            told = any("easier task" in note for note in measured.measurement.notes)
            assert told == (resolution > row.hop)


def test_measured_finer_than_the_hop_coarse_branches_look_like_their_range_eer(table):
    row = table[0.64]
    for resolution in (0.01, 0.02, 0.04):
        assert abs(row.point_eers[resolution].value - row.range_eer.value) < 0.02


# ---------------------------------------------------------------- what is printed


def test_demo_prints_the_numbers_of_the_library(table):
    printed = output_of("demo")
    measured = table.rows[0].range_eer.measurement
    rates = (measured.value, measured.false_positive_rate, measured.false_negative_rate, measured.gap)
    row = ["range-eer", *(f"{100 * rate:.2f}" for rate in rates), *measured.decision.split()]
    assert row in [line.split() for line in printed.splitlines()]
    assert f"{100 * measured.false_positive_rate:.2f} % of the bona fide time is called spoof" in printed
    assert measured.signature.comparable in printed
    assert measured.signature.input in printed
    lines = printed.splitlines()
    for row in table.rows:
        cells = [f"{1000 * row.hop:g}", "ms", f"{100 * row.floor.value:.2f}", f"{100 * row.range_eer.value:.2f}"]
        cells += [
            f"{100 * m.value:.2f}{'*' if resolution == row.hop else ''}" for resolution, m in row.point_eers.items()
        ]
        assert cells in [line.split() for line in lines]


def test_demo_is_plain_text_of_at_most_80_columns_where_it_is_no_terminal():
    for arguments in (["demo"], ["demo", "--conventions"]):
        printed = output_of(*arguments)
        assert printed.isascii()
        unbreakable = ("  range-eer|", '      {"u1"')
        assert all(len(line) <= 80 for line in printed.splitlines() if not line.startswith(unbreakable))


@pytest.mark.slow
def test_the_lines_for_own_data_run(capsys):
    exec(OWN_DATA, {"frames": np.float32([0.9] * 60 + [-0.4] * 40)})
    printed = capsys.readouterr().out
    assert printed.startswith("range-eer 0.00 %")
    for line in OWN_DATA.splitlines():
        assert line in output_of("demo")


def test_demo_as_json_has_the_same_numbers(table):
    content = json.loads(output_of("demo", "--format", "json"))
    assert content["table"] == json.loads(json.dumps(table.to_dict()))
    assert content["range_eer"] == json.loads(json.dumps(table.rows[0].range_eer.measurement.to_dict()))
    assert content["corpus"]["utterances"] == 169


def test_one_corpus_and_one_system_have_several_numbers():
    printed = output_of("demo", "--conventions")
    rows: dict[str, str] = {}
    for line in printed.splitlines():
        rows.setdefault(line[:27].strip(), line)  # the second grid has some of the names again
    assert "14.68 %" in rows["published script (nii-2023)"]
    assert "14.41 %" in rows["WeDefense (wedefense)"]
    assert "14.41 %" in rows["partialspoof-metrics"]
    assert "14.25 %" in rows["the equations (paper)"]
    assert "refused" in rows["spoofspan (default)"]


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # so few windows have wide gaps
def test_conventions_as_json_are_those_of_the_library():
    content = json.loads(output_of("demo", "--conventions", "--format", "json"))
    corpus = spoofspan.demo.load_short_tail()
    rows = {row["name"]: row for row in content["conventions"]}
    assert len(rows) == 6
    for row in rows.values():
        if row["convention"] in CONVENTIONS:
            measured = ss.range_eer(corpus.references, corpus.systems[0.02], convention=row["convention"])
            assert row["measurement"] == json.loads(json.dumps(measured.to_dict()))
            assert f"{100 * row['measurement']['value']:.2f}" == CONVENTIONS[row["convention"]]
            assert row["seconds"] == measured.touched["uncovered"].seconds
    with pytest.raises(ss.DataError) as refusal:
        ss.range_eer(corpus.references, corpus.systems[0.02])
    assert rows["spoofspan (default)"]["refusal"] == str(refusal.value)
    assert rows["spoofspan (default)"]["measurement"] is None
    for row in content["windows"]:
        how = {"convention": row["convention"]}
        if row["convention"] == "default":
            how |= {"pooling": row["signature"]["comparable"].partition("|pooling:")[2].partition("|")[0] or "min"}
            how |= {"uncovered": "hold"}
        measured = ss.point_eer(corpus.references, corpus.systems[0.02], 0.32, **how)
        assert row == json.loads(json.dumps(measured.to_dict()))
    assert len(content["windows"]) == 9


@pytest.mark.parametrize("arguments", [["demo"], ["demo", "--conventions"]])
def test_the_page_on_concepts_shows_what_is_printed(arguments):
    page = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8").splitlines()
    lines = [line.rstrip() for line in output_of(*arguments).splitlines()]
    grids = [i for i, line in enumerate(lines) if line and not line.strip("-")]
    for ruled in grids if "--conventions" in arguments else grids[-1:]:
        shown = lines[ruled - 1 : ruled + 7]
        place = page.index(shown[0])
        assert page[place : place + len(shown)] == shown


def test_the_page_on_tables_shows_what_is_printed(table):
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    printed = str(table)
    assert printed[: printed.index("169 utterances")] in page


def test_the_quickstart_runs():
    example = ROOT / "examples" / "quickstart.py"
    result = subprocess.run([sys.executable, example], capture_output=True, check=True, text=True)
    assert "range-eer 5.00 %" in result.stdout


def test_the_checks_call_the_readmes_command():
    (line,) = [line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if _is_checks(line)]
    assert all(part in line for part in ("pytest", "ruff check", "ruff format --check", "mypy", "lint-imports"))


def _is_checks(line):
    return line.startswith("python3 -m venv ") and " -m pytest " in line


# ---------------------------------------------------------------- the files of --out


def test_the_written_files_give_the_numbers_that_the_demo_prints(table, tmp_path):
    out = tmp_path / "new" / "demo"
    output_of("demo", "--out", str(out), "--format", "json")
    for row in table.rows:
        expected = [row.range_eer.measurement, row.point_eers[row.hop].measurement]
        measures = [argument for m in expected for argument in ("-m", m.measure)]
        for scores in (f"unit{row.hop:g}.score", f"scores_{1000 * row.hop:g}ms.parquet"):
            inputs = [str(out / "references.rttm"), str(out / scores), "--durations", str(out / "reco2dur")]
            found = json.loads(output_of("eval", *inputs, *measures, "--format", "json"))["measurements"]
            assert [m["value"] for m in found] == [m.value for m in expected]
            assert [m["signature"]["comparable"] for m in found] == [m.signature.comparable for m in expected]
            assert [m["signature"]["input"] for m in found] == [m.signature.input for m in expected]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
@pytest.mark.parametrize("arguments", [[], ["--conventions"]])
def test_every_command_of_the_written_readme_works(arguments, tmp_path, monkeypatch):
    output_of("demo", "--out", str(tmp_path), *arguments)
    text = (tmp_path / "README.txt").read_text(encoding="utf-8")
    assert all(len(line) <= 120 for line in text.splitlines())
    whole = text.replace("\\\n", "")
    commands = [shlex.split(line)[1:] for line in whole.splitlines() if line.startswith("    spoofspan ")]
    assert len(commands) == (5 if arguments else 9)
    monkeypatch.chdir(tmp_path)
    printed = [output_of(*command) for command in commands]
    (value,) = [line.split()[1] for line in printed[0].splitlines() if line.startswith("range-eer")]
    assert f"range EER of {value} %" in text


RECIPE_FILES = ("my_scores.txt", "spoofed.rttm", "decisions.rttm", "proposals.json", "labels.npz", "cm_scores.tsv")
RECIPE_FILES += ("columns.csv", "asv_scores.txt", "other-tools")


def test_the_readme_names_every_kind_of_file(tmp_path):
    output_of("demo", "--out", str(tmp_path))
    text = (tmp_path / "README.txt").read_text(encoding="utf-8")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "README.txt",
        "references.rttm",
        "reco2dur",
        *(f"unit{hop:g}.score" for hop in (0.02, 0.04, 0.08, 0.16, 0.32, 0.64)),
        *(f"scores_{ms}ms.parquet" for ms in (20, 40, 80, 160, 320, 640)),
        *(f"seed-{seed}" for seed in (1, 10, 100)),
        "protocol.txt",
        "wav",
        "keys.tsv",
        *RECIPE_FILES,
    }
    assert len(list(tmp_path.glob("seed-*/scores_*.parquet"))) == 18
    for name in ("references.rttm", "reco2dur", "unit0.02.score", "scores_20ms.parquet", "protocol.txt", "wav/CON_E_"):
        assert name in text
    assert all(f"\n{name}\n" in text for name in RECIPE_FILES)


def test_the_files_of_other_tools_hold_the_same_corpus(tmp_path):
    corpus = spoofspan.demo.load()
    spoofspan.demo.export(corpus, tmp_path)
    told = ss.range_eer(corpus.references, corpus.systems[0.02]).value
    foreign = tmp_path / "other-tools"
    scores = ss.read_scores(foreign / "unit0.02.score")
    for labels in ("label.txt", "rttm", "rttm_2cls_0sil"):
        references = ss.read_references(foreign / labels, durations=foreign / "reco2dur")
        assert ss.range_eer(references, scores).value == pytest.approx(told, abs=1e-5)  # edges are rounded
    pickled = ss.read_scores(foreign / "dev_score_ali_16_20230101.pkl")
    assert pickled.values.tolist() == corpus.systems[0.16].values.tolist()
    mine = ss.read_scores(tmp_path / "my_scores.txt", hop=0.02, higher="bonafide")
    assert mine.values.tolist() == corpus.systems[0.02].values.tolist()


@pytest.mark.slow
def test_the_written_sound_lasts_as_long_as_its_utterance_and_is_the_same_every_time(tmp_path):
    said = run("demo", "--out", str(tmp_path)).stderr
    sounds = sorted((tmp_path / "wav").iterdir())
    assert f"the sound of {len(sounds)} utterances" in said
    references = spoofspan.demo.load().references
    durations = dict(zip(references.utterances, references.durations.tolist(), strict=True))
    for path in sounds:
        samples, rate = read_wave(path)
        assert rate == 16_000
        assert abs(samples.size * 62_500 - durations[path.stem]) <= 500_000  # the RTTM has three decimals
    first = {path.name: path.read_bytes() for path in sounds}
    recordings.wav_files.cache_clear()
    again = recordings.wav_files()
    assert first == {f"{utterance}.wav": content for utterance, content in again.items()}


def test_the_sound_is_where_its_labels_say(tmp_path):
    """Made again another way: by the plan and the survey that the corpus was built with, not by the provenance."""
    lines = (files("spoofspan.demo") / "corpus" / "provenance.jsonl").read_text(encoding="utf-8").splitlines()
    one = Provenance.from_dict(json.loads(next(line for line in lines if '"CON_E_0000003"' in line)))
    names = sorted({origin.recording for origin in one.origins})
    found = []
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(wav_bytes(recording_named(name, 1, 1)))
        attack = None if name.startswith("bonafide") else name.partition("/")[0]
        found.append(Recording(name, tmp_path / name, one.speaker, attack, None))
    survey = {look.name: look for look in look_at(found, -26.0)}
    units = {name: survey[name].units(0.06) for name in names}
    donor = next(name for name in names if name != one.carrier)
    made = [
        make_utterance(
            UtterancePlan(one.utterance, "eval", one.speaker, one.carrier, (Substitution(unit, donor, donor_unit),)),
            SpliceMaterial({each.name: each for each in found}, survey),
            Settings(),
        )
        for unit in range(len(units[one.carrier]))
        for donor_unit in range(len(units[donor]))
    ]
    (same,) = [each for each, provenance in made if provenance == one]
    assert wav_bytes(same) == recordings.wav_files()[one.utterance]


def test_the_protocol_says_what_the_ranges_say():
    corpus = spoofspan.demo.load()
    protocol, references = corpus.protocol, corpus.references
    assert protocol.utterance == tuple(references.utterances)
    for i, (attack, label) in enumerate(zip(protocol.attack, protocol.label, strict=True)):
        rows = slice(references.offsets[i], references.offsets[i + 1])
        kinds = {references.attack_names[code] for code in references.attacks[rows] if code >= 0}
        assert kinds == ({attack} if label == "spoof" else set())


def test_a_folder_with_content_is_written_into_only_if_told(tmp_path):
    mine = tmp_path / "mine.txt"
    mine.write_text("keep", encoding="utf-8")
    refused = run("demo", "--out", str(tmp_path))
    assert isinstance(refused.exception, ss.UsageError)
    assert "--force" in str(refused.exception)
    assert list(tmp_path.iterdir()) == [mine]
    for _ in range(2):
        output_of("demo", "--out", str(tmp_path), "--force")
    assert mine.read_text(encoding="utf-8") == "keep"
    in_the_way = run("demo", "--out", str(mine))
    assert isinstance(in_the_way.exception, ss.UsageError)


# ---------------------------------------------------------------- the command


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["-h"]])
def test_help_is_printed(arguments):
    assert "Usage:" in output_of(*arguments)


def test_version_is_printed():
    assert output_of("--version") == f"spoofspan {ss.__version__}\n"


@pytest.mark.parametrize("arguments", [["demo", "--formt"], ["demo", "--format", "yaml"], ["dmo"]])
def test_wrong_usage_exits_with_2(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert not result.stdout


@pytest.mark.parametrize(
    ("error", "code"), [(ss.UsageError, 2), (ss.DataError, 3), (ss.UndefinedMeasureError, 4), (ss.SpoofspanError, 1)]
)
def test_a_refusal_is_one_sentence_on_stderr_and_an_exit_code(error, code, monkeypatch, capsys):
    def refuse():
        raise error("utterance 'u1': score 3 is NaN; replace it")

    monkeypatch.setattr(spoofspan.demo, "load", refuse)
    monkeypatch.setattr(sys, "argv", ["spoofspan", "demo"])
    with pytest.raises(SystemExit) as ended:
        spoofspan.cli.main()
    printed = capsys.readouterr()
    assert ended.value.code == code
    assert printed.err == "error: utterance 'u1': score 3 is NaN; replace it\n"
    assert printed.out == ""


def test_warnings_are_sentences_on_stderr_said_once(monkeypatch, capsys):
    coarse = spoofspan.demo.load()
    rounded = ss.Scores.from_columns(
        coarse.systems[0.64].utterances,
        coarse.systems[0.64].offsets,
        np.round(2 * coarse.systems[0.64].values),
        hop=0.64,
        higher="bonafide",
    )
    few_scores = spoofspan.demo.DemoCorpus(coarse.references, {0.64: rounded})
    monkeypatch.setattr(spoofspan.demo, "load", lambda: few_scores)
    monkeypatch.setattr(sys, "argv", ["spoofspan", "demo", "--format", "json"])
    with pytest.raises(SystemExit) as ended:
        spoofspan.cli.main()
    printed = capsys.readouterr()
    assert ended.value.code == 0
    json.loads(printed.out)
    lines = printed.err.splitlines()
    assert any(line.startswith("warning: range-eer: FPR and FNR differ by") for line in lines)
    assert len(lines) == len(set(lines))


@pytest.mark.slow
def test_the_console_script_runs_in_a_dumb_ascii_terminal():
    script = Path(sysconfig.get_path("scripts")) / "spoofspan"
    environment = {"PATH": "", "TERM": "dumb", "PYTHONIOENCODING": "ascii", "COLUMNS": "40"}
    if sys.platform == "win32":
        pytest.skip("the path of the script differs")
    result = subprocess.run([script, "demo"], env=environment, capture_output=True, check=True, text=True)
    assert "The branch with a score every 20 ms" in result.stdout
    assert "\x1b" not in result.stdout
    assert result.stderr == ""


def test_import_brings_in_nothing_heavy():
    heavy = ["torch", "matplotlib", "dask", "pyarrow", "pandas", "scipy", "rich", "click"]
    question = f"import sys, spoofspan; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", question], capture_output=True, check=True, text=True)
    assert result.stdout.strip() == "[]"
