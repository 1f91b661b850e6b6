"""Reads a file of torch.save in a process of its own, and writes its tensors as npz.

:mod:`spoofspan.formats.arrays.torch_files` runs this file as a program. torch reads with ``weights_only=True``, which
admits tensors and plain values and runs nothing else. The process may use a bounded amount of memory and time, and
write no file. Input: the file on standard input. Output: ``ok`` and the bytes of an npz file, or the reason.
"""

from __future__ import annotations

import io
import sys
from contextlib import suppress


def limit(**most: int) -> None:
    """Bound what this process may use, where the system can."""
    with suppress(ImportError):  # Windows has no such limits
        import resource

        for kind, value in most.items():
            with suppress(ValueError, OSError):
                resource.setrlimit(getattr(resource, f"RLIMIT_{kind}"), (value, value))


def main() -> None:
    """Read, convert, write."""
    limit(AS=int(sys.argv[1]), CPU=int(sys.argv[2]))
    import numpy as np
    import torch

    limit(FSIZE=0)  # torch itself tries where temporary files may be

    torch.set_num_threads(1)
    out = io.BytesIO()
    try:
        found = torch.load(io.BytesIO(sys.stdin.buffer.read()), map_location="cpu", weights_only=True)
        if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
            raise TypeError("it holds no dict with text for keys")
        arrays = {}
        for name, value in found.items():
            tensor = value if isinstance(value, torch.Tensor) else torch.tensor(value)
            if tensor.dtype in (torch.bfloat16, torch.float16):
                tensor = tensor.float()
            arrays[name] = tensor.detach().to_dense().numpy() if tensor.is_sparse else tensor.detach().numpy()
        np.savez(out, **arrays)
    except Exception as error:  # what a reader makes of a hostile file takes many forms
        print(" ".join(f"{type(error).__name__}: {error}".split())[:300])
        return
    sys.stdout.buffer.write(b"ok\n" + out.getvalue())


if __name__ == "__main__":
    main()
