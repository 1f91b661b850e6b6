"""Write the tables of formats.md from the catalogue: ``python docs/make_formats.py [--check]``."""

from __future__ import annotations

from typing import Any

import made_pages

from spoofspan.formats.format import Registry
from spoofspan.formats.registry import PROPOSAL_FORMATS, REFERENCE_FORMATS, SCORE_FORMATS, UTTERANCE_SCORE_FORMATS

TABLES: dict[str, Registry[Any]] = {
    "References": REFERENCE_FORMATS,
    "Scores": SCORE_FORMATS,
    "Utterance scores": UTTERANCE_SCORE_FORMATS,
    "Proposals": PROPOSAL_FORMATS,
}


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
    made_pages.write(__file__, "formats.md", "\n".join(table(title, registry) for title, registry in TABLES.items()))
