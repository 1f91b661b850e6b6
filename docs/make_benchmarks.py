"""Write the tables of benchmarks.md from the register: ``python docs/make_benchmarks.py [--check]``."""

from __future__ import annotations

import made_pages

from spoofspan.formats.datasets.benchmarks import Benchmark, benchmarks
from spoofspan.report.results import short_measures


def overview() -> str:
    """One row for each benchmark."""
    lines = ["| `--benchmark` | data set | ranked by | scorer |", "|---|---|---|---|"]
    for one in benchmarks().values():
        names = ", ".join(f"`{name}`" for name in one.names)
        lines.append(f"| {names} | {plain(one.title)} | {plain(one.ranked)} | {'unverified' * bool(one.unverified)} |")
    return "\n".join(lines) + "\n"


def sections() -> str:
    """A section for each benchmark."""
    return "\n".join(map(section, benchmarks().values()))


def section(one: Benchmark) -> str:
    """Everything about one benchmark."""
    flags = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in one.options.items())
    lines = [f"## {one.name}", "", f"{plain(one.title)}. Ranked: {plain(one.ranked)}.", ""]
    lines += ["<!-- not run: the files are the benchmark's -->", "```sh"]
    words = one.command.split()[-2:]
    lines += [f"spoofspan eval --benchmark {name} {' '.join(words)}" for name in one.names] + ["```", ""]
    lines += ["| | |", "|---|---|", f"| REFERENCES | {plain(one.references)} |"]
    lines.append(f"| {words[1]} | {plain(one.system)} |")
    lines.append(f"| measures | `{short_measures(one.measures)}` |")
    if flags:
        lines.append(f"| as if typed | `{flags}` |")
    lines += [f"| `{name}:{key}` | {spelled(more)} |" for name in [one.name] for key, more in one.variants.items()]
    lines.append(f"| source | {plain(one.source)} |")
    if one.unverified:
        lines.append(f"| unverified | {plain(one.unverified)} |")
    if one.note:
        lines.append(f"| note | {plain(one.note)} |")
    return "\n".join(lines) + "\n"


def spelled(options: object) -> str:
    """Options of a variant as flags."""
    items = options.items() if isinstance(options, dict) else ()
    return "`" + " ".join(f"--{name} {value}" for name, value in items) + "`"


def plain(text: str) -> str:
    """Text that Markdown leaves alone."""
    for mark in "|<[]{}*_":
        text = text.replace(mark, "\\" + mark if mark != "<" else "&lt;")
    return text


if __name__ == "__main__":
    made_pages.write(__file__, "benchmarks.md", f"{overview()}\n{sections()}")
