"""The demo corpus in the formats of other people, so that every command of recipes and of other tools can be tried.

Everything follows from the corpus, but for the codecs and languages of ``columns.csv`` and ``keys.tsv`` and the scores
of a verification system, which are made up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from spoofspan.corpus.checking import segments_of
from spoofspan.data.references import SPOOF
from spoofspan.evaluation.evaluate import range_eer
from spoofspan.formats.arrays import partialspoof_scores
from spoofspan.formats.arrays.npz import write_npz
from spoofspan.formats.text import rttm
from spoofspan.formats.text.durations import reco2dur_lines
from spoofspan.formats.text.protocol import protocol_lines
from spoofspan.measures.events.proposals_from_scores import called_ranges, proposals_from_scores

if TYPE_CHECKING:
    from spoofspan.data.protocol import Protocol
    from spoofspan.data.references import References
    from spoofspan.data.scores import Scores

OTHER_TOOLS = "other-tools"  # the folder with the files of public tools
Content = dict[str, Iterable[bytes]]


def recipe_files(references: References, scores: Scores, protocol: Protocol) -> Content:
    """Files of the recipes, by name; the finest scores are those of ``scores``, higher for bona fide."""
    threshold = range_eer(references, scores).threshold
    frames = dict(scores.items())
    labels = ((one, (~spoof).astype(np.uint8)) for one, spoof in segments_of(references, 0.02).items())
    codecs = ["ab"[i % 2] for i in range(len(protocol))]
    rows = zip(protocol.utterance, protocol.label, (one or "-" for one in protocol.attack), codecs, strict=True)
    columns = (f"{one},{codec},l{i % 3}" for i, (one, codec) in enumerate(zip(protocol.utterance, codecs, strict=True)))
    plain = (f"{one} {k} {value!r}" for one, values in frames.items() for k, value in enumerate(values.tolist()))
    lowest = (f"{one}\t{values.min():.17g}" for one, values in frames.items())
    return {
        "my_scores.txt": _lines(plain),
        "spoofed.rttm": _spoofs(references),
        "decisions.rttm": rttm.write(called_ranges(scores, threshold, durations=references)),
        "proposals.json": [_proposals(proposals_from_scores(scores, threshold)).encode()],
        "labels.npz": write_npz(labels),
        "cm_scores.tsv": _lines(["filename\tcm-score", *lowest]),
        "keys.tsv": _lines(["filename\tcm-label\tattack\tcodec", *map("\t".join, rows)]),
        "columns.csv": _lines(["utterance,codec,language", *columns]),
        "asv_scores.txt": _lines(_verification()),
    }


def files_of_other_tools(references: References, systems: Mapping[float, Scores], protocol: Protocol) -> Content:
    """Files of the published script, partialspoof-metrics and WeDefense, under the names that these give them."""
    scores = systems[min(systems)]
    frames = dict(scores.items())
    as_lines = [f"{one} {k} {value!r} {-value!r}" for one, v in frames.items() for k, value in enumerate(v.tolist())]
    found: Content = {
        "rttm_2cls_0sil": rttm.write(references),
        "rttm_2cls_0sil_spoof": _spoofs(references),
        "rttm": rttm.write(references),
        "reco2dur": reco2dur_lines(references),
        "protocol.txt": protocol_lines(protocol),
        "dev_score_ali_16_20230101.pkl": partialspoof_scores.write(systems[0.16]),
        "unit0.02.score": _lines(as_lines),
        "logits_frame_20ms.txt": _lines(line.replace(" ", "\t") for line in as_lines),
        "label.txt": _lines(_metrics_labels(references)),
        "log_output_dev": _lines(
            f"Output, {one}, 0, {', '.join([f'{values.min():.6f}'] * 7)}" for one, values in frames.items()
        ),
        "asv_scores.txt": _lines(_verification()),
    }
    return {f"{OTHER_TOOLS}/{name}": content for name, content in found.items()}


def _lines(lines: Iterable[str]) -> Iterator[bytes]:
    for line in lines:
        yield f"{line}\n".encode()


def _spoofs(references: References) -> list[bytes]:
    whole = b"".join(rttm.write(references))
    return [line for line in whole.splitlines(keepends=True) if b" bonafide " not in line]


def _proposals(proposals: object) -> str:
    found = {one: [[c, start, end] for start, end, c in said] for one, said in dict(proposals).items()}  # type: ignore[call-overload]
    return json.dumps(found) + "\n"


def _metrics_labels(references: References) -> Iterator[str]:
    """Lines of partialspoof-metrics: ``<utterance> <seconds> <label> <start>-<end>-<label> ...``."""
    durations = dict(line.decode().split() for line in reco2dur_lines(references))
    spoof = references.classes()
    for i, one in enumerate(references.utterances):
        rows = range(references.offsets[i], references.offsets[i + 1])
        edges = [
            (int(references.starts[row]), int(references.ends[row]), _word(references.labels[row])) for row in rows
        ]
        # edges of an RTTM are rounded: neighbours meet here at the end of the first
        starts = [0, *(end for _, end, _ in edges[:-1])]
        ranges = (f"{s / 1e9:.7f}-{e / 1e9:.7f}-{word}" for s, (_, e, word) in zip(starts, edges, strict=True))
        yield f"{one} {durations[one]} {_word(spoof[one])} {' '.join(ranges)}"


def _verification() -> Iterator[str]:
    """Quantiles of normal distributions: targets above non-targets, and spoofs in between."""
    for attack, key, mean, count in (
        ("bonafide", "target", 3.0, 200),
        ("bonafide", "nontarget", -2.0, 400),
        ("A01", "spoof", 1.0, 100),
        ("A02", "spoof", 1.5, 100),
        ("A03", "spoof", 2.0, 100),
    ):
        for k in range(count):
            yield f"{attack} {key} {NormalDist(mean).inv_cdf((k + 0.5) / count):.6f}"


def _word(label: int) -> str:
    return "spoof" if label == SPOOF else "bonafide"
