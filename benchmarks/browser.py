"""The measuring page on a corpus of the size of PartialSpoof's evaluation set, as text: processor time and memory.

    python benchmarks/browser.py            # 12.4 million frames, 750 MB of text
    python benchmarks/browser.py --utterances 7000

The modules of the page run in Node, as they do in its worker: they read references, durations and scores, measure the
range EER, and sign it. The library does the same, as a yardstick: ratios within one run say more than seconds.
"""

import argparse
import json
import resource
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path
from time import process_time

import numpy as np

import spoofspan as ss

LABELS = ("bonafide", "A07", "bonafide", "A08", "bonafide")
FRAMES = 175  # of 20 ms, in each utterance
MODULES = Path(ss.__file__).parent / "report" / "app" / "assets"
PROGRAM = """
import { openAsBlob } from "node:fs";
const { openCorpus, measureCorpus } = await import(process.argv[1]);
const source = async (path) => ({ name: path.split(/[\\\\/]/).pop(), blob: await openAsBlob(path) });
const [references, durations, scores] = await Promise.all(process.argv.slice(2).map(source));
const corpus = await openCorpus({ references, durations, scores }, {});
const { value, threshold, signature } = measureCorpus(corpus, "range-eer", "");
const { user, system } = process.cpuUsage();
const { maxRSS } = process.resourceUsage();
console.log(JSON.stringify({ value, threshold, signature, seconds: (user + system) / 1e6, gigabytes: maxRSS / 1e6 }));
"""


def write(folder, utterances):
    """References, durations and scores as text."""
    rng = np.random.default_rng(0)
    files = [folder / name for name in ("ref.rttm", "reco2dur", "unit0.02.score")]
    with files[0].open("w") as references, files[1].open("w") as durations, files[2].open("w") as scores:
        for number in range(utterances):
            utterance = f"CON_E_{number:07d}"
            edges = [0, *sorted(rng.choice(np.arange(1, 3500), 4, replace=False).tolist()), 3500]
            spoof = np.zeros(3500, bool)
            for (start, end), label in zip(pairwise(edges), LABELS, strict=True):
                spoof[start:end] = label != "bonafide"
                times = f"{start / 1000:.3f} {(end - start) / 1000:.3f}"
                references.write(f"SPEAKER {utterance} 1 {times} <NA> <NA> {label} <NA> <NA>\n")
            durations.write(f"{utterance} {FRAMES * 0.02:.3f}\n")
            values = (rng.normal(size=FRAMES) + 2 * spoof[10::20]).astype(np.float32).tolist()
            scores.write("".join(f"{utterance} {k} {-value!r} {value!r}\n" for k, value in enumerate(values)))
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--utterances", type=int, default=71_237)
    utterances = parser.parse_args().utterances
    with tempfile.TemporaryDirectory() as folder:
        files = write(Path(folder), utterances)
        print(f"{utterances * FRAMES:,} frames, {files[2].stat().st_size / 1e6:,.0f} MB of text")
        command = ["node", "--input-type=module", "-e", PROGRAM, (MODULES / "corpus.js").as_uri(), *map(str, files)]
        page = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        start = process_time()
        durations = ss.read_durations(files[1])
        found = ss.range_eer(ss.read_references(files[0], durations=durations), ss.read_scores(files[2]))
        signature = str(found.signature)
        library = process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    assert (page["value"], page["threshold"]) == (found.value, found.threshold)
    assert " || ".join(page["signature"].values()) == signature
    print(f"page     {page['seconds']:5.1f} s of processor, {page['gigabytes']:.2f} GB")
    print(f"library  {library:5.1f} s of processor, {peak:.2f} GB; both found {found.value:.2%}, to the last bit")


if __name__ == "__main__":
    main()
