"""Measure what the mergeable state costs: against the EER in memory, per frame, and over a billion frames.

    python benchmarks/scale.py [--scale S] [--only NAME ...] [--repetitions N] [--json FILE] [--frames N]

Times are CPU times of one thread (`time.process_time`), so they are those of one core, also on a shared machine.
Everything else is as in run.py. `update` needs the extras `torch` and `cm`.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from corpus import Corpus, generate
from run import Figure, Setting, _python, _status_bytes, options, run

FRAMES = 10**9
ROWS = 1 << 18  # of a block, as a mass has them


def state_eer(corpus: Corpus) -> Any:
    """From columns to the exact range EER through the state: one pass, and another one inside of the crossing bin."""
    import spoofspan as ss

    mass = ss.overlay(corpus.references(ss), corpus.scores(ss))
    state = ss.EerState.of(mass)
    while not state.is_exact:
        state = state.next_pass()
        state.update(mass)
    return state.equal_error_rate()


def memory_eer(corpus: Corpus) -> Any:
    """The same in memory, by the fast special case."""
    import spoofspan as ss

    return ss.equal_error_rate(ss.overlay(corpus.references(ss), corpus.scores(ss)))


def cpu_race(repetitions: int, **contenders: Callable[[], Any]) -> dict[str, float]:
    """Best CPU time of each; they take turns."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(repetitions):
        for name, work in contenders.items():
            gc.collect()
            start = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - start)
    return best


def two_passes(setting: Setting) -> Iterator[Figure]:
    corpus = setting.mixed
    found: dict[str, Any] = {}
    best = cpu_race(
        setting.repetitions,
        memory=lambda: found.update(memory=memory_eer(corpus.fresh())),
        state=lambda: found.update(state=state_eer(corpus.fresh())),
    )
    if found["memory"] != found["state"]:
        raise AssertionError("the state found another EER than memory")
    yield Figure("exact EER through the state, two passes", best["state"] / best["memory"], "EER in memory", 4)


def size(setting: Setting) -> Iterator[Figure]:
    import spoofspan as ss

    mass = ss.overlay(setting.mixed.references(ss), setting.mixed.scores(ss))
    state = ss.EerState.of(mass)
    yield Figure("the state in memory", state.nbytes / 1e6, "MB", 2)
    yield Figure("the state as bytes", len(state.to_bytes()) / 1e6, "MB", 2)
    full = ss.EerState(higher="bonafide")
    for _ in range(5):  # past 2**63 ns, every bin filled
        full.add_bins(np.full((2, 69_635), 2**61))
    yield Figure("a state with every bin filled past 2**63 ns, as bytes", len(full.to_bytes()) / 1e6, "MB", 2)


def accumulation(setting: Setting) -> Iterator[Figure]:
    """Blocks of scores and classes that are there already, into the bins."""
    from spoofspan.mass.score_mass import MassBlock
    from spoofspan.measures.histogram import Histogram

    rng = np.random.default_rng(0)
    count = max(1, int(40 * setting.scale))
    scores = rng.standard_normal(ROWS * count, dtype=np.float32)
    classes = (rng.random(ROWS * count) < 0.2).astype(np.int8)
    cuts = [slice(first, first + ROWS) for first in range(0, scores.size, ROWS)]

    def count_all() -> None:
        histogram = Histogram(np.dtype(np.float32))
        for cut in cuts:
            histogram.add(MassBlock(scores[cut], classes[cut], 20_000_000))
        histogram.totals()

    def read_once() -> None:
        scores.sum()
        classes.sum()

    best = cpu_race(setting.repetitions, count=count_all, read=read_once)
    rate = scores.size / best["count"] / 1e6
    yield Figure("pure accumulation, first pass", rate, "million frames per second and core", at_least=60)
    yield Figure("pure accumulation, first pass", best["count"] / best["read"], "np.sum of scores and classes")


@dataclass
class Endless:
    """As many frames as wanted: one corpus again and again, its scores stretched and shifted a little each time."""

    corpus: Corpus
    frames: int

    def masses(self) -> Iterator[Any]:
        import spoofspan as ss

        references = self.corpus.references(ss)
        for number in range(-(-self.frames // self.corpus.values.size)):
            values = self.corpus.values * np.float32(1 + 1e-4 * number) + np.float32(1e-3 * (number % 7))
            yield ss.overlay(references, replace(self.corpus, values=values).scores(ss))


def print_endless(frames: int, scale: float) -> None:
    """Run the state over so many frames; print peak memory after a tenth and at the end, CPU times, and the result."""
    import spoofspan as ss

    endless = Endless(generate(scale), frames)
    peaks, cpu, seen = [], [], 0
    state: Any = None
    while state is None or not state.is_exact:
        began = time.process_time()
        if state is not None:
            state = state.next_pass()
        for mass in endless.masses():
            state = state or ss.EerState(
                mass.dtype, higher=mass.higher, unit=mass.unit, uncovered=mass.uncovered, basis=mass.basis
            )
            state.update(mass)
            seen += endless.corpus.values.size
            if not peaks and seen >= frames / 10:
                peaks.append(_status_bytes("VmHWM"))
            print(f"{seen:,} frames", file=sys.stderr, flush=True)
        cpu.append(time.process_time() - began)
    # not ru_maxrss: a new process inherits that of the one that started it
    peaks.append(_status_bytes("VmHWM"))
    found = state.equal_error_rate()
    before, after = found.neighbours
    # the proof: at both neighbouring thresholds, errors counted directly from the masses are those of the state
    counted = {point.threshold: [0, 0] for point in (before, after)}
    for mass in endless.masses():
        for block in mass.blocks():
            for threshold, amounts in counted.items():
                called = block.sums(block.scores < np.float32(threshold))
                amounts[0] += called[0]
                amounts[1] += called[1]
    for point in (before, after):
        called_bona_fide, called_spoof = counted[point.threshold]
        if (called_bona_fide, called_spoof) != (point.false_positive, point.true_positive):
            raise AssertionError(f"at {point.threshold} the state has other errors than a direct count")
    if not before.exact_false_positive_rate < before.exact_false_negative_rate:
        raise AssertionError("the crossing is not after its first neighbour")
    if after.exact_false_positive_rate < after.exact_false_negative_rate:
        raise AssertionError("the crossing is not before its second neighbour")
    total = before.bona_fide + before.spoof
    print(json.dumps({"peaks": peaks, "cpu": cpu, "frames": seen // len(cpu), "ns": total, "eer": float(found.value)}))


def endless(setting: Setting) -> Iterator[Figure]:
    done = json.loads(_python(f"import scale; scale.print_endless({setting.frames}, {min(setting.scale, 0.5)})"))
    note = f"{done['frames']:,} frames, {done['ns'] / 3.6e12:,.0f} h, {done['peaks'][-1] / 1e6:,.0f} MB"
    yield Figure("peak of memory at the end", done["peaks"][1] / done["peaks"][0], "after a tenth", 1.05, note=note)
    names = ("first pass, overlay included", "second pass, overlay included")
    for name, seconds in zip(names, done["cpu"], strict=False):
        yield Figure(name, done["frames"] / seconds / 1e6, "million frames per second and core")


def update(setting: Setting) -> Iterator[Figure]:
    """A batch of 8 x 30 s against a forward and backward pass of the small countermeasure."""
    import torch

    from spoofspan.cm.config import preset
    from spoofspan.cm.model import build
    from spoofspan.integrations.torch import RangeEER

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = build(preset("small-cpu").changed({"network": {"frames": 1536}}))  # room for 30 s
    parameters = sum(one.numel() for one in model.parameters())
    audio, samples = torch.randn(8, 30 * 16_000), torch.full((8,), 30 * 16_000)
    ranges = [[(0.0, 10.0, "bonafide"), (10.0, 11.5, "spoof"), (11.5, 30.0, "bonafide")]] * 8
    metric = RangeEER(0.02, higher="bonafide")

    def step() -> Any:
        outputs = model(audio, samples)
        torch.stack([one.square().mean() for one in outputs.values()]).sum().backward()
        return outputs["20ms"][..., -1]

    scores = step().detach()
    lengths = [scores.shape[1]] * 8
    best = cpu_race(max(3, setting.repetitions), model=step, update=lambda: metric.update(scores, ranges, lengths))
    yield Figure(
        "RangeEER.update, 8 x 30 s at 20 ms",
        best["update"] / best["model"],
        "forward and backward of small-cpu",
        0.01,
        note=f"{parameters:,} parameters; {1000 * best['update']:.2f} ms of CPU time",
    )


FIGURES = {"passes": two_passes, "size": size, "accumulation": accumulation, "update": update, "endless": endless}


@dataclass
class ScaleSetting(Setting):
    """With the number of frames of the long run."""

    frames: int = FRAMES


def main() -> int:
    parser = options(__doc__.splitlines()[0], FIGURES)
    parser.add_argument("--frames", type=int, default=FRAMES, help="frames of the long run (default 10**9)")
    arguments = parser.parse_args()
    setting = ScaleSetting(arguments.scale, arguments.repetitions, arguments.frames)
    return run(arguments, FIGURES, setting, ("<!-- scale: begin -->", "<!-- scale: end -->"))


if __name__ == "__main__":
    sys.exit(main())
