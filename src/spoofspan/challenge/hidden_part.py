"""The hidden part of a challenge: labels, groups of utterances, clusters, and which utterances a phase counts.

::

    CHALLENGE/hidden/references.parquet   who is spoofed when; none where labels are of whole utterances
    CHALLENGE/hidden/metadata.parquet     these labels, and the columns of --by and --cluster
    CHALLENGE/hidden/settings.json        which columns they are, the utterances of phases, regions
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
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
from spoofspan.evaluation.breakdown import BREAKDOWNS
from spoofspan.evaluation.signature import references_hash
from spoofspan.formats import arrow as pa
from spoofspan.formats.convert import write_references
from spoofspan.formats.reading import read_references
from spoofspan.formats.text.protocol import read_metadata
from spoofspan.formats.writing import write_atomically
from spoofspan.report.table import json_text
from spoofspan.uncertainty.clusters import UNNAMED, Grouping, Resampling, factors_of

LETTERS, MOST_PREFIXES = re.compile(r"[^\W\d_]*"), 20
REFERENCES, METADATA, SETTINGS = "references.parquet", "metadata.parquet", "settings.json"
CLUSTERS, LABELS = "(cluster)", "(label)"  # columns that are no columns of metadata


@dataclass(frozen=True, eq=False)
class HiddenPart:
    """What the organisers keep.

    Parameters
    ----------
    truth
        References, with durations where submissions are in time; or the label of each utterance, ``bonafide`` or
        ``spoof``, or of each trial, ``target``, ``nontarget`` or ``spoof``.
    by
        Columns of the leaderboard besides the measures: ``kind``, ``length`` or ``boundary`` -> None, or the name of a
        column -> utterance -> value.
    cluster, clusters
        What is left out as a whole, as speakers, by name, and utterance -> cluster; None: utterances. Crossed factors
        have names of their own: ``{"speaker": {...}, "attack": {...}}``.
    phases
        Name of a phase -> the utterances that count in it, of phases that do not count all.
    regions
        The time that counts; None: all.

    """

    truth: References | Mapping[str, str]
    by: Mapping[str, Mapping[str, str] | None] = field(default_factory=dict)
    cluster: str | None = None
    clusters: Grouping | None = None
    phases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    regions: Regions | None = None

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
            if self.by[name] is None and name not in BREAKDOWNS:
                raise UsageError(f"by={name!r}: give the column with a value for every utterance")
        if "kind" in self.by and self.by["kind"] is None and getattr(self.truth, "kinds", None) is None:
            raise UsageError("these references have no kinds; give RTTM with attack names, or a column 'kind'")
        for name, utterances in self.phases.items():
            strange = sorted(set(utterances) - known)
            if strange or not utterances:
                what = f"unknown utterances, as {strange[0]!r}" if strange else "no utterance"
                raise DataError(f"the phase {name!r} has {what}; name some of the references")

    @property
    def factors(self) -> dict[str, Mapping[str, str]]:
        """What is left out as a whole, by name; none: utterances."""
        return {} if self.clusters is None else factors_of(self.clusters, self.cluster or UNNAMED)

    @property
    def utterances(self) -> Sequence[str]:
        """The ids."""
        return self.truth.utterances if isinstance(self.truth, References) else tuple(self.truth)

    def fit(self, definition: Definition) -> None:
        """Refuse labels that say too little for what is measured."""
        timed = [name for name, column in self.by.items() if column is None]
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

    def write(self, folder: Path) -> None:
        """Write the files of the hidden part, and see that the labels come back as they are."""
        columns: dict[str, Any] = {"utterance": self.utterances}
        kept = {name: column for name, column in self.by.items() if column is not None}
        if isinstance(self.truth, References):
            write_references(self.truth, folder / REFERENCES)
        else:
            kept[LABELS] = self.truth
        kept |= {f"{CLUSTERS}{name}": column for name, column in self.factors.items()}
        columns |= {name: [column[utt] for utt in self.utterances] for name, column in kept.items()}
        sink = pa.BufferOutputStream()
        pa.parquet.write_table(pa.table({name: list(column) for name, column in columns.items()}), sink)
        write_atomically(folder / METADATA, [sink.getvalue().to_pybytes()])
        settings = {
            "by": {name: column is not None for name, column in self.by.items()},
            "clusters": list(self.factors),
            "modality": getattr(self.truth, "modality", None),
            "phases": {name: sorted(utterances) for name, utterances in self.phases.items()},
            "regions": self.regions,
        }
        write_atomically(folder / SETTINGS, [json_text(settings).encode()])
        if HiddenPart.read(folder).content_hash != self.content_hash:
            raise DataError("the references do not come back from Parquet as they are; convert them to Parquet first")

    @classmethod
    def read(cls, folder: Path) -> HiddenPart:
        """Read the files of the hidden part."""
        settings = read_json(folder / SETTINGS)
        try:
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
            return cls(truth, by, None, clusters or None, settings["phases"], settings["regions"])
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
        """How intervals are made."""
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
        """What results depend on, besides the definition and the submission."""
        columns = {name: column and labels_hash(column) for name, column in self.by.items()}
        return {
            "references": self.content_hash,
            "by": columns,
            "clusters": {name: labels_hash(column) for name, column in self.factors.items()},
            "regions": self.regions and dict(self.regions),
            "rules": RULES_VERSION,
            "spoofspan": __version__,
        }

    def arguments(self, definition: Definition) -> dict[str, Any]:
        """The rules, and the regions that count."""
        rules = dict(definition.rules)
        return rules if self.regions is None else {**rules, "regions": self.regions}
