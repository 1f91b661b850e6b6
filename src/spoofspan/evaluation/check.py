"""Checks of references and scores before measuring: all problems, and the time that rules would decide."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from spoofspan.base.errors import SpoofspanError
from spoofspan.base.times import exact_sum, milliseconds
from spoofspan.data.front_door import check_references
from spoofspan.data.references import LABELS, References
from spoofspan.data.rules import RuleArguments, Rules, Touched, rules_for
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.evaluation.utterances import Truth, UtteranceCorpus, labels_of
from spoofspan.mass.labelling import label_references
from spoofspan.mass.ranges import Overlay
from spoofspan.measures.measure import Measure

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Check:
    """Findings: facts, time that rules would decide, and problems under the given rules."""

    facts: dict[str, str]
    touched: tuple[Touched, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()  # about inputs that would not be measured
    identified: bool = False  # a file was only described, not checked

    @property
    def passed(self) -> bool:
        """True if measuring would succeed."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "passed": self.passed,
            "facts": self.facts,
            "touched": [
                {"rule": entry.rule, "seconds": entry.seconds, "utterances": entry.utterances} for entry in self.touched
            ],
            "problems": list(self.problems),
            "notes": list(self.notes),
        }


def check(
    references: Truth,
    scores: Scores | UtteranceScores | None = None,
    *,
    convention: str = "default",
    **rules: Unpack[RuleArguments],
) -> Check:
    """Check references, and scores against them, under a set of rules; or labels and scores of whole utterances."""
    if isinstance(scores, UtteranceScores):
        return _check_utterances(references, scores, EvaluationOptions(convention, rules=rules))
    check_references(references)
    references = cast("References", references)
    strict, _ = rules_for("range", convention, rules)
    lenient = _lenient(strict)
    facts = _facts(references) | ({} if scores is None else _score_facts(scores))
    touched: tuple[Touched, ...] = ()
    problems: list[str] = []
    if scores is not None and scores.distinct.decided is not None:
        facts["scores"] += f": {scores.distinct.decided} (no EER: measures at an operating point only)"
    for chosen in (strict, lenient):
        try:
            if scores is None:
                touched = tuple(label_references(references, chosen)[1])
            else:
                touched = Overlay.of(references, scores, chosen).mass()[1]
        except SpoofspanError as error:
            problems.append(str(error))
    return Check(facts, touched, tuple(dict.fromkeys(problems)))


def _check_utterances(truth: Truth, scores: UtteranceScores, options: EvaluationOptions) -> Check:
    """Check scores of whole utterances against their labels."""
    labels = labels_of(truth)
    if isinstance(labels, References):
        facts = _facts(labels)
    else:
        counts = Counter(labels.values())
        facts = {"utterances in the labels": str(len(labels)), **{word: str(counts[word]) for word in sorted(counts)}}
    facts |= {"utterances in the scores": str(len(scores)), "values": _spread(scores)}
    try:
        corpus = UtteranceCorpus(labels, scores)
        _, touched = corpus.mass(corpus.plan(Measure("utterance-eer"), options).rules)
    except SpoofspanError as error:
        return Check(facts, (), (str(error),))
    return Check(facts, touched, ())


def _spread(scores: Scores | UtteranceScores) -> str:
    """Range, type and polarity of scores."""
    spread = f"{scores.values.min():g} to {scores.values.max():g}" if scores.values.size else "none"
    return f"{spread} ({scores.values.dtype}, higher = {scores.higher})"


def _lenient(rules: Rules) -> Rules:
    """The same rules without refusals: the time is counted instead."""
    return replace(
        rules,
        gaps="ignore" if rules.gaps in ("error", "following") else rules.gaps,
        extent="cut-at-duration" if rules.extent == "duration" else rules.extent,
        nonspeech="ignore" if rules.nonspeech == "error" else rules.nonspeech,
        uncovered="ignore" if rules.uncovered in ("error", "hold") else rules.uncovered,
        overlong="cut",
        overlap="min" if rules.overlap == "error" else rules.overlap,
        partial=True,
    )


def _facts(references: References) -> dict[str, str]:
    lengths = references.ends - references.starts
    seconds = {
        f"{name} seconds": f"{exact_sum(lengths[references.labels == code]) / 1e9:.3f}"
        for code, name in enumerate(LABELS)
    }
    durations = "unknown" if references.durations is None else f"{exact_sum(references.durations) / 1e9:.3f}"
    return {
        "utterances in the references": str(len(references)),
        "ranges": str(references.starts.size),
        "empty ranges dropped": str(references.dropped_empty),
        "duration seconds": durations,
        **seconds,
    }


def _score_facts(scores: Scores) -> dict[str, str]:
    hop = "ranges" if scores.hop is None else milliseconds(scores.hop)
    without = int(np.count_nonzero(np.diff(scores.offsets) == 0))
    return {
        "utterances in the scores": str(len(scores)),
        "scores": str(scores.values.size),
        "hop": hop,
        "values": _spread(scores),
        "utterances without any score": str(without),
    }
