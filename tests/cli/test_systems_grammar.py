"""Every command takes systems and seeds in one grammar."""

import io
import json

import numpy as np
import pytest
from command_line import run_command as run

import spoofspan as ss
from spoofspan.formats.text import frame_lines, rttm
from spoofspan.formats.text.durations import reco2dur_lines

IDS = tuple(f"u{k}" for k in range(6))
NAMES = ("a", "b")
SEEDS = ("1", "2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two sets; two systems with two seeds each; a README that is no score file."""
    where = tmp_path_factory.mktemp("systems")
    references = ss.References.from_ranges(
        {utt: [(0.0, 0.4, "bonafide"), (0.4, 0.8, "spoof")] for utt in IDS}, durations=dict.fromkeys(IDS, 0.8)
    )
    truth = np.repeat([0.0, 1.0], 20)
    for k, set_name in enumerate(("dev", "eval")):
        (where / set_name).mkdir()
        (where / set_name / "ref.rttm").write_bytes(b"".join(rttm.write(references)))
        (where / set_name / "reco2dur").write_bytes(b"".join(reco2dur_lines(references)))
        for i, name in enumerate(NAMES):
            for j, seed in enumerate(SEEDS):
                rng = np.random.default_rng([k, i, j])
                scores = ss.Scores.from_frames(
                    {utt: truth + rng.normal(scale=0.6, size=40) for utt in IDS}, hop=0.02, higher="spoof"
                )
                data = b"".join(frame_lines.FORMATS[0].write(scores))
                (where / set_name / f"{name}_seed{seed}_20ms.score").write_bytes(data)
    return where


# The four files, and how a command that shows seeds as systems calls them.
SEPARATE = {
    "patterns": (["{system}_seed{seed}_20ms.score"], ["a/1", "a/2", "b/1", "b/2"]),
    "resolutions": (["{system}_seed{seed}_{resolution}.score"], ["a/1", "a/2", "b/1", "b/2"]),
    "globs": (
        ["a=a_*.score", "b=b_*.score"],
        ["a/a_seed1_20ms", "a/a_seed2_20ms", "b/b_seed1_20ms", "b/b_seed2_20ms"],
    ),
    "list": (
        [f"{name}_seed{seed}_20ms.score" for name in NAMES for seed in SEEDS],
        [f"{name}_seed{seed}_20ms" for name in NAMES for seed in SEEDS],
    ),
    "quoted list": (["*.score"], [f"{name}_seed{seed}_20ms" for name in NAMES for seed in SEEDS]),
}


def words(folder, command, written, set_name="dev"):
    """The command with REFERENCES and SCORES in the folder of a set."""

    def place(word):
        name, equals, path = word.rpartition("=")
        return f"{name}{equals}{folder}/{set_name}/{path}"

    return [*command, place("ref.rttm"), *map(place, written), "--durations", place("reco2dur")]


def value(folder, name, seed, set_name="dev"):
    references = ss.read_references(folder / set_name / "ref.rttm", durations=folder / set_name / "reco2dur")
    return ss.range_eer(references, ss.read_scores(folder / set_name / f"{name}_seed{seed}_20ms.score")).value


@pytest.mark.parametrize("written", ["patterns", "resolutions", "globs"])
def test_compare_and_table_take_the_mean_over_seeds(folder, written, capsys):
    scores, _ = SEPARATE[written]
    means = [np.mean([value(folder, name, seed) for seed in SEEDS]) for name in NAMES]
    code, printed, said = run([*words(folder, ["compare"], scores), "--format", "json"], capsys)
    assert code == 0, said
    found = json.loads(printed)["comparisons"][0]["systems"]
    assert [one["system"] for one in found] == list(NAMES)
    assert [one["value"] for one in found] == pytest.approx(means)
    assert [len(one["seeds"]) for one in found] == [2, 2]
    code, printed, said = run([*words(folder, ["table"], scores), "--resolutions", "20", "--format", "json"], capsys)
    assert code == 0, said
    rows = json.loads(printed)["sets"][0]["rows"]
    assert [row["name"] for row in rows] == list(NAMES)
    assert [row["range_eer"]["value"] for row in rows] == pytest.approx(means)


@pytest.mark.parametrize("written", ["list", "quoted list"])
def test_plain_files_are_systems_of_their_own(folder, written, capsys):
    scores, names = SEPARATE[written]
    code, printed, said = run([*words(folder, ["compare"], scores), "--format", "json"], capsys)
    assert code == 0, said
    assert [one["system"] for one in json.loads(printed)["comparisons"][0]["systems"]] == names
    code, printed, said = run([*words(folder, ["table"], scores), "--resolutions", "20", "--format", "json"], capsys)
    assert code == 0, said
    assert [row["name"] for row in json.loads(printed)["sets"][0]["rows"]] == [f"{name}.score" for name in names]


@pytest.mark.parametrize("written", SEPARATE)
def test_domains_and_one_system_show_seeds_as_systems(folder, written, capsys):
    scores, names = SEPARATE[written]
    sets = ["--set", "dev", "--set", "eval"]
    code, printed, said = run([*words(folder, ["domains"], scores, "{set}"), *sets, "--format", "json"], capsys)
    assert code == 0, said
    found = json.loads(printed)["systems"]
    assert [one["system"] for one in found] == names
    values = [[one["eer"] for one in system["domains"]] for system in found]
    assert values == [[value(folder, name, seed, one) for one in ("dev", "eval")] for name in NAMES for seed in SEEDS]
    code, printed, said = run([*words(folder, ["compare", "--one-system"], scores), "--format", "json"], capsys)
    assert code == 0, said
    assert [one["seed"] for one in json.loads(printed)["seeds"][0]["values"]] == names


@pytest.mark.parametrize("written", SEPARATE)
def test_report_and_plot_show_seeds_as_systems(folder, written, tmp_path, capsys, monkeypatch):
    from spoofspan.report.figures import system_figures

    scores, names = SEPARATE[written]
    page = tmp_path / "page.html"
    code, _, said = run([*words(folder, ["report", "--timelines", "0", "--out", str(page)], scores)], capsys)
    assert code == 0, said
    assert all(f'"name":"{name}"' in page.read_text("utf-8").replace('": "', '":"') for name in names)
    drawn = []
    draw = system_figures.draw_det
    monkeypatch.setattr(system_figures, "draw_det", lambda data, canvas: drawn.extend(data) or draw(data, canvas))
    code, _, said = run([*words(folder, ["plot", "det", "--out", str(tmp_path / "det.svg")], scores)], capsys)
    assert code == 0, said
    assert [one.name for one in drawn] == names


def test_commands_that_show_one_set_fill_it_in(folder, tmp_path, capsys):
    scores = ["{system}_seed{seed}_20ms.score"]
    commands = [
        ["compare", "--format", "csv"],
        ["report", "--timelines", "0", "--out"],
        ["plot", "roc", "--out"],
    ]
    for command in commands:
        outcomes = []
        for set_name in ("{set}", "eval"):
            out = [str(tmp_path / f"{set_name}.{'svg' if command[0] == 'plot' else 'html'}")] * (command[-1] == "--out")
            sets = ["--set", "eval"] if set_name == "{set}" else []
            code, printed, said = run([*words(folder, [*command, *out], scores, set_name), *sets], capsys)
            assert code == 0, said
            outcomes.append(printed)
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("command", [["compare"], ["report", "--out", "x.html"], ["plot", "det", "--out", "x.svg"]])
def test_commands_that_show_one_set_say_so(folder, command, capsys):
    scores = ["{system}_seed{seed}_20ms.score"]
    code, _, said = run([*words(folder, command, scores, "{set}"), "--set", "dev", "--set", "eval"], capsys)
    assert (code, "spoofspan table and spoofspan domains take several" in " ".join(said.split())) == (2, True)
    code, _, said = run([*words(folder, command, scores), "--set", "dev"], capsys)
    assert (code, "needs {set} in a path" in " ".join(said.split())) == (2, True)
    code, _, said = run(words(folder, command, scores, "{set}"), capsys)
    assert (code, "--set" in said) == (2, True)


def test_a_figure_of_one_utterance_shows_one_seed(folder, tmp_path, capsys):
    flags = ["plot", "timeline", "--utterance", "u1", "--out", str(tmp_path / "one.svg")]
    code, _, said = run(words(folder, flags, ["a=a_*.score"]), capsys)
    assert (code, "shows one system; give one file of scores, not 2" in " ".join(said.split())) == (2, True)
    code, _, said = run(words(folder, flags, ["a=a_seed1*.score"]), capsys)
    assert code == 0, said


@pytest.mark.parametrize("written", ["patterns", "globs", "quoted list"])
def test_a_report_without_references_takes_them_too(folder, written, tmp_path, capsys):
    scores, names = SEPARATE[written]
    page = tmp_path / "page.html"
    typed = words(folder, ["report", "--threshold", "0.5", "--out", str(page)], scores)
    del typed[5]  # the references
    code, _, said = run(typed[:-2], capsys)
    assert code == 0, said
    assert all(name in page.read_text("utf-8") for name in names)


def test_standard_input_is_a_system_in_figures(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((folder / "dev/a_seed1_20ms.score").read_bytes())))
    typed = words(folder, ["plot", "det", "--out", str(tmp_path / "det.svg"), "--hop", "0.02"], ["b_seed1_20ms.score"])
    code, _, said = run([*typed, "-"], capsys)
    assert code == 0, said


def test_domains_need_the_same_systems_in_every_set(folder, tmp_path, capsys):
    for set_name in ("dev", "eval"):
        (tmp_path / set_name).mkdir()
        for path in (folder / set_name).iterdir():
            if not (set_name == "eval" and path.name.startswith("b_seed2")):
                (tmp_path / set_name / path.name).write_bytes(path.read_bytes())
    scores = ["{system}_seed{seed}_20ms.score"]
    code, _, said = run([*words(tmp_path, ["domains"], scores, "{set}"), "--set", "dev", "--set", "eval"], capsys)
    assert code == 2
    assert "give the same systems and seeds for every set" in " ".join(said.split())
