"""A module for Hugging Face ``evaluate``: predictions are lists of scores, references lists of ranges.

::

    metric = SpoofLocalization()            # or evaluate.load(spoofspan.integrations.hf_evaluate.__file__)
    metric.add_batch(predictions=scores, references=ranges)
    metric.compute(hop=0.02, higher="bonafide", measures=["range-eer", "point-eer@20ms"])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spoofspan.base.errors import UsageError
from spoofspan.data.dataset_rows import references_from_rows, scores_from_rows
from spoofspan.evaluation.evaluate import evaluate as evaluate_corpus

try:
    import datasets
    import evaluate
except ModuleNotFoundError as error:
    raise UsageError(f"{error.name} is not installed; pip install datasets evaluate") from error

CITATION = """@inproceedings{zhang23v_interspeech,
  title = {Range-Based Equal Error Rate for Spoof Localization},
  author = {Lin Zhang and Xin Wang and Erica Cooper and Nicholas Evans and Junichi Yamagishi},
  booktitle = {Proc. Interspeech},
  year = {2023}
}"""


class SpoofLocalization(evaluate.Metric):  # type: ignore[misc]
    """Measures of :func:`spoofspan.evaluate` as a metric of Hugging Face ``evaluate``; every utterance is one example.

    ``compute`` takes ``hop`` (seconds), ``higher`` (what high scores mean), ``measures`` (names, by default the range
    EER), and the rules of :func:`spoofspan.evaluate`; it returns values and thresholds by plain names.

    Examples
    --------
    >>> metric = SpoofLocalization()
    >>> ranges = [{"start": 0.0, "end": 0.04, "label": "bonafide"}, {"start": 0.04, "end": 0.08, "label": "spoof"}]
    >>> metric.add_batch(predictions=[[0.9, 0.1, 0.2, -0.4]], references=[ranges])
    >>> metric.compute(hop=0.02, higher="bonafide")["range_eer"]
    0.5

    """

    def _info(self) -> Any:
        times = datasets.Value("float64")
        a_range = {"start": times, "end": times, "label": datasets.Value("string")}
        return evaluate.MetricInfo(
            description="Exact range-based and point-based EER, and more, of spoof localization.",
            citation=CITATION,
            inputs_description="predictions: a list of scores per utterance; references: a list of ranges "
            "{start, end, label} per utterance, times in seconds, labels bonafide, spoof or nonspeech.",
            features=datasets.Features(
                {"predictions": datasets.Sequence(datasets.Value("float32")), "references": [a_range]}
            ),
        )

    def _compute(
        self,
        predictions: Sequence[Sequence[float]],
        references: Sequence[Sequence[Mapping[str, Any]]],
        hop: float | None = None,
        higher: Any = None,
        measures: Sequence[str] = ("range-eer",),
        **arguments: Any,
    ) -> dict[str, float]:
        if hop is None or higher is None:
            raise UsageError("compute needs hop= (seconds) and higher= ('bonafide' or 'spoof': what high scores mean)")
        named = [{"utterance": str(i), "ranges": listed} for i, listed in enumerate(references)]
        scored = [{"utterance": str(i), "scores": values} for i, values in enumerate(predictions)]
        return evaluate_corpus(
            references_from_rows(named), scores_from_rows(scored, hop=hop, higher=higher), measures, **arguments
        ).to_flat_dict()
