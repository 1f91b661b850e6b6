"""Benchmarks by name: measured as they are ranked, equal to their own code, and each a row of data."""

import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from command_line import run

import spoofspan as ss
from spoofspan.cli.commands import COMMANDS
from spoofspan.data.rules import CONVENTIONS
from spoofspan.formats.datasets.benchmarks import FILE, benchmarks, find_benchmark
from spoofspan.measures.measure import Measure
from spoofspan.report.results import short_measures

GOLDEN = Path(__file__).parents[1] / "golden"
AUDIOVISUAL = GOLDEN / "audiovisual"
EXPECTED = json.loads((AUDIOVISUAL / "expected.json").read_text())


def measured(arguments, capsys):
    """The values of a command, by measure."""
    code, said = run([*map(str, arguments), "--format", "json"], capsys)
    assert code == 0, said.err
    return {one["measure"]: one["value"] for one in json.loads(said.out)["measurements"]}, said.err


# ---------------------------------------------------------------- the register


@pytest.mark.parametrize("name", benchmarks())
def test_a_row_spells_measures_rules_and_flags_that_there_are(name):
    row = benchmarks()[name]
    assert [str(Measure.parse(one)).split("@")[0] for one in row.measures] == [
        one.split("@")[0] for one in row.measures
    ]
    flags = {param.name for param in next(one for one in COMMANDS if one.name == "eval").load().params}
    for options in (row.options, *row.variants.values()):
        assert set(options) <= flags
        assert options.get("convention", "default") in CONVENTIONS
    assert all((row.title, row.references, row.system, row.ranked, row.source))
    assert row.takes in ("scores", "proposals", "utterance-scores")


def test_the_register_is_data_in_one_order():
    rows = json.loads(FILE.read_text())
    assert [row["name"] for row in rows] == list(benchmarks())
    assert find_benchmark("lav-df").options == find_benchmark("lav-df:full").options
    assert {
        "av-deepfake1m",
        "lav-df",
        "had",
        "add2023",
        "partialspoof",
        "asvspoof5-track1",
        "llamapartialspoof",
    } <= set(benchmarks())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("avdeepfake1m", "no benchmark 'avdeepfake1m': did you mean 'av-deepfake1m'"),
        ("lav-df:fool", "no variant 'fool': did you mean 'full'"),
        ("had:full", "has no variants"),
        ("xps-forensic", "its rules changed, so the name needs a date; xps-forensic-2026-03: segment EER of mean"),
    ],
)
def test_what_is_no_benchmark_is_refused_with_the_nearest(name, message, capsys):
    code, said = run(["eval", "--benchmark", name, "a", "b"], capsys)
    assert code == 2
    assert message in said.err


def test_measures_that_share_their_name_are_listed_once():
    assert (
        short_measures(["range-eer", "a@n=3", "a@n=2", "b@20ms", "c@x=1,y=2"])
        == "range-eer, a@n=3,2, b@20ms, c@x=1,y=2"
    )


# ---------------------------------------------------------------- against the benchmarks' own code


@pytest.mark.parametrize("modality", ["any", "audio", "visual"])
def test_av_deepfake1m_equals_its_own_scorer(modality, capsys):
    files = [AUDIOVISUAL / "val_metadata.json", AUDIOVISUAL / "prediction.json"]
    flags = [] if modality == "any" else ["--modality", modality]
    found, err = measured(["eval", "--benchmark", "av-deepfake1m", *files, *flags], capsys)
    expected = EXPECTED["avdeepfake1m"][modality]
    for iou, value in expected["ap"].items():
        assert found[f"event-ap-avdeepfake1m@iou={iou}"] == pytest.approx(value, abs=2e-7)
    for n, value in expected["ar"].items():
        assert found[f"event-ar-avdeepfake1m@n={n}"] == pytest.approx(value, abs=2e-7)
    mean = (sum(expected["ap"].values()) / 4 + sum(expected["ar"].values()) / 5) / 2
    assert found["event-avdeepfake1m"] == pytest.approx(mean, abs=2e-7)
    assert ("not as it is ranked, because of --modality" in err) == (modality != "any")


@pytest.mark.parametrize("variant", ["full", "visual", "audio"])
def test_lav_df_equals_its_own_metrics(variant, capsys):
    files = [AUDIOVISUAL / "metadata.min.json", AUDIOVISUAL / "lavdf_proposals.json"]
    found, _ = measured(["eval", "--benchmark", f"lav-df:{variant}", *files], capsys)
    expected = EXPECTED["lavdf"]["full" if variant == "full" else f"subset_for_{variant}_only"]
    wanted = {f"event-ap-avdeepfake1m@iou={iou}": value for iou, value in expected["ap"].items()}
    wanted |= {f"event-ar-avdeepfake1m@n={n}": value for n, value in expected["ar"].items()}
    assert found == pytest.approx(wanted, abs=2e-7)


def test_the_three_protocols_of_lav_df_are_three_numbers():
    assert len({json.dumps(one["ap"]) for one in EXPECTED["lavdf"].values()}) == 3
    assert len({one["files"] for one in EXPECTED["lavdf"].values()}) == 3


def test_detection_of_av_deepfake1m_needs_no_durations(capsys):
    files = [AUDIOVISUAL / "val_metadata.json", AUDIOVISUAL / "prediction.txt"]
    found, _ = measured(["eval", "--benchmark", "av-deepfake1m-detection", *files], capsys)
    assert found == {"utterance-auc": pytest.approx(EXPECTED["avdeepfake1m"]["auc"], abs=1e-7)}


# ---------------------------------------------------------------- against the flags that they stand for


@pytest.mark.parametrize(
    ("benchmark", "flags"),
    [
        ("partialspoof", ["--convention", "nii-2023"]),
        ("llamapartialspoof", ["--convention", "partialspoof-metrics"]),
        ("wedefense", ["--convention", "wedefense"]),
        ("xps-forensic-2026-03", ["--convention", "xps-forensic-2026-03"]),
        ("xps-forensic-2026-06", ["--convention", "xps-forensic-2026-03", "--pooling", "max", "--label", "any"]),
        ("deepfense", ["--convention", "deepfense"]),
    ],
)
def test_a_benchmark_is_what_its_flags_say(benchmark, flags, capsys):
    folder = GOLDEN / "short_tail"
    labels = "psm_label.txt" if benchmark == "llamapartialspoof" else "rttm_2cls_0sil"
    files = [folder / labels, folder / "unit0.02.score.gz"]
    if benchmark not in ("llamapartialspoof", "wedefense"):
        files += ["--durations", folder / "reco2dur"]
    row = benchmarks()[benchmark]
    spelled = [word for one in row.measures for word in ("-m", one)]
    by_name, _ = measured(["eval", "--benchmark", benchmark, *files], capsys)
    by_flags, _ = measured(["eval", *files, *flags, *spelled], capsys)
    assert by_name == by_flags
    assert list(by_name) == list(row.measures)


def test_xps_forensic_equals_its_definition_on_frames(capsys, tmp_path):
    """Mean of the frames, majority of their labels, whole segments only; EER on the line between two points."""
    from sklearn.metrics import roc_curve

    rng = np.random.default_rng(3)
    lines, scores, pairs = [], [], []
    for i in range(12):
        labels = np.repeat(rng.integers(0, 2, 9), rng.integers(1, 12, 9))
        values = np.round(rng.normal(labels, 1.2), 3)
        runs = [f"{0.02 * k:.2f}-{0.02 * (k + 1):.2f}-{'spoof' if one else 'bonafide'}" for k, one in enumerate(labels)]
        lines.append(f"u{i} {0.02 * labels.size:.2f} {'spoof' if labels.any() else 'bonafide'} {' '.join(runs)}\n")
        scores += [f"u{i} {k} {-value:.3f} {value:.3f}\n" for k, value in enumerate(values)]
        whole = labels.size // 4 * 4
        means = values[:whole].reshape(-1, 4).mean(axis=1)
        pairs += list(zip(means, labels[:whole].reshape(-1, 4).mean(axis=1) >= 0.5, strict=True))
    (tmp_path / "labels.txt").write_text("".join(lines))
    (tmp_path / "unit0.02.score").write_text("".join(scores))
    found, _ = measured(
        ["eval", "--benchmark", "xps-forensic-2026-03", tmp_path / "labels.txt", tmp_path / "unit0.02.score"], capsys
    )
    fpr, tpr, _ = roc_curve(*reversed(list(zip(*pairs, strict=True))), drop_intermediate=False)
    above = next(i for i in range(len(fpr)) if fpr[i] >= 1 - tpr[i])
    (x0, y0), (x1, y1) = (fpr[above - 1], 1 - tpr[above - 1]), (fpr[above], 1 - tpr[above])
    share = (y0 - x0) / ((y0 - x0) + (x1 - y1))
    assert found["point-eer@80ms"] == pytest.approx(x0 + share * (x1 - x0), abs=1e-12)


HAD = "a 0.00-1.00-T/1.00-1.50-F/1.50-2.00-T 0\nb 0.00-2.00-T 1\n"
SAID = "a 0.00-1.10-T/1.10-1.60-F/1.60-2.00-T 0\nb 0.00-2.00-T 1\n"


def test_had_and_add2023_take_decisions(tmp_path, capsys):
    (tmp_path / "labels.txt").write_text(HAD)
    (tmp_path / "said.txt").write_text(SAID)
    found, _ = measured(["eval", "--benchmark", "had", tmp_path / "labels.txt", tmp_path / "said.txt"], capsys)
    assert found == pytest.approx(
        {"event-had-f1": 0.8, "event-had-precision": 0.8, "event-had-recall": 0.8, "range-accuracy": 0.95}
    )
    found, _ = measured(["eval", "--benchmark", "add2023", tmp_path / "labels.txt", tmp_path / "said.txt"], capsys)
    assert found == pytest.approx({"event-add2023": 0.3 + 0.7 * 0.8})


def test_asvspoof5_takes_keys_and_scores(tmp_path, capsys):
    (tmp_path / "keys.tsv").write_text("filename\tcm-label\na\tbonafide\nb\tspoof\nc\tbonafide\nd\tspoof\n")
    (tmp_path / "scores.tsv").write_text("filename\tcm-score\na\t2.0\nb\t-1.0\nc\t0.5\nd\t1.0\n")
    found, err = measured(
        ["eval", "--benchmark", "asvspoof5-track1", tmp_path / "keys.tsv", tmp_path / "scores.tsv"], capsys
    )
    # costs 0.95 and 0.5, over 0.5: one of two spoofs accepted
    assert found["utterance-min-dcf@p_spoof=0.05,cost_miss=1,cost_false_alarm=10"] == pytest.approx(0.5)
    assert found["utterance-eer"] == 0.5
    assert "ranked: minDCF" in err


def test_track_2_and_sasv_2022_equal_their_own_code(capsys):
    folder = GOLDEN / "trials" / "distinct"
    tools = json.loads((GOLDEN / "trials" / "expected.json").read_text())["tools"]["distinct"]
    files = [folder / "sasv_keys.tsv", folder / "sasv_scores.tsv"]
    found = {}
    for name in ("asvspoof5-track2", "asvspoof5-track2-tandem"):
        found |= measured(["eval", "--benchmark", name, *files], capsys)[0]
    values = {name.partition("@")[0]: value for name, value in found.items()}
    assert values["utterance-a-dcf"] == pytest.approx(tools["asvspoof5"]["a-dcf"], abs=1e-14)
    assert values["utterance-min-tdcf"] == pytest.approx(tools["asvspoof5"]["min-tdcf"], abs=1e-14)
    found, _ = measured(["eval", "--benchmark", "sasv2022", folder / "a_dcf.txt", folder / "a_dcf.txt"], capsys)
    assert found == pytest.approx({f"utterance-{name}": value for name, value in tools["SASVC2022"].items()}, abs=1e-11)


def test_psynd_and_dcase_are_what_their_measures_say(tmp_path, capsys):
    (tmp_path / "events.tsv").write_text("filename\tonset\toffset\tevent_label\na\t1.0\t2.0\tspoof\n")
    (tmp_path / "reco2dur").write_text("a 3\nb 3\n")
    (tmp_path / "scores").mkdir()
    for name, values in (("a", [0.1, 0.9, 0.2]), ("b", [0.2, 0.3, 0.1])):
        rows = "".join(f"{k}\t{k + 1}\t{value}\n" for k, value in enumerate(values))
        (tmp_path / "scores" / f"{name}.tsv").write_text(f"onset\toffset\tspoof\n{rows}")
    files = [tmp_path / "events.tsv", tmp_path / "scores", "--durations", tmp_path / "reco2dur"]
    found, _ = measured(["eval", "--benchmark", "dcase", *files, "--scores-format", "sed-scores"], capsys)
    assert list(found.values()) == [1.0, 1.0]
    more = ["--gaps", "bonafide", "--threshold", "0.25", "--scores-format", "sed-scores"]
    found, _ = measured(["eval", "--benchmark", "psynd", *files, *more], capsys)
    # one second of six is wrong: 5 / (12 - 5)
    assert found == {"range-iou-psynd": pytest.approx(5 / 7)}


# ---------------------------------------------------------------- what results say

UNVERIFIED = [name for name, row in benchmarks().items() if row.unverified]


def test_no_row_hides_that_its_scorer_is_unknown():
    """What is our reading, or second-hand, is said by its own field."""
    assert {"had", "add2023", "psynd", "mist", "lens-df", "spoofceleb", "speech-df-arena"} <= set(UNVERIFIED)
    for row in benchmarks().values():
        said = f"{row.title} {row.ranked} {row.note}".lower()
        assert not re.search("our reading|second-hand|reported definition|no public scorer|was not run", said)


@pytest.mark.parametrize("spelling", ["text", "markdown", "latex"])
def test_a_result_says_that_its_scorer_is_unknown(spelling, tmp_path, capsys):
    (tmp_path / "labels.txt").write_text(HAD)
    (tmp_path / "said.txt").write_text(SAID)
    files = [str(tmp_path / "labels.txt"), str(tmp_path / "said.txt")]
    note = f"note: benchmark had: {benchmarks()['had'].unverified}"
    out = run(["eval", "--benchmark", "had", *files, "--format", spelling], capsys)[1].out
    assert out.count(note) == 1
    target = tmp_path / "had.json"
    assert run(["eval", "--benchmark", "had", *files, "--format", "json", "--out", str(target)], capsys)[0] == 0
    plain = json.loads(target.read_text())
    assert plain["benchmark"]["unverified"] == benchmarks()["had"].unverified
    jsonschema.validate(plain, json.loads((GOLDEN.parents[1] / "docs" / "schema" / "evaluation.json").read_text()))
    assert "benchmark" not in json.loads(run(["eval", *files, "-m", "range-f1", "--format", "json"], capsys)[1].out)


def test_a_result_says_which_rules_are_not_those_of_the_benchmark(capsys):
    folder = GOLDEN / "short_tail"
    files = [str(folder / "rttm_2cls_0sil"), str(folder / "unit0.02.score.gz"), "--durations", str(folder / "reco2dur")]
    typed = ["eval", "--benchmark", "xps-forensic-2026-06", *files, "-m", "point-eer@80ms"]
    other = ["--pooling", "min", "--last-point", "scored", "--eer-rule", "nearest"]
    plain = json.loads(run([*typed, *other, "--format", "json"], capsys)[1].out)
    assert plain["benchmark"]["changed"] == ["--measure", "--pooling", "--eer-rule"]
    assert "not as it is ranked, because of --measure, --pooling, --eer-rule" in run([*typed, *other], capsys)[1].out
    assert "because of --measure\n" in run(typed, capsys)[1].out


def test_a_tool_that_changed_its_rules_is_named_with_a_date(capsys):
    with pytest.raises(ss.UsageError, match=r"needs a date; xps-forensic-2026-03: .*; xps-forensic-2026-06: "):
        ss.point_eer(*drawn(), 0.08, convention="xps-forensic")
    code, said = run(["explain", "xps-forensic"], capsys)
    assert code == 2
    assert "needs a date" in said.err
    numbers = {ss.point_eer(*drawn(), 0.08, convention=f"xps-forensic-2026-0{month}").value for month in (3, 6)}
    assert len(numbers) == 2


def drawn():
    rng = np.random.default_rng(4)
    labels = {f"u{i}": np.repeat(rng.integers(0, 2, 8), 6) for i in range(20)}
    frames = {name: rng.normal(one, 1.0) for name, one in labels.items()}
    ranges = {
        name: [(0.02 * k, 0.02 * (k + 1), ("bonafide", "spoof")[label]) for k, label in enumerate(one)]
        for name, one in labels.items()
    }
    return ss.References.from_ranges(ranges), ss.Scores.from_frames(frames, hop=0.02, higher="spoof")


# ---------------------------------------------------------------- the command


def test_the_command_lists_every_benchmark_with_files_measures_and_command(capsys):
    code, said = run(["benchmarks"], capsys)
    assert code == 0
    out = said.out
    for row in benchmarks().values():
        assert {row.title, row.references, row.system, row.command, short_measures(row.measures)} <= {
            re.sub(r"^[a-z ]*?  +", "", line) for line in out.splitlines()
        }
    out = run(["benchmarks", "lav-df:audio"], capsys)[1].out
    assert "--subset subset_for_audio_only" in out
    out = run(["benchmarks", "--format", "json"], capsys)[1].out
    assert [row["name"] for row in json.loads(out)] == list(benchmarks())
    out = run(["benchmarks", "--format", "markdown"], capsys)[1].out
    assert out.count("\n") == len(benchmarks()) + 2
    assert run(["benchmarks", "nothing"], capsys)[0] == 2


def test_the_commands_of_the_page_on_events_run_without_durations(tmp_path, capsys, monkeypatch):
    page = (GOLDEN.parents[1] / "docs" / "measures.md").read_text(encoding="utf-8")
    lines = [line.partition("#")[0].split()[1:] for line in page.splitlines() if "metadata.min.json proposals" in line]
    assert len(lines) == 4
    (tmp_path / "metadata.min.json").write_bytes((AUDIOVISUAL / "metadata.min.json").read_bytes())
    (tmp_path / "proposals.json").write_bytes((AUDIOVISUAL / "lavdf_proposals.json").read_bytes())
    monkeypatch.chdir(tmp_path)
    for line in lines:
        assert measured(line, capsys)[0]


# ---------------------------------------------------------------- by folder


def test_other_databases_are_found_by_their_folder(tmp_path, capsys):
    for name in ("metadata.min.json", "val_metadata.json"):
        (tmp_path / name).write_bytes((AUDIOVISUAL / name).read_bytes())
    (tmp_path / "HAD_test").mkdir()
    (tmp_path / "HAD_test" / "HAD_test_label.txt").write_text(HAD)
    (tmp_path / "label_R01TTS.0.a.txt").write_text("u1 1.000 spoof 0.000-0.400-bonafide 0.400-1.000-spoof\n")
    sizes = {"lav-df:{}:test": 16, "av-deepfake1m:{}:val": 36, "had:{}:test": 2, "llamapartialspoof:{}:R01TTS.0.a": 1}
    for spec, count in sizes.items():
        assert len(ss.read_dataset(spec.format(tmp_path)).references) == count
    assert ss.read_dataset(f"lav-df:{tmp_path}:test", subset="audio").references.modality == "any"
    assert len(ss.read_dataset(f"lav-df:{tmp_path}:test", subset="audio").references) == 7
    with pytest.raises(ss.DataError, match=r"the labels of the set 'dev' are not there; sought: .*HAD_dev_label\.txt"):
        ss.read_dataset(f"had:{tmp_path}:dev")
    with pytest.raises(ss.UsageError, match="no dataset is called 'lavdf': did you mean 'lav-df'"):
        ss.read_dataset(f"lavdf:{tmp_path}:dev")
    # and with the benchmark of that name
    dataset = ["--dataset", f"lav-df:{tmp_path}:test", AUDIOVISUAL / "lavdf_proposals.json"]
    by_folder, _ = measured(["eval", "--benchmark", "lav-df:audio", *dataset], capsys)
    files = [AUDIOVISUAL / "metadata.min.json", AUDIOVISUAL / "lavdf_proposals.json"]
    assert by_folder == measured(["eval", "--benchmark", "lav-df:audio", *files], capsys)[0]
