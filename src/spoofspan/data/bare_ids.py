"""Removal of folders and file extensions from ids, for files that name the same utterances differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from spoofspan.base.errors import UsageError
from spoofspan.base.other_ids import bare_id
from spoofspan.data.proposals import Proposals
from spoofspan.data.protocol import Protocol
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores

T = TypeVar("T")


def with_bare_ids(content: T) -> T:
    """Remove folders and endings of sound files from ids: ``wav/u1.flac`` becomes ``u1``.

    Parameters
    ----------
    content
        References, scores, utterance scores, proposals, a protocol, or a mapping by utterance (durations, labels,
        speakers).

    Returns
    -------
    content
        The same with other ids.

    Raises
    ------
    UsageError
        If two utterances would have the same id.

    Examples
    --------
    >>> with_bare_ids({"wav/u1.flac": 2.5, "u2": 1.0})
    {'u1': 2.5, 'u2': 1.0}
    >>> scores = Scores.from_frames({"u1.wav": [0.9, 0.4]}, hop=0.02, higher="bonafide")
    >>> with_bare_ids(scores).utterances
    ('u1',)

    """
    made: Any
    if isinstance(content, Protocol):
        made = replace(content, utterance=_bare(content.utterance))
    elif isinstance(content, References | Scores | UtteranceScores | Proposals):
        made = replace(content, utterances=_bare(content.utterances))
    elif isinstance(content, Mapping):
        made = dict(zip(_bare(tuple(content)), content.values(), strict=True))
    else:
        raise UsageError(f"give references, scores or a mapping by utterance, not a {type(content).__name__}")
    return made  # type: ignore[no-any-return]


def _bare(ids: Sequence[str]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for one in ids:
        if (other := found.setdefault(bare_id(one), one)) != one:
            raise UsageError(
                f"{other!r} and {one!r} would both be called {bare_id(one)!r} without folders and endings; rename "
                "one of them, or write the ids alike in both files"
            )
    return tuple(found)
