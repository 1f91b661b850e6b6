"""A look at every recording before anything is planned: how long it is, how loud, and where someone speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spoofspan.corpus.activity import Unit, find_speech, find_units
from spoofspan.corpus.frames import RATE
from spoofspan.corpus.level import Span, gain_to
from spoofspan.corpus.source_folder import Recording
from spoofspan.formats.sound import read_sound


@dataclass(frozen=True)
class Surveyed:
    """What is known about a recording."""

    name: str
    samples: int
    gain: float  # brings its speech to the level of the corpus
    speech: tuple[Span, ...]

    def units(self, shortest_pause: float) -> list[Unit]:
        """What can be cut out of it."""
        return find_units(self.speech, self.samples, round(shortest_pause * RATE))

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {"name": self.name, "samples": self.samples, "gain": self.gain, "speech": [list(s) for s in self.speech]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Surveyed:
        """Read what :meth:`to_dict` wrote."""
        spans = tuple((int(start), int(end)) for start, end in plain["speech"])
        return cls(plain["name"], plain["samples"], plain["gain"], spans)


def look_at(recordings: Sequence[Recording], level: float) -> list[Surveyed]:
    """Look at recordings."""
    found = []
    for one in recordings:
        sound = read_sound(one.path)
        speech = find_speech(sound)
        found.append(Surveyed(one.name, sound.size, gain_to(level, sound, speech), tuple(speech)))
    return found
