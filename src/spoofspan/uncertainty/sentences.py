"""Verdicts of comparisons, of several corpora and of plans in one sentence.

``Comparison.verdict``, ``DomainTable.verdict``, ``DomainComparison.verdict`` and ``SampleSize.verdict`` are made here.
The command line prints it first; JSON has it as ``verdict``; pages may show it as it is, escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING

from spoofspan.measures.measure import in_percent, number_text, short_measure

if TYPE_CHECKING:
    from spoofspan.evaluation.domains import DomainComparison, DomainTable
    from spoofspan.uncertainty.comparison import Comparison, Difference
    from spoofspan.uncertainty.domain_intervals import DomainDifference
    from spoofspan.uncertainty.sample_size import SampleSize

# Up to so many names are listed.
MOST_NAMES = 5


def p_phrase(p_value: float) -> str:
    """A p-value in a sentence.

    >>> p_phrase(0.0314), p_phrase(2e-9)
    ('p = 0.031', 'p < 0.001')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"]), listed("abcdefg")
    ('a', 'a and b', 'a, b and c', 'a, b, c, d and 3 others')
    """
    if len(names) > MOST_NAMES:
        names = [*names[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} others"]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def scope(estimand: str) -> str:
    """The scope of an interval without the remedy in brackets.

    >>> scope("for other speakers, these attacks (new attacks: --cluster speaker,attack)")
    'for other speakers, these attacks'
    """
    return estimand.partition(" (")[0]


def between(measure: str, low: float, high: float) -> str:
    """An interval of a difference in a sentence.

    >>> between("range-eer", -0.0059, 0.0066), between("range-cllr", 0.01, 0.02)
    ('between -0.59 and +0.66 points', 'between +0.0100 and +0.0200')
    """
    ends = [text if text.startswith("-") else f"+{text}" for text in (number_text(measure, one) for one in (low, high))]
    return f"between {ends[0]} and {ends[1]}{' points' if in_percent(measure) else ''}"


def comparison_sentence(found: Comparison) -> str:
    """Verdict of a comparison of systems, in a sentence."""
    decided = {one: found.better(one) for one in found.differences}
    if found.among_best:
        parts = _best(found)
    else:
        parts = _against(found, decided) if found.against is not None else _of_all(found, decided)
    parts += _within_margin(found)
    return f"{'; '.join(parts)} ({short_measure(found.measure)}, {scope(found.estimand)})."


def _of_all(found: Comparison, decided: dict[Difference, str | None]) -> list[str]:
    """Every pair: the leading system, systems better or worse than all others, and pairs without a difference."""
    systems = len(found.intervals)
    undecided = [one for one, better in decided.items() if better is None]
    if len(undecided) == len(decided) > 1:
        return [f"no two of the {systems} systems differ significantly"]
    parts = _leaders(found, undecided) if len(undecided) > 1 else []
    for word, wins in (("better", True), ("worse", False)):
        for name in found.intervals:
            own = [(one, better) for one, better in decided.items() if name in (one.first, one.second)]
            if any(better is None or (better == name) != wins for _, better in own):
                continue
            if systems == 2:
                if wins:
                    parts += [_decided(found.measure, own[0][0], name)]
            else:
                p = max(one.adjusted_p_value for one, _ in own)
                others = "both others" if systems == 3 else f"all {systems - 1} others"
                parts.append(f"{name} is {word} than {others} ({p_phrase(p)})")
    if len(undecided) == 1:
        parts.append(_undecided(found.measure, undecided[0]))
    elif undecided:
        parts.append(f"{len(undecided)} of {len(decided)} pairs do not differ significantly")
    elif systems > 2:
        parts.append(f"all {len(decided)} pairs differ significantly")
    return parts


def _leaders(found: Comparison, undecided: Sequence[Difference]) -> list[str]:
    """The first system, unless it is better than all others, and systems without a significant difference to it."""
    first = found.ranks[0].system
    pairs = [(one.first, one.second) for one in undecided]
    alike = [one.system for one in found.ranks if (first, one.system) in pairs or (one.system, first) in pairs]
    do = "does" if len(alike) == 1 else "do"
    return [f"{first} ranks first, and {listed(alike)} {do} not differ significantly from it"] if alike else []


def _best(found: Comparison) -> list[str]:
    """Systems that may be the best one."""
    worse = [one for one in found.differences if one.first not in found.among_best]
    alone = len(found.among_best) == 1
    some = f"{found.against} is the best" if alone else f"{listed(found.among_best)} may be the best"
    if not worse:
        return [some]
    p = p_phrase(max(one.adjusted_p_value for one in worse))
    names = listed([one.first for one in worse])
    return [some, f"{names} {'is' if len(worse) == 1 else 'are'} not among the best ({p})"]


def _within_margin(found: Comparison) -> list[str]:
    """Verdicts by a margin."""
    tested = [(one, one.margin) for one in found.differences if one.margin is not None]
    if not tested:
        return []
    margin = number_text(found.measure, tested[0][1].margin) + " points" * in_percent(found.measure)
    if len(tested) > 1:
        equal = sum(one.within_margin == "equivalent" for one, _ in tested)
        return [f"{equal} of {len(tested)} pairs are equivalent within {margin}"]
    one, test = tested[0]
    if one.within_margin == "equivalent":
        return [f"they are equivalent within {margin} ({p_phrase(test.equivalent)})"]
    if one.within_margin is None:
        return [f"equivalence within {margin} is not shown ({p_phrase(test.equivalent)})"]
    first = one.within_margin.startswith(f"{one.first} ")
    names = (one.first, one.second) if first else (one.second, one.first)
    p = p_phrase(test.first_not_worse if first else test.second_not_worse)
    return [f"{names[0]} is not worse than {names[1]} by {margin} or more ({p})"]


def _against(found: Comparison, decided: dict[Difference, str | None]) -> list[str]:
    """All others against one system."""
    base = str(found.against)
    groups: dict[str, list[tuple[str, Difference]]] = {"better": [], "worse": [], "": []}
    for one, better in decided.items():
        other = one.first if one.second == base else one.second
        groups["" if better is None else "better" if better == other else "worse"].append((other, one))
    parts = []
    for word in ("better", "worse"):
        if some := groups[word]:
            p = max(one.adjusted_p_value for _, one in some)
            verb = "is" if len(some) == 1 else "are"
            parts.append(f"{listed([name for name, _ in some])} {verb} {word} than {base} ({p_phrase(p)})")
    if len(groups[""]) == 1:
        parts.append(_undecided(found.measure, groups[""][0][1]))
    elif groups[""]:
        names = listed([name for name, _ in groups[""]])
        parts.append(f"{names} do not differ significantly from {base}")
    return parts


def _decided(measure: str, one: Difference, better: str) -> str:
    worse = one.second if better == one.first else one.first
    ends = between(measure, one.interval.low, one.interval.high)
    return (
        f"{better} is better than {worse} ({p_phrase(one.adjusted_p_value)}): the true difference {one.first} - "
        f"{one.second} lies {ends}"
    )


def _undecided(measure: str, one: Difference) -> str:
    if one.interval.refused:
        return f"nothing can be said of {one.first} and {one.second} on other test sets"
    ends = between(measure, one.interval.low, one.interval.high)
    return f"{one.first} and {one.second} do not differ significantly: the true difference lies {ends}"


def domains_sentence(table: DomainTable) -> str:
    """Verdict of one system on several corpora, without intervals on these corpora alone."""
    worst = max(table.domains, key=lambda one: one.eer)
    parts = [f"the EER is {_percent(table.mean_eer)} on average, and worst on {worst.name} ({_percent(worst.eer)})"]
    tested = [one for one in table.domains if one.intervals is not None and one.name != table.threshold_of]
    level = 0.05
    lost = []
    for one in tested:
        if one.intervals is not None:
            level = 1 - one.intervals.eer.level
            if one.intervals.p_value < level and one.degradation > 0:
                lost.append(f"{one.name} ({100 * one.degradation:+.2f} points, {p_phrase(one.intervals.p_value)})")
    source = "all corpora pooled" if table.threshold_of == "pooled" else table.threshold_of
    if lost:
        parts.append(f"the threshold of {source} costs something on {listed(lost)}")
    elif tested:
        parts.append(f"the threshold of {source} costs nothing significant anywhere")
    over = table.over_corpora
    if over is not None and not isnan(over.next_low):
        parts.append(f"the EER of a new corpus is expected between {_ends(over.next_low, over.next_high)}")
    about = f" ({table.measure}, {scope(table.estimand)})" if table.estimand else f" ({table.measure})"
    return "; ".join(parts) + about + "."


def domain_comparison_sentence(found: DomainComparison) -> str:
    """Verdict of the difference of systems over several corpora; empty for one system."""
    parts = [_over_corpora(next(iter(found.tables.values())).measure, one) for one in found.differences]
    if len(parts) <= 3:
        return "; ".join(parts) + "." if parts else ""
    told = sum(one.adjusted_p_value < 1 - one.these.level for one in found.differences)
    new = sum(one.adjusted_new_p_value < 1 - one.these.level for one in found.differences)
    return f"of {len(parts)} pairs, {told} differ significantly on these corpora, {new} on new corpora."


def _over_corpora(measure: str, one: DomainDifference) -> str:
    level = 1 - one.these.level
    sides = (one.first, one.second) if one.these.estimate < 0 else (one.second, one.first)
    here, new = one.adjusted_p_value < level, one.adjusted_new_p_value < level
    ends = f"the mean difference lies {between(measure, one.new.low, one.new.high)}" if not isnan(one.new.low) else ""
    if here:
        text = f"{sides[0]} is better than {sides[1]} on these corpora ({p_phrase(one.adjusted_p_value)})"
        if not ends:
            return f"{text}; two corpora say nothing of new ones"
        judged = "and on new corpora" if new else "but not significantly on new ones"
        return f"{text}, {judged} ({p_phrase(one.adjusted_new_p_value)}: {ends})"
    text = f"{one.first} and {one.second} do not differ significantly on these corpora"
    return f"{text} ({p_phrase(one.adjusted_p_value)})" + (f"; over new ones {ends}" if ends else "")


def plan_sentence(size: SampleSize) -> str:
    """Required size of a test set, in a sentence."""
    unit, points = (" %", " points") if in_percent(size.measure) else ("", "")
    first, second = (number_text(size.measure, one) for one in (size.first, size.second))
    ways = {one.growing: None for one in size.needed}
    paired = [one for one in size.needed if one.paired and one.growing == next(iter(ways))]
    told = [one for one in paired if one.difference == paired[0].difference]
    counts = [one.clusters for one in told if one.clusters is not None]
    noun = f"{size.drawn_by}s"
    count = "more than any number of" if not counts else f"{min(counts):,}"
    if len(set(counts)) > 1:
        count = f"{min(counts):,} to {max(counts):,}"
    fixed = [f"{number:,} {name}s" for name, number in size.levels.items() if name != size.drawn_by and len(ways) > 1]
    can = number_text(size.measure, max(one.detectable for one in told))
    return (
        f"to tell {first} from {second}{unit} with a power of {100 * size.power:g} %, two systems on the same test set "
        f"need {count} {noun}{f' with {listed(fixed)}' if fixed else ''}; the {size.clusters:,} at hand tell "
        f"{can}{points} apart ({size.measure}, {scope(size.estimand)})."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _ends(low: float, high: float) -> str:
    return f"{100 * low:.2f} and {100 * high:.2f} %"
