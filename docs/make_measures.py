"""Write the table of measures.md from the registry: ``python docs/make_measures.py [--check]``."""

from __future__ import annotations

import sys
from pathlib import Path

from spoofspan.measures.catalogue import all_kinds
from spoofspan.measures.measure import Measure

PAGE = Path(__file__).with_name("measures.md")
BEGIN, END = "<!-- begin: made by make_measures.py -->", "<!-- end: made by make_measures.py -->"


def main(arguments: list[str]) -> None:
    """Write the page, or with --check fail if it is not what would be written."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
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
    table = "\n".join(lines)
    made = f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"
    if "--check" not in arguments:
        PAGE.write_text(made, encoding="utf-8")
    elif made != page:
        sys.exit(f"{PAGE} is out of date; run: python docs/make_measures.py")


if __name__ == "__main__":
    main(sys.argv[1:])
