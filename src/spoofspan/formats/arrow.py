"""pyarrow and its modules, imported when a name of theirs is first used, as importing takes longer than many a reading.

>>> from spoofspan.formats import arrow as pa
>>> pa.array([1, 2]).type, pa.compute.sum(pa.array([1, 2])).as_py()
(DataType(int64), 3)
"""

import sys
from importlib import import_module
from threading import RLock
from typing import Any

MODULES = ("compute", "csv", "fs", "json", "parquet")
_importing = RLock()
_left_to_python = False


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # an import statement looks for __path__, which must not load Arrow
        raise AttributeError(name)
    # An import of pyarrow.csv does not wait for an import of pyarrow that another thread has begun: each would wait for
    # what the other one holds, and Python then hands out modules that are half imported.
    with _importing:
        arrow = import_module("pyarrow")
        if _left_to_python:
            arrow.enable_signal_handlers(False)
        value = import_module(f"pyarrow.{name}") if name in MODULES else getattr(arrow, name)
    globals()[name] = value  # found without asking from now on
    return value


def leave_signals_to_python() -> None:
    """Let Ctrl-C be Python's, also inside of Arrow's readers, which take it over and may lose it between two blocks."""
    global _left_to_python
    _left_to_python = True


def release_unused() -> None:
    """Give the system the memory that Arrow holds unused; where Arrow's allocator is C's, all that C holds unused."""
    if "pyarrow" in sys.modules:
        import_module("pyarrow").default_memory_pool().release_unused()
