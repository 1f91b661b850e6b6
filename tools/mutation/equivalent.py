"""Mutants that cannot change any result, each with the reason."""

from __future__ import annotations

from typing import NamedTuple


class Equivalent(NamedTuple):
    """Mutants of a module ("*": all) inside a function, whose text before and after contains these fragments."""

    module: str
    function: str | None
    before: str | None
    after: str | None
    reason: str

    @property
    def is_whole_function(self) -> bool:
        """Whether it is about a function that only guesses: its mutants are run, and equivalent if they survive."""
        return self.before is None and self.after is None


GUESS = "speed only: a guess at the bracket of the crossing, which the sums then prove or refute"
GIVE_UP = "speed only: when to give up a guess, and count instead"
ROOM = "speed only: from the limit on Python integers are used; int64 would do up to 2**63"
CORNERS = "speed only: more points are kept for the hull, which drops them itself"
BENEATH = "speed only: the other end of the same axis-parallel step is on the hull instead"
ONE_MORE = "only that there is a row after the last one matters, and not what or how many"
LAST_ENDS = "speed only: the other branch finds the same ends by listing every frame"

EQUIVALENT = (
    Equivalent("mass/score_mass", "ScoreMass.sample", None, None, GUESS),
    Equivalent("mass/ranges", "RangePart.sample", None, None, GUESS),
    Equivalent("mass/points", "PointPart.sample", None, None, GUESS),
    Equivalent("measures/eer", "bracket", None, None, GUESS),
    Equivalent("measures/eer", None, "SAMPLE = ", None, GUESS),
    Equivalent("*", None, "ROWS_PER_BLOCK = ", None, "speed only: the size of a block"),
    Equivalent("mass/score_mass", None, "FRAMES_PER_BLOCK = ", None, "speed only: the size of a block"),
    Equivalent("mass/points", "PointPart.spans", None, None, "speed only: the size of a block"),
    Equivalent("measures/histogram", "Histogram.add_sums", ">= MOST", "> MOST", ROOM),
    Equivalent(
        "measures/histogram", "Histogram._see_next", "score < self", "score <= self", "the lower of two equal scores"
    ),
    Equivalent("*", None, "copy=False", "copy=True", "speed only: a copy of the same values"),
    Equivalent("*", None, "strict=True", "strict=False", "a guard: both sides are equally long by construction"),
    Equivalent(
        "mass/ranges",
        "Overlay.undecided",
        "covered() < ",
        "covered() <= ",
        "speed only: covered utterances miss nothing",
    ),
    Equivalent("measures/eer", "_from_guess", "gathered > max(", "gathered >= max(", GIVE_UP),
    Equivalent("measures/eer", "_from_guess", "gathered > max(", "gathered > min(", GIVE_UP),
    Equivalent("measures/eer", "_from_guess", "rows // 4", "rows // 5", GIVE_UP),
    Equivalent("measures/eer", "_from_guess", "4 * SAMPLE", "4 // SAMPLE", GIVE_UP),
    Equivalent("measures/eer", "_from_guess", "4 * SAMPLE", "5 * SAMPLE", GIVE_UP),
    Equivalent("measures/eer", "_from_guess", "rows = gathered = above = 0", None, GIVE_UP),
    Equivalent("measures/eer", "_from_guess", "rows, gathered, above = ", "(rows - ", GIVE_UP),
    Equivalent(
        "measures/eer", "_from_guess", "part.inside[0].size", "part.inside[1].size", "all columns are equally long"
    ),
    Equivalent(
        "measures/eer",
        "_from_guess",
        "whole.check()",
        "dropped",
        "without a class the guess fails, and crossing() checks",
    ),
    Equivalent("mass/ranges", "overlay_block", "rest[:0]", "rest[:1]", "one amount of no rows"),
    Equivalent("mass/ranges", "overlay_block", "giver[:0]", "giver[:1]", "one label of no rows"),
    Equivalent("mass/ranges", "overlay_block", "taker[:0]", "taker[:1]", "one label of no rows"),
    Equivalent("mass/ranges", "overlay_block", "labels <= SPOOF", "labels < SPOOF", "speed only: both classes counted"),
    Equivalent("mass/ranges", "RangePart.spans", "light = isinstance", None, "speed only: the size of blocks"),
    Equivalent("mass/ranges", "RangePart.spans", "rows, times_as_many = ", None, "speed only: the size of blocks"),
    Equivalent("measures/eer", "_split", "if many >", "if many >=", "speed only: ties are summed or gathered"),
    Equivalent("measures/eer", "_split", ">> 4", ">> 5", "speed only: ties are summed or gathered"),
    Equivalent("measures/eer", "step_inside", "< 2 ** 62", "<= 2 ** 62", ROOM),
    Equivalent("measures/eer", "step_inside", "< 2 ** 62", "< 2 ** 63", ROOM),
    Equivalent("measures/eer", "sum_ties", "< 2 ** 62", "<= 2 ** 62", ROOM),
    Equivalent("measures/eer", "sum_ties", "< 2 ** 62", "< 2 ** 63", ROOM),
    Equivalent("measures/curve", "_corners", "rises_x, rises_y", "x[1:] >= x[:-1]", CORNERS),
    Equivalent("measures/curve", "_corners", "rises_x, rises_y", "x[1:] > x[:1]", CORNERS),
    Equivalent("measures/curve", "_corners", "rises_x, rises_y", "y[1:] >= y[:-1]", CORNERS),
    Equivalent("measures/curve", "_corners", "rises_x, rises_y", "y[1:] > y[:1]", CORNERS),
    Equivalent("measures/curve", "_corners", "keep[1:-1]", "~rises_x[1:] & (~rises_y[:-1]", CORNERS),
    Equivalent("measures/curve", "_corners", "keep[1:-1]", "~(rises_x[:-1] & ~rises_x[1:] |", BENEATH),
    Equivalent("measures/curve", "_corners", "keep[1:-1]", "~(~rises_x[:1] & ~rises_x[1:] |", BENEATH),
    Equivalent("measures/curve", "_corners", "keep[1:-1]", "~rises_y[:-1] & rises_y[1:])", BENEATH),
    Equivalent(
        "measures/curve",
        "_turns_down",
        "first >= second",
        "first > second",
        "points on an edge of the hull do not move it",
    ),
    Equivalent(
        "measures/curve",
        "rates_of",
        "whole < 2 ** 53",
        "whole <= 2 ** 53",
        "doubles hold all integers up to 2**53 itself",
    ),
    Equivalent("measures/eer", "_bucketed", "match[1] is None", "match[2] is None", "both groups are missing, or none"),
    Equivalent(
        "mass/points", "resample", "rows = np.maximum(", "rows = np.minimum(", "speed only: the size of a block"
    ),
    Equivalent("data/rules", "RuleArguments", "total=False", "total=True", "for type checkers alone"),
    Equivalent("mass/points", "extreme", "np.append(values, values[-1:])", "values[1:])", ONE_MORE),
    Equivalent("mass/points", "extreme", "np.append(values, values[-1:])", "values[-2:])", ONE_MORE),
    Equivalent(
        "mass/points",
        "resample",
        "uncovered='unanswered'",
        "uncovered='error'",
        "unneeded: score runs depend on this rule only where it is 'hold'",
    ),
    Equivalent(
        "mass/points",
        "_last_ends",
        "np.maximum(last, 0)",
        "np.maximum(last, 1)",
        "scores that end at 0 or before do not reach into the first nanosecond either",
    ),
    Equivalent("mass/points", "_last_ends", "if scores.hops is not None and", "if scores.hops is None and", LAST_ENDS),
    Equivalent("mass/points", "_last_ends", "scores.origins is not None and", "scores.origins is None and", LAST_ENDS),
    Equivalent(
        "mass/score_mass",
        "ScoreMass.reweight",
        ">= NS_PER_BLOCK",
        "> NS_PER_BLOCK",
        "combine_weights() refuses this weight as well",
    ),
)
