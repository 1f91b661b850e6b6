"""Crossed tables: against ASVspoof 5's own package, and against each cell measured as a corpus of its own."""

import csv
import json
import math
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from command_line import run_command as run

import spoofspan as ss
from spoofspan.data.references import SPOOF
from spoofspan.evaluation.corpus import CorpusInMemory
from spoofspan.evaluation.crossed import POOLED
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.evaluation.utterances import UtteranceCorpus
from spoofspan.formats.reading import read_utterance_scores
from spoofspan.formats.tables import parquet
from spoofspan.formats.text.protocol import read_metadata, read_utterance_labels
from spoofspan.measures.events.proposals_from_scores import proposals_from_scores

GOLDEN = Path(__file__).parents[1] / "golden" / "attack_codec"
TOOL = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))["tools"]
SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schema/evaluation.json").read_text(encoding="utf-8"))


def corpus():
    return UtteranceCorpus(read_utterance_labels(GOLDEN / "keys.tsv"), read_utterance_scores(GOLDEN / "scores.tsv"))


def read_column(name):
    return read_metadata(GOLDEN / "keys.tsv", name)


@pytest.mark.parametrize("name", ["eer", "min-dcf", "cllr", "act-dcf"])
def test_the_tables_are_those_of_asvspoof_5(name):
    found = corpus().cross("attack,codec", f"utterance-{name}", EvaluationOptions(scores_are="llr"), read_column)
    assert (list(found.rows), list(found.columns)) == (TOOL["attacks"], TOOL["codecs"])
    for row, line in zip(found.rows, TOOL[name], strict=True):
        for column, value in zip(found.columns, line, strict=True):
            if value is None:
                assert math.isnan(found[row, column].value)
                assert "there is no spoof" in found[row, column].reason or found[row, column].reason
            else:
                assert found[row, column].value == pytest.approx(value, abs=1e-14)
    assert found.about == "each attack is measured against all bona fide"


def groups(demo, column):
    """The cells of a table, each selected from the references and the scores by hand."""
    references, scores = demo
    for value in {POOLED, *column.values()}:
        chosen = [i for i, utt in enumerate(references.utterances) if value in (POOLED, column[utt])]
        names = {references.utterances[i] for i in chosen}
        also = np.array([i for i, utt in enumerate(scores.utterances) if utt in names])
        yield value, references.take(np.array(chosen)), scores.take(also)


@pytest.mark.parametrize(
    "name", ["range-eer", "range-auc", "point-eer@20ms", "event-ap@iou=0.5", "event-collar-best-f1", "range-min-dcf"]
)
@pytest.mark.filterwarnings("ignore::spoofspan.base.errors.SpoofspanWarning")
def test_every_cell_is_a_corpus_of_its_own(demo, name):
    references, scores = demo
    column = {utt: "abc"[i % 3] for i, utt in enumerate(references.utterances)}
    options = EvaluationOptions()
    found = CorpusInMemory(*demo).cross("third", name, options, lambda _: column)
    whole = ss.evaluate(references, scores, [name])[name]
    at = {"threshold": whole.threshold} if name == "event-ap@iou=0.5" else {}
    for value, few, said in groups(demo, column):
        alone = ss.evaluate(few, said, [name], **at)
        assert found[value, POOLED].value == alone[name].value
    assert found[POOLED, POOLED].value == whole.value


def test_measures_at_a_threshold_are_taken_where_the_whole_corpus_is(demo):
    references, _ = demo
    column = {utt: "ab"[i % 2] for i, utt in enumerate(references.utterances)}
    found = CorpusInMemory(*demo).cross("half", "range-f1", EvaluationOptions(), lambda _: column)
    threshold = ss.evaluate(*demo, ["range-f1"])["range-f1"].threshold
    for value, few, said in groups(demo, column):
        alone = ss.evaluate(few, said, ["range-f1"], threshold=threshold)["range-f1"]
        assert found[value, POOLED].value == alone.value
    with pytest.raises(ss.UsageError, match="leave -macro out"):
        CorpusInMemory(*demo).cross("half", "range-f1-macro", EvaluationOptions(), lambda _: column)


def test_proposals_have_groups_too(demo):
    references, scores = demo
    proposals = proposals_from_scores(scores, 0.3, durations=references)
    column = {utt: "ab"[i % 2] for i, utt in enumerate(references.utterances)}
    name = "event-f1@iou=0.5"
    found = CorpusInMemory(references, proposals).cross("half", name, EvaluationOptions(), lambda _: column)
    for value in ("a", "b"):
        chosen = np.array([i for i, utt in enumerate(references.utterances) if column[utt] == value])
        names = {references.utterances[i] for i in chosen}
        also = np.array([i for i, utt in enumerate(proposals.utterances) if utt in names])
        alone = ss.evaluate(references.take(chosen), proposals.take(also), [name])[name]
        assert found[value, POOLED].value == alone.value
        assert found[value, POOLED].spoof == alone.events


def test_trials_are_crossed_by_their_price(tmp_path):
    rows = list(csv.DictReader((GOLDEN / "keys.tsv").read_text().splitlines(), delimiter="\t"))
    kinds = {
        row["filename"]: "spoof" if row["cm-label"] == "spoof" else ("target", "nontarget")[k % 2]
        for k, row in enumerate(rows)
    }
    scores = read_utterance_scores(GOLDEN / "scores.tsv")
    found = UtteranceCorpus(kinds, scores).cross("codec", "utterance-a-dcf", EvaluationOptions(), read_column)
    codec = read_column("codec")
    for value in found.rows[1:]:
        few = np.array([i for i, utt in enumerate(scores.utterances) if codec[utt] == value])
        part = scores.take(few)
        alone = ss.evaluate_utterances({utt: kinds[utt] for utt in part.utterances}, part, ["utterance-a-dcf"])
        assert found[value, POOLED].value == alone["utterance-a-dcf"].value


def test_the_command_line_prints_and_draws_tables(tmp_path, capsys):
    files = ["eval", GOLDEN / "keys.tsv", "--utterance-scores", GOLDEN / "scores.tsv", "--by", "attack,codec"]
    drawn = tmp_path / "eer.svg"
    code, printed, said = run([*files, "-m", "utterance-eer", "--format", "json", "--heatmap", drawn], capsys)
    assert code == 0, said
    plain = json.loads(printed)
    jsonschema.validate(plain, SCHEMA)
    assert plain["crossed"][0]["values"][-1][-1] == "nan"
    assert plain["crossed"][0]["columns"] == TOOL["codecs"]
    assert drawn.read_bytes().startswith(b"<?xml")
    code, printed, _ = run([*files, "-m", "utterance-eer", "--format", "latex"], capsys)
    assert code == 0
    assert "A18 & 27.93 & 15.31 & 27.19 & 39.15 & 38.26" in " ".join(printed.split())
    code, _, said = run([*files[:-1], "attack", "--heatmap", tmp_path / "no.svg"], capsys)
    assert (code, "--by attack,codec" in " ".join(said.split())) == (2, True)
    code, _, said = run([*files[:-1], "length"], capsys)
    assert (code, "needs scores in time" in " ".join(said.split())) == (2, True)
    code, _, said = run([*files[:-1], "attack,codec,label"], capsys)
    assert code == 2


def test_ranges_are_crossed_on_the_command_line(demo, tmp_path, capsys):
    references, scores = demo
    (tmp_path / "r.parquet").write_bytes(b"".join(parquet.write_references(references)))
    (tmp_path / "s.parquet").write_bytes(b"".join(parquet.write_scores(scores)))
    lines = [f"{utt},{'xy'[i % 2]},{'pqr'[i % 3]}" for i, utt in enumerate(references.utterances)]
    (tmp_path / "m.csv").write_text("\n".join(["utterance,codec,room", *lines]))
    files = ["eval", tmp_path / "r.parquet", tmp_path / "s.parquet", "--metadata", tmp_path / "m.csv"]
    code, printed, said = run([*files, "-m", "range-eer", "--by", "codec,room", "--by", "codec"], capsys)
    assert code == 0, said
    assert "codec x room" in printed
    assert "bona fide s" in printed  # a single column of ranges has its seconds, as before


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.filterwarnings("ignore::spoofspan.base.errors.SpoofspanWarning")
def test_attacks_of_scores_in_time_stand_against_all_bona_fide_utterances(demo, stream, tmp_path, capsys):
    references, scores = demo
    (tmp_path / "r.parquet").write_bytes(b"".join(parquet.write_references(references)))
    (tmp_path / "s.parquet").write_bytes(b"".join(parquet.write_scores(scores)))
    spoofed = np.add.reduceat(references.labels == SPOOF, references.offsets[:-1]) > 0
    attack = {utt: "AB"[i % 2] if spoofed[i] else "-" for i, utt in enumerate(references.utterances)}
    lines = [f"{utt},{value}" for utt, value in attack.items()]
    (tmp_path / "m.csv").write_text("\n".join(["utterance,attack", *lines]))
    files = ["eval", tmp_path / "r.parquet", tmp_path / "s.parquet", "--metadata", tmp_path / "m.csv", "--by", "attack"]
    code, printed, said = run([*files, "-m", "utterance-eer", "--format", "json", *["--stream"] * stream], capsys)
    assert code == 0, said
    (table,) = json.loads(printed)["crossed"]
    assert table["rows"] == [POOLED, "A", "B"]
    for value, (found,) in zip(table["rows"], table["values"], strict=True):
        names = {utt for utt, one in attack.items() if one == "-" or value in (POOLED, one)}
        chosen, also = (
            np.array([i for i, utt in enumerate(side.utterances) if utt in names]) for side in (references, scores)
        )
        assert found == ss.utterance_eer(references.take(chosen), scores.take(also)).value
