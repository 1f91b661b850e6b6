"""ASVspoof and PartialSpoof protocols: ``<spk> <utt> - <attack or - or CON> <spoof or bonafide>``.

Labels of whole utterances, their attacks and speakers: what breakdowns are made of. Not ranges. The third field (an
environment in the physical access protocols) is skipped.
"""

from __future__ import annotations

from collections.abc import Sequence

from spoofspan.base.errors import DataError, Problems
from spoofspan.data.protocol import Protocol
from spoofspan.formats.sources import Where, sources
from spoofspan.formats.text.lines import lines_of


def read_protocol(where: Where | Sequence[Where]) -> Protocol:
    """Read protocols; several are one after the other."""
    rows: dict[str, tuple[str, str | None, str]] = {}
    problems = Problems()
    found = sources(where)
    for line in lines_of(found):
        width = len(line.fields)
        if width != 5:
            problems.add(
                f"{line.place}: '<spk> <utt> - <attack> <label>' has 5 fields, this line has {width}{line.hint}"
            )
            continue
        speaker, utterance, _, attack, label = line.fields
        place = f"{line.place}: utterance {utterance!r}"
        if label not in ("bonafide", "spoof"):
            problems.add(f"{place}: the label must be bonafide or spoof, not {label!r}{line.hint}")
        elif label == "bonafide" and attack != "-":
            problems.add(f"{place}: it is called bonafide, but has the attack {attack!r}")
        elif utterance in rows:
            problems.add(f"{place} is listed a second time; keep one of the two")
        else:
            rows[utterance] = (speaker, None if attack == "-" else attack, label)
    problems.raise_if_any("correct the protocol")
    if not rows:
        raise DataError(f"{found[0].name}: there is no utterance in the protocol; it is empty")
    speakers, attacks, labels = zip(*rows.values(), strict=True)
    return Protocol(tuple(rows), speakers, attacks, labels)
