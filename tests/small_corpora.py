"""Corpora of a few frames, written so that a person can add them up."""

from collections import Counter

import numpy as np

import spoofspan as ss

MS = 10**6


def references_of(*utterances, durations=None, **rules):
    """Each utterance is a list of (end in ms, label); ranges touch each other."""
    ranges, lengths = {}, {}
    for number, listed in enumerate(utterances):
        start = 0
        rows = []
        for end, label in listed:
            rows.append((start / 1000, end / 1000, {"b": "bonafide", "s": "spoof", "n": "nonspeech"}[label]))
            start = end
        ranges[f"u{number}"] = rows
        lengths[f"u{number}"] = start / 1000
    return ss.References.from_ranges(ranges, lengths if durations is None else durations, **rules)


def frames_of(*utterances, hop=0.02, higher="bonafide", dtype=np.float64, **layout):
    frames = {f"u{number}": np.array(values, dtype) for number, values in enumerate(utterances)}
    return ss.Scores.from_frames(frames, hop=hop, higher=higher, **layout)


def content(mass):
    """The two amounts of every distinct score, by counting."""
    bona_fide, spoof = Counter(), Counter()
    for score, b, s in zip(mass.scores.tolist(), mass.bona_fide.tolist(), mass.spoof.tolist(), strict=True):
        bona_fide[score] += b
        spoof[score] += s
    return {score: (bona_fide[score], spoof[score]) for score in bona_fide}


TWO = references_of([(50, "b"), (90, "s")], [(30, "s"), (100, "b")])
TWO_SCORES = frames_of([0.9, 0.3, 0.5, -0.1, 0.2], [0.1, 0.4, 0.6, 0.6, 0.8])
# u2 has 40 ms without a score, 10 of them bona fide
THREE = references_of([(50, "b"), (90, "s")], [(30, "s"), (100, "b")], [(50, "b"), (80, "s")])
THREE_SCORES = frames_of([0.9, 0.3, 0.5, -0.1, 0.2], [0.1, 0.4, 0.6, 0.6, 0.8], [0.7, 0.25])


def masses(**rules):
    rules = {"slack": 0.0, **rules}
    yield ss.overlay(THREE, THREE_SCORES, **rules)
    yield ss.point_mass(THREE, THREE_SCORES, 0.02, **rules)
    yield ss.point_mass(THREE, THREE_SCORES, 0.0301, **rules)
