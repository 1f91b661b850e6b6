"""Showing results: tables as text, Markdown, LaTeX and CSV."""
