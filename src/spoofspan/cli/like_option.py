"""``eval --like``: the measures and rules of another result, as if they had been typed; what is typed as well wins."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import Annotated, Any

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o

DEFAULTS = {"convention": "default"}  # of flags that are something if they are not typed
Like = Annotated[
    str | None,
    o.option("Take over measures and rules. From the JSON of eval, or a signature in quotes.", metavar="RESULT"),
]


def takes_like(command: o.Command) -> o.Command:
    """Give a command the flag --like, which fills in the flags of measures and rules."""

    @wraps(command)
    def with_like(*, like: str | None = None, **typed: Any) -> None:
        command(**(typed if like is None else filled_in(like, typed)))

    parameters = list(inspect.signature(command).parameters.values())
    place = 1 + next(place for place, one in enumerate(parameters) if one.name == "measure")
    own = inspect.Parameter("like", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Like)
    return o.with_parameters(with_like, [*parameters[:place], own, *parameters[place:]])


def filled_in(like: str, typed: dict[str, Any]) -> dict[str, Any]:
    """Fill in the flags that were not typed; says which of those that were typed differ from the result."""
    from spoofspan.evaluation.signature_text import BISECTION
    from spoofspan.evaluation.stated_result import StatedResult

    result = StatedResult.read(like)
    found: dict[str, Any] = {
        "measure": result.measures,
        "convention": result.convention,
        "eer_rule": result.eer_rule,
        "scores_are": result.scores_are,
        "asv_rates": result.setting("asv-rates") if typed["asv_scores"] is None else None,
        **result.proposing,
        **result.rules,
    }
    if found.pop("regions", None) is not None and typed["regions"] is None:
        raise UsageError(f"{result.name} was measured in regions; give their file with --regions")
    if (bisection := BISECTION.fullmatch(result.measures[0])) is not None:
        found |= {"measure": None, "algorithm": "bisection", "eer_rule": None, **bisection.groupdict()}
        found["precision"] = float(bisection["precision"])
    if result.setting("threshold") is not None and typed["threshold"] is None and typed["threshold_from"] is None:
        raise UsageError(
            f"{result.name} was measured at a given threshold, which belongs to its system; give --threshold or "
            "--threshold-from"
        )
    known = {name: value for name, value in found.items() if value is not None}
    given = {name: typed[name] for name in known if typed[name] not in (None, [], DEFAULTS.get(name))}
    for name, value in given.items():
        if value != known[name]:
            o.say([f"note: --{name.replace('_', '-')} {value} differs from {result.name}"])
    return {**typed, **known, **given}
