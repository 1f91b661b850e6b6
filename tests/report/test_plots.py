"""``ss.plot``: every figure in one call, in the user's axes, type and colours."""

import inspect

import numpy as np
import pytest

import spoofspan as ss

pytest.importorskip("matplotlib", reason="figures need matplotlib: pip install 'spoofspan[plot]'")
import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
HOP = 0.02


def corpus():
    """Four utterances with both classes, and systems of two qualities."""
    rng = np.random.default_rng(3)
    labels = {f"u{i}": np.repeat([0, 1, 0], 20) for i in range(4)}
    references = ss.References.from_labels(labels, hop=HOP, spoof_label=1)

    def system(spread):
        frames = {name: 1 / (1 + np.exp(4 * one - 2 + spread * rng.normal(size=60))) for name, one in labels.items()}
        return ss.Scores.from_frames(frames, hop=HOP, higher="bonafide")

    return references, {"good": system(1.5), "bad": system(3.0)}


REFERENCES, SYSTEMS = corpus()
ONE = SYSTEMS["good"]
FIGURES = {
    "det": (SYSTEMS,),
    "roc": (SYSTEMS,),
    "threshold": (SYSTEMS,),
    "scores": (SYSTEMS,),
    "resolution": (SYSTEMS,),
    "boundary": (SYSTEMS,),
    "reliability": (SYSTEMS, "probability"),
    "pav": (SYSTEMS, "probability"),
    "tippett": (SYSTEMS, "probability"),
    "heatmap": (SYSTEMS,),
    "timeline": (ONE, "u1"),
    "measurement": (ONE, "u1"),
    "resampling": (ONE, "u1"),
}


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def plot(name, **how):
    if name in ("resolution", "heatmap"):
        how["resolutions"] = [0.02, 0.08]
    return getattr(ss.plot, name)(REFERENCES, *FIGURES[name], **how)


def texts_of(figure):
    figure.canvas.draw()
    return [text for text in figure.findobj(mpl.text.Text) if text.get_text() and text.get_visible()]


def test_every_figure_is_here():
    assert set(FIGURES) == set(ss.plot.__all__)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_axes_or_a_figure_that_pyplot_shows(name):
    drawn = plot(name)
    assert isinstance(drawn, Axes if name in ("det", "roc", "heatmap") else Figure)
    assert plt.get_fignums() == [drawn.figure.number]
    assert drawn.figure.get_figwidth() == mpl.rcParams["figure.figsize"][0]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_into_the_users_axes(name):
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    assert plot(name, ax=right) is right
    assert plt.get_fignums() == [figure.number]
    assert left.get_lines() == [] == left.child_axes
    inside = [right, *right.child_axes]
    assert any(one.get_lines() or one.collections or one.patches or one.images for one in inside)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tippett", "timeline", "measurement", "resampling"])
def test_panels_stay_within_the_users_axes(name):
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    plot(name, ax=right)
    figure.canvas.draw()
    assert len(right.child_axes) >= 2
    assert not any(one.get_tightbbox().overlaps(left.get_tightbbox()) for one in right.child_axes)


@pytest.mark.parametrize("name", ["threshold", "scores", "pav", "resolution"])
def test_panels_take_the_axes_of_an_array(name):
    _, axes = plt.subplots(1, 2)
    assert list(plot(name, ax=axes)) == list(axes)
    assert all(one.get_lines() or one.patches for one in axes)


@pytest.mark.slow  # type is measured by drawing it
@pytest.mark.parametrize("name", FIGURES)
def test_type_and_sizes_follow_the_users_settings(name):
    with mpl.rc_context({"font.size": 14.0, "font.family": "DejaVu Serif", "figure.figsize": (10.0, 4.0)}):
        large = plot(name).figure
        assert large.get_figwidth() == 10
    written = texts_of(large)
    assert {text.get_fontfamily()[0] for text in written} == {"DejaVu Serif"}
    assert min(text.get_fontsize() for text in written) >= 7  # what has 3.5 points in a type of 7


def test_curves_have_the_users_colours():
    with mpl.rc_context({"axes.prop_cycle": mpl.cycler(color=["#112233", "#445566"])}):
        ax = plot("det")
        assert [line.get_color() for line in ax.get_lines()[:3:2]] == ["#112233", "#445566"]
        lines = ss.plot.threshold(REFERENCES, ONE).get_lines()
    assert {"#112233", "#445566"} <= {line.get_color() for line in lines}


def test_a_style_is_used_for_one_figure():
    before = dict(mpl.rcParams)
    dark = ss.plot.det(REFERENCES, SYSTEMS, style="dark_background")
    ours = ss.plot.det(REFERENCES, SYSTEMS, style="spoofspan", width="page")
    both = ss.plot.det(REFERENCES, SYSTEMS, style=["spoofspan", {"font.size": 9}])
    assert dark.get_facecolor() == (0, 0, 0, 1)
    assert ours.xaxis.label.get_fontsize() == 7
    assert ours.figure.get_figwidth() * 25.4 == pytest.approx(170)
    assert both.figure.get_figwidth() * 25.4 == pytest.approx(80)
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"style": "darkbackground"}, "did you mean 'dark_background'"),
        ({"ax": 3}, "ax= must be matplotlib Axes"),
        ({"ax": []}, "ax= must be matplotlib Axes"),
        ({"width": "colum"}, "no width 'colum'"),
    ],
)
def test_what_cannot_be_drawn_on_is_refused_before_anything_is_measured(how, said):
    unpaired = ss.Scores.from_frames({"other": [0.1]}, hop=HOP, higher="bonafide")
    with pytest.raises(ss.UsageError, match=said):
        ss.plot.det(REFERENCES, {"a": unpaired}, **how)
    assert plt.get_fignums() == []


def test_axes_that_do_not_suffice_are_counted():
    _, axes = plt.subplots(1, 2)
    three = {"a": ONE, "b": ONE, "c": ONE}
    with pytest.raises(ss.UsageError, match="3 panels, and ax= 2"):
        ss.plot.scores(REFERENCES, three, ax=axes)
    with pytest.raises(ss.UsageError, match="leave it out beside ax="):
        ss.plot.det(REFERENCES, ONE, ax=axes[0], width=100)


def test_one_system_needs_no_dict_and_no_scores_object():
    frames = {f"u{i}": ONE.values[60 * i : 60 * i + 60] for i in range(4)}
    labels = {f"u{i}": np.repeat([0, 1, 0], 20) for i in range(4)}
    eer = f"EER {100 * ss.range_eer(REFERENCES, ONE).value:.2f} %"
    for references, systems in ((REFERENCES, ONE), (labels, frames), (labels, {"": frames})):
        how = {} if references is REFERENCES else {"hop": HOP, "higher": "bonafide", "spoof_label": 1}
        ax = ss.plot.det(references, systems, **how)
        assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == [eer]


def test_an_interval_is_that_of_interval():
    ax = ss.plot.det(REFERENCES, {"good": ONE}, confidence=0.8)
    found = ss.interval(REFERENCES, ONE, confidence=0.8)
    assert f"({100 * found.low:.2f} to {100 * found.high:.2f})" in ax.get_lines()[0].get_label()


def test_seeds_are_systems_of_their_own():
    ax = ss.plot.det(REFERENCES, {"a": {"1": ONE, "2": ONE}, "b": SYSTEMS["bad"]})
    assert [text.get_text().split(":")[0] for text in ax.figure.legends[0].get_texts()] == ["a/1", "a/2", "b"]


def test_a_table_is_drawn_as_it_is():
    table = ss.resolution_table(REFERENCES, SYSTEMS, [0.02, 0.04])
    ax = ss.plot.heatmap(table)
    drawn = [text.get_text() for text in ax.texts]
    assert drawn == [f"{100 * cell.value:.2f}" for row in table.rows for _, cell in row.eers]
    assert len(ss.plot.resolution(table).axes) == 2
    assert len(ss.plot.heatmap({"dev": table, "eval": table}).axes) == 3  # with the bar of colours
    with pytest.raises(ss.UsageError, match="leave it out"):
        ss.plot.heatmap(table, resolutions=[0.02])
    with pytest.raises(ss.UsageError, match=r"heatmap\(references, systems\)"):
        ss.plot.heatmap(REFERENCES)


def test_without_references_a_threshold_tells_what_is_called_spoof():
    figure = ss.plot.timeline(None, ONE, "u0", threshold=0.5)
    assert [label.get_text() for label in figure.axes[-1].get_yticklabels()] == ["decision"]
    with pytest.raises(ss.UsageError, match="give threshold="):
        ss.plot.timeline(None, ONE, "u0")


def test_a_timeline_needs_one_system_and_an_utterance():
    with pytest.raises(ss.UsageError, match="such as 'u0'"):
        ss.plot.timeline(REFERENCES, ONE)
    with pytest.raises(ss.UsageError, match="no utterance 'u9'"):
        ss.plot.timeline(REFERENCES, ONE, "u9")
    figure = ss.plot.timeline(REFERENCES, ONE, "u0", threshold=ss.range_eer(REFERENCES, ONE))
    again = ss.plot.timeline(REFERENCES, ONE, "u0", audio=(np.ones(8000), 8000))
    assert len(again.axes) == len(figure.axes) + 1


@pytest.mark.parametrize("name", FIGURES)
def test_the_signature_names_what_can_be_given(name):
    parameters = inspect.signature(getattr(ss.plot, name)).parameters
    assert {"ax", "style", "width"} <= set(parameters)
    assert "canvas" not in parameters


def test_an_outlier_does_not_flatten_a_timeline():
    values = np.linspace(0.2, 0.8, 60)
    values[30] = 50.0
    scores = ss.Scores.from_frames({"u1": values}, hop=HOP, higher="bonafide")
    panel = ss.plot.timeline(None, scores, "u1", threshold=0.5).axes[0]
    low, high = panel.get_ylim()
    assert 0 < low < 0.2
    assert 0.8 < high < 1
    (mark,) = [line for line in panel.lines if line.get_marker() == "^"]
    assert mark.get_xdata().tolist() == pytest.approx([30.5 * HOP])


@pytest.mark.parametrize("name", ["threshold", "scores"])
def test_an_outlier_does_not_squeeze_all_others(name):
    values = np.concatenate([np.random.default_rng(5).normal(0, 1, 998), [4000.0, -1e6]])
    references = ss.References.from_labels({"u": np.tile([0, 1], 500)}, hop=HOP, spoof_label=1)
    ax = getattr(ss.plot, name)(references, ss.Scores.from_frames({"u": values}, hop=HOP, higher="bonafide"))
    low, high = ax.get_xlim()
    assert -12 < low < -2 < 2 < high < 12


@pytest.mark.parametrize("name", ["resolution", "heatmap"])
def test_forty_systems_fit_on_a_page(name):
    forty = {f"{key}{i}": one for i in range(20) for key, one in SYSTEMS.items()}
    drawn = getattr(ss.plot, name)(REFERENCES, forty, resolutions=[0.02], style="spoofspan", width="page")
    assert drawn.figure.get_figheight() < 245 / 25.4
