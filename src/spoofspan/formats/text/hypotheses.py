"""Hypotheses: hard decisions of a system, written as references are (RTTM, HAD, segment lists).

Every range is a decision: spoof, or not. An attack (``A07``) is spoof. Non-speech is not spoof, hence bona fide. Time
under no range is not decided; the rule ``uncovered`` says what it counts as, "bonafide" where a file lists spoofs only.
An utterance of which nothing is listed is unknown, unless ``durations`` name it.

Edges that miss each other, or 0, by at most ``snap`` are joined as in references (rule 3 of ``docs/rules.md``): text
rounds them. Ranges of one decision may overlap; of two, by no more than that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.times import SECOND, duration_ns, seconds_text
from spoofspan.data.contradictions import contradictions_among
from spoofspan.data.references import BONA_FIDE, LABELS, SPOOF, References
from spoofspan.data.scores import DECISIONS, Scores, score_times
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.sources import Source
from spoofspan.formats.text import labelled_ranges, rttm
from spoofspan.formats.text.rows import TEXT_SNAP, RangeRows

# Notes the ranges of files in rows; returns the durations that the files state, if they do.
NoteRanges = Callable[[RangeRows, Sequence[Source]], Mapping[str, float] | None]


@dataclass(frozen=True)
class _Decision:
    """One range of a hypothesis; times in ns."""

    start: int
    end: int
    label: str
    place: str


class DecisionRows(RangeRows):
    """Collects ranges as decisions."""

    durations: Mapping[str, float] | None = None  # those given by the user

    def decide(self, options: ReadOptions, durations: Mapping[str, float] | None, file: str) -> Scores:
        """Make Scores of the decisions; ``durations`` (seconds) help to notice milliseconds."""
        self.problems.raise_if_any("correct the file")
        known = durations is not None and all(utterance in durations for utterance in self._of)
        self._refuse_other_units(list(self._of), durations if known else None)
        for utterance in options.durations or ():
            self.name(utterance)
        if not self._of:
            raise DataError(
                f"{file}: there is no decision in the file; if nothing was found, give the utterances with durations= "
                "(--durations)"
            )
        found: dict[str, list[_Decision]] = {utterance: [] for utterance in self._of}
        ids = list(found)
        columns = (self._utterance, self._start, self._end, self._label, self._place)
        for i, start, end, label, place in zip(*columns, strict=True):
            called = "spoof" if label == SPOOF else "bonafide"
            found[ids[i]].append(_Decision(round(start * SECOND), round(end * SECOND), called, place))
        snap = duration_ns(TEXT_SNAP if options.snap is None else options.snap, "snap")
        joined = {
            utterance: [
                (one.start / SECOND, one.end / SECOND, one.label) for one in self._joined(utterance, ranges, snap)
            ]
            for utterance, ranges in found.items()
        }
        self.problems.raise_if_any("decide every instant once")
        return Scores.from_decisions(joined)

    def _joined(self, utterance: str, ranges: list[_Decision], snap: int) -> list[_Decision]:
        """Put ranges in order, unite those that overlap, and join edges that were rounded."""
        ordered = sorted((one for one in ranges if one.start < one.end), key=lambda one: (one.start, one.end))
        for clash in contradictions_among([(one.start, one.end, LABELS.index(one.label)) for one in ordered], snap):
            before, one = (ordered[row] for row in clash.rows)
            self.problems.add(
                f"{one.place}: utterance {utterance!r}: {one.label} from {seconds_text(one.start)}, but "
                f"{before.label} until {seconds_text(clash.one.end)} ({before.place})"
            )
        joined = ordered[:1]
        for one in ordered[1:]:
            before = joined[-1]
            if one.label == before.label and one.start <= before.end:
                joined[-1] = replace(before, end=max(before.end, one.end))
            else:
                near = one.start - before.end <= snap
                joined[-1:] = [replace(before, end=one.start) if near else before, one]
        if joined and joined[0].start <= snap:
            joined[0] = replace(joined[0], start=0)
        return joined


# ---------------------------------------------------------------- reading


def _read(note_ranges: NoteRanges, sources: Sequence[Source], options: ReadOptions) -> Scores:
    """Read decisions; ``note_ranges`` returns the durations that the files state, if they do."""
    for name in ("higher", "column", "hop"):
        if getattr(options, name) is not None:
            raise UsageError(f"{sources[0].name}: hard decisions have no {name}; leave {name}= (--{name}) out")
    rows = DecisionRows()
    rows.durations = options.durations
    return rows.decide(options, note_ranges(rows, sources) or options.durations, sources[0].name)


# ---------------------------------------------------------------- writing


def _as_references(scores: Scores, name: str) -> References:
    if not scores.decisions:
        raise UsageError(
            f"{name} holds hard decisions, and these are scores: call spoof what lies below a threshold "
            "(spoofspan convert --threshold, ss.proposals_from_scores), or write a format of scores"
        )
    empty = np.flatnonzero(np.diff(scores.offsets) == 0)
    if empty.size:
        raise UsageError(
            f"{name} cannot hold utterance {scores.utterances[int(empty[0])]!r}, which has no range; decide its whole "
            "time, or leave it out"
        )
    starts, ends = score_times(scores)
    # decisions do not know how long an utterance is; a segment list must say something
    durations = np.maximum.reduceat(ends, scores.offsets[:-1]) if len(scores) else ends
    labels = np.where(scores.values == DECISIONS["spoof"], SPOOF, BONA_FIDE)
    return References.from_columns(scores.utterances, durations, scores.offsets, starts, ends, labels=labels)


def _write(write: Callable[[References], Iterator[bytes]], name: str, scores: Scores) -> Iterator[bytes]:
    return write(_as_references(scores, name))


def decisions_format(
    name: str,
    about: str,
    note_ranges: NoteRanges,
    recognises: Callable[[bytes], bool],
    write: Callable[[References], Iterator[bytes]] | None,
    suffixes: tuple[str, ...] = (),
) -> Format[Scores]:
    """A format of decisions, which are written as the references that they would be, if at all."""
    reader, writer = partial(_read, note_ranges), None if write is None else partial(_write, write, name)
    about = f"hard decisions: {about}"
    return Format(name, about, reader, recognises, writer, suffixes=suffixes, takes=("snap", "durations"))


FORMATS = (
    decisions_format(
        "hypothesis-rttm",
        "RTTM, as references; bonafide, spoof, an attack, or nonspeech (not spoof)",
        rttm.note_ranges,
        rttm.recognises,
        rttm.write,
        (".rttm",),
    ),
    decisions_format(
        "hypothesis-had",
        "<utt> <s>-<e>-<T|F>(/<s>-<e>-<T|F>)* [<0|1>], as HAD's references (T genuine, F fake)",
        partial(labelled_ranges.HAD_LINES.note_ranges, label_optional=True),
        partial(labelled_ranges.recognises_had, label_optional=True),
        labelled_ranges.write_had,
    ),
    decisions_format(
        "hypothesis-segments",
        "<utt> <dur s> <bonafide|spoof> (<start>-<end>-<bonafide|spoof>)*, as a segment list",
        labelled_ranges.SEGMENT_LINES.note_ranges,
        labelled_ranges.recognises_segments,
        labelled_ranges.write_segments,
    ),
)
