"""References: the labels of a whole corpus.

Half-open ranges per utterance, each labelled bona fide, spoof or non-speech, with an optional *attack* (the method, the
generator, the editor), and each utterance's duration if it is known::

    u1  [0.00            1.20)[1.20      2.00)      duration 2.00
         bona fide            spoof, attack A07

Building checks what is wrong under every rule (ranges that end before they start, different labels at the same time).
What is wrong under some rules only (gaps, ranges past the duration) is judged when measuring, see
:mod:`spoofspan.mass.labelling`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import (
    ByUtterance,
    block_rows,
    check_dict,
    check_offsets,
    check_ranges,
    chosen_ids,
    flat_rows,
    neighbours,
    place_of,
    rows_of,
    seconds_column,
    tidy_rows,
    utterance_ids,
)
from spoofspan.base.errors import DataError, UsageError, nearest_name, refuse
from spoofspan.base.times import LONGEST, SECOND, Int64, TimeUnit, duration_ns, exact_sum, seconds_text, times_ns
from spoofspan.data.contradictions import Contradiction, contradictions

BONA_FIDE, SPOOF, NONSPEECH = 0, 1, 2
LABELS = ("bonafide", "spoof", "nonspeech")

Labels = npt.NDArray[np.int8]
Range = tuple[float, float, str] | tuple[float, float, str, str | None]


@dataclass(frozen=True, eq=False)
class References(ByUtterance):
    """Labelled ranges of a corpus, as columns. Build with :meth:`from_ranges` or :meth:`from_columns`.

    Parameters
    ----------
    utterances
        The ids, unique.
    offsets
        Rows ``offsets[i]:offsets[i + 1]`` of the ranges belong to utterance ``i``.
    starts, ends
        Of each range, in ns; half-open, sorted by start within an utterance.
    labels
        Of each range: 0 bona fide, 1 spoof, 2 non-speech.
    durations
        Of each utterance, in ns; None if they are not known.
    attacks, attack_names
        Of each range, which of the names its attack (method, generator, editor) has; -1 for none.
    snap
        Greatest distance of edges (ns) that are joined, because the source rounded them.
    names_both_classes
        True if both classes occur; a file that lists spoofs only does not tell where an utterance ends.
    dropped_empty
        Number of empty ranges that were dropped.
    modality
        Fakes that are spoof, of an audio-visual source: "any", "audio" or "visual".

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 1.2, "bonafide"), (1.2, 2.0, "spoof", "A07")]})
    >>> references
    References(1 utterance, 2 ranges: 1.200 s bona fide, 0.800 s spoof)

    """

    utterances: tuple[str, ...]
    offsets: Int64
    starts: Int64
    ends: Int64
    labels: Labels
    durations: Int64 | None = None
    attacks: npt.NDArray[np.int32] | None = None
    attack_names: tuple[str, ...] = ()
    snap: int = 0
    names_both_classes: bool = True  # not so in a file that lists spoofs only
    dropped_empty: int = 0
    modality: str | None = None

    @classmethod
    def from_ranges(
        cls,
        ranges: Mapping[str, Iterable[Range]],
        durations: Mapping[str, float] | None = None,
        *,
        snap: float = 0.0,
    ) -> References:
        """Build references from a dict, times in seconds.

        Parameters
        ----------
        ranges
            Utterance -> ``(start, end, label)`` or ``(start, end, label, attack)``; labels are ``"bonafide"``,
            ``"spoof"`` and ``"nonspeech"``.
        durations
            Of every utterance. Utterances that only this lists belong to the corpus too, without any range.
        snap
            Greatest distance of edges (in seconds) that are joined, because the source rounded them.

        Raises
        ------
        DataError
            If a range ends before it starts, or if two labels are given to the same time.

        Examples
        --------
        >>> References.from_ranges({"u1": [(0.0, 1.2, "bonafide"), (1.2, 2.0, "spoof", "A07")]}, {"u1": 2.0, "u2": 1.0})
        References(2 utterances, 2 ranges: 1.200 s bona fide, 0.800 s spoof)

        """
        check_dict(ranges, "ranges", "[(start, end, label), ...]")
        if durations is not None:
            check_dict(durations, "durations", "seconds")
        without = {utt: () for utt in durations or () if utt not in ranges}
        utterances, offsets, rows = flat_rows({**ranges, **without}, "(start, end, label[, attack])", (3, 4))
        refuse(
            [(utt, row[2]) for utt, row in rows if row[2] not in LABELS],
            lambda bad: f"utterance {bad[0]!r}: unknown label {bad[1]!r}, {nearest_name(bad[1], LABELS)}",
            "use these labels, and the fourth place of a range for its attack",
        )
        missing = [utt for utt in utterances if durations is not None and utt not in durations]
        refuse(missing, _no_duration, "give a duration for every utterance, or none at all")
        attacks = [row[3] if len(row) == 4 else None for _, row in rows]
        return cls.from_columns(
            utterances,
            None if durations is None else seconds_column([(u, (durations[u],)) for u in utterances], 0, "duration"),
            offsets,
            seconds_column(rows, 0, "start"),
            seconds_column(rows, 1, "end"),
            labels=np.array([LABELS.index(row[2]) for _, row in rows], np.int8),
            attacks=attacks if any(attack is not None for attack in attacks) else None,
            snap=snap,
        )

    @classmethod
    def from_columns(
        cls,
        utterances: Sequence[str] | npt.NDArray[Any],
        durations: npt.ArrayLike | None,
        offsets: npt.ArrayLike,
        starts: npt.ArrayLike,
        ends: npt.ArrayLike,
        is_spoof: npt.ArrayLike | None = None,
        *,
        labels: npt.ArrayLike | None = None,
        attacks: Sequence[str | None] | None = None,
        snap: float = 0.0,
        place: Callable[[int], str] | None = None,
    ) -> References:
        """Build references from flat arrays.

        Int64 times are nanoseconds, float times are seconds. Int64 arrays are not copied: leave them as they are, since
        signatures are made when they are asked for.

        Parameters
        ----------
        utterances
            The ids, unique.
        durations
            Of each utterance, or None.
        offsets
            Rows ``offsets[i]:offsets[i + 1]`` belong to utterance ``i``.
        starts, ends
            Of each range.
        is_spoof
            True for each range that is spoof; or give ``labels``.
        labels
            Of each range: 0 bona fide, 1 spoof, 2 non-speech.
        attacks
            Of each range, its attack or None.
        snap
            Greatest distance of edges (in seconds) that are joined, because the source rounded them.
        place
            Returns the origin of a range (``"ref.rttm:12"``), for messages.

        Examples
        --------
        >>> References.from_columns(["u1"], [2.0], [0, 2], [0.0, 1.2], [1.2, 2.0], [False, True])
        References(1 utterance, 2 ranges: 1.200 s bona fide, 0.800 s spoof)

        """
        ids = utterance_ids(utterances)
        label = _label_codes(is_spoof, labels)
        offset = check_offsets(offsets, len(ids), label.size)

        def own_place(row: int) -> str:
            return place_of(ids, offset, row, "range")

        start, end = times_ns(starts, "start", own_place), times_ns(ends, "end", own_place)
        if not start.size == end.size == label.size:
            raise UsageError(f"{start.size} starts, {end.size} ends and {label.size} labels are not one per range")
        if attacks is not None and len(attacks) != start.size:
            raise UsageError(f"{len(attacks)} attacks for {start.size} ranges; give one (or None) for each")
        duration = None if durations is None else _checked_durations(ids, durations)
        attack, attack_names = _attack_codes(attacks)
        check_ranges(start, end, own_place)
        if (margin := duration_ns(snap, "snap")) < 0:
            raise UsageError(f"snap={snap!r}: must not be negative (seconds)")
        raw = cls(ids, offset, start, end, label, duration, attack, attack_names, margin)
        rows, offsets, dropped = tidy_rows(offset, start, end, label, *([] if attack is None else [attack]))
        tidy = raw if rows is None else replace(raw.with_rows(rows, offsets), dropped_empty=dropped)
        tidy._refuse_contradictions(place if place is None or rows is None else lambda row: place(int(rows[row])))
        both = bool((tidy.labels == BONA_FIDE).any() and (tidy.labels == SPOOF).any())
        return replace(tidy, names_both_classes=both)

    def _said_of(self, i: int) -> list[Range]:
        """The ranges of an utterance, as :meth:`from_ranges` takes them."""
        rows = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
        starts, ends = (self.starts[rows] / SECOND).tolist(), (self.ends[rows] / SECOND).tolist()
        labels = [LABELS[code] for code in self.labels[rows]]
        if self.attacks is None or (self.attacks[rows] < 0).all():
            return list(zip(starts, ends, labels, strict=True))
        names = [*self.attack_names, None]  # -1 is none
        return list(zip(starts, ends, labels, (names[code] for code in self.attacks[rows]), strict=True))

    @classmethod
    def from_labels(
        cls,
        labels: Mapping[str, Any],
        hop: float,
        *,
        spoof_label: int | None = None,
        durations: Mapping[str, float] | None = None,
    ) -> References:
        """Build references from one label per frame; runs of equal labels become ranges.

        Parameters
        ----------
        labels
            Utterance -> array or list of labels: ``"bonafide"`` and ``"spoof"`` (or attacks such as ``"A07"``), or 0
            and 1.
        hop
            The length of a frame in seconds.
        spoof_label
            The label, 0 or 1, that means spoof; needed if labels are numbers.
        durations
            Of every utterance, in seconds: the last frame ends there.

        Returns
        -------
        references : References
            Those of all utterances.

        Examples
        --------
        >>> References.from_labels({"u1": np.array([0, 0, 1])}, hop=0.02, spoof_label=1)["u1"]
        [(0.0, 0.04, 'bonafide'), (0.04, 0.06, 'spoof')]

        """
        from spoofspan.formats.arrays.npz import references_of_labels

        check_dict(labels, "labels", "one label per frame")
        return references_of_labels(labels, hop, durations, spoof_label)

    @classmethod
    def from_table(
        cls,
        table: Any,
        durations: Mapping[str, float] | None = None,
        *,
        snap: float | None = None,
        spoof_label: int | None = None,
    ) -> References:
        """Build references from a data frame (pandas, polars, ...) or an Arrow table.

        Parameters
        ----------
        table
            Columns ``utterance``, ``start``, ``end``, ``label`` and, if known, ``attack`` and ``duration``; integer
            times are nanoseconds, others seconds.
        durations, snap
            As in :meth:`from_ranges`.
        spoof_label
            The label, 0 or 1, that means spoof, if labels are numbers.

        Returns
        -------
        references : References
            Those of the table.

        Examples
        --------
        >>> import pyarrow as pa
        >>> table = pa.table({"utterance": ["u1"], "start": [0.0], "end": [1.2], "label": ["spoof"]})
        >>> References.from_table(table)
        References(1 utterance, 1 ranges: 1.200 s spoof)

        """
        from spoofspan.formats.tables.dataframes import references_from

        return references_from(table, durations=durations, snap=snap, spoof_label=spoof_label)

    def to_arrow(self, *, unit: TimeUnit = "ns") -> Any:
        """Make a pyarrow table, one row per range; :meth:`from_table` reads it back."""
        from spoofspan.formats.tables.dataframes import to_arrow

        return to_arrow(self, unit=unit)

    def to_pandas(self, *, unit: TimeUnit = "s") -> Any:
        """Make a pandas data frame, one row per range, times in seconds (``unit="ns"``: in nanoseconds)."""
        from spoofspan.formats.tables.dataframes import to_pandas

        return to_pandas(self, unit=unit)

    def to_polars(self, *, unit: TimeUnit = "s") -> Any:
        """Make a polars data frame, one row per range, times in seconds (``unit="ns"``: in nanoseconds)."""
        from spoofspan.formats.tables.dataframes import to_polars

        return to_polars(self, unit=unit)

    def __repr__(self) -> str:
        seconds = [
            f"{seconds_text(exact_sum(self.range_durations[self.labels == code]))} {name}"
            for code, name in enumerate(("bona fide", "spoof", "non-speech"))
            if (self.labels == code).any()
        ]
        count = f"{len(self):,} utterance{'s' * (len(self) != 1)}, {self.starts.size:,} ranges"
        return f"References({count}: {', '.join(seconds)})" if seconds else f"References({count})"

    @property
    def range_durations(self) -> Int64:
        """Duration of each range, in ns."""
        return self.ends - self.starts

    def classes(self) -> dict[str, int]:
        """The class of each utterance: SPOOF, if any of its ranges is."""
        spoofed = np.diff(np.concatenate(([0], np.cumsum(self.labels == SPOOF)))[self.offsets]) > 0
        return dict(zip(self.utterances, np.where(spoofed, SPOOF, BONA_FIDE).tolist(), strict=True))

    def take(self, chosen: Any) -> References:
        """Keep chosen utterances, in that order: ids, indices, one flag for each utterance, or a slice."""
        indices = self._indices(chosen)
        return self.take_as(indices, chosen_ids(self.utterances, indices))

    def take_as(self, chosen: Int64, utterances: tuple[str, ...]) -> References:
        """Keep chosen utterances with the given ids: looking up 71,237 of them takes longer than all the rest."""
        run = neighbours(chosen)  # which need no copy
        rows = rows_of(self.offsets, chosen) if run is None else block_rows(self.offsets, run.start, run.stop)
        return replace(
            self.with_rows(*rows),
            utterances=utterances,
            durations=None if self.durations is None else self.durations[chosen],
        )

    def with_rows(self, rows: Int64 | npt.NDArray[np.bool_] | slice, offsets: Int64) -> References:
        """Keep chosen rows, in that order, with the offsets they have then."""
        return replace(
            self,
            offsets=offsets,
            starts=self.starts[rows],
            ends=self.ends[rows],
            labels=self.labels[rows],
            attacks=None if self.attacks is None else self.attacks[rows],
        )

    def _refuse_contradictions(self, place: Callable[[int], str] | None) -> None:
        """Different labels at the same time are an error, unless the edges only miss each other by ``snap``."""

        def describe(found: tuple[int, Contradiction]) -> str:
            i, clash = found
            one, other = (
                f"{LABELS[stretch.label]} [{seconds_text(stretch.start)}, {seconds_text(stretch.end)})"
                for stretch in (clash.one, clash.other)
            )
            lines = [] if place is None else list(dict.fromkeys(map(place, clash.rows)))
            return (
                f"{' and '.join(lines)}{': ' if lines else ''}utterance {self.utterances[i]!r}: {one} and {other} "
                f"overlap{', one within the other' if clash.is_within else ''}"
            )

        clashing = contradictions(self.offsets, self.starts, self.ends, self.labels, self.snap)
        refuse(clashing, describe, "give every instant one label")


def _label_codes(is_spoof: npt.ArrayLike | None, labels: npt.ArrayLike | None) -> Labels:
    if (is_spoof is None) == (labels is None):
        raise UsageError("give either is_spoof or labels")
    if is_spoof is not None:
        flags = np.asarray(is_spoof)
        if flags.size == 0:
            return np.zeros(0, np.int8)
        if flags.dtype != bool:
            raise UsageError(f"is_spoof must be an array of bool, not {flags.dtype}; other codes go into labels=")
        return _flat(flags, "is_spoof").view(np.int8)
    codes = np.asarray(labels)
    if codes.size and (codes.dtype.kind not in "iu" or codes.min() < BONA_FIDE or codes.max() > NONSPEECH):
        raise UsageError("labels must be integers: 0 bona fide, 1 spoof, 2 non-speech")
    return _flat(codes, "labels").astype(np.int8, copy=False)


def _flat(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    if array.ndim != 1:
        raise UsageError(f"{name} must be one-dimensional, one for each range, not {array.shape}")
    return array


def _attack_codes(attacks: Sequence[str | None] | None) -> tuple[npt.NDArray[np.int32] | None, tuple[str, ...]]:
    if attacks is None:
        return None, ()
    names = tuple(sorted({str(attack) for attack in attacks if attack is not None}))
    code = {name: i for i, name in enumerate(names)}
    return np.array([-1 if attack is None else code[str(attack)] for attack in attacks], np.int32), names


def _checked_durations(ids: Sequence[str], given: npt.ArrayLike) -> Int64:
    durations = times_ns(given, "duration", lambda row: f"utterance {ids[row]!r}")
    if durations.size != len(ids):
        raise UsageError(f"{durations.size} durations for {len(ids)} utterances; give one for each")
    bad = np.flatnonzero((durations <= 0) | (durations > LONGEST))
    remedy = "a duration must be positive and below 36 years"
    refuse(bad, lambda i: f"utterance {ids[i]!r}: duration {seconds_text(durations[i])}", remedy)
    return durations


def _no_duration(utterance: str) -> str:
    return f"utterance {utterance!r} has no duration"


def durations_of(source: Mapping[str, float] | References, utterances: Sequence[str]) -> Int64:
    """Look up the duration (ns) of each utterance in a dict (seconds) or in references."""
    if isinstance(source, References):
        if source.durations is None:
            raise UsageError("these references have no durations; build them with durations=")
        known: dict[str, int] = dict(zip(source.utterances, source.durations.tolist(), strict=True))
    else:
        check_dict(source, "durations", "seconds (or References, or what read_durations reads)")
        known = {utt: duration_ns(value, f"duration of {utt!r}") for utt, value in source.items()}
    refuse([utt for utt in utterances if utt not in known], _no_duration, "give a duration for every utterance")
    result = np.array([known[utt] for utt in utterances], np.int64)
    if result.size and result.min() < 0:
        raise DataError(f"utterance {utterances[int(result.argmin())]!r}: its duration is negative; correct it")
    return result
