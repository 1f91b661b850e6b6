"""Count the lines of code of each package, and write the table in docs/architecture.md.

    python tools/lines_of_code.py [--write] [REVISION]

Blank lines, comments and docstrings are not counted. With a revision, its counts stand beside those of the working
tree.
"""

import argparse
import ast
import io
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
MARKS = ("<!-- lines: begin -->", "<!-- lines: end -->")
# Budgets for the features of November 2026; a new capability may raise one, in the decision that brings it.
BUDGETS = {
    "base": 800,
    "data": 1200,
    "mass": 1800,
    "measures": 3900,
    "evaluation": 2700,
    "uncertainty": 2300,
    "formats": 5800,
    "scale": 1100,
    "report": 3400,
    "cli": 2600,
    "challenge": 1800,
    "cm, corpus, experiment, demo": 6600,
    "integrations": 600,
}
NOT_CODE = ("COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def lines_of_code(source: str) -> int:
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if tokenize.tok_name[token.type] not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            lines.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def sources(revision: str | None) -> Iterator[tuple[str, str]]:
    """Path below src/spoofspan and text of each module, in the working tree or in a revision."""
    if revision is None:
        package = ROOT / "src" / "spoofspan"
        for module in package.rglob("*.py"):
            yield module.relative_to(package).as_posix(), module.read_text(encoding="utf-8")
        return
    for name in git("ls-tree", "-r", "--name-only", revision, "src/spoofspan").splitlines():
        if name.endswith(".py"):
            yield name.removeprefix("src/spoofspan/"), git("show", f"{revision}:{name}")


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True, text=True).stdout


def count(modules: Iterable[tuple[str, str]]) -> Counter[str]:
    together = {name: group for group in BUDGETS for name in group.split(", ")}
    counts: Counter[str] = Counter()
    for path, text in modules:
        package = path.split("/")[0] if "/" in path else "(top)"
        # Dask is counted with what it scales
        package = "scale" if path == "integrations/dask.py" else together.get(package, package)
        counts[package] += lines_of_code(text)
    return counts


def table(revision: str | None) -> str:
    now, before = count(sources(None)), Counter() if revision is None else count(sources(revision))
    rows = [["package", *([] if revision is None else ["before"]), "lines", "budget"]]
    rows.append(["---", *["---:"] * (len(rows[0]) - 1)])
    for name in [*BUDGETS, *sorted(set(now) - set(BUDGETS))]:
        title = "scale, integrations/dask" if name == "scale" else name
        old = [] if revision is None else [f"{before[name]:,}"]
        rows.append([title, *old, f"{now[name]:,}", f"{BUDGETS[name]:,}" if name in BUDGETS else ""])
    old = [] if revision is None else [f"{before.total():,}"]
    rows.append(["all", *old, f"{now.total():,}", f"{sum(BUDGETS.values()):,}"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", nargs="?")
    parser.add_argument("--write", action="store_true", help="put the table into docs/architecture.md")
    given = parser.parse_args()
    text = table(given.revision)
    print(text)
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        head, _, rest = page.partition(MARKS[0])
        _, _, tail = rest.partition(MARKS[1])
        PAGE.write_text(f"{head}{MARKS[0]}\n{text}\n{MARKS[1]}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
