"""Words as units of measurement: each word of an alignment becomes an utterance.

A word is spoof if any of it is, and its score is the lowest (in bona fide polarity) of the scores that it overlaps, as
in measures of utterances. So ``utterance-eer`` of the words is the word-level EER, with all rules (``pooling``),
intervals and tests; words of one utterance are no independent trials, so intervals need its clusters
(:meth:`WordCorpus.column`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.columns import offsets_of, positions, rows_from
from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.times import Int64, duration_ns
from spoofspan.data.references import References
from spoofspan.data.scores import Scores, score_times

if TYPE_CHECKING:
    from spoofspan.uncertainty.clusters import Resampling

Words = Mapping[str, Sequence[tuple[float, float, str]]]  # by utterance: start and end in seconds, and the word


@dataclass(frozen=True, eq=False)
class WordCorpus:
    """References and scores whose utterances are words, and the utterance of each word."""

    references: References
    scores: Scores
    utterance_of: Mapping[str, str]
    without_words: int  # number of utterances without words

    def column(self, of_utterances: Mapping[str, str] | None = None) -> dict[str, str]:
        """A column of utterances (such as speakers) for words; default: the utterance of each word."""
        known = {utt: utt for utt in self.utterance_of.values()} if of_utterances is None else of_utterances
        return {word: known[utt] for word, utt in self.utterance_of.items() if utt in known}

    def reading(self, column: Callable[[str], Mapping[str, str]]) -> Callable[[str], Mapping[str, str]]:
        """A reader of columns of words, from a reader of columns of utterances."""
        return lambda name: self.column(column(name))

    def columns(self, of_utterances: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
        """Columns of utterances by name, for words."""
        return {name: self.column(one) for name, one in of_utterances.items()}

    def resampling(self, how: Resampling) -> Resampling:
        """Settings of intervals for words: by the clusters of their utterances, or by utterance."""
        return replace(how, clusters=self.columns(how.factors) if how.factors else {"utterance": self.column()})


def cut_into_words(references: References, scores: Scores, words: Words) -> WordCorpus:
    """Make an utterance of each word; time outside words is left out.

    Parameters
    ----------
    references, scores
        Reference labels and system scores.
    words
        Times of words (:func:`spoofspan.formats.text.alignments.read_alignment`).

    Returns
    -------
    WordCorpus
        Both sides by word. The id of a word is the id of its utterance, its number from 1, and the word.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.5, "bonafide"), (0.5, 1.0, "spoof")]})
    >>> scores = Scores.from_frames({"u1": [0.9, 0.8, 0.2, 0.3]}, hop=0.25, higher="bonafide")
    >>> cut = cut_into_words(references, scores, {"u1": [(0.0, 0.4, "so"), (0.4, 1.0, "be")]})
    >>> cut.references.utterances, cut.scores.values.tolist()
    (('u1 1 so', 'u1 2 be'), [0.9, 0.8, 0.8, 0.2, 0.3])
    >>> cut.column()
    {'u1 1 so': 'u1', 'u1 2 be': 'u1'}
    """
    known = [utt for utt in references.utterances if words.get(utt)]
    if not known:
        raise DataError("references and alignment have no utterance in common; check the ids")
    counts = np.array([len(words[utt]) for utt in known], np.int64)
    listed = list(chain.from_iterable(words[utt] for utt in known))
    starts = np.array([duration_ns(one[0], "start") for one in listed], np.int64)
    ends = np.array([duration_ns(one[1], "end") for one in listed], np.int64)
    owner = np.repeat(np.arange(len(known)), counts)
    ids = tuple(
        f"{known[i]} {k + 1} {one[2]}"
        for i, k, one in zip(owner.tolist(), rows_from(np.zeros_like(counts), counts).tolist(), listed, strict=True)
    )
    scored = set(scores.utterances)
    without = [utt for utt in known if utt not in scored]
    if without:
        raise DataError(f"no scores for {', '.join(map(repr, without[:20]))}; score them, or leave them out")
    spans = _Spans(known, owner, starts, ends)
    rows, offsets, begin, end = spans.of(references.utterances, references.offsets, references.starts, references.ends)
    labelled = replace(
        references,
        utterances=ids,
        offsets=offsets,
        starts=begin,
        ends=end,
        labels=references.labels[rows],
        attacks=None if references.attacks is None else references.attacks[rows],
        durations=ends - starts,
    )
    rows, offsets, begin, end = spans.of(scores.utterances, scores.offsets, *score_times(scores))
    said = replace(
        scores,
        utterances=ids,
        offsets=offsets,
        values=scores.values[rows],
        starts=begin,
        ends=end,
        hops=None,
        origins=None,
        window=None,
    )
    utterance_of = dict(zip(ids, (known[i] for i in owner.tolist()), strict=True))
    return WordCorpus(labelled, said, utterance_of, len(references) - len(known))


@dataclass(frozen=True, eq=False)
class _Spans:
    """All words in order: the index of their utterance, and their times (ns)."""

    known: Sequence[str]
    owner: Int64
    starts: Int64
    ends: Int64

    def of(
        self, utterances: Sequence[str], offsets: Int64, begins: Int64, finishes: Int64
    ) -> tuple[Int64, Int64, Int64, Int64]:
        """The rows that each word overlaps, their offsets, and their times within the word."""
        rows, counts = [np.zeros(0, np.int64)], np.zeros(self.owner.size, np.int64)
        first = np.searchsorted(self.owner, np.arange(len(self.known) + 1)).tolist()
        for i, at in enumerate(positions(self.known, utterances).tolist()):
            of, low, high = slice(first[i], first[i + 1]), int(offsets[at]), int(offsets[at + 1])
            order = low + np.argsort(begins[low:high], kind="stable")
            reach = np.maximum.accumulate(finishes[order])
            begun = np.searchsorted(reach, self.starts[of], side="right")
            here = np.maximum(np.searchsorted(begins[order], self.ends[of]) - begun, 0)
            near, word = order[rows_from(begun, here)], np.repeat(np.arange(of.start, of.stop), here)
            both = np.minimum(finishes[near], self.ends[word]) > np.maximum(begins[near], self.starts[word])
            rows.append(near[both])
            counts += np.bincount(word[both], minlength=counts.size)
        chosen, word = np.concatenate(rows), np.repeat(np.arange(counts.size), counts)
        begin = np.maximum(begins[chosen], self.starts[word]) - self.starts[word]
        end = np.minimum(finishes[chosen], self.ends[word]) - self.starts[word]
        return chosen, offsets_of(counts), begin, end


def cut_systems(references: Any, systems: Mapping[str, Any], words: Words) -> tuple[WordCorpus, dict[str, Any]]:
    """Make an utterance of each word, of references and of systems, each with one training or several by seed.

    The first corpus has the references of all; the systems are as they were, by word.
    """
    found: dict[str, Any] = {}
    cut = None
    for name, one in systems.items():
        several = one if isinstance(one, Mapping) else {"": one}
        trained = {seed: _cut(references, scores, words) for seed, scores in several.items()}
        cut = cut or next(iter(trained.values()))
        by_seed = {seed: each.scores for seed, each in trained.items()}
        found[name] = by_seed if isinstance(one, Mapping) else by_seed[""]
    if cut is None:
        raise UsageError("words are cut out of the scores of systems, and there are none")
    return cut, found


def _cut(references: Any, scores: Any, words: Words) -> WordCorpus:
    if not isinstance(references, References) or not isinstance(scores, Scores):
        raise UsageError("words (--words) are cut out of references and scores in time; give both")
    return cut_into_words(references, scores, words)
