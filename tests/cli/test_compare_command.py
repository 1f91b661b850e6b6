"""Intervals and comparisons from the command line, against the library and against computations by hand."""

import json
import warnings
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from referencing import Registry, Resource

import spoofspan as ss
import spoofspan.demo
from spoofspan.base.errors import DataError, UsageError
from spoofspan.cli import app
from spoofspan.formats import reading
from spoofspan.formats.tables import parquet
from spoofspan.uncertainty.comparison import GroupedComparison

SCHEMAS = {
    path.name: json.loads(path.read_text(encoding="utf-8"))
    for path in (Path(__file__).parents[2] / "docs" / "schema").glob("*.json")
}
REGISTRY = Registry().with_resources([(name, Resource.from_contents(one)) for name, one in SCHEMAS.items()])


@pytest.fixture(scope="module")
def corpus():
    return spoofspan.demo.load()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, corpus):
    """The demo in files, with a protocol of 40 speakers."""
    made = tmp_path_factory.mktemp("demo")
    result = CliRunner().invoke(app, ["demo", "--out", str(made), "--force"])
    assert result.exit_code == 0, result.output
    speakers = {utt: f"S{i % 40:02d}" for i, utt in enumerate(corpus.references.utterances)}
    (made / "protocol.txt").write_text("".join(f"{s} {utt} - - bonafide\n" for utt, s in speakers.items()))
    (made / "table.csv").write_text("utterance,room\n" + "".join(f"{utt},R{s[-1]}\n" for utt, s in speakers.items()))
    return made, speakers


def run(command, folder, *words):
    files = {"R": folder / "references.rttm", "A": folder / "unit0.02.score", "B": folder / "unit0.16.score"}
    typed = [str(files.get(word, word)) for word in map(str, words)]
    return CliRunner().invoke(app, [command, *typed, "--durations", str(folder / "reco2dur")])


def as_json(command, folder, *words):
    result = run(command, folder, *words, "--format", "json")
    assert result.exit_code == 0, (result.output, result.exception)
    content = json.loads(result.stdout)
    name = "evaluation.json" if command == "eval" else "comparison.json"
    jsonschema.Draft202012Validator(SCHEMAS[name], registry=REGISTRY).validate(content)
    return content


@pytest.mark.parametrize("damaged", [False, True])
def test_references_are_read_once_whatever_they_turn_out_to_be(folder, corpus, tmp_path, monkeypatch, damaged):
    """A Parquet file may have references or scores, so report has to look."""
    where, _ = folder
    path = tmp_path / "references.parquet"
    content = b"".join(parquet.write_references(corpus.references))
    path.write_bytes(content[:-100] if damaged else content)
    reads = []
    read = reading.read_references

    def counted(*words, **more):
        reads.append(words)
        return read(*words, **more)

    monkeypatch.setattr(reading, "read_references", counted)
    page = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["report", str(path), str(where / "unit0.64.score"), "--out", str(page)])
    assert len(reads) == 1
    assert page.exists() != damaged
    assert isinstance(result.exception, DataError) if damaged else result.exit_code == 0, result.output


def test_the_interval_of_the_command_is_that_of_the_library(folder, corpus):
    where, speakers = folder
    percentile = ["--interval", "percentile", "--replicates", 200, "--seed", 5]
    found = as_json("eval", where, "R", "A", "--confidence", 0.9, *percentile)
    scores = ss.read_scores(where / "unit0.02.score")
    references = ss.read_references(where / "references.rttm", durations=where / "reco2dur")
    for one in found["measurements"]:
        expected = ss.interval(
            references, scores, one["measure"], confidence=0.9, replicates=200, seed=5, method="percentile"
        )
        assert one["interval"] == expected.to_dict()
        assert one["interval"]["drawn_by"] == "utterance"
    by_speaker = as_json(
        "eval", where, "R", "A", "-m", "range-eer", "--confidence", 0.95, "--metadata", where / "protocol.txt"
    )["measurements"][0]["interval"]
    expected = ss.interval(references, scores, clusters=speakers, clusters_are="speaker")
    assert by_speaker == expected.to_dict()
    assert (by_speaker["drawn_by"], by_speaker["clusters"]) == ("speaker", 40)


def test_what_is_drawn_can_be_chosen(folder):
    where, speakers = folder
    words = ["R", "A", "-m", "range-eer", "--confidence", 0.95]
    for more, drawn, count in (
        (["--metadata", where / "protocol.txt", "--cluster", "utterance"], "utterance", len(speakers)),
        (["--metadata", where / "table.csv"], "utterance", len(speakers)),  # no speakers in it
        (["--metadata", where / "table.csv", "--cluster", "room"], "room", 10),
    ):
        with pytest.warns(ss.SpoofspanWarning) if count < 30 else _nothing():
            interval = as_json("eval", where, *words, *more)["measurements"][0]["interval"]
        assert (interval["drawn_by"], interval["clusters"]) == (drawn, count)
        assert bool(interval["warnings"]) == (count < 30)


def _nothing():
    from contextlib import nullcontext

    return nullcontext()


def test_evaluate_gives_intervals(corpus):
    scores = corpus.systems[0.02]
    measures = ["range-eer", "range-auc"]
    found = ss.evaluate(corpus.references, scores, measures, confidence=0.9)
    for measure in measures:
        expected = ss.interval(corpus.references, scores, measure, confidence=0.9)
        assert found[measure].interval.to_dict() == expected.to_dict()
        assert found[measure].interval.estimate == found[measure].value
    assert "90 % interval" in str(found)
    assert "90 % from" in found._repr_html_()
    assert ss.evaluate(corpus.references, scores)["range-eer"].interval is None


def test_the_interval_of_a_mean_over_utterances(corpus):
    scores = corpus.systems[0.02]
    threshold = 0.2
    values = []
    for i, utterance in enumerate(corpus.references.utterances):
        references = corpus.references.take(np.array([i]))
        system = scores.take(np.array([scores.utterances.index(utterance)]))
        try:
            values.append(ss.evaluate(references, system, ["range-recall"], threshold=threshold)["range-recall"].value)
        except ss.UndefinedMeasureError:
            values.append(None)
    known = [value for value in values if value is not None]
    assert 0 < len(known) < len(values)
    found = ss.interval(
        corpus.references,
        scores,
        "range-recall-macro",
        threshold=threshold,
        replicates=300,
        seed=1,
        method="percentile",
    )
    assert found.estimate == pytest.approx(sum(known) / len(known), abs=1e-12)
    # the same draws, by hand
    utterances = sorted(corpus.references.utterances)
    by_name = dict(zip(corpus.references.utterances, values, strict=True))
    means = []
    for b in range(300):
        stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence(1, spawn_key=(b,))))
        drawn = [by_name[utterances[i]] for i in stream.integers(0, len(utterances), len(utterances))]
        counted = [value for value in drawn if value is not None]
        means.append(sum(counted) / len(counted))
    assert found.replicates == pytest.approx(means, abs=1e-12)
    with pytest.raises(UsageError, match="give a threshold"):
        ss.interval(corpus.references, scores, "range-recall-macro", method="percentile")


def test_two_systems_are_compared_by_means_over_utterances(corpus):
    systems = {"a": corpus.systems[0.02], "b": corpus.systems[0.64], "c": corpus.systems[0.02]}
    thresholds = {"a": 0.2, "b": 0.2, "c": 0.2}
    found = ss.compare(corpus.references, systems, "range-f1-macro", thresholds=thresholds)
    assert found.test == "jackknife-t"
    assert found["a", "b"].p_value < 0.02
    assert (found["a", "c"].value, found["a", "c"].p_value) == (0.0, 1.0)
    assert found.better(found["a", "b"]) == "a"
    assert found.better(found["a", "c"]) is None


def test_compare_says_which_is_better(folder, corpus):
    where, _ = folder
    found = as_json("compare", where, "R", "A", f"coarse={where / 'unit0.64.score'}")
    (comparison,) = found["comparisons"]
    assert [one["system"] for one in comparison["systems"]] == ["unit0.02", "coarse"]
    references = ss.read_references(where / "references.rttm", durations=where / "reco2dur")
    systems = {"unit0.02": ss.read_scores(where / "unit0.02.score"), "coarse": ss.read_scores(where / "unit0.64.score")}
    assert comparison == ss.compare(references, systems).to_dict()
    (difference,) = comparison["differences"]
    assert difference["better"] == "unit0.02"
    parts = [one["signature"] for one in comparison["systems"]]
    assert parts[0]["comparable"] == parts[1]["comparable"]
    assert parts[0]["input"] != parts[1]["input"]
    for one, scores in zip(comparison["systems"], systems.values(), strict=True):
        assert one["signature"] == ss.range_eer(references, scores).signature.to_dict()


@pytest.mark.parametrize("spelling", ["text", "markdown", "latex", "csv"])
def test_compare_prints_both_tables(folder, corpus, spelling):
    where, _ = folder
    values = [100 * ss.range_eer(corpus.references, corpus.systems[hop]).value for hop in (0.02, 0.64)]
    files = ["R", "A", where / "unit0.64.score"]
    result = run("compare", where, *files, "--format", spelling)
    assert result.exit_code == 0, result.output
    difference = values[0] - values[1]
    numbers = [f"{number:.2f}" for number in (*values, difference)]
    if spelling == "latex":
        numbers[2] = f"$-${-difference:.2f}"
    if spelling == "csv":  # all digits
        numbers = [f"{number:.9f}" for number in (*values, difference)]
        numbers = [number[: number.index(".") + 8] for number in numbers]
    for word in ("unit0.02", "unit0.64", "better", *numbers):
        assert word in result.stdout
    assert ("signature" in result.stdout) == (spelling != "csv")
    if spelling == "text":
        short = ss.range_eer(corpus.references, corpus.systems[0.02]).signature.short
        assert f"signature of unit0.02: {short}" in result.stdout
        full = run("compare", where, *files, "--signature").stdout
        assert str(ss.range_eer(corpus.references, corpus.systems[0.02]).signature.comparable) in full


@pytest.mark.filterwarnings("ignore:the threshold in:spoofspan.SpoofspanWarning")
def test_compare_at_thresholds_from_development(folder):
    where, _ = folder
    for name in ("unit0.02", "unit0.16"):
        result = run(
            "eval", where, "R", where / f"{name}.score", "-m", "range-eer", "--format", "json", "--force",
            "--out", where / f"{name}.json",
        )  # fmt: skip
        assert result.exit_code == 0, result.output
    given = [word for n in ("unit0.02", "unit0.16") for word in ("--system-threshold-from", f"{n}={where / n}.json")]
    (found,) = as_json("compare", where, "R", "A", "B", "-m", "range-fpr", *given)["comparisons"]
    eers = [json.loads((where / f"{n}.json").read_text())["measurements"][0] for n in ("unit0.02", "unit0.16")]
    assert [one["value"] for one in found["systems"]] == [one["false_positive_rate"] for one in eers]
    assert found["test"] == "jackknife-t"


def test_seeds_of_one_system(folder):
    where, _ = folder
    files = [where / f"unit0.{hop}.score" for hop in ("02", "04", "08", "16", "32")]
    (found,) = as_json("compare", where, "R", *files, "--one-system")["seeds"]
    values = [one["value"] for one in found["values"]]
    assert found["mean"] == pytest.approx(np.mean(values))
    assert found["standard_deviation"] == pytest.approx(np.std(values, ddof=1))
    assert found["joint"]["low"] <= found["test_set"]["low"] < found["mean"]
    result = run("compare", where, "R", *files[:2], "--one-system")
    assert result.exit_code == 0
    assert "2 seeds say little about training" in result.stdout
    refused = run("compare", where, "R", *files, "--one-system", "--interval", "percentile")
    assert "jackknife-t" in str(refused.exception)


@pytest.mark.parametrize(
    ("command", "words", "said"),
    [
        ("compare", ["R", "A"], "at least two systems"),
        ("compare", ["R", "A", "A"], "given twice"),
        ("compare", ["R", "A", "B", "-m", "range-f1"], "threshold"),
        ("compare", ["R", "A", "B", "-m", "range-f1", "--system-threshold", "0.3"], "NAME="),
        ("compare", ["R", "A", "B", "-m", "range-f1", "--system-threshold", "unit0.02=x"], "no number"),
        ("compare", ["R", "A", "B", "--system-threshold", "unit0.02=1"], "not taken at a threshold"),
        ("compare", ["R", "A", "B", "--one-system", "--system-threshold", "unit0.02=1"], "leave --one-system out"),
        ("compare", ["R", "A", "B", "--interval", "bootstrap"], "percentile"),
        ("compare", ["R", "A", "B", "--cluster", "speaker"], "--metadata"),
        ("compare", ["R", "A", "B", "--confidence", "95"], "between 0 and 1"),
        ("eval", ["R", "A", "--replicates", "10"], "goes with --confidence"),
        ("eval", ["R", "A", "--confidence", "0.95", "--interval", "percentile", "--replicates", "10"], "too few"),
    ],
)
def test_what_is_refused(folder, command, words, said):
    result = run(command, folder[0], *words)
    assert isinstance(result.exception, UsageError), result.output
    assert said in str(result.exception)
    assert not result.stdout


def test_an_interval_of_equal_replicates_says_so(corpus):
    references = corpus.references
    perfect = ss.Scores.from_columns(
        references.utterances,
        references.offsets,
        1.0 - references.labels - 0.1 * (references.starts > 0),  # more values than labels have
        starts=references.starts,
        ends=references.ends,
        higher="bonafide",
    )
    found = ss.interval(references, perfect, "utterance-eer", replicates=100, method="percentile")
    fewest = min(found.with_bona_fide, found.with_spoof)
    # of so many clusters without an error, 2.5 % would have none if the rate were this high
    assert (found.low, (1 - found.high) ** fewest) == (0.0, pytest.approx(0.025))
    assert "says nothing" in found.warnings[0]


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_given_utterance_scores_have_intervals_too(tmp_path):
    rng = np.random.default_rng(3)
    labels = {f"u{i:03d}": "spoof" if i % 3 else "bonafide" for i in range(200)}
    values = np.array([rng.normal(1.0 if label == "bonafide" else -1.0) for label in labels.values()])
    scores = ss.UtteranceScores(tuple(labels), values, higher="bonafide")
    measures = ["utterance-eer", "utterance-f1", "utterance-min-dcf"]
    resampling = ss.Resampling(replicates=100, seed=2, method="percentile")
    found = ss.evaluate_utterances(labels, scores, measures, resampling=resampling)
    names = sorted(labels)
    for measure in measures:
        values_of_draws = []
        for b in range(100):
            stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence(2, spawn_key=(b,))))
            drawn = stream.integers(0, 200, 200)
            ids = [f"{names[i]}-{k}" for k, i in enumerate(drawn)]
            again = ss.UtteranceScores(
                tuple(ids), np.array([values[scores.utterances.index(names[i])] for i in drawn]), higher="bonafide"
            )
            truth = {utt: labels[names[i]] for utt, i in zip(ids, drawn, strict=True)}
            values_of_draws.append(_quietly(ss.evaluate_utterances, truth, again, [measure])[measure].value)
        assert found[measure].interval.replicates.tolist() == pytest.approx(values_of_draws, abs=1e-12)


def _quietly(function, *arguments):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.SpoofspanWarning)
        return function(*arguments)


def test_what_was_learned_on_this_very_test_set_is_noticed(tmp_path):
    assert CliRunner().invoke(app, ["demo", "--out", str(tmp_path), "--force"]).exit_code == 0

    def said(command, *words):
        inputs = [command, tmp_path / "references.rttm", *words, "--durations", tmp_path / "reco2dur"]
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            done = CliRunner().invoke(app, [str(word) for word in inputs])
        assert done.exit_code == 0, done.output
        return [str(one.message) for one in found if "learned on" in str(one.message)]

    scores, other = tmp_path / "unit0.02.score", tmp_path / "unit0.04.score"
    own, learned = tmp_path / "own.json", tmp_path / "calibration.json"
    said("eval", scores, "--format", "json", "--out", own)
    (found,) = said("eval", scores, "-m", "range-f1", "--threshold-from", own)
    assert found.startswith(f"the threshold in {own} was learned on this very test set")
    assert said("eval", scores, "-m", "range-f1", "--threshold", "-0.4") == []
    thresholds = ["--system-threshold-from", f"unit0.02={own}", "--system-threshold", "unit0.04=-0.4"]
    assert said("compare", scores, other, "-m", "range-f1", *thresholds) == [found]
    said("calibrate", scores, "--out", learned)
    assert len(said("calibrate", scores, "--apply", learned)) == 1
    assert said("calibrate", other, "--apply", learned) == []


@pytest.mark.slow
def test_intervals_for_these_attacks_stand_beside_those_for_new_ones(tmp_path):
    assert CliRunner().invoke(app, ["demo", "--out", str(tmp_path), "--force"]).exit_code == 0
    inputs = [
        tmp_path / "references.rttm",
        "--durations",
        tmp_path / "reco2dur",
        "--metadata",
        tmp_path / "protocol.txt",
    ]
    seeds = [tmp_path / f"seed-{seed}" / "scores_20ms.parquet" for seed in (1, 10, 100)]
    commands = (
        ["compare", *inputs, *seeds, "--one-system"],
        ["compare", *inputs, *seeds],
        ["eval", *inputs, seeds[0], "--confidence", "0.95", "--by", "attack", "-m", "range-eer"],
        ["table", *inputs, *seeds, "--confidence", "0.95"],
    )
    for command in commands:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            words = [str(word) for word in [*command, "--cluster", "speaker,attack"]]
            texts = {form: CliRunner().invoke(app, [*words, "--format", form]) for form in ("text", "latex", "csv")}
        for done in texts.values():
            assert done.exit_code == 0, done.output
        if command[0] != "table":
            assert "these attacks: from" in texts["text"].stdout
        if "--one-system" in command:
            assert "standard error of the mean, these seeds, by: speaker" in texts["text"].stdout


def test_groups_are_signed_only_where_signatures_are_shown(folder, monkeypatch):
    signed = []
    to_dict = GroupedComparison.to_dict
    monkeypatch.setattr(GroupedComparison, "to_dict", lambda self: signed.append(self) or to_dict(self))
    for form, count in (("text", 0), ("json", 1)):
        result = run("compare", folder[0], "R", "A", "B", "--by", "attack", "--format", form)
        assert result.exit_code == 0, result.output
        assert len(signed) == count
