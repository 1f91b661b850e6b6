"""A metric of VERSA: how much of a recording a model of ``spoofspan locate`` suspects to be spoofed, and where.

It needs no reference. Register it, and name it in the configuration of VERSA with the model to use::

    from spoofspan.integrations.versa import register_spoof_location_metric
    register_spoof_location_metric(registry)

    - name: spoof_location
      model: small            # a folder, an archive, or OWNER/NAME@COMMIT of the Hugging Face hub
      prior: 0.1              # and any other argument of spoofspan.locate

A result has ``spoof_suspected_seconds``, ``spoof_suspected_share`` (of the duration), ``spoof_suspected_ranges`` and
``spoof_location_note``: why there is no verdict, or what to know before it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from versa.definition import BaseMetric, MetricCategory, MetricMetadata, MetricType

from spoofspan.base.errors import UsageError
from spoofspan.cm.locate import locate
from spoofspan.formats.sound import RATE, Sound, wav_bytes

NAME = "spoof_location"


class SpoofLocationMetric(BaseMetric):  # type: ignore[misc] # VERSA has no types
    """Suspected ranges of a recording, according to a model.

    Parameters
    ----------
    config : dict
        ``model``, and any further argument of :func:`spoofspan.locate`, such as ``threshold`` or ``prior``. ``use_gpu``
        is VERSA's own.

    """

    def _setup(self) -> None:
        """Take the arguments from the configuration."""
        given = {name: value for name, value in self.config.items() if name not in ("name", "use_gpu")}
        if not given.get("model"):
            raise UsageError(f"the configuration of {NAME} needs model: a folder, an archive, or OWNER/NAME@COMMIT")
        self.arguments: dict[str, Any] = {"device": "cuda" if self.config.get("use_gpu") else "cpu"} | given

    def compute(self, predictions: Any, references: Any = None, metadata: Any = None) -> dict[str, Any]:
        """Locate the spoofed ranges of one recording; ``metadata`` has its ``sample_rate``."""
        if predictions is None:
            raise ValueError("predictions must be the samples of a recording")
        sound = np.asarray(predictions, np.float64)
        if sound.ndim != 1:
            raise ValueError(f"predictions must be the samples of one channel, not an array of shape {sound.shape}")
        rate = int((metadata or {}).get("sample_rate", RATE))
        found = locate({"recording": Sound(wav_bytes(sound, rate), "recording")}, **self.arguments)["recording"]
        seconds = math.nan if found.problem else found.suspected_seconds
        return {
            "spoof_suspected_seconds": seconds,
            "spoof_suspected_share": seconds / found.seconds if found.seconds else math.nan,
            "spoof_suspected_ranges": [one.to_dict() for one in found.ranges],
            "spoof_location_note": "; ".join([*([found.problem] if found.problem else []), *found.warnings]),
        }

    def get_metadata(self) -> MetricMetadata:
        """Describe the metric to VERSA."""
        return _metadata()


def _metadata() -> MetricMetadata:
    return MetricMetadata(
        name=NAME,
        category=MetricCategory.INDEPENDENT,
        metric_type=MetricType.DICT,
        requires_reference=False,
        requires_text=False,
        gpu_compatible=True,
        auto_install=False,
        dependencies=["spoofspan", "torch", "safetensors"],
        description="Spoofed ranges of a recording, and their share of its duration, by a model of spoofspan",
        paper_reference="https://arxiv.org/abs/2305.17739",
        implementation_source="https://github.com/spoofspan/spoofspan",
    )


def register_spoof_location_metric(registry: Any) -> None:
    """Register the metric, as every metric of VERSA does."""
    registry.register(SpoofLocationMetric, _metadata(), aliases=["spoofspan"])
