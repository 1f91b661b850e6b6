"""``spoofspan domains``: several corpora at once, and one threshold for all of them."""

from __future__ import annotations

from typing import Any

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o
from spoofspan.cli.system_inputs import Systems, takes_systems_of_sets


@takes_systems_of_sets
@o.takes_rules
def domains(
    *,
    systems: Systems,
    dev: str | None = o.flag(
        None, "The set whose EER threshold is used on all; without it, the threshold of all pooled."
    ),
    measure: str | None = o.measure_flag(
        None, "range-eer, point-eer@20ms or utterance-eer; by default range-eer, or utterance-eer of whole utterances."
    ),
    convention: o.Convention = "default",
    eer_rule: o.EerRule = None,
    output: o.OutputFormat = o.Output.text,
    out: o.Out = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
    rules: dict[str, Any],
) -> None:
    """Measure systems on several corpora at once.

    Prints the EER of each corpus and its error rates at the threshold of --dev, the mean of the EERs, and the EER of
    all corpora pooled. Several seeds of a system are measured as systems of their own, NAME/SEED.

    For example:

      spoofspan domains '{set}.rttm' '{set}.score' --durations '{set}.dur' --set partialspoof --set had

      spoofspan domains '{set}_key.tsv' '{set}_scores.tsv' --set asvspoof5 --set inthewild

      spoofspan domains '{set}.rttm' '{set}/{system}_seed{seed}.score' --set dev --set eval

      spoofspan domains '{set}.parquet' a='a/{set}.parquet' b='b/{set}.parquet' --set dev --set eval --dev dev
    """
    from spoofspan.base.version import __version__
    from spoofspan.evaluation.domains import measure_domains
    from spoofspan.report.results import domains_table, finite

    o.must_be_free(out, force=force)
    if len(systems.sets) < 2 or not systems.names_sets():
        raise UsageError("give at least two corpora: {set} in REFERENCES and SCORES, and --set dev --set eval")
    measure = measure or systems.of_set(systems.sets[0]).default_measure
    corpora = _read(systems)
    how: dict[str, Any] = {"convention": convention, "eer_rule": eer_rule, **rules}
    tables = {name: measure_domains(some, measure=measure, dev=dev, **how) for name, some in corpora.items()}
    plain = {
        "spoofspan": __version__,
        "systems": [{"system": name, **table.to_dict()} for name, table in tables.items()],
    }
    o.show(finite(plain), [domains_table(name, table) for name, table in tables.items()], output, out, force)


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
