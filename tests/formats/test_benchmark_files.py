"""Every benchmark measures files in the form that its own tools write, by the command that the documentation shows."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import run

import spoofspan as ss
from spoofspan.formats.datasets.benchmarks import benchmarks
from spoofspan.measures.measure import Measure

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
GOLDEN = Path(__file__).parents[1] / "golden"
FRAMES, HOP = 320, 0.02
NAMES = [f"u{i}" for i in range(6)]
SPOOFED = {name: (64 + 32 * i, 192 + 16 * i) for i, name in enumerate(NAMES) if i % 2}  # frames from, to


def frame_labels(name):
    """1 where a frame is spoof."""
    labels = np.zeros(FRAMES, int)
    labels[slice(*SPOOFED.get(name, (0, 0)))] = 1
    return labels


def spoof_scores(seed=0):
    """Scores of frames by utterance, from -1 to 1 and high where they are spoof."""
    rng = np.random.default_rng(seed)
    return {name: np.round(np.tanh(rng.normal(2 * frame_labels(name) - 1, 1.2)), 4) for name in NAMES}


def ranges(name):
    """Start, end and class of the ranges of an utterance, in seconds."""
    first, last = (HOP * place for place in SPOOFED.get(name, (0, 0)))
    every = [(0.0, first, "bonafide"), (first, last, "spoof"), (last, HOP * FRAMES, "bonafide")]
    return [one for one in every if one[1] > one[0]]


def rttm(folder):
    lines = [
        f"SPEAKER {name} 1 {start:.3f} {end - start:.3f} <NA> <NA> {label} <NA> <NA>\n"
        for name in NAMES
        for start, end, label in ranges(name)
    ]
    (folder / "ref.rttm").write_text("".join(lines))
    (folder / "reco2dur").write_text("".join(f"{name} {HOP * FRAMES:.2f}\n" for name in NAMES))
    return [folder / "ref.rttm", "--durations", folder / "reco2dur"]


def label_lines(folder):
    words = {name: " ".join(f"{a:.2f}-{b:.2f}-{c}" for a, b, c in ranges(name)) for name in NAMES}
    label = {name: "spoof" if name in SPOOFED else "bonafide" for name in NAMES}
    (folder / "label.txt").write_text("".join(f"{n} {HOP * FRAMES:.2f} {label[n]} {words[n]}\n" for n in NAMES))
    return [folder / "label.txt"]


def had_lines(folder, name="had.txt", shift=0.0):
    def line(one):
        every = [(a + shift * bool(a), b + shift * (b < 6), "F" if c == "spoof" else "T") for a, b, c in ranges(one)]
        return f"{one} {'/'.join(f'{a:.2f}-{b:.2f}-{c}' for a, b, c in every)} {int(one not in SPOOFED)}\n"

    (folder / name).write_text("".join(map(line, NAMES)))
    return [folder / name]


def unit_score(folder):
    rows = [f"{n} {k} {-v} {v}\n" for n, values in spoof_scores().items() for k, v in enumerate(values.tolist())]
    (folder / "unit0.02.score").write_text("".join(rows))
    return [folder / "unit0.02.score"]


def one_column(folder):
    """What says neither its hop nor its polarity: the benchmark knows both."""
    rows = [f"{n} {k} {v}\n" for n, values in spoof_scores().items() for k, v in enumerate(values.tolist())]
    (folder / "scores.txt").write_text("".join(rows))
    return [folder / "scores.txt"]


def score_pickle(folder):
    scores = ss.Scores.from_frames({n: -v for n, v in spoof_scores().items()}, hop=HOP, higher="bonafide")
    ss.write_scores(scores, folder / "eval_score_ali_2_20230101.pkl")
    return [folder / "eval_score_ali_2_20230101.pkl"]


def logits(folder):
    rows = [f"{n}\t{k}\t{-v}\t{v}\n" for n, values in spoof_scores().items() for k, v in enumerate(values.tolist())]
    (folder / "logits_frame_20ms.txt").write_text("".join(rows))
    return [folder / "logits_frame_20ms.txt"]


def by_utterance():
    """The lowest bona fide score of each utterance, and of some the wrong way round."""
    return {name: round(float(-values.max()), 4) for name, values in spoof_scores().items()}


def written(folder, name, header, rows):
    (folder / name).write_text(header + "".join(rows))
    return [folder / name]


def label_of(name):
    return "spoof" if name in SPOOFED else "bonafide"


def protocol(folder):
    rows = [f"s{i % 2} {n} - {'A07' if n in SPOOFED else '-'} {label_of(n)}\n" for i, n in enumerate(NAMES)]
    return written(folder, "protocol.txt", "", rows)


def key(folder):
    return written(folder, "key.tsv", "filename\tcm-label\n", [f"{n}\t{label_of(n)}\n" for n in NAMES])


def asv(folder):
    rng = np.random.default_rng(1)
    means = {"target": 3, "nontarget": 0, "spoof": 2}
    rows = [f"{'A07' if k == 'spoof' else '-'} {k} {rng.normal(m):.4f}\n" for k, m in means.items() for _ in range(40)]
    return ["--asv-scores", *written(folder, "asv.txt", "", rows)]


def two_columns(folder):
    return written(folder, "scores.txt", "", [f"{n} {v}\n" for n, v in by_utterance().items()])


def proposals(folder):
    every = {n: [[0.9, HOP * a + 0.1, HOP * b + 0.1]] for n, (a, b) in SPOOFED.items()}
    every |= {n: [[0.2, 0.5, 1.0]] for n in NAMES if n not in SPOOFED}
    (folder / "prediction.json").write_text(json.dumps(every))
    return [folder / "prediction.json"]


def sound_events(folder):
    rows = [f"{n}\t{HOP * a:.2f}\t{HOP * b:.2f}\tspoof\n" for n, (a, b) in SPOOFED.items()]
    events = written(folder, "events.tsv", "filename\tonset\toffset\tevent_label\n", rows)
    (folder / "sed").mkdir()
    for n, values in spoof_scores().items():
        lines = [f"{HOP * k:.2f}\t{HOP * (k + 1):.2f}\t{v}\n" for k, v in enumerate(values.tolist())]
        written(folder / "sed", f"{n}.tsv", "onset\toffset\tspoof\n", lines)
    return [*events, folder / "sed", *rttm(folder)[1:], "--scores-format", "sed-scores"]


def segment_dict(folder):
    np.save(folder / "PS_seg_score_dict.npy", {n: -v for n, v in spoof_scores().items()}, allow_pickle=True)
    return [folder / "PS_seg_score_dict.npy"]


def regions_dict(folder):
    every = {n: np.array([[0.9, HOP * a + 0.1, HOP * b]]) for n, (a, b) in SPOOFED.items()}
    np.save(folder / "PS_regver_dict.npy", every, allow_pickle=True)
    return [folder / "PS_regver_dict.npy"]


AUDIOVISUAL = GOLDEN / "audiovisual"
TRIALS = GOLDEN / "trials" / "distinct"
TRACK_2 = [TRIALS / "sasv_keys.tsv", TRIALS / "sasv_scores.tsv"]
COMMANDS = {
    "partialspoof": lambda folder: [*rttm(folder), *score_pickle(folder)],
    "llamapartialspoof": lambda folder: [*label_lines(folder), *unit_score(folder)],
    "llamapartialspoof-utterance": lambda folder: [
        *label_lines(folder),
        *written(folder, "utt.score", "", [f"{n} {v} {-v}\n" for n, v in by_utterance().items()]),
    ],
    "wedefense": lambda folder: [rttm(folder)[0], *logits(folder)],
    "xps-forensic-2026-03": lambda folder: [*rttm(folder), *one_column(folder)],
    "xps-forensic-2026-06": lambda folder: [*rttm(folder), *one_column(folder)],
    "deepfense": lambda folder: [*rttm(folder), *unit_score(folder)],
    "had": lambda folder: [*had_lines(folder), *had_lines(folder, "said.txt", 0.1)],
    "add2023": lambda folder: [*had_lines(folder), *had_lines(folder, "said.txt", 0.1)],
    "lav-df": lambda folder: [AUDIOVISUAL / "metadata.min.json", AUDIOVISUAL / "lavdf_proposals.json"],
    "av-deepfake1m": lambda folder: [AUDIOVISUAL / "val_metadata.json", AUDIOVISUAL / "prediction.json"],
    "av-deepfake1m-detection": lambda folder: [AUDIOVISUAL / "val_metadata.json", AUDIOVISUAL / "prediction.txt"],
    "asvspoof5-track1": lambda folder: [
        *key(folder),
        *written(folder, "s.tsv", "filename\tcm-score\n", [f"{n}\t{v}\n" for n, v in by_utterance().items()]),
    ],
    "asvspoof5-track2": lambda folder: TRACK_2,
    "asvspoof5-track2-tandem": lambda folder: TRACK_2,
    "sasv2022": lambda folder: [TRIALS / "a_dcf.txt", TRIALS / "a_dcf.txt"],
    "asvspoof2021-la": lambda folder: [*protocol(folder), *two_columns(folder), *asv(folder)],
    "asvspoof2019-la": lambda folder: [
        *protocol(folder),
        *written(folder, "s.txt", "", [f"{n} - {label_of(n)} {v}\n" for n, v in by_utterance().items()]),
        *asv(folder),
    ],
    "psynd": lambda folder: [*rttm(folder), *unit_score(folder)],
    "dcase": sound_events,
    "diarization": lambda folder: [*rttm(folder), *unit_score(folder)],
    "speech-df-arena": lambda folder: [*key(folder), *two_columns(folder)],
    "cfprf": lambda folder: [*rttm(folder), *regions_dict(folder)],
    "cfprf-frames": lambda folder: [*rttm(folder), *segment_dict(folder)],
    "bam": lambda folder: [*rttm(folder), *unit_score(folder)],
    "spoofceleb": lambda folder: [*key(folder), *two_columns(folder)],
    "spoofceleb-sasv": lambda folder: [TRIALS / "a_dcf.txt", TRIALS / "a_dcf.txt"],
    "lens-df": lambda folder: [*rttm(folder), *unit_score(folder)],
    "mist": lambda folder: [*rttm(folder), *proposals(folder)],
}


def test_every_benchmark_is_walked():
    assert set(COMMANDS) == set(benchmarks())


def values(typed, capsys):
    code, said = run([*map(str, typed), "--format", "json"], capsys)
    assert code == 0, said.err
    return {one["measure"]: one["value"] for one in json.loads(said.out)["measurements"]}


@pytest.mark.parametrize("name", COMMANDS)
def test_its_command_measures_the_files_of_its_tools(name, tmp_path, capsys):
    row = benchmarks()[name]
    typed = COMMANDS[name](tmp_path)
    for variant in row.variants or [""]:
        found = values(["eval", "--benchmark", f"{name}:{variant}".rstrip(":"), *typed], capsys)
        assert list(map(Measure.parse, found)) == list(map(Measure.parse, row.measures))
        assert all(np.isfinite(one) for one in found.values())


def test_what_a_benchmark_knows_holds_in_shards_too(tmp_path, capsys):
    typed = ["eval", "--benchmark", "xps-forensic-2026-06", *COMMANDS["xps-forensic-2026-06"](tmp_path)]
    wanted = values(typed, capsys)
    assert values([*typed, "--stream"], capsys) == pytest.approx(wanted)
    assert values([*typed, "--jobs", "2"], capsys) == pytest.approx(wanted)
    assert wanted["point-eer@20ms"] < 0.5  # high means spoof
