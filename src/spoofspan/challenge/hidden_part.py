"""The hidden part of a challenge: labels, groups of utterances, clusters, and which utterances a phase counts.

::

    CHALLENGE/hidden/references.parquet   reference labels; none where labels are of whole utterances
    CHALLENGE/hidden/metadata.parquet     these labels, and the columns of --by and --cluster
    CHALLENGE/hidden/asv.parquet          scores of a verification system, for measures of a tandem (t-DCF, t-EER)
    CHALLENGE/hidden/settings.json        which columns they are, the utterances of phases, regions, rates of the same
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from spoofspan.base.columns import positions
from spoofspan.base.errors import DataError, UsageError
from spoofspan.base.hashing import labels_hash
from spoofspan.base.version import __version__
from spoofspan.challenge.definition import Definition, read_json
from spoofspan.data.references import SPOOF, References
from spoofspan.data.rules import RULES_VERSION, Regions
from spoofspan.data.utterance_scores import TRIALS, VerificationScores
from spoofspan.evaluation.breakdown import BREAKDOWNS
from spoofspan.evaluation.plan import EvaluationOptions
from spoofspan.evaluation.selections import NO_ATTACKS
from spoofspan.evaluation.signature import references_hash
from spoofspan.formats import arrow as pa
from spoofspan.formats.convert import write_references
from spoofspan.formats.reading import read_references
from spoofspan.formats.sources import Where
from spoofspan.formats.text.protocol import NoColumnError, read_groups, read_metadata
from spoofspan.formats.writing import write_atomically
from spoofspan.measures.costs import VerificationErrors
from spoofspan.report.table import finite, json_text
from spoofspan.uncertainty.clusters import UNNAMED, Grouping, Resampling, factors_of

LETTERS, MOST_PREFIXES = re.compile(r"[^\W\d_]*"), 20
REFERENCES, METADATA, SETTINGS = "references.parquet", "metadata.parquet", "settings.json"
ASV_SCORES = "asv.parquet"
CLUSTERS, LABELS = "(cluster)", "(label)"  # columns that are no columns of metadata


@dataclass(frozen=True, eq=False)
class HiddenPart:
    """Hidden part of a challenge, for its organisers.

    Parameters
    ----------
    truth
        References, with durations where submissions are in time; or the label of each utterance, ``bonafide`` or
        ``spoof``, or of each trial, ``target``, ``nontarget`` or ``spoof``.
    by
        Columns of the leaderboard besides the measures: ``attack``, ``length`` or ``boundary`` -> None, or the name of
        a column -> utterance -> value; and two of these names with a comma between them -> None, which crosses them.
    cluster, clusters
        What is left out as a whole, as speakers, by name, and utterance -> cluster; None: utterances. Crossed factors
        have names of their own: ``{"speaker": {...}, "attack": {...}}``.
    phases
        Name of a phase -> the utterances that count in it, of phases that do not count all.
    regions
        The time that counts; None: all.
    asv
        Scores or error rates of a speaker verification system, for measures of the tandem; None: there is none.

    """

    truth: References | Mapping[str, str]
    by: Mapping[str, Mapping[str, str] | None] = field(default_factory=dict)
    cluster: str | None = None
    clusters: Grouping | None = None
    phases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    regions: Regions | None = None
    asv: VerificationScores | VerificationErrors | None = None

    def __post_init__(self) -> None:
        known = set(self.utterances)
        columns = {name: column for name, column in self.by.items() if column is not None}
        columns |= self.factors
        for name, column in columns.items():
            missing = sorted(known.difference(column))
            if missing:
                raise DataError(
                    f"{name}: no value for {len(missing):,} utterances, as {missing[0]!r}; give one for every utterance"
                )
        for name in self.by:
            if "," in name:
                lacking = [one for one in name.split(",") if not self.by.get(one)]
                if lacking or name.count(",") > 1 or self.by[name] is not None:
                    raise UsageError(f"by={name!r}: cross two columns of metadata that are given by themselves too")
            elif self.by[name] is None and name not in BREAKDOWNS:
                raise UsageError(f"by={name!r}: give the column with a value for every utterance")
        if self.by.get("attack", {}) is None and getattr(self.truth, "attacks", None) is None:
            raise UsageError(NO_ATTACKS)
        for name, utterances in self.phases.items():
            strange = sorted(set(utterances) - known)
            if strange or not utterances:
                what = f"unknown utterances, as {strange[0]!r}" if strange else "no utterance"
                raise DataError(f"the phase {name!r} has {what}; name some of the references")

    @property
    def factors(self) -> dict[str, Mapping[str, str]]:
        """Factors that are left out as a whole, by name; none: utterances."""
        return {} if self.clusters is None else factors_of(self.clusters, self.cluster or UNNAMED)

    @property
    def utterances(self) -> Sequence[str]:
        """The ids."""
        return self.truth.utterances if isinstance(self.truth, References) else tuple(self.truth)

    def fit(self, definition: Definition) -> None:
        """Refuse labels that say too little for what is measured."""
        timed = [name for name, column in self.by.items() if column is None and "," not in name]
        if definition.submissions == "utterance-scores":
            if self.regions is not None:
                raise UsageError("regions are of time, which scores of whole utterances have not; leave them out")
        elif not isinstance(self.truth, References):
            raise UsageError(
                f"labels of whole utterances do not say when something is spoofed, so {definition.submissions} cannot "
                "be measured: give references, or let teams submit utterance-scores (--submissions)"
            )
        elif self.truth.durations is None:
            raise UsageError("teams must know how long the utterances are: give durations=")
        if timed and definition.submissions != "scores":
            raise UsageError(
                f"by={timed[0]!r} breaks down the time under scores; {definition.submissions} are broken down by "
                "columns of metadata (--by NAME --metadata FILE)"
            )
        tandem = [str(one) for one in definition.parsed if one.kind.needs_asv]
        if tandem and self.asv is None:
            raise UsageError(
                f"{tandem[0]} needs a speaker verification system: give its scores or its error rates (--asv-scores, "
                "--asv-rates), which teams do not see"
            )
        if self.asv is not None and not tandem:
            raise UsageError("no measure needs a verification system; leave it out, or add utterance-min-tdcf")

    def telling_ids(self) -> str | None:
        """A caution if the letters that ids begin with tell what an utterance is, as CON and LA do in PartialSpoof."""
        if isinstance(self.truth, References):
            rows = np.flatnonzero(self.truth.labels == SPOOF)
            spoofed = set((np.searchsorted(self.truth.offsets, rows, side="right") - 1).tolist())
            classes = ["spoof" if place in spoofed else "bonafide" for place in range(len(self.utterances))]
        else:
            classes = list(self.truth.values())
        found: dict[str, set[str]] = {}
        for utt, label in zip(self.utterances, classes, strict=True):
            found.setdefault(LETTERS.match(utt)[0], set()).add(label)  # type: ignore[index]
        if len(set(classes)) < 2 or any(len(labels) > 1 for labels in found.values()) or len(found) > MOST_PREFIXES:
            return None
        told = ", ".join(f"{prefix or 'no letter'} ({', '.join(labels)})" for prefix, labels in sorted(found.items()))
        return f"the ids tell the labels by the letters they begin with: {told}; give teams other ids"

    def write(self, folder: Path) -> HiddenPart:
        """Write the files of the hidden part, and see that it comes back as it is: what was read is returned."""
        columns: dict[str, Any] = {"utterance": self.utterances}
        kept = {name: column for name, column in self.by.items() if column is not None}
        if isinstance(self.truth, References):
            write_references(self.truth, folder / REFERENCES)
        else:
            kept[LABELS] = self.truth
        kept |= {f"{CLUSTERS}{name}": column for name, column in self.factors.items()}
        columns |= {name: [column[utt] for utt in self.utterances] for name, column in kept.items()}
        _write_table(folder / METADATA, columns)
        settings: dict[str, Any] = {
            "by": {name: column is not None for name, column in self.by.items()},
            "clusters": list(self.factors),
            "modality": getattr(self.truth, "modality", None),
            "phases": {name: sorted(utterances) for name, utterances in self.phases.items()},
            "regions": self.regions,
        }
        if isinstance(self.asv, VerificationScores):
            _write_table(folder / ASV_SCORES, _columns_of_asv(self.asv))
        elif self.asv is not None:
            rates = self.asv.accepted_nontargets, self.asv.rejected_targets, self.asv.accepted_spoofs
            settings["asv_rates"] = [str(rate) for rate in rates]
        write_atomically(folder / SETTINGS, [json_text(settings).encode()])
        read = HiddenPart.read(folder)
        if read.content_hash != self.content_hash:
            raise DataError("the references do not come back from Parquet as they are; convert them to Parquet first")
        return read

    @classmethod
    def read(cls, folder: Path) -> HiddenPart:
        """Read the files of the hidden part."""
        settings = read_json(folder / SETTINGS)
        try:
            if settings["by"].get("kind") is False:
                raise DataError(
                    f"{folder / SETTINGS}: built by an earlier version with --by kind; build it again with --by "
                    "attack, and rescore --corrected"
                )
            by = {
                name: read_metadata(folder / METADATA, name) if column else None
                for name, column in settings["by"].items()
            }
            clusters = {name: read_metadata(folder / METADATA, f"{CLUSTERS}{name}") for name in settings["clusters"]}
            truth: References | Mapping[str, str]
            if (folder / REFERENCES).is_file():
                truth = replace(read_references(folder / REFERENCES), modality=settings["modality"])
            else:
                truth = read_metadata(folder / METADATA, LABELS)
            asv: VerificationScores | VerificationErrors | None = None
            if (folder / ASV_SCORES).is_file():
                asv = _asv_of_columns(pa.parquet.read_table(folder / ASV_SCORES).to_pydict())
            elif "asv_rates" in settings:
                accepted, rejected, spoofs = map(Fraction, settings["asv_rates"])
                asv = VerificationErrors(nan, rejected, accepted, spoofs)
            return cls(truth, by, None, clusters or None, settings["phases"], settings["regions"], asv)
        except (AttributeError, KeyError, TypeError):
            raise DataError(f"{folder / SETTINGS}: not the settings of a challenge; build it again") from None

    def of_phase(self, name: str) -> HiddenPart:
        """The part of it that counts in a phase."""
        if name not in self.phases:
            return replace(self, phases={})
        if isinstance(self.truth, References):
            some = np.sort(positions(self.phases[name], self.truth.utterances))
            return replace(self, truth=self.truth.take(some), phases={})
        chosen = set(self.phases[name])
        return replace(self, truth={utt: label for utt, label in self.truth.items() if utt in chosen}, phases={})

    def resampling(self, confidence: float) -> Resampling:
        """Settings of intervals."""
        return Resampling(self.factors or None, confidence=confidence)

    def count_clusters(self) -> int:
        """Number of clusters of the utterances, whatever their labels; of crossed factors, of the one with fewest."""
        counts = [len({column[utt] for utt in self.utterances}) for column in self.factors.values()]
        return min(counts, default=len(self.utterances))

    @cached_property
    def truth_hash(self) -> str:
        """The hash of the labels, as signatures state it."""
        return references_hash(self.truth) if isinstance(self.truth, References) else labels_hash(self.truth)

    @property
    def content_hash(self) -> str:
        """The hash of the labels with the names of attacks, which groups depend on."""
        if isinstance(self.truth, References):
            return references_hash(self.truth, attacks=True)
        return self.truth_hash

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """Fingerprint of all that results depend on, besides the definition and the submission."""
        columns = {name: column and labels_hash(column) for name, column in self.by.items()}
        return {
            "references": self.content_hash,
            "by": columns,
            "clusters": {name: labels_hash(column) for name, column in self.factors.items()},
            "regions": self.regions and dict(self.regions),
            "rules": RULES_VERSION,
            "spoofspan": __version__,
            **({} if self.asv is None else {"verification system": _asv_hash(self.asv)}),
        }

    def options(self, definition: Definition) -> EvaluationOptions:
        """Settings of measures, with what is hidden: the regions that count, and a verification system."""
        rules = definition.rules if self.regions is None else {**definition.rules, "regions": self.regions}
        return replace(definition.options, rules=rules, asv_scores=self.asv)


def columns_of_board(
    by: Sequence[str],
    metadata: Where | None,
    truth: References | Mapping[str, str],
    definition: Definition,
) -> dict[str, Mapping[str, str] | None]:
    """Read the columns that the leaderboard groups by; None for groups that need none, and for crossed columns.

    Attacks that references name need no column, except where they are crossed with one.
    """
    crosses = any("," in name for name in by)
    told = definition.submissions == "scores" and getattr(truth, "attacks", None) is not None and not crosses
    found: dict[str, Mapping[str, str] | None] = {}
    for name in dict.fromkeys(part for one in by for part in (*one.split(","), one)):
        found[name] = None
        if "," in name or (name == "attack" and told):
            continue
        if name not in BREAKDOWNS:
            found[name] = read_groups(metadata, name)
        elif name == "attack" and metadata is not None:
            with suppress(NoColumnError):
                found[name] = read_groups(metadata, name)
    return found


def utterances_of_phases(
    counted: Mapping[str, Sequence[str] | float], utterances: Sequence[str], seed: int
) -> dict[str, Sequence[str]]:
    """The utterances that count in phases: as listed, or a share of all, drawn at random.

    >>> utterances_of_phases({"progress": 0.5, "final": ["u1"]}, ["u3", "u1", "u2", "u4"], seed=7)
    {'progress': ['u1', 'u3'], 'final': ['u1']}
    """
    found: dict[str, Sequence[str]] = {}
    ids = sorted(utterances)
    for place, (name, one) in enumerate(counted.items()):
        if isinstance(one, float):
            if not 0 < one < 1:
                raise UsageError(f"the phase {name!r}: the share of utterances is {one:g}; give one between 0 and 1")
            drawn = np.random.default_rng([seed, place]).permutation(len(ids))[: max(round(one * len(ids)), 1)]
            found[name] = [ids[at] for at in drawn.tolist()]
        else:
            found[name] = one
    return found


def _write_table(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(pa.table({name: list(column) for name, column in columns.items()}), sink)
    write_atomically(path, [sink.getvalue().to_pybytes()])


def _columns_of_asv(asv: VerificationScores) -> dict[str, list[Any]]:
    """A row for each trial: its kind and score, and its id and attack if these are known."""
    values = [getattr(asv, kind) for kind in TRIALS]
    columns: dict[str, list[Any]] = {
        "kind": np.repeat(TRIALS, [one.size for one in values]).tolist(),
        "score": np.concatenate(values).tolist(),
    }
    if asv.trials:
        columns["trial"] = [trial for kind in TRIALS for trial in asv.trials[kind]]
    if asv.attacks:
        others = len(columns["kind"]) - len(asv.attacks)  # spoofs come last
        columns["attack"] = [*[None] * others, *asv.attacks]
    return columns


def _asv_of_columns(columns: Mapping[str, list[Any]]) -> VerificationScores:
    rows = {kind: [row for row, of in enumerate(columns["kind"]) if of == kind] for kind in TRIALS}
    target, nontarget, spoof = (np.array([columns["score"][row] for row in of]) for of in rows.values())
    attacks = tuple(columns["attack"][row] for row in rows["spoof"]) if "attack" in columns else ()
    trials = columns.get("trial")
    ids = {} if trials is None else {kind: tuple(trials[row] for row in of) for kind, of in rows.items()}
    return VerificationScores(target, nontarget, spoof, attacks, ids)


def _asv_hash(asv: VerificationScores | VerificationErrors) -> str:
    """Hash of a verification system with the ids and attacks of its trials, which groups depend on."""
    if isinstance(asv, VerificationErrors):
        return asv.signed
    return sha256(json_text(finite(_columns_of_asv(asv))).encode()).hexdigest()
