"""The catalogue says what is computed: every printed formula, evaluated as it is printed, gives the value."""

import itertools
import random
import re
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

import spoofspan as ss
from spoofspan.evaluation.explain import explain
from spoofspan.measures.catalogue import EVENT, EVENT_KINDS, KINDS, SYMBOLS, all_kinds
from spoofspan.measures.measure import EXAMPLES, Measure

AT_A_THRESHOLD = [kind for kind in KINDS.values() if kind.at_threshold and not kind.of_boundaries]
SETTINGS = {
    "paper": {"convention": "paper"},
    "unanswered": {"uncovered": "unanswered"},
    "bonafide": {"uncovered": "bonafide"},
    "spoof": {"uncovered": "spoof"},
    "ignore": {"uncovered": "ignore"},
    "hold": {"uncovered": "hold"},
}
THRESHOLD = 0.45


def printed(formula, tp, fp, fn, tn, p, n, parameters=()):
    """Evaluate a formula as it is printed, '2 TP' meaning 2 * TP, '^' a power; None where it divides by 0."""
    formula = formula.replace("^", "**")
    symbols = {"TP": tp, "FP": fp, "FN": fn, "TN": tn, "P": p, "N": n}
    symbols = {name: Fraction(str(amount)) for name, amount in (symbols | dict(parameters)).items()}
    symbols["sqrt"] = square_root
    try:
        if re.search(r"\bF[PN]R\b", formula):
            symbols |= {"FPR": symbols["FP"] / symbols["N"], "FNR": symbols["FN"] / symbols["P"]}
        return eval(re.sub(r"(?<=[\w)]) (?=[\w(])", " * ", formula), {"__builtins__": {}}, symbols)
    except ZeroDivisionError:
        return None


def same(found, expected, kind):
    """Equal, or to far more places than a double keeps where there is a root."""
    return abs(found - expected) < Fraction(1, 10**36) if "sqrt" in kind.formula else found == expected


def square_root(number):
    """To 60 places by decimals, which is far from how the package does it."""
    with localcontext() as context:
        context.prec = 200
        return Fraction((Decimal(number.numerator) / Decimal(number.denominator)).sqrt())


def corpus(seed):
    """Some utterances by the millisecond: label and score of each, None where there is no score."""
    draw = random.Random(seed)
    utterances = {}
    for i in range(draw.randint(1, 4)):
        labels, scores = [], []
        for _ in range(draw.randint(1, 4)):
            labels += [draw.choice(["bonafide", "spoof"])] * draw.randint(1, 60)
        while len(scores) < len(labels):
            # the first and the last stretch have scores: what is missing at an end may be held
            inside = 0 < len(scores) < len(labels) - 31
            scores += [None if inside and draw.random() < 0.4 else draw.randint(0, 9) / 10] * draw.randint(1, 30)
        utterances[f"u{i}"] = list(zip(labels, scores, strict=False))
    return utterances


def ranges(column):
    """(start, end, value) of stretches of equal values, in seconds; None is left out."""
    edges = [0, *(k for k in range(1, len(column)) if column[k] != column[k - 1]), len(column)]
    found = [(a / 1000, b / 1000, column[a]) for a, b in itertools.pairwise(edges)]
    return [one for one in found if one[2] is not None]


def measurable(utterances):
    durations = {name: len(rows) / 1000 for name, rows in utterances.items()}
    references = ss.References.from_ranges(
        {name: ranges([row[0] for row in rows]) for name, rows in utterances.items()}, durations
    )
    scores = {name: ranges([row[1] for row in rows]) for name, rows in utterances.items()}
    return references, ss.Scores.from_ranges(scores, higher="bonafide")


def amounts(utterances, uncovered, positive):
    """TP, FP, FN, TN, P and N in ns, counted millisecond by millisecond."""
    count = dict.fromkeys(("TP", "FP", "FN", "TN", "P", "N"), 0)
    for rows in utterances.values():
        held = None
        for label, score in rows:
            held = score if score is not None else held
            called = None if score is None else ("spoof" if score < THRESHOLD else "bonafide")
            if score is None and uncovered == "ignore":
                continue
            if score is None and uncovered == "hold":
                called = "spoof" if held < THRESHOLD else "bonafide"
            elif score is None and uncovered != "unanswered":
                called = uncovered
            count["P" if label == positive else "N"] += 1_000_000
            if called is not None:
                count[("T" if called == label else "F") + ("P" if called == positive else "N")] += 1_000_000
    return tuple(count.values())


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", AT_A_THRESHOLD, ids=lambda kind: kind.name)
def test_the_printed_formula_gives_the_value(kind, setting):
    rules = SETTINGS[setting]
    defined = 0
    for seed in range(30):
        utterances = corpus(seed)
        references, scores = measurable(utterances)
        for positive in ("spoof", "bonafide") if kind.positive else ("spoof",):
            name = f"range-{kind.name}" + "-bonafide" * (positive == "bonafide")
            cells = amounts(utterances, rules.get("uncovered", "unanswered"), positive)
            needed = {"positives": cells[4], "negatives": cells[5], "called": cells[0] + cells[1], "any": sum(cells)}
            needed["answered"] = sum(cells[:4])
            needed["called-negative"] = cells[2] + cells[3]
            if not all(needed[need] for need in kind.needs):
                with pytest.raises(ss.UndefinedMeasureError):
                    ss.evaluate(references, scores, [name], threshold=THRESHOLD, **rules)
                continue
            found = ss.evaluate(references, scores, [name], threshold=THRESHOLD, **rules)[name]
            assert same(found.exact_value, printed(kind.formula, *cells, kind.parameters), kind)
            defined += 1
    assert defined > 5


@pytest.mark.parametrize("basis", ["point-{}@20ms", "utterance-{}"])
@pytest.mark.parametrize("kind", AT_A_THRESHOLD, ids=lambda kind: kind.name)
def test_points_and_utterances_are_counted_in_the_same_formula(kind, basis, demo):
    name = basis.format(kind.name)
    if name.partition("-")[0] not in kind.bases:
        with pytest.raises(ss.UsageError, match="no measure"):
            Measure.parse(name)
        return
    found = ss.evaluate(*demo, [name])[name]
    point = found.point
    cells = (point.true_positive, point.false_positive, point.false_negative, point.true_negative)
    assert same(found.exact_value, printed(kind.formula, *cells, point.spoof, point.bona_fide, kind.parameters), kind)


def test_recall_is_of_all_spoof_also_of_what_is_unanswered():
    references = ss.References.from_ranges({"u": [(0.0, 1.0, "bonafide"), (1.0, 3.0, "spoof")]}, {"u": 3.0})
    scores = ss.Scores.from_ranges({"u": [(0.0, 1.5, 0.9), (1.5, 2.0, 0.1)]}, higher="bonafide")
    found = ss.evaluate(references, scores, ["range-recall"], convention="paper", threshold=0.5)["range-recall"]
    assert found.value == 0.25
    assert "  TP / P\n" in explain("range-recall")
    assert SYMBOLS in explain("range-recall")


def test_balanced_accuracy_is_the_mean_of_both_recalls(demo):
    names = ["range-balanced-accuracy", "range-recall", "range-recall-bonafide", "utterance-balanced-accuracy"]
    found = ss.evaluate(*demo, [*names, "point-balanced-accuracy@20ms", "range-balanced-accuracy-macro"])
    recalls = found["range-recall"].exact_value + found["range-recall-bonafide"].exact_value
    assert found["range-balanced-accuracy"].exact_value == recalls / 2
    assert 0 < found["range-balanced-accuracy-macro"].value < 1


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: f"{kind.bases[0]}-{kind.name}")
def test_every_entry_has_a_function(kind):
    assert callable(kind.function)
    assert (EVENT_KINDS if EVENT in kind.bases else KINDS)[kind.name] is kind
    assert not kind.at_threshold or kind.needs


@pytest.mark.parametrize("spelling", EXAMPLES)
def test_a_measure_is_a_value(spelling):
    measure, again = Measure.parse(spelling), Measure.parse(spelling)
    assert measure == again
    assert hash(measure) == hash(again)
    assert len({measure, again, Measure.parse("range-f1-bonafide")}) == 2
    assert Measure(measure.family, measure.resolution, measure.given, measure.parameters) == measure
    with pytest.raises(AttributeError):
        measure.macro = True
