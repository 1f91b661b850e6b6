"""Localisation of spoofs in recordings: a model's scores, a threshold, ranges, and cautions.

::

    recording ──▶ scores of each branch ──▶ calibrated, fused: L = ln p(sound | bona fide) / p(sound | spoof)
                                                   │
                  spoof iff L < threshold ◀────────┤   threshold = ln(prior / (1 - prior)) unless it is given
                  P(spoof) = 1 / (1 + exp(L) (1 - prior) / prior)

If the card of the model states a channel, the recording goes through it before it is scored, and before it is compared
with the recordings of the training, whether it went through it before or not; its scores then differ from those of
``spoofspan cm score``, which applies no channel. Without one, scores and ranges are, to the bit, those of ``cm score``
and ``spoofspan convert --threshold``, except that a range is not suspected if spoof is less probable in it than the
prior (which smoothing and bridged gaps, or a prior over one half, could make of it). A model without calibration has
scores but no log-likelihood ratios: there is a threshold only if it is given, and no probability.

The same model also judges the recording through a narrower and noisier channel: a verdict that changes then rests on
little.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from spoofspan.base.errors import DataError, SpoofspanError, SpoofspanWarning, UsageError, warn_user
from spoofspan.base.times import SECOND
from spoofspan.cm.card import Card
from spoofspan.cm.chance import DEFAULT, SHORTEST, WIDEST_GAP, ChanceRanges
from spoofspan.cm.frame_times import WINDOW, finest
from spoofspan.cm.listening import Heard, ListenedSound, sound_notes, unjudgeable
from spoofspan.cm.located import ChannelCheck, LocatedRecording, Location, ModelFacts, SuspectedRange
from spoofspan.cm.out_of_domain import recording_numbers
from spoofspan.cm.scorers import Scorer
from spoofspan.cm.scoring import find_recordings, load_model, score_sounds
from spoofspan.cm.shipped_models import choose_model
from spoofspan.data.proposals import Proposals
from spoofspan.data.scores import Scores
from spoofspan.formats.sound import RATE, Sound
from spoofspan.formats.sound_channel import OPEN, Channel, SoundThroughChannel
from spoofspan.measures.events.proposals_from_scores import ProposalOptions, proposals_from_scores
from spoofspan.measures.operating_point import Threshold, check_threshold

PRIOR = 0.5
LOWER, UPPER = 1.25, 0.9  # how the edges of the band are moved for a second opinion
HARD_LOWER, HARD_UPPER = 200.0, 6400.0  # Hz: the same, of a model without a band
LOUDER_NOISE = -65.0  # dBov


@dataclass(frozen=True)
class Listening:
    """Kept parts of each recording for a page: waveform and spectrogram, and up to so many samples to be played."""

    picture: bool = False
    samples: int = 0


PAGE = Listening(picture=True, samples=600 * RATE)


def locate(
    recordings: str | Path | Sequence[str | Path] | Mapping[str, Sound],
    model: str | Path | None = None,
    *,
    threshold: Threshold | None = None,
    prior: float | None = None,
    smoothing: int | None = None,
    min_duration: float = SHORTEST,
    merge_gap: float = WIDEST_GAP,
    channel: str | None = None,
    truncated: str = "error",
    checksum: str | None = None,
    device: str | None = None,
    allow_code: bool = False,
    keep: Listening | None = None,
) -> Location:
    """Find where recordings are spoofed.

    Parameters
    ----------
    recordings
        Sound files, folders or lists, as :func:`spoofspan.cm.score` takes them, or recordings by id. Of a file with
        several channels, each is judged.
    model
        A folder (``spoofspan cm train`` or ``cm convert`` made it), a zip or tar of one, ``OWNER/NAME@COMMIT`` of the
        Hugging Face hub, or a small model of the package (``builtin:telephone``). Without it, that model of the package
        whose band the recordings fill.
    threshold
        Time is called spoof iff its score lies below it: on the scale of log-likelihood ratios, or of the finest
        branch's scores if the model has no calibration. Every range beyond it is then kept. Without it, spoof is what
        is more likely spoof than not, given the prior, in ranges where spoof is no less probable than the prior.
    prior
        How probable spoof is, before the recording is heard; probabilities are stated for it. Without it, the one that
        the card of the model advises (those of the package: one with which at most half a false range a minute is
        expected), or else 0.5.
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
    allow_code
        Permit the model to import and run the code that its configuration names (``module:Class``).
    keep
        What is kept to draw and play the recordings on a page.

    Returns
    -------
    Location
        A verdict for every recording and channel: suspected ranges, or none, or why it cannot be judged.

    Raises
    ------
    UsageError
        Without a threshold for a model that has no calibration.
    DataError
        If none of the recordings can be read.

    Examples
    --------
    >>> found = locate("call.wav", "small", prior=0.1)  # doctest: +SKIP
    >>> found["call"].ranges[0].probability  # doctest: +SKIP
    0.97

    """
    if prior is not None and not 0 < prior < 1:
        raise UsageError(f"prior={prior!r}: must lie between 0 and 1, as 0.1")
    given = None if threshold is None else check_threshold(threshold)
    options = ProposalOptions(smoothing, min_duration, merge_gap)
    sounds = recordings_to_judge(recordings, channel, truncated)
    chosen = ""
    if model is None:
        model, chosen = choose_model(sounds.values())
    scorer, card, source = load_model(model, device, checksum, allow_code=allow_code)
    branch = finest(scorer.branches)
    if branch is None:
        raise UsageError(f"{source.name} scores whole utterances only, and cannot say where; train branches of windows")
    if prior is None:
        prior = float(card.about.get("prior", PRIOR))
    name, cost, through = card.locating, card.held_out_cost, card.channel
    if cost is not None and cost >= 1:
        warn_user(
            f"{source.name}: on speakers that it did not learn from, what it says costs {cost:.2f} (Cllr), and to say "
            "nothing costs 1; its verdicts mean little (train it longer, or on more speakers and attacks)",
            SpoofspanWarning,
        )
    limit = _limit(given, prior, name, source.name)
    if threshold is not None and through != OPEN:
        warn_user(
            f"{source.name}: recordings go through its channel ({through.stated}) before they are scored, and those of "
            "cm score do not; a threshold learned from scores of cm score, or a promise of it, does not hold here",
            SpoofspanWarning,
        )
    heard, scores, problems = _scored(scorer, sounds, keep or Listening(), source.name, through)
    if scores is None:
        raise DataError("; ".join(dict.fromkeys(problems.values())))
    how = _Decision(card, branch, limit, prior, threshold is None, options)
    decided = _Decided.of(scores, heard, how)
    checks = {}
    if name is not None:
        harder = _harder(through)
        again = {one: SoundThroughChannel.of(sound.sound, harder) for one, sound in heard.items()}
        other = _Decided.of(score_sounds(scorer, again, source.name)[0], heard, how)
        checks = {one: decided.compared(other, one, harder.stated) for one in heard}
    judged = tuple(
        LocatedRecording(one, sound.name, sound.channel, problem=problems[one])
        if one in problems
        else decided.verdict(one, heard[one], checks.get(one))
        for one, sound in sounds.items()
    )
    facts = ModelFacts(source.name, source.checksum, card.about, chosen, through.stated if through != OPEN else "")
    return Location(judged, facts, limit, how.known_prior, name, decided.ratios, options, how.chance)


def _harder(channel: Channel) -> Channel:
    """A narrower and noisier channel, for a second opinion."""
    low = LOWER * channel.low if channel.low else HARD_LOWER
    high = UPPER * channel.high if channel.high < RATE / 2 else HARD_UPPER
    return Channel(low, high, LOUDER_NOISE)


@dataclass(frozen=True, eq=False)
class _Judged:
    """A recording: as it is, and through the channel of the model; the same sound if there is none."""

    sound: Sound
    raw: Heard
    scored: Heard


@dataclass(frozen=True, eq=False)
class _Decision:
    """Basis of a decision, except for the scores."""

    card: Card
    branch: str  # of the shortest windows
    limit: float
    prior: float
    by_prior: bool  # ranges in which spoof is less probable than the prior are then not suspected
    options: ProposalOptions

    @property
    def known_prior(self) -> float | None:
        """The prior, where probabilities follow from it."""
        return None if self.card.locating is None else self.prior

    @property
    def chance(self) -> ChanceRanges | None:
        """Ranges that are expected by chance, if they were counted with these options."""
        return None if self.card.locating is None or self.options != DEFAULT else self.card.chance


@dataclass(frozen=True, eq=False)
class _Decided:
    """Decisions on all recordings that could be read."""

    how: _Decision
    ratios: Scores
    of_branch: Scores  # as they are
    found: Proposals

    @classmethod
    def of(cls, scores: Mapping[str, Any], heard: Mapping[str, _Judged], how: _Decision) -> _Decided:
        """Decide by the scores of all branches."""
        of_branch, name = scores[how.branch], how.card.locating
        ratios = of_branch if name is None else how.card.ratio(name, scores)
        seconds = {one: sound.raw.seconds for one, sound in heard.items()}
        found = proposals_from_scores(ratios, how.limit, **vars(how.options), durations=seconds)
        return cls(how, ratios, of_branch, found)

    def ranges(self, recording: str) -> tuple[SuspectedRange, ...]:
        """The suspected ranges of a recording."""
        values, found = self.ratios[recording], self.found.take([recording])
        columns = found.starts, found.ends, found.confidences
        ranges = (
            SuspectedRange(int(start), int(end), float(strength), self._probability(values, int(start), int(end)))
            for start, end, strength in zip(*columns, strict=True)
        )
        least = self.how.prior if self.how.by_prior else 0.0
        return tuple(one for one in ranges if one.probability is None or one.probability >= least)

    def compared(self, other: _Decided, recording: str, channel: str) -> ChannelCheck:
        """Verdict on a recording through another channel, against this one."""
        own, there = self.ranges(recording), other.ranges(recording)
        end = max(len(self.ratios[recording]), 1) * (self.ratios.hop or 0.02) * SECOND
        both = sum(max(0, min(a.end_ns, b.end_ns) - max(a.start_ns, b.start_ns)) for a in own for b in there)
        alone = sum(one.end_ns - one.start_ns for one in (*own, *there)) - 2 * both
        seconds = sum(one.end - one.start for one in there)
        return ChannelCheck(channel, len(there), seconds, max(0.0, 1 - alone / end))

    def verdict(self, recording: str, judged: _Judged, check: ChannelCheck | None) -> LocatedRecording:
        """The verdict on one recording."""
        sound, raw = judged.sound, judged.raw
        mute = unjudgeable(raw) or self._too_short(raw.seconds)
        ranges = self.ranges(recording)
        domain = None
        if self.how.card.domain is not None and not mute:
            numbers = recording_numbers(judged.scored, self.of_branch[recording])
            domain = self.how.card.domain.judge(numbers, raw.seconds)
        answer = None
        if self.how.chance is not None and not mute and (domain is None or domain.known):
            answer = self.how.chance.answer(len(ranges), raw.seconds, self.how.limit)
        return LocatedRecording(
            recording,
            sound.name,
            sound.channel,
            raw.seconds,
            () if mute else ranges,
            domain,
            () if mute else sound_notes(raw, sound.rate),
            mute,
            self.ratios[recording],
            raw,
            answer,
            None if mute else check,
        )

    def _too_short(self, seconds: float) -> str:
        """Reason why nothing could be suspected, whatever the scores."""
        if seconds * SECOND >= self.how.options.shortest:
            return ""
        shortest = f"min_duration={self.how.options.min_duration:g}"
        return f"it lasts {seconds * 1000:.0f} ms, and ranges shorter than {shortest} s are dropped; give a smaller one"

    def _probability(self, values: Any, start: int, end: int) -> float | None:
        """The mean probability of spoof over a range: how much of it is expected to be spoofed."""
        prior = self.how.known_prior
        if prior is None or self.ratios.hop is None:
            return None
        hop = self.ratios.hop * SECOND
        own = values[round(start / hop) : max(math.ceil(end / hop - 1e-6), round(start / hop) + 1)]
        with np.errstate(over="ignore"):
            return float((1 / (1 + np.exp(own) * (1 - prior) / prior)).mean())


def _limit(threshold: float | None, prior: float, name: str | None, model: str) -> float:
    """The threshold that is given, or that the prior says."""
    if threshold is not None:
        return threshold
    if name is None:
        raise UsageError(
            f"{model} has no calibration: its scores are cosines, and nobody has measured which of them mean spoof "
            "(models of spoofspan cm convert, and of trainings that did not end, have none); give a threshold with "
            "threshold= (--threshold), such as the one that spoofspan eval prints for your development set"
        )
    return math.log(prior / (1 - prior))


def recordings_to_judge(
    recordings: str | Path | Sequence[str | Path] | Mapping[str, Sound], channel: str | None, truncated: str
) -> dict[str, Sound]:
    """All recordings that are meant, every channel of a file on its own."""
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
    scorer: Scorer, sounds: Mapping[str, Sound], keep: Listening, model: str, channel: Channel
) -> tuple[dict[str, _Judged], dict[str, Any] | None, dict[str, str]]:
    """Score the readable recordings through the channel of the model; for the others, the reason why not."""
    problems: dict[str, str] = {}
    for name, sound in sounds.items():
        try:
            if sound.samples < WINDOW:
                problems[name] = f"{sound.name}: {sound.samples / RATE * 1000:.0f} ms are too short for a single score"
        except SpoofspanError as error:
            problems[name] = str(error)
    left = keep.samples
    while good := {name: sound for name, sound in sounds.items() if name not in problems}:
        heard, scored = {}, {}
        try:
            for name, sound in good.items():
                own = sound.samples if sound.samples <= left else 0
                left -= own
                listened = ListenedSound.to(sound, Heard(keep=own, picture=keep.picture))
                scored[name] = listened if channel == OPEN else ListenedSound.to(sound, Heard(), channel)
                heard[name] = _Judged(sound, listened.heard, scored[name].heard)
                if channel != OPEN:  # the sound as it is, for notes and the page
                    for _ in listened.blocks():
                        pass
            return heard, score_sounds(scorer, scored, model)[0], problems
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
