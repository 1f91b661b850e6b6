"""Event measures as functions; they live in :mod:`spoofspan.measures.events`."""

from spoofspan.measures.events.event_scores import *  # noqa: F403
