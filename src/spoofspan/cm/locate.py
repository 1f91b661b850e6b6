"""From recordings to where they are spoofed: a model's scores, a threshold, ranges; and what to think of them.

::

    recording ──▶ scores of each branch ──▶ calibrated, fused: L = ln p(sound | bona fide) / p(sound | spoof)
                                                   │
                  spoof iff L < threshold ◀────────┤   threshold = ln(prior / (1 - prior)) unless it is given
                  P(spoof) = 1 / (1 + exp(L) (1 - prior) / prior)

The scores are those of ``spoofspan cm score`` and the ranges those of ``spoofspan convert --threshold``, to the bit. A
model without calibration has scores but no log-likelihood ratios: there is a threshold only if it is given, and no
probability.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from spoofspan.base.errors import DataError, SpoofspanError, SpoofspanWarning, UsageError
from spoofspan.base.times import SECOND
from spoofspan.cm.frame_times import WINDOW
from spoofspan.cm.listening import Heard, ListenedSound
from spoofspan.cm.located import LocatedRecording, Location, ModelFacts, SuspectedRange
from spoofspan.cm.out_of_domain import TrainingDomain, recording_numbers
from spoofspan.cm.scorers import Scorer
from spoofspan.cm.scoring import find_recordings, finest_branch, load_model, score_sounds
from spoofspan.cm.sound_notes import sound_notes, unjudgeable
from spoofspan.data.proposals import Proposals
from spoofspan.data.scores import Scores
from spoofspan.formats.sound import RATE, Sound
from spoofspan.measures.events.proposals_from_scores import ProposalOptions, proposals_from_scores
from spoofspan.measures.operating_point import Threshold, check_threshold

PRIOR = 0.5
SHORTEST, WIDEST_GAP = 0.1, 0.1  # seconds: what a person would call a range


@dataclass(frozen=True)
class Listening:
    """What is kept of each recording for a page: waveform and spectrogram, and up to so many samples to be played."""

    picture: bool = False
    samples: int = 0


PAGE = Listening(picture=True, samples=600 * RATE)


def locate(
    recordings: str | Path | Sequence[str | Path] | Mapping[str, Sound],
    model: str | Path | None,
    *,
    threshold: Threshold | None = None,
    prior: float = PRIOR,
    smoothing: int | None = None,
    min_duration: float = SHORTEST,
    merge_gap: float = WIDEST_GAP,
    channel: str | None = None,
    truncated: str = "error",
    checksum: str | None = None,
    device: str | None = None,
    keep: Listening | None = None,
) -> Location:
    """Find where recordings are spoofed.

    Parameters
    ----------
    recordings
        Sound files, folders or lists, as :func:`spoofspan.cm.score` takes them, or recordings by id. Of a file with
        several channels, each is judged.
    model
        A folder (``spoofspan cm train`` or ``cm convert`` made it), a zip or tar of one, or ``OWNER/NAME@COMMIT`` of
        the Hugging Face hub.
    threshold
        Time is called spoof iff its score lies below it: on the scale of log-likelihood ratios, or of the finest
        branch's scores if the model has no calibration. Without it, spoof is what is more likely spoof than not, given
        the prior.
    prior
        How probable spoof is, before the recording is heard; probabilities are stated for it.
    smoothing, min_duration, merge_gap
        As in :func:`spoofspan.proposals_from_scores`.
    channel
        ``"mix"`` or the number of a channel, instead of each.
    truncated
        Files with fewer samples than their header states: ``"error"``, or ``"use"`` what is there.
    checksum
        The SHA-256 that the weights of the model must have.
    device
        ``cpu``, ``cuda`` or ``cuda:0``; without it, a GPU if there is one.
    keep
        What is kept to draw and play the recordings on a page.

    Returns
    -------
    Location
        A verdict for every recording and channel: suspected ranges, or none, or why it cannot be judged.

    Raises
    ------
    UsageError
        Without a model, or without a threshold for a model that has no calibration.
    DataError
        If none of the recordings can be read.

    Examples
    --------
    >>> found = locate("call.wav", "small", prior=0.1)  # doctest: +SKIP
    >>> found["call"].ranges[0].probability  # doctest: +SKIP
    0.97

    """
    if not 0 < prior < 1:
        raise UsageError(f"prior={prior!r}: must lie between 0 and 1, as 0.1")
    options = ProposalOptions(smoothing, min_duration, merge_gap)
    scorer, card, source = load_model(model, device, checksum)
    name = card.locating if card is not None else None
    cost = card.held_out_cost if card is not None else None
    if cost is not None and cost >= 1:
        warnings.warn(
            f"{source.name}: on speakers that it did not learn from, what it says costs {cost:.2f} (Cllr), and to say "
            "nothing costs 1; its verdicts mean little (train it longer, or on more speakers and attacks)",
            SpoofspanWarning,
            stacklevel=2,
        )
    limit = _limit(threshold, prior, name, source.name)
    facts = ModelFacts(source.name, source.checksum, {} if card is None else card.about)
    sounds = _meant(recordings, channel, truncated)
    heard, scores, problems = _scored(scorer, sounds, keep or Listening(), source.name)
    if scores is None:
        raise DataError("; ".join(dict.fromkeys(problems.values())))
    finest = finest_branch(scores)
    if finest is None:
        raise UsageError(f"{source.name} scores whole utterances only, and cannot say where; train branches of windows")
    ratios = finest if card is None or name is None else card.ratio(name, scores)
    decided = _Decided(
        ratios,
        finest,
        proposals_from_scores(
            ratios, limit, **vars(options), durations={one: sound.heard.seconds for one, sound in heard.items()}
        ),
        None if name is None else prior,
        None if card is None else card.domain,
        options,
    )
    judged = tuple(
        LocatedRecording(one, sound.name, sound.channel, problem=problems[one])
        if one in problems
        else decided.verdict(one, sound, heard[one].heard)
        for one, sound in sounds.items()
    )
    return Location(judged, facts, limit, decided.prior, name, ratios, options)


@dataclass(frozen=True, eq=False)
class _Decided:
    """What was decided of all recordings that could be read."""

    ratios: Scores
    finest: Scores  # as the branch gave them
    found: Proposals
    prior: float | None
    domain: TrainingDomain | None
    options: ProposalOptions

    @cached_property
    def rows(self) -> dict[str, int]:
        return {one: row for row, one in enumerate(self.ratios.utterances)}

    def verdict(self, recording: str, sound: Sound, heard: Heard) -> LocatedRecording:
        """The verdict on one recording."""
        row = self.rows[recording]
        values, branch = (one.values[slice(*one.offsets[row : row + 2])] for one in (self.ratios, self.finest))
        rows = slice(*self.found.offsets[row : row + 2])
        columns = self.found.starts[rows], self.found.ends[rows], self.found.confidences[rows]
        mute = unjudgeable(heard) or self._too_short(heard.seconds)
        ranges = tuple(
            SuspectedRange(int(start), int(end), float(strength), self._probability(values, int(start), int(end)))
            for start, end, strength in zip(*columns, strict=True)
        )
        numbers = recording_numbers(heard, branch)
        return LocatedRecording(
            recording,
            sound.name,
            sound.channel,
            heard.seconds,
            () if mute else ranges,
            None if mute or self.domain is None else self.domain.judge(numbers, heard.seconds),
            () if mute else sound_notes(heard, sound.rate),
            mute,
            values,
            heard,
        )

    def _too_short(self, seconds: float) -> str:
        """Why nothing could be suspected, whatever the scores."""
        if seconds * SECOND >= self.options.shortest:
            return ""
        shortest = f"min_duration={self.options.min_duration:g}"
        return f"it lasts {seconds * 1000:.0f} ms, and ranges shorter than {shortest} s are dropped; give a smaller one"

    def _probability(self, values: Any, start: int, end: int) -> float | None:
        """The mean probability of spoof over a range: how much of it is expected to be spoofed."""
        if self.prior is None or self.ratios.hop is None:
            return None
        hop = self.ratios.hop * SECOND
        own = values[round(start / hop) : max(math.ceil(end / hop - 1e-6), round(start / hop) + 1)]
        with np.errstate(over="ignore"):
            return float((1 / (1 + np.exp(own) * (1 - self.prior) / self.prior)).mean())


def _limit(threshold: Threshold | None, prior: float, name: str | None, model: str) -> float:
    """The threshold that is given, or that the prior says."""
    if threshold is not None:
        return check_threshold(threshold)
    if name is None:
        raise UsageError(
            f"{model} has no calibration: its scores are cosines, and nobody has measured which of them mean spoof "
            "(models of spoofspan cm convert, and of trainings that did not end, have none); give a threshold with "
            "threshold= (--threshold), such as the one that spoofspan eval prints for your development set"
        )
    return math.log(prior / (1 - prior))


def _meant(
    recordings: str | Path | Sequence[str | Path] | Mapping[str, Sound], channel: str | None, truncated: str
) -> dict[str, Sound]:
    """All recordings, every channel on its own."""
    if isinstance(recordings, Mapping):
        found = dict(recordings)
    else:
        found = find_recordings(recordings, channel=channel, truncated=truncated)
    sounds: dict[str, Sound] = {}
    for name, sound in found.items():
        count = 1
        if sound.channel is None:
            with suppress(SpoofspanError):  # said when it is read
                count = sound.channels
        for number in range(count):
            own = name if count == 1 else f"{name}_ch{number}"
            if own in sounds or (count > 1 and own in found):
                raise DataError(
                    f"{sound.name}: its channel {number} would be called {own!r}, as another recording is; "
                    "rename one of the files"
                )
            sounds[own] = sound if count == 1 else replace(sound, channel=str(number))
    return sounds


def _scored(
    scorer: Scorer, sounds: Mapping[str, Sound], keep: Listening, model: str
) -> tuple[dict[str, ListenedSound], dict[str, Any] | None, dict[str, str]]:
    """Score what can be read, and say why the rest cannot."""
    problems: dict[str, str] = {}
    for name, sound in sounds.items():
        try:
            if sound.samples < WINDOW:
                problems[name] = f"{sound.name}: {sound.samples / RATE * 1000:.0f} ms are too short for a single score"
        except SpoofspanError as error:
            problems[name] = str(error)
    left = keep.samples
    while good := {name: sound for name, sound in sounds.items() if name not in problems}:
        heard = {}
        for name, sound in good.items():
            own = sound.samples if sound.samples <= left else 0
            left -= own
            heard[name] = ListenedSound.of(sound, Heard(keep=own, picture=keep.picture))
        try:
            return heard, score_sounds(scorer, heard, model)[0], problems
        except DataError:  # a fault in the middle of one of them
            broken = {name: why for name, sound in good.items() if (why := _fault(sound))}
            if not broken:
                raise
            problems |= broken
            left = keep.samples
    return {}, None, problems


def _fault(sound: Sound) -> str:
    try:
        for _ in sound.blocks():
            pass
    except SpoofspanError as error:
        return str(error)
    return ""
