"""A result is confirmed if it is right, and what is wrong is named: rules, inputs, versions, values."""

import copy
import json
import re
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from challenge_cases import labels, scores
from command_line import run
from schemas import validate

import spoofspan as ss
from spoofspan.evaluation.verification import Verification

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")

TRUTH = labels()
SCORES = scores(TRUTH, 0.6)
MEASURES = ["range-eer", "point-eer@20ms", "range-f1"]
RULES = {"collar": 0.01, "uncovered": "hold"}
RESULT = json.loads(json.dumps(ss.evaluate(TRUTH, SCORES, MEASURES, threshold=0.2, **RULES).to_dict()))


def names(found: Verification):
    return {one.name for one in found.differences}


def stated(place, *path, value):
    """The result with another value at one place."""
    changed = copy.deepcopy(RESULT)
    where = changed["measurements"][place] if place is not None else changed
    for name in path[:-1]:
        where = where[name]
    where[path[-1]] = value(where[path[-1]]) if callable(value) else value
    return changed


def everywhere(*replaced):
    """The result with texts replaced wherever they stand."""
    text = json.dumps(RESULT)
    for old, new in replaced:
        text = text.replace(old, new)
    return json.loads(text)


def shifted_label():
    starts, ends = TRUTH.starts.copy(), TRUTH.ends.copy()
    starts[1] += 1_000_000
    ends[0] += 1_000_000
    return replace(TRUTH, starts=starts, ends=ends)


def one_score():
    values = SCORES.values.copy()
    values[7] += 0.5
    return replace(SCORES, values=values)


ALL_BUT_FIRST = np.arange(1, len(TRUTH))
# Twenty alterations: of a rule, a file or a version; and the name by which verify must call it.
ALTERATIONS = {
    "collar, in the rules": (stated(0, "rules", "collar", value="0ns"), {}, "rule collar"),
    "collar, in the signature": (
        stated(0, "signature", "comparable", value=lambda old: old.replace("|collar:10000000ns", "")),
        {},
        "rule collar",
    ),
    "collar, everywhere": (
        everywhere(("10000000ns", "20000000ns"), ("collar:10ms", "collar:20ms")),
        {},
        "collar=0.01",
    ),
    "uncovered": (stated(0, "rules", "uncovered", value="ignore"), {}, "rule uncovered"),
    "gaps": (stated(1, "rules", "gaps", value="spoof"), {}, "rule gaps"),
    "label of points": (stated(1, "rules", "label", value="majority"), {}, "rule label"),
    "EER rule": (
        stated(0, "signature", "comparable", value=lambda old: old.replace("|nearest|", "|interpolated|")),
        {},
        "eer_rule",
    ),
    "convention": (stated(0, "convention", value="paper"), {}, "convention"),
    "threshold": (
        stated(2, "signature", "input", value=lambda old: old.replace("threshold:0.2", "threshold:0.4")),
        {},
        "given threshold",
    ),
    "hash of the references": (stated(0, "hashes", "references", value="0" * 16), {}, "references"),
    "hash of the scores": (
        stated(0, "signature", "input", value="scores:0123456789abcdef"),
        {},
        "scores",
    ),
    "number of utterances": (stated(0, "utterances", value=99), {}, "utterances"),
    "version of spoofspan": (stated(None, "spoofspan", value="9.9.0"), {}, "version of spoofspan"),
    "version of the rules": (stated(None, "rules_version", value=1), {}, "version of the rules"),
    "version of the rules, in the signature": (everywhere(("|rules:2|", "|rules:3|")), {}, "version of the rules"),
    "value": (stated(1, "value", value=lambda old: old + 1e-6), {}, "value"),
    "a label": (RESULT, {"references": shifted_label()}, "references"),
    "an utterance without references": (RESULT, {"references": TRUTH.take(ALL_BUT_FIRST)}, "references"),
    "a score": (RESULT, {"scores": one_score()}, "scores"),
    "an utterance without scores": (RESULT, {"scores": SCORES.take(ALL_BUT_FIRST)}, "scores"),
}


def test_there_are_twenty_alterations():
    assert len(ALTERATIONS) == 20


@pytest.mark.parametrize("alteration", ALTERATIONS)
def test_every_alteration_is_named(alteration):
    result, inputs, name = ALTERATIONS[alteration]
    found = ss.verify(result, inputs.get("references", TRUTH), inputs.get("scores", SCORES))
    assert not found
    assert name in names(found) or any(note.endswith(name) for note in found.notes), str(found)


def test_a_cell_of_the_confusion_matrix_is_compared():
    cell = next(iter(RESULT["measurements"][0]["confusion"]))
    found = ss.verify(stated(0, "confusion", cell, value=lambda old: old + 0.5), TRUTH, SCORES)
    assert names(found) == {f"confusion, {cell}"}


def test_mirrored_scores_are_other_scores():
    mirrored = replace(SCORES, higher="bonafide" if SCORES.higher == "spoof" else "spoof")
    assert "scores" in names(ss.verify(RESULT, TRUTH, mirrored))


def test_the_same_scores_in_the_other_polarity_are_confirmed():
    # as a reader of the other class's column has them: every threshold is mirrored
    mirrored = replace(SCORES, values=-SCORES.values, higher="bonafide" if SCORES.higher == "spoof" else "spoof")
    found = ss.verify(RESULT, TRUTH, mirrored)
    assert found, str(found)
    wrong = ss.verify(stated(0, "threshold", value=lambda old: old + 0.1), TRUTH, mirrored)
    assert names(wrong) == {"threshold"}


def test_a_signature_that_cannot_be_contradicted_says_so():
    short = re.sub(r"\|scores:\w+", "", RESULT["measurements"][0]["short_signature"])
    assert "no value and no hash of scores is stated" in str(ss.verify(short, TRUTH, SCORES))
    assert not ss.verify(short, TRUTH, SCORES, value=str(RESULT["measurements"][0]["value"])).notes


def test_a_result_is_confirmed_in_every_form(tmp_path):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(RESULT))
    evaluation = ss.evaluate(TRUTH, SCORES, MEASURES, threshold=0.2, **RULES)
    measurement = evaluation["range-f1"]
    signature = measurement.signature
    for form in (path, str(path), RESULT, evaluation, measurement, signature, str(signature), signature.short):
        found = ss.verify(form, TRUTH, SCORES)
        assert found, str(found)
        assert "range-f1" in found.evaluation.measurements
    validate(RESULT, "evaluation.json")


def test_the_rule_that_explains_a_value_is_found():
    told = ss.range_eer(TRUTH, SCORES)
    other = ss.range_eer(TRUTH, SCORES, eer_rule="convex-hull")
    result = ss.evaluate(TRUTH, SCORES, ["range-eer"]).to_dict()
    result["measurements"][0]["value"] = other.value
    found = ss.verify(result, TRUTH, SCORES)
    assert told.value != other.value
    assert names(found) == {"value"}
    assert "under the EER rule convex-hull" in found.notes[0]


@pytest.mark.parametrize("convention", list(ss.CONVENTIONS))
@pytest.mark.parametrize("measure", ["range-eer", "point-eer@20ms", "point-eer@10ms", "utterance-eer"])
def test_every_convention_is_repeated(convention, measure):
    try:
        found = ss.evaluate(TRUTH, SCORES, [measure], convention=convention)[measure]
    except ss.UsageError:
        return  # a measure that the convention does not define
    for form in (found, str(found.signature), found.signature.short):
        again = ss.verify(form, TRUTH, SCORES)
        assert again, (form, str(again))


def test_utterances_that_were_left_out_are_left_out_again():
    some = SCORES.take(np.arange(5, len(TRUTH)))
    found = ss.range_eer(TRUTH, some, partial=True)
    for form in (found, str(found.signature), found.signature.short):
        assert ss.verify(form, TRUTH, some)
        assert not ss.verify(form, TRUTH, SCORES)


@pytest.mark.parametrize(
    ("value", "confirmed"), [("{:.2%}", True), ("{:.4f}", True), ("{:.1%}", True), ("99.9%", False), ("0.5", False)]
)
def test_a_published_value_is_compared_to_its_decimals(value, confirmed):
    found = ss.range_eer(TRUTH, SCORES)
    again = ss.verify(found.signature.short, TRUTH, SCORES, value=value.format(found.value))
    assert bool(again) is confirmed
    with pytest.raises(ss.UsageError, match="must be a number"):
        ss.verify(found.signature.short, TRUTH, SCORES, value="five")


def test_regions_are_asked_for():
    regions = {utt: [(0.0, 0.8)] for utt in TRUTH.utterances}
    found = ss.range_eer(TRUTH, SCORES, regions=regions)
    assert ss.verify(found, TRUTH, SCORES, regions=regions)
    assert names(ss.verify(found, TRUTH, SCORES, regions={utt: [(0.0, 0.7)] for utt in TRUTH.utterances})) >= {
        "rule regions"
    }
    with pytest.raises(ss.UsageError, match="measured in regions"):
        ss.verify(found, TRUTH, SCORES)


HOSTILE = {
    "no JSON": "{",
    "a list": "[]",
    "a number": "1",
    "nested": "[" * 100_000,
    "empty": '{"measurements": []}',
    "no measurements": '{"measurements": [1]}',
    "a table": '{"spoofspan": "0.1.0", "sets": []}',
    "rules of numbers": json.dumps(stated(0, "rules", value={"gaps": 1})),
    "an unknown rule": json.dumps(stated(0, "rules", value={"gap": "error"})),
    "an unknown value": json.dumps(stated(0, "rules", "gaps", value="sometimes")),
    "an unknown measure": json.dumps(stated(0, "measure", value="range-eeer")),
    "an unknown convention": json.dumps(stated(0, "convention", value="mine")),
    "half a signature": json.dumps(stated(0, "signature", "comparable", value="range-eer|nearest")),
    "no signature": json.dumps(stated(0, "signature", value=None)),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_that_is_no_result_is_refused_in_a_sentence(case, tmp_path, capsys):
    (tmp_path / "result.json").write_text(HOSTILE[case])
    ss.write_references(TRUTH, tmp_path / "r.parquet")
    ss.write_scores(SCORES, tmp_path / "s.parquet")
    code, printed = run(["verify", *(tmp_path / one for one in ("result.json", "r.parquet", "s.parquet"))], capsys)
    assert (code, printed.out) == (3, "")
    assert printed.err.startswith("error: ")
    assert len(printed.err) < 1000


def places(plain, path=()):
    """Every place of plain data."""
    yield path
    for name, one in plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ():
        yield from places(one, (*path, name))


GROUPED = {
    **copy.deepcopy(RESULT),
    "breakdowns": [{"by": "attack", "measure": "range-eer", "threshold": 0.0, "groups": [], "differences": []}],
    "crossed": [{"by": ["speaker", "side"], "measure": "range-eer"}],
}
STRANGE = (None, [], {}, [[]], {"a": {}}, "", "a|b", "\x1b[2J", 0, -1, 1e308, 10**30, True, "nan", "9" * 1000)


@pytest.mark.slow  # fourteen seconds
def test_no_content_of_a_file_ends_in_a_traceback():
    rng = np.random.default_rng(0)
    interval = ss.interval(TRUTH, SCORES, "range-eer", **RULES).to_dict()
    grouped = {**GROUPED, "measurements": [{**GROUPED["measurements"][0], "interval": interval}]}
    every = list(places(grouped))[1:]
    every = [one for one in every if one != ("measurements",)]
    assert len(every) > 70
    for place in [*rng.permutation(len(every)), *rng.permutation(len(every))]:
        changed = copy.deepcopy(grouped)
        where = changed
        for name in every[place][:-1]:
            where = where[name]
        where[every[place][-1]] = STRANGE[rng.integers(len(STRANGE))]
        for use in (lambda one: ss.verify(one, TRUTH, SCORES), lambda one: ss.diff_results(one, RESULT, TRUTH, SCORES)):
            with suppress(ss.SpoofspanError):
                assert str(use(changed))


def test_an_old_result_says_so():
    old = copy.deepcopy(RESULT)
    for one in old["measurements"]:
        del one["rules"], one["hashes"], one["short_signature"]
    with pytest.raises(ss.DataError, match=r"an old result .* does not state its rules; measure again, or give one of"):
        ss.verify(old, TRUTH, SCORES)
