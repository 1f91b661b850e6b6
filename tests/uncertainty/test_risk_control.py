"""Thresholds whose expected miss rate is bounded: a brute force in fractions, refusals, and the promise, simulated."""

import json
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command_line import run_command as run

import spoofspan as ss
from spoofspan.cli.locate import JudgingOptions, _with_promise
from spoofspan.data.miss_bound import MissBound
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.tables import parquet
from spoofspan.uncertainty import bound_misses

pytestmark = pytest.mark.quick


def drawn(seed, speakers=30):
    """Frames of 100 ms by utterance: labels, scores (few values, so that there are ties) and speakers."""
    draw = random.Random(seed)
    labels, scores, who = {}, {}, {}
    for speaker in range(speakers):
        ease = draw.choice([0, 1, 3])
        for k in range(draw.randint(1, 3)):
            name = f"s{speaker}u{k}"
            who[name] = f"s{speaker}"
            labels[name] = [draw.random() < 0.3 for _ in range(draw.randint(3, 12))]
            scores[name] = [draw.randint(0, 6) + (0 if spoof else ease) for spoof in labels[name]]
    return labels, scores, who


def sides(labels, scores, higher="bonafide"):
    ranges = {
        name: [(k / 10, (k + 1) / 10, "spoof" if spoof else "bonafide") for k, spoof in enumerate(row)]
        for name, row in labels.items()
    }
    sign = 1.0 if higher == "bonafide" else -1.0
    frames = {name: [sign * one for one in row] for name, row in scores.items()}
    return ss.References.from_ranges(ranges), ss.Scores.from_frames(frames, hop=0.1, higher=higher)


def brute(labels, scores, who, rate):
    """The lowest threshold (among scores) that keeps the bound, and the mean share that is missed at it."""
    for tau in sorted({one for row in scores.values() for one in row}):
        missed = {}
        for name, row in labels.items():
            for spoof, score in zip(row, scores[name], strict=True):
                if spoof:
                    missed.setdefault(who[name], []).append(score >= tau)
        losses = [Fraction(sum(one), len(one)) for one in missed.values()]
        if sum(losses) + 1 <= rate * (len(losses) + 1):
            return tau, sum(losses) / len(losses), len(losses)
    return None


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
@pytest.mark.parametrize("seed", range(8))
def test_the_threshold_is_the_lowest_that_keeps_the_bound(seed, higher):
    labels, scores, who = drawn(seed)
    for rate in (Fraction(1, 10), Fraction(3, 10), Fraction(1, 2)):
        for clusters in ({"speaker": who}, None):
            expected = brute(labels, scores, who if clusters else {name: name for name in who}, rate)
            if expected is None:
                with pytest.raises(ss.UndefinedMeasureError, match="everything would have to be called spoof"):
                    bound_misses(*sides(labels, scores, higher), float(rate), clusters=clusters)
                continue
            found = bound_misses(*sides(labels, scores, higher), float(rate), clusters=clusters)
            assert found.threshold == expected[0] * (1 if higher == "bonafide" else -1)
            assert found.missed == float(expected[1])
            assert found.clusters == expected[2]
            assert found.drawn_by == ("speaker" if clusters else "utterance")


GOLDEN = Path(__file__).parents[1] / "golden" / "risk_control"
MAPIE = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))["mapie"]


@pytest.mark.parametrize("rate", MAPIE)
def test_thresholds_are_those_of_mapie(rate):
    speakers = json.loads((GOLDEN / "case.json").read_text(encoding="utf-8"))["speakers"]
    labels = {f"s{i}": [bool(one) for one in row["spoof"]] for i, row in enumerate(speakers)}
    scores = {f"s{i}": [-(one / 100 + 0.005) for one in row["hundredths"]] for i, row in enumerate(speakers)}
    found = bound_misses(*sides(labels, scores, "spoof"), float(rate))
    above = sorted({-one for row in scores.values() for one in row if -one > found.threshold})
    assert found.threshold < MAPIE[rate] < above[0]  # the same frames are called spoof


def test_on_the_limit_counts():
    labels = {f"u{i}": [True] * 10 for i in range(19)} | {"b": [False] * 10}
    scores = {name: [0] * 10 if name != "b" else [5] * 10 for name in labels}
    found = bound_misses(*sides(labels, scores), 0.05)  # (0 + 1) / 20 is 5 % to the bit
    assert (found.threshold, found.missed, found.false_positive_rate) == (5.0, 0.0, 0.0)
    with pytest.raises(ss.UndefinedMeasureError, match=r"needs 20 utterances with spoof at least, and these are 19"):
        bound_misses(*sides(labels, scores), 0.049)


def test_scores_of_whole_utterances_count_utterances():
    labels = {f"u{i}": "spoof" if i < 60 else "bonafide" for i in range(100)}
    scores = UtteranceScores(tuple(labels), np.arange(100.0), "bonafide")
    found = bound_misses(labels, scores, 0.2)
    assert (found.unit, found.threshold, found.missed) == ("utterances", 49.0, 11 / 60)  # 12 / 61 is less than 0.2
    with pytest.raises(ss.UsageError, match="of scores of whole utterances, and these are scores in time"):
        found.threshold_for("bonafide")


def test_what_cannot_be_promised_is_refused():
    labels, scores, who = drawn(1)
    both = sides(labels, scores)
    with pytest.raises(ss.UsageError, match="must lie between 0 and 1"):
        bound_misses(*both, 5)
    with pytest.raises(ss.UsageError, match="crossed factors"):
        bound_misses(*both, 0.3, clusters={"speaker": who, "attack": dict.fromkeys(who, "A01")})
    bound = bound_misses(*both, 0.3, clusters={"speaker": who})
    assert "at most 30 % is missed on average" in bound.promise
    with pytest.raises(ss.UsageError, match="are higher for spoof"):
        bound.threshold_for("spoof")
    plain = bound.to_dict()
    assert MissBound.from_dict(json.loads(json.dumps(plain))) == bound
    for damaged in ({}, plain | {"spoofspan_miss_bound": 9}, plain | {"threshold": "x"}, plain | {"more": 1}):
        with pytest.raises(ss.DataError):
            MissBound.from_dict(damaged)


@pytest.fixture
def files(tmp_path, capsys):
    labels, scores, who = drawn(5, 60)
    references, system = sides(labels, scores)
    (tmp_path / "r.parquet").write_bytes(b"".join(parquet.write_references(references)))
    (tmp_path / "s.parquet").write_bytes(b"".join(parquet.write_scores(system)))
    rows = ["utterance\tspeaker", *(f"{name}\t{speaker}" for name, speaker in who.items())]
    (tmp_path / "who.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    how = ["--metadata", tmp_path / "who.tsv", "--miss-rate", "0.2", "--out", tmp_path / "t.json"]
    code, printed, said = run(["calibrate", tmp_path / "r.parquet", tmp_path / "s.parquet", *how], capsys)
    assert code == 0, said
    assert "at most 20 % is missed on average" in " ".join(printed.split())
    bound = bound_misses(references, system, 0.2, clusters={"speaker": who})
    assert json.loads((tmp_path / "t.json").read_text(encoding="utf-8")) == bound.to_dict()
    return tmp_path, bound


def test_convert_and_eval_take_the_threshold(files, capsys):
    folder, bound = files
    asked = ["convert", folder / "s.parquet", folder / "found.rttm", "--threshold-from", folder / "t.json"]
    code, _, said = run(asked, capsys)
    assert (code, "promise: of the spoofed time of a new speaker" in " ".join(said.split())) == (0, True), said
    by_hand = ["convert", folder / "s.parquet", folder / "same.rttm", "--threshold", repr(bound.threshold)]
    assert run(by_hand, capsys)[0] == 0
    assert (folder / "found.rttm").read_text() == (folder / "same.rttm").read_text()
    for more, text in ((["--min-duration", "0.1"], "promise"), (["--threshold", "0"], "not both")):
        code, _, said = run([*asked, "--force", *more], capsys)
        assert (code, text in " ".join(said.split())) == (2, True), said
    measure = ["eval", folder / "r.parquet", folder / "s.parquet", "-m", "range-fnr", "--format", "json"]
    code, printed, said = run([*measure, "--threshold-from", folder / "t.json"], capsys)
    assert code == 0, said
    assert json.loads(printed)["measurements"][0]["threshold"] == bound.threshold
    wrong = [*measure[:4], "utterance-fnr", "--threshold-from", folder / "t.json"]
    code, _, said = run(wrong, capsys)
    assert (code, "is none of utterance-eer" in " ".join(said.split())) == (3, True), said


def test_locate_keeps_ranges_of_any_length(files):
    folder, bound = files
    judging = _with_promise(JudgingOptions(), str(folder / "t.json"))
    assert (judging.threshold, judging.min_duration, judging.merge_gap) == (bound.threshold, 0.0, 0.1)
    for wrong in (JudgingOptions(threshold=0.0), JudgingOptions(smoothing=3), JudgingOptions(min_duration=0.5)):
        with pytest.raises(ss.UsageError):
            _with_promise(wrong, str(folder / "t.json"))


@pytest.mark.slow
@pytest.mark.parametrize(("speakers", "rate"), [(19, 0.1), (40, 0.1), (40, 0.25)])
def test_the_promise_holds_on_new_speakers(speakers, rate):
    generator = np.random.default_rng(2022)
    found = []
    for _ in range(150):
        labels, scores, who = {}, {}, {}
        for speaker in range(speakers + 40):  # 40 new ones
            shift = 1.5 * generator.standard_normal()
            spoof = generator.random(30) < 0.5
            spoof[0], name = True, f"u{speaker}"
            who[name] = f"s{speaker}"
            labels[name] = spoof.tolist()
            scores[name] = (generator.standard_normal(30) - 2.0 * spoof + shift).tolist()
        old, new = list(labels)[:speakers], list(labels)[speakers:]
        part = sides({name: labels[name] for name in old}, {name: scores[name] for name in old})
        bound = bound_misses(*part, rate, clusters={"speaker": {name: who[name] for name in old}})
        misses = [
            np.mean(
                [score >= bound.threshold for spoof, score in zip(labels[name], scores[name], strict=True) if spoof]
            )
            for name in new
        ]
        found.append(np.mean(misses))
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert np.mean(found) <= rate + 2 * error
    assert np.mean(found) >= rate - 2 / (speakers + 1) - 2 * error
