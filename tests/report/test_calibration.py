"""Figures of calibration: what they show is what isotonic regression and counting by hand find."""

import math

import numpy as np
import pytest

import spoofspan as ss
import spoofspan.demo
from spoofspan.measures.costs import calibration_loss, cllr, min_cllr
from spoofspan.measures.curve import error_curve_of
from spoofspan.report.figures import figure_data as data

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")


def drawn_system(seed=0, count=400, higher="bonafide", scale=1.0, infinite=False):
    """Frames with known labels and scores, some of them tied; scores are ratios times ``scale``."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    ratios = np.round(scale * (rng.normal(size=count) * 1.5 + np.where(labels == 1, -1.2, 1.2)), 1)
    if infinite:
        ratios[labels == 1] = np.where(ratios[labels == 1] < -4, -np.inf, ratios[labels == 1])
    edges = np.arange(count + 1) * 0.02
    ranges = [(edges[i], edges[i + 1], "spoof" if labels[i] else "bonafide") for i in range(count)]
    references = ss.References.from_ranges({"u": ranges}, durations={"u": float(edges[-1])})
    values = ratios if higher == "bonafide" else -ratios
    scores = ss.Scores.from_frames({"u": values}, hop=0.02, higher=higher)
    return data.system_curve(references, scores, "one"), labels, ratios


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
@pytest.mark.parametrize("infinite", [False, True])
def test_a_pav_map_is_isotonic_regression(higher, infinite):
    isotonic = pytest.importorskip("sklearn.isotonic", reason="scikit-learn, the other tool, is not installed")
    system, labels, ratios = drawn_system(higher=higher, infinite=infinite)
    found = data.pav_data(system, "llr")
    order = np.argsort(ratios, kind="stable")
    finite = np.clip(ratios[order], -1e3, 1e3)  # the regression has no use for infinities, only for their order
    means, weights = _by_score(finite, 1 - labels[order])
    share = isotonic.isotonic_regression(means, sample_weight=weights)
    bona_fide, spoof = np.count_nonzero(labels == 0), np.count_nonzero(labels)
    with np.errstate(divide="ignore"):
        expected = np.log(share) - np.log1p(-share) - math.log(bona_fide / spoof)
    distinct = np.unique(ratios)
    group = np.searchsorted(found.ends, distinct)
    np.testing.assert_allclose(found.calibrated[group], expected, atol=1e-9)
    assert (found.starts[group] <= distinct).all()
    assert (distinct <= found.ends[group]).all()


def _by_score(scores, values):
    """Mean and weight of each distinct score: equal scores stay equal."""
    places = np.searchsorted(np.unique(scores), scores)
    weight = np.bincount(places).astype(float)
    return np.bincount(places, values) / weight, weight


@pytest.mark.parametrize("higher", ["bonafide", "spoof"])
def test_a_tippett_curve_counts_what_has_at_least_a_ratio(higher):
    system, labels, ratios = drawn_system(seed=1, higher=higher)
    found = data.tippett_data(system, "llr")
    places = np.sort(np.unique(ratios))
    between = (places[1:] + places[:-1]) / 2
    for line, chosen in ((found.bona_fide, labels == 0), (found.spoof, labels == 1)):
        by_hand = [np.mean(ratios[chosen] >= x) for x in between]
        np.testing.assert_allclose(np.interp(between, line.x, line.y), by_hand, atol=6e-4)
    assert found.misleading_bona_fide == pytest.approx(np.mean(ratios[labels == 0] < 0))
    assert found.misleading_spoof == pytest.approx(np.mean(ratios[labels == 1] > 0))


def test_probabilities_and_ratios_show_the_same():
    system, labels, ratios = drawn_system(seed=2)
    count = labels.size
    probabilities = 1 / (1 + np.exp(-ratios))
    edges = np.arange(count + 1) * 0.02
    references = ss.References.from_ranges(
        {"u": [(edges[i], edges[i + 1], "spoof" if labels[i] else "bonafide") for i in range(count)]},
        durations={"u": float(edges[-1])},
    )
    other = data.system_curve(
        references, ss.Scores.from_frames({"u": probabilities}, hop=0.02, higher="bonafide"), "one"
    )
    first, second = data.pav_data(system, "llr"), data.pav_data(other, "probability")
    np.testing.assert_allclose(first.starts, second.starts, atol=1e-12)
    assert (first.cllr, first.min_cllr) == pytest.approx((second.cllr, second.min_cllr))
    tables = (data.reliability_data(system, "llr"), data.reliability_data(other, "probability"))
    assert tables[0].error == pytest.approx(tables[1].error)


def test_the_loss_is_what_calibration_gains():
    system, _, _ = drawn_system(seed=3, scale=4.0)
    curve = error_curve_of(system.mass)
    found = data.pav_data(system, "llr")
    assert found.loss == pytest.approx(found.cllr - found.min_cllr)
    assert found.loss > 0.05  # four times too sure
    assert calibration_loss(curve, "llr") == pytest.approx(cllr(curve, "llr") - min_cllr(curve))


def test_the_loss_is_a_measure():
    corpus = spoofspan.demo.load()
    names = ["range-cllr", "range-min-cllr", "range-calibration-loss"]
    found = ss.evaluate(corpus.references, corpus.systems[0.02], names, scores_are="llr")
    cost, least, loss = (found[name].value for name in names)
    assert loss == pytest.approx(cost - least)


def test_a_certain_score_that_is_wrong_is_drawn_and_said():
    references = ss.References.from_ranges({"u": [(0.0, 0.04, "bonafide"), (0.04, 0.08, "spoof")]})
    scores = ss.Scores.from_frames({"u": [0.5, 1.0, 1.0, 0.0]}, hop=0.02, higher="bonafide")
    found = data.pav_data(data.system_curve(references, scores), "probability")
    assert found.cllr == math.inf
    assert found.calibrated[0] == -math.inf
    pytest.importorskip("matplotlib", reason="figures need spoofspan[plot]")
    assert "Cllr infinite" in ss.plot.pav(references, scores, "probability").texts[0].get_text()
    ss.plot.tippett(references, scores, "probability")
    ss.plot.reliability(references, scores, "probability")


def test_what_is_drawn_is_the_table():
    pytest.importorskip("matplotlib", reason="figures need spoofspan[plot]")
    from figure_cases import figure_of

    from spoofspan.report.figures.system_figures import draw_reliability

    system, _, _ = drawn_system(seed=4)
    found = data.reliability_data(system, "llr", bins=5, prior=0.2)
    (axes,) = figure_of(draw_reliability, [found]).axes
    (line,) = [one for one in axes.get_lines() if one.get_label() == "system"]
    np.testing.assert_allclose(line.get_xdata(), [100 * one.predicted for one in found.table.bins])
    np.testing.assert_allclose(line.get_ydata(), [100 * one.observed for one in found.table.bins])
    assert [bar.get_height() for bar in axes.patches] == pytest.approx([100 * one.weight for one in found.table.bins])


@pytest.mark.parametrize("kind", ["reliability", "pav", "tippett"])
def test_many_systems_have_a_panel_each(kind):
    pytest.importorskip("matplotlib", reason="figures need spoofspan[plot]")
    from figure_cases import figure_of

    from spoofspan.report.figures import system_figures

    systems = [drawn_system(seed)[0] for seed in range(7)]
    made = [getattr(data, f"{kind}_data")(one, "llr") for one in systems]
    figure = figure_of(getattr(system_figures, f"draw_{kind}"), made)
    assert [axes.get_visible() for axes in figure.axes] == [True] * 7 + [False]
    assert len({axes.get_xlim() for axes in figure.axes[:7]}) == 1
    with pytest.raises(ss.UsageError, match="at least one system"):
        figure_of(getattr(system_figures, f"draw_{kind}"), [])
