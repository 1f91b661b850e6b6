"""``spoofspan compare``: whether one system is better than another, or the test set only makes it look so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from spoofspan.base.errors import UsageError
from spoofspan.base.progress import progress
from spoofspan.cli import options as o
from spoofspan.cli.inputs import ProposalFlags, VerificationInputs
from spoofspan.cli.system_inputs import OneSet, thresholds_by_system
from spoofspan.cli.words import check_tier, cut_by

if TYPE_CHECKING:
    from spoofspan.report.table import Table
    from spoofspan.uncertainty.comparison import Comparison, GroupedComparison
    from spoofspan.uncertainty.seeds import SeedVariation


def compare(
    *,
    systems: OneSet,
    measure: list[str] | None = o.measure_flag(
        None, "Measure to compare by; range-eer, or utterance-eer of whole utterances. May be repeated."
    ),
    threshold: list[str] | None = o.flag(
        None, "NAME=NUMBER for each system, for measures at a threshold.", "--system-threshold"
    ),
    threshold_from: list[str] | None = o.flag(
        None, "NAME=FILE: the threshold of the EER in the JSON of an eval on other data.", "--system-threshold-from"
    ),
    against: str | None = o.flag(
        None, "Compare all systems with this one only (its name), or with best: which systems may be the best."
    ),
    margin: float | None = o.flag(
        None,
        "Smallest relevant difference in printed units (0.5): test equivalence and non-inferiority.",
        as_printed=True,
    ),
    fragility: bool = o.flag(
        False, "Find the few speakers (or attacks) whose removal changes each verdict.", "--fragility"
    ),
    one_family: bool = o.flag(
        False, "Adjust p for the comparisons of all measures together, not for each measure alone.", "--one-family"
    ),
    unpaired: bool = o.flag(
        False, "Measure each system on its own utterances, even if others lack them.", "--unpaired"
    ),
    by: list[str] | None = o.flag(
        None,
        "Compare also on each group: by a column of --metadata, by two of them crossed (attack,codec), or by attack, "
        "length or boundary (of ranges). May be repeated.",
    ),
    seeds: bool = o.flag(
        False, "The files are one system, trained several times: mean, SD, intervals.", "--one-system"
    ),
    words: str | None = o.flag(
        None, "Compare on words, of a CTM file or TextGrids: utterance-eer (the default) is then that of words."
    ),
    tier: str | None = o.flag(None, "The tier of TextGrids that has the words.", show_default="words"),
    scores_are: o.ScoresAre = None,
    metadata: o.Metadata = None,
    bootstrap: o.BootstrapOptions,
    proposals: ProposalFlags,
    verification: VerificationInputs,
    output: o.Output,
    full_signature: o.FullSignature = False,
    published: bool = o.flag(False, "Also show published numbers, and which rules differ.", "--published"),
    rules: o.PointRules,
) -> None:
    """Compare every pair of systems on one corpus.

    Prints the value and the rank of each system, and the difference of every pair with its interval and p-value, over
    speakers (or utterances). P-values are also adjusted for the number of comparisons; the adjusted ones decide which
    system is better, and the ranks. The value of a system with several seeds is the mean over them.

    For example:

      spoofspan compare ref.rttm baseline.score multi=output/unit0.02.score --durations reco2dur

      spoofspan compare labels.parquet a.parquet b.parquet c.parquet --metadata protocol.txt

      spoofspan compare ref.rttm ours=a.score theirs=b.score base=c.score --against base

      spoofspan compare ref.rttm a.score b.score c.score --against best --margin 0.5

      spoofspan compare ref.rttm 'A=a/seed*.score' 'B=b/seed*.score' --durations reco2dur

      spoofspan compare ref.rttm '{system}_seed{seed}.score' --durations reco2dur

      spoofspan compare ref.rttm a.score b.score -m range-f1 --system-threshold a=0.4 --system-threshold b=0.1

      spoofspan compare metadata.json a.json b.json -m event-ap@iou=0.5

      spoofspan compare protocol.txt a=a_scores.tsv b=b_scores.tsv -m utterance-min-tdcf --asv-scores asv.txt

      spoofspan compare protocol.txt a=a_scores.tsv b=b_scores.tsv --by attack

      spoofspan compare ref.rttm a.score b.score --words alignment.ctm --metadata protocol.txt

      spoofspan compare ref.rttm seed1.score seed2.score seed3.score --one-system
    """
    from spoofspan.base.version import __version__
    from spoofspan.evaluation.crossed import columns_of
    from spoofspan.formats.text.protocol import read_groups
    from spoofspan.measures.measure import from_printed
    from spoofspan.report.table import finite
    from spoofspan.report.verdicts import comparison_tables, grouped_comparison_table, seeds_table
    from spoofspan.uncertainty.comparison import compare_groups, compare_measures, groups_in_time
    from spoofspan.uncertainty.seeds import seed_variation

    if tier is not None:
        check_tier(words)
    measures = measure or [systems.default_measure if words is None else "utterance-eer"]
    verification.check(measures)
    given = {one: thresholds_by_system("--system-threshold", threshold, threshold_from, one) for one in measures}
    short = output.format == "text" and not full_signature
    tables: list[Table] = []
    found: list[tuple[Comparison | SeedVariation, list[GroupedComparison]]] = []
    known = metadata or systems.metadata()
    resampling = bootstrap.resampling(known, systems.typed.bare_ids)
    column_of: Callable[[str], Mapping[str, str]] = partial(read_groups, known, bare_ids=systems.typed.bare_ids)
    if seeds:
        if any(given.values()):
            raise UsageError(
                "--system-threshold and --system-threshold-from are for a comparison; leave --one-system out"
            )
        if against or margin is not None or fragility or one_family or unpaired or by or published:
            raise UsageError(
                "--against, --margin, --fragility, --one-family, --unpaired, --by and --published are for a "
                "comparison; leave --one-system out"
            )
    read_systems = systems.read_each if seeds else partial(systems.read_trained, fps=proposals.fps)
    references, several = read_systems(fewest=2)
    if words is not None:
        if unpaired:
            raise UsageError("--words compares systems on the same words; leave --unpaired out")
        cut, several = cut_by(words, tier, references, several)
        references, resampling = cut.references, cut.resampling(resampling)
        column_of = cut.reading(column_of)
    how = {**vars(resampling), "scores_are": scores_are, **rules, **proposals.arguments()}
    if seeds:
        how |= {"asv_scores": verification.read_asv(references)}
        for one in measures:
            variation = seed_variation(references, several, one, **how)
            tables.append(seeds_table(variation, short=short))
            found.append((variation, []))
    else:
        how |= {"unpaired": unpaired, "asv_scores": verification.read_asv(references), "against": against}
        fixed = {one: {name: at.value for name, at in found.items()} for one, found in given.items() if found}
        together: dict[str, Any] = {
            "fragility": fragility,
            "one_family": one_family,
            "margin": None if margin is None else from_printed(margin, *measures),
        }
        with progress(f"comparing {len(several)} systems"):
            comparisons = compare_measures(references, several, measures, thresholds=fixed, **together, **how)
        for name, learned in given[measures[-1]].items():
            for signed in (one for one in comparisons if name in one.signatures):
                learned.warn_if_learned_here(signed.signatures[name])
                break
        for one, comparison in zip(measures, comparisons, strict=True):
            tables.extend(comparison_tables(comparison, short=short))
            found.append((comparison, []))
            for group in by or ():
                if group == "attack" and one.startswith("event-") and getattr(references, "attacks", None) is not None:
                    raise UsageError(
                        f"--by attack: events are grouped for one system at a time; eval -m {one} --by attack does it"
                    )
                column = group if groups_in_time(group, references, one) else columns_of(group, column_of)
                with progress("comparing groups"):
                    groups = compare_groups(references, several, column, one, thresholds=fixed.get(one), **how)
                tables.append(grouped_comparison_table(groups))
                found[-1][1].append(groups)
    beside = None
    if published:
        from spoofspan.report.published import Beside, OwnRow

        values = {name: {one.measure: one.intervals[name].estimate for one in comparisons} for name in several}
        own = [OwnRow(name, values[name], _hop(several[name]), systems.set_name or "") for name in several]
        beside = Beside(own, list(own[0].values), rules, data=systems.typed.dataset or "")
        tables.append(beside.table())

    def content() -> dict[str, Any]:
        with progress("signing"):  # each group has hashes of its own: minutes for millions of frames
            plain = [
                one.to_dict() | ({"by": [group.to_dict() for group in groups]} if groups else {})
                for one, groups in found
            ]
        results = {"spoofspan": __version__, "seeds" if seeds else "comparisons": finite(plain)}
        return results if beside is None else results | {"published": beside.to_list()}

    output.show(content, tables)


def _hop(system: Any) -> float | None:
    """Spacing of the scores of a system, of the first seed if it has several; proposals have none."""
    scores = next(iter(system.values())) if isinstance(system, dict) else system
    return getattr(scores, "hop", None)
