"""Completion in the shell: names only, without opening a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Complete = Callable[[str], list[str]]
Names = Iterable[str] | Callable[[], Iterable[str]]


def among(names: Names) -> Complete:
    """Offer the names that begin with what was typed; what a function returns is looked up when it is needed."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in (names() if callable(names) else names) if name.startswith(incomplete)]

    return complete


def conventions() -> Iterable[str]:
    """The conventions."""
    from spoofspan.data.rules import CONVENTIONS

    return CONVENTIONS


def benchmarks() -> Iterable[str]:
    """The benchmarks."""
    from spoofspan.formats.datasets.benchmarks import benchmarks as every

    return [name for one in every().values() for name in one.names]


def eer_rules() -> Iterable[str]:
    """The EER rules; a bucketed one needs numbers of its own."""
    from spoofspan.measures.measure import EER_RULES

    return ["bucketed(-1,1,10000)" if name == "bucketed" else name for name in EER_RULES]


def measures() -> Iterable[str]:
    """The measures, at the resolutions of the paper."""
    from spoofspan.evaluation.resolution_table import PAPER_RESOLUTIONS
    from spoofspan.measures.catalogue import all_kinds
    from spoofspan.measures.measure import Measure

    for kind in all_kinds():
        for basis in kind.bases:
            if basis == "point":
                yield from (str(Measure(f"point-{kind.name}", resolution)) for resolution in PAPER_RESOLUTIONS)
            elif basis == "event":
                yield str(Measure.parse(f"event-{kind.name}"))
            else:
                yield f"{basis}-{kind.name}"


def _registered(*registers: str) -> Callable[[], Iterable[str]]:
    def names() -> Iterable[str]:
        from spoofspan.formats import registry

        return dict.fromkeys(name for one in registers for name in getattr(registry, one).formats)

    return names


reference_formats = _registered("REFERENCE_FORMATS")
utterance_score_formats = _registered("UTTERANCE_SCORE_FORMATS")
system_formats = _registered("SCORE_FORMATS", "PROPOSAL_FORMATS")
formats = _registered("REFERENCE_FORMATS", "SCORE_FORMATS")


def written_formats() -> Iterable[str]:
    """The formats that can be written."""
    from spoofspan.formats.registry import PROPOSAL_FORMATS, REFERENCE_FORMATS, SCORE_FORMATS

    registers: tuple[Any, ...] = REFERENCE_FORMATS, SCORE_FORMATS, PROPOSAL_FORMATS
    every = [one for register in registers for one in register.formats.values()]
    return dict.fromkeys(one.name for one in every if one.write is not None)


def reference_sources() -> Iterable[str]:
    """Sources of the labels of a dataset."""
    from spoofspan.base.times import milliseconds
    from spoofspan.evaluation.resolution_table import PAPER_RESOLUTIONS
    from spoofspan.formats.datasets.partialspoof_dataset import RTTM_NAMES, SEGMENT_LABELS

    return [*RTTM_NAMES, *(f"{SEGMENT_LABELS}@{milliseconds(one)}" for one in PAPER_RESOLUTIONS)]


def subjects() -> Iterable[str]:
    """Everything that has an explanation."""
    from spoofspan.data.rules import CONVENTIONS, RULES
    from spoofspan.evaluation.explain import MEASURES, SYNONYMS, TOPICS
    from spoofspan.measures.measure import EER_RULES

    events = (name for name in measures() if name.startswith("event-"))
    return [*TOPICS, *MEASURES, *events, *RULES, *EER_RULES, *CONVENTIONS, *benchmarks(), *SYNONYMS]
