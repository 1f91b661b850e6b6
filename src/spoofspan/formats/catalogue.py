"""All formats, by name."""

from __future__ import annotations

from spoofspan.formats import (
    arrays,
    arrow_ipc,
    audacity,
    avdeepfake1m,
    csv_files,
    frame_lines,
    had,
    hypotheses,
    jsonl,
    kaldi,
    lavdf,
    log_output,
    parquet,
    partialspoof_scores,
    proposals,
    rttm,
    segment_labels,
    segment_list,
    utterance_scores,
    vad,
)
from spoofspan.formats.registry import Registry
from spoofspan.proposals import Proposals
from spoofspan.references import References
from spoofspan.scores import Scores
from spoofspan.utterance_scores import UtteranceScores

REFERENCE_FORMATS: Registry[References] = Registry(
    "reference",
    [
        rttm.FORMAT,
        segment_list.FORMAT,
        had.FORMAT,
        vad.FORMAT,
        audacity.FORMAT,
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
UTTERANCE_SCORE_FORMATS: Registry[UtteranceScores] = Registry(
    "utterance-scores", [*utterance_scores.FORMATS, log_output.FORMAT]
)
PROPOSAL_FORMATS: Registry[Proposals] = Registry("proposals", [proposals.FORMAT])
