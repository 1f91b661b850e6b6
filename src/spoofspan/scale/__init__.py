"""Corpora larger than memory, and several processes: the same measurements, to the same bits.

- ``shards.py``: a corpus in shards, wherever they are; read it first. ``shard_facts.py``: what it must know of each.
- ``sharded_events.py``: event measures, counted shard by shard.
- ``sharding.py``: files are cut into shards on disk, for one process or several.
- ``memory.py``: whether files would fit into memory.

It imports from ``base``, ``data``, ``formats``, ``mass``, ``measures``, ``evaluation`` and ``uncertainty``.
"""
