"""One HTML file that shows where a system errs: it opens from disk, and asks nothing of the network."""

from spoofspan.report.page.content import PageSettings, page_content
from spoofspan.report.page.rendering import render_page

__all__ = ["PageSettings", "page_content", "render_page"]
