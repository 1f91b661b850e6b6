"""Splicing: pieces of recordings one after the other, joined by overlap-add where they are most alike.

Each piece runs from a cut to a cut, both in a pause. At a joint, the next piece may begin up to ``search`` samples
earlier or later: the lag of greatest correlation is taken. Then the two fade into each other over ``overlap`` samples
around the cuts, with the power kept::

    piece 1   ...~~~~~~~~~~~|oooooo|                       stretch 1 ends with the joint
    piece 2              |oooooo|~~~~~~####...     moved by the lag, stretch 2 begins with the joint

Every sample outside of the joints is a sample of one recording, and it is known which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.corpus.frames import Float64


@dataclass(frozen=True)
class Piece:
    """A part of a recording between two cuts; the recording goes on beyond them, which the overlaps need."""

    sound: Float64
    cut_in: int
    cut_out: int


@dataclass(frozen=True)
class Stretch:
    """Samples ``start`` to ``end`` of the result are those of a piece's recording from ``source_start`` on."""

    start: int
    end: int
    source_start: int


@dataclass(frozen=True)
class Joint:
    """Samples of the result in which two stretches overlap, by which lag they were aligned and how alike they were."""

    start: int
    end: int
    lag: int
    correlation: float


@dataclass(frozen=True)
class Spliced:
    """A result, with one stretch per piece and the joints between them."""

    sound: Float64
    stretches: tuple[Stretch, ...]
    joints: tuple[Joint, ...]


@dataclass(frozen=True)
class Lag:
    """By how much the right side starts later, and the correlation there."""

    samples: int
    correlation: float


def best_lag(left: Float64, right: Float64) -> Lag:
    """Where in ``right`` the content of ``left`` is found, counted from the middle of what is left over.

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


def splice(pieces: Sequence[Piece], *, overlap: int, search: int) -> Spliced:
    """Join pieces; ``overlap`` (even) and ``search`` are samples."""
    half = overlap // 2
    parts: list[Float64] = []
    stretches: list[Stretch] = []
    joints: list[Joint] = []
    begin = pieces[0].cut_in
    reached = 0  # samples of the result
    for number, piece in enumerate(pieces):
        last = number + 1 == len(pieces)
        end = piece.cut_out if last else piece.cut_out + half
        start = reached - (overlap if number else 0)
        stretches.append(Stretch(start, start + end - begin, begin))
        reached = start + end - begin
        own = begin + (overlap if number else 0)  # what comes before is in the joint
        parts.append(piece.sound[own : end - (0 if last else overlap)])
        if last:
            break
        following = pieces[number + 1]
        _check_room(piece, following, own, half, search)
        left = piece.sound[end - overlap : end]
        around = following.cut_in - half
        lag = best_lag(left, following.sound[around - search : around + overlap + search])
        begin = around + lag.samples
        parts.append(cross_fade(left, following.sound[begin : begin + overlap], lag.correlation))
        joints.append(Joint(reached - overlap, reached, lag.samples, lag.correlation))
    return Spliced(np.concatenate(parts), tuple(stretches), tuple(joints))


def _check_room(piece: Piece, following: Piece, own: int, half: int, search: int) -> None:
    """Refuse overlaps that would reach beyond a recording, or into the joint before."""
    fits = (
        piece.cut_out + half <= piece.sound.size
        and piece.cut_out - half >= own
        and following.cut_in - half - search >= 0
        and following.cut_in + half + search <= following.sound.size
    )
    if not fits:
        raise UsageError("a piece is too short for its joints; take a shorter overlap, or longer pieces")
