"""Scores of a speaker verification system: ``<label> <target | nontarget | spoof> <score>`` of ASVspoof."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spoofspan.base.errors import Problems
from spoofspan.data.utterance_scores import TRIALS, VerificationScores
from spoofspan.formats.sources import Where, sources
from spoofspan.formats.text.lines import lines_of, score_of


def read_verification_scores(where: Where | Sequence[Where]) -> VerificationScores:
    r"""Read ``<label> <target | nontarget | spoof> <score>`` of ASVspoof.

    A trial is a spoof if either field says so: in ASVspoof's files the second one does, in others (``spoof
    nontarget``) the first.

    Parameters
    ----------
    where
        A file, a folder, a glob, an address, ``-`` for standard input, an open binary file, or several of these.

    Returns
    -------
    VerificationScores

    Examples
    --------
    >>> import io
    >>> found = read_verification_scores(io.BytesIO(b"a target 2.5\nb nontarget -1\nA07 spoof 0.5\n"))
    >>> found.target.tolist(), found.spoof.tolist()
    ([2.5], [0.5])

    """
    trials: dict[str, list[float]] = {name: [] for name in TRIALS}
    problems = Problems()
    for line in lines_of(sources(where)):
        if len(line.fields) != 3 or line.fields[1] not in TRIALS:
            expected = "'<label> <target, nontarget or spoof> <score>'"
            problems.add(f"{line.place}: expected {expected}, found {line.text[:80]!r}")
            continue
        label, trial, score = line.fields
        kind = "spoof" if "spoof" in (label, trial) else trial
        trials[kind].append(score_of(score, line.place, problems))
    problems.raise_if_any("correct the file of verification scores")
    return VerificationScores(*(np.array(trials[name]) for name in TRIALS))
