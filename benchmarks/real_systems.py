"""EER and min t-DCF of public systems on ASVspoof 2019 LA: by this package, and by independent computations.

    python benchmarks/real_systems.py FOLDER

FOLDER has the files that docs/real-systems.md names, each plain or compressed with gzip. The EER is computed again by
sorting, and the min t-DCF as ASVspoof's own program does it; the exit code is 1 if a number differs by more than 1e-12.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import spoofspan as ss

PROTOCOL = "ASVspoof2019.LA.cm.eval.trl.txt"
VERIFICATION = "ASVspoof2019.LA.asv.eval.gi.trl.scores.txt"
# File, column of the score, and what high scores mean, by the name of the system.
SYSTEMS = {
    "am": ("air-amsoftmax.eval.txt", 3, "bonafide"),
    "oc": ("air-ocsoftmax.eval.txt", 3, "spoof"),
    "cfst": ("ecapa-cfst.eval.txt", 1, "bonafide"),
    "ctsf": ("ecapa-ctsf.eval.txt", 1, "bonafide"),
}
MEASURES = ("utterance-eer", "utterance-min-tdcf")
Scores = np.ndarray[Any, np.dtype[np.float64]]


def find(folder: Path, name: str) -> Path:
    """A file of the folder, plain or compressed."""
    packed = folder / f"{name}.gz"
    return packed if packed.is_file() else folder / name


def rows_of(path: Path) -> list[list[str]]:
    """The words of each line."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [line.split() for line in text.decode().splitlines()]


def eer(bona_fide: Scores, spoof: Scores) -> float:
    """The mean of FPR and FNR where they are nearest, by sorting; high scores are bona fide."""
    taus = np.append(np.unique(np.concatenate((bona_fide, spoof))), np.inf)
    fpr = np.searchsorted(np.sort(bona_fide), taus, side="left") / bona_fide.size
    fnr = 1 - np.searchsorted(np.sort(spoof), taus, side="left") / spoof.size
    at = np.argmin(np.abs(fpr - fnr))
    return float((fpr[at] + fnr[at]) / 2)


def det(target: Scores, other: Scores) -> tuple[Scores, Scores, Scores]:
    """Misses and false alarms at every threshold, as ASVspoof's program counts them."""
    order = np.argsort(np.concatenate((target, other)), kind="mergesort")
    labels = np.concatenate((np.ones(target.size), np.zeros(other.size)))[order]
    below = np.cumsum(labels)
    above = other.size - (np.arange(1, labels.size + 1) - below)
    scores = np.concatenate((target, other))[order]
    return (
        np.concatenate(([0.0], below / target.size)),
        np.concatenate(([1.0], above / other.size)),
        np.concatenate(([scores[0] - 0.001], scores)),
    )


def min_tdcf(bona_fide: Scores, spoof: Scores, asv: dict[str, Scores]) -> float:
    """ASVspoof 2021's min t-DCF, with the verification system at the threshold of its own EER."""
    miss, false_alarm, thresholds = det(asv["target"], asv["nontarget"])
    tau = thresholds[np.argmin(np.abs(miss - false_alarm))]
    p_miss, p_fa = (asv["target"] < tau).mean(), (asv["nontarget"] >= tau).mean()
    p_fa_spoof = (asv["spoof"] >= tau).mean()
    p_spoof, p_target, p_nontarget, cost_fa = 0.05, 0.9405, 0.0095, 10.0
    c0 = p_target * p_miss + p_nontarget * cost_fa * p_fa
    c1, c2 = p_target - c0, p_spoof * cost_fa * p_fa_spoof
    cm_miss, cm_false_alarm, _ = det(bona_fide, spoof)
    return float(((c0 + c1 * cm_miss + c2 * cm_false_alarm) / (c0 + min(c1, c2))).min())


def independent(folder: Path) -> dict[str, tuple[float, float]]:
    """EER and min t-DCF of each system, without the package."""
    labels = {row[1]: row[4] for row in rows_of(find(folder, PROTOCOL))}
    trials = rows_of(find(folder, VERIFICATION))
    asv = {
        kind: np.array([float(row[2]) for row in trials if row[1] == kind]) for kind in ("target", "nontarget", "spoof")
    }
    found = {}
    for name, (file, column, higher) in SYSTEMS.items():
        sign = 1 if higher == "bonafide" else -1
        said = {row[0]: sign * float(row[column]) for row in rows_of(find(folder, file))}
        bona_fide, spoof = (
            np.array([said[utt] for utt, label in labels.items() if label == wanted])
            for wanted in ("bonafide", "spoof")
        )
        found[name] = eer(bona_fide, spoof), min_tdcf(bona_fide, spoof, asv)
    return found


def measured(folder: Path) -> dict[str, tuple[float, float]]:
    """The same by the package."""
    protocol = ss.read_protocol(find(folder, PROTOCOL))
    asv = ss.read_verification_scores(find(folder, VERIFICATION))
    found = {}
    for name, (file, _, higher) in SYSTEMS.items():
        scores = ss.read_utterance_scores(find(folder, file), higher=higher)
        evaluation = ss.evaluate(protocol, scores, MEASURES, asv_scores=asv)
        found[name] = evaluation[MEASURES[0]].value, evaluation[MEASURES[1]].value
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the files that docs/real-systems.md names")
    folder = parser.parse_args().folder
    warnings.simplefilter("ignore", ss.SpoofspanWarning)
    started = time.process_time()
    ours = measured(folder)
    seconds = time.process_time() - started
    theirs = independent(folder)
    print(f"{'system':8}{'EER %':>22}{'again':>22}{'min t-DCF':>22}{'again':>22}")
    for name, values in ours.items():
        numbers = (100 * values[0], 100 * theirs[name][0], values[1], theirs[name][1])
        print(f"{name:8}" + "".join(f"{one:22.15f}" for one in numbers))
    apart = max(abs(a - b) for name in ours for a, b in zip(ours[name], theirs[name], strict=True))
    print(f"largest difference {apart:.1e}; reading and measuring took {seconds:.1f} s of CPU time")
    return int(apart > 1e-12)


if __name__ == "__main__":
    sys.exit(main())
