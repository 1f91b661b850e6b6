"""Hard decisions: read and written as hypotheses, measured as they are, and never given an EER."""

import gzip
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import spoofspan as ss
from spoofspan.cli import app
from spoofspan.evaluation.signature import scores_hash
from spoofspan.formats.convert import convert
from spoofspan.formats.registry import REFERENCE_FORMATS, SCORE_FORMATS
from spoofspan.formats.text import hypotheses

pytestmark = pytest.mark.quick

RTTM = (
    "SPEAKER u1 1 0.000 0.540 <NA> <NA> bonafide <NA> <NA>\n"
    "SPEAKER u1 1 0.540 0.316 <NA> <NA> A07 <NA> <NA>\n"
    "SPEAKER u1 1 0.856 1.144 <NA> <NA> nonspeech <NA> <NA>\n"
    "SPEAKER u2 1 0.000 1.000 <NA> <NA> bonafide <NA> <NA>\n"
)
HAD = "u1 0.00-0.54-T/0.54-0.856-F/0.856-2.0-T 0\nu2 0.00-1.00-T 1\n"
BARE_HAD = "u1 0.00-0.54-T/0.54-0.856-F/0.856-2.0-T\nu2 0.00-1.00-T\n"
SEGMENTS = "u1 2.0 spoof 0.0-0.54-bonafide 0.54-0.856-spoof 0.856-2.0-bonafide\nu2 1.0 bonafide 0.0-1.0-bonafide\n"
SAMPLES = {
    "RTTM": ("hypothesis-rttm", RTTM),
    "HAD": ("hypothesis-had", HAD),
    "T/F strings": ("hypothesis-had", BARE_HAD),
    "segments": ("hypothesis-segments", SEGMENTS),
}
MEANT = {
    "u1": [(0.0, 0.54, "bonafide"), (0.54, 0.856, "spoof"), (0.856, 2.0, "bonafide")],
    "u2": [(0.0, 1.0, "bonafide")],
}
NAMES = [one.name for one in hypotheses.FORMATS]


def references():
    """0.6 to 1.0 s of u1 is spoofed."""
    ranges = {
        "u1": [(0.0, 0.6, "bonafide"), (0.6, 1.0, "spoof"), (1.0, 2.0, "bonafide")],
        "u2": [(0.0, 1.0, "bonafide")],
    }
    return ss.References.from_ranges(ranges, durations={"u1": 2.0, "u2": 1.0})


def rows(scores):
    """Each range that adds something: touching ranges of one decision are one."""
    found = {}
    for i, utt in enumerate(scores.utterances):
        listed = found[utt] = []
        for row in range(scores.offsets[i], scores.offsets[i + 1]):
            start, end = int(scores.starts[row]), int(scores.ends[row])
            label = {0.0: "spoof", 1.0: "bonafide"}[float(scores.values[row])]
            if listed and listed[-1][1:] == (start, label):
                listed[-1] = (listed[-1][0], end, label)
            else:
                listed.append((start, end, label))
    return found


def read(text, tmp_path, name="hypothesis.txt", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return ss.read_scores(path, **options)


# --- what they are


def test_decisions_are_ranges_of_zero_and_one_that_know_what_they_are():
    decided = ss.Scores.from_decisions(MEANT)
    assert decided.decisions
    assert decided.higher == "bonafide"
    assert decided.values.tolist() == [1.0, 0.0, 1.0, 1.0]
    assert repr(decided) == "Scores(2 utterances, 4 ranges, hard decisions)"
    assert decided.take(np.array([1])).decisions
    assert decided.resample(0.02).decisions


def test_scores_are_no_decisions_whatever_their_values():
    zero_one = ss.Scores.from_ranges({"u1": [(0.0, 1.0, 0.0), (1.0, 2.0, 1.0)]}, higher="bonafide")
    assert not zero_one.decisions
    assert scores_hash(zero_one) != scores_hash(replace(zero_one, decisions=True))


def test_a_decision_is_spoof_or_bonafide():
    with pytest.raises(ss.UsageError, match=r"utterance 'u1': no decision 'spoofed': did you mean 'spoof'"):
        ss.Scores.from_decisions({"u1": [(0.0, 1.0, "spoofed")]})
    with pytest.raises(ss.UsageError, match="nonspeech"):
        ss.Scores.from_decisions({"u1": [(0.0, 1.0, "nonspeech")]})


@pytest.mark.parametrize(
    "ranges",
    [
        [(0.0, 1.0, "spoof"), (0.5, 2.0, "bonafide")],
        [(0.0, 1.0, "spoof"), (0.0, 1.0, "bonafide")],
        [(0.0, 2.0, "bonafide"), (0.1, 0.2, "bonafide"), (1.0, 1.5, "spoof")],
    ],
)
def test_two_decisions_on_the_same_time_are_refused(ranges):
    with pytest.raises(ss.DataError, match=r"utterance 'u1': two decisions on the time from .*; decide every instant"):
        ss.Scores.from_decisions({"u1": ranges})


# --- what can be measured


def measures():
    decided = ss.Scores.from_decisions(MEANT)
    return {
        "range_eer": lambda: ss.range_eer(references(), decided),
        "as nan": lambda: ss.range_eer(references(), decided, undefined="nan"),
        "hull": lambda: ss.range_eer(references(), decided, eer_rule="convex-hull"),
        "point_eer": lambda: ss.point_eer(references(), decided, 0.02),
        "utterance_eer": lambda: ss.utterance_eer(references(), decided),
        "bisection_eer": lambda: ss.bisection_eer(references(), decided),
        "evaluate": lambda: ss.evaluate(references(), decided, ss.default_measures(decided)),
        "resolution_table": lambda: ss.resolution_table(references(), {0.02: decided.resample(0.02)}),
        "overlay": lambda: ss.equal_error_rate(ss.overlay(references(), decided)),
        "point_mass": lambda: ss.equal_error_rate(ss.point_mass(references(), decided, 0.02)),
    }


@pytest.mark.parametrize("name", measures())
def test_an_eer_of_decisions_is_refused(name):
    with pytest.raises(ss.UndefinedMeasureError, match=r"no threshold to move; .* as they are: range-fpr") as refused:
        measures()[name]()
    assert refused.value.exit_code == 4


def test_errors_of_decisions_are_counted_as_they_are():
    decided = ss.Scores.from_decisions(MEANT)
    point = ss.error_curve(references(), decided).at(0.5)
    assert point.seconds() == {
        "true_positive": 0.256,
        "false_negative": 0.144,
        "false_positive": 0.06,
        "true_negative": 2.54,
        "unanswered": 0.0,
    }
    assert point.exact_false_positive_rate == Fraction(60, 2600)
    assert point.exact_false_negative_rate == Fraction(144, 400)
    by_utterance = ss.errors_by_utterance(references(), decided, 0.5)
    assert by_utterance.false_positive.tolist() == [60_000_000, 0]
    assert by_utterance.false_negative.tolist() == [144_000_000, 0]
    points = ss.error_curve(references(), decided, resolution=0.02).at(0.5)
    assert (points.false_positive, points.false_negative, points.spoof) == (3, 7, 20)


def test_time_that_is_not_decided_is_an_error_unless_a_rule_decides_it():
    spoofs = ss.Scores.from_decisions({"u1": [(0.54, 0.856, "spoof")], "u2": []})
    with pytest.raises(ss.DataError, match="'bonafide'"):
        ss.error_curve(references(), spoofs)
    point = ss.error_curve(references(), spoofs, uncovered="bonafide").at(0.5)
    assert point.seconds() == ss.error_curve(references(), ss.Scores.from_decisions(MEANT)).at(0.5).seconds()


# --- files


@pytest.mark.parametrize("sample", SAMPLES)
def test_hypotheses_are_recognised_and_read_as_meant(sample, tmp_path):
    name, text = SAMPLES[sample]
    assert [one.name for one in SCORE_FORMATS.formats.values() if one.recognises(text.encode())] == [name]
    expected = rows(ss.Scores.from_decisions(MEANT))
    for content in (text, text.replace("\n", "\r\n"), gzip.compress(text.encode())):
        found = read(content, tmp_path)
        assert found.decisions
        assert rows(found) == expected


@pytest.mark.parametrize("name", NAMES)
def test_decisions_come_back_as_written(name, tmp_path):
    decided = ss.Scores.from_decisions(MEANT | {"u3": [(0.000000001, 0.0625, "spoof"), (5.0, 6.0, "bonafide")]})
    content = b"".join(SCORE_FORMATS.named(name).write(decided))
    back = read(content, tmp_path, format=name, snap=0)
    assert back.decisions
    assert rows(back) == rows(decided)
    assert scores_hash(back) == scores_hash(decided)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(
    edges=st.lists(st.integers(0, 80_000 * 10**9), min_size=2, max_size=9, unique=True),
    labels=st.lists(st.sampled_from(["spoof", "bonafide"]), min_size=8, max_size=8),
)
def test_any_decisions_come_back(name, edges, labels, tmp_path_factory):
    edges = sorted(edges)
    ranges = [(a / 1e9, b / 1e9, label) for a, b, label in zip(edges, edges[1:], labels, strict=False)]
    decided = ss.Scores.from_decisions({"u1": ranges})
    content = b"".join(SCORE_FORMATS.named(name).write(decided))
    back = read(content, tmp_path_factory.mktemp("back"), format=name, snap=0)
    assert rows(back) == rows(decided)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_hypothesis_cannot_hold_is_not_written(name):
    write = SCORE_FORMATS.named(name).write
    for corpus, message in (
        (ss.Scores.from_ranges({"u": [(0.0, 1.0, 0.5)]}, higher="spoof"), "these are scores"),
        (ss.Scores.from_decisions({"u": [(0.0, 1.0, "spoof")], "v": []}), "'v', which has no range"),
        (ss.Scores.from_decisions({"u v": [(0.0, 1.0, "spoof")]}), "white space"),
    ):
        with pytest.raises(ss.UsageError, match=message):
            list(write(corpus))


def line(start, length, label, utterance="u1"):
    return f"SPEAKER {utterance} 1 {start} {length} <NA> <NA> {label} <NA> <NA>\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            line(0, 1.0, "spoof") + line(0.5, 1.0, "bonafide"),
            r"txt:1 and .*txt:2: utterance 'u1': spoof \[0\.000 s, 1\.000 s\) and bonafide",
        ),
        (line(0, 1.0, "spoof") + line(0, 1.0, "bonafide"), r"txt:2 and .*txt:1: utterance 'u1': .*overlap"),
        (line(0, 1.0, "spoof") + line(0, 1.0, "nonspeech"), r"txt:2 and .*txt:1: utterance 'u1': bonafide \["),
        (line(0, 9.0, "A07") + line(1, 1.0, "spoof") + line(3, 1.0, "bonafide"), r"txt:3: utterance 'u1'"),
        (line(0, 1.0, "spoof") + line(0.999, 0.0005, "bonafide"), r"txt:2: utterance 'u1'"),
        (line(0, 1.0, "banana"), r"txt:1: utterance 'u1': unknown label 'banana'"),
        (line(0, 540, "spoof") + line(540, 1540, "bonafide"), r"txt:2: utterance 'u1': all times are whole numbers"),
        (line(0, "1,0", "spoof"), r"txt:1: duration '1,0' cannot be read"),
        ("u1 0.0-1.0-T/0.5-1.5-F\n", r"txt:1: utterance 'u1': bonafide \[0\.000 s, 1\.000 s\) and spoof"),
        ("u1 0.0-1.0-T 0\n", r"txt:1: utterance 'u1': it is called fake \(0\), but none"),
        ("u1 0.0-1.0-T\nu1 1.0-2.0-F\n", r"txt:2: utterance 'u1' is listed a second time"),
        ("u1 2.0 spoof 0.0-1.0-spoof 0.5-2.0-bonafide\n", r"txt:1: utterance 'u1': spoof .* and bonafide \[0\.500 s"),
    ],
)
def test_contradictory_hypotheses_are_refused_with_their_place(text, message, tmp_path):
    with pytest.raises(ss.DataError, match=message):
        read(text, tmp_path)


def test_the_same_decision_twice_is_one(tmp_path):
    text = line(0, 1.0, "A01") + line(0, 1.0, "A02") + line(0.5, 1.0, "spoof") + line(1.5, 0.5, "bonafide")
    expected = ss.Scores.from_decisions({"u1": [(0.0, 1.5, "spoof"), (1.5, 2.0, "bonafide")]})
    assert rows(read(text, tmp_path)) == rows(expected)


def test_edges_that_were_rounded_are_joined(tmp_path):
    text = line(0.001, 0.540, "spoof") + line(0.540, 0.4, "bonafide") + line(0.942, 0.058, "spoof")
    joined = {"u1": [(0.0, 0.54, "spoof"), (0.54, 0.942, "bonafide"), (0.942, 1.0, "spoof")]}
    assert rows(read(text, tmp_path)) == rows(ss.Scores.from_decisions(joined))
    with pytest.raises(ss.DataError, match="give every instant one label"):
        read(text, tmp_path, snap=0)


def test_durations_name_the_utterances_of_which_nothing_was_found(tmp_path):
    spoofs = line(0.54, 0.316, "spoof")
    (tmp_path / "reco2dur").write_text("u1 2.0\nu2 1.0\n")
    for durations in (references(), tmp_path / "reco2dur", {"u2": 1.0}):
        assert read(spoofs, tmp_path, durations=durations).utterances == ("u1", "u2")
    nothing = read(";; nothing found\n", tmp_path, format="hypothesis-rttm", durations=references())
    assert nothing.utterances == ("u1", "u2")
    errors = ss.errors_by_utterance(references(), nothing, 0.5, uncovered="bonafide")
    assert (errors.false_positive.sum(), errors.false_negative.sum()) == (0, 400_000_000)


def test_a_hypothesis_without_anything_is_refused(tmp_path):
    with pytest.raises(ss.DataError, match=r"no decision in the file; .*durations="):
        read(";; nothing found\n", tmp_path, format="hypothesis-rttm")


@pytest.mark.parametrize("option", [{"higher": "spoof"}, {"hop": 0.02}, {"column": "1"}])
def test_decisions_have_no_polarity_hop_or_column(option, tmp_path):
    with pytest.raises(ss.UsageError, match=f"hard decisions have no {next(iter(option))}; leave"):
        read(RTTM, tmp_path, **option)


# --- the command line


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path):
    (tmp_path / "ref.rttm").write_bytes(b"".join(REFERENCE_FORMATS.named("rttm").write(references())))
    (tmp_path / "reco2dur").write_text("u1 2.0\nu2 1.0\n")
    (tmp_path / "hyp.rttm").write_text(RTTM)
    return tmp_path


def test_eval_refuses_and_check_reads_a_hypothesis(files):
    arguments = (files / "ref.rttm", files / "hyp.rttm", "--durations", files / "reco2dur")
    refused = run("eval", *arguments)
    assert refused.exit_code != 0
    assert isinstance(refused.exception, (ss.UndefinedMeasureError, SystemExit))
    assert run("check", *arguments).exit_code == 0


def test_decisions_are_not_converted_to_scores(files):
    with pytest.raises(ss.UsageError, match=r"parquet cannot hold hard decisions: .*--to.*--kind references"):
        convert(str(files / "hyp.rttm"), str(files / "out.parquet"), kind="scores")
    assert not (files / "out.parquet").exists()


def test_decisions_are_converted_between_hypotheses(files):
    convert(str(files / "hyp.rttm"), str(files / "had.txt"), kind="scores", to_format="hypothesis-had")
    convert(str(files / "had.txt"), str(files / "back.rttm"), kind="scores")
    assert rows(ss.read_scores(files / "back.rttm")) == rows(ss.Scores.from_decisions(MEANT))


def test_an_rttm_of_unknown_kind_is_converted_as_references(files):
    done = convert(str(files / "ref.rttm"), str(files / "out.parquet"))
    assert done.startswith("References(")
