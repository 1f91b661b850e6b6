"""Measure how time and memory grow with the number of frames, for every way to compute a range EER, and draw it.

    python benchmarks/growth.py FOLDER [--frames 1e6 1e7 1e8 1e9] [--peers FOLDER] [--json FILE] [--picture FILE.svg]

The corpora are Parquet files in FOLDER, 3.6 bytes per frame; FOLDER keeps them. Each way is a process of its own: its
CPU time is that of all its processes, its memory the peak of the largest one. All must print the same EER.
scikit-learn gets arrays of scores and weights that are made beforehand, from as many frames as memory allows. With
``--peers`` the published code of others is measured too, beside `eval` of the same text: a folder with clones of
github.com/zlin0/wedefense and github.com/hieuthi/partialspoof-metrics. Points that are in the JSON already are not
measured again, so that an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import files
import numpy as np
from corpus import generate, samples_under_frames

PIECE = 10_000_000  # frames made at a time
BYTES_PER_FRAME_OF_ROC = 80  # at the peak of roc_curve, from arrays of scores and weights
BYTES_PER_FRAME_OF_PEERS = 300  # a list of three Python numbers
TOLERANCE = 1e-3  # of an EER from five decimals and whole milliseconds, into 100,000 buckets
DASK = """
import subprocess, sys
from dask.distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        sys.exit(subprocess.run([*sys.argv[1:], "--scheduler", cluster.scheduler_address]).returncode)
"""
ROC = """
import json, sys
import numpy as np
from sklearn.metrics import roc_curve
spoofness, weights, is_spoof = (np.load(path) for path in sys.argv[1:])
fpr, tpr, _ = roc_curve(is_spoof, spoofness, sample_weight=weights, drop_intermediate=False)
nearest = np.argmin(np.abs(fpr - 1 + tpr))
print(json.dumps({"measurements": [{"measure": "range-eer", "value": float(fpr[nearest] + 1 - tpr[nearest]) / 2}]}))
"""

# Starts a script of a clone, whose modules it imports. Both programs take the spoof score for the larger one.
PEER = """
import runpy, sys
clone, script = sys.argv[1:3]
sys.path.insert(0, clone)
sys.argv[1:3] = []
runpy.run_path(f"{clone}/{script}", run_name="__main__")
"""


def written(folder: Path, frames: int) -> files.Pair:
    """The corpus of so many frames, written if it is not there yet."""
    made = folder / f"{frames}"
    done = made / "done"
    if not done.exists():
        made.mkdir(parents=True, exist_ok=True)
        corpus = generate(min(frames, PIECE) / files.FULL_FRAMES)
        files.write_parquet(made, files.repeated(corpus, max(frames // PIECE, 1)))
        done.touch()
    return files.Pair(made / "references.parquet", made / "scores.parquet")


def arrays(folder: Path, frames: int) -> list[str]:
    """Scores, weights and classes for scikit-learn, as files."""
    corpus = generate(min(frames, PIECE) / files.FULL_FRAMES)
    times = max(frames // PIECE, 1)
    amounts = samples_under_frames(corpus)
    some = [amount > 0 for amount in amounts]
    columns = {
        "spoofness": -np.concatenate([corpus.values[one] for one in some]),
        "weights": np.concatenate([amount[one] for amount, one in zip(amounts, some, strict=True)]).astype(np.float64),
        "is_spoof": np.repeat([False, True], [np.count_nonzero(one) for one in some]),
    }
    paths = []
    for name, column in columns.items():
        paths.append(str(folder / f"{frames}" / f"{name}.npy"))
        np.save(paths[-1], np.tile(column, times))
    return paths


def commands(folder: Path, frames: int, most: int) -> dict[str, list[str]]:
    """Every way that can run with so many frames."""
    pair = written(folder, frames)
    evaluate = pair.eval("-m", "range-eer")
    in_memory = {"in memory": [*evaluate, "--no-stream"]} if frames * 40 < most else {}
    others = {
        "--stream": [*evaluate, "--stream"],
        "--jobs 2": [*evaluate, "--jobs", "2"],
        "Dask, 2 workers": [sys.executable, str(script(folder)), *evaluate],
    }
    if frames * BYTES_PER_FRAME_OF_ROC < most:
        others["scikit-learn's roc_curve"] = [sys.executable, "-c", ROC, *arrays(folder, frames)]
    return in_memory | others


def from_text(folder: Path, frames: int, most: int, peers: Path) -> dict[str, list[str]]:
    """`eval` of text, and the peers' programs that are there, as far as memory allows."""
    if frames * BYTES_PER_FRAME_OF_PEERS > most:
        return {}
    made = folder / f"{frames}-text"
    made.mkdir(parents=True, exist_ok=True)
    corpus = generate(min(frames, PIECE) / files.FULL_FRAMES)
    pair = files.write_text(made, files.repeated(corpus, max(frames // PIECE, 1)))
    found = {"eval of text": pair.eval("-m", "range-eer")}
    start = [sys.executable, "-W", "ignore", "-c", PEER]
    if (clone := peers / "wedefense").is_dir():
        ours = ["--rttm_file", str(pair.references), "--score_file", str(pair.scores), "--score_index", "3"]
        found["WeDefense, of text"] = [*start, str(clone), "wedefense/metrics/localization/rangeeer.py", *ours]
    if (clone := peers / "partialspoof-metrics").is_dir():
        labels = made / "label.txt"
        labels.write_text("".join(label_lines(pair.references)), encoding="utf-8")
        ours = ["--labpath", str(labels), "--scopath", str(pair.scores), "--scoreindex", "3", "--unit", "0.02"]
        bounds = ["--minval", "-10", "--maxval", "10"]
        found["partialspoof-metrics, of text"] = [*start, str(clone), "calculate_mseer.py", *ours, *bounds]
    return found


def label_lines(rttm: Path) -> Iterator[str]:
    """The lines that partialspoof-metrics reads: name, duration, class, and each range with its class."""
    with rttm.open(encoding="utf-8") as lines:
        for name, fields in groupby(map(str.split, lines), key=itemgetter(1)):
            ranges = [(float(one[3]), float(one[3]) + float(one[4]), one[7]) for one in fields]
            spans = " ".join(f"{start:.3f}-{end:.3f}-{label}" for start, end, label in ranges)
            yield f"{name} {ranges[-1][1]:.3f} spoof {spans}\n"


def eer_of(cost: files.Cost) -> float:
    """The range EER that a command printed."""
    percent = re.match(r"(?:rangeeer|mseer)=([0-9.]+)%", cost.printed.strip())
    return float(percent[1]) / 100 if percent else files.range_eer(cost)


def script(folder: Path) -> Path:
    """The file that starts a cluster; its workers import it."""
    path = folder / "cluster.py"
    path.write_text(DASK, encoding="utf-8")
    return path


def draw(points: list[dict[str, object]], path: Path) -> None:
    """CPU time and peak of memory over frames, both on logarithmic axes."""
    import matplotlib.pyplot as plt

    from spoofspan.report.figures.style import NO_DATE, STYLE, system_looks

    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(6.7, 2.7))
        for axis, column, label in ((axes[0], "cpu", "CPU time, s"), (axes[1], "megabytes", "peak of memory, MB")):
            ways = dict.fromkeys(point["way"] for point in points)
            for mark, way, style in zip("ov^sDPX*", ways, system_looks(), strict=False):
                of_way = sorted((point["frames"], point[column]) for point in points if point["way"] == way)  # type: ignore[type-var]
                axis.loglog(*zip(*of_way, strict=True), marker=mark, markersize=3.5, label=way, **style)
            axis.set(xlabel="frames of 20 ms", ylabel=label)
            axis.grid(True, which="major")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        figure.savefig(path, metadata=NO_DATE.get(path.suffix.removeprefix(".")))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--frames", type=lambda text: int(float(text)), nargs="+", default=[10**6, 10**7, 10**8, 10**9])
    parser.add_argument("--memory", type=float, default=8.0, help="gigabytes that a process may take (default 8)")
    parser.add_argument("--peers", type=Path, metavar="FOLDER", help="clones of the published code of others")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--picture", type=Path, metavar="FILE")
    given = parser.parse_args()
    known = given.json is not None and given.json.exists()
    points = json.loads(given.json.read_text(encoding="utf-8")) if known else []
    for frames in given.frames:
        most = int(given.memory * 1e9)
        peers = {} if given.peers is None else from_text(given.folder, frames, most, given.peers)
        for way, command in (commands(given.folder, frames, most) | peers).items():
            if any(point["frames"] == frames and point["way"] == way for point in points):
                continue
            cost = files.cost(command)
            point = {"frames": frames, "way": way, "cpu": round(cost.cpu, 2), "eer": eer_of(cost)}
            others = [one["eer"] for one in points if one["frames"] == frames]
            if others and abs(point["eer"] - others[0]) > TOLERANCE:
                raise SystemExit(f"{way} prints an EER of {point['eer']}, the others one of {others[0]}")
            points.append(point | {"megabytes": round(cost.peak * files.PEAK_UNIT / 1e6)})
            print(json.dumps(points[-1]), flush=True)
            if given.json:
                given.json.write_text("[\n" + ",\n".join(map(json.dumps, points)) + "\n]\n", encoding="utf-8")
    if given.picture:
        draw(points, given.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
