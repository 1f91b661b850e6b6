"""Draw the pictures of papers.md: ``python docs/make_figures.py`` (needs matplotlib)."""

from __future__ import annotations

import io
from pathlib import Path

import spoofspan as ss
import spoofspan.demo

FOLDER = Path(__file__).with_name("figures")
DPI = 120  # enough for a screen
UTTERANCE = "CON_E_0000059"


def main() -> None:
    """Draw all of them."""
    corpus = spoofspan.demo.load()
    references, systems = corpus.references, corpus.systems
    fine, coarse = systems[0.02], systems[0.16]
    two = {"20 ms": fine, "320 ms": systems[0.32]}
    at = ss.range_eer(references, fine)
    table = ss.resolution_table(references, systems)
    ours = {"style": "spoofspan"}
    pictures = {
        "det": ss.plot.det(references, two, confidence=0.95, **ours),
        "roc": ss.plot.roc(references, two, **ours),
        "threshold": ss.plot.threshold(references, fine, **ours),
        "scores": ss.plot.scores(references, fine, **ours),
        "resolution": ss.plot.resolution(table, **ours),
        "boundary": ss.plot.boundary(references, two, **ours),
        "reliability": ss.plot.reliability(references, two, "llr", **ours),
        "pav": ss.plot.pav(references, two, "llr", **ours),
        "tippett": ss.plot.tippett(references, two, "llr", **ours),
        "timeline": ss.plot.timeline(references, fine, UTTERANCE, threshold=at, **ours),
        "measurement": ss.plot.measurement(references, coarse, UTTERANCE, threshold=at, **ours),
        "resampling": ss.plot.resampling(references, coarse, UTTERANCE, threshold=at, **ours),
        "heatmap": ss.plot.heatmap(table, **ours),
    }
    FOLDER.mkdir(exist_ok=True)
    for name, drawn in pictures.items():
        buffer = io.BytesIO()
        drawn.figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
        (FOLDER / f"{name}.png").write_bytes(buffer.getvalue())


if __name__ == "__main__":
    main()
