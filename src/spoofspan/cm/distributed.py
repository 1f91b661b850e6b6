"""Several processes that train one model, by torch's own distributed data parallel.

``torchrun --no-python --nproc-per-node 4 spoofspan cm train ...`` starts them and says so in the environment; on one
machine, ``processes=2`` (``--processes 2``) starts them here. Every process gets its share of every batch; gradients
are those of the whole batch, so that the number of processes does not change what is learned, but for rounding.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from spoofspan.base import errors
from spoofspan.base.errors import SpoofspanError, UsageError
from spoofspan.base.pool import end_with_parent

PRECISIONS = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Team:
    """All processes of a training, and which one this is."""

    rank: int
    size: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """True if this is the process that writes."""
        return self.rank == 0

    def share(self, items: list[Any]) -> list[Any]:
        """Take the part of this process."""
        return items[self.rank :: self.size]

    def sum(self, value: float) -> float:
        """The sum over all processes."""
        if self.size == 1:
            return value
        total = torch.tensor([value], dtype=torch.float64, device=self.device)
        dist.all_reduce(total)
        return float(total.item())

    def gather(self, items: list[Any]) -> list[Any]:
        """The items of all processes."""
        if self.size == 1:
            return items
        found: list[list[Any]] = [[] for _ in range(self.size)]
        dist.all_gather_object(found, items)
        return [one for part in found for one in part]


def choose_device(name: str | None, local_rank: int = 0) -> torch.device:
    """The device asked for, or a GPU if there is one."""
    if name is None:
        return torch.device("cuda", local_rank) if torch.cuda.is_available() else torch.device("cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UsageError(f"no device is called {name!r}; use cpu, cuda or cuda:0") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError(f"device {name!r}: torch finds no GPU here; use cpu")
    return torch.device("cuda", local_rank) if name == "cuda" else device


def computing_in(precision: str, device: torch.device) -> Any:
    """A context in which a model computes in this precision, as far as torch's autocast thinks it safe."""
    if precision == "fp32":
        return nullcontext()
    return torch.autocast(device.type, dtype=PRECISIONS[precision])


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let torch use so many threads, and as many as before afterwards."""
    if count < 1:
        raise UsageError(f"threads={count}: must be at least 1 (--threads)")
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def joined(device: str | None) -> Iterator[Team]:
    """Join the other processes that the environment names, if there are any."""
    size, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    chosen = choose_device(device, int(os.environ.get("LOCAL_RANK", "0")))
    if size == 1:
        yield Team(0, 1, chosen)
        return
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    try:
        yield Team(rank, size, chosen)
    finally:
        dist.destroy_process_group()


def launch(work: Callable[..., None], arguments: tuple[Any, ...], processes: int) -> None:
    """Run ``work(*arguments)`` in so many new processes that know of each other."""
    if "WORLD_SIZE" in os.environ:
        raise UsageError("torchrun has started the processes already; leave processes= (--processes) out")
    context = torch.multiprocessing.get_context("spawn")
    refusals = context.SimpleQueue()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    try:
        torch.multiprocessing.spawn(_member, (processes, port, refusals, work, arguments), nprocs=processes)
    except Exception:
        if not refusals.empty():
            kind, message = refusals.get()
            raise getattr(errors, kind, SpoofspanError)(message) from None
        raise


def leads() -> bool:
    """True if this is the only process, or the first of those that torchrun has started."""
    return os.environ.get("RANK", "0") == "0"


def _member(rank: int, size: int, port: int, refusals: Any, work: Callable[..., None], arguments: Any) -> None:
    end_with_parent()
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(size)}
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
    try:
        work(*arguments)
    except SpoofspanError as error:
        refusals.put((type(error).__name__, str(error)))
        raise
