"""One small corpus in every format: as the package writes it, and as the tools that own the formats do."""

import io
import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from spoofspan import References, Scores
from spoofspan.formats.registry import REFERENCE_FORMATS, SCORE_FORMATS

HOP, FRAMES = 0.02, 50
NOT_HERE = set() if find_spec("torch") else {"torch"}  # formats whose package is not installed
TEXT = {
    *("rttm", "segment-list", "had", "vad", "audacity", "lavdf", "avdeepfake1m", "csv", "tsv", "jsonl"),
    *("unit-score", "wedefense-logits", "frame-score", "kaldi-scp", "textgrid", "json-ranges", "sed-scores"),
    *("hypothesis-rttm", "hypothesis-had", "hypothesis-segments", "hypothesis-json", "hypothesis-language-model"),
    *("lab", "range-lines", "kaldi-segments", "lhotse", "nemo", "label-studio", "activitynet", "json-segments"),
    *("language-model", "elan", "list-cells"),
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


# --- scores of whole utterances: what a file of each format begins with, and what must be told

UTTERANCE_LINES = {
    "utt-score": "u1 0.75 0.25\nu2 0.5 0.4\nu3 -1.5 2.0\n",
    "two-scores": "u1.flac 0.75 0.25\nu2.flac 0.5 0.4\nu3.flac -1.5 2.0\n",
    "plain-scores": "u1 0.75\nu2 0.5\nu3 -1.5\n",
    "asvspoof2019-scores": "u1 A11 spoof 0.75\nu2 - bonafide 0.5\nu3 A07 spoof -1.5\n",
    "score-label": "u1 0.75 spoof\nu2 0.5 bonafide\nu3 -1.5 spoof\n",
    "asvspoof5-lines": "s1 u1 0.75 bonafide\ns1 u2 0.5 spoof\ns2 u3 -1.5 bonafide\n",
    "sasv-trials": "s1 u1 0.75 target\ns1 u2 0.5 nontarget\ns2 u3 -1.5 spoof\ns2 u4 0.25 target\n",
    "av-deepfake1m-detection": "a/u1.mp4;0.25\na/u2.mp4;0.4\nu3;2.0\n",
    "score-log": "Output, u1, 1, 0.75\nOutput, u2, 0, 0.5\nOutput, u3, 0, -1.5\n",
    "score-energy-log": "Output, u1, 1, 0.75, 3.5\nOutput, u2, 0, 0.5, 4.5\nOutput, u3, 0, -1.5, 2.5\n",
    "log-output": "".join(f"Output, u{i}, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, {i}.25\n" for i in range(4)),
    "esdd2": "u1.wav|3|0.75|0.25|0.5\nu2.wav|0|0.5|0.75|0.25\nu3.wav|1|-1.5|0.5|0.125\n",
    "asvspoof5": "filename\tcm-score\nu1\t0.25\nu2\t0.4\nu3\t2.0\n",
    "utterance-table": "utt_id,score\nu1,0.25\nu2,0.4\nu3,2.0\n",
}
TOLD_OF_UTTERANCES = {
    "two-scores": {"column": "second", "higher": "bonafide"},
    "plain-scores": {"higher": "bonafide"},
    "asvspoof2019-scores": {"higher": "bonafide"},
    "score-label": {"higher": "bonafide"},
    "esdd2": {"column": "s2", "higher": "bonafide"},
    "utterance-table": {"higher": "bonafide"},
}


# --- as the package writes them

AUDIOVISUAL = ("lavdf", "avdeepfake1m")
SPOOFS_ONLY = (*AUDIOVISUAL, "json-ranges", "language-model")  # these list spoofs, and mean bona fide elsewhere
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
    "lab": "{}.lab",
    "torch": "labels.pt",
    "list-cells": "labels.csv",
    "json-labels": "labels.json",
    "cfprf-labels": "HAD_seg_tar_dict.npy",
    "range-lines": "ranges.txt",
    "kaldi-segments": "corpus.segments",
    "lhotse": "supervisions.jsonl",
    "nemo": "manifest.json",
    "label-studio": "export.json",
    "activitynet": "activity.json",
    "json-segments": "segments.json",
    "language-model": "answers.jsonl",
    "elan": "{}.eaf",
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
TOLD = {"frame-score", "kaldi-ark"}  # hop and polarity are not in the file


def listed(ids):
    """Every range as text: utterance, start, end, label."""
    rows = []
    for utt in ids:
        edges = [0, first_spoof(utt), first_spoof(utt) + FRAMES // 2, FRAMES]
        for a, b, label in zip(edges, edges[1:], ("bonafide", "spoof", "bonafide"), strict=False):
            rows.append((utt, f"{a * HOP:.3f}", f"{b * HOP:.3f}", label))
    return rows


def by_utterance(ids, item):
    """What is made of each range, by utterance."""
    found = {utt: [] for utt in ids}
    for utt, start, end, label in listed(ids):
        found[utt].append(item(float(start), float(end), label))
    return found


def _json_lines(rows):
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def _eaf(ranges):
    slots = "".join(
        f'<TIME_SLOT TIME_SLOT_ID="t{i}{side}" TIME_VALUE="{round(time * 1000)}"/>'
        for i, (*times, _) in enumerate(ranges)
        for side, time in zip("ab", times, strict=True)
    )
    notes = "".join(
        f'<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a{i}" TIME_SLOT_REF1="t{i}a" TIME_SLOT_REF2="t{i}b">\n'
        f"<ANNOTATION_VALUE>{label}</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>\n"
        for i, (_, _, label) in enumerate(ranges)
    )
    words = '<TIER TIER_ID="words"><ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="w" TIME_SLOT_REF1="t0a" '
    words += (
        'TIME_SLOT_REF2="t0b"><ANNOTATION_VALUE>hello</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION></TIER>'
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<ANNOTATION_DOCUMENT FORMAT="3.0">\n'
        f"<TIME_ORDER>{slots}</TIME_ORDER>\n"
        f'<TIER TIER_ID="spoof">{notes}</TIER>\n{words}</ANNOTATION_DOCUMENT>\n'
    )


def _answer(regions):
    return json.dumps({"real_or_fake": "fake" if regions else "real", "fake_region": regions})


# Formats that are read only, as their tools write them.
FOREIGN_REFERENCES = {
    "range-lines": lambda ids: "".join(f"{' '.join(row)}\n" for row in listed(ids)),
    "kaldi-segments": lambda ids: "".join(
        f"{utt}-{i} {utt} {start} {end}\n" for i, (utt, start, end, _) in enumerate(listed(ids))
    ),
    "lhotse": lambda ids: _json_lines(
        {"id": f"{utt}-{a}", "recording_id": utt, "start": float(a), "duration": round(float(b) - float(a), 3)}
        | {"channel": 0, "text": "hello", "custom": {"label": label}}
        for utt, a, b, label in listed(ids)
    ),
    "nemo": lambda ids: _json_lines(
        {"audio_filepath": f"/data/{utt}.wav", "offset": float(a), "duration": round(float(b) - float(a), 3)}
        | {"label": label}
        for utt, a, b, label in listed(ids)
    ),
    "label-studio": lambda ids: json.dumps(
        [
            {"id": 1, "data": {"audio": f"/data/upload/1/0a1b2c3d-{utt}.wav"}, "annotations": [{"result": results}]}
            for utt, results in by_utterance(
                ids,
                lambda a, b, label: {
                    "type": "labels",
                    "original_length": FRAMES * HOP,
                    "value": {"start": a, "end": b, "labels": [label]},
                },
            ).items()
        ]
    ),
    "activitynet": lambda ids: json.dumps(
        {
            "version": "1.3",
            "database": {
                utt: {"duration": FRAMES * HOP, "subset": "test", "annotations": found}
                for utt, found in by_utterance(ids, lambda a, b, label: {"segment": [a, b], "label": label}).items()
            },
        }
    ),
    "json-segments": lambda ids: json.dumps(
        {
            utt: {"duration": FRAMES * HOP, "segments": found}
            for utt, found in by_utterance(ids, lambda *row: list(row)).items()
        }
    ),
    "language-model": lambda ids: _json_lines(
        {"utt_id": utt, "response": f"It is: {_answer([pair for pair in found if pair])}"}
        for utt, found in by_utterance(ids, lambda a, b, label: [a, b] if label == "spoof" else None).items()
    ),
}


def frame_labels(ids):
    """1 for spoof, at every hop."""
    at = {utt: np.arange(FRAMES) - first_spoof(utt) for utt in ids}
    return {utt: ((k >= 0) & (k < FRAMES // 2)).astype(np.int64) for utt, k in at.items()}


def written_references(name, ids):
    file = REFERENCE_FILES[name]
    if name in ("torch", "list-cells", "cfprf-labels", "json-labels"):
        labels, told = frame_labels(ids), {"hop": HOP, "spoof_label": 1}
        rows = "".join(f'{utt},"{one.tolist()}"\n' for utt, one in labels.items())
        content = {
            "torch": lambda: _torch(labels),
            "json-labels": lambda: json.dumps({utt: one.tolist() for utt, one in labels.items()}).encode(),
            "list-cells": lambda: f"utt_id,frame_labels\n{rows}".encode(),
            "cfprf-labels": lambda: _saved(lambda to: np.save(to, {utt: 1 - one for utt, one in labels.items()})),
        }[name]()
        return Sample(name, {file: content}, {"durations": durations(ids), **(told if name != "cfprf-labels" else {})})
    if name == "elan":
        files = {file.format(utt): _eaf(r).encode() for utt, r in by_utterance(ids, lambda *row: row).items()}
        return Sample(name, files, {"durations": durations(ids)}, one_file_each=True)
    if name in FOREIGN_REFERENCES:
        files = {file: FOREIGN_REFERENCES[name](ids).encode()}
        if name == "kaldi-segments":
            lines = (f"{utt}-{i} {label}\n" for i, (utt, _, _, label) in enumerate(listed(ids)))
            files["corpus.utt2label"] = "".join(lines).encode()
        return Sample(name, files, {"durations": durations(ids)})
    form, corpus = REFERENCE_FORMATS.named(name), references(ids, name in SPOOFS_ONLY)
    options = {"durations": durations(ids)}
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


def _torch(arrays):
    import torch

    return _saved(lambda to: torch.save({utt: torch.tensor(values) for utt, values in arrays.items()}, to))


FOREIGN = {
    "hypothesis-language-model": lambda s: Sample(
        "hypothesis-language-model",
        {
            "answers.json": json.dumps(
                {
                    utt: _answer([[a * HOP, b * HOP] for a, b, label in runs if label == "spoof"])
                    for utt, runs in decided(s).items()
                }
            ).encode()
        },
    ),
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
    "cfprf-scores": lambda s: Sample(
        "cfprf-scores", {"HAD_seg_score_dict.npy": _saved(lambda to: np.save(to, {u: -v for u, v in s.items()}))}
    ),
    "torch": lambda s: Sample("torch", {"scores.pt": _torch(s)}, NOT_STATED),
    "list-cells": lambda s: Sample(
        "list-cells",
        {"scores.csv": ("utt_id,scores\n" + "".join(f'{u},"{v.tolist()}"\n' for u, v in s.items())).encode()},
        NOT_STATED,
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


for _name in NOT_HERE:
    del REFERENCE_FILES[_name], FOREIGN[_name]


def foreign_scores(name, ids):
    return FOREIGN[name](spoofness(ids))


def mirrored_foreign_scores(name, ids):
    """The same scores the other way round, for formats that must be told."""
    sample = FOREIGN[name]({utt: -values for utt, values in spoofness(ids).items()})
    return replace(sample, options=sample.options | {"higher": "bonafide"})
