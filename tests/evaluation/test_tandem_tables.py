"""Tables of trials by attack and codec: against ASVspoof 5's own package, and against each cell measured alone."""

import csv
import io
import json
import math
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from command_line import run_command as run

import spoofspan as ss
from spoofspan.data.utterance_scores import TRIALS, UtteranceScores, VerificationScores
from spoofspan.evaluation.crossed import POOLED
from spoofspan.formats.reading import read_utterance_scores
from spoofspan.formats.tables import parquet
from spoofspan.formats.text.protocol import read_metadata, read_utterance_labels
from spoofspan.groups import cross_utterances

GOLDEN = Path(__file__).parents[1] / "golden" / "attack_codec_trials"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schema/evaluation.json").read_text(encoding="utf-8"))
KEYS, SCORES, ORGANISERS = GOLDEN / "keys.txt", GOLDEN / "sasv_scores.tsv", GOLDEN / "asv_scores.tsv"
RATES = (0.01881016557566423, 0.01880141010575793, 0.4607082907604729)  # what ASVspoof 5 has built in
# the table of the package, the measure, the verification system, and what a share is multiplied by
TABLES = [
    ("eer", "utterance-eer", None, 1),
    ("min-dcf", "utterance-min-dcf", None, 1),
    ("cllr", "utterance-cllr", None, 1),
    ("act-dcf", "utterance-act-dcf", None, 1),
    ("a-dcf", "utterance-a-dcf", None, 1),
    ("t-eer", "utterance-t-eer", SCORES, 100),
    ("min-tdcf of accepted spoofs", "utterance-min-tdcf", ORGANISERS, 1),
    ("min-tdcf of evaluation_full.py", "utterance-min-tdcf@form=2024", ORGANISERS, 1),
    ("min-tdcf of built-in rates", "utterance-min-tdcf", RATES, 1),
    ("min-tdcf of built-in rates", "utterance-min-tdcf@form=2024", RATES, 1),
]


@pytest.fixture(scope="module")
def key():
    return read_utterance_labels(KEYS)


@pytest.fixture(scope="module")
def columns():
    return {name: read_metadata(KEYS, name) for name in ("attack", "codec")}


def rows():
    """Key and scores of each trial that counts, by their names."""
    with KEYS.open() as keys, SCORES.open() as scores, ORGANISERS.open() as verification:
        tables = [
            csv.DictReader(keys, delimiter=" "),
            *(csv.DictReader(one, delimiter="\t") for one in (scores, verification)),
        ]
        joined = [{**a, **b, "other": c["asv-score"]} for a, b, c in zip(*tables, strict=True)]
    return [row for row in joined if row["track_2_tag"] != "dummy"]


def verification(key, where):
    if where is None or isinstance(where, tuple):
        return {"asv_rates": where}
    return {"asv_scores": ss.read_verification_scores(where, key)}


def close(values, wanted, factor=1):
    pairs = [pair for line in zip(values, wanted, strict=True) for pair in zip(*line, strict=True)]
    return len(pairs) == 20 and all(factor * value == pytest.approx(tool, abs=1e-12) for value, tool in pairs)


# ---------------------------------------------------------------- the organisers' package


@pytest.mark.parametrize(("table", "measure", "asv", "factor"), TABLES)
def test_the_tables_of_track_2_are_those_of_asvspoof_5(key, columns, table, measure, asv, factor):
    scores = read_utterance_scores(SCORES)
    found = cross_utterances(key, scores, columns, measure, scores_are="llr", **verification(key, asv))
    assert (list(found.rows), list(found.columns)) == (EXPECTED["attacks"], EXPECTED["codecs"])
    assert close(found.values(), EXPECTED["tools"][table], factor)
    whole = ss.evaluate_utterances(key, scores, [measure], scores_are="llr", **verification(key, asv))
    assert next(iter(whole.measurements.values())).value == found[POOLED, POOLED].value


@pytest.mark.parametrize("keys", ["recording_keys.txt", "keys.txt"])
@pytest.mark.parametrize("name", ["eer", "min-dcf"])
def test_the_tables_of_track_1_count_every_recording_once(keys, name, capsys):
    """A trial that is a dummy in track 2 is a recording of track 1; a recording with two trials is one recording."""
    files = ["eval", GOLDEN / keys, "--utterance-scores", GOLDEN / "cm_scores.tsv", "--by", "attack,codec"]
    code, printed, said = run([*files, "-m", f"utterance-{name}", "--format", "json"], capsys)
    assert code == 0, said
    plain = json.loads(printed)
    assert close(plain["crossed"][0]["values"], EXPECTED["tools"][f"{name} of recordings"])
    assert plain["measurements"][0]["utterances"] == len((GOLDEN / "cm_scores.tsv").read_text().splitlines()) - 1


def test_a_key_that_contradicts_itself_is_refused(tmp_path):
    (tmp_path / "key.txt").write_text("spk filename cm-label asv-label\ns u spoof target\n")
    with pytest.raises(ss.DataError, match="'u' is called spoof, and target as a trial"):
        read_utterance_labels(tmp_path / "key.txt")


def test_the_command_line_prints_the_tables_of_asvspoof_5(capsys):
    files = [
        "eval",
        KEYS,
        "--utterance-scores",
        SCORES,
        "--by",
        "attack,codec",
        "--scores-are",
        "llr",
        "--format",
        "json",
    ]
    for where in (None, SCORES, ORGANISERS, RATES):
        tables = [one for one in TABLES if one[2] == where]
        measures = [word for _, measure, *_ in tables for word in ("-m", measure)]
        asv = ["--asv-scores", where] if isinstance(where, Path) else []
        asv += ["--asv-rates", ",".join(map(repr, RATES))] if where == RATES else []
        code, printed, said = run([*files, *measures, *asv], capsys)
        assert code == 0, said
        plain = json.loads(printed)
        jsonschema.validate(plain, SCHEMA)
        assert len(plain["crossed"]) == len(tables)
        for (table, _, _, factor), found in zip(tables, plain["crossed"], strict=True):
            assert close(found["values"], EXPECTED["tools"][table], factor)


def test_a_single_column_has_the_first_column_of_the_table(key, columns, capsys):
    command = ["eval", KEYS, "--utterance-scores", SCORES, "--asv-scores", SCORES, "-m", "utterance-t-eer"]
    for name, wanted in (
        ("attack", [line[0] for line in EXPECTED["tools"]["t-eer"]]),
        ("codec", EXPECTED["tools"]["t-eer"][0]),
    ):
        code, printed, said = run([*command, "--by", name, "--format", "json"], capsys)
        assert code == 0, said
        values = [line[0] for line in json.loads(printed)["crossed"][0]["values"]]
        assert [100 * value for value in values] == pytest.approx(wanted, abs=1e-12)


# ---------------------------------------------------------------- which verification trials a cell has


def old_lines():
    """The scores of the verification system as ASVspoof 2019 has them: an attack, a kind, a score."""
    return "".join(f"{row['attack_anon']} {row['asv-label']} {row['other']}\n" for row in rows()).encode()


def test_attacks_are_told_by_the_first_column_and_codecs_are_refused(key, columns):
    asv = ss.read_verification_scores(io.BytesIO(old_lines()))
    found = cross_utterances(key, read_utterance_scores(SCORES), columns, "utterance-min-tdcf", asv_scores=asv)
    for row, line in zip(found.rows, EXPECTED["tools"]["min-tdcf of accepted spoofs"], strict=True):
        assert found[row, POOLED].value == pytest.approx(line[0], abs=1e-12)
        for codec in found.columns[1:]:
            assert math.isnan(found[row, codec].value)
            assert "do not tell which trials have which codec" in found[row, codec].reason
    other = {trial: f"x{value}" if value != "bonafide" else value for trial, value in columns["attack"].items()}
    found = cross_utterances(
        key, read_utterance_scores(SCORES), {"attack": other}, "utterance-min-tdcf", asv_scores=asv
    )
    assert "no spoof trial of attack xA17" in found["xA17", POOLED].reason


def test_scores_without_any_attack_have_the_pooled_cell_only(key, columns):
    known = ss.read_verification_scores(ORGANISERS, key)
    bare = VerificationScores(known.target, known.nontarget, known.spoof)
    for measure in ("utterance-t-eer", "utterance-min-tdcf"):
        found = cross_utterances(key, read_utterance_scores(SCORES), columns, measure, asv_scores=bare)
        assert [place for place, cell in found.cells.items() if not math.isnan(cell.value)] == [(POOLED, POOLED)]


def test_the_command_line_says_why_cells_are_empty(tmp_path, capsys):
    (tmp_path / "asv.txt").write_bytes(old_lines())
    command = [
        "eval",
        KEYS,
        "--utterance-scores",
        SCORES,
        "--asv-scores",
        tmp_path / "asv.txt",
        "-m",
        "utterance-t-eer",
    ]
    code, printed, said = run([*command, "--by", "attack,codec"], capsys)
    assert code == 0, said
    assert "empty: the verification scores do not tell which trials have which codec" in printed
    assert "each cell has its own trials of the verification system" in printed


@pytest.mark.parametrize("separator", ["\t", " ", ","])
@pytest.mark.parametrize("attack", ["A00", "bonafide", "-"])
def test_tables_with_labels_need_no_key(separator, attack, tmp_path):
    lines = [
        ("spk", "trial", "asv-label", "asv-score"),
        *((r["spk"], r["filename"], r["asv-label"], r["other"]) for r in rows()),
    ]
    table = tmp_path / "asv.txt"
    table.write_text("".join(separator.join(line) + "\n" for line in lines))
    asv = ss.read_verification_scores(table)
    full = tmp_path / "key.txt"
    full.write_text(
        KEYS.read_text()
        .replace("nontarget bonafide", f"nontarget {attack}")
        .replace("target bonafide", f"target {attack}")
    )
    key, columns = read_utterance_labels(full), {name: read_metadata(full, name) for name in ("attack", "codec")}
    found = cross_utterances(key, read_utterance_scores(SCORES), columns, "utterance-min-tdcf", asv_scores=asv)
    assert list(found.rows) == EXPECTED["attacks"]
    assert close(found.values(), EXPECTED["tools"]["min-tdcf of accepted spoofs"])


def test_attacks_and_codecs_may_be_known_of_recordings_only(key, columns):
    recordings = {
        name: {trial.rpartition(" ")[2]: value for trial, value in column.items()} for name, column in columns.items()
    }
    asv = ss.read_verification_scores(ORGANISERS, key)
    found = cross_utterances(key, read_utterance_scores(SCORES), recordings, "utterance-min-tdcf", asv_scores=asv)
    assert close(found.values(), EXPECTED["tools"]["min-tdcf of accepted spoofs"])


@pytest.mark.parametrize(
    ("text", "with_key", "error", "said"),
    [
        ("spk filename asv-score\ns u 1\n", False, ss.UsageError, "no column asv-label"),
        ("spk filename asv-score\ns u 1\n", True, ss.DataError, "'u' is not in the key"),
        ("spk filename asv-label asv-score\ns u fake 1\n", False, ss.DataError, "must be target, nontarget or spoof"),
        ("spk filename asv-label asv-score\ns u target x\n", False, ss.DataError, "cannot be read"),
        ("spk filename asv-label asv-score\ns u target 1\n", False, ss.UndefinedMeasureError, "no nontarget trial"),
        ("spk filename asv-label asv-score\ns u target\n", False, ss.DataError, "3 fields instead of the 4"),
    ],
)
def test_tables_of_verification_scores_are_checked(key, text, with_key, error, said):
    with pytest.raises(error, match=said):
        ss.read_verification_scores(io.BytesIO(text.encode()), key if with_key else None)


def test_a_label_against_the_key_is_refused(key):
    row = next(row for row in rows() if row["asv-label"] == "target")
    text = f"spk filename asv-label asv-score\n{row['spk']} {row['filename']} spoof 1\n"
    with pytest.raises(ss.DataError, match="is called spoof, and target in the key"):
        ss.read_verification_scores(io.BytesIO(text.encode()), key)


def test_the_table_of_an_a_dcf_counts_targets_and_others(capsys):
    command = ["eval", KEYS, "--utterance-scores", SCORES, "-m", "utterance-a-dcf", "--by", "attack"]
    code, printed, said = run(command, capsys)
    assert code == 0, said
    assert "target trials  other trials" in printed
    targets = sum(row["asv-label"] == "target" for row in rows())
    assert f"A17 {targets} {93 + 114}" in " ".join(printed.split())


def test_dummy_trials_do_not_count(key):
    assert list(key.values()).count("dummy") == 12
    found = ss.evaluate_utterances(key, read_utterance_scores(SCORES), ["utterance-eer", "utterance-a-dcf"])
    assert {one.utterances for one in found.measurements.values()} == {len(rows())}
    asv = ss.read_verification_scores(SCORES, key)
    assert sum(getattr(asv, kind).size for kind in TRIALS) == len(rows())


# ---------------------------------------------------------------- intervals of cells


@pytest.mark.parametrize("measure", ["utterance-a-dcf", "utterance-min-tdcf", "utterance-eer"])
@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_the_interval_of_a_cell_is_that_of_its_own_trials(key, columns, measure):
    scores, how = read_utterance_scores(SCORES), ss.Resampling()
    asv = ss.read_verification_scores(ORGANISERS, key)
    found = cross_utterances(key, scores, columns, measure, asv_scores=asv, resampling=how)
    assert "intervals" in found.to_dict()
    for attack, codec in (("A18", "C01"), ("A17", POOLED), (POOLED, "-")):
        chosen = [
            row
            for row in rows()
            if codec in (POOLED, row["codec"])
            and (row["asv-label"] != "spoof" or attack in (POOLED, row["attack_anon"]))
        ]
        ids = [f"{row['spk']} {row['filename']}" for row in chosen]
        column = "sasv-score" if measure == "utterance-a-dcf" else "cm-score"
        alone = UtteranceScores(tuple(ids), np.array([float(row[column]) for row in chosen]), "bonafide")
        kinds = [np.array([float(row["other"]) for row in chosen if row["asv-label"] == kind]) for kind in TRIALS]
        own = ss.evaluate_utterances(
            {trial: key[trial] for trial in ids},
            alone,
            [measure],
            asv_scores=VerificationScores(*kinds),
            resampling=how,
        )
        (one,) = own.measurements.values()
        cell = found[attack, codec]
        assert cell.value == one.value
        assert (cell.interval.low, cell.interval.high) == pytest.approx(
            (one.interval.low, one.interval.high), abs=1e-12
        )


def test_intervals_of_cells_on_the_command_line(capsys):
    command = ["eval", KEYS, "--utterance-scores", SCORES, "-m", "utterance-a-dcf", "--confidence", "0.95"]
    code, printed, said = run([*command, "--by", "attack,codec"], capsys)
    assert code == 0, said
    assert "intervals: 95 %, jackknife-t, each of its cell alone" in printed
    code, printed, said = run([*command, "--by", "attack", "--format", "json"], capsys)
    assert code == 0, said
    plain = json.loads(printed)
    jsonschema.validate(plain, SCHEMA)
    assert [len(line) for line in plain["crossed"][0]["intervals"]] == [1] * 5
    tandem = ["eval", KEYS, "--utterance-scores", SCORES, "--asv-scores", SCORES, "-m", "utterance-t-eer"]
    code, _, said = run([*tandem, "--confidence", "0.95", "--by", "attack"], capsys)
    assert (code, "has no interval by the method 'jackknife-t'" in " ".join(said.split())) == (2, True)
    drawn = ["--confidence", "0.95", "--interval", "percentile", "--replicates", "50"]
    code, printed, said = run([*tandem, *drawn, "--by", "attack"], capsys)
    assert code == 0, said
    assert "95 % from" in printed.partition("attack ")[2]


# ---------------------------------------------------------------- which of several scores


def test_measures_take_the_right_one_of_several_scores(key):
    several = read_utterance_scores(SCORES)
    for measure, column in (
        ("utterance-a-dcf", "sasv-score"),
        ("utterance-sv-eer", "sasv-score"),
        ("utterance-eer", "cm-score"),
    ):
        right = read_utterance_scores(SCORES, column=column)
        found, wanted = (ss.evaluate_utterances(key, one, [measure]) for one in (several, right))
        (one,), (other,) = found.measurements.values(), wanted.measurements.values()
        assert (one.value, one.threshold) == (other.value, other.threshold)
        assert one.signature == other.signature
    wrong = ss.evaluate_utterances(key, read_utterance_scores(SCORES, column="cm-score"), ["utterance-a-dcf"])
    assert next(iter(wrong.measurements.values())).value != one.value


def test_one_command_measures_countermeasure_and_trials(capsys):
    command = ["eval", KEYS, "--utterance-scores", SCORES, "-m", "utterance-eer", "-m", "utterance-a-dcf"]
    code, printed, said = run([*command, "--format", "json"], capsys)
    assert code == 0, said
    values = [one["value"] for one in json.loads(printed)["measurements"]]
    assert values == pytest.approx([EXPECTED["tools"][name][0][0] for name in ("eer", "a-dcf")], abs=1e-12)


def table_of(*names):
    first, *_ = rows()
    lines = [names, [first.get(name, "0.5") if name in ("spk", "filename") else "0.5" for name in names]]
    return io.BytesIO("".join("\t".join(line) + "\n" for line in lines).encode())


def test_several_unknown_scores_are_refused_by_their_names():
    names = ("spk", "filename", "cm-score", "fused-score")
    with pytest.raises(ss.UsageError, match="several columns of scores, cm-score, fused-score"):
        read_utterance_scores(table_of(*names))
    for columns, column in ((names, "fused-score"), (("filename", "llr", "cm-score"), "llr")):
        with pytest.raises(ss.UsageError, match="nothing says what high values"):
            read_utterance_scores(table_of(*columns), column=column)
        assert read_utterance_scores(table_of(*columns), column=column, higher="spoof").values.tolist() == [0.5]
    with pytest.raises(ss.UsageError, match="no column 'x-score'"):
        read_utterance_scores(table_of(*names), column="x-score")


def test_a_measure_whose_score_is_missing_is_refused(key):
    scores = read_utterance_scores(io.BytesIO(without("sasv-score")))
    assert ss.evaluate_utterances(key, scores, ["utterance-eer"])["utterance-eer"].value
    with pytest.raises(ss.UsageError, match="take the column sasv-score"):
        ss.evaluate_utterances(key, scores, ["utterance-a-dcf"])
    scores = read_utterance_scores(io.BytesIO(without("cm-score")))
    with pytest.raises(ss.UsageError, match="take the column cm-score"):
        ss.evaluate_utterances(key, scores, ["utterance-eer"])


def without(*columns, mark=None):
    """The table of scores without columns, or with a mark in their place."""
    lines = [line.split("\t") for line in SCORES.read_text().splitlines()]
    places = [lines[0].index(name) for name in columns]
    if mark is None:
        kept = [[field for i, field in enumerate(line) if i not in places] for line in lines]
    else:
        kept = [lines[0], *([mark if i in places else field for i, field in enumerate(line)] for line in lines[1:])]
    return "".join("\t".join(line) + "\n" for line in kept).encode()


def test_a_system_with_one_score_marks_the_others(key):
    scores = read_utterance_scores(io.BytesIO(without("cm-score", "asv-score", mark="-")))
    found = ss.evaluate_utterances(key, scores, ["utterance-a-dcf"])
    wanted = ss.evaluate_utterances(key, read_utterance_scores(SCORES), ["utterance-a-dcf"])
    (one,), (other,) = found.measurements.values(), wanted.measurements.values()
    assert one.value == other.value
    with pytest.raises(ss.UsageError, match="take the column cm-score"):
        ss.evaluate_utterances(key, scores, ["utterance-eer"])


def test_calibration_and_files_take_one_of_several_scores(key, tmp_path):
    several, one = read_utterance_scores(SCORES), read_utterance_scores(SCORES, column="cm-score")
    learned, alone = (ss.calibrate(key, scores) for scores in (several, one))
    assert learned.apply(several).values.tolist() == alone.apply(one).values.tolist()
    assert not learned.apply(several).columns
    with pytest.raises(ss.UsageError, match="several scores, cm-score, sasv-score"):
        ss.write_scores(several, tmp_path / "out.tsv")
    ss.write_scores(one, tmp_path / "out.tsv")
    assert read_utterance_scores(tmp_path / "out.tsv").values.tolist() == one.values.tolist()


# ---------------------------------------------------------------- scores in time


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_cells_of_scores_in_time_have_their_own_verification_trials(demo, stream, tmp_path, capsys):
    references, scores = demo
    (tmp_path / "r.parquet").write_bytes(b"".join(parquet.write_references(references)))
    (tmp_path / "s.parquet").write_bytes(b"".join(parquet.write_scores(scores)))
    codec = {utt: "xy"[i % 2] for i, utt in enumerate(references.utterances)}
    table = ["utterance,codec", *(f"{utt},{value}" for utt, value in codec.items())]
    (tmp_path / "m.csv").write_text("\n".join(table))
    rng = np.random.default_rng(7)
    trials = [
        (utt, kind, float(rng.normal((2, -1, 1)[k] + i % 2)))
        for i, utt in enumerate(codec)
        for k, kind in enumerate(TRIALS)
    ]
    lines = [f"{kind} {utt} {kind} {score!r}" for utt, kind, score in trials]
    (tmp_path / "asv.txt").write_text("\n".join(["spk filename asv-label asv-score", *lines]))
    files = ["eval", tmp_path / "r.parquet", tmp_path / "s.parquet", "--metadata", tmp_path / "m.csv", "--by", "codec"]
    files += ["--asv-scores", tmp_path / "asv.txt", "-m", "utterance-min-tdcf", "--format", "json"]
    code, printed, said = run([*files, *["--stream"] * stream], capsys)
    assert code == 0, said
    (table,) = json.loads(printed)["crossed"]
    for value, (found,) in zip(table["rows"], table["values"], strict=True):
        chosen = np.array([i for i, utt in enumerate(references.utterances) if value in (POOLED, codec[utt])])
        names = {references.utterances[i] for i in chosen}
        also = np.array([i for i, utt in enumerate(scores.utterances) if utt in names])
        kinds = [np.array([score for utt, one, score in trials if one == kind and utt in names]) for kind in TRIALS]
        alone = ss.evaluate(
            references.take(chosen), scores.take(also), ["utterance-min-tdcf"], asv_scores=VerificationScores(*kinds)
        )
        (one,) = alone.measurements.values()
        assert found == pytest.approx(one.value, abs=1e-12)


def test_lines_of_sasv_2022_have_attacks_and_speakers(key, tmp_path, capsys):
    lines = "".join(f"{r['spk']} {r['filename']} {r['attack_anon']} {r['asv-label']}\n" for r in rows())
    (tmp_path / "key.txt").write_text(lines)
    scored = "".join(f"{r['spk']} {r['filename']} {r['sasv-score']} {r['asv-label']}\n" for r in rows())
    (tmp_path / "scores.txt").write_text(scored)
    command = ["eval", tmp_path / "key.txt", "--utterance-scores", tmp_path / "scores.txt", "-m", "utterance-a-dcf"]
    code, printed, said = run([*command, "--by", "attack", "--confidence", "0.95", "--format", "json"], capsys)
    assert code == 0, said
    plain = json.loads(printed)
    values = [line[0] for line in plain["crossed"][0]["values"]]
    assert values == pytest.approx([line[0] for line in EXPECTED["tools"]["a-dcf"]], abs=1e-12)
    assert plain["measurements"][0]["interval"]["drawn_by"] == "speaker"
    with pytest.raises(ss.UsageError, match="no column 'attack'"):
        read_metadata(tmp_path / "scores.txt", "attack")  # its third field is a score
