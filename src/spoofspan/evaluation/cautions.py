"""Cautions about a valid number: rules that affect most of the data, a threshold outside the score range.

They warn, and stand among the ``warnings`` of the measurement, in every output.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from spoofspan.base.errors import SpoofspanWarning, UndefinedMeasureError, warn_user
from spoofspan.base.times import SECOND
from spoofspan.data.references import SPOOF, References
from spoofspan.data.rules import Regions, Rules, Touched
from spoofspan.data.scores import Scores
from spoofspan.evaluation.measurement import Measurement, counted
from spoofspan.evaluation.plan import Plan
from spoofspan.mass.score_mass import ScoreMass
from spoofspan.measures.operating_point import OperatingPoint, point_at

# A rule that decides a larger share of the time gets a caution.
MUCH = Fraction(5, 100)
# A threshold that leaves less than this share on one side gets a caution.
HARDLY_ANY = Fraction(1, 100)
# The time that each rule decides, and what to check first.
WATCHED = {
    "uncovered": "(time without a score); check the hop, the durations and the scores",
    "overlong": "(scores after the end); check the hop and the durations",
    "extent": "(labels and durations with different ends); check the durations",
    "gaps": "(time without a label, although the references list both classes); check the durations and the references",
}


def with_cautions(found: Measurement, plan: Plan, mass: ScoreMass, *, both_classes: bool) -> Measurement:
    """Add cautions to the measurement of a whole corpus.

    ``both_classes``: the references list bona fide ranges as well as spoofs.
    """
    cautions = decided_by_rules(
        found.touched.values(), plan.rules, found.point, plan.measure.resolution, both_classes=both_classes
    )
    if plan.threshold is not None and found.has_threshold:
        cautions += beside_the_scores(found.point, partial(point_at, mass))
    for caution in cautions:
        warn_user(f"{found.measure}: {caution}", SpoofspanWarning)
    return replace(found, warnings=(*found.warnings, *cautions)) if cautions else found


def decided_by_rules(
    touched: Iterable[Touched], rules: Rules, point: OperatingPoint, resolution: float | None, *, both_classes: bool
) -> tuple[str, ...]:
    """Name the rules that decided more than 5 % of the measured time.

    >>> point = OperatingPoint(0.5, "bonafide", 0, 0, bona_fide=6 * 10**9, spoof=4 * 10**9)
    >>> held = Touched("uncovered", "hold", 3 * 10**9, 2)
    >>> decided_by_rules([held], Rules(uncovered="hold"), point, None, both_classes=True)
    ("uncovered='hold' decides 30.0 % of the time (time without a score); check the hop, the durations and the scores",)
    """
    unit = {"ns": 1.0, "points": (resolution or 0.0) * 1e9}.get(point.unit, 0.0)  # utterances say nothing about time
    entries = tuple(touched)
    ignored = sum(entry.ns for entry in entries if entry.value == "ignore")  # it is not in the denominators
    whole = (point.bona_fide + point.spoof) * unit
    found = []
    # in one order, whatever the order in which rules were applied
    for entry in sorted((one for one in entries if one.rule in WATCHED), key=lambda one: list(WATCHED).index(one.rule)):
        # up to two frames after the end are cut under every rule; who lists spoofs alone means the gaps to be bona fide
        usual = (entry.rule == "overlong" and rules.overlong != "cut") or (entry.rule == "gaps" and not both_classes)
        if usual or not whole:
            continue
        past_the_end = entry.ns if entry.rule in ("overlong", "extent") else 0
        share = min(entry.ns / (whole + ignored + past_the_end), 1.0)
        if share > MUCH:
            found.append(f"{entry.rule}={entry.value!r} decides {100 * share:.1f} % of the time {WATCHED[entry.rule]}")
    return tuple(found)


def beside_the_scores(point: OperatingPoint, point_at: Callable[[float], OperatingPoint]) -> tuple[str, ...]:
    """Warn if (nearly) everything lies on one side of a given threshold, and if its mirror image does better.

    >>> wrong = OperatingPoint(0.4, "spoof", 0, 99, bona_fide=100, spoof=100)
    >>> beside_the_scores(wrong, lambda at: OperatingPoint(at, "spoof", 5, 5, bona_fide=100, spoof=100))
    ('at the threshold 0.4, 99.5 % is called bona fide (spoof iff score > 0.4); is it of the other polarity? \
-0.4 would call 50.0 % bona fide',)
    """
    share = _called_bona_fide(point)
    if HARDLY_ANY <= share <= 1 - HARDLY_ANY:
        return ()
    mirrored = _called_bona_fide(point_at(-point.threshold))
    side, shown = ("bona fide", share) if share > MUCH else ("spoof", 1 - share)
    text = f"at the threshold {point.threshold:g}, {_percent(shown)} is called {side} ({point.decision})"
    if HARDLY_ANY <= mirrored <= 1 - HARDLY_ANY:
        other = mirrored if side == "bona fide" else 1 - mirrored
        return (f"{text}; is it of the other polarity? {-point.threshold:g} would call {_percent(other)} {side}",)
    return (f"{text}; is it a threshold of these scores?",)


def note_called(scores: Scores, threshold: float, called: References) -> tuple[str, ...]:
    """Describe how much a threshold calls spoof, and warn if it looks like one of other scores.

    >>> scores = Scores.from_frames({"u1": [0.1, 0.9, 0.7, 0.2]}, hop=0.02, higher="spoof")
    >>> labels = [(0.0, 0.02, "bonafide"), (0.02, 0.06, "spoof"), (0.06, 0.08, "bonafide")]
    >>> note_called(scores, 0.5, References.from_ranges({"u1": labels}))
    ('spoof iff score > 0.5: 1 range in 1 of 1 utterance, 0.040 of 0.080 s',)
    """
    spoof = np.flatnonzero(called.labels == SPOOF)
    time = called.ends - called.starts
    utterances = np.unique(np.searchsorted(called.offsets, spoof, side="right")).size

    def at(threshold: float) -> OperatingPoint:
        # of scores: that short ranges were dropped says nothing about the threshold
        beyond = scores.values > threshold if scores.higher == "spoof" else scores.values < threshold
        return OperatingPoint(threshold, scores.higher, int(beyond.sum()), 0, bona_fide=scores.values.size, spoof=0)

    point = at(threshold)
    text = (
        f"{point.decision}: {counted(spoof.size, 'range')} in {utterances:,} of {counted(len(called), 'utterance')}, "
        f"{int(time[spoof].sum()) / SECOND:,.3f} of {int(time.sum()) / SECOND:,.3f} s"
    )
    return text, *beside_the_scores(point, at)


def refuse_strange_regions(regions: Regions | None, utterances: Collection[str]) -> None:
    """Refuse regions that name none of the utterances, as nothing would be left to measure.

    >>> refuse_strange_regions({"U1": [(0.0, 1.0)]}, ["u1"])
    Traceback (most recent call last):
    spoofspan.base.errors.UndefinedMeasureError: the regions name none of the utterances: they have 'U1', \
the references 'u1'; correct the ids of the regions
    """
    if regions and set(regions).isdisjoint(utterances):
        theirs, ours = next(iter(regions)), next(iter(utterances), "nothing")
        raise UndefinedMeasureError(
            f"the regions name none of the utterances: they have {theirs!r}, the references {ours!r}; correct the ids "
            "of the regions"
        )


def _called_bona_fide(point: OperatingPoint) -> Fraction:
    return Fraction(point.true_negative + point.false_negative, max(point.bona_fide + point.spoof, 1))


def _percent(share: Fraction) -> str:
    return f"{100 * float(share):.1f} %"
