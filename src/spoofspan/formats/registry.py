"""All formats, by name."""

from __future__ import annotations

from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.arrays import kaldi, partialspoof_scores, segment_labels
from spoofspan.formats.arrays import npz as arrays
from spoofspan.formats.datasets import avdeepfake1m, lavdf, proposals
from spoofspan.formats.format import Registry
from spoofspan.formats.tables import arrow_ipc, csv_files, jsonl, parquet
from spoofspan.formats.text import (
    frame_lines,
    hypotheses,
    range_lists,
    rttm,
    utterance_files,
    utterance_scores,
)

REFERENCE_FORMATS: Registry[References] = Registry(
    "reference",
    [
        rttm.FORMAT,
        range_lists.SEGMENT_LIST,
        range_lists.HAD,
        utterance_files.VAD,
        utterance_files.AUDACITY,
        lavdf.FORMAT,
        avdeepfake1m.FORMAT,
        segment_labels.FORMAT,
        arrays.LABELS_NPZ,
        *parquet.REFERENCE_FORMATS,
        *arrow_ipc.REFERENCE_FORMATS,
        *csv_files.REFERENCE_FORMATS,
        *jsonl.REFERENCE_FORMATS,
    ],
)
SCORE_FORMATS: Registry[Scores] = Registry(
    "scores",
    [
        *frame_lines.FORMATS,
        partialspoof_scores.FORMAT,
        *kaldi.FORMATS,
        arrays.SCORES_NPZ,
        arrays.SCORES_DICT,
        *parquet.SCORE_FORMATS,
        *arrow_ipc.SCORE_FORMATS,
        *csv_files.SCORE_FORMATS,
        *jsonl.SCORE_FORMATS,
        *hypotheses.FORMATS,
    ],
)
UTTERANCE_SCORE_FORMATS: Registry[UtteranceScores] = Registry("utterance-scores", utterance_scores.FORMATS)
PROPOSAL_FORMATS: Registry[Proposals] = Registry("proposals", [proposals.FORMAT])
