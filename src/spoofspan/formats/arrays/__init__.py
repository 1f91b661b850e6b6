"""Arrays per utterance: npz files, PartialSpoof's pickles of scores and labels, and Kaldi's archives.

Read first: ``npz.py``, which makes Scores and References of a dict of arrays. ``partialspoof_scores.py`` and
``segment_labels.py`` are PartialSpoof's own files, ``kaldi.py`` has archives. May import ``base``, ``data``,
``formats.text`` and the front door of ``formats``.
"""
