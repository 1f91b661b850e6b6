"""The edits of bona fide speech, and the plan of every control.

A control is one recording with one edit. All but the codecs are pieces of bona fide recordings, joined as the corpus
builder joins them, at each of several cross-fades of x seconds::

    rejoin      ....a b c|d e f....     cut at one place, and joined there again: [0, c) and [c, end)
    delete      ....a b|   |e f....     a stretch is taken out
    splice      ....a|X Y Z|e f....     units of another bona fide recording of the speaker take the place of its own
    level       ....a b|D E F......     one side of a cut is softer

A rejoin has no sound beyond the cut, as two clips in an editor that are pushed into each other: the last x seconds of
the left side fade into the first x seconds of the right one, and the result is x shorter. Without a cross-fade it is
bit-identical to the unedited recording. The other joints have sound on both sides of the cut, as those of corpora.

A recording where an edit finds no place (no second speech, no long pause) is left out for that edit, and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.corpus.frames import RATE
from spoofspan.corpus.settings import Settings
from spoofspan.corpus.source_folder import Recording
from spoofspan.corpus.splice_plan import Donors, choose_substitutions, stream
from spoofspan.corpus.splicing import parts_of
from spoofspan.corpus.survey import Span, Surveyed
from spoofspan.formats.sound_channel import Channel

UNEDITED = "unedited"
SPLICE = "splice"
JOINED = {
    "rejoin-pause": "cut in the middle of a pause, and joined again at the same place",
    "rejoin-speech": "cut within speech, and joined again at the same place",
    "delete-pause": "the middle half of a pause taken out",
    "delete-speech": "a stretch of speech taken out",
    SPLICE: "units replaced by units of other bona fide recordings of the speaker, as a corpus replaces them by spoofs",
    "level": "one side of a cut in a pause made softer",
}
CODECS = {
    "mu-law": "the whole recording through 8-bit mu-law at 16 kHz and back",
    "mp3": "the whole recording through MP3 (LAME, as libsndfile has it) and back",
    "opus": "the whole recording through Opus (as libsndfile has it) and back",
}
EDITS = JOINED | CODECS
MARGIN = 0.03  # s of speech around a cut within speech, besides its overlap
LONGEST_FADE = 0.2


@dataclass(frozen=True)
class ControlSettings:
    """Every choice that decides the bytes of controls, but for the recordings; times in seconds.

    Parameters
    ----------
    seed : int
        Same seed, same bytes.
    edits : tuple of str
        Names of :data:`EDITS`.
    cross_fades : tuple of float
        Lengths of the joints; each edit that has joints is made with each of them.
    recordings_per_speaker : int, optional
        So many bona fide recordings of each speaker, drawn at random; None: all.
    level_step : float
        By how many dB one side of a cut is softer.
    deletion : float
        How much speech is taken out.
    channel : Channel, optional
        Band-pass and noise, as of a corpus; None: as recorded.
    level, shortest_pause, search : float
        As of a corpus (:class:`spoofspan.corpus.settings.Settings`); only splices are moved, by up to ``search``.

    Raises
    ------
    UsageError
        If something cannot be built.

    Examples
    --------
    >>> ControlSettings(edits=("splice",), cross_fades=(0.02,)).recordings_per_speaker
    10

    """

    seed: int = 1
    edits: tuple[str, ...] = tuple(EDITS)
    cross_fades: tuple[float, ...] = (0.0, 0.005, 0.02)
    recordings_per_speaker: int | None = 10
    level_step: float = 3.0
    deletion: float = 0.1
    channel: Channel | None = None
    level: float = -26.0
    shortest_pause: float = 0.06
    search: float = 0.01

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        for name in self.edits:
            if name not in EDITS:
                raise UsageError(f"edits: {name!r}: {nearest_name(name, EDITS)}")
        if not self.edits or not self.cross_fades:
            raise UsageError("edits and cross_fades: give at least one of each")
        for what, given in (("edits", self.edits), ("cross_fades", self.cross_fades)):
            if len(set(given)) < len(given):
                raise UsageError(f"{what}: one is given twice ({', '.join(map(str, given))})")
        for seconds in self.cross_fades:
            if not 0 <= seconds <= LONGEST_FADE:
                raise UsageError(f"cross_fades: {seconds!r}: must be between 0 and {LONGEST_FADE} seconds")
        if self.recordings_per_speaker is not None and self.recordings_per_speaker < 1:
            raise UsageError(
                f"recordings_per_speaker={self.recordings_per_speaker}: must be at least 1, or None for all"
            )
        if not 0 < self.level_step <= 30:
            raise UsageError(f"level_step={self.level_step}: must be more than 0 dB, and at most 30")
        if not 0.01 <= self.deletion <= 2:
            raise UsageError(f"deletion={self.deletion}: must be between 0.01 and 2 seconds")
        _ = self.corpus  # which refuses joints that do not fit into a pause

    @cached_property
    def corpus(self) -> Settings:
        """Settings of the corpus builder that does the work."""
        return Settings(
            seed=self.seed,
            held_out=(),
            channel=self.channel,
            level=self.level,
            shortest_pause=self.shortest_pause,
            overlap=max(*self.cross_fades, 0.001),
            search=self.search,
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {**asdict(self), "edits": list(self.edits), "cross_fades": list(self.cross_fades)}


@dataclass(frozen=True)
class PlannedPiece:
    """A part of a recording between two cuts, in samples, and what its samples are multiplied by besides the level."""

    recording: str
    cut_in: int
    cut_out: int
    factor: float = 1.0


@dataclass(frozen=True)
class PlannedControl:
    """One utterance."""

    utterance: str
    speaker: str
    recording: str
    unedited: str  # the utterance that is the recording as it is
    edit: str
    cross_fade: float | None  # None: it has no joint
    pieces: tuple[PlannedPiece, ...]
    search: int = 0

    @property
    def recordings(self) -> set[str]:
        """The recordings that it is made of."""
        return {one.recording for one in self.pieces}

    @property
    def overlap(self) -> int:
        """Length of its joints, in samples; even."""
        return even_samples(self.cross_fade or 0.0)


@dataclass(frozen=True)
class ControlPlan:
    """All utterances, and for how many recordings an edit found no place."""

    utterances: tuple[PlannedControl, ...]
    skipped: Mapping[str, int]


def even_samples(seconds: float) -> int:
    """An even number of samples.

    >>> even_samples(0.005), even_samples(0.0)
    (80, 0)
    """
    return 2 * round(seconds * RATE / 2)


def coded_name(codec: str, number: int) -> str:
    """Name of a recording that went through a codec; names of listed recordings may lead out of any folder."""
    return f"{codec}/R{number:04d}.wav"


def draw_recordings(found: Sequence[Recording], settings: ControlSettings) -> list[Recording]:
    """The recordings that are edited, in the order of their names."""
    by_speaker: dict[str, list[Recording]] = {}
    for one in sorted(found, key=lambda one: one.name):
        by_speaker.setdefault(one.speaker, []).append(one)
    drawn = []
    for speaker, own in by_speaker.items():
        order = stream(settings.corpus, "controls", speaker).permutation(len(own))
        drawn += [own[i] for i in order[: settings.recordings_per_speaker]]
    return sorted(drawn, key=lambda one: one.name)


def plan_controls(
    recordings: Sequence[Recording], survey: Mapping[str, Surveyed], settings: ControlSettings
) -> ControlPlan:
    """Plan every edit of every recording."""
    editor = _Editor(recordings, survey, settings)
    planned: list[PlannedControl] = []
    skipped: Counter[str] = Counter()
    for number, one in enumerate(recordings, 1):
        unedited = f"R{number:04d}_{UNEDITED}"
        whole = PlannedPiece(one.name, 0, survey[one.name].samples)
        planned.append(PlannedControl(unedited, one.speaker, one.name, unedited, UNEDITED, None, (whole,)))
        for edit in settings.edits:
            name = f"R{number:04d}_{edit}"
            told = (one.speaker, one.name, unedited, edit)
            if edit in CODECS:
                coded = PlannedPiece(coded_name(edit, number), 0, survey[one.name].samples)
                planned.append(PlannedControl(name, *told, None, (coded,)))
                continue
            made = list(editor.edited(edit, one))
            skipped[edit] += not made
            search = round(settings.search * RATE) if edit == SPLICE else 0
            planned += [
                PlannedControl(f"{name}_{1000 * fade:g}ms", *told, fade, pieces, search if fade else 0)
                for fade, pieces in made
            ]
    return ControlPlan(tuple(planned), {edit: count for edit, count in skipped.items() if count})


class _OtherRecordings(Donors):
    """Units come from other bona fide recordings of the speaker."""

    def pools(self, carrier: Recording, rng: np.random.Generator | None = None) -> list[list[Recording]]:
        others = [one for one in self.usable if one.speaker == carrier.speaker and one.name != carrier.name]
        return [others] if others else []


class _Editor:
    """Chooses where recordings are cut; the same place for every cross-fade."""

    def __init__(
        self, recordings: Sequence[Recording], survey: Mapping[str, Surveyed], settings: ControlSettings
    ) -> None:
        self._survey, self._settings = survey, settings
        self._units = {one.name: survey[one.name].units(settings.shortest_pause) for one in recordings}
        self._donors = _OtherRecordings(recordings, self._units)
        self._most = even_samples(max(settings.cross_fades))  # the longest overlap fits wherever something is cut

    def edited(self, edit: str, one: Recording) -> Iterator[tuple[float, tuple[PlannedPiece, ...]]]:
        """The pieces of an edit for each cross-fade; none where the recording has no place for it."""
        rng = stream(self._settings.corpus, one.name, edit)
        end = self._survey[one.name].samples
        softer: tuple[float, float] = (1.0, 1.0)
        if edit == SPLICE:
            parts = self._replaced(one, rng)
            yield from ((fade, parts) for fade in self._settings.cross_fades if parts)
            return
        if edit.endswith("-speech"):
            out = round(self._settings.deletion * RATE) if edit.startswith("delete") else 0
            cut = self._within_speech(one, rng, out)
        else:
            cut = self._in_pause(one, rng, half_out=edit.startswith("delete"))
        if edit == "level":
            step = 10 ** (-self._settings.level_step / 20)
            softer = (step, 1.0) if rng.random() < 0.5 else (1.0, step)
        if cut is None:
            return
        for fade in self._settings.cross_fades:
            # a rejoin has nothing beyond the cut: the sides overlap in what they have
            half = even_samples(fade) // 2 if edit.startswith("rejoin") else 0
            left = PlannedPiece(one.name, 0, cut[0] - half, softer[0])
            yield fade, (left, PlannedPiece(one.name, cut[1] + half, end, softer[1]))

    def _in_pause(self, one: Recording, rng: np.random.Generator, *, half_out: bool) -> Span | None:
        """The middle of a pause, or its middle half, with room for the longest overlap."""
        units = self._units[one.name]
        pauses = [(left.end, right.start) for left, right in pairwise(units)]
        needed = 2 * self._most  # a rejoin takes an overlap on each side of its cut
        fitting = [(start, end) for start, end in pauses if end - start >= needed]
        if not fitting:
            return None
        start, end = fitting[int(rng.integers(len(fitting)))]
        if half_out:
            quarter = (end - start) // 4
            return start + quarter, end - quarter
        return (start + end) // 2, (start + end) // 2

    def _within_speech(self, one: Recording, rng: np.random.Generator, out: int) -> Span | None:
        """A stretch of so many samples within a unit, away from its ends."""
        margin = self._most + round(MARGIN * RATE)
        fitting = [unit for unit in self._units[one.name] if unit.length >= out + 2 * margin]
        if not fitting:
            return None
        unit = fitting[int(rng.integers(len(fitting)))]
        start = int(rng.integers(unit.start + margin, unit.end - margin - out + 1))
        return start, start + out

    def _replaced(self, one: Recording, rng: np.random.Generator) -> tuple[PlannedPiece, ...]:
        """The recording with some of its units replaced, never all."""
        settings = self._settings.corpus
        if len(self._units[one.name]) < 2:
            return ()
        chosen = choose_substitutions(one, self._donors, settings, rng)
        if not chosen:
            return ()
        return tuple(PlannedPiece(*part) for part in parts_of(one.name, chosen, self._survey, settings))
