"""One HTML file that shows where systems err: it opens from disk, and asks nothing of the network.

::

    content.py             what a page shows, as plain data: its sections and what each needs    <- read this first
    timelines.py           which utterances are shown, and their labels and scores
    audio.py               their sound, linked from the page or put into it, and drawn
    publishing.py          what may be shown while labels stay hidden
    report_page.py         the page of the report: first paragraph, tables, charts; from Python ``write_report``
    scores_page.py         the page of scores without references
    rendering.py           parts of any page: arrays, tables, plain data -> HTML by the templates, scripts and styles in
                           assets/

May import what :mod:`spoofspan.report` may.
"""

from spoofspan.report.page.content import PageSettings, page_content
from spoofspan.report.page.report_page import render_page

__all__ = ["PageSettings", "page_content", "render_page"]
