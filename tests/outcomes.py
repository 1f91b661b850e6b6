"""What the package and the brute force make of a random corpus, and whether it is the same."""

import math
import warnings

import brute_force
import numpy as np
from random_corpora import Case

import spoofspan as ss


def build(case: Case, as_columns: bool = False) -> tuple[ss.References, ss.Scores]:
    snap = case.rules.get("snap", 0.0)
    references = ss.References.from_ranges(case.references_seconds, case.durations_seconds, snap=snap)
    if case.values is None:
        ranges = {
            utt: [(start, end, np.dtype(case.dtype).type(value)) for start, end, value in rows]
            for utt, rows in case.scores_seconds.items()
        }
        scores = ss.Scores.from_ranges(ranges, higher=case.higher)
    else:
        frames = {utt: np.array(values, case.dtype) for utt, values in case.values.items()}
        scores = ss.Scores.from_frames(frames, hop=case.hop, start=case.start, window=case.window, higher=case.higher)
    if as_columns:
        references = ss.References.from_columns(
            references.utterances,
            references.durations,
            references.offsets,
            references.starts,
            references.ends,
            labels=references.labels,
            snap=snap,
        )
        times = (
            {"starts": scores.starts, "ends": scores.ends}
            if case.values is None
            else {"hop": scores.hops, "start": case.start, "window": case.window}
        )
        scores = ss.Scores.from_columns(scores.utterances, scores.offsets, scores.values, higher=case.higher, **times)
    return references, scores


def outcome_of_package(case: Case, measure: str, as_columns: bool = False):
    try:
        references, scores = build(case, as_columns)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ss.SpoofspanWarning)
            if measure == "range":
                return ss.range_eer(references, scores, eer_rule=case.eer_rule, **case.rules)
            rules = {**case.rules, **case.point_rules}
            resolution = rules.pop("resolution")
            return ss.point_eer(references, scores, resolution, eer_rule=case.eer_rule, **rules)
    except ss.UndefinedMeasureError:
        return "undefined"
    except ss.SpoofspanError:
        return "bad data"


def has_clashing_labels(case: Case) -> bool:
    """Rule 1: references are not even built if different labels overlap by more than snap."""
    snap = round(case.rules.get("snap", 0.0) * 1e9)
    return any(
        first[2] != second[2] and min(first[1], second[1]) - max(first[0], second[0]) > snap
        for ranges in case.references.values()
        for first in ranges
        for second in ranges
    )


def has_decisions(case: Case) -> bool:
    """Scores that are 0 and 1 only have no EER."""
    if case.values is None:
        values = [value for rows in case.scores_seconds.values() for *_, value in rows]
    else:
        values = [value for own in case.values.values() for value in own]
    return set(np.array(values, case.dtype).tolist()) == {0.0, 1.0}


def outcome_of_brute_force(case: Case, measure: str):
    try:
        if has_clashing_labels(case):
            return "bad data"
        if has_decisions(case):
            return "undefined"
        if measure == "range":
            return brute_force.range_eer(**case.inputs(), eer_rule=case.eer_rule, **case.rules)
        return brute_force.point_eer(**case.inputs(), eer_rule=case.eer_rule, **case.rules, **case.point_rules)
    except brute_force.Undefined:
        return "undefined"
    except brute_force.BadData:
        return "bad data"


def assert_same(found, expected, case: Case) -> None:
    if isinstance(expected, str):
        # scores outside the buckets may be noticed before the missing class
        assert found == expected or (case.eer_rule.startswith("bucketed") and isinstance(found, str))
        return
    assert not isinstance(found, str), found
    assert found.exact_value == expected.value
    assert found.value == float(expected.value)
    assert found.false_positive_rate == float(expected.fpr)
    assert found.false_negative_rate == float(expected.fnr)
    assert found.gap == float(expected.gap)
    if case.eer_rule.startswith("bucketed"):
        return
    assert found.point.everything == expected.everything
    sign = 1 if case.higher == "bonafide" else -1
    assert found.threshold == sign * expected.threshold
    assert math.copysign(1, found.threshold) == math.copysign(1, found.threshold + 0.0)
    for neighbour, point in zip(found.neighbours, (expected.below, expected.above), strict=True):
        assert (neighbour is None) == (point is None)
        if neighbour is not None:
            rates = neighbour.exact_false_positive_rate, neighbour.exact_false_negative_rate
            assert rates == (point.fpr, point.fnr)
            assert neighbour.threshold == sign * point.threshold
