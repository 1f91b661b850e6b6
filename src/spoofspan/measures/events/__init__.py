"""Event measures: were the spoofed ranges found, and where do they begin and end.

Read ``event_scores`` first: it states the definitions and has every event measure, as a function and by its entry in
the catalogue. ``average_precision`` matches proposals with events by confidence and has AP and AR, ``matching`` finds
overlapping pairs and matches them greedily, ``spoof_ranges`` takes the events from references, and
``proposals_from_scores`` makes proposals of scores.

May import ``base``, ``data``, ``mass`` and the rest of ``measures``.
"""
