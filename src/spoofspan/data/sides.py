"""Whether references and scores are what they should be: the first thing people mix up in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spoofspan.base.errors import UsageError
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.scores import Scores


def check_sides(references: Any, scores: Any) -> None:
    """Refuse swapped arguments, dicts, data frames and paths, each with what makes the right thing of it.

    >>> check_sides({"u1": [0.9]}, None)
    Traceback (most recent call last):
    spoofspan.base.errors.UsageError: the references are a dict; make References of it: References.from_ranges(...)
    """
    if isinstance(references, (Scores, Proposals)) and isinstance(scores, References):
        raise UsageError("references and scores are swapped; references come first")
    if not isinstance(references, References):
        raise UsageError(f"the references are {_made(references, 'References', 'from_ranges', 'read_references')}")
    if not isinstance(scores, (Scores, Proposals)):
        raise UsageError(f"the scores are {_made(scores, 'Scores', 'from_frames', 'read_scores')}")


def _made(found: Any, wanted: str, of_dict: str, reader: str) -> str:
    """What was given, and the call that makes the wanted thing of it."""
    about = ", hop=..., higher=..." if wanted == "Scores" else ""
    kind = type(found).__name__
    if isinstance(found, (References, Scores, Proposals)):
        return f"{kind}; give {wanted}"
    if isinstance(found, Mapping):
        return f"a {kind}; make {wanted} of it: {wanted}.{of_dict}(...{about})"
    if isinstance(found, str) or hasattr(found, "__fspath__"):
        return f"a path ({str(found)!r}); read it: {reader}({str(found)!r}{about})"
    if hasattr(found, "__arrow_c_stream__") or hasattr(found, "to_arrow"):
        return f"a {kind}; make {wanted} of it: {wanted}.from_table(...{about})"
    return f"of the type {kind}; give {wanted}: {wanted}.{of_dict}({{utterance: ...}}{about})"
