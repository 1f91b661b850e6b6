"""``--words``: measure words of an alignment instead of utterances, in eval and compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o

if TYPE_CHECKING:
    from spoofspan.evaluation.words import WordCorpus, Words

Column = Callable[[str], Mapping[str, str]]


def read_words(words: str, tier: str | None) -> Words:
    """Start and end of words."""
    from spoofspan.formats.text.alignments import read_alignment

    return read_alignment(words, tier)


def check_tier(words: str | None, tier: str | None) -> None:
    """Refuse a tier of nothing."""
    if tier is not None and words is None:
        raise UsageError("--tier names the tier of --words; give both")


def cut_systems(references: Any, systems: Mapping[str, Any], words: Words) -> tuple[dict[str, Any], WordCorpus]:
    """Make an utterance of each word, of systems with one training or several; the last of these has the references."""
    found: dict[str, Any] = {}
    for name, one in systems.items():
        trained = {seed: _cut(references, scores, words) for seed, scores in _trainings(one).items()}
        cut = list(trained.values())[-1]
        found[name] = {seed: each.scores for seed, each in trained.items()} if isinstance(one, Mapping) else cut.scores
    _say(cut)
    return found, cut


def column_of_words(cut: WordCorpus, column: Column, name: str) -> dict[str, str]:
    """A column of utterances, for their words."""
    return cut.column(column(name))


def _trainings(system: Any) -> Mapping[str, Any]:
    return system if isinstance(system, Mapping) else {"": system}


def _cut(references: Any, scores: Any, words: Words) -> WordCorpus:
    from spoofspan.data.references import References
    from spoofspan.data.scores import Scores
    from spoofspan.evaluation.words import cut_into_words

    if not isinstance(references, References) or not isinstance(scores, Scores):
        raise UsageError("--words needs references and scores in time: words are cut out of both")
    return cut_into_words(references, scores, words)


def _say(cut: WordCorpus) -> None:
    without = f"; {cut.without_words:,} utterances have none" if cut.without_words else ""
    o.say([f"an utterance is a word here: {len(cut.utterance_of):,} words{without}"])
