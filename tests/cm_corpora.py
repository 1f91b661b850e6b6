"""Made-up recordings for tests of the countermeasure: the spoofed parts buzz."""

import wave
from itertools import pairwise

import numpy as np

RATE = 16_000


def write_wav(path, samples, rate=RATE):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1 if samples.ndim == 1 else samples.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(np.clip(np.rint(samples * 32768), -32768, 32767).astype("<i2").tobytes())


def recording(rng, seconds, spoofed=()):
    """Noise, with a buzz of random pitch in the ranges that are spoofed."""
    n = round(seconds * RATE)
    sound = rng.normal(0, 0.05, n)
    for start, end in spoofed:
        k = np.arange(round(start * RATE), round(end * RATE))
        sound[k] += 0.1 * np.sign(np.sin(2 * np.pi * rng.uniform(90, 300) * k / RATE))
    return sound


def make_set(folder, name, count, seed, lengths=(0.8, 2.4)):
    """A set in the PartialSpoof layout; every second utterance has one spoofed range."""
    rng = np.random.default_rng(seed)
    sounds, data = folder / name / "con_wav", folder / name / "con_data"
    for one in (sounds, data):
        one.mkdir(parents=True)
    ids, rttm, durations = [], [], []
    for i in range(count):
        utterance, seconds = f"{name}_{i:03d}", round(rng.uniform(*lengths), 3)
        edges = [0.0, seconds]
        if i % 2:
            edges = sorted({0.0, seconds, *np.round(rng.uniform(0.1, seconds - 0.1, 2), 3).tolist()})
        spoofed = [(edges[1], edges[2])] if i % 2 else []
        write_wav(sounds / f"{utterance}.wav", recording(rng, seconds, spoofed))
        for start, end in pairwise(edges):
            label = "spoof" if (start, end) in spoofed else "bonafide"
            rttm.append(f"SPEAKER {utterance} 1 {start:.3f} {end - start:.3f} <NA> <NA> {label} <NA> <NA>\n")
        ids.append(utterance)
        durations.append(f"{utterance} {seconds}\n")
    (folder / name / f"{name}.lst").write_text("".join(f"{one}\n" for one in ids))
    (data / "rttm_2cls_0sil").write_text("".join(rttm))
    (data / "reco2dur").write_text("".join(durations))


TINY = {
    "training": {"epochs": 5, "batch_size": 4, "channels": 1.0, "channel_share": 0.5, "keep": "best"},
    "front_end": {"width": 32},
    "network": {"blocks": 1, "head": "cosine"},
}


def make_model(folder):
    """A small model that has learned to hear buzzes, with its card; returns its folder, and the data."""
    from spoofspan.cm.config import SMALL_MULTI
    from spoofspan.cm.training import train

    data = make_data(folder / "data", train=32, dev=32)
    return train(SMALL_MULTI.changed(TINY), data, folder / "model").folder, data


def make_data(folder, train=8, dev=6):
    """Both sets, as training takes them."""
    from spoofspan.cm.batches import Corpus, TrainingData  # needs torch

    make_set(folder, "train", train, seed=1)
    make_set(folder, "dev", dev, seed=2)
    return TrainingData(
        Corpus.from_dataset(f"partialspoof:{folder}:train"), Corpus.from_dataset(f"partialspoof:{folder}:dev")
    )
