"""Files of torch.save that hold a dict of tensors: utterance -> scores or labels, one per frame.

torch reads them in a limited process of its own, with ``weights_only=True`` (:mod:`spoofspan.formats.torch_child`).
"""

from __future__ import annotations

import io
import os
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from spoofspan.base.errors import DataError, UsageError
from spoofspan.formats import torch_child
from spoofspan.formats.arrays.npz import ZIP, read_labels, read_npz, read_scores
from spoofspan.formats.format import Format
from spoofspan.formats.pickles import ENVIRONMENT, PICKLE, SECONDS
from spoofspan.formats.recognition import Begins
from spoofspan.formats.sources import Source

MEMORY = 6 << 30  # bytes of addresses, of which torch itself takes 2 to 3 GiB
LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # how torch.save began before it wrote zip archives


def recognises(head: bytes) -> bool:
    """True if it is an archive of torch.save, of today or of old."""
    length = int.from_bytes(head[26:28], "little")
    return (head.startswith(ZIP) and head[30 : 30 + length].endswith(b"data.pkl")) or head.startswith(LEGACY)


def read_tensors(source: Source) -> dict[str, Any]:
    """Read the tensors of a file as arrays."""
    import subprocess  # only here: it is slow to load

    if find_spec("torch") is None:
        raise UsageError(f"{source.name}: torch is not installed; run: pip install torch, or write an npz file")
    arguments = [sys.executable, "-I", "-B", str(Path(torch_child.__file__)), str(MEMORY), str(SECONDS)]
    environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments, no shell
            arguments,
            input=source.document(),
            capture_output=True,
            env={**environment, "OMP_NUM_THREADS": "1"},
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DataError(f"{source.name}: reading it with torch takes more than {SECONDS} s") from None
    said, _, content = done.stdout.partition(b"\n")
    if said != b"ok":
        why = said.decode(errors="replace") or f"the process that reads it ended with code {done.returncode}"
        raise DataError(
            f"{source.name}: torch cannot read it with weights_only=True as a dict of tensors ({ascii(why)[1:-1]}); "
            "write {utterance: tensor} with torch.save"
        )
    return read_npz(Source(source.name, lambda: io.BytesIO(content)))


SUFFIXES = (".pt", ".pth")
TORCH = Begins(ZIP + b"|" + PICKLE, recognises)
SCORES = Format(
    "torch",
    "torch.save of a dict <utterance> -> tensor of scores, one per frame from 0, or frames x classes",
    partial(read_scores, read_tensors),
    TORCH,
    suffixes=SUFFIXES,
    needs=("hop", "higher"),
)
LABELS = Format(
    "torch",
    "torch.save of a dict <utterance> -> tensor of labels, 0 and 1 with --spoof-label",
    partial(read_labels, read_tensors),
    TORCH,
    suffixes=SUFFIXES,
    needs=("hop",),
    takes=("spoof_label",),
)
