"""Write the table of measures.md from the registry: ``python docs/make_measures.py [--check]``."""

from __future__ import annotations

import made_pages

from spoofspan.measures.catalogue import all_kinds
from spoofspan.measures.measure import Measure


def table() -> str:
    """One row for each measure."""
    lines = ["| name | formula | better | taken | reference |", "|---|---|---|---|---|"]
    taken = {"eer": "EER rule", "threshold": "at a threshold", "ranking": "over all", "cost": "over all"}
    for kind in all_kinds():
        formula = kind.formula.replace("|", "\\|")
        how = "scores at their word" if kind.declared else taken.get(kind.group, "")
        if kind.needs_asv:
            how = "with ASV scores"
        name = kind.name
        if kind.group == "event":
            name = str(Measure.parse(f"event-{kind.name}"))
            how = "of proposals, by confidence" if kind.ranked else "of proposals"
        lines.append(f"| `{name}` | {formula} | {kind.direction} | {how} | {kind.reference} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    made_pages.write(__file__, "measures.md", table())
