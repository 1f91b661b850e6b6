"""Event measures: were the spoofed ranges found, and where do they begin and end.

Read ``event_scores`` first: it states the definitions and has every event measure, as a function and by its entry in
the catalogue. ``matching`` finds overlapping pairs, matches proposals with events by confidence and has AP and AR,
``found_events`` has the measures of collars, of intersection and of all thresholds, ``spoof_ranges`` takes the events
from references, and ``proposals_from_scores`` makes proposals of scores.

May import ``base``, ``data``, ``mass`` and the rest of ``measures``.
"""
