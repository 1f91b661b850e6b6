"""Every printed form of a signature is explained, and nothing else is."""

import json
import re
import textwrap

import pytest
from challenge_cases import labels, scores
from command_line import run
from hypothesis import given, settings
from hypothesis import strategies as st

import spoofspan as ss
from spoofspan.evaluation.explain import explain
from spoofspan.evaluation.signature_text import is_signature
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
SHORT = "signature range-eer d3677f48, point-eer@20ms 8388ae85 || 013bc77a, 0123abcd (in full: --signature)"


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
        assert explained.out.startswith("A short signature" if short else "Numbers may be compared")
        hashes = re.findall(r"\b[0-9a-f]{8}\b" if short else r"[0-9a-f]{16}", one)
        assert all(part in explained.out for part in hashes)


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
    assert explain(signature.short).splitlines()[2].strip() == signature.short.split(" || ")[0]
    assert explain(signature.short.split(" || ")[0]).startswith("A short signature")


@settings(deadline=None, derandomize=True)
@given(width=st.integers(12, 200), spaces=st.sampled_from(["\n", " ", "\r\n", "\n  ", "\t"]))
def test_line_breaks_leave_no_trace(width, spaces):
    for one in (FULL, OLD, COMPARABLE, SHORT, f"signature {FULL}"):
        wrapped = spaces.join(one[i : i + width] for i in range(0, len(one), width))
        at_words = spaces.join(textwrap.wrap(one, width, break_on_hyphens=True))
        if one is not SHORT:  # of which names are shown as they are
            assert explain(wrapped) == explain(at_words) == explain(one)
        assert "d3677f48" in explain(wrapped) or one is not SHORT


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
        "|| 69c5edc4",
        "range-eer 99fea0c7 ||",
        "range-eer 99fea0c7 || 69c5edc",
        "range-eer 99fea0c || 69c5edc4",
        "range-er 99fea0c7 || 69c5edc4",
        "range-eer 99fea0c7 || 69c5edc4 ||",
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
