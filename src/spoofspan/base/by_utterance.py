"""A corpus as a mapping: ``corpus["u1"]``, ``"u1" in corpus``, ``for utterance in corpus``, ``dict(corpus)``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from spoofspan.base.errors import UsageError
from spoofspan.base.tabular import SHOWN, html_table


class ByUtterance:
    """Utterances, each with what a corpus says of it."""

    utterances: tuple[str, ...]

    @abstractmethod
    def _said_of(self, i: int) -> Any:
        """What the corpus says of the utterance at this place."""

    @cached_property
    def _places(self) -> dict[str, int]:
        return {utterance: i for i, utterance in enumerate(self.utterances)}

    def __len__(self) -> int:
        return len(self.utterances)

    def __iter__(self) -> Iterator[str]:
        return iter(self.utterances)

    def __contains__(self, utterance: object) -> bool:
        return utterance in self._places

    def __getitem__(self, utterance: str) -> Any:
        if utterance not in self._places:
            near = get_close_matches(str(utterance), self.utterances, n=1, cutoff=0.5)
            meant = f"; did you mean {near[0]!r}?" if near else f" among these {len(self):,}; list(...) has their ids"
            raise UsageError(f"no utterance is called {utterance!r}{meant}")
        return self._said_of(self._places[utterance])

    def keys(self) -> tuple[str, ...]:
        """The ids, as of a dict."""
        return self.utterances

    def items(self) -> Iterator[tuple[str, Any]]:
        """Each id with what is said of it, as of a dict."""
        return ((utterance, self._said_of(i)) for i, utterance in enumerate(self.utterances))

    def _repr_html_(self) -> str:
        """What it is, and the first utterances, for notebooks."""
        said = [(utterance, str(self._said_of(i))) for i, utterance in enumerate(self.utterances[:SHOWN])]
        rows = [(utterance, text if len(text) < 80 else f"{text[:80]} ...") for utterance, text in said]
        more = f"<div>and {len(self) - SHOWN:,} more</div>" if len(self) > SHOWN else ""
        return html_table(repr(self), rows, more=more)
