"""Print the table of docs/costs.md: Cllr of the demo's branches, calibrated and held out by speaker."""

from spoofspan.demo import load
from spoofspan.evaluation.calibration import LearningSet, calibration_effect


def main():
    corpus = load()
    speakers = dict(zip(corpus.protocol.utterance, corpus.protocol.speaker, strict=True))
    named = {f"{round(1000 * hop)} ms": scores for hop, scores in corpus.systems.items()}
    print("| hop | minCllr | affine | pav |\n|---:|---:|---:|---:|")
    for name, scores in named.items():
        least = calibration_effect(name, corpus.references, scores).min_cllr
        cells = []
        for method in ("affine", "pav"):
            learning = LearningSet.of(corpus.references, {name: scores}, "default", {})
            held_out = learning.held_out(speakers, method, 0.5, 0.0)
            found = calibration_effect(name, corpus.references, held_out).cllr
            cells.append(f"{found:.3f} ({found / least:.2f} x)")
        print(f"| {name} | {least:.3f} | {' | '.join(cells)} |")
    for method in ("affine", "pav"):
        held_out = LearningSet.of(corpus.references, named, "default", {}).held_out(speakers, method, 0.5, 0.0)
        print(calibration_effect(f"all branches fused, {method}, held out", corpus.references, held_out))


if __name__ == "__main__":
    main()
