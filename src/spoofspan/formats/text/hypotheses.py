"""Hypotheses: hard decisions of a system, written as references are (RTTM, HAD, segment lists).

Every range is a decision: spoof, or not. An attack (``A07``) is spoof. Non-speech is not spoof, hence bona fide. Time
under no range is not decided; the rule ``uncovered`` says what it counts as, "bonafide" where a file lists spoofs only.
An utterance of which nothing is listed is unknown, unless ``durations`` name it.

Edges that miss each other, or 0, by at most ``snap`` are joined as in references (rule 3 of ``docs/rules.md``): text
rounds them. Ranges of one decision may overlap; of two, by no more than that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.times import SECOND, duration_ns
from spoofspan.data.distinct_values import DECISIONS
from spoofspan.data.references import BONA_FIDE, LABELS, SPOOF, References
from spoofspan.data.scores import Scores, score_times
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.recognition import Recognises
from spoofspan.formats.sources import Source
from spoofspan.formats.text import labelled_ranges, rttm
from spoofspan.formats.text.rows import TEXT_SNAP, RangeRows, WrittenRange, written_ranges

# Notes the ranges of files in rows; returns the durations that the files state, if they do.
NoteRanges = Callable[[RangeRows, Sequence[Source]], Mapping[str, float] | None]


class DecisionRows(RangeRows):
    """Collects ranges as decisions."""

    durations: Mapping[str, float] | None = None  # those given by the user

    def decide(self, options: ReadOptions, durations: Mapping[str, float] | None, file: str) -> Scores:
        """Make Scores of the decisions; ``durations`` (seconds) help to notice milliseconds."""
        for utterance in options.durations or ():
            self.name(utterance)
        self.problems.raise_if_any("correct the file")
        if not self._of:
            raise DataError(
                f"{file}: there is no decision in the file; if nothing was found, give the utterances with durations= "
                "(--durations)"
            )
        self._label = [SPOOF if label == SPOOF else BONA_FIDE for label in self._label]
        known = durations if durations is not None and self._of.keys() <= durations.keys() else None
        ranges = written_ranges(self.build(known, options.snap, only_listed=True))
        snap = duration_ns(TEXT_SNAP if options.snap is None else options.snap, "snap")
        return Scores.from_decisions(
            {
                utterance: [(one.start / SECOND, one.end / SECOND, LABELS[one.label]) for one in _joined(listed, snap)]
                for utterance, listed in ranges
            }
        )


def _joined(ranges: Sequence[WrittenRange], snap: int) -> list[WrittenRange]:
    """Unite ranges of one label that overlap, and join edges that were rounded."""
    joined = list(ranges[:1])
    for one in ranges[1:]:
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
    recognises: Recognises,
    write: Callable[[References], Iterator[bytes]] | None,
    suffixes: tuple[str, ...] = (),
) -> Format[Scores]:
    """A format of decisions, which are written as the references that they would be, if at all."""
    reader, writer = partial(_read, note_ranges), None if write is None else partial(_write, write, name)
    about = f"hard decisions: {about}"
    return Format(name, about, reader, recognises, writer, suffixes=suffixes, takes=("snap", "durations"))


FORMATS = (
    replace(
        decisions_format(
            "hypothesis-rttm",
            "RTTM, as references; bonafide, spoof, an attack, or nonspeech (not spoof)",
            rttm.note_ranges,
            rttm.recognises,
            rttm.write,
            (".rttm",),
        ),
        explain=rttm.misread,
    ),
    decisions_format(
        "hypothesis-had",
        "<utt> <s>-<e>-<T|F>(/<s>-<e>-<T|F>)* [<0|1>], as HAD's references (T genuine, F fake)",
        partial(labelled_ranges.HAD_LINES.note_ranges, label_optional=True),
        labelled_ranges.had_lines(2),
        labelled_ranges.write_had,
    ),
    decisions_format(
        "hypothesis-segments",
        "<utt> <dur s> <bonafide|spoof> (<start>-<end>-<bonafide|spoof>)*, as a segment list",
        labelled_ranges.SEGMENT_LINES.note_ranges,
        labelled_ranges.SEGMENTS_FIT,
        labelled_ranges.write_segments,
    ),
)
