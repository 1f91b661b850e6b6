"""Results of an experiment: the paper's tables, attacks seen and unseen in training, and a page.

If each attack is held out in turn, one corpus has every attack in every set. For each attack, utterances that have it
are taken out of the training and the development set, and everything is trained anew. *Seen* is the part of the
evaluation set without that attack, *unseen* the part with no other one; bona fide utterances are in both.
"""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import utterance_of_rows
from spoofspan.base.errors import DataError, SpoofspanWarning
from spoofspan.base.times import milliseconds
from spoofspan.cm.frame_times import UTTERANCE, resolution, scale_of
from spoofspan.cm.scorers import JOINT_DETECTOR
from spoofspan.data.references import SPOOF, References
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.evaluate import best_possible, range_eer, utterance_eer
from spoofspan.evaluation.resolution_table import ResolutionTable, resolution_table
from spoofspan.experiment.setup import MEASURED_SETS, Experiment, Places, System
from spoofspan.formats.datasets.partialspoof_dataset import Dataset, read_dataset, sound_folder
from spoofspan.formats.reading import read_scores, read_utterance_scores
from spoofspan.formats.writing import write_atomically
from spoofspan.report.resolutions import render, tables_dict
from spoofspan.report.table import Table, finite, json_text
from spoofspan.uncertainty import Resampling

if TYPE_CHECKING:
    from spoofspan.cm.batches import Corpus

SPELLINGS = {"txt": "text", "md": "markdown", "tex": "latex", "csv": "csv", "json": "json"}
SEEN, UNSEEN = "seen attacks", "unseen attacks"
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Row:
    """One branch of a system: its EER on parts of the data, a value for each seed.

    It is the range EER of windows, and the utterance EER of scores of whole utterances.
    """

    system: str
    hop: float | None  # None: whole utterances
    floor: float  # of the evaluation set
    values: Mapping[str, Sequence[float]]  # NaN where a part has utterances of one class only

    def mean(self, part: str) -> float:
        """The mean over seeds."""
        return statistics.fmean(self.values[part])

    @property
    def above_floor(self) -> float:
        """Error above that of a perfect system with that hop, of the evaluation set."""
        return self.mean("eval") - self.floor

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        eers = {part: {"mean": self.mean(part), "seeds": list(values)} for part, values in self.values.items()}
        plain = {"system": self.system, "hop": self.hop, "floor": self.floor}
        measure = "utterance_eer" if self.hop is None else "range_eer"
        found: dict[str, Any] = finite({**plain, measure: eers, "above_floor": self.above_floor})
        return found


@dataclass(frozen=True)
class Results:
    """The tables, by what they show, and all systems in one."""

    tables: Mapping[str, Mapping[str, ResolutionTable]]  # multi, single: the sets
    rows: tuple[Row, ...]
    unseen: tuple[str, ...]  # attacks of the evaluation set that are not in the training set
    places: Places

    def systems_table(self) -> Table:
        """All systems side by side."""
        parts = list(self.rows[0].values)
        titles = {"dev": "development", "eval": "evaluation"}
        shares = [[*map(row.mean, parts), row.floor, row.above_floor] for row in self.rows]
        rows = tuple(
            (
                row.system,
                UTTERANCE if row.hop is None else f"{1000 * row.hop:g} ms",
                *("-" if math.isnan(share) else f"{100 * share:.2f}" for share in own),
            )
            for row, own in zip(self.rows, shares, strict=True)
        )
        seeds = max(len(row.values["eval"]) for row in self.rows)
        notes = [
            "",
            "Range EER in %" + (f", means over {seeds} seeds." if seeds > 1 else "."),
            "above floor: evaluation minus floor, the range EER of a perfect system with that hop.",
        ]
        if any(row.hop is None for row in self.rows):
            notes.append(f"Rows with the hop {UTTERANCE!r}: utterance EER; - where all utterances are of one class.")
        if self.unseen:
            notes.append(
                f"{SEEN}: evaluation utterances without {', '.join(self.unseen)}; "
                f"{UNSEEN}: those with nothing but {', '.join(self.unseen)}, and bona fide ones."
            )
        columns = ("system", "hop", *(titles.get(part, part) for part in parts), "floor", "above floor")
        return Table(columns, rows, tuple(notes))

    def render(self, spelling: str) -> str:
        """All of it as text, Markdown, LaTeX, CSV or HTML; or as JSON, in which every seed and signature is."""
        if spelling == "json":
            return json_text(self.to_dict())
        heads = {"multi": "Trained at all resolutions together", "single": "Trained at one resolution each"}
        mark = {"markdown": "### {}\n\n", "latex": "% {}\n", "csv": "", "html": "<h2>{}</h2>\n"}.get(spelling, "{}\n\n")
        written = [mark.format(heads[name]) + render(sets, spelling) for name, sets in self.tables.items()]
        return "\n".join([*written, mark.format("All systems") + self.systems_table().render(spelling)])

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            "tables": {name: tables_dict(sets) for name, sets in self.tables.items()},
            "systems": [row.to_dict() for row in self.rows],
            "unseen_attacks": list(self.unseen),
            "folder": str(self.places.out),
        }


def write_results(experiment: Experiment, places: Places, planned: list[System], *, report: bool) -> Results:
    """Measure, and write tables and page."""
    with warnings.catch_warnings():
        # systems that are there to fail are at 50 % by design
        warnings.simplefilter("ignore", SpoofspanWarning)
        measuring = _Measuring(experiment, places, planned)
        results = Results(measuring.tables(), measuring.rows(), measuring.unseen, places)
        places.tables.mkdir(exist_ok=True)
        rows = json_text([row.to_dict() for row in results.rows])
        for suffix, spelling in SPELLINGS.items():
            for name, sets in results.tables.items():
                write_table(places.tables / f"{name}.{suffix}", render(sets, spelling))
            systems = rows if spelling == "json" else results.systems_table().render(spelling)
            write_table(places.tables / f"systems.{suffix}", systems)
        if report:
            measuring.write_page()
    return results


def write_table(path: Path, text: str) -> None:
    """Write a table or a page."""
    write_atomically(path, [text.encode()], force=True)


class _Measuring:
    """References and scores of an experiment."""

    def __init__(self, experiment: Experiment, places: Places, planned: list[System]) -> None:
        self.experiment, self.places, self.planned = experiment, places, planned
        found = {
            subset: read_dataset(places.dataset(subset), source=experiment.reference_source)
            for subset in ("train", *MEASURED_SETS)
        }
        self.references = {subset: one.references for subset, one in found.items()}
        self.speakers = _speakers(found["eval"])
        self.rules = asdict(experiment.config.labels)
        self.unseen = unseen_attacks(self.references["train"], self.references["eval"])

    def tables(self) -> dict[str, dict[str, ResolutionTable]]:
        """The paper's tables: rows are branches of one system, or systems of one branch."""
        names = [name for name in ("multi", "single") if name in self.experiment.systems]
        return {name: {subset: self._table(name, subset) for subset in MEASURED_SETS} for name in names}

    def _table(self, name: str, subset: str) -> ResolutionTable:
        rows: dict[float, dict[str, Scores]] = {}
        for branch in self.experiment.branches:
            wanted = name if name == "multi" else f"single-{branch.removesuffix('ms')}"
            seeds = [one for one in self.planned if one.name == wanted]
            rows[resolution(scale_of(branch))] = {str(one.seed): self._scores(one, subset, branch) for one in seeds}
        return resolution_table(self.references[subset], rows, **self.rules)

    def _scores(self, system: System, subset: str, branch: str) -> Scores:
        return read_scores(score_file(self.places, system, subset, branch))

    def rows(self) -> tuple[Row, ...]:
        """Every branch of what is trained at all of them, the finest branch of everything else."""
        found = []
        for name in self._names():
            seeds = [one for one in self.planned if one.name == name]
            branches = self.experiment.all_branches if name == "multi" else (self.experiment.finest_branch(seeds[0]),)
            found += [self._row(name, seeds, branch) for branch in branches]
        return tuple(found)

    def _names(self) -> list[str]:
        """The systems in the order of the plan, the untrained one last."""
        return sorted(dict.fromkeys(one.name for one in self.planned), key=lambda name: name == JOINT_DETECTOR)

    def _row(self, name: str, seeds: list[System], branch: str) -> Row:
        found = [self._parts(system, branch) for system in seeds]
        values = {part: [one[part] for one in found] for part in found[0]}
        if branch == UTTERANCE:
            return Row(name, None, 0.0, values)
        hop = resolution(scale_of(branch))
        return Row(name, hop, float(best_possible(self.references["eval"], hop, **self.rules).value), values)

    def _parts(self, system: System, branch: str) -> dict[str, float]:
        """The EER on the development set, the evaluation set, and its parts."""
        values: dict[str, float] = {}
        for subset in MEASURED_SETS:
            references, scores = self.references[subset], branch_scores(self.places, system, subset, branch)
            parts: dict[str, Rows] = {subset: np.arange(len(references))}
            if subset == "eval":
                parts |= by_attack(references, self.unseen)
            values |= eers_of_parts(references, scores, parts, self.rules)
        return values

    def write_page(self) -> None:
        """The first seed of every system that has the finest branch, on one page."""
        from spoofspan.report.page import PageSettings, page_content, render_page
        from spoofspan.report.page.audio import addresses, waveforms

        finest = self.experiment.branches[0]
        firsts = {one.name: one for one in reversed(self.planned) if self.experiment.finest_branch(one) == finest}
        shown = {name: self._scores(firsts[name], "eval", finest) for name in self._names() if name in firsts}
        references = self.references["eval"]
        sounds = sound_folder(self.places.data, "eval")
        settings = PageSettings(
            f"{self.experiment.config.name}, {milliseconds(resolution(scale_of(finest)))}: evaluation set",
            resampling=Resampling(self.speakers, replicates=1000, clusters_are="speaker"),
            columns={} if self.speakers is None else {"speaker": self.speakers},
            audio={} if sounds is None else addresses(sounds, references.utterances, self.places.page, embed=False),
            waveforms={} if sounds is None else waveforms(sounds, references.utterances),
            arguments=self.rules,
        )
        write_table(self.places.page, render_page(page_content(references, shown, settings)))


def _speakers(dataset: Dataset) -> dict[str, str] | None:
    """The speaker of every utterance, where the protocol knows them all: intervals then draw speakers."""
    if dataset.protocol is None:
        return None
    known = {utterance: speaker for utterance, speaker in dataset.by_utterance("speaker").items() if speaker}
    return known if set(dataset.references.utterances) <= known.keys() else None


# ---------------------------------------------------------------- attacks


def score_file(places: Places, system: System, subset: str, branch: str) -> Path:
    """The file of the scores of a branch."""
    return places.scores(system, subset) / f"scores_{branch}{'.tsv' if branch == UTTERANCE else '.parquet'}"


def branch_scores(places: Places, system: System, subset: str, branch: str) -> Scores | UtteranceScores:
    """The scores of a branch, of windows or of whole utterances."""
    read = read_utterance_scores if branch == UTTERANCE else read_scores
    return read(score_file(places, system, subset, branch))


def eers_of_parts(
    references: References, scores: Scores | UtteranceScores, parts: Mapping[str, Rows], rules: Mapping[str, Any]
) -> dict[str, float]:
    """The range EER of each part of a corpus; of scores of utterances, the utterance EER."""
    values = {}
    for part, rows in parts.items():
        own = references.take(rows)
        if isinstance(scores, Scores):
            values[part] = float(range_eer(own, scores.take(own.utterances), **rules).value)
        else:
            values[part] = float(utterance_eer(own, scores.take(own.utterances), undefined="nan").value)
    return values


def unseen_attacks(train: References, evaluation: References) -> tuple[str, ...]:
    """Attacks that are evaluated but were not trained on."""
    return tuple(sorted(set(evaluation.attack_names) - set(train.attack_names)))


def by_attack(references: References, unseen: Sequence[str]) -> dict[str, Rows]:
    """Utterances that have no unseen attack, and which have no other; bona fide ones are in both.

    >>> references = References.from_ranges({"a": [(0, 1, "bonafide")], "b": [(0, 1, "spoof", "A01")],
    ...     "c": [(0, 1, "spoof", "A04")], "d": [(0, 1, "spoof", "A01"), (1, 2, "spoof", "A04")]})
    >>> {part: rows.tolist() for part, rows in by_attack(references, ["A04"]).items()}
    {'seen attacks': [0, 1], 'unseen attacks': [0, 2]}
    """
    if not unseen or references.attacks is None:
        return {}
    new = np.isin(references.attacks, [code for code, name in enumerate(references.attack_names) if name in unseen])
    spoof = references.labels == SPOOF
    owner = utterance_of_rows(references.offsets)
    without = {SEEN: owner[spoof & new], UNSEEN: owner[spoof & ~new]}
    return {part: np.setdiff1d(np.arange(len(references)), others) for part, others in without.items()}


# ---------------------------------------------------------------- each attack held out in turn


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
