"""Each attack held out in turn: what a system makes of attacks that it never heard, one by one.

One corpus has every attack in every set. For each attack, utterances that have it are taken out of the training and the
development set, and everything is trained anew. *Seen* is the part of the evaluation set without that attack,
*unseen* the part with no other one; bona fide utterances are in both.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spoofspan.base.errors import DataError
from spoofspan.experiment.results import SEEN, SPELLINGS, UNSEEN, branch_scores, by_attack, eers_of_parts, write_table
from spoofspan.experiment.setup import Experiment, Places, System
from spoofspan.formats.datasets.partialspoof_dataset import read_dataset
from spoofspan.report.results import finite
from spoofspan.report.table import Table, json_text

if TYPE_CHECKING:
    from spoofspan.cm.batches import Corpus


def without_attack(corpus: Corpus, attack: str) -> Corpus:
    """A corpus without the utterances that have an attack."""
    rows = by_attack(corpus.references, [attack]).get(SEEN, np.arange(len(corpus)))
    columns = corpus.sounds, corpus.samples, corpus.speakers
    sounds, samples, speakers = (tuple(column[row] for row in rows.tolist()) if column else () for column in columns)
    references = corpus.references.take(rows)
    return replace(corpus, references=references, sounds=sounds, samples=samples, speakers=speakers)


def attacks_in_turn(experiment: Experiment, places: Places) -> tuple[str, ...]:
    """The attacks of the evaluation set, each of which will be held out."""
    references = read_dataset(places.dataset("eval"), source=experiment.reference_source).references
    if len(references.attack_names) < 2:
        raise DataError("the evaluation set names fewer than two attacks, so none can be held out; leave hold_out out")
    return tuple(sorted(references.attack_names))


def planned_in_turn(experiment: Experiment, attacks: Sequence[str]) -> list[System]:
    """Every system without each attack; what is not trained, once."""
    plain = list(experiment.planned())
    untrained = [one for one in plain if one.config is None]
    return untrained + [replace(one, without=attack) for attack in attacks for one in plain if one.config is not None]


@dataclass(frozen=True)
class HeldOutRow:
    """One system without one attack: range EERs, one for each seed."""

    system: str
    attack: str
    seen: tuple[float, ...]
    unseen: tuple[float, ...]


@dataclass(frozen=True)
class HeldOutResults:
    """Range EERs on attacks seen and unseen in training, for each attack held out."""

    rows: tuple[HeldOutRow, ...]
    places: Places

    def unseen(self, system: str) -> Mapping[str, float]:
        """The mean over seeds on each attack that was held out."""
        return {one.attack: statistics.fmean(one.unseen) for one in self.rows if one.system == system}

    def table(self) -> Table:
        """A row for each system and attack, and the mean and the worst of each system."""
        cells = []
        systems = list(dict.fromkeys(one.system for one in self.rows))
        for system in systems:
            own = [one for one in self.rows if one.system == system]
            seen, unseen = ([statistics.fmean(getattr(one, part)) for one in own] for part in ("seen", "unseen"))
            named = [(one.attack, *found) for one, found in zip(own, zip(seen, unseen, strict=True), strict=True)]
            named += [("mean", statistics.fmean(seen), statistics.fmean(unseen)), ("worst", max(seen), max(unseen))]
            cells += [(system, attack, f"{100 * one:.2f}", f"{100 * other:.2f}") for attack, one, other in named]
        seeds = max(len(one.seen) for one in self.rows)
        notes = (
            "",
            "Range EER in %" + (f", means over {seeds} seeds." if seeds > 1 else "."),
            *(["single-utterance: utterance EER."] if "single-utterance" in systems else []),
            f"{SEEN}: utterances without the one held out; {UNSEEN}: those with it alone, and bona fide ones.",
        )
        return Table(("system", "held out", SEEN, UNSEEN), tuple(cells), notes)

    def render(self, spelling: str) -> str:
        """As text, Markdown, LaTeX, CSV or JSON."""
        return json_text(self.to_dict()) if spelling == "json" else self.table().render(spelling)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        rows = [
            {"system": one.system, "held_out": one.attack, "seen": list(one.seen), "unseen": list(one.unseen)}
            for one in self.rows
        ]
        return {"held_out": finite(rows), "folder": str(self.places.out)}


def write_held_out(
    experiment: Experiment, places: Places, planned: Sequence[System], attacks: Sequence[str]
) -> HeldOutResults:
    """Measure, and write the table."""
    references = read_dataset(places.dataset("eval"), source=experiment.reference_source).references
    rules = asdict(experiment.config.labels)
    rows = []
    for name in dict.fromkeys(one.name for one in planned):
        for attack in attacks:
            seeds = [one for one in planned if one.name == name and one.without in (None, attack)]
            parts = by_attack(references, [attack])
            branches = [experiment.finest_branch(one) for one in seeds]
            scores = [branch_scores(places, one, "eval", own) for one, own in zip(seeds, branches, strict=True)]
            found = [eers_of_parts(references, one, parts, rules) for one in scores]
            rows.append(
                HeldOutRow(name, attack, tuple(one[SEEN] for one in found), tuple(one[UNSEEN] for one in found))
            )
    results = HeldOutResults(tuple(rows), places)
    places.tables.mkdir(exist_ok=True)
    for suffix, spelling in SPELLINGS.items():
        write_table(places.tables / f"held-out.{suffix}", results.render(spelling))
    return results
