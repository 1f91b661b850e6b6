"""Metrics of VERSA and DeepFense. Where a toolkit is missing, its documented interface takes its place."""

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from types import ModuleType

import numpy as np
import pytest

import spoofspan as ss

# ---------------------------------------------------------------- DeepFense


def flattened(references, scores, hop):
    """Labels, scores and utterances of frames, as DeepFense's temporal evaluation hands them over."""
    labels, values, keys = [], [], []
    for utterance, frames in scores.items():
        middles = hop * (0.5 + np.arange(len(frames)))
        spoofed = [(start, end) for start, end, label in references[utterance] if label == "spoof"]
        labels += [int(not any(start < middle < end for start, end in spoofed)) for middle in middles]
        values += list(frames)
        keys += [utterance] * len(frames)
    return np.array(labels), np.array(values), keys


@pytest.fixture
def frames():
    rng = np.random.default_rng(4)
    ranges, scores = {}, {}
    for name in ("u2", "u1", "u3"):
        count = int(rng.integers(20, 40))
        cut = int(rng.integers(5, 15))
        ranges[name] = [(0.0, cut * 0.02, "bonafide"), (cut * 0.02, count * 0.02, "spoof")]
        scores[name] = rng.normal(np.where(np.arange(count) < cut, 1.0, -1.0)).astype(np.float32)
    return ranges, scores


def test_frames_of_deepfense_are_measured_as_references_and_scores(frames):
    from spoofspan.integrations.deepfense import deepfense_metric

    ranges, scores = frames
    labels, values, keys = flattened(ranges, scores, 0.02)
    measures = ["range-eer", "point-eer@40ms"]
    params = {"keys": keys, "label_hop_ms": 20, "measures": measures, "loss": None, "eer_rule": "interpolated"}
    found = deepfense_metric(labels, values, params)
    expected = ss.evaluate(
        ss.References.from_ranges(ranges),
        ss.Scores.from_frames(scores, hop=0.02, higher="bonafide"),
        measures,
        eer_rule="interpolated",
    )
    assert found["SPOOFSPAN_RANGE_EER"] == expected["range-eer"].value
    assert [found[name] for name in found if "POINT" in name and "THRESHOLD" not in name] == [
        expected["point-eer@40ms"].value
    ]
    padded = np.concatenate([labels, [-100] * 5]), np.concatenate([values, [9.0] * 5]), [*keys, *["u1"] * 5]
    assert deepfense_metric(*padded[:2], params | {"keys": padded[2]}) == found
    two = np.stack([-values / 2, values / 2], axis=1)
    swapped = params | {"bonafide_label": 0}
    assert deepfense_metric(labels, two, params)["SPOOFSPAN_RANGE_EER"] == found["SPOOFSPAN_RANGE_EER"]
    assert deepfense_metric(1 - labels, two[:, ::-1], swapped)["SPOOFSPAN_RANGE_EER"] == found["SPOOFSPAN_RANGE_EER"]


def test_rows_without_utterances_are_utterances():
    from spoofspan.integrations.deepfense import deepfense_metric

    found = deepfense_metric(np.array([1, 1, 0, 0]), np.array([0.9, 0.2, 0.4, -0.3]), {"loss": "crossentropy"})
    assert found["SPOOFSPAN_UTTERANCE_EER"] == 0.5


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # few frames have a wide gap
def test_deepfense_finds_the_metric_by_its_name(frames):
    evaluators = pytest.importorskip("deepfense.training.evaluations.evaluator")
    from spoofspan.integrations.deepfense import register

    register()
    ranges, scores = frames
    labels, values, keys = flattened(ranges, scores, 0.02)
    found = evaluators.Evaluator({"SPOOFSPAN": {"keys": keys, "label_hop_ms": 20}}).evaluate(labels, values)
    references = ss.References.from_ranges(ranges)
    expected = ss.range_eer(references, ss.Scores.from_frames(scores, hop=0.02, higher="bonafide"))
    assert found["SPOOFSPAN_RANGE_EER"] == expected.value


# ---------------------------------------------------------------- VERSA


def documented_versa():
    """The interface of a metric as versa/definition.py and docs/contributing.md state it."""

    class MetricCategory(Enum):
        INDEPENDENT = "independent"

    class MetricType(Enum):
        DICT = "dict"

    @dataclass
    class MetricMetadata:
        name: str
        category: MetricCategory
        metric_type: MetricType
        requires_reference: bool
        requires_text: bool
        gpu_compatible: bool
        auto_install: bool
        dependencies: list
        description: str
        paper_reference: str | None = None
        implementation_source: str | None = None

    class BaseMetric(ABC):
        def __init__(self, config=None):
            self.config = config or {}
            self._setup()

        @abstractmethod
        def _setup(self): ...

        @abstractmethod
        def compute(self, predictions, references=None, metadata=None): ...

        @abstractmethod
        def get_metadata(self): ...

    class MetricRegistry:
        def __init__(self):
            self.metrics, self.metadata, self.aliases = {}, {}, {}

        def register(self, metric_class, metadata, aliases=None):
            self.metrics[metadata.name], self.metadata[metadata.name] = metric_class, metadata
            self.aliases |= dict.fromkeys(aliases or (), metadata.name)

        def get_metric(self, name):
            return self.metrics.get(self.aliases.get(name, name))

        def get_metadata(self, name):
            return self.metadata.get(self.aliases.get(name, name))

    definition = ModuleType("versa.definition")
    vars(definition).update(
        {one.__name__: one for one in (MetricCategory, MetricType, MetricMetadata, BaseMetric, MetricRegistry)}
    )
    return definition


@pytest.fixture
def registry(monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")
    try:
        from versa import definition
    except ImportError:
        definition = documented_versa()
        monkeypatch.setitem(sys.modules, "versa", ModuleType("versa"))
        monkeypatch.setitem(sys.modules, "versa.definition", definition)
    monkeypatch.delitem(sys.modules, "spoofspan.integrations.versa", raising=False)
    from spoofspan.integrations.versa import register_spoof_location_metric

    found = definition.MetricRegistry()
    register_spoof_location_metric(found)
    return found


def test_versa_finds_the_metric_and_its_description(registry):
    assert registry.get_metric("spoof_location") is registry.get_metric("spoofspan")
    about = registry.get_metadata("spoofspan")
    assert (about.requires_reference, about.category.value, about.metric_type.value) == (False, "independent", "dict")
    with pytest.raises(ss.UsageError, match="needs model"):
        registry.get_metric("spoofspan")({})


@pytest.mark.slow
def test_versas_metric_is_locate(registry, trained, tmp_path):
    pytest.importorskip("soxr")
    from cm_corpora import recording, write_wav

    model = trained[0]
    sound = recording(np.random.default_rng(8), 3.0, [(1.0, 2.2)])
    write_wav(tmp_path / "one.wav", sound)
    metric = registry.get_metric("spoof_location")({"model": str(model), "prior": 0.3, "name": "spoof_location"})
    found = metric.compute(sound, metadata={"sample_rate": 16000})
    expected = ss.locate(tmp_path / "one.wav", model, prior=0.3)["one"]
    assert found["spoof_suspected_ranges"] == [one.to_dict() for one in expected.ranges]
    assert found["spoof_suspected_seconds"] == expected.suspected_seconds > 0.5
    assert found["spoof_suspected_share"] == expected.suspected_seconds / 3.0
    assert metric.get_metadata().name == "spoof_location"
    silent = metric.compute(np.zeros(16000), metadata={"sample_rate": 16000})
    assert np.isnan(silent["spoof_suspected_seconds"])
    assert silent["spoof_location_note"]
    with pytest.raises(ValueError, match="one channel"):
        metric.compute(np.zeros((2, 100)))
