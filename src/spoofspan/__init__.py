"""spoofspan says when the spoofs happen, and how well you found them.

Exact range-based and point-based equal error rates for spoof localization.
"""

from spoofspan.breakdown import UtteranceErrors, errors_by_utterance
from spoofspan.curve import ErrorCurve
from spoofspan.eer import EqualErrorRate, equal_error_rate
from spoofspan.errors import (
    DataError,
    SpoofspanError,
    SpoofspanWarning,
    UndefinedMeasureError,
    UsageError,
)
from spoofspan.evaluate import (
    Evaluation,
    best_possible,
    bisection_eer,
    default_measures,
    error_curve,
    evaluate,
    overlay,
    point_eer,
    point_mass,
    range_eer,
    utterance_eer,
)
from spoofspan.formats.reading import read_references, read_scores
from spoofspan.mass import ScoreMass
from spoofspan.measures import BisectionMeasurement, Measure, Measurement
from spoofspan.operating_point import OperatingPoint
from spoofspan.references import References
from spoofspan.rules import CONVENTIONS, Rules
from spoofspan.scores import Scores
from spoofspan.signature import Signature
from spoofspan.table import ResolutionTable, resolution_table

__version__ = "0.1.0"

__all__ = [
    "CONVENTIONS",
    "BisectionMeasurement",
    "DataError",
    "EqualErrorRate",
    "ErrorCurve",
    "Evaluation",
    "Measure",
    "Measurement",
    "OperatingPoint",
    "References",
    "ResolutionTable",
    "Rules",
    "ScoreMass",
    "Scores",
    "Signature",
    "SpoofspanError",
    "SpoofspanWarning",
    "UndefinedMeasureError",
    "UsageError",
    "UtteranceErrors",
    "__version__",
    "best_possible",
    "bisection_eer",
    "default_measures",
    "equal_error_rate",
    "error_curve",
    "errors_by_utterance",
    "evaluate",
    "overlay",
    "point_eer",
    "point_mass",
    "range_eer",
    "read_references",
    "read_scores",
    "resolution_table",
    "utterance_eer",
]
