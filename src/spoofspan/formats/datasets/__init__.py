"""Databases as they are published: their folders, their metadata, and the names of systems' score files.

Read first: ``partialspoof_dataset.py``, a database by its folder. ``json_entries.py`` walks the metadata that
``lavdf.py`` and ``avdeepfake1m.py`` describe; ``proposals.py`` reads what systems propose for these; ``systems.py``
finds the score files of several systems. May import ``base``, ``data`` and the rest of ``formats``.
"""
