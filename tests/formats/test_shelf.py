"""A shelf of files in the forms that tools of the field write: each is read to the right numbers, or refused with the
command that works.

One table of cases: who writes the form, its bytes, what is typed, and what comes out. The corpus is the same in all:
u1 is bona fide to 0.5 s and spoofed to 1 s, u2 is bona fide for 1 s; systems score u1's second half as spoof.
"""

import io
import json
import pickle
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from command_line import run
from utterance_corpora import REAL

RTTM = (
    "SPEAKER u1 1 0.000 0.500 <NA> <NA> bonafide <NA> <NA>\n"
    "SPEAKER u1 1 0.500 0.500 <NA> <NA> spoof <NA> <NA>\n"
    "SPEAKER u2 1 0.000 1.000 <NA> <NA> bonafide <NA> <NA>\n"
)
KEY = "S1 u1 - A07 spoof\nS1 u2 - - bonafide\nS2 u3 - A08 spoof\nS2 u4 - - bonafide\n"
COMPANIONS = {
    "ref.rttm": RTTM,
    "key.txt": KEY,
    "reco2dur": "u1 1.0\nu2 1.0\n",
    "unit0.5.score": "u1 0 0.9 0.1\nu1 1 0.2 0.8\nu2 0 0.9 0.2\nu2 1 0.8 0.3\n",
    "scores.tsv": "filename\tcm-score\nu1\t-1\nu2\t1\nu3\t-2\nu4\t2\n",
    "asv.txt": "bonafide target 2\nbonafide nontarget -1\nA07 spoof 1\nA08 spoof 0\n",
    "utt2label": "s1 bonafide\ns2 spoof\ns3 bonafide\n",
}


def saved(save):
    buffer = io.BytesIO()
    save(buffer)
    return buffer.getvalue()


def parquet(**columns):
    return saved(lambda to: pq.write_table(pa.table(columns), to))


def arrow(**columns):
    table = pa.table(columns)

    def write(to):
        with pa.ipc.new_stream(to, table.schema) as writer:
            writer.write_table(table)

    return saved(write)


def lines(*rows):
    return "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)


def tensors(values):
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[torch]'")

    return saved(lambda to: torch.save({utt: torch.tensor(one) for utt, one in values.items()}, to))


def pickled_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[torch]'")

    return pickle.dumps({"u1": torch.tensor([0.1, 0.9])})


@dataclass(frozen=True)
class Case:
    """A file, what is typed ({} is the file), and the value of the last measure or a part of the refusal."""

    whose: str
    name: str
    content: object
    command: str
    value: float | None = None
    refusal: str = ""
    beside: dict = field(default_factory=dict)


UTT = "eval key.txt --utterance-scores {} -m utterance-eer"
REF = "eval {} unit0.5.score -m range-eer"
FRAMES = "eval ref.rttm {} -m range-eer"
SCORES = {"u1": [0.1, 0.8], "u2": [0.2, 0.3]}  # high = spoof
TOLD = " --hop 0.5 --higher spoof"
EAF = (
    '<?xml version="1.0"?><ANNOTATION_DOCUMENT><TIME_ORDER><TIME_SLOT TIME_SLOT_ID="a" TIME_VALUE="0"/>'
    '<TIME_SLOT TIME_SLOT_ID="b" TIME_VALUE="500"/><TIME_SLOT TIME_SLOT_ID="c" TIME_VALUE="1000"/></TIME_ORDER>'
    '<TIER TIER_ID="t"><ANNOTATION><ALIGNABLE_ANNOTATION TIME_SLOT_REF1="a" TIME_SLOT_REF2="b"><ANNOTATION_VALUE>'
    "bonafide</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION><ANNOTATION><ALIGNABLE_ANNOTATION "
    'TIME_SLOT_REF1="b" TIME_SLOT_REF2="c"><ANNOTATION_VALUE>spoof</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION>'
    "</ANNOTATION></TIER></ANNOTATION_DOCUMENT>"
)
LLM = {"u1": '{"real_or_fake": "fake", "fake_region": [[0.5, 1.0]]}', "u2": '{"real_or_fake": "real"}'}
LONG_RTTM = (
    "SPEAKER u1 1 0.0 0.5 <NA> <NA> bonafide <NA> <NA>\nSPEAKER u1 1 0.5 0.8 <NA> <NA> spoof <NA> <NA>\n"
    "SPEAKER u1 1 0.8 2.0 <NA> <NA> bonafide <NA> <NA>\n"
)
LABELS = {"u1": [0, 1], "u2": [0, 0]}  # 1 = spoof

CASES = [
    # scores of whole utterances
    Case(
        "SCL, one of two logits",
        "s.txt",
        "u1 2 -4.7\nu2 -1 1.5\nu3 2 -3.0\nu4 -1 0.5\n",
        "eval key.txt {} --column second --higher bonafide",
        0.0,
    ),
    Case(
        "ASVspoof 5, a verification system",
        "asv.tsv",
        "spk\ttrial\tasv-label\tasv-score\nS1\tu1\tspoof\t1\nS1\tu2\ttarget\t2\n",
        "eval key.txt {}",
        refusal="its only scores are those of a speaker verification system (asv-score)",
    ),
    Case(
        "ASVspoof 2019, a verification system",
        "asv2.txt",
        COMPANIONS["asv.txt"],
        "eval key.txt {}",
        refusal="use: spoofspan eval KEY SCORES --asv-scores asv2.txt -m utterance-min-tdcf",
    ),
    Case(
        "two columns without a polarity",
        "s.csv",
        "utt,score_a,score_b\nu1,0.1,0.2\nu2,0.3,0.4\n",
        "eval key.txt {}",
        refusal="score_a, score_b; name the one to read: --column, and what high values of it mean: --higher bonafide",
    ),
    Case("ASVspoof 2021", "s.txt", "u1 -4.7\nu2 1.5\nu3 -3.0\nu4 0.5\n", UTT + " --higher bonafide", 0.0),
    Case(
        "ASVspoof 2021", "s.txt", "u1 -4.7\nu2 1.5\nu3 -3.0\nu4 0.5\n", UTT, refusal="give --higher bonafide or spoof"
    ),
    Case("ASVspoof 2021", "s.txt", "u1 -4.7\nu2 1.5\nu3 -3.0\nu4 0.5\n", UTT + " --higher spoof", 1.0),
    Case(
        "ASVspoof 2021",
        "s.txt",
        "u1 -4.7\nu2 1.5\nu3 -3.0\nu4 0.5\n",
        "eval --benchmark asvspoof2021-la key.txt {} --asv-scores asv.txt",
        0.0,
    ),
    Case("Speech DF Arena", "s.txt", "u1 -4\nu2 1\nu3 -3\nu4 2\n", "eval --benchmark speech-df-arena key.txt {}", 0.0),
    Case(
        "ASVspoof 2019",
        "s.txt",
        "u1 A07 spoof -1\nu2 - bonafide 1\nu3 A08 spoof 0.5\nu4 - bonafide 0\n",
        "eval --benchmark asvspoof2019-la key.txt {} --asv-scores asv.txt",
        0.5,
    ),
    Case(
        "AIR-ASVspoof",
        "s.txt",
        "u1 A07 spoof 0.9\nu2 - bonafide -1\nu3 A08 spoof 0.8\nu4 - bonafide -0.9\n",
        UTT,
        refusal="(its first lines have a median of -0.95 for bona fide and of 0.85 for spoof); give --higher",
    ),
    Case(
        "spoof-superb",
        "s.txt",
        "u1.flac - spoof -2\nu2.flac - bonafide 1\n",
        "eval {} --utterance-scores {} -m utterance-eer --higher bonafide",
        0.0,
    ),
    Case(
        "spoof-superb",
        "s.txt",
        "u1.flac - spoof -2\nu2.flac - bonafide 1\n",
        UTT + " --higher bonafide",
        refusal="'u1'",
    ),
    Case(
        "ASVspoof2021_AIR",
        "s.txt",
        "u1 -0.8 spoof\nu2 0.9 bonafide\nu3 -0.9 spoof\nu4 0.7 bonafide\n",
        UTT + " --higher bonafide",
        0.0,
    ),
    Case(
        "NII's scripts",
        "log",
        "Start\nOutput, u1, 0, -0.5\nx\nOutput, u2, 1, 0.5\nOutput, u3, 0, -1\nOutput, u4, 1, 2\n",
        UTT,
        0.0,
    ),
    Case(
        "NII's scripts",
        "log",
        "Output, u1, 0, -1, 3\nOutput, u2, 1, 0, 3\nOutput, u3, 0, -1, 4\nOutput, u4, 1, 2, 1\n",
        UTT,
        0.0,
    ),
    Case(
        "SCL", "s.txt", "u1 2.1 -2.9\nu2 -2.9 1.5\nu3 1.0 -1.0\nu4 -2.0 0.5\n", UTT, refusal="--utterance-scores-format"
    ),
    Case(
        "SCL",
        "s.txt",
        "u1 2.1 -2.9\nu2 -2.9 1.5\nu3 1.0 -1.0\nu4 -2.0 0.5\n",
        UTT + " --utterance-scores-format two-scores --utterance-column second --higher bonafide",
        0.0,
    ),
    Case("partialspoof-metrics", "utt.score", "u1 0.1 0.9\nu2 0.9 0.1\nu3 0.2 0.8\nu4 0.8 0.2\n", UTT, 0.0),
    Case("pandas", "s.csv", "utt_id,score\nu1,-1\nu2,1\nu3,-2\nu4,2\n", UTT + " --higher bonafide", 0.0),
    Case("pandas", "s.csv", ",path,prob_fake\n0,u1,0.9\n1,u2,0.1\n2,u3,0.8\n3,u4,0.2\n", UTT, 0.0),
    Case(
        "DeepFense",
        "s.csv",
        "ID_audio,label,score_spoof,score_bonafide\nu1,0,1.8,-0.8\nu2,1,-1,2\nu3,0,1.5,-1\nu4,1,-2,3\n",
        UTT,
        refusal="several columns of scores, score_spoof, score_bonafide; name the one to read: --column",
    ),
    Case(
        "DeepFense",
        "s.csv",
        "ID_audio,label,score_spoof,score_bonafide\nu1,0,1.8,-0.8\nu2,1,-1,2\nu3,0,1.5,-1\nu4,1,-2,3\n",
        UTT + " --utterance-column score_bonafide",
        0.0,
    ),
    Case(
        "pandas",
        "s.parquet",
        parquet(key=["u1", "u2", "u3", "u4"], logit=[-1.0, 1, -1, 1]),
        UTT + " --higher bonafide",
        0.0,
    ),
    Case(
        "JSON Lines",
        "s.jsonl",
        lines(*({"file": f"u{i}", "score": (-1) ** i} for i in range(1, 5))),
        UTT + " --higher bonafide",
        0.0,
    ),
    Case(
        "ESDD2",
        "s.txt",
        "u1|1|0.1|0.2|0.3\nu2|0|0.9|0.8|0.7\nu3|1|0|0|0\nu4|0|1|1|1\n",
        UTT,
        refusal="--column s1",
    ),
    Case(
        "ESDD2",
        "s.txt",
        "u1|1|0.1|0.2|0.3\nu2|0|0.9|0.8|0.7\nu3|1|0|0|0\nu4|0|1|1|1\n",
        UTT + " --utterance-column s2 --higher bonafide",
        0.0,
    ),
    Case("AV-Deepfake1M", "prediction.txt", "u1;0.9\nu2;0.1\nu3;0.8\nu4;0.2\n", UTT, 0.0),
    Case("ASVspoof 5", "s.txt", "S1 u1 -2 spoof\nS1 u2 1 bonafide\nS2 u3 -1 spoof\nS2 u4 2 bonafide\n", UTT, 0.0),
    Case(
        "ASVspoof 5",
        "asv.tsv",
        "spk\ttrial\tasv-label\tasv-score\nA\tx\ttarget\t2\nA\ty\tnontarget\t-1\nA\tz\tspoof\t1\n",
        "eval key.txt --utterance-scores scores.tsv --asv-scores {} -m utterance-min-tdcf -m utterance-eer",
        0.0,
    ),
    # keys
    Case(
        "ASVspoof 5",
        "key.tsv",
        "tar_spk trial cm-label asv-label attack codec tag\nA u1 spoof spoof A07 c1 -\nA u2 bonafide target A00 c1 -\n"
        "A u3 spoof spoof A08 - -\nA u4 bonafide nontarget bonafide - -\n",
        "eval {} --utterance-scores scores.tsv -m utterance-eer --by attack",
        0.0,
    ),
    Case(
        "ASVspoof 5",
        "key.txt2",
        "A u1 spoof spoof A07 c1 -\nA u2 bonafide target A00 c1 -\nA u3 spoof spoof A08 - -\n"
        "A u4 bonafide target - - -\n",
        "eval {} --utterance-scores scores.tsv -m utterance-eer",
        0.0,
    ),
    Case(
        "keys with A00",
        "k.txt",
        KEY.replace("- - bon", "- A00 bon"),
        "eval {} --utterance-scores scores.tsv -m utterance-eer",
        0.0,
    ),
    Case(
        "ADD 2022",
        "k.txt",
        "u1 fake\nu2 genuine\nu3 fake\nu4 genuine\n",
        "eval {} --utterance-scores scores.tsv -m utterance-eer",
        0.0,
    ),
    Case(
        "ASVspoof 2021",
        "trial_metadata.txt",
        "".join(f"S u{i} alaw ita_tx A07 {'spoof' if i % 2 else 'bonafide'} notrim eval\n" for i in range(1, 5)),
        "eval {} --utterance-scores scores.tsv -m utterance-eer",
        0.0,
    ),
    Case(
        "the Arena",
        "labels.parquet",
        parquet(utterance_id=["u1", "u2", "u3", "u4"], label=["spoof", "bonafide"] * 2),
        "eval {} --utterance-scores scores.tsv -m utterance-eer",
        0.0,
    ),
    Case(
        "pandas",
        "k.csv",
        "file,label\nu1,1\nu2,0\nu3,1\nu4,0\n",
        "eval {} --utterance-scores scores.tsv -m utterance-eer",
        refusal="give --spoof-label 1",
    ),
    Case(
        "pandas",
        "k.csv",
        "file,label\nu1,1\nu2,0\nu3,1\nu4,0\n",
        "eval {} --utterance-scores scores.tsv -m utterance-eer --spoof-label 1",
        0.0,
    ),
    # labels in time
    Case(
        "SPADE",
        "l.parquet",
        parquet(utt=list(LABELS), labels=list(LABELS.values())),
        REF + " --hop 0.5 --spoof-label 1",
        0.0,
    ),
    Case(
        "SPADE",
        "l.parquet",
        parquet(utt=list(LABELS), labels=list(LABELS.values())),
        REF + " --spoof-label 1",
        refusal="give --reference-hop in seconds",
    ),
    Case(
        "SPADE",
        "l.parquet",
        parquet(utt=list(LABELS), labels=list(LABELS.values())),
        REF + " --hop 0.5",
        refusal="give --spoof-label 1 if 1 means spoof",
    ),
    Case(
        "DeepFense",
        "l.parquet",
        parquet(
            ID=list(LABELS),
            path=["a/u1.wav", "a/u2.wav"],
            label=["spoof", "bonafide"],
            dataset_name=["x", "x"],
            frame_labels=list(LABELS.values()),
        ),
        REF + " --hop 0.5 --spoof-label 1",
        0.0,
    ),
    Case("numpy", "l.npz", saved(lambda to: np.savez(to, **LABELS)), REF + " --hop 0.5 --spoof-label 1", 0.0),
    Case(
        "numpy",
        "l.npy",
        saved(lambda to: np.save(to, {u: np.array(v) for u, v in LABELS.items()})),
        REF + " --hop 0.5 --spoof-label 1",
        0.0,
    ),
    Case(
        "pickle",
        "l.pkl",
        pickle.dumps({u: np.array(v) for u, v in LABELS.items()}),
        REF + " --hop 0.5 --spoof-label 1",
        0.0,
    ),
    Case("pandas", "l.csv", 'utt,frame_labels\nu1,"[0, 1]"\nu2,"[0, 0]"\n', REF + " --hop 0.5 --spoof-label 1", 0.0),
    Case(
        "lhotse",
        "sup.jsonl",
        lines(
            {"id": "a", "recording_id": "u1", "start": 0, "duration": 0.5, "custom": {"label": "bonafide"}},
            {"id": "b", "recording_id": "u1", "start": 0.5, "duration": 0.5, "custom": {"label": "spoof"}},
            {"id": "c", "recording_id": "u2", "start": 0, "duration": 1, "text": "bonafide"},
        ),
        REF,
        0.0,
    ),
    Case(
        "lhotse",
        "cuts.jsonl",
        lines(
            *(
                {
                    "id": f"{utt}-0",
                    "start": 0,
                    "duration": 1.0,
                    "type": "MonoCut",
                    "recording": {"id": utt, "duration": 1.0},
                    "supervisions": found,
                }
                for utt, found in {"u1": [{"start": 0.5, "duration": 0.5, "text": "spoof"}], "u2": []}.items()
            )
        ),
        REF + " --gaps bonafide",
        0.0,
    ),
    Case(
        "NeMo",
        "manifest.json",
        lines(
            {"audio_filepath": "/d/u1.wav", "offset": 0, "duration": 0.5, "label": "bonafide"},
            {"audio_filepath": "/d/u1.wav", "offset": 0.5, "duration": 0.5, "label": "spoof"},
            {"audio_filepath": "/d/u2.wav", "duration": 1.0, "label": "bonafide"},
        ),
        REF,
        0.0,
    ),
    Case("numpy", "l.npz", saved(lambda to: np.savez(to, **LABELS)), REF, refusal="in seconds with --reference-hop"),
    Case("HTK", "u1.lab", "0 5000000 bonafide\n5000000 10000000 spoof\n", REF, refusal="HTK's times are in 100 ns"),
    Case("MFA", "u1.csv", "Begin,End,Label,Type,Speaker\n0.1,0.4,hi,words,s\n", REF, refusal="--regions words.uem"),
    Case("TeX", "a.txt", "\\section{a}\n\\item b\n", REF, refusal="no reference format is recognised"),
    Case("Kaldi", "segments", "s1 u1 0 0.5\ns2 u1 0.5 1.0\ns3 u2 0 1.0\n", REF, 0.0),
    Case("Kaldi", "other/segments", "s1 u1 0 0.5\ns2 u1 0.5 1.0\n", REF, refusal="put a file utt2label with lines"),
    Case(
        "Label Studio",
        "export.json",
        json.dumps(
            [
                {"data": {"audio": f"/up/0123abcd-{utt}.wav"}, "annotations": [{"result": found}]}
                for utt, found in {
                    "u1": [
                        {"type": "labels", "original_length": 1, "value": {"start": 0.5, "end": 1, "labels": ["spoof"]}}
                    ],
                    "u2": [],
                }.items()
            ]
        ),
        REF + " --gaps bonafide --durations reco2dur",
        0.0,
    ),
    Case("ELAN", "u1.eaf", EAF, REF + " --partial", 0.0),
    Case(
        "ActivityNet",
        "gt.json",
        json.dumps(
            {
                "database": {
                    "u1": {
                        "duration": 1.0,
                        "subset": "test",
                        "annotations": [{"segment": [0.5, 1.0], "label": "fake"}],
                    },
                    "u2": {"duration": 1.0, "subset": "test", "annotations": []},
                    "u9": {"duration": 1.0, "subset": "train", "annotations": []},
                }
            }
        ),
        REF + " --gaps bonafide --split test",
        0.0,
    ),
    Case(
        "JSON",
        "seg.json",
        json.dumps({"u1": {"duration": 1.0, "segments": [[0.5, 1.0]]}, "u2": {"duration": 1.0, "segments": []}}),
        REF + " --gaps bonafide",
        0.0,
    ),
    Case("HTK, mir_eval", "u1.lab", "0.0 0.5 bonafide\n0.5 1.0 spoof\n", REF + " --partial", 0.0),
    Case("lines", "l.txt", "u1 0.0 0.5 bonafide\nu1 0.5 1.0 A07\nu2 0.0 1.0 bonafide\n", REF, 0.0),
    Case(
        "MFA-like names",
        "l.csv",
        "File,Begin,End,Label\nu1,0,0.5,bonafide\nu1,0.5,1,spoof\nu2,0,1,bonafide\n",
        REF,
        0.0,
    ),
    Case("language models", "a.json", json.dumps(LLM), REF + " --gaps bonafide --durations reco2dur", 0.0),
    Case(
        "language models",
        "a.jsonl",
        lines(*({"id": u, "output": one} for u, one in LLM.items())),
        REF + " --gaps bonafide --durations reco2dur",
        0.0,
    ),
    Case(
        "language models",
        "a.json",
        json.dumps({**LLM, "u1": '{"real_or_fake": "fake", "fake_region": "all"}'}),
        REF + " --gaps bonafide",
        refusal="all of it is spoofed, and its duration is not known; give --durations",
    ),
    Case("RTTM with ends", "ends.rttm", LONG_RTTM, REF, refusal="awk '{$5 = $5 - $4; print}'"),
    Case("MFA", "u1.csv", "Begin,End,Label,Type,Speaker\n0.1,0.4,hello,words,s1\n", "check {}", refusal=""),
    # scores in time
    Case("torch.save", "s.pt", lambda: tensors(SCORES), FRAMES + TOLD, 0.0),
    Case("torch.save", "s.pt", lambda: tensors(SCORES), FRAMES, refusal="give --hop and --higher"),
    Case("pickle of tensors", "s.pkl", pickled_tensors, FRAMES + TOLD, refusal="torch.save(load(open("),
    Case(
        "JSON",
        "s.json",
        json.dumps({u: [[1 - x, x - 1] for x in v] for u, v in SCORES.items()}),
        FRAMES + TOLD,
        refusal="--column",
    ),
    Case(
        "JSON",
        "s.json",
        json.dumps({u: [[1 - x, x - 1] for x in v] for u, v in SCORES.items()}),
        FRAMES + TOLD + " --column 1",
        0.0,
    ),
    Case("pandas", "s.csv", 'utt,scores\nu1,"[0.1, 0.8]"\nu2,"[0.2, 0.3]"\n', FRAMES + TOLD, 0.0),
    Case("pandas", "s.csv", "ID,begin,stop,prob_fake\nu1,0,0.5,0.1\nu1,0.5,1,0.8\nu2,0,1,0.2\n", FRAMES, 0.0),
    Case(
        "pandas",
        "s.csv",
        "utt,start,end,logit,cm_score\nu1,0,0.5,0.1,1\nu1,0.5,1,0.8,1\nu2,0,1,0.2,1\n",
        FRAMES,
        refusal="several columns may hold the scores, logit, cm_score; say which with --column",
    ),
    Case("pandas", "s.parquet", parquet(utt_id=list(SCORES), scores=list(SCORES.values())), FRAMES + TOLD, 0.0),
    Case("JSON Lines", "s.jsonl", lines(*({"key": u, "scores": v} for u, v in SCORES.items())), FRAMES + TOLD, 0.0),
    Case(
        "Hugging Face save_to_disk",
        "data/data-00000-of-00001.arrow",
        arrow(path=list(SCORES), scores=list(SCORES.values())),
        "eval ref.rttm data -m range-eer" + TOLD,
        0.0,
        beside={"data/state.json": "{}", "data/dataset_info.json": "{}"},
    ),
    Case(
        "CFPRF",
        "HAD_seg_score_dict.npy",
        saved(lambda to: np.save(to, {"u1": np.r_[np.full(25, 0.9), np.full(25, 0.2)], "u2": np.full(50, 0.9)})),
        FRAMES,
        0.0,
    ),
    Case(
        "CFPRF",
        "HAD_regver_dict.npy",
        saved(lambda to: np.save(to, {"u1": [[0.9, 0.5, 1.0]], "u2": np.array([])})),
        "eval --benchmark cfprf ref.rttm {} -m event-recall@iou=0.5",
        1.0,
    ),
    Case(
        "XPS-Forensic",
        "s.npz",
        saved(lambda to: np.savez(to, u1=np.r_[np.full(25, 0.1), np.full(25, 0.8)], u2=np.full(50, 0.1))),
        "eval --benchmark xps-forensic-2026-03 ref.rttm {} -m point-eer@20ms",
        0.0,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.whose}: {case.name}")
def test_a_file_of_the_field_is_read_or_refused_with_the_command(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    content = case.content() if callable(case.content) else case.content
    files = COMPANIONS | case.beside | {case.name: content}
    for name, one in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(one.encode() if isinstance(one, str) else one)
    code, said = run([*case.command.replace("{}", case.name).split(), "--format", "json"], capsys)
    if case.value is None:
        assert case.refusal in said.err
        assert code != 0 or not case.refusal
    else:
        assert code == 0, said.err
        assert json.loads(said.out)["measurements"][-1]["value"] == pytest.approx(case.value)


def test_the_shelf_is_long():
    assert len({(case.whose, case.name, str(case.content)) for case in CASES}) >= 50


# ---------------------------------------------------------------- what is this file?

PCM = b"RIFF\x24\0\0\0WAVEfmt "
KNOWN = {
    "sound": ("a.wav", PCM, "spoofspan locate a.wav"),
    "a tar archive": ("a.tar", b"a\0" + b"\0" * 255 + b"ustar" + b"\0" * 250, "tar -xf a.tar"),
    "a zip archive": ("a.zip", b"PK\x03\x04" + b"\0" * 40, "unzip a.zip"),
    "model weights (safetensors)": ("m.safetensors", b'\x10\0\0\0\0\0\0\0{"a": 1}        ', "spoofspan cm info"),
    "results of spoofspan": ("r.json", b'{"spoofspan": "1", "measurements": []}', "spoofspan verify r.json"),
    "durations (reco2dur)": ("reco2dur", b"u1 1.0\nu2 2.5\n", "--durations reco2dur"),
    "regions that count (UEM)": ("a.uem", b"u1 1 0.0 1.5\n", "--regions a.uem"),
    "words in time (CTM), without labels": (
        "a.ctm",
        b"u1 1 0.10 0.20 hello\n",
        "awk '{print $1, $2, $3, $3 + $4}' a.ctm",
    ),
    "words or phones in time": ("u1.csv", b"Begin,End,Label,Type,Speaker\n0.1,0.4,hi,words,s\n", "--regions words.uem"),
    "metadata": ("m.csv", b"utt,codec\nu1,mp3\n", "--metadata m.csv --by COLUMN"),
    "utterance labels": ("k.txt", KEY.encode(), "spoofspan eval k.txt SCORES"),
    "utterance scores": ("s.txt", b"u1 -1\nu2 0.5\n", "spoofspan eval KEY s.txt --higher bonafide|spoof"),
    "scores of a speaker verification system": ("asv.txt", b"bonafide target 2.5\n", "--asv-scores asv.txt"),
    "proposals": ("p.json", b'{"u1": [[0.9, 0.5, 1.0]]}', "spoofspan eval REFERENCES p.json -m event-ap"),
    "scores": ("s.npz", saved(lambda to: np.savez(to, u1=[0.1, 0.2])), "--hop SECONDS"),
    "references": ("r.rttm", RTTM.encode(), "spoofspan eval r.rttm SCORES"),
    "an empty file": ("e.txt", b"", ""),
    "a published result": ("result.yaml", b"schema_version: 1\nscores:\n  eer_percent: 2.1\n", ""),
    "a pickle": ("x.pkl", pickle.dumps(3), ""),
    "unknown (.xyz)": ("a.xyz", b"\x01\x02\x03\x04", "begins with 01 02 03 04"),
    "unknown (.md)": ("a.md", b"# hello \x1b[31m world\n", "'# hello \\x1b[31m world'"),
}


@pytest.mark.parametrize("what", KNOWN)
def test_check_says_what_a_file_is(what, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name, content, command = KNOWN[what]
    Path(name).write_bytes(content)
    code, said = run(["check", name], capsys)
    assert what in said.out
    assert command in said.out
    assert "\x1b" not in said.out
    assert (code == 3) == what.startswith("unknown")


@pytest.mark.skipif(not REAL.is_dir(), reason="the real scores are not here")
@pytest.mark.parametrize(
    ("name", "flags", "eer"),
    [
        ("air-ocsoftmax.eval.txt.gz", ["--higher", "spoof"], 0.0218),
        ("air-amsoftmax.eval.txt.gz", ["--higher", "bonafide"], 0.0316),
        ("ecapa-cfst.eval.txt.gz", ["--higher", "bonafide"], 0.0466),
        ("ecapa-ctsf.eval.txt.gz", ["--higher", "bonafide"], 0.0415),
        ("ecapa-cfst.dev.txt.gz", ["--higher", "bonafide"], 0.0023),
        ("nii-resnet-ocsoftmax.dev.log_output.gz", [], 0.0012),
    ],
)
def test_real_score_files_are_read(name, flags, eer, capsys):
    key = REAL / f"ASVspoof2019.LA.cm.{'dev' if '.dev.' in name else 'eval'}.trl.txt.gz"
    asv = REAL / key.name.replace(".cm.", ".asv.").replace(".trl.", ".gi.trl.scores.")
    measures = ["-m", "utterance-min-tdcf@form=2019", "-m", "utterance-eer", "--format", "json"]
    files = ["eval", key, "--utterance-scores", REAL / name, "--asv-scores", asv]
    code, said = run([*map(str, files), *flags, *measures], capsys)
    assert code == 0, said.err
    assert json.loads(said.out)["measurements"][-1]["value"] == pytest.approx(eer, abs=1e-4)
