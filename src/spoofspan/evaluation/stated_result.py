"""Stated results: the JSON of an evaluation or a signature, read back, with the options to measure it again.

A file states every rule of every measurement. A full signature states the rules that the value depends on, a short one
the convention and the rules that differ from it; rules that are not stated changed nothing on the signed data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from spoofspan.base.errors import DataError, SpoofspanWarning, UsageError, warn_user
from spoofspan.data.rules import CONVENTIONS, RULES
from spoofspan.data.scores import Higher
from spoofspan.evaluation.corpus import Evaluation
from spoofspan.evaluation.measurement import Measurement
from spoofspan.evaluation.plan import EvaluationOptions, verification_of
from spoofspan.evaluation.signature import Signature
from spoofspan.evaluation.signature_text import (
    SignatureFields,
    is_signature,
    nearest_rules,
    parse_signature,
    rule_value,
)
from spoofspan.mass.score_runs import mirrored
from spoofspan.measures.measure import Measure

if TYPE_CHECKING:
    from spoofspan.data.rules import Regions
    from spoofspan.data.utterance_scores import VerificationScores
    from spoofspan.measures.costs import VerificationErrors
    from spoofspan.uncertainty.clusters import Resampling

Source = str | Path | Mapping[str, Any] | Evaluation | Measurement | Signature
_WRITE_ONE = "write one with: spoofspan eval ... --format json --out result.json"


@dataclass(frozen=True)
class StatedMeasurement:
    """One measurement of a result: the fields of its signature, and its part of the file, if any.

    Parameters
    ----------
    fields
        The fields of its signature.
    rules
        All rules with their values as text; of a signature, the stated rules.
    plain
        The measurement in the file; empty for a signature.
    """

    fields: SignatureFields
    rules: Mapping[str, str]
    plain: Mapping[str, Any] = field(default_factory=dict)

    @property
    def measure(self) -> str:
        """The measure, as named in the file."""
        return str(self.plain.get("measure", self.fields.measure))

    @property
    def value(self) -> float:
        """The value; NaN if it is not stated."""
        return self._number("value")

    @property
    def threshold(self) -> float:
        """The threshold of the value; NaN if it is not stated."""
        return self._number("threshold")

    def _number(self, name: str) -> float:
        stated = self.plain.get(name)
        return float(stated) if isinstance(stated, int | float) or stated in ("inf", "-inf") else math.nan

    @property
    def convention(self) -> str:
        """The convention of the measurement."""
        return str(self.plain.get("convention", self.fields.convention or "default"))

    @property
    def deviations(self) -> dict[str, str]:
        """The rules that differ from the convention, as text."""
        if self.fields.short:
            stated = self.rules
        else:
            stated, _ = nearest_rules(self.measure, self.rules, self.convention)
        return {name: value for name, value in stated.items() if name in RULES}

    @property
    def eer_rule(self) -> str | None:
        """The EER rule, if it differs from that of the convention."""
        rule = self.fields.settings.get("eer")
        return None if rule == nearest_rules(self.measure, {}, self.convention)[1] else rule


@dataclass(frozen=True)
class StatedResult:
    """The content of a result file or a signature.

    Parameters
    ----------
    name
        The file or another source, for messages.
    measurements
        Its measurements, in order.
    spoofspan, rules_version
        The versions it was made with; None if not stated.
    plain
        The whole content of the file; empty for a signature.
    """

    name: str
    measurements: tuple[StatedMeasurement, ...]
    spoofspan: str | None = None
    rules_version: int | None = None
    plain: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, source: Source | StatedResult) -> StatedResult:
        """Read a result file or its content, a signature in any printed form, or a result of Python."""
        if isinstance(source, StatedResult):
            return source
        if isinstance(source, Evaluation):
            return cls._of_plain(source.to_dict(), "the evaluation")
        if isinstance(source, Measurement):
            return cls._of_plain(Evaluation({source.measure: source}).to_dict(), "the measurement")
        if isinstance(source, Mapping):
            return cls._of_plain(source, "the result")
        if isinstance(source, Signature) or (isinstance(source, str) and is_signature(source)):
            return cls._of_signature(str(source))
        path = Path(source).expanduser()
        or_else = ", and it is no signature" if isinstance(source, str) else ""
        return cls._of_plain(_read_file(path, or_else), str(path))

    @classmethod
    def _of_signature(cls, text: str) -> StatedResult:
        fields = parse_signature(text)
        if not fields.hashes:
            raise UsageError("this is the second part of a signature, which states no rules; give all of it")
        if fields.omitted:
            raise UsageError(
                "this short signature leaves out fields for want of room; give the result file, or the signature in "
                "full (--signature)"
            )
        if len(fields.systems) > 1:
            raise UsageError("this signature is of several systems; give the part before || and the line of one system")
        return cls("the signature", (StatedMeasurement(fields, fields.rules),), fields.spoofspan)

    @classmethod
    def _of_plain(cls, plain: Any, name: str) -> StatedResult:
        stated = plain.get("measurements") if isinstance(plain, Mapping) else None
        if stated is None and isinstance(plain, Mapping) and "spoofspan" in plain:
            stated = list(_measurements_in(plain))
            if not stated:
                raise DataError(
                    f"{name}: a result without measurements; give one of its signatures instead of the file"
                )
        if not isinstance(stated, list) or not stated or not all(isinstance(one, Mapping) for one in stated):
            raise DataError(f"{name}: not the JSON of an evaluation; {_WRITE_ONE}")
        version = plain.get("spoofspan")
        measurements = tuple(_stated(one, name, version) for one in stated)
        number = plain.get("rules_version")
        return cls(
            name,
            measurements,
            None if version is None else str(version),
            number if isinstance(number, int) else None,
            plain,
        )

    def of_system(self, hashes: Mapping[str, str]) -> StatedResult:
        """Of a table of several systems, the measurements of the one with these hashes, or else of the first."""
        found: dict[str, list[StatedMeasurement]] = {}
        for one in self.measurements:
            known = next((kind for kind in one.fields.all_hashes if kind in hashes and kind != "references"), None)
            own = known is not None and one.fields.all_hashes[known] == hashes[known]
            found.setdefault("" if own else one.fields.system_hash, []).append(one)
        if len(found) < 2:
            return self
        if not hashes:
            raise UsageError(f"{self.name} has several systems, which takes the corpus in memory; leave --stream out")
        chosen = tuple(found.get("", next(iter(found.values()))))
        if len({one.convention for one in chosen}) > 1:
            raise UsageError(f"{self.name} has several conventions; give one of its signatures instead of the file")
        return replace(self, measurements=chosen)

    @property
    def measures(self) -> list[str]:
        """The measures, in order."""
        return list(dict.fromkeys(one.measure for one in self.measurements))

    @property
    def is_file(self) -> bool:
        """True for a file, which states values; a signature only states settings."""
        return bool(self.plain)

    @property
    def convention(self) -> str:
        """The convention of all measurements."""
        return self.measurements[0].convention

    @property
    def rules(self) -> dict[str, Any]:
        """The rules that differ from the convention, as arguments; regions as text."""
        found: dict[str, Any] = {}
        for one in self.measurements:
            for name, text in one.deviations.items():
                found.setdefault(name, text if name == "regions" else rule_value(name, text))
        return found

    def setting(self, name: str) -> str | None:
        """A setting, of the first measurement that has it."""
        return next((one.fields.settings[name] for one in self.measurements if name in one.fields.settings), None)

    def options(
        self,
        higher: Higher | None,
        regions: Regions | None = None,
        asv_scores: VerificationScores | VerificationErrors | None = None,
        resampling: Resampling | None = None,
    ) -> EvaluationOptions:
        """The options for measuring again; a given threshold depends on the polarity ``higher``."""
        rules = dict(self.rules)
        if "regions" in rules:
            if regions is None:
                raise UsageError(f"{self.name} was measured in regions; give them with regions= (--regions FILE)")
            rules["regions"] = regions
        elif regions is not None:
            raise UsageError(f"{self.name} was measured without regions; leave regions= (--regions) out")
        if not self.is_file and "proposals" not in self.measurements[0].fields.system:
            # the hash of the utterances identifies the measured ones
            rules.setdefault("partial", True)
        rates = self.setting("asv-rates")
        if self.setting("asv-scores") is not None and asv_scores is None:
            raise UsageError(
                f"{self.name} has measures of a speaker verification system; give its scores with asv_scores= "
                "(--asv-scores FILE)"
            )
        asv = asv_scores or verification_of(None, [float(one) for one in rates.split(",")] if rates else None)
        return EvaluationOptions(
            self.convention,
            self.eer_rule,
            self.threshold(higher),
            cast("Any", self.scores_are),
            asv,
            resampling,
            **self.proposing,
            rules=rules,
        )

    @property
    def eer_rule(self) -> str | None:
        """The EER rule, if it differs from that of the convention."""
        return next((one.eer_rule for one in self.measurements if one.eer_rule is not None), None)

    @property
    def proposing(self) -> dict[str, Any]:
        """Options for making proposals from scores that differ from the defaults."""
        smoothing = self.setting("smoothing")
        found: dict[str, Any] = {} if smoothing in (None, "1") else {"smoothing": int(str(smoothing))}
        for name in ("min_duration", "merge_gap"):
            if (text := self.setting(name)) not in (None, "0ns"):
                found[name] = rule_value("collar", str(text))
        return found

    @property
    def scores_are(self) -> str | None:
        """``llr`` or ``probability``, if measures interpret the scores."""
        found = self.setting("scores-are")
        return None if found == "None" else found

    def threshold(self, higher: Higher | None) -> float | None:
        """The given threshold, on the scale of the scores."""
        for one in self.measurements:
            text = one.fields.system.get("threshold") if "threshold" in one.fields.settings else None
            if text is not None:
                return float(mirrored(float(text), higher or "bonafide"))
            if "threshold" in one.fields.settings:
                raise UsageError(f"{self.name} does not state the threshold that was given; give both of its parts")
        return None


@dataclass(frozen=True)
class LearnedThreshold:
    """A threshold from a file, with the hashes of its development data if they are stated."""

    value: float
    hashes: Mapping[str, str] = field(default_factory=dict)
    source: str = ""  # name of the file

    def warn_if_learned_here(self, signature: Signature) -> None:
        """Warn if it was learned on the references and utterances of a measurement."""
        if "references" in self.hashes and all(one in signature.comparable for one in self.hashes.values()):
            warn_user(
                f"the threshold in {self.source} was learned on this very test set, so what is measured with it is too "
                "good; learn it on others",
                SpoofspanWarning,
            )


def read_threshold(path: Path, measures: Sequence[str], *, given: bool = False) -> LearnedThreshold:
    """Read the threshold of the EER with the basis of the measures from the JSON of an evaluation.

    ``given``: utterance scores are given; their thresholds differ from those of the lowest scores.
    """
    bases = {str(Measure.parse(one).eer) for one in measures}
    if len(bases) > 1:
        raise UsageError(
            f"--threshold-from: {' and '.join(sorted(bases))} have thresholds of their own; measure them apart"
        )
    wanted = bases.pop() if bases else "range-eer"
    plain = _read_file(path, "")
    if isinstance(plain, Mapping) and "spoofspan_miss_bound" in plain:
        from spoofspan.data.miss_bound import MissBound

        bound = MissBound.from_dict(plain, str(path))
        if wanted != {"time": "range-eer", "utterances": "utterance-eer"}[bound.unit]:
            raise DataError(f"{path}: a threshold of scores of {bound.unit} is none of {wanted}; learn one of these")
        stated = re.findall(r"(references|utterances):([^|]+)", bound.learned_on.get("comparable", ""))
        return LearnedThreshold(bound.threshold, dict(stated), str(path))
    result = StatedResult.read(path)
    found = next((one for one in result.measurements if one.measure == wanted), None)
    if found is None:
        raise DataError(f"{path}: it has no {wanted} (only {', '.join(result.measures)}); evaluate it there as well")
    of_given = "utterance-scores" in found.fields.rules
    if wanted == "utterance-eer" and given != of_given:
        there, here = ("given utterance scores", "lowest scores")[:: 1 if of_given else -1]
        raise DataError(f"{path}: its {wanted} is of {there}, and here it would be of {here}; evaluate both alike")
    if math.isnan(found.threshold):
        raise DataError(f"{path}: its {wanted} has no threshold; evaluate it on data that have one")
    return LearnedThreshold(found.threshold, found.fields.hashes, str(path))


def _read_file(path: Path, or_else: str) -> Any:
    from spoofspan.base.documents import read_json

    try:
        return read_json(path)
    except FileNotFoundError:
        raise UsageError(f"there is no file {str(path)!r}{or_else}; {_WRITE_ONE}") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise DataError(f"{path}: not the JSON of an evaluation ({error}); {_WRITE_ONE}") from None


def _measurements_in(plain: Any) -> Iterator[Mapping[str, Any]]:
    """The measurements of systems in the JSON of another command, such as table."""
    if isinstance(plain, Mapping):
        if "short_signature" in plain and not str(plain.get("measure")).startswith("floor@"):
            yield plain
            return
        plain = list(plain.values())
    if isinstance(plain, list):
        for one in plain:
            yield from _measurements_in(one)


def _stated(plain: Mapping[str, Any], name: str, version: object) -> StatedMeasurement:
    """Read one measurement of a file, and check the types of its parts."""
    if "signature" in plain and ("rules" not in plain or "short_signature" not in plain):
        raise DataError(
            f"{name}: an old result (spoofspan {version}) that does not state its rules; measure again, or give one of "
            "its signatures instead of the file"
        )
    signature, rules, convention = (plain.get(one) for one in ("signature", "rules", "convention"))
    parts = [signature.get("comparable"), signature.get("input")] if isinstance(signature, Mapping) else []
    texts = isinstance(rules, Mapping) and all(isinstance(one, str) for pair in rules.items() for one in pair)
    if (
        not texts
        or not isinstance(plain.get("measure"), str)
        or not all(isinstance(one, str) for one in (*parts, convention))
    ):
        raise DataError(f"{name}: a measurement has no measure, rules, convention or signature; {_WRITE_ONE}")
    try:
        fields = parse_signature(" || ".join(map(str, parts)))
        for rule, value in cast("Mapping[str, str]", rules).items():
            rule_value(rule, value)
        if convention not in CONVENTIONS:
            raise UsageError(f"there is no convention {convention!r}")
        stated = StatedMeasurement(fields, cast("Mapping[str, str]", rules), plain)
        stated.deviations  # noqa: B018  (raises if there is no such measure)
    except UsageError as error:
        raise DataError(f"{name}: {plain['measure']}: {error}") from None
    return stated
