"""Utterances made from their plans: pieces of recordings joined by overlap-add where they are most alike.

Each piece runs from a cut to a cut, both in a pause. At a joint, the next piece may begin up to ``search`` samples
earlier or later: the lag of greatest correlation is taken. Then the two fade into each other over ``overlap`` samples
around the cuts, with the power kept::

    piece 1   ...~~~~~~~~~~~|oooooo|                       stretch 1 ends with the joint
    piece 2              |oooooo|~~~~~~####...     moved by the lag, stretch 2 begins with the joint

Every sample outside of the joints is a sample of one recording, and it is known which. The noise of a channel comes
over the whole at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.times import Float64
from spoofspan.corpus.frames import RATE
from spoofspan.corpus.partialspoof_recipe import SHORTEST_PAUSE, Replacement, replace_units
from spoofspan.corpus.provenance import Joint, Origin, Provenance
from spoofspan.corpus.settings import PARTIALSPOOF, Settings
from spoofspan.corpus.source_folder import Recording
from spoofspan.corpus.splice_plan import Substitution, UtterancePlan, stream
from spoofspan.corpus.survey import Span, Surveyed, merged

SOUNDS_KEPT = 64  # in the memory of a worker


@dataclass(frozen=True)
class SplicePiece:
    """A part of a recording between two cuts; the recording goes on beyond them, which the overlaps need."""

    sound: Float64
    cut_in: int
    cut_out: int
    recording: str = ""
    gain: float = 1.0  # that the sound has been multiplied by
    attack: str | None = None


@dataclass(frozen=True)
class Spliced:
    """A result, with the origin of each piece and the joints between them."""

    sound: Float64
    origins: tuple[Origin, ...]
    joints: tuple[Joint, ...]


@dataclass(frozen=True)
class Lag:
    """By how much the right side starts later, and the correlation there."""

    samples: int
    correlation: float


def best_lag(left: Float64, right: Float64) -> Lag:
    """Lag of the content of ``left`` in ``right``, counted from the middle of what is left over.

    ``right`` is longer than ``left`` by twice the greatest lag; the normalised correlation decides, the smaller lag on
    a tie.

    >>> noise = np.random.default_rng(1).standard_normal(60)
    >>> best_lag(noise[25:45], noise[10:50]).samples
    5
    """
    spare = right.size - left.size
    if spare < 0 or spare % 2:
        raise UsageError("the right side must be longer than the left one by twice the greatest lag")
    windows = np.lib.stride_tricks.sliding_window_view(right, left.size)
    dots = (windows * left).sum(axis=1)
    norms = np.sqrt((windows**2).sum(axis=1) * (left**2).sum())
    correlations = np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0)
    lags = np.arange(spare + 1) - spare // 2
    best = int(np.lexsort((np.abs(lags), -correlations))[0])
    return Lag(int(lags[best]), float(correlations[best]))


def cross_fade(left: Float64, right: Float64, correlation: float) -> Float64:
    """Fade one sound into another, with constant power whatever their correlation is.

    Faded linearly, noise of two recordings would dip by 3 dB in the middle: a joint that shows.

    >>> cross_fade(np.ones(3), np.ones(3), 1.0).tolist()
    [1.0, 1.0, 1.0]
    """
    part = (np.arange(left.size) + 0.5) / left.size
    alike = min(max(correlation, 0.0), 1.0)
    faded: Float64 = (1 - part) * left + part * right
    faded /= np.sqrt((1 - part) ** 2 + part**2 + 2 * alike * part * (1 - part))
    return faded


def splice(pieces: Sequence[SplicePiece], *, overlap: int, search: int) -> Spliced:
    """Join pieces; ``overlap`` (even) and ``search`` are samples. Without an overlap, nothing is moved or faded."""
    half = overlap // 2
    parts: list[Float64] = []
    origins: list[Origin] = []
    joints: list[Joint] = []
    begin = pieces[0].cut_in
    reached = 0  # samples of the result
    for number, piece in enumerate(pieces):
        last = number + 1 == len(pieces)
        end = piece.cut_out if last else piece.cut_out + half
        start = reached - (overlap if number else 0)
        reached = start + end - begin
        origins.append(Origin(start, reached, piece.recording, begin, piece.gain, piece.attack))
        own = begin + (overlap if number else 0)  # what comes before is in the joint
        parts.append(piece.sound[own : end - (0 if last else overlap)])
        if last:
            break
        following = pieces[number + 1]
        _check_room(piece, following, own, half, search)
        left = piece.sound[end - overlap : end]
        around = following.cut_in - half
        lag = best_lag(left, following.sound[around - search : around + overlap + search]) if overlap else Lag(0, 0.0)
        begin = around + lag.samples
        parts.append(cross_fade(left, following.sound[begin : begin + overlap], lag.correlation))
        joints.append(Joint(reached - overlap, reached, lag.samples, lag.correlation))
    return Spliced(np.concatenate(parts), tuple(origins), tuple(joints))


def _check_room(piece: SplicePiece, following: SplicePiece, own: int, half: int, search: int) -> None:
    """Refuse overlaps that would reach beyond a recording, or into the joint before."""
    fits = (
        piece.cut_out + half <= piece.sound.size
        and piece.cut_out - half >= own
        and following.cut_in - half - search >= 0
        and following.cut_in + half + search <= following.sound.size
    )
    if not fits:
        raise UsageError("a piece is too short for its joints; take a shorter overlap, or longer pieces")


# ---------------------------------------------------------------- a plan -> an utterance


@dataclass(frozen=True)
class SpliceMaterial:
    """Material of utterances."""

    recordings: Mapping[str, Recording]
    survey: Mapping[str, Surveyed]

    def only(self, names: Collection[str]) -> SpliceMaterial:
        """The material of these recordings: workers need not be told about all."""
        return SpliceMaterial(
            {name: self.recordings[name] for name in names}, {name: self.survey[name] for name in names}
        )

    def sound(self, name: str, factor: float = 1.0) -> Float64:
        """A recording at the level of the corpus, or at this factor of it."""
        return _levelled(self.recordings[name], self.survey[name].gain * factor)


@lru_cache(SOUNDS_KEPT)
def _levelled(recording: Recording, gain: float) -> Float64:
    return recording.sound() * gain


def make_utterance(plan: UtterancePlan, material: SpliceMaterial, settings: Settings) -> tuple[Float64, Provenance]:
    """Cut, align and join: the sound, and where it comes from."""
    if settings.recipe == PARTIALSPOOF:
        spliced = _averaged(plan, material)
    else:
        overlap = 2 * round(settings.overlap * RATE / 2)
        spliced = splice(_pieces(plan, material, settings), overlap=overlap, search=round(settings.search * RATE))
    noise = stream(settings, plan.utterance, "noise")
    sound = settings.channel.noisy(spliced.sound, noise) if settings.channel else spliced.sound
    return sound, provenance_of(spliced, plan.utterance, plan.subset, plan.speaker, plan.carrier, material)


def provenance_of(
    spliced: Spliced, utterance: str, subset: str, speaker: str, carrier: str, material: SpliceMaterial
) -> Provenance:
    """Record where the samples of an utterance come from, and where someone speaks in it."""
    speech = (span for one in spliced.origins for span in _moved(material.survey[one.recording].speech, one))
    samples, spans = spliced.sound.size, tuple(merged(sorted(speech)))
    return Provenance(utterance, subset, speaker, samples, carrier, spliced.origins, spliced.joints, spans)


def remake(one: Provenance, recording: Callable[[str], Float64]) -> Float64:
    """Make the sound of an utterance again from where its samples come from, to the same bits."""
    taken = [
        recording(origin.recording)[origin.source_start :][: origin.end - origin.start] * origin.gain
        for origin in one.origins
    ]
    sound = np.empty(one.samples)
    for origin, samples in zip(one.origins, taken, strict=True):
        sound[origin.start : origin.end] = samples
    for joint, left, right in zip(one.joints, taken[:-1], taken[1:], strict=True):
        length = joint.end - joint.start
        sound[joint.start : joint.end] = cross_fade(left[left.size - length :], right[:length], joint.correlation)
    return sound


def _pieces(plan: UtterancePlan, material: SpliceMaterial, settings: Settings) -> list[SplicePiece]:
    """The sound of each part of an utterance."""
    return [
        SplicePiece(
            material.sound(name), cut_in, cut_out, name, material.survey[name].gain, material.recordings[name].attack
        )
        for name, cut_in, cut_out in parts_of(plan.carrier, plan.substitutions, material.survey, settings)
    ]


def parts_of(
    carrier: str, substitutions: Sequence[Substitution], survey: Mapping[str, Surveyed], settings: Settings
) -> list[tuple[str, int, int]]:
    """The carrier with its replaced units cut out, and the donors in between: recording, first cut, last cut."""
    units = survey[carrier].units(settings.shortest_pause)
    parts: list[tuple[str, int, int]] = []
    reached = 0
    for one in substitutions:
        replaced = units[one.unit]
        donated = survey[one.donor].units(settings.shortest_pause)[one.donor_unit]
        parts += [(carrier, reached, replaced.cut_in), (one.donor, donated.cut_in, donated.cut_out)]
        reached = replaced.cut_out
    parts.append((carrier, reached, survey[carrier].samples))
    return [(name, cut_in, cut_out) for name, cut_in, cut_out in parts if cut_out > cut_in]


def _averaged(plan: UtterancePlan, material: SpliceMaterial) -> Spliced:
    """The carrier with units replaced, by the recipe of PartialSpoof."""

    def taken(name: str, number: int, place: int) -> Replacement:
        recording, looked = material.recordings[name], material.survey[name]
        unit = looked.units(SHORTEST_PAUSE)[place]
        return Replacement(number, name, recording.attack, looked.gain, material.sound(name), unit)

    units = material.survey[plan.carrier].units(SHORTEST_PAUSE)
    replacements = [taken(one.donor, one.unit, one.donor_unit) for one in plan.substitutions]
    return Spliced(*replace_units(taken(plan.carrier, 0, 0), units, replacements))


def _moved(speech: Sequence[Span], origin: Origin) -> list[Span]:
    """The speech of a recording where it is in the result."""
    moved = origin.start - origin.source_start
    spans = ((max(start + moved, origin.start), min(end + moved, origin.end)) for start, end in speech)
    return [(start, end) for start, end in spans if start < end]
