"""Pages with a part that a script makes: it stands between two marks that name the script."""

from __future__ import annotations

import sys
from pathlib import Path


def write(script: str, page: str, made: str) -> None:
    """Write what a script made into its part of a page; with --check, fail if something else stands there."""
    name = Path(script).name
    begin, end = f"<!-- begin: made by {name} -->", f"<!-- end: made by {name} -->"
    path = Path(script).with_name(page)
    text = path.read_text(encoding="utf-8")
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    new = f"{before}{begin}\n\n{made}\n{end}{after}"
    if "--check" not in sys.argv[1:]:
        path.write_text(new, encoding="utf-8")
    elif new != text:
        sys.exit(f"{path} is out of date; run: python docs/{name}")
