"""The resolution table: its numbers are the golden ones, it refuses what may not be compared, it is written right."""

import csv
import gc
import io
import json
import pickle
import re
import weakref
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from golden_cases import any_spoof_labels, load
from schemas import validate

import spoofspan as ss
from spoofspan.base.lazy import LazyMapping
from spoofspan.cli import app
from spoofspan.evaluation.resolution_table import PAPER_RESOLUTIONS
from spoofspan.formats.arrays import partialspoof_scores, segment_labels
from spoofspan.formats.text import frame_lines, rttm
from spoofspan.formats.text.durations import reco2dur_lines
from spoofspan.report.resolutions import TableLook, check_alike, render

SCHEMAS = Path(__file__).parents[2] / "docs" / "schema"
FEW = [0.02, 0.04]
pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # small corpora have wide gaps


def small(seed=0, hop=0.02, ids=("u1", "u2", "u3"), higher="bonafide"):
    """Three utterances and a noisy system."""
    rng = np.random.default_rng(seed)
    references = ss.References.from_ranges(
        {utt: [(0.0, 0.33, "bonafide"), (0.33, 0.5, "spoof"), (0.5, 0.8, "bonafide")] for utt in ids},
        durations=dict.fromkeys(ids, 0.8),
    )
    frames = {utt: rng.normal(size=round(0.8 / hop)) for utt in ids}
    return references, ss.Scores.from_frames(frames, hop=hop, higher=higher)


@pytest.fixture(scope="module")
def corpus():
    import spoofspan.demo

    return spoofspan.demo.load()


@pytest.fixture(scope="module")
def table(corpus):
    systems = {0.02: corpus.systems[0.02], 0.64: corpus.systems[0.64]}
    return ss.resolution_table(corpus.references, systems, [0.01, 0.02, 0.64])


# ---------------------------------------------------------------- numbers


def golden(rule_set, hop, resolution):
    expected = load("coarse").expected
    row = expected["rows_ms"].index(round(1000 * hop))
    column = expected["columns_ms"].index(round(1000 * resolution))
    return Fraction(expected["rule_sets"][rule_set]["eer_exact"][row][column])


def test_every_point_eer_of_the_golden_matrix_is_exact():
    case = load("coarse")
    found = ss.resolution_table(case.references, case.scores, convention="paper")
    assert [row.hop for row in found.rows] == sorted(case.scores)
    for row in found.rows:
        assert tuple(row.point_eers) == PAPER_RESOLUTIONS
        for resolution, cell in row.point_eers.items():
            assert cell.measurement.exact_value == golden("paper", row.hop, resolution)
        assert (
            row.range_eer.measurement.value
            == ss.range_eer(case.references, case.scores[row.hop], convention="paper").value
        )


def label_arrays():
    """The label arrays of the golden corpus, as the published scripts read them."""
    case = load("coarse")
    durations = dict(zip(case.references.utterances, case.references.durations / 1e9, strict=True))
    arrays = {}
    for resolution, rows in any_spoof_labels().items():
        ranges = {
            utt: [
                (k * resolution, min((k + 1) * resolution, durations[utt]), "spoof" if digit == "0" else "bonafide")
                for k, digit in enumerate(digits)
            ]
            for utt, digits in rows.items()
        }
        arrays[resolution] = ss.References.from_ranges(ranges, durations)
    return arrays


def test_the_published_scripts_table_is_reproduced_from_both_label_sources():
    case = load("coarse")
    found = ss.resolution_table(
        case.references, case.scores, convention="nii-2023", label_sources="nii-2023", segment_labels=label_arrays()
    )
    for row in found.rows:
        scores = case.scores[row.hop]
        assert row.range_eer.value == ss.range_eer(case.references, scores, convention="nii-2023").value
        for resolution, cell in row.point_eers.items():
            if resolution >= row.hop:
                assert cell.measurement.exact_value == golden("nii_segment", row.hop, resolution)
            else:
                own = ss.point_eer(case.references, scores, resolution, convention="nii-2023")
                assert cell.measurement.exact_value == own.exact_value
                assert cell.measurement.signature == own.signature
    for spelling in ("text", "markdown", "latex", "html"):
        said = " ".join(found.render(spelling).split())
        assert "points at the hop or coarser against the segment label array of the hop" in said
        assert "may not be compared, not even within a column" in said


def test_points_at_the_hop_come_from_the_label_array_and_finer_ones_from_the_ranges():
    references, scores = small()
    other = ss.References.from_ranges(
        {utt: [(0.0, 0.2, "bonafide"), (0.2, 0.8, "spoof")] for utt in references.utterances},
        durations=dict.fromkeys(references.utterances, 0.8),
    )
    found = ss.resolution_table(
        references, {0.02: scores}, [0.01, 0.02, 0.04], label_sources="nii-2023", segment_labels={0.02: other}
    )[0.02]
    assert found.point_eers[0.01].value == ss.point_eer(references, scores, 0.01).value
    assert found.point_eers[0.02].value == ss.point_eer(other, scores, 0.02).value
    assert found.point_eers[0.04].value == ss.point_eer(other, scores, 0.04).value
    assert found.range_eer.value == ss.range_eer(references, scores).value
    assert found.point_eers[0.02].value != ss.point_eer(references, scores, 0.02).value


def test_the_mean_over_seeds_is_exact_and_the_seeds_stay():
    references, _ = small()
    seeds = {f"seed{i}": small(i)[1] for i in range(3)}
    cell = ss.resolution_table(references, {0.02: seeds}, FEW)[0.02].range_eer
    own = {name: ss.range_eer(references, scores) for name, scores in seeds.items()}
    assert cell.value == float(sum(one.exact_value for one in own.values()) / 3)
    assert cell.standard_deviation == pytest.approx(np.std([one.value for one in own.values()], ddof=1), rel=1e-12)
    assert {name: one.signature for name, one in cell.measurements.items()} == {n: o.signature for n, o in own.items()}
    with pytest.raises(ss.UsageError, match="mean over 3 seeds"):
        _ = cell.measurement


def test_a_row_has_the_floor_of_its_hop(table, corpus):
    for row in table.rows:
        assert row.floor.exact_value == ss.best_possible(corpus.references, row.hop).exact_value


def test_the_floor_is_that_of_the_utterances_measured():
    references, _ = small()
    ranges = {
        utt: [(0.0, 0.33, "bonafide"), (0.33, 0.5, "spoof"), (0.5, 0.8, "bonafide")] for utt in references.utterances
    }
    both = ss.References.from_ranges(
        {**ranges, "v": [(0.0, 0.017, "spoof"), (0.017, 0.8, "bonafide")]},
        durations=dict.fromkeys((*references.utterances, "v"), 0.8),
    )
    found = ss.resolution_table(both, {0.02: small()[1]}, FEW, partial=True)[0.02].floor
    assert found.value == ss.best_possible(references, 0.02).value
    assert found.value != ss.best_possible(both, 0.02).value


def test_own_and_coarser_resolutions_are_known(table):
    assert [table[0.02].is_native(one) for one in table.resolutions] == [False, True, False]
    assert [table[0.02].is_coarser(one) for one in table.resolutions] == [False, False, True]
    assert [table["640ms"].is_coarser(one) for one in table.resolutions] == [False, False, False]
    with pytest.raises(KeyError):
        _ = table[0.32]


def test_named_systems_keep_their_order_and_ranges_have_no_hop():
    references, frames = small()
    ranges = ss.Scores.from_ranges(
        {utt: [(0.0, 0.3, 0.5), (0.3, 0.8, -0.2)] for utt in references.utterances}, higher="bonafide"
    )
    found = ss.resolution_table(references, {"z": ranges, "a": frames}, FEW)
    assert [(row.name, row.hop) for row in found.rows] == [("z", None), ("a", 0.02)]
    assert found["z"].floor is None
    assert not any(found["z"].is_native(one) or found["z"].is_coarser(one) for one in FEW)
    assert found.render("text").splitlines()[2].split()[:2] == ["z", f"{100 * found['z'].range_eer.value:.2f}"]


@pytest.mark.slow
def test_scores_are_read_one_after_the_other_and_not_kept():
    references, _ = small()
    alive = []

    def make(seed):
        gc.collect()
        assert sum(one() is not None for one in alive) <= 1
        scores = small(seed)[1]
        alive.append(weakref.ref(scores))
        return scores

    found = ss.resolution_table(references, LazyMapping([0.02], lambda _: LazyMapping([0, 1, 2], make)), FEW)
    gc.collect()
    assert len(alive) == 3
    assert not any(one() is not None for one in alive)
    assert found.rows[0].range_eer.measurements[0].signature.input.startswith("scores:")


# ---------------------------------------------------------------- refusals


def test_rules_that_differ_within_a_column_are_refused():
    case = load("coarse")
    systems = {hop: case.scores[hop] for hop in (0.02, 0.04)}
    with pytest.warns(ss.SpoofspanWarning), pytest.raises(ss.UsageError) as refused:
        ss.resolution_table(case.references, systems, convention="nii-2023")
    assert "point-eer@20ms: the numbers of 20ms and 40ms cannot be compared" in str(refused.value)
    assert "rule label: any and rounded" in str(refused.value)
    assert "--label-sources nii-2023" in str(refused.value)


def test_systems_on_different_utterances_are_refused():
    references, scores = small()
    fewer = small(ids=("u1", "u2"))[1]
    with pytest.raises(ss.UsageError, match=r"all of them and one cannot be compared.*number of utterances: 3 and 2"):
        ss.resolution_table(references, {"all of them": scores, "one": fewer}, FEW, partial=True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"systems": {}}, "at least one system"),
        ({"systems": {0.02: {}}}, "no scores of any seed"),
        ({"systems": {0.02: small()[1], "a": small()[1]}}, "name all systems"),
        ({"systems": {0.04: small()[1]}}, "given for a hop of 40ms have one of 20ms"),
        ({"systems": {"a": {"1": small()[1], "2": small(hop=0.04)[1]}}}, "a, 2: the scores given for a hop of 20ms"),
        ({"resolutions": [0.02, 0.02]}, "listed twice"),
        ({"resolutions": [0.0]}, "resolution"),
        ({"label_sources": "nii"}, "did you mean 'nii-2023'"),
        ({"label_sources": "nii-2023"}, "goes with segment_labels"),
        ({"segment_labels": {}}, "goes with segment_labels"),
        ({"label_sources": "nii-2023", "segment_labels": {0.04: small()[0]}}, "no segment labels at 20ms"),
        ({"convention": "wedefense"}, "defines no point-based measure"),
    ],
)
def test_what_cannot_be_a_table_is_refused(arguments, said):
    references, scores = small()
    given = {"systems": {0.02: scores}, "resolutions": FEW, **arguments}
    with pytest.raises(ss.UsageError, match=said):
        ss.resolution_table(references, **given)


def test_label_arrays_of_other_utterances_are_refused():
    references, scores = small()
    labels = {0.02: small(ids=("u1", "u2"))[0]}
    with pytest.raises(ss.UsageError, match="different utterances"):
        ss.resolution_table(
            references, {0.02: scores}, [0.01, 0.02], label_sources="nii-2023", segment_labels=labels, partial=True
        )


def test_a_cell_without_a_value_is_named():
    references, scores = small()
    with pytest.raises(
        ss.UndefinedMeasureError, match=r"20ms, point-eer@800ms: there is no bona fide point.*leave 800ms out"
    ):
        ss.resolution_table(references, {0.02: scores}, [0.02, 0.8])


def test_warnings_name_their_cell():
    references, _ = small()
    two = {utt: [0.1, 0.9] for utt in references.utterances}
    coarse = ss.Scores.from_frames(two, hop=0.4, higher="bonafide")
    with pytest.warns(ss.SpoofspanWarning, match="^coarse, range-eer: FPR and FNR differ"):
        ss.resolution_table(references, {"coarse": coarse}, [0.02])


def test_sets_must_have_the_same_systems_columns_and_rules(table, corpus):
    fewer = ss.resolution_table(corpus.references, {0.02: corpus.systems[0.02]}, table.resolutions)
    with pytest.raises(ss.UsageError, match="640ms only in one of them"):
        check_alike({"dev": table, "eval": fewer})
    other = ss.resolution_table(corpus.references, {0.02: corpus.systems[0.02]}, [0.02])
    with pytest.raises(ss.UsageError, match="different columns; measure both"):
        check_alike({"dev": fewer, "eval": other})
    held = ss.resolution_table(corpus.references, {0.02: corpus.systems[0.02]}, table.resolutions, uncovered="hold")
    with pytest.raises(ss.UsageError, match="different rules"):
        check_alike({"dev": fewer, "eval": held})
    with pytest.raises(ss.UsageError, match="at least one"):
        check_alike({})


# ---------------------------------------------------------------- how it is written


def percents(row):
    return [f"{100 * cell.value:.2f}" for _, cell in row.cells]


def test_text_marks_the_own_resolution_and_names_easier_cells(table):
    lines = str(table).splitlines()
    assert lines[0].split() == ["hop", "floor", "range", "10", "ms", "20", "ms", "640", "ms"]
    fine = percents(table[0.02])
    assert lines[2].split() == ["20", "ms", f"{100 * table[0.02].floor.value:.2f}", *fine[:2], f"{fine[2]}*", fine[3]]
    below = " ".join(lines[4:])
    assert "an easier task, not a better system): 20ms at 640ms." in below
    signature = table[0.02].range_eer.measurement.signature
    assert f"signature of the range EER: {signature.short_comparable}" in below
    assert signature.comparable not in below
    assert signature.comparable in render({"": table}, "text", TableLook(full_signature=True))
    assert signature.comparable in table.render("markdown").replace("\\", "")


def test_sets_stand_side_by_side_where_there_is_room(table):
    tables = {"dev": table, "eval": table}
    wide, narrow = render(tables, "text"), render(tables, "text", TableLook(width=60))
    cells = [f"{100 * table[0.02].floor.value:.2f}", *percents(table[0.02])]
    cells[3] += "*"
    assert wide.splitlines()[3].split() == ["20", "ms", *cells, *cells]
    assert wide.splitlines()[0].split() == ["Development", "set", "Evaluation", "set"]
    assert narrow.splitlines()[0] == "Development set"
    assert max(map(len, narrow.splitlines()[:10])) <= 60
    assert narrow.count(" ".join(cells[:1])) == 2


def test_csv_has_the_numbers_of_the_library_without_marks(table):
    rows = list(csv.reader(io.StringIO(render({"dev": table, "eval": table}, "csv"))))
    head = ["dev floor", "dev range", "dev 10 ms", "dev 20 ms", "dev 640 ms"]
    assert rows[0] == ["hop", *head, *(one.replace("dev", "eval") for one in head)]
    for row, found in zip(table.rows, rows[1:], strict=True):
        values = [100 * row.floor.value, *(100 * cell.value for _, cell in row.cells)]
        assert [float(one) for one in found[1:]] == pytest.approx(values * 2, abs=1e-6)


def test_markdown_is_a_table_with_notes(table):
    lines = table.render("markdown").splitlines()
    assert re.fullmatch(r"\|---:(\|---:)*\|", lines[1])
    assert len(lines[0].split("|")) == len(lines[2].split("|"))
    assert f"{percents(table[0.02])[2]}\\*" in lines[2]
    assert "easier task" in table.render("markdown")


def test_latex_has_the_papers_shape(table):
    text = render({"dev": table, "eval": table}, "latex", TableLook(floor=False))
    body = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert r"\multicolumn{4}{c}{Development set} & \multicolumn{4}{c}{Evaluation set}" in body[0]
    assert r"\multicolumn{3}{c}{Point-based EER at (ms)}" in body[1]
    assert body[3].split(" & ")[:5] == ["Hop (ms)", "based EER", "10", "20", "640"]
    assert all(line.count("&") == 8 for line in body[2:])
    numbers = [cell.removesuffix(r" \\") for cell in body[4].split(" & ")]
    plain = [re.sub(r"\\phantom\{0+\}|\\textit\{([0-9.]+)\}", r"\1", one) for one in numbers]
    assert plain == ["20", *percents(table[0.02]), *percents(table[0.02])]
    assert numbers[3].endswith(rf"\textit{{{percents(table[0.02])[2]}}}")
    # digits stand below each other
    widths = {len(re.sub(r"\\phantom\{(0+)\}", r"\1", line.split(" & ")[1])) for line in body[4:]}
    assert len(widths) == 1
    assert "Floor" not in text
    assert "Floor" in table.render("latex")
    assert text.count("{") == text.count("}")


def test_names_cannot_break_a_format():
    references, scores = small()
    name = "50% of A_1 & <b>*x*</b> | ${y}$"
    found = ss.resolution_table(references, {name: scores}, FEW)
    assert r"50\% of A\_1 \& \textless{}b\textgreater{}*x*\textless{}/b\textgreater{}" in found.render("latex")
    assert "<b>" not in found._repr_html_()
    assert r"\| $\{y\}$" in found.render("markdown")
    assert name in found.render("text")
    with pytest.raises(ss.UsageError, match="did you mean 'latex'"):
        found.render("latx")


def test_json_follows_its_schema(table):
    content = json.loads(render({"dev": table}, "json"))
    validate(content)
    row = content["sets"][0]["rows"][0]
    assert row["range_eer"]["value"] == table[0.02].range_eer.value
    assert [one["native"] for one in row["point_eers"]] == [False, True, False]
    assert [one["coarser_than_hop"] for one in row["point_eers"]] == [False, False, True]
    content["sets"][0]["rows"][0]["range_eer"]["seeds"][0]["measurement"].pop("signature")
    with pytest.raises(jsonschema.ValidationError):
        validate(content)


# ---------------------------------------------------------------- the command line


def run(*arguments):
    return CliRunner().invoke(app, ["table", *map(str, arguments)])


def printed(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def refused(*arguments):
    result = run(*arguments)
    assert isinstance(result.exception, ss.UsageError), (result.output, result.exception)
    return str(result.exception)


def write_set(folder, name, seeds):
    """References, durations and the score text of seeds at two resolutions."""
    (folder / name).mkdir(parents=True)
    references, _ = small()
    (folder / name / "ref.rttm").write_bytes(b"".join(rttm.write(references)))
    (folder / name / "reco2dur").write_bytes(b"".join(reco2dur_lines(references)))
    for seed in seeds:
        (folder / name / f"s{seed}").mkdir()
        for hop in FEW:
            data = b"".join(frame_lines.FORMATS[0].write(small(seed, hop, higher="spoof")[1]))
            (folder / name / f"s{seed}" / f"unit{hop}.score").write_bytes(data)
    return references


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    write_set(folder, "dev", [1, 2])
    write_set(folder, "eval", [3, 4])
    return folder


def test_a_name_before_a_file_is_that_of_the_row(sets):
    files = [f"ours={sets}/dev/s1/unit0.02.score", f"theirs={sets}/dev/s2/unit0.02.score"]
    told = ["--durations", sets / "dev/reco2dur", "--resolutions", "20", "--format", "json"]
    named = json.loads(printed(sets / "dev/ref.rttm", *files, *told))["sets"][0]["rows"]
    assert [row["name"] for row in named] == ["ours", "theirs"]
    for row, seed in zip(named, (1, 2), strict=True):
        references, scores = small(seed, higher="spoof")
        assert row["range_eer"]["value"] == ss.range_eer(references, scores).value
    assert "is given twice" in refused(sets / "dev/ref.rttm", files[0], files[0].replace("ours", "x"), *told)


def test_sets_seeds_and_resolutions_come_from_patterns(sets):
    arguments = [
        sets / "{set}/ref.rttm",
        sets / "{set}/s{seed}/unit{resolution}.score",
        "--durations",
        sets / "{set}/reco2dur",
    ]
    found = json.loads(
        printed(*arguments, "--set", "dev", "--set", "eval", "--resolutions", "20,40", "--format", "json")
    )
    validate(found)
    assert [one["name"] for one in found["sets"]] == ["dev", "eval"]
    for content, seeds in zip(found["sets"], [(1, 2), (3, 4)], strict=True):
        assert [row["name"] for row in content["rows"]] == ["20ms", "40ms"]
        for row, hop in zip(content["rows"], FEW, strict=True):
            assert [one["name"] for one in row["range_eer"]["seeds"]] == [str(seed) for seed in seeds]
            references = ss.read_references(sets / "dev/ref.rttm", durations=sets / "dev/reco2dur")
            values = [
                ss.range_eer(
                    references, ss.read_scores(sets / content["name"] / f"s{seed}/unit{hop}.score")
                ).exact_value
                for seed in seeds
            ]
            assert row["range_eer"]["value"] == float(sum(values) / 2)
    text = printed(*arguments, "--set", "dev", "--set", "eval")
    assert "means over 2 seeds" in text
    assert len(text.splitlines()[2].split("   ")) > 1


def test_a_folder_files_and_names_do_as_well(sets):
    one = [sets / "dev/ref.rttm", "--durations", sets / "dev/reco2dur", "--format", "csv"]
    folder = printed(one[0], sets / "dev/s1", *one[1:])
    assert folder == printed(one[0], sets / "dev/s1/unit0.04.score", sets / "dev/s1/unit0.02.score", *one[1:])
    assert folder == printed(one[0], sets / "dev/s1/unit{resolution}.score", *one[1:])
    assert folder.splitlines()[0].startswith("hop,floor,range,10 ms")
    named = printed(one[0], sets / "dev/{system}/unit0.02.score", *one[1:])
    assert [line.split(",")[0] for line in named.splitlines()] == ["system", "s1", "s2"]


def test_what_is_typed_wrong_is_answered(sets):
    ref, scores = sets / "{set}/ref.rttm", sets / "{set}/s1/unit{resolution}.score"
    assert "give --set" in refused(ref, scores)
    plain = [sets / "dev/ref.rttm", sets / "dev/s1", "--durations", sets / "dev/reco2dur"]
    assert "need {set}" in refused(*plain, "--set", "dev", "--set", "eval")
    assert "SCORES" in refused(sets / "dev/ref.rttm")
    assert "write milliseconds" in refused(*plain, "--resolutions", "fine")
    assert "write milliseconds" in refused(*plain, "--resolutions", ",")
    assert "--dataset, or --segment-labels" in refused(*plain, "--label-sources", "nii-2023")
    assert "goes with --label-sources" in refused(*plain, "--segment-labels", "x")
    assert "did you mean 'nii-2023'" in refused(*plain, "--label-sources", "nii")
    assert ".png, .svg, .pdf" in refused(*plain, "--heatmap", "table.txt")


def test_a_result_is_written_only_where_it_may_be(sets, tmp_path):
    plain = [sets / "dev/ref.rttm", sets / "dev/s1", "--durations", sets / "dev/reco2dur", "--resolutions", "20"]
    out = tmp_path / "table.tex"
    assert printed(*plain, "--format", "latex", "--out", out) == ""
    assert out.read_text().startswith("% ")
    assert "exists" in refused(*plain, "--out", out)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """PartialSpoof's layout, with two seeds, and label arrays that differ from the ranges."""
    root = tmp_path_factory.mktemp("database")
    ids = ("CON_E_1", "CON_E_2", "CON_E_3")
    references, _ = small(ids=ids)
    other = ss.References.from_ranges(
        {utt: [(0.0, 0.2, "bonafide"), (0.2, 0.8, "spoof")] for utt in ids}, durations=dict.fromkeys(ids, 0.8)
    )
    con_data = root / "database/eval/con_data"
    con_data.mkdir(parents=True)
    (root / "database/eval/eval.lst").write_text("".join(f"{utt}\n" for utt in ids))
    (con_data / "rttm_2cls_0sil").write_bytes(b"".join(rttm.write(references)))
    (con_data / "reco2dur").write_bytes(b"".join(reco2dur_lines(references)))
    (root / "database/segment_labels").mkdir()
    for hop in FEW:
        path = root / f"database/segment_labels/eval_seglab_{hop}.npy"
        path.write_bytes(b"".join(segment_labels.write(other, hop)))
        for seed in (1, 2):
            path = root / f"results/{seed:02d}/output/eval_score_ali_{round(100 * hop)}_2023.pkl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"".join(partialspoof_scores.write(small(seed, hop, ids)[1])))
    return root


def test_the_partialspoof_layout_gives_the_table_with_its_seeds(database):
    spec = f"partialspoof:{database}:eval"
    arguments = ["--dataset", spec, database / "results", "--format", "json", "--resolutions", "10,20,40"]
    one = json.loads(printed(*arguments))
    both = json.loads(printed(*arguments, "--label-sources", "nii-2023", "--convention", "nii-2023"))
    validate(one)
    validate(both)
    dataset = ss.read_dataset(spec)
    labels = ss.read_dataset(spec, source="segment_labels@40ms").references
    row = both["sets"][0]["rows"][1]
    assert (row["name"], row["hop"]) == ("40ms", 0.04)
    assert [seed["name"] for seed in row["range_eer"]["seeds"]] == ["01/output", "02/output"]
    paths = [database / f"results/{seed}/output/eval_score_ali_4_2023.pkl" for seed in ("01", "02")]
    scores = [ss.read_scores(path) for path in paths]

    def mean(measured):
        return float(sum(one.exact_value for one in measured) / 2)

    points = {cell["resolution"]: cell["value"] for cell in row["point_eers"]}
    for resolution, source in ((0.01, dataset.references), (0.02, dataset.references), (0.04, labels)):
        assert points[resolution] == mean(
            [ss.point_eer(source, one, resolution, convention="nii-2023") for one in scores]
        )
    assert row["range_eer"]["value"] == mean(
        [ss.range_eer(dataset.references, one, convention="nii-2023") for one in scores]
    )
    assert one["sets"][0]["rows"][1]["point_eers"][2]["value"] != points[0.04]
    assert one["label_sources"] == "one"
    pattern = database / "database/segment_labels/eval_seglab_{resolution}.npy"
    con_data = database / "database/eval/con_data"
    files = [con_data / "rttm_2cls_0sil", database / "results/{seed}/output/eval_score_ali_{resolution}_2023.pkl"]
    flags = [
        "--durations",
        con_data / "reco2dur",
        "--segment-labels",
        pattern,
        *arguments[3:],
        "--convention",
        "nii-2023",
    ]
    apart = json.loads(printed(*files, *flags, "--label-sources", "nii-2023"))
    assert [row["point_eers"][2]["value"] for row in apart["sets"][0]["rows"]] == [
        row["point_eers"][2]["value"] for row in both["sets"][0]["rows"]
    ]


def test_compare_takes_the_partialspoof_layout_too(database):
    arguments = ["--dataset", f"partialspoof:{database}:eval", str(database / "results"), "--format", "json"]
    result = CliRunner().invoke(app, ["compare", *arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    systems = json.loads(result.stdout)["comparisons"][0]["systems"]
    assert [one["system"] for one in systems] == ["20ms", "40ms"]
    assert [seed["seed"] for seed in systems[0]["seeds"]] == ["01/output", "02/output"]


def test_label_sources_of_one_column_are_not_mixed_unasked(database):
    arguments = ["--dataset", f"partialspoof:{database}:eval", database / "results", "--convention", "nii-2023"]
    assert "cannot be compared" in refused(*arguments)


def test_tables_have_intervals_if_asked_for():
    import spoofspan.demo

    corpus = spoofspan.demo.load()
    systems = {0.16: corpus.systems[0.16], 0.64: corpus.systems[0.64]}
    table = ss.resolution_table(corpus.references, systems, [0.16], resampling=ss.Resampling(confidence=0.9))
    expected = ss.interval(corpus.references, systems[0.16], confidence=0.9)
    found = table[0.16].range_eer.interval
    assert found.to_dict() == expected.to_dict()
    text = f"{100 * found.estimate:.2f} [{100 * found.low:.2f}, {100 * found.high:.2f}]"
    for spelling in ("text", "markdown"):
        assert text in table.render(spelling).replace("\\", "")
    typeset = table.render("latex")  # the interval stands below its number, in 7 pt
    number, _, ends = text.partition(" ")
    assert typeset.index(number) < typeset.index(rf"\scriptsize {{}}{ends}")
    rows = table.render("csv").splitlines()
    assert rows[0].endswith("range-eer from,range-eer to,point-eer@160ms from,point-eer@160ms to")
    assert f",{100 * found.low!r},{100 * found.high!r}," in rows[1]


def test_means_over_seeds_have_the_joint_interval():
    import spoofspan.demo

    corpus = spoofspan.demo.load()
    system, rng = corpus.systems[0.16], np.random.default_rng(0)
    seeds = {
        str(seed): replace(system, values=system.values + rng.normal(0, seed, system.values.size)) for seed in (1, 2, 4)
    }
    several = ss.resolution_table(corpus.references, {"a": seeds}, [], resampling=ss.Resampling())
    found, expected = several["a"].range_eer, ss.seed_variation(corpus.references, seeds)
    assert found.interval.to_dict() == expected.joint.to_dict()
    text = several.render("text")
    assert f"{100 * found.value:.2f} [{100 * found.interval.low:.2f}, {100 * found.interval.high:.2f}]" in text
    assert "other seeds" in " ".join(text.split())
    assert "3 seeds say little about training" in " ".join(text.split())
    plain = json.loads(several.render("json"))
    validate(plain)
    assert plain["sets"][0]["rows"][0]["range_eer"]["interval"]["high"] == found.interval.high
    drawn = ss.resolution_table(
        corpus.references, {"a": seeds}, [], resampling=ss.Resampling(method="percentile", replicates=100)
    )
    assert drawn["a"].range_eer.interval is None
    assert "jackknife-t only" in drawn.render("text")
    one = found.measurements["1"].interval
    assert pickle.loads(pickle.dumps(one)).to_dict() == one.to_dict()


# ---------------------------------------------------------------- further columns


EVENTS = ["event-f1@iou=0.5", "event-collar-best-f1", "range-f1"]


def test_further_columns_are_what_evaluate_gives(corpus):
    how = ss.Resampling(method="jackknife-t", confidence=0.9)
    system = corpus.systems[0.02]
    table = ss.resolution_table(corpus.references, {0.02: system}, [0.02], EVENTS, resampling=how)
    expected = ss.evaluate(corpus.references, system, EVENTS, resampling=how)
    for name, measurement in expected.measurements.items():
        cell = table[0.02].measures[name]
        assert str(cell.measurement.to_dict()) == str(measurement.to_dict())  # NaN differs from itself
        assert cell.interval.low == measurement.interval.low
    assert list(table.to_rows()[0])[-3:] == list(expected.measurements)
    assert "event-f1, range-f1: at the threshold of each system's own EER" in table.render("text").replace("\n  ", " ")
    assert "& Event collar &" in table.render("latex")  # in two lines, with best F1
    assert table.render("csv").splitlines()[0].endswith("range-f1 to")
    validate(json.loads(table.render("json")))


def test_proposals_have_a_table_of_events_alone(corpus):
    found = {
        name: ss.proposals_from_scores(corpus.systems[hop], 0.0) for name, hop in (("fine", 0.02), ("coarse", 0.64))
    }
    table = ss.resolution_table(corpus.references, found, measures=["event-ap@iou=0.5", "event-ar@n=5"])
    for name, proposals in found.items():
        alone = ss.evaluate(corpus.references, proposals, ["event-ap@iou=0.5", "event-ar@n=5"])
        assert [cell.value for _, cell in table[name].cells] == [m.value for m in alone.measurements.values()]
    assert table.resolutions == ()
    assert table.to_dict()["rows"][0]["range_eer"] is None
    validate(json.loads(table.render("json")))
    assert table.render("text").splitlines()[0].split() == ["system", "event-ap", "event-ar@n=5"]
    assert r"\begin{tabular}{lcc}" in table.render("latex")
    with pytest.raises(ss.UsageError, match="no range EER"):
        _ = table["fine"].range_eer
    with pytest.raises(ss.UsageError, match="which event measures"):
        ss.resolution_table(corpus.references, found)
    with pytest.raises(ss.UsageError, match="a table of each"):
        ss.resolution_table(corpus.references, {**found, "scores": corpus.systems[0.02]}, measures=["event-f1"])


@pytest.mark.parametrize("measure", ["range-eer", "point-eer@20ms"])
def test_columns_that_are_there_are_refused(corpus, measure):
    with pytest.raises(ss.UsageError, match="already"):
        ss.resolution_table(corpus.references, {0.02: corpus.systems[0.02]}, [0.02], [measure])


def test_a_column_that_is_no_share_stands_as_it_is(corpus):
    scores = corpus.systems[0.02]
    table = ss.resolution_table(corpus.references, {"a": scores}, [], ["range-cllr", "range-auc"], scores_are="llr")
    alone = ss.evaluate(corpus.references, scores, ["range-cllr", "range-auc"], scores_are="llr")
    cllr, auc = (one.value for one in alone.measurements.values())
    assert [cell.value for cell in table["a"].measures.values()] == [cllr, auc]
    lines = table.render("text").splitlines()
    assert lines[2].split()[-2:] == [f"{cllr:.4f}", f"{100 * auc:.2f}"]
    assert "EER and the other measures in %, but for range-cllr." in lines
    assert table.render("csv").splitlines()[1].split(",")[-2:] == [repr(cllr), repr(100 * auc)]
    assert r"EER, and other measures (\%, except range-cllr)." in table.render("latex")


# ---------------------------------------------------------------- for papers


def test_the_best_of_a_column_is_bold_and_deviations_stand_with_means(corpus):
    import statistics

    system, rng = corpus.systems[0.16], np.random.default_rng(0)
    seeds = {str(i): replace(system, values=system.values + rng.normal(0, i, system.values.size)) for i in (1, 2, 3)}
    table = ss.resolution_table(corpus.references, {"noisy": seeds, "clean": {"1": system}}, [0.16], ["range-auc"])
    eers = [100 * ss.range_eer(corpus.references, one).value for one in seeds.values()]
    look = TableLook(bold=True, deviations=True, columns=("range", "160", "range-auc"))
    mean = f"{statistics.fmean(eers):.2f} \u00b1 {statistics.stdev(eers):.2f}"
    assert mean in render({"": table}, "text", look)
    lines = render({"": table}, "markdown", look).splitlines()
    assert lines[0].replace(" ", "") == "|system|hop|range|160ms|range-auc|"
    assert f"**{100 * ss.range_eer(corpus.references, system).value:.2f}**" in lines[3]
    assert lines[3].count("**") == 6  # lower is better of EERs, higher of AUC
    typeset = render({"": table}, "latex", look)
    assert rf"\scriptsize $\pm${statistics.stdev(eers):.2f}" in typeset
    assert rf"\textbf{{{100 * table['clean'].range_eer.value:.2f}}}" in typeset
    with pytest.raises(ss.UsageError, match="no column '30'"):
        render({"": table}, "text", TableLook(columns=("30",)))


def test_letters_are_those_of_a_comparison(corpus):
    from spoofspan.uncertainty.comparison import letters_of

    systems = {0.02: corpus.systems[0.02], 0.16: corpus.systems[0.16], 0.64: corpus.systems[0.64]}
    table = ss.resolution_table(corpus.references, systems, [0.02], ["range-f1"])
    letters = letters_of(corpus.references, systems, table, {})
    assert list(letters) == ["range-eer", "point-eer@20ms"]  # range-f1 is taken at a threshold
    expected = ss.compare(corpus.references, {row.name: systems[row.hop] for row in table.rows}, "range-eer")
    assert letters["range-eer"] == {one.system: one.groups for one in expected.ranks}
    text = render({"": table}, "text", TableLook(letters={"": letters}))
    assert f"{100 * table[0.64].range_eer.value:.2f} {letters['range-eer']['640ms']}" in text
