"""``ss.eer(labels, scores)``: what users of scikit-learn type."""

import numpy as np
import pytest

import spoofspan as ss

RNG = np.random.default_rng(11)
LABELS = RNG.integers(0, 2, 500)
SCORES = np.round(RNG.normal(size=500) + LABELS, 2)


def brute_force(labels, scores):
    """The mean of both error rates where they are nearest, label 1 called from each threshold up."""
    rates = []
    for threshold in [*np.unique(scores), np.inf]:
        called = scores >= threshold
        rates.append((np.mean(called[labels == 0]), np.mean(~called[labels == 1])))
    fpr, fnr = min(rates, key=lambda pair: abs(pair[0] - pair[1]))
    return (fpr + fnr) / 2


def test_high_scores_mean_one():
    expected = brute_force(LABELS, SCORES)
    assert float(ss.eer(LABELS, SCORES)) == pytest.approx(expected, abs=1e-12)
    assert float(ss.eer(LABELS.tolist(), SCORES.tolist())) == float(ss.eer(LABELS.astype(bool), SCORES))
    assert float(ss.eer(1.0 * LABELS, SCORES)) == float(ss.eer(LABELS, SCORES))


def test_every_way_to_say_it_gives_one_number():
    found = ss.eer(LABELS, SCORES)
    words = np.where(LABELS == 1, "spoof", "bonafide")
    assert ss.eer(words, SCORES, higher="spoof").value == found.value
    assert ss.eer(words, -SCORES, higher="bonafide").value == found.value
    assert ss.eer(LABELS, -SCORES, higher="bonafide", spoof_label=1).value == found.value
    assert ss.eer(1 - LABELS, SCORES, higher="spoof", spoof_label=0).value == found.value
    assert ss.eer(LABELS, SCORES, spoof_label=0).value == pytest.approx(found.value, abs=1e-9)  # classes change names


def test_series_tensors_and_scikit_learn():
    pandas, torch = pytest.importorskip("pandas"), pytest.importorskip("torch")
    metrics = pytest.importorskip("sklearn.metrics")
    found = ss.eer(LABELS, SCORES, eer_rule="interpolated")
    assert ss.eer(pandas.Series(LABELS), pandas.Series(SCORES), eer_rule="interpolated").value == found.value
    assert ss.eer(torch.tensor(LABELS), torch.tensor(SCORES), eer_rule="interpolated").value == found.value
    fpr, tpr, _ = metrics.roc_curve(LABELS, SCORES, drop_intermediate=False)
    first = np.argmax(fpr >= 1 - tpr)
    short, long = (1 - tpr - fpr)[first - 1], (fpr - 1 + tpr)[first]
    meets = fpr[first - 1] + short / (short + long) * (fpr[first] - fpr[first - 1])
    assert float(found) == pytest.approx(meets, abs=1e-12)


def test_an_interval():
    found = ss.eer(LABELS, SCORES, confidence=0.95)
    assert found.interval.low < found.value < found.interval.high


@pytest.mark.parametrize(
    ("labels", "options", "said"),
    [
        (["spoof", "bonafide"], {}, "say what high scores mean"),
        ([0, 1], {"higher": "spoof"}, "say which label is spoof"),
        ([0, 2], {}, "labels must be 0 and 1, or 'bonafide' and 'spoof', not 2"),
        (["fake", "real"], {"higher": "spoof"}, "not 'fake'"),
        (["spoof", "bonafide"], {"higher": "spoof", "spoof_label": 1}, "these are words"),
        ([[0, 1]], {}, "must be flat and equally long"),
        ([0, 1, 1], {}, r"of shapes \(3,\) and \(2,\)"),
    ],
)
def test_what_is_not_said_is_asked_for(labels, options, said):
    with pytest.raises(ss.UsageError, match=said):
        ss.eer(labels, [0.1, 0.9], **options)


def test_a_class_without_trials_has_no_number():
    with pytest.raises(ss.UndefinedMeasureError):
        ss.eer([1, 1], [0.1, 0.9])
