"""--cluster speaker,attack in all commands that have intervals."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command_line import run_command as run

import spoofspan as ss
import spoofspan.demo
from spoofspan.data.references import SPOOF

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # few clusters
CROSSED = ["--cluster", "speaker,attack"]


@pytest.fixture(scope="module")
def utterance_files(tmp_path_factory):
    """A protocol with six speakers and four attacks, and the scores of two systems."""
    folder, rng = tmp_path_factory.mktemp("utterances"), np.random.default_rng(0)
    rows = []
    for i in range(300):
        attack = ("-", "A01", "A02", "A03", "A04")[i % 5]
        rows.append((f"s{i // 5 % 6}", f"u{i:03}", attack, "bonafide" if attack == "-" else "spoof"))
    (folder / "protocol.txt").write_text("".join(f"{s} {u} - {a} {label}\n" for s, u, a, label in rows))
    for name, apart in (("a", 2.0), ("b", 0.7)):
        values = [rng.normal() + apart * (label == "bonafide") for *_, label in rows]
        lines = [f"{row[1]}\t{value}\n" for row, value in zip(rows, values, strict=True)]
        (folder / f"{name}.tsv").write_text("filename\tcm-score\n" + "".join(lines))
    return [str(folder / name) for name in ("protocol.txt", "a.tsv", "b.tsv")]


@pytest.fixture(scope="module")
def timed_files(tmp_path_factory):
    """References and scores in time, with a table of speakers and attacks."""
    folder, corpus = tmp_path_factory.mktemp("timed"), spoofspan.demo.load()
    ss.write_references(corpus.references, folder / "references.parquet")
    ss.write_scores(corpus.systems[0.02], folder / "scores.parquet")
    rows = np.flatnonzero(corpus.references.labels == SPOOF)
    places = set((np.searchsorted(corpus.references.offsets, rows, side="right") - 1).tolist())
    lines = [
        f"{utt},s{i % 8},{f'A{i % 5}' if i in places else '-'}\n" for i, utt in enumerate(corpus.references.utterances)
    ]
    (folder / "metadata.csv").write_text("utterance,speaker,attack\n" + "".join(lines))
    return [str(folder / name) for name in ("references.parquet", "scores.parquet", "metadata.csv")]


def interval_of(typed, capsys):
    code, out, error = run([*typed, "--format", "json"], capsys)
    assert code == 0, error
    return json.loads(out)["measurements"][0]["interval"]


def test_eval_takes_crossed_factors_in_one_flag_or_two(utterance_files, capsys):
    typed = ["eval", *utterance_files[:2], "-m", "utterance-eer", "--confidence", "0.95"]
    one = interval_of([*typed, *CROSSED], capsys)
    two = interval_of([*typed, "--cluster", "speaker", "--cluster", "attack"], capsys)
    assert one == two
    assert (one["drawn_by"], one["levels"]) == ("speaker x attack", {"speaker": 6, "attack": 4})
    labels = ss.read_protocol(utterance_files[0])
    factors = {name: ss.read_metadata(utterance_files[0], name) for name in ("speaker", "attack")}
    found = ss.interval(labels, ss.read_utterance_scores(utterance_files[1]), "utterance-eer", clusters=factors)
    assert (one["low"], one["high"]) == (found.low, found.high)
    by_attack = interval_of([*typed, "--cluster", "attack"], capsys)
    assert (by_attack["clusters"], by_attack["with_spoof"], by_attack["with_bona_fide"]) == (4, 4, 60)


def test_compare_and_plan_take_crossed_factors(utterance_files, capsys):
    code, out, _ = run(["compare", *utterance_files, *CROSSED, "--format", "json"], capsys)
    assert code == 0
    (found,) = json.loads(out)["comparisons"]
    assert {one["interval"]["drawn_by"] for one in found["systems"]} == {"speaker x attack"}
    code, out, _ = run(["compare", *utterance_files, *CROSSED], capsys)
    assert code == 0
    assert "by speaker x attack (6 speakers, 4 attacks" in out
    code, out, _ = run(["plan", *utterance_files, "-m", "utterance-eer", *CROSSED], capsys)
    assert code == 0
    assert re.search(r"two systems on the same test set need \d+ attacks with 6 speakers", out)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["--cluster", "speaker,utterance"], "only utterance"),
        (["--cluster", "speaker", "--cluster", "speaker"], "different columns"),
        ([*CROSSED, "--interval", "percentile"], "need the method 'jackknife-t'"),
        (["--cluster", "speaker,vocoder"], "no column 'vocoder'"),
    ],
)
def test_what_cannot_be_crossed_is_refused_with_a_remedy(typed, said, utterance_files, capsys):
    code, _, error = run(["compare", *utterance_files, *typed], capsys)
    assert code == 2
    assert said in error


def test_scores_in_time_have_the_same_bits_in_memory_and_in_shards(timed_files, capsys):
    references, scores, metadata = timed_files
    typed = ["eval", references, scores, "--metadata", metadata, "-m", "range-eer", "--confidence", "0.95", *CROSSED]
    plain = interval_of(typed, capsys)
    assert plain["levels"] == {"speaker": 8, "attack": 5}
    assert interval_of([*typed, "--stream"], capsys) == plain


def test_a_table_takes_crossed_factors(timed_files, capsys):
    references, scores, metadata = timed_files
    typed = ["table", references, f"A={scores}", "--metadata", metadata, "--confidence", "0.95", *CROSSED]
    code, out, error = run(typed, capsys)
    assert code == 0, error
    assert "speaker x attack" in out


def test_a_challenge_ranks_over_speakers_and_attacks(utterance_files, tmp_path, capsys):
    protocol, *systems = utterance_files
    built = ["challenge", "build", protocol, "--submissions", "utterance-scores", "-m", "utterance-eer"]
    challenge = str(tmp_path / "challenge")
    code, _, error = run([*built, "--metadata", protocol, *CROSSED, "--out", challenge], capsys)
    assert code == 0, error
    for path in systems:
        code, _, error = run(["challenge", "score", challenge, path], capsys)
        assert code == 0, error
    code, out, error = run(["challenge", "leaderboard", challenge, "--format", "json"], capsys)
    assert code == 0, error
    board = json.loads(out)
    code, out, _ = run(["compare", *utterance_files, *CROSSED, "--format", "json"], capsys)
    wanted = json.loads(out)["comparisons"][0]
    assert "speaker x attack" in json.dumps(board)
    assert len(wanted["ranks"]) == 2


def test_a_caution_is_printed_once(utterance_files, capsys):
    for typed in (["compare", *utterance_files], ["eval", *utterance_files[:2], "--confidence", "0.95"]):
        code, out, error = run([*typed, *CROSSED], capsys)
        assert code == 0
        assert (out + error).count("only 4 attacks") == 1


@pytest.mark.parametrize(
    "word",
    [
        "interval",
        "jackknife-t",
        "cluster",
        "confidence",
        "p-value",
        "max-T",
        "rank",
        "group",
        "seed",
        "plan",
        "percentile",
        "BCa",
        "PAV",
    ],
)
def test_the_words_of_verdicts_are_explained(word, capsys):
    code, out, error = run(["explain", word], capsys)
    assert (code, error) == (0, "")
    assert out.startswith(f"{word} (word)")
    for named in re.findall(r"spoofspan explain ([\w-]+)", out):
        assert run(["explain", named], capsys)[0] == 0


def test_groups_and_events_have_crossed_intervals(timed_files, capsys):
    references, scores, metadata = timed_files
    typed = ["eval", references, scores, "--metadata", metadata, "--confidence", "0.95", *CROSSED, "--format", "json"]
    code, out, error = run([*typed, "-m", "range-eer", "--by", "attack", "--by", "length"], capsys)
    assert code == 0, error
    attack, length = json.loads(out)["breakdowns"]
    # one attack says nothing of others: its interval is over speakers
    assert {one["interval"]["drawn_by"] for one in attack["groups"] if one["interval"]} == {"speaker"}
    assert length["differences"][0]["p_value"] <= 1
    assert interval_of([*typed[:-2], "-m", "event-ap@iou=0.5"], capsys)["levels"] == {"speaker": 8, "attack": 5}


def test_crossed_intervals_are_verified(timed_files, tmp_path, capsys):
    references, scores, metadata = timed_files
    result = str(tmp_path / "result.json")
    typed = [references, scores, "--metadata", metadata]
    assert run(["eval", *typed, "-m", "range-eer", "--confidence", "0.95", *CROSSED, "--out", result], capsys)[0] == 0
    code, out, error = run(["verify", result, *typed], capsys)
    assert code == 0, error
    assert "confirmed" in out
    assert "not repeated" not in out
    text = (tmp_path / "result.json").read_text()
    stated = json.loads(text)["measurements"][0]["interval"]["high"]
    (tmp_path / "result.json").write_text(text.replace(repr(stated), repr(stated + 0.01)))
    assert run(["verify", result, *typed], capsys)[0] == 5


def test_a_calibration_holds_out_one_column(timed_files, capsys):
    references, scores, metadata = timed_files
    code, _, error = run(["calibrate", references, scores, "--metadata", metadata, *CROSSED], capsys)
    assert code == 2
    assert "one column" in error


def test_within_one_attack_only_the_other_factors_vary(utterance_files, timed_files, capsys):
    def found(*typed):
        code, out, error = run([*typed, "--format", "json"], capsys)
        assert code == 0, error
        return json.loads(out)

    both, alone = CROSSED, ["--cluster", "speaker"]
    typed = ["eval", *utterance_files[:2], "-m", "utterance-eer", "--confidence", "0.95", "--by", "attack"]
    rows = [found(*typed, *how)["crossed"][0]["intervals"] for how in (both, alone)]
    assert rows[0][0] != rows[1][0]  # pooled
    assert rows[0][1:] == rows[1][1:]
    typed = ["compare", *utterance_files, "-m", "utterance-eer", "--by", "attack"]
    groups = [found(*typed, *how)["comparisons"][0]["by"] for how in (both, alone)]
    assert groups[0] == groups[1]
    typed = ["eval", *timed_files[:2], "--metadata", timed_files[2], "--confidence", "0.95", "--by", "attack"]
    parts = [found(*typed, *how)["breakdowns"][0] for how in (both, alone)]
    assert parts[0] == parts[1]
    text = run(["eval", *utterance_files[:2], "--confidence", "0.95", "--by", "attack", *CROSSED], capsys)[1]
    assert "each of its cell alone, for other speakers, these attacks" in text


def test_a_dash_is_no_speaker(utterance_files, tmp_path, capsys):
    protocol, scores = utterance_files[:2]
    lines = Path(protocol).read_text(encoding="utf-8").splitlines()
    some, none = tmp_path / "some.txt", tmp_path / "none.txt"
    some.write_text("".join(f"{line}\n".replace("s0 ", "- ") for line in lines))
    none.write_text("".join(f"- {line.split(' ', 1)[1]}\n" for line in lines))
    typed = ["eval", protocol, scores, "-m", "utterance-eer", "--confidence", "0.95", "--metadata"]
    code, _, error = run([*typed, some], capsys)
    assert (code, error[:41]) == (3, "error: 50 utterances belong to no speaker")
    assert interval_of([*typed, none], capsys)["drawn_by"] == "utterance"
    code, _, error = run([*typed, none, "--cluster", "speaker"], capsys)
    assert (code, error[:42]) == (3, "error: 300 utterances belong to no speaker")
