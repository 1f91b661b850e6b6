"""Count docstrings that begin with a relative clause: What, How, Whether, Which, Where, Who, When or Why.

    python tools/relative_docstrings.py [--list] [FOLDER]

A docstring begins with a noun phrase or an imperative. The exit code is 1 if 5 % or more do not.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
MOST = 0.05
CLAUSE = re.compile(r"(What|How|Whether|Which|Where|Who|Whose|When|Why)\b")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(folder: Path) -> Iterator[tuple[str, str]]:
    """Every docstring below a folder, with the place it stands at."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
                line = node.body[0].lineno
                yield f"{path.relative_to(folder)}:{line}", text


def main() -> None:
    """Print the share, and with --list the docstrings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=SOURCE)
    parser.add_argument("--list", action="store_true", help="also print the docstrings")
    options = parser.parse_args()
    everything = list(docstrings(options.folder))
    clauses = [(place, text) for place, text in everything if CLAUSE.match(text)]
    if options.list:
        for place, text in clauses:
            print(f"{place}: {text.splitlines()[0]}")
    share = len(clauses) / max(len(everything), 1)
    print(f"{len(clauses)} of {len(everything)} docstrings ({100 * share:.1f} %) begin with a relative clause")
    sys.exit(share >= MOST)


if __name__ == "__main__":
    main()
