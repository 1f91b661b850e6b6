"""The difference of two results: rules and inputs that differ, and the effect of each rule.

Each rule is changed on its own, from A to B, in the order of their declaration, the EER rule first. The effects of
single rules need not add up to the whole difference; the rest is interaction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from spoofspan.base.errors import SpoofspanError, UsageError, quietly, reason_of
from spoofspan.base.version import __version__
from spoofspan.data.rules import RULES
from spoofspan.evaluation.corpus import corpus_of
from spoofspan.evaluation.signature_text import NOTHING, convention_rules, kind_of, rule_value
from spoofspan.evaluation.stated_result import Source, StatedMeasurement, StatedResult
from spoofspan.evaluation.verification import ResultDifference, higher_of, measured_again

if TYPE_CHECKING:
    from spoofspan.data.proposals import Proposals
    from spoofspan.data.rules import Regions
    from spoofspan.data.scores import Scores
    from spoofspan.data.utterance_scores import UtteranceScores, VerificationScores
    from spoofspan.evaluation.corpus import Corpus
    from spoofspan.evaluation.plan import EvaluationOptions
    from spoofspan.evaluation.utterances import Truth
    from spoofspan.measures.costs import VerificationErrors


@dataclass(frozen=True)
class RuleEffect:
    """The effect of one rule on a value, changed on its own from A to B, or the ``reason`` for having none."""

    rule: str
    a: str
    b: str
    effect: float
    reason: str = ""


@dataclass(frozen=True)
class MeasureDifference:
    """The difference of one measure between two results.

    Parameters
    ----------
    measure
        The measure.
    a, b
        The values as stated; NaN for a signature without a value.
    differences
        The fields in which the signatures differ.
    effects
        The effect of each rule, if a corpus was given.
    measured
        The values under the rules of A and of B on the given corpus; None without one.
    """

    measure: str
    a: float
    b: float
    differences: tuple[ResultDifference, ...]
    effects: tuple[RuleEffect, ...] = ()
    measured: tuple[float, float] | None = None

    @property
    def interaction(self) -> float:
        """The part of the measured difference that single rules do not explain."""
        if self.measured is None:
            return math.nan
        known = [one.effect for one in self.effects if not math.isnan(one.effect)]
        return self.measured[1] - self.measured[0] - sum(known)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        plain = {name: value for name, value in vars(self).items() if name not in ("differences", "effects")}
        return {
            **plain,
            "measured": None if self.measured is None else dict(zip("ab", self.measured, strict=True)),
            "differences": [{"name": one.name, "a": one.stated, "b": one.found} for one in self.differences],
            "effects": [vars(one) for one in self.effects],
            "interaction": None if self.measured is None else self.interaction,
        }


@dataclass(frozen=True)
class ResultDiff:
    """The difference of two results, measure by measure; ``notes`` list measures of only one of them."""

    a: str
    b: str
    measures: tuple[MeasureDifference, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "spoofspan": __version__,
            "a": self.a,
            "b": self.b,
            "measures": [one.to_dict() for one in self.measures],
            "notes": list(self.notes),
        }


def diff_results(
    a: Source | StatedResult,
    b: Source | StatedResult,
    references: Truth | Corpus | None = None,
    scores: Scores | Proposals | UtteranceScores | None = None,
    *,
    utterance_scores: UtteranceScores | None = None,
    boundary_scores: Scores | None = None,
    asv_scores: VerificationScores | VerificationErrors | None = None,
    regions: Regions | None = None,
) -> ResultDiff:
    """Compare the rules, inputs and values of two results; with a corpus, also measure the effect of each rule.

    Parameters
    ----------
    a, b
        Results as :func:`spoofspan.verify` takes them: files, their contents, signatures or measurements.
    references, scores
        The corpus on which single rules are changed from A to B.
    utterance_scores, boundary_scores, asv_scores, regions
        Further inputs, as in :func:`spoofspan.evaluate`.

    Returns
    -------
    ResultDiff
        The common measures, each with its differences and, if a corpus is given, the effect of each rule.

    Examples
    --------
    >>> import spoofspan as ss
    >>> import spoofspan.demo
    >>> corpus = spoofspan.demo.load()
    >>> found = [ss.range_eer(corpus.references, corpus.systems[0.02], collar=collar) for collar in (0.0, 0.05)]
    >>> (range_eer,) = ss.diff_results(*found, corpus.references, corpus.systems[0.02]).measures
    >>> [(one.rule, one.a, one.b, round(100 * one.effect, 2)) for one in range_eer.effects]
    [('collar', '0ns', '50000000ns', -1.59)]
    """
    corpus = (
        None
        if references is None
        else corpus_of(references, scores, utterance_scores=utterance_scores, boundary_scores=boundary_scores)
    )
    a, b = StatedResult.read(a), StatedResult.read(b)
    first, second = ({one.measure: one for one in result.measurements} for result in (a, b))
    common = [name for name in first if name in second]
    if not common:
        raise UsageError(
            f"{a.name} and {b.name} have no measure in common ({', '.join(first)}; {', '.join(second)}); evaluate one "
            "of them as the other: spoofspan eval ... --like RESULT"
        )
    notes = [
        f"only in {result.name}: {', '.join(name for name in one if name not in common)}"
        for result, one in ((a, first), (b, second))
        if len(one) > len(common)
    ]
    if a.spoofspan is not None and b.spoofspan is not None and a.spoofspan != b.spoofspan:
        notes.append(f"versions of spoofspan: {a.spoofspan} and {b.spoofspan}")
    found = [_compared(first[name], second[name]) for name in common]
    if corpus is not None:
        with quietly():
            changes = _Changes(a, b, corpus, regions, asv_scores)
            found = [changes.explained(one, first[one.measure], second[one.measure]) for one in found]
            notes += changes.notes
    return ResultDiff(a.name, b.name, tuple(found), tuple(notes))


def _compared(a: StatedMeasurement, b: StatedMeasurement) -> MeasureDifference:
    one, two = a.fields, b.fields
    if one.short and not two.short:
        two = two.under(str(one.convention))
    elif two.short and not one.short:
        one = one.under(str(two.convention))
    apart = one.differences(two)
    if a.plain and b.plain:  # files state every rule, also where it changed nothing
        apart = {name: pair for name, pair in apart.items() if not name.startswith("rule ")}
        both = {name: (a.rules.get(name, NOTHING), b.rules.get(name, NOTHING)) for name in RULES}
        apart |= {f"rule {name}": pair for name, pair in both.items() if pair[0] != pair[1]}
    differences = tuple(ResultDifference(name, *pair) for name, pair in apart.items())
    return MeasureDifference(a.measure, a.value, b.value, differences)


class _Changes:
    """Measures a corpus under the rules of A, with single rules of B."""

    def __init__(
        self,
        a: StatedResult,
        b: StatedResult,
        corpus: Corpus,
        regions: Regions | None,
        asv_scores: VerificationScores | VerificationErrors | None,
    ) -> None:
        self.a, self.b, self.corpus, self.regions, self.asv_scores = a, b, corpus, regions, asv_scores
        self.notes: list[str] = []

    def explained(self, found: MeasureDifference, a: StatedMeasurement, b: StatedMeasurement) -> MeasureDifference:
        """The same difference with the effect of each rule."""
        start, end = (self._value_or_note(*one) for one in ((self.a, a), (self.b, b)))
        effects: list[RuleEffect] = []
        for name in ("eer", *(name for name in RULES if kind_of(a.measure) in RULES[name].of)):
            one, two = _spelled(a, name), _spelled(b, name)
            if one == two:
                continue
            try:
                changed = self._value(self.a, a, {name: two})
                effects.append(RuleEffect(name, one, two, changed - start))
            except SpoofspanError as error:
                effects.append(RuleEffect(name, one, two, math.nan, reason_of(error)))
        return replace(found, effects=tuple(effects), measured=(start, end))

    def _value_or_note(self, result: StatedResult, stated: StatedMeasurement) -> float:
        try:
            return self._value(result, stated)
        except SpoofspanError as error:
            self.notes.append(f"under the rules of {result.name}, {stated.measure} has no value: {reason_of(error)}")
            return math.nan

    def _value(
        self, result: StatedResult, stated: StatedMeasurement, changed: Mapping[str, str] | None = None
    ) -> float:
        """The value of a measure under the rules of a result, some of which may be changed."""
        alone = replace(result, measurements=(stated,))
        regions = self.regions if "regions" in alone.rules else None
        options: EvaluationOptions = alone.options(higher_of(self.corpus), regions, self.asv_scores)
        rules = dict(options.rules)
        for name, text in (changed or {}).items():
            if name == "eer":
                options = replace(options, eer_rule=text)
            elif name == "regions":
                rules[name] = None if text == "all" else self.regions
            else:
                rules[name] = rule_value(name, text)
        evaluation = measured_again(alone, self.corpus, replace(options, rules=rules))
        measured = evaluation.measurements[stated.measure]
        if not changed:
            self._note_inputs(result, stated, measured.signature.fields.all_hashes)
        return measured.value

    def _note_inputs(self, result: StatedResult, stated: StatedMeasurement, found: Mapping[str, str]) -> None:
        for name, value in stated.fields.all_hashes.items():
            if name != "utterances" and not found.get(name, value).startswith(value):
                note = f"the {name} given are not those of {result.name}; effects are on those given"
                if note not in self.notes:
                    self.notes.append(note)


def _spelled(one: StatedMeasurement, name: str) -> str:
    """A rule or the EER rule of a result, stated or by its convention."""
    rules, eer_rule = convention_rules(one.measure, one.convention)[0]
    return one.fields.settings.get("eer", eer_rule) if name == "eer" else one.rules.get(name, rules[name])
