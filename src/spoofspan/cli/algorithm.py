"""``eval --algorithm bisection``: the paper's Algorithm 1 in the place of the exact range EER, with its trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.cli import options as o

if TYPE_CHECKING:
    from spoofspan.evaluation.corpus import Evaluation
    from spoofspan.evaluation.plan import EvaluationOptions

ALGORITHMS = ("exact", "bisection")


@dataclass(frozen=True)
class AlgorithmOptions:
    """How the range EER is found."""

    algorithm: str | None = o.typed_flag(
        "How to find the range EER: exact (default), or bisection (the paper's Algorithm 1, with its trace).",
        of=ALGORITHMS,
    )
    precision: float | None = o.typed_flag("Bisection: stop when FPR and FNR differ by less than this (1e-5).")
    quantiles: str | None = o.typed_flag(
        "Bisection: real (default, as in the published script) or integer (as printed).", of=["real", "integer"]
    )

    def bisects(self, measures: list[str] | None, not_exact: Mapping[str, Any]) -> bool:
        """Whether Algorithm 1 is asked for; refuses what it cannot do."""
        if self.algorithm not in (None, *ALGORITHMS):
            raise UsageError(f"--algorithm {self.algorithm}: {nearest_name(str(self.algorithm), ALGORITHMS)}")
        if self.algorithm != "bisection":
            o.refuse_typed(self, ("precision", "quantiles"), "goes with --algorithm bisection; leave it out")
            return False
        if measures and measures != ["range-eer"]:
            other = next(one for one in measures if one != "range-eer")
            raise UsageError(f"--algorithm bisection estimates the range EER; measure {other} apart, without it")
        for name, value in not_exact.items():
            if value not in (None, False, []):
                raise UsageError(f"--{name} needs the exact range EER; leave it or --algorithm bisection out")
        return True

    def evaluate(self, system: tuple[Any, Any], options: EvaluationOptions) -> Evaluation:
        """Run Algorithm 1."""
        from spoofspan.evaluation.corpus import Evaluation
        from spoofspan.evaluation.evaluate import bisection_eer

        found = bisection_eer(
            *system,
            precision=1e-5 if self.precision is None else self.precision,
            quantiles=cast('Literal["real", "integer"]', self.quantiles or "real"),
            convention=options.convention,
            **options.rules,
        )
        return Evaluation({found.measure: found})


takes_algorithm = o.takes_options("algorithm", AlgorithmOptions)
