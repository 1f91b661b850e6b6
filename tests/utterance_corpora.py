"""Scores of whole utterances: small corpora as files, and where real scores of public systems are."""

import os
from fractions import Fraction
from pathlib import Path

import numpy as np

# Scores of public systems on ASVspoof 2019 LA, with the official protocols, beside the repository or elsewhere.
BESIDE = Path(__file__).parents[2] / "shared" / "real"
REAL = Path(os.environ.get("SPOOFSPAN_REAL_SCORES", BESIDE)) / "asvspoof2019-la"
SPEAKERS, ATTACKS, CODECS = ("s1", "s2", "s3", "s4", "s5", "s6"), ("A01", "A02"), ("c1", "c2")


def drawn(seed=0, count=240):
    """A protocol as rows of (speaker, utterance, codec, attack, label), and the scores of three systems."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(count):
        attack = "-" if i % 3 == 0 else ATTACKS[i % 2]
        label = "bonafide" if attack == "-" else "spoof"
        rows.append((SPEAKERS[i // 4 % len(SPEAKERS)], f"u{i:03}", CODECS[i // 7 % 2], attack, label))
    real = np.array([row[4] == "bonafide" for row in rows])
    systems = {
        name: np.round(rng.normal(size=count) + apart * real, 2)
        for name, apart in zip("abc", (2, 1.5, 0.5), strict=True)
    }
    return rows, systems


def files(tmp_path, rows, systems):
    (tmp_path / "protocol.txt").write_text("".join(f"{s} {u} - {a} {label}\n" for s, u, _, a, label in rows))
    for name, values in systems.items():
        lines = [f"{row[1]}\t{value}\n" for row, value in zip(rows, values.tolist(), strict=True)]
        (tmp_path / f"{name}.tsv").write_text("filename\tcm-score\n" + "".join(lines))
    return [str(tmp_path / "protocol.txt"), *(str(tmp_path / f"{name}.tsv") for name in systems)]


def exact_eer(bona_fide, spoof):
    """The mean of both rates where they are nearest, counted score by score."""
    best = None
    for tau in [*sorted({*bona_fide, *spoof}), float("inf")]:
        fpr = Fraction(sum(one < tau for one in bona_fide), len(bona_fide))
        fnr = Fraction(sum(one >= tau for one in spoof), len(spoof))
        if best is None or abs(fpr - fnr) < best[0]:
            best = abs(fpr - fnr), (fpr + fnr) / 2
    return float(best[1])
