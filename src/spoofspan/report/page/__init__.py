"""One HTML file that shows where systems err: it opens from disk, and asks nothing of the network.

::

    content.py      what a page shows, as plain data: measurements, curves, breakdowns       <- read this first
    timelines.py    which utterances are shown, and their labels and scores
    audio.py        their sound, linked from the page or put into it
    report_file.py  the page as a file, from Python: ``write_report``
    rendering.py    plain data -> HTML, by the template, script and style in assets/

May import what :mod:`spoofspan.report` may.
"""

from spoofspan.report.page.content import PageSettings, page_content
from spoofspan.report.page.rendering import render_page

__all__ = ["PageSettings", "page_content", "render_page"]
