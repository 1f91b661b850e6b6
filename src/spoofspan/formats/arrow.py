"""pyarrow and its modules, imported when a name of theirs is first used: it is optional, and takes long to import.

>>> from spoofspan.formats import arrow as pa
>>> pa.array([1, 2]).type, pa.compute.sum(pa.array([1, 2])).as_py()
(DataType(int64), 3)
"""

import sys
from importlib.util import find_spec
from typing import Any

from spoofspan.base.extras import INSTALL_TABLES, one_import, package

MODULES = ("compute", "fs", "parquet")
_left_to_python = False


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # an import statement looks for __path__, which must not load Arrow
        raise AttributeError(name)
    with one_import:
        arrow = package("pyarrow", f"Parquet, Arrow, zstd and object stores need it: {INSTALL_TABLES}")
        if _left_to_python:
            arrow.enable_signal_handlers(False)
        value = package(f"pyarrow.{name}") if name in MODULES else getattr(arrow, name)
    globals()[name] = value  # found without asking from now on
    return value


def is_installed() -> bool:
    """True if Parquet and the like can be read and written."""
    try:
        return find_spec("pyarrow") is not None
    except ValueError:  # None in sys.modules, which forbids it
        return False


def leave_signals_to_python() -> None:
    """Let Ctrl-C be Python's, also inside of Arrow's readers, which take it over and may lose it between two blocks."""
    global _left_to_python
    _left_to_python = True


def release_unused() -> None:
    """Give the system the memory that Arrow holds unused; where Arrow's allocator is C's, all that C holds unused."""
    with one_import:  # another thread may be importing it
        if sys.modules.get("pyarrow") is not None:
            sys.modules["pyarrow"].default_memory_pool().release_unused()
