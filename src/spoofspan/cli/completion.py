"""What the shell offers when Tab is pressed: names only, without opening a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Complete = Callable[[str], list[str]]


def among(names: Callable[[], Iterable[str]]) -> Complete:
    """Offer the names that begin with what was typed; they are looked up when they are needed."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def conventions() -> Iterable[str]:
    """The conventions."""
    from spoofspan.data.rules import CONVENTIONS

    return CONVENTIONS


def eer_rules() -> Iterable[str]:
    """The EER rules; a bucketed one needs numbers of its own."""
    from spoofspan.evaluation.explain import EER_RULES

    return ["bucketed(-1,1,10000)" if name == "bucketed" else name for name in EER_RULES]


def measures() -> Iterable[str]:
    """The measures, at the resolutions of the paper."""
    from spoofspan.evaluation.measurement import Measure
    from spoofspan.evaluation.resolution_table import PAPER_RESOLUTIONS
    from spoofspan.measures.catalogue import all_kinds

    for kind in all_kinds():
        for basis in kind.bases:
            if basis == "point":
                yield from (str(Measure(f"point-{kind.name}", resolution)) for resolution in PAPER_RESOLUTIONS)
            elif basis == "event":
                yield str(Measure.parse(f"event-{kind.name}"))
            else:
                yield f"{basis}-{kind.name}"


def reference_formats() -> Iterable[str]:
    """The formats of references."""
    from spoofspan.formats.registry import REFERENCE_FORMATS

    return REFERENCE_FORMATS.formats


def score_formats() -> Iterable[str]:
    """The formats of scores."""
    from spoofspan.formats.registry import SCORE_FORMATS

    return SCORE_FORMATS.formats


def utterance_score_formats() -> Iterable[str]:
    """The formats of utterance scores."""
    from spoofspan.formats.registry import UTTERANCE_SCORE_FORMATS

    return UTTERANCE_SCORE_FORMATS.formats


def system_formats() -> Iterable[str]:
    """The formats of scores and of proposals."""
    from spoofspan.formats.registry import PROPOSAL_FORMATS

    return [*score_formats(), *PROPOSAL_FORMATS.formats]


def formats() -> Iterable[str]:
    """All formats."""
    return dict.fromkeys([*reference_formats(), *score_formats()])


def written_formats() -> Iterable[str]:
    """The formats that can be written."""
    from spoofspan.formats.registry import REFERENCE_FORMATS, SCORE_FORMATS

    references = [one.name for one in REFERENCE_FORMATS.formats.values() if one.write is not None]
    scores = [one.name for one in SCORE_FORMATS.formats.values() if one.write is not None]
    return dict.fromkeys([*references, *scores])


def reference_sources() -> Iterable[str]:
    """What the labels of a dataset may come from."""
    from spoofspan.base.times import milliseconds
    from spoofspan.evaluation.resolution_table import PAPER_RESOLUTIONS
    from spoofspan.formats.datasets.partialspoof_dataset import RTTM_NAMES, SEGMENT_LABELS

    return [*RTTM_NAMES, *(f"{SEGMENT_LABELS}@{milliseconds(one)}" for one in PAPER_RESOLUTIONS)]


def subjects() -> Iterable[str]:
    """Everything that has an explanation."""
    from spoofspan.data.rules import CONVENTIONS
    from spoofspan.evaluation.explain import EER_RULES, MEASURES, RULES

    events = (name for name in measures() if name.startswith("event-"))
    return [*MEASURES, *events, "measures", *RULES, *EER_RULES, *CONVENTIONS]
