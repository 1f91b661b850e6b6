"""Signatures: the rules and inputs behind a number.

A signature has two parts. Numbers with equal ``comparable`` parts may be compared: they are of the same measure under
the same rules on the same references. ``input`` identifies the scores, and the threshold if one was given. Both are
generated from the objects that were used.

The comparable part states every rule about scores and points. Of the rules about references it states those that
changed a label of the measured utterances (:class:`AppliedRules`), so that one corpus has one comparable part for all
files and objects. ``docs/decisions/0019-what-a-signature-states.md`` gives the reasons.

The hashes are over a canonical form, so that equal content has equal hashes in any container: utterances sorted by id,
touching ranges of equal label merged, edges in ns, scores as float64 in bona fide polarity; frames equal the same
ranges. Names of attacks change no value and are not hashed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import (
    blocks,
    chosen_ids,
    order_by_id,
    positions,
    within_utterances,
)
from spoofspan.base.hashing import ContentHash, utterances_hash
from spoofspan.base.numbers import shortest_text
from spoofspan.base.times import Int64
from spoofspan.data.references import References
from spoofspan.data.rules import RULES, RULES_VERSION, Rules
from spoofspan.data.scores import Higher, Scores, score_times
from spoofspan.evaluation.signature_text import SignatureFields, parse_signature, short_text
from spoofspan.mass.labelling import label_references, merge_overlaps
from spoofspan.mass.score_runs import mirrored

if TYPE_CHECKING:
    from spoofspan.data.utterance_scores import UtteranceScores

_ROWS = 1 << 16


@dataclass(frozen=True)
class Signature:
    """The signature of a measurement; numbers with equal ``comparable`` parts may be compared.

    Parameters
    ----------
    comparable
        The measure, its parameters and rules, and hashes of the references and of the utterances measured.
    input
        A hash of the system's scores, and the threshold if one was given.
    convention
        The named set of rules for the short form. It is not compared, since the rules are in ``comparable``.

    Examples
    --------
    >>> import spoofspan as ss
    >>> references = ss.References.from_ranges({"u1": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]})
    >>> frames = {"u1": [0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]}
    >>> scores = ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")
    >>> signature = ss.range_eer(references, scores, eer_rule="interpolated").signature
    >>> signature.input
    'scores:5a43a6f862f31b14'
    >>> signature.short
    'range-eer|default|eer:interpolated|rules:2|refs:0db594|n:1|scores:5a43a6|v0.1'
    """

    comparable: str
    input: str
    convention: str = field(default="default", compare=False)

    def __str__(self) -> str:
        return f"{self.comparable} || {self.input}"

    @cached_property
    def fields(self) -> SignatureFields:
        """All fields by name."""
        return parse_signature(str(self))

    @property
    def short(self) -> str:
        """The short form for papers, with at most 80 characters; ``spoofspan explain`` and ``verify`` read it."""
        return short_text(self.fields, self.convention)

    @property
    def short_comparable(self) -> str:
        """The short form without the hash of the scores, for several systems."""
        return short_text(replace(self.fields, systems={}), self.convention)

    def differences(self, other: Signature) -> dict[str, tuple[str, str]]:
        """The fields in which the comparable parts of two signatures differ, by name."""
        one, two = (replace(signature.fields, systems={}) for signature in (self, other))
        return one.differences(two)

    def to_dict(self) -> dict[str, str]:
        """Both parts as plain data."""
        return {"comparable": self.comparable, "input": self.input}


class ReferencesHash:
    """Hash of references, added in pieces with rising ids: ids, durations, labelled ranges, optionally attacks."""

    def __init__(self, *, attacks: bool = False) -> None:
        self._hashed = ContentHash("references 2")
        self._attacks = attacks

    def add(self, references: References) -> None:
        """Add a piece."""
        ordered = references.take(order_by_id(references.utterances))
        tidy = merge_overlaps(ordered if self._attacks else replace(ordered, attacks=None, attack_names=()))
        attacks = np.full(tidy.starts.size, -1) if tidy.attacks is None else tidy.attacks.astype(np.int64)
        content = tidy.labels.astype(np.int64) * 2**32 + attacks
        self._hashed.add_texts("ids", tidy.utterances)
        if tidy.durations is not None:
            self._hashed.add("durations", tidy.durations.astype("<i8"))
        kept, columns = _runs(tidy.offsets, tidy.starts, tidy.ends, content)
        for name, column in columns.items():
            self._hashed.add(name, column)
        self._hashed.add("labels", tidy.labels[kept].astype("<i8"))
        if self._attacks:  # as names, since codes depend on which others occur
            names = [*tidy.attack_names, ""]
            self._hashed.add_texts("attacks", [names[attack] for attack in attacks[kept].tolist()])

    def digest(self) -> str:
        """The hash of all pieces."""
        return self._hashed.digest()


class ScoresHash:
    """Hash of scores, added in pieces with rising ids: ids and the piecewise-constant scores.

    Neighbours with equal scores are merged, unless ``rows`` are hashed one by one.
    """

    def __init__(self, *, rows: bool = False) -> None:
        self._hashed = ContentHash("score rows 1" if rows else "scores 1")
        self._rows = rows
        self._decisions = False

    def add(self, scores: Scores) -> None:
        """Add a piece."""
        hashed = self._hashed
        self._decisions |= scores.decisions
        order = order_by_id(scores.utterances)
        hashed.add_texts("ids", chosen_ids(scores.utterances, order))
        rows = np.diff(scores.offsets)[order]

        turned = np.subtract if scores.higher == "spoof" else np.add

        for span in blocks(rows, np.zeros_like(rows), _ROWS, 1):
            some = scores.take(order[slice(*span)])
            # no negative zero comes out of either
            values = turned(0.0, some.values, dtype=np.float64)
            if self._rows:
                columns = _columns(some.offsets, *score_times(some))
            else:
                first, columns = _runs(some.offsets, *score_times(some), values)
                values = values.take(first)  # a third faster than by brackets
            columns["scores"] = values.astype("<f8", copy=False)
            for name, column in columns.items():
                hashed.add(name, column)

    def digest(self) -> str:
        """The hash of all pieces."""
        if self._decisions:  # they are not the same input as scores that happen to be 0 and 1
            self._hashed.add("decisions", b"hard")
        return self._hashed.digest()


@dataclass(frozen=True)
class Digests:
    """The hashes of a corpus; that of the rows of scores is optional."""

    references: str
    scores: str
    rows: str = ""

    def said(self, *, rows: bool) -> dict[str, str]:
        """The hash of the scores for a signature, row by row or as a function of time."""
        return {"score-rows": self.rows} if rows else {"scores": self.scores}


class CorpusHash:
    """Hashes of references and scores, added in pieces with rising ids."""

    def __init__(self, *, rows: bool) -> None:
        self._references = ReferencesHash()
        self._scores = [ScoresHash(), *([ScoresHash(rows=True)] if rows else [])]

    def add(self, references: References | None, scores: Scores | None) -> None:
        """Add a piece, or one side of it."""
        if references is not None:
            self._references.add(references)
        if scores is not None:
            for one in self._scores:
                one.add(scores)

    def digests(self) -> Digests:
        """The hashes of all pieces."""
        return Digests(self._references.digest(), *(one.digest() for one in self._scores))


def references_hash(references: References, *, attacks: bool = False) -> str:
    """Hash the labels of references in time, optionally with the names of attacks."""
    hashed = ReferencesHash(attacks=attacks)
    hashed.add(references)
    return hashed.digest()


def scores_hash(scores: Scores, *, rows: bool = False) -> str:
    """Hash scores as a function of time, or row by row."""
    hashed = ScoresHash(rows=rows)
    hashed.add(scores)
    return hashed.digest()


def utterance_scores_hash(scores: UtteranceScores) -> str:
    """Hash scores of whole utterances."""
    order = order_by_id(scores.utterances)
    hashed = ContentHash("utterance scores 1")
    hashed.add_texts("ids", chosen_ids(scores.utterances, order))
    values = mirrored(scores.values[order], scores.higher)
    hashed.add("scores", (values + 0.0).astype("<f8"))  # no negative zero
    return hashed.digest()


def used_hash(utterances: Sequence[str]) -> str:
    """The number of measured utterances, and a hash of their ids."""
    return f"{len(utterances)}:{utterances_hash(utterances)}"


class AppliedRules:
    """Rules about references that change a label, found in pieces with rising ids.

    Regions are hashed by the time inside them, so that regions with the same time are equal.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._found: dict[str, str] = {}
        self._regions = ContentHash("regions 2")

    def add(self, references: References, utterances: Sequence[str], rules: Rules | None = None) -> None:
        """Add the measured utterances of a piece, with rules of its own if regions differ from piece to piece."""
        rules = rules or self._rules
        if rules.regions is not None:
            utterances = sorted(utterances)
        labelling, touched = label_references(_take(references, utterances), rules)
        self._found |= {one.rule: one.value for one in touched}
        if rules.regions is not None:
            kept, columns = _runs(labelling.offsets, labelling.starts, labelling.ends, labelling.labels)
            for name, column in columns.items():
                self._regions.add(name, column)
            self._regions.add("labels", labelling.labels[kept].astype("<i8"))

    def spelled(self) -> dict[str, str]:
        """The rules found, with their values as text."""
        found = dict(self._found)
        if "collar" in found and self._rules.collar_edges != "inside":
            found["collar_edges"] = self._rules.collar_edges
        if "regions" in found:
            found["regions"] = self._regions.digest()
        return found


def applied_rules(rules: Rules, references: References, utterances: Sequence[str]) -> dict[str, str]:
    """The rules about references that change a label of these utterances."""
    applied = AppliedRules(rules)
    applied.add(references, utterances)
    return applied.spelled()


def _take(references: References, utterances: Sequence[str]) -> References:
    """The references of some utterances, in their order."""
    where = positions(utterances, references.utterances)
    same = where.size == len(references) and bool((where == np.arange(where.size)).all())
    return references if same else references.take(where)


def _runs(
    offsets: Int64, starts: Int64, ends: Int64, content: npt.NDArray[Any]
) -> tuple[Int64, dict[str, npt.NDArray[Any]]]:
    """The first row of each run of touching ranges with equal content, and the columns to hash."""
    joined = within_utterances(offsets, (starts[1:] == ends[:-1]) & (content[1:] == content[:-1]))
    begins = np.ones(starts.size, np.bool_)
    begins[1:] = ~joined
    over = np.ones(starts.size, np.bool_)
    over[:-1] = ~joined
    first = np.flatnonzero(begins)
    return first, _columns(np.searchsorted(first, offsets), starts[first], ends[over])


def _columns(offsets: Int64, starts: Int64, ends: Int64) -> dict[str, npt.NDArray[Any]]:
    columns = {"counts": np.diff(offsets), "starts": starts, "ends": ends}
    return {name: column.astype("<i8", copy=False) for name, column in columns.items()}


def sign_hashes(
    measure: str,
    read_off: str,
    rules: Mapping[str, str],
    hashes: tuple[str, str],
    system: Mapping[str, str],
    convention: str = "default",
) -> Signature:
    """Generate a signature.

    Parameters
    ----------
    measure, read_off
        The measure, and how the value was computed.
    rules
        The rules to state, with their values.
    hashes
        Hashes of the references and of the measured utterances.
    system
        The identity of the system: the hash of its scores or proposals, and a given threshold.
    convention
        The named set of rules, for the short form.
    """
    others = [name for name in rules if name not in RULES]
    stated = [f"{name}:{rules[name]}" for name in (*others, *RULES) if name in rules]
    hashed = [f"rules:{RULES_VERSION}", f"references:{hashes[0]}", f"utterances:{hashes[1]}"]
    comparable = "|".join([measure, read_off, *stated, *hashed])
    return Signature(comparable, "|".join(f"{name}:{value}" for name, value in system.items()), convention)


def given_threshold(threshold: float | None, higher: Higher) -> dict[str, str]:
    """A given threshold for a signature, in bona fide polarity; empty without one."""
    return {} if threshold is None else {"threshold": shortest_text(mirrored(float(threshold), higher))}
