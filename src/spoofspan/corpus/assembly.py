"""Making utterances of their plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from spoofspan.corpus.frames import RATE, Float64
from spoofspan.corpus.provenance import Origin, Provenance
from spoofspan.corpus.settings import Settings
from spoofspan.corpus.source_folder import Recording
from spoofspan.corpus.splice_plan import UtterancePlan
from spoofspan.corpus.splicing import Piece, Stretch, splice
from spoofspan.corpus.survey import Span, Surveyed
from spoofspan.formats.sound import read_sound

SOUNDS_KEPT = 64  # in the memory of a worker


@dataclass(frozen=True)
class Made:
    """An utterance: its sound and where it comes from."""

    sound: Float64
    provenance: Provenance


@dataclass(frozen=True)
class Material:
    """What utterances are made of."""

    recordings: Mapping[str, Recording]
    survey: Mapping[str, Surveyed]

    def sound(self, name: str) -> Float64:
        """A recording at the level of the corpus."""
        return _levelled(self.recordings[name].path, self.survey[name].gain)


@lru_cache(SOUNDS_KEPT)
def _levelled(path: Path, gain: float) -> Float64:
    return read_sound(path) * gain


def make_utterance(plan: UtterancePlan, material: Material, settings: Settings) -> Made:
    """Cut, align and join."""
    names, pieces = _pieces(plan, material, settings)
    spliced = splice(pieces, overlap=2 * round(settings.overlap * RATE / 2), search=round(settings.search * RATE))
    origins = tuple(
        Origin(
            stretch.start,
            stretch.end,
            name,
            stretch.source_start,
            material.survey[name].gain,
            material.recordings[name].attack,
        )
        for name, stretch in zip(names, spliced.stretches, strict=True)
    )
    speech = _merged(
        span
        for name, stretch in zip(names, spliced.stretches, strict=True)
        for span in _moved(material.survey[name].speech, stretch)
    )
    provenance = Provenance(
        plan.utterance, plan.subset, plan.speaker, spliced.sound.size, plan.carrier, origins, spliced.joints, speech
    )
    return Made(spliced.sound, provenance)


def _pieces(plan: UtterancePlan, material: Material, settings: Settings) -> tuple[list[str], list[Piece]]:
    """The carrier with its replaced units cut out, and the donors in between; names of recordings and their pieces."""
    carrier = material.survey[plan.carrier]
    units = carrier.units(settings.shortest_pause)
    names: list[str] = []
    pieces: list[Piece] = []

    def add(name: str, cut_in: int, cut_out: int) -> None:
        if cut_out > cut_in:
            names.append(name)
            pieces.append(Piece(material.sound(name), cut_in, cut_out))

    reached = 0
    for one in plan.substitutions:
        replaced = units[one.unit]
        donated = material.survey[one.donor].units(settings.shortest_pause)[one.donor_unit]
        add(plan.carrier, reached, replaced.cut_in)
        add(one.donor, donated.cut_in, donated.cut_out)
        reached = replaced.cut_out
    add(plan.carrier, reached, carrier.samples)
    return names, pieces


def _moved(speech: Sequence[Span], stretch: Stretch) -> list[Span]:
    """The speech of a recording where it is in the result."""
    moved = stretch.start - stretch.source_start
    spans = ((max(start + moved, stretch.start), min(end + moved, stretch.end)) for start, end in speech)
    return [(start, end) for start, end in spans if start < end]


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Spans in order, overlapping ones as one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
