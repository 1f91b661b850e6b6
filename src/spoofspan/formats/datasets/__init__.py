"""Databases as they are published: their folders, their metadata, and the names of systems' score files.

Read first: ``partialspoof_dataset.py``, a database by its folder. ``audiovisual.py`` has the metadata of
LAV-DF and AV-Deepfake1M; ``proposals.py`` reads what systems propose for these; ``folders.py`` has the databases whose
labels are one file; ``systems.py`` finds the score files of several systems; ``benchmarks.py`` says how data sets and
challenges are ranked. May import ``base``, ``data`` and the rest of ``formats``.
"""
