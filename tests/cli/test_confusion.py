"""The confusion matrix of a corpus, in JSON and on request in text."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import spoofspan as ss
import spoofspan.demo
from spoofspan.cli import app


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("demo")
    spoofspan.demo.export(spoofspan.demo.load(), made, force=True)
    return made


def evaluated(folder, monkeypatch, *more):
    monkeypatch.chdir(folder)
    words = ["eval", "references.rttm", "unit0.04.score", "--durations", "reco2dur", *more]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_cells_are_those_of_a_count_of_milliseconds(folder, monkeypatch):
    found = json.loads(evaluated(folder, monkeypatch, "-m", "range-eer", "--format", "json"))
    cells, threshold = found["measurements"][0]["confusion"], found["measurements"][0]["threshold"]
    corpus = spoofspan.demo.load()
    references, scores = corpus.references, ss.read_scores("unit0.04.score")
    counted = dict.fromkeys(("true_positive", "false_negative", "false_positive", "true_negative"), 0.0)
    for i, utterance in enumerate(references.utterances):
        last = round(1000 * references.durations[i] / 1e9)
        times = (np.arange(last) + 0.5) / 1000
        spoof = np.zeros(last, bool)
        for row in range(references.offsets[i], references.offsets[i + 1]):
            if references.labels[row] == 1:
                spoof |= (times >= references.starts[row] / 1e9) & (times < references.ends[row] / 1e9)
        j = scores.utterances.index(utterance)
        values = scores.values[scores.offsets[j] : scores.offsets[j + 1]]
        called = values[np.minimum((times / 0.04).astype(int), values.size - 1)] > threshold
        for name, chosen in (
            ("true_positive", spoof & called),
            ("false_negative", spoof & ~called),
            ("false_positive", ~spoof & called),
            ("true_negative", ~spoof & ~called),
        ):
            counted[name] += np.count_nonzero(chosen) / 1000
    assert {name: cells[name] for name in counted} == pytest.approx(counted, abs=0.2)  # edges lie within milliseconds
    assert cells["unanswered"] == 0


def test_text_has_it_on_request(folder, monkeypatch):
    given = ["-m", "range-eer", "-m", "utterance-eer", "-m", "range-auc"]
    assert "spoof missed" not in evaluated(folder, monkeypatch, *given)
    printed = evaluated(folder, monkeypatch, *given, "--confusion")
    assert "spoof found  spoof missed  false alarm  bona fide right" in printed
    (row,) = [line.split() for line in printed.splitlines() if line.startswith("utterance-eer  utterances")]
    assert sum(map(int, row[2:])) == 169
