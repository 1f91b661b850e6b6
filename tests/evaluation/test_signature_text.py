"""Every printed form of a signature is explained, and nothing else is."""

import json
import re
import textwrap
from itertools import product

import pytest
from challenge_cases import labels, scores
from command_line import run
from hypothesis import given, settings
from hypothesis import strategies as st

import spoofspan as ss
from spoofspan.evaluation.explain import explain
from spoofspan.evaluation.signature_text import is_signature, parse_signature
from spoofspan.measures.catalogue import all_kinds

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")

TRUTH = labels()
SCORES = scores(TRUTH, 0.6)
FULL = str(ss.range_eer(TRUTH, SCORES).signature)
COMPARABLE, INPUT = FULL.split(" || ")
OLD = (
    "point-eer@640ms|nearest|gaps:error|snap:2000000ns|extent:duration|nonspeech:error|uncovered:error|slack:auto|"
    "overlong:error|last_frame:use|overlap:error|regions:all|collar:0ns|partial:False|utterances:all|label:any|"
    "last_point:use|rules:1|references:7bfc076a67f77abf|utterances:169:99f671c37f7425c4 || scores:1cb7a3c1b5d8a1f6"
)
SHORT = ss.range_eer(TRUTH, SCORES).signature.short
SHORTS = (
    SHORT,
    "range-eer|default|eer:nearest|rules:2|refs:7bfc076a|v0.2",
    "point-eer@20ms|nii-2023|label:3/10|pooling:mean|rules:2|refs:2eebecdc|n:169|v0.1",
    "range-eer|default|unc:ign|last_f:dro|collar:50ms|rules:2|refs:2eeb|n:169|v0.1",
    "utterance-eer|default|at:-0.3|last_point:drop|rules:2|refs:2eeb|n:71237|utt-scores:0123|v0.1",
    f"signature of my system: {SHORT}",
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    ss.write_references(TRUTH, folder / "r.parquet")
    ss.write_scores(SCORES, folder / "a.parquet")
    ss.write_scores(scores(TRUTH, 0.9, 1), folder / "b.parquet")
    return folder


def printed_signatures(text):
    """The lines of signatures, each with the lines of its systems."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if re.match(r"(% )?signature", line):
            more = []
            for following in lines[i + 1 :]:
                if not re.match(r"(%| ) +\S+: scores:", following):
                    break
                more.append(following)
            yield "\n".join([line, *more])


@pytest.mark.parametrize("spelling", ["text", "markdown", "latex"])
@pytest.mark.parametrize("more", [[], ["--signature"]], ids=["", "in full"])
@pytest.mark.parametrize("command", ["eval", "threshold", "compare", "table"])
def test_what_commands_print_is_explained(command, spelling, more, files, capsys):
    arguments = {
        "eval": ["eval", "r.parquet", "a.parquet", "-m", "range-eer", "-m", "point-eer@20ms", "-m", "event-f1@iou=0.5"],
        "threshold": ["eval", "r.parquet", "a.parquet", "-m", "range-f1", "-m", "utterance-eer", "--threshold", "0.3"],
        "compare": ["compare", "r.parquet", "a.parquet", "b.parquet"],
        "table": ["table", "r.parquet", "a.parquet", "b.parquet", "-m", "event-f1@iou=0.5"],
    }[command]
    paths = [files / one if one.endswith(".parquet") else one for one in arguments]
    code, printed = run([*paths, *more, "--format", spelling], capsys)
    assert code == 0, printed.err
    found = list(printed_signatures(printed.out))
    assert found
    for one in found:
        code, explained = run(["explain", one], capsys)
        assert (code, explained.err) == (0, "")
        short = spelling == "text" and not more
        assert explained.out.startswith("Numbers may be compared")
        assert "convention default" in explained.out
        hashes = re.findall(r"(?:refs|scores):([0-9a-f]+)" if short else r"[0-9a-f]{16}", one)
        assert hashes
        assert all(part in explained.out for part in hashes)
        if short:
            assert len(one.removeprefix("signature ").split(": ")[-1]) <= 80


def test_json_and_python_print_what_is_explained(files, capsys):
    code, printed = run(["eval", files / "r.parquet", files / "a.parquet", "--format", "json"], capsys)
    assert code == 0
    for one in json.loads(printed.out)["measurements"]:
        full = f"{one['signature']['comparable']} || {one['signature']['input']}"
        expected = explain(full)
        assert explain(json.dumps(one["signature"])) == expected
        assert explain(json.dumps({"signature": one["signature"]}, indent=2)) == expected
        inside = json.dumps(one["signature"], indent=2).strip("{}")
        assert explain(inside) == expected
    signature = ss.range_eer(TRUTH, SCORES).signature
    assert explain(str(signature)).endswith(explain(signature.input))
    assert explain(signature.comparable) in explain(str(signature))
    assert "convention default" in explain(signature.short)


@pytest.mark.parametrize("spaces", ["\n", " ", "\r\n", "\n  ", "\t", "-\n", "\u2010\n", "\u00ad\n"])
def test_line_breaks_leave_no_trace(spaces):
    with_hyphens = "-" in spaces or "\u2010" in spaces
    for width, one in product(range(12, 201), (FULL, OLD, COMPARABLE, *SHORTS[:-1], f"signature {FULL}")):
        wrapped = spaces.join(one[i : i + width] for i in range(0, len(one), width))
        if not with_hyphens:
            at_words = spaces.join(textwrap.wrap(one, width, break_on_hyphens=True))
            assert explain(at_words) == explain(one)
        elif any(re.search(r"[|:,(]-?$|^[|:]", piece) for piece in wrapped.split(spaces)):
            continue  # no typesetter puts a hyphen there, where it may be the sign of a number
        assert explain(wrapped) == explain(one)


def test_ligatures_and_comment_signs_of_a_page_leave_no_trace():
    for one in SHORTS:
        copied = one.replace("fi", "\ufb01").replace("-", "\u2011").replace("_", "\\_")
        assert explain(f"% {copied}") == explain(one)


def test_the_short_form_states_what_differs_from_the_convention():
    for rules, expected in [
        ({}, "range-eer|default|eer:nearest|rules:2|"),
        ({"eer_rule": "interpolated"}, "range-eer|default|eer:interpolated|rules:2|"),
        ({"convention": "paper"}, "range-eer|paper|eer:nearest|rules:2|"),
        ({"collar": 0.01}, "range-eer|default|collar:10ms|rules:2|refs:"),  # no room for the EER rule
        ({"uncovered": "ignore", "collar": 0.01}, "range-eer|default|uncovered:ignore|collar:10ms|rules:2|"),
        ({"gaps": "bonafide", "snap": 0.002}, "range-eer|default|eer:nearest|rules:2|"),  # which changed nothing
    ]:
        signature = ss.range_eer(TRUTH, SCORES, **rules).signature
        assert signature.short.startswith(expected)
        assert len(signature.short) <= 80
        fields = parse_signature(signature.short)
        assert fields.differences(parse_signature(str(signature)).under(signature.convention)) == {}


def test_what_does_not_fit_is_counted_and_hashed():
    many = ss.point_eer(
        TRUTH, SCORES, 0.02, uncovered="ignore", slack=0.0, overlong="cut", overlap="mean", label=0.3, pooling="mean",
        last_point="drop", last_frame="drop", collar=0.01,
    ).signature  # fmt: skip
    assert len(many.short) <= 80
    assert re.search(r"\|\+\d:[0-9a-f]{4}\|", many.short)
    assert "did not fit" in explain(many.short)


def every_signature():
    for kind in all_kinds():
        for basis in kind.bases:
            measure = f"{basis}-{kind.name}{'@20ms' * (basis == 'point')}"
            for threshold in (None, 0.1):
                try:
                    found = ss.evaluate(TRUTH, SCORES, [measure], scores_are="llr", threshold=threshold)
                except ss.SpoofspanError:
                    continue
                yield from (str(one.signature) for one in found.measurements.values())


def test_signatures_of_all_measures_are_explained():
    found = list(every_signature())
    assert len(found) > 60
    for one in found:
        assert one.split("|")[0] in explain(one)
        parts = ss.Signature(*one.split(" || "))
        assert len(parts.short) <= 80
        fields = parse_signature(parts.short)
        if not fields.omitted:
            assert fields.differences(parts.fields.under("default")) == {}
    for other in (
        ss.bisection_eer(TRUTH, SCORES),
        ss.best_possible(TRUTH, 0.02),
        ss.range_eer(TRUTH, SCORES, collar=0.01, uncovered="ignore", regions={TRUTH.utterances[0]: [(0, 0.5)]}),
        ss.range_eer(TRUTH, SCORES, convention="wedefense"),
        ss.point_eer(TRUTH, SCORES, 0.03, label=0.3, pooling="mean"),
        ss.evaluate(TRUTH, SCORES, ["utterance-eer"], pooling="top-k(3)")["utterance-eer"],
    ):
        assert other.measure in explain(str(other.signature))
    learned = ss.calibrate(TRUTH, SCORES).learned_on
    assert "calibration-" in explain(f"{learned['comparable']} || {learned['input']}")


def test_signatures_of_the_first_version_are_explained():
    text = explain(OLD)
    assert "snap = 2000000ns" in text
    assert "utterances = all   (which utterances count)" in text
    assert "version 1 of the rules and has no equal under version 2" in text
    assert "version 1" not in explain(FULL)


@pytest.mark.parametrize(
    "broken",
    [
        "|",
        "||",
        "a|b",
        "range-eer||",
        SHORT.replace("rules:2", "rules:2|rules:2"),
        SHORT[:-5],
        SHORT.replace("|default", ""),
        SHORT.replace("refs:", "refs:1"),
        SHORT.replace("range-eer", "range-er"),
        SHORT.replace("nearest", "nearst"),
        COMPARABLE[:-1],
        COMPARABLE[3:],
        COMPARABLE.replace("uncovered", "un-covered"),
        COMPARABLE.replace("uncovered:error", "uncovered:eror"),
        COMPARABLE.replace("uncovered:error|", "uncovered:error|uncovered:error|"),
        COMPARABLE.replace("nearest", "nearst"),
        COMPARABLE.replace("rules:2", "rules:3"),
        COMPARABLE.replace("|rules:2", ""),
        COMPARABLE.replace("|", ""),
        f"{COMPARABLE} || ",
        f"{COMPARABLE} || scores:12",
        f"{FULL} and more",
        f"some words {FULL}",
        '{"comparable": 1}',
        '{"comparable": "',
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(broken, capsys):
    code, printed = run(["explain", broken], capsys)
    assert (code, printed.out) == (2, "")
    assert printed.err.startswith("error: ")
    assert "Traceback" not in printed.err


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.text(alphabet='|: abcdef0123456789-rangescores\n\0\\%"{}', max_size=60) | st.text(max_size=20))
def test_no_text_ends_in_a_traceback(text):
    try:
        explain(text)
    except ss.UsageError:
        return
    if is_signature(text) and "|" in text:
        assert re.search(r"[0-9a-f]\s*$", text.strip().strip('%\\"{}').strip())


@settings(deadline=None, derandomize=True, max_examples=200)
@given(place=st.integers(0, len(FULL) - 1), length=st.integers(1, 15))
def test_a_signature_with_a_hole_is_refused_or_still_a_signature(place, length):
    damaged = (FULL[:place] + FULL[place + length :]).strip()
    try:
        explain(damaged)
    except ss.UsageError:
        return
    # whole fields may be missing, but none is cut; a number of utterances that lost a digit is still one
    fields, known = (re.split(r" ?\|\|? ?", re.sub(r"utterances:\d+", "utterances:36", one)) for one in (damaged, FULL))
    assert set(fields) <= {*known, ""}
