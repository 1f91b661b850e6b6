"""Protocol of a corpus: speaker, attack and label of each utterance."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Protocol:
    """The columns of a protocol, in the order of the file."""

    utterance: tuple[str, ...]
    speaker: tuple[str, ...]
    attack: tuple[str | None, ...]  # None: bona fide, or an attack that is not named
    label: tuple[str, ...]  # "bonafide" or "spoof"

    def __len__(self) -> int:
        return len(self.utterance)
