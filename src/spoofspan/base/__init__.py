"""What knows nothing of spoofs: errors, times, columns, hashing, progress, the pool of processes, locks, the version.

It imports from no other package. Read ``errors.py`` first, then ``times.py``: time is int64 nanoseconds.
"""
