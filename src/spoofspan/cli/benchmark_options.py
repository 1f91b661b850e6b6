"""``eval --benchmark``: the flags of a benchmark, as if they had been typed; what is typed as well takes precedence."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spoofspan.cli import completion
from spoofspan.cli import options as o

if TYPE_CHECKING:
    from spoofspan.formats.datasets.benchmarks import Benchmark

DEFAULTS = {"convention": "default"}  # of flags that are something if they are not typed
BenchmarkName = Annotated[
    str | None,
    o.option(
        "Measure as this benchmark is ranked. spoofspan benchmarks lists them, with their labels, measures and rules.",
        of=completion.benchmarks,
    ),
]


def takes_benchmark(command: o.Command) -> o.Command:
    """Give a command the flag --benchmark, which fills in other flags."""

    @wraps(command)
    def with_benchmark(*, benchmark: str | None = None, **typed: Any) -> None:
        if benchmark is not None:
            from spoofspan.formats.datasets.benchmarks import find_benchmark

            typed = filled_in(find_benchmark(benchmark), typed)
        command(**typed)

    added = inspect.Parameter("benchmark", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=BenchmarkName)
    parameters = [*inspect.signature(command).parameters.values()]
    at = next(i for i, one in enumerate(parameters) if one.name == "measure")
    parameters.insert(at, added)
    return o.with_parameters(with_benchmark, parameters)


def filled_in(benchmark: Benchmark, typed: dict[str, Any]) -> dict[str, Any]:
    """The flags that were typed, and for all others those of the benchmark; says what is not as it is ranked."""
    options: dict[str, Any] = {**benchmark.options, "measure": list(benchmark.measures)}
    given = {name: typed[name] for name in options if typed[name] not in (None, [], DEFAULTS.get(name))}
    other = [f"--{name.replace('_', '-')}" for name, value in given.items() if value != options[name]]
    typer.echo(f"{benchmark.name}: {benchmark.title}; ranked: {benchmark.ranked}", err=True)
    if other:
        typer.echo(f"note: not as it is ranked, because of {', '.join(other)}", err=True)
    filled = {**typed, **options, **given}
    if filled["dataset"] is not None:  # whose name has the set
        filled["split"] = typed["split"]
    if benchmark.takes == "utterance-scores" and filled["utterance_scores"] is None:
        # the second word is what --utterance-scores would name
        filled["scores"], filled["utterance_scores"] = None, filled["scores"]
    return filled
