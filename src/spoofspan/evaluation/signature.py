"""Signatures: a number travels with what it was computed from.

Two parts. Numbers whose ``comparable`` parts are equal may be compared: the same measure under the same rules on the
same references. ``input`` identifies the scores. Both are generated from the objects that were used, never typed.

The hashes are over a canonical form, so the same content has the same hash whatever container it came in: utterances
sorted by id, touching ranges of equal content merged, edges in ns, scores as float64 in bona fide polarity; frames
equal the ranges they stand for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import blocks, chosen_ids, first_rows, has_rows, order_by_id, within_utterances
from spoofspan.base.hashing import ContentHash, utterances_hash
from spoofspan.base.threads import in_order
from spoofspan.base.times import Int64, duration_ns
from spoofspan.data.references import References
from spoofspan.data.rules import RULES_VERSION, Regions
from spoofspan.data.scores import Scores, score_times, whole_hop
from spoofspan.data.sides import check_sides
from spoofspan.mass.label_rules import merge_overlaps
from spoofspan.mass.score_runs import mirrored

if TYPE_CHECKING:
    from spoofspan.data.utterance_scores import UtteranceScores, VerificationScores

Rows = npt.NDArray[np.intp] | slice
_ROWS = 1 << 16


@dataclass(frozen=True)
class Signature:
    """The signature of a measurement: numbers whose ``comparable`` parts are equal may be compared.

    Parameters
    ----------
    comparable
        The measure, its parameters and rules, and hashes of the references and of the utterances measured.
    input
        A hash of what the system said.

    Examples
    --------
    >>> print(Signature("range-eer|rules:1", "scores:abc"))
    range-eer|rules:1 || scores:abc
    """

    comparable: str
    input: str

    def __str__(self) -> str:
        return f"{self.comparable} || {self.input}"

    @property
    def short(self) -> str:
        """The first characters of a hash of each part, to see at a glance whether two are the same.

        >>> Signature("range-eer|rules:1", "scores:abc").short
        'e7a86458 || 7f3d781d'
        """
        return " || ".join(map(short_hash, (self.comparable, self.input)))

    def to_dict(self) -> dict[str, str]:
        """Both parts as plain data."""
        return {"comparable": self.comparable, "input": self.input}


def short_hash(text: str) -> str:
    """Eight characters that stand for a part of a signature where a person reads it."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


class ReferencesHash:
    """Hashes who is spoofed when: ids, durations, ranges with their labels and kinds; pieces as above."""

    def __init__(self) -> None:
        self._hashed = ContentHash("references 1")
        self._any_kind = False

    def add(self, references: References) -> None:
        """Add a piece."""
        tidy = merge_overlaps(references.take(order_by_id(references.utterances)))
        # kinds as names, since codes depend on which others occur
        kinds = np.full(tidy.starts.size, -1) if tidy.kinds is None else tidy.kinds.astype(np.int64)
        content = tidy.labels.astype(np.int64) * 2**32 + kinds
        self._hashed.add_texts("ids", tidy.utterances)
        if tidy.durations is not None:
            self._hashed.add("durations", tidy.durations.astype("<i8"))
        names = [*tidy.kind_names, ""]
        kept, columns = _runs(tidy.offsets, tidy.starts, tidy.ends, content)
        for name, column in columns.items():
            self._hashed.add(name, column)
        self._hashed.add("labels", tidy.labels[kept].astype("<i8"))
        some = bool((kinds >= 0).any())
        if kinds[kept].size:
            texts = (names[kind] for kind in kinds[kept]) if some else [""] * kinds[kept].size
            self._hashed.add_texts("kinds", texts)
        self._any_kind |= some

    def digest(self) -> str:
        """The hash of what was added."""
        return self._hashed.digest(leave_out=() if self._any_kind else ("kinds",))


class ScoresHash:
    """Hashes what a system said: ids and the piecewise-constant scores; pieces as above."""

    def __init__(self) -> None:
        self._hashed = ContentHash("scores 1")
        self._decisions = False

    def add(self, scores: Scores) -> None:
        """Add a piece."""
        hashed = self._hashed
        self._decisions |= scores.decisions
        order = order_by_id(scores.utterances)
        hashed.add_texts("ids", chosen_ids(scores.utterances, order))
        rows = np.diff(scores.offsets)[order]

        turned = np.subtract if scores.higher == "spoof" else np.add

        def runs(span: tuple[int, int]) -> dict[str, npt.NDArray[Any]]:
            some = scores.take(order[slice(*span)])
            # no negative zero comes out of either
            values = turned(0.0, some.values, dtype=np.float64)
            hop = whole_hop(some)
            first, columns = (
                _runs(some.offsets, *score_times(some), values) if hop is None else _frame_runs(some, hop, values)
            )
            kept = values[first] if isinstance(first, slice) else values.take(first)  # a third faster
            return columns | {"scores": kept.astype("<f8", copy=False)}

        # while some are hashed here, the next are made elsewhere
        spans = blocks(rows, np.zeros_like(rows), _ROWS, 1)
        for columns in in_order(runs, spans, unasked=2, caller_works=True):
            for name, column in columns.items():
                hashed.add(name, column)

    def digest(self) -> str:
        """The hash of what was added."""
        if self._decisions:  # they are not the same input as scores that happen to be 0 and 1
            self._hashed.add("decisions", b"hard")
        return self._hashed.digest()


def references_hash(references: References) -> str:
    """Hash who is spoofed when."""
    hashed = ReferencesHash()
    hashed.add(references)
    return hashed.digest()


def scores_hash(scores: Scores) -> str:
    """Hash what a system said."""
    hashed = ScoresHash()
    hashed.add(scores)
    return hashed.digest()


def utterance_scores_hash(scores: UtteranceScores) -> str:
    """Hash what a system said of whole utterances."""
    order = order_by_id(scores.utterances)
    hashed = ContentHash("utterance scores 1")
    hashed.add_texts("ids", chosen_ids(scores.utterances, order))
    values = mirrored(scores.values[order], scores.higher)
    hashed.add("scores", (values + 0.0).astype("<f8"))  # no negative zero
    return hashed.digest()


@lru_cache(maxsize=1)
def verification_hash(scores: VerificationScores) -> str:
    """Hash the scores of a verification system, by kind of trial and in any order."""
    from spoofspan.data.utterance_scores import TRIALS

    hashed = ContentHash("verification scores 1")
    for kind in TRIALS:
        hashed.add(kind, (np.sort(getattr(scores, kind)) + 0.0).astype("<f8"))
    return hashed.digest()


def used_hash(utterances: Sequence[str]) -> str:
    """How many utterances were measured, and a hash of their ids."""
    return f"{len(utterances)}:{utterances_hash(utterances)}"


def regions_hash(regions: Regions) -> str:
    """Hash the regions that count."""
    hashed = ContentHash("regions 1")
    for utt in sorted(regions):
        edges = sorted(tuple(duration_ns(t, "region") for t in region) for region in regions[utt])
        hashed.add("regions", f"{utt}\0{edges}\0".encode("utf-8", "surrogatepass"))
    return hashed.digest()


def _merged(offsets: Int64, starts: Int64, ends: Int64, content: npt.NDArray[Any]) -> tuple[Rows, Rows]:
    """First and last row of every stretch of touching ranges with equal content."""
    joined = within_utterances(offsets, (starts[1:] == ends[:-1]) & (content[1:] == content[:-1]))
    if not joined.any():
        return slice(None), slice(None)
    return np.flatnonzero(np.concatenate(([True], ~joined))), np.flatnonzero(np.concatenate((~joined, [True])))


def _runs(
    offsets: Int64, starts: Int64, ends: Int64, content: npt.NDArray[Any]
) -> tuple[Rows, dict[str, npt.NDArray[Any]]]:
    """The first row of each stretch of equal content, and where they lie, as it is hashed."""
    first, last = _merged(offsets, starts, ends, content)
    before = offsets if isinstance(first, slice) else np.searchsorted(first, offsets)
    return first, {
        "counts": np.diff(before).astype("<i8"),
        "starts": starts[first].astype("<i8", copy=False),
        "ends": ends[last].astype("<i8", copy=False),
    }


def _frame_runs(scores: Scores, hop: int, values: npt.NDArray[Any]) -> tuple[Rows, dict[str, npt.NDArray[Any]]]:
    """Find the :func:`_runs` of frames that touch in a third of the time: no times are made of frames that go on."""
    begins = np.empty(values.size, np.bool_)
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    begins[first_rows(scores.offsets)] = True
    some = has_rows(scores.offsets)
    first: Rows = slice(None)
    if begins.all():
        rows, before = np.arange(values.size), scores.offsets
    else:
        first = rows = np.flatnonzero(begins)
        before = np.searchsorted(rows, scores.offsets)
    counts = np.diff(before)
    origins = np.zeros(counts.size, np.int64) if scores.origins is None else scores.origins
    starts = rows * hop
    starts += np.repeat(origins - scores.offsets[:-1] * hop, counts)
    ends = np.empty_like(starts)
    ends[:-1] = starts[1:]
    ends[before[1:][some] - 1] = (origins + np.diff(scores.offsets) * hop)[some]
    columns = {"counts": counts, "starts": starts, "ends": ends}
    return first, {name: column.astype("<i8", copy=False) for name, column in columns.items()}


@dataclass(frozen=True, eq=False)
class Inputs:
    """What was measured; several measurements share its hashes, which are computed when the first is signed."""

    references: References
    scores: Scores

    def __post_init__(self) -> None:
        check_sides(self.references, self.scores)

    @cached_property
    def references_hash(self) -> str:
        """Who is spoofed when."""
        return references_hash(self.references)

    @cached_property
    def scores_hash(self) -> str:
        """What a system said."""
        return scores_hash(self.scores)


def sign(
    measure: str,
    eer_rule: str,
    spelled_rules: dict[str, str],
    inputs: Inputs,
    used: Sequence[str],
    regions: Regions | None,
) -> Signature:
    """Generate the signature of a measurement on the utterances ``used``."""
    hashes = inputs.references_hash, used_hash(used), inputs.scores_hash
    return sign_hashes(measure, eer_rule, spelled_rules, hashes, regions)


def sign_hashes(
    measure: str, eer_rule: str, spelled_rules: dict[str, str], hashes: tuple[str, str, str], regions: Regions | None
) -> Signature:
    """Generate the signature, given the hashes of the references, of the utterances used and of the scores."""
    rules = spelled_rules if regions is None else {**spelled_rules, "regions": regions_hash(regions)}
    fields = [measure, eer_rule, *(f"{name}:{value}" for name, value in rules.items())]
    fields += [f"rules:{RULES_VERSION}", f"references:{hashes[0]}", f"utterances:{hashes[1]}"]
    return Signature("|".join(fields), f"scores:{hashes[2]}")
