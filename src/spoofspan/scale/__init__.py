"""Corpora larger than memory, and several processes: the same measurements, to the same bits.

- ``shards.py``: a corpus in shards, wherever they are; read it first.
- ``sharding.py``: files are cut into shards. ``stored_shards.py``: shards on disk, for one process or several.
- ``memory.py``: whether files would fit into memory.

It imports from ``base``, ``data``, ``formats``, ``mass``, ``measures`` and ``evaluation``.
"""
