"""Write the tables of formats.md from the catalogue: ``python docs/make_formats.py [--check]``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from spoofspan.formats.format import Registry
from spoofspan.formats.registry import PROPOSAL_FORMATS, REFERENCE_FORMATS, SCORE_FORMATS, UTTERANCE_SCORE_FORMATS

PAGE = Path(__file__).with_name("formats.md")
TABLES: dict[str, Registry[Any]] = {
    "References": REFERENCE_FORMATS,
    "Scores": SCORE_FORMATS,
    "Utterance scores": UTTERANCE_SCORE_FORMATS,
    "Proposals": PROPOSAL_FORMATS,
}
BEGIN, END = "<!-- begin: made by make_formats.py -->", "<!-- end: made by make_formats.py -->"


def main(arguments: list[str]) -> None:
    """Write the page, or with --check fail if it is not what would be written."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = "\n".join(table(title, registry) for title, registry in TABLES.items())
    made = f"{before}{BEGIN}\n\n{tables}\n{END}{after}"
    if "--check" not in arguments:
        PAGE.write_text(made, encoding="utf-8")
    elif made != page:
        sys.exit(f"{PAGE} is out of date; run: python docs/make_formats.py")


def table(title: str, registry: Registry[Any]) -> str:
    """One table of formats."""
    lines = [f"## {title}", "", "| name | what | needs | written | in pieces |", "|---|---|---|---|---|"]
    for one in registry.formats.values():
        about = one.about.replace("|", "\\|").replace("<", "&lt;")
        needs = ", ".join(f"`--{need}`" for need in one.needs)
        written, pieces = ("yes" if able else "no" for able in (one.write, one.stream))
        lines.append(f"| `{one.name}` | {about} | {needs} | {written} | {pieces} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(sys.argv[1:])
