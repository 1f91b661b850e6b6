"""Results for eyes: tables, figures and a page.

::

    table.py               one table, five spellings: text, Markdown, LaTeX, CSV, HTML      <- read this first
    cells.py               what stands in heads and cells: names of measures, intervals, differences, p-values
    results.py             evaluations, crossed breakdowns, checks, calibrations and benchmarks as tables; errors by
                           utterance as files
    verdicts.py            comparisons, ranks, seeds, groups and sizes of test sets as tables
    resolutions.py         the paper's Tables 3 and 4
    published.py           a system among published numbers; register/: these numbers, a file for each row
    palette.py             the colours of pages and figures
    figures/               figures for a paper: their data, and matplotlib drawings of them
    page/                  one HTML file that shows where systems err

May import ``base``, ``data``, ``mass``, ``measures``, ``evaluation``, ``uncertainty`` and ``formats``.
"""

from spoofspan.base.lazy import lazy_names

__getattr__, __dir__ = lazy_names("spoofspan.report", {"figures": "figure_data"})
