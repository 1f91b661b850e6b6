"""All formats, by name."""

from __future__ import annotations

from spoofspan.data.proposals import Proposals
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.arrays import kaldi, npz, partialspoof_scores, segment_labels, torch_files
from spoofspan.formats.datasets import audiovisual, proposals
from spoofspan.formats.format import Registry
from spoofspan.formats.tables import list_cells
from spoofspan.formats.tables.arrow_ipc import ARROW
from spoofspan.formats.tables.csv_files import CSV, TSV
from spoofspan.formats.tables.jsonl import JSONL
from spoofspan.formats.tables.parquet import PARQUET
from spoofspan.formats.text import (
    annotation_files,
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
        labelled_ranges.LAB,
        *annotation_files.FORMATS,
        textgrid.FORMAT,
        audiovisual.LAVDF,
        audiovisual.AVDEEPFAKE1M,
        annotation_files.JSON_RANGES,
        json_objects.LABELS,
        segment_labels.FORMAT,
        npz.LABELS_NPZ,
        npz.CFPRF_LABELS,
        torch_files.LABELS,
        list_cells.LABELS,
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
        npz.CFPRF_SCORES,
        torch_files.SCORES,
        list_cells.SCORES,
        json_objects.SCORES,
        *(container.scores for container in CONTAINERS),
        *hypotheses.FORMATS,
        *annotation_files.HYPOTHESES,
    ],
)
UTTERANCE_SCORE_FORMATS: Registry[UtteranceScores] = Registry("utterance-scores", utterance_scores.FORMATS)
PROPOSAL_FORMATS: Registry[Proposals] = Registry("proposals", [proposals.FORMAT, proposals.CSV, proposals.CFPRF])
