"""``spoofspan domains``: several corpora at once, and one threshold for all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o
from spoofspan.cli.system_inputs import Systems, named_files, takes_each_system


@takes_each_system
@o.takes_rules
def domains(
    *,
    systems: Systems,
    sets: list[str] | None = o.flag(None, "A corpus, put in the place of {set} in every name; at least two.", "--set"),
    dev: str | None = o.flag(
        None, "The set whose EER threshold is used on all; without it, the threshold of all pooled."
    ),
    measure: str = o.measure_flag("range-eer", "range-eer, point-eer@20ms or utterance-eer."),
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
    all corpora pooled.

    For example:

      spoofspan domains '{set}.rttm' '{set}.score' --durations '{set}.dur' --set partialspoof --set had

      spoofspan domains '{set}_key.tsv' '{set}_scores.tsv' --set asvspoof5 --set inthewild -m utterance-eer

      spoofspan domains '{set}.parquet' a='a/{set}.parquet' b='b/{set}.parquet' --set dev --set eval --dev dev
    """
    from spoofspan.base.version import __version__
    from spoofspan.evaluation.domains import measure_domains
    from spoofspan.report.domains_table import domains_table
    from spoofspan.report.results import finite

    o.must_be_free(out, force=force)
    if not sets or len(sets) < 2 or not systems.names_sets():
        raise UsageError("give at least two corpora: {set} in REFERENCES and SCORES, and --set dev --set eval")
    names, corpora = _read(systems, sets)
    how: dict[str, Any] = {"convention": convention, "eer_rule": eer_rule, **rules}
    tables = {name: measure_domains(corpora[name], measure=measure, dev=dev, **how) for name in names}
    plain = {
        "spoofspan": __version__,
        "systems": [{"system": name, **table.to_dict()} for name, table in tables.items()],
    }
    o.show(finite(plain), [domains_table(name, table) for name, table in tables.items()], output, out, force)


def _read_set(systems: Systems) -> tuple[Any, dict[str, Any]]:
    """References, or labels of whole utterances, and what each system said of them."""
    from spoofspan.formats.reading import read_utterance_scores

    files = named_files(systems.words)
    typed = systems.typed
    known = [typed.identify(where) for where in files.values()]
    if not files or not all(one.holds("utterance scores", but_not="scores") for one in known):
        return systems.read_each(fewest=1)
    return replace(typed, column=None).read_truth(), {
        name: read_utterance_scores(typed.take(where, None), column=typed.column) for name, where in files.items()
    }


def _read(systems: Systems, sets: list[str]) -> tuple[list[str], dict[str, dict[str, tuple[Any, Any]]]]:
    """The names of the systems, and of each the corpora; systems are told apart by their places."""
    found = {one: _read_set(systems.of_set(one)) for one in sets}
    columns = zip(*(list(scores) for _, scores in found.values()), strict=True)
    # a name that has the set in it is not the same everywhere
    words = [
        some[0] if len(set(some)) == 1 else Path(word).stem for some, word in zip(columns, systems.words, strict=True)
    ]
    names = [word.replace("{set}", "").strip("_-.") or f"system {k}" for k, word in enumerate(words, 1)]
    if len(set(names)) < len(names):
        names = list(systems.words)
    return names, {
        name: {one: (references, list(scores.values())[k]) for one, (references, scores) in found.items()}
        for k, name in enumerate(names)
    }
