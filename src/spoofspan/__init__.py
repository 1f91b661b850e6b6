"""spoofspan measures how well a system locates the spoofed parts of a recording.

Exact range-based and point-based equal error rates for spoof localization.
"""

from typing import TYPE_CHECKING

from spoofspan.base.lazy import lazy_names

if TYPE_CHECKING:
    from spoofspan.base.errors import DataError, SpoofspanError, SpoofspanWarning, UndefinedMeasureError, UsageError
    from spoofspan.base.version import __version__
    from spoofspan.cm.locate import locate
    from spoofspan.cm.located import Location
    from spoofspan.corpus import controls
    from spoofspan.data.bare_ids import with_bare_ids
    from spoofspan.data.calibration import Calibration
    from spoofspan.data.proposals import Proposals
    from spoofspan.data.references import References
    from spoofspan.data.rules import CONVENTIONS, Rules
    from spoofspan.data.scores import Scores
    from spoofspan.data.utterance_scores import UtteranceScores
    from spoofspan.evaluation.calibration import calibrate, fuse
    from spoofspan.evaluation.corpus import Evaluation, default_measures
    from spoofspan.evaluation.domains import DomainTable, measure_domains
    from spoofspan.evaluation.evaluate import (
        best_possible,
        bisection_eer,
        eer,
        error_curve,
        evaluate,
        evaluate_utterances,
        overlay,
        point_eer,
        point_mass,
        range_eer,
        utterance_eer,
    )
    from spoofspan.evaluation.measurement import BisectionMeasurement, EventMeasurement, Measurement
    from spoofspan.evaluation.resolution_table import ResolutionTable, resolution_table
    from spoofspan.evaluation.result_diff import ResultDiff, diff_results
    from spoofspan.evaluation.signature import Signature
    from spoofspan.evaluation.verification import Verification, verify
    from spoofspan.formats.calibrations import read_calibration, write_calibration
    from spoofspan.formats.convert import write_references, write_scores
    from spoofspan.formats.datasets.partialspoof_dataset import Dataset, read_dataset
    from spoofspan.formats.datasets.systems import SystemFile, find_systems, read_systems
    from spoofspan.formats.reading import read_proposals, read_references, read_scores, read_utterance_scores
    from spoofspan.formats.text.durations import read_durations
    from spoofspan.formats.text.protocol import read_metadata, read_protocol, read_utterance_labels
    from spoofspan.formats.text.rttm import read_regions
    from spoofspan.formats.text.utterance_scores import read_verification_scores
    from spoofspan.mass.score_mass import ScoreMass
    from spoofspan.measures.curve import ErrorCurve
    from spoofspan.measures.eer import EqualErrorRate, equal_error_rate
    from spoofspan.measures.eer_state import EerBracket, EerState
    from spoofspan.measures.events.proposals_from_scores import called_ranges, proposals_from_scores
    from spoofspan.measures.measure import Measure
    from spoofspan.measures.operating_point import OperatingPoint
    from spoofspan.measures.per_utterance import UtteranceErrors, errors_by_utterance
    from spoofspan.report.figures import plots as plot
    from spoofspan.report.page.report_page import write_report
    from spoofspan.report.published import Published, published
    from spoofspan.scale.sharding import sharded
    from spoofspan.scale.shards import evaluate_shards
    from spoofspan.uncertainty import (
        Comparison,
        Interval,
        Resampling,
        SeedVariation,
        compare,
        interval,
        seed_variation,
    )
    from spoofspan.uncertainty.sample_size import SampleSize, sample_size

# Where each public name lives. A name is loaded when it is first used, so that `import spoofspan` costs nothing.
_HOMES = {
    "base.errors": "DataError SpoofspanError SpoofspanWarning UndefinedMeasureError UsageError",
    "base.version": "__version__",
    "data.calibration": "Calibration",
    "cm.locate": "locate",
    "cm.located": "Location",
    "corpus": "controls",
    "data.proposals": "Proposals",
    "data.references": "References",
    "data.bare_ids": "with_bare_ids",
    "data.rules": "CONVENTIONS Rules",
    "data.scores": "Scores",
    "data.utterance_scores": "UtteranceScores",
    "evaluation.calibration": "calibrate fuse",
    "evaluation.corpus": "Evaluation default_measures",
    "evaluation.domains": "DomainTable measure_domains",
    "evaluation.evaluate": (
        "best_possible bisection_eer eer error_curve evaluate evaluate_utterances overlay point_eer point_mass "
        "range_eer utterance_eer"
    ),
    "evaluation.measurement": "BisectionMeasurement EventMeasurement Measurement",
    "evaluation.resolution_table": "ResolutionTable resolution_table",
    "evaluation.result_diff": "ResultDiff diff_results",
    "evaluation.signature": "Signature",
    "evaluation.verification": "Verification verify",
    "formats.calibrations": "read_calibration write_calibration",
    "formats.convert": "write_references write_scores",
    "formats.datasets.partialspoof_dataset": "Dataset read_dataset",
    "formats.datasets.systems": "SystemFile find_systems read_systems",
    "formats.reading": "read_proposals read_references read_scores read_utterance_scores",
    "formats.text.durations": "read_durations",
    "formats.text.protocol": "read_metadata read_protocol read_utterance_labels",
    "formats.text.rttm": "read_regions",
    "formats.text.utterance_scores": "read_verification_scores",
    "mass.score_mass": "ScoreMass",
    "measures.curve": "ErrorCurve",
    "measures.eer": "EqualErrorRate equal_error_rate",
    "measures.eer_state": "EerBracket EerState",
    "measures.events.proposals_from_scores": "called_ranges proposals_from_scores",
    "measures.measure": "Measure",
    "measures.operating_point": "OperatingPoint",
    "measures.per_utterance": "UtteranceErrors errors_by_utterance",
    "report.figures": "plots:plot",
    "report.page.report_page": "write_report",
    "report.published": "Published published",
    "scale.sharding": "sharded",
    "scale.shards": "evaluate_shards",
    "uncertainty": "Comparison Interval Resampling SeedVariation compare interval seed_variation",
    "uncertainty.sample_size": "SampleSize sample_size",
}

__all__ = [
    "CONVENTIONS",
    "BisectionMeasurement",
    "Calibration",
    "Comparison",
    "DataError",
    "Dataset",
    "DomainTable",
    "EerBracket",
    "EerState",
    "EqualErrorRate",
    "ErrorCurve",
    "Evaluation",
    "EventMeasurement",
    "Interval",
    "Location",
    "Measure",
    "Measurement",
    "OperatingPoint",
    "Proposals",
    "Published",
    "References",
    "Resampling",
    "ResolutionTable",
    "ResultDiff",
    "Rules",
    "SampleSize",
    "ScoreMass",
    "Scores",
    "SeedVariation",
    "Signature",
    "SpoofspanError",
    "SpoofspanWarning",
    "SystemFile",
    "UndefinedMeasureError",
    "UsageError",
    "UtteranceErrors",
    "UtteranceScores",
    "Verification",
    "__version__",
    "best_possible",
    "bisection_eer",
    "calibrate",
    "called_ranges",
    "compare",
    "controls",
    "default_measures",
    "diff_results",
    "eer",
    "equal_error_rate",
    "error_curve",
    "errors_by_utterance",
    "evaluate",
    "evaluate_shards",
    "evaluate_utterances",
    "find_systems",
    "fuse",
    "interval",
    "locate",
    "measure_domains",
    "overlay",
    "plot",
    "point_eer",
    "point_mass",
    "proposals_from_scores",
    "published",
    "range_eer",
    "read_calibration",
    "read_dataset",
    "read_durations",
    "read_metadata",
    "read_proposals",
    "read_protocol",
    "read_references",
    "read_regions",
    "read_scores",
    "read_systems",
    "read_utterance_labels",
    "read_utterance_scores",
    "read_verification_scores",
    "resolution_table",
    "sample_size",
    "seed_variation",
    "sharded",
    "utterance_eer",
    "verify",
    "with_bare_ids",
    "write_calibration",
    "write_references",
    "write_report",
    "write_scores",
]

__getattr__, __dir__ = lazy_names("spoofspan", _HOMES)
