"""The grammar of systems: which file is which system, seed and resolution."""

from pathlib import Path

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.formats.datasets.systems import find_systems, matching, rows_of, systems_of
from spoofspan.formats.text import frame_lines


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


def found_in(folder, pattern):
    return [
        (Path(one.path).relative_to(folder).as_posix(), one.resolution, one.system, one.seed)
        for one in matching(str(folder / pattern))
    ]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def systems(*arguments, group=systems_of, **more):
    """System -> seed -> path."""
    return {
        name: {seed: Path(one.path).as_posix() for seed, one in seeds.items()}
        for name, seeds in group(find_systems(arguments, **more)).items()
    }


# ---------------------------------------------------------------- patterns


def test_placeholders_are_read_off_the_path(tmp_path):
    touch(tmp_path, "a/unit0.02.score", "a/unit0.16.score", "b/unit0.02.score", "a/other.score", "a/x/unit0.04.score")
    assert found_in(tmp_path, "{seed}/unit{resolution}.score") == [
        ("a/unit0.02.score", 0.02, "", "a"),
        ("a/unit0.16.score", 0.16, "", "a"),
        ("b/unit0.02.score", 0.02, "", "b"),
    ]
    assert found_in(tmp_path, "{system}/**/unit0.04.score") == [("a/x/unit0.04.score", 0.04, "a", "")]


@pytest.mark.parametrize(
    ("name", "pattern", "resolution"),
    [
        ("s_20.txt", "s_{resolution}.txt", 0.02),
        ("s_20ms.txt", "s_{resolution}.txt", 0.02),
        ("s_12.5ms.txt", "s_{resolution}ms.txt", 0.0125),
        ("s_0.02s.txt", "s_{resolution}.txt", 0.02),
        ("s_1s.txt", "s_{resolution}.txt", 1.0),
        ("s_0.64.txt", "s_{resolution}.txt", 0.64),
        ("eval_score_ali_16_2023.pkl", "eval_score_ali_{resolution}_*.pkl", 0.16),
        ("eval_score_ali_2_2023.pkl", "eval_score_ali_*.pkl", 0.02),
    ],
)
def test_a_resolution_may_be_written_in_several_ways(tmp_path, name, pattern, resolution):
    touch(tmp_path, name)
    assert matching(str(tmp_path / pattern))[0].resolution == resolution


def test_brackets_in_a_path_are_meant_as_they_are_if_there_is_such_a_file(tmp_path):
    touch(tmp_path, "run [1]/unit0.02.score", "run 1/unit0.02.score")
    (only,) = matching(str(tmp_path / "run [1]/unit{resolution}.score"))
    assert "[1]" in only.path


def test_brackets_choose_as_in_a_shell(here):
    touch(here, "s1.score", "s2.score", "s3.score")
    assert list(systems("A=s[12].score")["A"]) == ["s1", "s2"]
    assert list(systems("A=s[!12].score")) == ["A"]
    assert list(systems("A=s[!12].score")["A"].values()) == ["s3.score"]


def test_a_placeholder_that_comes_twice_means_the_same(tmp_path):
    touch(tmp_path, "1/out_1_20ms.txt", "1/out_2_20ms.txt")
    assert [one[0] for one in found_in(tmp_path, "{seed}/out_{seed}_{resolution}.txt")] == ["1/out_1_20ms.txt"]


def test_resolutions_of_a_pattern_are_sorted_by_size(here):
    touch(here, "s_160ms.txt", "s_20ms.txt", "s_40ms.txt")
    assert list(systems("s_{resolution}.txt")) == ["s_20ms", "s_40ms", "s_160ms"]


def test_wrong_arguments_are_answered(tmp_path):
    touch(tmp_path, "s_0.txt", "plain")
    with pytest.raises(ss.UsageError, match=r"no placeholder \{reso\}: did you mean 'resolution'"):
        matching("unit{reso}.score")
    with pytest.raises(ss.UsageError, match="no file matches"):
        matching(str(tmp_path / "unit{resolution}.score"))
    with pytest.raises(ss.UsageError, match="resolution of 0 cannot be"):
        matching(str(tmp_path / "s_{resolution}.txt"))
    with pytest.raises(ss.UsageError, match=r"no file or folder .*did you mean .*plain"):
        find_systems([str(tmp_path / "plan")])
    with pytest.raises(ss.UsageError, match="given twice"):
        find_systems([str(tmp_path / "plain"), str(tmp_path / "plain")])
    with pytest.raises(ss.UsageError, match=r"both A= and \{system\} name the system"):
        find_systems("A={system}.txt")
    with pytest.raises(ss.UsageError, match=r"\{set\} stands for"):
        find_systems("{set}.score")


# ---------------------------------------------------------------- systems, seeds, names


def test_a_plain_file_is_called_by_its_stem_and_two_of_a_name_by_their_paths(here):
    touch(here, "a/x.score", "b/x.score", "c/y.score")
    assert list(systems("a/x.score", "c/y.score")) == ["x", "y"]
    assert list(systems("a/x.score", "b/x.score", "c/y.score")) == ["a/x.score", "b/x.score", "y"]
    assert list(systems("a/x.score", "x=b/x.score")) == ["a/x.score", "x"]


def test_an_existing_file_may_have_an_equals_sign_in_its_name(here):
    touch(here, "lr=0.1.score", "y.score")
    assert systems("lr=0.1.score", "b=y.score") == {"lr=0.1": {"": "lr=0.1.score"}, "b": {"": "y.score"}}


def test_a_quoted_glob_is_the_list_that_the_shell_would_make(here):
    touch(here, "a1.score", "a2.score")
    assert systems("a*.score") == systems("a1.score", "a2.score") == {"a1": {"": "a1.score"}, "a2": {"": "a2.score"}}


@pytest.mark.parametrize("argument", ["A=a/s*.score", "A=a/s{seed}.score", "a/s{seed}.score", "{system}/s{seed}.score"])
def test_files_of_one_system_are_its_seeds(here, argument):
    touch(here, "a/s1.score", "a/s2.score")
    (seeds,) = systems(argument).values()
    assert list(seeds.values()) == ["a/s1.score", "a/s2.score"]


def test_seeds_are_called_by_the_placeholder_or_by_their_files(here):
    touch(here, "a/s1.score", "a/s2.score", "b/s1.score")
    assert list(systems("{system}/s{seed}.score")["a"]) == ["1", "2"]
    assert list(systems("A=a/*.score")["A"]) == ["s1", "s2"]
    assert list(systems("A=*/s1.score")["A"]) == ["a/s1.score", "b/s1.score"]


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("ours_seed{seed}.score", "ours_seed"),
        ("{seed}/x.score", "x"),
        ("ours/{seed}.score", "ours"),
        ("{seed}.score", "system"),
    ],
)
def test_a_system_without_a_name_is_called_by_its_files_without_the_seed(here, pattern, name):
    touch(here, *(pattern.replace("{seed}", seed) for seed in "12"))
    assert list(systems(pattern)) == [name]
    assert list(systems(pattern)[name]) == ["1", "2"]


def test_patterns_of_one_name_are_not_mixed(here):
    touch(here, "a1/x.score", "a2/x.score", "b1/x.score", "b2/x.score")
    assert list(systems("a{seed}/x.score", "b{seed}/x.score")) == ["a{seed}/x.score", "b{seed}/x.score"]


def test_resolutions_of_one_system_are_systems_of_their_own(here):
    touch(here, *(f"{name}{seed}_{ms}ms.score" for name in "AB" for seed in "12" for ms in (20, 40)))
    expected = {f"A {ms}ms": [f"A1_{ms}ms.score", f"A2_{ms}ms.score"] for ms in (20, 40)}
    for arguments in (["A=A*.score"], ["A=A{seed}_{resolution}.score"]):
        assert {name: list(seeds.values()) for name, seeds in systems(*arguments).items()} == expected
    assert list(systems("{system}1_{resolution}.score")) == ["A 20ms", "A 40ms", "B 20ms", "B 40ms"]
    # one resolution each: the names stay as they are given
    assert list(systems("fine=A*_20ms.score", "coarse=B*_40ms.score")) == ["fine", "coarse"]


def test_a_set_is_filled_in_and_left_out_of_names(here):
    touch(here, "dev_x.score", "eval_x.score", "dev/y1.score")
    assert systems("{set}_x.score", set_name="eval") == {"x": {"": "eval_x.score"}}
    assert systems("{set}/y{seed}.score", set_name="dev") == {"y": {"1": "dev/y1.score"}}
    assert systems("A={set}_*.score", set_name="dev") == {"A": {"": "dev_x.score"}}


def test_a_folder_is_its_resolutions_or_one_system(here):
    touch(here, "many/unit0.02.score", "many/unit0.04.score", "many/README", "one/unit0.02.score", "parts/1", "parts/2")
    assert list(systems("many")) == ["unit0.02", "unit0.04"]
    assert list(systems("A=many")) == ["A 20ms", "A 40ms"]
    assert systems("one") == {"one": {"": "one/unit0.02.score"}}
    assert systems("parts") == {"parts": {"": "parts"}}


def test_what_cannot_be_told_apart_is_refused(here):
    touch(here, "a_1.score", "b_1.score")
    with pytest.raises(ss.UsageError, match=r"would both be 'A', seed '1'; tell them apart with \{seed\}"):
        systems("A=*_{seed}.score")
    with pytest.raises(ss.UsageError, match=r"two systems have the same name, 'A'.*A='GLOB'"):
        systems("A=a_1.score", "A=b_1.score")
    touch(here, "x", "y.score")
    with pytest.raises(ss.UsageError, match="two systems have the same name, 'x'"):
        systems("x", "x=y.score")


def test_files_become_rows_by_resolution_or_else_by_name(here):
    touch(here, "a/unit0.02.score", "a/unit0.04.score", "b/unit0.02.score", "b/other_20ms.score")

    def rows(*arguments):
        return systems(*arguments, group=rows_of)

    assert list(rows("a/unit0.04.score", "a/unit0.02.score")) == [0.02, 0.04]
    assert list(rows("a/unit0.02.score", "b/other_20ms.score")) == ["unit0.02.score", "other_20ms.score"]
    assert list(rows("{seed}/unit0.02.score")[0.02]) == ["a", "b"]
    named = rows("ours=a/unit0.02.score", "ours=a/unit0.04.score", "theirs=b/unit0.02.score")
    assert list(named) == ["ours 20ms", "ours 40ms", "theirs 20ms"]
    assert list(rows("a/unit0.02.score", "b/unit0.02.score")) == ["a/unit0.02.score", "b/unit0.02.score"]


# ---------------------------------------------------------------- reading


def write_scores(path, ids, seed, hop=0.02):
    rng = np.random.default_rng(seed)
    scores = ss.Scores.from_frames({utt: rng.normal(size=40) for utt in ids}, hop=hop, higher="spoof")
    path.write_bytes(b"".join(frame_lines.FORMATS[0].write(scores)))


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # two utterances are few
def test_systems_are_read_as_compare_takes_them(here):
    for name, seed in (("a_1", 1), ("a_2", 2), ("b_1", 3)):
        write_scores(here / f"{name}_20ms.score", ("u1", "u2"), seed)
    found = ss.read_systems("{system}_{seed}_20ms.score")
    assert list(found) == ["a", "b"]
    assert list(found["a"]) == ["1", "2"]
    assert found["b"].values.tolist() == ss.read_scores("b_1_20ms.score").values.tolist()
    assert list(ss.read_systems(["x=a_*.score", here / "b_1_20ms.score"])) == ["x", "b_1_20ms"]
    references = ss.References.from_ranges(
        {utt: [(0.0, 0.4, "bonafide"), (0.4, 0.8, "spoof")] for utt in ("u1", "u2")},
        durations=dict.fromkeys(("u1", "u2"), 0.8),
    )
    table = ss.resolution_table(references, found, [0.02])
    assert [row.name for row in table.rows] == ["a", "b"]
    ss.write_report(references, found, here / "page.html", timelines=0)
    page = (here / "page.html").read_text("utf-8")
    assert all(name in page for name in ("a/1", "a/2"))


@pytest.mark.parametrize(("argument", "name"), [("A=part*.score", "A"), ("part*.score", "part*")])
def test_files_that_score_different_utterances_are_parts_of_one_system(here, argument, name):
    write_scores(here / "part1_20ms.score", ("u1",), 1)
    write_scores(here / "part2_20ms.score", ("u2",), 2)
    (only,) = ss.read_systems(argument).items()
    assert (only[0], only[1].utterances) == (name, ("u1", "u2"))


def test_a_resolution_in_the_path_is_the_hop_of_files_that_state_none(here):
    np.savez(here / "s_40.npz", u1=np.linspace(-1, 1, 20))
    (scores,) = ss.read_systems("s_{resolution}.npz", higher="bonafide").values()
    assert scores.hop == 0.04
    (here / "ranges_20ms.csv").write_text("utterance,start,end,score\nu1,0,1,0.5\n")
    (scores,) = ss.read_systems("ranges_20ms.csv", higher="bonafide").values()
    assert scores.hop is None
