"""Plans: what it takes to measure one thing, settled before any data are looked at.

A plan knows the rules, the EER rule and how to make the mass of a corpus or of a shard of one. That is why the same
plan serves a corpus in memory (:mod:`spoofspan.evaluate`) and one in shards (:mod:`spoofspan.streaming`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from spoofspan.eer import check_eer_rule, equal_error_rate
from spoofspan.errors import SpoofspanWarning, UndefinedMeasureError, UsageError
from spoofspan.mass import ScoreMass
from spoofspan.measures import Measure, Measurement, milliseconds, warnings_for
from spoofspan.nanoseconds import LONGEST
from spoofspan.operating_point import totals
from spoofspan.overlaying import overlay_with
from spoofspan.points import check_resolution, point_mass_with
from spoofspan.references import References
from spoofspan.rules import Rules, Touched, rules_for
from spoofspan.scores import Scores
from spoofspan.signature import Signature

Undefined = Literal["raise", "nan"]
OnUndefined = Callable[[Measure, UndefinedMeasureError], None]
# No utterance is as long as one point of this resolution (seconds).
WHOLE_UTTERANCE = LONGEST / 1e9


@dataclass(frozen=True)
class Plan:
    """How one measure is taken."""

    measure: Measure
    rules: Rules
    eer_rule: str
    convention: str
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> Literal["range", "point"]:
        """Whether durations or points are counted."""
        return "range" if self.measure.family == "range-eer" else "point"

    def mass(self, references: References, scores: Scores) -> tuple[ScoreMass, tuple[Touched, ...]]:
        """Lay references and scores over each other, and say what the rules touched."""
        if self.kind == "range":
            return overlay_with(references, scores, self.rules)
        resolution = WHOLE_UTTERANCE if self.measure.resolution is None else self.measure.resolution
        return point_mass_with(references, scores, resolution, self.rules)

    def spelled_rules(self, snap: int) -> dict[str, str]:
        """The rules as text; what the references decide (their ``snap`` in ns) is written out."""
        return spelled_rules(self.kind, self.rules, snap)

    def measured(
        self,
        mass: ScoreMass,
        touched: Iterable[Touched],
        utterances: int,
        signer: Callable[[], Signature],
        undefined: Undefined = "raise",
    ) -> Measurement:
        """Compute the EER of a mass, with all that belongs to it."""
        if undefined not in ("raise", "nan"):
            raise UsageError(f"undefined={undefined!r}: valid: 'raise', 'nan'")
        try:
            found = equal_error_rate(mass, self.eer_rule)
            point, neighbours = found.point, found.neighbours
            value, exact = float(found.value), found.value
            cautions = warnings_for(value, point, self.eer_rule)
        except UndefinedMeasureError as error:
            if undefined == "raise":
                raise
            sums = totals(mass)
            point = replace(sums.point(float("nan"), 0, 0), threshold=float("nan"))
            neighbours, value, exact, cautions = (None, None), float("nan"), None, (str(error),)
        for caution in cautions:
            warnings.warn(f"{self.measure}: {caution}", SpoofspanWarning, stacklevel=4)
        return Measurement(
            str(self.measure),
            value,
            point,
            neighbours,
            self.eer_rule,
            self.convention,
            self.rules,
            {entry.rule: entry for entry in touched},
            utterances,
            exact,
            cautions,
            self.notes,
            signer,
        )


def plan_measure(
    measure: Measure, hop: float | None, convention: str, eer_rule: str | None, overrides: Mapping[str, Any]
) -> Plan:
    """Settle how a measure is taken on scores of a (coarsest) hop, None for ranges."""
    notes: tuple[str, ...] = ()
    if measure.family == "range-eer":
        rules, convention_rule = rules_for("range", convention, overrides)
    elif measure.resolution is None:
        rules, convention_rule = rules_for("point", convention, {**overrides, "last_point": "use"})
    else:
        resolution = check_resolution(measure.resolution)
        measure = Measure(measure.family, resolution)
        rules, convention_rule = point_rules(hop, resolution, convention, overrides)
        if hop is not None and resolution > hop * (1 + 1e-9):
            notes = (
                f"measured at {milliseconds(resolution)}, coarser than the scores' hop of {milliseconds(hop)}: "
                "an easier task, not a better system",
            )
    return Plan(measure, rules, check_eer_rule(eer_rule or convention_rule), convention, notes)


def point_rules(
    hop: float | None, resolution: float, convention: str, overrides: Mapping[str, Any]
) -> tuple[Rules, str]:
    """The rules and the EER rule of points: some conventions treat points finer than the hop apart."""
    finer = hop is not None and resolution < hop * (1 - 1e-9)
    return rules_for("point", convention, overrides, finer_than_hop=finer)


def spelled_rules(kind: str, rules: Rules, snap: int) -> dict[str, str]:
    """The rules as text; what the references decide (their ``snap`` in ns) is written out."""
    spelled = rules.spelled(kind)
    if rules.snap is None:
        spelled["snap"] = f"{snap}ns"
    return spelled
