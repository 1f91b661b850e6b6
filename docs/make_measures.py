"""Write the table of measures.md from the registry: ``python docs/make_measures.py [--check]``."""

from __future__ import annotations

import made_pages

from spoofspan.measures.catalogue import EVENT, all_kinds
from spoofspan.measures.measure import Measure


def table() -> str:
    """One row for each measure."""
    lines = ["| name | formula | better | taken | reference |", "|---|---|---|---|---|"]
    for kind in all_kinds():
        formula = kind.formula.replace("|", "\\|")
        name = str(Measure.parse(f"event-{kind.name}")) if EVENT in kind.bases else kind.name
        lines.append(f"| `{name}` | {formula} | {kind.direction} | {kind.taken} | {kind.reference} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    made_pages.write(__file__, "measures.md", table())
