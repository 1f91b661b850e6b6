"""Scores of a speaker verification system: ``<label> <target | nontarget | spoof> <score>`` of ASVspoof."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spoofspan.base.errors import Problems
from spoofspan.data.verification_scores import TRIALS, VerificationScores
from spoofspan.formats.sources import Where, sources
from spoofspan.formats.text.score_fields import score_of


def read_verification_scores(where: Where | Sequence[Where]) -> VerificationScores:
    """Read ``<label> <target | nontarget | spoof> <score>`` of ASVspoof.

    A trial is a spoof if either field says so: in ASVspoof's files the second one does, in others (``spoof
    nontarget``) the first.
    """
    trials: dict[str, list[float]] = {name: [] for name in TRIALS}
    problems = Problems()
    for source in sources(where):
        for number, line in source.lines():
            place, parts = f"{source.name}:{number}", line.split()
            if len(parts) != 3 or parts[1] not in TRIALS:
                problems.add(f"{place}: expected '<label> <target, nontarget or spoof> <score>', found {line[:80]!r}")
                continue
            kind = "spoof" if "spoof" in parts[:2] else parts[1]
            trials[kind].append(score_of(parts[2], place, problems))
    problems.raise_if_any("correct the file of verification scores")
    return VerificationScores(*(np.array(trials[name]) for name in TRIALS))
