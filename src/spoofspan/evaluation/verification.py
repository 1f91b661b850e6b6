"""Verification: a stated result is measured again, and either confirmed or all differences are named."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from spoofspan.base.errors import DataError, SpoofspanError, UsageError, quietly, reason_of
from spoofspan.base.version import __version__
from spoofspan.data.rules import CONVENTIONS, RULES, RULES_VERSION
from spoofspan.data.scores import Higher, Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.corpus import Corpus, CorpusInMemory, Evaluation, ReadColumn, WayOfGroups, corpus_of
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.plan import EvaluationOptions, verification_of
from spoofspan.evaluation.signature import Signature
from spoofspan.evaluation.signature_text import BISECTION, NOTHING, kind_of, parse_signature
from spoofspan.evaluation.stated_result import Source, StatedMeasurement, StatedResult
from spoofspan.evaluation.utterances import Truth
from spoofspan.measures.catalogue import EVENT
from spoofspan.measures.measure import EER_RULES, in_percent

if TYPE_CHECKING:
    from spoofspan.data.proposals import Proposals
    from spoofspan.data.rules import Regions
    from spoofspan.data.utterance_scores import VerificationScores
    from spoofspan.evaluation.breakdown import Breakdown
    from spoofspan.evaluation.crossed import CrossedBreakdown
    from spoofspan.measures.costs import VerificationErrors
    from spoofspan.uncertainty.clusters import Resampling

# Fields of a measurement that are compared in other ways, or are text for people.
_CONFUSION = "confusion"  # compared if nothing else differs, since it follows from the rates
_OTHERWISE = ("signature", "short_signature", "rules", "hashes", _CONFUSION)
_NOT_COMPARED = (*_OTHERWISE, "warnings", "notes", "decision", "reason")
_OF_INTERVALS = ("interval", "intervals", "differences")
MOST_REPLICATES = 100_000  # of a bootstrap that a file asks for
# The last digits of sums of floats depend on the processor.
_CLOSE = {"rel_tol": 1e-9, "abs_tol": 1e-12}


@dataclass(frozen=True)
class ResultDifference:
    """One difference between a result and its repetition.

    Parameters
    ----------
    name
        The field: ``references``, ``scores``, ``rule gaps``, ``version of spoofspan``, ``value``, ...
    stated, found
        The field as stated, and as found.
    measure
        The measure concerned; empty for all.
    """

    name: str
    stated: str
    found: str
    measure: str = ""

    def __str__(self) -> str:
        of = f"{self.measure}, " if self.measure else ""
        return f"{of}{self.name}: stated {self.stated}, found {self.found}"


@dataclass(frozen=True)
class Verification:
    """The outcome of :func:`verify`; it is true if the result was confirmed.

    Parameters
    ----------
    result
        The name of the verified file or signature.
    differences
        All differences; empty if the result is confirmed.
    evaluation
        The repetition; empty if that was not possible.
    notes
        Parts that were not repeated, and possible reasons for a difference.

    Examples
    --------
    See :func:`verify`.

    """

    result: str
    differences: tuple[ResultDifference, ...]
    evaluation: Evaluation
    notes: tuple[str, ...] = ()

    @property
    def confirmed(self) -> bool:
        """True if nothing differs."""
        return not self.differences

    def __bool__(self) -> bool:
        return self.confirmed

    def __str__(self) -> str:
        values = [f"  {one.measure} {one.value_text}" for one in self.evaluation.measurements.values()]
        notes = [f"note: {one}" for one in self.notes]
        if self.confirmed:
            return "\n".join([f"confirmed: {self.result}", *values, *notes])
        return "\n".join([f"not confirmed: {self.result}", *(f"  {one}" for one in self.differences), *notes])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "spoofspan": __version__,
            "result": self.result,
            "confirmed": self.confirmed,
            "differences": [vars(one) for one in self.differences],
            "values": {name: one.value for name, one in self.evaluation.measurements.items()},
            "notes": list(self.notes),
        }


def verify(
    result: Source | StatedResult,
    references: Truth | Corpus,
    scores: Scores | Proposals | UtteranceScores | None = None,
    *,
    utterance_scores: UtteranceScores | None = None,
    boundary_scores: Scores | None = None,
    asv_scores: VerificationScores | VerificationErrors | None = None,
    asv_rates: Sequence[float] | None = None,
    regions: Regions | None = None,
    columns: Mapping[str, Mapping[str, str]] | ReadColumn | None = None,
    value: str | float | None = None,
) -> Verification:
    """Measure a result again under its stated rules, and confirm it or report the differences.

    Parameters
    ----------
    result
        The JSON of ``spoofspan eval`` (a path, or its content), a signature in any printed form, or a result of
        Python.
    references, scores
        The corpus as in :func:`spoofspan.evaluate` or :func:`spoofspan.evaluate_utterances`; or, alone, a corpus in
        shards (:func:`spoofspan.sharded`).
    utterance_scores, boundary_scores, asv_scores, asv_rates, regions
        Further inputs of the result, as in :func:`spoofspan.evaluate`.
    columns
        The columns of metadata (:func:`spoofspan.read_metadata`) for groups and intervals, or a function that reads
        one.
    value
        With a signature: the published value as printed, such as ``"5.21%"`` or ``0.0521``. It is compared to as many
        decimals as it has.

    Returns
    -------
    Verification
        True if the result is confirmed; otherwise ``differences`` lists all differences.

    Raises
    ------
    DataError
        If the file is not a result, or an old one that does not state its rules.

    Examples
    --------
    >>> import spoofspan as ss
    >>> references = ss.References.from_ranges({"u1": [(0.0, 0.08, "bonafide"), (0.08, 0.16, "spoof")]})
    >>> frames = {"u1": [0.9, 0.8, 0.7, 0.1, 0.2, -0.1, -0.2, -0.3]}
    >>> scores = ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")
    >>> signature = ss.range_eer(references, scores).signature
    >>> print(ss.verify(signature.short, references, scores, value="25.0%"))
    confirmed: the signature
      range-eer 25.00 %
    >>> frames["u1"][:2] = [-1.0, -1.0]
    >>> other = ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")
    >>> [one.name for one in ss.verify(signature.short, references, other, value="25.0%").differences]
    ['scores', 'value']
    """
    corpus = corpus_of(references, scores, utterance_scores=utterance_scores, boundary_scores=boundary_scores)
    stated = StatedResult.read(result)
    if stated.is_file and "measurements" not in stated.plain:  # a table of several systems
        stated = stated.of_system(corpus.input_hashes())
    columns = {} if columns is None else columns
    read = columns.__getitem__ if isinstance(columns, Mapping) else columns
    found = _Repetition(stated, corpus, regions, verification_of(asv_scores, asv_rates), read)
    with quietly():
        found.compare()
        if value is not None:
            found.compare_value(value)
        elif not stated.is_file and {"references", "utterances"}.issuperset(stated.measurements[0].fields.all_hashes):
            found.notes.append("no value and no hash of scores is stated: only the rules and references were compared")
        found.explain()
    return Verification(stated.name, tuple(found.differences.values()), found.evaluation, tuple(found.notes))


@dataclass
class _Repetition:
    """A result and the corpus of the repetition; differences are collected by measure and name."""

    result: StatedResult
    corpus: Corpus
    regions: Regions | None
    asv_scores: VerificationScores | VerificationErrors | None
    read_column: ReadColumn
    with_intervals: bool = True
    causes: bool = False
    evaluation: Evaluation = field(default_factory=lambda: Evaluation({}))
    differences: dict[tuple[str, str], ResultDifference] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def differ(self, name: str, stated: object, found: object, measure: str = "", *, measured: bool = False) -> None:
        """Note a difference; differences of inputs or versions are noted once for all measures.

        After a cause is known, only values of ``measured`` fields are noted: thresholds and rates follow from it.
        """
        if measured and self.causes and name != "value":
            return
        measure = "" if name in _OF_ALL or len(self.result.measures) == 1 else measure
        self.causes |= not measured
        self.differences.setdefault((measure, name), ResultDifference(name, _text(stated), _text(found), measure))

    def compare(self) -> None:
        """Measure again and compare all that the result states."""
        self._compare_versions()
        for one in self.result.measurements:
            self._contradictions(one)
        if any(one.fields.version != RULES_VERSION for one in self.result.measurements):
            return  # other rules, and other hashes
        try:
            options = self.result.options(higher_of(self.corpus), self.regions, self.asv_scores, self._resampling())
            self.evaluation = measured_again(self.result, self.corpus, options)
        except SpoofspanError as error:
            self._compare_inputs()
            if not self.differences:
                if isinstance(error, UsageError):
                    raise
                self.differ("measurement", "a value", f"none: {reason_of(error)}")
            else:
                self.notes.append(f"it could not be measured again: {reason_of(error)}")
            return
        for stated in self.result.measurements:
            found = self.evaluation.measurements.get(stated.measure)
            if found is not None:
                self._compare_measurement(stated, found)
        self._compare_groups(options)

    def _compare_versions(self) -> None:
        stated = self.result.spoofspan
        if stated is not None and _release(stated) != _release(__version__):
            self.differ("version of spoofspan", stated, __version__)
        if self.result.rules_version not in (None, RULES_VERSION):
            self.differ("version of the rules", self.result.rules_version, RULES_VERSION)
        for one in self.result.measurements:
            if one.fields.version != RULES_VERSION:
                self.differ("version of the rules", one.fields.version, RULES_VERSION)

    def _contradictions(self, one: StatedMeasurement) -> None:
        """Note fields of a file that contradict its own signature."""
        if not one.plain:
            return
        for name, value in one.fields.rules.items():
            other = one.rules.get(name, value)
            automatic = name == "slack" and value == "auto"  # which equals the given one
            if name in RULES and name != "regions" and value != other and not automatic:
                self.differ(f"rule {name}", f"{value} in the signature", f"{other} in the rules", one.measure)
        hashes = one.plain.get("hashes")
        for name, value in one.fields.all_hashes.items():
            other = hashes.get(name, NOTHING) if isinstance(hashes, Mapping) else NOTHING
            if other != value:
                self.differ(_input_name(name), f"{value} in the signature", f"{other} in the hashes", one.measure)
        if one.fields.measure != one.measure:
            self.differ("measure", f"{one.fields.measure} in the signature", one.measure)

    def _compare_measurement(self, stated: StatedMeasurement, found: Measurement) -> None:
        fields = found.signature.fields
        if stated.fields.short:
            fields = fields.under(str(stated.fields.convention))
        for name, (one, two) in stated.fields.differences(fields).items():
            self.differ(name, one, two, stated.measure)
        if not stated.plain:
            return
        plain = found.to_dict()
        for name, value in plain["rules"].items():
            if stated.rules.get(name, NOTHING) != value:
                self.differ(f"rule {name}", stated.rules.get(name, NOTHING), value, stated.measure)
        self._compare_short(stated, found.signature)
        apart = list(self._apart(stated.plain, plain))
        if not apart and _CONFUSION in stated.plain:
            apart = list(_apart(stated.plain[_CONFUSION], plain[_CONFUSION], (), _CONFUSION))
        for name, one, two in apart:
            self.differ(name, one, two, stated.measure, measured=True)

    def _compare_short(self, stated: StatedMeasurement, signature: Signature) -> None:
        text = str(stated.plain["short_signature"])
        if text == signature.short:
            return
        try:
            fields = parse_signature(text)
        except UsageError:
            self.differ("short signature", text, signature.short, stated.measure)
            return
        if _release(fields.spoofspan or "") != _release(self.result.spoofspan or __version__):
            self.differ("version of spoofspan", fields.spoofspan, __version__)
        for name, (one, two) in fields.differences(signature.fields.under(signature.convention)).items():
            self.differ(name, one, two, stated.measure)

    def _apart(self, stated: Any, found: Any) -> Iterator[tuple[str, Any, Any]]:
        """The differences of plain data, without intervals that were not repeated."""
        skipped = _NOT_COMPARED if self.with_intervals else (*_NOT_COMPARED, *_OF_INTERVALS)
        for name, one, two in _apart(stated, found, skipped):
            mirrored = name.endswith("threshold") and self._is_mirrored() and _is_number(one)
            if not (mirrored and _same(-float(one), two)):
                yield name, one, two

    def _is_mirrored(self) -> bool:
        """True if high scores mean the other class than in the result: the same scores, with thresholds mirrored."""
        decisions = [str(one.plain.get("decision", "")) for one in self.result.measurements]
        stated = {"spoof" if "score >" in text else "bonafide" for text in decisions if "score" in text}
        return bool(stated) and higher_of(self.corpus) not in (None, *stated)

    def _resampling(self) -> Resampling | None:
        """The resampling of the intervals in the file; None if there are none, or if they cannot be repeated."""
        stated = next((one.plain["interval"] for one in self.result.measurements if one.plain.get("interval")), None)
        if not isinstance(stated, Mapping):
            return None
        from spoofspan.uncertainty.clusters import Resampling

        level, seed, replicates = (stated.get(name) for name in ("level", "seed", "replicates"))
        whole = all(
            type(one) is int and 0 <= one <= most for one, most in ((seed, 2**63), (replicates, MOST_REPLICATES))
        )
        if not whole or not isinstance(level, float):
            raise DataError(f"{self.result.name}: an interval has no level, seed or number of replicates")
        told = {
            "method": str(stated.get("method")),
            "confidence": level,
            "seed": seed,
            "replicates": replicates or 2000,
        }
        by = str(stated.get("drawn_by"))
        if by != "utterance":
            columns = {name: self._column(name, "intervals") for name in by.split(" x ")}
            if None in columns.values():
                self.with_intervals = False
                return None
            told["clusters"] = columns
        return Resampling(**cast("Any", told))

    def _column(self, name: str, what: str) -> Mapping[str, str] | None:
        if name == "share" and what == "groups":
            return self.corpus.shares()
        with suppress(KeyError, UsageError):
            return self.read_column(name)
        if name == "kind":
            self.notes.append(f"{what} by kind were not repeated; --by attack has replaced them")
            return None
        self.notes.append(f"{what} by {name} were not repeated; give columns={{{name!r}: ...}} (--metadata FILE)")
        return None

    def _compare_groups(self, options: EvaluationOptions) -> None:
        """Repeat the breakdowns of a file."""
        from spoofspan.evaluation.events import GROUPS

        for kind in ("breakdowns", "crossed"):
            for one in _entries(self.result.plain, kind):
                names, measure = [one["by"]] if kind == "breakdowns" else one["by"], one["measure"]
                known = len(names) == 1 and self.corpus.knows_groups(names[0])
                of_events = known and measure.startswith(EVENT) and names[0] in GROUPS
                way: WayOfGroups = "time" if kind == "breakdowns" else "events" if of_events else "cells"
                needed = [] if known and way != "cells" else names
                columns = {name: column for name in needed if (column := self._column(name, "groups")) is not None}
                if len(columns) == len(needed):
                    read = columns.__getitem__
                    groups = partial(self.corpus.groups, ",".join(names), measure, options, read, way=way)
                    self._compare_group(one, groups)

    def _compare_group(self, stated: Mapping[str, Any], repeat: Callable[[], Breakdown | CrossedBreakdown]) -> None:
        by = stated["by"]
        where, measure = f"groups by {by if isinstance(by, str) else ' x '.join(by)}", str(stated["measure"])
        try:
            found = repeat().to_dict()
        except SpoofspanError as error:
            self.differ(where, "values", f"none: {reason_of(error)}", measure)
            return
        for name, one, two in self._apart(stated, found):
            self.differ(f"{where}, {name}", one, two, measure, measured=True)

    def _compare_inputs(self) -> None:
        """Compare the hashes of the inputs, if nothing could be measured."""
        given = self.corpus.input_hashes()
        for one in self.result.measurements:
            for name, stated in one.fields.all_hashes.items():
                found = given.get(name)
                if found is not None and not found.startswith(stated):
                    self.differ(_input_name(name), stated, found)

    def compare_value(self, value: str | float) -> None:
        """Compare the value of the only measurement with a published one, to the decimals of the latter."""
        if len(self.evaluation) != 1:
            if self.differences:
                return
            raise UsageError(
                "value= (--value) goes with the signature of one measurement; a result file has its values"
            )
        (found,) = self.evaluation.measurements.values()
        text = str(value).strip().replace(" ", "")
        percent = text.endswith("%")
        if percent and not in_percent(found.measure):
            raise UsageError(f"value={text!r}: {found.measure} is no share; give it without %")
        try:
            stated = Decimal(text.removesuffix("%"))
            half = Decimal(1).scaleb(cast("int", stated.as_tuple().exponent)) / 2
        except (InvalidOperation, TypeError):
            raise UsageError(f"value={text!r}: must be a number, such as 5.21% or 0.0521") from None
        if not stated.is_finite() or not abs(Decimal(found.value * (100 if percent else 1)) - stated) <= half * Decimal(
            "1.000001"
        ):
            self.differ("value", text, found.value_text if percent else found.value, found.measure)

    def explain(self) -> None:
        """Note the rule that would reproduce the first wrong value, if no rule or input is known to differ."""
        if any(name in _OF_ALL or name.startswith("rule ") for _, name in self.differences):
            return
        wrong = {measure for measure, name in self.differences if name == "value"}
        several = len(self.result.measures) > 1
        stated = next((one for one in self.result.measurements if (one.measure if several else "") in wrong), None)
        value = None if stated is None else stated.plain.get("value")
        if stated is None or not isinstance(value, float | int) or BISECTION.fullmatch(stated.measure):
            return
        options = self.result.options(higher_of(self.corpus), self.regions, self.asv_scores)
        for what, changed in _single_changes(options, kind_of(stated.measure)):
            with suppress(SpoofspanError):
                other = self.corpus.evaluate([stated.measure], changed)[stated.measure]
                if math.isclose(other.value, value, **_CLOSE):
                    self.notes.append(f"the stated value of {stated.measure} is that under {what}")
                    return


# Differences that concern every measure of a result.
_OF_ALL = ("references", "scores", "utterances", "number of utterances", "version of spoofspan", "version of the rules")


def measured_again(result: StatedResult, corpus: Corpus, options: EvaluationOptions) -> Evaluation:
    """Measure the measures of a result under given options."""
    first = BISECTION.fullmatch(result.measures[0])
    if first is not None:
        from spoofspan.evaluation.evaluate import bisection_eer

        if not isinstance(corpus, CorpusInMemory):
            raise UsageError("Algorithm 1 (bisection) needs the corpus in memory; leave --stream and --jobs out")
        found = bisection_eer(
            corpus.references,
            corpus.scores,
            precision=float(first["precision"]),
            quantiles=cast("Any", first["quantiles"]),
            convention=options.convention,
            **cast("Any", dict(options.rules)),
        )
        return Evaluation({found.measure: found})
    evaluation = corpus.evaluate(result.measures, options)
    if result.is_file:
        return evaluation
    # the rule that selects utterances is only visible in their hash
    stated = result.measurements[0].fields
    for rule in RULES["utterances"].values:
        if _same_utterances(stated.hashes.get("utterances"), stated.count, evaluation):
            break
        changed = replace(options, rules={**options.rules, "utterances": rule})
        evaluation = corpus.evaluate(result.measures, changed)
    return evaluation


def _same_utterances(used: str | None, count: int | None, evaluation: Evaluation) -> bool:
    fields = next(iter(evaluation.measurements.values())).signature.fields
    return used in (None, fields.hashes["utterances"]) and count in (None, fields.count)


_SECONDS = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.025, 0.04, 0.05, 0.1, 0.2, 0.25, 0.5)  # common values


def _single_changes(options: EvaluationOptions, kind: str) -> Iterator[tuple[str, EvaluationOptions]]:
    """The options with one rule or the convention changed, each with a description."""
    for name in EER_RULES:
        if name != "bucketed":
            yield f"the EER rule {name}", replace(options, eer_rule=name)
    for rule in RULES.values():
        if kind in rule.of:
            for value in rule.values or (_SECONDS if rule.kind == "seconds" else ()):
                yield f"{rule.name}={value}", replace(options, rules={**options.rules, rule.name: value})
    for name in CONVENTIONS:
        yield f"the convention {name}", replace(options, convention=name)


def _apart(stated: Any, found: Any, skipped: Sequence[str], where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The differences of plain data without ``skipped`` names; numbers are compared to nine digits."""
    if isinstance(found, Mapping):
        stated = stated if isinstance(stated, Mapping) else {}
        for name, value in found.items():
            if name not in skipped:
                yield from _apart(stated.get(name, NOTHING), value, skipped, f"{where}, {name}" if where else name)
    elif isinstance(found, list | tuple):
        others = stated if isinstance(stated, list | tuple) else []
        if len(others) != len(found):
            yield where, f"{len(others)} entries", f"{len(found)} entries"
            return
        for place, (one, two) in enumerate(zip(others, found, strict=True)):
            name = two.get("name", place) if isinstance(two, Mapping) else place
            yield from _apart(one, two, skipped, f"{where}, {name}")
    elif not _same(stated, found):
        yield where, stated, found


def _same(stated: Any, found: Any) -> bool:
    if isinstance(found, bool) or found is None or (isinstance(found, str) and not _is_number(stated)):
        return bool(stated == found)
    if not _is_number(stated) or not _is_number(found):
        return str(stated) == str(found)
    one, two = float(stated), float(found)
    return (math.isnan(one) and math.isnan(two)) or math.isclose(one, two, **_CLOSE)


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and (isinstance(value, int | float) or value in ("inf", "-inf", "nan"))


def _entries(plain: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The breakdowns of a file; entries of another shape are refused."""
    found = plain.get(name, [])

    def is_breakdown(one: Any) -> bool:
        if not isinstance(one, Mapping):
            return False
        by = one.get("by")
        names = [by] if name == "breakdowns" else by if isinstance(by, list) else []
        return bool(names) and all(isinstance(text, str) and text for text in (*names, one.get("measure")))

    if not isinstance(found, list) or not all(map(is_breakdown, found)):
        raise DataError(
            f"{name!r} is not a list of breakdowns; write the result again: spoofspan eval ... --format json"
        )
    return found


def _text(value: object) -> str:
    return str(value) if isinstance(value, str) else repr(value)


def _release(version: str) -> tuple[str, ...]:
    """The part of a version that may change numbers."""
    return tuple(version.split(".")[:2])


def _input_name(name: str) -> str:
    return name if name in ("references", "utterances") else "scores"


def higher_of(corpus: Corpus) -> Higher | None:
    """Meaning of high scores; None for proposals."""
    with suppress(UsageError):
        return corpus.higher
    return None
