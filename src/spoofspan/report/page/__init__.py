"""One HTML file that shows where systems err: it opens from disk, and asks nothing of the network.

::

    content.py             what a page shows, as plain data: its sections and what each needs    <- read this first
    timelines.py           which utterances are shown, and their labels and scores
    audio.py               their sound, linked from the page or put into it, and drawn
    packing.py             arrays as text in a page
    publishing.py          what may be shown while labels stay hidden
    page_table.py          a table that sorts, filters, and leaves as CSV or LaTeX; for any page
    report_tables.py       the tables of the report
    report_file.py         the page as a file, from Python: ``write_report``
    scores_page.py         the page of scores without references
    rendering.py           plain data -> HTML, by the templates, scripts and styles in assets/; for any page

May import what :mod:`spoofspan.report` may.
"""

from spoofspan.report.page.content import PageSettings, page_content
from spoofspan.report.page.rendering import render_page

__all__ = ["PageSettings", "page_content", "render_page"]
