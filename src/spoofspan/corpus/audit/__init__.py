"""Audit of a corpus: probes that should be at chance, and how far from it they are.

::

    material.py      which utterances there are: a folder of PartialSpoof's layout, or of recordings
    statistics.py    what is measured of their sound: bands of a frame, level, offset, silence, lengths
    logistic.py      a logistic regression that never tests on a speaker it was trained on
    probes.py        which statistics make a probe, and what a listener would call them
    auditing.py      the probes measured: range EERs, intervals, alarms, a table         <- read this first
"""
