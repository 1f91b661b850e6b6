"""Formats of text: references (RTTM, HAD, ...), scores of frames and of utterances, durations, protocols, regions.

Read first: ``lines.py``, the one reader of lines, and ``rows.py``, which makes References of what the lines say. A
format states its fields, its checks and its messages. ``json_text.py`` reads and writes JSON. ``fields.py`` beside
this package is the fast way into large regular files; what it declines is read line by line. May import ``base``,
``data``, the front door of ``formats`` and ``formats.tables``; ``json_objects.py`` also ``formats.arrays``.
"""
