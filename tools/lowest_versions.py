"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

>>> list(lowest(["numpy>=2.0", "rich>=13.0,<20", "tomli>=2.0; python_version < '3.11'", "spoofspan[test]"]))
['numpy==2.0', 'rich==13.0', 'tomli==2.0']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
EXTRAS = ("tables", "quick")  # what the lowest versions are tested with


def lowest(requirements: Iterable[str]) -> Iterator[str]:
    """``name==version`` for each requirement ``name>=version``."""
    for requirement in requirements:
        found = re.match(r"([\w.-]+)(?:\[[\w,-]+\])?\s*>=\s*([\w.]+)", requirement)
        if found is not None:
            yield f"{found[1]}=={found[2]}"


def requirements(text: str) -> Iterator[str]:
    """The package's own requirements and those of the extras; Python 3.10 has no TOML parser."""
    for name in ("dependencies", *EXTRAS):
        block = re.search(rf"^{name} = \[(.*?)\]$", text, re.MULTILINE | re.DOTALL)
        if block is None:
            raise SystemExit(f"{PYPROJECT}: no list {name}")
        yield from re.findall(r'"([^"]+)"', block[1])


if __name__ == "__main__":
    print("\n".join(lowest(requirements(PYPROJECT.read_text(encoding="utf-8")))))
