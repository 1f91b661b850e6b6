"""Settings of a corpus: everything that determines its bytes except the recordings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.formats.sound_channel import Channel

SETS = ("train", "dev", "eval")
POLICIES = {
    "joints": {
        "spoof": "a joint is spoof over its whole overlap if either side is",
        "middle": "the label changes in the middle of the overlap",
    },
    "nonspeech": {
        "origin": "non-speech has the class of the recording it came from",
        "bonafide": "non-speech is bona fide wherever it came from (joints are decided first)",
    },
}
SPOOFSPAN, PARTIALSPOOF = "spoofspan", "partialspoof"
RECIPES = {
    SPOOFSPAN: "one attack in an utterance, some of the units replaced, joints of constant power",
    PARTIALSPOOF: "the published scripts of PartialSpoof: any attacks, any number of segments, pauses averaged",
}
OWN = ("donors", "shortest_pause", "overlap", "search")  # settings that the recipe of PartialSpoof does not have
BUILDER_VERSION = 3  # raised when the same settings give other bytes
BUILT_IN_UTTERANCES = {"train": 480, "dev": 100, "eval": 200}
BUILT_IN_SPEAKERS = {"train": 48, "dev": 10, "eval": 16}
SPEAKER_SHARES = {"train": 0.5, "dev": 0.2, "eval": 0.3}


@dataclass(frozen=True)
class Settings:
    """Every choice that decides the bytes of a corpus, but for the recordings; times in seconds.

    Parameters
    ----------
    seed : int
        Same seed, same bytes.
    utterances : mapping of str to int, optional
        How many in each set (``{"train": 400, "dev": 100, "eval": 200}``); None: as many as the recordings give.
    speakers : mapping of str to int, optional
        How many in each set; None: half of them, a fifth, three tenths.
    bonafide_share : float
        Share of the utterances that are left as they are.
    held_out : tuple of str, optional
        Attacks for evaluation only, as the corpus or the source calls them; None: the last one by name, where there are
        several.
    attacks : tuple of str
        Built-in vocoders that make spoofs of bona fide recordings: ``("builtin:griffin-lim",)``, or ``builtin:all``.
    channel : Channel, optional
        Band-pass and noise that both classes go through; None: none for recordings, 150 to 6850 Hz and -90 dBov for
        built-in voices.
    donors : int
        From how many recordings of the other class an utterance may take.
    level : float
        Level of the speech in dBov.
    shortest_pause, overlap, search : float
        Pauses that are cut in, the length of a joint, and how far it may be moved.
    joints : str
        Label of a joint: ``"spoof"`` if either side is, or ``"middle"``, where the label changes.
    nonspeech : str
        Label of non-speech: ``"origin"``, that of its recording, or ``"bonafide"``.
    official_labels : bool
        Also write segment labels as PartialSpoof does (pickles).
    recipe : str
        ``"spoofspan"``, or ``"partialspoof"``: what the authors' scripts do (``docs/corpus.md`` has the differences).

    Raises
    ------
    UsageError
        If something cannot be built.

    Examples
    --------
    >>> Settings(seed=2, held_out=("A04",)).overlap
    0.02

    """

    seed: int = 1
    utterances: Mapping[str, int] | None = None  # per set; None: as many as the recordings give
    speakers: Mapping[str, int] | None = None  # per set; None: by SPEAKER_SHARES
    bonafide_share: float = 0.3  # of the utterances that are left as they are, where ``utterances`` says how many
    held_out: tuple[str, ...] | None = None  # attacks for eval only; None: the last by name, if there are several
    attacks: tuple[str, ...] = ()  # built-in vocoders that make spoofs of bona fide recordings
    channel: Channel | None = None
    donors: int = 4  # recordings of the other class that an utterance may take from
    level: float = -26.0  # dBov
    shortest_pause: float = 0.06
    overlap: float = 0.02
    search: float = 0.01
    joints: str = "spoof"
    nonspeech: str = "origin"
    official_labels: bool = False
    recipe: str = SPOOFSPAN

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        for name, policies in POLICIES.items():
            if getattr(self, name) not in policies:
                raise UsageError(f"{name}={getattr(self, name)!r}: {nearest_name(getattr(self, name), policies)}")
        for name in ("utterances", "speakers"):
            for subset, count in (getattr(self, name) or {}).items():
                if subset not in SETS:
                    raise UsageError(f"{name}: no set is called {subset!r}: {nearest_name(subset, SETS)}")
                if count < 0:
                    raise UsageError(f"{name}: {subset}={count} is less than none")
        if self.seed < 0:
            raise UsageError(f"seed={self.seed}: must not be negative")
        if not 0 <= self.bonafide_share <= 1:
            raise UsageError(f"bonafide_share={self.bonafide_share}: must be between 0 and 1")
        if not -60 <= self.level <= -10:
            raise UsageError(f"level={self.level}: must be between -60 and -10 dBov")
        if self.donors < 1:
            raise UsageError(f"donors={self.donors}: must be at least 1")
        if self.overlap < 0.001 or self.search < 0:
            raise UsageError(f"overlap={self.overlap}, search={self.search}: must be at least 0.001 and 0 seconds")
        if self.recipe not in RECIPES:
            raise UsageError(f"recipe={self.recipe!r}: {nearest_name(self.recipe, RECIPES)}")
        changed = [one.name for one in fields(self) if one.name in OWN and getattr(self, one.name) != one.default]
        if self.recipe != SPOOFSPAN and changed:
            raise UsageError(f"{', '.join(changed)}: the recipe {self.recipe!r} decides this itself; leave it out")
        if self.overlap + 2 * self.search > self.shortest_pause:
            raise UsageError(
                f"a joint of {self.overlap} s that moves by {self.search} s needs pauses of "
                f"{self.overlap + 2 * self.search:g} s; shortest_pause is {self.shortest_pause} s"
            )

    @property
    def policies(self) -> dict[str, dict[str, str]]:
        """The policies chosen, and what they mean."""
        return {name: {getattr(self, name): about[getattr(self, name)]} for name, about in POLICIES.items()}

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        plain = asdict(self)
        plain["held_out"] = None if self.held_out is None else list(self.held_out)
        for name in ("recipe",) if self.recipe == SPOOFSPAN else OWN:  # as corpora had it before there were recipes
            del plain[name]
        return {**plain, "attacks": list(self.attacks)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Settings:
        """Read what :meth:`to_dict` wrote; names it does not know are left out."""
        known = {field.name for field in fields(cls)}
        given = {name: value for name, value in plain.items() if name in known}
        if given.get("held_out") is not None:
            given["held_out"] = tuple(given["held_out"])
        if given.get("channel") is not None:
            given["channel"] = Channel(**given["channel"])
        return cls(**{**given, "attacks": tuple(given.get("attacks", ()))})


def fingerprint(content: Any) -> str:
    """A short name for plain data: equal data have equal names."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
