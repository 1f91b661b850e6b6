"""What is made when it is asked for: the public names of a package, the values of a mapping."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package (PEP 562) whose public names live in its modules.

    A name is imported when it is first used, so that importing the package costs nothing.

    ``homes`` has the names of each module, separated by spaces, by the module's path below the package; a
    name may be a module itself, and ``figures:plot`` is called ``plot`` in the package.

    >>> load, names = lazy_names("spoofspan", {"base.times": "SECOND"})
    >>> load("SECOND"), names()
    (1000000000, ['SECOND'])
    """
    spelled = ((home, name.partition(":")) for home, names in homes.items() for name in names.split())
    home_of = {public or name: (home, name) for home, (name, _, public) in spelled}

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, own = home_of[name]
        value = getattr(__import__(f"{package}.{home}", fromlist=[own]), own)
        setattr(sys.modules[package], name, value)  # found without asking from now on
        return value

    return load, lambda: sorted(home_of)


class LazyMapping(Mapping[K, V]):
    """A mapping whose values are made when they are looked up, and not kept."""

    def __init__(self, keys: Iterable[K], make: Callable[[K], V]) -> None:
        self._keys = dict.fromkeys(keys)
        self._make = make

    def __getitem__(self, key: K) -> V:
        if key not in self._keys:
            raise KeyError(key)
        return self._make(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
