"""spoofspan says when the spoofs happen, and how well you found them.

Exact range-based and point-based equal error rates for spoof localization.
"""

from typing import TYPE_CHECKING, Any

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
from spoofspan.mass import ScoreMass
from spoofspan.measures import BisectionMeasurement, Measure, Measurement
from spoofspan.operating_point import OperatingPoint
from spoofspan.references import References
from spoofspan.rules import CONVENTIONS, Rules
from spoofspan.scores import Scores
from spoofspan.signature import Signature

if TYPE_CHECKING:
    from spoofspan.breakdown import UtteranceErrors, errors_by_utterance
    from spoofspan.eer_state import EerBracket, EerState
    from spoofspan.event_measurement import EventMeasurement
    from spoofspan.event_proposals import proposals_from_scores
    from spoofspan.formats.partialspoof_dataset import Dataset, read_dataset
    from spoofspan.formats.reading import read_references, read_scores
    from spoofspan.formats.sharding import sharded
    from spoofspan.given_utterances import evaluate_utterances
    from spoofspan.proposals import Proposals, read_proposals
    from spoofspan.streaming import evaluate_shards
    from spoofspan.table import ResolutionTable, resolution_table
    from spoofspan.tandem import read_verification_scores
    from spoofspan.uncertainty import (
        Comparison,
        Interval,
        Resampling,
        SeedVariation,
        bootstrap,
        compare,
        seed_variation,
    )
    from spoofspan.utterance_scores import UtteranceScores, read_utterance_scores

__version__ = "0.1.0"

__all__ = [
    "CONVENTIONS",
    "BisectionMeasurement",
    "Comparison",
    "DataError",
    "Dataset",
    "EerBracket",
    "EerState",
    "EqualErrorRate",
    "ErrorCurve",
    "Evaluation",
    "EventMeasurement",
    "Interval",
    "Measure",
    "Measurement",
    "OperatingPoint",
    "Proposals",
    "References",
    "Resampling",
    "ResolutionTable",
    "Rules",
    "ScoreMass",
    "Scores",
    "SeedVariation",
    "Signature",
    "SpoofspanError",
    "SpoofspanWarning",
    "UndefinedMeasureError",
    "UsageError",
    "UtteranceErrors",
    "UtteranceScores",
    "__version__",
    "best_possible",
    "bisection_eer",
    "bootstrap",
    "compare",
    "default_measures",
    "equal_error_rate",
    "error_curve",
    "errors_by_utterance",
    "evaluate",
    "evaluate_shards",
    "evaluate_utterances",
    "overlay",
    "point_eer",
    "point_mass",
    "proposals_from_scores",
    "range_eer",
    "read_dataset",
    "read_proposals",
    "read_references",
    "read_scores",
    "read_utterance_scores",
    "read_verification_scores",
    "resolution_table",
    "seed_variation",
    "sharded",
    "utterance_eer",
]

# The many formats take longer to load than all the rest; who measures arrays, or asks for help, does not wait for them.
_LATER = {
    **dict.fromkeys(("UtteranceErrors", "errors_by_utterance"), "breakdown"),
    **dict.fromkeys(("ResolutionTable", "resolution_table"), "table"),
    **dict.fromkeys(
        ("Comparison", "Interval", "Resampling", "SeedVariation", "bootstrap", "compare", "seed_variation"),
        "uncertainty",
    ),
    "Dataset": "formats.partialspoof_dataset",
    "EventMeasurement": "event_measurement",
    "Proposals": "proposals",
    "UtteranceScores": "utterance_scores",
    "EerBracket": "eer_state",
    "EerState": "eer_state",
    "evaluate_shards": "streaming",
    "evaluate_utterances": "given_utterances",
    "proposals_from_scores": "event_proposals",
    "read_dataset": "formats.partialspoof_dataset",
    "read_proposals": "proposals",
    "read_references": "formats.reading",
    "read_scores": "formats.reading",
    "read_utterance_scores": "utterance_scores",
    "read_verification_scores": "tandem",
    "sharded": "formats.sharding",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'spoofspan' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"spoofspan.{_LATER[name]}"), name)
