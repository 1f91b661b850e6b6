"""Figures: what is drawn is the data, nothing is cut off, text stays text, and pictures look as they did."""

import io
import re
import struct
import sys
import wave
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner

import spoofspan as ss
from spoofspan.cli import app
from spoofspan.formats.text import frame_lines, rttm
from spoofspan.formats.text.durations import reco2dur_lines
from spoofspan.report.figures import style as drawing

pytest.importorskip("matplotlib", reason="figures need matplotlib: pip install 'spoofspan[plot]'")
import figure_cases as cases
from matplotlib import pyplot as plt
from matplotlib.image import imread

WIDTHS = ("column", "page")
MEAN, MOST = 0.0015, 0.15  # how much a picture may differ from its snapshot, where 1 is black against white
ALL = [(name, width) for name in cases.NAMES for width in WIDTHS]
pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def lines_of(axes, label):
    """The line of a label."""
    (line,) = [one for one in axes.get_lines() if str(one.get_label()).startswith(label)]
    return line


# ---------------------------------------------------------------- what is drawn is the data


def test_the_points_of_a_det_curve_are_on_the_exact_curve():
    import spoofspan.demo

    corpus = spoofspan.demo.load()
    curve = ss.error_curve(corpus.references, corpus.systems[0.02])
    exact = set(zip(curve.false_positive_rates.tolist(), curve.false_negative_rates.tolist(), strict=True))
    (axes,) = cases.drawn("det", "column").axes
    line = lines_of(axes, "20 ms")
    assert len(line.get_xdata()) > 20
    assert set(zip(line.get_xdata().tolist(), line.get_ydata().tolist(), strict=True)) <= exact
    measured = ss.range_eer(corpus.references, corpus.systems[0.02])
    dots = [one for one in axes.get_lines() if one.get_marker() == "o"]
    assert (dots[0].get_xdata()[0], dots[0].get_ydata()[0]) == (measured.value, measured.value)
    interval = cases.prepared()["det"][1][0]
    bars = [one for one in axes.get_lines() if one.get_linewidth() == 4]
    assert [one.get_xdata().tolist() for one in bars] == [[interval.low, interval.high]]
    assert f"{100 * interval.low:.2f} to {100 * interval.high:.2f}" in line.get_label()


def test_normal_deviate_axes_make_normal_scores_a_straight_line():
    (axes,) = cases.drawn("det", "column").axes
    places = axes.transData.transform([[0.02275013, 0.1], [0.15865525, 0.1], [0.5, 0.1]])[:, 0]  # deviates -2, -1, 0
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], rel=1e-5)


def test_rates_over_the_threshold_are_drawn_in_per_cent():
    system = cases.prepared()["threshold"][1][0]
    axes = cases.drawn("threshold", "page").axes[0]
    for line, name in ((system.false_positive, "FPR"), (system.false_negative, "FNR")):
        drawn = lines_of(axes, name)
        np.testing.assert_array_equal(drawn.get_xdata(), line.x)
        np.testing.assert_array_equal(drawn.get_ydata(), 100 * line.y)
    dot = lines_of(axes, "EER")
    assert (dot.get_xdata()[0], dot.get_ydata()[0]) == (system.threshold, 100 * system.eer)


def test_scores_are_drawn_as_steps_of_both_classes():
    from matplotlib.patches import StepPatch

    system = cases.prepared()["scores"][1][0]
    axes = cases.drawn("scores", "column").axes[0]
    drawn = {one.get_label(): one.get_data() for one in axes.patches if isinstance(one, StepPatch)}
    np.testing.assert_array_equal(drawn["bona fide"].values, 100 * system.bona_fide)
    np.testing.assert_array_equal(drawn["spoof"].values, 100 * system.spoof)
    np.testing.assert_array_equal(drawn["spoof"].edges, system.edges)


def test_a_panel_of_resolutions_has_the_tables_numbers():
    rows = cases.prepared()["resolution"][1]
    panels = cases.drawn("resolution", "page").axes
    for axes, row in zip(panels, rows, strict=True):
        points = lines_of(axes, "point EER")
        np.testing.assert_array_equal(points.get_xdata(), 1000 * row.resolutions)
        np.testing.assert_array_equal(points.get_ydata(), 100 * row.point_eers)
        assert set(lines_of(axes, "range EER").get_ydata()) == {100 * row.range_eer}
        assert set(lines_of(axes, "floor").get_ydata()) == {100 * row.floor}


def test_error_near_boundaries_is_drawn_from_zero_on():
    system = cases.prepared()["boundary"][1][1]
    shares, rest = cases.drawn("boundary", "page").axes
    np.testing.assert_array_equal(lines_of(shares, "error of 320").get_ydata(), [0, *(100 * system.share_of_error)])
    np.testing.assert_array_equal(lines_of(rest, "320").get_ydata(), [100 * system.eer, *(100 * system.eer_outside)])


def boxes(axes, row):
    """Start and end of the boxes around a row."""
    found = []
    for collection in axes.collections:
        for path in collection.get_paths():
            box = path.get_extents()
            if abs((box.y0 + box.y1) / 2 - row) < 1e-9:
                found.append((box.x0, box.x1))
    return sorted(found)


def test_the_boxes_of_a_timeline_are_its_stretches():
    one = cases.prepared()["timeline"][1]
    *_, scores, bars = cases.drawn("timeline", "page").axes
    for row, stretches in ((0, one.errors), (1, one.decision), (2, one.reference)):
        np.testing.assert_allclose(boxes(bars, row), [(stretch.start, stretch.end) for stretch in stretches])
    line = scores.get_lines()[0]
    np.testing.assert_array_equal(line.get_ydata()[:-1], one.scores)
    np.testing.assert_array_equal(line.get_xdata()[:-1], one.score_starts)


def test_points_and_ranges_are_both_drawn():
    one = cases.prepared()["measurement"][1]
    above, below = cases.drawn("measurement", "column").axes
    np.testing.assert_allclose(boxes(above, 2), np.stack((one.points.starts, one.points.ends), axis=1), atol=1e-12)
    np.testing.assert_allclose(boxes(below, 2), [(stretch.start, stretch.end) for stretch in one.ranges.reference])
    assert f"FP {one.points.count('false_positive')} of" in above.get_title(loc="left")


@pytest.mark.parametrize("width", ["column", "page"])
def test_points_too_narrow_for_a_frame_are_drawn_as_what_they_add_up_to(width):
    one = cases.prepared()["fine_measurement"][1]
    above, below = cases.drawn("fine_measurement", width).axes
    drawn = boxes(above, 2)
    assert len(drawn) < 10 < len(one.points.labels)
    assert (drawn[0][0], drawn[-1][1]) == (one.points.starts[0], one.points.ends[-1])
    changes = 1 + sum(a != b for a, b in pairwise(one.points.labels))
    assert len(drawn) == changes
    assert len(boxes(below, 2)) == len(one.ranges.reference)


@pytest.mark.parametrize("draw", ["draw_threshold", "draw_scores", "draw_reliability", "draw_pav", "draw_tippett"])
@pytest.mark.parametrize("count", [2, 12, 40])
def test_panels_of_many_systems_fit_on_a_page(draw, count):
    function, content = cases.prepared()[draw.removeprefix("draw_")]
    figure = cases.figure_of(function, [content[i % 2] for i in range(count)], "page")
    assert sum(axes.get_visible() for axes in figure.axes) == count
    assert figure.get_size_inches()[1] * 25.4 <= 240


def test_a_legend_of_forty_systems_leaves_room_for_the_curve():
    function, content = cases.prepared()["det"]
    figure = cases.figure_of(function, [content[i % 2] for i in range(40)], "page")
    figure.canvas.draw()
    (axes,) = figure.axes
    box = axes.get_window_extent()
    assert box.width == pytest.approx(box.height, rel=0.01)
    assert box.width > 0.4 * figure.bbox.width


@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize("count", [3, 6, 12, 40])
def test_a_legend_of_many_systems_hides_no_error_near_boundaries(width, count):
    function, content = cases.prepared()["boundary"]
    figure = cases.figure_of(function, [content[i % len(content)] for i in range(count)], width)
    figure.canvas.draw()
    (legend,) = figure.legends
    assert len(legend.get_texts()) == count + 1
    assert all(axes.get_legend() is None and axes.bbox.height > 0.2 * figure.bbox.height for axes in figure.axes)
    box = legend.get_window_extent()
    assert not any(box.overlaps(axes.get_tightbbox()) for axes in figure.axes)
    assert box.y0 >= 0
    assert box.y1 <= figure.bbox.height


def test_every_level_of_a_resampling_figure_says_its_errors():
    one = cases.prepared()["resampling"][1]
    texts = [text.get_text() for axes in cases.drawn("resampling", "page").axes for text in axes.texts]
    for level in (one.native, *one.finer, *one.coarser):
        assert any(f"FP {level.count('false_positive')} of" in text for text in texts)


def test_the_heat_map_shows_the_table():
    tables = cases.prepared()["heatmap"][1]
    panels = cases.drawn("heatmap", "page").axes[:2]
    for axes, table in zip(panels, tables.values(), strict=True):
        values = [[100 * cell.value for _, cell in row.cells] for row in table.rows]
        np.testing.assert_array_equal(np.concatenate([one.get_array() for one in axes.images], axis=1), values)
        assert [text.get_text() for text in axes.texts] == [f"{one:.2f}" for row in values for one in row]
        hatched = [one for one in axes.patches if one.get_hatch()]
        coarser = sum(row.is_coarser(one) for row in table.rows for one in table.resolutions)
        assert len(hatched) == coarser
        assert len(axes.patches) - coarser == len(table.rows)  # each row has its own resolution


# ---------------------------------------------------------------- paper


@pytest.mark.slow
def test_text_stays_text_and_equal_figures_are_equal_files():
    svg, pdf = (drawing.to_bytes(cases.draw("scores", "column"), kind) for kind in ("svg", "pdf"))
    assert b">EER threshold</text>" in svg
    assert b"/FontFile2" in pdf  # TrueType, whole
    assert b"/Type3" not in pdf
    assert drawing.to_bytes(cases.draw("scores", "column"), "svg") == svg
    assert drawing.to_bytes(cases.draw("scores", "column"), "pdf") == pdf


def test_drawing_leaves_matplotlibs_settings_alone():
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 31}):
        cases.draw("scores", "column")
        assert mpl.rcParams["font.size"] == 31


def test_systems_differ_in_colour_and_in_line():
    looks = [look for look, _ in zip(drawing.system_looks(), range(12), strict=False)]
    assert len({(look["color"], str(look["linestyle"])) for look in looks}) == 12
    assert len({look["color"] for look in looks[:6]}) == 6
    assert len({str(look["linestyle"]) for look in looks[:6]}) == 6


@pytest.mark.parametrize("width", ["colum", "-3", "20000"])
def test_widths_nobody_prints_are_refused(width):
    with pytest.raises(ss.UsageError, match="width"):
        drawing.in_mm(width)


def test_a_figure_of_nothing_is_refused():
    references = ss.References.from_ranges({"u": [(0.0, 0.04, "bonafide"), (0.04, 0.08, "spoof")]})
    with pytest.raises(ss.UsageError, match="at least one system"):
        ss.plot.det(references, {})


def test_without_matplotlib_the_command_to_install_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ss.UsageError, match=r"pip install 'spoofspan\[plot\]'"):
        drawing.must_be_drawable(tmp_path / "a.png")


# ---------------------------------------------------------------- snapshots


def read(content):
    return imread(io.BytesIO(content), format="png")


def small(picture):
    """A picture in blocks of 5 by 5 points, without colours that cannot be seen through: fonts may move by a little."""
    opaque = picture[..., :3] * picture[..., 3:] + 1 - picture[..., 3:]
    rows, columns = (size // 5 * 5 for size in opaque.shape[:2])
    return opaque[:rows, :columns].reshape(rows // 5, 5, columns // 5, 5, 3).mean(axis=(1, 3))


def labels_in_view(axis):
    """Tick labels that are drawn: those between the limits."""
    low, high = sorted(axis.get_view_interval())
    return [one.label1 for one in axis.get_major_ticks() if low <= one.get_loc() <= high and one.label1.get_visible()]


def assert_nothing_is_cut_off(figure):
    texts = list(figure.legends)
    for axes in figure.axes:
        texts += [*axes.texts, axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label]
        texts += labels_in_view(axes.xaxis) + labels_in_view(axes.yaxis)
    inside = figure.bbox.padded(1.0)
    for box in (one.get_window_extent() for one in texts if one.get_visible()):
        if box.width:
            assert inside.x0 <= box.x0
            assert box.x1 <= inside.x1
            assert inside.y0 <= box.y0
            assert box.y1 <= inside.y1


@pytest.mark.parametrize(("name", "width"), ALL)
def test_figures_look_as_they_did_and_nothing_is_cut_off(name, width):
    figure = cases.draw(name, width)
    assert figure.get_figwidth() * 25.4 == pytest.approx(drawing.WIDTHS[width])
    now = small(read(cases.picture(figure)))
    with drawing.style():
        figure.draw_without_rendering()
        assert_nothing_is_cut_off(figure)
    drawn_by = cases.VERSION.read_text(encoding="utf-8").strip()
    if cases.minor_version() != drawn_by:
        pytest.skip(f"the snapshots were drawn by matplotlib {drawn_by}, this is {cases.minor_version()}")
    kept = small(imread(cases.FOLDER / f"{name}_{width}.png"))
    assert now.shape == kept.shape
    difference = np.abs(now - kept)
    assert difference.mean() < MEAN
    assert difference.max() < MOST


def test_the_comparison_notices_a_change():
    kept = small(imread(cases.FOLDER / "det_column.png"))
    other = cases.draw("det", "column")
    other.axes[0].get_lines()[0].set_ydata(0.9 * other.axes[0].get_lines()[0].get_ydata())
    difference = np.abs(small(read(cases.picture(other))) - kept)
    assert difference.max() >= MOST or difference.mean() >= MEAN


# ---------------------------------------------------------------- the command line


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import spoofspan.demo

    corpus = spoofspan.demo.load()
    folder = tmp_path_factory.mktemp("files")
    (folder / "ref.rttm").write_bytes(b"".join(rttm.write(corpus.references)))
    (folder / "reco2dur").write_bytes(b"".join(reco2dur_lines(corpus.references)))
    for hop in (0.16, 0.32):
        (folder / f"unit{hop}.score").write_bytes(b"".join(frame_lines.FORMATS[0].write(corpus.systems[hop])))
    with wave.open(str(folder / "a.wav"), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(b"".join(struct.pack("<hh", i % 1000, 0) for i in range(4000)))
    return folder


def run(folder, kind, *arguments):
    typed = ["plot", kind, folder / "ref.rttm", *arguments, "--durations", folder / "reco2dur"]
    return CliRunner().invoke(app, [str(one) for one in typed])


ONE = ["--utterance", cases.UTTERANCE]


@pytest.mark.parametrize(
    ("kind", "scores", "flags"),
    [
        ("det", ["ours={}/unit0.16.score", "{}/unit0.32.score"], ["--confidence", "0.8", "--replicates", "50"]),
        ("det", ["{}/unit0.16.score"], ["--resolution", "160"]),
        ("threshold", ["{}"], ["--width", "page"]),
        ("scores", ["{}/unit0.16.score"], ["--width", "100"]),
        ("resolution", ["ours={}/unit{{resolution}}.score"], ["--resolutions", "160,320"]),
        ("boundary", ["a={}/unit0.16.score", "b={}/unit0.32.score"], []),
        ("reliability", ["a={}/unit0.16.score", "b={}/unit0.32.score"], ["--scores-are", "llr", "--bins", "5"]),
        ("pav", ["a={}/unit0.16.score"], ["--scores-are", "llr"]),
        ("tippett", ["a={}/unit0.16.score"], ["--scores-are", "llr", "--resolution", "160"]),
        ("timeline", ["{}/unit0.16.score"], [*ONE, "--audio", "{}/a.wav"]),
        ("measurement", ["{}/unit0.16.score"], [*ONE, "--resolution", "80", "--threshold", "0.1"]),
        ("resampling", ["{}/unit0.16.score"], [*ONE, "--resolutions", "80,640"]),
    ],
)
def test_every_figure_can_be_drawn_from_files(folder, tmp_path, kind, scores, flags):
    out = tmp_path / "figure.svg"
    arguments = [one.format(folder) for one in (*scores, *flags)]
    done = run(folder, kind, *arguments, "--out", out)
    assert done.exit_code == 0, (done.output, done.exception)
    assert done.stdout == ""
    text = out.read_text(encoding="utf-8")
    for name in re.findall(r"^(\w+)=", "\n".join(scores), re.M):
        assert f">{name}" in text or f"of {name}<" in text


@pytest.mark.parametrize(
    ("kind", "arguments", "said"),
    [
        ("det", ["{}/unit0.16.score", "--utterance", "x"], "--utterance means nothing to det"),
        ("scores", ["{}/unit0.16.score", "--confidence", "0.9"], "--confidence means nothing to scores"),
        ("pav", ["{}/unit0.16.score"], "--scores-are llr or probability"),
        ("reliability", ["{}/unit0.16.score", "--scores-are", "probability"], "no probabilities"),
        ("det", ["{}/unit0.16.score", "--prior", "0.1"], "--prior means nothing to det"),
        ("timeline", ["{}/unit0.16.score"], "give utterance= (--utterance), such as"),
        ("timeline", ["{}", *ONE], "one file of scores, not 2"),
        ("timeline", ["{}/unit0.16.score", *ONE, "--audio", "{}/reco2dur"], "cannot be read as a WAV file"),
        ("timeline", ["{}/unit0.16.score", "--utterance", "x"], "no utterance 'x'"),
        ("det", ["{}/unit0.16.score", "--width", "wide"], "no width 'wide'"),
        ("det", [], "give REFERENCES and SCORES"),
        ("det", ["{}/unit0.16.score", "--resolution", "20,40"], "points of one resolution"),
    ],
)
def test_what_is_typed_wrong_is_answered(folder, tmp_path, kind, arguments, said):
    done = run(folder, kind, *(one.format(folder) for one in arguments), "--out", tmp_path / "figure.png")
    assert isinstance(done.exception, ss.UsageError), (done.output, done.exception)
    assert said in str(done.exception)
    assert not (tmp_path / "figure.png").exists()


def test_figures_are_not_written_over_other_files(folder, tmp_path):
    taken = tmp_path / "a.png"
    taken.write_text("mine")
    done = run(folder, "scores", folder / "unit0.32.score", "--out", taken)
    assert "--force" in str(done.exception)
    assert taken.read_text() == "mine"
    assert ".png, .svg, .pdf" in str(run(folder, "scores", folder / "unit0.32.score", "--out", "a.jpg").exception)


def test_a_table_draws_its_heat_map(folder, tmp_path):
    out = tmp_path / "table.png"
    typed = [
        "table",
        folder / "ref.rttm",
        folder,
        "--durations",
        folder / "reco2dur",
        "--resolutions",
        "160",
        "--heatmap",
        out,
    ]
    done = CliRunner().invoke(app, [str(one) for one in typed])
    assert done.exit_code == 0, (done.output, done.exception)
    assert imread(out).shape[1] == pytest.approx(80 / 25.4 * 300, abs=1)


@pytest.mark.parametrize(
    ("frames", "higher"),
    [
        ([0.9, 0.8, 0.2, 0.1], "bonafide"),
        ([0.9, 0.8, 0.2, 0.1], "spoof"),
        ([0.5, 0.5, 0.5, 0.5], "spoof"),
        ([np.inf, 0.5, 0.5, -np.inf], "bonafide"),
        ([1e300, 1.0, -1.0, -1e300], "bonafide"),
    ],
    ids=["perfect", "reversed", "one score", "infinite", "huge"],
)
def test_odd_systems_can_be_drawn(frames, higher):
    references = ss.References.from_ranges({"u": [(0.0, 0.04, "bonafide"), (0.04, 0.08, "spoof")]})
    scores = ss.Scores.from_frames({"u": frames}, hop=0.02, higher=higher)
    drawn = [plot(references, scores) for plot in (ss.plot.det, ss.plot.threshold, ss.plot.scores)]
    for one in (*drawn, ss.plot.timeline(references, scores, "u", threshold=0.5)):
        one.figure.savefig(io.BytesIO(), format="png", dpi=30)


def test_numbers_on_a_heat_map_can_be_read_and_high_values_still_differ():
    import matplotlib as mpl
    from matplotlib.colors import to_rgb

    from spoofspan.evaluation.crossed import POOLED, CrossedBreakdown, CrossedCell
    from spoofspan.report.palette import contrast

    names = tuple(f"A{number:02d}" for number in range(1, 20))
    columns = (POOLED, "opus")
    cells = {(row, column): CrossedCell(0.8 + 0.01 * i, 1, 1) for i, row in enumerate(names) for column in columns}
    crossed = CrossedBreakdown(("attack", "codec"), "utterance-auc", "utterances", names, columns, cells)
    axes = ss.plot.heatmap(crossed, style="spoofspan")
    (image,) = axes.images
    assert image.get_clim() == pytest.approx((0.8, 1.045))  # over a quarter of the highest
    assert len(axes.texts) == len(cells)
    for text in axes.texts:
        face = mpl.colormaps["cividis"](image.norm(0.8 + 0.01 * text.get_position()[1]))
        assert contrast(to_rgb(text.get_color()), face[:3]) >= 4.5
