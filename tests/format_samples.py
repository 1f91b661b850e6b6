"""One small corpus in every format: as the package writes it, and as the tools that own the formats do."""

import io
import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from spoofspan import References, Scores
from spoofspan.formats.registry import REFERENCE_FORMATS, SCORE_FORMATS

HOP, FRAMES = 0.02, 50
TEXT = {
    *("rttm", "segment-list", "had", "vad", "audacity", "lavdf", "avdeepfake1m", "csv", "tsv", "jsonl"),
    *("unit-score", "wedefense-logits", "frame-score", "kaldi-scp", "textgrid", "json-ranges", "sed-scores"),
    *("hypothesis-rttm", "hypothesis-had", "hypothesis-segments", "hypothesis-json"),
}


@dataclass(frozen=True)
class Sample:
    """Files of one format, and what a reader must be told. The first file is the one to open."""

    format: str
    files: dict[str, bytes]
    options: dict = field(default_factory=dict)
    one_file_each: bool = False  # a file per utterance: the folder is opened

    @property
    def is_text(self):
        return self.format in TEXT

    def write(self, folder: Path, ending: str = "", change: Callable[[bytes], bytes] = bytes):
        """Write the files, changed, and say what to open."""
        folder.mkdir(exist_ok=True)
        first = next(iter(self.files))
        for name, content in self.files.items():
            changes = name == first or self.one_file_each
            (folder / (name + ending * changes)).write_bytes(change(content) if changes else content)
        return folder if self.one_file_each else folder / (first + ending)


# --- the corpus: utterances CON_<number>, half spoofed, edges on 20 ms


def first_spoof(utterance):
    """The first spoofed frame; half of the frames are."""
    return 5 + int(utterance.removeprefix("CON_")) % 10


def durations(ids):
    return dict.fromkeys(ids, FRAMES * HOP)


def references(ids, spoofs_only=False):
    listed = {}
    for utt in ids:
        edges = [0, first_spoof(utt), first_spoof(utt) + FRAMES // 2, FRAMES]
        ranges = zip(edges, edges[1:], ("bonafide", "spoof", "bonafide"), strict=False)
        listed[utt] = [(a * HOP, b * HOP, label) for a, b, label in ranges if label == "spoof" or not spoofs_only]
    return References.from_ranges(listed, durations=durations(ids))


def spoofness(ids):
    """Scores, high for spoof, whose EER is about 10 %."""
    found = {}
    for utt in ids:
        rng, frame = np.random.default_rng(list(utt.encode())), np.arange(FRAMES) - first_spoof(utt)
        found[utt] = np.round(rng.normal(np.where((frame >= 0) & (frame < FRAMES // 2), 1.28, -1.28)), 6)
    return found


def scores(ids):
    return Scores.from_frames({utt: -values for utt, values in spoofness(ids).items()}, hop=HOP, higher="bonafide")


def decided(ids):
    """Hard decisions: runs of frames whose spoofness is above 0, or not; times in frames."""
    found = {}
    for utt, values in spoofness(ids).items():
        edges = [0, *(np.flatnonzero(np.diff(values > 0)) + 1).tolist(), FRAMES]
        labels = ("spoof" if values[edge] > 0 else "bonafide" for edge in edges[:-1])
        found[utt] = list(zip(edges, edges[1:], labels, strict=False))
    return found


def decisions(ids):
    return Scores.from_decisions(
        {utt: [(a * HOP, b * HOP, label) for a, b, label in runs] for utt, runs in decided(ids).items()}
    )


# --- as the package writes them

AUDIOVISUAL = ("lavdf", "avdeepfake1m")
SPOOFS_ONLY = (*AUDIOVISUAL, "json-ranges")  # these list spoofs, and mean bona fide elsewhere
REFERENCE_FILES = {
    "rttm": "ref.rttm",
    "segment-list": "label.txt",
    "had": "had.txt",
    "vad": "{}.vad",
    "audacity": "{}.txt",
    "lavdf": "metadata.json",
    "avdeepfake1m": "metadata.json",
    "json-ranges": "ranges.json",
    "textgrid": "{}.TextGrid",
    "segment-labels": "dev_seglab_0.01.npy",
    "npz": "labels.npz",
    "parquet": "ref.parquet",
    "arrow": "ref.arrow",
    "csv": "ref.csv",
    "tsv": "ref.tsv",
    "jsonl": "ref.jsonl",
}
SCORE_FILES = {
    "unit-score": "unit0.02.score",
    "wedefense-logits": "logits_frame_20ms.txt",
    "frame-score": "scores.txt",
    "partialspoof-pickle": "dev_score_ali_2_20230101.pkl",
    "kaldi-ark": "scores.ark",
    "npz": "scores.npz",
    "parquet": "scores.parquet",
    "arrow": "scores.arrow",
    "csv": "scores.csv",
    "tsv": "scores.tsv",
    "jsonl": "scores.jsonl",
    "hypothesis-rttm": "decisions.rttm",
    "hypothesis-had": "decisions.txt",
    "hypothesis-segments": "decisions.txt",
}
TOLD = {"frame-score", "kaldi-ark", "npz"}  # hop and polarity are not in the file


def written_references(name, ids):
    form, corpus = REFERENCE_FORMATS.named(name), references(ids, name in SPOOFS_ONLY)
    options = {"durations": durations(ids)} | ({"hop": 0.01, "spoof_label": 0} if name == "npz" else {})
    if name in AUDIOVISUAL:
        options["modality"] = "audio"
    if "{}" in REFERENCE_FILES[name]:
        parts = {REFERENCE_FILES[name].format(utt): form.write(references([utt])) for utt in ids}
        return Sample(name, {file: b"".join(part) for file, part in parts.items()}, options, one_file_each=True)
    return Sample(name, {REFERENCE_FILES[name]: b"".join(form.write(corpus))}, options)


def original_scores(name, ids):
    """What a format can hold: scores, or decisions."""
    return decisions(ids) if name.startswith("hypothesis-") else scores(ids)


def written_scores(name, ids):
    content = b"".join(SCORE_FORMATS.named(name).write(original_scores(name, ids)))
    options = {"hop": HOP, "higher": "bonafide"} if name in TOLD else {}
    return Sample(name, {SCORE_FILES[name]: content}, options)


# --- as other tools write them

NOT_STATED = {"hop": HOP, "higher": "spoof"}
LABEL_ORDER = {"label2id.json": b'{"bonafide": 0, "spoof": 1}'}  # WeDefense has it next to its archives


def _lines(line, spoof):
    return "".join(line(utt, k, x) for utt, values in spoof.items() for k, x in enumerate(values.tolist())).encode()


def _probabilities(utt, k, x):
    spoof = 1 / (1 + np.exp(-x))
    return f"{utt} {k} {1 - spoof:.5f} {spoof:.5f}\n"


def _archive(spoof):
    """Two columns, bona fide and spoof; and where each matrix begins."""
    content, places = b"", {}
    for utt, values in spoof.items():
        content += utt.encode() + b" "
        places[utt] = len(content)
        matrix = np.stack([-values, values], axis=1).astype("<f4")
        content += b"\0BFM " + b"".join(b"\4" + size.to_bytes(4, "little") for size in matrix.shape) + matrix.tobytes()
    return content, places


def _pickle(spoof):
    rows = [np.array([[utt, x, -x, 1] for x in values.tolist()]).astype("<U32") for utt, values in spoof.items()]
    return pickle.dumps(rows, protocol=4)


def _saved(save):
    buffer = io.BytesIO()
    save(buffer)
    return buffer.getvalue()


def _table(spoof):
    ids = [utt for utt, values in spoof.items() for _ in values]
    frames = [k for values in spoof.values() for k in range(len(values))]
    return pa.table({"utterance": ids, "frame": frames, "score": np.concatenate(list(spoof.values()))})


def _arrow(buffer, spoof):
    table = pa.table({"utterance": list(spoof), "scores": [values.tolist() for values in spoof.values()]})
    with pa.ipc.new_file(buffer, table.schema) as writer:
        writer.write_table(table)


def _rttm(spoof):
    line = "SPEAKER {} 1 {:7.3f} {:7.3f} <NA> <NA> {} <NA> <NA>\n"
    return "".join(
        line.format(utt, a * HOP, (b - a) * HOP, label) for utt, runs in decided(spoof).items() for a, b, label in runs
    ).encode()


def _had(spoof):
    letters = {"bonafide": "T", "spoof": "F"}
    return "".join(
        f"{utt} {'/'.join(f'{a * HOP:.2f}-{b * HOP:.2f}-{letters[label]}' for a, b, label in runs)}\n"
        for utt, runs in decided(spoof).items()
    ).encode()


def _segments(spoof):
    return "".join(
        f"{utt} {FRAMES * HOP:.3f} spoof {' '.join(f'{a * HOP:.3f}-{b * HOP:.3f}-{label}' for a, b, label in runs)}\n"
        for utt, runs in decided(spoof).items()
    ).encode()


def _spoofs(spoof):
    """Ranges called spoof, and nothing else."""
    ranges = {u: [[a * HOP, b * HOP] for a, b, label in runs if label == "spoof"] for u, runs in decided(spoof).items()}
    return json.dumps(ranges).encode()


def _sed(values):
    rows = (f"{k * HOP:.2f}\t{(k + 1) * HOP:.2f}\t{-x:.6f}\t{x:.6f}\n" for k, x in enumerate(values.tolist()))
    return ("onset\toffset\tbonafide\tspoof\n" + "".join(rows)).encode()


FOREIGN = {
    "hypothesis-json": lambda s: Sample("hypothesis-json", {"ranges.json": _spoofs(s)}),
    "sed-scores": lambda s: Sample(
        "sed-scores", {f"{utt}.tsv": _sed(values) for utt, values in s.items()}, one_file_each=True
    ),
    "hypothesis-rttm": lambda s: Sample("hypothesis-rttm", {"decisions.rttm": _rttm(s)}),
    "hypothesis-had": lambda s: Sample("hypothesis-had", {"decisions.txt": _had(s)}),
    "hypothesis-segments": lambda s: Sample("hypothesis-segments", {"decisions.txt": _segments(s)}),
    "unit-score": lambda s: Sample("unit-score", {"unit0.02.score": _lines(_probabilities, s)}),
    "wedefense-logits": lambda s: Sample(
        "wedefense-logits",
        {"logits_frame_20ms.txt": _lines(lambda utt, k, x: f"{utt}\t{k}\t{-x:.6f}\t{x:.6f}\tunknown\n", s)},
    ),
    "frame-score": lambda s: Sample(
        "frame-score", {"scores.txt": _lines(lambda utt, k, x: f"{utt} {k} {x:.6f}\n", s)}, NOT_STATED
    ),
    "partialspoof-pickle": lambda s: Sample("partialspoof-pickle", {"eval_score_ali_2_20230101.pkl": _pickle(s)}),
    "kaldi-ark": lambda s: Sample("kaldi-ark", {"logits.ark": _archive(s)[0], **LABEL_ORDER}, {"hop": HOP}),
    "kaldi-scp": lambda s: Sample(
        "kaldi-scp",
        {
            "logits.scp": "".join(f"{utt} exp/logits.ark:{at}\n" for utt, at in _archive(s)[1].items()).encode(),
            "logits.ark": _archive(s)[0],
            **LABEL_ORDER,
        },
        {"hop": HOP},
    ),
    "npz": lambda s: Sample("npz", {"scores.npz": _saved(lambda to: np.savez(to, **s))}, NOT_STATED),
    "npy-dict": lambda s: Sample("npy-dict", {"scores.npy": _saved(lambda to: np.save(to, s))}, NOT_STATED),
    "json-frames": lambda s: Sample(
        "json-frames",
        {"scores.json": json.dumps({utt: v.tolist() for utt, v in s.items()}).encode()},
        NOT_STATED,
    ),
    "parquet": lambda s: Sample(
        "parquet", {"scores.parquet": _saved(lambda to: pq.write_table(_table(s), to))}, NOT_STATED
    ),
    "arrow": lambda s: Sample("arrow", {"scores.arrow": _saved(lambda to: _arrow(to, s))}, NOT_STATED),
    "csv": lambda s: Sample(
        "csv",
        {
            "scores.csv": b"utterance,start,end,score\n"
            + _lines(lambda utt, k, x: f"{utt},{k * HOP:.2f},{(k + 1) * HOP:.2f},{x:.6f}\n", s)
        },
        {"higher": "spoof"},
    ),
    "tsv": lambda s: Sample(
        "tsv",
        {"scores.tsv": b"utterance\tframe\tscore\n" + _lines(lambda utt, k, x: f"{utt}\t{k}\t{x:.6f}\n", s)},
        NOT_STATED,
    ),
    "jsonl": lambda s: Sample(
        "jsonl",
        {
            "scores.jsonl": "".join(
                json.dumps({"utterance": utt, "scores": v.tolist()}) + "\n" for utt, v in s.items()
            ).encode()
        },
        NOT_STATED,
    ),
}


def foreign_scores(name, ids):
    return FOREIGN[name](spoofness(ids))


def mirrored_foreign_scores(name, ids):
    """The same scores the other way round, for formats that must be told."""
    sample = FOREIGN[name]({utt: -values for utt, values in spoofness(ids).items()})
    return replace(sample, options=sample.options | {"higher": "bonafide"})
