"""What existing tools do to read `<utt> <frame> <bona fide> <spoof>`, and no less: a Python loop over the lines."""

from __future__ import annotations

import sys
from pathlib import Path

HOP = 0.02


def read(path: Path) -> dict[str, list[list[float]]]:
    """Utterance -> [start, end, score] of each frame."""
    frames: dict[str, list[list[float]]] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            fields = line.split()
            frame, score = int(fields[1]), float(fields[3])
            frames.setdefault(fields[0], []).append([frame * HOP, (frame + 1) * HOP, score])
    return frames


if __name__ == "__main__":
    found = read(Path(sys.argv[1]))
    print(f"{len(found):,} utterances, {sum(map(len, found.values())):,} frames")
