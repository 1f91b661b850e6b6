"""The floor of a hop: the range-based EER that a perfect system with one score per hop would have."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from spoofspan.base.columns import offsets_of
from spoofspan.base.errors import UndefinedMeasureError
from spoofspan.data.references import References
from spoofspan.data.rules import rules_for
from spoofspan.data.scores import Scores
from spoofspan.evaluation.evaluate import range_eer
from spoofspan.evaluation.measurement import Measurement, milliseconds
from spoofspan.evaluation.signature import sign
from spoofspan.mass.labelling import label_references
from spoofspan.mass.points import Grid, check_resolution
from spoofspan.mass.ranges import lay_over

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.data.rules import RuleArguments


def best_possible(
    references: References,
    hop: float,
    *,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RuleArguments],
) -> Measurement:
    """The floor: the range-based EER of a perfect system that must give one score per hop.

    Its frames are ordered by the share of bona fide time in each; no other scores of that hop give a better curve. The
    difference to a real system's EER is what the system does, the floor itself is what the resolution costs.

    Parameters
    ----------
    references
        Who is spoofed when.
    hop
        The spacing of the scores in seconds.
    convention, eer_rule, **rules
        As in :func:`spoofspan.range_eer`.

    Returns
    -------
    Measurement
        The range-based EER of the perfect system.

    Examples
    --------
    >>> references = References.from_ranges({"u1": [(0.0, 0.03, "bonafide"), (0.03, 0.08, "spoof")]})
    >>> [round(best_possible(references, hop, eer_rule="interpolated").value, 4) for hop in (0.01, 0.04)]
    [0.0, 0.1667]
    """
    hop = check_resolution(hop)
    chosen, convention_rule = rules_for("range", convention, rules)
    labelling, touched = label_references(references, chosen)
    some = np.flatnonzero(labelling.extents > 0)
    if not some.size:
        raise UndefinedMeasureError("no utterance has any time to measure")
    labelling = labelling.take(some)
    grid = Grid.over(labelling.extents, hop, "use")
    _, laid = lay_over(labelling, grid.runs(), 0, some.size)
    shares = laid.bona_fide / np.maximum(laid.bona_fide + laid.spoof, 1)
    perfect = Scores.from_columns(labelling.utterances, offsets_of(grid.counts), shares, hop=hop, higher="bonafide")
    measured = range_eer(
        references.take(some), perfect, convention=convention, eer_rule=eer_rule or convention_rule, **rules
    )
    name = f"floor@{milliseconds(hop)}"
    signed_as_range = measured.signer
    signer = partial(sign, name, *signed_as_range.args[1:]) if isinstance(signed_as_range, partial) else signed_as_range
    return replace(measured, measure=name, touched={entry.rule: entry for entry in touched}, signer=signer)
