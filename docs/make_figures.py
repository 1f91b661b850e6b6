"""Draw the pictures of figures.md and tables.md: ``python docs/make_figures.py`` (needs matplotlib)."""

from __future__ import annotations

import io
from pathlib import Path

import spoofspan as ss
import spoofspan.demo
from spoofspan.report.figures import figure_data as data
from spoofspan.report.figures import system_figures as figures
from spoofspan.report.figures import utterance_figures as timeline_figures
from spoofspan.report.figures.heatmap import draw_heatmap
from spoofspan.report.figures.utterance_data import measurement_data, resampling_data, timeline_data
from spoofspan.uncertainty import interval

FOLDER = Path(__file__).with_name("figures")
DPI = 120  # enough for a screen
UTTERANCE = "CON_E_0000059"


def main() -> None:
    """Draw all of them."""
    corpus = spoofspan.demo.load()
    references, systems = corpus.references, corpus.systems
    curves = [
        data.system_curve(
            references,
            systems[hop],
            f"{1000 * hop:g} ms",
            interval=interval(references, systems[hop], method="percentile"),
        )
        for hop in (0.02, 0.32)
    ]
    fine = curves[0]
    table = ss.resolution_table(references, systems)
    at = fine.eer.threshold
    pictures = {
        "det": figures.draw_det([data.det_data(one) for one in curves]),
        "roc": figures.draw_roc([data.det_data(one) for one in curves]),
        "threshold": figures.draw_threshold([data.threshold_data(fine)]),
        "scores": figures.draw_scores([data.score_data(fine)]),
        "resolution": figures.draw_resolution(data.resolution_data(table)),
        "boundary": figures.draw_boundary(
            [data.boundary_data(references, systems[hop], f"{1000 * hop:g} ms") for hop in (0.02, 0.32)]
        ),
        "reliability": figures.draw_reliability([data.reliability_data(one, "llr") for one in curves]),
        "pav": figures.draw_pav([data.pav_data(one, "llr") for one in curves]),
        "tippett": figures.draw_tippett([data.tippett_data(one, "llr") for one in curves]),
        "timeline": timeline_figures.draw_timeline(timeline_data(references, systems[0.02], UTTERANCE, at)),
        "measurement": timeline_figures.draw_measurement(
            measurement_data(references, systems[0.16], UTTERANCE, 0.16, at)
        ),
        "resampling": timeline_figures.draw_resampling(
            resampling_data(references, systems[0.16], UTTERANCE, [0.08, 0.32], at)
        ),
        "heatmap": draw_heatmap({"": table}),
    }
    FOLDER.mkdir(exist_ok=True)
    for name, figure in pictures.items():
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
        (FOLDER / f"{name}.png").write_bytes(buffer.getvalue())


if __name__ == "__main__":
    main()
