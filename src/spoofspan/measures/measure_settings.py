"""MeasureSettings: a measure with everything that its value depends on besides the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from spoofspan.base.errors import UsageError
from spoofspan.measures.kind import Value
from spoofspan.measures.measure import Measure

if TYPE_CHECKING:
    from spoofspan.data.utterance_scores import VerificationScores
    from spoofspan.mass.score_mass import ScoreMass
    from spoofspan.measures.costs import VerificationErrors

ScoresAre = Literal["llr", "probability"]
# What the function of a measure may ask for: the positive class, what the scores are, the scores of a verification
# system, or its errors, which may be given as rates.
Input = Literal["positive", "scores_are", "asv_scores", "asv_errors"]


@dataclass(frozen=True)
class MeasureSettings:
    """A measure, and how its value is taken of a mass.

    Examples
    --------
    >>> import spoofspan as ss
    >>> references = ss.References.from_ranges({"u1": [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof")]})
    >>> scores = ss.Scores.from_ranges({"u1": [(0.0, 0.9, 0.8), (0.9, 2.0, -0.4)]}, higher="bonafide")
    >>> at_zero = MeasureSettings(Measure.parse("range-f1"), threshold=0.0)
    >>> at_zero.value(ss.overlay(references, scores)).value, at_zero.read_off
    (Fraction(20, 21), 'threshold:given')
    """

    measure: Measure
    eer_rule: str = "nearest"
    threshold: float | None = None  # None: that of the EER, for measures at a threshold
    scores_are: ScoresAre | None = None
    asv_scores: VerificationScores | VerificationErrors | None = None  # of a speaker verification system, for the t-DCF

    @property
    def read_off(self) -> str:
        """How the value is read off the curve, as it stands in the signature."""
        return self.measure.kind.read_off(self)

    def value(self, mass: ScoreMass) -> Value:
        """Measure a mass."""
        return self.measure.kind.value(self, mass)

    def number(self, mass: ScoreMass) -> float:
        """The value of a mass, as a float."""
        return float(self.value(mass).value)

    def argument(self, name: Input) -> Any:
        """What the function of a measure asks for; it is refused if it is missing."""
        return _ARGUMENTS[name](self)


def _scores_are(settings: MeasureSettings) -> ScoresAre:
    if settings.scores_are is None:
        raise UsageError(
            f"{settings.measure} takes scores at their word: say what they are with scores_are='llr' or "
            "'probability' (--scores-are)"
        )
    return settings.scores_are


def _asv_scores(settings: MeasureSettings, needed: str = "asv_scores=") -> VerificationScores | VerificationErrors:
    if settings.asv_scores is None:
        raise UsageError(f"{settings.measure} needs a speaker verification system: give {needed}")
    return settings.asv_scores


def _asv_errors(settings: MeasureSettings) -> VerificationErrors:
    from spoofspan.measures.costs import verification_errors

    return verification_errors(_asv_scores(settings, "asv_scores= or asv_rates="))


_ARGUMENTS: Mapping[Input, Callable[[MeasureSettings], Any]] = {
    "positive": lambda settings: settings.measure.positive,
    "scores_are": _scores_are,
    "asv_scores": _asv_scores,
    "asv_errors": _asv_errors,
}
