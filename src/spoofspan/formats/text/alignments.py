"""Alignments: where each word (or phone) of an utterance begins and ends, from CTM files and Praat TextGrids.

========  ============================================================================================================
CTM       ``<utt> <chan> <start s> <dur s> <word> [<confidence>]``, as of Kaldi and sclite; comments start with ``;;``
TextGrid  a file ``<utt>.TextGrid`` per utterance, as of the Montreal Forced Aligner: one of its interval tiers
========  ============================================================================================================

What is empty or names silence (``sil``, ``sp``, ``spn``, ``<eps>``, ``<sil>``, ``silence``) is no word.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from spoofspan.base.errors import DataError, nearest_name
from spoofspan.formats.sources import Source, Where, sources
from spoofspan.formats.text.labelled_ranges import utterance_named
from spoofspan.formats.text.lines import lines_of
from spoofspan.formats.text.rows import RangeRows
from spoofspan.formats.text.rttm import COMMENT
from spoofspan.formats.text.textgrid import SUFFIX, recognises, tiers_of

SILENCE = frozenset(("", "sil", "sp", "spn", "<eps>", "<sil>", "silence"))
USUAL_TIERS = ("words", "word")
Alignment = dict[str, list[tuple[float, float, str]]]


def read_alignment(where: Where | Sequence[Where], tier: str | None = None) -> Alignment:
    r"""Read where words begin and end, in seconds, by utterance.

    Parameters
    ----------
    where
        A CTM file, or TextGrids: files, folders or globs.
    tier
        The interval tier of TextGrids; without it, the one called words or word, or the only one.

    Examples
    --------
    >>> import io
    >>> read_alignment(io.BytesIO(b"u1 1 0.10 0.30 hello\nu1 1 0.40 0.20 <eps>\n"))
    {'u1': [(0.1, 0.4, 'hello')]}

    """
    found = sources(where, (".ctm", SUFFIX))
    rows, words = RangeRows(), Alignment()
    if all(recognises(one.head) for one in found):
        for source in found:
            _of_grid(source, tier, rows, words)
    elif tier is not None:
        raise DataError(f"{found[0].name}: only TextGrids have tiers; leave the tier out (--tier)")
    else:
        _of_ctm(found, rows, words)
    rows.problems.raise_if_any("correct the alignment")
    if not any(words.values()):
        raise DataError(f"{found[0].name}: there is no word in the alignment; it is empty, or all of it is silence")
    return words


def _of_ctm(found: Sequence[Source], rows: RangeRows, words: Alignment) -> None:
    for line in lines_of(found, comment=COMMENT):
        fields = line.fields
        place = f"{line.place}: utterance {fields[0]!r}"
        if len(fields) not in (5, 6):
            rows.problems.add(
                f"{place}: CTM is '<utt> <chan> <start> <dur> <word> [<confidence>]', not {line.text.strip()[:60]!r}"
            )
            continue
        start, length = rows.seconds(place, fields[2], "start"), rows.seconds(place, fields[3], "duration")
        _add(place, rows, words.setdefault(fields[0], []), (start, round(start + length, 9), fields[4]))


def _of_grid(source: Source, tier: str | None, rows: RangeRows, words: Alignment) -> None:
    if (utterance := utterance_named(source, SUFFIX, rows)) is None:
        return
    _, tiers = tiers_of(source)
    names = [one.name for one in tiers]
    usual = [one for one in tiers if one.name.lower() in USUAL_TIERS]
    if tier is not None:
        chosen = [one for one in tiers if one.name == tier]
        why = f"no interval tier {tier!r}: {nearest_name(tier, names)}" if names else "no interval tier"
    else:
        chosen = usual if usual else tiers
        why = f"interval tiers {', '.join(map(repr, names)) or 'none'}; say which one has the words (--tier)"
    place = f"{source.name}: utterance {utterance!r}"
    if len(chosen) != 1:
        rows.problems.add(f"{place}: {why}")
        return
    for start, end, text in chosen[0].intervals:
        times = rows.seconds(place, start, "start"), rows.seconds(place, end, "end")
        _add(place, rows, words.setdefault(utterance, []), (*times, text))


def _add(place: str, rows: RangeRows, words: list[tuple[float, float, str]], word: tuple[float, float, str]) -> None:
    start, end, text = word
    if text.strip().lower() in SILENCE or math.isnan(start + end):
        return
    if not 0 <= start < end:
        rows.problems.add(f"{place}: the word {text!r} lasts from {start} to {end} s; it must end after it starts")
        return
    words.append((start, end, text.strip()))
