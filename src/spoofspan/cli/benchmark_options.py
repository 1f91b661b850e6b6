"""``eval --benchmark``: the flags of a benchmark, as if they had been typed; what is typed as well takes precedence."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spoofspan.cli import completion
from spoofspan.cli import options as o

if TYPE_CHECKING:
    from spoofspan.formats.datasets.benchmarks import BenchmarkRun

DEFAULTS = {"convention": "default"}  # of flags that are something if they are not typed
BenchmarkName = Annotated[
    str | None,
    o.option(
        "Measure as this benchmark is ranked. spoofspan benchmarks lists them, with their labels, measures and rules.",
        of=completion.benchmarks,
    ),
]


def takes_benchmark(command: o.Command) -> o.Command:
    """Give a command the flag --benchmark, which fills in other flags; the command gets a BenchmarkRun, or None."""

    @wraps(command)
    def with_benchmark(*, benchmark: str | None = None, **typed: Any) -> None:
        run = None
        if benchmark is not None:
            run, typed = filled_in(benchmark, typed)
        command(benchmark=run, **typed)

    parameters = [
        one.replace(annotation=BenchmarkName) if one.name == "benchmark" else one
        for one in inspect.signature(command).parameters.values()
    ]
    return o.with_parameters(with_benchmark, parameters)


def filled_in(name: str, typed: dict[str, Any]) -> tuple[BenchmarkRun, dict[str, Any]]:
    """Fill in the flags that were not typed; says what is not as the benchmark is ranked."""
    from spoofspan.formats.datasets.benchmarks import BenchmarkRun, find_benchmark

    benchmark = find_benchmark(name)
    options: dict[str, Any] = {**benchmark.options, "measure": list(benchmark.measures)}
    # files that state these themselves are taken at their word
    stated: dict[str, Any] = {key: options.pop(key) for key in ("higher", "hop") if key in options}
    assumed = {key: value for key, value in stated.items() if typed[key] is None}
    given = {key: typed[key] for key in options if typed[key] not in (None, [], DEFAULTS.get(key))}
    changed = [key for key, value in given.items() if value != options[key]]
    changed += [key for key in _deviations(options.get("convention"), typed) if key not in changed]
    run = BenchmarkRun(name, benchmark, tuple(f"--{key.replace('_', '-')}" for key in changed), assumed)
    typer.echo(f"{benchmark.name}: {benchmark.title}; ranked: {benchmark.ranked}", err=True)
    for note in run.notes:
        typer.echo(f"note: {note}", err=True)
    filled = {**typed, **options, **given}
    if filled["dataset"] is not None:  # whose name has the set
        filled["split"] = typed["split"]
    if benchmark.takes == "utterance-scores" and filled["utterance_scores"] is None:
        # the second word is what --utterance-scores would name
        filled["scores"], filled["utterance_scores"] = None, filled["scores"]
    return run, filled


def _deviations(convention: str | None, typed: dict[str, Any]) -> list[str]:
    """The typed rules that a benchmark's convention, if it has one, sets otherwise."""
    from spoofspan.data.rules import CONVENTIONS, RULES

    if convention is None:  # its rules are the defaults, and most of these have to be stated
        return []
    sets = CONVENTIONS[convention].measures.values()
    found = [key for key in RULES if any(typed.get(key) not in (None, getattr(rules, key)) for rules, _ in sets)]
    return found + [key for key in ("eer_rule",) if any(typed[key] not in (None, rule) for _, rule in sets)]
