"""What users of scikit-learn, torchmetrics, pandas, polars, matplotlib and Lightning type by habit runs unchanged.

Each snippet stands here as it is typed, and sets ``value``; the number that it must be was computed by other means: a
brute force over all frames, or a library whose habit it is. The names that a snippet may use are in ``names()``.
"""

import copy
import io
import json
import math
import pickle
import warnings
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import spoofspan as ss

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
HOP, FRAMES = 0.02, 50
IDS = [f"u{i}" for i in range(6)]


def arrays():
    """Labels (1 means spoof) and scores (high means bona fide) of six utterances of a second."""
    rng = np.random.default_rng(11)
    labels = {utt: (rng.random(FRAMES // 5) < 0.4).repeat(5).astype(int) for utt in IDS}
    return labels, {utt: np.float32(rng.normal(1 - one, 0.8)) for utt, one in labels.items()}


def crossing(labels, scores):
    """The EER and its threshold by a brute force in fractions: spoof iff score < threshold."""
    labels, scores = np.concatenate(list(labels)), np.concatenate(list(scores))
    best = None
    for threshold in [*np.unique(scores).tolist(), np.inf]:
        called = scores < threshold
        fpr = Fraction(int((called & (labels == 0)).sum()), int((labels == 0).sum()))
        fnr = Fraction(int((~called & (labels == 1)).sum()), int((labels == 1).sum()))
        if best is None or abs(fpr - fnr) < best[0]:
            best = abs(fpr - fnr), (fpr + fnr) / 2, threshold, fpr, fnr
    return best[1:]


LABELS, SCORES = arrays()
VALUE, THRESHOLD, FPR, FNR = crossing(LABELS.values(), SCORES.values())
EER = float(VALUE)
TWO = float(crossing([LABELS[one] for one in IDS[:2]], [SCORES[one] for one in IDS[:2]])[0])
CALLED = np.concatenate(list(SCORES.values())) < THRESHOLD
TRUE = np.concatenate(list(LABELS.values()))
TRUE_SCORES = np.concatenate(list(SCORES.values()))
AUC = float((np.subtract.outer(-TRUE_SCORES[TRUE == 1], -TRUE_SCORES[TRUE == 0]) > 0).mean())
F1 = float(2 * (CALLED * TRUE).sum() / (CALLED.sum() + TRUE.sum()))
SPEAKERS = {utt: f"s{i // 2}" for i, utt in enumerate(IDS)}


@cache
def names():
    """The things that snippets are about, in the forms that people have."""
    references = ss.References.from_labels(LABELS, hop=HOP, spoof_label=1)
    scores = ss.Scores.from_frames(SCORES, hop=HOP, higher="bonafide")
    other = ss.Scores.from_frames({utt: one + 0.3 * LABELS[utt] for utt, one in SCORES.items()}, HOP, higher="bonafide")
    ranges = [
        {"utterance": utt, "start": k * HOP, "end": (k + 1) * HOP, "label": "spoof" if one else "bonafide"}
        for utt, column in LABELS.items()
        for k, one in enumerate(column)
    ]
    frames = [
        {"utterance": utt, "start": k * HOP, "end": (k + 1) * HOP, "score": float(one)}
        for utt, column in SCORES.items()
        for k, one in enumerate(column)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m, e = ss.range_eer(references, scores), ss.evaluate(references, scores)
    given = {"np": np, "ss": ss, "labels": LABELS, "scores_by_utt": SCORES, "references": references, "scores": scores}
    given |= {"y_true": TRUE, "y_score": np.concatenate(list(SCORES.values())), "other": other, "speakers": SPEAKERS}
    return given | {"m": m, "e": e, "rows_of_ranges": ranges, "rows_of_frames": frames}


# What is typed, and what comes of it; ``value`` is the last expression.
PLAIN = [
    # dicts of arrays, as one has them after inference
    ('ss.range_eer(labels, scores_by_utt, hop=0.02, higher="bonafide", spoof_label=1).value', EER),
    ('ss.evaluate(labels, scores_by_utt, "range-eer", hop=0.02, higher="bonafide", spoof_label=1)["range-eer"]', EER),
    ('ss.References.from_labels(labels, hop=0.02, spoof_label=1).take(["u0", "u1"]).utterances', ("u0", "u1")),
    # scikit-learn
    ('ss.eer(y_true, y_score, higher="bonafide", spoof_label=1)', EER),
    ("ss.eer(y_true, -y_score)", EER),  # as roc_curve takes them: 1 is spoof, and high scores mean spoof
    ("float(m)", EER),
    ("ss.error_curve(references, scores).at(m).false_positive_rate", float(FPR)),
    ('ss.evaluate(references, scores, measures=["range-eer", "range-f1"])["range-f1"].value', F1),
    ('ss.evaluate(references, scores, "range-f1", threshold=m)["range-f1"].value', F1),
    ('ss.evaluate(references, scores, "range-f1", threshold=m.threshold).to_dict()["measurements"][0]["value"]', F1),
    # numbers
    ("round(m, 4)", round(EER, 4)),
    ("m * 100", 100 * EER),
    ("100 * m", 100 * EER),
    ("1 - m", 1 - EER),
    ("m - m", 0.0),
    ("m / 2", EER / 2),
    ("np.mean([m, m])", EER),
    ("np.std([m, m])", 0.0),
    ("np.array([m, m]).max()", EER),
    ("sum([m, m]) / 2", EER),
    ("max(m, m).value", EER),
    ("m < 0.9, m > 0.9, m == EER", (True, False, True)),
    ("np.isclose(m, EER)", True),
    ("abs(m)", EER),
    ("np.round(m, 3)", round(EER, 3)),
    ('f"{m:.2%}"', f"{EER:.2%}"),
    ('f"{m:.4f}"', f"{EER:.4f}"),
    ('"%.3f" % m', f"{EER:.3f}"),
    ('"{:.1f} %".format(100 * m)', f"{100 * EER:.1f} %"),
    ("m.threshold", THRESHOLD),
    # attributes and items
    ('e["range-eer"].value', EER),
    ("e.to_flat_dict()['range_eer']", EER),
    ("[m.measure for m in e.values()][0]", "range-eer"),
    ("{name: round(100 * m, 2) for name, m in e.items()}['range-eer']", round(100 * EER, 2)),
    ("dict(e)['range-eer'].value", EER),
    # subsets
    ('ss.range_eer(references[["u0", "u1"]], scores[["u0", "u1"]]).value', TWO),
    ('ss.range_eer(references.take(["u0", "u1"]), scores.take(["u0", "u1"])).value', TWO),
    ("len(references), len(scores), 'u3' in references", (6, 6, True)),
    ("list(references)[:2]", ["u0", "u1"]),
    # intervals and groups
    ("ss.range_eer(references, scores, confidence=0.95).interval.level", 0.95),
    ("ss.range_eer(references, scores, confidence=0.95, clusters=speakers).interval.estimate", EER),
    ('ss.evaluate(references, scores, "range-eer", confidence=0.9)["range-eer"].interval.estimate', EER),
    ('ss.interval(references, scores, "range-eer").estimate', EER),
    ('ss.compare(references, {"a": scores, "b": other}).intervals["a"].estimate', EER),
    ("low, high = ss.range_eer(references, scores, confidence=0.95).interval\nlow < EER < high", True),
    ('ss.range_eer(references, scores, by=speakers).breakdown["s0"].value', TWO),
    ('ss.evaluate(references, scores, "range-eer", by={"speaker": speakers})["range-eer"].breakdown["s0"].value', TWO),
    ('ss.compare(references, {"a": scores, "b": other})["a", "b"].p_value < 0.01', True),
    # plain arrays, as scikit-learn takes them
    ("ss.eer(y_true.tolist(), (-y_score).tolist())", EER),
    ("ss.eer(y_true.astype(bool), -y_score)", EER),
    ('ss.eer(np.where(y_true, "spoof", "bonafide"), y_score, higher="bonafide")', EER),
    ('ss.evaluate(references, scores, "range-auc")["range-auc"].value', AUC),
    ("ss.range_eer(references=references, scores=scores).value", EER),
    (
        "c = ss.error_curve(references, scores)\nabs(c.false_positive_rates - c.false_negative_rates).min()",
        abs(float(FPR - FNR)),
    ),
    # numbers
    ("m.item()", EER),
    ("int(100 * m)", int(100 * EER)),
    ("math.isclose(m, EER)", True),
    ("math.sqrt(m)", EER**0.5),
    ("np.median([m, m])", EER),
    ("np.asarray(m, dtype=float)", EER),
    ("np.array([m])[0]", EER),
    ("sorted([m, 0.1])[0]", 0.1),
    ('min({"a": m, "b": m}.items(), key=lambda item: item[1])[0]', "a"),
    ('f"{m:5.1%}"', f"{EER:5.1%}"),
    ('f"{m.value * 100:.2f}"', f"{100 * EER:.2f}"),
    ("json.loads(json.dumps(m.to_dict()))['value']", EER),
    ("json.loads(json.dumps(e.to_dict()))['measurements'][0]['value']", EER),
    ("pickle.loads(pickle.dumps(m)).value", EER),
    ("copy.deepcopy(e)['range-eer'].value", EER),
    # a corpus is a dict
    ("scores['u0'].mean()", float(SCORES["u0"].mean())),
    ("scores['u0'].shape", (FRAMES,)),
    ("[utt for utt, ranges in references.items() if ranges][:2]", ["u0", "u1"]),
    ("{utt: len(frames) for utt, frames in scores.items()}['u3']", FRAMES),
    ("dict(scores)['u1'][0]", float(SCORES["u1"][0])),
    ("references.keys() == scores.keys()", True),
    ("len(references[:2])", 2),
    ("pickle.loads(pickle.dumps(scores)).hop", HOP),
    ("(scores['u0'] > 0).sum()", int((SCORES["u0"] > 0).sum())),
    # results are dicts and tables
    ("e.get('range-eer').value", EER),
    ("e.get('range-f1') is None", True),
    ("'range-eer' in e, len(e), next(iter(e))", (True, 2, "range-eer")),
    ("e['range_eer'].value", EER),
    ("[ss.point_eer(references, scores, r).value for r in (0.02, 0.04)][0]", EER),
    ("ss.resolution_table(references, scores, [0.02])[0.02].range_eer.value", EER),
    ("ss.errors_by_utterance(references, scores, m).f1.shape", (6,)),
]


def typed(text, **more):
    """The value of a snippet: of its last line."""
    *lines, last = text.strip().splitlines()
    scope = names() | {"EER": EER, "math": math, "json": json, "pickle": pickle, "copy": copy} | more
    exec("\n".join(lines), scope)
    return eval(last, scope)


@pytest.mark.parametrize(("snippet", "expected"), PLAIN)
def test_what_is_typed_by_habit_runs(snippet, expected):
    value = typed(snippet)
    if isinstance(expected, tuple | list | str | bool):
        assert value == expected
    else:
        assert float(value) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("snippet", "expected"),
    [
        ("ss.range_eer(pd.DataFrame(rows_of_ranges), pd.DataFrame(rows_of_frames), higher='bonafide')", EER),
        ("ss.range_eer(references, pd.DataFrame(rows_of_frames), higher='bonafide')", EER),
        ("e.to_pandas().set_index('measure').loc['range-eer', 'value']", EER),
        ("pd.DataFrame([m.to_dict()])['value'].iloc[0]", EER),
        ("pd.Series({'ours': m}, dtype=float).mean()", EER),
        ("references.to_pandas().groupby('label')['end'].max().max()", 1.0),
        (
            "scores.to_pandas().astype({'score': float}).groupby('utterance')['score'].mean()['u0']",
            float(SCORES["u0"].mean(dtype=float)),
        ),
        ("ss.eer(pd.Series(y_true), pd.Series(-y_score))", EER),
        ("ss.References.from_table(pd.DataFrame(rows_of_ranges)).to_pandas()['end'].max()", 1.0),
        ("ss.range_eer(references, scores, by=pd.Series(speakers)).breakdown['s0'].value", TWO),
        ("ss.range_eer(references, scores, confidence=0.95, clusters=pd.Series(speakers)).interval.estimate", EER),
        ("pd.DataFrame([e.to_flat_dict()]).loc[0, 'range_eer']", EER),
        (
            "pd.DataFrame({r: [ss.point_eer(references, scores, r)] for r in (0.02, 0.04)}).astype(float).iloc[0, 0]",
            EER,
        ),
        ("ss.resolution_table(references, {'ours': scores}, [0.02]).to_pandas()['range-eer'].iloc[0]", EER),
        ("ss.errors_by_utterance(references, scores).to_pandas().nlargest(2, 'false_positive_rate').shape[0]", 2),
        ("ss.compare(references, {'a': scores, 'b': other}).to_pandas().loc[0, 'p_value'] < 0.01", 1),
        ("ss.range_eer(references, scores, by=speakers).breakdown.to_pandas()['utterances'].sum()", 6),
    ],
)
def test_habits_of_pandas(snippet, expected):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    assert float(typed(snippet, pd=pd)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("snippet", "expected"),
    [
        ("ss.range_eer(pl.DataFrame(rows_of_ranges), pl.DataFrame(rows_of_frames), higher='bonafide')", EER),
        ("e.to_polars().filter(pl.col('measure') == 'range-eer')['value'][0]", EER),
        ("pl.DataFrame({'eer': [float(m)]})['eer'].mean()", EER),
        (
            "ss.range_eer(pl.DataFrame(rows_of_ranges).lazy(), pl.DataFrame(rows_of_frames).lazy(), higher='bonafide')",
            EER,
        ),
        ("ss.eer(pl.Series(y_true), pl.Series(-y_score))", EER),
        ("scores.to_polars().group_by('utterance').len()['len'].max()", FRAMES),
    ],
)
def test_habits_of_polars(snippet, expected):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    assert float(typed(snippet, pl=pl)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "snippet",
    [
        "fig, ax = plt.subplots()\nss.plot.det(references, {'ours': scores, 'theirs': other}, ax=ax)\n"
        "ax.get_legend_handles_labels()[1][0]",
        "ax = ss.plot.det(references, scores_by_utt, hop=0.02, higher='bonafide')\nax.set_title('dev')\n"
        "ax.lines[0].get_label()",
        "ss.plot.roc(references, scores, style='ggplot').lines[0].get_label()",
        "ax = ss.plot.det(references, scores)\nax.figure.savefig(io.BytesIO())\nax.lines[0].get_label()",
        "fig, axes = plt.subplots(2, 2, figsize=(8, 8))\nss.plot.roc(references, scores, ax=axes[0, 0])\n"
        "axes[0, 0].lines[0].get_label()",
        "with plt.style.context('ggplot'):\n    ax = ss.plot.det(references, scores)\nax.lines[0].get_label()",
        "fig, (left, right) = plt.subplots(1, 2)\nss.plot.scores(references, scores, ax=left)\n"
        "ss.plot.threshold(references, scores, ax=right)\nright.get_title(loc='left')",
    ],
)
def test_habits_of_matplotlib(snippet):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from matplotlib import pyplot as plt

    assert f"EER {100 * EER:.2f} %" in typed(snippet, plt=plt, io=io)
    plt.close("all")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("snippet", "expected"),
    [
        ("metric.update(preds, target)\nmetric.compute()['range_eer'].item()", EER),
        ("metric.update(preds=preds, target=target, lengths=lengths)\nmetric.compute()['range_eer'].item()", EER),
        ("metric(preds, target)['range_eer'].item()", EER),
        ("metric.update(preds, target)\nmetric.compute()['range_eer_threshold'].item()", THRESHOLD),
        ("c = MetricCollection([metric])\nc.update(preds, target)\nc.compute()['range_eer'].item()", EER),
        (
            "ss.range_eer(dict(zip(IDS, target)), dict(zip(IDS, preds)), hop=0.02, higher='bonafide', spoof_label=1)",
            EER,
        ),
        ("f1.update(preds, target)\nf1.compute().item()", F1),
        ("for p, t in zip(preds, target):\n    metric.update(p[None], t[None])\nmetric.compute()['range_eer']", EER),
        (
            "metric.update(preds, target)\nmetric.reset()\nmetric.update(preds, target)\nmetric.compute()['range_eer']",
            EER,
        ),
        ("other = metric.clone()\nother(preds, target)['range_eer']", EER),
        ("metric.to('cpu').update(preds, target.bool())\nmetric.compute()['range_eer']", EER),
        ("metric.update(preds, target.float())\nmetric.compute()['range_eer']", EER),
        (
            "c = MetricCollection([metric], prefix='val_')\nc.update(preds, target)\nc.compute()['val_range_eer']",
            EER,
        ),
        ("metric.update(preds, target)\npickle.loads(pickle.dumps(metric)).compute()['range_eer']", EER),
        ("metric.update(preds.requires_grad_(), target)\nmetric.compute()['range_eer']", EER),
        ("{k: v.item() for k, v in metric(preds, target).items()}['range_eer']", EER),
        ("ss.eer(target.flatten(), -preds.flatten())", EER),
    ],
)
def test_habits_of_torchmetrics(snippet, expected):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torchmetrics = pytest.importorskip("torchmetrics", reason="torchmetrics is not installed")
    from spoofspan.integrations.torch import RangeEER, RangeF1

    more = {"MetricCollection": torchmetrics.MetricCollection, "IDS": IDS, "lengths": torch.full((6,), FRAMES)}
    more |= {
        "preds": torch.tensor(np.stack(list(SCORES.values()))),
        "target": torch.tensor(np.stack(list(LABELS.values()))),
    }
    more["metric"] = RangeEER(hop=0.02, higher="bonafide", spoof_label=1, exact=True)
    more["f1"] = RangeF1(names()["m"], hop=0.02, higher="bonafide", spoof_label=1)
    assert float(typed(snippet, **more)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("snippet", "said"),
    [
        ("m.ci", "did you mean interval?"),
        ("m.eer", "did you mean value?"),
        ("e.range_eer", r"did you mean evaluation\['range-eer'\]"),
        ("ss.compute_eer(references, scores)", "did you mean 'eer'"),
        ("ss.compare(references, {'a': scores, 'b': other}).systems", "did you mean intervals?"),
        ("ss.plot.DET(references, scores)", "did you mean 'det'"),
        ("ss.plot.hist(references, scores)", r"use scores\(references, scores\)"),
        ("ss.roc_auc_score(references, scores)", "use evaluate"),
        ("ss.compare(references, {'a': scores, 'b': other})['a', 'b'].p", "did you mean p_value?"),
        ("ss.error_curve(references, scores).fpr", "did you mean false_positive_rates?"),
        ("e.to_json()", "json.dumps"),
        ("m.plot()", "ss.plot.det"),
        ("scores.map(abs)", "from_frames"),
    ],
)
def test_an_attribute_that_is_not_there_names_the_nearest_one(snippet, said):
    with pytest.raises(AttributeError, match=said):
        typed(snippet)
