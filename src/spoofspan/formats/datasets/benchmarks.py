"""The register of benchmarks: which files, measures and rules a data set or challenge is ranked by.

Each benchmark is a row of ``benchmarks.json``, next to this module; a new one needs no code. ``options`` are flags of
``spoofspan eval`` by name. A row with ``variants`` is named with one of them, ``lav-df:audio``; the first is meant
without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from spoofspan.base.documents import read_json
from spoofspan.base.errors import UsageError, dated_names, nearest_name
from spoofspan.data.rules import CONVENTIONS, RULES

FILE = Path(__file__).with_name("benchmarks.json")


@dataclass(frozen=True)
class Benchmark:
    """One row of the register.

    Parameters
    ----------
    name, title
        As it is called here, and what it is.
    references, system
        The files that it expects: labels, and what a system said.
    takes
        What the second file holds.
    measures
        The official ones, as spoofspan spells them.
    ranked, source, note
        What is ranked, where that is written, and what differs.
    unverified
        Why nobody knows that the numbers equal the official ones; empty if the official scorer was run.
    options
        Flags of ``spoofspan eval`` that make the labels and rules those of the benchmark.
    variants
        Further options, by the name of a protocol.
    """

    name: str
    title: str
    references: str
    system: str
    takes: Literal["scores", "proposals", "utterance-scores"]
    measures: tuple[str, ...]
    ranked: str
    source: str
    note: str
    options: Mapping[str, Any]
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unverified: str = ""

    @property
    def names(self) -> list[str]:
        """Names that ``--benchmark`` takes."""
        return [f"{self.name}:{one}" for one in self.variants] or [self.name]

    @property
    def command(self) -> str:
        """Command that measures it."""
        return f"spoofspan eval --benchmark {self.names[0]} REFERENCES {self.takes.replace('-', '_').upper()}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {**vars(self), "measures": list(self.measures), "command": self.command}


@dataclass(frozen=True)
class BenchmarkRun:
    """A benchmark as it was measured.

    Parameters
    ----------
    name
        As it was typed, with its variant.
    benchmark
        Its row of the register.
    changed
        Flags that were typed and make the numbers others than those that are ranked.
    assumed
        What the benchmark says of files that do not state it themselves: ``higher``, ``hop``.
    options
        Flags that the benchmark sets, as they were typed or as it says.

    """

    name: str
    benchmark: Benchmark
    changed: tuple[str, ...] = ()
    assumed: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, given: Mapping[str, Any]) -> BenchmarkRun:
        """A benchmark with the flags that were typed, which take precedence.

        >>> BenchmarkRun.of("partialspoof", {"gaps": "ignore"}).changed
        ('--gaps',)
        """
        found = find_benchmark(name)
        options: dict[str, Any] = {**found.options, "measure": list(found.measures)}
        # files may state these themselves
        stated: dict[str, Any] = {key: options.pop(key) for key in ("higher", "hop") if key in options}
        changed = [key for key, value in options.items() if given.get(key, value) != value]
        changed += [key for key in _deviations(options.get("convention"), given) if key not in changed]
        return cls(
            name,
            found,
            tuple(f"--{key.replace('_', '-')}" for key in changed),
            {key: value for key, value in stated.items() if key not in given},
            options | {key: given[key] for key in options if key in given},
        )

    @property
    def notes(self) -> list[str]:
        """Notes for readers of the numbers."""
        notes = [f"benchmark {self.name}: {self.benchmark.unverified}"] if self.benchmark.unverified else []
        if self.changed:
            notes.append(f"benchmark {self.name}: not as it is ranked, because of {', '.join(self.changed)}")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        one = self.benchmark
        about = {"name": self.name, "ranked": one.ranked, "source": one.source}
        return {**about, "unverified": one.unverified, "changed": list(self.changed)}


def _deviations(convention: str | None, given: Mapping[str, Any]) -> list[str]:
    """The given rules that a benchmark's convention, if it has one, sets otherwise."""
    if convention is None:  # its rules are the defaults, and most of these have to be stated
        return []
    sets = CONVENTIONS[convention].measures.values()
    ruled = [key for key in RULES if any(given.get(key) not in (None, getattr(rules, key)) for rules, _ in sets)]
    return ruled + [key for key in ("eer_rule",) if any(given.get(key) not in (None, rule) for _, rule in sets)]


@cache
def benchmarks() -> Mapping[str, Benchmark]:
    """All rows, by name."""
    rows = read_json(FILE)
    return {row["name"]: Benchmark(**{**row, "measures": tuple(row["measures"])}) for row in rows}


def find_benchmark(spelling: str) -> Benchmark:
    """Look up a benchmark, with the options of the variant that is named after a colon.

    >>> find_benchmark("lav-df:audio").options["subset"]
    'subset_for_audio_only'
    """
    name, _, variant = spelling.partition(":")
    known = benchmarks()
    if name not in known:
        dated = dated_names(name, {key: one.ranked for key, one in known.items()})
        raise UsageError(f"no benchmark {name!r}: {dated or nearest_name(name, known)}")
    found = known[name]
    if not found.variants:
        if variant:
            raise UsageError(f"the benchmark {name} has no variants; leave :{variant} out")
        return found
    variant = variant or next(iter(found.variants))
    if variant not in found.variants:
        raise UsageError(f"the benchmark {name} has no variant {variant!r}: {nearest_name(variant, found.variants)}")
    return replace(found, options={**found.options, **found.variants[variant]})
