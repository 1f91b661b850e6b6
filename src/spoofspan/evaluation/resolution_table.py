"""The resolution table: a row for each system, with the range EER and point EERs at several resolutions (Tables 3, 4).

Scores of whole utterances have no resolutions; their table has a column for each measure of utterances.

A row has the same scores at ever coarser resolutions. Cells coarser than the hop of the row are an easier task, not a
better system. The floor of a row is the range EER of a perfect system of that hop. A column has the same measure under
the same rules on the same references, or the table is refused.

The published scripts take one table from two label files. ``label_sources="nii-2023"`` does the same: the range EER,
and points finer than the hop, from the ranges (RTTM); points at the hop or coarser from the label array of the hop. The
cells of one column then differ in their references, and the table has a note.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np

from spoofspan.base.columns import positions
from spoofspan.base.errors import SpoofspanWarning, UndefinedMeasureError, UsageError, nearest_name, quietly, warn_user
from spoofspan.base.progress import progress
from spoofspan.base.tabular import Tabular
from spoofspan.base.times import milliseconds
from spoofspan.data.front_door import RulesAndInputs, check_sides, check_systems, opens_inputs
from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.corpus import corpus_of
from spoofspan.evaluation.evaluate import best_possible
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.plan import EvaluationOptions, resampling_at
from spoofspan.mass.points import check_resolution
from spoofspan.measures.catalogue import EVENT
from spoofspan.measures.measure import Measure, parse_measures

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.data.utterance_scores import VerificationScores
    from spoofspan.evaluation.utterances import Truth
    from spoofspan.measures.costs import VerificationErrors
    from spoofspan.measures.measure import ScoresAre
    from spoofspan.uncertainty.clusters import Resampling
    from spoofspan.uncertainty.spreads import Interval

SAME = 1 + 1e-9  # resolutions and hops within this factor are the same
RANGE, UTTERANCE = "range-eer", "utterance-eer"
PAPER_RESOLUTIONS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)

LabelSources = Literal["one", "nii-2023"]
LABEL_SOURCES = get_args(LabelSources)
Said = Scores | Proposals | UtteranceScores  # of one training of a system
KINDS = {Scores: "scores in time", Proposals: "proposals", UtteranceScores: "scores of whole utterances"}


def point_measure(resolution: float) -> str:
    """The point EER at a resolution."""
    return str(Measure("point-eer", resolution))


@dataclass(frozen=True)
class TableCell:
    """One measure: the mean over seeds."""

    measurements: Mapping[str, Measurement]  # by seed; a single seed may have an empty name

    @property
    def value(self) -> float:
        """The mean over seeds, rounded once."""
        exact = [m.exact_value for m in self.measurements.values()]
        if all(isinstance(one, Fraction) for one in exact):
            return float(sum(one for one in exact if one is not None) / Fraction(len(exact)))
        return statistics.fmean(m.value for m in self.measurements.values())

    @property
    def standard_deviation(self) -> float | None:
        """Over seeds (n - 1); None with one."""
        values = [m.value for m in self.measurements.values()]
        return statistics.stdev(values) if len(values) > 1 else None

    @cached_property
    def interval(self) -> Interval | None:
        """The interval for other test sets and, with several seeds, other seeds; None without one, or if drawn."""
        found = [m.interval for m in self.measurements.values() if m.interval is not None]
        if len(found) < len(self.measurements) or len(found) == 1:
            return found[0] if found else None
        from spoofspan.uncertainty.seeds import joint_of

        return joint_of(found)

    @property
    def measurement(self) -> Measurement:
        """The measurement of the only seed."""
        if len(self.measurements) != 1:
            raise UsageError(f"this cell is a mean over {len(self.measurements)} seeds; look at .measurements")
        return next(iter(self.measurements.values()))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "measure": next(iter(self.measurements.values())).measure,
            "value": self.value,
            "standard_deviation": self.standard_deviation,
            "interval": None if self.interval is None else self.interval.to_dict(),
            "seeds": [{"name": name, "measurement": m.to_dict()} for name, m in self.measurements.items()],
        }


@dataclass(frozen=True)
class ResolutionRow:
    """One system: its hop, range EER, point EERs by resolution, the floor of the hop, and further measures."""

    name: str
    hop: float | None  # None for ranges, scores of whole utterances and proposals
    ranges: TableCell | None  # the range EER; None for all but scores in time
    point_eers: Mapping[float, TableCell]
    floor: Measurement | None
    measures: Mapping[str, TableCell] = field(default_factory=dict)
    training_resolution: float | None = None  # seconds, if it is known

    @property
    def range_eer(self) -> TableCell:
        """The range EER, which only scores in time have."""
        if self.ranges is None:
            raise UsageError(f"{self.name}: these are no scores in time, so there is no range EER; look at .measures")
        return self.ranges

    @property
    def seeds(self) -> tuple[str, ...]:
        """The seeds of the system."""
        return tuple(next(self.cells)[1].measurements)

    def is_native(self, resolution: float) -> bool:
        """True if a resolution is the training resolution, or else the hop."""
        own = self.own_resolution
        return own is not None and resolution <= own * SAME and own <= resolution * SAME

    def is_coarser(self, resolution: float) -> bool:
        """True if a resolution is coarser than the training resolution, or else the hop: an easier task."""
        return self.own_resolution is not None and resolution > self.own_resolution * SAME

    @property
    def own_resolution(self) -> float | None:
        """The training resolution, or the hop if it is not known."""
        return self.training_resolution or self.hop

    @property
    def eers(self) -> Iterator[tuple[str, TableCell]]:
        """The EERs by column."""
        if self.ranges is not None:
            yield RANGE, self.ranges
        for resolution, cell in self.point_eers.items():
            yield point_measure(resolution), cell

    @property
    def cells(self) -> Iterator[tuple[str, TableCell]]:
        """All cells by column."""
        yield from self.eers
        yield from self.measures.items()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "name": self.name,
            "hop": self.hop,
            "training_resolution": self.training_resolution,
            "floor": None if self.floor is None else self.floor.to_dict(),
            "range_eer": None if self.ranges is None else self.ranges.to_dict(),
            "point_eers": [
                {
                    "resolution": resolution,
                    "native": self.is_native(resolution),
                    "coarser_than_hop": self.is_coarser(resolution),
                    **cell.to_dict(),
                }
                for resolution, cell in self.point_eers.items()
            ],
            "measures": [cell.to_dict() for cell in self.measures.values()],
        }


@dataclass(frozen=True)
class ResolutionTable(Tabular):
    """Rows of systems, columns of measures; made by :func:`resolution_table`.

    Parameters
    ----------
    resolutions
        The resolutions of the columns, in seconds; none of proposals and of scores of whole utterances.
    rows
        A row for each system; ``table[0.02]`` or ``table["name"]`` is one of them.
    label_sources
        The source of the labels.

    Examples
    --------
    >>> import spoofspan.demo
    >>> corpus = spoofspan.demo.load()
    >>> table = resolution_table(corpus.references, {"mine": corpus.systems[0.02]}, [0.02])
    >>> table["mine"].hop, f"{table['mine'].range_eer.value:.4f}"
    (0.02, '0.0521')
    """

    resolutions: tuple[float, ...]
    rows: tuple[ResolutionRow, ...]
    label_sources: LabelSources = "one"

    def __getitem__(self, row: float | str) -> ResolutionRow:
        """The row of a hop (seconds), or of a name."""
        for one in self.rows:
            if row == (one.name if isinstance(row, str) else one.hop):
                return one
        raise KeyError(row)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "resolutions": list(self.resolutions),
            "label_sources": self.label_sources,
            "rows": [row.to_dict() for row in self.rows],
        }

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each system: the floor, the range EER, the point EERs, the other measures; means over seeds."""
        return [
            {"system": row.name, "hop": row.hop, "floor": None if row.floor is None else row.floor.value}
            | {column: cell.value for column, cell in row.cells}
            for row in self.rows
        ]

    def __repr__(self) -> str:
        return f"ResolutionTable({len(self.rows)} systems, {len(self.resolutions)} resolutions)"

    def render(self, spelling: str) -> str:
        """Write the table as ``text``, ``markdown``, ``latex``, ``csv``, ``html`` or ``json``."""
        from spoofspan.report.resolutions import render

        return render({"": self}, spelling)

    def __str__(self) -> str:
        return self.render("text").rstrip("\n")

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        return self.render("html")


@opens_inputs
def resolution_table(
    references: Truth,
    systems: Scores | Mapping[float, Said | Mapping[str, Said]] | Mapping[str, Said | Mapping[str, Said]],
    resolutions: Sequence[float] = PAPER_RESOLUTIONS,
    measures: Sequence[str | Measure] = (),
    *,
    label_sources: LabelSources = "one",
    segment_labels: Mapping[float, References] | None = None,
    convention: str = "default",
    eer_rule: str | None = None,
    scores_are: ScoresAre | None = None,
    asv_scores: VerificationScores | VerificationErrors | None = None,
    resampling: Resampling | None = None,
    smoothing: int | None = None,
    min_duration: float = 0.0,
    merge_gap: float = 0.0,
    **rules: Unpack[RulesAndInputs],
) -> ResolutionTable:
    """Measure the range EER and the point EER at every resolution, of each system.

    Parameters
    ----------
    references
        Reference labels. Scores of whole utterances may have a protocol, or a label by utterance, instead.
    systems
        Scores by the training hop (seconds) or by the name of the system; several seeds as a dict, seed -> scores. The
        mappings are read one entry at a time, so they may be lazy. Scores alone are one system. Proposals have event
        measures only, and scores of whole utterances have measures of utterances only.
    resolutions
        The lengths of points in seconds.
    measures
        Further columns, such as ``event-f1@iou=0.5``. Proposals and scores of whole utterances have only these; the
        default of the latter is the utterance EER. Measures at a threshold are taken at that of each system's EER.
    label_sources
        ``"nii-2023"`` takes points at the hop or coarser from ``segment_labels``, like the published scripts.
    segment_labels
        The label array of each hop (seconds).
    convention, eer_rule, **rules
        As in :func:`spoofspan.range_eer`.
    scores_are, asv_scores
        For ``measures`` that need them, as in :func:`spoofspan.evaluate`.
    resampling
        Settings of intervals, if they are wanted. Intervals of means over seeds also hold for other seeds, and need the
        method ``"jackknife-t"``.
    smoothing, min_duration, merge_gap
        How proposals are made of scores, for event measures, as in :func:`spoofspan.evaluate`.

    Returns
    -------
    ResolutionTable
        A row for each system, with the floor of its hop.

    Raises
    ------
    UsageError
        If numbers of one column may not be compared.

    Examples
    --------
    >>> import spoofspan.demo
    >>> corpus = spoofspan.demo.load()
    >>> table = resolution_table(corpus.references, {0.02: corpus.systems[0.02]}, [0.01, 0.02])
    >>> print(f"{table[0.02].point_eers[0.01].value:.4f}, floor {table[0.02].floor.value:.4f}")
    0.0529, floor 0.0026
    """
    if isinstance(systems, Scores):
        systems = cast("Mapping[str, Said]", {systems.hop or "scores": systems})
    check_systems(systems)
    if not systems:
        raise UsageError("give at least one system: {hop in seconds: scores}, or {name: scores}")
    if label_sources not in LABEL_SOURCES:
        raise UsageError(f"label_sources={label_sources!r}: {nearest_name(str(label_sources), LABEL_SOURCES)}")
    if (segment_labels is None) != (label_sources == "one"):
        raise UsageError(
            "label_sources='nii-2023' (--label-sources) goes with segment_labels: the label array of every hop"
        )
    if not hasattr(resolutions, "__iter__"):
        raise UsageError(f"resolutions={resolutions!r}: give a list of seconds, as [0.02, 0.04]")
    points = tuple(check_resolution(one) for one in resolutions)
    if len(set(points)) < len(points):
        raise UsageError("a resolution is listed twice; every column needs one of its own")
    more = _further(measures)
    asked, proposing = resampling_at(None, resampling), (smoothing, min_duration, merge_gap)
    options = EvaluationOptions(convention, eer_rule, None, scores_are, asv_scores, asked, *proposing, rules=rules)
    options.refuse_proposing_without_events(map(Measure.parse, more))
    rows = tuple(_Rows(references, points, segment_labels, options, more).rows(systems))
    # only scores in time have points
    table = ResolutionTable(points if rows[0].ranges is not None else (), rows, label_sources)
    if label_sources == "one":
        _refuse_incomparable(table)
    else:
        _refuse_other_utterances(table)
    return table


def _further(measures: Sequence[str | Measure]) -> tuple[str, ...]:
    """The spellings of further columns; default columns are refused."""
    found = tuple(dict.fromkeys(str(one) for one in parse_measures(measures)))
    for one in found:
        if one == RANGE or one.startswith("point-eer@"):
            raise UsageError(f"{one}: its column is there already; leave it out")
    return found


@dataclass(frozen=True)
class _Rows:
    """Measures systems, one at a time."""

    truth: Truth
    resolutions: tuple[float, ...]
    segment_labels: Mapping[float, References] | None
    options: EvaluationOptions
    more: tuple[str, ...]

    def rows(self, systems: Mapping[Any, Said | Mapping[str, Said]]) -> Iterator[ResolutionRow]:
        """The rows by hop, the finest first, or by name in the given order."""
        keys = list(systems)
        by_name = [isinstance(key, str) for key in keys]
        if any(by_name) and not all(by_name):
            raise UsageError("name all systems, or give all of them by their hop in seconds")
        floors: dict[float, Measurement] = {}
        kinds: set[type] = set()
        for key in keys if any(by_name) else sorted(keys):
            name = key if isinstance(key, str) else milliseconds(key)
            hop: float | None = None if isinstance(key, str) else check_resolution(key)
            trained: float | None = None
            given = systems[key]
            seeds = given if isinstance(given, Mapping) else {"": given}
            if not seeds:
                raise UsageError(f"{name}: there are no scores of any seed")
            measured: dict[str, dict[str, Measurement]] = {}
            scored: tuple[str, ...] = ()
            for seed in seeds:
                scores = seeds[seed]
                place = f"{name}, {seed}" if seed else name
                if not isinstance(scores, UtteranceScores):
                    check_sides(self.truth, scores, proposals=True)
                kinds.add(type(scores))
                if len(kinds) > 1:
                    mixed = " and ".join(name for kind, name in KINDS.items() if kind in kinds)
                    raise UsageError(
                        f"{place}: there are {mixed}, whose numbers may not be compared; make a table of each"
                    )
                if isinstance(scores, Scores) and scores.hop is not None:
                    if hop is not None and abs(scores.hop - hop) > 1e-9:
                        raise UsageError(
                            f"{place}: the scores given for a hop of {milliseconds(hop)} have one of "
                            f"{milliseconds(scores.hop)}"
                        )
                    hop = scores.hop if hop is None else hop
                    trained = scores.training_resolution or scores.copied_resolution
                with progress(f"measuring {place}"):
                    measured[seed] = self._measure(scores, hop, place)
                scored = scores.utterances
                del scores  # before the next ones are read
            if hop is not None and hop not in floors and RANGE in measured[seed]:
                floors[hop] = self._floor(hop, scored)
            found = {
                column: TableCell({seed: one[column] for seed, one in measured.items()}) for column in measured[seed]
            }
            points = {one: found[point_measure(one)] for one in self.resolutions if point_measure(one) in found}
            floor = floors[hop] if hop is not None and RANGE in found else None
            eers = {RANGE, *map(point_measure, points)}
            more = {column: cell for column, cell in found.items() if column not in eers}
            yield ResolutionRow(name, hop, found.get(RANGE), points, floor, more, trained)

    def _floor(self, hop: float, scored: Sequence[str]) -> Measurement:
        """The floor of a hop on the measured utterances."""
        references, options = cast("References", self.truth), self.options
        if options.rules.get("partial"):
            references = references.take(np.flatnonzero(positions(references.utterances, scored) >= 0))
        with quietly():  # a perfect system has few distinct scores
            floor = best_possible(
                references, hop, convention=options.convention, eer_rule=options.eer_rule, **cast("Any", options.rules)
            )
            return signed(floor)

    def _measure(self, scores: Said, hop: float | None, place: str) -> dict[str, Measurement]:
        """All measures of one system, signed, so that the scores need not be kept."""
        if isinstance(scores, UtteranceScores):
            return self._evaluate(self.truth, scores, self.more or (UTTERANCE,), place)
        if isinstance(scores, Proposals):
            if not self.more:
                raise UsageError(
                    f"{place}: these are proposals, which have no EER; say which event measures are wanted: "
                    "measures=['event-ap@iou=0.5'] (--measure event-ap@iou=0.5)"
                )
            return self._evaluate(self.truth, scores, self.more, place)
        from_ranges = [RANGE, *map(point_measure, self.resolutions), *self.more]
        if self.segment_labels is None:
            return self._evaluate(self.truth, scores, from_ranges, place)
        if hop is None:
            raise UsageError(f"{place}: label_sources='nii-2023' needs the hop of the system, and these are ranges")
        arrays = {milliseconds(one): one for one in self.segment_labels}
        if milliseconds(hop) not in arrays:
            known = ", ".join(arrays) or "none"
            raise UsageError(f"{place}: there are no segment labels at {milliseconds(hop)} (only at: {known})")
        from_arrays = [point_measure(one) for one in self.resolutions if one * SAME >= hop]
        from_ranges = [one for one in from_ranges if one not in from_arrays]
        found = self._evaluate(self.truth, scores, from_ranges, place)
        if from_arrays:
            found |= self._evaluate(self.segment_labels[arrays[milliseconds(hop)]], scores, from_arrays, place)
        return found

    def _evaluate(self, truth: Truth, scores: Said, measures: Sequence[str], place: str) -> dict[str, Measurement]:
        def refuse(measure: Measure, error: UndefinedMeasureError) -> None:
            leave = "" if measure.resolution is None else f" (or leave {milliseconds(measure.resolution)} out)"
            raise UndefinedMeasureError(f"{place}, {measure}: {error}{leave}") from error

        options = self.options
        if isinstance(scores, Scores):
            scores.distinct.refuse("an EER")
        if not any(Measure.parse(one).basis == EVENT for one in measures):
            options = replace(options, smoothing=None, min_duration=0.0, merge_gap=0.0)
        with quietly():  # cautions are said below, with the place
            found = corpus_of(truth, scores).evaluate(measures, options, refuse).measurements
        for name, measurement in found.items():
            for text in measurement.warnings:
                warn_user(f"{place}, {name}: {text}", SpoofspanWarning)
        return {name: signed(measurement) for name, measurement in found.items()}


def signed(measurement: Measurement) -> Measurement:
    """The same measurement with its signature computed, which releases references and scores."""
    signature = measurement.signature
    return replace(measurement, signer=lambda: signature)


def _refuse_incomparable(table: ResolutionTable) -> None:
    """Refuse a column of numbers that are not comparable."""
    first: dict[str, tuple[Measurement, str]] = {}  # by column: its first number, and where that is
    for row in table.rows:
        for column, cell in row.cells:
            for seed, measurement in cell.measurements.items():
                here = measurement, f"{row.name}, {seed}" if seed else row.name
                there = first.setdefault(column, here)
                if differ := there[0].incomparable(measurement):
                    raise UsageError(
                        f"{column}: the numbers of {there[1]} and {here[1]} cannot be compared, so they are refused in "
                        f"one table ({'; '.join(differ)}); {_remedy(differ)}"
                    )


def _remedy(differ: Sequence[str]) -> str:
    if any(one.startswith("utterances:") for one in differ):
        return "score the same utterances with every system"
    return (
        "state these rules for all cells, or ask for the mixture of the published scripts with "
        "label_sources='nii-2023' (--label-sources nii-2023)"
    )


def _refuse_other_utterances(table: ResolutionTable) -> None:
    """Refuse two sources of labels with different utterances; the range EER has its own."""
    points = [
        (f"{row.name}, {column}", measurement.signature.comparable.rpartition("|")[2])
        for row in table.rows
        for column, cell in row.cells
        for measurement in cell.measurements.values()
        if column != RANGE
    ]
    for place, utterances in points:
        if utterances != points[0][1]:
            raise UsageError(
                f"{points[0][0]} and {place} are measured on different utterances; RTTM and segment labels must be of "
                "the same set"
            )
