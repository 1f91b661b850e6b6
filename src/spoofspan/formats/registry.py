"""All formats, by name."""

from __future__ import annotations

from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.arrays import kaldi, npz, partialspoof_scores, segment_labels
from spoofspan.formats.datasets import audiovisual, proposals
from spoofspan.formats.format import Registry
from spoofspan.formats.tables.arrow_ipc import ARROW
from spoofspan.formats.tables.csv_files import CSV, TSV
from spoofspan.formats.tables.jsonl import JSONL
from spoofspan.formats.tables.parquet import PARQUET
from spoofspan.formats.text import (
    frame_lines,
    hypotheses,
    json_objects,
    labelled_ranges,
    rttm,
    sed_scores,
    textgrid,
    utterance_scores,
)

CONTAINERS = (PARQUET, ARROW, CSV, TSV, JSONL)  # of tables
REFERENCE_FORMATS: Registry[References] = Registry(
    "reference",
    [
        rttm.FORMAT,
        labelled_ranges.SEGMENT_LIST,
        labelled_ranges.HAD,
        labelled_ranges.VAD,
        labelled_ranges.AUDACITY,
        textgrid.FORMAT,
        audiovisual.LAVDF,
        audiovisual.AVDEEPFAKE1M,
        json_objects.REFERENCES,
        segment_labels.FORMAT,
        npz.LABELS_NPZ,
        *(container.references for container in CONTAINERS),
    ],
)
SCORE_FORMATS: Registry[Scores] = Registry(
    "scores",
    [
        *frame_lines.FORMATS,
        sed_scores.FORMAT,
        partialspoof_scores.FORMAT,
        *kaldi.FORMATS,
        npz.SCORES_NPZ,
        npz.SCORES_DICT,
        json_objects.SCORES,
        *(container.scores for container in CONTAINERS),
        *hypotheses.FORMATS,
        json_objects.HYPOTHESIS,
    ],
)
UTTERANCE_SCORE_FORMATS: Registry[UtteranceScores] = Registry("utterance-scores", utterance_scores.FORMATS)
PROPOSAL_FORMATS: Registry[Proposals] = Registry("proposals", [proposals.FORMAT, proposals.CSV])
