"""UEM: ``<utt> <chan> <start> <end>`` (NIST) or ``<utt> <start> <end>`` (PartialSpoof): the regions that count.

Not references, but what the rule ``regions`` takes. Comments start with ``;;``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from spoofspan.base.errors import DataError
from spoofspan.formats.sources import Where, sources
from spoofspan.formats.text.lines import lines_of
from spoofspan.formats.text.rows import RangeRows


def read_regions(where: Where | Sequence[Where]) -> dict[str, list[tuple[float, float]]]:
    """Read the regions of each utterance, in seconds."""
    rows = RangeRows()
    regions: dict[str, list[tuple[float, float]]] = {}
    channels: dict[str, str] = {}
    found = sources(where, (".uem",))
    for line in lines_of(found, comment=";;"):
        fields, utterance = line.fields, line.fields[0]
        place = f"{line.place}: utterance {utterance!r}"
        if len(fields) not in (3, 4) or line.hint:
            rows.problems.add(
                f"{place}: UEM is '<utt> <chan> <start> <end>' or '<utt> <start> <end>', "
                f"not {line.text.strip()[:60]!r}{line.hint}"
            )
            continue
        channel = fields[1] if len(fields) == 4 else ""
        if channels.setdefault(utterance, channel) != channel:
            rows.problems.add(f"{place}: a second channel ({channel!r}); keep one channel of each utterance")
            continue
        start, end = rows.seconds(place, fields[-2], "start"), rows.seconds(place, fields[-1], "end")
        if math.isnan(start) or math.isnan(end):
            continue
        if start < 0:
            rows.problems.add(f"{place}: the region starts before 0 ({start})")
        elif end <= start:
            rows.problems.add(f"{place}: the region ends before it starts, or is empty ({start} to {end})")
        else:
            regions.setdefault(utterance, []).append((start, end))
    rows.problems.raise_if_any("correct the file of regions")
    if not regions:
        raise DataError(f"{found[0].name}: there is no region in the file; it is empty or has comments only")
    return regions
