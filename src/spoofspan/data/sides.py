"""Whether references and scores are what they should be: the first thing people mix up in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spoofspan.base.errors import UsageError
from spoofspan.base.lazy import LazyMapping
from spoofspan.data.proposals import Proposals
from spoofspan.data.protocol import Protocol
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores

OF_FRAMES = ", hop=0.02, higher='bonafide'"


def check_sides(references: Any, scores: Any, *, proposals: bool = False) -> None:
    """Refuse swapped arguments, dicts, data frames and paths, each with what makes the right thing of it.

    >>> check_sides({"u1": [(0.0, 1.0, "spoof")]}, None)
    Traceback (most recent call last):
    spoofspan.base.errors.UsageError: references must be References, not a dict: References.from_ranges(references)
    """
    if isinstance(references, Scores | Proposals | UtteranceScores) and isinstance(scores, References):
        raise UsageError("references come first, then scores; these are swapped")
    check_references(references)
    check_scores(scores, proposals=proposals)


def check_references(references: Any) -> None:
    """Refuse what are no references."""
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
    """Refuse what are no scores in time, nor proposals where these may stand for them."""
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
    """Refuse what neither says when nor which utterances are spoofed."""
    if not isinstance(truth, References | Mapping | Protocol):
        kind = type(truth).__name__
        raise UsageError(f"references, or labels as {{utterance: 'spoof'}}, come first, not a {kind}; then scores")


def check_utterance_scores(scores: Any) -> None:
    """Refuse what are no scores of whole utterances.

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
    """Refuse what is no dict of systems: a list, or the scores of one alone."""
    if not isinstance(systems, Mapping):
        raise UsageError(
            f"systems must be a dict, name -> scores, not a {type(systems).__name__}: {{'a': scores, 'b': others}}"
        )


def of_whole_utterances(systems: Mapping[str, Any]) -> bool:
    """Whether the systems have scores of whole utterances, which all of them must have, or none."""
    check_systems(systems)
    kinds = {isinstance(one, UtteranceScores): name for name, one in systems.items()}
    if len(kinds) > 1:
        raise UsageError(
            f"{kinds[True]!r} has scores of whole utterances and {kinds[False]!r} has not, so their numbers cannot be "
            "compared; give all systems scores of one sort"
        )
    return True in kinds


def _instead(found: Any, wanted: str, about: str) -> str:
    """What was given, and the call that makes the wanted thing of it."""
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
