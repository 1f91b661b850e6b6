"""Measure scoring with the small countermeasure: how much faster than real time, and the memory of a long recording.

    python benchmarks/countermeasure.py [--scale S] [--only NAME ...] [--json FILE]

The recordings are noise and the weights are those a training starts from: neither changes what scoring costs. `speed`
is wall time of the whole command on all cores, its start included. At scale 1 the long recording has two hours.
Needs the extra `cm`.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from run import Figure, Setting, _python, options, run

RATE = 16_000
RECORDINGS, SECONDS = 1200, 3.5  # of the corpus: 70 minutes
LONG = 2 * 3600  # seconds


def write_noise(path: Path, seconds: float, seed: int) -> None:
    """A recording of 16 bit, a minute at a time."""
    import soundfile

    random = np.random.default_rng(seed)
    with soundfile.SoundFile(path, "w", RATE, 1, "PCM_16") as file:
        left = round(seconds * RATE)
        while left:
            size = min(left, 60 * RATE)
            file.write((0.05 * random.standard_normal(size)).astype(np.float32))
            left -= size


def checkpoint(folder: Path) -> Path:
    """A small countermeasure that has not learned anything yet."""
    from spoofspan.cm import checkpoints
    from spoofspan.cm.config import preset
    from spoofspan.cm.model import build

    config = preset("small-cpu")
    checkpoints.save(folder, build(config), config, {})
    return folder


def score_command(model: Path, audio: Path, out: Path) -> dict[str, float]:
    """Run the command in a process of its own: its wall time, its peak of memory, its CPU time."""
    code = (
        "import json, resource, sys, time; from spoofspan.cli import app\n"
        f"app(['cm', 'score', {str(model)!r}, {str(audio)!r}, '--out', {str(out)!r}, '-q', '--format', 'json'], "
        "standalone_mode=False)\n"
        "peak = next(int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmHWM:')) * 1024\n"
        "print(json.dumps({'peak': peak, 'cpu': time.process_time()}))"
    )
    began = time.perf_counter()
    printed = _python(code)
    took = time.perf_counter() - began
    return json.loads(printed.strip().splitlines()[-1]) | {"took": took}


def speed(setting: Setting) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = checkpoint(folder / "model")
        (folder / "audio").mkdir()
        count = max(1, round(RECORDINGS * setting.scale))
        for number in range(count):
            write_noise(folder / "audio" / f"u{number:04d}.wav", SECONDS, number)
        done = score_command(model, folder / "audio", folder / "out")
    sound = count * SECONDS
    note = f"{sound / 60:.0f} min in {done['took']:.1f} s, {done['cpu']:.1f} s of CPU time"
    yield Figure("cm score, small-cpu", sound / done["took"], "times real time", at_least=100, note=note)


def long(setting: Setting) -> Iterator[Figure]:
    peaks = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = checkpoint(folder / "model")
        for part, seconds in (("tenth", LONG * setting.scale / 10), ("whole", LONG * setting.scale)):
            write_noise(folder / f"{part}.wav", seconds, 1)
            peaks.append(score_command(model, folder / f"{part}.wav", folder / part)["peak"])
    note = f"{peaks[1] / 1e6:,.0f} MB for {LONG * setting.scale / 3600:g} h"
    yield Figure("peak of memory, one long recording", peaks[1] / peaks[0], "a tenth of it", 1.1, note=note)


def paper(setting: Setting) -> Iterator[Figure]:
    """The paper's model at real size, with random weights: forward and backward through a second of sound."""
    code = (
        "import json, time, torch; torch.set_num_threads(1)\n"
        "from spoofspan.cm.config import PAPER; from spoofspan.cm.frontends import LARGE\n"
        "from spoofspan.cm.loss import whole_loss; from spoofspan.cm.model import build, parameters_of\n"
        "model = build(PAPER, json.dumps(LARGE)).train()\n"
        "assert parameters_of(model).total == 348_494_775\n"
        "began = time.process_time()\n"
        "outputs = model(torch.randn(1, 16_000), torch.tensor([16_000]))\n"
        "targets = {name: torch.ones(one.shape[:2], dtype=torch.long) for name, one in outputs.items()}\n"
        "whole_loss(outputs, targets, {name: one.numel() for name, one in targets.items()}).backward()\n"
        "cpu = time.process_time() - began\n"
        "assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)\n"
        "peak = next(int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmHWM:')) * 1024\n"
        "print(json.dumps({'peak': peak, 'cpu': cpu}))"
    )
    done = json.loads(_python(code).strip().splitlines()[-1])
    note = f"348,494,775 parameters, {done['cpu']:.1f} s of CPU time for one second of sound"
    yield Figure("peak of memory, paper-multi, forward and backward", done["peak"] / 1e9, "GB", at_most=6, note=note)


FIGURES = {"speed": speed, "long": long, "paper": paper}


def main() -> int:
    arguments = options(__doc__.splitlines()[0], FIGURES).parse_args()
    setting = Setting(arguments.scale, arguments.repetitions)
    marks = ("<!-- countermeasure: begin -->", "<!-- countermeasure: end -->")
    return run(arguments, FIGURES, setting, marks)


if __name__ == "__main__":
    sys.exit(main())
