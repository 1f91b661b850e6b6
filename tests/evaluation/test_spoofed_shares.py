"""Breakdowns by the share of an utterance that is spoofed: against groups that are put together by hand."""

import json

import numpy as np
import pytest
from command_line import run_command as run

import spoofspan as ss
from spoofspan.data.references import SPOOF
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.tables import parquet
from spoofspan.groups import spoofed_shares

pytestmark = [pytest.mark.quick, pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")]
EDGES = {"0 to 10 %": (0, 0.1), "10 to 25 %": (0.1, 0.25), "25 to 50 %": (0.25, 0.5), "50 to 75 %": (0.5, 0.75)}
EDGES |= {"75 to 100 %": (0.75, 1), "all": (1, 2)}


def ranges_of(references, utterance):
    i = references.utterances.index(utterance)
    rows = slice(references.offsets[i], references.offsets[i + 1])
    names = np.where(references.labels[rows] == SPOOF, "spoof", "bonafide").tolist()
    columns = (references.starts[rows] / 1e9).tolist(), (references.ends[rows] / 1e9).tolist(), names
    return list(zip(*columns, strict=True))


def share_of(references, utterance):
    rows = ranges_of(references, utterance)
    return sum(row[1] - row[0] for row in rows if row[2] == "spoof") / max(row[1] for row in rows)


@pytest.fixture(scope="module")
def shares(demo):
    references = demo[0]
    return {utterance: share_of(references, utterance) for utterance in references.utterances}


def test_the_column_is_the_share_of_spoofed_time(demo, shares):
    for utterance, name in spoofed_shares(demo[0]).items():
        share = shares[utterance]
        assert name == "-" if not share else EDGES[name][0] <= share < EDGES[name][1]


def test_on_an_edge_is_in_the_upper_bin_and_rounded_ends_are_whole():
    ranges = {f"u{tenths}": [(0.0, tenths / 10, "spoof")] for tenths in (1, 5, 10)}
    found = spoofed_shares(ss.References.from_ranges(ranges, dict.fromkeys(ranges, 1.0)))
    assert found == {"u1": "10 to 25 %", "u5": "50 to 75 %", "u10": "all"}
    rounded = ss.References.from_ranges({"u": [(0.001, 0.999, "spoof")]}, {"u": 1.0}, snap=0.002)
    assert spoofed_shares(rounded) == {"u": "all"}
    with pytest.raises(ss.UsageError, match="list spoof alone"):
        spoofed_shares(ss.References.from_ranges({"u": [(0.0, 1.0, "spoof")]}))


def test_each_share_stands_against_all_bona_fide(demo, shares):
    references, scores = demo
    found = ss.evaluate(references, scores, ["range-eer", "utterance-eer"], by="share")
    cells, groups = found["utterance-eer"].breakdown, found["range-eer"].breakdown
    for name in cells.rows[1:]:
        low, high = EDGES[name]
        chosen = [utt for utt, share in shares.items() if not share or low <= share < high]
        alone = ss.evaluate(references.take(chosen), scores.take(chosen), "utterance-eer")["utterance-eer"]
        assert cells[name, "pooled"].value == alone.value
        spoofed = {utt: ranges_of(references, utt) for utt, share in shares.items() if share}
        counted = {utt: [(0.0, 1e6)] for utt in references.utterances}
        for utt, rows in spoofed.items():
            if not low <= shares[utt] < high:
                counted[utt] = [row[:2] for row in rows if row[2] == "bonafide"]
        expected = ss.range_eer(references, scores, regions=counted)
        assert groups[name].measurement.exact_value == expected.exact_value
        assert groups[name].spoof_seconds == pytest.approx(expected.point.spoof / 1e9)


def test_scores_of_whole_utterances_have_shares_if_the_references_are_in_time(demo):
    references, scores = demo
    lowest = np.minimum.reduceat(scores.values, scores.offsets[:-1])
    whole = UtteranceScores(scores.utterances, lowest, "bonafide")
    found, expected = (
        ss.evaluate(references, one, "utterance-eer", by="share")["utterance-eer"].breakdown.values()
        for one in (whole, scores)
    )
    assert found == expected
    labels = {utt: "spoof" if share_of(references, utt) else "bonafide" for utt in references.utterances}
    with pytest.raises(ss.UsageError, match="do not say how much of each is spoofed"):
        ss.evaluate(labels, whole, "utterance-eer", by="share")


def test_the_command_line_breaks_down_and_compares_by_share(demo, tmp_path, capsys):
    references, scores = demo
    (tmp_path / "r.parquet").write_bytes(b"".join(parquet.write_references(references)))
    for name in "ab":
        (tmp_path / f"{name}.parquet").write_bytes(b"".join(parquet.write_scores(scores)))
    files = [tmp_path / "r.parquet", tmp_path / "a.parquet"]
    for measure in ("range-eer", "utterance-eer"):
        code, printed, said = run(["eval", *files, "-m", measure, "--by", "share", "--format", "json"], capsys)
        assert code == 0, said
        (tmp_path / "result.json").write_text(printed, encoding="utf-8")
        code, printed, said = run(["verify", tmp_path / "result.json", *files], capsys)
        assert (code, "confirmed" in printed, "not repeated" in printed) == (0, True, False), said
        both = ["compare", *files, tmp_path / "b.parquet", "-m", measure, "--by", "share", "--format", "json"]
        code, printed, said = run(both, capsys)
        assert code == 0, said
        assert "25 to 50 %" in json.dumps(json.loads(printed))
