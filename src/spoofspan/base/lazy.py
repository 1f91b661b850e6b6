"""Values that are made on demand: the public names of a package, the values of a mapping."""

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
    name may be a module itself, and ``plots:plot`` is called ``plot`` in the package.

    >>> load, names = lazy_names("spoofspan", {"base.times": "SECOND"})
    >>> load("SECOND"), names()
    (1000000000, ['SECOND'])
    """
    spelled = ((home, name.partition(":")) for home, names in homes.items() for name in names.split())
    home_of = {public or name: (home, name) for home, (name, _, public) in spelled}

    def load(name: str) -> Any:
        if name not in home_of:
            raise no_attribute(package, name, home_of)
        home, own = home_of[name]
        value = getattr(__import__(f"{package}.{home}", fromlist=[own]), own)
        setattr(sys.modules[package], name, value)  # found without asking from now on
        return value

    return load, lambda: sorted(home_of)


# What other libraries call a function, and what to write here.
OTHER_FUNCTIONS = {
    **dict.fromkeys(("det_curve", "roc_curve", "precision_recall_curve"), "error_curve(references, scores)"),
    **dict.fromkeys(("auc", "roc_auc", "roc_auc_score"), "evaluate(references, scores, 'range-auc')"),
    **dict.fromkeys(("f1", "f1_score"), "evaluate(references, scores, 'range-f1', threshold=...)"),
    **dict.fromkeys(("accuracy", "accuracy_score"), "evaluate(references, scores, 'range-accuracy', threshold=...)"),
    **dict.fromkeys(("confusion", "confusion_matrix"), "range_eer(references, scores).confusion"),
    **dict.fromkeys(("bootstrap", "bootstrap_ci"), "interval(references, scores, 'range-eer')"),
    **dict.fromkeys(("read_rttm", "load_rttm", "load_labels", "load_references"), "read_references(path)"),
    **dict.fromkeys(("load_scores", "load_score"), "read_scores(path)"),
    **dict.fromkeys(("hist", "histogram", "distribution"), "scores(references, scores)"),
}


def no_attribute(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """An error that names the nearest public name.

    >>> no_attribute("spoofspan", "compute_eer", ["eer", "evaluate"])
    AttributeError("module 'spoofspan' has no attribute 'compute_eer'; did you mean 'eer'?")
    """
    from difflib import get_close_matches

    meant = name.lower().removeprefix("compute_").removeprefix("plot_").removeprefix("draw_")
    close = get_close_matches(meant, list(known), n=1)
    advice = f"; did you mean {close[0]!r}?" if close and not name.startswith("_") else ""
    if other := OTHER_FUNCTIONS.get(meant):
        advice = f"; use {other}"
    return AttributeError(f"module {module!r} has no attribute {name!r}{advice}")


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
