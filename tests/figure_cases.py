"""One of each figure, from the demo corpus. ``python tests/figure_cases.py`` remakes their snapshots.

Snapshots are values our own code wrote: they show that a figure changed, not that it is right. Look at them
when they do. They are small pictures in ``golden/figures``, and ``matplotlib.txt`` says which version drew them.
"""

import io
from functools import cache
from pathlib import Path

import numpy as np

import spoofspan as ss
import spoofspan.demo
from spoofspan.report.figures import figure_data as data
from spoofspan.report.figures.utterance_data import measurement_data, resampling_data, timeline_data

FOLDER = Path(__file__).parent / "golden" / "figures"
VERSION = FOLDER / "matplotlib.txt"
DPI = 50
UTTERANCE = "CON_E_0000059"
NAMES = ("det", "threshold", "scores", "resolution", "boundary", "timeline", "measurement", "resampling", "heatmap")
NAMES += ("reliability", "pav", "tippett", "roc", "fine_measurement", "fine_resampling")


@cache
def prepared():
    """The data of all figures, by name, each with the function that draws it."""
    from spoofspan.report.figures import system_figures as figures
    from spoofspan.report.figures import utterance_figures as timeline_figures
    from spoofspan.report.figures.heatmap import draw_heatmap

    corpus = spoofspan.demo.load()
    references, systems = corpus.references, corpus.systems
    interval = ss.interval(references, systems[0.02], replicates=200, seed=1, method="percentile")
    fine = data.system_curve(references, systems[0.02], "20 ms", interval=interval)
    coarse = data.system_curve(references, systems[0.32], "320 ms")
    table = ss.resolution_table(references, {hop: systems[hop] for hop in (0.02, 0.16)}, [0.01, 0.02, 0.16, 0.64])
    near = [data.boundary_data(references, systems[hop], f"{1000 * hop:g} ms") for hop in (0.02, 0.32)]
    wave = np.sin(np.arange(25_000) / 40) * np.hanning(25_000)
    one = timeline_data(references, systems[0.02], UTTERANCE, fine.eer.threshold, samples=wave, sample_rate=16_000)
    return {
        "det": (figures.draw_det, [data.det_data(fine), data.det_data(coarse)]),
        "roc": (figures.draw_roc, [data.det_data(fine), data.det_data(coarse)]),
        "threshold": (figures.draw_threshold, [data.threshold_data(fine), data.threshold_data(coarse)]),
        "scores": (figures.draw_scores, [data.score_data(fine), data.score_data(coarse)]),
        "resolution": (figures.draw_resolution, data.resolution_data(table)),
        "boundary": (figures.draw_boundary, near),
        "timeline": (timeline_figures.draw_timeline, one),
        "measurement": (
            timeline_figures.draw_measurement,
            measurement_data(references, systems[0.16], UTTERANCE, 0.16, 0.1),
        ),
        "resampling": (
            timeline_figures.draw_resampling,
            resampling_data(references, systems[0.16], UTTERANCE, [0.08, 0.32], 0.1),
        ),
        # at 10 ms a point is narrower than a frame around it
        "fine_measurement": (
            timeline_figures.draw_measurement,
            measurement_data(references, systems[0.02], UTTERANCE, 0.01, fine.eer.threshold),
        ),
        "fine_resampling": (
            timeline_figures.draw_resampling,
            resampling_data(references, systems[0.02], UTTERANCE, [0.01, 0.04, 0.16], fine.eer.threshold),
        ),
        "heatmap": (draw_heatmap, {"dev": table, "eval": table}),
        "reliability": (
            figures.draw_reliability,
            [data.reliability_data(one, "llr") for one in (fine, coarse)],
        ),
        "pav": (figures.draw_pav, [data.pav_data(one, "llr") for one in (fine, coarse)]),
        "tippett": (figures.draw_tippett, [data.tippett_data(one, "llr") for one in (fine, coarse)]),
    }


def figure_of(function, content, width="column"):
    """A figure of its own in the style of ``spoofspan plot``, unknown to pyplot."""
    from matplotlib import pyplot as plt
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from spoofspan.report.figures.style import OURS, canvas_in

    with canvas_in(None, OURS, width, "column") as canvas:
        figure = function(content, canvas).figure
    plt.close(figure)
    FigureCanvasAgg(figure)
    return figure


def draw(name, width):
    """One of the figures, drawn anew."""
    return figure_of(*prepared()[name], width)


@cache
def drawn(name, width):
    """One of the figures, to be looked at only."""
    return draw(name, width)


def picture(figure):
    """A small picture as it is kept."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    return buffer.getvalue()


def minor_version():
    """Of matplotlib."""
    import matplotlib as mpl

    return ".".join(mpl.__version__.split(".")[:2])


def main():
    """Remake all snapshots."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        for width in ("column", "page"):
            (FOLDER / f"{name}_{width}.png").write_bytes(picture(draw(name, width)))
    VERSION.write_text(minor_version() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
