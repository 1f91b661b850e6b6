"""Rows of reference files, on their way to References and back: every problem keeps its file and line."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import DataError, Problems, UsageError, refuse
from spoofspan.base.other_ids import id_remedy
from spoofspan.base.times import Float64, seconds_text
from spoofspan.data.references import BONA_FIDE, LABELS, NONSPEECH, SPOOF, References
from spoofspan.formats.text.lines import plain_number

# Text with three decimals: start and duration are rounded apart, so edges miss each other by up to this (seconds).
TEXT_SNAP = 0.002
WORDS = {
    BONA_FIDE: "bonafide bona-fide bona_fide genuine real",
    SPOOF: "spoof fake",
    NONSPEECH: "nonspeech non-speech non_speech silence sil",
}
LABEL_WORDS = {word: code for code, words in WORDS.items() for word in words.split()}
# Recordings over a day are rare; times over this are milliseconds or samples far more often.
SUSPICIOUS_SECONDS = 24 * 3600.0
# Whole numbers up to this and no durations to compare with: milliseconds, or a very long recording.
SUSPICIOUS_WHOLE_SECONDS = 1000.0
# A range that ends this many durations after the start is no rounding.
SUSPICIOUS_RATIO = 100.0


class RangeRows:
    """Collects labelled ranges of many utterances from text, with up to 20 problems at once."""

    def __init__(self) -> None:
        self.problems = Problems()
        self.remedy = "correct the file"
        self.remedy_of_units = ""  # of a format whose times are often whole numbers of another unit
        self._of: dict[str, int] = {}
        self._utterance: list[int] = []
        self._start: list[float] = []
        self._end: list[float] = []
        self._label: list[int] = []
        self._attack: list[str | None] = []
        self._place: list[str] = []
        self._whole_numbers = True

    def name(self, utterance: str) -> int:
        """Note an utterance, even without ranges."""
        return self._of.setdefault(utterance, len(self._of))

    def name_once(self, place: str, utterance: str) -> bool:
        """Note an utterance that may occur only once; False (and a problem) if it is known already."""
        if utterance in self._of:
            self.problems.add(f"{place}: utterance {utterance!r} is listed a second time; keep one of the two")
            return False
        self.name(utterance)
        return True

    def seconds(self, place: str, text: str, what: str = "time") -> float:
        """Read a time in seconds; NaN (and a problem) if it is none."""
        self._whole_numbers &= text.isdecimal()
        value = plain_number(text)
        if value is None:
            hint = "use a decimal point" if "," in text else "it must be a number of seconds"
            problem = f"cannot be read; {hint}"
        elif not math.isfinite(value):
            problem = "is not finite"
        elif value > SUSPICIOUS_SECONDS:
            problem = "is over a day; are these milliseconds or samples?"
            if text.isdecimal() and self.remedy_of_units:
                self.remedy = self.remedy_of_units
        else:
            return value
        self.problems.add(f"{place}: {what} {text!r} {problem}")
        return math.nan

    def add(
        self, place: str, utterance: str, start: float, end: float, label: str, *, attack: str | None = None
    ) -> None:
        """Note one range; a label that is no word for a class is an attack: spoof, by that attack."""
        if math.isnan(start) or math.isnan(end):
            return
        code, named = label_and_attack(label)
        if end < start:
            problem = f"the range ends before it starts ({start} > {end})"
        elif start < 0:
            problem = f"the range starts before 0 ({start})"
        elif code is None:
            problem = f"unknown label {label!r} (bonafide, spoof, nonspeech, or an attack such as A07)"
        else:
            self._utterance.append(self.name(utterance))
            self._start.append(start)
            self._end.append(end)
            self._label.append(code)
            self._attack.append(named if attack is None else attack)
            self._place.append(place)
            return
        self.problems.add(f"{place}: utterance {utterance!r}: {problem}")

    def build(
        self,
        durations: Mapping[str, float] | None,
        snap: float | None,
        *,
        only_listed: bool = False,
        check_units: bool = True,
    ) -> References:
        """Make References; utterances that only ``durations`` has belong to the corpus unless ``only_listed``.

        ``snap`` is in seconds; None is that of text.
        """
        self.problems.raise_if_any(self.remedy)
        for utterance in () if only_listed else durations or ():
            self.name(utterance)
        if not self._of:
            raise DataError("there is no reference in the file; it is empty or has comments only")
        ids = list(self._of)
        missing = [utt for utt in ids if durations is not None and utt not in durations]
        refuse(
            missing,
            lambda utt: f"utterance {utt!r} has no duration",
            id_remedy(missing, durations or (), their_name="durations") or "complete the durations",
        )
        if check_units:
            self._refuse_other_units(ids, durations)
        starts, ends = np.array(self._start, np.float64), np.array(self._end, np.float64)
        owners = np.array(self._utterance, np.int64)
        return references_of(ids, durations, owners, starts, ends, self._label, self._attack, snap, self._place)

    def _refuse_other_units(self, ids: list[str], durations: Mapping[str, float] | None) -> None:
        """Refuse times that are milliseconds or samples, as far as it shows."""
        if durations is None:
            last = max(range(len(self._end)), key=self._end.__getitem__, default=None)
            if last is not None and self._whole_numbers and self._end[last] > SUSPICIOUS_WHOLE_SECONDS:
                self.problems.add(
                    f"{self._place[last]}: utterance {ids[self._utterance[last]]!r}: all times are whole numbers, "
                    f"up to {self._end[last]:.0f}; are these milliseconds or samples?"
                )
            self.problems.raise_if_any("write seconds; if they are seconds, give durations as well")
            return
        known = np.array([durations[utt] for utt in ids], np.float64)[np.array(self._utterance, np.int64)]
        suspicious = np.flatnonzero((np.array(self._end) > SUSPICIOUS_RATIO * known) & (known > 0))

        def describe(row: int) -> str:
            end = f"a range ends at {self._end[row]:g} s, the utterance at {known[row]:g} s"
            owner = f"{self._place[row]}: utterance {ids[self._utterance[row]]!r}"
            return f"{owner}: {end}; are these milliseconds or samples?"

        refuse(suspicious.tolist(), describe, "write seconds")


def references_of(
    ids: Sequence[str],
    durations: Mapping[str, float] | None,
    utterance: npt.NDArray[np.integer[Any]],
    starts: Float64,
    ends: Float64,
    labels: npt.ArrayLike,
    attacks: Sequence[str | None] | None,
    snap: float | None,
    places: Sequence[str] | None = None,
) -> References:
    """Make References of ranges in any order, each with the index of its utterance."""
    order = np.argsort(utterance, kind="stable")
    return References.from_columns(
        ids,
        None if durations is None else np.array(list(map(durations.__getitem__, ids)), np.float64),
        offsets_of(np.bincount(utterance, minlength=len(ids))),
        starts[order],
        ends[order],
        labels=np.asarray(labels, np.int8)[order],
        attacks=None if attacks is None or not any(attacks) else [attacks[i] for i in order.tolist()],
        snap=TEXT_SNAP if snap is None else snap,
        place=None if places is None else lambda row: places[int(order[row])],
    )


def label_and_attack(label: str) -> tuple[int | None, str | None]:
    """Read a label: a word for a class, or the name of an attack (a letter, then digits).

    >>> label_and_attack("bonafide"), label_and_attack("A07"), label_and_attack("banana")
    ((0, None), (1, 'A07'), (None, None))
    """
    if (code := LABEL_WORDS.get(label.lower())) is not None:
        return code, None
    if len(label) > 1 and label[0].isalpha() and label[1:].isdigit():
        return SPOOF, label
    return None, None


def time_text(ns: int) -> str:
    """Write a time in seconds exactly, with at least three decimals.

    >>> time_text(1_200_000_000), time_text(62_500)
    ('1.200', '0.0000625')
    """
    return seconds_text(ns).removesuffix(" s")


@dataclass(frozen=True)
class WrittenRange:
    """One range on its way to a file; times in ns."""

    start: int
    end: int
    label: int
    attack: str | None


def written_ranges(references: References) -> Iterator[tuple[str, list[WrittenRange]]]:
    """Yield every utterance with its ranges."""
    offsets, attacks, names = references.offsets.tolist(), references.attacks, [*references.attack_names, None]
    for utterance, first, last in zip(references.utterances, offsets, offsets[1:], strict=False):
        columns = [column[first:last].tolist() for column in (references.starts, references.ends, references.labels)]
        named = (
            [None] * (last - first) if attacks is None else [names[attack] for attack in attacks[first:last].tolist()]
        )
        yield utterance, [WrittenRange(*row) for row in zip(*columns, named, strict=True)]


def check_writable(
    references: References,
    name: str,
    *,
    words: bool = False,
    labels: Collection[int] = range(len(LABELS)),
    attacks: bool = False,
) -> None:
    """Refuse what a format cannot hold: ids that are no ``words``, other ``labels``, names of ``attacks``."""
    for utterance in references.utterances if words else ():
        if utterance.split() != [utterance] or "\0" in utterance or utterance.startswith("\ufeff"):
            raise UsageError(f"{name} cannot hold the id {utterance!r} (white space or NUL); write another format")
        check_utf8(utterance, name)
    for code, label in enumerate(LABELS):
        if code not in labels and (references.labels == code).any():
            raise UsageError(f"{name} cannot hold {label} ranges; write another format or drop them first")
    if not attacks and references.attacks is not None and (references.attacks >= 0).any():
        attack = references.attack_names[int(references.attacks.max())]
        raise UsageError(f"{name} cannot hold attacks such as {attack!r}; write another format or drop them first")


def check_utf8(text: str, name: str) -> None:
    """Refuse text that is no Unicode."""
    if not is_unicode(text):
        raise UsageError(f"{name} cannot hold {text!r}, it is no UTF-8 text; write another format")


def is_unicode(text: str) -> bool:
    """True if a text can be written; JSON and Python can hold halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_ranges_tell_durations(references: References, name: str, remedy: str = "") -> None:
    """Refuse what a format without durations would lose: durations that are not the end of the last range."""
    for utterance, ranges in written_ranges(references):
        if not ranges:
            raise UsageError(f"{name} cannot hold utterance {utterance!r}, which has no ranges{remedy}")
    if references.durations is None:
        return
    for (utterance, ranges), duration in zip(written_ranges(references), references.durations.tolist(), strict=True):
        last = max(one.end for one in ranges)
        if duration != last:
            raise UsageError(
                f"{name} cannot hold durations: utterance {utterance!r} lasts {seconds_text(duration)}, its last range "
                f"ends at {seconds_text(last)}; write another format, or write it without durations beside a reco2dur"
            )
