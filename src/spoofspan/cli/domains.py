"""``spoofspan domains``: several corpora at once, and one threshold for all of them."""

from __future__ import annotations

from typing import Any

from spoofspan.base.errors import UsageError
from spoofspan.base.progress import progress
from spoofspan.cli import options as o
from spoofspan.cli.options import cluster_arguments
from spoofspan.cli.system_inputs import SeveralSets, Systems


def domains(
    *,
    systems: SeveralSets,
    dev: str | None = o.flag(
        None, "Set whose EER threshold is applied to all; default: the threshold of all sets pooled."
    ),
    measure: str | None = o.measure_flag(
        None, "range-eer, point-eer@20ms or utterance-eer; by default range-eer, or utterance-eer of whole utterances."
    ),
    metadata: o.Metadata = None,
    cluster: list[str] | None = o.flag(
        None,
        "Unit of resampling. A column of --metadata, or utterance; speaker,attack holds for new attacks too.",
        of=["speaker", "speaker,attack", "utterance"],
    ),
    confidence: float = o.flag(0.95, "Level of intervals, such as 0.95."),
    output: o.Output,
    rules: o.PointRules,
) -> None:
    """Measure systems on several corpora at once.

    Prints the EER of each corpus and its error rates at the threshold of --dev, the mean of the EERs, and the EER of
    all corpora pooled, with intervals over speakers (or utterances): of each corpus, of what the threshold costs there,
    of the mean over new corpora, and of the next corpus. Several systems are compared over the corpora. Several seeds
    of a system are measured as systems of their own, NAME/SEED.

    For example:

      spoofspan domains '{set}.rttm' '{set}.score' --durations '{set}.dur' --set partialspoof --set had

      spoofspan domains '{set}_key.tsv' '{set}_scores.tsv' --set asvspoof5 --set inthewild

      spoofspan domains '{set}.rttm' '{set}/{system}_seed{seed}.score' --set dev --set eval

      spoofspan domains '{set}.parquet' a='a/{set}.parquet' b='b/{set}.parquet' --set dev --set eval --dev dev
    """
    from spoofspan.base.version import __version__
    from spoofspan.evaluation.domains import compare_domains
    from spoofspan.report.results import domain_differences_table, domains_table
    from spoofspan.report.table import finite

    if len(systems.sets) < 2 or not systems.names_sets():
        raise UsageError("give at least two corpora: {set} in REFERENCES and SCORES, and --set dev --set eval")
    measure = measure or systems.of_set(systems.sets[0]).default_measure
    how: dict[str, Any] = {"confidence": confidence, **rules, **_clusters(systems, metadata, cluster)}
    corpora = _read(systems)
    with progress(f"measuring {len(systems.sets)} corpora"):
        found = compare_domains(corpora, measure=measure, dev=dev, **how)
    tables = [domains_table(name, table) for name, table in found.tables.items()]
    if found.differences:
        tables.insert(0, domain_differences_table(found))
    output.show({"spoofspan": __version__, **finite(found.to_dict())}, tables)


def _clusters(systems: Systems, metadata: str | None, cluster: list[str] | None) -> dict[str, Any]:
    """The clusters of each corpus, as arguments."""
    from spoofspan.formats.datasets.systems import fill_in_set

    found = {}
    for one in systems.sets:
        own = systems.of_set(one)
        where = own.metadata() if metadata is None else fill_in_set(metadata, one)
        found[one] = cluster_arguments(where, cluster, own.typed.bare_ids)
    kinds = {str(one.get("clusters_are", list(one.get("clusters", {})))) for one in found.values()}
    if len(kinds) > 1:
        raise UsageError(
            f"the corpora have different clusters ({', '.join(sorted(kinds))}); give --metadata with {{set}} in its "
            "name for all of them, or --cluster utterance"
        )
    some = next(iter(found.values()))
    if not some:
        return {}
    named = {"clusters_are": some["clusters_are"]} if "clusters_are" in some else {}
    return {"clusters": {name: one["clusters"] for name, one in found.items()}, **named}


def _read(systems: Systems) -> dict[str, dict[str, tuple[Any, Any]]]:
    """References and scores by system and by set."""
    found = {one: systems.of_set(one).read_each(fewest=1) for one in systems.sets}
    first, *others = found
    names = list(found[first][1])
    for other in others:
        if lacking := set(names).symmetric_difference(found[other][1]):
            name = min(lacking)
            raise UsageError(
                f"{name!r} has scores of {first if name in names else other} and not of "
                f"{other if name in names else first}; give the same systems and seeds for every set"
            )
    return {name: {one: (truth, scores[name]) for one, (truth, scores) in found.items()} for name in names}
