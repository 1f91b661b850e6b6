"""Parts without knowledge of spoofing: errors, times, columns, hashing, progress, processes, locks, the version.

It imports from no other package. Read ``errors.py`` first, then ``times.py``: time is int64 nanoseconds.
"""
