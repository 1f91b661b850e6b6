"""``--words``: measure words of an alignment instead of utterances, in eval and compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o

if TYPE_CHECKING:
    from spoofspan.evaluation.words import WordCorpus


def check_tier(words: str | None) -> None:
    """Refuse a tier of nothing."""
    if words is None:
        raise UsageError("--tier names the tier of --words; give both")


def cut_by(
    words: str, tier: str | None, references: Any, systems: Mapping[str, Any]
) -> tuple[WordCorpus, dict[str, Any]]:
    """Make an utterance of each word, and say how many there are."""
    from spoofspan.evaluation.words import cut_systems
    from spoofspan.formats.text.alignments import read_alignment

    cut, several = cut_systems(references, systems, read_alignment(words, tier))
    without = f"; {cut.without_words:,} utterances have none" if cut.without_words else ""
    o.say([f"an utterance is a word here: {len(cut.utterance_of):,} words{without}"])
    return cut, several
