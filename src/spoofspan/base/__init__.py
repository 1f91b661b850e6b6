"""What knows nothing of spoofs: errors, times, columns, hashing, progress, the pool of processes, locks, the version.

It imports from no other room. Read ``errors.py`` first, then ``times.py``: time is int64 nanoseconds.
"""
