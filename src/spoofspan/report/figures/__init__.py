"""Figures for a paper: what they show, as numbers, and matplotlib drawings of it.

::

    plots.py                  every figure in one call, ``ss.plot.det`` and others             <- read this first
    figure_data.py            data of figures of systems: ``det_data`` and others
    system_figures.py         their drawings: ``draw_det`` and others
    utterance_data.py         data of figures of one utterance: ``timeline_data`` and others
    utterance_figures.py      their drawings: ``draw_timeline`` and others
    heatmap.py                a resolution table, or a crossed breakdown, as a heat map
    style.py                  what all figures share: styles, the canvas, widths, files
    line_simplification.py    curves thinned to what can be seen

Data and drawing are apart, so that a figure can be checked, stored as JSON, or drawn by something else. Needs
matplotlib for drawing only: ``pip install 'spoofspan[plot]'``. May import what :mod:`spoofspan.report` may.
"""

from spoofspan.base.lazy import lazy_names

__getattr__, __dir__ = lazy_names(
    "spoofspan.report.figures",
    {
        "figure_data": "boundary_data det_data pav_data plain reliability_data resolution_data score_data "
        "system_curve threshold_data tippett_data",
        "utterance_data": "measurement_data points_data resampling_data timeline_data",
        "heatmap": "heatmap_data",
    },
)
