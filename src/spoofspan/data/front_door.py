"""Conversion of arguments: everything that can stand for references and scores becomes such.

Every measuring function takes its first two arguments through :func:`opens_inputs`, so all of them accept the same:

================================== ================================================================================
references                         ``References``; a path; a data frame; ``{utterance: [(start, end, label), ...]}``;
                                   ``{utterance: labels of frames}`` with ``hop=`` and, for 0 and 1, ``spoof_label=``;
                                   labels of whole utterances ``{utterance: "spoof"}``; rows of a data set
scores                             ``Scores``, ``UtteranceScores``, ``Proposals``; a path; a data frame;
                                   ``{utterance: scores of frames}`` with ``hop=`` and ``higher=``;
                                   ``{utterance: [(start, end, score), ...]}`` or ``{utterance: score}`` with
                                   ``higher=``; rows of a data set
================================== ================================================================================

Arrays may be lists, NumPy arrays or tensors. Properties that the data do not state are asked for, never guessed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from itertools import chain
from os import PathLike
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypedDict, TypeVar

import numpy as np

from spoofspan.base.columns import host_array
from spoofspan.base.errors import UsageError
from spoofspan.base.lazy import LazyMapping
from spoofspan.data.dataset_rows import ranges_of_cell, references_from_rows, scores_from_rows
from spoofspan.data.proposals import Proposals
from spoofspan.data.protocol import Protocol
from spoofspan.data.references import References
from spoofspan.data.rules import RuleArguments
from spoofspan.data.scores import Higher, Scores
from spoofspan.data.utterance_scores import TrialKey, UtteranceScores

if TYPE_CHECKING:
    from spoofspan.formats.sources import Where

P = ParamSpec("P")
R = TypeVar("R")
SIDES = (References, Protocol, TrialKey, Scores, UtteranceScores, Proposals)
OF_FRAMES = ", hop=0.02, higher='bonafide'"
# Description of each option, for the message that asks for it.
ASKED = {
    "hop": "how long a frame is (hop=, in seconds)",
    "higher": "what high scores mean (higher='bonafide' or higher='spoof')",
    "spoof_label": "which label means spoof (spoof_label=1 or spoof_label=0)",
}


class InputArguments(TypedDict, total=False):
    """Properties that references and scores may leave open, as keyword arguments."""

    hop: float | Mapping[str, float]
    higher: Higher | Mapping[str, Higher]
    spoof_label: int
    durations: Where | Mapping[str, float] | References


class RulesAndInputs(RuleArguments, InputArguments, total=False):
    """The rules, and properties that references and scores may leave open."""


def opens_inputs(
    function: Callable[Concatenate[Any, Any, P], R],
) -> Callable[Concatenate[Any, Any, P], R]:
    """Turn the first two arguments of a function into references and scores, or into references and systems.

    The second argument of a function is a dict of systems where it is called ``systems``. The function itself gets
    none of the options of :class:`InputArguments`.
    """
    first, second = list(inspect.signature(function).parameters)[:2]

    @wraps(function)
    def opened(*given: Any, **arguments: Any) -> R:
        sides = [*given[:2], *(arguments.pop(name) for name in (first, second)[len(given) :] if name in arguments)]
        if len(sides) < 2:
            raise UsageError(f"give {first} and {second}: {function.__name__}({first}, {second}, ...)")
        options = {name: arguments.pop(name) for name in InputArguments.__annotations__ if name in arguments}
        for option in ("by", "clusters"):  # a value for each utterance, as a dict or a Series of pandas
            value: Any = arguments.get(option)
            if _is_series(value):
                column = value.to_dict()
                arguments[option] = {str(value.name): column} if option == "by" and value.name else column
            elif isinstance(value, Mapping):
                arguments[option] = {name: one.to_dict() if _is_series(one) else one for name, one in value.items()}
        by = arguments.get("by")
        if isinstance(by, Mapping) and isinstance(next(iter(by.values()), None), str):
            arguments["by"] = {"group": by}
        door = FrontDoor(options)
        references, scores = door.open(*sides, several=second in ("systems", "seeds"))
        return function(references, scores, *given[2:], **arguments)

    return opened


class FrontDoor:
    """Converts references and scores, and checks that every option was used."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = {name: value for name, value in options.items() if value is not None}
        self.unused = set(self.options)

    def open(self, references: Any, scores: Any, *, several: bool = False) -> tuple[Any, Any]:
        """Convert both sides."""
        _refuse_swapped(references, scores)
        truth = self.references(references)
        said = self.systems(scores) if several else self.scores(scores)
        if self.unused and not any(isinstance(side, list | np.ndarray) for side in (truth, said)):
            name = sorted(self.unused)[0]
            raise UsageError(f"{name}= means nothing here: references and scores say it themselves; leave it out")
        return truth, said

    def option(self, name: str, system: Any = None) -> Any:
        """An option, if it was given; one by system is that of this system."""
        self.unused.discard(name)
        found = self.options.get(name)
        return found.get(system) if isinstance(found, Mapping) and system in found else found

    def asked(self, what: str, *names: str, system: Any = None) -> dict[str, Any]:
        """Options that the data need; missing ones are asked for."""
        found = {name: self.option(name, system) for name in names}
        if missing := [ASKED[name] for name, value in found.items() if value is None]:
            added = "add both" if len(missing) > 1 else "add it"
            raise UsageError(f"{what} do not say {', nor '.join(missing)}; {added} to the call")
        return found

    # ---------------------------------------------------------------- references

    def references(self, given: Any) -> Any:
        """Convert references, or labels of whole utterances; anything else is returned as it is, and refused later."""
        if isinstance(given, SIDES):
            return given
        given = _collected(given)
        if _is_path(given):
            return self._read_references(given)
        if _is_table(given):
            return self._references_of_table(given)
        if _is_series(given):
            given = given.to_dict()
        if isinstance(given, Mapping):
            return self._references_of_dict(given)
        if (found := _rows(given)) is not None:
            first, rows = found
            if "ranges" not in first:
                return self._references_of_table(_table_of(rows))
            return references_from_rows(rows)
        return given

    def _references_of_dict(self, given: Mapping[Any, Any]) -> Any:
        first = next(iter(given.values()), None)
        if first is None or isinstance(first, str):  # labels of whole utterances, or nothing
            return given
        _refuse_splits(given, first)
        if _is_number(first):
            spoof = self.asked("labels in numbers", "spoof_label")["spoof_label"]
            named = {spoof: "spoof", 1 - spoof: "bonafide"}
            unknown = [label for label in given.values() if label not in named]
            if unknown:
                raise UsageError(f"labels must be 0 and 1, or 'bonafide' and 'spoof', not {unknown[0]!r}")
            return {utterance: named[label] for utterance, label in given.items()}
        durations = self.option("durations")
        if _has_ranges(given):
            ranges = {utterance: ranges_of_cell(rows, str(utterance)) for utterance, rows in given.items()}
            return References.from_ranges(ranges, _durations(durations))
        hop = self.asked("labels of frames", "hop")["hop"]
        spoof_label = self.option("spoof_label")
        return References.from_labels(given, hop, spoof_label=spoof_label, durations=_durations(durations))

    def _references_of_table(self, table: Any) -> Any:
        from spoofspan.formats.tables.dataframes import by_utterance, columns_of

        if "start" not in (names := columns_of(table)) and "labels" not in names:
            return self._references_of_dict(by_utterance(table, "label"))
        durations, spoof_label = self.option("durations"), self.option("spoof_label")
        return References.from_table(table, _durations(durations), spoof_label=spoof_label)

    def _read_references(self, path: Any) -> Any:
        from spoofspan.formats.identify import Contents
        from spoofspan.formats.reading import read_truth

        contents = Contents(path)
        options = {name: self.option(name) for name in ("durations", "spoof_label")}
        found = contents.format_of("references")
        if found is not None and "hop" in (*found.takes, *found.needs):
            options["hop"] = self.option("hop")
        return read_truth(contents.sources, **options)

    # ---------------------------------------------------------------- scores

    def scores(self, given: Any, system: Any = None) -> Any:
        """Convert scores of one system; anything else is returned as it is, and refused later."""
        if isinstance(given, Scores):
            self._confirm("hop", given.hop, system)
            self._confirm("higher", given.higher, system)
        elif isinstance(given, UtteranceScores):
            self._confirm("higher", given.higher, system)
        if isinstance(given, SIDES):
            return given
        given = _collected(given)
        if _is_path(given):
            return self._read_scores(given, system)
        if _is_table(given):
            return self._scores_of_table(given, system)
        if _is_series(given):
            given = given.to_dict()
        if isinstance(given, Mapping):
            return self._scores_of_dict(given, system)
        if (found := _rows(given)) is not None:
            first, rows = found
            if "scores" not in first:
                return self._scores_of_table(_table_of(rows), system)
            stated = self.asked("rows of scores", "hop", "higher", system=system)
            return scores_from_rows(rows, **stated, dtype="float64")
        if hasattr(given, "__array__"):
            raise UsageError(
                f"scores must say whose they are: {{utterance: {type(given).__name__}}}; eer(labels, scores) takes two "
                "plain arrays"
            )
        return given

    def _confirm(self, name: str, stated: Any, system: Any) -> None:
        """Refuse an option that contradicts the scores."""
        if name not in self.options or (name == "hop" and stated is None):
            return
        wanted = self.options[name]
        wanted = wanted.get(system, stated) if isinstance(wanted, Mapping) else wanted
        if wanted == stated:
            self.unused.discard(name)
        elif name in self.unused:
            raise UsageError(f"{name}={wanted!r}, but these scores have {name}={stated!r}; leave {name}= out")

    def _scores_of_dict(self, given: Mapping[Any, Any], system: Any) -> Any:
        first = next(iter(given.values()), None)
        if first is None or isinstance(first, str):
            return given
        _refuse_splits(given, first)
        if isinstance(first, SIDES):
            name = next(iter(given))
            raise UsageError(
                f"scores are those of one system, and this is a dict of systems: give systems[{name!r}], or "
                "compare(references, systems)"
            )
        if _is_number(first):
            higher = self.asked("scores of utterances", "higher", system=system)
            return UtteranceScores(tuple(map(str, given)), np.array([float(one) for one in given.values()]), **higher)
        if _has_ranges(given):
            return Scores.from_ranges(given, **self.asked("scores of ranges", "higher", system=system))
        return Scores.from_frames(given, **self.asked("scores of frames", "hop", "higher", system=system))

    def _scores_of_table(self, table: Any, system: Any) -> Any:
        from spoofspan.formats.tables.dataframes import columns_of, utterance_scores_from

        if not {"start", "frame", "scores"} & set(columns_of(table)):
            return utterance_scores_from(table, **self.asked("a table of utterance scores", "higher", system=system))
        return Scores.from_table(table, hop=self.option("hop", system), higher=self.option("higher", system))

    def _read_scores(self, path: Any, system: Any) -> Any:
        from spoofspan.formats.identify import Contents, is_proposals, is_utterance_scores
        from spoofspan.formats.reading import read_proposals, read_scores, read_utterance_scores

        contents = Contents(path)
        if is_proposals(contents, None):
            return read_proposals(contents.sources)
        if is_utterance_scores(contents, None, labels=False):
            return read_utterance_scores(contents.sources, higher=self.option("higher", system))
        return read_scores(contents.sources, hop=self.option("hop", system), higher=self.option("higher", system))

    # ---------------------------------------------------------------- systems

    def systems(self, given: Any) -> Any:
        """Convert the scores of each system; lazy mappings, whose scores are read one by one, stay as they are."""
        if type(given) is not dict:
            return given
        return {name: self._system(name, one) for name, one in given.items()}

    def _system(self, name: Any, given: Any) -> Any:
        if isinstance(given, Mapping) and type(given) is not dict:
            return given
        first = next(iter(given.values()), None) if isinstance(given, Mapping) else None
        if _is_path(first) or _is_table(first) or isinstance(first, (dict, *SIDES)):
            return {seed: self.scores(scores, name) for seed, scores in given.items()}
        if isinstance(name, float) and "hop" not in self.options and not isinstance(given, SIDES):
            self.unused -= {"higher"}
            return FrontDoor(self.options | {"hop": name}).scores(given, name)  # a system that is called by its hop
        return self.scores(given, name)


def systems_by_name(given: Any) -> Any:
    """Systems as a dict of their scores; scores of one system, which are no such dict, get an empty name."""
    if isinstance(given, Mapping) and type(given) is not dict:
        return given  # lazy: looking at the first would read it
    if isinstance(given, dict):
        first = next(iter(given.values()), None)
        if _is_path(first) or _is_table(first) or isinstance(first, (Mapping, *SIDES)):
            return given
    return {"": given}


def _durations(given: Any) -> Any:
    """Durations as a dict of seconds; those of references as they are."""
    if given is None or isinstance(given, dict):
        return given
    from spoofspan.formats.text.durations import read_durations

    return read_durations(given)


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float | np.number) or getattr(given, "ndim", None) == 0


def _is_path(given: Any) -> bool:
    return isinstance(given, str | PathLike) or (
        isinstance(given, list | tuple) and bool(given) and all(isinstance(one, str | PathLike) for one in given)
    )


def _is_table(given: Any) -> bool:
    """True if it is a data frame: anything with an Arrow interface."""
    streams = hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__")
    return streams and not _is_series(given)


def _collected(given: Any) -> Any:
    """A lazy frame of polars as a data frame; anything else as it is."""
    return given.collect() if type(given).__name__ == "LazyFrame" else given


def _is_series(given: Any) -> bool:
    """True if it is a Series of pandas, with an index of utterances."""
    return hasattr(given, "to_dict") and hasattr(given, "index") and getattr(given, "ndim", 2) == 1


def _rows(given: Any) -> tuple[Mapping[str, Any], Iterable[Any]] | None:
    """The first row and all of them, of rows that are dicts: a list, a data set, a generator."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable) or hasattr(given, "__array__"):
        return None
    rows = iter(given)
    first = next(rows, None)
    return (first, chain([first], rows)) if isinstance(first, Mapping) else None


def _table_of(rows: Iterable[Any]) -> Any:
    from spoofspan.formats import arrow as pa

    return pa.Table.from_pylist(list(rows))


def _has_ranges(given: Mapping[Any, Any]) -> bool:
    """True if the first utterance with anything has rows: tuples or dicts with a start, and no numbers or words."""
    for rows in given.values():
        if isinstance(rows, Mapping):
            return True
        if hasattr(rows, "__array__"):
            return np.ndim(host_array(rows)) == 2
        if isinstance(rows, Iterable) and not isinstance(rows, str) and (listed := list(rows)):
            return isinstance(listed[0], tuple | list | Mapping)
    return True


def _refuse_splits(given: Mapping[Any, Any], first: Any) -> None:
    """Refuse several splits of a data set."""
    if hasattr(first, "features"):
        name = next(iter(given))
        raise UsageError(f"these are {len(given)} splits of a data set; give one of them: dataset[{name!r}]")


# ---------------------------------------------------------------- checks


def check_sides(references: Any, scores: Any, *, proposals: bool = False) -> None:
    """Refuse swapped arguments, dicts, data frames and paths; the message names the call that converts them.

    >>> check_sides({"u1": [(0.0, 1.0, "spoof")]}, None)
    Traceback (most recent call last):
    spoofspan.base.errors.UsageError: references must be References, not a dict: References.from_ranges(references)
    """
    _refuse_swapped(references, scores)
    check_references(references)
    check_scores(scores, proposals=proposals)


def _refuse_swapped(references: Any, scores: Any) -> None:
    if isinstance(references, Scores | Proposals | UtteranceScores) and isinstance(scores, References):
        raise UsageError("references come first, then scores; these are swapped")


def check_references(references: Any) -> None:
    """Refuse anything but references."""
    if isinstance(references, Protocol) or (
        isinstance(references, Mapping) and references and all(isinstance(one, str) for one in references.values())
    ):
        raise UsageError(
            "references must be References, which say when the spoofs are, not labels alone, which go with scores of "
            "whole utterances (UtteranceScores)"
        )
    if not isinstance(references, References):
        raise UsageError(f"references must be References, not {_instead(references, 'references', '')}")


def check_scores(scores: Any, *, proposals: bool = False) -> None:
    """Refuse anything but scores in time, or proposals where these are allowed."""
    if isinstance(scores, UtteranceScores):
        raise UsageError(
            "scores must be Scores, which have times, not UtteranceScores: evaluate_utterances(references, scores)"
        )
    if isinstance(scores, Proposals) and not proposals:
        raise UsageError(
            "scores must be Scores, not Proposals, which have event measures: evaluate(references, scores)"
        )
    if not isinstance(scores, Scores | Proposals):
        raise UsageError(f"scores must be Scores, not {_instead(scores, 'scores', OF_FRAMES)}")


def check_truth(truth: Any) -> None:
    """Refuse anything but references, or labels of utterances."""
    if not isinstance(truth, References | Mapping | Protocol):
        kind = type(truth).__name__
        raise UsageError(f"references, or labels as {{utterance: 'spoof'}}, come first, not a {kind}; then scores")


def check_utterance_scores(scores: Any) -> None:
    """Refuse anything but scores of whole utterances.

    >>> check_utterance_scores({"u1": 0.9})
    Traceback (most recent call last):
    spoofspan.base.errors.UsageError: scores must be UtteranceScores, not a dict: UtteranceScores(...
    """
    if isinstance(scores, UtteranceScores):
        return
    made = "UtteranceScores(ids, values, higher='bonafide') makes them, read_utterance_scores reads them from a file"
    if isinstance(scores, Scores):
        made = "evaluate(references, scores, 'utterance-eer') measures scores in time"
    if isinstance(scores, Mapping):
        made = "UtteranceScores(tuple(scores), list(scores.values()), higher='bonafide')"
    raise UsageError(f"scores must be UtteranceScores, not a {type(scores).__name__}: {made}")


def training_name(system: str, seed: str) -> str:
    """The name of one training of a system among others."""
    return f"{system}/{seed}"


def separate_seeds(systems: Mapping[str, Any]) -> Mapping[str, Any]:
    """Make each training of a system a system of its own, called ``system/seed``; one that is alone keeps its name.

    >>> dict(separate_seeds({"a": 1, "b": {"s1": 2, "s2": 3}, "c": {"s1": 4}}))
    {'a': 1, 'b/s1': 2, 'b/s2': 3, 'c': 4}
    """
    check_systems(systems)
    found: dict[str, tuple[Mapping[str, Any], str]] = {}
    for name, one in systems.items():
        seeds = one if isinstance(one, Mapping) else {"": one}
        found |= {name if len(seeds) == 1 else training_name(name, seed): (seeds, seed) for seed in seeds}
    return LazyMapping(found, lambda name: found[name][0][found[name][1]])


def check_systems(systems: Any) -> None:
    """Refuse anything but a dict of systems, such as a list, or the scores of one system."""
    if not isinstance(systems, Mapping):
        raise UsageError(
            f"systems must be a dict, name -> scores, not a {type(systems).__name__}: {{'a': scores, 'b': others}}"
        )


def of_whole_utterances(systems: Mapping[str, Any]) -> bool:
    """True if the systems have scores of whole utterances, which all of them must have, or none."""
    check_systems(systems)
    kinds = {isinstance(one, UtteranceScores): name for name, one in systems.items()}
    if len(kinds) > 1:
        raise UsageError(
            f"{kinds[True]!r} has scores of whole utterances and {kinds[False]!r} has not, so their numbers cannot be "
            "compared; give all systems scores of one sort"
        )
    return True in kinds


def _instead(found: Any, wanted: str, about: str) -> str:
    """Description of an argument, and the call that converts it."""
    maker, of_dict = ("References", "from_ranges") if wanted == "references" else ("Scores", "from_frames")
    kind = type(found).__name__
    if isinstance(found, References | Scores | Proposals):
        return f"{kind}"
    if isinstance(found, str) or hasattr(found, "__fspath__"):
        return f"a path: read_{wanted}({str(found)!r}) reads it"
    if hasattr(found, "__arrow_c_stream__") or hasattr(found, "to_arrow"):
        return f"a {kind}: {maker}.from_table({wanted}{about})"
    if isinstance(found, Mapping):
        return f"a {kind}: {maker}.{of_dict}({wanted}{about})"
    return f"a {kind}: {maker}.{of_dict}({{utterance: ...}}{about}) makes them, read_{wanted} reads them from a file"
